/* SPDX-License-Identifier: Apache-2.0 */
/* How far a long run is: when that is told, and in what words. */
#include "tools/fedsim/program/progress.h"

#include "common/base/cleanup.h"
#include "tests/support/suite.h"

static struct tf_mono at(int64_t ms)
{
    return (struct tf_mono){5000 + ms};
}

static void test_at_most_each_second(void)
{
    struct progress p;
    progress_begin(&p, "tide", true, at(0));
    CU_ASSERT_FALSE(progress_is_due(&p, at(999))); /* a short run tells nothing */
    CU_ASSERT_TRUE(progress_is_due(&p, at(1000)));
    p.told = at(1000);
    CU_ASSERT_FALSE(progress_is_due(&p, at(1999)));
    CU_ASSERT_TRUE(progress_is_due(&p, at(2500)));
    progress_begin(&p, "tide", false, at(0)); /* a pipe, or a file */
    CU_ASSERT_FALSE(progress_is_due(&p, at(100000)));
}

static void line_is(int64_t done, int64_t until, int64_t took, const char *expected)
{
    struct progress p;
    TF_AUTO_BUF line = TF_BUF_INIT;
    progress_begin(&p, "tide", true, at(0));
    progress_line(&p, done, until, 1234567, at(took), &line);
    CU_ASSERT_STRING_EQUAL(tf_buf_text(&line), expected);
}

static void test_the_line(void)
{
    const int64_t day = 24 * (int64_t)TF_HOUR;
    line_is(76 * (int64_t)TF_HOUR + 61999, 84 * day, 12345, "tide: 3d4h1m of 84d (3 %), 1234567 events, 12s");
    line_is(1999, 60000, 1000, "tide: 1s of 1m (3 %), 1234567 events, 1s");
    line_is(70000, 60000, 3600999, "tide: 1m10s of 1m (100 %), 1234567 events, 1h");
    line_is(0, 0, 1000, "tide: 0s of 0s (100 %), 1234567 events, 1s");
}

int main(void)
{
    static const struct suite_test tests[] = {
        {"at most each second", test_at_most_each_second},
        {"the line", test_the_line},
    };
    return suite_run("unit/fedsim/program/progress", tests, TF_ARRAY_LEN(tests));
}
