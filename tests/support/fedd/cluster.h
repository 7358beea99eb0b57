/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_TESTS_FEDD_CLUSTER_H
#define TF_TESTS_FEDD_CLUSTER_H

#include "common/wire/attach.h"
#include "tests/support/fedd/bench.h"

/* A subcluster that is played by a test: it attaches over the wire, notes what it is told, and says what the
 * test wants. Of itself it answers only each set and change with a profile of nodes that are free, which
 * reflects it. */
struct fake {
    struct bench *bench;
    char *name;
    uint32_t protocol;
    uint64_t owner, highest_epoch;
    int32_t nodes; /* of 8 GPUs each */
    struct tf_channel *channel;
    struct tf_stream *stream; /* NULL: not attached */
    struct tf_term term;
    uint64_t n, counter;
    bool complete;                   /* the full set has come */
    size_t sets;                     /* how many full sets came */
    struct tf_error ended;           /* of the stream */
    TF_VEC(struct tf_entry) entries; /* of this attach, in order of arrival */
    TF_VEC(struct tf_ask) asks;
};

/* The fake is the caller's, and stays where it is until fake_release. */
void fake_init(struct fake *fake, struct bench *b, const char *name, int32_t nodes);
void fake_release(struct fake *fake);
/* Opens the stream and says hello; what was noted before is forgotten. */
void fake_dial(struct fake *fake, size_t fedd);
/* The same, and waits until the full set has come. */
void fake_attach(struct fake *fake, size_t fedd);
/* The first subcluster of a federation: "bj-a", with 4 nodes, attached to fedd 0. */
void fake_join(struct fake *fake, struct bench *b);
void fake_leave(struct fake *fake);      /* as if it had died */
void fake_take_leave(struct fake *fake); /* as one that is stopped politely; waits until that was heard */
/* Waits until the leader has ended the stream; the error is in fake->ended. */
bool fake_wait_ended(struct fake *fake);

void fake_say(struct fake *fake, struct tf_up *up); /* up is released */
/* Any bytes on the stream. */
void fake_say_bytes(struct fake *fake, const void *bytes, size_t len);

/* The first entry of that kind about that job (its number as of bench_uid), waited for; NULL if none came. */
const struct tf_entry *fake_wait_entry(struct fake *fake, enum tf_entry_kind kind, uint64_t uid);
const struct tf_entry *fake_entry(const struct fake *fake, enum tf_entry_kind kind, uint64_t uid);
/* The n-th question, from 0, waited for. */
const struct tf_ask *fake_wait_ask(struct fake *fake, size_t n);

/* Reports about the placement of an entry: as many ready as it has, on nodes "NAME-0", ... */
void fake_report(struct fake *fake, const struct tf_entry *place, enum tf_phase phase);
/* It runs on after it gave surplus away so often, which lost so many GPU-seconds. */
void fake_report_gave_way(struct fake *fake, const struct tf_entry *place, int32_t times, int64_t lost);
/* Submits a job to fedd 0, and takes its placement: it is seen to run. */
void fake_run_job(struct fake *fake, const char *name, uint64_t uid);
void fake_end(struct fake *fake, const struct tf_entry *place, enum tf_end end);

#endif
