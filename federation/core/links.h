/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDERATION_CORE_LINKS_H
#define TF_FEDERATION_CORE_LINKS_H

#include "federation/core/state.h"

/* Streams of subclusters: who may attach, what they say, who is lost. */

void fed_link_up(struct fed *fed, uint64_t link, struct tf_hello *hello); /* hello is taken */
void fed_link_down(struct fed *fed, uint64_t link, bool left);
void fed_link_said(struct fed *fed, uint64_t link, struct tf_up *up); /* what up owns may be taken */

/* Those whose stream has been away for too long are lost: a condition, nothing is stopped. */
void fed_links_judge(struct fed *fed);
struct tf_mono fed_links_next(const struct fed *fed); /* when the next one is judged; TF_NEVER: none */

#endif
