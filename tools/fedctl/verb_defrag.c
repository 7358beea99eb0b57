/* SPDX-License-Identifier: Apache-2.0 */
/* Owns defrag: which instances to move so that whole nodes are free, and doing exactly that. */
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "tools/fedctl/change.h"
#include "tools/fedctl/defrag.h"
#include "tools/fedctl/submission.h"
#include "tools/fedctl/when.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

#define O struct options
static const struct option options[] = {
    {'c', "CLUSTER", {.key = "cluster", TF_NAME(O, cluster), .help = "plan: in this cluster"}},
    {0,
     "MODEL",
     {.key = "model",
      TF_STRING(O, model),
      .help = "plan: nodes with these GPUs; the only ones there are, if not said"}},
    {0, "N", {.key = "free", TF_STRING(O, free), .def = "max", .help = "plan: so many more nodes, or max"}},
    {0,
     "NODES",
     {.key = "nodes", TF_STRINGS(O, node_names), .help = "plan: free only these (a,b; may be repeated)"}},
    {0,
     "N",
     {.key = "worst",
      TF_INT32(O, worst),
      .min = 1,
      .max = 100000,
      .help = "plan: free only the so many nodes with the most idle GPUs beside work"}},
    {0,
     "GPUS",
     {.key = "unit",
      TF_STRING(O, unit),
      .def = "whole",
      .help = "plan: free so many GPUs on a node; or whole"}},
    {0,
     "LEVEL",
     {.key = "domain",
      TF_STRING(O, domain),
      .help = "plan: all in one domain of this level, that which gives most"}},
    {0,
     "TENANT/NAME",
     {.key = "for",
      TF_STRING(O, for_job),
      .help = "plan: room for this job, which waits, kept for it for an hour once that is applied"}},
    {0,
     "N",
     {.key = "max-moves",
      TF_INT32(O, max_moves),
      .min = 1,
      .max = TF_DEFRAG_MOVES_MAX,
      .help = "plan: move at most so many instances"}},
    {0,
     NULL,
     {.key = "allow-restart",
      TF_BOOL(O, allow_restart),
      .help = "plan: jobs with migration: restart, too; all of such a job stops and starts"}},
    {0, "FILE", {.key = "out", TF_STRING(O, out), .help = "plan: also write it to this file, for apply"}},
    {0,
     "HH:MM-HH:MM",
     {.key = "window",
      TF_STRING(O, window),
      .help = "apply: begin in these hours (local time), and wait for them"}},
    {0,
     "TIME",
     {.key = "stop-after",
      TF_DURATION(O, duration),
      .min = TF_SECOND,
      .max = 24 * TF_HOUR,
      .flags = TF_ROW_OPTIONAL,
      .help = "apply: give up after so long what has not begun by then; waits, like --wait"}},
    {0, NULL, {.key = "wait", TF_BOOL(O, wait), .help = "apply: until it is over, and tell how far it is"}},
    {'r',
     "TEXT",
     {.key = "reason",
      TF_STRING(O, reason),
      .min = 1,
      .max = 500,
      .help = "apply: why, for those who look at the moves"}},
    OPTION_OUTPUT_OBJECT,
};
#undef O

enum { DAY_MINUTES = 24 * 60 };

/* What plan ends with, as the verb plan does. */
enum { PLAN_NOTHING = 0, PLAN_MOVES = 1, PLAN_CANNOT = 2, PLAN_ERROR = 3 };

/* ---- what is asked ---- */

static int take_count(const char *text, const char *word, const char *option, int32_t *out,
                      struct tf_error *err)
{
    int64_t number;
    if (strcmp(text, word) == 0) {
        *out = 0;
        return 0;
    }
    if (tf_parse_int64(text, 1, 1000000, &number, NULL))
        return tf_error_set(err, TF_ERR_INVALID, "--%s takes a number from 1 on, or %s, not \"%.100s\"",
                            option, word, text);
    *out = (int32_t)number;
    return 0;
}

static void take_nodes(const struct tf_strs *words, struct tf_strs *out)
{
    tf_vec_each (word, words) {
        TF_AUTO_FREE char *copy = tf_strdup(*word);
        char *rest = NULL;
        for (char *name = strtok_r(copy, ",", &rest); name; name = strtok_r(NULL, ",", &rest))
            tf_strs_add(out, name);
    }
}

static bool waits(const struct tf_job_view *job)
{
    return job->phase == TF_PHASE_PENDING || job->phase == TF_PHASE_HELD ||
           (job->conditions & TF_CONDITION_SHORT) != 0;
}

/* Its instances, wherever they fit; in one domain where the job needs that. */
static int take_shape(struct fedctl *ctl, const char *word, struct tf_defrag_order *order,
                      struct tf_error *err)
{
    struct tf_request request = {.method = TF_METHOD_GET};
    struct tf_reply reply = {0};
    int failed = target_job(ctl, word, &request.job, err) || fedctl_call(ctl, &request, &reply, err);
    target_release(&request.job);
    if (failed)
        return -1;
    if (!waits(&reply.job)) {
        (void)tf_error_set(err, TF_ERR_INVALID,
                           "%s does not wait, it is %s: --for makes room for a job that waits", word,
                           tf_phase_name(reply.job.phase));
        tf_reply_release(&reply);
        return -1;
    }
    const struct tf_job_spec *spec = &reply.job.manifest.spec;
    const struct tf_shape *shape = &spec->group.shape;
    order->gpus = shape->gpus;
    order->cpu = shape->cpu;
    order->memory = shape->memory;
    order->want = spec->elastic.min;
    order->total = true;
    order->for_job = tf_asprintf("%s/%s", reply.job.manifest.tenant, reply.job.manifest.name);
    /* of several it is the cluster's only one, or it asks which */
    if (!order->model && shape->gpu_models.count == 1)
        order->model = tf_strdup(shape->gpu_models.items[0]);
    tf_vec_each (rule, &spec->topology)
        if (!order->within && rule->mode == TF_TOPOLOGY_REQUIRE && rule->of == TF_TOPOLOGY_OF_JOB) {
            order->plane = tf_strdup(rule->plane);
            order->within = tf_strdup(rule->within);
        }
    tf_reply_release(&reply);
    if (order->gpus == 0)
        return tf_error_set(err, TF_ERR_INVALID, "%s asks for no GPUs: nodes need not be freed for it", word);
    return 0;
}

static int take_order(struct fedctl *ctl, struct tf_defrag_order *order, struct tf_error *err)
{
    const struct options *o = &ctl->options;
    order->model = tf_strdup(o->model);
    order->within = tf_strdup(o->domain);
    order->worst = o->worst;
    order->max_moves = o->max_moves;
    order->may_restart = o->allow_restart;
    take_nodes(&o->node_names, &order->nodes);
    if (o->node_names.count && order->nodes.count == 0)
        return tf_error_set(err, TF_ERR_INVALID, "--nodes names no node: say --nodes a,b, or leave it out");
    if (order->nodes.count > TF_DEFRAG_NODES_MAX)
        return tf_error_set(err, TF_ERR_INVALID, "--nodes takes at most %d nodes", TF_DEFRAG_NODES_MAX);
    if (take_count(o->free, "max", "free", &order->want, err) ||
        take_count(o->unit, "whole", "unit", &order->gpus, err))
        return -1;
    if (order->gpus > 64)
        return tf_error_set(err, TF_ERR_INVALID, "--unit takes at most 64 GPUs");
    return o->for_job ? take_shape(ctl, o->for_job, order, err) : 0;
}

/* ---- plan ---- */

static void show(struct fedctl *ctl, const struct defrag *defrag)
{
    TF_AUTO_BUF text = TF_BUF_INIT;
    if (ctl->options.output == OUTPUT_JSON)
        view_json(&view_defrag, defrag, &text);
    else if (ctl->options.output == OUTPUT_YAML)
        view_yaml(&view_defrag, defrag, &text);
    else
        defrag_print(ctl, defrag, &text);
    out_buf(&ctl->out, &text);
}

static int plan_code(const struct tf_defrag_order *order, const struct tf_defrag_plan *plan)
{
    bool short_of = order->want > (order->total ? plan->before : 0) + plan->freed;
    return short_of ? PLAN_CANNOT : plan->moves.count ? PLAN_MOVES : PLAN_NOTHING;
}

static int tell_plan(struct fedctl *ctl, const struct defrag *defrag)
{
    struct tf_error err = TF_ERROR_INIT;
    if (defrag->plan->text) {
        message("%s", defrag->plan->text);
        return PLAN_ERROR;
    }
    show(ctl, defrag);
    if (ctl->options.out && defrag->plan->moves.count == 0)
        message("there is nothing to move: %s is not written", ctl->options.out);
    if (!ctl->options.out || defrag->plan->moves.count == 0)
        return plan_code(defrag->order, defrag->plan);
    if (defrag_save(defrag, ctl->options.out, &err)) {
        (void)fedctl_fail(ctl, &err);
        return PLAN_ERROR;
    }
    return plan_code(defrag->order, defrag->plan);
}

/* What plan takes, and does not fit together: an answer to another question than was asked helps nobody. */
static const char *plan_clash(const struct options *o)
{
    bool counts = strcmp(o->free, "max") != 0, sized = strcmp(o->unit, "whole") != 0;
    if (o->node_names.count && o->worst)
        return "--nodes and --worst both say which nodes: say one of them";
    if (o->for_job && (counts || sized))
        return "--for says how many of which size the job needs: leave --free and --unit out";
    if (o->window || o->wait || o->duration > 0 || o->reason)
        return "--window, --wait, --stop-after and --reason are of defrag apply: a plan moves nothing";
    return NULL;
}

static int plan(struct fedctl *ctl)
{
    const char *clash = plan_clash(&ctl->options);
    struct tf_request request = {.method = TF_METHOD_PLAN_DEFRAG};
    struct tf_reply reply = {0};
    struct tf_error err = TF_ERROR_INIT;
    int code = PLAN_ERROR;
    if (clash)
        return fedctl_usage(ctl, "%s", clash);
    if (!ctl->options.cluster)
        return fedctl_usage(ctl, "in which cluster? Say --cluster NAME (`fedctl get clusters`)");
    request.defrag.cluster = tf_strdup(ctl->options.cluster);
    if (take_order(ctl, &request.defrag.order, &err) || fedctl_call(ctl, &request, &reply, &err))
        (void)fedctl_fail(ctl, &err);
    else
        code = tell_plan(ctl, &(struct defrag){fedctl_now(), request.defrag.cluster, &request.defrag.order,
                                               &reply.defrag});
    tf_reply_release(&reply);
    tf_request_release(&request);
    return code;
}

/* ---- apply ---- */

/* Local time, "02:00-05:00"; the end may be of the next day. Minutes. */
static int take_window(const char *text, int64_t *from, int64_t *to, struct tf_error *err)
{
    int h1, m1, h2, m2, used = 0;
    int n = sscanf(text, "%2d:%2d-%2d:%2d%n", &h1, &m1, &h2, &m2, &used);
    if (n != 4 || text[used] || h1 < 0 || h1 > 23 || h2 < 0 || h2 > 23 || m1 < 0 || m1 > 59 || m2 < 0 ||
        m2 > 59)
        return tf_error_set(err, TF_ERR_INVALID, "--window takes local times like 02:00-05:00, not \"%.50s\"",
                            text);
    *from = 60 * h1 + m1;
    *to = 60 * h2 + m2;
    if (*from == *to && *from != 0) /* that from midnight to midnight is the whole day */
        return tf_error_set(err, TF_ERR_INVALID, "--window %s begins when it ends: leave it out for any time",
                            text);
    return 0;
}

/* How long until the window opens, 0: it is open; ms. */
static int64_t until_open(int64_t from, int64_t to, struct tf_wall now)
{
    time_t seconds = (time_t)(now.ms / TF_SECOND);
    struct tm local;
    localtime_r(&seconds, &local);
    int64_t minute = 60 * local.tm_hour + local.tm_min, length = (to - from + DAY_MINUTES) % DAY_MINUTES;
    int64_t inside = (minute - from + DAY_MINUTES) % DAY_MINUTES;
    if (inside < length || length == 0)
        return 0;
    return (DAY_MINUTES - inside) * TF_MINUTE - local.tm_sec * TF_SECOND - now.ms % TF_SECOND;
}

static void sleep_for(int64_t ms)
{
    struct timespec left = {.tv_sec = ms / TF_SECOND, .tv_nsec = ms % TF_SECOND * 1000000};
    while (nanosleep(&left, &left) && errno == EINTR)
        ;
}

/* Nothing has been asked yet: whoever ends it here has lost nothing. */
static void wait_for_window(const struct fedctl *ctl, int64_t from, int64_t to)
{
    int64_t wait;
    char text[WHEN_TEXT];
    if (until_open(from, to, fedctl_now()) > 0)
        message("waiting %s for %s", when_span(until_open(from, to, fedctl_now()), text),
                ctl->options.window);
    while ((wait = until_open(from, to, fedctl_now())) > 0)
        sleep_for(wait < TF_MINUTE ? wait : TF_MINUTE);
}

/* What is carried out is what the subcluster plans again, if it is the plan of that digest; so what the file
 * says of it must be as it was written, or another plan than this one was read. One of another digest is
 * refused by the subcluster. */
static int check_unedited(struct fedctl *ctl, const char *path, const struct defrag_doc *doc, uint64_t digest,
                          struct tf_error *err)
{
    struct tf_request request = {.method = TF_METHOD_PLAN_DEFRAG};
    struct tf_reply reply = {0};
    request.defrag.cluster = tf_strdup(doc->cluster);
    tf_defrag_order_copy(&request.defrag.order, &doc->order);
    int failed = fedctl_call(ctl, &request, &reply, err);
    TF_AUTO_FREE char *difference = NULL;
    if (!failed && !reply.defrag.text && reply.defrag.digest == digest)
        difference = defrag_difference(doc, &reply.defrag);
    if (difference)
        failed =
            tf_error_set(err, TF_ERR_INVALID,
                         "%s was changed since it was written, or cut short: %s. What would be done is not "
                         "what it says: make it again with `fedctl defrag plan --out`",
                         path, difference);
    tf_reply_release(&reply);
    tf_request_release(&request);
    return failed;
}

static int send_plan(struct fedctl *ctl, const struct defrag_doc *doc, uint64_t digest)
{
    struct tf_request request = {.method = TF_METHOD_DEFRAG};
    struct tf_reply reply = {0};
    struct tf_error err = TF_ERROR_INIT;
    int code = FEDCTL_DONE;
    char id[TF_UID_TEXT];
    request.defrag.cluster = tf_strdup(doc->cluster);
    tf_defrag_order_copy(&request.defrag.order, &doc->order);
    request.defrag.order.apply = true;
    request.defrag.order.digest = digest;
    tf_str_set(&request.defrag.order.reason, ctl->options.reason);
    if (submission_uid(&request.defrag.order.id, &err) || fedctl_call(ctl, &request, &reply, &err))
        code = fedctl_fail_about(ctl, doc->cluster, &err);
    else {
        change_warnings(&reply.change);
        tf_uid_format(request.defrag.order.id, id);
        out_fmt(&ctl->out, "cluster %s: %zu move%s begun as %s\n", doc->cluster, doc->moves.count,
                doc->moves.count == 1 ? "" : "s", id);
        /* with a warning there was nothing to do */
        if ((ctl->options.wait || ctl->options.duration > 0) && reply.change.warnings.count == 0)
            code = defrag_follow(ctl, doc, request.defrag.order.id);
    }
    tf_reply_release(&reply);
    tf_request_release(&request);
    return code;
}

/* The file says what is moved: whoever says something else beside it would get less than was asked. */
static bool says_what(const struct options *o)
{
    return o->cluster || o->model || o->node_names.count || o->worst || o->domain || o->for_job ||
           o->max_moves || o->allow_restart || o->out || strcmp(o->free, "max") != 0 ||
           strcmp(o->unit, "whole") != 0;
}

static int apply(struct fedctl *ctl)
{
    struct defrag_doc doc;
    struct tf_error err = TF_ERROR_INIT;
    uint64_t digest;
    int64_t from = 0, to = 0;
    if (ctl->words.count != 2)
        return fedctl_usage(ctl, "defrag apply which plan? Say a FILE of `fedctl defrag plan --out FILE`");
    if (says_what(&ctl->options))
        return fedctl_usage(ctl, "defrag apply does what its file says: other options than --window, --wait, "
                                 "--stop-after and --reason are of defrag plan");
    if (ctl->options.window && take_window(ctl->options.window, &from, &to, &err))
        return fedctl_usage(ctl, "%s", err.text);
    if (defrag_load(ctl->words.items[1], &doc, &digest, &err))
        return fedctl_fail(ctl, &err);
    int code = FEDCTL_DONE;
    if (check_unedited(ctl, ctl->words.items[1], &doc, digest, &err))
        code = fedctl_fail(ctl, &err);
    else {
        if (ctl->options.window)
            wait_for_window(ctl, from, to);
        code = send_plan(ctl, &doc, digest);
    }
    tf_table_release(&defrag_doc_table, &doc);
    return code;
}

static int run(struct fedctl *ctl)
{
    const char *word = ctl->words.count ? ctl->words.items[0] : "";
    if (strcmp(word, "plan") == 0 && ctl->words.count == 1)
        return plan(ctl);
    if (strcmp(word, "plan") == 0)
        return fedctl_usage(ctl, "defrag plan takes no names, not \"%.100s\"; see --nodes",
                            ctl->words.items[1]);
    if (strcmp(word, "apply") == 0)
        return apply(ctl);
    return fedctl_usage(ctl, "defrag plan --cluster CLUSTER [--out FILE], or defrag apply FILE");
}

const struct verb verb_defrag = {
    .name = "defrag",
    .usage = "plan --cluster CLUSTER [--model MODEL] [--free N|max] [--unit GPUS] [--nodes A,B | --worst N]"
             " [--domain LEVEL | --for TENANT/NAME] [--max-moves N] [--allow-restart] [--out FILE]\n"
             "apply FILE [--window HH:MM-HH:MM] [--wait] [--stop-after TIME] [--reason TEXT]",
    .help = "Move instances so that whole nodes are free: a plan first, then exactly that",
    .more =
        "The subcluster answers with the fewest moves to as many nodes as can be had: what is moved, in "
        "which order, and what\n"
        "no plan could better. Nothing moves: instances of jobs with migration: never (or restart, unless "
        "allowed), of jobs at\n"
        "their readyMin or that are changing, and what a required topology or spread would not allow.\n"
        "Exit code of plan: 0 nothing to do, 1 moves, 2 less than was asked for can be freed, 3 no "
        "answer.\n\n"
        "apply carries out the plan that was read and no other: it is refused when the cluster has changed "
        "so that the\n"
        "answer would differ. Each instance has a new one ready in its new place before the old one stops. "
        "Nodes that are\n"
        "being emptied take nothing until it is over. What was freed --for a job is kept for it until it "
        "starts, at most an\n"
        "hour: others of its priority or lower go elsewhere. `fedctl freeze moves` stops what has not "
        "begun.\n"
        "--wait tells how far it is, and at the end what came of the plan: exit code 1 if less was freed. "
        "Ctrl-C ends only that.",
    .examples = "fedctl defrag plan --cluster bj-a --model H800\n"
                "fedctl defrag plan --cluster bj-a --nodes n3,n7\n"
                "# Room for a job that waits\n"
                "fedctl defrag plan --cluster bj-a --for llm/pretrain\n"
                "# Look first, then do exactly that, at night\n"
                "fedctl defrag plan --cluster bj-a --free 4 --out four.plan\n"
                "fedctl defrag apply four.plan --window 02:00-05:00\n",
    .options = OPTION_LIST(options),
    .run = run,
};
