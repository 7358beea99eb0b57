/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_CONF_CONF_H
#define TF_CONF_CONF_H

#include "common/base/buf.h"
#include "common/base/complaint.h"
#include "common/base/error.h"
#include "common/base/row.h"

/* YAML (and JSON, which is YAML) to structs by table rows. Strict, so that a slip of the pen is found and not
 * obeyed: unknown and duplicate keys, aliases, anchors and tags are refused; depth, size and counts are
 * bounded while the text is read; texts are UTF-8 without NUL. What is wrong is told with line, column and
 * path, up to TF_CONF_PROBLEMS_MAX of them at a time.
 *
 *     struct tf_conf_problems problems = {0};
 *     struct tf_conf *conf = tf_conf_parse(text, len, NULL, &problems);
 *     for (size_t i = 0; i < tf_conf_count(conf); i++)
 *         if (tf_conf_read(tf_conf_doc(conf, i), &tf_job_manifest_table, &manifest, &problems) == 0)
 *             ...
 *     tf_conf_problems_print(&problems, "job.yaml", &out);
 */

enum {
    TF_CONF_PROBLEMS_MAX = 20,
    TF_CONF_DEPTH_MAX = 16,
    TF_CONF_BYTES_MAX = 1024 * 1024, /* of one document */
    TF_CONF_DOCS_MAX = 1000,
};

struct tf_conf_options {
    size_t max_bytes; /* of one document; 0 = TF_CONF_BYTES_MAX; the whole text may have 16 times that */
    int max_depth;    /* of nested mappings and lists; 0 = TF_CONF_DEPTH_MAX, which is also the most */
};

struct tf_conf_problem {
    int line, column; /* from 1; 0 = not known */
    char *path;       /* "spec.elastic.min", "" when it is no matter of one key */
    char *text;
};
/* Zero-initialise. Sorted by place. */
struct tf_conf_problems {
    struct tf_conf_problem *items;
    size_t count, cap;
    bool more; /* there were more than are kept */
};

void tf_conf_problems_release(struct tf_conf_problems *problems);
void tf_conf_problems_add(struct tf_conf_problems *problems, int line, int column, const char *path,
                          const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* One line each: `FILE:LINE:COLUMN: PATH: TEXT`. */
void tf_conf_problems_print(const struct tf_conf_problems *problems, const char *file, struct tf_buf *buf);
/* The same in an error, with as many as fit. Returns -1. */
int tf_conf_problems_error(const struct tf_conf_problems *problems, const char *file, struct tf_error *err);

struct tf_conf;
struct tf_conf_doc;

/* The documents of a text; empty ones do not count. The text is copied as far as needed. options may be NULL.
 * NULL, with a problem added, if the text is no YAML or breaks a limit. */
struct tf_conf *tf_conf_parse(const char *text, size_t len, const struct tf_conf_options *options,
                              struct tf_conf_problems *problems);
void tf_conf_destroy(struct tf_conf *conf);       /* NULL is fine */
size_t tf_conf_count(const struct tf_conf *conf); /* of NULL: 0 */
/* Borrowed until conf is destroyed. */
const struct tf_conf_doc *tf_conf_doc(const struct tf_conf *conf, size_t i);

/* The text of the scalar at the path, e.g. "kind" to choose the table; NULL if there is none. Borrowed. */
const char *tf_conf_text(const struct tf_conf_doc *doc, const char *path);
/* Where the path is in the document: the value, or the key of a mapping or list; when the path was not
 * written, the nearest that was above it. So the field path of a later complaint becomes a line and a column.
 */
void tf_conf_locate(const struct tf_conf_doc *doc, const char *path, int *line, int *column);
/* Adds each complaint at its place in the document. */
void tf_conf_complain(const struct tf_conf_doc *doc, const struct tf_complaints *complaints,
                      struct tf_conf_problems *problems);

/* Fills object (raw memory, owned by the caller afterwards: tf_table_release) with the defaults, then with
 * what the document says, settles it, and checks it as tf_table_check does. -1, with problems added and
 * object zeroed, if anything is wrong. */
int tf_conf_read(const struct tf_conf_doc *doc, const struct tf_table *table, void *object,
                 struct tf_conf_problems *problems);
/* The same for a text of one document; an empty text is an empty mapping. */
int tf_conf_read_text(const char *text, size_t len, const struct tf_conf_options *options,
                      const struct tf_table *table, void *object, struct tf_conf_problems *problems);
/* The same for a file; "-" is standard input. All problems that fit are in the error. */
int tf_conf_load(const char *path, const struct tf_table *table, void *object, struct tf_error *err);
/* For --check-config: that the file at path is right, and a note for each key that it sets in vain. */
void tf_conf_right(const char *path, const struct tf_table *table, const void *object, struct tf_buf *buf);
/* The bytes of a file of at most max bytes; "-" is standard input. */
int tf_conf_read_file(const char *path, size_t max, struct tf_buf *buf, struct tf_error *err);

#endif
