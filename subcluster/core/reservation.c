/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what reservations keep, and who gets it. Claims as such are reclaim.c's and the ledger's, which nodes
 * are chosen is common/fit's, who may use one is the leader's to say. */
#include "subcluster/core/reservation.h"

#include "subcluster/core/allocation.h"
#include "subcluster/core/outbox.h"
#include "subcluster/core/place.h"
#include "subcluster/core/reclaim.h"
#include "subcluster/core/trace.h"

#include <assert.h>

void reservation_make(struct sub *sub, struct tf_entry *entry, const struct tf_fit_placement *packing)
{
    struct job *job = epoch_open(sub, entry, packing->instances);
    struct tf_allocation *record = &job->record;
    struct tf_vector need = tf_shape_vector(&record->spec->group.shape);
    epoch_set_model(sub, job, packing->model);
    record->phase = TF_ALLOCATION_RESERVED;
    record->started = sub->now.wall;
    tf_vec_each (row, &packing->rows) {
        const struct ledger_node *node = sub->ledger.nodes.items[row->row];
        uint64_t free = ledger_free_gpus(node);
        for (int32_t i = 0; i < row->each; i++) {
            struct tf_claim claim = {.node = tf_strdup(node->node.name),
                                     .gpus = tf_gpu_set_lowest(free, need.gpus),
                                     .cpu = need.cpu,
                                     .memory = need.memory,
                                     .slots = need.slots};
            free &= ~claim.gpus;
            tf_vec_push(&record->claims, claim);
        }
    }
    tf_reached(sub, SUB_RESERVED);
    reclaim_load(sub, job);
    trace_epoch(sub, job, "keeps %dx%d GPUs", record->size, need.gpus);
    job_changed(sub, job);
    raise_floor(sub, record->epoch);
}

/* ---- what its owner takes ---- */

/* NULL: it is not here, or ends. */
static struct job *kept_by(const struct sub *sub, struct tf_reservation_ref ref)
{
    struct job *job = job_find(sub, ref.uid);
    return job && job->record.phase == TF_ALLOCATION_RESERVED ? job : NULL;
}

uint64_t reservation_gpus(const struct sub *sub, const struct tf_entry *entry, const struct ledger_node *node)
{
    uint64_t gpus = 0;
    tf_vec_each (ref, &entry->reservations) {
        const struct job *job = kept_by(sub, *ref);
        if (!job)
            continue;
        tf_vec_each (claim, &job->record.claims)
            if (strcmp(claim->node, node->node.name) == 0)
                gpus |= claim->gpus;
    }
    return gpus & ledger_unclaimed_gpus(node) & ~ledger_held_gpus(node);
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* So much of the claim is its no more. */
static void shrink(struct tf_claim *claim, uint64_t gpus, struct tf_vector *wanted)
{
    int64_t cpu = smaller(claim->cpu, wanted->cpu), memory = smaller(claim->memory, wanted->memory);
    claim->gpus &= ~gpus;
    claim->cpu -= cpu;
    claim->memory -= memory;
    wanted->cpu -= cpu;
    wanted->memory -= memory;
    if (gpus && claim->gpus)
        return; /* it is for another instance yet, which needs the slot */
    int32_t slots = claim->slots < wanted->slots ? claim->slots : wanted->slots;
    claim->slots -= slots;
    wanted->slots -= slots;
}

/* What is left of the instance after the claims whose GPUs it has; then what the node has free is looked at.
 */
static bool is_short(const struct ledger_node *node, struct tf_vector wanted)
{
    struct tf_vector free = ledger_room(node);
    return wanted.cpu > free.cpu || wanted.memory > free.memory || wanted.slots > free.slots;
}

static void take_of_claims(struct job *from, const struct ledger_node *node, uint64_t gpus,
                           struct tf_vector *wanted)
{
    struct tf_allocation *record = &from->record;
    size_t kept = 0;
    for (size_t i = 0; i < record->claims.count; i++) {
        struct tf_claim *claim = &record->claims.items[i];
        bool here = strcmp(claim->node, node->node.name) == 0;
        if (here && (gpus == 0 || claim->gpus & gpus))
            shrink(claim, gpus, wanted);
        if (claim->gpus)
            record->claims.items[kept++] = *claim;
        else
            tf_claim_release(claim);
    }
    record->claims.count = kept;
    record->size = (int32_t)kept;
}

static bool has_some(const struct tf_allocation *record, const struct ledger_node *node, uint64_t gpus)
{
    tf_vec_each (claim, &record->claims)
        if (strcmp(claim->node, node->node.name) == 0 && (gpus == 0 || claim->gpus & gpus))
            return true;
    return false;
}

/* gpus 0: only cores and memory. */
static void take(struct sub *sub, struct job *from, const struct job *to, const struct ledger_node *node,
                 uint64_t gpus, struct tf_vector *wanted)
{
    if (!has_some(&from->record, node, gpus))
        return;
    out_touch_job_before(sub, from, to);
    reclaim_unhold(sub, from);
    take_of_claims(from, node, gpus, wanted);
    reclaim_hold(sub, from);
    job_changed(sub, from);
}

static void finish_if_used_up(struct sub *sub, struct job *from, const struct job *to)
{
    if (from->record.claims.count)
        return;
    char *message = tf_asprintf("used up, the last of it by %s/%s", to->record.tenant, to->record.name);
    tf_reached(sub, SUB_RESERVATION_USED);
    epoch_end(sub, from, (struct ending){.end = TF_END_FINISHED, .message = message});
}

void reservation_give(struct sub *sub, const struct tf_entry *entry, const struct job *job,
                      const struct ledger_node *node, uint64_t gpus)
{
    struct tf_vector wanted = tf_shape_vector(&job->record.spec->group.shape);
    tf_vec_each (ref, &entry->reservations) {
        struct job *from = kept_by(sub, *ref);
        if (from && gpus)
            take(sub, from, job, node, gpus, &wanted);
    }
    tf_vec_each (ref, &entry->reservations) {
        struct job *from = kept_by(sub, *ref);
        if (from && is_short(node, wanted))
            take(sub, from, job, node, 0, &wanted);
        if (from)
            finish_if_used_up(sub, from, job);
    }
}

/* ---- trouble ---- */

static bool is_whole(const struct tf_allocation *record)
{
    if (record->claims.count != (size_t)record->spec->elastic.min)
        return false;
    tf_vec_each (claim, &record->claims)
        if (tf_gpu_set_count(claim->gpus) != record->spec->group.shape.gpus)
            return false;
    return true;
}

bool reservation_is_begun(const struct job *job)
{
    return !is_whole(&job->record);
}

static void drop_broken(struct sub *sub, struct job *job)
{
    struct tf_allocation *record = &job->record;
    TF_VEC(enum claim_state) states = {0};
    size_t kept = 0;
    tf_vec_each (claim, &record->claims)
        tf_vec_push(&states, ledger_claim_state(&sub->ledger, record->uid, claim->node));
    job_changed(sub, job);
    reclaim_unhold(sub, job);
    for (size_t i = 0; i < record->claims.count; i++) {
        struct tf_claim *claim = &record->claims.items[i];
        if (states.items[i] != CLAIM_BROKEN)
            record->claims.items[kept++] = *claim;
        else
            tf_claim_release(claim);
    }
    tf_vec_release(&states);
    record->claims.count = kept;
    record->size = (int32_t)kept;
    reclaim_hold(sub, job);
}

void reservation_broken(struct sub *sub, struct job *job)
{
    tf_reached(sub, SUB_RESERVATION_BROKEN);
    if (!reservation_is_begun(job)) {
        char *message = tf_strdup("a node of it went, and what is left free does not hold all of it");
        epoch_end(sub, job, (struct ending){.end = TF_END_LOST, .message = message});
        return;
    }
    drop_broken(sub, job);
    if (job->record.claims.count == 0)
        epoch_end(sub, job,
                  (struct ending){.end = TF_END_FINISHED,
                                  .message = tf_strdup("used in part, and the node of the rest went")});
}
