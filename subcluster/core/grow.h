/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_GROW_H
#define TF_SUBCLUSTER_CORE_GROW_H

#include "subcluster/core/jobs.h"

/* How a running epoch gets larger, by whole steps (DESIGN.md §4). Whom to give what is decided by others;
 * here a step that was given becomes part of the job:
 *
 *  - Its instances hold their GPUs from the first decision on, at the level of what they will be, and start.
 *    They are no members yet: they do not count for the size, are not in the peers file, and cost nothing.
 *  - When all of a step is ready it joins: one new peers file, and the job is told as onResize says. What
 *    cannot start takes its step with it, and the job is not tried again for a growing while.
 *  - With onResize: restart the members are stopped first, and all start together in the new size: an
 * instance that needs its peers to become ready could not be waited for.
 *
 * A job has one transition at a time: what is higher than growth (release, shrink, repair) rolls it back. */

/* NULL, or why the job cannot grow now, in a word or two: no grow rule of its spec is looked at, nor freezes.
 */
const char *grow_bar(const struct sub *sub, const struct job *job);
/* Instances that are on their way into it. */
int32_t grow_joining(const struct tf_allocation *record);
/* Some of it has started and has not joined yet, or is claimed. */
bool grow_pending(const struct job *job);

/* What a step more of it asks of nodes (rows of one node each, id = the node's number): the model, the
 * domains and the nodes where it runs already. core and step are the job's step, is_core and level are as for
 * the mark of the next step: a core where the job is below its min, else surplus, which takes what is free.
 * False if it asks for what this subcluster does not have. demand is zeroed or initialised; the caller
 * releases it. */
bool grow_demand(const struct sub *sub, const struct job *job, struct tf_demand *demand);

/* Starts them: rows of one node each, of which that many instances must be free; a multiple of the step, and
 * the job's size with them is at most its max. grow_bar() must be NULL. */
void grow_begin(struct sub *sub, struct job *job, const struct tf_fit_placement *packing);
/* Its claims, of whole steps that it lacks, are free, and no more in the ledger: instances start there. */
void grow_claimed(struct sub *sub, struct job *job);
/* Rows of one node each, by number, of what running jobs may have: nothing of nodes that are on offer
 * (offers.h). Borrows from the ledger until it changes; the caller releases the list alone. */
struct open_nodes {
    struct tf_profile_row *items;
    size_t count, cap;
};
void grow_open_nodes(const struct sub *sub, struct open_nodes *open);
/* As many of so many steps as fit what is free there and its max, in one resize. Returns how many. Refreshes
 * the ledger. */
int32_t grow_steps(struct sub *sub, struct job *job, int32_t steps);
/* False: not a step of it fits the rows at that level, by kinds of nodes, of which there are far fewer than
 * nodes; max_nodes and offers not looked at. The ledger must have been refreshed. */
bool grow_may_fit(const struct sub *sub, const struct tf_demand *demand, tf_level level);
/* Instances of it that fit what is free, on offer or not. The ledger must have been refreshed. */
int32_t grow_count(const struct sub *sub, const struct tf_demand *demand);

/* Finds places for all members that are MISSING, and starts them there. False: not all of them fit. */
bool grow_replace(struct sub *sub, struct job *job);

/* One that joins, or replaces, got ready. */
void grow_look(struct sub *sub, struct job *job);
/* A member got ready. Who restarts to grow has grown when all are: only then are earlier failures forgotten.
 */
void grow_all_ready(struct sub *sub, struct job *job);
/* It will not get ready: why is taken. gone: nothing of it is left; else it has to be stopped. */
void grow_broken(struct sub *sub, struct job *job, size_t place, bool gone, char *why);
/* The engine refused the next attempt of a member, which was lost with that: what comes in its place is put
 * off as after a failed growth, since it may be refused as well. Nothing if the epoch ends. */
void grow_refused(struct sub *sub, struct job *job);
/* Loaded from its record: what is left of the wait after a failure. */
void grow_load(struct sub *sub, struct job *job);
/* Something higher happens to the job: what has not joined leaves, what moves is taken back, and claims are
 * given up. */
void grow_undo(struct sub *sub, struct job *job);

#endif
