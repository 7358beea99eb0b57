/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDERATION_CORE_RAISE_H
#define TF_FEDERATION_CORE_RAISE_H

#include "federation/core/state.h"

/* The placements of the round grow towards their max, as far as the budget goes. */
void fed_raise_round(struct fed *fed, int64_t *work);

#endif
