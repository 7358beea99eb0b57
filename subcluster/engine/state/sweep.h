/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_ENGINE_SWEEP_H
#define TF_ENGINE_SWEEP_H

#include "common/model/id.h"

#include <stdbool.h>
#include <sys/types.h>

/* Finds and kills what an instance left behind when its shim is dead. A process belongs to the instance if it
 * is in the instance's cgroup, or holds its lock file open (the descriptor is inherited), or has its
 * TIDEFED_UID, _EPOCH, _INDEX and _ATTEMPT in the environment it was started with. Without a cgroup, one that
 * closed the descriptor and was started with an emptied environment and whose shim was killed is not found.
 */
struct tf_sweep {
    struct tf_instance_id id;
    int folder;         /* of the instance */
    const char *cgroup; /* NULL = none */
};
/* SIGKILL to all that are there now, this process excepted; how many were found. */
size_t tf_sweep_kill(const struct tf_sweep *sweep);

/* cgroup v2. */
/* Where a cgroup for this instance would be: below the one of this process. false: no cgroup v2 here. */
bool tf_cgroup_path(const struct tf_instance_id *id, int folder, char *path, size_t size);
bool tf_cgroup_make(const char *path);  /* false: not allowed, or without cgroup.kill */
void tf_cgroup_kill(const char *path);  /* all in it at once; a missing one is fine */
bool tf_cgroup_empty(const char *path); /* a missing one is empty */
void tf_cgroup_remove(const char *path);

#endif
