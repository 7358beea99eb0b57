/* SPDX-License-Identifier: Apache-2.0 */
/* Scenario files: what is read from them, and every scenario of the tree, written and read again. */
#include "tools/fedsim/scenario/scenario.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/model/phase.h"
#include "tests/support/suite.h"

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

static const struct suite_test tests[] = {{"files", test_files}};

int main(void)
{
    return suite_run("scenario", tests, TF_ARRAY_LEN(tests));
}
