/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of federation.proto; requests and replies by method. */
#include "common/wire/api.h"

#include "common/base/cleanup.h"
#include "common/wire/tables.h"

#include "federation.pb-c.h"

#include <assert.h>

enum { JOB_HEAD = 8, COUNTS_MAX = 1 << 30, NODES_MAX = 1 << 20, CLUSTERS_MAX = 65536 };

#define COUNT(f) WIRE_INT32(f, 0, COUNTS_MAX)
#define REASON(f) WIRE_ENUM(f, 0, TF_REASON_NO_CLUSTERS)

/* ---- errors ---- */

#define MODEL struct tf_complaint
#define WIRE Tidefed__V1__Complaint
static const struct tf_wire_row complaint_rows[] = {
    WIRE_TEXT(path, TF_WIRE_MESSAGE_MAX),
    WIRE_TEXT(text, TF_WIRE_MESSAGE_MAX),
};
static const struct tf_wire_table complaint = WIRE_TABLE(complaint_rows, tidefed__v1__complaint__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_error_detail
#define WIRE Tidefed__V1__ErrorDetail
static const struct tf_wire_row error_detail_rows[] = {
    WIRE_ENUM(code, 0, TF_ERR_BUG),         REASON(reason),
    WIRE_TEXT(text, TF_WIRE_MESSAGE_MAX),   WIRE_LIST(complaints, complaint, 256),
    WIRE_TEXT(leader, TF_WIRE_MESSAGE_MAX), WIRE_DURATION(retry_after_ms),
};
static const struct tf_wire_table error_detail =
    WIRE_TABLE(error_detail_rows, tidefed__v1__error_detail__descriptor);
#undef MODEL
#undef WIRE

/* The codes of common/base/error.h are not wire format by themselves. */
_Static_assert((int)TF_OK == TIDEFED__V1__ERROR_CODE__ERROR_CODE_OK, "wire");
_Static_assert((int)TF_ERR_INVALID == TIDEFED__V1__ERROR_CODE__ERROR_CODE_INVALID, "wire");
_Static_assert((int)TF_ERR_NOT_FOUND == TIDEFED__V1__ERROR_CODE__ERROR_CODE_NOT_FOUND, "wire");
_Static_assert((int)TF_ERR_CONFLICT == TIDEFED__V1__ERROR_CODE__ERROR_CODE_CONFLICT, "wire");
_Static_assert((int)TF_ERR_REFUSED == TIDEFED__V1__ERROR_CODE__ERROR_CODE_REFUSED, "wire");
_Static_assert((int)TF_ERR_UNAVAILABLE == TIDEFED__V1__ERROR_CODE__ERROR_CODE_UNAVAILABLE, "wire");
_Static_assert((int)TF_ERR_UNKNOWN == TIDEFED__V1__ERROR_CODE__ERROR_CODE_UNKNOWN, "wire");
_Static_assert((int)TF_ERR_TIMEOUT == TIDEFED__V1__ERROR_CODE__ERROR_CODE_TIMEOUT, "wire");
_Static_assert((int)TF_ERR_TOO_LARGE == TIDEFED__V1__ERROR_CODE__ERROR_CODE_TOO_LARGE, "wire");
_Static_assert((int)TF_ERR_IO == TIDEFED__V1__ERROR_CODE__ERROR_CODE_IO, "wire");
_Static_assert((int)TF_ERR_BUG == TIDEFED__V1__ERROR_CODE__ERROR_CODE_BUG, "wire");

/* ---- jobs ---- */

#define MODEL struct tf_job_ref
#define WIRE Tidefed__V1__JobRef
static const struct tf_wire_row job_ref_rows[] = {
    WIRE_NAME(tenant, 0),
    WIRE_NAME(name, 0),
    WIRE_UID(uid, 0),
};

static int check_ref(const void *object, const struct tf_wire_path *path, struct tf_error *err)
{
    const struct tf_job_ref *ref = object;
    if (!ref->tenant != !ref->name || (!ref->name && tf_uid_is_none(ref->uid)))
        return tf_wire_error(path, err, "names no job: it needs tenant and name, or a uid");
    return 0;
}
static const struct tf_wire_table job_ref =
    WIRE_TABLE(job_ref_rows, tidefed__v1__job_ref__descriptor, .check = check_ref);
static const struct tf_wire_table job_ref_or_none =
    WIRE_TABLE(job_ref_rows, tidefed__v1__job_ref__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_submit_request
#define WIRE Tidefed__V1__SubmitRequest
static const struct tf_wire_row submit_rows[] = {
    WIRE_UID(uid, TF_WIRE_REQUIRED),
    WIRE_OBJECT(manifest, tf_wire_manifest, TF_WIRE_REQUIRED),
    WIRE_ENUM(mode, 0, TF_SUBMIT_APPLY),
    WIRE_BOOL(restart),
    WIRE_BOOL(dry_run),
};
static const struct tf_wire_table submit = WIRE_TABLE(submit_rows, tidefed__v1__submit_request__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_change_reply
#define WIRE Tidefed__V1__ChangeReply
static const struct tf_wire_row change_rows[] = {
    WIRE_ENUM(outcome, 0, TF_OUTCOME_DONE),
    WIRE_UID(uid, 0),
    WIRE_COUNTER(version),
    WIRE_STRINGS(warnings),
};
static const struct tf_wire_table change = WIRE_TABLE(change_rows, tidefed__v1__change_reply__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_scale_request
#define WIRE Tidefed__V1__ScaleRequest
static const struct tf_wire_row scale_rows[] = {
    WIRE_OBJECT(job, job_ref, TF_WIRE_REQUIRED),
    WIRE_OBJECT(elastic, tf_wire_elastic, TF_WIRE_REQUIRED),
};
static const struct tf_wire_table scale = WIRE_TABLE(scale_rows, tidefed__v1__scale_request__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_selector_term
#define WIRE Tidefed__V1__SelectorTerm
static const struct tf_wire_row selector_rows[] = {
    WIRE_STRING(key, | TF_WIRE_REQUIRED),
    WIRE_ENUM(op, TF_SELECTOR_IN, TF_SELECTOR_ABSENT),
    WIRE_STRINGS(values),
};

static int check_term(const void *object, const struct tf_wire_path *path, struct tf_error *err)
{
    const struct tf_selector_term *term = object;
    bool takes = term->op == TF_SELECTOR_IN || term->op == TF_SELECTOR_NOT_IN;
    if (takes == (term->values.count == 0))
        return tf_wire_error(path, err, takes ? "has no values" : "has values, and takes none");
    return 0;
}
static const struct tf_wire_table selector =
    WIRE_TABLE(selector_rows, tidefed__v1__selector_term__descriptor, .check = check_term);
#undef MODEL
#undef WIRE

#define MODEL struct tf_job_filter
#define WIRE Tidefed__V1__JobFilter
static const struct tf_wire_row filter_rows[] = {
    WIRE_NAME(tenant, 0),
    WIRE_NAME(name, 0),
    WIRE_NAME(cluster, 0),
    WIRE_UINT32(phases, UINT32_MAX),
    WIRE_LIST(selector, selector, TF_SELECTOR_TERMS_MAX),
    WIRE_BOOL(reservations),
};

/* A filter is held against each of very many jobs. */
static int check_filter(const void *object, const struct tf_wire_path *path, struct tf_error *err)
{
    const struct tf_job_filter *f = object;
    size_t values = 0;
    tf_vec_each (term, &f->selector)
        values += term->values.count;
    if (values > TF_SELECTOR_VALUES_MAX)
        return tf_wire_error(path, err, "its selector has %zu values, more than %d", values,
                             TF_SELECTOR_VALUES_MAX);
    return 0;
}
static const struct tf_wire_table filter =
    WIRE_TABLE(filter_rows, tidefed__v1__job_filter__descriptor, .check = check_filter);
#undef MODEL
#undef WIRE

#define MODEL struct tf_list_request
#define WIRE Tidefed__V1__ListRequest
static const struct tf_wire_row list_request_rows[] = {
    WIRE_OBJECT(filter, filter, 0),
    WIRE_INT32(page_size, 0, TF_PAGE_MAX),
    WIRE_STRING(page_token),
};
static const struct tf_wire_table list_request =
    WIRE_TABLE(list_request_rows, tidefed__v1__list_request__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_job_view
#define WIRE Tidefed__V1__Job
static const struct tf_wire_row job_rows[] = {
    WIRE_UID(uid, 0),
    WIRE_OBJECT(manifest, tf_wire_manifest, TF_WIRE_REQUIRED),
    WIRE_STRING(user),
    WIRE_ENUM(phase, 0, TF_PHASE_DELETED),
    WIRE_UINT32(conditions, UINT32_MAX),
    REASON(reason),
    WIRE_TEXT(reason_text, TF_WIRE_MESSAGE_MAX),
    WIRE_BOOL(held),
    WIRE_BOOL(deleted),
    WIRE_COUNTER(version),
    WIRE_NAME(cluster, 0),
    WIRE_COUNTER(epoch),
    WIRE_STRING(model),
    WIRE_INT32(size, 0, TF_INSTANCES_MAX),
    WIRE_INT32(ready, 0, TF_INSTANCES_MAX),
    WIRE_WALL(submitted),
    WIRE_WALL(placed),
    WIRE_WALL(started),
    WIRE_WALL(changed),
    WIRE_WALL(finished),
    COUNT(restarts),
    COUNT(evictions),
    COUNT(losses),
    COUNT(retries_used),
    WIRE_INT64(lost_gpu_seconds, 0, INT64_MAX),
    WIRE_INT32(exit_code, INT32_MIN, INT32_MAX),
    WIRE_TEXT(message, TF_WIRE_MESSAGE_MAX),
    WIRE_TEXT(output, TF_WIRE_OUTPUT_MAX),
    WIRE_LIST(members, tf_wire_member, 2 * TF_INSTANCES_MAX),
    WIRE_LIST(events, tf_wire_job_event, TF_JOB_EVENTS_MAX),
    WIRE_COUNTER(events_dropped),
    WIRE_WALL(archived),
    WIRE_INT32(last_size, 0, TF_INSTANCES_MAX),
    WIRE_WALL(checkpoint),
    WIRE_DURATION(restart_took),
};
static const struct tf_wire_table job = WIRE_TABLE(job_rows, tidefed__v1__job__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_list_reply
#define WIRE Tidefed__V1__ListReply
static const struct tf_wire_row list_reply_rows[] = {
    WIRE_LIST(jobs, job, TF_PAGE_MAX),
    WIRE_STRING(next_token),
};
static const struct tf_wire_table list_reply =
    WIRE_TABLE(list_reply_rows, tidefed__v1__list_reply__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_watch_request
#define WIRE Tidefed__V1__WatchRequest
static const struct tf_wire_row watch_request_rows[] = {
    WIRE_OBJECT(filter, filter, 0),
    WIRE_BOOL(changes_only),
    WIRE_BOOL(events),
    WIRE_WALL(events_since),
};
static const struct tf_wire_table watch_request =
    WIRE_TABLE(watch_request_rows, tidefed__v1__watch_request__descriptor);
#undef MODEL
#undef WIRE

/* The job of an event that has none is left out, and its manifest's spec with it. */
static int encode_watched_job(const void *field, struct tf_arena *arena, const struct tf_wire_path *path,
                              ProtobufCMessage **message, struct tf_error *err)
{
    const struct tf_job_view *view = field;
    if (!view->manifest.name)
        return 0;
    *message = tf_wire_encode(&job, view, arena, path, err);
    return *message ? 0 : -1;
}

static int decode_watched_job(const ProtobufCMessage *message, void *field, const struct tf_wire_path *path,
                              struct tf_error *err)
{
    return tf_wire_decode(&job, message, field, path, err);
}

static void release_watched_job(void *field)
{
    tf_wire_release(&job, field);
}

static const struct tf_wire_custom job_if_any = {encode_watched_job, decode_watched_job, release_watched_job};

#define MODEL struct tf_watch_event
#define WIRE Tidefed__V1__WatchEvent
static const struct tf_wire_row watch_event_rows[] = {
    WIRE_ENUM(kind, 1, TF_WATCH_BOOKMARK),
    WIRE_COUNTER(sequence),
    WIRE_CUSTOM(job, job_if_any),
};
static const struct tf_wire_table watch_event =
    WIRE_TABLE(watch_event_rows, tidefed__v1__watch_event__descriptor);
#undef MODEL
#undef WIRE

/* ---- explain ---- */

#define MODEL struct tf_blocker
#define WIRE Tidefed__V1__Blocker
static const struct tf_wire_row blocker_rows[] = {
    REASON(reason),
    WIRE_WALL(until),
    WIRE_TEXT(text, TF_WIRE_MESSAGE_MAX),
    WIRE_TEXT(unblock, TF_WIRE_MESSAGE_MAX),
};
static const struct tf_wire_table blocker = WIRE_TABLE(blocker_rows, tidefed__v1__blocker__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_explain_row
#define WIRE Tidefed__V1__ExplainRow
static const struct tf_wire_row explain_row_rows[] = {
    WIRE_NAME(cluster, 0),
    REASON(reason),
    COUNT(has),
    COUNT(asked),
    COUNT(missing),
    WIRE_WALL(until),
    WIRE_TEXT(text, TF_WIRE_MESSAGE_MAX),
    WIRE_TEXT(unblock, TF_WIRE_MESSAGE_MAX),
    WIRE_LIST(more, blocker, 32),
};
static const struct tf_wire_table explain_row =
    WIRE_TABLE(explain_row_rows, tidefed__v1__explain_row__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_explain_reply
#define WIRE Tidefed__V1__ExplainReply
static const struct tf_wire_row explain_rows[] = {
    WIRE_TEXT(answer, TF_WIRE_MESSAGE_MAX),
    WIRE_LIST(rows, explain_row, CLUSTERS_MAX),
    WIRE_STRINGS(decisions),
    WIRE_CUSTOM(job, job_if_any),
    WIRE_INT64(clock_ms, 0, TF_WIRE_MS_MAX),
    WIRE_WALL(now),
};
static const struct tf_wire_table explain = WIRE_TABLE(explain_rows, tidefed__v1__explain_reply__descriptor);
#undef MODEL
#undef WIRE

/* ---- plan ---- */

#define MODEL struct tf_plan_request
#define WIRE Tidefed__V1__PlanRequest
static const struct tf_wire_row plan_request_rows[] = {
    WIRE_OBJECT(manifest, tf_wire_manifest, TF_WIRE_REQUIRED),
};
static const struct tf_wire_table plan_request =
    WIRE_TABLE(plan_request_rows, tidefed__v1__plan_request__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_plan_row
#define WIRE Tidefed__V1__PlanRow
static const struct tf_wire_row plan_row_rows[] = {
    WIRE_NAME(cluster, 0),
    REASON(reason),
    COUNT(free),
    COUNT(has),
    COUNT(asked),
    WIRE_TEXT(level, TF_WIRE_MESSAGE_MAX),
    COUNT(size),
    WIRE_STRING(model),
    WIRE_BOOL(answered),
    WIRE_DURATION(age_ms),
    COUNT(jobs),
    WIRE_INT64(lost_gpu_seconds, 0, INT64_MAX),
    WIRE_DURATION(wait),
    WIRE_WALL(until),
    WIRE_TEXT(text, TF_WIRE_MESSAGE_MAX),
    WIRE_TEXT(unblock, TF_WIRE_MESSAGE_MAX),
};
static const struct tf_wire_table plan_row = WIRE_TABLE(plan_row_rows, tidefed__v1__plan_row__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_plan_reply
#define WIRE Tidefed__V1__PlanReply
static const struct tf_wire_row plan_reply_rows[] = {
    WIRE_TEXT(answer, TF_WIRE_MESSAGE_MAX),   WIRE_NAME(cluster, 0), WIRE_LIST(rows, plan_row, CLUSTERS_MAX),
    WIRE_OBJECT(plan, tf_wire_place_plan, 0), WIRE_WALL(now),
};
static const struct tf_wire_table plan_reply =
    WIRE_TABLE(plan_reply_rows, tidefed__v1__plan_reply__descriptor);
#undef MODEL
#undef WIRE

/* ---- subclusters ---- */

#define MODEL struct tf_cluster_info
#define WIRE Tidefed__V1__Cluster
static const struct tf_wire_row cluster_rows[] = {
    WIRE_NAME(name, TF_WIRE_REQUIRED),
    WIRE_STRING(region),
    WIRE_PAIRS(labels),
    WIRE_BOOL(attached),
    WIRE_BOOL(lost),
    WIRE_BOOL(cordoned),
    WIRE_TEXT(cordon_reason, TF_WIRE_MESSAGE_MAX),
    WIRE_BOOL(forgotten),
    WIRE_WALL(registered),
    WIRE_WALL(contact),
    WIRE_COUNTER(highest_epoch),
    COUNT(placements),
    WIRE_STRING(version),
    WIRE_STRING(engine),
    WIRE_UINT32(capabilities, UINT32_MAX),
    WIRE_OBJECT(generation, tf_wire_generation, 0),
    WIRE_OBJECT(health, tf_wire_health_counts, 0),
    WIRE_OBJECT(idle, tf_wire_idle_causes, 0),
    WIRE_INT32(brakes, 0, INT32_MAX),
    WIRE_BOOL(stopped),
    WIRE_LIST(events, tf_wire_job_event, TF_JOB_EVENTS_MAX),
    WIRE_COUNTER(events_dropped),
    WIRE_TEXT(store_trouble, TF_WIRE_MESSAGE_MAX),
    WIRE_WALL(store_trouble_since),
};
static const struct tf_wire_table cluster = WIRE_TABLE(cluster_rows, tidefed__v1__cluster__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_clusters_reply
#define WIRE Tidefed__V1__ListClustersReply
static const struct tf_wire_row clusters_rows[] = {
    WIRE_LIST(clusters, cluster, CLUSTERS_MAX),
    WIRE_LIST(freezes, tf_wire_freeze, 3 * (CLUSTERS_MAX + 1)),
};
static const struct tf_wire_table clusters =
    WIRE_TABLE(clusters_rows, tidefed__v1__list_clusters_reply__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_freeze_request
#define WIRE Tidefed__V1__FreezeRequest
static const struct tf_wire_row freeze_request_rows[] = {
    WIRE_INT32(what, 0, TF_FROZEN_ALL),     WIRE_NAME(cluster, 0), WIRE_BOOL(on), WIRE_DURATION(lasts),
    WIRE_TEXT(reason, TF_WIRE_MESSAGE_MAX),
};
static const struct tf_wire_table freeze_request =
    WIRE_TABLE(freeze_request_rows, tidefed__v1__freeze_request__descriptor);
#undef MODEL
#undef WIRE

static int check_cordon_request(const void *object, const struct tf_wire_path *path, struct tf_error *err)
{
    const struct tf_cordon_request *request = object;
    if (!request->node == !request->domain)
        return tf_wire_error(path, err, "say either a node or a domain");
    return 0;
}

#define MODEL struct tf_cordon_request
#define WIRE Tidefed__V1__CordonNodeRequest
static const struct tf_wire_row cordon_request_rows[] = {
    WIRE_NAME(cluster, TF_WIRE_REQUIRED),
    WIRE_NAME(node, 0),
    WIRE_BITS(gpus),
    WIRE_BOOL(on),
    WIRE_TEXT(reason, TF_WIRE_MESSAGE_MAX),
    WIRE_OBJECT(drain, tf_wire_drain_order, 0),
    WIRE_STRING(domain),
    WIRE_BOOL(suspect),
};
static const struct tf_wire_table cordon_request = WIRE_TABLE(
    cordon_request_rows, tidefed__v1__cordon_node_request__descriptor, .check = check_cordon_request);
#undef MODEL
#undef WIRE

#define MODEL struct tf_cluster_request
#define WIRE Tidefed__V1__ClusterRequest
static const struct tf_wire_row cluster_request_rows[] = {
    WIRE_NAME(cluster, TF_WIRE_REQUIRED),
    WIRE_TEXT(reason, TF_WIRE_MESSAGE_MAX),
    WIRE_BOOL(confirmed),
};
static const struct tf_wire_table cluster_request =
    WIRE_TABLE(cluster_request_rows, tidefed__v1__cluster_request__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_nodes_request
#define WIRE Tidefed__V1__ListNodesRequest
static const struct tf_wire_row nodes_request_rows[] = {WIRE_NAME(cluster, 0)};
static const struct tf_wire_table nodes_request =
    WIRE_TABLE(nodes_request_rows, tidefed__v1__list_nodes_request__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_node_instance
#define WIRE Tidefed__V1__NodeInstance
static const struct tf_wire_row node_instance_rows[] = {
    WIRE_NAME(tenant, 0),
    WIRE_NAME(name, 0),
    WIRE_UID(uid, 0),
    WIRE_COUNTER(epoch),
    WIRE_UINT32(index, TF_INSTANCES_MAX - 1),
    WIRE_BITS(gpus),
    WIRE_ENUM(state, 0, TF_MEMBER_MISSING),
};
static const struct tf_wire_table node_instance =
    WIRE_TABLE(node_instance_rows, tidefed__v1__node_instance__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_node_info
#define WIRE Tidefed__V1__NodeView
static const struct tf_wire_row node_info_rows[] = {
    WIRE_NAME(cluster, 0),
    WIRE_OBJECT(node, tf_wire_node, TF_WIRE_REQUIRED),
    WIRE_BITS(free_gpus),
    WIRE_BITS(held_gpus),
    WIRE_OBJECT(used, tf_wire_vector, 0),
    WIRE_LIST(instances, node_instance, TF_NODE_SLOTS_MAX),
    WIRE_OBJECT(cordon, tf_wire_cordon, 0),
    WIRE_STRING(engine),
    WIRE_OBJECT(idle, tf_wire_idle_causes, 0),
};
static const struct tf_wire_table node_info = WIRE_TABLE(node_info_rows, tidefed__v1__node_view__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_nodes_reply
#define WIRE Tidefed__V1__ListNodesReply
static const struct tf_wire_row nodes_rows[] = {
    WIRE_LIST(nodes, node_info, NODES_MAX),
    WIRE_STRINGS(missing),
};
static const struct tf_wire_table nodes = WIRE_TABLE(nodes_rows, tidefed__v1__list_nodes_reply__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_instance_info
#define WIRE Tidefed__V1__InstanceView
static const struct tf_wire_row instance_rows[] = {
    WIRE_NAME(tenant, 0), WIRE_NAME(name, 0),    WIRE_UID(uid, 0),
    WIRE_COUNTER(epoch),  WIRE_NAME(cluster, 0), WIRE_OBJECT(member, tf_wire_member, 0),
};
static const struct tf_wire_table instance =
    WIRE_TABLE(instance_rows, tidefed__v1__instance_view__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_instances_reply
#define WIRE Tidefed__V1__ListInstancesReply
static const struct tf_wire_row instances_rows[] = {
    WIRE_LIST(instances, instance, NODES_MAX),
    WIRE_STRING(next_token),
    WIRE_STRINGS(missing),
};
static const struct tf_wire_table instances =
    WIRE_TABLE(instances_rows, tidefed__v1__list_instances_reply__descriptor);
#undef MODEL
#undef WIRE

/* ---- logs, status ---- */

#define MODEL struct tf_logs_request
#define WIRE Tidefed__V1__LogsRequest
static const struct tf_wire_row logs_request_rows[] = {
    WIRE_OBJECT(job, job_ref, TF_WIRE_REQUIRED), WIRE_COUNTER(epoch),
    WIRE_UINT32(index, TF_INSTANCES_MAX - 1),    WIRE_BOOL(follow),
    WIRE_INT64(tail_bytes, -1, INT64_MAX),       WIRE_UINT32(attempt, UINT32_MAX),
};
static const struct tf_wire_table logs_request =
    WIRE_TABLE(logs_request_rows, tidefed__v1__logs_request__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_logs_reply
#define WIRE Tidefed__V1__LogsReply
static const struct tf_wire_row logs_reply_rows[] = {WIRE_BYTES(data, len, TF_WIRE_REPLY_MAX)};
static const struct tf_wire_table logs_reply =
    WIRE_TABLE(logs_reply_rows, tidefed__v1__logs_reply__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_status_reply
#define WIRE Tidefed__V1__StatusReply
static const struct tf_wire_row status_rows[] = {
    WIRE_STRING(version),
    WIRE_UINT32(protocol, UINT32_MAX),
    WIRE_BOOL(leads),
    WIRE_STRING(leader),
    WIRE_OBJECT(term, tf_wire_term, 0),
    WIRE_WALL(since),
    WIRE_BOOL(open),
    WIRE_TEXT(store, TF_WIRE_MESSAGE_MAX),
    WIRE_INT64(store_bytes, 0, INT64_MAX),
    WIRE_INT64(store_quota, 0, INT64_MAX),
    COUNT(jobs),
    COUNT(clusters),
    COUNT(attached),
};
static const struct tf_wire_table status = WIRE_TABLE(status_rows, tidefed__v1__status_reply__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_clusters_request
#define WIRE Tidefed__V1__ListClustersRequest
static const struct tf_wire_row clusters_request_rows[] = {WIRE_BOOL(events)};
static const struct tf_wire_table clusters_request =
    WIRE_TABLE(clusters_request_rows, tidefed__v1__list_clusters_request__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_migrate_request
#define WIRE Tidefed__V1__MigrateRequest
static const struct tf_wire_row migrate_request_rows[] = {
    WIRE_NAME(cluster, 0),
    WIRE_OBJECT(job, job_ref_or_none, 0),
    WIRE_OBJECT(order, tf_wire_migrate_order, 0),
    WIRE_NAME(to_cluster, 0),
};
static const struct tf_wire_table migrate_request =
    WIRE_TABLE(migrate_request_rows, tidefed__v1__migrate_request__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_chain_info
#define WIRE Tidefed__V1__MoveChainView
static const struct tf_wire_row chain_info_rows[] = {
    WIRE_NAME(cluster, 0),
    WIRE_OBJECT(chain, tf_wire_migration, TF_WIRE_REQUIRED),
};
static const struct tf_wire_table chain_info =
    WIRE_TABLE(chain_info_rows, tidefed__v1__move_chain_view__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_job_move
#define WIRE Tidefed__V1__JobMoveView
static const struct tf_wire_row job_move_rows[] = {
    WIRE_UID(uid, TF_WIRE_REQUIRED),
    WIRE_NAME(tenant, TF_WIRE_REQUIRED),
    WIRE_NAME(name, TF_WIRE_REQUIRED),
    WIRE_OBJECT(move, tf_wire_cross, 0),
};
static const struct tf_wire_table job_move =
    WIRE_TABLE(job_move_rows, tidefed__v1__job_move_view__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_migrate_reply
#define WIRE Tidefed__V1__MigrateReply
static const struct tf_wire_row migrate_reply_rows[] = {
    WIRE_LIST(chains, chain_info, NODES_MAX),
    WIRE_STRINGS(missing),
    WIRE_TEXT(text, TF_WIRE_MESSAGE_MAX),
    WIRE_LIST(jobs, job_move, NODES_MAX),
};
static const struct tf_wire_table migrate_reply =
    WIRE_TABLE(migrate_reply_rows, tidefed__v1__migrate_reply__descriptor);
#undef MODEL
#undef WIRE

static const struct tf_wire_table status_request = {.size = sizeof(struct tf_empty),
                                                    .message = &tidefed__v1__status_request__descriptor};

#define MODEL struct tf_defrag_request
#define WIRE Tidefed__V1__DefragRequest
static const struct tf_wire_row defrag_request_rows[] = {
    WIRE_NAME(cluster, TF_WIRE_REQUIRED),
    WIRE_OBJECT(order, tf_wire_defrag_order, 0),
};
static const struct tf_wire_table defrag_request =
    WIRE_TABLE(defrag_request_rows, tidefed__v1__defrag_request__descriptor);
#undef MODEL
#undef WIRE

/* ---- methods ---- */

static const struct method {
    const char *path;
    const struct tf_wire_table *request, *reply;
    bool streams;
} methods[TF_METHOD_COUNT] = {
    [TF_METHOD_SUBMIT] = {"/tidefed.v1.Federation/Submit", &submit, &change, false},
    [TF_METHOD_GET] = {"/tidefed.v1.Federation/Get", &job_ref, &job, false},
    [TF_METHOD_LIST] = {"/tidefed.v1.Federation/List", &list_request, &list_reply, false},
    [TF_METHOD_LIST_ARCHIVE] = {"/tidefed.v1.Federation/ListArchive", &list_request, &list_reply, false},
    [TF_METHOD_DELETE] = {"/tidefed.v1.Federation/Delete", &job_ref, &change, false},
    [TF_METHOD_SCALE] = {"/tidefed.v1.Federation/Scale", &scale, &change, false},
    [TF_METHOD_HOLD] = {"/tidefed.v1.Federation/Hold", &job_ref, &change, false},
    [TF_METHOD_RESUME] = {"/tidefed.v1.Federation/Resume", &job_ref, &change, false},
    [TF_METHOD_WATCH] = {"/tidefed.v1.Federation/Watch", &watch_request, &watch_event, true},
    [TF_METHOD_EXPLAIN] = {"/tidefed.v1.Federation/Explain", &job_ref, &explain, false},
    [TF_METHOD_PLAN] = {"/tidefed.v1.Federation/Plan", &plan_request, &plan_reply, false},
    [TF_METHOD_LIST_CLUSTERS] = {"/tidefed.v1.Federation/ListClusters", &clusters_request, &clusters, false},
    [TF_METHOD_LIST_NODES] = {"/tidefed.v1.Federation/ListNodes", &nodes_request, &nodes, false},
    [TF_METHOD_LIST_INSTANCES] = {"/tidefed.v1.Federation/ListInstances", &list_request, &instances, false},
    [TF_METHOD_LOGS] = {"/tidefed.v1.Federation/Logs", &logs_request, &logs_reply, true},
    [TF_METHOD_CORDON_CLUSTER] = {"/tidefed.v1.Federation/CordonCluster", &cluster_request, &change, false},
    [TF_METHOD_UNCORDON_CLUSTER] = {"/tidefed.v1.Federation/UncordonCluster", &cluster_request, &change,
                                    false},
    [TF_METHOD_CORDON_NODE] = {"/tidefed.v1.Federation/CordonNode", &cordon_request, &change, false},
    [TF_METHOD_CONFIRM_LOST] = {"/tidefed.v1.Federation/ConfirmLost", &cordon_request, &change, false},
    [TF_METHOD_PLAN_DEFRAG] = {"/tidefed.v1.Federation/PlanDefrag", &defrag_request, &tf_wire_defrag_plan,
                               false},
    [TF_METHOD_DEFRAG] = {"/tidefed.v1.Federation/Defrag", &defrag_request, &change, false},
    [TF_METHOD_MIGRATE] = {"/tidefed.v1.Federation/Migrate", &migrate_request, &migrate_reply, false},
    [TF_METHOD_FREEZE] = {"/tidefed.v1.Federation/Freeze", &freeze_request, &change, false},
    [TF_METHOD_FORGET_CLUSTER] = {"/tidefed.v1.Federation/ForgetCluster", &cluster_request, &change, false},
    [TF_METHOD_STATUS] = {"/tidefed.v1.Federation/Status", &status_request, &status, false},
    [TF_METHOD_GET_CONFIG] = {"/tidefed.v1.Federation/GetConfig", &tf_wire_get_config_request,
                              &tf_wire_get_config_reply, false},
    [TF_METHOD_DIFF_CONFIG] = {"/tidefed.v1.Federation/DiffConfig", &tf_wire_diff_config_request,
                               &tf_wire_diff_config_reply, false},
};

static const struct method *find(enum tf_method method)
{
    assert(method > TF_METHOD_NONE && method < TF_METHOD_COUNT);
    return &methods[method];
}

const char *tf_method_path(enum tf_method method)
{
    return find(method)->path;
}

bool tf_method_streams(enum tf_method method)
{
    return find(method)->streams;
}

/* "Submit", for errors. */
static const char *name_of(enum tf_method method)
{
    return strrchr(find(method)->path, '/') + 1;
}

static size_t request_limit(enum tf_method method)
{
    switch (method) {
    case TF_METHOD_SUBMIT:
    case TF_METHOD_PLAN:
        return TF_WIRE_MANIFEST_MAX;
    case TF_METHOD_DIFF_CONFIG:
        return TF_WIRE_CONFIG_MAX;
    default:
        return TF_WIRE_REQUEST_MAX;
    }
}

static void *request_body(const struct tf_request *request)
{
    return (char *)(uintptr_t)request + offsetof(struct tf_request, body);
}

static void *reply_body(const struct tf_reply *reply)
{
    return (char *)(uintptr_t)reply + offsetof(struct tf_reply, body);
}

/* A manifest is what people can shorten. */
static int explain_size(enum tf_method method, struct tf_error *err)
{
    if (err && err->code == TF_ERR_TOO_LARGE && (method == TF_METHOD_SUBMIT || method == TF_METHOD_PLAN))
        tf_error_wrap(err, "the manifest is too large: shorten its command, environment or labels");
    return -1;
}

void tf_request_release(struct tf_request *request)
{
    if (request->method != TF_METHOD_NONE)
        tf_wire_release(find(request->method)->request, request_body(request));
    *request = (struct tf_request){0};
}

void tf_reply_release(struct tf_reply *reply)
{
    if (reply->method != TF_METHOD_NONE)
        tf_wire_release(find(reply->method)->reply, reply_body(reply));
    *reply = (struct tf_reply){0};
}

int tf_wire_request_pack(const struct tf_request *request, struct tf_buf *out, struct tf_error *err)
{
    if (tf_wire_pack(find(request->method)->request, request_body(request), name_of(request->method),
                     request_limit(request->method), out, err))
        return explain_size(request->method, err);
    return 0;
}

int tf_wire_request_unpack(enum tf_method method, const void *bytes, size_t len, struct tf_request *request,
                           struct tf_error *err)
{
    *request = (struct tf_request){0};
    if (tf_wire_unpack(find(method)->request, bytes, len, name_of(method), request_limit(method),
                       request_body(request), err))
        return -1;
    request->method = method;
    return 0;
}

int tf_wire_reply_pack(const struct tf_reply *reply, struct tf_buf *out, struct tf_error *err)
{
    return tf_wire_pack(find(reply->method)->reply, reply_body(reply), name_of(reply->method),
                        TF_WIRE_REPLY_MAX, out, err);
}

int tf_wire_reply_unpack(enum tf_method method, const void *bytes, size_t len, struct tf_reply *reply,
                         struct tf_error *err)
{
    *reply = (struct tf_reply){0};
    if (tf_wire_unpack(find(method)->reply, bytes, len, name_of(method), TF_WIRE_REPLY_MAX, reply_body(reply),
                       err))
        return -1;
    reply->method = method;
    return 0;
}

void tf_job_view_release(struct tf_job_view *view)
{
    tf_wire_release(&job, view);
}

size_t tf_wire_job_size(const struct tf_job_view *view)
{
    size_t size = tf_wire_size(&job, view);
    return size ? size + JOB_HEAD : 0;
}

void tf_migrate_reply_release(struct tf_migrate_reply *reply)
{
    tf_wire_release(&migrate_reply, reply);
}

int tf_wire_migrate_pack(const struct tf_migrate_reply *reply, struct tf_buf *out, struct tf_error *err)
{
    return tf_wire_pack(&migrate_reply, reply, "list of migrations", TF_WIRE_REPLY_MAX, out, err);
}

int tf_wire_migrate_unpack(const void *bytes, size_t len, struct tf_migrate_reply *reply,
                           struct tf_error *err)
{
    return tf_wire_unpack(&migrate_reply, bytes, len, "list of migrations", TF_WIRE_REPLY_MAX, reply, err);
}

void tf_nodes_reply_release(struct tf_nodes_reply *reply)
{
    tf_wire_release(&nodes, reply);
}

int tf_wire_nodes_pack(const struct tf_nodes_reply *reply, struct tf_buf *out, struct tf_error *err)
{
    return tf_wire_pack(&nodes, reply, "list of nodes", TF_WIRE_REPLY_MAX, out, err);
}

int tf_wire_nodes_unpack(const void *bytes, size_t len, struct tf_nodes_reply *reply, struct tf_error *err)
{
    return tf_wire_unpack(&nodes, bytes, len, "list of nodes", TF_WIRE_REPLY_MAX, reply, err);
}

/* ---- errors ---- */

void tf_error_detail_release(struct tf_error_detail *detail)
{
    tf_wire_release(&error_detail, detail);
}

/* Packs the detail with its first `keep` complaints, and one that says how many are left out. */
static int pack_some(const struct tf_error_detail *detail, size_t keep, size_t limit, struct tf_buf *out)
{
    struct tf_error_detail some = *detail;
    size_t left_out = detail->complaints.count - keep;
    if (left_out == 0)
        return tf_wire_pack(&error_detail, &some, "error", limit, out, NULL);
    TF_AUTO_FREE char *text = tf_asprintf("and %zu more", left_out);
    struct tf_complaint *items = tf_calloc(keep + 1, sizeof *items);
    if (keep)
        memcpy(items, detail->complaints.items, keep * sizeof *items);
    items[keep].text = text;
    some.complaints.items = items;
    some.complaints.count = keep + 1;
    int result = tf_wire_pack(&error_detail, &some, "error", limit, out, NULL);
    free(items);
    return result;
}

void tf_wire_error_detail_pack(const struct tf_error_detail *detail, size_t limit, struct tf_buf *out)
{
    for (size_t keep = detail->complaints.count + 1; keep > 0; keep--)
        if (pack_some(detail, keep - 1, limit, out) == 0)
            return;
    /* The text alone is too long for the limit: what a program needs must still arrive. */
    struct tf_error_detail bare = {.code = detail->code,
                                   .reason = detail->reason,
                                   .leader = detail->leader,
                                   .retry_after_ms = detail->retry_after_ms};
    pack_some(&bare, 0, limit, out);
}

int tf_wire_error_detail_unpack(const void *bytes, size_t len, struct tf_error_detail *detail,
                                struct tf_error *err)
{
    return tf_wire_unpack(&error_detail, bytes, len, "error", TF_WIRE_REPLY_MAX, detail, err);
}
