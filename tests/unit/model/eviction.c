/* SPDX-License-Identifier: Apache-2.0 */
/* The sentence about who gave way: what was written is what is read, whatever stands around it. */
#include "common/model/eviction.h"
#include "common/base/alloc.h"
#include "common/base/cleanup.h"
#include "tests/support/suite.h"

static struct tf_eviction find(const char *text)
{
    struct tf_eviction e;
    CU_ASSERT_TRUE_FATAL(tf_eviction_find(text, &e));
    return e;
}

static void is(struct tf_eviction *e, const char *level, const char *by, const char *priority, int64_t lost)
{
    CU_ASSERT_STRING_EQUAL(e->level, level);
    CU_ASSERT_STRING_EQUAL(e->by, by);
    CU_ASSERT_STRING_EQUAL(e->priority, priority);
    CU_ASSERT_EQUAL(e->lost_gpu_seconds, lost);
    tf_eviction_release(e);
}

static void test_there_and_back(void)
{
    static const int64_t lost[] = {0, 1, 57600, INT64_MAX};
    for (size_t i = 0; i < TF_ARRAY_LEN(lost); i++) {
        const struct tf_eviction e = {"surplus(batch)", "search/rank-2", "online", lost[i]};
        TF_AUTO_FREE char *text = tf_eviction_text(&e);
        TF_AUTO_FREE char *whole = tf_asprintf("in bj-a, from 8 to 4 instances: %s", text);
        struct tf_eviction back = find(text);
        is(&back, "surplus(batch)", "search/rank-2", "online", lost[i]);
        back = find(whole);
        is(&back, "surplus(batch)", "search/rank-2", "online", lost[i]);
    }
}

static void test_other_words(void)
{
    static const char *const texts[] = {
        "",
        "in a",
        " gave way to ",
        "x gave way to ",
        "x gave way to  (b): 1 GPU-seconds lost",
        "core(low) gave way to a/b (high): -1 GPU-seconds lost",
        "core(low) gave way to a/b (high): 99999999999999999999 GPU-seconds lost",
        "core(low) gave way to a/b (high): GPU-seconds lost",
        "core(low) gave way to a/b (high) 1 GPU-seconds lost",
        "core(low) gave way to a/b (high): 1 GPU-secon",
        "gave way to a/b (high): 1 GPU-seconds lost",
        "what it had claimed and waited for went to a/b (high); nothing of it ran",
    };
    for (size_t i = 0; i < TF_ARRAY_LEN(texts); i++) {
        struct tf_eviction e;
        CU_ASSERT_FALSE(tf_eviction_find(texts[i], &e));
        CU_ASSERT_PTR_NULL(e.level);
    }
}

int main(void)
{
    static const struct suite_test tests[] = {
        {"there and back", test_there_and_back},
        {"other words", test_other_words},
    };
    return suite_run("unit/model/eviction", tests, TF_ARRAY_LEN(tests));
}
