/* SPDX-License-Identifier: Apache-2.0 */
/* Draws jobs, what becomes of their instances, and what their users ask later. */
#include "tools/fedsim/chaos/private.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"

static void draw_sizes(struct draw *draw, struct tf_elastic *e)
{
    e->step = (int32_t)draw_between(draw, 1, 2);
    e->min = e->step * (int32_t)draw_between(draw, 1, 3);
    e->max = draw_one_in(draw, 2) ? e->min : e->min + e->step * (int32_t)draw_between(draw, 1, 3);
    if (draw_one_in(draw, 3))
        e->step = e->max = e->min;
}

static void draw_shape(struct draw *draw, struct tf_shape *shape)
{
    static const int32_t gpus[] = {0, 1, 1, 2, 4, 8};
    shape->gpus = gpus[draw_below(draw, sizeof gpus / sizeof gpus[0])];
    shape->cpu = draw_between(draw, 1, 8) * 1000;
    shape->memory = draw_between(draw, 1, 16) * 1024;
    if (!shape->gpus || !draw_one_in(draw, 3))
        return;
    tf_strs_add(&shape->gpu_models, draw_one_in(draw, 2) ? "H800" : draw_one_in(draw, 4) ? "B300" : "A100");
    if (draw_one_in(draw, 3) && !tf_strs_has(&shape->gpu_models, "H800"))
        tf_strs_add(&shape->gpu_models, "H800");
}

static const char *some_cluster(struct draw *draw)
{
    size_t at = draw_below(draw, 2);
    return draw->s->clusters.items[at < draw->s->clusters.count ? at : 0].name;
}

static void draw_limits(struct draw *draw, struct tf_job_spec *spec)
{
    if (draw_one_in(draw, 6)) {
        struct tf_topology_rule rule = {.within = tf_strdup("rack"),
                                        .of = TF_TOPOLOGY_OF_JOB,
                                        .mode =
                                            draw_one_in(draw, 2) ? TF_TOPOLOGY_PREFER : TF_TOPOLOGY_REQUIRE};
        tf_vec_push(&spec->topology, rule);
    }
    if (draw_one_in(draw, 6))
        tf_pairs_set(&spec->node_labels, "disk", "nvme");
    if (draw_one_in(draw, 8))
        spec->max_nodes = (int32_t)draw_between(draw, 1, 2);
    if (draw_one_in(draw, 6))
        tf_strs_add(&spec->clusters, some_cluster(draw));
    if (draw_one_in(draw, 8))
        tf_strs_add(&spec->regions, draw_one_in(draw, 2) ? "north" : "south");
}

static void draw_spec(struct draw *draw, struct tf_job_spec *spec)
{
    static const char *const classes[] = {"low", "mid", "high"};
    spec->priority = tf_strdup(classes[draw_below(draw, 3)]);
    spec->workload = (enum tf_workload)draw_between(draw, TF_WORKLOAD_INFERENCE, TF_WORKLOAD_OFFLINE);
    draw_sizes(draw, &spec->elastic);
    draw_shape(draw, &spec->group.shape);
    draw_limits(draw, spec);
    tf_strs_add(&spec->group.command, "work");
    spec->group.grace = draw_between(draw, 0, 4) * TF_SECOND;
    spec->group.stop_delay = draw_one_in(draw, 3) ? draw_between(draw, 1, 3) * TF_SECOND : 0;
    spec->retry_limit = (int32_t)draw_between(draw, 0, 3);
    spec->retry_backoff = draw_between(draw, 1, 3) * TF_SECOND;
    spec->completion = draw_one_in(draw, 4) ? TF_COMPLETION_RANK0 : TF_COMPLETION_ALL;
    spec->keep_finished = draw_between(draw, 1, 6) * 10 * TF_SECOND;
    if (draw_one_in(draw, 4))
        spec->max_runtime = draw_between(draw, 10, 60) * TF_SECOND;
    if (draw_one_in(draw, 4)) /* at most the other */
        spec->min_runtime = draw_between(draw, 5, spec->max_runtime ? 10 : 60) * TF_SECOND;
    if (draw_one_in(draw, 5)) {
        tf_strs_add(&spec->group.ready.command, "probe");
        spec->group.ready.period = TF_SECOND;
        spec->group.ready.timeout = 15 * TF_SECOND;
    }
}

/* Basis points. */
static struct scenario_chance draw_chance(struct draw *draw)
{
    struct scenario_chance c = {.seed = draw_between(draw, 1, INT32_MAX)};
    c.start_max = draw_one_in(draw, 3) ? 4 * TF_SECOND : 500;
    if (!draw_one_in(draw, 4)) {
        c.run_max = draw_between(draw, 1, 30) * TF_SECOND;
        c.run_min = draw_one_in(draw, 2) ? c.run_max : c.run_max / 4;
    }
    if (draw_one_in(draw, 3)) {
        c.fail = (int32_t)draw_between(draw, 1, 400) * 10;
        c.fail_early = draw_one_in(draw, 2) ? 2000 : 0;
    }
    c.never_ready = draw_one_in(draw, 8) ? 3000 : 0;
    c.deaf = draw_one_in(draw, 4) ? 5000 : 0;
    c.engine_refuses = draw_one_in(draw, 10) ? 2000 : 0;
    return c;
}

/* Equals that hold one another's surplus, and for long enough to even out: else it is rare. Nothing is drawn
 * for it, so that all else stays as it is. */
static void make_alike(struct scenario_job *job)
{
    struct tf_elastic *e = &job->spec.elastic;
    tf_str_set(&job->spec.priority, "mid");
    job->spec.workload = TF_WORKLOAD_OFFLINE;
    job->spec.max_runtime = job->spec.min_runtime = 0;
    if (job->spec.group.shape.gpus == 0)
        job->spec.group.shape.gpus = 1;
    e->max = e->min + 3 * e->step;
    job->chance.run_min *= 8;
    job->chance.run_max *= 8;
    job->chance.fail_early = job->chance.never_ready = 0;
}

/* ---- what its user asks later ---- */

static struct scenario_event *wish(struct draw *draw, int64_t from, int64_t within)
{
    return draw_event(draw, false, from + draw_between(draw, 1, within));
}

/* Of a job that is held some are restarted before what the hold stops is gone. False if that was the restart.
 */
static bool draw_hold(struct draw *draw, const struct scenario_job *job, bool restarts)
{
    struct scenario_event *hold = wish(draw, job->at.from, 20 * TF_SECOND);
    hold->hold = tf_asprintf("%s/%s", job->tenant, job->name);
    hold->lasts = draw_between(draw, 1, 20 * TF_SECOND);
    int64_t soon = hold->at + hold->lasts % 2000;
    if (!restarts && draw_one_in(draw, 2))
        return false;
    draw_event(draw, false, soon)->restart = tf_asprintf("%s/%s", job->tenant, job->name);
    return false;
}

static void draw_wishes(struct draw *draw, const struct scenario_job *job)
{
    int64_t at = job->at.from;
    const char *tenant = job->tenant, *name = job->name;
    wish(draw, at, 10 * TF_SECOND)->look = tf_asprintf("%s/%s", tenant, name);
    if (draw_one_in(draw, 3))
        wish(draw, at, draw_between(draw, 1, 60) * TF_SECOND)->delete_job =
            tf_asprintf("%s/%s", tenant, name);
    bool restarts = draw_one_in(draw, 6); /* once: a user's second restart is another submit */
    if (draw_one_in(draw, 8))
        restarts = draw_hold(draw, job, restarts);
    if (draw_one_in(draw, 8)) {
        struct scenario_event *scale = wish(draw, at, 20 * TF_SECOND);
        scale->scale = tf_asprintf("%s/%s", tenant, name);
        const struct tf_elastic *e = &job->spec.elastic;
        bool more = draw_one_in(draw, 2); /* what it lacks then are cores */
        scale->elastic.min = more ? tf_size_align(e, e->max) : e->min;
        scale->elastic.max = more ? scale->elastic.min : e->min;
    }
    if (restarts)
        wish(draw, at, 40 * TF_SECOND)->restart = tf_asprintf("%s/%s", tenant, name);
}

static bool has_name(const struct draw *draw, const char *tenant, const char *name)
{
    tf_vec_each (job, &draw->s->jobs)
        if (strcmp(job->tenant, tenant) == 0 && strcmp(job->name, name) == 0)
            return true;
    return false;
}

/* A name is its tenant's: others may use it, too. Nothing is drawn for it. */
static void share_name(struct draw *draw, struct scenario_job *job)
{
    tf_vec_each (other, &draw->s->jobs)
        if (strcmp(other->tenant, job->tenant) != 0 && !has_name(draw, job->tenant, other->name)) {
            tf_str_set(&job->name, other->name);
            return;
        }
}

static void draw_job(struct draw *draw, size_t number, int64_t at)
{
    struct scenario_job job = {.at = {.from = at}, .work = -1, .run = -1};
    job.tenant = tf_strdup(draw_one_in(draw, 2) ? "search" : "ads");
    job.name = tf_asprintf("job-%zu", number);
    tf_job_spec_init(&job.spec);
    draw_spec(draw, &job.spec);
    job.stop_time = draw_between(draw, 0, 500);
    job.chance = draw_chance(draw);
    if (job.chance.seed % 3 == 0) /* no draw of its own, so that all else stays as it is */
        job.checkpoint_every = (5 + job.chance.seed / 3 % 25) * TF_SECOND;
    if (job.chance.seed % 5 == 0)
        share_name(draw, &job);
    if (draw->alike)
        make_alike(&job);
    tf_job_spec_fill(&job.spec);
    tf_vec_push(&draw->s->jobs, job);
    draw_wishes(draw, &job);
}

/* Instances that move, one or all of a job, to any node; some are taken back soon. */
static void draw_move(struct draw *draw, const struct scenario_job *job)
{
    int64_t at = job->at.from + draw_between(draw, 1, 90 * TF_SECOND);
    struct scenario_event *e = draw_event(draw, false, at);
    e->migrate = tf_asprintf("%s/%s", job->tenant, job->name);
    e->instance = draw_one_in(draw, 4) ? -1 : (int64_t)draw_below(draw, (size_t)job->spec.elastic.max);
    if (draw_one_in(draw, 6))
        e->lasts = draw_between(draw, 1, 20 * TF_SECOND);
    draw->ends = at > draw->ends ? at : draw->ends;
}

void draw_moves(struct draw *draw)
{
    bool many = draw_one_in(draw, 3);
    if (draw_one_in(draw, 2))
        return;
    for (size_t i = 0; i < draw->s->jobs.count; i++)
        for (int64_t n = many ? draw_between(draw, 0, 8) : draw_one_in(draw, 2); n > 0; n--)
            draw_move(draw, &draw->s->jobs.items[i]);
    draw->s->until = draw->s->until > draw->ends ? draw->s->until : draw->ends;
}

/* Of some model of the cluster. */
static const char *draw_model(struct draw *draw, const struct scenario_cluster *cluster)
{
    const struct scenario_nodes *nodes = &cluster->nodes.items[draw_below(draw, cluster->nodes.count)];
    return nodes->model;
}

/* One node, as many as can be, or what a job needs that may or may not wait. */
static void draw_defrag_target(struct draw *draw, struct scenario_event *e, size_t number)
{
    const struct scenario_job *job = &draw->s->jobs.items[number % draw->s->jobs.count];
    size_t target = draw_below(draw, 4);
    if (target == 3 && job->name && !strchr(job->name, '{'))
        e->room_for = tf_asprintf("%s/%s", job->tenant, job->name);
    else
        tf_strs_add(&e->nodes, target > 1 ? "1" : "max");
}

void draw_defrags(struct draw *draw)
{
    int64_t count = draw_one_in(draw, 2) ? draw_between(draw, 1, 20) : 0;
    for (; count > 0; count--) {
        const struct scenario_cluster *cluster =
            &draw->s->clusters.items[draw_below(draw, draw->s->clusters.count)];
        const char *model = cluster->nodes.count ? draw_model(draw, cluster) : NULL;
        int64_t at = draw_between(draw, 5 * TF_SECOND, 120 * TF_SECOND);
        struct scenario_event *e = draw_event(draw, false, at);
        e->defrag = tf_strdup(cluster->name);
        e->model = tf_strdup(model);
        draw_defrag_target(draw, e, (size_t)count);
        draw->ends = at > draw->ends ? at : draw->ends;
    }
    draw->s->until = draw->s->until > draw->ends ? draw->s->until : draw->ends;
}

/* Whole nodes for one that may evict nobody, while others are spread thin. */
static void draw_wide(struct draw *draw, size_t number)
{
    int64_t at = draw_between(draw, 5, 60) * TF_SECOND;
    draw_job(draw, number, at);
    struct tf_job_spec *spec = &draw->s->jobs.items[draw->s->jobs.count - 1].spec;
    tf_str_set(&spec->priority, "low");
    spec->group.shape.gpus = draw_one_in(draw, 3) ? 4 : 8;
    spec->elastic = (struct tf_elastic){.min = 1, .max = 1, .step = 1};
    draw->ends = at > draw->ends ? at : draw->ends;
}

/* Moves that nobody asked for, with some that wait for them; soon again, and now and then too few. */
void draw_automatic(struct draw *draw)
{
    struct tf_policy *policy = &draw->s->settings.federation.policy;
    policy->consolidate = draw_one_in(draw, 3)   ? TF_CONSOLIDATE_OFF
                          : draw_one_in(draw, 3) ? TF_CONSOLIDATE_OBSERVE
                                                 : TF_CONSOLIDATE_ON;
    policy->consolidate_cooldown = draw_between(draw, 1, 8) * TF_SECOND;
    policy->consolidate_moves = (int32_t)draw_between(draw, 1, 16);
    int64_t count = policy->consolidate == TF_CONSOLIDATE_OFF ? 0 : draw_between(draw, 0, 4);
    for (; count > 0; count--)
        draw_wide(draw, draw->s->jobs.count + 1);
    draw->s->until = draw->s->until > draw->ends ? draw->s->until : draw->ends;
}

void draw_jobs(struct draw *draw)
{
    int64_t few = draw_one_in(draw, 20) ? 60 : draw_one_in(draw, 4) ? 25 : 10;
    int64_t count = draw_between(draw, 1, draw->size == CHAOS_SMALL ? few : 10 * few);
    int64_t spread = draw_between(draw, 1, draw_one_in(draw, 4) ? 200 : 60) * TF_SECOND;
    for (int64_t i = 0; i < count; i++) {
        int64_t at = draw_between(draw, TF_SECOND, spread);
        draw_job(draw, (size_t)i + 1, at);
        draw->ends = at > draw->ends ? at : draw->ends;
    }
}

/* ---- reservations ---- */

/* For that job or all of its tenant: as much as its core needs, or about that. */
static void draw_reservation(struct draw *draw, size_t number, size_t of)
{
    const struct scenario_job *owner = &draw->s->jobs.items[of];
    int64_t early = draw_between(draw, -2, 12) * TF_SECOND, at = owner->at.from - early;
    struct scenario_job job = {.at = {.from = at > 0 ? at : 0}, .work = -1, .run = -1};
    job.tenant = tf_strdup(draw_one_in(draw, 6) ? "ops" : owner->tenant);
    job.name = tf_asprintf("room-%zu", number);
    tf_job_spec_init(&job.spec);
    job.spec.priority = tf_strdup(draw_one_in(draw, 2) ? owner->spec.priority : "mid");
    const struct tf_shape *shape = &owner->spec.group.shape;
    job.spec.group.shape.gpus = shape->gpus > 0 ? shape->gpus : 1;
    job.spec.group.shape.cpu = shape->cpu;
    job.spec.group.shape.memory = shape->memory;
    job.spec.elastic.min = draw_one_in(draw, 3) ? (int32_t)draw_between(draw, 1, 4) : owner->spec.elastic.min;
    job.spec.reserve.expires = draw_between(draw, 5, 90) * TF_SECOND;
    job.spec.reserve.owner.tenant = tf_strdup(owner->tenant);
    job.spec.keep_finished = draw_between(draw, 1, 6) * 10 * TF_SECOND;
    if (draw_one_in(draw, 2))
        job.spec.reserve.owner.job = tf_strdup(owner->name);
    if (draw_one_in(draw, 6))
        tf_strs_add(&job.spec.clusters, some_cluster(draw));
    tf_job_spec_fill(&job.spec);
    tf_vec_push(&draw->s->jobs, job);
    if (draw_one_in(draw, 4))
        wish(draw, job.at.from, 30 * TF_SECOND)->delete_job = tf_asprintf("%s/%s", job.tenant, job.name);
}

void draw_reservations(struct draw *draw)
{
    size_t jobs = draw->s->jobs.count;
    int64_t count = draw_one_in(draw, 3) ? draw_between(draw, 1, jobs < 10 ? 4 : 8) : 0;
    for (int64_t i = 0; i < count; i++)
        draw_reservation(draw, (size_t)i + 1, draw_below(draw, jobs));
}
