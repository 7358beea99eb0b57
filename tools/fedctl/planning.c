/* SPDX-License-Identifier: Apache-2.0 */
/* Owns how a plan is asked for. How it looks is verb_plan.c's and view_plan.c's. */
#include "tools/fedctl/planning.h"

#include "common/model/manifest.h"
#include "tools/fedctl/submission.h"

const char *plan_word(enum plan_action action)
{
    static const char *const words[] = {[PLAN_UNCHANGED] = "unchanged",
                                        [PLAN_CREATE] = "create",
                                        [PLAN_UPDATE] = "update",
                                        [PLAN_RESTART] = "restart",
                                        [PLAN_REFUSE] = "refuse"};
    return words[action];
}

const char *plan_cluster(const struct planned *job)
{
    return job->placed ? job->reply.cluster : NULL;
}

static void planned_release(struct planned *job)
{
    struct tf_reply reply = {.method = TF_METHOD_PLAN, .plan = job->reply};
    tf_reply_release(&reply);
    tf_strs_release(&job->changes);
    free(job->refusal);
}

void plan_release(struct plan *plan)
{
    tf_vec_each (job, &plan->jobs)
        planned_release(job);
    tf_vec_release(&plan->jobs);
}

/* ---- what apply would do ---- */

static enum plan_action action_of(enum tf_outcome outcome)
{
    switch (outcome) {
    case TF_OUTCOME_CREATED:
        return PLAN_CREATE;
    case TF_OUTCOME_UPDATED:
        return PLAN_UPDATE;
    case TF_OUTCOME_RESTARTED:
        return PLAN_RESTART;
    case TF_OUTCOME_NONE:
    case TF_OUTCOME_UNCHANGED:
    case TF_OUTCOME_DELETED:
    case TF_OUTCOME_DONE:
        break;
    }
    return PLAN_UNCHANGED;
}

/* The federation has looked at the job and does not want it; all else is no answer. */
static bool is_refusal(const struct tf_error *err)
{
    return err->code == TF_ERR_REFUSED || err->code == TF_ERR_INVALID || err->code == TF_ERR_CONFLICT ||
           err->code == TF_ERR_TOO_LARGE;
}

static void note_refusal(const struct manifests *manifests, struct planned *job,
                         const struct tf_error_detail *detail, const struct tf_error *err)
{
    TF_AUTO_BUF problems = TF_BUF_INIT;
    manifests_complain(manifests, job->manifest, &detail->complaints, &problems);
    fputs(tf_buf_text(&problems), stderr);
    job->action = PLAN_REFUSE;
    job->code = err->code;
    job->refusal = tf_strdup(err->text);
}

static int dry_run(struct fedctl *ctl, const struct manifests *manifests, bool restart, struct planned *job,
                   struct tf_error *err)
{
    const struct submission submission = {
        .manifest = &job->manifest->job, .mode = TF_SUBMIT_APPLY, .restart = restart, .dry_run = true};
    struct tf_change_reply answer;
    struct tf_error_detail detail;
    int result = submission_send(ctl, &submission, &answer, &detail, err);
    if (result == 0)
        job->action = action_of(answer.outcome);
    else if (is_refusal(err)) {
        note_refusal(manifests, job, &detail, err);
        result = 0;
    }
    submission_release(&answer, &detail);
    return result;
}

/* ---- what would change, and where it would go ---- */

/* *pending: nothing of it is placed, so that the change decides where it goes. */
static int look_at_old(struct fedctl *ctl, struct planned *job, bool *pending, struct tf_error *err)
{
    const struct tf_job_manifest *m = &job->manifest->job;
    const struct tf_request request = {.method = TF_METHOD_GET,
                                       .job = {.tenant = m->tenant, .name = m->name}};
    struct tf_reply reply = {0};
    if (fedctl_call(ctl, &request, &reply, err))
        return err->code == TF_ERR_NOT_FOUND ? 0 : -1; /* it went meanwhile: what changes is not known */
    tf_table_diff(tf_manifest_table_of(&m->spec), &reply.job.manifest, m, 0, &job->changes);
    *pending = reply.job.phase == TF_PHASE_PENDING && !reply.job.cluster;
    tf_reply_release(&reply);
    return 0;
}

static int ask_where(struct fedctl *ctl, struct planned *job, struct tf_error *err)
{
    const struct tf_request request = {.method = TF_METHOD_PLAN, .plan = {job->manifest->job}}; /* lent */
    struct tf_reply reply = {0};
    if (fedctl_call(ctl, &request, &reply, err))
        return -1;
    job->placed = true;
    job->reply = reply.plan;
    return 0;
}

static int plan_one(struct fedctl *ctl, const struct manifests *manifests, bool restart, struct planned *job,
                    struct tf_error *err)
{
    bool placed_anew = false;
    if (dry_run(ctl, manifests, restart, job, err))
        return -1;
    if ((job->action == PLAN_UPDATE || job->action == PLAN_RESTART) &&
        look_at_old(ctl, job, &placed_anew, err))
        return -1;
    if (job->action == PLAN_CREATE || job->action == PLAN_RESTART || placed_anew)
        return ask_where(ctl, job, err);
    return 0;
}

int plan_make(struct fedctl *ctl, const struct manifests *manifests, bool restart, struct plan *plan,
              struct tf_error *err)
{
    *plan = (struct plan){.restart = restart, .made = fedctl_now()};
    tf_vec_each (manifest, &manifests->items) {
        struct planned *job = tf_vec_add(&plan->jobs);
        job->manifest = manifest;
        if (plan_one(ctl, manifests, restart, job, err)) {
            plan_release(plan);
            return -1;
        }
    }
    return 0;
}
