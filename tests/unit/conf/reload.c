/* SPDX-License-Identifier: Apache-2.0 */
/* A file that is read again: what is taken over, what is named, and that an error takes nothing. */
#include "common/conf/reload.h"

#include "common/base/cleanup.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct inner {
    int64_t wait, limit;
};
struct outer {
    char *name, *motto;
    struct inner inner;
    struct tf_strs words;
    int besides; /* no row */
};

static const struct tf_row inner_rows[] = {
    {.key = "wait", TF_DURATION(struct inner, wait), .def = "1s", .flags = TF_ROW_RELOADABLE},
    {.key = "limit", TF_INT64(struct inner, limit), .def = "10"},
};
static const struct tf_table inner_table = TF_TABLE(struct inner, inner_rows);
static const struct tf_row outer_rows[] = {
    {.key = "name", TF_STRING(struct outer, name), .max = 100},
    {.key = "motto", TF_STRING(struct outer, motto), .max = 100, .flags = TF_ROW_RELOADABLE},
    {.key = "inner", TF_OBJECT(struct outer, inner, &inner_table)},
    {.key = "words", TF_STRINGS(struct outer, words), .flags = TF_ROW_RELOADABLE},
};

/* Between a key that may change and one that may not. */
static void check(const void *object, struct tf_complaints *out)
{
    const struct outer *outer = object;
    if (outer->inner.wait > outer->inner.limit * 1000)
        tf_complaints_add(out, "inner.wait", "is above the limit");
}

static const struct tf_table outer_table = TF_TABLE(struct outer, outer_rows, .check = check);

static char path[] = "/tmp/tidefed-reload-XXXXXX";

static void write_file(const char *text)
{
    FILE *file = fopen(path, "we");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fputs(text, file);
    fclose(file);
}

static void begin(struct outer *outer)
{
    struct tf_error err = TF_ERROR_INIT;
    write_file("{name: a, motto: m, inner: {wait: 2s}, words: [x, y]}");
    CU_ASSERT_EQUAL_FATAL(tf_conf_load(path, &outer_table, outer, &err), 0);
    outer->besides = 7;
}

static void test_taken(void)
{
    struct outer outer;
    struct tf_conf_changes changes = {0};
    begin(&outer);
    write_file("{name: b, inner: {wait: 3s, limit: 20}, words: [z]}");
    CU_ASSERT_EQUAL(tf_conf_reload(path, &outer_table, &outer, &changes, NULL), 0);
    CU_ASSERT_STRING_EQUAL(outer.name, "a");
    CU_ASSERT_PTR_NULL(outer.motto);
    CU_ASSERT_TRUE(outer.inner.wait == 3000 && outer.inner.limit == 10);
    CU_ASSERT_TRUE(outer.words.count == 1 && strcmp(outer.words.items[0], "z") == 0);
    CU_ASSERT_EQUAL(outer.besides, 7);
    CU_ASSERT_TRUE(changes.taken.count == 3 && tf_strs_has(&changes.taken, "motto") &&
                   tf_strs_has(&changes.taken, "inner.wait") && tf_strs_has(&changes.taken, "words"));
    CU_ASSERT_TRUE(changes.refused.count == 2 && tf_strs_has(&changes.refused, "name") &&
                   tf_strs_has(&changes.refused, "inner.limit"));
    tf_conf_changes_release(&changes);
    tf_table_release(&outer_table, &outer);
}

/* Wrong by itself, missing, and right by itself but not together with what stays. */
static void test_nothing_taken(void)
{
    static const struct {
        const char *text, *says; /* NULL: there is no file */
    } rows[] = {
        {"{motto: n, inner: {wait: 5}}", ":1:26: inner.wait"},
        {"{motto: n", ":1:"},
        {NULL, "No such file"},
        {"{motto: n, inner: {wait: 15s, limit: 20}}",
         "does not go with what cannot: inner.wait: is above the limit"},
    };
    for (size_t i = 0; i < TF_ARRAY_LEN(rows); i++) {
        struct outer outer;
        struct tf_conf_changes changes = {0};
        struct tf_error err = TF_ERROR_INIT;
        begin(&outer);
        if (rows[i].text)
            write_file(rows[i].text);
        else
            unlink(path);
        CU_ASSERT_EQUAL(tf_conf_reload(path, &outer_table, &outer, &changes, &err), -1);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, rows[i].says));
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, path));
        CU_ASSERT_TRUE(changes.taken.count == 0 && changes.refused.count == 0);
        CU_ASSERT_STRING_EQUAL(outer.motto, "m");
        CU_ASSERT_EQUAL(outer.inner.wait, 2000);
        tf_table_release(&outer_table, &outer);
    }
}

static const struct suite_test tests[] = {{"taken", test_taken}, {"nothing taken", test_nothing_taken}};

int main(void)
{
    int fd = mkstemp(path);
    if (fd < 0)
        return 1;
    close(fd);
    int failed = suite_run("reload", tests, TF_ARRAY_LEN(tests));
    unlink(path);
    return failed;
}
