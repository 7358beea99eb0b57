/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_STRAYS_H
#define TF_SUBCLUSTER_CORE_STRAYS_H

#include "subcluster/core/state.h"

/* Instances that the engine has and no record wants. One of an epoch that is known to be over, or of an
 * attempt that is, is stopped. One of an unknown epoch is kept, its GPUs count as taken, and it is reported
 * as a live epoch, so that the leader places it (it is adopted) or releases it: absence is never an order. */

void stray_told(struct sub *sub, const struct sub_instance_event *event);
/* The job's records changed: strays of it may now be known to be over. */
void strays_judge(struct sub *sub, struct tf_uid uid);
/* The listing is complete: exits of epochs that nothing is left of are forgotten. */
void strays_listed(struct sub *sub);
/* The node is lost, and all on it. */
void strays_node_lost(struct sub *sub, const char *node);
/* The node was given up: so is what it may still run, which is stopped when it can be. Nothing waits for it.
 */
void strays_given_up(struct sub *sub, const char *node);
/* It is back: what was asked of it in vain is asked again. */
void strays_stop_again(struct sub *sub, const char *node);
/* That attempt is no member any more, but may still run on a node that was given up: it is stopped. */
void stray_leave(struct sub *sub, const struct job *job, const struct tf_member *member);
/* It is a member's after all. */
void stray_found(struct sub *sub, const struct tf_instance_id *id);
void stray_remove(struct sub *sub, size_t at);
void strays_release(struct sub *sub);

/* The strays of the job are sub->strays.items[first .. first + count). */
struct stray_range {
    size_t first, count;
};
struct stray_range strays_of(const struct sub *sub, struct tf_uid uid);
/* True if one of them has this epoch. */
bool strays_of_epoch(const struct sub *sub, struct tf_uid uid, uint64_t epoch);
/* True if one of them has this epoch, or (up_to) a lower one, and was not given up with its node: as far as
 * anybody can know it lives. */
bool strays_live(const struct sub *sub, struct tf_uid uid, uint64_t epoch, bool up_to);
/* The same of those of this index in the job's present epoch. */
bool strays_live_at(const struct sub *sub, const struct job *job, uint32_t index);

/* Moments: those of stops under way. */
struct tf_mono strays_due(const struct sub *sub); /* TF_NEVER if there is none */
void strays_due_look(struct sub *sub);
void stray_stop_left(struct sub *sub, const struct tf_instance_id *id, struct tf_mono due);

#endif
