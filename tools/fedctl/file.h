/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDCTL_FILE_H
#define TF_FEDCTL_FILE_H

#include "common/base/buf.h"
#include "common/base/error.h"

/* Writes a file anew; `what` names it in errors: "the plan". */
int file_write(const char *path, const char *what, const struct tf_buf *text, struct tf_error *err);

#endif
