/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDERATION_SITUATIONS_H
#define TF_FEDERATION_SITUATIONS_H

#include "common/base/situation.h"

/* The rare paths of the federation core (common/base/situation.h). */
#define FED_SITUATIONS_EXPECTED(X)                                                                      \
    X(FED_CROSS_DONE, "federation: a job has moved to another subcluster")                              \
    X(FED_CROSS_ROLLED_BACK, "federation: a move to another subcluster was rolled back")                \
    X(FED_CROSS_WITHDRAWN, "federation: a subcluster was asked not to let a moving job go")             \
    X(FED_CROSS_PROMISED_BEFORE, "federation: it had promised to let it go before it was asked not to") \
    X(FED_CROSS_INHERITED, "federation: the old epoch of a moving job ended by itself")                 \
    X(FED_CROSS_NOT_READY_ANY_MORE, "federation: the new instances of a moving job did not stay ready") \
    X(FED_CROSS_NO_ROOM, "federation: a job that stopped to move found its target full")                \
    X(FED_LOADED_PLACED, "federation: loaded with placements of leaders before")                        \
    X(FED_LOADED_RELEASING, "federation: loaded while an epoch was being released")                     \
    X(FED_LOADED_REFUSALS, "federation: a refusal outlived its leader")                                 \
    X(FED_REFUSED, "federation: a subcluster refused a placement")                                      \
    X(FED_REFUSED_ELSEWHERE, "federation: refused by one subcluster, placed in another")                \
    X(FED_REFUSED_AGAIN, "federation: refused by the same subcluster once more")                        \
    X(FED_REFUSAL_LIFTED, "federation: a profile with news lifted a refusal early")                     \
    X(FED_LINK_REPLACED, "federation: a newer stream of a subcluster took over")                        \
    X(FED_OLD_OWNER, "federation: an older owner's stream was turned away")                             \
    X(FED_CLUSTER_LOST, "federation: a subcluster was judged lost")                                     \
    X(FED_CLUSTER_STOPPED, "federation: a subclusterd took its leave")                                  \
    X(FED_CLUSTER_BACK, "federation: a lost subcluster came back")                                      \
    X(FED_FLIGHT_CUT, "federation: a stream went while placements were in flight on it")                \
    X(FED_FLIGHT_SHRUNK, "federation: a profile left less than what was in flight")                     \
    X(FED_SEND_DROPPED, "federation: a message was dropped, its stream was gone when it was durable")   \
    X(FED_ENDED_RELEASED, "federation: an epoch that was told to end had ended by itself")              \
    X(FED_END_REPEATED, "federation: an end that is stored was reported again")                         \
    X(FED_DELETE_TOLD_AGAIN, "federation: a delete was told again by the full set")                     \
    X(FED_TOMBSTONE_LATE, "federation: a deleted job's end came to a later leader")                     \
    X(FED_DELETE_UNSEEN, "federation: deleted before its subcluster had accepted it")                   \
    X(FED_RESTART_OVER_HOLD, "federation: a restart took the place of a hold")                          \
    X(FED_SUBMIT_REPEATED, "federation: a repeated submit got its first answer")                        \
    X(FED_CHANGE_REPEATED, "federation: a repeated change got its first answer")                        \
    X(FED_NAME_REUSED, "federation: a new job took the name of an archived one")                        \
    X(FED_BUDGET, "federation: the decision budget was used up")                                        \
    X(FED_SHORT_FIRST, "federation: what is free was kept for a running job below its min")             \
    X(FED_RAISED, "federation: a placement took more than its smallest size")                           \
    X(FED_CLAIMED, "federation: a job that had waited long claims nodes")                               \
    X(FED_UNCLAIMED, "federation: a claim on nodes is over")                                            \
    X(FED_CONSOLIDATES, "federation: room is made by moves for a job that evictions would cost more")   \
    X(FED_FREEZE_OVER, "federation: the time of a freeze was up")                                       \
    X(FED_RECLAIMS, "federation: placed where others must go for it")                                   \
    X(FED_RESERVED_FOR, "federation: placed where something was reserved for it")                       \
    X(FED_RESERVATION_OVER, "federation: a reservation expired, or its owner's job was over")           \
    X(FED_STORE_OLDER, "federation: the store is older than what a subcluster has seen")                \
    X(FED_ADOPTED, "federation: an epoch that the restored store had forgotten was adopted")            \
    X(FED_LEFT_ALONE, "federation: what runs for a job that the restored store has forgotten was left " \
                      "alone")

#define FED_SITUATIONS_OTHER(X)                                                                         \
    X(FED_EXPIRY_REFUSED, "federation: a reservation did not expire, since a job was on its way to it") \
    X(FED_CLAIM_ASKED, "federation: nodes are kept for a job because somebody asked for it")            \
    X(FED_AWAITED, "federation: a job waited for a subcluster where it was left alone")                 \
    X(FED_DELTA_GAP, "federation: a profile's delta did not fit and a full one was asked for")          \
    X(FED_UNKNOWN_WAITS, "federation: an unknown epoch waited for the engine's listing")                \
    X(FED_UNKNOWN_LOST, "federation: an unknown epoch was stored as lost")                              \
    X(FED_ORPHAN, "federation: an epoch that is no placement runs, and was released")                   \
    X(FED_NAME_BUSY, "federation: a submit met another that waits for the same name")

TF_SITUATIONS_DECLARE(fed, FED_SITUATIONS_EXPECTED, FED_SITUATIONS_OTHER);

#endif
