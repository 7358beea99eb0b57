/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_LEAVE_H
#define TF_SUBCLUSTER_CORE_LEAVE_H

#include "subcluster/core/members.h"

/* Who goes when a job gets smaller (DESIGN.md §4). Chooses; stops nobody. */

/* Members besides the lost ones that have to go so that a whole number of steps is left: those that leave a
 * whole domain free, then those of the steps that the lost were of, then those that leave a whole node free,
 * then the youngest. Where each step must be in one domain it is the lost ones' own steps. out is emptied
 * first. */
void leave_with_lost(const struct sub *sub, const struct job *job, const struct places *lost,
                     struct places *out);

/* Surplus steps: so many marks, those whose leaving makes the largest free domain larger, then those that
 * make whole nodes, then the youngest. */
struct marks {
    int32_t *items;
    size_t count, cap;
};
void leave_steps(const struct sub *sub, const struct job *job, int32_t steps, struct marks *out);

bool member_is_among(size_t place, const struct places *places);

#endif
