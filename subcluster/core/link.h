/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_LINK_H
#define TF_SUBCLUSTER_CORE_LINK_H

#include "subcluster/core/state.h"

/* The stream to a leader: terms, the full set, numbered changes. */

void uplink_up(struct sub *sub);
void uplink_down(struct sub *sub);
void uplink_said(struct sub *sub, struct tf_down *down);
/* Carries out what is wanted, in order, as far as the decision budget goes; nothing before the engine has
 * been listed. */
void link_orders(struct sub *sub);
/* Some of it has yet to be carried out. */
bool link_has_orders(const struct sub *sub);
/* The decision budget was used up: the rest is done in a step of its own, at once. */
void link_continue(struct sub *sub);
/* From then on it acts alone (hubAwayAfter); TF_NEVER: a leader is there. */
struct tf_mono uplink_alone_at(const struct sub *sub);
static inline bool uplink_is_alone(const struct sub *sub)
{
    return uplink_alone_at(sub).ms <= sub->now.mono.ms;
}

#endif
