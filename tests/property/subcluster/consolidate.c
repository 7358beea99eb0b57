/* SPDX-License-Identifier: Apache-2.0 */
/* Plans to free nodes, against brute force on small pools: how much can be freed, with how few moves; and any
 * plan on any pool can be carried out in its order. */
#include "subcluster/core/consolidate/consolidate.h"

#include "common/base/cleanup.h"
#include "common/base/rng.h"
#include "tests/support/suite.h"

#include <inttypes.h>
#include <stdio.h>

enum { NODES = 24, ITEMS = 200, CLASSES = 3, GPUS = 8 };

struct field {
    struct consolidate_node nodes[NODES];
    struct consolidate_instance items[ITEMS];
    uint64_t sets[2];
    int32_t at_once[ITEMS];
    struct consolidate_ask ask;
};

static void field_init(struct field *f)
{
    *f = (struct field){0};
    f->ask = (struct consolidate_ask){.nodes = f->nodes,
                                      .instances = f->items,
                                      .class_count = CLASSES,
                                      .unit_set = CONSOLIDATE_ANY,
                                      .want = INT32_MAX};
}

static uint32_t add_node(struct field *f, struct tf_vector capacity)
{
    f->nodes[f->ask.node_count] = (struct consolidate_node){
        .capacity = capacity, .free = capacity, .domain = CONSOLIDATE_ANY, .site = true, .takes = true};
    return (uint32_t)f->ask.node_count++;
}

static void add_item(struct field *f, uint32_t node, struct tf_vector need, enum consolidate_lock lock)
{
    f->nodes[node].free = tf_vector_sub(f->nodes[node].free, need);
    f->items[f->ask.instance_count] = (struct consolidate_instance){.node = node,
                                                                    .need = need,
                                                                    .job = (uint32_t)f->ask.instance_count,
                                                                    .set = CONSOLIDATE_ANY,
                                                                    .lock = lock,
                                                                    .cost = need.gpus > 0 ? need.gpus : 1};
    f->ask.job_count = ++f->ask.instance_count;
}

static struct tf_vector gpus(int32_t n)
{
    return (struct tf_vector){.gpus = n, .slots = 1};
}

/* Nodes of 8 GPUs with instances of 1, 2, 4 and 8, some locked. */
static void draw_small(struct field *f, struct tf_rng *rng, int32_t locked_percent, size_t items)
{
    static const int32_t sizes[] = {1, 1, 2, 2, 4, 8};
    field_init(f);
    for (int64_t n = tf_rng_range(rng, 2, 5); n > 0; n--) {
        uint32_t node = add_node(f, (struct tf_vector){.gpus = GPUS, .slots = 64});
        while (f->ask.instance_count < items && tf_rng_below(rng, 8)) {
            int32_t size = sizes[tf_rng_below(rng, TF_ARRAY_LEN(sizes))];
            bool locked = (int32_t)tf_rng_below(rng, 100) < locked_percent;
            if (size <= f->nodes[node].free.gpus)
                add_item(f, node, gpus(size), locked ? CONSOLIDATE_NEVER : CONSOLIDATE_MOVABLE);
        }
    }
}

/* ---- brute force: every place for every instance ---- */

struct brute {
    const struct field *f;
    int32_t room[NODES], count[NODES];
    int32_t most;             /* nodes without an instance */
    int32_t moves[NODES + 1]; /* the fewest for so many; INT32_MAX: impossible */
    int32_t moved[NODES + 1]; /* likewise GPUs */
};

static void brute_note(struct brute *b, int32_t moves, int32_t moved)
{
    int32_t empty = 0;
    for (size_t n = 0; n < b->f->ask.node_count; n++)
        empty += b->count[n] == 0;
    b->most = empty > b->most ? empty : b->most;
    for (int32_t k = 0; k <= empty; k++) {
        b->moves[k] = moves < b->moves[k] ? moves : b->moves[k];
        b->moved[k] = moved < b->moved[k] ? moved : b->moved[k];
    }
}

static void brute_place(struct brute *b, size_t i, int32_t moves, int32_t moved)
{
    if (i == b->f->ask.instance_count) {
        brute_note(b, moves, moved);
        return;
    }
    const struct consolidate_instance *item = &b->f->items[i];
    for (uint32_t n = 0; n < b->f->ask.node_count; n++) {
        bool away = n != item->node;
        if (b->room[n] < item->need.gpus || (away && item->lock != CONSOLIDATE_MOVABLE))
            continue;
        b->room[n] -= item->need.gpus;
        b->count[n]++;
        brute_place(b, i + 1, moves + away, moved + (away ? item->need.gpus : 0));
        b->room[n] += item->need.gpus;
        b->count[n]--;
    }
}

static void brute_run(struct brute *b, const struct field *f)
{
    *b = (struct brute){.f = f};
    for (size_t n = 0; n <= NODES; n++)
        b->moves[n] = b->moved[n] = INT32_MAX;
    for (size_t n = 0; n < f->ask.node_count; n++)
        b->room[n] = GPUS;
    brute_place(b, 0, 0, 0);
}

/* ---- against it ---- */

static void show(const struct field *f)
{
    for (size_t n = 0; n < f->ask.node_count; n++) {
        printf("\n      ");
        for (size_t i = 0; i < f->ask.instance_count; i++)
            if (f->items[i].node == n)
                printf("%d%s ", f->items[i].need.gpus, f->items[i].lock ? "L" : "");
    }
}

static bool is_sound(const struct field *f, const struct consolidate_plan *plan)
{
    const char *fault = consolidate_plan_fault(&f->ask, plan);
    if (fault) {
        printf("\n    %s:", fault);
        show(f);
    }
    return !fault;
}

struct sums {
    int64_t plans, optimal, moves, fewest, moved, least, tight, pivots;
};

/* Each number of nodes that can be freed at all is freed, with moves between the bound and little more than
 * the fewest. */
static bool agrees(struct field *f, struct sums *sums)
{
    struct brute b;
    struct consolidate_plan plan = {0};
    brute_run(&b, f);
    consolidate_plan_make(&f->ask, &plan);
    int32_t before = plan.figures.before, most = plan.figures.best;
    bool ok = is_sound(f, &plan) && before + most == b.most;
    for (int32_t want = 1; ok && want <= most; want++) {
        f->ask.want = want;
        consolidate_plan_make(&f->ask, &plan);
        const struct consolidate_figures *figures = &plan.figures;
        int32_t fewest = b.moves[before + want], least = b.moved[before + want];
        ok = is_sound(f, &plan) && figures->freed == want && figures->moves_bound <= fewest &&
             figures->gpus_bound <= least && figures->gpus >= least;
        if (!ok)
            printf("\n    want %d: freed %d, moves %d of %d (bound %d), GPUs %d of %d (bound %d):", want,
                   figures->freed, figures->moves, fewest, figures->moves_bound, figures->gpus, least,
                   figures->gpus_bound);
        sums->plans++;
        sums->optimal += figures->gpus == least;
        sums->tight += figures->gpus_bound == least;
        sums->moves += figures->moves;
        sums->fewest += fewest;
        sums->moved += figures->gpus;
        sums->least += least;
        sums->pivots += figures->pivots;
    }
    if (!ok)
        show(f);
    consolidate_plan_release(&plan);
    return ok;
}

static void test_brute_force(void)
{
    struct tf_rng rng;
    struct sums sums = {0};
    struct field f;
    tf_rng_init(&rng, suite_seed(1));
    for (size_t round = 0; round < suite_rounds(1000); round++) {
        draw_small(&f, &rng, round % 2 ? 25 : 0, 9);
        if (!agrees(&f, &sums)) {
            CU_FAIL("a plan is not what brute force says");
            break;
        }
    }
    printf("\n    %" PRId64 " plans, %" PRId64 " with the fewest GPUs; moves %" PRId64 " of %" PRId64
           ", GPUs %" PRId64 " of %" PRId64 "; bound tight in %" PRId64 ", pivots %" PRId64 " ",
           sums.plans, sums.optimal, sums.moves, sums.fewest, sums.moved, sums.least, sums.tight,
           sums.pivots);
    CU_ASSERT(sums.plans > 0 && sums.optimal * 100 >= sums.plans * 90);
}

/* ---- any pool ---- */

static struct tf_vector draw_need(struct tf_rng *rng, struct tf_vector free, bool divisible)
{
    static const int32_t sizes[] = {0, 1, 1, 2, 2, 4, 4, 8};
    int32_t size = divisible ? sizes[tf_rng_below(rng, TF_ARRAY_LEN(sizes))] : (int32_t)tf_rng_below(rng, 9);
    if (size > free.gpus)
        size = free.gpus > 0 ? 1 : 0;
    return (struct tf_vector){.gpus = size,
                              .slots = 1,
                              .cpu = tf_rng_range(rng, 0, free.cpu / 3),
                              .memory = tf_rng_range(rng, 0, free.memory / 3)};
}

static void draw_any(struct field *f, struct tf_rng *rng)
{
    bool divisible = tf_rng_below(rng, 2);
    field_init(f);
    f->sets[0] = 1 + tf_rng_below(rng, 7);
    f->sets[1] = 1 + tf_rng_below(rng, 7);
    f->ask.sets = f->sets;
    f->ask.set_count = 2;
    for (int64_t n = tf_rng_range(rng, 1, NODES - 1); n >= 0; n--) {
        uint32_t node = add_node(f, (struct tf_vector){.gpus = tf_rng_below(rng, 4) ? GPUS : 4,
                                                       .slots = (int32_t)tf_rng_range(rng, 4, 16),
                                                       .cpu = 96,
                                                       .memory = 1000});
        f->nodes[node].class = (uint32_t)tf_rng_below(rng, CLASSES);
        f->nodes[node].domain = tf_rng_below(rng, 5) ? (uint32_t)tf_rng_below(rng, 3) : CONSOLIDATE_ANY;
        f->nodes[node].site = tf_rng_below(rng, 8) != 0;
        f->nodes[node].takes = tf_rng_below(rng, 8) != 0;
        while (f->nodes[node].free.slots > 0 && tf_rng_below(rng, 5))
            add_item(f, node, draw_need(rng, f->nodes[node].free, divisible),
                     tf_rng_below(rng, 3) ? CONSOLIDATE_MOVABLE
                                          : (enum consolidate_lock)tf_rng_below(rng, 6));
    }
    for (size_t i = 0; i < f->ask.instance_count; i++) {
        f->items[i].job = (uint32_t)tf_rng_below(rng, f->ask.job_count);
        f->items[i].set = tf_rng_below(rng, 2) ? CONSOLIDATE_ANY : (uint32_t)tf_rng_below(rng, 2);
        f->items[i].cost += tf_rng_range(rng, 0, 5);
        f->items[i].whole_job = tf_rng_below(rng, 10) == 0;
        f->at_once[i] = (int32_t)tf_rng_range(rng, 1, 3);
    }
}

static void draw_target(struct field *f, struct tf_rng *rng)
{
    struct consolidate_ask *ask = &f->ask;
    if (tf_rng_below(rng, 2))
        ask->unit = (struct tf_vector){(int32_t)tf_rng_range(rng, 1, 5), 1, tf_rng_range(rng, 0, 40), 0};
    ask->unit_set = tf_rng_below(rng, 3) ? CONSOLIDATE_ANY : (uint32_t)tf_rng_below(rng, 2);
    ask->want = tf_rng_below(rng, 2) ? INT32_MAX : (int32_t)tf_rng_range(rng, 0, 5);
    ask->domain_count = tf_rng_below(rng, 3) ? 0 : 3;
    ask->max_moves = tf_rng_below(rng, 3) ? 0 : (int32_t)tf_rng_range(rng, 1, 10);
    ask->max_cost = tf_rng_below(rng, 3) ? 0 : tf_rng_range(rng, 1, 40);
    ask->at_once = tf_rng_below(rng, 2) ? 0 : (int32_t)tf_rng_range(rng, 1, 3);
    ask->job_at_once = tf_rng_below(rng, 2) ? NULL : f->at_once;
    ask->spares_once = tf_rng_below(rng, 2);
    ask->budget = tf_rng_below(rng, 4) ? 0 : tf_rng_range(rng, 1, 2000);
}

/* What the caller limited is kept within, with what waits in spare places. */
static bool within_limits(const struct field *f, const struct consolidate_plan *plan)
{
    const struct consolidate_figures *figures = &plan->figures;
    const struct consolidate_ask *ask = &f->ask;
    int32_t waves[ITEMS * 2] = {0};
    tf_vec_each (move, &plan->moves)
        waves[move->wave]++;
    for (size_t w = 0; w < TF_ARRAY_LEN(waves); w++)
        if (ask->at_once && waves[w] > ask->at_once)
            return false;
    bool as_wanted = ask->unit.gpus > 0 || figures->freed <= ask->want; /* units can come by the way */
    return figures->freed <= figures->best && as_wanted &&
           (!ask->max_moves || figures->moves <= ask->max_moves) &&
           (!ask->max_cost || figures->cost <= ask->max_cost) && figures->gpus >= figures->gpus_bound &&
           figures->moves >= figures->moves_bound;
}

static void test_any(void)
{
    struct tf_rng rng;
    struct consolidate_plan plan = {0};
    int64_t freed = 0, moves = 0, pivots = 0;
    tf_rng_init(&rng, suite_seed(2));
    for (size_t round = 0; round < suite_rounds(5000); round++) {
        struct field f;
        draw_any(&f, &rng);
        draw_target(&f, &rng);
        consolidate_plan_make(&f.ask, &plan);
        freed += plan.figures.freed;
        moves += plan.figures.moves;
        pivots += plan.figures.pivots;
        if (!is_sound(&f, &plan) || !within_limits(&f, &plan)) {
            printf("\n    round %zu: freed %d of %d (want %d), moves %d (bound %d), GPUs %d (bound %d)",
                   round, plan.figures.freed, plan.figures.best, f.ask.want, plan.figures.moves,
                   plan.figures.moves_bound, plan.figures.gpus, plan.figures.gpus_bound);
            CU_FAIL("a plan that cannot be carried out");
            break;
        }
    }
    printf("\n    freed %" PRId64 " by %" PRId64 " moves, %" PRId64 " pivots ", freed, moves, pivots);
    CU_ASSERT(freed > 0 && pivots > 0);
    consolidate_plan_release(&plan);
}

int main(void)
{
    static const struct suite_test tests[] = {
        {"as much is freed as brute force can free, with moves between bound and optimum", test_brute_force},
        {"any plan can be carried out in its order, within its limits", test_any},
    };
    return suite_run("property/consolidate", tests, TF_ARRAY_LEN(tests));
}
