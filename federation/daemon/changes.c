/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that change something: from the wire's struct to the core's event. Whether it is right is the core's.
 */
#include "federation/daemon/private.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "federation/daemon/roles.h"

/* A name whose stored record cannot be read must not be given to another job: that would overwrite it. True
 * after failing the call. */
static bool in_quarantine(struct fedd *fedd, struct tf_call *call, const char *tenant, const char *name)
{
    const char *why = tenant && name ? lead_quarantined(fedd, "jobs", tenant, name) : NULL;
    if (!why)
        return false;
    call_fail_code(
        call, TF_ERR_CONFLICT,
        "%s/%s: the stored record of this name cannot be read and is in quarantine (%s); repair or "
        "remove the key jobs/%s/%s in the store, then restart the leader, or use another name",
        tenant, name, why, tenant, name);
    return true;
}

void changes_log(const struct tf_call *call, enum tf_method method, const char *tenant, const char *name)
{
    const char *path = tf_method_path(method), *verb = strrchr(path, '/') + 1;
    const char *identity = tf_call_identity(call);
    tf_log_info("change asked for verb=%s of=%s%s%s by=%s peer=%s", verb, tenant ? tenant : "",
                tenant ? "/" : "", name ? name : "?", identity ? identity : "local", tf_call_peer(call));
}

static void on_submit(void *arg, struct tf_call *call, struct tf_bytes bytes)
{
    struct fedd *fedd = arg;
    struct tf_request request = {0};
    if (!lead_or_refuse(fedd, call) || !call_request(call, TF_METHOD_SUBMIT, bytes, &request))
        return;
    struct tf_submit_request *submit = &request.submit;
    if (in_quarantine(fedd, call, submit->manifest.tenant, submit->manifest.name)) {
        tf_request_release(&request);
        return;
    }
    struct fed_event event = {.kind = FED_EV_SUBMIT,
                              .request = requests_add_change(fedd, call, TF_METHOD_SUBMIT),
                              .submit = {.uid = submit->uid,
                                         .manifest = submit->manifest,
                                         .apply = submit->mode == TF_SUBMIT_APPLY,
                                         .restart = submit->restart,
                                         .dry_run = submit->dry_run,
                                         .user = tf_strdup(role_user(tf_call_identity(call)))}};
    submit->manifest = (struct tf_job_manifest){0};
    tf_request_release(&request);
    host_step(fedd, &event);
}

/* A change of one job by its name, or by its uid alone. */
static void change_job(struct fedd *fedd, struct tf_call *call, enum tf_method method, struct fed_event event,
                       struct tf_job_ref *ref)
{
    const struct tf_job_record *job = ref->tenant ? NULL : fed_job_find_uid(fedd->fed, ref->uid);
    if (in_quarantine(fedd, call, ref->tenant, ref->name)) {
        fed_event_release(&event);
        return;
    }
    if (!ref->tenant && !job) {
        call_fail_code(call, TF_ERR_NOT_FOUND, "there is no job of that uid");
        fed_event_release(&event);
        return;
    }
    if (job) {
        tf_str_set(&ref->tenant, job->tenant);
        tf_str_set(&ref->name, job->name);
    }
    if (!event.job.dry_run)
        changes_log(call, method, ref->tenant, ref->name);
    event.request = requests_add_change(fedd, call, method);
    event.job.tenant = TF_STEAL(ref->tenant);
    event.job.name = TF_STEAL(ref->name);
    event.job.uid = ref->uid;
    host_step(fedd, &event);
}

void changes_move(struct fedd *fedd, struct tf_call *call, struct tf_migrate_request *migrate)
{
    struct fed_event event = {.kind = FED_EV_MIGRATE,
                              .job = {.to = TF_STEAL(migrate->to_cluster),
                                      .dry_run = migrate->order.verb == TF_MIGRATE_PLAN,
                                      .abort = migrate->order.verb == TF_MIGRATE_ABORT,
                                      .reason = TF_STEAL(migrate->order.reason),
                                      .user = TF_STEAL(migrate->order.user)}};
    change_job(fedd, call, TF_METHOD_MIGRATE, event, &migrate->job);
}

static void on_job(struct fedd *fedd, struct tf_call *call, struct tf_bytes bytes, enum tf_method method,
                   enum fed_event_kind kind)
{
    struct tf_request request = {0};
    if (!lead_or_refuse(fedd, call) || !call_request(call, method, bytes, &request))
        return;
    if (method == TF_METHOD_SCALE)
        change_job(fedd, call, method,
                   (struct fed_event){.kind = kind, .job = {.elastic = request.scale.elastic}},
                   &request.scale.job);
    else
        change_job(fedd, call, method, (struct fed_event){.kind = kind}, &request.job);
    tf_request_release(&request);
}

static void on_delete(void *arg, struct tf_call *call, struct tf_bytes bytes)
{
    on_job(arg, call, bytes, TF_METHOD_DELETE, FED_EV_DELETE);
}

static void on_scale(void *arg, struct tf_call *call, struct tf_bytes bytes)
{
    on_job(arg, call, bytes, TF_METHOD_SCALE, FED_EV_SCALE);
}

static void on_hold(void *arg, struct tf_call *call, struct tf_bytes bytes)
{
    on_job(arg, call, bytes, TF_METHOD_HOLD, FED_EV_HOLD);
}

static void on_resume(void *arg, struct tf_call *call, struct tf_bytes bytes)
{
    on_job(arg, call, bytes, TF_METHOD_RESUME, FED_EV_RESUME);
}

static void on_cluster(struct fedd *fedd, struct tf_call *call, struct tf_bytes bytes, enum tf_method method)
{
    struct tf_request request = {0};
    if (!lead_or_refuse(fedd, call) || !call_request(call, method, bytes, &request))
        return;
    struct tf_cluster_request *cluster = &request.cluster;
    if (method == TF_METHOD_FORGET_CLUSTER && !cluster->confirmed) {
        call_fail_code(call, TF_ERR_REFUSED,
                       "forgetting %s ends every job there as lost; if it still runs, they may run twice: "
                       "say that it is known to be dead (fedctl cluster forget %s --i-know-it-is-dead)",
                       cluster->cluster, cluster->cluster);
    } else {
        changes_log(call, method, NULL, cluster->cluster);
        struct fed_event event = {.kind = method == TF_METHOD_FORGET_CLUSTER ? FED_EV_FORGET : FED_EV_CORDON,
                                  .request = requests_add_change(fedd, call, method),
                                  .cluster = {.name = TF_STEAL(cluster->cluster),
                                              .reason = TF_STEAL(cluster->reason),
                                              .on = method == TF_METHOD_CORDON_CLUSTER}};
        host_step(fedd, &event);
    }
    tf_request_release(&request);
}

static void on_cordon(void *arg, struct tf_call *call, struct tf_bytes bytes)
{
    on_cluster(arg, call, bytes, TF_METHOD_CORDON_CLUSTER);
}

static void on_uncordon(void *arg, struct tf_call *call, struct tf_bytes bytes)
{
    on_cluster(arg, call, bytes, TF_METHOD_UNCORDON_CLUSTER);
}

static void on_forget(void *arg, struct tf_call *call, struct tf_bytes bytes)
{
    on_cluster(arg, call, bytes, TF_METHOD_FORGET_CLUSTER);
}

static void on_freeze(void *arg, struct tf_call *call, struct tf_bytes bytes)
{
    struct fedd *fedd = arg;
    struct tf_request request = {0};
    if (!lead_or_refuse(fedd, call) || !call_request(call, TF_METHOD_FREEZE, bytes, &request))
        return;
    struct tf_freeze_request *freeze = &request.freeze;
    changes_log(call, TF_METHOD_FREEZE, NULL, freeze->cluster);
    struct fed_event event = {.kind = FED_EV_FREEZE,
                              .request = requests_add_change(fedd, call, TF_METHOD_FREEZE),
                              .freeze = {.wanted = {.what = (enum tf_frozen)freeze->what,
                                                    .cluster = TF_STEAL(freeze->cluster),
                                                    .reason = TF_STEAL(freeze->reason),
                                                    .user = tf_strdup(role_user(tf_call_identity(call)))},
                                         .lasts = freeze->lasts,
                                         .on = freeze->on}};
    tf_request_release(&request);
    host_step(fedd, &event);
}

void changes_register(struct fedd *fedd)
{
    static const struct {
        enum tf_method method;
        tf_unary_handler_f handler;
    } rows[] = {
        {TF_METHOD_SUBMIT, on_submit},
        {TF_METHOD_DELETE, on_delete},
        {TF_METHOD_SCALE, on_scale},
        {TF_METHOD_HOLD, on_hold},
        {TF_METHOD_RESUME, on_resume},
        {TF_METHOD_CORDON_CLUSTER, on_cordon},
        {TF_METHOD_UNCORDON_CLUSTER, on_uncordon},
        {TF_METHOD_FORGET_CLUSTER, on_forget},
        {TF_METHOD_FREEZE, on_freeze},
    };
    for (size_t i = 0; i < TF_ARRAY_LEN(rows); i++)
        tf_server_unary(fedd->server, tf_method_path(rows[i].method), rows[i].handler, fedd);
}
