/* SPDX-License-Identifier: Apache-2.0 */
#include "common/conf/open.h"

#include "common/base/cleanup.h"
#include "tests/support/suite.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/tf-file-XXXXXX", path[sizeof folder + 8];

/* What can be read of it: it is blocking, as callers expect. */
static void expect_text(int fd, const char *text)
{
    char found[20] = "";
    CU_ASSERT(fd >= 0);
    CU_ASSERT_EQUAL(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
    CU_ASSERT_EQUAL(read(fd, found, sizeof found - 1), (ssize_t)strlen(text));
    CU_ASSERT_STRING_EQUAL(found, text);
    close(fd);
}

static void write_text(int fd)
{
    CU_ASSERT(fd >= 0);
    CU_ASSERT_EQUAL(write(fd, "a: 1\n", 5), 5);
}

static void test_a_file(void)
{
    CU_ASSERT_EQUAL(tf_conf_open(path, 0), -1);
    CU_ASSERT_EQUAL(errno, ENOENT);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    write_text(fd);
    close(fd);
    expect_text(tf_conf_open(path, 0), "a: 1\n");
    unlink(path);
}

static void test_a_pipe(void)
{
    CU_ASSERT_EQUAL_FATAL(mkfifo(path, 0600), 0);
    CU_ASSERT_EQUAL(tf_conf_open(path, 5), -1); /* nobody */
    CU_ASSERT_EQUAL(errno, ETIMEDOUT);
    int both = open(path, O_RDWR | O_CLOEXEC);
    CU_ASSERT_EQUAL(tf_conf_open(path, 5), -1); /* somebody, who writes nothing */
    CU_ASSERT_EQUAL(errno, ETIMEDOUT);
    write_text(both);
    expect_text(tf_conf_open(path, TF_CONF_PATIENCE), "a: 1\n");
    close(both);
    unlink(path);
}

static const struct suite_test tests[] = {{"a file", test_a_file}, {"a pipe", test_a_pipe}};

int main(void)
{
    if (!mkdtemp(folder))
        return 1;
    snprintf(path, sizeof path, "%s/it", folder);
    int failed = suite_run("open", tests, TF_ARRAY_LEN(tests));
    rmdir(folder);
    return failed;
}
