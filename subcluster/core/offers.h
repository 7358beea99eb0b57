/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_OFFERS_H
#define TF_SUBCLUSTER_CORE_OFFERS_H

#include "subcluster/core/state.h"

/* What gets free is offered to waiting cores before running jobs may have it (DESIGN.md §8.3). A node of
 * which more has got free is on offer until its leader has declared a generation considered that says so, or
 * for offerTime, or not at all while nobody leads. */

/* After the ledger was refreshed, before its profile is made: notes which nodes have more free than before,
 * and ends what is over. */
void offers_note(struct sub *sub);
/* The leader has considered all that waits against this profile. */
void offers_considered(struct sub *sub, struct tf_generation generation);
/* Running jobs may have what is free there. */
bool offers_are_over(const struct ledger_node *node);
/* When the next offer ends by itself; TF_NEVER: there is none. */
struct tf_mono offers_due(const struct sub *sub);

void offers_image(struct tf_image *image, struct sub *sub);

#endif
