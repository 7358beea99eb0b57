/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the words in which jobs are told of moves, drains and losses. */
#include "subcluster/core/notes.h"

#include "common/base/cleanup.h"
#include "common/base/quantity.h"
#include "common/base/text.h"
#include "subcluster/core/domain.h"
#include "subcluster/core/drain.h"
#include "subcluster/core/jobs.h"

#include <stdarg.h>

void note_job(struct sub *sub, struct job *job, enum tf_note_kind kind, const char *fmt, ...)
{
    char text[TF_NOTE_TEXT];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    tf_notes_add(&job->record.notes, kind, text);
    job->record.noted++;
    job_changed(sub, job);
}

/* "drain of node n1: kernel update", "asked for by ann: fan". */
static void say_cause(const struct tf_migration *chain, struct tf_buf *text)
{
    const char *owner = chain->owner;
    switch (chain->cause) {
    case TF_MOVE_BY_DRAIN:
        tf_buf_fmt(text, "drain of node %s", owner ? owner : "?");
        break;
    case TF_MOVE_BY_DEFRAG:
        tf_buf_fmt(text, "consolidation%s%s", owner ? " for " : "", owner ? owner : "");
        break;
    case TF_MOVE_BY_OPERATOR:
    case TF_MOVE_BY_NOBODY:
        tf_buf_str(text, "asked for");
        break;
    }
    if (chain->user)
        tf_buf_fmt(text, " by %s", chain->user);
    if (chain->reason)
        tf_buf_fmt(text, ": %s", chain->reason);
}

void note_move_over(struct sub *sub, const struct tf_migration *chain, const struct tf_move *move)
{
    struct job *job = job_find(sub, move->uid);
    TF_AUTO_BUF cause = TF_BUF_INIT;
    if (!job || !job_lives(job) || job->record.epoch != move->epoch ||
        job->record.phase == TF_ALLOCATION_ENDING)
        return;
    say_cause(chain, &cause);
    if (move->state == TF_MOVE_DONE)
        note_job(sub, job, TF_NOTE_MOVED, "instance %u from %s to %s%s (%s)", move->index, move->from,
                 move->claim.node, move->restarts ? ", by a restart of the job" : "", tf_buf_text(&cause));
    else
        note_job(sub, job, TF_NOTE_STAYS, "instance %u was not moved from %s: %s (%s)", move->index,
                 move->from, move->why ? move->why : "?", tf_buf_text(&cause));
}

void note_lost(struct sub *sub, struct job *job, const struct places *lost, const char *why)
{
    const struct tf_member *first = &job->record.members.items[lost->items[0]];
    size_t elsewhere = 0;
    tf_vec_each (place, lost)
        elsewhere += !tf_str_eq(job->record.members.items[*place].node, first->node);
    if (lost->count == 1)
        note_job(sub, job, TF_NOTE_LOST, "instance %u on %s: %s", first->index, first->node, why);
    else
        note_job(sub, job, TF_NOTE_LOST, "%zu instances%s on %s: %s", lost->count,
                 elsewhere ? ", one of them" : "", first->node, why);
}

/* ---- drains ---- */

struct touched {
    TF_VEC(struct job *) jobs; /* one an instance */
};

static void touch(struct job *job, void *arg)
{
    struct touched *touched = arg;
    tf_vec_push(&touched->jobs, job);
}

static int by_uid(const void *a, const void *b)
{
    const struct job *x = *(struct job *const *)a, *y = *(struct job *const *)b;
    return tf_uid_cmp(x->record.uid, y->record.uid);
}

static void say_where(const struct sub *sub, const struct ledger_node *node, const char *domain,
                      struct tf_buf *text)
{
    if (domain)
        domain_say(sub, domain, text);
    else
        tf_buf_fmt(text, "node %s", node->node.name);
}

/* "node n1 is drained, what is there in 2h is stopped: kernel update". All of them are under one order. */
static void say_drain(const struct sub *sub, const struct ledger_node *node, struct tf_buf *text)
{
    const struct tf_cordon *cordon = &node->cordon;
    char wait[TF_QUANTITY_TEXT];
    say_where(sub, node, cordon->drained_with, text);
    tf_buf_str(text, " is drained");
    if (cordon->drain.deadline.ms > sub->now.wall.ms)
        tf_buf_fmt(text, ", what is there in %s is stopped",
                   tf_duration_format(cordon->drain.deadline.ms - sub->now.wall.ms, wait));
    if (cordon->reason && !cordon->stays)
        tf_buf_fmt(text, ": %s", cordon->reason);
}

/* Each job that has instances on these nodes, with how many. */
static void note_there(struct sub *sub, struct ledger_node *const *nodes, size_t count,
                       enum tf_note_kind kind, const char *text)
{
    struct touched touched = {{0}};
    for (size_t i = 0; i < count; i++)
        drain_each_instance(sub, nodes[i], touch, &touched);
    if (touched.jobs.count > 1)
        qsort(touched.jobs.items, touched.jobs.count, sizeof *touched.jobs.items, by_uid);
    for (size_t i = 0, next; i < touched.jobs.count; i = next) {
        struct job *job = touched.jobs.items[i];
        for (next = i + 1; next < touched.jobs.count && touched.jobs.items[next] == job;)
            next++;
        note_job(sub, job, kind, "%zu instance%s %s %s: %s", next - i, next - i == 1 ? "" : "s",
                 next - i == 1 ? "is" : "are", kind == TF_NOTE_DRAINED ? "to leave" : "there yet", text);
    }
    tf_vec_release(&touched.jobs);
}

void note_drain(struct sub *sub, struct ledger_node *const *nodes, size_t count)
{
    TF_AUTO_BUF text = TF_BUF_INIT;
    if (count)
        say_drain(sub, nodes[0], &text);
    note_there(sub, nodes, count, TF_NOTE_DRAINED, tf_buf_text(&text));
}

void note_drain_over(struct sub *sub, struct ledger_node *const *nodes, size_t count, const char *domain)
{
    TF_AUTO_BUF text = TF_BUF_INIT;
    if (count)
        say_where(sub, nodes[0], domain, &text);
    tf_buf_str(&text, " is drained no longer");
    note_there(sub, nodes, count, TF_NOTE_DRAIN_OVER, tf_buf_text(&text));
}
