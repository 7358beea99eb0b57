/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_TESTS_CHECKER_H
#define TF_TESTS_CHECKER_H

#include "tests/support/federation/client.h"
#include "tests/support/federation/federation.h"
#include "tests/support/federation/journal.h"

/* Judges a run by what cannot lie: the lines that the shims wrote into their journals, and what the client
 * was answered. It trusts no record and no report of a daemon, and shares no code with them. Each breach is a
 * line on stderr that begins with BREACH; all functions return how many there were.
 *
 * The journals of all subclusters together must show, at any time:
 *   - no (uid, epoch, index, attempt) that started twice
 *   - no two instances of one (uid, index) at the same time, nor of two epochs of one uid
 *   - no instance of a job that the client never submitted
 *   - no instance that ended otherwise than by itself, unless its job was deleted: daemons and stores come
 * and go, work goes on */
size_t test_judge_runs(const struct test_runs *runs, struct test_client *client);
size_t test_check_journals(const struct test_federation *federation, struct test_client *client);

/* When all jobs have ended, and after a fresh test_client_look, also:
 *   - every submit was acknowledged, and what the list says of its job is what its end should be
 *   - a job that succeeded has run each index to exit code 0, once, all in the epoch that the list names
 *   - a job that failed did so with the exit code that the list names, in the last thing that ran of it
 *   - everything that started has ended */
size_t test_judge_ends(const struct test_runs *runs, struct test_client *client);
size_t test_check_ends(const struct test_federation *federation, struct test_client *client);

/* At rest: no process of a job, no allocation record, no exit record, all GPUs free by the word of every
 * subcluster. */
struct test_unrest {
    char why[400]; /* what keeps it from being so */
};
bool test_at_rest(struct test_federation *federation, struct test_client *client, struct test_unrest *unrest);
/* Waits until it is; what is not after timeout_ms is a breach. */
size_t test_check_rest(struct test_federation *federation, struct test_client *client, int64_t timeout_ms);

#endif
