/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of attach.proto. */
#include "common/wire/attach.h"

#include "common/base/cleanup.h"
#include "common/wire/api.h"
#include "common/wire/tables.h"

#include "attach.pb-c.h"

enum { ENTRIES_MAX = 65536, ENTRY_HEAD = 8, COUNTS_MAX = 1 << 30 };

#define MODEL struct tf_hello
#define WIRE Tidefed__V1__Hello
static const struct tf_wire_row hello_rows[] = {
    WIRE_UINT32(protocol, UINT32_MAX),
    WIRE_NAME(name, TF_WIRE_REQUIRED),
    WIRE_STRING(region),
    WIRE_STRING(version),
    WIRE_PAIRS(labels),
    WIRE_COUNTER(owner_revision),
    WIRE_OBJECT(highest_term, tf_wire_term, 0),
    WIRE_COUNTER(highest_epoch),
    WIRE_UINT32(capabilities, UINT32_MAX),
    WIRE_STRING(engine),
};
const struct tf_wire_table tf_wire_hello = WIRE_TABLE(hello_rows, tidefed__v1__hello__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_report
#define WIRE Tidefed__V1__Report
static const struct tf_wire_row report_rows[] = {
    WIRE_UID(uid, TF_WIRE_REQUIRED),
    WIRE_COUNTER(epoch),
    WIRE_NAME(tenant, 0),
    WIRE_NAME(name, 0),
    WIRE_ENUM(phase, 0, TF_PHASE_DELETED),
    WIRE_OBJECT(ended, tf_wire_ended, 0),
    WIRE_STRING(model),
    WIRE_INT32(size, 0, TF_INSTANCES_MAX),
    WIRE_INT32(ready, 0, TF_INSTANCES_MAX),
    WIRE_WALL(accepted),
    WIRE_WALL(started),
    WIRE_INT32(retries_used, 0, COUNTS_MAX),
    WIRE_INT32(restarts, 0, COUNTS_MAX),
    WIRE_CUSTOM(members, tf_wire_members),
    WIRE_INT32(unreachable, 0, TF_INSTANCES_MAX),
    WIRE_COUNTER(successor),
    WIRE_COUNTER(declined),
    WIRE_COUNTER(predecessor),
    WIRE_WALL(checkpoint),
    WIRE_DURATION(restart_took),
    WIRE_UINT32(noted, UINT32_MAX),
    WIRE_LIST(notes, tf_wire_note, TF_NOTES_MAX),
};
const struct tf_wire_table tf_wire_report = WIRE_TABLE(report_rows, tidefed__v1__report__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_answer
#define WIRE Tidefed__V1__Answer
static const struct tf_wire_row answer_rows[] = {
    WIRE_COUNTER(id),
    WIRE_BYTES(data, len, TF_WIRE_STREAM_MAX),
    WIRE_INT32(code, 0, TF_ERR_BUG),
    WIRE_TEXT(text, TF_WIRE_MESSAGE_MAX),
};
const struct tf_wire_table tf_wire_answer = WIRE_TABLE(answer_rows, tidefed__v1__answer__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_reservation_ref
#define WIRE Tidefed__V1__ReservationRef
static const struct tf_wire_row reservation_ref_rows[] = {WIRE_UID(uid, TF_WIRE_REQUIRED)};
static const struct tf_wire_table wire_reservation_ref =
    WIRE_TABLE(reservation_ref_rows, tidefed__v1__reservation_ref__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_entry
#define WIRE Tidefed__V1__Entry
static const struct tf_wire_row entry_rows[] = {
    WIRE_ENUM(kind, 1, TF_ENTRY_CLAIM),
    WIRE_UID(uid, TF_WIRE_REQUIRED),
    WIRE_COUNTER(epoch),
    WIRE_NAME(tenant, 0),
    WIRE_NAME(name, 0),
    WIRE_SPEC(spec, 0),
    WIRE_INT32(size, 0, TF_INSTANCES_MAX),
    WIRE_STRING(model),
    WIRE_WALL(submitted),
    WIRE_INT32(retries_used, 0, COUNTS_MAX),
    WIRE_ENUM(release, 0, TF_RELEASE_MOVE),
    WIRE_LEVEL(level),
    WIRE_INT32(evictions, 0, COUNTS_MAX),
    WIRE_LIST(evicted, tf_wire_evicted_hour, TF_EVICTED_HOURS_MAX),
    WIRE_LIST(reservations, wire_reservation_ref, ENTRIES_MAX),
    WIRE_COUNTER(successor),
    WIRE_INT64(leave_after, 0, TF_WIRE_MS_MAX),
    WIRE_COUNTER(predecessor),
    WIRE_INT64(move_cost, 0, TF_GPU_SECONDS_MAX),
};

static int check_entry(const void *object, const struct tf_wire_path *path, struct tf_error *err)
{
    const struct tf_entry *entry = object;
    if ((entry->kind == TF_ENTRY_PLACE || entry->kind == TF_ENTRY_CLAIM) &&
        (!entry->tenant || !entry->name || !entry->spec))
        return tf_wire_error(path, err, "places a job without a name or a spec, or claims for one");
    for (size_t i = 1; i < entry->reservations.count; i++)
        if (tf_uid_cmp(entry->reservations.items[i - 1].uid, entry->reservations.items[i].uid) >= 0)
            return tf_wire_error(path, err, "names its reservations out of order");
    return 0;
}
const struct tf_wire_table tf_wire_entry =
    WIRE_TABLE(entry_rows, tidefed__v1__entry__descriptor, .check = check_entry);
#undef MODEL
#undef WIRE

#define MODEL struct tf_migrate_order
#define WIRE Tidefed__V1__MigrateOrder
static const struct tf_wire_row migrate_order_rows[] = {
    WIRE_ENUM(verb, 0, TF_MIGRATE_ABORT),
    WIRE_UID(id, 0),
    WIRE_UID(uid, 0),
    WIRE_BOOL(all),
    WIRE_UINT32(index, TF_INSTANCES_MAX - 1),
    WIRE_NAME(from, 0),
    WIRE_NAME(to, 0),
    WIRE_BOOL(may_restart),
    WIRE_TEXT(reason, TF_WIRE_MESSAGE_MAX),
    WIRE_TEXT(user, TF_WIRE_MESSAGE_MAX),
};
const struct tf_wire_table tf_wire_migrate_order =
    WIRE_TABLE(migrate_order_rows, tidefed__v1__migrate_order__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_ask
#define WIRE Tidefed__V1__Ask
static const struct tf_wire_row ask_rows[] = {
    WIRE_COUNTER(id),
    WIRE_ENUM(kind, 0, TF_ASK_CONFIRM_LOST),
    WIRE_UID(uid, 0),
    WIRE_COUNTER(epoch),
    WIRE_UINT32(index, TF_INSTANCES_MAX - 1),
    WIRE_BOOL(follow),
    WIRE_INT64(tail_bytes, -1, INT64_MAX),
    WIRE_NAME(node, 0),
    WIRE_BITS(gpus),
    WIRE_BOOL(on),
    WIRE_TEXT(reason, TF_WIRE_MESSAGE_MAX),
    WIRE_UINT32(attempt, UINT32_MAX),
    WIRE_LIST(place, tf_wire_entry, 1),
    WIRE_BYTES(data, len, TF_WIRE_CONFIG_MAX),
    WIRE_LIST(migrate, tf_wire_migrate_order, 1),
    WIRE_LIST(defrag, tf_wire_defrag_order, 1),
    WIRE_OBJECT(drain, tf_wire_drain_order, 0),
    WIRE_STRING(domain),
    WIRE_BOOL(suspect),
};
const struct tf_wire_table tf_wire_ask = WIRE_TABLE(ask_rows, tidefed__v1__ask__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_down
#define WIRE Tidefed__V1__Down
static const struct tf_wire_row down_rows[] = {
    WIRE_ENUM(kind, 1, TF_DOWN_POLICY),
    WIRE_OBJECT(term, tf_wire_term, 0),
    WIRE_COUNTER(n),
    WIRE_COUNTER(count),
    WIRE_OBJECT(policy, tf_wire_policy, 0),
    WIRE_LIST(entries, tf_wire_entry, ENTRIES_MAX),
    WIRE_INT64(fence_boot_ms, 0, TF_WIRE_MS_MAX),
    WIRE_OBJECT(ask, tf_wire_ask, 0),
    WIRE_OBJECT(considered, tf_wire_generation, 0),
    WIRE_COUNTER(highest_epoch),
};
const struct tf_wire_table tf_wire_down = WIRE_TABLE(down_rows, tidefed__v1__down__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_log_chunk
#define WIRE Tidefed__V1__LogChunk
static const struct tf_wire_row log_chunk_rows[] = {
    WIRE_COUNTER(ask),
    WIRE_BYTES(data, len, TF_WIRE_LOG_CHUNK_MAX),
    WIRE_TEXT(error, TF_WIRE_MESSAGE_MAX),
};
const struct tf_wire_table tf_wire_log_chunk = WIRE_TABLE(log_chunk_rows, tidefed__v1__log_chunk__descriptor);
#undef MODEL
#undef WIRE

/* ---- up: the one message that is a union on both sides ---- */

#define MODEL struct tf_store_trouble
#define WIRE Tidefed__V1__StoreTrouble
static const struct tf_wire_row store_trouble_rows[] = {WIRE_TEXT(text, TF_WIRE_MESSAGE_MAX)};
static const struct tf_wire_table store_trouble =
    WIRE_TABLE(store_trouble_rows, tidefed__v1__store_trouble__descriptor);
#undef MODEL
#undef WIRE

#define UP_NAME "message to the federation"

static int no_kind(int kind, struct tf_error *err)
{
    return tf_error_set(err, TF_ERR_INVALID, "message of a subcluster: its kind (%d) is not known here",
                        kind);
}

static int pack_part(Tidefed__V1__Up__WhatCase what, const struct tf_wire_table *table, const void *object,
                     struct tf_buf *out, struct tf_error *err)
{
    const ProtobufCFieldDescriptor *part =
        protobuf_c_message_descriptor_get_field(&tidefed__v1__up__descriptor, what);
    return tf_wire_pack_part(part, table, object, UP_NAME, TF_WIRE_STREAM_MAX, out, err);
}

static int pack_listed(struct tf_buf *out, struct tf_error *err)
{
    Tidefed__V1__Up message = TIDEFED__V1__UP__INIT;
    Tidefed__V1__Listed listed = TIDEFED__V1__LISTED__INIT;
    message.what_case = TIDEFED__V1__UP__WHAT_LISTED;
    message.listed = &listed;
    return tf_wire_serialise(&message.base, UP_NAME, TF_WIRE_STREAM_MAX, out, err);
}

static int pack_fence(int64_t boot_ms, struct tf_buf *out, struct tf_error *err)
{
    Tidefed__V1__Up message = TIDEFED__V1__UP__INIT;
    Tidefed__V1__Fence fence = TIDEFED__V1__FENCE__INIT;
    if (boot_ms < 0 || boot_ms > TF_WIRE_MS_MAX)
        return tf_error_set(err, TF_ERR_INVALID, "fence: clock %lld is out of bounds", (long long)boot_ms);
    fence.boot_ms = (uint64_t)boot_ms;
    message.what_case = TIDEFED__V1__UP__WHAT_FENCE;
    message.fence = &fence;
    return tf_wire_serialise(&message.base, UP_NAME, TF_WIRE_STREAM_MAX, out, err);
}

int tf_wire_up_pack(const struct tf_up *up, struct tf_buf *out, struct tf_error *err)
{
    switch (up->kind) {
    case TF_UP_HELLO:
        return pack_part(TIDEFED__V1__UP__WHAT_HELLO, &tf_wire_hello, &up->hello, out, err);
    case TF_UP_PROFILE:
        return pack_part(TIDEFED__V1__UP__WHAT_PROFILE, &tf_wire_profile, &up->profile, out, err);
    case TF_UP_REPORT:
        return pack_part(TIDEFED__V1__UP__WHAT_REPORT, &tf_wire_report, &up->report, out, err);
    case TF_UP_ANSWER:
        return pack_part(TIDEFED__V1__UP__WHAT_ANSWER, &tf_wire_answer, &up->answer, out, err);
    case TF_UP_STORE:
        return pack_part(TIDEFED__V1__UP__WHAT_STORE, &store_trouble, &up->store, out, err);
    case TF_UP_LISTED:
        return pack_listed(out, err);
    case TF_UP_FENCE:
        return pack_fence(up->fence_boot_ms, out, err);
    case TF_UP_NONE:
        break;
    }
    return no_kind((int)up->kind, err);
}

static int get_table(struct tf_up *up, enum tf_up_kind kind, const struct tf_wire_table *table,
                     const ProtobufCMessage *message, void *object, const char *name, struct tf_error *err)
{
    const struct tf_wire_path path = {.name = name, .index = -1};
    up->kind = kind;
    return tf_wire_decode(table, message, object, &path, err);
}

static int get_fence(struct tf_up *up, const Tidefed__V1__Fence *fence, struct tf_error *err)
{
    if (fence->boot_ms > (uint64_t)TF_WIRE_MS_MAX)
        return tf_error_set(err, TF_ERR_INVALID, "fence: clock %llu is out of bounds",
                            (unsigned long long)fence->boot_ms);
    up->kind = TF_UP_FENCE;
    up->fence_boot_ms = (int64_t)fence->boot_ms;
    return 0;
}

static int get_up(struct tf_up *up, const Tidefed__V1__Up *message, struct tf_error *err)
{
    switch (message->what_case) {
    case TIDEFED__V1__UP__WHAT_HELLO:
        return get_table(up, TF_UP_HELLO, &tf_wire_hello, &message->hello->base, &up->hello, "hello", err);
    case TIDEFED__V1__UP__WHAT_PROFILE:
        return get_table(up, TF_UP_PROFILE, &tf_wire_profile, &message->profile->base, &up->profile,
                         "profile", err);
    case TIDEFED__V1__UP__WHAT_REPORT:
        return get_table(up, TF_UP_REPORT, &tf_wire_report, &message->report->base, &up->report, "report",
                         err);
    case TIDEFED__V1__UP__WHAT_ANSWER:
        return get_table(up, TF_UP_ANSWER, &tf_wire_answer, &message->answer->base, &up->answer, "answer",
                         err);
    case TIDEFED__V1__UP__WHAT_STORE:
        return get_table(up, TF_UP_STORE, &store_trouble, &message->store->base, &up->store, "store", err);
    case TIDEFED__V1__UP__WHAT_LISTED:
        up->kind = TF_UP_LISTED;
        return 0;
    case TIDEFED__V1__UP__WHAT_FENCE:
        return get_fence(up, message->fence, err);
    default:
        return no_kind((int)message->what_case, err);
    }
}

static const struct part {
    uint32_t number;
    enum tf_up_kind kind;
    const struct tf_wire_table *table;
    size_t field; /* of struct tf_up */
} parts[] = {
    {TIDEFED__V1__UP__WHAT_PROFILE, TF_UP_PROFILE, &tf_wire_profile, offsetof(struct tf_up, profile)},
    {TIDEFED__V1__UP__WHAT_REPORT, TF_UP_REPORT, &tf_wire_report, offsetof(struct tf_up, report)},
};

/* The frequent ones, without a message in between. */
static bool read_up(const void *bytes, size_t len, struct tf_up *up)
{
    uint32_t number;
    const void *content;
    size_t size;
    if (len > TF_WIRE_STREAM_MAX || !tf_wire_read_part(bytes, len, &number, &content, &size))
        return false;
    for (size_t i = 0; i < TF_ARRAY_LEN(parts); i++)
        if (parts[i].number == number &&
            tf_wire_read(parts[i].table, content, size, (char *)up + parts[i].field)) {
            up->kind = parts[i].kind;
            return true;
        }
    return false;
}

int tf_wire_up_unpack(const void *bytes, size_t len, struct tf_up *up, struct tf_error *err)
{
    *up = (struct tf_up){0};
    if (read_up(bytes, len, up))
        return 0;
    struct tf_arena_room room;
    TF_AUTO_ARENA arena = tf_arena_within(&room);
    const struct tf_wire_path path = {.name = "message of a subcluster", .index = -1};
    const ProtobufCMessage *message =
        tf_wire_parse(&tidefed__v1__up__descriptor, bytes, len, &path, TF_WIRE_STREAM_MAX, arena, err);
    if (!message)
        return -1;
    if (get_up(up, (const void *)message, err) == 0)
        return 0;
    tf_up_release(up);
    return -1;
}

/* ---- down, logs ---- */

int tf_wire_down_pack(const struct tf_down *down, struct tf_buf *out, struct tf_error *err)
{
    return tf_wire_pack(&tf_wire_down, down, "message to a subcluster", TF_WIRE_STREAM_MAX, out, err);
}

int tf_wire_down_unpack(const void *bytes, size_t len, struct tf_down *down, struct tf_error *err)
{
    return tf_wire_unpack(&tf_wire_down, bytes, len, "message of the federation", TF_WIRE_STREAM_MAX, down,
                          err);
}

size_t tf_wire_entry_size(const struct tf_entry *entry)
{
    size_t size = tf_wire_size(&tf_wire_entry, entry);
    return size ? size + ENTRY_HEAD : 0;
}

void tf_log_chunk_release(struct tf_log_chunk *chunk)
{
    tf_wire_release(&tf_wire_log_chunk, chunk);
}

int tf_wire_log_chunk_pack(const struct tf_log_chunk *chunk, struct tf_buf *out, struct tf_error *err)
{
    return tf_wire_pack(&tf_wire_log_chunk, chunk, "log chunk", TF_WIRE_STREAM_MAX, out, err);
}

int tf_wire_log_chunk_unpack(const void *bytes, size_t len, struct tf_log_chunk *chunk, struct tf_error *err)
{
    return tf_wire_unpack(&tf_wire_log_chunk, bytes, len, "log chunk", TF_WIRE_STREAM_MAX, chunk, err);
}
