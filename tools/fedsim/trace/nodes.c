/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what the columns of a node file mean. */
#include "common/base/name.h"
#include "common/base/text.h"
#include "tools/fedsim/trace/csv.h"
#include "tools/fedsim/trace/trace.h"

enum column { ID, MODEL, GPUS, CPUS, MEMORY, DOMAIN, COLUMNS };

enum {
    REQUIRED = MODEL,
    GPUS_MAX = 64,
    CPUS_MAX = 100000,
    GIB_MAX = 1024 * 1024,
    SLOTS_A_GPU = 2, /* as subclusterd's virtual nodes */
    SLOTS_MORE = 16,
};

static const char *const names[COLUMNS] = {
    [ID] = "node_id", [MODEL] = "gpu_model", [GPUS] = "gpus",
    [CPUS] = "cpus",  [MEMORY] = "mem_gib",  [DOMAIN] = "topology_domain",
};

void trace_nodes_release(struct trace_nodes *nodes)
{
    for (size_t i = 0; i < nodes->count; i++)
        tf_node_release(&nodes->items[i]);
    free(nodes->items);
    *nodes = (struct trace_nodes){0};
}

static int read_capacity(const struct csv *csv, const struct trace_node_defaults *defaults,
                         struct tf_node *node, struct tf_error *err)
{
    int64_t gpus = 0, gib = 0;
    if (csv_whole(csv, GPUS, defaults->gpus, 0, GPUS_MAX, &gpus, err) ||
        csv_thousandths(csv, CPUS, defaults->cpu, CPUS_MAX * INT64_C(1000), &node->capacity.cpu, err) ||
        csv_thousandths(csv, MEMORY, 0, GIB_MAX * INT64_C(1000), &gib, err))
        return -1;
    node->capacity.gpus = (int32_t)gpus;
    node->capacity.slots = SLOTS_A_GPU * node->capacity.gpus + SLOTS_MORE;
    node->capacity.memory = csv_has(csv, MEMORY) ? gib * 1024 / 1000 : defaults->memory;
    return 0;
}

static size_t parts_of(const char *domain)
{
    size_t parts = *domain != '\0';
    for (; *domain; domain++)
        parts += *domain == '/';
    return parts;
}

static int read_node(struct csv *csv, const struct trace_node_defaults *defaults, struct trace_nodes *out,
                     struct tf_error *err)
{
    struct tf_error why = TF_ERROR_INIT;
    if (out->count == TRACE_NODES_MAX)
        return csv_fail(csv, err, "more than %d nodes", TRACE_NODES_MAX);
    struct tf_node *node = tf_vec_add(out);
    node->state = TF_NODE_READY;
    node->name = tf_strdup(csv_text(csv, ID));
    if (tf_name_check(node->name, "node_id", &why))
        return csv_fail(csv, err, "%s", why.text);
    if (csv_unique(csv, "node_id", node->name, err) || read_capacity(csv, defaults, node, err))
        return -1;
    if (node->capacity.gpus > 0)
        node->model = tf_strdup(csv_has(csv, MODEL) ? csv_text(csv, MODEL) : defaults->model);
    tf_strs_add(&node->domains, csv_text(csv, DOMAIN));
    size_t parts = parts_of(csv_text(csv, DOMAIN));
    if (parts && out->depth && parts != out->depth)
        return csv_fail(csv, err, "topology_domain \"%.60s\" has %zu parts, but others before it have %zu",
                        csv_text(csv, DOMAIN), parts, out->depth);
    out->depth = parts ? parts : out->depth;
    return 0;
}

static int read_all(struct csv *csv, const struct trace_node_defaults *defaults, struct trace_nodes *out,
                    struct tf_error *err)
{
    for (int got = csv_next(csv, err); got != 0; got = csv_next(csv, err))
        if (got < 0 || read_node(csv, defaults, out, err))
            return -1;
    return 0;
}

int trace_nodes_read(const char *path, const struct trace_node_defaults *defaults, struct trace_nodes *out,
                     struct tf_error *err)
{
    *out = (struct trace_nodes){0};
    struct csv *csv = csv_open(path, names, COLUMNS, REQUIRED, err);
    if (!csv)
        return -1;
    int failed = read_all(csv, defaults, out, err);
    csv_close(csv);
    for (size_t i = 0; i < out->count && !out->depth; i++)
        tf_strs_release(&out->items[i].domains);
    if (failed)
        trace_nodes_release(out);
    return failed;
}
