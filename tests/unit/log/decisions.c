/* SPDX-License-Identifier: Apache-2.0 */
#include "common/log/decisions.h"

#include "common/base/alloc.h"
#include "common/base/cleanup.h"
#include "common/log/log.h"
#include "tests/support/suite.h"

#include <sys/stat.h>
#include <unistd.h>

enum { LINE = 64 * 1024, LINES = 300, FULL = 16 * 1024 * 1024 };

static off_t size_of(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 ? info.st_size : -1;
}

static char *line_of(size_t len)
{
    char *line = tf_malloc(len);
    memset(line, 'x', len - 1);
    line[len - 1] = '\0';
    return line;
}

/* Two files of bounded size, and no line lost between them; one that was full before is continued, not begun
 * anew. */
static void test_rotates(void)
{
    char dir[] = "/tmp/tidefed-decisions-XXXXXX";
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(dir));
    TF_AUTO_FREE char *path = tf_asprintf("%s/decisions.log", dir), *older = tf_asprintf("%s.1", path);
    TF_AUTO_FREE char *line = line_of(LINE);
    struct tf_decisions *decisions = tf_decisions_open(path);
    CU_ASSERT_EQUAL(tf_decisions_check(decisions, NULL), 0);
    for (int i = 0; i < LINES / 2; i++)
        tf_decisions_line(decisions, line);
    tf_decisions_close(decisions);
    decisions = tf_decisions_open(path);
    for (int i = LINES / 2; i < LINES; i++)
        tf_decisions_line(decisions, line);
    CU_ASSERT_EQUAL(size_of(older), FULL);
    CU_ASSERT_EQUAL(size_of(path), (off_t)LINES * LINE - FULL);
    unlink(path);
    tf_decisions_reopen(decisions);
    tf_decisions_line(decisions, "after");
    CU_ASSERT_EQUAL(size_of(path), 6);
    tf_decisions_close(decisions);
    unlink(path);
    unlink(older);
    CU_ASSERT_EQUAL(rmdir(dir), 0);
}

static void test_what_cannot_be_opened_stops_nothing(void)
{
    struct tf_error err = TF_ERROR_INIT;
    struct tf_decisions *decisions = tf_decisions_open("/nonexistent/decisions.log");
    CU_ASSERT_EQUAL(tf_decisions_check(decisions, &err), -1);
    CU_ASSERT_EQUAL(err.code, TF_ERR_IO);
    CU_ASSERT_STRING_EQUAL(
        err.text, "/nonexistent/decisions.log: the log of decisions cannot be opened: No such file or "
                  "directory");
    tf_decisions_line(decisions, "dropped");
    tf_decisions_reopen(decisions);
    tf_decisions_close(decisions);
    tf_decisions_line(NULL, "dropped");
    tf_decisions_reopen(NULL);
    tf_decisions_close(NULL);
}

static const struct suite_test tests[] = {
    {"rotates", test_rotates},
    {"what cannot be opened stops nothing", test_what_cannot_be_opened_stops_nothing},
};

int main(void)
{
    return suite_run("decisions", tests, TF_ARRAY_LEN(tests));
}
