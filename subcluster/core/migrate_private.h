/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_MIGRATE_PRIVATE_H
#define TF_SUBCLUSTER_CORE_MIGRATE_PRIVATE_H

#include "subcluster/core/migrate.h"

/* Where each goes, with nothing that waiting work is considered for first. False: not all of them find a
 * place. plan is zeroed. */
bool migrate_place_now(struct sub *sub, const struct migrate_ask *ask, struct migrate_plan *plan);

#endif
