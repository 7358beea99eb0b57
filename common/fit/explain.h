/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FIT_EXPLAIN_H
#define TF_FIT_EXPLAIN_H

#include "common/fit/count.h"
#include "common/fit/mix.h"

/* Why a demand does not fit a subcluster. The reason is the first, in this order (DESIGN.md §3.1), that holds
 * of the rows as they are: NO_SUCH_MODEL      no node has GPUs of a model of the list GPU_MEMORY         none
 * of those has enough memory a GPU NODE_TOO_SMALL     one instance fits no such node, with the labels, that
 * runs nothing of ours NOT_ENOUGH_NODES   the core would not fit if the subcluster ran nothing of ours,
 * topology and maxNodes aside TOPOLOGY           it would not fit then, with topology and maxNodes
 *   HIGHER_PRIORITY    it would not fit if it took all that its priority may take, and all protected cores
 *   PROTECTED          it would not fit if it took all that its priority may take
 *   CLAIMED            it would fit but for claims (R5)
 *   CPU_MEMORY         the GPUs are there at the level it may take now, CPU, memory or slots are not
 *   GPUS               they are not
 * HIGHER_PRIORITY to CLAIMED are said of cores only: surplus takes what is free. */
enum { TF_FIT_TEXT = 480, TF_FIT_UNBLOCK = 240 };

struct tf_fit_why {
    enum tf_reason reason; /* TF_REASON_NONE: it fits */
    int32_t asked;         /* instances: the core */
    int32_t has;     /* that fit now; these two are rounded to steps only where steps have a required rule */
    int32_t best;    /* that would fit if the subcluster ran nothing of ours */
    int32_t missing; /* asked - has, at least 0 */
    struct tf_wall until; /* CLAIMED: the earliest moment of a claim in its way; else 0 */
    char text[TF_FIT_TEXT];
    char unblock[TF_FIT_UNBLOCK]; /* what would take the reason away; "" = nothing that can be said */
};

/* level: what the demand may take now, at most demand->level; that is what its priority may take. spec is the
 * one the demand was resolved from: its words go into the text. */
void tf_fit_explain(const struct tf_fit_view *view, const struct tf_demand *demand, tf_level level,
                    const struct tf_job_spec *spec, struct tf_fit_scratch *scratch, struct tf_fit_why *out);

/* Puts each idle GPU of the rows under exactly one cause, measured against the mix; the sum is all idle GPUs.
 * Of a row: deliverable   the most GPUs that one shape of the mix can use there, all its rules kept topology,
 * step   more fit node by node, but not in one domain (or on so few nodes); or make no whole core or step
 *   cpu_memory    more would, if the nodes had the CPU, memory and slots
 *   count         the rest: too few on one node for any shape
 *   policy        all of them, if no shape may use the node: model, GPU memory, labels, a claim
 * unhealthy: idle GPUs of nodes that are not ready, and bad ones: they are in no row; they go under health.
 * With an empty mix all others are deliverable. mix is resolved against the view's catalog. of_rows: NULL, or
 * room for one a row of the view: what of out belongs to it. */
void tf_fit_idle_causes(const struct tf_fit_view *view, const struct tf_mix *mix, int32_t unhealthy,
                        struct tf_fit_scratch *scratch, struct tf_idle_causes *out,
                        struct tf_idle_causes *of_rows);

#endif
