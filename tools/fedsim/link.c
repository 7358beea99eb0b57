/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the streams and what may go wrong on them. What is said on them is subd.c's and fedd.c's. */
#include "tools/fedsim/link.h"

#include "common/base/cleanup.h"
#include "tools/fedsim/world.h"

enum { KEEPALIVE_MIN = 8 * TF_SECOND, KEEPALIVE_MAX = 20 * TF_SECOND };

static void packet_free(void *thing)
{
    struct sim_packet *packet = thing;
    free(packet->bytes);
    free(packet);
}

static void drop(void *arg, void *thing)
{
    (void)arg;
    packet_free(thing);
}

static bool fedd_hears(const struct sim_link *link)
{
    return link->fedd_open && link->fedd->process.life == link->fedd_life;
}

static bool subd_hears(const struct sim_link *link)
{
    return link->subd_open && link->subd->process.life == link->subd_life;
}

static void arrive_up(void *arg, void *thing)
{
    struct sim_link *link = arg;
    struct sim_packet *packet = thing;
    link->world->busy_at = link->world->agenda.now;
    if (fedd_hears(link)) {
        if (packet->bytes)
            fedd_hears_up(link->fedd, link, packet);
        else
            fedd_hears_close(link->fedd, link, packet->left);
    }
    packet_free(packet);
}

static void arrive_down(void *arg, void *thing)
{
    struct sim_link *link = arg;
    struct sim_packet *packet = thing;
    link->world->busy_at = link->world->agenda.now;
    if (subd_hears(link) && packet->bytes)
        subd_hears_down(link->subd, packet);
    else if (subd_hears(link))
        subd_hears_close(link->subd);
    packet_free(packet);
}

static void apply_cut(struct sim_link *link)
{
    const struct sim_way *way = world_way(link->world, link->subd->site->number, link->fedd->number);
    sim_pipe_stop(&link->up, way->up_cut);
    sim_pipe_stop(&link->down, way->down_cut);
}

static void apply_delay(struct sim_link *link)
{
    struct sim_world *world = link->world;
    int64_t delay = world_way(world, link->subd->site->number, link->fedd->number)->delay;
    link->up.delay_min = link->down.delay_min = delay ? delay : world->delay_min;
    link->up.delay_max = link->down.delay_max = delay ? delay : world->delay_max;
}

struct sim_link *link_open(struct sim_world *world, struct sim_subd *subd, struct sim_fedd *fedd)
{
    struct sim_link *link = tf_calloc(1, sizeof *link);
    link->world = world;
    link->number = ++world->links_made;
    link->subd = subd;
    link->fedd = fedd;
    link->subd_life = subd->process.life;
    link->fedd_life = fedd->process.life;
    link->subd_open = link->fedd_open = true;
    sim_pipe_init(&link->up, &world->agenda, arrive_up, drop, link);
    sim_pipe_init(&link->down, &world->agenda, arrive_down, drop, link);
    apply_delay(link);
    sim_pipe_delay(&link->up, fedd->process.paused_until);
    sim_pipe_delay(&link->down, subd->process.paused_until);
    tf_vec_push(&world->links, link);
    return link;
}

struct sim_link *link_find(struct sim_world *world, uint64_t number)
{
    tf_vec_each (link, &world->links)
        if ((*link)->number == number)
            return *link;
    return NULL;
}

static void send(struct sim_pipe *pipe, struct sim_packet what)
{
    struct sim_packet *packet = tf_calloc(1, sizeof *packet);
    *packet = what;
    sim_pipe_put(pipe, packet);
}

void link_send(struct sim_pipe *pipe, char *bytes, size_t len)
{
    send(pipe, (struct sim_packet){.bytes = bytes, .len = len});
}

/* Some of what was under way when an end broke off never arrives. */
static void lose_some(struct sim_link *link, struct sim_pipe *pipe)
{
    size_t count = sim_pipe_count(pipe);
    if (count && tf_rng_below(&link->world->rng, 2))
        sim_pipe_cut_tail(pipe, (size_t)tf_rng_below(&link->world->rng, count + 1));
}

void link_close_subd(struct sim_link *link, bool leaves)
{
    if (!link->subd_open)
        return;
    link->subd_open = false;
    if (!leaves)
        lose_some(link, &link->up);
    send(&link->up, (struct sim_packet){.left = leaves});
}

void link_close_fedd(struct sim_link *link)
{
    if (!link->fedd_open)
        return;
    link->fedd_open = false;
    lose_some(link, &link->down);
    send(&link->down, (struct sim_packet){0});
}

/* ---- cuts ---- */

static void keepalive_gives_up(void *arg, uint64_t tag)
{
    struct sim_world *world = arg;
    struct sim_link *link = link_find(world, tag >> 16);
    if (!link || (link->cuts & 0x7fff) != ((tag >> 1) & 0x7fff))
        return;
    if (!link_is_cut(world, link->subd->site->number, link->fedd->number))
        return;
    bool subds_end = tag & 1;
    if (subds_end && subd_hears(link))
        subd_hears_close(link->subd);
    else if (!subds_end && fedd_hears(link))
        fedd_hears_close(link->fedd, link, false);
}

static void watch(struct sim_link *link, uint64_t subds_end)
{
    struct sim_world *world = link->world;
    uint64_t tag = link->number << 16 | (link->cuts & 0x7fff) << 1 | subds_end;
    sim_agenda_in(&world->agenda, tf_rng_range(&world->rng, KEEPALIVE_MIN, KEEPALIVE_MAX), keepalive_gives_up,
                  world, tag);
}

void link_cut(struct sim_world *world, size_t site, size_t fedd, bool up, bool down)
{
    struct sim_way *way = world_way(world, site, fedd);
    way->up_cut = up;
    way->down_cut = down;
    tf_vec_each (at, &world->links) {
        struct sim_link *link = *at;
        if (link->subd->site->number != site || link->fedd->number != fedd)
            continue;
        apply_cut(link);
        link->cuts++;
        if (up || down) {
            watch(link, 0);
            watch(link, 1);
        }
    }
}

void link_delay(struct sim_world *world, size_t site, size_t fedd, int64_t ms)
{
    world_way(world, site, fedd)->delay = ms;
    tf_vec_each (link, &world->links)
        if ((*link)->subd->site->number == site && (*link)->fedd->number == fedd)
            apply_delay(*link);
}

bool link_is_cut(const struct sim_world *world, size_t site, size_t fedd)
{
    const struct sim_way *way = &world->ways.items[site * world->fedds.count + fedd];
    return way->up_cut || way->down_cut;
}

/* ---- memory ---- */

void link_destroy(struct sim_link *link)
{
    sim_pipe_release(&link->up);
    sim_pipe_release(&link->down);
    free(link);
}

/* The agenda may still name a link's pipes: what is dead lies in a heap of its own until the end. */
void links_sweep(struct sim_world *world)
{
    for (size_t i = world->links.count; i-- > 0;) {
        struct sim_link *link = world->links.items[i];
        if (link->subd_open || link->fedd_open || sim_pipe_count(&link->up) || sim_pipe_count(&link->down))
            continue;
        tf_vec_push(&world->dead_links, link);
        tf_vec_remove(&world->links, i);
    }
}
