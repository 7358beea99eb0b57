/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDERATION_CORE_MIX_H
#define TF_FEDERATION_CORE_MIX_H

#include "federation/core/state.h"

/* What unfinished jobs ask for, kind by kind: every subcluster measures what it has idle against it
 * (DESIGN.md §6). */

/* Brings the sums up to date with the job's record; again after every change of it. */
void fed_mix_file(struct fed *fed, struct job *job);
void fed_mix_drop(struct fed *fed, struct job *job); /* fine if it is in none */
/* The queue has changed. */
void fed_mix_touch(struct fed *fed);

/* Looks whether the mix is another than what was told, at once, or when it is due. */
void fed_mix_begin(struct fed *fed);
void fed_mix_run(struct fed *fed);
struct tf_mono fed_mix_next(const struct fed *fed);

/* Of the mix, what may come to that subcluster. */
void fed_mix_of(const struct fed *fed, const struct cluster *cluster, struct tf_shapes *out);

/* The same to pack by, resolved against the subcluster's profile. Valid until either changes. */
const struct tf_mix *fed_mix_resolved(const struct fed *fed, struct cluster *cluster);

void fed_mix_release(struct fed *fed);

#endif
