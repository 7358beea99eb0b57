/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the invented nodes: they go and come back as the operator signs them, and others use their GPUs. */
#include "subcluster/engine/virtual/private.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "subcluster/engine/state/memory.h"
#include "subcluster/engine/state/proc.h"

#include <errno.h>
#include <sys/inotify.h>
#include <unistd.h>
#include <utlist.h>

enum { WHOLE = 10000 }; /* basis points */

struct place *place_find(const struct virtual *v, const char *name)
{
    struct place *place = NULL;
    if (name)
        HASH_FIND_STR(v->by_name, name, place);
    return place;
}

int places_init(struct virtual *v, struct tf_error *err)
{
    size_t count = v->config.nodes.count;
    v->places = tf_calloc(count + 1, sizeof *v->places);
    for (size_t i = 0; i < count; i++) {
        struct place *place = &v->places[i];
        tf_node_copy(&place->node, &v->config.nodes.items[i]);
        place->v = v;
        place->node.state = TF_NODE_NONE;
        place->node.foreign = (struct tf_foreign){0};
        tf_rng_init(&place->rng, v->config.seed * UINT64_C(1000003) + i);
        if (place_find(v, place->node.name))
            return tf_error_set(err, TF_ERR_INVALID, "two nodes are named %s", place->node.name);
        HASH_ADD_KEYPTR(hh, v->by_name, place->node.name, strlen(place->node.name), place);
    }
    v->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (v->inotify < 0)
        return tf_error_errno(err, TF_ERR_IO, errno,
                              "the engine cannot watch its folders; raise fs.inotify.max_user_instances");
    return 0;
}

void places_release(struct virtual *v)
{
    HASH_CLEAR(hh, v->by_name);
    for (size_t i = 0; v->places && i < v->config.nodes.count; i++) {
        tf_timer_cancel(v->loop, &v->places[i].foreign);
        tf_node_release(&v->places[i].node);
    }
    free(v->places);
    tf_io_stop(v->loop, &v->signs);
    if (v->inotify >= 0)
        close(v->inotify);
}

static void tell(const struct place *place)
{
    const struct tf_engine_event event = {.type = TF_ENGINE_NODE, .node = &place->node, .text = ""};
    virtual_tell(place->v, &event);
}

/* ---- others ---- */

static void foreign_next(struct place *place, int64_t mean);

/* They come where there is room, with their share of the rest of the machine. */
static void others_come(struct place *place)
{
    struct tf_node *node = &place->node;
    uint64_t all = tf_gpu_set_all(node->capacity.gpus), free = all & ~place->held & ~node->bad_gpus;
    int32_t room = tf_gpu_set_count(free);
    if (room == 0)
        return;
    int32_t taken = (int32_t)tf_rng_range(&place->rng, 1, room);
    node->foreign = (struct tf_foreign){
        .gpus = tf_gpu_set_lowest(free, taken),
        .slots = 1,
        .cpu = node->capacity.cpu * taken / node->capacity.gpus,
        .memory = node->capacity.memory * taken / node->capacity.gpus,
    };
}

static void on_foreign(struct tf_timer *timer)
{
    struct place *place = TF_CONTAINER_OF(timer, struct place, foreign);
    const struct tf_virtual_config *config = &place->v->config;
    if (place->node.foreign.gpus)
        place->node.foreign = (struct tf_foreign){0};
    else
        others_come(place);
    int64_t stay = config->foreign_stay;
    foreign_next(place, place->node.foreign.gpus ? stay : stay * (WHOLE - config->foreign) / config->foreign);
    if (!place->away) /* else it is told when the node is back */
        tell(place);
}

static void foreign_next(struct place *place, int64_t mean)
{
    struct tf_mono due = {tf_boottime_ms() + tf_rng_range(&place->rng, 1, 2 * mean + 1)};
    tf_timer_start(place->v->loop, &place->foreign, due, on_foreign);
}

/* At first as many nodes are used by others as are on average. */
static void others_begin(struct place *place)
{
    const struct tf_virtual_config *config = &place->v->config;
    if (config->foreign == 0 || place->node.capacity.gpus == 0 || tf_timer_started(&place->foreign))
        return;
    if ((int64_t)tf_rng_below(&place->rng, WHOLE) < config->foreign)
        others_come(place);
    foreign_next(place, config->foreign_stay);
}

/* ---- signs ---- */

static void say_down(void *context, const char *name)
{
    struct place *place = place_find(context, name);
    if (place)
        place->said_down = true;
}

static void say_away(void *context, const char *name)
{
    struct place *place = place_find(context, name);
    if (place)
        place->said_away = true;
}

/* What was to die there is dead before the node is told lost, and what became of the others while nothing was
 * heard of it is told before it is ready. */
static void judge(struct place *place)
{
    bool returns = place->away && !place->said_away, dies = place->said_down && !place->down;
    struct life *life, *next;
    place->down = place->said_down;
    place->away = place->said_away && !place->down;
    DL_FOREACH_SAFE2(place->lives, life, next, place_next)
    {
        if (dies)
            life_exit(life, TF_CAUSE_NODE_LOST, -1, 0);
        else if (returns)
            life_look(life);
    }
    enum tf_node_state state = place->down ? TF_NODE_LOST : place->away ? TF_NODE_UNREACHABLE : TF_NODE_READY;
    if (state == place->node.state)
        return;
    place->node.state = state;
    tell(place);
}

static void read_signs(struct virtual *v)
{
    struct tf_error err = TF_ERROR_INIT;
    size_t count = v->config.nodes.count;
    for (size_t i = 0; i < count; i++)
        v->places[i].said_down = v->places[i].said_away = false;
    if (tf_signs_read(v->root, "down", say_down, v, &err) ||
        tf_signs_read(v->root, "away", say_away, v, &err)) {
        virtual_trouble(v, "%s", err.text);
        return;
    }
    for (size_t i = 0; i < count; i++)
        judge(&v->places[i]);
}

static void on_signs(struct tf_io *io, unsigned events)
{
    struct virtual *v = TF_CONTAINER_OF(io, struct virtual, signs);
    char buffer[4096];
    (void)events;
    while (read(v->inotify, buffer, sizeof buffer) > 0)
        continue; /* whatever it was, the folders are read */
    if (!log_begin(v))
        return;
    read_signs(v);
    log_end(v);
}

static void watch(struct virtual *v)
{
    static const char *const folders[] = {"down", "away"};
    struct tf_error err = TF_ERROR_INIT;
    for (size_t i = 0; i < TF_ARRAY_LEN(folders); i++) {
        TF_AUTO_FREE char *path = tf_asprintf("%s/%s", v->config.state_dir, folders[i]);
        if (inotify_add_watch(v->inotify, path,
                              IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_MOVED_FROM | IN_ONLYDIR) < 0)
            virtual_trouble(v, "cannot watch the folder %s: %s", path, strerror(errno));
    }
    if (!v->signs.started && tf_io_start(v->loop, &v->signs, v->inotify, TF_IO_READ, on_signs, &err))
        virtual_trouble(v, "%s", err.text);
}

void places_tell(struct virtual *v)
{
    for (size_t i = 0; i < v->config.nodes.count; i++) {
        v->places[i].node.state = TF_NODE_NONE; /* so that it is told, whatever it is */
        others_begin(&v->places[i]);
    }
    read_signs(v);
    watch(v);
    read_signs(v); /* what was said before it was watched */
}
