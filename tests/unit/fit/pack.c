/* SPDX-License-Identifier: Apache-2.0 */
#include "common/fit/pack.h"

#include "tests/support/suite.h"
#include "tests/unit/fit/fleet.h"

/* Packs n instances and gives the row of the first, or -1. */
static int pack_one(struct tf_fit_view view, const struct tf_job_spec *spec, int32_t n,
                    const struct tf_mix *mix)
{
    TF_AUTO(tf_fit_scratch) scratch = tf_fit_scratch_create();
    struct tf_demand demand = {0};
    struct tf_fit_placement p = {0};
    int row = -1;
    CU_ASSERT_EQUAL_FATAL(tf_demand_resolve(&demand, spec, 0, view.catalog, NULL), 0);
    if (tf_fit_pack(&view, &demand, TF_LEVEL_FREE, n, mix, scratch, &p))
        row = (int)p.rows.items[0].row;
    tf_demand_release(&demand);
    tf_fit_placement_release(&p);
    return row;
}

static void test_tightest(void)
{
    struct fleet f = {0};
    fleet_plane(&f, "parameter", "pod", NULL);
    fleet_row(&f, 3, "H800", "p", fleet_vector(8, 96, 900));
    fleet_row(&f, 2, "H800", "p", fleet_vector(3, 36, 300));
    fleet_row(&f, 2, "H800", "p", fleet_vector(2, 40, 300));
    fleet_row(&f, 2, "H800", "p", fleet_vector(2, 30, 300));
    fleet_row(&f, 2, NULL, "p", fleet_vector(0, 128, 300));
    struct tf_fit_view view = fleet_view(&f);
    struct tf_job_spec spec = fleet_spec(1, 2, 8, 10), cpus = fleet_spec(1, 0, 8, 10);
    CU_ASSERT_EQUAL(pack_one(view, &spec, 1, NULL), 3);
    spec.group.shape.cpu = 35 * 1000;
    CU_ASSERT_EQUAL(pack_one(view, &spec, 1, NULL), 2);
    CU_ASSERT_EQUAL(pack_one(view, &cpus, 1, NULL), 4); /* CPU work goes where no GPU loses its CPU */
    tf_job_spec_release(&spec);
    tf_job_spec_release(&cpus);
    fleet_release(&f);
}

/* Four idle GPUs, or six of which two are left over for a mix of 4 and 2 GPU work: the tightest fit for 2
 * GPUs would break the four. */
static void test_fragmentation_before_tightness(void)
{
    struct fleet f = {0};
    fleet_plane(&f, "parameter", "pod", NULL);
    fleet_row(&f, 1, "H800", "p", fleet_vector(4, 96, 900));
    fleet_row(&f, 1, "H800", "p", fleet_vector(6, 96, 900));
    struct tf_fit_view view = fleet_view(&f);
    struct tf_job_spec spec = fleet_spec(1, 2, 1, 1), four = fleet_spec(1, 4, 1, 1);
    struct tf_mix_shape shape = {&four, 0, 1};
    struct tf_mix mix = {0};
    tf_mix_resolve(&mix, &shape, 1, view.catalog);
    CU_ASSERT_EQUAL(pack_one(view, &spec, 1, NULL), 0);
    CU_ASSERT_EQUAL(pack_one(view, &spec, 1, &mix), 1);
    CU_ASSERT_EQUAL(tf_mix_fragmentation(&mix, 0, fleet_vector(2, 96, 900)), 2);
    CU_ASSERT_EQUAL(tf_mix_fragmentation(&mix, 0, fleet_vector(4, 96, 900)), 0);
    CU_ASSERT_EQUAL(tf_mix_fragmentation(&mix, 0, fleet_vector(4, 0, 900)), 4);
    tf_mix_release(&mix);
    tf_job_spec_release(&spec);
    tf_job_spec_release(&four);
    fleet_release(&f);
}

static void test_required_domain_is_the_tightest(void)
{
    struct fleet f = {0};
    fleet_plane(&f, "parameter", "pod", NULL);
    fleet_row(&f, 9, "H800", "p-1", fleet_vector(8, 96, 900));
    fleet_row(&f, 4, "H800", "p-2", fleet_vector(8, 96, 900));
    fleet_row(&f, 6, "H800", "p-3", fleet_vector(8, 96, 900));
    struct tf_fit_view view = fleet_view(&f);
    struct tf_job_spec spec = fleet_spec(1, 8, 1, 1);
    fleet_rule(&spec, NULL, "pod", TF_TOPOLOGY_OF_JOB, TF_TOPOLOGY_REQUIRE);
    CU_ASSERT_EQUAL(pack_one(view, &spec, 5, NULL), 2);
    CU_ASSERT_EQUAL(pack_one(view, &spec, 4, NULL), 1);
    CU_ASSERT_EQUAL(pack_one(view, &spec, 7, NULL), 0);
    CU_ASSERT_EQUAL(pack_one(view, &spec, 10, NULL), -1);
    tf_job_spec_release(&spec);
    fleet_release(&f);
}

/* Steps of 4 in one switch each: 7 + 5 nodes hold two steps, not three. */
static void test_steps_stay_in_one_domain(void)
{
    struct fleet f = {0};
    fleet_plane(&f, "parameter", "pod", "switch");
    fleet_row(&f, 7, "H800", "p-1/s-1", fleet_vector(8, 96, 900));
    fleet_row(&f, 5, "H800", "p-1/s-2", fleet_vector(8, 96, 900));
    struct tf_fit_view view = fleet_view(&f);
    struct tf_job_spec spec = fleet_spec(1, 8, 1, 1);
    spec.elastic = (struct tf_elastic){4, 12, 4};
    fleet_rule(&spec, NULL, "switch", TF_TOPOLOGY_OF_STEP, TF_TOPOLOGY_REQUIRE);
    TF_AUTO(tf_fit_scratch) scratch = tf_fit_scratch_create();
    struct tf_demand demand = {0};
    struct tf_fit_placement p = {0};
    CU_ASSERT_EQUAL_FATAL(tf_demand_resolve(&demand, &spec, 0, view.catalog, NULL), 0);
    struct tf_fit fit;
    tf_fit_count(&view, &demand, TF_LEVEL_FREE, scratch, &fit);
    CU_ASSERT_EQUAL(fit.count, 8);
    CU_ASSERT_FALSE(tf_fit_pack(&view, &demand, 0, 12, NULL, scratch, &p));
    CU_ASSERT_FALSE(tf_fit_pack(&view, &demand, 0, 6, NULL, scratch, &p)); /* no whole steps */
    CU_ASSERT_TRUE(tf_fit_pack(&view, &demand, 0, 8, NULL, scratch, &p));
    CU_ASSERT_EQUAL(p.rows.count, 2);
    CU_ASSERT_EQUAL(p.rows.items[0].nodes, 4);
    CU_ASSERT_EQUAL(p.rows.items[1].nodes, 4);
    tf_fit_placement_release(&p);
    tf_demand_release(&demand);
    tf_job_spec_release(&spec);
    fleet_release(&f);
}

/* Preferred, whole steps come before few domains, and what does not go whole goes all the same; of the job,
 * few domains count. */
static void test_steps_prefer_one_domain(void)
{
    struct fleet f = {0};
    fleet_plane(&f, "parameter", "pod", "switch");
    fleet_row(&f, 3, "H800", "p-1/s-1", fleet_vector(8, 96, 900));
    fleet_row(&f, 3, "H800", "p-1/s-2", fleet_vector(8, 96, 900));
    fleet_row(&f, 3, "H800", "p-1/s-3", fleet_vector(8, 96, 900));
    struct tf_fit_view view = fleet_view(&f);
    TF_AUTO(tf_fit_scratch) scratch = tf_fit_scratch_create();
    struct tf_fit_placement p = {0};
    for (int of_step = 0; of_step < 2; of_step++) {
        struct tf_job_spec spec = fleet_spec(1, 8, 1, 1);
        struct tf_demand demand = {0};
        spec.elastic = (struct tf_elastic){2, 8, 2};
        fleet_rule(&spec, NULL, "switch", of_step ? TF_TOPOLOGY_OF_STEP : TF_TOPOLOGY_OF_JOB,
                   TF_TOPOLOGY_PREFER);
        CU_ASSERT_EQUAL_FATAL(tf_demand_resolve(&demand, &spec, 0, view.catalog, NULL), 0);
        CU_ASSERT_TRUE_FATAL(tf_fit_pack(&view, &demand, TF_LEVEL_FREE, 6, NULL, scratch, &p));
        CU_ASSERT_EQUAL(p.rows.count, of_step ? 3 : 2);
        tf_vec_each (row, &p.rows)
            CU_ASSERT_EQUAL(row->nodes, of_step ? 2 : 3);
        CU_ASSERT_TRUE_FATAL(tf_fit_pack(&view, &demand, TF_LEVEL_FREE, 8, NULL, scratch, &p));
        CU_ASSERT_EQUAL(p.rows.count, 3);
        CU_ASSERT_EQUAL(p.domains, 3);
        tf_demand_release(&demand);
        tf_job_spec_release(&spec);
    }
    tf_fit_placement_release(&p);
    fleet_release(&f);
}

static const struct suite_test tests[] = {
    {"the tightest node", test_tightest},
    {"fragmentation comes before tightness", test_fragmentation_before_tightness},
    {"of the required domains the tightest", test_required_domain_is_the_tightest},
    {"steps stay in one domain", test_steps_stay_in_one_domain},
    {"steps prefer one domain", test_steps_prefer_one_domain},
};

int main(void)
{
    return suite_run("fit pack", tests, TF_ARRAY_LEN(tests));
}
