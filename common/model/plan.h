/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_MODEL_PLAN_H
#define TF_MODEL_PLAN_H

#include "common/base/vec.h"
#include "common/model/id.h"
#include "common/model/phase.h"

/* What a subcluster would do with a placement, as told to who asks before anything is done. */

enum { TF_PLAN_VICTIMS_MAX = 1000 }; /* that are named */

/* A job that would give way. */
struct tf_plan_victim {
    char *tenant, *name;
    struct tf_uid uid;
    bool whole;               /* all of it; else surplus steps: */
    int32_t instances, size;  /* that go, of so many */
    char *level;              /* the highest taken from it: "surplus(batch)" */
    int64_t lost_gpu_seconds; /* by this, as costs are counted */
};

/* Where instances would be. */
struct tf_plan_node {
    char *node;
    uint64_t gpus; /* of all of them; a set */
    int32_t instances;
};

struct tf_place_plan {
    enum tf_reason reason; /* NONE: it would be taken; else why not, and in words: */
    char *text;
    char *model; /* of the GPUs; NULL = none asked */
    int32_t size;
    TF_VEC(struct tf_plan_node) nodes;     /* each once */
    TF_VEC(struct tf_plan_victim) victims; /* the first TF_PLAN_VICTIMS_MAX of: */
    int32_t jobs;                          /* that give way */
    int64_t lost_gpu_seconds;              /* by all of them */
    int64_t wait; /* ms until all that is in the way must have gone, at most: stopDelay and grace; 0: nothing
                     is */
};

void tf_plan_victim_release(struct tf_plan_victim *victim);
void tf_plan_node_release(struct tf_plan_node *node);
void tf_place_plan_release(struct tf_place_plan *plan); /* frees what is owned and zeroes it */

#endif
