/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_RESERVATION_H
#define TF_SUBCLUSTER_CORE_RESERVATION_H

#include "subcluster/core/jobs.h"

/* Reservations (DESIGN.md §8.6): epochs that keep GPUs and start nothing (RESERVED). What one keeps is a
 * claim an instance, the same as reclaim makes, on GPUs that nobody has; so nothing else is placed there, and
 * at its core level a higher priority takes them like any claim. It is made of what is free alone: nobody is
 * evicted for it.
 *
 * A job of its owner takes GPUs out of it when it starts, or claims what it will start with: in the same
 * transaction they leave the reservation's claims, so that each GPU has one claimant or holder at any crash,
 * and no end of the reservation can harm the job. What it takes is not given back when it ends. A reservation
 * of which nothing is left has finished.
 *
 * When a node of it cannot be had any more, all of it moves to what is free; where that is not enough, the
 * epoch of one that nothing was taken of ends `lost`, which sends it back to the queue, and one that was
 * begun to be used keeps what is left. */

/* Keeps what was packed. */
void reservation_make(struct sub *sub, struct tf_entry *entry, const struct tf_fit_placement *packing);

/* GPUs of the node that these keep, and that can be used now. */
uint64_t reservation_gpus(const struct sub *sub, const struct tf_entry *entry,
                          const struct ledger_node *node);
/* The job is about to hold or claim these GPUs and so much of the node: what of that they kept is its own.
 * Before it is held. */
void reservation_give(struct sub *sub, const struct tf_entry *entry, const struct job *job,
                      const struct ledger_node *node, uint64_t gpus);
/* Something of it was taken, or is gone. */
bool reservation_is_begun(const struct job *job);

/* A claim of it is broken, and it has not moved to what is free. */
void reservation_broken(struct sub *sub, struct job *job);

#endif
