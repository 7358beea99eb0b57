/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_NODE_CLAIMS_H
#define TF_SUBCLUSTER_CORE_NODE_CLAIMS_H

#include "subcluster/core/state.h"

/* Claims on whole nodes, for jobs that have waited for very long (DESIGN.md §5, R5): so that a large gang is
 * not starved by the stream of small jobs of its own priority.
 *
 * A claim keeps the nodes that are soonest empty for one job. Until it starts, cores of its priority or lower
 * are placed there only if they end before a moment that is fixed when the claim is made: the latest end, by
 * maxRuntime, of what is in its way. Nobody is stopped for it, surplus may use the nodes meanwhile, and a
 * higher priority is not bound; a node that a higher claim takes, or that is lost, is replaced by another.
 * The leader says who claims and when that ends; a start of the job here ends it, too.
 *
 * For a job that instances are moved for (defrag --for) those nodes are kept that this frees. */

/* The job claims nodes. One that it has already for what it asks stays as it is. Returns the rows looked at.
 */
int64_t node_claim_make(struct sub *sub, const struct tf_entry *entry);
/* It claims nothing any more. */
void node_claim_end(struct sub *sub, struct tf_uid uid);
/* The entries of a full set are gone through, then all of them are done: what it did not mention is over. */
void node_claims_set_begins(struct sub *sub);
void node_claims_set_ends(struct sub *sub);

/* What a core of that job is bound by: the claims of others while it would run, not its own. */
void node_claims_bind(const struct sub *sub, struct tf_uid uid, const struct tf_job_spec *spec,
                      struct tf_demand *demand);
/* The same for what a running job lacks of its core: it ends with the rest of it, and claims no more. */
void node_claims_bind_running(const struct sub *sub, const struct job *job, struct tf_demand *demand);

/* One from the store: NULL, or why it is left aside. The record is taken. */
const char *node_claim_load(struct sub *sub, struct tf_node_claim *claim);
/* All records are there. */
void node_claims_loaded(struct sub *sub);
/* The classes in force have changed. */
void node_claims_set_ranks(struct sub *sub);
/* Looks whether each still has its nodes, when nodes have changed. */
void node_claims_look(struct sub *sub);

/* NULL if the job claims no nodes. */
const struct tf_node_claim *node_claim_of(const struct sub *sub, struct tf_uid uid);

#endif
