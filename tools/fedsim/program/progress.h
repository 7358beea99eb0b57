/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDSIM_PROGRESS_H
#define TF_FEDSIM_PROGRESS_H

#include "common/base/buf.h"
#include "common/base/clock.h"

#include <stdbool.h>

/* How far a long run is: one line on a terminal's stderr, written over at most each second, and gone when the
 * run is over. Nothing of it is ever in a pipe or a file. */
struct progress {
    const char *name; /* of the file; borrowed */
    bool on;          /* stderr is a terminal, and nothing else writes to it meanwhile */
    bool shown;
    struct tf_mono begun, told;
};

void progress_begin(struct progress *p, const char *name, bool on, struct tf_mono now);
/* It may be told again; short runs tell nothing. */
bool progress_is_due(const struct progress *p, struct tf_mono now);
/* "tide: 3d4h of 84d (3 %), 1234567 events, 12s": virtual ms, and how long it has taken. */
void progress_line(const struct progress *p, int64_t at, int64_t until, uint64_t events, struct tf_mono now,
                   struct tf_buf *out);
void progress_show(struct progress *p, int64_t at, int64_t until, uint64_t events, struct tf_mono now);
void progress_end(struct progress *p);

#endif
