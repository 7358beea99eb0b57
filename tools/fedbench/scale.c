/* SPDX-License-Identifier: Apache-2.0 */
/* How cost grows with size: one measure at several sizes, and the slope of the straight line through them on
 * log-log axes (1 = linear, 0 = size does not matter). */
#include "tools/fedbench/bench.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "tests/support/etcd.h"
#include "tools/fedbench/cores.h"
#include "tools/fedbench/figures.h"
#include "tools/fedbench/run.h"

#include <getopt.h>
#include <inttypes.h>
#include <math.h>

enum { SIZES_MAX = 12, ADMIT_IN_FLIGHT = 64, LAUNCH_IN_FLIGHT = 16, DAEMON_SECONDS = 4, REPEATS = 200 };

/* A subcluster of so many nodes of 8 GPUs. */
static void open_sub(struct core_sub *s, int64_t count)
{
    struct tf_classes classes = {0};
    tf_classes_add(&classes, "batch", 300);
    struct tf_node *nodes = tf_calloc((size_t)count, sizeof *nodes);
    for (int64_t i = 0; i < count; i++) {
        nodes[i].name = tf_asprintf("n%" PRId64, i);
        nodes[i].model = tf_strdup("H800");
        nodes[i].capacity = (struct tf_vector){8, 32, 128 * 1000, 1024 * 1024};
    }
    core_sub_open(s, nodes, (size_t)count, &classes);
    for (int64_t i = 0; i < count; i++)
        tf_node_release(&nodes[i]);
    free(nodes);
    tf_classes_release(&classes);
}

/* ---- the measures: microseconds; below 0 after saying why ---- */

/* A placement of one instance, from the order to the start, commits included. */
static double measure_place(int64_t size)
{
    struct core_sub s;
    open_sub(&s, size);
    double began = core_cpu_us();
    for (int i = 0; i < REPEATS; i++) {
        struct tf_job_spec spec;
        core_job_spec(&spec, "batch");
        core_sub_place(&s, &spec, 1);
    }
    double took = (core_cpu_us() - began) / REPEATS;
    core_sub_close(&s);
    return took;
}

/* A submit while so many jobs wait: there is no subcluster. */
static double measure_submit(int64_t size)
{
    struct core_fed f;
    double began = 0;
    core_fed_open(&f);
    for (int64_t i = 0; i < size + REPEATS; i++) {
        struct tf_job_spec spec;
        if (i == size)
            began = core_cpu_us();
        core_job_spec(&spec, "batch");
        core_fed_submit(&f, (uint64_t)i + 1, &spec);
    }
    double took = (core_cpu_us() - began) / REPEATS;
    if (f.refused) {
        fprintf(stderr, "fedbench scale: %zu submits were refused\n", f.refused);
        took = -1;
    }
    core_fed_close(&f);
    return took;
}

/* The profile after one change, in the subcluster. */
static double measure_profile(int64_t size)
{
    struct core_sub s;
    double took = 0;
    open_sub(&s, size);
    for (int i = 0; i < REPEATS; i++) {
        struct tf_job_spec spec;
        core_job_spec(&spec, "batch");
        core_sub_place(&s, &spec, 1);
        double began = core_cpu_us();
        core_sub_pass(&s, TF_SECOND);
        took += core_cpu_us() - began;
    }
    core_sub_close(&s);
    return took / REPEATS;
}

/* A job through a whole federation, in microseconds of its time: the rate says it. */
static double measure_federation(const struct run_options *options, size_t in_flight)
{
    double rate = 0;
    return run_level_rate(options, in_flight, &rate) && rate > 0 ? 1e6 / rate : -1;
}

static double measure_admit(int64_t size)
{
    const struct run_options options = {.bench = "scale",
                                        .engine = "virtual",
                                        .until = TF_PHASE_STARTING,
                                        .command = "sleep 1000",
                                        .seconds = DAEMON_SECONDS,
                                        .nodes = size,
                                        .seed = 1};
    return measure_federation(&options, ADMIT_IN_FLIGHT);
}

static double measure_launch(int64_t size)
{
    const struct run_options options = {.bench = "scale",
                                        .engine = "process",
                                        .until = TF_PHASE_RUNNING,
                                        .command = "sleep 1",
                                        .seconds = DAEMON_SECONDS,
                                        .nodes = size,
                                        .quick = true,
                                        .seed = 1};
    return measure_federation(&options, LAUNCH_IN_FLIGHT);
}

/* A record of so many bytes into each of two real etcd at once, as a federation and its subclusters write. */
static double measure_store(int64_t size)
{
    const struct test_etcd_options options = {.fsync = true};
    struct test_etcd *federation = test_etcd_start(&options), *local = test_etcd_start(&options);
    double rate = 0;
    if (federation && local)
        rate = run_store_alone(&(struct run_store_work){.federation = test_etcd_endpoint(federation),
                                                        .local = test_etcd_endpoint(local),
                                                        .federation_bytes = (size_t)size,
                                                        .local_bytes = (size_t)size,
                                                        .federation_records = 1,
                                                        .local_records = 1},
                               DAEMON_SECONDS);
    test_etcd_stop(federation);
    test_etcd_stop(local);
    return rate > 0 ? 1e6 / rate : -1;
}

struct measure {
    const char *name, *help, *axis;
    double (*run)(int64_t size);
    bool daemons; /* real ones, or an etcd: only when it is asked for */
    int64_t sizes[SIZES_MAX];
    size_t count;
};

static const struct measure measures[] = {
    {"place",
     "us of CPU a placement in the subcluster's core",
     "nodes",
     measure_place,
     false,
     {10, 100, 1000, 10000},
     4},
    {"profile",
     "us of CPU the profile after one change",
     "nodes",
     measure_profile,
     false,
     {10, 100, 1000, 10000},
     4},
    {"submit",
     "us of CPU a submit in the federation's core",
     "waiting jobs",
     measure_submit,
     false,
     {10, 100, 1000, 10000, 100000},
     5},
    {"admit",
     "us a job admitted by a whole federation, real daemons and etcd, 64 in flight",
     "nodes a subcluster",
     measure_admit,
     true,
     {50, 500, 5000},
     3},
    {"launch",
     "us a job started as a real process by a whole federation, 16 in flight",
     "nodes a subcluster",
     measure_launch,
     true,
     {5, 50, 500},
     3},
    {"store",
     "us a record into each of two real etcd at once, in full transactions",
     "bytes a record",
     measure_store,
     true,
     {100, 1000, 8000},
     3},
};

/* ---- the line ---- */

static double slope(const double *x, const double *y, size_t n)
{
    double mx = 0, my = 0, xy = 0, xx = 0;
    for (size_t i = 0; i < n; i++) {
        mx += log(x[i]) / (double)n;
        my += log(y[i]) / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        xy += (log(x[i]) - mx) * (log(y[i]) - my);
        xx += (log(x[i]) - mx) * (log(x[i]) - mx);
    }
    return xx > 0 ? xy / xx : 0;
}

static bool run(struct figures *f, const struct measure *m, const int64_t *sizes, size_t count)
{
    double x[SIZES_MAX], y[SIZES_MAX];
    figures_group(f, "%s: %s", m->name, m->help);
    for (size_t i = 0; i < count; i++) {
        TF_AUTO_FREE char *name = tf_asprintf("scale.%s.%" PRId64, m->name, sizes[i]);
        x[i] = (double)sizes[i];
        y[i] = m->run(sizes[i]);
        if (y[i] <= 0)
            return false;
        figures_add(f, name, y[i], "us", "", m->axis);
    }
    TF_AUTO_FREE char *name = tf_asprintf("scale.%s.slope", m->name);
    figures_add(f, name, slope(x, y, count), "", "about <= 1", "of the cost over the size, log-log");
    return true;
}

/* ---- the command ---- */

static int usage(FILE *to, int code)
{
    fprintf(to, "usage: fedbench scale [MEASURE] [--sizes N,N,...] [--json]\n"
                "Without a MEASURE, all that need no daemon:\n");
    for (size_t i = 0; i < TF_ARRAY_LEN(measures); i++)
        fprintf(to, "  %-10s %s, over %s\n", measures[i].name, measures[i].help, measures[i].axis);
    return code;
}

/* -1: one of them is no number. */
static int take_sizes(const char *text, int64_t *sizes, size_t *count)
{
    TF_AUTO_FREE char *copy = tf_strdup(text);
    struct tf_error err = TF_ERROR_INIT;
    char *rest = NULL;
    for (char *word = strtok_r(copy, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        if (*count == SIZES_MAX || tf_parse_int64(word, 1, 10000000, &sizes[(*count)++], &err)) {
            fprintf(stderr, "fedbench scale: --sizes: %s\n",
                    err.code == TF_OK ? "more sizes than can be taken" : err.text);
            return -1;
        }
    }
    return 0;
}

static const struct measure *find(const char *name)
{
    for (size_t i = 0; i < TF_ARRAY_LEN(measures); i++)
        if (strcmp(measures[i].name, name) == 0)
            return &measures[i];
    return NULL;
}

static bool run_all(struct figures *f, const struct measure *only, const int64_t *sizes, size_t count)
{
    for (size_t i = 0; i < TF_ARRAY_LEN(measures); i++) {
        const struct measure *m = &measures[i];
        bool wanted = only ? m == only : !m->daemons;
        if (wanted && !run(f, m, count ? sizes : m->sizes, count ? count : m->count))
            return false;
    }
    return true;
}

int bench_scale(int argc, char **argv)
{
    static const struct option options[] = {{"sizes", required_argument, NULL, 's'},
                                            {"json", no_argument, NULL, 'j'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    int64_t sizes[SIZES_MAX];
    size_t count = 0;
    bool json = false;
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (option == 'j')
            json = true;
        else if (option == 'h')
            return usage(stdout, 0);
        else if (option != 's' || take_sizes(optarg, sizes, &count))
            return usage(stderr, 2);
    }
    const struct measure *only = optind < argc ? find(argv[optind]) : NULL;
    if (argc - optind > 1 || (optind < argc && !only))
        return usage(stderr, 2);
    struct figures figures;
    figures_begin(&figures, "scale", json);
    figures_setting(&figures,
                    only && only->daemons
                        ? "real daemons and etcd on this machine; nodes that run nothing are invented"
                        : "nodes and jobs simulated; one core, in virtual time");
    bool ok = run_all(&figures, only, sizes, count);
    figures_end(&figures);
    return ok ? 0 : 1;
}
