/* SPDX-License-Identifier: Apache-2.0 */
/* Why a job is where it is: the answer in one sentence, then each subcluster with its typed reason. Computed
 * from the present state each time, by the functions that decide, so that it cannot be stale (PITFALLS.md
 * 21). */
#include "federation/core/explain.h"

#include "federation/core/candidate.h"
#include "federation/core/cluster.h"
#include "federation/core/freeze.h"
#include "federation/core/jobs.h"
#include "federation/core/ledger.h"
#include "federation/core/more_rows.h"
#include "federation/core/refusals.h"

#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/quantity.h"
#include "common/fit/explain.h"

#include <inttypes.h>
#include <stdio.h>

enum { MORE_TEXT = 200 };

/* ---- a subcluster that may not be given the job ---- */

static void explain_policy(const struct job *job, struct fed_blocker *out)
{
    if (job->rank < 0) {
        out->text = tf_asprintf("the federation has no class %s any more", job->record.spec->priority);
        out->unblock = tf_strdup("`fedctl apply` with another priority");
        return;
    }
    out->text = tf_strdup("the job's placement does not name it");
    out->unblock = tf_strdup("another spec.placement");
}

char *fed_placement_bar(const struct fed *fed, const char *tenant, const char *name, const char *cluster)
{
    const struct job *job = fed_job_by_name(fed, tenant, name);
    const struct cluster *c = fed_cluster_by_name(fed, cluster);
    if (!job || !c || fed_candidate_allows(job, c))
        return NULL;
    struct fed_blocker why = {0};
    explain_policy(job, &why);
    char *text = tf_asprintf("%s can never be placed in %s: %s; to unblock: %s", job->key, cluster, why.text,
                             why.unblock);
    fed_blocker_release(&why);
    return text;
}

struct question {
    const struct fed *fed;
    const struct job *job;
    struct tf_now now;
};

static int64_t away_seconds(const struct question *q, const struct cluster *c)
{
    return (q->now.mono.ms - c->away_since.ms) / TF_SECOND;
}

static char *stopped_text(const struct question *q, struct tf_wall stopped)
{
    int64_t ago = q->now.wall.ms - stopped.ms;
    return tf_asprintf("its subclusterd was stopped, %" PRId64 " s ago", ago > 0 ? ago / TF_SECOND : 0);
}

static void explain_lost(const struct question *q, const struct cluster *c, struct fed_blocker *out)
{
    struct tf_wall stopped = fed_cluster_stopped_at(c);
    if (c->record.forgotten)
        out->text = tf_strdup("it was declared dead; it is asked again when it attaches");
    else if (stopped.ms)
        out->text = stopped_text(q, stopped);
    else
        out->text = tf_asprintf("its stream has been away for %" PRId64 " s", away_seconds(q, c));
    out->unblock = tf_strdup("a subclusterd of it that runs and reaches this federation");
}

static void explain_not_yet(const struct question *q, const struct cluster *c, struct fed_blocker *out)
{
    struct tf_wall stopped = fed_cluster_stopped_at(c);
    if (!c->link && stopped.ms)
        out->text = stopped_text(q, stopped);
    else if (!c->link)
        out->text = tf_asprintf("it is not attached, since %" PRId64 " s", away_seconds(q, c));
    else
        out->text =
            tf_strdup("it is attached; the profile that reflects all that is placed there has not come yet");
}

static void explain_cordon(const struct cluster *c, struct fed_blocker *out)
{
    out->text =
        tf_asprintf("cordoned: %s", c->record.cordon_reason ? c->record.cordon_reason : "no reason given");
    out->unblock = tf_asprintf("`fedctl uncordon cluster %s`", c->record.name);
}

/* What it refused only because too much was evicted there lately has a word of its own. */
static void explain_refused(const struct job *job, const struct cluster *c, struct fed_blocker *out)
{
    tf_vec_each (refusal, &job->record.refusals) {
        if (strcmp(refusal->cluster, c->record.name) != 0)
            continue;
        out->text =
            tf_asprintf("it refused the job (%s%s%s), %d time%s in a row", tf_reason_name(refusal->reason),
                        refusal->text ? ": " : "", refusal->text ? refusal->text : "", refusal->times,
                        refusal->times == 1 ? "" : "s");
        out->until = refusal->until;
        if (refusal->reason == TF_REASON_BRAKE)
            out->reason = TF_REASON_BRAKE;
    }
    out->unblock = tf_strdup(fed_refusals_last(job, c) ? "time: more room would not help"
                                                       : "time, or any change of what is free there");
}

static void explain_bar(const struct question *q, const struct cluster *c, struct fed_blocker *out)
{
    switch (out->reason) {
    case TF_REASON_POLICY:
        explain_policy(q->job, out);
        break;
    case TF_REASON_CLUSTER_LOST:
        explain_lost(q, c, out);
        break;
    case TF_REASON_CLUSTER_CORDONED:
        explain_cordon(c, out);
        break;
    case TF_REASON_REFUSED:
        explain_refused(q->job, c, out);
        break;
    default:
        explain_not_yet(q, c, out);
    }
}

/* ---- a subcluster that may ---- */

static bool fits_without_flights(const struct fed *fed, const struct cluster *c,
                                 const struct tf_demand *demand)
{
    TF_AUTO(tf_fit_rows) rows = tf_fit_rows_create(&c->profile->planes);
    struct tf_fit fit;
    tf_fit_rows_load(rows, c->profile);
    struct tf_fit_view view = tf_fit_rows_view(rows);
    tf_fit_count(&view, demand, demand->level, fed->scratch, &fit);
    return fit.fits;
}

static void add_count(struct tf_buf *text, int32_t count, const char *what)
{
    if (count)
        tf_buf_fmt(text, "%s%d %s%s", text->len ? ", " : "", count, what, count == 1 ? "" : "s");
}

/* What would count but for its health, or for people who keep work away: it may be what unblocks the job. */
static void add_set_aside(const struct tf_health_counts *h, struct fed_blocker *row)
{
    struct tf_buf text = TF_BUF_INIT;
    add_count(&text, h->cordoned, "cordoned node");
    add_count(&text, h->unreachable, "unreachable node");
    add_count(&text, h->bad_gpus - h->suspect_gpus, "bad or cordoned GPU");
    add_count(&text, h->suspect_gpus, "suspect GPU");
    if (text.len && row->reason != TF_REASON_NONE) {
        char *whole = tf_asprintf("%s (not counted: %s)", row->text, tf_buf_text(&text));
        free(row->text);
        row->text = whole;
    }
    tf_buf_release(&text);
}

/* The freeze but for which it would fit; NULL: there is none. */
static const struct tf_freeze *frozen_out(const struct fed *fed, const struct cluster *c,
                                          const struct tf_demand *demand)
{
    const struct tf_freeze *freeze = fed_frozen(fed, c, TF_FROZEN_EVICTIONS);
    struct tf_fit_view view = tf_fit_rows_view(c->room);
    struct tf_fit fit = {0};
    if (freeze)
        tf_fit_count(&view, demand, demand->level, fed->scratch, &fit);
    return fit.fits ? freeze : NULL;
}

static void explain_frozen(const struct tf_freeze *freeze, struct fed_blocker *row)
{
    char text[TF_QUANTITY_TEXT];
    row->reason = TF_REASON_FROZEN;
    row->until = freeze->until;
    row->unblock = tf_strdup("`fedctl unfreeze`, or time");
    row->text = tf_asprintf("lower levels would give way, but evictions are frozen until %s%s%s",
                            tf_moment_format(freeze->until, text), freeze->reason ? ": " : "",
                            freeze->reason ? freeze->reason : "");
}

/* A page of waiting jobs asks this of each of them and each subcluster: of a crowd it is not told. */
enum { PROTECTED_LOOKED_AT = 2000 };

/* When the first of those who are protected there, and would else give way to that rank, is no longer: as far
 * as records say, which is until its subcluster says more. 0: it is not known. */
static struct tf_wall first_protection_ends(const struct fed *fed, const struct cluster *c, int rank,
                                            struct tf_wall now)
{
    struct tf_wall first = {0};
    if (c->placed.count > PROTECTED_LOOKED_AT)
        return first;
    tf_vec_each (placed, &c->placed) {
        const struct tf_job_spec *spec = placed->job->record.spec;
        const struct tf_placement *p = fed_job_placement(placed->job, placed->epoch);
        if (!p || spec->min_runtime == 0 || p->started.ms == 0 ||
            tf_classes_rank(&fed->settings.policy.classes, spec->priority) >= rank)
            continue;
        struct tf_wall end = {p->started.ms + spec->min_runtime};
        if (end.ms > now.ms && (first.ms == 0 || end.ms < first.ms))
            first = end;
    }
    return first;
}

/* GPUs enough are free there, but on too many nodes: moves could help, and nobody makes any unasked. The
 * least is counted, whether they would suffice is for the plan to say. */
static bool is_scattered(const struct question *q, const struct cluster *c, const struct tf_demand *demand)
{
    struct tf_fit_view view = tf_fit_rows_view(c->room);
    int64_t free = 0;
    if (q->fed->settings.policy.consolidate > TF_CONSOLIDATE_OFF || demand->need.gpus < 2)
        return false;
    for (size_t i = 0; i < view.count; i++)
        if (view.rows[i].count > 0 && tf_demand_admits(demand, view.catalog, view.rows[i].class) >= 0)
            free += (int64_t)view.rows[i].count * tf_profile_row_at(&view.rows[i], TF_LEVEL_FREE).gpus;
    return free >= (int64_t)demand->core * demand->need.gpus;
}

static void add_defrag(const struct question *q, const struct cluster *c, struct fed_blocker *out)
{
    char *before = out->unblock;
    out->unblock =
        tf_asprintf("%s%s as many GPUs are free there, on too many nodes: `fedctl defrag plan --cluster "
                    "%s --for %s` says what moves would bring (consolidate is off)",
                    before ? before : "", before ? "; or moves," : "moves:", c->record.name, q->job->key);
    free(before);
}

static void take_why(const struct question *q, const struct cluster *c, const struct tf_demand *demand,
                     const struct tf_fit_why *why, struct fed_blocker *out)
{
    out->reason = why->reason;
    out->until = why->until;
    out->text = tf_strdup(why->text);
    out->unblock = why->unblock[0] ? tf_strdup(why->unblock) : NULL;
    if (why->reason == TF_REASON_PROTECTED)
        out->until = first_protection_ends(q->fed, c, demand->rank, q->now.wall);
    add_set_aside(&c->profile->health, out);
    if (why->reason >= TF_REASON_HIGHER_PRIORITY && why->reason != TF_REASON_CLAIMED &&
        is_scattered(q, c, demand))
        add_defrag(q, c, out);
}

static void explain_flying(const struct cluster *c, struct fed_blocker *out)
{
    TF_AUTO_BUF text = TF_BUF_INIT;
    int32_t shorts = 0, all = (int32_t)c->flights.count;
    tf_vec_each (flight, &c->flights)
        shorts += flight->is_short;
    add_count(&text, all - shorts, "placement");
    add_count(&text, shorts, "job");
    if (shorts)
        tf_buf_str(&text, " below min");
    tf_buf_fmt(&text, " on the way there take%s what is free", all == 1 ? "s" : "");
    out->reason = TF_REASON_IN_FLIGHT;
    out->text = tf_buf_take(&text);
    out->unblock = tf_strdup("its next profile, in a moment: what is left then is considered");
}

/* What is reserved there for others, as the rows have it: each reservation once. */
static void list_reserved(const struct tf_fit_view *view, const struct tf_demand *demand,
                          struct fed_uids *out)
{
    for (size_t i = 0; i < view->count; i++)
        tf_vec_each (r, &view->rows[i].reserved) {
            size_t at = 0;
            while (at < out->count && tf_uid_cmp(out->items[at], r->uid) < 0)
                at++;
            if (view->rows[i].count == 0 || r->level <= demand->level ||
                (at < out->count && tf_uid_eq(out->items[at], r->uid)))
                continue;
            tf_vec_push(out, r->uid);
            for (size_t k = out->count - 1; k > at; k--)
                out->items[k] = out->items[k - 1];
            out->items[at] = r->uid;
        }
}

static void say_reserved(const struct question *q, const struct fed_uids *uids, struct fed_blocker *out)
{
    enum { NAMED = 3 };
    char text[TF_QUANTITY_TEXT];
    struct tf_buf names = TF_BUF_INIT;
    size_t named = 0;
    out->reason = TF_REASON_CLAIMED;
    tf_vec_each (uid, uids) {
        const struct job *r = fed_job_by_uid(q->fed, *uid);
        if (!r || !tf_is_reservation(r->record.spec))
            continue;
        struct tf_wall until = {r->record.submitted.ms + r->record.spec->reserve.expires};
        if (named++ < NAMED)
            tf_buf_fmt(&names, "%s%s (until %s)", names.len ? ", " : "", r->key,
                       tf_moment_format(until, text));
        if (out->until.ms == 0 || until.ms < out->until.ms)
            out->until = until;
    }
    if (named > NAMED)
        tf_buf_fmt(&names, " and %zu more", named - NAMED);
    free(out->text);
    free(out->unblock);
    out->text = tf_asprintf("what it would fit into is reserved by %s", tf_buf_text(&names));
    out->unblock =
        tf_strdup("a higher spec.priority, or the end of the reservation: `fedctl get reservations`");
    tf_buf_release(&names);
}

/* It would fit if reservations of others were for it, too. */
static bool explain_reserved(const struct question *q, const struct cluster *c,
                             const struct tf_demand *demand, struct fed_blocker *out)
{
    struct tf_fit_view view = tf_fit_rows_view(c->room);
    struct fed_uids uids = {0};
    struct tf_fit fit = {0};
    list_reserved(&view, demand, &uids);
    if (uids.count) {
        struct tf_demand theirs = *demand; /* borrows its lists */
        memcpy(&theirs.reserved, &uids, sizeof theirs.reserved);
        tf_fit_count(&view, &theirs, demand->level, q->fed->scratch, &fit);
    }
    if (fit.fits)
        say_reserved(q, &uids, out);
    tf_vec_release(&uids);
    return fit.fits;
}

/* It takes no core from others while room is being made for it by moves, there or elsewhere: false if it
 * could not take one here anyway. */
static bool explain_moves(const struct question *q, const struct cluster *c, const struct tf_demand *demand,
                          struct fed_blocker *out)
{
    const struct tf_job_record *r = &q->job->record;
    struct tf_fit_view view = tf_fit_rows_view(c->room);
    struct tf_demand usual = *demand; /* borrows its lists */
    struct tf_fit fit = {0};
    char text[TF_QUANTITY_TEXT];
    usual.level = (tf_level)(tf_level_core(demand->rank) - 1);
    bool here = strcmp(r->claims_in, c->record.name) == 0;
    if (!here)
        tf_fit_count(&view, &usual, usual.level, q->fed->scratch, &fit);
    if (!here && !fit.fits)
        return false;
    out->reason = TF_REASON_IN_FLIGHT;
    out->until = r->claim_until;
    out->text = here ? tf_strdup("instances are being moved there to make room for it")
                     : tf_asprintf("it would take cores of others here, which costs more than the moves that "
                                   "make room for it in %s",
                                   r->claims_in);
    out->unblock =
        tf_asprintf("the end of those moves: `fedctl get migrations --cluster %s`; at %s others give way",
                    r->claims_in, tf_moment_format(r->claim_until, text));
    return true;
}

static bool is_for(const struct tf_emptying *e, const struct job *job)
{
    return e->owner && strcmp(e->owner, job->key) == 0;
}

/* The plans by which nodes are emptied, each once: "search/rank (migration 1a2b3c4d)". */
static void say_plans(const struct cluster *c, struct tf_buf *out)
{
    enum { NAMED = 3, ID = 8 }; /* as much of an id as fedctl shows */
    const struct tf_emptying *before = NULL;
    char id[TF_UID_TEXT];
    size_t count = 0;
    tf_vec_each (e, &c->profile->emptying) {
        bool same = before && tf_uid_eq(before->chain, e->chain);
        before = e;
        if (same || ++count > NAMED)
            continue;
        tf_uid_format(e->chain, id);
        tf_buf_fmt(out, "%s%s (migration %.*s)", count > 1 ? ", " : "", e->owner ? e->owner : "no job", ID,
                   id);
    }
    if (count > NAMED)
        tf_buf_fmt(out, " and %zu more", count - NAMED);
}

static void say_emptying(const struct question *q, const struct cluster *c, struct fed_blocker *out)
{
    TF_AUTO_BUF plans = TF_BUF_INIT;
    int32_t nodes = 0;
    bool own = true;
    tf_vec_each (e, &c->profile->emptying) {
        nodes += e->nodes;
        own &= is_for(e, q->job);
    }
    say_plans(c, &plans);
    out->reason = own ? TF_REASON_IN_FLIGHT : TF_REASON_CLAIMED;
    out->text =
        tf_asprintf("it would fit with %d node%s that %s being emptied for %s; until that is over %s %s "
                    "nothing%s",
                    nodes, nodes == 1 ? "" : "s", nodes == 1 ? "is" : "are", tf_buf_text(&plans),
                    nodes == 1 ? "it" : "they", nodes == 1 ? "takes" : "take", own ? "" : " else");
    out->unblock =
        tf_asprintf("the end of those moves: `fedctl get migrations --cluster %s`; `fedctl abort ID` "
                    "ends them",
                    c->record.name);
}

/* It would fit if the nodes that are being emptied took it. They are in no row, so that no other reason names
 * them. */
static bool explain_emptying(const struct question *q, const struct cluster *c,
                             const struct tf_demand *demand, struct fed_blocker *out)
{
    struct more_rows more = {0};
    struct tf_fit fit = {0};
    if (c->profile->emptying.count == 0)
        return false;
    tf_vec_each (e, &c->profile->emptying)
        more_rows_add(&more, e->class, e->nodes, e->room);
    struct tf_fit_view view = more_rows_view(c, &more);
    tf_fit_count(&view, demand, demand->level, q->fed->scratch, &fit);
    if (fit.fits)
        say_emptying(q, c, out);
    more_rows_release(&more);
    return fit.fits;
}

static void explain_demand(const struct question *q, const struct cluster *c, const struct tf_demand *demand,
                           bool spares, int32_t *has, struct fed_blocker *out)
{
    const struct fed *fed = q->fed;
    struct tf_fit_view view = tf_fit_rows_view(c->room);
    struct tf_fit_why why;
    tf_level level = fed_ledger_may_reclaim(fed, c) ? demand->level : TF_LEVEL_FREE;
    tf_fit_explain(&view, demand, level, q->job->record.spec, fed->scratch, &why);
    *has = why.has;
    if (why.reason == TF_REASON_NONE)
        return;
    if (spares && explain_moves(q, c, demand, out))
        return;
    const struct tf_freeze *freeze = frozen_out(fed, c, demand);
    if (freeze)
        explain_frozen(freeze, out);
    else if (why.reason >= TF_REASON_HIGHER_PRIORITY && c->flights.count &&
             fits_without_flights(fed, c, demand))
        explain_flying(c, out);
    else if (explain_emptying(q, c, demand, out))
        return;
    else if (why.reason < TF_REASON_HIGHER_PRIORITY || !explain_reserved(q, c, demand, out))
        take_why(q, c, demand, &why, out);
}

/* Leaves *out empty if the job fits. */
static void explain_fit(const struct question *q, const struct cluster *c, int32_t *has,
                        struct fed_blocker *out)
{
    const struct tf_job_spec *spec = q->job->record.spec;
    struct tf_fit_view view = tf_fit_rows_view(c->room);
    struct tf_demand demand = {0};
    struct tf_error err = TF_ERROR_INIT;
    if (tf_demand_resolve(&demand, spec, q->job->rank, view.catalog, &err)) {
        out->reason = TF_REASON_TOPOLOGY;
        out->text = tf_strdup(err.text);
        out->unblock = tf_strdup("a spec.topology that it has, or `mode: prefer`");
    } else {
        if (spec->max_runtime > 0)
            demand.ends.ms = q->now.wall.ms + spec->max_runtime;
        struct entitled entitled = {0};
        fed_candidate_entitled(q->fed, q->job, c, &entitled);
        bool spares = entitled.spares;
        fed_ledger_entitle(&demand, &entitled);
        tf_vec_release(&entitled.reserved);
        explain_demand(q, c, &demand, spares, has, out);
    }
    tf_demand_release(&demand);
}

/* ---- all that is in the way ---- */

static bool is_barred(const struct question *q, const struct cluster *c, enum tf_reason bar)
{
    switch (bar) {
    case TF_REASON_POLICY:
        return !fed_candidate_allows(q->job, c);
    case TF_REASON_CLUSTER_LOST:
        return c->lost || c->record.forgotten;
    case TF_REASON_CLUSTER_CORDONED:
        return c->record.cordoned;
    case TF_REASON_REFUSED:
        return fed_refusals_hold(q->fed, q->job, c);
    default: /* said of who is away by CLUSTER_LOST already */
        return !fed_cluster_is_current(q->fed, c) && !c->lost && !c->record.forgotten;
    }
}

static void add_blocker(struct fed_blocker found, struct fed_explain_row *row)
{
    if (row->first.reason == TF_REASON_NONE)
        row->first = found;
    else
        tf_vec_push(&row->more, found);
}

static void add_bars(const struct question *q, const struct cluster *c, const enum tf_reason *bars,
                     size_t count, struct fed_explain_row *row)
{
    for (size_t i = 0; i < count; i++) {
        struct fed_blocker found = {.reason = bars[i]};
        if (!is_barred(q, c, bars[i]))
            continue;
        explain_bar(q, c, &found);
        add_blocker(found, row);
    }
}

/* In the order of DESIGN.md §3.1. What a job may never use is not counted; nor is what is not known. */
struct fed_explain_row fed_explain_cluster(const struct fed *fed, const struct job *job,
                                           const struct cluster *cluster, struct tf_now now)
{
    static const enum tf_reason never[] = {TF_REASON_POLICY},
                                before[] = {TF_REASON_CLUSTER_LOST, TF_REASON_CLUSTER_CORDONED},
                                after[] = {TF_REASON_REFUSED, TF_REASON_NOT_CONSIDERED_YET};
    const struct question q = {fed, job, now};
    struct fed_explain_row row = {.cluster = tf_strdup(cluster->record.name),
                                  .asked = job->record.spec->elastic.min};
    struct fed_blocker found = {0};
    add_bars(&q, cluster, never, TF_ARRAY_LEN(never), &row);
    if (row.first.reason != TF_REASON_NONE)
        return row;
    add_bars(&q, cluster, before, TF_ARRAY_LEN(before), &row);
    if (fed_cluster_is_current(fed, cluster))
        explain_fit(&q, cluster, &row.has, &found);
    if (found.reason != TF_REASON_NONE)
        add_blocker(found, &row);
    add_bars(&q, cluster, after, TF_ARRAY_LEN(after), &row);
    return row;
}

void fed_explain_unknown(const struct fed *fed, const struct job *job, struct fed_explain_rows *out)
{
    tf_vec_each (name, &job->record.spec->clusters) {
        if (fed_cluster_by_name(fed, *name))
            continue;
        struct fed_explain_row row = {
            .cluster = tf_strdup(*name),
            .asked = job->record.spec->elastic.min,
            .first = {.reason = TF_REASON_POLICY,
                      .text = tf_strdup("the job names it, but no such subcluster is registered"),
                      .unblock = tf_strdup("its first attach, or another spec.placement")}};
        tf_vec_push(out, row);
    }
}

static void explain_rows(const struct fed *fed, const struct job *job, struct tf_now now,
                         struct fed_explain_rows *out)
{
    tf_vec_each (c, &fed->clusters)
        tf_vec_push(out, fed_explain_cluster(fed, job, *c, now));
    fed_explain_unknown(fed, job, out);
}

/* ---- the answer ---- */

/* How near to a place a reason is: the later in their order, the nearer; NONE is nearest. */
static int nearness(const struct fed_explain_row *row)
{
    return row->first.reason == TF_REASON_NONE ? INT32_MAX : (int)row->first.reason;
}

static const struct fed_explain_row *nearest(const struct fed_explain_rows *rows)
{
    const struct fed_explain_row *best = NULL;
    tf_vec_each (row, rows)
        if (!best || nearness(row) > nearness(best) ||
            (nearness(row) == nearness(best) && row->has > best->has))
            best = row;
    return best;
}

char *fed_explain_waiting(const struct fed *fed, const struct job *job, const char *waits,
                          const struct fed_explain_rows *rows)
{
    const struct fed_explain_row *best = nearest(rows);
    const struct tf_job_record *r = &job->record;
    char text[TF_QUANTITY_TEXT];
    if (r->claims_in && r->claim_move_cost > 0)
        return tf_asprintf(
            "%s %s (IN_FLIGHT): instances are being moved in %s to make room for it, which costs less "
            "than evicting others; these give way if it is not placed by %s",
            job->key, waits, r->claims_in, tf_moment_format(r->claim_until, text));
    if (fed->waits_for_all)
        return tf_asprintf(
            "%s %s (NOT_CONSIDERED_YET): after --accept-rollback nothing is placed until every "
            "registered subcluster has told what runs there, or is forgotten anew",
            job->key, waits);
    if (job->awaited)
        return tf_asprintf(
            "%s %s (NOT_CONSIDERED_YET): it was left alone where it ran when the store was restored; "
            "that subcluster must tell whether it still does, or be forgotten",
            job->key, waits);
    if (!best)
        return tf_asprintf(
            "%s %s (NO_CLUSTERS): no subcluster is registered; one is from its first attach on", job->key,
            waits);
    if (best->first.reason == TF_REASON_NONE)
        return tf_asprintf("%s %s (NOT_CONSIDERED_YET): it fits in %s and will be considered next", job->key,
                           waits, best->cluster);
    return tf_asprintf("%s %s (%s): nearest is %s, which has room for %d of %d instance%s now: %s", job->key,
                       waits, tf_reason_name(best->first.reason), best->cluster, best->has, best->asked,
                       best->asked == 1 ? "" : "s", best->first.text ? best->first.text : "");
}

/* Its subcluster makes it larger by itself; when it was last made smaller only that one knows. */
static const char *why_no_larger(const struct fed *fed, const struct job *job, const struct tf_placement *p,
                                 char text[MORE_TEXT])
{
    const struct tf_elastic *e = &job->record.spec->elastic;
    int64_t cooldown = fed->settings.policy.absorb_cooldown;
    char duration[TF_QUANTITY_TEXT];
    text[0] = '\0';
    if (p->size < e->min)
        snprintf(text, MORE_TEXT,
                 ", short of its min %d: its subcluster starts what is missing, by steps of %d, when there "
                 "is room",
                 e->min, e->step);
    else if (p->size < e->max && job->record.spec->grow == TF_GROW_CONTINUOUS)
        snprintf(text, MORE_TEXT, ", of at most %d: it grows when a step of %d is free%s%s%s", e->max,
                 e->step, cooldown > 0 ? ", but not within " : "",
                 cooldown > 0 ? tf_duration_format(cooldown, duration) : "",
                 cooldown > 0 ? " (absorbCooldown) of having been made smaller" : "");
    return text;
}

/* Ends what is said of a job that is on its way to another subcluster. */
static char *add_move(const struct tf_cross *cross, char *answer)
{
    if (!tf_cross_goes_on(cross))
        return answer;
    char *text =
        tf_asprintf("%s; it goes from %s to %s: %s%s%s", answer, cross->from, cross->to,
                    tf_cross_state_name(cross->state), cross->why ? ": " : "", cross->why ? cross->why : "");
    free(answer);
    return text;
}

/* A reservation that is kept: what is left of it, for whom, and what ends it. */
static char *answer_kept(const struct job *job, const struct tf_placement *p)
{
    const struct tf_reserve *reserve = &job->record.spec->reserve;
    const struct tf_owner *owner = &reserve->owner;
    struct tf_wall until = {job->record.submitted.ms + reserve->expires};
    char since[TF_QUANTITY_TEXT], end[TF_QUANTITY_TEXT];
    const char *narrow = owner->job ? owner->job : owner->selector ? owner->selector : "";
    return tf_asprintf(
        "%s is kept in %s since %s: room for %d of %d instances is left, for %s %s%s%s; it is over "
        "when that is used up, at %s%s, or by `fedctl delete reservation %s`",
        job->key, p->cluster, tf_moment_format(p->accepted, since), job->report ? job->report->ready : 0,
        job->record.spec->elastic.min, owner->job ? "job" : "jobs of tenant",
        owner->tenant ? owner->tenant : "?",
        owner->job        ? "/"
        : owner->selector ? " with "
                          : "",
        narrow, tf_moment_format(until, end), owner->job ? ", with that job" : "", job->key);
}

static char *answer_placed(const struct fed *fed, const struct job *job, const struct tf_placement *p)
{
    char text[TF_QUANTITY_TEXT], more[MORE_TEXT];
    int32_t ready = job->report ? job->report->ready : 0;
    const char *trouble = job->record.message && ready < p->size ? job->record.message : "";
    const char *because = *trouble ? "; latest failure: " : "";
    bool is_kept = p->phase == TF_PHASE_STARTING || p->phase == TF_PHASE_RUNNING;
    if (is_kept && tf_is_reservation(job->record.spec))
        return answer_kept(job, p);
    switch (p->phase) {
    case TF_PHASE_PENDING:
        return tf_asprintf("%s was placed in %s at %s (epoch %" PRIu64
                           ", size %d) and waits for it to accept",
                           job->key, p->cluster, tf_moment_format(p->placed, text), p->epoch, p->size);
    case TF_PHASE_STARTING:
        return tf_asprintf(
            "%s is starting in %s since %s (epoch %" PRIu64 "): %d of %d instances are ready%s%s", job->key,
            p->cluster, tf_moment_format(p->accepted, text), p->epoch, ready, p->size, because, trouble);
    case TF_PHASE_RUNNING:
        return tf_asprintf("%s runs in %s since %s (epoch %" PRIu64 ", size %d%s)%s%s", job->key, p->cluster,
                           tf_moment_format(p->started, text), p->epoch, p->size,
                           why_no_larger(fed, job, p, more), because, trouble);
    default:
        return tf_asprintf("%s is stopping in %s (epoch %" PRIu64 "%s%s)", job->key, p->cluster, p->epoch,
                           p->release ? ", told so because of: " : "",
                           p->release ? tf_release_name(p->release) : "");
    }
}

static char *answer_final(const struct job *job)
{
    const struct tf_job_record *r = &job->record;
    char text[TF_QUANTITY_TEXT];
    return tf_asprintf("%s has ended: %s at %s%s%s", job->key, tf_phase_name(r->phase),
                       tf_moment_format(r->finished, text), r->message ? ": " : "",
                       r->message ? r->message : "");
}

int fed_explain(const struct fed *fed, const char *tenant, const char *name, struct tf_now now,
                struct fed_explanation *out, struct tf_error *err)
{
    const struct job *job = fed_job_by_name(fed, tenant, name);
    if (!job)
        return tf_error_set(err, TF_ERR_NOT_FOUND, FED_NO_JOB, tenant, name);
    *out = (struct fed_explanation){0};
    const struct tf_placement *placement = fed_job_last_placement(job);
    if (tf_phase_is_final(job->record.phase))
        out->answer = answer_final(job);
    else if (placement)
        out->answer = add_move(&job->record.cross, answer_placed(fed, job, placement));
    else
        explain_rows(fed, job, now, &out->rows);
    if (job->record.held && !out->answer)
        out->answer =
            tf_asprintf("%s is held: `fedctl resume %s` lets it wait in its old place", job->key, job->key);
    if (!out->answer)
        out->answer = fed_explain_waiting(fed, job, "waits", &out->rows);
    tf_strs_copy(&out->decisions, &job->decisions);
    return 0;
}

void fed_blocker_release(struct fed_blocker *blocker)
{
    free(blocker->text);
    free(blocker->unblock);
}

void fed_explain_row_release(struct fed_explain_row *row)
{
    free(row->cluster);
    fed_blocker_release(&row->first);
    tf_vec_each (blocker, &row->more)
        fed_blocker_release(blocker);
    tf_vec_release(&row->more);
    *row = (struct fed_explain_row){0};
}

void fed_explanation_release(struct fed_explanation *explanation)
{
    tf_vec_each (row, &explanation->rows)
        fed_explain_row_release(row);
    tf_vec_release(&explanation->rows);
    tf_strs_release(&explanation->decisions);
    free(explanation->answer);
    *explanation = (struct fed_explanation){0};
}
