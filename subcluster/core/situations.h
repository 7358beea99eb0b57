/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_SITUATIONS_H
#define TF_SUBCLUSTER_SITUATIONS_H

#include "common/base/situation.h"

/* The rare paths of the subcluster core (common/base/situation.h). */
#define SUB_SITUATIONS_EXPECTED(X)                                                                   \
    X(SUB_YIELDS, "subcluster: an epoch was promised to its successor in another subcluster")        \
    X(SUB_YIELD_DECLINED, "subcluster: such a promise will not be given any more")                   \
    X(SUB_YIELD_LOADED, "subcluster: loaded while an epoch was so promised")                         \
    X(SUB_YIELDED_ALONE, "subcluster: an epoch ended as promised, without being told to")            \
    X(SUB_STALE_LEADER, "subcluster: a message of a leader that another has followed")               \
    X(SUB_NEXT_LEADER, "subcluster: another leader on a link, or after one")                         \
    X(SUB_SENDS_DROPPED, "subcluster: reports that waited were dropped with their link")             \
    X(SUB_PLACE_REPEATED, "subcluster: a placement that it has was told again")                      \
    X(SUB_REFUSED_ROOM, "subcluster: refused, there is no room any more")                            \
    X(SUB_RELEASED_STARTING, "subcluster: released while it was starting")                           \
    X(SUB_RELEASED_UNHEARD, "subcluster: released an epoch that it had never heard of")              \
    X(SUB_END_WAITS, "subcluster: an end was not told before what was left of it was gone")          \
    X(SUB_NODE_LOST_STARTING, "subcluster: a node was lost with an instance that was starting")      \
    X(SUB_NODE_LOST_UNSEEN, "subcluster: a node was lost with a start that had no answer yet")       \
    X(SUB_NODE_LOST_STOPPING, "subcluster: a node was lost with an instance that was being stopped") \
    X(SUB_NODE_GIVEN_UP, "subcluster: a node was unreachable for too long and given up")             \
    X(SUB_GIVEN_UP_BACK, "subcluster: a node that was given up came back")                           \
    X(SUB_MASS_DOWN, "subcluster: too many nodes went silent at once, and none was judged")          \
    X(SUB_SUSPECT_BACK, "subcluster: a suspect node came back")                                      \
    X(SUB_START_LATE, "subcluster: an instance was not ready in time")                               \
    X(SUB_START_WITHHELD, "subcluster: a start was dropped, its member was told to stop meanwhile")  \
    X(SUB_START_AGAIN, "subcluster: after a restart a start was repeated")                           \
    X(SUB_START_REFUSED, "subcluster: the engine refused a start")                                   \
    X(SUB_STOP_AGAIN, "subcluster: after a restart a stop was repeated")                             \
    X(SUB_STOP_ABSENT, "subcluster: what was stopped had never started")                             \
    X(SUB_STOP_STUCK, "subcluster: a stop took longer than it may")                                  \
    X(SUB_EXIT_STOPPING, "subcluster: an instance succeeded while it was being stopped")             \
    X(SUB_EXIT_UNSEEN, "subcluster: an instance ended while no subclusterd was there")               \
    X(SUB_RETRY, "subcluster: an instance that failed was started again")                            \
    X(SUB_RETRY_TOGETHER, "subcluster: all members were started again together")                     \
    X(SUB_RETRY_RESUMED, "subcluster: a back-off outlived its subclusterd")                          \
    X(SUB_RETRIES_USED, "subcluster: no retry was left")                                             \
    X(SUB_RUNTIME_OVER, "subcluster: maxRuntime ended an epoch")                                     \
    X(SUB_BELOW_FLOOR, "subcluster: an unknown epoch below the floor was not started")               \
    X(SUB_UNSURE, "subcluster: an epoch that the restored store may have forgotten was not started") \
    X(SUB_STRAY, "subcluster: an instance runs that no record wants")                                \
    X(SUB_STRAY_STOPPED, "subcluster: an instance of an epoch or attempt that is over was stopped")  \
    X(SUB_SHRUNK, "subcluster: a live epoch shrank")                                                 \
    X(SUB_GROWS, "subcluster: a running epoch began to grow")                                        \
    X(SUB_ABSORBED, "subcluster: a running job took what was free")                                  \
    X(SUB_GREW, "subcluster: what had started for a running epoch joined it")                        \
    X(SUB_GROWTH_FAILED, "subcluster: what had started for a running epoch could not join it")       \
    X(SUB_GROWTH_UNDONE, "subcluster: a growth gave way to something higher of its job")             \
    X(SUB_GPU_SUSPECT, "subcluster: starts failed on a GPU until it was suspect")                    \
    X(SUB_CHECKPOINT, "subcluster: a job has told of a checkpoint")                                  \
    X(SUB_MOVE_PLANNED, "subcluster: a chain of moves was begun")                                    \
    X(SUB_MOVE_RESERVED, "subcluster: all places of a chain of moves were claimed")                  \
    X(SUB_MOVE_SWITCHED, "subcluster: a new instance took the place of the one that moves")          \
    X(SUB_MOVE_DONE, "subcluster: an instance has moved")                                            \
    X(SUB_MOVE_ROLLED_BACK, "subcluster: a move was rolled back")                                    \
    X(SUB_MOVE_RESTARTS, "subcluster: a job restarted as a whole to move")                           \
    X(SUB_MOVE_ABORTED, "subcluster: a chain of moves was given up by people")                       \
    X(SUB_CLAIMED, "subcluster: claims were made, and holders evicted for them")                     \
    X(SUB_CLAIM_MOVED, "subcluster: claims moved to what had become free")                           \
    X(SUB_CLAIM_TAKEN, "subcluster: claims were taken by a higher priority")                         \
    X(SUB_RESERVED, "subcluster: a reservation keeps its GPUs")                                      \
    X(SUB_RESERVATION_USED, "subcluster: a reservation was used up by its owner's jobs")             \
    X(SUB_RESERVATION_MOVED, "subcluster: a reservation moved to what was free, a node of it went")  \
    X(SUB_RESERVATION_BROKEN, "subcluster: a reservation could not keep all it had, a node went")    \
    X(SUB_RESERVATION_TAKEN, "subcluster: a reservation was taken by a higher priority")             \
    X(SUB_NODES_CLAIMED, "subcluster: nodes were claimed for a job that waits")                      \
    X(SUB_CLAIM_BROKEN, "subcluster: claims could not be had any more: refused")                     \
    X(SUB_GPUS_WAIT, "subcluster: GPUs that were given up stayed taken until that was durable")      \
    X(SUB_DEFRAG_UNASKED, "subcluster: instances moved unasked for work that waited")                \
    X(SUB_DEFRAG_OBSERVED, "subcluster: it was said what could be moved for work that waits")        \
    X(SUB_MOVES_PAUSED, "subcluster: a chain of moves was paused")                                   \
    X(SUB_DEFRAG_FOR_CLAIM, "subcluster: instances moved so that none was evicted")                  \
    X(SUB_DEFRAG_BEGUN, "subcluster: a plan that frees nodes was begun")                             \
    X(SUB_BUDGET, "subcluster: the decision budget was used up")                                     \
    X(SUB_DRAIN_MOVES, "subcluster: what ran on a drained node began to move")                       \
    X(SUB_DRAIN_JOINED, "subcluster: a node came to a domain that is drained")                       \
    X(SUB_DRAIN_STOPS, "subcluster: the deadline of a drain stopped what was left there")            \
    X(SUB_SURPLUS_TAKEN, "subcluster: surplus gave way to growth of a higher priority")              \
    X(SUB_SHORT_CLAIMS, "subcluster: claims were made for what a running job lacks")                 \
    X(SUB_SHORT_STARTS, "subcluster: what a running job had claimed was free, and it grew")          \
    X(SUB_SHORT, "subcluster: a running epoch fell below its min")                                   \
    X(SUB_SHORT_NO_MORE, "subcluster: a short epoch has its min again")                              \
    X(SUB_SHRUNK_BY_LOSS, "subcluster: a running epoch lost instances and went on, smaller")         \
    X(SUB_GANG_BROKEN, "subcluster: a gang lost instances that must be replaced")                    \
    X(SUB_REPLACES, "subcluster: lost members of an epoch were started in other places")             \
    X(SUB_NOT_REPAIRED, "subcluster: what a job missed was not there within repairWait")

#define SUB_SITUATIONS_OTHER(X)                                                                    \
    X(SUB_SMALLER, "subcluster: started smaller than granted")                                     \
    X(SUB_LINK_GAP, "subcluster: a change was missed, the link is dialled again")                  \
    X(SUB_REFUSED_EARLIER, "subcluster: refused, an earlier epoch of the job lives here")          \
    X(SUB_START_TWICE, "subcluster: a repeated start was refused, the instance runs")              \
    X(SUB_FROZEN, "subcluster: refused, evictions were frozen")                                    \
    X(SUB_EVENED_OUT, "subcluster: of equals the higher gave a step to the lower")                 \
    X(SUB_SHORT_CLAIM_GONE, "subcluster: a running job gave up what it had claimed")               \
    X(SUB_RESTART_SETTLED, "subcluster: a smaller epoch restarted after a burst of losses")        \
    X(SUB_FAILED_WITH_LOSS, "subcluster: an instance failed because others were lost")             \
    X(SUB_REPLACED, "subcluster: lost members of an epoch were replaced")                          \
    X(SUB_NODES_CLAIMED_ANEW, "subcluster: a claim on nodes lost one of them and was made anew")   \
    X(SUB_BRAKED, "subcluster: refused, too many were evicted within a minute")                    \
    X(SUB_LOST_CONFIRMED, "subcluster: somebody confirmed that a silent node is lost")             \
    X(SUB_DEFRAG_STALE, "subcluster: a plan was another when it was to be carried out")            \
    X(SUB_MOVE_TAKEN, "subcluster: the place of a move went to a higher priority")                 \
    X(SUB_MOVE_HELD, "subcluster: a new instance did not stay ready until the old one could stop") \
    X(SUB_MOVE_UNDONE, "subcluster: a move gave way to something higher of its job")               \
    X(SUB_MOVE_FAILED, "subcluster: the new instance of a move did not get ready, or not for long")

TF_SITUATIONS_DECLARE(sub, SUB_SITUATIONS_EXPECTED, SUB_SITUATIONS_OTHER);

#endif
