/* SPDX-License-Identifier: Apache-2.0 */
/* Plans that free nodes: the subcluster makes them, and carries them out. */
#include "federation/daemon/private.h"

#include "common/base/cleanup.h"

/* What is freed for a job and not used by it is there for all again after so long. */
enum { KEPT_FOR = TF_HOUR };

/* That nodes are kept for the job: when the moves have begun, since they go where nothing is kept. */
static struct fed_event claim_of(const char *cluster, const char *job)
{
    const char *slash = strchr(job, '/');
    return (struct fed_event){.kind = FED_EV_CLAIM,
                              .claim = {.tenant = tf_strndup(job, (size_t)(slash - job)),
                                        .name = tf_strdup(slash + 1),
                                        .cluster = tf_strdup(cluster),
                                        .lasts = KEPT_FOR}};
}

/* Room that the job may not use would be kept for it in vain. False after failing the call. */
static bool may_be_for(struct fedd *fedd, struct tf_call *call, const struct tf_defrag_request *request)
{
    const char *job = request->order.for_job, *slash = job ? strchr(job, '/') : NULL;
    if (!slash)
        return true;
    TF_AUTO_FREE char *tenant = tf_strndup(job, (size_t)(slash - job));
    TF_AUTO_FREE char *bar = fed_placement_bar(fedd->fed, tenant, slash + 1, request->cluster);
    if (bar)
        call_fail_code(call, TF_ERR_REFUSED, "%s", bar);
    return !bar;
}

static void on_plan(void *arg, struct tf_call *call, struct tf_bytes bytes)
{
    struct fedd *fedd = arg;
    struct tf_request request = {0};
    if (!lead_or_refuse(fedd, call) || !call_request(call, TF_METHOD_PLAN_DEFRAG, bytes, &request))
        return;
    struct tf_defrag_order *order = &request.defrag.order;
    order->apply = false;
    struct tf_ask question = {.kind = TF_ASK_DEFRAG, .defrag = {order, 1, 1}};
    if (may_be_for(fedd, call, &request.defrag))
        asks_forward(fedd, call, request.defrag.cluster, &question);
    tf_request_release(&request);
}

static void on_apply(void *arg, struct tf_call *call, struct tf_bytes bytes)
{
    struct fedd *fedd = arg;
    struct tf_request request = {0};
    if (!lead_or_refuse(fedd, call) || !call_request(call, TF_METHOD_DEFRAG, bytes, &request))
        return;
    struct tf_defrag_order *order = &request.defrag.order;
    order->apply = true;
    struct tf_ask question = {.kind = TF_ASK_DEFRAG, .defrag = {order, 1, 1}};
    changes_log(call, TF_METHOD_DEFRAG, request.defrag.cluster, order->model);
    bool may = may_be_for(fedd, call, &request.defrag);
    if (may && order->for_job && strchr(order->for_job, '/')) {
        struct fed_event claim = claim_of(request.defrag.cluster, order->for_job);
        asks_change_then(fedd, call, request.defrag.cluster, &question, TF_METHOD_DEFRAG, &claim);
    } else if (may)
        asks_change(fedd, call, request.defrag.cluster, &question);
    tf_request_release(&request);
}

void defrag_register(struct fedd *fedd)
{
    tf_server_unary(fedd->server, tf_method_path(TF_METHOD_PLAN_DEFRAG), on_plan, fedd);
    tf_server_unary(fedd->server, tf_method_path(TF_METHOD_DEFRAG), on_apply, fedd);
}
