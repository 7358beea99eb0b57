/* SPDX-License-Identifier: Apache-2.0 */
/* The table of jobs and the life of one:
 *
 *     Pending -> (placed) -> Starting -> Running -> Stopping -> Pending | Held | Succeeded | Failed | Deleted
 *
 * Every change of a record is made here or by the requests, and ends in fed_job_settle, which looks at the
 * record alone, so that a restart files each job as before. */
#include "federation/core/jobs.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "federation/core/cluster.h"
#include "federation/core/cross.h"
#include "federation/core/desired.h"
#include "federation/core/ledger.h"
#include "federation/core/mix.h"
#include "federation/core/outbox.h"
#include "federation/core/queue.h"
#include "federation/core/refusals.h"
#include "federation/core/reservations.h"
#include "federation/core/retention.h"
#include "federation/core/tenants.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

enum {
    MESSAGE_BYTES = 1000, /* kept of what a subcluster says of an end */
    OUTPUT_BYTES = 16 * 1024,
    COUNTER_MAX = 1 << 30, /* what a peer adds to stays within what can be stored */
};

/* ---- the table ---- */

struct name_key {
    const char *tenant, *name;
};

/* By tenant, then by name. A job's key is at hand where what its record points to is not. */
static int job_name_cmp(const void *key, const struct tf_tree_node *node)
{
    const struct name_key *k = key;
    const char *tenant = k->tenant, *at = TF_CONTAINER_OF(node, const struct job, by_name)->key;
    while (*tenant && *tenant != '/' && *tenant == *at)
        tenant++, at++;
    int order = (unsigned char)*tenant - (*at == '/' ? 0 : (unsigned char)*at);
    return order ? order : strcmp(k->name, at + 1);
}

int fed_jobs_cmp(const struct tf_tree_node *a, const struct tf_tree_node *b)
{
    const struct tf_job_record *r = &TF_CONTAINER_OF(a, const struct job, by_name)->record;
    struct name_key key = {r->tenant, r->name};
    return job_name_cmp(&key, b);
}

struct job *fed_job_by_name(const struct fed *fed, const char *tenant, const char *name)
{
    struct name_key key = {tenant, name};
    struct tf_tree_node *node = tf_tree_find(&fed->jobs, &key, job_name_cmp);
    return node ? TF_CONTAINER_OF(node, struct job, by_name) : NULL;
}

struct job *fed_job_after(const struct fed *fed, const char *tenant, const char *name)
{
    struct name_key key = {tenant, name};
    struct tf_tree_node *node = tf_tree_after(&fed->jobs, &key, job_name_cmp);
    return node ? TF_CONTAINER_OF(node, struct job, by_name) : NULL;
}

struct job *fed_job_by_key(const struct fed *fed, const char *key)
{
    char tenant[FED_KEY_MAX];
    const char *slash = strchr(key, '/');
    assert(slash && (size_t)(slash - key) < sizeof tenant);
    memcpy(tenant, key, (size_t)(slash - key));
    tenant[slash - key] = '\0';
    return fed_job_by_name(fed, tenant, slash + 1);
}

struct job *fed_job_by_uid(const struct fed *fed, struct tf_uid uid)
{
    struct job *job = NULL;
    HASH_FIND(by_uid, fed->jobs_by_uid, &uid, sizeof uid, job);
    return job;
}

struct job *fed_job_first(const struct fed *fed)
{
    struct tf_tree_node *node = tf_tree_first(&fed->jobs);
    return node ? TF_CONTAINER_OF(node, struct job, by_name) : NULL;
}

struct job *fed_job_following(const struct job *job)
{
    struct tf_tree_node *node = tf_tree_next(&job->by_name);
    return node ? TF_CONTAINER_OF(node, struct job, by_name) : NULL;
}

struct job *fed_job_add(struct fed *fed, struct tf_job_record *record)
{
    struct job *job = tf_calloc(1, sizeof *job);
    job->record = *record;
    memset(record, 0, sizeof *record);
    snprintf(job->key, sizeof job->key, "%s/%s", job->record.tenant, job->record.name);
    tf_tree_insert(&fed->jobs, &job->by_name);
    HASH_ADD(by_uid, fed->jobs_by_uid, record.uid, sizeof job->record.uid, job);
    tf_vec_each (placement, &job->record.placements)
        fed_cluster_placed(fed_cluster_add(fed, placement->cluster), placement->epoch, job);
    return job;
}

void fed_job_destroy(struct job *job)
{
    tf_job_record_release(&job->record);
    tf_vec_release(&job->refusals);
    if (job->report)
        tf_report_release(job->report);
    free(job->report);
    if (job->coming)
        tf_report_release(job->coming);
    free(job->coming);
    tf_strs_release(&job->decisions);
    if (job->replacement) {
        tf_job_record_release(&job->replacement->record);
        tf_vec_release(&job->replacement->requests);
    }
    free(job->replacement);
    free(job);
}

void fed_job_remove(struct fed *fed, struct job *job)
{
    assert(job->record.placements.count == 0);
    fed_queue_remove(fed, job);
    fed_refusals_clear(fed, job);
    fed_retention_forget(fed, job);
    fed_tenant_discharge(fed, job);
    fed_mix_drop(fed, job);
    fed_cross_drop(fed, job);
    tf_tree_remove(&fed->jobs, &job->by_name);
    HASH_DELETE(by_uid, fed->jobs_by_uid, job);
    fed_job_destroy(job);
}

/* ---- what it is ---- */

bool fed_job_is_waiting(const struct job *job)
{
    const struct tf_job_record *r = &job->record;
    return r->phase == TF_PHASE_PENDING && !r->held && !r->deleted && r->placements.count == 0 &&
           !job->awaited;
}

struct tf_placement *fed_job_placement(struct job *job, uint64_t epoch)
{
    tf_vec_each (placement, &job->record.placements)
        if (placement->epoch == epoch)
            return placement;
    return NULL;
}

const struct tf_placement *fed_job_last_placement(const struct job *job)
{
    size_t count = job->record.placements.count;
    return count ? &job->record.placements.items[count - 1] : NULL;
}

void fed_job_set_phase(struct fed *fed, struct job *job, enum tf_phase phase)
{
    struct tf_job_record *r = &job->record;
    if (r->phase == phase)
        return;
    r->phase = phase;
    r->changed = fed->now.wall;
    if (tf_phase_is_final(phase))
        r->finished = fed->now.wall;
}

/* ---- what happens to it ---- */

/* The last one, or the first. */
static struct tf_placement *add_placement(struct tf_job_record *record, bool first)
{
    struct tf_placement *last = tf_vec_add(&record->placements), *items = record->placements.items;
    if (!first)
        return last;
    memmove(items + 1, items, (record->placements.count - 1) * sizeof *items);
    items[0] = (struct tf_placement){0};
    return items;
}

struct tf_placement *fed_job_place(struct fed *fed, struct job *job, struct cluster *cluster, int32_t size)
{
    bool second = !fed_job_is_waiting(job);
    assert(!second || (tf_cross_is_open(&job->record.cross) && job->record.placements.count == 1));
    tf_vec_each (refusal, &job->record.refusals)
        tf_reached_if(strcmp(refusal->cluster, cluster->record.name) != 0, fed, FED_REFUSED_ELSEWHERE);
    fed_queue_remove(fed, job);
    struct tf_placement *placement = add_placement(&job->record, second);
    placement->epoch = ++fed->epoch;
    fed_touch_epoch(fed);
    placement->cluster = tf_strdup(cluster->record.name);
    placement->size = size;
    placement->phase = TF_PHASE_PENDING;
    placement->placed = fed->now.wall;
    placement->level = TF_LEVEL_FREE;
    cluster->record.highest_epoch = placement->epoch;
    fed_cluster_placed(cluster, placement->epoch, job);
    if (!second)
        tf_str_set(&job->record.message, NULL);
    job->told_to_wait = false;
    return placement;
}

void fed_job_adopt(struct fed *fed, struct job *job, struct cluster *cluster, const struct tf_report *report)
{
    fed_queue_remove(fed, job);
    struct tf_placement *placement = tf_vec_add(&job->record.placements);
    placement->epoch = report->epoch;
    placement->cluster = tf_strdup(cluster->record.name);
    placement->size = report->size;
    placement->model = tf_strdup(report->model);
    placement->phase = TF_PHASE_PENDING;
    placement->placed = report->accepted;
    placement->level = TF_LEVEL_FREE;
    fed_cluster_placed(cluster, placement->epoch, job);
    tf_job_record_event(&job->record, fed->now.wall, report->epoch, "Adopted", "runs in %s",
                        placement->cluster);
    if (job->record.deleted || job->record.held)
        fed_job_release(fed, job, job->record.deleted ? TF_RELEASE_DELETE : TF_RELEASE_HOLD);
    fed_touch_job(fed, job);
}

void fed_job_release_one(struct fed *fed, struct job *job, struct tf_placement *placement,
                         enum tf_release why)
{
    placement->release = why;
    placement->phase = TF_PHASE_STOPPING;
    fed_desired_release(fed_cluster_by_name(fed, placement->cluster), job->record.uid, placement->epoch, why);
}

/* Deleted is the last word; a restart goes on whatever else was asked before. */
static bool is_news(enum tf_release before, enum tf_release why)
{
    return before == TF_RELEASE_NONE || (why == TF_RELEASE_DELETE && before != why) ||
           (why == TF_RELEASE_RESTART && (before == TF_RELEASE_HOLD || before == TF_RELEASE_MOVE));
}

void fed_job_release(struct fed *fed, struct job *job, enum tf_release why)
{
    assert(why != TF_RELEASE_NONE);
    tf_vec_each (placement, &job->record.placements) {
        if (!is_news(placement->release, why))
            continue;
        tf_reached_if(why == TF_RELEASE_DELETE && placement->phase == TF_PHASE_PENDING, fed,
                      FED_DELETE_UNSEEN);
        tf_reached_if(why == TF_RELEASE_RESTART && placement->release == TF_RELEASE_HOLD, fed,
                      FED_RESTART_OVER_HOLD);
        fed_job_release_one(fed, job, placement, why);
    }
    if (job->record.placements.count)
        fed_job_set_phase(fed, job, TF_PHASE_STOPPING);
    fed_cross_give_up(fed, job, TF_CROSS_BY_CHANGE, "all of the job was told to stop");
}

void fed_job_delete(struct fed *fed, struct job *job, const char *event, const char *why)
{
    job->record.deleted = true;
    tf_job_record_event(&job->record, fed->now.wall, 0, event, "%s", why);
    if (tf_is_reservation(job->record.spec)) { /* what its archive tells of why it is over */
        free(job->record.message);
        job->record.message = tf_asprintf("%s: %s", event, why);
    }
    fed_job_release(fed, job, TF_RELEASE_DELETE);
    fed_touch_job(fed, job);
    fed_job_settle(fed, job);
}

/* A placement that was not accepted yet is told with what is left of its grant. */
static void fit_grant(const struct job *job, struct tf_placement *placement)
{
    const struct tf_elastic *e = &job->record.spec->elastic;
    if (placement->phase == TF_PHASE_PENDING && placement->size > e->max)
        placement->size = e->max;
}

void fed_job_tell(struct fed *fed, struct job *job)
{
    tf_vec_each (placement, &job->record.placements) {
        if (placement->release != TF_RELEASE_NONE)
            continue;
        fit_grant(job, placement);
        fed_desired_place(fed, fed_cluster_by_name(fed, placement->cluster), job, placement);
    }
}

bool fed_job_can_step(const struct job *job, int32_t step)
{
    tf_vec_each (placement, &job->record.placements)
        if (placement->release == TF_RELEASE_NONE && placement->size % step != 0)
            return false;
    return true;
}

/* The first `max` bytes of text, on a UTF-8 border. */
static void set_cut(char **to, const char *text, size_t max)
{
    free(*to);
    *to = text ? tf_strndup(text, max) : NULL;
    if (*to)
        tf_utf8_trim(*to);
}

/* What an end means for the job, unless something else was asked of it meanwhile. */
struct end_rule {
    const char *event;
    enum tf_phase phase; /* NONE: back to where it came from */
};
static const struct end_rule end_rules[] = {
    [TF_END_RELEASED] = {"Released", TF_PHASE_NONE}, [TF_END_EVICTED] = {"Evicted", TF_PHASE_NONE},
    [TF_END_FENCED] = {"Fenced", TF_PHASE_NONE},     [TF_END_FINISHED] = {"Succeeded", TF_PHASE_SUCCEEDED},
    [TF_END_FAILED] = {"Failed", TF_PHASE_FAILED},   [TF_END_LOST] = {"Lost", TF_PHASE_NONE},
    [TF_END_REFUSED] = {"Refused", TF_PHASE_NONE},   [TF_END_UNKNOWN] = {"Lost", TF_PHASE_NONE},
};

static void note_end(struct fed *fed, struct job *job, const struct tf_placement *p,
                     const struct tf_ended *ended)
{
    struct tf_job_record *r = &job->record;
    const char *reason = ended->end == TF_END_REFUSED ? tf_reason_name(ended->reason) : "";
    const char *words = ended->message ? ended->message : "";
    const char *comma = *reason && *words ? ", " : "";
    tf_job_record_event(r, fed->now.wall, p->epoch, end_rules[ended->end].event, "in %s%s%s%s%s", p->cluster,
                        *reason || *words ? ": " : "", reason, comma, words);
    bool told = r->deleted && tf_is_reservation(r->spec); /* why it is over, which no release knows */
    if (!fed_cross_is_candidate(job, p->epoch) && !told)
        set_cut(&r->message, ended->message, MESSAGE_BYTES);
}

void fed_job_set_trouble(struct job *job, const struct tf_ended *latest)
{
    set_cut(&job->record.message, latest->message, MESSAGE_BYTES);
    set_cut(&job->record.output, latest->output, OUTPUT_BYTES);
    job->record.exit_code = latest->exit_code;
}

static void count_up(int32_t *counter, int32_t more)
{
    *counter = more > COUNTER_MAX - *counter ? COUNTER_MAX : *counter + more;
}

/* Counters and causes: what of the end stays in the record. */
static void count_end(struct fed *fed, struct job *job, const struct tf_ended *ended)
{
    struct tf_job_record *r = &job->record;
    count_up(&r->retries_used, ended->failures);
    int32_t evictions = ended->evictions ? ended->evictions : ended->end == TF_END_EVICTED;
    count_up(&r->evictions, evictions);
    tf_evicted_add(&r->evicted, fed->now.wall, evictions);
    int64_t lost = ended->lost_gpu_seconds;
    r->lost_gpu_seconds = lost > INT64_MAX - r->lost_gpu_seconds ? INT64_MAX : r->lost_gpu_seconds + lost;
    count_up(&r->losses, ended->end == TF_END_LOST || ended->end == TF_END_UNKNOWN);
    count_up(&r->restarts, job->epoch_restarts);
    job->epoch_restarts = 0;
    if (ended->end != TF_END_FAILED && ended->end != TF_END_FINISHED)
        return;
    r->exit_code = ended->exit_code;
    set_cut(&r->output, ended->output, OUTPUT_BYTES);
}

static void drop_report(struct tf_report **report)
{
    if (*report)
        tf_report_release(*report);
    free(*report);
    *report = NULL;
}

void fed_job_make_last(struct job *job, uint64_t epoch)
{
    struct tf_job_record *r = &job->record;
    size_t at = 0, last = r->placements.count - 1;
    while (r->placements.items[at].epoch != epoch)
        at++;
    struct tf_placement moved = r->placements.items[at];
    r->placements.items[at] = r->placements.items[last];
    r->placements.items[last] = moved;
    count_up(&r->restarts, job->epoch_restarts);
    job->epoch_restarts = 0;
    drop_report(&job->report);
    job->report = job->coming;
    job->coming = NULL;
}

/* Whether the epoch is the job, of which its end then says something: not one that was only to become it, nor
 * one that another has followed. */
static bool is_the_job(const struct job *job, uint64_t epoch)
{
    const struct tf_cross *c = &job->record.cross;
    bool followed = c->state == TF_CROSS_SWITCHED && c->old_epoch == epoch;
    return !followed && !fed_cross_is_candidate(job, epoch);
}

/* What stays in the record of where it was. */
static void note_last(struct tf_job_record *r, const struct tf_placement *p, const struct tf_ended *ended,
                      bool was)
{
    if (p->epoch < r->last_epoch)
        return; /* of two, the later one tells more */
    tf_str_set(&r->last_cluster, p->cluster);
    r->last_epoch = p->epoch;
    if (ended->end != TF_END_REFUSED && was)
        r->last_size = p->size;
}

void fed_job_epoch_ended(struct fed *fed, struct job *job, uint64_t epoch, const struct tf_ended *ended)
{
    struct tf_job_record *r = &job->record;
    struct tf_placement *p = fed_job_placement(job, epoch);
    assert(p && ended->end > TF_END_NONE && ended->end <= TF_END_UNKNOWN);
    struct cluster *cluster = fed_cluster_by_name(fed, p->cluster);
    bool was = is_the_job(job, epoch);
    bool again = p->release == TF_RELEASE_RESTART; /* it goes on with another spec, however this one ended */
    tf_reached_if(p->release != TF_RELEASE_NONE && ended->end != TF_END_RELEASED, fed, FED_ENDED_RELEASED);
    note_end(fed, job, p, ended);
    if (!fed_cross_is_candidate(job, epoch))
        count_end(fed, job, ended);
    if (ended->end == TF_END_REFUSED && was)
        fed_refusals_add(fed, job, cluster, ended->reason, ended->message);
    fed_ledger_drop(fed, cluster, epoch);
    fed_cluster_left(cluster, epoch, job);
    if (was)
        drop_report(&job->report);
    if (fed_cross_is_candidate(job, epoch))
        drop_report(&job->coming);
    note_last(r, p, ended, was);
    tf_placement_release(p);
    tf_vec_remove(&r->placements, (size_t)(p - r->placements.items));
    if (end_rules[ended->end].phase != TF_PHASE_NONE && was && !again && r->placements.count == 0)
        fed_job_set_phase(fed, job, end_rules[ended->end].phase);
    fed_cross_epoch_ended(fed, job, epoch, was && !again, ended);
    fed_touch_job(fed, job);
    fed_job_settle(fed, job);
}

/* In the sums that there are of jobs. */
static void count_in(struct fed *fed, struct job *job)
{
    fed_tenant_charge(fed, job);
    fed_mix_file(fed, job);
}

static void settle(struct fed *fed, struct job *job)
{
    struct tf_job_record *r = &job->record;
    fed_queue_remove(fed, job);
    job->rank = tf_classes_rank(&fed->settings.policy.classes, r->spec->priority);
    if (r->placements.count) {
        count_in(fed, job);
        return;
    }
    if (r->cross.outcome != TF_PHASE_NONE) {
        fed_job_set_phase(fed, job, r->cross.outcome);
        r->cross.outcome = TF_PHASE_NONE;
    }
    if (!tf_phase_is_final(r->phase)) {
        if (r->deleted) /* what may run of it has to be told of first: it would be nobody's */
            fed_job_set_phase(fed, job, job->awaited ? TF_PHASE_STOPPING : TF_PHASE_DELETED);
        else
            fed_job_set_phase(fed, job, r->held ? TF_PHASE_HELD : TF_PHASE_PENDING);
    }
    count_in(fed, job);
    if (tf_phase_is_final(r->phase))
        fed_retention_file(fed, job);
    else if (fed_job_is_waiting(job))
        fed_queue_add(fed, job);
}

void fed_job_settle(struct fed *fed, struct job *job)
{
    settle(fed, job);
    fed_cross_note(fed, job);
    fed_reservation_note(fed, job);
}
