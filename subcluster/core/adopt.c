/* SPDX-License-Identifier: Apache-2.0 */
/* Owns adoption: the local store has lost what runs (DESIGN.md §7, truth order). */
#include "subcluster/core/adopt.h"

#include "subcluster/core/allocation.h"
#include "subcluster/core/levels.h"
#include "subcluster/core/members.h"
#include "subcluster/core/node_claims.h"
#include "subcluster/core/peers.h"
#include "subcluster/core/place.h"
#include "subcluster/core/size.h"
#include "subcluster/core/stakes.h"
#include "subcluster/core/trace.h"
#include "subcluster/core/yield.h"

/* All of the epoch's instances run, each once, on GPUs that nobody else has; and they are as many as the job
 * may have (a leader whose store was restored, too, may know an older spec of it). */
static bool adoptable(const struct sub *sub, const struct tf_entry *entry, struct stray_range range)
{
    const struct tf_elastic *e = &entry->spec->elastic;
    if (range.count != (size_t)entry->size || entry->size < e->min || !tf_size_legal(e, entry->size, false))
        return false;
    for (size_t i = 0; i < range.count; i++) {
        const struct stray *stray = &sub->strays.items[range.first + i];
        const struct ledger_node *node = stray->node ? ledger_find(&sub->ledger, stray->node) : NULL;
        if (stray->id.epoch != entry->epoch || stray->id.index != i || stray->stopping || !node ||
            tf_gpu_set_count(stray->gpus) != entry->spec->group.shape.gpus ||
            (ledger_held_gpus(node) & stray->gpus))
            return false;
        for (size_t j = 0; j < i; j++) {
            const struct stray *other = &sub->strays.items[range.first + j];
            if (strcmp(other->node, stray->node) == 0 && (other->gpus & stray->gpus))
                return false;
        }
    }
    return true;
}

static void adopt_member(struct sub *sub, struct job *job, const struct stray *stray)
{
    const struct tf_elastic *e = &job->record.spec->elastic;
    struct tf_member *member = tf_vec_add(&job->record.members);
    member->index = stray->id.index;
    member->attempt = stray->id.attempt;
    member->node = tf_strdup(stray->node);
    member->gpus = stray->gpus;
    member->mark = size_mark(e, (int32_t)stray->id.index);
    member->state = stray->ready ? TF_MEMBER_READY : TF_MEMBER_STARTING;
    member->started = sub->now.wall;
    if (stray->ready)
        member->ready = sub->now.wall;
    tf_strs_copy(&member->ports, &stray->ports);
    ledger_hold(&sub->ledger, job->record.uid, member, tf_shape_vector(&job->record.spec->group.shape),
                member_level(sub, job, member), member_stake(sub, job, member));
}

static void adopt(struct sub *sub, struct tf_entry *entry, struct stray_range range)
{
    struct job *job = epoch_open(sub, entry, entry->size);
    const struct ledger_node *node = ledger_find(&sub->ledger, sub->strays.items[range.first].node);
    if (job->record.spec->group.shape.gpus > 0)
        tf_str_set(&job->record.model, node->node.model);
    for (size_t i = 0; i < range.count; i++) {
        adopt_member(sub, job, &sub->strays.items[range.first]);
        stray_remove(sub, range.first);
    }
    members_attach(sub, job);
    members_adopted(sub, job);
    trace_epoch(sub, job, "runs here without a record: adopted, %zu instances", job->record.members.count);
    job_changed(sub, job);
    yield_take(sub, job, entry);
    raise_floor(sub, job->record.epoch);
    peers_write(sub, job);
    node_claim_end(sub, job->record.uid);
    epoch_look(sub, job);
}

void adopt_strays(struct sub *sub, struct tf_entry *entry, struct stray_range range)
{
    if (adoptable(sub, entry, range)) {
        adopt(sub, entry, range);
        return;
    }
    char *text =
        tf_asprintf("the subcluster lost its record of the epoch, and the %zu instances of it that run "
                    "are not the %d that were started",
                    range.count, entry->size);
    struct tf_ended ended = {.epoch = entry->epoch, .end = TF_END_LOST, .message = text};
    epoch_record_end(sub, entry->uid, entry->tenant, entry->name, ended);
    raise_floor(sub, entry->epoch);
    strays_judge(sub, entry->uid);
}
