/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the process's log: where it goes, the level, and the count of repeated lines. Lines are formatted in
 * line.c, outside the lock. */
#include "common/log/line.h"

#include "common/base/alloc.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { REPEAT_MS = 10 * TF_SECOND /* how long equal lines stay silent */ };

static atomic_int log_level = TF_LOG_INFO;
static atomic_int log_format = TF_LOG_TEXT;

static struct {
    pthread_mutex_t lock; /* guards the rest */
    int fd;
    char *path; /* NULL = stderr */
    size_t last_len;
    char last[TF_LOG_LINE]; /* body of the last line written */
    size_t repeated;
    int64_t silent_since_ms;
} sink = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = STDERR_FILENO};

bool tf_log_enabled(enum tf_log_level level)
{
    return (int)level >= atomic_load_explicit(&log_level, memory_order_relaxed);
}

static int64_t mono_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static size_t stamp(enum tf_log_format format, char *out, size_t size)
{
    struct timespec t;
    struct tm tm;
    clock_gettime(CLOCK_REALTIME, &t);
    gmtime_r(&t.tv_sec, &tm);
    char time[32];
    strftime(time, sizeof time, "%Y-%m-%dT%H:%M:%S", &tm);
    int n = snprintf(out, size, format == TF_LOG_JSON ? "{\"time\":\"%s.%03ldZ\"" : "%s.%03ldZ ", time,
                     t.tv_nsec / 1000000);
    return (size_t)n;
}

/* One write a line, so that lines of several processes do not mix. A log that cannot be written must not stop
 * the daemon: there is nobody left to tell. */
static void emit(enum tf_log_format format, const char *body, size_t len)
{
    char line[TF_LOG_LINE + 64];
    size_t used = stamp(format, line, sizeof line);
    memcpy(line + used, body, len);
    used += len;
    for (size_t done = 0; done < used;) {
        ssize_t n = write(sink.fd, line + done, used - done);
        if (n < 0 && errno != EINTR)
            return;
        done += n > 0 ? (size_t)n : 0;
    }
}

static void flush_locked(void)
{
    if (!sink.repeated)
        return;
    enum tf_log_format format = (enum tf_log_format)atomic_load(&log_format);
    char body[128];
    int n = snprintf(body, sizeof body,
                     format == TF_LOG_JSON
                         ? ",\"level\":\"info\",\"message\":\"last message repeated\",\"times\":%zu}\n"
                         : "INFO  last message repeated %zu times\n",
                     sink.repeated);
    sink.repeated = 0;
    sink.silent_since_ms = mono_ms();
    emit(format, body, (size_t)n);
}

void tf_log_write(enum tf_log_level level, const char *fmt, ...)
{
    struct tf_log_line line;
    va_list args;
    va_start(args, fmt);
    tf_log_line_body(&line, (enum tf_log_format)atomic_load(&log_format), level, fmt, args);
    va_end(args);
    pthread_mutex_lock(&sink.lock);
    if (line.len == sink.last_len && memcmp(line.text, sink.last, line.len) == 0) {
        sink.repeated++;
        if (mono_ms() - sink.silent_since_ms >= REPEAT_MS)
            flush_locked();
    } else {
        flush_locked();
        memcpy(sink.last, line.text, line.len);
        sink.last_len = line.len;
        sink.silent_since_ms = mono_ms();
        emit(line.format, line.text, line.len);
    }
    pthread_mutex_unlock(&sink.lock);
}

void tf_log_flush(void)
{
    pthread_mutex_lock(&sink.lock);
    flush_locked();
    pthread_mutex_unlock(&sink.lock);
}

static int open_file(const char *path, struct tf_error *err)
{
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640) : STDERR_FILENO;
    if (fd < 0)
        tf_error_errno(err, TF_ERR_IO, errno, "cannot open the log file \"%s\"", path);
    return fd;
}

static void swap_locked(int fd)
{
    flush_locked();
    if (sink.fd != STDERR_FILENO)
        close(sink.fd);
    sink.fd = fd;
    sink.last_len = 0;
}

int tf_log_open(const struct tf_log_options *options, struct tf_error *err)
{
    int fd = open_file(options->path, err);
    if (fd < 0)
        return -1;
    pthread_mutex_lock(&sink.lock);
    swap_locked(fd);
    tf_str_set(&sink.path, options->path);
    atomic_store(&log_level, (int)options->level);
    atomic_store(&log_format, (int)options->format);
    pthread_mutex_unlock(&sink.lock);
    return 0;
}

int tf_log_reopen(struct tf_error *err)
{
    pthread_mutex_lock(&sink.lock);
    int fd = open_file(sink.path, err);
    if (fd >= 0)
        swap_locked(fd);
    pthread_mutex_unlock(&sink.lock);
    return fd < 0 ? -1 : 0;
}

void tf_log_close(void)
{
    static const struct tf_log_options initial = {.level = TF_LOG_INFO, .format = TF_LOG_TEXT};
    tf_log_open(&initial, NULL); /* stderr cannot fail */
}

static int parse(const char *what, const char *text, const char *const *names, size_t count, int *out,
                 struct tf_error *err)
{
    char allowed[64] = "";
    for (size_t i = 0; i < count; i++) {
        if (tf_str_eq(text, names[i])) {
            *out = (int)i;
            return 0;
        }
        size_t used = strlen(allowed);
        snprintf(allowed + used, sizeof allowed - used, "%s%s", i ? ", " : "", names[i]);
    }
    return tf_error_set(err, TF_ERR_INVALID, "unknown log %s \"%s\": use one of %s", what, text, allowed);
}

int tf_log_level_parse(const char *text, enum tf_log_level *level, struct tf_error *err)
{
    static const char *const names[] = {"debug", "info", "warn", "error"};
    int found = 0;
    if (parse("level", text, names, TF_ARRAY_LEN(names), &found, err))
        return -1;
    *level = (enum tf_log_level)found;
    return 0;
}

int tf_log_format_parse(const char *text, enum tf_log_format *format, struct tf_error *err)
{
    static const char *const names[] = {"text", "json"};
    int found = 0;
    if (parse("format", text, names, TF_ARRAY_LEN(names), &found, err))
        return -1;
    *format = (enum tf_log_format)found;
    return 0;
}
