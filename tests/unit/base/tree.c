/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/tree.h"

#include "common/base/alloc.h"
#include "common/base/cleanup.h"
#include "common/base/rng.h"
#include "tests/support/suite.h"

enum { NUMBERS = 200 };

struct number {
    int value;
    struct tf_tree_node node;
};

static int by_value(const struct tf_tree_node *a, const struct tf_tree_node *b)
{
    int x = TF_CONTAINER_OF(a, const struct number, node)->value;
    int y = TF_CONTAINER_OF(b, const struct number, node)->value;
    return (x > y) - (x < y);
}

static int to_value(const void *key, const struct tf_tree_node *node)
{
    int x = *(const int *)key, y = TF_CONTAINER_OF(node, const struct number, node)->value;
    return (x > y) - (x < y);
}

/* Every walk and look-up agrees with a plain array of flags. */
static void check_against(const struct tf_tree *tree, const bool in[NUMBERS])
{
    size_t count = 0;
    const struct tf_tree_node *at = tf_tree_first(tree);
    for (int v = 0; v < NUMBERS; v++) {
        CU_ASSERT_EQUAL(tf_tree_find(tree, &v, to_value) != NULL, in[v]);
        if (!in[v])
            continue;
        CU_ASSERT_PTR_NOT_NULL_FATAL(at);
        CU_ASSERT_EQUAL(TF_CONTAINER_OF(at, const struct number, node)->value, v);
        int before = v - 1;
        CU_ASSERT_PTR_EQUAL(tf_tree_after(tree, &before, to_value), at);
        at = tf_tree_next(at);
        CU_ASSERT_PTR_EQUAL(tf_tree_after(tree, &v, to_value), at);
        count++;
    }
    CU_ASSERT_PTR_NULL(at);
    CU_ASSERT_EQUAL(tree->count, count);
}

static void test_random_inserts_and_removes(void)
{
    struct tf_rng rng;
    tf_rng_init(&rng, suite_seed(7));
    static struct number numbers[NUMBERS];
    static bool in[NUMBERS];
    struct tf_tree tree;
    tf_tree_init(&tree, by_value);
    for (int round = 0; round < 2000; round++) {
        int v = (int)tf_rng_below(&rng, NUMBERS);
        numbers[v].value = v;
        if (in[v])
            tf_tree_remove(&tree, &numbers[v].node);
        else
            tf_tree_insert(&tree, &numbers[v].node);
        in[v] = !in[v];
        CU_ASSERT_EQUAL(tf_tree_linked(&numbers[v].node), in[v]);
        if (round % 20 == 0)
            check_against(&tree, in);
    }
    check_against(&tree, in);
}

static size_t depth(const struct tf_tree_node *node)
{
    if (!node)
        return 0;
    size_t left = depth(node->left), right = depth(node->right);
    return 1 + (left > right ? left : right);
}

static void test_sorted_input_stays_shallow(void)
{
    enum { MANY = 100000 };
    struct number *numbers = tf_calloc(MANY, sizeof *numbers);
    struct tf_tree tree;
    tf_tree_init(&tree, by_value);
    for (int v = 0; v < MANY; v++) {
        numbers[v].value = v;
        tf_tree_insert(&tree, &numbers[v].node);
    }
    CU_ASSERT(depth(tree.root) < 60);
    free(numbers);
}

static const struct suite_test tests[] = {
    {"random inserts and removes", test_random_inserts_and_removes},
    {"sorted input stays shallow", test_sorted_input_stays_shallow},
};

int main(void)
{
    return suite_run("tree", tests, TF_ARRAY_LEN(tests));
}
