/* SPDX-License-Identifier: Apache-2.0 */
/* From the entries of `nodes` to nodes. */
#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/hash.h"
#include "common/base/text.h"
#include "subcluster/daemon/config.h"

enum { SLOTS_A_GPU = 2, SLOTS_MORE = 16 };

/* A name that was given, to find the second of it. */
struct given {
    const char *name; /* borrowed */
    UT_hash_handle hh;
};

void subd_nodes_release(struct subd_nodes *nodes)
{
    tf_vec_each (node, nodes)
        tf_node_release(node);
    tf_vec_release(nodes);
}

/* Appends what `{i}` or `{i/K}` at pattern stands for; returns what follows it, NULL if it is neither. */
static const char *add_number(struct tf_buf *out, const char *pattern, int32_t i)
{
    const char *close = strchr(pattern, '}');
    int64_t divisor = 1;
    if (!close || pattern[1] != 'i')
        return NULL;
    if (pattern[2] == '/') {
        TF_AUTO_FREE char *digits = tf_strndup(pattern + 3, (size_t)(close - pattern) - 3);
        if (tf_parse_int64(digits, 1, SUBD_NODES_MAX, &divisor, NULL))
            return NULL;
    } else if (pattern + 2 != close)
        return NULL;
    tf_buf_fmt(out, "%lld", (long long)(i / divisor));
    return close + 1;
}

/* The path of node i, owned by the caller; NULL if the pattern is none. */
static char *domain_of(const char *pattern, int32_t i)
{
    TF_AUTO_BUF out = TF_BUF_INIT;
    while (*pattern) {
        if (*pattern != '{') {
            tf_buf_char(&out, *pattern++);
            continue;
        }
        pattern = add_number(&out, pattern, i);
        if (!pattern)
            return NULL;
    }
    return tf_buf_take(&out);
}

static void add_domains(struct tf_node *node, const struct subd_config *config,
                        const struct subd_node_group *group, int32_t i)
{
    tf_vec_each (plane, &config->topology) {
        const char *pattern = tf_pairs_get(&group->domains, plane->name);
        TF_AUTO_FREE char *path = pattern ? domain_of(pattern, i) : NULL;
        tf_strs_add(&node->domains, path ? path : "");
    }
}

static void add_node(struct subd_nodes *nodes, const struct subd_config *config,
                     const struct subd_node_group *group, int32_t i)
{
    struct tf_node *node = tf_vec_add(nodes);
    node->name = group->name ? tf_strdup(group->name) : tf_asprintf("%s%d", group->prefix, i);
    node->address = tf_strdup("127.0.0.1");
    node->model = tf_strdup(group->gpus ? group->model : NULL);
    node->gpu_memory = group->gpu_memory;
    node->capacity.gpus = group->gpus;
    node->capacity.cpu = group->cpu;
    node->capacity.memory = group->memory;
    node->capacity.slots = group->slots ? group->slots : SLOTS_A_GPU * group->gpus + SLOTS_MORE;
    node->state = TF_NODE_READY;
    tf_pairs_copy(&node->labels, &group->labels);
    add_domains(node, config, group, i);
}

/* What is wrong with the entry as it is written. */
static void check_group(const struct subd_config *config, const struct subd_node_group *group,
                        const char *path, struct tf_complaints *out)
{
    if (!group->name && !group->prefix)
        tf_complaints_add(out, path, "a node needs a name, or several like ones a prefix and a count");
    if (group->name && group->count != 1)
        tf_complaints_add(out, path, "several nodes cannot have one name: write prefix instead of name");
    if (group->model && !group->gpus)
        tf_complaints_add(out, path, "has a GPU model but no gpus");
    tf_vec_each (domain, &group->domains) {
        TF_AUTO_FREE char *where = tf_asprintf("%s.domains.%s", path, domain->key);
        TF_AUTO_FREE char *first = domain_of(domain->value, 0);
        bool known = false;
        tf_vec_each (plane, &config->topology)
            known |= tf_str_eq(plane->name, domain->key);
        if (!known)
            tf_complaints_add(out, where, "topology has no plane \"%s\"", domain->key);
        if (!first)
            tf_complaints_add(out, where,
                              "\"%s\": in a path, braces hold {i} or {i/K} with a number K from 1",
                              domain->value);
    }
}

/* Adds the nodes of an entry and checks them: like ones fail alike, so the first that does is enough. */
static void add_group(struct subd_nodes *nodes, const struct subd_config *config,
                      const struct subd_node_group *group, const char *path, struct tf_complaints *out)
{
    size_t before = out->count;
    check_group(config, group, path, out);
    for (int32_t i = 0; i < group->count && out->count == before; i++) {
        if (nodes->count == SUBD_NODES_MAX) {
            tf_complaints_add(out, path, "more than %d nodes", SUBD_NODES_MAX);
            return;
        }
        add_node(nodes, config, group, i);
        tf_node_check(&nodes->items[nodes->count - 1], &config->topology, path, out);
    }
}

/* Complains of the first node of the entry whose name was given before. */
static void check_names(const struct subd_nodes *nodes, size_t first, struct given **given, const char *path,
                        struct tf_complaints *out)
{
    for (size_t i = first; i < nodes->count; i++) {
        const char *name = nodes->items[i].name;
        struct given *same = NULL;
        HASH_FIND_STR(*given, name, same);
        if (same) {
            tf_complaints_add(out, path, "there are two nodes of the name \"%s\"", name);
            return;
        }
        same = tf_calloc(1, sizeof *same);
        same->name = name;
        HASH_ADD_KEYPTR(hh, *given, name, strlen(name), same);
    }
}

bool subd_config_nodes(const struct subd_config *config, struct subd_nodes *nodes,
                       struct tf_complaints *complaints)
{
    size_t before = complaints->count;
    struct given *given = NULL, *g = NULL, *next = NULL;
    for (size_t i = 0; i < config->node_groups.count; i++) {
        TF_AUTO_FREE char *path = tf_asprintf("nodes[%zu]", i);
        size_t first = nodes->count;
        add_group(nodes, config, &config->node_groups.items[i], path, complaints);
        check_names(nodes, first, &given, path, complaints);
    }
    HASH_ITER (hh, given, g, next) {
        HASH_DEL(given, g);
        free(g);
    }
    return complaints->count == before;
}
