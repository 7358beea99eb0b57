/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_MONITOR_MONITOR_H
#define TF_MONITOR_MONITOR_H

#include "common/base/row.h"
#include "common/loop/loop.h"
#include "common/monitor/metric.h"
#include "common/net/tls.h"

/* What a daemon shows of itself over HTTP:
 *
 *     /metrics   figures for Prometheus: its own, and those of every process (tf_monitor_metrics)
 *     /healthz   200 while its loop turns
 *     /readyz    200 when it can do its work, else 503; in words
 *
 * The loop collects them every two seconds, so they may be that old. */
struct tf_monitor;

/* Under `metrics` in the configuration of a daemon. */
struct tf_monitor_config {
    char *listen; /* NULL: nothing is shown */
};
extern const struct tf_table tf_monitor_table;

struct tf_monitor_options {
    const char *listen;  /* NULL: tf_monitor_start gives NULL without an error */
    const char *program; /* a constant */
    const struct tf_tls_files
        *tls; /* the daemon's, whose end is shown; may be unset; borrowed until the stop */
    /* In the loop thread. ready adds a line of text about the state, and says whether it can do its work. */
    void (*collect)(void *arg, struct tf_metrics *metrics);
    bool (*ready)(void *arg, struct tf_buf *text);
    void *arg;
};

/* -1 if it cannot listen. *monitor is NULL if there is nothing to do. loop is borrowed until tf_monitor_stop.
 */
int tf_monitor_start(struct tf_loop *loop, const struct tf_monitor_options *options,
                     struct tf_monitor **monitor, struct tf_error *err);
void tf_monitor_stop(struct tf_monitor *monitor); /* NULL is fine */

/* The rows that every process has. */
extern const struct tf_metric tf_monitor_metrics[];
extern const size_t tf_monitor_metric_count;

#endif
