/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_BASE_NAME_H
#define TF_BASE_NAME_H

#include "common/base/error.h"

enum { TF_NAME_MAX = 63 }; /* letters of a name */

/* A name of a job, tenant, cluster, node, class or port: 1 to 63 lower-case letters, digits, '-' or '.',
 * beginning and ending with a letter or digit, no "..": safe in a key, a path, a host name. what names the
 * field in the error. */
int tf_name_check(const char *name, const char *what, struct tf_error *err);

#endif
