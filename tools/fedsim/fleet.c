/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what really runs. Nodes are in fleet_node.c. */
#include "tools/fedsim/fleet.h"

#include "common/base/text.h"
#include "tools/fedsim/fleet_private.h"
#include "tools/fedsim/world.h"

#include <assert.h>
#include <inttypes.h>

enum { EXIT_TERM = 143, EXIT_KILL = 137 };

static struct sim_world *world_of(const struct sim_fleet *fleet)
{
    return fleet->site->world;
}

struct sim_node *fleet_node(struct sim_fleet *fleet, const char *name)
{
    struct sim_node_name *found = NULL;
    HASH_FIND_STR(fleet->names, name, found);
    return found ? &fleet->nodes.items[found->node] : NULL;
}

bool fleet_runs(const struct sim_instance *i)
{
    return i->state == SIM_STARTING || i->state == SIM_READY;
}

static struct sim_instance *find(struct sim_fleet *fleet, const struct tf_instance_id *id)
{
    struct sim_instance *i = NULL;
    HASH_FIND(hh, fleet->by_id, id, sizeof *id, i);
    return i;
}

static struct sim_instance *by_number(struct sim_fleet *fleet, uint64_t number)
{
    return fleet->numbered.items[number - 1];
}

static void instance_free(struct sim_instance *i)
{
    free(i->tenant);
    free(i->name);
    free(i->node);
    free(i);
}

/* ---- what is told ---- */

static struct sub_event event_of(const struct sim_instance *i)
{
    static const enum sub_instance_state states[] = {
        [SIM_STARTING] = SUB_INSTANCE_STARTING, [SIM_READY] = SUB_INSTANCE_READY,
        [SIM_EXITED] = SUB_INSTANCE_EXITED,     [SIM_LOST] = SUB_INSTANCE_LOST,
        [SIM_ABSENT] = SUB_INSTANCE_ABSENT,
    };
    struct sub_event event = {.kind = SUB_EV_INSTANCE};
    event.instance.id = i->id;
    event.instance.state = states[i->state];
    event.instance.exit_code = i->exit_code;
    event.instance.stopped = i->stopped;
    event.instance.tenant = tf_strdup(i->tenant);
    event.instance.name = tf_strdup(i->name);
    event.instance.node = tf_strdup(i->node);
    event.instance.gpus = i->gpus;
    return event;
}

static void tell_one(struct sim_subd *subd, const struct sim_instance *i)
{
    subd_told(subd, event_of(i));
}

/* Of an unreachable node nothing is heard. */
static bool is_heard(struct sim_fleet *fleet, const struct sim_instance *i)
{
    const struct sim_node *node = i->node ? fleet_node(fleet, i->node) : NULL;
    return !node || node->node.state != TF_NODE_UNREACHABLE;
}

void fleet_tell(struct sim_fleet *fleet, const struct sim_instance *i)
{
    if (!is_heard(fleet, i))
        return;
    tf_vec_each (subd, &fleet->site->subds)
        if ((*subd)->adopted)
            tell_one(*subd, i);
}

void fleet_repeat(struct sim_fleet *fleet)
{
    if (!fleet->instances.count)
        return;
    size_t at = (size_t)tf_rng_below(&world_of(fleet)->rng, fleet->instances.count);
    fleet_tell(fleet, fleet->instances.items[at]);
}

/* ---- lives ---- */

static void tell_world(const struct sim_fleet *fleet, enum sim_fact_kind kind, const struct sim_instance *i)
{
    world_tell(world_of(fleet), &(struct sim_fact){.kind = kind, .site = fleet->site, .instance = i});
}

static void say(const struct sim_fleet *fleet, const struct sim_instance *i, const char *what)
{
    struct sim_world *world = world_of(fleet);
    char gpus[TF_GPU_SET_TEXT], text[SIM_ID_TEXT];
    if (world->diary.mute)
        return;
    world_say(world, fleet->site->name, "instance %s on %s gpus %s %s", world_id(&i->id, text),
              i->node ? i->node : "-", tf_gpu_set_format(i->gpus, gpus), what);
}

void fleet_end(struct sim_fleet *fleet, struct sim_instance *i, enum sim_instance_state state, int32_t code,
               bool stopped)
{
    assert(fleet_runs(i));
    i->state = state;
    i->exit_code = code;
    i->stopped = stopped;
    char what[64];
    snprintf(what, sizeof what, "%s %d%s", state == SIM_LOST ? "is lost" : "exits", code,
             stopped ? ", stopped" : "");
    say(fleet, i, what);
    enum audit_end end = state == SIM_LOST ? AUDIT_LOST
                         : stopped         ? AUDIT_STOPPED
                         : code == 0       ? AUDIT_DONE
                                           : AUDIT_FAILED;
    audit_ended(world_of(fleet)->audit, fleet->site->name, &i->id, end);
    world_of(fleet)->busy_at = world_of(fleet)->agenda.now;
    tell_world(fleet, SIM_FACT_ENDED, i);
    fleet_tell(fleet, i);
}

/* On a node that cannot be reached an instance runs on, but nothing of it is decided before it returns. */
static void by_itself_ends(void *arg, uint64_t number)
{
    struct sim_fleet *fleet = arg;
    struct sim_instance *i = by_number(fleet, number);
    if (i && fleet_runs(i))
        fleet_end(fleet, i, SIM_EXITED, i->exit_code, false);
}

/* Not while it is being stopped; and not on the way to rest, which it would keep the world from. */
static void saves(void *arg, uint64_t number)
{
    struct sim_fleet *fleet = arg;
    struct sim_instance *i = by_number(fleet, number);
    if (!i || i->state != SIM_READY || i->dies.ms != TF_NEVER.ms || world_of(fleet)->healed)
        return;
    say(fleet, i, "has made a checkpoint");
    tf_vec_each (subd, &fleet->site->subds)
        if ((*subd)->adopted && is_heard(fleet, i))
            subd_told(*subd, (struct sub_event){.kind = SUB_EV_CHECKPOINT, .checkpoint = i->id});
    sim_agenda_in(&world_of(fleet)->agenda, world_nature(world_of(fleet), i->id.uid)->checkpoint_every, saves,
                  fleet, number);
}

static void gets_ready(void *arg, uint64_t number)
{
    struct sim_fleet *fleet = arg;
    struct sim_instance *i = by_number(fleet, number);
    if (!i || i->state != SIM_STARTING)
        return;
    i->state = SIM_READY;
    i->ready = true;
    say(fleet, i, "is ready");
    world_of(fleet)->busy_at = world_of(fleet)->agenda.now;
    if (is_heard(fleet, i))
        audit_ready(world_of(fleet)->audit, fleet->site->name, &i->id);
    tell_world(fleet, SIM_FACT_READY, i);
    fleet_tell(fleet, i);
    int64_t every = world_nature(world_of(fleet), i->id.uid)->checkpoint_every;
    if (every > 0)
        sim_agenda_in(&world_of(fleet)->agenda, every, saves, fleet, number);
}

static bool draw(struct tf_rng *rng, uint32_t permille)
{
    return tf_rng_below(rng, 1000) < permille;
}

/* What will become of it is settled when it starts: by its job's nature, its index and its attempt. */
static void begin_life(struct sim_fleet *fleet, struct sim_instance *i)
{
    struct sim_agenda *agenda = &world_of(fleet)->agenda;
    const struct sim_nature *nature = world_nature(world_of(fleet), i->id.uid);
    struct tf_rng rng;
    tf_rng_init(&rng, nature->seed ^ i->id.epoch * 1000003 ^ i->id.index * 8191 ^ i->id.attempt);
    i->deaf = draw(&rng, nature->deaf);
    bool fails = draw(&rng, nature->fail);
    i->exit_code = fails ? (int32_t)tf_rng_range(&rng, 1, 3) : 0;
    int64_t ready = tf_rng_range(&rng, nature->start_min, nature->start_max);
    if (draw(&rng, nature->fail_early)) {
        i->exit_code = 1;
        sim_agenda_in(agenda, ready, by_itself_ends, fleet, i->number);
        return;
    }
    if (draw(&rng, nature->never_ready))
        return;
    sim_agenda_in(agenda, ready, gets_ready, fleet, i->number);
    int64_t run = tf_rng_range(&rng, nature->run_min, nature->run_max);
    if (nature->run_max > 0 || fails)
        sim_agenda_in(agenda, ready + run, by_itself_ends, fleet, i->number);
}

/* ---- calls ---- */

static struct sim_run *run_of(struct sim_fleet *fleet, const struct tf_instance_id *id)
{
    struct sim_run_key key = {id->uid, id->epoch};
    struct sim_run *run = NULL;
    HASH_FIND(hh, fleet->runs, &key, sizeof key, run);
    if (run)
        return run;
    run = tf_calloc(1, sizeof *run);
    run->key = key;
    HASH_ADD(hh, fleet->runs, key, sizeof run->key, run);
    return run;
}

void fleet_finish(struct sim_fleet *fleet, struct tf_uid uid, uint64_t epoch)
{
    struct sim_run_key key = {uid, epoch};
    struct sim_run *run = NULL;
    HASH_FIND(hh, fleet->runs, &key, sizeof key, run);
    for (size_t n = 0; run && n < run->instances.count; n++)
        if (fleet_runs(run->instances.items[n]))
            fleet_end(fleet, run->instances.items[n], SIM_EXITED, 0, false);
}

static struct sim_instance *add(struct sim_fleet *fleet, const struct tf_instance_id *id,
                                enum sim_instance_state state)
{
    struct sim_instance *i = tf_calloc(1, sizeof *i);
    i->id = *id;
    i->state = state;
    i->dies = TF_NEVER;
    i->at = fleet->instances.count;
    tf_vec_push(&fleet->instances, i);
    tf_vec_push(&fleet->numbered, i);
    i->number = fleet->numbered.count;
    HASH_ADD(hh, fleet->by_id, id, sizeof i->id, i);
    struct sim_run *run = run_of(fleet, id);
    tf_vec_push(&run->instances, i);
    return i;
}

/* NULL, or why the engine will not start it. */
static const char *start_fault(struct sim_fleet *fleet, const struct sub_start *start)
{
    const struct sim_node *node = fleet_node(fleet, start->node);
    const struct sim_nature *nature = world_nature(world_of(fleet), start->id.uid);
    struct tf_rng rng;
    if (!node)
        return "there is no such node";
    if (node->node.state != TF_NODE_READY)
        return "the node is not ready";
    if (node->node.foreign.gpus & start->gpus)
        return "one of its GPUs is in use by somebody else";
    tf_rng_init(&rng, ~nature->seed ^ start->id.epoch * 8191 ^ start->id.index);
    return draw(&rng, nature->engine_refuses) ? "out of descriptors" : NULL;
}

static void refuse_start(struct sim_fleet *fleet, const struct sim_call *call, const char *why)
{
    char text[SIM_ID_TEXT];
    world_say(world_of(fleet), fleet->site->name, "refuses to start %s: %s", world_id(&call->start.id, text),
              why);
    struct sub_event event = {.kind = SUB_EV_INSTANCE};
    audit_refused(world_of(fleet)->audit, &call->start.id);
    event.instance.id = call->start.id;
    event.instance.state = SUB_INSTANCE_REFUSED;
    event.instance.text = tf_strdup(why);
    if (call->who->process.life == call->life)
        subd_told(call->who, event);
    else
        sub_event_release(&event);
}

static void call_start(struct sim_fleet *fleet, const struct sim_call *call)
{
    const struct sub_start *start = &call->start;
    struct sim_instance *i = find(fleet, &start->id);
    const char *fault = i ? NULL : start_fault(fleet, start);
    if (i) {
        say(fleet, i, fleet_runs(i) ? "is not started twice" : "has ended and is not started again");
        if (call->who->process.life == call->life && is_heard(fleet, i))
            tell_one(call->who, i);
        return;
    }
    if (fault) {
        refuse_start(fleet, call, fault);
        return;
    }
    i = add(fleet, &start->id, SIM_STARTING);
    i->tenant = tf_strdup(start->tenant);
    i->name = tf_strdup(start->name);
    i->node = tf_strdup(start->node);
    i->gpus = start->gpus;
    i->need = tf_shape_vector(&start->group.shape);
    say(fleet, i, "starts");
    audit_started(world_of(fleet)->audit, fleet->site->name, &i->id, i->node, i->gpus, i->need);
    tell_world(fleet, SIM_FACT_STARTED, i);
    fleet_tell(fleet, i);
    begin_life(fleet, i);
}

static void stop_takes_effect(void *arg, uint64_t number)
{
    struct sim_fleet *fleet = arg;
    struct sim_instance *i = by_number(fleet, number);
    if (!i || !fleet_runs(i) || i->dies.ms > world_of(fleet)->agenda.now.ms)
        return;
    const struct sim_node *node = fleet_node(fleet, i->node);
    if (node->node.state == TF_NODE_UNREACHABLE)
        sim_agenda_in(&world_of(fleet)->agenda, TF_SECOND, stop_takes_effect, fleet, number);
    else
        fleet_end(fleet, i, SIM_EXITED, i->deaf ? EXIT_KILL : EXIT_TERM, true);
}

static void call_stop(struct sim_fleet *fleet, const struct sim_call *call)
{
    struct sim_world *world = world_of(fleet);
    struct sim_instance *i = find(fleet, &call->id);
    if (!i) {
        i = add(fleet, &call->id, SIM_ABSENT);
        say(fleet, i, "is stopped before it ever ran");
    }
    if (!fleet_runs(i)) {
        if (call->who->process.life == call->life)
            tell_one(call->who, i);
        return;
    }
    audit_stop(world->audit, fleet->site->name, &i->id);
    const struct sim_nature *nature = world_nature(world, i->id.uid);
    int64_t polite = call->grace > 0 ? tf_rng_range(&world->rng, nature->stop_min, nature->stop_max) : 0;
    int64_t wait = call->stop_delay + (i->deaf || polite > call->grace ? call->grace : polite);
    struct tf_mono dies = {world->agenda.now.ms + wait};
    say(fleet, i, "is asked to stop");
    if (i->dies.ms == TF_NEVER.ms)
        tell_world(fleet, SIM_FACT_STOPPING, i);
    if (dies.ms < i->dies.ms)
        i->dies = dies;
    sim_agenda_at(&world->agenda, i->dies, stop_takes_effect, fleet, i->number);
}

/* The last of the list takes its place. */
static void forget(struct sim_fleet *fleet, struct sim_instance *i)
{
    struct sim_instance *last = fleet->instances.items[--fleet->instances.count];
    fleet->instances.items[i->at] = last;
    last->at = i->at;
    fleet->numbered.items[i->number - 1] = NULL;
    HASH_DEL(fleet->by_id, i);
    instance_free(i);
}

static void run_free(struct sim_fleet *fleet, struct sim_run *run)
{
    HASH_DEL(fleet->runs, run);
    tf_vec_release(&run->instances);
    free(run);
}

static void call_forget(struct sim_fleet *fleet, const struct sim_call *call)
{
    audit_forgotten(world_of(fleet)->audit, fleet->site->name, call->id.uid, call->id.epoch);
    struct sim_run *run = run_of(fleet, &call->id);
    for (size_t n = run->instances.count; n-- > 0;) {
        struct sim_instance *i = run->instances.items[n];
        if (fleet_runs(i))
            continue;
        forget(fleet, i);
        tf_vec_remove(&run->instances, n);
    }
    if (!run->instances.count)
        run_free(fleet, run);
}

static void call_adopt(struct sim_fleet *fleet, const struct sim_call *call)
{
    struct sim_subd *subd = call->who;
    if (subd->process.life != call->life)
        return;
    tf_vec_each (node, &fleet->nodes) {
        if (node->absent)
            continue;
        struct sub_event event = {.kind = SUB_EV_NODE};
        tf_node_copy(&event.node, &node->node);
        subd_told(subd, event);
    }
    tf_vec_each (i, &fleet->instances)
        if (is_heard(fleet, *i) || fleet_runs(*i))
            tell_one(subd, *i);
    subd_told(subd, (struct sub_event){.kind = SUB_EV_LISTED});
    subd->adopted = true;
}

void fleet_call_free(struct sim_call *call)
{
    struct sub_actions whole = {0};
    if (call->kind == SIM_CALL_START) {
        struct sub_action *action = tf_vec_add(&whole);
        action->kind = SUB_ACT_START;
        action->start = call->start;
    }
    sub_actions_release(&whole);
    free(call);
}

void fleet_call(struct sim_fleet *fleet, struct sim_call *call)
{
    world_of(fleet)->busy_at = world_of(fleet)->agenda.now;
    if (fleet->site->dead) {
        fleet_call_free(call);
        return;
    }
    if (call->owner >= fleet->owner) {
        fleet->owner = call->owner;
        if (call->kind == SIM_CALL_ADOPT)
            call_adopt(fleet, call);
        else if (call->kind == SIM_CALL_START)
            call_start(fleet, call);
        else if (call->kind == SIM_CALL_STOP)
            call_stop(fleet, call);
        else
            call_forget(fleet, call);
    } else if (call->kind == SIM_CALL_ADOPT && call->who->process.life == call->life)
        operator_hears_stale(fleet->site);
    fleet_call_free(call);
}

static void forget_all(struct sim_fleet *fleet)
{
    while (fleet->instances.count)
        forget(fleet, fleet->instances.items[fleet->instances.count - 1]);
    struct sim_run *run, *next_run;
    HASH_ITER (hh, fleet->runs, run, next_run)
        run_free(fleet, run);
}

void fleet_burns(struct sim_fleet *fleet)
{
    tf_vec_each (i, &fleet->instances)
        if (fleet_runs(*i))
            fleet_end(fleet, *i, SIM_LOST, 0, false);
    forget_all(fleet);
    fleet->owner = 0;
}

void fleet_release(struct sim_fleet *fleet)
{
    forget_all(fleet);
    tf_vec_release(&fleet->numbered);
    struct sim_node_name *name, *next_name;
    HASH_ITER (hh, fleet->names, name, next_name) {
        HASH_DEL(fleet->names, name);
        free(name);
    }
    tf_vec_each (node, &fleet->nodes)
        tf_node_release(&node->node);
    tf_vec_release(&fleet->instances);
    tf_vec_release(&fleet->nodes);
}
