/* SPDX-License-Identifier: Apache-2.0 */
/* What the configuration in force is, and what a file would change of it. Every fedd answers for itself,
 * whether it leads or not, and without asking the store: what is wrong with a configuration is looked for
 * when nothing else works. About that of a subcluster the leader asks its subclusterd, which knows the rules
 * of its own file. */
#include "federation/daemon/private.h"

#include "common/base/cleanup.h"
#include "common/live/live.h"

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

/* ---- a subcluster's ---- */

static void forward(struct fedd *fedd, struct tf_call *call, enum tf_ask_kind kind, const char *cluster,
                    struct tf_bytes request)
{
    struct tf_ask question = {.kind = kind, .data = (char *)(uintptr_t)request.data, .len = request.len};
    asks_forward(fedd, call, cluster, &question);
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
