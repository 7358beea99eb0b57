/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_DAEMON_TALLY_H
#define TF_DAEMON_TALLY_H

#include "common/monitor/metric.h"

/* What the shells around both cores count in the same way: steps of the core, its decisions, transactions.
 * Loop thread only. Zero-initialise. */
struct tf_tally {
    uint64_t decisions, alarms, records;
    struct tf_histogram steps, transactions; /* us */
    bool reload_failed;                      /* the last one */
    size_t restart_keys;                     /* that differ in the file, and wait for a restart */
    int64_t sent_us;                         /* when the transaction that is out was sent; 0 = none */
};

/* us of the monotonic clock. */
int64_t tf_tally_clock(void);
void tf_tally_step(struct tf_tally *tally, int64_t began_us);
void tf_tally_sent(struct tf_tally *tally, size_t records);
void tf_tally_committed(struct tf_tally *tally);
void tf_tally_dropped(struct tf_tally *tally); /* the transaction's fate is somebody else's */

/* The configuration was read again: whether that succeeded, and how many changed keys wait for a restart. */
void tf_tally_reloaded(struct tf_tally *tally, bool succeeded, size_t restart_keys);

/* What is so when somebody looks. */
struct tf_tally_seen {
    int64_t used_bytes, quota_bytes; /* of the store; 0 = not known yet */
    bool trouble;                    /* of the store */
    size_t quarantined;
    bool eventlog_stopped;
};

extern const struct tf_metric tf_tally_metrics[];
extern const size_t tf_tally_metric_count;
void tf_tally_collect(const struct tf_tally *tally, const struct tf_tally_seen *seen,
                      struct tf_metrics *metrics);
/* The reference of all figures of a daemon that has these rows of its own: a table of Markdown. */
void tf_tally_markdown(const struct tf_metric *own, size_t count, struct tf_buf *out);

#endif
