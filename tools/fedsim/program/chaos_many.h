/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDSIM_CHAOS_MANY_H
#define TF_FEDSIM_CHAOS_MANY_H

#include "tools/fedsim/chaos/chaos.h"

/* Many seeds in several processes. A core's assertion ends its process: that is a breach of the seed that it
 * had. */
struct many_options {
    uint64_t first, last;
    enum chaos_size size;
    int32_t jobs; /* processes */
    bool keep_going;
};
/* A breach, as soon as it is known. */
typedef void many_breach_f(void *arg, uint64_t seed, const char *breach);
/* So many are done. */
typedef void many_progress_f(void *arg, uint64_t done);

struct many_totals {
    uint64_t runs, breaches, events, stale, restored, found_out;
    struct audit_counts counts;
    uint64_t drawn[CHAOS_INGREDIENTS];
    struct sim_situations reached;
    double cpu_seconds;
};

/* Runs all, or, without keep_going, until some breach. -1 and *err if processes cannot be made. */
int chaos_many(const struct many_options *options, many_breach_f *breach, many_progress_f *progress,
               void *arg, struct many_totals *totals, struct tf_error *err);

#endif
