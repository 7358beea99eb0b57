/* SPDX-License-Identifier: Apache-2.0 */
/* What the configuration in force is, and what a file would change of it. Every fedd answers for itself,
 * whether it leads or not, and without asking the store: what is wrong with a configuration is looked for
 * when nothing else works. About that of a subcluster the leader asks its subclusterd, which knows the rules
 * of its own file. */
#include "federation/daemon/private.h"

#include "common/base/cleanup.h"
#include "common/live/live.h"

enum { ANSWER_WITHIN_MS = 2 * TF_SECOND };

/* ---- its own ---- */

/* What no line of the file says. What settles by the folder of data does so by the one that is said. */
static void defaults_init(const struct fedd *fedd, struct fedd_config *defaults)
{
    *defaults = (struct fedd_config){0};
    tf_table_init(&fedd_config_table, defaults);
    defaults->data_dir = tf_strdup(fedd->config.data_dir);
    tf_table_settle(&fedd_config_table, defaults);
}

static struct tf_live_config live_of(const struct fedd *fedd, const struct fedd_config *defaults)
{
    return (struct tf_live_config){
        .table = &fedd_config_table,
        .file = "fedd.yaml",
        .now = &fedd->config,
        .first = &fedd->first_config,
        .defaults = defaults,
        .option_key = "listen",
        .option_value = fedd->config.override,
    };
}

static void answer(struct fedd *fedd, struct tf_call *call, const struct tf_request *request)
{
    struct fedd_config defaults;
    struct tf_reply reply = {.method = request->method};
    struct tf_error err = TF_ERROR_INIT;
    bool get = request->method == TF_METHOD_GET_CONFIG;
    defaults_init(fedd, &defaults);
    const struct tf_live_config live = live_of(fedd, &defaults);
    int failed = get ? tf_live_get(&live, request->get_config.key, &reply.config, &err)
                     : tf_live_diff(&live, &request->diff_config, &reply.config_diff, &err);
    *(get ? &reply.config.leads : &reply.config_diff.leads) = lead_is_certain(fedd);
    if (failed) {
        call_fail_code(call, err.code, "%s", err.text);
        tf_reply_release(&reply);
    } else
        call_reply(call, &reply);
    fedd_config_release(&defaults);
}

/* ---- a subcluster's: its answer is passed on as it comes ---- */

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
                "subcluster %s is not attached: its configuration can be asked for when it is back", cluster);
        return view.attached ? view.link : 0;
    }
    call_fail_code(call, TF_ERR_NOT_FOUND,
                   "there is no subcluster %s: `fedctl get clusters` lists those that have ever attached",
                   cluster);
    return 0;
}

static void forward(struct fedd *fedd, struct tf_call *call, enum tf_ask_kind kind, const char *cluster,
                    struct tf_bytes request)
{
    uint64_t link = lead_or_refuse(fedd, call) ? link_of(fedd, call, cluster) : 0;
    if (!link)
        return;
    struct forward *forward = tf_calloc(1, sizeof *forward);
    *forward = (struct forward){.fedd = fedd, .call = call, .cluster = tf_strdup(cluster)};
    struct tf_ask question = {.kind = kind, .data = (char *)(uintptr_t)request.data, .len = request.len};
    struct tf_mono due = {tf_loop_now(fedd->loop).mono.ms + ANSWER_WITHIN_MS};
    tf_timer_start(fedd->loop, &forward->late, due, on_late);
    asks_send(fedd, link, cluster, &question, on_answer, forward);
    if (forward->lost)
        fail_silent(forward, "went away");
    else
        forward->number = question.id;
}

/* ---- the calls ---- */

static void on_get(void *arg, struct tf_call *call, struct tf_bytes bytes)
{
    struct fedd *fedd = arg;
    struct tf_request request = {0};
    if (!call_request(call, TF_METHOD_GET_CONFIG, bytes, &request))
        return;
    if (request.get_config.cluster)
        forward(fedd, call, TF_ASK_GET_CONFIG, request.get_config.cluster, bytes);
    else if (!request.get_config.leader || lead_or_refuse(fedd, call))
        answer(fedd, call, &request);
    tf_request_release(&request);
}

static void on_diff(void *arg, struct tf_call *call, struct tf_bytes bytes)
{
    struct fedd *fedd = arg;
    struct tf_request request = {0};
    if (!call_request(call, TF_METHOD_DIFF_CONFIG, bytes, &request))
        return;
    if (request.diff_config.cluster)
        forward(fedd, call, TF_ASK_DIFF_CONFIG, request.diff_config.cluster, bytes);
    else if (!request.diff_config.leader || lead_or_refuse(fedd, call))
        answer(fedd, call, &request);
    tf_request_release(&request);
}

void config_register(struct fedd *fedd)
{
    tf_server_unary(fedd->server, tf_method_path(TF_METHOD_GET_CONFIG), on_get, fedd);
    tf_server_unary(fedd->server, tf_method_path(TF_METHOD_DIFF_CONFIG), on_diff, fedd);
}
