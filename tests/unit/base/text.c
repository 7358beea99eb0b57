/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/text.h"

#include "common/base/base64.h"
#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "tests/support/suite.h"

static bool valid(const char *s)
{
    return tf_utf8_valid(s, strlen(s));
}

static void test_utf8(void)
{
    CU_ASSERT_TRUE(valid(""));
    CU_ASSERT_TRUE(valid("plain, \xc3\xa9, \xe2\x82\xac, \xf0\x9f\x98\x80"));
    CU_ASSERT_FALSE(tf_utf8_valid("a\0b", 3));
    char text[] = "sixteen letters!"; /* each place of a word, and of what is left over */
    for (size_t i = 0; i < sizeof text - 1; i++) {
        char letter = text[i];
        text[i] = '\0';
        CU_ASSERT_EQUAL(tf_utf8_prefix(text, sizeof text - 1), i);
        text[i] = '\xff';
        CU_ASSERT_EQUAL(tf_utf8_prefix(text, sizeof text - 1), i);
        text[i] = '\x7f';
        CU_ASSERT_EQUAL(tf_utf8_prefix(text, sizeof text - 1), sizeof text - 1);
        text[i] = letter;
    }
    CU_ASSERT_FALSE(valid("\x80"));
    CU_ASSERT_FALSE(valid("\xc0\xaf"));         /* overlong */
    CU_ASSERT_FALSE(valid("\xe0\x80\xaf"));     /* overlong */
    CU_ASSERT_FALSE(valid("\xed\xa0\x80"));     /* surrogate */
    CU_ASSERT_FALSE(valid("\xf4\x90\x80\x80")); /* beyond U+10FFFF */
    CU_ASSERT_FALSE(valid("\xe2\x82"));         /* cut */
}

static void test_clean(void)
{
    CU_ASSERT_EQUAL(tf_utf8_prefix("ab\xff"
                                   "c",
                                   4),
                    2);
    CU_ASSERT_EQUAL(tf_utf8_prefix("ab", 2), 2);
    char text[] = "a\x1b[31m\n\xff\xc3\xa9\xc2\x9b\x7f\xe2\x82";
    tf_utf8_clean(text);
    CU_ASSERT_STRING_EQUAL(text, "a?[31m\n?\xc3\xa9?"
                                 "???"
                                 "?");
}

static void test_parse_int(void)
{
    struct tf_error err = TF_ERROR_INIT;
    int64_t n = 0;
    CU_ASSERT_EQUAL(tf_parse_int64("42", 0, 100, &n, &err), 0);
    CU_ASSERT_EQUAL(n, 42);
    CU_ASSERT_EQUAL(tf_parse_int64("-7", -10, 0, &n, &err), 0);
    CU_ASSERT_EQUAL(n, -7);
    static const char *const bad[] = {"", "x", " 4", "4x", "-", "+4", "101", "99999999999999999999"};
    for (size_t i = 0; i < TF_ARRAY_LEN(bad); i++)
        CU_ASSERT_EQUAL(tf_parse_int64(bad[i], 0, 100, &n, &err), -1);
    CU_ASSERT_EQUAL(n, -7);
}

static void test_nearest(void)
{
    static const char *const keys[] = {"priority", "instances", "elastic", "instance"};
    CU_ASSERT_STRING_EQUAL(tf_nearest("prioritty", keys, 4), "priority");
    CU_ASSERT_STRING_EQUAL(tf_nearest("instnce", keys, 4), "instance");
    CU_ASSERT_STRING_EQUAL(tf_nearest("pirority", keys, 4), "priority");
    CU_ASSERT_PTR_NULL(tf_nearest("zebra", keys, 4));
    static const char *const verbs[] = {"apply", "get"};
    CU_ASSERT_STRING_EQUAL(tf_nearest("gte", verbs, 2), "get"); /* swapped neighbours are one edit */
    CU_ASSERT_PTR_NULL(tf_nearest("teg", verbs, 2));
}

static void test_hex(void)
{
    uint8_t bytes[3] = {0}, want[3] = {0x00, 0xab, 0xff};
    char text[7];
    tf_hex(want, 3, text);
    CU_ASSERT_STRING_EQUAL(text, "00abff");
    CU_ASSERT_EQUAL(tf_unhex("00abff", bytes, 3), 0);
    CU_ASSERT_EQUAL(memcmp(bytes, want, 3), 0);
    CU_ASSERT_EQUAL(tf_unhex("00abf", bytes, 3), -1);
    CU_ASSERT_EQUAL(tf_unhex("00abfg", bytes, 3), -1);
}

static void test_json_strings(void)
{
    TF_AUTO_BUF buf = TF_BUF_INIT;
    tf_buf_json(&buf, "a\"b\\\n\x01\xe2\x82\xac\xff");
    CU_ASSERT_STRING_EQUAL(tf_buf_text(&buf), "\"a\\\"b\\\\\\n\\u0001\xe2\x82\xac\xef\xbf\xbd\"");
}

static void test_base64(void)
{
    static const char *const pairs[][2] = {{"", ""},
                                           {"f", "Zg=="},
                                           {"fo", "Zm8="},
                                           {"foo", "Zm9v"},
                                           {"foob", "Zm9vYg=="},
                                           {"fooba", "Zm9vYmE="},
                                           {"foobar", "Zm9vYmFy"}}; /* RFC 4648, section 10 */
    for (size_t i = 0; i < TF_ARRAY_LEN(pairs); i++) {
        TF_AUTO_BUF text = TF_BUF_INIT, bytes = TF_BUF_INIT;
        tf_base64_encode(&text, tf_bytes_of(pairs[i][0]));
        CU_ASSERT_STRING_EQUAL(tf_buf_text(&text), pairs[i][1]);
        CU_ASSERT_EQUAL(tf_base64_decode(&bytes, tf_bytes_of(pairs[i][1])), 0);
        CU_ASSERT_STRING_EQUAL(tf_buf_text(&bytes), pairs[i][0]);
    }
    static const char *const bad[] = {
        "Z", "Zg", "Zg=", "Zg==Zg==", "=g==", "====", "Zg=g", "Z!==", "Zh==", "Zm9=", "Zm8=\n"};
    for (size_t i = 0; i < TF_ARRAY_LEN(bad); i++) {
        TF_AUTO_BUF bytes = TF_BUF_INIT;
        tf_buf_str(&bytes, "kept");
        CU_ASSERT_EQUAL(tf_base64_decode(&bytes, tf_bytes_of(bad[i])), -1);
        CU_ASSERT_STRING_EQUAL(tf_buf_text(&bytes), "kept");
    }
}

static const struct suite_test tests[] = {
    {"utf-8", test_utf8},          {"clean", test_clean}, {"parse int", test_parse_int},
    {"nearest key", test_nearest}, {"hex", test_hex},     {"json strings", test_json_strings},
    {"base64", test_base64},
};

int main(void)
{
    return suite_run("text", tests, TF_ARRAY_LEN(tests));
}
