/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDERATION_CORE_LEDGER_H
#define TF_FEDERATION_CORE_LEDGER_H

#include "federation/core/state.h"

/* What a subcluster has left: its latest profile less the placements that it does not reflect yet. */

/* Takes the profile, full or a delta. -1 and *err as tf_profile_apply; nothing changed then. */
int fed_ledger_profile(struct fed *fed, struct cluster *cluster, struct tf_profile *profile,
                       struct tf_error *err);
/* The turn of waiting jobs of that rank: jobs of the same or a higher one that are short get what their
 * subclusters will start for them. */
void fed_ledger_count_shorts(struct fed *fed, int rank);
/* Forgets profile and flights: the stream is gone. What is placed there and not reflected stays known to the
 * full set of the next attach. */
void fed_ledger_reset(struct cluster *cluster);

/* What may be placed there has changed by more than a profile or a flight: verdicts are made anew. */
void fed_ledger_changed(struct fed *fed, struct cluster *cluster);

/* A placement that takes from others is on its way there. */
bool fed_ledger_is_reclaiming(const struct cluster *cluster);
/* Whether one may go there now: none is, and evictions are not frozen. */
bool fed_ledger_may_reclaim(const struct fed *fed, const struct cluster *cluster);

/* Instances of a job that a subcluster could hold. */
struct claim_room {
    int32_t now;  /* in what is free and what may be taken for it */
    int32_t ever; /* if nothing else ran there; what is kept for others of its rank or above aside */
};
/* False if its core could never be held. */
bool fed_ledger_could_hold(struct fed *fed, struct cluster *cluster, const struct tf_job_spec *spec, int rank,
                           struct claim_room *room);
/* How a job of that spec and rank would fit into what is left now, or, if that may be, into what lower levels
 * hold. entitled: to what besides. */
void fed_ledger_fit(struct fed *fed, struct cluster *cluster, const struct tf_job_spec *spec, int rank,
                    const struct entitled *entitled, struct verdict *out);
/* A verdict since when there has only been less room: what can be told of a new one without counting, which
 * is no worse for the job than that would be. */
void fed_ledger_narrow(const struct fed *fed, const struct cluster *cluster, const struct tf_job_spec *spec,
                       struct verdict *v);
/* What the demand is entitled to besides, and what it leaves to others. */
void fed_ledger_entitle(struct tf_demand *demand, const struct entitled *entitled);
/* As fed_ledger_fit, for a question: nothing is changed, not even what deciding keeps to be quicker. Returns
 * the model, NULL if none is asked; borrowed until the next profile. */
const char *fed_ledger_look(const struct fed *fed, const struct cluster *cluster,
                            const struct tf_job_spec *spec, int rank, const struct entitled *entitled,
                            struct tf_now now, struct verdict *out);
/* Debits `size` instances for the epoch, the newest there, which take everything up to that level. Returns
 * the chosen model, NULL if none is asked: borrowed until the next profile. Asserts that they fit. */
const char *fed_ledger_add(struct fed *fed, struct cluster *cluster, const struct tf_job_spec *spec, int rank,
                           const struct entitled *entitled, uint64_t epoch, int32_t size, tf_level level);
/* The flight takes one step more; false if it cannot. Or all it can have of what is left. */
bool fed_ledger_raise_step(struct fed *fed, struct cluster *cluster, uint64_t epoch);
void fed_ledger_raise_most(struct fed *fed, struct cluster *cluster, uint64_t epoch);
int32_t fed_ledger_size(const struct cluster *cluster, uint64_t epoch);
/* The epoch has ended. */
void fed_ledger_drop(struct fed *fed, struct cluster *cluster, uint64_t epoch);
/* The epoch is carried by message n. */
void fed_ledger_numbered(struct cluster *cluster, uint64_t epoch, uint64_t n);

#endif
