/* SPDX-License-Identifier: Apache-2.0 */
#include "common/wire/attach.h"

#include "common/base/cleanup.h"
#include "tests/support/suite.h"

static struct tf_vector vector(int32_t gpus, int32_t slots, int64_t cpu, int64_t gib)
{
    return (struct tf_vector){.gpus = gpus, .slots = slots, .cpu = cpu, .memory = gib * 1024};
}

/* A node as it looks in a busy subcluster: some free, some held by surplus, some by a core. */
static void add_row(struct tf_profile *profile, uint32_t id)
{
    struct tf_profile_row *row = tf_vec_add(&profile->rows);
    *row = (struct tf_profile_row){.id = id, .class = id % 7, .count = 1, .claim_rank = -1};
    const struct tf_level_vector levels[] = {
        {TF_LEVEL_FREE, vector((int32_t)(id % 3), 90, 17500, 143)},
        {tf_level_surplus(0), vector(4, 94, 81500, 920)},
        {tf_level_core(1), vector(8, 110, 191500, 2003)},
    };
    for (size_t i = 0; i < TF_ARRAY_LEN(levels); i++)
        tf_vec_push(&row->levels, levels[i]);
}

static size_t size_of(const struct tf_profile *profile)
{
    TF_AUTO_BUF bytes = TF_BUF_INIT;
    struct tf_up up = {.kind = TF_UP_PROFILE, .profile = *profile};
    CU_ASSERT_EQUAL(tf_wire_up_pack(&up, &bytes, NULL), 0);
    return bytes.len;
}

/* DESIGN.md §12: at most 30 bytes a changed row. */
static void test_bytes_of_a_changed_row(void)
{
    struct tf_profile delta = {.base = {77, 1000000}, .generation = {77, 1000001}};
    size_t empty = size_of(&delta);
    for (uint32_t i = 0; i < 1000; i++)
        add_row(&delta, i * 13);
    double each = (double)(size_of(&delta) - empty) / 1000;
    printf("\n    %.1f bytes a row of three levels ", each);
    CU_ASSERT_TRUE(each <= 30);
    tf_profile_release(&delta);
}

/* What does not add up is refused, and nothing is kept of it. */
static void test_rows_out_of_bounds(void)
{
    for (int fault = 0; fault < 6; fault++) {
        struct tf_up up = {.kind = TF_UP_PROFILE};
        TF_AUTO_BUF bytes = TF_BUF_INIT;
        struct tf_error err = TF_ERROR_INIT;
        add_row(&up.profile, 5);
        struct tf_profile_row *row = &up.profile.rows.items[0];
        if (fault == 0)
            row->id = TF_PROFILE_ROWS_MAX;
        if (fault == 1)
            row->count = -1;
        if (fault == 2)
            row->claim_rank = TF_CLASSES_MAX;
        if (fault == 3)
            row->levels.items[1].level = TF_LEVEL_TOP + 1;
        if (fault == 4)
            row->levels.items[1].have.cpu = -1;
        if (fault == 5)
            row->levels.items[2].have.memory = TF_QUANTITY_MAX + 1;
        CU_ASSERT_EQUAL(tf_wire_up_pack(&up, &bytes, &err), -1);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "profile: rows[0]: "));
        tf_up_release(&up);
    }
}

static const struct suite_test tests[] = {
    {"a changed row costs at most 30 bytes", test_bytes_of_a_changed_row},
    {"rows out of bounds are refused", test_rows_out_of_bounds},
};

int main(void)
{
    return suite_run("profile", tests, TF_ARRAY_LEN(tests));
}
