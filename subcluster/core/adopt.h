/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_ADOPT_H
#define TF_SUBCLUSTER_CORE_ADOPT_H

#include "subcluster/core/strays.h"

/* The leader wants an epoch that runs here without a record, as these strays: it is taken over as it runs, or
 * its end is recorded. Moves out of the entry what it keeps. */
void adopt_strays(struct sub *sub, struct tf_entry *entry, struct stray_range range);

#endif
