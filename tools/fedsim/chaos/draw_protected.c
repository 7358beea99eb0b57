/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what is drawn of a protection that outlasts the run, and of one that waits for its end: what random
 * jobs have is over before anything comes to rest. */
#include "tools/fedsim/chaos/private.h"

#include "common/base/clock.h"

enum { WHOLE = 8 /* GPUs */ };

void draw_protected(struct draw *draw)
{
    if (!draw_one_in(draw, 20))
        return;
    draw_own_nodes(draw, &draw->s->clusters.items[draw_below(draw, draw->s->clusters.count)], "A16", 1);
    draw_own_service(draw, "protected", "low", TF_SECOND, "A16", WHOLE)->spec.min_runtime = TF_HOUR;
    int64_t at = draw_between(draw, 10, 60) * TF_SECOND;
    draw_own_service(draw, "patient", "high", at, "A16", (int32_t)draw_between(draw, 1, WHOLE));
    draw->ends = at > draw->ends ? at : draw->ends;
    draw->s->until = draw->s->until > draw->ends ? draw->s->until : draw->ends;
}
