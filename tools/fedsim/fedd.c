/* SPDX-License-Identifier: Apache-2.0 */
/* The shell of a federation daemon: carries events to the core and its actions out, losing what a crash
 * loses. */
#include "tools/fedsim/fedd.h"

#include "common/base/cleanup.h"
#include "common/wire/attach.h"
#include "federation/core/action.h"
#include "tools/fedsim/client.h"
#include "tools/fedsim/operator.h"
#include "tools/fedsim/renew.h"
#include "tools/fedsim/words.h"
#include "tools/fedsim/world.h"

enum { ARCHIVE_MS_MAX = 20 };

static struct sim_fedd *fedd_of(struct sim_process *process)
{
    return TF_CONTAINER_OF(process, struct sim_fedd, process);
}

/* ---- actions ---- */

static void answer(struct sim_fedd *fedd, const struct fed_reply *reply)
{
    tf_vec_each (request, &fedd->waiting) {
        if (request->number != reply->request)
            continue;
        bool absent = reply->error.code == TF_OK && request->looks && request->version == 0;
        struct sim_answer answer = {.code = absent ? TF_ERR_NOT_FOUND : reply->error.code,
                                    .uid = request->looks ? request->uid : reply->uid,
                                    .version = request->version};
        client_answered(fedd->process.world, request->call, &answer, reply->error.text);
        tf_vec_remove(&fedd->waiting, (size_t)(request - fedd->waiting.items));
        return;
    }
}

static void send_down(struct sim_fedd *fedd, uint64_t number, const struct tf_down *down)
{
    struct sim_world *world = fedd->process.world;
    struct sim_link *link = link_find(world, number);
    if (link)
        audit_told_down(world->audit, link->subd->site->name, down);
    TF_AUTO_BUF bytes = TF_BUF_INIT, words = TF_BUF_INIT;
    struct tf_error err = TF_ERROR_INIT;
    if (tf_wire_down_pack(down, &bytes, &err))
        world_breach(world, "a message down cannot be written: %s", err.text);
    else if (link && link->fedd_open) {
        size_t len = bytes.len;
        link_send(&link->down, tf_buf_take(&bytes), len);
    }
    if (world->diary.mute)
        return;
    words_down(&words, down);
    world_say(world, fedd->process.name, "down link %llu: %s", (unsigned long long)number,
              tf_buf_text(&words));
}

static void close_link(struct sim_fedd *fedd, uint64_t number, const char *why)
{
    struct sim_link *link = link_find(fedd->process.world, number);
    world_say(fedd->process.world, fedd->process.name, "closes link %llu: %s", (unsigned long long)number,
              why);
    if (link)
        link_close_fedd(link);
}

struct archived {
    struct sim_fedd *fedd;
    uint64_t life;
    struct tf_uid uid;
};

static void fedd_step(struct sim_fedd *fedd, struct fed_event event);

static void is_archived(void *arg, uint64_t tag)
{
    struct archived *archived = arg;
    (void)tag;
    struct sim_fedd *fedd = archived->fedd;
    if (fedd->process.life == archived->life && fedd->core)
        fedd_step(fedd, (struct fed_event){.kind = FED_EV_ARCHIVED, .archived = archived->uid});
    free(archived);
}

/* On disk first, then told: a crash between the two archives the job a second time. */
static void archive(struct sim_fedd *fedd, const struct tf_job_record *record)
{
    struct sim_world *world = fedd->process.world;
    struct archived *archived = tf_calloc(1, sizeof *archived);
    *archived = (struct archived){fedd, fedd->process.life, record->uid};
    world_say(world, fedd->process.name, "archives %s/%s as %s", record->tenant, record->name,
              tf_phase_name(record->phase));
    audit_archived(world->audit, record);
    world_tell(world, &(struct sim_fact){.kind = SIM_FACT_ARCHIVED, .archived = record});
    world->busy_at = world->agenda.now;
    struct tf_mono done = {world->agenda.now.ms + tf_rng_range(&world->rng, 0, ARCHIVE_MS_MAX)};
    sim_agenda_give(&world->agenda, done, is_archived, archived);
}

static void perform(struct sim_fedd *fedd, struct fed_action *action)
{
    struct sim_world *world = fedd->process.world;
    switch (action->kind) {
    case FED_ACT_PERSIST:
        process_commit(&fedd->process, action->persist.items, action->persist.count);
        action->persist.items = NULL;
        action->persist.count = 0;
        break;
    case FED_ACT_REPLY:
        answer(fedd, &action->reply);
        break;
    case FED_ACT_SEND:
        send_down(fedd, action->link, &action->send);
        break;
    case FED_ACT_CLOSE:
        close_link(fedd, action->link, action->text);
        break;
    case FED_ACT_ARCHIVE:
        archive(fedd, &action->archive);
        break;
    case FED_ACT_WAKE:
        process_wake_at(&fedd->process, action->wake);
        break;
    case FED_ACT_CONTINUE:
        process_continue(&fedd->process);
        break;
    case FED_ACT_TRACE:
        world_say(world, fedd->process.name, "%s", action->text);
        break;
    case FED_ACT_ALARM:
        world_say(world, fedd->process.name, "ALARM %s", action->text);
        world->alarms++;
        operator_hears(world, action->text);
        break;
    case FED_ACT_NONE:
        break;
    }
}

static void fedd_step(struct sim_fedd *fedd, struct fed_event event)
{
    struct fed_actions actions = fedd->spare; /* a step may come within a step */
    uint64_t life = fedd->process.life;
    fedd->spare = (struct fed_actions){0};
    fedd->core = renew_core(fedd->process.world, &fed_core, fedd->core);
    tf_recorder_event(fedd->process.recorder, process_now(&fedd->process), &event);
    fed_step(fedd->core, process_now(&fedd->process), &event, &actions);
    tf_recorder_actions(fedd->process.recorder, fedd->core, &actions);
    patience_look(fedd);
    size_t crash = process_crash_point(&fedd->process, actions.count);
    for (size_t i = 0; i < actions.count && i < crash && fedd->process.life == life; i++)
        perform(fedd, &actions.items[i]);
    if (crash != SIZE_MAX)
        fedd_crash(fedd, "between two actions");
    tf_vec_each (action, &actions)
        fed_action_release(action);
    actions.count = 0;
    tf_vec_release(&fedd->spare);
    fedd->spare = actions;
}

/* ---- its core's life ---- */

static void held(struct sim_process *process, struct tf_term term)
{
    struct sim_fedd *fedd = fedd_of(process);
    struct fed_event event = {.kind = FED_EV_BOOT};
    event.boot.term = term;
    event.boot.accept_rollback = process->accept_rollback;
    tf_settings_copy(&event.boot.settings, &process->world->settings);
    fedd->core = fed_create(tf_rng_next(&process->world->rng));
    tf_recorder_begin(process->recorder, fedd->core);
    patience_begin(fedd);
    fedd_step(fedd, event);
}

static void record(struct sim_process *process, struct tf_record *record)
{
    fedd_step(fedd_of(process), (struct fed_event){.kind = FED_EV_RECORD, .record = *record});
}

static void loaded(struct sim_process *process)
{
    fedd_step(fedd_of(process), (struct fed_event){.kind = FED_EV_LOADED});
}

static void committed(struct sim_process *process)
{
    fedd_step(fedd_of(process), (struct fed_event){.kind = FED_EV_COMMITTED});
}

static void dropped(struct sim_process *process)
{
    struct sim_fedd *fedd = fedd_of(process);
    sim_situations_count(&process->world->reached, fed_core.reached(fedd->core));
    tf_recorder_end(process->recorder);
    fed_destroy(fedd->core);
    fedd->core = NULL;
    fedd->waiting.count = 0;
    tf_vec_each (link, &process->world->links)
        if ((*link)->fedd == fedd)
            link_close_fedd(*link);
}

static void timer(struct sim_process *process)
{
    fedd_step(fedd_of(process), (struct fed_event){.kind = FED_EV_TIMER});
}

static void continues(struct sim_process *process)
{
    fedd_step(fedd_of(process), (struct fed_event){.kind = FED_EV_CONTINUE});
}

static const struct sim_process_ops ops = {held, record, loaded, committed, dropped, timer, continues};

void fedd_init(struct sim_fedd *fedd, struct sim_world *world, size_t number)
{
    process_init(&fedd->process, world, &ops);
    fedd->number = number;
    fedd->process.store = &world->store;
    fedd->process.owner_name = "leader";
    fedd->process.ttl_ms = world->settings.lease_ttl;
    snprintf(fedd->process.name, sizeof fedd->process.name, "fedd-%zu", number + 1);
    process_record(&fedd->process, &fed_core);
}

void fedd_release(struct sim_fedd *fedd)
{
    process_release(&fedd->process);
    tf_vec_release(&fedd->waiting);
    patience_release(&fedd->patience);
    tf_vec_release(&fedd->spare);
}

void fedd_crash(struct sim_fedd *fedd, const char *why)
{
    process_crash(&fedd->process, why);
}

void fedd_pause(struct sim_fedd *fedd, int64_t ms)
{
    process_pause(&fedd->process, ms);
    tf_vec_each (link, &fedd->process.world->links)
        if ((*link)->fedd == fedd)
            sim_pipe_delay(&(*link)->up, fedd->process.paused_until);
}

void fedd_reload(struct sim_fedd *fedd)
{
    struct fed_event event = {.kind = FED_EV_SETTINGS};
    if (!fedd_leads(fedd))
        return;
    tf_settings_copy(&event.settings, &fedd->process.world->settings);
    fedd_step(fedd, event);
}

bool fedd_leads(const struct sim_fedd *fedd)
{
    return fedd->core && fedd->process.loaded;
}

/* ---- links ---- */

void fedd_hears_up(struct sim_fedd *fedd, struct sim_link *link, const struct sim_packet *packet)
{
    struct sim_world *world = fedd->process.world;
    struct fed_event event = {.kind = FED_EV_UP, .link = link->number};
    struct tf_up up = {0};
    struct tf_error err = TF_ERROR_INIT;
    if (tf_wire_up_unpack(packet->bytes, packet->len, &up, &err)) {
        world_breach(world, "a message up cannot be read: %s", err.text);
        return;
    }
    if (!link->hello && up.kind != TF_UP_HELLO)
        world_breach(world, "a stream does not begin with hello");
    if (up.kind == TF_UP_HELLO) {
        link->hello = true;
        event.kind = FED_EV_LINK_UP;
        event.hello = up.hello;
    } else
        event.up = up;
    fedd_step(fedd, event);
}

void fedd_hears_close(struct sim_fedd *fedd, struct sim_link *link, bool left)
{
    link_close_fedd(link);
    if (link->hello)
        fedd_step(fedd, (struct fed_event){.kind = FED_EV_LINK_DOWN, .link = link->number, .left = left});
}

/* ---- clients ---- */

static uint64_t note_request(struct sim_fedd *fedd, struct sim_request request)
{
    request.number = ++fedd->requests;
    tf_vec_push(&fedd->waiting, request);
    return request.number;
}

/* By its own clock nobody else can lead: it may have stood still for long. */
static bool is_certain(const struct sim_fedd *fedd)
{
    return fedd_leads(fedd) &&
           process_now(&fedd->process).mono.ms < tf_guard_valid_until(fedd->process.guard).ms;
}

void fedd_request(struct sim_fedd *fedd, uint64_t call, struct fed_event event)
{
    if (!is_certain(fedd)) {
        fed_event_release(&event);
        client_answered(fedd->process.world, call, &(struct sim_answer){.code = TF_ERR_UNAVAILABLE},
                        "it does not lead");
        return;
    }
    event.request = note_request(fedd, (struct sim_request){.call = call});
    fedd_step(fedd, event);
}

/* Said at any moment, it must only be said; at rest the auditor judges it. */
static void explain(struct sim_fedd *fedd, const struct tf_job_record *record)
{
    struct fed_explanation why = {0};
    if (fed_explain(fedd->core, record->tenant, record->name, process_now(&fedd->process), &why, NULL))
        world_breach(fedd->process.world, "I13: job %s/%s cannot be explained", record->tenant, record->name);
    fed_explanation_release(&why);
}

void fedd_look_at(struct sim_fedd *fedd, uint64_t call, const char *tenant, const char *name)
{
    struct fed_event event = {.kind = FED_EV_BARRIER};
    if (!is_certain(fedd)) {
        client_answered(fedd->process.world, call, &(struct sim_answer){.code = TF_ERR_UNAVAILABLE},
                        "it does not lead");
        return;
    }
    const struct tf_job_record *record = fed_job_find(fedd->core, tenant, name);
    struct sim_request request = {.call = call, .looks = true};
    if (record) {
        request.uid = record->uid;
        request.version = record->version;
        explain(fedd, record);
    }
    event.request = note_request(fedd, request);
    fedd_step(fedd, event);
}
