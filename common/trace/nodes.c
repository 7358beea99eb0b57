/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what the columns of a node file mean. */
#include "common/base/name.h"
#include "common/base/text.h"
#include "common/trace/csv.h"
#include "common/trace/trace.h"

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

void tf_trace_nodes_release(struct tf_trace_nodes *nodes)
{
    for (size_t i = 0; i < nodes->count; i++)
        tf_node_release(&nodes->items[i]);
    free(nodes->items);
    *nodes = (struct tf_trace_nodes){0};
}

static int read_capacity(const struct tf_csv *csv, const struct tf_trace_node_defaults *defaults,
                         struct tf_node *node, struct tf_error *err)
{
    int64_t gpus = 0, gib = 0;
    if (tf_csv_whole(csv, GPUS, defaults->gpus, 0, GPUS_MAX, &gpus, err) ||
        tf_csv_thousandths(csv, CPUS, defaults->cpu, CPUS_MAX * INT64_C(1000), &node->capacity.cpu, err) ||
        tf_csv_thousandths(csv, MEMORY, 0, GIB_MAX * INT64_C(1000), &gib, err))
        return -1;
    node->capacity.gpus = (int32_t)gpus;
    node->capacity.slots = SLOTS_A_GPU * node->capacity.gpus + SLOTS_MORE;
    node->capacity.memory = tf_csv_has(csv, MEMORY) ? gib * 1024 / 1000 : defaults->memory;
    return 0;
}

static size_t parts_of(const char *domain)
{
    size_t parts = *domain != '\0';
    for (; *domain; domain++)
        parts += *domain == '/';
    return parts;
}

static int read_node(struct tf_csv *csv, const struct tf_trace_node_defaults *defaults,
                     struct tf_trace_nodes *out, struct tf_error *err)
{
    struct tf_error why = TF_ERROR_INIT;
    if (out->count == TF_TRACE_NODES_MAX)
        return tf_csv_fail(csv, err, "more than %d nodes", TF_TRACE_NODES_MAX);
    struct tf_node *node = tf_vec_add(out);
    node->state = TF_NODE_READY;
    node->name = tf_strdup(tf_csv_text(csv, ID));
    if (tf_name_check(node->name, "node_id", &why))
        return tf_csv_fail(csv, err, "%s", why.text);
    if (tf_csv_unique(csv, "node_id", node->name, err) || read_capacity(csv, defaults, node, err))
        return -1;
    if (node->capacity.gpus > 0)
        node->model = tf_strdup(tf_csv_has(csv, MODEL) ? tf_csv_text(csv, MODEL) : defaults->model);
    tf_strs_add(&node->domains, tf_csv_text(csv, DOMAIN));
    size_t parts = parts_of(tf_csv_text(csv, DOMAIN));
    if (parts && out->depth && parts != out->depth)
        return tf_csv_fail(csv, err, "topology_domain \"%.60s\" has %zu parts, but others before it have %zu",
                           tf_csv_text(csv, DOMAIN), parts, out->depth);
    out->depth = parts ? parts : out->depth;
    return 0;
}

static int read_all(struct tf_csv *csv, const struct tf_trace_node_defaults *defaults,
                    struct tf_trace_nodes *out, struct tf_error *err)
{
    for (int got = tf_csv_next(csv, err); got != 0; got = tf_csv_next(csv, err))
        if (got < 0 || read_node(csv, defaults, out, err))
            return -1;
    return 0;
}

int tf_trace_nodes_read(const char *path, const struct tf_trace_node_defaults *defaults,
                        struct tf_trace_nodes *out, struct tf_error *err)
{
    *out = (struct tf_trace_nodes){0};
    struct tf_csv *csv = tf_csv_open(path, names, COLUMNS, REQUIRED, err);
    if (!csv)
        return -1;
    int failed = read_all(csv, defaults, out, err);
    tf_csv_close(csv);
    for (size_t i = 0; i < out->count && !out->depth; i++)
        tf_strs_release(&out->items[i].domains);
    if (failed)
        tf_trace_nodes_release(out);
    return failed;
}
