/* SPDX-License-Identifier: Apache-2.0 */
/* The store in memory as a simulation uses it: its faults, its determinism, backups, compaction by itself;
 * and the small pure pieces of the store. The contract that it shares with etcd is in
 * tests/integration/store_contract.c. */
#include "common/store/memory.h"

#include "common/store/guard_value.h"
#include "common/store/impl.h"
#include "tests/support/suite.h"

#include <inttypes.h>

#define S(text) ((struct tf_bytes){"" text, sizeof(text) - 1})

enum { TIMEOUT_MS = 100 };

struct got {
    unsigned answers;
    enum tf_error_code code;
    size_t rows;
    int64_t revision, lease;
};

static void take(void *cookie, const struct tf_store_reply *reply)
{
    struct got *got = cookie;
    got->answers++;
    got->code = reply->error.code;
    got->rows = reply->count;
    got->revision = reply->revision;
    got->lease = reply->lease;
}

static void put(struct tf_store *client, const char *key, int64_t lease, struct got *got)
{
    struct tf_store_write write = {.key = tf_bytes_of(key), .value = S("v"), .lease = lease};
    struct tf_store_request request = {
        .kind = TF_STORE_TXN, .timeout_ms = TIMEOUT_MS, .txn = {.writes = &write, .write_count = 1}};
    tf_store_send(client, &request, take, got);
}

static void ask(struct tf_store *client, struct tf_store_request request, struct got *got)
{
    request.timeout_ms = TIMEOUT_MS;
    tf_store_send(client, &request, take, got);
}

static int64_t now_ms;

static void pass(struct tf_memory_store *server, int64_t ms)
{
    now_ms += ms;
    tf_memory_store_advance(server, (struct tf_mono){now_ms});
}

static bool exists(struct tf_memory_store *server, struct tf_store *client, const char *key)
{
    struct got got = {0};
    ask(client, (struct tf_store_request){.kind = TF_STORE_GET, .key = tf_bytes_of(key)}, &got);
    pass(server, TIMEOUT_MS);
    CU_ASSERT_TRUE(got.answers == 1 && got.code == TF_OK);
    return got.rows == 1;
}

static struct tf_memory_store *server_create(int64_t keep_revisions)
{
    now_ms = 0;
    return tf_memory_store_create(&(struct tf_memory_options){.seed = 7, .keep_revisions = keep_revisions});
}

static void test_faults(void)
{
    static const struct {
        enum tf_memory_fault fault;
        enum tf_error_code code;
        bool before, after; /* is it there when it is answered, and much later */
    } cases[] = {
        {TF_MEMORY_NO_FAULT, TF_OK, true, true},
        {TF_MEMORY_UNAVAILABLE, TF_ERR_UNAVAILABLE, false, false},
        {TF_MEMORY_LOST_REQUEST, TF_ERR_UNKNOWN, false, false},
        {TF_MEMORY_LOST_REPLY, TF_ERR_UNKNOWN, true, true},
        {TF_MEMORY_LATE, TF_ERR_UNKNOWN, false, true},
    };
    for (size_t i = 0; i < TF_ARRAY_LEN(cases); i++) {
        TF_AUTO(tf_memory_store) server = server_create(0);
        TF_AUTO(tf_store) client = tf_memory_store_client(server);
        TF_AUTO(tf_store) other = tf_memory_store_client(server);
        struct got first = {0}, got = {0};
        tf_memory_store_faults(
            server, &(struct tf_memory_faults){.latency_min_ms = 2, .latency_max_ms = 2, .late_max_ms = 0});
        tf_memory_client_fault(client, cases[i].fault, 1);
        put(client, "/first", 0, &first);
        put(client, "/k", 0, &got);
        pass(server, 1);
        CU_ASSERT_TRUE(first.answers == 0 && got.answers == 0);
        while (!got.answers)
            pass(server, 1);
        CU_ASSERT_TRUE(first.answers == 1 && first.code == TF_OK);
        CU_ASSERT_EQUAL(got.code, cases[i].code);
        CU_ASSERT_EQUAL(now_ms, got.code == TF_ERR_UNKNOWN ? TIMEOUT_MS : 2);
        CU_ASSERT_EQUAL(tf_memory_store_counts(server).transactions, cases[i].before ? 2 : 1);
        pass(server, 1000);
        CU_ASSERT_EQUAL(exists(server, other, "/k"), cases[i].after);
        CU_ASSERT_EQUAL(got.answers, 1);
        CU_ASSERT_EQUAL(tf_memory_store_next(server).ms, INT64_MAX); /* at rest */
    }
}

static void test_cut_and_down(void)
{
    TF_AUTO(tf_memory_store) server = server_create(0);
    TF_AUTO(tf_store) client = tf_memory_store_client(server);
    TF_AUTO(tf_store) other = tf_memory_store_client(server);
    struct got got = {0}, lost = {0};
    tf_memory_store_faults(server, &(struct tf_memory_faults){.latency_min_ms = 10, .latency_max_ms = 10});
    put(client, "/in-flight", 0, &lost);
    pass(server, 6); /* applied, not answered */
    tf_memory_client_cut(client, true);
    put(client, "/cut", 0, &got);
    pass(server, TIMEOUT_MS);
    CU_ASSERT_TRUE(lost.code == TF_ERR_UNKNOWN && got.code == TF_ERR_UNKNOWN);
    CU_ASSERT_TRUE(exists(server, other, "/in-flight") && !exists(server, other, "/cut"));
    tf_memory_client_cut(client, false);
    put(client, "/broken", 0, &lost);
    tf_memory_store_down(server, true);
    pass(server, 1);
    CU_ASSERT_TRUE(lost.answers == 2 && lost.code == TF_ERR_UNKNOWN); /* at once: the connection broke */
    put(client, "/down", 0, &got);
    pass(server, TIMEOUT_MS);
    CU_ASSERT_TRUE(got.answers == 2 && got.code == TF_ERR_UNAVAILABLE);
    tf_memory_store_down(server, false);
    CU_ASSERT_TRUE(!exists(server, other, "/broken") && !exists(server, other, "/down"));
}

static void test_destroyed_client(void)
{
    TF_AUTO(tf_memory_store) server = server_create(0);
    struct tf_store *client = tf_memory_store_client(server);
    TF_AUTO(tf_store) other = tf_memory_store_client(server);
    struct got got = {0};
    put(client, "/sent", 0, &got);
    tf_store_destroy(client);
    CU_ASSERT_TRUE(exists(server, other, "/sent"));
    CU_ASSERT_EQUAL(got.answers, 0);
}

static int64_t grant(struct tf_memory_store *server, struct tf_store *client)
{
    struct got got = {0};
    ask(client, (struct tf_store_request){.kind = TF_STORE_LEASE_GRANT, .ttl_ms = 3000}, &got);
    pass(server, TIMEOUT_MS);
    CU_ASSERT_EQUAL(got.code, TF_OK);
    return got.lease;
}

static void test_snapshot(void)
{
    TF_AUTO(tf_memory_store) server = server_create(0);
    TF_AUTO(tf_store) client = tf_memory_store_client(server);
    struct got got = {0};
    int64_t lease = grant(server, client);
    put(client, "/leased", lease, &got);
    put(client, "/old", 0, &got);
    pass(server, TIMEOUT_MS);
    int64_t revision = got.revision;
    TF_AUTO(tf_memory_snapshot) snapshot = tf_memory_store_snapshot(server);
    put(client, "/new", 0, &got);
    pass(server, TIMEOUT_MS);
    CU_ASSERT_EQUAL(got.revision, revision + 1);
    pass(server, 5000);
    CU_ASSERT_TRUE(exists(server, client, "/new") && !exists(server, client, "/leased"));
    for (int i = 0; i < 2; i++) { /* as often as one likes */
        tf_memory_store_restore(server, snapshot);
        CU_ASSERT_TRUE(!exists(server, client, "/new") && exists(server, client, "/old"));
        CU_ASSERT_TRUE(exists(server, client, "/leased"));
        pass(server, 3000);
        CU_ASSERT_FALSE(exists(server, client, "/leased"));
    }
    CU_ASSERT_TRUE(grant(server, client) > lease); /* numbers of leases are not used again */
}

static void test_compacts_by_itself(void)
{
    TF_AUTO(tf_memory_store) server = server_create(10);
    TF_AUTO(tf_store) client = tf_memory_store_client(server);
    struct got got = {0};
    struct tf_store_write removal = {.key = S("/gone"), .remove = true};
    put(client, "/gone", 0, &got);
    pass(server, TIMEOUT_MS);
    int64_t first = got.revision;
    ask(client,
        (struct tf_store_request){.kind = TF_STORE_TXN, .txn = {.writes = &removal, .write_count = 1}}, &got);
    for (int i = 0; i < 1000; i++) {
        put(client, "/k", 0, &got);
        pass(server, TIMEOUT_MS);
    }
    struct tf_store_request page = {.kind = TF_STORE_PAGE, .key = S("/"), .limit = 10, .revision = first};
    ask(client, page, &got);
    pass(server, TIMEOUT_MS);
    CU_ASSERT_EQUAL(got.code, TF_ERR_NOT_FOUND);
    page.revision = first + 1000;
    ask(client, page, &got);
    pass(server, TIMEOUT_MS);
    CU_ASSERT_TRUE(got.code == TF_OK && got.rows == 1);
    ask(client, (struct tf_store_request){.kind = TF_STORE_STATUS}, &got);
    pass(server, TIMEOUT_MS);
    CU_ASSERT_EQUAL(got.code, TF_OK);
}

/* The same seed and the same calls give the same answers at the same times. */
static void trace_of(uint64_t seed, struct tf_buf *trace)
{
    now_ms = 0;
    TF_AUTO(tf_memory_store) server = tf_memory_store_create(&(struct tf_memory_options){.seed = seed});
    TF_AUTO(tf_store) client = tf_memory_store_client(server);
    tf_memory_store_faults(server, &(struct tf_memory_faults){.permille = {0, 100, 100, 100, 100},
                                                              .latency_max_ms = 30,
                                                              .late_max_ms = 500});
    struct got got = {0};
    for (int i = 0; i < 200; i++) {
        put(client, i % 2 ? "/a" : "/b", 0, &got);
        pass(server, 7);
        tf_buf_fmt(trace, "%u %d %" PRId64 "\n", got.answers, (int)got.code, got.revision);
    }
    pass(server, 1000);
    CU_ASSERT_EQUAL(got.answers, 200);
    CU_ASSERT_TRUE(tf_memory_store_counts(server).faults > 0);
}

static void test_determinism(void)
{
    TF_AUTO_BUF first = TF_BUF_INIT, again = TF_BUF_INIT, other = TF_BUF_INIT;
    uint64_t seed = suite_seed(3);
    trace_of(seed, &first);
    trace_of(seed, &again);
    trace_of(seed + 1, &other);
    CU_ASSERT_STRING_EQUAL(tf_buf_text(&first), tf_buf_text(&again));
    CU_ASSERT_STRING_NOT_EQUAL(tf_buf_text(&first), tf_buf_text(&other));
}

static void check_prefix_end(struct tf_bytes prefix, struct tf_bytes want)
{
    TF_AUTO_BUF end = TF_BUF_INIT;
    tf_store_prefix_end(&end, prefix);
    CU_ASSERT_TRUE(tf_bytes_eq((struct tf_bytes){end.data, end.len}, want));
}

static void test_prefix_end(void)
{
    check_prefix_end(S("/a/"), S("/a0"));
    check_prefix_end(S("a\xff\xff"), S("b"));
    check_prefix_end(S("\xff"), S(""));
    check_prefix_end(S("a\0"), S("a\1"));
}

static void test_head_value(void)
{
    TF_AUTO_BUF text = TF_BUF_INIT, owner = TF_BUF_INIT;
    struct tf_guard_head head = {.n = 12, .era = 3, .id = {0xab, 1}}, read = {0};
    tf_guard_head_format(&text, &head);
    CU_ASSERT_STRING_EQUAL(tf_buf_text(&text),
                           "tidefed-head/1 n=12 era=3 id=ab010000000000000000000000000000");
    CU_ASSERT_EQUAL(tf_guard_head_parse((struct tf_bytes){text.data, text.len}, &read, NULL), 0);
    CU_ASSERT_TRUE(read.n == 12 && read.era == 3 && memcmp(read.id, head.id, sizeof head.id) == 0);
    for (size_t len = 0; len < text.len; len++)
        CU_ASSERT_EQUAL(tf_guard_head_parse((struct tf_bytes){text.data, len}, &read, NULL), -1);
    static const char *const bad[] = {
        "tidefed-head/2 n=1 era=1 id=ab010000000000000000000000000000",
        "tidefed-head/1 n=-1 era=1 id=ab010000000000000000000000000000",
        "tidefed-head/1 n=1 era=x id=ab010000000000000000000000000000",
        "tidefed-head/1 n=1 era=1 id=zz010000000000000000000000000000",
        "tidefed-head/1 n=1 era=1 id=ab010000000000000000000000000000 ",
        "tidefed-head/1 n=99999999999999999999 era=1 id=ab010000000000000000000000000000"};
    for (size_t i = 0; i < TF_ARRAY_LEN(bad); i++)
        CU_ASSERT_EQUAL(tf_guard_head_parse(tf_bytes_of(bad[i]), &read, NULL), -1);
    CU_ASSERT_EQUAL(read.n, 12); /* untouched */
    tf_guard_owner_format(&owner, head.id, S("a\0b"));
    CU_ASSERT_TRUE(tf_bytes_eq(tf_guard_owner_value((struct tf_bytes){owner.data, owner.len}), S("a\0b")));
    CU_ASSERT_EQUAL(tf_guard_owner_value(S("someone")).len, 0);
    CU_ASSERT_EQUAL(tf_guard_owner_value(S("")).len, 0);
}

/* ---- changes ---- */

static void note_change(void *cookie, const struct tf_store_row *row)
{
    char *text = cookie;
    size_t used = strlen(text);
    snprintf(text + used, 200 - used, "%s%.*s ", row->created_at ? "" : "-", (int)row->key.len,
             (const char *)row->key.data);
}

static void expect_changes(struct tf_memory_store *server, const char *want)
{
    char text[200] = "";
    CU_ASSERT_TRUE(tf_memory_store_changes(server, S("a/"), note_change, text));
    CU_ASSERT_STRING_EQUAL(text, want);
}

static void test_changes(void)
{
    struct tf_memory_store *server = tf_memory_store_create(&(struct tf_memory_options){.keep_revisions = 2});
    struct tf_store *client = tf_memory_store_client(server);
    struct got got = {0};
    char none[200] = "";
    now_ms = 0;
    put(client, "a/old", 0, &got);
    pass(server, TIMEOUT_MS);
    CU_ASSERT_FALSE(tf_memory_store_changes(server, S("a/"), note_change, none));
    CU_ASSERT_STRING_EQUAL(none, "");
    expect_changes(server, "");
    put(client, "a/2", 0, &got);
    put(client, "b/1", 0, &got);
    put(client, "a/1", 0, &got);
    put(client, "a/2", 0, &got);
    pass(server, TIMEOUT_MS);
    expect_changes(server, "a/2 a/1 a/2 ");
    expect_changes(server, "");
    struct tf_store_write gone = {.key = S("a/old"), .remove = true};
    ask(client, (struct tf_store_request){.kind = TF_STORE_TXN, .txn = {.writes = &gone, .write_count = 1}},
        &got);
    for (int i = 0; i < 10; i++) /* so that the key is forgotten before anybody looks */
        put(client, "b/1", 0, &got);
    pass(server, TIMEOUT_MS);
    expect_changes(server, "-a/old ");
    struct tf_memory_snapshot *snapshot = tf_memory_store_snapshot(server);
    tf_memory_store_restore(server, snapshot);
    CU_ASSERT_FALSE(tf_memory_store_changes(server, S("a/"), note_change, none));
    tf_memory_snapshot_destroy(snapshot);
    tf_store_destroy(client);
    tf_memory_store_destroy(server);
}

static const struct suite_test tests[] = {
    {"faults", test_faults},
    {"cut off, down", test_cut_and_down},
    {"a destroyed client", test_destroyed_client},
    {"snapshots", test_snapshot},
    {"compacts by itself", test_compacts_by_itself},
    {"changes", test_changes},
    {"determinism", test_determinism},
    {"end of a prefix", test_prefix_end},
    {"values of the guard", test_head_value},
};

int main(void)
{
    return suite_run("memory store", tests, TF_ARRAY_LEN(tests));
}
