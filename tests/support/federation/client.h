/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_TESTS_CLIENT_H
#define TF_TESTS_CLIENT_H

#include "common/base/rng.h"
#include "common/wire/api.h"

/* A client of the federation that never gives up: it follows the leader over a list of addresses, repeats a
 * request of which it does not know the outcome (a submit with the same uid), and remembers what was
 * acknowledged. Submits and deletes go on while the loop turns; one thread. */
struct test_client;

/* A job that was submitted, as the client knows it. */
struct test_job {
    struct tf_uid uid;
    struct tf_job_manifest manifest;
    enum tf_phase end; /* the test's own: SUCCEEDED, FAILED or DELETED is how it should end */
    bool acknowledged; /* the submit was answered */
    bool delete_asked, delete_acknowledged;
    char *trouble; /* a definite answer that was not the expected one; NULL = none */
    /* of the last test_client_look: */
    bool listed;
    enum tf_phase phase;
    uint64_t epoch;
    char *cluster;
    int32_t exit_code, ready;
};

/* The strings are copied. */
struct test_client *test_client_create(const struct tf_strs *addresses, uint64_t seed);
void test_client_destroy(struct test_client *client); /* NULL is fine */

/* The manifest is taken, filled and sent. The job is the client's, and stays where it is. */
struct test_job *test_client_submit(struct test_client *client, struct tf_job_manifest *manifest,
                                    enum tf_phase end);
void test_client_delete(struct test_client *client, struct test_job *job);
/* The same so many ms from now, and not before the submit is acknowledged. */
void test_client_delete_after(struct test_client *client, struct test_job *job, int64_t ms);
/* Lets what was begun go on for so long. */
void test_client_turn(struct test_client *client, int64_t ms);
/* Requests without an answer yet. */
size_t test_client_pending(const struct test_client *client);
/* How often something was sent again. */
size_t test_client_repeats(const struct test_client *client);

size_t test_client_jobs(const struct test_client *client);
struct test_job *test_client_job(struct test_client *client, size_t i);

/* Asks until there is an answer, at whoever leads; -1 at the time-out, or with the refusal. reply is owned by
 * the caller. */
int test_client_ask(struct test_client *client, const struct tf_request *request, int64_t timeout_ms,
                    struct tf_reply *reply, struct tf_error *err);
/* What the one at that place of the list of addresses says of itself; -1 without an answer. */
int test_client_status(struct test_client *client, size_t address, int64_t timeout_ms,
                       struct tf_reply *reply);
/* Lists all jobs, and notes what is said of ours. */
int test_client_look(struct test_client *client, int64_t timeout_ms, struct tf_error *err);
/* So many subclusters are attached and have told what they have. */
bool test_client_wait_clusters(struct test_client *client, size_t count, int64_t timeout_ms);
/* Every job that is listed is finished, those to be deleted are gone, and nothing is pending. */
bool test_client_all_ended(struct test_client *client);

#endif
