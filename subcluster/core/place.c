/* SPDX-License-Identifier: Apache-2.0 */
/* Carries out the three things that the leader can want of an epoch. Whether and where it starts is
 * decide.c's, the life that follows allocation.c's and members.c's. */
#include "subcluster/core/place.h"

#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "subcluster/core/absorb.h"
#include "subcluster/core/adopt.h"
#include "subcluster/core/allocation.h"
#include "subcluster/core/calls.h"
#include "subcluster/core/change.h"
#include "subcluster/core/decide.h"
#include "subcluster/core/members.h"
#include "subcluster/core/node_claims.h"
#include "subcluster/core/outbox.h"
#include "subcluster/core/peers.h"
#include "subcluster/core/reclaim.h"
#include "subcluster/core/repair.h"
#include "subcluster/core/reports.h"
#include "subcluster/core/reservation.h"
#include "subcluster/core/retries.h"
#include "subcluster/core/size.h"
#include "subcluster/core/strays.h"
#include "subcluster/core/trace.h"
#include "subcluster/core/yield.h"

#include <assert.h>

void raise_floor(struct sub *sub, uint64_t epoch)
{
    if (epoch <= sub->floor)
        return;
    sub->floor = epoch;
    out_touch(sub, TF_RECORD_FLOOR);
}

/* ---- refusals ---- */

/* text is taken. */
static void refuse(struct sub *sub, const struct tf_entry *entry, enum tf_reason reason, char *text)
{
    trace(sub, "job %s/%s epoch %llu needs %dx%d GPUs%s%s: refused, %s: %s", entry->tenant, entry->name,
          (unsigned long long)entry->epoch, entry->size, entry->spec->group.shape.gpus,
          entry->model ? " of " : "", entry->model ? entry->model : "", tf_reason_name(reason), text);
    struct tf_ended ended = {.epoch = entry->epoch, .end = TF_END_REFUSED, .reason = reason, .message = text};
    epoch_record_end(sub, entry->uid, entry->tenant, entry->name, ended);
    raise_floor(sub, entry->epoch);
    strays_judge(sub, entry->uid);
}

/* ---- starting ---- */

static void add_members(struct sub *sub, struct job *job, const struct tf_entry *entry,
                        const struct tf_fit_placement *packing)
{
    int32_t wanted = job->record.spec->group.shape.gpus;
    tf_vec_each (row, &packing->rows) {
        assert(row->nodes == 1 && row->row < sub->ledger.nodes.count);
        const struct ledger_node *node = sub->ledger.nodes.items[row->row];
        for (int32_t i = 0; i < row->each; i++) {
            uint64_t kept = reservation_gpus(sub, entry, node);
            uint64_t gpus = tf_gpu_set_pick(kept, ledger_free_gpus(node), 0, wanted);
            assert(tf_gpu_set_count(gpus) == wanted && "packed into what is free, or kept for it");
            reservation_give(sub, entry, job, node, gpus);
            member_add(sub, job, node->node.name, gpus);
        }
    }
    assert(job->record.members.count == (size_t)packing->instances);
}

struct job *epoch_open(struct sub *sub, struct tf_entry *entry, int32_t size)
{
    struct job *job = job_find(sub, entry->uid);
    if (!job)
        job = jobs_add(sub, entry->uid);
    struct tf_allocation *record = &job->record;
    assert(!job_lives(job));
    tf_str_set(&record->tenant, entry->tenant);
    tf_str_set(&record->name, entry->name);
    record->phase = TF_ALLOCATION_STARTING;
    record->epoch = entry->epoch;
    record->term = sub->term;
    tf_spec_set(&record->spec, entry->spec);
    record->submitted = entry->submitted;
    record->accepted = sub->now.wall;
    record->size = size;
    record->retries_used = entry->retries_used;
    record->evictions = entry->evictions;
    record->predecessor = entry->predecessor;
    tf_evicted_copy(&record->evicted, &entry->evicted);
    return job;
}

static void trace_placed(struct sub *sub, const struct job *job)
{
    struct tf_buf nodes = TF_BUF_INIT;
    const char *last = NULL;
    tf_vec_each (m, &job->record.members) {
        if (!last || strcmp(last, m->node) != 0)
            tf_buf_fmt(&nodes, " %s", m->node);
        last = m->node;
    }
    trace_epoch(sub, job, "needs %dx%d GPUs%s%s: starts on%s", job->record.size,
                job->record.spec->group.shape.gpus, job->record.model ? " of " : "",
                job->record.model ? job->record.model : "", tf_buf_text(&nodes));
    tf_buf_release(&nodes);
}

void epoch_set_model(struct sub *sub, struct job *job, int32_t model)
{
    if (model >= 0)
        job->record.model = tf_strdup(tf_intern_text(&ledger_view(&sub->ledger).catalog->models, model));
}

static void start(struct sub *sub, struct tf_entry *entry, const struct tf_fit_placement *packing)
{
    tf_reached_if(packing->instances < entry->size, sub, SUB_SMALLER);
    struct job *job = epoch_open(sub, entry, packing->instances);
    epoch_set_model(sub, job, packing->model);
    add_members(sub, job, entry, packing);
    members_attach(sub, job);
    trace_placed(sub, job);
    job_changed(sub, job);
    raise_floor(sub, job->record.epoch);
    peers_write(sub, job);
    members_start(sub, job);
    node_claim_end(sub, job->record.uid);
}

static void claim(struct sub *sub, struct tf_entry *entry, struct reclaim_plan *plan)
{
    struct job *job = epoch_open(sub, entry, entry->spec->elastic.min);
    job->record.phase = TF_ALLOCATION_CLAIMING;
    epoch_set_model(sub, job, plan->model);
    job_changed(sub, job);
    raise_floor(sub, job->record.epoch);
    trace_epoch(sub, job, "needs %dx%d GPUs: claims them, %zu job%s evicted for it", job->record.size,
                job->record.spec->group.shape.gpus, plan->evicted.count, plan->evicted.count == 1 ? "" : "s");
    reclaim_commit(sub, job, entry, plan);
    node_claim_end(sub, job->record.uid);
}

static int64_t decide_and_do(struct sub *sub, struct tf_entry *entry)
{
    struct place_decision decision = {0};
    place_decide(sub, entry, &decision);
    int64_t work = decision.work;
    if (decision.verdict == PLACE_STARTS && tf_is_reservation(entry->spec))
        reservation_make(sub, entry, &decision.packing);
    else if (decision.verdict == PLACE_STARTS)
        start(sub, entry, &decision.packing);
    else if (decision.verdict == PLACE_CLAIMS)
        claim(sub, entry, &decision.plan);
    else
        refuse(sub, entry, decision.reason, TF_STEAL(decision.text));
    place_decision_release(&decision);
    return work;
}

/* ---- what the leader wants ---- */

static bool any_stray_of(const struct sub *sub, struct stray_range range, uint64_t epoch)
{
    for (size_t i = 0; i < range.count; i++)
        if (sub->strays.items[range.first + i].id.epoch == epoch)
            return true;
    return false;
}

/* A restored store is right about it: what has waited for that goes on. */
static void confirm(struct sub *sub, struct job *job)
{
    if (!job->unconfirmed)
        return;
    job->unconfirmed = false;
    strays_judge(sub, job->record.uid);
    members_lose_taken(sub, job);
    members_retry(sub, job);
    repair_note(sub, job);
    absorb_note(sub, job);
}

static bool lives_in(const struct job *job, uint64_t epoch)
{
    return job && job_lives(job) && job->record.epoch == epoch;
}

int64_t place(struct sub *sub, struct tf_entry *entry)
{
    struct job *job = job_find(sub, entry->uid);
    assert(sub->listed);
    if (lives_in(job, entry->epoch))
        confirm(sub, job); /* which may end it */
    if (lives_in(job, entry->epoch)) {
        change_take(sub, job, entry->spec);
        yield_take(sub, job, entry);
    }
    if (job && (lives_in(job, entry->epoch) || job_ended(job, entry->epoch))) {
        tf_reached(sub, SUB_PLACE_REPEATED);
        job_tell(sub, job);
        return 0;
    }
    struct stray_range range = strays_of(sub, entry->uid);
    if (any_stray_of(sub, range, entry->epoch) && !(job && job_lives(job))) {
        adopt_strays(sub, entry, range);
        return 0;
    }
    if (entry->epoch <= sub->floor || sub->unsure) {
        tf_reached_if(entry->epoch <= sub->floor, sub, SUB_BELOW_FLOOR);
        tf_reached_if(entry->epoch > sub->floor, sub, SUB_UNSURE);
        trace(sub, "job %s/%s epoch %llu is unknown here and %s: never started", entry->tenant, entry->name,
              (unsigned long long)entry->epoch,
              entry->epoch <= sub->floor ? "not above the floor" : "this store may have forgotten it");
        raise_floor(sub, entry->epoch);
        reports_unknown(sub, entry);
        return 0;
    }
    return decide_and_do(sub, entry);
}

void release_epoch(struct sub *sub, const struct tf_entry *entry)
{
    struct job *job = job_find(sub, entry->uid);
    if (job && job_lives(job) && job->record.epoch <= entry->epoch) {
        tf_reached_if(job->record.phase == TF_ALLOCATION_STARTING, sub, SUB_RELEASED_STARTING);
        epoch_end(sub, job, (struct ending){.end = TF_END_RELEASED});
    }
    job = job_find(sub, entry->uid);
    bool known = job && (lives_in(job, entry->epoch) || job_ended(job, entry->epoch));
    if (known)
        job_tell(sub, job);
    else {
        struct stray_range range = strays_of(sub, entry->uid);
        const struct stray *stray = range.count ? &sub->strays.items[range.first] : NULL;
        tf_reached_if(!stray, sub, SUB_RELEASED_UNHEARD);
        struct tf_ended ended = {.epoch = entry->epoch, .end = TF_END_RELEASED};
        epoch_record_end(sub, entry->uid, stray ? stray->tenant : entry->tenant,
                         stray ? stray->name : entry->name, ended);
    }
    raise_floor(sub, entry->epoch);
    strays_judge(sub, entry->uid);
}

void stored(struct sub *sub, const struct tf_entry *entry)
{
    struct job *job = job_find(sub, entry->uid);
    const struct tf_ended *ended = job ? job_ended(job, entry->epoch) : NULL;
    if (!ended)
        return;
    size_t at = (size_t)(ended - job->record.ended.items);
    tf_ended_release(&job->record.ended.items[at]);
    tf_vec_remove(&job->record.ended, at);
    out_touch_job(sub, job);
    job_drop_if_empty(sub, job);
    if (any_stray_of(sub, strays_of(sub, entry->uid), entry->epoch))
        return; /* forgotten when the last is gone */
    struct sub_action action = {.kind = SUB_ACT_FORGET};
    action.forget.uid = entry->uid;
    action.forget.epoch = entry->epoch;
    out_hold(sub, action);
}
