/* SPDX-License-Identifier: Apache-2.0 */
/* Scenario files: what is read from them, and every scenario of the tree, written and read again. */
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/text.h"
#include "common/model/phase.h"
#include "tests/support/random_job.h"
#include "tests/support/random_rows.h"
#include "tests/support/suite.h"
#include "tools/fedsim/scenario/scenario.h"

#include <glob.h>

static void show(const struct tf_conf_problems *problems, const char *file)
{
    TF_AUTO_BUF text = TF_BUF_INIT;
    tf_conf_problems_print(problems, file, &text);
    printf("\n%s", tf_buf_text(&text));
}

static int read_back(const struct scenario *from, struct scenario *to)
{
    TF_AUTO_BUF text = TF_BUF_INIT;
    struct tf_conf_problems problems = {0};
    scenario_yaml(from, &text);
    int failed = scenario_read(tf_buf_text(&text), text.len, to, &problems);
    if (failed) {
        show(&problems, "written");
        printf("%s", tf_buf_text(&text));
    }
    tf_conf_problems_release(&problems);
    return failed;
}

static void one_file(const char *path)
{
    struct scenario scenario, again, copy = {0};
    struct tf_conf_problems problems = {0};
    int failed = scenario_load(path, &scenario, &problems);
    if (failed)
        show(&problems, path);
    tf_conf_problems_release(&problems);
    CU_ASSERT_EQUAL_FATAL(failed, 0);
    CU_ASSERT_EQUAL_FATAL(read_back(&scenario, &again), 0);
    CU_ASSERT_TRUE(scenario_eq(&scenario, &again));
    scenario_copy(&copy, &again);
    CU_ASSERT_TRUE(scenario_eq(&scenario, &copy));
    scenario_release(&copy);
    scenario_release(&again);
    scenario_release(&scenario);
}

static void test_files(void)
{
    glob_t files;
    CU_ASSERT_EQUAL_FATAL(glob("tests/scenarios/*.yaml", 0, NULL, &files), 0);
    CU_ASSERT_TRUE(files.gl_pathc >= 20);
    for (size_t i = 0; i < files.gl_pathc; i++)
        if (!strstr(files.gl_pathv[i], "xfail.yaml"))
            one_file(files.gl_pathv[i]);
    globfree(&files);
}

/* ---- what is read ---- */

static void test_values(void)
{
    struct scenario s;
    struct tf_conf_problems problems = {0};
    CU_ASSERT_EQUAL_FATAL(scenario_load("tests/fuzz/corpus/scenario/all.yaml", &s, &problems), 0);
    CU_ASSERT_EQUAL(s.settings.federation.policy.absorb_cooldown, TF_MINUTE);
    CU_ASSERT_EQUAL(s.settings.subcluster.node_lost_after, 15 * TF_SECOND);
    CU_ASSERT_EQUAL(s.settings.federation.policy.classes.count, 3);
    const struct scenario_job *small = &s.jobs.items[1];
    CU_ASSERT_EQUAL(scenario_times_count(&small->at), 100);
    CU_ASSERT_EQUAL(scenario_times_at(&small->at, 99), 99 * 30 * TF_SECOND);
    CU_ASSERT_EQUAL(small->spec.elastic.max, 1);
    CU_ASSERT_EQUAL(small->spec.grow, TF_GROW_CONTINUOUS);
    CU_ASSERT_EQUAL(small->chance.fail, 2000);
    CU_ASSERT_EQUAL(small->work, TF_UNSET);
    CU_ASSERT_EQUAL(s.jobs.items[0].work, INT64_C(40000) * TF_HOUR);
    CU_ASSERT_EQUAL(s.faults.items[0].before, 2);
    CU_ASSERT_EQUAL(s.faults.items[0].at_event, 1207);
    CU_ASSERT_EQUAL(s.expect.items[4].assertion.min, 900000);
    CU_ASSERT_EQUAL(s.expect.items[4].at, SCENARIO_END);
    CU_ASSERT_EQUAL(scenario_assertion_of(&s.expect.items[8])->waiting, TF_MINUTE);
    CU_ASSERT_EQUAL(scenario_end(&s), 7 * TF_HOUR);
    s.until = TF_UNSET; /* the last that is named, and an hour more */
    CU_ASSERT_EQUAL(scenario_end(&s), 24 * TF_HOUR + TF_HOUR);
    scenario_release(&s);
}

/* Every kind of event is in that file, and knows itself. */
static void test_kinds(void)
{
    struct scenario s;
    struct tf_conf_problems problems = {0};
    bool seen[SCENARIO_KINDS] = {false};
    CU_ASSERT_EQUAL_FATAL(scenario_load("tests/fuzz/corpus/scenario/all.yaml", &s, &problems), 0);
    tf_vec_each (e, &s.events)
        seen[scenario_event_kind(e)] = true;
    CU_ASSERT_FALSE(seen[SCENARIO_NOTHING]);
    for (enum scenario_kind kind = SCENARIO_NOTHING + 1; kind < SCENARIO_KINDS; kind++) {
        if (!seen[kind])
            printf("\n%s\n", scenario_kind_name(kind));
        CU_ASSERT_TRUE(seen[kind]);
    }
    scenario_release(&s);
}

/* The words of the tables are those of the model. */
static void test_words(void)
{
    const struct tf_table *assertion = tf_table_find(scenario_table(), "expect")->table;
    const struct tf_row *phase = tf_table_find(assertion, "phase");
    const struct tf_row *code = tf_table_find(tf_table_find(assertion, "reason")->table, "code");
    for (int i = 1; phase->names[i] || strcmp(tf_phase_name((enum tf_phase)i), "?") != 0; i++)
        CU_ASSERT_STRING_EQUAL_FATAL(tf_row_name(phase, i), tf_phase_name((enum tf_phase)i));
    for (int i = 1; code->names[i] || strcmp(tf_reason_name((enum tf_reason)i), "?") != 0; i++)
        CU_ASSERT_STRING_EQUAL_FATAL(tf_row_name(code, i), tf_reason_name((enum tf_reason)i));
}

static void expands(const char *template, int64_t n, const char *expected)
{
    TF_AUTO_FREE char *text = scenario_expand(template, 'k', n, NULL);
    CU_ASSERT_TRUE(tf_str_eq(text, expected));
}

static void test_templates(void)
{
    expands("x", 7, "x");
    expands("a{k}b{k/3}c", 7, "a7b2c");
    expands("{k/1000}", 7, "0");
    expands("{i}", 7, NULL);
    expands("{k", 7, NULL);
    expands("k}", 7, NULL);
    expands("{k/0}", 7, NULL);
    expands("{k/}", 7, NULL);
    expands("{k*2}", 7, NULL);
    expands("{}", 7, NULL);
}

/* ---- random ones ---- */

static void randomize(struct tf_rng *rng, struct scenario *s)
{
    struct tf_job_manifest manifest;
    const struct tf_table *job = tf_table_find(scenario_table(), "jobs")->table;
    random_job(rng, &manifest);
    tf_str_set(&manifest.spec.priority, "train");
    tf_job_spec_copy(&s->jobs.items[0].spec, &manifest.spec);
    tf_strs_release(&s->jobs.items[0].on);
    tf_job_manifest_release(&manifest);
    random_object(rng, tf_table_find(scenario_table(), "world")->table, &s->world);
    if (s->world.message_delay_min > s->world.message_delay_max)
        s->world.message_delay_min = s->world.message_delay_max;
    s->world.fedds = s->world.fedds < 2 ? 2 : s->world.fedds;
    struct scenario_chance *chance = &s->jobs.items[1].chance;
    random_object(rng, tf_table_find(job, "chance")->table, chance);
    chance->run_min = chance->run_min > chance->run_max ? chance->run_max : chance->run_min;
    s->seed = tf_rng_range(rng, 0, INT64_MAX);
    s->expect.items[5].assertion.max = tf_rng_range(rng, 0, INT64_C(999999999999) * SCENARIO_ONE);
    s->faults.items[0].before = tf_rng_range(rng, TF_UNSET, 3);
    s->clusters.items[0].clock_skew = tf_rng_range(rng, -1000, 1000);
}

static void test_random(void)
{
    struct scenario s, again;
    struct tf_conf_problems problems = {0};
    struct tf_rng rng;
    tf_rng_init(&rng, suite_seed(1));
    CU_ASSERT_EQUAL_FATAL(scenario_load("tests/fuzz/corpus/scenario/all.yaml", &s, &problems), 0);
    for (size_t i = 0; i < suite_rounds(300); i++) {
        struct tf_complaints complaints = {0};
        randomize(&rng, &s);
        if (!scenario_check(&s, &complaints))
            printf("\n%s: %s\n", complaints.items[0].path, complaints.items[0].text);
        CU_ASSERT_EQUAL_FATAL(complaints.count, 0);
        CU_ASSERT_EQUAL_FATAL(read_back(&s, &again), 0);
        CU_ASSERT_TRUE_FATAL(scenario_eq(&s, &again));
        scenario_release(&again);
    }
    scenario_release(&s);
}

static const struct suite_test tests[] = {
    {"files", test_files}, {"values", test_values},       {"kinds", test_kinds},
    {"words", test_words}, {"templates", test_templates}, {"random", test_random},
};

int main(void)
{
    return suite_run("scenario", tests, TF_ARRAY_LEN(tests));
}
