/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what is idle here. Why is common/fit's to say. */
#include "subcluster/core/sub.h"

#include "common/base/alloc.h"
#include "common/base/cleanup.h"
#include "common/fit/explain.h"
#include "subcluster/core/mix.h"

static void find(const struct sub *sub, const struct tf_fit_view *view, struct tf_idle_causes *out,
                 struct tf_idle_causes *of_rows)
{
    const struct ledger_sums *sums = ledger_sums(&sub->ledger);
    tf_fit_idle_causes(view, mix_of_waiting(sub), sums->unhealthy, sub->scratch, out, of_rows);
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
