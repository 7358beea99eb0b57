/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_LOAD_H
#define TF_SUBCLUSTER_CORE_LOAD_H

#include "subcluster/core/state.h"

/* Restart is replay: stored records become the state, then the engine says what runs. */

/* What the record owns may be moved out of it. One that is not sound is left in the store, with an alarm. */
void load_one(struct sub *sub, struct tf_record *record);
void load_end(struct sub *sub);
/* The engine has told of everything: what is missing is started or stopped. */
void load_listed(struct sub *sub);

#endif
