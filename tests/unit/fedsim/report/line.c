/* SPDX-License-Identifier: Apache-2.0 */
/* Sums that are spread over the time of a run: whatever its length, the parts sum to the whole. */
#include "tests/support/suite.h"
#include "tools/fedsim/report/private.h"

#include "common/base/cleanup.h"
#include "common/base/rng.h"

static int64_t sum_of(const struct report_line *line)
{
    int64_t sum = 0;
    tf_vec_each (part, &line->parts)
        sum += *part;
    return sum;
}

static void test_level(void)
{
    struct report_line line = {0};
    report_line_spread(&line, 500, 2500, 8);
    CU_ASSERT_EQUAL(report_line_width(&line), TF_SECOND);
    CU_ASSERT_EQUAL_FATAL(line.parts.count, 3);
    CU_ASSERT_EQUAL(line.parts.items[0], 4000);
    CU_ASSERT_EQUAL(line.parts.items[1], 8000);
    CU_ASSERT_EQUAL(line.parts.items[2], 4000);
    report_line_spread(&line, 700 * TF_SECOND, 701 * TF_SECOND, 1);
    CU_ASSERT_EQUAL(report_line_width(&line), 5 * TF_SECOND);
    CU_ASSERT_EQUAL(line.parts.items[0], 16000);
    CU_ASSERT_EQUAL(line.parts.items[140], 1000);
    report_line_release(&line);
}

/* What happens at the very end of a run does not give it a bucket more than others have. */
static void test_last_moment(void)
{
    struct report_line counts = {0}, level = {0};
    const int64_t end = 600 * TF_SECOND;
    report_line_count(&counts, 0);
    report_line_count(&counts, end);
    report_line_spread(&level, 0, end, 2);
    report_line_close(&counts, end);
    report_line_close(&level, end);
    CU_ASSERT_EQUAL(counts.parts.count, 600);
    CU_ASSERT_EQUAL(level.parts.count, 600);
    CU_ASSERT_EQUAL(report_line_width(&counts), report_line_width(&level));
    CU_ASSERT_EQUAL(counts.parts.items[0], 1);
    CU_ASSERT_EQUAL(counts.parts.items[599], 1);
    report_line_release(&counts);
    report_line_release(&level);
}

/* Nothing ever happened, in no time. */
static void test_nothing(void)
{
    struct report_line line = {0};
    report_line_close(&line, 0);
    CU_ASSERT_EQUAL(line.parts.count, 1);
    CU_ASSERT_EQUAL(sum_of(&line), 0);
    report_line_release(&line);
}

static void test_any_length(void)
{
    struct tf_rng rng;
    tf_rng_init(&rng, suite_seed(1));
    for (size_t round = 0; round < suite_rounds(300); round++) {
        struct report_line level = {0}, counts = {0};
        int64_t now = 0, whole = 0, happened = 0;
        int64_t stride = INT64_C(1) << tf_rng_below(&rng, 30);
        for (int i = 0; i < 200; i++) {
            int64_t next = now + (int64_t)tf_rng_below(&rng, (uint64_t)stride),
                    gpus = (int64_t)tf_rng_below(&rng, 9);
            report_line_spread(&level, now, next, gpus);
            whole += gpus * (next - now);
            now = next;
            report_line_count(&counts, now);
            happened++;
        }
        report_line_close(&level, now);
        report_line_close(&counts, now);
        CU_ASSERT_EQUAL(sum_of(&level), whole);
        CU_ASSERT_EQUAL(sum_of(&counts), happened);
        CU_ASSERT_EQUAL(level.parts.count, counts.parts.count);
        CU_ASSERT_EQUAL(report_line_width(&level), report_line_width(&counts));
        CU_ASSERT(level.parts.count <= REPORT_BUCKETS);
        report_line_release(&level);
        report_line_release(&counts);
    }
}

int main(void)
{
    static const struct suite_test tests[] = {
        {"a level", test_level},
        {"the last moment", test_last_moment},
        {"nothing", test_nothing},
        {"any length", test_any_length},
    };
    return suite_run("line", tests, TF_ARRAY_LEN(tests));
}
