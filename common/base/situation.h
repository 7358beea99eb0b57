/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_BASE_SITUATION_H
#define TF_BASE_SITUATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Rare paths that random runs must be seen to take: each is counted where the code takes it, by one line,
 *
 *     tf_reached(fed, FED_ORPHAN);
 *
 * in the state of whoever takes it, so that pure code stays pure. fedsim adds the counts up over all its
 * daemons and runs; a path that random runs do not take is a path that they do not test. Counts are for
 * looking at only: nothing is decided by them, and no image of a state has them. */
#define TF_SITUATIONS_EXPECTED(X)                                                                     \
    /* common/store/guard*.c */                                                                       \
    X(COMMIT_UNKNOWN, "store: a commit went without an answer and was sent again")                    \
    X(COMMIT_FOUND_DONE, "store: a commit whose answer was lost turned out to be done")               \
    X(COMMIT_DEPOSED, "store: a commit of a deposed holder was refused")                              \
    X(OWNER_FOUND_MADE, "store: the owner's key, put without an answer, turned out to be ours")       \
    X(OWNER_LOST_RACE, "store: another made the owner's key first")                                   \
    X(LEASE_ENDED, "store: the lease ended while it was held")                                        \
    /* federation/core */                                                                             \
    X(FED_LOADED_PLACED, "federation: loaded with placements of leaders before")                      \
    X(FED_LOADED_RELEASING, "federation: loaded while an epoch was being released")                   \
    X(FED_LOADED_REFUSALS, "federation: a refusal outlived its leader")                               \
    X(FED_REFUSED, "federation: a subcluster refused a placement")                                    \
    X(FED_REFUSED_ELSEWHERE, "federation: refused by one subcluster, placed in another")              \
    X(FED_REFUSED_AGAIN, "federation: refused by the same subcluster once more")                      \
    X(FED_REFUSAL_LIFTED, "federation: a profile with news lifted a refusal early")                   \
    X(FED_LINK_REPLACED, "federation: a newer stream of a subcluster took over")                      \
    X(FED_OLD_OWNER, "federation: an older owner's stream was turned away")                           \
    X(FED_CLUSTER_LOST, "federation: a subcluster was judged lost")                                   \
    X(FED_CLUSTER_BACK, "federation: a lost subcluster came back")                                    \
    X(FED_FLIGHT_CUT, "federation: a stream went while placements were in flight on it")              \
    X(FED_FLIGHT_SHRUNK, "federation: a profile left less than what was in flight")                   \
    X(FED_SEND_DROPPED, "federation: a message was dropped, its stream was gone when it was durable") \
    X(FED_ENDED_RELEASED, "federation: an epoch that was told to end had ended by itself")            \
    X(FED_END_REPEATED, "federation: an end that is stored was reported again")                       \
    X(FED_DELETE_TOLD_AGAIN, "federation: a delete was told again by the full set")                   \
    X(FED_TOMBSTONE_LATE, "federation: a deleted job's end came to a later leader")                   \
    X(FED_DELETE_UNSEEN, "federation: deleted before its subcluster had accepted it")                 \
    X(FED_RESTART_OVER_HOLD, "federation: a restart took the place of a hold")                        \
    X(FED_SUBMIT_REPEATED, "federation: a repeated submit got its first answer")                      \
    X(FED_CHANGE_REPEATED, "federation: a repeated change got its first answer")                      \
    X(FED_NAME_REUSED, "federation: a new job took the name of an archived one")                      \
    X(FED_BUDGET, "federation: the decision budget was used up")                                      \
    X(FED_RAISED, "federation: a placement took more than its smallest size")                         \
    X(FED_CLAIMED, "federation: a job that had waited long claims nodes")                             \
    X(FED_UNCLAIMED, "federation: a claim on nodes is over")                                          \
    X(FED_RECLAIMS, "federation: placed where others must go for it")                                 \
    X(FED_STORE_OLDER, "federation: the store is older than what a subcluster has seen")              \
    X(FED_ADOPTED, "federation: an epoch that the restored store had forgotten was adopted")          \
    X(FED_LEFT_ALONE,                                                                                 \
      "federation: what runs for a job that the restored store has forgotten was left alone")         \
    /* subcluster/core */                                                                             \
    X(SUB_STALE_LEADER, "subcluster: a message of a leader that another has followed")                \
    X(SUB_NEXT_LEADER, "subcluster: another leader on a link, or after one")                          \
    X(SUB_SENDS_DROPPED, "subcluster: reports that waited were dropped with their link")              \
    X(SUB_PLACE_REPEATED, "subcluster: a placement that it has was told again")                       \
    X(SUB_REFUSED_ROOM, "subcluster: refused, there is no room any more")                             \
    X(SUB_RELEASED_STARTING, "subcluster: released while it was starting")                            \
    X(SUB_RELEASED_UNHEARD, "subcluster: released an epoch that it had never heard of")               \
    X(SUB_END_WAITS, "subcluster: an end was not told before what was left of it was gone")           \
    X(SUB_NODE_LOST_STARTING, "subcluster: a node was lost with an instance that was starting")       \
    X(SUB_NODE_LOST_UNSEEN, "subcluster: a node was lost with a start that had no answer yet")        \
    X(SUB_NODE_LOST_STOPPING, "subcluster: a node was lost with an instance that was being stopped")  \
    X(SUB_NODE_GIVEN_UP, "subcluster: a node was unreachable for too long and given up")              \
    X(SUB_GIVEN_UP_BACK, "subcluster: a node that was given up came back")                            \
    X(SUB_MASS_DOWN, "subcluster: too many nodes went silent at once, and none was judged")           \
    X(SUB_SUSPECT_BACK, "subcluster: a suspect node came back")                                       \
    X(SUB_START_LATE, "subcluster: an instance was not ready in time")                                \
    X(SUB_START_WITHHELD, "subcluster: a start was dropped, its member was told to stop meanwhile")   \
    X(SUB_START_AGAIN, "subcluster: after a restart a start was repeated")                            \
    X(SUB_START_REFUSED, "subcluster: the engine refused a start")                                    \
    X(SUB_STOP_AGAIN, "subcluster: after a restart a stop was repeated")                              \
    X(SUB_STOP_ABSENT, "subcluster: what was stopped had never started")                              \
    X(SUB_STOP_STUCK, "subcluster: a stop took longer than it may")                                   \
    X(SUB_EXIT_STOPPING, "subcluster: an instance succeeded while it was being stopped")              \
    X(SUB_EXIT_UNSEEN, "subcluster: an instance ended while no subclusterd was there")                \
    X(SUB_RETRY, "subcluster: an instance that failed was started again")                             \
    X(SUB_RETRY_TOGETHER, "subcluster: all members were started again together")                      \
    X(SUB_RETRY_RESUMED, "subcluster: a back-off outlived its subclusterd")                           \
    X(SUB_RETRIES_USED, "subcluster: no retry was left")                                              \
    X(SUB_RUNTIME_OVER, "subcluster: maxRuntime ended an epoch")                                      \
    X(SUB_BELOW_FLOOR, "subcluster: an unknown epoch below the floor was not started")                \
    X(SUB_UNSURE, "subcluster: an epoch that the restored store may have forgotten was not started")  \
    X(SUB_STRAY, "subcluster: an instance runs that no record wants")                                 \
    X(SUB_STRAY_STOPPED, "subcluster: an instance of an epoch or attempt that is over was stopped")   \
    X(SUB_SHRUNK, "subcluster: a live epoch shrank")                                                  \
    X(SUB_GROWS, "subcluster: a running epoch began to grow")                                         \
    X(SUB_ABSORBED, "subcluster: a running job took what was free")                                   \
    X(SUB_GREW, "subcluster: what had started for a running epoch joined it")                         \
    X(SUB_GROWTH_FAILED, "subcluster: what had started for a running epoch could not join it")        \
    X(SUB_GROWTH_UNDONE, "subcluster: a growth gave way to something higher of its job")              \
    X(SUB_CLAIMED, "subcluster: claims were made, and holders evicted for them")                      \
    X(SUB_CLAIM_MOVED, "subcluster: claims moved to what had become free")                            \
    X(SUB_CLAIM_TAKEN, "subcluster: claims were taken by a higher priority")                          \
    X(SUB_NODES_CLAIMED, "subcluster: nodes were claimed for a job that waits")                       \
    X(SUB_CLAIM_BROKEN, "subcluster: claims could not be had any more: refused")                      \
    X(SUB_GPUS_WAIT, "subcluster: GPUs that were given up stayed taken until that was durable")       \
    X(SUB_BUDGET, "subcluster: the decision budget was used up")

/* Paths that no fault of today's simulated worlds leads to often enough, or at all: unit tests take them.
 * They are counted and shown, and move up with the fault that leads there. */
#define TF_SITUATIONS_OTHER(X)                                                                   \
    X(COMMIT_FOREIGN_HEAD, "store: head was changed by someone who does not hold the prefix")    \
    X(FED_DELTA_GAP, "federation: a profile's delta did not fit and a full one was asked for")   \
    X(FED_UNKNOWN_WAITS, "federation: an unknown epoch waited for the engine's listing")         \
    X(FED_UNKNOWN_LOST, "federation: an unknown epoch was stored as lost")                       \
    X(FED_ORPHAN, "federation: an epoch that is no placement runs, and was released")            \
    X(FED_NAME_BUSY, "federation: a submit met another that waits for the same name")            \
    X(SUB_SMALLER, "subcluster: started smaller than granted")                                   \
    X(SUB_LINK_GAP, "subcluster: a change was missed, the link is dialled again")                \
    X(SUB_REFUSED_EARLIER, "subcluster: refused, an earlier epoch of the job lives here")        \
    X(SUB_START_TWICE, "subcluster: a repeated start was refused, the instance runs")            \
    X(FED_FREEZE_OVER, "federation: the time of a freeze was up")                                \
    X(SUB_FROZEN, "subcluster: refused, evictions were frozen")                                  \
    X(SUB_EVENED_OUT, "subcluster: of equals the higher gave a step to the lower")               \
    X(SUB_SURPLUS_TAKEN, "subcluster: surplus gave way to growth of a higher priority")          \
    X(SUB_ROOM_MADE, "subcluster: surplus went for a step that a short job lacks")               \
    X(SUB_SHORT, "subcluster: a running epoch fell below its min")                               \
    X(SUB_SHORT_NO_MORE, "subcluster: a short epoch has its min again")                          \
    X(SUB_SHRUNK_BY_LOSS, "subcluster: a running epoch lost instances and went on, smaller")     \
    X(SUB_GANG_BROKEN, "subcluster: a gang lost instances that must be replaced")                \
    X(SUB_REPLACES, "subcluster: lost members of an epoch were started in other places")         \
    X(SUB_NOT_REPAIRED, "subcluster: what a job missed was not there within repairWait")         \
    X(SUB_RESTART_SETTLED, "subcluster: a smaller epoch restarted after a burst of losses")      \
    X(SUB_FAILED_WITH_LOSS, "subcluster: an instance failed because others were lost")           \
    X(SUB_REPLACED, "subcluster: lost members of an epoch were replaced")                        \
    X(SUB_NODES_CLAIMED_ANEW, "subcluster: a claim on nodes lost one of them and was made anew") \
    X(SUB_BRAKED, "subcluster: refused, too many were evicted within a minute")                  \
    X(SUB_LOST_CONFIRMED, "subcluster: somebody confirmed that a silent node is lost")

#define TF_SITUATION_ENUM(name, words) TF_SITUATION_##name,
enum tf_situation {
    TF_SITUATIONS_EXPECTED(TF_SITUATION_ENUM) TF_SITUATIONS_OTHER(TF_SITUATION_ENUM) TF_SITUATION_COUNT
};
#undef TF_SITUATION_ENUM

/* How often each was reached. Zero-initialise. */
struct tf_situations {
    uint64_t counts[TF_SITUATION_COUNT];
};

/* owner: what has a `struct tf_situations reached`. */
#define tf_reached(owner, name) ((void)(owner)->reached.counts[TF_SITUATION_##name]++)
#define tf_reached_if(condition, owner, name) \
    ((void)((owner)->reached.counts[TF_SITUATION_##name] += (condition) ? 1 : 0))

void tf_situations_add(struct tf_situations *sum, const struct tf_situations *more);
const char *tf_situation_name(enum tf_situation situation); /* "FED_ORPHAN" */
bool tf_situation_is_expected(enum tf_situation situation);
const char *tf_situation_words(enum tf_situation situation); /* "federation: ..." */

#endif
