/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what people do to a federation, and that they see it through. */
#include "tools/fedsim/operator.h"

#include "tools/fedsim/fleet_private.h"
#include "tools/fedsim/world.h"

#include <string.h>

/* Revisions that a few elections after a restore may use up. */
enum { TERM_MARGIN = 100, AGAIN_MIN = TF_SECOND, AGAIN_MAX = 3 * TF_SECOND };

enum errand_kind { ERRAND_CORDON = 1, ERRAND_FORGET, ERRAND_FREEZE };

/* What is asked of the leader until it is done. One of a kind and site. */
struct errand {
    struct sim_site *site;
    enum errand_kind kind;
    uint64_t call; /* of the last try */
    bool on;       /* CORDON, FREEZE: what it asked */
    int32_t what;  /* FREEZE */
    int64_t lasts; /* FREEZE */
    bool wanted, open;
};

static int64_t soon(struct sim_world *world, int64_t min, int64_t max)
{
    return tf_rng_range(&world->rng, min, max);
}

/* ---- errands ---- */

static struct fed_event freeze_of(const struct errand *errand)
{
    struct fed_event event = {.kind = FED_EV_FREEZE};
    event.freeze.wanted.what = (enum tf_frozen)(errand->on ? errand->what : TF_FROZEN_ALL);
    event.freeze.wanted.cluster = tf_strdup(errand->site->name);
    event.freeze.wanted.reason = tf_strdup("a look at it");
    event.freeze.lasts = errand->lasts;
    event.freeze.on = errand->on;
    return event;
}

static struct fed_event request_of(const struct errand *errand)
{
    if (errand->kind == ERRAND_FREEZE)
        return freeze_of(errand);
    struct fed_event event = {.kind = errand->kind == ERRAND_FORGET ? FED_EV_FORGET : FED_EV_CORDON};
    event.cluster.name = tf_strdup(errand->site->name);
    event.cluster.reason = tf_strdup("a look at it");
    event.cluster.on = errand->on;
    return event;
}

static const char *words_of(const struct errand *errand)
{
    static const char *const words[][2] = {[ERRAND_CORDON] = {"uncordon", "cordon"},
                                           [ERRAND_FORGET] = {"forget", "forget"},
                                           [ERRAND_FREEZE] = {"unfreeze", "freeze"}};
    return words[errand->kind][errand->on];
}

static void try(void *arg, uint64_t tag)
{
    struct errand *errand = arg;
    struct sim_world *world = errand->site->world;
    struct sim_fedd *leader = world_leader(world);
    if (!errand->open || tag != errand->call)
        return;
    world->busy_at = world->agenda.now;
    errand->call = SIM_OPERATOR_CALLS | ++world->operator.calls;
    errand->on = errand->wanted;
    sim_agenda_in(&world->agenda, soon(world, AGAIN_MIN, AGAIN_MAX), try, errand, errand->call);
    if (!leader || process_is_paused(&leader->process))
        return;
    world_say(world, "operator", "%s %s", words_of(errand), errand->site->name);
    if (errand->kind == ERRAND_CORDON && !errand->on)
        audit_cordoned(world->audit, errand->site->name, false);
    fedd_request(leader, errand->call, request_of(errand));
}

static struct errand *errand_of(const struct sim_site *site, enum errand_kind kind)
{
    tf_vec_each (errand, &site->world->operator.errands)
        if ((*errand)->site == site && (*errand)->kind == kind)
            return *errand;
    return NULL;
}

static struct errand *send(struct sim_site *site, enum errand_kind kind, bool wanted)
{
    struct sim_world *world = site->world;
    struct errand *found = errand_of(site, kind);
    if (!found) {
        found = tf_calloc(1, sizeof *found);
        *found = (struct errand){.site = site, .kind = kind};
        tf_vec_push(&world->operator.errands, found);
    }
    found->wanted = wanted;
    if (found->open)
        return found;
    found->open = true;
    sim_agenda_in(&world->agenda, soon(world, 0, TF_SECOND), try, found, found->call);
    return found;
}

static void is_rebuilt(void *arg, uint64_t tag)
{
    struct sim_site *site = arg;
    (void)tag;
    site->dead = false;
    world_say(site->world, "operator", "%s is built anew", site->name);
    tf_vec_each (subd, &site->subds)
        operator_starts(&(*subd)->process);
}

static void is_done(struct errand *errand, enum tf_error_code code)
{
    struct sim_world *world = errand->site->world;
    errand->open = errand->kind != ERRAND_FORGET && errand->on != errand->wanted;
    if (errand->kind == ERRAND_FORGET)
        sim_agenda_in(&world->agenda, soon(world, 0, 10 * TF_SECOND), is_rebuilt, errand->site, 0);
    else if (errand->kind == ERRAND_CORDON && errand->on && errand->wanted && code == TF_OK)
        audit_cordoned(world->audit, errand->site->name, true);
}

bool operator_answered(struct sim_world *world, uint64_t call, const struct sim_answer *answer)
{
    if (!(call & SIM_OPERATOR_CALLS))
        return false;
    tf_vec_each (errand, &world->operator.errands)
        /* a site that no leader has ever seen has nothing to forget */
        if ((*errand)->call == call && (*errand)->open &&
            (answer->code == TF_OK || answer->code == TF_ERR_NOT_FOUND))
            is_done(*errand, answer->code);
    return true;
}

void operator_cordons(struct sim_site *site, bool on)
{
    send(site, ERRAND_CORDON, on);
}

void operator_freezes(struct sim_site *site, int32_t what, int64_t lasts)
{
    struct errand *errand = send(site, ERRAND_FREEZE, true);
    errand->what = what;
    errand->lasts = lasts;
}

void operator_unfreezes(struct sim_site *site)
{
    const struct errand *errand = errand_of(site, ERRAND_FREEZE);
    if (errand && errand->wanted)
        send(site, ERRAND_FREEZE, false);
}

void operator_release(struct sim_world *world)
{
    tf_vec_each (errand, &world->operator.errands)
        free(*errand);
    tf_vec_release(&world->operator.errands);
    tf_vec_release(&world->operator.asked);
    operator_release_drains(world);
}

/* ---- daemons ---- */

static bool is_barred(const struct sim_process *process)
{
    struct sim_world *world = process->world;
    if (process->store == &world->store)
        return world->operator.restoring;
    tf_vec_each (site, &world->sites)
        if (process->store == &(*site)->store)
            return (*site)->dead;
    return false;
}

void operator_starts(struct sim_process *process)
{
    struct sim_operator *operator= & process->world->operator;
    if (process->up || process->guard || process->reserve || is_barred(process))
        return;
    if (process->store == &process->world->store)
        process->accept_rollback = operator->accepting;
    process_start(process);
}

static void starts(void *arg, uint64_t tag)
{
    (void)tag;
    operator_starts(arg);
}

static void start_soon(struct sim_process *process)
{
    sim_agenda_in(&process->world->agenda, soon(process->world, 1, 3 * TF_SECOND), starts, process, 0);
}

/* ---- the federation's store ---- */

void operator_backs_up(struct sim_world *world, int64_t moment)
{
    char key[80];
    tf_vec_each (site, &world->sites) {
        snprintf(key, sizeof key, "subclusters/%s", (*site)->name);
        if (!store_has(&world->store, key) || (*site)->dead)
            return; /* what a copy does not know can never be waited for */
    }
    if (world->operator.restoring || world->operator.accepting || world->operator.unaware)
        return;
    world_say(world, "operator", "makes a copy of the federation's store");
    store_back_up(&world->store, moment);
}

static void start_accepting(struct sim_world *world)
{
    world->operator.accepting = true;
}

void operator_is_accepted(struct sim_process *process)
{
    struct sim_world *world = process->world;
    if (process->accept_rollback && process->store == &world->store)
        world->operator.accepting = false;
    process->accept_rollback = false; /* once */
}

static void is_put_back(void *arg, uint64_t tag)
{
    struct sim_world *world = arg;
    (void)tag;
    world_say(world, "operator", "puts the copy of the federation's store back");
    store_restore(world, &world->store, store_copy(&world->store, world->operator.copy));
    world->operator.restoring = false;
    world->operator.restored++;
    if (!world->operator.unaware)
        start_accepting(world);
    tf_vec_each (fedd, &world->fedds)
        start_soon(&(*fedd)->process);
}

/* Every subcluster has heard of leaders that the copy does not know, and will for a while. */
static bool will_be_found_out(const struct sim_world *world, const struct sim_copy *copy)
{
    tf_vec_each (site, &world->sites)
        if (audit_term(world->audit, (*site)->name).revision < (uint64_t)copy->revision + TERM_MARGIN)
            return false;
    return true;
}

static void stop_fedds(struct sim_world *world)
{
    tf_vec_each (fedd, &world->fedds)
        fedd_crash(*fedd, "is stopped, for a restore");
}

void operator_restores(struct sim_world *world, int64_t moment, bool unaware)
{
    struct sim_operator *operator= & world->operator;
    const struct sim_copy *copy = store_copy(&world->store, moment);
    if (!copy || operator->restoring || operator->accepting || operator->unaware)
        return;
    operator->restoring = true;
    operator->copy = moment;
    operator->unaware = unaware && will_be_found_out(world, copy);
    stop_fedds(world);
    sim_agenda_in(&world->agenda, soon(world, 1, 5 * TF_SECOND), is_put_back, world, 0);
}

static void accepts(void *arg, uint64_t tag)
{
    struct sim_world *world = arg;
    (void)tag;
    const struct sim_fedd *leader = world_leader(world);
    if (world->operator.restoring || world->operator.accepting) {
        sim_agenda_in(&world->agenda, AGAIN_MAX, accepts, world, 0);
        return;
    }
    if (leader && fed_is_open(leader->core))
        return;
    world->operator.unaware = false;
    world->operator.found_out++;
    stop_fedds(world);
    start_accepting(world);
    tf_vec_each (fedd, &world->fedds)
        start_soon(&(*fedd)->process);
}

void operator_hears(struct sim_world *world, const char *alarm)
{
    if (strstr(alarm, "--accept-rollback"))
        sim_agenda_in(&world->agenda, soon(world, 500, 8 * TF_SECOND), accepts, world, 0);
}

/* ---- a subcluster's store ---- */

void operator_backs_up_site(struct sim_site *site, int64_t moment)
{
    if (site->dead)
        return;
    world_say(site->world, "operator", "makes a copy of the store of %s", site->name);
    store_back_up(&site->store, moment);
}

static void stop_site(struct sim_site *site, const char *why)
{
    tf_vec_each (subd, &site->subds)
        subd_crash(*subd, why);
}

static void accepts_site(void *arg, uint64_t tag)
{
    struct sim_site *site = arg;
    (void)tag;
    site->stale_heard = false;
    if (site->dead)
        return;
    stop_site(site, "is started again");
    tf_vec_each (subd, &site->subds) {
        (*subd)->process.accept_rollback = true;
        start_soon(&(*subd)->process);
    }
}

void operator_hears_stale(struct sim_site *site)
{
    struct sim_world *world = site->world;
    if (site->store.restores == 0 || site->stale_heard)
        return;
    site->stale_heard = true;
    world_say(world, "operator", "hears that the engine of %s has had a later owner", site->name);
    sim_agenda_in(&world->agenda, soon(world, 500, 5 * TF_SECOND), accepts_site, site, 0);
}

void operator_restores_site(struct sim_site *site, int64_t moment)
{
    const struct sim_copy *copy = store_copy(&site->store, moment);
    if (site->dead || !copy)
        return;
    stop_site(site, "is stopped, for a restore");
    world_say(site->world, "operator", "puts the copy of the store of %s back", site->name);
    store_restore(site->world, &site->store, copy);
    tf_vec_each (subd, &site->subds) {
        (*subd)->process.accept_rollback = true;
        start_soon(&(*subd)->process);
    }
}

void site_burns(struct sim_site *site)
{
    if (site->dead)
        return;
    world_say(site->world, "operator", "%s burns down", site->name);
    site->dead = true;
    stop_site(site, "burns");
    tf_vec_each (subd, &site->subds)
        sim_pipe_clear(&(*subd)->calls);
    fleet_burns(&site->fleet);
    audit_burnt(site->world->audit, site->name);
    store_wipe(site->world, &site->store);
    send(site, ERRAND_FORGET, true);
}
