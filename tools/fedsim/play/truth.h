/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDSIM_TRUTH_H
#define TF_FEDSIM_TRUTH_H

#include "tools/fedsim/fact.h"

/* How jobs really are, whatever a daemon believes: from what users asked, what engines run and what became
 * durable. */

struct truth_job {
    struct tf_uid uid;
    UT_hash_handle hh;
    const struct sim_site *site; /* of its latest instance; NULL = none yet */
    struct tf_elastic wanted;    /* by its user */
    struct tf_elastic before;    /* a scale that is not answered yet */
    bool submitted, held, deleted;
    bool reserves;        /* it is a reservation */
    enum tf_phase stored; /* as of the federation's store, or of the archive */
    uint64_t epoch;       /* the latest */
    bool ran;             /* its core was fully ready once */
    bool finished;        /* its work is done: its subcluster has recorded it */
    int32_t live, ready;  /* instances that nobody has asked to stop; of them ready */
    int32_t stopping;
    struct tf_mono waits; /* since when its core is not fully ready; TF_NEVER: it is */
    int64_t restarts;     /* instances that were started once more, in this epoch or another */
    struct truth_index *indices;
};

struct truth {
    const struct sim_world *world;
    struct truth_job *jobs; /* by uid */
    uint64_t changes;
};

void truth_begin(struct truth *truth, struct sim_world *world); /* the world tells it from now on */
void truth_release(struct truth *truth);
struct truth_job *truth_job(const struct truth *truth, struct tf_uid uid); /* NULL: it was never submitted */
enum tf_phase truth_phase(const struct truth_job *job);
/* Missing to its min, of a job that runs. */
int32_t truth_short(const struct truth_job *job);
/* ms since its core was not fully ready; 0 = it is, or is not wanted any more. */
int64_t truth_waiting(const struct truth_job *job, struct tf_mono now);

/* GPUs that could be given to a job: of nodes that are ready, not bad, and held by nobody. */
int64_t truth_node_free(const struct sim_fleet *fleet, size_t node);
int64_t truth_site_free(const struct sim_site *site);
int64_t truth_whole_free_nodes(const struct sim_site *site);

#endif
