/* SPDX-License-Identifier: Apache-2.0 */
/* Owns how a rival's decisions are told to those who measure: as the records that tidefed would have stored.
 */
#include "tools/fedsim/rival/private.h"

static void tell(const struct rival *rival, const struct sim_store *store, const struct tf_record *record)
{
    world_tell(rival->world, &(struct sim_fact){.kind = SIM_FACT_RECORD, .store = store, .record = record});
}

static bool is_placed(enum tf_phase phase)
{
    return phase == TF_PHASE_STARTING || phase == TF_PHASE_RUNNING;
}

void rival_tell_job(const struct rival *rival, const struct rival_job *job, enum tf_phase phase)
{
    struct tf_placement placement = {.epoch = job->epoch, .phase = phase};
    struct tf_record record = {.kind = TF_RECORD_JOB};
    record.job.uid = job->uid;
    record.job.spec = tf_spec_none();
    record.job.phase = phase;
    record.job.held = job->held;
    record.job.placements.items = &placement;
    record.job.placements.count = is_placed(phase);
    tell(rival, &rival->world->store, &record);
}

void rival_tell_state(const struct rival *rival, const struct rival_job *job, size_t site,
                      const struct rival_places *claims)
{
    struct tf_record record = {.kind = TF_RECORD_ALLOCATION};
    struct tf_allocation *a = &record.allocation;
    a->uid = job->uid;
    a->epoch = job->epoch;
    struct tf_job_spec *spec = tf_spec_own(&a->spec); /* all else is borrowed */
    tf_job_spec_copy(spec, &job->manifest.spec);
    spec->elastic = job->wanted;
    a->ending.end = job->ending;
    a->phase = job->ending != TF_END_NONE ? TF_ALLOCATION_ENDING
               : job->members.count       ? TF_ALLOCATION_RUNNING
                                          : TF_ALLOCATION_IDLE;
    tf_vec_each (m, &job->members)
        a->size += !m->stopping;
    for (size_t i = 0; claims && i < claims->count; i++) {
        const struct rival_room *room = &rival->rooms.items[claims->items[i].room];
        struct tf_claim claim = {.node = rival_node(rival, room)->name, .gpus = claims->items[i].gpus};
        tf_vec_push(&a->claims, claim);
    }
    tell(rival, &rival->world->sites.items[site]->store, &record);
    tf_vec_release(&a->claims);
    tf_spec_drop(a->spec);
}

void rival_tell_end(const struct rival *rival, const struct rival_job *job, size_t site, enum tf_end end)
{
    struct tf_ended ended = {.epoch = job->epoch, .end = end};
    struct tf_record record = {.kind = TF_RECORD_ALLOCATION};
    record.allocation.uid = job->uid;
    record.allocation.phase = TF_ALLOCATION_IDLE;
    record.allocation.ended.items = &ended;
    record.allocation.ended.count = 1;
    tell(rival, &rival->world->sites.items[site]->store, &record);
}
