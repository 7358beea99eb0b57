/* SPDX-License-Identifier: Apache-2.0 */
/* The text that Prometheus is given, to the byte. (That it is what Prometheus wants: integration/metrics.) */
#include "common/monitor/metric.h"

#include "common/base/cleanup.h"
#include "tests/support/suite.h"

static const int64_t bounds[] = {10, 1000, 0};

static const struct tf_metric rows[] = {
    {"t_jobs", TF_METRIC_GAUGE, TF_UNIT_ONE, {"phase", "class"}, NULL, "jobs in `phase`, \\ and all"},
    {"t_late_seconds", TF_METRIC_GAUGE, TF_UNIT_MS, {NULL}, NULL, "late"},
    {"t_step_seconds", TF_METRIC_HISTOGRAM, TF_UNIT_US, {"core"}, bounds, "steps"},
    {"t_done_total", TF_METRIC_COUNTER, TF_UNIT_ONE, {NULL}, NULL, "done"},
};

static void test_samples(void)
{
    TF_AUTO_BUF text = TF_BUF_INIT;
    struct tf_metrics m = {.out = &text};
    tf_metrics_add(&m, &rows[0], TF_LABELS("Pending", "a\"b\\c\nd"), 3);
    tf_metrics_add(&m, &rows[0], TF_LABELS("Running", "\xff"), -4);
    tf_metrics_add(&m, &rows[1], TF_NO_LABELS, 61005);
    tf_metrics_add(&m, &rows[1], TF_NO_LABELS, -5);
    tf_metrics_add(&m, &rows[3], TF_NO_LABELS, INT64_MAX);
    CU_ASSERT_STRING_EQUAL(tf_buf_text(&text), "# HELP t_jobs jobs in phase, \\\\ and all\n"
                                               "# TYPE t_jobs gauge\n"
                                               "t_jobs{phase=\"Pending\",class=\"a\\\"b\\\\c\\nd\"} 3\n"
                                               "t_jobs{phase=\"Running\",class=\"\xef\xbf\xbd\"} -4\n"
                                               "# HELP t_late_seconds late\n"
                                               "# TYPE t_late_seconds gauge\n"
                                               "t_late_seconds 61.005\n"
                                               "t_late_seconds -0.005\n"
                                               "# HELP t_done_total done\n"
                                               "# TYPE t_done_total counter\n"
                                               "t_done_total 9223372036854775807\n");
}

static void test_histogram(void)
{
    TF_AUTO_BUF text = TF_BUF_INIT;
    struct tf_metrics m = {.out = &text};
    struct tf_histogram h = {0};
    static const int64_t values[] = {0, 10, 11, 1000, 1001, 2000000};
    for (size_t i = 0; i < TF_ARRAY_LEN(values); i++)
        tf_histogram_add(&h, &rows[2], values[i]);
    tf_metrics_add_histogram(&m, &rows[2], TF_LABELS("x"), &h);
    CU_ASSERT_STRING_EQUAL(tf_buf_text(&text), "# HELP t_step_seconds steps\n"
                                               "# TYPE t_step_seconds histogram\n"
                                               "t_step_seconds_bucket{core=\"x\",le=\"0.000010\"} 2\n"
                                               "t_step_seconds_bucket{core=\"x\",le=\"0.001000\"} 4\n"
                                               "t_step_seconds_bucket{core=\"x\",le=\"+Inf\"} 6\n"
                                               "t_step_seconds_sum{core=\"x\"} 2.002022\n"
                                               "t_step_seconds_count{core=\"x\"} 6\n");
}

static void test_reference(void)
{
    TF_AUTO_BUF text = TF_BUF_INIT;
    tf_metrics_markdown(rows, 2, &text);
    CU_ASSERT_STRING_EQUAL(tf_buf_text(&text),
                           "| `t_jobs` | gauge | `phase`, `class` | jobs in `phase`, \\ and all |\n"
                           "| `t_late_seconds` | gauge |  | late |\n");
}

static const struct suite_test tests[] = {
    {"samples", test_samples}, {"histogram", test_histogram}, {"reference", test_reference}};

int main(void)
{
    return suite_run("metric", tests, TF_ARRAY_LEN(tests));
}
