/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_HEALTH_H
#define TF_SUBCLUSTER_CORE_HEALTH_H

#include "subcluster/core/state.h"

/* Nodes that their engine cannot reach (DESIGN.md §8.7):
 *
 *     ready -> unreachable -> lost      the engine confirms it, or nodeLostAfter has passed
 *     lost  -> unreachable -> ready     the engine reaches it again: first what was given up there is stopped
 *     unreachable, SUSPECT              more than massDownFraction went within massDownWindow: judging stops
 *
 * A suspect node is left alone, whatever runs there, until it returns, the engine confirms that it is lost,
 * or people do. While there is one, the subcluster is suspect as a whole: what goes silent meanwhile is, too.
 * Verdicts are durable, in the node's record; how long a node has been silent is not: after a restart it is
 * given its time once more. What a job does about a loss is loss.c's. */

/* The engine's word on the node has been taken into the ledger; before: its state then. */
void health_told(struct sub *sub, struct ledger_node *node, enum tf_node_state before);
/* The engine has told of that member, which lives: on a node that was given up meanwhile? */
void health_member_told(struct sub *sub, const struct tf_instance_id *id);
/* Every stored record is there. */
void health_loaded(struct sub *sub);
void health_listed(struct sub *sub);
/* An instance without a record has left the node: it may have been the last that kept it from being ready. */
void health_stray_gone(struct sub *sub, const char *node);

struct tf_mono health_due(const struct sub *sub); /* TF_NEVER: nothing is to be judged */
void health_look(struct sub *sub);

/* `fedctl node confirm-lost`. */
void health_confirmed(struct sub *sub, const struct tf_ask *ask);

/* Its engine cannot reach it, or could not when it told last. */
static inline bool node_is_silent(const struct ledger_node *node)
{
    return node->told_state == TF_NODE_UNREACHABLE;
}
static inline bool node_is_given_up(const struct ledger_node *node)
{
    return node->cordon.verdict == TF_VERDICT_LOST;
}

#endif
