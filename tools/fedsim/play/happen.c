/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what each kind of event does to the world, and how it is over after its time. */
#include "common/base/cleanup.h"
#include "common/base/quantity.h"
#include "common/base/text.h"
#include "tools/fedsim/play/private.h"

enum { STORE_SURE = 1000 /* permille */, LATE_MESSAGES = 4 };

typedef void happen_f(struct play *play, const struct scenario_event *event, bool over);

/* ---- who ---- */

static struct sim_site *site_of(const struct play *play, const char *cluster)
{
    return play->world.sites.items[scenario_cluster_find(play->scenario, cluster ? cluster : "")];
}

typedef void process_f(struct play *play, struct sim_process *process, const struct scenario_event *event);

/* All of that name, or the one of that number. */
static void each_process(struct play *play, const char *name, process_f *f,
                         const struct scenario_event *event)
{
    struct scenario_daemon who;
    if (scenario_daemon_parse(name, &who, NULL))
        return;
    if (who.is_fedd) {
        for (size_t i = 0; i < play->world.fedds.count; i++)
            if (who.number == 0 || (size_t)who.number == i + 1)
                f(play, &play->world.fedds.items[i]->process, event);
        return;
    }
    struct sim_site *site = site_of(play, who.cluster);
    for (size_t i = 0; i < site->subds.count; i++)
        if (who.number == 0 || (size_t)who.number == i + 1)
            f(play, &site->subds.items[i]->process, event);
}

static bool is_fedd(const struct play *play, const struct sim_process *process)
{
    tf_vec_each (fedd, &play->world.fedds)
        if (&(*fedd)->process == process)
            return true;
    return false;
}

static struct sim_fedd *fedd_of(struct sim_process *process)
{
    return TF_CONTAINER_OF(process, struct sim_fedd, process);
}

static struct sim_subd *subd_of(struct sim_process *process)
{
    return TF_CONTAINER_OF(process, struct sim_subd, process);
}

/* ---- daemons ---- */

static void start(struct play *play, struct sim_process *process, const struct scenario_event *event)
{
    (void)play;
    (void)event;
    process->crash_armed = false;
    operator_starts(process);
}

static void crash(struct play *play, struct sim_process *process, const struct scenario_event *event)
{
    if (event->before >= 0) {
        process->crash_armed = process->up;
        process->crash_steps = 0;
        process->crash_before = event->before;
    } else if (is_fedd(play, process)) {
        fedd_crash(fedd_of(process), "killed");
    } else {
        subd_crash(subd_of(process), "killed");
    }
}

static void happen_crash(struct play *play, const struct scenario_event *event, bool over)
{
    each_process(play, event->crash, over ? start : crash, event);
}

static void pause_one(struct play *play, struct sim_process *process, const struct scenario_event *event)
{
    if (is_fedd(play, process))
        fedd_pause(fedd_of(process), event->lasts);
    else
        subd_pause(subd_of(process), event->lasts);
}

static void happen_pause(struct play *play, const struct scenario_event *event, bool over)
{
    if (!over)
        each_process(play, event->pause, pause_one, event);
}

static void hand_over(struct play *play, struct sim_process *process, const struct scenario_event *event)
{
    (void)play;
    (void)event;
    process_hand_over(process);
}

static void happen_hand_over(struct play *play, const struct scenario_event *event, bool over)
{
    (void)over;
    each_process(play, event->hand_over, hand_over, event);
}

static void reload(struct play *play, struct sim_process *process, const struct scenario_event *event)
{
    (void)event;
    if (!process->up || process_is_paused(process))
        return;
    if (is_fedd(play, process))
        fedd_reload(fedd_of(process));
    else
        subd_reload(subd_of(process));
}

static void happen_reload(struct play *play, const struct scenario_event *event, bool over)
{
    (void)over;
    each_process(play, event->reload, reload, event);
}

static void lose_store(struct play *play, struct sim_process *process, const struct scenario_event *event)
{
    (void)play;
    (void)event;
    if (process->up)
        tf_memory_client_cut(process->client, true);
}

static void find_store(struct play *play, struct sim_process *process, const struct scenario_event *event)
{
    (void)play;
    (void)event;
    if (process->up && !process_is_paused(process))
        tf_memory_client_cut(process->client, false);
}

static void happen_store_away(struct play *play, const struct scenario_event *event, bool over)
{
    each_process(play, event->store_away, over ? find_store : lose_store, event);
}

/* The first of the reserve begins; after its time the last that began goes. */
static struct sim_process *reserve_of(struct play *play, const char *name, bool waiting)
{
    struct scenario_daemon who;
    struct sim_process *found = NULL;
    if (scenario_daemon_parse(name, &who, NULL))
        return NULL;
    size_t count = who.is_fedd ? play->world.fedds.count : site_of(play, who.cluster)->subds.count;
    size_t first =
        who.is_fedd ? (size_t)play->scenario->world.fedds
                    : (size_t)play->scenario->clusters.items[site_of(play, who.cluster)->number].subclusterds;
    for (size_t i = first; i < count; i++) {
        struct sim_process *process = who.is_fedd ? &play->world.fedds.items[i]->process
                                                  : &site_of(play, who.cluster)->subds.items[i]->process;
        if (process->reserve == waiting && !(waiting && found))
            found = process;
    }
    return found;
}

static void happen_duplicate(struct play *play, const struct scenario_event *event, bool over)
{
    struct sim_process *process = reserve_of(play, event->duplicate, !over);
    if (!process)
        return;
    if (over) {
        struct scenario_event killed = {.before = -1};
        crash(play, process, &killed);
        return;
    }
    process->reserve = false;
    operator_starts(process);
}

/* ---- people, and what they cannot help ---- */

static void jump(struct play *play, struct sim_process *process, const struct scenario_event *event)
{
    (void)play;
    process_wall_jumps(process, event->by_ms);
}

static void happen_clock_jump(struct play *play, const struct scenario_event *event, bool over)
{
    (void)over;
    each_process(play, event->clock_jump, jump, event);
}

static void happen_cordon(struct play *play, const struct scenario_event *event, bool over)
{
    operator_cordons(site_of(play, event->cordon), !over);
}

static void happen_freeze(struct play *play, const struct scenario_event *event, bool over)
{
    static const int32_t sets[] = {[SCENARIO_EVICTIONS] = TF_FROZEN_EVICTIONS,
                                   [SCENARIO_GROWTH] = TF_FROZEN_GROWTH,
                                   [SCENARIO_MOVES] = TF_FROZEN_MOVES,
                                   [SCENARIO_ALL] = TF_FROZEN_ALL};
    if (!over) /* it ends by itself */
        operator_freezes(site_of(play, event->freeze), sets[event->what], event->lasts);
}

static void happen_burn(struct play *play, const struct scenario_event *event, bool over)
{
    (void)over;
    site_burns(site_of(play, event->burn));
}

/* ---- ways ---- */

static void happen_one_way(struct play *play, const struct scenario_event *event, struct sim_site *site,
                           size_t fedd, bool over)
{
    bool up = event->link.cut == SCENARIO_CUT || event->link.cut == SCENARIO_CUT_UP;
    bool down = event->link.cut == SCENARIO_CUT || event->link.cut == SCENARIO_CUT_DOWN;
    if (event->link.delay)
        link_delay(&play->world, site->number, fedd, over ? 0 : event->link.delay);
    else if (event->link.cut != SCENARIO_BREAK)
        link_cut(&play->world, site->number, fedd, up && !over, down && !over);
}

static void happen_link(struct play *play, const struct scenario_event *event, bool over)
{
    struct sim_site *site = site_of(play, event->cluster);
    struct scenario_daemon who = {0};
    if (event->fedd)
        (void)scenario_daemon_parse(event->fedd, &who, NULL);
    for (size_t i = 0; i < play->world.fedds.count; i++)
        if (who.number == 0 || (size_t)who.number == i + 1)
            happen_one_way(play, event, site, i, over);
    if (event->link.cut != SCENARIO_BREAK || over)
        return;
    tf_vec_each (subd, &site->subds)
        subd_break_link(*subd);
}

/* ---- stores ---- */

static int64_t latency_min(const struct play *play)
{
    return play->scenario->world.unordered ? 0 : play->scenario->world.store_latency_max;
}

static void slow_down(const struct play *play, struct tf_memory_faults *faults, int64_t ms)
{
    faults->latency_max_ms = ms;
    faults->latency_min_ms = play->scenario->world.unordered ? 0 : ms;
}

static void lose_requests(const struct scenario_event *event, struct tf_memory_faults *faults)
{
    const int32_t parts[TF_MEMORY_FAULTS] = {[TF_MEMORY_UNAVAILABLE] = event->store.refused,
                                             [TF_MEMORY_LOST_REQUEST] = event->store.lost_requests,
                                             [TF_MEMORY_LOST_REPLY] = event->store.lost_replies,
                                             [TF_MEMORY_LATE] = event->store.late};
    for (int f = TF_MEMORY_NO_FAULT + 1; f < TF_MEMORY_FAULTS; f++)
        if (parts[f])
            faults->permille[f] = (uint32_t)parts[f] / 10;
    faults->late_max_ms = event->store.late_max;
}

static bool restore_site(struct sim_site *site, int64_t moment)
{
    uint64_t before = site->store.restores;
    operator_restores_site(site, moment);
    return site->store.restores > before;
}

static bool restore_federation(struct play *play, const struct scenario_event *event)
{
    if (play->world.operator.restoring)
        return false;
    operator_restores(&play->world, event->store.restored, event->store.unaware);
    return play->world.operator.restoring;
}

/* In a run that was drawn people may not always be able to; who writes it down means it. */
static void happen_restore(struct play *play, const struct scenario_event *event, bool over)
{
    if (over)
        return;
    bool done = event->store_of ? restore_site(site_of(play, event->store_of), event->store.restored)
                                : restore_federation(play, event);
    if (!done && !play->scenario->world.rests)
        play_fail_event(
            play, event,
            "the store of %s cannot be restored: there is no copy of that moment, or an earlier restore is "
            "not over",
            event->store_of ? event->store_of : "the federation");
}

static void happen_store(struct play *play, const struct scenario_event *event, bool over)
{
    struct sim_store *store = event->store_of ? &site_of(play, event->store_of)->store : &play->world.store;
    int64_t latency = play->scenario->world.store_latency_max;
    struct tf_memory_faults faults = {.latency_min_ms = latency_min(play), .latency_max_ms = latency};
    if (event->store.restored >= 0) {
        happen_restore(play, event, over);
        return;
    }
    if (event->store.fault == SCENARIO_UNAVAILABLE)
        tf_memory_store_down(store->server, !over);
    if (!over && event->store.fault == SCENARIO_LOST_REPLY)
        faults.permille[TF_MEMORY_LOST_REPLY] = STORE_SURE;
    if (!over && event->store.slow)
        slow_down(play, &faults, event->store.slow);
    if (!over)
        lose_requests(event, &faults);
    tf_memory_store_faults(store->server, &faults);
}

/* ---- nodes ---- */

static struct tf_drain_order drain_order(const struct scenario_event *event)
{
    return (struct tf_drain_order){
        .on = true, .force = event->force, .max_at_once = event->at_once, .within = event->within};
}

static void set_node(struct sim_fleet *fleet, size_t node, const struct scenario_event *event,
                     enum scenario_state state)
{
    struct tf_drain_order order;
    switch (state) {
    case SCENARIO_DOWN:
        fleet_node_down(fleet, node);
        break;
    case SCENARIO_UNREACHABLE:
        fleet_node_unreachable(fleet, node, event->lost_after);
        break;
    case SCENARIO_CORDONED:
        fleet_node_closed(fleet, node, TF_NODE_CORDONED);
        break;
    case SCENARIO_DRAINING:
        order = drain_order(event);
        operator_drains(fleet->site, node, &order);
        break;
    case SCENARIO_UP:
    case SCENARIO_BAD:
    case SCENARIO_SUSPECT:
    case SCENARIO_OK:
        if (event->state == SCENARIO_UP || event->state == SCENARIO_DRAINING)
            operator_drains(fleet->site, node, NULL);
        /* a node that dies while it is drained is not healed by the end of the drain */
        if (event->state != SCENARIO_DRAINING)
            fleet_node_returns(fleet, node);
        break;
    }
}

/* NULL, with a failure, if the cluster has no such node: only in a run that was drawn. */
static struct sim_fleet *find_node(struct play *play, const struct scenario_event *event, const char *text,
                                   bool gpu, size_t *node, struct scenario_place *place)
{
    if (scenario_place_parse(text, gpu, place, NULL))
        return NULL;
    struct sim_fleet *fleet = &site_of(play, place->cluster)->fleet;
    int at = fleet_node_find(fleet, place->node);
    if (at < 0 || (gpu && place->gpu >= fleet->nodes.items[at].node.capacity.gpus)) {
        play_fail_event(play, event, "there is no %s", text);
        return NULL;
    }
    *node = (size_t)at;
    return fleet;
}

static void happen_node(struct play *play, const struct scenario_event *event, bool over)
{
    for (size_t i = 0; i < event->node.count + event->nodes.count; i++) {
        const char *text =
            i < event->node.count ? event->node.items[i] : event->nodes.items[i - event->node.count];
        size_t node;
        struct scenario_place place;
        struct sim_fleet *fleet = find_node(play, event, text, false, &node, &place);
        if (fleet)
            set_node(fleet, node, event, over ? SCENARIO_UP : event->state);
    }
}

static void happen_gpu(struct play *play, const struct scenario_event *event, bool over)
{
    size_t node;
    struct scenario_place place;
    struct sim_fleet *fleet = find_node(play, event, event->gpu, true, &node, &place);
    if (!fleet)
        return;
    const struct tf_node *now = &fleet->nodes.items[node].node;
    uint64_t bit = UINT64_C(1) << place.gpu;
    bool is_bad = (event->state != SCENARIO_OK) != over,
         is_suspect = is_bad && event->state == SCENARIO_SUSPECT;
    fleet_node_bad(fleet, node, is_bad ? now->bad_gpus | bit : now->bad_gpus & ~bit,
                   is_suspect ? now->suspect_gpus | bit : now->suspect_gpus & ~bit);
}

static void happen_foreign(struct play *play, const struct scenario_event *event, bool over)
{
    uint64_t gpus = 0;
    if (!over)
        (void)scenario_gpus_parse(event->foreign, &gpus, NULL);
    for (size_t i = 0; i < event->node.count + event->nodes.count; i++) {
        const char *text =
            i < event->node.count ? event->node.items[i] : event->nodes.items[i - event->node.count];
        size_t node;
        struct scenario_place place;
        struct sim_fleet *fleet = find_node(play, event, text, false, &node, &place);
        if (fleet)
            fleet_node_foreign(fleet, node,
                               gpus & tf_gpu_set_all(fleet->nodes.items[node].node.capacity.gpus));
    }
}

static void happen_repeat(struct play *play, const struct scenario_event *event, bool over)
{
    (void)over;
    fleet_repeat(&site_of(play, event->repeat)->fleet);
}

static void happen_late(struct play *play, const struct scenario_event *event, bool over)
{
    (void)over;
    struct sim_site *site = site_of(play, event->late);
    tf_vec_each (subd, &site->subds)
        for (int i = 0; i < LATE_MESSAGES; i++)
            subd_hears_late(*subd);
}

/* ---- users ---- */

static void ask(struct play *play, const struct scenario_event *event, const char *name, enum sim_verb verb,
                struct tf_elastic sizes)
{
    int64_t job = play_job_find(play, name);
    if (job >= 0)
        clients_ask(&play->world.clients, (size_t)job, verb, sizes);
    else
        play_fail_event(play, event, "there is no job %s", name);
}

static void happen_user(struct play *play, const struct scenario_event *event, bool over)
{
    struct tf_elastic none = {0};
    if (event->submit)
        ask(play, event, event->submit, SIM_SUBMIT, none);
    else if (event->delete_job)
        ask(play, event, event->delete_job, SIM_DELETE, none);
    else if (event->hold)
        ask(play, event, event->hold, over ? SIM_RESUME : SIM_HOLD, none);
    else if (event->resume)
        ask(play, event, event->resume, SIM_RESUME, none);
    else if (event->look)
        ask(play, event, event->look, SIM_LOOK, none);
    else if (event->restart)
        ask(play, event, event->restart, SIM_RESTART, none);
}

static struct tf_elastic sizes_of(const struct play *play, const struct sim_job *job)
{
    const struct truth_job *truth = truth_job(&play->truth, job->uid);
    return truth ? truth->wanted : job->manifest.spec.elastic;
}

/* What is not said stays as it was asked for last. */
static void happen_scale(struct play *play, const struct scenario_event *event, bool over)
{
    (void)over;
    int64_t job = play_job_find(play, event->scale);
    struct tf_elastic sizes = event->elastic;
    if (job >= 0) {
        struct tf_elastic now = sizes_of(play, &play->world.clients.jobs.items[job]);
        sizes.min = sizes.min ? sizes.min : now.min;
        sizes.max = sizes.max ? sizes.max : now.max;
        sizes.step = sizes.step ? sizes.step : now.step;
    }
    ask(play, event, event->scale, SIM_SCALE, play_without_sizes(play, sizes));
}

static void happen_apply(struct play *play, const struct scenario_event *event, bool over)
{
    (void)over;
    int64_t job = play_job_find(play, event->apply);
    if (job >= 0)
        clients_apply(&play->world.clients, (size_t)job, event->priority,
                      sizes_of(play, &play->world.clients.jobs.items[job]));
    else
        play_fail_event(play, event, "there is no job %s", event->apply);
}

/* As `fedctl defrag plan --for`. */
static void room_for(const struct play *play, const char *name, struct tf_defrag_order *order)
{
    int64_t job = play_job_find(play, name);
    if (job < 0)
        return;
    const struct tf_job_spec *spec = &play->world.clients.jobs.items[job].manifest.spec;
    order->want = spec->elastic.min;
    order->total = true;
    order->gpus = spec->group.shape.gpus;
    order->cpu = spec->group.shape.cpu;
    order->memory = spec->group.shape.memory;
    tf_vec_each (rule, &spec->topology)
        if (rule->mode == TF_TOPOLOGY_REQUIRE && rule->of == TF_TOPOLOGY_OF_JOB) {
            order->plane = rule->plane;
            order->within = rule->within;
        }
    order->for_job = (char *)(uintptr_t)name;
}

/* Who asked for more than there is, or for what there is already, should not take it for a gain. */
static void note_defrag(struct play *play, const struct scenario_event *event,
                        const struct tf_defrag_order *order, const struct tf_defrag_plan *plan)
{
    char at[TF_QUANTITY_TEXT];
    int32_t wanted = order->total ? order->want - plan->before : order->want;
    tf_duration_format(play->world.agenda.now.ms, at);
    if (!plan->text && plan->moves.count == 0)
        play_note_event(play, event, "at %s: defrag %s had nothing to move: %d free, and no plan frees more",
                        at, event->defrag, plan->before);
    else if (!plan->text && plan->freed < wanted)
        play_note_event(play, event, "at %s: defrag %s frees %d more, and %d were asked for", at,
                        event->defrag, plan->freed, wanted);
}

static void happen_defrag(struct play *play, const struct scenario_event *event, bool over)
{
    const struct scenario *s = play->scenario;
    size_t number = (size_t)(event - s->events.items);
    const char *nodes = event->nodes.count ? event->nodes.items[0] : "max";
    int64_t want = 0;
    (void)over;
    if (strcmp(nodes, "max") != 0)
        (void)tf_parse_int64(nodes, 1, INT32_MAX, &want, NULL); /* checked when it was read */
    struct tf_defrag_order order = {
        .id = {{'d', (uint8_t)(number >> 8), (uint8_t)number}}, .model = event->model, .want = (int32_t)want};
    if (event->room_for)
        room_for(play, event->room_for, &order);
    struct sim_site *site = site_of(play, event->defrag);
    struct tf_defrag_plan plan;
    bool heard = operator_defrags(site, &order, &plan);
    if (plan.moves.count || !heard)
        play_order(play, event, order.id, site, heard);
    else if (plan.text)
        play_fail_event(play, event, "defrag %s: %s", event->defrag, plan.text);
    note_defrag(play, event, &order, &plan);
    tf_defrag_plan_release(&plan);
}

/* Over: what has not got too far is taken back. */
static void happen_migrate(struct play *play, const struct scenario_event *event, bool over)
{
    const struct scenario *s = play->scenario;
    int64_t job = play_job_find(play, event->migrate);
    bool fault = event >= s->faults.items && event < s->faults.items + s->faults.count;
    size_t number = (size_t)(event - (fault ? s->faults.items : s->events.items));
    struct scenario_place place = {.node = ""};
    if (play_moves_job(play, event)) {
        if (job < 0)
            play_fail_event(play, event, "there is no job %s", event->migrate);
        else
            clients_move(&play->world.clients, (size_t)job, over ? NULL : event->to);
        return;
    }
    if (job < 0 || (event->to && scenario_place_parse(event->to, false, &place, NULL))) {
        play_fail_event(play, event, "there is no job %s, or no node %s", event->migrate,
                        event->to ? event->to : "to go to");
        return;
    }
    struct tf_migrate_order order = {.verb = over ? TF_MIGRATE_ABORT : TF_MIGRATE_BEGIN,
                                     .id = {{'m', fault, (uint8_t)(number >> 8), (uint8_t)number}},
                                     .uid = play->world.clients.jobs.items[job].uid,
                                     .all = event->instance < 0,
                                     .index = event->instance < 0 ? 0 : (uint32_t)event->instance,
                                     .to = event->to ? place.node : NULL,
                                     .may_restart = true};
    const struct truth_job *truth = truth_job(&play->truth, order.uid);
    size_t heard = operator_orders_move(&play->world, &order);
    if (!over)
        play_order(play, event, order.id, truth && truth->live > 0 ? truth->site : NULL, heard);
}

static void happen_pause_moves(struct play *play, const struct scenario_event *event, bool over)
{
    operator_pauses_moves(site_of(play, event->pause_moves), !over);
}

static void happen_abort_moves(struct play *play, const struct scenario_event *event, bool over)
{
    (void)over;
    operator_aborts_moves(site_of(play, event->abort_moves));
}

static void happen_drain(struct play *play, const struct scenario_event *event, bool over)
{
    struct tf_drain_order order = drain_order(event);
    TF_AUTO_FREE char *labels = event->labels ? tf_asprintf(TF_BY_LABELS "%s", event->labels) : NULL;
    const char *domain = labels ? labels : event->domain ? event->domain : TF_ALL_DOMAINS;
    operator_drains_domain(site_of(play, event->drain), domain, over ? NULL : &order);
}

/* ---- all ---- */

static happen_f *const happens[SCENARIO_KINDS] = {
    [SCENARIO_NODE] = happen_node,
    [SCENARIO_GPU] = happen_gpu,
    [SCENARIO_FOREIGN] = happen_foreign,
    [SCENARIO_LINK] = happen_link,
    [SCENARIO_CRASH] = happen_crash,
    [SCENARIO_PAUSE] = happen_pause,
    [SCENARIO_HAND_OVER] = happen_hand_over,
    [SCENARIO_RELOAD] = happen_reload,
    [SCENARIO_STORE_AWAY] = happen_store_away,
    [SCENARIO_DUPLICATE] = happen_duplicate,
    [SCENARIO_STORE] = happen_store,
    [SCENARIO_CLOCK_JUMP] = happen_clock_jump,
    [SCENARIO_CORDON] = happen_cordon,
    [SCENARIO_FREEZE] = happen_freeze,
    [SCENARIO_BURN] = happen_burn,
    [SCENARIO_SUBMIT] = happen_user,
    [SCENARIO_DELETE] = happen_user,
    [SCENARIO_HOLD] = happen_user,
    [SCENARIO_RESUME] = happen_user,
    [SCENARIO_RESTART] = happen_user,
    [SCENARIO_LOOK] = happen_user,
    [SCENARIO_SCALE] = happen_scale,
    [SCENARIO_APPLY] = happen_apply,
    [SCENARIO_REPEAT] = happen_repeat,
    [SCENARIO_LATE] = happen_late,
    [SCENARIO_DEFRAG] = happen_defrag,
    [SCENARIO_MIGRATE] = happen_migrate,
    [SCENARIO_PAUSE_MOVES] = happen_pause_moves,
    [SCENARIO_ABORT_MOVES] = happen_abort_moves,
    [SCENARIO_DRAIN] = happen_drain,
};

static void is_over(void *arg, uint64_t tag)
{
    const struct play_event *at = arg;
    (void)tag;
    world_say(&at->play->world, "scenario", "over: %s", scenario_kind_name(scenario_event_kind(at->event)));
    happens[scenario_event_kind(at->event)](at->play, at->event, true);
    free(arg);
}

char *play_event_path(const struct play *play, const struct scenario_event *event)
{
    const struct scenario *s = play->scenario;
    bool fault = event >= s->faults.items && event < s->faults.items + s->faults.count;
    return tf_asprintf("%s[%zu]", fault ? "faults" : "events",
                       (size_t)(event - (fault ? s->faults.items : s->events.items)));
}

void play_happen(struct play *play, const struct scenario_event *event)
{
    enum scenario_kind kind = scenario_event_kind(event);
    if (play->rival && !play_concerns_rival(kind))
        return;
    world_say(&play->world, "scenario", "happens: %s", scenario_kind_name(kind));
    play->world.busy_at = play->world.agenda.now;
    happens[kind](play, event, false);
    if (!event->lasts || kind == SCENARIO_PAUSE)
        return;
    struct play_event over = {play, event};
    sim_agenda_give(&play->world.agenda, (struct tf_mono){play->world.agenda.now.ms + event->lasts}, is_over,
                    tf_memdup(&over, sizeof over));
}
