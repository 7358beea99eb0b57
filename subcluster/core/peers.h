/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_PEERS_H
#define TF_SUBCLUSTER_CORE_PEERS_H

#include "subcluster/core/state.h"

/* The peers file of a live epoch (DESIGN.md §3). */

/* A new version, before the starts and stops that follow. */
void peers_write(struct sub *sub, struct job *job);
/* The file as it was last written: after a restart the engine may lack it. */
void peers_repeat(struct sub *sub, struct job *job);
/* A new version, with all that changes until the next transaction. */
void peers_change(struct sub *sub, struct job *job);

#endif
