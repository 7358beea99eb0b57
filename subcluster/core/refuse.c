/* SPDX-License-Identifier: Apache-2.0 */
/* Typed reasons for what was not placed. Only reads. */
#include "subcluster/core/refuse.h"

#include "common/base/text.h"

/* The rows as they would be if nothing of ours ran. */
struct empty_rows {
    TF_VEC(struct tf_profile_row) rows;
};

static struct tf_fit_view empty_view(const struct sub *sub, struct empty_rows *empty)
{
    struct tf_fit_view view = ledger_view(&sub->ledger);
    tf_vec_each (item, &sub->ledger.nodes) {
        struct tf_profile_row row = sub->ledger.node_rows.items[(*item)->number];
        memset(&row.levels, 0, sizeof row.levels);
        if (row.count)
            tf_fit_node_levels(&(*item)->node, NULL, 0, NULL, 0, &row.levels);
        tf_vec_push(&empty->rows, row);
    }
    view.rows = empty->rows.items;
    view.count = empty->rows.count;
    return view;
}

static void empty_release(struct empty_rows *empty)
{
    tf_vec_each (row, &empty->rows)
        tf_vec_release(&row->levels);
    tf_vec_release(&empty->rows);
}

static int32_t count_free(const struct tf_fit_view *view, const struct tf_demand *demand)
{
    TF_AUTO(tf_fit_scratch) scratch = tf_fit_scratch_create();
    struct tf_fit fit = {0};
    tf_fit_count(view, demand, TF_LEVEL_FREE, scratch, &fit);
    return fit.count;
}

/* The demand without its topology: rules and maxNodes. Borrows the rest. */
static struct tf_demand anywhere(const struct tf_demand *demand)
{
    struct tf_demand copy = *demand;
    memset(&copy.rules, 0, sizeof copy.rules);
    copy.max_nodes = 0;
    return copy;
}

static bool wants_model(const struct tf_job_spec *spec, const char *chosen, const char *model)
{
    if (chosen)
        return tf_str_eq(chosen, model);
    const struct tf_strs *models = &spec->group.shape.gpu_models;
    return models->count == 0 ? model != NULL : model && tf_strs_has(models, model);
}

/* Of the nodes: is there one with such GPUs, and with such large ones? */
static enum tf_reason gpu_reason(const struct sub *sub, const struct tf_job_spec *spec, const char *model)
{
    bool any = false;
    if (spec->group.shape.gpus == 0)
        return TF_REASON_NONE;
    tf_vec_each (item, &sub->ledger.nodes) {
        const struct tf_node *node = &(*item)->node;
        if (!(*item)->known || !wants_model(spec, model, node->model))
            continue;
        any = true;
        if (node->gpu_memory >= spec->group.shape.gpu_memory)
            return TF_REASON_NONE;
    }
    return any ? TF_REASON_GPU_MEMORY : TF_REASON_NO_SUCH_MODEL;
}

static enum tf_reason empty_reason(const struct sub *sub, const struct tf_demand *demand, int32_t size)
{
    struct empty_rows empty = {0};
    struct tf_fit_view view = empty_view(sub, &empty);
    struct tf_demand free_of_rules = anywhere(demand), single = free_of_rules;
    single.step = single.core = 1;
    enum tf_reason reason = TF_REASON_NONE;
    if (count_free(&view, &single) == 0)
        reason = TF_REASON_NODE_TOO_SMALL;
    else if (count_free(&view, &free_of_rules) < size)
        reason = TF_REASON_NOT_ENOUGH_NODES;
    else if (count_free(&view, demand) < size)
        reason = TF_REASON_TOPOLOGY;
    empty_release(&empty);
    return reason;
}

static enum tf_reason busy_reason(const struct sub *sub, const struct tf_demand *demand, int32_t size)
{
    struct tf_fit_view view = ledger_view(&sub->ledger);
    struct tf_demand free_of_rules = anywhere(demand), gpus_only = *demand;
    if (count_free(&view, &free_of_rules) >= size)
        return TF_REASON_TOPOLOGY;
    gpus_only.need.cpu = gpus_only.need.memory = 0;
    return count_free(&view, &gpus_only) >= size ? TF_REASON_CPU_MEMORY : TF_REASON_GPUS;
}

enum tf_reason refusal_reason(const struct sub *sub, const struct tf_job_spec *spec, const char *model,
                              const struct tf_demand *demand, int32_t size, char **text)
{
    struct tf_fit_view view = ledger_view(&sub->ledger);
    enum tf_reason reason = gpu_reason(sub, spec, model);
    if (reason == TF_REASON_NONE)
        reason = empty_reason(sub, demand, size);
    if (reason == TF_REASON_NONE)
        reason = busy_reason(sub, demand, size);
    int32_t has = count_free(&view, demand);
    *text = tf_asprintf("%s has room for %d of the %d instances asked for", sub->boot.name, has, size);
    return reason;
}
