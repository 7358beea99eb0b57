/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_ENGINE_PROC_H
#define TF_ENGINE_PROC_H

#include "common/base/clock.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* What Linux says of processes and clocks. */

/* Of this boot of the machine; "unknown" if /proc does not say. Borrowed, for ever. */
const char *tf_boot_id(void);
int64_t tf_boottime_ms(void); /* since the boot, suspended time included */
struct tf_wall tf_wall_read(void);

/* The start time of a process, in ticks since the boot; false if there is none or it is a zombie. */
bool tf_process_ticks(pid_t pid, uint64_t *ticks);

/* Sends a signal to that very process, not to a later one of the same number. -1 if it is gone. */
int tf_process_signal(pid_t pid, uint64_t ticks, int signal);

/* Whether it does something of its own at that signal, or ignores it; by default most signals end a process.
 */
bool tf_process_minds(pid_t pid, int signal);

/* Calls each(context, pid) for all processes; ends early when it returns false. */
void tf_process_each(bool (*each)(void *context, pid_t pid), void *context);

#endif
