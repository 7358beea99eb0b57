/* SPDX-License-Identifier: Apache-2.0 */
/* The contract of a store (common/store/store.h): one table of cases, run against the store in memory and
 * against a real etcd. */
#include "tests/integration/store_fixture.h"

#include "common/base/cleanup.h"
#include "tests/support/etcd.h"
#include "tests/support/suite.h"

#define S(text) ((struct tf_bytes){"" text, sizeof(text) - 1})

static struct store_fixture *fixture;
static struct tf_store *store;

#define CODE(got, want) CU_ASSERT_EQUAL((got)->error.code, (want))

static struct tf_bytes key_in(const char *prefix, const char *name, char room[128])
{
    int n = snprintf(room, 128, "%s%s", prefix, name);
    return (struct tf_bytes){room, (size_t)n};
}

static enum tf_error_code put(struct tf_bytes key, struct tf_bytes value, int64_t lease, int64_t *revision)
{
    struct store_got got = {0};
    struct tf_store_write write = {.key = key, .value = value, .lease = lease};
    store_ask(fixture, store,
              (struct tf_store_request){.kind = TF_STORE_TXN, .txn = {.writes = &write, .write_count = 1}},
              &got);
    if (revision)
        *revision = got.revision;
    enum tf_error_code code = got.error.code;
    store_got_release(&got);
    return code;
}

static void get(struct tf_bytes key, struct store_got *got)
{
    store_ask(fixture, store, (struct tf_store_request){.kind = TF_STORE_GET, .key = key}, got);
}

static bool exists(struct tf_bytes key)
{
    struct store_got got = {0};
    get(key, &got);
    CODE(&got, TF_OK);
    bool found = got.rows.count == 1;
    store_got_release(&got);
    return found;
}

static int64_t grant(int64_t ttl_ms)
{
    struct store_got got = {0};
    store_ask(fixture, store, (struct tf_store_request){.kind = TF_STORE_LEASE_GRANT, .ttl_ms = ttl_ms},
              &got);
    CODE(&got, TF_OK);
    CU_ASSERT_TRUE(got.lease > 0 && got.ttl_ms >= ttl_ms);
    int64_t lease = got.lease;
    store_got_release(&got);
    return lease;
}

static enum tf_error_code lease_call(enum tf_store_kind kind, int64_t lease)
{
    struct store_got got = {0};
    store_ask(fixture, store, (struct tf_store_request){.kind = kind, .lease = lease}, &got);
    enum tf_error_code code = got.error.code;
    CU_ASSERT_TRUE(kind != TF_STORE_LEASE_KEEPALIVE || code != TF_OK || got.ttl_ms >= 1000);
    store_got_release(&got);
    return code;
}

/* ---- cases ---- */

static void case_put_and_get(void)
{
    char room[128];
    struct tf_bytes key = key_in(store_fixture_prefix(fixture), "a", room);
    struct store_got got = {0};
    int64_t first, second;
    get(key, &got);
    CODE(&got, TF_OK);
    CU_ASSERT_EQUAL(got.rows.count, 0);
    CU_ASSERT_TRUE(got.revision > 0);
    CU_ASSERT_EQUAL(put(key, S("one"), 0, &first), TF_OK);
    CU_ASSERT_EQUAL(put(key, S("two"), 0, &second), TF_OK);
    CU_ASSERT_EQUAL(second, first + 1);
    get(key, &got);
    CU_ASSERT_EQUAL_FATAL(got.rows.count, 1);
    CU_ASSERT_TRUE(tf_bytes_eq(got.rows.items[0].key, key));
    CU_ASSERT_TRUE(tf_bytes_eq(got.rows.items[0].value, S("two")));
    CU_ASSERT_EQUAL(got.rows.items[0].created_at, first);
    CU_ASSERT_EQUAL(got.rows.items[0].modified_at, second);
    CU_ASSERT_EQUAL(got.rows.items[0].lease, 0);
    CU_ASSERT_EQUAL(got.revision, second);
    store_got_release(&got);
}

static void case_any_bytes(void)
{
    char room[128], all[256];
    struct tf_bytes base = key_in(store_fixture_prefix(fixture), "k", room);
    struct store_got got = {0};
    for (size_t i = 0; i < sizeof all; i++)
        all[i] = (char)i;
    memcpy(room + base.len, "\0\xff\0", 3);
    struct tf_bytes binary_key = {room, base.len + 3}, binary = {all, sizeof all};
    CU_ASSERT_EQUAL(put(binary_key, binary, 0, NULL), TF_OK);
    CU_ASSERT_EQUAL(put(base, S(""), 0, NULL), TF_OK);
    get(binary_key, &got);
    CU_ASSERT_EQUAL_FATAL(got.rows.count, 1);
    CU_ASSERT_TRUE(tf_bytes_eq(got.rows.items[0].key, binary_key));
    CU_ASSERT_TRUE(tf_bytes_eq(got.rows.items[0].value, binary));
    get(base, &got);
    CU_ASSERT_EQUAL_FATAL(got.rows.count, 1);
    CU_ASSERT_EQUAL(got.rows.items[0].value.len, 0);
    store_got_release(&got);
}

/* One compare on key, then a put of "done" under it: whether it went through. */
static bool compare_lets(struct tf_bytes key, struct tf_store_compare compare, struct store_got *got)
{
    struct tf_store_write write = {.key = key, .value = S("done")};
    compare.key = key;
    store_ask(fixture, store,
              (struct tf_store_request){.kind = TF_STORE_TXN, .txn = {&compare, 1, &write, 1, &key, 1}}, got);
    CU_ASSERT_TRUE(got->error.code == TF_OK || got->error.code == TF_ERR_CONFLICT);
    CU_ASSERT_EQUAL(got->rows.count, got->error.code == TF_OK ? 0 : 1);
    return got->error.code == TF_OK;
}

static void case_compares(void)
{
    char room[128];
    struct tf_bytes key = key_in(store_fixture_prefix(fixture), "c", room);
    struct store_got got = {0};
    struct tf_store_compare absent = {.kind = TF_STORE_ABSENT}, created = {.kind = TF_STORE_CREATED_AT},
                            value = {.kind = TF_STORE_VALUE_IS};
    created.revision = 1;
    CU_ASSERT_FALSE(compare_lets(key, created, &got)); /* of a key that does not exist */
    CU_ASSERT_EQUAL(got.rows.items[0].created_at, 0);
    value.value = S("");
    CU_ASSERT_FALSE(compare_lets(key, value, &got)); /* absent is not empty */
    CU_ASSERT_TRUE(compare_lets(key, absent, &got));
    created.revision = got.revision;
    CU_ASSERT_FALSE(compare_lets(key, absent, &got));
    CU_ASSERT_TRUE(tf_bytes_eq(got.rows.items[0].value, S("done")));
    CU_ASSERT_EQUAL(got.rows.items[0].created_at, created.revision);
    CU_ASSERT_TRUE(compare_lets(key, created, &got));
    created.revision++;
    CU_ASSERT_FALSE(compare_lets(key, created, &got));
    value.value = S("done");
    CU_ASSERT_TRUE(compare_lets(key, value, &got));
    value.value = S("don");
    CU_ASSERT_FALSE(compare_lets(key, value, &got));
    value.value = S("done\0");
    CU_ASSERT_FALSE(compare_lets(key, value, &got));
    store_got_release(&got);
}

static void case_all_or_nothing(void)
{
    char a[128], b[128], c[128];
    const char *prefix = store_fixture_prefix(fixture);
    struct tf_bytes ka = key_in(prefix, "a", a), kb = key_in(prefix, "b", b), kc = key_in(prefix, "c", c);
    struct store_got got = {0};
    CU_ASSERT_EQUAL(put(ka, S("old"), 0, NULL), TF_OK);
    struct tf_store_compare compares[] = {{.kind = TF_STORE_VALUE_IS, .key = ka, .value = S("old")},
                                          {.kind = TF_STORE_ABSENT, .key = ka}};
    struct tf_store_write writes[] = {{.key = ka, .remove = true}, {.key = kb, .value = S("new")}};
    struct tf_bytes reads[] = {kc, ka};
    struct tf_store_request request = {.kind = TF_STORE_TXN, .txn = {compares, 2, writes, 2, reads, 2}};
    store_ask(fixture, store, request, &got);
    CODE(&got, TF_ERR_CONFLICT);
    CU_ASSERT_EQUAL_FATAL(got.rows.count, 2);
    CU_ASSERT_EQUAL(got.rows.items[0].created_at, 0);
    CU_ASSERT_EQUAL(got.rows.items[0].key.len, 0);
    CU_ASSERT_TRUE(tf_bytes_eq(got.rows.items[1].value, S("old")));
    CU_ASSERT_TRUE(exists(ka) && !exists(kb));
    request.txn.compare_count = 1;
    store_ask(fixture, store, request, &got);
    CODE(&got, TF_OK);
    CU_ASSERT_TRUE(!exists(ka) && exists(kb));
    store_got_release(&got);
}

static void case_recreated(void)
{
    char room[128];
    struct tf_bytes key = key_in(store_fixture_prefix(fixture), "r", room);
    struct store_got got = {0};
    int64_t first, second;
    CU_ASSERT_EQUAL(put(key, S("1"), 0, &first), TF_OK);
    struct tf_store_write removal = {.key = key, .remove = true};
    struct tf_store_request request = {.kind = TF_STORE_TXN, .txn = {.writes = &removal, .write_count = 1}};
    store_ask(fixture, store, request, &got);
    CODE(&got, TF_OK);
    store_ask(fixture, store, request, &got); /* what is absent can be removed */
    CODE(&got, TF_OK);
    CU_ASSERT_EQUAL(put(key, S("1"), 0, &second), TF_OK);
    struct tf_store_compare created = {.kind = TF_STORE_CREATED_AT, .revision = first};
    CU_ASSERT_FALSE(compare_lets(key, created, &got));
    created.revision = second;
    CU_ASSERT_TRUE(compare_lets(key, created, &got));
    store_got_release(&got);
}

static struct tf_bytes numbered(const char *prefix, size_t i, char room[128])
{
    char name[16];
    snprintf(name, sizeof name, "%05zu", i);
    return key_in(prefix, name, room);
}

static void put_numbered(const char *prefix, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        char room[128];
        CU_ASSERT_EQUAL(put(numbered(prefix, i, room), S("v"), 0, NULL), TF_OK);
    }
}

/* Reads pages of 3 from after; between them it changes what is listed. Returns how many rows came, all of the
 * revision of the first page. */
static size_t page_through(const char *prefix, struct tf_bytes prefix_key)
{
    struct store_got got = {0};
    char after[128] = "";
    size_t total = 0;
    struct tf_store_request request = {.kind = TF_STORE_PAGE, .key = prefix_key, .limit = 3};
    for (;;) {
        request.after = tf_bytes_of(after);
        store_ask(fixture, store, request, &got);
        CODE(&got, TF_OK);
        CU_ASSERT_TRUE(request.revision == 0 || got.revision == request.revision);
        request.revision = got.revision;
        for (size_t i = 0; i < got.rows.count; i++, total++) {
            char want[128];
            CU_ASSERT_TRUE(tf_bytes_eq(got.rows.items[i].key, numbered(prefix, total, want)));
            CU_ASSERT_TRUE(got.rows.items[i].modified_at <= request.revision);
        }
        if (!got.more)
            break;
        CU_ASSERT_EQUAL_FATAL(got.rows.count, 3);
        memcpy(after, got.rows.items[2].key.data, got.rows.items[2].key.len);
        after[got.rows.items[2].key.len] = '\0';
        put_numbered(prefix, 1000 + total, 1002 + total); /* new rows after the pin */
        char gone[128];
        struct tf_store_write removal = {.key = numbered(prefix, total, gone), .remove = true};
        struct store_got removed = {0};
        store_ask(
            fixture, store,
            (struct tf_store_request){.kind = TF_STORE_TXN, .txn = {.writes = &removal, .write_count = 1}},
            &removed);
        store_got_release(&removed);
    }
    store_got_release(&got);
    return total;
}

static void case_pages(void)
{
    char prefix[64], other[128];
    snprintf(prefix, sizeof prefix, "%s", store_fixture_prefix(fixture));
    put_numbered(prefix, 0, 10);
    prefix[strlen(prefix) - 1] = '0'; /* the neighbour "/test/N0": not in the prefix "/test/N/" */
    struct tf_bytes neighbour = key_in(prefix, "x", other);
    CU_ASSERT_EQUAL(put(neighbour, S("v"), 0, NULL), TF_OK);
    prefix[strlen(prefix) - 1] = '/';
    CU_ASSERT_EQUAL(page_through(prefix, tf_bytes_of(prefix)), 10);
}

static void case_pages_exact(void)
{
    char prefix[64];
    snprintf(prefix, sizeof prefix, "%s", store_fixture_prefix(fixture));
    struct store_got got = {0};
    struct tf_store_request request = {.kind = TF_STORE_PAGE, .key = tf_bytes_of(prefix), .limit = 3};
    store_ask(fixture, store, request, &got);
    CU_ASSERT_TRUE(got.rows.count == 0 && !got.more);
    put_numbered(prefix, 0, 3);
    store_ask(fixture, store, request, &got);
    CU_ASSERT_TRUE(got.rows.count == 3 && !got.more);
    store_got_release(&got);
}

static void case_compaction(void)
{
    char prefix[64], room[128];
    snprintf(prefix, sizeof prefix, "%s", store_fixture_prefix(fixture));
    struct tf_bytes key = key_in(prefix, "k", room);
    struct store_got got = {0};
    int64_t first = 0, last = 0;
    CU_ASSERT_EQUAL(put(key, S("1"), 0, &first), TF_OK);
    CU_ASSERT_EQUAL(put(key, S("2"), 0, &last), TF_OK);
    struct tf_store_request page = {
        .kind = TF_STORE_PAGE, .key = tf_bytes_of(prefix), .limit = 10, .revision = first};
    store_ask(fixture, store, page, &got);
    CODE(&got, TF_OK);
    CU_ASSERT_TRUE(got.rows.count == 1 && tf_bytes_eq(got.rows.items[0].value, S("1")));
    store_ask(fixture, store, (struct tf_store_request){.kind = TF_STORE_COMPACT, .revision = last}, &got);
    CODE(&got, TF_OK);
    store_ask(fixture, store, page, &got);
    CODE(&got, TF_ERR_NOT_FOUND);
    page.revision = last;
    store_ask(fixture, store, page, &got);
    CODE(&got, TF_OK);
    CU_ASSERT_TRUE(got.rows.count == 1 && tf_bytes_eq(got.rows.items[0].value, S("2")));
    page.revision = last + 1000000;
    store_ask(fixture, store, page, &got);
    CODE(&got, TF_ERR_INVALID);
    store_got_release(&got);
}

static enum tf_error_code put_many(const char *prefix, size_t count, size_t value_bytes)
{
    TF_VEC(struct tf_store_write) writes = {0};
    TF_VEC(char *) keys = {0};
    char *value = tf_calloc(1, value_bytes + 1);
    struct store_got got = {0};
    for (size_t i = 0; i < count; i++) {
        char *key = tf_asprintf("%s%zu", prefix, i);
        tf_vec_push(&keys, key);
        tf_vec_push(&writes, (struct tf_store_write){.key = tf_bytes_of(key), .value = {value, value_bytes}});
    }
    store_ask(fixture, store,
              (struct tf_store_request){.kind = TF_STORE_TXN,
                                        .txn = {.writes = writes.items, .write_count = count}},
              &got);
    tf_vec_each (key, &keys)
        free(*key);
    tf_vec_release(&keys);
    tf_vec_release(&writes);
    free(value);
    enum tf_error_code code = got.error.code;
    store_got_release(&got);
    return code;
}

static void case_limits(void)
{
    const char *prefix = store_fixture_prefix(fixture);
    CU_ASSERT_EQUAL(put_many(prefix, TF_STORE_OPS_MAX, 10), TF_OK);
    CU_ASSERT_EQUAL(put_many(prefix, TF_STORE_OPS_MAX + 1, 10), TF_ERR_TOO_LARGE);
    CU_ASSERT_EQUAL(put_many(prefix, 1, TF_STORE_TXN_BYTES_MAX - 64), TF_OK);
    CU_ASSERT_EQUAL(put_many(prefix, 4, (TF_STORE_TXN_BYTES_MAX - 256) / 4), TF_OK);
    CU_ASSERT_EQUAL(put_many(prefix, 1, TF_STORE_TXN_BYTES_MAX), TF_ERR_TOO_LARGE);
    CU_ASSERT_EQUAL(put_many(prefix, 16, 1 << 20), TF_ERR_TOO_LARGE);
}

static void case_bad_requests(void)
{
    char room[128];
    struct tf_bytes key = key_in(store_fixture_prefix(fixture), "x", room);
    struct store_got got = {0};
    struct tf_store_write twice[] = {{.key = key, .value = S("1")}, {.key = key, .remove = true}};
    store_ask(fixture, store,
              (struct tf_store_request){.kind = TF_STORE_TXN, .txn = {.writes = twice, .write_count = 2}},
              &got);
    CODE(&got, TF_ERR_INVALID);
    get(S(""), &got);
    CODE(&got, TF_ERR_INVALID);
    struct tf_store_request page = {.kind = TF_STORE_PAGE, .key = key, .limit = 0};
    store_ask(fixture, store, page, &got);
    CODE(&got, TF_ERR_INVALID);
    page = (struct tf_store_request){.kind = TF_STORE_PAGE, .key = key, .limit = 1, .after = S("elsewhere")};
    store_ask(fixture, store, page, &got);
    CODE(&got, TF_ERR_INVALID);
    CU_ASSERT_FALSE(exists(key));
    store_got_release(&got);
}

static struct tf_bytes leased_key;

static bool leased_key_is_gone(void *ctx)
{
    (void)ctx;
    return !exists(leased_key);
}

static void case_lease_ends(void)
{
    char room[128], plain[128];
    const char *prefix = store_fixture_prefix(fixture);
    leased_key = key_in(prefix, "leased", room);
    struct tf_bytes plain_key = key_in(prefix, "plain", plain);
    struct store_got got = {0};
    int64_t lease = grant(1000);
    CU_ASSERT_EQUAL(put(leased_key, S("v"), lease, NULL), TF_OK);
    CU_ASSERT_EQUAL(put(plain_key, S("v"), 0, NULL), TF_OK);
    get(leased_key, &got);
    CU_ASSERT_TRUE(got.rows.count == 1 && got.rows.items[0].lease == lease);
    CU_ASSERT_TRUE(store_fixture_until_true(fixture, leased_key_is_gone, NULL));
    CU_ASSERT_TRUE(exists(plain_key));
    CU_ASSERT_EQUAL(lease_call(TF_STORE_LEASE_KEEPALIVE, lease), TF_ERR_NOT_FOUND);
    CU_ASSERT_EQUAL(put(leased_key, S("v"), lease, NULL), TF_ERR_NOT_FOUND);
    CU_ASSERT_FALSE(exists(leased_key));
    store_got_release(&got);
}

static void case_lease_kept(void)
{
    char room[128];
    struct tf_bytes key = key_in(store_fixture_prefix(fixture), "kept", room);
    int64_t lease = grant(2000);
    CU_ASSERT_EQUAL(put(key, S("v"), lease, NULL), TF_OK);
    for (int i = 0; i < 10; i++) { /* together longer than the lease */
        store_fixture_pass(fixture, 400);
        CU_ASSERT_EQUAL(lease_call(TF_STORE_LEASE_KEEPALIVE, lease), TF_OK);
    }
    CU_ASSERT_TRUE(exists(key));
    CU_ASSERT_EQUAL(lease_call(TF_STORE_LEASE_REVOKE, lease), TF_OK);
    CU_ASSERT_FALSE(exists(key));
    CU_ASSERT_EQUAL(lease_call(TF_STORE_LEASE_REVOKE, lease), TF_ERR_NOT_FOUND);
}

static void case_status(void)
{
    struct store_got got = {0};
    store_ask(fixture, store, (struct tf_store_request){.kind = TF_STORE_STATUS}, &got);
    CODE(&got, TF_OK);
    CU_ASSERT_TRUE(got.status.used_bytes > 0);
    CU_ASSERT_TRUE(got.status.in_use_bytes > 0 && got.status.in_use_bytes <= got.status.used_bytes);
    CU_ASSERT_EQUAL(got.status.quota_bytes, INT64_C(2) << 30);
    CU_ASSERT_FALSE(got.status.full);
    store_got_release(&got);
}

static void case_defragment(void)
{
    struct store_got got = {0};
    char room[128];
    struct tf_bytes key = key_in(store_fixture_prefix(fixture), "d", room);
    CU_ASSERT_EQUAL(put(key, S("1"), 0, NULL), TF_OK);
    store_ask(fixture, store, (struct tf_store_request){.kind = TF_STORE_DEFRAGMENT}, &got);
    CODE(&got, TF_OK);
    CU_ASSERT_TRUE(exists(key));
    store_ask(fixture, store, (struct tf_store_request){.kind = TF_STORE_DEFRAGMENT, .member = 1}, &got);
    CODE(&got, TF_ERR_NOT_FOUND);
    store_ask(fixture, store, (struct tf_store_request){.kind = TF_STORE_DISARM}, &got); /* no alarm is on */
    CODE(&got, TF_OK);
    store_got_release(&got);
}

static void case_cancel(void)
{
    char room[128];
    struct tf_bytes key = key_in(store_fixture_prefix(fixture), "c", room);
    struct store_got dropped = {0};
    struct tf_store_request request = {.kind = TF_STORE_GET, .key = key, .timeout_ms = 1000};
    uint64_t id = tf_store_send(store, &request, store_got_take, &dropped);
    tf_store_cancel(store, id);
    tf_store_cancel(store, id);
    tf_store_cancel(store, 0);
    request.key = S("");
    id = tf_store_send(store, &request, store_got_take, &dropped); /* refused, but told later */
    tf_store_cancel(store, id);
    CU_ASSERT_FALSE(exists(key));
    store_fixture_pass(fixture, 50);
    CU_ASSERT_FALSE(dropped.done);
}

/* A client is destroyed with requests in flight, from inside a callback. */
static struct tf_store *doomed;
static bool doomed_done;

static void destroy_store(void *cookie, const struct tf_store_reply *reply)
{
    (void)cookie;
    CU_ASSERT_EQUAL(reply->error.code, TF_OK);
    CU_ASSERT_PTR_NOT_NULL(doomed);
    tf_store_destroy(TF_STEAL(doomed));
    doomed_done = true;
}

static void case_destroy_inside(void)
{
    doomed = store_fixture_client(fixture);
    store_fixture_forget_client(fixture, doomed);
    struct tf_store_request request = {.kind = TF_STORE_GET, .key = S("/a"), .timeout_ms = 1000};
    doomed_done = false;
    request.timeout_ms = 20000;
    for (int i = 0; i < 3; i++)
        tf_store_send(doomed, &request, destroy_store, NULL);
    CU_ASSERT_TRUE(store_fixture_until(fixture, &doomed_done));
    store_fixture_pass(fixture, 50); /* the other two are not answered */
}

static void case_hanging(void)
{
    char room[128];
    struct tf_bytes key = key_in(store_fixture_prefix(fixture), "h", room);
    struct store_got read = {0}, written = {0};
    struct tf_store_write write = {.key = key, .value = S("v")};
    CU_ASSERT_FALSE(exists(key)); /* there is a connection */
    store_fixture_hang(fixture, true);
    store_ask(fixture, store,
              (struct tf_store_request){
                  .kind = TF_STORE_TXN, .timeout_ms = 300, .txn = {.writes = &write, .write_count = 1}},
              &written);
    store_ask(fixture, store, (struct tf_store_request){.kind = TF_STORE_GET, .key = key, .timeout_ms = 300},
              &read);
    store_fixture_hang(fixture, false);
    CODE(&written, TF_ERR_UNKNOWN);
    CODE(&read, TF_ERR_UNAVAILABLE);
    (void)exists(key); /* answers again */
    store_got_release(&read);
    store_got_release(&written);
}

static void case_down(void)
{
    char room[128];
    struct tf_bytes key = key_in(store_fixture_prefix(fixture), "d", room);
    struct store_got got = {0};
    struct tf_store_write write = {.key = key, .value = S("v")};
    struct tf_store_request txn = {.kind = TF_STORE_TXN, .txn = {.writes = &write, .write_count = 1}};
    CU_ASSERT_FALSE(exists(key));
    store_fixture_down(fixture, true);
    store_ask(fixture, store, txn, &got);
    CODE(&got, TF_ERR_UNAVAILABLE); /* certainly not done */
    CU_ASSERT_TRUE(strlen(got.error.text) > 0);
    store_fixture_down(fixture, false);
    CU_ASSERT_FALSE(exists(key));
    store_ask(fixture, store, txn, &got);
    CODE(&got, TF_OK);
    store_fixture_down(fixture, true);
    store_fixture_down(fixture, false);
    CU_ASSERT_TRUE(exists(key)); /* what was acknowledged is there after a crash */
    store_got_release(&got);
}

static void case_many_in_flight(void)
{
    enum { COUNT = 100 };
    char rooms[COUNT][128];
    struct store_got gots[COUNT] = {0};
    const char *prefix = store_fixture_prefix(fixture);
    for (size_t i = 0; i < COUNT; i++) {
        struct tf_store_write write = {.key = numbered(prefix, i, rooms[i]), .value = S("v")};
        struct tf_store_request request = {
            .kind = TF_STORE_TXN, .timeout_ms = 20000, .txn = {.writes = &write, .write_count = 1}};
        tf_store_send(store, &request, store_got_take, &gots[i]);
    }
    for (size_t i = 0; i < COUNT; i++) {
        CU_ASSERT_TRUE(store_fixture_until(fixture, &gots[i].done));
        CODE(&gots[i], TF_OK);
        for (size_t j = 0; j < i; j++)
            CU_ASSERT_NOT_EQUAL(gots[i].revision, gots[j].revision);
    }
    for (size_t i = 0; i < COUNT; i++)
        store_got_release(&gots[i]);
}

static const struct suite_test tests[] = {
    {"put and get", case_put_and_get},
    {"any bytes in keys and values", case_any_bytes},
    {"compares", case_compares},
    {"all or nothing, and the reads of a refusal", case_all_or_nothing},
    {"removed and made again", case_recreated},
    {"pages of one revision under writes", case_pages},
    {"pages that end exactly", case_pages_exact},
    {"compaction", case_compaction},
    {"limits of a transaction", case_limits},
    {"bad requests", case_bad_requests},
    {"a lease ends", case_lease_ends},
    {"a lease is kept and revoked", case_lease_kept},
    {"status", case_status},
    {"defragment", case_defragment},
    {"cancelled", case_cancel},
    {"destroyed inside a callback", case_destroy_inside},
    {"many in flight", case_many_in_flight},
    {"a store that hangs", case_hanging},
    {"a store that is down", case_down},
};

static int run(enum store_kind kind)
{
    fixture = store_fixture_create(kind);
    if (!fixture)
        return 1;
    store = store_fixture_client(fixture);
    int failed = suite_run(store_kind_names[kind], tests, TF_ARRAY_LEN(tests));
    store_fixture_destroy(fixture);
    return failed;
}

int main(void)
{
    int failed = run(STORE_MEMORY);
    return test_etcd_available() ? run(STORE_ETCD) | failed : failed;
}
