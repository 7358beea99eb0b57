/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_TESTS_PROCESS_H
#define TF_TESTS_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Child processes of a test. Each dies (SIGKILL) with the thread that started it. */

/* argv ends with NULL; the program is searched in PATH. Output goes to the file log (NULL: /dev/null), except
 * that *out, if out is not NULL, becomes the reading end of a pipe from its stdout, and *in, if in is not
 * NULL, the writing end of one to its stdin. Returns the pid, or -1 after saying why on stderr. */
pid_t test_process_start(const char *const *argv, const char *log, int *in, int *out);
/* Waits for the end; the status of waitpid. */
int test_process_wait(pid_t pid);
/* SIGKILL and wait; pid <= 0 is ignored. */
void test_process_kill(pid_t pid);

/* User and system time that a process has used, in microseconds; 0 if there is none. */
int64_t test_process_cpu_us(pid_t pid);

/* Calls ready until it is true, with short pauses; false after timeout_ms. */
bool test_wait_for(bool (*ready)(void *ctx), void *ctx, int64_t timeout_ms);
/* Milliseconds of the monotonic clock. */
int64_t test_now_ms(void);
/* Removes a folder with all that is in it. */
void test_remove_tree(const char *path);

#endif
