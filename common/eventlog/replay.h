/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_EVENTLOG_REPLAY_H
#define TF_EVENTLOG_REPLAY_H

#include "common/base/bytes.h"
#include "common/eventlog/file.h"
#include "common/model/core.h"

/* Makes the decisions of a recorded file again: the core that the file begins with is given the same events,
 * and its actions are compared with what was recorded of them. */

struct tf_replay {
    struct tf_eventlog_header header;
    uint64_t steps, actions;
    bool torn;  /* the file ends within a record: normal after a crash */
    bool ended; /* the core went in good order */
    struct tf_now first, last;
    uint64_t begins, ends;    /* digests of the images that it began and ended with */
    struct tf_buf difference; /* the first, in words, if there is one: then nothing after it was done */
};
void tf_replay_release(struct tf_replay *replay);

/* cores: those that may be in the file, NULL behind them. -1 and *err if it cannot be replayed: no event log,
 * of another release, damaged (with the offset); what was done until then is in replay all the same. replay
 * is zeroed before. */
int tf_replay_file(struct tf_bytes file, const struct tf_core_ops *const *cores, struct tf_replay *replay,
                   struct tf_error *err);

#endif
