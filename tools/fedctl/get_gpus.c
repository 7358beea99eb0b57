/* SPDX-License-Identifier: Apache-2.0 */
/* Owns how single GPUs are listed: who has each, or why nobody can have it. */
#include "common/base/cleanup.h"
#include "tools/fedctl/gpu.h"
#include "tools/fedctl/resource.h"

static const char *state_of(const struct tf_node_info *info, uint64_t bit)
{
    if (info->held_gpus & bit)
        return "held";
    if (info->node.foreign.gpus & bit)
        return "foreign";
    if (info->node.suspect_gpus & bit)
        return "suspect";
    if (tf_cordon_gpus(&info->cordon) & bit)
        return "cordoned";
    if (info->node.bad_gpus & bit)
        return "bad";
    if (info->node.state != TF_NODE_READY)
        return tf_node_state_name(info->node.state);
    return info->free_gpus & bit ? "free" : "idle"; /* idle: of an instance that nobody knows */
}

static const struct tf_gpu_cordon *cordon_of(const struct tf_node_info *info, uint64_t bit)
{
    tf_vec_each (g, &info->cordon.gpus)
        if (g->gpus & bit)
            return g;
    return NULL;
}

static const char *note_of(const struct tf_node_info *info, uint64_t bit)
{
    const struct tf_gpu_cordon *g = cordon_of(info, bit);
    if (g)
        return g->reason ? g->reason : g->suspect ? "suspect" : "cordoned";
    if (info->cordon.whole || info->cordon.domains.count == 0)
        return info->cordon.whole ? info->cordon.reason : NULL;
    return info->cordon.domains.items[0].reason;
}

/* Who calls it bad or suspect; NULL: nobody does. */
static const char *source_of(const struct tf_node_info *info, uint64_t bit)
{
    const struct tf_gpu_cordon *g = cordon_of(info, bit);
    if (g)
        return tf_gpu_source_name(g->source);
    return info->node.bad_gpus & bit ? "engine" : NULL;
}

static const struct tf_node_instance *holder_of(const struct tf_node_info *info, uint64_t bit)
{
    tf_vec_each (instance, &info->instances)
        if (instance->gpus & bit)
            return instance;
    return NULL;
}

static const struct column columns[] = {
    {"CLUSTER", 0},
    {"NODE", 0},
    {"GPU", COLUMN_RIGHT},
    {"MODEL", 0},
    {"STATE", 0},
    {"JOB", 0},
    {"INDEX", COLUMN_RIGHT},
    {"NOTE", 0},
    {"EPOCH", COLUMN_WIDE | COLUMN_RIGHT},
    {"SAID BY", COLUMN_WIDE},
};

static enum cell_style style_of(const char *state)
{
    if (strcmp(state, "free") == 0)
        return CELL_GOOD;
    return strcmp(state, "held") == 0 || strcmp(state, "foreign") == 0 ? CELL_PLAIN : CELL_BAD;
}

static void cells(const void *object, struct tf_wall now, struct columns *out)
{
    const struct gpu *gpu = object;
    (void)now;
    columns_add(out, gpu->cluster);
    columns_add(out, gpu->node);
    columns_add_fmt(out, "%d", gpu->index);
    columns_add(out, gpu->model);
    columns_add_styled(out, style_of(gpu->state), gpu->state);
    if (gpu->holder) {
        columns_add_fmt(out, "%s/%s", gpu->holder->tenant, gpu->holder->name);
        columns_add_fmt(out, "%u", gpu->holder->index);
    } else {
        columns_add(out, "-");
        columns_add(out, "-");
    }
    columns_add(out, gpu->note);
    if (gpu->holder)
        columns_add_fmt(out, "%llu", (unsigned long long)gpu->holder->epoch);
    else
        columns_add(out, "-");
    columns_add(out, gpu->source);
}

/* As `fedctl cordon gpu` takes it. */
static void name(const void *object, struct tf_buf *buf)
{
    const struct gpu *gpu = object;
    tf_buf_fmt(buf, "%s/%s:%d", gpu->cluster, gpu->node, gpu->index);
}

const struct resource resource_gpus = {"gpus", columns, TF_ARRAY_LEN(columns), &view_gpu, cells, name};

static void add_gpus(void *arg, const struct tf_node_info *info)
{
    for (int32_t i = 0; i < info->node.capacity.gpus; i++) {
        uint64_t bit = UINT64_C(1) << i;
        const struct gpu gpu = {.cluster = info->cluster,
                                .node = info->node.name,
                                .model = info->node.model,
                                .index = i,
                                .state = state_of(info, bit),
                                .note = note_of(info, bit),
                                .source = source_of(info, bit),
                                .holder = holder_of(info, bit)};
        listing_add(arg, &gpu);
    }
}

int fetch_gpus(struct fedctl *ctl, struct listing *listing)
{
    return fetch_each_node(ctl, add_gpus, listing);
}
