/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_ENGINE_SPEC_H
#define TF_ENGINE_SPEC_H

#include "common/base/list.h"
#include "common/model/id.h"
#include "common/model/job.h"

#include "subcluster/engine/engine.h"

/* What the process engine hands to a shim: the start spec and its own settings. */
struct tf_shim_spec {
    struct tf_engine_spec start;
    uint64_t owner;              /* revision of the owner that asked; refused if a higher one is on disk */
    int64_t output_limit;        /* bytes of one output file; two are kept for each stream */
    int32_t files_limit;         /* soft limit of open files of the job; 0 = as it is */
    int32_t port_low, port_high; /* ports are taken from [low, high] */
    bool cgroup;                 /* use a cgroup v2 where one can be made */
    char *work_dir;              /* owned; absolute */
};

void tf_shim_spec_release(struct tf_shim_spec *spec); /* frees what it owns and zeroes it */

/* The file `spec` of an instance folder. A load checks every bound and gives TF_ERR_INVALID for what is
 * amiss. */
int tf_shim_spec_save(int folder, const struct tf_shim_spec *spec, struct tf_error *err);
int tf_shim_spec_load(int folder, struct tf_shim_spec *spec, struct tf_error *err);

#endif
