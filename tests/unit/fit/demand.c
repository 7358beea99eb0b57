/* SPDX-License-Identifier: Apache-2.0 */
#include "common/fit/demand.h"

#include "tests/support/suite.h"
#include "tests/unit/fit/fleet.h"

static struct fleet make_fleet(void)
{
    struct fleet f = {0};
    fleet_plane(&f, "parameter", "pod", "switch");
    fleet_plane(&f, "data", "az", "switch");
    fleet_row(&f, 4, "H800", "p-1/s-1", fleet_vector(8, 96, 900));
    fleet_row(&f, 2, "H800", "p-1/s-2", fleet_vector(8, 96, 900));
    fleet_row(&f, 3, "A100", "p-2/s-1", fleet_vector(8, 96, 900));
    fleet_row(&f, 1, NULL, "", fleet_vector(0, 128, 500));
    return f;
}

static void test_names_become_numbers(void)
{
    struct fleet f = make_fleet();
    struct tf_fit_view view = fleet_view(&f);
    struct tf_job_spec spec = fleet_spec(2, 8, 10, 100);
    tf_strs_add(&spec.group.shape.gpu_models, "B200");
    tf_strs_add(&spec.group.shape.gpu_models, "A100");
    tf_strs_add(&spec.group.shape.gpu_models, "A100");
    fleet_rule(&spec, NULL, "pod", TF_TOPOLOGY_OF_UNSET, TF_TOPOLOGY_MODE_UNSET);
    fleet_rule(&spec, NULL, "no-such-level", TF_TOPOLOGY_OF_JOB, TF_TOPOLOGY_PREFER);
    struct tf_demand demand = {0};
    CU_ASSERT_EQUAL(tf_demand_resolve(&demand, &spec, 3, view.catalog, NULL), 0);
    CU_ASSERT_EQUAL(demand.models.count, 1); /* of the list, what is here */
    CU_ASSERT_STRING_EQUAL(tf_intern_text(&view.catalog->models, demand.models.items[0]), "A100");
    CU_ASSERT_EQUAL(demand.rules.count, 1); /* the preference that means nothing here is left out */
    CU_ASSERT_FALSE(demand.rules.items[0].prefer || demand.rules.items[0].of_step);
    CU_ASSERT_EQUAL(demand.level, tf_level_core(3) - 1);
    CU_ASSERT_EQUAL(tf_demand_admits(&demand, view.catalog, 0), -1);
    CU_ASSERT_EQUAL(tf_demand_admits(&demand, view.catalog, 2), 0);
    CU_ASSERT_EQUAL(tf_demand_admits(&demand, view.catalog, 3), -1);
    tf_demand_release(&demand);
    tf_job_spec_release(&spec);
    fleet_release(&f);
}

static void test_unknown_topology_is_said(void)
{
    struct fleet f = make_fleet();
    struct tf_fit_view view = fleet_view(&f);
    struct tf_job_spec spec = fleet_spec(2, 8, 10, 100);
    struct tf_demand demand = {0};
    struct tf_error err = TF_ERROR_INIT;
    fleet_rule(&spec, NULL, "switch", TF_TOPOLOGY_OF_JOB, TF_TOPOLOGY_REQUIRE);
    CU_ASSERT_EQUAL(tf_demand_resolve(&demand, &spec, 0, view.catalog, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "\"parameter\" and \"data\""));
    tf_str_set(&spec.topology.items[0].plane, "data");
    CU_ASSERT_EQUAL(tf_demand_resolve(&demand, &spec, 0, view.catalog, &err), 0);
    tf_str_set(&spec.topology.items[0].plane, "power");
    CU_ASSERT_EQUAL(tf_demand_resolve(&demand, &spec, 0, view.catalog, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "power"));
    tf_str_set(&spec.topology.items[0].plane, "data");
    spec.topology.items[0].of = TF_TOPOLOGY_OF_STEP;
    spec.max_nodes = 2;
    CU_ASSERT_EQUAL(tf_demand_resolve(&demand, &spec, 0, view.catalog, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "maxNodes"));
    tf_demand_release(&demand);
    tf_job_spec_release(&spec);
    fleet_release(&f);
}

/* Growth stays in the job's model and domain; nodes in use are free of maxNodes. */
static void test_anchor(void)
{
    struct fleet f = make_fleet();
    struct tf_fit_view view = fleet_view(&f);
    struct tf_job_spec spec = fleet_spec(1, 8, 10, 100);
    fleet_rule(&spec, NULL, "pod", TF_TOPOLOGY_OF_JOB, TF_TOPOLOGY_REQUIRE);
    fleet_rule(&spec, "parameter", "switch", TF_TOPOLOGY_OF_STEP, TF_TOPOLOGY_REQUIRE);
    struct tf_demand demand = {0};
    TF_AUTO(tf_fit_scratch) scratch = tf_fit_scratch_create();
    struct tf_fit fit;
    CU_ASSERT_EQUAL(tf_demand_resolve(&demand, &spec, 0, view.catalog, NULL), 0);
    tf_fit_count(&view, &demand, 0, scratch, &fit);
    CU_ASSERT_EQUAL(fit.count, 3); /* any model: A100 comes first by name */
    tf_demand_anchor(&demand, view.catalog, 1, false);
    tf_fit_count(&view, &demand, 0, scratch, &fit);
    CU_ASSERT_EQUAL(fit.count, 6);
    tf_demand_anchor(&demand, view.catalog, 1, true);
    tf_fit_count(&view, &demand, 0, scratch, &fit);
    CU_ASSERT_EQUAL(fit.count, 2);
    tf_demand_fix_model(&demand, view.catalog, "A100");
    tf_fit_count(&view, &demand, 0, scratch, &fit);
    CU_ASSERT_EQUAL(fit.count, 0);
    tf_demand_release(&demand);
    tf_job_spec_release(&spec);
    fleet_release(&f);
}

static void test_nodes_in_use_are_not_limited(void)
{
    struct fleet f = {0};
    fleet_plane(&f, "parameter", "pod", NULL);
    fleet_row(&f, 1, "H800", "p", fleet_vector(2, 96, 900));
    fleet_row(&f, 1, "H800", "p", fleet_vector(8, 96, 900));
    fleet_row(&f, 1, "H800", "p", fleet_vector(4, 96, 900));
    struct tf_fit_view view = fleet_view(&f);
    struct tf_job_spec spec = fleet_spec(1, 1, 1, 1);
    spec.max_nodes = 1;
    struct tf_demand demand = {0};
    TF_AUTO(tf_fit_scratch) scratch = tf_fit_scratch_create();
    struct tf_fit fit;
    struct tf_fit_placement p = {0};
    CU_ASSERT_EQUAL(tf_demand_resolve(&demand, &spec, 0, view.catalog, NULL), 0);
    tf_fit_count(&view, &demand, 0, scratch, &fit);
    CU_ASSERT_EQUAL(fit.count, 8);
    tf_vec_push(&demand.used, 0);
    tf_fit_count(&view, &demand, 0, scratch, &fit);
    CU_ASSERT_EQUAL(fit.count, 10);
    CU_ASSERT_TRUE(tf_fit_pack(&view, &demand, 0, 10, NULL, scratch, &p));
    CU_ASSERT_EQUAL(p.nodes, 2);
    CU_ASSERT_TRUE(tf_fit_pack(&view, &demand, 0, 5, NULL, scratch, &p));
    CU_ASSERT_EQUAL(p.nodes, 2);
    CU_ASSERT_EQUAL(p.rows.items[0].row, 0);
    CU_ASSERT_EQUAL(p.rows.items[1].row, 2); /* the tightest that holds the other three */
    tf_fit_placement_release(&p);
    tf_demand_release(&demand);
    tf_job_spec_release(&spec);
    fleet_release(&f);
}

static const struct suite_test tests[] = {
    {"names become numbers", test_names_become_numbers},
    {"a topology that is not there is said", test_unknown_topology_is_said},
    {"growth stays where the job is", test_anchor},
    {"nodes in use are not limited", test_nodes_in_use_are_not_limited},
};

int main(void)
{
    return suite_run("fit demand", tests, TF_ARRAY_LEN(tests));
}
