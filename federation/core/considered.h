/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDERATION_CORE_CONSIDERED_H
#define TF_FEDERATION_CORE_CONSIDERED_H

#include "federation/core/state.h"

/* After the placements have been told: subclusters whose profile every waiting core has been considered
 * against hear of it, so that what is free there may be absorbed. */
void fed_considered_tell(struct fed *fed);

#endif
