/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/integration/store_fixture.h"

#include "common/base/cleanup.h"
#include "common/loop/loop.h"
#include "common/store/etcd.h"
#include "common/store/guard_loop.h"
#include "common/store/memory.h"
#include "tests/support/etcd.h"
#include "tests/support/store_proxy.h"
#include "tests/support/suite.h"

enum { REAL_LIMIT_MS = 60 * 1000, VIRTUAL_LIMIT_MS = 600 * 1000, DEFAULT_TIMEOUT_MS = 5000 };

const char *const store_kind_names[STORE_KINDS] = {"memory", "etcd", "etcd behind a proxy"};

/* A guard and its timer: the loop's for etcd, wake_at for memory. */
struct guard_slot {
    struct store_fixture *fixture;
    struct tf_guard *guard;
    struct tf_guard_loop on;
    struct tf_mono wake_at;
};

struct store_fixture {
    enum store_kind kind;
    unsigned prefixes;
    char prefix[64];
    TF_VEC(struct tf_store *) clients;
    TF_VEC(struct guard_slot *) guards;
    struct tf_mono now; /* virtual */
    struct tf_memory_store *memory;
    struct test_etcd *etcd;
    struct test_proxy *proxy;
    struct tf_loop *loop;
};

struct store_fixture *store_fixture_create(enum store_kind kind)
{
    struct store_fixture *fixture = tf_calloc(1, sizeof *fixture);
    fixture->kind = kind;
    if (kind == STORE_MEMORY) {
        fixture->now = (struct tf_mono){1000};
        fixture->memory =
            tf_memory_store_create(&(struct tf_memory_options){.seed = 1, .start = fixture->now});
        return fixture;
    }
    fixture->etcd = test_etcd_start(NULL);
    fixture->loop = fixture->etcd ? tf_loop_create(NULL) : NULL;
    if (fixture->loop && kind == STORE_PROXY)
        fixture->proxy = test_proxy_start(test_etcd_address(fixture->etcd));
    if (fixture->loop && (fixture->proxy || kind == STORE_ETCD))
        return fixture;
    store_fixture_destroy(fixture);
    return NULL;
}

void store_fixture_destroy(struct store_fixture *fixture)
{
    if (!fixture)
        return;
    while (fixture->guards.count)
        store_fixture_destroy_guard(fixture, fixture->guards.items[0]->guard);
    tf_vec_release(&fixture->guards);
    tf_vec_each (client, &fixture->clients)
        tf_store_destroy(*client);
    tf_vec_release(&fixture->clients);
    tf_memory_store_destroy(fixture->memory);
    tf_loop_destroy(fixture->loop);
    test_proxy_stop(fixture->proxy);
    test_etcd_stop(fixture->etcd);
    free(fixture);
}

enum store_kind store_fixture_kind(const struct store_fixture *fixture)
{
    return fixture->kind;
}

const char *store_fixture_prefix(struct store_fixture *fixture)
{
    snprintf(fixture->prefix, sizeof fixture->prefix, "/test/%u/", ++fixture->prefixes);
    return fixture->prefix;
}

static struct tf_store *keep_client(struct store_fixture *fixture, struct tf_store *client)
{
    if (!client) {
        fprintf(stderr, "cannot create a client of the store\n");
        abort();
    }
    tf_vec_push(&fixture->clients, client);
    return client;
}

static struct tf_store *etcd_client(struct store_fixture *fixture, const char *endpoint)
{
    struct tf_etcd_options options = {.endpoints = &endpoint, .endpoint_count = 1};
    return keep_client(fixture, tf_etcd_store_create(fixture->loop, &options, NULL));
}

struct tf_store *store_fixture_client(struct store_fixture *fixture)
{
    if (fixture->kind == STORE_MEMORY)
        return keep_client(fixture, tf_memory_store_client(fixture->memory));
    if (fixture->kind == STORE_PROXY)
        return etcd_client(fixture, test_proxy_endpoint(fixture->proxy));
    return store_fixture_direct_client(fixture);
}

struct tf_memory_store *store_fixture_memory(struct store_fixture *fixture)
{
    return fixture->memory;
}

struct test_proxy *store_fixture_proxy(struct store_fixture *fixture)
{
    return fixture->proxy;
}

struct tf_store *store_fixture_direct_client(struct store_fixture *fixture)
{
    return etcd_client(fixture, test_etcd_endpoint(fixture->etcd));
}

void store_fixture_forget_client(struct store_fixture *fixture, struct tf_store *client)
{
    for (size_t i = 0; i < fixture->clients.count; i++)
        if (fixture->clients.items[i] == client) {
            tf_vec_remove(&fixture->clients, i);
            return;
        }
}

/* ---- time ---- */

struct tf_mono store_fixture_now(const struct store_fixture *fixture)
{
    return fixture->kind == STORE_MEMORY ? fixture->now : tf_loop_now(fixture->loop).mono;
}

static int64_t virtual_next(const struct store_fixture *fixture)
{
    int64_t next = tf_memory_store_next(fixture->memory).ms;
    tf_vec_each (slot, &fixture->guards)
        if ((*slot)->wake_at.ms < next)
            next = (*slot)->wake_at.ms;
    return next;
}

static void wake_guards(struct store_fixture *fixture)
{
    for (size_t i = 0; i < fixture->guards.count; i++) {
        struct guard_slot *slot = fixture->guards.items[i];
        if (slot->wake_at.ms <= fixture->now.ms) {
            slot->wake_at = TF_NEVER;
            tf_guard_wake(slot->guard);
        }
    }
}

/* One event of the virtual time, or the time limit. */
static void virtual_turn(struct store_fixture *fixture, int64_t limit)
{
    int64_t next = virtual_next(fixture);
    if (next > limit)
        next = limit;
    if (next > fixture->now.ms)
        fixture->now.ms = next;
    tf_memory_store_advance(fixture->memory, fixture->now);
    wake_guards(fixture);
}

static void turn(struct store_fixture *fixture, int64_t limit)
{
    if (fixture->kind == STORE_MEMORY)
        virtual_turn(fixture, limit);
    else
        tf_loop_turn(fixture->loop, 20);
}

bool store_fixture_until_true(struct store_fixture *fixture, bool (*holds)(void *ctx), void *ctx)
{
    int64_t limit = store_fixture_now(fixture).ms +
                    (fixture->kind == STORE_MEMORY ? (int64_t)VIRTUAL_LIMIT_MS : (int64_t)REAL_LIMIT_MS);
    while (!holds(ctx)) {
        if (store_fixture_now(fixture).ms >= limit)
            return false;
        turn(fixture, limit);
    }
    return true;
}

static bool flag_is_set(void *ctx)
{
    const bool *flag = ctx;
    return *flag;
}

bool store_fixture_until(struct store_fixture *fixture, const bool *flag)
{
    return store_fixture_until_true(fixture, flag_is_set, (void *)(uintptr_t)flag);
}

void store_fixture_pass(struct store_fixture *fixture, int64_t ms)
{
    int64_t until = store_fixture_now(fixture).ms + ms;
    while (store_fixture_now(fixture).ms < until)
        turn(fixture, until);
}

/* ---- guards ---- */

static struct tf_mono slot_now(void *ctx)
{
    return ((struct guard_slot *)ctx)->fixture->now;
}

static void slot_wake(void *ctx, struct tf_mono at)
{
    ((struct guard_slot *)ctx)->wake_at = at;
}

struct tf_guard *store_fixture_guard(struct store_fixture *fixture, struct tf_store *client,
                                     struct tf_guard_options *options)
{
    struct guard_slot *slot = tf_calloc(1, sizeof *slot);
    slot->fixture = fixture;
    slot->wake_at = TF_NEVER;
    options->store = client;
    if (fixture->kind == STORE_MEMORY) {
        options->host = (struct tf_guard_host){slot_now, slot_wake, slot};
        slot->guard = tf_guard_create(options);
    } else {
        slot->guard = tf_guard_on_loop(&slot->on, fixture->loop, options, NULL);
    }
    tf_vec_push(&fixture->guards, slot);
    return slot->guard;
}

void store_fixture_destroy_guard(struct store_fixture *fixture, struct tf_guard *guard)
{
    for (size_t i = 0; i < fixture->guards.count; i++) {
        struct guard_slot *slot = fixture->guards.items[i];
        if (slot->guard != guard)
            continue;
        tf_guard_destroy(guard);
        free(slot);
        tf_vec_remove(&fixture->guards, i);
        return;
    }
}

/* ---- faults ---- */

void store_fixture_down(struct store_fixture *fixture, bool down)
{
    if (fixture->kind == STORE_MEMORY)
        tf_memory_store_down(fixture->memory, down);
    else if (down)
        test_etcd_kill(fixture->etcd);
    else
        CU_ASSERT_TRUE_FATAL(test_etcd_restart(fixture->etcd));
}

void store_fixture_hang(struct store_fixture *fixture, bool hang)
{
    tf_vec_each (client, &fixture->clients)
        if (fixture->kind == STORE_MEMORY)
            tf_memory_client_cut(*client, hang);
    if (fixture->etcd && hang)
        test_etcd_freeze(fixture->etcd);
    if (fixture->etcd && !hang)
        test_etcd_thaw(fixture->etcd);
}

void store_fixture_lose_request(struct store_fixture *fixture, struct tf_store *client)
{
    if (fixture->kind == STORE_MEMORY)
        tf_memory_client_fault(client, TF_MEMORY_LOST_REQUEST, 0);
    else
        CU_ASSERT_TRUE(test_proxy_command(fixture->proxy, "next drop"));
}

void store_fixture_lose_reply(struct store_fixture *fixture, struct tf_store *client)
{
    if (fixture->kind == STORE_MEMORY)
        tf_memory_client_fault(client, TF_MEMORY_LOST_REPLY, 0);
    else
        CU_ASSERT_TRUE(test_proxy_command(fixture->proxy, "next lose"));
}

/* ---- replies ---- */

void store_got_release(struct store_got *got)
{
    tf_vec_each (piece, &got->memory)
        free(*piece);
    tf_vec_release(&got->memory);
    tf_vec_release(&got->rows);
    *got = (struct store_got){0};
}

static struct tf_bytes keep(struct store_got *got, struct tf_bytes bytes)
{
    char *copy = tf_memdup(bytes.data, bytes.len);
    tf_vec_push(&got->memory, copy);
    return (struct tf_bytes){copy, bytes.len};
}

void store_got_take(void *cookie, const struct tf_store_reply *reply)
{
    struct store_got *got = cookie;
    CU_ASSERT_FALSE(got->done); /* answered once */
    got->done = true;
    got->error = reply->error;
    got->revision = reply->revision;
    got->lease = reply->lease;
    got->ttl_ms = reply->ttl_ms;
    got->more = reply->more;
    got->status = reply->status;
    for (size_t i = 0; i < reply->count; i++) {
        struct tf_store_row row = reply->rows[i];
        row.key = keep(got, row.key);
        row.value = keep(got, row.value);
        tf_vec_push(&got->rows, row);
    }
}

void store_ask(struct store_fixture *fixture, struct tf_store *client, struct tf_store_request request,
               struct store_got *got)
{
    store_got_release(got);
    if (!request.timeout_ms)
        request.timeout_ms = DEFAULT_TIMEOUT_MS;
    CU_ASSERT_NOT_EQUAL(tf_store_send(client, &request, store_got_take, got), 0);
    CU_ASSERT_FALSE(got->done); /* never from inside the call */
    CU_ASSERT_TRUE_FATAL(store_fixture_until(fixture, &got->done));
}
