/* SPDX-License-Identifier: Apache-2.0 */
/* What the reading of text refuses before any table is asked. */
#include "common/base/cleanup.h"
#include "common/conf/conf.h"
#include "tests/support/suite.h"

static void expect_bytes(const char *text, size_t len, const char *wanted)
{
    struct tf_conf_problems problems = {0};
    TF_AUTO_BUF shown = TF_BUF_INIT;
    struct tf_conf *conf = tf_conf_parse(text, len, NULL, &problems);
    tf_conf_problems_print(&problems, "f", &shown);
    CU_ASSERT_EQUAL(conf == NULL, *wanted != '\0');
    CU_ASSERT_STRING_EQUAL(tf_buf_text(&shown), wanted);
    if (strcmp(tf_buf_text(&shown), wanted) != 0)
        printf("\n    got %s    wanted %s", tf_buf_text(&shown), wanted);
    tf_conf_destroy(conf);
    tf_conf_problems_release(&problems);
}

static void expect(const char *text, const char *wanted)
{
    expect_bytes(text, strlen(text), wanted);
}

static char *repeat(const char *s, size_t times, const char *before, const char *after)
{
    struct tf_buf buf = TF_BUF_INIT;
    tf_buf_str(&buf, before);
    for (size_t i = 0; i < times; i++)
        tf_buf_str(&buf, s);
    tf_buf_str(&buf, after);
    return tf_buf_take(&buf);
}

static void test_syntax(void)
{
    expect("", "");
    expect("---\n---\n", "");
    expect("a: [1, 2\nb: 3\n", "f:2:2: not valid YAML: did not find expected ',' or ']' (while parsing a "
                               "flow sequence that began on line 1)\n");
    expect("a:\n\tb: 1\n", "f:2:1: not valid YAML: found character that cannot start any token; there is a "
                           "tab: indent with spaces\n");
    expect("a: b: c\n", "f:1:5: not valid YAML: mapping values are not allowed in this context\n");
    expect("a: \"\\ud800\"\n", "f:1:7: not valid YAML: found invalid Unicode character escape code\n");
}

static void test_decorations(void)
{
    expect("a: &x 1\n",
           "f:1:4: an anchor (&name) is not allowed here; write the value out where it is needed\n");
    expect("a: *x\n", "f:1:4: an alias (*name) is not allowed here; write the value out\n");
    expect("a: !!int 1\n", "f:1:4: a tag (!name) is not allowed here\n");
    expect("? [a]\n: 1\n", "f:1:3: a key must be a single text, not a list or a mapping\n");
}

static void test_bytes(void)
{
    expect_bytes("a: x\0y\n", 7, "f:1:5: a NUL byte: this is no text file\n");
    expect("a: \"x\\0y\"\n", "f:1:4: a text with a NUL character in it\n");
    expect("a: b\nc: \xff\n", "f:2:4: bytes that are not UTF-8: save the file as UTF-8\n");
    expect("\xc3\xa9: \xc3\n", "f:1:4: bytes that are not UTF-8: save the file as UTF-8\n");
    expect("a: \x01\n", "f:1:4: a character that is not allowed in YAML (U+0001)\n");
    expect_bytes("\xff\xfe"
                 "a\0:\0",
                 6, "f:1:1: bytes that are not UTF-8: save the file as UTF-8\n");
}

static void test_sizes(void)
{
    TF_AUTO_FREE char *deep = repeat("[", 100000, "a: ", "");
    expect(deep, "f:1:19: nested too deeply\n");
    TF_AUTO_FREE char *deep_block = repeat("- ", 5000, "", "x");
    expect(deep_block, "f:1:33: nested too deeply\n");
    TF_AUTO_FREE char *legal = repeat("[", 15, "a: ", "]]]]]]]]]]]]]]]");
    expect(legal, "");
    TF_AUTO_FREE char *long_text = repeat("0123456789", 1000 * 1000, "a: ", "\n");
    expect(long_text, "f:1:4: a document of more than 1024 KiB\n");
    TF_AUTO_FREE char *longer = repeat("x", 70 * 1000, "a: ", "\n");
    expect(longer, "f:1:4: a text of more than 64 KiB; keep big inputs in files\n");
    TF_AUTO_FREE char *items = repeat("1,", 5000, "[", "]");
    expect(items, "f:1:8194: more than 4096 items in one list or mapping\n");
    TF_AUTO_FREE char *documents = repeat("--- 1\n", 2000, "", "");
    expect(documents, "f:1001:1: more than 1000 documents: split the file\n");
    TF_AUTO_FREE char *huge = repeat("#0123456789abcdef0123456789abcdef\n", 600 * 1000, "", "");
    expect(huge, "f: 19921 KiB are too much: at most 16384 KiB are read\n");
}

static void test_documents(void)
{
    const char *text = "kind: A\n---\n# nothing\n---\nkind: B\n...\n";
    struct tf_conf_problems problems = {0};
    struct tf_conf *conf = tf_conf_parse(text, strlen(text), NULL, &problems);
    CU_ASSERT_EQUAL_FATAL(tf_conf_count(conf), 2);
    CU_ASSERT_STRING_EQUAL(tf_conf_text(tf_conf_doc(conf, 1), "kind"), "B");
    int line, column;
    tf_conf_locate(tf_conf_doc(conf, 1), "kind", &line, &column);
    CU_ASSERT_EQUAL(line, 5);
    tf_conf_destroy(conf);
    struct tf_conf_options small = {.max_bytes = 10, .max_depth = 2};
    CU_ASSERT_PTR_NULL(tf_conf_parse("abcdef: ghijkl\n", 15, &small, &problems));
    CU_ASSERT_PTR_NULL(tf_conf_parse("[[[]]]", 6, &small, &problems));
    CU_ASSERT_EQUAL(problems.count, 2);
    tf_conf_problems_release(&problems);
}

static void test_files(void)
{
    struct tf_error err = TF_ERROR_INIT;
    TF_AUTO_BUF buf = TF_BUF_INIT;
    CU_ASSERT_EQUAL(tf_conf_read_file("/nonexistent/x.yaml", 100, &buf, &err), -1);
    CU_ASSERT_EQUAL(err.code, TF_ERR_NOT_FOUND);
    CU_ASSERT_STRING_EQUAL(err.text, "/nonexistent/x.yaml: cannot be opened: No such file or directory");
    CU_ASSERT_EQUAL(tf_conf_read_file("/", 100, &buf, &err), -1);
    CU_ASSERT_EQUAL(err.code, TF_ERR_IO);
    CU_ASSERT_EQUAL(tf_conf_read_file("/dev/zero", 100000, &buf, &err), -1);
    CU_ASSERT_EQUAL(err.code, TF_ERR_TOO_LARGE);
}

static const struct suite_test tests[] = {
    {"syntax", test_syntax},       {"aliases, anchors, tags", test_decorations},
    {"bytes", test_bytes},         {"sizes", test_sizes},
    {"documents", test_documents}, {"files", test_files},
};

int main(void)
{
    return suite_run("limits", tests, TF_ARRAY_LEN(tests));
}
