/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDERATION_DAEMON_ARCHIVE_FILES_H
#define TF_FEDERATION_DAEMON_ARCHIVE_FILES_H

#include "common/base/buf.h"
#include "common/base/bytes.h"
#include "common/base/error.h"
#include "common/model/record.h"

/* The files of the archive of finished jobs: one that grows, `archive`, and those that were full before it,
 * `archive-NUMBER-LINES`, the oldest with the lowest number. A line is a job: when it was archived (ms), how
 * long the rest of the line is, its name, and its record as the store had it, in base64:
 *
 *     1772366400000 388 search/rank CiQKBnNlYXJjaBIE...
 *
 * so that a torn line is recognised, wherever it is torn, and people can grep. One process writes a folder;
 * any thread may read it meanwhile. */

/* ---- lines ---- */

void archive_line_make(struct tf_buf *out, int64_t now_ms, struct tf_bytes record, const char *tenant,
                       const char *name);

struct archive_line {
    int64_t archived_ms;
    struct tf_bytes tenant, name, base64; /* borrowed from the text */
};
/* text is without its '\n'. False if it is torn, or no such line at all. */
bool archive_line_parse(struct tf_bytes text, struct archive_line *out);

/* ---- writing ---- */

struct archive_limits {
    int64_t keep_ms;
    int64_t max; /* jobs; 0 = no limit */
};

struct archive_writer {
    char *folder;
    int fd;
    int64_t lines; /* in the file that grows */
};

/* Ends the line of a crash, so that the next one does not become a part of it. The folder exists. writer is
 * initialised here, and owned by the caller after success. */
int archive_writer_open(struct archive_writer *writer, const char *folder, struct tf_error *err);
void archive_writer_release(struct archive_writer *writer);
/* Appends whole lines, and returns when they are on the disk. On failure nothing of them is there. */
int archive_writer_add(struct archive_writer *writer, struct tf_bytes lines, int64_t count,
                       struct tf_error *err);
/* Begins a new file when the present one is full, and drops the oldest files beyond the limits. */
int archive_writer_trim(struct archive_writer *writer, const struct archive_limits *limits, int64_t now_ms,
                        struct tf_error *err);

/* ---- reading, the latest line first ---- */

struct archive_reader;

/* token: where an earlier reader stopped, NULL = at the latest line. NULL with *err: TF_ERR_INVALID, the
 * token is none. A folder without an archive is an empty one. */
struct archive_reader *archive_reader_open(const char *folder, const char *token, struct tf_error *err);
void archive_reader_destroy(struct archive_reader *reader); /* NULL is fine */
/* 1: the line before, without its '\n', borrowed until the next call; 0: there is none; -1 with *err. One
 * that is being written is not there yet; one that is longer than any that was written is left out. */
int archive_reader_prev(struct archive_reader *reader, struct tf_bytes *line, struct tf_error *err);
/* Bytes read so far. */
size_t archive_reader_bytes(const struct archive_reader *reader);
/* Goes on before the last line that was given; owned by the caller. */
char *archive_reader_token(const struct archive_reader *reader);

#endif
