/* SPDX-License-Identifier: Apache-2.0 */
/* A small scripted run of a whole federation, once for each point where something durable happens: a daemon
 * or its etcd is killed just before or just after the daemon's k-th write, or the answer to that write is
 * lost. Whatever happens, every job ends once and as it should, nothing runs twice, and all comes to rest.
 *
 * A first run counts the writes of each daemon. Then points are taken until all are done, or, without
 * TF_FULL, TF_BUDGET_SECONDS are used up: first all of one kind of fault, then a sample of the others. Two
 * federations run at a time, in a process each. */
#include "common/base/cleanup.h"
#include "tests/support/federation/checker.h"
#include "tests/support/federation/load.h"
#include "tests/support/process.h"
#include "tests/support/suite.h"

#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

enum {
    WORKERS = 2,
    DAEMONS = 4,
    WRITES_MAX = 400, /* of one daemon */
    PAIRS = 150,
    COUNTING_RUNS = 3,
    BUDGET_SECONDS = 100,
    RUN_TIMEOUT_MS = 60 * 1000,
    REST_TIMEOUT_MS = 30 * 1000,
    LOOK_MS = 400,
    STEP_MS = 15,
    FAILURES_MAX = 4, /* then it is clear that something is wrong */
};

enum fault { CRASH_BEFORE, CRASH_AFTER, ETCD_BEFORE, ETCD_AFTER, LOSE, FAULTS };
enum { POINTS_MAX = DAEMONS * WRITES_MAX * FAULTS + PAIRS };
static const struct {
    const char *name, *fate, *announcement; /* of the proxy */
} faults[FAULTS] = {
    [CRASH_BEFORE] = {"crash before", "before", "before"},
    [CRASH_AFTER] = {"crash after", "after", "after"},
    [ETCD_BEFORE] = {"etcd crash before", "before", "before"},
    [ETCD_AFTER] = {"etcd crash after", "after", "after"},
    [LOSE] = {"reply lost", "lose", "lost"},
};

static const struct test_subcluster subclusters[] = {
    {"bj-a", 1, "prefix: n, count: 2, model: H800, gpus: 8, cpu: 64, memory: 256Gi"},
    {"gz-b", 1, "prefix: n, count: 2, model: H800, gpus: 8, cpu: 64, memory: 256Gi"},
    {"us-c", 1, "prefix: n, count: 2, model: L40, gpus: 4, cpu: 64, memory: 256Gi"},
};

struct hit {
    int daemon; /* as in test_federation_daemons */
    int64_t k;
    enum fault fault;
};

/* What happens in one run. */
struct point {
    struct hit hits[2];
    int count;
};

enum outcome { NOT_TAKEN, PASSED, NOT_REACHED, FAILED, OUTCOMES };

/* Shared by the workers. */
struct plan {
    uint64_t seed;
    int64_t deadline;
    int64_t writes[DAEMONS]; /* counted by the first run */
    struct point points[POINTS_MAX];
    _Atomic int outcomes[POINTS_MAX];
    size_t count;
    atomic_size_t next, failures;
};

/* ---- one run ---- */

struct run {
    struct test_federation *federation;
    struct test_client *client;
    const struct point *point;
    struct test_job *service; /* runs until it is deleted */
    bool reached[2];
};

/* In that subcluster, so that the writes of each daemon are nearly the same in each run. */
static struct test_job *submit(struct run *run, struct tf_job_manifest *manifest, const char *cluster,
                               enum tf_phase end)
{
    tf_strs_add(&manifest->spec.clusters, cluster);
    return test_client_submit(run->client, manifest, end);
}

static void submit_all(struct run *run)
{
    struct tf_job_manifest m;
    test_job_make(&m, "one", 1, 1, "sleep 0.2");
    submit(run, &m, "us-c", TF_PHASE_SUCCEEDED);
    test_job_make(&m, "gang", 2, 8, "sleep 0.3");
    submit(run, &m, "bj-a", TF_PHASE_SUCCEEDED);
    test_job_make(&m, "again", 1, 2, "sleep 0.1; test $TIDEFED_ATTEMPT -gt 1");
    m.spec.retry_limit = 2;
    m.spec.retry_backoff = 50;
    submit(run, &m, "gz-b", TF_PHASE_SUCCEEDED);
    test_job_make(&m, "fails", 1, 0, "sleep 0.1; exit 3");
    m.spec.retry_limit = 0;
    submit(run, &m, "bj-a", TF_PHASE_FAILED);
    test_job_make(&m, "service", 1, 4, "exec sleep 600");
    run->service = submit(run, &m, "us-c", TF_PHASE_DELETED);
}

static const char *daemon_name(const struct test_federation *federation, const struct hit *hit)
{
    return test_federation_daemons(federation)->items[hit->daemon];
}

static struct test_proxy *proxy_of(const struct run *run, const struct hit *hit)
{
    return test_daemon_proxy(run->federation, daemon_name(run->federation, hit));
}

static void arm(struct run *run)
{
    for (int i = 0; i < run->point->count; i++) {
        const struct hit *hit = &run->point->hits[i];
        if (!test_proxy_command(proxy_of(run, hit), "at %" PRId64 " %s", hit->k, faults[hit->fault].fate))
            abort();
    }
}

/* The proxy holds the write, or its answer: now. */
static void strike(struct run *run, const struct hit *hit)
{
    const char *name = daemon_name(run->federation, hit);
    enum test_etcd_role role = test_daemon_store(run->federation, name);
    switch (hit->fault) {
    case CRASH_BEFORE:
    case CRASH_AFTER:
        test_daemon_kill(run->federation, name);
        test_proxy_command(proxy_of(run, hit), "discard");
        test_daemon_start(run->federation, name);
        break;
    case ETCD_BEFORE:
    case ETCD_AFTER:
        test_federation_etcd_kill(run->federation, role);
        test_proxy_command(proxy_of(run, hit), "release");
        if (!test_federation_etcd_restart(run->federation, role))
            abort();
        break;
    case LOSE:
    case FAULTS:
        break;
    }
}

static void watch_for_hits(struct run *run)
{
    for (int i = 0; i < run->point->count; i++) {
        const struct hit *hit = &run->point->hits[i];
        TF_AUTO_FREE char *announcement = tf_asprintf("%s %" PRId64, faults[hit->fault].announcement, hit->k);
        if (run->reached[i] || !test_proxy_wait(proxy_of(run, hit), announcement, 1))
            continue;
        run->reached[i] = true;
        strike(run, hit);
    }
}

static bool reached_all(const struct run *run)
{
    bool all = true;
    for (int i = 0; i < run->point->count; i++)
        all = all && run->reached[i];
    return all;
}

/* False: a daemon ended by itself. */
static bool run_to_end(struct run *run)
{
    int64_t deadline = test_now_ms() + RUN_TIMEOUT_MS;
    while (test_now_ms() < deadline) {
        watch_for_hits(run);
        if (!test_federation_sound(run->federation))
            return false;
        /* While a write is held nobody answers. */
        if (test_client_look(run->client, LOOK_MS, NULL) == 0) {
            if (test_client_all_ended(run->client))
                return true;
            if (run->service->phase == TF_PHASE_RUNNING && !run->service->delete_asked)
                test_client_delete(run->client, run->service);
        }
        test_client_turn(run->client, STEP_MS);
    }
    fprintf(stderr, "not all jobs have ended after %d s\n", RUN_TIMEOUT_MS / 1000);
    return true; /* the checker says which */
}

/* The last writes come after the last end. */
static size_t wait_for_rest(struct run *run)
{
    int64_t deadline = test_now_ms() + REST_TIMEOUT_MS;
    struct test_unrest unrest = {""};
    while (!test_at_rest(run->federation, run->client, &unrest)) {
        watch_for_hits(run);
        if (test_now_ms() > deadline) {
            fprintf(stderr, "BREACH not at rest: %s\n", unrest.why);
            return 1;
        }
        test_client_turn(run->client, STEP_MS);
    }
    return 0;
}

static size_t check(struct run *run)
{
    struct tf_error err = TF_ERROR_INIT;
    size_t breaches = wait_for_rest(run);
    if (test_client_look(run->client, REST_TIMEOUT_MS, &err)) {
        fprintf(stderr, "BREACH List: %s\n", err.text);
        breaches++;
    }
    breaches += test_check_ends(run->federation, run->client);
    breaches += test_check_journals(run->federation, run->client);
    return breaches + !test_federation_sound(run->federation);
}

static enum outcome run_point(struct test_federation *federation, const struct point *point, uint64_t seed)
{
    struct run run = {.federation = federation, .point = point};
    bool clean = test_federation_prepare(federation);
    arm(&run);
    tf_vec_each (name, test_federation_daemons(federation))
        test_daemon_start(federation, *name);
    run.client = test_client_create(test_federation_endpoints(federation), seed);
    submit_all(&run);
    bool ok = run_to_end(&run);
    ok = check(&run) == 0 && ok && clean;
    test_client_destroy(run.client);
    if (!ok)
        return FAILED;
    return reached_all(&run) ? PASSED : NOT_REACHED;
}

/* ---- workers ---- */

static struct test_federation *make_federation(void)
{
    const struct test_federation_options options = {.fedds = 1,
                                                    .subclusters = subclusters,
                                                    .subcluster_count = TF_ARRAY_LEN(subclusters),
                                                    .records = true,
                                                    .proxies = true};
    return test_federation_create(&options);
}

static void describe(const struct test_federation *federation, const struct point *p, struct tf_buf *out)
{
    if (p->count == 0)
        tf_buf_str(out, "no fault");
    for (int i = 0; i < p->count; i++)
        tf_buf_fmt(out, "%s%s, write %" PRId64 ", %s", i ? "; " : "", daemon_name(federation, &p->hits[i]),
                   p->hits[i].k, faults[p->hits[i].fault].name);
}

static enum outcome take(struct test_federation *federation, const struct point *point, uint64_t seed)
{
    TF_AUTO_BUF text = TF_BUF_INIT;
    int64_t begin = test_now_ms();
    enum outcome outcome = run_point(federation, point, seed);
    describe(federation, point, &text);
    if (outcome == FAILED) {
        fprintf(stderr, "FAILED: %s\n", tf_buf_text(&text));
        test_federation_keep(federation);
    } else if (getenv("TF_VERBOSE")) {
        printf("%s: %s, %" PRId64 " ms\n", tf_buf_text(&text), outcome == PASSED ? "passed" : "not reached",
               test_now_ms() - begin);
    }
    return outcome;
}

static int work(struct plan *plan)
{
    struct test_federation *federation = make_federation();
    if (!federation)
        return 1;
    while (test_now_ms() < plan->deadline && atomic_load(&plan->failures) < FAILURES_MAX) {
        size_t i = atomic_fetch_add(&plan->next, 1);
        if (i >= plan->count)
            break;
        enum outcome outcome = take(federation, &plan->points[i], plan->seed + i);
        atomic_store(&plan->outcomes[i], (int)outcome);
        atomic_fetch_add(&plan->failures, outcome == FAILED);
    }
    return !test_federation_destroy(federation);
}

/* Without a fault: how many writes does each daemon make, at most? They are grouped by chance. */
static int count_writes(struct plan *plan)
{
    const struct point none = {.count = 0};
    struct test_federation *federation = make_federation();
    bool ok = federation != NULL;
    for (int run = 0; ok && run < COUNTING_RUNS; run++) {
        ok = take(federation, &none, plan->seed) == PASSED;
        for (int d = 0; d < DAEMONS; d++) {
            const char *name = test_federation_daemons(federation)->items[d];
            int64_t count = test_proxy_count(test_daemon_proxy(federation, name));
            plan->writes[d] = count > plan->writes[d] ? count : plan->writes[d];
            ok = ok && count > 0 && count <= WRITES_MAX;
        }
    }
    for (int d = 0; ok && d < DAEMONS; d++)
        printf("%s: %" PRId64 " durable writes\n", test_federation_daemons(federation)->items[d],
               plan->writes[d]);
    return !(test_federation_destroy(federation) && ok);
}

/* In a process of its own: gRPC does not survive a fork. */
static pid_t start_worker(int (*body)(struct plan *), struct plan *plan)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        int status = body(plan);
        fflush(NULL);
        _exit(status);
    }
    return pid;
}

/* ---- the plan ---- */

static void add_points(struct plan *plan, enum fault fault)
{
    for (int64_t k = 1; k <= WRITES_MAX; k++)
        for (int d = 0; d < DAEMONS; d++)
            if (k <= plan->writes[d])
                plan->points[plan->count++] = (struct point){.hits = {{d, k, fault}}, .count = 1};
}

static struct hit random_hit(const struct plan *plan, struct tf_rng *rng)
{
    int daemon = (int)tf_rng_below(rng, DAEMONS);
    return (struct hit){daemon, tf_rng_range(rng, 1, plan->writes[daemon]),
                        (enum fault)tf_rng_below(rng, FAULTS)};
}

static void add_pair(struct plan *plan, struct tf_rng *rng)
{
    struct point pair = {.count = 2};
    do {
        pair.hits[0] = random_hit(plan, rng);
        pair.hits[1] = random_hit(plan, rng);
    } while (pair.hits[0].daemon == pair.hits[1].daemon && pair.hits[0].k == pair.hits[1].k);
    plan->points[plan->count++] = pair;
}

/* All of one kind, then the others and the pairs in random order. */
static void order_points(struct plan *plan)
{
    struct tf_rng rng;
    tf_rng_init(&rng, plan->seed);
    enum fault first = (enum fault)tf_rng_below(&rng, FAULTS);
    add_points(plan, first);
    size_t begin = plan->count;
    for (int fault = 0; fault < FAULTS; fault++)
        if (fault != (int)first)
            add_points(plan, (enum fault)fault);
    for (int i = 0; i < PAIRS; i++)
        add_pair(plan, &rng);
    for (size_t i = plan->count - 1; i > begin; i--) {
        size_t other = begin + (size_t)tf_rng_below(&rng, i - begin + 1);
        struct point point = plan->points[i];
        plan->points[i] = plan->points[other];
        plan->points[other] = point;
    }
    printf("all points of \"%s\" first\n", faults[first].name);
}

/* kind FAULTS: the pairs. */
static void report_kind(const struct plan *plan, int kind, size_t total[OUTCOMES])
{
    size_t by[OUTCOMES] = {0};
    for (size_t i = 0; i < plan->count; i++) {
        const struct point *p = &plan->points[i];
        if ((p->count == 2 ? FAULTS : (int)p->hits[0].fault) == kind) {
            by[plan->outcomes[i]]++;
            total[plan->outcomes[i]]++;
        }
    }
    printf("%-18s %4zu passed, %zu not reached, %zu failed, %zu not taken\n",
           kind == FAULTS ? "two of them" : faults[kind].name, by[PASSED], by[NOT_REACHED], by[FAILED],
           by[NOT_TAKEN]);
}

static void report(const struct plan *plan, int64_t begin)
{
    size_t total[OUTCOMES] = {0};
    for (int kind = 0; kind <= FAULTS; kind++)
        report_kind(plan, kind, total);
    printf("every_write: %zu points of %zu: %zu passed, %zu not reached, %zu failed; %" PRId64 " s\n",
           plan->count - total[NOT_TAKEN], plan->count, total[PASSED], total[NOT_REACHED], total[FAILED],
           (test_now_ms() - begin) / 1000);
}

static int64_t budget_ms(void)
{
    const char *text = getenv("TF_BUDGET_SECONDS");
    if (getenv("TF_FULL"))
        return INT64_MAX / 2;
    return (text && *text ? strtoll(text, NULL, 10) : BUDGET_SECONDS) * 1000;
}

int main(void)
{
    int64_t begin = test_now_ms();
    pid_t workers[WORKERS];
    int status = 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!test_federation_available())
        return 0;
    struct plan *plan = mmap(NULL, sizeof *plan, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (plan == MAP_FAILED)
        return 1;
    plan->seed = suite_seed(1);
    printf("\n");
    if (test_process_wait(start_worker(count_writes, plan)) != 0)
        return 1;
    order_points(plan);
    plan->deadline = begin + budget_ms();
    for (int w = 0; w < WORKERS; w++)
        workers[w] = start_worker(work, plan);
    for (int w = 0; w < WORKERS; w++)
        status |= test_process_wait(workers[w]);
    report(plan, begin);
    return status != 0 || plan->failures != 0;
}
