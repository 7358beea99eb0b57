/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what is drawn of the order among jobs that differ in nothing and come at once, while their place is
 * taken: only their ids say who is first. At random no two are alike. */
#include "tools/fedsim/chaos/private.h"

#include "common/base/alloc.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"

enum { TWINS = 8, GPUS = 2 /* each: half of them find no place */, WHOLE = 8 };

static int64_t draw_one(struct draw *draw, const char *name, int64_t at, int32_t gpus)
{
    draw_own_service(draw, name, "high", at, "L20", gpus);
    return at + draw_between(draw, 5, 30) * TF_SECOND;
}

void draw_twins(struct draw *draw)
{
    if (!draw_one_in(draw, 20))
        return;
    draw_own_nodes(draw, &draw->s->clusters.items[draw_below(draw, draw->s->clusters.count)], "L20", 1);
    int64_t at = draw_one(draw, "before-twins", TF_SECOND, WHOLE), ends = at;
    for (int i = 0; i < TWINS; i++) {
        TF_AUTO_FREE char *name = tf_asprintf("twin-%d", i);
        ends = draw_one(draw, name, at, GPUS);
    }
    draw_event(draw, false, ends)->delete_job = tf_strdup("own/before-twins");
    draw->ends = ends > draw->ends ? ends : draw->ends;
    draw->s->until = draw->s->until > draw->ends ? draw->s->until : draw->ends;
}
