/* SPDX-License-Identifier: Apache-2.0 */
/* Shows the auditor what a store really holds, decoded from its bytes, after every transaction. */
#include "common/wire/records.h"
#include "tools/fedsim/process.h"
#include "tools/fedsim/world.h"

struct look {
    struct sim_world *world;
    struct sim_store *store;
};

static struct sim_seen *seen_of(struct sim_store *store, struct tf_bytes key)
{
    struct sim_seen *seen = NULL;
    HASH_FIND(hh, store->seen, key.data, key.len, seen);
    if (seen)
        return seen;
    seen = tf_calloc(1, sizeof *seen);
    seen->key = tf_strndup(key.data, key.len);
    HASH_ADD_KEYPTR(hh, store->seen, seen->key, key.len, seen);
    return seen;
}

/* What is left in the record afterwards is only to be released: the auditor keeps what it said. */
static void tell(struct sim_world *world, const struct sim_store *store, struct tf_record *record)
{
    world_tell(world, &(struct sim_fact){.kind = SIM_FACT_RECORD, .store = store, .record = record});
    audit_record(world->audit, store->name, record);
}

static bool is_guards(struct tf_bytes key)
{
    static const char *const own[] = {"leader", "owner", "head"};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (tf_bytes_eq(tf_bytes_of(own[i]), key))
            return true;
    return false;
}

static void forget(struct look *look, struct sim_seen *seen)
{
    struct tf_record record = {0};
    if (!tf_wire_record_parse_key(seen->key, strlen(seen->key), &record, NULL)) {
        record.gone = true;
        tell(look->world, look->store, &record);
    }
    tf_record_release(&record);
    HASH_DEL(look->store->seen, seen);
    free(seen->key);
    free(seen);
}

static void see(struct look *look, struct sim_seen *seen, const struct tf_store_row *row)
{
    struct sim_process *writer = look->world->check == SIM_CHECK_END ? look->store->writer : NULL;
    struct tf_record *written = NULL;
    struct tf_record record = {0};
    struct tf_error err = TF_ERROR_INIT;
    seen->there = true;
    if (seen->modified_at == row->modified_at)
        return;
    seen->modified_at = row->modified_at;
    if (writer)
        written = process_written(writer, row->key, row->value);
    if (written) {
        tell(look->world, look->store, written);
        return;
    }
    if (tf_wire_record_unpack(seen->key, strlen(seen->key), row->value.data, row->value.len, &record, &err))
        world_breach(look->world, "a stored record cannot be read back: %s", err.text);
    else
        tell(look->world, look->store, &record);
    tf_record_release(&record);
}

static void row(void *cookie, const struct tf_store_row *row)
{
    struct look *look = cookie;
    size_t prefix = strlen(look->store->prefix);
    struct tf_bytes key = {(const char *)row->key.data + prefix, row->key.len - prefix};
    if (is_guards(key))
        return;
    struct sim_seen *seen = seen_of(look->store, key);
    if (row->created_at == 0)
        forget(look, seen);
    else
        see(look, seen, row);
}

/* What is not there any more is told last. */
static void look_at_all(struct look *look)
{
    struct sim_seen *seen, *next;
    HASH_ITER (hh, look->store->seen, seen, next)
        seen->there = false;
    tf_memory_store_look(look->store->server, tf_bytes_of(look->store->prefix), row, look);
    HASH_ITER (hh, look->store->seen, seen, next)
        if (!seen->there)
            forget(look, seen);
}

void store_look(struct sim_world *world, struct sim_store *store)
{
    uint64_t transactions = tf_memory_store_counts(store->server).transactions;
    if (store->transactions == transactions)
        return;
    store->transactions = transactions;
    world->busy_at = world->agenda.now;
    struct look look = {world, store};
    if (!tf_memory_store_changes(store->server, tf_bytes_of(store->prefix), row, &look))
        look_at_all(&look);
    audit_transaction(world->audit, store->name);
}

/* ---- copies of it ---- */

static void see_nothing(struct sim_store *store)
{
    struct sim_seen *seen, *next;
    HASH_ITER (hh, store->seen, seen, next) {
        HASH_DEL(store->seen, seen);
        free(seen->key);
        free(seen);
    }
}

/* Of the last change that was looked at. */
static int64_t last_revision(const struct sim_store *store)
{
    int64_t last = 0;
    for (const struct sim_seen *seen = store->seen; seen; seen = seen->hh.next)
        last = seen->modified_at > last ? seen->modified_at : last;
    return last;
}

void store_back_up(struct sim_store *store, int64_t moment)
{
    tf_vec_push(&store->copies,
                (struct sim_copy){moment, last_revision(store), tf_memory_store_snapshot(store->server)});
}

const struct sim_copy *store_copy(const struct sim_store *store, int64_t moment)
{
    tf_vec_each (copy, &store->copies)
        if (copy->moment == moment)
            return copy;
    return NULL;
}

static void copies_release(struct sim_store *store)
{
    tf_vec_each (copy, &store->copies)
        tf_memory_snapshot_destroy(copy->snapshot);
    tf_vec_release(&store->copies);
}

static void put(struct sim_world *world, struct sim_store *store, const struct tf_memory_snapshot *snapshot)
{
    store->restores++;
    store_look(world, store);
    tf_memory_store_restore(store->server, snapshot);
    see_nothing(store);
    store->transactions = UINT64_MAX;
    audit_restored(world->audit, store->name);
    store_look(world, store);
}

void store_restore(struct sim_world *world, struct sim_store *store, const struct sim_copy *copy)
{
    put(world, store, copy->snapshot);
}

void store_wipe(struct sim_world *world, struct sim_store *store)
{
    copies_release(store); /* they burn, too */
    put(world, store, store->empty);
}

bool store_has(const struct sim_store *store, const char *key)
{
    const struct sim_seen *seen = NULL;
    HASH_FIND_STR(store->seen, key, seen);
    return seen;
}

void store_release(struct sim_store *store)
{
    copies_release(store);
    tf_memory_snapshot_destroy(store->empty);
    see_nothing(store);
    tf_memory_store_destroy(store->server);
}
