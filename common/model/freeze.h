/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_MODEL_FREEZE_H
#define TF_MODEL_FREEZE_H

#include "common/base/clock.h"
#include "common/base/vec.h"

#include <stdbool.h>
#include <stdint.h>

/* People's brake (DESIGN.md §5): until a moment, one or all subclusters do not begin what is named. A record
 * of the federation, which tells it to the subclusters with the policy, so that they go by it alone too. What
 * has begun goes on. It ends by itself: nobody need remember it. Strings are owned. */

/* A set. The values are those of a profile's brakes. */
enum tf_frozen {
    TF_FROZEN_EVICTIONS = 4, /* evictions of one job for another, of single steps too */
    TF_FROZEN_GROWTH = 8,    /* of running elastic jobs; not the repair of a job below its min */
    TF_FROZEN_MOVES = 16,    /* of running instances to other nodes or subclusters */
    TF_FROZEN_ALL = TF_FROZEN_EVICTIONS | TF_FROZEN_GROWTH | TF_FROZEN_MOVES,
};
const char *tf_frozen_name(enum tf_frozen one);             /* "evictions", of one; "?" of any other number */
int tf_frozen_parse(const char *name, enum tf_frozen *one); /* -1: of none */

#define TF_FREEZE_LONGEST (INT64_C(30) * 24 * 60 * 60 * 1000) /* ms */

struct tf_freeze {
    enum tf_frozen what; /* one of them */
    char *cluster;       /* NULL: all of the federation */
    struct tf_wall since, until;
    char *reason, *user; /* user: who said so, from the certificate; NULL without TLS */
};
struct tf_freezes {
    struct tf_freeze *items;
    size_t count, cap;
};

/* init by zeroing; release frees what is owned and zeroes; copy is deep, and releases what was in to first */
void tf_freeze_release(struct tf_freeze *freeze);
void tf_freeze_copy(struct tf_freeze *to, const struct tf_freeze *from);
void tf_freezes_release(struct tf_freezes *freezes);
void tf_freezes_copy(struct tf_freezes *to, const struct tf_freezes *from);
bool tf_freezes_eq(const struct tf_freezes *a, const struct tf_freezes *b);
/* By what, then all before single subclusters, then by name. */
int tf_freeze_cmp(const struct tf_freeze *a, const struct tf_freeze *b);
/* The one in force there, at that moment, that lasts longest; NULL: it is not frozen. cluster NULL: whatever
 * each says of its cluster. */
const struct tf_freeze *tf_freezes_find(const struct tf_freezes *freezes, enum tf_frozen what,
                                        const char *cluster, struct tf_wall now);
/* NULL, or what is wrong with one that came from a peer or a store. */
const char *tf_freeze_fault(const struct tf_freeze *freeze);

#endif
