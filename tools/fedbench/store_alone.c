/* SPDX-License-Identifier: Apache-2.0 */
/* What a federation could do at best if its daemons cost nothing: the records of its jobs, as many and as
 * large as they were, in full transactions through the guards of two prefixes, both at a time. */
#include "common/base/rng.h"
#include "common/store/etcd.h"
#include "common/store/guard_loop.h"
#include "tests/support/process.h"
#include "tools/fedbench/run.h"

#include <inttypes.h>

enum { KEY_ROOM = 64, TTL_MS = 5000, WAIT_MS = 30000, KEYS = 20000 };

struct writer {
    struct tf_loop *loop;
    struct tf_store *store;
    struct tf_guard_loop on;
    struct tf_guard *guard;
    char *value;
    size_t bytes;
    bool held, failed, idle;
    uint64_t next, records;
    int64_t ends_ms;
};

static void commit(struct writer *w);

static void committed(void *cookie, const struct tf_error *error)
{
    struct writer *w = cookie;
    w->idle = true;
    w->failed |= error->code != TF_OK;
    if (w->failed)
        fprintf(stderr, "fedbench: the store alone: %s\n", error->text);
    else
        w->records += TF_GUARD_WRITES_MAX;
    if (!w->failed && test_now_ms() < w->ends_ms)
        commit(w);
}

static void commit(struct writer *w)
{
    char keys[TF_GUARD_WRITES_MAX][KEY_ROOM];
    struct tf_store_write writes[TF_GUARD_WRITES_MAX];
    struct tf_error err = TF_ERROR_INIT;
    for (size_t i = 0; i < TF_GUARD_WRITES_MAX; i++) {
        snprintf(keys[i], KEY_ROOM, "/alone/jobs/bench/job-%07" PRIu64, w->next++ % KEYS);
        writes[i] = (struct tf_store_write){.key = tf_bytes_of(keys[i]), .value = {w->value, w->bytes}};
    }
    w->idle = false;
    if (tf_guard_commit(w->guard, writes, TF_GUARD_WRITES_MAX, committed, w, &err) == 0)
        return;
    fprintf(stderr, "fedbench: the store alone: %s\n", err.text);
    w->failed = w->idle = true;
}

static void guard_event(void *ctx, const struct tf_guard_event *event)
{
    struct writer *w = ctx;
    w->held = event->kind == TF_GUARD_HELD;
    w->failed |= event->kind == TF_GUARD_DEPOSED;
}

static bool open_writer(struct writer *w, struct tf_loop *loop, const char *endpoint, size_t bytes)
{
    struct tf_rng rng;
    struct tf_error err = TF_ERROR_INIT;
    const struct tf_etcd_options etcd = {.endpoints = &endpoint, .endpoint_count = 1};
    *w = (struct writer){.loop = loop, .bytes = bytes, .idle = true};
    w->value = tf_malloc(bytes + 1);
    tf_rng_init(&rng, 1);
    for (size_t i = 0; i < bytes; i++)
        w->value[i] = (char)tf_rng_next(&rng);
    w->store = tf_etcd_store_create(loop, &etcd, &err);
    const struct tf_guard_options options = {.store = w->store,
                                             .prefix = "/alone/",
                                             .owner_name = "leader",
                                             .owner_value = tf_bytes_of("fedbench"),
                                             .ttl_ms = TTL_MS,
                                             .event = guard_event,
                                             .event_ctx = w};
    w->guard = w->store ? tf_guard_on_loop(&w->on, loop, &options, &err) : NULL;
    if (!w->guard) {
        fprintf(stderr, "fedbench: the store alone: %s\n", err.text);
        return false;
    }
    tf_guard_acquire(w->guard);
    int64_t deadline = test_now_ms() + WAIT_MS;
    while (!w->held && !w->failed && test_now_ms() < deadline)
        tf_loop_turn(loop, 100);
    return w->held;
}

static void close_writer(struct writer *w)
{
    tf_guard_destroy(w->guard);
    tf_store_destroy(w->store);
    free(w->value);
}

static bool run(struct writer w[2], int64_t seconds)
{
    for (int i = 0; i < 2; i++) {
        w[i].ends_ms = test_now_ms() + seconds * 1000;
        commit(&w[i]);
    }
    int64_t deadline = test_now_ms() + seconds * 1000 + WAIT_MS;
    while (!(w[0].idle && w[1].idle) && test_now_ms() < deadline)
        tf_loop_turn(w[0].loop, 100);
    return w[0].idle && w[1].idle && !w[0].failed && !w[1].failed;
}

double run_store_alone(const struct run_store_work *work, int64_t seconds)
{
    struct writer w[2] = {{0}, {0}};
    double rate = 0;
    struct tf_loop *loop = tf_loop_create(NULL);
    if (open_writer(&w[0], loop, work->federation, work->federation_bytes) &&
        open_writer(&w[1], loop, work->local, work->local_bytes)) {
        int64_t began = test_now_ms();
        if (run(w, seconds)) {
            double took = (double)(test_now_ms() - began) / 1000;
            double federation = (double)w[0].records / took / work->federation_records;
            double local = (double)w[1].records / took / work->local_records;
            rate = federation < local ? federation : local;
        }
    }
    close_writer(&w[0]);
    close_writer(&w[1]);
    tf_loop_destroy(loop);
    return rate;
}
