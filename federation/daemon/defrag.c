/* SPDX-License-Identifier: Apache-2.0 */
/* Plans that free nodes: the subcluster makes them, and carries them out. */
#include "federation/daemon/private.h"

static void on_plan(void *arg, struct tf_call *call, struct tf_bytes bytes)
{
    struct fedd *fedd = arg;
    struct tf_request request = {0};
    if (!call_request(call, TF_METHOD_PLAN_DEFRAG, bytes, &request))
        return;
    struct tf_defrag_order *order = &request.defrag.order;
    order->apply = false;
    struct tf_ask question = {.kind = TF_ASK_DEFRAG, .defrag = {order, 1, 1}};
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
    asks_change(fedd, call, request.defrag.cluster, &question);
    tf_request_release(&request);
}

void defrag_register(struct fedd *fedd)
{
    tf_server_unary(fedd->server, tf_method_path(TF_METHOD_PLAN_DEFRAG), on_plan, fedd);
    tf_server_unary(fedd->server, tf_method_path(TF_METHOD_DEFRAG), on_apply, fedd);
}
