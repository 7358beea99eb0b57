/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_BASE_SITUATION_H
#define TF_BASE_SITUATION_H

#include "common/base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Rare paths that random runs must be seen to take: each is counted where the code takes it, by one line,
 *
 *     tf_reached(fed, FED_ORPHAN);
 *
 * in the state of whoever takes it, so that pure code stays pure. fedsim adds the counts up over all its
 * daemons and runs; a path that random runs do not take is a path that they do not test. Counts are for
 * looking at only: nothing is decided by them, and no image of a state has them.
 *
 * Each owner has a list of its own, in a situations.h: X(FED_ORPHAN, "federation: an epoch ..."). Those that
 * no fault of today's simulated worlds leads to often enough, or at all, are not expected: unit tests take
 * them. They are counted and shown, and move up with the fault that leads there. */
struct tf_situation {
    const char *name; /* "FED_ORPHAN" */
    const char *words;
    bool expected;
};

/* What an owner shows: its list, and how often each was reached. Borrowed from the owner. */
struct tf_situations {
    const struct tf_situation *list;
    const uint64_t *counts;
    size_t count;
};

#define TF_SITUATION_FIELD(name, words) uint64_t name;
#define TF_SITUATION_ONE(name, words) +1
#define TF_SITUATION_EXPECTED(name, words) {#name, words, true},
#define TF_SITUATION_OTHER(name, words) {#name, words, false},

/* `struct OWNER_situations`, with a count by the name of each: zero-initialise; and `OWNER_situation_list`.
 * The counts have names, so that nobody counts a path of another owner. */
#define TF_SITUATIONS_DECLARE(owner, EXPECTED, OTHER)                              \
    struct owner##_situations {                                                    \
        union {                                                                    \
            struct {                                                               \
                EXPECTED(TF_SITUATION_FIELD) OTHER(TF_SITUATION_FIELD)             \
            };                                                                     \
            uint64_t counts[0 EXPECTED(TF_SITUATION_ONE) OTHER(TF_SITUATION_ONE)]; \
        };                                                                         \
    };                                                                             \
    extern const struct tf_situation owner##_situation_list[]
#define TF_SITUATIONS_DEFINE(owner, EXPECTED, OTHER)                                      \
    const struct tf_situation owner##_situation_list[] = {EXPECTED(TF_SITUATION_EXPECTED) \
                                                              OTHER(TF_SITUATION_OTHER)}
/* reached: a pointer to a struct OWNER_situations. */
#define TF_SITUATIONS_OF(owner, reached) \
    ((struct tf_situations){owner##_situation_list, (reached)->counts, TF_ARRAY_LEN((reached)->counts)})

/* owner: what has a `struct OWNER_situations reached`. */
#define tf_reached(owner, name) ((void)(owner)->reached.name++)
#define tf_reached_if(condition, owner, name) ((void)((owner)->reached.name += (condition) ? 1 : 0))

#endif
