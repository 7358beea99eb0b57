/* SPDX-License-Identifier: Apache-2.0 */
/* The users: what they ask, and ask again until they know. */
#include "tools/fedsim/client.h"

#include "common/base/cleanup.h"
#include "tools/fedsim/world.h"

#include <inttypes.h>

enum { PATIENCE_MIN = 2 * TF_SECOND, PATIENCE_MAX = 5 * TF_SECOND, AGAIN_MAX = TF_SECOND };

/* A wish: one verb for one job, asked until it is answered. */
struct wish {
    struct sim_clients *clients;
    size_t job;
    enum sim_verb verb;
    struct tf_elastic sizes; /* of SIM_SCALE */
    char *to;                /* of SIM_MIGRATE */
    bool over;               /* fulfilled, or dropped */
    uint64_t call;           /* the attempt under way */
    struct tf_uid uid;       /* of the job, when that was sent */
    struct tf_uid change;    /* of SIM_APPLY: the same with every attempt */
};

static const char *const verbs[] = {
    [SIM_SUBMIT] = "submit",   [SIM_DELETE] = "delete", [SIM_HOLD] = "hold",   [SIM_RESUME] = "resume",
    [SIM_LOOK] = "look",       [SIM_SCALE] = "scale",   [SIM_APPLY] = "apply", [SIM_RESTART] = "restart",
    [SIM_MIGRATE] = "migrate", [SIM_ABORT] = "abort",
};

static struct sim_job *job_of(const struct wish *wish)
{
    return &wish->clients->jobs.items[wish->job];
}

static struct sim_world *world_of(const struct wish *wish)
{
    return wish->clients->world;
}

static struct tf_mono later(const struct wish *wish, int64_t min, int64_t max)
{
    struct sim_world *world = world_of(wish);
    return (struct tf_mono){world->agenda.now.ms + tf_rng_range(&world->rng, min, max)};
}

static struct wish *wish_in(struct sim_clients *clients, size_t job, enum sim_verb verb, struct tf_mono at);

/* ---- asking ---- */

/* Of its submit: a job that is begun anew has it. */
static struct tf_uid id_of(const struct wish *wish)
{
    const struct sim_job *job = job_of(wish);
    if (wish->verb == SIM_APPLY)
        return wish->change;
    return wish->verb == SIM_RESTART ? job->again : job->uid;
}

static struct fed_event submit_of(const struct wish *wish)
{
    struct fed_event event = {.kind = FED_EV_SUBMIT};
    event.submit.uid = id_of(wish);
    event.submit.apply = wish->verb != SIM_SUBMIT;
    event.submit.restart = wish->verb == SIM_RESTART;
    tf_job_manifest_copy(&event.submit.manifest, &job_of(wish)->manifest);
    return event;
}

static struct fed_event request_of(const struct wish *wish)
{
    static const enum fed_event_kind kinds[] = {
        [SIM_DELETE] = FED_EV_DELETE, [SIM_HOLD] = FED_EV_HOLD,       [SIM_RESUME] = FED_EV_RESUME,
        [SIM_SCALE] = FED_EV_SCALE,   [SIM_MIGRATE] = FED_EV_MIGRATE, [SIM_ABORT] = FED_EV_MIGRATE};
    const struct sim_job *job = job_of(wish);
    if (wish->verb == SIM_SUBMIT || wish->verb == SIM_RESTART || wish->verb == SIM_APPLY)
        return submit_of(wish);
    struct fed_event event = {.kind = kinds[wish->verb]};
    if (wish->verb == SIM_SCALE)
        event.job.elastic = wish->sizes;
    event.job.to = tf_strdup(wish->to);
    event.job.abort = wish->verb == SIM_ABORT;
    event.job.tenant = tf_strdup(job->manifest.tenant);
    event.job.name = tf_strdup(job->manifest.name);
    event.job.uid = wish->uid;
    return event;
}

struct letter {
    struct wish *wish;
    struct sim_fedd *fedd;
    uint64_t starts; /* of fedd, when it was sent: it dies with that process */
    uint64_t call, restores;
    struct sim_answer answer;
    char text[]; /* of the answer */
};

static void arrives_at_fedd(void *arg, uint64_t tag)
{
    struct letter *letter = arg;
    struct sim_fedd *fedd = letter->fedd;
    struct wish *wish = letter->wish;
    (void)tag;
    if (fedd->process.world->serve) {
        fedd->process.world->serve(fedd->process.world->serve_arg, letter->call, request_of(wish));
        free(letter);
        return;
    }
    if (process_is_paused(&fedd->process)) {
        sim_agenda_give(&fedd->process.world->agenda, fedd->process.paused_until, arrives_at_fedd, letter);
        return;
    }
    fedd->process.world->busy_at = fedd->process.world->agenda.now;
    const struct sim_job *job = job_of(wish);
    bool arrives = fedd->process.up && fedd->process.starts == letter->starts;
    if (arrives && wish->verb == SIM_LOOK)
        fedd_look_at(fedd, letter->call, job->manifest.tenant, job->manifest.name);
    else if (arrives)
        fedd_request(fedd, letter->call, request_of(wish));
    free(letter);
}

static void note_asked(const struct wish *wish)
{
    struct audit *audit = world_of(wish)->audit;
    const struct sim_job *job = job_of(wish);
    if (wish->verb == SIM_SUBMIT || wish->verb == SIM_APPLY)
        audit_submit_asked(audit, id_of(wish), &job->manifest);
    else if (wish->verb == SIM_DELETE)
        audit_delete_asked(audit, job->uid);
    else if (wish->verb == SIM_HOLD)
        audit_hold_asked(audit, job->uid);
    else if (wish->verb == SIM_SCALE)
        audit_scale_asked(audit, job->uid);
    else if (wish->verb == SIM_RESTART)
        audit_restart_asked(audit, job->uid, job->again, &job->manifest);
}

static void tell_world(const struct wish *wish, enum sim_fact_kind kind, enum tf_error_code code,
                       const char *text)
{
    world_tell(world_of(wish), &(struct sim_fact){.kind = kind,
                                                  .job = job_of(wish),
                                                  .verb = wish->verb,
                                                  .elastic = wish->sizes,
                                                  .code = code,
                                                  .text = text});
}

static void ask(void *arg, uint64_t tag);

static void out_of_patience(void *arg, uint64_t call)
{
    struct wish *wish = arg;
    if (wish->call == call)
        ask(wish, 0);
}

/* sensible: one that answers, if there is any. */
static struct sim_fedd *some_fedd(struct sim_world *world, bool sensible)
{
    size_t count = world->fedds.count, first = (size_t)tf_rng_below(&world->rng, count);
    for (size_t i = 0; i < count && sensible; i++) {
        struct sim_fedd *fedd = world->fedds.items[(first + i) % count];
        if (fedd->process.up && !process_is_paused(&fedd->process))
            return fedd;
    }
    return world->fedds.items[first];
}

static void ask(void *arg, uint64_t tag)
{
    struct wish *wish = arg;
    struct sim_world *world = world_of(wish);
    struct sim_agenda *agenda = &world->agenda;
    (void)tag;
    if (wish->over)
        return;
    if (wish->verb != SIM_SUBMIT && !job_of(wish)->answered) {
        sim_agenda_at(agenda, later(wish, 0, AGAIN_MAX), ask, wish, 0);
        return;
    }
    struct letter *letter = tf_calloc(1, sizeof *letter);
    letter->wish = wish;
    letter->fedd = some_fedd(world, job_of(wish)->scripted && world->agenda.in_order);
    letter->starts = letter->fedd->process.starts;
    wish->uid = job_of(wish)->uid;
    tf_vec_push(&wish->clients->calls, wish);
    letter->call = wish->call = wish->clients->calls.count;
    world_say(world, "client", "%s %s (call %" PRIu64 " to %s)", verbs[wish->verb],
              job_of(wish)->manifest.name, wish->call, letter->fedd->process.name);
    note_asked(wish);
    tell_world(wish, SIM_FACT_ASKED, TF_OK, "");
    sim_agenda_give(agenda, later(wish, world->delay_min, world->delay_max), arrives_at_fedd, letter);
    sim_agenda_in(agenda, tf_rng_range(&world->rng, PATIENCE_MIN, PATIENCE_MAX), out_of_patience, wish,
                  wish->call);
}

/* ---- what follows an answer ---- */

static void is_over(struct wish *wish)
{
    wish->call = 0;
    wish->over = true;
    wish->clients->open--;
}

static void fulfilled(struct wish *wish)
{
    job_of(wish)->answered |= wish->verb == SIM_SUBMIT;
    is_over(wish);
}

static void is_submitted(struct wish *wish)
{
    struct sim_clients *clients = wish->clients;
    struct sim_job *job = job_of(wish);
    audit_submit_acked(world_of(wish)->audit, job->uid);
    if (job->scripted)
        return;
    wish_in(clients, wish->job, SIM_LOOK, later(wish, 0, 10 * TF_SECOND));
    if (job->delete_after > 0)
        wish_in(clients, wish->job, SIM_DELETE, later(wish, 0, job->delete_after));
    if (job->holds)
        wish_in(clients, wish->job, SIM_HOLD, later(wish, 0, 20 * TF_SECOND));
    if (job->scales) {
        int32_t min = job->manifest.spec.elastic.min;
        struct wish *scale = wish_in(clients, wish->job, SIM_SCALE, later(wish, 0, 20 * TF_SECOND));
        scale->sizes = (struct tf_elastic){min, min, job->manifest.spec.elastic.step};
    }
    if (!tf_uid_is_none(job->again))
        wish_in(clients, wish->job, SIM_RESTART, later(wish, 0, 40 * TF_SECOND));
}

/* A finished job is begun anew under the id of the submit; another goes on under its own. */
static void is_applied(struct wish *wish, const struct sim_answer *answer)
{
    struct tf_uid id = id_of(wish);
    if (!tf_uid_eq(answer->uid, id))
        return;
    audit_submit_acked(world_of(wish)->audit, id);
    job_of(wish)->uid = id;
    world_tell(
        world_of(wish),
        &(struct sim_fact){.kind = SIM_FACT_ASKED, .job = job_of(wish), .verb = SIM_SUBMIT, .text = ""});
}

static void succeeded(struct wish *wish, const struct sim_answer *answer)
{
    struct audit *audit = world_of(wish)->audit;
    if (wish->verb == SIM_SUBMIT)
        is_submitted(wish);
    else if (wish->verb == SIM_DELETE)
        audit_delete_acked(audit, wish->uid);
    else if (wish->verb == SIM_HOLD && !job_of(wish)->scripted)
        wish_in(wish->clients, wish->job, SIM_RESUME, later(wish, 0, 20 * TF_SECOND));
    else if (wish->verb == SIM_RESTART || wish->verb == SIM_APPLY)
        is_applied(wish, answer);
    else if (wish->verb == SIM_LOOK)
        audit_shown(audit, answer->uid, answer->version);
    fulfilled(wish);
}

/* A wish that the federation will not grant, or that has become pointless. */
static bool is_final(const struct wish *wish, enum tf_error_code code)
{
    if (code == TF_ERR_NOT_FOUND)
        return wish->verb != SIM_LOOK || tf_rng_below(&world_of(wish)->rng, 4) == 0;
    return code == TF_ERR_INVALID || code == TF_ERR_REFUSED || code == TF_ERR_CONFLICT;
}

static void take_answer(void *arg, uint64_t tag)
{
    struct letter *letter = arg;
    struct wish *wish = letter->wish;
    (void)tag;
    /* The word of a store that is no more does not get through. */
    if (wish->call == letter->call && letter->restores == world_of(wish)->operator.restored) {
        enum tf_error_code code = letter->answer.code;
        bool done = code == TF_OK, final = !done && is_final(wish, code);
        if (code == TF_ERR_NOT_FOUND && wish->verb != SIM_MIGRATE) /* it may be of the target */
            audit_not_found(world_of(wish)->audit, wish->uid);
        if (code == TF_ERR_CONFLICT && wish->verb == SIM_SUBMIT)
            audit_name_taken(world_of(wish)->audit, wish->uid);
        if (done || final)
            tell_world(wish, SIM_FACT_ANSWERED, code, letter->text);
        if (done)
            succeeded(wish, &letter->answer);
        else if (final)
            fulfilled(wish);
        else
            sim_agenda_at(&world_of(wish)->agenda, later(wish, 0, AGAIN_MAX), ask, wish, 0);
        wish->call = 0;
    }
    free(letter);
}

void client_answered(struct sim_world *world, uint64_t call, const struct sim_answer *answer,
                     const char *text)
{
    struct sim_clients *clients = &world->clients;
    if (operator_answered(world, call, answer))
        return;
    struct wish *wish = clients->calls.items[call - 1];
    world_say(world, "client", "call %" PRIu64 " is answered: %s %s", call, tf_error_code_name(answer->code),
              text);
    if (tf_rng_below(&world->rng, 1000) < clients->lose)
        return;
    struct letter *letter = tf_calloc(1, sizeof *letter + strlen(text) + 1);
    *letter =
        (struct letter){.wish = wish, .call = call, .restores = world->operator.restored, .answer = *answer};
    memcpy(letter->text, text, strlen(text));
    sim_agenda_give(&world->agenda, later(wish, world->delay_min, world->delay_max), take_answer, letter);
}

/* ---- wishes ---- */

static struct wish *wish_in(struct sim_clients *clients, size_t job, enum sim_verb verb, struct tf_mono at)
{
    struct wish *wish = tf_calloc(1, sizeof *wish);
    *wish = (struct wish){.clients = clients, .job = job, .verb = verb};
    clients->open++;
    tf_vec_push(&clients->wishes, wish);
    sim_agenda_at(&clients->world->agenda, at, ask, wish, 0);
    return wish;
}

static struct wish *wish_now(struct sim_clients *clients, size_t job, enum sim_verb verb)
{
    tf_vec_each (at, &clients->wishes) {
        struct wish *other = *at;
        if (other->job == job && other->verb == verb && !other->over)
            is_over(other); /* unanswered: what must not be asked before that waits for the new one */
    }
    return wish_in(clients, job, verb, clients->world->agenda.now);
}

void clients_ask(struct sim_clients *clients, size_t job, enum sim_verb verb, struct tf_elastic sizes)
{
    wish_now(clients, job, verb)->sizes = sizes;
}

void clients_move(struct sim_clients *clients, size_t job, const char *to)
{
    struct wish *wish = wish_in(clients, job, to ? SIM_MIGRATE : SIM_ABORT, clients->world->agenda.now);
    wish->to = tf_strdup(to);
}

static void add_id(struct sim_clients *clients, struct tf_uid uid, size_t job)
{
    struct sim_job_id *id = NULL;
    HASH_FIND(hh, clients->ids, &uid, sizeof uid, id);
    if (id || tf_uid_is_none(uid))
        return;
    id = tf_calloc(1, sizeof *id);
    id->uid = uid;
    id->job = job;
    HASH_ADD(hh, clients->ids, uid, sizeof id->uid, id);
}

const struct sim_job *clients_job(const struct sim_clients *clients, struct tf_uid uid)
{
    struct sim_job_id *id = NULL;
    HASH_FIND(hh, clients->ids, &uid, sizeof uid, id);
    return id ? &clients->jobs.items[id->job] : NULL;
}

void clients_apply(struct sim_clients *clients, size_t job, const char *priority, struct tf_elastic sizes)
{
    struct tf_job_spec *spec = &clients->jobs.items[job].manifest.spec;
    tf_str_set(&spec->priority, priority);
    spec->elastic = sizes;
    struct wish *wish = wish_now(clients, job, SIM_APPLY);
    wish->change = world_uid(clients->world);
    add_id(clients, wish->change, job);
}

void clients_add(struct sim_clients *clients, struct sim_job job, struct tf_mono at)
{
    add_id(clients, job.uid, clients->jobs.count);
    add_id(clients, job.again, clients->jobs.count);
    tf_vec_push(&clients->jobs, job);
    if (at.ms > clients->last.ms)
        clients->last = at;
    wish_in(clients, clients->jobs.count - 1, SIM_SUBMIT, at);
}

void clients_release(struct sim_clients *clients)
{
    tf_vec_each (job, &clients->jobs)
        tf_job_manifest_release(&job->manifest);
    tf_vec_each (wish, &clients->wishes) {
        free((*wish)->to);
        free(*wish);
    }
    struct sim_job_id *id, *next;
    HASH_ITER (hh, clients->ids, id, next) {
        HASH_DEL(clients->ids, id);
        free(id);
    }
    tf_vec_release(&clients->wishes);
    tf_vec_release(&clients->jobs);
    tf_vec_release(&clients->calls);
}
