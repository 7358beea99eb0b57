/* SPDX-License-Identifier: Apache-2.0 */
/* The shell of a subcluster's daemon: carries events to the core and its actions out, dials the leader, and
 * loses what a crash loses. */
#include "tools/fedsim/subd.h"

#include "common/base/cleanup.h"
#include "common/wire/attach.h"
#include "subcluster/core/check.h"
#include "subcluster/core/event.h"
#include "tools/fedsim/renew.h"
#include "tools/fedsim/words.h"
#include "tools/fedsim/world.h"

#include <inttypes.h>

enum { REDIAL_MIN = 100, REDIAL_MAX = 1500, ERA_SHIFT = 48 /* as in the daemon */ };

static struct sim_subd *subd_of(struct sim_process *process)
{
    return TF_CONTAINER_OF(process, struct sim_subd, process);
}

static struct sim_world *world_of(const struct sim_subd *subd)
{
    return subd->process.world;
}

static void subd_step(struct sim_subd *subd, struct sub_event event);

/* ---- dialling ---- */

static void dial(struct sim_subd *subd, int64_t wait);

static void rings(void *arg, uint64_t tag)
{
    struct sim_subd *subd = arg;
    struct sim_world *world = world_of(subd);
    if (tag != subd->dials || !subd->core || !subd->process.loaded || subd->link)
        return;
    struct sim_fedd *fedd = world->fedds.items[subd->next_fedd];
    if (link_is_cut(world, subd->site->number, fedd->number) || !fedd_leads(fedd)) {
        subd->next_fedd = (subd->next_fedd + 1) % world->fedds.count;
        dial(subd, tf_rng_range(&world->rng, REDIAL_MIN, REDIAL_MAX));
        return;
    }
    subd->link = link_open(world, subd, fedd);
    world_say(world, subd->process.name, "is connected with %s by link %" PRIu64, fedd->process.name,
              subd->link->number);
    subd_step(subd, (struct sub_event){.kind = SUB_EV_LINK_UP});
}

static void dial(struct sim_subd *subd, int64_t wait)
{
    sim_agenda_in(&world_of(subd)->agenda, wait, rings, subd, ++subd->dials);
}

static void hang_up(struct sim_subd *subd)
{
    if (subd->link)
        link_close_subd(subd->link, subd->process.leaves);
    subd->link = NULL;
    audit_link_closed(world_of(subd)->audit, subd->site->name);
}

static void link_is_down(struct sim_subd *subd)
{
    hang_up(subd);
    dial(subd, tf_rng_range(&world_of(subd)->rng, 0, REDIAL_MAX));
    subd_step(subd, (struct sub_event){.kind = SUB_EV_LINK_DOWN});
}

void subd_hears_close(struct sim_subd *subd)
{
    link_is_down(subd);
}

void subd_break_link(struct sim_subd *subd)
{
    if (!subd->link)
        return;
    world_say(world_of(subd), subd->process.name, "link %" PRIu64 " breaks", subd->link->number);
    link_is_down(subd);
}

/* ---- actions ---- */

static void send_up(struct sim_subd *subd, const struct tf_up *up)
{
    struct sim_world *world = world_of(subd);
    TF_AUTO_BUF bytes = TF_BUF_INIT, words = TF_BUF_INIT;
    struct tf_error err = TF_ERROR_INIT;
    if (tf_wire_up_pack(up, &bytes, &err))
        world_breach(world, "a message up cannot be written: %s", err.text);
    else if (subd->link) {
        size_t len = bytes.len;
        link_send(&subd->link->up, tf_buf_take(&bytes), len);
    }
    audit_told_up(world->audit, subd->site->name, up);
    if (up->kind == TF_UP_ANSWER)
        operator_is_answered(subd, &up->answer);
    if (world->diary.mute)
        return;
    words_up(&words, up);
    world_say(world, subd->process.name, "up: %s", tf_buf_text(&words));
}

static struct sim_call *call_of(struct sim_subd *subd, enum sim_call_kind kind)
{
    struct sim_call *call = tf_calloc(1, sizeof *call);
    call->kind = kind;
    call->owner = subd->owner_revision;
    call->who = subd;
    call->life = subd->process.life;
    return call;
}

static struct sim_exit *exit_find(const struct sim_subd *subd, const struct tf_instance_id *id)
{
    struct sim_exit *exit = NULL;
    HASH_FIND(hh, subd->exits, id, sizeof *id, exit);
    return exit;
}

static void exit_note(struct sim_subd *subd, const struct tf_instance_id *id)
{
    if (exit_find(subd, id))
        return;
    struct sim_exit *exit = tf_calloc(1, sizeof *exit);
    exit->id = *id;
    HASH_ADD(hh, subd->exits, id, sizeof exit->id, exit);
}

static void exits_clear(struct sim_subd *subd)
{
    struct sim_exit *exit, *next;
    HASH_ITER (hh, subd->exits, exit, next) {
        HASH_DEL(subd->exits, exit);
        free(exit);
    }
}

/* An attempt that ended is over: who was told so does not ask for it again. (A restored store may know of
 * earlier attempts only; then the engine's records refuse it.) */
static void check_start(struct sim_subd *subd, const struct tf_instance_id *id)
{
    char text[SIM_ID_TEXT];
    if (exit_find(subd, id) && subd->process.store->restores == 0)
        world_breach(world_of(subd), "I14: %s starts instance %s, and was told that it has ended",
                     subd->process.name, world_id(id, text));
}

static void call_engine(struct sim_subd *subd, struct sub_action *action)
{
    struct sim_call *call;
    if (action->kind == SUB_ACT_START) {
        check_start(subd, &action->start.id);
        call = call_of(subd, SIM_CALL_START);
        call->start = action->start;
        action->kind = SUB_ACT_NONE;
    } else if (action->kind == SUB_ACT_STOP) {
        call = call_of(subd, SIM_CALL_STOP);
        call->id = action->stop.id;
        call->stop_delay = action->stop.stop_delay;
        call->grace = action->stop.grace;
    } else {
        call = call_of(subd, SIM_CALL_FORGET);
        call->id.uid = action->forget.uid;
        call->id.epoch = action->forget.epoch;
    }
    sim_pipe_put(&subd->calls, call);
}

static void close_link(struct sim_subd *subd, const char *why)
{
    world_say(world_of(subd), subd->process.name, "closes its link: %s", why);
    link_is_down(subd);
}

static void perform(struct sim_subd *subd, struct sub_action *action)
{
    switch (action->kind) {
    case SUB_ACT_PERSIST:
        process_commit(&subd->process, action->persist.items, action->persist.count);
        action->persist.items = NULL;
        action->persist.count = 0;
        break;
    case SUB_ACT_SEND:
        send_up(subd, &action->send);
        break;
    case SUB_ACT_CLOSE:
        close_link(subd, action->text);
        break;
    case SUB_ACT_START:
    case SUB_ACT_STOP:
    case SUB_ACT_FORGET:
        call_engine(subd, action);
        break;
    case SUB_ACT_WAKE:
        process_wake_at(&subd->process, action->wake);
        break;
    case SUB_ACT_CONTINUE:
        process_continue(&subd->process);
        break;
    case SUB_ACT_TRACE:
        world_say(world_of(subd), subd->process.name, "%s", action->text);
        break;
    case SUB_ACT_ALARM:
        world_say(world_of(subd), subd->process.name, "ALARM %s", action->text);
        world_of(subd)->alarms++;
        break;
    case SUB_ACT_NONE:
    case SUB_ACT_PEERS:
    case SUB_ACT_FENCE:
        break;
    }
}

static void subd_step(struct sim_subd *subd, struct sub_event event)
{
    struct sub_actions actions = subd->spare; /* a step may come within a step */
    uint64_t life = subd->process.life;
    subd->spare = (struct sub_actions){0};
    subd->core = renew_core(world_of(subd), &sub_core, subd->core);
    tf_recorder_event(subd->process.recorder, process_now(&subd->process), &event);
    sub_step(subd->core, process_now(&subd->process), &event, &actions);
    tf_recorder_actions(subd->process.recorder, subd->core, &actions);
    if (world_of(subd)->check == SIM_CHECK_EVERY)
        sub_check(subd->core);
    size_t crash = process_crash_point(&subd->process, actions.count);
    for (size_t i = 0; i < actions.count && i < crash && subd->process.life == life; i++)
        perform(subd, &actions.items[i]);
    if (crash != SIZE_MAX)
        subd_crash(subd, "between two actions");
    tf_vec_each (action, &actions)
        sub_action_release(action);
    actions.count = 0;
    tf_vec_release(&subd->spare);
    subd->spare = actions;
}

/* ---- its core's life ---- */

static void held(struct sim_process *process, struct tf_term term)
{
    struct sim_subd *subd = subd_of(process);
    struct sub_event event = {.kind = SUB_EV_BOOT};
    subd->owner_revision = term.era << ERA_SHIFT | term.revision;
    subd->term = (struct tf_term){0};
    event.boot.name = tf_strdup(subd->site->name);
    event.boot.region = tf_strdup(subd->site->region);
    event.boot.version = tf_strdup("0.1.0");
    event.boot.engine = tf_strdup("virtual");
    tf_planes_copy(&event.boot.planes, &subd->site->planes);
    event.boot.owner_revision = subd->owner_revision;
    event.boot.accept_rollback = process->accept_rollback;
    event.boot.capabilities = TF_CAP_NAMES_GPUS;
    tf_policy_init(&event.boot.policy);
    event.boot.profile_interval = world_of(subd)->profile_interval;
    event.boot.loss_cap = world_of(subd)->loss_cap;
    event.boot.resize_loss = world_of(subd)->resize_loss;
    event.boot.health = world_of(subd)->health;
    event.boot.decision_budget = world_of(subd)->settings.decision_budget;
    subd->core = sub_create(tf_rng_next(&world_of(subd)->rng));
    exits_clear(subd);
    tf_recorder_begin(process->recorder, subd->core);
    subd_step(subd, event);
}

static void record(struct sim_process *process, struct tf_record *record)
{
    struct sim_subd *subd = subd_of(process);
    if (record->kind == TF_RECORD_TERM)
        subd->term = record->term;
    subd_step(subd, (struct sub_event){.kind = SUB_EV_RECORD, .record = *record});
}

static void loaded(struct sim_process *process)
{
    struct sim_subd *subd = subd_of(process);
    uint64_t life = process->life;
    subd_step(subd, (struct sub_event){.kind = SUB_EV_LOADED});
    if (process->life != life)
        return;
    sim_pipe_put(&subd->calls, call_of(subd, SIM_CALL_ADOPT));
    dial(subd, tf_rng_range(&world_of(subd)->rng, 0, REDIAL_MAX));
}

static void committed(struct sim_process *process)
{
    subd_step(subd_of(process), (struct sub_event){.kind = SUB_EV_COMMITTED});
}

static void dropped(struct sim_process *process)
{
    struct sim_subd *subd = subd_of(process);
    sim_situations_count(&process->world->reached, sub_core.reached(subd->core));
    tf_recorder_end(process->recorder);
    sub_destroy(subd->core);
    subd->core = NULL;
    subd->adopted = false;
    subd->dials++;
    hang_up(subd);
    sim_pipe_clear(&subd->told);
}

static void timer(struct sim_process *process)
{
    subd_step(subd_of(process), (struct sub_event){.kind = SUB_EV_TIMER});
}

static void continues(struct sim_process *process)
{
    subd_step(subd_of(process), (struct sub_event){.kind = SUB_EV_CONTINUE});
}

static const struct sim_process_ops ops = {held, record, loaded, committed, dropped, timer, continues};

void subd_reload(struct sim_subd *subd)
{
    const struct sim_world *world = world_of(subd);
    struct sub_event event = {.kind = SUB_EV_SETTINGS};
    if (!subd->core) /* the next core boots with them */
        return;
    event.settings.profile_interval = world->profile_interval;
    event.settings.decision_budget = world->settings.decision_budget;
    event.settings.loss_cap = world->loss_cap;
    event.settings.resize_loss = world->resize_loss;
    event.settings.health = world->health;
    subd_step(subd, event);
}

/* ---- the engine ---- */

static void call_arrives(void *arg, void *thing)
{
    struct sim_subd *subd = arg;
    fleet_call(&subd->site->fleet, thing);
}

static void call_lost(void *arg, void *thing)
{
    (void)arg;
    fleet_call_free(thing);
}

static void told_arrives(void *arg, void *thing)
{
    struct sim_subd *subd = arg;
    struct sub_event *event = thing;
    world_of(subd)->busy_at = world_of(subd)->agenda.now;
    if (event->kind == SUB_EV_INSTANCE && event->instance.state == SUB_INSTANCE_EXITED)
        exit_note(subd, &event->instance.id);
    subd_step(subd, *event);
    free(event);
}

static void told_lost(void *arg, void *thing)
{
    (void)arg;
    sub_event_release(thing);
    free(thing);
}

void subd_told(struct sim_subd *subd, struct sub_event event)
{
    sim_pipe_put(&subd->told, tf_memdup(&event, sizeof event));
}

void subd_init(struct sim_subd *subd, struct sim_site *site, size_t number)
{
    struct sim_world *world = site->world;
    process_init(&subd->process, world, &ops);
    subd->site = site;
    subd->process.store = &site->store;
    subd->process.owner_name = "owner";
    subd->process.ttl_ms = world->settings.lease_ttl;
    snprintf(subd->process.name, sizeof subd->process.name, "%s/%zu", site->name, number + 1);
    process_record(&subd->process, &sub_core);
    sim_pipe_init(&subd->calls, &world->agenda, call_arrives, call_lost, subd);
    sim_pipe_init(&subd->told, &world->agenda, told_arrives, told_lost, subd);
    subd->calls.delay_max = subd->told.delay_max = world->engine_delay_max;
}

void subd_release(struct sim_subd *subd)
{
    process_release(&subd->process);
    exits_clear(subd);
    sim_pipe_release(&subd->calls);
    sim_pipe_release(&subd->told);
    tf_vec_release(&subd->spare);
}

/* What it had asked of the engine may still arrive there. */
void subd_crash(struct sim_subd *subd, const char *why)
{
    size_t count = sim_pipe_count(&subd->calls);
    process_crash(&subd->process, why);
    if (count && tf_rng_below(&world_of(subd)->rng, 2))
        sim_pipe_cut_tail(&subd->calls, (size_t)tf_rng_below(&world_of(subd)->rng, count + 1));
}

void subd_pause(struct sim_subd *subd, int64_t ms)
{
    process_pause(&subd->process, ms);
    sim_pipe_delay(&subd->told, subd->process.paused_until);
    if (subd->link)
        sim_pipe_delay(&subd->link->down, subd->process.paused_until);
}

/* ---- messages ---- */

static int unpack(struct sim_subd *subd, const struct sim_packet *packet, struct tf_down *down)
{
    struct tf_error err = TF_ERROR_INIT;
    int failed = tf_wire_down_unpack(packet->bytes, packet->len, down, &err);
    if (failed)
        world_breach(world_of(subd), "a message down cannot be read: %s", err.text);
    return failed;
}

/* A message of a leader that the core knows to be followed by another must lead to nothing. What was due
 * anyway is done first. */
static void hear_stale(struct sim_subd *subd, struct tf_down *down)
{
    uint64_t life = subd->process.life;
    world_of(subd)->stale_messages++;
    subd_step(subd, (struct sub_event){.kind = SUB_EV_TIMER});
    if (subd->process.life != life || !subd->core) {
        tf_down_release(down);
        return;
    }
    struct sub_event event = {.kind = SUB_EV_DOWN, .down = *down};
    struct sub_actions actions = {0};
    tf_recorder_event(subd->process.recorder, process_now(&subd->process), &event);
    sub_step(subd->core, process_now(&subd->process), &event, &actions);
    tf_recorder_actions(subd->process.recorder, subd->core, &actions);
    tf_vec_each (action, &actions) {
        if (action->kind == SUB_ACT_WAKE)
            process_wake_at(&subd->process, action->wake);
        else if (action->kind != SUB_ACT_TRACE)
            world_breach(world_of(subd),
                         "%s acts (kind %d) on a message of a leader that another has followed",
                         subd->process.name, (int)action->kind);
    }
    sub_actions_release(&actions);
}

static void hear(struct sim_subd *subd, struct tf_down *down)
{
    int order = tf_term_cmp(down->term, subd->term);
    if (order < 0) {
        hear_stale(subd, down);
        return;
    }
    subd->term = down->term;
    subd_step(subd, (struct sub_event){.kind = SUB_EV_DOWN, .down = *down});
}

static void keep_old(struct sim_site *site, const struct sim_packet *packet)
{
    struct sim_packet *old = &site->old[site->old_count++ % SIM_OLD_PACKETS];
    free(old->bytes);
    old->bytes = tf_memdup(packet->bytes, packet->len);
    old->len = packet->len;
}

void subd_hears_down(struct sim_subd *subd, const struct sim_packet *packet)
{
    struct tf_down down = {0};
    keep_old(subd->site, packet);
    if (!unpack(subd, packet, &down))
        hear(subd, &down);
}

void subd_hears_late(struct sim_subd *subd)
{
    struct tf_down down = {0};
    const struct sim_packet *packet = &subd->site->old[tf_rng_below(&world_of(subd)->rng, SIM_OLD_PACKETS)];
    if (!subd->core || !subd->link || process_is_paused(&subd->process) || !packet->bytes ||
        unpack(subd, packet, &down))
        return;
    if (tf_term_cmp(down.term, subd->term) < 0)
        hear_stale(subd, &down);
    else
        tf_down_release(&down);
}
