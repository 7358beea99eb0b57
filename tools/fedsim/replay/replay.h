/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDSIM_REPLAY_REPLAY_H
#define TF_FEDSIM_REPLAY_REPLAY_H

#include "common/base/error.h"

#include <stddef.h>
#include <stdio.h>

/* `fedsim replay FILE|FOLDER...`: makes the decisions of event logs again (common/eventlog) and says whether
 * they are the same, one line a file, or what the first difference is. Where a file goes on from the one
 * before it, its state must be the one that the other ended with. Of a folder, all *.events in order of name.
 */
struct replay_totals {
    size_t files, torn, differing, failed;
    unsigned long long steps, actions;
};

/* Adds to totals. Results go to out, what cannot be read to err. -1 if there is nothing of that name. */
int replay_path(const char *path, struct replay_totals *totals, FILE *out, FILE *err);
void replay_print_totals(const struct replay_totals *totals, FILE *out);
static inline int replay_exit_code(const struct replay_totals *totals)
{
    return totals->failed ? 2 : totals->differing ? 1 : 0;
}

#endif
