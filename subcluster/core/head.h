/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_HEAD_H
#define TF_SUBCLUSTER_CORE_HEAD_H

#include "subcluster/core/state.h"

/* A copy of the state's head, on which a question is answered by the functions that decide: of what these
 * could touch, the clock, the situations and the lot are in the head, the list of who may go is one of its
 * own, and the rows are up to date after every step (asserted). All else is the state's. */
struct sub head_of(const struct sub *sub, struct tf_now now);
void head_release(struct sub *head);

#endif
