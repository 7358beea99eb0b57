/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_TESTS_ORPHANS_H
#define TF_TESTS_ORPHANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* For tests that start programs: everything they leave behind becomes a child of the test and can be found.
 */
void process_adopt_orphans(void);
/* Kills and reaps all children, and theirs; how many were alive when it was called. At most `note` of them
 * are printed. */
size_t process_end_children(size_t note);
/* Waits until no child lives (zombies do not count). */
bool process_children_end(int seconds);
/* Starts a program with this environment (NULL = own) and stderr as it is; waits: its exit code, or 256 +
 * signal. */
int process_run(const char *const argv[]);
pid_t process_start(const char *const argv[]);
int process_wait(pid_t pid);

/* Looks every millisecond until holds(context), at most seconds long: false if it never did. */
bool process_until(bool (*holds)(void *context), void *context, int seconds);

/* A new folder below $TMPDIR or /tmp; path holds 64 bytes. Removed with everything in it by
 * process_remove_folder. */
bool process_make_folder(char *path);
void process_remove_folder(const char *path);

#endif
