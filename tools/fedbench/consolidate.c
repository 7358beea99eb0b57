/* SPDX-License-Identifier: Apache-2.0 */
/* Plans that free whole nodes: how much of the optimum, with how many moves, in what time. The planner alone;
 * nodes and instances are simulated. */
#include "tools/fedbench/bench.h"

#include "common/base/cleanup.h"
#include "common/base/rng.h"
#include "common/base/text.h"
#include "subcluster/core/consolidate/consolidate.h"
#include "tools/fedbench/cores.h"
#include "tools/fedbench/figures.h"

#include <getopt.h>
#include <inttypes.h>

enum { GPUS = 8, SLOTS = 256, LOCKED_PERCENT = 40, FILL_PERCENT = 97, FILL_TRIES = 4000, SIZES_MAX = 8 };

struct shape {
    struct tf_vector need;
    int32_t weight;
};

/* GPUs alone, as a fleet of inference and training has them. */
static const struct shape gpu_shapes[] = {
    {{1, 1, 0, 0}, 40}, {{2, 1, 0, 0}, 25}, {{4, 1, 0, 0}, 20}, {{8, 1, 0, 0}, 15}};

/* The 30 most frequent requests of the openb trace (hkust-adsl/kubernetes-scheduler-simulator, 8,152 pods), a
 * part of a GPU counted as a whole one, and its few of several GPUs; CPU in millicores, memory in MiB. Its
 * nodes of 8 GPUs have 96 CPUs and 384 GiB. */
static const struct shape openb_shapes[] = {
    {{1, 1, 3152, 5600}, 1592},  {{1, 1, 11300, 49152}, 857}, {{1, 1, 11400, 48128}, 534},
    {{1, 1, 11908, 47104}, 778}, {{0, 1, 12500, 57344}, 364}, {{1, 1, 8000, 30517}, 432},
    {{0, 1, 32000, 49152}, 284}, {{1, 1, 18708, 64512}, 255}, {{1, 1, 9810, 41560}, 195},
    {{0, 1, 8000, 30517}, 163},  {{1, 1, 12000, 24576}, 158}, {{1, 1, 15700, 58368}, 158},
    {{0, 1, 15400, 51200}, 120}, {{1, 1, 4000, 22888}, 137},  {{1, 1, 16000, 32768}, 108},
    {{1, 1, 8000, 16384}, 104},  {{1, 1, 4000, 24576}, 104},  {{1, 1, 12000, 16384}, 99},
    {{0, 1, 16500, 51200}, 95},  {{1, 1, 14200, 58368}, 93},  {{1, 1, 4000, 30517}, 167},
    {{1, 1, 24200, 93184}, 84},  {{1, 1, 4000, 15257}, 131},  {{1, 1, 4152, 10600}, 131},
    {{1, 1, 11400, 77824}, 65},  {{1, 1, 8000, 32768}, 55},   {{1, 1, 6000, 6144}, 51},
    {{1, 1, 11900, 77824}, 51},  {{2, 1, 24000, 98304}, 16},  {{4, 1, 48000, 196608}, 15},
    {{8, 1, 88000, 360448}, 44}};

struct mix {
    const char *name;
    const struct shape *shapes;
    size_t count;
    struct tf_vector node;
};

static const struct mix mixes[] = {
    {"gpu", gpu_shapes, TF_ARRAY_LEN(gpu_shapes), {GPUS, SLOTS, 0, 0}},
    {"openb", openb_shapes, TF_ARRAY_LEN(openb_shapes), {GPUS, SLOTS, 96000, 393216}},
};

/* ---- pools ---- */

struct fleet {
    TF_VEC(struct consolidate_node) nodes;
    TF_VEC(struct consolidate_instance) instances;
    int64_t used;
};

static void fleet_release(struct fleet *fleet)
{
    tf_vec_release(&fleet->nodes);
    tf_vec_release(&fleet->instances);
}

static const struct shape *draw_shape(const struct mix *mix, struct tf_rng *rng)
{
    int64_t sum = 0;
    for (size_t i = 0; i < mix->count; i++)
        sum += mix->shapes[i].weight;
    int64_t at = (int64_t)tf_rng_below(rng, (uint64_t)sum);
    for (size_t i = 0;; i++)
        if ((at -= mix->shapes[i].weight) < 0)
            return &mix->shapes[i];
}

static void put(struct fleet *fleet, uint32_t node, struct tf_vector need, bool locked)
{
    fleet->nodes.items[node].free = tf_vector_sub(fleet->nodes.items[node].free, need);
    fleet->used += need.gpus;
    tf_vec_push(&fleet->instances, (struct consolidate_instance){
                                       .node = node,
                                       .need = need,
                                       .set = CONSOLIDATE_ANY,
                                       .lock = locked ? CONSOLIDATE_NEVER : CONSOLIDATE_MOVABLE,
                                       .cost = need.gpus > 0 ? need.gpus : 1,
                                   });
}

static void take(struct fleet *fleet, size_t instance)
{
    struct consolidate_instance *gone = &fleet->instances.items[instance];
    struct consolidate_node *node = &fleet->nodes.items[gone->node];
    node->free = tf_vector_add(node->free, gone->need);
    fleet->used -= gone->need.gpus;
    *gone = fleet->instances.items[--fleet->instances.count];
}

/* Filled at random until hardly anything fits, then thinned out at random, as work that comes and goes leaves
 * it. */
static void fleet_make(struct fleet *fleet, const struct mix *mix, int64_t nodes, int percent, uint64_t seed)
{
    struct tf_rng rng;
    int64_t gpus = nodes * mix->node.gpus;
    *fleet = (struct fleet){0};
    tf_rng_init(&rng, seed);
    for (int64_t n = 0; n < nodes; n++)
        tf_vec_push(&fleet->nodes, (struct consolidate_node){.capacity = mix->node,
                                                             .free = mix->node,
                                                             .domain = CONSOLIDATE_ANY,
                                                             .site = true,
                                                             .takes = true});
    for (int tries = 0; tries < FILL_TRIES && fleet->used * 100 < gpus * FILL_PERCENT; tries++) {
        struct tf_vector need = draw_shape(mix, &rng)->need;
        uint32_t node = (uint32_t)tf_rng_below(&rng, (uint64_t)nodes);
        if (!tf_vector_fits(need, fleet->nodes.items[node].free))
            continue;
        put(fleet, node, need, tf_rng_below(&rng, 100) < LOCKED_PERCENT);
        tries = 0;
    }
    while (fleet->used * 100 > gpus * percent)
        take(fleet, tf_rng_below(&rng, fleet->instances.count));
}

/* ---- figures ---- */

struct setting {
    struct figures *figures;
    const struct mix *mix;
    int64_t nodes;
    int percent;
};

static void add(const struct setting *s, int gain, const char *what, double value, const char *unit,
                const char *target, const char *beside)
{
    TF_AUTO_FREE char *name =
        tf_asprintf("consolidate.%s.%" PRId64 ".%d.%d.%s", s->mix->name, s->nodes, s->percent, gain, what);
    figures_add(s->figures, name, value, unit, target, beside);
}

static double ratio(int64_t a, int64_t b)
{
    return b ? (double)a / (double)b : 1;
}

/* gain: so many percent of what can be freed at all are asked for. */
static bool measure(const struct setting *s, const struct fleet *fleet, int32_t best, int gain)
{
    struct consolidate_ask ask = {.nodes = fleet->nodes.items,
                                  .instances = fleet->instances.items,
                                  .node_count = fleet->nodes.count,
                                  .instance_count = fleet->instances.count,
                                  .job_count = 1,
                                  .class_count = 1,
                                  .unit_set = CONSOLIDATE_ANY,
                                  .want = (int32_t)(((int64_t)best * gain + 99) / 100)};
    struct consolidate_plan plan = {0};
    bool gpus_only = s->mix->node.cpu == 0;
    double began = core_cpu_us();
    consolidate_plan_make(&ask, &plan);
    double took = (core_cpu_us() - began) / 1e6;
    const struct consolidate_figures *f = &plan.figures;
    const char *fault = consolidate_plan_fault(&ask, &plan);
    if (fault)
        fprintf(stderr, "fedbench consolidate: %s\n", fault);
    add(s, gain, "of_gain", 100 * ratio(f->freed, best), "%", "", "freed of the most that any plan can free");
    if (gain == 100)
        add(s, gain, "of_best", 100 * ratio(f->before + f->freed, f->before + best), "%",
            gpus_only ? ">= 99" : "", "free afterwards of W*");
    add(s, gain, "gpus_of_bound", ratio(f->gpus, f->gpus_bound), "x",
        !gpus_only   ? ""
        : gain == 95 ? "<= 1.05"
        : gain >= 99 ? "<= 1.5"
                     : "",
        "GPUs moved");
    add(s, gain, "moves_of_bound", ratio(f->moves, f->moves_bound), "x", "", "");
    add(s, gain, "moves_a_node", ratio(f->moves, f->freed), "", "", "published by nobody");
    add(s, gain, "double_booked", 100 * ratio(f->double_booked, s->nodes * GPUS), "%", "",
        "of all GPUs, at most, wave by wave");
    add(s, gain, "pivots", f->pivots, "", "", "moves more for cycles");
    add(s, gain, "seconds", took, "s", s->nodes == 20000 ? "< 1" : "",
        s->nodes == 500 && gain == 100 ? "IPC (OSDI'26): < 2 min; KAI: 7 min 36 s" : "");
    consolidate_plan_release(&plan);
    return !fault;
}

static bool run_fleet(struct setting *s, uint64_t seed)
{
    static const int gains[] = {95, 97, 99, 100};
    struct fleet fleet;
    struct consolidate_ask ask;
    struct consolidate_plan plan = {0};
    fleet_make(&fleet, s->mix, s->nodes, s->percent, seed);
    ask = (struct consolidate_ask){.nodes = fleet.nodes.items,
                                   .instances = fleet.instances.items,
                                   .node_count = fleet.nodes.count,
                                   .instance_count = fleet.instances.count,
                                   .job_count = 1,
                                   .class_count = 1,
                                   .unit_set = CONSOLIDATE_ANY};
    consolidate_plan_make(&ask, &plan); /* nothing wanted: what could be */
    int32_t best = plan.figures.best;
    figures_group(s->figures, "%s, %" PRId64 " nodes, %.0f %% held: %d free, %d more can be", s->mix->name,
                  s->nodes, 100 * ratio(fleet.used, s->nodes * GPUS), plan.figures.before, best);
    bool ok = true;
    for (size_t i = 0; i < TF_ARRAY_LEN(gains); i++)
        ok &= measure(s, &fleet, best, gains[i]);
    consolidate_plan_release(&plan);
    fleet_release(&fleet);
    return ok;
}

/* ---- the command ---- */

static int usage(FILE *to, int code)
{
    fprintf(to,
            "usage: fedbench consolidate [--nodes N] [--seed N] [--json]\n"
            "Plans that free whole nodes, of fleets of 500 to 50,000 nodes (or --nodes N) that are 70, 80 "
            "and 90 %% held.\n");
    return code;
}

int bench_consolidate(int argc, char **argv)
{
    static const struct option options[] = {{"nodes", required_argument, NULL, 'n'},
                                            {"seed", required_argument, NULL, 's'},
                                            {"json", no_argument, NULL, 'j'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    int64_t sizes[] = {500, 5000, 20000, 50000}, seed = 1;
    size_t count = TF_ARRAY_LEN(sizes);
    struct tf_error err = TF_ERROR_INIT;
    bool json = false;
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (option == 'j')
            json = true;
        else if (option == 'h')
            return usage(stdout, 0);
        else if (option == 'n' && !tf_parse_int64(optarg, 1, 1000000, &sizes[0], &err))
            count = 1;
        else if (option != 's' || tf_parse_int64(optarg, 0, INT64_MAX, &seed, &err))
            return usage(stderr, 2);
    }
    struct figures figures;
    figures_begin(&figures, "consolidate", json);
    figures_setting(&figures,
                    "nodes of 8 GPUs and instances simulated, filled and thinned out at random; %d %% locked",
                    LOCKED_PERCENT);
    figures_setting(&figures,
                    "one core; openb: the 31 most frequent requests of that trace, with CPU and memory");
    bool ok = true;
    for (size_t m = 0; m < TF_ARRAY_LEN(mixes); m++)
        for (size_t n = 0; n < count; n++)
            for (int percent = 70; percent <= 90; percent += 10) {
                struct setting setting = {&figures, &mixes[m], sizes[n], percent};
                ok &= run_fleet(&setting, (uint64_t)seed);
            }
    figures_end(&figures);
    return ok ? 0 : 1;
}
