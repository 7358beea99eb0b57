/* SPDX-License-Identifier: Apache-2.0 */
/* What fits packs, and how. */
#include "common/fit/pack.h"

#include "common/base/text.h"
#include "tests/property/fit/world.h"
#include "tests/support/suite.h"

/* The domains that a run of instances may not leave. */
static void required(const struct world *w, const struct tf_job_spec *spec, const struct world_node *n,
                     enum tf_topology_of of, char out[256])
{
    *out = '\0';
    tf_vec_each (rule, &spec->topology) {
        if (rule->mode != TF_TOPOLOGY_REQUIRE || rule->of != of)
            continue;
        char text[64];
        size_t used = strlen(out);
        snprintf(out + used, 256 - used, "|%s", world_domain(w, n, rule, text));
    }
}

/* The placement names nodes (one row each): every rule is kept. */
static bool is_valid(const struct world *w, const struct ask *ask, const struct tf_fit_placement *p,
                     int32_t n)
{
    const struct tf_job_spec *spec = ask->spec;
    struct tf_vector need = tf_shape_vector(&spec->group.shape);
    int32_t held[WORLD_NODES] = {0}, instances = 0, nodes = 0;
    char job[256] = "", step[256] = "", here[256];
    const char *model = NULL;
    tf_vec_each (part, &p->rows) {
        const struct world_node *node = &w->nodes[part->row];
        bool first = instances == 0;
        if (part->nodes != 1 || part->each <= 0 || !naive_admits(w, ask, node) || held[part->row] > 0)
            return false;
        held[part->row] += part->each;
        if (held[part->row] > naive_node(node, need, ask->level, false))
            return false;
        if (need.gpus > 0 && !first && !tf_str_eq(model, node->node.model))
            return false;
        model = node->node.model;
        required(w, spec, node, TF_TOPOLOGY_OF_JOB, here);
        if (!first && strcmp(here, job) != 0)
            return false;
        snprintf(job, sizeof job, "%s", here);
        required(w, spec, node, TF_TOPOLOGY_OF_STEP, here);
        if (instances % spec->elastic.step != 0 && strcmp(here, step) != 0)
            return false;
        snprintf(step, sizeof step, "%s", here);
        instances += part->each;
        nodes++;
    }
    return instances == n && p->instances == n && p->nodes == nodes &&
           (spec->max_nodes == 0 || nodes <= spec->max_nodes);
}

static bool same_placement(const struct tf_fit_placement *a, const struct tf_fit_placement *b)
{
    return a->rows.count == b->rows.count && a->model == b->model &&
           memcmp(a->rows.items, b->rows.items, a->rows.count * sizeof *a->rows.items) == 0;
}

static void check_packs(const struct world *w, const struct ask *ask, const struct tf_demand *demand,
                        const struct tf_mix *mix, struct tf_fit_scratch *scratch)
{
    struct tf_fit_view view = tf_fit_rows_view(w->rows), each = world_nodes_view(w);
    struct tf_fit fit;
    tf_fit_count(&each, demand, ask->level, scratch, &fit);
    struct tf_fit_placement p = {0}, again = {0};
    bool steps = false;
    tf_vec_each (rule, &ask->spec->topology)
        steps = steps || (rule->of == TF_TOPOLOGY_OF_STEP && rule->mode == TF_TOPOLOGY_REQUIRE);
    int32_t by = steps ? demand->step : 1;
    for (int32_t n = by; n <= fit.count; n += by) {
        CU_ASSERT_TRUE_FATAL(tf_fit_pack(&each, demand, ask->level, n, mix, scratch, &p));
        CU_ASSERT_TRUE_FATAL(is_valid(w, ask, &p, n));
        CU_ASSERT_TRUE_FATAL(tf_fit_pack(&each, demand, ask->level, n, mix, scratch, &again));
        CU_ASSERT_TRUE_FATAL(same_placement(&p, &again));
        CU_ASSERT_TRUE_FATAL(tf_fit_pack(&view, demand, ask->level, n, mix, scratch, &again));
        CU_ASSERT_EQUAL_FATAL(again.nodes, p.nodes);
        CU_ASSERT_EQUAL_FATAL(again.domains, p.domains);
    }
    /* With models another may hold more than the first that holds the core. */
    if (fit.model < 0)
        CU_ASSERT_FALSE_FATAL(
            tf_fit_pack(&each, demand, ask->level, fit.count + demand->step, mix, scratch, &p));
    tf_fit_placement_release(&p);
    tf_fit_placement_release(&again);
}

static void test_pack_what_fits(void)
{
    struct tf_rng rng;
    tf_rng_init(&rng, suite_seed(2));
    TF_AUTO(tf_fit_scratch) scratch = tf_fit_scratch_create();
    struct tf_demand demand = {0};
    struct tf_mix mix = {0};
    for (size_t round = 0; round < suite_rounds(4000); round++) {
        struct world w;
        world_create(&w, &rng);
        struct tf_job_spec specs[4];
        struct tf_mix_shape shapes[4];
        for (int i = 0; i < 4; i++) {
            world_spec(&specs[i], &rng);
            shapes[i] = (struct tf_mix_shape){&specs[i], 0, 1 + (int32_t)tf_rng_below(&rng, 5)};
        }
        const struct tf_catalog *catalog = tf_fit_rows_view(w.rows).catalog;
        tf_mix_resolve(&mix, shapes, 4, catalog);
        for (int i = 0; i < 4; i++) {
            CU_ASSERT_EQUAL_FATAL(tf_demand_resolve(&demand, &specs[i], 1, catalog, NULL), 0);
            struct ask ask = {.spec = &specs[i],
                              .level = world_level(&rng),
                              .core = demand.core,
                              .rank = 1,
                              .is_core = true,
                              .ends = INT64_MAX};
            check_packs(&w, &ask, &demand, i % 2 ? &mix : NULL, scratch);
        }
        for (int i = 0; i < 4; i++)
            tf_job_spec_release(&specs[i]);
        world_release(&w);
    }
    tf_mix_release(&mix);
    tf_demand_release(&demand);
}

/* ---- preferred domains ---- */

enum { DOMAINS = 5 };

/* A profile of DOMAINS switches with caps[i] one-GPU nodes each. */
static void switches(struct tf_profile *p, const int32_t caps[DOMAINS])
{
    struct tf_plane *plane = tf_vec_add(&p->planes);
    plane->name = tf_strdup("parameter");
    tf_strs_add(&plane->levels, "switch");
    p->full = true;
    for (uint32_t i = 0; i < DOMAINS; i++) {
        struct tf_node_class *class = tf_vec_add(&p->classes);
        class->model = tf_strdup("A");
        char name[16];
        snprintf(name, sizeof name, "sw-%u", i);
        tf_strs_add(&class->domains, name);
        struct tf_profile_row *row = tf_vec_add(&p->rows);
        *row = (struct tf_profile_row){.id = i, .class = i, .count = caps[i], .claim_rank = -1};
        tf_vec_push(&row->levels, (struct tf_level_vector){TF_LEVEL_FREE, {1, 1, 1, 1}});
    }
}

static void sort_down(int32_t split[DOMAINS])
{
    for (int i = 1; i < DOMAINS; i++)
        for (int j = i; j > 0 && split[j] > split[j - 1]; j--) {
            int32_t t = split[j];
            split[j] = split[j - 1];
            split[j - 1] = t;
        }
}

static bool majorises(const int32_t a[DOMAINS], const int32_t b[DOMAINS])
{
    int32_t x = 0, y = 0;
    for (int i = 0; i < DOMAINS; i++) {
        x += a[i];
        y += b[i];
        if (x < y)
            return false;
    }
    return true;
}

/* Every split of n over the domains is majorised by `best` (hence has no less entropy and no fewer domains).
 */
static bool best_of_all(const int32_t caps[DOMAINS], int at, int32_t left, int32_t split[DOMAINS],
                        const int32_t best[DOMAINS])
{
    if (at == DOMAINS) {
        int32_t sorted[DOMAINS];
        memcpy(sorted, split, sizeof sorted);
        sort_down(sorted);
        return left > 0 || majorises(best, sorted);
    }
    for (int32_t k = 0; k <= caps[at] && k <= left; k++) {
        split[at] = k;
        if (!best_of_all(caps, at + 1, left - k, split, best))
            return false;
    }
    return true;
}

static void test_preferred_domains(void)
{
    struct tf_rng rng;
    tf_rng_init(&rng, suite_seed(3));
    TF_AUTO(tf_fit_scratch) scratch = tf_fit_scratch_create();
    struct tf_job_spec spec = {.elastic = {1, 99, 1}};
    spec.group.shape.gpus = 1;
    struct tf_topology_rule rule = {
        .within = tf_strdup("switch"), .of = TF_TOPOLOGY_OF_JOB, .mode = TF_TOPOLOGY_PREFER};
    tf_vec_push(&spec.topology, rule);
    for (size_t round = 0; round < suite_rounds(400); round++) {
        int32_t caps[DOMAINS], sum = 0, split[DOMAINS] = {0}, left[DOMAINS];
        for (int i = 0; i < DOMAINS; i++)
            sum += caps[i] = (int32_t)tf_rng_range(&rng, 1, 7);
        struct tf_profile profile = {0};
        switches(&profile, caps);
        struct tf_catalog catalog = {0};
        tf_catalog_load(&catalog, &profile);
        struct tf_demand demand = {0};
        CU_ASSERT_EQUAL_FATAL(tf_demand_resolve(&demand, &spec, 0, &catalog, NULL), 0);
        struct tf_fit_view view = {&catalog, profile.rows.items, profile.rows.count, NULL};
        int32_t n = (int32_t)tf_rng_range(&rng, 1, sum);
        struct tf_fit_placement p = {0};
        CU_ASSERT_TRUE_FATAL(tf_fit_pack(&view, &demand, 0, n, NULL, scratch, &p));
        memcpy(left, caps, sizeof left);
        tf_vec_each (part, &p.rows)
            split[part->row] += part->nodes * part->each;
        int32_t domains = 0, partial = -1;
        for (int i = 0; i < DOMAINS; i++) {
            domains += split[i] > 0;
            if (split[i] > 0 && split[i] < caps[i])
                partial = i;
        }
        CU_ASSERT_EQUAL_FATAL(p.domains, domains);
        for (int i = 0; partial >= 0 && i < DOMAINS; i++) /* the remainder is in the tightest that holds it */
            CU_ASSERT_FALSE_FATAL(split[i] == 0 && caps[i] >= split[partial] && caps[i] < caps[partial]);
        int32_t sorted[DOMAINS], work[DOMAINS];
        memcpy(sorted, split, sizeof sorted);
        sort_down(sorted);
        CU_ASSERT_TRUE_FATAL(best_of_all(caps, 0, n, work, sorted));
        tf_fit_placement_release(&p);
        tf_demand_release(&demand);
        tf_catalog_release(&catalog);
        tf_profile_release(&profile);
    }
    tf_job_spec_release(&spec);
}

static const struct suite_test tests[] = {
    {"what fits packs, validly and the same each time", test_pack_what_fits},
    {"preferred domains: few, majorising, remainder tightest", test_preferred_domains},
};

int main(void)
{
    return suite_run("fit pack", tests, TF_ARRAY_LEN(tests));
}
