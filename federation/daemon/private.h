/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDERATION_DAEMON_PRIVATE_H
#define TF_FEDERATION_DAEMON_PRIVATE_H

#include "common/base/buf.h"
#include "common/base/hash.h"
#include "common/daemon/tally.h"
#include "common/eventlog/recorder.h"
#include "common/log/decisions.h"
#include "common/monitor/monitor.h"
#include "common/wire/api.h"
#include "federation/daemon/daemon.h"

/* Shared by the files of this folder only. */

struct request;
struct link;
struct watcher;
struct ask;
struct archive;
struct upkeep;
struct logs;
struct census;
struct metrics;

struct fedd {
    struct tf_loop *loop;
    struct tf_rpc *rpc;
    struct fedd_config config, first_config; /* in force; as it was at the start */
    char *address;                           /* as advertised */
    struct tf_server *server;
    struct tf_store *store;
    struct tf_keep *keep;

    /* lead.c */
    struct fed *fed; /* NULL: stands by */
    bool loaded;     /* the core has been given every record */
    uint64_t reign;  /* number of the core, from 1: tells what was asked by an earlier one */
    bool accept_rollback, stopping;
    char *blocked; /* why the records do not allow to lead; NULL = they do */
    char *leader;  /* endpoint of the holder, as last seen; NULL = not known */
    struct tf_wall since;

    /* host.c */
    struct tf_timer wake;
    TF_VEC(struct fed_event) waiting; /* events that came while actions were being carried out */
    bool stepping;
    struct tf_inbox_item again; /* FED_EV_CONTINUE, after other events */
    bool again_posted;
    TF_VEC(struct tf_job_record) published; /* jobs of the transaction that is out, for watchers */
    struct tf_decisions *decisions;
    struct tf_recorder *recorder; /* NULL: its events are not recorded */

    /* requests.c, links.c, watch.c, asks.c: by number, in order of arrival */
    uint64_t next_number;
    struct request *requests;
    struct link *links;
    struct watcher *watchers;
    uint64_t watch_sequence;
    struct tf_timer bookmark;
    struct ask *asks;

    struct archive *archive;
    struct upkeep *upkeep;
    struct logs *logs;
    struct census *census;
    struct metrics *metrics;
    struct tf_tally tally;

    void (*stopped)(void *arg);
    void *stopped_arg;
};

/* lead.c */
int lead_start(struct fedd *fedd, struct tf_error *err);
void lead_release(struct fedd *fedd);
void lead_drop(struct fedd *fedd); /* the core, and whatever waits for its word */
/* This process leads, knows every record, and by its own clock nobody else can lead at this moment. */
bool lead_is_certain(const struct fedd *fedd);
/* Refuses the call, naming the leader, unless this process certainly leads. */
bool lead_or_refuse(struct fedd *fedd, struct tf_call *call);
bool lead_or_refuse_stream(struct fedd *fedd, struct tf_stream *stream);
/* Why a stored record under that key cannot be read; NULL if it is not in quarantine. Borrowed. */
const char *lead_quarantined(const struct fedd *fedd, const char *kind, const char *tenant, const char *name);
void lead_refusal(const struct fedd *fedd, struct tf_error *error, struct tf_error_detail *detail);

/* host.c: events are taken; one that comes while actions are being carried out waits until they are */
void host_step(struct fedd *fedd, struct fed_event *event);
void host_committed(struct fedd *fedd);
void host_reset(struct fedd *fedd);   /* the core is being dropped */
void host_release(struct fedd *fedd); /* after the last turn of the loop that may concern it */

/* requests.c */
/* A call that waits for FED_ACT_REPLY: a change, whose answer is made of the core's reply. Returns its
 * number. */
uint64_t requests_add_change(struct fedd *fedd, struct tf_call *call, enum tf_method method);
/* Answers with the reply (released) as soon as everything that it shows is durable. */
void requests_answer_read(struct fedd *fedd, struct tf_call *call, struct tf_reply *reply);
/* The same for a read that finds nothing: what is no longer there may be a removal that is not yet durable.
 */
void requests_fail_read(struct fedd *fedd, struct tf_call *call, enum tf_error_code code, const char *fmt,
                        ...) __attribute__((format(printf, 4, 5)));
/* Calls done once everything that has been seen so far is durable (code TF_OK), or with the reason why it
 * will not be known here. */
typedef void (*barrier_f)(void *arg, const struct tf_error *error);
uint64_t requests_barrier(struct fedd *fedd, barrier_f done, void *arg);
void requests_cancel(struct fedd *fedd, uint64_t number); /* a barrier; its done is not called */
void requests_answer(struct fedd *fedd, const struct fed_reply *reply);
void requests_fail_all(struct fedd *fedd);
/* Answers at once, without waiting. reply is released. */
void call_reply(struct tf_call *call, struct tf_reply *reply);
/* When a call should be answered, so that its client still hears it. */
struct tf_mono call_answer_by(const struct fedd *fedd, const struct tf_call *call);
/* Decodes the request, or fails the call and returns false. */
bool call_request(struct tf_call *call, enum tf_method method, struct tf_bytes bytes,
                  struct tf_request *request);
void call_fail(struct tf_call *call, const struct tf_error *error, const struct tf_error_detail *detail);
void call_fail_code(struct tf_call *call, enum tf_error_code code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* links.c */
void links_register(struct fedd *fedd);
void links_send(struct fedd *fedd, uint64_t link, const struct tf_down *down);
void links_close(struct fedd *fedd, uint64_t link, const char *why);
void links_close_all(struct fedd *fedd, const char *why);
/* Why the subcluster's own store does not answer it, and since when; NULL if it does. Borrowed until the next
 * turn. */
const char *links_store_trouble(const struct fedd *fedd, uint64_t link, struct tf_wall *since);
struct tf_mono links_profile_at(const struct fedd *fedd,
                                uint64_t link); /* of its last profile; TF_NEVER: none yet */

/* changes.c, reads.c, watch.c, asks.c */
void changes_register(struct fedd *fedd);
/* A job as a whole goes to another subcluster, or no longer: the core answers. */
void changes_move(struct fedd *fedd, struct tf_call *call, struct tf_migrate_request *migrate);
/* Who asked for which change, for whoever wants to know later. (Submits are put down to their user in the
 * job.) */
void changes_log(const struct tf_call *call, enum tf_method method, const char *tenant, const char *name);
void reads_register(struct fedd *fedd);
void watch_register(struct fedd *fedd);
void watch_publish(struct fedd *fedd, const struct tf_job_record *job, bool gone);
void watch_close_all(struct fedd *fedd, const char *why);
void watch_stop(struct fedd *fedd); /* no more bookmarks */
void asks_register(struct fedd *fedd);
void asks_answer(struct fedd *fedd, uint64_t link, const struct tf_answer *answer);
void asks_link_down(struct fedd *fedd, uint64_t link);
void asks_fail_all(struct fedd *fedd);
/* Asks one subcluster; sets the question's id, of which it borrows the rest. Called back once, maybe before
 * this returns: NULL when the link has gone or nothing is led from here any more. Never after asks_cancel. */
typedef void asks_answered_f(void *arg, const struct tf_answer *answer);
void asks_send(struct fedd *fedd, uint64_t link, const char *cluster, struct tf_ask *question,
               asks_answered_f *answered, void *arg);
void asks_cancel(struct fedd *fedd, uint64_t number);
/* A change that one subcluster makes, whose answer is the call's; takes the call. Borrows the question. */
void asks_change(struct fedd *fedd, struct tf_call *call, const char *cluster, struct tf_ask *question);
/* The same; when the subcluster has done something, the core takes that request, whose answer is the call's.
 * Takes then, which may be NULL. */
void asks_change_then(struct fedd *fedd, struct tf_call *call, const char *cluster, struct tf_ask *question,
                      enum tf_method method, struct fed_event *then);

/* forward.c: the answer of one subcluster is passed on to the client as it comes. Takes the call. */
void asks_forward(struct fedd *fedd, struct tf_call *call, const char *cluster, struct tf_ask *question);
/* plans.c, moves.c */
void plans_register(struct fedd *fedd);
void moves_register(struct fedd *fedd);
/* defrag.c */
void defrag_register(struct fedd *fedd);

/* config_show.c */
void config_register(struct fedd *fedd);

/* logs.c */
void logs_register(struct fedd *fedd);
void logs_end_all(struct fedd *fedd, const char *why);
void logs_release(struct fedd *fedd); /* after the server */
/* The typed detail of an error that the handler of a call with a thread returns; leader may be NULL. */
void thread_call_detail(struct tf_thread_call *call, const struct tf_error *error, char *leader);

/* view.c: what clients see of a job; owned by the caller */
void view_job(const struct fedd *fedd, const struct tf_job_record *job, bool whole, struct tf_job_view *out);
/* The same of the record alone: of a job that nobody runs any more. From any thread. */
void view_record(const struct tf_job_record *job, bool whole, struct tf_job_view *out);
/* Its events that are not older, added to the view; false if there is none. */
bool view_events(const struct tf_job_record *job, struct tf_wall since, struct tf_job_view *out);
/* The subcluster of the job's present epoch, if what runs there cannot be known now; else NULL. Borrowed. */
const char *view_away(const struct fedd *fedd, const struct tf_job_record *job);
/* The same in words; owned by the caller. */
char *view_away_text(const struct fedd *fedd, const struct tf_job_record *job);
bool view_matches(const struct tf_job_record *job, const struct tf_job_filter *filter);

/* archive.c, archive_read.c */
int archive_open(struct fedd *fedd, struct tf_error *err);
void archive_append(struct fedd *fedd, const struct tf_job_record *job);
void archive_register(struct fedd *fedd);
void archive_close(struct fedd *fedd);

/* upkeep.c */
void upkeep_start(struct fedd *fedd);
void upkeep_now(struct fedd *fedd); /* this one has begun to lead */
void upkeep_wrote(struct fedd *fedd, size_t bytes);
void upkeep_stop(struct fedd *fedd);
struct tf_store_status upkeep_status(const struct fedd *fedd); /* as last seen; zero before */

/* census.c: jobs by class, counted over and over while metrics are shown */
struct census_row {
    char *class_name;
    int64_t jobs[TF_PHASE_DELETED + 1];
    int64_t waiting_gpus;
    struct tf_wall oldest; /* submit of the pending job that was submitted first; 0 = none is pending */
};
struct census_counts {
    struct census_row *items;
    size_t count, cap;
};
void census_start(struct fedd *fedd);
void census_stale(struct fedd *fedd); /* some job changes */
void census_reset(struct fedd *fedd); /* the core is being dropped */
void census_stop(struct fedd *fedd);  /* not started is fine */
const struct census_counts *census_counts(const struct fedd *fedd);

/* metrics.c */
int metrics_start(struct fedd *fedd, struct tf_error *err);
void metrics_stop(struct fedd *fedd);
void metrics_report(struct fedd *fedd, const struct tf_report *report); /* before the core is given it */

#endif
