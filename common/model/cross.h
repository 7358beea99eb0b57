/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_MODEL_CROSS_H
#define TF_MODEL_CROSS_H

#include "common/base/clock.h"
#include "common/model/phase.h"

#include <stdbool.h>
#include <stdint.h>

/* A job that goes from one subcluster to another (DESIGN.md §7): part of its record, the latest one only.
 * Numbers are wire format: append only. */

enum tf_cross_state {
    TF_CROSS_NONE = 0,
    TF_CROSS_STARTING = 1,    /* the new epoch has its place and starts; the old one is the job */
    TF_CROSS_RELEASING = 2,   /* it is ready: the old subcluster is asked to promise the end of the old one */
    TF_CROSS_WITHDRAWING = 3, /* it is asked not to; it may have promised already */
    TF_CROSS_SWITCHED = 4,    /* it has promised: the new epoch is the job, the old one stops */
    TF_CROSS_ROLLING_BACK = 5, /* the new epoch, or what there is of both, is being stopped */
    TF_CROSS_STOPPING = 6,     /* `migration: restart`: the old epoch stops, then the new one is placed */
    TF_CROSS_DONE = 7,
    TF_CROSS_ROLLED_BACK = 8,
};
const char *tf_cross_state_name(enum tf_cross_state state); /* "STARTING"; "?" of an unknown number */

/* What decided how it ended, or is to end. */
enum tf_cross_cause {
    TF_CROSS_BY_NOTHING = 0, /* nothing came between */
    TF_CROSS_BY_ABORT = 1,   /* people took it back */
    TF_CROSS_BY_DEADLINE = 2,
    TF_CROSS_BY_CORDON = 3,      /* of its target */
    TF_CROSS_BY_TARGET_LOST = 4, /* the subcluster, */
    TF_CROSS_BY_TARGET_END = 5,  /* or the new epoch: refused, failed, lost, ... */
    TF_CROSS_BY_NOT_READY = 6,   /* it did not stay ready until the old one could go */
    TF_CROSS_BY_NO_ROOM = 7,     /* `migration: restart`: it had stopped by then */
    TF_CROSS_BY_SOURCE_END = 8,  /* the old epoch ended by itself */
    TF_CROSS_BY_CHANGE = 9,      /* the job was deleted, held, scaled, restarted */
    TF_CROSS_BY_RESTORE = 10,    /* of the federation's store */
};
enum { TF_CROSS_CAUSES = TF_CROSS_BY_RESTORE + 1 };
const char *tf_cross_cause_name(enum tf_cross_cause cause); /* "none", "abort"; "?" of an unknown number */

struct tf_cross {
    enum tf_cross_state state;
    enum tf_phase outcome; /* of the job, when nothing is left of both epochs; NONE: what was asked of it */
    enum tf_cross_cause cause;
    char *from, *to;               /* subclusters */
    uint64_t old_epoch, new_epoch; /* new_epoch 0: not placed yet */
    struct tf_wall since, ended;
    struct tf_wall deadline; /* what has not come so far as to be SWITCHED by then is rolled back; 0 = none */
    char *why;               /* it is, or was, rolled back; or what is to be known of how it ended */
    char *reason, *user;     /* for which, and by whom, it was asked for; may be NULL */
};

/* Of the job's epochs none is known to be the last one. */
static inline bool tf_cross_goes_on(const struct tf_cross *cross)
{
    return cross->state > TF_CROSS_NONE && cross->state < TF_CROSS_DONE;
}
/* Both of its epochs may run. */
static inline bool tf_cross_overlaps(const struct tf_cross *cross)
{
    return tf_cross_goes_on(cross) && cross->state != TF_CROSS_STOPPING;
}
/* The old epoch is the job, although a new one has its place. */
static inline bool tf_cross_is_open(const struct tf_cross *cross)
{
    return cross->state >= TF_CROSS_STARTING && cross->state <= TF_CROSS_WITHDRAWING;
}

void tf_cross_release(struct tf_cross *cross);
void tf_cross_copy(struct tf_cross *to, const struct tf_cross *from);

#endif
