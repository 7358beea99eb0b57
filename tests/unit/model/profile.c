/* SPDX-License-Identifier: Apache-2.0 */
#include "common/model/profile.h"

#include "common/base/cleanup.h"
#include "common/base/rng.h"
#include "tests/support/suite.h"

static void add_class(struct tf_profile *profile, struct tf_rng *rng)
{
    struct tf_node_class *class = tf_vec_add(&profile->classes);
    class->model = tf_rng_below(rng, 4) ? tf_asprintf("model-%d", (int)tf_rng_below(rng, 3)) : NULL;
    class->gpu_memory = (int64_t)tf_rng_below(rng, 4) * 1024;
    tf_strs_add(&class->domains, tf_rng_below(rng, 3) ? "pod-1/switch-2" : "");
    if (tf_rng_below(rng, 2))
        tf_pairs_set(&class->labels, "disk", "nvme");
}

static struct tf_profile_row make_row(struct tf_rng *rng, uint32_t id, size_t classes)
{
    struct tf_profile_row row = {.id = id, .count = (int32_t)tf_rng_range(rng, 1, 3), .claim_rank = -1};
    row.class = (uint32_t)tf_rng_below(rng, classes);
    struct tf_vector have = {0};
    size_t n = tf_rng_below(rng, 4) + 1;
    for (size_t i = 0; i < n; i++) {
        have = tf_vector_add(have, (struct tf_vector){(int32_t)tf_rng_below(rng, 4), 1, 1000, 512});
        tf_vec_push(&row.levels, (struct tf_level_vector){(tf_level)(i * 3), have});
    }
    if (tf_rng_below(rng, 5) == 0) {
        row.claim_rank = (int)tf_rng_below(rng, 3);
        row.claim_until.ms = 1 + (int64_t)tf_rng_below(rng, 100);
    }
    return row;
}

static struct tf_profile make_profile(struct tf_rng *rng)
{
    struct tf_profile p = {.full = true, .generation = {1, 1}, .base = {1, 1}};
    struct tf_plane *plane = tf_vec_add(&p.planes);
    plane->name = tf_strdup("parameter");
    tf_strs_add(&plane->levels, "pod");
    tf_strs_add(&plane->levels, "switch");
    size_t classes = 1 + tf_rng_below(rng, 4);
    for (size_t i = 0; i < classes; i++)
        add_class(&p, rng);
    for (uint32_t id = 0; id < 30; id++)
        if (tf_rng_below(rng, 2))
            tf_vec_push(&p.rows, make_row(rng, id, classes));
    tf_vec_push(&p.costs, (struct tf_level_cost){3, 8, {77}, 5});
    return p;
}

/* Changes about one row in `rarity`, sometimes the classes. */
static void mutate(struct tf_profile *p, struct tf_rng *rng, uint64_t rarity)
{
    struct tf_profile next = {0};
    tf_profile_copy(&next, p);
    tf_vec_each (row, &next.rows)
        tf_profile_row_release(row);
    next.rows.count = 0;
    if (tf_rng_below(rng, 4) == 0)
        add_class(&next, rng);
    size_t at = 0;
    for (uint32_t id = 0; id < 30; id++) {
        bool here = at < p->rows.count && p->rows.items[at].id == id;
        struct tf_profile_row row = {0};
        if (here)
            tf_profile_row_copy(&row, &p->rows.items[at++]);
        if (tf_rng_below(rng, rarity) == 0) {
            tf_profile_row_release(&row);
            if (!here || tf_rng_below(rng, 2))
                row = make_row(rng, id, next.classes.count);
        }
        if (row.count > 0)
            tf_vec_push(&next.rows, row);
    }
    next.generation.counter++;
    next.reflects_n += tf_rng_below(rng, 3);
    next.idle.deliverable = (int32_t)tf_rng_below(rng, 9);
    tf_vec_push(&next.shorts, (struct tf_short_demand){.rank = 1, .missing = 2});
    tf_profile_release(p);
    *p = next;
}

static bool same(const struct tf_profile *a, const struct tf_profile *b)
{
    if (a->rows.count != b->rows.count || a->classes.count != b->classes.count ||
        a->shorts.count != b->shorts.count || a->costs.count != b->costs.count)
        return false;
    for (size_t i = 0; i < a->rows.count; i++)
        if (!tf_profile_row_eq(&a->rows.items[i], &b->rows.items[i]))
            return false;
    for (size_t i = 0; i < a->classes.count; i++)
        if (!tf_node_class_eq(&a->classes.items[i], &b->classes.items[i]))
            return false;
    return tf_generation_cmp(a->generation, b->generation) == 0 && a->reflects_n == b->reflects_n &&
           a->idle.deliverable == b->idle.deliverable && a->planes.count == b->planes.count;
}

static void test_diff_then_apply_is_identity(void)
{
    struct tf_rng rng;
    tf_rng_init(&rng, suite_seed(7));
    size_t deltas = 0;
    for (size_t round = 0; round < suite_rounds(2000); round++) {
        struct tf_profile held = make_profile(&rng), next = {0}, delta = {0};
        CU_ASSERT_EQUAL_FATAL(tf_profile_check(&held, NULL), 0);
        for (int step = 0; step < 4; step++) {
            tf_profile_copy(&next, &held);
            mutate(&next, &rng, 1 + tf_rng_below(&rng, 30));
            tf_profile_diff(&held, &next, &delta);
            deltas += !delta.full;
            CU_ASSERT_TRUE_FATAL(delta.rows.count + delta.classes.count <=
                                 next.rows.count + next.classes.count);
            CU_ASSERT_EQUAL_FATAL(tf_profile_apply(&held, &delta, NULL), 0);
            CU_ASSERT_TRUE_FATAL(same(&held, &next));
            CU_ASSERT_EQUAL_FATAL(tf_profile_check(&held, NULL), 0);
        }
        tf_profile_release(&held);
        tf_profile_release(&next);
        tf_profile_release(&delta);
    }
    CU_ASSERT_TRUE(deltas > 100);
}

static void test_gap_is_refused(void)
{
    struct tf_rng rng;
    tf_rng_init(&rng, 3);
    struct tf_profile held = make_profile(&rng), before = {0}, next = {0}, later = {0}, delta = {0};
    tf_profile_copy(&before, &held);
    tf_profile_copy(&next, &held);
    next.generation.counter++;
    tf_profile_copy(&later, &next);
    later.generation.counter++;
    later.rows.items[0].count++;
    tf_profile_diff(&next, &later, &delta);
    CU_ASSERT_FALSE_FATAL(delta.full);
    struct tf_error err = TF_ERROR_INIT;
    CU_ASSERT_EQUAL(tf_profile_apply(&held, &delta, &err), -1);
    CU_ASSERT_EQUAL(err.code, TF_ERR_CONFLICT);
    CU_ASSERT_TRUE(same(&held, &before));
    CU_ASSERT_EQUAL(tf_profile_apply(&next, &delta, &err), 0);
    CU_ASSERT_EQUAL(tf_profile_apply(&next, &delta, &err), -1); /* a second time */
    CU_ASSERT_EQUAL(tf_profile_apply(&held, &later, &err), 0);  /* a full one needs no base */
    CU_ASSERT_TRUE(same(&held, &later));
    tf_profile_release(&held);
    tf_profile_release(&before);
    tf_profile_release(&next);
    tf_profile_release(&later);
    tf_profile_release(&delta);
}

static void refused(struct tf_profile *held, struct tf_profile_row row)
{
    struct tf_profile delta = {.base = held->generation, .generation = {1, 99}};
    tf_vec_push(&delta.rows, row);
    struct tf_error err = TF_ERROR_INIT;
    CU_ASSERT_EQUAL(tf_profile_apply(held, &delta, &err), -1);
    CU_ASSERT_EQUAL(err.code, TF_ERR_INVALID);
    CU_ASSERT_NOT_EQUAL(held->generation.counter, 99);
    delta.rows.items[0].levels = (struct tf_level_vectors){0};
    tf_profile_release(&delta);
}

static void test_bad_rows_are_refused(void)
{
    struct tf_rng rng;
    tf_rng_init(&rng, 5);
    struct tf_profile held = make_profile(&rng);
    struct tf_level_vector some[] = {{TF_LEVEL_FREE, {1, 1, 1, 1}}, {3, {2, 2, 2, 2}}};
    struct tf_profile_row good = {
        .id = 1, .count = 1, .claim_rank = -1, .levels = {some, TF_ARRAY_LEN(some), 0}};
    struct tf_profile_row row = good;
    row.class = (uint32_t)held.classes.count;
    refused(&held, row);
    refused(&held, (struct tf_profile_row){.id = 1000, .claim_rank = -1}); /* gone, but was never there */
    row = good;
    row.id = TF_PROFILE_ROWS_MAX;
    refused(&held, row);
    row = good;
    row.count = -1;
    refused(&held, row);
    row = good;
    row.claim_rank = TF_CLASSES_MAX;
    refused(&held, row);
    row = good;
    row.levels.count = 0;
    refused(&held, row);
    some[1].have.gpus = 0; /* less than at free */
    refused(&held, good);
    some[1] = (struct tf_level_vector){3, {TF_NODE_GPUS_MAX + 1, 2, 2, 2}};
    refused(&held, good);
    some[1] = (struct tf_level_vector){0, {2, 2, 2, 2}};
    refused(&held, good);
    tf_profile_release(&held);
}

static void test_level_between_vectors(void)
{
    struct tf_level_vector items[] = {{0, {1, 1, 1, 1}}, {4, {2, 2, 2, 2}}, {9, {3, 3, 3, 3}}};
    struct tf_profile_row row = {.levels = {items, TF_ARRAY_LEN(items), 0}};
    CU_ASSERT_EQUAL(tf_profile_row_at(&row, 0).gpus, 1);
    CU_ASSERT_EQUAL(tf_profile_row_at(&row, 3).gpus, 1);
    CU_ASSERT_EQUAL(tf_profile_row_at(&row, 4).gpus, 2);
    CU_ASSERT_EQUAL(tf_profile_row_at(&row, 8).gpus, 2);
    CU_ASSERT_EQUAL(tf_profile_row_at(&row, TF_LEVEL_TOP).gpus, 3);
    row.levels.count = 0;
    CU_ASSERT_EQUAL(tf_profile_row_at(&row, TF_LEVEL_TOP).gpus, 0);
}

static const struct suite_test tests[] = {
    {"diff, then apply, is the identity", test_diff_then_apply_is_identity},
    {"a delta on another base is refused and changes nothing", test_gap_is_refused},
    {"rows out of bounds are refused", test_bad_rows_are_refused},
    {"a level between two vectors sees the lower one", test_level_between_vectors},
};

int main(void)
{
    return suite_run("profile", tests, TF_ARRAY_LEN(tests));
}
