/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that only look: rendered at once from the core's state, answered when what they show is durable. */
#include "federation/daemon/private.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"

#include <inttypes.h>

enum {
    PAGE_DEFAULT = 500,
    PAGE_BYTES = 3 << 20,  /* of jobs in one page: below the limit of one message */
    EXPLAINED_MAX = 100,   /* waiting jobs of one page that get their reason */
    LOOKED_AT_MAX = 10000, /* for one page: a filter that few match gives short pages, not long pauses */
};

/* ---- one job ---- */

/* The reason of a waiting job in one word: of the subcluster that comes nearest to taking it. */
static enum tf_reason nearest_reason(const struct tf_job_record *job, const struct fed_explanation *why)
{
    enum tf_reason nearest = TF_REASON_NONE;
    if (job->held)
        return TF_REASON_HELD;
    if (job->placements.count)
        return TF_REASON_IN_FLIGHT;
    if (why->rows.count == 0)
        return TF_REASON_NO_CLUSTERS;
    tf_vec_each (row, &why->rows) {
        if (row->first.reason == TF_REASON_NONE)
            return TF_REASON_NOT_CONSIDERED_YET;
        if (row->first.reason > nearest)
            nearest = row->first.reason;
    }
    return nearest;
}

static void add_reason(const struct fedd *fedd, const struct tf_job_record *job, struct tf_job_view *view)
{
    if (job->phase != TF_PHASE_PENDING && job->phase != TF_PHASE_HELD)
        return;
    struct fed_explanation why = {0};
    if (fed_explain(fedd->fed, job->tenant, job->name, tf_loop_now(fedd->loop), &why, NULL))
        return;
    view->reason = nearest_reason(job, &why);
    view->reason_text = TF_STEAL(why.answer);
    fed_explanation_release(&why);
}

/* The job that a call names, or NULL after failing the call. */
static const struct tf_job_record *find_job(struct fedd *fedd, struct tf_call *call,
                                            const struct tf_job_ref *ref)
{
    const struct tf_job_record *job =
        ref->tenant ? fed_job_find(fedd->fed, ref->tenant, ref->name) : fed_job_find_uid(fedd->fed, ref->uid);
    const char *why = ref->tenant ? lead_quarantined(fedd, "jobs", ref->tenant, ref->name) : NULL;
    if (job && !tf_uid_is_none(ref->uid) && !tf_uid_eq(job->uid, ref->uid))
        job = NULL;
    if (!job && why)
        call_fail_code(call, TF_ERR_CONFLICT,
                       "%s/%s: its stored record cannot be read and is in quarantine (%s); what runs of it "
                       "goes on",
                       ref->tenant, ref->name, why);
    else if (!job && ref->tenant)
        requests_fail_read(fedd, call, TF_ERR_NOT_FOUND, FED_NO_JOB, ref->tenant, ref->name);
    else if (!job)
        requests_fail_read(fedd, call, TF_ERR_NOT_FOUND, "there is no job of that uid");
    return job;
}

static void on_get(void *arg, struct tf_call *call, struct tf_bytes bytes)
{
    struct fedd *fedd = arg;
    struct tf_request request = {0};
    if (!lead_or_refuse(fedd, call) || !call_request(call, TF_METHOD_GET, bytes, &request))
        return;
    const struct tf_job_record *job = find_job(fedd, call, &request.job);
    if (job) {
        struct tf_reply reply = {.method = TF_METHOD_GET};
        view_job(fedd, job, true, &reply.job);
        add_reason(fedd, job, &reply.job);
        requests_answer_read(fedd, call, &reply);
    }
    tf_request_release(&request);
}

/* Owned by the caller; NULL if the subcluster's own store answers it. */
static char *store_trouble(const struct fedd *fedd, const char *cluster)
{
    for (size_t i = 0; i < fed_cluster_count(fedd->fed); i++) {
        const struct fed_cluster_view view = fed_cluster_at(fedd->fed, i);
        struct tf_wall since;
        const char *why =
            strcmp(view.record->name, cluster) == 0 ? links_store_trouble(fedd, view.link, &since) : NULL;
        if (why)
            return tf_asprintf("the store of %s has not answered it for %" PRId64
                               " s, and until it does nothing is "
                               "accepted there (%s)",
                               cluster, (tf_loop_now(fedd->loop).wall.ms - since.ms) / TF_SECOND, why);
    }
    return NULL;
}

static void add_store_trouble(const struct fedd *fedd, struct tf_explain_row *row)
{
    TF_AUTO_FREE char *why = store_trouble(fedd, row->cluster);
    TF_AUTO_FREE char *text = TF_STEAL(row->text);
    row->text = !why ? TF_STEAL(text) : tf_asprintf("%s%s%s", text ? text : "", text ? "; " : "", why);
}

/* What has been placed there waits for it, or is not heard of. */
static void add_place_trouble(const struct fedd *fedd, const struct tf_job_record *job, char **answer)
{
    const char *cluster =
        job->placements.count ? job->placements.items[job->placements.count - 1].cluster : NULL;
    TF_AUTO_FREE char *why = cluster ? store_trouble(fedd, cluster) : NULL;
    if (!why)
        why = view_away_text(fedd, job);
    TF_AUTO_FREE char *text = why ? TF_STEAL(*answer) : NULL;
    if (why)
        *answer = tf_asprintf("%s; %s", text ? text : "", why);
}

static void take_row(struct fed_explain_row *row, struct tf_explain_row *out)
{
    out->cluster = TF_STEAL(row->cluster);
    out->reason = row->first.reason;
    out->has = row->has;
    out->asked = row->asked;
    out->missing = row->asked > row->has ? row->asked - row->has : 0;
    out->until = row->first.until;
    out->text = TF_STEAL(row->first.text);
    out->unblock = TF_STEAL(row->first.unblock);
    tf_vec_each (b, &row->more)
        tf_vec_push(&out->more, (struct tf_blocker){.reason = b->reason,
                                                    .until = b->until,
                                                    .text = TF_STEAL(b->text),
                                                    .unblock = TF_STEAL(b->unblock)});
}

static void on_explain(void *arg, struct tf_call *call, struct tf_bytes bytes)
{
    struct fedd *fedd = arg;
    struct tf_request request = {0};
    if (!lead_or_refuse(fedd, call) || !call_request(call, TF_METHOD_EXPLAIN, bytes, &request))
        return;
    const struct tf_job_record *job = find_job(fedd, call, &request.job);
    struct fed_explanation why = {0};
    struct tf_error err = TF_ERROR_INIT;
    if (job && fed_explain(fedd->fed, job->tenant, job->name, tf_loop_now(fedd->loop), &why, &err)) {
        call_fail_code(call, err.code, "%s", err.text);
    } else if (job) {
        struct tf_reply reply = {.method = TF_METHOD_EXPLAIN};
        view_job(fedd, job, true, &reply.explain.job);
        reply.explain.job.reason = job->phase == TF_PHASE_PENDING || job->phase == TF_PHASE_HELD
                                       ? nearest_reason(job, &why)
                                       : TF_REASON_NONE;
        reply.explain.answer = TF_STEAL(why.answer);
        add_place_trouble(fedd, job, &reply.explain.answer);
        tf_vec_each (row, &why.rows) {
            struct tf_explain_row *out = tf_vec_add(&reply.explain.rows);
            take_row(row, out);
            add_store_trouble(fedd, out);
        }
        tf_strs_copy(&reply.explain.decisions, &why.decisions);
        reply.explain.clock_ms = tf_loop_now(fedd->loop).mono.ms;
        reply.explain.now = tf_loop_now(fedd->loop).wall;
        fed_explanation_release(&why);
        requests_answer_read(fedd, call, &reply);
    }
    tf_request_release(&request);
}

/* ---- pages of jobs: the token is "tenant/name" of the last one of the page before ---- */

struct cursor {
    char *tenant, *name; /* of the last job seen; NULL: at the start */
    bool ok;
};

static struct cursor cursor_of(const char *token)
{
    struct cursor at = {.ok = true};
    const char *slash = token ? strchr(token, '/') : NULL;
    if (!token)
        return at;
    at.ok = slash != NULL;
    if (slash) {
        at.tenant = tf_strndup(token, (size_t)(slash - token));
        at.name = tf_strdup(slash + 1);
    }
    return at;
}

static void cursor_release(struct cursor *at)
{
    free(at->tenant);
    free(at->name);
}

/* Decodes a request for a page; false after failing the call. */
static bool page_request(struct fedd *fedd, struct tf_call *call, enum tf_method method,
                         struct tf_bytes bytes, struct tf_request *request, struct cursor *at)
{
    if (!lead_or_refuse(fedd, call) || !call_request(call, method, bytes, request))
        return false;
    *at = cursor_of(request->list.page_token);
    if (at->ok)
        return true;
    call_fail_code(call, TF_ERR_INVALID, "page_token \"%s\" did not come from a page before",
                   request->list.page_token);
    tf_request_release(request);
    return false;
}

static size_t page_size(const struct tf_list_request *list)
{
    return list->page_size > 0 && list->page_size <= TF_PAGE_MAX ? (size_t)list->page_size : PAGE_DEFAULT;
}

static char *token_after(const struct tf_job_record *job)
{
    return tf_asprintf("%s/%s", job->tenant, job->name);
}

static void fill_jobs(struct fedd *fedd, const struct tf_list_request *list, const struct cursor *at,
                      struct tf_list_reply *out)
{
    size_t bytes = 0, explained = 0, looked_at = 0;
    const struct tf_job_record *last = NULL;
    const struct tf_job_record *job = fed_job_next(fedd->fed, at->tenant, at->name);
    for (; job; job = fed_job_next(fedd->fed, job->tenant, job->name)) {
        if (out->jobs.count >= page_size(list) || bytes > PAGE_BYTES || looked_at++ == LOOKED_AT_MAX) {
            out->next_token = last ? token_after(last) : NULL;
            return;
        }
        last = job;
        if (!view_matches(job, &list->filter))
            continue;
        struct tf_job_view *view = tf_vec_add(&out->jobs);
        view_job(fedd, job, false, view);
        if (job->phase == TF_PHASE_PENDING && explained++ < EXPLAINED_MAX)
            add_reason(fedd, job, view);
        bytes += tf_wire_job_size(view);
    }
}

static void on_list(void *arg, struct tf_call *call, struct tf_bytes bytes)
{
    struct fedd *fedd = arg;
    struct tf_request request = {0};
    struct cursor at = {0};
    if (!page_request(fedd, call, TF_METHOD_LIST, bytes, &request, &at))
        return;
    struct tf_reply reply = {.method = TF_METHOD_LIST};
    fill_jobs(fedd, &request.list, &at, &reply.list);
    cursor_release(&at);
    tf_request_release(&request);
    requests_answer_read(fedd, call, &reply);
}

static void add_instances(const struct fedd *fedd, const struct tf_job_record *job,
                          struct tf_instances_reply *out)
{
    struct tf_job_view view = {0};
    const char *away = view_away(fedd, job);
    if (away && !tf_strs_has(&out->missing, away))
        tf_strs_add(&out->missing, away);
    view_job(fedd, job, true, &view);
    tf_vec_each (m, &view.members) {
        struct tf_instance_info *info = tf_vec_add(&out->instances);
        info->tenant = tf_strdup(job->tenant);
        info->name = tf_strdup(job->name);
        info->uid = job->uid;
        info->epoch = view.epoch;
        info->cluster = tf_strdup(view.cluster);
        info->member = *m;
        *m = (struct tf_member){0};
    }
    tf_job_view_release(&view);
}

static void on_instances(void *arg, struct tf_call *call, struct tf_bytes bytes)
{
    struct fedd *fedd = arg;
    struct tf_request request = {0};
    struct cursor at = {0};
    if (!page_request(fedd, call, TF_METHOD_LIST_INSTANCES, bytes, &request, &at))
        return;
    struct tf_reply reply = {.method = TF_METHOD_LIST_INSTANCES};
    const struct tf_job_record *job = fed_job_next(fedd->fed, at.tenant, at.name), *last = NULL;
    size_t looked_at = 0;
    while (job && reply.instances.instances.count < page_size(&request.list) && looked_at++ < LOOKED_AT_MAX) {
        if (view_matches(job, &request.list.filter))
            add_instances(fedd, job, &reply.instances);
        last = job;
        job = fed_job_next(fedd->fed, job->tenant, job->name);
    }
    reply.instances.next_token = job && last ? token_after(last) : NULL;
    cursor_release(&at);
    tf_request_release(&request);
    requests_answer_read(fedd, call, &reply);
}

/* ---- subclusters, status ---- */

/* By the freezes themselves and not by the profile: also of one that is away, and from the first moment on.
 */
static int32_t frozen(const struct fedd *fedd, const char *cluster)
{
    int32_t set = 0;
    tf_vec_each (freeze, fed_freezes(fedd->fed))
        if (!freeze->cluster || strcmp(freeze->cluster, cluster) == 0)
            set |= (int32_t)freeze->what;
    return set;
}

static void view_cluster(const struct fedd *fedd, const struct fed_cluster_view *cluster,
                         struct tf_cluster_info *out)
{
    const struct tf_cluster_record *record = cluster->record;
    out->name = tf_strdup(record->name);
    out->region = tf_strdup(record->region);
    tf_pairs_copy(&out->labels, &record->labels);
    out->attached = cluster->attached;
    out->lost = cluster->lost && !cluster->stopped;
    out->stopped = cluster->stopped;
    out->cordoned = record->cordoned;
    out->cordon_reason = tf_strdup(record->cordon_reason);
    out->forgotten = record->forgotten;
    out->registered = record->registered;
    out->contact = cluster->contact;
    out->highest_epoch = record->highest_epoch;
    out->placements = cluster->placements;
    if (cluster->hello) {
        out->version = tf_strdup(cluster->hello->version);
        out->engine = tf_strdup(cluster->hello->engine);
        out->capabilities = cluster->hello->capabilities;
    }
    if (cluster->profile) {
        out->generation = cluster->profile->generation;
        out->health = cluster->profile->health;
        out->idle = cluster->profile->idle;
        out->brakes = cluster->profile->brakes & ~TF_FROZEN_ALL;
    }
    out->store_trouble = tf_strdup(links_store_trouble(fedd, cluster->link, &out->store_trouble_since));
    out->brakes |= frozen(fedd, record->name);
}

static void add_events(const struct tf_cluster_record *record, struct tf_cluster_info *out)
{
    tf_vec_each (event, &record->events)
        tf_job_event_copy(tf_vec_add(&out->events), event);
    out->events_dropped = record->events_dropped;
}

static void on_clusters(void *arg, struct tf_call *call, struct tf_bytes bytes)
{
    struct fedd *fedd = arg;
    struct tf_request request = {0};
    if (!lead_or_refuse(fedd, call) || !call_request(call, TF_METHOD_LIST_CLUSTERS, bytes, &request))
        return;
    struct tf_reply reply = {.method = TF_METHOD_LIST_CLUSTERS};
    for (size_t i = 0; i < fed_cluster_count(fedd->fed); i++) {
        const struct fed_cluster_view cluster = fed_cluster_at(fedd->fed, i);
        struct tf_cluster_info *info = tf_vec_add(&reply.clusters.clusters);
        view_cluster(fedd, &cluster, info);
        if (request.clusters.events)
            add_events(cluster.record, info);
    }
    tf_request_release(&request);
    tf_freezes_copy(&reply.clusters.freezes, fed_freezes(fedd->fed));
    requests_answer_read(fedd, call, &reply);
}

static int32_t attached(const struct fedd *fedd)
{
    int32_t count = 0;
    for (size_t i = 0; i < fed_cluster_count(fedd->fed); i++)
        count += fed_cluster_at(fedd->fed, i).attached;
    return count;
}

/* Any fedd answers this, whatever its state, so that people can see what is wrong. */
static void on_status(void *arg, struct tf_call *call, struct tf_bytes bytes)
{
    struct fedd *fedd = arg;
    (void)bytes;
    const struct tf_error *trouble = tf_keep_trouble(fedd->keep);
    struct tf_store_status store = upkeep_status(fedd);
    struct tf_reply reply = {.method = TF_METHOD_STATUS};
    struct tf_status_reply *status = &reply.status;
    status->version = tf_strdup(TF_VERSION);
    status->protocol = TF_PROTOCOL_VERSION;
    status->leader = tf_strdup(fedd->leader);
    status->store = tf_strdup(trouble->code == TF_OK ? "ok" : trouble->text);
    status->store_bytes = store.used_bytes;
    status->store_quota = store.quota_bytes;
    if (fedd->fed && fedd->loaded) {
        status->leads = lead_is_certain(fedd);
        status->term = fed_term(fedd->fed);
        status->since = fedd->since;
        status->open = fed_is_open(fedd->fed) && !fedd->blocked;
        status->jobs = (int32_t)fed_job_count(fedd->fed);
        status->clusters = (int32_t)fed_cluster_count(fedd->fed);
        status->attached = attached(fedd);
    }
    call_reply(call, &reply);
}

void reads_register(struct fedd *fedd)
{
    static const struct {
        enum tf_method method;
        tf_unary_handler_f handler;
    } rows[] = {
        {TF_METHOD_GET, on_get},
        {TF_METHOD_LIST, on_list},
        {TF_METHOD_EXPLAIN, on_explain},
        {TF_METHOD_LIST_INSTANCES, on_instances},
        {TF_METHOD_LIST_CLUSTERS, on_clusters},
        {TF_METHOD_STATUS, on_status},
    };
    for (size_t i = 0; i < TF_ARRAY_LEN(rows); i++)
        tf_server_unary(fedd->server, tf_method_path(rows[i].method), rows[i].handler, fedd);
}
