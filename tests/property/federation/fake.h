/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_TESTS_FED_FAKE_H
#define TF_TESTS_FED_FAKE_H

#include "common/base/rng.h"
#include "tests/support/fed_driver/fed_driver.h"

/* A subcluster as its protocol demands: like nodes of 8 GPUs, all of which an instance takes, so that what
 * the leader counted must be there. Messages wait in both directions until they are delivered; a cut loses
 * them. */

struct fake_epoch {
    uint64_t uid, epoch;
    int32_t size;
    int rank;            /* of its class */
    tf_level level;      /* it may take so much */
    enum tf_phase phase; /* of a live one */
    enum tf_end end;     /* of an ended one */
};

struct fake_word { /* on its way up */
    enum tf_up_kind kind;
    struct fake_epoch epoch; /* REPORT */
    int32_t free;            /* PROFILE */
    uint64_t reflects;
};

struct fake {
    const char *name;
    int32_t nodes;
    TF_VEC(struct tf_down) down; /* on their way */
    TF_VEC(struct fake_word) up;
    TF_VEC(struct fake_epoch) live, ended; /* ended: not yet stored by the leader */
    uint64_t floor, n;
    uint64_t set_count, last_place; /* newest epoch placed on this stream */
    TF_VEC(struct tf_entry) set;
    bool collecting, refuses; /* the next placement, for no reason */
};

enum { FLEET_JOBS = 64 };

struct fleet {
    struct fake *fakes;
    size_t count;
    struct drive *d;
    int finished[FLEET_JOBS];                    /* how often, by uid */
    size_t starts, refusals, unknown, evictions; /* so that a test can show it met them */
};

void fake_attach(struct fleet *f, struct fake *fake); /* says hello */
void fake_cut(struct fleet *f, struct fake *fake);    /* both directions lose what was on its way */
void fake_release(struct fake *fake);
/* A message left the leader. */
void fake_sent(struct fleet *f, const struct fed_action *action);
void fake_take(struct fleet *f, struct fake *fake); /* acts on the oldest message down */
void fake_say(struct fleet *f, struct fake *fake);  /* delivers the oldest word up */
/* The epoch goes on a step: starting, running, finished; or ends so. */
void fake_progress(struct fleet *f, struct fake *fake, size_t index);
/* It loses its records of what runs, and what runs; the stream is cut. */
void fake_forget(struct fleet *f, struct fake *fake);
void fake_end(struct fleet *f, struct fake *fake, size_t index, enum tf_end end);

#endif
