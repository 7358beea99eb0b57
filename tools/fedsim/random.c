/* SPDX-License-Identifier: Apache-2.0 */
/* Draws fleets, settings and jobs. */
#include "tools/fedsim/random.h"

#include "common/base/alloc.h"

#include <assert.h>

static int64_t between(struct sim_world *world, int64_t low, int64_t high)
{
    return tf_rng_range(&world->rng, low, high);
}

static bool one_in(struct sim_world *world, uint64_t n)
{
    return tf_rng_below(&world->rng, n) == 0;
}

/* ---- settings ---- */

static void random_settings(struct sim_world *world)
{
    struct tf_settings *s = &world->settings;
    tf_classes_release(&s->policy.classes);
    tf_classes_add(&s->policy.classes, "low", 10);
    tf_classes_add(&s->policy.classes, "mid", 20);
    tf_classes_add(&s->policy.classes, "high", 30);
    tf_strs_add(&s->policy.schedule_labels, "disk");
    s->policy.start_timeout = 20 * TF_SECOND;
    s->policy.kill_bound = 10 * TF_SECOND;
    s->cluster_lost_after = between(world, 5, 30) * TF_SECOND;
    s->refusal_backoff = TF_SECOND;
    s->refusal_backoff_max = between(world, 2, 20) * TF_SECOND;
    s->lease_ttl = between(world, 3, 6) * TF_SECOND;
    s->decision_budget = one_in(world, 3) ? 10 : 1000000;
    s->history_max = one_in(world, 8) ? between(world, 1, 4) : 1000;
    world->profile_interval = between(world, 0, 2) * 500 + 100;
    world->engine_delay_max = one_in(world, 6) ? 2500 : between(world, 0, 3) * 40;
    world->delay_max = between(world, 1, 4) * 25;
    audit_start_timeout(world->audit, s->policy.start_timeout);
}

/* ---- fleets ---- */

static struct tf_node random_node(struct sim_world *world, const char *site, size_t number)
{
    static const int32_t sizes[] = {0, 2, 4, 8, 8, 8};
    static const char *const models[] = {"H800", "H800", "A100"};
    struct tf_node node = {.state = TF_NODE_READY};
    node.name = tf_asprintf("%s-n%zu", site, number);
    node.capacity.gpus = sizes[tf_rng_below(&world->rng, sizeof sizes / sizeof sizes[0])];
    if (node.capacity.gpus) {
        node.model = tf_strdup(models[tf_rng_below(&world->rng, 3)]);
        node.gpu_memory = 80 * 1024;
    }
    node.capacity.slots = (int32_t)between(world, 3, 12);
    node.capacity.cpu = between(world, 16, 64) * 1000;
    node.capacity.memory = between(world, 64, 256) * 1024;
    if (one_in(world, 2))
        tf_pairs_set(&node.labels, "disk", "nvme");
    char *rack = tf_asprintf("rack-%d", (int)between(world, 1, 2));
    tf_strs_add(&node.domains, one_in(world, 6) ? "" : rack);
    free(rack);
    if (node.capacity.gpus && one_in(world, 6))
        node.foreign.gpus = 1;
    return node;
}

/* Less than 1 % apart (DESIGN.md §9, I2). */
static void random_clock(struct sim_world *world, struct sim_process *process)
{
    process->skew_ms = between(world, -3, 3) * TF_SECOND;
    process->drift_ppm = one_in(world, 2) ? between(world, -4900, 4900) : 0;
}

static void random_site(struct sim_world *world, size_t number)
{
    static const char *const names[] = {"bj-a", "gz-b", "sh-c"};
    static const char *const regions[] = {"north", "south", "north"};
    struct sim_site *site = world_add_site(world, names[number], regions[number], one_in(world, 3) ? 1 : 2);
    struct tf_plane plane = {.name = tf_strdup("net")};
    tf_strs_add(&plane.levels, "rack");
    tf_vec_push(&site->planes, plane);
    size_t nodes = (size_t)between(world, 1, 5);
    for (size_t i = 0; i < nodes; i++) {
        struct tf_node node = random_node(world, site->name, i + 1);
        world_add_node(site, &node);
    }
    tf_vec_each (subd, &site->subds)
        random_clock(world, &(*subd)->process);
}

void random_world(struct sim_world *world)
{
    random_settings(world);
    size_t fedds = one_in(world, 4) ? 1 : 2, sites = (size_t)between(world, 1, 3);
    for (size_t i = 0; i < fedds; i++)
        random_clock(world, &world_add_fedd(world)->process);
    for (size_t i = 0; i < sites; i++)
        random_site(world, i);
}

/* ---- jobs ---- */

static void random_sizes(struct sim_world *world, struct tf_elastic *e)
{
    e->step = (int32_t)between(world, 1, 2);
    e->min = e->step * (int32_t)between(world, 1, 3);
    e->max = one_in(world, 2) ? e->min : e->min + e->step * (int32_t)between(world, 1, 3);
    if (one_in(world, 3))
        e->step = e->max = e->min;
}

static void random_shape(struct sim_world *world, struct tf_shape *shape)
{
    static const int32_t gpus[] = {0, 1, 1, 2, 4, 8};
    shape->gpus = gpus[tf_rng_below(&world->rng, sizeof gpus / sizeof gpus[0])];
    shape->cpu = between(world, 1, 8) * 1000;
    shape->memory = between(world, 1, 16) * 1024;
    if (!shape->gpus || !one_in(world, 3))
        return;
    tf_strs_add(&shape->gpu_models, one_in(world, 2) ? "H800" : one_in(world, 4) ? "B300" : "A100");
    if (one_in(world, 3) && !tf_strs_has(&shape->gpu_models, "H800"))
        tf_strs_add(&shape->gpu_models, "H800");
}

static void random_limits(struct sim_world *world, struct tf_job_spec *spec)
{
    if (one_in(world, 6)) {
        struct tf_topology_rule rule = {.within = tf_strdup("rack"),
                                        .of = TF_TOPOLOGY_OF_JOB,
                                        .mode = one_in(world, 2) ? TF_TOPOLOGY_PREFER : TF_TOPOLOGY_REQUIRE};
        tf_vec_push(&spec->topology, rule);
    }
    if (one_in(world, 6))
        tf_pairs_set(&spec->node_labels, "disk", "nvme");
    if (one_in(world, 8))
        spec->max_nodes = (int32_t)between(world, 1, 2);
    if (one_in(world, 6))
        tf_strs_add(&spec->clusters, one_in(world, 2) ? "bj-a" : "gz-b");
    if (one_in(world, 8))
        tf_strs_add(&spec->regions, one_in(world, 2) ? "north" : "south");
}

static void random_spec(struct sim_world *world, struct tf_job_spec *spec)
{
    static const char *const classes[] = {"low", "mid", "high"};
    spec->priority = tf_strdup(classes[tf_rng_below(&world->rng, 3)]);
    spec->workload = (enum tf_workload)between(world, TF_WORKLOAD_INFERENCE, TF_WORKLOAD_OFFLINE);
    random_sizes(world, &spec->elastic);
    random_shape(world, &spec->group.shape);
    random_limits(world, spec);
    tf_strs_add(&spec->group.command, "work");
    spec->group.grace = between(world, 0, 4) * TF_SECOND;
    spec->group.stop_delay = one_in(world, 3) ? between(world, 1, 3) * TF_SECOND : 0;
    spec->retry_limit = (int32_t)between(world, 0, 3);
    spec->retry_backoff = between(world, 1, 3) * TF_SECOND;
    spec->completion = one_in(world, 4) ? TF_COMPLETION_RANK0 : TF_COMPLETION_ALL;
    spec->keep_finished = between(world, 1, 6) * 10 * TF_SECOND;
    if (one_in(world, 4))
        spec->max_runtime = between(world, 10, 60) * TF_SECOND;
    if (one_in(world, 5)) {
        tf_strs_add(&spec->group.ready.command, "probe");
        spec->group.ready.period = TF_SECOND;
        spec->group.ready.timeout = 15 * TF_SECOND;
    }
}

static struct sim_nature random_nature(struct sim_world *world)
{
    struct sim_nature n = {.seed = tf_rng_next(&world->rng), .stop_max = SIM_STOP_MS};
    n.start_max = one_in(world, 3) ? 4 * TF_SECOND : 500;
    if (!one_in(world, 4)) {
        n.run_max = between(world, 1, 30) * TF_SECOND;
        n.run_min = one_in(world, 2) ? n.run_max : n.run_max / 4;
    }
    if (one_in(world, 3)) {
        n.fail = (uint32_t)between(world, 1, 400);
        n.fail_early = one_in(world, 2) ? 200 : 0;
    }
    n.never_ready = one_in(world, 8) ? 300 : 0;
    n.deaf = one_in(world, 4) ? 500 : 0;
    n.engine_refuses = one_in(world, 10) ? 200 : 0;
    return n;
}

static struct tf_uid random_uid(struct sim_world *world)
{
    struct tf_uid uid;
    for (size_t i = 0; i < TF_UID_BYTES; i += 8) {
        uint64_t word = tf_rng_next(&world->rng);
        memcpy(uid.bytes + i, &word, 8);
    }
    return uid;
}

static struct sim_job random_job(struct sim_world *world, size_t number)
{
    struct sim_job job = {.uid = random_uid(world), .nature = random_nature(world)};
    tf_job_manifest_init(&job.manifest);
    job.manifest.tenant = tf_strdup(one_in(world, 2) ? "search" : "ads");
    job.manifest.name = tf_asprintf("job-%zu", number);
    random_spec(world, &job.manifest.spec);
    tf_job_spec_fill(&job.manifest.spec);
    job.delete_after = one_in(world, 3) ? between(world, 1, 60) * TF_SECOND : 0;
    job.holds = one_in(world, 8);
    job.scales = one_in(world, 8);
    if (one_in(world, 6))
        job.again = random_uid(world);
    struct tf_complaints complaints = {0};
    if (!tf_job_manifest_check(&job.manifest, &complaints))
        world_breach(world, "a random job is not valid: %s: %s", complaints.items[0].path,
                     complaints.items[0].text);
    tf_complaints_release(&complaints);
    return job;
}

void random_jobs(struct sim_world *world)
{
    size_t count = (size_t)between(world, 1, one_in(world, 20) ? 60 : one_in(world, 4) ? 25 : 10);
    int64_t spread = between(world, 1, one_in(world, 4) ? 200 : 60) * TF_SECOND;
    for (size_t i = 0; i < count; i++) {
        struct sim_job job = random_job(world, i + 1);
        clients_add(&world->clients, job, (struct tf_mono){between(world, TF_SECOND, spread)});
    }
}
