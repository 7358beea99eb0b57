/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDSIM_PLAY_PRIVATE_H
#define TF_FEDSIM_PLAY_PRIVATE_H

#include "tools/fedsim/play/play.h"
#include "tools/fedsim/play/truth.h"

/* Shared inside of this folder. */

/* A scenario's job in the world, by "tenant/name". */
struct play_name {
    size_t job; /* in the world's clients */
    UT_hash_handle hh;
    char name[];
};

struct play_tide {
    struct play *play;
    const struct scenario_tide *tide;
    size_t job;
    int32_t now; /* instances that were asked for last */
};

/* Which of the scenario's jobs, or tides, a job in the world is. */
struct play_origin {
    bool tide;
    size_t number;
};

/* An event of the scenario, to be performed. */
struct play_event {
    struct play *play;
    const struct scenario_event *event;
};

/* An expectation that is not about a single moment. */
struct play_watch {
    size_t number;
    const struct scenario_assertion *assertion;
    int64_t from, to;
    bool once;         /* true at some moment, or at all of them */
    bool held, failed; /* settled */
    uint64_t seen;     /* changes of the truth by the last look; 0 = none yet */
};
/* A moment at which an expectation is looked at when all else of it has happened. */
struct play_stop {
    int64_t at;
    size_t number;
    int64_t watch; /* that ends there; -1: it is about that moment alone */
};

/* A job that starts on named nodes. */
struct play_pin {
    size_t number, job; /* in the scenario; in the world's clients */
    int64_t at;
};

/* What a job's user was refused, perhaps many times. */
struct play_refusal {
    const struct sim_job *job;
    enum sim_verb verb;
    char *text;
    int64_t first, last;
    uint64_t times;
};

/* Moves that an event has ordered of subclusters. */
struct play_order {
    const struct scenario_event *event;
    struct tf_uid id;
    const struct sim_site *home; /* where the job ran, or what is defragmented; NULL: nowhere */
    int64_t at;
    size_t heard, answers; /* daemons that were asked; that have answered */
    bool done;             /* one of them did it, */
    char *text;            /* or why not: the home's word, if it said one */
};

struct play {
    const struct scenario *scenario;
    const struct play_options *options;
    struct play_result *result;
    struct sim_world world;
    struct truth truth;
    struct rival *rival; /* NULL: tidefed decides */
    int64_t nodes;       /* of all clusters */
    struct play_name *names;
    TF_VEC(struct play_origin) origins; /* of each of the world's clients' jobs */
    struct play_origin building;        /* while the world is built: whose jobs come next */
    TF_VEC(struct play_tide) tides;
    TF_VEC(struct play_event) events;               /* timed ones, then those by number */
    TF_VEC(const struct scenario_event *) numbered; /* faults by the number of an event, in order */
    size_t numbered_done;
    uint64_t told;                                /* events, when it was last said how far it is */
    TF_VEC(const struct scenario_event *) copies; /* of stores, to be put back by these */
    TF_VEC(struct play_watch) watches;
    TF_VEC(struct play_stop) stops; /* by time, equal ones as in the file */
    size_t stopped;
    TF_VEC(struct play_refusal) refusals;
    TF_VEC(struct play_order) orders;
    TF_VEC(struct play_pin) pins; /* by time, equal ones as in the file */
    size_t pinned, pin_starts;    /* done; instances of the next that have started */
    bool pinning;                 /* it is under way */
    TF_VEC(size_t) held_back;     /* other jobs, in the world's clients, to be submitted after it */
    int64_t until;
};

/* ---- build.c ---- */
int play_build(struct play *play, struct tf_error *err);
/* Index of the job among the world's clients, -1 if there is none. */
int64_t play_job_find(const struct play *play, const char *name);
/* Where that job of the world's clients comes from: "jobs[3]". Owned by the caller; NULL: not known. */
char *play_job_path(const struct play *play, const struct sim_job *job);

/* ---- refusals.c ---- */
/* From now on what users are refused is written down. */
void play_refusals_begin(struct play *play);
/* The run is over: what was refused and should not have been fails, and the other way round. */
void play_refusals_judge(struct play *play);
void play_refusals_release(struct play *play);

/* ---- orders.c ---- */
/* The event moves a whole job to another subcluster, which is for its user to ask; else it is an order. */
bool play_moves_job(const struct play *play, const struct scenario_event *event);
void play_orders_begin(struct play *play);
/* The event has ordered that, of so many daemons. home: whose answer counts; NULL = nobody's more than
 * others'. */
void play_order(struct play *play, const struct scenario_event *event, struct tf_uid id,
                const struct sim_site *home, size_t heard);
/* The run is over: what was refused and should not have been fails, and the other way round. */
void play_orders_judge(struct play *play);
void play_orders_release(struct play *play);

/* ---- references.c ---- */
/* Whether what events and expectations name is there, now that CSV files have been read. */
int play_check_references(struct play *play, struct tf_error *err);

/* ---- compare.c ---- */
bool play_is_compared(const struct play *play);
/* When all else is built: another scheduler decides, if one is to. */
void play_rival_begin(struct play *play);
/* What happens to daemons, stores and networks is nothing to those who have none. */
bool play_concerns_rival(enum scenario_kind kind);
/* Into how many jobs of a fixed size, and how large the one of that number is: where jobs are not elastic,
 * offline work of any size is submitted in pieces. 1: it stays as it is. */
int32_t play_pieces(const struct play *play, const struct tf_job_spec *spec);
int32_t play_piece_size(const struct tf_job_spec *spec, int32_t number);

/* ---- without.c ---- */
void play_without_settings(const struct play *play, struct sim_world *world);
struct tf_elastic play_without_sizes(const struct play *play, struct tf_elastic sizes);
/* The step that its work has all the same; 0: the one it says. */
int32_t play_without_spec(const struct play *play, struct tf_job_spec *spec);

/* ---- pin.c ---- */
/* The job of that number in the scenario, and in the world's clients, starts where it says. */
void play_pin_add(struct play *play, size_t number, size_t job);
/* True if jobs start on named nodes, so that this one, which does not, is submitted at its moment or when
 * those of that moment have started. */
bool play_pin_holds_back(struct play *play, size_t job, int64_t at);
void play_pin_begin(struct play *play);

/* ---- happen.c ---- */
void play_happen(struct play *play, const struct scenario_event *event);
/* "events[2]" or "faults[0]". Owned by the caller. */
char *play_event_path(const struct play *play, const struct scenario_event *event);

/* ---- expect.c ---- */
void play_expect_begin(struct play *play);
/* The world is as it is from now until before `next`. */
void play_expect_look(struct play *play, struct tf_mono next);
/* The first moment at which the world must stop; INT64_MAX: there is none. */
int64_t play_expect_next(const struct play *play);
/* All of this moment has happened. */
void play_expect_at(struct play *play, int64_t now);

/* ---- assertion.c ---- */
/* Whether the assertion is true, with times that run as of then; if not, what is. */
bool play_assertion_holds(struct play *play, const struct scenario_assertion *assertion, struct tf_mono as_of,
                          struct tf_buf *why);

/* ---- play.c ---- */
/* The expectation of that number does not hold. */
void play_fail(struct play *play, int number, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* What happened at that place in the scenario is not as it was meant. where: NULL = no single place. */
void play_fail_at(struct play *play, const char *where, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The same of an event. */
void play_fail_event(struct play *play, const struct scenario_event *event, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* A line of what could not be judged; number: of the expectation, -1 = none. where and text are taken. */
void play_skip(struct play *play, int number, char *where, char *text);
/* A line of what is as it was asked for, and perhaps not as it was meant. */
void play_note_event(struct play *play, const struct scenario_event *event, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The scenario cannot be played because of that place in it, a path that is taken. Returns -1. */
int play_wrong(struct play *play, char *where);

#endif
