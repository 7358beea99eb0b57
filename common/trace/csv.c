/* SPDX-License-Identifier: Apache-2.0 */
/* Owns how lines become fields. What the fields mean is jobs.c's and nodes.c's. */
#include "common/trace/csv.h"

#include "common/base/alloc.h"
#include "common/base/hash.h"
#include "common/base/text.h"
#include "common/conf/open.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

/* A key that a line had. */
struct seen {
    char *key;
    int64_t line;
    UT_hash_handle hh;
};

struct tf_csv {
    char *path;
    gzFile file;
    int64_t line;
    const char *const *names;
    size_t count;
    size_t columns;                   /* in the header */
    size_t place[TF_CSV_COLUMNS_MAX]; /* of a name: which field of a line, or SIZE_MAX */
    char text[TF_CSV_LINE_MAX + 2];
    char *fields[TF_CSV_COLUMNS_MAX];
    struct seen *seen;
};

int tf_csv_fail(const struct tf_csv *csv, struct tf_error *err, const char *fmt, ...)
{
    char text[600];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return tf_error_set(err, TF_ERR_INVALID, "%s:%" PRId64 ": %s", csv->path, csv->line, text);
}

/* ---- lines ---- */

static int read_error(const struct tf_csv *csv, struct tf_error *err)
{
    int code = Z_OK;
    const char *why = gzerror(csv->file, &code), *after = strstr(why, ">: "); /* zlib's "<fd:3>: " */
    if (code == Z_BUF_ERROR)
        return tf_error_set(err, TF_ERR_IO,
                            "cannot read %s after line %" PRId64 ": it is cut off, and its end is missing",
                            csv->path, csv->line);
    if (code == Z_ERRNO)
        return tf_error_errno(err, TF_ERR_IO, errno, "cannot read %s", csv->path);
    return tf_error_set(err, TF_ERR_IO, "cannot read %s after line %" PRId64 ": %s", csv->path, csv->line,
                        after ? after + 3 : why);
}

/* 1 with a line of text without its end, 0 at the end of the file. */
static int read_line(struct tf_csv *csv, struct tf_error *err)
{
    if (!gzgets(csv->file, csv->text, (int)sizeof csv->text)) {
        int code = Z_OK;
        (void)gzerror(csv->file, &code);
        return code == Z_OK || code == Z_STREAM_END ? 0 : read_error(csv, err);
    }
    size_t len = strlen(csv->text);
    bool whole = len > 0 && csv->text[len - 1] == '\n';
    int code = Z_OK;
    (void)gzerror(csv->file, &code);
    if (!whole && code == Z_BUF_ERROR) /* the compressed file ends too early: this is no last line */
        return read_error(csv, err);
    csv->line++;
    if (!whole && !gzeof(csv->file))
        return tf_csv_fail(
            csv, err,
            "this line is longer than %d bytes, or holds a NUL byte: is it a CSV file of jobs or "
            "nodes?",
            TF_CSV_LINE_MAX);
    while (len > 0 && (csv->text[len - 1] == '\n' || csv->text[len - 1] == '\r'))
        csv->text[--len] = '\0';
    if (!tf_utf8_valid(csv->text, len))
        return tf_csv_fail(csv, err, "this line is not UTF-8 text");
    return 1;
}

static int split(struct tf_csv *csv, struct tf_error *err)
{
    csv->columns = 0;
    for (char *at = csv->text; at;) {
        if (csv->columns == TF_CSV_COLUMNS_MAX)
            return tf_csv_fail(csv, err, "more than %d columns", TF_CSV_COLUMNS_MAX);
        csv->fields[csv->columns++] = at;
        at = strchr(at, ',');
        if (at)
            *at++ = '\0';
    }
    return 0;
}

/* ---- the header ---- */

static int bind(struct tf_csv *csv, size_t column, struct tf_error *err)
{
    for (size_t i = 0; i < csv->count; i++) {
        if (strcmp(csv->fields[column], csv->names[i]) != 0)
            continue;
        if (csv->place[i] != SIZE_MAX)
            return tf_csv_fail(csv, err, "two columns are called %s", csv->names[i]);
        csv->place[i] = column;
    }
    return 0;
}

static int fail_missing(const struct tf_csv *csv, const char *name, struct tf_error *err)
{
    const char *near = tf_nearest(name, (const char *const *)csv->fields, csv->columns);
    if (near)
        return tf_csv_fail(csv, err, "the header has no column %s; is \"%s\" meant to be it?", name, near);
    return tf_csv_fail(csv, err, "the header has no column %s, which must be there", name);
}

static int read_header(struct tf_csv *csv, size_t required, struct tf_error *err)
{
    static const char mark[] = "\xef\xbb\xbf"; /* some programs begin UTF-8 files with it */
    int got = read_line(csv, err);
    if (got < 0)
        return -1;
    if (got == 0)
        return tf_error_set(err, TF_ERR_INVALID, "%s is empty: it should begin with a header line",
                            csv->path);
    if (tf_starts_with(csv->text, mark))
        memmove(csv->text, csv->text + strlen(mark), strlen(csv->text) - strlen(mark) + 1);
    if (split(csv, err))
        return -1;
    for (size_t i = 0; i < csv->columns; i++)
        if (bind(csv, i, err))
            return -1;
    for (size_t i = 0; i < required; i++)
        if (csv->place[i] == SIZE_MAX)
            return fail_missing(csv, csv->names[i], err);
    return 0;
}

static gzFile open_file(const char *path, struct tf_error *err)
{
    int fd = tf_conf_open(path, TF_CONF_PATIENCE);
    if (fd < 0 && errno == ETIMEDOUT) {
        tf_error_set(err, TF_ERR_IO, "%s is a pipe, and nobody writes to it", path);
        return NULL;
    }
    if (fd < 0) {
        tf_error_errno(err, errno == ENOENT ? TF_ERR_NOT_FOUND : TF_ERR_IO, errno, "cannot open %s", path);
        return NULL;
    }
    gzFile file = gzdopen(fd, "rb");
    if (!file) {
        close(fd);
        tf_error_set(err, TF_ERR_IO, "cannot open %s: out of memory", path);
    }
    return file;
}

struct tf_csv *tf_csv_open(const char *path, const char *const *names, size_t count, size_t required,
                           struct tf_error *err)
{
    gzFile file = open_file(path, err);
    if (!file)
        return NULL;
    struct tf_csv *csv = tf_calloc(1, sizeof *csv);
    csv->path = tf_strdup(path);
    csv->file = file;
    csv->names = names;
    csv->count = count;
    for (size_t i = 0; i < count; i++)
        csv->place[i] = SIZE_MAX;
    if (read_header(csv, required, err)) {
        tf_csv_close(csv);
        return NULL;
    }
    return csv;
}

void tf_csv_close(struct tf_csv *csv)
{
    if (!csv)
        return;
    struct seen *seen, *next;
    HASH_ITER (hh, csv->seen, seen, next) {
        HASH_DEL(csv->seen, seen);
        free(seen->key);
        free(seen);
    }
    gzclose(csv->file);
    free(csv->path);
    free(csv);
}

/* ---- rows ---- */

int tf_csv_next(struct tf_csv *csv, struct tf_error *err)
{
    size_t columns = csv->columns;
    int got = read_line(csv, err);
    while (got > 0 && csv->text[0] == '\0')
        got = read_line(csv, err);
    if (got <= 0)
        return got;
    if (split(csv, err))
        return -1;
    if (csv->columns == columns)
        return 1;
    size_t found = csv->columns;
    csv->columns = columns;
    return tf_csv_fail(csv, err, "%zu columns, but the header has %zu", found, columns);
}

int64_t tf_csv_line(const struct tf_csv *csv)
{
    return csv->line;
}

const char *tf_csv_text(const struct tf_csv *csv, size_t column)
{
    size_t place = csv->place[column];
    return place == SIZE_MAX ? "" : csv->fields[place];
}

bool tf_csv_has(const struct tf_csv *csv, size_t column)
{
    return tf_csv_text(csv, column)[0] != '\0';
}

int tf_csv_unique(struct tf_csv *csv, const char *what, const char *key, struct tf_error *err)
{
    struct seen *seen = NULL;
    HASH_FIND_STR(csv->seen, key, seen);
    if (seen)
        return tf_csv_fail(csv, err, "%s \"%s\" is on line %" PRId64 " already", what, key, seen->line);
    seen = tf_calloc(1, sizeof *seen);
    seen->key = tf_strdup(key);
    seen->line = csv->line;
    HASH_ADD_KEYPTR(hh, csv->seen, seen->key, strlen(seen->key), seen);
    return 0;
}

/* "12", "12.5", "0.4600"; NULL if it is no such number below 10^15. */
static const char *decimal(const char *s, int64_t *thousandths)
{
    int64_t whole = 0, part = 0, unit = 100;
    const char *begin = s;
    for (; *s >= '0' && *s <= '9'; s++) {
        whole = whole * 10 + (*s - '0');
        if (whole >= INT64_C(1000000000000000))
            return NULL;
    }
    if (s == begin)
        return NULL;
    if (*s == '.') {
        begin = ++s;
        for (; *s >= '0' && *s <= '9'; s++, unit /= 10)
            part += unit * (*s - '0');
        if (s == begin)
            return NULL;
    }
    *thousandths = whole * 1000 + part;
    return s;
}

int tf_csv_thousandths(const struct tf_csv *csv, size_t column, int64_t absent, int64_t max, int64_t *out,
                       struct tf_error *err)
{
    const char *text = tf_csv_text(csv, column), *name = csv->names[column];
    if (*text == '\0') {
        *out = absent;
        return 0;
    }
    const char *end = decimal(text, out);
    if (!end || *end != '\0')
        return tf_csv_fail(csv, err, "column %s: \"%.40s\" is not a number like 12 or 12.5", name, text);
    if (*out > max)
        return tf_csv_fail(csv, err, "column %s: %.40s is more than %" PRId64, name, text, max / 1000);
    return 0;
}

int tf_csv_whole(const struct tf_csv *csv, size_t column, int64_t absent, int64_t min, int64_t max,
                 int64_t *out, struct tf_error *err)
{
    int64_t thousandths = 0;
    if (tf_csv_thousandths(csv, column, absent * 1000, max * 1000, &thousandths, err))
        return -1;
    if (thousandths % 1000 != 0 || thousandths < min * 1000)
        return tf_csv_fail(csv, err, "column %s: %.40s is not a whole number from %" PRId64 " to %" PRId64,
                           csv->names[column], tf_csv_text(csv, column), min, max);
    *out = thousandths / 1000;
    return 0;
}
