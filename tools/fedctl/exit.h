/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDCTL_EXIT_H
#define TF_FEDCTL_EXIT_H

#include "common/base/error.h"

/* What fedctl ends with (DESIGN.md §3.1); scripts rely on it. */
enum fedctl_exit {
    FEDCTL_DONE = 0,
    FEDCTL_FAILED = 1, /* refused, or failed */
    FEDCTL_USAGE = 2,  /* or a bad manifest */
    FEDCTL_NOT_FOUND = 3,
    FEDCTL_TIMED_OUT = 4,
    FEDCTL_UNREACHABLE = 5, /* or no leader */
    FEDCTL_CONFLICT = 6,
    FEDCTL_INTERRUPTED = 130, /* as shells do: 128 + SIGINT */
};

enum fedctl_exit fedctl_exit_of(enum tf_error_code code);

#endif
