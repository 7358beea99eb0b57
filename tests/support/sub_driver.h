/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_TESTS_SUB_DRIVER_H
#define TF_TESTS_SUB_DRIVER_H

#include "common/base/buf.h"
#include "subcluster/core/sub.h"
#include "tests/support/record_store.h"

/* Runs one subcluster core against a fake store and a fake engine, in virtual time. What the core does is
 * written down, one line an action, for comparison with what was expected:
 *
 *     persist allocation:1 floor       records, a job by the first byte of its uid, "-" after one that goes
 *     start 1/5/0.1 n1 0-3             uid / epoch / index . attempt, node, GPUs
 *     stop 1/5/0.1 0+30000             stop delay + grace
 *     forget 1/5     peers 1/5 v2 size 4     close TEXT     alarm TEXT
 *     send hello 0.0 7 | listed | report 1/5 Running 2/2 | report 1/5 ended refused GPUS | profile full n 3
 *     send answer 3 code 0: TEXT
 *
 * Traces and wishes to be woken are not written down. */

struct fake_instance {
    struct tf_instance_id id;
    enum sub_instance_state state;
    int32_t exit_code;
    char *node;
    uint64_t gpus;
};

struct sub_driver {
    struct sub *sub;
    struct tf_now now;
    struct sub_boot boot; /* what the next boot says; owner_revision grows with each */
    bool hold_commits;    /* transactions wait for driver_commit */
    struct tf_buf log;
    struct tf_buf traces; /* one a line */
    struct tf_buf peers;  /* content of the last peers file */
    struct record_store store;
    struct tf_record *out; /* of the transaction that waits */
    size_t out_count;
    bool out_waits;
    TF_VEC(struct tf_node) nodes;
    TF_VEC(struct fake_instance) instances;
    struct tf_mono wake;
    bool continues;
    struct tf_term term;       /* of the leader */
    uint64_t n;                /* of its last message */
    struct tf_profile profile; /* as the leader has it */
    uint64_t starts;           /* SUB_ACT_START so far */
};

/* Classes low, mid, high; start_timeout 5 min, kill_bound 10 s, offer_time 3 s, repair_wait 2 min,
 * failure_settle 5 s, profile_interval 500 ms; a silent node is lost after
 * 15 s, unless it is one of at least 3 and of a tenth of all within a minute. */
void driver_init(struct sub_driver *d);
void driver_release(struct sub_driver *d);

/* A node that the engine will list: n GPUs of the model (NULL: none), 64 cores, 256 GiB, 32 slots. */
struct tf_node *driver_node(struct sub_driver *d, const char *name, const char *model, int32_t gpus);
void driver_node_state(struct sub_driver *d, const char *name, enum tf_node_state state);

/* Boot, the stored records, loaded. */
void driver_load(struct sub_driver *d);
/* The engine's listing: nodes, instances, LISTED. */
void driver_list(struct sub_driver *d);
/* Load, list, attach with an empty set of term 1.1; the log is cleared. */
void driver_ready(struct sub_driver *d);
/* The process dies: the transaction that is out is lost, or (lands) was durable; then it loads again. */
void driver_crash(struct sub_driver *d, bool lands);

void driver_step(struct sub_driver *d, struct sub_event event);
void driver_commit(struct sub_driver *d);           /* the transaction that waits is durable */
void driver_pass(struct sub_driver *d, int64_t ms); /* time goes by; timers fire in order */

/* The leader: attach says the set of the entries given (taken) with n = 1; change sends n + 1. */
void driver_link(struct sub_driver *d, bool up);
void driver_set(struct sub_driver *d, struct tf_entry *entries, size_t count);
void driver_change(struct sub_driver *d, struct tf_entry entry);
struct tf_entry driver_place_entry(uint8_t uid, uint64_t epoch, int32_t size, int32_t gpus);
/* The same in that class instead of mid. */
struct tf_entry driver_class_entry(uint8_t uid, uint64_t epoch, const char *class, int32_t size,
                                   int32_t gpus);
void driver_place(struct sub_driver *d, uint8_t uid, uint64_t epoch, int32_t size, int32_t gpus);
void driver_tell(struct sub_driver *d, enum tf_entry_kind kind, uint8_t uid, uint64_t epoch);

/* The engine says so, of one that was started. */
void driver_told(struct sub_driver *d, uint8_t uid, uint64_t epoch, uint32_t index, uint32_t attempt,
                 enum sub_instance_state state, int32_t exit_code, bool stopped);
void driver_exits(struct sub_driver *d, uint8_t uid, uint64_t epoch, uint32_t index, uint32_t attempt,
                  int32_t code);
void driver_stopped(struct sub_driver *d, uint8_t uid, uint64_t epoch, uint32_t index, uint32_t attempt);
/* One that runs tells of a checkpoint. */
void driver_checkpoint(struct sub_driver *d, uint8_t uid, uint64_t epoch, uint32_t index, uint32_t attempt);
/* READY, of all that were started and of which nothing was said yet. */
void driver_all_ready(struct sub_driver *d);
/* An instance that nobody here started. */
void driver_stray(struct sub_driver *d, uint8_t uid, uint64_t epoch, uint32_t index, const char *node,
                  uint64_t gpus);

/* The engine forgets all instances. */
void driver_forgets(struct sub_driver *d);

/* A subcluster with two nodes n1, n2 of 8 H800, ready. */
void driver_two_nodes(struct sub_driver *d);
/* The same where the policy freezes that for an hour. */
void driver_two_frozen_nodes(struct sub_driver *d, enum tf_frozen what);
/* The same of which only the engine knows anything: job 1, epoch 5, runs on all of both. Listed and linked.
 */
void driver_two_adopted_nodes(struct sub_driver *d);
/* Compares the log with the lines and clears it; prints both where they differ. */
bool driver_saw(struct sub_driver *d, const char *lines);
/* The same with the traces. */
bool driver_traced(struct sub_driver *d, const char *lines);
void driver_clear(struct sub_driver *d);
const struct tf_allocation *driver_allocation(const struct sub_driver *d, uint8_t uid);
/* Of a job that is not there: idle. */
enum tf_allocation_phase driver_phase_of(const struct sub_driver *d, uint8_t uid);
/* Of its epochs the one that ended last, NULL where none has. */
const struct tf_ended *driver_end_of(const struct sub_driver *d, uint8_t uid);
/* Of its members. */
int32_t driver_count_in(const struct sub_driver *d, uint8_t uid, enum tf_member_state state);
/* Of all nodes. */
int32_t driver_free_gpus(const struct sub_driver *d);
struct tf_uid driver_uid(uint8_t first);

#endif
