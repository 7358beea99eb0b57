/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/federation/client.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "common/loop/loop.h"
#include "common/rpc/client.h"
#include "tests/support/process.h"

#include <inttypes.h>

enum {
    TRY_MS = 1000,   /* one request at one address */
    RETRY_MS = 25,   /* between two tries */
    PAGE_SIZE = 100, /* of lists: several pages in larger tests */
};

/* A change that is repeated until it is acknowledged. */
struct change {
    struct test_client *client;
    struct test_job *job;
    enum tf_method method;
    struct tf_unary *call;
    struct tf_timer retry;
    size_t address; /* that was asked last */
    bool repeated;
};

struct test_client {
    struct tf_loop *loop;
    struct tf_rpc *rpc;
    struct tf_rng rng;
    struct tf_strs addresses;
    struct tf_channel **channels;
    size_t leader; /* index of the address that is believed to lead */
    size_t pending, repeats;
    TF_VEC(struct test_job *) jobs;
    TF_VEC(struct change *) changes;
};

/* ---- who leads ---- */

/* After a failure at that address: the leader it names, else the next one. */
static void turn_away(struct test_client *c, size_t address, struct tf_bytes details)
{
    struct tf_error_detail detail = {0};
    size_t next = (address + 1) % c->addresses.count;
    if (details.len && tf_wire_error_detail_unpack(details.data, details.len, &detail, NULL) == 0 &&
        detail.leader)
        for (size_t i = 0; i < c->addresses.count; i++)
            if (tf_str_eq(c->addresses.items[i], detail.leader))
                next = i;
    tf_error_detail_release(&detail);
    if (c->leader == address)
        c->leader = next;
}

/* The same request may have another outcome later, or already has one that we do not know. */
static bool worth_repeating(enum tf_error_code code)
{
    return code == TF_ERR_UNAVAILABLE || code == TF_ERR_UNKNOWN || code == TF_ERR_TIMEOUT;
}

/* ---- changes ---- */

static void send_change(struct change *change);

static void wait_and_send(struct change *change, int64_t ms);

static void on_retry(struct tf_timer *timer)
{
    struct change *change = TF_CONTAINER_OF(timer, struct change, retry);
    if (change->method == TF_METHOD_DELETE && !change->job->acknowledged)
        wait_and_send(change, RETRY_MS);
    else
        send_change(change);
}

static void wait_and_send(struct change *change, int64_t ms)
{
    struct tf_loop *loop = change->client->loop;
    tf_timer_start(loop, &change->retry, (struct tf_mono){tf_clock_read().mono.ms + ms}, on_retry);
}

static void repeat(struct change *change)
{
    struct test_client *c = change->client;
    change->repeated = true;
    c->repeats++;
    tf_timer_start(c->loop, &change->retry, (struct tf_mono){tf_loop_now(c->loop).mono.ms + RETRY_MS},
                   on_retry);
}

static void refuse(struct test_job *job, const char *what, const char *why)
{
    if (!job->trouble)
        job->trouble = tf_asprintf("%s: %s", what, why);
}

static void take_change(struct change *change, const struct tf_change_reply *reply)
{
    struct test_job *job = change->job;
    if (change->method == TF_METHOD_SUBMIT) {
        if (reply->outcome != TF_OUTCOME_CREATED || !tf_uid_eq(reply->uid, job->uid))
            refuse(job, "submit", "it was not answered CREATED with its own uid");
        job->acknowledged = true;
    } else {
        if (reply->outcome != TF_OUTCOME_DELETED)
            refuse(job, "delete", "it was not answered DELETED");
        job->delete_acknowledged = true;
    }
}

static void on_changed(void *arg, const struct tf_error *error, struct tf_bytes body, struct tf_bytes details)
{
    struct change *change = arg;
    struct tf_reply reply = {0};
    struct tf_error err = TF_ERROR_INIT;
    change->call = NULL;
    if (worth_repeating(error->code)) {
        turn_away(change->client, change->address, details);
        repeat(change);
        return;
    }
    change->client->pending--;
    if (error->code == TF_ERR_NOT_FOUND && change->method == TF_METHOD_DELETE && change->repeated)
        change->job->delete_acknowledged = true; /* it was done by an earlier try */
    else if (error->code != TF_OK)
        refuse(change->job, change->method == TF_METHOD_SUBMIT ? "submit" : "delete", error->text);
    else if (tf_wire_reply_unpack(change->method, body.data, body.len, &reply, &err))
        refuse(change->job, "answer", err.text);
    else
        take_change(change, &reply.change);
    tf_reply_release(&reply);
}

static void send_change(struct change *change)
{
    struct test_client *c = change->client;
    struct test_job *job = change->job;
    struct tf_request request = {.method = change->method};
    struct tf_error err = TF_ERROR_INIT;
    struct tf_buf bytes = TF_BUF_INIT;
    if (change->method == TF_METHOD_SUBMIT) {
        request.submit.uid = job->uid;
        tf_job_manifest_copy(&request.submit.manifest, &job->manifest);
    } else {
        request.job =
            (struct tf_job_ref){tf_strdup(job->manifest.tenant), tf_strdup(job->manifest.name), job->uid};
    }
    if (tf_wire_request_pack(&request, &bytes, &err)) {
        fprintf(stderr, "a request of the test cannot be packed: %s\n", err.text);
        abort();
    }
    tf_request_release(&request);
    change->address = c->leader;
    change->call = tf_unary_start(c->channels[c->leader], tf_method_path(change->method), &bytes, TRY_MS,
                                  on_changed, change);
}

static void begin_change(struct test_client *c, struct test_job *job, enum tf_method method, int64_t after_ms)
{
    struct change *change = tf_calloc(1, sizeof *change);
    *change = (struct change){.client = c, .job = job, .method = method};
    tf_vec_push(&c->changes, change);
    c->pending++;
    wait_and_send(change, after_ms);
}

struct test_job *test_client_submit(struct test_client *c, struct tf_job_manifest *manifest,
                                    enum tf_phase end)
{
    struct test_job *job = tf_calloc(1, sizeof *job);
    job->manifest = *manifest;
    *manifest = (struct tf_job_manifest){0};
    job->end = end;
    tf_job_spec_fill(&job->manifest.spec);
    for (size_t i = 0; i < TF_UID_BYTES; i += sizeof(uint64_t)) {
        uint64_t word = tf_rng_next(&c->rng);
        memcpy(job->uid.bytes + i, &word, sizeof word);
    }
    tf_vec_push(&c->jobs, job);
    begin_change(c, job, TF_METHOD_SUBMIT, 0);
    return job;
}

void test_client_delete_after(struct test_client *c, struct test_job *job, int64_t ms)
{
    job->delete_asked = true;
    begin_change(c, job, TF_METHOD_DELETE, ms);
}

void test_client_delete(struct test_client *c, struct test_job *job)
{
    test_client_delete_after(c, job, 0);
}

void test_client_turn(struct test_client *c, int64_t ms)
{
    int64_t end = test_now_ms() + ms, left = ms;
    do {
        tf_loop_turn(c->loop, left);
        left = end - test_now_ms();
    } while (left > 0);
}

size_t test_client_pending(const struct test_client *c)
{
    return c->pending;
}

size_t test_client_repeats(const struct test_client *c)
{
    return c->repeats;
}

size_t test_client_jobs(const struct test_client *c)
{
    return c->jobs.count;
}

struct test_job *test_client_job(struct test_client *c, size_t i)
{
    return c->jobs.items[i];
}

/* ---- questions ---- */

static int ask_at(struct test_client *c, size_t address, const struct tf_request *request, int64_t timeout_ms,
                  struct tf_reply *reply, struct tf_buf *details, struct tf_error *err)
{
    TF_AUTO_BUF bytes = TF_BUF_INIT;
    TF_AUTO_BUF body = TF_BUF_INIT;
    if (tf_wire_request_pack(request, &bytes, err) ||
        tf_unary_wait(c->channels[address], tf_method_path(request->method), &bytes, timeout_ms, &body,
                      details, err))
        return -1;
    return tf_wire_reply_unpack(request->method, body.data, body.len, reply, err);
}

int test_client_status(struct test_client *c, size_t address, int64_t timeout_ms, struct tf_reply *reply)
{
    const struct tf_request request = {.method = TF_METHOD_STATUS};
    TF_AUTO_BUF details = TF_BUF_INIT;
    *reply = (struct tf_reply){0};
    return ask_at(c, address, &request, timeout_ms, reply, &details, NULL);
}

static int ask_once(struct test_client *c, const struct tf_request *request, int64_t timeout_ms,
                    struct tf_reply *reply, struct tf_error *err)
{
    TF_AUTO_BUF details = TF_BUF_INIT;
    size_t address = c->leader;
    if (ask_at(c, address, request, timeout_ms, reply, &details, err) == 0)
        return 0;
    turn_away(c, address, (struct tf_bytes){details.data, details.len});
    return -1;
}

int test_client_ask(struct test_client *c, const struct tf_request *request, int64_t timeout_ms,
                    struct tf_reply *reply, struct tf_error *err)
{
    int64_t deadline = test_now_ms() + timeout_ms;
    for (;;) {
        struct tf_error trouble = TF_ERROR_INIT;
        int64_t left = deadline - test_now_ms();
        *reply = (struct tf_reply){0};
        if (ask_once(c, request, left < TRY_MS && left > 0 ? left : TRY_MS, reply, &trouble) == 0)
            return 0;
        if (!worth_repeating(trouble.code) || test_now_ms() >= deadline)
            return tf_error_set(err, trouble.code, "%s", trouble.text);
        test_client_turn(c, RETRY_MS);
    }
}

static void note(struct test_client *c, const struct tf_job_view *view)
{
    tf_vec_each (p, &c->jobs) {
        struct test_job *job = *p;
        if (!tf_uid_eq(job->uid, view->uid))
            continue;
        job->listed = true;
        job->phase = view->phase;
        job->epoch = view->epoch;
        job->exit_code = view->exit_code;
        job->ready = view->ready;
        tf_str_set(&job->cluster, view->cluster);
    }
}

int test_client_look(struct test_client *c, int64_t timeout_ms, struct tf_error *err)
{
    int64_t deadline = test_now_ms() + timeout_ms;
    TF_AUTO_FREE char *token = NULL;
    tf_vec_each (job, &c->jobs)
        (*job)->listed = false;
    do {
        struct tf_request request = {.method = TF_METHOD_LIST, .list = {.page_size = PAGE_SIZE}};
        struct tf_reply reply;
        request.list.page_token = TF_STEAL(token);
        int failed = test_client_ask(c, &request, deadline - test_now_ms(), &reply, err);
        tf_request_release(&request);
        if (failed)
            return -1;
        tf_vec_each (view, &reply.list.jobs)
            note(c, view);
        token = TF_STEAL(reply.list.next_token);
        tf_reply_release(&reply);
    } while (token);
    return 0;
}

static size_t attached(const struct tf_clusters_reply *clusters)
{
    size_t count = 0;
    tf_vec_each (cluster, &clusters->clusters)
        count += cluster->attached && cluster->health.nodes > 0;
    return count;
}

bool test_client_wait_clusters(struct test_client *c, size_t count, int64_t timeout_ms)
{
    int64_t deadline = test_now_ms() + timeout_ms;
    const struct tf_request request = {.method = TF_METHOD_LIST_CLUSTERS};
    size_t there = 0;
    while (there != count && test_now_ms() < deadline) {
        struct tf_reply reply;
        if (test_client_ask(c, &request, deadline - test_now_ms(), &reply, NULL) == 0) {
            there = attached(&reply.clusters);
            tf_reply_release(&reply);
        }
        if (there != count)
            test_client_turn(c, RETRY_MS);
    }
    return there == count;
}

static bool has_ended(const struct test_job *job)
{
    if (job->delete_asked)
        return !job->listed || job->phase == TF_PHASE_DELETED;
    return job->listed && (job->phase == TF_PHASE_SUCCEEDED || job->phase == TF_PHASE_FAILED);
}

bool test_client_all_ended(struct test_client *c)
{
    tf_vec_each (job, &c->jobs)
        if (!has_ended(*job))
            return false;
    return c->pending == 0;
}

/* ---- life ---- */

struct test_client *test_client_create(const struct tf_strs *addresses, uint64_t seed)
{
    struct tf_error err = TF_ERROR_INIT;
    struct test_client *c = tf_calloc(1, sizeof *c);
    tf_rng_init(&c->rng, seed);
    tf_strs_copy(&c->addresses, addresses);
    c->channels = tf_calloc(addresses->count, sizeof(struct tf_channel *));
    c->loop = tf_loop_create(&err);
    c->rpc = c->loop ? tf_rpc_create(c->loop, &err) : NULL;
    for (size_t i = 0; c->rpc && i < addresses->count; i++) {
        const struct tf_channel_options options = {.address = addresses->items[i]};
        c->channels[i] = tf_channel_create(c->rpc, &options, &err);
    }
    if (err.code != TF_OK) {
        fprintf(stderr, "the test's client cannot start: %s\n", err.text);
        abort();
    }
    return c;
}

static void drop_change(struct test_client *c, struct change *change)
{
    if (change->call)
        tf_unary_cancel(change->call);
    tf_timer_cancel(c->loop, &change->retry);
    free(change);
}

static void drop_job(struct test_job *job)
{
    tf_job_manifest_release(&job->manifest);
    free(job->trouble);
    free(job->cluster);
    free(job);
}

void test_client_destroy(struct test_client *c)
{
    if (!c)
        return;
    tf_vec_each (change, &c->changes)
        drop_change(c, *change);
    tf_vec_release(&c->changes);
    for (size_t i = 0; i < c->addresses.count; i++)
        tf_channel_destroy(c->channels[i]);
    free(c->channels);
    tf_rpc_destroy(c->rpc);
    tf_loop_destroy(c->loop);
    tf_vec_each (job, &c->jobs)
        drop_job(*job);
    tf_vec_release(&c->jobs);
    tf_strs_release(&c->addresses);
    free(c);
}
