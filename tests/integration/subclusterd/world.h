/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_TESTS_SUBCLUSTERD_WORLD_H
#define TF_TESTS_SUBCLUSTERD_WORLD_H

/* Real subclusterd processes over a real etcd, with a scripted leader in the test program: it speaks Attach,
 * wants what the test says, and stores every end that it is told (unless the test says otherwise). Tests are
 * in life.c and faults.c. */
#include "common/base/buf.h"
#include "common/model/message.h"
#include "common/rpc/server.h"
#include "common/wire/api.h"
#include "tests/support/etcd.h"

#include <sys/types.h>

enum { WORLD_PATIENCE_MS = 60000, WORLD_DAEMONS_MAX = 2, WORLD_LEASE_MS = 1000 };

/* An epoch that the leader has placed. */
struct world_epoch {
    struct tf_entry entry;
    enum tf_release release; /* wanted, or NONE */
    bool stored;             /* its end has come */
    bool reported;
    struct tf_report report; /* the latest one */
    bool was_running;        /* a report said so */
    int32_t ready_most;
};

/* What came for one Ask{LOGS}. */
struct world_output {
    uint64_t ask;
    struct tf_buf bytes;
    char *error;
    bool ended;
};

struct world {
    struct test_etcd *etcd;
    char *store_trouble; /* as it was last told; NULL = none */
    char *dir, *state_dir, *config, *log;
    const char *keep_output;
    const char *engine; /* "process", or "virtual" */
    int node_count;     /* of 8 GPUs */
    const char *option; /* one more for the daemons that are started; NULL = none */
    struct tf_loop *loop;
    struct tf_rpc *rpc;
    struct tf_server *server;
    char *address;
    pid_t daemons[WORLD_DAEMONS_MAX];

    /* the leader */
    struct tf_uid
        uid; /* jobs' uids begin like it: other tests run at the same time, and the engine goes by uids */
    struct tf_term term;
    uint64_t n, next_epoch, next_ask;
    int leaves;       /* that were announced */
    uint32_t attempt; /* whose output is asked for; 0 = the last one's */
    bool keeps_ends;  /* does not store ends */
    bool refuses;     /* does not lead */
    char *leader;     /* whom it names then; NULL = nobody */
    TF_VEC(struct world_epoch) epochs;
    struct tf_stream *stream; /* the live attach; NULL = away */
    int attaches;
    struct tf_hello hello;
    bool listed;
    int profiles, full_profiles;
    struct tf_profile profile;      /* the latest full one */
    struct tf_health_counts health; /* of the latest one, full or not */
    struct tf_nodes_reply nodes;    /* answer to the latest Ask{NODES} */
    int32_t answer_code;            /* of the latest answer */
    uint64_t answered;              /* its id */
    TF_VEC(struct world_output) outputs;
};

/* keep_output: "0s" lets exit records go as soon as ends are stored. Fails the test if anything is missing.
 * Ends a world that a test before left when it failed in the middle. */
void world_begin(struct world *w, const char *keep_output);
/* The same with so many invented nodes. */
void world_begin_virtual(struct world *w, const char *keep_output, int node_count);
/* Another store in the place of the first one, empty; the first one is gone. */
void world_new_store(struct world *w);
/* Kills the daemons, ends what still runs under the state folder, removes all. */
void world_end(struct world *w);
/* Waits until everything was given back (no process, no record of a job, no exit record), checks that each
 * instance that started stopped, and ran once, and ends the world. */
void world_end_clean(struct world *w);

const char *world_program(void);
pid_t world_start(struct world *w, int daemon);
/* Starts daemon 0 and waits until it has told the leader all it has. */
void world_attach(struct world *w);
void world_kill(struct world *w, int daemon); /* SIGKILL and wait */
/* SIGTERM; the exit status of waitpid. */
int world_terminate(struct world *w, int daemon);

/* Turns the loop once, for at most 50 ms; true while the deadline has not passed. For WORLD_UNTIL. */
bool world_turn(struct world *w, int64_t deadline);
#define WORLD_UNTIL(w, condition)                                        \
    do {                                                                 \
        int64_t deadline_ = tf_clock_read().mono.ms + WORLD_PATIENCE_MS; \
        while (!(condition) && world_turn((w), deadline_))               \
            continue;                                                    \
        if (!(condition))                                                \
            world_show(w, #condition);                                   \
        CU_ASSERT_TRUE_FATAL(condition);                                 \
    } while (0)
/* Kills all that runs under the state folder. */
void world_end_instances(struct world *w);
/* Lets time pass with the loop turning. */
void world_wait(struct world *w, int64_t ms);
/* What is known, on stderr, with the end of the daemons' log. */
void world_show(const struct world *w, const char *why);

/* A job of n instances with one GPU each that run `sh -c script`: the entry to place, for further changes;
 * valid until the next. */
struct tf_entry *world_job(struct world *w, int32_t n, const char *script);
/* Tells the subcluster, if it is attached (else it is in the next full set). Gives the epoch. */
uint64_t world_place(struct world *w);
/* Both, unchanged. */
uint64_t world_run(struct world *w, int32_t n, const char *script);
void world_release(struct world *w, uint64_t epoch, enum tf_release release);
struct world_epoch *world_epoch(struct world *w, uint64_t epoch);
/* As the latest report said. */
enum tf_end world_end_of(struct world *w, uint64_t epoch);
bool world_is_running(struct world *w, uint64_t epoch); /* all instances are ready */
/* Cuts the attach off. */
void world_cut(struct world *w);
/* Any bytes down the stream. */
void world_send_bytes(struct world *w, const void *bytes, size_t len);
void world_ask_nodes(struct world *w);
void world_ask_cordon(struct world *w, const char *node, uint64_t gpus, bool on);
void world_ask_confirm_lost(struct world *w, const char *node);
uint64_t world_ask_logs(struct world *w, uint64_t epoch, uint32_t index, bool follow, int64_t tail);
struct world_output *world_output(struct world *w, uint64_t ask);

/* Puts a key of the local prefix, behind the owner's back. */
void world_put(struct world *w, const char *key, const char *value);
/* True once the daemons' log holds the text. */
bool world_logged(const struct world *w, const char *text);
/* Keys under the local prefix but owner and head. */
int world_count_records(struct world *w);
int world_count_allocations(struct world *w);
/* Folders of instances that the engine keeps. */
int world_count_exit_records(const struct world *w);
/* Processes that work for the state folder: shims, and what has the environment of one of our uids. */
int world_count_processes(const struct world *w);

/* What the shims' journal says. */
struct world_journal {
    int starts, stops;
    int twice;    /* ids started more than once */
    int overlaps; /* a (uid, epoch, index) of which two attempts ran at a time */
};
struct world_journal world_read_journal(const struct world *w);

#endif
