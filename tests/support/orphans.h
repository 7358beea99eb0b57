/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_TESTS_ORPHANS_H
#define TF_TESTS_ORPHANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* For tests that start programs: everything they leave behind becomes a child of the test and can be found.
 */
void test_adopt_orphans(void);
/* Kills and reaps all children, and theirs; how many were alive when it was called. At most `note` of them
 * are printed. */
size_t test_end_children(size_t note);
/* Waits until no child lives (zombies do not count). */
bool test_children_end(int seconds);
/* Starts a program with this environment (NULL = own) and stderr as it is; waits: its exit code, or 256 +
 * signal. */
int test_program_run(const char *const argv[]);
pid_t test_program_start(const char *const argv[]);
int test_program_wait(pid_t pid);

/* Looks every millisecond until holds(context), at most seconds long: false if it never did. */
bool test_until(bool (*holds)(void *context), void *context, int seconds);

/* A new folder below $TMPDIR or /tmp; path holds 64 bytes. Removed with everything in it by
 * test_remove_folder. */
bool test_make_folder(char *path);
void test_remove_folder(const char *path);

#endif
