/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDSIM_PACKERS_H
#define TF_FEDSIM_PACKERS_H

#include "common/trace/trace.h"

/* Six ways to choose a node, one instance at a time: the pods of a trace arrive in random order, and again
 * in another one, without ever leaving, until they have asked for as many GPUs as there are. What does not
 * fit is passed over. The measure is the part of all GPUs that was handed out (after Weng et al., ATC'23).
 *
 *   random        any node that can take it
 *   dot product   smallest product of what is asked and what the node has, each in parts of the largest node
 *   best fit      least left, all dimensions added, each in parts of the largest node
 *   least fragmentation growth   common/fit: idle GPUs that the mix of all pods could not use grow least;
 *                 then best fit
 *   tightest      fewest GPUs left, then least CPU, then least memory
 *   weighed       the growth of fragmentation together with what is left (tf_mix_cost): what subclusterd
 * packs by
 *
 * By the public openb trace (10 orders) growth alone hands out less than best fit, and both together more
 * than any.
 *
 * Ties go to the lower row of like nodes; nodes in the same state count as one row, for random by number. */
enum packer {
    PACKER_RANDOM,
    PACKER_DOT_PRODUCT,
    PACKER_BEST_FIT,
    PACKER_FRAGMENTATION,
    PACKER_TIGHTEST,
    PACKER_WEIGHED,
    PACKERS
};
const char *packer_name(enum packer packer);

/* In basis points of all GPUs. */
struct packer_result {
    int64_t mean, least, most;
    int64_t refused; /* pods, mean */
};
struct packers_result {
    size_t nodes, pods, all; /* all: jobs of the trace, with those that are not taken */
    int64_t gpus, asked;     /* asked: GPUs, by all pods once */
    struct packer_result of[PACKERS];
};

/* Pods are the jobs of one instance that ask for whole GPUs, at least one; -1 and *err if there are none, or
 * the nodes have no GPUs. Same seed, same result. */
int packers_run(const struct tf_trace_nodes *nodes, const struct tf_trace_jobs *jobs, uint64_t seed,
                int32_t orders, struct packers_result *out, struct tf_error *err);

#endif
