/* SPDX-License-Identifier: Apache-2.0 */
/* Owns jobs that go to another cluster: what is asked, and the wait for its end. How far it is the job's own
 * events tell (describe job, events, explain). */
#include "common/base/cleanup.h"
#include "tools/fedctl/migration.h"
#include "tools/fedctl/target.h"

#include <errno.h>
#include <string.h>
#include <time.h>

void migration_pause(void)
{
    struct timespec left = {0, 500 * 1000000L};
    while (nanosleep(&left, &left) && errno == EINTR)
        continue;
}

/* Asks that of the job, and prints the answer. */
static int order(struct fedctl *ctl, const char *word, enum tf_migrate_verb verb, const char *done)
{
    struct tf_request request = {.method = TF_METHOD_MIGRATE};
    struct tf_reply reply = {0};
    struct tf_error err = TF_ERROR_INIT;
    int code = FEDCTL_DONE;
    request.migrate.order.verb = verb;
    if (target_job(ctl, word, &request.migrate.job, &err))
        return fedctl_usage(ctl, "%s", err.text);
    request.migrate.to_cluster = ctl->options.to; /* lent, */
    request.migrate.order.reason = ctl->options.reason;
    if (fedctl_call(ctl, &request, &reply, &err))
        code = fedctl_fail_about(ctl, word, &err);
    else
        out_fmt(&ctl->out, "job %s %s: %s\n", word, done, reply.migrate.text ? reply.migrate.text : "");
    target_release(&request.migrate.job);
    tf_reply_release(&reply);
    return code;
}

/* The latest word of the job's events about its move; NULL: they say nothing of one any more. */
static const struct tf_job_event *latest(const struct tf_job_view *job)
{
    static const char *const words[] = {"MoveAsked", "Ready", "Switched", "Moved", "MoveEnded"};
    for (size_t i = job->events.count; i-- > 0;)
        for (size_t w = 0; w < sizeof words / sizeof *words; w++)
            if (strcmp(job->events.items[i].type, words[w]) == 0)
                return &job->events.items[i];
    return NULL;
}

static int wait_for(struct fedctl *ctl, const char *word)
{
    client_set_patience(ctl->client, true); /* as with instances */
    for (;;) {
        struct tf_reply reply = {0};
        int code = target_ask(ctl, TF_METHOD_GET, word, &reply);
        if (code != FEDCTL_DONE)
            return code;
        const struct tf_job_event *event = latest(&reply.job);
        bool moved = event && strcmp(event->type, "Moved") == 0;
        bool over = !event || moved || strcmp(event->type, "MoveEnded") == 0;
        if (moved)
            out_fmt(&ctl->out, "job %s moved: %s\n", word, event->text ? event->text : "");
        else if (over)
            message("job %s has not moved: %s", word,
                    event && event->text ? event->text : "`fedctl describe job` says what became of it");
        tf_reply_release(&reply);
        if (over)
            return moved ? FEDCTL_DONE : FEDCTL_FAILED;
        migration_pause();
    }
}

int migrate_job(struct fedctl *ctl)
{
    if (ctl->words.count != 2 || !ctl->options.to || ctl->options.from)
        return fedctl_usage(ctl, "say one job and where it goes: migrate job TENANT/NAME --to CLUSTER");
    const char *word = ctl->words.items[1];
    bool looks = ctl->options.dry_run || !ctl->options.yes;
    int code = order(ctl, word, looks ? TF_MIGRATE_PLAN : TF_MIGRATE_BEGIN, looks ? "would move" : "moves");
    if (code == FEDCTL_DONE && !ctl->options.dry_run && looks)
        return fedctl_usage(ctl, "nothing was begun: repeat it with --yes if that is what you want");
    return code == FEDCTL_DONE && ctl->options.wait && !looks ? wait_for(ctl, word) : code;
}

int migrate_job_abort(struct fedctl *ctl, const char *word)
{
    return order(ctl, word, TF_MIGRATE_ABORT, "moves no more");
}
