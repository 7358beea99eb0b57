/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what is drawn of jobs that go to other subclusters: the moves, and accidents that meet them. At random
 * such a move is over within a second, and what can go wrong with it goes wrong only in between. */
#include "common/base/cleanup.h"
#include "tools/fedsim/chaos/private.h"

static struct scenario_event *draw_cross(struct draw *draw, const struct scenario_job *job, int64_t latest)
{
    int64_t at = job->at.from + draw_between(draw, 5 * TF_SECOND, latest);
    struct scenario_event *e = draw_event(draw, false, at);
    e->migrate = tf_asprintf("%s/%s", job->tenant, job->name);
    e->to = tf_strdup(draw->s->clusters.items[draw_below(draw, draw->s->clusters.count)].name);
    draw->ends = at > draw->ends ? at : draw->ends;
    return e;
}

void draw_crosses(struct draw *draw)
{
    bool many = draw_one_in(draw, 3);
    if (draw->s->clusters.count < 2 || draw_one_in(draw, 2))
        return;
    for (size_t i = 0; i < draw->s->jobs.count; i++)
        for (int64_t n = many ? draw_between(draw, 0, 3) : draw_one_in(draw, 3); n > 0; n--) {
            struct scenario_event *e = draw_cross(draw, &draw->s->jobs.items[i], 120 * TF_SECOND);
            if (draw_one_in(draw, 5)) /* taken back soon */
                e->lasts = draw_between(draw, 1, 20 * TF_SECOND);
        }
    draw->s->until = draw->s->until > draw->ends ? draw->s->until : draw->ends;
}

/* ---- accidents ---- */

typedef void accident_f(struct draw *draw, const struct scenario_cluster *cluster, int64_t at);

static void slow_link(struct draw *draw, const struct scenario_cluster *cluster, int64_t at)
{
    struct scenario_event *e = draw_event(draw, true, at);
    e->cluster = tf_strdup(cluster->name);
    e->link.delay = draw_between(draw, 200, 4000);
    e->lasts = draw_between(draw, 5, 40) * TF_SECOND;
}

/* Up: a promise is given, and nobody hears of it; some for longer than it takes to be carried out. */
static void cut_link(struct draw *draw, const struct scenario_cluster *cluster, int64_t at)
{
    struct scenario_event *e = draw_event(draw, true, at);
    e->cluster = tf_strdup(cluster->name);
    e->link.cut = !draw_one_in(draw, 3)
                      ? SCENARIO_CUT_UP
                      : (enum scenario_link)draw_between(draw, SCENARIO_CUT, SCENARIO_CUT_DOWN);
    e->lasts = (draw_one_in(draw, 2) ? draw_between(draw, 60, 120) : draw_between(draw, 2, 25)) * TF_SECOND;
}

static void kill_daemon(struct draw *draw, const struct scenario_cluster *cluster, int64_t at)
{
    struct scenario_event *e = draw_event(draw, true, at);
    e->crash = draw_one_in(draw, 3) ? tf_asprintf("fedd/%d", (int)draw_between(draw, 1, draw->s->world.fedds))
                                    : tf_asprintf("subclusterd/%s/%d", cluster->name,
                                                  (int)draw_between(draw, 1, cluster->subclusterds));
    e->lasts = draw_between(draw, 10, draw_one_in(draw, 3) ? 90000 : 4000);
}

static void lose_node(struct draw *draw, const struct scenario_cluster *cluster, int64_t at)
{
    struct scenario_event *e = draw_event(draw, true, at);
    const struct scenario_nodes *node = &cluster->nodes.items[draw_below(draw, cluster->nodes.count)];
    TF_AUTO_FREE char *name = tf_asprintf("%s/%s0", cluster->name, node->prefix);
    tf_strs_add(&e->node, name);
    e->state = SCENARIO_DOWN;
    e->lasts = draw_between(draw, 1, 40) * TF_SECOND;
}

/* To one of the subclusters, one after the other: it may be of the two. */
static void draw_accidents(struct draw *draw, int64_t at)
{
    static accident_f *const kinds[] = {slow_link, cut_link, kill_daemon, lose_node};
    const struct scenario_cluster *cluster =
        &draw->s->clusters.items[draw_below(draw, draw->s->clusters.count)];
    if (draw_one_in(draw, 3)) /* it has promised, cannot say so, and forgets all that is not durable */
        cut_link(draw, cluster, at);
    for (int64_t n = draw_between(draw, 1, 3); n > 0; n--) {
        kinds[draw_below(draw, sizeof kinds / sizeof *kinds)](draw, cluster, at);
        at += draw_between(draw, 0, 6 * TF_SECOND);
    }
    draw->ends = at > draw->ends ? at : draw->ends;
}

/* One that runs soon and for long, and fits nearly anywhere: others mostly have no room to go to. */
static void draw_mover(struct draw *draw, size_t number)
{
    struct scenario_job job = {.at = {.from = draw_between(draw, 1, 20) * TF_SECOND}, .work = -1, .run = -1};
    job.tenant = tf_strdup("web");
    job.name = tf_asprintf("mover-%zu", number);
    tf_job_spec_init(&job.spec);
    job.spec.priority = tf_strdup("high");
    job.spec.workload = draw_one_in(draw, 4) ? TF_WORKLOAD_TRAINING : TF_WORKLOAD_INFERENCE;
    job.spec.elastic.min = job.spec.elastic.max = job.spec.elastic.step = (int32_t)draw_between(draw, 1, 2);
    job.spec.group.shape.gpus = draw_one_in(draw, 3) ? 1 : 0;
    job.spec.group.shape.cpu = 1000;
    job.spec.group.shape.memory = 1024;
    tf_strs_add(&job.spec.group.command, "serve");
    job.spec.group.stop_delay = draw_one_in(draw, 2) ? 2 * TF_SECOND : 0;
    job.spec.retry_limit = 3;
    job.spec.retry_backoff = TF_SECOND;
    job.spec.keep_finished = 30 * TF_SECOND;
    job.stop_time = draw_between(draw, 0, 500);
    job.chance.seed = draw_between(draw, 1, INT32_MAX);
    job.chance.start_max = draw_one_in(draw, 2) ? 6 * TF_SECOND : 500;
    if (draw_one_in(draw, 4)) { /* it ends by itself, in some state of a move */
        job.chance.run_max = 120 * TF_SECOND;
        job.chance.run_min = 10 * TF_SECOND;
    }
    tf_job_spec_fill(&job.spec);
    tf_vec_push(&draw->s->jobs, job);
}

void draw_hard_crosses(struct draw *draw)
{
    enum { MOVERS = 3, EACH = 4 };
    if (draw->s->clusters.count < 2 || !draw_one_in(draw, 2))
        return;
    for (int64_t movers = draw_between(draw, 1, MOVERS); movers > 0; movers--) {
        draw_mover(draw, draw->s->jobs.count + 1);
        const struct scenario_job *job = &draw->s->jobs.items[draw->s->jobs.count - 1];
        for (int64_t n = draw_between(draw, 1, EACH); n > 0; n--) {
            struct scenario_event *e = draw_cross(draw, job, 150 * TF_SECOND);
            int64_t at = e->at;
            if (draw_one_in(draw, 2))
                e->lasts = draw_between(draw, 100, 12 * TF_SECOND);
            draw_accidents(draw, at + draw_between(draw, -3, 3) * TF_SECOND);
        }
    }
    draw->s->until = draw->s->until > draw->ends ? draw->s->until : draw->ends;
}
