/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_ENGINE_VIRTUAL_H
#define TF_ENGINE_VIRTUAL_H

#include "common/loop/loop.h"
#include "subcluster/engine/engine.h"

/* The engine that invents its nodes and instances: nothing runs, and yet starts take their time, instances
 * end and fail, nodes go and come back, and others use GPUs. For tests, benchmarks and trials of a whole
 * federation on one machine, with thousands of nodes in one daemon.
 *
 * Instances outlive the daemon: what will become of one is settled when it starts and stands in the engine's
 * memory, STATE_DIR/log; who adopts it finds it where its clock has brought it. They end with the machine:
 * after a restart of that all count as lost, as those of the process engine do, and so the log survives the
 * daemon's end, not the machine's.
 *
 * An instance runs for VIRTUAL_RUN of its environment (a duration), or, if its command is `sleep N`, so many
 * seconds, else as long as the configuration says, and ends with the exit code VIRTUAL_EXIT (absent: 0).
 *
 * STATE_DIR/log is text and shows what befell each instance; `signals INSTANCE SIGUSR1 3`, the last of an
 * instance, says that it was told of three resizes by the signal of its onResize.
 *
 * To make a node vanish, make the file STATE_DIR/away/NODE: it is unreachable, what runs there runs on and is
 * not heard of; remove it: the node is back. The file STATE_DIR/down/NODE ends what runs there, and the node
 * is lost until it is removed.
 *
 * Works in the loop's thread, by timers. */
struct tf_virtual_config {
    char *state_dir; /* absolute; made by initialise */
    uint64_t seed;   /* of all that is drawn: the same instance has the same fate */
    /* ms; drawn evenly between both */
    int64_t start_min, start_max; /* until ready */
    int64_t stop_min, stop_max;   /* from the polite stop to the end; longer than the grace = is killed */
    int64_t run;                  /* ms of an instance that does not say; 0 = for ever */
    int32_t fail;                 /* basis points of attempts that end before their time with code 1 */
    int32_t foreign;              /* basis points of the time in which somebody else uses GPUs of a node */
    int64_t foreign_stay;         /* ms of one such use, on average */
    struct {
        struct tf_node *items;
        size_t count, cap;
    } nodes; /* names differ; state and foreign are ignored */
};
void tf_virtual_config_init(struct tf_virtual_config *config); /* defaults; no nodes, no state_dir */
void tf_virtual_config_release(struct tf_virtual_config *config);

/* config is copied. event is called in the thread of loop, which outlives the engine; context is borrowed.
 * NULL: the configuration is wrong, out of descriptors. */
struct tf_engine *tf_virtual_engine_create(const struct tf_virtual_config *config, struct tf_loop *loop,
                                           tf_engine_event_f event, void *context, struct tf_error *err);

#endif
