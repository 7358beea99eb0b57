/* SPDX-License-Identifier: Apache-2.0 */
/* Owns top: how full clusters and nodes are, and why idle GPUs are idle. */
#include "common/base/alloc.h"
#include "common/base/cleanup.h"
#include "common/base/quantity.h"
#include "common/base/text.h"
#include "tools/fedctl/resource.h"

#define O struct options
static const struct option options[] = {
    OPTION_OUTPUT_ALL,
    {0,
     "BY",
     {.key = "sort",
      TF_ENUM(O, sort, "gpus", "cpu", "memory", "name", "fragmentation"),
      .def = "gpus",
      .help = "nodes: fullest first by gpus, cpu or memory; by name; most idle GPUs beside work first by "
              "fragmentation"}},
    {'n', "N", {.key = "limit", TF_INT64(O, limit), .help = "nodes: only the first so many"}},
    {'c', "CLUSTER", {.key = "cluster", TF_NAME(O, cluster), .help = "nodes: only of this cluster"}},
    OPTION_SELECTOR,
    {0, NULL, {.key = "no-headers", TF_BOOL(O, no_headers), .help = "tables without their titles"}},
};
#undef O

static int64_t percent(int64_t part, int64_t whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

/* ---- clusters ---- */

static const struct column cluster_columns[] = {
    {"CLUSTER", 0},
    {"STATE", 0},
    {"GPUS", COLUMN_RIGHT},
    {"HELD", COLUMN_RIGHT},
    {"USE%", COLUMN_RIGHT},
    {"FREE", COLUMN_RIGHT},
    {"DELIVERABLE", COLUMN_RIGHT},
    {"COUNT", COLUMN_RIGHT},
    {"CPU_MEMORY", COLUMN_RIGHT},
    {"TOPOLOGY", COLUMN_RIGHT},
    {"POLICY", COLUMN_RIGHT},
    {"STEP", COLUMN_RIGHT},
    {"HEALTH", COLUMN_RIGHT},
    {"FOREIGN", COLUMN_RIGHT},
    {"JOBS", COLUMN_RIGHT},
};

static void number(struct columns *out, int64_t n)
{
    columns_add_fmt(out, "%lld", (long long)n);
}

static void add_causes(const struct tf_idle_causes *i, struct columns *out)
{
    number(out, i->deliverable);
    number(out, i->count);
    number(out, i->cpu_memory);
    number(out, i->topology);
    number(out, i->policy);
    number(out, i->step);
    number(out, i->health);
}

static void cluster_cells(const void *object, struct tf_wall now, struct columns *out)
{
    const struct tf_cluster_info *info = object;
    const struct tf_health_counts *h = &info->health;
    char state[CLUSTER_STATE_TEXT];
    (void)now;
    columns_add(out, info->name);
    if (info->registered.ms)
        columns_add_styled(out, cluster_style(info), cluster_state(info, state));
    else
        columns_add(out, "-"); /* the sum */
    number(out, h->gpus);
    number(out, h->held_gpus);
    number(out, percent(h->held_gpus, h->gpus));
    number(out, h->free_gpus);
    add_causes(&info->idle, out);
    number(out, h->foreign_gpus);
    number(out, info->placements);
}

static void add_up(struct tf_cluster_info *sum, const struct tf_cluster_info *info)
{
    sum->placements += info->placements;
    sum->health.gpus += info->health.gpus;
    sum->health.held_gpus += info->health.held_gpus;
    sum->health.free_gpus += info->health.free_gpus;
    sum->health.foreign_gpus += info->health.foreign_gpus;
    tf_idle_causes_add(&sum->idle, &info->idle);
}

static void cluster_name(const void *object, struct tf_buf *buf)
{
    tf_buf_str(buf, ((const struct tf_cluster_info *)object)->name);
}

static const struct resource top_clusters = {
    "clusters", cluster_columns, TF_ARRAY_LEN(cluster_columns), &view_cluster, cluster_cells, cluster_name,
};

static int list_clusters(struct fedctl *ctl, struct listing *listing, const struct tf_selector *labels)
{
    struct tf_request request = {.method = TF_METHOD_LIST_CLUSTERS};
    struct tf_reply reply = {0};
    struct tf_error err = TF_ERROR_INIT;
    struct tf_cluster_info sum = {.name = (char[]){"TOTAL"}};
    bool table = ctl->options.output == OUTPUT_TABLE || ctl->options.output == OUTPUT_WIDE;
    if (fedctl_call(ctl, &request, &reply, &err))
        return fedctl_fail(ctl, &err);
    tf_vec_each (info, &reply.clusters.clusters) {
        if (!tf_selector_match(labels, &info->labels))
            continue;
        listing_add(listing, info);
        add_up(&sum, info);
    }
    if (table && listing->count > 1)
        listing_add(listing, &sum);
    tf_reply_release(&reply);
    return FEDCTL_DONE;
}

/* ---- nodes ---- */

static const struct column node_columns[] = {
    {"CLUSTER", 0},
    {"NODE", 0},
    {"STATE", 0},
    {"MODEL", 0},
    {"GPUS", COLUMN_RIGHT},
    {"HELD", COLUMN_RIGHT},
    {"USE%", COLUMN_RIGHT},
    {"FREE", COLUMN_RIGHT},
    {"CPU", COLUMN_RIGHT},
    {"CPU%", COLUMN_RIGHT},
    {"MEMORY", COLUMN_RIGHT},
    {"MEM%", COLUMN_RIGHT},
    {"INSTANCES", COLUMN_RIGHT},
    {"DELIVERABLE", COLUMN_RIGHT | COLUMN_WIDE},
    {"COUNT", COLUMN_RIGHT | COLUMN_WIDE},
    {"CPU_MEMORY", COLUMN_RIGHT | COLUMN_WIDE},
    {"TOPOLOGY", COLUMN_RIGHT | COLUMN_WIDE},
    {"POLICY", COLUMN_RIGHT | COLUMN_WIDE},
    {"STEP", COLUMN_RIGHT | COLUMN_WIDE},
    {"HEALTH", COLUMN_RIGHT | COLUMN_WIDE},
};

static void node_cells(const void *object, struct tf_wall now, struct columns *out)
{
    const struct tf_node_info *info = object;
    const struct tf_node *node = &info->node;
    int32_t held = tf_gpu_set_count(info->held_gpus);
    char text[TF_QUANTITY_TEXT];
    (void)now;
    columns_add(out, info->cluster);
    columns_add(out, node->name);
    columns_add_styled(out, node->state == TF_NODE_READY ? CELL_GOOD : CELL_BAD,
                       tf_node_state_name(node->state));
    columns_add(out, node->model);
    number(out, node->capacity.gpus);
    number(out, held);
    number(out, percent(held, node->capacity.gpus));
    number(out, tf_gpu_set_count(info->free_gpus));
    columns_add(out, tf_cpu_format(info->used.cpu, text));
    number(out, percent(info->used.cpu, node->capacity.cpu));
    columns_add(out, tf_memory_format(info->used.memory, text));
    number(out, percent(info->used.memory, node->capacity.memory));
    number(out, (int64_t)info->instances.count);
    add_causes(&info->idle, out);
}

static void node_name(const void *object, struct tf_buf *buf)
{
    const struct tf_node_info *info = object;
    tf_buf_fmt(buf, "%s/%s", info->cluster, info->node.name);
}

static const struct resource top_nodes = {
    "nodes", node_columns, TF_ARRAY_LEN(node_columns), &view_node, node_cells, node_name,
};

struct place {
    int64_t full; /* basis points */
    const struct tf_node_info *info;
};

static int64_t fullness(const struct tf_node_info *info, enum sort_by by)
{
    const struct tf_vector *all = &info->node.capacity;
    switch (by) {
    case SORT_GPUS:
        return all->gpus ? INT64_C(10000) * tf_gpu_set_count(info->held_gpus) / all->gpus : -1;
    case SORT_CPU:
        return all->cpu ? 10000 * info->used.cpu / all->cpu : -1;
    case SORT_MEMORY:
        return all->memory ? 10000 * info->used.memory / all->memory : -1;
    case SORT_FRAGMENTATION: /* what no whole node can be made of while that work is there */
        return info->held_gpus ? tf_gpu_set_count(info->free_gpus) : 0;
    case SORT_NAME:
        break;
    }
    return 0;
}

/* ---- nodes by free GPUs: the heat map ---- */

enum { BAR_MAX = 40, HEAT_MAX = 64 };

static void heat_line(struct fedctl *ctl, const int32_t count[HEAT_MAX + 1], int32_t free_gpus, int32_t most)
{
    int32_t length = (int32_t)(((int64_t)count[free_gpus] * BAR_MAX + most - 1) / most);
    char bar[BAR_MAX + 1];
    memset(bar, '#', (size_t)length);
    bar[length] = '\0';
    out_fmt(&ctl->out, "%9d  %6d  %s\n", free_gpus, count[free_gpus], bar);
}

static void print_heat(struct fedctl *ctl, const struct tf_nodes_reply *nodes,
                       const struct tf_selector *labels)
{
    int32_t count[HEAT_MAX + 1] = {0}, most = 0;
    tf_vec_each (info, &nodes->nodes) {
        int32_t free_gpus = tf_gpu_set_count(info->free_gpus);
        if (info->node.capacity.gpus > 0 && info->node.state == TF_NODE_READY &&
            tf_selector_match(labels, &info->node.labels) && ++count[free_gpus] > most)
            most = count[free_gpus];
    }
    if (most == 0)
        return;
    out_fmt(&ctl->out, "FREE-GPUS   NODES\n");
    for (int32_t gpus = 0; gpus <= HEAT_MAX; gpus++)
        if (count[gpus])
            heat_line(ctl, count, gpus, most);
    out_fmt(&ctl->out, "\n");
}

static int fullest_first(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->full != y->full)
        return x->full > y->full ? -1 : 1;
    int order = strcmp(x->info->cluster, y->info->cluster);
    return order ? order : strcmp(x->info->node.name, y->info->node.name);
}

static void add_sorted(const struct fedctl *ctl, const struct tf_nodes_reply *nodes,
                       const struct tf_selector *labels, struct listing *listing)
{
    TF_VEC(struct place) places = {0};
    int64_t limit = ctl->options.limit ? ctl->options.limit : INT64_MAX;
    tf_vec_each (info, &nodes->nodes)
        if (tf_selector_match(labels, &info->node.labels))
            tf_vec_push(&places, (struct place){fullness(info, ctl->options.sort), info});
    if (places.count)
        qsort(places.items, places.count, sizeof *places.items, fullest_first);
    for (size_t i = 0; i < places.count && (int64_t)i < limit; i++)
        listing_add(listing, places.items[i].info);
    tf_vec_release(&places);
}

static int list_nodes(struct fedctl *ctl, struct listing *listing, const struct tf_selector *labels)
{
    struct tf_request request = {.method = TF_METHOD_LIST_NODES,
                                 .nodes.cluster = ctl->options.cluster}; /* lent */
    struct tf_reply reply = {0};
    struct tf_error err = TF_ERROR_INIT;
    if (fedctl_call(ctl, &request, &reply, &err))
        return fedctl_fail(ctl, &err);
    if (ctl->options.sort == SORT_FRAGMENTATION &&
        (ctl->options.output == OUTPUT_TABLE || ctl->options.output == OUTPUT_WIDE))
        print_heat(ctl, &reply.nodes, labels);
    add_sorted(ctl, &reply.nodes, labels, listing);
    int code = tell_missing(&reply.nodes.missing, "nodes");
    tf_reply_release(&reply);
    return code;
}

static int run(struct fedctl *ctl)
{
    struct tf_error err = TF_ERROR_INIT;
    enum resource_kind kind;
    struct tf_selector labels = {0};
    struct listing listing;
    if (target_kind(ctl, 1u << RESOURCE_CLUSTERS | 1u << RESOURCE_NODES, &kind, &err))
        return fedctl_usage(ctl, "%s", err.text);
    if (ctl->words.count)
        return fedctl_usage(ctl, "top takes no names, not \"%.100s\"; see --cluster and --selector",
                            ctl->words.items[0]);
    if (ctl->options.selector && target_selector(ctl->options.selector, &labels, &err)) {
        tf_selector_release(&labels);
        return fedctl_usage(ctl, "%s", err.text);
    }
    bool clusters = kind == RESOURCE_CLUSTERS;
    listing_begin(&listing, clusters ? &top_clusters : &top_nodes, &ctl->options, false, &ctl->out);
    int code = clusters ? list_clusters(ctl, &listing, &labels) : list_nodes(ctl, &listing, &labels);
    listing_end(&listing, code == FEDCTL_DONE);
    tf_selector_release(&labels);
    return code;
}

const struct verb verb_top = {
    .name = "top",
    .usage = "clusters\nnodes [--sort gpus|cpu|memory|name|fragmentation] [--limit N]",
    .help = "Show how full clusters and nodes are",
    .more = "Of each cluster, and with -o wide of each node, every idle GPU counts under one cause: "
            "deliverable (waiting\n"
            "work could use it; while none waits, what runs could), or why not: count (too few on its node), "
            "cpu_memory,\n"
            "topology (its domain is too small), policy (no shape may use it, or it is kept for a job), step "
            "(they make no\n"
            "whole core or step), or health (bad, cordoned, its node not ready).\n"
            "HELD and percentages are what was given to jobs, not what they use of it.\n"
            "By fragmentation, the nodes with the most idle GPUs beside work come first, after a map of how "
            "many ready nodes\n"
            "have so many GPUs free: `fedctl defrag plan` says how to make whole nodes of them.",
    .examples = "fedctl top clusters\n"
                "# The ten nodes with the most memory given away\n"
                "fedctl top nodes --sort memory --limit 10\n",
    .options = OPTION_LIST(options),
    .run = run,
};
