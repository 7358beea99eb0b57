/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/fedsim/renew.h"

#include "tools/fedsim/world.h"

/* NULL, and a breach, if there is no equal one. */
static void *copy_of(struct sim_world *world, const struct tf_core_ops *ops, void *core)
{
    TF_AUTO_BUF bytes = TF_BUF_INIT, again = TF_BUF_INIT;
    struct tf_error err = TF_ERROR_INIT;
    void *copy = NULL;
    if (tf_core_write(ops, core, true, &bytes, &err))
        world_breach(world, "the image of a %s core cannot be written: %s", ops->name, err.text);
    else if (!(copy = tf_core_read(ops, bytes.data, bytes.len, &err)))
        world_breach(world, "the image of a %s core cannot be read: %s", ops->name, err.text);
    else if (tf_core_write(ops, copy, false, &again, &err) || bytes.len != again.len ||
             memcmp(bytes.data, again.data, bytes.len) != 0)
        world_breach(world, "the image of a %s core, read and written again, is another", ops->name);
    return copy;
}

void *renew_core(struct sim_world *world, const struct tf_core_ops *ops, void *core)
{
    if (!world->renew_every || ++world->steps % world->renew_every != 0)
        return core;
    void *copy = copy_of(world, ops, core);
    if (!copy)
        return core;
    sim_situations_count(&world->reached, ops->reached(core));
    ops->destroy(core);
    return copy;
}
