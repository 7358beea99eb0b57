/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies of etcd's JSON gateway: what we send, and replies that are right, wrong, cut or not etcd's at all.
 */
#include "common/store/etcd_json.h"

#include "common/base/base64.h"
#include "common/base/cleanup.h"
#include "common/base/rng.h"
#include "tests/support/suite.h"

#define S(text) ((struct tf_bytes){"" text, sizeof(text) - 1})

static void check_body(const struct tf_store_request *request, const char *want)
{
    TF_AUTO_BUF body = TF_BUF_INIT;
    tf_etcd_encode(&body, request);
    CU_ASSERT_STRING_EQUAL(tf_buf_text(&body), want);
}

static void test_requests(void)
{
    struct tf_store_request get = {.kind = TF_STORE_GET, .key = S("a")};
    check_body(&get, "{\"key\":\"YQ==\"}");
    struct tf_store_request page = {
        .kind = TF_STORE_PAGE, .key = S("a/"), .after = S("a/b"), .limit = 2, .revision = 7};
    check_body(&page, "{\"key\":\"YS9iAA==\",\"range_end\":\"YTA=\",\"limit\":\"2\",\"revision\":\"7\"}");
    struct tf_store_request all = {.kind = TF_STORE_PAGE, .key = S("\xff"), .limit = 2};
    check_body(&all, "{\"key\":\"/w==\",\"range_end\":\"AA==\",\"limit\":\"2\",\"revision\":\"0\"}");
    struct tf_store_request lease = {.kind = TF_STORE_LEASE_GRANT, .ttl_ms = 1001};
    check_body(&lease, "{\"TTL\":\"2\"}");
}

static void decode(struct tf_store_answer *answer, enum tf_store_kind kind, size_t reads, long http,
                   struct tf_bytes body)
{
    struct tf_etcd_expect expect = {.kind = kind, .read_count = reads};
    tf_store_answer_release(answer);
    *answer = (struct tf_store_answer){0};
    tf_etcd_decode(answer, &expect, http, body);
}

#define HEADER "\"header\":{\"cluster_id\":\"1\",\"revision\":\"9\"}"
#define ROW                                                                                                 \
    "{\"key\":\"YQ==\",\"create_revision\":\"3\",\"mod_revision\":\"4\",\"version\":\"2\",\"value\":\"Yg==" \
    "\"}"

static const char range[] = "{" HEADER ",\"kvs\":[" ROW "],\"more\":true,\"count\":\"2\"}";
static const char refused[] = "{" HEADER ",\"responses\":[{\"response_range\":{" HEADER ",\"kvs\":[" ROW
                              "],\"count\":\"1\"}},{\"response_range\":{" HEADER "}}]}";

static void test_replies(void)
{
    struct tf_store_answer answer = {0};
    decode(&answer, TF_STORE_PAGE, 0, 200, tf_bytes_of(range));
    CU_ASSERT_EQUAL(answer.reply.error.code, TF_OK);
    CU_ASSERT_EQUAL(answer.reply.revision, 9);
    CU_ASSERT_TRUE(answer.reply.more);
    CU_ASSERT_EQUAL_FATAL(answer.reply.count, 1);
    CU_ASSERT_TRUE(tf_bytes_eq(answer.reply.rows[0].value, S("b")));
    CU_ASSERT_EQUAL(answer.reply.rows[0].created_at, 3);
    decode(&answer, TF_STORE_TXN, 2, 200, tf_bytes_of(refused));
    CU_ASSERT_EQUAL(answer.reply.error.code, TF_ERR_CONFLICT);
    CU_ASSERT_EQUAL_FATAL(answer.reply.count, 2);
    CU_ASSERT_EQUAL(answer.reply.rows[1].created_at, 0);
    decode(&answer, TF_STORE_TXN, 3, 200, tf_bytes_of(refused)); /* a read without its answer */
    CU_ASSERT_EQUAL(answer.reply.error.code, TF_ERR_UNKNOWN);
    decode(&answer, TF_STORE_TXN, 2, 200, S("{" HEADER ",\"succeeded\":true}\n"));
    CU_ASSERT_EQUAL(answer.reply.error.code, TF_OK);
    decode(&answer, TF_STORE_LEASE_KEEPALIVE, 0, 200, S("{\"result\":{" HEADER ",\"ID\":\"5\"}}"));
    CU_ASSERT_EQUAL(answer.reply.error.code, TF_ERR_NOT_FOUND);
    decode(&answer, TF_STORE_LEASE_KEEPALIVE, 0, 200,
           S("{\"result\":{" HEADER ",\"ID\":\"5\",\"TTL\":\"3\"}}"));
    CU_ASSERT_EQUAL(answer.reply.error.code, TF_OK);
    CU_ASSERT_EQUAL(answer.reply.ttl_ms, 3000);
    tf_store_answer_release(&answer);
}

static const struct {
    long http;
    const char *body;
    enum tf_error_code txn;
} errors[] = {
    {400, "{\"error\":\"x\",\"code\":3,\"message\":\"etcdserver: duplicate key given\"}", TF_ERR_INVALID},
    {400, "{\"error\":\"etcdserver: request is too large\",\"code\":3}", TF_ERR_TOO_LARGE},
    {400, "{\"error\":\"etcdserver: too many operations in txn request\",\"code\":3}", TF_ERR_TOO_LARGE},
    {404, "{\"error\":\"etcdserver: requested lease not found\",\"code\":5}", TF_ERR_NOT_FOUND},
    {429, "{\"error\":\"etcdserver: mvcc: database space exceeded\",\"code\":8}", TF_ERR_REFUSED},
    {429, "{\"error\":\"grpc: received message larger than max\",\"code\":8}", TF_ERR_TOO_LARGE},
    {429, "{\"error\":\"etcdserver: too many requests\",\"code\":8}", TF_ERR_UNAVAILABLE},
    {400, "{\"error\":\"etcdserver: mvcc: required revision has been compacted\",\"code\":11}",
     TF_ERR_NOT_FOUND},
    {400, "{\"error\":\"etcdserver: something new\",\"code\":11}", TF_ERR_UNKNOWN},
    {503, "{\"error\":\"etcdserver: request timed out\",\"code\":14}", TF_ERR_UNKNOWN},
    {200, "{\"error\":{\"grpc_code\":14,\"http_code\":503,\"message\":\"transport is closing\"}}",
     TF_ERR_UNKNOWN},
    {500, "{\"error\":\"context canceled\",\"code\":2}", TF_ERR_UNKNOWN},
    {404, "Not Found", TF_ERR_UNKNOWN},
    {405, "Method Not Allowed", TF_ERR_UNKNOWN},
    {502, "<html>bad gateway</html>", TF_ERR_UNKNOWN},
    {200, "", TF_ERR_UNKNOWN},
    {500, "{" HEADER ",\"succeeded\":true}", TF_ERR_UNKNOWN},
};

static void test_errors(void)
{
    struct tf_store_answer answer = {0};
    for (size_t i = 0; i < TF_ARRAY_LEN(errors); i++) {
        decode(&answer, TF_STORE_TXN, 0, errors[i].http, tf_bytes_of(errors[i].body));
        CU_ASSERT_EQUAL(answer.reply.error.code, errors[i].txn);
        CU_ASSERT_TRUE(strlen(answer.reply.error.text) > 0);
        decode(&answer, TF_STORE_GET, 0, errors[i].http, tf_bytes_of(errors[i].body));
        enum tf_error_code read = errors[i].txn == TF_ERR_UNKNOWN ? TF_ERR_UNAVAILABLE : errors[i].txn;
        CU_ASSERT_EQUAL(answer.reply.error.code, read);
    }
    tf_store_answer_release(&answer);
}

/* Well-formed JSON, wrong types. */
static const char *const wrong[] = {
    "[]",
    "null",
    "true",
    "{}",
    "{\"header\":[]}",
    "{\"header\":{\"revision\":9}}",
    "{\"header\":{\"revision\":\"9x\"}}",
    "{\"header\":{\"revision\":\"-9\"}}",
    "{\"header\":{\"revision\":\"99999999999999999999\"}}",
    "{" HEADER ",\"kvs\":{}}",
    "{" HEADER ",\"kvs\":[1]}",
    "{" HEADER ",\"kvs\":[{}]}",
    "{" HEADER ",\"kvs\":[{\"key\":\"YQ==\"}]}",
    "{" HEADER ",\"kvs\":[{\"key\":\"YQ=\",\"create_revision\":\"1\"}]}",
    "{" HEADER ",\"kvs\":[{\"key\":\"Y!==\",\"create_revision\":\"1\"}]}",
    "{" HEADER ",\"kvs\":[{\"key\":7,\"create_revision\":\"1\"}]}",
    "{" HEADER ",\"kvs\":[{\"key\":\"YQ==\",\"create_revision\":\"1\",\"value\":[]}]}",
    "{" HEADER ",\"kvs\":[{\"key\":\"YQ==\",\"create_revision\":\"1\",\"lease\":{}}]}",
    "{" HEADER ",\"kvs\":[" ROW "," ROW "]}",
    "{" HEADER "} trailing",
    "{" HEADER "}{" HEADER "}",
};

static void test_wrong_types(void)
{
    struct tf_store_answer answer = {0};
    for (size_t i = 0; i < TF_ARRAY_LEN(wrong); i++) {
        decode(&answer, TF_STORE_GET, 0, 200, tf_bytes_of(wrong[i]));
        CU_ASSERT_EQUAL(answer.reply.error.code, TF_ERR_UNAVAILABLE);
        CU_ASSERT_EQUAL(answer.reply.count, 0);
    }
    tf_store_answer_release(&answer);
}

/* Every prefix of a reply is no reply; the bytes are in memory of exactly that size, for the sanitizer. */
static void test_cut(void)
{
    const char *const whole[] = {range, refused};
    struct tf_store_answer answer = {0};
    for (size_t w = 0; w < TF_ARRAY_LEN(whole); w++)
        for (size_t len = 0; len < strlen(whole[w]); len++) {
            TF_AUTO_FREE char *cut = tf_memdup(whole[w], len);
            decode(&answer, TF_STORE_TXN, 2, 200, (struct tf_bytes){cut, len});
            CU_ASSERT_EQUAL(answer.reply.error.code, TF_ERR_UNKNOWN);
        }
    tf_store_answer_release(&answer);
}

/* Changed bytes anywhere: some answer, no crash, no more rows than were there. */
static void test_damaged(void)
{
    struct tf_rng rng;
    tf_rng_init(&rng, suite_seed(1));
    const char *const whole[] = {range, refused};
    struct tf_store_answer answer = {0};
    for (size_t round = 0; round < suite_rounds(20000); round++) {
        const char *from = whole[round % TF_ARRAY_LEN(whole)];
        size_t len = strlen(from);
        TF_AUTO_FREE char *copy = tf_memdup(from, len);
        for (uint64_t n = tf_rng_below(&rng, 4) + 1; n; n--)
            copy[tf_rng_below(&rng, len)] = (char)tf_rng_below(&rng, 256);
        enum tf_store_kind kind = (enum tf_store_kind)tf_rng_below(&rng, TF_STORE_DEFRAGMENT + 1);
        decode(&answer, kind, 2, 200, (struct tf_bytes){copy, len});
        CU_ASSERT_TRUE(answer.reply.count <= 2);
    }
    tf_store_answer_release(&answer);
}

static void test_huge(void)
{
    TF_AUTO_BUF deep = TF_BUF_INIT, wide = TF_BUF_INIT;
    struct tf_store_answer answer = {0};
    for (int i = 0; i < 1000000; i++)
        tf_buf_str(&deep, "{\"header\":");
    decode(&answer, TF_STORE_GET, 0, 200, (struct tf_bytes){deep.data, deep.len});
    CU_ASSERT_EQUAL(answer.reply.error.code, TF_ERR_UNAVAILABLE);
    tf_buf_str(&wide, "{" HEADER ",\"kvs\":[" ROW);
    for (int i = 0; i < 20000; i++)
        tf_buf_str(&wide, "," ROW);
    tf_buf_str(&wide, "]}");
    decode(&answer, TF_STORE_PAGE, 0, 200, (struct tf_bytes){wide.data, wide.len});
    CU_ASSERT_EQUAL(answer.reply.error.code, TF_OK);
    CU_ASSERT_EQUAL(answer.reply.count, 20001);
    TF_AUTO_BUF text = TF_BUF_INIT;
    tf_buf_str(&text, "{\"error\":\"");
    for (int i = 0; i < 100000; i++)
        tf_buf_char(&text, 'x');
    tf_buf_str(&text, "\",\"code\":1e300}");
    decode(&answer, TF_STORE_GET, 0, 400, (struct tf_bytes){text.data, text.len});
    CU_ASSERT_EQUAL(answer.reply.error.code, TF_ERR_UNAVAILABLE);
    CU_ASSERT_TRUE(strlen(answer.reply.error.text) < 500);
    tf_store_answer_release(&answer);
}

static void test_quota(void)
{
    CU_ASSERT_EQUAL(tf_etcd_metrics_quota(S("# HELP\n# TYPE etcd_server_quota_backend_bytes gauge\n"
                                            "etcd_server_quota_backend_bytes 2.147483648e+09\nx 1\n")),
                    INT64_C(2147483648));
    CU_ASSERT_EQUAL(tf_etcd_metrics_quota(S("")), 0);
    CU_ASSERT_EQUAL(tf_etcd_metrics_quota(S("\netcd_server_quota_backend_bytes ")), 0);
    CU_ASSERT_EQUAL(tf_etcd_metrics_quota(S("\netcd_server_quota_backend_bytes NaN")), 0);
    CU_ASSERT_EQUAL(tf_etcd_metrics_quota(S("\netcd_server_quota_backend_bytes 1e99")), 0);
}

static char *decode_login(long status, const char *body, struct tf_error *err)
{
    *err = (struct tf_error)TF_ERROR_INIT;
    return tf_etcd_decode_login(status, tf_bytes_of(body), err);
}

static void test_login(void)
{
    TF_AUTO_BUF body = TF_BUF_INIT;
    struct tf_error err;
    tf_etcd_encode_login(&body, "ann", "a \"b\"\\");
    CU_ASSERT_STRING_EQUAL(tf_buf_text(&body), "{\"name\":\"ann\",\"password\":\"a \\\"b\\\"\\\\\"}");
    TF_AUTO_FREE char *token = decode_login(200, "{\"header\":{},\"token\":\"x.1\"}", &err);
    CU_ASSERT_STRING_EQUAL(token, "x.1");
    CU_ASSERT_PTR_NULL(decode_login(200, "{\"token\":\"x\\r\\nHost: y\"}", &err)); /* no line of a header */
    CU_ASSERT_PTR_NULL(decode_login(200, "{}", &err));
    CU_ASSERT_EQUAL(err.code, TF_ERR_UNAVAILABLE);
    CU_ASSERT_PTR_NULL(decode_login(502, "<html>", &err));
    CU_ASSERT_EQUAL(err.code, TF_ERR_UNAVAILABLE);
    CU_ASSERT_PTR_NULL(
        decode_login(400,
                     "{\"error\":\"etcdserver: authentication failed, invalid user ID or password\","
                     "\"code\":3}",
                     &err));
    CU_ASSERT_EQUAL(err.code, TF_ERR_INVALID);
    CU_ASSERT_FALSE(tf_etcd_wants_login(&err));
    tf_error_set(&err, TF_ERR_REFUSED, "etcd answers \"etcdserver: invalid auth token\"");
    CU_ASSERT_TRUE(tf_etcd_wants_login(&err));
}

static const struct suite_test tests[] = {
    {"requests", test_requests}, {"replies", test_replies},
    {"errors", test_errors},     {"wrong types", test_wrong_types},
    {"cut", test_cut},           {"damaged", test_damaged},
    {"huge", test_huge},         {"quota", test_quota},
    {"login", test_login},
};

int main(void)
{
    return suite_run("etcd json", tests, TF_ARRAY_LEN(tests));
}
