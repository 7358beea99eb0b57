/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDBENCH_NODES_H
#define TF_FEDBENCH_NODES_H

#include "tools/fedbench/figures.h"

/* A benchmark of one core over fleets of several sizes, or of the one that --nodes names. */
struct nodes_bench {
    const char *name, *does; /* does: a sentence of its help, "Moves ..." */
    const char *setting;     /* of all its figures */
    const size_t *sizes;
    size_t count;
    int64_t least; /* nodes that it needs */
    bool (*run)(struct figures *out, size_t nodes);
};

/* Reads the options and runs it: the exit code of the command. */
int nodes_bench(const struct nodes_bench *bench, int argc, char **argv);

#endif
