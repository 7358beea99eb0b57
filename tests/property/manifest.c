/* SPDX-License-Identifier: Apache-2.0 */
/* What holds for any job: printed it reads back equal; a damaged text is refused in a civil way. */
#include "common/model/manifest.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "common/conf/conf.h"
#include "common/model/settings.h"
#include "tests/support/random_job.h"
#include "tests/support/random_rows.h"
#include "tests/support/suite.h"

static bool reads_back(const struct tf_table *table, const void *object, void *back,
                       const struct tf_buf *text)
{
    struct tf_conf_problems problems = {0};
    TF_AUTO_BUF shown = TF_BUF_INIT;
    int failed = tf_conf_read_text(text->data, text->len, NULL, table, back, &problems);
    tf_conf_problems_print(&problems, "f", &shown);
    bool same = !failed && tf_table_eq(table, object, back);
    if (!same)
        printf("\n%s%s", text->data, tf_buf_text(&shown));
    tf_conf_problems_release(&problems);
    tf_table_release(table, back);
    return same;
}

static void test_print_and_read(void)
{
    struct tf_rng rng;
    tf_rng_init(&rng, suite_seed(1));
    for (size_t i = 0; i < suite_rounds(2000); i++) {
        struct tf_job_manifest job, back;
        struct tf_complaints complaints = {0};
        TF_AUTO_BUF yaml = TF_BUF_INIT, json = TF_BUF_INIT;
        random_job(&rng, &job);
        CU_ASSERT_TRUE_FATAL(tf_job_manifest_check(&job, &complaints));
        tf_table_yaml(&tf_job_manifest_table, &job, &yaml);
        CU_ASSERT_TRUE_FATAL(reads_back(&tf_job_manifest_table, &job, &back, &yaml));
        tf_table_json(&tf_job_manifest_table, &job, &json);
        CU_ASSERT_TRUE_FATAL(reads_back(&tf_job_manifest_table, &job, &back, &json));
        tf_job_manifest_release(&job);
    }
}

static void test_copy(void)
{
    struct tf_rng rng;
    tf_rng_init(&rng, suite_seed(2));
    for (size_t i = 0; i < suite_rounds(2000); i++) {
        struct tf_job_manifest job, other, copy = {0};
        struct tf_strs paths = {0};
        random_job(&rng, &job);
        random_job(&rng, &other);
        tf_job_manifest_copy(&copy, &job);
        CU_ASSERT_TRUE(tf_job_manifest_eq(&job, &copy));
        tf_job_spec_immutable_diff(&job.spec, &copy.spec, &paths);
        CU_ASSERT_EQUAL(paths.count, 0);
        tf_table_diff(&tf_job_manifest_table, &job, &other, 0, &paths);
        CU_ASSERT_EQUAL(paths.count == 0, tf_job_manifest_eq(&job, &other));
        tf_job_manifest_copy(&copy, &other);
        CU_ASSERT_TRUE(tf_job_manifest_eq(&other, &copy));
        tf_strs_release(&paths);
        tf_job_manifest_release(&job);
        tf_job_manifest_release(&other);
        tf_job_manifest_release(&copy);
    }
}

static void test_settings(void)
{
    struct tf_rng rng;
    tf_rng_init(&rng, suite_seed(3));
    for (size_t i = 0; i < suite_rounds(500); i++) {
        struct tf_settings settings, back;
        struct tf_local_settings local, local_back;
        TF_AUTO_BUF text = TF_BUF_INIT, local_text = TF_BUF_INIT;
        random_object(&rng, &tf_settings_table, &settings);
        tf_str_set(&settings.policy.ceiling, NULL);
        if (!settings.policy.consolidate)
            settings.policy.consolidate = TF_CONSOLIDATE_OFF; /* what is not said is that */
        tf_vec_each (t, &settings.tenants)
            tf_str_set(&t->max_priority, settings.policy.classes.items[0].name);
        tf_vec_each (l, &settings.class_limits)
            free(l->class_name);
        tf_vec_release(&settings.class_limits);
        settings.refusal_backoff_max = settings.refusal_backoff;
        tf_table_settle(&tf_settings_table, &settings);
        tf_table_yaml(&tf_settings_table, &settings, &text);
        CU_ASSERT_TRUE_FATAL(reads_back(&tf_settings_table, &settings, &back, &text));
        random_object(&rng, &tf_local_settings_table, &local);
        tf_table_yaml(&tf_local_settings_table, &local, &local_text);
        CU_ASSERT_TRUE_FATAL(reads_back(&tf_local_settings_table, &local, &local_back, &local_text));
        tf_settings_release(&settings);
    }
}

/* Changes, repeats or drops a few bytes. */
static void damage(struct tf_rng *rng, struct tf_buf *text)
{
    for (uint64_t n = 1 + tf_rng_below(rng, 4); n > 0 && text->len > 16; n--) {
        size_t at = tf_rng_below(rng, text->len), from = tf_rng_below(rng, text->len);
        size_t len = 1 + tf_rng_below(rng, 12);
        if (at + len > text->len || from + len > text->len)
            continue;
        switch (tf_rng_below(rng, 3)) {
        case 0:
            text->data[at] = (char)tf_rng_below(rng, 256);
            break;
        case 1:
            memmove(text->data + at, text->data + from, len);
            break;
        default:
            memmove(text->data + at, text->data + at + len, text->len - at - len);
            text->len -= len;
        }
    }
}

static void civil(const struct tf_conf_problems *problems, const struct tf_buf *text)
{
    int lines = 1;
    for (size_t i = 0; i < text->len; i++)
        lines += text->data[i] == '\n' || text->data[i] == '\r';
    tf_vec_each (p, problems) {
        CU_ASSERT_TRUE(p->line >= 0 && p->line <= lines + 1 && p->column >= 0);
        CU_ASSERT_TRUE(*p->text != '\0' && tf_utf8_valid(p->text, strlen(p->text)));
        CU_ASSERT_TRUE(tf_utf8_valid(p->path, strlen(p->path)));
    }
}

static void test_damage(void)
{
    struct tf_rng rng;
    tf_rng_init(&rng, suite_seed(4));
    size_t refused = 0, rounds = suite_rounds(5000);
    for (size_t i = 0; i < rounds; i++) {
        struct tf_job_manifest job, back;
        struct tf_conf_problems problems = {0};
        TF_AUTO_BUF text = TF_BUF_INIT;
        random_job(&rng, &job);
        (tf_rng_below(&rng, 2) ? tf_table_json : tf_table_yaml)(&tf_job_manifest_table, &job, &text);
        damage(&rng, &text);
        int failed = tf_conf_read_text(text.data, text.len, NULL, &tf_job_manifest_table, &back, &problems);
        CU_ASSERT_EQUAL(failed != 0, problems.count > 0);
        civil(&problems, &text);
        refused += failed != 0;
        tf_conf_problems_release(&problems);
        tf_job_manifest_release(&back);
        tf_job_manifest_release(&job);
    }
    printf("%zu of %zu refused ", refused, rounds);
    CU_ASSERT_TRUE(refused > rounds / 2);
}

static const struct suite_test tests[] = {
    {"print and read", test_print_and_read},
    {"copy and differ", test_copy},
    {"settings", test_settings},
    {"damage", test_damage},
};

int main(void)
{
    return suite_run("manifest", tests, TF_ARRAY_LEN(tests));
}
