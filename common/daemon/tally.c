/* SPDX-License-Identifier: Apache-2.0 */
/* The counters that both daemons have. */
#include "common/daemon/tally.h"

#include "common/base/cleanup.h"
#include "common/monitor/monitor.h"

#include <time.h>

enum {
    DECISIONS,
    ALARMS,
    STEPS,
    TRANSACTIONS,
    RECORDS,
    STORE_USED,
    STORE_QUOTA,
    STORE_TROUBLE,
    QUARANTINED,
    RELOAD_FAILED,
    RESTART_KEYS,
    EVENTLOG_STOPPED,
};

static const int64_t step_bounds[] = {50, 200, 1000, 5000, 20000, 100000, 500000, 2000000, 0};
static const int64_t transaction_bounds[] = {500,   1000,   2000,   5000,    10000,   20000,
                                             50000, 100000, 250000, 1000000, 5000000, 0};

const struct tf_metric tf_tally_metrics[] = {
    [DECISIONS] = {"tidefed_decisions_total",
                   TF_METRIC_COUNTER,
                   TF_UNIT_ONE,
                   {NULL},
                   NULL,
                   "decisions with a line of why in the log of decisions"},
    [ALARMS] = {"tidefed_alarms_total",
                TF_METRIC_COUNTER,
                TF_UNIT_ONE,
                {NULL},
                NULL,
                "things an operator must know, logged as errors"},
    [STEPS] = {"tidefed_step_seconds",
               TF_METRIC_HISTOGRAM,
               TF_UNIT_US,
               {NULL},
               step_bounds,
               "time of one step of the core with what follows from it"},
    [TRANSACTIONS] = {"tidefed_transaction_seconds",
                      TF_METRIC_HISTOGRAM,
                      TF_UNIT_US,
                      {NULL},
                      transaction_bounds,
                      "from sending a transaction to the store until it is durable"},
    [RECORDS] = {"tidefed_records_written_total",
                 TF_METRIC_COUNTER,
                 TF_UNIT_ONE,
                 {NULL},
                 NULL,
                 "records in those transactions"},
    [STORE_USED] =
        {"tidefed_store_used_bytes",
         TF_METRIC_GAUGE,
         TF_UNIT_ONE,
         {NULL},
         NULL,
         "bytes that the store uses, of `tidefed_store_quota_bytes`; seen every 10 s by the one who writes"},
    [STORE_QUOTA] = {"tidefed_store_quota_bytes",
                     TF_METRIC_GAUGE,
                     TF_UNIT_ONE,
                     {NULL},
                     NULL,
                     "bytes at which the store refuses writes"},
    [STORE_TROUBLE] = {"tidefed_store_trouble",
                       TF_METRIC_GAUGE,
                       TF_UNIT_ONE,
                       {NULL},
                       NULL,
                       "1 while the store does not answer or refuses writes"},
    [QUARANTINED] = {"tidefed_quarantined_records",
                     TF_METRIC_GAUGE,
                     TF_UNIT_ONE,
                     {NULL},
                     NULL,
                     "stored records that cannot be read and are left alone"},
    [RELOAD_FAILED] = {"tidefed_config_reload_failed",
                       TF_METRIC_GAUGE,
                       TF_UNIT_ONE,
                       {NULL},
                       NULL,
                       "1 when the configuration was wrong at the last SIGHUP: nothing of it was taken over"},
    [RESTART_KEYS] = {"tidefed_config_restart_keys",
                      TF_METRIC_GAUGE,
                      TF_UNIT_ONE,
                      {NULL},
                      NULL,
                      "keys of the configuration that had changed at the last SIGHUP and wait for a restart"},
    [EVENTLOG_STOPPED] =
        {"tidefed_eventlog_stopped",
         TF_METRIC_GAUGE,
         TF_UNIT_ONE,
         {NULL},
         NULL,
         "1 when the recording of events has stopped by itself, as on a full disk: a restart begins it anew"},
};
const size_t tf_tally_metric_count = TF_ARRAY_LEN(tf_tally_metrics);

int64_t tf_tally_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

void tf_tally_step(struct tf_tally *tally, int64_t began_us)
{
    tf_histogram_add(&tally->steps, &tf_tally_metrics[STEPS], tf_tally_clock() - began_us);
}

void tf_tally_sent(struct tf_tally *tally, size_t records)
{
    tally->records += records;
    tally->sent_us = tf_tally_clock();
}

void tf_tally_committed(struct tf_tally *tally)
{
    if (tally->sent_us)
        tf_histogram_add(&tally->transactions, &tf_tally_metrics[TRANSACTIONS],
                         tf_tally_clock() - tally->sent_us);
    tally->sent_us = 0;
}

void tf_tally_dropped(struct tf_tally *tally)
{
    tally->sent_us = 0;
}

void tf_tally_reloaded(struct tf_tally *tally, bool succeeded, size_t restart_keys)
{
    tally->reload_failed = !succeeded;
    if (succeeded)
        tally->restart_keys = restart_keys;
}

void tf_tally_collect(const struct tf_tally *tally, const struct tf_tally_seen *seen,
                      struct tf_metrics *metrics)
{
    const struct tf_metric *m = tf_tally_metrics;
    tf_metrics_add(metrics, &m[DECISIONS], TF_NO_LABELS, (int64_t)tally->decisions);
    tf_metrics_add(metrics, &m[ALARMS], TF_NO_LABELS, (int64_t)tally->alarms);
    tf_metrics_add_histogram(metrics, &m[STEPS], TF_NO_LABELS, &tally->steps);
    tf_metrics_add_histogram(metrics, &m[TRANSACTIONS], TF_NO_LABELS, &tally->transactions);
    tf_metrics_add(metrics, &m[RECORDS], TF_NO_LABELS, (int64_t)tally->records);
    if (seen->quota_bytes) {
        tf_metrics_add(metrics, &m[STORE_USED], TF_NO_LABELS, seen->used_bytes);
        tf_metrics_add(metrics, &m[STORE_QUOTA], TF_NO_LABELS, seen->quota_bytes);
    }
    tf_metrics_add(metrics, &m[STORE_TROUBLE], TF_NO_LABELS, seen->trouble);
    tf_metrics_add(metrics, &m[QUARANTINED], TF_NO_LABELS, (int64_t)seen->quarantined);
    tf_metrics_add(metrics, &m[RELOAD_FAILED], TF_NO_LABELS, tally->reload_failed);
    tf_metrics_add(metrics, &m[RESTART_KEYS], TF_NO_LABELS, (int64_t)tally->restart_keys);
    tf_metrics_add(metrics, &m[EVENTLOG_STOPPED], TF_NO_LABELS, seen->eventlog_stopped);
}

void tf_tally_markdown(const struct tf_metric *own, size_t count, struct tf_buf *out)
{
    tf_buf_str(out, "| name | type | labels | meaning |\n| --- | --- | --- | --- |\n");
    tf_metrics_markdown(own, count, out);
    tf_metrics_markdown(tf_tally_metrics, tf_tally_metric_count, out);
    tf_metrics_markdown(tf_monitor_metrics, tf_monitor_metric_count, out);
}
