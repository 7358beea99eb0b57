/* SPDX-License-Identifier: Apache-2.0 */
/* Owns scale: new sizes for jobs, from what they have and what was said. Whether they are legal is the
 * federation's word. */
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "tools/fedctl/change.h"

#define O struct options
static const struct option options[] = {
    {'n', "N", {.key = "instances", TF_INT32(O, instances), .help = "exactly so many: min and max"}},
    {0,
     "N",
     {.key = "min", TF_INT32(O, job.spec.elastic.min), .help = "instances that it needs; absent = as it is"}},
    {0,
     "N",
     {.key = "max", TF_INT32(O, job.spec.elastic.max), .help = "most that it can use; absent = as it is"}},
    {0, "N", {.key = "step", TF_INT32(O, job.spec.elastic.step), .help = "they come and go by so many"}},
    OPTION_TENANT,
};
#undef O

/* The largest step that divides both. */
static int32_t common_step(int32_t a, int32_t b)
{
    while (b) {
        int32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* A job of one size is scaled as a whole, by steps that its running epoch can take; an elastic one keeps its
 * step. */
static struct tf_elastic new_sizes(const struct options *o, const struct tf_job_view *job)
{
    const struct tf_elastic *now = &job->manifest.spec.elastic;
    const struct tf_elastic *said = &o->job.spec.elastic;
    struct tf_elastic e = *now;
    bool one_size = now->min == now->max && now->step == now->max;
    if (o->instances) {
        e.min = e.max = o->instances;
        e.step = one_size ? common_step(o->instances, job->size) : now->step;
    }
    if (one_size && !o->instances && !said->step)
        e.step = 1; /* it becomes elastic */
    e.min = said->min ? said->min : e.min;
    e.max = said->max ? said->max : e.max;
    e.step = said->step ? said->step : e.step;
    if (said->max && !said->min && e.min > e.max)
        e.min = e.max;
    if (said->min && !said->max && e.max < e.min)
        e.max = e.min;
    return e;
}

static void print_done(struct fedctl *ctl, const char *name, const struct tf_elastic *e, bool changed)
{
    TF_AUTO_BUF text = TF_BUF_INIT;
    tf_buf_fmt(&text, "job %s %s", name, changed ? "scaled to" : "unchanged at");
    if (e->min == e->max)
        tf_buf_fmt(&text, " %d instance%s\n", e->max, e->max == 1 ? "" : "s");
    else
        tf_buf_fmt(&text, " %d to %d instances by %d\n", e->min, e->max, e->step);
    out_buf(&ctl->out, &text);
}

static int scale_to(struct fedctl *ctl, const char *name, const struct tf_job_ref *ref,
                    struct tf_elastic sizes)
{
    struct tf_request request = {.method = TF_METHOD_SCALE,
                                 .scale = {.job = *ref, .elastic = sizes}}; /* lent */
    struct tf_reply reply = {0};
    struct tf_error err = TF_ERROR_INIT;
    if (fedctl_call(ctl, &request, &reply, &err))
        return fedctl_fail_about(ctl, name, &err);
    change_warnings(&reply.change);
    print_done(ctl, name, &sizes, reply.change.outcome != TF_OUTCOME_UNCHANGED);
    tf_reply_release(&reply);
    return FEDCTL_DONE;
}

static int scale_one(struct fedctl *ctl, const char *word)
{
    struct tf_request request = {.method = TF_METHOD_GET};
    struct tf_reply reply = {0};
    struct tf_error err = TF_ERROR_INIT;
    if (target_job(ctl, word, &request.job, &err))
        return fedctl_usage(ctl, "%s", err.text);
    TF_AUTO_FREE char *name = tf_asprintf("%s/%s", request.job.tenant, request.job.name);
    int code;
    if (fedctl_call(ctl, &request, &reply, &err))
        code = fedctl_fail_about(ctl, name, &err);
    else {
        request.job.uid = reply.job.uid; /* the one whose sizes these are */
        code = scale_to(ctl, name, &request.job, new_sizes(&ctl->options, &reply.job));
    }
    tf_reply_release(&reply);
    tf_request_release(&request);
    return code;
}

/* "scale T/N 4": the size as the last word. True if it is 0, as with kubectl. */
static bool take_size_word(struct fedctl *ctl)
{
    size_t count = ctl->words.count;
    int64_t size;
    if (count < 2 || ctl->options.instances ||
        tf_parse_int64(ctl->words.items[count - 1], 0, TF_INSTANCES_MAX, &size, NULL))
        return false;
    ctl->options.instances = (int32_t)size;
    free(ctl->words.items[count - 1]);
    tf_vec_remove(&ctl->words, count - 1);
    return size == 0;
}

static int run(struct fedctl *ctl)
{
    const struct tf_elastic *said = &ctl->options.job.spec.elastic;
    enum resource_kind kind;
    struct tf_error err = TF_ERROR_INIT;
    int first = FEDCTL_DONE;
    if (target_kind(ctl, 1u << RESOURCE_JOBS, &kind, &err))
        return fedctl_usage(ctl, "%s", err.text);
    if (take_size_word(ctl))
        return fedctl_usage(
            ctl, "a job has at least 1 instance; fedctl hold stops it and keeps its place in the queue");
    if (ctl->words.count == 0)
        return fedctl_usage(ctl, "which job? Say TENANT/NAME");
    if (!ctl->options.instances && !said->min && !said->max && !said->step)
        return fedctl_usage(ctl, "to which size? Say --instances N, or --min, --max or --step");
    if (ctl->options.instances && (said->min || said->max))
        return fedctl_usage(ctl, "--instances sets min and max: say either it or them");
    for (size_t i = 0; i < ctl->words.count; i++) {
        int code = scale_one(ctl, ctl->words.items[i]);
        first = first ? first : code;
        if (change_is_hopeless(code))
            break;
    }
    return first;
}

const struct verb verb_scale = {
    .name = "scale",
    .usage =
        "[job] TENANT/NAME... --instances N\n[job] TENANT/NAME N\n[job] TENANT/NAME... [--min N] [--max N] "
        "[--step N]",
    .help = "Change the sizes of jobs",
    .more =
        "A waiting job waits for its new size. A running one that is larger than its new max gives whole "
        "steps\n"
        "back, with their grace to stop: those that free whole nodes first, then the youngest. It is never\n"
        "stopped for a larger min, which is met step by step; a larger max is filled with what nobody waits "
        "for.",
    .examples = "fedctl scale web/hello --instances 4\n"
                "# As `nomad job scale`\n"
                "fedctl scale web/hello 4\n"
                "# Less at most, the rest as it is\n"
                "fedctl scale data/refresh --max 4\n",
    .options = OPTION_LIST(options),
    .run = run,
};
