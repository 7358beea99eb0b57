/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDERATION_CORE_FREEZE_H
#define TF_FEDERATION_CORE_FREEZE_H

#include "federation/core/state.h"

/* Freezes in force (DESIGN.md §5): who made them, until when, and who is told. */

void fed_freeze_verb(struct fed *fed, struct fed_event *event);
void fed_freeze_load(struct fed *fed, struct tf_freeze *freeze); /* takes it */
/* Those whose time is up go. */
void fed_freeze_expire(struct fed *fed);
struct tf_mono fed_freeze_next(const struct fed *fed); /* when the next one does; TF_NEVER: there is none */

/* The one in force there; NULL: that is not frozen. */
const struct tf_freeze *fed_frozen(const struct fed *fed, const struct cluster *cluster, enum tf_frozen what);
/* What the subcluster is to go by: the settings, and what is frozen there. */
void fed_freezes_of(const struct fed *fed, const struct cluster *cluster, struct tf_freezes *out);
/* For the store: the freeze of that key ("evictions/bj-a"), or that it has gone. */
void fed_freeze_record(const struct fed *fed, const char *key, struct tf_record *out);

#endif
