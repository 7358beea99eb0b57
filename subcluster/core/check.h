/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_CHECK_H
#define TF_SUBCLUSTER_CORE_CHECK_H

#include "subcluster/core/sub.h"

/* Walks the whole state and asserts what must always hold between its parts (DESIGN.md §9: I3, I4, I9 at the
 * free level, I15). For tests: it takes time in proportion to everything. */
void sub_check(const struct sub *sub);

#endif
