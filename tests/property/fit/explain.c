/* SPDX-License-Identifier: Apache-2.0 */
/* Reasons re-evaluated by a naive loop over explicit nodes (DESIGN.md §9, I13), and idle causes that sum
 * (I15). */
#include "common/fit/explain.h"

#include "common/base/text.h"
#include "tests/property/fit/world.h"
#include "tests/support/suite.h"

enum { WITHOUT_CLAIMS = 1, WITHOUT_TOPOLOGY = 2, GPUS_ONLY = 4, WITH_PROTECTED = 8 };

static struct naive naive_without(const struct world *w, const struct ask *ask, tf_level level, int without)
{
    struct ask changed = *ask;
    changed.level = level;
    changed.ignore_claims = without & WITHOUT_CLAIMS;
    changed.ignore_topology = without & WITHOUT_TOPOLOGY;
    changed.gpus_only = without & GPUS_ONLY;
    changed.take_protected = without & WITH_PROTECTED;
    return naive_count(w, &changed);
}

static bool has_model(const struct tf_job_spec *spec, const struct tf_node *node)
{
    const struct tf_strs *models = &spec->group.shape.gpu_models;
    return spec->group.shape.gpus == 0 ||
           (node->model && (models->count == 0 || tf_strs_has(models, node->model)));
}

static enum tf_reason static_reason(const struct world *w, const struct ask *ask)
{
    const struct tf_job_spec *spec = ask->spec;
    bool model = false, memory = false, healthy = false, holds_one = false;
    struct ask flat = *ask;
    flat.ignore_claims = flat.ignore_topology = true;
    for (size_t i = 0; i < w->count; i++) {
        const struct world_node *n = &w->nodes[i];
        bool of_model = has_model(spec, &n->node);
        model = model || of_model;
        memory =
            memory ||
            (of_model && (spec->group.shape.gpus == 0 || n->node.gpu_memory >= spec->group.shape.gpu_memory));
        if (!naive_admits(w, &flat, n))
            continue;
        healthy = healthy || n->node.state == TF_NODE_READY;
        holds_one = holds_one || naive_node(n, tf_shape_vector(&spec->group.shape), TF_LEVEL_TOP, false) > 0;
    }
    if (!model)
        return spec->group.shape.gpus > 0 ? TF_REASON_NO_SUCH_MODEL : TF_REASON_NOT_ENOUGH_NODES;
    if (!memory)
        return TF_REASON_GPU_MEMORY;
    if (healthy && !holds_one)
        return TF_REASON_NODE_TOO_SMALL;
    if (!naive_without(w, ask, TF_LEVEL_TOP, WITHOUT_CLAIMS | WITHOUT_TOPOLOGY).fits)
        return TF_REASON_NOT_ENOUGH_NODES;
    return naive_without(w, ask, TF_LEVEL_TOP, WITHOUT_CLAIMS).fits ? TF_REASON_NONE : TF_REASON_TOPOLOGY;
}

static enum tf_reason reason(const struct world *w, const struct ask *ask, tf_level may)
{
    if (naive_count(w, ask).fits)
        return TF_REASON_NONE;
    enum tf_reason first = static_reason(w, ask);
    if (first != TF_REASON_NONE)
        return first;
    if (ask->is_core && !naive_without(w, ask, may, WITHOUT_CLAIMS | WITH_PROTECTED).fits)
        return TF_REASON_HIGHER_PRIORITY;
    if (ask->is_core && !naive_without(w, ask, may, WITHOUT_CLAIMS).fits)
        return TF_REASON_PROTECTED;
    if (ask->is_core &&
        (!naive_without(w, ask, may, 0).fits || naive_without(w, ask, ask->level, WITHOUT_CLAIMS).fits))
        return TF_REASON_CLAIMED;
    return ask->spec->group.shape.gpus == 0 || naive_without(w, ask, ask->level, GPUS_ONLY).fits
               ? TF_REASON_CPU_MEMORY
               : TF_REASON_GPUS;
}

static void test_reasons(void)
{
    struct tf_rng rng;
    tf_rng_init(&rng, suite_seed(6));
    TF_AUTO(tf_fit_scratch) scratch = tf_fit_scratch_create();
    struct tf_demand demand = {0};
    size_t seen[TF_REASON_GPUS + 1] = {0};
    for (size_t round = 0; round < suite_rounds(3000); round++) {
        struct world w;
        world_create(&w, &rng);
        for (int i = 0; i < 4; i++) {
            struct tf_job_spec spec;
            world_spec(&spec, &rng);
            struct tf_fit_view view = tf_fit_rows_view(w.rows);
            CU_ASSERT_EQUAL_FATAL(
                tf_demand_resolve(&demand, &spec, (int)tf_rng_below(&rng, WORLD_CLASSES), view.catalog, NULL),
                0);
            demand.is_core = tf_rng_below(&rng, 5) > 0;
            struct ask ask = {.spec = &spec,
                              .core = demand.core,
                              .rank = demand.rank,
                              .is_core = demand.is_core,
                              .singles = true,
                              .ends = INT64_MAX,
                              .level = tf_rng_below(&rng, 2) ? demand.level : TF_LEVEL_FREE};
            struct tf_fit_why why;
            tf_fit_explain(&view, &demand, ask.level, &spec, scratch, &why);
            CU_ASSERT_EQUAL_FATAL(why.reason, reason(&w, &ask, demand.level));
            CU_ASSERT_EQUAL_FATAL(why.reason != TF_REASON_NONE, why.text[0] != '\0');
            CU_ASSERT_EQUAL_FATAL(why.has, naive_count(&w, &ask).count);
            CU_ASSERT_EQUAL_FATAL(why.until.ms, why.reason == TF_REASON_CLAIMED ? 100 : 0);
            if (why.reason != TF_REASON_NONE)
                CU_ASSERT_EQUAL_FATAL(why.best, naive_without(&w, &ask, TF_LEVEL_TOP, WITHOUT_CLAIMS).count);
            seen[why.reason]++;
            tf_job_spec_release(&spec);
        }
        world_release(&w);
    }
    tf_demand_release(&demand);
    for (int r = TF_REASON_NO_SUCH_MODEL; r <= TF_REASON_GPUS; r++)
        CU_ASSERT_TRUE(seen[r] > 0);
}

/* Of a node that is deliverable which the shape that can use most of it can use, and for that each shape may
 * be asked by itself. */
static void check_shape_by_shape(const struct tf_fit_view *view, const struct tf_mix_shape *shapes,
                                 size_t count, const struct tf_idle_causes *of_nodes,
                                 struct tf_fit_scratch *scratch)
{
    struct tf_mix mix = {0};
    struct tf_idle_causes sum;
    TF_AUTO_FREE struct tf_idle_causes *alone = tf_calloc(view->count + 1, sizeof *alone);
    TF_AUTO_FREE int32_t *most = tf_calloc(view->count + 1, sizeof *most);
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        tf_mix_resolve(&mix, &shapes[i], 1, view->catalog);
        if (shapes[i].spec->group.shape.gpus == 0)
            continue;
        any = true;
        tf_fit_idle_causes(view, &mix, 0, scratch, &sum, alone);
        for (size_t k = 0; k < view->count; k++)
            most[k] = alone[k].deliverable > most[k] ? alone[k].deliverable : most[k];
    }
    for (size_t k = 0; any && k < view->count; k++)
        CU_ASSERT_EQUAL_FATAL(of_nodes[k].deliverable, most[k]);
    tf_mix_release(&mix);
}

static void test_idle_causes_sum(void)
{
    struct tf_rng rng;
    tf_rng_init(&rng, suite_seed(7));
    TF_AUTO(tf_fit_scratch) scratch = tf_fit_scratch_create();
    struct tf_mix mix = {0};
    struct tf_idle_causes all = {0};
    for (size_t round = 0; round < suite_rounds(4000); round++) {
        struct world w;
        world_create(&w, &rng);
        struct tf_job_spec specs[3];
        struct tf_mix_shape shapes[3];
        for (int i = 0; i < 3; i++) {
            world_spec(&specs[i], &rng);
            shapes[i] = (struct tf_mix_shape){&specs[i], 1, 1};
        }
        struct tf_fit_view view = tf_fit_rows_view(w.rows), each = world_nodes_view(&w);
        size_t asked = tf_rng_below(&rng, 4);
        tf_mix_resolve(&mix, shapes, asked, view.catalog);
        int32_t idle = 0;
        for (size_t i = 0; i < w.count; i++)
            idle += naive_gpus(&w.nodes[i], TF_LEVEL_FREE, false);
        struct tf_idle_causes c, other, sum_of_nodes = {.health = 5};
        TF_AUTO_FREE struct tf_idle_causes *of_nodes = tf_calloc(each.count + 1, sizeof *of_nodes);
        tf_fit_idle_causes(&view, &mix, 5, scratch, &c, NULL);
        tf_fit_idle_causes(&each, &mix, 5, scratch, &other, of_nodes);
        for (size_t i = 0; i < each.count; i++) {
            CU_ASSERT_EQUAL_FATAL(tf_idle_causes_sum(&of_nodes[i]),
                                  tf_profile_row_at(&each.rows[i], TF_LEVEL_FREE).gpus * each.rows[i].count);
            tf_idle_causes_add(&sum_of_nodes, &of_nodes[i]);
        }
        CU_ASSERT_TRUE_FATAL(memcmp(&sum_of_nodes, &other, sizeof other) == 0);
        check_shape_by_shape(&each, shapes, asked, of_nodes, scratch);
        const int32_t *causes = &c.deliverable;
        int32_t sum = 0;
        for (size_t i = 0; i < sizeof c / sizeof *causes; i++) {
            CU_ASSERT_TRUE_FATAL(causes[i] >= 0);
            sum += causes[i];
        }
        CU_ASSERT_EQUAL_FATAL(sum, idle + 5);
        CU_ASSERT_EQUAL_FATAL(c.health, 5);
        CU_ASSERT_EQUAL_FATAL(c.policy, other.policy);
        CU_ASSERT_EQUAL_FATAL(c.count, other.count);
        /* Something is deliverable if and only if a shape fits. */
        bool fits = false;
        tf_vec_each (entry, &mix.entries) {
            struct tf_fit fit;
            tf_fit_count(&view, &entry->demand, TF_LEVEL_FREE, scratch, &fit);
            fits = fits || (fit.fits && entry->demand.need.gpus > 0);
            if (fit.fits)
                CU_ASSERT_TRUE_FATAL(c.deliverable >= fit.count * entry->demand.need.gpus);
        }
        bool shapes_with_gpus = false;
        tf_vec_each (entry, &mix.entries)
            shapes_with_gpus = shapes_with_gpus || entry->demand.need.gpus > 0;
        if (shapes_with_gpus)
            CU_ASSERT_EQUAL_FATAL(c.deliverable > 0, fits);
        all.deliverable += c.deliverable, all.count += c.count, all.cpu_memory += c.cpu_memory;
        all.topology += c.topology, all.policy += c.policy, all.step += c.step;
        for (int i = 0; i < 3; i++)
            tf_job_spec_release(&specs[i]);
        world_release(&w);
    }
    CU_ASSERT_TRUE(all.deliverable > 0 && all.count > 0 && all.cpu_memory > 0);
    CU_ASSERT_TRUE(all.topology > 0 && all.policy > 0 && all.step > 0);
    tf_mix_release(&mix);
}

static const struct suite_test tests[] = {
    {"reasons are true when re-evaluated", test_reasons},
    {"idle causes sum to all idle GPUs", test_idle_causes_sum},
};

int main(void)
{
    return suite_run("fit explain", tests, TF_ARRAY_LEN(tests));
}
