/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the documents of jobs, their instances and explanations. */
#include "common/base/cleanup.h"
#include "common/model/manifest.h"
#include "tools/fedctl/view.h"

#define API_ROW                                       \
    {                                                 \
        .key = "apiVersion", TF_CONST(TF_API_VERSION) \
    }

/* ---- members ---- */

struct member_doc {
    int32_t index, attempt, step;
    char *node, *state, *started, *ready, *ended, *retry_at;
    struct tf_strs gpus, ports;
    int32_t exit_code;
};

#define M struct member_doc
static const struct tf_row member_rows[] = {
    {.key = "index", TF_INT32(M, index)},
    {.key = "attempt", TF_INT32(M, attempt)},
    {.key = "state", TF_STRING(M, state)},
    {.key = "node", TF_STRING(M, node)},
    {.key = "gpus", TF_STRINGS(M, gpus), .def = ""},
    {.key = "ports", TF_STRINGS(M, ports)},
    {.key = "surplusStep", TF_INT32(M, step), .flags = TF_ROW_ZERO},
    {.key = "started", TF_STRING(M, started)},
    {.key = "ready", TF_STRING(M, ready)},
    {.key = "ended", TF_STRING(M, ended)},
    {.key = "retryAt", TF_STRING(M, retry_at)},
    {.key = "exitCode", TF_INT32(M, exit_code), .flags = TF_ROW_ZERO},
};
#undef M
static const struct tf_table member_table = TF_TABLE(struct member_doc, member_rows);

static void fill_member(const struct tf_member *member, struct member_doc *doc, struct tf_arena *arena)
{
    *doc = (struct member_doc){
        .index = (int32_t)member->index,
        .attempt = (int32_t)member->attempt,
        .step = member->mark,
        .node = member->node,
        .state = view_word(tf_member_state_name(member->state)),
        .started = view_time(member->started, arena),
        .ready = view_time(member->ready, arena),
        .ended = view_time(member->ended, arena),
        .retry_at = view_time(member->retry_at, arena),
        .gpus = view_gpus(member->gpus, arena),
        .ports = member->ports,
        .exit_code = member->exit_code,
    };
}

/* ---- jobs ---- */

struct event_doc {
    char *at, *type, *text;
    int64_t epoch;
};

#define E struct event_doc
static const struct tf_row event_rows[] = {
    {.key = "at", TF_STRING(E, at)},
    {.key = "type", TF_STRING(E, type)},
    {.key = "epoch", TF_INT64(E, epoch), .flags = TF_ROW_ZERO},
    {.key = "text", TF_STRING(E, text)},
};
#undef E
static const struct tf_table event_table = TF_TABLE(struct event_doc, event_rows);

struct job_doc {
    char *tenant, *name, *uid, *user;
    struct tf_pairs labels;
    struct tf_job_spec spec;
    int64_t version;
    char *phase, *reason, *reason_text, *cluster, *model;
    struct tf_strs conditions;
    bool held, deleted;
    int64_t epoch;
    int32_t size, ready, last_size;
    char *submitted, *placed, *started, *changed, *finished, *archived, *checkpoint;
    int32_t restarts, evictions, losses, retries_used, exit_code;
    int64_t lost_gpu_seconds, events_dropped, restart_took;
    char *message, *output;
    TF_VEC(struct member_doc) members;
    TF_VEC(struct event_doc) events;
};

#define J struct job_doc
static const struct tf_row metadata_rows[] = {
    {.key = "tenant", TF_STRING(J, tenant)}, {.key = "name", TF_STRING(J, name)},
    {.key = "uid", TF_STRING(J, uid)},       {.key = "version", TF_INT64(J, version), .flags = TF_ROW_ZERO},
    {.key = "user", TF_STRING(J, user)},     {.key = "labels", TF_PAIRS(J, labels)},
};
static const struct tf_table metadata_table = TF_TABLE(J, metadata_rows);

static const struct tf_row status_rows[] = {
    {.key = "phase", TF_STRING(J, phase)},
    {.key = "conditions", TF_STRINGS(J, conditions)},
    {.key = "reason", TF_STRING(J, reason)},
    {.key = "reasonText", TF_STRING(J, reason_text)},
    {.key = "held", TF_BOOL(J, held)},
    {.key = "deleted", TF_BOOL(J, deleted)},
    {.key = "cluster", TF_STRING(J, cluster)},
    {.key = "epoch", TF_INT64(J, epoch), .flags = TF_ROW_ZERO},
    {.key = "gpuModel", TF_STRING(J, model)},
    {.key = "size", TF_INT32(J, size)},
    {.key = "ready", TF_INT32(J, ready)},
    {.key = "lastSize", TF_INT32(J, last_size), .flags = TF_ROW_ZERO},
    {.key = "submitted", TF_STRING(J, submitted)},
    {.key = "placed", TF_STRING(J, placed)},
    {.key = "started", TF_STRING(J, started)},
    {.key = "changed", TF_STRING(J, changed)},
    {.key = "finished", TF_STRING(J, finished)},
    {.key = "archived", TF_STRING(J, archived)},
    {.key = "checkpoint", TF_STRING(J, checkpoint)},
    {.key = "restartMilliseconds", TF_INT64(J, restart_took), .flags = TF_ROW_ZERO},
    {.key = "restarts", TF_INT32(J, restarts)},
    {.key = "evictions", TF_INT32(J, evictions)},
    {.key = "losses", TF_INT32(J, losses)},
    {.key = "retriesUsed", TF_INT32(J, retries_used)},
    {.key = "lostGpuSeconds", TF_INT64(J, lost_gpu_seconds)},
    {.key = "exitCode", TF_INT32(J, exit_code)},
    {.key = "message", TF_STRING(J, message)},
    {.key = "output", TF_STRING(J, output)},
    {.key = "instances", TF_OBJECTS(J, members, &member_table)},
    {.key = "events", TF_OBJECTS(J, events, &event_table)},
    {.key = "eventsDropped", TF_INT64(J, events_dropped), .flags = TF_ROW_ZERO},
};
static const struct tf_table status_table = TF_TABLE(J, status_rows);

static const struct tf_row job_rows[] = {
    API_ROW,
    {.key = "kind", TF_CONST(TF_KIND_JOB)},
    {.key = "metadata", TF_GROUP(&metadata_table)},
    {.key = "spec", TF_OBJECT(J, spec, &tf_job_spec_table)},
    {.key = "status", TF_GROUP(&status_table)},
};
static const struct tf_table job_table = TF_TABLE(J, job_rows);

static const struct tf_row reservation_rows[] = {
    API_ROW,
    {.key = "kind", TF_CONST(TF_KIND_RESERVATION)},
    {.key = "metadata", TF_GROUP(&metadata_table)},
    {.key = "spec", TF_OBJECT(J, spec, &tf_reservation_spec_table)},
    {.key = "status", TF_GROUP(&status_table)},
};
static const struct tf_table reservation_table = TF_TABLE(J, reservation_rows);
#undef J

static struct tf_strs conditions_of(uint32_t set, struct tf_arena *arena)
{
    static const char *const names[] = {"Short", "Repairing", "Unreachable", "Moving", "Degraded"};
    struct tf_strs list = {.items = tf_arena_alloc(arena, TF_ARRAY_LEN(names), sizeof *list.items)};
    for (size_t i = 0; i < TF_ARRAY_LEN(names); i++)
        if (set >> i & 1u)
            list.items[list.count++] = view_word(names[i]);
    return list;
}

static void fill_lists(const struct tf_job_view *job, struct job_doc *doc, struct tf_arena *arena)
{
    doc->members.items = tf_arena_alloc(arena, job->members.count + 1, sizeof *doc->members.items);
    doc->members.count = job->members.count;
    for (size_t i = 0; i < job->members.count; i++)
        fill_member(&job->members.items[i], &doc->members.items[i], arena);
    doc->events.items = tf_arena_alloc(arena, job->events.count + 1, sizeof *doc->events.items);
    doc->events.count = job->events.count;
    for (size_t i = 0; i < job->events.count; i++) {
        const struct tf_job_event *event = &job->events.items[i];
        doc->events.items[i] = (struct event_doc){
            .at = view_time(event->at, arena),
            .type = event->type,
            .text = event->text,
            .epoch = (int64_t)event->epoch,
        };
    }
}

static void fill_job(const void *object, void *document, struct tf_arena *arena)
{
    const struct tf_job_view *job = object;
    struct job_doc *doc = document;
    *doc = (struct job_doc){
        .tenant = job->manifest.tenant,
        .name = job->manifest.name,
        .uid = view_uid(job->uid, arena),
        .user = job->user,
        .labels = job->manifest.labels,
        .spec = job->manifest.spec,
        .version = (int64_t)job->version,
        .phase = view_word(tf_phase_name(job->phase)),
        .reason = job->reason ? view_word(tf_reason_name(job->reason)) : NULL,
        .reason_text = job->reason_text,
        .cluster = job->cluster,
        .model = job->model,
        .conditions = conditions_of(job->conditions, arena),
        .held = job->held,
        .deleted = job->deleted,
        .epoch = (int64_t)job->epoch,
        .size = job->size,
        .ready = job->ready,
        .last_size = job->last_size,
        .submitted = view_time(job->submitted, arena),
        .placed = view_time(job->placed, arena),
        .started = view_time(job->started, arena),
        .changed = view_time(job->changed, arena),
        .finished = view_time(job->finished, arena),
        .archived = view_time(job->archived, arena),
        .checkpoint = view_time(job->checkpoint, arena),
        .restart_took = job->restart_took,
        .restarts = job->restarts,
        .evictions = job->evictions,
        .losses = job->losses,
        .retries_used = job->retries_used,
        .exit_code = job->exit_code,
        .lost_gpu_seconds = job->lost_gpu_seconds,
        .events_dropped = (int64_t)job->events_dropped,
        .message = job->message,
        .output = job->output,
    };
    fill_lists(job, doc, arena);
}

const struct view view_job = {&job_table, sizeof(struct job_doc), fill_job};
const struct view view_reservation = {&reservation_table, sizeof(struct job_doc), fill_job};

/* ---- manifests with their defaults ---- */

static void fill_manifest(const void *object, void *document, struct tf_arena *arena)
{
    (void)arena;
    memcpy(document, object, sizeof(struct tf_job_manifest));
}

const struct view view_manifest = {&tf_job_manifest_table, sizeof(struct tf_job_manifest), fill_manifest};
const struct view view_reservation_manifest = {&tf_reservation_manifest_table, sizeof(struct tf_job_manifest),
                                               fill_manifest};

/* ---- instances ---- */

struct instance_doc {
    char *tenant, *name, *uid, *cluster;
    int64_t epoch;
    struct member_doc member;
};

#define I struct instance_doc
static const struct tf_row instance_metadata_rows[] = {
    {.key = "tenant", TF_STRING(I, tenant)},
    {.key = "job", TF_STRING(I, name)},
    {.key = "uid", TF_STRING(I, uid)},
};
static const struct tf_table instance_metadata_table = TF_TABLE(I, instance_metadata_rows);
static const struct tf_row instance_rows[] = {
    API_ROW,
    {.key = "kind", TF_CONST("Instance")},
    {.key = "metadata", TF_GROUP(&instance_metadata_table)},
    {.key = "cluster", TF_STRING(I, cluster)},
    {.key = "epoch", TF_INT64(I, epoch)},
    {.key = "status", TF_OBJECT(I, member, &member_table)},
};
static const struct tf_table instance_table = TF_TABLE(I, instance_rows);
#undef I

static void fill_instance(const void *object, void *document, struct tf_arena *arena)
{
    const struct tf_instance_info *info = object;
    struct instance_doc *doc = document;
    *doc = (struct instance_doc){
        .tenant = info->tenant,
        .name = info->name,
        .uid = view_uid(info->uid, arena),
        .cluster = info->cluster,
        .epoch = (int64_t)info->epoch,
    };
    fill_member(&info->member, &doc->member, arena);
}

const struct view view_instance = {&instance_table, sizeof(struct instance_doc), fill_instance};

/* ---- events by themselves ---- */

struct job_event_doc {
    char *job, *uid;
    struct event_doc event;
};

#define V struct job_event_doc
static const struct tf_row job_event_rows[] = {
    API_ROW,
    {.key = "kind", TF_CONST("Event")},
    {.key = "job", TF_STRING(V, job)},
    {.key = "uid", TF_STRING(V, uid)},
    {.key = "event", TF_OBJECT(V, event, &event_table)},
};
#undef V
static const struct tf_table job_event_table = TF_TABLE(struct job_event_doc, job_event_rows);

static void fill_event(const void *object, void *document, struct tf_arena *arena)
{
    const struct job_event *event = object;
    *(struct job_event_doc *)document = (struct job_event_doc){
        .job = event->job,
        .uid = view_uid(event->uid, arena),
        .event = {.at = view_time(event->event.at, arena),
                  .type = event->event.type,
                  .text = event->event.text,
                  .epoch = (int64_t)event->event.epoch},
    };
}

const struct view view_event = {&job_event_table, sizeof(struct job_event_doc), fill_event};

void job_event_release(struct job_event *event)
{
    free(event->job);
    tf_job_event_release(&event->event);
}

/* ---- explanations ---- */

struct blocker_doc {
    char *reason, *until, *text, *unblock;
};

#define B struct blocker_doc
static const struct tf_row blocker_rows[] = {
    {.key = "reason", TF_STRING(B, reason)},
    {.key = "until", TF_STRING(B, until)},
    {.key = "text", TF_STRING(B, text)},
    {.key = "unblock", TF_STRING(B, unblock)},
};
#undef B
static const struct tf_table blocker_table = TF_TABLE(struct blocker_doc, blocker_rows);

struct row_doc {
    char *cluster, *reason, *until, *text, *unblock;
    int32_t has, asked, missing;
    TF_VEC(struct blocker_doc) more;
};

#define R struct row_doc
static const struct tf_row row_rows[] = {
    {.key = "cluster", TF_STRING(R, cluster)},
    {.key = "reason", TF_STRING(R, reason)},
    {.key = "has", TF_INT32(R, has)},
    {.key = "asked", TF_INT32(R, asked)},
    {.key = "missing", TF_INT32(R, missing)},
    {.key = "until", TF_STRING(R, until)},
    {.key = "text", TF_STRING(R, text)},
    {.key = "unblock", TF_STRING(R, unblock)},
    {.key = "more", TF_OBJECTS(R, more, &blocker_table)},
};
#undef R
static const struct tf_table row_table = TF_TABLE(struct row_doc, row_rows);

struct explain_doc {
    char *tenant, *name, *uid, *phase, *answer;
    TF_VEC(struct row_doc) rows;
    struct tf_strs decisions;
};

#define X struct explain_doc
static const struct tf_row explain_metadata_rows[] = {
    {.key = "tenant", TF_STRING(X, tenant)},
    {.key = "job", TF_STRING(X, name)},
    {.key = "uid", TF_STRING(X, uid)},
};
static const struct tf_table explain_metadata_table = TF_TABLE(X, explain_metadata_rows);
static const struct tf_row explain_rows[] = {
    API_ROW,
    {.key = "kind", TF_CONST("Explanation")},
    {.key = "metadata", TF_GROUP(&explain_metadata_table)},
    {.key = "phase", TF_STRING(X, phase)},
    {.key = "answer", TF_STRING(X, answer)},
    {.key = "clusters", TF_OBJECTS(X, rows, &row_table), .def = ""},
    {.key = "decisions", TF_STRINGS(X, decisions)},
};
static const struct tf_table explain_table = TF_TABLE(X, explain_rows);
#undef X

static void fill_more(const struct tf_explain_row *row, struct row_doc *doc, struct tf_arena *arena)
{
    doc->more.items = tf_arena_alloc(arena, row->more.count + 1, sizeof *doc->more.items);
    doc->more.count = row->more.count;
    for (size_t i = 0; i < row->more.count; i++) {
        const struct tf_blocker *b = &row->more.items[i];
        doc->more.items[i] = (struct blocker_doc){.reason = view_word(tf_reason_name(b->reason)),
                                                  .until = view_time(b->until, arena),
                                                  .text = b->text,
                                                  .unblock = b->unblock};
    }
}

static void fill_explain(const void *object, void *document, struct tf_arena *arena)
{
    const struct tf_explain_reply *reply = object;
    struct explain_doc *doc = document;
    *doc = (struct explain_doc){
        .tenant = reply->job.manifest.tenant,
        .name = reply->job.manifest.name,
        .uid = view_uid(reply->job.uid, arena),
        .phase = view_word(tf_phase_name(reply->job.phase)),
        .answer = reply->answer,
        .decisions = reply->decisions,
    };
    doc->rows.items = tf_arena_alloc(arena, reply->rows.count + 1, sizeof *doc->rows.items);
    doc->rows.count = reply->rows.count;
    for (size_t i = 0; i < reply->rows.count; i++) {
        const struct tf_explain_row *row = &reply->rows.items[i];
        doc->rows.items[i] = (struct row_doc){
            .cluster = row->cluster,
            .reason = row->reason ? view_word(tf_reason_name(row->reason)) : NULL,
            .until = view_time(row->until, arena),
            .text = row->text,
            .unblock = row->unblock,
            .has = row->has,
            .asked = row->asked,
            .missing = row->missing,
        };
        fill_more(row, &doc->rows.items[i], arena);
    }
}

const struct view view_explain = {&explain_table, sizeof(struct explain_doc), fill_explain};
