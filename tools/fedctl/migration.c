/* SPDX-License-Identifier: Apache-2.0 */
/* Owns how migrations are listed, found by their ids, and told what to do: chains of moves, and jobs that go
 * to other clusters, whose id is that of the job. */
#include "tools/fedctl/migration.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"
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
    {"REASON", 0},
    {"WHY", 0},
    {"GPUS", COLUMN_WIDE},
    {"ATTEMPT", COLUMN_WIDE | COLUMN_RIGHT},
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

static enum cell_style job_style(enum tf_cross_state state)
{
    if (state == TF_CROSS_DONE)
        return CELL_GOOD;
    return state == TF_CROSS_ROLLED_BACK ? CELL_BAD : CELL_WAITING;
}

/* All of a job, between clusters. */
static void job_cells(const struct tf_job_move *job, struct tf_wall now, struct columns *out)
{
    const struct tf_cross *c = &job->move;
    char id[MIGRATION_ID_TEXT], age[WHEN_TEXT];
    columns_add(out, migration_id(job->uid, id));
    columns_add_styled(out, job_style(c->state), tf_cross_state_name(c->state));
    columns_add_fmt(out, "%s/%s", job->tenant, job->name);
    columns_add(out, "all");
    columns_add(out, "-");
    columns_add(out, c->from);
    columns_add(out, c->to);
    columns_add(out, tf_move_cause_name(TF_MOVE_BY_OPERATOR));
    columns_add(out, when_age(c->since, now, age));
    columns_add(out, c->reason);
    columns_add(out, c->why);
    columns_add(out, "-");
    columns_add(out, "-");
}

static void cells(const void *object, struct tf_wall now, struct columns *out)
{
    const struct move *m = object;
    if (m->job) {
        job_cells(m->job, now, out);
        return;
    }
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
    columns_add(out, m->chain->reason);
    columns_add(out, m->move->why);
    columns_add(out, m->move->claim.gpus ? tf_gpu_set_format(m->move->claim.gpus, gpus) : "-");
    columns_add_fmt(out, "%u", m->move->attempt);
}

static void name(const void *object, struct tf_buf *buf)
{
    const struct move *m = object;
    char id[MIGRATION_ID_TEXT];
    tf_buf_str(buf, migration_id(m->job ? m->job->uid : m->chain->id, id));
}

const struct resource resource_migrations = {"migrations", columns, TF_ARRAY_LEN(columns),
                                             &view_move,   cells,   name};

/* ---- fetched ---- */

static int list_chains(struct fedctl *ctl, struct tf_reply *reply, struct tf_error *err)
{
    struct tf_request request = {
        .method = TF_METHOD_MIGRATE,
        .migrate = {.cluster = ctl->options.cluster, .order = {.verb = TF_MIGRATE_LIST}}, /* lent */
    };
    return fedctl_call(ctl, &request, reply, err);
}

int migrations_ask(struct fedctl *ctl, struct tf_reply *reply)
{
    struct tf_error err = TF_ERROR_INIT;
    return list_chains(ctl, reply, &err) ? fedctl_fail(ctl, &err) : FEDCTL_DONE;
}

int migrations_await(struct fedctl *ctl, struct tf_reply *reply)
{
    int code = FEDCTL_DONE;
    bool told = false, away;
    do {
        struct tf_error err = TF_ERROR_INIT;
        int failed = list_chains(ctl, reply, &err);
        enum fedctl_exit is = failed ? fedctl_exit_of(err.code) : FEDCTL_DONE;
        away = is == FEDCTL_UNREACHABLE || is == FEDCTL_TIMED_OUT;
        if (away && !told)
            message("%s\nIt is waited for; what was begun goes on meanwhile.", err.text);
        else if (failed && !away)
            code = fedctl_fail(ctl, &err);
        told |= away;
        if (away)
            migration_pause();
    } while (away);
    return code;
}

void migration_list(struct listing *listing, const struct tf_chain_info *info)
{
    tf_vec_each (move, &info->chain.moves) {
        struct move m = {info->cluster, &info->chain, move, NULL};
        listing_add(listing, &m);
    }
}

static void list_job(struct listing *listing, const struct tf_job_move *job)
{
    struct move m = {NULL, NULL, NULL, job};
    listing_add(listing, &m);
}

static bool begins(struct tf_uid id, const char *word)
{
    char whole[TF_UID_TEXT];
    tf_uid_format(id, whole);
    return *word && strncmp(whole, word, strlen(word)) == 0;
}

/* By the begin of its uid, or "TENANT/NAME". */
static bool is_job(const struct tf_job_move *job, const char *word)
{
    size_t tenant = strlen(job->tenant);
    return begins(job->uid, word) || (strncmp(word, job->tenant, tenant) == 0 && word[tenant] == '/' &&
                                      strcmp(word + tenant + 1, job->name) == 0);
}

int migration_find(const struct fedctl *ctl, const struct tf_migrate_reply *reply, const char *word,
                   struct migration_found *found)
{
    size_t count = 0;
    *found = (struct migration_found){0};
    tf_vec_each (info, &reply->chains)
        if (begins(info->chain.id, word)) {
            found->info = info;
            count++;
        }
    tf_vec_each (job, &reply->jobs)
        if (is_job(job, word)) {
            found->job = job;
            count++;
        }
    if (count > 1)
        return fedctl_usage(ctl, "more than one migration begins with %s: say more of its id", word);
    if (count == 0) {
        message("there is no migration %s; `fedctl get migrations` lists them", word);
        return FEDCTL_NOT_FOUND;
    }
    return FEDCTL_DONE;
}

/* As they began; both lists are in that order. */
static void list_all(struct listing *listing, const struct tf_migrate_reply *reply)
{
    size_t next = 0;
    tf_vec_each (info, &reply->chains) {
        for (; next < reply->jobs.count && reply->jobs.items[next].move.since.ms < info->chain.created.ms;
             next++)
            list_job(listing, &reply->jobs.items[next]);
        migration_list(listing, info);
    }
    for (; next < reply->jobs.count; next++)
        list_job(listing, &reply->jobs.items[next]);
}

int fetch_migrations(struct fedctl *ctl, struct listing *listing)
{
    struct tf_reply reply = {0};
    int code = migrations_ask(ctl, &reply), missing;
    if (code != FEDCTL_DONE)
        return code;
    if (ctl->words.count == 0)
        list_all(listing, &reply.migrate);
    for (size_t i = 0; i < ctl->words.count; i++) {
        struct migration_found found;
        int is = migration_find(ctl, &reply.migrate, ctl->words.items[i], &found);
        if (is == FEDCTL_DONE && found.job)
            list_job(listing, found.job);
        else if (is == FEDCTL_DONE)
            migration_list(listing, found.info);
        code = code ? code : is;
    }
    missing = tell_missing(&reply.migrate.missing, "migrations");
    tf_reply_release(&reply);
    return code ? code : missing;
}

/* ---- told ---- */

/* The order about a job that goes to another cluster. */
static void order_job(struct tf_request *request, const struct tf_job_move *job)
{
    request->migrate.job = (struct tf_job_ref){.tenant = job->tenant, .name = job->name, .uid = job->uid};
}

int migration_order(struct fedctl *ctl, const char *word, enum tf_migrate_verb verb, const char *done)
{
    struct tf_reply known = {0}, reply = {0};
    struct tf_error err = TF_ERROR_INIT;
    struct migration_found found;
    int code = migrations_ask(ctl, &known);
    code = code == FEDCTL_DONE ? migration_find(ctl, &known.migrate, word, &found) : code;
    if (code == FEDCTL_DONE) {
        struct tf_request request = {.method = TF_METHOD_MIGRATE}; /* all of it lent */
        request.migrate.order = (struct tf_migrate_order){.verb = verb, .reason = ctl->options.reason};
        if (found.job)
            order_job(&request, found.job);
        else {
            request.migrate.cluster = found.info->cluster;
            request.migrate.order.id = found.info->chain.id;
        }
        if (fedctl_call(ctl, &request, &reply, &err))
            code = fedctl_fail_about(ctl, word, &err);
        else
            out_fmt(&ctl->out, "migration %s %s%s%s\n", word, done, reply.migrate.text ? ": " : "",
                    reply.migrate.text ? reply.migrate.text : "");
    }
    tf_reply_release(&reply);
    tf_reply_release(&known);
    return code;
}
