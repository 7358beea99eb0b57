/* SPDX-License-Identifier: Apache-2.0 */
/* The guard over a store in memory that loses, delays and refuses, in virtual time: single cases that a proxy
 * cannot make, and random runs of several processes that fight for one prefix and crash. */
#include "tests/integration/store_fixture.h"

#include "common/base/cleanup.h"
#include "common/base/rng.h"
#include "common/store/memory.h"
#include "tests/support/suite.h"

#include <inttypes.h>

#define PREFIX "/p/"

enum { ACTORS = 3, TTL_MS = 2000, TIMEOUT_MS = 300, KEY_BYTES = 48 };

struct world;

/* A process: it leads when it can, reads everything, then writes one log record a commit and the count of
 * them. */
struct actor {
    struct world *world;
    struct tf_store *client;
    struct tf_guard *guard;
    bool loaded, committing;
    uint64_t logs, count; /* read, and then kept by its own commits */
    char key[KEY_BYTES];  /* of the commit in flight */
    struct tf_error outcome;
    unsigned outcomes;
};

struct world {
    struct store_fixture *fixture;
    struct tf_memory_store *server;
    struct tf_rng rng;
    struct actor actors[ACTORS];
    uint64_t keys, acquired, crashes;
    int64_t last_revision; /* of the term that was acquired last */
    TF_VEC(char *) acknowledged;
    TF_VEC(char *) listed; /* log keys of the present load */
};

static void forget(struct world *world)
{
    tf_vec_each (key, &world->listed)
        free(*key);
    tf_vec_release(&world->listed);
}

static bool is_listed(const struct world *world, const char *key)
{
    tf_vec_each (listed, &world->listed)
        if (strcmp(*listed, key) == 0)
            return true;
    return false;
}

static void take_row(void *cookie, const struct tf_store_row *row)
{
    struct actor *actor = cookie;
    struct tf_bytes log = tf_bytes_of(PREFIX "log/");
    if (tf_bytes_start_with(row->key, log)) {
        actor->logs++;
        char *key = tf_strndup(row->key.data, row->key.len);
        tf_vec_push(&actor->world->listed, key);
    } else {
        CU_ASSERT_EQUAL_FATAL(row->value.len, sizeof actor->count);
        memcpy(&actor->count, row->value.data, sizeof actor->count);
    }
}

static void commit_one(struct actor *actor);

static void take_loaded(void *cookie, const struct tf_error *error, int64_t revision)
{
    struct actor *actor = cookie;
    struct world *world = actor->world;
    if (error->code != TF_OK)
        return;
    CU_ASSERT_TRUE(revision > 0);
    CU_ASSERT_EQUAL(actor->count, actor->logs); /* never half a transaction, never one twice */
    CU_ASSERT_EQUAL(tf_guard_head(actor->guard), actor->logs);
    tf_vec_each (key, &world->acknowledged)
        CU_ASSERT_TRUE(is_listed(world, *key));
    actor->loaded = true;
    commit_one(actor);
}

static void take_outcome(void *cookie, const struct tf_error *error)
{
    struct actor *actor = cookie;
    actor->committing = false;
    actor->outcome = *error;
    actor->outcomes++;
    if (error->code != TF_OK)
        return;
    actor->logs++;
    actor->count++;
    char *key = tf_strdup(actor->key);
    tf_vec_push(&actor->world->acknowledged, key);
    CU_ASSERT_EQUAL(tf_guard_head(actor->guard), actor->logs);
    if (actor->loaded)
        commit_one(actor);
}

static void commit_one(struct actor *actor)
{
    uint64_t next = actor->count + 1;
    snprintf(actor->key, sizeof actor->key, PREFIX "log/%012" PRIu64, ++actor->world->keys);
    struct tf_store_write writes[] = {
        {.key = tf_bytes_of(actor->key), .value = tf_bytes_of("x")},
        {.key = tf_bytes_of(PREFIX "count"), .value = {&next, sizeof next}},
    };
    CU_ASSERT_EQUAL(tf_guard_commit(actor->guard, writes, 2, take_outcome, actor, NULL), 0);
    actor->committing = true;
}

static void actor_event(void *ctx, const struct tf_guard_event *event)
{
    struct actor *actor = ctx;
    struct world *world = actor->world;
    if (event->kind == TF_GUARD_HELD) {
        CU_ASSERT_TRUE(tf_guard_revision(actor->guard) > world->last_revision); /* terms grow */
        world->last_revision = tf_guard_revision(actor->guard);
        world->acquired++;
        actor->logs = actor->count = 0;
        forget(world);
        CU_ASSERT_EQUAL(tf_guard_load(actor->guard, take_row, take_loaded, actor, NULL), 0);
    } else if (event->kind == TF_GUARD_DEPOSED) {
        CU_ASSERT_FALSE(actor->committing); /* it was told first */
        actor->loaded = false;
        tf_guard_acquire(actor->guard);
    }
}

static void actor_start(struct world *world, struct actor *actor)
{
    *actor = (struct actor){.world = world, .client = store_fixture_client(world->fixture)};
    struct tf_guard_options options = {.prefix = PREFIX,
                                       .owner_name = "leader",
                                       .owner_value = tf_bytes_of("me"),
                                       .ttl_ms = TTL_MS,
                                       .timeout_ms = TIMEOUT_MS,
                                       .seed = tf_rng_next(&world->rng),
                                       .event = actor_event,
                                       .event_ctx = actor};
    actor->guard = store_fixture_guard(world->fixture, actor->client, &options);
    tf_guard_acquire(actor->guard);
}

static void actor_crash(struct actor *actor)
{
    struct world *world = actor->world;
    store_fixture_destroy_guard(world->fixture, actor->guard);
    store_fixture_forget_client(world->fixture, actor->client);
    tf_store_destroy(actor->client);
    world->crashes++;
}

static struct world *world_create(uint64_t seed)
{
    struct world *world = tf_calloc(1, sizeof *world);
    tf_rng_init(&world->rng, seed);
    world->fixture = store_fixture_create(STORE_MEMORY);
    world->server = store_fixture_memory(world->fixture);
    return world;
}

static void world_destroy(struct world *world)
{
    forget(world);
    tf_vec_each (key, &world->acknowledged)
        free(*key);
    tf_vec_release(&world->acknowledged);
    store_fixture_destroy(world->fixture);
    free(world);
}

/* ---- single cases ---- */

/* A world in which one actor leads and has committed; it commits no more by itself. */
static struct actor *one_leader(struct world *world)
{
    struct actor *actor = &world->actors[0];
    actor_start(world, actor);
    CU_ASSERT_TRUE_FATAL(store_fixture_until(world->fixture, &actor->loaded));
    actor->loaded = false;
    while (actor->committing)
        store_fixture_pass(world->fixture, 1);
    CU_ASSERT_EQUAL(actor->outcome.code, TF_OK);
    return actor;
}

static void wait_outcome(struct world *world, struct actor *actor)
{
    for (int i = 0; i < 100000 && actor->committing; i++)
        store_fixture_pass(world->fixture, 1);
    CU_ASSERT_FALSE_FATAL(actor->committing);
}

static void case_late_copy(void)
{
    struct world *world = world_create(1);
    struct actor *actor = one_leader(world);
    tf_memory_client_fault(actor->client, TF_MEMORY_LATE, 0);
    commit_one(actor);
    wait_outcome(world, actor); /* the second copy, or the late first one: done once */
    CU_ASSERT_EQUAL(actor->outcome.code, TF_OK);
    uint64_t transactions = tf_memory_store_counts(world->server).transactions;
    store_fixture_pass(world->fixture, 10000);
    CU_ASSERT_EQUAL(tf_memory_store_counts(world->server).transactions, transactions);
    CU_ASSERT_EQUAL(tf_guard_head(actor->guard), 2);
    world_destroy(world);
}

/* A predecessor's transaction that arrives after the successor has taken over is refused by the store. */
static void case_late_predecessor(void)
{
    struct world *world = world_create(2);
    struct actor *old = one_leader(world), *next = &world->actors[1];
    tf_memory_store_faults(
        world->server,
        &(struct tf_memory_faults){.latency_min_ms = 1, .latency_max_ms = 1, .late_max_ms = 60000});
    tf_memory_client_fault(old->client, TF_MEMORY_LATE, 0);
    commit_one(old);
    char key[KEY_BYTES];
    memcpy(key, old->key, sizeof key);
    actor_crash(old);
    actor_start(world, next);
    CU_ASSERT_TRUE_FATAL(store_fixture_until(world->fixture, &next->loaded));
    next->loaded = false;
    store_fixture_pass(world->fixture, 70000);
    struct store_got got = {0};
    store_ask(world->fixture, next->client,
              (struct tf_store_request){.kind = TF_STORE_GET, .key = tf_bytes_of(key)}, &got);
    CU_ASSERT_EQUAL(got.rows.count, 0);
    store_got_release(&got);
    world_destroy(world);
}

static void case_full(void)
{
    struct world *world = world_create(3);
    struct actor *actor = one_leader(world);
    tf_memory_store_quota(world->server, 1);
    commit_one(actor);
    wait_outcome(world, actor);
    CU_ASSERT_EQUAL(actor->outcome.code, TF_ERR_REFUSED); /* certainly not done, and still leading */
    CU_ASSERT_TRUE(tf_guard_held(actor->guard));
    tf_memory_store_quota(world->server, 1 << 20);
    commit_one(actor);
    wait_outcome(world, actor);
    CU_ASSERT_EQUAL(actor->outcome.code, TF_OK);
    CU_ASSERT_EQUAL(tf_guard_head(actor->guard), 2);
    world_destroy(world);
}

/* The answer is lost, then the store is full: head shows that it was done. */
static void case_lost_then_full(void)
{
    struct world *world = world_create(4);
    struct actor *actor = one_leader(world);
    tf_memory_client_fault(actor->client, TF_MEMORY_LOST_REPLY, 0);
    commit_one(actor);
    store_fixture_pass(world->fixture, 10);
    tf_memory_store_quota(world->server, 1);
    wait_outcome(world, actor);
    CU_ASSERT_EQUAL(actor->outcome.code, TF_OK);
    CU_ASSERT_EQUAL(tf_guard_head(actor->guard), 2);

    tf_memory_store_quota(world->server, 1 << 20); /* the request is lost: no verdict while it is full */
    tf_memory_client_fault(actor->client, TF_MEMORY_LOST_REQUEST, 0);
    commit_one(actor);
    store_fixture_pass(world->fixture, 10);
    tf_memory_store_quota(world->server, 1);
    store_fixture_pass(world->fixture, 20000);
    CU_ASSERT_TRUE(actor->committing);
    tf_memory_store_quota(world->server, 1 << 20);
    wait_outcome(world, actor);
    CU_ASSERT_EQUAL(actor->outcome.code, TF_OK);
    CU_ASSERT_EQUAL(tf_guard_head(actor->guard), 3);
    world_destroy(world);
}

/* Cut off for longer than its lease: by its own clock it stops in time, another takes over, and it finds out.
 */
static void case_cut_off(void)
{
    struct world *world = world_create(5);
    struct actor *cut = one_leader(world), *other = &world->actors[1];
    actor_start(world, other);
    store_fixture_pass(world->fixture, 1000);
    int64_t at = store_fixture_now(world->fixture).ms;
    tf_memory_client_cut(cut->client, true);
    CU_ASSERT_TRUE_FATAL(store_fixture_until(world->fixture, &other->loaded));
    int64_t took = store_fixture_now(world->fixture).ms - at;
    CU_ASSERT_TRUE(took < 2 * TTL_MS);
    CU_ASSERT_TRUE(tf_guard_valid_until(cut->guard).ms < store_fixture_now(world->fixture).ms);
    CU_ASSERT_TRUE(tf_guard_held(cut->guard)); /* nobody told it yet */
    tf_memory_client_cut(cut->client, false);
    commit_one(cut);
    wait_outcome(world, cut);
    CU_ASSERT_EQUAL(cut->outcome.code, TF_ERR_CONFLICT);
    CU_ASSERT_FALSE(tf_guard_held(cut->guard));
    other->loaded = false;
    world_destroy(world);
}

/* A backup is put back under a leader: its next commit is refused, and with --accept-rollback the era grows.
 */
static void case_restored(void)
{
    struct world *world = world_create(6);
    struct actor *actor = one_leader(world);
    TF_AUTO(tf_memory_snapshot) snapshot = tf_memory_store_snapshot(world->server);
    commit_one(actor);
    wait_outcome(world, actor);
    CU_ASSERT_EQUAL(tf_guard_head(actor->guard), 2);
    tf_memory_store_restore(world->server, snapshot);
    commit_one(actor);
    wait_outcome(world, actor);
    CU_ASSERT_EQUAL(actor->outcome.code, TF_ERR_CONFLICT);
    CU_ASSERT_FALSE(tf_guard_held(actor->guard));
    world_destroy(world);
}

/* ---- random runs ---- */

static void check_one_valid(struct world *world)
{
    size_t valid = 0;
    for (size_t i = 0; i < ACTORS; i++)
        valid += tf_guard_held(world->actors[i].guard) &&
                 store_fixture_now(world->fixture).ms < tf_guard_valid_until(world->actors[i].guard).ms;
    CU_ASSERT_TRUE(valid <= 1);
}

static void disturb(struct world *world)
{
    struct actor *actor = &world->actors[tf_rng_below(&world->rng, ACTORS)];
    switch (tf_rng_below(&world->rng, 6)) {
    case 0:
        actor_crash(actor);
        actor_start(world, actor);
        break;
    case 1:
        tf_memory_client_cut(actor->client, true);
        break;
    case 2:
        tf_memory_store_down(world->server, true);
        break;
    case 3:
        tf_memory_store_down(world->server, false);
        break;
    default:
        for (size_t i = 0; i < ACTORS; i++)
            tf_memory_client_cut(world->actors[i].client, false);
    }
}

static const struct tf_memory_faults rough = {
    .permille = {[TF_MEMORY_UNAVAILABLE] = 30,
                 [TF_MEMORY_LOST_REQUEST] = 30,
                 [TF_MEMORY_LOST_REPLY] = 30,
                 [TF_MEMORY_LATE] = 30},
    .latency_min_ms = 1,
    .latency_max_ms = 60,
    .late_max_ms = 5000,
};
static const struct tf_memory_faults smooth = {.latency_min_ms = 20, .latency_max_ms = 20};

static void heal(struct world *world)
{
    tf_memory_store_faults(world->server, &smooth);
    tf_memory_store_down(world->server, false);
    for (size_t i = 0; i < ACTORS; i++)
        tf_memory_client_cut(world->actors[i].client, false);
    uint64_t acquired = world->acquired;
    size_t acknowledged = world->acknowledged.count;
    for (size_t i = 1; i < ACTORS;
         i++) { /* the rest must come to a new holder, who reads all that was said */
        actor_crash(&world->actors[i]);
        actor_start(world, &world->actors[i]);
    }
    store_fixture_pass(world->fixture, 10 * TTL_MS);
    tf_guard_release(world->actors[0].guard);
    store_fixture_pass(world->fixture, 10 * TTL_MS);
    CU_ASSERT_TRUE(world->acquired > acquired);
    CU_ASSERT_TRUE(world->acknowledged.count > acknowledged);
}

static void random_run(uint64_t seed, struct world *totals)
{
    struct world *world = world_create(seed);
    tf_memory_store_faults(world->server, &rough);
    for (size_t i = 0; i < ACTORS; i++)
        actor_start(world, &world->actors[i]);
    for (int step = 0; step < 400; step++) {
        store_fixture_pass(world->fixture, tf_rng_range(&world->rng, 1, 200));
        check_one_valid(world);
        if (tf_rng_below(&world->rng, 20) == 0)
            disturb(world);
    }
    heal(world);
    totals->acquired += world->acquired;
    totals->crashes += world->crashes;
    totals->keys += world->acknowledged.count;
    totals->last_revision += (int64_t)tf_memory_store_counts(world->server).faults;
    world_destroy(world);
}

static void test_random(void)
{
    uint64_t seed = suite_seed(1);
    struct world totals = {0};
    size_t rounds = suite_rounds(50);
    for (size_t i = 0; i < rounds; i++)
        random_run(seed + i, &totals);
    printf("%zu runs: %" PRIu64 " acquisitions, %" PRIu64 " commits acknowledged, %" PRIu64
           " crashes, %" PRId64 " faults ",
           rounds, totals.acquired, totals.keys, totals.crashes, totals.last_revision);
}

static const struct suite_test tests[] = {
    {"a late copy", case_late_copy}, {"a late predecessor", case_late_predecessor},
    {"a full store", case_full},     {"a lost answer, then a full store", case_lost_then_full},
    {"cut off", case_cut_off},       {"a restored store", case_restored},
    {"random runs", test_random},
};

int main(void)
{
    return suite_run("guard faults", tests, TF_ARRAY_LEN(tests));
}
