/* SPDX-License-Identifier: Apache-2.0 */
/* Owns events: what happened to jobs, in order, and with --follow what happens next. Each event of a job has
 * a number (those dropped count), so that one is told once, also over streams that break. */
#include "common/base/cleanup.h"
#include "common/base/hash.h"
#include "common/base/text.h"
#include "common/loop/loop.h"
#include "tools/fedctl/cluster_events.h"
#include "tools/fedctl/resource.h"
#include "tools/fedctl/when.h"

#include <poll.h>

#define O struct options
static const struct option options[] = {
    {'f', NULL, {.key = "follow", TF_BOOL(O, follow), .help = "go on with what comes, until Ctrl-C"}},
    {'s',
     "TIME",
     {.key = "since",
      TF_DURATION(O, since),
      .help = "only the last so long: 10m, 24h; absent = 1h, of a named job all that are kept"}},
    OPTION_TENANT,
    OPTION_ALL_TENANTS,
    OPTION_SELECTOR,
    {'c',
     "CLUSTER",
     {.key = "cluster", TF_NAME(O, cluster), .help = "only of jobs that are in this cluster"}},
    OPTION_DURATION("with --follow: stop after so long"),
    {'o',
     "FORMAT",
     {.key = "output",
      TF_ENUM(O, output, "table", "json", "yaml", "wide", "name"),
      .def = "table",
      .help =
          "table, wide (more columns), json (with --follow one object a line), yaml, or name (of the job)"}},
};
#undef O

enum { DEFAULT_SINCE_MS = TF_HOUR };

/* ---- one event ---- */

static const struct column columns[] = {
    {"TIME", 0}, {"JOB", 0}, {"EPOCH", COLUMN_RIGHT}, {"EVENT", 0}, {"UID", COLUMN_WIDE}, {"TEXT", 0},
};

static void cells(const void *object, struct tf_wall now, struct columns *out)
{
    const struct job_event *event = object;
    char at[WHEN_TEXT], uid[TF_UID_TEXT];
    (void)now;
    columns_add(out, when_local(event->event.at, at));
    columns_add(out, event->job);
    if (event->event.epoch)
        columns_add_fmt(out, "%llu", (unsigned long long)event->event.epoch);
    else
        columns_add(out, "-");
    columns_add(out, event->event.type);
    tf_uid_format(event->uid, uid);
    columns_add(out, uid);
    columns_add(out, event->event.text);
}

static void name(const void *object, struct tf_buf *buf)
{
    tf_buf_str(buf, ((const struct job_event *)object)->job);
}

static const struct resource resource_events = {"events",    columns, TF_ARRAY_LEN(columns),
                                                &view_event, cells,   name};

/* ---- what was told ---- */

struct told {
    struct tf_uid uid;
    uint64_t next; /* number of the first event that was not told */
    UT_hash_handle hh;
};

struct reader {
    struct fedctl *ctl;
    TF_VEC(struct job_event) found; /* until the snapshot is complete */
    struct told *told;
    bool synced;
    struct tf_mono deadline; /* TF_NEVER: none */
};

static struct told *told_of(struct reader *r, struct tf_uid uid)
{
    struct told *told = NULL;
    HASH_FIND(hh, r->told, &uid, sizeof uid, told);
    if (told)
        return told;
    told = tf_calloc(1, sizeof *told);
    told->uid = uid;
    HASH_ADD(hh, r->told, uid, sizeof told->uid, told);
    return told;
}

static void release(struct reader *r)
{
    struct told *told = NULL, *next = NULL;
    HASH_ITER (hh, r->told, told, next) {
        HASH_DEL(r->told, told);
        free(told);
    }
    tf_vec_each (event, &r->found)
        job_event_release(event);
    tf_vec_release(&r->found);
}

/* In order of time; those of one job in the order in which they happened, whatever its clock did. */
static int by_time(const void *a, const void *b)
{
    const struct job_event *x = a, *y = b;
    if (x->sort_ms != y->sort_ms)
        return x->sort_ms < y->sort_ms ? -1 : 1;
    int order = strcmp(x->job, y->job);
    if (order)
        return order;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* A line of a list that goes on: its columns cannot be as wide as what comes. */
static void event_line(const struct job_event *event, bool wide, struct tf_buf *text)
{
    char at[WHEN_TEXT], uid[TF_UID_TEXT], epoch[32] = "-";
    if (event->event.epoch)
        snprintf(epoch, sizeof epoch, "%llu", (unsigned long long)event->event.epoch);
    tf_buf_fmt(text, "%s   %s   %s   %s   ", when_local(event->event.at, at), event->job, epoch,
               event->event.type);
    tf_uid_format(event->uid, uid);
    if (wide)
        tf_buf_fmt(text, "%s   ", uid);
    columns_text(text, event->event.text ? event->event.text : "", 0);
    tf_buf_char(text, '\n');
}

static void print_one(struct reader *r, const struct job_event *event)
{
    TF_AUTO_BUF text = TF_BUF_INIT;
    enum output output = r->ctl->options.output;
    if (output == OUTPUT_JSON)
        view_line(&view_event, event, &text);
    else if (output == OUTPUT_YAML) {
        tf_buf_str(&text, "---\n");
        view_yaml(&view_event, event, &text);
    } else if (output == OUTPUT_NAME)
        tf_buf_fmt(&text, "%s\n", event->job);
    else
        event_line(event, output == OUTPUT_WIDE, &text);
    out_buf(&r->ctl->out, &text);
}

static void print_snapshot(struct reader *r)
{
    struct listing listing;
    enum output output = r->ctl->options.output;
    bool lines = r->ctl->options.follow && output != OUTPUT_TABLE && output != OUTPUT_WIDE;
    if (r->found.count)
        qsort(r->found.items, r->found.count, sizeof *r->found.items, by_time);
    if (!lines)
        listing_begin(&listing, &resource_events, &r->ctl->options, false, &r->ctl->out);
    tf_vec_each (event, &r->found) {
        if (lines)
            print_one(r, event);
        else
            listing_add(&listing, event);
        job_event_release(event);
    }
    r->found.count = 0;
    if (!lines)
        listing_end(&listing, !r->ctl->options.follow);
}

static void take_event(struct reader *r, const struct tf_job_view *job, const struct tf_job_event *e,
                       uint64_t number, int64_t sort_ms)
{
    struct job_event event = {.job = tf_asprintf("%s/%s", job->manifest.tenant, job->manifest.name),
                              .uid = job->uid,
                              .number = number,
                              .sort_ms = sort_ms};
    tf_job_event_copy(&event.event, e);
    if (!r->synced) {
        tf_vec_push(&r->found, event);
        return;
    }
    print_one(r, &event);
    job_event_release(&event);
}

static void take_job(struct reader *r, const struct tf_job_view *job)
{
    struct told *told = told_of(r, job->uid);
    int64_t sort_ms = 0;
    for (size_t i = 0; i < job->events.count; i++) {
        const struct tf_job_event *e = &job->events.items[i];
        uint64_t number = job->events_dropped + i;
        sort_ms = e->at.ms > sort_ms ? e->at.ms : sort_ms;
        if (number < told->next)
            continue;
        take_event(r, job, e, number, sort_ms);
        told->next = number + 1;
    }
}

/* ---- the stream ---- */

static bool on_event(void *arg, struct tf_reply *reply)
{
    struct reader *r = arg;
    if (reply->watch.kind == TF_WATCH_JOB)
        take_job(r, &reply->watch.job);
    if (reply->watch.kind == TF_WATCH_SYNCED) {
        print_snapshot(r);
        r->synced = true;
    }
    if (reply->watch.kind == TF_WATCH_SYNCED && !r->ctl->options.follow)
        return false;
    return !r->ctl->out.closed && !r->ctl->out.failed;
}

static int64_t time_left(const struct reader *r)
{
    int64_t left = r->deadline.ms - tf_clock_read().mono.ms;
    if (r->deadline.ms == TF_NEVER.ms)
        return CLIENT_NO_LIMIT;
    return left > 1 ? left : 1;
}

static bool is_over(const struct reader *r)
{
    return r->ctl->out.closed || r->ctl->out.failed || (r->synced && !r->ctl->options.follow) ||
           (r->deadline.ms != TF_NEVER.ms && tf_clock_read().mono.ms >= r->deadline.ms);
}

/* With --follow, until the end; a stream that breaks is opened again. */
static int read_all(struct reader *r, const struct tf_request *request)
{
    while (!is_over(r)) {
        struct tf_error err = TF_ERROR_INIT;
        bool started = false;
        int failed = client_stream(r->ctl->client, request, time_left(r), on_event, r, &started, &err);
        if (is_over(r))
            break;
        if (failed && (!started || !r->ctl->options.follow) && !r->synced)
            return fedctl_fail(r->ctl, &err);
        tf_vec_each (event, &r->found) /* of a snapshot that broke off: it comes anew */
            told_of(r, event->uid)->next = 0;
        tf_vec_each (event, &r->found)
            job_event_release(event);
        r->found.count = 0;
        client_set_patience(r->ctl->client, true);
        poll(NULL, 0, 200); /* not a busy loop */
    }
    return FEDCTL_DONE;
}

/* A job that is not there is an error; one without events an empty list. */
static int check_job(struct fedctl *ctl, const struct tf_job_ref *ref)
{
    struct tf_request request = {.method = TF_METHOD_GET, .job = *ref}; /* lent */
    struct tf_reply reply = {0};
    struct tf_error err = TF_ERROR_INIT;
    int failed = fedctl_call(ctl, &request, &reply, &err);
    tf_reply_release(&reply);
    return failed ? fedctl_fail_about(ctl, ctl->words.items[0], &err) : FEDCTL_DONE;
}

static int take_filter(struct fedctl *ctl, struct tf_job_filter *filter)
{
    struct tf_error err = TF_ERROR_INIT;
    struct tf_job_ref ref = {0};
    if (ctl->words.count == 0)
        return fetch_filter(ctl, filter, &err) ? fedctl_usage(ctl, "%s", err.text) : FEDCTL_DONE;
    if (ctl->words.count != 1)
        return fedctl_usage(ctl, "events of which job? Say one TENANT/NAME, or none for all");
    if (target_job(ctl, ctl->words.items[0], &ref, &err))
        return fedctl_usage(ctl, "%s", err.text);
    filter->tenant = ref.tenant;
    filter->name = ref.name;
    return check_job(ctl, &ref);
}

static int job_events(struct fedctl *ctl)
{
    struct tf_request request = {.method = TF_METHOD_WATCH, .watch.events = true};
    struct reader r = {.ctl = ctl, .deadline = TF_NEVER};
    int64_t since = ctl->options.since;
    if (ctl->options.duration)
        r.deadline.ms = tf_clock_read().mono.ms + ctl->options.duration;
    int code = take_filter(ctl, &request.watch.filter);
    if (since == TF_UNSET && !request.watch.filter.name)
        since = DEFAULT_SINCE_MS;
    if (since != TF_UNSET)
        request.watch.events_since.ms = fedctl_now().ms > since ? fedctl_now().ms - since : 0;
    if (code == FEDCTL_DONE)
        code = read_all(&r, &request);
    release(&r);
    tf_request_release(&request);
    return code;
}

static int run(struct fedctl *ctl)
{
    enum resource_kind kind = RESOURCE_JOBS;
    struct tf_error err = TF_ERROR_INIT;
    bool named = ctl->words.count > 0;
    if (named && target_kind(ctl, 1u << RESOURCE_JOBS | 1u << RESOURCE_CLUSTERS, &kind, &err))
        return fedctl_usage(ctl, "%s", err.text);
    return kind == RESOURCE_CLUSTERS ? cluster_events(ctl) : job_events(ctl);
}

const struct verb verb_events = {
    .name = "events",
    .usage = "[[job] TENANT/NAME] [-f] [--since TIME]\ncluster [NAME...] [-f] [--since TIME]",
    .help = "Show what happened to jobs or clusters, in order",
    .more = "Each job and each cluster keeps its last 32 events; `fedctl describe` shows them beside it. Of "
            "a cluster:\n"
            "registered, lost and returned (a stream that breaks for less than clusterLostAfter is no news), "
            "cordoned,\n"
            "uncordoned, forgotten.",
    .examples = "# Of everybody, in the last hour, and what comes\n"
                "fedctl events -A -f\n"
                "# Of one job, all that are kept\n"
                "fedctl events web/hello\n"
                "# When which cluster was lost, and came back\n"
                "fedctl events cluster\n"
                "# For scripts: one object a line\n"
                "fedctl events -f -o json --since 0s\n",
    .options = OPTION_LIST(options),
    .run = run,
};
