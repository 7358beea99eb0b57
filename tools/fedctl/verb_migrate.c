/* SPDX-License-Identifier: Apache-2.0 */
/* Owns migrate: instances that go to another node of their cluster. migrate_job.c has jobs that go to another
 * cluster. */
#include "common/base/alloc.h"
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "tools/fedctl/change.h"
#include "tools/fedctl/migration.h"
#include "tools/fedctl/resource.h"
#include "tools/fedctl/submission.h"
#include "tools/fedctl/target.h"

#include <string.h>

static const struct option options[] = {
    {0,
     "NODE|CLUSTER",
     {.key = "to",
      TF_STRING(struct options, to),
      .min = 1,
      .max = 127,
      .help = "there; default: where it fits best; a job goes to a cluster"}},
    {0,
     "CLUSTER/NODE",
     {.key = "from",
      TF_STRING(struct options, from),
      .min = 1,
      .max = 255,
      .help = "all instances that are on that node"}},
    {'c', "CLUSTER", {.key = "cluster", TF_NAME(struct options, cluster), .help = "of --from without one"}},
    {0,
     NULL,
     {.key = "dry-run",
      TF_BOOL(struct options, dry_run),
      .help = "say what would go where, and what cannot"}},
    {0, NULL, {.key = "wait", TF_BOOL(struct options, wait), .help = "until all moves are over"}},
    {0,
     NULL,
     {.key = "yes",
      TF_BOOL(struct options, yes),
      .help = "a job: its data, images and addresses need not come along"}},
    OPTION_RESTART("also jobs with migration: restart, all of which stop and start"),
    OPTION_REASON("why, for whoever looks at it later"),
    OPTION_OUTPUT_ALL,
    {0,
     NULL,
     {.key = "no-headers", TF_BOOL(struct options, no_headers), .help = "tables without their titles"}},
    OPTION_TENANT,
};

/* NODE, or CLUSTER/NODE as nodes are named elsewhere: one that goes to a node of another cluster is refused.
 */
static int read_to(struct fedctl *ctl, struct tf_migrate_request *request)
{
    struct tf_error err = TF_ERROR_INIT;
    const char *to = ctl->options.to;
    TF_AUTO_FREE char *cluster = NULL;
    if (!to || !strchr(to, '/')) {
        request->order.to = tf_strdup(to);
        return FEDCTL_DONE;
    }
    if (target_node(ctl, to, &cluster, &request->order.to, NULL, &err))
        return fedctl_usage(ctl, "--to: %s", err.text);
    if (request->cluster && strcmp(request->cluster, cluster) != 0)
        return fedctl_usage(ctl,
                            "--to %s: instances go to other nodes of their cluster, %s; whole jobs go to "
                            "another by `fedctl migrate job`",
                            to, request->cluster);
    tf_str_set(&request->cluster, cluster);
    return FEDCTL_DONE;
}

/* What the words and options ask for. Owned by the caller. */
static int read_order(struct fedctl *ctl, struct tf_migrate_request *request)
{
    struct tf_error err = TF_ERROR_INIT;
    struct tf_migrate_order *order = &request->order;
    int32_t index = -1;
    bool named = ctl->words.count > 0;
    if (named == (ctl->options.from != NULL) || ctl->words.count > 1)
        return fedctl_usage(ctl, "say one instance as TENANT/NAME/INDEX, or --from CLUSTER/NODE");
    if (named && target_instance(ctl, ctl->words.items[0], &request->job, &index, &err))
        return fedctl_usage(ctl, "%s", err.text);
    if (!named && target_node(ctl, ctl->options.from, &request->cluster, &order->from, NULL, &err))
        return fedctl_usage(ctl, "%s", err.text);
    if (submission_uid(&order->id, &err))
        return fedctl_fail(ctl, &err);
    order->all = index < 0;
    order->index = index < 0 ? 0 : (uint32_t)index;
    order->reason = tf_strdup(ctl->options.reason);
    order->may_restart = ctl->options.restart;
    order->verb = ctl->options.dry_run ? TF_MIGRATE_PLAN : TF_MIGRATE_BEGIN;
    return read_to(ctl, request);
}

static int show_plan(struct fedctl *ctl, const struct tf_migrate_reply *reply)
{
    struct listing listing;
    int32_t refused = 0;
    listing_begin(&listing, &resource_migrations, &ctl->options, false, &ctl->out);
    tf_vec_each (info, &reply->chains) {
        migration_list(&listing, info);
        tf_vec_each (move, &info->chain.moves)
            refused += move->why != NULL;
    }
    listing_end(&listing, true);
    if (refused)
        message("%d cannot move, so none of them would: WHY says what is in the way", refused);
    return refused ? FEDCTL_FAILED : FEDCTL_DONE;
}

/* ---- waiting ---- */

static int judge(const struct tf_migration *chain)
{
    int code = FEDCTL_DONE;
    tf_vec_each (move, &chain->moves)
        if (move->state == TF_MOVE_ROLLED_BACK) {
            message("%s/%s/%u stays on %s: %s", move->tenant, move->name, move->index, move->from,
                    move->why ? move->why : "no reason was given");
            code = FEDCTL_FAILED;
        }
    return code;
}

/* Each look is a question of its own, so that a leader that changes is no matter; one that is away is waited
 * for. */
static int wait_for(struct fedctl *ctl, struct tf_uid id)
{
    client_set_patience(ctl->client, true); /* the order was taken: an absence of the leader says nothing */
    for (;;) {
        struct tf_reply reply = {0};
        int code = migrations_await(ctl, &reply);
        const struct tf_migration *chain = NULL;
        if (code != FEDCTL_DONE)
            return code;
        tf_vec_each (info, &reply.migrate.chains)
            if (tf_uid_eq(info->chain.id, id))
                chain = &info->chain;
        bool over = chain ? chain->ended.ms != 0 : reply.migrate.missing.count == 0;
        code = chain && over ? judge(chain) : FEDCTL_DONE;
        tf_reply_release(&reply);
        if (over)
            return code;
        migration_pause();
    }
}

/* ---- the verb ---- */

static int ask(struct fedctl *ctl, struct tf_request *request)
{
    struct tf_reply reply = {0};
    struct tf_error err = TF_ERROR_INIT;
    char id[MIGRATION_ID_TEXT];
    const char *what = ctl->words.count ? ctl->words.items[0] : ctl->options.from;
    int code = FEDCTL_DONE;
    if (fedctl_call(ctl, request, &reply, &err))
        return fedctl_fail_about(ctl, what, &err);
    if (ctl->options.dry_run)
        code = show_plan(ctl, &reply.migrate);
    else {
        out_fmt(&ctl->out, "migration %s begun: %s\n", migration_id(request->migrate.order.id, id),
                reply.migrate.text ? reply.migrate.text : "see `fedctl get migrations`");
        if (ctl->options.wait)
            code = wait_for(ctl, request->migrate.order.id);
    }
    tf_reply_release(&reply);
    return code;
}

static int change_one(struct fedctl *ctl, enum tf_migrate_verb verb, const char *done)
{
    if (ctl->words.count != 2)
        return fedctl_usage(ctl, "%s which migration? Say its ID: `fedctl get migrations` lists them",
                            ctl->words.items[0]);
    return migration_order(ctl, ctl->words.items[1], verb, done);
}

static int which(struct fedctl *ctl, const char *word)
{
    static const char *const words[] = {"instance", "job", "pause", "resume"};
    const char *nearest = tf_nearest(word, words, TF_ARRAY_LEN(words));
    if (!*word)
        return fedctl_usage(ctl, "migrate what? Say instance, job, pause or resume");
    return fedctl_usage(ctl, "\"%.100s\" is not one of instance, job, pause or resume%s%s%s", word,
                        nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
}

static int run(struct fedctl *ctl)
{
    const char *first = ctl->words.count ? ctl->words.items[0] : "";
    if (strcmp(first, "pause") == 0)
        return change_one(ctl, TF_MIGRATE_PAUSE, "paused: what has begun goes on");
    if (strcmp(first, "resume") == 0)
        return change_one(ctl, TF_MIGRATE_RESUME, "goes on");
    if (strcmp(first, "job") == 0 || strcmp(first, "jobs") == 0)
        return migrate_job(ctl);
    if (strcmp(first, "instance") != 0 && strcmp(first, "instances") != 0)
        return which(ctl, first);
    enum resource_kind kind;
    struct tf_error err = TF_ERROR_INIT;
    if (target_kind(ctl, 1u << RESOURCE_INSTANCES, &kind, &err))
        return fedctl_usage(ctl, "%s", err.text);
    struct tf_request request = {.method = TF_METHOD_MIGRATE, .migrate = {0}};
    int code = read_order(ctl, &request.migrate);
    if (code == FEDCTL_DONE)
        code = ask(ctl, &request);
    tf_request_release(&request);
    return code;
}

const struct verb verb_migrate = {
    .name = "migrate",
    .usage = "instance TENANT/NAME/INDEX [--to NODE] [--dry-run] [--wait]\n"
             "instance TENANT/NAME [--to NODE]\n"
             "instance --from CLUSTER/NODE\njob TENANT/NAME --to CLUSTER [--yes] [--dry-run] [--wait]\n"
             "pause|resume ID",
    .help = "Move running instances to other nodes, or a job to another cluster",
    .more =
        "Make before break: the places are reserved, the new instance starts, and only when it is ready and "
        "in the "
        "peers\nfile is the old one stopped, after its job's stopDelay. Whatever fails before that is rolled "
        "back: "
        "the old one\nnever notices. A job with migration: restart stops and starts as a whole, which wants "
        "--restart; one with\nmigration: never stays.\nA job goes to another cluster by a second epoch that "
        "starts there, "
        "in what is free, while the first runs on;\nwhen it is ready the old cluster promises to stop the "
        "first, and from then on the new one is the job. Until\nthen `fedctl abort TENANT/NAME` takes it "
        "back. Data, images and addresses are not moved.",
    .examples = "fedctl migrate instance web/hello/3 --wait\n"
                "# What would leave a node, and where to\n"
                "fedctl migrate instance --from bj-a/n3 --dry-run\n"
                "fedctl migrate instance --from bj-a/n3 --reason \"fan, INC-4711\"\n"
                "fedctl get migrations\n"
                "fedctl migrate pause 1a2b3c4d\n"
                "# A whole job, to another cluster\n"
                "fedctl migrate job web/hello --to gz-b --dry-run\n"
                "fedctl migrate job web/hello --to gz-b --yes --wait\n",
    .options = OPTION_LIST(options),
    .run = run,
};
