/* SPDX-License-Identifier: Apache-2.0 */
/* Packs over rows. The entries (rows that can take an instance) are split by one rule after the other, each
 * split choosing parts and how many instances each part takes; place.c then puts a part's instances on nodes.
 */
#include "common/fit/pack.h"

#include "common/fit/columns.h"
#include "common/fit/pack_private.h"

#include <assert.h>

void tf_fit_placement_release(struct tf_fit_placement *placement)
{
    tf_vec_release(&placement->rows);
    *placement = (struct tf_fit_placement){0};
}

/* The spot of the job that is to hold n: first model, then the tightest. */
static uint32_t choose_spot(const struct tf_fit_scratch *scratch, int32_t n)
{
    uint32_t best = SPOT_NONE;
    for (uint32_t i = 0; i < scratch->spots.count; i++) {
        const struct spot *spot = &scratch->spots.items[i];
        if (spot->total < n)
            continue;
        const struct spot *held = best == SPOT_NONE ? NULL : &scratch->spots.items[best];
        if (!held || spot->place < held->place || (spot->place == held->place && spot->total < held->total))
            best = i;
    }
    return best;
}

static void collect(const struct pack *pack, uint32_t job)
{
    struct tf_fit_scratch *scratch = pack->scratch;
    scratch->entries.count = 0;
    struct fit_pass pass = fit_pass_begin(pack->view, pack->level);
    for (size_t i = 0; i < pack->view->count; i++) {
        int32_t nodes = fit_pass_nodes(&pass, i);
        if (nodes == 0)
            continue;
        uint32_t spot = fit_class_spot(pack->view, pack->demand, fit_pass_class(&pass, i), scratch);
        if (spot == SPOT_NONE || scratch->spots.items[spot].job != job ||
            (pass.claimed && tf_demand_barred(pack->demand, &pack->view->rows[i])))
            continue;
        struct tf_vector have = fit_pass_have(&pass, i);
        if (pack->demand->reserved.count)
            have = tf_vector_add(have, tf_demand_reserved(pack->demand, &pack->view->rows[i], pack->level));
        int32_t cap = tf_vector_count(pack->demand->need, have);
        if (cap == 0)
            continue;
        bool used = pack->demand->used.count > 0 && fit_is_used(pack->demand, pack->view->rows[i].id);
        tf_vec_push(
            &scratch->entries,
            (struct fit_entry){.row = (uint32_t)i, .spot = spot, .cap = cap, .nodes = nodes, .used = used});
    }
}

/* How the entries are split: first by the spots of required step rules, then by each preferred rule. */
struct split {
    const struct tf_demand_rule *rule; /* NULL: by spot */
    bool round;                        /* parts hold whole steps */
};

static bool split_at(const struct tf_demand *demand, size_t depth, struct split *out)
{
    bool steps = fit_has_step_rule(demand);
    if (steps && depth == 0) {
        *out = (struct split){NULL, true};
        return true;
    }
    size_t wanted = depth - steps;
    tf_vec_each (rule, &demand->rules) {
        if (!rule->prefer || wanted-- > 0)
            continue;
        *out = (struct split){rule, rule->of_step};
        return true;
    }
    return false;
}

static void set_keys(const struct pack *pack, const struct fit_part *from, const struct split *split)
{
    for (size_t i = from->first; i < from->last; i++) {
        struct fit_entry *entry = &pack->scratch->entries.items[i];
        uint32_t class = pack->view->rows[entry->row].class;
        entry->key = entry->spot;
        if (split->rule)
            entry->key = tf_catalog_domain(pack->view->catalog, class, split->rule->slot);
    }
    pack_sort(pack, from->first, from->last);
}

/* Instances that entries [first, last), sorted by size, hold on at most max_nodes nodes. */
static int64_t capacity(const struct pack *pack, size_t first, size_t last)
{
    int64_t sum = 0;
    int32_t left = pack->demand->max_nodes != 0 ? fit_new_nodes(pack->demand) : INT32_MAX;
    for (size_t i = first; i < last; i++) {
        const struct fit_entry *entry = &pack->scratch->entries.items[i];
        int32_t nodes = entry->used || entry->nodes < left ? entry->nodes : left;
        sum += (int64_t)nodes * entry->cap;
        left -= entry->used ? 0 : nodes;
    }
    return sum;
}

/* Appends a part for each key; the part without a domain, if any, comes first (its key is -1). */
static void make_parts(const struct pack *pack, const struct fit_part *from, const struct split *split)
{
    struct tf_fit_scratch *scratch = pack->scratch;
    for (size_t i = from->first, end; i < from->last; i = end) {
        struct fit_part part = {.first = i, .row = UINT32_MAX};
        for (end = i; end < from->last && scratch->entries.items[end].key == scratch->entries.items[i].key;
             end++)
            if (scratch->entries.items[end].row < part.row)
                part.row = scratch->entries.items[end].row;
        part.last = end;
        part.whole = capacity(pack, i, end);
        part.cap = split->round ? fit_align(part.whole, pack->demand->step) : part.whole;
        tf_vec_push(&scratch->parts, part);
    }
}

static int by_capacity(const void *a, const void *b)
{
    const struct fit_part *x = a, *y = b;
    if (x->cap != y->cap)
        return x->cap > y->cap ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

/* Gives `take` instances to the fewest parts: the largest are filled until one holds the rest, which then
 * goes to the tightest that holds it. Returns what is left over. */
static int64_t fill(struct fit_part *parts, size_t count, int64_t take)
{
    if (count > 1)
        qsort(parts, count, sizeof *parts, by_capacity);
    for (size_t i = 0; i < count && take > 0; i++) {
        if (parts[i].cap < take) {
            parts[i].take += parts[i].cap;
            take -= parts[i].cap;
            continue;
        }
        size_t tightest = i;
        while (tightest + 1 < count && parts[tightest + 1].cap >= take)
            tightest++;
        while (tightest > i && parts[tightest - 1].cap == parts[tightest].cap)
            tightest--; /* of equals the lower row */
        parts[tightest].take += take;
        take = 0;
    }
    return take;
}

/* Whole steps first; what they leave over breaks steps, again in the fewest parts. */
static int64_t fill_parts(struct fit_part *parts, size_t count, int64_t take)
{
    take = fill(parts, count, take);
    if (take == 0)
        return 0;
    for (size_t i = 0; i < count; i++)
        parts[i].cap = parts[i].whole - parts[i].take;
    return fill(parts, count, take);
}

/* One domain if one holds all; else the rule cannot be kept together with maxNodes, and this says false. */
static bool fill_one(struct fit_part *parts, size_t count, int64_t take)
{
    struct fit_part *best = NULL;
    for (size_t i = 0; i < count; i++) {
        struct fit_part *part = &parts[i];
        if (part->whole >= take &&
            (!best || part->whole < best->whole || (part->whole == best->whole && part->row < best->row)))
            best = part;
    }
    if (best)
        best->take = take;
    return best != NULL;
}

static bool choose_parts(const struct pack *pack, size_t base, int64_t take)
{
    struct fit_part *parts = &pack->scratch->parts.items[base];
    size_t count = pack->scratch->parts.count - base;
    bool homeless = pack->scratch->entries.items[parts[0].first].key < 0;
    if (pack->demand->max_nodes != 0)
        return fill_one(parts + homeless, count - homeless, take);
    int64_t left = fill_parts(parts + homeless, count - homeless, take);
    if (left > 0)
        parts[0].take = left; /* nodes without a domain come last */
    return true;
}

static void split_part(const struct pack *pack, struct fit_part from, size_t depth);

static void split_by(const struct pack *pack, const struct fit_part *from, const struct split *split,
                     size_t depth)
{
    struct tf_fit_scratch *scratch = pack->scratch;
    size_t base = scratch->parts.count;
    set_keys(pack, from, split);
    make_parts(pack, from, split);
    if (!choose_parts(pack, base, from->take)) {
        scratch->parts.count = base;
        split_part(pack, *from, depth + 1);
        return;
    }
    size_t end = scratch->parts.count;
    for (size_t i = base; i < end; i++)
        if (scratch->parts.items[i].take > 0)
            split_part(pack, scratch->parts.items[i], depth + 1);
    scratch->parts.count = base;
}

static void split_part(const struct pack *pack, struct fit_part from, size_t depth)
{
    struct split split;
    if (split_at(pack->demand, depth, &split))
        split_by(pack, &from, &split, depth);
    else
        pack_place(pack, &from);
}

bool tf_fit_pack(const struct tf_fit_view *view, const struct tf_demand *demand, tf_level level, int32_t n,
                 const struct tf_mix *mix, struct tf_fit_scratch *scratch, struct tf_fit_placement *placement)
{
    placement->rows.count = 0;
    placement->instances = placement->nodes = placement->domains = 0;
    placement->model = -1;
    if (n <= 0 || (fit_has_step_rule(demand) && n % demand->step != 0))
        return false;
    fit_begin(view, scratch);
    fit_sum(view, demand, level, scratch);
    uint32_t job = choose_spot(scratch, n);
    if (job == SPOT_NONE)
        return false;
    const struct pack pack = {view, demand, level, mix, scratch, placement};
    if (demand->need.gpus > 0)
        placement->model = demand->models.items[scratch->spots.items[job].place];
    scratch->parts.count = scratch->domains.count = 0;
    collect(&pack, job);
    split_part(&pack, (struct fit_part){.last = scratch->entries.count, .take = n}, 0);
    placement->domains = (int32_t)scratch->domains.count;
    assert(placement->instances == n);
    return true;
}
