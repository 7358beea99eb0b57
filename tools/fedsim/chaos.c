/* SPDX-License-Identifier: Apache-2.0 */
/* One random run from beginning to rest. The random world is in random.c, the faults are in faults.c. */
#include "tools/fedsim/chaos.h"

#include "tools/fedsim/faults.h"
#include "tools/fedsim/random.h"

#include <inttypes.h>

/* A little longer than any wait of a run: after so long without a word nothing more will come. */
enum { QUIET = 100 * TF_SECOND, REST_FACTOR = 10 };

static bool reach_rest(struct sim_world *world)
{
    /* what may take time by right: every job may have to wait for all others */
    int64_t work = (int64_t)world->clients.jobs.count * SIM_JOB_MS_MAX;
    struct tf_mono deadline = {world->agenda.now.ms + (int64_t)QUIET * REST_FACTOR + work};
    if (!world_run(world, deadline, QUIET))
        return false;
    if (!world->rests)
        world_breach(world,
                     "I11: with all faults healed the world does not come to rest within %" PRId64 " s",
                     (QUIET * REST_FACTOR + work) / TF_SECOND);
    else if (world->clients.open > 0)
        world_breach(world, "liveness: at rest %zu wishes of clients are still unanswered",
                     world->clients.open);
    return !world->breached;
}

/* ---- what is found at rest ---- */

static void show_leftovers(struct sim_world *world)
{
    tf_vec_each (site, &world->sites)
        tf_vec_each (i, &(*site)->fleet.instances)
            audit_leftover(world->audit, (*site)->name, &(*i)->id);
}

static void show_reasons(struct sim_world *world, const struct fed *core, const struct tf_job_record *record)
{
    struct fed_explanation why = {0};
    struct tf_now now = {world->agenda.now, {SIM_EPOCH_MS + world->agenda.now.ms}};
    if (fed_explain(core, record->tenant, record->name, now, &why, NULL)) {
        world_breach(world, "I13: a stored job cannot be explained");
        return;
    }
    tf_vec_each (row, &why.rows)
        audit_explained(world->audit, record->uid, row->cluster, row->reason);
    fed_explanation_release(&why);
}

static void judge_rest(struct sim_world *world)
{
    struct sim_fedd *leader = world_leader(world);
    if (!leader) {
        world_breach(world, "liveness: at rest nobody leads");
        return;
    }
    show_leftovers(world);
    const struct tf_job_record *record = NULL;
    while (
        (record = fed_job_next(leader->core, record ? record->tenant : NULL, record ? record->name : NULL)))
        if (record->phase == TF_PHASE_PENDING && !record->placements.count)
            show_reasons(world, leader->core, record);
    audit_rest(world->audit);
    if (audit_breach(world->audit) && !world->breached)
        world_breach(world, "%s", audit_breach(world->audit));
}

/* ---- the run ---- */

static void report(const struct sim_world *world, const struct sim_faults *faults,
                   const struct sim_chaos_options *options, struct sim_chaos_result *result)
{
    *result = (struct sim_chaos_result){.breached = world->breached,
                                        .hash = world->diary.hash,
                                        .events = world->agenda.done,
                                        .rested_ms = world->agenda.now.ms,
                                        .faults = faults->kinds,
                                        .stale_messages = world->stale_messages,
                                        .counts = audit_counts(world->audit)};
    memcpy(result->faults_made, faults->made, sizeof result->faults_made);
    if (!world->breached)
        return;
    snprintf(result->breach, sizeof result->breach, "%s", audit_breach(world->audit));
    sim_diary_tail(&world->diary, options->tail);
}

void sim_chaos_run(const struct sim_chaos_options *options, struct sim_chaos_result *result)
{
    struct sim_world world;
    struct sim_faults faults;
    world_init(&world, options->seed, options->aloud);
    world.renew_every = options->renew_every;
    world.record = options->record;
    random_world(&world);
    faults_init(&faults, &world);
    world_start(&world);
    random_jobs(&world);
    faults_start(&faults);
    if (world.clients.last.ms > faults.ends.ms)
        faults.ends = world.clients.last;
    if (world_run(&world, faults.ends, 0)) {
        faults_heal(&faults);
        if (reach_rest(&world))
            judge_rest(&world);
    }
    report(&world, &faults, options, result);
    world_release(&world);
    result->reached = world.reached; /* the last daemons end with the world */
}
