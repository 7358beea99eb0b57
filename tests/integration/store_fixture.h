/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_TESTS_STORE_FIXTURE_H
#define TF_TESTS_STORE_FIXTURE_H

#include "common/base/vec.h"
#include "common/store/guard.h"
#include "common/store/store.h"

/* A store of any kind with its time, so that one test runs against all: memory in virtual time, a real etcd,
 * and one behind the counting proxy. */
enum store_kind { STORE_MEMORY, STORE_ETCD, STORE_PROXY, STORE_KINDS };

struct store_fixture;

extern const char *const store_kind_names[STORE_KINDS];

struct store_fixture *store_fixture_create(enum store_kind kind); /* NULL: said why */
void store_fixture_destroy(struct store_fixture *fixture);        /* also destroys its clients and guards */
enum store_kind store_fixture_kind(const struct store_fixture *fixture);
/* A prefix that no other test of this run uses; borrowed until the next call. */
const char *store_fixture_prefix(struct store_fixture *fixture);
struct tf_store *store_fixture_client(struct store_fixture *fixture);        /* owned by the fixture */
struct tf_memory_store *store_fixture_memory(struct store_fixture *fixture); /* with STORE_MEMORY */
/* With STORE_PROXY: the proxy, and a client that goes past it. */
struct test_proxy *store_fixture_proxy(struct store_fixture *fixture);
struct tf_store *store_fixture_direct_client(struct store_fixture *fixture);
/* It is the caller's from now on. */
void store_fixture_forget_client(struct store_fixture *fixture, struct tf_store *client);

/* Lets time pass until *flag; false after a generous limit (a test then fails). */
bool store_fixture_until(struct store_fixture *fixture, const bool *flag);
bool store_fixture_until_true(struct store_fixture *fixture, bool (*holds)(void *ctx), void *ctx);
void store_fixture_pass(struct store_fixture *fixture, int64_t ms);
struct tf_mono store_fixture_now(const struct store_fixture *fixture);

/* options->host and ->store are filled in. Owned by the fixture. */
struct tf_guard *store_fixture_guard(struct store_fixture *fixture, struct tf_store *client,
                                     struct tf_guard_options *options);
void store_fixture_destroy_guard(struct store_fixture *fixture, struct tf_guard *guard);

void store_fixture_down(struct store_fixture *fixture, bool down); /* connections are refused; data is kept */
void store_fixture_hang(struct store_fixture *fixture, bool hang); /* requests get no answer */
/* The next transaction of the client; with STORE_PROXY the next of any client; not for STORE_ETCD. */
void store_fixture_lose_request(struct store_fixture *fixture, struct tf_store *client);
void store_fixture_lose_reply(struct store_fixture *fixture, struct tf_store *client);

/* A reply that was waited for, with its rows copied. */
struct store_got {
    bool done;
    struct tf_error error;
    int64_t revision, lease, ttl_ms;
    bool more;
    struct tf_store_status status;
    TF_VEC(struct tf_store_row) rows;
    TF_VEC(char *) memory;
};

void store_got_release(struct store_got *got);
void store_got_take(void *cookie,
                    const struct tf_store_reply *reply); /* a tf_store_done_f; cookie: store_got */
/* Sends and waits; got is filled anew. timeout_ms 0 = 5 s. */
void store_ask(struct store_fixture *fixture, struct tf_store *client, struct tf_store_request request,
               struct store_got *got);

#endif
