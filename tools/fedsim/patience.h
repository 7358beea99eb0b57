/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDSIM_PATIENCE_H
#define TF_FEDSIM_PATIENCE_H

#include "common/base/clock.h"
#include "common/base/vec.h"

/* Own outage (DESIGN.md §7): a leader may judge a subcluster lost only after it has itself listened for
 * clusterLostAfter, by its own clock. Time in which there was no leader, or the store was away, never counts.
 */
struct sim_fedd;
struct sim_patience {
    struct tf_mono since;        /* its core was made */
    TF_VEC(struct tf_mono) seen; /* by site: last attached to this core; 0 = never */
};

void patience_begin(struct sim_fedd *fedd); /* a core was made */
void patience_look(struct sim_fedd *fedd);  /* after each step */
void patience_release(struct sim_patience *patience);

#endif
