/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_LIVE_LIVE_H
#define TF_LIVE_LIVE_H

#include "common/base/row.h"
#include "common/wire/api.h"

/* The configuration that a daemon runs with, as its clients see it, and what a file would change of it. All
 * is borrowed during a call. */
struct tf_live_config {
    const struct tf_table *table;
    const char *file;                      /* what such a file is called, for messages: "fedd.yaml" */
    const void *now, *first;               /* in force; as it was read at the start */
    const void *defaults;                  /* what no line of the file says, settled */
    const char *option_key, *option_value; /* what the command line says instead; NULL = nothing */
};

/* The values at key and below it (NULL = all). -1 (TF_ERR_NOT_FOUND), naming the nearest, if there is no such
 * key. What is secret is never shown. Of *out only the values are set; it is owned by the caller. */
int tf_live_get(const struct tf_live_config *live, const char *key, struct tf_get_config_reply *out,
                struct tf_error *err);
/* What the text of the request, such a file, would change. -1 (TF_ERR_INVALID), with lines and columns, if it
 * is wrong. */
int tf_live_diff(const struct tf_live_config *live, const struct tf_diff_config_request *request,
                 struct tf_diff_config_reply *out, struct tf_error *err);

#endif
