/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what is drawn of whole nodes that moves give back: a job finds none free, and to evict for it costs
 * more than to move what is scattered. At random such a fleet hardly ever comes about. The nodes are of a
 * model and the jobs of a class of their own, so that others neither fill them nor claim first. */
#include "tools/fedsim/chaos/private.h"

#include "common/base/alloc.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"

enum { NODES = 3, WHOLE = 8 /* GPUs */ };
static const char model[] = "L40S", class[] = "top";

size_t draw_own_nodes(struct draw *draw, struct scenario_cluster *cluster, const char *of, size_t count)
{
    size_t first = cluster->nodes.count;
    for (size_t i = first; i < first + count; i++) {
        struct scenario_nodes node = {.count = 1, .prefix = tf_asprintf("m%zu-", i + 1)};
        node.gpus = WHOLE;
        node.model = tf_strdup(of);
        node.gpu_memory = 48 * 1024;
        node.slots = (int32_t)draw_between(draw, WHOLE, 12);
        node.cpu = 64000;
        node.memory = 256 * 1024;
        tf_vec_push(&cluster->nodes, node);
    }
    return first;
}

struct scenario_job *draw_own_service(struct draw *draw, const char *name, const char *priority, int64_t at,
                                      const char *of, int32_t gpus)
{
    struct scenario_job job = {.at = {.from = at}, .work = -1, .run = -1};
    job.tenant = tf_strdup("own");
    job.name = tf_strdup(name);
    tf_job_spec_init(&job.spec);
    job.spec.priority = tf_strdup(priority);
    job.spec.workload = TF_WORKLOAD_INFERENCE;
    job.spec.migration = TF_MIGRATION_ALLOW;
    job.spec.elastic = (struct tf_elastic){.min = 1, .max = 1, .step = 1};
    job.spec.group.shape.gpus = gpus;
    job.spec.group.shape.cpu = 1000;
    job.spec.group.shape.memory = 1024;
    tf_strs_add(&job.spec.group.shape.gpu_models, of);
    tf_strs_add(&job.spec.group.command, "serve");
    job.spec.retry_limit = 3;
    job.spec.retry_backoff = TF_SECOND;
    job.spec.keep_finished = 30 * TF_SECOND;
    job.stop_time = draw_between(draw, 0, 500);
    job.chance.seed = draw_between(draw, 1, INT32_MAX);
    job.chance.start_max = draw_one_in(draw, 4) ? 4 * TF_SECOND : 500;
    tf_job_spec_fill(&job.spec);
    tf_vec_push(&draw->s->jobs, job);
    return &draw->s->jobs.items[draw->s->jobs.count - 1];
}

static struct scenario_job *draw_service(struct draw *draw, const char *name, int64_t at, int32_t gpus)
{
    return draw_own_service(draw, name, class, at, model, gpus);
}

void draw_put_on(struct scenario_job *job, const struct scenario_cluster *cluster, size_t node)
{
    TF_AUTO_FREE char *name = tf_asprintf("%s/%s0", cluster->name, cluster->nodes.items[node].prefix);
    tf_strs_add(&job->on, name);
}

/* It comes when the victim has run for so long that moves cost less. */
static void draw_whole(struct draw *draw, int number)
{
    int64_t at = draw_between(draw, 20, 120) * TF_SECOND;
    char *name = tf_asprintf("whole-%d", number);
    draw_service(draw, name, at, WHOLE);
    free(name);
    draw->ends = at > draw->ends ? at : draw->ends;
}

void draw_scattered(struct draw *draw)
{
    const struct tf_policy *policy = &draw->s->settings.federation.policy;
    if (policy->consolidate != TF_CONSOLIDATE_ON || !draw_one_in(draw, 8))
        return;
    struct scenario_cluster *cluster = &draw->s->clusters.items[draw_below(draw, draw->s->clusters.count)];
    size_t first = draw_own_nodes(draw, cluster, model, NODES);
    tf_classes_add(&draw->s->settings.federation.policy.classes, class, 40);
    draw_put_on(draw_service(draw, "movable", TF_SECOND, 2), cluster, first);
    struct scenario_job *locked = draw_service(draw, "locked", TF_SECOND, 4);
    locked->spec.migration = TF_MIGRATION_NEVER;
    draw_put_on(locked, cluster, first + 1);
    struct scenario_job *victim = draw_service(draw, "victim", TF_SECOND, WHOLE);
    tf_str_set(&victim->spec.priority, "low"); /* no other could be evicted, and it has no checkpoint */
    victim->spec.workload = TF_WORKLOAD_TRAINING;
    draw_put_on(victim, cluster, first + 2);
    draw_whole(draw, 1);
    if (draw_one_in(draw, 2))
        draw_whole(draw, 2);
    draw->s->until = draw->s->until > draw->ends ? draw->s->until : draw->ends;
}
