/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_TRACE_CSV_H
#define TF_TRACE_CSV_H

#include "common/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads a CSV file, plain or gzipped, line by line: UTF-8, one header line, no quoting, columns found by the
 * names in the header, in any order; columns that nobody asks for are passed over. Inside of this folder. */
enum { TF_CSV_LINE_MAX = 4096, TF_CSV_COLUMNS_MAX = 64 };

struct tf_csv;

/* names: the columns that the caller knows, the first `required` of which must be there. Borrowed until
 * tf_csv_close. NULL and *err if the file cannot be opened, or its header is wrong. */
struct tf_csv *tf_csv_open(const char *path, const char *const *names, size_t count, size_t required,
                           struct tf_error *err);
void tf_csv_close(struct tf_csv *csv); /* NULL is fine */
/* The next line that is not empty: 1, 0 at the end, -1 and *err. */
int tf_csv_next(struct tf_csv *csv, struct tf_error *err);
int64_t tf_csv_line(const struct tf_csv *csv); /* number of this line, from 1 */
/* The text of a column of this line, "" if it is empty or not there. Borrowed until the next line. */
const char *tf_csv_text(const struct tf_csv *csv, size_t column);
bool tf_csv_has(const struct tf_csv *csv, size_t column); /* not empty */
/* A decimal number in thousandths, rounded down: "0.46" is 460. Empty is `absent`. -1 and *err, naming the
 * column, if it is no number in [0, max] (thousandths). */
int tf_csv_thousandths(const struct tf_csv *csv, size_t column, int64_t absent, int64_t max, int64_t *out,
                       struct tf_error *err);
/* The same for whole numbers from min to max; 3.0 is one. */
int tf_csv_whole(const struct tf_csv *csv, size_t column, int64_t absent, int64_t min, int64_t max,
                 int64_t *out, struct tf_error *err);
/* -1 and *err if an earlier line of this file had the same key; what names it in the error. */
int tf_csv_unique(struct tf_csv *csv, const char *what, const char *key, struct tf_error *err);
/* Sets *err to the text with "FILE:LINE: " before it. Returns -1. */
int tf_csv_fail(const struct tf_csv *csv, struct tf_error *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
