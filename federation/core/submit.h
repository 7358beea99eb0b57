/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDERATION_CORE_SUBMIT_H
#define TF_FEDERATION_CORE_SUBMIT_H

#include "federation/core/state.h"

void fed_submit_take(struct fed *fed, uint64_t request,
                     struct fed_submit *submit); /* what it owns may be taken */
/* The finished job is in the archive: the one that waits for its name takes it. */
void fed_submit_replace(struct fed *fed, struct job *finished);

#endif
