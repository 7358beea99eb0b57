/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_DRAIN_WAS_H
#define TF_SUBCLUSTER_CORE_DRAIN_WAS_H

#include "common/base/buf.h"
#include "subcluster/core/state.h"

/* What an order to drain takes the place of. The latest order holds, as whoever knows kubectl expects, and
 * its answer names all that it changes: nobody loses a deadline without being told. */

/* A drain that nodes were under. */
struct drain_was {
    const struct ledger_node *node; /* the first of them */
    size_t nodes;
    struct tf_drain terms;
    char *with, *reason; /* owned; the reason is NULL where the cordon has one of its own */
    bool stays;
};
struct drains_were { /* init by zeroing */
    struct drain_was *items;
    size_t count, cap;
};

void drains_were_release(struct drains_were *all);
/* The node as it is, before the order takes it. */
void drains_were_add(struct drains_were *all, const struct ledger_node *node);
/* After it: "node n1 was drained before: deadline 2026-11-30 12:00:00 UTC -> none"; nothing if none was. */
void drains_were_say(const struct sub *sub, const struct drains_were *all, struct tf_buf *text);

#endif
