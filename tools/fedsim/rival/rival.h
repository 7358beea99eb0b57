/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDSIM_RIVAL_H
#define TF_FEDSIM_RIVAL_H

#include "tools/fedsim/world.h"

/* Schedulers that are no tidefed, for comparison, as many fleets have them: each in the same world, with the
 * same engines, users and work, and decided by rules of one page.
 *
 *   fifo            by submit, of one second the more important first; who does not fit waits, and those
 * behind who fit may pass; nobody is evicted static-quota    the same, but each class has nodes of its own
 * (rival_quota) priority        by priority, then submit; who does not fit evicts whole jobs of lower
 * priority, the lowest priority first, in it the youngest first, and of these none that is not needed
 * youngest-first  the same, but the youngest job of any lower priority goes first, needed or not
 *
 * A job is a gang of a fixed size: the largest legal one that is free when it starts. Only a service
 * (workload: inference) is scaled while it runs, instance by instance; it is the same with lost instances,
 * while anybody else starts again whole. To their favour: a rival knows all clusters at once, decides at once
 * and without any message, is never down, and looks at no topology. */

enum rival_kind { RIVAL_NONE, RIVAL_FIFO, RIVAL_STATIC_QUOTA, RIVAL_PRIORITY, RIVAL_YOUNGEST_FIRST };

struct rival;

/* RIVAL_NONE: tidefed itself. -1: there is none of that name. */
int rival_named(const char *name, enum rival_kind *kind);
const char *rival_name(enum rival_kind kind);

/* Before the world starts, when its fleet and classes are complete: from then on the rival answers users and
 * moves instances, and no daemon of the world is started. The world is borrowed, and outlives the rival's
 * use. */
struct rival *rival_create(enum rival_kind kind, struct sim_world *world);
void rival_destroy(struct rival *rival); /* NULL is fine. After the last event of the world */
/* So many more nodes of that site are for the class of that rank alone: those that have no class yet. */
void rival_quota(struct rival *rival, size_t site, int rank, size_t nodes);

#endif
