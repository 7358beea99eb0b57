/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDERATION_CORE_CROSS_H
#define TF_FEDERATION_CORE_CROSS_H

#include "federation/core/state.h"

/* Jobs that go from one subcluster to another (DESIGN.md §7). The state graph is at the top of cross.c. */

/* FED_EV_MIGRATE: begins such a move, ends one, or says what it would do. */
void fed_cross_verb(struct fed *fed, const struct fed_event *event);

/* What the two epochs' subclusters report. Of the new one, whether all of it is ready; the old one's answer.
 */
void fed_cross_reported(struct fed *fed, struct job *job, const struct tf_placement *placement,
                        const struct tf_report *report);
void fed_cross_answered(struct fed *fed, struct job *job, const struct tf_placement *placement,
                        const struct tf_report *report);
/* The placement of the epoch, which `was` the job, has just gone from the record. */
void fed_cross_epoch_ended(struct fed *fed, struct job *job, uint64_t epoch, bool was,
                           const struct tf_ended *ended);
/* All that runs of the job is told to stop, or the store was restored, or its sizes change: it moves no more
 * if there is still a way back. */
void fed_cross_give_up(struct fed *fed, struct job *job, enum tf_cross_cause cause, const char *why);
/* A restored store may have forgotten what became of it, */
void fed_cross_restored(struct fed *fed, struct job *job);
/* or that it was begun at all: the epoch that runs there is its new one. False if it is of no such move. */
bool fed_cross_adopt(struct fed *fed, struct job *job, struct cluster *cluster,
                     const struct tf_report *report);
/* Of the epoch's end nothing counts for the job: it was only to become it. */
bool fed_cross_is_candidate(const struct job *job, uint64_t epoch);

/* The line that tells the old subcluster what is wanted of it besides. */
void fed_cross_entry(const struct job *job, const struct tf_placement *placement, struct tf_entry *entry);

/* After every change of the record: lists the job while it moves, and when it has. */
void fed_cross_note(struct fed *fed, struct job *job);
void fed_cross_drop(struct fed *fed, struct job *job);
void fed_cross_read(struct fed *fed); /* an image: the lists are made of the jobs */
/* What is due: deadlines, targets that are gone, jobs that have stopped to start elsewhere. */
void fed_cross_run(struct fed *fed);
struct tf_mono fed_cross_next(const struct fed *fed);

#endif
