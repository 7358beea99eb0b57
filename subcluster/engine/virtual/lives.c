/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the invented instances: their fate is drawn when they start, and comes about by timers. Where nodes
 * are is places.c's; that it is remembered, log.c's. */
#include "subcluster/engine/virtual/private.h"

#include "common/base/quantity.h"
#include "common/base/text.h"
#include "subcluster/engine/state/proc.h"

#include <signal.h>
#include <utlist.h>

enum {
    EARLY = TF_MINUTE, /* by when an attempt fails that else would run for ever */
    PORT_LOW = 20000,
    PORT_COUNT = 10000,
};

/* ---- the tables ---- */

struct life *life_find(const struct virtual *v, const struct tf_instance_id *id)
{
    struct life *found = NULL;
    HASH_FIND(hh, v->lives, id, sizeof *id, found);
    return found;
}

struct epoch *life_epoch_find(const struct virtual *v, struct tf_uid uid, uint64_t epoch)
{
    const struct epoch_key key = {uid, epoch};
    struct epoch *found = NULL;
    HASH_FIND(hh, v->epochs, &key, sizeof key, found);
    return found;
}

struct epoch *life_epoch_get(struct virtual *v, struct tf_uid uid, uint64_t epoch)
{
    struct epoch *e = life_epoch_find(v, uid, epoch);
    if (e)
        return e;
    e = tf_calloc(1, sizeof *e);
    e->key = (struct epoch_key){uid, epoch};
    e->fence = INT64_MAX;
    HASH_ADD(hh, v->epochs, key, sizeof e->key, e);
    return e;
}

void life_epoch_remove(struct virtual *v, struct epoch *epoch)
{
    HASH_DELETE(hh, v->epochs, epoch);
    free(epoch);
}

struct life *life_add(struct virtual *v, const struct tf_instance_id *id)
{
    struct life *life = tf_calloc(1, sizeof *life);
    life->id = *id;
    life->v = v;
    life->state = TF_INSTANCE_STARTING;
    life->ready_at = life->ends_at = life->dies_at = INT64_MAX;
    life->epoch = life_epoch_get(v, id->uid, id->epoch);
    DL_APPEND(life->epoch->lives, life);
    HASH_ADD(hh, v->lives, id, sizeof life->id, life);
    return life;
}

void life_remove(struct life *life)
{
    struct virtual *v = life->v;
    life_leave(life);
    tf_timer_cancel(v->loop, &life->timer);
    DL_DELETE(life->epoch->lives, life);
    HASH_DELETE(hh, v->lives, life);
    free(life->tenant);
    free(life->name);
    free(life->node_name);
    free(life->resize_signal);
    free(life->ports);
    free(life);
}

void lives_clear(struct virtual *v)
{
    struct life *life = NULL, *next = NULL;
    struct epoch *epoch = NULL, *after = NULL;
    HASH_ITER (hh, v->lives, life, next)
        life_remove(life);
    HASH_ITER (hh, v->epochs, epoch, after)
        life_epoch_remove(v, epoch);
}

void life_settle(struct life *life, const char *node, uint64_t gpus)
{
    tf_str_set(&life->node_name, node);
    life->gpus = gpus;
    life->place = place_find(life->v, node);
    if (!life->place)
        return;
    DL_APPEND2(life->place->lives, life, place_previous, place_next);
    life->place->held |= gpus;
}

void life_leave(struct life *life)
{
    if (!life->place)
        return;
    DL_DELETE2(life->place->lives, life, place_previous, place_next);
    life->place->held &= ~life->gpus;
    life->place = NULL;
}

/* ---- fate ---- */

/* FNV-1a. */
static uint64_t hash_of(const void *bytes, size_t len)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ ((const uint8_t *)bytes)[i]) * UINT64_C(1099511628211);
    return hash;
}

/* By its id: the same instance draws the same numbers, whenever and wherever it starts. */
static void draw_from(struct tf_rng *rng, const struct life *life, uint64_t what)
{
    tf_rng_init(rng, hash_of(&life->id, sizeof life->id) ^ life->v->config.seed ^ what << 56);
}

/* "sleep N": what most who only wait for time to pass write. */
static bool sleeps(const struct tf_engine_spec *spec, int64_t *ms)
{
    int64_t seconds;
    if (spec->command.count != 2 || !tf_str_eq(spec->command.items[0], "sleep") ||
        tf_parse_int64(spec->command.items[1], 0, INT32_MAX, &seconds, NULL))
        return false;
    *ms = seconds * TF_SECOND;
    return true;
}

/* How long it runs, by its own word; else by the configuration's. */
static int64_t run_of(const struct virtual *v, const struct tf_engine_spec *spec)
{
    const char *text = tf_pairs_get(&spec->env, "VIRTUAL_RUN");
    int64_t ms;
    if ((text && tf_duration_parse(text, &ms, NULL) == 0) || sleeps(spec, &ms))
        return ms;
    return v->config.run ? v->config.run : INT64_MAX;
}

static int32_t code_of(const struct tf_engine_spec *spec)
{
    const char *text = tf_pairs_get(&spec->env, "VIRTUAL_EXIT");
    int64_t code;
    return text && tf_parse_int64(text, 0, 255, &code, NULL) == 0 ? (int32_t)code : 0;
}

static void give_ports(struct life *life, const struct tf_engine_spec *spec, struct tf_rng *rng)
{
    uint64_t first = tf_rng_below(rng, PORT_COUNT);
    life->port_count = spec->ports.count;
    life->ports = tf_calloc(life->port_count + 1, sizeof *life->ports);
    for (size_t i = 0; i < life->port_count; i++) {
        snprintf(life->ports[i].name, sizeof life->ports[i].name, "%s", spec->ports.items[i]);
        life->ports[i].port = (uint16_t)(PORT_LOW + (first + i) % PORT_COUNT);
    }
}

void life_begin(struct life *life, const struct tf_engine_spec *spec)
{
    const struct tf_virtual_config *config = &life->v->config;
    struct tf_rng rng;
    draw_from(&rng, life, 1);
    tf_str_set(&life->tenant, spec->tenant);
    tf_str_set(&life->name, spec->name);
    tf_str_set(&life->resize_signal, spec->resize_signal);
    life_settle(life, spec->node, spec->gpus);
    give_ports(life, spec, &rng);
    int64_t run = run_of(life->v, spec);
    life->code = code_of(spec);
    life->at = tf_wall_read();
    life->ready_at = tf_boottime_ms() + tf_rng_range(&rng, config->start_min, config->start_max);
    if ((int64_t)tf_rng_below(&rng, 10000) < config->fail) {
        life->code = 1;
        run = tf_rng_range(&rng, 0, run == INT64_MAX ? EARLY : run);
    }
    life->ends_at = run == INT64_MAX ? INT64_MAX : life->ready_at + run;
}

/* ---- peers ---- */

/* One that starts has not yet said what it does at the signal, and reads the file when it has. */
static void signal_life(struct life *life)
{
    if (!life->resize_signal || life->state != TF_INSTANCE_READY)
        return;
    life->resize_signals++;
    log_signals(life->v, life);
}

/* The file itself is kept nowhere, since nobody reads it. The same one again, as after a restart of the
 * daemon, is no resize, and neither is the first one, with which they start. */
void life_peers(struct virtual *v, struct tf_uid uid, uint64_t number, const void *bytes, size_t len)
{
    struct epoch *epoch = life_epoch_get(v, uid, number);
    uint64_t hash = hash_of(bytes, len), before = epoch->peers;
    struct life *life;
    if (hash == before)
        return;
    epoch->peers = hash;
    log_peers(v, epoch);
    if (before)
        DL_FOREACH(epoch->lives, life)
    signal_life(life);
}

/* ---- what happens ---- */

void life_tell(const struct life *life)
{
    bool exited = life->state == TF_INSTANCE_EXITED;
    const struct tf_engine_event event = {.type = TF_ENGINE_INSTANCE,
                                          .id = life->id,
                                          .state = life->state,
                                          .cause = life->cause,
                                          .exit_code = exited ? life->exit_code : -1,
                                          .exit_signal = life->exit_signal,
                                          .at = life->at,
                                          .ports = life->ports,
                                          .port_count = life->port_count,
                                          .tenant = life->tenant,
                                          .name = life->name,
                                          .node_name = life->node_name,
                                          .gpus = life->gpus,
                                          .text = ""};
    virtual_tell(life->v, &event);
}

void life_exit(struct life *life, enum tf_engine_cause cause, int32_t code, int32_t signal)
{
    life_leave(life);
    tf_timer_cancel(life->v->loop, &life->timer);
    life->state = TF_INSTANCE_EXITED;
    life->cause = cause;
    life->exit_code = code;
    life->exit_signal = signal;
    life->at = tf_wall_read();
    log_exit(life->v, life);
    life_tell(life);
}

static void on_timer(struct tf_timer *timer)
{
    struct life *life = TF_CONTAINER_OF(timer, struct life, timer);
    struct virtual *v = life->v;
    if (!log_begin(v))
        return;
    life_look(life);
    log_end(v);
}

static int64_t earliest(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

void life_look(struct life *life)
{
    int64_t now = tf_boottime_ms(), fence = life->epoch->fence;
    int64_t end = earliest(life->ends_at, earliest(life->dies_at, fence));
    if (life->state == TF_INSTANCE_EXITED || (life->place && life->place->away))
        return; /* looked at when the node is back */
    if (life->state == TF_INSTANCE_STARTING && life->ready_at <= earliest(now, end)) {
        life->state = TF_INSTANCE_READY;
        life_tell(life);
    }
    if (end <= now && end == life->ends_at)
        life_exit(life, TF_CAUSE_ENDED, life->code, 0);
    else if (end <= now && end == life->dies_at)
        life_exit(life, TF_CAUSE_STOPPED, -1, life->signal);
    else if (end <= now)
        life_exit(life, TF_CAUSE_FENCED, -1, SIGTERM);
    else {
        int64_t next = life->state == TF_INSTANCE_STARTING ? earliest(life->ready_at, end) : end;
        tf_timer_start(life->v->loop, &life->timer, (struct tf_mono){next}, on_timer);
    }
}
