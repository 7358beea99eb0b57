/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the mix, resolved against the ledger's classes. Why which GPU is idle is common/fit's to say. */
#include "subcluster/core/idle.h"

#include "common/base/alloc.h"
#include "common/base/cleanup.h"
#include "common/fit/explain.h"

struct idle_mix {
    struct tf_mix mix;
    bool stale;
    size_t classes; /* of the catalog that it is resolved against: it is resolved anew when there are more */
};

struct idle_mix *idle_mix_create(void)
{
    struct idle_mix *mix = tf_calloc(1, sizeof *mix);
    mix->stale = true;
    return mix;
}

void idle_mix_destroy(struct idle_mix *mix)
{
    if (!mix)
        return;
    tf_mix_release(&mix->mix);
    free(mix);
}

void idle_mix_changed(struct sub *sub)
{
    sub->idle->stale = true;
    sub->profiler.due = true;
}

/* What nobody waits for would hide what waiting work lacks: a shape of one GPU that runs somewhere could use
 * nearly everything. */
static void resolve(const struct sub *sub, struct idle_mix *own, const struct tf_catalog *catalog)
{
    TF_VEC(struct tf_mix_shape) shapes = {0};
    bool any_waits = false;
    tf_vec_each (s, &sub->policy.shapes)
        any_waits |= s->waits;
    tf_vec_each (s, &sub->policy.shapes) {
        int rank = tf_classes_rank(&sub->policy.classes, s->spec.priority);
        if (rank < 0 || s->waits != any_waits)
            continue;
        struct tf_mix_shape shape = {&s->spec, rank, s->instances};
        tf_vec_push(&shapes, shape);
    }
    tf_mix_resolve(&own->mix, shapes.items, shapes.count, catalog);
    own->stale = false;
    own->classes = tf_fit_rows_class_count(sub->ledger.rows);
    tf_vec_release(&shapes);
}

static const struct tf_mix *mix_of(const struct sub *sub, const struct tf_catalog *catalog)
{
    if (sub->idle->stale || sub->ledger.rebuilt ||
        sub->idle->classes != tf_fit_rows_class_count(sub->ledger.rows))
        resolve(sub, sub->idle, catalog);
    return &sub->idle->mix;
}

static void find(const struct sub *sub, const struct tf_fit_view *view, struct tf_idle_causes *out,
                 struct tf_idle_causes *of_rows)
{
    const struct ledger_sums *sums = ledger_sums(&sub->ledger);
    tf_fit_idle_causes(view, mix_of(sub, view->catalog), sums->unhealthy, sub->scratch, out, of_rows);
    out->policy += sums->claimed;
}

void sub_idle(const struct sub *sub, struct tf_idle_causes *out)
{
    struct tf_fit_view view = tf_fit_rows_view(sub->ledger.rows);
    find(sub, &view, out, NULL);
}

/* Node by node the same shapes may be given other nodes of a kind than row by row, which changes nothing but
 * where among equals a shape's last step is. */
void sub_idle_of_nodes(const struct sub *sub, struct tf_idle_causes *out)
{
    struct tf_fit_view view = ledger_view(&sub->ledger);
    TF_AUTO_FREE struct tf_idle_causes *by_number = tf_calloc(view.count + 1, sizeof *by_number);
    struct tf_idle_causes all;
    find(sub, &view, &all, by_number);
    for (size_t i = 0; i < sub->ledger.by_name.count; i++) {
        const struct ledger_node *node = sub->ledger.by_name.items[i];
        out[i] = by_number[node->number];
        out[i].health += node->sums.unhealthy;
        out[i].policy += node->sums.claimed;
    }
}
