/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_MODEL_NODE_H
#define TF_MODEL_NODE_H

#include "common/model/phase.h"
#include "common/model/resource.h"

/* One topology plane of a subcluster: its name and the names of its levels, widest first:
 * {"parameter", ["rdma-pod", "switch"]}. A node's place in it is a path: "rdma-3/sw-12". */
struct tf_plane {
    char *name;
    struct tf_strs levels;
};
struct tf_planes {
    struct tf_plane *items;
    size_t count, cap;
};
void tf_planes_release(struct tf_planes *planes);
void tf_planes_copy(struct tf_planes *to, const struct tf_planes *from);
/* The plane and level that a rule means. plane NULL: the one plane with a level of that name. -1 and *err if
 * there is none, or (plane NULL) more than one, naming both. */
int tf_planes_find(const struct tf_planes *planes, const char *plane, const char *within, size_t *plane_index,
                   size_t *level_index, struct tf_error *err);

/* Capacity on a node held by what is not ours: never free, never reclaimable, never touched. */
struct tf_foreign {
    uint64_t gpus; /* set of indices */
    int32_t slots;
    int64_t cpu, memory;
};

/* A machine, as its engine reports it. GPU indices are 0 .. capacity.gpus - 1. */
struct tf_node {
    char *name;
    char *address; /* where other instances reach those on it, for peers files; NULL = by its name */
    char *model;   /* of its GPUs; NULL if it has none */
    int64_t gpu_memory;
    struct tf_vector capacity;
    struct tf_pairs labels;
    struct tf_strs domains; /* one path a plane, in the order of the subcluster's planes; "" = none */
    struct tf_foreign foreign;
    uint64_t bad_gpus;     /* set of indices that take no new work, */
    uint64_t suspect_gpus; /* and those of them that are only suspect, not bad */
    enum tf_node_state state;
};
void tf_node_release(struct tf_node *node);
void tf_node_copy(struct tf_node *to, const struct tf_node *from);
/* In place of a domain's path: all nodes of the subcluster. */
#define TF_ALL_DOMAINS "*"
/* Begins one that is no path: "-l disk=nvme" are the nodes with these labels (selector.h). */
#define TF_BY_LABELS "-l "
/* The selector of such a one; NULL: it is a path, or all. */
const char *tf_domain_labels(const char *domain);
/* Its path in some plane is that, or goes on from it: "pod-3" has what is in "pod-3/switch-1". */
bool tf_node_is_in(const struct tf_node *node, const char *domain);

bool tf_node_eq(const struct tf_node *a, const struct tf_node *b);
/* Names, bounds, number of domains; complaints are prefixed with path. */
bool tf_node_check(const struct tf_node *node, const struct tf_planes *planes, const char *path,
                   struct tf_complaints *out);

static inline uint64_t tf_gpu_set_all(int32_t gpus)
{
    return gpus >= 64 ? UINT64_MAX : (UINT64_C(1) << gpus) - 1;
}
static inline int32_t tf_gpu_set_count(uint64_t set)
{
    return (int32_t)__builtin_popcountll(set);
}
/* The lowest `count` members of set; fewer if it has fewer. */
uint64_t tf_gpu_set_lowest(uint64_t set, int32_t count);
/* So many of them, those of `first` before those of `then` before those of `last`. */
uint64_t tf_gpu_set_pick(uint64_t first, uint64_t then, uint64_t last, int32_t count);
/* "0-3,6" */
enum { TF_GPU_SET_TEXT = 200 };
const char *tf_gpu_set_format(uint64_t set, char text[TF_GPU_SET_TEXT]);

#endif
