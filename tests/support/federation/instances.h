/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_TESTS_INSTANCES_H
#define TF_TESTS_INSTANCES_H

#include <stdbool.h>
#include <stddef.h>

/* The processes of a test's own jobs: shims, commands, and what these started. They outlive every daemon on
 * purpose, so a test has to look for them. A process belongs to a folder if the folder's path is in its
 * arguments or in the environment it was started with (TIDEFED_PEERS_FILE of every instance is). */

/* How many live now; the calling process and zombies do not count. */
size_t test_instances_count(const char *folder);
/* A line about each on stderr. */
void test_instances_print(const char *folder);
/* SIGKILL to each until none is left; false if some do not die within ten seconds. */
bool test_instances_kill(const char *folder);

/* A process that watches over a folder for the calling one: when that ends, however it does, the guardian
 * kills what belongs to the folder. */
struct test_guardian;
struct test_guardian *test_guardian_start(const char *folder);
/* Ends the watch. NULL is fine. */
void test_guardian_end(struct test_guardian *guardian);

#endif
