/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what is drawn of drains of whole domains, of clusters, and of nodes by their labels: one order each,
 * while nodes come, the daemon dies, and the deadline nears. */
#include "common/base/cleanup.h"
#include "tools/fedsim/chaos/private.h"

/* Of the rack, or of none (0); it comes in the middle of what is done there. */
static void latecomer(struct scenario_cluster *cluster, int rack, int64_t at)
{
    struct scenario_nodes node = {.count = 1,
                                  .prefix = tf_asprintf("late%zu-", cluster->nodes.count),
                                  .gpus = 8,
                                  .model = tf_strdup("H800"),
                                  .gpu_memory = 80 * 1024,
                                  .slots = 12,
                                  .cpu = 64000,
                                  .memory = 256 * 1024,
                                  .joins = at};
    if (rack)
        node.domain = tf_asprintf("rack-%d", rack);
    tf_pairs_set(&node.labels, "disk", "nvme");
    tf_vec_push(&cluster->nodes, node);
}

static void order(struct draw *draw, const struct scenario_cluster *cluster, int rack, int64_t at)
{
    struct scenario_event *e = draw_event(draw, true, at);
    e->drain = tf_strdup(cluster->name);
    if (rack)
        e->domain = tf_asprintf("rack-%d", rack);
    else if (draw_one_in(draw, 2))
        e->labels = tf_strdup(draw_one_in(draw, 2) ? "disk=nvme" : "!disk");
    e->lasts = draw_one_in(draw, 3) ? 0 : draw_between(draw, 1, 90 * TF_SECOND);
    e->within = draw_one_in(draw, 2) ? 0 : draw_between(draw, 1, 40 * TF_SECOND);
    e->at_once = draw_one_in(draw, 2) ? 0 : (int32_t)draw_between(draw, 1, 3);
    e->force = e->within && draw_one_in(draw, 3);
}

static void crash(struct draw *draw, const struct scenario_cluster *cluster, int64_t at)
{
    struct scenario_event *e = draw_event(draw, true, at);
    e->crash = tf_asprintf("subclusterd/%s", cluster->name);
    e->lasts = draw_between(draw, 1, 10 * TF_SECOND);
}

void draw_domains(struct draw *draw)
{
    if (!draw_one_in(draw, 4))
        return;
    for (int64_t n = draw_between(draw, 1, 3); n > 0; n--) {
        size_t number = draw_below(draw, draw->s->clusters.count);
        struct scenario_cluster *cluster = &draw->s->clusters.items[number];
        int rack = draw_one_in(draw, 3) ? 0 : (int)draw_between(draw, 1, 2);
        int64_t at = draw_between(draw, 5 * TF_SECOND, draw->ends), soon = 20 * TF_SECOND;
        order(draw, cluster, rack, at);
        if (draw_one_in(draw, 2))
            latecomer(cluster, rack, at + draw_between(draw, 1, soon));
        for (int64_t dies = draw_between(draw, 0, 2); dies > 0; dies--)
            crash(draw, cluster, at + draw_between(draw, 1, soon));
        if (draw_one_in(draw, 4)) /* the same by other terms, or a part of it again */
            order(draw, cluster, draw_one_in(draw, 2) ? rack : 0, at + draw_between(draw, 1, soon));
    }
    int64_t end = draw->ends + 30 * TF_SECOND; /* who comes late comes before all is judged */
    draw->s->until = draw->s->until > end ? draw->s->until : end;
}
