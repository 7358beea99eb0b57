/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDERATION_CORE_CANDIDATE_H
#define TF_FEDERATION_CORE_CANDIDATE_H

#include "federation/core/state.h"

/* Why a subcluster may not be given the job, whatever it has free; NONE: it may. */
enum tf_reason fed_candidate_bar(const struct fed *fed, const struct job *job, const struct cluster *cluster);

/* The spec's clusters and regions let it use the subcluster. */
bool fed_candidate_lets(const struct tf_job_spec *spec, const struct cluster *cluster);
/* Its class is known, and its placement lets it use the subcluster: the part of that which no time changes.
 */
bool fed_candidate_allows(const struct job *job, const struct cluster *cluster);
/* Nodes are kept for the job there. */
bool fed_candidate_claims_in(const struct job *job, const struct cluster *cluster);

/* To what it is entitled there, besides. out is zeroed or was filled before: its memory is used again. */
void fed_candidate_entitled(const struct fed *fed, const struct job *job, const struct cluster *cluster,
                            struct entitled *out);

/* How much a subcluster where the job fits is to be preferred. Less is better in all. */
void fed_candidate_prefer(const struct tf_job_spec *spec, struct tf_wall now, const struct cluster *cluster,
                          const struct verdict *v, struct preference *out);
/* Equal in all: the one asked first stays. */
int fed_preference_cmp(const struct preference *a, const struct preference *b);
/* What its core would cost others there by that verdict, in GPU-seconds, on average (DESIGN.md §6). */
int64_t fed_candidate_cost(const struct tf_job_spec *spec, struct tf_wall now, const struct cluster *cluster,
                           const struct verdict *v);

#endif
