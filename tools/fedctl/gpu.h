/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDCTL_GPU_H
#define TF_FEDCTL_GPU_H

#include "common/wire/api.h"

/* One GPU, as a list shows it; all is borrowed from the node that it is of. */
struct gpu {
    const char *cluster, *node, *model; /* model may be NULL */
    int32_t index;
    const char *state;  /* free, held, foreign, cordoned, bad, suspect, or why its node takes nothing */
    const char *note;   /* may be NULL */
    const char *source; /* who calls it bad or suspect; NULL: nobody */
    const struct tf_node_instance *holder; /* NULL: none */
};

#endif
