/* SPDX-License-Identifier: Apache-2.0 */
/* The order of a plan's moves: what must happen first, what may happen at once, and where a cycle needs a
 * spare place. What is moved where was decided before. */
#include "subcluster/core/consolidate/private.h"

#include "common/base/cleanup.h"

#include <assert.h>
#include <string.h>

enum state { STAYS, TO_DO, UNDER_WAY, PARKED, DONE, GIVEN_UP };

struct order {
    struct pool *pool;
    const struct consolidate_ask *ask;
    struct consolidate_plan *plan;
    struct tf_vector *free;  /* of each node, as the moves so far leave it, less what it keeps */
    struct tf_vector *kept;  /* of each node: units that are free now, and stay so */
    struct tf_vector *spent; /* of each node: spare places that were left, where they serve but once */
    int32_t parks_left;      /* so many may yet wait in a spare place */
    int64_t cost_left;       /* and cost so much together */
    enum state *state;       /* of each instance */
    bool *stays_put;         /* of each instance: what it waited for never came */
    bool *is_freed;          /* of each node: the plan is to free it */
    uint32_t *from_first, *from_next; /* instances that leave each node */
    uint32_t *waits;                  /* arrivals under way at each node: no place to park at */
    uint32_t *coming;                 /* arrivals yet to come at each node */
    TF_VEC(uint32_t) late;            /* parked ones, and those that were given up */
};

/* ---- like for like ---- */

static bool is_alike(const struct consolidate_instance *a, const struct consolidate_instance *b)
{
    return tf_vector_eq(a->need, b->need) && a->set == b->set;
}

/* One that leaves a node while its like comes to it stays, and the other goes where it would have gone. */
static void let_likes_stay(struct pool *pool)
{
    const struct consolidate_ask *ask = pool->ask;
    for (uint32_t out = 0; out < ask->instance_count; out++) {
        uint32_t home = ask->instances[out].node, target = pool->at[out];
        if (target == home)
            continue;
        for (uint32_t in = pool->bins[home].first; in != IN_HAND; in = pool->next[in]) {
            pool->work++;
            if (ask->instances[in].node == home || !is_alike(&ask->instances[in], &ask->instances[out]))
                continue;
            pool_lift(pool, in);
            pool_lift(pool, out);
            pool_put(pool, out, home);
            pool_put(pool, in, target);
            break;
        }
    }
}

/* One that was ejected, and whose place is free after all, stays. */
static void let_stay(struct pool *pool)
{
    const struct consolidate_ask *ask = pool->ask;
    for (uint32_t i = 0; i < ask->instance_count; i++) {
        uint32_t home = ask->instances[i].node;
        const struct bin *bin = &pool->bins[home];
        if (pool->at[i] == home || !bin->open || !tf_vector_fits(ask->instances[i].need, bin->free))
            continue;
        pool_lift(pool, i);
        pool_put(pool, i, home);
    }
}

/* ---- one after the other ---- */

static void add_move(struct order *order, uint32_t i, uint32_t from, uint32_t to, bool pivot)
{
    const struct consolidate_instance *instance = &order->ask->instances[i];
    order->free[to] = tf_vector_sub(order->free[to], instance->need);
    bool spent = from != instance->node && order->ask->spares_once;
    struct tf_vector *left = spent ? &order->spent[from] : &order->free[from];
    *left = tf_vector_add(*left, instance->need);
    tf_vec_push(&order->plan->moves,
                (struct consolidate_move){.instance = i, .from = from, .to = to, .pivot = pivot});
}

static bool may_wait_at(const struct order *order, uint32_t i, uint32_t node)
{
    const struct consolidate_instance *instance = &order->ask->instances[i];
    return node != instance->node && node != order->pool->at[i] && !order->waits[node] &&
           order->ask->nodes[node].takes && !(order->ask->spares_once && order->is_freed[node]) &&
           pool_admits(order->pool, instance->set, node);
}

/* The node with the least room for it that nobody under way waits for. What is free, and stays so, will do:
 * it is for a while only. */
static uint32_t spare_for(struct order *order, uint32_t i)
{
    const struct consolidate_instance *instance = &order->ask->instances[i];
    uint32_t best = IN_HAND;
    int32_t least = 0;
    uint32_t fewest = 0;
    for (uint32_t n = 0; n < order->ask->node_count; n++) {
        uint32_t coming = order->ask->spares_once ? order->coming[n] : 0;
        struct tf_vector free = tf_vector_add(order->free[n], order->kept[n]);
        order->pool->work++;
        if (!tf_vector_fits(instance->need, free) || !may_wait_at(order, i, n))
            continue;
        if (best == IN_HAND || coming < fewest || (coming == fewest && free.gpus < least))
            best = n, least = free.gpus, fewest = coming;
    }
    return best;
}

static bool park(struct order *order, uint32_t i)
{
    const struct consolidate_instance *instance = &order->ask->instances[i];
    bool may = order->parks_left > 0 && instance->cost <= order->cost_left && !instance->whole_job &&
               !order->stays_put[i];
    uint32_t spare = may ? spare_for(order, i) : IN_HAND;
    if (spare == IN_HAND)
        return false;
    add_move(order, i, instance->node, spare, true);
    order->parks_left--;
    order->cost_left -= instance->cost;
    return true;
}

static uint32_t next_to_leave(const struct order *order, uint32_t node)
{
    for (uint32_t i = order->from_first[node]; i != IN_HAND; i = order->from_next[i])
        if (order->state[i] == TO_DO)
            return i;
    return IN_HAND;
}

/* First whatever must leave the target. What waits for itself that way is parked, and goes on when its place
 * is free. */
static void emit(struct order *order, uint32_t i)
{
    const struct consolidate_instance *instance = &order->ask->instances[i];
    uint32_t to = order->pool->at[i];
    order->state[i] = UNDER_WAY;
    order->waits[to]++;
    while (!tf_vector_fits(instance->need, order->free[to])) {
        uint32_t first = next_to_leave(order, to);
        if (first == IN_HAND)
            break;
        emit(order, first);
    }
    order->waits[to]--;
    if (tf_vector_fits(instance->need, order->free[to])) {
        add_move(order, i, instance->node, to, false);
        order->coming[to]--;
        order->state[i] = DONE;
    } else {
        order->state[i] = park(order, i) ? PARKED : GIVEN_UP;
        tf_vec_push(&order->late, i);
    }
}

static uint32_t where_is(const struct order *order, uint32_t i)
{
    uint32_t at = order->ask->instances[i].node;
    if (order->state[i] == PARKED)
        tf_vec_each (move, &order->plan->moves)
            at = move->instance == i ? move->to : at;
    return at;
}

/* Those of them go on whose place has become free. */
static void let_go_on(struct order *order)
{
    for (size_t l = 0; l < order->late.count;) {
        uint32_t i = order->late.items[l], to = order->pool->at[i];
        if (!tf_vector_fits(order->ask->instances[i].need, order->free[to])) {
            l++;
            continue;
        }
        add_move(order, i, where_is(order, i), to, false);
        order->coming[to]--;
        order->state[i] = DONE;
        tf_vec_remove(&order->late, l);
        l = 0; /* what it left may be what an earlier one waits for */
    }
}

/* Site by site, as they were freed: who stops half-way has whole nodes. */
static void emit_all(struct order *order)
{
    tf_vec_each (site, &order->plan->sites) {
        for (uint32_t i; (i = next_to_leave(order, site->node)) != IN_HAND;) {
            emit(order, i);
            let_go_on(order);
        }
    }
    for (uint32_t i = 0; i < order->ask->instance_count; i++)
        if (order->state[i] == TO_DO) {
            emit(order, i);
            let_go_on(order);
        }
}

/* ---- who waits for whom ---- */

struct departure {
    uint32_t move, next;
};

struct waves {
    struct order *order;
    struct tf_vector *free;     /* of each node, at the beginning, less arrivals so far */
    uint32_t *first;            /* departures of each node, the latest first */
    uint32_t *next;             /* of each move */
    uint32_t *last_of;          /* of each instance: its last move + 1 */
    uint32_t *job_wave;         /* of each job: the wave that is being filled */
    int32_t *job_count;         /* moves of it in there */
    TF_VEC(int32_t) wave_count; /* moves in each wave */
    uint32_t *chain;            /* of each move, as a forest */
};

static uint32_t chain_of(struct waves *w, uint32_t move)
{
    while (w->chain[move] != move)
        move = w->chain[move] = w->chain[w->chain[move]];
    return move;
}

/* The lower number is the root. */
static void join(struct waves *w, uint32_t a, uint32_t b)
{
    a = chain_of(w, a);
    b = chain_of(w, b);
    w->chain[a > b ? a : b] = a < b ? a : b;
}

static uint32_t later(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* The departure of the lowest wave at or after `from` of that node before move m; its wave or UINT32_MAX. */
static uint32_t next_departure(const struct waves *w, uint32_t node, uint32_t from)
{
    uint32_t best = UINT32_MAX;
    for (uint32_t d = w->first[node]; d != IN_HAND; d = w->next[d]) {
        uint32_t wave = w->order->plan->moves.items[d].wave;
        if (wave >= from && wave < best)
            best = wave;
    }
    return best;
}

/* The wave in which there is room at its target: what comes before it in order has reserved its own. */
static uint32_t wave_of_room(struct waves *w, uint32_t m)
{
    const struct consolidate_move *move = &w->order->plan->moves.items[m];
    struct tf_vector room = tf_vector_sub(w->free[move->to], w->order->ask->instances[move->instance].need);
    uint32_t wave = 0;
    while (!tf_vector_fits((struct tf_vector){0}, room)) {
        uint32_t next = next_departure(w, move->to, wave);
        assert(next != UINT32_MAX);
        for (uint32_t d = w->first[move->to]; d != IN_HAND; d = w->next[d]) {
            const struct consolidate_move *gone = &w->order->plan->moves.items[d];
            if (gone->wave != next)
                continue;
            room = tf_vector_add(room, w->order->ask->instances[gone->instance].need);
            join(w, m, d);
        }
        wave = next + 1;
    }
    return wave;
}

/* The first from there on in which its job, and all together, may have one more. */
static uint32_t wave_of_limits(struct waves *w, uint32_t job, uint32_t wave)
{
    const struct consolidate_ask *ask = w->order->ask;
    int32_t at_once = ask->job_at_once ? ask->job_at_once[job] : INT32_MAX;
    if (wave <= w->job_wave[job])
        wave = w->job_wave[job] + (w->job_count[job] >= at_once);
    while (ask->at_once && wave < w->wave_count.count && w->wave_count.items[wave] >= ask->at_once)
        wave++;
    if (wave != w->job_wave[job])
        w->job_count[job] = 0;
    w->job_wave[job] = wave;
    w->job_count[job]++;
    while (w->wave_count.count <= wave)
        tf_vec_push(&w->wave_count, 0);
    w->wave_count.items[wave]++;
    return wave;
}

static void give_wave(struct waves *w, uint32_t m)
{
    struct consolidate_move *move = &w->order->plan->moves.items[m];
    uint32_t i = move->instance, wave = wave_of_room(w, m);
    bool is_second = w->last_of[i] != 0;
    if (is_second) { /* of a way by a spare place */
        wave = later(wave, w->order->plan->moves.items[w->last_of[i] - 1].wave + 1);
        join(w, m, w->last_of[i] - 1);
    }
    move->wave = wave_of_limits(w, w->order->ask->instances[i].job, wave);
    w->last_of[i] = m + 1;
    w->free[move->to] = tf_vector_sub(w->free[move->to], w->order->ask->instances[i].need);
    if (is_second && w->order->ask->spares_once)
        return; /* nobody comes there after it */
    w->next[m] = w->first[move->from];
    w->first[move->from] = m;
}

static uint32_t *filled(size_t count, uint32_t value)
{
    uint32_t *list = tf_calloc(count + 1, sizeof *list);
    for (size_t i = 0; i < count; i++)
        list[i] = value;
    return list;
}

static void number_chains(struct waves *w)
{
    struct consolidate_plan *plan = w->order->plan;
    uint32_t chains = 0;
    for (uint32_t m = 0; m < plan->moves.count; m++) {
        uint32_t root = chain_of(w, m);
        plan->moves.items[m].chain = root == m ? chains++ : plan->moves.items[root].chain;
    }
    plan->figures.chains = (int32_t)chains;
}

static void give_waves(struct order *order)
{
    const struct consolidate_ask *ask = order->ask;
    size_t moves = order->plan->moves.count;
    struct waves w = {.order = order};
    w.free = tf_calloc(ask->node_count + 1, sizeof *w.free);
    for (size_t n = 0; n < ask->node_count; n++)
        w.free[n] = ask->nodes[n].free;
    w.first = filled(ask->node_count, IN_HAND);
    w.next = filled(moves, IN_HAND);
    w.last_of = filled(ask->instance_count, 0);
    w.job_wave = filled(ask->job_count, 0);
    w.job_count = tf_calloc(ask->job_count + 1, sizeof *w.job_count);
    w.chain = filled(moves, 0);
    for (uint32_t m = 0; m < moves; m++)
        w.chain[m] = m;
    for (uint32_t m = 0; m < moves; m++)
        give_wave(&w, m);
    number_chains(&w);
    order->plan->figures.waves = (int32_t)w.wave_count.count;
    free(w.free);
    free(w.first);
    free(w.next);
    free(w.last_of);
    free(w.job_wave);
    free(w.job_count);
    free(w.chain);
    tf_vec_release(&w.wave_count);
}

/* ---- what comes of it ---- */

/* Sites that have what they were to have, after all moves; the others are taken out again. */
static void check_sites(struct order *order)
{
    struct consolidate_plan *plan = order->plan;
    TF_AUTO_FREE uint32_t *last = filled(order->ask->node_count, 0);
    size_t kept = 0;
    tf_vec_each (move, &plan->moves)
        last[move->from] = later(last[move->from], move->wave);
    for (size_t s = 0; s < plan->sites.count; s++) {
        struct consolidate_site site = plan->sites.items[s];
        struct tf_vector unit = unit_of(order->ask, site.node);
        int32_t had = tf_vector_count(unit, order->ask->nodes[site.node].free);
        struct tf_vector left = tf_vector_add(order->free[site.node], order->kept[site.node]);
        left = tf_vector_add(left, order->spent[site.node]);
        int32_t has = tf_vector_count(unit, left);
        site.units = has - had;
        if (site.units <= 0)
            continue;
        site.wave = last[site.node];
        plan->figures.freed += site.units;
        plan->sites.items[kept++] = site;
    }
    plan->sites.count = kept;
}

static void count_figures(struct order *order)
{
    struct consolidate_figures *f = &order->plan->figures;
    TF_AUTO_FREE int32_t *in_wave = tf_calloc((size_t)f->waves + 1, sizeof *in_wave);
    TF_AUTO_FREE bool *freed = tf_calloc(order->ask->node_count + 1, sizeof *freed);
    tf_vec_each (site, &order->plan->sites)
        freed[site->node] = true;
    tf_vec_each (move, &order->plan->moves) {
        const struct consolidate_instance *instance = &order->ask->instances[move->instance];
        in_wave[move->wave] += instance->need.gpus;
        f->moves++;
        f->gpus += instance->need.gpus;
        f->cost += instance->cost;
        f->pivots += move->pivot;
        f->ejected += !move->pivot && !freed[instance->node];
        if (in_wave[move->wave] > f->double_booked)
            f->double_booked = in_wave[move->wave];
    }
}

static void order_init(struct order *order, struct pool *pool, struct consolidate_plan *plan)
{
    const struct consolidate_ask *ask = pool->ask;
    *order = (struct order){.pool = pool, .ask = ask, .plan = plan};
    order->free = tf_calloc(ask->node_count + 1, sizeof *order->free);
    order->kept = tf_calloc(ask->node_count + 1, sizeof *order->kept);
    order->spent = tf_calloc(ask->node_count + 1, sizeof *order->spent);
    order->is_freed = tf_calloc(ask->node_count + 1, sizeof *order->is_freed);
    tf_vec_each (site, &plan->sites)
        order->is_freed[site->node] = true;
    order->state = tf_calloc(ask->instance_count + 1, sizeof *order->state);
    order->stays_put = tf_calloc(ask->instance_count + 1, sizeof *order->stays_put);
    order->from_first = filled(ask->node_count, IN_HAND);
    order->from_next = filled(ask->instance_count, IN_HAND);
    order->waits = filled(ask->node_count, 0);
    order->coming = filled(ask->node_count, 0);
}

/* Nothing has moved yet. */
static void order_begin(struct order *order)
{
    const struct consolidate_ask *ask = order->ask;
    order->plan->moves.count = order->late.count = 0;
    order->parks_left = ask->max_moves ? ask->max_moves - order->pool->moved : INT32_MAX;
    order->cost_left = ask->max_cost ? ask->max_cost - order->pool->cost : INT64_MAX;
    for (uint32_t n = 0; n < ask->node_count; n++) {
        struct tf_vector unit = unit_of(ask, n);
        order->kept[n] = order->spent[n] = (struct tf_vector){0};
        if (is_site(ask, n, order->plan->domain))
            order->kept[n] = tf_vector_scale(unit, tf_vector_count(unit, ask->nodes[n].free));
        order->free[n] = tf_vector_sub(ask->nodes[n].free, order->kept[n]);
        order->from_first[n] = IN_HAND;
        order->coming[n] = 0;
    }
    for (uint32_t i = (uint32_t)ask->instance_count; i-- > 0;) {
        uint32_t home = ask->instances[i].node;
        order->state[i] = STAYS;
        if (order->pool->at[i] == home)
            continue;
        order->state[i] = TO_DO;
        order->coming[order->pool->at[i]]++;
        order->from_next[i] = order->from_first[home];
        order->from_first[home] = i;
    }
}

/* Whoever is parked, and would stay so, does not go there the next time. Whether there is anybody. */
static bool bar_parked(struct order *order)
{
    bool any = false;
    tf_vec_each (i, &order->late) {
        bool parked = order->state[*i] == PARKED;
        order->stays_put[*i] |= parked;
        any |= parked;
    }
    return any;
}

static void order_release(struct order *order)
{
    free(order->free);
    free(order->kept);
    free(order->spent);
    free(order->is_freed);
    free(order->state);
    free(order->stays_put);
    free(order->from_first);
    free(order->from_next);
    free(order->waits);
    free(order->coming);
    tf_vec_release(&order->late);
}

void order_moves(struct pool *pool, struct consolidate_plan *plan)
{
    struct order order;
    let_likes_stay(pool);
    let_stay(pool);
    order_init(&order, pool, plan);
    do {
        order_begin(&order);
        emit_all(&order);
    } while (bar_parked(&order)); /* each time one more, so it ends */
    give_waves(&order);
    check_sites(&order);
    count_figures(&order);
    order_release(&order);
}
