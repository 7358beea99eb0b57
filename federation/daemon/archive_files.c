/* SPDX-License-Identifier: Apache-2.0 */
/* Lines, files and folders of the archive. Who writes when, and what is shown of it, is archive.c's and
 * archive_read.c's. */
#include "federation/daemon/archive_files.h"

#include "common/base/base64.h"
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "common/base/vec.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    FILE_LINES = 10000,
    BLOCK_BYTES = 256 << 10,
    /* A record in base64, and what stands before it. */
    LINE_BYTES_MAX = TF_RECORD_BYTES_MAX / 3 * 4 + 1024,
};

/* ---- lines ---- */

void archive_line_make(struct tf_buf *out, int64_t now_ms, struct tf_bytes record, const char *tenant,
                       const char *name)
{
    TF_AUTO_BUF rest = TF_BUF_INIT;
    tf_buf_fmt(&rest, "%s/%s ", tenant, name);
    tf_base64_encode(&rest, record);
    tf_buf_fmt(out, "%" PRId64 " %zu ", now_ms, rest.len);
    tf_buf_add(out, rest.data, rest.len);
    tf_buf_char(out, '\n');
}

/* Cuts what is before the first mark off text. */
static bool cut(struct tf_bytes *text, char mark, struct tf_bytes *before)
{
    const char *start = text->data;
    const char *at = text->len ? memchr(start, mark, text->len) : NULL;
    if (!at)
        return false;
    *before = (struct tf_bytes){start, (size_t)(at - start)};
    *text = (struct tf_bytes){at + 1, text->len - before->len - 1};
    return true;
}

static bool cut_number(struct tf_bytes *text, int64_t *number)
{
    struct tf_bytes word;
    if (!cut(text, ' ', &word) || word.len >= 20)
        return false;
    TF_AUTO_FREE char *copy = tf_strndup(word.data, word.len);
    return tf_parse_int64(copy, 0, INT64_MAX, number, NULL) == 0;
}

bool archive_line_parse(struct tf_bytes text, struct archive_line *out)
{
    int64_t len;
    if (!cut_number(&text, &out->archived_ms) || !cut_number(&text, &len) || (uint64_t)len != text.len)
        return false;
    if (!cut(&text, '/', &out->tenant) || !cut(&text, ' ', &out->name))
        return false;
    out->base64 = text;
    return true;
}

/* ---- the folder ---- */

struct full_file {
    uint64_t number;
    int64_t lines;
};
struct full_files {
    struct full_file *items;
    size_t count, cap;
};

static int by_number(const void *a, const void *b)
{
    const struct full_file *x = a, *y = b;
    return x->number < y->number ? -1 : x->number > y->number;
}

static bool parse_full(const char *name, struct full_file *out)
{
    char rest;
    return sscanf(name, "archive-%" SCNu64 "-%" SCNd64 "%c", &out->number, &out->lines, &rest) == 2 &&
           out->lines >= 0;
}

/* The full files, the oldest first. A folder that is not there has none. */
static int list_full(const char *folder, struct full_files *out, struct tf_error *err)
{
    DIR *dir = opendir(folder);
    if (!dir && errno == ENOENT)
        return 0;
    if (!dir)
        return tf_error_errno(err, TF_ERR_IO, errno, "%s: the archive cannot be listed", folder);
    for (const struct dirent *entry; (entry = readdir(dir));) {
        struct full_file file;
        if (parse_full(entry->d_name, &file))
            tf_vec_push(out, file);
    }
    closedir(dir);
    if (out->count)
        qsort(out->items, out->count, sizeof *out->items, by_number);
    return 0;
}

static char *full_path(const char *folder, const struct full_file *file)
{
    return tf_asprintf("%s/archive-%08" PRIu64 "-%" PRId64, folder, file->number, file->lines);
}

static char *present_path(const char *folder)
{
    return tf_asprintf("%s/archive", folder);
}

/* ---- writing ---- */

static int write_all(int fd, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, data, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        data += n;
        len -= (size_t)n;
    }
    return 0;
}

/* Counts the lines, and gives the last one its end. */
static int take_stock(struct archive_writer *writer)
{
    TF_AUTO_FREE char *block = tf_malloc(BLOCK_BYTES);
    char last = '\n';
    off_t at = 0;
    ssize_t n;
    while ((n = pread(writer->fd, block, BLOCK_BYTES, at)) > 0) {
        for (ssize_t i = 0; i < n; i++)
            writer->lines += block[i] == '\n';
        last = block[n - 1];
        at += n;
    }
    if (n < 0)
        return -1;
    if (last == '\n')
        return 0;
    writer->lines++;
    return write_all(writer->fd, "\n", 1);
}

/* So that the names themselves are there after a crash. */
static int sync_folder(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int failed = fd < 0 ? -1 : fsync(fd);
    if (fd >= 0)
        close(fd);
    return failed;
}

static int open_present(struct archive_writer *writer, struct tf_error *err)
{
    TF_AUTO_FREE char *path = present_path(writer->folder);
    writer->lines = 0;
    writer->fd = open(path, O_CREAT | O_RDWR | O_APPEND | O_CLOEXEC, 0600);
    if (writer->fd < 0)
        return tf_error_errno(err, TF_ERR_IO, errno, "%s: the archive of finished jobs cannot be opened",
                              path);
    if (take_stock(writer) == 0 && sync_folder(writer->folder) == 0)
        return 0;
    return tf_error_errno(err, TF_ERR_IO, errno, "%s: the archive of finished jobs cannot be written", path);
}

int archive_writer_open(struct archive_writer *writer, const char *folder, struct tf_error *err)
{
    *writer = (struct archive_writer){.folder = tf_strdup(folder), .fd = -1};
    if (open_present(writer, err) == 0)
        return 0;
    archive_writer_release(writer);
    return -1;
}

void archive_writer_release(struct archive_writer *writer)
{
    if (writer->fd >= 0)
        close(writer->fd);
    free(writer->folder);
    *writer = (struct archive_writer){.fd = -1};
}

int archive_writer_add(struct archive_writer *writer, struct tf_bytes lines, int64_t count,
                       struct tf_error *err)
{
    if (writer->fd < 0 && open_present(writer, err)) /* a new file could not be made before */
        return -1;
    off_t start = lseek(writer->fd, 0, SEEK_END);
    if (start >= 0 && write_all(writer->fd, lines.data, lines.len) == 0 && fdatasync(writer->fd) == 0) {
        writer->lines += count;
        return 0;
    }
    tf_error_errno(err, TF_ERR_IO, errno, "%s: the archive of finished jobs cannot be written",
                   writer->folder);
    if (start >= 0 && ftruncate(writer->fd, start))
        tf_error_wrap(err, "and what was written of it cannot be cut back (%s)", strerrordesc_np(errno));
    return -1;
}

static int64_t file_lines(const struct archive_limits *limits)
{
    int64_t tenth = limits->max / 10;
    return limits->max == 0 || tenth > FILE_LINES ? FILE_LINES : tenth > 1 ? tenth : 1;
}

static int turn_over(struct archive_writer *writer, uint64_t number, struct tf_error *err)
{
    const struct full_file full = {number, writer->lines};
    TF_AUTO_FREE char *from = present_path(writer->folder);
    TF_AUTO_FREE char *to = full_path(writer->folder, &full);
    if (rename(from, to))
        return tf_error_errno(err, TF_ERR_IO, errno, "%s cannot be renamed to %s", from, to);
    close(writer->fd);
    return open_present(writer, err);
}

static bool is_older(const char *path, int64_t than_ms)
{
    struct stat st;
    return stat(path, &st) == 0 && (int64_t)st.st_mtim.tv_sec * 1000 < than_ms;
}

static int drop_oldest(const struct archive_writer *writer, const struct full_files *files,
                       const struct archive_limits *limits, int64_t now_ms, struct tf_error *err)
{
    int64_t total = writer->lines;
    tf_vec_each (file, files)
        total += file->lines;
    tf_vec_each (file, files) {
        TF_AUTO_FREE char *path = full_path(writer->folder, file);
        if (!(limits->max > 0 && total > limits->max) && !is_older(path, now_ms - limits->keep_ms))
            return 0;
        if (unlink(path))
            return tf_error_errno(err, TF_ERR_IO, errno, "%s cannot be removed", path);
        total -= file->lines;
    }
    return 0;
}

int archive_writer_trim(struct archive_writer *writer, const struct archive_limits *limits, int64_t now_ms,
                        struct tf_error *err)
{
    struct full_files files = {0};
    int failed = list_full(writer->folder, &files, err);
    if (!failed && writer->fd >= 0 && writer->lines >= file_lines(limits))
        failed = turn_over(writer, files.count ? files.items[files.count - 1].number + 1 : 1, err);
    files.count = 0;
    failed =
        failed || list_full(writer->folder, &files, err) || drop_oldest(writer, &files, limits, now_ms, err);
    tf_vec_release(&files);
    return failed ? -1 : 0;
}

/* ---- reading ---- */

struct archive_reader {
    char *folder;
    int fd;
    uint64_t number; /* of the file that is open, or was last; the one that grows has the next free one */
    off_t start;     /* of the window in the file */
    struct tf_buf window;
    size_t end; /* in the window: the next line ends there, with its '\n'; 0 = all of it was given */
    size_t bytes;
};

/* The file of that number, or the one before it that is there; its size. 0: none. */
static int open_at_or_before(struct archive_reader *reader, uint64_t number, off_t *size,
                             struct tf_error *err)
{
    struct full_files files = {0};
    TF_AUTO_FREE char *path = NULL;
    if (list_full(reader->folder, &files, err))
        return -1;
    uint64_t next = files.count ? files.items[files.count - 1].number + 1 : 1;
    if (number >= next) {
        path = present_path(reader->folder);
        reader->number = next;
    }
    for (size_t i = files.count; i > 0 && !path; i--)
        if (files.items[i - 1].number <= number) {
            path = full_path(reader->folder, &files.items[i - 1]);
            reader->number = files.items[i - 1].number;
        }
    tf_vec_release(&files);
    if (!path)
        return 0;
    reader->fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (reader->fd < 0 || fstat(reader->fd, &st)) {
        int why = errno;
        if (reader->fd >= 0)
            close(reader->fd);
        reader->fd = -1;
        return why == ENOENT ? 2 : tf_error_errno(err, TF_ERR_IO, why, "%s: cannot be read", path);
    }
    *size = st.st_size;
    return 1;
}

/* The same, when the files are renamed or dropped under its eyes. */
static int open_file(struct archive_reader *reader, uint64_t number, off_t *size, struct tf_error *err)
{
    int got = 2;
    for (int i = 0; got == 2 && i < 3; i++)
        got = open_at_or_before(reader, number, size, err);
    if (got != 2)
        return got;
    return number > 1 && reader->number > 1 ? open_file(reader, reader->number - 1, size, err) : 0;
}

static void stand_at(struct archive_reader *reader, off_t end)
{
    reader->start = end;
    tf_buf_clear(&reader->window);
    reader->end = 0;
}

static int parse_token(const char *token, uint64_t *number, off_t *end, struct tf_error *err)
{
    char rest;
    uint64_t offset;
    if (sscanf(token, "%" SCNu64 ":%" SCNu64 "%c", number, &offset, &rest) != 2 || offset > INT64_MAX)
        return tf_error_set(err, TF_ERR_INVALID, "page_token \"%.100s\" did not come from a page before",
                            token);
    *end = (off_t)offset;
    return 0;
}

struct archive_reader *archive_reader_open(const char *folder, const char *token, struct tf_error *err)
{
    uint64_t number = UINT64_MAX;
    off_t end = -1, size = 0;
    if (token && parse_token(token, &number, &end, err))
        return NULL;
    struct archive_reader *reader = tf_calloc(1, sizeof *reader);
    reader->folder = tf_strdup(folder);
    reader->fd = -1;
    int got = open_file(reader, number, &size, err);
    if (got < 0) {
        archive_reader_destroy(reader);
        return NULL;
    }
    bool same = token && reader->number == number && end <= size;
    stand_at(reader, got ? (same ? end : size) : 0);
    return reader;
}

void archive_reader_destroy(struct archive_reader *reader)
{
    if (!reader)
        return;
    if (reader->fd >= 0)
        close(reader->fd);
    tf_buf_release(&reader->window);
    free(reader->folder);
    free(reader);
}

/* Puts the block before the window in front of what is not given yet. */
static int read_before(struct archive_reader *reader, struct tf_error *err)
{
    size_t len = reader->start < BLOCK_BYTES ? (size_t)reader->start : BLOCK_BYTES;
    TF_AUTO_BUF joined = TF_BUF_INIT;
    tf_buf_reserve(&joined, len + reader->end);
    for (size_t done = 0; done < len;) {
        ssize_t n = pread(reader->fd, joined.data + done, len - done, reader->start - (off_t)(len - done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return tf_error_errno(err, TF_ERR_IO, n < 0 ? errno : EIO, "%s: the archive cannot be read",
                                  reader->folder);
        done += (size_t)n;
    }
    joined.len = len;
    tf_buf_add(&joined, reader->window.data, reader->end);
    tf_buf_release(&reader->window);
    reader->window = joined;
    joined = (struct tf_buf)TF_BUF_INIT;
    reader->start -= (off_t)len;
    reader->end = reader->window.len;
    reader->bytes += len;
    return 0;
}

/* Where the line that ends at end begins; false if that is before the window. */
static bool find_begin(const struct archive_reader *reader, size_t *begin)
{
    const char *data = reader->window.data;
    size_t last = data[reader->end - 1] == '\n' ? reader->end - 1 : reader->end;
    for (size_t i = last; i > 0; i--)
        if (data[i - 1] == '\n') {
            *begin = i;
            return true;
        }
    *begin = 0;
    return reader->start == 0;
}

static struct tf_bytes give(struct archive_reader *reader, size_t begin)
{
    const char *data = reader->window.data + begin;
    size_t len = reader->end - begin;
    reader->end = begin;
    return (struct tf_bytes){data, len - 1};
}

/* Opens the file before this one. */
static int step_back(struct archive_reader *reader, struct tf_error *err)
{
    off_t size = 0;
    close(reader->fd);
    reader->fd = -1;
    int got = reader->number > 1 ? open_file(reader, reader->number - 1, &size, err) : 0;
    if (got > 0)
        stand_at(reader, size);
    return got;
}

int archive_reader_prev(struct archive_reader *reader, struct tf_bytes *line, struct tf_error *err)
{
    size_t begin = 0;
    while (reader->fd >= 0) {
        bool found = reader->end > 0 && find_begin(reader, &begin);
        if (!found &&
            reader->end > 2 * LINE_BYTES_MAX) { /* no line: what is before its end is skipped, too */
            reader->window.len = reader->end = LINE_BYTES_MAX;
            continue;
        }
        if (found && reader->window.data[reader->end - 1] != '\n') { /* is being written at this moment */
            reader->end = begin;
            continue;
        }
        if (found) {
            *line = give(reader, begin);
            return 1;
        }
        int got = reader->start > 0 ? read_before(reader, err) : step_back(reader, err);
        if (got < 0)
            return -1;
    }
    return 0;
}

size_t archive_reader_bytes(const struct archive_reader *reader)
{
    return reader->bytes;
}

char *archive_reader_token(const struct archive_reader *reader)
{
    return tf_asprintf("%" PRIu64 ":%" PRId64, reader->number, (int64_t)reader->start + (int64_t)reader->end);
}
