/* SPDX-License-Identifier: Apache-2.0 */
/* Attach and detach. What a report means is reports.c's; what is wanted of a subcluster is desired.c's. */
#include "federation/core/links.h"

#include "common/base/text.h"
#include "federation/core/cluster.h"
#include "federation/core/consolidate.h"
#include "federation/core/desired.h"
#include "federation/core/ledger.h"
#include "federation/core/outbox.h"
#include "federation/core/reports.h"
#include "federation/core/retention.h"
#include "federation/core/rollback.h"
#include "federation/core/trace.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#define SUSPECT_EVENT "GpusSuspect"
#define SUSPECT_OVER_EVENT "GpusTrusted"
#define MASS_DOWN_EVENT "MassDown"
#define MASS_DOWN_OVER_EVENT "MassDownOver"

static void close_link(struct fed *fed, uint64_t link, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static void close_link(struct fed *fed, uint64_t link, const char *fmt, ...)
{
    char text[1000];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    fed_outbox_hold(fed, (struct fed_action){.kind = FED_ACT_CLOSE, .link = link, .text = tf_strdup(text)});
}

static void detach(struct fed *fed, struct cluster *cluster)
{
    tf_reached_if(cluster->flights.count, fed, FED_FLIGHT_CUT);
    cluster->link = 0;
    cluster->set_sent = false;
    cluster->away_since = fed->now.mono;
    cluster->listed = false;
    cluster->wants_profile = false;
    cluster->considered = (struct tf_generation){0};
    cluster->unknown.count = 0;
    tf_vec_each (entry, &cluster->entries)
        tf_entry_release(entry);
    cluster->entries.count = 0;
    fed_ledger_reset(cluster);
}

/* ---- a restored store ---- */

/* A subcluster has seen what this leader's store does not know. Either the store was restored, or another
 * leads by now: which, a transaction tells, so the alarm waits for one. */
static void refuse_to_act(struct fed *fed, const struct tf_hello *hello)
{
    char text[600];
    snprintf(text, sizeof text,
             "subcluster %s has seen term %" PRIu64 ".%" PRIu64 " and epoch %" PRIu64
             ", of which this leader's store (term %" PRIu64 ".%" PRIu64 ", epoch %" PRIu64
             ") knows nothing: the federation's store was restored to an older state. Nothing is changed "
             "until an operator "
             "restarts the leader once with `fedd --accept-rollback`",
             hello->name, hello->highest_term.era, hello->highest_term.revision, hello->highest_epoch,
             fed->term.era, fed->term.revision, fed->epoch);
    if (!fed->closed) {
        tf_reached(fed, FED_STORE_OLDER);
        fed_touch_proof(fed);
        fed_outbox_hold(fed, (struct fed_action){.kind = FED_ACT_ALARM, .text = tf_strdup(text)});
    }
    tf_str_set(&fed->closed, text);
    tf_vec_each (c, &fed->clusters) {
        if (!(*c)->link)
            continue;
        close_link(fed, (*c)->link, "%s", text);
        detach(fed, *c);
    }
}

static bool is_ahead(const struct fed *fed, const struct tf_hello *hello)
{
    if (tf_term_cmp(hello->highest_term, fed->term) > 0)
        return true;
    if (fed->accept_rollback || fed->waits_for_all)
        return false;
    return hello->highest_epoch > fed->epoch ||
           !tf_leaders_led(&fed->leaders, hello->highest_term, hello->highest_epoch);
}

/* ---- hello ---- */

/* True if the stream may not stay; it is closed then. */
static bool refuse_hello(struct fed *fed, uint64_t link, const struct tf_hello *hello)
{
    struct tf_error err = TF_ERROR_INIT;
    if (hello->protocol != TF_PROTOCOL_VERSION) {
        close_link(fed, link,
                   "subcluster %s speaks protocol version %" PRIu32 ", this federation version %d: run "
                   "fedd and subclusterd of the same release",
                   hello->name ? hello->name : "?", hello->protocol, TF_PROTOCOL_VERSION);
        return true;
    }
    if (!hello->name || tf_name_check(hello->name, "the subcluster's name", &err)) {
        close_link(fed, link, "%s",
                   hello->name ? err.text : "a subcluster without a name: set `name` in its configuration");
        return true;
    }
    if (fed->stage != FED_STAGE_OPEN) {
        close_link(fed, link, "the leader is still loading: dial again");
        return true;
    }
    const struct cluster *known = fed_cluster_by_name(fed, hello->name);
    if (known && known->link && known->hello->owner_revision > hello->owner_revision) {
        tf_reached(fed, FED_OLD_OWNER);
        close_link(fed, link,
                   "another subclusterd is attached as %s and is its newer owner (revision %" PRIu64
                   ", yours is %" PRIu64 "): give each subcluster a name of its own",
                   hello->name, known->hello->owner_revision, hello->owner_revision);
        return true;
    }
    if (fed->closed || is_ahead(fed, hello)) {
        if (is_ahead(fed, hello))
            refuse_to_act(fed, hello);
        close_link(fed, link, "%s", fed->closed);
        return true;
    }
    return false;
}

/* A stream that breaks and comes back before its subcluster counts as lost is no news. */
static void tell_return(struct fed *fed, struct cluster *cluster)
{
    struct tf_wall lost = fed_cluster_lost_at(cluster), stopped = fed_cluster_stopped_at(cluster);
    int64_t since = fed->now.wall.ms - (lost.ms ? lost.ms : stopped.ms);
    if (cluster->record.forgotten)
        fed_cluster_event(fed, cluster, FED_CLUSTER_RETURNED_EVENT, "it was forgotten, and counts again");
    else if (lost.ms || stopped.ms)
        fed_cluster_event(fed, cluster, FED_CLUSTER_RETURNED_EVENT, "%" PRId64 " s after it was %s",
                          since > 0 ? since / TF_SECOND : 0, lost.ms ? "lost" : "stopped");
}

/* The registration is written when it is new or says something else. */
static void register_cluster(struct fed *fed, struct cluster *cluster, const struct tf_hello *hello)
{
    struct tf_cluster_record *r = &cluster->record;
    bool fresh = r->registered.ms == 0;
    if (!fresh && !r->forgotten && tf_str_eq(r->region, hello->region) &&
        tf_pairs_eq(&r->labels, &hello->labels))
        return;
    if (fresh)
        r->registered = fed->now.wall;
    if (fresh)
        fed_cluster_event(fed, cluster, "Registered", "%s%sengine %s", hello->region ? hello->region : "",
                          hello->region ? ", " : "", hello->engine ? hello->engine : "not said");
    r->forgotten = false;
    tf_str_set(&r->region, hello->region);
    tf_pairs_copy(&r->labels, &hello->labels);
    fed_touch_cluster(fed, cluster);
}

static void keep_hello(struct cluster *cluster, struct tf_hello *hello)
{
    if (!cluster->hello)
        cluster->hello = tf_calloc(1, sizeof *cluster->hello);
    tf_hello_release(cluster->hello);
    *cluster->hello = *hello;
    memset(hello, 0, sizeof *hello);
}

void fed_link_up(struct fed *fed, uint64_t link, struct tf_hello *hello)
{
    if (refuse_hello(fed, link, hello))
        return;
    struct cluster *cluster = fed_cluster_add(fed, hello->name);
    if (cluster->link) {
        tf_reached(fed, FED_LINK_REPLACED);
        close_link(fed, cluster->link, "a newer stream of subcluster %s has taken over", hello->name);
        detach(fed, cluster);
    }
    if (hello->highest_epoch > fed->epoch) {
        fed->epoch = hello->highest_epoch;
        fed_rollback_reaches(fed, fed->epoch);
        fed_touch_epoch(fed);
    }
    tf_reached_if(cluster->lost, fed, FED_CLUSTER_BACK);
    if (cluster->lost)
        fed_trace_line(fed, "subcluster %s is back after %" PRId64 " s", hello->name,
                       fed_cluster_away_seconds(fed, cluster));
    tell_return(fed, cluster);
    register_cluster(fed, cluster, hello);
    cluster->link = link;
    cluster->lost = false;
    cluster->contact = fed->now.wall;
    keep_hello(cluster, hello);
    if (!fed->waits_for_all) /* what the restored store wants there may long be over */
        fed_desired_all(fed, cluster);
}

/* That it was stopped is written at once: a leader who is elected before it would count as lost must know. */
void fed_link_down(struct fed *fed, uint64_t link, bool left)
{
    struct cluster *cluster = fed_cluster_by_link(fed, link);
    if (!cluster)
        return;
    detach(fed, cluster);
    if (!left)
        return;
    tf_reached(fed, FED_CLUSTER_STOPPED);
    fed_cluster_event(fed, cluster, FED_CLUSTER_STOPPED_EVENT,
                      "its subclusterd was stopped; what runs there goes on");
}

/* ---- what it says ---- */

/* Whether its events say that this began, and not yet that it is over: also those that an earlier leader
 * wrote. */
static bool is_noted(const struct cluster *cluster, const char *begun, const char *over)
{
    const struct tf_job_events *events = &cluster->record.events;
    for (size_t i = events->count; i-- > 0;) {
        if (strcmp(events->items[i].type, begun) == 0)
            return true;
        if (strcmp(events->items[i].type, over) == 0)
            return false;
    }
    return false;
}

static void note_brake(struct fed *fed, struct cluster *cluster)
{
    bool is = cluster->profile->brakes & TF_BRAKE_MASS_DOWN,
         was = is_noted(cluster, MASS_DOWN_EVENT, MASS_DOWN_OVER_EVENT);
    if (is && !was)
        fed_cluster_event(
            fed, cluster, MASS_DOWN_EVENT,
            "%d of %d nodes do not answer: too many at once to judge, so nothing there is given up "
            "before they return, or `fedctl node confirm-lost` says that one is lost",
            cluster->profile->health.unreachable, cluster->profile->health.nodes);
    if (!is && was)
        fed_cluster_event(fed, cluster, MASS_DOWN_OVER_EVENT, "%d of %d nodes are ready",
                          cluster->profile->health.ready, cluster->profile->health.nodes);
}

/* More of them is news, fewer only when none is left. A new leader goes on from what was noted. */
static void note_suspects(struct fed *fed, struct cluster *cluster)
{
    int32_t count = cluster->profile->health.suspect_gpus, before = cluster->suspects;
    bool noted = is_noted(cluster, SUSPECT_EVENT, SUSPECT_OVER_EVENT);
    cluster->suspects = count;
    if (count > before && (before || !noted))
        fed_cluster_event(
            fed, cluster, SUSPECT_EVENT,
            "%d GPU%s suspect and take%s no new work: `fedctl get gpus --cluster %s` says by whose word",
            count, count == 1 ? " is" : "s are", count == 1 ? "s" : "", cluster->record.name);
    if (count == 0 && noted)
        fed_cluster_event(fed, cluster, SUSPECT_OVER_EVENT, "no GPU is suspect any more");
}

static void take_profile(struct fed *fed, struct cluster *cluster, struct tf_profile *profile)
{
    struct tf_error err = TF_ERROR_INIT;
    bool was_current = fed_cluster_is_current(fed, cluster);
    bool full = profile->full, hopes = fed_consolidate_hopes(fed, cluster, profile);
    if (fed_ledger_profile(fed, cluster, profile, &err)) {
        if (err.code != TF_ERR_CONFLICT) {
            close_link(fed, cluster->link, "the profile of subcluster %s is wrong: %s", cluster->record.name,
                       err.text);
            detach(fed, cluster);
        } else if (!cluster->wants_profile) {
            cluster->wants_profile = true;
            tf_reached(fed, FED_DELTA_GAP);
            fed_desired_send(fed, cluster, TF_DOWN_WANT_PROFILE);
        }
        return;
    }
    if (full)
        cluster->wants_profile = false;
    note_brake(fed, cluster);
    note_suspects(fed, cluster);
    fed->told_late = true;
    if ((fed_cluster_is_current(fed, cluster) && !was_current) || hopes)
        fed_cluster_grew(fed, cluster);
    fed_retention_profile(cluster);
}

void fed_link_said(struct fed *fed, uint64_t link, struct tf_up *up)
{
    struct cluster *cluster = fed_cluster_by_link(fed, link);
    if (!cluster)
        return;
    cluster->contact = fed->now.wall;
    switch (up->kind) {
    case TF_UP_PROFILE:
        take_profile(fed, cluster, &up->profile);
        break;
    case TF_UP_REPORT:
        fed_report_take(fed, cluster, &up->report);
        break;
    case TF_UP_LISTED:
        fed_report_listed(fed, cluster);
        break;
    case TF_UP_NONE:
    case TF_UP_HELLO:
    case TF_UP_FENCE: /* no job is under a lease: DESIGN.md §7, onClusterLost is refused */
    case TF_UP_ANSWER:
    case TF_UP_STORE:
        break;
    }
}

/* ---- lost ---- */

static struct tf_mono lost_at(const struct fed *fed, const struct cluster *cluster)
{
    if (cluster->link || cluster->lost || cluster->record.forgotten)
        return TF_NEVER;
    return (struct tf_mono){cluster->away_since.ms + fed->settings.cluster_lost_after};
}

static void tell_lost(struct fed *fed, struct cluster *cluster)
{
    int64_t seconds = fed_cluster_away_seconds(fed, cluster);
    if (!fed_cluster_lost_at(cluster).ms)
        fed_cluster_event(fed, cluster, FED_CLUSTER_LOST_EVENT,
                          "its stream has been away for %" PRId64 " s; what runs there goes on", seconds);
    fed_alarm_now(fed,
                  "subcluster %s is lost: its stream has been away for %" PRId64
                  " s. What runs there goes on, and its jobs wait for it",
                  cluster->record.name, seconds);
}

/* Nothing goes to one that was stopped either, but nobody is woken for it. */
void fed_links_judge(struct fed *fed)
{
    if (fed->stage != FED_STAGE_OPEN)
        return;
    tf_vec_each (c, &fed->clusters) {
        if (lost_at(fed, *c).ms > fed->now.mono.ms)
            continue;
        (*c)->lost = true;
        tf_reached(fed, FED_CLUSTER_LOST);
        if (!fed_cluster_stopped_at(*c).ms)
            tell_lost(fed, *c);
    }
}

struct tf_mono fed_links_next(const struct fed *fed)
{
    struct tf_mono next = TF_NEVER;
    if (fed->stage == FED_STAGE_OPEN)
        tf_vec_each (c, &fed->clusters)
            if (lost_at(fed, *c).ms < next.ms)
                next = lost_at(fed, *c);
    return next;
}
