/* SPDX-License-Identifier: Apache-2.0 */
/* Owns migrations as documents. */
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "common/model/manifest.h"
#include "tools/fedctl/migration.h"

struct move_doc {
    char *id, *cluster, *cause, *owner, *reason, *user, *created;
    char *job, *uid, *from, *to, *state, *why, *reserved, *started, *ready, *switched, *stopping, *ended;
    char *from_cluster, *to_cluster, *decided_by, *deadline; /* of a job that goes to another cluster */
    int64_t epoch, new_epoch;
    int32_t index, attempt; /* of one instance */
    bool paused, restarts;
    struct tf_strs gpus;
};

#define M struct move_doc
static const struct tf_row metadata_rows[] = {
    {.key = "id", TF_STRING(M, id)},
    {.key = "cluster", TF_STRING(M, cluster)},
    {.key = "created", TF_STRING(M, created)},
};
static const struct tf_table metadata_table = TF_TABLE(M, metadata_rows);
static const struct tf_row spec_rows[] = {
    {.key = "for", TF_STRING(M, cause)},
    {.key = "owner", TF_STRING(M, owner)},
    {.key = "reason", TF_STRING(M, reason)},
    {.key = "user", TF_STRING(M, user)},
    {.key = "job", TF_STRING(M, job)},
    {.key = "uid", TF_STRING(M, uid)},
    {.key = "epoch", TF_INT64(M, epoch)},
    {.key = "index", TF_INT32(M, index), .flags = TF_ROW_OPTIONAL},
    {.key = "from", TF_STRING(M, from)},
    {.key = "fromCluster", TF_STRING(M, from_cluster)},
    {.key = "toCluster", TF_STRING(M, to_cluster)},
};
static const struct tf_table spec_table = TF_TABLE(M, spec_rows);
static const struct tf_row status_rows[] = {
    {.key = "state", TF_STRING(M, state)},
    {.key = "paused", TF_BOOL(M, paused)},
    {.key = "why", TF_STRING(M, why)},
    {.key = "decidedBy", TF_STRING(M, decided_by)},
    {.key = "to", TF_STRING(M, to)},
    {.key = "gpus", TF_STRINGS(M, gpus)},
    {.key = "attempt", TF_INT32(M, attempt), .flags = TF_ROW_OPTIONAL},
    {.key = "restarts", TF_BOOL(M, restarts)},
    {.key = "newEpoch", TF_INT64(M, new_epoch), .flags = TF_ROW_ZERO},
    {.key = "deadline", TF_STRING(M, deadline)},
    {.key = "reserved", TF_STRING(M, reserved)},
    {.key = "started", TF_STRING(M, started)},
    {.key = "ready", TF_STRING(M, ready)},
    {.key = "switched", TF_STRING(M, switched)},
    {.key = "stopping", TF_STRING(M, stopping)},
    {.key = "ended", TF_STRING(M, ended)},
};
static const struct tf_table status_table = TF_TABLE(M, status_rows);
static const struct tf_row move_rows[] = {
    {.key = "apiVersion", TF_CONST(TF_API_VERSION)}, {.key = "kind", TF_CONST("Migration")},
    {.key = "metadata", TF_GROUP(&metadata_table)},  {.key = "spec", TF_GROUP(&spec_table)},
    {.key = "status", TF_GROUP(&status_table)},
};
static const struct tf_table move_table = TF_TABLE(M, move_rows);
#undef M

static char *joined(const char *tenant, const char *name, struct tf_arena *arena)
{
    TF_AUTO_FREE char *text = tf_asprintf("%s/%s", tenant, name);
    return tf_arena_strdup(arena, text);
}

static void fill_job(const struct tf_job_move *job, struct move_doc *doc, struct tf_arena *arena)
{
    const struct tf_cross *c = &job->move;
    *doc = (struct move_doc){.id = view_uid(job->uid, arena),
                             .cause = view_word(tf_move_cause_name(TF_MOVE_BY_OPERATOR)),
                             .reason = c->reason,
                             .user = c->user,
                             .created = view_time(c->since, arena),
                             .job = joined(job->tenant, job->name, arena),
                             .uid = view_uid(job->uid, arena),
                             .from_cluster = c->from,
                             .to_cluster = c->to,
                             .state = view_word(tf_cross_state_name(c->state)),
                             .why = c->why,
                             .decided_by = c->cause ? view_word(tf_cross_cause_name(c->cause)) : NULL,
                             .deadline = view_time(c->deadline, arena),
                             .ended = view_time(c->ended, arena),
                             .epoch = (int64_t)c->old_epoch,
                             .new_epoch = (int64_t)c->new_epoch,
                             .index = TF_UNSET,
                             .attempt = TF_UNSET};
}

static void fill(const void *object, void *document, struct tf_arena *arena)
{
    const struct move *m = object;
    const struct tf_move *move = m->move;
    struct move_doc *doc = document;
    if (m->job) {
        fill_job(m->job, doc, arena);
        return;
    }
    *doc = (struct move_doc){.id = view_uid(m->chain->id, arena),
                             .cluster = view_word(m->cluster ? m->cluster : ""),
                             .cause = view_word(tf_move_cause_name(m->chain->cause)),
                             .owner = m->chain->owner,
                             .reason = m->chain->reason,
                             .user = m->chain->user,
                             .created = view_time(m->chain->created, arena),
                             .job = joined(move->tenant, move->name, arena),
                             .uid = view_uid(move->uid, arena),
                             .from = move->from,
                             .to = move->claim.node ? move->claim.node : move->wanted,
                             .state = view_word(tf_move_state_name(move->state)),
                             .why = move->why,
                             .reserved = view_time(move->reserved, arena),
                             .started = view_time(move->started, arena),
                             .ready = view_time(move->ready, arena),
                             .switched = view_time(move->switched, arena),
                             .stopping = view_time(move->stopping, arena),
                             .ended = view_time(move->ended, arena),
                             .epoch = (int64_t)move->epoch,
                             .index = (int32_t)move->index,
                             .attempt = (int32_t)move->attempt,
                             .paused = m->chain->paused,
                             .restarts = move->restarts,
                             .gpus = view_gpus(move->claim.gpus, arena)};
}

const struct view view_move = {&move_table, sizeof(struct move_doc), fill};
