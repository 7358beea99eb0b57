/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDSIM_WORDS_H
#define TF_FEDSIM_WORDS_H

#include "common/base/buf.h"
#include "common/model/message.h"

/* Messages and records in a few words, for the diary. */
void words_up(struct tf_buf *out, const struct tf_up *up);
void words_down(struct tf_buf *out, const struct tf_down *down);

#endif
