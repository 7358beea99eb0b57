/* SPDX-License-Identifier: Apache-2.0 */
/* The engine: what the core wants of it, in its words, and what it tells, in the core's. Remembers which
 * instances it told of, since the core forgets epochs and the engine instances. */
#include "subcluster/daemon/private.h"

#include "common/base/cleanup.h"
#include "common/base/hash.h"
#include "common/base/text.h"
#include "subcluster/engine/process.h"
#include "subcluster/engine/virtual/virtual.h"

#include <assert.h>
#include <inttypes.h>

enum {
    LOOK_AGAIN_MS = 200,             /* whether the lease was renewed */
    ADOPT_AGAIN_MS = 10 * TF_SECOND, /* an engine without its memory is asked again */
    KEEP_OUTPUT_MAX = 1000,          /* epochs; beyond, the oldest goes at once */
};

struct known_instance {
    uint32_t index, attempt;
    bool ended;
};

struct epoch_key {
    struct tf_uid uid;
    uint64_t epoch;
};

/* Of one epoch, as far as the engine told. */
struct known {
    struct epoch_key key;
    TF_VEC(struct known_instance) instances;
    bool forget; /* as soon as each has ended */
    UT_hash_handle hh;
};

struct forget {
    struct epoch_key key;
    struct tf_mono due;
};

struct running {
    struct subd *subd;
    struct tf_engine *engine;
    uint64_t owner;
    bool listed;
    struct known *known;
    TF_VEC(struct sub_start) late; /* starts that wait until it is sure that the prefix is ours */
    struct tf_timer late_timer;
    TF_VEC(struct forget) forgets; /* by due; from next_forget on */
    size_t next_forget;
    struct tf_timer forget_timer, adopt_timer;
};

/* ---- what the engine knows ---- */

static struct known *find(const struct running *r, struct tf_uid uid, uint64_t epoch)
{
    const struct epoch_key key = {uid, epoch};
    struct known *known = NULL;
    HASH_FIND(hh, r->known, &key, sizeof key, known);
    return known;
}

static struct known_instance *find_instance(struct known *known, uint32_t index, uint32_t attempt)
{
    tf_vec_each (i, &known->instances)
        if (i->index == index && i->attempt == attempt)
            return i;
    return NULL;
}

static void remember(struct running *r, const struct tf_instance_id *id, bool ended)
{
    struct known *known = find(r, id->uid, id->epoch);
    if (!known) {
        known = tf_calloc(1, sizeof *known);
        known->key = (struct epoch_key){id->uid, id->epoch};
        HASH_ADD(hh, r->known, key, sizeof known->key, known);
    }
    struct known_instance *i = find_instance(known, id->index, id->attempt);
    if (!i) {
        i = tf_vec_add(&known->instances);
        i->index = id->index;
        i->attempt = id->attempt;
    }
    i->ended = ended;
}

static void known_free(struct running *r, struct known *known)
{
    HASH_DEL(r->known, known);
    tf_vec_release(&known->instances);
    free(known);
}

static void forgotten(struct running *r, const struct tf_instance_id *id)
{
    struct known *known = find(r, id->uid, id->epoch);
    struct known_instance *i = known ? find_instance(known, id->index, id->attempt) : NULL;
    if (!i)
        return;
    tf_vec_remove(&known->instances, (size_t)(i - known->instances.items));
    if (!known->instances.count)
        known_free(r, known);
}

bool subd_running_find(const struct subd *subd, struct tf_uid uid, uint64_t epoch, uint32_t index,
                       uint32_t attempt, struct tf_instance_id *id)
{
    const struct running *r = subd->running;
    bool found = false;
    struct known *known = NULL, *next = NULL;
    *id = (struct tf_instance_id){.uid = uid, .index = index};
    if (!r)
        return false;
    HASH_ITER (hh, r->known, known, next) {
        bool wanted = tf_uid_eq(known->key.uid, uid) && (!epoch || known->key.epoch == epoch);
        if (!wanted || known->key.epoch < id->epoch)
            continue;
        tf_vec_each (i, &known->instances) {
            if (i->index != index || (attempt && i->attempt != attempt) ||
                (known->key.epoch == id->epoch && i->attempt < id->attempt))
                continue;
            id->epoch = known->key.epoch;
            id->attempt = i->attempt;
            found = true;
        }
    }
    return found;
}

/* ---- forgetting ---- */

/* Tells the engine to drop what it keeps of the epoch; what still runs is waited for. */
static void forget_epoch(struct running *r, struct epoch_key key)
{
    struct known *known = find(r, key.uid, key.epoch);
    if (known) {
        known->forget = true;
        tf_vec_each (i, &known->instances)
            if (!i->ended)
                return;
    }
    r->engine->forget(r->engine, r->owner, key.uid, key.epoch);
}

static void on_forget(struct tf_timer *timer);

static void look_at_forgets(struct running *r)
{
    struct tf_mono now = tf_loop_now(r->subd->loop).mono;
    while (r->next_forget < r->forgets.count) {
        struct forget f = r->forgets.items[r->next_forget];
        if (f.due.ms > now.ms && r->forgets.count - r->next_forget <= KEEP_OUTPUT_MAX) {
            tf_timer_start(r->subd->loop, &r->forget_timer, f.due, on_forget);
            return;
        }
        r->next_forget++;
        forget_epoch(r, f.key);
    }
    r->forgets.count = r->next_forget = 0;
}

static void on_forget(struct tf_timer *timer)
{
    look_at_forgets(TF_CONTAINER_OF(timer, struct running, forget_timer));
}

static void forget_later(struct running *r, struct tf_uid uid, uint64_t epoch)
{
    int64_t wait = r->subd->config.keep_output;
    if (r->next_forget > KEEP_OUTPUT_MAX) { /* the front is used up: move the rest there */
        size_t left = r->forgets.count - r->next_forget;
        memmove(r->forgets.items, r->forgets.items + r->next_forget, left * sizeof *r->forgets.items);
        r->forgets.count = left;
        r->next_forget = 0;
    }
    struct tf_mono due = {tf_loop_now(r->subd->loop).mono.ms + wait};
    tf_vec_push(&r->forgets, (struct forget){{uid, epoch}, due});
    look_at_forgets(r);
}

/* ---- what the engine tells ---- */

static void add_ports(struct tf_strs *out, const struct tf_engine_event *e)
{
    for (size_t i = 0; i < e->port_count; i++) {
        TF_AUTO_FREE char *text = tf_asprintf("%s=%u", e->ports[i].name, (unsigned)e->ports[i].port);
        tf_strs_add(out, text);
    }
}

static int32_t exit_code(const struct tf_engine_event *e)
{
    if (e->exit_signal > 0)
        return 128 + e->exit_signal;
    return e->exit_code >= 0 ? e->exit_code : 1;
}

static void set_text(char **to, const char *from)
{
    tf_str_set(to, from && *from ? from : NULL);
    if (*to)
        tf_utf8_clean(*to);
}

/* How an end is judged: a failure costs the job a retry, a loss does not (DESIGN.md §1). */
static void tell_exit(struct sub_instance_event *out, const struct tf_engine_event *e)
{
    out->state = SUB_INSTANCE_EXITED;
    out->exit_code = exit_code(e);
    switch (e->cause) {
    case TF_CAUSE_NONE:
    case TF_CAUSE_ENDED:
        set_text(&out->output, e->text);
        break;
    case TF_CAUSE_CANNOT_START:
        set_text(&out->text, "its command could not be started");
        set_text(&out->output, e->text);
        break;
    case TF_CAUSE_NOT_READY: /* it was asked to end, and may have done so with 0 */
        out->exit_code = out->exit_code ? out->exit_code : 1;
        set_text(&out->text, "its readiness probe did not succeed in time");
        set_text(&out->output, e->text);
        break;
    case TF_CAUSE_STOPPED:
        out->stopped = true;
        break;
    case TF_CAUSE_FENCED:
        out->stopped = true;
        set_text(&out->text, "its fence deadline passed");
        break;
    case TF_CAUSE_NEVER_STARTED:
        out->state = SUB_INSTANCE_ABSENT;
        break;
    case TF_CAUSE_NODE_LOST:
        out->state = SUB_INSTANCE_LOST;
        set_text(&out->text, "its node is lost");
        break;
    case TF_CAUSE_SHIM_DIED:
        out->state = SUB_INSTANCE_LOST;
        set_text(&out->text, "the process that watched over it was killed");
        break;
    case TF_CAUSE_REBOOTED:
        out->state = SUB_INSTANCE_LOST;
        set_text(&out->text, "the machine was restarted");
        break;
    }
}

static bool tell_refusal(struct sub_instance_event *out, const struct tf_engine_event *e)
{
    switch (e->refusal) {
    case TF_REFUSED_NONE:
        return false;
    case TF_REFUSED_RUNNING:
        tf_log_warn("the engine keeps the record of an instance that has not ended error=%s", e->text);
        return false;
    case TF_REFUSED_NODE:
    case TF_REFUSED_POLICY:
    case TF_REFUSED_RESOURCES:
        break;
    }
    out->state = SUB_INSTANCE_REFUSED;
    set_text(&out->text, e->text);
    return true;
}

static const char *id_text(const struct tf_instance_id *id, char text[96])
{
    char uid[TF_UID_TEXT];
    tf_uid_format(id->uid, uid);
    snprintf(text, 96, "%s/%" PRIu64 "/%u.%u", uid, id->epoch, id->index, id->attempt);
    return text;
}

/* False: nothing for the core. */
static bool tell_state(struct running *r, struct sub_instance_event *out, const struct tf_engine_event *e)
{
    char text[96];
    switch (e->state) {
    case TF_INSTANCE_STARTING:
    case TF_INSTANCE_RUNNING:
        out->state = SUB_INSTANCE_STARTING;
        break;
    case TF_INSTANCE_READY:
        out->state = SUB_INSTANCE_READY;
        break;
    case TF_INSTANCE_EXITED:
        tell_exit(out, e);
        break;
    case TF_INSTANCE_REFUSED:
        return tell_refusal(out, e);
    case TF_INSTANCE_STUCK:
        tf_log_error("an instance does not die: its GPUs cannot be used until it does instance=%s node=%s",
                     id_text(&e->id, text), e->node_name ? e->node_name : "?");
        return false;
    case TF_INSTANCE_GONE:
        forgotten(r, &e->id);
        return false;
    }
    remember(r, &e->id, e->state == TF_INSTANCE_EXITED);
    return true;
}

static void on_instance(struct running *r, const struct tf_engine_event *e)
{
    struct sub_event event = {.kind = SUB_EV_INSTANCE};
    event.instance.id = e->id;
    if (!tell_state(r, &event.instance, e)) {
        sub_event_release(&event);
        return;
    }
    tf_str_set(&event.instance.tenant, e->tenant);
    tf_str_set(&event.instance.name, e->name);
    tf_str_set(&event.instance.node, e->node_name && *e->node_name ? e->node_name : NULL);
    event.instance.gpus = e->gpus;
    add_ports(&event.instance.ports, e);
    subd_feed(r->subd, &event);
    const struct known *known = e->state == TF_INSTANCE_EXITED ? find(r, e->id.uid, e->id.epoch) : NULL;
    if (known && known->forget)
        forget_epoch(r, known->key);
}

static void on_adopt_again(struct tf_timer *timer)
{
    struct running *r = TF_CONTAINER_OF(timer, struct running, adopt_timer);
    r->engine->adopt(r->engine, r->owner);
}

/* An engine without a memory is a new one only if nothing was ever promised here; else starting anything
 * could be starting it twice. */
static void on_unknown(struct running *r)
{
    struct subd *subd = r->subd;
    if (!subd->promised || subd->new_engine_memory) {
        if (subd->promised)
            tf_log_warn(
                "the engine's memory is made anew, as was asked: nothing may run that it does not know");
        subd->new_engine_memory = false;
        r->engine->initialise(r->engine, r->owner);
        return;
    }
    tf_log_error(
        "the engine's memory is missing, but the store says that instances were started here: nothing "
        "is done until it is back; if all of them are certainly gone, start subclusterd with "
        "--new-engine-memory stateDir=%s",
        subd->config.state_dir);
    struct tf_mono due = {tf_loop_now(subd->loop).mono.ms + ADOPT_AGAIN_MS};
    tf_timer_start(subd->loop, &r->adopt_timer, due, on_adopt_again);
}

static void on_listed(struct running *r)
{
    struct subd *subd = r->subd;
    if (r->listed)
        return;
    r->listed = true;
    tf_log_info("the engine is listed epochs=%u", HASH_COUNT(r->known));
    subd_feed(subd, &(struct sub_event){.kind = SUB_EV_LISTED});
    subd_uplink_start(subd);
}

static void on_node(struct running *r, const struct tf_node *node)
{
    struct sub_event event = {.kind = SUB_EV_NODE};
    tf_node_copy(&event.node, node);
    subd_feed(r->subd, &event);
}

static void on_engine(void *context, const struct tf_engine_event *e)
{
    struct running *r = context;
    subd_metrics_engine(r->subd, e);
    switch (e->type) {
    case TF_ENGINE_NODE:
        on_node(r, e->node);
        break;
    case TF_ENGINE_INSTANCE:
        on_instance(r, e);
        break;
    case TF_ENGINE_CHECKPOINT:
        subd_feed(r->subd, &(struct sub_event){.kind = SUB_EV_CHECKPOINT, .checkpoint = e->id});
        break;
    case TF_ENGINE_LISTED:
        on_listed(r);
        break;
    case TF_ENGINE_UNKNOWN:
        on_unknown(r);
        break;
    case TF_ENGINE_STALE:
        tf_log_error("the engine has had a later owner and takes no orders from this one; if the store was "
                     "restored from a copy, start subclusterd with --accept-rollback owner=%" PRIu64
                     " later=%" PRIu64,
                     r->owner, e->owner);
        break;
    case TF_ENGINE_TROUBLE:
        tf_log_error("the engine has trouble error=%s", e->text);
        break;
    }
}

/* ---- what the core wants ---- */

static void start(struct running *r, struct sub_start *s)
{
    const struct tf_allocation *record = sub_allocation_find(r->subd->sub, s->id.uid);
    const struct tf_group *group = &s->group;
    bool signals = record && record->spec->on_resize == TF_ON_RESIZE_SIGNAL;
    const struct tf_engine_spec spec = {
        .id = s->id,
        .tenant = s->tenant,
        .name = s->name,
        .node = s->node,
        .gpus = s->gpus,
        .rank = s->rank,
        .size = (uint32_t)s->size,
        .shape = group->shape,
        .image = group->image,
        .command = group->command,
        .env = group->env,
        .ports = group->ports,
        .ready = group->ready,
        .grace = group->grace,
        .resize_signal = signals ? record->spec->resize_signal : NULL,
    };
    r->engine->start(r->engine, r->owner, &spec);
}

static void start_release(struct sub_start *s)
{
    struct sub_actions actions = {.items = tf_calloc(1, sizeof *actions.items), .count = 1, .cap = 1};
    actions.items[0] = (struct sub_action){.kind = SUB_ACT_START, .start = *s};
    sub_actions_release(&actions);
}

static void on_late(struct tf_timer *timer);

static void look_at_late(struct running *r)
{
    if (!subd_owner_is_sure(r->subd)) {
        struct tf_mono due = {tf_loop_now(r->subd->loop).mono.ms + LOOK_AGAIN_MS};
        tf_timer_start(r->subd->loop, &r->late_timer, due, on_late);
        return;
    }
    for (size_t i = 0; i < r->late.count; i++) {
        start(r, &r->late.items[i]);
        start_release(&r->late.items[i]);
    }
    r->late.count = 0;
}

static void on_late(struct tf_timer *timer)
{
    look_at_late(TF_CONTAINER_OF(timer, struct running, late_timer));
}

/* Starting is what must not be done by two. Stops may pass a start that waits: the engine then refuses it. */
static void start_when_sure(struct running *r, struct sub_action *action)
{
    if (!r->late.count && subd_owner_is_sure(r->subd)) {
        start(r, &action->start);
        return;
    }
    tf_vec_push(&r->late, action->start);
    action->kind = SUB_ACT_NONE;
    if (!tf_timer_started(&r->late_timer))
        look_at_late(r);
}

void subd_running_perform(struct subd *subd, struct sub_action *action)
{
    struct running *r = subd->running;
    struct tf_engine *engine = r->engine;
    switch (action->kind) {
    case SUB_ACT_START:
        start_when_sure(r, action);
        break;
    case SUB_ACT_STOP:
        engine->stop(engine, r->owner, &action->stop.id, action->stop.stop_delay, action->stop.grace);
        break;
    case SUB_ACT_FORGET:
        forget_later(r, action->forget.uid, action->forget.epoch);
        break;
    case SUB_ACT_PEERS:
        engine->peers(engine, r->owner, action->peers.uid, action->peers.epoch, action->peers.content,
                      strlen(action->peers.content));
        break;
    case SUB_ACT_FENCE: {
        int64_t deadline = action->fence.deadline_boot_ms ? action->fence.deadline_boot_ms : INT64_MAX;
        engine->fence(engine, r->owner, action->fence.uid, action->fence.epoch, deadline);
        break;
    }
    default:
        assert(false);
    }
}

/* ---- life ---- */

static struct tf_engine *make_process_engine(struct running *r, struct tf_error *err)
{
    const struct subd_config *config = &r->subd->config;
    struct tf_process_config process;
    tf_process_config_init(&process);
    tf_str_set(&process.state_dir, config->state_dir);
    tf_str_set(&process.shim, config->shim);
    if (config->process.work_dir)
        tf_str_set(&process.work_dir, config->process.work_dir);
    process.allow_root = config->allow_root;
    process.cgroup = config->process.cgroup;
    process.output_limit = config->process.output_limit;
    process.files_limit = config->process.files_limit;
    process.port_low = config->process.port_low;
    process.port_high = config->process.port_high;
    process.journal_days = config->process.journal_days;
    tf_vec_each (node, &r->subd->nodes)
        tf_node_copy(tf_vec_add(&process.nodes), node);
    struct tf_engine *engine = tf_process_engine_create(&process, r->subd->loop, on_engine, r, err);
    tf_process_config_release(&process);
    return engine;
}

/* Its memory is beside the other engine's, so that neither is taken for the other. */
static struct tf_engine *make_virtual_engine(struct running *r, struct tf_error *err)
{
    const struct subd_virtual *said = &r->subd->config.invented;
    struct tf_virtual_config config = {
        .state_dir = tf_asprintf("%s/virtual", r->subd->config.state_dir),
        .seed = (uint64_t)said->seed,
        .start_min = said->start_min,
        .start_max = said->start_max,
        .stop_min = said->stop_min,
        .stop_max = said->stop_max,
        .run = said->run,
        .fail = said->fail,
        .foreign = said->foreign,
        .foreign_stay = said->foreign_stay,
    };
    tf_vec_each (node, &r->subd->nodes)
        tf_node_copy(tf_vec_add(&config.nodes), node);
    struct tf_engine *engine = tf_virtual_engine_create(&config, r->subd->loop, on_engine, r, err);
    tf_virtual_config_release(&config);
    return engine;
}

int subd_running_start(struct subd *subd, struct tf_error *err)
{
    struct running *r = tf_calloc(1, sizeof *r);
    r->subd = subd;
    r->owner = subd_owner_revision(subd);
    r->engine = subd->config.engine == SUBD_ENGINE_VIRTUAL ? make_virtual_engine(r, err)
                                                           : make_process_engine(r, err);
    if (!r->engine) {
        free(r);
        return -1;
    }
    subd->running = r;
    return 0;
}

uint32_t subd_running_capabilities(const struct subd *subd)
{
    const struct tf_engine_caps *caps = &subd->running->engine->caps;
    return (caps->names_gpus ? (uint32_t)TF_CAP_NAMES_GPUS : 0) |
           (caps->freezes ? (uint32_t)TF_CAP_FREEZES : 0) | (caps->fences ? (uint32_t)TF_CAP_FENCES : 0) |
           (caps->placeholders ? (uint32_t)TF_CAP_PLACEHOLDERS : 0) |
           (caps->migrates ? (uint32_t)TF_CAP_MIGRATES : 0);
}

const char *subd_running_engine(const struct subd *subd)
{
    return subd->running->engine->name;
}

void subd_running_adopt(struct subd *subd)
{
    subd->running->engine->adopt(subd->running->engine, subd->running->owner);
}

bool subd_running_listed(const struct subd *subd)
{
    return subd->running && subd->running->listed;
}

void subd_running_stop(struct subd *subd)
{
    struct running *r = subd->running;
    if (!r)
        return;
    r->engine->destroy(r->engine);
    tf_timer_cancel(subd->loop, &r->late_timer);
    tf_timer_cancel(subd->loop, &r->forget_timer);
    tf_timer_cancel(subd->loop, &r->adopt_timer);
    tf_vec_each (s, &r->late)
        start_release(s);
    tf_vec_release(&r->late);
    tf_vec_release(&r->forgets);
    struct known *known = NULL, *next = NULL;
    HASH_ITER (hh, r->known, known, next)
        known_free(r, known);
    free(r);
    subd->running = NULL;
}
