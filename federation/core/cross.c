/* SPDX-License-Identifier: Apache-2.0 */
/* Owns moves of jobs between subclusters: which of two epochs is the job, and when that changes.
 *
 *     STARTING --ready--> RELEASING --promised--> SWITCHED --old one gone--> DONE
 *        |                    |                      ^
 *        |                 gives up                  | promised before it was asked not to
 *     gives up                v (not ready any more) |
 *        |               WITHDRAWING ----------------+
 *        v                    | declined
 *     ROLLING_BACK <----------+
 *        | new one gone
 *        v
 *     ROLLED_BACK
 *
 *     STOPPING --old one gone--> DONE | ROLLED_BACK       (`migration: restart`: the epochs never overlap)
 *
 * The new epoch is an ordinary placement, which stands before the old one in the record as long as that is
 * the job: whoever asks for the last placement asks for the job. The promise (RELEASING) is the old
 * subcluster's, durable there, and carried out whatever becomes of the link; so from the moment that it may
 * have been given only its answer tells who is the job, and a way back is asked for (WITHDRAWING), never
 * assumed. An old epoch that ends by itself, in any state, leaves the new one as the job. At least one of
 * both is wanted at any time; both are only while this record says so.
 *
 * What a tenant may have (limits) is counted by what its jobs ask for: a move asks for nothing more, so the
 * overlap is excused, and ends by the deadline or with the source's return. A move takes only what is free:
 * nobody has to go for it. */
#include "federation/core/cross.h"

#include "common/base/cleanup.h"
#include "federation/core/candidate.h"
#include "federation/core/cluster.h"
#include "federation/core/desired.h"
#include "federation/core/freeze.h"
#include "federation/core/jobs.h"
#include "federation/core/ledger.h"
#include "federation/core/outbox.h"
#include "federation/core/place.h"
#include "federation/core/reservations.h"
#include "federation/core/trace.h"
#include "federation/core/verbs.h"

#include <assert.h>
#include <inttypes.h>

enum {
    SLACK = TF_MINUTE,       /* beyond the time that a start may take */
    LEAVE_AFTER = TF_MINUTE, /* the old one stops by itself so long after its promise; it is told to before,
                                unless its link is cut */
};

/* ---- the lists: by uid ---- */

static size_t place_of(const struct jobs *list, struct tf_uid uid)
{
    size_t low = 0, high = list->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (tf_uid_cmp(list->items[middle]->record.uid, uid) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* True if it is another than before. */
static bool keep_listed(struct jobs *list, struct job *job, bool wanted)
{
    size_t at = place_of(list, job->record.uid);
    bool listed = at < list->count && list->items[at] == job;
    if (listed == wanted)
        return false;
    if (listed) {
        tf_vec_remove(list, at);
        return true;
    }
    tf_vec_push(list, job);
    memmove(list->items + at + 1, list->items + at, (list->count - 1 - at) * sizeof *list->items);
    list->items[at] = job;
    return true;
}

static void list_as(struct fed *fed, struct job *job, bool goes_on, bool over)
{
    if (keep_listed(&fed->moving, job, goes_on) && !goes_on)
        fed_reservations_move_ended(fed);
    keep_listed(&fed->moved, job, over);
}

void fed_cross_note(struct fed *fed, struct job *job)
{
    const struct tf_cross *c = &job->record.cross;
    bool goes_on = tf_cross_goes_on(c);
    list_as(fed, job, goes_on, !goes_on && c->state != TF_CROSS_NONE);
}

void fed_cross_drop(struct fed *fed, struct job *job)
{
    list_as(fed, job, false, false);
}

void fed_cross_read(struct fed *fed)
{
    for (struct job *job = fed_job_first(fed); job; job = fed_job_following(job))
        fed_cross_note(fed, job);
}

/* ---- steps ---- */

bool fed_cross_is_candidate(const struct job *job, uint64_t epoch)
{
    const struct tf_cross *c = &job->record.cross;
    return (tf_cross_is_open(c) || c->state == TF_CROSS_ROLLING_BACK) && c->new_epoch == epoch;
}

/* What decides how it ends. why: NULL, or other than the one that stands. */
static void blame(struct job *job, enum tf_cross_cause cause, const char *why)
{
    job->record.cross.cause = cause;
    tf_str_set(&job->record.cross.why, why);
}

/* " (asked for by ann: make room)", or nothing if neither is known. */
static void say_wish(const struct tf_cross *c, struct tf_buf *text)
{
    if (!c->user && !c->reason)
        return;
    tf_buf_str(text, " (asked for");
    if (c->user)
        tf_buf_fmt(text, " by %s", c->user);
    tf_buf_fmt(text, "%s%s)", c->reason ? ": " : "", c->reason ? c->reason : "");
}

/* The move is over. */
static void over(struct fed *fed, struct job *job, enum tf_cross_state state)
{
    struct tf_cross *c = &job->record.cross;
    bool done = state == TF_CROSS_DONE;
    TF_AUTO_BUF text = TF_BUF_INIT;
    c->state = state;
    c->ended = fed->now.wall;
    c->deadline = (struct tf_wall){0};
    tf_buf_fmt(&text, "%s %s to %s%s%s", done ? "from" : "not from", c->from, c->to, c->why ? ": " : "",
               c->why ? c->why : "");
    say_wish(c, &text);
    tf_job_record_event(&job->record, fed->now.wall, done ? c->new_epoch : c->old_epoch,
                        done ? "Moved" : "MoveEnded", "%s", tf_buf_text(&text));
    (done ? fed->moves_over.done : fed->moves_over.rolled_back)[c->cause]++;
    fed_trace_job(fed, job, "its move from %s to %s is %s%s%s", c->from, c->to, done ? "done" : "rolled back",
                  c->why ? ": " : "", c->why ? c->why : "");
    tf_reached_if(done, fed, FED_CROSS_DONE);
    tf_reached_if(!done, fed, FED_CROSS_ROLLED_BACK);
    fed_touch_job(fed, job);
    fed_cross_note(fed, job);
}

/* The old one is told what is wanted of it by now. */
static void tell_old(struct fed *fed, struct job *job)
{
    const struct tf_placement *old = fed_job_placement(job, job->record.cross.old_epoch);
    if (old && old->release == TF_RELEASE_NONE)
        fed_desired_place(fed, fed_cluster_by_name(fed, old->cluster), job, old);
}

static void set_state(struct fed *fed, struct job *job, enum tf_cross_state state)
{
    struct tf_cross *c = &job->record.cross;
    c->state = state;
    fed_trace_job(fed, job, "its move from %s to %s is %s%s%s", c->from, c->to, tf_cross_state_name(state),
                  c->why ? ": " : "", c->why ? c->why : "");
    fed_touch_job(fed, job);
}

/* The new epoch is to go; e is the job, as before. */
static void roll_back(struct fed *fed, struct job *job)
{
    struct tf_cross *c = &job->record.cross;
    struct tf_placement *new = fed_job_placement(job, c->new_epoch);
    if (!new) {
        over(fed, job, TF_CROSS_ROLLED_BACK);
        return;
    }
    set_state(fed, job, TF_CROSS_ROLLING_BACK);
    if (new->release == TF_RELEASE_NONE)
        fed_job_release_one(fed, job, new, TF_RELEASE_MOVE);
}

/* The old one may have promised by now: it is asked not to, and its word decides. */
static void withdraw(struct fed *fed, struct job *job)
{
    tf_reached(fed, FED_CROSS_WITHDRAWN);
    set_state(fed, job, TF_CROSS_WITHDRAWING);
    tell_old(fed, job);
}

void fed_cross_give_up(struct fed *fed, struct job *job, enum tf_cross_cause cause, const char *why)
{
    const struct tf_cross *c = &job->record.cross;
    if (c->state != TF_CROSS_STARTING && c->state != TF_CROSS_RELEASING)
        return;
    blame(job, cause, why);
    if (c->state == TF_CROSS_STARTING)
        roll_back(fed, job);
    else
        withdraw(fed, job);
}

/* Whatever is known of the old one's promise: the new epoch is the job from now on. */
static void switch_over(struct fed *fed, struct job *job)
{
    struct tf_cross *c = &job->record.cross;
    struct tf_placement *old = fed_job_placement(job, c->old_epoch);
    c->deadline = (struct tf_wall){0};
    blame(job, TF_CROSS_BY_NOTHING, NULL);
    fed_job_make_last(job, c->new_epoch);
    if (!old)
        return;
    set_state(fed, job, TF_CROSS_SWITCHED);
    old = fed_job_placement(job, c->old_epoch);
    if (old->release == TF_RELEASE_NONE)
        fed_job_release_one(fed, job, old, TF_RELEASE_MOVE);
    tf_job_record_event(&job->record, fed->now.wall, c->new_epoch, "Switched",
                        "is the job now, in %s; what runs in %s stops", c->to, c->from);
    fed_job_set_phase(fed, job, fed_job_placement(job, c->new_epoch)->phase);
}

/* As large as it has to be, and all of it ready: one that has lost members since may not be. */
static bool is_whole(const struct job *job, const struct tf_report *report)
{
    return report->phase == TF_PHASE_RUNNING && report->ready >= report->size &&
           report->size >= job->record.spec->elastic.min;
}

/* All of it is ready: the old one may go. */
static void ready(struct fed *fed, struct job *job)
{
    struct tf_cross *c = &job->record.cross;
    const struct tf_placement *old = fed_job_placement(job, c->old_epoch);
    assert(old && "the move is over when the old epoch is");
    if (old->release != TF_RELEASE_NONE)
        return;
    set_state(fed, job, TF_CROSS_RELEASING);
    tf_job_record_event(&job->record, fed->now.wall, c->new_epoch, "Ready",
                        "in %s: %s is asked to let epoch %" PRIu64 " go", c->to, c->from, c->old_epoch);
    tell_old(fed, job);
}

void fed_cross_reported(struct fed *fed, struct job *job, const struct tf_placement *placement,
                        const struct tf_report *report)
{
    const struct tf_cross *c = &job->record.cross;
    if (placement->epoch != c->new_epoch)
        return;
    if (c->state == TF_CROSS_STARTING && is_whole(job, report))
        ready(fed, job);
    else if (c->state == TF_CROSS_RELEASING && !is_whole(job, report)) {
        tf_reached(fed, FED_CROSS_NOT_READY_ANY_MORE);
        blame(job, TF_CROSS_BY_NOT_READY, "the new instances did not stay ready until the old ones could go");
        withdraw(fed, job);
    }
}

void fed_cross_answered(struct fed *fed, struct job *job, const struct tf_placement *placement,
                        const struct tf_report *report)
{
    struct tf_cross *c = &job->record.cross;
    if (!tf_cross_is_open(c) || placement->epoch != c->old_epoch)
        return;
    if (report->successor == c->new_epoch) {
        tf_reached_if(c->state == TF_CROSS_WITHDRAWING, fed, FED_CROSS_PROMISED_BEFORE);
        const struct tf_placement *new = fed_job_placement(job, c->new_epoch);
        if (new &&new->release == TF_RELEASE_NONE)
            switch_over(fed, job);
        else if (!new) { /* the old one goes, and there is no new one: it waits anew when that is so */
            blame(job, TF_CROSS_BY_TARGET_END, "the new one was lost after the old one had promised to go");
            over(fed, job, TF_CROSS_ROLLED_BACK);
        } /* else both are told to stop, whoever of them is the job, and it is over when both have */
    } else if (c->state == TF_CROSS_WITHDRAWING && report->declined >= c->new_epoch)
        roll_back(fed, job);
    else if (c->state != TF_CROSS_STARTING && report->declined < c->new_epoch &&
             report->phase != TF_PHASE_STOPPING)
        tell_old(fed, job); /* it may have been told before it had found the epoch, after a restore */
}

/* ---- ends ---- */

/* The old epoch has ended while it was the job. */
static void old_one_ended(struct fed *fed, struct job *job, const struct tf_ended *ended)
{
    struct tf_cross *c = &job->record.cross;
    struct tf_placement *new = fed_job_placement(job, c->new_epoch);
    bool final = ended->end == TF_END_FINISHED || ended->end == TF_END_FAILED;
    if (!c->why)
        blame(job, TF_CROSS_BY_SOURCE_END,
              new ? "the job ended where it was" : "the job stopped where it was");
    if (!new)
        over(fed, job, TF_CROSS_ROLLED_BACK);
    else if (final || new->release != TF_RELEASE_NONE) {
        set_state(fed, job, TF_CROSS_ROLLING_BACK);
        if (new->release == TF_RELEASE_NONE)
            fed_job_release_one(fed, job, new, TF_RELEASE_MOVE);
        fed_job_set_phase(fed, job, TF_PHASE_STOPPING);
    } else {
        tf_reached(fed, FED_CROSS_INHERITED);
        switch_over(fed, job);
        fed_job_set_phase(fed, job, new->phase == TF_PHASE_PENDING ? TF_PHASE_STARTING : new->phase);
        blame(job, TF_CROSS_BY_SOURCE_END, "what ran there ended by itself");
        over(fed, job, TF_CROSS_DONE);
    }
}

static void new_one_ended(struct fed *fed, struct job *job, const struct tf_ended *ended)
{
    struct tf_cross *c = &job->record.cross;
    bool old = fed_job_placement(job, c->old_epoch) != NULL;
    if (c->state == TF_CROSS_SWITCHED && old)
        return; /* the job is over or waits as soon as nothing of the old one runs */
    if (!c->why) {
        TF_AUTO_FREE char *why =
            tf_asprintf("in %s it was %s%s%s", c->to, tf_end_name(ended->end), ended->message ? ": " : "",
                        ended->message ? ended->message : "");
        blame(job, TF_CROSS_BY_TARGET_END, why);
    }
    /* The promise may be on its way. */
    if (old && c->state == TF_CROSS_RELEASING)
        withdraw(fed, job);
    else if (!old || c->state != TF_CROSS_WITHDRAWING)
        over(fed, job, TF_CROSS_ROLLED_BACK);
}

void fed_cross_epoch_ended(struct fed *fed, struct job *job, uint64_t epoch, bool was,
                           const struct tf_ended *ended)
{
    struct tf_cross *c = &job->record.cross;
    bool final = ended->end == TF_END_FINISHED || ended->end == TF_END_FAILED;
    if (!tf_cross_goes_on(c) || (epoch != c->old_epoch && epoch != c->new_epoch))
        return;
    if (was && final && job->record.placements.count)
        c->outcome = ended->end == TF_END_FINISHED ? TF_PHASE_SUCCEEDED : TF_PHASE_FAILED;
    if (c->state == TF_CROSS_STOPPING) {
        bool asked = job->record.held || job->record.deleted;
        if (!asked && !tf_phase_is_final(job->record.phase))
            return;
        blame(job, asked ? TF_CROSS_BY_CHANGE : TF_CROSS_BY_SOURCE_END, "the job ended first, or is held");
        over(fed, job, TF_CROSS_ROLLED_BACK);
    } else if (epoch == c->new_epoch)
        new_one_ended(fed, job, ended);
    else if (c->state == TF_CROSS_SWITCHED)
        over(fed, job, TF_CROSS_DONE);
    else
        old_one_ended(fed, job, ended);
}

/* ---- a restored store ---- */

static const char restored[] = "the store was restored";

void fed_cross_restored(struct fed *fed, struct job *job)
{
    const struct tf_cross *c = &job->record.cross;
    if (c->state != TF_CROSS_STARTING && c->state != TF_CROSS_RELEASING)
        return;
    blame(job, TF_CROSS_BY_RESTORE, restored);
    withdraw(fed, job);
}

/* A later move began, so this one is over, and of its two epochs that one which the later does not follow.
 * The other may run: it is what the store knows of the job by now, however far this move had come in the
 * copy. */
static void forget(struct fed *fed, struct job *job, uint64_t predecessor)
{
    const struct tf_cross *c = &job->record.cross;
    struct tf_ended ended = {.end = TF_END_LOST, .at = fed->now.wall, .message = (char *)restored};
    bool done = tf_cross_overlaps(c) && c->new_epoch == predecessor;
    uint64_t gone = done ? c->old_epoch : c->new_epoch;
    if ((done || fed_cross_is_candidate(job, c->new_epoch)) && fed_job_placement(job, gone))
        fed_job_epoch_ended(fed, job, gone, &ended);
    if (!tf_cross_goes_on(c))
        return;
    blame(job, TF_CROSS_BY_RESTORE, restored);
    over(fed, job, done ? TF_CROSS_DONE : TF_CROSS_ROLLED_BACK);
}

/* The record of it went with its subcluster's store, and that it may be to follow one that runs: then whoever
 * has that one says whether it does. */
static bool knows_what_it_follows(const struct tf_report *report)
{
    return report->accepted.ms != 0;
}

bool fed_cross_adopt(struct fed *fed, struct job *job, struct cluster *cluster,
                     const struct tf_report *report)
{
    forget(fed, job, report->predecessor);
    const struct tf_placement *old = fed_job_last_placement(job);
    struct tf_cross *c = &job->record.cross;
    bool follows = old && (old->epoch == report->predecessor || !knows_what_it_follows(report));
    if (!follows || job->record.placements.count > 1)
        return false;
    uint64_t epoch = old->epoch;
    tf_cross_release(c);
    *c = (struct tf_cross){.state = TF_CROSS_WITHDRAWING,
                           .from = tf_strdup(old->cluster),
                           .to = tf_strdup(cluster->record.name),
                           .old_epoch = epoch,
                           .new_epoch = report->epoch,
                           .since = report->accepted.ms ? report->accepted : fed->now.wall};
    fed_job_adopt(fed, job, cluster, report);
    fed_job_make_last(job, epoch);
    blame(job, TF_CROSS_BY_RESTORE, restored);
    withdraw(fed, job);
    fed_cross_note(fed, job);
    return true;
}

void fed_cross_entry(const struct job *job, const struct tf_placement *placement, struct tf_entry *entry)
{
    const struct tf_cross *c = &job->record.cross;
    if (placement->epoch == c->new_epoch && tf_cross_overlaps(c))
        entry->predecessor = c->old_epoch;
    if (placement->epoch != c->old_epoch)
        return;
    if (c->state != TF_CROSS_RELEASING && c->state != TF_CROSS_WITHDRAWING)
        return;
    entry->successor = c->new_epoch;
    entry->leave_after = c->state == TF_CROSS_RELEASING ? LEAVE_AFTER : 0;
}

/* ---- where to ---- */

/* How large it would be there: as large as it is, or as what is free holds. 0: not at all. */
static int32_t size_there(struct fed *fed, struct job *job, struct cluster *to, int32_t size,
                          struct verdict *v)
{
    const struct tf_job_spec *spec = job->record.spec;
    *v = (struct verdict){0};
    if (!to->room || fed_candidate_bar(fed, job, to) != TF_REASON_NONE)
        return 0;
    fed_ledger_count_shorts(fed, job->rank);
    fed_candidate_entitled(fed, job, to, &fed->entitled);
    fed_ledger_fit(fed, to, spec, job->rank, &fed->entitled, v);
    if (!v->fits || v->level != TF_LEVEL_FREE)
        return 0;
    int32_t most = tf_size_align(&spec->elastic, v->count < size ? v->count : size);
    return most > spec->elastic.min ? most : spec->elastic.min;
}

/* Places the epoch and tells it. */
static struct tf_placement *put(struct fed *fed, struct job *job, struct cluster *to, int32_t size)
{
    struct tf_placement *p = fed_job_place(fed, job, to, size);
    const struct tf_job_spec *spec = job->record.spec;
    const char *model =
        fed_ledger_add(fed, to, spec, job->rank, &fed->entitled, p->epoch, spec->elastic.min, TF_LEVEL_FREE);
    while (fed_ledger_size(to, p->epoch) < size && fed_ledger_raise_step(fed, to, p->epoch))
        continue;
    p->size = fed_ledger_size(to, p->epoch);
    p->model = tf_strdup(model);
    job->record.cross.new_epoch = p->epoch;
    tf_job_record_event(&job->record, fed->now.wall, p->epoch, "Placed",
                        "in %s, %d instance%s, moving from %s", p->cluster, p->size, p->size == 1 ? "" : "s",
                        job->record.cross.from);
    fed_desired_place(fed, to, job, p);
    return p;
}

/* It has stopped: it starts there, if what was free still is. */
static void start_there(struct fed *fed, struct job *job)
{
    struct tf_cross *c = &job->record.cross;
    struct cluster *to = fed_cluster_by_name(fed, c->to);
    struct verdict v;
    int32_t size = size_there(fed, job, to, job->record.last_size, &v);
    if (size == 0) {
        tf_reached(fed, FED_CROSS_NO_ROOM);
        blame(job, TF_CROSS_BY_NO_ROOM,
              "it has stopped, and there is no room for it there any more: it waits in the queue, in its old "
              "place");
        over(fed, job, TF_CROSS_ROLLED_BACK);
        return;
    }
    put(fed, job, to, size);
    blame(job, TF_CROSS_BY_NOTHING, "stopped there and placed here");
    over(fed, job, TF_CROSS_DONE);
    fed_job_settle(fed, job);
}

static enum tf_cross_cause must_give_up(const struct fed *fed, const struct tf_cross *c, const char **why)
{
    const struct cluster *to = fed_cluster_by_name(fed, c->to);
    if (to->record.cordoned) {
        *why = "its target was cordoned";
        return TF_CROSS_BY_CORDON;
    }
    if (to->lost || to->record.forgotten) {
        *why = "its target was lost";
        return TF_CROSS_BY_TARGET_LOST;
    }
    *why = "it was not ready, or not let go, by its deadline";
    return c->deadline.ms <= fed->now.wall.ms ? TF_CROSS_BY_DEADLINE : TF_CROSS_BY_NOTHING;
}

static void look(struct fed *fed, struct job *job)
{
    const struct tf_cross *c = &job->record.cross;
    if (c->state == TF_CROSS_STOPPING && fed_job_is_waiting(job))
        start_there(fed, job);
    if (c->state != TF_CROSS_STARTING && c->state != TF_CROSS_RELEASING)
        return;
    const char *why;
    enum tf_cross_cause cause = must_give_up(fed, c, &why);
    if (cause != TF_CROSS_BY_NOTHING)
        fed_cross_give_up(fed, job, cause, why);
}

void fed_cross_run(struct fed *fed)
{
    if (fed_place_is_stopped(fed))
        return;
    for (size_t i = fed->moving.count; i-- > 0;) /* each may leave the list */
        look(fed, fed->moving.items[i]);
}

struct tf_mono fed_cross_next(const struct fed *fed)
{
    struct tf_mono next = TF_NEVER;
    if (fed_place_is_stopped(fed))
        return next;
    tf_vec_each (job, &fed->moving) {
        const struct tf_cross *c = &(*job)->record.cross;
        if (c->state != TF_CROSS_STARTING && c->state != TF_CROSS_RELEASING)
            continue;
        int64_t left = c->deadline.ms - fed->now.wall.ms;
        int64_t due = fed->now.mono.ms + (left > 0 ? left : 0);
        next.ms = due < next.ms ? due : next.ms;
    }
    return next;
}

/* ---- the verb ---- */

static void no(struct fed *fed, const struct fed_event *event, enum tf_error_code code, char *text)
{
    fed_reply_error(fed, event->request, code, "%s", text);
    free(text);
}

/* Why such a job cannot be moved at all, in words; NULL: it can. Owned by the caller. */
static char *is_fixed(const struct job *job)
{
    const struct tf_job_record *r = &job->record;
    const struct tf_placement *p = fed_job_last_placement(job);
    if (tf_is_reservation(r->spec))
        return tf_asprintf("%s is a reservation, of which nothing runs: `fedctl apply` with another "
                           "placement makes it anew there",
                           job->key);
    if (r->deleted || tf_phase_is_final(r->phase))
        return tf_asprintf("job %s is %s: there is nothing to move", job->key,
                           r->deleted ? "being deleted" : tf_phase_name(r->phase));
    if (r->spec->migration == TF_MIGRATION_NEVER)
        return tf_asprintf("job %s may not be moved: its manifest says `migration: never`", job->key);
    if (!p || p->phase != TF_PHASE_RUNNING || p->release != TF_RELEASE_NONE || r->placements.count > 1)
        return tf_asprintf(
            "job %s is %s: only one that is Running moves. `placement.clusters` says where one "
            "may start",
            job->key, tf_phase_name(r->phase));
    return NULL;
}

/* Why it cannot go there; NULL: it can. */
static char *is_barred(const struct fed *fed, const struct job *job, const struct cluster *to)
{
    const char *name = to->record.name;
    const struct cluster *from = fed_cluster_by_name(fed, fed_job_last_placement(job)->cluster);
    if (from == to)
        return tf_asprintf("job %s runs in %s already", job->key, name);
    if (fed_frozen(fed, from, TF_FROZEN_MOVES) || fed_frozen(fed, to, TF_FROZEN_MOVES))
        return tf_asprintf("moves are frozen in %s or %s: `fedctl get freezes` says why and until when",
                           from->record.name, name);
    switch (fed_candidate_bar(fed, job, to)) {
    case TF_REASON_POLICY:
        return tf_asprintf("the placement of job %s does not admit subcluster %s: change `placement` first",
                           job->key, name);
    case TF_REASON_CLUSTER_LOST:
        return tf_asprintf("subcluster %s is lost", name);
    case TF_REASON_CLUSTER_CORDONED:
        return tf_asprintf("subcluster %s is cordoned: `fedctl uncordon cluster %s` lets it take work again",
                           name, name);
    case TF_REASON_NONE:
        return NULL;
    default:
        return tf_asprintf("subcluster %s has not told what it has free, or refused job %s a moment ago: try "
                           "again",
                           name, job->key);
    }
}

static void reply(struct fed *fed, const struct fed_event *event, const struct job *job,
                  enum fed_outcome outcome, char *text)
{
    struct fed_reply reply = {.request = event->request, .outcome = outcome, .uid = job->record.uid};
    reply.version = job->record.version;
    reply.text = text;
    fed_outbox_hold(fed, (struct fed_action){.kind = FED_ACT_REPLY, .reply = reply});
}

static char *told(const struct job *job, const struct cluster *to, int32_t size)
{
    const struct tf_placement *p = fed_job_last_placement(job);
    bool restarts = job->record.spec->migration == TF_MIGRATION_RESTART;
    return tf_asprintf("%d of %d instances go from %s to %s, into what is free there; %s. What is not moved: "
                       "data, images, addresses",
                       size, p->size, p->cluster, to->record.name,
                       restarts ? "they stop first, then start (`migration: restart`)"
                                : "the old ones stop when the new ones are ready");
}

static void begin(struct fed *fed, const struct fed_event *event, struct job *job, struct cluster *to,
                  int32_t size)
{
    struct tf_cross *c = &job->record.cross;
    struct tf_placement *old = fed_job_placement(job, fed_job_last_placement(job)->epoch);
    const struct tf_ready_probe *probe = &job->record.spec->group.ready;
    int64_t start = fed->settings.policy.start_timeout;
    tf_cross_release(c);
    *c = (struct tf_cross){.from = tf_strdup(old->cluster),
                           .to = tf_strdup(to->record.name),
                           .old_epoch = old->epoch,
                           .since = fed->now.wall,
                           .reason = tf_strdup(event->job.reason),
                           .user = tf_strdup(event->job.user)};
    TF_AUTO_BUF text = TF_BUF_INIT;
    tf_buf_fmt(&text, "from %s to %s", c->from, c->to);
    say_wish(c, &text);
    tf_job_record_event(&job->record, fed->now.wall, old->epoch, "MoveAsked", "%s", tf_buf_text(&text));
    if (job->record.spec->migration == TF_MIGRATION_RESTART) {
        set_state(fed, job, TF_CROSS_STOPPING);
        fed_job_release_one(fed, job, old, TF_RELEASE_MOVE);
        fed_job_set_phase(fed, job, TF_PHASE_STOPPING);
    } else {
        c->state = TF_CROSS_STARTING;
        c->deadline.ms = fed->now.wall.ms + (probe->timeout > start ? probe->timeout : start) + SLACK;
        put(fed, job, to, size);
        set_state(fed, job, TF_CROSS_STARTING);
    }
    fed_cross_note(fed, job);
}

static void ask(struct fed *fed, const struct fed_event *event, struct job *job)
{
    struct tf_cross *c = &job->record.cross;
    const char *name = event->job.to ? event->job.to : "";
    struct cluster *to = fed_cluster_by_name(fed, name);
    struct verdict v;
    if (!to) {
        no(fed, event, TF_ERR_NOT_FOUND,
           tf_asprintf("there is no subcluster %s: `fedctl get clusters` lists those that have ever attached",
                       name));
        return;
    }
    if (tf_cross_goes_on(c)) {
        if (strcmp(c->to, name) == 0 && !event->job.dry_run)
            reply(fed, event, job, FED_OUTCOME_UNCHANGED,
                  tf_asprintf("it is on its way to %s already", name));
        else
            no(fed, event, TF_ERR_CONFLICT,
               tf_asprintf(
                   "job %s is on its way from %s to %s: `fedctl abort %s` ends that, if there is a way "
                   "back",
                   job->key, c->from, c->to, job->key));
        return;
    }
    char *why = is_fixed(job);
    why = why ? why : is_barred(fed, job, to);
    if (why) {
        no(fed, event, TF_ERR_REFUSED, why);
        return;
    }
    int32_t size = size_there(fed, job, to, fed_job_last_placement(job)->size, &v);
    if (size == 0) {
        no(fed, event, TF_ERR_REFUSED,
           tf_asprintf(
               "subcluster %s has room for %d of the %d instances that job %s needs, in what is free: a "
               "move makes nobody go. `fedctl plan` of its manifest says who holds the rest",
               name, v.free, job->record.spec->elastic.min, job->key));
        return;
    }
    char *text = told(job, to, size);
    if (!event->job.dry_run)
        begin(fed, event, job, to, size);
    reply(fed, event, job, event->job.dry_run ? FED_OUTCOME_UNCHANGED : FED_OUTCOME_DONE, text);
}

static char *aborted(const struct fed_event *event)
{
    return tf_asprintf("aborted%s%s%s%s", event->job.user ? " by " : "",
                       event->job.user ? event->job.user : "", event->job.reason ? ": " : "",
                       event->job.reason ? event->job.reason : "");
}

static void end_it(struct fed *fed, const struct fed_event *event, struct job *job)
{
    const struct tf_cross *c = &job->record.cross;
    TF_AUTO_FREE char *why = aborted(event);
    if (!tf_cross_goes_on(c))
        no(fed, event, TF_ERR_REFUSED,
           tf_asprintf("job %s is not on its way to another subcluster", job->key));
    else if (c->state == TF_CROSS_SWITCHED)
        no(fed, event, TF_ERR_REFUSED,
           tf_asprintf("job %s is in %s by now and stops in %s: there is no way back but another move",
                       job->key, c->to, c->from));
    else if (c->state == TF_CROSS_STOPPING) {
        blame(job, TF_CROSS_BY_ABORT, why);
        over(fed, job, TF_CROSS_ROLLED_BACK);
        reply(fed, event, job, FED_OUTCOME_DONE, tf_strdup("it stops already, and then waits in the queue"));
    } else {
        fed_cross_give_up(fed, job, TF_CROSS_BY_ABORT, why);
        reply(fed, event, job, FED_OUTCOME_DONE,
              tf_asprintf("it stays in %s%s", c->from,
                          c->state == TF_CROSS_WITHDRAWING ? ", unless that has promised to let it go already"
                                                           : ""));
    }
}

void fed_cross_verb(struct fed *fed, const struct fed_event *event)
{
    struct job *job = fed_verb_job(fed, event);
    if (!job)
        return;
    if (event->job.abort)
        end_it(fed, event, job);
    else
        ask(fed, event, job);
}
