/* SPDX-License-Identifier: Apache-2.0 */
/* The server in memory: leases, requests on their way, faults. The keys are in memory_map.c. */
#include "common/store/memory.h"

#include "common/base/hash.h"
#include "common/base/rng.h"
#include "common/store/impl.h"
#include "common/store/memory_map.h"

#include <assert.h>
#include <inttypes.h>

enum { DEFAULT_LATENCY_MS = 1 };
static const int64_t default_quota_bytes = INT64_C(2) << 30;

struct lease {
    UT_hash_handle hh;
    int64_t id, ttl_ms;
    struct tf_mono ends;
};

struct client {
    struct tf_store store; /* first */
    struct tf_memory_store *server;
    bool cut;
    enum tf_memory_fault fault; /* of the next transaction after fault_skip others */
    unsigned fault_skip;
};

/* A request between its sending and its two ends: applied by the server, answered to the client. */
struct pending {
    uint64_t id;
    struct client *client;                  /* NULL: nobody waits for the answer */
    const struct tf_store_request *request; /* kept */
    tf_store_done_f done;
    void *cookie;
    struct tf_mono apply_at, answer_at; /* TF_NEVER: will not happen, or has happened */
    struct tf_mono deadline;
    bool lost; /* the answer does not reach the client */
    struct tf_store_answer answer;
};

struct tf_memory_store {
    struct tf_memory_map *map;
    struct lease *leases;
    int64_t last_lease;
    struct tf_mono now; /* of the last thing that it did, or was told; see now_of */
    const struct tf_mono *clock;
    bool down, full;
    int64_t quota_bytes, keep_revisions;
    struct tf_rng rng;
    struct tf_memory_faults faults;
    TF_VEC(struct pending *) pendings; /* in order of sending */
    TF_VEC(struct pending *) spare;    /* used once, to be used again */
    struct tf_mono next;               /* when something is due, unless next_stale */
    bool next_stale;
    struct tf_mono *first; /* of many stores; NULL: nobody wants to know */
    uint64_t last_id;
    size_t clients;
    struct tf_memory_counts counts;
};

struct tf_memory_snapshot {
    struct tf_memory_map *map;
    struct lease *leases;
};

static struct tf_mono now_of(const struct tf_memory_store *server)
{
    return server->clock && server->clock->ms > server->now.ms ? *server->clock : server->now;
}

static struct tf_mono later(struct tf_mono t, int64_t ms)
{
    return (struct tf_mono){t.ms + ms};
}

/* Something else may be due first now, and later. */
static void stir(struct tf_memory_store *server)
{
    server->next_stale = true;
    if (server->first)
        *server->first = TF_MEMORY_ASK;
}

static void lower(struct tf_mono *first, int64_t ms)
{
    if (ms < first->ms)
        first->ms = ms;
}

/* ---- leases ---- */

static struct lease *lease_find(struct lease *leases, int64_t id)
{
    struct lease *lease = NULL;
    HASH_FIND(hh, leases, &id, sizeof id, lease);
    return lease;
}

static void lease_add(struct lease **leases, int64_t id, int64_t ttl_ms, struct tf_mono ends)
{
    struct lease *lease = tf_calloc(1, sizeof *lease);
    lease->id = id;
    lease->ttl_ms = ttl_ms;
    lease->ends = ends;
    HASH_ADD(hh, *leases, id, sizeof lease->id, lease);
}

static void lease_drop(struct lease **leases, struct lease *lease)
{
    HASH_DEL(*leases, lease);
    free(lease);
}

static void leases_clear(struct lease **leases)
{
    struct lease *lease, *next;
    HASH_ITER (hh, *leases, lease, next)
        lease_drop(leases, lease);
}

static void leases_copy(struct lease **to, const struct lease *from, struct tf_mono now)
{
    leases_clear(to);
    for (const struct lease *lease = from; lease; lease = lease->hh.next)
        lease_add(to, lease->id, lease->ttl_ms, later(now, lease->ttl_ms));
}

static void lease_end(struct tf_memory_store *server, struct lease *lease)
{
    tf_memory_map_remove_lease(server->map, lease->id);
    lease_drop(&server->leases, lease);
}

static struct lease *lease_first_to_end(const struct tf_memory_store *server)
{
    struct lease *first = NULL;
    for (struct lease *lease = server->leases; lease; lease = lease->hh.next)
        if (!first || lease->ends.ms < first->ends.ms)
            first = lease;
    return server->down ? NULL : first;
}

/* ---- what the server does with a request ---- */

static struct tf_store_row row_of(struct tf_bytes key, const struct tf_memory_version *version)
{
    if (!version)
        return (struct tf_store_row){.created_at = 0};
    return (struct tf_store_row){.key = key,
                                 .value = {version->value, version->len},
                                 .created_at = version->created_at,
                                 .modified_at = version->modified_at,
                                 .lease = version->lease};
}

static void apply_get(struct tf_memory_store *server, struct pending *p)
{
    const struct tf_memory_version *version = tf_memory_map_get(server->map, p->request->key, INT64_MAX);
    if (version)
        tf_store_answer_add(&p->answer, row_of(p->request->key, version));
}

static bool page_row(void *cookie, struct tf_bytes key, const struct tf_memory_version *version)
{
    struct pending *p = cookie;
    if (p->answer.rows.count == p->request->limit) {
        p->answer.reply.more = true;
        return false;
    }
    tf_store_answer_add(&p->answer, row_of(key, version));
    return true;
}

static int check_revision(const struct tf_memory_store *server, int64_t revision, struct tf_error *err)
{
    if (revision > tf_memory_map_revision(server->map))
        return tf_error_set(err, TF_ERR_INVALID, "revision %" PRId64 " of the store is in the future",
                            revision);
    if (revision < tf_memory_map_compacted(server->map))
        return tf_error_set(
            err, TF_ERR_NOT_FOUND,
            "revision %" PRId64 " of the store has been compacted: list again from the present", revision);
    return 0;
}

static void apply_page(struct tf_memory_store *server, struct pending *p)
{
    int64_t revision = p->request->revision ? p->request->revision : tf_memory_map_revision(server->map);
    if (check_revision(server, revision, &p->answer.reply.error) != 0)
        return;
    p->answer.reply.revision = revision;
    tf_memory_map_scan(server->map, p->request->key, p->request->after, revision, page_row, p);
}

static bool compare_holds(const struct tf_memory_store *server, const struct tf_store_compare *compare)
{
    const struct tf_memory_version *version = tf_memory_map_get(server->map, compare->key, INT64_MAX);
    switch (compare->kind) {
    case TF_STORE_ABSENT:
        return !version;
    case TF_STORE_CREATED_AT:
        return version && version->created_at == compare->revision;
    case TF_STORE_VALUE_IS:
        return version && tf_bytes_eq((struct tf_bytes){version->value, version->len}, compare->value);
    }
    return false;
}

static int check_room(struct tf_memory_store *server, const struct tf_store_txn *txn, struct tf_error *err)
{
    int64_t cost = 0;
    for (size_t i = 0; i < txn->write_count; i++)
        if (!txn->writes[i].remove)
            cost += (int64_t)(txn->writes[i].key.len + txn->writes[i].value.len);
    if (cost && tf_memory_map_bytes(server->map) + cost > server->quota_bytes)
        server->full = true;
    if (cost && server->full)
        return tf_error_set(err, TF_ERR_REFUSED, "the store is full (quota %" PRId64 " bytes)",
                            server->quota_bytes);
    return 0;
}

static int check_leases(const struct tf_memory_store *server, const struct tf_store_txn *txn,
                        struct tf_error *err)
{
    for (size_t i = 0; i < txn->write_count; i++) {
        const struct tf_store_write *write = &txn->writes[i];
        if (!write->remove && write->lease && !lease_find(server->leases, write->lease))
            return tf_error_set(err, TF_ERR_NOT_FOUND, "the store has no lease %" PRIx64, write->lease);
    }
    return 0;
}

static void refuse_txn(struct tf_memory_store *server, struct pending *p)
{
    const struct tf_store_txn *txn = &p->request->txn;
    tf_error_set(&p->answer.reply.error, TF_ERR_CONFLICT, "a compare of the transaction did not hold");
    for (size_t i = 0; i < txn->read_count; i++)
        tf_store_answer_add(&p->answer,
                            row_of(txn->reads[i], tf_memory_map_get(server->map, txn->reads[i], INT64_MAX)));
}

static void write_txn(struct tf_memory_store *server, const struct tf_store_txn *txn)
{
    for (size_t i = 0; i < txn->write_count; i++) {
        const struct tf_store_write *write = &txn->writes[i];
        if (write->remove)
            tf_memory_map_remove(server->map, write->key);
        else
            tf_memory_map_put(server->map, write->key, write->value, write->lease);
    }
    tf_memory_map_end(server->map);
    server->counts.transactions += txn->write_count > 0;
    server->counts.records += txn->write_count;
    int64_t floor = tf_memory_map_revision(server->map) - server->keep_revisions;
    if (server->keep_revisions && floor > tf_memory_map_compacted(server->map) + server->keep_revisions)
        tf_memory_map_compact(server->map, floor);
}

static void apply_txn(struct tf_memory_store *server, struct pending *p)
{
    const struct tf_store_txn *txn = &p->request->txn;
    struct tf_error *err = &p->answer.reply.error;
    if (check_room(server, txn, err) != 0)
        return;
    for (size_t i = 0; i < txn->compare_count; i++)
        if (!compare_holds(server, &txn->compares[i])) {
            refuse_txn(server, p);
            return;
        }
    if (check_leases(server, txn, err) == 0)
        write_txn(server, txn);
}

static void apply_grant(struct tf_memory_store *server, struct pending *p)
{
    int64_t ttl_ms = (p->request->ttl_ms + TF_SECOND - 1) / TF_SECOND * TF_SECOND;
    int64_t id = ++server->last_lease;
    lease_add(&server->leases, id, ttl_ms, later(now_of(server), ttl_ms));
    p->answer.reply.lease = id;
    p->answer.reply.ttl_ms = ttl_ms;
}

static struct lease *lease_wanted(struct tf_memory_store *server, struct pending *p)
{
    struct lease *lease = lease_find(server->leases, p->request->lease);
    if (!lease)
        tf_error_set(&p->answer.reply.error, TF_ERR_NOT_FOUND, "the store has no lease %" PRIx64,
                     p->request->lease);
    return lease;
}

static void apply_keepalive(struct tf_memory_store *server, struct pending *p)
{
    struct lease *lease = lease_wanted(server, p);
    if (!lease)
        return;
    lease->ends = later(now_of(server), lease->ttl_ms);
    p->answer.reply.lease = lease->id;
    p->answer.reply.ttl_ms = lease->ttl_ms;
}

static void apply_compact(struct tf_memory_store *server, struct pending *p)
{
    struct tf_error *err = &p->answer.reply.error;
    if (check_revision(server, p->request->revision, err) == 0)
        tf_memory_map_compact(server->map, p->request->revision);
}

static void apply_status(struct tf_memory_store *server, struct pending *p)
{
    int64_t bytes = tf_memory_map_bytes(server->map);
    p->answer.reply.status = (struct tf_store_status){
        .used_bytes = bytes, .in_use_bytes = bytes, .quota_bytes = server->quota_bytes, .full = server->full};
}

static void apply(struct tf_memory_store *server, struct pending *p)
{
    struct lease *lease;
    switch (p->request->kind) {
    case TF_STORE_GET:
        apply_get(server, p);
        break;
    case TF_STORE_PAGE:
        apply_page(server, p);
        break;
    case TF_STORE_TXN:
        apply_txn(server, p);
        break;
    case TF_STORE_LEASE_GRANT:
        apply_grant(server, p);
        break;
    case TF_STORE_LEASE_KEEPALIVE:
        apply_keepalive(server, p);
        break;
    case TF_STORE_LEASE_REVOKE:
        lease = lease_wanted(server, p);
        if (lease)
            lease_end(server, lease);
        break;
    case TF_STORE_COMPACT:
        apply_compact(server, p);
        break;
    case TF_STORE_STATUS:
        apply_status(server, p);
        break;
    case TF_STORE_DISARM:
        server->full = false;
        break;
    case TF_STORE_DEFRAGMENT: /* nothing is ever free inside */
        if (p->request->member > 0)
            tf_error_set(&p->answer.reply.error, TF_ERR_NOT_FOUND, "the store has one member");
        break;
    }
    if (!p->answer.reply.revision)
        p->answer.reply.revision = tf_memory_map_revision(server->map);
}

/* ---- requests on their way ---- */

static struct pending *pending_create(struct tf_memory_store *server)
{
    if (!server->spare.count)
        return tf_calloc(1, sizeof(struct pending));
    struct pending *p = server->spare.items[--server->spare.count];
    /* all but the text of its last error, which is most of it and is read only when there is an error */
    memset(p, 0, offsetof(struct pending, answer.reply.error.text) + 1);
    return p;
}

static void pending_destroy(struct tf_memory_store *server, struct pending *p)
{
    tf_store_answer_release(&p->answer);
    tf_store_request_drop(p->request);
    tf_vec_push(&server->spare, p);
}

static int64_t pending_next_ms(const struct pending *p)
{
    return p->apply_at.ms < p->answer_at.ms ? p->apply_at.ms : p->answer_at.ms;
}

static void pending_take_out(struct tf_memory_store *server, const struct pending *p)
{
    for (size_t i = 0; i < server->pendings.count; i++)
        if (server->pendings.items[i] == p) {
            tf_vec_remove(&server->pendings, i);
            return;
        }
}

static bool is_over(const struct pending *p)
{
    return p->apply_at.ms == INT64_MAX && p->answer_at.ms == INT64_MAX;
}

/* Takes p out of the list and frees it if nothing more will happen to it. */
static void pending_settle(struct tf_memory_store *server, struct pending *p)
{
    if (!is_over(p))
        return;
    pending_take_out(server, p);
    pending_destroy(server, p);
}

static void set_lost(struct pending *p)
{
    struct tf_error *err = &p->answer.reply.error;
    tf_store_answer_release(&p->answer);
    p->answer.reply = (struct tf_store_reply){.error = TF_ERROR_INIT};
    if (tf_store_kind_writes(p->request->kind))
        tf_error_set(err, TF_ERR_UNKNOWN, "the store did not answer: the outcome is not known");
    else
        tf_error_set(err, TF_ERR_UNAVAILABLE, "the store did not answer");
}

/* The client may do anything in its callback: p is not in the list any more, unless it is to be applied. */
static void tell_client(struct tf_memory_store *server, struct pending *p)
{
    const struct client *heard = p->client;
    p->client = NULL;
    p->answer_at = TF_NEVER;
    if (!is_over(p)) {
        struct tf_store_reply lost = p->answer.reply;
        if (heard)
            p->done(p->cookie, &lost);
        return;
    }
    pending_take_out(server, p);
    tf_store_answer_finish(&p->answer);
    if (heard)
        p->done(p->cookie, &p->answer.reply);
    pending_destroy(server, p);
}

static void answer(struct tf_memory_store *server, struct pending *p)
{
    bool lost = p->lost || (p->client && p->client->cut);
    if (lost && now_of(server).ms < p->deadline.ms) {
        p->lost = true;
        p->answer_at = p->deadline;
        return;
    }
    if (lost)
        set_lost(p);
    tell_client(server, p);
}

static enum tf_memory_fault draw_fault(struct tf_memory_store *server, struct client *client,
                                       enum tf_store_kind kind)
{
    if (kind == TF_STORE_TXN && client->fault != TF_MEMORY_NO_FAULT && client->fault_skip-- == 0) {
        enum tf_memory_fault fault = client->fault;
        client->fault = TF_MEMORY_NO_FAULT;
        return fault;
    }
    for (unsigned f = TF_MEMORY_UNAVAILABLE; f < TF_MEMORY_FAULTS; f++)
        if (server->faults.permille[f] && tf_rng_below(&server->rng, 1000) < server->faults.permille[f])
            return (enum tf_memory_fault)f;
    return TF_MEMORY_NO_FAULT;
}

static void plan_fault(struct tf_memory_store *server, struct pending *p, enum tf_memory_fault fault)
{
    server->counts.faults += fault != TF_MEMORY_NO_FAULT;
    switch (fault) {
    case TF_MEMORY_NO_FAULT:
    case TF_MEMORY_FAULTS:
        break;
    case TF_MEMORY_UNAVAILABLE:
        p->apply_at = TF_NEVER;
        tf_error_set(&p->answer.reply.error, TF_ERR_UNAVAILABLE, "cannot connect to the store");
        break;
    case TF_MEMORY_LOST_REQUEST:
        p->apply_at = TF_NEVER;
        p->lost = true;
        break;
    case TF_MEMORY_LOST_REPLY:
        p->lost = true;
        break;
    case TF_MEMORY_LATE:
        p->apply_at = later(p->deadline, tf_rng_range(&server->rng, 1, 1 + server->faults.late_max_ms));
        p->lost = true;
        break;
    }
}

static void plan(struct tf_memory_store *server, struct client *client, struct pending *p)
{
    int64_t latency =
        tf_rng_range(&server->rng, server->faults.latency_min_ms, server->faults.latency_max_ms);
    p->deadline = later(now_of(server), p->request->timeout_ms);
    p->apply_at = later(now_of(server), latency / 2);
    p->answer_at = later(now_of(server), latency);
    if (tf_store_request_check(p->request, &p->answer.reply.error) != 0) {
        p->apply_at = TF_NEVER;
        p->answer_at = now_of(server);
        return;
    }
    enum tf_memory_fault fault = draw_fault(server, client, p->request->kind);
    if (client->cut)
        fault = TF_MEMORY_LOST_REQUEST;
    else if (server->down)
        fault = TF_MEMORY_UNAVAILABLE;
    plan_fault(server, p, fault);
    if (p->answer_at.ms > p->deadline.ms)
        p->lost = true;
    if (p->lost)
        p->answer_at = p->deadline;
}

static uint64_t client_send(struct tf_store *store, const struct tf_store_request *request,
                            tf_store_done_f done, void *cookie)
{
    struct client *client = (struct client *)(void *)store;
    struct tf_memory_store *server = client->server;
    struct pending *p = pending_create(server);
    p->id = ++server->last_id;
    p->client = client;
    p->request = tf_store_request_keep(request);
    p->done = done;
    p->cookie = cookie;
    plan(server, client, p);
    tf_vec_push(&server->pendings, p);
    lower(&server->next, pending_next_ms(p));
    if (server->first)
        lower(server->first, pending_next_ms(p));
    return p->id;
}

static void client_cancel(struct tf_store *store, uint64_t id)
{
    struct client *client = (struct client *)(void *)store;
    tf_vec_each (p, &client->server->pendings)
        if ((*p)->id == id && (*p)->client == client) {
            (*p)->client = NULL; /* the request itself is on its way */
            return;
        }
}

static void client_destroy(struct tf_store *store)
{
    struct client *client = (struct client *)(void *)store;
    tf_vec_each (p, &client->server->pendings)
        if ((*p)->client == client)
            (*p)->client = NULL;
    client->server->clients--;
    free(client);
}

static const struct tf_store_class client_class = {client_send, client_cancel, client_destroy};

struct tf_store *tf_memory_store_client(struct tf_memory_store *server)
{
    struct client *client = tf_calloc(1, sizeof *client);
    client->store.class = &client_class;
    client->server = server;
    server->clients++;
    return &client->store;
}

/* ---- the server ---- */

struct tf_memory_store *tf_memory_store_create(const struct tf_memory_options *options)
{
    struct tf_memory_store *server = tf_calloc(1, sizeof *server);
    server->map = tf_memory_map_create();
    server->now = options->start;
    server->clock = options->clock;
    server->quota_bytes = options->quota_bytes ? options->quota_bytes : default_quota_bytes;
    server->keep_revisions = options->keep_revisions;
    server->faults.latency_min_ms = server->faults.latency_max_ms = DEFAULT_LATENCY_MS;
    tf_rng_init(&server->rng, options->seed);
    server->next = TF_NEVER;
    server->first = options->first;
    return server;
}

void tf_memory_store_destroy(struct tf_memory_store *server)
{
    if (!server)
        return;
    assert(server->clients == 0);
    tf_vec_each (p, &server->pendings)
        pending_destroy(server, *p);
    tf_vec_release(&server->pendings);
    tf_vec_each (p, &server->spare)
        free(*p);
    tf_vec_release(&server->spare);
    leases_clear(&server->leases);
    tf_memory_map_destroy(server->map);
    free(server);
}

static struct pending *first_pending(const struct tf_memory_store *server)
{
    struct pending *first = NULL;
    tf_vec_each (p, &server->pendings)
        if (!first || pending_next_ms(*p) < pending_next_ms(first))
            first = *p;
    return first;
}

static struct tf_mono find_next(const struct tf_memory_store *server)
{
    const struct pending *p = first_pending(server);
    const struct lease *lease = lease_first_to_end(server);
    int64_t next = p ? pending_next_ms(p) : INT64_MAX;
    if (lease && lease->ends.ms < next)
        next = lease->ends.ms;
    return (struct tf_mono){next};
}

struct tf_mono tf_memory_store_next(struct tf_memory_store *server)
{
    if (server->next_stale)
        server->next = find_next(server);
    server->next_stale = false;
    return server->next;
}

static void do_first(struct tf_memory_store *server)
{
    server->next_stale = true;
    struct pending *p = first_pending(server);
    struct lease *lease = lease_first_to_end(server);
    if (lease && (!p || lease->ends.ms <= pending_next_ms(p))) {
        lease_end(server, lease);
    } else if (p->apply_at.ms <= p->answer_at.ms) {
        p->apply_at = TF_NEVER;
        apply(server, p);
        pending_settle(server, p);
    } else {
        answer(server, p);
    }
}

bool tf_memory_store_advance(struct tf_memory_store *server, struct tf_mono now)
{
    bool done = false;
    for (;;) {
        struct tf_mono next = tf_memory_store_next(server);
        if (next.ms > now.ms)
            break;
        if (next.ms > server->now.ms)
            server->now = next;
        do_first(server);
        done = true;
    }
    if (now.ms > server->now.ms)
        server->now = now;
    return done;
}

void tf_memory_store_faults(struct tf_memory_store *server, const struct tf_memory_faults *faults)
{
    server->faults = *faults;
}

void tf_memory_client_fault(struct tf_store *store, enum tf_memory_fault fault, unsigned skip)
{
    struct client *client = (struct client *)(void *)store;
    client->fault = fault;
    client->fault_skip = skip;
}

void tf_memory_client_cut(struct tf_store *store, bool cut)
{
    ((struct client *)(void *)store)->cut = cut;
}

/* The server loses all it has not applied, and its clients lose their connections at once. */
static void break_connections(struct tf_memory_store *server)
{
    for (size_t i = server->pendings.count; i-- > 0;) {
        struct pending *p = server->pendings.items[i];
        p->apply_at = TF_NEVER;
        if (p->answer_at.ms != INT64_MAX && !p->lost) {
            p->lost = true;
            p->deadline = p->answer_at = now_of(server);
        }
        pending_settle(server, p);
    }
}

void tf_memory_store_down(struct tf_memory_store *server, bool down)
{
    if (down && !server->down)
        break_connections(server);
    if (!down && server->down) /* a server that starts gives all leases their full time */
        for (struct lease *lease = server->leases; lease; lease = lease->hh.next)
            lease->ends = later(now_of(server), lease->ttl_ms);
    server->down = down;
    stir(server);
}

void tf_memory_store_quota(struct tf_memory_store *server, int64_t quota_bytes)
{
    server->quota_bytes = quota_bytes;
    server->full = false;
}

struct tf_memory_snapshot *tf_memory_store_snapshot(const struct tf_memory_store *server)
{
    struct tf_memory_snapshot *snapshot = tf_calloc(1, sizeof *snapshot);
    snapshot->map = tf_memory_map_copy(server->map);
    leases_copy(&snapshot->leases, server->leases, now_of(server));
    return snapshot;
}

void tf_memory_store_restore(struct tf_memory_store *server, const struct tf_memory_snapshot *snapshot)
{
    break_connections(server);
    tf_memory_map_destroy(server->map);
    server->map = tf_memory_map_copy(snapshot->map);
    leases_copy(&server->leases, snapshot->leases, now_of(server));
    server->full = false;
    stir(server);
}

void tf_memory_snapshot_destroy(struct tf_memory_snapshot *snapshot)
{
    if (!snapshot)
        return;
    tf_memory_map_destroy(snapshot->map);
    leases_clear(&snapshot->leases);
    free(snapshot);
}

struct tf_memory_counts tf_memory_store_counts(const struct tf_memory_store *server)
{
    return server->counts;
}

/* ---- looking in from outside ---- */

struct look {
    tf_memory_look_f row;
    void *cookie;
    struct tf_bytes prefix;
};

static bool look_at(void *cookie, struct tf_bytes key, const struct tf_memory_version *version)
{
    const struct look *look = cookie;
    struct tf_store_row row = row_of(key, version);
    look->row(look->cookie, &row);
    return true;
}

void tf_memory_store_look(struct tf_memory_store *server, struct tf_bytes prefix, tf_memory_look_f row,
                          void *cookie)
{
    struct look look = {row, cookie, prefix};
    tf_memory_map_scan(server->map, prefix, (struct tf_bytes){0}, tf_memory_map_revision(server->map),
                       look_at, &look);
}

static void change(void *cookie, struct tf_bytes key, const struct tf_memory_version *version)
{
    const struct look *look = cookie;
    struct tf_store_row row = row_of(key, version);
    row.key = key;
    if (tf_bytes_start_with(key, look->prefix))
        look->row(look->cookie, &row);
}

bool tf_memory_store_changes(struct tf_memory_store *server, struct tf_bytes prefix, tf_memory_look_f row,
                             void *cookie)
{
    struct look look = {row, cookie, prefix};
    return tf_memory_map_changes(server->map, change, &look);
}
