/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDSIM_SITUATIONS_H
#define TF_FEDSIM_SITUATIONS_H

#include "common/base/situation.h"

#include <stdbool.h>
#include <stdio.h>

/* Prints how often each rare path was taken in so many random runs, and whether that is enough: 20 times in
 * each 5,000 runs. In fewer than 5,000 a path may be missed by chance: there, of 100 runs or more, nine in
 * ten of the paths must have been taken at all. True if it is enough. */
bool sim_situations_print(FILE *out, const struct tf_situations *reached, uint64_t runs);

#endif
