/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of job.proto. Bounds are those of the format: what a job may ask for is checked by
 * tf_job_manifest_check. */
#include "common/wire/tables.h"

#include "common/model/phase.h"
#include "common/model/profile.h"
#include "common/model/record.h"

#define MODEL struct tf_term
#define WIRE Tidefed__V1__Term
static const struct tf_wire_row term_rows[] = {WIRE_COUNTER(era), WIRE_COUNTER(revision)};
const struct tf_wire_table tf_wire_term = WIRE_TABLE(term_rows, tidefed__v1__term__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_elastic
#define WIRE Tidefed__V1__Elastic
static const struct tf_wire_row elastic_rows[] = {
    WIRE_INT32(min, 0, TF_INSTANCES_MAX),
    WIRE_INT32(max, 0, TF_INSTANCES_MAX),
    WIRE_INT32(step, 0, TF_INSTANCES_MAX),
};
const struct tf_wire_table tf_wire_elastic = WIRE_TABLE(elastic_rows, tidefed__v1__elastic__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_shape
#define WIRE Tidefed__V1__Shape
static const struct tf_wire_row shape_rows[] = {
    WIRE_INT32(gpus, 0, TF_NODE_GPUS_MAX),      WIRE_STRINGS(gpu_models),
    WIRE_INT64(gpu_memory, 0, TF_QUANTITY_MAX), WIRE_INT64(cpu, 0, TF_QUANTITY_MAX),
    WIRE_INT64(memory, 0, TF_QUANTITY_MAX),
};
const struct tf_wire_table tf_wire_shape = WIRE_TABLE(shape_rows, tidefed__v1__shape__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_ready_probe
#define WIRE Tidefed__V1__ReadyProbe
static const struct tf_wire_row ready_probe_rows[] = {
    WIRE_STRINGS(command),
    WIRE_DURATION(period),
    WIRE_DURATION(timeout),
};
const struct tf_wire_table tf_wire_ready_probe =
    WIRE_TABLE(ready_probe_rows, tidefed__v1__ready_probe__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_group
#define WIRE Tidefed__V1__Instance
static const struct tf_wire_row instance_rows[] = {
    WIRE_OBJECT(shape, tf_wire_shape, 0),
    WIRE_STRING(image),
    WIRE_STRINGS(command),
    WIRE_PAIRS(env),
    WIRE_STRINGS(ports),
    WIRE_DURATION(grace),
    WIRE_DURATION(stop_delay),
    WIRE_OBJECT(ready, tf_wire_ready_probe, 0),
};
const struct tf_wire_table tf_wire_instance = WIRE_TABLE(instance_rows, tidefed__v1__instance__descriptor);
#undef MODEL
#undef WIRE

/* On the wire a group has sizes of its own, so that several can come later; the model has one group, and its
 * sizes in the spec. */
#define MODEL struct tf_job_spec
#define WIRE Tidefed__V1__Group
static const struct tf_wire_row group_rows[] = {
    WIRE_OBJECT(elastic, tf_wire_elastic, 0),
    {.name = "instance",
     .kind = TF_WIRE_OBJECT,
     .model = offsetof(MODEL, group),
     .wire = offsetof(WIRE, instance),
     .table = &tf_wire_instance},
};
const struct tf_wire_table tf_wire_group = WIRE_TABLE(group_rows, tidefed__v1__group__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_topology_rule
#define WIRE Tidefed__V1__TopologyRule
static const struct tf_wire_row topology_rule_rows[] = {
    WIRE_STRING(plane),
    WIRE_STRING(within),
    WIRE_ENUM(of, 0, TF_TOPOLOGY_OF_STEP),
    WIRE_ENUM(mode, 0, TF_TOPOLOGY_PREFER),
};
const struct tf_wire_table tf_wire_topology_rule =
    WIRE_TABLE(topology_rule_rows, tidefed__v1__topology_rule__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_owner
#define WIRE Tidefed__V1__Owner
static const struct tf_wire_row owner_rows[] = {
    WIRE_STRING(tenant),
    WIRE_STRING(job),
    WIRE_STRING(selector),
};
static const struct tf_wire_table wire_owner = WIRE_TABLE(owner_rows, tidefed__v1__owner__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_reserve
#define WIRE Tidefed__V1__Reserve
static const struct tf_wire_row reserve_rows[] = {
    WIRE_DURATION(expires),
    WIRE_OBJECT(owner, wire_owner, 0),
};
static const struct tf_wire_table wire_reserve = WIRE_TABLE(reserve_rows, tidefed__v1__reserve__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_job_spec
#define WIRE Tidefed__V1__JobSpec
static const struct tf_wire_row spec_rows[] = {
    WIRE_STRING(priority),
    WIRE_ENUM(workload, 0, TF_WORKLOAD_DEBUG),
    {.name = "groups",
     .kind = TF_WIRE_ONE,
     .model = 0,
     .wire = offsetof(WIRE, groups),
     .quantifier = offsetof(WIRE, n_groups),
     .max = 1,
     .table = &tf_wire_group},
    WIRE_ENUM(below_min, 0, TF_BELOW_MIN_STOP),
    WIRE_ENUM(grow, 0, TF_GROW_NEVER),
    WIRE_LIST(topology, tf_wire_topology_rule, 64),
    WIRE_PAIRS(node_labels),
    WIRE_INT32(max_nodes, 0, INT32_MAX),
    WIRE_ENUM(on_resize, 0, TF_ON_RESIZE_RESTART),
    WIRE_STRING(resize_signal),
    WIRE_ENUM(migration, 0, TF_MIGRATION_NEVER),
    WIRE_INT32(ready_min, 0, TF_INSTANCES_MAX),
    WIRE_DURATION(min_runtime),
    WIRE_DURATION(max_runtime),
    WIRE_INT32(retry_limit, 0, INT32_MAX),
    WIRE_DURATION(retry_backoff),
    WIRE_ENUM(completion, 0, TF_COMPLETION_RANK0),
    WIRE_DURATION(keep_finished),
    WIRE_STRINGS(clusters),
    WIRE_STRINGS(regions),
    WIRE_ENUM(on_cluster_lost, 0, TF_CLUSTER_LOST_RESTART),
    WIRE_OBJECT(reserve, wire_reserve, 0),
};
const struct tf_wire_table tf_wire_spec = WIRE_TABLE(spec_rows, tidefed__v1__job_spec__descriptor);
#undef MODEL
#undef WIRE

/* Not required here: the federation answers with complaints that name all that is wrong. */
#define MODEL struct tf_job_manifest
#define WIRE Tidefed__V1__JobManifest
static const struct tf_wire_row manifest_rows[] = {
    WIRE_STRING(tenant),
    WIRE_STRING(name),
    WIRE_PAIRS(labels),
    WIRE_OBJECT(spec, tf_wire_spec, TF_WIRE_REQUIRED),
};
const struct tf_wire_table tf_wire_manifest =
    WIRE_TABLE(manifest_rows, tidefed__v1__job_manifest__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_member
#define WIRE Tidefed__V1__Member
static const struct tf_wire_row member_rows[] = {
    WIRE_UINT32(index, TF_INSTANCES_MAX - 1),
    WIRE_UINT32(attempt, UINT32_MAX),
    WIRE_NAME(node, 0),
    WIRE_BITS(gpus),
    WIRE_INT32(mark, 0, TF_INSTANCES_MAX),
    WIRE_ENUM(state, 0, TF_MEMBER_MISSING),
    WIRE_WALL(started),
    WIRE_WALL(ready),
    WIRE_WALL(ended),
    WIRE_WALL(retry_at),
    WIRE_INT32(exit_code, INT32_MIN, INT32_MAX),
    WIRE_STRINGS(ports),
    WIRE_ENUM(role, 0, TF_MEMBER_MOVES_OUT),
    WIRE_UINT32(attempts, UINT32_MAX),
};
const struct tf_wire_table tf_wire_member = WIRE_TABLE(member_rows, tidefed__v1__member__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_ended
#define WIRE Tidefed__V1__Ended
static const struct tf_wire_row ended_rows[] = {
    WIRE_COUNTER(epoch),
    WIRE_ENUM(end, 0, TF_END_UNKNOWN),
    WIRE_ENUM(reason, 0, TF_REASON_NO_CLUSTERS),
    WIRE_WALL(at),
    WIRE_INT32(exit_code, INT32_MIN, INT32_MAX),
    WIRE_INT32(failures, 0, INT32_MAX),
    WIRE_TEXT(message, TF_WIRE_MESSAGE_MAX),
    WIRE_TEXT(output, TF_WIRE_OUTPUT_MAX),
    WIRE_INT64(lost_gpu_seconds, 0, INT64_MAX),
    WIRE_INT32(evictions, 0, INT32_MAX),
};
const struct tf_wire_table tf_wire_ended = WIRE_TABLE(ended_rows, tidefed__v1__ended__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_job_event
#define WIRE Tidefed__V1__JobEvent
static const struct tf_wire_row job_event_rows[] = {
    WIRE_WALL(at),
    WIRE_COUNTER(epoch),
    WIRE_TEXT(type, TF_NAME_MAX),
    WIRE_TEXT(text, TF_WIRE_MESSAGE_MAX),
    WIRE_UINT32(more, UINT32_MAX),
};
const struct tf_wire_table tf_wire_job_event = WIRE_TABLE(job_event_rows, tidefed__v1__job_event__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_note
#define WIRE Tidefed__V1__Note
static const struct tf_wire_row note_rows[] = {
    WIRE_ENUM(kind, 1, TF_NOTE_LAST),
    WIRE_TEXT(text, TF_NOTE_TEXT),
};
const struct tf_wire_table tf_wire_note = WIRE_TABLE(note_rows, tidefed__v1__note__descriptor);
#undef MODEL
#undef WIRE
