/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_TESTS_FED_DRIVER_H
#define TF_TESTS_FED_DRIVER_H

#include "common/base/buf.h"
#include "federation/core/fed.h"

/* Drives the federation's core by one-line calls: feeds events, keeps the store as wire bytes, and writes
 * what leaves the core as lines of text, to be compared with what was expected:
 *
 *     reply 1: created #1
 *     bj-a BEGIN 1, 0 entries              also PART, END, WANT_PROFILE, POLICY
 *     bj-a CONSIDERED 7.3                 owner and counter of the profile
 *     bj-a CHANGE 2: place rec/x e1 4 H800; release #1 e1 delete; stored #1 e1
 *     close bj-a: words                    archive rec/x Succeeded
 *     alarm: words                         trace: the line (only if asked for)
 *     persist: epoch 1, job rec/x, gone rec/y, cluster bj-a, summary bj-a      (only if asked for)
 *
 * Uids are small numbers: #7. Unless told otherwise a transaction is committed, an archive written and a
 * continuation granted at once. */

struct drive_cluster {
    char *name;
    uint64_t link; /* 0 = not attached */
    uint64_t n;    /* of the last set or change that was sent */
    uint64_t counter, owner;
    struct tf_profile sent; /* the last profile of this stream */
};

struct drive_pair {
    char *key;
    struct tf_buf value;
};

struct drive {
    struct fed *fed;
    struct tf_now now;
    struct tf_term term;
    struct tf_settings settings;
    uint64_t seed;

    bool hold_commits, hold_archives, hold_continue;
    bool log_persists, log_traces;
    bool counts_free;       /* profiles count their free GPUs, so CONSIDERED is told */
    bool deltas;            /* profiles after the first of a stream are sent as deltas */
    struct tf_buf log;      /* since the last drive_expect */
    char *said;             /* the text of the last reply's error, close or alarm */
    struct fed_reply reply; /* the last one; its complaints are shown in `complaints` */
    struct tf_buf complaints;
    struct tf_mono wake;
    bool wants_continue;

    TF_VEC(struct drive_pair) store; /* sorted by key */
    struct tf_record *out;           /* of the transaction that is not yet committed */
    size_t out_count;
    bool in_flight;
    TF_VEC(struct tf_uid) archiving;
    TF_VEC(struct drive_cluster) clusters;
    uint64_t requests, links;
    size_t commits;
    void (*on_action)(struct drive *d, const struct fed_action *action, void *arg); /* may be NULL */
    void *arg;
};

void drive_init(struct drive *d);
void drive_release(struct drive *d);
/* One event, and what it leads to. The event is taken. */
void drive_step(struct drive *d, struct fed_event event);
void drive_elapse(struct drive *d, int64_t ms); /* stops at each wish to be woken on the way */
/* Lines that left since the last call must be these; says both when they are not. */
void drive_expect_at(struct drive *d, const char *file, int line, const char *expected);
#define drive_expect(d, expected) drive_expect_at(d, __FILE__, __LINE__, expected)
void drive_commit(struct drive *d);   /* the transaction that is out becomes durable */
void drive_archived(struct drive *d); /* the oldest archive that is out is on disk */
void drive_continue(struct drive *d);
/* The leader is gone with all that it did not commit; a new one is elected, and loads. Streams are gone. */
void drive_crash(struct drive *d);
void drive_crash_with(struct drive *d, bool accept_rollback);

struct tf_uid drive_uid(uint64_t number);
uint64_t drive_number(struct tf_uid uid);

/* "rec/x" and words: uid=1 prio=batch n=4 | min= max= step=, gpus= model=A|B cpu= mem= keep=MS minrun=MS
 * maxrun=MS retries= clusters=a|b regions=a|b within=LEVEL prefer=LEVEL grow=never lost=restart label=k:v
 * node=LABEL moves=never|restart
 * cmd=TEXT; a reservation: expires=MS owner=JOB for=SELECTOR; apply restart dry. Returns the request's
 * number. */
uint64_t drive_submit(struct drive *d, const char *job, const char *words);
/* What a submit in these words would carry. */
void drive_manifest(const struct drive *d, const char *job, const char *words, struct tf_job_manifest *out);
uint64_t drive_job(struct drive *d, enum fed_event_kind kind, const char *job); /* DELETE, HOLD, RESUME */
uint64_t drive_migrate(struct drive *d, const char *job, const char *to);       /* NULL: abort */
uint64_t drive_migrate_as(struct drive *d, const char *job, const char *to, const char *user,
                          const char *reason);
uint64_t drive_scale(struct drive *d, const char *job, struct tf_elastic elastic);
uint64_t drive_cluster(struct drive *d, enum fed_event_kind kind, const char *name, bool on);
uint64_t drive_freeze(struct drive *d, bool on, enum tf_frozen what, const char *cluster, int64_t lasts);
uint64_t drive_barrier(struct drive *d);

/* A stream says hello; then drive_profile says what there is, e.g. "4x8:H800 2x4:A100@rdma-1 3x0" (nodes x
 * GPUs : model
 * @ domain; "core0:4x8": held by cores of rank 0, "price0:600" for 600 s, "short0:7:3:2": #7 of rank 0 misses
 * 3 instances, of which 2 fit; "reserved7:1x8": kept by reservation #7; "moves2:8:40" and
 * "moving:rec/x": what moves could free, and for whom they are made); each node has 16 cores and 128 GiB a
 * GPU (at least one of each) and 64 slots. It reflects all that was sent, or what reflects says
 * (drive_profile_at). */
struct drive_cluster *drive_attach(struct drive *d, const char *name, const char *region);
void drive_hello(struct drive *d, const char *name, struct tf_hello hello); /* hello is taken */
void drive_detach(struct drive *d, const char *name);
void drive_leave(struct drive *d, const char *name); /* its subclusterd is stopped */
void drive_profile(struct drive *d, const char *name, const char *rows);
void drive_profile_at(struct drive *d, const char *name, const char *rows, uint64_t reflects_n);
void drive_say(struct drive *d, const char *name, struct tf_up up); /* taken; goes over the wire */
/* attach, profile, and the lines that this gives are dropped. */
void drive_cluster_up(struct drive *d, const char *name, const char *rows);
struct drive_cluster *drive_find(struct drive *d, const char *name);

void drive_report(struct drive *d, const char *cluster, uint64_t uid, uint64_t epoch, enum tf_phase phase,
                  int32_t ready);
/* The old subcluster of a moving job promises to let it go, or that it will not. */
void drive_answer(struct drive *d, const char *cluster, uint64_t uid, uint64_t epoch, uint64_t successor,
                  bool promised);
void drive_ended(struct drive *d, const char *cluster, uint64_t uid, uint64_t epoch, struct tf_ended ended);
void drive_end(struct drive *d, const char *cluster, uint64_t uid, uint64_t epoch, enum tf_end end);
void drive_listed(struct drive *d, const char *cluster);

/* "Pending", "Running in bj-a e3 x4", "none". Borrowed until the next call. */
const char *drive_phase(struct drive *d, const char *job);
/* The job's stored record; false if there is none. record is zeroed before. */
bool drive_stored(const struct drive *d, const char *job, struct tf_job_record *record);
const struct tf_job_record *drive_record(const struct drive *d, const char *job);

#endif
