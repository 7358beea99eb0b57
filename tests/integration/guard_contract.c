/* SPDX-License-Identifier: Apache-2.0 */
/* The one writer of a prefix (common/store/guard.h), over the store in memory and over a real etcd behind the
 * counting proxy. What needs finer faults than a proxy can make is in guard_faults.c. */
#include "tests/integration/store_fixture.h"

#include "common/base/cleanup.h"
#include "tests/support/etcd.h"
#include "tests/support/suite.h"

#define S(text) ((struct tf_bytes){"" text, sizeof(text) - 1})

enum { TTL_MS = 2000 };

static struct store_fixture *fixture;
static uint64_t seeds;

/* A guard and what it told. */
struct actor {
    struct tf_store *client;
    struct tf_guard *guard;
    bool held, deposed, released, standby, answered, loaded;
    struct tf_error commit_error, load_error;
    char holder[64];
    size_t rows;
    int64_t load_revision;
    bool rows_in_order;
    char last_key[128];
};

static void actor_event(void *ctx, const struct tf_guard_event *event)
{
    struct actor *actor = ctx;
    actor->held = event->kind == TF_GUARD_HELD;
    actor->standby = event->kind == TF_GUARD_STANDBY;
    actor->deposed = event->kind == TF_GUARD_DEPOSED;
    actor->released = event->kind == TF_GUARD_RELEASED;
    CU_ASSERT_EQUAL(tf_guard_held(actor->guard), actor->held);
    if (actor->standby)
        snprintf(actor->holder, sizeof actor->holder, "%.*s", (int)event->holder.len,
                 (const char *)event->holder.data);
}

static void actor_start_with(struct actor *actor, const char *prefix, const char *name, bool accept_rollback)
{
    *actor = (struct actor){.client = store_fixture_client(fixture)};
    struct tf_guard_options options = {.prefix = prefix,
                                       .owner_name = "leader",
                                       .owner_value = tf_bytes_of(name),
                                       .ttl_ms = TTL_MS,
                                       .poll_ms = 100,
                                       .timeout_ms = 500,
                                       .seed = ++seeds,
                                       .accept_rollback = accept_rollback,
                                       .event = actor_event,
                                       .event_ctx = actor};
    actor->guard = store_fixture_guard(fixture, actor->client, &options);
    CU_ASSERT_PTR_NOT_NULL_FATAL(actor->guard);
    tf_guard_acquire(actor->guard);
}

static void actor_start(struct actor *actor, const char *prefix, const char *name)
{
    actor_start_with(actor, prefix, name, false);
}

static void actor_stop(struct actor *actor)
{
    store_fixture_destroy_guard(fixture, actor->guard);
}

static void wait_for(const bool *flag)
{
    CU_ASSERT_TRUE_FATAL(store_fixture_until(fixture, flag));
}

static void take_outcome(void *cookie, const struct tf_error *error)
{
    struct actor *actor = cookie;
    CU_ASSERT_FALSE(actor->answered);
    actor->answered = true;
    actor->commit_error = *error;
}

static void send_commit(struct actor *actor, const char *prefix, const char *name)
{
    TF_AUTO_FREE char *key = tf_asprintf("%s%s", prefix, name);
    struct tf_store_write write = {.key = tf_bytes_of(key), .value = S("v")};
    actor->answered = false;
    CU_ASSERT_EQUAL(tf_guard_commit(actor->guard, &write, 1, take_outcome, actor, NULL), 0);
}

static enum tf_error_code commit(struct actor *actor, const char *prefix, const char *name)
{
    send_commit(actor, prefix, name);
    wait_for(&actor->answered);
    return actor->commit_error.code;
}

static bool stored(struct actor *actor, const char *prefix, const char *name)
{
    TF_AUTO_FREE char *key = tf_asprintf("%s%s", prefix, name);
    struct store_got got = {0};
    store_ask(fixture, actor->client,
              (struct tf_store_request){.kind = TF_STORE_GET, .key = tf_bytes_of(key)}, &got);
    CU_ASSERT_EQUAL(got.error.code, TF_OK);
    bool found = got.rows.count == 1;
    store_got_release(&got);
    return found;
}

static void write_raw(struct actor *actor, struct tf_store_write write)
{
    struct store_got got = {0};
    store_ask(fixture, actor->client,
              (struct tf_store_request){.kind = TF_STORE_TXN, .txn = {.writes = &write, .write_count = 1}},
              &got);
    CU_ASSERT_EQUAL(got.error.code, TF_OK);
    store_got_release(&got);
}

static void remove_owner(struct actor *by, const char *prefix)
{
    TF_AUTO_FREE char *key = tf_asprintf("%sleader", prefix);
    write_raw(by, (struct tf_store_write){.key = tf_bytes_of(key), .remove = true});
}

/* ---- cases ---- */

static void case_commits(void)
{
    struct actor a;
    const char *prefix = store_fixture_prefix(fixture);
    actor_start(&a, prefix, "a");
    wait_for(&a.held);
    CU_ASSERT_EQUAL(tf_guard_head(a.guard), 0);
    CU_ASSERT_EQUAL(tf_guard_era(a.guard), 1);
    CU_ASSERT_TRUE(tf_guard_revision(a.guard) > 0);
    CU_ASSERT_TRUE(tf_guard_valid_until(a.guard).ms > store_fixture_now(fixture).ms);
    CU_ASSERT_EQUAL(commit(&a, prefix, "one"), TF_OK);
    CU_ASSERT_EQUAL(commit(&a, prefix, "two"), TF_OK);
    a.answered = false;
    CU_ASSERT_EQUAL(tf_guard_commit(a.guard, NULL, 0, take_outcome, &a, NULL), 0); /* an empty one */
    wait_for(&a.answered);
    CU_ASSERT_EQUAL(a.commit_error.code, TF_OK);
    CU_ASSERT_EQUAL(tf_guard_head(a.guard), 3);
    CU_ASSERT_TRUE(stored(&a, prefix, "one") && stored(&a, prefix, "two") && stored(&a, prefix, "head"));
    actor_stop(&a);
}

static void case_lost_reply(void)
{
    struct actor a;
    const char *prefix = store_fixture_prefix(fixture);
    actor_start(&a, prefix, "a");
    wait_for(&a.held);
    CU_ASSERT_EQUAL(commit(&a, prefix, "one"), TF_OK);
    store_fixture_lose_reply(fixture, a.client);
    CU_ASSERT_EQUAL(commit(&a, prefix, "two"), TF_OK);
    CU_ASSERT_EQUAL(tf_guard_head(a.guard), 2);
    store_fixture_lose_request(fixture, a.client);
    CU_ASSERT_EQUAL(commit(&a, prefix, "three"), TF_OK);
    CU_ASSERT_EQUAL(commit(&a, prefix, "four"), TF_OK);
    CU_ASSERT_EQUAL(tf_guard_head(a.guard), 4);
    CU_ASSERT_TRUE(stored(&a, prefix, "two") && stored(&a, prefix, "three") && stored(&a, prefix, "four"));
    actor_stop(&a);
}

static void case_lost_acquisition(void)
{
    struct actor a, b;
    const char *prefix = store_fixture_prefix(fixture);
    actor_start(&a, prefix, "a");
    store_fixture_lose_reply(fixture, a.client); /* of the put of its key: the first transaction */
    wait_for(&a.held);
    CU_ASSERT_EQUAL(commit(&a, prefix, "one"), TF_OK);
    actor_stop(&a);
    actor_start(&b, prefix, "b");
    wait_for(&b.held); /* after a's lease */
    CU_ASSERT_EQUAL(tf_guard_head(b.guard), 1);
    actor_stop(&b);
}

static void case_release(void)
{
    struct actor a, b;
    const char *prefix = store_fixture_prefix(fixture);
    actor_start(&a, prefix, "a");
    wait_for(&a.held);
    CU_ASSERT_EQUAL(commit(&a, prefix, "one"), TF_OK);
    actor_start(&b, prefix, "b");
    wait_for(&b.standby);
    CU_ASSERT_STRING_EQUAL(b.holder, "a");
    int64_t first = tf_guard_revision(a.guard);
    tf_guard_release(a.guard);
    wait_for(&a.released);
    wait_for(&b.held);
    CU_ASSERT_TRUE(tf_guard_revision(b.guard) > first);
    CU_ASSERT_EQUAL(tf_guard_head(b.guard), 1);
    tf_guard_acquire(a.guard);
    wait_for(&a.standby);
    CU_ASSERT_STRING_EQUAL(a.holder, "b");
    CU_ASSERT_EQUAL(commit(&b, prefix, "two"), TF_OK);
    actor_stop(&a);
    actor_stop(&b);
}

static void case_deposed(void)
{
    struct actor a, b;
    const char *prefix = store_fixture_prefix(fixture);
    actor_start(&a, prefix, "a");
    wait_for(&a.held);
    CU_ASSERT_EQUAL(commit(&a, prefix, "one"), TF_OK);
    actor_start(&b, prefix, "b");
    wait_for(&b.standby);
    remove_owner(&b, prefix);
    wait_for(&b.held);
    send_commit(&a, prefix, "refused");
    wait_for(&a.answered);
    CU_ASSERT_EQUAL(a.commit_error.code, TF_ERR_CONFLICT);
    CU_ASSERT_TRUE(a.deposed && !tf_guard_held(a.guard));
    CU_ASSERT_FALSE(stored(&b, prefix, "refused"));
    CU_ASSERT_EQUAL(commit(&b, prefix, "two"), TF_OK);
    CU_ASSERT_EQUAL(tf_guard_head(b.guard), 2);
    struct tf_store_write write = {.key = tf_bytes_of(prefix)};
    struct tf_error err = TF_ERROR_INIT;
    CU_ASSERT_EQUAL(tf_guard_commit(a.guard, &write, 0, take_outcome, &a, &err), -1);
    CU_ASSERT_EQUAL(err.code, TF_ERR_CONFLICT);
    actor_stop(&a);
    actor_stop(&b);
}

/* The keepalive alone notices that the lease is gone. */
static void case_lease_lost(void)
{
    struct actor a;
    const char *prefix = store_fixture_prefix(fixture);
    actor_start(&a, prefix, "a");
    wait_for(&a.held);
    TF_AUTO_FREE char *key = tf_asprintf("%sleader", prefix);
    struct store_got got = {0};
    store_ask(fixture, a.client, (struct tf_store_request){.kind = TF_STORE_GET, .key = tf_bytes_of(key)},
              &got);
    CU_ASSERT_EQUAL_FATAL(got.rows.count, 1);
    int64_t lease = got.rows.items[0].lease;
    CU_ASSERT_NOT_EQUAL(lease, 0);
    store_ask(fixture, a.client, (struct tf_store_request){.kind = TF_STORE_LEASE_REVOKE, .lease = lease},
              &got);
    CU_ASSERT_EQUAL(got.error.code, TF_OK);
    wait_for(&a.deposed);
    tf_guard_acquire(a.guard);
    wait_for(&a.held);
    CU_ASSERT_EQUAL(commit(&a, prefix, "one"), TF_OK);
    store_got_release(&got);
    actor_stop(&a);
}

/* Someone writes head without holding the prefix. */
static void case_foreign_head(void)
{
    struct actor a;
    const char *prefix = store_fixture_prefix(fixture);
    actor_start(&a, prefix, "a");
    wait_for(&a.held);
    CU_ASSERT_EQUAL(commit(&a, prefix, "one"), TF_OK);
    TF_AUTO_FREE char *key = tf_asprintf("%shead", prefix);
    write_raw(&a, (struct tf_store_write){.key = tf_bytes_of(key), .value = S("mine")});
    CU_ASSERT_EQUAL(commit(&a, prefix, "refused"), TF_ERR_CONFLICT);
    CU_ASSERT_TRUE(a.deposed);
    CU_ASSERT_FALSE(stored(&a, prefix, "refused"));
    tf_guard_acquire(a.guard); /* cannot lead with such a head: says so and tries again */
    store_fixture_pass(fixture, TTL_MS + 1000);
    CU_ASSERT_FALSE(a.held);
    CU_ASSERT_EQUAL(tf_guard_trouble(a.guard)->code, TF_ERR_INVALID);
    CU_ASSERT_PTR_NOT_NULL(strstr(tf_guard_trouble(a.guard)->text, key));
    actor_stop(&a);
}

static void take_row(void *cookie, const struct tf_store_row *row)
{
    struct actor *actor = cookie;
    char key[128];
    snprintf(key, sizeof key, "%.*s", (int)row->key.len, (const char *)row->key.data);
    if (strcmp(actor->last_key, key) >= 0)
        actor->rows_in_order = false;
    memcpy(actor->last_key, key, sizeof key);
    actor->rows++;
}

static void take_loaded(void *cookie, const struct tf_error *error, int64_t revision)
{
    struct actor *actor = cookie;
    actor->loaded = true;
    actor->load_error = *error;
    actor->load_revision = revision;
}

static void load(struct actor *actor)
{
    actor->rows = 0;
    actor->loaded = false;
    actor->rows_in_order = true;
    actor->last_key[0] = '\0';
    CU_ASSERT_EQUAL(tf_guard_load(actor->guard, take_row, take_loaded, actor, NULL), 0);
}

static void case_load(void)
{
    enum { COMMITS = 12, RECORDS = 100 };
    struct actor a, b;
    const char *prefix = store_fixture_prefix(fixture);
    actor_start(&a, prefix, "a");
    wait_for(&a.held);
    load(&a); /* nothing is there yet */
    wait_for(&a.loaded);
    CU_ASSERT_TRUE(a.load_error.code == TF_OK && a.rows == 0);
    for (int i = 0; i < COMMITS; i++) {
        char keys[RECORDS][64];
        struct tf_store_write writes[RECORDS];
        for (int j = 0; j < RECORDS; j++) {
            snprintf(keys[j], sizeof keys[j], "%s%c/%03d-%03d", prefix, j % 2 ? 'a' : 'z', i, j);
            writes[j] = (struct tf_store_write){.key = tf_bytes_of(keys[j]), .value = S("v")};
        }
        a.answered = false;
        CU_ASSERT_EQUAL(tf_guard_commit(a.guard, writes, RECORDS, take_outcome, &a, NULL), 0);
        wait_for(&a.answered);
        CU_ASSERT_EQUAL(a.commit_error.code, TF_OK);
    }
    tf_guard_release(a.guard);
    actor_start(&b, prefix, "b");
    wait_for(&b.held);
    load(&b);
    struct tf_error err = TF_ERROR_INIT;
    CU_ASSERT_EQUAL(tf_guard_commit(b.guard, NULL, 0, take_outcome, &b, &err), -1); /* not while loading */
    wait_for(&b.loaded);
    CU_ASSERT_EQUAL(b.load_error.code, TF_OK);
    CU_ASSERT_EQUAL(b.rows, COMMITS * RECORDS);
    CU_ASSERT_TRUE(b.rows_in_order && b.load_revision > 0);
    CU_ASSERT_EQUAL(commit(&b, prefix, "next"), TF_OK);
    remove_owner(&b, prefix);
    load(&b);
    wait_for(&b.loaded);
    CU_ASSERT_EQUAL(b.load_error.code, TF_ERR_CONFLICT); /* not the holder any more */
    actor_stop(&a);
    actor_stop(&b);
}

static void refused(struct actor *actor, const struct tf_store_write *writes, size_t count,
                    enum tf_error_code code)
{
    struct tf_error err = TF_ERROR_INIT;
    CU_ASSERT_EQUAL(tf_guard_commit(actor->guard, writes, count, take_outcome, actor, &err), -1);
    CU_ASSERT_EQUAL(err.code, code);
}

static void case_refused_at_once(void)
{
    struct actor a;
    const char *prefix = store_fixture_prefix(fixture);
    char keys[TF_GUARD_WRITES_MAX + 1][64], *big = tf_calloc(1, TF_GUARD_BYTES_MAX);
    struct tf_store_write writes[TF_GUARD_WRITES_MAX + 1];
    for (size_t i = 0; i < TF_ARRAY_LEN(writes); i++) {
        snprintf(keys[i], sizeof keys[i], "%s%zu", prefix, i);
        writes[i] = (struct tf_store_write){.key = tf_bytes_of(keys[i]), .value = S("v")};
    }
    actor_start(&a, prefix, "a");
    wait_for(&a.held);
    refused(&a, writes, TF_GUARD_WRITES_MAX + 1, TF_ERR_TOO_LARGE);
    writes[0].value = (struct tf_bytes){big, TF_GUARD_BYTES_MAX};
    refused(&a, writes, 1, TF_ERR_TOO_LARGE);
    writes[0].value = (struct tf_bytes){big, TF_GUARD_BYTES_MAX - 128 * 64};
    a.answered = false;
    CU_ASSERT_EQUAL(tf_guard_commit(a.guard, writes, TF_GUARD_WRITES_MAX, take_outcome, &a, NULL), 0);
    refused(&a, writes, 1, TF_ERR_BUG); /* busy */
    wait_for(&a.answered);
    CU_ASSERT_EQUAL(a.commit_error.code, TF_OK);
    TF_AUTO_FREE char *head = tf_asprintf("%shead", prefix);
    struct tf_store_write foreign = {.key = S("/elsewhere")}, own = {.key = tf_bytes_of(head)};
    refused(&a, &foreign, 1, TF_ERR_BUG);
    refused(&a, &own, 1, TF_ERR_BUG);
    writes[1] = writes[0];
    refused(&a, writes, 2, TF_ERR_TOO_LARGE);
    writes[0].value = writes[1].value = S("v");
    refused(&a, writes, 2, TF_ERR_INVALID); /* a key twice */
    CU_ASSERT_EQUAL(commit(&a, prefix, "fine"), TF_OK);
    CU_ASSERT_EQUAL(tf_guard_head(a.guard), 2);
    free(big);
    actor_stop(&a);
}

static void case_era(void)
{
    struct actor a, b;
    const char *prefix = store_fixture_prefix(fixture);
    actor_start_with(&a, prefix, "a", true);
    wait_for(&a.held);
    CU_ASSERT_EQUAL(tf_guard_era(a.guard), 2);
    CU_ASSERT_EQUAL(commit(&a, prefix, "one"), TF_OK);
    CU_ASSERT_EQUAL(tf_guard_era(a.guard), 2);
    tf_guard_raise_era(a.guard, 7);
    CU_ASSERT_EQUAL(commit(&a, prefix, "two"), TF_OK);
    tf_guard_release(a.guard);
    wait_for(&a.released);
    tf_guard_acquire(a.guard); /* the option counted once */
    wait_for(&a.held);
    CU_ASSERT_EQUAL(tf_guard_era(a.guard), 7);
    tf_guard_release(a.guard);
    actor_start(&b, prefix, "b");
    wait_for(&b.held);
    CU_ASSERT_EQUAL(tf_guard_era(b.guard), 7);
    actor_stop(&a);
    actor_stop(&b);
}

static void case_store_away(void)
{
    struct actor a;
    const char *prefix = store_fixture_prefix(fixture);
    actor_start(&a, prefix, "a");
    wait_for(&a.held);
    CU_ASSERT_EQUAL(commit(&a, prefix, "one"), TF_OK);
    store_fixture_hang(fixture, true);
    send_commit(&a, prefix, "two");
    store_fixture_pass(fixture, 1000);
    CU_ASSERT_FALSE(a.answered);
    CU_ASSERT_NOT_EQUAL(tf_guard_trouble(a.guard)->code, TF_OK);
    store_fixture_hang(fixture, false);
    wait_for(&a.answered);
    CU_ASSERT_EQUAL(a.commit_error.code, TF_OK);
    store_fixture_down(fixture, true);
    send_commit(&a, prefix, "three");
    store_fixture_pass(fixture, 200);
    CU_ASSERT_FALSE(a.answered);
    store_fixture_down(fixture, false);
    wait_for(&a.answered); /* the lease has its full time again after the restart */
    CU_ASSERT_EQUAL(a.commit_error.code, TF_OK);
    CU_ASSERT_EQUAL(tf_guard_head(a.guard), 3);
    CU_ASSERT_TRUE(stored(&a, prefix, "two") && stored(&a, prefix, "three"));
    actor_stop(&a);
}

static const struct suite_test tests[] = {
    {"commits", case_commits},
    {"a lost request, a lost reply", case_lost_reply},
    {"a lost reply while acquiring", case_lost_acquisition},
    {"standing by, release", case_release},
    {"deposed by a commit", case_deposed},
    {"deposed by the end of the lease", case_lease_lost},
    {"head changed by a stranger", case_foreign_head},
    {"load", case_load},
    {"refused at once", case_refused_at_once},
    {"eras", case_era},
    {"the store is away", case_store_away},
};

static int run(enum store_kind kind)
{
    fixture = store_fixture_create(kind);
    if (!fixture)
        return 1;
    int failed = suite_run(store_kind_names[kind], tests, TF_ARRAY_LEN(tests));
    store_fixture_destroy(fixture);
    return failed;
}

int main(void)
{
    int failed = run(STORE_MEMORY);
    return test_etcd_available() ? run(STORE_PROXY) | failed : failed;
}
