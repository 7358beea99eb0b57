/* SPDX-License-Identifier: Apache-2.0 */
/* Text records and atomic replacement of files. What the keys mean is left to folder.c and spec.c. */
#include "subcluster/engine/state/record.h"

#include "common/base/alloc.h"
#include "common/base/cleanup.h"
#include "common/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

static const char format_line[] = "tidefed 1\n";
static const char end_line[] = "end\n";

void tf_record_put(struct tf_buf *record, const char *key, const char *value)
{
    tf_buf_str(record, key);
    tf_buf_char(record, ' ');
    for (const char *p = value; *p; p++) {
        unsigned char c = (unsigned char)*p;
        if (c < 0x20 || c == 0x7f || c == '%')
            tf_buf_fmt(record, "%%%02X", c);
        else
            tf_buf_char(record, *p);
    }
    tf_buf_char(record, '\n');
}

void tf_record_put_int(struct tf_buf *record, const char *key, int64_t value)
{
    tf_buf_fmt(record, "%s %" PRId64 "\n", key, value);
}

static int write_all(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, bytes, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        bytes += n;
        len -= (size_t)n;
    }
    return 0;
}

/* The temporary name carries the writer's pid: two daemons may write into one folder. */
int tf_file_save(int folder, const char *name, const void *bytes, size_t len, bool durable,
                 struct tf_error *err)
{
    char temporary[80];
    snprintf(temporary, sizeof temporary, ".%s.%d", name, (int)getpid());
    int fd = openat(folder, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return tf_error_errno(err, TF_ERR_IO, errno, "cannot create the file %s", temporary);
    bool written = write_all(fd, bytes, len) == 0 && (!durable || fsync(fd) == 0);
    int why = errno;
    close(fd);
    if (written && renameat(folder, temporary, folder, name) == 0 && (!durable || fsync(folder) == 0))
        return 0;
    why = written ? errno : why;
    unlinkat(folder, temporary, 0);
    return tf_error_errno(err, TF_ERR_IO, why, "cannot write the file %s", name);
}

int tf_record_save(int folder, const char *name, const struct tf_buf *record, bool durable,
                   struct tf_error *err)
{
    TF_AUTO_BUF whole = TF_BUF_INIT;
    tf_buf_str(&whole, format_line);
    tf_buf_add(&whole, tf_buf_text(record), record->len);
    tf_buf_str(&whole, end_line);
    if (whole.len > TF_RECORD_MAX)
        return tf_error_set(err, TF_ERR_TOO_LARGE, "the record %s would have %zu bytes, more than %d", name,
                            whole.len, TF_RECORD_MAX);
    return tf_file_save(folder, name, whole.data, whole.len, durable, err);
}

static int read_all(int fd, const char *name, struct tf_buf *out, struct tf_error *err)
{
    char chunk[4096];
    for (;;) {
        ssize_t n = read(fd, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return tf_error_errno(err, TF_ERR_IO, errno, "cannot read the record %s", name);
        if (n == 0)
            return 0;
        if (out->len + (size_t)n > TF_RECORD_MAX)
            return tf_error_set(err, TF_ERR_INVALID, "the record %s is larger than %d bytes", name,
                                TF_RECORD_MAX);
        tf_buf_add(out, chunk, (size_t)n);
    }
}

static bool whole(const struct tf_buf *text)
{
    size_t head = sizeof format_line - 1, tail = sizeof end_line - 1;
    if (text->len < head + tail || strlen(tf_buf_text(text)) != text->len)
        return false;
    return memcmp(text->data, format_line, head) == 0 &&
           memcmp(text->data + text->len - tail, end_line, tail) == 0 &&
           text->data[text->len - tail - 1] == '\n';
}

int tf_record_load(int folder, const char *name, struct tf_record_reader *record, struct tf_error *err)
{
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 && errno == ENOENT)
        return tf_error_set(err, TF_ERR_NOT_FOUND, "there is no record %s", name);
    if (fd < 0)
        return tf_error_errno(err, TF_ERR_IO, errno, "cannot open the record %s", name);
    TF_AUTO_BUF text = TF_BUF_INIT;
    int rc = read_all(fd, name, &text, err);
    close(fd);
    if (rc)
        return -1;
    if (!whole(&text))
        return tf_error_set(err, TF_ERR_INVALID, "the record %s is torn, or not of the format \"tidefed 1\"",
                            name);
    text.data[text.len - (sizeof end_line - 1)] = '\0';
    record->text = tf_buf_take(&text);
    record->next = record->text + (sizeof format_line - 1);
    return 0;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static void unescape(char *s)
{
    char *to = s;
    for (; *s; s++) {
        int high = *s == '%' ? hex_digit(s[1]) : -1;
        int low = high >= 0 ? hex_digit(s[2]) : -1;
        if (low >= 0 && (high || low)) {
            *to++ = (char)(high * 16 + low);
            s += 2;
        } else {
            *to++ = *s;
        }
    }
    *to = '\0';
}

bool tf_record_next(struct tf_record_reader *record, const char **key, const char **value)
{
    if (!record->next || !*record->next)
        return false;
    char *line = record->next;
    char *end = strchr(line, '\n');
    if (end) {
        *end = '\0';
        record->next = end + 1;
    } else {
        record->next = line + strlen(line);
    }
    char *gap = strchr(line, ' ');
    if (gap) {
        *gap = '\0';
        unescape(gap + 1);
    }
    *key = line;
    *value = gap ? gap + 1 : "";
    return true;
}

void tf_record_reader_release(struct tf_record_reader *record)
{
    free(record->text);
    *record = (struct tf_record_reader){0};
}

bool tf_record_int(const char *value, int64_t min, int64_t max, int64_t *out)
{
    return tf_parse_int64(value, min, max, out, NULL) == 0;
}
