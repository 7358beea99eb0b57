/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FIT_ROWS_H
#define TF_FIT_ROWS_H

#include "common/fit/pack.h"
#include "common/model/image.h"

/* R1: what one node has at each level (DESIGN.md §6). */

/* Something on a node: an instance, or a claim on what holders have or nobody has. */
struct tf_hold {
    tf_level level; /* a holder's: surplus, protected or core, or TF_LEVEL_GOING once its stop has begun; a
                       claim's: its owner's core level. Never TF_LEVEL_FREE */
    uint64_t gpus;  /* set of indices */
    struct tf_vector amount; /* its gpus is not read */
};

/* The cumulative vectors of the node, replacing what out held.
 *   GPUs at level l: healthy, not foreign, not held above l and not claimed above l.
 *   Other quantities at free: capacity - foreign - max(sum of holders, holders above going + claims);
 *   at l >= going: capacity - foreign - (holders above l, going aside, + claims above l). Never negative.
 * A node that is not ready has nothing at any level. */
void tf_fit_node_levels(const struct tf_node *node, const struct tf_hold *holders, size_t holder_count,
                        const struct tf_hold *claims, size_t claim_count, struct tf_level_vectors *out);
/* What a node's class is made of: the labels named in schedule_labels only. class is zeroed or initialised.
 */
void tf_fit_node_class(const struct tf_node *node, const struct tf_strs *schedule_labels,
                       struct tf_node_class *class);

/* Rows that change one node at a time: like nodes share a row, found by content. Keeps the profile of a
 * subcluster with O(1) work a changed node, and, in the federation, a profile with placements debited. A
 * row's id is its index in the view; a row that has lost its nodes keeps id and content until the next mark,
 * load or apply. */
struct tf_fit_rows;

struct tf_fit_rows *tf_fit_rows_create(const struct tf_planes *planes); /* copies planes */
void tf_fit_rows_destroy(struct tf_fit_rows *rows);                     /* NULL is fine */
TF_DEFINE_AUTO(tf_fit_rows, tf_fit_rows_destroy);

/* For counting and packing; valid until the next change. */
struct tf_fit_view tf_fit_rows_view(const struct tf_fit_rows *rows);
/* The class of that content, made if new: its index. Classes never go; a subcluster whose nodes have had many
 * more classes than it has nodes starts over with new rows and a full profile. */
uint32_t tf_fit_rows_class(struct tf_fit_rows *rows, const struct tf_node_class *class);
size_t tf_fit_rows_class_count(const struct tf_fit_rows *rows);

/* `nodes` more nodes (> 0) of the content of `like`, of which class, levels, claim and what is reserved are
 * read. Returns their row. */
uint32_t tf_fit_rows_add(struct tf_fit_rows *rows, const struct tf_profile_row *like, int32_t nodes);
/* So many nodes of the row go; it has them (asserted). */
void tf_fit_rows_drop(struct tf_fit_rows *rows, uint32_t row, int32_t nodes);
/* One node goes from a row to the content of `like`: returns its row from now on. */
uint32_t tf_fit_rows_move(struct tf_fit_rows *rows, uint32_t from, const struct tf_profile_row *like);

/* No more instances of so many GPUs each (> 0) fit into what is free on nodes of the model (of the catalog):
 * by GPUs alone. Work: the GPUs of one node at most, however many rows there are. */
int64_t tf_fit_rows_at_most(const struct tf_fit_rows *rows, int32_t model, int32_t gpus);

/* Write planes, classes and rows into a profile that is zeroed or initialised, and set its `full`: all there
 * is, or, as a delta, what has changed since the last mark. The other fields are the caller's. */
void tf_fit_rows_export(const struct tf_fit_rows *rows, struct tf_profile *full);
void tf_fit_rows_export_changes(const struct tf_fit_rows *rows, struct tf_profile *delta);
/* Rows, and classes, that have changed since: 0 = nothing to say. */
size_t tf_fit_rows_changed(const struct tf_fit_rows *rows);
void tf_fit_rows_mark(struct tf_fit_rows *rows);

/* The federation's copy of a profile that has passed tf_profile_check: row ids are the profile's. Replaces
 * all. */
void tf_fit_rows_load(struct tf_fit_rows *rows, const struct tf_profile *profile);
/* A delta that tf_profile_apply accepted, with no debit in force. */
void tf_fit_rows_apply(struct tf_fit_rows *rows, const struct tf_profile *delta);

/* What a debit changed: nodes that went from one row to another. Zero-initialise. */
struct tf_fit_change {
    uint32_t from, to;
    int32_t nodes;
};
struct tf_fit_undo {
    struct tf_fit_change *items;
    size_t count, cap;
};
void tf_fit_undo_release(struct tf_fit_undo *undo);

/* Rows as they will be once the placement's instances of the demand are held at `held`: first less of what is
 * reserved for it; of the rest less at every level below it,
 * though never less than nothing; the same from it on. Exact for a placement into free capacity; for one that
 * takes higher levels a lower bound. The placement names rows as they are now. Debits are undone in the
 * reverse order, with no mark, load or apply between. */
void tf_fit_debit(struct tf_fit_rows *rows, const struct tf_fit_placement *placement,
                  const struct tf_demand *demand, tf_level held, struct tf_fit_undo *undo);
void tf_fit_debit_undo(struct tf_fit_rows *rows, struct tf_fit_undo *undo); /* empties undo */

/* Rows (may be NULL) and debits in force, as they are: ids, marks and the order of all that is found by
 * searching included. */
void tf_image_fit_rows(struct tf_image *image, struct tf_fit_rows **rows);
void tf_image_fit_undo(struct tf_image *image, struct tf_fit_undo *undo);

#endif
