/* SPDX-License-Identifier: Apache-2.0 */
/* What a capacity profile costs: its bytes and rows, whole and as a delta, and the leader's CPU. Cores only:
 * no daemon, no network; nodes and jobs are simulated. */
#include "tools/fedbench/bench.h"

#include "common/base/cleanup.h"
#include "common/base/rng.h"
#include "common/base/text.h"
#include "common/trace/trace.h"
#include "tools/fedbench/cores.h"
#include "tools/fedbench/figures.h"

#include <getopt.h>

enum { FLEET_NODES = 12500, FLEET_GPUS = 8, FLEET_JOB = 24, DELTAS = 200, BUSY = 50, PERIOD_MS = 500 };

struct setting {
    const char *name; /* in the figures' names */
    struct core_sub sub;
    struct core_fed fed;
    struct tf_rng rng;
    int64_t gpus, held;
    TF_VEC(int64_t) size_of; /* GPUs of each job that was placed, by its number */
};

static struct tf_classes make_classes(void)
{
    struct tf_classes classes = {0};
    tf_classes_add(&classes, "low", 100);
    tf_classes_add(&classes, "mid", 200);
    tf_classes_add(&classes, "high", 300);
    return classes;
}

static void open_setting(struct setting *s, const struct tf_node *nodes, size_t count)
{
    struct tf_classes classes = make_classes();
    tf_rng_init(&s->rng, 1);
    core_sub_open(&s->sub, nodes, count, &classes);
    core_fed_open(&s->fed);
    for (size_t i = 0; i < count; i++)
        s->gpus += nodes[i].capacity.gpus;
    tf_classes_release(&classes);
}

static void close_setting(struct setting *s)
{
    core_sub_close(&s->sub);
    core_fed_close(&s->fed);
    tf_vec_release(&s->size_of);
}

static void place(struct setting *s, struct tf_job_spec *spec, int32_t size)
{
    int64_t gpus = (int64_t)spec->group.shape.gpus * size;
    size_t refused = s->sub.refused;
    core_sub_place(&s->sub, spec, size);
    if (s->sub.refused != refused)
        gpus = 0;
    s->held += gpus;
    tf_vec_push(&s->size_of, gpus);
}

/* ---- figures ---- */

static void add(struct figures *f, const struct setting *s, const char *what, double value, const char *unit,
                const char *target)
{
    TF_AUTO_FREE char *name = tf_asprintf("profile.%s.%s", s->name, what);
    figures_add(f, name, value, unit, target, "");
}

/* As after a gap. */
static bool measure_full(struct figures *f, struct setting *s)
{
    core_sub_want_full(&s->sub);
    core_sub_pass(&s->sub, PERIOD_MS);
    double us = core_fed_take(&s->fed, &s->sub.profile);
    add(f, s, "full_rows", (double)s->sub.rows, "rows", "");
    add(f, s, "full_bytes", (double)s->sub.profile.len, "B", "");
    add(f, s, "full_bytes_a_row", (double)s->sub.profile.len / (double)s->sub.rows, "B", "");
    add(f, s, "full_cpu", us / 1000, "ms", "");
    return us >= 0 && s->sub.full;
}

/* A small job comes, half a second later it goes, and so on. */
static bool measure_deltas(struct figures *f, struct setting *s)
{
    double us = 0, most = 0, bytes = 0, rows = 0;
    for (int i = 0; i < DELTAS; i++) {
        struct tf_job_spec spec;
        size_t before = s->sub.profiles;
        if (i % 2 == 0) {
            core_job_spec(&spec, "mid");
            core_sub_place(&s->sub, &spec, 1);
        } else {
            core_sub_release(&s->sub, s->sub.epoch);
        }
        core_sub_pass(&s->sub, PERIOD_MS);
        if (s->sub.profiles == before || s->sub.full) {
            fprintf(stderr, "fedbench profile: a change was not told as a delta\n");
            return false;
        }
        double took = core_fed_take(&s->fed, &s->sub.profile);
        us += took;
        most = took > most ? took : most;
        bytes += (double)s->sub.profile.len;
        rows += (double)s->sub.rows;
    }
    add(f, s, "delta_rows", rows / DELTAS, "rows", "");
    add(f, s, "delta_bytes", bytes / DELTAS, "B", "");
    add(f, s, "delta_bytes_a_row", bytes / rows, "B", "");
    add(f, s, "delta_cpu", us / DELTAS / 1000, "ms", "<= 1 ms");
    add(f, s, "delta_cpu_most", most / 1000, "ms", "");
    return true;
}

/* Many changes in one period: what is fixed in a message hardly counts. */
static bool measure_busy(struct figures *f, struct setting *s)
{
    for (int i = 0; i < BUSY; i++) {
        struct tf_job_spec spec;
        core_job_spec(&spec, "mid");
        spec.group.shape.gpus = (int32_t)tf_rng_range(&s->rng, 1, 3);
        spec.group.shape.cpu = tf_rng_range(&s->rng, 1, 16) * 250;
        core_sub_place(&s->sub, &spec, 1);
    }
    core_sub_pass(&s->sub, PERIOD_MS);
    double us = core_fed_take(&s->fed, &s->sub.profile);
    add(f, s, "busy_delta_rows", (double)s->sub.rows, "rows", "");
    add(f, s, "busy_delta_bytes_a_row", (double)s->sub.profile.len / (double)s->sub.rows, "B", "<= 30 B");
    add(f, s, "busy_delta_cpu", us / 1000, "ms", "<= 1 ms");
    return us >= 0;
}

static bool measure(struct figures *f, struct setting *s)
{
    add(f, s, "held", 100 * (double)s->held / (double)s->gpus, "%", "");
    return measure_full(f, s) && measure_deltas(f, s) && measure_busy(f, s);
}

/* ---- settings ---- */

/* The pods of the trace in order, each as one instance with whole GPUs, until so much is held. */
static bool run_openb(struct figures *f, const char *traces, int percent)
{
    TF_AUTO_FREE char *name = tf_asprintf("openb_%d", percent);
    TF_AUTO_FREE char *node_file = tf_asprintf("%s/nodes_openb2023.csv", traces);
    TF_AUTO_FREE char *job_file = tf_asprintf("%s/jobs_openb2023.csv", traces);
    const struct tf_trace_node_defaults defaults = TF_TRACE_NODE_DEFAULTS;
    const struct tf_trace_options options = {.priority = "low"};
    struct tf_trace_nodes nodes = {0};
    struct tf_trace_jobs jobs = {0};
    struct tf_error err = TF_ERROR_INIT;
    if (tf_trace_nodes_read(node_file, &defaults, &nodes, &err) ||
        tf_trace_jobs_read(job_file, &options, &jobs, &err)) {
        figures_setting(f, "%s: left out, the trace is not there: %s", name, err.text);
        tf_trace_nodes_release(&nodes);
        return true;
    }
    struct setting s = {.name = name};
    open_setting(&s, nodes.items, nodes.count);
    struct tf_trace_shapes shapes = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < jobs.count && s.held * 100 < s.gpus * percent; i++) {
        struct tf_job_manifest manifest = {0};
        ok = tf_trace_shapes_manifest(&shapes, &jobs.items[i], &manifest, &err) == 0;
        if (ok)
            place(&s, &manifest.spec, jobs.items[i].instances);
        tf_job_manifest_release(&manifest);
    }
    if (!ok)
        fprintf(stderr, "fedbench profile: %s\n", err.text);
    figures_group(f, "openb, %zu nodes, %lld GPUs, %d %% held", nodes.count, (long long)s.gpus, percent);
    ok = ok && measure(f, &s);
    close_setting(&s);
    tf_trace_shapes_release(&shapes);
    tf_trace_nodes_release(&nodes);
    tf_trace_jobs_release(&jobs);
    return ok;
}

/* Elastic jobs of three classes, half core and half surplus: six levels beside what is free; of uneven sizes,
 * so that nodes differ. */
static int32_t elastic_job(struct setting *s, struct tf_job_spec *spec)
{
    int32_t size = (int32_t)tf_rng_range(&s->rng, 2, FLEET_JOB);
    static const char *const classes[] = {"low", "mid", "high"};
    core_job_spec(spec, classes[tf_rng_below(&s->rng, TF_ARRAY_LEN(classes))]);
    spec->elastic = (struct tf_elastic){size / 2, size, 1};
    spec->group.shape.gpus = (int32_t)tf_rng_range(&s->rng, 1, 6);
    return size;
}

/* Three in ten jobs go, whichever they are. */
static void leave_holes(struct setting *s)
{
    for (uint64_t epoch = 1; epoch <= s->sub.epoch; epoch++)
        if (tf_rng_below(&s->rng, 10) < 3) {
            s->held -= s->size_of.items[epoch - 1];
            core_sub_release(&s->sub, epoch);
        }
}

static bool run_fleet(struct figures *f)
{
    struct tf_node *nodes = tf_calloc(FLEET_NODES, sizeof *nodes);
    for (int i = 0; i < FLEET_NODES; i++) {
        nodes[i].name = tf_asprintf("n%d", i);
        nodes[i].model = tf_strdup("H800");
        nodes[i].gpu_memory = 80 * 1024;
        nodes[i].capacity = (struct tf_vector){FLEET_GPUS, 32, 128 * 1000, 1024 * 1024};
    }
    struct setting s = {.name = "fleet_12500"};
    open_setting(&s, nodes, FLEET_NODES);
    while (s.held * 100 < s.gpus * 95) {
        struct tf_job_spec spec;
        int32_t size = elastic_job(&s, &spec);
        place(&s, &spec, size);
    }
    leave_holes(&s);
    figures_group(f, "%d nodes of %d GPUs, six levels, filled, then three in ten jobs gone", FLEET_NODES,
                  FLEET_GPUS);
    bool ok = measure(f, &s);
    close_setting(&s);
    for (int i = 0; i < FLEET_NODES; i++)
        tf_node_release(&nodes[i]);
    free(nodes);
    return ok;
}

/* ---- the command ---- */

static int usage(FILE *to, int code)
{
    fprintf(to,
            "usage: fedbench profile [--traces DIR] [--json]\n"
            "Drives the cores alone. The traces nodes_openb2023.csv and jobs_openb2023.csv are looked for "
            "in DIR (default\n"
            "../shared/traces, or TF_TRACES), and left out if they are not there.\n");
    return code;
}

int bench_profile(int argc, char **argv)
{
    static const struct option options[] = {{"traces", required_argument, NULL, 't'},
                                            {"json", no_argument, NULL, 'j'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    const char *traces = getenv("TF_TRACES") ? getenv("TF_TRACES") : "../shared/traces";
    bool json = false;
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (option == 't')
            traces = optarg;
        else if (option == 'j')
            json = true;
        else
            return option == 'h' ? usage(stdout, 0) : usage(stderr, 2);
    }
    if (optind < argc)
        return usage(stderr, 2);
    struct figures figures;
    figures_begin(&figures, "profile", json);
    figures_setting(&figures,
                    "both cores in one process, messages as bytes; nodes and jobs simulated; CPU of "
                    "the leader to read a message and decide, nothing waiting");
    bool ok = run_openb(&figures, traces, 50) && run_openb(&figures, traces, 85) && run_fleet(&figures);
    figures_end(&figures);
    return ok ? 0 : 1;
}
