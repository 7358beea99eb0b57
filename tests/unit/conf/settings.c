/* SPDX-License-Identifier: Apache-2.0 */
#include "common/model/settings.h"

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/text.h"
#include "common/conf/conf.h"
#include "tests/support/suite.h"

static void expect(const char *text, const char *wanted)
{
    struct tf_settings settings;
    struct tf_conf_problems problems = {0};
    TF_AUTO_BUF shown = TF_BUF_INIT;
    int failed = tf_conf_read_text(text, strlen(text), NULL, &tf_settings_table, &settings, &problems);
    tf_conf_problems_print(&problems, "f", &shown);
    CU_ASSERT_EQUAL(failed != 0, *wanted != '\0');
    CU_ASSERT_STRING_EQUAL(tf_buf_text(&shown), wanted);
    if (strcmp(tf_buf_text(&shown), wanted) != 0)
        printf("\n    got %s    wanted %s", tf_buf_text(&shown), wanted);
    tf_conf_problems_release(&problems);
    tf_settings_release(&settings);
}

static void test_defaults(void)
{
    struct tf_settings settings;
    struct tf_error err = TF_ERROR_INIT;
    tf_settings_init(&settings);
    CU_ASSERT_EQUAL(settings.policy.absorb_cooldown, 5 * TF_MINUTE);
    CU_ASSERT_EQUAL(settings.policy.max_evictions_per_minute, 60);
    CU_ASSERT_EQUAL(settings.lost_fraction, 3333);
    CU_ASSERT_EQUAL(settings.decision_budget, 1000000);
    CU_ASSERT_EQUAL_FATAL(settings.policy.classes.count, 4);
    CU_ASSERT_STRING_EQUAL(settings.policy.classes.items[0].name, "offline");
    CU_ASSERT_STRING_EQUAL(settings.policy.classes.items[3].name, "online");
    CU_ASSERT_EQUAL(tf_policy_check(&settings.policy, &err), 0);
    tf_settings_release(&settings);
    struct tf_local_settings local;
    tf_table_init(&tf_local_settings_table, &local);
    CU_ASSERT_EQUAL(local.resize_loss, 500);
    CU_ASSERT_EQUAL(local.profile_interval, 500);
    tf_table_release(&tf_local_settings_table, &local);
    struct tf_policy policy;
    tf_policy_init(&policy);
    CU_ASSERT_EQUAL(policy.kill_bound, 10 * TF_SECOND);
    tf_policy_release(&policy);
}

static void test_read(void)
{
    const char *text = "classes: {high: 20, low: 10}\nprotectionCeiling: high\nscheduleLabels: [disk]\n"
                       "tenants:\n  search: {maxPriority: low, maxGpus: 64, maxMinRuntime: 1h}\n"
                       "classMaxMinRuntime: {high: 2h}\nhistory: {keep: 7d}\nlostFraction: 50%\n";
    struct tf_settings s, copy = {0};
    struct tf_conf_problems problems = {0};
    CU_ASSERT_EQUAL_FATAL(tf_conf_read_text(text, strlen(text), NULL, &tf_settings_table, &s, &problems), 0);
    CU_ASSERT_EQUAL(s.policy.classes.count, 2);
    CU_ASSERT_STRING_EQUAL(s.policy.classes.items[0].name, "low");
    CU_ASSERT_EQUAL(tf_settings_tenant(&s, "search")->max_gpus, 64);
    CU_ASSERT_PTR_NULL(tf_settings_tenant(&s, "other"));
    CU_ASSERT_EQUAL(tf_settings_max_min_runtime(&s, "search", "low"), TF_HOUR);
    CU_ASSERT_EQUAL(tf_settings_max_min_runtime(&s, "search", "high"), 2 * TF_HOUR);
    CU_ASSERT_EQUAL(tf_settings_max_min_runtime(&s, "other", "low"), 0);
    CU_ASSERT_EQUAL(s.history_keep, INT64_C(7) * 24 * TF_HOUR);
    s.policy.version = 7;
    tf_settings_copy(&copy, &s);
    CU_ASSERT_TRUE(tf_table_eq(&tf_settings_table, &copy, &s));
    CU_ASSERT_EQUAL(copy.policy.version, 7);
    struct tf_strs paths = {0};
    copy.history_keep++;
    copy.lease_ttl++;
    tf_table_diff(&tf_settings_table, &s, &copy, TF_ROW_RELOADABLE, &paths);
    CU_ASSERT_EQUAL_FATAL(paths.count, 1);
    CU_ASSERT_STRING_EQUAL(paths.items[0], "leaseTtl");
    tf_strs_release(&paths);
    tf_settings_release(&s);
    tf_settings_release(&copy);
}

static void expect_item(const struct tf_row_items *items, const char *key, const char *value)
{
    const struct tf_row_item *item = tf_row_items_find(items, key);
    CU_ASSERT_PTR_NOT_NULL_FATAL(item);
    CU_ASSERT_TRUE(tf_str_eq(item->value, value));
    CU_ASSERT_EQUAL(item->reloadable, strcmp(key, "leaseTtl") != 0);
}

/* A line a value: of maps each item, of what is not said no value. */
static void test_items(void)
{
    const char *text =
        "classes: {high: 20, low: 10}\ntenants: {search: {maxGpus: 64}}\nscheduleLabels: [disk, x y]\n";
    struct tf_settings s;
    struct tf_conf_problems problems = {0};
    struct tf_row_items items = {0};
    CU_ASSERT_EQUAL_FATAL(tf_conf_read_text(text, strlen(text), NULL, &tf_settings_table, &s, &problems), 0);
    tf_table_items(&tf_settings_table, &s, &items);
    CU_ASSERT_STRING_EQUAL(items.items[0].key, "classes.low");
    tf_row_items_sort(&items);
    expect_item(&items, "classes.high", "20");
    expect_item(&items, "classes.low", "10");
    expect_item(&items, "tenants.search.maxGpus", "64");
    expect_item(&items, "tenants.search.maxJobs", NULL);
    expect_item(&items, "scheduleLabels", "[disk, \"x y\"]");
    expect_item(&items, "protectionCeiling", NULL);
    expect_item(&items, "leaseTtl", "5s");
    expect_item(&items, "history.keep", "30d");
    CU_ASSERT_PTR_NULL(tf_row_items_find(&items, "classes"));
    CU_ASSERT_PTR_NULL(tf_row_items_find(&items, "tenants.search.tenant"));
    tf_row_items_release(&items);
    tf_settings_release(&s);
}

static void test_problems(void)
{
    expect("", "");
    expect("classes: {}\n", "f:1:1: classes: has 0 items, at least 1 is needed\n");
    expect("classes: {a: 1, a: 2}\n", "f:1:17: classes.a: the key is there twice; the first is on line 1\n");
    expect("classes: {A b: 1}\n",
           "f:1:16: classes.A b: the name \"A b\": use lower-case letters, digits, '-' and "
           "single '.', and begin and end with a letter or digit\n");
    expect("classes: {a: high}\n", "f:1:14: classes.a: \"high\" is not a whole number\n");
    expect("protectionCeiling: top\n", "f:1:20: protectionCeiling: \"top\" is not one of the classes\n");
    expect("tenants: {t: {maxPriority: x}}\n",
           "f:1:28: tenants.t.maxPriority: \"x\" is not one of the classes\n");
    expect("tenants: {t: {tenant: x}}\n", "f:1:15: tenants.t: unknown key \"tenant\"; known here: "
                                          "maxPriority, maxGpus, maxJobs, maxMinRuntime\n");
    expect("leaseTtl: 5\n", "f:1:11: leaseTtl: 5 has no unit: a duration needs one, as in 30s, 5m, 2h, 1d\n");
    expect("leaseTTL: 5s\n", "f:1:1: unknown key \"leaseTTL\"; did you mean \"leaseTtl\"?\n");
    expect("lostFraction: 110%\n", "f:1:15: lostFraction: 110% is not between 0% and 100%\n");
}

/* Every row of the reference says what it is for. */
static void test_reference(void)
{
    TF_AUTO_BUF text = TF_BUF_INIT;
    tf_table_markdown(&tf_settings_table, &text);
    CU_ASSERT_PTR_NOT_NULL(strstr(
        text.data, "| `fenceMargin` | duration | `1m` | 0s to 1h | yes | *not used yet:* added to the wait"));
    CU_ASSERT_PTR_NOT_NULL(
        strstr(text.data, "| `tenants.<name>.maxGpus` | number |  | 1 to 100000000 | yes | "));
    CU_ASSERT_PTR_NOT_NULL(strstr(text.data, "| `history.keep` | duration | `30d` |"));
    CU_ASSERT_PTR_NULL(strstr(text.data, "|  |\n"));
}

static const struct suite_test tests[] = {{"defaults", test_defaults},
                                          {"read", test_read},
                                          {"a value a line", test_items},
                                          {"problems", test_problems},
                                          {"reference", test_reference}};

int main(void)
{
    return suite_run("settings", tests, TF_ARRAY_LEN(tests));
}
