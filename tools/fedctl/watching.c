/* SPDX-License-Identifier: Apache-2.0 */
/* Owns live lists. Jobs come as a stream of changes, so that watching 100,000 costs no more than what
 * changes; of the others the list is asked for every so often. */
#include "tools/fedctl/watching.h"

#include "common/base/cleanup.h"
#include "common/base/hash.h"
#include "common/base/text.h"
#include "common/loop/loop.h"
#include "tools/fedctl/when.h"

#include <poll.h>

enum {
    INTERVAL_MS = 2 * TF_SECOND, /* of the others */
    DRAW_MS = TF_SECOND,         /* of jobs: ages go on */
    HEAD_LINES = 2,
    FOOT_LINES = 2,
};

struct watched {
    struct tf_job_view job;
    bool seen; /* in the snapshot under way */
    UT_hash_handle hh;
};

struct screen {
    struct fedctl *ctl;
    enum resource_kind kind;
    struct watched *jobs; /* by uid */
    bool synced, drawn;
    struct tf_mono deadline; /* TF_NEVER: none */
};

static bool is_over(const struct screen *s)
{
    return s->ctl->out.closed || s->ctl->out.failed ||
           (s->deadline.ms != TF_NEVER.ms && tf_clock_read().mono.ms >= s->deadline.ms);
}

static int64_t time_left(const struct screen *s)
{
    int64_t left = s->deadline.ms - tf_clock_read().mono.ms;
    if (s->deadline.ms == TF_NEVER.ms)
        return CLIENT_NO_LIMIT;
    return left > 1 ? left : 1;
}

/* ---- drawing ---- */

/* At most so many lines of text, each to its end; from the top of the screen, which is cleared below. */
static void paint(struct screen *s, const char *head, const char *text)
{
    TF_AUTO_BUF out = TF_BUF_INIT;
    size_t height = s->ctl->out.height, lines = 0, hidden = 0;
    size_t most = height > HEAD_LINES + FOOT_LINES ? height - HEAD_LINES - FOOT_LINES : SIZE_MAX;
    tf_buf_fmt(&out, "%s%s\033[K\n\033[K\n", s->drawn ? "\033[H" : "\033[H\033[2J", head);
    for (; *text; text += strcspn(text, "\n"), text += *text == '\n') {
        if (lines++ >= most) {
            hidden++;
            continue;
        }
        tf_buf_add(&out, text, strcspn(text, "\n"));
        tf_buf_str(&out, "\033[K\n");
    }
    if (hidden)
        tf_buf_fmt(&out, "and %zu more: make the window larger, or narrow the list\033[K\n", hidden);
    tf_buf_str(&out, "\033[J");
    s->drawn = true;
    out_buf(&s->ctl->out, &out);
}

/* ---- jobs ---- */

static int phase_order(enum tf_phase phase)
{
    static const int order[] = {
        [TF_PHASE_RUNNING] = 0, [TF_PHASE_STARTING] = 1, [TF_PHASE_STOPPING] = 2,  [TF_PHASE_PENDING] = 3,
        [TF_PHASE_HELD] = 4,    [TF_PHASE_FAILED] = 5,   [TF_PHASE_SUCCEEDED] = 6, [TF_PHASE_DELETED] = 7};
    return order[phase];
}

/* What lives comes first: a screen has not room for all. */
static int by_interest(const struct watched *a, const struct watched *b)
{
    int x = phase_order(a->job.phase), y = phase_order(b->job.phase);
    if (x != y)
        return x < y ? -1 : 1;
    int order = strcmp(a->job.manifest.tenant, b->job.manifest.tenant);
    return order ? order : strcmp(a->job.manifest.name, b->job.manifest.name);
}

static void count_phases(const struct screen *s, struct tf_buf *buf)
{
    size_t counts[TF_PHASE_DELETED + 1] = {0};
    for (const struct watched *w = s->jobs; w; w = w->hh.next)
        counts[w->job.phase]++;
    for (int phase = TF_PHASE_PENDING; phase <= TF_PHASE_DELETED; phase++)
        if (counts[phase])
            tf_buf_fmt(buf, ", %zu %s", counts[phase], tf_phase_name((enum tf_phase)phase));
}

static void draw_jobs(void *arg)
{
    struct screen *s = arg;
    struct listing listing;
    TF_AUTO_BUF text = TF_BUF_INIT;
    TF_AUTO_BUF head = TF_BUF_INIT;
    char now[WHEN_TEXT];
    size_t left = s->ctl->out.height ? s->ctl->out.height : SIZE_MAX;
    if (!s->synced || !s->ctl->out.terminal)
        return;
    HASH_SORT(s->jobs, by_interest);
    listing_begin(&listing, &resource_jobs, &s->ctl->options, false, &s->ctl->out);
    for (const struct watched *w = s->jobs; w && left > 0; w = w->hh.next, left--)
        listing_add(&listing, &w->job);
    listing_take_table(&listing, &text);
    listing_end(&listing, false);
    tf_buf_fmt(&head, "%s   %u jobs", when_local(fedctl_now(), now), HASH_COUNT(s->jobs));
    count_phases(s, &head);
    paint(s, tf_buf_text(&head), tf_buf_text(&text));
}

/* Not on a terminal: one change. */
static void print_change(struct screen *s, const struct tf_job_view *job, bool gone)
{
    struct listing listing;
    struct options options = s->ctl->options; /* its strings are lent */
    TF_AUTO_BUF text = TF_BUF_INIT;
    options.no_headers = true;
    if (options.output == OUTPUT_JSON && !gone)
        view_line(&view_job, job, &text);
    else if (gone)
        tf_buf_fmt(&text, "%s/%s%s\n", job->manifest.tenant, job->manifest.name,
                   options.output == OUTPUT_NAME ? "" : "   gone");
    if (gone && options.output == OUTPUT_JSON)
        return;
    if (text.len) {
        out_buf(&s->ctl->out, &text);
        return;
    }
    listing_begin(&listing, &resource_jobs, &options, true, &s->ctl->out);
    listing_add(&listing, job);
    listing_end(&listing, false);
}

static void print_snapshot(struct screen *s)
{
    struct listing listing;
    if (s->ctl->out.terminal)
        return;
    HASH_SORT(s->jobs, by_interest);
    if (s->ctl->options.output == OUTPUT_JSON) {
        for (const struct watched *w = s->jobs; w; w = w->hh.next)
            print_change(s, &w->job, false);
        return;
    }
    listing_begin(&listing, &resource_jobs, &s->ctl->options, false, &s->ctl->out);
    for (const struct watched *w = s->jobs; w; w = w->hh.next)
        listing_add(&listing, &w->job);
    listing_end(&listing, false);
}

static struct watched *find(struct screen *s, struct tf_uid uid)
{
    struct watched *w = NULL;
    HASH_FIND(hh, s->jobs, &uid, sizeof uid, w);
    return w;
}

static void forget(struct screen *s, struct watched *w)
{
    HASH_DEL(s->jobs, w);
    tf_job_view_release(&w->job);
    free(w);
}

static void take_job(struct screen *s, struct tf_job_view *job)
{
    struct watched *w = find(s, job->uid);
    bool changed =
        !w || w->job.version != job->version || w->job.ready != job->ready || w->job.size != job->size;
    if (!w) {
        w = tf_calloc(1, sizeof *w);
        w->job.uid = job->uid;
        HASH_ADD(hh, s->jobs, job.uid, sizeof w->job.uid, w);
    }
    tf_job_view_release(&w->job);
    w->job = *job;
    w->seen = true;
    *job = (struct tf_job_view){0};
    if (s->synced && changed && !s->ctl->out.terminal)
        print_change(s, &w->job, false);
}

static void take_gone(struct screen *s, const struct tf_job_view *job)
{
    struct watched *w = find(s, job->uid);
    if (!w)
        return;
    if (s->synced && !s->ctl->out.terminal)
        print_change(s, job, true);
    forget(s, w);
}

/* A stream after one that broke: what was not in its snapshot is gone. */
static void end_snapshot(struct screen *s)
{
    struct watched *w = NULL, *next = NULL;
    HASH_ITER (hh, s->jobs, w, next)
        if (!w->seen)
            take_gone(s, &w->job);
    if (!s->synced)
        print_snapshot(s);
    s->synced = true;
    draw_jobs(s);
}

static bool on_event(void *arg, struct tf_reply *reply)
{
    struct screen *s = arg;
    struct tf_watch_event *event = &reply->watch;
    if (event->kind == TF_WATCH_JOB)
        take_job(s, &event->job);
    else if (event->kind == TF_WATCH_GONE)
        take_gone(s, &event->job);
    else if (event->kind == TF_WATCH_SYNCED)
        end_snapshot(s);
    return !is_over(s);
}

static int watch_jobs(struct screen *s)
{
    struct tf_request request = {.method = TF_METHOD_WATCH};
    struct tf_error err = TF_ERROR_INIT;
    int code = FEDCTL_DONE;
    if (fetch_filter(s->ctl, &request.watch.filter, &err))
        code = fedctl_usage(s->ctl, "%s", err.text);
    client_set_tick(s->ctl->client, DRAW_MS, draw_jobs, s);
    while (code == FEDCTL_DONE && !is_over(s)) {
        bool started = false;
        for (struct watched *w = s->jobs; w; w = w->hh.next)
            w->seen = false;
        err = (struct tf_error)TF_ERROR_INIT;
        int failed = client_stream(s->ctl->client, &request, time_left(s), on_event, s, &started, &err);
        if (is_over(s))
            break;
        if (failed && !started && !s->synced)
            code = fedctl_fail(s->ctl, &err);
        client_set_patience(s->ctl->client, true); /* from now on it is waited for */
        poll(NULL, 0, 200);
    }
    client_set_tick(s->ctl->client, 0, NULL, NULL);
    while (s->jobs)
        forget(s, s->jobs);
    tf_request_release(&request);
    return code;
}

/* ---- the others ---- */

static int draw_list(struct screen *s)
{
    const struct fetcher *fetcher = &fetchers[s->kind];
    struct listing listing;
    char now[WHEN_TEXT];
    TF_AUTO_BUF text = TF_BUF_INIT;
    listing_begin(&listing, fetcher->resource, &s->ctl->options, false, &s->ctl->out);
    int code = fetcher->fetch(s->ctl, &listing);
    if (s->ctl->out.terminal && code != FEDCTL_UNREACHABLE && code != FEDCTL_TIMED_OUT) {
        TF_AUTO_FREE char *head = tf_asprintf("%s   %zu %s", when_local(fedctl_now(), now), listing.count,
                                              fetcher->resource->plural);
        listing_take_table(&listing, &text);
        paint(s, head, tf_buf_text(&text));
    }
    listing_end(&listing, false);
    return code;
}

static int watch_list(struct screen *s)
{
    bool seen = false;
    int code;
    do {
        code = draw_list(s);
        if (!seen && code != FEDCTL_DONE && code != FEDCTL_FAILED)
            return code;
        seen = true;
        int64_t left = s->deadline.ms == TF_NEVER.ms ? INTERVAL_MS : time_left(s);
        poll(NULL, 0, (int)(left < INTERVAL_MS ? left : INTERVAL_MS));
        if (!is_over(s) && !s->ctl->out.terminal)
            out_fmt(&s->ctl->out, "\n");
    } while (!is_over(s));
    return FEDCTL_DONE;
}

int watching(struct fedctl *ctl, enum resource_kind kind)
{
    struct screen s = {.ctl = ctl, .kind = kind, .deadline = TF_NEVER};
    if (ctl->options.output == OUTPUT_YAML)
        return fedctl_usage(ctl, "a live list is a table, names or json, not yaml");
    if (ctl->options.output != OUTPUT_TABLE && ctl->options.output != OUTPUT_WIDE)
        ctl->out.terminal = false; /* for programs */
    if (kind == RESOURCE_JOBS && ctl->words.count)
        return fedctl_usage(ctl, "all jobs of a filter are watched; of one job, see fedctl events %.100s -f",
                            ctl->words.items[0]);
    if (ctl->options.duration)
        s.deadline.ms = tf_clock_read().mono.ms + ctl->options.duration;
    return kind == RESOURCE_JOBS ? watch_jobs(&s) : watch_list(&s);
}
