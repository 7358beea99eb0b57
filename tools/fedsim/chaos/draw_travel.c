/* SPDX-License-Identifier: Apache-2.0 */
/* Draws jobs that live long and go from one subcluster to another and back, with what goes wrong just then:
 * else most moves between subclusters are of jobs that are over, or find nothing free, and no link is cut in
 * the second in which it counts. */
#include "tools/fedsim/chaos/private.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/vec.h"

#include <string.h>

static const char *name_of(struct draw *draw)
{
    return draw->s->clusters.items[draw_below(draw, draw->s->clusters.count)].name;
}

/* Small, so that it fits nearly everywhere, and with nothing that ends it by itself. */
static size_t draw_traveller(struct draw *draw, size_t number)
{
    struct scenario_job job = {.at = {.from = draw_between(draw, 1, 20) * TF_SECOND}, .work = -1, .run = -1};
    bool slow = draw_one_in(draw, 2);
    job.tenant = tf_strdup("tour");
    job.name = tf_asprintf("tour-%zu", number);
    tf_job_spec_init(&job.spec);
    job.spec.priority = tf_strdup("high");
    job.spec.workload = draw_one_in(draw, 5) ? TF_WORKLOAD_TRAINING : TF_WORKLOAD_INFERENCE;
    job.spec.elastic.step = 1;
    job.spec.elastic.min = (int32_t)draw_between(draw, 1, 3);
    job.spec.elastic.max = job.spec.elastic.min + (int32_t)draw_between(draw, 0, 1);
    job.spec.group.shape = (struct tf_shape){.gpus = draw_one_in(draw, 3), .cpu = 100, .memory = 64};
    job.spec.group.grace = TF_SECOND;
    job.spec.group.stop_delay = draw_between(draw, 0, 2) * TF_SECOND;
    job.spec.keep_finished = draw_between(draw, 1, 6) * 10 * TF_SECOND;
    tf_strs_add(&job.spec.group.command, "work");
    job.chance = (struct scenario_chance){.seed = draw_between(draw, 1, INT32_MAX),
                                          .start_max = slow ? 8 * TF_SECOND : 300};
    if (draw_one_in(draw, 3)) { /* some finish or fail in mid-move */
        job.chance.run_min = 20 * TF_SECOND;
        job.chance.run_max = 80 * TF_SECOND;
        job.chance.fail = draw_one_in(draw, 2) ? 5000 : 0;
    }
    job.stop_time = draw_between(draw, 0, 500);
    tf_job_spec_fill(&job.spec);
    tf_vec_push(&draw->s->jobs, job);
    return draw->s->jobs.count - 1;
}

/* Where it comes from, if there are two only. */
static const char *elsewhere(struct draw *draw, const char *to)
{
    const char *name = to;
    while (strcmp(name, to) == 0)
        name = name_of(draw);
    return name;
}

static void trouble(struct draw *draw, const char *to, int64_t at)
{
    const char *where = draw_one_in(draw, 3) ? to : elsewhere(draw, to);
    struct scenario_event *e = draw_event(draw, true, at);
    switch (draw_below(draw, 5)) {
    case 0:
        e->crash = tf_asprintf("subclusterd/%s", where);
        e->lasts = draw_between(draw, 1, 20 * TF_SECOND);
        break;
    case 1:
        e->crash = tf_strdup("fedd/1");
        e->lasts = draw_between(draw, 1, 10 * TF_SECOND);
        break;
    default: /* longer than a promise may wait, or shorter than one is late */
        e->cluster = tf_strdup(where);
        e->link.cut = draw_one_in(draw, 2)
                          ? SCENARIO_CUT_UP
                          : (enum scenario_link)draw_between(draw, SCENARIO_CUT, SCENARIO_CUT_DOWN);
        e->lasts = draw_between(draw, 100, (draw_one_in(draw, 2) ? 100 : 5) * TF_SECOND);
    }
}

static void draw_journey(struct draw *draw, const struct scenario_job *job, int64_t at)
{
    struct scenario_event *e = draw_event(draw, false, at);
    e->migrate = tf_asprintf("%s/%s", job->tenant, job->name);
    const char *to = name_of(draw);
    e->to = tf_strdup(to);
    if (draw_one_in(draw, 3))
        e->lasts = draw_between(draw, 1, (draw_one_in(draw, 2) ? 10 : 1) * TF_SECOND);
    for (int64_t n = draw_between(draw, 0, 2); n > 0; n--)
        trouble(draw, to, at + draw_between(draw, 0, (draw_one_in(draw, 2) ? 9000 : 1000)));
}

void draw_travels(struct draw *draw)
{
    if (draw->s->clusters.count < 2 || !draw_one_in(draw, 3))
        return;
    int64_t ends = draw->s->until, last = 0;
    for (int64_t n = draw_between(draw, 1, 4); n > 0; n--) {
        size_t which = draw_traveller(draw, draw->s->jobs.count + 1);
        int64_t at = draw->s->jobs.items[which].at.from;
        for (int64_t times = draw_between(draw, 1, 4); times > 0; times--) {
            at += draw_between(draw, 4 * TF_SECOND, 30 * TF_SECOND);
            draw_journey(draw, &draw->s->jobs.items[which], at);
        }
        last = at > last ? at : last;
    }
    last += draw_one_in(draw, 2) ? 100 * TF_SECOND : 10 * TF_SECOND;
    draw->ends = draw->s->until = ends > last ? ends : last;
}
