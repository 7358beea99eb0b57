/* SPDX-License-Identifier: Apache-2.0 */
/* Decides what is to be done with an epoch that is to start, and says why. Changes no record, no ledger and
 * tells nobody: that is place.c's. Which nodes is common/fit's, who gives way reclaim.c's. */
#include "subcluster/core/decide.h"

#include "common/fit/explain.h"
#include "subcluster/core/levels.h"
#include "subcluster/core/mix.h"
#include "subcluster/core/node_claims.h"
#include "subcluster/core/policy.h"
#include "subcluster/core/strays.h"

/* What no capacity could help: a reason, and in *text why. NONE: it may be packed. */
static enum tf_reason unsupported(struct sub *sub, const struct tf_entry *entry, char **text)
{
    const struct tf_elastic *e = &entry->spec->elastic;
    const struct job *job = job_find(sub, entry->uid);
    if (job && job_lives(job)) {
        tf_reached(sub, SUB_REFUSED_EARLIER);
        *text = tf_asprintf("epoch %llu of the job has not ended here yet",
                            (unsigned long long)job->record.epoch);
        return TF_REASON_REFUSED;
    }
    if (strays_live(sub, entry->uid, UINT64_MAX, true)) {
        tf_reached(sub, SUB_REFUSED_EARLIER);
        *text = tf_strdup("instances of an earlier epoch of the job still run here");
        return TF_REASON_REFUSED;
    }
    if (entry->spec->on_cluster_lost == TF_CLUSTER_LOST_RESTART) {
        *text = tf_strdup("onClusterLost: restart needs fences, which this subcluster does not have yet");
        return TF_REASON_FENCE_UNSUPPORTED;
    }
    if (e->min < 1 || e->step < 1 || e->max < e->min || e->max > TF_INSTANCES_MAX ||
        !tf_size_legal(e, entry->size, false) || entry->size < e->min || entry->spec->group.shape.gpus < 0 ||
        entry->spec->group.shape.gpus > TF_NODE_GPUS_MAX) {
        *text = tf_asprintf("%d instances of min %d, max %d, step %d is not a size that can be started",
                            entry->size, e->min, e->max, e->step);
        return TF_REASON_REFUSED;
    }
    return TF_REASON_NONE;
}

/* `size`, or the largest legal size that fits; 0 if not even the core does. */
static int32_t pack(const struct sub *sub, const struct tf_demand *demand, int32_t size,
                    struct tf_fit_placement *packing)
{
    struct tf_fit_scratch *scratch = sub->scratch;
    const struct tf_mix *mix = mix_of_all(sub);
    struct tf_fit_view view = ledger_view(&sub->ledger);
    if (tf_fit_pack(&view, demand, TF_LEVEL_FREE, size, mix, scratch, packing))
        return size;
    struct tf_fit_view kinds = tf_fit_rows_view(sub->ledger.rows);
    struct tf_fit fit = {0};
    tf_fit_count(&kinds, demand, TF_LEVEL_FREE, scratch, &fit);
    int32_t n = fit.count < size ? fit.count : size;
    n -= n % demand->step;
    if (n < demand->core || !tf_fit_pack(&view, demand, TF_LEVEL_FREE, n, mix, scratch, packing))
        return 0;
    return n;
}

/* ---- the decision ---- */

static void refuse(struct place_decision *out, enum tf_reason reason, char *text)
{
    out->verdict = PLACE_REFUSED;
    out->reason = reason;
    out->text = text;
}

static void refuse_for_room(struct sub *sub, const struct tf_entry *entry, const struct tf_demand *demand,
                            struct place_decision *out)
{
    struct tf_fit_view kinds = tf_fit_rows_view(sub->ledger.rows);
    struct tf_fit_why why = {0};
    tf_reached(sub, SUB_REFUSED_ROOM);
    tf_fit_explain(&kinds, demand, TF_LEVEL_FREE, entry->spec, sub->scratch, &why);
    refuse(out, why.reason, tf_strdup(why.text));
}

static char *frozen_text(const struct sub *sub)
{
    const struct tf_freeze *freeze = sub_frozen(sub, TF_FROZEN_EVICTIONS);
    return tf_asprintf("evictions are frozen for another %lld s%s%s",
                       (long long)((freeze->until.ms - sub->now.wall.ms + TF_SECOND - 1) / TF_SECOND),
                       freeze->reason ? ": " : "", freeze->reason ? freeze->reason : "");
}

/* What is not free is taken from others, where the leader counted on that: a difference between its view and
 * ours costs a refusal, never an eviction that it did not mean. */
static void take_from_others(struct sub *sub, const struct tf_entry *entry, const struct tf_demand *demand,
                             struct place_decision *out)
{
    bool found = entry->level != TF_LEVEL_FREE && reclaim_plan_make(sub, demand, entry->level, &out->plan);
    out->work += out->plan.work;
    if (!found) {
        refuse_for_room(sub, entry, demand, out);
    } else if (out->plan.evicted.count && sub_frozen(sub, TF_FROZEN_EVICTIONS)) {
        tf_reached(sub, SUB_FROZEN);
        refuse(out, TF_REASON_FROZEN, frozen_text(sub));
    } else if (reclaim_is_braked(sub, &out->plan)) {
        tf_reached(sub, SUB_BRAKED);
        refuse(out, TF_REASON_BRAKE,
               tf_asprintf("%zu jobs would be evicted for it, which is more than maxEvictionsPerMinute (%d) "
                           "leaves for this minute",
                           out->plan.evicted.count, sub->policy.max_evictions_per_minute));
    } else
        out->verdict = PLACE_CLAIMS;
}

static void decide_for_room(struct sub *sub, const struct tf_entry *entry, struct place_decision *out)
{
    struct tf_demand demand = {0};
    struct tf_error err = TF_ERROR_INIT;
    ledger_refresh(&sub->ledger);
    struct tf_fit_view view = ledger_view(&sub->ledger);
    out->work = (int64_t)view.count;
    if (tf_demand_resolve(&demand, entry->spec, class_rank(sub, entry->spec), view.catalog, &err)) {
        refuse(out, TF_REASON_TOPOLOGY, tf_strdup(err.text));
    } else {
        node_claims_bind(sub, entry->uid, entry->spec, &demand);
        tf_vec_each (ref, &entry->reservations)
            tf_vec_push(&demand.reserved, ref->uid);
        if (entry->model)
            tf_demand_fix_model(&demand, view.catalog, entry->model);
        if (pack(sub, &demand, entry->size, &out->packing))
            out->verdict = PLACE_STARTS;
        else
            take_from_others(sub, entry, &demand, out);
    }
    tf_demand_release(&demand);
}

void place_decide(struct sub *sub, const struct tf_entry *entry, struct place_decision *out)
{
    char *text = NULL;
    *out = (struct place_decision){0};
    enum tf_reason reason = unsupported(sub, entry, &text);
    if (reason != TF_REASON_NONE) {
        refuse(out, reason, text);
        return;
    }
    tf_reached_if(sub->ledger.first_leaving < sub->ledger.leaving.count, sub, SUB_GPUS_WAIT);
    decide_for_room(sub, entry, out);
}

void place_decision_release(struct place_decision *decision)
{
    free(decision->text);
    tf_fit_placement_release(&decision->packing);
    reclaim_plan_release(&decision->plan);
    *decision = (struct place_decision){0};
}
