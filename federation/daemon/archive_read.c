/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of the archive, for clients: each in a thread of its own, since the files may be large and the disk
 * slow. Any fedd answers with what is on its disk, whether it leads or not. */
#include "federation/daemon/archive.h"

#include "common/base/base64.h"
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "common/wire/records.h"

enum {
    PAGE_DEFAULT = 500,
    PAGE_BYTES = 3 << 20, /* of jobs in one page: below the limit of one message */
    LOOKED_AT = 16 << 20, /* bytes of files for one page: then a short one, with a token */
};

struct search {
    const struct tf_list_request *list;
    size_t page_size;
    int64_t oldest_ms; /* what was archived before it is no longer shown */
    struct tf_list_reply *out;
    size_t bytes, unreadable;
};

static bool names(const char *wanted, struct tf_bytes name)
{
    return !wanted || tf_bytes_eq(name, tf_bytes_of(wanted));
}

static int decode(const struct archive_line *line, struct tf_record *record, struct tf_error *err)
{
    TF_AUTO_BUF bytes = TF_BUF_INIT, key = TF_BUF_INIT;
    tf_buf_str(&key, "jobs/");
    tf_buf_add(&key, line->tenant.data, line->tenant.len);
    tf_buf_char(&key, '/');
    tf_buf_add(&key, line->name.data, line->name.len);
    if (tf_base64_decode(&bytes, line->base64))
        return tf_error_set(err, TF_ERR_INVALID, "its letters are no base64");
    return tf_wire_record_unpack(key.data, key.len, bytes.data, bytes.len, record, err);
}

static bool is_there(const struct tf_list_reply *list, struct tf_uid uid)
{
    tf_vec_each (job, &list->jobs)
        if (tf_uid_eq(job->uid, uid))
            return true;
    return false;
}

/* Adds the job of the line if it is wanted. */
static void look_at(struct search *s, struct tf_bytes text)
{
    struct archive_line line;
    struct tf_record record = {0};
    struct tf_error err = TF_ERROR_INIT;
    if (!archive_line_parse(text, &line)) {
        s->unreadable++;
        return;
    }
    const struct tf_job_filter *filter = &s->list->filter;
    if (line.archived_ms < s->oldest_ms || !names(filter->tenant, line.tenant) ||
        !names(filter->name, line.name))
        return;
    if (decode(&line, &record, &err)) {
        s->unreadable++;
        tf_log_debug("a job in the archive cannot be read error=%s", err.text);
        return;
    }
    if (view_matches(&record.job, filter) && !is_there(s->out, record.job.uid)) {
        struct tf_job_view *view = tf_vec_add(&s->out->jobs);
        view_record(&record.job, filter->name != NULL, view);
        view->archived.ms = line.archived_ms;
        s->bytes += tf_wire_job_size(view);
    }
    tf_record_release(&record);
}

/* 1: there is more; 0: that was all; -1 with *err. */
static int search(struct search *s, struct archive_reader *reader, struct tf_error *err)
{
    struct tf_bytes line;
    int got = 1;
    while (s->out->jobs.count < s->page_size && s->bytes < PAGE_BYTES &&
           archive_reader_bytes(reader) < LOOKED_AT && (got = archive_reader_prev(reader, &line, err)) > 0)
        if (line.len)
            look_at(s, line);
    return got;
}

static int read_page(struct archive *archive, const struct tf_list_request *list, struct tf_list_reply *out,
                     struct tf_error *err)
{
    const struct archive_limits limits = archive_limits_of(archive);
    struct search s = {.list = list,
                       .page_size = list->page_size > 0 ? (size_t)list->page_size : PAGE_DEFAULT,
                       .oldest_ms = tf_clock_read().wall.ms - limits.keep_ms,
                       .out = out};
    struct archive_reader *reader = archive_reader_open(archive->folder, list->page_token, err);
    if (!reader)
        return -1;
    int got = search(&s, reader, err);
    if (got > 0)
        out->next_token = archive_reader_token(reader);
    archive_reader_destroy(reader);
    if (s.unreadable)
        tf_log_warn("the archive has lines that cannot be read: they are left out count=%zu folder=%s",
                    s.unreadable, archive->folder);
    return got < 0 ? -1 : 0;
}

static int on_list_archive(void *arg, struct tf_thread_call *call, struct tf_bytes bytes,
                           struct tf_error *err)
{
    struct fedd *fedd = arg;
    struct tf_request request = {0};
    struct tf_reply reply = {.method = TF_METHOD_LIST_ARCHIVE};
    TF_AUTO_BUF body = TF_BUF_INIT;
    int failed = tf_wire_request_unpack(TF_METHOD_LIST_ARCHIVE, bytes.data, bytes.len, &request, err) ||
                 read_page(fedd->archive, &request.list, &reply.list, err) ||
                 tf_wire_reply_pack(&reply, &body, err);
    if (failed)
        thread_call_detail(call, err, NULL);
    else
        failed = tf_thread_call_write(call, &body);
    tf_request_release(&request);
    tf_reply_release(&reply);
    return failed ? -1 : 0;
}

void archive_register(struct fedd *fedd)
{
    tf_server_thread(fedd->server, tf_method_path(TF_METHOD_LIST_ARCHIVE), on_list_archive, fedd);
}
