/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDBENCH_RUN_H
#define TF_FEDBENCH_RUN_H

#include "common/model/phase.h"
#include "tests/support/federation/federation.h"
#include "tools/fedbench/figures.h"
#include "tools/fedbench/load.h"

/* Benchmarks of a whole federation: fedd, subclusterd, two real etcd, and clients, all on this machine, each
 * level of load on a fresh one. */

enum { RUN_LEVELS_MAX = 8, RUN_SUBCLUSTERS = 3 };

struct run_options {
    const char *bench;  /* "admit" */
    const char *engine; /* of the subclusters */
    const char *boundary;
    enum tf_phase until;
    const char *command; /* "sleep 1000", in words */
    int64_t levels[RUN_LEVELS_MAX];
    size_t level_count;
    int64_t seconds, nodes; /* a level; of a subcluster, 8 GPUs each */
    const char *dir;        /* NULL = /tmp */
    bool no_fsync, json;
    bool quick; /* neither the store alone nor the kill */
    uint64_t seed;
    const char *target, *beside; /* of jobs a second */
};

/* Reads what was given after the name into options, which holds the defaults. -1: go on, else the exit code.
 */
int run_take_options(struct run_options *options, int argc, char **argv);
/* The exit code. */
int run_federation(const struct run_options *options);
/* One level, for `scale`: jobs a second into *rate. False after saying why. */
bool run_level_rate(const struct run_options *options, size_t in_flight, double *rate);

/* What the store does with the same records, alone. All of one etcd unless local is another one. */
struct run_store_work {
    const char *federation, *local;           /* endpoints */
    size_t federation_bytes, local_bytes;     /* of a record's value, on average */
    double federation_records, local_records; /* a job */
};
/* Jobs a second that both could take with full transactions; 0 after saying why. */
double run_store_alone(const struct run_store_work *work, int64_t seconds);

#endif
