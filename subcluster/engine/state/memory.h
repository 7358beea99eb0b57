/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_ENGINE_MEMORY_H
#define TF_ENGINE_MEMORY_H

#include "common/base/error.h"
#include "common/model/id.h"

/* What the state folders of engines have in common: a marker that tells a memory from an empty folder, and
 * folders in which an operator says something of nodes by making files of their names: signs. */

/* Makes the folder and those above it; readable by the owner only. */
int tf_root_make(const char *path, struct tf_error *err);

/* The identity of the memory in the folder. TF_ERR_NOT_FOUND: there is none, which is not an empty one. */
int tf_memory_load(int root, struct tf_uid *id, struct tf_error *err);
/* Makes the marker, on disk when this returns, unless there is one: the identity of that. */
int tf_memory_make(int root, struct tf_uid *id, struct tf_error *err);

/* Calls each(context, name) for every file in the folder `name` of root, which is made if it is missing. The
 * names are anybody's: to be compared, never used as paths. */
int tf_signs_read(int root, const char *folder, void (*each)(void *context, const char *name), void *context,
                  struct tf_error *err);

#endif
