/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what is told of a plan while it is carried out, and how it ended against what was read. Each look is a
 * question of its own, so that a leader that changes meanwhile is no matter; one that cannot be reached is
 * waited for, since who said --stop-after counts on it. */
#include "common/base/cleanup.h"
#include "tools/fedctl/defrag.h"
#include "tools/fedctl/migration.h"
#include "tools/fedctl/when.h"

#include <errno.h>
#include <time.h>

enum { LOOK_MS = 500 };

/* How far the chain is. */
struct progress {
    size_t moves, done, under_way, given_up;
    int32_t freed, gpus; /* units of the plan that are there; GPUs that have been moved */
};

static void pause_ms(long ms)
{
    struct timespec left = {ms / 1000, ms % 1000 * 1000000};
    while (nanosleep(&left, &left) && errno == EINTR)
        ;
}

static bool is_free(const struct tf_migration *chain, const char *node)
{
    tf_vec_each (move, &chain->moves)
        if (strcmp(move->from, node) == 0 && move->state != TF_MOVE_DONE)
            return false;
    return true;
}

static struct progress progress_of(const struct defrag_doc *doc, const struct tf_migration *chain)
{
    struct progress p = {.moves = chain->moves.count};
    tf_vec_each (move, &chain->moves) {
        p.done += move->state == TF_MOVE_DONE;
        p.given_up += move->state == TF_MOVE_ROLLED_BACK;
        p.under_way += move->state >= TF_MOVE_STARTING && !tf_move_is_over(move->state);
        p.gpus += move->state == TF_MOVE_DONE ? tf_gpu_set_count(move->claim.gpus) : 0;
    }
    tf_vec_each (site, &doc->sites)
        p.freed += is_free(chain, site->node) ? site->units : 0;
    return p;
}

static const char *unit_of(const struct defrag_doc *doc)
{
    return doc->order.gpus == 0 ? "whole nodes" : "places";
}

static void tell_progress(struct fedctl *ctl, const struct defrag_doc *doc, const struct progress *p)
{
    size_t left = p->moves - p->done - p->under_way - p->given_up;
    out_fmt(&ctl->out, "%zu of %zu moves done, %zu under way, %zu to go", p->done, p->moves, p->under_way,
            left);
    if (p->given_up)
        out_fmt(&ctl->out, ", %zu given up", p->given_up);
    out_fmt(&ctl->out, "; %d of %d %s free\n", p->freed, doc->freed, unit_of(doc));
}

/* It was to go on from a spare place, and did not get there: that has been told. */
static bool never_came(const struct tf_migration *chain, const struct tf_move *move)
{
    for (const struct tf_move *m = chain->moves.items; m < move; m++)
        if (m->index == move->index && m->state == TF_MOVE_ROLLED_BACK && tf_uid_eq(m->uid, move->uid))
            return true;
    return false;
}

static int tell_result(struct fedctl *ctl, const struct defrag_doc *doc, const struct tf_migration *chain,
                       const struct progress *p)
{
    char took[WHEN_TEXT];
    tf_vec_each (move, &chain->moves)
        if (move->state == TF_MOVE_ROLLED_BACK && !never_came(chain, move))
            message("%s/%s/%u stays on %s: %s", move->tenant, move->name, move->index, move->from,
                    move->why ? move->why : "no reason was given");
    out_fmt(&ctl->out, "%s: %d of %d %s freed by %zu of %zu moves, %d of %d GPUs moved, in %s\n",
            doc->cluster, p->freed, doc->freed, unit_of(doc), p->done, p->moves, p->gpus, doc->gpus,
            when_span(chain->ended.ms - chain->created.ms, took));
    return p->freed < doc->freed ? FEDCTL_FAILED : FEDCTL_DONE;
}

/* The chain, of which the reply is the owner; NULL: it is not known, now or any more. */
static const struct tf_migration *find(const struct tf_reply *reply, struct tf_uid id)
{
    tf_vec_each (info, &reply->migrate.chains)
        if (tf_uid_eq(info->chain.id, id))
            return &info->chain;
    return NULL;
}

/* What has not begun is given up; what has begun is carried out. */
static int stop(struct fedctl *ctl, struct tf_uid id)
{
    char word[TF_UID_TEXT];
    tf_uid_format(id, word);
    tf_str_set(&ctl->options.reason, "its time was over (--stop-after)");
    return migration_order(ctl, word, TF_MIGRATE_ABORT, "is ended: its time is over");
}

/* One look. True: it goes on; *seen says whether its cluster told how far it is. */
static bool look(struct fedctl *ctl, const struct defrag_doc *doc, struct tf_uid id, struct progress *last,
                 bool *seen, int *code)
{
    struct tf_reply reply = {0};
    *code = migrations_await(ctl, &reply);
    const struct tf_migration *chain = *code == FEDCTL_DONE ? find(&reply, id) : NULL;
    *seen = chain != NULL;
    bool goes_on = *code == FEDCTL_DONE && reply.migrate.missing.count > 0;
    if (chain) {
        struct progress p = progress_of(doc, chain);
        if (memcmp(&p, last, sizeof p) != 0)
            tell_progress(ctl, doc, &p);
        *last = p;
        goes_on = chain->ended.ms == 0;
        if (!goes_on)
            *code = tell_result(ctl, doc, chain, &p);
    } else if (*code == FEDCTL_DONE && !goes_on) {
        message("%s knows of no such migration any more: `fedctl defrag plan` shows how it is now",
                doc->cluster);
        *code = FEDCTL_NOT_FOUND;
    }
    tf_reply_release(&reply);
    return goes_on;
}

int defrag_follow(struct fedctl *ctl, const struct defrag_doc *doc, struct tf_uid id)
{
    char word[MIGRATION_ID_TEXT];
    struct progress last;
    memset(&last, 0xff, sizeof last);
    int64_t end = ctl->options.duration > 0 ? fedctl_now().ms + ctl->options.duration : INT64_MAX;
    int code = FEDCTL_DONE;
    bool seen;
    client_set_patience(ctl->client, true); /* as migrate --wait */
    message("Ctrl-C ends only this report; `fedctl abort %s` gives up what has not begun",
            migration_id(id, word));
    while (look(ctl, doc, id, &last, &seen, &code)) {
        if (seen && fedctl_now().ms >= end) {
            code = stop(ctl, id);
            if (code == FEDCTL_DONE)
                end = INT64_MAX;
            else if (code != FEDCTL_UNREACHABLE && code != FEDCTL_TIMED_OUT)
                return code;
        } else
            pause_ms(LOOK_MS);
    }
    return code;
}
