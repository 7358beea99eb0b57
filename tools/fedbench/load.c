/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/fedbench/load.h"

#include "common/base/cleanup.h"
#include "common/base/rng.h"
#include "common/rpc/client.h"
#include "common/wire/api.h"
#include "tests/support/process.h"

#include <inttypes.h>

enum {
    CALL_MS = 30 * 1000,
    STILL_MS = 30 * 1000, /* nothing has moved for so long: something is wrong */
    LAST_MS = 60 * 1000,  /* for what is under way at the end */
};

/* A client: one job at a time. */
struct client {
    struct load *load;
    size_t job; /* index */
    struct tf_unary *call;
};

struct load {
    struct load_options options;
    struct tf_loop *loop;
    struct tf_rpc *rpc;
    struct tf_channel *channel;
    struct tf_stream *watch;
    struct tf_rng rng;
    struct client *clients;
    TF_VEC(uint32_t) client_of; /* by job */
    struct load_result result;
    size_t under_way;
    bool synced, failed, ending;
    int64_t began_us, cpu_us, moved_ms;
};

static int64_t clock_us(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void fail(struct load *load, const char *what, const char *why)
{
    if (!load->failed)
        fprintf(stderr, "fedbench: %s: %s\n", what, why);
    load->failed = true;
}

/* ---- submitting ---- */

static void submit_next(struct client *client);

static void move_on(struct client *client)
{
    struct load *load = client->load;
    load->under_way--;
    load->moved_ms = test_now_ms();
    load->result.wall_us = clock_us(CLOCK_MONOTONIC) - load->began_us;
    load->result.cpu_us = clock_us(CLOCK_PROCESS_CPUTIME_ID) - load->cpu_us;
    if (!load->ending)
        submit_next(client);
}

static bool is_complete(const struct load_job *job)
{
    return job->acknowledged_us && job->counted_us;
}

static void on_answer(void *arg, const struct tf_error *error, struct tf_bytes body, struct tf_bytes details)
{
    struct client *client = arg;
    struct load *load = client->load;
    struct load_job *job = &load->result.jobs.items[client->job];
    (void)body, (void)details;
    client->call = NULL;
    if (error->code != TF_OK) {
        if (!load->ending)
            fail(load, "a submit failed", error->text);
        return;
    }
    job->acknowledged_us = clock_us(CLOCK_MONOTONIC);
    load->result.acknowledged++;
    if (is_complete(job))
        move_on(client);
}

/* The place of a job in the list is in its uid, so that an event finds it at once. */
static struct tf_uid make_uid(struct load *load, size_t at)
{
    struct tf_uid uid;
    uint64_t words[2] = {tf_rng_next(&load->rng), at};
    memcpy(uid.bytes, words, sizeof uid.bytes);
    return uid;
}

static void make_request(const struct load *load, size_t at, struct tf_request *request)
{
    struct tf_job_manifest *manifest = &request->submit.manifest;
    *request = (struct tf_request){.method = TF_METHOD_SUBMIT};
    request->submit.uid = load->result.jobs.items[at].uid;
    tf_job_manifest_init(manifest);
    tf_str_set(&manifest->tenant, "bench");
    manifest->name = tf_asprintf("job-%" PRIu64 "-%07zu", load->options.seed, at);
    tf_str_set(&manifest->spec.priority, "batch");
    manifest->spec.elastic = (struct tf_elastic){1, 1, 1};
    manifest->spec.group.shape.gpus = 1;
    manifest->spec.group.shape.cpu = 100;
    manifest->spec.group.shape.memory = 16;
    tf_strs_copy(&manifest->spec.group.command, load->options.command);
    tf_job_spec_fill(&manifest->spec);
}

static void submit_next(struct client *client)
{
    struct load *load = client->load;
    struct tf_request request;
    struct tf_buf bytes = TF_BUF_INIT;
    struct tf_error err = TF_ERROR_INIT;
    size_t at = load->result.jobs.count;
    if (at >= load->options.jobs_max) {
        load->ending = true;
        return;
    }
    struct load_job *job = tf_vec_add(&load->result.jobs);
    job->uid = make_uid(load, at);
    tf_vec_push(&load->client_of, (uint32_t)(client - load->clients));
    client->job = at;
    load->under_way++;
    make_request(load, at, &request);
    if (tf_wire_request_pack(&request, &bytes, &err))
        fail(load, "a submit cannot be packed", err.text);
    tf_request_release(&request);
    job->submitted_us = clock_us(CLOCK_MONOTONIC);
    client->call =
        tf_unary_start(load->channel, tf_method_path(TF_METHOD_SUBMIT), &bytes, CALL_MS, on_answer, client);
}

/* ---- watching ---- */

static void take_view(struct load *load, const struct tf_job_view *view)
{
    uint64_t at;
    memcpy(&at, view->uid.bytes + sizeof at, sizeof at);
    if (at >= load->result.jobs.count || !tf_uid_eq(view->uid, load->result.jobs.items[at].uid))
        return;
    struct load_job *job = &load->result.jobs.items[at];
    if (view->phase == TF_PHASE_FAILED)
        fail(load, "a job failed", view->message ? view->message : "");
    bool far = view->phase >= load->options.until && view->phase != TF_PHASE_HELD;
    if (!far || job->counted_us)
        return;
    job->epoch = view->epoch;
    job->counted_us = clock_us(CLOCK_MONOTONIC);
    load->result.counted++;
    if (is_complete(job))
        move_on(&load->clients[load->client_of.items[at]]);
}

static void on_event(void *arg, struct tf_stream *stream, struct tf_bytes body)
{
    struct load *load = arg;
    struct tf_reply reply;
    struct tf_error err = TF_ERROR_INIT;
    (void)stream;
    if (tf_wire_reply_unpack(TF_METHOD_WATCH, body.data, body.len, &reply, &err)) {
        fail(load, "a change cannot be read", err.text);
        return;
    }
    load->synced |= reply.watch.kind == TF_WATCH_SYNCED;
    if (reply.watch.kind == TF_WATCH_JOB)
        take_view(load, &reply.watch.job);
    tf_reply_release(&reply);
}

static void on_over(void *arg, struct tf_stream *stream, const struct tf_error *error,
                    struct tf_bytes details)
{
    struct load *load = arg;
    (void)stream, (void)details;
    load->watch = NULL;
    if (!load->ending)
        fail(load, "the watch ended", error->text);
}

static bool watch(struct load *load)
{
    static const struct tf_stream_events events = {.message = on_event, .ended = on_over};
    const struct tf_request request = {.method = TF_METHOD_WATCH, .watch = {.changes_only = true}};
    struct tf_buf bytes = TF_BUF_INIT;
    struct tf_error err = TF_ERROR_INIT;
    if (tf_wire_request_pack(&request, &bytes, &err)) {
        fail(load, "a watch cannot be packed", err.text);
        return false;
    }
    load->watch =
        tf_stream_open(load->channel, tf_method_path(TF_METHOD_WATCH), TF_RPC_NO_TIMEOUT, &events, load);
    tf_stream_write(load->watch, &bytes);
    tf_stream_half_close(load->watch);
    int64_t deadline = test_now_ms() + CALL_MS;
    while (!load->synced && !load->failed && test_now_ms() < deadline)
        tf_loop_turn(load->loop, 100);
    if (!load->synced)
        fail(load, "the watch", "it shows nothing");
    return !load->failed;
}

/* ---- running ---- */

static void begin(struct load *load)
{
    load->began_us = clock_us(CLOCK_MONOTONIC);
    load->cpu_us = clock_us(CLOCK_PROCESS_CPUTIME_ID);
    load->moved_ms = test_now_ms();
    for (size_t i = 0; i < load->options.in_flight; i++)
        submit_next(&load->clients[i]);
}

static void turn_until(struct load *load, int64_t end)
{
    while (!load->failed && !load->ending && test_now_ms() < end) {
        tf_loop_turn(load->loop, 100);
        if (test_now_ms() > load->moved_ms + STILL_MS)
            fail(load, "no job moves", "for half a minute");
    }
}

bool load_run(struct load *load)
{
    begin(load);
    turn_until(load, test_now_ms() + load->options.seconds * 1000);
    load->ending = true;
    int64_t end = test_now_ms() + LAST_MS;
    while (load->under_way && !load->failed && test_now_ms() < end)
        tf_loop_turn(load->loop, 100);
    if (load->under_way)
        fail(load, "the end", "some jobs do not come so far");
    return !load->failed;
}

bool load_run_and_drop(struct load *load, int64_t ms)
{
    begin(load);
    turn_until(load, test_now_ms() + ms);
    load->ending = true;
    return !load->failed;
}

const struct load_result *load_result(const struct load *load)
{
    return &load->result;
}

static int order(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

double load_percentile_ms(const struct load_result *result, bool acknowledged, unsigned percent)
{
    TF_VEC(int64_t) took = {0};
    tf_vec_each (job, &result->jobs) {
        int64_t at = acknowledged ? job->acknowledged_us : job->counted_us;
        if (at)
            tf_vec_push(&took, at - job->submitted_us);
    }
    if (!took.count)
        return 0;
    qsort(took.items, took.count, sizeof *took.items, order);
    double ms = (double)took.items[(took.count - 1) * percent / 100] / 1000;
    tf_vec_release(&took);
    return ms;
}

/* ---- life ---- */

struct load *load_create(const struct load_options *options)
{
    struct tf_error err = TF_ERROR_INIT;
    struct load *load = tf_calloc(1, sizeof *load);
    load->options = *options;
    load->clients = tf_calloc(options->in_flight, sizeof *load->clients);
    for (size_t i = 0; i < options->in_flight; i++)
        load->clients[i].load = load;
    tf_rng_init(&load->rng, options->seed);
    const struct tf_channel_options channel = {.address = options->endpoint};
    load->loop = tf_loop_create(&err);
    load->rpc = load->loop ? tf_rpc_create(load->loop, &err) : NULL;
    load->channel = load->rpc ? tf_channel_create(load->rpc, &channel, &err) : NULL;
    if (load->channel && watch(load))
        return load;
    if (err.code != TF_OK)
        fail(load, "a client cannot start", err.text);
    load_destroy(load);
    return NULL;
}

void load_destroy(struct load *load)
{
    if (!load)
        return;
    load->ending = true;
    for (size_t i = 0; i < load->options.in_flight; i++)
        if (load->clients[i].call)
            tf_unary_cancel(load->clients[i].call);
    if (load->watch)
        tf_stream_cancel(load->watch);
    tf_channel_destroy(load->channel);
    tf_rpc_destroy(load->rpc);
    tf_loop_destroy(load->loop);
    tf_vec_release(&load->result.jobs);
    tf_vec_release(&load->client_of);
    free(load->clients);
    free(load);
}
