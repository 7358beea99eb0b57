/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/engine/station.h"

#include "common/base/alloc.h"
#include "common/base/text.h"
#include "subcluster/engine/state/proc.h"

#include <unistd.h>

enum { DEADLINE = 60 * TF_SECOND };

static void keep(void *context, const struct tf_engine_event *event)
{
    struct station *s = context;
    struct station_event *e = tf_vec_add(&s->events);
    e->event = *event;
    e->text = tf_strdup(event->text);
    e->node = tf_strdup(event->node ? event->node->name : event->node_name);
    e->node_state = event->node ? event->node->state : TF_NODE_NONE;
    e->foreign = event->node ? event->node->foreign.gpus : 0;
    e->job = event->name ? tf_asprintf("%s/%s", event->tenant, event->name) : NULL;
    if (event->port_count)
        memcpy(e->ports, event->ports, event->port_count * sizeof *event->ports);
}

/* To the nodes of both configurations. */
static void add_node(struct station *s, const char *name, int32_t gpus)
{
    struct tf_node *node = tf_vec_add(&s->config.nodes);
    node->name = tf_strdup(name);
    node->model = tf_strdup("H800");
    node->gpu_memory = 81920;
    node->capacity = (struct tf_vector){.gpus = gpus, .slots = 100, .cpu = 64000, .memory = 65536};
    tf_node_copy(tf_vec_add(&s->invented.nodes), node);
}

void station_config(struct station *s, enum station_kind kind, const char *state_dir)
{
    *s = (struct station){.kind = kind};
    tf_process_config_init(&s->config);
    tf_virtual_config_init(&s->invented);
    s->invented.state_dir = tf_strdup(state_dir);
    s->invented.start_min = s->invented.stop_min = 1;
    s->invented.start_max = s->invented.stop_max = 20;
    s->config.state_dir = tf_strdup(state_dir);
    s->config.shim = tf_strdup(TF_TEST_SHIM);
    tf_str_set(&s->config.work_dir, "/tmp");
    s->config.allow_root = true;
    add_node(s, "a", 8);
    add_node(s, "b", 4);
}

bool station_open(struct station *s)
{
    struct tf_error err = TF_ERROR_INIT;
    s->loop = tf_loop_create(&err);
    if (s->loop)
        s->engine = s->kind == STATION_VIRTUAL
                        ? tf_virtual_engine_create(&s->invented, s->loop, keep, s, &err)
                        : tf_process_engine_create(&s->config, s->loop, keep, s, &err);
    if (!s->engine)
        printf("%s\n", err.text);
    return s->engine != NULL;
}

void station_clear(struct station *s)
{
    tf_vec_each (e, &s->events) {
        free(e->text);
        free(e->node);
        free(e->job);
    }
    tf_vec_release(&s->events);
}

void station_close(struct station *s)
{
    if (s->engine)
        s->engine->destroy(s->engine);
    tf_loop_destroy(s->loop);
    s->engine = NULL;
    s->loop = NULL;
    station_clear(s);
}

void station_release(struct station *s)
{
    station_close(s);
    tf_process_config_release(&s->config);
    tf_virtual_config_release(&s->invented);
}

struct want {
    enum tf_engine_event_type type;
    const struct tf_instance_id *id;
    enum tf_instance_state state;
    const char *node;
    enum tf_node_state node_state;
};

static bool matches(const struct station_event *e, const struct want *want)
{
    if (e->event.type != want->type)
        return false;
    if (want->state && e->event.state != want->state)
        return false;
    if (want->node && (!tf_str_eq(e->node, want->node) || e->node_state != want->node_state))
        return false;
    return !want->id || tf_instance_id_eq(&e->event.id, want->id);
}

static const struct station_event *find(struct station *s, const struct want *want)
{
    tf_vec_each (e, &s->events)
        if (matches(e, want))
            return e;
    return NULL;
}

static const struct station_event *wait_for(struct station *s, const struct want *want)
{
    int64_t end = tf_boottime_ms() + DEADLINE;
    const struct station_event *e;
    while (!(e = find(s, want)) && tf_boottime_ms() < end)
        tf_loop_turn(s->loop, 100);
    return e;
}

const struct station_event *station_wait(struct station *s, enum tf_engine_event_type type)
{
    return wait_for(s, &(struct want){.type = type});
}

const struct station_event *station_wait_state(struct station *s, const struct tf_instance_id *id,
                                               enum tf_instance_state state)
{
    return wait_for(s, &(struct want){.type = TF_ENGINE_INSTANCE, .id = id, .state = state});
}

const struct station_event *station_wait_node(struct station *s, const char *node, enum tf_node_state state)
{
    return wait_for(s, &(struct want){.type = TF_ENGINE_NODE, .node = node, .node_state = state});
}

const struct station_event *station_has(struct station *s, const struct tf_instance_id *id,
                                        enum tf_instance_state state)
{
    return find(s, &(struct want){.type = TF_ENGINE_INSTANCE, .id = id, .state = state});
}

size_t station_count(struct station *s, enum tf_instance_state state)
{
    size_t n = 0;
    tf_vec_each (e, &s->events)
        n += e->event.type == TF_ENGINE_INSTANCE && e->event.state == state;
    return n;
}

/* What invented instances cannot find in their script. */
static void say_fate(struct tf_engine_spec *spec, const char *script)
{
    const char *code = strstr(script, "exit ");
    if (strstr(script, "sleep 1000"))
        return;
    tf_pairs_set(&spec->env, "VIRTUAL_RUN", "0s");
    if (code)
        tf_pairs_set(&spec->env, "VIRTUAL_EXIT", code + strlen("exit "));
}

void station_spec(struct tf_engine_spec *spec, struct tf_uid uid, uint32_t index, const char *script)
{
    *spec = (struct tf_engine_spec){.id = {uid, 7, index, 1}, .gpus = 1, .rank = index, .size = 8};
    spec->tenant = tf_strdup("search");
    spec->name = tf_strdup("rank");
    spec->node = tf_strdup("a");
    spec->grace = 30 * TF_SECOND;
    tf_strs_add(&spec->command, "sh");
    tf_strs_add(&spec->command, "-c");
    tf_strs_add(&spec->command, script);
    say_fate(spec, script);
}

struct tf_uid station_uid(void)
{
    static uint64_t count;
    struct tf_uid uid;
    uint64_t parts[2] = {(uint64_t)tf_boottime_ms() << 24 | (uint64_t)getpid(), ++count};
    memcpy(uid.bytes, parts, sizeof uid.bytes);
    return uid;
}
