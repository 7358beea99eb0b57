/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what is known of jobs and nodes from outside of all daemons. */
#include "tools/fedsim/play/truth.h"

#include "tools/fedsim/world.h"

/* An instance of a job, by its index, that was started once. */
struct truth_index {
    uint32_t index;
    UT_hash_handle hh;
};

struct truth_job *truth_job(const struct truth *truth, struct tf_uid uid)
{
    struct truth_job *job = NULL;
    HASH_FIND(hh, truth->jobs, &uid, sizeof uid, job);
    return job;
}

static struct truth_job *job_of(struct truth *truth, struct tf_uid uid)
{
    struct truth_job *job = truth_job(truth, uid);
    if (job)
        return job;
    job = tf_calloc(1, sizeof *job);
    job->uid = uid;
    job->waits = TF_NEVER;
    HASH_ADD(hh, truth->jobs, uid, sizeof job->uid, job);
    return job;
}

/* ---- waiting ---- */

static bool is_wanted(const struct truth_job *job)
{
    return job->submitted && !job->deleted && !job->held && !job->finished && !tf_phase_is_final(job->stored);
}

static void note_wait(struct truth *truth, struct truth_job *job)
{
    bool waits = is_wanted(job) && job->ready < job->wanted.min;
    if (waits && job->waits.ms == TF_NEVER.ms)
        job->waits = truth->world->agenda.now;
    else if (!waits)
        job->waits = TF_NEVER;
}

int64_t truth_waiting(const struct truth_job *job, struct tf_mono now)
{
    return job->waits.ms == TF_NEVER.ms ? 0 : now.ms - job->waits.ms;
}

/* ---- what is heard ---- */

static void hear_asked(struct truth *truth, const struct sim_fact *fact)
{
    struct truth_job *job = job_of(truth, fact->job->uid);
    if (fact->verb == SIM_SUBMIT && !job->submitted) {
        job->submitted = true;
        job->reserves = tf_is_reservation(&fact->job->manifest.spec);
        job->wanted = fact->job->manifest.spec.elastic;
    } else if (fact->verb == SIM_SCALE) {
        job->before = job->wanted;
        job->wanted = fact->elastic;
    }
    note_wait(truth, job);
}

static void hear_answered(struct truth *truth, const struct sim_fact *fact)
{
    struct truth_job *job = job_of(truth, fact->job->uid);
    bool done = fact->code == TF_OK;
    if (fact->verb == SIM_DELETE && done)
        job->deleted = true;
    else if (fact->verb == SIM_HOLD && done)
        job->held = true;
    else if (fact->verb == SIM_RESUME && done)
        job->held = false;
    else if (fact->verb == SIM_SCALE && !done)
        job->wanted = job->before;
    else if (fact->verb == SIM_SUBMIT && !done)
        job->submitted = false;
    note_wait(truth, job);
}

static void note_index(struct truth_job *job, uint32_t number)
{
    struct truth_index *index = NULL;
    HASH_FIND(hh, job->indices, &number, sizeof number, index);
    if (index) {
        job->restarts++;
        return;
    }
    index = tf_calloc(1, sizeof *index);
    index->index = number;
    HASH_ADD(hh, job->indices, index, sizeof index->index, index);
}

static void hear_started(struct truth *truth, const struct sim_fact *fact)
{
    struct truth_job *job = job_of(truth, fact->instance->id.uid);
    if (fact->instance->id.epoch > job->epoch) {
        job->epoch = fact->instance->id.epoch;
        job->ran = false;
    }
    job->site = fact->site;
    job->live++;
    note_index(job, fact->instance->id.index);
}

static void hear_instance(struct truth *truth, const struct sim_fact *fact)
{
    const struct sim_instance *i = fact->instance;
    struct truth_job *job = job_of(truth, i->id.uid);
    bool stays = i->dies.ms == TF_NEVER.ms;
    if (fact->kind == SIM_FACT_STARTED)
        hear_started(truth, fact);
    else if (fact->kind == SIM_FACT_READY && stays)
        job->ready++;
    else if (fact->kind == SIM_FACT_STOPPING || (fact->kind == SIM_FACT_ENDED && stays)) {
        job->live--;
        job->ready -= i->ready;
        job->stopping += fact->kind == SIM_FACT_STOPPING;
    } else if (fact->kind == SIM_FACT_ENDED)
        job->stopping--;
    if (i->id.epoch == job->epoch && job->ready >= job->wanted.min)
        job->ran = true;
    note_wait(truth, job);
}

/* What a reservation keeps is to it what members are to a job, as its subcluster's store has it. */
static void hear_reserved(struct truth_job *job, const struct sim_site *site, const struct tf_allocation *a)
{
    job->ran = a->phase == TF_ALLOCATION_RESERVED;
    job->live = job->ran ? (int32_t)a->claims.count : 0;
    job->ready = job->ran ? job->wanted.min : 0;
    job->site = site;
    job->epoch = a->epoch;
}

static void hear_allocation(struct truth *truth, const struct sim_site *site,
                            const struct tf_allocation *allocation)
{
    struct truth_job *job = job_of(truth, allocation->uid);
    if (job->reserves)
        hear_reserved(job, site, allocation);
    tf_vec_each (ended, &allocation->ended)
        job->finished = job->finished || ended->end == TF_END_FINISHED;
    note_wait(truth, job);
}

static const struct sim_site *site_of(const struct truth *truth, const struct sim_store *store)
{
    tf_vec_each (site, &truth->world->sites)
        if (&(*site)->store == store)
            return *site;
    return NULL;
}

static void hear_record(struct truth *truth, const struct sim_store *store, const struct tf_record *record)
{
    if (record->gone)
        return;
    if (record->kind == TF_RECORD_JOB) {
        struct truth_job *job = job_of(truth, record->job.uid);
        job->stored = record->job.phase;
        note_wait(truth, job);
    } else if (record->kind == TF_RECORD_ALLOCATION) {
        hear_allocation(truth, site_of(truth, store), &record->allocation);
    }
}

static void hear(void *arg, const struct sim_fact *fact)
{
    struct truth *truth = arg;
    truth->changes++;
    switch (fact->kind) {
    case SIM_FACT_ASKED:
        hear_asked(truth, fact);
        break;
    case SIM_FACT_ANSWERED:
        hear_answered(truth, fact);
        break;
    case SIM_FACT_STARTED:
    case SIM_FACT_READY:
    case SIM_FACT_STOPPING:
    case SIM_FACT_ENDED:
        hear_instance(truth, fact);
        break;
    case SIM_FACT_RECORD:
        hear_record(truth, fact->store, fact->record);
        break;
    case SIM_FACT_ARCHIVED:
        job_of(truth, fact->archived->uid)->stored = fact->archived->phase;
        break;
    case SIM_FACT_NODE:
    case SIM_FACT_ORDERED:
        break;
    }
}

/* ---- what is so ---- */

enum tf_phase truth_phase(const struct truth_job *job)
{
    if (!job->submitted)
        return TF_PHASE_NONE;
    if (job->live > 0)
        return job->ran ? TF_PHASE_RUNNING : TF_PHASE_STARTING;
    if (job->stopping > 0)
        return TF_PHASE_STOPPING;
    if (job->deleted)
        return TF_PHASE_DELETED;
    if (tf_phase_is_final(job->stored))
        return job->stored;
    if (job->finished)
        return TF_PHASE_SUCCEEDED;
    return job->held ? TF_PHASE_HELD : TF_PHASE_PENDING;
}

int32_t truth_short(const struct truth_job *job)
{
    return job->live > 0 && job->live < job->wanted.min ? job->wanted.min - job->live : 0;
}

/* Of each node what its instances hold: one look at all of them. */
static uint64_t *held_by_node(const struct sim_fleet *fleet)
{
    uint64_t *held = tf_calloc(fleet->nodes.count + 1, sizeof *held);
    tf_vec_each (i, &fleet->instances)
        if (fleet_runs(*i))
            held[fleet_node_find(fleet, (*i)->node)] |= (*i)->gpus;
    return held;
}

static int64_t free_of(const struct tf_node *node, uint64_t held)
{
    if (node->state != TF_NODE_READY)
        return 0;
    return tf_gpu_set_count(tf_gpu_set_all(node->capacity.gpus) & ~node->foreign.gpus & ~node->bad_gpus &
                            ~held);
}

int64_t truth_node_free(const struct sim_fleet *fleet, size_t node)
{
    return free_of(&fleet->nodes.items[node].node, fleet_held_gpus(fleet, node));
}

int64_t truth_site_free(const struct sim_site *site)
{
    const struct sim_fleet *fleet = &site->fleet;
    uint64_t *held = held_by_node(fleet);
    int64_t sum = 0;
    for (size_t i = 0; i < fleet->nodes.count; i++)
        sum += free_of(&fleet->nodes.items[i].node, held[i]);
    free(held);
    return sum;
}

int64_t truth_whole_free_nodes(const struct sim_site *site)
{
    const struct sim_fleet *fleet = &site->fleet;
    uint64_t *held = held_by_node(fleet);
    int64_t count = 0;
    for (size_t i = 0; i < fleet->nodes.count; i++) {
        const struct tf_node *node = &fleet->nodes.items[i].node;
        count += node->capacity.gpus > 0 && free_of(node, held[i]) == node->capacity.gpus;
    }
    free(held);
    return count;
}

void truth_begin(struct truth *truth, struct sim_world *world)
{
    *truth = (struct truth){.world = world};
    world_listen(world, hear, truth);
}

static void job_free(struct truth_job *job)
{
    struct truth_index *index, *next;
    HASH_ITER (hh, job->indices, index, next) {
        HASH_DEL(job->indices, index);
        free(index);
    }
    free(job);
}

void truth_release(struct truth *truth)
{
    struct truth_job *job, *next;
    HASH_ITER (hh, truth->jobs, job, next) {
        HASH_DEL(truth->jobs, job);
        job_free(job);
    }
}
