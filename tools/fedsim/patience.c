/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/fedsim/patience.h"

#include "tools/fedsim/world.h"

#include <inttypes.h>

void patience_begin(struct sim_fedd *fedd)
{
    struct sim_patience *p = &fedd->patience;
    p->since = process_now(&fedd->process).mono;
    p->seen.count = 0;
    for (size_t i = 0; i < fedd->process.world->sites.count; i++)
        (void)tf_vec_add(&p->seen);
}

void patience_release(struct sim_patience *patience)
{
    tf_vec_release(&patience->seen);
}

static void judge(struct sim_fedd *fedd, const char *name, struct tf_mono seen)
{
    struct sim_world *world = fedd->process.world;
    int64_t since = seen.ms > fedd->patience.since.ms ? seen.ms : fedd->patience.since.ms;
    int64_t listened = process_now(&fedd->process).mono.ms - since;
    if (listened < world->settings.cluster_lost_after)
        world_breach(world,
                     "own outage: %s judges subcluster %s lost, and has listened for it for %" PRId64
                     " ms only, not for %" PRId64,
                     fedd->process.name, name, listened, world->settings.cluster_lost_after);
}

void patience_look(struct sim_fedd *fedd)
{
    struct sim_world *world = fedd->process.world;
    if (world->check != SIM_CHECK_EVERY)
        return;
    for (size_t i = 0; i < fed_cluster_count(fedd->core); i++) {
        struct fed_cluster_view view = fed_cluster_at(fedd->core, i);
        for (size_t s = 0; s < fedd->patience.seen.count; s++) {
            if (strcmp(world->sites.items[s]->name, view.record->name) != 0)
                continue;
            if (view.attached)
                fedd->patience.seen.items[s] = process_now(&fedd->process).mono;
            else if (view.lost)
                judge(fedd, view.record->name, fedd->patience.seen.items[s]);
        }
    }
}
