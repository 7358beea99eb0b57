/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what the world is made of and the loop that runs it. What goes wrong in it is chaos.c's; what must
 * never go wrong is the auditor's. */
#include "tools/fedsim/world.h"

#include "common/base/cleanup.h"
#include "subcluster/core/check.h"

#include <stdarg.h>

enum { KEEP_REVISIONS = 200 };

static struct tf_memory_store *make_server(struct sim_world *world)
{
    return tf_memory_store_create(&(struct tf_memory_options){.seed = tf_rng_next(&world->rng),
                                                              .start = world->agenda.now,
                                                              .clock = &world->agenda.now,
                                                              .first = &world->stores_next,
                                                              .keep_revisions = KEEP_REVISIONS});
}

struct tf_uid world_uid(struct sim_world *world)
{
    struct tf_uid uid;
    for (size_t i = 0; i < TF_UID_BYTES; i += sizeof(uint64_t)) {
        uint64_t word = tf_rng_next(&world->rng);
        memcpy(uid.bytes + i, &word, sizeof word);
    }
    return uid;
}

void world_init(struct sim_world *world, uint64_t seed, bool aloud)
{
    *world = (struct sim_world){.seed = seed, .stores_next = TF_MEMORY_ASK};
    tf_rng_init(&world->rng, seed);
    sim_agenda_init(&world->agenda, tf_rng_next(&world->rng));
    sim_diary_init(&world->diary, aloud);
    tf_settings_init(&world->settings);
    world->audit = audit_create();
    world->profile_interval = 500;
    world->loss_cap = 2 * TF_HOUR;
    world->resize_loss = 500;
    world->health = (struct sub_health_rules){15 * TF_SECOND, TF_MINUTE, 1000, 3, 3};
    world->engine_delay_max = 20;
    world->delay_min = 1;
    world->delay_max = 20;
    world->clients.world = world;
    world->store = (struct sim_store){.name = AUDIT_FEDERATION, .prefix = "/tidefed/v1/"};
    world->store.server = make_server(world);
    world->store.empty = tf_memory_store_snapshot(world->store.server);
}

struct sim_fedd *world_add_fedd(struct sim_world *world)
{
    struct sim_fedd *fedd = tf_calloc(1, sizeof *fedd);
    fedd_init(fedd, world, world->fedds.count);
    tf_vec_push(&world->fedds, fedd);
    return fedd;
}

struct sim_site *world_add_site(struct sim_world *world, const char *name, const char *region, size_t subds)
{
    struct sim_site *site = tf_calloc(1, sizeof *site);
    site->world = world;
    site->number = world->sites.count;
    site->name = tf_strdup(name);
    site->region = tf_strdup(region);
    site->fleet.site = site;
    site->prefix = tf_asprintf("/tidefed-local/%s/", name);
    site->store = (struct sim_store){.name = site->name, .prefix = site->prefix};
    site->store.server = make_server(world);
    site->store.empty = tf_memory_store_snapshot(site->store.server);
    tf_vec_push(&world->sites, site);
    for (size_t i = 0; i < world->fedds.count; i++)
        (void)tf_vec_add(&world->ways);
    for (size_t i = 0; i < subds; i++) {
        struct sim_subd *subd = tf_calloc(1, sizeof *subd);
        subd_init(subd, site, i);
        tf_vec_push(&site->subds, subd);
    }
    return site;
}

static void joins(void *arg, uint64_t tag)
{
    fleet_node_joins(arg, (size_t)tag);
}

void world_add_node(struct sim_site *site, struct tf_node *node, int64_t at)
{
    if (at > 0)
        node->state = TF_NODE_LOST;
    audit_node(site->world->audit, site->name, node);
    fleet_add_node(&site->fleet, node, at > 0);
    if (at > 0)
        sim_agenda_in(&site->world->agenda, at, joins, &site->fleet, site->fleet.nodes.count - 1);
}

static void start(struct sim_process *process)
{
    if (!process->reserve)
        process_start(process);
}

void world_start(struct sim_world *world)
{
    tf_vec_each (fedd, &world->fedds)
        start(&(*fedd)->process);
    tf_vec_each (site, &world->sites) {
        audit_cluster(world->audit, (*site)->name, (*site)->region);
        tf_vec_each (subd, &(*site)->subds)
            start(&(*subd)->process);
    }
}

/* ---- the loop ---- */

static struct tf_mono earlier(struct tf_mono a, struct tf_mono b)
{
    return a.ms < b.ms ? a : b;
}

static void ask(struct sim_world *world, struct sim_store *store)
{
    world->stores_next = earlier(world->stores_next, tf_memory_store_next(store->server));
}

static struct tf_mono stores_next(struct sim_world *world)
{
    if (world->stores_next.ms != TF_MEMORY_ASK.ms)
        return world->stores_next;
    world->stores_next = TF_NEVER;
    ask(world, &world->store);
    tf_vec_each (site, &world->sites)
        ask(world, &(*site)->store);
    return world->stores_next;
}

static void look(struct sim_world *world, struct sim_store *store)
{
    struct tf_mono next = tf_memory_store_next(store->server);
    if (next.ms <= world->agenda.now.ms) {
        tf_memory_store_advance(store->server, world->agenda.now);
        store_look(world, store);
        next = tf_memory_store_next(store->server);
    }
    world->stores_next = earlier(world->stores_next, next);
}

/* One store's answer may lead to a request to another that was looked at: that one lowers stores_next. */
static void look_at_stores(struct sim_world *world)
{
    world->stores_next = TF_NEVER;
    look(world, &world->store);
    tf_vec_each (site, &world->sites)
        look(world, &(*site)->store);
}

static void listen_to_auditor(struct sim_world *world)
{
    const char *breach = audit_breach(world->audit);
    if (breach && !world->breached && world->check != SIM_CHECK_OFF)
        world_breach(world, "%s", breach);
}

static void advance(struct sim_world *world, struct tf_mono now)
{
    world->agenda.now = now;
    audit_now(world->audit, now);
    if (stores_next(world).ms <= now.ms)
        look_at_stores(world);
    sim_agenda_step(&world->agenda);
    if (world->links.count > world->sites.count)
        links_sweep(world);
    listen_to_auditor(world);
}

bool world_run(struct sim_world *world, struct tf_mono until, int64_t quiet)
{
    while (!world->breached) {
        struct tf_mono next = earlier(sim_agenda_next(&world->agenda), stores_next(world));
        world->rests = quiet > 0 && next.ms > world->busy_at.ms + quiet;
        if (next.ms > until.ms || world->rests)
            break;
        next = next.ms > world->agenda.now.ms ? next : world->agenda.now;
        if (world->watch)
            world->watch(world->watch_arg, next);
        advance(world, next);
    }
    return !world->breached;
}

void world_idle(struct sim_world *world, struct tf_mono until)
{
    if (until.ms <= world->agenda.now.ms)
        return;
    world->agenda.now = until;
    audit_now(world->audit, until);
}

/* ---- listeners ---- */

void world_listen(struct sim_world *world, sim_hear_f *hear, void *arg)
{
    tf_vec_push(&world->listeners, (struct sim_listener){hear, arg});
}

void world_tell(struct sim_world *world, const struct sim_fact *fact)
{
    tf_vec_each (listener, &world->listeners)
        listener->hear(listener->arg, fact);
}

void world_check(const struct sim_world *world)
{
    tf_vec_each (site, &world->sites)
        tf_vec_each (subd, &(*site)->subds)
            if ((*subd)->core)
                sub_check((*subd)->core);
}

/* ---- words ---- */

void world_say(struct sim_world *world, const char *who, const char *fmt, ...)
{
    char text[500];
    va_list args;
    if (world->diary.mute)
        return;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    sim_diary_add(&world->diary, world->agenda.now, who, "%s", text);
}

void world_breach(struct sim_world *world, const char *fmt, ...)
{
    char text[800];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (world->breached)
        return;
    world->breached = true;
    audit_fail(world->audit, "%s", text);
    sim_diary_add(&world->diary, world->agenda.now, "BREACH", "%s", text);
}

/* ---- finding ---- */

struct sim_way *world_way(struct sim_world *world, size_t site, size_t fedd)
{
    return &world->ways.items[site * world->fedds.count + fedd];
}

struct sim_fedd *world_leader(struct sim_world *world)
{
    tf_vec_each (fedd, &world->fedds)
        if (fedd_leads(*fedd))
            return *fedd;
    return NULL;
}

const struct sim_nature *world_nature(const struct sim_world *world, struct tf_uid uid)
{
    static const struct sim_nature quiet = {.start_max = TF_SECOND, .stop_max = SIM_STOP_MS};
    const struct sim_job *job = clients_job(&world->clients, uid);
    return job ? &job->nature : &quiet;
}

const char *world_id(const struct tf_instance_id *id, char text[SIM_ID_TEXT])
{
    char uid[TF_UID_TEXT];
    tf_uid_format(id->uid, uid);
    snprintf(text, SIM_ID_TEXT, "%.6s/%llu/%u.%u", uid, (unsigned long long)id->epoch, id->index,
             id->attempt);
    return text;
}

/* ---- end ---- */

static void site_destroy(struct sim_site *site)
{
    tf_vec_each (subd, &site->subds) {
        subd_release(*subd);
        free(*subd);
    }
    tf_vec_release(&site->subds);
    for (size_t i = 0; i < SIM_OLD_PACKETS; i++)
        free(site->old[i].bytes);
    fleet_release(&site->fleet);
    store_release(&site->store);
    tf_planes_release(&site->planes);
    free(site->prefix);
    free(site->region);
    free(site->name);
    free(site);
}

static void links_destroy(struct sim_world *world)
{
    tf_vec_each (link, &world->links)
        link_destroy(*link);
    tf_vec_each (link, &world->dead_links)
        link_destroy(*link);
    tf_vec_release(&world->links);
    tf_vec_release(&world->dead_links);
}

void world_release(struct sim_world *world)
{
    tf_vec_each (fedd, &world->fedds) {
        fedd_release(*fedd);
        free(*fedd);
    }
    tf_vec_release(&world->fedds);
    tf_vec_each (site, &world->sites)
        site_destroy(*site);
    tf_vec_release(&world->sites);
    links_destroy(world);
    tf_vec_release(&world->ways);
    store_release(&world->store);
    clients_release(&world->clients);
    operator_release(world);
    tf_vec_release(&world->listeners);
    tf_settings_release(&world->settings);
    audit_destroy(world->audit);
    sim_diary_release(&world->diary);
    sim_agenda_release(&world->agenda);
}
