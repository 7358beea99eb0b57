/* SPDX-License-Identifier: Apache-2.0 */
/* A leader in a few lines: one subcluster, desired state as the test says it, ends stored in memory. */
#include "tests/integration/subclusterd/leader.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "common/model/settings.h"
#include "common/wire/attach.h"
#include "tests/support/suite.h"

#include <sys/random.h>

/* ---- down ---- */

void world_send_bytes(struct world *w, const void *bytes, size_t len)
{
    TF_AUTO_BUF body = TF_BUF_INIT;
    tf_buf_add(&body, bytes, len);
    if (w->stream)
        tf_stream_write(w->stream, &body);
}

static void send(struct world *w, struct tf_down *down)
{
    TF_AUTO_BUF body = TF_BUF_INIT;
    struct tf_error err = TF_ERROR_INIT;
    down->term = w->term;
    if (tf_wire_down_pack(down, &body, &err))
        fprintf(stderr, "the test's leader: %s\n", err.text);
    CU_ASSERT_TRUE_FATAL(body.len > 0);
    world_send_bytes(w, body.data, body.len);
    tf_down_release(down);
}

static void send_change(struct world *w, const struct tf_entry *entry)
{
    struct tf_down down = {.kind = TF_DOWN_CHANGE, .n = ++w->n};
    struct tf_entry *copy = tf_vec_add(&down.entries);
    tf_entry_copy(copy, entry);
    send(w, &down);
}

/* What is wanted of an epoch; the place stays wanted until its end is stored. */
static void add_wanted(struct tf_down *down, const struct world_epoch *epoch)
{
    if (epoch->stored)
        return;
    struct tf_entry *entry = tf_vec_add(&down->entries);
    tf_entry_copy(entry, &epoch->entry);
    if (epoch->release == TF_RELEASE_NONE)
        return;
    entry = tf_vec_add(&down->entries);
    *entry = (struct tf_entry){.kind = TF_ENTRY_RELEASE,
                               .uid = epoch->entry.uid,
                               .epoch = epoch->entry.epoch,
                               .release = epoch->release};
}

static void send_full_set(struct world *w)
{
    struct tf_down begin = {.kind = TF_DOWN_BEGIN, .n = w->n}, part = {.kind = TF_DOWN_PART, .n = w->n},
                   end = {.kind = TF_DOWN_END, .n = w->n};
    tf_vec_each (epoch, &w->epochs)
        add_wanted(&part, epoch);
    tf_policy_init(&begin.policy);
    begin.policy.version = 1;
    begin.policy.repair_wait =
        TF_SECOND; /* what has lost all that ran of it ends then, and a test waits for that */
    begin.count = part.entries.count;
    send(w, &begin);
    send(w, &part);
    send(w, &end);
}

/* ---- up ---- */

static void take_report(struct world *w, const struct tf_report *report)
{
    struct world_epoch *epoch = world_epoch(w, report->epoch);
    bool ended = report->ended.end != TF_END_NONE;
    if (epoch) {
        CU_ASSERT_TRUE(tf_uid_eq(epoch->entry.uid, report->uid));
        epoch->reported = true;
        tf_report_copy(&epoch->report, report);
        epoch->was_running |= report->phase == TF_PHASE_RUNNING;
        if (report->ready > epoch->ready_most)
            epoch->ready_most = report->ready;
        epoch->stored |= ended && !w->keeps_ends;
    }
    if (!ended || w->keeps_ends)
        return;
    const struct tf_entry stored = {.kind = TF_ENTRY_STORED, .uid = report->uid, .epoch = report->epoch};
    send_change(w, &stored);
}

static void take_profile(struct world *w, struct tf_profile *profile)
{
    w->profiles++;
    w->health = profile->health;
    if (!profile->full)
        return;
    w->full_profiles++;
    tf_profile_release(&w->profile);
    w->profile = *profile;
    *profile = (struct tf_profile){0};
}

static void take(struct world *w, struct tf_up *up)
{
    switch (up->kind) {
    case TF_UP_HELLO:
        tf_hello_copy(&w->hello, &up->hello);
        w->attaches++;
        send_full_set(w);
        break;
    case TF_UP_PROFILE:
        take_profile(w, &up->profile);
        break;
    case TF_UP_REPORT:
        take_report(w, &up->report);
        break;
    case TF_UP_LISTED:
        w->listed = true;
        break;
    case TF_UP_ANSWER:
        w->answer_code = up->answer.code;
        tf_nodes_reply_release(&w->nodes);
        CU_ASSERT_EQUAL(tf_wire_nodes_unpack(up->answer.data, up->answer.len, &w->nodes, NULL), 0);
        w->answered = up->answer.id;
        break;
    case TF_UP_STORE:
        tf_str_set(&w->store_trouble, up->store.text);
        break;
    case TF_UP_NONE:
    case TF_UP_FENCE:
        break;
    }
}

static void on_up(void *arg, struct tf_stream *stream, struct tf_bytes body)
{
    struct world *w = arg;
    struct tf_up up = {0};
    struct tf_error err = TF_ERROR_INIT;
    if (tf_wire_up_unpack(body.data, body.len, &up, &err))
        fprintf(stderr, "the test's leader: %s\n", err.text);
    CU_ASSERT_NOT_EQUAL(up.kind, TF_UP_NONE);
    if (up.kind == TF_UP_HELLO)
        w->stream = stream; /* in the place of any other */
    if (w->stream == stream)
        take(w, &up);
    tf_up_release(&up);
}

static void on_over(struct world *w, struct tf_stream *stream)
{
    if (w->stream == stream)
        w->stream = NULL;
}

static void on_up_closed(void *arg, struct tf_stream *stream)
{
    struct world *w = arg;
    w->leaves++;
    on_over(w, stream);
    tf_stream_finish(stream, NULL, (struct tf_bytes){0});
}

static void on_up_ended(void *arg, struct tf_stream *stream, const struct tf_error *error,
                        struct tf_bytes details)
{
    (void)error, (void)details;
    on_over(arg, stream);
}

static const struct tf_stream_events up_events = {
    .message = on_up, .half_closed = on_up_closed, .ended = on_up_ended};

static void on_attach(void *arg, struct tf_stream *stream)
{
    tf_stream_accept(stream, &up_events, arg);
}

static void on_status(void *arg, struct tf_call *call, struct tf_bytes request)
{
    struct world *w = arg;
    TF_AUTO_BUF body = TF_BUF_INIT;
    struct tf_error err = TF_ERROR_INIT;
    struct tf_reply reply = {.method = TF_METHOD_STATUS};
    (void)request;
    reply.status.leads = reply.status.open = !w->refuses;
    reply.status.leader = tf_strdup(w->refuses ? w->leader : w->address);
    reply.status.version = tf_strdup("test");
    reply.status.store = tf_strdup("ok");
    CU_ASSERT_EQUAL(tf_wire_reply_pack(&reply, &body, &err), 0);
    tf_reply_release(&reply);
    tf_call_reply(call, &body);
}

/* ---- output ---- */

struct world_output *world_output(struct world *w, uint64_t ask)
{
    tf_vec_each (output, &w->outputs)
        if (output->ask == ask)
            return output;
    return NULL;
}

static void on_chunk(void *arg, struct tf_stream *stream, struct tf_bytes body)
{
    struct world *w = arg;
    struct tf_log_chunk chunk = {0};
    (void)stream;
    CU_ASSERT_EQUAL(tf_wire_log_chunk_unpack(body.data, body.len, &chunk, NULL), 0);
    struct world_output *output = world_output(w, chunk.ask);
    CU_ASSERT_PTR_NOT_NULL(output);
    if (output && chunk.len)
        tf_buf_add(&output->bytes, chunk.data, chunk.len);
    if (output && chunk.error)
        tf_str_set(&output->error, chunk.error);
    tf_log_chunk_release(&chunk);
}

/* Streams are not told apart: tests ask for one at a time. */
static void all_ended(struct world *w)
{
    tf_vec_each (output, &w->outputs)
        output->ended = true;
}

static void on_chunks_closed(void *arg, struct tf_stream *stream)
{
    all_ended(arg);
    tf_stream_finish(stream, NULL, (struct tf_bytes){0});
}

static void on_chunks_ended(void *arg, struct tf_stream *stream, const struct tf_error *error,
                            struct tf_bytes details)
{
    (void)stream, (void)error, (void)details;
    all_ended(arg);
}

static const struct tf_stream_events chunk_events = {
    .message = on_chunk, .half_closed = on_chunks_closed, .ended = on_chunks_ended};

static void on_push(void *arg, struct tf_stream *stream)
{
    tf_stream_accept(stream, &chunk_events, arg);
}

uint64_t world_ask_logs(struct world *w, uint64_t epoch, uint32_t index, bool follow, int64_t tail)
{
    struct tf_down down = {.kind = TF_DOWN_ASK};
    down.ask = (struct tf_ask){.id = ++w->next_ask,
                               .kind = TF_ASK_LOGS,
                               .uid = world_epoch(w, epoch)->entry.uid,
                               .epoch = epoch,
                               .index = index,
                               .follow = follow,
                               .tail_bytes = tail};
    down.ask.attempt = w->attempt;
    struct world_output *output = tf_vec_add(&w->outputs);
    output->ask = w->next_ask;
    send(w, &down);
    return w->next_ask;
}

void world_ask_nodes(struct world *w)
{
    struct tf_down down = {.kind = TF_DOWN_ASK};
    down.ask = (struct tf_ask){.id = ++w->next_ask, .kind = TF_ASK_NODES};
    send(w, &down);
}

void world_ask_cordon(struct world *w, const char *node, uint64_t gpus, bool on)
{
    struct tf_down down = {.kind = TF_DOWN_ASK};
    down.ask = (struct tf_ask){.id = ++w->next_ask,
                               .kind = TF_ASK_CORDON,
                               .node = tf_strdup(node),
                               .gpus = gpus,
                               .on = on,
                               .reason = tf_strdup("a test")};
    send(w, &down);
}

void world_ask_confirm_lost(struct world *w, const char *node)
{
    struct tf_down down = {.kind = TF_DOWN_ASK};
    down.ask = (struct tf_ask){.id = ++w->next_ask,
                               .kind = TF_ASK_CONFIRM_LOST,
                               .node = tf_strdup(node),
                               .reason = tf_strdup("a test")};
    send(w, &down);
}

/* ---- what the test wants ---- */

struct tf_entry *world_job(struct world *w, int32_t n, const char *script)
{
    struct world_epoch *epoch = tf_vec_add(&w->epochs);
    struct tf_entry *entry = &epoch->entry;
    struct tf_job_spec *spec = tf_spec_own(&entry->spec);
    struct tf_group *group = &spec->group;
    uint64_t number = ++w->next_epoch;
    entry->kind = TF_ENTRY_PLACE;
    entry->epoch = number;
    entry->uid = w->uid;
    for (size_t i = 0; i < 8; i++)
        entry->uid.bytes[15 - i] = (uint8_t)(number >> 8 * i);
    entry->tenant = tf_strdup("team");
    entry->name = tf_asprintf("job-%llu", (unsigned long long)number);
    entry->size = n;
    entry->model = tf_strdup("H800");
    entry->submitted = tf_clock_read().wall;
    tf_job_spec_init(spec);
    spec->priority = tf_strdup("batch");
    spec->elastic = (struct tf_elastic){n, n, n};
    spec->retry_backoff = 100;
    group->shape.gpus = 1;
    group->shape.cpu = 1000;
    group->shape.memory = 64;
    group->grace = 2000;
    tf_strs_add(&group->command, "/bin/sh");
    tf_strs_add(&group->command, "-c");
    tf_strs_add(&group->command, script);
    tf_pairs_set(&group->env, "WORLD", w->dir);
    tf_job_spec_fill(spec);
    return entry;
}

uint64_t world_place(struct world *w)
{
    const struct world_epoch *epoch = &w->epochs.items[w->epochs.count - 1];
    if (w->stream)
        send_change(w, &epoch->entry);
    return epoch->entry.epoch;
}

uint64_t world_run(struct world *w, int32_t n, const char *script)
{
    world_job(w, n, script);
    return world_place(w);
}

void world_release(struct world *w, uint64_t number, enum tf_release release)
{
    struct world_epoch *epoch = world_epoch(w, number);
    epoch->release = release;
    const struct tf_entry entry = {
        .kind = TF_ENTRY_RELEASE, .uid = epoch->entry.uid, .epoch = number, .release = release};
    if (w->stream)
        send_change(w, &entry);
}

struct world_epoch *world_epoch(struct world *w, uint64_t number)
{
    tf_vec_each (epoch, &w->epochs)
        if (epoch->entry.epoch == number)
            return epoch;
    return NULL;
}

enum tf_end world_end_of(struct world *w, uint64_t epoch)
{
    return world_epoch(w, epoch)->report.ended.end;
}

bool world_is_running(struct world *w, uint64_t epoch)
{
    const struct tf_report *report = &world_epoch(w, epoch)->report;
    return report->phase == TF_PHASE_RUNNING && report->ready == report->size;
}

void world_cut(struct world *w)
{
    struct tf_error error = TF_ERROR_INIT;
    if (!w->stream)
        return;
    tf_error_set(&error, TF_ERR_UNAVAILABLE, "the test cuts the stream");
    tf_stream_finish(TF_STEAL(w->stream), &error, (struct tf_bytes){0});
}

/* ---- life ---- */

void leader_begin(struct world *w)
{
    struct tf_error err = TF_ERROR_INIT;
    const struct tf_server_options options = {.address = "127.0.0.1:0"};
    CU_ASSERT_EQUAL_FATAL(getrandom(&w->uid, sizeof w->uid, 0), (ssize_t)sizeof w->uid);
    w->loop = tf_loop_create(&err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(w->loop);
    w->rpc = tf_rpc_create(w->loop, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(w->rpc);
    w->server = tf_server_create(w->rpc, &options, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(w->server);
    w->address = tf_asprintf("127.0.0.1:%d", tf_server_port(w->server));
    tf_server_stream(w->server, TF_WIRE_METHOD_ATTACH, on_attach, w);
    tf_server_stream(w->server, TF_WIRE_METHOD_PUSH_LOGS, on_push, w);
    tf_server_unary(w->server, tf_method_path(TF_METHOD_STATUS), on_status, w);
    tf_server_start(w->server);
}

void leader_end(struct world *w)
{
    tf_server_destroy(w->server);
    tf_rpc_destroy(w->rpc);
    tf_loop_destroy(w->loop);
    tf_vec_each (epoch, &w->epochs) {
        tf_entry_release(&epoch->entry);
        tf_report_release(&epoch->report);
    }
    tf_vec_release(&w->epochs);
    tf_vec_each (output, &w->outputs) {
        tf_buf_release(&output->bytes);
        free(output->error);
    }
    tf_vec_release(&w->outputs);
    tf_hello_release(&w->hello);
    free(w->store_trouble);
    tf_profile_release(&w->profile);
    tf_nodes_reply_release(&w->nodes);
    free(w->address);
    free(w->leader);
}
