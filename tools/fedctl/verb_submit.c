/* SPDX-License-Identifier: Apache-2.0 */
/* Owns submit: a job from a command line instead of a manifest, as users of sbatch, srun and `nomad run` are
 * used to. Its options are rows of the job that is made of them; what is not an option is a matter for a
 * manifest. */
#include "common/base/cleanup.h"
#include "common/base/name.h"
#include "common/base/text.h"
#include "common/model/manifest.h"
#include "tools/fedctl/change.h"
#include "tools/fedctl/submission.h"
#include "tools/fedctl/view.h"
#include "tools/fedctl/waiting.h"

#include <ctype.h>

#define O struct options
static const struct option options[] = {
    {'J',
     "NAME",
     {.key = "name", TF_NAME(O, job.name), .help = "of the job; absent = made from the command"}},
    OPTION_TENANT,
    {'p',
     "CLASS",
     {.key = "priority",
      TF_NAME(O, job.spec.priority),
      .help = "a class of the federation; absent = `priority:` of fedctl.yaml"}},
    {0,
     "KIND",
     {.key = "workload",
      TF_ENUM(O, job.spec.workload, "inference", "training", "offline", "debug"),
      .help = "inference, training, offline or debug: sets defaults; absent = offline"}},
    {'n', "N", {.key = "instances", TF_INT32(O, instances), .help = "identical instances; absent = 1"}},
    {0, "N", {.key = "min", TF_INT32(O, job.spec.elastic.min), .help = "elastic: instances that it needs"}},
    {0, "N", {.key = "max", TF_INT32(O, job.spec.elastic.max), .help = "elastic: most that it can use"}},
    {0,
     "N",
     {.key = "step", TF_INT32(O, job.spec.elastic.step), .help = "elastic: they come and go by so many"}},
    {'g',
     "N",
     {.key = "gpus",
      TF_INT32(O, job.spec.group.shape.gpus),
      .help = "of each instance, on one node; absent = 0"}},
    {0,
     "MODEL",
     {.key = "gpu-model",
      TF_STRINGS(O, models),
      .help = "H800 or H800,H100, in order of preference; absent = any"}},
    {0,
     "SIZE",
     {.key = "gpu-memory",
      TF_MEMORY(O, job.spec.group.shape.gpu_memory),
      .flags = TF_ROW_ZERO,
      .help = "least memory of each GPU: 80Gi"}},
    {0,
     "CORES",
     {.key = "cpu",
      TF_CPU(O, job.spec.group.shape.cpu),
      .flags = TF_ROW_ZERO,
      .help = "of each instance: 4 or 500m"}},
    {0,
     "SIZE",
     {.key = "memory",
      TF_MEMORY(O, job.spec.group.shape.memory),
      .flags = TF_ROW_ZERO,
      .help = "of each instance: 64Gi"}},
    {0, "IMAGE", {.key = "image", TF_STRING(O, job.spec.group.image), .help = "for engines that use images"}},
    {'e', "KEY=VALUE", {.key = "env", TF_STRINGS(O, env), .help = "of the instances; may be repeated"}},
    {0, "NAME", {.key = "port", TF_NAMES(O, job.spec.group.ports), .help = "a named port; may be repeated"}},
    {'l',
     "KEY=VALUE",
     {.key = "label", TF_STRINGS(O, labels), .help = "of the job, for selectors; may be repeated"}},
    {'c',
     "CLUSTER",
     {.key = "cluster", TF_STRINGS(O, clusters), .help = "only there: bj-a or bj-a,gz-b; absent = any"}},
    {0,
     "TIME",
     {.key = "max-runtime",
      TF_DURATION(O, job.spec.max_runtime),
      .help = "it is stopped after so long: 12h"}},
    {0,
     "N",
     {.key = "retries", TF_INT32(O, job.spec.retry_limit), .help = "of failed instances; absent = 3"}},
    {0, NULL, {.key = "dry-run", TF_BOOL(O, dry_run), .help = "only say what would happen"}},
    {0, NULL, {.key = "wait", TF_BOOL(O, wait), .help = "until it has ended: exit 0 only if it succeeded"}},
    {'o',
     "FORMAT",
     {.key = "output",
      TF_ENUM(O, output, "table", "json", "yaml", "wide", "name"),
      .def = "table",
      .help = "name: only TENANT/NAME, for scripts; yaml or json: the job as a manifest"}},
};
#undef O

/* ---- the job ---- */

/* "H800,H100" and repeated options are the same. */
static void split(const struct tf_strs *from, struct tf_strs *to)
{
    for (size_t i = 0; i < from->count; i++)
        for (const char *at = from->items[i]; *at;) {
            size_t len = strcspn(at, ",");
            TF_AUTO_FREE char *one = tf_strndup(at, len);
            tf_strs_add(to, one);
            at += len + (at[len] == ',');
        }
}

static int take_pairs(const struct tf_strs *from, const char *option, struct tf_pairs *to,
                      struct tf_error *err)
{
    for (size_t i = 0; i < from->count; i++) {
        const char *text = from->items[i], *equals = strchr(text, '=');
        if (!equals || equals == text)
            return tf_error_set(err, TF_ERR_INVALID, "--%s: \"%.100s\" is not KEY=VALUE", option, text);
        TF_AUTO_FREE char *key = tf_strndup(text, (size_t)(equals - text));
        tf_pairs_set(to, key, equals + 1);
    }
    return 0;
}

/* "./Train_LLM.py" gives "train-llm.py-x7k2m": a name that is legal and new. */
static int make_name(const char *command, char **name, struct tf_error *err)
{
    enum { STEM_MAX = 32 };
    char suffix[SUBMISSION_SUFFIX + 1];
    const char *slash = strrchr(command, '/');
    TF_AUTO_BUF buf = TF_BUF_INIT;
    for (const char *at = slash ? slash + 1 : command; *at && buf.len < STEM_MAX; at++) {
        char c = (char)tolower((unsigned char)*at);
        bool letter = isalnum((unsigned char)c) && (unsigned char)c < 0x80;
        bool inside = buf.len && buf.data[buf.len - 1] != '-' && buf.data[buf.len - 1] != '.';
        if (letter)
            tf_buf_char(&buf, c);
        else if (inside)
            tf_buf_char(&buf, c == '.' ? '.' : '-');
    }
    if (submission_suffix(suffix, err))
        return -1;
    while (buf.len && !isalnum((unsigned char)buf.data[buf.len - 1]))
        buf.len--;
    tf_buf_str(&buf, buf.len ? "-" : "job-");
    tf_buf_str(&buf, suffix);
    *name = tf_buf_take(&buf);
    return 0;
}

static int take_sizes(const struct options *o, struct tf_elastic *e, struct tf_error *err)
{
    bool elastic = e->min || e->max || e->step;
    if (o->instances && elastic)
        return tf_error_set(
            err, TF_ERR_INVALID,
            "--instances is for a job of one size; an elastic one has --min, --max and --step");
    if (o->instances)
        *e = (struct tf_elastic){o->instances, o->instances, o->instances};
    else if (elastic && (!e->min || !e->max))
        return tf_error_set(err, TF_ERR_INVALID, "an elastic job needs --min and --max");
    return 0;
}

static int take_job(struct fedctl *ctl, struct tf_error *err)
{
    struct options *o = &ctl->options;
    struct tf_job_manifest *job = &o->job;
    tf_str_set(&job->tenant, o->tenant);
    if (!job->spec.priority)
        tf_str_set(&job->spec.priority, ctl->config.priority);
    split(&o->models, &job->spec.group.shape.gpu_models);
    split(&o->clusters, &job->spec.clusters);
    tf_strs_copy(&job->spec.group.command, &ctl->words);
    if (take_sizes(o, &job->spec.elastic, err) || take_pairs(&o->env, "env", &job->spec.group.env, err) ||
        take_pairs(&o->labels, "label", &job->labels, err))
        return -1;
    tf_job_spec_fill(&job->spec);
    return job->name ? 0 : make_name(ctl->words.items[0], &job->name, err);
}

/* ---- complaints, in the words of the options ---- */

static const struct {
    const char *path, *option;
} paths[] = {
    {"metadata.tenant", "--tenant"},
    {"metadata.name", "--name"},
    {"metadata.labels", "--label"},
    {"spec.priority", "--priority"},
    {"spec.elastic.min", "--min"},
    {"spec.elastic.max", "--max"},
    {"spec.elastic.step", "--step"},
    {"spec.elastic", "--instances"},
    {"spec.instances", "--instances"},
    {"spec.instance.gpus", "--gpus"},
    {"spec.instance.gpuModels", "--gpu-model"},
    {"spec.instance.gpuMemory", "--gpu-memory"},
    {"spec.instance.cpu", "--cpu"},
    {"spec.instance.memory", "--memory"},
    {"spec.instance.image", "--image"},
    {"spec.instance.env", "--env"},
    {"spec.instance.ports", "--port"},
    {"spec.instance.command", "the command"},
    {"spec.maxRuntime", "--max-runtime"},
    {"spec.retries", "--retries"},
    {"spec.placement.clusters", "--cluster"},
};

static const char *option_of(const char *path, const struct options *o)
{
    bool sized = o->instances > 0;
    if (sized && tf_starts_with(path, "spec.elastic"))
        return "--instances";
    for (size_t i = 0; i < TF_ARRAY_LEN(paths); i++)
        if (tf_starts_with(path, paths[i].path))
            return paths[i].option;
    return path;
}

static void complain(const struct fedctl *ctl, const struct tf_complaints *complaints)
{
    for (size_t i = 0; i < complaints->count; i++)
        message("%s: %s", option_of(complaints->items[i].path, &ctl->options), complaints->items[i].text);
}

/* ---- the verb ---- */

static int check(struct fedctl *ctl)
{
    struct tf_complaints complaints = {0};
    if (!ctl->options.job.tenant)
        return fedctl_usage(ctl, "whose job is it? Say --tenant, or put `tenant:` into fedctl.yaml");
    if (!ctl->options.job.spec.priority)
        return fedctl_usage(ctl,
                            "how important is it? Say --priority CLASS, or put `priority:` into fedctl.yaml");
    int code = FEDCTL_DONE;
    if (!tf_job_manifest_check(&ctl->options.job, &complaints)) {
        complain(ctl, &complaints);
        code = fedctl_usage(ctl, "nothing was sent");
    }
    tf_complaints_release(&complaints);
    return code;
}

static void print_done(struct fedctl *ctl, const struct tf_change_reply *answer)
{
    const struct tf_job_manifest *job = &ctl->options.job;
    TF_AUTO_BUF text = TF_BUF_INIT;
    change_warnings(answer);
    if (ctl->options.output == OUTPUT_NAME)
        tf_buf_fmt(&text, "%s/%s\n", job->tenant, job->name);
    else if (ctl->options.output == OUTPUT_JSON)
        view_json(&view_manifest, job, &text);
    else if (ctl->options.output == OUTPUT_YAML)
        view_yaml(&view_manifest, job, &text);
    else
        tf_buf_fmt(&text, "job %s/%s %s%s\n", job->tenant, job->name, submission_word(answer->outcome),
                   ctl->options.dry_run ? " (dry run)" : "");
    out_buf(&ctl->out, &text);
}

static int wait_for_end(struct fedctl *ctl, const struct tf_change_reply *answer)
{
    struct tf_job_manifest *job = &ctl->options.job;
    struct tf_job_ref ref = {.tenant = job->tenant, .name = job->name, .uid = answer->uid}; /* lent */
    if (!ctl->options.wait || ctl->options.dry_run)
        return FEDCTL_DONE;
    return waiting_for_job(ctl, &ref, WAIT_SUCCEEDED, CLIENT_NO_LIMIT);
}

static int send(struct fedctl *ctl)
{
    const struct tf_job_manifest *job = &ctl->options.job;
    const struct submission submission = {
        .manifest = job, .mode = TF_SUBMIT_CREATE, .dry_run = ctl->options.dry_run};
    struct tf_change_reply answer;
    struct tf_error_detail detail;
    struct tf_error err = TF_ERROR_INIT;
    int code = FEDCTL_DONE;
    if (submission_send(ctl, &submission, &answer, &detail, &err)) {
        TF_AUTO_FREE char *name = tf_asprintf("%s/%s", job->tenant, job->name);
        complain(ctl, &detail.complaints);
        code = fedctl_fail_about(ctl, name, &err);
    } else {
        print_done(ctl, &answer);
        code = wait_for_end(ctl, &answer);
    }
    submission_release(&answer, &detail);
    return code;
}

static int run(struct fedctl *ctl)
{
    struct tf_error err = TF_ERROR_INIT;
    if (ctl->words.count == 0)
        return fedctl_usage(ctl, "which command? For example: fedctl submit --gpus 8 -- python train.py");
    if (take_job(ctl, &err))
        return fedctl_usage(ctl, "%s", err.text);
    int code = check(ctl);
    return code ? code : send(ctl);
}

const struct verb verb_submit = {
    .name = "submit",
    .usage = "[OPTION...] [--] COMMAND [ARGUMENT...]",
    .help = "Run a command as a job",
    .more = "Options end with the command: what follows is its own. -o yaml --dry-run prints the manifest, "
            "to be kept and\n"
            "applied; whatever has no option here (topology, readiness, ...) is said in a manifest.",
    .examples =
        "fedctl submit --tenant llm --priority batch --gpus 8 -n 4 -- python train.py --lr 3e-4\n"
        "# In a script: the name, then the end\n"
        "job=$(fedctl submit -p batch --gpus 1 -o name ./eval.sh) && fedctl wait $job --for=finished\n"
        "# As srun: wait, and fail if it fails\n"
        "fedctl submit -p batch --gpus 1 --wait nvidia-smi\n"
        "# From 2 to 8 instances, in pairs\n"
        "fedctl submit -p offline --gpus 4 --min 2 --max 8 --step 2 ./refresh.sh\n"
        "# A manifest to go on from\n"
        "fedctl submit -p batch --gpus 8 --dry-run -o yaml ./train.sh > job.yaml\n",
    .options = OPTION_LIST(options),
    .takes_command = true,
    .run = run,
};
