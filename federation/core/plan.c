/* SPDX-License-Identifier: Apache-2.0 */
/* Where a job would go if it came now. Counted by the functions that decide, on the state as it is; nothing
 * is changed, and a subcluster's own word (sub_plan_place) is for the caller to ask. */
#include "federation/core/candidate.h"
#include "federation/core/cluster.h"
#include "federation/core/consolidate.h"
#include "federation/core/explain.h"
#include "federation/core/jobs.h"
#include "federation/core/ledger.h"

#include <assert.h>
#include <stdio.h>

/* The job as it would wait. All but the key is borrowed: of the manifest, and, if it waits already, from it.
 */
static struct job probe_of(const struct fed *fed, const struct tf_job_manifest *manifest)
{
    const struct job *known = fed_job_by_name(fed, manifest->tenant, manifest->name);
    struct job probe = {.rank = tf_classes_rank(&fed->settings.policy.classes, manifest->spec.priority)};
    probe.record.tenant = manifest->tenant;
    probe.record.name = manifest->name;
    probe.record.spec = &manifest->spec;
    probe.record.labels = manifest->labels;
    snprintf(probe.key, sizeof probe.key, "%s/%s", manifest->tenant, manifest->name);
    if (known && fed_job_is_waiting(known)) {
        memcpy(&probe.record.refusals, &known->record.refusals, sizeof probe.record.refusals);
        memcpy(&probe.refusals, &known->refusals, sizeof probe.refusals);
        probe.record.claims_in = known->record.claims_in;
        probe.record.claim_move_cost = known->record.claim_move_cost;
        probe.record.consolidated = known->record.consolidated;
        probe.record.changed = known->record.changed;
    }
    return probe;
}

/* One subcluster with what was counted there. */
struct candidate {
    const struct cluster *cluster;
    struct verdict verdict;
    struct preference preference; /* where it fits */
    struct fed_plan_row row;
};
struct candidates {
    struct candidate *items;
    size_t count, cap;
};

static void add(const struct fed *fed, const struct job *probe, const struct cluster *cluster,
                struct tf_now now, struct candidates *out)
{
    const struct tf_job_spec *spec = probe->record.spec;
    struct candidate *c = tf_vec_add(out);
    c->cluster = cluster;
    c->row.why = fed_explain_cluster(fed, probe, cluster, now);
    c->row.link = cluster->link;
    if (!cluster->room)
        return;
    struct entitled entitled = {0};
    fed_candidate_entitled(fed, probe, cluster, &entitled);
    const char *model = fed_ledger_look(fed, cluster, spec, probe->rank, &entitled, now, &c->verdict);
    tf_vec_release(&entitled.reserved);
    c->row.free = c->verdict.free;
    if (c->row.why.first.reason != TF_REASON_NONE)
        return;
    assert(c->verdict.fits && "explained and counted by the same rules");
    char level[TF_LEVEL_TEXT];
    bool raised = c->verdict.level == TF_LEVEL_FREE && spec->grow != TF_GROW_NEVER;
    c->row.level = c->verdict.level;
    c->row.level_name = tf_strdup(tf_level_name(c->verdict.level, &fed->settings.policy.classes, level));
    c->row.size = raised ? tf_size_align(&spec->elastic, c->verdict.count) : spec->elastic.min;
    c->row.model = tf_strdup(model);
    fed_candidate_prefer(spec, now.wall, cluster, &c->verdict, &c->preference);
}

static bool fits(const struct candidate *c)
{
    return c->row.why.first.reason == TF_REASON_NONE;
}

/* Equal ones stay in the order of their names, as in a round of placement. */
static bool goes_before(const struct candidate *a, const struct candidate *b)
{
    if (fits(a) != fits(b))
        return fits(a);
    return fits(a) && fed_preference_cmp(&a->preference, &b->preference) < 0;
}

/* By insertion: stable, and there are at most some hundred. */
static void sort(struct candidates *list)
{
    for (size_t i = 1; i < list->count; i++) {
        struct candidate moved = list->items[i];
        size_t to = i;
        for (; to > 0 && goes_before(&moved, &list->items[to - 1]); to--)
            list->items[to] = list->items[to - 1];
        list->items[to] = moved;
    }
}

/* The class "fits after consolidation", where cores of others would be taken else. */
static void prefer_moves(const struct fed *fed, const struct job *probe, struct tf_now now,
                         struct candidates *list)
{
    struct fed_consolidation found;
    struct candidate *first = list->items;
    if (list->count == 0 || !fits(first) || !fed_consolidate_takes_cores(first->row.level) ||
        !fed_consolidate_may(fed, probe))
        return;
    int64_t evicting = fed_candidate_cost(probe->record.spec, now.wall, first->cluster, &first->verdict);
    if (!fed_consolidate_find(fed, probe, evicting, now, &found))
        return;
    size_t at = 0;
    while (list->items[at].cluster != found.cluster)
        at++;
    struct candidate moves = list->items[at];
    char *instead = fed_consolidate_text(&found, evicting, first->cluster);
    for (; at > 0; at--)
        list->items[at] = list->items[at - 1];
    fed_blocker_release(&moves.row.why.first);
    moves.row.why.first = (struct fed_blocker){0};
    moves.row.instead = instead;
    moves.row.level = TF_LEVEL_FREE;
    moves.row.size = probe->record.spec->elastic.min;
    free(moves.row.level_name);
    moves.row.level_name = tf_strdup("free, after consolidation");
    list->items[0] = moves;
}

char *fed_plan_waits(const struct fed *fed, const struct tf_job_manifest *manifest,
                     const struct fed_plan *plan)
{
    struct job probe = probe_of(fed, manifest);
    struct fed_explain_rows rows = {0}; /* borrows what is in the plan's */
    tf_vec_each (row, &plan->rows)
        tf_vec_push(&rows, row->why);
    char *text = fed_explain_waiting(fed, &probe, "would wait", &rows);
    tf_vec_release(&rows);
    return text;
}

void fed_plan_place(const struct fed *fed, const struct tf_job_manifest *manifest, struct tf_now now,
                    struct fed_plan *out)
{
    const struct job probe = probe_of(fed, manifest);
    struct candidates candidates = {0};
    struct fed_explain_rows unknown = {0};
    *out = (struct fed_plan){.stopped = !fed_is_open(fed)};
    tf_vec_each (c, &fed->clusters)
        add(fed, &probe, *c, now, &candidates);
    sort(&candidates);
    prefer_moves(fed, &probe, now, &candidates);
    fed_explain_unknown(fed, &probe, &unknown);
    tf_vec_each (c, &candidates)
        tf_vec_push(&out->rows, c->row);
    tf_vec_each (row, &unknown)
        tf_vec_push(&out->rows, (struct fed_plan_row){.why = *row});
    tf_vec_release(&candidates);
    tf_vec_release(&unknown);
}

void fed_plan_release(struct fed_plan *plan)
{
    tf_vec_each (row, &plan->rows) {
        fed_explain_row_release(&row->why);
        free(row->level_name);
        free(row->model);
        free(row->instead);
    }
    tf_vec_release(&plan->rows);
    *plan = (struct fed_plan){0};
}
