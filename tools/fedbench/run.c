/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the course of a benchmark of a whole federation: sets it up, drives it, measures what it costs, and
 * looks whether all that was acknowledged is there after everything was killed. */
#include "tools/fedbench/run.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "common/store/etcd.h"
#include "tests/support/federation/client.h"
#include "tests/support/process.h"

#include <getopt.h>
#include <inttypes.h>

enum { ATTACH_MS = 60 * 1000, LOOK_MS = 60 * 1000, GPUS = 8, KILL_AFTER_MS = 1500 };

/* ---- options ---- */

static int usage(const struct run_options *o, FILE *to, int code)
{
    fprintf(to,
            "usage: fedbench %s [--in-flight N,N,...] [--seconds N] [--nodes N] [--disk DIR] [--no-fsync] "
            "[--quick]\n"
            "                     [--seed N] [--json]\n"
            "Starts a fedd, %d subclusterd of N nodes (default %" PRId64
            ") and two etcd, with their data in a new folder\n"
            "under DIR (default /tmp), keeps so many jobs in flight for N seconds (default %" PRId64
            ") each, then\n"
            "kills everything and looks for what was acknowledged. --quick: without that, and without the "
            "store alone.\n",
            o->bench, RUN_SUBCLUSTERS, o->nodes, o->seconds);
    return code;
}

static int take_number(const char *bench, const char *name, const char *text, int64_t max, int64_t *out)
{
    struct tf_error err = TF_ERROR_INIT;
    if (tf_parse_int64(text, 1, max, out, &err) == 0)
        return 0;
    fprintf(stderr, "fedbench %s: --%s: %s\n", bench, name, err.text);
    return -1;
}

static int take_levels(struct run_options *o, const char *text)
{
    TF_AUTO_FREE char *copy = tf_strdup(text);
    char *rest = NULL;
    o->level_count = 0;
    for (char *word = strtok_r(copy, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        if (o->level_count == RUN_LEVELS_MAX ||
            take_number(o->bench, "in-flight", word, 100000, &o->levels[o->level_count++]))
            return -1;
    }
    return o->level_count ? 0 : -1;
}

int run_take_options(struct run_options *o, int argc, char **argv)
{
    static const struct option options[] = {{"in-flight", required_argument, NULL, 'i'},
                                            {"seconds", required_argument, NULL, 's'},
                                            {"nodes", required_argument, NULL, 'n'},
                                            {"disk", required_argument, NULL, 'd'},
                                            {"seed", required_argument, NULL, 'e'},
                                            {"no-fsync", no_argument, NULL, 'f'},
                                            {"quick", no_argument, NULL, 'q'},
                                            {"json", no_argument, NULL, 'j'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    int64_t seed = (int64_t)o->seed;
    int bad = 0;
    for (int option; !bad && (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (option == 'i')
            bad = take_levels(o, optarg);
        else if (option == 's')
            bad = take_number(o->bench, "seconds", optarg, 3600, &o->seconds);
        else if (option == 'n')
            bad = take_number(o->bench, "nodes", optarg, 12500, &o->nodes);
        else if (option == 'e')
            bad = take_number(o->bench, "seed", optarg, INT64_MAX, &seed);
        else if (option == 'd')
            o->dir = optarg;
        else if (option == 'f')
            o->no_fsync = true;
        else if (option == 'q')
            o->quick = true;
        else if (option == 'j')
            o->json = true;
        else if (option == 'h')
            return usage(o, stdout, 0);
        else
            bad = 1;
    }
    o->seed = (uint64_t)seed;
    return bad || optind < argc ? usage(o, stderr, 2) : -1;
}

/* ---- the federation ---- */

struct stage {
    const struct run_options *options;
    struct figures *figures;
    struct test_subcluster subclusters[RUN_SUBCLUSTERS];
    struct test_federation *federation;
    struct tf_strs command;
    char *nodes;
    bool failed;
};

static bool wait_for_clusters(struct stage *s)
{
    struct test_client *client = test_client_create(test_federation_endpoints(s->federation), 1);
    bool there = test_client_wait_clusters(client, RUN_SUBCLUSTERS, ATTACH_MS);
    test_client_destroy(client);
    if (!there)
        fprintf(stderr, "fedbench: the subclusters do not attach\n");
    return there;
}

/* Instances start after the run: what is measured ends before. */
static const char virtual_lines[] = "virtual: {startMin: 1h, startMax: 1h}\n";

static bool set_up(struct stage *s)
{
    static const char *const names[RUN_SUBCLUSTERS] = {"bj-a", "gz-b", "us-c"};
    const struct run_options *o = s->options;
    bool invented = tf_str_eq(o->engine, "virtual");
    s->nodes = tf_asprintf("prefix: n, count: %" PRId64 ", model: H800, gpus: %d, cpu: 128, memory: 1Ti",
                           o->nodes, GPUS);
    for (size_t i = 0; i < RUN_SUBCLUSTERS; i++)
        s->subclusters[i] = (struct test_subcluster){names[i], 1, s->nodes};
    const struct test_federation_options options = {
        .fedds = 1,
        .subclusters = s->subclusters,
        .subcluster_count = RUN_SUBCLUSTERS,
        .engine = o->engine,
        .more = invented && o->until <= TF_PHASE_STARTING ? virtual_lines : NULL,
        .dir = o->dir,
        .plain = true,
        .no_fsync = o->no_fsync,
    };
    TF_AUTO_FREE char *words = tf_strdup(o->command);
    char *rest = NULL;
    for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        tf_strs_add(&s->command, word);
    s->federation = test_federation_create(&options);
    return s->federation != NULL;
}

static void take_down(struct stage *s)
{
    if (s->failed && s->federation)
        test_federation_keep(s->federation);
    test_federation_destroy(s->federation);
    tf_strs_release(&s->command);
    free(s->nodes);
}

/* ---- what it costs ---- */

enum { WAL = 0, TXN, PUT, COUNTERS };
static const char *const counter_names[COUNTERS] = {"etcd_disk_wal_fsync_duration_seconds_count",
                                                    "etcd_server_proposals_committed_total",
                                                    "etcd_mvcc_put_total"};

struct cost {
    int64_t cpu_us[RUN_SUBCLUSTERS + 1];
    int64_t etcd_us[TEST_ETCD_ROLES];
    int64_t counters[TEST_ETCD_ROLES][COUNTERS];
};

static struct cost measure(const struct stage *s)
{
    struct cost cost = {{0}, {0}, {{0}}};
    const struct tf_strs *daemons = test_federation_daemons(s->federation);
    for (size_t i = 0; i < daemons->count && i <= RUN_SUBCLUSTERS; i++)
        cost.cpu_us[i] = test_daemon_cpu_us(s->federation, daemons->items[i]);
    for (int role = 0; role < TEST_ETCD_ROLES; role++) {
        const struct test_etcd *etcd = test_federation_etcd(s->federation, (enum test_etcd_role)role);
        cost.etcd_us[role] = test_etcd_cpu_us(etcd);
        for (int c = 0; c < COUNTERS; c++)
            cost.counters[role][c] = test_etcd_counter(etcd, counter_names[c]);
    }
    return cost;
}

static void add(const struct stage *s, size_t in_flight, const char *what, double value, const char *unit,
                const char *target, const char *beside)
{
    TF_AUTO_FREE char *name = tf_asprintf("%s.%zu.%s", s->options->bench, in_flight, what);
    figures_add(s->figures, name, value, unit, target, beside);
}

static void add_cpu(const struct stage *s, size_t in_flight, const struct load_result *r,
                    const struct cost *a, const struct cost *b)
{
    double jobs = (double)r->counted;
    int64_t subclusters = 0;
    for (size_t i = 1; i <= RUN_SUBCLUSTERS; i++)
        subclusters += b->cpu_us[i] - a->cpu_us[i];
    add(s, in_flight, "cpu_us_fedd", (double)(b->cpu_us[0] - a->cpu_us[0]) / jobs, "us/job", "", "");
    add(s, in_flight, "cpu_us_subclusterd", (double)subclusters / jobs, "us/job", "", "the three together");
    add(s, in_flight, "cpu_us_etcd_federation",
        (double)(b->etcd_us[TEST_ETCD_FEDERATION] - a->etcd_us[TEST_ETCD_FEDERATION]) / jobs, "us/job", "",
        "");
    add(s, in_flight, "cpu_us_etcd_local",
        (double)(b->etcd_us[TEST_ETCD_LOCAL] - a->etcd_us[TEST_ETCD_LOCAL]) / jobs, "us/job", "", "");
    add(s, in_flight, "cpu_us_clients", (double)r->cpu_us / jobs, "us/job", "", "");
}

/* Every job is at least a record at its submit, one when its start was accepted, and one in its subcluster:
 * submit and placement may share one. */
static bool add_writes(const struct stage *s, size_t in_flight, const struct load_result *r,
                       const struct cost *a, const struct cost *b)
{
    static const char *const roles[TEST_ETCD_ROLES] = {"federation", "local"};
    static const int least[TEST_ETCD_ROLES] = {2, 1};
    double jobs = (double)r->counted;
    bool whole = true;
    for (int role = 0; role < TEST_ETCD_ROLES; role++) {
        int64_t n[COUNTERS];
        TF_AUTO_FREE char *records = tf_asprintf("records_%s", roles[role]);
        TF_AUTO_FREE char *commits = tf_asprintf("jobs_a_commit_%s", roles[role]);
        TF_AUTO_FREE char *fsyncs = tf_asprintf("fsyncs_%s", roles[role]);
        for (int c = 0; c < COUNTERS; c++)
            n[c] = b->counters[role][c] - a->counters[role][c];
        int64_t written = n[PUT] - n[TXN]; /* each transaction puts the head, too */
        add(s, in_flight, records, (double)written / jobs, "a job", "", "durable writes");
        add(s, in_flight, commits, jobs / (double)n[TXN], "jobs", "", "");
        add(s, in_flight, fsyncs, (double)n[WAL] / jobs, "a job", "", "");
        bool skipped = written < least[role] * (int64_t)r->counted || (!s->options->no_fsync && n[WAL] <= 0);
        if (skipped)
            fprintf(stderr, "fedbench: durable writes were skipped: %" PRId64 " records in the %s store\n",
                    written, roles[role]);
        whole = whole && !skipped;
    }
    return whole;
}

/* ---- the store alone ---- */

struct sizes {
    bool done;
    size_t count, bytes;
};

static void on_page(void *cookie, const struct tf_store_reply *reply)
{
    struct sizes *sizes = cookie;
    sizes->done = true;
    for (size_t i = 0; i < reply->count; i++) {
        sizes->count++;
        sizes->bytes += reply->rows[i].value.len;
    }
}

/* Of the first thousand records under the prefix. */
static size_t mean_bytes(const char *endpoint, const char *prefix)
{
    struct sizes sizes = {0};
    struct tf_loop *loop = tf_loop_create(NULL);
    const struct tf_etcd_options options = {.endpoints = &endpoint, .endpoint_count = 1};
    struct tf_store *store = tf_etcd_store_create(loop, &options, NULL);
    const struct tf_store_request request = {
        .kind = TF_STORE_PAGE, .timeout_ms = LOOK_MS, .key = tf_bytes_of(prefix), .limit = TF_STORE_PAGE_MAX};
    tf_store_send(store, &request, on_page, &sizes);
    while (!sizes.done)
        tf_loop_turn(loop, 100);
    tf_store_destroy(store);
    tf_loop_destroy(loop);
    return sizes.count ? sizes.bytes / sizes.count : 0;
}

static void compare_with_store(struct stage *s, size_t in_flight, const struct load_result *r,
                               const struct cost *a, const struct cost *b)
{
    const char *endpoints[TEST_ETCD_ROLES];
    double records[TEST_ETCD_ROLES];
    for (int role = 0; role < TEST_ETCD_ROLES; role++) {
        endpoints[role] = test_federation_etcd_endpoint(s->federation, (enum test_etcd_role)role);
        records[role] = (double)(b->counters[role][PUT] - a->counters[role][PUT] - b->counters[role][TXN] +
                                 a->counters[role][TXN]) /
                        (double)r->counted;
    }
    TF_AUTO_FREE char *local = test_federation_prefix(s->federation, 0);
    TF_AUTO_FREE char *allocations = tf_asprintf("%s/allocations/", local);
    const struct run_store_work work = {
        .federation = endpoints[TEST_ETCD_FEDERATION],
        .local = endpoints[TEST_ETCD_LOCAL],
        .federation_bytes = mean_bytes(endpoints[TEST_ETCD_FEDERATION], "/tidefed/"),
        .local_bytes = mean_bytes(endpoints[TEST_ETCD_LOCAL], allocations),
        .federation_records = records[TEST_ETCD_FEDERATION],
        .local_records = records[TEST_ETCD_LOCAL],
    };
    double alone = run_store_alone(&work, s->options->seconds),
           rate = 1e6 * (double)r->counted / (double)r->wall_us;
    add(s, in_flight, "bytes_federation", (double)work.federation_bytes, "B/record", "", "a job's record");
    add(s, in_flight, "bytes_local", (double)work.local_bytes, "B/record", "", "an allocation");
    add(s, in_flight, "store_alone", alone, "jobs/s", "",
        "the same records, in full transactions, no daemon");
    add(s, in_flight, "of_store_alone", alone > 0 ? 100 * rate / alone : 0, "%", ">= 50 %", "");
}

/* ---- killed in the middle ---- */

static void kill_all(struct stage *s)
{
    tf_vec_each (name, test_federation_daemons(s->federation))
        test_daemon_kill(s->federation, *name);
    for (int role = 0; role < TEST_ETCD_ROLES; role++)
        test_federation_etcd_kill(s->federation, (enum test_etcd_role)role);
}

static bool start_all(struct stage *s)
{
    for (int role = 0; role < TEST_ETCD_ROLES; role++)
        if (!test_federation_etcd_restart(s->federation, (enum test_etcd_role)role))
            return false;
    tf_vec_each (name, test_federation_daemons(s->federation))
        test_daemon_start(s->federation, *name);
    return wait_for_clusters(s);
}

/* Marks in found, by place in the list of jobs, what the federation lists, with the epoch if it is that. */
static bool look(struct stage *s, const struct load_result *r, char *found)
{
    struct test_client *client = test_client_create(test_federation_endpoints(s->federation), 1);
    struct tf_error err = TF_ERROR_INIT;
    TF_AUTO_FREE char *token = NULL;
    bool ok = true;
    do {
        struct tf_request request = {.method = TF_METHOD_LIST, .list = {.page_size = TF_PAGE_MAX}};
        struct tf_reply reply;
        request.list.page_token = TF_STEAL(token);
        ok = test_client_ask(client, &request, LOOK_MS, &reply, &err) == 0;
        tf_request_release(&request);
        if (!ok)
            break;
        tf_vec_each (view, &reply.list.jobs) {
            uint64_t at;
            memcpy(&at, view->uid.bytes + sizeof at, sizeof at);
            if (at < r->jobs.count && tf_uid_eq(view->uid, r->jobs.items[at].uid))
                found[at] =
                    view->phase >= TF_PHASE_STARTING && view->epoch >= r->jobs.items[at].epoch ? 2 : 1;
        }
        token = TF_STEAL(reply.list.next_token);
        tf_reply_release(&reply);
    } while (token);
    if (!ok)
        fprintf(stderr, "fedbench: the jobs cannot be listed: %s\n", err.text);
    test_client_destroy(client);
    return ok;
}

/* Load, kill -9 of everything in the middle, and again: what was acknowledged is there, what was seen to be
 * admitted still is. */
static bool kill_and_look(struct stage *s, size_t in_flight)
{
    const struct run_options *o = s->options;
    const struct load_options options = {.endpoint = test_federation_endpoints(s->federation)->items[0],
                                         .in_flight = in_flight,
                                         .until = o->until,
                                         .jobs_max = SIZE_MAX,
                                         .command = &s->command,
                                         .seed = o->seed + 1};
    struct load *load = load_create(&options);
    if (!load)
        return false;
    bool ok = load_run_and_drop(load, KILL_AFTER_MS);
    kill_all(s);
    const struct load_result *r = load_result(load);
    TF_AUTO_FREE char *found = tf_calloc(r->jobs.count + 1, 1);
    ok = ok && start_all(s) && look(s, r, found);
    size_t lost = 0;
    for (size_t i = 0; ok && i < r->jobs.count; i++)
        lost +=
            (r->jobs.items[i].acknowledged_us && !found[i]) || (r->jobs.items[i].counted_us && found[i] != 2);
    if (ok) {
        add(s, in_flight, "acknowledged_at_the_kill", (double)r->acknowledged, "jobs", "",
            "kill -9 of everything");
        add(s, in_flight, "lost_by_the_kill", (double)lost, "jobs", "0", "");
    }
    load_destroy(load);
    return ok && lost == 0;
}

/* ---- a level ---- */

static size_t room(const struct run_options *o)
{
    return (size_t)o->nodes * GPUS * RUN_SUBCLUSTERS * 9 / 10;
}

static struct load *drive(struct stage *s, size_t in_flight, struct cost *before, struct cost *after)
{
    const struct run_options *o = s->options;
    if (!test_federation_round(s->federation) || !wait_for_clusters(s))
        return NULL;
    const struct load_options options = {.endpoint = test_federation_endpoints(s->federation)->items[0],
                                         .in_flight = in_flight,
                                         .until = o->until,
                                         .seconds = o->seconds,
                                         .jobs_max = o->until <= TF_PHASE_STARTING ? room(o) : SIZE_MAX,
                                         .command = &s->command,
                                         .seed = o->seed};
    struct load *load = load_create(&options);
    *before = measure(s);
    if (load && !load_run(load)) {
        load_destroy(load);
        return NULL;
    }
    *after = measure(s);
    return load;
}

static bool run_level(struct stage *s, size_t in_flight, bool last)
{
    const struct run_options *o = s->options;
    struct cost before, after;
    struct load *load = drive(s, in_flight, &before, &after);
    if (!load)
        return false;
    const struct load_result *r = load_result(load);
    figures_group(s->figures, "%zu in flight: %zu jobs", in_flight, r->counted);
    add(s, in_flight, "jobs_per_second", 1e6 * (double)r->counted / (double)r->wall_us, "jobs/s",
        last ? o->target : "", last ? o->beside : "");
    add(s, in_flight, "p50", load_percentile_ms(r, false, 50), "ms", "", "from the submit until it counts");
    add(s, in_flight, "p99", load_percentile_ms(r, false, 99), "ms", "", "");
    add(s, in_flight, "acknowledged_p50", load_percentile_ms(r, true, 50), "ms", "",
        "until the submit is durable");
    add(s, in_flight, "acknowledged_p99", load_percentile_ms(r, true, 99), "ms", "", "");
    add_cpu(s, in_flight, r, &before, &after);
    bool ok = add_writes(s, in_flight, r, &before, &after);
    if (last && !o->quick && o->until <= TF_PHASE_STARTING)
        compare_with_store(s, in_flight, r, &before, &after);
    load_destroy(load);
    return ok && (!last || o->quick || kill_and_look(s, in_flight));
}

int run_federation(const struct run_options *o)
{
    struct figures figures;
    struct stage stage = {.options = o, .figures = &figures};
    if (!test_federation_available())
        return 1;
    figures_begin(&figures, o->bench, o->json);
    figures_setting(&figures, "%s", o->boundary);
    figures_setting(&figures,
                    "real: fedd, %d subclusterd, two etcd of one member (%s fsync), gRPC; engine %s, %" PRId64
                    " nodes of %d GPUs a subcluster%s; jobs of one instance; all on one machine, clients too",
                    RUN_SUBCLUSTERS, o->no_fsync ? "without" : "with", o->engine, o->nodes, GPUS,
                    tf_str_eq(o->engine, "virtual") ? " (simulated)" : " (shares of this machine)");
    bool ok = set_up(&stage);
    for (size_t i = 0; ok && i < o->level_count; i++)
        ok = run_level(&stage, (size_t)o->levels[i], i + 1 == o->level_count);
    stage.failed = !ok;
    take_down(&stage);
    figures_end(&figures);
    return ok ? 0 : 1;
}

bool run_level_rate(const struct run_options *o, size_t in_flight, double *rate)
{
    struct stage stage = {.options = o};
    struct cost before, after;
    struct load *load = set_up(&stage) ? drive(&stage, in_flight, &before, &after) : NULL;
    if (load)
        *rate = 1e6 * (double)load_result(load)->counted / (double)load_result(load)->wall_us;
    stage.failed = !load;
    load_destroy(load);
    take_down(&stage);
    return !stage.failed;
}
