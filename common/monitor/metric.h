/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_MONITOR_METRIC_H
#define TF_MONITOR_METRIC_H

#include "common/base/buf.h"

#include <stdbool.h>
#include <stdint.h>

/* Figures for Prometheus, in its text format (version 0.0.4). What a daemon shows is one table of rows, whose
 * names are kept from release to release; the page and the reference in the documentation both come from it.
 */

enum tf_metric_type {
    TF_METRIC_GAUGE,
    TF_METRIC_COUNTER,  /* its name ends in _total */
    TF_METRIC_HISTOGRAM /* of struct tf_histogram, with `bounds` */
};

/* Of the integers that are given; the page has base units. */
enum tf_metric_unit {
    TF_UNIT_ONE, /* a count, or bytes */
    TF_UNIT_MS,  /* shown as seconds */
    TF_UNIT_US,  /* shown as seconds */
};

enum {
    TF_METRIC_LABELS_MAX = 3,
    TF_METRIC_BOUNDS_MAX = 16,
};

struct tf_metric {
    const char *name;
    enum tf_metric_type type;
    enum tf_metric_unit unit;
    const char *labels[TF_METRIC_LABELS_MAX + 1]; /* names, then NULL */
    const int64_t *bounds; /* of a histogram: upper bounds, ascending, in the row's unit; then 0 */
    const char *help;      /* one line of Markdown without tabs */
};

struct tf_histogram {
    uint64_t counts[TF_METRIC_BOUNDS_MAX +
                    1]; /* by bucket, not cumulative; the last used one is above every bound */
    int64_t sum;
};
void tf_histogram_add(struct tf_histogram *histogram, const struct tf_metric *metric, int64_t value);

/* A page in the making. Zero-initialise; out is the caller's. All samples of a row come one after the other.
 */
struct tf_metrics {
    struct tf_buf *out;
    const struct tf_metric *last;
};

/* Values of the row's labels, in their order. */
#define TF_LABELS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define TF_NO_LABELS ((const char *const[]){NULL})

/* labels are borrowed during the call, may hold anything, and are as many as the row has. */
void tf_metrics_add(struct tf_metrics *metrics, const struct tf_metric *metric, const char *const *labels,
                    int64_t value);
void tf_metrics_add_histogram(struct tf_metrics *metrics, const struct tf_metric *metric,
                              const char *const *labels, const struct tf_histogram *histogram);

/* The rows of the reference, without its head: `name | type | labels | meaning`. */
void tf_metrics_markdown(const struct tf_metric *rows, size_t count, struct tf_buf *out);

#endif
