/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_TESTS_ENGINE_STATION_H
#define TF_TESTS_ENGINE_STATION_H

#include "common/base/vec.h"
#include "common/loop/loop.h"
#include "subcluster/engine/process.h"
#include "subcluster/engine/virtual/virtual.h"

enum station_kind { STATION_PROCESS, STATION_VIRTUAL };

/* An engine with a loop of its own, and all events it has told since the last clear. Nodes: a (8 GPUs) and b
 * (4 GPUs). */
struct station_event {
    struct tf_engine_event event; /* strings are owned, see below */
    char *text, *node, *job;
    enum tf_node_state node_state;
    uint64_t foreign; /* GPUs of the node */
    struct tf_engine_port ports[TF_ENGINE_PORTS_MAX];
};

struct station {
    struct tf_loop *loop;
    struct tf_engine *engine;
    enum station_kind kind;
    struct tf_process_config config;   /* of the process engine */
    struct tf_virtual_config invented; /* of the virtual one: short times */
    struct {
        struct station_event *items;
        size_t count, cap;
    } events;
};

/* Before station_open. */
void station_config(struct station *s, enum station_kind kind, const char *state_dir);
bool station_open(struct station *s);
void station_close(struct station *s); /* the engine and its loop; config stays */
void station_release(struct station *s);
void station_clear(struct station *s);

/* Turns the loop until an event of the type has come since the last clear; NULL if none came within a minute.
 */
const struct station_event *station_wait(struct station *s, enum tf_engine_event_type type);
/* Likewise an INSTANCE event of the id (NULL = any) in this state. */
const struct station_event *station_wait_state(struct station *s, const struct tf_instance_id *id,
                                               enum tf_instance_state state);
const struct station_event *station_wait_node(struct station *s, const char *node, enum tf_node_state state);
/* What has come already. */
const struct station_event *station_has(struct station *s, const struct tf_instance_id *id,
                                        enum tf_instance_state state);
size_t station_count(struct station *s, enum tf_instance_state state);

/* A spec for `sh -c script` on node a; release it. One that is invented runs for ever if there is `sleep
 * 1000` in the script, else ends at once, with the code N if there is `exit N`. */
void station_spec(struct tf_engine_spec *spec, struct tf_uid uid, uint32_t index, const char *script);
struct tf_uid station_uid(void); /* a new one */

#endif
