/* SPDX-License-Identifier: Apache-2.0 */
/* Rows kept one node at a time are those made anew; debits are what really placing does; deltas carry both
 * over. */
#include "common/fit/rows.h"

#include "tests/property/fit/world.h"
#include "tests/support/suite.h"

/* Both hold the same numbers of nodes of each content. */
static bool same_rows(const struct tf_profile *a, const struct tf_profile *b)
{
    if (a->rows.count != b->rows.count)
        return false;
    tf_vec_each (x, &a->rows) {
        bool found = false;
        tf_vec_each (y, &b->rows)
            found = found || (x->count == y->count && x->claim_rank == y->claim_rank &&
                              tf_level_vectors_eq(&x->levels, &y->levels) &&
                              tf_node_class_eq(&a->classes.items[x->class], &b->classes.items[y->class]));
        if (!found)
            return false;
    }
    return true;
}

static void export(const struct tf_fit_rows *rows, struct tf_profile *out)
{
    tf_fit_rows_export(rows, out);
    CU_ASSERT_EQUAL_FATAL(tf_profile_check(out, NULL), 0);
}

/* One round of changes on a live set of rows, followed by a profile through deltas, and by the federation's
 * rows. */
static void test_incremental(void)
{
    struct tf_rng rng;
    tf_rng_init(&rng, suite_seed(4));
    struct tf_profile fresh = {0}, live = {0}, delta = {0}, held = {0}, mirror = {0};
    for (size_t round = 0; round < suite_rounds(300); round++) {
        struct world w;
        world_create(&w, &rng);
        TF_AUTO(tf_fit_rows) far = tf_fit_rows_create(&w.planes);
        export(w.rows, &held);
        held.generation.counter = 1;
        tf_fit_rows_load(far, &held);
        tf_fit_rows_mark(w.rows);
        for (int step = 0; step < 12; step++) {
            for (uint64_t changes = tf_rng_below(&rng, 4); changes > 0; changes--) {
                struct world_node *n = &w.nodes[tf_rng_below(&rng, w.count)];
                world_occupy(n, &rng);
                if (tf_rng_below(&rng, 8) == 0)
                    tf_pairs_set(&n->node.labels, "disk", tf_rng_below(&rng, 2) ? "nvme" : "hdd");
                struct tf_profile_row row = world_row(&w, n);
                n->row = tf_fit_rows_move(w.rows, n->row, &row);
                tf_profile_row_release(&row);
            }
            tf_fit_rows_export_changes(w.rows, &delta);
            delta.base = held.generation;
            delta.generation = (struct tf_generation){0, held.generation.counter + 1};
            CU_ASSERT_EQUAL_FATAL(tf_profile_apply(&held, &delta, NULL), 0);
            tf_fit_rows_apply(far, &delta);
            tf_fit_rows_mark(w.rows);
            CU_ASSERT_EQUAL_FATAL(tf_fit_rows_changed(w.rows), 0);
            export(w.rows, &live);
            export(far, &mirror);
            CU_ASSERT_TRUE_FATAL(same_rows(&held, &live));
            CU_ASSERT_TRUE_FATAL(same_rows(&mirror, &live));
        }
        world_refresh(&w);
        export(w.rows, &fresh);
        CU_ASSERT_TRUE_FATAL(same_rows(&fresh, &live));
        world_release(&w);
    }
    tf_profile_release(&fresh);
    tf_profile_release(&live);
    tf_profile_release(&delta);
    tf_profile_release(&held);
    tf_profile_release(&mirror);
}

/* Really puts the placement's instances on nodes of its rows. */
static void settle(struct world *w, const struct tf_fit_placement *p, struct tf_vector need, tf_level level)
{
    bool taken[WORLD_NODES] = {false};
    tf_vec_each (part, &p->rows) {
        int32_t nodes = part->nodes;
        for (size_t i = 0; i < w->count && nodes > 0; i++) {
            struct world_node *n = &w->nodes[i];
            if (taken[i] || n->row != part->row)
                continue;
            taken[i] = true;
            nodes--;
            uint64_t used = n->node.bad_gpus | n->node.foreign.gpus;
            for (size_t h = 0; h < n->hold_count; h++)
                used |= n->holds[h].gpus;
            for (size_t h = 0; h < n->claim_count; h++)
                used |= n->claims[h].gpus;
            uint64_t free_gpus = tf_gpu_set_all(n->node.capacity.gpus) & ~used;
            struct tf_vector amount = tf_vector_scale(need, part->each);
            n->holds[n->hold_count++] =
                (struct tf_hold){level, tf_gpu_set_lowest(free_gpus, amount.gpus), amount};
        }
        CU_ASSERT_EQUAL_FATAL(nodes, 0);
    }
}

/* A hold that stands for several instances takes several slots: compare by counts at every level. */
static bool same_counts(const struct world *w, const struct tf_fit_rows *debited,
                        const struct tf_demand *demand, struct tf_fit_scratch *scratch)
{
    struct tf_fit_view a = tf_fit_rows_view(w->rows), b = tf_fit_rows_view(debited);
    for (tf_level level = 0; level <= TF_LEVEL_TOP; level++) {
        struct tf_fit x, y;
        tf_fit_count(&a, demand, level, scratch, &x);
        tf_fit_count(&b, demand, level, scratch, &y);
        if (x.count != y.count || x.model != y.model)
            return false;
    }
    return true;
}

/* By column as row by row; and by GPUs alone no less is counted than by all that is asked. */
static bool same_by_rows(const struct tf_fit_rows *rows, const struct tf_demand *demand,
                         struct tf_fit_scratch *scratch)
{
    struct tf_fit_view columns = tf_fit_rows_view(rows), plain = columns;
    struct tf_fit free = {0};
    plain.columns = NULL;
    for (tf_level level = 0; level <= TF_LEVEL_TOP; level++) {
        struct tf_fit x, y;
        tf_fit_count(&columns, demand, level, scratch, &x);
        tf_fit_count(&plain, demand, level, scratch, &y);
        if (x.count != y.count || x.model != y.model || x.fits != y.fits)
            return false;
        free = level == TF_LEVEL_FREE ? x : free;
    }
    return free.model < 0 || tf_fit_rows_at_most(rows, free.model, demand->need.gpus) >= free.count;
}

/* The free GPUs of the model, one by one. */
static int64_t free_gpus_of(const struct tf_fit_rows *rows, int32_t model)
{
    struct tf_fit_view view = tf_fit_rows_view(rows);
    int64_t sum = 0;
    for (size_t i = 0; i < view.count; i++)
        if (view.rows[i].count > 0 && view.catalog->classes.items[view.rows[i].class].model == model)
            sum += (int64_t)tf_profile_row_at(&view.rows[i], TF_LEVEL_FREE).gpus * view.rows[i].count;
    return sum;
}

static bool columns_hold(const struct tf_fit_rows *rows, const struct tf_demand *demand,
                         struct tf_fit_scratch *scratch)
{
    size_t models = tf_fit_rows_view(rows).catalog->models.count;
    for (int32_t model = 0; (size_t)model < models; model++)
        if (tf_fit_rows_at_most(rows, model, 1) != free_gpus_of(rows, model))
            return false;
    return same_by_rows(rows, demand, scratch);
}

static void test_debit(void)
{
    struct tf_rng rng;
    tf_rng_init(&rng, suite_seed(5));
    TF_AUTO(tf_fit_scratch) scratch = tf_fit_scratch_create();
    struct tf_profile before = {0}, after = {0};
    size_t debits = 0;
    for (size_t round = 0; round < suite_rounds(3000); round++) {
        struct world w;
        world_create(&w, &rng);
        TF_AUTO(tf_fit_rows) rows = tf_fit_rows_create(&w.planes);
        export(w.rows, &before);
        tf_fit_rows_load(rows, &before);
        struct tf_job_spec spec, other;
        world_spec(&spec, &rng);
        world_spec(&other, &rng);
        struct tf_demand demand = {0}, probe = {0};
        const struct tf_catalog *catalog = tf_fit_rows_view(rows).catalog;
        CU_ASSERT_EQUAL_FATAL(tf_demand_resolve(&demand, &spec, 1, catalog, NULL), 0);
        CU_ASSERT_EQUAL_FATAL(tf_demand_resolve(&probe, &other, 1, catalog, NULL), 0);
        struct tf_fit_view view = tf_fit_rows_view(rows);
        struct tf_fit_placement p = {0};
        struct tf_fit_undo undo = {0};
        tf_level held = tf_rng_below(&rng, 2) ? tf_level_core(1) : tf_level_surplus(1);
        int32_t n = demand.step * (int32_t)tf_rng_range(&rng, 1, 2);
        if (tf_fit_pack(&view, &demand, TF_LEVEL_FREE, n, NULL, scratch, &p)) {
            tf_fit_debit(rows, &p, &demand, held, &undo);
            settle(&w, &p, demand.need, held);
            world_refresh(&w);
            CU_ASSERT_TRUE_FATAL(same_counts(&w, rows, &probe, scratch));
            CU_ASSERT_TRUE_FATAL(same_counts(&w, rows, &demand, scratch));
            CU_ASSERT_TRUE_FATAL(columns_hold(rows, &probe, scratch));
            export(rows, &after);
            tf_fit_debit_undo(rows, &undo);
            debits++;
        }
        CU_ASSERT_TRUE_FATAL(columns_hold(rows, &probe, scratch));
        export(rows, &after);
        CU_ASSERT_TRUE_FATAL(same_rows(&before, &after));
        for (size_t i = 0; i < before.rows.count; i++)
            CU_ASSERT_EQUAL_FATAL(before.rows.items[i].id, after.rows.items[i].id);
        tf_fit_undo_release(&undo);
        tf_fit_placement_release(&p);
        tf_demand_release(&demand);
        tf_demand_release(&probe);
        tf_job_spec_release(&spec);
        tf_job_spec_release(&other);
        world_release(&w);
    }
    CU_ASSERT_TRUE(debits > 200);
    tf_profile_release(&before);
    tf_profile_release(&after);
}

static const struct suite_test tests[] = {
    {"rows kept one node at a time are those made anew", test_incremental},
    {"a debit is what really placing does", test_debit},
};

int main(void)
{
    return suite_run("fit rows", tests, TF_ARRAY_LEN(tests));
}
