/* SPDX-License-Identifier: Apache-2.0 */
/* The ledger as bytes, and back. What follows from the rest is made again by ledger.c. */
#include "subcluster/core/image.h"
#include "subcluster/core/ledger.h"

#include <stdlib.h>
#include <string.h>

static void image_stake(struct tf_image *image, struct ledger_stake *stake)
{
    tf_image_open(image, stake);
    tf_image_number(image, &stake->since);
    tf_image_number(image, &stake->evictions);
    tf_image_close(image);
}

static void image_holding(struct tf_image *image, struct holding *holding)
{
    tf_image_open(image, holding);
    tf_image_uid(image, &holding->uid);
    tf_image_number(image, &holding->index);
    tf_image_number(image, &holding->hold.level);
    tf_image_number(image, &holding->hold.gpus);
    tf_image_vector(image, &holding->hold.amount);
    tf_image_number(image, &holding->reserved);
    tf_image_number(image, &holding->stuck);
    image_stake(image, &holding->stake);
    tf_image_number(image, &holding->gone_after);
    tf_image_close(image);
}

static void image_blocking(struct tf_image *image, struct blocking *blocking)
{
    tf_image_open(image, blocking);
    tf_image_instance_id(image, &blocking->id);
    tf_image_number(image, &blocking->gpus);
    tf_image_close(image);
}

static void image_kept(struct tf_image *image, struct kept *kept)
{
    tf_image_open(image, kept);
    tf_image_number(image, &kept->rank);
    tf_image_uid(image, &kept->owner);
    tf_image_number(image, &kept->until);
    tf_image_close(image);
}

static void image_node(struct tf_image *image, struct ledger_node *node)
{
    tf_image_open(image, node);
    tf_image_node(image, &node->node);
    tf_image_number(image, &node->told_state);
    tf_image_number(image, &node->told_bad);
    tf_image_number(image, &node->told_suspect);
    tf_image_cordon(image, &node->cordon);
    tf_image_number(image, &node->silent);
    tf_image_number(image, &node->known);
    tf_image_number(image, &node->dirty);
    tf_image_skip(image, &node->classed, "found out again");
    tf_image_number(image, &node->on_offer);
    tf_image_number(image, &node->freed_at);
    tf_image_number(image, &node->freed_in);
    tf_image_number(image, &node->number);
    tf_image_number(image, &node->row);
    tf_image_list(image, &node->holdings, image_holding);
    tf_image_list(image, &node->claims, image_holding);
    tf_image_list(image, &node->blockings, image_blocking);
    tf_image_number(image, &node->emptying);
    image_kept(image, &node->kept);
    tf_image_skip(image, &node->sums, "follow from the rest");
    tf_image_skip(image, &node->going, "likewise");
    tf_image_close(image);
}

static int cmp_name(const void *a, const void *b)
{
    struct ledger_node *const *x = a, *const *y = b;
    return strcmp((*x)->node.name, (*y)->node.name);
}

static void image_nodes(struct tf_image *image, struct ledger *ledger)
{
    uint64_t count = tf_image_count(image, ledger->nodes.count);
    bool reads = tf_image_is_reading(image);
    for (size_t i = 0; i < count && !tf_image_failed(image); i++) {
        if (reads)
            tf_vec_push(&ledger->nodes, tf_calloc(1, sizeof(struct ledger_node)));
        image_node(image, ledger->nodes.items[i]);
        if (!tf_image_failed(image) && !ledger->nodes.items[i]->node.name)
            tf_image_fail(image, "a node has no name");
    }
    if (!reads || tf_image_failed(image) || !count)
        return;
    tf_vec_each (node, &ledger->nodes) {
        tf_vec_push(&ledger->by_name, *node);
        ledger_count_read(ledger, *node);
    }
    qsort(ledger->by_name.items, ledger->by_name.count, sizeof *ledger->by_name.items, cmp_name);
}

/* A node that is there, by its number. */
static void image_ref(struct tf_image *image, struct ledger *ledger, struct ledger_node **node)
{
    uint32_t number = *node ? (*node)->number : 0;
    tf_image_told(image, node, sizeof *node);
    tf_image_number(image, &number);
    if (!tf_image_is_reading(image) || tf_image_failed(image))
        return;
    if (number < ledger->nodes.count)
        *node = ledger->nodes.items[number];
    else
        tf_image_fail(image, "there is no node of that number");
}

static void image_dirty(struct tf_image *image, struct ledger *ledger)
{
    uint64_t count = tf_image_count(image, ledger->dirty.count);
    for (size_t i = 0; i < count && !tf_image_failed(image); i++) {
        if (tf_image_is_reading(image))
            (void)tf_vec_add(&ledger->dirty);
        image_ref(image, ledger, &ledger->dirty.items[i]);
    }
}

static void image_leaving(struct tf_image *image, struct ledger *ledger)
{
    uint64_t count = tf_image_count(image, ledger->leaving.count - ledger->first_leaving);
    for (size_t i = ledger->first_leaving; count > 0 && !tf_image_failed(image); i++, count--) {
        if (tf_image_is_reading(image))
            (void)tf_vec_add(&ledger->leaving);
        struct leaving *leaving = &ledger->leaving.items[i];
        tf_image_open(image, leaving);
        tf_image_number(image, &leaving->after);
        image_ref(image, ledger, &leaving->node);
        tf_image_close(image);
    }
}

static void image_freed(struct tf_image *image, uint32_t *number)
{
    tf_image_number(image, number);
}

void ledger_image(struct tf_image *image, struct ledger *ledger)
{
    tf_image_open(image, ledger);
    tf_image_skip(image, &ledger->nodes, "one by one");
    tf_image_skip(image, &ledger->by_name, "made of the nodes");
    image_nodes(image, ledger);
    tf_image_list(image, &ledger->node_rows, tf_image_profile_row);
    tf_image_skip(image, &ledger->dirty, "by number");
    image_dirty(image, ledger);
    tf_image_list(image, &ledger->freed, image_freed);
    tf_image_skip(image, &ledger->leaving, "by number");
    tf_image_skip(image, &ledger->first_leaving, "the first of those that are written");
    image_leaving(image, ledger);
    tf_image_planes(image, &ledger->planes);
    tf_image_strings(image, &ledger->schedule_labels);
    tf_image_fit_rows(image, &ledger->rows);
    tf_image_number(image, &ledger->made);
    tf_image_number(image, &ledger->rebuilt);
    tf_image_skip(image, &ledger->sums, "added up of the nodes");
    tf_image_skip(image, &ledger->worth, "likewise");
    tf_image_skip(image, &ledger->evictions, "likewise");
    tf_image_close(image);
}
