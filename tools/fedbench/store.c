/* SPDX-License-Identifier: Apache-2.0 */
/* What a record costs on its way into a real etcd through the guard, one commit after the other as a daemon
 * does it: by records a commit, and with the same records packed in one value. This decides the layout of the
 * keys. */
#include "common/base/cleanup.h"
#include "common/base/rng.h"
#include "common/base/text.h"
#include "common/base/vec.h"
#include "common/store/etcd.h"
#include "common/store/guard_loop.h"
#include "tests/support/etcd.h"
#include "tests/support/process.h"
#include "tools/fedbench/bench.h"
#include "tools/fedbench/figures.h"

#include <getopt.h>
#include <inttypes.h>

#define PREFIX "/bench/"

enum {
    RECORD_BYTES = 300,
    KEYS = 20000, /* jobs that are written in turn */
    KEY_ROOM = 64,
    TTL_MS = 5000,
    WAIT_MS = 30000,
};

/* A row of the table. per_commit records in a commit, in `values` keys; the prototype's figures: STACK.md,
 * section 9 (records/s and microseconds of etcd per record, on disk), 0 = not measured there. */
struct shape {
    const char *key, *name; /* of its figures; for people */
    size_t values, packed;  /* keys a commit; records in each value */
    int prototype_rate, prototype_us;
};

static const struct shape shapes[] = {
    {"1x1", "1 record", 1, 1, 0, 0},
    {"16x1", "16 records", 16, 1, 5550, 152},
    {"120x1", "120 records", 120, 1, 10500, 91},
    {"1x16", "16 records packed in one value", 1, 16, 0, 0},
    {"1x120", "120 records packed in one value", 1, 120, 20200, 43},
    {"120x8", "120 keys of 8 records each", 120, 8, 0, 0},
};

struct run {
    struct figures *figures;
    const struct shape *shape;
    struct test_etcd *etcd;
    struct tf_loop *loop;
    struct tf_store *store;
    struct tf_guard_loop on;
    struct tf_rng rng;
    bool held, failed, done;
    uint64_t next_key;
    int64_t ends_ms;
    int64_t sent_us;
    TF_VEC(int64_t) took_us;
    size_t rows;
    char *value; /* the largest that is needed, random */
};

static int64_t clock_us(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void commit_next(struct run *run);

static void committed(void *cookie, const struct tf_error *error)
{
    struct run *run = cookie;
    if (error->code != TF_OK) {
        fprintf(stderr, "fedbench store: %s\n", error->text);
        run->failed = run->done = true;
        return;
    }
    tf_vec_push(&run->took_us, clock_us(CLOCK_MONOTONIC) - run->sent_us);
    if (test_now_ms() < run->ends_ms)
        commit_next(run);
    else
        run->done = true;
}

static void commit_next(struct run *run)
{
    char keys[TF_GUARD_WRITES_MAX][KEY_ROOM];
    struct tf_store_write writes[TF_GUARD_WRITES_MAX];
    struct tf_error err = TF_ERROR_INIT;
    for (size_t i = 0; i < run->shape->values; i++) {
        snprintf(keys[i], KEY_ROOM, PREFIX "jobs/tenant-%02" PRIu64 "/job-%06" PRIu64, run->next_key % 20,
                 run->next_key % KEYS);
        run->next_key++;
        writes[i] = (struct tf_store_write){.key = tf_bytes_of(keys[i]),
                                            .value = {run->value, run->shape->packed * RECORD_BYTES}};
    }
    run->sent_us = clock_us(CLOCK_MONOTONIC);
    if (tf_guard_commit(run->on.guard, writes, run->shape->values, committed, run, &err) != 0) {
        fprintf(stderr, "fedbench store: %s\n", err.text);
        run->failed = run->done = true;
    }
}

static void guard_event(void *ctx, const struct tf_guard_event *event)
{
    struct run *run = ctx;
    run->held = event->kind == TF_GUARD_HELD;
    if (event->kind == TF_GUARD_DEPOSED) {
        fprintf(stderr, "fedbench store: %s\n", event->error.text);
        run->failed = run->done = true;
    }
}

/* Turns the loop until *flag; false at the time limit. */
static bool turn_until(struct run *run, const bool *flag, int64_t limit_ms)
{
    int64_t deadline = test_now_ms() + limit_ms;
    while (!*flag && test_now_ms() < deadline)
        tf_loop_turn(run->loop, 100);
    return *flag;
}

static int order_us(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static double percentile_ms(const struct run *run, size_t percent)
{
    return (double)run->took_us.items[(run->took_us.count - 1) * percent / 100] / 1000;
}

static void add(const struct run *run, const char *what, double value, const char *unit, const char *beside)
{
    TF_AUTO_FREE char *name = tf_asprintf("store.%s.%s", run->shape->key, what);
    figures_add(run->figures, name, value, unit, "", beside);
}

static void add_row(const struct run *run, int64_t wall_us, int64_t etcd_us, int64_t client_us)
{
    const struct shape *shape = run->shape;
    double commits = (double)run->took_us.count;
    double records = commits * (double)(shape->values * shape->packed);
    char rate[64] = "", cost[64] = "";
    if (shape->prototype_rate) {
        snprintf(rate, sizeof rate, "an earlier prototype: %d", shape->prototype_rate);
        snprintf(cost, sizeof cost, "an earlier prototype: %d", shape->prototype_us);
    }
    figures_group(run->figures, "commits of %s (each puts head, too)", shape->name);
    add(run, "commits_per_second", commits * 1e6 / (double)wall_us, "commits/s", "");
    add(run, "records_per_second", records * 1e6 / (double)wall_us, "records/s", rate);
    add(run, "p50", percentile_ms(run, 50), "ms", "");
    add(run, "p99", percentile_ms(run, 99), "ms", "");
    add(run, "cpu_us_etcd", (double)etcd_us / records, "us/record", cost);
    add(run, "cpu_us_client", (double)client_us / records, "us/record", "");
}

static int run_shape(struct run *run, const struct shape *shape, int64_t seconds)
{
    run->shape = shape;
    run->done = false;
    run->took_us.count = 0;
    int64_t etcd_us = test_etcd_cpu_us(run->etcd), client_us = clock_us(CLOCK_PROCESS_CPUTIME_ID);
    int64_t start_us = clock_us(CLOCK_MONOTONIC);
    run->ends_ms = test_now_ms() + seconds * 1000;
    commit_next(run);
    if (!turn_until(run, &run->done, seconds * 1000 + WAIT_MS) || run->failed)
        return 1;
    qsort(run->took_us.items, run->took_us.count, sizeof *run->took_us.items, order_us);
    add_row(run, clock_us(CLOCK_MONOTONIC) - start_us, test_etcd_cpu_us(run->etcd) - etcd_us,
            clock_us(CLOCK_PROCESS_CPUTIME_ID) - client_us);
    return 0;
}

static void load_row(void *cookie, const struct tf_store_row *row)
{
    struct run *run = cookie;
    (void)row;
    run->rows++;
}

static void load_done(void *cookie, const struct tf_error *error, int64_t revision)
{
    struct run *run = cookie;
    (void)revision;
    run->failed = error->code != TF_OK;
    run->done = true;
}

/* Fills all keys with one record each, then reads them as a daemon does when it starts. */
static int run_load(struct run *run)
{
    static const struct shape fill = {"fill", "fill", TF_GUARD_WRITES_MAX, 1, 0, 0};
    run->shape = &fill;
    for (size_t i = 0; i < KEYS; i += fill.values) {
        run->done = false;
        run->ends_ms = 0; /* one commit */
        commit_next(run);
        if (!turn_until(run, &run->done, WAIT_MS) || run->failed)
            return 1;
    }
    run->done = false;
    run->rows = 0;
    int64_t start_us = clock_us(CLOCK_MONOTONIC);
    if (tf_guard_load(run->on.guard, load_row, load_done, run, NULL) != 0 ||
        !turn_until(run, &run->done, WAIT_MS) || run->failed)
        return 1;
    double took = (double)(clock_us(CLOCK_MONOTONIC) - start_us) / 1e6;
    figures_group(run->figures, "load at a start: %zu records", run->rows);
    figures_add(run->figures, "store.load.records_per_second", (double)run->rows / took, "records/s", "", "");
    return 0;
}

static int run_all(struct run *run, int64_t seconds)
{
    struct tf_guard_options options = {.store = run->store,
                                       .prefix = PREFIX,
                                       .owner_name = "leader",
                                       .owner_value = tf_bytes_of("fedbench"),
                                       .ttl_ms = TTL_MS,
                                       .event = guard_event,
                                       .event_ctx = run};
    struct tf_error err = TF_ERROR_INIT;
    TF_AUTO(tf_guard) guard = tf_guard_on_loop(&run->on, run->loop, &options, &err);
    if (guard)
        tf_guard_acquire(guard);
    if (!guard || !turn_until(run, &run->held, WAIT_MS)) {
        fprintf(stderr, "fedbench store: cannot lead: %s%s\n", err.text,
                guard ? tf_guard_trouble(guard)->text : "");
        return 1;
    }
    for (size_t i = 0; i < TF_ARRAY_LEN(shapes); i++)
        if (run_shape(run, &shapes[i], seconds) != 0)
            return 1;
    return run_load(run);
}

static void make_value(struct run *run)
{
    size_t most = 0;
    for (size_t i = 0; i < TF_ARRAY_LEN(shapes); i++)
        most = shapes[i].packed > most ? shapes[i].packed : most;
    run->value = tf_malloc(most * RECORD_BYTES);
    for (size_t i = 0; i < most * RECORD_BYTES; i++)
        run->value[i] = (char)tf_rng_next(&run->rng);
}

static int usage(FILE *to, int code)
{
    fprintf(to,
            "usage: fedbench store [--disk DIR] [--seconds N] [--no-fsync] [--json]\n"
            "Starts an etcd of its own with its data in a new folder under DIR (default /tmp), writes "
            "records of\n"
            "%d bytes through the guard of a prefix for N seconds (default 3) in each shape.\n",
            RECORD_BYTES);
    return code;
}

/* -1: go on. */
static int take_options(int argc, char **argv, struct test_etcd_options *etcd, int64_t *seconds, bool *json)
{
    static const struct option options[] = {
        {"disk", required_argument, NULL, 'd'}, {"seconds", required_argument, NULL, 's'},
        {"no-fsync", no_argument, NULL, 'n'},   {"json", no_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},       {0}};
    struct tf_error err = TF_ERROR_INIT;
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (option == 'd') {
            etcd->dir = optarg;
        } else if (option == 'n') {
            etcd->fsync = false;
        } else if (option == 'j') {
            *json = true;
        } else if (option == 'h') {
            return usage(stdout, 0);
        } else if (option != 's') {
            return usage(stderr, 2);
        } else if (tf_parse_int64(optarg, 1, 3600, seconds, &err) != 0) {
            fprintf(stderr, "fedbench store: --seconds: %s\n", err.text);
            return 2;
        }
    }
    return optind < argc ? usage(stderr, 2) : -1;
}

int bench_store(int argc, char **argv)
{
    struct test_etcd_options options = {.fsync = true, .quota_bytes = INT64_C(8) << 30};
    struct tf_error err = TF_ERROR_INIT;
    struct figures figures;
    int64_t seconds = 3;
    bool json = false;
    int code = take_options(argc, argv, &options, &seconds, &json);
    if (code >= 0)
        return code;
    struct run run = {.figures = &figures, .etcd = test_etcd_start(&options)};
    if (!run.etcd)
        return 1;
    const char *endpoint = test_etcd_endpoint(run.etcd);
    tf_rng_init(&run.rng, 1);
    make_value(&run);
    run.loop = tf_loop_create(&err);
    run.store =
        run.loop ? tf_etcd_store_create(
                       run.loop, &(struct tf_etcd_options){.endpoints = &endpoint, .endpoint_count = 1}, &err)
                 : NULL;
    figures_begin(&figures, "store", json);
    figures_setting(
        &figures,
        "real etcd of one member, data under %s, %s fsync; this program and etcd share the machine; "
        "records of %d bytes",
        options.dir ? options.dir : "/tmp", options.fsync ? "with" : "without", RECORD_BYTES);
    if (!run.store)
        fprintf(stderr, "fedbench store: %s\n", err.text);
    code = run.store ? run_all(&run, seconds) : 1;
    figures_end(&figures);
    tf_store_destroy(run.store);
    tf_loop_destroy(run.loop);
    test_etcd_stop(run.etcd);
    tf_vec_release(&run.took_us);
    free(run.value);
    return code;
}
