/* SPDX-License-Identifier: Apache-2.0 */
/* Counts. Rows are sorted into spots by class (once a demand, only for classes that occur), so a count at a
 * level is one pass over the rows that adds integers. maxNodes alone needs the rows by size. */
#include "common/fit/count.h"

#include "common/fit/columns.h"
#include "common/fit/private.h"

#include <assert.h>

enum { BUCKETS = 256 };

struct tf_fit_scratch *tf_fit_scratch_create(void)
{
    struct tf_fit_scratch *scratch = tf_calloc(1, sizeof *scratch);
    tf_vec_reserve(&scratch->buckets, BUCKETS);
    return scratch;
}

void tf_fit_scratch_destroy(struct tf_fit_scratch *scratch)
{
    if (!scratch)
        return;
    tf_vec_release(&scratch->spots);
    tf_vec_release(&scratch->buckets);
    tf_vec_release(&scratch->entries);
    tf_vec_release(&scratch->parts);
    tf_vec_release(&scratch->heap);
    tf_vec_release(&scratch->done);
    tf_vec_release(&scratch->domains);
    free(scratch->class_spot);
    free(scratch->class_round);
    free(scratch);
}

int64_t fit_align(int64_t n, int32_t step)
{
    return n / step * step;
}

bool fit_has_step_rule(const struct tf_demand *demand)
{
    tf_vec_each (rule, &demand->rules)
        if (rule->of_step && !rule->prefer)
            return true;
    return false;
}

void fit_begin(const struct tf_fit_view *view, struct tf_fit_scratch *scratch)
{
    size_t classes = view->catalog->classes.count;
    if (scratch->class_cap < classes || scratch->round == UINT32_MAX) {
        size_t cap = scratch->class_cap = 2 * classes;
        scratch->class_spot = tf_reallocarray(scratch->class_spot, cap, sizeof *scratch->class_spot);
        scratch->class_round = tf_reallocarray(scratch->class_round, cap, sizeof *scratch->class_round);
        memset(scratch->class_round, 0, cap * sizeof *scratch->class_round);
        scratch->round = 0;
    }
    scratch->round++;
    scratch->spots.count = 0;
    memset(scratch->buckets.items, 0xff, BUCKETS * sizeof *scratch->buckets.items);
}

/* The spot that `above` has for that domain; made if new. */
static uint32_t spot_below(struct tf_fit_scratch *scratch, uint32_t above, int32_t domain)
{
    uint32_t *bucket = &scratch->buckets.items[(above * UINT32_C(2654435761) + (uint32_t)domain) % BUCKETS];
    for (uint32_t i = *bucket; i != SPOT_NONE; i = scratch->spots.items[i].next)
        if (scratch->spots.items[i].above == above && scratch->spots.items[i].domain == domain)
            return i;
    uint32_t added = (uint32_t)scratch->spots.count;
    struct spot spot = {.above = above, .domain = domain, .next = *bucket, .job = added};
    spot.place = above == SPOT_NONE ? domain : scratch->spots.items[above].place;
    tf_vec_push(&scratch->spots, spot);
    *bucket = added;
    return added;
}

static uint32_t refine(const struct tf_fit_view *view, const struct tf_demand *demand, uint32_t class,
                       bool of_step, uint32_t spot, struct tf_fit_scratch *scratch)
{
    tf_vec_each (rule, &demand->rules)
        if (!rule->prefer && rule->of_step == of_step)
            spot = spot_below(scratch, spot, tf_catalog_domain(view->catalog, class, rule->slot));
    return spot;
}

static uint32_t find_spot(const struct tf_fit_view *view, const struct tf_demand *demand, uint32_t class,
                          struct tf_fit_scratch *scratch)
{
    int place = tf_demand_admits(demand, view->catalog, class);
    if (place < 0)
        return SPOT_NONE;
    uint32_t job = refine(view, demand, class, false, spot_below(scratch, SPOT_NONE, place), scratch);
    uint32_t leaf = refine(view, demand, class, true, job, scratch);
    scratch->spots.items[leaf].job = job;
    scratch->spots.items[leaf].leaf = true;
    return leaf;
}

uint32_t fit_find_spot(const struct tf_fit_view *view, const struct tf_demand *demand, uint32_t class,
                       struct tf_fit_scratch *scratch)
{
    scratch->class_round[class] = scratch->round;
    return scratch->class_spot[class] = find_spot(view, demand, class, scratch);
}

uint32_t fit_spot(const struct tf_fit_view *view, const struct tf_demand *demand,
                  const struct tf_profile_row *row, struct tf_fit_scratch *scratch)
{
    uint32_t spot = fit_class_spot(view, demand, row->class, scratch);
    return spot != SPOT_NONE && tf_demand_barred(demand, row) ? SPOT_NONE : spot;
}

bool fit_is_used(const struct tf_demand *demand, uint32_t row_id)
{
    size_t low = 0, high = demand->used.count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (demand->used.items[mid] < row_id)
            low = mid + 1;
        else
            high = mid;
    }
    return low < demand->used.count && demand->used.items[low] == row_id;
}

int fit_by_size(const void *a, const void *b)
{
    const struct fit_entry *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    if (x->used != y->used)
        return x->used ? -1 : 1;
    if (x->cap != y->cap)
        return x->cap > y->cap ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

/* maxNodes (R4): of each job spot only the largest nodes count. */
static void sum_largest(const struct tf_demand *demand, struct tf_fit_scratch *scratch)
{
    if (scratch->entries.count > 1)
        qsort(scratch->entries.items, scratch->entries.count, sizeof *scratch->entries.items, fit_by_size);
    int64_t job = -1;
    int32_t left = 0;
    tf_vec_each (entry, &scratch->entries) {
        if (entry->key != job)
            left = fit_new_nodes(demand);
        job = entry->key;
        int32_t nodes = entry->used || entry->nodes < left ? entry->nodes : left;
        scratch->spots.items[entry->spot].sum += (int64_t)nodes * entry->cap;
        left -= entry->used ? 0 : nodes;
    }
}

/* What the row has at the level, and what protected cores above it hold. */
static struct tf_vector with_protected(const struct tf_demand *demand, const struct tf_profile_row *row,
                                       tf_level level)
{
    struct tf_vector have = tf_demand_have(demand, row, level);
    for (size_t i = 1; i < row->levels.count; i++) {
        const struct tf_level_vector *at = &row->levels.items[i];
        if (at->level > level && at->level == tf_level_protected((at->level - 2) / 3))
            have = tf_vector_add(have, tf_vector_sub(at->have, at[-1].have));
    }
    return have;
}

static void add_nodes(const struct tf_fit_view *view, const struct tf_demand *demand, size_t i, uint32_t spot,
                      int32_t cap, struct tf_fit_scratch *scratch)
{
    const struct tf_profile_row *row = &view->rows[i];
    if (cap == 0)
        return;
    if (demand->max_nodes == 0) {
        scratch->spots.items[spot].sum += (int64_t)cap * row->count;
        return;
    }
    tf_vec_push(&scratch->entries, (struct fit_entry){.row = (uint32_t)i,
                                                      .spot = spot,
                                                      .cap = cap,
                                                      .nodes = row->count,
                                                      .used = fit_is_used(demand, row->id),
                                                      .key = scratch->spots.items[spot].job});
}

/* With what protected cores above the level hold: for explain, row by row. */
static void sum_with_protected(const struct tf_fit_view *view, const struct tf_demand *demand, tf_level level,
                               struct tf_fit_scratch *scratch)
{
    for (size_t i = 0; i < view->count; i++) {
        const struct tf_profile_row *row = &view->rows[i];
        uint32_t spot = row->count > 0 ? fit_spot(view, demand, row, scratch) : SPOT_NONE;
        int32_t cap =
            spot != SPOT_NONE ? tf_vector_count(demand->need, with_protected(demand, row, level)) : 0;
        add_nodes(view, demand, i, spot, cap, scratch);
    }
}

static void sum_rows(const struct tf_fit_view *view, const struct tf_demand *demand, tf_level level,
                     struct tf_fit_scratch *scratch)
{
    struct fit_pass pass = fit_pass_begin(view, level);
    for (size_t i = 0; i < view->count; i++) {
        int32_t nodes = fit_pass_nodes(&pass, i);
        if (nodes == 0)
            continue;
        uint32_t spot = fit_class_spot(view, demand, fit_pass_class(&pass, i), scratch);
        if (spot == SPOT_NONE || (pass.claimed && tf_demand_barred(demand, &view->rows[i])))
            continue;
        struct tf_vector have = fit_pass_have(&pass, i);
        if (demand->reserved.count)
            have = tf_vector_add(have, tf_demand_reserved(demand, &view->rows[i], level));
        int32_t cap = tf_vector_count(demand->need, have);
        if (demand->max_nodes == 0)
            scratch->spots.items[spot].sum += (int64_t)cap * nodes;
        else
            add_nodes(view, demand, i, spot, cap, scratch);
    }
}

void fit_sum(const struct tf_fit_view *view, const struct tf_demand *demand, tf_level level,
             struct tf_fit_scratch *scratch)
{
    scratch->entries.count = 0;
    tf_vec_each (spot, &scratch->spots)
        spot->sum = spot->total = 0;
    if (scratch->add_protected)
        sum_with_protected(view, demand, level, scratch);
    else
        sum_rows(view, demand, level, scratch);
    if (demand->max_nodes != 0)
        sum_largest(demand, scratch);
    bool steps = fit_has_step_rule(demand);
    assert(!steps || demand->max_nodes == 0);
    tf_vec_each (spot, &scratch->spots)
        if (spot->leaf)
            scratch->spots.items[spot->job].total += steps ? fit_align(spot->sum, demand->step) : spot->sum;
}

/* R3: the first model in which the core fits; where it fits in none, the most. */
static bool is_better(const struct tf_fit *best, int32_t best_place, const struct tf_fit *fit, int32_t place)
{
    if (fit->fits != best->fits)
        return fit->fits;
    if (fit->fits && place != best_place)
        return place < best_place;
    if (fit->count != best->count)
        return fit->count > best->count;
    return fit->count > 0 && place < best_place;
}

static void count_at(const struct tf_fit_view *view, const struct tf_demand *demand, tf_level level,
                     struct tf_fit_scratch *scratch, struct tf_fit *out)
{
    fit_sum(view, demand, level, scratch);
    *out = (struct tf_fit){.level = level, .model = -1};
    int32_t best = INT32_MAX;
    tf_vec_each (spot, &scratch->spots) {
        int64_t total = spot->total < INT32_MAX ? spot->total : INT32_MAX;
        struct tf_fit fit = {.count = (int32_t)fit_align(total, demand->step), .level = level, .model = -1};
        fit.fits = fit.count > 0 && fit.count >= demand->core;
        if (!is_better(out, best, &fit, spot->place))
            continue;
        *out = fit;
        best = spot->place;
    }
    if (out->count > 0 && demand->need.gpus > 0)
        out->model = demand->models.items[best];
}

void tf_fit_count(const struct tf_fit_view *view, const struct tf_demand *demand, tf_level level,
                  struct tf_fit_scratch *scratch, struct tf_fit *out)
{
    fit_begin(view, scratch);
    count_at(view, demand, level, scratch, out);
}

static uint64_t levels_present(const struct tf_fit_view *view, const struct tf_demand *demand,
                               struct tf_fit_scratch *scratch)
{
    uint64_t present = 0;
    if (view->columns) /* too many at worst: where no row of the demand's has more, the count is the same */
        return view->columns->levels;
    for (size_t i = 0; i < view->count; i++) {
        const struct tf_profile_row *row = &view->rows[i];
        if (row->count == 0 || fit_spot(view, demand, row, scratch) == SPOT_NONE)
            continue;
        tf_vec_each (at, &row->levels)
            present |= UINT64_C(1) << at->level;
    }
    return present;
}

_Static_assert(TF_LEVEL_TOP < 64, "a set of levels is one uint64_t");

bool tf_fit_above_free(const struct tf_fit_view *view, const struct tf_demand *demand,
                       struct tf_fit_scratch *scratch, struct tf_fit *out)
{
    struct tf_fit highest;
    if (demand->level == TF_LEVEL_FREE)
        return false;
    fit_begin(view, scratch);
    count_at(view, demand, demand->level, scratch, &highest);
    uint64_t present = highest.fits ? levels_present(view, demand, scratch) : 0;
    for (tf_level level = 1; level <= demand->level && !out->fits; level++) {
        int32_t below = out->count;
        if (!(present >> level & 1))
            continue;
        if (level == demand->level)
            *out = highest;
        else
            count_at(view, demand, level, scratch, out);
        out->below = below;
    }
    if (!out->fits)
        *out = highest;
    return out->fits;
}

bool tf_fit_lowest(const struct tf_fit_view *view, const struct tf_demand *demand,
                   struct tf_fit_scratch *scratch, struct tf_fit *out)
{
    tf_fit_count(view, demand, TF_LEVEL_FREE, scratch, out);
    return out->fits || tf_fit_above_free(view, demand, scratch, out);
}
