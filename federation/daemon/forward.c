/* SPDX-License-Identifier: Apache-2.0 */
/* Questions that only a subcluster can answer: its answer is passed on to the client as it comes. */
#include "federation/daemon/private.h"

#include "common/base/cleanup.h"

enum { ANSWER_WITHIN_MS = 2 * TF_SECOND };

struct forward {
    struct fedd *fedd;
    struct tf_call *call;
    char *cluster;
    uint64_t number; /* of the question; 0 = it is answered, or not yet sent */
    bool lost;       /* the link broke while it was sent */
    struct tf_timer late;
};

static void forward_end(struct forward *forward)
{
    tf_timer_cancel(forward->fedd->loop, &forward->late);
    if (forward->number)
        asks_cancel(forward->fedd, forward->number);
    free(forward->cluster);
    free(forward);
}

static void fail_silent(struct forward *forward, const char *what)
{
    call_fail_code(forward->call, TF_ERR_UNAVAILABLE, "subcluster %s %s: ask again (`fedctl get clusters`)",
                   forward->cluster, what);
    forward_end(forward);
}

static void on_answer(void *arg, const struct tf_answer *answer)
{
    struct forward *forward = arg;
    if (!forward->number) {
        forward->lost = true;
        return;
    }
    forward->number = 0;
    if (!answer) {
        fail_silent(forward, "went away before it answered");
        return;
    }
    if (answer->code != TF_OK)
        call_fail_code(forward->call, (enum tf_error_code)answer->code, "%s",
                       answer->text ? answer->text : "");
    else {
        TF_AUTO_BUF body = TF_BUF_INIT;
        tf_buf_add(&body, answer->data ? answer->data : "", answer->len);
        tf_call_reply(forward->call, &body);
    }
    forward_end(forward);
}

static void on_late(struct tf_timer *timer)
{
    fail_silent(TF_CONTAINER_OF(timer, struct forward, late), "does not answer");
}

/* The subcluster's link; 0 after failing the call. */
static uint64_t link_of(struct fedd *fedd, struct tf_call *call, const char *cluster)
{
    for (size_t i = 0; i < fed_cluster_count(fedd->fed); i++) {
        const struct fed_cluster_view view = fed_cluster_at(fedd->fed, i);
        if (strcmp(view.record->name, cluster) != 0)
            continue;
        if (!view.attached)
            call_fail_code(
                call, TF_ERR_UNAVAILABLE,
                "subcluster %s is not attached: it can be asked when it is back (`fedctl get clusters`)",
                cluster);
        return view.attached ? view.link : 0;
    }
    call_fail_code(call, TF_ERR_NOT_FOUND,
                   "there is no subcluster %s: `fedctl get clusters` lists those that have ever attached",
                   cluster);
    return 0;
}

void asks_forward(struct fedd *fedd, struct tf_call *call, const char *cluster, struct tf_ask *question)
{
    uint64_t link = lead_or_refuse(fedd, call) ? link_of(fedd, call, cluster) : 0;
    if (!link)
        return;
    struct forward *forward = tf_calloc(1, sizeof *forward);
    *forward = (struct forward){.fedd = fedd, .call = call, .cluster = tf_strdup(cluster)};
    struct tf_mono due = {tf_loop_now(fedd->loop).mono.ms + ANSWER_WITHIN_MS};
    tf_timer_start(fedd->loop, &forward->late, due, on_late);
    asks_send(fedd, link, cluster, question, on_answer, forward);
    if (forward->lost)
        fail_silent(forward, "went away");
    else
        forward->number = question->id;
}
