/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDCTL_DESCRIBE_H
#define TF_FEDCTL_DESCRIBE_H

#include "tools/fedctl/fedctl.h"

/* A description, for people: lines of "Key:  value", then tables and blocks with a title. Texts come from
 * anybody: control characters are taken out. */

void describe_field(struct tf_buf *buf, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void describe_text(struct tf_buf *buf, const char *key, const char *text); /* no line if there is none */
void describe_time(struct tf_buf *buf, const char *key, struct tf_wall at, struct tf_wall now); /* the same */
void describe_labels(struct tf_buf *buf, const struct tf_pairs *labels);
/* Lines of text, indented. */
void describe_block(struct tf_buf *buf, const char *title, const char *text);
/* Nothing if it has no rows. It is released. */
void describe_table(struct fedctl *ctl, const char *title, struct columns *columns, struct tf_buf *buf);

/* Kinds of things that have a file of their own. Ask for what the word names; give the exit code. */
int describe_migration(struct fedctl *ctl, const char *word, struct tf_buf *text);
int describe_drain(struct fedctl *ctl, const char *word, struct tf_buf *text); /* data it prints itself */

#endif
