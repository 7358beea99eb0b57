/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_TESTS_FEDSIM_TRACE_FILE_H
#define TF_TESTS_FEDSIM_TRACE_FILE_H

#include <stddef.h>
#include <stdio.h>
#include <unistd.h>
#include <zlib.h>

/* A trace file of the test's own: written, read, removed. */
enum { FILE_PATH = 64 };

static inline void file_write(char path[FILE_PATH], const char *bytes, size_t len)
{
    snprintf(path, FILE_PATH, "/tmp/tidefed-trace-XXXXXX");
    int fd = mkstemp(path);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    CU_ASSERT_FATAL(file != NULL);
    CU_ASSERT_EQUAL(fwrite(bytes, 1, len, file), len);
    CU_ASSERT_EQUAL(fclose(file), 0);
}

static inline void file_write_gz(char path[FILE_PATH], const char *bytes, size_t len)
{
    file_write(path, "", 0);
    gzFile file = gzopen(path, "wb");
    CU_ASSERT_FATAL(file != NULL);
    CU_ASSERT_EQUAL(gzwrite(file, bytes, (unsigned)len), (int)len);
    CU_ASSERT_EQUAL(gzclose(file), Z_OK);
}

/* The public data, beside the repository; NULL, with a message, if it is not there. */
static inline const char *file_public(const char *path)
{
    if (access(path, R_OK) == 0)
        return path;
    printf("skipped: there is no %s\n", path);
    return NULL;
}

#endif
