/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDSIM_RENEW_H
#define TF_FEDSIM_RENEW_H

#include "common/model/core.h"

/* Each world->renew_every-th step of a simulated daemon is taken by a core that was read from the image of
 * the one before (common/base/image.h): if the run goes on as it would have, nothing that decides is missing
 * in the image. A core without a whole image, or whose image reads back as another, is a breach. */
struct sim_world;

/* Returns the core that takes the next step: the same, or, in its place, the new one. */
void *renew_core(struct sim_world *world, const struct tf_core_ops *ops, void *core);

#endif
