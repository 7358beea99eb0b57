/* SPDX-License-Identifier: Apache-2.0 */
/* Idle causes. For each row three nested sums, each the most over the shapes of the mix: deliverable <= fits
 * node by node
 * <= would by GPUs alone <= idle. Their differences are the causes, so the causes sum to all idle GPUs. */
#include "common/fit/explain.h"

#include "common/fit/private.h"

/* GPUs of all nodes of one row. */
struct idle_row {
    int64_t deliverable, fits, by_gpus;
    bool admitted;  /* by some shape */
    bool placeless; /* a shape would, but for a required path */
    bool topology;  /* why the shape that fits best is not deliverable; else step */
};

/* Instances of one model, node by node and with all rules kept. */
struct of_model {
    int64_t fits, given;
};

struct survey {
    const struct tf_fit_view *view;
    const struct tf_demand *demand;
    struct tf_fit_scratch *scratch;
    struct idle_row *rows;
    int64_t *given;             /* instances a row that the present shape can use, all rules kept */
    struct of_model *of_models; /* by place in the shape's order */
};

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* A shape whose required rules the node has no path for would use it otherwise. */
static bool is_placeless(const struct survey *s, uint32_t class)
{
    struct tf_demand flat = *s->demand;
    flat.rules.count = 0;
    return s->demand->rules.count > 0 && tf_demand_admits(&flat, s->view->catalog, class) >= 0;
}

/* Looks at one row: what fits node by node becomes an entry and counts in its spot. */
static void look(const struct survey *s, uint32_t index)
{
    const struct tf_profile_row *row = &s->view->rows[index];
    struct tf_fit_scratch *scratch = s->scratch;
    uint32_t id = fit_spot(s->view, s->demand, row, scratch);
    if (id == SPOT_NONE) {
        s->rows[index].placeless =
            s->rows[index].placeless || (!tf_demand_barred(s->demand, row) && is_placeless(s, row->class));
        return;
    }
    struct tf_vector have = tf_profile_row_at(row, TF_LEVEL_FREE);
    int32_t cap = tf_vector_count(s->demand->need, have);
    int64_t by_gpus = fit_align(have.gpus, s->demand->need.gpus) * row->count;
    s->rows[index].admitted = true;
    s->rows[index].by_gpus = larger(s->rows[index].by_gpus, by_gpus);
    if (cap == 0)
        return;
    struct spot *spot = &scratch->spots.items[id];
    spot->sum += (int64_t)cap * row->count;
    tf_vec_push(
        &scratch->entries,
        (struct fit_entry){.row = index, .spot = id, .cap = cap, .nodes = row->count, .key = spot->job});
}

/* What the whole steps of each spot may use, in spot->sum: nothing where the job's spot does not hold the
 * core. */
static void set_budgets(const struct survey *s)
{
    struct tf_fit_scratch *scratch = s->scratch;
    int32_t step = s->demand->step;
    bool steps = fit_has_step_rule(s->demand);
    tf_vec_each (spot, &scratch->spots)
        if (spot->leaf)
            scratch->spots.items[spot->job].total += steps ? fit_align(spot->sum, step) : spot->sum;
    tf_vec_each (spot, &scratch->spots) {
        int64_t total = fit_align(scratch->spots.items[spot->job].total, step);
        spot->sum = total < s->demand->core ? 0 : steps ? fit_align(spot->sum, step) : total;
    }
}

/* Hands the budgets out, lower rows first. */
static void give_steps(const struct survey *s)
{
    tf_vec_each (entry, &s->scratch->entries) {
        struct spot *spot = &s->scratch->spots.items[entry->spot];
        int64_t all = (int64_t)entry->cap * entry->nodes;
        s->given[entry->row] = spot->sum < all ? spot->sum : all;
        spot->sum -= s->given[entry->row];
    }
}

/* A place in the sorted entries: nodes left of entry `at`. */
struct cursor {
    size_t at;
    int32_t left;
};

/* Takes the next so many nodes; notes them in given unless that is NULL. Returns the instances they hold. */
static int64_t take_nodes(const struct fit_entry *entries, size_t last, struct cursor *cursor, int32_t nodes,
                          int64_t *given)
{
    int64_t sum = 0;
    while (nodes > 0 && cursor->at < last) {
        const struct fit_entry *entry = &entries[cursor->at];
        int32_t take = cursor->left < nodes ? cursor->left : nodes;
        sum += (int64_t)take * entry->cap;
        if (given)
            given[entry->row] += (int64_t)take * entry->cap;
        nodes -= take;
        cursor->left -= take;
        if (cursor->left == 0 && ++cursor->at < last)
            cursor->left = entries[cursor->at].nodes;
    }
    return sum;
}

/* maxNodes: one job after the other takes the largest nodes that are left, so long as they hold its core. */
static void give_jobs(const struct survey *s, size_t first, size_t last)
{
    const struct fit_entry *entries = s->scratch->entries.items;
    struct cursor cursor = {first, entries[first].nodes};
    while (cursor.at < last) {
        struct cursor ahead = cursor;
        int64_t sum = take_nodes(entries, last, &ahead, s->demand->max_nodes, NULL);
        if (fit_align(sum, s->demand->step) < s->demand->core)
            return;
        take_nodes(entries, last, &cursor, s->demand->max_nodes, s->given);
    }
}

static void give(const struct survey *s)
{
    struct tf_fit_scratch *scratch = s->scratch;
    struct fit_entry *entries = scratch->entries.items;
    size_t count = scratch->entries.count;
    tf_vec_each (entry, &scratch->entries)
        s->given[entry->row] = 0;
    if (s->demand->max_nodes == 0) {
        set_budgets(s);
        give_steps(s);
        return;
    }
    if (count > 1)
        qsort(entries, count, sizeof *entries, fit_by_size);
    for (size_t first = 0, last; first < count; first = last) {
        for (last = first; last < count && entries[last].key == entries[first].key;)
            last++;
        give_jobs(s, first, last);
    }
}

static void sum_models(const struct survey *s)
{
    memset(s->of_models, 0, s->demand->models.count * sizeof *s->of_models);
    for (size_t i = 0; i < s->scratch->entries.count; i++) {
        const struct fit_entry *entry = &s->scratch->entries.items[i];
        struct of_model *sum = &s->of_models[s->scratch->spots.items[entry->spot].place];
        sum->fits += (int64_t)entry->cap * entry->nodes;
        sum->given += s->given[entry->row];
    }
}

/* Why what fits node by node is not all deliverable: it would make more whole steps if topology were no
 * matter. */
static bool for_topology(const struct survey *s, const struct of_model *sum)
{
    int64_t possible = fit_align(sum->fits, s->demand->step);
    return possible >= s->demand->core && possible > sum->given;
}

static void weigh(const struct survey *s)
{
    int32_t gpus = s->demand->need.gpus;
    sum_models(s);
    tf_vec_each (entry, &s->scratch->entries) {
        struct idle_row *row = &s->rows[entry->row];
        int64_t fits = (int64_t)entry->cap * entry->nodes * gpus;
        if (fits > row->fits)
            row->topology = for_topology(s, &s->of_models[s->scratch->spots.items[entry->spot].place]);
        row->fits = larger(row->fits, fits);
        row->deliverable = larger(row->deliverable, s->given[entry->row] * gpus);
    }
}

/* The causes of all nodes of one row. */
static struct tf_idle_causes causes_of(const struct tf_profile_row *row, const struct idle_row *found)
{
    struct tf_idle_causes out = {0};
    int64_t idle = (int64_t)tf_profile_row_at(row, TF_LEVEL_FREE).gpus * row->count;
    if (!found->admitted) {
        *(found->placeless ? &out.topology : &out.policy) = (int32_t)idle;
        return out;
    }
    out.deliverable = (int32_t)found->deliverable;
    *(found->topology ? &out.topology : &out.step) = (int32_t)(found->fits - found->deliverable);
    out.cpu_memory = (int32_t)(found->by_gpus - found->fits);
    out.count = (int32_t)(idle - found->by_gpus);
    return out;
}

/* Rows that have nothing idle take no part: of a full fleet, nearly all. */
static void survey_all(const struct survey *s)
{
    fit_begin(s->view, s->scratch);
    s->scratch->entries.count = 0;
    for (size_t i = 0; i < s->view->count; i++) {
        const struct tf_profile_row *row = &s->view->rows[i];
        if (row->count > 0 && tf_profile_row_at(row, TF_LEVEL_FREE).gpus > 0)
            look(s, (uint32_t)i);
    }
    give(s);
    weigh(s);
}

/* One shape or other can use each row whole: no further one can change what is said of it. */
static bool is_all_deliverable(const struct tf_fit_view *view, const struct idle_row *rows)
{
    for (size_t i = 0; i < view->count; i++) {
        const struct tf_profile_row *row = &view->rows[i];
        if (rows[i].deliverable < (int64_t)tf_profile_row_at(row, TF_LEVEL_FREE).gpus * row->count)
            return false;
    }
    return true;
}

void tf_fit_idle_causes(const struct tf_fit_view *view, const struct tf_mix *mix, int32_t unhealthy,
                        struct tf_fit_scratch *scratch, struct tf_idle_causes *out,
                        struct tf_idle_causes *of_rows)
{
    *out = (struct tf_idle_causes){.health = unhealthy};
    TF_AUTO_FREE struct idle_row *rows = tf_calloc(view->count + 1, sizeof *rows);
    TF_AUTO_FREE int64_t *given = tf_calloc(view->count + 1, sizeof *given);
    TF_AUTO_FREE struct of_model *of_models = tf_calloc(view->catalog->models.count + 1, sizeof *of_models);
    bool any = false;
    tf_vec_each (entry, &mix->entries) {
        if (entry->demand.need.gpus == 0)
            continue;
        any = true;
        if (is_all_deliverable(view, rows))
            break;
        survey_all(&(const struct survey){view, &entry->demand, scratch, rows, given, of_models});
    }
    for (size_t i = 0; i < view->count; i++) {
        struct tf_idle_causes causes = {.deliverable = tf_profile_row_at(&view->rows[i], TF_LEVEL_FREE).gpus *
                                                       view->rows[i].count};
        if (any)
            causes = causes_of(&view->rows[i], &rows[i]);
        tf_idle_causes_add(out, &causes);
        if (of_rows)
            of_rows[i] = causes;
    }
}
