/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDERATION_CORE_PLACE_H
#define TF_FEDERATION_CORE_PLACE_H

#include "federation/core/state.h"

/* Nothing is placed, nor claimed, at present: the store is still being read, or what it says is in doubt. */
bool fed_place_is_stopped(const struct fed *fed);
/* Considers the waiting jobs that may have a new answer, as far as the budget goes. */
void fed_place_round(struct fed *fed);

#endif
