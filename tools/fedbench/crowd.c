/* SPDX-License-Identifier: Apache-2.0 */
/* A federation with very many jobs in its store, as many of them running as there is room for, the rest
 * waiting: what people feel of it. */
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "tests/support/federation/client.h"
#include "tests/support/federation/federation.h"
#include "tests/support/process.h"
#include "tools/fedbench/bench.h"
#include "tools/fedbench/figures.h"
#include "tools/fedbench/load.h"

#include <getopt.h>
#include <inttypes.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum {
    JOBS = 100000,
    NODES = 1000,
    IN_FLIGHT = 256,
    FILL_SECONDS = 3600,
    WAIT_MS = 300 * 1000,
    PAGE = 500,
    ASKED = 50, /* times */
};

struct crowd {
    int64_t jobs, nodes;
    const char *dir;
    bool json;
    struct figures figures;
    char *node_lines;
    struct test_subcluster subcluster;
    struct test_federation *federation;
    struct test_client *client;
};

static int usage(FILE *to, int code)
{
    fprintf(
        to,
        "usage: fedbench crowd [--jobs N] [--nodes N] [--disk DIR] [--json]\n"
        "Submits N jobs (default %d) of one GPU that never end, to a federation of one subcluster with N\n"
        "invented nodes of 8 GPUs (default %d), and measures what it costs to have them: lists, explain,\n"
        "memory, and the restart of fedd.\n",
        JOBS, NODES);
    return code;
}

static int take_number(const char *name, const char *text, int64_t max, int64_t *out)
{
    struct tf_error err = TF_ERROR_INIT;
    if (tf_parse_int64(text, 1, max, out, &err) == 0)
        return 0;
    fprintf(stderr, "fedbench crowd: --%s: %s\n", name, err.text);
    return -1;
}

static int take_options(struct crowd *c, int argc, char **argv)
{
    static const struct option options[] = {
        {"jobs", required_argument, NULL, 'j'}, {"nodes", required_argument, NULL, 'n'},
        {"disk", required_argument, NULL, 'd'}, {"json", no_argument, NULL, 'J'},
        {"help", no_argument, NULL, 'h'},       {0}};
    int bad = 0;
    for (int option; !bad && (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (option == 'j')
            bad = take_number("jobs", optarg, 10000000, &c->jobs);
        else if (option == 'n')
            bad = take_number("nodes", optarg, 12500, &c->nodes);
        else if (option == 'd')
            c->dir = optarg;
        else if (option == 'J')
            c->json = true;
        else if (option == 'h')
            return usage(stdout, 0);
        else
            bad = 1;
    }
    return bad || optind < argc ? usage(stderr, 2) : -1;
}

static bool set_up(struct crowd *c)
{
    c->node_lines =
        tf_asprintf("prefix: n, count: %" PRId64 ", model: H800, gpus: 8, cpu: 128, memory: 1Ti", c->nodes);
    c->subcluster = (struct test_subcluster){"bj-a", 1, c->node_lines};
    const struct test_federation_options options = {.fedds = 1,
                                                    .subclusters = &c->subcluster,
                                                    .subcluster_count = 1,
                                                    .engine = "virtual",
                                                    .more = "virtual: {startMin: 0s, startMax: 1s}\n",
                                                    .dir = c->dir,
                                                    .plain = true};
    c->federation = test_federation_create(&options);
    if (!c->federation || !test_federation_round(c->federation))
        return false;
    c->client = test_client_create(test_federation_endpoints(c->federation), 1);
    return test_client_wait_clusters(c->client, 1, WAIT_MS);
}

static void take_down(struct crowd *c)
{
    test_client_destroy(c->client);
    test_federation_destroy(c->federation);
    free(c->node_lines);
}

static void add(struct crowd *c, const char *what, double value, const char *unit, const char *beside)
{
    TF_AUTO_FREE char *name = tf_asprintf("crowd.%s", what);
    figures_add(&c->figures, name, value, unit, "", beside);
}

/* ---- asking ---- */

/* The answer, owned by the caller, and how long it took. */
static bool ask(struct crowd *c, const struct tf_request *request, struct tf_reply *reply, double *ms)
{
    struct tf_error err = TF_ERROR_INIT;
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    int failed = test_client_ask(c->client, request, WAIT_MS, reply, &err);
    clock_gettime(CLOCK_MONOTONIC, &b);
    *ms = (double)(b.tv_sec - a.tv_sec) * 1e3 + (double)(b.tv_nsec - a.tv_nsec) / 1e6;
    if (failed)
        fprintf(stderr, "fedbench: %s\n", err.text);
    return !failed;
}

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* The same question many times: its median and worst. */
static bool ask_often(struct crowd *c, const char *what, const struct tf_request *request, const char *beside)
{
    double ms[ASKED];
    for (size_t i = 0; i < ASKED; i++) {
        struct tf_reply reply;
        if (!ask(c, request, &reply, &ms[i]))
            return false;
        tf_reply_release(&reply);
    }
    qsort(ms, ASKED, sizeof *ms, by_value);
    TF_AUTO_FREE char *median = tf_asprintf("%s_p50", what);
    TF_AUTO_FREE char *worst = tf_asprintf("%s_max", what);
    add(c, median, ms[ASKED / 2], "ms", beside);
    add(c, worst, ms[ASKED - 1], "ms", "");
    return true;
}

/* All pages. *last becomes the name of the last one, which waits if there are more than there is room for. */
static bool list_all(struct crowd *c, char **last)
{
    struct tf_request request = {.method = TF_METHOD_LIST, .list.page_size = PAGE};
    double total = 0, ms;
    size_t jobs = 0;
    bool ok;
    do {
        struct tf_reply reply;
        ok = ask(c, &request, &reply, &ms);
        if (!ok)
            break;
        total += ms;
        jobs += reply.list.jobs.count;
        if (reply.list.jobs.count)
            tf_str_set(last, reply.list.jobs.items[reply.list.jobs.count - 1].manifest.name);
        free(request.list.page_token);
        request.list.page_token = TF_STEAL(reply.list.next_token);
        tf_reply_release(&reply);
    } while (request.list.page_token);
    tf_request_release(&request);
    if (ok)
        add(c, "list_all", total, "ms", "get jobs -A, 500 a page");
    return ok && jobs == (size_t)c->jobs;
}

static double cpu_ms(const struct rusage *used)
{
    return (double)(used->ru_utime.tv_sec + used->ru_stime.tv_sec) * 1e3 +
           (double)(used->ru_utime.tv_usec + used->ru_stime.tv_usec) / 1e3;
}

/* The program as people use it: how long it takes, and how much memory, for a table and for names. */
static bool list_with_fedctl(struct crowd *c, const char *output)
{
    const char *argv[] = {TF_FEDCTL, "--endpoints", NULL, "--timeout", "5m", "get",
                          "jobs",    "-A",          "-o", output,      NULL};
    struct rusage used;
    struct timespec a, b;
    int status;
    argv[2] = test_federation_endpoints(c->federation)->items[0];
    clock_gettime(CLOCK_MONOTONIC, &a);
    pid_t pid = test_process_start(argv, NULL, NULL, NULL);
    if (pid < 0 || wait4(pid, &status, 0, &used) != pid || status != 0)
        return false;
    clock_gettime(CLOCK_MONOTONIC, &b);
    TF_AUTO_FREE char *time = tf_asprintf("fedctl_%s", output);
    TF_AUTO_FREE char *cpu = tf_asprintf("fedctl_%s_cpu", output);
    TF_AUTO_FREE char *memory = tf_asprintf("fedctl_%s_memory", output);
    TF_AUTO_FREE char *about = tf_asprintf("fedctl get jobs -A -o %s", output);
    add(c, time, (double)(b.tv_sec - a.tv_sec) * 1e3 + (double)(b.tv_nsec - a.tv_nsec) / 1e6, "ms", about);
    add(c, cpu, cpu_ms(&used), "ms", "its CPU");
    add(c, memory, (double)used.ru_maxrss / 1024, "MiB", "its RSS");
    return true;
}

static bool ask_all(struct crowd *c)
{
    TF_AUTO_FREE char *last = NULL;
    struct tf_request page = {.method = TF_METHOD_LIST, .list.page_size = PAGE};
    if (!ask_often(c, "first_page", &page, "get jobs: 500") || !list_all(c, &last))
        return false;
    page.list.filter.tenant = tf_strdup("nobody");
    bool ok = ask_often(c, "no_match", &page, "a filter that nothing matches: 10,000 looked at a page");
    tf_request_release(&page);
    struct tf_request job = {.method = TF_METHOD_EXPLAIN};
    job.job = (struct tf_job_ref){.tenant = tf_strdup("bench"), .name = tf_strdup(last)};
    ok = ok && ask_often(c, "explain", &job, "of the last that waits");
    job.method = TF_METHOD_GET;
    ok = ok && ask_often(c, "get", &job, "");
    ok = ok && list_with_fedctl(c, "table") && list_with_fedctl(c, "name");
    tf_request_release(&job);
    return ok;
}

/* ---- the run ---- */

static bool fill(struct crowd *c)
{
    struct tf_strs command = {0};
    tf_strs_add(&command, "sleep");
    tf_strs_add(&command, "100000000");
    const struct load_options options = {.endpoint = test_federation_endpoints(c->federation)->items[0],
                                         .in_flight = IN_FLIGHT,
                                         .until = TF_PHASE_PENDING,
                                         .seconds = FILL_SECONDS,
                                         .jobs_max = (size_t)c->jobs,
                                         .command = &command,
                                         .seed = 1};
    struct load *load = load_create(&options);
    bool ok = load && load_run(load);
    if (ok)
        add(c, "submits", 1e6 * (double)c->jobs / (double)load_result(load)->wall_us, "jobs/s", "");
    load_destroy(load);
    tf_strs_release(&command);
    return ok;
}

static bool add_store(struct crowd *c)
{
    const struct tf_request request = {.method = TF_METHOD_STATUS};
    struct tf_reply reply;
    double ms;
    if (!ask(c, &request, &reply, &ms))
        return false;
    add(c, "store", (double)reply.status.store_bytes / (1 << 20), "MiB", "in etcd, with what is free inside");
    tf_reply_release(&reply);
    return true;
}

static void add_memory(struct crowd *c, const char *what)
{
    int64_t bytes = test_daemon_rss(c->federation, "fedd-0");
    TF_AUTO_FREE char *each = tf_asprintf("%s_a_job", what);
    add(c, what, (double)bytes / (1 << 20), "MiB", "RSS of fedd");
    add(c, each, (double)bytes / (double)c->jobs, "B", "");
}

/* Killed, and started again: until it leads, has every record, and gives the first page. */
static bool restart(struct crowd *c)
{
    struct tf_request page = {.method = TF_METHOD_LIST, .list.page_size = PAGE};
    struct tf_reply reply;
    double ms;
    test_daemon_kill(c->federation, "fedd-0");
    test_daemon_start(c->federation, "fedd-0");
    int64_t cpu = test_daemon_cpu_us(c->federation, "fedd-0");
    bool ok = ask(c, &page, &reply, &ms);
    if (!ok)
        return false;
    tf_reply_release(&reply);
    add(c, "restart", ms, "ms", "kill -9 of fedd to the first page; its lease of 5 s has to run out");
    add(c, "restart_cpu", (double)(test_daemon_cpu_us(c->federation, "fedd-0") - cpu) / 1000, "ms", "");
    return true;
}

static bool run(struct crowd *c)
{
    if (!set_up(c) || !fill(c))
        return false;
    add_memory(c, "memory");
    if (!ask_all(c) || !add_store(c) || !restart(c))
        return false;
    add_memory(c, "memory_after_restart");
    return true;
}

int bench_crowd(int argc, char **argv)
{
    struct crowd c = {.jobs = JOBS, .nodes = NODES};
    int code = take_options(&c, argc, argv);
    if (code >= 0)
        return code;
    if (!test_federation_available())
        return 1;
    figures_begin(&c.figures, "crowd", c.json);
    figures_setting(&c.figures,
                    "real: fedd, one subclusterd, two etcd of one member, gRPC; engine virtual (simulated), "
                    "%" PRId64 " nodes of 8 GPUs; all on one machine",
                    c.nodes);
    figures_setting(&c.figures,
                    "%" PRId64 " jobs of one GPU; as many run as there is room for, the rest waits", c.jobs);
    bool ok = run(&c);
    if (!ok && c.federation)
        test_federation_keep(c.federation);
    take_down(&c);
    figures_end(&c.figures);
    return ok ? 0 : 1;
}
