/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what is counted as things happen. What it is called and how it is shown is figures.c's. */
#include "tools/fedsim/report/private.h"

#include "common/base/alloc.h"

static const int64_t not_yet = -1;

/* ---- jobs ---- */

static struct report_job *find_job(const struct report *report, struct tf_uid uid)
{
    struct report_job *job = NULL;
    HASH_FIND(hh, report->jobs, &uid, sizeof uid, job);
    return job;
}

static struct report_job *add_job(struct report *report, struct tf_uid uid, const struct sim_job *from)
{
    const struct tf_job_spec *spec = &from->manifest.spec;
    struct report_job *job = tf_calloc(1, sizeof *job);
    job->uid = uid;
    job->class = report_group_named(&report->classes, spec->priority, true);
    job->tenant = report_group_named(&report->tenants, from->manifest.tenant, false);
    job->shape = report_shape_of(report, spec);
    job->wanted = spec->elastic;
    job->gpus = spec->group.shape.gpus;
    job->tide = from->tide;
    job->step = from->labour.step;
    job->loses = spec->workload == TF_WORKLOAD_TRAINING || spec->workload == TF_WORKLOAD_OFFLINE;
    job->checkpoint_every = from->labour.checkpoint_every;
    job->begun = job->short_since = not_yet;
    HASH_ADD(hh, report->jobs, uid, sizeof job->uid, job);
    return job;
}

/* Adds to a counter of all groups of the job. */
#define COUNT(report, job, counter, n)      \
    do {                                    \
        (report)->all.counter += (n);       \
        (job)->class->counter += (n);       \
        (job)->tenant->counter += (n);      \
        if ((job)->cluster)                 \
            (job)->cluster->counter += (n); \
    } while (0)

/* The same of those that a cluster has nothing to do with. */
#define COUNT_ANYWHERE(report, job, counter, n) \
    do {                                        \
        (report)->all.counter += (n);           \
        (job)->class->counter += (n);           \
        (job)->tenant->counter += (n);          \
    } while (0)

/* ---- states ---- */

static enum report_state state_of(const struct report_job *job)
{
    bool over = job->deleted || job->finished || tf_phase_is_final(job->stored);
    if (!job->asked)
        return REPORT_NOWHERE;
    if ((int32_t)job->live.count > job->stopping)
        return job->ran ? REPORT_RUNNING : REPORT_STARTING;
    if (over)
        return REPORT_OVER;
    return job->held || job->stopping > 0 ? REPORT_NOWHERE : REPORT_PENDING;
}

static void note_phase(struct report *report, struct report_job *job)
{
    enum report_state now = state_of(job);
    if (now == job->state)
        return;
    COUNT_ANYWHERE(report, job, pending, (now == REPORT_PENDING) - (job->state == REPORT_PENDING));
    COUNT_ANYWHERE(report, job, running, (now == REPORT_RUNNING) - (job->state == REPORT_RUNNING));
    if (job->gpus > 0 && (now == REPORT_PENDING) != (job->state == REPORT_PENDING))
        report_shape_waits(report, job->shape, now == REPORT_PENDING ? 1 : -1);
    report_integral_add(&job->class->waiting, report->now,
                        (now == REPORT_PENDING) - (job->state == REPORT_PENDING));
    job->state = now;
}

/* What it asks for while the day goes on; of a tide only. */
static void note_tide(struct report *report, struct report_job *job)
{
    bool over = job->deleted || tf_phase_is_final(job->stored);
    bool wants = job->tide && job->asked && !job->held && !over;
    int64_t gpus = wants ? (int64_t)job->wanted.min * job->gpus : 0;
    report_integral_add(&report->tide, report->now, gpus - job->tide_gpus);
    job->tide_gpus = gpus;
}

static void sample_scale(struct report *report, struct report_job *job)
{
    int64_t took = report->now - job->short_since;
    job->short_since = not_yet;
    report_sample(&report->all.scales, took);
    report_sample(&job->class->scales, took);
    report_sample(&job->tenant->scales, took);
    if (job->cluster)
        report_sample(&job->cluster->scales, took);
}

/* What its user asked for at least, and does not have. */
static void note_unmet(struct report *report, struct report_job *job)
{
    bool over = job->deleted || job->finished || tf_phase_is_final(job->stored);
    bool wants = job->asked && !job->held && !over && job->ready < job->wanted.min;
    int64_t gpus = wants ? (int64_t)(job->wanted.min - job->ready) * job->gpus : 0;
    if (job->short_since != not_yet && !wants)
        sample_scale(report, job);
    if (gpus == job->unmet)
        return;
    report_integral_add(&report->all.unmet, report->now, gpus - job->unmet);
    report_integral_add(&job->class->unmet, report->now, gpus - job->unmet);
    report_integral_add(&job->tenant->unmet, report->now, gpus - job->unmet);
    job->unmet = gpus;
}

/* After all that may change whether it waits, and for how much. */
static void note_state(struct report *report, struct report_job *job)
{
    note_phase(report, job);
    note_unmet(report, job);
}

/* GPUs of it that are held in a size that it can use. */
static void note_usable(struct report *report, struct report_job *job)
{
    struct tf_elastic sizes = job->wanted;
    sizes.step = job->step > 0 ? job->step : sizes.step;
    int32_t size = tf_size_align(&sizes, (int32_t)job->live.count);
    int32_t gpus = size * job->gpus;
    if (gpus == job->usable)
        return;
    report_integral_add(&report->all.usable, report->now, gpus - job->usable);
    report_integral_add(&job->class->usable, report->now, gpus - job->usable);
    report_integral_add(&job->tenant->usable, report->now, gpus - job->usable);
    if (job->cluster)
        report_integral_add(&job->cluster->usable, report->now, gpus - job->usable);
    job->usable = gpus;
}

/* Its core is fully ready. */
static void note_running(struct report *report, struct report_job *job)
{
    if (job->ready < job->wanted.min || job->begun != not_yet)
        return;
    job->ran = true;
    job->begun = report->now;
    if (job->waited)
        return;
    job->waited = true;
    int64_t wait = report->now - job->submitted;
    report_sample(&report->all.waits, wait);
    report_sample(&job->class->waits, wait);
    report_sample(&job->tenant->waits, wait);
    report_sample(&job->cluster->waits, wait);
    if (!job->reclaimed)
        return;
    report_sample(&report->all.reclaims, wait);
    report_sample(&job->class->reclaims, wait);
    report_sample(&job->tenant->reclaims, wait);
    report_sample(&job->cluster->reclaims, wait);
}

static void note_completed(struct report *report, struct report_job *job)
{
    int64_t took = job->last_end - job->submitted;
    COUNT(report, job, completed, 1);
    report_sample(&report->all.completions, took);
    report_sample(&job->class->completions, took);
    report_sample(&job->tenant->completions, took);
    if (job->cluster)
        report_sample(&job->cluster->completions, took);
}

/* ---- users ---- */

static void hear_asked(struct report *report, const struct sim_fact *fact)
{
    struct tf_uid uid = fact->verb == SIM_RESTART ? fact->job->again : fact->job->uid;
    struct report_job *job = find_job(report, uid);
    if (fact->verb != SIM_SUBMIT && fact->verb != SIM_SCALE)
        return;
    if (!job)
        job = add_job(report, uid, fact->job);
    if (fact->verb == SIM_SCALE) {
        job->before = job->wanted;
        job->wanted = fact->elastic;
        if (job->short_since == not_yet && job->ran && job->ready < job->wanted.min)
            job->short_since = report->now;
    } else if (!job->asked) {
        job->asked = true;
        job->submitted = report->now;
        COUNT_ANYWHERE(report, job, submitted, 1);
    }
    note_state(report, job);
    note_usable(report, job);
    note_tide(report, job);
}

static void hear_answered(struct report *report, const struct sim_fact *fact)
{
    struct report_job *job = find_job(report, fact->job->uid);
    bool done = fact->code == TF_OK;
    if (!job)
        return;
    if (fact->verb == SIM_DELETE && done && !job->deleted) {
        job->deleted = true;
        COUNT_ANYWHERE(report, job, deleted, 1);
    } else if (fact->verb == SIM_HOLD || fact->verb == SIM_RESUME)
        job->held = done ? fact->verb == SIM_HOLD : job->held;
    else if (fact->verb == SIM_SCALE && !done)
        job->wanted = job->before;
    else if (fact->verb == SIM_SUBMIT && !done && job->asked) {
        job->asked = false;
        COUNT_ANYWHERE(report, job, submitted, -1);
    }
    note_state(report, job);
    note_usable(report, job);
    note_tide(report, job);
}

/* ---- instances ---- */

static struct report_integral *share_of(struct report_group *cluster, const struct report_group *class)
{
    tf_vec_each (share, &cluster->shares)
        if (share->class == class)
            return &share->held;
    struct report_share *share = tf_vec_add(&cluster->shares);
    share->class = class;
    share->held.drawn = true;
    return &share->held;
}

static void hold(struct report *report, struct report_job *job, int64_t gpus)
{
    report_integral_add(&report->all.held, report->now, gpus);
    report_integral_add(&job->class->held, report->now, gpus);
    report_integral_add(&job->tenant->held, report->now, gpus);
    report_integral_add(&job->cluster->held, report->now, gpus);
    report_integral_add(share_of(job->cluster, job->class), report->now, gpus);
}

static void note_index(struct report *report, struct report_job *job, uint32_t index)
{
    size_t word = index / 64;
    uint64_t bit = UINT64_C(1) << index % 64;
    while (job->started.count <= word)
        tf_vec_push(&job->started, 0);
    if (job->started.items[word] & bit)
        COUNT(report, job, restarts, 1);
    job->started.items[word] |= bit;
}

static struct report_live *live_of(const struct report_job *job, const struct tf_instance_id *id)
{
    tf_vec_each (live, &job->live)
        if (tf_instance_id_eq(&live->id, id))
            return live;
    return NULL;
}

/* Another that lives with the same epoch and index. */
static struct report_live *twin_of(const struct report_job *job, const struct report_live *of)
{
    tf_vec_each (live, &job->live)
        if (live != of && live->id.epoch == of->id.epoch && live->id.index == of->id.index)
            return live;
    return NULL;
}

static void begin_epoch(struct report *report, struct report_job *job, const struct sim_fact *fact)
{
    struct report_group *cluster = report_site_of(report, fact->site)->group;
    if (job->cluster != cluster) {
        if (job->cluster)
            report_integral_add(&job->cluster->usable, report->now, -job->usable);
        report_integral_add(&cluster->usable, report->now, job->usable);
        job->cluster = cluster;
    }
    if (fact->instance->id.epoch == job->epoch)
        return;
    job->epoch = fact->instance->id.epoch;
    job->ran = false;
    job->begun = not_yet;
}

static void hear_started(struct report *report, const struct sim_fact *fact)
{
    const struct sim_instance *i = fact->instance;
    struct report_job *job = find_job(report, i->id.uid);
    struct report_site *site = report_site_of(report, fact->site);
    if (!job)
        return;
    begin_epoch(report, job, fact);
    struct report_live live = {.id = i->id,
                               .site = site,
                               .node = report_node_of(&fact->site->fleet, i->node),
                               .gpus = tf_gpu_set_count(i->gpus),
                               .ready = not_yet};
    live.was_free = site->nodes.items[live.node].holds.count == 0;
    tf_vec_push(&job->live, live);
    struct report_live *twin = twin_of(job, &job->live.items[job->live.count - 1]);
    if (twin)
        twin->moving = job->live.items[job->live.count - 1].moving = true;
    note_index(report, job, i->id.index);
    hold(report, job, live.gpus);
    report_node_taken(report, site, live.node, i);
    note_usable(report, job);
    note_state(report, job);
}

static void hear_ready(struct report *report, const struct sim_fact *fact)
{
    struct report_job *job = find_job(report, fact->instance->id.uid);
    struct report_live *live = job ? live_of(job, &fact->instance->id) : NULL;
    if (!live)
        return;
    live->ready = report->now;
    job->ready += fact->instance->dies.ms == TF_NEVER.ms;
    note_running(report, job);
    note_state(report, job);
}

int64_t report_job_evictions(const struct report *report, struct tf_uid uid)
{
    const struct report_job *job = find_job(report, uid);
    return job ? job->evictions : 0;
}

static bool is_claimed(const struct report_site *site, const struct report_live *live, uint64_t gpus)
{
    tf_vec_each (claim, &site->claims)
        if (claim->node == live->node && claim->gpus & gpus)
            return true;
    return false;
}

static bool gives_way(const struct report_job *job, const struct tf_instance_id *id)
{
    tf_vec_each (index, &job->givers)
        if (*index == id->index)
            return true;
    return job->ending == TF_END_EVICTED;
}

static void hear_stopping(struct report *report, const struct sim_fact *fact)
{
    struct report_job *job = find_job(report, fact->instance->id.uid);
    if (!job)
        return;
    job->stopping++;
    job->ready -= fact->instance->ready;
    const struct report_live *live = live_of(job, &fact->instance->id);
    if (live && gives_way(job, &fact->instance->id)) {
        COUNT(report, job, evictions, 1);
        if (job->ending != TF_END_EVICTED) /* the job lives on with less */
            COUNT(report, job, surplus_evicted, 1);
        report_line_count(&job->class->evicted, report->now);
        job->evictions++;
        job->gave = true;
        job->useful = job->useful || is_claimed(live->site, live, fact->instance->gpus);
    }
    note_state(report, job);
}

/* Work that is done again: since the last checkpoint, or since it was ready. */
static void note_loss(struct report *report, struct report_job *job, const struct report_live *live,
                      const struct sim_instance *i)
{
    bool finished = i->state == SIM_EXITED && !i->stopped && i->exit_code == 0;
    bool wanted = i->stopped && job->ending != TF_END_EVICTED && job->ending != TF_END_LOST &&
                  job->ending != TF_END_FAILED;
    if (!job->loses || finished || wanted || live->ready == not_yet || job->begun == not_yet)
        return;
    int64_t from = live->ready, last = not_yet;
    if (job->checkpoint_every > 0)
        last = report->now - (report->now - job->begun) % job->checkpoint_every;
    if (last > from)
        from = last;
    COUNT(report, job, lost, (report->now - from) * live->gpus);
}

/* The old one of two that are one member ends after the new one was ready; or the new one is given up. */
static void note_move(struct report *report, struct report_job *job, const struct report_live *gone)
{
    struct report_live *stays = twin_of(job, gone);
    bool gone_is_new = stays && gone->id.attempt > stays->id.attempt;
    if (!gone->moving || !stays)
        return;
    stays->moving = false;
    if (gone_is_new || stays->ready == not_yet) {
        COUNT(report, job, rolled_back, 1);
        return;
    }
    COUNT(report, job, migrations, 1);
    bool won = gone->gpus > 0 && gone->site->nodes.items[gone->node].holds.count == 1; /* the last there */
    COUNT(report, job, vacated, won - (stays->was_free && stays->gpus > 0));
}

static void hear_ended(struct report *report, const struct sim_fact *fact)
{
    const struct sim_instance *i = fact->instance;
    struct report_job *job = find_job(report, i->id.uid);
    struct report_live *live = job ? live_of(job, &i->id) : NULL;
    if (!live)
        return;
    bool stays = i->dies.ms == TF_NEVER.ms; /* nobody had asked it to stop */
    job->stopping -= !stays;
    job->ready -= stays && i->ready;
    job->last_end = report->now;
    note_loss(report, job, live, i);
    note_move(report, job, live);
    hold(report, job, -live->gpus);
    report_node_left(report, live->site, live->node, &i->id);
    *live = job->live.items[--job->live.count];
    note_usable(report, job);
    note_state(report, job);
}

/* ---- what became durable ---- */

static bool has_placement(const struct tf_job_record *record, uint64_t epoch)
{
    tf_vec_each (p, &record->placements)
        if (p->epoch == epoch)
            return true;
    return false;
}

static void note_final(struct report *report, struct report_job *job, enum tf_phase phase)
{
    if (tf_phase_is_final(job->stored))
        return;
    job->stored = phase;
    if (phase == TF_PHASE_SUCCEEDED)
        note_completed(report, job);
    else if (phase == TF_PHASE_FAILED)
        COUNT(report, job, failed, 1);
}

static void hear_job(struct report *report, const struct tf_job_record *record)
{
    struct report_job *job = find_job(report, record->uid);
    if (!job)
        return;
    if (job->placed && !has_placement(record, job->placed)) {
        /* it may have the next placement already */
        bool goes_on =
            !tf_phase_is_final(record->phase) && record->phase != TF_PHASE_HELD && !record->deleted;
        if (goes_on && !(job->ended == job->placed && job->end == TF_END_REFUSED))
            COUNT(report, job, requeued, 1);
        job->placed = 0;
    }
    tf_vec_each (p, &record->placements) {
        if (p->epoch <= job->placed)
            continue;
        job->placed = p->epoch;
        COUNT_ANYWHERE(report, job, placements, 1);
    }
    if (tf_phase_is_final(record->phase))
        note_final(report, job, record->phase);
    else
        job->stored = record->phase;
    note_state(report, job);
}

static void note_end(struct report *report, struct report_job *job, const struct tf_ended *ended,
                     struct report_group *cluster)
{
    if (ended->epoch <= job->ended)
        return;
    job->ended = ended->epoch;
    job->end = ended->end;
    job->finished = job->finished || ended->end == TF_END_FINISHED;
    if (ended->end == TF_END_REFUSED) {
        COUNT_ANYWHERE(report, job, refused, 1);
        cluster->refused++;
    }
    if (ended->end == TF_END_EVICTED) {
        COUNT(report, job, jobs_evicted, 1);
        COUNT(report, job, redundant, job->gave && !job->useful);
    }
    job->useful = job->gave = false;
}

static void take_claims(struct report_site *site, struct report_job *job, const struct tf_allocation *a)
{
    for (size_t i = site->claims.count; i-- > 0;)
        if (tf_uid_eq(site->claims.items[i].uid, a->uid))
            site->claims.items[i] = site->claims.items[--site->claims.count];
    tf_vec_each (claim, &a->claims) {
        struct report_claim own = {a->uid, report_node_of(&site->site->fleet, claim->node), claim->gpus};
        tf_vec_push(&site->claims, own);
    }
    job->reclaimed = job->reclaimed || a->claims.count > 0;
}

static struct report_site *site_stored(const struct report *report, const struct sim_store *store)
{
    tf_vec_each (site, &report->sites)
        if (&(*site)->site->store == store)
            return *site;
    return NULL;
}

/* It is smaller since an instance was lost: what left with that left for nobody. */
static bool shrank_by_loss(const struct tf_allocation *a)
{
    tf_vec_each (m, &a->members)
        if (m->state == TF_MEMBER_GONE && m->ended.ms && m->ended.ms == a->last_shrink.ms)
            return true;
    return false;
}

/* Who leaves though the max of the job would let it stay leaves for another; one that was never ready had not
 * joined, and gives nothing. */
static void take_givers(struct report_job *job, const struct tf_allocation *a)
{
    int32_t members = 0;
    bool lost = shrank_by_loss(a);
    job->givers.count = 0;
    tf_vec_each (m, &a->members) {
        members += m->state != TF_MEMBER_GONE;
        if (m->state == TF_MEMBER_LEAVING && m->ready.ms && !lost)
            tf_vec_push(&job->givers, m->index);
    }
    if (members > a->spec->elastic.max)
        job->givers.count = 0;
}

static void hear_allocation(struct report *report, const struct sim_fact *fact)
{
    const struct tf_allocation *a = &fact->record->allocation;
    struct report_site *site = site_stored(report, fact->store);
    struct report_job *job = find_job(report, a->uid);
    if (!job || !site)
        return;
    take_claims(site, job, a);
    tf_vec_each (ended, &a->ended)
        note_end(report, job, ended, site->group);
    if (a->phase == TF_ALLOCATION_IDLE) {
        note_state(report, job);
        return;
    }
    job->ending = a->phase == TF_ALLOCATION_ENDING ? a->ending.end : TF_END_NONE;
    take_givers(job, a);
    if (job->sized == a->epoch && job->size != a->size) {
        COUNT(report, job, resizes, 1);
        report_line_count(&job->class->resized, report->now);
    }
    job->sized = a->epoch;
    job->size = a->size;
    note_state(report, job);
}

static void hear_record(struct report *report, const struct sim_fact *fact)
{
    if (fact->record->gone)
        return;
    if (fact->record->kind == TF_RECORD_JOB)
        hear_job(report, &fact->record->job);
    else if (fact->record->kind == TF_RECORD_ALLOCATION)
        hear_allocation(report, fact);
}

static void hear_archived(struct report *report, const struct sim_fact *fact)
{
    struct report_job *job = find_job(report, fact->archived->uid);
    if (!job)
        return;
    note_final(report, job, fact->archived->phase);
    note_state(report, job);
}

/* ---- all ---- */

/* All has been as it is since report->now, and all of that moment has been heard. */
static void come_to(struct report *report, int64_t now)
{
    if (now == report->now)
        return;
    if (now - report->sampled >= report->period || report->samples == 0)
        report_look_at_idle(report);
    report->now = now;
}

static void hear(void *arg, const struct sim_fact *fact)
{
    struct report *report = arg;
    if (report->over)
        return;
    come_to(report, report->world->agenda.now.ms);
    switch (fact->kind) {
    case SIM_FACT_ASKED:
        hear_asked(report, fact);
        break;
    case SIM_FACT_ANSWERED:
        hear_answered(report, fact);
        break;
    case SIM_FACT_STARTED:
        hear_started(report, fact);
        break;
    case SIM_FACT_READY:
        hear_ready(report, fact);
        break;
    case SIM_FACT_STOPPING:
        hear_stopping(report, fact);
        break;
    case SIM_FACT_ENDED:
        hear_ended(report, fact);
        break;
    case SIM_FACT_NODE:
        report_node_changed(report, report_site_of(report, fact->site),
                            (size_t)(fact->node - fact->site->fleet.nodes.items));
        break;
    case SIM_FACT_RECORD:
        hear_record(report, fact);
        break;
    case SIM_FACT_ARCHIVED:
        hear_archived(report, fact);
        break;
    case SIM_FACT_ORDERED:
        break;
    }
}

struct report *report_create(void)
{
    return tf_calloc(1, sizeof(struct report));
}

void report_begin(struct report *report, struct sim_world *world)
{
    report->world = world;
    report->now = report->sampled = world->agenda.now.ms;
    report->all.name = tf_strdup("");
    report->all.there.drawn = report->tide.drawn = true;
    tf_classes_copy(&report->ranks, &world->settings.policy.classes);
    report_fleet_begin(report);
    world_listen(world, hear, report);
}

/* Lines are as long as the run. */
static void close_integral(struct report *report, struct report_integral *integral)
{
    report_integral_add(integral, report->now, 0);
    if (integral->drawn)
        report_line_close(&integral->line, report->now);
}

static void close_lines(struct report *report)
{
    close_integral(report, &report->all.there);
    close_integral(report, &report->tide);
    for (int cause = 0; cause < REPORT_CAUSES; cause++)
        report_line_close(&report->idle[cause], report->now);
    for (struct report_group *class = report->classes; class; class = class->hh.next) {
        close_integral(report, &class->held);
        close_integral(report, &class->waiting);
        report_line_close(&class->evicted, report->now);
        report_line_close(&class->resized, report->now);
    }
    for (struct report_group *cluster = report->clusters; cluster; cluster = cluster->hh.next) {
        close_integral(report, &cluster->there);
        tf_vec_each (share, &cluster->shares)
            close_integral(report, &share->held);
    }
}

void report_end(struct report *report)
{
    come_to(report, report->world->agenda.now.ms);
    report_look_at_idle(report);
    for (struct report_job *job = report->jobs; job; job = job->hh.next)
        if (job->short_since != not_yet)
            sample_scale(report, job);
    close_lines(report);
    report->over = true;
    report->events = report->world->agenda.done;
    report->breached = report->world->breached || audit_breach(report->world->audit);
    report->world = NULL;
}

static void groups_destroy(struct report_group **groups)
{
    struct report_group *group, *next;
    HASH_ITER (hh, *groups, group, next) {
        HASH_DEL(*groups, group);
        report_group_release(group);
        free(group);
    }
}

void report_destroy(struct report *report)
{
    if (!report)
        return;
    struct report_job *job, *next;
    HASH_ITER (hh, report->jobs, job, next) {
        HASH_DEL(report->jobs, job);
        tf_vec_release(&job->started);
        tf_vec_release(&job->live);
        tf_vec_release(&job->givers);
        free(job);
    }
    report_fleet_release(report);
    tf_classes_release(&report->ranks);
    report_line_release(&report->tide.line);
    for (int cause = 0; cause < REPORT_CAUSES; cause++)
        report_line_release(&report->idle[cause]);
    report_group_release(&report->all);
    groups_destroy(&report->classes);
    groups_destroy(&report->tenants);
    groups_destroy(&report->clusters);
    free(report);
}
