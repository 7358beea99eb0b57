/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_CANDIDATES_H
#define TF_SUBCLUSTER_CORE_CANDIDATES_H

#include "subcluster/core/jobs.h"
#include "subcluster/core/victims/victims.h"

/* Who may be evicted for a demand, and what each would lose: the records, as victims.h wants to see them. */

/* What a unit has on one node. */
struct candidate_part {
    uint32_t node, unit;
    uint64_t gpus; /* usable ones */
    struct tf_vector frees;
};

/* The place of a move that has not been switched: what is claimed for it, or held by its new instance. */
struct candidate_move {
    struct tf_uid migration;
    size_t move;
};

enum { CANDIDATE_CLAIMS = -1 }; /* as a mark: what a running job claims of what it lacks, and nothing else */

struct candidates {
    TF_VEC(struct victim_unit) units;
    TF_VEC(struct job *) jobs;           /* of each unit */
    TF_VEC(int32_t) marks;               /* of each unit: its surplus step, 0 = core; or the above */
    TF_VEC(struct candidate_move) moves; /* of each unit: the move whose place it is; id none: it is none */
    TF_VEC(struct candidate_part) parts; /* by node, then unit */
    TF_VEC(struct victim_part) frees;    /* the same, for victims.h */
    TF_VEC(struct victim_node) nodes;

    TF_VEC(struct candidate_part) unsorted; /* memory that listing reuses */
    TF_VEC(size_t) next;
};

/* All that is held at `level` or below by jobs that start or run, and all that is claimed by others; a job
 * that waits for its claims is one unit, and so are the claims of one that runs and the place of a move. What
 * is reserved for the demand (NULL: for nobody) is free to it. Borrowed until the next list is made: there
 * may be a hundred thousand units, so their memory is kept. */
struct candidates *candidates_list(struct sub *sub, tf_level level, const struct tf_demand *demand);
/* Surplus only: of the ranks below this one. */
struct candidates *candidates_list_surplus(struct sub *sub, int rank);
void candidates_destroy(struct candidates *candidates); /* NULL is fine */

#endif
