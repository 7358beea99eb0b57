/* SPDX-License-Identifier: Apache-2.0 */
/* Owns when instances are moved unasked, and for whom. What is moved is defrag.c's. When the next look may be
 * is not in records: after a restart the cool-down begins anew. */
#include "subcluster/core/defrag.h"

#include "common/fit/count.h"
#include "subcluster/core/levels.h"
#include "subcluster/core/migrate.h"
#include "subcluster/core/policy.h"
#include "subcluster/core/trace.h"

static bool is_wanted(const struct sub *sub)
{
    return sub->policy.consolidate == TF_CONSOLIDATE_OBSERVE || sub->policy.consolidate == TF_CONSOLIDATE_ON;
}

static bool waits(const struct tf_shape_asked *shape)
{
    return shape->waits && shape->spec->group.shape.gpus > 0;
}

static bool anything_waits(const struct sub *sub)
{
    tf_vec_each (shape, &sub->policy.shapes)
        if (waits(shape))
            return true;
    return false;
}

/* Its core fits into what is free: it waits for something else, or is on its way. */
static bool fits_now(const struct sub *sub, const struct tf_shape_asked *shape)
{
    struct tf_fit_view view = ledger_view(&sub->ledger);
    struct tf_demand demand = {0};
    struct tf_fit fit = {0};
    int rank = class_rank(sub, shape->spec);
    bool known = rank >= 0 && tf_demand_resolve(&demand, shape->spec, rank, view.catalog, NULL) == 0;
    if (known)
        tf_fit_count(&view, &demand, TF_LEVEL_FREE, sub->scratch, &fit);
    tf_demand_release(&demand);
    return !known || fit.fits; /* one that is not known here is none of its business */
}

/* Room for one such job, on the first model of its list that is here. */
static void order_for(const struct sub *sub, const struct tf_shape_asked *shape,
                      struct tf_defrag_order *order)
{
    const struct tf_shape *group = &shape->spec->group.shape;
    const struct tf_catalog *catalog = ledger_view(&sub->ledger).catalog;
    *order = (struct tf_defrag_order){.gpus = group->gpus,
                                      .cpu = group->cpu,
                                      .memory = group->memory,
                                      .want = shape->spec->elastic.min,
                                      .total = true,
                                      .max_moves = sub->policy.consolidate_moves};
    tf_vec_each (model, &group->gpu_models)
        if (!order->model && tf_intern_find(&catalog->models, *model) >= 0)
            order->model = tf_strdup(*model);
    tf_vec_each (rule, &shape->spec->topology)
        if (!order->within && rule->mode == TF_TOPOLOGY_REQUIRE && rule->of == TF_TOPOLOGY_OF_JOB) {
            order->plane = tf_strdup(rule->plane);
            order->within = tf_strdup(rule->within);
        }
}

static void carry_out(struct sub *sub, struct tf_defrag_order *order, const struct tf_defrag_plan *plan)
{
    bool on = sub->policy.consolidate == TF_CONSOLIDATE_ON;
    uint64_t id[2] = {tf_rng_next(&sub->rng), tf_rng_next(&sub->rng)};
    memcpy(order->id.bytes, id, sizeof order->id.bytes);
    tf_str_set(&order->reason, "work waits that only scattered GPUs could hold");
    char *why = on ? defrag_begin(sub, order, plan) : NULL;
    trace(sub, "%d x %d GPUs wait: %zu moves of %d GPUs %s room for them%s%s", order->want, order->gpus,
          plan->moves.count, plan->gpus,
          why  ? "would make"
          : on ? "make"
               : "would make (observe)",
          why ? ", but: " : "", why ? why : "");
    if (!on)
        tf_reached(sub, SUB_DEFRAG_OBSERVED);
    else if (!why)
        tf_reached(sub, SUB_DEFRAG_UNASKED);
    free(why);
}

/* ---- for a job that claims ---- */

enum { AGAIN_AFTER = 10 * TF_SECOND };

/* The same claim, told again, is the same chain; another of the job is another. */
static struct tf_uid chain_id(const struct tf_entry *entry)
{
    struct tf_uid id = entry->uid;
    for (size_t i = 0; i < sizeof entry->move_cost; i++)
        id.bytes[i] ^= (uint8_t)((uint64_t)entry->move_cost >> 8 * i);
    return id;
}

static void begin_for(struct sub *sub, const struct tf_entry *entry, struct tf_defrag_order *order)
{
    struct tf_defrag_plan plan = {0};
    int64_t cost = entry->move_cost;
    defrag_plan_within(sub, order, &cost, &plan);
    bool enough = !plan.text && plan.moves.count > 0 && plan.before + plan.freed >= order->want;
    char *why = enough ? defrag_begin(sub, order, &plan) : NULL;
    if (!enough)
        trace(sub, "job %s waits for %d x %d GPUs: no moves that cost at most %lld GPU-seconds make room",
              order->for_job, order->want, order->gpus, (long long)entry->move_cost);
    else
        trace(sub,
              "job %s waits for %d x %d GPUs: %zu moves of %d GPUs, %lld GPU-seconds held twice, make "
              "room%s%s",
              order->for_job, order->want, order->gpus, plan.moves.count, plan.gpus, (long long)cost,
              why ? ", but: " : "", why ? why : "");
    tf_reached_if(enough && !why, sub, SUB_DEFRAG_FOR_CLAIM);
    int64_t pause = sub->policy.consolidate_cooldown;
    if (!enough || why) /* the next who asks soon would hear the same, and planning takes a while */
        pause = pause < AGAIN_AFTER ? pause : AGAIN_AFTER;
    sub->defrag_at = (struct tf_mono){sub->now.mono.ms + pause};
    free(why);
    tf_defrag_plan_release(&plan);
}

int64_t defrag_for_claim(struct sub *sub, const struct tf_entry *entry)
{
    struct tf_defrag_order order;
    struct tf_shape_asked shape = {.spec = entry->spec}; /* lent */
    if (entry->move_cost == 0 || migrate_find(sub, chain_id(entry)))
        return 0;
    if (sub->policy.consolidate != TF_CONSOLIDATE_ON || !defrag_may_begin(sub)) {
        trace(sub, "job %s/%s is to have room by moves, but none may begin now", entry->tenant, entry->name);
        return 0;
    }
    ledger_refresh(&sub->ledger);
    order_for(sub, &shape, &order);
    order.id = chain_id(entry);
    order.for_job = tf_asprintf("%s/%s", entry->tenant, entry->name);
    tf_str_set(&order.reason, "cheaper than evicting for it");
    begin_for(sub, entry, &order);
    tf_defrag_order_release(&order);
    return (int64_t)sub->ledger.nodes.count;
}

/* ---- for whoever waits ---- */

/* True if it was worth a plan, carried out or not. */
static bool try_for(struct sub *sub, const struct tf_shape_asked *shape)
{
    struct tf_defrag_order order;
    struct tf_defrag_plan plan = {0};
    order_for(sub, shape, &order);
    defrag_plan_make(sub, &order, &plan);
    bool enough = !plan.text && plan.moves.count > 0 && plan.before + plan.freed >= order.want;
    if (enough)
        carry_out(sub, &order, &plan);
    tf_defrag_plan_release(&plan);
    tf_defrag_order_release(&order);
    return enough;
}

/* The most important first; of equals the first told. */
static const struct tf_shape_asked *next_shape(const struct sub *sub, int below)
{
    const struct tf_shape_asked *best = NULL;
    int best_rank = -1;
    tf_vec_each (shape, &sub->policy.shapes) {
        int rank = waits(shape) ? class_rank(sub, shape->spec) : -1;
        if (rank > best_rank && rank < below)
            best = shape, best_rank = rank;
    }
    return best;
}

static bool cools(const struct sub *sub)
{
    return sub->defrag_at.ms > sub->now.mono.ms;
}

static bool could_begin(const struct sub *sub)
{
    return is_wanted(sub) && sub->listed && !sub->unsure && !sub_frozen(sub, TF_FROZEN_MOVES) &&
           !defrag_is_under_way(sub);
}

bool defrag_may_begin(const struct sub *sub)
{
    return could_begin(sub) && !cools(sub);
}

bool defrag_may_be_told(const struct sub *sub)
{
    return could_begin(sub) && (!cools(sub) || sub->policy.consolidate == TF_CONSOLIDATE_OBSERVE);
}

void defrag_look(struct sub *sub)
{
    if (!is_wanted(sub) || !anything_waits(sub) || !defrag_may_begin(sub))
        return;
    sub->defrag_at = (struct tf_mono){sub->now.mono.ms + sub->policy.consolidate_cooldown};
    ledger_refresh(&sub->ledger);
    for (const struct tf_shape_asked *shape = next_shape(sub, TF_LEVEL_TOP); shape;
         shape = next_shape(sub, class_rank(sub, shape->spec)))
        if (!fits_now(sub, shape) && try_for(sub, shape))
            return;
}

struct tf_mono defrag_due(const struct sub *sub)
{
    bool may = is_wanted(sub) && sub->listed && anything_waits(sub) && sub->defrag_at.ms > sub->now.mono.ms;
    return may ? sub->defrag_at : TF_NEVER;
}
