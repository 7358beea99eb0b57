/* SPDX-License-Identifier: Apache-2.0 */
/* A scripted stand-in for fedd: the real protocol, a world that stands still (fake_world.c), and names that
 * make it answer in a certain way (see submit). Prints its port; ends with SIGTERM or SIGKILL.
 *
 * usage: fake_fedd                   leads
 *        fake_fedd --standby LEADER  names the leader; "" = knows none, but leads from the third request on
 */
#include "common/base/alloc.h"
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "common/rpc/server.h"
#include "tests/golden/fedctl/fake_world.h"

struct fake {
    struct tf_loop *loop;
    struct tf_rpc *rpc;
    struct tf_server *server;
    char address[64];
    const char *leader; /* NULL: it is this one */
    bool running;
    size_t requests, watches;
    struct tf_uid lost;   /* of the submit whose answer was "lost" */
    struct tf_uid defrag; /* the chain that was begun last */
    size_t looks;         /* at it */
    bool stops, aborted;
};

struct method {
    struct fake *fake;
    enum tf_method method;
};

static struct tf_wall now_of(const struct fake *fake)
{
    return tf_loop_now(fake->loop).wall;
}

/* ---- failures ---- */

struct failure {
    enum tf_error_code code;
    char *text; /* NULL: none */
    struct tf_error_detail detail;
};

static void fail(struct failure *failure, enum tf_error_code code, const char *text)
{
    failure->code = code;
    failure->detail.code = code;
    tf_str_set(&failure->text, text);
    tf_str_set(&failure->detail.text, text);
}

static void failure_pack(const struct failure *failure, struct tf_error *error, struct tf_buf *details)
{
    tf_error_set(error, failure->code, "%s", failure->text);
    tf_wire_error_detail_pack(&failure->detail, TF_RPC_DETAILS_MAX, details);
}

static void failure_release(struct failure *failure)
{
    free(failure->text);
    tf_error_detail_release(&failure->detail);
}

static bool refuse_as_standby(struct fake *fake, enum tf_method method, struct failure *failure)
{
    fake->requests++;
    if (!fake->leader || method == TF_METHOD_STATUS || (!*fake->leader && fake->requests >= 3))
        return false;
    if (*fake->leader) {
        fail(failure, TF_ERR_UNAVAILABLE, "this fedd stands by; another leads");
        tf_str_set(&failure->detail.leader, fake->leader);
    } else {
        fail(failure, TF_ERR_UNAVAILABLE, "no fedd leads yet");
        failure->detail.retry_after_ms = 20;
    }
    return true;
}

/* ---- what is asked ---- */

static void no_such_job(const struct tf_job_ref *ref, struct failure *failure)
{
    TF_AUTO_FREE char *text =
        tf_asprintf("there is no job %s/%s; see fedctl get jobs", ref->tenant, ref->name);
    fail(failure, TF_ERR_NOT_FOUND, text);
}

static void complain_submit(struct failure *failure)
{
    fail(failure, TF_ERR_INVALID, "the manifest breaks 2 rules of this federation");
    tf_complaints_add(&failure->detail.complaints, "spec.priority",
                      "there is no class \"urgent\"; the classes are online, train, batch and offline");
    tf_complaints_add(&failure->detail.complaints, "spec.minRuntime",
                      "2h is more than tenant golden may claim (0s)");
}

static void submit(struct fake *fake, const struct tf_submit_request *request, struct tf_change_reply *reply,
                   struct failure *failure)
{
    const char *name = request->manifest.name;
    reply->uid = request->uid;
    reply->version = 1;
    reply->outcome = request->restart ? TF_OUTCOME_RESTARTED : TF_OUTCOME_CREATED;
    if (strcmp(name, "same") == 0)
        reply->outcome = TF_OUTCOME_UNCHANGED;
    else if (strcmp(name, "changed") == 0)
        reply->outcome = TF_OUTCOME_UPDATED;
    else if (strcmp(name, "warned") == 0)
        tf_strs_add(&reply->warnings, "no cluster has the model B300 now; the job waits for one");
    else if (strcmp(name, "rules") == 0)
        complain_submit(failure);
    else if (strcmp(name, "fixed") == 0 && !request->restart) {
        fail(failure, TF_ERR_REFUSED,
             "these fields cannot change under a running job; apply --restart starts it anew");
        tf_complaints_add(&failure->detail.complaints, "spec.instance.command",
                          "differs from the running job's");
    } else if (strcmp(name, "taken") == 0)
        fail(failure, TF_ERR_CONFLICT, "the job is being deleted; apply it again when its name is free");
    else if (strcmp(name, "lost") == 0 && tf_uid_is_none(fake->lost)) {
        fake->lost = request->uid;
        fail(failure, TF_ERR_UNKNOWN, "the answer got lost");
    } else if (strcmp(name, "lost") == 0 && !tf_uid_eq(fake->lost, request->uid))
        fail(failure, TF_ERR_CONFLICT, "the repeat of a submit came with another uid");
}

static void scale(const struct tf_scale_request *request, struct tf_reply *reply, struct failure *failure)
{
    const struct tf_elastic *e = &request->elastic;
    int at = world_find(request->job.tenant, request->job.name);
    if (at < 0)
        no_such_job(&request->job, failure);
    else if (tf_uid_is_none(request->job.uid))
        fail(failure, TF_ERR_BUG, "the scale does not say of which job the sizes were");
    else if (e->max % e->step || e->min % e->step)
        fail(failure, TF_ERR_INVALID, "spec.elastic.max: is not a multiple of step");
    reply->change.outcome = TF_OUTCOME_DONE;
}

static void cordon(const struct tf_cluster_request *request, struct tf_reply *reply, struct failure *failure)
{
    if (strcmp(request->cluster, "nowhere") == 0)
        fail(failure, TF_ERR_NOT_FOUND, "there is no subcluster nowhere; see fedctl get clusters");
    reply->change.outcome = TF_OUTCOME_DONE;
    printf("%s: %s\n", request->cluster, request->reason ? request->reason : "no reason");
    fflush(stdout);
}

static void forget(const struct tf_cluster_request *request, struct tf_reply *reply, struct failure *failure)
{
    if (strcmp(request->cluster, "nowhere") == 0)
        fail(failure, TF_ERR_NOT_FOUND, "there is no subcluster nowhere; see fedctl get clusters");
    else if (strcmp(request->cluster, "bj-a") == 0)
        fail(failure, TF_ERR_CONFLICT, "subcluster bj-a is attached, so it is not dead");
    reply->change.outcome = TF_OUTCOME_DONE;
    printf("%s: %s\n", request->cluster, request->confirmed ? "known to be dead" : "not confirmed");
    fflush(stdout);
}

/* Growth alone is frozen, in gz-b. */
static void freeze(const struct tf_freeze_request *request, struct tf_reply *reply, struct failure *failure)
{
    bool gz = request->cluster && strcmp(request->cluster, "gz-b") == 0;
    if (request->cluster && strcmp(request->cluster, "nowhere") == 0)
        fail(failure, TF_ERR_NOT_FOUND, "there is no subcluster nowhere");
    reply->change.outcome =
        request->on || (gz && request->what & TF_FROZEN_GROWTH) ? TF_OUTCOME_DONE : TF_OUTCOME_UNCHANGED;
}

static void cordon_node(const struct tf_cordon_request *request, struct tf_reply *reply,
                        struct failure *failure)
{
    bool away = strcmp(request->cluster, "sh-d") == 0;
    if (away)
        fail(failure, TF_ERR_REFUSED,
             "subcluster sh-d is not attached, and what is done with its nodes is kept by it: try again when "
             "it is back");
    else if (request->domain && strcmp(request->domain, "nowhere") == 0)
        fail(failure, TF_ERR_NOT_FOUND, "bj-a has no node in domain nowhere");
    else if (strcmp(request->cluster, "nowhere") == 0)
        fail(failure, TF_ERR_NOT_FOUND, "there is no subcluster nowhere");
    else if (request->node && strcmp(request->node, "none") == 0)
        fail(failure, TF_ERR_NOT_FOUND,
             "bj-a has no node none; `fedctl get nodes --cluster bj-a` lists them");
    if (request->domain && request->on)
        tf_strs_add(&reply->change.warnings, !request->drain.on ? "2 nodes are cordoned together"
                                             : request->drain.dry
                                                 ? "2 instances are there, of which 0 cannot move now"
                                                 : "2 nodes are drained together");
    if (request->domain && !request->on)
        tf_strs_add(&reply->change.warnings, "still cordoned: n4 (fan)");
    if (!request->on && request->gpus)
        tf_strs_add(&reply->change.warnings, "node n1 is cordoned as a whole and stays unused");
    reply->change.outcome = TF_OUTCOME_DONE;
    printf("%s/%s %llx: %s\n", request->cluster, request->node ? request->node : request->domain,
           (unsigned long long)request->gpus, request->reason ? request->reason : "no reason");
    fflush(stdout);
}

static void change(const struct tf_request *request, struct tf_reply *reply, struct failure *failure)
{
    int at = world_find(request->job.tenant, request->job.name);
    if (at < 0) {
        no_such_job(&request->job, failure);
        return;
    }
    bool held = strcmp(request->job.name, "parked") == 0;
    memset(reply->change.uid.bytes, 0x10 + at, sizeof reply->change.uid.bytes);
    reply->change.outcome = request->method == TF_METHOD_DELETE         ? TF_OUTCOME_DELETED
                            : request->method == TF_METHOD_HOLD && held ? TF_OUTCOME_UNCHANGED
                                                                        : TF_OUTCOME_DONE;
}

static bool matches(const struct tf_job_filter *filter, const struct tf_job_view *job)
{
    return (!filter->tenant || tf_str_eq(filter->tenant, job->manifest.tenant)) &&
           (!filter->name || tf_str_eq(filter->name, job->manifest.name)) &&
           (!filter->cluster || tf_str_eq(filter->cluster, job->cluster)) &&
           (!filter->phases || filter->phases >> job->phase & 1u) &&
           tf_selector_match(&filter->selector, &job->manifest.labels);
}

/* Two jobs a page, whatever was asked: the token is the place of the next. */
static void list(struct fake *fake, const struct tf_list_request *request, struct tf_reply *reply)
{
    int64_t from = 0;
    size_t found = 0;
    if (request->page_token)
        tf_parse_int64(request->page_token, 0, WORLD_JOBS, &from, NULL);
    size_t i = (size_t)from;
    for (; i < WORLD_JOBS && found < 2; i++) {
        struct tf_job_view job;
        world_job(i, reply->method == TF_METHOD_LIST_INSTANCES, now_of(fake), &job);
        bool match = matches(&request->filter, &job);
        found += match;
        if (match && reply->method == TF_METHOD_LIST)
            tf_vec_push(&reply->list.jobs, job);
        else {
            for (size_t m = 0; match && m < job.members.count; m++)
                tf_vec_push(&reply->instances.instances, (struct tf_instance_info){
                                                             .tenant = tf_strdup(job.manifest.tenant),
                                                             .name = tf_strdup(job.manifest.name),
                                                             .uid = job.uid,
                                                             .epoch = job.epoch,
                                                             .cluster = tf_strdup(job.cluster),
                                                             .member = job.members.items[m],
                                                         });
            if (match)
                job.members.count = 0; /* moved */
            tf_job_view_release(&job);
        }
    }
    if (reply->method == TF_METHOD_LIST_INSTANCES && tf_str_eq(request->filter.cluster, "sh-d"))
        tf_strs_add(&reply->instances.missing, "sh-d");
    char **token = reply->method == TF_METHOD_LIST ? &reply->list.next_token : &reply->instances.next_token;
    *token = i < WORLD_JOBS ? tf_asprintf("%zu", i) : NULL;
}

/* One job a page, the latest last in the world; the first page is empty. */
static void archive(struct fake *fake, const struct tf_list_request *request, struct tf_list_reply *reply)
{
    int64_t from = WORLD_JOBS;
    if (request->page_token)
        tf_parse_int64(request->page_token, 0, WORLD_JOBS, &from, NULL);
    struct tf_job_view job;
    for (size_t i = (size_t)from; request->page_token && i > 0 && reply->jobs.count == 0; i--) {
        from = (int64_t)i - 1;
        world_job((size_t)from, request->filter.name != NULL, now_of(fake), &job);
        job.archived.ms = now_of(fake).ms - 1000 * (WORLD_JOBS - from);
        if (request->filter.reservations && tf_phase_is_final(job.phase))
            world_reserve(&job);
        bool match = tf_phase_is_final(job.phase) && matches(&request->filter, &job);
        if (match)
            tf_vec_push(&reply->jobs, job);
        else
            tf_job_view_release(&job);
    }
    bool more = !request->page_token || (from > 0 && reply->jobs.count);
    reply->next_token = more ? tf_asprintf("%lld", (long long)from) : NULL;
}

static void status(const struct fake *fake, struct tf_status_reply *reply)
{
    *reply = (struct tf_status_reply){
        .version = tf_strdup("0.1.0"),
        .protocol = 1,
        .leads = !fake->leader,
        .leader = tf_strdup(fake->leader && *fake->leader ? fake->leader : fake->address),
        .store = tf_strdup("ok"),
    };
    if (fake->leader && *fake->leader)
        return; /* only the leader knows the rest */
    reply->term = (struct tf_term){.era = 1, .revision = 42};
    reply->since.ms = now_of(fake).ms - 3600000;
    reply->open = true;
    reply->store_bytes = 3 << 20;
    reply->store_quota = INT64_C(2048) << 20;
    reply->jobs = WORLD_JOBS;
    reply->clusters = 4;
    reply->attached = 3;
}

static void about_job(struct fake *fake, const struct tf_request *request, struct tf_reply *reply,
                      struct failure *failure)
{
    int at = world_find(request->job.tenant, request->job.name);
    if (at < 0)
        no_such_job(&request->job, failure);
    else if (request->method == TF_METHOD_GET)
        world_job((size_t)at, true, now_of(fake), &reply->job);
    else
        world_explain((size_t)at, now_of(fake), &reply->explain);
}

static void defrag(struct fake *fake, const struct tf_defrag_order *order, struct failure *failure)
{
    if (order->digest != 0xabc)
        fail(failure, TF_ERR_CONFLICT, "bj-a has changed since the plan was made");
    fake->defrag = order->id;
    fake->looks = 0;
    fake->stops = order->reason && strcmp(order->reason, "takes long") == 0;
    fake->aborted = false;
}

/* web/hello runs in us-c and may go to gz-b. */
static void migrate_job(const struct tf_migrate_request *request, struct tf_migrate_reply *reply,
                        struct failure *failure)
{
    const struct tf_job_ref *job = &request->job;
    if (world_find(job->tenant, job->name) < 0)
        no_such_job(job, failure);
    else if (strcmp(job->name, "hello") != 0)
        fail(failure, TF_ERR_REFUSED,
             "job data/refresh is Pending: only one that is Running moves. `placement.clusters` says where "
             "one "
             "may start");
    else if (request->order.verb == TF_MIGRATE_PAUSE)
        fail(failure, TF_ERR_REFUSED,
             "a job that goes to another subcluster is not paused; `fedctl abort web/hello` takes it back "
             "now");
    else if (request->order.verb == TF_MIGRATE_ABORT)
        reply->text = tf_strdup("the new instances in gz-b are being stopped");
    else if (strcmp(request->to_cluster, "us-c") == 0)
        fail(failure, TF_ERR_REFUSED, "job web/hello runs in us-c already");
    else if (strcmp(request->to_cluster, "gz-b") != 0)
        fail(failure, TF_ERR_NOT_FOUND,
             "there is no subcluster nowhere: `fedctl get clusters` lists those that have ever attached");
    else
        reply->text =
            tf_strdup("2 of 2 instances go from us-c to gz-b, into what is free there; the old ones "
                      "stop when the new ones are ready. What is not moved: data, images, addresses");
}

static void migrate(struct fake *fake, const struct tf_migrate_request *request,
                    struct tf_migrate_reply *reply, struct failure *failure)
{
    const struct tf_migrate_order *order = &request->order;
    if (request->job.name) {
        migrate_job(request, reply, failure);
        return;
    }
    fake->aborted |= order->verb == TF_MIGRATE_ABORT;
    if (order->verb == TF_MIGRATE_LIST && request->cluster && strcmp(request->cluster, "dr-e") == 0)
        world_drain_moves(now_of(fake), reply);
    else if (order->verb == TF_MIGRATE_LIST)
        world_moves(now_of(fake), reply);
    if (order->verb == TF_MIGRATE_LIST && !tf_uid_is_none(fake->defrag))
        world_defrag_chain(fake->defrag, fake->looks++, fake->stops, fake->aborted,
                           tf_vec_add(&reply->chains));
}

static void answer(struct fake *fake, const struct tf_request *request, struct tf_reply *reply,
                   struct failure *failure)
{
    switch (request->method) {
    case TF_METHOD_SUBMIT:
        submit(fake, &request->submit, &reply->change, failure);
        break;
    case TF_METHOD_GET:
    case TF_METHOD_EXPLAIN:
        about_job(fake, request, reply, failure);
        break;
    case TF_METHOD_PLAN:
        world_plan(request->plan.manifest.name, now_of(fake), &reply->plan);
        break;
    case TF_METHOD_DELETE:
    case TF_METHOD_HOLD:
    case TF_METHOD_RESUME:
        change(request, reply, failure);
        break;
    case TF_METHOD_SCALE:
        scale(&request->scale, reply, failure);
        break;
    case TF_METHOD_CORDON_CLUSTER:
    case TF_METHOD_UNCORDON_CLUSTER:
        cordon(&request->cluster, reply, failure);
        break;
    case TF_METHOD_FORGET_CLUSTER:
        forget(&request->cluster, reply, failure);
        break;
    case TF_METHOD_FREEZE:
        freeze(&request->freeze, reply, failure);
        break;
    case TF_METHOD_CONFIRM_LOST:
    case TF_METHOD_CORDON_NODE:
        cordon_node(&request->cordon, reply, failure);
        break;
    case TF_METHOD_DEFRAG:
        defrag(fake, &request->defrag.order, failure);
        break;
    case TF_METHOD_MIGRATE:
        migrate(fake, &request->migrate, &reply->migrate, failure);
        break;
    case TF_METHOD_PLAN_DEFRAG:
        world_defrag(&request->defrag, &reply->defrag);
        break;
    case TF_METHOD_LIST_ARCHIVE:
        archive(fake, &request->list, &reply->list);
        break;
    case TF_METHOD_LIST:
    case TF_METHOD_LIST_INSTANCES:
        list(fake, &request->list, reply);
        break;
    case TF_METHOD_LIST_CLUSTERS:
        world_clusters(request->clusters.events, now_of(fake), &reply->clusters);
        break;
    case TF_METHOD_LIST_NODES:
        world_nodes(request->nodes.cluster, now_of(fake), &reply->nodes);
        break;
    case TF_METHOD_STATUS:
        status(fake, &reply->status);
        break;
    case TF_METHOD_GET_CONFIG:
        if (tf_str_eq(request->get_config.cluster, "sh-d")) {
            fail(failure, TF_ERR_UNAVAILABLE,
                 "subcluster sh-d is not attached: it can be asked when it is back (`fedctl get clusters`)");
            break;
        }
        world_config(request->get_config.key, &reply->config);
        if (!reply->config.values.count)
            fail(failure, TF_ERR_NOT_FOUND, "fedd.yaml has no such key; `fedctl config get` lists all");
        break;
    case TF_METHOD_DIFF_CONFIG:
        world_config_diff(request->diff_config.len, &reply->config_diff);
        break;
    default:
        fail(failure, TF_ERR_REFUSED, "the fake does not know this method");
    }
}

static void on_unary(void *arg, struct tf_call *call, struct tf_bytes bytes)
{
    const struct method *m = arg;
    struct tf_request request;
    struct tf_reply reply = {.method = m->method};
    struct failure failure = {0};
    struct tf_error error = TF_ERROR_INIT;
    TF_AUTO_BUF details = TF_BUF_INIT;
    struct tf_buf body = TF_BUF_INIT;
    if (tf_wire_request_unpack(m->method, bytes.data, bytes.len, &request, &error))
        fail(&failure, TF_ERR_INVALID, error.text);
    else if (!refuse_as_standby(m->fake, m->method, &failure))
        answer(m->fake, &request, &reply, &failure);
    if (!failure.text && tf_wire_reply_pack(&reply, &body, &error))
        fail(&failure, TF_ERR_BUG, error.text);
    if (failure.text) {
        failure_pack(&failure, &error, &details);
        tf_call_fail(call, &error, (struct tf_bytes){details.data, details.len});
    } else
        tf_call_reply(call, &body);
    tf_buf_release(&body);
    failure_release(&failure);
    tf_reply_release(&reply);
    tf_request_release(&request);
}

/* ---- streams ---- */

static void send(struct tf_stream *stream, const struct tf_reply *reply)
{
    struct tf_buf body = TF_BUF_INIT;
    struct tf_error error = TF_ERROR_INIT;
    if (tf_wire_reply_pack(reply, &body, &error)) {
        fprintf(stderr, "fake_fedd: %s\n", error.text);
        exit(1);
    }
    tf_stream_write(stream, &body);
}

/* The events that are wanted, as fedd counts them. */
static void keep_events(struct tf_job_view *job, struct tf_wall since)
{
    while (job->events.count && job->events.items[0].at.ms < since.ms) {
        tf_job_event_release(&job->events.items[0]);
        tf_vec_remove(&job->events, 0);
        job->events_dropped++;
    }
}

/* All that match; then rec/soon comes to run, and web/hello goes. */
static void watch_all(struct fake *fake, struct tf_stream *stream, const struct tf_watch_request *request)
{
    struct tf_wall now = now_of(fake);
    struct tf_reply reply = {.method = TF_METHOD_WATCH};
    for (size_t i = 0; i < WORLD_JOBS; i++) {
        struct tf_job_view *job = &reply.watch.job;
        reply.watch.kind = TF_WATCH_JOB;
        world_job(i, request->events, now, job);
        keep_events(job, request->events_since);
        if (matches(&request->filter, job) && (!request->events || job->events.count))
            send(stream, &reply);
        tf_job_view_release(job);
    }
    reply.watch.kind = TF_WATCH_SYNCED;
    send(stream, &reply);
    reply.watch.kind = TF_WATCH_JOB;
    world_job((size_t)world_find("rec", "soon"), request->events, now, &reply.watch.job);
    reply.watch.job.phase = TF_PHASE_RUNNING;
    reply.watch.job.ready = 2;
    reply.watch.job.version++;
    tf_vec_push(&reply.watch.job.events,
                (struct tf_job_event){now, 104, tf_strdup("Running"), tf_strdup("in us-c\x1b[2J"), 0});
    if (matches(&request->filter, &reply.watch.job)) {
        send(stream, &reply);
        send(stream, &reply); /* what was told is not told again */
    }
    tf_job_view_release(&reply.watch.job);
    reply.watch.kind = TF_WATCH_GONE;
    world_job((size_t)world_find("web", "hello"), false, now, &reply.watch.job);
    send(stream, &reply);
    tf_reply_release(&reply);
}

static void send_event(struct tf_stream *stream, enum tf_watch_kind kind, int at, enum tf_phase phase,
                       struct tf_wall now)
{
    struct tf_reply reply = {.method = TF_METHOD_WATCH};
    reply.watch.kind = kind;
    reply.watch.sequence = 1;
    if (at >= 0)
        world_job((size_t)at, false, now, &reply.watch.job);
    if (at >= 0 && phase)
        reply.watch.job.phase = phase;
    send(stream, &reply);
    tf_reply_release(&reply);
}

/* rec/soon: the first stream breaks, in the next it comes to run. web/hello: is deleted. The others stay. */
static void watch(struct fake *fake, struct tf_stream *stream, const struct tf_watch_request *request)
{
    const struct tf_job_filter *filter = &request->filter;
    if (!filter->name || request->events) {
        watch_all(fake, stream, request);
        return;
    }
    int at = world_find(filter->tenant, filter->name);
    struct tf_wall now = now_of(fake);
    bool first = fake->watches++ == 0;
    puts("watched");
    fflush(stdout);
    if (at >= 0)
        send_event(stream, TF_WATCH_JOB, at, fake->running ? TF_PHASE_RUNNING : TF_PHASE_NONE, now);
    send_event(stream, TF_WATCH_SYNCED, -1, TF_PHASE_NONE, now);
    if (tf_str_eq(filter->name, "soon") && first) {
        tf_stream_finish(stream, NULL, (struct tf_bytes){NULL, 0});
        return;
    }
    if (tf_str_eq(filter->name, "soon"))
        send_event(stream, TF_WATCH_JOB, at, TF_PHASE_RUNNING, now);
    if (tf_str_eq(filter->name, "hello"))
        send_event(stream, TF_WATCH_GONE, at, TF_PHASE_NONE, now);
    send_event(stream, TF_WATCH_BOOKMARK, -1, TF_PHASE_NONE, now);
}

static void logs(struct tf_stream *stream, const struct tf_logs_request *request)
{
    enum { LINES = 30 };
    TF_AUTO_BUF text = TF_BUF_INIT;
    for (int i = 1; i <= LINES; i++)
        tf_buf_fmt(&text, "instance %u line %d%s\n", request->index, i,
                   request->attempt ? " of an earlier attempt" : "");
    size_t skip = 0;
    if (request->tail_bytes >= 0 && (size_t)request->tail_bytes < text.len)
        skip = text.len - (size_t)request->tail_bytes;
    for (size_t at = skip; at < text.len; at += 100) {
        size_t len = text.len - at < 100 ? text.len - at : 100;
        struct tf_reply reply = {.method = TF_METHOD_LOGS,
                                 .logs = {.data = tf_memdup(text.data + at, len), .len = len}};
        send(stream, &reply);
        tf_reply_release(&reply);
    }
    if (request->follow) {
        struct tf_reply reply = {.method = TF_METHOD_LOGS,
                                 .logs = {.data = tf_strdup("one more\n"), .len = 9}};
        send(stream, &reply);
        tf_reply_release(&reply);
    }
    tf_stream_finish(stream, NULL, (struct tf_bytes){NULL, 0});
}

static void on_message(void *arg, struct tf_stream *stream, struct tf_bytes bytes)
{
    const struct method *m = arg;
    struct tf_request request;
    struct tf_error error = TF_ERROR_INIT;
    struct failure failure = {0};
    TF_AUTO_BUF details = TF_BUF_INIT;
    if (tf_wire_request_unpack(m->method, bytes.data, bytes.len, &request, &error))
        fail(&failure, TF_ERR_INVALID, error.text);
    else if (!refuse_as_standby(m->fake, m->method, &failure)) {
        if (m->method == TF_METHOD_WATCH)
            watch(m->fake, stream, &request.watch);
        else
            logs(stream, &request.logs);
    }
    if (failure.text) {
        failure_pack(&failure, &error, &details);
        tf_stream_finish(stream, &error, (struct tf_bytes){details.data, details.len});
    }
    failure_release(&failure);
    tf_request_release(&request);
}

static void on_ended(void *arg, struct tf_stream *stream, const struct tf_error *error,
                     struct tf_bytes details)
{
    (void)arg, (void)stream, (void)error, (void)details;
}

static void on_stream(void *arg, struct tf_stream *stream)
{
    static const struct tf_stream_events events = {.message = on_message, .ended = on_ended};
    tf_stream_accept(stream, &events, arg);
}

/* ---- the server ---- */

int main(int argc, char **argv)
{
    static struct fake fake;
    static struct method methods[TF_METHOD_COUNT];
    struct tf_error err = TF_ERROR_INIT;
    struct tf_server_options options = {.address = "127.0.0.1:0"};
    char address[64];
    if (argc == 3 && strcmp(argv[1], "--standby") == 0)
        fake.leader = argv[2];
    if (argc == 3 && strcmp(argv[1], "--running") == 0) {
        fake.running = true;
        snprintf(address, sizeof address, "127.0.0.1:%s", argv[2]);
        options.address = address;
    }
    fake.loop = tf_loop_create(&err);
    fake.rpc = tf_rpc_create(fake.loop, &err);
    fake.server = tf_server_create(fake.rpc, &options, &err);
    if (!fake.server) {
        fprintf(stderr, "fake_fedd: %s\n", err.text);
        return 1;
    }
    for (int i = TF_METHOD_NONE + 1; i < TF_METHOD_COUNT; i++) {
        methods[i] = (struct method){&fake, (enum tf_method)i};
        if (tf_method_streams((enum tf_method)i))
            tf_server_stream(fake.server, tf_method_path((enum tf_method)i), on_stream, &methods[i]);
        else
            tf_server_unary(fake.server, tf_method_path((enum tf_method)i), on_unary, &methods[i]);
    }
    tf_server_start(fake.server);
    snprintf(fake.address, sizeof fake.address, "127.0.0.1:%d", tf_server_port(fake.server));
    printf("%d\n", tf_server_port(fake.server));
    fflush(stdout);
    tf_loop_run(fake.loop);
    return 0;
}
