/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the way to rest, and what is found there. */
#include "tools/fedsim/rest.h"

#include <inttypes.h>

/* A little longer than any wait of a run, repairWait by a slow clock: after so long without a word nothing
 * more will come. */
/* Longest that one job of a random run can take when nothing is in its way: runs, retries, stops. */
enum { QUIET = 130 * TF_SECOND, REST_FACTOR = 10, JOB_MS_MAX = 300 * TF_SECOND, LATENCY_MS = 2 };

/* ---- healing ---- */

static void store_is_well(struct sim_store *store)
{
    tf_memory_store_faults(store->server, &(struct tf_memory_faults){.latency_max_ms = LATENCY_MS});
    tf_memory_store_down(store->server, false);
}

static void comes_back(void *arg, uint64_t tag)
{
    (void)tag;
    operator_starts(arg);
}

static void heal_process(struct sim_process *process)
{
    process->crash_armed = false; /* one that is paused goes on by itself */
    if (process->up && !process_is_paused(process))
        tf_memory_client_cut(process->client, false);
    sim_agenda_in(&process->world->agenda, 1, comes_back, process, 0);
}

static void heal_site(struct sim_site *site)
{
    operator_cordons(site, false);
    operator_unfreezes(site);
    if (site->world->operator.paused) /* what is paused may have come back with a copy of the store */
        operator_pauses_moves(site, false);
    store_is_well(&site->store);
    tf_vec_each (subd, &site->subds)
        heal_process(&(*subd)->process);
    for (size_t i = 0; i < site->fleet.nodes.count; i++) {
        fleet_node_returns(&site->fleet, i);
        if (site->fleet.nodes.items[i].node.bad_gpus)
            fleet_node_bad(&site->fleet, i, 0, 0);
    }
}

static void heal(struct sim_world *world)
{
    world_say(world, "chaos", "all faults are healed");
    world->busy_at = world->agenda.now;
    world->clients.lose = 0;
    world->healed = true;
    store_is_well(&world->store);
    tf_vec_each (fedd, &world->fedds)
        heal_process(&(*fedd)->process);
    tf_vec_each (site, &world->sites)
        heal_site(*site);
    for (size_t s = 0; s < world->sites.count; s++)
        for (size_t f = 0; f < world->fedds.count; f++)
            link_cut(world, s, f, false, false);
}

/* ---- rest ---- */

static bool reach_rest(struct sim_world *world)
{
    /* what may take time by right: every job may have to wait for all others */
    int64_t work = (int64_t)world->clients.jobs.count * JOB_MS_MAX;
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
    tf_vec_each (row, &why.rows) {
        audit_explained(world->audit, record->uid, row->cluster, row->first.reason, true);
        tf_vec_each (blocker, &row->more)
            audit_explained(world->audit, record->uid, row->cluster, blocker->reason, false);
    }
    fed_explanation_release(&why);
}

/* I15, of those that are active. */
static void show_idle(struct sim_world *world)
{
    tf_vec_each (site, &world->sites)
        tf_vec_each (subd, &(*site)->subds) {
            struct tf_idle_causes idle;
            if (!(*subd)->core || !(*subd)->adopted)
                continue;
            sub_idle((*subd)->core, &idle);
            audit_idle(world->audit, (*site)->name, &idle);
        }
}

static void judge_rest(struct sim_world *world)
{
    struct sim_fedd *leader = world_leader(world);
    if (!leader) {
        world_breach(world, "liveness: at rest nobody leads");
        return;
    }
    show_leftovers(world);
    show_idle(world);
    const struct tf_job_record *record = NULL;
    while (
        (record = fed_job_next(leader->core, record ? record->tenant : NULL, record ? record->name : NULL)))
        if (record->phase == TF_PHASE_PENDING && !record->placements.count)
            show_reasons(world, leader->core, record);
    audit_rest(world->audit);
    if (audit_breach(world->audit) && !world->breached)
        world_breach(world, "%s", audit_breach(world->audit));
}

void world_comes_to_rest(struct sim_world *world)
{
    heal(world);
    if (reach_rest(world))
        judge_rest(world);
}
