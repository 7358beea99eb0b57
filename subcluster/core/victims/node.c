/* SPDX-License-Identifier: Apache-2.0 */
/* The cheapest ways to more instances on one node. A dynamic programme over its units: each state is a set of
 * them, and stays only while no other frees at least as much, in every dimension, for no more. With GPUs
 * alone that is the textbook programme f[c] = least cost to free c GPUs (BOUNDS.md §3). */
#include "subcluster/core/victims/private.h"

#include <assert.h>

/* Beyond so many states side by side (only where four dimensions disagree a lot) the dearest go, and the
 * result is the best of what is left. */
enum { STATES_MAX = 1024 };

struct way_state {
    uint64_t units;        /* set of places in victims_ways.local */
    struct tf_vector have; /* capped at what the most instances need */
    bool hit;              /* the surplus of the job under way is among them */
    size_t cost;           /* place in costs */
};

struct victims_ways {
    TF_VEC(uint32_t) local; /* units on this node that may be taken */
    TF_VEC(struct tf_vector) frees;
    TF_VEC(struct way_state) states, proposed;
    TF_VEC(int64_t) costs;
    size_t used;          /* costs in it, spare ones included */
    TF_VEC(size_t) spare; /* places in it that no state has */
    TF_VEC(int64_t) cost; /* of the state in the making */
};

struct victims_ways *victims_ways_create(void)
{
    return tf_calloc(1, sizeof(struct victims_ways));
}

void victims_ways_destroy(struct victims_ways *ways)
{
    if (!ways)
        return;
    tf_vec_release(&ways->local);
    tf_vec_release(&ways->frees);
    tf_vec_release(&ways->states);
    tf_vec_release(&ways->proposed);
    tf_vec_release(&ways->costs);
    tf_vec_release(&ways->spare);
    tf_vec_release(&ways->cost);
    free(ways);
}

static void list_local(struct victims_ways *ways, const struct victims_search *search, uint32_t node)
{
    const struct victim_node *detail = &search->ask->detail[node];
    ways->local.count = ways->frees.count = 0;
    for (size_t p = 0; p < detail->part_count && ways->local.count < WAY_UNITS; p++) {
        uint32_t unit = detail->parts[p].unit;
        if (search->taken[unit] || !victims_search_may_take(search, unit))
            continue;
        tf_vec_push(&ways->local, unit);
        tf_vec_push(&ways->frees, detail->parts[p].frees);
    }
}

/* ---- states ---- */

static const int64_t *state_cost(const struct victims_ways *ways, const struct way_state *state)
{
    return &ways->costs.items[state->cost];
}

/* a is at least as good as b, whatever follows: while a job is under way, what has some of it and what has
 * none of it go on differently. */
static bool beats(const struct victims_ways *ways, const struct victims_search *search,
                  const struct way_state *a, const struct way_state *b)
{
    return a->hit == b->hit && tf_vector_fits(b->have, a->have) &&
           victims_cost_cmp(search, state_cost(ways, a), 1, state_cost(ways, b), 1) <= 0;
}

static void drop_state(struct victims_ways *ways, size_t i)
{
    tf_vec_push(&ways->spare, ways->states.items[i].cost);
    ways->states.items[i] = ways->states.items[--ways->states.count];
}

static void drop_dearest(struct victims_ways *ways, const struct victims_search *search)
{
    size_t worst = 1; /* the first takes nothing: it stays */
    for (size_t i = 2; i < ways->states.count; i++)
        if (victims_cost_cmp(search, state_cost(ways, &ways->states.items[i]), 1,
                             state_cost(ways, &ways->states.items[worst]), 1) > 0)
            worst = i;
    drop_state(ways, worst);
}

/* A state that another one led to: it is judged when all of its kind have been made. Its cost is in
 * ways->cost. */
static void propose_state(struct victims_ways *ways, const struct victims_search *search,
                          struct way_state state)
{
    if (ways->spare.count)
        state.cost = ways->spare.items[--ways->spare.count];
    else
        state.cost = search->dims * ways->used++;
    tf_vec_reserve(&ways->costs, state.cost + search->dims);
    memcpy(&ways->costs.items[state.cost], ways->cost.items, search->dims * sizeof *ways->cost.items);
    tf_vec_push(&ways->proposed, state);
}

/* Keeps the state unless another beats it; those that it beats go. */
static void accept_state(struct victims_ways *ways, const struct victims_search *search,
                         const struct way_state *state)
{
    tf_vec_each (s, &ways->states)
        if (beats(ways, search, s, state)) {
            tf_vec_push(&ways->spare, state->cost);
            return;
        }
    for (size_t i = ways->states.count; i-- > 1;)
        if (beats(ways, search, state, &ways->states.items[i]))
            drop_state(ways, i);
    tf_vec_push(&ways->states, *state);
    if (ways->states.count > STATES_MAX)
        drop_dearest(ways, search);
}

static void accept_proposed(struct victims_ways *ways, const struct victims_search *search)
{
    tf_vec_each (state, &ways->proposed)
        accept_state(ways, search, state);
    ways->proposed.count = 0;
}

static struct tf_vector capped(struct tf_vector have, struct tf_vector most)
{
    struct tf_vector x = {.gpus = have.gpus < most.gpus ? have.gpus : most.gpus,
                          .slots = have.slots < most.slots ? have.slots : most.slots,
                          .cpu = have.cpu < most.cpu ? have.cpu : most.cpu,
                          .memory = have.memory < most.memory ? have.memory : most.memory};
    return x;
}

/* ---- steps of the programme ---- */

static void add_price(struct victims_ways *ways, const struct victims_search *search, uint32_t unit,
                      int32_t here, bool by_share)
{
    int32_t all = search->gpus.items[unit];
    bool share = by_share && all > 0 && here < all;
    victims_cost_add_unit(search, unit, share ? here : 1, share ? all : 1, ways->cost.items);
}

static bool surplus_is_hit(const struct victims_search *search, uint32_t unit)
{
    for (uint32_t u = victims_search_job_begin(search, unit); u < victims_search_job_end(search, unit); u++)
        if (search->taken[u])
            return true;
    return false;
}

static void begin_from(struct victims_ways *ways, const struct victims_search *search,
                       const struct way_state *state)
{
    memcpy(ways->cost.items, state_cost(ways, state), search->dims * sizeof *ways->cost.items);
}

/* Each state, and the same with the surplus step of that place. */
static void extend_by_step(struct victims_ways *ways, const struct victims_search *search, size_t place,
                           struct tf_vector most, bool by_share)
{
    uint32_t unit = ways->local.items[place];
    bool hit = surplus_is_hit(search, unit);
    tf_vec_each (from, &ways->states) {
        struct way_state state = *from;
        begin_from(ways, search, &state);
        add_price(ways, search, unit, ways->frees.items[place].gpus, by_share);
        if (!hit && !state.hit)
            victims_cost_add_hit(search, unit, ways->cost.items);
        state.units |= UINT64_C(1) << place;
        state.have = capped(tf_vector_add(state.have, ways->frees.items[place]), most);
        state.hit = true;
        propose_state(ways, search, state);
    }
    accept_proposed(ways, search);
}

/* The price of a core: its own, and that of all of its job that is not taken yet, wherever it is. */
static void add_core_price(struct victims_ways *ways, const struct victims_search *search, uint32_t core,
                           const int32_t *here, bool by_share)
{
    bool hit = surplus_is_hit(search, core);
    for (uint32_t u = victims_search_job_begin(search, core); u <= core; u++) {
        if (search->taken[u])
            continue;
        add_price(ways, search, u, here[u - victims_search_job_begin(search, core)], by_share);
        if (u == core || !hit)
            victims_cost_add_hit(search, u, ways->cost.items);
        hit = true;
    }
}

/* Each state of before the job, and the same with its core and all that goes with it: places [first, place].
 */
static void extend_by_core(struct victims_ways *ways, const struct victims_search *search, size_t first,
                           size_t place, struct tf_vector most, bool by_share)
{
    uint32_t core = ways->local.items[place], begin = victims_search_job_begin(search, core);
    uint64_t job = 0;
    struct tf_vector frees = {0};
    int32_t *here = tf_calloc(core - begin + 1, sizeof *here);
    for (size_t p = first; p <= place; p++) {
        job |= UINT64_C(1) << p;
        frees = tf_vector_add(frees, ways->frees.items[p]);
        here[ways->local.items[p] - begin] = ways->frees.items[p].gpus;
    }
    tf_vec_each (from, &ways->states) {
        struct way_state state = *from;
        if (state.units & job)
            continue;
        begin_from(ways, search, &state);
        add_core_price(ways, search, core, here, by_share);
        state.units |= job;
        state.have = capped(tf_vector_add(state.have, frees), most);
        state.hit = true;
        propose_state(ways, search, state);
    }
    accept_proposed(ways, search);
    free(here);
}

/* From here on all states go on alike: each is judged anew. */
static void end_job(struct victims_ways *ways, const struct victims_search *search)
{
    size_t count = ways->states.count;
    for (size_t i = 1; i < count; i++) {
        ways->states.items[i].hit = false;
        tf_vec_push(&ways->proposed, ways->states.items[i]);
    }
    ways->states.count = 1;
    accept_proposed(ways, search);
}

static void run_programme(struct victims_ways *ways, const struct victims_search *search, uint32_t node,
                          struct tf_vector most, bool by_share)
{
    const struct victim_unit *units = search->ask->units;
    tf_vec_reserve(&ways->costs, search->dims);
    tf_vec_reserve(&ways->cost, search->dims);
    memset(ways->costs.items, 0, search->dims * sizeof *ways->costs.items);
    ways->spare.count = ways->states.count = 0;
    ways->used = 1;
    tf_vec_push(&ways->states, (struct way_state){.have = capped(search->have[node], most)});
    size_t first = 0;
    for (size_t p = 0; p < ways->local.count; p++) {
        uint32_t unit = ways->local.items[p];
        if (p > 0 && units[unit].job != units[ways->local.items[p - 1]].job) {
            end_job(ways, search);
            first = p;
        }
        if (units[unit].core)
            extend_by_core(ways, search, first, p, most, by_share);
        else
            extend_by_step(ways, search, p, most, by_share);
    }
}

/* ---- the result ---- */

static void export_way(const struct victims_ways *ways, const struct way_state *state, struct victim_way *way)
{
    way->count = 0;
    for (size_t p = 0; p < ways->local.count; p++)
        if (state->units >> p & 1)
            way->units[way->count++] = ways->local.items[p];
}

/* What the node could have if all that may go went: instances. */
static int32_t most_instances(const struct victims_ways *ways, const struct victims_search *search,
                              uint32_t node)
{
    struct tf_vector all = search->have[node];
    tf_vec_each (frees, &ways->frees)
        all = tf_vector_add(all, *frees);
    return tf_vector_count(search->ask->demand->need, tf_vector_floor0(all));
}

bool victims_ways_best(struct victims_ways *ways, struct victims_search *search, uint32_t node, int32_t most,
                       bool by_share, struct victim_way *way, int64_t *cost)
{
    struct tf_vector need = search->ask->demand->need;
    int32_t now = tf_vector_count(need, tf_vector_floor0(search->have[node]));
    search->work++;
    list_local(ways, search, node);
    int32_t could = most_instances(ways, search, node);
    if (could <= now)
        return false;
    int32_t cap = could - now < most ? could : now + most;
    run_programme(ways, search, node, tf_vector_scale(need, cap), by_share);
    const struct way_state *best = NULL;
    int32_t gain = 0;
    tf_vec_each (state, &ways->states) {
        int32_t more = tf_vector_count(need, tf_vector_floor0(state->have)) - now;
        if (more <= 0)
            continue;
        int order =
            best ? victims_cost_cmp(search, state_cost(ways, state), more, state_cost(ways, best), gain) : -1;
        if (order < 0 || (order == 0 && more > gain)) {
            best = state;
            gain = more;
        }
    }
    if (!best)
        return false;
    export_way(ways, best, way);
    way->gain = gain;
    memcpy(cost, state_cost(ways, best), search->dims * sizeof *cost);
    return true;
}
