/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that do not depend on what runs instances. */
#include "subcluster/engine/check.h"

#include <inttypes.h>

int engine_check_node(const struct tf_node *node, struct tf_error *err)
{
    if (tf_name_check(node->name, "node", err))
        return -1;
    if (node->capacity.gpus < 0 || node->capacity.gpus > TF_NODE_GPUS_MAX)
        return tf_error_set(err, TF_ERR_INVALID, "node %s: 0 to %d GPUs are possible", node->name,
                            TF_NODE_GPUS_MAX);
    return 0;
}

static bool names_are_sound(const struct tf_engine_spec *spec)
{
    bool sound =
        tf_name_check(spec->tenant, "tenant", NULL) == 0 && tf_name_check(spec->name, "job", NULL) == 0;
    for (size_t i = 0; sound && i < spec->ports.count; i++)
        sound = tf_name_check(spec->ports.items[i], "port", NULL) == 0;
    return sound;
}

enum tf_engine_refusal engine_check_start(const struct tf_node *node, const struct tf_engine_spec *spec,
                                          char *text, size_t size)
{
    if (!node) {
        snprintf(text, size, "there is no node \"%.63s\" in the engine's configuration",
                 spec->node ? spec->node : "");
        return TF_REFUSED_NODE;
    }
    if (spec->gpus & ~tf_gpu_set_all(node->capacity.gpus)) {
        snprintf(text, size, "node %s has no such GPUs: it has %" PRId32, node->name, node->capacity.gpus);
        return TF_REFUSED_NODE;
    }
    if (spec->command.count == 0 || spec->ports.count > TF_ENGINE_PORTS_MAX || !names_are_sound(spec)) {
        snprintf(text, size, "a command is needed, at most %d ports, and names that are names",
                 TF_ENGINE_PORTS_MAX);
        return TF_REFUSED_POLICY;
    }
    return TF_REFUSED_NONE;
}
