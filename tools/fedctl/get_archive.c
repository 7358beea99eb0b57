/* SPDX-License-Identifier: Apache-2.0 */
/* Owns how archived jobs are listed: the archives of all endpoints, merged by when a job was archived, the
 * latest first. */
#include "common/base/cleanup.h"
#include "common/base/hash.h"
#include "common/model/manifest.h"
#include "tools/fedctl/resource.h"
#include "tools/fedctl/when.h"

/* ---- how one is shown ---- */

static const struct column columns[] = {
    {"TENANT/NAME", 0},
    {"PRIORITY", 0},
    {"PHASE", 0},
    {"CLUSTER", 0},
    {"FINISHED", COLUMN_RIGHT},
    {"UID", COLUMN_WIDE},
    {"EPOCH", COLUMN_WIDE | COLUMN_RIGHT},
    {"RESTARTS", COLUMN_WIDE | COLUMN_RIGHT},
    {"EVICTIONS", COLUMN_WIDE | COLUMN_RIGHT},
    {"REASON", 0},
};

static void cells(const void *object, struct tf_wall now, struct columns *out)
{
    const struct tf_job_view *job = object;
    char text[WHEN_TEXT], uid[TF_UID_TEXT];
    TF_AUTO_BUF name = TF_BUF_INIT;
    job_name(job, &name);
    columns_add(out, tf_buf_text(&name));
    columns_add(out, job->manifest.spec.priority);
    columns_add_styled(out, phase_style(job->phase), tf_phase_name(job->phase));
    columns_add(out, job->cluster);
    columns_add(out, when_age(job->finished, now, text));
    tf_uid_format(job->uid, uid);
    columns_add(out, uid);
    columns_add_fmt(out, "%llu", (unsigned long long)job->epoch);
    columns_add_fmt(out, "%d", job->restarts);
    columns_add_fmt(out, "%d", job->evictions);
    columns_add(out, job->message);
}

static void name(const void *object, struct tf_buf *buf)
{
    job_name(object, buf);
}

const struct resource resource_archive = {
    "jobs in the archive", columns, TF_ARRAY_LEN(columns), &view_job, cells, name};

/* ---- a reservation ---- */

static const struct column reservation_columns[] = {
    {"TENANT/NAME", 0},     {"PRIORITY", 0}, {"STATE", 0},         {"CLUSTER", 0}, {"FOR", 0},
    {"MADE", COLUMN_RIGHT}, {"ENDED", 0},    {"UID", COLUMN_WIDE}, {"WHY", 0},
};

/* When and why it ended: who looks for it here wonders where it went. */
static void reservation_cells(const void *object, struct tf_wall now, struct columns *out)
{
    const struct tf_job_view *job = object;
    char text[WHEN_TEXT], uid[TF_UID_TEXT];
    TF_AUTO_BUF words = TF_BUF_INIT;
    job_name(job, &words);
    columns_add(out, tf_buf_text(&words));
    columns_add(out, job->manifest.spec.priority);
    columns_add_styled(out, phase_style(job->phase), reservation_state(job));
    columns_add(out, job->cluster);
    tf_buf_clear(&words);
    reservation_owner(&job->manifest.spec.reserve.owner, &words);
    columns_add(out, tf_buf_text(&words));
    columns_add(out, when_age(job->submitted, now, text));
    columns_add(out, when_local(job->finished, text));
    tf_uid_format(job->uid, uid);
    columns_add(out, uid);
    columns_add(out, job->message);
}

const struct resource resource_archived_reservations = {"reservations in the archive",
                                                        reservation_columns,
                                                        TF_ARRAY_LEN(reservation_columns),
                                                        &view_reservation,
                                                        reservation_cells,
                                                        name};

/* ---- the archive of one endpoint, as far as it was fetched ---- */

struct source {
    struct tf_request request;
    struct tf_reply page;
    size_t next; /* in the page */
    bool over;
};

static const struct tf_job_view *head(const struct source *source)
{
    return source->next < source->page.list.jobs.count ? &source->page.list.jobs.items[source->next] : NULL;
}

/* Until there is a head, or no more. Pages may be empty. */
static int fetch_head(struct fedctl *ctl, size_t at, struct source *source)
{
    while (!source->over && !head(source)) {
        struct tf_error err = TF_ERROR_INIT;
        tf_reply_release(&source->page);
        source->next = 0;
        if (client_call_at(ctl->client, at, &source->request, ctl->config.timeout, &source->page, &err)) {
            source->over = true;
            tf_error_wrap(&err, "the archive of %s is missing here", client_endpoint(ctl->client, at));
            return fedctl_fail(ctl, &err);
        }
        free(source->request.list.page_token);
        source->request.list.page_token = TF_STEAL(source->page.list.next_token);
        source->over = !source->request.list.page_token;
    }
    return FEDCTL_DONE;
}

static void source_release(struct source *source)
{
    tf_request_release(&source->request);
    tf_reply_release(&source->page);
}

/* ---- all of them ---- */

/* A job may be there twice: archived again after a crash, or by the next leader. */
struct seen {
    struct tf_uid uid;
    UT_hash_handle hh;
};

struct merge {
    struct source *sources;
    size_t count, added;
    struct seen *seen;
    bool reservations; /* and no jobs of such a name */
    int code;
};

static bool is_new(struct merge *merge, struct tf_uid uid)
{
    struct seen *seen = NULL;
    HASH_FIND(hh, merge->seen, &uid, sizeof uid, seen);
    if (seen)
        return false;
    seen = tf_calloc(1, sizeof *seen);
    seen->uid = uid;
    HASH_ADD(hh, merge->seen, uid, sizeof uid, seen);
    return true;
}

static bool is_wanted(struct merge *merge, const struct tf_job_view *job)
{
    return is_new(merge, job->uid) && (!merge->reservations || tf_is_reservation(&job->manifest.spec));
}

static struct source *latest(struct fedctl *ctl, struct merge *merge)
{
    struct source *found = NULL;
    for (size_t i = 0; i < merge->count; i++) {
        int code = fetch_head(ctl, i, &merge->sources[i]);
        merge->code = code ? code : merge->code;
        const struct tf_job_view *job = head(&merge->sources[i]);
        if (job && (!found || job->archived.ms > head(found)->archived.ms))
            found = &merge->sources[i];
    }
    return found;
}

static void merge_begin(struct fedctl *ctl, const struct tf_request *request, struct merge *merge)
{
    *merge = (struct merge){.count = client_endpoints(ctl->client),
                            .reservations = request->list.filter.reservations};
    merge->sources = tf_calloc(merge->count, sizeof *merge->sources);
    for (size_t i = 0; i < merge->count; i++) {
        struct tf_request *own = &merge->sources[i].request;
        own->method = TF_METHOD_LIST_ARCHIVE;
        own->list.page_size = request->list.page_size;
        own->list.filter = (struct tf_job_filter){.tenant = tf_strdup(request->list.filter.tenant),
                                                  .name = tf_strdup(request->list.filter.name),
                                                  .cluster = tf_strdup(request->list.filter.cluster),
                                                  .reservations = request->list.filter.reservations,
                                                  .phases = request->list.filter.phases};
        tf_selector_copy(&own->list.filter.selector, &request->list.filter.selector);
    }
}

static void merge_end(struct merge *merge)
{
    struct seen *seen, *next;
    HASH_ITER (hh, merge->seen, seen, next) {
        HASH_DEL(merge->seen, seen);
        free(seen);
    }
    for (size_t i = 0; i < merge->count; i++)
        source_release(&merge->sources[i]);
    free(merge->sources);
}

/* Lists what the request's filter lets through, and tells how many that were. */
static int list(struct fedctl *ctl, struct tf_request *request, struct listing *listing, size_t *added)
{
    struct merge merge;
    struct source *source;
    size_t limit = ctl->options.limit ? (size_t)ctl->options.limit : SIZE_MAX;
    request->list.page_size = fetch_page_size(ctl);
    merge_begin(ctl, request, &merge);
    while (merge.added < limit && !listing_is_over(listing) && (source = latest(ctl, &merge))) {
        if (is_wanted(&merge, head(source))) {
            listing_add(listing, head(source));
            merge.added++;
        }
        source->next++;
    }
    *added = merge.added;
    merge_end(&merge);
    return merge.code;
}

static int list_named(struct fedctl *ctl, const char *word, bool reservations, struct listing *listing)
{
    struct tf_request request = {.method = TF_METHOD_LIST_ARCHIVE};
    struct tf_job_ref ref = {0};
    struct tf_error err = TF_ERROR_INIT;
    size_t added = 0;
    if (fetch_filter(ctl, &request.list.filter, &err) || target_job(ctl, word, &ref, &err)) {
        tf_request_release(&request);
        return fedctl_usage(ctl, "%s", err.text);
    }
    free(request.list.filter.tenant);
    request.list.filter.reservations = reservations;
    request.list.filter.tenant = TF_STEAL(ref.tenant);
    request.list.filter.name = TF_STEAL(ref.name);
    target_release(&ref);
    int code = list(ctl, &request, listing, &added);
    tf_request_release(&request);
    if (added || code)
        return code;
    tf_error_set(&err, TF_ERR_NOT_FOUND, "%s: no such %s in the archive", word,
                 reservations ? "reservation" : "job");
    return fedctl_fail(ctl, &err);
}

static int fetch(struct fedctl *ctl, bool reservations, struct listing *listing)
{
    struct tf_request request = {.method = TF_METHOD_LIST_ARCHIVE};
    struct tf_error err = TF_ERROR_INIT;
    size_t added = 0;
    int code = FEDCTL_DONE;
    for (size_t i = 0; i < ctl->words.count; i++) {
        int one = list_named(ctl, ctl->words.items[i], reservations, listing);
        code = one ? one : code;
    }
    if (ctl->words.count)
        return code;
    request.list.filter.reservations = reservations;
    code = fetch_filter(ctl, &request.list.filter, &err) ? fedctl_usage(ctl, "%s", err.text)
                                                         : list(ctl, &request, listing, &added);
    tf_request_release(&request);
    return code;
}

int fetch_archive(struct fedctl *ctl, struct listing *listing)
{
    return fetch(ctl, false, listing);
}

int fetch_archived_reservations(struct fedctl *ctl, struct listing *listing)
{
    return fetch(ctl, true, listing);
}
