/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_MODEL_EVICTION_H
#define TF_MODEL_EVICTION_H

#include "common/base/buf.h"

#include <stdbool.h>
#include <stdint.h>

/* Who gave way, for whom, and what that cost (I13), as the one sentence that goes through reports and records
 * to people:
 *
 *     core(batch) gave way to search/rank (online): 4800 GPU-seconds lost
 *
 * It is written and read here only, so that what is read is what was written. */
struct tf_eviction {
    char *level;    /* the highest that was taken from the job: "core(batch)" */
    char *by;       /* the job that took it: "search/rank" */
    char *priority; /* its class */
    int64_t lost_gpu_seconds;
};

void tf_eviction_release(struct tf_eviction *eviction);
/* Owned by the caller. */
char *tf_eviction_text(const struct tf_eviction *eviction);
/* The first such sentence in the text, which may have other words around it. False, and nothing in out, if
 * there is none. out is zeroed before. */
bool tf_eviction_find(const char *text, struct tf_eviction *out);

#endif
