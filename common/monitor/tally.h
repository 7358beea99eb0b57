/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_MONITOR_TALLY_H
#define TF_MONITOR_TALLY_H

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

/* The store, as it is seen. */
struct tf_tally_store {
    int64_t used_bytes, quota_bytes; /* 0 = not known yet */
    bool trouble;
    size_t quarantined;
};

extern const struct tf_metric tf_tally_metrics[];
extern const size_t tf_tally_metric_count;
void tf_tally_collect(const struct tf_tally *tally, const struct tf_tally_store *store,
                      struct tf_metrics *metrics);

#endif
