/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/quantity.h"

#include "common/base/cleanup.h"
#include "common/base/rng.h"
#include "tests/support/suite.h"

#include <inttypes.h>

static int64_t duration(const char *s)
{
    int64_t ms = -1;
    return tf_duration_parse(s, &ms, NULL) ? -1 : ms;
}

static void test_durations(void)
{
    CU_ASSERT_EQUAL(duration("0s"), 0);
    CU_ASSERT_EQUAL(duration("500ms"), 500);
    CU_ASSERT_EQUAL(duration("90s"), 90000);
    CU_ASSERT_EQUAL(duration("1h30m"), 5400000);
    CU_ASSERT_EQUAL(duration("2d"), 172800000);
    CU_ASSERT_EQUAL(duration("1d2h3m4s5ms"), 93784005);
    static const char *const bad[] = {"",
                                      "5",
                                      "s",
                                      "-5s",
                                      "5 s",
                                      "1.5h",
                                      "30m1h",
                                      "1h1h",
                                      "5x",
                                      "5sec",
                                      "5S",
                                      " 5s",
                                      "5s ",
                                      "h5",
                                      "1m2",
                                      "none",
                                      "99999999999999999d",
                                      "9999999999999999999999999s"};
    for (size_t i = 0; i < TF_ARRAY_LEN(bad); i++)
        CU_ASSERT_EQUAL(duration(bad[i]), -1);
    struct tf_error err = TF_ERROR_INIT;
    int64_t ms = 0;
    CU_ASSERT_EQUAL(tf_duration_parse("30", &ms, &err), -1);
    CU_ASSERT_STRING_EQUAL(err.text, "30 has no unit: a duration needs one, as in 30s, 5m, 2h, 1d");
}

static int64_t memory(const char *s, bool up)
{
    int64_t mib = -1;
    return tf_memory_parse(s, up, &mib, NULL) ? -1 : mib;
}

static void test_memory(void)
{
    CU_ASSERT_EQUAL(memory("80Gi", true), 81920);
    CU_ASSERT_EQUAL(memory("1.5Gi", true), 1536);
    CU_ASSERT_EQUAL(memory("1Pi", true), INT64_C(1) << 30);
    CU_ASSERT_EQUAL(memory("1024Ki", true), 1);
    CU_ASSERT_EQUAL(memory("1G", true), 954);
    CU_ASSERT_EQUAL(memory("1G", false), 953);
    CU_ASSERT_EQUAL(memory("1048576", false), 1);
    CU_ASSERT_EQUAL(memory("64", true), -1); /* 64 bytes: a unit was forgotten */
    CU_ASSERT_EQUAL(memory("1048575", true), -1);
    CU_ASSERT_EQUAL(memory("0", true), 0);
    CU_ASSERT_EQUAL(memory("1048577", true), 2);
    CU_ASSERT_EQUAL(memory("2k", true), 1);
    static const char *const bad[] = {"",     "Gi",   "-1Gi", "1GB",  "1gi",
                                      "1K",   "1 Gi", "1e3",  "1.Gi", ".5G",
                                      "1Mi ", "1m",   "0x1",  "nan",  "9999999999999999999Pi"};
    for (size_t i = 0; i < TF_ARRAY_LEN(bad); i++)
        CU_ASSERT_EQUAL(memory(bad[i], true), -1);
    CU_ASSERT_EQUAL(memory("999999999999999999Pi", true), -1);
}

static int64_t cpu(const char *s)
{
    int64_t m = -1;
    return tf_cpu_parse(s, &m, NULL) ? -1 : m;
}

static void test_cpu(void)
{
    CU_ASSERT_EQUAL(cpu("96"), 96000);
    CU_ASSERT_EQUAL(cpu("500m"), 500);
    CU_ASSERT_EQUAL(cpu("1.5"), 1500);
    CU_ASSERT_EQUAL(cpu("0.001"), 1);
    CU_ASSERT_EQUAL(cpu("0.0001"), -1);
    CU_ASSERT_EQUAL(cpu("0.5m"), -1);
    CU_ASSERT_EQUAL(cpu("1.0m"), 1);
    CU_ASSERT_EQUAL(cpu("-1"), -1);
    CU_ASSERT_EQUAL(cpu("1 m"), -1);
    CU_ASSERT_EQUAL(cpu("999999999999999999"), -1);
}

static int64_t fraction(const char *s)
{
    int64_t bp = -1;
    return tf_fraction_parse(s, &bp, NULL) ? -1 : bp;
}

static void test_fractions(void)
{
    CU_ASSERT_EQUAL(fraction("10%"), 1000);
    CU_ASSERT_EQUAL(fraction("10 %"), 1000);
    CU_ASSERT_EQUAL(fraction("33.33%"), 3333);
    CU_ASSERT_EQUAL(fraction("0.05"), 500);
    CU_ASSERT_EQUAL(fraction("1"), 10000);
    CU_ASSERT_EQUAL(fraction("0"), 0);
    CU_ASSERT_EQUAL(fraction("5"), -1); /* 5 % or 500 %? */
    CU_ASSERT_EQUAL(fraction("0.001%"), -1);
    CU_ASSERT_EQUAL(fraction("-1%"), -1);
}

/* What a formatter writes, its parser reads as the same value. */
static void test_round_trips(void)
{
    struct tf_rng rng;
    tf_rng_init(&rng, suite_seed(1));
    char text[TF_QUANTITY_TEXT];
    for (size_t i = 0; i < suite_rounds(20000); i++) {
        int64_t n = (int64_t)(tf_rng_next(&rng) >> (24 + tf_rng_below(&rng, 40)));
        CU_ASSERT_EQUAL_FATAL(duration(tf_duration_format(n, text)), n);
        CU_ASSERT_EQUAL_FATAL(memory(tf_memory_format(n, text), true), n);
        CU_ASSERT_EQUAL_FATAL(memory(tf_memory_format(n, text), false), n);
        CU_ASSERT_EQUAL_FATAL(cpu(tf_cpu_format(n, text)), n);
        CU_ASSERT_EQUAL_FATAL(fraction(tf_fraction_format(n, text)), n);
    }
    CU_ASSERT_STRING_EQUAL(tf_duration_format(5400000, text), "1h30m");
    CU_ASSERT_STRING_EQUAL(tf_duration_format(0, text), "0s");
    CU_ASSERT_STRING_EQUAL(tf_memory_format(81920, text), "80Gi");
    CU_ASSERT_STRING_EQUAL(tf_memory_format(1536, text), "1536Mi");
    CU_ASSERT_STRING_EQUAL(tf_cpu_format(1500, text), "1500m");
    CU_ASSERT_STRING_EQUAL(tf_fraction_format(1250, text), "12.5%");
    CU_ASSERT_STRING_EQUAL(tf_fraction_format(1205, text), "12.05%");
}

static void test_moments(void)
{
    char text[TF_QUANTITY_TEXT];
    CU_ASSERT_STRING_EQUAL(tf_moment_format((struct tf_wall){1796029923999}, text),
                           "2026-11-30 09:12:03 UTC");
    CU_ASSERT_STRING_EQUAL(tf_moment_format((struct tf_wall){0}, text), "1970-01-01 00:00:00 UTC");
}

static const struct suite_test tests[] = {
    {"durations", test_durations}, {"memory", test_memory},           {"cpu", test_cpu},
    {"fractions", test_fractions}, {"round trips", test_round_trips}, {"moments", test_moments},
};

int main(void)
{
    return suite_run("quantity", tests, TF_ARRAY_LEN(tests));
}
