/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_STORE_SITUATIONS_H
#define TF_STORE_SITUATIONS_H

#include "common/base/situation.h"

/* The rare paths of the guard of a store (common/base/situation.h). */
#define TF_GUARD_SITUATIONS_EXPECTED(X)                                                         \
    X(COMMIT_UNKNOWN, "store: a commit went without an answer and was sent again")              \
    X(COMMIT_FOUND_DONE, "store: a commit whose answer was lost turned out to be done")         \
    X(COMMIT_DEPOSED, "store: a commit of a deposed holder was refused")                        \
    X(OWNER_FOUND_MADE, "store: the owner's key, put without an answer, turned out to be ours") \
    X(OWNER_LOST_RACE, "store: another made the owner's key first")                             \
    X(LEASE_ENDED, "store: the lease ended while it was held")

#define TF_GUARD_SITUATIONS_OTHER(X) \
    X(COMMIT_FOREIGN_HEAD, "store: head was changed by someone who does not hold the prefix")

TF_SITUATIONS_DECLARE(tf_guard, TF_GUARD_SITUATIONS_EXPECTED, TF_GUARD_SITUATIONS_OTHER);

#endif
