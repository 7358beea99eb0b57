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
    tf_vec_each (seen, &store->seen)
        if (tf_bytes_eq(tf_bytes_of(seen->key), key))
            return seen;
    struct sim_seen *seen = tf_vec_add(&store->seen);
    seen->key = tf_strndup(key.data, key.len);
    return seen;
}

static bool is_guards(struct tf_bytes key)
{
    static const char *const own[] = {"leader", "owner", "head"};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (tf_bytes_eq(tf_bytes_of(own[i]), key))
            return true;
    return false;
}

static void row(void *cookie, const struct tf_store_row *row)
{
    struct look *look = cookie;
    size_t prefix = strlen(look->store->prefix);
    struct tf_bytes key = {(const char *)row->key.data + prefix, row->key.len - prefix};
    if (is_guards(key))
        return;
    struct sim_seen *seen = seen_of(look->store, key);
    seen->there = true;
    if (seen->modified_at == row->modified_at)
        return;
    seen->modified_at = row->modified_at;
    struct tf_record record = {0};
    struct tf_error err = TF_ERROR_INIT;
    if (tf_wire_record_unpack(key.data, key.len, row->value.data, row->value.len, &record, &err))
        world_breach(look->world, "a stored record cannot be read back: %s", err.text);
    else
        audit_record(look->world->audit, look->store->name, &record);
    tf_record_release(&record);
}

static void tell_gone(struct sim_world *world, struct sim_store *store, const struct sim_seen *seen)
{
    struct tf_record record = {0};
    if (!tf_wire_record_parse_key(seen->key, strlen(seen->key), &record, NULL)) {
        record.gone = true;
        audit_record(world->audit, store->name, &record);
    }
    tf_record_release(&record);
}

void store_look(struct sim_world *world, struct sim_store *store)
{
    uint64_t transactions = tf_memory_store_counts(store->server).transactions;
    if (store->transactions == transactions)
        return;
    store->transactions = transactions;
    world->busy_at = world->agenda.now;
    tf_vec_each (seen, &store->seen)
        seen->there = false;
    struct look look = {world, store};
    tf_memory_store_look(store->server, tf_bytes_of(store->prefix), row, &look);
    for (size_t i = store->seen.count; i-- > 0;) {
        struct sim_seen *seen = &store->seen.items[i];
        if (seen->there)
            continue;
        tell_gone(world, store, seen);
        free(seen->key);
        tf_vec_remove(&store->seen, i);
    }
    audit_transaction(world->audit, store->name);
}

void store_release(struct sim_store *store)
{
    tf_vec_each (seen, &store->seen)
        free(seen->key);
    tf_vec_release(&store->seen);
    tf_memory_store_destroy(store->server);
}
