/* SPDX-License-Identifier: Apache-2.0 */
/* Owns how far jobs have come, and ends them when they are done. */
#include "tools/fedsim/labour.h"

#include "tools/fedsim/world.h"

static struct sim_job *job_of(struct sim_world *world, struct tf_uid uid)
{
    const struct sim_job *job = clients_job(&world->clients, uid);
    return job ? &world->clients.jobs.items[job - world->clients.jobs.items] : NULL;
}

/* Those that work: whoever is missing partners does nothing. */
static int32_t at_work(const struct sim_labour *labour)
{
    return labour->step > 1 ? labour->ready / labour->step * labour->step : labour->ready;
}

/* Instance-ms that are done by now. */
static int64_t done_by(const struct sim_labour *labour, struct tf_mono now)
{
    return labour->done + at_work(labour) * (now.ms - labour->since.ms);
}

/* What the last checkpoint at or before now has saved, if it was after `since`. */
static void save(struct sim_labour *labour, struct tf_mono now)
{
    if (!labour->checkpoint_every || !labour->begun.ms)
        return;
    int64_t age = now.ms - labour->begun.ms;
    struct tf_mono last = {now.ms - age % labour->checkpoint_every};
    if (last.ms > labour->since.ms)
        labour->saved = done_by(labour, last);
}

static void come_to(struct sim_labour *labour, struct tf_mono now)
{
    save(labour, now);
    labour->done = done_by(labour, now);
    labour->since = now;
}

static void begin_epoch(struct sim_labour *labour, uint64_t epoch, struct tf_mono now)
{
    labour->epoch = epoch;
    labour->ready = 0;
    labour->done = labour->saved;
    labour->since = now;
    labour->begun = (struct tf_mono){0};
    labour->finished = labour->work && labour->done >= labour->work;
}

static struct tf_mono end_of(const struct sim_labour *labour)
{
    if (labour->finished)
        return labour->since;
    if (labour->run)
        return labour->begun.ms ? (struct tf_mono){labour->begun.ms + labour->run} : TF_NEVER;
    int64_t left = labour->work - labour->done;
    if (left <= 0)
        return labour->since;
    int32_t hands = at_work(labour);
    return hands ? (struct tf_mono){labour->since.ms + (left + hands - 1) / hands} : TF_NEVER;
}

/* A plan is told by its job and its number. */
enum { PLAN_SHIFT = 32 };

static void is_done(void *arg, uint64_t plan)
{
    struct sim_world *world = arg;
    struct sim_job *job = &world->clients.jobs.items[plan >> PLAN_SHIFT];
    if ((uint32_t)job->labour.plans != (uint32_t)plan)
        return;
    come_to(&job->labour, world->agenda.now);
    job->labour.finished = true;
    for (size_t i = 0; i < world->sites.count; i++)
        fleet_finish(&world->sites.items[i]->fleet, job->uid, job->labour.epoch);
}

static void make_plan(struct sim_world *world, struct sim_job *job)
{
    uint64_t number = (uint64_t)(job - world->clients.jobs.items);
    job->labour.plans++;
    sim_agenda_at(&world->agenda, end_of(&job->labour), is_done, world,
                  number << PLAN_SHIFT | job->labour.plans);
}

static void changes(struct sim_world *world, const struct sim_instance *i, int32_t ready)
{
    struct sim_job *job = job_of(world, i->id.uid);
    if (!job || (!job->labour.run && !job->labour.work) || i->id.epoch < job->labour.epoch)
        return;
    struct sim_labour *labour = &job->labour;
    come_to(labour, world->agenda.now);
    if (i->id.epoch > labour->epoch)
        begin_epoch(labour, i->id.epoch, world->agenda.now);
    labour->ready += ready;
    if (ready < 0 && labour->ready == 0)
        labour->done = labour->saved; /* nobody is left who knew the rest */
    if (!labour->begun.ms && labour->ready >= job->manifest.spec.elastic.min)
        labour->begun = world->agenda.now;
    make_plan(world, job);
}

static void hear(void *arg, const struct sim_fact *fact)
{
    const struct sim_instance *i = fact->instance;
    if (fact->kind == SIM_FACT_STARTED)
        changes(arg, i, 0);
    else if (fact->kind == SIM_FACT_READY && i->dies.ms == TF_NEVER.ms)
        changes(arg, i, 1);
    else if (fact->kind == SIM_FACT_STOPPING && i->ready)
        changes(arg, i, -1);
    else if (fact->kind == SIM_FACT_ENDED && i->ready && i->dies.ms == TF_NEVER.ms)
        changes(arg, i, -1);
}

void labour_begin(struct sim_world *world)
{
    world_listen(world, hear, world);
}
