/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what holds between the fields of a job: defaults by workload, rules, what may change under way, and
 * the arithmetic of sizes. What each field is by itself is said by the rows of manifest.c. */
#include "common/model/job.h"

#include "common/base/clock.h"
#include "common/base/row.h"
#include "common/base/text.h"
#include "common/model/manifest.h"
#include "common/model/selector.h"

#include <inttypes.h>

void tf_job_spec_init(struct tf_job_spec *spec)
{
    tf_table_init(&tf_job_spec_table, spec);
}

void tf_job_spec_release(struct tf_job_spec *spec)
{
    tf_table_release(&tf_job_spec_table, spec);
}

void tf_job_spec_copy(struct tf_job_spec *to, const struct tf_job_spec *from)
{
    tf_table_copy(&tf_job_spec_table, to, from);
}

bool tf_job_spec_eq(const struct tf_job_spec *a, const struct tf_job_spec *b)
{
    return tf_table_eq(&tf_job_spec_table, a, b);
}

void tf_job_manifest_init(struct tf_job_manifest *manifest)
{
    tf_table_init(&tf_job_manifest_table, manifest);
}

void tf_job_manifest_release(struct tf_job_manifest *manifest)
{
    tf_table_release(&tf_job_manifest_table, manifest);
}

void tf_job_manifest_copy(struct tf_job_manifest *to, const struct tf_job_manifest *from)
{
    tf_table_copy(&tf_job_manifest_table, to, from);
}

bool tf_job_manifest_eq(const struct tf_job_manifest *a, const struct tf_job_manifest *b)
{
    return tf_table_eq(&tf_job_manifest_table, a, b);
}

/* ---- defaults ---- */

/* DESIGN.md §3, "default of". */
static const struct defaults {
    enum tf_below_min below_min;
    enum tf_grow grow;
    enum tf_on_resize on_resize;
    enum tf_migration_rule migration;
    int64_t max_runtime;
} defaults[] = {
    [TF_WORKLOAD_INFERENCE] = {TF_BELOW_MIN_KEEP, TF_GROW_CONTINUOUS, TF_ON_RESIZE_NONE, TF_MIGRATION_ALLOW,
                               0},
    [TF_WORKLOAD_TRAINING] = {TF_BELOW_MIN_STOP, TF_GROW_ON_RESTART, TF_ON_RESIZE_RESTART,
                              TF_MIGRATION_RESTART, 0},
    [TF_WORKLOAD_OFFLINE] = {TF_BELOW_MIN_KEEP, TF_GROW_CONTINUOUS, TF_ON_RESIZE_NONE, TF_MIGRATION_ALLOW, 0},
    [TF_WORKLOAD_DEBUG] = {TF_BELOW_MIN_KEEP, TF_GROW_NEVER, TF_ON_RESIZE_NONE, TF_MIGRATION_NEVER,
                           8 * TF_HOUR},
};

/* Puts value into an enum that was not said. */
#define fill(field, value)   \
    do {                     \
        if ((field) == 0)    \
            (field) = value; \
    } while (0)

static void fill_elastic(struct tf_elastic *e, bool all_or_none)
{
    if (all_or_none)
        e->max = e->step = e->min;
    fill(e->step, 1);
    fill(e->min, e->step);
    fill(e->max, e->min);
}

void tf_job_spec_fill(struct tf_job_spec *spec)
{
    fill(spec->workload, TF_WORKLOAD_OFFLINE);
    if ((unsigned)spec->workload > TF_WORKLOAD_DEBUG)
        return; /* came from a peer; the check complains */
    const struct defaults *d = &defaults[spec->workload];
    fill(spec->below_min, d->below_min);
    fill(spec->grow, d->grow);
    fill(spec->on_resize, d->on_resize);
    fill(spec->migration, d->migration);
    if (spec->max_runtime == TF_UNSET)
        spec->max_runtime = d->max_runtime;
    fill(spec->completion, TF_COMPLETION_ALL);
    fill(spec->on_cluster_lost, TF_CLUSTER_LOST_WAIT);
    fill_elastic(&spec->elastic, tf_is_reservation(spec));
    tf_vec_each (rule, &spec->topology) {
        fill(rule->of, TF_TOPOLOGY_OF_JOB);
        fill(rule->mode, TF_TOPOLOGY_REQUIRE);
    }
}

/* ---- rules ---- */

static void check_multiple(const char *path, int32_t n, int32_t step, struct tf_complaints *out)
{
    int32_t below = n - n % step, above = below + step;
    if (n % step == 0)
        return;
    if (below > 0 && above <= TF_INSTANCES_MAX)
        tf_complaints_add(out, path,
                          "%" PRId32 " is not a multiple of step %" PRId32
                          "; the nearest legal values are %" PRId32 " and %" PRId32,
                          n, step, below, above);
    else
        tf_complaints_add(out, path,
                          "%" PRId32 " is not a multiple of step %" PRId32
                          "; the nearest legal value is %" PRId32,
                          n, step, below > 0 ? below : above);
}

static void check_elastic(const struct tf_job_spec *spec, struct tf_complaints *out)
{
    const struct tf_elastic *e = &spec->elastic;
    check_multiple("spec.elastic.min", e->min, e->step, out);
    check_multiple("spec.elastic.max", e->max, e->step, out);
    if (e->min > e->max)
        tf_complaints_add(out, "spec.elastic.min", "%" PRId32 " is more than max, which is %" PRId32, e->min,
                          e->max);
    if (spec->ready_min > e->min)
        tf_complaints_add(out, "spec.readyMin",
                          "%" PRId32 " is more than the %" PRId32
                          " instances of the core (elastic.min): nothing could ever be moved",
                          spec->ready_min, e->min);
}

static bool word(const char *s, const char *others)
{
    for (; *s; s++)
        if (!(*s >= 'a' && *s <= 'z') && !(*s >= 'A' && *s <= 'Z') && !(*s >= '0' && *s <= '9') &&
            !strchr(others, *s))
            return false;
    return true;
}

static void check_unique(const char *path, const struct tf_strs *list, struct tf_complaints *out)
{
    for (size_t i = 0; i < list->count; i++)
        for (size_t k = 0; k < i; k++)
            if (tf_str_eq(list->items[i], list->items[k])) {
                char at[64];
                snprintf(at, sizeof at, "%s[%zu]", path, i);
                tf_complaints_add(out, at, "\"%.63s\" is in the list twice", list->items[i]);
                break;
            }
}

/* The engine's answer, "name=31234" a port of an instance, is in the subcluster's record of the job, which is
 * one value of its store. */
static void check_port_room(const struct tf_job_spec *spec, struct tf_complaints *out)
{
    enum { NUMBER = 8, ROOM = 256 * 1024 };
    size_t each = 0;
    tf_vec_each (port, &spec->group.ports)
        each += strlen(*port) + NUMBER;
    if (each > 0 && (size_t)spec->elastic.max > ROOM / each)
        tf_complaints_add(
            out, "spec.instance.ports",
            "%d instances with these ports are too many for one record: at most %zu, or fewer or shorter "
            "names",
            spec->elastic.max, (size_t)ROOM / each);
}

/* Labels are written in selectors (a=b,c=d) and in schedule rows. */
static void check_labels(const char *path, const struct tf_pairs *labels, struct tf_complaints *out)
{
    tf_vec_each (label, labels) {
        char at[TF_KEY_MAX + 64];
        snprintf(at, sizeof at, "%s.%s", path, label->key);
        if (!word(label->key, "-_./"))
            tf_complaints_add(out, at, "a label's key has only letters, digits, '-', '_', '.' and '/'");
        if (!word(label->value, "-_./"))
            tf_complaints_add(out, at, "a label's value has only letters, digits, '-', '_', '.' and '/'");
    }
}

static bool env_name(const char *key)
{
    return word(key, "_") && !(*key >= '0' && *key <= '9');
}

static void check_env(const struct tf_pairs *env, struct tf_complaints *out)
{
    tf_vec_each (pair, env) {
        char at[TF_KEY_MAX + 64];
        snprintf(at, sizeof at, "spec.instance.env.%s", pair->key);
        if (!env_name(pair->key))
            tf_complaints_add(
                out, at,
                "a variable's name has only letters, digits and '_', and does not begin with a digit");
        else if (tf_starts_with(pair->key, "TIDEFED_") || tf_str_eq(pair->key, "CUDA_VISIBLE_DEVICES"))
            tf_complaints_add(out, at, "this variable is set by the engine and cannot be set here");
    }
}

static void check_shape(const struct tf_shape *shape, struct tf_complaints *out)
{
    if (shape->gpus == 0 && shape->gpu_models.count)
        tf_complaints_add(out, "spec.instance.gpuModels", "means nothing with gpus: 0; leave it out");
    if (shape->gpus == 0 && shape->gpu_memory)
        tf_complaints_add(out, "spec.instance.gpuMemory", "means nothing with gpus: 0; leave it out");
    for (size_t i = 0; i < shape->gpu_models.count; i++)
        if (!word(shape->gpu_models.items[i], "-_.")) {
            char at[64];
            snprintf(at, sizeof at, "spec.instance.gpuModels[%zu]", i);
            tf_complaints_add(out, at, "a GPU model has only letters, digits, '-', '_' and '.', as in H800");
        }
    check_unique("spec.instance.gpuModels", &shape->gpu_models, out);
}

static void check_topology(const struct tf_job_spec *spec, struct tf_complaints *out)
{
    for (size_t i = 0; i < spec->topology.count; i++) {
        const struct tf_topology_rule *rule = &spec->topology.items[i];
        if (spec->max_nodes && rule->of == TF_TOPOLOGY_OF_STEP && rule->mode == TF_TOPOLOGY_REQUIRE) {
            char at[64];
            snprintf(at, sizeof at, "spec.topology[%zu].of", i);
            tf_complaints_add(
                out, at,
                "a required domain of each step cannot be combined with spread.maxNodes; use mode: "
                "prefer, or leave maxNodes out");
        }
    }
}

static void check_signal(const struct tf_job_spec *spec, struct tf_complaints *out)
{
    static const char *const known[] = {"SIGHUP",  "SIGINT",  "SIGQUIT", "SIGUSR1", "SIGUSR2",
                                        "SIGALRM", "SIGTERM", "SIGCONT", "SIGURG",  "SIGWINCH"};
    if (spec->on_resize != TF_ON_RESIZE_SIGNAL)
        return;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (tf_str_eq(spec->resize_signal, known[i]))
            return;
    const char *nearest = tf_nearest(spec->resize_signal, known, sizeof known / sizeof known[0]);
    tf_complaints_add(out, "spec.onResize", "\"%.40s\" is no signal that can be used; use for example %s",
                      spec->resize_signal, nearest ? nearest : "SIGUSR1");
}

static void check_runtimes(const struct tf_job_spec *spec, struct tf_complaints *out)
{
    if (spec->max_runtime && spec->min_runtime > spec->max_runtime)
        tf_complaints_add(out, "spec.minRuntime", "is longer than maxRuntime");
}

static void check_owner(const struct tf_owner *owner, struct tf_complaints *out)
{
    struct tf_selector selector = {0};
    struct tf_error err = TF_ERROR_INIT;
    if (owner->selector && tf_selector_parse(owner->selector, &selector, &err))
        tf_complaints_add(out, "spec.owner.selector", "%s", err.text);
    if (!owner->tenant)
        tf_complaints_add(out, "spec.owner.tenant", "is missing");
    tf_selector_release(&selector);
}

static void check_reserve(const struct tf_job_spec *spec, struct tf_complaints *out)
{
    if (!tf_is_reservation(spec))
        return;
    check_owner(&spec->reserve.owner, out);
    if (spec->group.shape.gpus == 0)
        tf_complaints_add(out, "spec.instance.gpus",
                          "is missing: what is reserved are GPUs, at least one an instance");
}

void tf_job_manifest_check_rules(const struct tf_job_manifest *manifest, struct tf_complaints *out)
{
    const struct tf_job_spec *spec = &manifest->spec;
    check_labels("metadata.labels", &manifest->labels, out);
    check_labels("spec.nodes.labels", &spec->node_labels, out);
    check_elastic(spec, out);
    check_shape(&spec->group.shape, out);
    check_env(&spec->group.env, out);
    check_unique("spec.instance.ports", &spec->group.ports, out);
    check_port_room(spec, out);
    check_unique("spec.placement.clusters", &spec->clusters, out);
    check_unique("spec.placement.regions", &spec->regions, out);
    check_topology(spec, out);
    check_signal(spec, out);
    check_runtimes(spec, out);
    check_reserve(spec, out);
    size_t weight = tf_table_weight(&tf_job_manifest_table, manifest);
    if (weight > TF_MANIFEST_WEIGHT_MAX)
        tf_complaints_add(out, "spec",
                          "is too large: about %zu KiB of text, at most %d KiB can be stored; keep big "
                          "inputs in files or images",
                          weight / 1024, TF_MANIFEST_WEIGHT_MAX / 1024);
}

/* What its rows do not name it cannot say: a client may have sent more. */
static bool says_no_more(const struct tf_job_manifest *manifest, struct tf_complaints *out)
{
    struct tf_job_manifest said = {0};
    tf_job_manifest_copy(&said, manifest);
    tf_reservation_settle(&said);
    bool same = tf_job_manifest_eq(&said, manifest);
    if (!same)
        tf_complaints_add(out, "spec", "has something that only a job has; a reservation starts nothing");
    tf_job_manifest_release(&said);
    return same;
}

bool tf_job_manifest_check(const struct tf_job_manifest *manifest, struct tf_complaints *out)
{
    if (!tf_table_check(tf_manifest_table_of(&manifest->spec), manifest, out))
        return false;
    return !tf_is_reservation(&manifest->spec) || says_no_more(manifest, out);
}

bool tf_owner_admits(const struct tf_owner *owner, const char *tenant, const char *name,
                     const struct tf_pairs *labels)
{
    struct tf_selector selector = {0};
    if (!tf_str_eq(owner->tenant, tenant) || (owner->job && !tf_str_eq(owner->job, name)))
        return false;
    if (!owner->selector)
        return true;
    bool match =
        tf_selector_parse(owner->selector, &selector, NULL) == 0 && tf_selector_match(&selector, labels);
    tf_selector_release(&selector);
    return match;
}

void tf_job_spec_immutable_diff(const struct tf_job_spec *a, const struct tf_job_spec *b, struct tf_strs *out)
{
    struct tf_strs paths = {0};
    tf_table_diff(&tf_job_spec_table, a, b, TF_ROW_RELOADABLE, &paths);
    tf_vec_each (path, &paths) {
        char *full = tf_asprintf("spec.%s", *path);
        tf_strs_add(out, full);
        free(full);
    }
    /* Unlike a job's size: what a reservation keeps was packed as one, and does not grow or shrink. */
    if (tf_is_reservation(a) && a->elastic.min != b->elastic.min)
        tf_strs_add(out, "spec.count");
    tf_strs_release(&paths);
}

/* ---- sizes (DESIGN.md §4) ---- */

int32_t tf_size_align(const struct tf_elastic *e, int32_t available)
{
    int32_t n = available < e->max ? available : e->max;
    return n <= 0 || e->step <= 0 ? 0 : n - n % e->step;
}

bool tf_elastic_eq(const struct tf_elastic *a, const struct tf_elastic *b)
{
    return a->min == b->min && a->max == b->max && a->step == b->step;
}

bool tf_size_legal(const struct tf_elastic *e, int32_t n, bool short_job)
{
    if (n < 0 || n > e->max || e->step <= 0 || n % e->step != 0)
        return false;
    return n == 0 || n >= e->min || short_job;
}
