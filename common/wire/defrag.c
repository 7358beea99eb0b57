/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of what is to be freed, and of plans for that (capacity.proto). */
#include "common/wire/attach.h"

#include "common/wire/tables.h"

#include "common/model/job.h"

#include "capacity.pb-c.h"

enum { MOVES_MAX = 4 * TF_DEFRAG_MOVES_MAX, BUCKETS_MAX = 65, LOCKS_MAX = 16, GPUS_MAX = 64 };

#define COUNT(f) WIRE_INT32(f, 0, INT32_MAX)

#define MODEL struct tf_defrag_order
#define WIRE Tidefed__V1__DefragOrder
static const struct tf_wire_row order_rows[] = {
    WIRE_BOOL(apply),
    WIRE_UID(id, 0),
    WIRE_BITS(digest),
    WIRE_STRING(model),
    WIRE_STRINGS(nodes),
    COUNT(worst),
    COUNT(want),
    WIRE_BOOL(total),
    WIRE_INT32(gpus, 0, GPUS_MAX),
    WIRE_INT64(cpu, 0, TF_QUANTITY_MAX),
    WIRE_INT64(memory, 0, TF_QUANTITY_MAX),
    WIRE_STRING(plane),
    WIRE_STRING(within),
    COUNT(max_moves),
    WIRE_BOOL(may_restart),
    WIRE_TEXT(reason, TF_WIRE_MESSAGE_MAX),
    WIRE_TEXT(user, TF_WIRE_MESSAGE_MAX),
    WIRE_STRING(for_job),
};
const struct tf_wire_table tf_wire_defrag_order =
    WIRE_TABLE(order_rows, tidefed__v1__defrag_order__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_defrag_move
#define WIRE Tidefed__V1__DefragMove
static const struct tf_wire_row move_rows[] = {
    WIRE_NAME(tenant, TF_WIRE_REQUIRED), WIRE_NAME(name, TF_WIRE_REQUIRED),
    WIRE_UID(uid, TF_WIRE_REQUIRED),     WIRE_UINT32(index, TF_INSTANCES_MAX - 1),
    WIRE_INT32(gpus, 0, GPUS_MAX),       WIRE_NAME(from, TF_WIRE_REQUIRED),
    WIRE_NAME(to, TF_WIRE_REQUIRED),     WIRE_UINT32(chain, INT32_MAX),
    WIRE_UINT32(wave, INT32_MAX),
};
static const struct tf_wire_table move = WIRE_TABLE(move_rows, tidefed__v1__defrag_move__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_defrag_site
#define WIRE Tidefed__V1__DefragSite
static const struct tf_wire_row site_rows[] = {
    WIRE_NAME(node, TF_WIRE_REQUIRED),
    COUNT(units),
    WIRE_UINT32(wave, INT32_MAX),
};
static const struct tf_wire_table site = WIRE_TABLE(site_rows, tidefed__v1__defrag_site__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_defrag_bucket
#define WIRE Tidefed__V1__DefragBucket
static const struct tf_wire_row bucket_rows[] = {WIRE_INT32(free, 0, GPUS_MAX), COUNT(before), COUNT(after)};
static const struct tf_wire_table bucket = WIRE_TABLE(bucket_rows, tidefed__v1__defrag_bucket__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_defrag_lock
#define WIRE Tidefed__V1__DefragLock
static const struct tf_wire_row lock_rows[] = {WIRE_TEXT(why, TF_WIRE_MESSAGE_MAX), COUNT(instances)};
static const struct tf_wire_table lock = WIRE_TABLE(lock_rows, tidefed__v1__defrag_lock__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_defrag_plan
#define WIRE Tidefed__V1__DefragPlan
static const struct tf_wire_row plan_rows[] = {
    WIRE_TEXT(text, TF_WIRE_MESSAGE_MAX),
    WIRE_BITS(digest),
    WIRE_STRING(model),
    WIRE_STRING(domain),
    WIRE_LIST(moves, move, MOVES_MAX),
    WIRE_LIST(sites, site, MOVES_MAX),
    WIRE_LIST(buckets, bucket, BUCKETS_MAX),
    WIRE_LIST(locks, lock, LOCKS_MAX),
    COUNT(nodes),
    COUNT(before),
    COUNT(freed),
    COUNT(best),
    COUNT(moves_bound),
    COUNT(gpus),
    COUNT(gpus_bound),
    COUNT(double_booked),
    COUNT(waves),
    COUNT(sites_locked),
    WIRE_BOOL(cut),
    WIRE_TEXT(note, TF_WIRE_MESSAGE_MAX),
};
const struct tf_wire_table tf_wire_defrag_plan = WIRE_TABLE(plan_rows, tidefed__v1__defrag_plan__descriptor);
#undef MODEL
#undef WIRE

int tf_wire_defrag_plan_pack(const struct tf_defrag_plan *plan, struct tf_buf *out, struct tf_error *err)
{
    return tf_wire_pack(&tf_wire_defrag_plan, plan, "plan", TF_WIRE_STREAM_MAX, out, err);
}

int tf_wire_defrag_plan_unpack(const void *bytes, size_t len, struct tf_defrag_plan *plan,
                               struct tf_error *err)
{
    return tf_wire_unpack(&tf_wire_defrag_plan, bytes, len, "plan", TF_WIRE_STREAM_MAX, plan, err);
}
