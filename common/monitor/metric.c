/* SPDX-License-Identifier: Apache-2.0 */
/* The text format of Prometheus. Where figures come from is the daemons'. */
#include "common/monitor/metric.h"

#include "common/base/text.h"

#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>

static const char *const type_names[] = {
    [TF_METRIC_GAUGE] = "gauge", [TF_METRIC_COUNTER] = "counter", [TF_METRIC_HISTOGRAM] = "histogram"};

static size_t bound_count(const struct tf_metric *metric)
{
    size_t count = 0;
    while (metric->bounds && metric->bounds[count])
        count++;
    assert(count <= TF_METRIC_BOUNDS_MAX);
    return count;
}

void tf_histogram_add(struct tf_histogram *histogram, const struct tf_metric *metric, int64_t value)
{
    size_t bucket = 0, count = bound_count(metric);
    while (bucket < count && value > metric->bounds[bucket])
        bucket++;
    histogram->counts[bucket]++;
    histogram->sum += value;
}

/* Exact: no floating point is involved. */
static void add_value(struct tf_buf *out, enum tf_metric_unit unit, int64_t value)
{
    uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    const char *sign = value < 0 ? "-" : "";
    switch (unit) {
    case TF_UNIT_ONE:
        tf_buf_fmt(out, "%s%" PRIu64, sign, magnitude);
        break;
    case TF_UNIT_MS:
        tf_buf_fmt(out, "%s%" PRIu64 ".%03" PRIu64, sign, magnitude / 1000, magnitude % 1000);
        break;
    case TF_UNIT_US:
        tf_buf_fmt(out, "%s%" PRIu64 ".%06" PRIu64, sign, magnitude / 1000000, magnitude % 1000000);
        break;
    }
}

static void add_label(struct tf_buf *out, bool *open, const char *name, const char *value)
{
    struct tf_buf clean = TF_BUF_INIT;
    tf_buf_utf8(&clean, value ? value : "");
    tf_buf_fmt(out, "%c%s=\"", *open ? ',' : '{', name);
    *open = true;
    for (const char *c = tf_buf_text(&clean); *c; c++) {
        if (*c == '\n')
            tf_buf_str(out, "\\n");
        else {
            if (*c == '"' || *c == '\\')
                tf_buf_char(out, '\\');
            tf_buf_char(out, *c);
        }
    }
    tf_buf_char(out, '"');
    tf_buf_release(&clean);
}

static void begin(struct tf_metrics *metrics, const struct tf_metric *metric)
{
    if (metrics->last == metric)
        return;
    metrics->last = metric;
    tf_buf_fmt(metrics->out, "# HELP %s ", metric->name);
    for (const char *c = metric->help; *c; c++) { /* as labels, but for quotes */
        if (*c == '\\')
            tf_buf_char(metrics->out, '\\');
        if (*c != '`')
            tf_buf_char(metrics->out, *c);
    }
    tf_buf_fmt(metrics->out, "\n# TYPE %s %s\n", metric->name, type_names[metric->type]);
}

/* Name, suffix and labels; `le` in ms or us, as a number of the row's unit, unless it is NULL. */
static void add_head(struct tf_buf *out, const struct tf_metric *metric, const char *suffix,
                     const char *const *labels, const char *le)
{
    bool open = false;
    size_t i = 0;
    tf_buf_fmt(out, "%s%s", metric->name, suffix);
    for (; metric->labels[i]; i++) {
        assert(labels[i] && "a value for each label");
        add_label(out, &open, metric->labels[i], labels[i]);
    }
    assert(!labels[i] && "no more values than labels");
    if (le)
        add_label(out, &open, "le", le);
    tf_buf_str(out, open ? "} " : " ");
}

void tf_metrics_add(struct tf_metrics *metrics, const struct tf_metric *metric, const char *const *labels,
                    int64_t value)
{
    begin(metrics, metric);
    add_head(metrics->out, metric, "", labels, NULL);
    add_value(metrics->out, metric->unit, value);
    tf_buf_char(metrics->out, '\n');
}

void tf_metrics_add_histogram(struct tf_metrics *metrics, const struct tf_metric *metric,
                              const char *const *labels, const struct tf_histogram *histogram)
{
    struct tf_buf *out = metrics->out;
    size_t count = bound_count(metric);
    uint64_t total = 0;
    begin(metrics, metric);
    for (size_t i = 0; i <= count; i++) {
        struct tf_buf le = TF_BUF_INIT;
        if (i < count)
            add_value(&le, metric->unit, metric->bounds[i]);
        total += histogram->counts[i];
        add_head(out, metric, "_bucket", labels, i < count ? tf_buf_text(&le) : "+Inf");
        tf_buf_fmt(out, "%" PRIu64 "\n", total);
        tf_buf_release(&le);
    }
    add_head(out, metric, "_sum", labels, NULL);
    add_value(out, metric->unit, histogram->sum);
    tf_buf_char(out, '\n');
    add_head(out, metric, "_count", labels, NULL);
    tf_buf_fmt(out, "%" PRIu64 "\n", total);
}

void tf_metrics_markdown(const struct tf_metric *rows, size_t count, struct tf_buf *out)
{
    for (size_t i = 0; i < count; i++) {
        tf_buf_fmt(out, "| `%s` | %s | ", rows[i].name, type_names[rows[i].type]);
        for (size_t k = 0; rows[i].labels[k]; k++)
            tf_buf_fmt(out, "%s`%s`", k ? ", " : "", rows[i].labels[k]);
        tf_buf_fmt(out, " | %s |\n", rows[i].help);
    }
}
