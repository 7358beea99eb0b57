/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDBENCH_CORES_H
#define TF_FEDBENCH_CORES_H

#include "common/base/buf.h"
#include "federation/core/fed.h"
#include "subcluster/core/sub.h"

/* One instance with one GPU, one core and a GiB, of that class. */
void core_job_spec(struct tf_job_spec *spec, const char *priority);
/* CPU time of this process, in microseconds. */
double core_cpu_us(void);

/* The two cores without daemons, in virtual time: commits are done at once, what is started is ready at once,
 * and messages are bytes. */

struct core_late {
    struct tf_mono due;
    struct sub_event event;
};

struct core_sub {
    struct sub *sub;
    struct tf_now now;
    struct tf_term term;
    uint64_t n, epoch; /* of the last change; of the last placement */
    TF_VEC(struct sub_event) waiting;
    struct tf_mono wake;
    /* The last profile that was sent. */
    struct tf_buf profile;
    size_t rows, profiles;
    bool full;
    size_t refused;            /* placements that did not fit */
    tf_level level;            /* what the next placements may take from others */
    double cpu_us, longest_us; /* of all steps since these were set to 0; of one of them */
    /* The engine's and the store's times in virtual ms; 0, as at first: at once. Those are over in
     * core_sub_live only. */
    int64_t start_ms, stop_ms, commit_ms;
    TF_VEC(struct core_late) late;
    size_t starts, commits; /* so far */
};

/* A subcluster with these nodes (copied) and an empty set of orders from a leader. */
void core_sub_open(struct core_sub *s, const struct tf_node *nodes, size_t count,
                   const struct tf_classes *classes);
void core_sub_close(struct core_sub *s);
/* Places the job (spec is taken) with that size. Its number is its epoch. */
uint64_t core_sub_place(struct core_sub *s, struct tf_job_spec *spec, int32_t size);
void core_sub_release(struct core_sub *s, uint64_t epoch);
/* The engine says that the node (copied) is in that state. */
void core_sub_node(struct core_sub *s, const struct tf_node *node, enum tf_node_state state);
/* The next profile is a full one. */
void core_sub_want_full(struct core_sub *s);
/* Time goes by: a profile that is due is sent. */
void core_sub_pass(struct core_sub *s, int64_t ms);
/* The same, but each thing that is due in between comes at its moment. */
void core_sub_live(struct core_sub *s, int64_t ms);
/* The same for a question or order (taken) of people. */
void core_sub_ask(struct core_sub *s, struct tf_ask ask);

struct core_fed {
    struct fed *fed;
    struct tf_now now;
    bool committing;
    size_t refused; /* requests */
};

/* A leader, to whom one subcluster is attached. */
void core_fed_open(struct core_fed *f);
void core_fed_close(struct core_fed *f);
/* A new job of that number (spec is taken). */
void core_fed_submit(struct core_fed *f, uint64_t number, struct tf_job_spec *spec);
/* Reads the message and decides: the CPU time that both took, in microseconds; -1 after saying why. */
double core_fed_take(struct core_fed *f, const struct tf_buf *bytes);

#endif
