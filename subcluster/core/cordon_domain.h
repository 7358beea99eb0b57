/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_CORDON_DOMAIN_H
#define TF_SUBCLUSTER_CORE_CORDON_DOMAIN_H

#include "common/base/buf.h"
#include "subcluster/core/state.h"

/* All nodes of a domain are cordoned: one order, one answer, one end. As with drains (drain_domain.h) it has
 * no record of its own: the cordons of its nodes name it, and a node that comes to the domain later is
 * cordoned with the rest. Unlike drains, cordons of domains lie beside each other, beside a node's own and
 * beside drains: each keeps new work away until it is ended itself. */

/* On. Answers. */
void cordon_domain_asked(struct sub *sub, const struct tf_ask *ask);
/* How many nodes it let go; 0: there is no such order. */
size_t cordon_domain_end(struct sub *sub, const char *domain);
/* Nodes that have changed and are in a cordoned domain are cordoned with it. Before the ledger is refreshed.
 */
void cordon_domain_note(struct sub *sub);
/* A stored node's. */
void cordon_domain_load(struct sub *sub, const struct ledger_node *node);
/* "domain bj-a/pod-3 and domain bj-a/pod-3/switch-1": what the node is cordoned with. */
void cordon_domain_say(const struct sub *sub, const struct ledger_node *node, struct tf_buf *text);
/* Why the node, which is cordoned with others only, cannot be uncordoned by itself. Owned. */
char *cordon_domain_bar(const struct sub *sub, const struct ledger_node *node);

#endif
