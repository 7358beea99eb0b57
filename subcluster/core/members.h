/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_MEMBERS_H
#define TF_SUBCLUSTER_CORE_MEMBERS_H

#include "subcluster/core/jobs.h"

/* The lives of a live epoch's members:
 *
 *     PLANNED -> STARTING -> READY        (STARTING may be left out)
 *     PLANNED, STARTING, READY -> DONE    exit 0
 *     PLANNED, STARTING, READY -> BACKOFF a failure within the limit; then PLANNED with the next attempt
 *     PLANNED, STARTING, READY -> STOPPING -> BACKOFF   the same of one that must be stopped first
 *     all but DONE, GONE -> LEAVING -> GONE   the job shrinks (BACKOFF -> GONE at once)
 *     ENDING: all but DONE -> STOPPING -> GONE          (BACKOFF, MISSING -> GONE at once)
 *     a member that is lost -> GONE, or -> MISSING -> PLANNED with the next attempt somewhere else
 *
 * The place of one that is GONE is used again, with the next attempt, when the job grows. */

/* Alive or about to be: the engine may have something of it. BACKOFF has nothing there but keeps its GPUs. */
static inline bool member_lives(enum tf_member_state state)
{
    return state == TF_MEMBER_PLANNED || state == TF_MEMBER_STARTING || state == TF_MEMBER_READY ||
           state == TF_MEMBER_STOPPING || state == TF_MEMBER_LEAVING;
}
/* Part of the job: what counts for its size. */
static inline bool member_stays(enum tf_member_state state)
{
    return state != TF_MEMBER_LEAVING && state != TF_MEMBER_GONE;
}
/* Told to stop, or about to be. */
static inline bool member_stops(enum tf_member_state state)
{
    return state == TF_MEMBER_STOPPING || state == TF_MEMBER_LEAVING;
}
static inline bool member_holds(enum tf_member_state state)
{
    return member_lives(state) || state == TF_MEMBER_BACKOFF;
}
/* Comes or goes by a move: another of its index is, or stays, the member. */
static inline bool member_moves(const struct tf_member *m)
{
    return m->role == TF_MEMBER_MOVES_IN || m->role == TF_MEMBER_MOVES_OUT;
}
/* Counts for the job's size: also one that is to be replaced. */
static inline bool member_counts(const struct tf_member *m)
{
    return member_stays(m->state) && m->role != TF_MEMBER_JOINS && !member_moves(m);
}
/* In the peers file. */
static inline bool member_is_peer(const struct tf_member *m)
{
    return member_stays(m->state) && m->role == TF_MEMBER_OF_JOB && m->state != TF_MEMBER_MISSING;
}

/* Each index has its own place in the list, so that its number is its place. Behind them are others, of an
 * index that has one already: what comes or goes when an instance moves (moving.h). Who asks for the place of
 * one of these is told it by these functions. */
static inline size_t member_place(const struct job *job, const struct tf_member *m)
{
    return (size_t)(m - job->record.members.items);
}
static inline bool member_is_second(const struct job *job, size_t place)
{
    return job->record.members.items[place].index != place;
}
/* Of this attempt, in the epoch that lives; SIZE_MAX: it is no member's present one. */
size_t member_find(const struct job *job, const struct tf_instance_id *id);
/* That holds something on the node of this number; SIZE_MAX if there is none. */
size_t member_on_node(const struct job *job, uint32_t index, uint32_t node);
/* That is behind the others, of this index; SIZE_MAX if there is none. There is at most one. */
size_t member_second(const struct job *job, uint32_t index);
/* The highest attempt of its index that was ever made, in this epoch. */
uint32_t member_last_attempt(const struct tf_member *m);

/* Of members, in the list of their job. */
struct places {
    size_t *items;
    size_t count, cap;
};

bool members_any_live(const struct job *job);

/* Nothing of them runs, and nothing will. The caller looks at the epoch. */
void members_are_gone(struct sub *sub, struct job *job);
/* They were found running. */
void members_adopted(struct sub *sub, struct job *job);
/* Gives each member its run; all are unseen. */
void members_attach(struct sub *sub, struct job *job);
/* One more instance, PLANNED, on those GPUs. */
void member_add(struct sub *sub, struct job *job, const char *node, uint64_t gpus);
/* One that joins, PLANNED, which will have so many older ones. */
void member_join(struct sub *sub, struct job *job, const char *node, uint64_t gpus, int32_t older);
/* The one in that place, which is MISSING, is PLANNED there instead. */
void member_replace(struct sub *sub, struct job *job, size_t place, const char *node, uint64_t gpus);
/* After the listing: what should run and was not told of is started, what should stop is stopped. */
void members_resume(struct sub *sub, struct job *job);
/* Those in these places, which stay, are no part of the job any more: out of the peers file, then stopped.
 * The caller sees to the job's size. */
void members_dismiss(struct sub *sub, struct job *job, const size_t *places, size_t count);
/* The epoch ends. */
void members_stop_all(struct sub *sub, struct job *job);

/* The engine's word on the member's present attempt (told.c). */
void member_told(struct sub *sub, struct job *job, size_t place, const struct sub_instance_event *event);
/* Its node was given up: what the engine has told of may live on there unseen, and is stopped when it is
 * back. The caller sees to the loss. */
void member_given_up(struct sub *sub, struct job *job, size_t place);
/* Its node was silent and is not any more: what had to wait goes on. */
void member_reachable(struct sub *sub, struct job *job, size_t place, const struct ledger_node *node);
/* Looks at the moments that have come. */
void members_due(struct sub *sub, struct job *job);

#endif
