/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/fedsim/situations.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

static const struct sim_situations none;

static void test_counts_of_each_owner_go_to_its_own(void)
{
    struct sim_situations sum = {0}, more = {0};
    struct fed_situations fed = {.FED_ORPHAN = 2};
    struct sub_situations sub = {.SUB_STRAY = 3};
    struct tf_guard_situations guard = {.LEASE_ENDED = 4};
    sim_situations_count(&sum, TF_SITUATIONS_OF(fed, &fed));
    sim_situations_count(&sum, TF_SITUATIONS_OF(sub, &sub));
    sim_situations_count(&sum, TF_SITUATIONS_OF(tf_guard, &guard));
    sim_situations_add(&more, &sum);
    sim_situations_add(&more, &sum);
    CU_ASSERT_EQUAL(more.fed.FED_ORPHAN, 4);
    CU_ASSERT_EQUAL(more.sub.SUB_STRAY, 6);
    CU_ASSERT_EQUAL(more.guard.LEASE_ENDED, 8);
    more.fed.FED_ORPHAN = more.sub.SUB_STRAY = more.guard.LEASE_ENDED = 0;
    CU_ASSERT_EQUAL(memcmp(&more, &none, sizeof more), 0);
}

static bool printed(const struct sim_situations *reached, uint64_t runs, char **text)
{
    size_t len = 0;
    FILE *out = open_memstream(text, &len);
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    bool enough = sim_situations_print(out, reached, runs);
    fclose(out);
    return enough;
}

/* Each owner's lists by the names of its fields: as often as `count`. */
static void fill(uint64_t *counts, size_t count, uint64_t value)
{
    for (size_t i = 0; i < count; i++)
        counts[i] = value;
}

static void test_an_expected_one_that_is_rare_is_not_enough(void)
{
    TF_AUTO_FREE char *text = NULL;
    struct sim_situations reached = {0};
    fill(reached.guard.counts, TF_ARRAY_LEN(reached.guard.counts), 20);
    fill(reached.fed.counts, TF_ARRAY_LEN(reached.fed.counts), 20);
    fill(reached.sub.counts, TF_ARRAY_LEN(reached.sub.counts), 20);
    reached.guard.COMMIT_FOREIGN_HEAD = 0;
    CU_ASSERT(printed(&reached, 5000, &text));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "         0  store: head was changed by someone"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "(not required)"));
    CU_ASSERT_PTR_NULL(strstr(text, "too rare"));

    TF_AUTO_FREE char *rare = NULL;
    reached.fed.FED_RECLAIMS = 19;
    CU_ASSERT_FALSE(printed(&reached, 5000, &rare));
    CU_ASSERT_PTR_NOT_NULL(strstr(rare, "others must go for it   <-- too rare"));
}

static void test_few_runs_may_miss_a_few(void)
{
    TF_AUTO_FREE char *one = NULL;
    TF_AUTO_FREE char *many = NULL;
    CU_ASSERT(printed(&none, 99, &one));
    CU_ASSERT_FALSE(printed(&none, 100, &many));
}

/* What a reader of the table could take for one another. */
static void test_no_two_have_the_same_words(void)
{
    struct tf_situations owners[] = {TF_SITUATIONS_OF(tf_guard, &none.guard),
                                     TF_SITUATIONS_OF(fed, &none.fed), TF_SITUATIONS_OF(sub, &none.sub)};
    for (size_t o = 0; o < TF_ARRAY_LEN(owners); o++)
        for (size_t i = 0; i < owners[o].count; i++)
            for (size_t j = 0; j < i; j++)
                CU_ASSERT_NOT_EQUAL(strcmp(owners[o].list[i].words, owners[o].list[j].words), 0);
}

static const struct suite_test tests[] = {
    {"counts of each owner go to its own", test_counts_of_each_owner_go_to_its_own},
    {"an expected one that is rare is not enough", test_an_expected_one_that_is_rare_is_not_enough},
    {"few runs may miss a few", test_few_runs_may_miss_a_few},
    {"no two have the same words", test_no_two_have_the_same_words},
};

int main(void)
{
    return suite_run("situations", tests, TF_ARRAY_LEN(tests));
}
