/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what users ask of a rival, what engines tell it, and the lives of its jobs. Who is next and where are
 * pass.c's and place.c's. */
#include "tools/fedsim/rival/private.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"

enum { PASS_MS = 1 };

static const struct {
    const char *name;
    enum rival_kind kind;
} names[] = {{"tidefed", RIVAL_NONE},
             {"fifo", RIVAL_FIFO},
             {"static-quota", RIVAL_STATIC_QUOTA},
             {"priority", RIVAL_PRIORITY},
             {"youngest-first", RIVAL_YOUNGEST_FIRST}};

int rival_named(const char *name, enum rival_kind *kind)
{
    for (size_t i = 0; i < TF_ARRAY_LEN(names); i++) {
        if (!tf_str_eq(names[i].name, name))
            continue;
        *kind = names[i].kind;
        return 0;
    }
    return -1;
}

const char *rival_name(enum rival_kind kind)
{
    for (size_t i = 0; i < TF_ARRAY_LEN(names); i++)
        if (names[i].kind == kind)
            return names[i].name;
    return "?";
}

bool rival_is_service(const struct rival_job *job)
{
    return job->manifest.spec.workload == TF_WORKLOAD_INFERENCE;
}

/* ---- passes ---- */

static void pass(void *arg, uint64_t tag)
{
    struct rival *rival = arg;
    (void)tag;
    rival->pass_due = false;
    rival_pass(rival);
}

/* What happens at one moment is looked at together. */
static void pass_soon(struct rival *rival)
{
    if (rival->pass_due)
        return;
    rival->pass_due = true;
    rival->world->busy_at = rival->world->agenda.now;
    sim_agenda_in(&rival->world->agenda, PASS_MS, pass, rival, 0);
}

/* ---- jobs ---- */

static struct rival_job *find(const struct rival *rival, struct tf_uid uid)
{
    struct rival_job *job = NULL;
    HASH_FIND(hh, rival->jobs, &uid, sizeof uid, job);
    return job;
}

static void job_free(struct rival *rival, struct rival_job *job)
{
    HASH_DEL(rival->jobs, job);
    tf_job_manifest_release(&job->manifest);
    tf_vec_release(&job->members);
    free(job);
}

/* Nothing of it runs any more. */
static void conclude(struct rival *rival, struct rival_job *job, enum tf_end end, enum tf_phase then)
{
    job->ending = TF_END_NONE;
    job->over = tf_phase_is_final(then);
    if (job->epoch)
        rival_tell_end(rival, job, job->site, end);
    rival_tell_job(rival, job, then);
    if (job->over)
        job_free(rival, job);
    pass_soon(rival);
}

/* ---- calls to engines ---- */

/* No daemon hears what comes of it: facts do. */
static struct sim_call *call_of(struct rival *rival, size_t site, enum sim_call_kind kind)
{
    struct sim_call *call = tf_calloc(1, sizeof *call);
    call->kind = kind;
    call->owner = 1;
    call->who = rival->world->sites.items[site]->subds.items[0];
    call->life = UINT64_MAX;
    return call;
}

void rival_stops_one(struct rival *rival, struct rival_job *job, struct rival_member *member)
{
    const struct tf_group *group = &job->manifest.spec.group;
    struct sim_call *call = call_of(rival, job->site, SIM_CALL_STOP);
    if (!member->stopping) {
        member->stopping = true;
        call->id = member->id;
        call->stop_delay = group->stop_delay;
        call->grace = group->grace;
        rival_refresh(rival, member->room);
        fleet_call(&rival->world->sites.items[job->site]->fleet, call);
    } else {
        fleet_call_free(call);
    }
}

void rival_stops(struct rival *rival, struct rival_job *job, enum tf_end why, enum tf_phase then)
{
    job->then = then;
    if (!job->members.count) {
        conclude(rival, job, why, then);
        return;
    }
    job->ending = why;
    rival_tell_state(rival, job, job->site, NULL);
    tf_vec_each (m, &job->members)
        rival_stops_one(rival, job, m);
}

static uint32_t free_index(const struct rival_job *job)
{
    for (uint32_t index = 0;; index++) {
        bool taken = false;
        tf_vec_each (m, &job->members)
            taken |= m->id.index == index;
        if (!taken)
            return index;
    }
}

static void start_one(struct rival *rival, struct rival_job *job, const struct rival_place *place)
{
    struct rival_member member = {.id = {job->uid, job->epoch, free_index(job), ++job->attempts},
                                  .room = place->room,
                                  .gpus = place->gpus};
    struct tf_job_spec spec = {0};
    struct sim_call *call = call_of(rival, job->site, SIM_CALL_START);
    tf_job_spec_copy(&spec, &job->manifest.spec);
    call->start =
        (struct sub_start){.id = member.id,
                           .tenant = tf_strdup(job->manifest.tenant),
                           .name = tf_strdup(job->manifest.name),
                           .node = tf_strdup(rival_node(rival, &rival->rooms.items[place->room])->name),
                           .gpus = place->gpus,
                           .group = spec.group};
    spec.group = (struct tf_group){0}; /* the call has it */
    tf_job_spec_release(&spec);
    tf_vec_push(&job->members, member);
    rival_refresh(rival, place->room);
    fleet_call(&rival->world->sites.items[job->site]->fleet, call);
}

void rival_starts(struct rival *rival, struct rival_job *job, const struct rival_places *places)
{
    if (!job->members.count) {
        job->epoch = ++rival->epochs;
        job->site = rival->rooms.items[places->items[0].room].site;
        job->started = rival->world->agenda.now.ms;
        rival_tell_job(rival, job, TF_PHASE_STARTING);
    }
    tf_vec_each (place, places)
        start_one(rival, job, place);
    rival_tell_state(rival, job, job->site, NULL);
}

/* ---- what engines tell ---- */

static void member_ended(struct rival *rival, struct rival_job *job, const struct sim_instance *i)
{
    bool lost = i->state == SIM_LOST, failed = !lost && i->exit_code != 0;
    if (job->ending != TF_END_NONE) {
        if (!job->members.count)
            conclude(rival, job, job->ending, job->then);
        return;
    }
    if (i->stopped)
        return;
    job->failures += failed;
    if (failed && job->failures > job->manifest.spec.retry_limit)
        rival_stops(rival, job, TF_END_FAILED, TF_PHASE_FAILED);
    else if ((lost || failed) && !(rival_is_service(job) && job->members.count))
        rival_stops(rival, job, lost ? TF_END_LOST : TF_END_FAILED, TF_PHASE_PENDING);
    else if (!lost && !failed && !job->members.count)
        conclude(rival, job, TF_END_FINISHED, TF_PHASE_SUCCEEDED);
}

static void hear_ended(struct rival *rival, const struct sim_instance *i)
{
    struct rival_job *job = find(rival, i->id.uid);
    for (size_t k = 0; job && k < job->members.count; k++) {
        if (!tf_instance_id_eq(&job->members.items[k].id, &i->id))
            continue;
        size_t room = job->members.items[k].room;
        tf_vec_remove(&job->members, k);
        rival_refresh(rival, room);
        pass_soon(rival);
        member_ended(rival, job, i);
        return;
    }
}

static void hear(void *arg, const struct sim_fact *fact)
{
    struct rival *rival = arg;
    if (fact->kind == SIM_FACT_ENDED)
        hear_ended(rival, fact->instance);
    if (fact->kind != SIM_FACT_NODE)
        return;
    size_t node = (size_t)(fact->node - fact->site->fleet.nodes.items);
    rival_refresh(rival, rival->first.items[fact->site->number] + node);
    pass_soon(rival);
}

/* ---- what users ask ---- */

static void submit(struct rival *rival, struct fed_submit *asked)
{
    if (find(rival, asked->uid))
        return;
    struct rival_job *job = tf_calloc(1, sizeof *job);
    job->uid = asked->uid;
    tf_job_manifest_copy(&job->manifest, &asked->manifest);
    job->wanted = job->manifest.spec.elastic;
    job->rank = tf_classes_rank(&rival->world->settings.policy.classes, job->manifest.spec.priority);
    job->number = ++rival->submits;
    job->submitted = rival->world->agenda.now.ms;
    HASH_ADD(hh, rival->jobs, uid, sizeof job->uid, job);
    rival_tell_job(rival, job, TF_PHASE_PENDING);
}

/* The latest go. */
static void shrink(struct rival *rival, struct rival_job *job)
{
    size_t stay = 0;
    for (size_t k = 0; k < job->members.count; k++)
        stay += !job->members.items[k].stopping;
    for (size_t k = job->members.count; k-- > 0 && stay > (size_t)job->wanted.max;)
        if (!job->members.items[k].stopping) {
            rival_stops_one(rival, job, &job->members.items[k]);
            stay--;
        }
}

/* A gang has the size with which it started. */
static void scale(struct rival *rival, struct rival_job *job, struct tf_elastic sizes)
{
    job->wanted = sizes;
    if (!rival_is_service(job) || job->ending != TF_END_NONE || !job->members.count)
        return;
    shrink(rival, job);
    rival_tell_state(rival, job, job->site, NULL);
}

static void ask(struct rival *rival, struct rival_job *job, const struct fed_event *event)
{
    switch (event->kind) {
    case FED_EV_SCALE:
        scale(rival, job, event->job.elastic);
        break;
    case FED_EV_HOLD:
        job->held = true;
        if (job->ending == TF_END_NONE)
            rival_stops(rival, job, TF_END_RELEASED, TF_PHASE_HELD);
        break;
    case FED_EV_RESUME:
        job->held = false;
        rival_tell_job(rival, job, TF_PHASE_PENDING);
        break;
    case FED_EV_DELETE:
        job->then = TF_PHASE_DELETED;
        if (job->ending == TF_END_NONE)
            rival_stops(rival, job, TF_END_RELEASED, TF_PHASE_DELETED);
        break;
    default: /* looks */
        break;
    }
}

/* event is taken. */
static void serve(void *arg, uint64_t call, struct fed_event event)
{
    struct rival *rival = arg;
    bool is_submit = event.kind == FED_EV_SUBMIT;
    struct tf_uid uid = is_submit ? event.submit.uid : event.job.uid;
    struct rival_job *job = is_submit ? NULL : find(rival, uid);
    struct sim_answer answer = {.code = TF_OK, .uid = uid};
    if (is_submit && event.submit.restart)
        answer.code = TF_ERR_REFUSED;
    else if (is_submit)
        submit(rival, &event.submit);
    else if (job)
        ask(rival, job, &event);
    else
        answer.code = TF_ERR_NOT_FOUND;
    fed_event_release(&event);
    client_answered(rival->world, call, &answer, answer.code == TF_OK ? "" : "not by this scheduler");
    pass_soon(rival);
}

/* ---- a rival ---- */

static void add_rooms(struct rival *rival, const struct sim_site *site)
{
    tf_vec_push(&rival->first, rival->rooms.count);
    for (size_t node = 0; node < site->fleet.nodes.count; node++) {
        tf_vec_push(&rival->rooms, (struct rival_room){.site = site->number, .node = node, .rank = NO_CLASS});
        rival_refresh(rival, rival->rooms.count - 1);
    }
}

struct rival *rival_create(enum rival_kind kind, struct sim_world *world)
{
    struct rival *rival = tf_calloc(1, sizeof *rival);
    rival->kind = kind;
    rival->world = world;
    tf_vec_each (fedd, &world->fedds)
        (*fedd)->process.reserve = true;
    tf_vec_each (site, &world->sites) {
        tf_vec_each (subd, &(*site)->subds)
            (*subd)->process.reserve = true;
        add_rooms(rival, *site);
    }
    world->serve = serve;
    world->serve_arg = rival;
    audit_mute(world->audit);
    world_listen(world, hear, rival);
    return rival;
}

void rival_quota(struct rival *rival, size_t site, int rank, size_t nodes)
{
    tf_vec_each (room, &rival->rooms) {
        if (room->site != site || room->rank != NO_CLASS || nodes == 0)
            continue;
        room->rank = rank;
        nodes--;
    }
}

void rival_destroy(struct rival *rival)
{
    struct rival_job *job, *next;
    if (!rival)
        return;
    HASH_ITER (hh, rival->jobs, job, next)
        job_free(rival, job);
    tf_vec_release(&rival->queue);
    tf_vec_release(&rival->plan);
    tf_vec_release(&rival->rooms);
    tf_vec_release(&rival->first);
    free(rival);
}
