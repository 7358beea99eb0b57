/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDCTL_WATCHING_H
#define TF_FEDCTL_WATCHING_H

#include "tools/fedctl/resource.h"

/* A live list, for `watch` and `get --watch`: on a terminal a screen that is drawn anew, elsewhere the list
 * and then a line a change (jobs) or the list again (the others). Until Ctrl-C, the reader has gone, or the
 * time is over. Gives the exit code. */
int watching(struct fedctl *ctl, enum resource_kind kind);

#endif
