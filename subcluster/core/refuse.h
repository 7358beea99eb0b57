/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_REFUSE_H
#define TF_SUBCLUSTER_CORE_REFUSE_H

#include "common/fit/count.h"
#include "subcluster/core/state.h"

/* Why a demand of that many instances does not fit in free capacity: the first reason of DESIGN.md §3.1 that
 * applies, and in *text (owned by the caller) what there is, what is asked and what is missing. model: the
 * one that was chosen by the leader, NULL if none. */
enum tf_reason refusal_reason(const struct sub *sub, const struct tf_job_spec *spec, const char *model,
                              const struct tf_demand *demand, int32_t size, char **text);

#endif
