/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what people may ask of moves, and what they are answered. */
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "subcluster/core/cordon.h"
#include "subcluster/core/head.h"
#include "subcluster/core/members.h"
#include "subcluster/core/migrate.h"

struct wants {
    struct migrate_want *items;
    size_t count, cap;
};

static void list_job(const struct job *job, const struct tf_migrate_order *order, struct wants *out)
{
    if (!job_lives(job))
        return;
    for (size_t i = 0; i < job->record.members.count && !member_is_second(job, i); i++) {
        const struct tf_member *m = &job->record.members.items[i];
        bool meant = order->all || m->index == order->index;
        if (meant && member_counts(m) && m->state != TF_MEMBER_DONE &&
            (!order->from || (m->node && strcmp(m->node, order->from) == 0)))
            tf_vec_push(out, (struct migrate_want){job->record.uid, m->index, order->to});
    }
}

/* Of those that are meant; a chain of more than may be is refused with its number. */
static void list_wants(const struct sub *sub, const struct tf_migrate_order *order, struct wants *out)
{
    if (!tf_uid_is_none(order->uid)) {
        const struct job *job = job_find(sub, order->uid);
        if (job)
            list_job(job, order, out);
        return;
    }
    for (const struct job *job = jobs_first(sub); order->from && job; job = jobs_next(job))
        list_job(job, order, out);
}

static struct migrate_ask ask_of(const struct tf_migrate_order *order, const struct wants *wants)
{
    return (struct migrate_ask){.id = order->id,
                                .cause = TF_MOVE_BY_OPERATOR,
                                .reason = order->reason,
                                .user = order->user,
                                .wants = wants->items,
                                .count = wants->count,
                                .may_restart = order->may_restart};
}

/* NULL, or why the order cannot even be looked at. */
static char *fault_of(const struct sub *sub, const struct tf_migrate_order *order, const struct wants *wants)
{
    if (!sub->listed || sub->unsure)
        return tf_asprintf("the engine of %s has not told yet of all that runs there: try again in a moment",
                           sub->boot.name);
    if (order->from && !ledger_find(&sub->ledger, order->from))
        return tf_asprintf("%s has no node %s; `fedctl get nodes --cluster %s` lists them", sub->boot.name,
                           order->from, sub->boot.name);
    if (wants->count == 0 && order->from)
        return tf_asprintf("nothing of that runs on node %s", order->from);
    if (wants->count == 0)
        return tf_asprintf("nothing of that runs in %s", sub->boot.name);
    if (wants->count > TF_MOVES_MAX)
        return tf_asprintf("%zu instances would move, at most %d can at once: name one node, or one job",
                           wants->count, TF_MOVES_MAX);
    return NULL;
}

static char *begin(struct sub *sub, const struct tf_migrate_order *order, enum tf_error_code *code)
{
    struct wants wants = {0};
    *code = TF_ERR_REFUSED;
    if (migrate_find(sub, order->id)) { /* a repeat */
        *code = TF_OK;
        return NULL;
    }
    list_wants(sub, order, &wants);
    char *why = tf_uid_is_none(order->id) ? tf_strdup("the order has no id") : fault_of(sub, order, &wants);
    if (!why) {
        struct migrate_ask ask = ask_of(order, &wants);
        why = migrate_begin(sub, &ask);
    }
    if (!why) {
        *code = TF_OK;
        why = tf_asprintf("%zu instance%s to move", wants.count, wants.count == 1 ? "" : "s");
    }
    tf_vec_release(&wants);
    return why;
}

static char *change(struct sub *sub, const struct tf_migrate_order *order, enum tf_error_code *code)
{
    bool done;
    *code = TF_OK;
    if (order->verb == TF_MIGRATE_ABORT) {
        TF_AUTO_FREE char *why =
            tf_asprintf("it was aborted%s%s", order->reason ? ": " : "", order->reason ? order->reason : "");
        done = migrate_abort(sub, order->id, why);
    } else
        done = migrate_pause(sub, order->id, order->verb == TF_MIGRATE_PAUSE);
    if (done)
        return NULL;
    *code = migrate_find(sub, order->id) ? TF_ERR_CONFLICT : TF_ERR_NOT_FOUND;
    return tf_asprintf("%s; `fedctl get migrations` lists them",
                       *code == TF_ERR_CONFLICT ? "it is over" : "there is no such migration");
}

void migrate_asked(struct sub *sub, const struct tf_ask *ask)
{
    const struct tf_migrate_order *order = ask->migrate.count ? &ask->migrate.items[0] : NULL;
    enum tf_error_code code = TF_ERR_INVALID;
    if (!order) {
        ask_answer(sub, ask, code, tf_strdup("the order says nothing"));
        return;
    }
    switch (order->verb) {
    case TF_MIGRATE_BEGIN: {
        char *text = begin(sub, order, &code);
        ask_answer(sub, ask, code, text);
        break;
    }
    case TF_MIGRATE_PAUSE:
    case TF_MIGRATE_RESUME:
    case TF_MIGRATE_ABORT: {
        char *text = change(sub, order, &code);
        ask_answer(sub, ask, code, text);
        break;
    }
    case TF_MIGRATE_NONE:
    case TF_MIGRATE_PLAN:
    case TF_MIGRATE_LIST: /* questions are answered by the daemon from the state */
        break;
    }
}

/* ---- questions ---- */

static void tell(const struct sub *sub, const struct wants *wants, const struct migrate_plan *plan,
                 struct tf_migration *out)
{
    for (size_t i = 0; i < wants->count; i++) {
        const struct migrate_want *want = &wants->items[i];
        const struct job *job = job_find(sub, want->uid);
        const struct tf_member *m = &job->record.members.items[want->index];
        struct tf_move *move = tf_vec_add(&out->moves);
        *move =
            (struct tf_move){.uid = want->uid,
                             .tenant = tf_strdup(job->record.tenant),
                             .name = tf_strdup(job->record.name),
                             .epoch = job->record.epoch,
                             .index = want->index,
                             .restarts = job->record.spec->migration == TF_MIGRATION_RESTART,
                             .from = tf_strdup(m->node),
                             .wanted = tf_strdup(want->to),
                             .claim = {.node = tf_strdup(plan->items[i].node), .gpus = plan->items[i].gpus},
                             .state = TF_MOVE_PLANNED,
                             .why = tf_strdup(plan->items[i].refusal)};
    }
}

char *sub_plan_migrate(const struct sub *sub, struct tf_now now, const struct tf_migrate_order *order,
                       struct tf_migration *out)
{
    struct wants wants = {0};
    struct migrate_plan plan = {0};
    list_wants(sub, order, &wants);
    char *why = fault_of(sub, order, &wants);
    if (!why) {
        struct sub head = head_of(sub, now);
        struct migrate_ask ask = ask_of(order, &wants);
        migrate_plan_make(&head, &ask, &plan);
        out->id = order->id;
        out->cause = TF_MOVE_BY_OPERATOR;
        out->created = now.wall;
        tell(sub, &wants, &plan, out);
        head_release(&head);
    }
    migrate_plan_release(&plan);
    tf_vec_release(&wants);
    return why;
}

const struct tf_migration *sub_migration_at(const struct sub *sub, size_t at)
{
    return migrate_at(sub, at);
}
