/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_MODEL_LEADERS_H
#define TF_MODEL_LEADERS_H

#include "common/model/id.h"

#include <stdbool.h>
#include <stddef.h>

/* The leaders that a federation's store has had, and how far each found it. The highest term and the highest
 * epoch alone betray a restored store only until they have been passed again; a leader that is missing here,
 * or that placed more than its successor found, betrays it for as long as it is among the last. */

#define TF_LEADERS_MAX 64

struct tf_leader {
    struct tf_term term;
    uint64_t epoch; /* the epoch counter when it began */
};
struct tf_leaders {
    struct tf_leader *items; /* ascending by term, at most TF_LEADERS_MAX: the last ones */
    size_t count, cap;
};

/* init by zeroing; release frees what is owned and zeroes; copy is deep, and releases what was in to first */
void tf_leaders_release(struct tf_leaders *leaders);
void tf_leaders_copy(struct tf_leaders *to, const struct tf_leaders *from);
bool tf_leaders_eq(const struct tf_leaders *a, const struct tf_leaders *b);

/* One that begins: its term is above all others. The oldest goes if there are too many. */
void tf_leaders_add(struct tf_leaders *leaders, struct tf_leader leader);
/* False if someone who has seen this term and this epoch has seen what the store of the last of these leaders
 * never held. Of another era, and of what came before the oldest that is known, nothing is said: true. */
bool tf_leaders_led(const struct tf_leaders *leaders, struct tf_term term, uint64_t epoch);
/* NULL, or what is wrong with one that came from a store. */
const char *tf_leaders_fault(const struct tf_leaders *leaders);

#endif
