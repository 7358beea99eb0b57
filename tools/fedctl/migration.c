/* SPDX-License-Identifier: Apache-2.0 */
/* Owns how migrations are listed, found by their ids, and told what to do. */
#include "tools/fedctl/migration.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "common/model/manifest.h"
#include "tools/fedctl/resource.h"
#include "tools/fedctl/when.h"

#include <string.h>

/* ---- shown ---- */

static const struct column columns[] = {
    {"ID", 0},
    {"STATE", 0},
    {"JOB", 0},
    {"INDEX", COLUMN_RIGHT},
    {"CLUSTER", 0},
    {"FROM", 0},
    {"TO", 0},
    {"FOR", 0},
    {"AGE", COLUMN_RIGHT},
    {"WHY", 0},
    {"GPUS", COLUMN_WIDE},
    {"ATTEMPT", COLUMN_WIDE | COLUMN_RIGHT},
    {"REASON", COLUMN_WIDE},
};

const char *migration_id(struct tf_uid id, char text[MIGRATION_ID_TEXT])
{
    char whole[TF_UID_TEXT];
    tf_uid_format(id, whole);
    memcpy(text, whole, MIGRATION_ID_TEXT - 1);
    text[MIGRATION_ID_TEXT - 1] = '\0';
    return text;
}

static enum cell_style style_of(enum tf_move_state state)
{
    if (state == TF_MOVE_DONE)
        return CELL_GOOD;
    return state == TF_MOVE_ROLLED_BACK ? CELL_BAD : CELL_WAITING;
}

static const char *state_of(const struct move *m)
{
    bool waits = m->move->state == TF_MOVE_PLANNED || m->move->state == TF_MOVE_RESERVED;
    return waits && m->chain->paused ? "PAUSED" : tf_move_state_name(m->move->state);
}

static void cells(const void *object, struct tf_wall now, struct columns *out)
{
    const struct move *m = object;
    char id[MIGRATION_ID_TEXT], age[WHEN_TEXT], gpus[TF_GPU_SET_TEXT];
    columns_add(out, migration_id(m->chain->id, id));
    columns_add_styled(out, style_of(m->move->state), state_of(m));
    columns_add_fmt(out, "%s/%s", m->move->tenant, m->move->name);
    columns_add_fmt(out, "%u", m->move->index);
    columns_add(out, m->cluster);
    columns_add(out, m->move->from);
    columns_add(out, m->move->claim.node ? m->move->claim.node : m->move->wanted);
    columns_add_fmt(out, "%s%s%s", tf_move_cause_name(m->chain->cause), m->chain->owner ? " " : "",
                    m->chain->owner ? m->chain->owner : "");
    columns_add(out, when_age(m->chain->created, now, age));
    columns_add(out, m->move->why);
    columns_add(out, m->move->claim.gpus ? tf_gpu_set_format(m->move->claim.gpus, gpus) : "-");
    columns_add_fmt(out, "%u", m->move->attempt);
    columns_add(out, m->chain->reason);
}

static void name(const void *object, struct tf_buf *buf)
{
    char id[MIGRATION_ID_TEXT];
    tf_buf_str(buf, migration_id(((const struct move *)object)->chain->id, id));
}

const struct resource resource_migrations = {"migrations", columns, TF_ARRAY_LEN(columns),
                                             &view_move,   cells,   name};

/* ---- as documents ---- */

struct move_doc {
    char *id, *cluster, *cause, *owner, *reason, *user, *created;
    char *job, *uid, *from, *to, *state, *why, *reserved, *started, *ready, *switched, *stopping, *ended;
    int64_t epoch;
    int32_t index, attempt;
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
    {.key = "for", TF_STRING(M, cause)},     {.key = "owner", TF_STRING(M, owner)},
    {.key = "reason", TF_STRING(M, reason)}, {.key = "user", TF_STRING(M, user)},
    {.key = "job", TF_STRING(M, job)},       {.key = "uid", TF_STRING(M, uid)},
    {.key = "epoch", TF_INT64(M, epoch)},    {.key = "index", TF_INT32(M, index)},
    {.key = "from", TF_STRING(M, from)},
};
static const struct tf_table spec_table = TF_TABLE(M, spec_rows);
static const struct tf_row status_rows[] = {
    {.key = "state", TF_STRING(M, state)},       {.key = "paused", TF_BOOL(M, paused)},
    {.key = "why", TF_STRING(M, why)},           {.key = "to", TF_STRING(M, to)},
    {.key = "gpus", TF_STRINGS(M, gpus)},        {.key = "attempt", TF_INT32(M, attempt)},
    {.key = "restarts", TF_BOOL(M, restarts)},   {.key = "reserved", TF_STRING(M, reserved)},
    {.key = "started", TF_STRING(M, started)},   {.key = "ready", TF_STRING(M, ready)},
    {.key = "switched", TF_STRING(M, switched)}, {.key = "stopping", TF_STRING(M, stopping)},
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

static char *joined(const struct tf_move *move, struct tf_arena *arena)
{
    TF_AUTO_FREE char *text = tf_asprintf("%s/%s", move->tenant, move->name);
    return tf_arena_strdup(arena, text);
}

static void fill(const void *object, void *document, struct tf_arena *arena)
{
    const struct move *m = object;
    const struct tf_move *move = m->move;
    struct move_doc *doc = document;
    *doc = (struct move_doc){.id = view_uid(m->chain->id, arena),
                             .cluster = view_word(m->cluster ? m->cluster : ""),
                             .cause = view_word(tf_move_cause_name(m->chain->cause)),
                             .owner = m->chain->owner,
                             .reason = m->chain->reason,
                             .user = m->chain->user,
                             .created = view_time(m->chain->created, arena),
                             .job = joined(move, arena),
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

/* ---- fetched ---- */

int migrations_ask(struct fedctl *ctl, struct tf_reply *reply)
{
    struct tf_request request = {
        .method = TF_METHOD_MIGRATE,
        .migrate = {.cluster = ctl->options.cluster, .order = {.verb = TF_MIGRATE_LIST}}, /* lent */
    };
    struct tf_error err = TF_ERROR_INIT;
    return fedctl_call(ctl, &request, reply, &err) ? fedctl_fail(ctl, &err) : FEDCTL_DONE;
}

void migration_list(struct listing *listing, const struct tf_chain_info *info)
{
    tf_vec_each (move, &info->chain.moves) {
        struct move m = {info->cluster, &info->chain, move};
        listing_add(listing, &m);
    }
}

static bool is_named(const struct tf_chain_info *info, const char *word)
{
    char whole[TF_UID_TEXT];
    tf_uid_format(info->chain.id, whole);
    return *word && strncmp(whole, word, strlen(word)) == 0;
}

const struct tf_chain_info *migration_find(const struct fedctl *ctl, const struct tf_migrate_reply *reply,
                                           const char *word, int *code)
{
    const struct tf_chain_info *found = NULL;
    tf_vec_each (info, &reply->chains) {
        if (!is_named(info, word))
            continue;
        if (found) {
            *code = fedctl_usage(ctl, "more than one migration begins with %s: say more of its id", word);
            return NULL;
        }
        found = info;
    }
    *code = FEDCTL_DONE;
    if (!found) {
        message("there is no migration %s; `fedctl get migrations` lists them", word);
        *code = FEDCTL_NOT_FOUND;
    }
    return found;
}

int fetch_migrations(struct fedctl *ctl, struct listing *listing)
{
    struct tf_reply reply = {0};
    int code = migrations_ask(ctl, &reply), missing;
    if (code != FEDCTL_DONE)
        return code;
    if (ctl->words.count == 0)
        tf_vec_each (info, &reply.migrate.chains)
            migration_list(listing, info);
    for (size_t i = 0; i < ctl->words.count; i++) {
        int found;
        const struct tf_chain_info *info = migration_find(ctl, &reply.migrate, ctl->words.items[i], &found);
        if (info)
            migration_list(listing, info);
        code = code ? code : found;
    }
    missing = tell_missing(&reply.migrate.missing, "migrations");
    tf_reply_release(&reply);
    return code ? code : missing;
}

/* ---- told ---- */

int migration_order(struct fedctl *ctl, const char *word, enum tf_migrate_verb verb, const char *done)
{
    struct tf_reply known = {0}, reply = {0};
    struct tf_error err = TF_ERROR_INIT;
    int code = migrations_ask(ctl, &known);
    const struct tf_chain_info *info =
        code == FEDCTL_DONE ? migration_find(ctl, &known.migrate, word, &code) : NULL;
    if (info) {
        struct tf_request request = {.method = TF_METHOD_MIGRATE};
        request.migrate = (struct tf_migrate_request){
            .cluster = info->cluster,
            .order = {.verb = verb, .id = info->chain.id, .reason = ctl->options.reason}}; /* lent */
        if (fedctl_call(ctl, &request, &reply, &err))
            code = fedctl_fail_about(ctl, word, &err);
        else
            out_fmt(&ctl->out, "migration %s %s\n", word, done);
    }
    tf_reply_release(&reply);
    tf_reply_release(&known);
    return code;
}
