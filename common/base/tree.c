/* SPDX-License-Identifier: Apache-2.0 */
/* The treap behind tree.h: ordered by cmp from left to right, by weight from top to bottom. */
#include "common/base/tree.h"

#include "common/base/rng.h"

#include <assert.h>
#include <string.h>

void tf_tree_init(struct tf_tree *tree, tf_tree_cmp_f *cmp)
{
    *tree = (struct tf_tree){.cmp = cmp, .seed = 1};
}

/* Puts b where a hangs. */
static void replace(struct tf_tree *tree, const struct tf_tree_node *a, struct tf_tree_node *b)
{
    struct tf_tree_node *up = a->up;
    if (!up)
        tree->root = b;
    else if (up->left == a)
        up->left = b;
    else
        up->right = b;
    if (b)
        b->up = up;
}

/* Turns node and the one above it, so that node is on top. */
static void rotate_up(struct tf_tree *tree, struct tf_tree_node *node)
{
    struct tf_tree_node *up = node->up;
    bool left = up->left == node;
    struct tf_tree_node *inner = left ? node->right : node->left;
    replace(tree, up, node);
    if (left) {
        node->right = up;
        up->left = inner;
    } else {
        node->left = up;
        up->right = inner;
    }
    up->up = node;
    if (inner)
        inner->up = up;
}

static uint64_t next_weight(struct tf_tree *tree)
{
    struct tf_rng rng = {tree->seed};
    uint64_t weight = tf_rng_next(&rng);
    tree->seed = rng.state;
    return weight ? weight : 1;
}

void tf_tree_insert(struct tf_tree *tree, struct tf_tree_node *node)
{
    assert(!tf_tree_linked(node));
    *node = (struct tf_tree_node){.weight = next_weight(tree)};
    struct tf_tree_node **at = &tree->root;
    bool is_first = true;
    while (*at) {
        int order = tree->cmp(node, *at);
        assert(order != 0);
        is_first = is_first && order < 0;
        node->up = *at;
        at = order < 0 ? &(*at)->left : &(*at)->right;
    }
    *at = node;
    if (is_first)
        tree->first = node;
    while (node->up && node->up->weight < node->weight)
        rotate_up(tree, node);
    tree->count++;
}

void tf_tree_remove(struct tf_tree *tree, struct tf_tree_node *node)
{
    assert(tf_tree_linked(node) && tree->count > 0);
    if (tree->first == node)
        tree->first = tf_tree_next(node);
    while (node->left && node->right)
        rotate_up(tree, node->left->weight > node->right->weight ? node->left : node->right);
    replace(tree, node, node->left ? node->left : node->right);
    memset(node, 0, sizeof *node);
    tree->count--;
}

static struct tf_tree_node *leftmost(struct tf_tree_node *node)
{
    while (node && node->left)
        node = node->left;
    return node;
}

struct tf_tree_node *tf_tree_first(const struct tf_tree *tree)
{
    return tree->first;
}

struct tf_tree_node *tf_tree_next(const struct tf_tree_node *node)
{
    if (node->right)
        return leftmost(node->right);
    while (node->up && node->up->right == node)
        node = node->up;
    return node->up;
}

struct tf_tree_node *tf_tree_find(const struct tf_tree *tree, const void *key, tf_tree_key_f *cmp)
{
    struct tf_tree_node *node = tree->root;
    while (node) {
        int order = cmp(key, node);
        if (order == 0)
            return node;
        node = order < 0 ? node->left : node->right;
    }
    return NULL;
}

struct tf_tree_node *tf_tree_after(const struct tf_tree *tree, const void *key, tf_tree_key_f *cmp)
{
    struct tf_tree_node *node = tree->root, *best = NULL;
    while (node) {
        bool greater = cmp(key, node) < 0;
        if (greater)
            best = node;
        node = greater ? node->left : node->right;
    }
    return best;
}
