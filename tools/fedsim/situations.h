/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDSIM_SITUATIONS_H
#define TF_FEDSIM_SITUATIONS_H

#include "common/store/situations.h"
#include "federation/core/situations.h"
#include "subcluster/core/situations.h"

#include <stdio.h>

/* How often the rare paths of all owners were taken. Zero-initialise. */
struct sim_situations {
    struct tf_guard_situations guard;
    struct fed_situations fed;
    struct sub_situations sub;
};

/* reached: of any of the owners. */
void sim_situations_count(struct sim_situations *sum, struct tf_situations reached);
void sim_situations_add(struct sim_situations *sum, const struct sim_situations *more);

/* Prints how often each rare path was taken in so many random runs, and whether that is enough: 20 times in
 * each 5,000 runs. In fewer than 5,000 a path may be missed by chance: there, of 100 runs or more, nine in
 * ten of the paths must have been taken at all. True if it is enough. */
bool sim_situations_print(FILE *out, const struct sim_situations *reached, uint64_t runs);

#endif
