/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/random_job.h"

#include "common/base/cleanup.h"
#include "common/model/manifest.h"
#include "tests/support/random_rows.h"

static void words(struct tf_rng *rng, const char *format, struct tf_strs *list)
{
    tf_strs_release(list);
    for (uint64_t n = tf_rng_below(rng, 4); n > 0; n--) {
        TF_AUTO_FREE char *word = tf_asprintf("%s%llu", format, (unsigned long long)n);
        tf_strs_add(list, word);
    }
}

static void labels(struct tf_rng *rng, struct tf_pairs *map)
{
    static const char *const keys[] = {"team", "a.b/c", "on", "1", "disk_x"}, *const values[] = {"", "no",
                                                                                                 "1e3", "x/y",
                                                                                                 "-"};
    tf_pairs_release(map);
    for (uint64_t n = tf_rng_below(rng, 4); n > 0; n--)
        tf_pairs_set(map, keys[tf_rng_below(rng, 5)], values[tf_rng_below(rng, 5)]);
}

/* Keys become names of variables; the values, with all they hold, stay. */
static void variables(struct tf_pairs *env)
{
    struct tf_pairs named = {0};
    for (size_t i = 0; i < env->count; i++) {
        char key[] = "_0";
        key[1] = (char)('0' + i);
        tf_pairs_set(&named, key, env->items[i].value);
    }
    tf_pairs_release(env);
    *env = named;
}

static void sizes(struct tf_rng *rng, struct tf_job_spec *spec)
{
    struct tf_elastic *e = &spec->elastic;
    e->step = (int32_t)tf_rng_range(rng, 1, 64);
    e->min = e->step * (int32_t)tf_rng_range(rng, 1, 32);
    e->max = e->min + e->step * (int32_t)tf_rng_range(rng, 0, 32);
    spec->ready_min %= e->min + 1;
}

static void shape(struct tf_rng *rng, struct tf_shape *shape)
{
    words(rng, "H800_", &shape->gpu_models);
    if (shape->gpus)
        return;
    tf_strs_release(&shape->gpu_models);
    shape->gpu_memory = 0;
}

void random_job(struct tf_rng *rng, struct tf_job_manifest *manifest)
{
    struct tf_job_spec *spec = &manifest->spec;
    random_object(rng, &tf_job_manifest_table, manifest);
    labels(rng, &manifest->labels);
    labels(rng, &spec->node_labels);
    variables(&spec->group.env);
    tf_table_release(tf_table_find(&tf_job_spec_table, "reserve")->table, &spec->reserve);
    words(rng, "port-", &spec->group.ports);
    words(rng, "bj-", &spec->clusters);
    words(rng, "north.", &spec->regions);
    sizes(rng, spec);
    shape(rng, &spec->group.shape);
    if (spec->on_resize == TF_ON_RESIZE_SIGNAL)
        tf_str_set(&spec->resize_signal, "SIGUSR2");
    if (spec->topology.count)
        spec->max_nodes = 0;
    if (spec->max_runtime && spec->min_runtime > spec->max_runtime)
        spec->min_runtime = spec->max_runtime;
}
