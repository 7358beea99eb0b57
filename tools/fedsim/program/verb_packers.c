/* SPDX-License-Identifier: Apache-2.0 */
/* Owns packers: how much of a fleet six ways of choosing nodes hand out. */
#include "tools/fedsim/packers/packers.h"

#include "common/base/text.h"
#include "tools/fedsim/program/fedsim.h"

#include <argp.h>
#include <inttypes.h>

enum { ORDERS = 10, ORDERS_MAX = 1000 };

struct packing {
    const char *nodes, *jobs;
    int64_t seed, orders;
};

enum { NODES = 256, JOBS, SEED, ORDERS_OPTION };

static const struct argp_option options[] = {
    {"nodes", NODES, "CSV", 0, "The fleet, as `nodesFrom` of a scenario reads it", 0},
    {"jobs", JOBS, "CSV", 0, "The pods, as `from` of a scenario reads it; those with whole GPUs are taken",
     0},
    {"orders", ORDERS_OPTION, "N", 0, "Random orders of arrival (10)", 0},
    {"seed", SEED, "N", 0, "Of these orders (1)", 0},
    {0}};

static int64_t number(const char *word, const char *name, int64_t min, int64_t max,
                      const struct argp_state *state)
{
    struct tf_error err = TF_ERROR_INIT;
    int64_t value = 0;
    if (tf_parse_int64(word, min, max, &value, &err))
        argp_error(state, "--%s: %s", name, err.text);
    return value;
}

static error_t parse(int key, char *word, struct argp_state *state)
{
    struct packing *packing = state->input;
    switch (key) {
    case NODES:
        packing->nodes = word;
        break;
    case JOBS:
        packing->jobs = word;
        break;
    case SEED:
        packing->seed = number(word, "seed", 0, INT64_MAX, state);
        break;
    case ORDERS_OPTION:
        packing->orders = number(word, "orders", 1, ORDERS_MAX, state);
        break;
    case ARGP_KEY_END:
        if (!packing->nodes || !packing->jobs)
            argp_error(state, "which fleet and which pods? For example: fedsim packers --nodes nodes.csv "
                              "--jobs jobs.csv");
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static const struct argp argp = {
    options,
    parse,
    NULL,
    "Hand out a fleet to the pods of a trace, one at a time in random order, until they have asked for as "
    "many "
    "GPUs as there are, and print how many GPUs each way of choosing nodes has handed out.\v"
    "Growth and what is left is what subclusterd packs by. The published figures are of the public openb "
    "trace with all its pods, also those that share a GPU (Weng et al., ATC'23).",
    NULL,
    NULL,
    NULL};

static void print(const struct packing *packing, const struct packers_result *result)
{
    static const char *const published[PACKERS] = {
        [PACKER_RANDOM] = "86.30 %",        [PACKER_DOT_PRODUCT] = "90.62 %", [PACKER_BEST_FIT] = "92.86 %",
        [PACKER_FRAGMENTATION] = "95.23 %", [PACKER_TIGHTEST] = "",           [PACKER_WEIGHED] = "",
    };
    printf("%zu nodes with %" PRId64 " GPUs; of %zu pods the %zu that ask for whole GPUs (%" PRId64
           " together)\narrive again and again until they have asked for %" PRId64 "; %" PRId64
           " orders, seed %" PRId64 "\n\n",
           result->nodes, result->gpus, result->all, result->pods, result->asked, result->gpus,
           packing->orders, packing->seed);
    printf("%-28s %10s %10s %10s %10s %12s\n", "GPUs handed out", "mean", "least", "most", "refused",
           "published");
    for (int i = 0; i < PACKERS; i++) {
        const struct packer_result *of = &result->of[i];
        printf("%-28s %8.2f %% %8.2f %% %8.2f %% %10" PRId64 " %12s\n", packer_name((enum packer)i),
               (double)of->mean / 100, (double)of->least / 100, (double)of->most / 100, of->refused,
               published[i]);
    }
}

static int run(int argc, char **argv)
{
    struct packing packing = {.seed = 1, .orders = ORDERS};
    const struct tf_trace_node_defaults defaults = TF_TRACE_NODE_DEFAULTS;
    const struct tf_trace_options all = {0};
    struct tf_trace_nodes nodes = {0};
    struct tf_trace_jobs jobs = {0};
    struct packers_result result;
    struct tf_error err = TF_ERROR_INIT;
    if (argp_parse(&argp, argc, argv, 0, NULL, &packing))
        return FEDSIM_WRONG;
    int failed = tf_trace_nodes_read(packing.nodes, &defaults, &nodes, &err) ||
                 tf_trace_jobs_read(packing.jobs, &all, &jobs, &err) ||
                 packers_run(&nodes, &jobs, (uint64_t)packing.seed, (int32_t)packing.orders, &result, &err);
    if (failed)
        fprintf(stderr, "fedsim packers: %s\n", err.text);
    else
        print(&packing, &result);
    tf_trace_nodes_release(&nodes);
    tf_trace_jobs_release(&jobs);
    return failed ? FEDSIM_WRONG : FEDSIM_GOOD;
}

const struct fedsim_verb fedsim_packers = {"packers",
                                           "how much of a fleet six ways of choosing nodes hand out", run};
