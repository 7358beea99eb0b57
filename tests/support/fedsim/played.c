/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/fedsim/played.h"

#include "common/base/cleanup.h"
#include "tests/support/suite.h"

#define MILLION 1000000

void test_play(const char *text, const struct play_options *options, struct play_result *result)
{
    struct tf_conf_problems problems = {0};
    struct scenario scenario;
    struct tf_error err = TF_ERROR_INIT;
    int failed = scenario_read(text, strlen(text), &scenario, &problems);
    TF_AUTO_BUF shown = TF_BUF_INIT;
    tf_conf_problems_print(&problems, "scenario", &shown);
    tf_conf_problems_release(&problems);
    if (failed)
        printf("\n%s\n", tf_buf_text(&shown));
    CU_ASSERT_EQUAL_FATAL(failed, 0);
    CU_ASSERT_EQUAL_FATAL(scenario_play(&scenario, options, result, &err), 0);
    CU_ASSERT_TRUE(play_is_good(result));
    scenario_release(&scenario);
}

double test_figure(const struct play_result *result, const char *name)
{
    int64_t millionths = -MILLION;
    if (report_figure(result->report, name, &millionths))
        printf("\nthere is no figure %s\n", name);
    return (double)millionths / MILLION;
}

void test_expect_figure(const struct play_result *result, const char *name, double want, double off)
{
    double got = test_figure(result, name);
    if (got < want - off || got > want + off)
        printf("\n%s is %f, expected %f\n", name, got, want);
    CU_ASSERT(got >= want - off && got <= want + off);
}
