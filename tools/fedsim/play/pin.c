/* SPDX-License-Identifier: Apache-2.0 */
/* Owns `on`: jobs whose first instances start on named nodes. That is set-up, not scheduling, and the daemons
 * are not asked to help: while such a job starts, others seem to hold all slots but those that it is to have.
 * One job at a time, in the order of their moments; what else is submitted then comes when they have started,
 * or it would be offered those very slots. */
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "tools/fedsim/play/private.h"

#include <stdarg.h>

enum { PATIENCE = 60 * TF_SECOND, HEARD_MARGIN = 100, PROFILES = 2 };

static const struct scenario_job *job_of(const struct play *play, const struct play_pin *pin)
{
    return &play->scenario->jobs.items[pin->number];
}

/* Instances that are to start there. */
static int32_t wanted_on(const struct play *play, const struct play_pin *pin, const struct sim_site *site,
                         const char *node)
{
    int32_t count = 0;
    tf_vec_each (text, &job_of(play, pin)->on) {
        struct scenario_place place;
        bool here = scenario_place_parse(*text, false, &place, NULL) == 0 && tf_str_eq(place.node, node) &&
                    scenario_cluster_find(play->scenario, place.cluster) == (int)site->number;
        count += here;
    }
    return count;
}

static void open_all(struct play *play)
{
    tf_vec_each (site, &play->world.sites)
        for (size_t i = 0; i < (*site)->fleet.nodes.count; i++)
            fleet_node_slots(&(*site)->fleet, i, 0);
}

static void open_only(struct play *play, const struct play_pin *pin)
{
    tf_vec_each (site, &play->world.sites)
        for (size_t i = 0; i < (*site)->fleet.nodes.count; i++) {
            struct sim_fleet *fleet = &(*site)->fleet;
            const struct tf_node *node = &fleet->nodes.items[i].node;
            int32_t taken = fleet_instances_on(fleet, i) + wanted_on(play, pin, *site, node->name);
            fleet_node_slots(fleet, i, node->capacity.slots - taken);
        }
}

static void next_pin(void *arg, uint64_t tag);

static void end_pin(struct play *play)
{
    open_all(play);
    play->pinned++;
    play->pinning = false;
    sim_agenda_in(&play->world.agenda, 0, next_pin, play, 0);
}

static void fail(struct play *play, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Of the job that is being started. */
static void fail(struct play *play, const char *fmt, ...)
{
    char text[400];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    TF_AUTO_FREE char *where = tf_asprintf("jobs[%zu].on", play->pins.items[play->pinned].number);
    play_fail_at(play, where, "%s", text);
}

static void out_of_patience(void *arg, uint64_t number)
{
    struct play *play = arg;
    if (!play->pinning || play->pinned != number)
        return;
    const struct scenario_job *job = job_of(play, &play->pins.items[number]);
    fail(play,
         "job %s/%s cannot be started on the nodes that `on` names: they have no room for it, or others "
         "were there first",
         job->tenant, job->name);
    end_pin(play);
}

static void submit(void *arg, uint64_t number)
{
    struct play *play = arg;
    clients_ask(&play->world.clients, play->pins.items[number].job, SIM_SUBMIT, (struct tf_elastic){0});
}

/* One is being started, or is to be by now. */
static bool is_due(const struct play *play)
{
    return play->pinned < play->pins.count && play->pins.items[play->pinned].at <= play->world.agenda.now.ms;
}

static void submit_others(struct play *play)
{
    tf_vec_each (job, &play->held_back)
        clients_ask(&play->world.clients, *job, SIM_SUBMIT, (struct tf_elastic){0});
    play->held_back.count = 0;
}

static void submit_other(void *arg, uint64_t job)
{
    struct play *play = arg;
    if (is_due(play))
        tf_vec_push(&play->held_back, (size_t)job);
    else
        clients_ask(&play->world.clients, (size_t)job, SIM_SUBMIT, (struct tf_elastic){0});
}

static void next_pin(void *arg, uint64_t tag)
{
    struct play *play = arg;
    struct sim_agenda *agenda = &play->world.agenda;
    (void)tag;
    if (play->pinning)
        return;
    if (!is_due(play))
        submit_others(play);
    if (play->pinned == play->pins.count)
        return;
    const struct play_pin *pin = &play->pins.items[play->pinned];
    if (pin->at > agenda->now.ms) {
        sim_agenda_at(agenda, (struct tf_mono){pin->at}, next_pin, play, 0);
        return;
    }
    play->pinning = true;
    play->pin_starts = 0;
    open_only(play, pin);
    /* the federation must have heard of it */
    sim_agenda_in(agenda, PROFILES * play->world.profile_interval + HEARD_MARGIN, submit, play, play->pinned);
    sim_agenda_in(agenda, PATIENCE, out_of_patience, play, play->pinned);
}

static void check_place(struct play *play, const struct play_pin *pin, const struct sim_instance *i)
{
    const struct scenario_job *job = job_of(play, pin);
    struct scenario_place place;
    if (i->id.index >= job->on.count || scenario_place_parse(job->on.items[i->id.index], false, &place, NULL))
        return;
    if (!tf_str_eq(place.node, i->node))
        fail(play, "instance %u of %s/%s started on %s, and not on %s: name the nodes in another order",
             i->id.index, job->tenant, job->name, i->node, place.node);
}

static void hear(void *arg, const struct sim_fact *fact)
{
    struct play *play = arg;
    if (fact->kind != SIM_FACT_STARTED || !play->pinning)
        return;
    const struct play_pin *pin = &play->pins.items[play->pinned];
    if (!tf_uid_eq(fact->instance->id.uid, play->world.clients.jobs.items[pin->job].uid))
        return;
    check_place(play, pin, fact->instance);
    if (++play->pin_starts >= job_of(play, pin)->on.count)
        end_pin(play);
}

void play_pin_add(struct play *play, size_t number, size_t job)
{
    const struct play_pin pin = {number, job, play->scenario->jobs.items[number].at.from};
    tf_vec_push(&play->pins, pin);
    for (size_t i = play->pins.count - 1; i > 0 && play->pins.items[i - 1].at > pin.at; i--) {
        play->pins.items[i] = play->pins.items[i - 1];
        play->pins.items[i - 1] = pin;
    }
}

bool play_pin_holds_back(struct play *play, size_t job, int64_t at)
{
    bool pins = false;
    tf_vec_each (other, &play->scenario->jobs)
        pins |= other->on.count > 0;
    if (!pins || play->options->rival)
        return false;
    sim_agenda_at(&play->world.agenda, (struct tf_mono){at}, submit_other, play, job);
    return true;
}

void play_pin_begin(struct play *play)
{
    if (play->pins.count == 0)
        return;
    world_listen(&play->world, hear, play);
    sim_agenda_in(&play->world.agenda, 0, next_pin, play, 0);
}
