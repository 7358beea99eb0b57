/* SPDX-License-Identifier: Apache-2.0 */
/* Owns how a migration is described: a chain of moves in one cluster, or a job on its way to another. */
#include "common/base/cleanup.h"
#include "tools/fedctl/describe.h"
#include "tools/fedctl/migration.h"
#include "tools/fedctl/resource.h"
#include "tools/fedctl/when.h"

static void chain_moves(struct fedctl *ctl, const struct tf_migration *chain, struct tf_buf *buf)
{
    static const struct column titles[] = {
        {"JOB", 0}, {"INDEX", COLUMN_RIGHT}, {"STATE", 0}, {"FROM", 0}, {"TO", 0}, {"GPUS", 0}, {"WHY", 0}};
    struct columns columns;
    char gpus[TF_GPU_SET_TEXT];
    columns_init(&columns, titles, TF_ARRAY_LEN(titles));
    tf_vec_each (move, &chain->moves) {
        columns_add_fmt(&columns, "%s/%s", move->tenant, move->name);
        columns_add_fmt(&columns, "%u", move->index);
        columns_add(&columns, tf_move_state_name(move->state));
        columns_add(&columns, move->from);
        columns_add(&columns, move->claim.node ? move->claim.node : move->wanted);
        columns_add(&columns, move->claim.gpus ? tf_gpu_set_format(move->claim.gpus, gpus) : "-");
        columns_add(&columns, move->why);
    }
    describe_table(ctl, "Moves:", &columns, buf);
}

/* When each state was reached, beside one another: what took long is seen at once. */
static void chain_moments(struct fedctl *ctl, const struct tf_migration *chain, struct tf_buf *buf)
{
    static const struct column titles[] = {
        {"JOB", 0},   {"INDEX", COLUMN_RIGHT}, {"RESERVED", 0}, {"STARTED", 0},
        {"READY", 0}, {"SWITCHED", 0},         {"STOPPING", 0}, {"ENDED", 0}};
    struct columns columns;
    char local[WHEN_TEXT];
    columns_init(&columns, titles, TF_ARRAY_LEN(titles));
    tf_vec_each (move, &chain->moves) {
        const struct tf_wall at[] = {move->reserved, move->started,  move->ready,
                                     move->switched, move->stopping, move->ended};
        columns_add_fmt(&columns, "%s/%s", move->tenant, move->name);
        columns_add_fmt(&columns, "%u", move->index);
        for (size_t i = 0; i < TF_ARRAY_LEN(at); i++)
            columns_add(&columns, when_local(at[i], local));
    }
    describe_table(ctl, "Moments:", &columns, buf);
}

static void print_chain(struct fedctl *ctl, const struct tf_chain_info *info, struct tf_buf *buf)
{
    const struct tf_migration *chain = &info->chain;
    struct tf_wall now = fedctl_now();
    char id[TF_UID_TEXT];
    tf_uid_format(chain->id, id);
    describe_field(buf, "Migration:", "%s", id);
    describe_field(buf, "Cluster:", "%s", info->cluster ? info->cluster : "-");
    describe_field(buf, "For:", "%s%s%s", tf_move_cause_name(chain->cause), chain->owner ? " " : "",
                   chain->owner ? chain->owner : "");
    describe_text(buf, "Reason:", chain->reason);
    describe_text(buf, "User:", chain->user);
    describe_field(buf, "State:", "%s", chain->ended.ms ? "over" : chain->paused ? "paused" : "under way");
    describe_time(buf, "Begun:", chain->created, now);
    describe_time(buf, "Ended:", chain->ended, now);
    chain_moves(ctl, chain, buf);
    chain_moments(ctl, chain, buf);
}

static void print_job_move(const struct tf_job_move *job, struct tf_buf *buf)
{
    const struct tf_cross *c = &job->move;
    struct tf_wall now = fedctl_now();
    char id[TF_UID_TEXT], local[WHEN_TEXT];
    tf_uid_format(job->uid, id);
    describe_field(buf, "Migration:", "%s", id);
    describe_field(buf, "Job:", "%s/%s", job->tenant, job->name);
    describe_field(buf, "From:", "cluster %s, epoch %llu", c->from ? c->from : "?",
                   (unsigned long long)c->old_epoch);
    if (c->new_epoch)
        describe_field(buf, "To:", "cluster %s, epoch %llu", c->to ? c->to : "?",
                       (unsigned long long)c->new_epoch);
    else
        describe_field(buf, "To:", "cluster %s, not placed there", c->to ? c->to : "?");
    describe_field(buf, "For:", "%s", tf_move_cause_name(TF_MOVE_BY_OPERATOR));
    describe_text(buf, "Reason:", c->reason);
    describe_text(buf, "User:", c->user);
    describe_field(buf, "State:", "%s", tf_cross_state_name(c->state));
    describe_text(buf, "Why:", c->why);
    if (c->cause)
        describe_field(buf, "Decided by:", "%s", tf_cross_cause_name(c->cause));
    describe_time(buf, "Begun:", c->since, now);
    if (c->deadline.ms)
        describe_field(buf, "Deadline:", "%s, when it is taken back", when_local(c->deadline, local));
    describe_time(buf, "Ended:", c->ended, now);
}

int describe_migration(struct fedctl *ctl, const char *word, struct tf_buf *text)
{
    struct tf_reply reply = {0};
    struct migration_found found;
    int code = migrations_ask(ctl, &reply);
    code = code == FEDCTL_DONE ? migration_find(ctl, &reply.migrate, word, &found) : code;
    if (code == FEDCTL_DONE && found.job)
        print_job_move(found.job, text);
    else if (code == FEDCTL_DONE)
        print_chain(ctl, found.info, text);
    else
        tell_missing(&reply.migrate.missing, "migrations");
    tf_reply_release(&reply);
    return code;
}
