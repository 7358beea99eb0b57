/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_TESTS_SUBCLUSTERD_LEADER_H
#define TF_TESTS_SUBCLUSTERD_LEADER_H

#include "tests/integration/subclusterd/world.h"

/* The scripted leader of a world: loop, server, and what it was told. */
void leader_begin(struct world *w);
void leader_end(struct world *w);

#endif
