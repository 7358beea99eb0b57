/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_DRAIN_H
#define TF_SUBCLUSTER_CORE_DRAIN_H

#include "common/base/buf.h"
#include "subcluster/core/jobs.h"

/* Drains (DESIGN.md §8.7): a node that is cordoned, and which what runs there is to leave. What may be moved
 * moves as an operator's moves do (migrate.h), instance by instance, each a chain of its own, so that one
 * that finds no place holds up no other; jobs with `migration: restart` are moved by a restart. What finds no
 * place is tried again. At the deadline what is still there is told to stop, as if it were lost: its job runs
 * on smaller, is repaired, or goes back to the queue. Protected cores are waited for unless the drain is
 * forced, and what has begun to move is let finish.
 *
 * A drain is part of its node's cordon, which is a record: it goes on after a restart, and `uncordon` ends
 * it.
 */

/* The order in words, answered like a cordon: what stays and why, and what would go where, if these nodes
 * were drained together. Owned. */
char *drain_plan(struct sub *sub, struct ledger_node *const *nodes, size_t count);
/* The node's cordon has changed: it is drained from now on, or no longer. Then NULL, or what that undoes. */
char *drain_changed(struct sub *sub, const struct ledger_node *node, bool before);
void drain_load(struct sub *sub, const struct ledger_node *node);
/* Calls for each instance that is on the node and is not about to leave it. */
void drain_each_instance(const struct sub *sub, const struct ledger_node *node,
                         void (*each)(struct job *job, void *arg), void *arg);

/* The same of one of many, whose drain has ended: what that undoes is added. */
struct drain_undone {
    size_t there; /* instances that are on the nodes still */
    int32_t back; /* moves that are taken back */
};
void drain_ended(struct sub *sub, const struct ledger_node *node, struct drain_undone *sum);
void drain_undone_say(const struct drain_undone *sum, struct tf_buf *text);

/* Lets go what can, when something has changed or it is time. The ledger must have been refreshed. */
void drain_look(struct sub *sub);
/* Nodes have changed: look soon; those that have come to a drained domain are drained, too (drain_domain.h).
 * Before the ledger is refreshed. */
void drain_note(struct sub *sub);
struct tf_mono drain_due(const struct sub *sub); /* TF_NEVER: nothing is to be looked at */

#endif
