/* SPDX-License-Identifier: Apache-2.0 */
/* Members by columns: between a list of tf_member and the message Members, by way of one message Member each,
 * whose table (spec.c) has the rules. */
#include "common/wire/tables.h"

#include "common/model/record.h"

enum { MEMBERS_MAX = 2 * TF_INSTANCES_MAX }; /* two of an index while one is being replaced */

struct members {
    struct tf_member *items;
    size_t count, cap;
};

static const Tidefed__V1__Member zero_member = TIDEFED__V1__MEMBER__INIT;

static uint32_t shared_prefix(const char *a, const char *b)
{
    uint32_t n = 0;
    while (a[n] && a[n] == b[n])
        n++;
    return n;
}

/* One column, of values made from member m and the one before it; it stays empty if all are 0. */
#define COLUMN(field, value)                                                             \
    do {                                                                                 \
        for (size_t i_ = 0; i_ < count; i_++) {                                          \
            const Tidefed__V1__Member *m = members[i_];                                  \
            const Tidefed__V1__Member *before = i_ > 0 ? members[i_ - 1] : &zero_member; \
            (void)before;                                                                \
            __typeof__(*columns->field) value_ = (value);                                \
            if (value_ == 0)                                                             \
                continue;                                                                \
            if (columns->n_##field == 0)                                                 \
                columns->field = tf_arena_alloc(arena, count, sizeof value_);            \
            columns->n_##field = count;                                                  \
            columns->field[i_] = value_;                                                 \
        }                                                                                \
    } while (0)

static void put_ports(Tidefed__V1__Members *columns, Tidefed__V1__Member *const *members, size_t count,
                      struct tf_arena *arena)
{
    size_t total = 0;
    for (size_t i = 0; i < count; i++)
        total += members[i]->n_ports;
    columns->ports = tf_arena_alloc(arena, total, sizeof *columns->ports);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < members[i]->n_ports; k++)
            columns->ports[columns->n_ports++] = members[i]->ports[k];
    COLUMN(port_count, (uint32_t)m->n_ports);
}

static void put_columns(Tidefed__V1__Members *columns, Tidefed__V1__Member *const *members, size_t count,
                        struct tf_arena *arena)
{
    COLUMN(index, (int32_t)m->index - (int32_t)before->index);
    if (columns->n_index == 0)
        columns->index = tf_arena_alloc(arena, count, sizeof *columns->index);
    columns->n_index = count;
    COLUMN(attempt, m->attempt);
    COLUMN(node_shared, shared_prefix(m->node, before->node));
    COLUMN(node_rest, m->node + shared_prefix(m->node, before->node));
    COLUMN(gpus, m->gpus);
    COLUMN(mark, m->mark);
    COLUMN(state, m->state);
    COLUMN(started, (int64_t)(m->started - before->started));
    COLUMN(ready, (int64_t)(m->ready - before->ready));
    COLUMN(ended, (int64_t)(m->ended - before->ended));
    COLUMN(retry_at, (int64_t)(m->retry_at - before->retry_at));
    COLUMN(exit_code, m->exit_code);
    COLUMN(role, m->role);
    COLUMN(attempts, m->attempts);
    put_ports(columns, members, count, arena);
}

static int encode(const void *field, struct tf_arena *arena, const struct tf_wire_path *up,
                  ProtobufCMessage **message, struct tf_error *err)
{
    struct members list;
    memcpy(&list, field, sizeof list);
    if (list.count == 0)
        return 0;
    struct tf_wire_path path = *up;
    if (list.count > MEMBERS_MAX)
        return tf_wire_error(&path, err, "%zu members, at most %d", list.count, MEMBERS_MAX);
    Tidefed__V1__Member **members = tf_arena_alloc(arena, list.count, sizeof *members);
    for (size_t i = 0; i < list.count; i++) {
        path.index = (int64_t)i;
        members[i] = (void *)tf_wire_encode(&tf_wire_member, &list.items[i], arena, &path, err);
        if (!members[i])
            return -1;
    }
    Tidefed__V1__Members *columns = tf_wire_message(&tidefed__v1__members__descriptor, arena);
    put_columns(columns, members, list.count, arena);
    *message = &columns->base;
    return 0;
}

/* A column has an entry for each member, or none. */
static int check_columns(const Tidefed__V1__Members *m, const struct tf_wire_path *path, struct tf_error *err)
{
    const struct {
        const char *name;
        size_t count;
    } columns[] = {
        {"attempt", m->n_attempt},     {"node_shared", m->n_node_shared},
        {"node_rest", m->n_node_rest}, {"gpus", m->n_gpus},
        {"mark", m->n_mark},           {"state", m->n_state},
        {"started", m->n_started},     {"ready", m->n_ready},
        {"ended", m->n_ended},         {"retry_at", m->n_retry_at},
        {"exit_code", m->n_exit_code}, {"port_count", m->n_port_count},
        {"role", m->n_role},           {"attempts", m->n_attempts},
    };
    if (m->n_index > MEMBERS_MAX)
        return tf_wire_error(path, err, "%zu members, at most %d", m->n_index, MEMBERS_MAX);
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        if (columns[i].count != 0 && columns[i].count != m->n_index)
            return tf_wire_error(path, err, "%zu of %s for %zu members", columns[i].count, columns[i].name,
                                 m->n_index);
    return 0;
}

/* The name of member i's node, made of that of the one before it, which is in name. */
static int next_name(const Tidefed__V1__Members *columns, size_t i, char name[TF_NAME_MAX + 1],
                     const struct tf_wire_path *path, struct tf_error *err)
{
    size_t shared = columns->n_node_shared ? columns->node_shared[i] : 0;
    const char *rest = columns->n_node_rest ? columns->node_rest[i] : "";
    size_t len = strlen(rest);
    if (shared > strlen(name) || len > TF_NAME_MAX - shared)
        return tf_wire_error(path, err, "the name of the node has too many bytes");
    memcpy(name + shared, rest, len + 1);
    return 0;
}

#define CELL(field) (columns->n_##field ? columns->field[i] : 0)

/* Member i, from the one before it. Sums wrap; the table refuses what is out of bounds. */
static int next_member(const Tidefed__V1__Members *columns, size_t i, size_t *port, Tidefed__V1__Member *m,
                       const struct tf_wire_path *path, struct tf_error *err)
{
    m->index += (uint32_t)columns->index[i];
    m->attempt = CELL(attempt);
    m->gpus = CELL(gpus);
    m->mark = CELL(mark);
    m->state = CELL(state);
    m->started += (uint64_t)CELL(started);
    m->ready += (uint64_t)CELL(ready);
    m->ended += (uint64_t)CELL(ended);
    m->retry_at += (uint64_t)CELL(retry_at);
    m->exit_code = CELL(exit_code);
    m->role = CELL(role);
    m->attempts = CELL(attempts);
    m->n_ports = CELL(port_count);
    if (m->n_ports > columns->n_ports - *port)
        return tf_wire_error(path, err, "has more ports than there are");
    m->ports = columns->ports ? columns->ports + *port : NULL;
    *port += m->n_ports;
    return next_name(columns, i, m->node, path, err);
}

static int decode(const ProtobufCMessage *message, void *field, const struct tf_wire_path *up,
                  struct tf_error *err)
{
    const Tidefed__V1__Members *columns = (const void *)message;
    struct tf_wire_path path = *up;
    if (check_columns(columns, &path, err))
        return -1;
    if (columns->n_index == 0)
        return 0;
    struct members list = {.items = tf_calloc(columns->n_index, sizeof *list.items),
                           .count = columns->n_index,
                           .cap = columns->n_index};
    memcpy(field, &list, sizeof list);
    char name[TF_NAME_MAX + 1] = "";
    Tidefed__V1__Member m = zero_member;
    m.node = name;
    size_t port = 0;
    for (size_t i = 0; i < list.count; i++) {
        path.index = (int64_t)i;
        if (next_member(columns, i, &port, &m, &path, err) ||
            tf_wire_decode(&tf_wire_member, &m.base, &list.items[i], &path, err))
            return -1;
    }
    return port == columns->n_ports ? 0 : tf_wire_error(up, err, "has more ports than its members");
}

static void release(void *field)
{
    struct members list;
    memcpy(&list, field, sizeof list);
    for (size_t i = 0; i < list.count; i++)
        tf_member_release(&list.items[i]);
    free(list.items);
}

const struct tf_wire_custom tf_wire_members = {encode, decode, release};
