/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what is drawn of surplus that a job of a higher priority takes to grow. It wants a step for long
 * first, and at random something else comes in between. A core that is younger, and so cheaper, stands beside
 * that surplus: growth may not take it. Nodes, model and classes are of their own, so that others hardly come
 * there. */
#include "tools/fedsim/chaos/private.h"

enum { NODES = 4, WHOLE = 8 /* GPUs */ };

static struct scenario_job *draw_one(struct draw *draw, const char *name, const char *class, int64_t at,
                                     int32_t max)
{
    struct scenario_job *job = draw_own_service(draw, name, class, at, "B200", WHOLE);
    job->spec.elastic.max = max;
    return job;
}

void draw_lent(struct draw *draw)
{
    if (!draw_one_in(draw, 10))
        return;
    struct tf_classes *classes = &draw->s->settings.federation.policy.classes;
    tf_classes_add(classes, "lends", 50);
    tf_classes_add(classes, "takes", 60);
    draw_own_nodes(draw, &draw->s->clusters.items[draw_below(draw, draw->s->clusters.count)], "B200", NODES);
    draw_one(draw, "lender", "lends", TF_SECOND, NODES);
    int64_t at = draw_between(draw, 15, 40) * TF_SECOND;
    draw_one(draw, "taker", "takes", at, 2);
    at += draw_between(draw, 1, 4) * TF_SECOND;
    draw_one(draw, "young", "lends", at, 1);
    at += draw->s->settings.federation.policy.surplus_dwell + 10 * TF_SECOND;
    draw->ends = at > draw->ends ? at : draw->ends;
    draw->s->until = draw->s->until > draw->ends ? draw->s->until : draw->ends;
}
