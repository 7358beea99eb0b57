/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDSIM_CHAOS_INGREDIENTS_H
#define TF_FEDSIM_CHAOS_INGREDIENTS_H

#include "tools/fedsim/scenario/scenario.h"

#include <stdio.h>

/* What random runs are made of, counted: a fault that is never drawn is one that nothing is tested against,
 * and nobody would see it. X(NAME, words, condition), the condition of an event `e`, a job `j`, a cluster
 * `c`, or the scenario `s`. */
#define CHAOS_EVENTS(X)                                                                                  \
    X(CUT, "network: both ways between a subcluster and a fedd are cut", e->link.cut == SCENARIO_CUT)    \
    X(CUT_UP, "network: the way up is cut, the way down is not", e->link.cut == SCENARIO_CUT_UP)         \
    X(CUT_DOWN, "network: the way down is cut, the way up is not", e->link.cut == SCENARIO_CUT_DOWN)     \
    X(BREAK, "network: a link breaks and is dialled anew", e->link.cut == SCENARIO_BREAK)                \
    X(DELAY, "network: messages take seconds", e->link.delay > 0)                                        \
    X(LATE, "network: messages of an old leader arrive late", e->late != NULL)                           \
    X(REPEAT, "network: an engine's words come twice", e->repeat != NULL)                                \
    X(SLOW, "store: slow", e->store.slow > 0)                                                            \
    X(DOWN, "store: does not answer", e->store.fault == SCENARIO_UNAVAILABLE)                            \
    X(REFUSES, "store: refuses requests", e->store.refused > 0)                                          \
    X(REQUESTS, "store: requests are lost", e->store.lost_requests > 0)                                  \
    X(REPLIES, "store: the replies to what it did are lost", e->store.lost_replies > 0)                  \
    X(TOO_LATE, "store: does it after its client has given up", e->store.late > 0)                       \
    X(CUT_OFF, "store: a daemon does not reach it until its lease ends", e->store_away != NULL)          \
    X(OLD, "store: the federation's comes back from an older copy",                                      \
      e->store.restored >= 0 && !e->store_of && !e->store.unaware)                                       \
    X(OLD_UNTOLD, "store: the same, and nobody tells fedd", e->store.unaware)                            \
    X(OLD_LOCAL, "store: a subcluster's comes back from an older copy",                                  \
      e->store.restored >= 0 && e->store_of != NULL)                                                     \
    X(NODE_DIES, "fleet: a node dies", e->state == SCENARIO_DOWN)                                        \
    X(UNSEEN, "fleet: a node is not seen, and what is there runs on", e->state == SCENARIO_UNREACHABLE)  \
    X(FLAPS, "fleet: the same, for a moment",                                                            \
      e->state == SCENARIO_UNREACHABLE && e->lasts > 0 && e->lasts <= 1500)                              \
    X(BAD, "fleet: a GPU is bad", e->state == SCENARIO_BAD)                                              \
    X(SUSPECT, "fleet: a GPU is suspect", e->state == SCENARIO_SUSPECT)                                  \
    X(FOREIGN, "fleet: others use GPUs", e->foreign != NULL)                                             \
    X(BURNS, "fleet: all of a subcluster is lost", e->burn != NULL)                                      \
    X(CRASH, "daemon: killed", e->crash != NULL && e->before < 0)                                        \
    X(CRASH_BETWEEN, "daemon: killed between two actions of a list", e->crash != NULL && e->before >= 0) \
    X(PAUSED, "daemon: stands still", e->pause != NULL)                                                  \
    X(HANDS_OVER, "daemon: gives up leading", e->hand_over != NULL)                                      \
    X(RELOADS, "daemon: reads its settings again", e->reload != NULL)                                    \
    X(CLOCK, "daemon: its clock is set", e->clock_jump != NULL)                                          \
    X(CORDON, "people: a subcluster is cordoned", e->cordon != NULL)                                     \
    X(DRAIN_MANY, "people: a domain, a cluster or what has some labels is drained", e->drain != NULL)    \
    X(DRAIN, "people: a node is drained", e->state == SCENARIO_DRAINING)                                 \
    X(FREEZE, "people: evictions, growth or moves are frozen", e->freeze != NULL)                        \
    X(MOVE, "people: instances, or a job, are moved", e->migrate != NULL)                                \
    X(DEFRAG, "people: nodes are made free", e->defrag != NULL)                                          \
    X(HALT, "people: moves are paused or aborted", e->pause_moves != NULL || e->abort_moves != NULL)     \
    X(DELETE, "users: delete", e->delete_job != NULL)                                                    \
    X(SCALE, "users: scale", e->scale != NULL)                                                           \
    X(HOLD, "users: hold", e->hold != NULL)                                                              \
    X(RESTART, "users: restart", e->restart != NULL)
#define CHAOS_JOBS(X)                                                                      \
    X(STARTS, "jobs: take a while to start", j->start_time > 0 || j->chance.start_max > 0) \
    X(STOPS, "jobs: take a while to stop", j->stop_time > 0)                               \
    X(FAILS, "jobs: fail", j->chance.fail > 0)                                             \
    X(FAILS_EARLY, "jobs: fail before they are ready", j->chance.fail_early > 0)           \
    X(NEVER_READY, "jobs: never get ready", j->chance.never_ready > 0)                     \
    X(DEAF, "jobs: do not hear the polite stop", j->chance.deaf > 0)                       \
    X(REFUSED, "jobs: starts that the engine refuses", j->chance.engine_refuses > 0)       \
    X(RESERVES, "jobs: reservations", tf_is_reservation(&j->spec))
#define CHAOS_CLUSTERS(X)                                                               \
    X(TWO_SUBS, "subclusters: with two subclusterd of their name", c->subclusterds > 1) \
    X(DRIFT, "subclusters: whose clocks drift", c->clock_drift != 0)                    \
    X(SKEW, "subclusters: whose clocks are wrong", c->clock_skew != 0)
#define CHAOS_WORLDS(X)                                                               \
    X(TWO_FEDDS, "runs: with two fedd", s->world.fedds > 1)                           \
    X(FEDD_DRIFT, "runs: with a fedd whose clocks drift", s->world.fedd_drift != 0)   \
    X(ANSWERS, "runs: in which answers to users are lost", s->world.answers_lost > 0) \
    X(BUDGET, "runs: with the least decisionBudget",                                  \
      s->settings.federation.decision_budget <= CHAOS_BUDGET_LEAST)

enum { CHAOS_BUDGET_LEAST = 10 };

#define CHAOS_NAME(name, words, condition) CHAOS_##name,
enum chaos_ingredient {
    CHAOS_EVENTS(CHAOS_NAME) CHAOS_JOBS(CHAOS_NAME) CHAOS_CLUSTERS(CHAOS_NAME) CHAOS_WORLDS(CHAOS_NAME)
        CHAOS_INGREDIENTS
};
#undef CHAOS_NAME

/* Adds what the scenario has of each. */
void chaos_ingredients_count(const struct scenario *scenario, uint64_t counts[CHAOS_INGREDIENTS]);
/* One line each. Returns how many were drawn fewer than `least` times; those are marked. */
size_t chaos_ingredients_print(FILE *out, const uint64_t counts[CHAOS_INGREDIENTS], uint64_t least);

#endif
