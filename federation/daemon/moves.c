/* SPDX-License-Identifier: Apache-2.0 */
/* Moves of instances inside of a subcluster: what people ask is handed to the subcluster that has the job, or
 * whose node it is, and its word is the answer. Nothing of it is kept here: a chain is its subcluster's,
 * which answers a repeat of the same order as it did the first. A job that goes to another subcluster is the
 * core's business: changes.c hands it over. */
#include "federation/daemon/private.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "federation/daemon/roles.h"

enum { ANSWER_WITHIN_MS = 2 * TF_SECOND };

/* One call to Migrate. */
struct moves {
    struct fedd *fedd;
    struct tf_call *call;
    struct tf_reply reply;
    TF_VEC(struct part *) parts; /* asked, without an answer */
    bool lists, sending;
    struct tf_error refused;
    struct tf_timer late;
};

/* What is asked of one subcluster. */
struct part {
    struct moves *moves;
    char *cluster;
    uint64_t number; /* of the question; 0 = it is being sent */
};

static void part_drop(struct part *part)
{
    struct moves *moves = part->moves;
    for (size_t i = 0; i < moves->parts.count; i++)
        if (moves->parts.items[i] == part) {
            tf_vec_remove(&moves->parts, i);
            break;
        }
    free(part->cluster);
    free(part);
}

static int by_creation(const void *a, const void *b)
{
    const struct tf_chain_info *x = a, *y = b;
    if (x->chain.created.ms != y->chain.created.ms)
        return x->chain.created.ms < y->chain.created.ms ? -1 : 1;
    return tf_uid_cmp(x->chain.id, y->chain.id);
}

static void finish(struct moves *moves)
{
    struct tf_migrate_reply *reply = &moves->reply.migrate;
    while (moves->parts.count) {
        struct part *part = moves->parts.items[0];
        tf_strs_add(&reply->missing, part->cluster);
        asks_cancel(moves->fedd, part->number);
        part_drop(part);
    }
    tf_timer_cancel(moves->fedd->loop, &moves->late);
    if (reply->chains.count > 1)
        qsort(reply->chains.items, reply->chains.count, sizeof *reply->chains.items, by_creation);
    if (moves->refused.code != TF_OK) {
        call_fail_code(moves->call, moves->refused.code, "%s", moves->refused.text);
        tf_reply_release(&moves->reply);
    } else if (!moves->lists && reply->missing.count) {
        call_fail_code(moves->call, TF_ERR_UNKNOWN,
                       "subcluster %s has not answered in time: it may be done; repeat the same request, or "
                       "look with `fedctl get migrations`",
                       reply->missing.items[0]);
        tf_reply_release(&moves->reply);
    } else
        call_reply(moves->call, &moves->reply);
    tf_vec_release(&moves->parts);
    free(moves);
}

static void on_late(struct tf_timer *timer)
{
    finish(TF_CONTAINER_OF(timer, struct moves, late));
}

static void take(struct moves *moves, const char *cluster, const struct tf_answer *answer)
{
    struct tf_migrate_reply got = {0}, *reply = &moves->reply.migrate;
    struct tf_error err = TF_ERROR_INIT;
    if (answer->code != TF_OK) {
        tf_error_set(&moves->refused, (enum tf_error_code)answer->code, "%s",
                     answer->text ? answer->text : "no reason was given");
        return;
    }
    tf_str_set(&reply->text, answer->text);
    if (answer->len && tf_wire_migrate_unpack(answer->data, answer->len, &got, &err)) {
        tf_log_warn("an answer of a subcluster cannot be read name=%s error=%s", cluster, err.text);
        tf_strs_add(&reply->missing, cluster);
        return;
    }
    tf_vec_each (info, &got.chains) {
        tf_str_set(&info->cluster, cluster);
        tf_vec_push(&reply->chains, *info);
        *info = (struct tf_chain_info){0};
    }
    tf_migrate_reply_release(&got);
}

static void on_answer(void *arg, const struct tf_answer *answer)
{
    struct part *part = arg;
    struct moves *moves = part->moves;
    if (answer)
        take(moves, part->cluster, answer);
    else
        tf_strs_add(&moves->reply.migrate.missing, part->cluster);
    part_drop(part);
    if (!moves->sending && moves->parts.count == 0)
        finish(moves);
}

static void send(struct moves *moves, const struct fed_cluster_view *cluster,
                 const struct tf_migrate_order *order)
{
    struct tf_ask question = {.kind = TF_ASK_MIGRATE};
    struct part *part = tf_calloc(1, sizeof *part);
    size_t before = moves->parts.count;
    *part = (struct part){.moves = moves, .cluster = tf_strdup(cluster->record->name)};
    tf_vec_push(&moves->parts, part);
    tf_migrate_order_copy(tf_vec_add(&question.migrate), order);
    asks_send(moves->fedd, cluster->link, cluster->record->name, &question, on_answer, part);
    if (moves->parts.count > before) /* else its link has just gone */
        part->number = question.id;
    question.id = 0;
    tf_ask_release(&question);
}

/* ---- jobs that go to other subclusters ---- */

static int by_begin(const void *a, const void *b)
{
    const struct tf_job_move *x = a, *y = b;
    if (x->move.since.ms != y->move.since.ms)
        return x->move.since.ms < y->move.since.ms ? -1 : 1;
    return tf_uid_cmp(x->uid, y->uid);
}

static int latest_end(const void *a, const void *b)
{
    const struct tf_job_record *x = *(const struct tf_job_record *const *)a,
                               *y = *(const struct tf_job_record *const *)b;
    if (x->cross.ended.ms != y->cross.ended.ms)
        return x->cross.ended.ms > y->cross.ended.ms ? -1 : 1;
    return tf_uid_cmp(x->uid, y->uid);
}

static void add_job(struct tf_migrate_reply *reply, const struct tf_job_record *job)
{
    struct tf_job_move *move = tf_vec_add(&reply->jobs);
    *move =
        (struct tf_job_move){.uid = job->uid, .tenant = tf_strdup(job->tenant), .name = tf_strdup(job->name)};
    tf_cross_copy(&move->move, &job->cross);
}

/* To or from that one; NULL: any. */
static bool concerns(const struct tf_job_record *job, const char *cluster)
{
    return !cluster || tf_str_eq(job->cross.from, cluster) || tf_str_eq(job->cross.to, cluster);
}

static void add_jobs(const struct fedd *fedd, const char *cluster, struct tf_migrate_reply *reply)
{
    TF_VEC(const struct tf_job_record *) over = {0};
    const struct tf_job_record *job;
    for (size_t i = 0; (job = fed_job_moving(fedd->fed, i)); i++)
        if (concerns(job, cluster))
            add_job(reply, job);
    for (size_t i = 0; (job = fed_job_moved(fedd->fed, i)); i++)
        if (concerns(job, cluster))
            tf_vec_push(&over, job);
    if (over.count > 1)
        qsort(over.items, over.count, sizeof *over.items, latest_end);
    for (size_t i = 0; i < over.count && i < TF_JOB_MOVES_OVER; i++)
        add_job(reply, over.items[i]);
    if (reply->jobs.count > 1)
        qsort(reply->jobs.items, reply->jobs.count, sizeof *reply->jobs.items, by_begin);
    tf_vec_release(&over);
}

/* ---- who is asked ---- */

static bool names_job(const struct tf_job_ref *ref)
{
    return ref->name || !tf_uid_is_none(ref->uid);
}

/* Where the job runs, into the request, which may say where it is thought to run; false after failing the
 * call. */
static bool find_job(struct fedd *fedd, struct tf_call *call, struct tf_migrate_request *request)
{
    const struct tf_job_ref *ref = &request->job;
    const struct tf_job_record *job = tf_uid_is_none(ref->uid)
                                          ? fed_job_find(fedd->fed, ref->tenant, ref->name)
                                          : fed_job_find_uid(fedd->fed, ref->uid);
    if (!job) {
        call_fail_code(call, TF_ERR_NOT_FOUND, "there is no job %s/%s", ref->tenant ? ref->tenant : "",
                       ref->name ? ref->name : "of that uid");
        return false;
    }
    if (job->placements.count == 0) {
        call_fail_code(call, TF_ERR_REFUSED, "job %s/%s is %s: nothing of it runs that could move",
                       job->tenant, job->name, tf_phase_name(job->phase));
        return false;
    }
    const char *cluster = job->placements.items[job->placements.count - 1].cluster;
    if (request->cluster && !tf_str_eq(request->cluster, cluster)) {
        call_fail_code(call, TF_ERR_REFUSED,
                       "job %s/%s runs in %s, not in %s; all of it goes there by `fedctl migrate job %s/%s "
                       "--to %s`",
                       job->tenant, job->name, cluster, request->cluster, job->tenant, job->name,
                       request->cluster);
        return false;
    }
    tf_str_set(&request->cluster, cluster);
    request->order.uid = job->uid;
    return true;
}

/* Sends to the one that is named, or (NULL) to all. False after failing the call. */
static bool ask_clusters(struct moves *moves, const struct tf_migrate_request *request)
{
    const char *only = request->cluster;
    bool found = !only;
    for (size_t i = 0; i < fed_cluster_count(moves->fedd->fed); i++) {
        const struct fed_cluster_view cluster = fed_cluster_at(moves->fedd->fed, i);
        if (only && !tf_str_eq(only, cluster.record->name))
            continue;
        found = true;
        if (cluster.attached)
            send(moves, &cluster, &request->order);
        else if (moves->lists)
            tf_strs_add(&moves->reply.migrate.missing, cluster.record->name);
        else
            tf_error_set(
                &moves->refused, TF_ERR_REFUSED,
                "subcluster %s is not attached, and it is what moves its instances: try again when it "
                "is back (`fedctl get clusters`)",
                only);
    }
    if (!found)
        tf_error_set(&moves->refused, TF_ERR_NOT_FOUND,
                     "there is no subcluster %s: `fedctl get clusters` lists those that have ever attached",
                     only);
    return found;
}

static void begin(struct fedd *fedd, struct tf_call *call, const struct tf_migrate_request *request)
{
    struct moves *moves = tf_calloc(1, sizeof *moves);
    struct tf_mono due = {tf_loop_now(fedd->loop).mono.ms + ANSWER_WITHIN_MS};
    *moves = (struct moves){.fedd = fedd,
                            .call = call,
                            .reply = {.method = TF_METHOD_MIGRATE},
                            .lists = request->order.verb == TF_MIGRATE_LIST,
                            .sending = true,
                            .refused = TF_ERROR_INIT};
    tf_timer_start(fedd->loop, &moves->late, due, on_late);
    if (ask_clusters(moves, request) && moves->lists)
        add_jobs(fedd, request->cluster, &moves->reply.migrate);
    moves->sending = false;
    if (moves->parts.count == 0)
        finish(moves);
}

static void on_migrate(void *arg, struct tf_call *call, struct tf_bytes bytes)
{
    struct fedd *fedd = arg;
    struct tf_request request = {0};
    if (!lead_or_refuse(fedd, call) || !call_request(call, TF_METHOD_MIGRATE, bytes, &request))
        return;
    struct tf_migrate_request *migrate = &request.migrate;
    enum tf_migrate_verb verb = migrate->order.verb;
    bool looks = verb == TF_MIGRATE_LIST || verb == TF_MIGRATE_PLAN;
    bool moves = verb == TF_MIGRATE_BEGIN || verb == TF_MIGRATE_PLAN;
    const char *identity = tf_call_identity(call);
    if (!looks && identity && role_of(identity) != ROLE_ADMIN) {
        call_fail_code(
            call, TF_ERR_REFUSED,
            "moving instances is not for viewers, and the certificate is of \"%.100s\": use one of "
            "an admin",
            identity);
        tf_request_release(&request);
        return;
    }
    migrate->order.uid = (struct tf_uid){0};
    tf_str_set(&migrate->order.user, role_user(identity));
    if (moves && migrate->to_cluster ? names_job(&migrate->job)
                                     : verb == TF_MIGRATE_ABORT && names_job(&migrate->job)) {
        changes_move(fedd, call, migrate);
        tf_request_release(&request);
        return;
    }
    if (!looks)
        changes_log(call, TF_METHOD_MIGRATE, migrate->job.tenant,
                    migrate->job.name ? migrate->job.name : migrate->order.from);
    if (verb == TF_MIGRATE_NONE)
        call_fail_code(call, TF_ERR_INVALID, "the order says nothing");
    else if ((verb == TF_MIGRATE_PAUSE || verb == TF_MIGRATE_RESUME) && names_job(&migrate->job))
        call_fail_code(
            call, TF_ERR_REFUSED,
            "a job that goes to another subcluster is not paused: it runs twice meanwhile, and "
            "what is not there by the move's deadline is taken back by itself; `fedctl abort %s/%s` "
            "takes it back now",
            migrate->job.tenant ? migrate->job.tenant : "TENANT",
            migrate->job.name ? migrate->job.name : "NAME");
    else if (verb != TF_MIGRATE_LIST && !names_job(&migrate->job) && !migrate->cluster)
        call_fail_code(call, TF_ERR_INVALID, "the order names neither a job nor a subcluster");
    else if (!moves || !names_job(&migrate->job) || find_job(fedd, call, migrate))
        begin(fedd, call, migrate);
    tf_request_release(&request);
}

void moves_register(struct fedd *fedd)
{
    tf_server_unary(fedd->server, tf_method_path(TF_METHOD_MIGRATE), on_migrate, fedd);
}
