/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_PROFILE_H
#define TF_SUBCLUSTER_CORE_PROFILE_H

#include "subcluster/core/state.h"

/* Profiles: a full one once the full set was acted on, then what changed, at most every profileInterval. */

/* The message n, or the full set n, was acted on. */
void profile_reflects(struct sub *sub, uint64_t n, bool full_set);
/* The leader has lost track. */
void profile_want_full(struct sub *sub);
/* No full set was acted on in this attach. */
void profile_close(struct sub *sub);
/* Renders the profile that is due, if its time has come. Not while a transaction is out. */
void profile_render(struct sub *sub);
struct tf_mono profile_due(const struct sub *sub); /* when one may go; TF_NEVER: none is due */

#endif
