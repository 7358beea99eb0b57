/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDERATION_CORE_DESIRED_H
#define TF_FEDERATION_CORE_DESIRED_H

#include "federation/core/state.h"

/* What the leader wants of a subcluster, as messages. */

/* Adds a line to the next CHANGE of this subcluster, if it is attached. */
void fed_desired_place(const struct fed *fed, struct cluster *cluster, const struct job *job,
                       const struct tf_placement *placement);
void fed_desired_release(struct cluster *cluster, struct tf_uid uid, uint64_t epoch, enum tf_release why);
/* The job claims nodes there, or no longer. */
void fed_desired_claim(struct cluster *cluster, const struct job *job);
void fed_desired_unclaim(struct cluster *cluster, struct tf_uid uid);
void fed_desired_stored(struct cluster *cluster, struct tf_uid uid, uint64_t epoch);
/* At the end of a step: what was added becomes messages. */
void fed_desired_flush(struct fed *fed);
/* The full desired set, for a stream that has just said hello. */
void fed_desired_all(struct fed *fed, struct cluster *cluster);
/* Without entries: WANT_PROFILE, POLICY, and CONSIDERED with the present profile's generation. */
void fed_desired_send(struct fed *fed, struct cluster *cluster, enum tf_down_kind kind);

#endif
