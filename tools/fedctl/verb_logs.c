/* SPDX-License-Identifier: Apache-2.0 */
/* Owns logs: the output of one instance, as its bytes are. */
#include "common/base/cleanup.h"
#include "tools/fedctl/resource.h"

static const struct option options[] = {
    {'f',
     NULL,
     {.key = "follow", TF_BOOL(struct options, follow), .help = "go on with what comes, until Ctrl-C"}},
    {'i',
     "K",
     {.key = "index",
      TF_INT32(struct options, index),
      .max = TF_INSTANCES_MAX - 1,
      .help = "of the instance; absent = 0"}},
    {'n',
     "LINES",
     {.key = "tail",
      TF_INT64(struct options, tail),
      .max = 1000000000,
      .help = "begin with the last so many lines; absent = everything kept"}},
    {0,
     "EPOCH",
     {.key = "epoch",
      TF_INT64(struct options, epoch),
      .help = "of an earlier placement; absent = the present or last one"}},
    {0,
     "ATTEMPT",
     {.key = "attempt",
      TF_INT64(struct options, attempt),
      .min = 1,
      .max = UINT32_MAX,
      .flags = TF_ROW_ZERO,
      .help = "of an instance that was tried again, from 1; absent = the last one"}},
    OPTION_TENANT,
};

struct reader {
    struct fedctl *ctl;
    struct tf_buf kept; /* with collect: the last `lines` lines */
    bool collect;
    int64_t lines;
};

/* Where the last n lines begin. */
static size_t tail_start(const struct tf_buf *buf, int64_t n)
{
    size_t at = buf->len;
    if (n == 0)
        return at;
    if (at && buf->data[at - 1] == '\n')
        at--;
    for (; at > 0; at--)
        if (buf->data[at - 1] == '\n' && --n == 0)
            break;
    return at;
}

static void drop_head(struct tf_buf *buf, int64_t lines)
{
    size_t start = tail_start(buf, lines);
    memmove(buf->data, buf->data + start, buf->len - start + 1);
    buf->len -= start;
}

static bool on_chunk(void *arg, struct tf_reply *reply)
{
    enum { COMPACT_BYTES = 4 << 20 };
    struct reader *r = arg;
    if (!r->collect) {
        out_write(&r->ctl->out, reply->logs.data, reply->logs.len);
        return !r->ctl->out.closed && !r->ctl->out.failed;
    }
    tf_buf_add(&r->kept, reply->logs.data, reply->logs.len);
    if (r->kept.len > COMPACT_BYTES)
        drop_head(&r->kept, r->lines);
    return true;
}

static int stream(struct reader *r, struct tf_request *request, bool follow)
{
    struct tf_error err = TF_ERROR_INIT;
    bool started;
    request->logs.follow = follow;
    if (client_stream(r->ctl->client, request, CLIENT_NO_LIMIT, on_chunk, r, &started, &err) == 0)
        return FEDCTL_DONE;
    if (started)
        tf_error_wrap(&err, "the output broke off; run it again to go on");
    return fedctl_fail_about(r->ctl, r->ctl->words.items[0], &err);
}

/* The last lines are cut here, since only bytes can be asked for. To follow from there, their bytes are asked
 * for anew: what came in between shifts the beginning, and nothing is lost. */
static int read_tail(struct reader *r, struct tf_request *request, bool follow)
{
    request->logs.tail_bytes = -1;
    r->collect = true;
    int code = stream(r, request, false);
    if (code)
        return code;
    if (r->kept.len)
        drop_head(&r->kept, r->lines);
    r->collect = false;
    if (!follow) {
        out_buf(&r->ctl->out, &r->kept);
        return FEDCTL_DONE;
    }
    request->logs.tail_bytes = (int64_t)r->kept.len;
    return stream(r, request, true);
}

/* There is such a job, with such an instance; *uid is which. */
static int look(struct fedctl *ctl, const struct tf_job_ref *ref, int32_t *index, struct tf_uid *uid)
{
    struct tf_request request = {.method = TF_METHOD_GET, .job = *ref}; /* lent */
    struct tf_reply reply = {0};
    struct tf_error err = TF_ERROR_INIT;
    if (fedctl_call(ctl, &request, &reply, &err))
        return fedctl_fail_about(ctl, ctl->words.items[0], &err);
    const struct tf_job_view *job = &reply.job;
    int code = FEDCTL_DONE;
    *uid = job->uid;
    if (job->epoch == 0) {
        message("job %s/%s has not run yet: it is %s; fedctl explain %s/%s says why", ref->tenant, ref->name,
                tf_phase_name(job->phase), ref->tenant, ref->name);
        code = FEDCTL_FAILED;
    } else if (*index < 0 && job->size > 1)
        message("instance 0 of %d; --index K for another", job->size);
    *index = *index < 0 ? 0 : *index;
    tf_reply_release(&reply);
    return code;
}

static int run(struct fedctl *ctl)
{
    enum resource_kind kind;
    struct tf_error err = TF_ERROR_INIT;
    struct tf_job_ref ref = {0};
    int32_t index = ctl->options.index;
    unsigned jobs = 1u << RESOURCE_JOBS;
    if (target_kind(ctl, jobs, &kind, &err))
        return fedctl_usage(ctl, "%s", err.text);
    if (ctl->words.count != 1)
        return fedctl_usage(ctl, "logs of which job? Say one TENANT/NAME or TENANT/NAME/INDEX");
    if (target_instance(ctl, ctl->words.items[0], &ref, &index, &err))
        return fedctl_usage(ctl, "%s", err.text);
    int code = look(ctl, &ref, &index, &ref.uid);
    struct reader r = {.ctl = ctl, .lines = ctl->options.tail};
    struct tf_request request = {.method = TF_METHOD_LOGS};
    request.logs.job = ref;
    request.logs.index = (uint32_t)(index > 0 ? index : 0);
    request.logs.epoch = (uint64_t)ctl->options.epoch;
    request.logs.attempt = (uint32_t)ctl->options.attempt;
    request.logs.tail_bytes = -1;
    if (code == FEDCTL_DONE)
        code = r.lines >= 0 ? read_tail(&r, &request, ctl->options.follow)
                            : stream(&r, &request, ctl->options.follow);
    tf_buf_release(&r.kept);
    tf_request_release(&request); /* with the strings of ref */
    return code;
}

const struct verb verb_logs = {
    .name = "logs",
    .usage = "[job] TENANT/NAME[/INDEX] [-f] [--index K] [--tail LINES]",
    .help = "Show the output of an instance",
    .examples = "fedctl logs data/refresh\n"
                "# Instance 3, from its last 20 lines on\n"
                "fedctl logs -f llm/pretrain/3 --tail 20\n"
                "# Why the first attempt failed\n"
                "fedctl logs rec/flaky --attempt 1\n",
    .options = OPTION_LIST(options),
    .run = run,
};
