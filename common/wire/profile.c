/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of capacity.proto, and the rows of a profile by columns. Whether a profile makes sense is
 * checked by tf_profile_check, which callers run on what a peer sent. */
#include "common/model/cordon.h"
#include "common/model/freeze.h"
#include "common/wire/tables.h"

#include "common/model/profile.h"

#include "capacity.pb-c.h"

#define MODEL struct tf_generation
#define WIRE Tidefed__V1__Generation
static const struct tf_wire_row generation_rows[] = {WIRE_COUNTER(owner), WIRE_COUNTER(counter)};
const struct tf_wire_table tf_wire_generation =
    WIRE_TABLE(generation_rows, tidefed__v1__generation__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_vector
#define WIRE Tidefed__V1__Vector
static const struct tf_wire_row vector_rows[] = {
    WIRE_INT32(gpus, 0, INT32_MAX),
    WIRE_INT32(slots, 0, INT32_MAX),
    WIRE_INT64(cpu, 0, TF_QUANTITY_MAX),
    WIRE_INT64(memory, 0, TF_QUANTITY_MAX),
};
const struct tf_wire_table tf_wire_vector = WIRE_TABLE(vector_rows, tidefed__v1__vector__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_plane
#define WIRE Tidefed__V1__Plane
static const struct tf_wire_row plane_rows[] = {WIRE_STRING(name), WIRE_STRINGS(levels)};
const struct tf_wire_table tf_wire_plane = WIRE_TABLE(plane_rows, tidefed__v1__plane__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_node_class
#define WIRE Tidefed__V1__NodeClass
static const struct tf_wire_row node_class_rows[] = {
    WIRE_STRING(model),
    WIRE_INT64(gpu_memory, 0, TF_QUANTITY_MAX),
    WIRE_STRINGS(domains),
    WIRE_PAIRS(labels),
};
const struct tf_wire_table tf_wire_node_class =
    WIRE_TABLE(node_class_rows, tidefed__v1__node_class__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_short_demand
#define WIRE Tidefed__V1__ShortDemand
static const struct tf_wire_row short_demand_rows[] = {
    WIRE_UID(uid, TF_WIRE_REQUIRED),
    WIRE_INT32(rank, 0, TF_CLASSES_MAX - 1),
    WIRE_INT32(missing, 0, TF_INSTANCES_MAX),
    WIRE_INT32(fits, 0, TF_INSTANCES_MAX),
};
const struct tf_wire_table tf_wire_short_demand =
    WIRE_TABLE(short_demand_rows, tidefed__v1__short_demand__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_level_cost
#define WIRE Tidefed__V1__LevelCost
static const struct tf_wire_row level_cost_rows[] = {
    WIRE_LEVEL(level),
    WIRE_INT64(gpus, 1, TF_COST_GPUS_MAX),
    WIRE_WALL(since),
    WIRE_INT64(before, 0, INT64_MAX),
};
const struct tf_wire_table tf_wire_level_cost =
    WIRE_TABLE(level_cost_rows, tidefed__v1__level_cost__descriptor);
#undef MODEL
#undef WIRE

#define COUNT(f) WIRE_INT32(f, 0, INT32_MAX)

#define MODEL struct tf_idle_causes
#define WIRE Tidefed__V1__IdleCauses
static const struct tf_wire_row idle_causes_rows[] = {
    COUNT(deliverable), COUNT(count), COUNT(cpu_memory), COUNT(topology),
    COUNT(policy),      COUNT(step),  COUNT(health),
};
const struct tf_wire_table tf_wire_idle_causes =
    WIRE_TABLE(idle_causes_rows, tidefed__v1__idle_causes__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_health_counts
#define WIRE Tidefed__V1__HealthCounts
static const struct tf_wire_row health_counts_rows[] = {
    COUNT(nodes),     COUNT(ready),     COUNT(unreachable),  COUNT(lost),
    COUNT(cordoned),  COUNT(draining),  COUNT(bad_gpus),     COUNT(gpus),
    COUNT(free_gpus), COUNT(held_gpus), COUNT(foreign_gpus), COUNT(suspect_gpus),
};
const struct tf_wire_table tf_wire_health_counts =
    WIRE_TABLE(health_counts_rows, tidefed__v1__health_counts__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_foreign
#define WIRE Tidefed__V1__Foreign
static const struct tf_wire_row foreign_rows[] = {
    WIRE_BITS(gpus),
    COUNT(slots),
    WIRE_INT64(cpu, 0, TF_QUANTITY_MAX),
    WIRE_INT64(memory, 0, TF_QUANTITY_MAX),
};
const struct tf_wire_table tf_wire_foreign = WIRE_TABLE(foreign_rows, tidefed__v1__foreign__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_node
#define WIRE Tidefed__V1__Node
static const struct tf_wire_row node_rows[] = {
    WIRE_NAME(name, TF_WIRE_REQUIRED),
    WIRE_STRING(model),
    WIRE_INT64(gpu_memory, 0, TF_QUANTITY_MAX),
    WIRE_OBJECT(capacity, tf_wire_vector, 0),
    WIRE_PAIRS(labels),
    WIRE_STRINGS(domains),
    WIRE_OBJECT(foreign, tf_wire_foreign, 0),
    WIRE_BITS(bad_gpus),
    WIRE_ENUM(state, 0, TF_NODE_DRAINING),
    WIRE_STRING(address),
    WIRE_BITS(suspect_gpus),
};
const struct tf_wire_table tf_wire_node = WIRE_TABLE(node_rows, tidefed__v1__node__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_gpu_cordon
#define WIRE Tidefed__V1__GpuCordon
static const struct tf_wire_row gpu_cordon_rows[] = {
    WIRE_BITS(gpus),    WIRE_TEXT(reason, TF_WIRE_MESSAGE_MAX), WIRE_WALL(at),
    WIRE_BOOL(suspect), WIRE_ENUM(source, 0, TF_GPU_BY_STARTS),
};
const struct tf_wire_table tf_wire_gpu_cordon =
    WIRE_TABLE(gpu_cordon_rows, tidefed__v1__gpu_cordon__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_gpu_trouble
#define WIRE Tidefed__V1__GpuTrouble
static const struct tf_wire_row gpu_trouble_rows[] = {
    WIRE_INT32(gpu, 0, TF_NODE_GPUS_MAX - 1),
    WIRE_INT32(starts, 0, INT32_MAX),
    WIRE_INT32(jobs, 0, INT32_MAX),
    WIRE_UID(last, 0),
};
const struct tf_wire_table tf_wire_gpu_trouble =
    WIRE_TABLE(gpu_trouble_rows, tidefed__v1__gpu_trouble__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_drain
#define WIRE Tidefed__V1__Drain
static const struct tf_wire_row drain_rows[] = {
    WIRE_BOOL(on),
    WIRE_BOOL(force),
    WIRE_INT32(max_at_once, 0, INT32_MAX),
    WIRE_WALL(deadline),
};
static const struct tf_wire_table wire_drain = WIRE_TABLE(drain_rows, tidefed__v1__drain__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_drain_order
#define WIRE Tidefed__V1__DrainOrder
static const struct tf_wire_row drain_order_rows[] = {
    WIRE_BOOL(on),         WIRE_BOOL(dry), WIRE_BOOL(force), WIRE_INT32(max_at_once, 0, INT32_MAX),
    WIRE_DURATION(within),
};
const struct tf_wire_table tf_wire_drain_order =
    WIRE_TABLE(drain_order_rows, tidefed__v1__drain_order__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_domain_cordon
#define WIRE Tidefed__V1__DomainCordon
static const struct tf_wire_row domain_cordon_rows[] = {
    WIRE_STRING(domain),
    WIRE_TEXT(reason, TF_WIRE_MESSAGE_MAX),
    WIRE_WALL(at),
};
static const struct tf_wire_table wire_domain_cordon =
    WIRE_TABLE(domain_cordon_rows, tidefed__v1__domain_cordon__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_cordon
#define WIRE Tidefed__V1__Cordon
static const struct tf_wire_row cordon_rows[] = {
    WIRE_NAME(node, 0),
    WIRE_BOOL(whole),
    WIRE_TEXT(reason, TF_WIRE_MESSAGE_MAX),
    WIRE_WALL(at),
    WIRE_LIST(gpus, tf_wire_gpu_cordon, TF_NODE_GPUS_MAX),
    WIRE_ENUM(verdict, 0, TF_VERDICT_LOST),
    WIRE_WALL(judged),
    WIRE_OBJECT(drain, wire_drain, 0),
    WIRE_STRING(drained_with),
    WIRE_BOOL(stays),
    WIRE_LIST(trouble, tf_wire_gpu_trouble, TF_NODE_GPUS_MAX),
    WIRE_LIST(domains, wire_domain_cordon, TF_DOMAIN_CORDONS_MAX),
};
const struct tf_wire_table tf_wire_cordon = WIRE_TABLE(cordon_rows, tidefed__v1__cordon__descriptor);
#undef MODEL
#undef WIRE

static int check_freeze(const void *object, const struct tf_wire_path *path, struct tf_error *err)
{
    const char *fault = tf_freeze_fault(object);
    return fault ? tf_wire_error(path, err, "%s", fault) : 0;
}

#define MODEL struct tf_freeze
#define WIRE Tidefed__V1__Freeze
static const struct tf_wire_row freeze_rows[] = {
    WIRE_ENUM(what, 0, TF_FROZEN_MOVES),    WIRE_NAME(cluster, 0), WIRE_WALL(since), WIRE_WALL(until),
    WIRE_TEXT(reason, TF_WIRE_MESSAGE_MAX), WIRE_STRING(user),
};
const struct tf_wire_table tf_wire_freeze =
    WIRE_TABLE(freeze_rows, tidefed__v1__freeze__descriptor, .check = check_freeze);
#undef MODEL
#undef WIRE

/* ---- rows ---- */

struct rows {
    struct tf_profile_row *items;
    size_t count, cap;
};

static int64_t divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* The bounds that the columns can carry; the rest is tf_profile_check's. */
static int check_row(const struct tf_profile_row *row, const struct tf_wire_path *path, struct tf_error *err)
{
    if (row->id >= TF_PROFILE_ROWS_MAX || row->count < 0)
        return tf_wire_error(path, err, "id %u or count %d is out of bounds", row->id, row->count);
    if (row->claim_rank < -1 || row->claim_rank >= TF_CLASSES_MAX || row->claim_until.ms < 0 ||
        row->claim_until.ms > TF_WIRE_MS_MAX)
        return tf_wire_error(path, err, "the claim is out of bounds");
    tf_vec_each (l, &row->levels) {
        const struct tf_vector *have = &l->have;
        if (l->level > TF_LEVEL_TOP || have->gpus < 0 || have->slots < 0 || have->cpu < 0 ||
            have->cpu > TF_QUANTITY_MAX || have->memory < 0 || have->memory > TF_QUANTITY_MAX)
            return tf_wire_error(path, err, "level %d is out of bounds", l->level);
    }
    if (row->reserved.count > TF_RESERVED_MAX)
        return tf_wire_error(path, err, "%zu reservations, at most %d", row->reserved.count, TF_RESERVED_MAX);
    return 0;
}

/* Sizes the columns, and finds the units. */
static int prepare(Tidefed__V1__Rows *columns, const struct rows *rows, struct tf_arena *arena,
                   const struct tf_wire_path *up, struct tf_error *err)
{
    struct tf_wire_path path = *up;
    size_t levels = 0, claims = 0, reserved = 0;
    int64_t cpu = 0, memory = 0;
    if (rows->count > TF_PROFILE_ROWS_MAX)
        return tf_wire_error(up, err, "%zu rows, at most %d", rows->count, TF_PROFILE_ROWS_MAX);
    for (size_t i = 0; i < rows->count; i++) {
        path.index = (int64_t)i;
        if (check_row(&rows->items[i], &path, err))
            return -1;
        tf_vec_each (l, &rows->items[i].levels) {
            cpu = divisor(cpu, l->have.cpu);
            memory = divisor(memory, l->have.memory);
        }
        levels += rows->items[i].levels.count;
        claims += rows->items[i].claim_rank >= 0;
        reserved += rows->items[i].reserved.count;
    }
    columns->cpu_unit = (uint64_t)cpu;
    columns->memory_unit = (uint64_t)memory;
    columns->id = tf_arena_alloc(arena, rows->count, sizeof *columns->id);
    columns->class_ = tf_arena_alloc(arena, rows->count, sizeof *columns->class_);
    columns->count = tf_arena_alloc(arena, rows->count, sizeof *columns->count);
    columns->row_levels = tf_arena_alloc(arena, rows->count, sizeof *columns->row_levels);
    columns->claims = tf_arena_alloc(arena, claims, sizeof *columns->claims);
    columns->reserved = tf_arena_alloc(arena, reserved, sizeof *columns->reserved);
    columns->level = tf_arena_alloc(arena, levels, sizeof *columns->level);
    columns->gpus = tf_arena_alloc(arena, levels, sizeof *columns->gpus);
    columns->slots = tf_arena_alloc(arena, levels, sizeof *columns->slots);
    columns->cpu = tf_arena_alloc(arena, levels, sizeof *columns->cpu);
    columns->memory = tf_arena_alloc(arena, levels, sizeof *columns->memory);
    return 0;
}

/* What is to be sent of a quantity: its difference to the one before it, in units. */
static int64_t in_units(int64_t value, int64_t before, uint64_t unit)
{
    return unit > 1 ? (value - before) / (int64_t)unit : value - before;
}

static void put_levels(Tidefed__V1__Rows *columns, const struct tf_level_vectors *levels)
{
    struct tf_vector before = {0};
    tf_vec_each (l, levels) {
        const struct tf_vector *have = &l->have;
        columns->level[columns->n_level++] = l->level;
        columns->gpus[columns->n_gpus++] = have->gpus - before.gpus;
        columns->slots[columns->n_slots++] = have->slots - before.slots;
        columns->cpu[columns->n_cpu++] = in_units(have->cpu, before.cpu, columns->cpu_unit);
        columns->memory[columns->n_memory++] = in_units(have->memory, before.memory, columns->memory_unit);
        before = *have;
    }
}

static void put_claim(Tidefed__V1__Rows *columns, const struct tf_profile_row *row, size_t index,
                      struct tf_arena *arena)
{
    if (row->claim_rank < 0)
        return;
    Tidefed__V1__RowClaim *claim = tf_wire_message(&tidefed__v1__row_claim__descriptor, arena);
    claim->row = (uint32_t)index;
    claim->rank = (uint32_t)row->claim_rank;
    claim->until = (uint64_t)row->claim_until.ms;
    columns->claims[columns->n_claims++] = claim;
}

#define MODEL struct tf_reserved
#define WIRE Tidefed__V1__RowReserved
static const struct tf_wire_row reserved_rows[] = {
    WIRE_UID(uid, TF_WIRE_REQUIRED),
    WIRE_LEVEL(level),
    WIRE_OBJECT(more, tf_wire_vector, 0),
};
static const struct tf_wire_table wire_reserved =
    WIRE_TABLE(reserved_rows, tidefed__v1__row_reserved__descriptor);
#undef MODEL
#undef WIRE

static int put_reserved(Tidefed__V1__Rows *columns, const struct tf_profile_row *row, size_t index,
                        struct tf_arena *arena, const struct tf_wire_path *path, struct tf_error *err)
{
    tf_vec_each (r, &row->reserved) {
        ProtobufCMessage *message = tf_wire_encode(&wire_reserved, r, arena, path, err);
        if (!message)
            return -1;
        Tidefed__V1__RowReserved *reserved = (void *)message;
        reserved->row = (uint32_t)index;
        columns->reserved[columns->n_reserved++] = reserved;
    }
    return 0;
}

static int encode_rows(const void *field, struct tf_arena *arena, const struct tf_wire_path *path,
                       ProtobufCMessage **message, struct tf_error *err)
{
    struct rows rows;
    memcpy(&rows, field, sizeof rows);
    if (rows.count == 0)
        return 0;
    Tidefed__V1__Rows *columns = tf_wire_message(&tidefed__v1__rows__descriptor, arena);
    if (prepare(columns, &rows, arena, path, err))
        return -1;
    for (size_t i = 0; i < rows.count; i++) {
        const struct tf_profile_row *row = &rows.items[i];
        columns->id[columns->n_id++] = (int32_t)row->id - (int32_t)(i > 0 ? row[-1].id : 0);
        columns->class_[columns->n_class_++] = row->class;
        columns->count[columns->n_count++] = (uint32_t)row->count;
        columns->row_levels[columns->n_row_levels++] = (uint32_t)row->levels.count;
        put_levels(columns, &row->levels);
        put_claim(columns, row, i, arena);
        if (put_reserved(columns, row, i, arena, path, err))
            return -1;
    }
    *message = &columns->base;
    return 0;
}

static int check_columns(const Tidefed__V1__Rows *c, const struct tf_wire_path *path, struct tf_error *err)
{
    size_t rows = c->n_id, levels = 0;
    if (rows > TF_PROFILE_ROWS_MAX)
        return tf_wire_error(path, err, "%zu rows, at most %d", rows, TF_PROFILE_ROWS_MAX);
    if (c->n_class_ != rows || c->n_count != rows || c->n_row_levels != rows || c->n_claims > rows ||
        c->n_reserved > rows * TF_RESERVED_MAX)
        return tf_wire_error(path, err, "columns of rows differ in length");
    for (size_t i = 0; i < rows; i++) {
        if (c->row_levels[i] > TF_LEVEL_TOP + 1)
            return tf_wire_error(path, err, "row %zu has %u levels", i, c->row_levels[i]);
        levels += c->row_levels[i];
    }
    if (c->n_level != levels || c->n_gpus != levels || c->n_slots != levels || c->n_cpu != levels ||
        c->n_memory != levels)
        return tf_wire_error(path, err, "columns of levels differ in length");
    if (c->cpu_unit > (uint64_t)TF_QUANTITY_MAX || c->memory_unit > (uint64_t)TF_QUANTITY_MAX)
        return tf_wire_error(path, err, "a unit is out of bounds");
    return 0;
}

/* before + times x unit; -1 (which no quantity is) when that is out of bounds. */
static int64_t from_units(int64_t times, int64_t before, uint64_t unit)
{
    int64_t more, sum;
    if (__builtin_mul_overflow(times, unit > 1 ? (int64_t)unit : 1, &more) ||
        __builtin_add_overflow(before, more, &sum) || sum < 0 || sum > TF_QUANTITY_MAX)
        return -1;
    return sum;
}

static int32_t sum32(int32_t a, int32_t b)
{
    int32_t sum;
    return __builtin_add_overflow(a, b, &sum) ? -1 : sum;
}

/* Reads the levels of one row from entry *at on. */
static int get_levels(const Tidefed__V1__Rows *columns, size_t *at, size_t count,
                      struct tf_level_vectors *levels, const struct tf_wire_path *path, struct tf_error *err)
{
    struct tf_vector have = {0};
    tf_vec_reserve(levels, count);
    for (size_t k = 0; k < count; k++, (*at)++) {
        have.gpus = sum32(have.gpus, columns->gpus[*at]);
        have.slots = sum32(have.slots, columns->slots[*at]);
        have.cpu = from_units(columns->cpu[*at], have.cpu, columns->cpu_unit);
        have.memory = from_units(columns->memory[*at], have.memory, columns->memory_unit);
        if (columns->level[*at] > TF_LEVEL_TOP || have.gpus < 0 || have.slots < 0 || have.cpu < 0 ||
            have.memory < 0)
            return tf_wire_error(path, err, "level %u is out of bounds", columns->level[*at]);
        struct tf_level_vector vector = {.level = (tf_level)columns->level[*at], .have = have};
        tf_vec_push(levels, vector);
    }
    return 0;
}

static int get_claims(const Tidefed__V1__Rows *columns, struct rows *rows, const struct tf_wire_path *path,
                      struct tf_error *err)
{
    for (size_t i = 0; i < columns->n_claims; i++) {
        const Tidefed__V1__RowClaim *claim = columns->claims[i];
        if (claim->row >= rows->count || claim->rank >= TF_CLASSES_MAX ||
            claim->until > (uint64_t)TF_WIRE_MS_MAX || (i > 0 && claim->row <= columns->claims[i - 1]->row))
            return tf_wire_error(path, err, "claim %zu is out of bounds or order", i);
        rows->items[claim->row].claim_rank = (int)claim->rank;
        rows->items[claim->row].claim_until.ms = (int64_t)claim->until;
    }
    return 0;
}

static int get_reserved(const Tidefed__V1__Rows *columns, struct rows *rows, const struct tf_wire_path *path,
                        struct tf_error *err)
{
    for (size_t i = 0; i < columns->n_reserved; i++) {
        const Tidefed__V1__RowReserved *from = columns->reserved[i];
        if (from->row >= rows->count || (i > 0 && from->row < columns->reserved[i - 1]->row))
            return tf_wire_error(path, err, "reserved entry %zu is out of bounds or order", i);
        struct tf_profile_row *row = &rows->items[from->row];
        if (row->reserved.count >= TF_RESERVED_MAX)
            return tf_wire_error(path, err, "row %u has too many reservations", row->id);
        if (tf_wire_decode(&wire_reserved, &from->base, tf_vec_add(&row->reserved), path, err))
            return -1;
    }
    return 0;
}

static int decode_rows(const ProtobufCMessage *message, void *field, const struct tf_wire_path *up,
                       struct tf_error *err)
{
    const Tidefed__V1__Rows *columns = (const void *)message;
    if (check_columns(columns, up, err))
        return -1;
    if (columns->n_id == 0)
        return 0;
    struct tf_wire_path path = *up;
    struct rows rows = {tf_calloc(columns->n_id, sizeof *rows.items), columns->n_id, columns->n_id};
    memcpy(field, &rows, sizeof rows);
    uint32_t id = 0;
    size_t level = 0;
    for (size_t i = 0; i < rows.count; i++) {
        struct tf_profile_row *row = &rows.items[i];
        path.index = (int64_t)i;
        row->id = id += (uint32_t)columns->id[i];
        row->class = columns->class_[i];
        row->claim_rank = -1;
        if (id >= TF_PROFILE_ROWS_MAX || columns->count[i] > INT32_MAX)
            return tf_wire_error(&path, err, "id %u or count %u is out of bounds", id, columns->count[i]);
        row->count = (int32_t)columns->count[i];
        if (get_levels(columns, &level, columns->row_levels[i], &row->levels, &path, err))
            return -1;
    }
    return get_claims(columns, &rows, up, err) || get_reserved(columns, &rows, up, err) ? -1 : 0;
}

static void release_rows(void *field)
{
    struct rows rows;
    memcpy(&rows, field, sizeof rows);
    for (size_t i = 0; i < rows.count; i++)
        tf_profile_row_release(&rows.items[i]);
    free(rows.items);
}

static const struct tf_wire_custom rows_columns = {encode_rows, decode_rows, release_rows};

#define MODEL struct tf_vacatable
#define WIRE Tidefed__V1__Vacatable
static const struct tf_wire_row vacatable_rows[] = {
    {.name = "class",
     .kind = TF_WIRE_UINT32,
     .model = offsetof(MODEL, class),
     .wire = offsetof(WIRE, class_), /* a word of C++ */
     .max = TF_PROFILE_CLASSES_MAX - 1},
    WIRE_INT32(nodes, 0, TF_PROFILE_ROWS_MAX),
    WIRE_OBJECT(room, tf_wire_vector, 0),
    WIRE_INT64(cost, 0, TF_GPU_SECONDS_MAX),
};
static const struct tf_wire_table wire_vacatable =
    WIRE_TABLE(vacatable_rows, tidefed__v1__vacatable__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_emptying
#define WIRE Tidefed__V1__Emptying
static const struct tf_wire_row emptying_rows[] = {
    WIRE_UID(chain, 0),
    WIRE_STRING(owner, ),
    {.name = "class",
     .kind = TF_WIRE_UINT32,
     .model = offsetof(MODEL, class),
     .wire = offsetof(WIRE, class_),
     .max = TF_PROFILE_CLASSES_MAX - 1},
    WIRE_INT32(nodes, 0, TF_PROFILE_ROWS_MAX),
    WIRE_OBJECT(room, tf_wire_vector, 0),
};
static const struct tf_wire_table wire_emptying =
    WIRE_TABLE(emptying_rows, tidefed__v1__emptying__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_profile
#define WIRE Tidefed__V1__Profile
static const struct tf_wire_row profile_rows[] = {
    {.name = "base_generation",
     .kind = TF_WIRE_OBJECT,
     .model = offsetof(MODEL, base),
     .wire = offsetof(WIRE, base_generation), /* protobuf-c has a "base" of its own */
     .table = &tf_wire_generation},
    WIRE_OBJECT(generation, tf_wire_generation, 0),
    WIRE_BOOL(full),
    WIRE_OBJECT(reflects_term, tf_wire_term, 0),
    WIRE_COUNTER(reflects_n),
    WIRE_LIST(planes, tf_wire_plane, 64),
    WIRE_LIST(classes, tf_wire_node_class, TF_PROFILE_CLASSES_MAX),
    WIRE_CUSTOM(rows, rows_columns),
    WIRE_LIST(shorts, tf_wire_short_demand, 65536),
    WIRE_LIST(costs, tf_wire_level_cost, TF_LEVEL_TOP + 1),
    WIRE_OBJECT(idle, tf_wire_idle_causes, 0),
    WIRE_OBJECT(health, tf_wire_health_counts, 0),
    COUNT(brakes),
    WIRE_LIST(vacatable, wire_vacatable, TF_PROFILE_CLASSES_MAX),
    WIRE_DURATION(loss_cap),
    WIRE_STRINGS(moving_for),
    WIRE_LIST(emptying, wire_emptying, TF_PROFILE_CLASSES_MAX),
};
const struct tf_wire_table tf_wire_profile = WIRE_TABLE(profile_rows, tidefed__v1__profile__descriptor);
#undef MODEL
#undef WIRE
