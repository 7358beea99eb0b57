/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDSIM_PLAY_H
#define TF_FEDSIM_PLAY_H

#include "tools/fedsim/report/report.h"
#include "tools/fedsim/rival/rival.h"
#include "tools/fedsim/scenario/scenario.h"
#include "tools/fedsim/world.h"

/* Plays a scenario in virtual time through the production cores, and says which of its expectations held. */

/* Mechanisms that a run may do without. */
enum play_without {
    PLAY_WITHOUT_ABSORB = 1, /* nobody grows */
    PLAY_WITHOUT_ALIGN = 2,  /* sizes that the work cannot use */
    PLAY_WITHOUT_COST = 4,   /* victims whatever they lose */
    PLAY_WITHOUT_CLAIMS = 8, /* large gangs take their chance */
};
unsigned play_without_named(const char *name); /* 0: there is none of that name */

struct play_options {
    const char *folder; /* that paths in the scenario begin from; NULL = here */
    uint64_t seed;      /* with has_seed: instead of the scenario's */
    bool has_seed;
    int64_t until;         /* ms; negative = as the scenario says */
    enum sim_check check;  /* of the invariants. Without EVERY or aloud nothing is written down:
                               there is no tail and no hash */
    enum rival_kind rival; /* who decides; with another than tidefed, or without something of it, what is
                              expected is not judged */
    unsigned without;      /* set of play_without */
    bool aloud;            /* print all that happens */
    uint64_t tail;         /* print so many last lines after a breach */
    const char *record;    /* folder in which every daemon records its events; NULL = none do */
    /* May be NULL. Called when the world is made and not yet started, and when the run is over; the world is
     * the player's. */
    void (*begins)(void *arg, struct sim_world *world);
    void (*ends)(void *arg, struct sim_world *world);
    void *arg;
    /* May be NULL. Called now and then, thousands of events apart: virtual ms of now and of the end. */
    void (*goes_on)(void *arg, int64_t at, int64_t until, uint64_t events);
    void *goes_on_arg;
};

/* What did not hold: an expectation, by its number, or (number < 0) something that happened. */
struct play_failure {
    int number;  /* of the expectation, from 0; negative: none */
    char *where; /* path in the scenario, "events[2]" or "jobs[0].on"; NULL: no single place */
    char *text;
};

struct play_result {
    bool breached;
    char breach[1000]; /* of an invariant, in words */
    SCENARIO_LIST(struct play_failure) failures;
    SCENARIO_LIST(struct play_failure) skipped; /* expectations and events later than `until` */
    SCENARIO_LIST(struct play_failure) notes;   /* what had nothing to do, or less than was asked for */
    struct report *report;                      /* NULL if the scenario could not be played: */
    char *where;   /* path in the scenario of why not, "clusters[1].nodesFrom.csv"; NULL: no single place */
    uint64_t hash; /* of all that happened: two runs that differ in anything differ in it; 0 = none */
    uint64_t events;
    struct sim_situations reached; /* by all cores */
    int64_t ended;                 /* virtual ms */
    size_t expectations;
};

/* The scenario is checked (scenario_check) and borrowed. *result is owned by the caller afterwards. -1 and
 * *err if it cannot be played: a file that it names is missing or wrong. */
int scenario_play(const struct scenario *scenario, const struct play_options *options,
                  struct play_result *result, struct tf_error *err);
bool play_is_good(const struct play_result *result); /* nothing breached, nothing failed */
void play_result_release(struct play_result *result);

#endif
