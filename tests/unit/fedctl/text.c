/* SPDX-License-Identifier: Apache-2.0 */
/* Columns, times and lists of documents: what fedctl prints, without a federation. */
#include "common/base/cleanup.h"
#include "tests/support/suite.h"
#include "tools/fedctl/columns.h"
#include "tools/fedctl/resource.h"
#include "tools/fedctl/when.h"

#define SECONDS(n) ((int64_t)(n)*1000)
#define MINUTES(n) SECONDS(60 * (n))
#define HOURS(n) MINUTES(60 * (n))
#define DAYS(n) HOURS(24 * (n))

static void test_spans(void)
{
    static const struct {
        int64_t ms;
        const char *text;
    } cases[] = {
        {-5000, "0s"},
        {0, "0s"},
        {999, "0s"},
        {SECONDS(119), "119s"},
        {SECONDS(120), "2m"},
        {SECONDS(200), "3m20s"},
        {MINUTES(10), "10m"},
        {MINUTES(179), "179m"},
        {HOURS(3), "3h"},
        {HOURS(7) + MINUTES(5), "7h5m"},
        {HOURS(8) + MINUTES(59), "8h"},
        {HOURS(47), "47h"},
        {DAYS(4) + HOURS(7), "4d7h"},
        {DAYS(8) + HOURS(7), "8d"},
        {DAYS(729), "729d"},
        {DAYS(3 * 365), "3y"},
    };
    char text[WHEN_TEXT];
    for (size_t i = 0; i < TF_ARRAY_LEN(cases); i++)
        CU_ASSERT_STRING_EQUAL(when_span(cases[i].ms, text), cases[i].text);
}

static void test_moments(void)
{
    char text[WHEN_TEXT];
    struct tf_wall at = {INT64_C(1796000000120)}, never = {0};
    setenv("TZ", "UTC", 1);
    tzset();
    CU_ASSERT_STRING_EQUAL(when_utc(at, text), "2026-11-30T00:53:20.120Z");
    CU_ASSERT_STRING_EQUAL(when_utc(never, text), "");
    CU_ASSERT_STRING_EQUAL(when_local(at, text), "2026-11-30 00:53:20 +0000");
    CU_ASSERT_STRING_EQUAL(when_local(never, text), "-");
    setenv("TZ", "UTC-8", 1);
    tzset();
    CU_ASSERT_STRING_EQUAL(when_utc(at, text), "2026-11-30T00:53:20.120Z");
    CU_ASSERT_STRING_EQUAL(when_local(at, text), "2026-11-30 08:53:20 +0800");
    CU_ASSERT_STRING_EQUAL(when_relative(at, (struct tf_wall){at.ms + 200000}, text), "3m20s ago");
    CU_ASSERT_STRING_EQUAL(when_relative(at, (struct tf_wall){at.ms - 200000}, text), "in 3m20s");
    CU_ASSERT_STRING_EQUAL(when_relative(never, at, text), "-");
    CU_ASSERT_STRING_EQUAL(when_age(never, at, text), "-");
}

static void test_width(void)
{
    CU_ASSERT_EQUAL(columns_width("plain"), 5);
    CU_ASSERT_EQUAL(columns_width("中文"), 4);
    CU_ASSERT_EQUAL(columns_width("e\xcc\x81"), 1); /* a mark that combines */
    CU_ASSERT_EQUAL(columns_width("\xff\xfe"), 2);  /* two replacement characters */
}

static const char *shown(struct tf_buf *buf, const char *s, size_t width)
{
    tf_buf_clear(buf);
    columns_text(buf, s, width);
    return tf_buf_text(buf);
}

static void test_cell_text(void)
{
    TF_AUTO_BUF buf = TF_BUF_INIT;
    CU_ASSERT_STRING_EQUAL(shown(&buf, "a\nb\tc", 0), "a b c");
    CU_ASSERT_STRING_EQUAL(shown(&buf, "\033[31mred", 0), "?[31mred"); /* no escape reaches the terminal */
    CU_ASSERT_STRING_EQUAL(shown(&buf, "\xe2\x80\xaetxt.exe", 0), "?txt.exe"); /* nor a turn of direction */
    CU_ASSERT_STRING_EQUAL(shown(&buf, "abcdef", 4), "abc…");
    CU_ASSERT_STRING_EQUAL(shown(&buf, "abcd", 4), "abcd");
    CU_ASSERT_STRING_EQUAL(shown(&buf, "中文字", 4), "中…");
}

static const struct column titles[] = {{"NAME", 0}, {"N", COLUMN_RIGHT}, {"UID", COLUMN_WIDE}, {"WHY", 0}};

static void fill(struct columns *columns)
{
    static const char *const cells[] = {"web/hello", "10", "u1", "",
                                        "数据/a",    "7",  "u2", "waits for a very long time indeed"};
    columns_init(columns, titles, TF_ARRAY_LEN(titles));
    for (size_t i = 0; i < TF_ARRAY_LEN(cells); i++)
        columns_add_styled(columns, i == 5 ? CELL_GOOD : CELL_PLAIN, cells[i]);
    CU_ASSERT_EQUAL(columns_rows(columns), 2);
}

static void check_columns(struct columns_style style, const char *expected)
{
    struct columns columns;
    TF_AUTO_BUF buf = TF_BUF_INIT;
    fill(&columns);
    columns_print(&columns, &style, &buf);
    CU_ASSERT_STRING_EQUAL(tf_buf_text(&buf), expected);
    columns_release(&columns);
}

static void test_columns(void)
{
    check_columns((struct columns_style){0}, "NAME         N   WHY\n"
                                             "web/hello   10   -\n"
                                             "数据/a       7   waits for a very long time indeed\n");
    check_columns((struct columns_style){.wide = true, .indent = 2},
                  "  NAME         N   UID   WHY\n"
                  "  web/hello   10   u1    -\n"
                  "  数据/a       7   u2    waits for a very long time indeed\n");
    check_columns((struct columns_style){.terminal = 45}, "NAME         N   WHY\n"
                                                          "web/hello   10   -\n"
                                                          "数据/a       7   waits for a very long time …\n");
    check_columns((struct columns_style){.terminal = 20}, "NAME         N   WHY\n"
                                                          "web/hello   10   -\n"
                                                          "数据/a       7   waits for a very long t…\n");
    check_columns((struct columns_style){.color = true, .no_titles = true},
                  "web/hello   10   -\n"
                  "数据/a       \033[32m7\033[0m   waits for a very long time indeed\n");
}

/* ---- documents ---- */

static struct tf_job_view a_job(void)
{
    struct tf_job_view job = {.phase = TF_PHASE_PENDING, .conditions = TF_CONDITION_SHORT};
    tf_job_manifest_init(&job.manifest);
    tf_str_set(&job.manifest.tenant, "web");
    tf_str_set(&job.manifest.name, "hello");
    tf_str_set(&job.manifest.spec.priority, "online");
    tf_job_spec_fill(&job.manifest.spec);
    job.reason = TF_REASON_NO_SUCH_MODEL;
    job.reason_text = tf_strdup("no cluster has \"B300\", {x: [1, 2]}");
    return job;
}

static void check_list(bool json, size_t count, const char *start, const char *has, const char *end)
{
    TF_AUTO_BUF buf = TF_BUF_INIT;
    struct tf_job_view job = a_job();
    view_list_begin(json, &buf);
    for (size_t i = 0; i < count; i++)
        view_list_item(&view_job, &job, json, i == 0, &buf);
    view_list_end(json, count == 0, &buf);
    const char *text = tf_buf_text(&buf);
    CU_ASSERT_TRUE(strncmp(text, start, strlen(start)) == 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, has));
    CU_ASSERT_STRING_EQUAL(text + buf.len - strlen(end), end);
    tf_job_view_release(&job);
}

static void test_lists(void)
{
    check_list(true, 0, "{\n  \"apiVersion\": \"tidefed/v1\",\n  \"kind\": \"List\",\n  \"items\": []\n}\n",
               "", "");
    check_list(false, 0, "apiVersion: tidefed/v1\nkind: List\nitems: []\n", "", "");
    check_list(true, 2, "{\n  \"apiVersion\"",
               "\n        \"reasonText\": \"no cluster has \\\"B300\\\", {x: [1, 2]}\",\n",
               "\n    }\n  ]\n}\n");
    check_list(false, 2,
               "apiVersion: tidefed/v1\nkind: List\nitems:\n  - apiVersion: tidefed/v1\n    kind: Job\n",
               "\n      reason: NO_SUCH_MODEL\n", "\n");
}

static void test_words(void)
{
    TF_AUTO_BUF buf = TF_BUF_INIT;
    struct tf_job_view job = a_job();
    phase_text(&job, &buf);
    CU_ASSERT_STRING_EQUAL(tf_buf_text(&buf), "Pending,Short");
    tf_buf_clear(&buf);
    reason_text(&job, &buf);
    CU_ASSERT_STRING_EQUAL(tf_buf_text(&buf), "NO_SUCH_MODEL: no cluster has \"B300\", {x: [1, 2]}");
    tf_buf_clear(&buf);
    job.phase = TF_PHASE_FAILED;
    job.message = tf_strdup("exit code 3");
    reason_text(&job, &buf);
    CU_ASSERT_STRING_EQUAL(tf_buf_text(&buf), "exit code 3");
    tf_job_view_release(&job);
}

static void test_cluster_states(void)
{
    char text[CLUSTER_STATE_TEXT];
    struct tf_cluster_info info = {.attached = true};
    CU_ASSERT_STRING_EQUAL(cluster_state(&info, text), "Waiting");
    info.generation.counter = 1;
    CU_ASSERT_STRING_EQUAL(cluster_state(&info, text), "Ready");
    info.brakes = TF_BRAKE_MASS_DOWN;
    CU_ASSERT_STRING_EQUAL(cluster_state(&info, text), "Suspect");
    info.brakes = 0;
    info.cordoned = true;
    CU_ASSERT_STRING_EQUAL(cluster_state(&info, text), "Cordoned");
    info.attached = false;
    CU_ASSERT_STRING_EQUAL(cluster_state(&info, text), "Away,Cordoned");
    info.lost = true;
    CU_ASSERT_STRING_EQUAL(cluster_state(&info, text), "Lost,Cordoned");
    info.forgotten = true;
    info.cordoned = false;
    CU_ASSERT_STRING_EQUAL(cluster_state(&info, text), "Forgotten");
}

static const struct suite_test tests[] = {
    {"spans", test_spans},     {"moments", test_moments},
    {"width", test_width},     {"cell text", test_cell_text},
    {"columns", test_columns}, {"lists", test_lists},
    {"words", test_words},     {"cluster states", test_cluster_states},
};

int main(void)
{
    return suite_run("fedctl text", tests, TF_ARRAY_LEN(tests));
}
