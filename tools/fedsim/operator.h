/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDSIM_OPERATOR_H
#define TF_FEDSIM_OPERATOR_H

#include "common/base/error.h"
#include "common/base/vec.h"
#include "common/model/cordon.h"
#include "common/model/defrag.h"
#include "common/model/migration.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The people who run the federation: they restore stores from copies, start daemons with --accept-rollback,
 * cordon subclusters, freeze them, and declare burnt ones dead. What they ask of the leader they ask until it
 * is done. */

struct sim_world;
struct sim_site;
struct sim_subd;
struct tf_ask;
struct tf_answer;
struct sim_process;
struct sim_answer;
struct errand;
struct sim_drain;

#define SIM_OPERATOR_CALLS (UINT64_C(1) << 60) /* the numbers of clients' calls are below */

/* A question that was sent, and which order it is a part of. */
struct sim_asked {
    uint64_t ask;
    struct tf_uid order;
};

struct sim_operator {
    TF_VEC(struct errand *) errands;
    TF_VEC(struct sim_drain *) drains;
    TF_VEC(struct sim_asked) asked;
    uint64_t calls;
    bool paused;    /* moves, somewhere, once */
    bool restoring; /* the federation's store is being restored */
    bool accepting; /* fedds are started with --accept-rollback, until one has written that */
    bool unaware;   /* the store was restored and nobody has told the fedds: they must find out */
    int64_t copy;   /* that is put back */
    uint64_t restored, found_out;
};

void operator_release(struct sim_world *world);
/* The daemon has written; if it was started with --accept-rollback it need not be again. */
void operator_is_accepted(struct sim_process *process);
/* A daemon is started, unless it runs or must not. */
void operator_starts(struct sim_process *process);
/* The federation's store: a copy is made, named by a moment; every fedd is stopped, that copy put back, and
 * they are started again. unaware: without --accept-rollback, as far as every subcluster can tell that from
 * its term alone. Nothing happens if it cannot be done now. */
void operator_backs_up(struct sim_world *world, int64_t moment);
void operator_restores(struct sim_world *world, int64_t moment, bool unaware);
/* The same with a subcluster's own store. */
void operator_backs_up_site(struct sim_site *site, int64_t moment);
void operator_restores_site(struct sim_site *site, int64_t moment);
/* All of it ends: instances, store, the engine's memory. When the federation has forgotten it, it is built
 * anew. */
void site_burns(struct sim_site *site);
void operator_cordons(struct sim_site *site, bool on);
/* Asked once of every subcluster that hears; one without the job has nothing to do. What is not heard is
 * lost: a move is no promise. Returns how many hear; what they answer to a BEGIN is told as SIM_FACT_ORDERED
 * of the order's id. */
size_t operator_orders_move(struct sim_world *world, const struct tf_migrate_order *order);
/* All that is under way in the subcluster: begins no further step, until it is resumed, which is seen
 * through; or is taken back, as far as it can be and was heard. */
void operator_pauses_moves(struct sim_site *site, bool on);
void operator_aborts_moves(struct sim_site *site);
/* As `fedctl drain node`, and with NULL as `uncordon`; asked until its subcluster says that it is so. */
void operator_drains(struct sim_site *site, size_t node, const struct tf_drain_order *order);
/* As `fedctl drain domain|cluster`, or `drain node -l`: domain as in common/model/node.h. */
void operator_drains_domain(struct sim_site *site, const char *domain, const struct tf_drain_order *order);
void operator_release_drains(struct sim_world *world);
/* Of the subclusters that hear: the question is borrowed. Returns the id that the answer will have. */
uint64_t operator_asks(struct sim_subd *subd, const struct tf_ask *ask);
/* The daemon answers a question, which may be the operator's. */
void operator_is_answered(const struct sim_subd *subd, const struct tf_answer *answer);
bool operator_is_heard(const struct sim_subd *subd);
/* what: a set of enum tf_frozen. */
void operator_freezes(struct sim_site *site, int32_t what, int64_t lasts);
/* Ends all that was frozen there, if anything was. */
void operator_unfreezes(struct sim_site *site);
/* A plan is asked for (*plan, raw memory, is owned by the caller afterwards), and, if it moves anything, its
 * order sent: it may come when the plan would be another. What is answered is told as SIM_FACT_ORDERED of the
 * order's id. False: nobody there hears. */
bool operator_defrags(struct sim_site *site, const struct tf_defrag_order *order,
                      struct tf_defrag_plan *plan);
/* The engine refuses the present owner: once more with --accept-rollback, since the copy was made before the
 * last time. */
void operator_hears_stale(struct sim_site *site);
/* An alarm of a leader. */
void operator_hears(struct sim_world *world, const char *alarm);
/* True if the call was the operator's. */
bool operator_answered(struct sim_world *world, uint64_t call, const struct sim_answer *answer);

#endif
