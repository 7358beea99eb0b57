/* SPDX-License-Identifier: Apache-2.0 */
#include "common/model/resource.h"

struct tf_vector tf_shape_vector(const struct tf_shape *shape)
{
    return (struct tf_vector){.gpus = shape->gpus, .slots = 1, .cpu = shape->cpu, .memory = shape->memory};
}
