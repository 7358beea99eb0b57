/* SPDX-License-Identifier: Apache-2.0 */
/* Plans to free nodes: what is moved, in which order, and what they are measured against. */
#include "subcluster/core/consolidate/consolidate.h"

#include "common/base/cleanup.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <string.h>

enum { ROOM = 16, GPUS = 8 };

struct field {
    struct consolidate_node nodes[ROOM];
    struct consolidate_instance items[8 * ROOM];
    int32_t at_once[8 * ROOM];
    struct consolidate_ask ask;
    struct consolidate_plan plan;
};

/* One string a node: "4 2! 1" is a node with instances of 4, 2 and 1 GPUs, of which the second is locked.
 * Each is a job of its own. A node has 8 GPUs and CPU 96; an instance of "4:60" wants CPU 60, else 1. */
static void add_items(struct field *f, uint32_t node, const char *text)
{
    for (const char *at = text; *at; at += *at == ' ') {
        struct tf_vector need = {.slots = 1, .cpu = 1};
        int taken = 0;
        sscanf(at, "%d%n", &need.gpus, &taken);
        at += taken;
        if (*at == ':') {
            int cpu = 0;
            sscanf(++at, "%d%n", &cpu, &taken);
            at += taken;
            need.cpu = cpu;
        }
        bool locked = *at == '!';
        at += locked;
        f->nodes[node].free = tf_vector_sub(f->nodes[node].free, need);
        f->items[f->ask.instance_count] = (struct consolidate_instance){
            .node = node,
            .need = need,
            .job = (uint32_t)f->ask.job_count++,
            .set = CONSOLIDATE_ANY,
            .lock = locked ? CONSOLIDATE_NEVER : CONSOLIDATE_MOVABLE,
            .cost = need.gpus,
        };
        f->ask.instance_count++;
    }
}

static void field_make(struct field *f, const char *const *nodes, size_t count)
{
    *f = (struct field){.ask = {.unit_set = CONSOLIDATE_ANY, .want = INT32_MAX, .class_count = 1}};
    f->ask.nodes = f->nodes;
    f->ask.instances = f->items;
    for (uint32_t n = 0; n < count; n++) {
        struct tf_vector capacity = {.gpus = GPUS, .slots = 64, .cpu = 96, .memory = 100};
        f->nodes[n] = (struct consolidate_node){
            .capacity = capacity, .free = capacity, .domain = CONSOLIDATE_ANY, .site = true, .takes = true};
        add_items(f, n, nodes[n]);
    }
    f->ask.node_count = count;
}

#define FIELD(f, ...)                                            \
    do {                                                         \
        static const char *const nodes_[] = {__VA_ARGS__};       \
        field_make(f, nodes_, sizeof nodes_ / sizeof nodes_[0]); \
    } while (0)

static void run(struct field *f)
{
    consolidate_plan_make(&f->ask, &f->plan);
    CU_ASSERT_PTR_NULL(consolidate_plan_fault(&f->ask, &f->plan));
}

/* "4:0>1@0 1:1>2@1 ": GPUs, from, to, wave. */
static void show_moves(const struct field *f, char *text, size_t size)
{
    size_t at = 0;
    text[0] = '\0';
    tf_vec_each (move, &f->plan.moves)
        at += (size_t)snprintf(text + at, size - at, "%d:%u>%u@%u%s ", f->items[move->instance].need.gpus,
                               move->from, move->to, move->wave, move->pivot ? "*" : "");
}

#define EXPECT_MOVES(f, expected)                \
    do {                                         \
        char text_[400];                         \
        show_moves(f, text_, sizeof text_);      \
        CU_ASSERT_STRING_EQUAL(text_, expected); \
    } while (0)

static void test_direct(void)
{
    struct field f;
    FIELD(&f, "4", "2 1", "4 2");
    run(&f);
    CU_ASSERT_EQUAL(f.plan.figures.best, 1);
    CU_ASSERT_EQUAL(f.plan.figures.freed, 1);
    EXPECT_MOVES(&f, "2:1>2@0 1:1>0@0 ");
    CU_ASSERT_EQUAL(f.plan.figures.gpus, 3);
    CU_ASSERT_EQUAL(f.plan.figures.gpus_bound, 3);
    CU_ASSERT_EQUAL(f.plan.figures.double_booked, 3);
    CU_ASSERT_EQUAL(f.plan.sites.items[0].node, 1);
    CU_ASSERT_EQUAL(f.plan.sites.items[0].wave, 0);
    consolidate_plan_release(&f.plan);
}

/* The 4 has no place until the 2 has left: one chain, in two waves. */
static void test_chain(void)
{
    struct field f;
    FIELD(&f, "4", "4! 2", "4! 2!");
    run(&f);
    CU_ASSERT_EQUAL(f.plan.figures.freed, 1);
    EXPECT_MOVES(&f, "2:1>2@0 4:0>1@1 ");
    CU_ASSERT_EQUAL(f.plan.moves.items[0].chain, f.plan.moves.items[1].chain);
    CU_ASSERT_EQUAL(f.plan.figures.chains, 1);
    CU_ASSERT_EQUAL(f.plan.figures.ejected, 1);
    CU_ASSERT_EQUAL(f.plan.figures.moves_bound, 2);
    CU_ASSERT_EQUAL(f.plan.figures.double_booked, 4);
    consolidate_plan_release(&f.plan);
}

/* The 4 needs the 2 to go, and that needs the 1 to go. */
static void test_deep_chain(void)
{
    struct field f;
    FIELD(&f, "4", "4! 2", "4! 2! 1", "7!");
    run(&f);
    CU_ASSERT_EQUAL(f.plan.figures.freed, 1);
    EXPECT_MOVES(&f, "1:2>3@0 2:1>2@1 4:0>1@2 ");
    CU_ASSERT_EQUAL(f.plan.figures.waves, 3);
    consolidate_plan_release(&f.plan);
}

/* Each waits for the place of the next, all around: one of them waits in a spare slot meanwhile. Where none
 * of them may, or a limit leaves no move for that, the plan does without the cycle, and frees less. */
static void test_cycle(void)
{
    struct field f;
    FIELD(&f, "1:32 2:8 2:24 2:8", "2:40 2:56", "4:24");
    run(&f);
    CU_ASSERT_EQUAL(f.plan.figures.freed, 1);
    CU_ASSERT_EQUAL(f.plan.figures.pivots, 1);
    EXPECT_MOVES(&f, "1:0>2@0* 2:1>0@1 4:2>1@2 1:2>1@2 ");
    f.ask.max_moves = 3;
    run(&f);
    CU_ASSERT_EQUAL(f.plan.figures.freed, 0);
    CU_ASSERT_EQUAL(f.plan.figures.pivots, 0);
    f.ask.max_moves = 0;
    f.ask.spares_once = true; /* the only one is on a node that is freed */
    run(&f);
    CU_ASSERT_EQUAL(f.plan.figures.freed, 0);
    consolidate_plan_release(&f.plan);
    FIELD(&f, "1:32 2:8 2:24 2:8", "2:40 2:56", "4:24", "");
    f.ask.spares_once = true;
    run(&f);
    CU_ASSERT_EQUAL(f.plan.figures.freed, 1);
    EXPECT_MOVES(&f, "1:0>3@0* 2:1>0@1 4:2>1@2 1:3>1@2 ");
    for (size_t i = 0; i < f.ask.instance_count; i++)
        f.items[i].whole_job = true;
    run(&f);
    CU_ASSERT_EQUAL(f.plan.figures.freed, 0);
    CU_ASSERT_EQUAL(f.plan.figures.pivots, 0);
    consolidate_plan_release(&f.plan);
}

static void test_locked(void)
{
    struct field f;
    FIELD(&f, "1!", "1", "1!");
    run(&f);
    CU_ASSERT_EQUAL(f.plan.figures.freed, 1);
    CU_ASSERT_EQUAL(f.plan.figures.best, 1);
    CU_ASSERT_EQUAL(f.plan.figures.sites_locked, 2);
    CU_ASSERT_EQUAL(f.plan.figures.locked[CONSOLIDATE_NEVER], 2);
    CU_ASSERT_EQUAL(f.plan.figures.locked[CONSOLIDATE_MOVABLE], 1);
    CU_ASSERT_STRING_EQUAL(consolidate_lock_text(CONSOLIDATE_NEVER), "migration: never");
    consolidate_plan_release(&f.plan);
}

/* A node that is free, or was freed, is not filled again. */
static void test_not_refilled(void)
{
    struct field f;
    FIELD(&f, "", "4 4", "4!");
    f.nodes[2].takes = false;
    run(&f);
    CU_ASSERT_EQUAL(f.plan.figures.before, 1);
    CU_ASSERT_EQUAL(f.plan.figures.freed, 0);
    CU_ASSERT_EQUAL(f.plan.moves.count, 0);
    consolidate_plan_release(&f.plan);
    FIELD(&f, "1", "1", "1", "5!");
    run(&f);
    CU_ASSERT_EQUAL(f.plan.figures.freed, 3);
    tf_vec_each (move, &f.plan.moves)
        CU_ASSERT_EQUAL(move->to, 3);
    consolidate_plan_release(&f.plan);
}

/* GPUs are there, CPU is not: it takes an ejection that GPUs alone would not need. */
static void test_cpu_bound(void)
{
    struct field f;
    FIELD(&f, "4:60", "2!:1 1:50", "6!:1");
    run(&f);
    CU_ASSERT_EQUAL(f.plan.figures.freed, 1);
    EXPECT_MOVES(&f, "1:1>2@0 4:0>1@1 ");
    consolidate_plan_release(&f.plan);
    FIELD(&f, "4:60", "4!:50", "1!:50");
    run(&f);
    CU_ASSERT_EQUAL(f.plan.figures.freed, 0);
    CU_ASSERT_EQUAL(f.plan.moves.count, 0);
    consolidate_plan_release(&f.plan);
}

/* 1 GPU more on node 0 makes a half; node 1 has none to give. */
static void test_half_nodes(void)
{
    struct field f;
    FIELD(&f, "4 1", "4 2", "4! 2 1");
    f.ask.unit = (struct tf_vector){.gpus = 4, .slots = 1};
    f.ask.want = 1;
    run(&f);
    CU_ASSERT_EQUAL(f.plan.figures.freed, 1);
    EXPECT_MOVES(&f, "1:0>2@0 ");
    CU_ASSERT_EQUAL(f.plan.figures.gpus_bound, 1);
    consolidate_plan_release(&f.plan);
    FIELD(&f, "2 2 2", "2 2 2", "2 2", "2");
    f.ask.unit = (struct tf_vector){.gpus = 4, .slots = 1};
    run(&f);
    CU_ASSERT_EQUAL(f.plan.figures.freed, 1);
    CU_ASSERT_EQUAL(f.plan.figures.moves, 1);
    CU_ASSERT_EQUAL(f.plan.figures.moves_bound, 1); /* not 0, as of a second half that comes with the first */
    consolidate_plan_release(&f.plan);
}

static void test_shape(void)
{
    struct field f;
    FIELD(&f, "2:10 1:70", "3!:1", "");
    f.nodes[2].site = f.nodes[2].takes = false;
    f.ask.unit = (struct tf_vector){.gpus = 5, .slots = 1, .cpu = 80};
    f.ask.want = 2; /* node 1 has room for one already */
    run(&f);
    CU_ASSERT_EQUAL(f.plan.figures.before, 1);
    CU_ASSERT_EQUAL(f.plan.figures.freed, 0); /* the 1:70 would take what is free on node 1 */
    f.nodes[2].takes = true;
    run(&f);
    CU_ASSERT_EQUAL(f.plan.figures.freed, 1);
    EXPECT_MOVES(&f, "1:0>2@0 ");
    consolidate_plan_release(&f.plan);
}

static void test_named(void)
{
    struct field f;
    FIELD(&f, "1", "4", "2", "1!");
    f.nodes[0].site = f.nodes[2].site = f.nodes[3].site = false;
    run(&f);
    CU_ASSERT_EQUAL(f.plan.figures.freed, 1);
    CU_ASSERT_EQUAL(f.plan.sites.items[0].node, 1);
    EXPECT_MOVES(&f, "4:1>2@0 ");
    consolidate_plan_release(&f.plan);
}

static void test_domain(void)
{
    struct field f;
    FIELD(&f, "1", "1!", "4", "4", "5!");
    for (uint32_t n = 0; n < 5; n++)
        f.nodes[n].domain = n / 2;
    f.ask.domain_count = 3;
    run(&f);
    CU_ASSERT_EQUAL(f.plan.domain, 1); /* both of its nodes, where domain 0 could only give one */
    CU_ASSERT_EQUAL(f.plan.figures.freed, 2);
    CU_ASSERT_EQUAL(f.plan.sites.count, 2);
    consolidate_plan_release(&f.plan);
}

static void test_limits(void)
{
    struct field f;
    FIELD(&f, "1 1", "1 1 1", "4!", "3", "1!");
    f.ask.max_moves = 3;
    run(&f);
    CU_ASSERT_EQUAL(f.plan.figures.moves, 3); /* node 3 by one move, then node 0 by two */
    CU_ASSERT_EQUAL(f.plan.figures.freed, 2);
    f.ask.max_moves = 0;
    f.ask.max_cost = 2;
    run(&f);
    CU_ASSERT_EQUAL(f.plan.figures.freed, 1);
    CU_ASSERT_EQUAL(f.plan.sites.items[0].node, 0);
    CU_ASSERT_EQUAL(f.plan.figures.cost, 2);
    f.ask.max_cost = 0;
    f.ask.budget = 1;
    run(&f);
    CU_ASSERT(f.plan.figures.cut);
    CU_ASSERT_EQUAL(f.plan.figures.freed, 0);
    consolidate_plan_release(&f.plan);
}

/* At most so many of a job, and of all, in one wave. */
static void test_at_once(void)
{
    struct field f;
    FIELD(&f, "1 1 1", "4!");
    for (size_t i = 0; i < f.ask.instance_count; i++)
        f.at_once[i] = 1;
    f.ask.at_once = 2;
    run(&f);
    EXPECT_MOVES(&f, "1:0>1@0 1:0>1@0 1:0>1@1 ");
    f.ask.at_once = 0;
    f.items[0].job = f.items[1].job = f.items[2].job = 0;
    f.ask.job_at_once = f.at_once;
    run(&f);
    EXPECT_MOVES(&f, "1:0>1@0 1:0>1@1 1:0>1@2 ");
    CU_ASSERT_EQUAL(f.plan.figures.double_booked, 1);
    consolidate_plan_release(&f.plan);
}

static void expect_fault(struct field *f, const char *expected)
{
    const char *fault = consolidate_plan_fault(&f->ask, &f->plan);
    CU_ASSERT_PTR_NOT_NULL(fault);
    if (fault)
        CU_ASSERT_STRING_EQUAL(fault, expected);
}

/* A plan that was read from somewhere may be anything. */
static void test_faults(void)
{
    struct field f;
    FIELD(&f, "4", "4! 2", "4! 2!");
    run(&f);
    struct consolidate_move *moves = f.plan.moves.items, *first = &moves[0], good = *first;
    first->wave = 1;
    expect_fault(&f, "a target is not free when its move starts");
    *first = good;
    first->from = 2;
    expect_fault(&f, "a move from where it is not");
    *first = good;
    first->instance = 99;
    expect_fault(&f, "a move of what is not there");
    *first = good;
    first->instance = 1;
    expect_fault(&f, "a move of what may not move");
    *first = good;
    f.nodes[2].takes = false;
    expect_fault(&f, "a move to where it may not go");
    f.nodes[2].takes = true;
    f.plan.moves.count = 1;
    expect_fault(&f, "a site that is not free in the end");
    f.plan.sites.items[0].node = 77;
    expect_fault(&f, "a site that is none");
    f.plan.sites.count = 0;
    expect_fault(&f, "less is free in the end than the plan says");
    consolidate_plan_release(&f.plan);
}

static void test_nothing(void)
{
    struct field f;
    field_make(&f, NULL, 0);
    run(&f);
    CU_ASSERT_EQUAL(f.plan.moves.count, 0);
    CU_ASSERT_EQUAL(f.plan.figures.best, 0);
    consolidate_plan_release(&f.plan);
}

int main(void)
{
    static const struct suite_test tests[] = {
        {"direct moves free the cheapest node", test_direct},
        {"a chain of two: what is in the way leaves first", test_chain},
        {"a chain of three", test_deep_chain},
        {"a cycle needs a spare slot", test_cycle},
        {"nodes with something locked are not freed, and are counted", test_locked},
        {"a node that is free is not filled again", test_not_refilled},
        {"nodes whose CPU is what is short", test_cpu_bound},
        {"half nodes", test_half_nodes},
        {"room for a shape", test_shape},
        {"named nodes only", test_named},
        {"the domain that gives most", test_domain},
        {"limits of moves, cost and work", test_limits},
        {"limits of what moves at the same time", test_at_once},
        {"a plan that does not hold is told so", test_faults},
        {"a pool without nodes", test_nothing},
    };
    return suite_run("unit/subcluster/consolidate", tests, TF_ARRAY_LEN(tests));
}
