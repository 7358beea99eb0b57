/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what goes wrong and when. How it goes wrong is in the part of the world that it happens to. */
#include "tools/fedsim/faults.h"

#include "common/base/cleanup.h"

static int64_t between(struct sim_faults *faults, int64_t low, int64_t high)
{
    return tf_rng_range(&faults->world->rng, low, high);
}

static size_t between_size(struct sim_faults *faults, size_t low, size_t high)
{
    return (size_t)between(faults, (int64_t)low, (int64_t)high);
}

static size_t below(struct sim_faults *faults, size_t n)
{
    return (size_t)tf_rng_below(&faults->world->rng, n);
}

/* ---- who and where ---- */

static struct sim_fedd *some_fedd(struct sim_faults *faults)
{
    return faults->world->fedds.items[below(faults, faults->world->fedds.count)];
}

static struct sim_site *some_site(struct sim_faults *faults)
{
    return faults->world->sites.items[below(faults, faults->world->sites.count)];
}

/* More often the one that is active. */
static struct sim_subd *some_subd(struct sim_faults *faults)
{
    struct sim_site *site = some_site(faults);
    tf_vec_each (subd, &site->subds)
        if ((*subd)->core && below(faults, 3))
            return *subd;
    return site->subds.items[below(faults, site->subds.count)];
}

static struct sim_process *some_process(struct sim_faults *faults)
{
    return below(faults, 2) ? &some_fedd(faults)->process : &some_subd(faults)->process;
}

static struct sim_store *some_store(struct sim_faults *faults)
{
    return below(faults, 2) ? &faults->world->store : &some_site(faults)->store;
}

/* ---- processes ---- */

static void comes_back(void *arg, uint64_t tag)
{
    (void)tag;
    operator_starts(arg);
}

static void restart_later(struct sim_faults *faults, struct sim_process *process)
{
    int64_t wait = below(faults, 2) ? between(faults, 1, 500) : between(faults, 500, 15 * TF_SECOND);
    sim_agenda_in(&faults->world->agenda, wait, comes_back, process, 0);
}

static void crash_fedd(struct sim_faults *faults)
{
    struct sim_fedd *fedd = some_fedd(faults);
    fedd_crash(fedd, "killed");
    restart_later(faults, &fedd->process);
}

static void crash_subd(struct sim_faults *faults)
{
    struct sim_subd *subd = some_subd(faults);
    subd_crash(subd, "killed");
    restart_later(faults, &subd->process);
}

/* Whoever has died meanwhile by an armed crash comes back. */
static void look_after(void *arg, uint64_t tag)
{
    struct sim_process *process = arg;
    (void)tag;
    process->crash_armed = false;
    comes_back(arg, 0);
}

static void crash_between(struct sim_faults *faults)
{
    struct sim_process *process = some_process(faults);
    if (!process->has_core)
        return;
    process->crash_armed = true;
    process->crash_before = -1;
    process->crash_steps = (uint32_t)between(faults, 0, 12);
    sim_agenda_in(&faults->world->agenda, between(faults, 500, 10 * TF_SECOND), look_after, process, 0);
}

static void hand_over(struct sim_faults *faults)
{
    process_hand_over(some_process(faults));
}

static void reload(struct sim_faults *faults)
{
    struct sim_fedd *fedd = some_fedd(faults);
    if (!process_is_paused(&fedd->process))
        fedd_reload(fedd);
}

static void pause_one(struct sim_faults *faults)
{
    int64_t ms = below(faults, 2) ? between(faults, 10, 2000) : between(faults, 2000, 15 * TF_SECOND);
    if (below(faults, 2))
        fedd_pause(some_fedd(faults), ms);
    else
        subd_pause(some_subd(faults), ms);
}

/* ---- ways ---- */

struct cut {
    struct sim_world *world;
    size_t site, fedd;
};

static void is_mended(void *arg, uint64_t tag)
{
    struct cut *cut = arg;
    (void)tag;
    link_cut(cut->world, cut->site, cut->fedd, false, false);
    free(cut);
}

static void cut_one(struct sim_faults *faults)
{
    struct sim_world *world = faults->world;
    struct cut *cut = tf_calloc(1, sizeof *cut);
    *cut = (struct cut){world, below(faults, world->sites.count), below(faults, world->fedds.count)};
    size_t how = below(faults, 3);
    world_say(world, "chaos", "the way between %s and %s is cut%s", world->sites.items[cut->site]->name,
              world->fedds.items[cut->fedd]->process.name,
              how == 0   ? " up"
              : how == 1 ? " down"
                         : "");
    link_cut(world, cut->site, cut->fedd, how != 1, how != 0);
    int64_t ms = below(faults, 2) ? between(faults, 100, 5000) : between(faults, 5000, 40 * TF_SECOND);
    sim_agenda_in(&world->agenda, ms, is_mended, cut, 0);
}

static void break_link(struct sim_faults *faults)
{
    subd_break_link(some_subd(faults));
}

/* ---- stores ---- */

static void store_is_well(void *arg, uint64_t tag)
{
    struct sim_store *store = arg;
    (void)tag;
    tf_memory_store_faults(store->server, &(struct tf_memory_faults){.latency_max_ms = 2});
    tf_memory_store_down(store->server, false);
}

static void store_trouble(struct sim_faults *faults)
{
    struct sim_store *store = some_store(faults);
    struct tf_memory_faults trouble = {.latency_max_ms = between(faults, 1, 300),
                                       .late_max_ms = between(faults, 1, 8000)};
    for (int f = TF_MEMORY_NO_FAULT + 1; f < TF_MEMORY_FAULTS; f++)
        trouble.permille[f] = below(faults, 2) ? (uint32_t)between(faults, 0, 250) : 0;
    world_say(faults->world, "chaos", "store of %s has trouble", store->name);
    tf_memory_store_faults(store->server, &trouble);
    sim_agenda_in(&faults->world->agenda, between(faults, 500, 20 * TF_SECOND), store_is_well, store, 0);
}

static void store_down(struct sim_faults *faults)
{
    struct sim_store *store = some_store(faults);
    world_say(faults->world, "chaos", "store of %s is down", store->name);
    tf_memory_store_down(store->server, true);
    sim_agenda_in(&faults->world->agenda, between(faults, 100, 15 * TF_SECOND), store_is_well, store, 0);
}

static void reaches_store(void *arg, uint64_t life)
{
    struct sim_process *process = arg;
    if (process->up && process->client && !process_is_paused(process))
        tf_memory_client_cut(process->client, false);
    (void)life;
}

static void store_cut(struct sim_faults *faults)
{
    struct sim_process *process = some_process(faults);
    if (!process->up)
        return;
    world_say(faults->world, "chaos", "%s is cut off from its store", process->name);
    tf_memory_client_cut(process->client, true);
    sim_agenda_in(&faults->world->agenda, between(faults, 100, 15 * TF_SECOND), reaches_store, process,
                  process->life);
}

/* ---- nodes ---- */

struct node_case {
    struct sim_fleet *fleet;
    size_t node;
};

static void node_returns(void *arg, uint64_t tag)
{
    struct node_case *at = arg;
    (void)tag;
    fleet_node_returns(at->fleet, at->node);
    free(at);
}

static struct node_case *some_node(struct sim_faults *faults)
{
    struct node_case *at = tf_calloc(1, sizeof *at);
    at->fleet = &some_site(faults)->fleet;
    at->node = below(faults, at->fleet->nodes.count);
    return at;
}

static void node_away(struct sim_faults *faults)
{
    struct node_case *at = some_node(faults);
    fleet_node_unreachable(at->fleet, at->node, between(faults, 1, 15) * TF_SECOND);
    sim_agenda_in(&faults->world->agenda, between(faults, 100, 30 * TF_SECOND), node_returns, at, 0);
}

static void node_goes(void *arg, uint64_t tag)
{
    struct node_case *at = arg;
    (void)tag;
    fleet_node_unreachable(at->fleet, at->node, 15 * TF_SECOND);
    free(at);
}

static void node_foreign(struct sim_faults *faults)
{
    struct node_case *at = some_node(faults);
    struct sim_node *node = &at->fleet->nodes.items[at->node];
    uint64_t taken = fleet_free_gpus(at->fleet, at->node) & tf_rng_next(&faults->world->rng);
    fleet_node_foreign(at->fleet, at->node, below(faults, 2) ? taken : node->node.foreign.gpus & taken);
    free(at);
}

static void node_bad(struct sim_faults *faults)
{
    struct node_case *at = some_node(faults);
    uint64_t all = tf_gpu_set_all(at->fleet->nodes.items[at->node].node.capacity.gpus);
    uint64_t bad = all & tf_rng_next(&faults->world->rng) & tf_rng_next(&faults->world->rng);
    fleet_node_bad(at->fleet, at->node, below(faults, 2) ? bad : 0);
    free(at);
}

static void repeat(struct sim_faults *faults)
{
    fleet_repeat(&some_site(faults)->fleet);
}

static void late(struct sim_faults *faults)
{
    struct sim_subd *subd = some_subd(faults);
    for (size_t i = 0; i < 4; i++)
        subd_hears_late(subd);
}

/* The node comes and goes too fast for anyone to believe it. */
static void flap(struct sim_faults *faults)
{
    struct node_case at = {.fleet = &some_site(faults)->fleet};
    at.node = below(faults, at.fleet->nodes.count);
    int64_t ms = 0;
    for (size_t i = between_size(faults, 2, 8); i > 0; i--) {
        struct node_case *goes = tf_memdup(&at, sizeof at), *comes = tf_memdup(&at, sizeof at);
        sim_agenda_in(&faults->world->agenda, ms += between(faults, 1, 1500), node_goes, goes, 0);
        sim_agenda_in(&faults->world->agenda, ms += between(faults, 1, 1500), node_returns, comes, 0);
    }
}

/* ---- people ---- */

/* A copy first, which comes back later. */
static void restore(struct sim_faults *faults)
{
    if (!faults->world->store.backup || below(faults, 4) == 0)
        operator_backs_up(faults->world);
    else
        operator_restores(faults->world, below(faults, 2));
}

static void restore_site(struct sim_faults *faults)
{
    struct sim_site *site = some_site(faults);
    if (!site->store.backup || below(faults, 4) == 0)
        operator_backs_up_site(site);
    else
        operator_restores_site(site);
}

static void burn(struct sim_faults *faults)
{
    site_burns(some_site(faults));
}

static void cordon(struct sim_faults *faults)
{
    operator_cordons(some_site(faults), below(faults, 2));
}

static void wall_jump(struct sim_faults *faults)
{
    process_wall_jumps(some_process(faults), between(faults, -40, 40) * TF_SECOND);
}

/* ---- when ---- */

static const struct {
    const char *name;
    void (*make)(struct sim_faults *faults);
} kinds[SIM_FAULTS] = {
    [SIM_FAULT_CRASH_FEDD] = {"crash of fedd", crash_fedd},
    [SIM_FAULT_CRASH_SUBD] = {"crash of subclusterd", crash_subd},
    [SIM_FAULT_CRASH_BETWEEN] = {"crash between two actions", crash_between},
    [SIM_FAULT_HAND_OVER] = {"hand-over", hand_over},
    [SIM_FAULT_RELOAD] = {"reload", reload},
    [SIM_FAULT_PAUSE] = {"pause", pause_one},
    [SIM_FAULT_CUT] = {"cut", cut_one},
    [SIM_FAULT_BREAK_LINK] = {"broken link", break_link},
    [SIM_FAULT_STORE] = {"store trouble", store_trouble},
    [SIM_FAULT_STORE_DOWN] = {"store down", store_down},
    [SIM_FAULT_STORE_CUT] = {"store cut off", store_cut},
    [SIM_FAULT_NODE] = {"node away", node_away},
    [SIM_FAULT_FOREIGN] = {"foreign use", node_foreign},
    [SIM_FAULT_BAD_GPU] = {"bad GPU", node_bad},
    [SIM_FAULT_REPEAT] = {"repeated event", repeat},
    [SIM_FAULT_LATE] = {"late message", late},
    [SIM_FAULT_RESTORE] = {"restored store", restore},
    [SIM_FAULT_RESTORE_SITE] = {"restored local store", restore_site},
    [SIM_FAULT_BURN] = {"burnt subcluster", burn},
    [SIM_FAULT_CORDON] = {"cordon", cordon},
    [SIM_FAULT_WALL_JUMP] = {"wall clock jump", wall_jump},
    [SIM_FAULT_FLAP] = {"flapping node", flap},
};

const char *sim_fault_name(enum sim_fault fault)
{
    return kinds[fault].name;
}

void faults_init(struct sim_faults *faults, struct sim_world *world)
{
    *faults = (struct sim_faults){.world = world};
    faults->ends.ms = between(faults, 20, below(faults, 20) ? 150 : 600) * TF_SECOND;
    faults->every = INT64_C(300) << below(faults, 8);
    bool calm = below(faults, 6) == 0;
    for (size_t f = 0; f < SIM_FAULTS && !calm; f++)
        faults->kinds |= below(faults, 3) == 0 ? 1U << f : 0;
    if (faults->kinds == 0)
        audit_expect_calm(world->audit);
    world->clients.lose = faults->kinds && below(faults, 2) ? 200 : 0;
    store_is_well(&world->store, 0);
    tf_vec_each (site, &world->sites)
        store_is_well(&(*site)->store, 0);
}

static void next_one(void *arg, uint64_t tag)
{
    struct sim_faults *faults = arg;
    (void)tag;
    if (faults->healed)
        return;
    size_t kind = below(faults, SIM_FAULTS);
    while (!(faults->kinds & 1U << kind))
        kind = (kind + 1) % SIM_FAULTS;
    faults->made[kind]++;
    kinds[kind].make(faults);
    sim_agenda_in(&faults->world->agenda, between(faults, 1, 2 * faults->every), next_one, faults, 0);
}

void faults_start(struct sim_faults *faults)
{
    if (faults->kinds)
        sim_agenda_in(&faults->world->agenda, between(faults, 0, faults->every), next_one, faults, 0);
}

/* ---- healing ---- */

static void heal_process(struct sim_process *process)
{
    process->crash_armed = false; /* one that is paused goes on by itself */
    if (process->up && !process_is_paused(process))
        tf_memory_client_cut(process->client, false);
    sim_agenda_in(&process->world->agenda, 1, comes_back, process, 0);
}

static void heal_site(struct sim_site *site)
{
    operator_cordons(site, false);
    store_is_well(&site->store, 0);
    tf_vec_each (subd, &site->subds)
        heal_process(&(*subd)->process);
    for (size_t i = 0; i < site->fleet.nodes.count; i++) {
        fleet_node_returns(&site->fleet, i);
        if (site->fleet.nodes.items[i].node.bad_gpus)
            fleet_node_bad(&site->fleet, i, 0);
    }
}

void faults_heal(struct sim_faults *faults)
{
    struct sim_world *world = faults->world;
    world_say(world, "chaos", "all faults are healed");
    faults->healed = true;
    world->busy_at = world->agenda.now;
    world->clients.lose = 0;
    store_is_well(&world->store, 0);
    tf_vec_each (fedd, &world->fedds)
        heal_process(&(*fedd)->process);
    tf_vec_each (site, &world->sites)
        heal_site(*site);
    for (size_t s = 0; s < world->sites.count; s++)
        for (size_t f = 0; f < world->fedds.count; f++)
            link_cut(world, s, f, false, false);
}
