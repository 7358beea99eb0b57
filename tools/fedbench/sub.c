/* SPDX-License-Identifier: Apache-2.0 */
/* What the decisions of one subcluster cost: placing, reclaiming for a gang, giving out what got free, a
 * profile after one change, the loss of a node. The core alone, nodes and jobs simulated. */
#include "tools/fedbench/bench.h"

#include "common/base/cleanup.h"
#include "common/base/rng.h"
#include "tools/fedbench/cores.h"
#include "tools/fedbench/nodes.h"

#include <stdio.h>

enum { NODE_GPUS = 8, GANG = 64, ROUNDS = 20, ELASTIC = 32, PERIOD_MS = 500 };

struct fleet {
    struct core_sub sub;
    struct tf_node *nodes;
    size_t count;
    struct tf_rng rng;
};

static void fleet_open(struct fleet *f, size_t count)
{
    struct tf_classes classes = {0};
    *f = (struct fleet){.count = count, .nodes = tf_calloc(count, sizeof *f->nodes)};
    tf_rng_init(&f->rng, 1);
    tf_classes_add(&classes, "low", 100);
    tf_classes_add(&classes, "mid", 200);
    tf_classes_add(&classes, "high", 300);
    for (size_t i = 0; i < count; i++) {
        f->nodes[i].name = tf_asprintf("n%zu", i);
        f->nodes[i].model = tf_strdup("H800");
        f->nodes[i].gpu_memory = 80 * 1024;
        f->nodes[i].capacity = (struct tf_vector){NODE_GPUS, 32, 128 * 1000, 1024 * 1024};
    }
    core_sub_open(&f->sub, f->nodes, count, &classes);
    tf_classes_release(&classes);
}

static void fleet_close(struct fleet *f)
{
    core_sub_close(&f->sub);
    for (size_t i = 0; i < f->count; i++)
        tf_node_release(&f->nodes[i]);
    free(f->nodes);
}

static struct tf_job_spec job(const char *class, int32_t instances, int32_t gpus)
{
    struct tf_job_spec spec;
    core_job_spec(&spec, class);
    spec.elastic = (struct tf_elastic){instances, instances, 1};
    spec.group.shape.gpus = gpus;
    spec.group.shape.cpu = 1000 * gpus;
    spec.group.shape.memory = 1024 * gpus;
    return spec;
}

/* Jobs of the two lower classes, of 1 to 8 instances of 1, 2 or 4 GPUs, until so much of it is held; each
 * began at a time of its own. */
static void fill(struct fleet *f, int percent)
{
    int64_t held = 0, gpus = (int64_t)f->count * NODE_GPUS;
    size_t refused = f->sub.refused;
    while (held * 100 < gpus * percent && f->sub.refused < refused + 100) {
        int32_t size = (int32_t)tf_rng_range(&f->rng, 1, 8), each = 1 << tf_rng_below(&f->rng, 3);
        struct tf_job_spec spec = job(tf_rng_below(&f->rng, 3) ? "low" : "mid", size, each);
        size_t before = f->sub.refused;
        core_sub_place(&f->sub, &spec, size);
        held += f->sub.refused == before ? size * each : 0;
        f->sub.now.mono.ms += 100;
        f->sub.now.wall.ms += 100;
    }
    core_sub_pass(&f->sub, PERIOD_MS);
}

static void clear(struct fleet *f)
{
    f->sub.cpu_us = f->sub.longest_us = 0;
}

static void add(struct figures *out, size_t nodes, const char *what, double ms, const char *target)
{
    TF_AUTO_FREE char *name = tf_asprintf("sub.%zu.%s", nodes, what);
    figures_add(out, name, ms, "ms", target, "");
}

/* Half full: one job of eight instances comes and goes. */
static void measure_place(struct figures *out, struct fleet *f)
{
    double place = 0, profile = 0;
    for (int i = 0; i < ROUNDS; i++) {
        struct tf_job_spec spec = job("mid", 8, 2);
        clear(f);
        uint64_t epoch = core_sub_place(&f->sub, &spec, 8);
        place += f->sub.longest_us;
        clear(f);
        core_sub_pass(&f->sub, PERIOD_MS);
        profile += f->sub.longest_us;
        core_sub_release(&f->sub, epoch);
        core_sub_pass(&f->sub, PERIOD_MS);
    }
    add(out, f->count, "place_8x2", place / ROUNDS / 1000, "< 5 ms");
    add(out, f->count, "profile_after_change", profile / ROUNDS / 1000, "< 1 ms");
}

/* Full, and jobs that would have all of it: a job of eight instances goes, and what it leaves is given out.
 */
static void measure_absorb(struct figures *out, struct fleet *f)
{
    double tick = 0;
    uint64_t elastic[ELASTIC];
    f->sub.level = (tf_level)(tf_level_core(2) - 1);
    for (int i = 0; i < ELASTIC; i++) {
        struct tf_job_spec spec = job("high", 2, 1);
        spec.elastic = (struct tf_elastic){2, 2 + 2 * (int32_t)(f->count / 8), 2};
        spec.grow = TF_GROW_CONTINUOUS;
        elastic[i] = core_sub_place(&f->sub, &spec, 2);
    }
    core_sub_pass(&f->sub, TF_MINUTE);
    for (int i = 0; i < ROUNDS; i++) {
        struct tf_job_spec spec = job("mid", 8, 2);
        f->sub.level = (tf_level)(tf_level_core(1) - 1);
        uint64_t epoch = core_sub_place(&f->sub, &spec, 8);
        core_sub_pass(&f->sub, PERIOD_MS);
        core_sub_release(&f->sub, epoch);
        clear(f);
        core_sub_pass(&f->sub, 8 * PERIOD_MS); /* offerTime is over */
        tick += f->sub.longest_us;
    }
    add(out, f->count, "absorb", tick / ROUNDS / 1000, "< 5 ms");
    f->sub.level = TF_LEVEL_FREE;
    for (int i = 0; i < ELASTIC; i++)
        core_sub_release(&f->sub, elastic[i]);
    core_sub_pass(&f->sub, TF_MINUTE); /* maxEvictionsPerMinute */
}

/* Full: a gang of whole nodes takes from whom it may. */
static bool measure_reclaim(struct figures *out, struct fleet *f)
{
    double reclaim = 0, most = 0;
    int32_t gang = f->count / 4 < GANG ? (int32_t)f->count / 4 : GANG;
    f->sub.level = (tf_level)(tf_level_core(2) - 1);
    for (int i = 0; i < ROUNDS; i++) {
        struct tf_job_spec spec = job("high", gang, NODE_GPUS);
        size_t refused = f->sub.refused;
        clear(f);
        uint64_t epoch = core_sub_place(&f->sub, &spec, gang);
        if (f->sub.refused != refused) {
            fprintf(stderr, "fedbench sub: a gang of %d was refused on %zu nodes\n", gang, f->count);
            return false;
        }
        reclaim += f->sub.longest_us;
        most = f->sub.longest_us > most ? f->sub.longest_us : most;
        core_sub_release(&f->sub, epoch);
        core_sub_pass(&f->sub, TF_MINUTE); /* maxEvictionsPerMinute */
        f->sub.level = TF_LEVEL_FREE;
        fill(f, 100);
        f->sub.level = (tf_level)(tf_level_core(2) - 1);
    }
    TF_AUTO_FREE char *name = tf_asprintf("reclaim_%dx%d", gang, NODE_GPUS);
    TF_AUTO_FREE char *longest = tf_asprintf("reclaim_%dx%d_longest", gang, NODE_GPUS);
    add(out, f->count, name, reclaim / ROUNDS / 1000, "< 20 ms");
    add(out, f->count, longest, most / 1000, "");
    f->sub.level = TF_LEVEL_FREE;
    return true;
}

static void measure_loss(struct figures *out, struct fleet *f)
{
    double loss = 0;
    for (int i = 0; i < ROUNDS; i++) {
        clear(f);
        core_sub_node(&f->sub, &f->nodes[tf_rng_below(&f->rng, f->count)], TF_NODE_LOST);
        loss += f->sub.longest_us;
    }
    add(out, f->count, "node_lost", loss / ROUNDS / 1000, "");
}

static bool run(struct figures *out, size_t nodes)
{
    struct fleet fleet;
    fleet_open(&fleet, nodes);
    fill(&fleet, 50);
    figures_group(out, "%zu nodes of %d GPUs: half full, then full", nodes, NODE_GPUS);
    measure_place(out, &fleet);
    fill(&fleet, 100);
    measure_absorb(out, &fleet);
    fill(&fleet, 100);
    bool ok = measure_reclaim(out, &fleet);
    measure_loss(out, &fleet);
    fleet_close(&fleet);
    return ok;
}

int bench_sub(int argc, char **argv)
{
    static const size_t sizes[] = {100, 1000, 12500};
    char setting[256];
    snprintf(
        setting, sizeof setting,
        "the core of one subcluster; nodes and jobs simulated; CPU of the longest step of each, mean of %d",
        ROUNDS);
    return nodes_bench(
        &(struct nodes_bench){
            .name = "sub",
            .does = "Drives the core of one subcluster alone, with N nodes (default: 100, 1,000 and 12,500).",
            .setting = setting,
            .sizes = sizes,
            .count = TF_ARRAY_LEN(sizes),
            .least = 8,
            .run = run},
        argc, argv);
}
