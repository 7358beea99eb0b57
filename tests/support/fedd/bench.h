/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_TESTS_FEDD_BENCH_H
#define TF_TESTS_FEDD_BENCH_H

#include "common/rpc/client.h"
#include "common/wire/api.h"
#include "tests/support/etcd.h"

#include <sys/types.h>

/* A workbench for tests of fedd itself: real etcd, up to two real fedd with a generated configuration and a
 * folder under /tmp, and clients that speak to them. Subclusters are played by the test (cluster.h). What is
 * asserted here ends the test that called. Everything ends with the test program, however that ends.
 *
 * Whole federations with real subclusters are in tests/support/federation. */

enum {
    BENCH_FEDDS = 2,
    BENCH_PATIENCE_MS = 30000, /* for what should come soon: longer is a failure */
};

struct bench_fedd {
    pid_t pid; /* 0: does not run */
    char *address, *folder, *log;
    struct tf_channel *channel;
};

struct bench {
    struct tf_loop *loop;
    struct tf_rpc *rpc;
    struct test_etcd *etcd;
    char *folder;
    const char
        *settings; /* lines below `settings:` in fedd.yaml, each with two spaces and its end; may be NULL */
    const char *lease;  /* for the next starts; NULL = 1s, which a busy machine may miss: longer where one
                           leader is  all that a test needs */
    const char *option; /* of the command line, for the next starts; may be NULL */
    struct bench_fedd fedds[BENCH_FEDDS];
};

/* False if there is no etcd, which has been said. quota_bytes 0 = etcd's default. Closed at the latest at the
 * exit of the program, so that a failed assertion leaves nothing behind. */
bool bench_open(struct bench *b, const char *settings, int64_t quota_bytes);
/* The same, and one fedd leads, with a lease that a busy machine does not miss. */
bool bench_open_steady(struct bench *b, const char *settings, int64_t quota_bytes);
void bench_close(struct bench *b);

void bench_start(struct bench *b, size_t fedd); /* again: on the same address, with the same data */
void bench_wait_leads(struct bench *b, size_t fedd);
void bench_kill(struct bench *b, size_t fedd); /* SIGKILL; not running is fine */
int bench_stop(struct bench *b, size_t fedd);  /* SIGTERM; the exit code, -1 if it was killed by a signal */
void bench_freeze(struct bench *b, size_t fedd);
void bench_thaw(struct bench *b, size_t fedd);
/* Stops only the thread of its loop, as if that were busy with something else; the others run on. */
void bench_hold_loop(struct bench *b, size_t fedd);
void bench_let_loop_go(struct bench *b, size_t fedd);
/* Started fresh, and leads. */
void bench_one_leader(struct bench *b);

/* Turns the loop until holds is true; false after BENCH_PATIENCE_MS. */
bool bench_until(struct bench *b, bool (*holds)(void *arg), void *arg);
/* Turns the loop for so long. */
void bench_pass(struct bench *b, int64_t ms);
/* The file holds the words. */
bool bench_log_has(struct bench *b, size_t fedd, const char *words);
bool bench_wait_log(struct bench *b, size_t fedd, const char *words);

/* ---- requests: reply, detail and err may be NULL; those given are filled anew, and owned by the caller ----
 */

int bench_ask(struct bench *b, size_t fedd, const struct tf_request *request, int64_t timeout_ms,
              struct tf_reply *reply, struct tf_error_detail *detail, struct tf_error *err);
/* A job of one instance of tenant "t", with the filled defaults. */
void bench_manifest(struct tf_job_manifest *manifest, const char *name, int32_t gpus);
struct tf_uid bench_uid(uint64_t n);
/* Submits with that uid; the code of the error. */
enum tf_error_code bench_submit(struct bench *b, size_t fedd, const char *name, uint64_t uid,
                                int64_t timeout_ms, struct tf_error *err);
/* DELETE, HOLD, RESUME by name. */
enum tf_error_code bench_change(struct bench *b, size_t fedd, enum tf_method method, const char *name);
/* The job, owned by the caller; false if there is none. */
bool bench_get(struct bench *b, size_t fedd, const char *name, struct tf_job_view *job);
/* Waits until the job has that phase; TF_PHASE_NONE: until it is gone. */
bool bench_wait_phase(struct bench *b, size_t fedd, const char *name, enum tf_phase phase);

/* ---- the store, past fedd ---- */

/* key below the prefix; value NULL removes it. */
void bench_store_put(struct bench *b, const char *key, const void *value, size_t len);
/* The same, and what the store said. */
enum tf_error_code bench_store_try_put(struct bench *b, const char *key, const void *value, size_t len);
/* Bytes that the store uses, as far as it has noticed. */
int64_t bench_store_used(struct bench *b);
/* The value, owned by the caller; NULL if the key is not there. */
char *bench_store_get(struct bench *b, const char *key, size_t *len);

#endif
