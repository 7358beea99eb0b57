/* SPDX-License-Identifier: Apache-2.0 */
/* Joins a guard in virtual time with a core, as common/keep does in a daemon; and ends it at any moment. What
 * the core does is fedd.c's and subd.c's. */
#include "tools/fedsim/process.h"

#include "common/wire/records.h"
#include "tools/fedsim/world.h"

#include <assert.h>

enum { RETRY_MS = 1000, RECORDED_FILES = 1000 };

void process_init(struct sim_process *process, struct sim_world *world, const struct sim_process_ops *ops)
{
    process->world = world;
    process->ops = ops;
}

static void out_clear(struct sim_process *process)
{
    tf_vec_each (e, &process->out) {
        tf_buf_release(&e->key);
        tf_buf_release(&e->value);
        tf_record_release(&e->record);
    }
    process->out.count = 0;
    process->committing = false;
}

static void destroy_guard(struct sim_process *process)
{
    if (process->guard)
        sim_situations_count(&process->world->reached,
                             TF_SITUATIONS_OF(tf_guard, tf_guard_reached(process->guard)));
    tf_guard_destroy(process->guard);
    tf_store_destroy(process->client);
    process->guard = NULL;
    process->client = NULL;
}

void process_release(struct sim_process *process)
{
    if (process->has_core)
        process->ops->dropped(process);
    tf_recorder_destroy(process->recorder);
    destroy_guard(process);
    out_clear(process);
    tf_vec_release(&process->out);
}

/* ---- its clocks ---- */

enum { MILLION = 1000000 };

static struct tf_mono its_time(const struct sim_process *process, struct tf_mono world)
{
    return (struct tf_mono){world.ms + world.ms * process->drift_ppm / MILLION};
}

/* When its clock has come so far. */
static struct tf_mono world_time(const struct sim_process *process, struct tf_mono its)
{
    if (its.ms == TF_NEVER.ms || process->drift_ppm == 0)
        return its;
    struct tf_mono world = {its.ms * MILLION / (MILLION + process->drift_ppm)};
    while (its_time(process, world).ms < its.ms)
        world.ms++;
    return world;
}

struct tf_now process_now(const struct sim_process *process)
{
    struct tf_mono mono = its_time(process, process->world->agenda.now);
    return (struct tf_now){mono, {SIM_EPOCH_MS + mono.ms + process->skew_ms}};
}

void process_wall_jumps(struct sim_process *process, int64_t ms)
{
    process->skew_ms += ms;
    world_say(process->world, process->name, "its wall clock jumps by %lld ms", (long long)ms);
    audit_clock_error(process->world->audit, ms < 0 ? -ms : ms);
}

bool process_is_paused(const struct sim_process *process)
{
    return process->paused_until.ms > process->world->agenda.now.ms;
}

/* ---- the core's life ---- */

static void drop_core(struct sim_process *process)
{
    out_clear(process);
    process->life++;
    process->core_wakes++;
    process->retries++;
    if (process->has_core)
        process->ops->dropped(process);
    process->has_core = process->loaded = false;
}

static void on_row(void *cookie, const struct tf_store_row *row)
{
    struct sim_process *process = cookie;
    size_t prefix = strlen(process->store->prefix);
    struct tf_bytes key = {(const char *)row->key.data + prefix, row->key.len - prefix};
    struct tf_record record = {0};
    struct tf_error err = TF_ERROR_INIT;
    if (!process->up)
        return;
    if (tf_wire_record_unpack(key.data, key.len, row->value.data, row->value.len, &record, &err))
        world_breach(process->world, "a stored record cannot be read back: %s", err.text);
    else
        process->ops->record(process, &record);
}

static void start_load(struct sim_process *process);

static void retry_load(void *arg, uint64_t tag)
{
    struct sim_process *process = arg;
    if (tag == process->retries)
        start_load(process);
}

static void on_loaded(void *cookie, const struct tf_error *error, int64_t revision)
{
    struct sim_process *process = cookie;
    (void)revision;
    if (!process->up || error->code == TF_ERR_CONFLICT)
        return; /* TF_GUARD_DEPOSED follows */
    if (error->code != TF_OK) {
        sim_agenda_in(&process->world->agenda, RETRY_MS, retry_load, process, ++process->retries);
        return;
    }
    process->loaded = true;
    process->ops->loaded(process);
}

static void start_load(struct sim_process *process)
{
    struct tf_error err = TF_ERROR_INIT;
    drop_core(process);
    if (!tf_guard_held(process->guard))
        return;
    struct tf_term term = {tf_guard_era(process->guard), (uint64_t)tf_guard_revision(process->guard)};
    process->has_core = true;
    process->ops->held(process, term);
    if (process->up && tf_guard_load(process->guard, on_row, on_loaded, process, &err))
        world_breach(process->world, "the records could not be asked for: %s", err.text);
}

static void on_guard(void *ctx, const struct tf_guard_event *event)
{
    struct sim_process *process = ctx;
    if (!process->up)
        return;
    switch (event->kind) {
    case TF_GUARD_HELD:
        world_say(process->world, process->name, "holds the prefix, term %llu.%lld",
                  (unsigned long long)tf_guard_era(process->guard),
                  (long long)tf_guard_revision(process->guard));
        start_load(process);
        break;
    case TF_GUARD_DEPOSED:
        world_say(process->world, process->name, "is deposed: %s", event->error.text);
        if (tf_guard_reached(process->guard)->COMMIT_FOREIGN_HEAD && process->store->restores == 0)
            world_breach(process->world, "§7: one who does not hold the prefix has written under it");
        drop_core(process);
        tf_guard_acquire(process->guard);
        break;
    case TF_GUARD_RELEASED:
        tf_guard_acquire(process->guard);
        break;
    case TF_GUARD_STANDBY:
        break;
    }
}

/* ---- the guard's host ---- */

static struct tf_mono host_now(void *ctx)
{
    const struct sim_process *process = ctx;
    return process_now(process).mono;
}

static void guard_wakes(void *arg, uint64_t tag)
{
    struct sim_process *process = arg;
    if (tag != process->guard_wakes || !process->up)
        return;
    if (process_is_paused(process))
        sim_agenda_at(&process->world->agenda, process->paused_until, guard_wakes, process, tag);
    else
        tf_guard_wake(process->guard);
}

static void host_wake(void *ctx, struct tf_mono at)
{
    struct sim_process *process = ctx;
    sim_agenda_at(&process->world->agenda, world_time(process, at), guard_wakes, process,
                  ++process->guard_wakes);
}

/* ---- life ---- */

void process_start(struct sim_process *process)
{
    assert(!process->up && !process->guard);
    process->up = true;
    process->starts++;
    process->life++;
    process->paused_until = (struct tf_mono){0};
    process->client = tf_memory_store_client(process->store->server);
    const struct tf_guard_options options = {
        .store = process->client,
        .prefix = process->store->prefix,
        .owner_name = process->owner_name,
        .owner_value = tf_bytes_of(process->name),
        .ttl_ms = process->ttl_ms,
        .seed = tf_rng_next(&process->world->rng),
        .accept_rollback = process->accept_rollback,
        .host = {.now = host_now, .wake = host_wake, .ctx = process},
        .event = on_guard,
        .event_ctx = process,
    };
    process->guard = tf_guard_create(&options);
    world_say(process->world, process->name, "starts%s",
              process->accept_rollback ? " with --accept-rollback" : "");
    tf_guard_acquire(process->guard);
}

/* Guards may not be destroyed inside their callbacks, so that is done as the next thing. */
static void bury(void *arg, uint64_t tag)
{
    struct sim_process *process = arg;
    (void)tag;
    if (!process->up)
        destroy_guard(process);
}

void process_crash(struct sim_process *process, const char *why)
{
    if (!process->up)
        return;
    world_say(process->world, process->name, "crashes: %s", why);
    process->up = process->crash_armed = false;
    process->guard_wakes++;
    drop_core(process);
    sim_agenda_in(&process->world->agenda, 0, bury, process, 0);
}

void process_hand_over(struct sim_process *process)
{
    if (!process->up || process_is_paused(process) || !tf_guard_held(process->guard))
        return;
    world_say(process->world, process->name, "hands over");
    process->leaves = true;
    drop_core(process);
    process->leaves = false;
    tf_guard_release(process->guard);
}

static void resumes(void *arg, uint64_t tag)
{
    struct sim_process *process = arg;
    if (process->up && tag == process->life && !process_is_paused(process))
        tf_memory_client_cut(process->client, false);
}

void process_pause(struct sim_process *process, int64_t ms)
{
    if (!process->up)
        return;
    world_say(process->world, process->name, "is stopped for %lld ms", (long long)ms);
    struct tf_mono until = {process->world->agenda.now.ms + ms};
    if (until.ms > process->paused_until.ms)
        process->paused_until = until;
    tf_memory_client_cut(process->client, true);
    sim_agenda_at(&process->world->agenda, process->paused_until, resumes, process, process->life);
}

/* ---- committing ---- */

static void send(struct sim_process *process);

static void show_commit(struct sim_process *process, enum sim_commit moment)
{
    const struct sim_world *world = process->world;
    if (world->commit)
        world->commit(world->commit_arg, process, moment);
}

static void retry_commit(void *arg, uint64_t tag)
{
    struct sim_process *process = arg;
    if (tag == process->retries)
        send(process);
}

static void on_committed(void *cookie, const struct tf_error *error)
{
    struct sim_process *process = cookie;
    if (!process->up || error->code == TF_ERR_CONFLICT)
        return;
    if (error->code == TF_ERR_REFUSED || error->code == TF_ERR_UNAVAILABLE) {
        sim_agenda_in(&process->world->agenda, RETRY_MS, retry_commit, process, ++process->retries);
        return;
    }
    if (error->code != TF_OK) {
        world_breach(process->world, "the store will never take a transaction: %s", error->text);
        return;
    }
    store_look(process->world, process->store);
    out_clear(process);
    operator_is_accepted(process);
    uint64_t life = process->life;
    process->ops->committed(process);
    if (process->life == life)
        show_commit(process, SIM_COMMIT_DONE);
}

static void send(struct sim_process *process)
{
    if (!tf_guard_held(process->guard))
        return;
    process->store->writer = process;
    struct tf_store_write *writes = tf_calloc(process->out.count + 1, sizeof *writes);
    for (size_t i = 0; i < process->out.count; i++) {
        const struct sim_encoded *e = &process->out.items[i];
        writes[i].key = (struct tf_bytes){e->key.data, e->key.len};
        writes[i].value = (struct tf_bytes){e->value.data, e->value.len};
        writes[i].remove = e->gone;
    }
    struct tf_error err = TF_ERROR_INIT;
    if (tf_guard_commit(process->guard, writes, process->out.count, on_committed, process, &err))
        world_breach(process->world, "a transaction breaks the store's limits: %s", err.text);
    free(writes);
}

static void encode(struct sim_process *process, struct tf_record *record)
{
    struct sim_encoded *e = tf_vec_add(&process->out);
    struct tf_error err = TF_ERROR_INIT;
    tf_buf_str(&e->key, process->store->prefix);
    e->gone = record->gone;
    int failed = tf_wire_record_key(record, &e->key, &err);
    if (!failed && !record->gone)
        failed = tf_wire_record_pack(record, &e->value, &err);
    if (failed)
        world_breach(process->world, "a record of kind %d cannot be written: %s", (int)record->kind,
                     err.text);
    e->record = *record;
    *record = (struct tf_record){0};
}

struct tf_record *process_written(struct sim_process *process, struct tf_bytes key, struct tf_bytes value)
{
    tf_vec_each (e, &process->out)
        if (!e->gone && !e->given && tf_bytes_eq((struct tf_bytes){e->key.data, e->key.len}, key) &&
            tf_bytes_eq((struct tf_bytes){e->value.data, e->value.len}, value)) {
            e->given = true;
            return &e->record;
        }
    return NULL;
}

void process_commit(struct sim_process *process, struct tf_record *records, size_t count)
{
    assert(!process->committing && process->loaded);
    process->committing = true;
    for (size_t i = 0; i < count; i++)
        encode(process, &records[i]);
    free(records);
    show_commit(process, SIM_COMMIT_SENT);
    if (process->committing)
        send(process);
}

/* ---- the core's wishes ---- */

static void timer(void *arg, uint64_t tag)
{
    struct sim_process *process = arg;
    if (tag != process->core_wakes || !process->has_core)
        return;
    if (process_is_paused(process))
        sim_agenda_at(&process->world->agenda, process->paused_until, timer, process, tag);
    else
        process->ops->timer(process);
}

void process_wake_at(struct sim_process *process, struct tf_mono at)
{
    sim_agenda_at(&process->world->agenda, world_time(process, at), timer, process, ++process->core_wakes);
}

static void continues(void *arg, uint64_t tag)
{
    struct sim_process *process = arg;
    if (tag != process->life || !process->has_core)
        return;
    if (process_is_paused(process))
        sim_agenda_at(&process->world->agenda, process->paused_until, continues, process, tag);
    else
        process->ops->continues(process);
}

void process_continue(struct sim_process *process)
{
    sim_agenda_in(&process->world->agenda, 0, continues, process, process->life);
}

size_t process_crash_point(struct sim_process *process, size_t actions)
{
    if (!process->crash_armed)
        return SIZE_MAX;
    if (process->crash_steps > 0) {
        process->crash_steps--;
        return SIZE_MAX;
    }
    size_t before = (size_t)process->crash_before;
    if (process->crash_before >= 0)
        return before < actions ? before : actions;
    return (size_t)tf_rng_below(&process->world->rng, actions + 1);
}

/* Names of daemons are paths to people. */
void process_record(struct sim_process *process, const struct tf_core_ops *ops)
{
    char name[sizeof process->name];
    struct tf_error err = TF_ERROR_INIT;
    const struct tf_eventlog_config config = {
        .folder = (char *)(uintptr_t)process->world->record, .max_mib = 0, .files = RECORDED_FILES};
    snprintf(name, sizeof name, "%s", process->name);
    for (char *slash; (slash = strchr(name, '/'));)
        *slash = '.';
    if (tf_recorder_create(&config, ops, name, &process->recorder, &err))
        world_breach(process->world, "%s cannot record: %s", process->name, err.text);
}
