/* SPDX-License-Identifier: Apache-2.0 */
/* Plans to free nodes, carried out: whatever the planner gives for a random subcluster, its core takes as one
 * chain and brings to its end, move by move, with a store and an engine that do as they are told. Meanwhile
 * each index has an instance that is ready and not told to stop, unless its job restarts as a whole; in the
 * end what the plan says is free. Small nodes that are short of CPU, so that instances often need each
 * other's place. */
#include "common/base/cleanup.h"
#include "common/base/rng.h"
#include "common/base/text.h"
#include "subcluster/core/check.h"
#include "tests/support/sub_driver.h"
#include "tests/support/suite.h"

#include <inttypes.h>
#include <stdio.h>

enum { NODES = 8, JOBS = 60, LOOKS = 400 };

struct pool {
    struct sub_driver d;
    struct tf_rng rng;
    char names[NODES][8];
    size_t nodes;
    uint8_t jobs; /* uids 1 .. jobs */
    bool restarts[JOBS + 1];
    int32_t sizes[JOBS + 1];
    const char *breach;
};

/* ---- the subcluster ---- */

static void add_job(struct pool *p, int32_t size, int32_t gpus)
{
    uint8_t uid = ++p->jobs;
    struct tf_entry entry = driver_place_entry(uid, uid, size, gpus);
    tf_spec_own(&entry.spec)->group.shape.cpu = 1000 * tf_rng_range(&p->rng, 1, 28);
    tf_spec_own(&entry.spec)->migration = TF_MIGRATION_ALLOW;
    if (tf_rng_below(&p->rng, 4) == 0)
        tf_spec_own(&entry.spec)->migration =
            tf_rng_below(&p->rng, 3) ? TF_MIGRATION_NEVER : TF_MIGRATION_RESTART;
    p->restarts[uid] = entry.spec->migration == TF_MIGRATION_RESTART;
    p->sizes[uid] = size;
    driver_change(&p->d, entry);
    driver_all_ready(&p->d);
}

/* Only one node takes anything at a time, so that what is packed is scattered. */
static void open_only(struct pool *p, size_t open)
{
    for (size_t n = 0; n < p->nodes; n++)
        driver_node_state(&p->d, p->names[n], n == open ? TF_NODE_READY : TF_NODE_CORDONED);
}

static void pool_draw(struct pool *p)
{
    driver_init(&p->d);
    p->nodes = (size_t)tf_rng_range(&p->rng, 3, NODES);
    p->jobs = 0;
    p->breach = NULL;
    for (size_t n = 0; n < p->nodes; n++) {
        snprintf(p->names[n], sizeof p->names[n], "n%zu", n);
        driver_node(&p->d, p->names[n], "H800", 8);
    }
    driver_ready(&p->d);
    for (size_t n = 0; n + 1 < p->nodes; n++) { /* the last is free, and a spare place */
        static const int32_t sizes[] = {1, 1, 2, 2, 4};
        open_only(p, n);
        for (int64_t jobs = tf_rng_range(&p->rng, 0, 5); jobs > 0 && p->jobs < JOBS; jobs--)
            add_job(p, tf_rng_below(&p->rng, 6) ? 1 : 2, sizes[tf_rng_below(&p->rng, TF_ARRAY_LEN(sizes))]);
    }
    for (size_t n = 0; n < p->nodes; n++)
        driver_node_state(&p->d, p->names[n], TF_NODE_READY);
    driver_pass(&p->d, TF_MINUTE); /* what got free is offered to waiting work first */
    driver_clear(&p->d);
}

/* ---- the engine ---- */

static bool has_ready(const struct pool *p, uint8_t uid, uint32_t index, uint32_t but)
{
    tf_vec_each (i, &p->d.instances)
        if (i->id.uid.bytes[0] == uid && i->id.index == index && i->id.attempt != but &&
            i->state == SUB_INSTANCE_READY)
            return true;
    return false;
}

/* What the core has told it to stop since the last look goes. Whether there was anything. */
static bool stop_what_is_to(struct pool *p)
{
    TF_AUTO_FREE char *log = tf_strdup(tf_buf_text(&p->d.log));
    bool any = false;
    driver_clear(&p->d);
    for (char *save, *line = strtok_r(log, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        unsigned uid, epoch, index, attempt;
        if (sscanf(line, "stop %u/%u/%u.%u ", &uid, &epoch, &index, &attempt) != 4)
            continue;
        any = true;
        if (!p->restarts[uid] && !has_ready(p, (uint8_t)uid, index, attempt))
            p->breach = "an instance was stopped before another was ready";
        driver_stopped(&p->d, (uint8_t)uid, epoch, index, attempt);
    }
    return any;
}

static void carry_out(struct pool *p, const struct tf_migration *chain)
{
    for (int look = 0; look < LOOKS && chain->ended.ms == 0 && !p->breach; look++) {
        driver_all_ready(&p->d);
        if (!stop_what_is_to(p))
            driver_pass(&p->d, TF_SECOND);
        sub_check(p->d.sub);
    }
}

/* ---- the plan ---- */

static struct tf_defrag_order draw_order(struct pool *p)
{
    struct tf_defrag_order order = {.may_restart = tf_rng_below(&p->rng, 2)};
    if (tf_rng_below(&p->rng, 3) == 0)
        order.gpus = 4;
    if (tf_rng_below(&p->rng, 3) == 0)
        order.want = (int32_t)tf_rng_range(&p->rng, 1, 3);
    if (tf_rng_below(&p->rng, 4) == 0)
        order.max_moves = (int32_t)tf_rng_range(&p->rng, 1, 8);
    return order;
}

static void apply(struct pool *p, const struct tf_defrag_order *asked, uint64_t digest)
{
    struct sub_event event = {.kind = SUB_EV_DOWN};
    event.down =
        (struct tf_down){.kind = TF_DOWN_ASK, .term = p->d.term, .ask = {.id = 7, .kind = TF_ASK_DEFRAG}};
    struct tf_defrag_order *order = tf_vec_add(&event.down.ask.defrag);
    *order = (struct tf_defrag_order){0};
    tf_defrag_order_copy(order, asked);
    order->apply = true;
    order->id = driver_uid(200);
    order->digest = digest;
    driver_step(&p->d, event);
    driver_pass(&p->d, 10);
}

static int32_t units_on(const struct pool *p, const char *name, int32_t gpus)
{
    for (size_t i = 0; i < sub_node_count(p->d.sub); i++) {
        struct sub_node_view view = sub_node_at(p->d.sub, i);
        if (strcmp(view.node->name, name) == 0)
            return tf_gpu_set_count(view.free_gpus) / (gpus ? gpus : view.node->capacity.gpus);
    }
    return -1;
}

static int32_t units_free(const struct pool *p, int32_t gpus)
{
    int32_t units = 0;
    for (size_t n = 0; n < p->nodes; n++)
        units += units_on(p, p->names[n], gpus);
    return units;
}

static const char *result_fault(const struct pool *p, const struct tf_defrag_plan *plan,
                                const struct tf_migration *chain, int32_t gpus)
{
    if (chain->ended.ms == 0)
        return "the chain does not end";
    tf_vec_each (move, &chain->moves)
        if (move->state != TF_MOVE_DONE)
            return move->why ? move->why : "a move is not done";
    if (chain->moves.count != plan->moves.count)
        return "the chain is not the plan";
    return units_free(p, gpus) < plan->before + plan->freed ? "less is free than was planned" : NULL;
}

static void show(const struct tf_defrag_plan *plan, const struct tf_migration *chain)
{
    for (size_t i = 0; i < plan->moves.count; i++) {
        const struct tf_defrag_move *m = &plan->moves.items[i];
        printf("\n      %u: %s/%u, %d GPUs, %s -> %s: %s %s", m->wave, m->name, m->index, m->gpus, m->from,
               m->to, chain ? tf_move_state_name(chain->moves.items[i].state) : "",
               chain && chain->moves.items[i].why ? chain->moves.items[i].why : "");
    }
}

static size_t halves_in(const struct tf_defrag_plan *plan)
{
    size_t count = 0;
    for (size_t i = 0; i < plan->moves.count; i++)
        for (size_t j = 0; j < i; j++)
            count += plan->moves.items[i].uid.bytes[0] == plan->moves.items[j].uid.bytes[0] &&
                     plan->moves.items[i].index == plan->moves.items[j].index;
    return count;
}

struct sums {
    size_t plans, moves, restarts, spare;
};

static bool is_carried_out(struct pool *p, struct sums *sums)
{
    struct tf_defrag_plan plan = {0};
    struct tf_defrag_order order = draw_order(p);
    sub_plan_defrag(p->d.sub, p->d.now, &order, &plan);
    if (!plan.text && plan.moves.count) {
        apply(p, &order, plan.digest);
        const struct tf_migration *chain = sub_migration_at(p->d.sub, 0);
        if (!chain)
            p->breach = "the core refuses it";
        else
            carry_out(p, chain);
        if (!p->breach)
            p->breach = result_fault(p, &plan, chain, order.gpus);
        if (p->breach) {
            printf("\n    %s (%s)", p->breach, tf_buf_text(&p->d.log));
            show(&plan, chain);
        }
        sums->plans++;
        sums->moves += plan.moves.count;
        sums->spare += halves_in(&plan);
        tf_vec_each (move, &plan.moves)
            sums->restarts += p->restarts[move->uid.bytes[0]];
    }
    tf_defrag_plan_release(&plan);
    return !p->breach;
}

static void test_carried_out(void)
{
    static struct pool p;
    struct sums sums = {0};
    tf_rng_init(&p.rng, suite_seed(3));
    for (size_t round = 0; round < suite_rounds(5000); round++) {
        pool_draw(&p);
        bool ok = is_carried_out(&p, &sums);
        driver_release(&p.d);
        if (!ok) {
            printf("\n    round %zu", round);
            CU_FAIL("a plan is not carried out");
            break;
        }
    }
    printf("\n    %zu plans, %zu moves, %zu of jobs that restart, %zu by way of a spare place ", sums.plans,
           sums.moves, sums.restarts, sums.spare);
    CU_ASSERT(sums.plans > 0 && sums.restarts > 0 && sums.spare > 0);
}

int main(void)
{
    static const struct suite_test tests[] = {
        {"what the planner plans the core carries out, all of it", test_carried_out},
    };
    return suite_run("property/defrag", tests, TF_ARRAY_LEN(tests));
}
