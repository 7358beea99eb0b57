/* SPDX-License-Identifier: Apache-2.0 */
/* Where a job would go: the core says where it fits, in order of preference; the best of those subclusters
 * are asked what they would do with it, all at once. The first that would take it is the answer. Who says
 * nothing in time is counted as its profile has it, and that is said. */
#include "federation/daemon/private.h"

#include "common/base/cleanup.h"
#include "common/wire/attach.h"

#include <inttypes.h>

enum {
    ANSWER_WITHIN_MS = 2 * TF_SECOND,
    ASKED_MAX = 8, /* subclusters: a job that so many refuse is not easily placed */
    NAMED_MAX = 5, /* victims in the line that answers */
};

struct planning;

/* A subcluster that was asked; its row has the same place. */
struct asked {
    struct planning *planning;
    uint64_t number; /* 0: not asked, or nothing more is to come */
    bool answered;
    struct tf_place_plan plan;
};

struct planning {
    struct fedd *fedd;
    struct tf_call *call;
    struct tf_request request;
    struct fed_plan plan;
    struct asked asked[ASKED_MAX];
    size_t count, open;
    struct tf_timer timer;
};

static void planning_free(struct planning *planning)
{
    tf_timer_cancel(planning->fedd->loop, &planning->timer);
    for (size_t i = 0; i < planning->count; i++) {
        if (planning->asked[i].number)
            asks_cancel(planning->fedd, planning->asked[i].number);
        tf_place_plan_release(&planning->asked[i].plan);
    }
    fed_plan_release(&planning->plan);
    tf_request_release(&planning->request);
    free(planning);
}

/* ---- the answer ---- */

/* What the subclusters have said goes before what was counted. */
static void take_word(struct fed_plan_row *row, struct asked *asked)
{
    if (!asked->answered || asked->plan.reason == TF_REASON_NONE)
        return;
    row->why.first.reason = asked->plan.reason;
    free(row->why.first.text);
    free(row->why.first.unblock);
    row->why.first.unblock = NULL;
    row->why.first.text =
        tf_asprintf("it was asked, and would refuse: %s", asked->plan.text ? asked->plan.text : "?");
}

static void view_row(struct planning *planning, size_t at, struct tf_plan_row *out)
{
    struct fed_plan_row *row = &planning->plan.rows.items[at];
    const struct asked *asked = at < planning->count ? &planning->asked[at] : NULL;
    out->cluster = tf_strdup(row->why.cluster);
    out->reason = row->why.first.reason;
    out->free = row->free;
    out->has = row->why.has;
    out->asked = row->why.asked;
    out->level = tf_strdup(row->level_name);
    out->size = row->size;
    out->model = tf_strdup(row->model);
    out->until = row->why.first.until;
    out->text = tf_strdup(row->why.first.text);
    out->unblock = tf_strdup(row->why.first.unblock);
    struct tf_mono told = row->link ? links_profile_at(planning->fedd, row->link) : TF_NEVER;
    if (told.ms != TF_NEVER.ms)
        out->age_ms = tf_loop_now(planning->fedd->loop).mono.ms - told.ms;
    if (!asked || !asked->answered)
        return;
    out->answered = true;
    out->jobs = asked->plan.jobs;
    out->lost_gpu_seconds = asked->plan.lost_gpu_seconds;
    out->wait = asked->plan.wait;
    if (asked->plan.reason == TF_REASON_NONE)
        out->size = asked->plan.size;
}

static void say_victims(const struct tf_place_plan *plan, struct tf_buf *text)
{
    tf_buf_fmt(text, "%d job%s give%s way", plan->jobs, plan->jobs == 1 ? "" : "s",
               plan->jobs == 1 ? "s" : "");
    for (size_t i = 0; i < plan->victims.count && i < NAMED_MAX; i++) {
        const struct tf_plan_victim *v = &plan->victims.items[i];
        tf_buf_fmt(text, "%s%s/%s", i ? ", " : " (", v->tenant, v->name);
        if (!v->whole)
            tf_buf_fmt(text, ": %d of %d", v->instances, v->size);
    }
    tf_buf_fmt(text, "%s), which lose%s %" PRId64 " GPU-seconds", plan->jobs > NAMED_MAX ? ", ..." : "",
               plan->jobs == 1 ? "s" : "", plan->lost_gpu_seconds);
}

/* " at once, in free capacity", " within 30 s: 2 jobs give way (...)" */
static void say_word(const struct tf_place_plan *plan, struct tf_buf *text)
{
    if (plan->jobs == 0 && plan->wait == 0) {
        tf_buf_str(text, " at once, in free capacity");
        return;
    }
    tf_buf_fmt(text, " within %" PRId64 " s: ", (plan->wait + TF_SECOND - 1) / TF_SECOND);
    if (plan->jobs)
        say_victims(plan, text);
    else
        tf_buf_str(text, "what it gets is being left by others");
}

static void say_how(const struct fed_plan_row *row, const struct asked *asked, struct tf_buf *text)
{
    if (asked && asked->answered) {
        say_word(&asked->plan, text);
        return;
    }
    if (row->instead) {
        tf_buf_fmt(text, ": %s", row->instead);
        return;
    }
    if (row->level == TF_LEVEL_FREE)
        tf_buf_str(text, " in free capacity");
    else
        tf_buf_fmt(text, " by taking up to %s from others", row->level_name);
    tf_buf_fmt(text, " (as its profile has it: it was %s)",
               asked ? "asked, and has not answered within 2 s" : "not asked");
}

static char *say(struct planning *planning, size_t chosen)
{
    const struct tf_job_manifest *m = &planning->request.plan.manifest;
    const struct fed_plan *plan = &planning->plan;
    TF_AUTO_BUF text = TF_BUF_INIT;
    if (chosen == plan->rows.count)
        return fed_plan_waits(planning->fedd->fed, m, plan);
    const struct fed_plan_row *row = &plan->rows.items[chosen];
    const struct asked *asked = chosen < planning->count ? &planning->asked[chosen] : NULL;
    int32_t size = asked && asked->answered ? asked->plan.size : row->size;
    tf_buf_fmt(&text, "%s/%s would start in %s with %d instance%s%s%s", m->tenant, m->name, row->why.cluster,
               size, size == 1 ? "" : "s", row->model ? " on " : "", row->model ? row->model : "");
    say_how(row, asked, &text);
    if (plan->stopped)
        tf_buf_str(&text, "; but nothing is placed at present: `fedctl version` says why");
    return tf_buf_take(&text);
}

static void finish(struct planning *planning)
{
    struct fed_plan *plan = &planning->plan;
    struct tf_reply reply = {.method = TF_METHOD_PLAN};
    size_t chosen = 0;
    for (size_t i = 0; i < planning->count; i++)
        take_word(&plan->rows.items[i], &planning->asked[i]);
    while (chosen < plan->rows.count && plan->rows.items[chosen].why.first.reason != TF_REASON_NONE)
        chosen++;
    for (size_t i = 0; i < plan->rows.count; i++)
        view_row(planning, i, tf_vec_add(&reply.plan.rows));
    reply.plan.answer = say(planning, chosen);
    reply.plan.now = tf_loop_now(planning->fedd->loop).wall;
    if (chosen < plan->rows.count)
        reply.plan.cluster = tf_strdup(plan->rows.items[chosen].why.cluster);
    if (chosen < planning->count && planning->asked[chosen].answered) {
        reply.plan.plan = planning->asked[chosen].plan;
        planning->asked[chosen].plan = (struct tf_place_plan){0};
    }
    call_reply(planning->call, &reply);
    planning_free(planning);
}

/* ---- questions ---- */

static void one_less(struct planning *planning)
{
    if (--planning->open)
        return;
    if (planning->fedd->fed) {
        finish(planning);
        return;
    }
    call_fail_code(planning->call, TF_ERR_UNAVAILABLE, "the leader changed meanwhile: ask again");
    planning_free(planning);
}

static void on_answer(void *arg, const struct tf_answer *answer)
{
    struct asked *asked = arg;
    struct tf_error err = TF_ERROR_INIT;
    asked->number = 0;
    if (answer && answer->code == TF_OK) {
        asked->answered = tf_wire_place_plan_unpack(answer->data, answer->len, &asked->plan, &err) == 0;
        if (!asked->answered)
            tf_log_warn("an answer of a subcluster cannot be read error=%s", err.text);
    }
    one_less(asked->planning);
}

static void on_late(struct tf_timer *timer)
{
    finish(TF_CONTAINER_OF(timer, struct planning, timer));
}

/* A job that waits is asked about as itself: nodes may be kept for it there. Else it is one that nobody
 * knows, so that what runs of that name is not in its own way. */
static struct tf_uid uid_for(const struct fedd *fedd, const struct tf_job_manifest *m)
{
    const struct tf_job_record *known = fed_job_find(fedd->fed, m->tenant, m->name);
    struct tf_uid uid;
    if (known && known->phase == TF_PHASE_PENDING && known->placements.count == 0)
        return known->uid;
    memset(&uid, 0xff, sizeof uid);
    return uid;
}

static void ask(struct planning *planning, size_t at)
{
    const struct tf_job_manifest *m = &planning->request.plan.manifest;
    const struct fed_plan_row *row = &planning->plan.rows.items[at];
    struct asked *asked = &planning->asked[at];
    if (row->instead) { /* it would have to plan the moves, which it does when it is to make them */
        one_less(planning);
        return;
    }
    struct tf_entry entry = {.kind = TF_ENTRY_PLACE,
                             .tenant = m->tenant,
                             .name = m->name,
                             .spec = &m->spec,
                             .size = row->size,
                             .model = row->model,
                             .level = row->level,
                             .submitted = tf_loop_now(planning->fedd->loop).wall};
    entry.uid = uid_for(planning->fedd, m);
    struct tf_ask question = {.kind = TF_ASK_PLACE, .place = {&entry, 1, 1}};
    asks_send(planning->fedd, row->link, row->why.cluster, &question, on_answer, asked);
    asked->number = question.id; /* an answer that has come already leaves nothing to cancel */
}

static void ask_best(struct planning *planning)
{
    const struct fed_plan *plan = &planning->plan;
    while (planning->count < ASKED_MAX && planning->count < plan->rows.count &&
           plan->rows.items[planning->count].why.first.reason == TF_REASON_NONE)
        planning->asked[planning->count++].planning = planning;
    planning->open = planning->count + 1; /* one for this function: answers may come while others are asked */
    struct tf_mono due = {tf_loop_now(planning->fedd->loop).mono.ms + ANSWER_WITHIN_MS};
    tf_timer_start(planning->fedd->loop, &planning->timer, due, on_late);
    for (size_t i = 0; i < planning->count; i++)
        ask(planning, i);
    one_less(planning);
}

/* ---- the call ---- */

static bool is_right(struct tf_call *call, struct tf_job_manifest *manifest)
{
    struct tf_complaints complaints = {0};
    tf_job_spec_fill(&manifest->spec);
    bool right = tf_job_manifest_check(manifest, &complaints);
    if (!right) {
        struct tf_error error = {.code = TF_ERR_INVALID};
        const struct tf_error_detail detail = {
            .code = error.code, .text = error.text, .complaints = complaints};
        snprintf(error.text, sizeof error.text, "the manifest is not valid: %s: %s", complaints.items[0].path,
                 complaints.items[0].text);
        call_fail(call, &error, &detail);
    }
    tf_complaints_release(&complaints);
    return right;
}

static void on_plan(void *arg, struct tf_call *call, struct tf_bytes bytes)
{
    struct fedd *fedd = arg;
    struct tf_request request = {0};
    if (!lead_or_refuse(fedd, call) || !call_request(call, TF_METHOD_PLAN, bytes, &request))
        return;
    if (!is_right(call, &request.plan.manifest)) {
        tf_request_release(&request);
        return;
    }
    struct planning *planning = tf_calloc(1, sizeof *planning);
    planning->fedd = fedd;
    planning->call = call;
    planning->request = request;
    fed_plan_place(fedd->fed, &planning->request.plan.manifest, tf_loop_now(fedd->loop), &planning->plan);
    ask_best(planning);
}

void plans_register(struct fedd *fedd)
{
    tf_server_unary(fedd->server, tf_method_path(TF_METHOD_PLAN), on_plan, fedd);
}
