/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_MIX_H
#define TF_SUBCLUSTER_CORE_MIX_H

#include "subcluster/core/state.h"

/* The policy's shapes, resolved against the classes of the ledger's rows: for packing all of them, as the
 * leader packs by what it has told; for what idles those that wait, or, while nothing does, all. */
struct mixes;

struct mixes *mixes_create(void);
void mixes_destroy(struct mixes *mixes); /* NULL is fine */

/* The policy's shapes or classes have changed. */
void mixes_changed(struct sub *sub);

/* Valid until either changes, or a class is added. */
const struct tf_mix *mix_of_all(const struct sub *sub);
const struct tf_mix *mix_of_waiting(const struct sub *sub);

#endif
