/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of store.proto; keys and values of records. */
#include "common/wire/records.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "common/wire/tables.h"

#include "store.pb-c.h"

#include <assert.h>

/* The parts of a job's record that grow by themselves are bounded so that, with a manifest of
 * TF_WIRE_MANIFEST_MAX, the record stays within TF_RECORD_BYTES_MAX. */
enum {
    PLACEMENTS_MAX = 64,
    REFUSAL_TEXT_MAX = 512,
    CLAIMS_MAX = 2 * TF_INSTANCES_MAX,
    ENDED_MAX = 256,
    COUNTS_MAX = 1 << 30,
    FREEZES_MAX = 6, /* what may be frozen, by all and by one subcluster */
};

struct counter {
    uint64_t value; /* tf_record.number */
};
#define MODEL struct counter
#define WIRE Tidefed__V1__Counter
static const struct tf_wire_row counter_rows[] = {WIRE_COUNTER(value)};
const struct tf_wire_table tf_wire_counter = WIRE_TABLE(counter_rows, tidefed__v1__counter__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_placement
#define WIRE Tidefed__V1__Placement
static const struct tf_wire_row placement_rows[] = {
    WIRE_COUNTER(epoch),
    WIRE_NAME(cluster, TF_WIRE_REQUIRED),
    WIRE_INT32(size, 0, TF_INSTANCES_MAX),
    WIRE_STRING(model),
    WIRE_ENUM(phase, 0, TF_PHASE_DELETED),
    WIRE_WALL(placed),
    WIRE_WALL(accepted),
    WIRE_WALL(started),
    WIRE_ENUM(release, 0, TF_RELEASE_MOVE),
    WIRE_LEVEL(level),
    WIRE_COUNTER(successor),
    WIRE_UINT32(noted, UINT32_MAX),
};
const struct tf_wire_table tf_wire_placement = WIRE_TABLE(placement_rows, tidefed__v1__placement__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_refusal
#define WIRE Tidefed__V1__Refusal
static const struct tf_wire_row refusal_rows[] = {
    WIRE_NAME(cluster, TF_WIRE_REQUIRED),
    WIRE_ENUM(reason, 0, TF_REASON_NO_CLUSTERS),
    WIRE_TEXT(text, REFUSAL_TEXT_MAX),
    WIRE_INT32(times, 0, COUNTS_MAX),
    WIRE_WALL(until),
};
const struct tf_wire_table tf_wire_refusal = WIRE_TABLE(refusal_rows, tidefed__v1__refusal__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_evicted_hour
#define WIRE Tidefed__V1__EvictedHour
static const struct tf_wire_row evicted_hour_rows[] = {
    WIRE_WALL(hour),
    WIRE_INT32(count, 0, TF_EVICTED_MAX),
};
const struct tf_wire_table tf_wire_evicted_hour =
    WIRE_TABLE(evicted_hour_rows, tidefed__v1__evicted_hour__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_cross
#define WIRE Tidefed__V1__Cross
static const struct tf_wire_row cross_rows[] = {
    WIRE_ENUM(state, 0, TF_CROSS_ROLLED_BACK),
    WIRE_NAME(from, 0),
    WIRE_NAME(to, 0),
    WIRE_COUNTER(old_epoch),
    WIRE_COUNTER(new_epoch),
    WIRE_WALL(since),
    WIRE_WALL(ended),
    WIRE_WALL(deadline),
    WIRE_TEXT(why, TF_WIRE_MESSAGE_MAX),
    WIRE_ENUM(outcome, 0, TF_PHASE_DELETED),
    WIRE_ENUM(cause, 0, TF_CROSS_BY_RESTORE),
    WIRE_TEXT(reason, TF_WIRE_MESSAGE_MAX),
    WIRE_STRING(user),
};
const struct tf_wire_table tf_wire_cross = WIRE_TABLE(cross_rows, tidefed__v1__cross__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_job_record
#define WIRE Tidefed__V1__JobRecord
static const struct tf_wire_row job_record_rows[] = {
    WIRE_UID(uid, TF_WIRE_REQUIRED),
    WIRE_NAME(tenant, TF_WIRE_REQUIRED),
    WIRE_NAME(name, TF_WIRE_REQUIRED),
    WIRE_PAIRS(labels),
    WIRE_SPEC(spec, TF_WIRE_REQUIRED),
    WIRE_STRING(user),
    WIRE_WALL(submitted),
    WIRE_ENUM(phase, 1, TF_PHASE_DELETED),
    WIRE_BOOL(held),
    WIRE_BOOL(deleted),
    WIRE_COUNTER(version),
    WIRE_LIST(placements, tf_wire_placement, PLACEMENTS_MAX),
    WIRE_LIST(refusals, tf_wire_refusal, TF_REFUSALS_MAX),
    WIRE_LIST(events, tf_wire_job_event, TF_JOB_EVENTS_MAX),
    WIRE_COUNTER(events_dropped),
    WIRE_INT32(retries_used, 0, COUNTS_MAX),
    WIRE_INT32(restarts, 0, COUNTS_MAX),
    WIRE_INT32(evictions, 0, COUNTS_MAX),
    WIRE_INT32(losses, 0, COUNTS_MAX),
    WIRE_INT64(lost_gpu_seconds, 0, INT64_MAX),
    WIRE_WALL(changed),
    WIRE_WALL(finished),
    WIRE_INT32(exit_code, INT32_MIN, INT32_MAX),
    WIRE_TEXT(message, TF_WIRE_MESSAGE_MAX),
    WIRE_TEXT(output, TF_WIRE_OUTPUT_MAX),
    WIRE_NAME(last_cluster, 0),
    WIRE_COUNTER(last_epoch),
    WIRE_UID(change, 0),
    WIRE_INT32(last_size, 0, TF_INSTANCES_MAX),
    WIRE_LIST(evicted, tf_wire_evicted_hour, TF_EVICTED_HOURS_MAX),
    WIRE_NAME(claims_in, 0),
    WIRE_WALL(claim_until),
    WIRE_OBJECT(cross, tf_wire_cross, 0),
    WIRE_INT64(claim_move_cost, 0, TF_GPU_SECONDS_MAX),
    WIRE_WALL(consolidated),
};
const struct tf_wire_table tf_wire_job_record =
    WIRE_TABLE(job_record_rows, tidefed__v1__job_record__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_left_alone
#define WIRE Tidefed__V1__LeftAlone
static const struct tf_wire_row left_alone_rows[] = {
    WIRE_UID(uid, TF_WIRE_REQUIRED),
    WIRE_COUNTER(epoch),
};
const struct tf_wire_table tf_wire_left_alone =
    WIRE_TABLE(left_alone_rows, tidefed__v1__left_alone__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_cluster_record
#define WIRE Tidefed__V1__ClusterRecord
static const struct tf_wire_row cluster_record_rows[] = {
    WIRE_NAME(name, TF_WIRE_REQUIRED),
    WIRE_STRING(region),
    WIRE_PAIRS(labels),
    WIRE_BOOL(cordoned),
    WIRE_TEXT(cordon_reason, TF_WIRE_MESSAGE_MAX),
    WIRE_WALL(registered),
    WIRE_COUNTER(highest_epoch),
    WIRE_BOOL(forgotten),
    WIRE_LIST(events, tf_wire_job_event, TF_JOB_EVENTS_MAX),
    WIRE_COUNTER(events_dropped),
    WIRE_LIST(left_alone, tf_wire_left_alone, TF_LEFT_ALONE_MAX),
};
const struct tf_wire_table tf_wire_cluster_record =
    WIRE_TABLE(cluster_record_rows, tidefed__v1__cluster_record__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_summary_record
#define WIRE Tidefed__V1__SummaryRecord
static const struct tf_wire_row summary_record_rows[] = {
    WIRE_NAME(name, TF_WIRE_REQUIRED),
    WIRE_WALL(contact),
    WIRE_OBJECT(generation, tf_wire_generation, 0),
    WIRE_OBJECT(health, tf_wire_health_counts, 0),
};
const struct tf_wire_table tf_wire_summary_record =
    WIRE_TABLE(summary_record_rows, tidefed__v1__summary_record__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_class
#define WIRE Tidefed__V1__PriorityClass
static const struct tf_wire_row class_rows[] = {
    WIRE_NAME(name, TF_WIRE_REQUIRED),
    WIRE_INT32(priority, INT32_MIN, INT32_MAX),
};
const struct tf_wire_table tf_wire_class = WIRE_TABLE(class_rows, tidefed__v1__priority_class__descriptor);
#undef MODEL
#undef WIRE

/* Ranks are positions: they must be those that tf_classes_add gives. */
static int check_policy(const void *object, const struct tf_wire_path *path, struct tf_error *err)
{
    const struct tf_classes *classes = &((const struct tf_policy *)object)->classes;
    for (size_t i = 1; i < classes->count; i++) {
        const struct tf_class *a = &classes->items[i - 1], *b = &classes->items[i];
        if (a->priority > b->priority || (a->priority == b->priority && strcmp(a->name, b->name) >= 0))
            return tf_wire_error(path, err, "classes are not in order of priority and name");
    }
    return 0;
}

#define MODEL struct tf_shape_asked
#define WIRE Tidefed__V1__ShapeAsked
static const struct tf_wire_row shape_asked_rows[] = {
    WIRE_SPEC(spec, TF_WIRE_REQUIRED),
    WIRE_INT32(instances, 1, INT32_MAX),
    WIRE_BOOL(waits),
};
static const struct tf_wire_table shape_asked =
    WIRE_TABLE(shape_asked_rows, tidefed__v1__shape_asked__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_policy
#define WIRE Tidefed__V1__Policy
static const struct tf_wire_row policy_rows[] = {
    WIRE_COUNTER(version),
    WIRE_LIST(classes, tf_wire_class, TF_CLASSES_MAX),
    WIRE_NAME(ceiling, 0),
    WIRE_STRINGS(schedule_labels),
    WIRE_INT32(max_evictions_per_minute, 0, INT32_MAX),
    WIRE_DURATION(absorb_cooldown),
    WIRE_DURATION(surplus_dwell),
    WIRE_DURATION(offer_time),
    WIRE_DURATION(repair_wait),
    WIRE_DURATION(failure_settle),
    WIRE_DURATION(hub_away_after),
    WIRE_DURATION(start_timeout),
    WIRE_DURATION(kill_bound),
    WIRE_DURATION(fence_timeout),
    WIRE_LIST(freezes, tf_wire_freeze, FREEZES_MAX),
    WIRE_LIST(shapes, shape_asked, TF_SHAPES_MAX),
    WIRE_INT32(max_moves, 0, INT32_MAX),
    WIRE_INT32(max_moves_per_node, 0, INT32_MAX),
    WIRE_INT32(max_moves_per_job, 0, INT32_MAX),
    WIRE_ENUM(consolidate, 0, TF_CONSOLIDATE_ON),
    WIRE_DURATION(consolidate_cooldown),
    WIRE_INT32(consolidate_moves, 0, INT32_MAX),
};
const struct tf_wire_table tf_wire_policy =
    WIRE_TABLE(policy_rows, tidefed__v1__policy__descriptor, .check = check_policy);
#undef MODEL
#undef WIRE

#define MODEL struct tf_claim
#define WIRE Tidefed__V1__Claim
static const struct tf_wire_row claim_rows[] = {
    WIRE_NAME(node, 0), /* of a move that has no place yet there is none */
    WIRE_BITS(gpus),
    WIRE_INT64(cpu, 0, TF_QUANTITY_MAX),
    WIRE_INT64(memory, 0, TF_QUANTITY_MAX),
    WIRE_INT32(slots, 0, INT32_MAX),
    WIRE_WALL(until),
};
const struct tf_wire_table tf_wire_claim = WIRE_TABLE(claim_rows, tidefed__v1__claim__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_allocation
#define WIRE Tidefed__V1__Allocation
static const struct tf_wire_row allocation_rows[] = {
    WIRE_UID(uid, TF_WIRE_REQUIRED),
    WIRE_NAME(tenant, TF_WIRE_REQUIRED),
    WIRE_NAME(name, TF_WIRE_REQUIRED),
    WIRE_ENUM(phase, 0, TF_ALLOCATION_RESERVED),
    WIRE_COUNTER(epoch),
    WIRE_OBJECT(term, tf_wire_term, 0),
    WIRE_SPEC(spec, 0),
    WIRE_WALL(submitted),
    WIRE_WALL(accepted),
    WIRE_WALL(started),
    WIRE_INT32(size, 0, TF_INSTANCES_MAX),
    WIRE_STRING(model),
    WIRE_CUSTOM(members, tf_wire_members),
    WIRE_LIST(claims, tf_wire_claim, CLAIMS_MAX),
    WIRE_INT32(retries_used, 0, COUNTS_MAX),
    WIRE_COUNTER(peers_version),
    WIRE_WALL(last_shrink),
    WIRE_WALL(last_grow),
    WIRE_OBJECT(ending, tf_wire_ended, 0),
    WIRE_LIST(ended, tf_wire_ended, ENDED_MAX),
    WIRE_INT32(evictions, 0, COUNTS_MAX),
    WIRE_WALL(short_since),
    WIRE_WALL(restart_at),
    WIRE_WALL(grow_after),
    WIRE_INT32(grow_failures, 0, COUNTS_MAX),
    WIRE_LIST(evicted, tf_wire_evicted_hour, TF_EVICTED_HOURS_MAX),
    WIRE_WALL(move_after),
    WIRE_INT32(move_failures, 0, COUNTS_MAX),
    WIRE_COUNTER(successor),
    WIRE_COUNTER(declined),
    WIRE_WALL(leave_at),
    WIRE_COUNTER(predecessor),
    WIRE_WALL(last_checkpoint),
    WIRE_DURATION(restart_took),
    WIRE_UINT32(noted, UINT32_MAX),
    WIRE_LIST(notes, tf_wire_note, TF_NOTES_MAX),
};
const struct tf_wire_table tf_wire_allocation =
    WIRE_TABLE(allocation_rows, tidefed__v1__allocation__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_node_claim
#define WIRE Tidefed__V1__NodeClaim
static const struct tf_wire_row node_claim_rows[] = {
    WIRE_UID(uid, TF_WIRE_REQUIRED),
    WIRE_NAME(tenant, TF_WIRE_REQUIRED),
    WIRE_NAME(name, TF_WIRE_REQUIRED),
    WIRE_SPEC(spec, TF_WIRE_REQUIRED),
    WIRE_STRINGS(nodes),
    WIRE_WALL(until),
};
const struct tf_wire_table tf_wire_node_claim =
    WIRE_TABLE(node_claim_rows, tidefed__v1__node_claim__descriptor);
#undef MODEL
#undef WIRE

static int check_leaders(const void *object, const struct tf_wire_path *path, struct tf_error *err)
{
    const char *fault = tf_leaders_fault(object);
    return fault ? tf_wire_error(path, err, "%s", fault) : 0;
}

#define MODEL struct tf_leader
#define WIRE Tidefed__V1__Leader
static const struct tf_wire_row leader_rows[] = {
    WIRE_OBJECT(term, tf_wire_term, 0),
    WIRE_COUNTER(epoch),
};
const struct tf_wire_table tf_wire_leader = WIRE_TABLE(leader_rows, tidefed__v1__leader__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_leaders
#define WIRE Tidefed__V1__Leaders
static const struct tf_wire_row leaders_rows[] = {
    {.name = "leaders",
     .kind = TF_WIRE_LIST,
     .model = 0,
     .wire = offsetof(WIRE, leaders),
     .quantifier = offsetof(WIRE, n_leaders),
     .table = &tf_wire_leader,
     .max = TF_LEADERS_MAX},
};
const struct tf_wire_table tf_wire_leaders =
    WIRE_TABLE(leaders_rows, tidefed__v1__leaders__descriptor, .check = check_leaders);
#undef MODEL
#undef WIRE

#define MODEL struct tf_move
#define WIRE Tidefed__V1__Move
static const struct tf_wire_row move_rows[] = {
    WIRE_UID(uid, TF_WIRE_REQUIRED),
    WIRE_NAME(tenant, TF_WIRE_REQUIRED),
    WIRE_NAME(name, TF_WIRE_REQUIRED),
    WIRE_COUNTER(epoch),
    WIRE_UINT32(index, TF_INSTANCES_MAX - 1),
    WIRE_UINT32(attempt, UINT32_MAX),
    WIRE_BOOL(restarts),
    WIRE_NAME(from, TF_WIRE_REQUIRED),
    WIRE_NAME(wanted, 0),
    WIRE_OBJECT(claim, tf_wire_claim, 0),
    WIRE_ENUM(state, 0, TF_MOVE_ROLLED_BACK),
    WIRE_WALL(reserved),
    WIRE_WALL(started),
    WIRE_WALL(ready),
    WIRE_WALL(switched),
    WIRE_WALL(stopping),
    WIRE_WALL(ended),
    WIRE_STRING(why),
};
const struct tf_wire_table tf_wire_move = WIRE_TABLE(move_rows, tidefed__v1__move__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_migration
#define WIRE Tidefed__V1__MoveChain
static const struct tf_wire_row migration_rows[] = {
    WIRE_UID(id, TF_WIRE_REQUIRED),
    WIRE_ENUM(cause, 0, TF_MOVE_BY_DEFRAG),
    WIRE_STRING(owner),
    WIRE_STRING(reason),
    WIRE_STRING(user),
    WIRE_WALL(created),
    WIRE_WALL(until),
    WIRE_WALL(ended),
    WIRE_BOOL(paused),
    WIRE_LIST(moves, tf_wire_move, TF_MOVES_MAX),
    WIRE_STRINGS(empties),
};
const struct tf_wire_table tf_wire_migration =
    WIRE_TABLE(migration_rows, tidefed__v1__move_chain__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_eviction_count
#define WIRE Tidefed__V1__EvictionCount
static const struct tf_wire_row eviction_count_rows[] = {
    WIRE_WALL(last),
    WIRE_UINT32(count, TF_EVICTION_COUNT_MAX),
};
static const struct tf_wire_table tf_wire_eviction_count =
    WIRE_TABLE(eviction_count_rows, tidefed__v1__eviction_count__descriptor);
#undef MODEL
#undef WIRE

/* ---- kinds ---- */

/* How a kind is named and stored. */
static const struct kind {
    const char *key; /* the whole key, or the first part of it */
    int parts;       /* further parts: names, or the uid */
    const char *what;
    const struct tf_wire_table *table;
    size_t field; /* of the table's struct in tf_record */
} kinds[] = {
    [TF_RECORD_EPOCH] = {"epoch", 0, "the epoch counter", &tf_wire_counter,
                         offsetof(struct tf_record, number)},
    [TF_RECORD_JOB] = {"jobs", 2, "job", &tf_wire_job_record, offsetof(struct tf_record, job)},
    [TF_RECORD_CLUSTER] = {"subclusters", 1, "subcluster", &tf_wire_cluster_record,
                           offsetof(struct tf_record, cluster)},
    [TF_RECORD_SUMMARY] = {"summaries", 1, "summary of", &tf_wire_summary_record,
                           offsetof(struct tf_record, summary)},
    [TF_RECORD_TERM] = {"term", 0, "the highest term", &tf_wire_term, offsetof(struct tf_record, term)},
    [TF_RECORD_FLOOR] = {"floor", 0, "the epoch floor", &tf_wire_counter, offsetof(struct tf_record, number)},
    [TF_RECORD_ROLLBACK] = {"rollback", 0, "the rollback", &tf_wire_counter,
                            offsetof(struct tf_record, number)},
    [TF_RECORD_POLICY] = {"policy", 0, "the policy", &tf_wire_policy, offsetof(struct tf_record, policy)},
    [TF_RECORD_ALLOCATION] = {"allocations", 1, "allocation", &tf_wire_allocation,
                              offsetof(struct tf_record, allocation)},
    [TF_RECORD_CORDON] = {"cordons", 1, "cordon of node", &tf_wire_cordon,
                          offsetof(struct tf_record, cordon)},
    [TF_RECORD_FREEZE] = {"freezes", 2, "freeze of", &tf_wire_freeze, offsetof(struct tf_record, freeze)},
    [TF_RECORD_NODE_CLAIM] = {"claims", 1, "claim of", &tf_wire_node_claim,
                              offsetof(struct tf_record, node_claim)},
    [TF_RECORD_LEADERS] = {"leaders", 0, "the leaders", &tf_wire_leaders,
                           offsetof(struct tf_record, leaders)},
    [TF_RECORD_MIGRATION] = {"migrations", 1, "migration", &tf_wire_migration,
                             offsetof(struct tf_record, migration)},
    [TF_RECORD_EVICTIONS] = {"evictions", 0, "the count of evictions", &tf_wire_eviction_count,
                             offsetof(struct tf_record, evictions)},
};

static const struct kind *kind_of(const struct tf_record *record)
{
    size_t kind = (size_t)record->kind;
    return kind > TF_RECORD_NONE && kind < TF_ARRAY_LEN(kinds) ? &kinds[kind] : NULL;
}

static int no_kind(struct tf_error *err)
{
    return tf_error_set(err, TF_ERR_BUG, "a record of no kind");
}

/* ---- keys ---- */

static int append_name(struct tf_buf *key, const char *name, struct tf_error *err)
{
    if (tf_name_check(name ? name : "", "the name in a key", err))
        return -1;
    tf_buf_char(key, '/');
    tf_buf_str(key, name);
    return 0;
}

/* What is frozen, and where: "*" is no name, so it can stand for all. */
static int append_freeze(const struct tf_freeze *freeze, struct tf_buf *key, struct tf_error *err)
{
    if (append_name(key, tf_frozen_name(freeze->what), err))
        return -1;
    if (freeze->cluster)
        return append_name(key, freeze->cluster, err);
    tf_buf_str(key, "/*");
    return 0;
}

static int append_parts(const struct tf_record *record, struct tf_buf *key, struct tf_error *err)
{
    char uid[TF_UID_TEXT];
    switch (record->kind) {
    case TF_RECORD_JOB:
        return append_name(key, record->job.tenant, err) || append_name(key, record->job.name, err) ? -1 : 0;
    case TF_RECORD_CLUSTER:
        return append_name(key, record->cluster.name, err);
    case TF_RECORD_SUMMARY:
        return append_name(key, record->summary.name, err);
    case TF_RECORD_CORDON:
        return append_name(key, record->cordon.node, err);
    case TF_RECORD_FREEZE:
        return append_freeze(&record->freeze, key, err);
    case TF_RECORD_ALLOCATION:
        tf_uid_format(record->allocation.uid, uid);
        return append_name(key, uid, err);
    case TF_RECORD_NODE_CLAIM:
        tf_uid_format(record->node_claim.uid, uid);
        return append_name(key, uid, err);
    case TF_RECORD_MIGRATION:
        tf_uid_format(record->migration.id, uid);
        return append_name(key, uid, err);
    default:
        return 0;
    }
}

int tf_wire_record_key(const struct tf_record *record, struct tf_buf *key, struct tf_error *err)
{
    const struct kind *kind = kind_of(record);
    if (!kind)
        return no_kind(err);
    TF_AUTO_BUF text = TF_BUF_INIT;
    tf_buf_str(&text, kind->key);
    if (append_parts(record, &text, err))
        return -1;
    tf_buf_add(key, text.data, text.len);
    return 0;
}

/* Copies the next part of a key, up to '/' or its end. */
static int next_part(const char **at, const char *end, char part[TF_NAME_MAX + 1])
{
    const char *slash = *at < end ? memchr(*at, '/', (size_t)(end - *at)) : NULL;
    size_t len = (size_t)((slash ? slash : end) - *at);
    if (len == 0 || len > TF_NAME_MAX || memchr(*at, 0, len))
        return -1;
    memcpy(part, *at, len);
    part[len] = '\0';
    *at = slash ? slash + 1 : end;
    return slash && *at == end ? -1 : 0; /* a slash at the end */
}

struct key_parts {
    char parts[3][TF_NAME_MAX + 1];
    int count;
};

static int split_key(const char *key, size_t len, struct key_parts *split)
{
    const char *at = key, *end = key + len;
    do {
        if (split->count == 3 || next_part(&at, end, split->parts[split->count++]))
            return -1;
    } while (at < end);
    return 0;
}

static int take_freeze(struct tf_freeze *freeze, const char *what, const char *cluster, struct tf_error *err)
{
    if (tf_frozen_parse(what, &freeze->what))
        return tf_error_set(err, TF_ERR_INVALID, "the key of a freeze does not say what is frozen");
    if (strcmp(cluster, "*") == 0)
        return 0;
    if (tf_name_check(cluster, "the name in a key", err))
        return -1;
    freeze->cluster = tf_strdup(cluster);
    return 0;
}

/* What names the record, from the further parts of its key. */
static int take_parts(struct tf_record *record, const struct key_parts *split, struct tf_error *err)
{
    const char *first = split->parts[1], *second = split->parts[2];
    if (record->kind == TF_RECORD_ALLOCATION)
        return tf_uid_parse(first, &record->allocation.uid, err);
    if (record->kind == TF_RECORD_FREEZE)
        return take_freeze(&record->freeze, first, second, err);
    if (record->kind == TF_RECORD_NODE_CLAIM)
        return tf_uid_parse(first, &record->node_claim.uid, err);
    if (record->kind == TF_RECORD_MIGRATION)
        return tf_uid_parse(first, &record->migration.id, err);
    for (int i = 1; i < split->count; i++)
        if (tf_name_check(split->parts[i], "the name in a key", err))
            return -1;
    if (record->kind == TF_RECORD_JOB) {
        record->job.tenant = tf_strdup(first);
        record->job.name = tf_strdup(second);
    } else if (record->kind == TF_RECORD_CLUSTER) {
        record->cluster.name = tf_strdup(first);
    } else if (record->kind == TF_RECORD_SUMMARY) {
        record->summary.name = tf_strdup(first);
    } else if (record->kind == TF_RECORD_CORDON) {
        record->cordon.node = tf_strdup(first);
    }
    return 0;
}

int tf_wire_record_parse_key(const char *key, size_t len, struct tf_record *record, struct tf_error *err)
{
    struct key_parts split = {.count = 0};
    if (split_key(key, len, &split) == 0)
        for (size_t i = 0; i < TF_ARRAY_LEN(kinds); i++)
            if (tf_str_eq(kinds[i].key, split.parts[0]) && kinds[i].parts == split.count - 1) {
                struct tf_record named = {.kind = (enum tf_record_kind)i};
                if (take_parts(&named, &split, err))
                    return -1;
                *record = named;
                return 0;
            }
    TF_AUTO_FREE char *text = tf_strndup(key, len < 200 ? len : 200);
    TF_AUTO_BUF clean = TF_BUF_INIT;
    tf_buf_utf8(&clean, text);
    return tf_error_set(err, TF_ERR_INVALID, "key \"%s\" is of no record", tf_buf_text(&clean));
}

/* ---- values ---- */

/* "job search/rank", for errors. */
static const char *describe(const struct tf_record *record, const struct kind *kind, struct tf_buf *text)
{
    tf_buf_str(text, kind->what);
    struct tf_error ignored = TF_ERROR_INIT;
    TF_AUTO_BUF parts = TF_BUF_INIT;
    if (kind->parts && append_parts(record, &parts, &ignored) == 0)
        tf_buf_fmt(text, " %s", tf_buf_text(&parts) + 1);
    return tf_buf_text(text);
}

int tf_wire_record_pack(const struct tf_record *record, struct tf_buf *value, struct tf_error *err)
{
    const struct kind *kind = kind_of(record);
    if (!kind)
        return no_kind(err);
    const void *object = (const char *)record + kind->field;
    if (!tf_wire_pack(kind->table, object, kind->what, TF_WIRE_RECORD_MAX, value, NULL))
        return 0;
    TF_AUTO_BUF what = TF_BUF_INIT; /* once more, for the words of the error */
    return tf_wire_pack(kind->table, object, describe(record, kind, &what), TF_WIRE_RECORD_MAX, value, err);
}

size_t tf_wire_record_size(const struct tf_record *record)
{
    const struct kind *kind = kind_of(record);
    return kind ? tf_wire_size(kind->table, (const char *)record + kind->field) : 0;
}

/* A value put under the wrong key, by hand or by a fault, must not become another job. */
static int check_key(const struct tf_record *record, const char *key, size_t len, const char *what,
                     struct tf_error *err)
{
    TF_AUTO_BUF own = TF_BUF_INIT;
    if (tf_wire_record_key(record, &own, err))
        return -1;
    if (own.len == len && memcmp(own.data, key, len) == 0)
        return 0;
    return tf_error_set(err, TF_ERR_INVALID, "%s: the value says that it is %s", what, own.data);
}

int tf_wire_record_unpack(const char *key, size_t key_len, const void *value, size_t len,
                          struct tf_record *record, struct tf_error *err)
{
    struct tf_record named = {0}, read = {0};
    if (tf_wire_record_parse_key(key, key_len, &named, err))
        return -1;
    const struct kind *kind = kind_of(&named);
    TF_AUTO_BUF what = TF_BUF_INIT;
    describe(&named, kind, &what);
    read.kind = named.kind;
    tf_record_release(&named);
    if (tf_wire_unpack(kind->table, value, len, tf_buf_text(&what), TF_WIRE_RECORD_MAX,
                       (char *)&read + kind->field, err))
        return -1;
    if (check_key(&read, key, key_len, tf_buf_text(&what), err)) {
        tf_record_release(&read);
        return -1;
    }
    if (read.kind == TF_RECORD_ALLOCATION && !read.allocation.spec)
        read.allocation.spec = tf_spec_none();
    *record = read;
    return 0;
}
