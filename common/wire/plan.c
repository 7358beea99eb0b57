/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of plans (capacity.proto), which subclusters make and people are shown. */
#include "common/wire/attach.h"

#include "common/wire/tables.h"

#include "common/model/job.h"

#include "capacity.pb-c.h"

enum { JOBS_MAX = 1 << 30 };

#define MODEL struct tf_plan_victim
#define WIRE Tidefed__V1__PlanVictim
static const struct tf_wire_row victim_rows[] = {
    WIRE_NAME(tenant, 0),
    WIRE_NAME(name, 0),
    WIRE_UID(uid, 0),
    WIRE_BOOL(whole),
    WIRE_INT32(instances, 0, 2 * TF_INSTANCES_MAX),
    WIRE_INT32(size, 0, 2 * TF_INSTANCES_MAX),
    WIRE_TEXT(level, TF_WIRE_MESSAGE_MAX),
    WIRE_INT64(lost_gpu_seconds, 0, INT64_MAX),
};
static const struct tf_wire_table victim = WIRE_TABLE(victim_rows, tidefed__v1__plan_victim__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_plan_node
#define WIRE Tidefed__V1__PlanNode
static const struct tf_wire_row node_rows[] = {
    WIRE_NAME(node, TF_WIRE_REQUIRED),
    WIRE_BITS(gpus),
    WIRE_INT32(instances, 0, TF_INSTANCES_MAX),
};
static const struct tf_wire_table node = WIRE_TABLE(node_rows, tidefed__v1__plan_node__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_place_plan
#define WIRE Tidefed__V1__PlacePlan
static const struct tf_wire_row plan_rows[] = {
    WIRE_ENUM(reason, 0, TF_REASON_NO_CLUSTERS),
    WIRE_TEXT(text, TF_WIRE_MESSAGE_MAX),
    WIRE_STRING(model),
    WIRE_INT32(size, 0, TF_INSTANCES_MAX),
    WIRE_LIST(nodes, node, TF_INSTANCES_MAX),
    WIRE_LIST(victims, victim, TF_PLAN_VICTIMS_MAX),
    WIRE_INT32(jobs, 0, JOBS_MAX),
    WIRE_INT64(lost_gpu_seconds, 0, INT64_MAX),
    WIRE_DURATION(wait),
};
const struct tf_wire_table tf_wire_place_plan = WIRE_TABLE(plan_rows, tidefed__v1__place_plan__descriptor);
#undef MODEL
#undef WIRE

int tf_wire_place_plan_pack(const struct tf_place_plan *plan, struct tf_buf *out, struct tf_error *err)
{
    return tf_wire_pack(&tf_wire_place_plan, plan, "plan", TF_WIRE_STREAM_MAX, out, err);
}

int tf_wire_place_plan_unpack(const void *bytes, size_t len, struct tf_place_plan *plan, struct tf_error *err)
{
    return tf_wire_unpack(&tf_wire_place_plan, bytes, len, "plan", TF_WIRE_STREAM_MAX, plan, err);
}
