/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDERATION_CORE_RESERVATIONS_H
#define TF_FEDERATION_CORE_RESERVATIONS_H

#include "federation/core/state.h"

/* Reservations (DESIGN.md §8.6). One is a job of which nothing is started: it waits in the queue, is placed
 * by the same pack and is given up like one, but takes only what is free, and its epoch keeps the GPUs for
 * the jobs of its owner instead of holding them. When such a job starts where the reservation is, what it
 * takes of it becomes the job's and is the reservation's no more; the epoch of one that is used up has
 * finished.
 *
 * It ends by that, with the one job that owns it, when it expires, or by delete; and by nothing else, so that
 * none is left behind. What its owner has taken it no longer claims: no end of a reservation harms a job.
 * Only a move between subclusters could still need the rest of it: an expiry is refused until that is over.
 */

/* The job's record has changed, or it is new: a reservation is listed while it is not over, the jobs that it
 * is for are filed with it, and one whose job is over ends. */
void fed_reservation_note(struct fed *fed, struct job *job);
/* What jobs of that tenant may use has changed: those that wait are filed by it. */
void fed_reservation_refile(struct fed *fed, const char *tenant);
/* Ends those whose time is over, but none that a job is on its way to from another subcluster. */
void fed_reservations_expire(struct fed *fed);
/* Such a job moves no more. */
void fed_reservations_move_ended(struct fed *fed);
struct tf_mono fed_reservations_next(const struct fed *fed);

/* All that the job may use, wherever they are; ascending. Added to out. */
void fed_reservations_of(const struct fed *fed, const struct job *job, struct fed_uids *out);
/* Those of them that are placed in the subcluster. */
void fed_reservations_in(const struct fed *fed, const struct job *job, const struct cluster *cluster,
                         struct fed_uids *out);
/* The list is made anew from the jobs. */
void fed_reservations_read(struct fed *fed);

#endif
