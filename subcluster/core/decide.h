/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_DECIDE_H
#define TF_SUBCLUSTER_CORE_DECIDE_H

#include "subcluster/core/reclaim.h"

#include "common/fit/pack.h"

/* What is to be done with an epoch that is to start here. Nothing is changed by deciding: place.c carries it
 * out, and a question of the leader (sub_plan_place) is answered by the same decision. */
enum place_verdict { PLACE_REFUSED, PLACE_STARTS, PLACE_CLAIMS };

struct place_decision {
    enum place_verdict verdict;
    enum tf_reason reason; /* REFUSED */
    char *text;
    struct tf_fit_placement packing; /* STARTS: in what is free; the leader's size or less */
    struct reclaim_plan plan;        /* CLAIMS: the core, when others have gone */
    int64_t work;                    /* candidates looked at */
};

/* The ledger is brought up to date first. */
void place_decide(struct sub *sub, const struct tf_entry *entry, struct place_decision *out);
void place_decision_release(struct place_decision *decision);

#endif
