/* SPDX-License-Identifier: Apache-2.0 */
/* The counting proxy itself: what it counts, and each fate of the k-th durable write, seen from both sides.
 */
#include "tests/support/store_proxy.h"

#include "common/base/cleanup.h"
#include "tests/integration/store_fixture.h"
#include "tests/support/etcd.h"
#include "tests/support/proxy/proxy.h"
#include "tests/support/suite.h"

#define S(text) ((struct tf_bytes){"" text, sizeof(text) - 1})

enum { WAIT_MS = 20 * 1000, SHORT_MS = 100 };

static struct store_fixture *fixture;
static struct test_proxy *proxy;
static struct tf_store *client, *direct; /* through the proxy, and past it */

static void send_put(struct tf_bytes key, struct store_got *got)
{
    struct tf_store_write write = {.key = key, .value = S("v")};
    struct tf_store_request request = {
        .kind = TF_STORE_TXN, .timeout_ms = WAIT_MS, .txn = {.writes = &write, .write_count = 1}};
    store_got_release(got);
    tf_store_send(client, &request, store_got_take, got);
}

static enum tf_error_code outcome(struct store_got *got)
{
    CU_ASSERT_TRUE_FATAL(store_fixture_until(fixture, &got->done));
    enum tf_error_code code = got->error.code;
    store_got_release(got);
    return code;
}

static bool stored(struct tf_bytes key)
{
    struct store_got got = {0};
    store_ask(fixture, direct, (struct tf_store_request){.kind = TF_STORE_GET, .key = key}, &got);
    CU_ASSERT_EQUAL(got.error.code, TF_OK);
    bool found = got.rows.count == 1;
    store_got_release(&got);
    return found;
}

/* Lets the loop run until the proxy announces something. */
struct awaited {
    const char *text;
};

static bool is_announced(void *ctx)
{
    const struct awaited *awaited = ctx;
    return test_proxy_wait(proxy, awaited->text, 1);
}

static void wait_announced(const char *text)
{
    struct awaited awaited = {text};
    CU_ASSERT_TRUE_FATAL(store_fixture_until_true(fixture, is_announced, &awaited));
}

static void reset(void)
{
    CU_ASSERT_TRUE_FATAL(test_proxy_command(proxy, "reset"));
}

static void case_counts(void)
{
    struct store_got got = {0};
    reset();
    CU_ASSERT_EQUAL(test_proxy_count(proxy), 0);
    send_put(S("/a"), &got);
    CU_ASSERT_EQUAL(outcome(&got), TF_OK);
    CU_ASSERT_EQUAL(test_proxy_count(proxy), 1);
    store_ask(fixture, client, (struct tf_store_request){.kind = TF_STORE_GET, .key = S("/a")}, &got);
    CU_ASSERT_EQUAL(got.rows.count, 1);
    store_ask(fixture, client, (struct tf_store_request){.kind = TF_STORE_LEASE_GRANT, .ttl_ms = 1000}, &got);
    CU_ASSERT_EQUAL(got.error.code, TF_OK);
    struct tf_store_compare compare = {.kind = TF_STORE_ABSENT, .key = S("/b")};
    store_ask(fixture, client,
              (struct tf_store_request){.kind = TF_STORE_TXN, .txn = {&compare, 1, NULL, 0, NULL, 0}}, &got);
    CU_ASSERT_EQUAL(got.error.code, TF_OK);
    CU_ASSERT_EQUAL(test_proxy_count(proxy), 1); /* a read, a lease, a transaction that only compares */
    struct tf_store_write removal = {.key = S("/a"), .remove = true};
    store_ask(fixture, client,
              (struct tf_store_request){.kind = TF_STORE_TXN, .txn = {.writes = &removal, .write_count = 1}},
              &got);
    CU_ASSERT_EQUAL(test_proxy_count(proxy), 2);
    store_got_release(&got);
}

static void case_drop_and_lose(void)
{
    struct store_got got = {0};
    reset();
    CU_ASSERT_TRUE(test_proxy_command(proxy, "at 2 drop"));
    CU_ASSERT_TRUE(test_proxy_command(proxy, "at 3 lose"));
    CU_ASSERT_TRUE(test_proxy_command(proxy, "at 4 mark"));
    send_put(S("/d/1"), &got);
    CU_ASSERT_EQUAL(outcome(&got), TF_OK);
    send_put(S("/d/2"), &got);
    CU_ASSERT_EQUAL(outcome(&got), TF_ERR_UNKNOWN);
    wait_announced("dropped 2");
    send_put(S("/d/3"), &got);
    CU_ASSERT_EQUAL(outcome(&got), TF_ERR_UNKNOWN);
    wait_announced("lost 3");
    send_put(S("/d/4"), &got);
    CU_ASSERT_EQUAL(outcome(&got), TF_OK);
    wait_announced("mark 4");
    CU_ASSERT_TRUE(stored(S("/d/1")) && !stored(S("/d/2")) && stored(S("/d/3")) && stored(S("/d/4")));
    CU_ASSERT_EQUAL(test_proxy_count(proxy), 4);
}

static void case_held(const char *fate, bool reaches_etcd)
{
    struct store_got got = {0};
    char key[64], announcement[64];
    reset();
    snprintf(key, sizeof key, "/held/%s", fate);
    snprintf(announcement, sizeof announcement, "%s 1", fate);
    CU_ASSERT_TRUE(test_proxy_command(proxy, "next %s", fate));
    send_put(tf_bytes_of(key), &got);
    wait_announced(announcement);
    CU_ASSERT_EQUAL(stored(tf_bytes_of(key)), reaches_etcd);
    store_fixture_pass(fixture, SHORT_MS);
    CU_ASSERT_FALSE(got.done);
    CU_ASSERT_TRUE(test_proxy_command(proxy, "release"));
    CU_ASSERT_EQUAL(outcome(&got), TF_OK);
    CU_ASSERT_TRUE(stored(tf_bytes_of(key)));

    snprintf(key, sizeof key, "/discarded/%s", fate);
    snprintf(announcement, sizeof announcement, "%s 2", fate);
    CU_ASSERT_TRUE(test_proxy_command(proxy, "at 2 %s", fate));
    send_put(tf_bytes_of(key), &got);
    wait_announced(announcement);
    CU_ASSERT_TRUE(test_proxy_command(proxy, "discard"));
    CU_ASSERT_EQUAL(outcome(&got), TF_ERR_UNKNOWN);
    CU_ASSERT_EQUAL(stored(tf_bytes_of(key)), reaches_etcd);
}

static void case_before(void)
{
    case_held("before", false);
}

static void case_after(void)
{
    case_held("after", true);
}

static void case_others_go_on(void)
{
    struct store_got held = {0}, other = {0};
    reset();
    CU_ASSERT_TRUE(test_proxy_command(proxy, "next before"));
    send_put(S("/o/1"), &held);
    wait_announced("before 1");
    send_put(S("/o/2"), &other); /* on a connection of its own */
    CU_ASSERT_EQUAL(outcome(&other), TF_OK);
    CU_ASSERT_FALSE(held.done);
    CU_ASSERT_TRUE(test_proxy_command(proxy, "release"));
    CU_ASSERT_EQUAL(outcome(&held), TF_OK);
}

static void case_etcd_killed_before(void)
{
    struct store_got got = {0};
    reset();
    CU_ASSERT_TRUE(test_proxy_command(proxy, "next before"));
    send_put(S("/k/1"), &got);
    wait_announced("before 1");
    store_fixture_down(fixture, true);
    CU_ASSERT_TRUE(test_proxy_command(proxy, "release"));
    CU_ASSERT_EQUAL(outcome(&got), TF_ERR_UNKNOWN);
    store_fixture_down(fixture, false);
    CU_ASSERT_FALSE(stored(S("/k/1")));
    send_put(S("/k/2"), &got);
    CU_ASSERT_EQUAL(outcome(&got), TF_OK);
}

static void case_bad_commands(void)
{
    CU_ASSERT_FALSE(test_proxy_command(proxy, "at"));
    CU_ASSERT_FALSE(test_proxy_command(proxy, "at 0 drop"));
    CU_ASSERT_FALSE(test_proxy_command(proxy, "at 1"));
    CU_ASSERT_FALSE(test_proxy_command(proxy, "at 1 explode"));
    CU_ASSERT_FALSE(test_proxy_command(proxy, "next"));
    CU_ASSERT_FALSE(test_proxy_command(proxy, " "));
    CU_ASSERT_FALSE(test_proxy_command(proxy, "helo"));
}

static void case_http(void)
{
    static const char request[] = "POST /v3/kv/txn HTTP/1.1\r\nHost: x\r\ncontent-length: 44\r\n\r\n"
                                  "{\"success\":[{\"request_put\":{\"key\":\"YQ==\"}}]}";
    size_t len = 0, whole = sizeof request - 1;
    for (size_t i = 0; i < whole; i++) {
        TF_AUTO_FREE char *cut = tf_memdup(request, i);
        CU_ASSERT_EQUAL(http_request_length((struct tf_bytes){cut, i}, &len), HTTP_MORE);
    }
    CU_ASSERT_EQUAL(http_request_length((struct tf_bytes){request, whole}, &len), HTTP_COMPLETE);
    CU_ASSERT_EQUAL(len, whole);
    CU_ASSERT_TRUE(http_is_durable_write((struct tf_bytes){request, whole}));
    CU_ASSERT_EQUAL(http_request_length(S("GET /health HTTP/1.1\r\n\r\nGET"), &len), HTTP_COMPLETE);
    CU_ASSERT_EQUAL(len, 24);
    CU_ASSERT_EQUAL(http_request_length(S("POST / HTTP/1.1\r\nContent-Length: -4\r\n\r\n"), &len),
                    HTTP_BROKEN);
    CU_ASSERT_EQUAL(http_request_length(S("POST / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n"), &len),
                    HTTP_BROKEN);
    CU_ASSERT_EQUAL(http_request_length(S("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"), &len),
                    HTTP_BROKEN);
}

static const struct suite_test tests[] = {
    {"counts", case_counts},
    {"drop, lose, mark", case_drop_and_lose},
    {"held before", case_before},
    {"held after", case_after},
    {"others go on", case_others_go_on},
    {"etcd killed before a write", case_etcd_killed_before},
    {"bad commands", case_bad_commands},
    {"HTTP", case_http},
};

int main(void)
{
    if (!test_etcd_available())
        return 0;
    fixture = store_fixture_create(STORE_PROXY);
    if (!fixture)
        return 1;
    proxy = store_fixture_proxy(fixture);
    client = store_fixture_client(fixture);
    direct = store_fixture_direct_client(fixture);
    int failed = suite_run("store proxy", tests, TF_ARRAY_LEN(tests));
    store_fixture_destroy(fixture);
    return failed;
}
