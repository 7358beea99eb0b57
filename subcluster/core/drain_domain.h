/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_DRAIN_DOMAIN_H
#define TF_SUBCLUSTER_CORE_DRAIN_DOMAIN_H

#include "common/base/buf.h"
#include "subcluster/core/state.h"

/* The drain of a domain, or of all nodes: one order, one answer, one end. It has no record of its own: it is
 * what the cordons of its nodes say together (tf_cordon.drained_with), so that it is stored with the very
 * records that keep work from them, and no node can be out of step with it. A node that comes to the domain
 * later is drained with the rest; one cannot be taken out by itself. The latest order has a node: one that
 * was drained before, by itself or with another domain, goes over to it. */

/* On with a drain, or off, which ends its cordon (cordon_domain.h), too. Answers. */
void drain_domain_asked(struct sub *sub, const struct tf_ask *ask);
/* Nodes that have changed and are in a drained domain are drained with it. */
void drain_domain_note(struct sub *sub);
/* Why its drain cannot end by itself. Owned. */
char *drain_domain_bar(const struct sub *sub, const struct ledger_node *node);
/* As they begin now. */
struct tf_drain drain_terms(const struct sub *sub, const struct tf_drain_order *order);

#endif
