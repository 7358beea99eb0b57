/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what is drawn of instances that need each other's place, so that one of them has to wait in a spare
 * one: CPU is short, and each goes only where the other is. At random such a fleet does not come about. */
#include "tools/fedsim/chaos/private.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"

enum { NODES = 4, CPU = 96 };
static const char model[] = "B100";

struct part {
    const char *name;
    int32_t gpus, cpu;
    size_t node; /* the last one stays free: it is the spare place */
    bool moves;
};

static const struct part parts[] = {
    {"cycle-1", 1, 32, 0, true}, {"stays-1", 2, 8, 0, false},  {"stays-2", 2, 24, 0, false},
    {"stays-3", 2, 8, 0, false}, {"stays-4", 2, 40, 1, false}, {"cycle-2", 2, 56, 1, true},
    {"follows", 4, 24, 2, true},
};

static void draw_part(struct draw *draw, const struct part *part, const struct scenario_cluster *cluster,
                      size_t first)
{
    struct scenario_job *job = draw_own_service(draw, part->name, "high", TF_SECOND, model, part->gpus);
    job->spec.migration = part->moves ? TF_MIGRATION_ALLOW : TF_MIGRATION_NEVER;
    job->spec.group.shape.cpu = part->cpu * 1000;
    draw_put_on(job, cluster, first + part->node);
}

void draw_cycle(struct draw *draw)
{
    if (!draw_one_in(draw, 25))
        return;
    struct scenario_cluster *cluster = &draw->s->clusters.items[draw_below(draw, draw->s->clusters.count)];
    size_t first = draw_own_nodes(draw, cluster, model, NODES);
    for (size_t i = first; i < first + NODES; i++)
        cluster->nodes.items[i].cpu = CPU * 1000;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        draw_part(draw, &parts[i], cluster, first);
    int64_t at = draw_between(draw, 10, 60) * TF_SECOND;
    struct scenario_event *e = draw_event(draw, false, at);
    e->defrag = tf_strdup(cluster->name);
    e->model = tf_strdup(model);
    tf_strs_add(&e->nodes, "max");
    draw->ends = at > draw->ends ? at : draw->ends;
    draw->s->until = draw->s->until > draw->ends ? draw->s->until : draw->ends;
}
