/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDSIM_AUDIT_H
#define TF_FEDSIM_AUDIT_H

#include "common/model/message.h"

/* Judges a run by the promises of DESIGN.md §9, from the truth of the world alone: what the engines run, what
 * the stores hold, what clients were answered. It never looks at a core's state and shares no code with the
 * cores, so that it does not share their bugs. The first breach is kept, in words. */
struct audit;

#define AUDIT_FEDERATION "federation" /* name of the federation's store */

struct audit *audit_create(void);
void audit_destroy(struct audit *audit); /* NULL is fine */
/* NULL while nothing was breached. Borrowed. */
const char *audit_breach(const struct audit *audit);
void audit_fail(struct audit *audit, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Nobody in this run has promised anything: nothing is judged any more. */
void audit_mute(struct audit *audit);
void audit_now(struct audit *audit, struct tf_mono now);
/* Nothing goes wrong in this run: what is allowed as the consequence of a fault is a breach, too. */
void audit_expect_calm(struct audit *audit);
/* The wall clock at the start, ms, and by how much those of daemons may differ from it. */
void audit_calendar(struct audit *audit, int64_t start, int64_t skew);
/* Of instances without a probe, ms. */
void audit_start_timeout(struct audit *audit, int64_t ms);

/* When a node that nothing is heard of may be given up. */
struct audit_silence {
    int64_t lost_after, window; /* ms */
    int32_t fraction, least;    /* basis points; nodes */
};
void audit_silence(struct audit *audit, const struct audit_silence *rules);

/* A wall clock of a daemon was set by so much: its moments are off by that. */
void audit_clock_error(struct audit *audit, int64_t ms);
/* The store was replaced by an older copy of itself: every record of it follows. */
void audit_restored(struct audit *audit, const char *store);
/* With all that ran there, and all that it knew. */
void audit_burnt(struct audit *audit, const char *cluster);
struct tf_term audit_term(struct audit *audit, const char *cluster); /* the highest it has stored */
/* It is acknowledged that nothing new is placed there; or somebody asks to end that. */
void audit_cordoned(struct audit *audit, const char *cluster, bool on);

/* ---- clusters ---- */
void audit_cluster(struct audit *audit, const char *cluster, const char *region);
/* A node, new or changed. */
void audit_node(struct audit *audit, const char *cluster, const struct tf_node *node);

/* ---- engines ---- */
enum audit_end { AUDIT_DONE = 1, AUDIT_FAILED, AUDIT_STOPPED, AUDIT_LOST };
void audit_started(struct audit *audit, const char *cluster, const struct tf_instance_id *id,
                   const char *node, uint64_t gpus, struct tf_vector need);
void audit_ended(struct audit *audit, const char *cluster, const struct tf_instance_id *id,
                 enum audit_end end);
/* It is ready, and its daemons could hear of it. */
void audit_ready(struct audit *audit, const char *cluster, const struct tf_instance_id *id);
/* The engine will not start it. */
void audit_refused(struct audit *audit, const struct tf_instance_id *id);
/* It runs, and its daemon has asked the engine to stop it. */
void audit_stop(struct audit *audit, const char *cluster, const struct tf_instance_id *id);
void audit_forgotten(struct audit *audit, const char *cluster, struct tf_uid uid, uint64_t epoch);

/* ---- stores: what has become durable. A gone record has only what names it. What a record says is kept, and
 * what was known before is left in it, to be released ---- */
void audit_record(struct audit *audit, const char *store, struct tf_record *record);
/* All records of a transaction have been given. */
void audit_transaction(struct audit *audit, const char *store);
void audit_archived(struct audit *audit, const struct tf_job_record *record);

/* ---- messages, as they are sent ---- */
void audit_told_up(struct audit *audit, const char *cluster, const struct tf_up *up);
/* The daemon knows that the link to its leader is down, or ends itself. */
void audit_link_closed(struct audit *audit, const char *cluster);
void audit_told_down(struct audit *audit, const char *cluster, const struct tf_down *down);

/* ---- clients ---- */
void audit_submit_asked(struct audit *audit, struct tf_uid uid, const struct tf_job_manifest *manifest);
void audit_submit_acked(struct audit *audit, struct tf_uid uid);
/* A client was told that the name is taken. */
void audit_name_taken(struct audit *audit, struct tf_uid uid);
void audit_delete_asked(struct audit *audit, struct tf_uid uid);
void audit_delete_acked(struct audit *audit, struct tf_uid uid);
void audit_hold_asked(struct audit *audit, struct tf_uid uid);
void audit_scale_asked(struct audit *audit, struct tf_uid uid);
/* `apply --restart` of the job, by the id `again`, which is the new job's if the old one had finished. */
void audit_restart_asked(struct audit *audit, struct tf_uid uid, struct tf_uid again,
                         const struct tf_job_manifest *manifest);
/* A client was told that there is no such job. */
void audit_not_found(struct audit *audit, struct tf_uid uid);
/* A client was shown the job in this version. */
void audit_shown(struct audit *audit, struct tf_uid uid, uint64_t version);

/* ---- at rest: first what is found, then the verdict ---- */
/* The engine still has a record of an exit. */
void audit_leftover(struct audit *audit, const char *cluster, const struct tf_instance_id *id);
/* The federation says why a waiting job is not placed there: a reason, and after the first what else is in
 * the way. */
void audit_explained(struct audit *audit, struct tf_uid uid, const char *cluster, enum tf_reason reason,
                     bool first);
/* The cluster says why its idle GPUs are idle. */
void audit_idle(struct audit *audit, const char *cluster, const struct tf_idle_causes *idle);
void audit_rest(struct audit *audit);

/* ---- what was seen ---- */
struct audit_counts {
    uint64_t starts, ends, stops, placements, refusals, submits, deletes, archived, waiting_at_rest,
        running_at_rest, evictions;
};
struct audit_counts audit_counts(const struct audit *audit);

#endif
