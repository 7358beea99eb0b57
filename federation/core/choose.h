/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDERATION_CORE_CHOOSE_H
#define TF_FEDERATION_CORE_CHOOSE_H

#include "federation/core/state.h"

/* The best subcluster for the first job of the shape, whose verdict about it holds now; NULL if it fits in
 * none. Adds the candidate evaluations to *work. */
struct cluster *fed_choose(struct fed *fed, struct shape *shape, int64_t *work);

#endif
