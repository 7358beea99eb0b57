/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_BASE_TREE_H
#define TF_BASE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An ordered set of the caller's structs, each with an embedded node: insert, remove, find and the next one
 * in O(log n) expected. A treap (Seidel, Aragon, 1996) whose weights come from a generator in the tree, so
 * that the same calls give the same shape. What decides the order of a member must not change while it is in.
 */
struct tf_tree_node {
    struct tf_tree_node *left, *right, *up;
    uint64_t weight; /* 0 = in no tree */
};

/* A total order: 0 only for a node and itself. */
typedef int tf_tree_cmp_f(const struct tf_tree_node *a, const struct tf_tree_node *b);
/* The sign of (key - node). */
typedef int tf_tree_key_f(const void *key, const struct tf_tree_node *node);

struct tf_tree {
    struct tf_tree_node *root;
    struct tf_tree_node *first; /* kept: queues and timers ask for nothing else, at each step */
    tf_tree_cmp_f *cmp;
    uint64_t seed;
    size_t count;
};

void tf_tree_init(struct tf_tree *tree, tf_tree_cmp_f *cmp);
void tf_tree_insert(struct tf_tree *tree, struct tf_tree_node *node); /* in no tree before, no equal in it */
void tf_tree_remove(struct tf_tree *tree, struct tf_tree_node *node);
/* NULL at the end, or when there is none. */
struct tf_tree_node *tf_tree_first(const struct tf_tree *tree);
struct tf_tree_node *tf_tree_next(const struct tf_tree_node *node);
struct tf_tree_node *tf_tree_find(const struct tf_tree *tree, const void *key, tf_tree_key_f *cmp);
/* The first node greater than key. */
struct tf_tree_node *tf_tree_after(const struct tf_tree *tree, const void *key, tf_tree_key_f *cmp);

static inline bool tf_tree_linked(const struct tf_tree_node *node)
{
    return node->weight != 0;
}

#endif
