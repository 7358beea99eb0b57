/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what is drawn of a stop that takes longer than it may: its node does not answer, and is not given up
 * before that. A node seldom falls silent just before something there is told to stop. */
#include "tools/fedsim/chaos/private.h"

#include "common/base/alloc.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"

enum { AT = 40 * TF_SECOND };

void draw_stuck(struct draw *draw)
{
    if (!draw_one_in(draw, 25))
        return;
    struct scenario_cluster *cluster = &draw->s->clusters.items[draw_below(draw, draw->s->clusters.count)];
    size_t node = draw_own_nodes(draw, cluster, "A30", 1);
    struct scenario_job *job = draw_own_service(draw, "silent", "high", TF_SECOND, "A30", 1);
    job->spec.group.grace = 0;
    draw_event(draw, false, AT)->delete_job = tf_asprintf("%s/%s", job->tenant, job->name);
    TF_AUTO_FREE char *name = tf_asprintf("%s/%s0", cluster->name, cluster->nodes.items[node].prefix);
    struct scenario_event *e = draw_event(draw, true, AT - draw_between(draw, 1, 300));
    tf_strs_add(&e->node, name);
    e->state = SCENARIO_UNREACHABLE;
    e->lasts = 40 * TF_SECOND;
    draw->ends = AT > draw->ends ? AT : draw->ends;
    draw->s->until = draw->s->until > draw->ends ? draw->s->until : draw->ends;
}
