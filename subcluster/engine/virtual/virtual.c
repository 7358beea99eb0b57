/* SPDX-License-Identifier: Apache-2.0 */
/* The face of the virtual engine, and what its calls do. Calls act at once, events come by the outlet. */
#include "subcluster/engine/virtual/virtual.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "subcluster/engine/check.h"
#include "subcluster/engine/state/proc.h"
#include "subcluster/engine/virtual/private.h"

#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <utlist.h>

enum { WHOLE = 10000 }; /* basis points */

static struct virtual *of(struct tf_engine *engine)
{
    return TF_CONTAINER_OF(engine, struct virtual, engine);
}

/* ---- telling ---- */

void virtual_tell(struct virtual *v, const struct tf_engine_event *event)
{
    outlet_tell(v->outlet, event);
}

void virtual_trouble(struct virtual *v, const char *fmt, ...)
{
    char text[1200];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    tf_utf8_trim(text);
    virtual_tell(v, &(struct tf_engine_event){.type = TF_ENGINE_TROUBLE, .text = text});
}

static void stale(struct virtual *v)
{
    virtual_tell(v, &(struct tf_engine_event){.type = TF_ENGINE_STALE, .owner = v->owner, .text = ""});
}

static void tell_gone(struct virtual *v, const struct tf_instance_id *id)
{
    virtual_tell(v, &(struct tf_engine_event){.type = TF_ENGINE_INSTANCE,
                                              .id = *id,
                                              .state = TF_INSTANCE_GONE,
                                              .exit_code = -1,
                                              .at = tf_wall_read(),
                                              .text = ""});
}

static void refuse(struct virtual *v, const struct tf_instance_id *id, enum tf_engine_refusal why,
                   const char *text)
{
    virtual_tell(v, &(struct tf_engine_event){.type = TF_ENGINE_INSTANCE,
                                              .id = *id,
                                              .state = TF_INSTANCE_REFUSED,
                                              .refusal = why,
                                              .exit_code = -1,
                                              .at = tf_wall_read(),
                                              .text = text});
}

/* ---- adopting ---- */

static void list(struct virtual *v)
{
    v->adopted = true;
    if (!log_begin(v))
        return;
    places_tell(v);
    struct life *life, *next;
    HASH_ITER (hh, v->lives, life, next) {
        enum tf_instance_state before = life->state;
        life_look(life);
        if (life->state == before) /* else it has just been told */
            life_tell(life);
    }
    log_end(v);
    virtual_tell(v, &(struct tf_engine_event){.type = TF_ENGINE_LISTED, .memory = v->memory, .text = ""});
}

static void adopt(struct virtual *v, uint64_t owner, bool make)
{
    struct tf_error err = TF_ERROR_INIT;
    v->adopted = false;
    if (log_open(v, make, &err) == 0 && log_take(v, owner, make, &err) == 0)
        list(v);
    else if (err.code == TF_ERR_REFUSED)
        stale(v);
    else if (make)
        virtual_trouble(v, "%s", err.text);
    else
        virtual_tell(v, &(struct tf_engine_event){.type = TF_ENGINE_UNKNOWN, .text = err.text});
}

static void virtual_initialise(struct tf_engine *engine, uint64_t owner)
{
    adopt(of(engine), owner, true);
}

static void virtual_adopt(struct tf_engine *engine, uint64_t owner)
{
    adopt(of(engine), owner, false);
}

/* ---- every other call ---- */

/* True: the call may act, and log_end comes after it. */
static bool begin(struct virtual *v, uint64_t owner)
{
    if (owner < v->owner) {
        stale(v);
        return false;
    }
    if (!v->adopted) {
        virtual_trouble(v, "the engine was called before it was asked what it has");
        return false;
    }
    if (!log_begin(v)) {
        if (owner < v->owner)
            stale(v);
        return false;
    }
    if (owner > v->owner) {
        v->owner = owner;
        log_owner(v);
    }
    return true;
}

static enum tf_engine_refusal cannot_start(struct virtual *v, const struct tf_engine_spec *spec, char *text,
                                           size_t size)
{
    const struct place *place = place_find(v, spec->node);
    enum tf_engine_refusal why = engine_check_start(place ? &place->node : NULL, spec, text, size);
    if (why)
        return why;
    if (place->down || place->away) {
        snprintf(text, size, "node %s is out of service: see %s/%s", spec->node, v->config.state_dir,
                 place->down ? "down" : "away");
        return TF_REFUSED_NODE;
    }
    if (spec->gpus & place->node.foreign.gpus) {
        snprintf(text, size, "somebody else uses a GPU of node %s that was asked for", spec->node);
        return TF_REFUSED_RESOURCES;
    }
    if (v->troubled) {
        snprintf(text, size, "the log of the invented instances cannot be written");
        return TF_REFUSED_RESOURCES;
    }
    return TF_REFUSED_NONE;
}

static void start(struct virtual *v, const struct tf_engine_spec *spec)
{
    char text[400];
    struct life *life = life_find(v, &spec->id);
    if (life) {
        life_tell(life);
        return;
    }
    enum tf_engine_refusal why = cannot_start(v, spec, text, sizeof text);
    if (why) {
        refuse(v, &spec->id, why, text);
        return;
    }
    life = life_add(v, &spec->id);
    life_begin(life, spec);
    log_start(v, life);
    if (life->resize_signal)
        log_signals(v, life);
    life_tell(life);
    life_look(life);
}

static void virtual_start(struct tf_engine *engine, uint64_t owner, const struct tf_engine_spec *spec)
{
    struct virtual *v = of(engine);
    if (!begin(v, owner))
        return;
    start(v, spec);
    log_end(v);
}

/* How long it takes to obey is drawn anew for each stop; the sooner end counts. */
static void stop(struct life *life, int64_t stop_delay, int64_t grace)
{
    const struct tf_virtual_config *config = &life->v->config;
    struct tf_rng rng;
    tf_rng_init(&rng, config->seed ^ life->id.epoch << 20 ^ life->id.index << 8 ^ life->id.attempt);
    int64_t polite = tf_rng_range(&rng, config->stop_min, config->stop_max);
    bool obeys = polite <= grace;
    int64_t dies = tf_boottime_ms() + (stop_delay > 0 ? stop_delay : 0);
    dies += obeys ? polite : grace > 0 ? grace : 0;
    if (dies >= life->dies_at)
        return;
    life->dies_at = dies;
    life->signal = obeys ? SIGTERM : SIGKILL;
    log_stop(life->v, life);
}

static void virtual_stop(struct tf_engine *engine, uint64_t owner, const struct tf_instance_id *id,
                         int64_t stop_delay, int64_t grace)
{
    struct virtual *v = of(engine);
    if (!begin(v, owner))
        return;
    struct life *life = life_find(v, id);
    if (!life) {
        life_exit(life_add(v, id), TF_CAUSE_NEVER_STARTED, -1, 0);
    } else if (life->state == TF_INSTANCE_EXITED) {
        life_tell(life);
    } else {
        stop(life, stop_delay, grace);
        life_look(life);
    }
    log_end(v);
}

static void virtual_forget(struct tf_engine *engine, uint64_t owner, struct tf_uid uid, uint64_t epoch)
{
    struct virtual *v = of(engine);
    if (!begin(v, owner))
        return;
    struct epoch *e = life_epoch_find(v, uid, epoch);
    struct life *life, *next;
    if (e)
        log_forget(v, e);
    DL_FOREACH_SAFE(e ? e->lives : NULL, life, next)
    {
        const struct tf_instance_id id = life->id;
        if (life->state != TF_INSTANCE_EXITED) {
            refuse(v, &id, TF_REFUSED_RUNNING, "it has not ended");
            continue;
        }
        life_remove(life);
        tell_gone(v, &id);
    }
    if (e && !e->lives)
        life_epoch_remove(v, e);
    log_end(v);
}

/* Nobody reads it: nothing runs. */
static void virtual_peers(struct tf_engine *engine, uint64_t owner, struct tf_uid uid, uint64_t epoch,
                          const void *bytes, size_t len)
{
    struct virtual *v = of(engine);
    if (!begin(v, owner))
        return;
    life_peers(v, uid, epoch, bytes, len);
    log_end(v);
}

static void virtual_fence(struct tf_engine *engine, uint64_t owner, struct tf_uid uid, uint64_t epoch,
                          int64_t deadline)
{
    struct virtual *v = of(engine);
    if (!begin(v, owner))
        return;
    struct epoch *e = life_epoch_get(v, uid, epoch);
    struct life *life, *next;
    e->fence = deadline ? deadline : INT64_MAX;
    log_fence(v, e);
    DL_FOREACH_SAFE(e->lives, life, next)
    {
        life_look(life);
    }
    log_end(v);
}

/* ---- life ---- */

static void virtual_free(struct virtual *v)
{
    struct outlet *outlet = v->outlet;
    lives_clear(v);
    places_release(v);
    log_close(v);
    tf_virtual_config_release(&v->config);
    free(v);
    if (outlet)
        outlet_close(outlet);
}

static void virtual_destroy(struct tf_engine *engine)
{
    if (engine)
        virtual_free(of(engine));
}

void tf_virtual_config_init(struct tf_virtual_config *config)
{
    *config = (struct tf_virtual_config){
        .seed = 1,
        .start_min = TF_SECOND,
        .start_max = 3 * TF_SECOND,
        .stop_min = 100,
        .stop_max = TF_SECOND,
        .foreign_stay = 10 * TF_MINUTE,
    };
}

void tf_virtual_config_release(struct tf_virtual_config *config)
{
    free(config->state_dir);
    tf_vec_each (node, &config->nodes)
        tf_node_release(node);
    tf_vec_release(&config->nodes);
    *config = (struct tf_virtual_config){0};
}

static void config_copy(struct tf_virtual_config *to, const struct tf_virtual_config *from)
{
    *to = *from;
    to->state_dir = tf_strdup(from->state_dir);
    to->nodes.items = NULL;
    to->nodes.count = to->nodes.cap = 0;
    tf_vec_each (node, &from->nodes)
        tf_node_copy(tf_vec_add(&to->nodes), node);
}

static int check_config(const struct tf_virtual_config *c, struct tf_error *err)
{
    if (!c->state_dir || c->state_dir[0] != '/')
        return tf_error_set(err, TF_ERR_INVALID, "the engine's stateDir must be an absolute path");
    if (c->start_min < 0 || c->start_max < c->start_min || c->stop_min < 0 || c->stop_max < c->stop_min ||
        c->run < 0)
        return tf_error_set(err, TF_ERR_INVALID,
                            "the virtual engine's times cannot be negative, nor the least above the most");
    if (c->fail < 0 || c->fail > WHOLE || c->foreign < 0 || c->foreign > WHOLE || c->foreign_stay < 1)
        return tf_error_set(
            err, TF_ERR_INVALID,
            "shares of failures and of foreign use are from 0 to 100 %%, and who comes stays");
    tf_vec_each (node, &c->nodes)
        if (engine_check_node(node, err))
            return -1;
    return 0;
}

static const struct tf_engine calls = {
    .name = "virtual",
    .caps = {.names_gpus = true, .fences = true},
    .destroy = virtual_destroy,
    .initialise = virtual_initialise,
    .adopt = virtual_adopt,
    .start = virtual_start,
    .stop = virtual_stop,
    .forget = virtual_forget,
    .peers = virtual_peers,
    .fence = virtual_fence,
};

struct tf_engine *tf_virtual_engine_create(const struct tf_virtual_config *config, struct tf_loop *loop,
                                           tf_engine_event_f event, void *context, struct tf_error *err)
{
    if (check_config(config, err))
        return NULL;
    struct virtual *v = tf_calloc(1, sizeof *v);
    v->engine = calls;
    v->loop = loop;
    v->root = v->lock = v->log = v->inotify = -1;
    config_copy(&v->config, config);
    if (places_init(v, err)) {
        virtual_free(v);
        return NULL;
    }
    v->outlet = outlet_create(loop, event, context);
    return &v->engine;
}
