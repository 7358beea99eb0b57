/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDBENCH_LOAD_H
#define TF_FEDBENCH_LOAD_H

#include "common/base/list.h"
#include "common/base/vec.h"
#include "common/model/id.h"
#include "common/model/phase.h"

#include <stdbool.h>
#include <stdint.h>

/* Clients of a federation that keep a fixed number of jobs under way: each submits one job, waits until it is
 * seen to have come so far, and submits the next. All in one thread, over one connection and one watch. */
struct load_options {
    const char *endpoint; /* of the leader */
    size_t in_flight;
    enum tf_phase until; /* a job counts when a watch shows it in this phase or a later one */
    int64_t seconds;
    size_t jobs_max;               /* then it ends, too */
    const struct tf_strs *command; /* of each job: one instance with one GPU */
    uint64_t seed;                 /* of the uids; also in the names */
};

struct load_job {
    struct tf_uid uid;
    int64_t submitted_us, acknowledged_us, counted_us; /* 0 = not yet */
    uint64_t epoch;                                    /* it was seen in; 0 = none yet */
};

struct load_result {
    TF_VEC(struct load_job) jobs; /* that were submitted */
    size_t acknowledged, counted;
    int64_t wall_us, cpu_us; /* from the first submit to the last that counts; of this process */
};

/* What can be asked while it runs. */
struct load;

/* NULL after saying why on stderr. */
struct load *load_create(const struct load_options *options);
void load_destroy(struct load *load); /* NULL is fine */
/* Runs for that long, then until nothing is under way. False: something was refused, or nothing moves. */
bool load_run(struct load *load);
/* Runs for ms and stops in the middle of everything: what is under way stays unknown. */
bool load_run_and_drop(struct load *load, int64_t ms);
const struct load_result *load_result(const struct load *load);

/* Over the jobs that count, in ms; sorts a copy. */
double load_percentile_ms(const struct load_result *result, bool acknowledged, unsigned percent);

#endif
