/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "common/wire/api.h"
#include "common/wire/attach.h"
#include "tests/support/random_model.h"
#include "tests/support/suite.h"

/* Bytes that no encoder of ours makes. */

/* Reads the bytes as a message down; the error's text, or "" if they were accepted. */
static const char *refuse_down(const char *bytes, size_t len)
{
    static struct tf_error err;
    struct tf_down down;
    err = (struct tf_error)TF_ERROR_INIT;
    if (tf_wire_down_unpack(bytes, len, &down, &err) == 0)
        tf_down_release(&down);
    CU_ASSERT_TRUE(tf_utf8_valid(err.text, strlen(err.text)));
    return err.text;
}

static const char *refuse_up(const char *bytes, size_t len)
{
    static struct tf_error err;
    struct tf_up up;
    err = (struct tf_error)TF_ERROR_INIT;
    if (tf_wire_up_unpack(bytes, len, &up, &err) == 0)
        tf_up_release(&up);
    CU_ASSERT_TRUE(tf_utf8_valid(err.text, strlen(err.text)));
    return err.text;
}

#define DOWN(bytes) refuse_down(bytes, sizeof(bytes) - 1)
#define UP(bytes) refuse_up(bytes, sizeof(bytes) - 1)
#define CHECK_ERROR(got, expected) CU_ASSERT_STRING_EQUAL(got, expected)

static void test_what_is_fine(void)
{
    CHECK_ERROR(DOWN("\x08\x03"), "");                            /* kind = END */
    CHECK_ERROR(DOWN("\x08\x83\x80\x00"), "");                    /* the same, wastefully */
    CHECK_ERROR(DOWN("\x08\x03\xa2\x06\x03xyz\xa8\x06\x07"), ""); /* fields 100 and 101 of a newer peer */
    CHECK_ERROR(DOWN("\x08\x03\xad\x06"
                     "abcd\xb1\x06"
                     "abcdefgh"),
                "");
}

static void test_broken_off(void)
{
    CHECK_ERROR(DOWN("\x08"), "message of the federation: kind: broken off, or not a protobuf value");
    CHECK_ERROR(DOWN("\x12\x05\x08"), "message of the federation: term: broken off, or not a protobuf value");
    CHECK_ERROR(DOWN("\xff"), "message of the federation: broken off, or not a protobuf message");
    CHECK_ERROR(DOWN("\x00\x01"), "message of the federation: broken off, or not a protobuf message");
    CHECK_ERROR(DOWN("\x08\x03\xa2\x06\x7f"),
                "message of the federation: field 100 is broken off, or not a protobuf value");
    CHECK_ERROR(DOWN("\x08\x03\xa3\x06\xa4\x06"), /* a group */
                "message of the federation: field 100 is broken off, or not a protobuf value");
    CHECK_ERROR(DOWN("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"),
                "message of the federation: kind: broken off, or not a protobuf value");
}

static void test_wrong_types(void)
{
    CHECK_ERROR(DOWN("\x0a\x01x"), "message of the federation: kind: has wire type 2 instead of 0");
    CHECK_ERROR(DOWN("\x08\x03\x10\x01"), "message of the federation: term: has wire type 0 instead of 2");
    CHECK_ERROR(DOWN("\x08\x83\x80\x80\x80\x10"),
                "message of the federation: kind: 4294967299 is out of range");
    CHECK_ERROR(DOWN("\x08\x63"), "message of the federation: kind: 99 is not in 1 to 9");
    CHECK_ERROR(DOWN(""), "message of the federation: kind: 0 is not in 1 to 9");
}

static void test_twice(void)
{
    CHECK_ERROR(DOWN("\x08\x03\x08\x03"), "message of the federation: kind: is there twice");
    CHECK_ERROR(UP("\x22\x00\x22\x00"), "message of a subcluster: listed: is there twice");
    CHECK_ERROR(UP("\x22\x00\x2a\x00"), "message of a subcluster: fence: is there besides listed");
    CHECK_ERROR(UP(""), "message of a subcluster: its kind (0) is not known here");
    CHECK_ERROR(UP("\x42\x00"), "message of a subcluster: its kind (0) is not known here"); /* a newer kind */
}

static void test_strings(void)
{
    CHECK_ERROR(UP("\x0a\x05\x12\x03"
                   "a\0b"),
                "message of a subcluster: hello.name: holds a NUL");
    CHECK_ERROR(UP("\x0a\x04\x12\x02\xc3("), "message of a subcluster: hello.name: is not UTF-8");
    CU_ASSERT_TRUE(tf_starts_with(UP("\x0a\x06\x12\x04../x"), "hello: name: "));
    CU_ASSERT_PTR_NOT_NULL(strstr(UP("\x0a\x06\x12\x04../x"), "../x"));
    CHECK_ERROR(UP("\x0a\x00"), "hello: name: is missing");
}

/* A job with two groups, as a later version may have it. */
static void test_two_groups(void)
{
    static const char manifest[] = "\x22\x04\x1a\x00\x1a\x00"; /* spec { groups {} groups {} } */
    TF_AUTO_BUF bytes = TF_BUF_INIT;
    tf_buf_add(&bytes,
               "\x0a\x10"
               "0123456789abcdef\x12\x06",
               20);
    tf_buf_add(&bytes, manifest, sizeof manifest - 1);
    struct tf_request request;
    struct tf_error err = TF_ERROR_INIT;
    CU_ASSERT_EQUAL(tf_wire_request_unpack(TF_METHOD_SUBMIT, bytes.data, bytes.len, &request, &err), -1);
    CHECK_ERROR(err.text, "Submit: manifest.spec.groups: 2 entries: this version knows jobs of exactly one");
    CU_ASSERT_EQUAL(request.method, TF_METHOD_NONE);
}

/* Two bytes of an empty entry become hundreds in memory. */
static void test_few_bytes_that_become_many(void)
{
    TF_AUTO_BUF bytes = TF_BUF_INIT;
    tf_buf_str(&bytes, "\x08\x02");
    for (size_t i = 0; i < 1 << 20; i++)
        tf_buf_add(&bytes, "\x32\x00", 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(refuse_down(bytes.data, bytes.len), "more than 64 MiB when unpacked"));
    tf_buf_clear(&bytes);
    for (size_t i = 0; i < 2 << 20; i++)
        tf_buf_add(&bytes, "\x78\x00", 2); /* a field of a newer peer, two million times */
    CU_ASSERT_PTR_NOT_NULL(strstr(refuse_down(bytes.data, bytes.len), "more than 64 MiB when unpacked"));
}

static void test_too_large(void)
{
    char *bytes = tf_calloc(TF_WIRE_STREAM_MAX + 1, 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(refuse_down(bytes, TF_WIRE_STREAM_MAX + 1), "at most 4194304 are read"));
    free(bytes);
    struct tf_request request = {.method = TF_METHOD_SUBMIT};
    struct tf_error err = TF_ERROR_INIT;
    TF_AUTO_BUF out = TF_BUF_INIT;
    request.submit.uid.bytes[0] = 1;
    for (int i = 0; i < 4; i++) {
        char *text = tf_calloc(30001, 1);
        memset(text, 'x', 30000);
        tf_strs_add(&request.submit.manifest.spec.group.command, text);
        free(text);
    }
    CU_ASSERT_EQUAL(tf_wire_request_pack(&request, &out, &err), -1);
    CU_ASSERT_EQUAL(err.code, TF_ERR_TOO_LARGE);
    CU_ASSERT_TRUE(tf_starts_with(err.text, "the manifest is too large: shorten its command"));
    tf_request_release(&request);
}

/* Every beginning of a valid message is refused or read, and never more than its bytes is touched (ASan). */
static void test_every_prefix(void)
{
    struct tf_rng rng;
    tf_rng_init(&rng, suite_seed(31));
    for (size_t round = suite_rounds(20); round > 0; round--) {
        struct tf_up up;
        TF_AUTO_BUF bytes = TF_BUF_INIT;
        random_up(&rng, round % 2 ? TF_UP_REPORT : TF_UP_PROFILE, &up);
        CU_ASSERT_EQUAL(tf_wire_up_pack(&up, &bytes, NULL), 0);
        for (size_t len = 0; len < bytes.len; len++) {
            char *part = tf_memdup(bytes.data, len);
            const char *text = refuse_up(part, len);
            CU_ASSERT_TRUE(*text != '\0'); /* all is inside one length */
            free(part);
        }
        tf_up_release(&up);
    }
}

static const struct suite_test tests[] = {
    {"what is fine", test_what_is_fine},
    {"broken off", test_broken_off},
    {"wrong types and numbers", test_wrong_types},
    {"fields that are there twice", test_twice},
    {"strings that are none", test_strings},
    {"a job of two groups", test_two_groups},
    {"few bytes that become many", test_few_bytes_that_become_many},
    {"too large", test_too_large},
    {"every prefix of a valid message", test_every_prefix},
};

int main(void)
{
    return suite_run("scan", tests, TF_ARRAY_LEN(tests));
}
