/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the memory of profiles, what a delta is, and the bounds of what a peer may send. What the numbers mean
 * is in common/fit. */
#include "common/model/profile.h"

#include "common/base/text.h"

void tf_node_class_release(struct tf_node_class *class)
{
    free(class->model);
    tf_strs_release(&class->domains);
    tf_pairs_release(&class->labels);
    *class = (struct tf_node_class){0};
}

void tf_node_class_copy(struct tf_node_class *to, const struct tf_node_class *from)
{
    struct tf_node_class copy = {.model = tf_strdup(from->model), .gpu_memory = from->gpu_memory};
    tf_strs_copy(&copy.domains, &from->domains);
    tf_pairs_copy(&copy.labels, &from->labels);
    tf_node_class_release(to);
    *to = copy;
}

bool tf_node_class_eq(const struct tf_node_class *a, const struct tf_node_class *b)
{
    return tf_str_eq(a->model, b->model) && a->gpu_memory == b->gpu_memory &&
           tf_strs_eq(&a->domains, &b->domains) && tf_pairs_eq(&a->labels, &b->labels);
}

bool tf_level_vectors_eq(const struct tf_level_vectors *a, const struct tf_level_vectors *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (a->items[i].level != b->items[i].level || !tf_vector_eq(a->items[i].have, b->items[i].have))
            return false;
    return true;
}

bool tf_reserved_list_eq(const struct tf_reserved_list *a, const struct tf_reserved_list *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (!tf_uid_eq(a->items[i].uid, b->items[i].uid) || a->items[i].level != b->items[i].level ||
            !tf_vector_eq(a->items[i].more, b->items[i].more))
            return false;
    return true;
}

void tf_profile_row_release(struct tf_profile_row *row)
{
    tf_vec_release(&row->levels);
    tf_vec_release(&row->reserved);
    *row = (struct tf_profile_row){0};
}

/* A copy that shares nothing, for a place that owns nothing yet. */
static struct tf_profile_row row_clone(const struct tf_profile_row *from)
{
    struct tf_profile_row row = *from;
    row.levels.items = tf_memdup(from->levels.items, from->levels.count * sizeof *from->levels.items);
    row.levels.cap = row.levels.count;
    row.reserved.items = tf_memdup(from->reserved.items, from->reserved.count * sizeof *from->reserved.items);
    row.reserved.cap = row.reserved.count;
    return row;
}

void tf_profile_row_copy(struct tf_profile_row *to, const struct tf_profile_row *from)
{
    struct tf_profile_row copy = row_clone(from);
    tf_profile_row_release(to);
    *to = copy;
}

bool tf_profile_row_alike(const struct tf_profile_row *a, const struct tf_profile_row *b)
{
    return a->class == b->class && a->claim_rank == b->claim_rank && a->claim_until.ms == b->claim_until.ms &&
           tf_level_vectors_eq(&a->levels, &b->levels) && tf_reserved_list_eq(&a->reserved, &b->reserved);
}

bool tf_profile_row_eq(const struct tf_profile_row *a, const struct tf_profile_row *b)
{
    return a->id == b->id && a->count == b->count && tf_profile_row_alike(a, b);
}

bool tf_vacatables_eq(const struct tf_vacatables *a, const struct tf_vacatables *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        const struct tf_vacatable *x = &a->items[i], *y = &b->items[i];
        if (x->class != y->class || x->nodes != y->nodes || x->cost != y->cost ||
            !tf_vector_eq(x->room, y->room))
            return false;
    }
    return true;
}

static void release_rows(struct tf_profile *profile)
{
    tf_vec_each (row, &profile->rows)
        tf_profile_row_release(row);
    tf_vec_release(&profile->rows);
}

static void release_emptying(struct tf_profile *profile)
{
    tf_vec_each (e, &profile->emptying)
        free(e->owner);
    tf_vec_release(&profile->emptying);
}

void tf_profile_release(struct tf_profile *profile)
{
    tf_planes_release(&profile->planes);
    tf_vec_each (class, &profile->classes)
        tf_node_class_release(class);
    tf_vec_release(&profile->classes);
    release_rows(profile);
    tf_vec_release(&profile->shorts);
    tf_vec_release(&profile->costs);
    tf_vec_release(&profile->vacatable);
    tf_strs_release(&profile->moving_for);
    release_emptying(profile);
    *profile = (struct tf_profile){0};
}

static void append_classes(struct tf_profile *to, const struct tf_profile *from, size_t first)
{
    for (size_t i = first; i < from->classes.count; i++)
        tf_node_class_copy(tf_vec_add(&to->classes), &from->classes.items[i]);
}

/* Everything that a delta carries whole. */
static void copy_whole(struct tf_profile *to, const struct tf_profile *from)
{
    to->generation = from->generation;
    to->reflects_term = from->reflects_term;
    to->reflects_n = from->reflects_n;
    to->idle = from->idle;
    to->health = from->health;
    to->brakes = from->brakes;
    to->loss_cap = from->loss_cap;
    tf_vec_release(&to->shorts);
    tf_vec_each (demand, &from->shorts)
        tf_vec_push(&to->shorts, *demand);
    tf_vec_release(&to->costs);
    tf_vec_each (cost, &from->costs)
        tf_vec_push(&to->costs, *cost);
    tf_vec_release(&to->vacatable);
    tf_vec_each (v, &from->vacatable)
        tf_vec_push(&to->vacatable, *v);
    tf_strs_copy(&to->moving_for, &from->moving_for);
    release_emptying(to);
    tf_vec_each (e, &from->emptying) {
        tf_vec_push(&to->emptying, *e);
        to->emptying.items[to->emptying.count - 1].owner = tf_strdup(e->owner);
    }
}

void tf_profile_copy(struct tf_profile *to, const struct tf_profile *from)
{
    struct tf_profile copy = {.base = from->base, .full = from->full};
    copy_whole(&copy, from);
    tf_planes_copy(&copy.planes, &from->planes);
    append_classes(&copy, from, 0);
    tf_vec_each (row, &from->rows)
        tf_vec_push(&copy.rows, row_clone(row));
    tf_profile_release(to);
    *to = copy;
}

void tf_idle_causes_add(struct tf_idle_causes *sum, const struct tf_idle_causes *more)
{
    sum->deliverable += more->deliverable;
    sum->count += more->count;
    sum->cpu_memory += more->cpu_memory;
    sum->topology += more->topology;
    sum->policy += more->policy;
    sum->step += more->step;
    sum->health += more->health;
}

int32_t tf_idle_causes_sum(const struct tf_idle_causes *c)
{
    return c->deliverable + c->count + c->cpu_memory + c->topology + c->policy + c->step + c->health;
}

int tf_generation_cmp(struct tf_generation a, struct tf_generation b)
{
    if (a.owner != b.owner)
        return a.owner < b.owner ? -1 : 1;
    return a.counter < b.counter ? -1 : a.counter > b.counter;
}

int64_t tf_profile_price(const struct tf_profile *profile, tf_level level, int64_t gpus, struct tf_wall now)
{
    tf_vec_each (cost, &profile->costs) {
        if (cost->level != level)
            continue;
        int64_t ran = now.ms > cost->since.ms ? now.ms - cost->since.ms : 0;
        int64_t lost = (ran < profile->loss_cap ? ran : profile->loss_cap) / TF_SECOND;
        int64_t each = lost + cost->before / cost->gpus;
        return each > INT64_MAX / TF_COST_GPUS_MAX ? INT64_MAX : gpus * each;
    }
    return 0;
}

/* ---- what a peer may send ---- */

static bool in_bounds(const struct tf_vector *have)
{
    return have->gpus >= 0 && have->gpus <= TF_NODE_GPUS_MAX && have->slots >= 0 &&
           have->slots <= TF_NODE_SLOTS_MAX && have->cpu >= 0 && have->cpu <= TF_QUANTITY_MAX &&
           have->memory >= 0 && have->memory <= TF_QUANTITY_MAX;
}

static int check_levels(const struct tf_profile_row *row, struct tf_error *err)
{
    const struct tf_level_vectors *levels = &row->levels;
    if (levels->count == 0 || levels->items[0].level != TF_LEVEL_FREE)
        return tf_error_set(err, TF_ERR_INVALID, "profile row %u: the first level is not free", row->id);
    for (size_t i = 0; i < levels->count; i++) {
        const struct tf_level_vector *at = &levels->items[i];
        if (!in_bounds(&at->have))
            return tf_error_set(err, TF_ERR_INVALID,
                                "profile row %u: a quantity at level %u is out of bounds", row->id,
                                at->level);
        if (i == 0)
            continue;
        if (at->level <= at[-1].level || at->level > TF_LEVEL_TOP)
            return tf_error_set(err, TF_ERR_INVALID, "profile row %u: levels do not ascend", row->id);
        if (!tf_vector_fits(at[-1].have, at->have))
            return tf_error_set(err, TF_ERR_INVALID,
                                "profile row %u: level %u has less than the one below it", row->id,
                                at->level);
    }
    return 0;
}

static int check_reserved(const struct tf_profile_row *row, struct tf_error *err)
{
    for (size_t i = 0; i < row->reserved.count; i++) {
        const struct tf_reserved *r = &row->reserved.items[i];
        if (r->level <= TF_LEVEL_GOING || r->level > TF_LEVEL_TOP || !in_bounds(&r->more) ||
            (i > 0 && tf_uid_cmp(r[-1].uid, r->uid) >= 0))
            return tf_error_set(err, TF_ERR_INVALID,
                                "profile row %u: reservation %zu is out of bounds or order", row->id, i);
    }
    return 0;
}

static int check_rows(const struct tf_profile *profile, struct tf_error *err)
{
    int64_t nodes = 0;
    for (size_t i = 0; i < profile->rows.count; i++) {
        const struct tf_profile_row *row = &profile->rows.items[i];
        if (row->id >= TF_PROFILE_ROWS_MAX || (i > 0 && row->id <= row[-1].id))
            return tf_error_set(err, TF_ERR_INVALID, "profile rows: id %u is too large or out of order",
                                row->id);
        if (row->count < (profile->full ? 1 : 0))
            return tf_error_set(err, TF_ERR_INVALID, "profile row %u stands for %d nodes", row->id,
                                row->count);
        if (row->count == 0)
            continue;
        nodes += row->count;
        if (profile->full && row->class >= profile->classes.count)
            return tf_error_set(err, TF_ERR_INVALID, "profile row %u names class %u, there are %zu", row->id,
                                row->class, profile->classes.count);
        if (row->claim_rank < -1 || row->claim_rank >= TF_CLASSES_MAX)
            return tf_error_set(err, TF_ERR_INVALID, "profile row %u: no claim has rank %d", row->id,
                                row->claim_rank);
        if (check_levels(row, err) || check_reserved(row, err))
            return -1;
    }
    if (nodes > TF_PROFILE_ROWS_MAX)
        return tf_error_set(err, TF_ERR_INVALID, "profile of %lld nodes, at most %d are supported",
                            (long long)nodes, TF_PROFILE_ROWS_MAX);
    return 0;
}

static size_t path_parts(const char *path)
{
    size_t parts = *path != '\0';
    for (const char *c = path; *c; c++)
        parts += *c == '/';
    return parts;
}

static int check_class(const struct tf_node_class *class, const struct tf_planes *planes,
                       struct tf_error *err)
{
    if (class->gpu_memory < 0 || class->gpu_memory > TF_QUANTITY_MAX)
        return tf_error_set(err, TF_ERR_INVALID, "profile class: GPU memory is out of bounds");
    if (class->domains.count > planes->count)
        return tf_error_set(err, TF_ERR_INVALID,
                            "profile class has %zu domains, there are %zu topology planes",
                            class->domains.count, planes->count);
    for (size_t i = 0; i < class->domains.count; i++) {
        size_t parts = path_parts(class->domains.items[i]);
        if (parts != 0 && parts != planes->items[i].levels.count)
            return tf_error_set(err, TF_ERR_INVALID,
                                "profile class: domain \"%s\" has %zu parts; plane \"%s\" has %zu levels",
                                class->domains.items[i], parts, planes->items[i].name,
                                planes->items[i].levels.count);
    }
    return 0;
}

static int check_classes(const struct tf_profile *profile, const struct tf_planes *planes,
                         struct tf_error *err)
{
    if (profile->classes.count > TF_PROFILE_CLASSES_MAX)
        return tf_error_set(err, TF_ERR_INVALID, "profile of %zu node classes, at most %d are supported",
                            profile->classes.count, TF_PROFILE_CLASSES_MAX);
    tf_vec_each (class, &profile->classes)
        if (check_class(class, planes, err))
            return -1;
    return 0;
}

int tf_profile_check(const struct tf_profile *profile, struct tf_error *err)
{
    if (profile->full && check_classes(profile, &profile->planes, err))
        return -1;
    tf_vec_each (demand, &profile->shorts)
        if (demand->fits < 0 || demand->missing < demand->fits || demand->missing > TF_INSTANCES_MAX ||
            demand->rank < 0 || demand->rank >= TF_CLASSES_MAX)
            return tf_error_set(err, TF_ERR_INVALID, "profile: a short demand is out of bounds");
    tf_vec_each (cost, &profile->costs)
        if (cost->level > TF_LEVEL_TOP || cost->gpus <= 0 || cost->gpus > TF_COST_GPUS_MAX ||
            cost->before < 0 || cost->since.ms < 0)
            return tf_error_set(err, TF_ERR_INVALID, "profile: a reclaim cost is out of bounds");
    if (profile->loss_cap < 0)
        return tf_error_set(err, TF_ERR_INVALID, "profile: the cap of losses is negative");
    tf_vec_each (v, &profile->vacatable)
        if (v->nodes <= 0 || v->cost < 0 || v->cost > TF_GPU_SECONDS_MAX ||
            (profile->full && v->class >= profile->classes.count))
            return tf_error_set(err, TF_ERR_INVALID, "profile: what could be freed is out of bounds");
    tf_vec_each (e, &profile->emptying)
        if (e->nodes <= 0 || (profile->full && e->class >= profile->classes.count))
            return tf_error_set(err, TF_ERR_INVALID, "profile: what is being emptied is out of bounds");
    return check_rows(profile, err);
}

/* ---- deltas ---- */

static const struct tf_profile_row *find_row(const struct tf_profile *profile, uint32_t id)
{
    size_t low = 0, high = profile->rows.count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (profile->rows.items[mid].id < id)
            low = mid + 1;
        else
            high = mid;
    }
    bool found = low < profile->rows.count && profile->rows.items[low].id == id;
    return found ? &profile->rows.items[low] : NULL;
}

static int check_delta(const struct tf_profile *profile, const struct tf_profile *delta, struct tf_error *err)
{
    if (tf_generation_cmp(delta->base, profile->generation) != 0)
        return tf_error_set(
            err, TF_ERR_CONFLICT, "profile delta is based on generation %llu/%llu, not %llu/%llu",
            (unsigned long long)delta->base.owner, (unsigned long long)delta->base.counter,
            (unsigned long long)profile->generation.owner, (unsigned long long)profile->generation.counter);
    size_t classes = profile->classes.count + delta->classes.count;
    if (classes > TF_PROFILE_CLASSES_MAX)
        return tf_error_set(err, TF_ERR_INVALID,
                            "profile delta makes %zu node classes, at most %d are supported", classes,
                            TF_PROFILE_CLASSES_MAX);
    if (check_classes(delta, &profile->planes, err) || tf_profile_check(delta, err))
        return -1;
    tf_vec_each (v, &delta->vacatable)
        if (v->class >= classes)
            return tf_error_set(err, TF_ERR_INVALID,
                                "profile: nodes of class %u could be freed, there are %zu", v->class,
                                classes);
    tf_vec_each (e, &delta->emptying)
        if (e->class >= classes)
            return tf_error_set(err, TF_ERR_INVALID, "profile: nodes of class %u are emptied, there are %zu",
                                e->class, classes);
    tf_vec_each (row, &delta->rows) {
        if (row->count > 0 && row->class >= classes)
            return tf_error_set(err, TF_ERR_INVALID, "profile row %u names class %u, there are %zu", row->id,
                                row->class, classes);
        if (row->count == 0 && !find_row(profile, row->id))
            return tf_error_set(err, TF_ERR_INVALID, "profile row %u is said to be gone, but was not there",
                                row->id);
    }
    return 0;
}

/* Moves the old rows into a new array, taking those of the delta in their places. */
static void merge_rows(struct tf_profile *profile, const struct tf_profile *delta)
{
    size_t n = profile->rows.count, i = 0;
    struct tf_profile_row *old = profile->rows.items;
    profile->rows.items = NULL;
    profile->rows.count = profile->rows.cap = 0;
    tf_vec_reserve(&profile->rows, n + delta->rows.count);
    tf_vec_each (row, &delta->rows) {
        while (i < n && old[i].id < row->id)
            tf_vec_push(&profile->rows, old[i++]);
        if (i < n && old[i].id == row->id)
            tf_profile_row_release(&old[i++]);
        if (row->count > 0)
            tf_vec_push(&profile->rows, row_clone(row));
    }
    while (i < n)
        tf_vec_push(&profile->rows, old[i++]);
    free(old);
}

int tf_profile_apply(struct tf_profile *profile, const struct tf_profile *delta, struct tf_error *err)
{
    if (delta->full) {
        if (tf_profile_check(delta, err))
            return -1;
        tf_profile_copy(profile, delta);
        return 0;
    }
    if (check_delta(profile, delta, err))
        return -1;
    append_classes(profile, delta, 0);
    if (delta->rows.count > 0)
        merge_rows(profile, delta);
    copy_whole(profile, delta);
    profile->base = profile->generation;
    profile->full = true;
    return 0;
}

static bool planes_eq(const struct tf_planes *a, const struct tf_planes *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (!tf_str_eq(a->items[i].name, b->items[i].name) ||
            !tf_strs_eq(&a->items[i].levels, &b->items[i].levels))
            return false;
    return true;
}

static bool grows_from(const struct tf_profile *from, const struct tf_profile *to)
{
    if (from->classes.count > to->classes.count || !planes_eq(&from->planes, &to->planes))
        return false;
    for (size_t i = 0; i < from->classes.count; i++)
        if (!tf_node_class_eq(&from->classes.items[i], &to->classes.items[i]))
            return false;
    return true;
}

static void add_gone(struct tf_profile *delta, uint32_t id)
{
    tf_vec_push(&delta->rows, (struct tf_profile_row){.id = id, .claim_rank = -1});
}

static void diff_rows(const struct tf_profile *from, const struct tf_profile *to, struct tf_profile *delta)
{
    size_t i = 0;
    tf_vec_each (row, &to->rows) {
        while (i < from->rows.count && from->rows.items[i].id < row->id)
            add_gone(delta, from->rows.items[i++].id);
        bool known = i < from->rows.count && from->rows.items[i].id == row->id;
        if (!known || !tf_profile_row_eq(&from->rows.items[i], row))
            tf_vec_push(&delta->rows, row_clone(row));
        i += known;
    }
    while (i < from->rows.count)
        add_gone(delta, from->rows.items[i++].id);
}

void tf_profile_diff(const struct tf_profile *from, const struct tf_profile *to, struct tf_profile *delta)
{
    struct tf_profile found = {.base = from->generation};
    bool grows = grows_from(from, to);
    if (grows) {
        copy_whole(&found, to);
        append_classes(&found, to, from->classes.count);
        diff_rows(from, to, &found);
    }
    if (!grows || found.rows.count + found.classes.count >= to->rows.count + to->classes.count) {
        tf_profile_copy(&found, to);
        found.full = true;
        found.base = found.generation;
    }
    tf_profile_release(delta);
    *delta = found;
}
