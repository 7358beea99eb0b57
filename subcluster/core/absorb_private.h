/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_ABSORB_PRIVATE_H
#define TF_SUBCLUSTER_CORE_ABSORB_PRIVATE_H

#include "subcluster/core/absorb.h"
#include "subcluster/core/absorb_plan.h"

/* What absorb.c and surplus.c share. */

struct job *absorb_first(const struct sub *sub); /* elastic and running, by uid */
struct job *absorb_next(const struct job *job);
/* Before that it neither grows nor gives again. */
struct tf_mono absorb_cool_at(const struct sub *sub, const struct job *job);
/* It has to be looked at again then. */
void absorb_again(struct sub *sub, struct tf_mono at);
/* Jobs that could grow if there were room, by uid. Good for the step under way. */
struct hungry {
    struct job **items;
    size_t count, cap;
};
/* What they ask for; not those that have just been looked at in vain. */
void absorb_plan_of(struct sub *sub, const struct hungry *hungry, struct absorb_plan *plan);
bool absorb_without_gpus(const struct hungry *hungry); /* some of them want none */

/* What is free has been given out: lets surplus go for those that are hungry still, one move a look. */
void surplus_move(struct sub *sub, const struct hungry *hungry);

#endif
