/* SPDX-License-Identifier: Apache-2.0 */
/* tf_fit_count against a naive loop that places instances on explicit nodes (DESIGN.md §6, R1 to R5). */
#include "common/fit/count.h"

#include "common/base/text.h"
#include "tests/property/fit/world.h"
#include "tests/support/suite.h"

static struct ask make_ask(const struct tf_job_spec *spec, struct tf_demand *demand, struct tf_rng *rng)
{
    demand->is_core = tf_rng_below(rng, 4) > 0;
    if (tf_rng_below(rng, 3) == 0)
        demand->ends.ms = 50 + (int64_t)tf_rng_below(rng, 100);
    return (struct ask){.spec = spec,
                        .core = demand->core,
                        .rank = demand->rank,
                        .is_core = demand->is_core,
                        .ends = demand->ends.ms};
}

static bool agrees(const struct world *w, const struct tf_fit *fit, const struct naive *naive)
{
    const char *model =
        fit->model >= 0 ? tf_intern_text(&tf_fit_rows_view(w->rows).catalog->models, fit->model) : NULL;
    return fit->count == naive->count && fit->fits == naive->fits &&
           tf_str_eq(model, naive->count > 0 ? naive->model : NULL);
}

static void check_lowest(const struct world *w, const struct tf_demand *demand, struct ask ask,
                         struct tf_fit_scratch *scratch)
{
    struct tf_fit_view view = tf_fit_rows_view(w->rows);
    struct naive naive = {0};
    ask.level = 0;
    for (;; ask.level++) {
        naive = naive_count(w, &ask);
        if (naive.fits || ask.level == demand->level)
            break;
    }
    struct tf_fit fit;
    bool fits = tf_fit_lowest(&view, demand, scratch, &fit);
    CU_ASSERT_EQUAL_FATAL(fits, naive.fits);
    CU_ASSERT_TRUE_FATAL(agrees(w, &fit, &naive));
    CU_ASSERT_EQUAL_FATAL(fit.level, ask.level);
}

static void test_count(void)
{
    struct tf_rng rng;
    tf_rng_init(&rng, suite_seed(1));
    TF_AUTO(tf_fit_scratch) scratch = tf_fit_scratch_create();
    struct tf_demand demand = {0};
    size_t something = 0, compared = 0;
    for (size_t round = 0; round < suite_rounds(6000); round++) {
        struct world w;
        world_create(&w, &rng);
        for (int i = 0; i < 5; i++) {
            struct tf_job_spec spec;
            world_spec(&spec, &rng);
            struct tf_fit_view view = tf_fit_rows_view(w.rows), each = world_nodes_view(&w);
            int rank = (int)tf_rng_below(&rng, WORLD_CLASSES);
            CU_ASSERT_EQUAL_FATAL(tf_demand_resolve(&demand, &spec, rank, view.catalog, NULL), 0);
            struct ask ask = make_ask(&spec, &demand, &rng);
            ask.level = world_level(&rng);
            struct naive naive = naive_count(&w, &ask);
            struct tf_fit fit, other;
            tf_fit_count(&view, &demand, ask.level, scratch, &fit);
            CU_ASSERT_TRUE_FATAL(agrees(&w, &fit, &naive));
            tf_fit_count(&each, &demand, ask.level, scratch, &other);
            CU_ASSERT_TRUE_FATAL(agrees(&w, &other, &naive));
            if (i == 0)
                check_lowest(&w, &demand, ask, scratch);
            compared++;
            something += naive.count > 0;
            tf_job_spec_release(&spec);
        }
        world_release(&w);
    }
    tf_demand_release(&demand);
    CU_ASSERT_TRUE(something > compared / 4);
}

static const struct suite_test tests[] = {
    {"counts are what a naive loop places", test_count},
};

int main(void)
{
    return suite_run("fit count", tests, TF_ARRAY_LEN(tests));
}
