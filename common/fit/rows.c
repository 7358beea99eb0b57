/* SPDX-License-Identifier: Apache-2.0 */
/* Rows by content: a table of slots, of which a row's id is the index, and a hash of class, claim and vectors
 * that finds the slot. A slot without nodes keeps its content, so that what is undone finds its row again
 * under the same id. */
#include "common/fit/rows.h"

#include "common/base/buf.h"
#include "common/fit/columns.h"

#include <assert.h>

#define SLOT_NONE UINT32_MAX

struct slot {
    uint64_t hash;
    uint32_t next;  /* in its bucket */
    bool listed;    /* has content, and is in the table */
    bool changed;   /* since the mark; in `changed` */
    bool announced; /* had nodes at the mark */
};

struct tf_fit_rows {
    struct tf_catalog catalog;
    TF_VEC(struct tf_node_class) classes;
    struct tf_intern class_keys;
    TF_VEC(uint32_t) class_of_key;
    size_t marked_classes;
    TF_VEC(struct tf_profile_row) rows;
    TF_VEC(struct slot) slots; /* beside rows */
    TF_VEC(uint32_t) buckets;  /* a power of two of them */
    TF_VEC(uint32_t) vacant;   /* slots without content */
    TF_VEC(uint32_t) emptied;  /* slots that lost their last node; some may have nodes again */
    TF_VEC(uint32_t) changed;
    size_t listed;
    struct tf_fit_columns columns; /* of rows */
};

/* ---- the table ---- */

static uint64_t mix_in(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static uint64_t content_hash(const struct tf_profile_row *row)
{
    uint64_t hash = mix_in(row->class, (uint64_t)(int64_t)row->claim_rank);
    hash = mix_in(hash, (uint64_t)row->claim_until.ms);
    tf_vec_each (at, &row->levels) {
        hash = mix_in(hash, (uint64_t)at->level << 32 | (uint32_t)at->have.gpus);
        hash = mix_in(hash, (uint64_t)at->have.cpu);
        hash = mix_in(hash, (uint64_t)at->have.memory << 16 ^ (uint32_t)at->have.slots);
    }
    tf_vec_each (r, &row->reserved) {
        uint64_t first;
        memcpy(&first, r->uid.bytes, sizeof first);
        hash = mix_in(hash, first ^ (uint64_t)r->more.gpus << 56);
    }
    return hash;
}

static uint32_t *bucket_of(const struct tf_fit_rows *rows, uint64_t hash)
{
    return &rows->buckets.items[hash & (rows->buckets.count - 1)];
}

static void set_count(struct tf_fit_rows *rows, uint32_t id, int32_t nodes)
{
    struct tf_profile_row *row = &rows->rows.items[id];
    row->count = nodes;
    fit_columns_count(&rows->columns, id, rows->catalog.classes.items[row->class].model, nodes);
}

static void rebuild_buckets(struct tf_fit_rows *rows, size_t count)
{
    tf_vec_reserve(&rows->buckets, count);
    rows->buckets.count = count;
    memset(rows->buckets.items, 0xff, count * sizeof *rows->buckets.items);
    for (uint32_t i = 0; i < rows->slots.count; i++) {
        struct slot *slot = &rows->slots.items[i];
        if (!slot->listed)
            continue;
        uint32_t *bucket = bucket_of(rows, slot->hash);
        slot->next = *bucket;
        *bucket = i;
    }
}

static void list_slot(struct tf_fit_rows *rows, uint32_t id)
{
    if (++rows->listed > rows->buckets.count)
        rebuild_buckets(rows, 2 * rows->buckets.count);
    struct slot *slot = &rows->slots.items[id];
    slot->hash = content_hash(&rows->rows.items[id]);
    slot->listed = true;
    uint32_t *bucket = bucket_of(rows, slot->hash);
    slot->next = *bucket;
    *bucket = id;
    fit_columns_set(&rows->columns, id, &rows->rows.items[id]);
    set_count(rows, id, rows->rows.items[id].count);
}

/* Forgets the content; the id may be used for another. */
static void unlist_slot(struct tf_fit_rows *rows, uint32_t id)
{
    struct slot *slot = &rows->slots.items[id];
    uint32_t *link = bucket_of(rows, slot->hash);
    while (*link != id)
        link = &rows->slots.items[*link].next;
    *link = slot->next;
    slot->listed = false;
    rows->listed--;
    set_count(rows, id, 0);
    tf_profile_row_release(&rows->rows.items[id]);
}

static uint32_t find_like(const struct tf_fit_rows *rows, const struct tf_profile_row *like)
{
    uint64_t hash = content_hash(like);
    for (uint32_t id = *bucket_of(rows, hash); id != SLOT_NONE; id = rows->slots.items[id].next)
        if (rows->slots.items[id].hash == hash && tf_profile_row_alike(&rows->rows.items[id], like))
            return id;
    return SLOT_NONE;
}

static void note_change(struct tf_fit_rows *rows, uint32_t id)
{
    if (rows->slots.items[id].changed)
        return;
    rows->slots.items[id].changed = true;
    tf_vec_push(&rows->changed, id);
}

static void drop_emptied(struct tf_fit_rows *rows)
{
    tf_vec_each (id, &rows->emptied) {
        if (!rows->slots.items[*id].listed || rows->rows.items[*id].count > 0)
            continue;
        unlist_slot(rows, *id);
        tf_vec_push(&rows->vacant, *id);
    }
    rows->emptied.count = 0;
}

static uint32_t append_slot(struct tf_fit_rows *rows)
{
    tf_vec_push(&rows->rows, (struct tf_profile_row){.claim_rank = -1});
    tf_vec_push(&rows->slots, (struct slot){.next = SLOT_NONE});
    fit_columns_set(&rows->columns, (uint32_t)(rows->rows.count - 1),
                    &rows->rows.items[rows->rows.count - 1]);
    return (uint32_t)(rows->rows.count - 1);
}

/* A slot without content. Ids in `vacant` may have been given content by id since: those are passed over. */
static uint32_t take_slot(struct tf_fit_rows *rows)
{
    while (rows->vacant.count > 0) {
        uint32_t id = rows->vacant.items[--rows->vacant.count];
        if (!rows->slots.items[id].listed)
            return id;
    }
    return append_slot(rows);
}

/* ---- life ---- */

struct tf_fit_rows *tf_fit_rows_create(const struct tf_planes *planes)
{
    struct tf_fit_rows *rows = tf_calloc(1, sizeof *rows);
    tf_catalog_init(&rows->catalog, planes);
    rebuild_buckets(rows, 64);
    return rows;
}

static void clear(struct tf_fit_rows *rows)
{
    tf_vec_each (row, &rows->rows)
        tf_profile_row_release(row);
    tf_vec_each (class, &rows->classes)
        tf_node_class_release(class);
    tf_intern_release(&rows->class_keys);
    rows->rows.count = rows->slots.count = rows->classes.count = rows->class_of_key.count = 0;
    rows->vacant.count = rows->emptied.count = rows->changed.count = 0;
    rows->listed = rows->marked_classes = 0;
    fit_columns_clear(&rows->columns);
    rebuild_buckets(rows, rows->buckets.count);
}

void tf_fit_rows_destroy(struct tf_fit_rows *rows)
{
    if (!rows)
        return;
    clear(rows);
    tf_catalog_release(&rows->catalog);
    tf_vec_release(&rows->classes);
    tf_vec_release(&rows->class_of_key);
    tf_vec_release(&rows->rows);
    tf_vec_release(&rows->slots);
    tf_vec_release(&rows->buckets);
    tf_vec_release(&rows->vacant);
    tf_vec_release(&rows->emptied);
    tf_vec_release(&rows->changed);
    fit_columns_release(&rows->columns);
    free(rows);
}

struct tf_fit_view tf_fit_rows_view(const struct tf_fit_rows *rows)
{
    return (struct tf_fit_view){&rows->catalog, rows->rows.items, rows->rows.count, &rows->columns};
}

/* ---- classes ---- */

static void class_key(const struct tf_node_class *class, struct tf_buf *key)
{
    tf_buf_cat(key, class->model ? class->model : "", "\n");
    tf_buf_int(key, class->gpu_memory);
    tf_vec_each (domain, &class->domains)
        tf_buf_cat(key, "\n", *domain);
    tf_vec_each (label, &class->labels)
        tf_buf_cat(key, "\n\n", label->key, "\n", label->value);
}

static uint32_t append_class(struct tf_fit_rows *rows, const struct tf_node_class *class)
{
    TF_AUTO_BUF key = TF_BUF_INIT;
    class_key(class, &key);
    uint32_t index = tf_catalog_add(&rows->catalog, class);
    tf_node_class_copy(tf_vec_add(&rows->classes), class);
    if ((size_t)tf_intern_add(&rows->class_keys, tf_buf_text(&key)) == rows->class_of_key.count)
        tf_vec_push(&rows->class_of_key, index);
    return index;
}

uint32_t tf_fit_rows_class(struct tf_fit_rows *rows, const struct tf_node_class *class)
{
    TF_AUTO_BUF key = TF_BUF_INIT;
    class_key(class, &key);
    int32_t known = tf_intern_find(&rows->class_keys, tf_buf_text(&key));
    return known >= 0 ? rows->class_of_key.items[known] : append_class(rows, class);
}

size_t tf_fit_rows_class_count(const struct tf_fit_rows *rows)
{
    return rows->classes.count;
}

/* ---- nodes ---- */

uint32_t tf_fit_rows_add(struct tf_fit_rows *rows, const struct tf_profile_row *like, int32_t nodes)
{
    assert(nodes > 0 && like->class < rows->classes.count);
    uint32_t id = find_like(rows, like);
    if (id == SLOT_NONE) {
        struct tf_profile_row made = {0};
        tf_profile_row_copy(&made, like);
        made.id = id = take_slot(rows);
        made.count = 0;
        rows->rows.items[id] = made;
        list_slot(rows, id);
    }
    set_count(rows, id, rows->rows.items[id].count + nodes);
    note_change(rows, id);
    return id;
}

void tf_fit_rows_drop(struct tf_fit_rows *rows, uint32_t row, int32_t nodes)
{
    assert(row < rows->rows.count && rows->rows.items[row].count >= nodes);
    set_count(rows, row, rows->rows.items[row].count - nodes);
    if (rows->rows.items[row].count == 0)
        tf_vec_push(&rows->emptied, row);
    note_change(rows, row);
}

int64_t tf_fit_rows_at_most(const struct tf_fit_rows *rows, int32_t model, int32_t gpus)
{
    assert(gpus > 0);
    if ((size_t)model >= rows->columns.models.count)
        return 0;
    const int64_t *at_least = rows->columns.models.items[model].at_least;
    int64_t count = 0;
    for (int32_t taken = gpus; taken <= TF_NODE_GPUS_MAX && at_least[taken] > 0; taken += gpus)
        count += at_least[taken];
    return count;
}

uint32_t tf_fit_rows_move(struct tf_fit_rows *rows, uint32_t from, const struct tf_profile_row *like)
{
    if (tf_profile_row_alike(&rows->rows.items[from], like))
        return from;
    uint32_t to = tf_fit_rows_add(rows, like, 1);
    tf_fit_rows_drop(rows, from, 1);
    return to;
}

/* ---- profiles ---- */

static void export_class(struct tf_profile *profile, const struct tf_node_class *class)
{
    tf_node_class_copy(tf_vec_add(&profile->classes), class);
}

static void export_row(struct tf_profile *profile, const struct tf_profile_row *row)
{
    tf_profile_row_copy(tf_vec_add(&profile->rows), row);
}

static void empty_profile(struct tf_profile *profile)
{
    tf_vec_each (class, &profile->classes)
        tf_node_class_release(class);
    tf_vec_each (row, &profile->rows)
        tf_profile_row_release(row);
    profile->classes.count = profile->rows.count = 0;
    tf_planes_release(&profile->planes);
}

void tf_fit_rows_export(const struct tf_fit_rows *rows, struct tf_profile *full)
{
    empty_profile(full);
    full->full = true;
    tf_planes_copy(&full->planes, &rows->catalog.planes);
    tf_vec_each (class, &rows->classes)
        export_class(full, class);
    tf_vec_each (row, &rows->rows)
        if (row->count > 0)
            export_row(full, row);
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

void tf_fit_rows_export_changes(const struct tf_fit_rows *rows, struct tf_profile *delta)
{
    empty_profile(delta);
    delta->full = false;
    for (size_t i = rows->marked_classes; i < rows->classes.count; i++)
        export_class(delta, &rows->classes.items[i]);
    if (rows->changed.count == 0)
        return;
    TF_AUTO_FREE uint32_t *ids = tf_memdup(rows->changed.items, rows->changed.count * sizeof *ids);
    qsort(ids, rows->changed.count, sizeof *ids, by_number);
    for (size_t i = 0; i < rows->changed.count; i++) {
        const struct tf_profile_row *row = &rows->rows.items[ids[i]];
        if (row->count > 0)
            export_row(delta, row);
        else if (rows->slots.items[ids[i]].announced)
            tf_vec_push(&delta->rows, (struct tf_profile_row){.id = ids[i], .claim_rank = -1});
    }
}

size_t tf_fit_rows_changed(const struct tf_fit_rows *rows)
{
    return rows->changed.count + rows->classes.count - rows->marked_classes;
}

void tf_fit_rows_mark(struct tf_fit_rows *rows)
{
    tf_vec_each (id, &rows->changed) {
        rows->slots.items[*id].changed = false;
        rows->slots.items[*id].announced = rows->rows.items[*id].count > 0;
    }
    rows->changed.count = 0;
    rows->marked_classes = rows->classes.count;
    drop_emptied(rows);
}

static void put_row(struct tf_fit_rows *rows, const struct tf_profile_row *row)
{
    while (rows->rows.count <= row->id) {
        uint32_t id = append_slot(rows);
        if (id != row->id)
            tf_vec_push(&rows->vacant, id);
    }
    if (rows->slots.items[row->id].listed)
        unlist_slot(rows, row->id);
    if (row->count == 0) {
        tf_vec_push(&rows->vacant, row->id);
        return;
    }
    tf_profile_row_copy(&rows->rows.items[row->id], row);
    list_slot(rows, row->id);
}

void tf_fit_rows_apply(struct tf_fit_rows *rows, const struct tf_profile *delta)
{
    if (delta->full) {
        tf_fit_rows_load(rows, delta);
        return;
    }
    drop_emptied(rows);
    tf_vec_each (class, &delta->classes)
        append_class(rows, class);
    tf_vec_each (row, &delta->rows)
        put_row(rows, row);
    tf_fit_rows_mark(rows);
}

void tf_fit_rows_load(struct tf_fit_rows *rows, const struct tf_profile *profile)
{
    clear(rows);
    tf_catalog_release(&rows->catalog);
    tf_catalog_init(&rows->catalog, &profile->planes);
    tf_vec_each (class, &profile->classes)
        append_class(rows, class);
    tf_vec_each (row, &profile->rows)
        put_row(rows, row);
    tf_fit_rows_mark(rows);
}

/* ---- debits ---- */

void tf_fit_undo_release(struct tf_fit_undo *undo)
{
    tf_vec_release(undo);
}

/* The levels of a node once `taken` more is held at `held`. */
static void debit_levels(const struct tf_level_vectors *from, struct tf_vector taken, tf_level held,
                         struct tf_level_vectors *to)
{
    bool reached = false;
    tf_vec_each (at, from) {
        if (at->level > held && !reached)
            tf_vec_push(to, (struct tf_level_vector){held, at[-1].have});
        reached = reached || at->level >= held;
        struct tf_level_vector next = *at;
        if (at->level < held)
            next.have = tf_vector_floor0(tf_vector_sub(at->have, taken));
        tf_vec_push(to, next);
    }
    if (!reached)
        tf_vec_push(to, (struct tf_level_vector){held, from->items[from->count - 1].have});
}

static struct tf_vector smaller(struct tf_vector a, struct tf_vector b)
{
    return tf_vector_sub(a, tf_vector_floor0(tf_vector_sub(a, b)));
}

/* What its reservations lose of it, the first of them first; what they cannot give is left in *taken. */
static void debit_reserved(const struct tf_profile_row *from, const struct tf_demand *demand,
                           struct tf_vector *taken, struct tf_reserved_list *to)
{
    tf_vec_each (r, &from->reserved) {
        struct tf_reserved left = *r;
        if (tf_demand_may_use(demand, r->uid)) {
            struct tf_vector part = smaller(r->more, *taken);
            left.more = tf_vector_sub(r->more, part);
            *taken = tf_vector_sub(*taken, part);
        }
        tf_vec_push(to, left);
    }
}

void tf_fit_debit(struct tf_fit_rows *rows, const struct tf_fit_placement *placement,
                  const struct tf_demand *demand, tf_level held, struct tf_fit_undo *undo)
{
    assert(held > TF_LEVEL_FREE);
    tf_vec_each (part, &placement->rows) {
        struct tf_profile_row after = rows->rows.items[part->row];
        struct tf_vector taken = tf_vector_scale(demand->need, part->each);
        after.levels = (struct tf_level_vectors){0};
        after.reserved = (struct tf_reserved_list){0};
        debit_reserved(&rows->rows.items[part->row], demand, &taken, &after.reserved);
        debit_levels(&rows->rows.items[part->row].levels, taken, held, &after.levels);
        uint32_t to = tf_fit_rows_add(rows, &after, part->nodes);
        tf_fit_rows_drop(rows, part->row, part->nodes);
        tf_vec_release(&after.levels);
        tf_vec_release(&after.reserved);
        tf_vec_push(undo, (struct tf_fit_change){part->row, to, part->nodes});
    }
}

void tf_fit_debit_undo(struct tf_fit_rows *rows, struct tf_fit_undo *undo)
{
    while (undo->count > 0) {
        const struct tf_fit_change *change = &undo->items[--undo->count];
        set_count(rows, change->from, rows->rows.items[change->from].count + change->nodes);
        note_change(rows, change->from);
        tf_fit_rows_drop(rows, change->to, change->nodes);
    }
}

/* ---- images ---- */

static void image_slot(struct tf_image *image, struct slot *slot)
{
    tf_image_open(image, slot);
    tf_image_skip(image, &slot->hash, "made of the row's content");
    tf_image_number(image, &slot->next);
    tf_image_number(image, &slot->listed);
    tf_image_number(image, &slot->changed);
    tf_image_number(image, &slot->announced);
    tf_image_close(image);
}

static void image_id(struct tf_image *image, uint32_t *id)
{
    tf_image_number(image, id);
}

/* The classes go in one by one, since the catalog is made of them. */
static void image_classes(struct tf_image *image, struct tf_fit_rows *rows)
{
    uint64_t count = tf_image_count(image, rows->classes.count);
    tf_image_skip(image, &rows->catalog, "made of planes and classes");
    tf_image_skip(image, &rows->classes, "written one by one");
    tf_image_skip(image, &rows->class_keys, "made of the classes");
    tf_image_skip(image, &rows->class_of_key, "made of the classes");
    for (size_t i = 0; i < count && !tf_image_failed(image); i++) {
        struct tf_node_class read = {0};
        bool reads = tf_image_is_reading(image);
        tf_image_node_class(image, reads ? &read : &rows->classes.items[i]);
        if (reads && !tf_image_failed(image))
            append_class(rows, &read);
        tf_node_class_release(&read);
    }
}

static void image_table(struct tf_image *image, struct tf_fit_rows *rows)
{
    tf_image_open(image, rows);
    image_classes(image, rows);
    tf_image_number(image, &rows->marked_classes);
    tf_image_list(image, &rows->rows, tf_image_profile_row);
    tf_image_list(image, &rows->slots, image_slot);
    rows->buckets.count = tf_image_is_reading(image) ? 0 : rows->buckets.count;
    tf_image_list(image, &rows->buckets, image_id);
    tf_image_list(image, &rows->vacant, image_id);
    tf_image_list(image, &rows->emptied, image_id);
    tf_image_list(image, &rows->changed, image_id);
    tf_image_number(image, &rows->listed);
    tf_image_skip(image, &rows->columns, "made of the rows");
    tf_image_close(image);
    for (uint32_t i = 0; tf_image_is_reading(image) && i < rows->slots.count && i < rows->rows.count; i++) {
        rows->slots.items[i].hash = content_hash(&rows->rows.items[i]);
        fit_columns_set(&rows->columns, i, &rows->rows.items[i]);
        if (rows->slots.items[i].listed)
            set_count(rows, i, rows->rows.items[i].count);
    }
}

void tf_image_fit_rows(struct tf_image *image, struct tf_fit_rows **rows)
{
    struct tf_planes planes = {0};
    bool there = tf_image_flag(image, *rows != NULL), reads = tf_image_is_reading(image);
    tf_image_told(image, rows, sizeof *rows);
    if (!there)
        return;
    tf_image_planes(image, reads ? &planes : &(*rows)->catalog.planes);
    if (reads)
        *rows = tf_fit_rows_create(&planes);
    tf_planes_release(&planes);
    image_table(image, *rows);
}

static void image_change(struct tf_image *image, struct tf_fit_change *change)
{
    tf_image_open(image, change);
    tf_image_number(image, &change->from);
    tf_image_number(image, &change->to);
    tf_image_number(image, &change->nodes);
    tf_image_close(image);
}

void tf_image_fit_undo(struct tf_image *image, struct tf_fit_undo *undo)
{
    tf_image_list(image, undo, image_change);
}
