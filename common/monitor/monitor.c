/* SPDX-License-Identifier: Apache-2.0 */
/* Collects the pages in the loop, at a steady pace, and hands them to the thread that answers (pages.c). The
 * pace also shows how late the loop is: a timer that runs late has waited for something that took long. */
#include "common/monitor/monitor.h"

#include "common/base/cleanup.h"
#include "common/log/log.h"
#include "common/monitor/pages.h"
#include "common/net/address.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    TICK_MS = 500,
    COLLECT_EVERY = 4, /* ticks */
};

static const struct tf_row rows[] = {
    {.key = "listen",
     TF_STRING(struct tf_monitor_config, listen),
     .min = 1,
     .max = 253,
     .help = "`HOST:PORT` of the pages `/metrics` (for Prometheus), `/healthz` and `/readyz`, for example "
             "`127.0.0.1:9770`; they show names of subclusters and classes to whoever can reach them; absent "
             "= none"},
};

static void check(const void *object, struct tf_complaints *out)
{
    const struct tf_monitor_config *config = object;
    struct tf_error err = TF_ERROR_INIT;
    if (!config->listen)
        return;
    if (tf_address_is_unix(config->listen))
        tf_complaints_add(out, "listen", "\"%s\" is no HOST:PORT", config->listen);
    else if (tf_address_check(config->listen, &err))
        tf_complaints_add(out, "listen", "%s", err.text);
}

const struct tf_table tf_monitor_table = TF_TABLE(struct tf_monitor_config, rows, .check = check);

enum { BUILD_INFO, LOOP_LAG, CERTIFICATE, CPU, MEMORY, FDS, MAX_FDS, STARTED };

/* Those of processes have the names that Prometheus's own libraries use, so that common dashboards fit. */
const struct tf_metric tf_monitor_metrics[] = {
    [BUILD_INFO] = {"tidefed_build_info",
                    TF_METRIC_GAUGE,
                    TF_UNIT_ONE,
                    {"program", "version"},
                    NULL,
                    "always 1; what runs"},
    [LOOP_LAG] = {"tidefed_loop_lag_seconds",
                  TF_METRIC_GAUGE,
                  TF_UNIT_MS,
                  {NULL},
                  NULL,
                  "longest that a timer of the loop was late since the last look: above 1 the daemon is slow "
                  "to answer"},
    [CERTIFICATE] = {"tidefed_certificate_expiry_timestamp_seconds",
                     TF_METRIC_GAUGE,
                     TF_UNIT_MS,
                     {NULL},
                     NULL,
                     "when the daemon's certificate expires, since 1970; with `tls` only"},
    [CPU] = {"process_cpu_seconds_total",
             TF_METRIC_COUNTER,
             TF_UNIT_US,
             {NULL},
             NULL,
             "user and system time of the process"},
    [MEMORY] = {"process_resident_memory_bytes", TF_METRIC_GAUGE, TF_UNIT_ONE, {NULL}, NULL, "memory in use"},
    [FDS] = {"process_open_fds", TF_METRIC_GAUGE, TF_UNIT_ONE, {NULL}, NULL, "open file descriptors"},
    [MAX_FDS] =
        {"process_max_fds", TF_METRIC_GAUGE, TF_UNIT_ONE, {NULL}, NULL, "limit of open file descriptors"},
    [STARTED] = {"process_start_time_seconds",
                 TF_METRIC_GAUGE,
                 TF_UNIT_MS,
                 {NULL},
                 NULL,
                 "when the daemon began to serve these pages, since 1970"},
};
const size_t tf_monitor_metric_count = TF_ARRAY_LEN(tf_monitor_metrics);

struct tf_monitor {
    struct tf_loop *loop;
    struct tf_pages *pages;
    struct tf_monitor_options options;
    struct tf_timer timer;
    struct tf_wall started;
    unsigned ticks;
    int64_t lag_ms;
    uint64_t tls_stamp; /* of the files that were looked at */
    struct tf_wall expires;
};

/* ---- of the process ---- */

static int64_t resident_bytes(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file)
        return 0;
    if (fscanf(file, "%*s %ld", &pages) != 1)
        pages = 0;
    fclose(file);
    return (int64_t)pages * sysconf(_SC_PAGESIZE);
}

static int64_t open_fds(void)
{
    int64_t count = -1; /* the folder's own */
    DIR *folder = opendir("/proc/self/fd");
    if (!folder)
        return 0;
    for (const struct dirent *entry = readdir(folder); entry; entry = readdir(folder))
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

static void collect_process(const struct tf_monitor *monitor, struct tf_metrics *metrics)
{
    struct rusage usage = {0};
    struct rlimit files = {0};
    getrusage(RUSAGE_SELF, &usage);
    getrlimit(RLIMIT_NOFILE, &files);
    int64_t us = (int64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 + usage.ru_utime.tv_usec +
                 usage.ru_stime.tv_usec;
    const struct tf_metric *m = tf_monitor_metrics;
    tf_metrics_add(metrics, &m[CPU], TF_NO_LABELS, us);
    tf_metrics_add(metrics, &m[MEMORY], TF_NO_LABELS, resident_bytes());
    tf_metrics_add(metrics, &m[FDS], TF_NO_LABELS, open_fds());
    tf_metrics_add(metrics, &m[MAX_FDS], TF_NO_LABELS, (int64_t)files.rlim_cur);
    tf_metrics_add(metrics, &m[STARTED], TF_NO_LABELS, monitor->started.ms);
}

static void collect_certificate(struct tf_monitor *monitor, struct tf_metrics *metrics)
{
    const struct tf_tls_files *tls = monitor->options.tls;
    struct tf_tls_pem pem;
    if (!tf_tls_is_set(tls))
        return;
    uint64_t stamp = tf_tls_stamp(tls);
    if (stamp != monitor->tls_stamp && tf_tls_read(tls, &pem, NULL) == 0) {
        monitor->expires = pem.expires;
        monitor->tls_stamp = stamp;
        tf_tls_pem_release(&pem);
    }
    if (monitor->expires.ms)
        tf_metrics_add(metrics, &tf_monitor_metrics[CERTIFICATE], TF_NO_LABELS, monitor->expires.ms);
}

/* ---- pages ---- */

static void set_metrics(struct tf_monitor *monitor)
{
    struct tf_buf body = TF_BUF_INIT;
    struct tf_metrics metrics = {.out = &body};
    const struct tf_metric *m = tf_monitor_metrics;
    tf_metrics_add(&metrics, &m[BUILD_INFO], TF_LABELS(monitor->options.program, TF_VERSION), 1);
    tf_metrics_add(&metrics, &m[LOOP_LAG], TF_NO_LABELS, monitor->lag_ms);
    collect_certificate(monitor, &metrics);
    collect_process(monitor, &metrics);
    monitor->options.collect(monitor->options.arg, &metrics);
    monitor->lag_ms = 0;
    tf_pages_set(monitor->pages, "/metrics", 200, "text/plain; version=0.0.4; charset=utf-8", &body);
}

static void set_words(struct tf_monitor *monitor)
{
    struct tf_buf health = TF_BUF_INIT, body = TF_BUF_INIT;
    tf_buf_fmt(&health, "%s " TF_VERSION " is alive\n", monitor->options.program);
    tf_pages_set(monitor->pages, "/healthz", 200, "text/plain; charset=utf-8", &health);
    bool ready = monitor->options.ready(monitor->options.arg, &body);
    tf_buf_char(&body, '\n');
    tf_pages_set(monitor->pages, "/readyz", ready ? 200 : 503, "text/plain; charset=utf-8", &body);
}

static void on_timer(struct tf_timer *timer)
{
    struct tf_monitor *monitor = TF_CONTAINER_OF(timer, struct tf_monitor, timer);
    struct tf_mono now = tf_clock_read().mono;
    int64_t late = now.ms - timer->due.ms;
    if (late > monitor->lag_ms)
        monitor->lag_ms = late;
    set_words(monitor);
    if (++monitor->ticks % COLLECT_EVERY == 0)
        set_metrics(monitor);
    tf_timer_start(monitor->loop, timer, (struct tf_mono){now.ms + TICK_MS}, on_timer);
}

int tf_monitor_start(struct tf_loop *loop, const struct tf_monitor_options *options, struct tf_monitor **out,
                     struct tf_error *err)
{
    *out = NULL;
    if (!options->listen)
        return 0;
    struct tf_pages *pages = tf_pages_open(options->listen, err);
    if (!pages)
        return tf_error_wrap(err, "metrics.listen");
    struct tf_monitor *monitor = tf_calloc(1, sizeof *monitor);
    monitor->loop = loop;
    monitor->pages = pages;
    monitor->options = *options;
    struct tf_now now = tf_clock_read();
    monitor->started = now.wall;
    set_words(monitor);
    set_metrics(monitor);
    tf_timer_start(loop, &monitor->timer, (struct tf_mono){now.mono.ms + TICK_MS}, on_timer);
    tf_log_info("metrics are served port=%d", tf_pages_port(pages));
    *out = monitor;
    return 0;
}

void tf_monitor_stop(struct tf_monitor *monitor)
{
    if (!monitor)
        return;
    tf_timer_cancel(monitor->loop, &monitor->timer);
    tf_pages_close(monitor->pages);
    free(monitor);
}
