/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_ENGINE_RECORD_H
#define TF_ENGINE_RECORD_H

#include "common/base/buf.h"
#include "common/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The small text files of a state folder. One "key value" a line after a line that names the format, and a
 * last line "end", by which a torn file is known; in values, control characters and '%' are written as %XX,
 * so any bytes but NUL are fine. Keys may repeat. Files are replaced by rename: a reader sees the old or the
 * new one, never half of either. */

enum { TF_RECORD_MAX = 4 * 1024 * 1024 };

/* Appends a line to a record being made (start with an empty buf). */
void tf_record_put(struct tf_buf *record, const char *key, const char *value);
void tf_record_put_int(struct tf_buf *record, const char *key, int64_t value);

/* Replaces the file `name` in the folder. durable: on the disk when this returns, the name too. */
int tf_record_save(int folder, const char *name, const struct tf_buf *record, bool durable,
                   struct tf_error *err);

/* A record being read, line by line. Zero-initialise. */
struct tf_record_reader {
    char *text; /* owned */
    char *next;
};
/* TF_ERR_NOT_FOUND if there is no such file; TF_ERR_INVALID if it is torn, too large or of another format. */
int tf_record_load(int folder, const char *name, struct tf_record_reader *record, struct tf_error *err);
/* The next line, borrowed until the release; false at the end. */
bool tf_record_next(struct tf_record_reader *record, const char **key, const char **value);
void tf_record_reader_release(struct tf_record_reader *record);

/* The value as a number in [min, max]; false if it is none. */
bool tf_record_int(const char *value, int64_t min, int64_t max, int64_t *out);

/* Replaces the file `name` by these bytes, as they are. */
int tf_file_save(int folder, const char *name, const void *bytes, size_t len, bool durable,
                 struct tf_error *err);

#endif
