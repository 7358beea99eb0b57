/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what people do to moves that are under way, whoever has ordered them. */
#include "tools/fedsim/operator.h"
#include "tools/fedsim/world.h"

enum { AGAIN_MIN = TF_SECOND, AGAIN_MAX = 3 * TF_SECOND };

/* The daemon that leads there, if it can be asked: NULL. */
static struct sim_subd *heard_at(const struct sim_site *site)
{
    tf_vec_each (subd, &site->subds)
        if ((*subd)->core && (*subd)->adopted && operator_is_heard(*subd))
            return *subd;
    return NULL;
}

static bool concerns(const struct tf_migration *m, enum tf_migrate_verb verb)
{
    if (tf_migration_is_over(m))
        return false;
    return verb == TF_MIGRATE_ABORT || m->paused == (verb == TF_MIGRATE_RESUME);
}

/* Asks that of every chain that it concerns. Returns how many. */
static size_t ask_all(struct sim_subd *subd, enum tf_migrate_verb verb)
{
    const struct tf_migration *m;
    size_t count = 0;
    for (size_t i = 0; (m = sub_migration_at(subd->core, i)); i++)
        if (concerns(m, verb)) {
            struct tf_migrate_order order = {.verb = verb, .id = m->id};
            const struct tf_ask ask = {.kind = TF_ASK_MIGRATE, .migrate = {&order, 1, 1}};
            operator_asks(subd, &ask);
            count++;
        }
    return count;
}

/* Until nothing is paused as the daemon itself has it. */
static void resume(void *arg, uint64_t tag)
{
    struct sim_site *site = arg;
    struct sim_world *world = site->world;
    struct sim_subd *subd = heard_at(site);
    if (subd && ask_all(subd, TF_MIGRATE_RESUME) == 0)
        return;
    world->busy_at = world->agenda.now;
    sim_agenda_in(&world->agenda, tf_rng_range(&world->rng, AGAIN_MIN, AGAIN_MAX), resume, site, tag);
}

void operator_pauses_moves(struct sim_site *site, bool on)
{
    struct sim_subd *subd = heard_at(site);
    site->world->operator.paused |= on;
    if (!on)
        resume(site, 0);
    else if (subd)
        ask_all(subd, TF_MIGRATE_PAUSE);
}

void operator_aborts_moves(struct sim_site *site)
{
    struct sim_subd *subd = heard_at(site);
    if (subd)
        ask_all(subd, TF_MIGRATE_ABORT);
}
