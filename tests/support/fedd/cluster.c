/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/fedd/cluster.h"

#include "common/base/cleanup.h"

#include <CUnit/CUnit.h>

enum { GPUS = 8 };

void fake_init(struct fake *fake, struct bench *b, const char *name, int32_t nodes)
{
    *fake = (struct fake){
        .bench = b, .name = tf_strdup(name), .protocol = TF_PROTOCOL_VERSION, .owner = 1, .nodes = nodes};
}

static void forget(struct fake *fake)
{
    tf_vec_each (entry, &fake->entries)
        tf_entry_release(entry);
    tf_vec_each (ask, &fake->asks)
        tf_ask_release(ask);
    fake->entries.count = fake->asks.count = 0;
    fake->complete = false;
    fake->ended = (struct tf_error)TF_ERROR_INIT;
}

void fake_leave(struct fake *fake)
{
    if (fake->stream)
        tf_stream_cancel(TF_STEAL(fake->stream));
    tf_channel_destroy(TF_STEAL(fake->channel));
}

void fake_release(struct fake *fake)
{
    fake_leave(fake);
    forget(fake);
    tf_vec_release(&fake->entries);
    tf_vec_release(&fake->asks);
    free(fake->name);
    *fake = (struct fake){0};
}

/* ---- up ---- */

void fake_say_bytes(struct fake *fake, const void *bytes, size_t len)
{
    struct tf_buf body = TF_BUF_INIT;
    tf_buf_add(&body, bytes, len);
    if (fake->stream)
        tf_stream_write(fake->stream, &body);
    tf_buf_release(&body);
}

void fake_say(struct fake *fake, struct tf_up *up)
{
    TF_AUTO_BUF body = TF_BUF_INIT;
    struct tf_error err = TF_ERROR_INIT;
    if (tf_wire_up_pack(up, &body, &err)) {
        fprintf(stderr, "%s\n", err.text);
        CU_FAIL_FATAL("a message up cannot be packed");
    }
    fake_say_bytes(fake, body.data, body.len);
    tf_up_release(up);
}

static void say_hello(struct fake *fake)
{
    struct tf_up up = {.kind = TF_UP_HELLO,
                       .hello = {.protocol = fake->protocol,
                                 .name = tf_strdup(fake->name),
                                 .region = tf_strdup("north"),
                                 .version = tf_strdup("test"),
                                 .engine = tf_strdup("none"),
                                 .owner_revision = fake->owner,
                                 .highest_term = fake->term,
                                 .highest_epoch = fake->highest_epoch,
                                 .capabilities = TF_CAP_NAMES_GPUS}};
    fake_say(fake, &up);
}

static void say_profile(struct fake *fake)
{
    struct tf_up up = {.kind = TF_UP_PROFILE,
                       .profile = {.full = true, .reflects_term = fake->term, .reflects_n = fake->n}};
    struct tf_profile *p = &up.profile;
    p->generation = p->base = (struct tf_generation){fake->owner, ++fake->counter};
    struct tf_node_class *class = tf_vec_add(&p->classes);
    class->model = tf_strdup("H800");
    class->gpu_memory = 80 * 1024;
    struct tf_profile_row *row = tf_vec_add(&p->rows);
    row->count = fake->nodes;
    row->claim_rank = -1;
    struct tf_level_vector free_now = {
        TF_LEVEL_FREE, {.gpus = GPUS, .slots = 64, .cpu = GPUS * 16000, .memory = GPUS * 128 * 1024}};
    tf_vec_push(&row->levels, free_now);
    p->health = (struct tf_health_counts){.nodes = fake->nodes,
                                          .ready = fake->nodes,
                                          .gpus = fake->nodes * GPUS,
                                          .free_gpus = fake->nodes * GPUS};
    fake_say(fake, &up);
}

/* ---- down ---- */

static void note_entries(struct fake *fake, struct tf_down *down)
{
    tf_vec_each (entry, &down->entries) {
        if (entry->kind == TF_ENTRY_PLACE && entry->epoch > fake->highest_epoch)
            fake->highest_epoch = entry->epoch;
        tf_vec_push(&fake->entries, *entry);
        *entry = (struct tf_entry){0};
    }
}

static void take(struct fake *fake, struct tf_down *down)
{
    fake->term = down->term;
    if (down->kind == TF_DOWN_BEGIN || down->kind == TF_DOWN_CHANGE)
        fake->n = down->n;
    note_entries(fake, down);
    if (down->kind == TF_DOWN_ASK)
        tf_ask_copy(tf_vec_add(&fake->asks), &down->ask);
    if (down->kind == TF_DOWN_END) {
        fake->complete = true;
        fake->sets++;
    }
    if (down->kind == TF_DOWN_END || down->kind == TF_DOWN_CHANGE || down->kind == TF_DOWN_WANT_PROFILE)
        say_profile(fake);
}

static void on_message(void *arg, struct tf_stream *stream, struct tf_bytes body)
{
    struct tf_down down = {0};
    (void)stream;
    CU_ASSERT_EQUAL_FATAL(tf_wire_down_unpack(body.data, body.len, &down, NULL), 0);
    take(arg, &down);
    tf_down_release(&down);
}

static void on_ended(void *arg, struct tf_stream *stream, const struct tf_error *error,
                     struct tf_bytes details)
{
    struct fake *fake = arg;
    (void)stream;
    (void)details;
    fake->stream = NULL;
    fake->ended = *error;
}

static const struct tf_stream_events events = {.message = on_message, .ended = on_ended};

void fake_dial(struct fake *fake, size_t fedd)
{
    fake_leave(fake);
    forget(fake);
    struct tf_channel_options options = {.address = fake->bench->fedds[fedd].address};
    fake->channel = tf_channel_create(fake->bench->rpc, &options, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(fake->channel);
    fake->stream = tf_stream_open(fake->channel, TF_WIRE_METHOD_ATTACH, TF_RPC_NO_TIMEOUT, &events, fake);
    say_hello(fake);
    struct tf_up listed = {.kind = TF_UP_LISTED}; /* nothing runs that was not told of */
    fake_say(fake, &listed);
}

static bool is_complete(void *arg)
{
    const struct fake *fake = arg;
    return fake->complete || !fake->stream;
}

void fake_attach(struct fake *fake, size_t fedd)
{
    fake_dial(fake, fedd);
    bool done = bench_until(fake->bench, is_complete, fake);
    if (!done || !fake->complete)
        fprintf(stderr, "%s could not attach: %s\n", fake->name, fake->ended.text);
    CU_ASSERT_TRUE_FATAL(done && fake->complete);
}

void fake_join(struct fake *fake, struct bench *b)
{
    fake_init(fake, b, "bj-a", 4);
    fake_attach(fake, 0);
}

static bool has_ended(void *arg)
{
    return ((struct fake *)arg)->stream == NULL;
}

bool fake_wait_ended(struct fake *fake)
{
    return bench_until(fake->bench, has_ended, fake);
}

void fake_take_leave(struct fake *fake)
{
    tf_stream_half_close(fake->stream);
    CU_ASSERT_TRUE_FATAL(fake_wait_ended(fake));
}

/* ---- what was noted ---- */

struct wanted {
    struct fake *fake;
    enum tf_entry_kind kind;
    uint64_t uid;
    size_t asks;
};

const struct tf_entry *fake_entry(const struct fake *fake, enum tf_entry_kind kind, uint64_t uid)
{
    tf_vec_each (entry, &fake->entries)
        if (entry->kind == kind && tf_uid_eq(entry->uid, bench_uid(uid)))
            return entry;
    return NULL;
}

static bool has_entry(void *arg)
{
    struct wanted *w = arg;
    return fake_entry(w->fake, w->kind, w->uid) != NULL;
}

const struct tf_entry *fake_wait_entry(struct fake *fake, enum tf_entry_kind kind, uint64_t uid)
{
    struct wanted w = {.fake = fake, .kind = kind, .uid = uid};
    return bench_until(fake->bench, has_entry, &w) ? fake_entry(fake, kind, uid) : NULL;
}

static bool has_ask(void *arg)
{
    struct wanted *w = arg;
    return w->fake->asks.count > w->asks;
}

const struct tf_ask *fake_wait_ask(struct fake *fake, size_t n)
{
    struct wanted w = {.fake = fake, .asks = n};
    return bench_until(fake->bench, has_ask, &w) ? &fake->asks.items[n] : NULL;
}

/* ---- reports ---- */

static struct tf_up report_about(const struct tf_entry *place)
{
    struct tf_up up = {.kind = TF_UP_REPORT, .report = {.uid = place->uid, .epoch = place->epoch}};
    up.report.tenant = tf_strdup(place->tenant);
    up.report.name = tf_strdup(place->name);
    up.report.model = tf_strdup("H800");
    up.report.size = place->size;
    up.report.accepted.ms = 1;
    return up;
}

static struct tf_up live_report(const struct fake *fake, const struct tf_entry *place, enum tf_phase phase)
{
    struct tf_up up = report_about(place);
    up.report.phase = phase;
    for (int32_t i = 0; i < place->size; i++) {
        struct tf_member *m = tf_vec_add(&up.report.members);
        m->index = (uint32_t)i;
        m->attempt = 1;
        m->node = tf_asprintf("%s-%d", fake->name, i);
        m->gpus = 1;
        m->state = phase == TF_PHASE_RUNNING ? TF_MEMBER_READY : TF_MEMBER_STARTING;
    }
    if (phase == TF_PHASE_RUNNING) {
        up.report.ready = place->size;
        up.report.started.ms = 2;
    }
    return up;
}

void fake_report(struct fake *fake, const struct tf_entry *place, enum tf_phase phase)
{
    struct tf_up up = live_report(fake, place, phase);
    fake_say(fake, &up);
}

void fake_report_gave_way(struct fake *fake, const struct tf_entry *place, int32_t times, int64_t lost)
{
    struct tf_up up = live_report(fake, place, TF_PHASE_RUNNING);
    up.report.ended.evictions = times;
    up.report.ended.lost_gpu_seconds = lost;
    fake_say(fake, &up);
}

void fake_run_job(struct fake *fake, const char *name, uint64_t uid)
{
    bench_submit(fake->bench, 0, name, uid, BENCH_PATIENCE_MS, NULL); /* its placement is what counts */
    CU_ASSERT_PTR_NOT_NULL_FATAL(fake_wait_entry(fake, TF_ENTRY_PLACE, uid));
    fake_report(fake, fake_entry(fake, TF_ENTRY_PLACE, uid), TF_PHASE_RUNNING);
    CU_ASSERT_TRUE(bench_wait_phase(fake->bench, 0, name, TF_PHASE_RUNNING));
}

void fake_end(struct fake *fake, const struct tf_entry *place, enum tf_end end)
{
    struct tf_up up = report_about(place);
    up.report.ended = (struct tf_ended){.epoch = place->epoch, .end = end, .at.ms = 3};
    if (end == TF_END_FAILED) {
        up.report.ended.exit_code = 7;
        up.report.ended.message = tf_strdup("instance 0 ended with 7");
    }
    fake_say(fake, &up);
}
