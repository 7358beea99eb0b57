/* SPDX-License-Identifier: Apache-2.0 */
/* The files of the archive: lines, turning over, limits, reading from the end, damage. */
#include "federation/daemon/archive_files.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "tests/support/process.h"
#include "tests/support/suite.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];

static void set_up(void)
{
    snprintf(folder, sizeof folder, "/tmp/tidefed-archive-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
}

static void open_writer(struct archive_writer *w)
{
    struct tf_error err = TF_ERROR_INIT;
    CU_ASSERT_EQUAL_FATAL(archive_writer_open(w, folder, &err), 0);
}

/* A line about the job t/jN, with a record of so many bytes. */
static void make(struct tf_buf *out, int64_t n, size_t bytes)
{
    TF_AUTO_FREE char *name = tf_asprintf("j%lld", (long long)n);
    TF_AUTO_FREE char *record = tf_calloc(1, bytes + 1);
    archive_line_make(out, 1000 + n, (struct tf_bytes){record, bytes}, "t", name);
}

static void add(struct archive_writer *w, int64_t n, size_t bytes)
{
    TF_AUTO_BUF line = TF_BUF_INIT;
    make(&line, n, bytes);
    CU_ASSERT_EQUAL(archive_writer_add(w, (struct tf_bytes){line.data, line.len}, 1, NULL), 0);
}

static void trim(struct archive_writer *w, int64_t max)
{
    const struct archive_limits limits = {.keep_ms = TF_HOUR, .max = max};
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    CU_ASSERT_EQUAL(archive_writer_trim(w, &limits, now.tv_sec * INT64_C(1000), NULL), 0);
}

static void append_bytes(const char *bytes)
{
    TF_AUTO_FREE char *path = tf_asprintf("%s/archive", folder);
    FILE *file = fopen(path, "ae");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fputs(bytes, file);
    fclose(file);
}

static size_t files(void)
{
    size_t count = 0;
    DIR *dir = opendir(folder);
    CU_ASSERT_PTR_NOT_NULL_FATAL(dir);
    for (const struct dirent *entry; (entry = readdir(dir));)
        count += tf_starts_with(entry->d_name, "archive");
    closedir(dir);
    return count;
}

/* Reads all, in pages of so many lines; the numbers must go down from first to last by one. Returns how many
 * lines could not be read. */
static size_t read_down(int64_t first, int64_t last, size_t page)
{
    TF_AUTO_FREE char *token = NULL;
    int64_t next = first;
    size_t torn = 0;
    int got = 1;
    while (got > 0) {
        struct tf_error err = TF_ERROR_INIT;
        struct archive_reader *reader = archive_reader_open(folder, token, &err);
        CU_ASSERT_PTR_NOT_NULL_FATAL(reader);
        for (size_t i = 0; i < page && got > 0; i++) {
            struct tf_bytes text;
            struct archive_line line;
            got = archive_reader_prev(reader, &text, &err);
            if (got <= 0)
                break;
            if (!archive_line_parse(text, &line)) {
                torn++;
                continue;
            }
            TF_AUTO_FREE char *name = tf_asprintf("j%lld", (long long)next);
            CU_ASSERT_TRUE(tf_bytes_eq(line.name, tf_bytes_of(name)));
            CU_ASSERT_TRUE(tf_bytes_eq(line.tenant, tf_bytes_of("t")));
            CU_ASSERT_EQUAL(line.archived_ms, 1000 + next);
            next--;
        }
        CU_ASSERT_EQUAL(err.code, TF_OK);
        free(token);
        token = archive_reader_token(reader);
        archive_reader_destroy(reader);
    }
    CU_ASSERT_EQUAL(next, last - 1);
    return torn;
}

static void test_lines(void)
{
    TF_AUTO_BUF text = TF_BUF_INIT;
    struct archive_line line;
    make(&text, 7, 100);
    CU_ASSERT_EQUAL(text.data[text.len - 1], '\n');
    CU_ASSERT_TRUE(archive_line_parse((struct tf_bytes){text.data, text.len - 1}, &line));
    CU_ASSERT_EQUAL(line.base64.len, 136);
    for (size_t len = 0; len < text.len - 1; len++) /* torn anywhere */
        CU_ASSERT_FALSE(archive_line_parse((struct tf_bytes){text.data, len}, &line));
    static const char *const bad[] = {
        "",          "x",          "1 2",           "1 5 t/j ",
        "-1 4 t/j ", "1 3 tj ",    "1 5 t/j A AAA", "99999999999999999999 4 t/j ",
        "1 -4 t/j ", "1 3 /  \xff"};
    for (size_t i = 0; i < TF_ARRAY_LEN(bad); i++)
        CU_ASSERT_FALSE(archive_line_parse(tf_bytes_of(bad[i]), &line));
}

static void test_pages(void)
{
    set_up();
    CU_ASSERT_EQUAL(read_down(0, 1, 10), 0); /* nothing is there yet */
    struct archive_writer w;
    open_writer(&w);
    CU_ASSERT_EQUAL(read_down(0, 1, 10), 0);
    for (int64_t n = 1; n <= 1000; n++) {
        add(&w, n, n % 100 ? 300 : 250000); /* some are larger than the block that is read at a time */
        if (n % 300 == 0)
            trim(&w, 3000);
    }
    CU_ASSERT_EQUAL(files(), 4);
    for (size_t page = 1; page <= 1000; page = page * 7 + 3)
        CU_ASSERT_EQUAL(read_down(1000, 1, page), 0);
    archive_writer_release(&w);
    open_writer(&w); /* again: it goes on where it was */
    add(&w, 1001, 10);
    CU_ASSERT_EQUAL(w.lines, 101);
    CU_ASSERT_EQUAL(read_down(1001, 1, 400), 0);
    archive_writer_release(&w);
    test_remove_tree(folder);
}

static void test_limits(void)
{
    set_up();
    struct archive_writer w;
    open_writer(&w);
    for (int64_t n = 1; n <= 1000; n++) {
        add(&w, n, 100);
        trim(&w, 100);
    }
    CU_ASSERT_EQUAL(files(), 10 + 1); /* the new one is empty */
    CU_ASSERT_EQUAL(read_down(1000, 901, 64), 0);
    /* a page that was begun goes on although what came after it was dropped */
    struct archive_reader *reader = archive_reader_open(folder, "30:0", NULL);
    struct tf_bytes text;
    CU_ASSERT_PTR_NOT_NULL_FATAL(reader);
    CU_ASSERT_EQUAL(archive_reader_prev(reader, &text, NULL), 0);
    archive_reader_destroy(reader);
    /* too old: all but what still grows */
    const struct archive_limits limits = {.keep_ms = 1000};
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    CU_ASSERT_EQUAL(archive_writer_trim(&w, &limits, (now.tv_sec + 100) * INT64_C(1000), NULL), 0);
    CU_ASSERT_EQUAL(files(), 1);
    archive_writer_release(&w);
    test_remove_tree(folder);
}

static void test_damage(void)
{
    set_up();
    struct archive_writer w;
    open_writer(&w);
    add(&w, 1, 100);
    append_bytes("1234 77 t/torn AAAA"); /* a crash; or another thread that is writing */
    CU_ASSERT_EQUAL(read_down(1, 1, 10), 0);
    archive_writer_release(&w);
    open_writer(&w);
    add(&w, 2, 100);
    CU_ASSERT_EQUAL(read_down(2, 1, 10), 1);
    TF_AUTO_FREE char *huge = tf_calloc(1, 3 << 20);
    memset(huge, 'x', (3 << 20) - 1);
    append_bytes(huge);
    append_bytes("\n");
    add(&w, 3, 100);
    CU_ASSERT_TRUE(read_down(3, 1, 10) >= 1);
    archive_writer_release(&w);
    test_remove_tree(folder);
}

static void test_tokens(void)
{
    set_up();
    struct archive_writer w;
    open_writer(&w);
    add(&w, 1, 100);
    static const char *const bad[] = {"", "1", "1:", ":1", "x:y", "1:2:3", "1:99999999999999999999"};
    for (size_t i = 0; i < TF_ARRAY_LEN(bad); i++) {
        struct tf_error err = TF_ERROR_INIT;
        CU_ASSERT_PTR_NULL(archive_reader_open(folder, bad[i], &err));
        CU_ASSERT_EQUAL(err.code, TF_ERR_INVALID);
    }
    static const char *const odd[] = {"1:5", "1:999999", "7:3",
                                      "0:0"}; /* anywhere: no crash, no line twice */
    for (size_t i = 0; i < TF_ARRAY_LEN(odd); i++) {
        struct archive_reader *reader = archive_reader_open(folder, odd[i], NULL);
        struct tf_bytes text;
        CU_ASSERT_PTR_NOT_NULL_FATAL(reader);
        int lines = 0;
        while (archive_reader_prev(reader, &text, NULL) > 0)
            lines++;
        CU_ASSERT_TRUE(lines <= 1);
        archive_reader_destroy(reader);
    }
    archive_writer_release(&w);
    test_remove_tree(folder);
}

static const struct suite_test tests[] = {
    {"lines", test_lines},   {"pages", test_pages},   {"limits", test_limits},
    {"damage", test_damage}, {"tokens", test_tokens},
};

int main(void)
{
    return suite_run("archive", tests, TF_ARRAY_LEN(tests));
}
