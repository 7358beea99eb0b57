/* SPDX-License-Identifier: Apache-2.0 */
/* Owns events of clusters. There are few of them, so they are asked for again and again and not streamed. */
#include "tools/fedctl/cluster_events.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "common/loop/loop.h"
#include "common/model/manifest.h"
#include "tools/fedctl/resource.h"
#include "tools/fedctl/when.h"

#include <poll.h>

enum { INTERVAL_MS = 2 * TF_SECOND, LOOK_MS = 200 };

/* ---- one event ---- */

struct cluster_event {
    const char *cluster;
    const struct tf_job_event *event;
    uint64_t number; /* of the cluster's events, from 0 */
};

struct event_doc {
    char *cluster, *at, *type, *text;
};
#define D struct event_doc
static const struct tf_row inner_rows[] = {
    {.key = "at", TF_STRING(D, at)},
    {.key = "type", TF_STRING(D, type)},
    {.key = "text", TF_STRING(D, text)},
};
static const struct tf_table inner_table = TF_TABLE(D, inner_rows);
static const struct tf_row rows[] = {
    {.key = "apiVersion", TF_CONST(TF_API_VERSION)},
    {.key = "kind", TF_CONST("ClusterEvent")},
    {.key = "cluster", TF_STRING(D, cluster)},
    {.key = "event", TF_GROUP(&inner_table)},
};
static const struct tf_table table = TF_TABLE(D, rows);
#undef D

static void fill(const void *object, void *document, struct tf_arena *arena)
{
    const struct cluster_event *e = object;
    *(struct event_doc *)document = (struct event_doc){
        .cluster = view_word(e->cluster),
        .at = view_time(e->event->at, arena),
        .type = e->event->type,
        .text = e->event->text,
    };
}
static const struct view view = {&table, sizeof(struct event_doc), fill};

static const struct column columns[] = {{"TIME", 0}, {"CLUSTER", 0}, {"EVENT", 0}, {"TEXT", 0}};

static void cells(const void *object, struct tf_wall now, struct columns *out)
{
    const struct cluster_event *e = object;
    char at[WHEN_TEXT];
    (void)now;
    columns_add(out, when_local(e->event->at, at));
    columns_add(out, e->cluster);
    columns_add(out, e->event->type);
    columns_add(out, e->event->text);
}

static void name(const void *object, struct tf_buf *buf)
{
    tf_buf_str(buf, ((const struct cluster_event *)object)->cluster);
}

static const struct resource resource = {"events", columns, TF_ARRAY_LEN(columns), &view, cells, name};

static int by_time(const void *a, const void *b)
{
    const struct cluster_event *x = a, *y = b;
    if (x->event->at.ms != y->event->at.ms)
        return x->event->at.ms < y->event->at.ms ? -1 : 1;
    int order = strcmp(x->cluster, y->cluster);
    if (order)
        return order;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* A line of a list that goes on: its columns cannot be as wide as what comes. */
static void print_line(struct fedctl *ctl, const struct cluster_event *e)
{
    TF_AUTO_BUF text = TF_BUF_INIT;
    char at[WHEN_TEXT];
    if (ctl->options.output == OUTPUT_JSON)
        view_line(&view, e, &text);
    else if (ctl->options.output == OUTPUT_YAML) {
        tf_buf_str(&text, "---\n");
        view_yaml(&view, e, &text);
    } else if (ctl->options.output == OUTPUT_NAME)
        tf_buf_fmt(&text, "%s\n", e->cluster);
    else {
        tf_buf_fmt(&text, "%s   %s   %s   ", when_local(e->event->at, at), e->cluster, e->event->type);
        columns_text(&text, e->event->text ? e->event->text : "", 0);
        tf_buf_char(&text, '\n');
    }
    out_buf(&ctl->out, &text);
}

/* ---- what was told ---- */

struct told {
    char *cluster;
    uint64_t next; /* number of the first event that was not told */
};

struct reader {
    struct fedctl *ctl;
    TF_VEC(struct told) told;
    struct tf_wall since;
    struct tf_mono deadline; /* TF_NEVER: none */
    bool began;
};

static struct told *told_of(struct reader *r, const char *cluster)
{
    tf_vec_each (told, &r->told)
        if (strcmp(told->cluster, cluster) == 0)
            return told;
    struct told *told = tf_vec_add(&r->told);
    told->cluster = tf_strdup(cluster);
    return told;
}

static bool is_meant(const struct fedctl *ctl, const struct tf_cluster_info *info)
{
    if (ctl->options.cluster && strcmp(ctl->options.cluster, info->name) != 0)
        return false;
    return ctl->words.count == 0 || tf_strs_has(&ctl->words, info->name);
}

/* In order of time, those that were not told before. The list borrows from the reply. */
static void print_new(struct reader *r, const struct tf_clusters_reply *reply)
{
    TF_VEC(struct cluster_event) found = {0};
    struct listing listing;
    struct fedctl *ctl = r->ctl;
    enum output output = ctl->options.output;
    bool lines = ctl->options.follow && (r->began || (output != OUTPUT_TABLE && output != OUTPUT_WIDE));
    tf_vec_each (info, &reply->clusters) {
        struct told *told = is_meant(ctl, info) ? told_of(r, info->name) : NULL;
        for (size_t i = 0; told && i < info->events.count; i++) {
            const struct cluster_event e = {info->name, &info->events.items[i], info->events_dropped + i};
            if (e.number < told->next || e.event->at.ms < r->since.ms)
                continue;
            told->next = e.number + 1;
            tf_vec_push(&found, e);
        }
    }
    if (found.count)
        qsort(found.items, found.count, sizeof *found.items, by_time);
    if (!lines)
        listing_begin(&listing, &resource, &ctl->options, false, &ctl->out);
    tf_vec_each (e, &found) {
        if (lines)
            print_line(ctl, e);
        else
            listing_add(&listing, e);
    }
    if (!lines)
        listing_end(&listing, !ctl->options.follow);
    tf_vec_release(&found);
    r->began = true;
}

static int check_names(const struct fedctl *ctl, const struct tf_clusters_reply *reply)
{
    for (size_t i = 0; i < ctl->words.count; i++) {
        bool found = false;
        tf_vec_each (info, &reply->clusters)
            found |= strcmp(info->name, ctl->words.items[i]) == 0;
        if (found)
            continue;
        message("there is no cluster %.100s; see fedctl get clusters", ctl->words.items[i]);
        return FEDCTL_NOT_FOUND;
    }
    return FEDCTL_DONE;
}

/* ---- asking ---- */

static bool is_over(const struct reader *r)
{
    return r->ctl->out.closed || r->ctl->out.failed ||
           (r->deadline.ms != TF_NEVER.ms && tf_clock_read().mono.ms >= r->deadline.ms);
}

static void pause_between(const struct reader *r)
{
    int64_t end = tf_clock_read().mono.ms + INTERVAL_MS;
    while (!is_over(r) && tf_clock_read().mono.ms < end)
        poll(NULL, 0, LOOK_MS);
}

static int read_all(struct reader *r)
{
    int code = FEDCTL_DONE;
    do {
        struct tf_request request = {.method = TF_METHOD_LIST_CLUSTERS, .clusters.events = true};
        struct tf_reply reply = {0};
        struct tf_error err = TF_ERROR_INIT;
        int failed = fedctl_call(r->ctl, &request, &reply, &err);
        if (failed && !r->began) /* later, one that is away is waited for */
            return fedctl_fail(r->ctl, &err);
        code = failed || r->began ? FEDCTL_DONE : check_names(r->ctl, &reply.clusters);
        if (!failed && code == FEDCTL_DONE)
            print_new(r, &reply.clusters);
        tf_reply_release(&reply);
        if (code || !r->ctl->options.follow)
            break;
        pause_between(r);
    } while (!is_over(r));
    return code;
}

int cluster_events(struct fedctl *ctl)
{
    struct reader r = {.ctl = ctl, .deadline = TF_NEVER};
    if (ctl->options.selector)
        return fedctl_usage(ctl, "--selector is for events of jobs");
    if (ctl->options.duration)
        r.deadline.ms = tf_clock_read().mono.ms + ctl->options.duration;
    if (ctl->options.since != TF_UNSET && fedctl_now().ms > ctl->options.since)
        r.since.ms = fedctl_now().ms - ctl->options.since;
    int code = read_all(&r);
    tf_vec_each (told, &r.told)
        free(told->cluster);
    tf_vec_release(&r.told);
    return code;
}
