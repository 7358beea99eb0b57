/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDCTL_MANIFESTS_H
#define TF_FEDCTL_MANIFESTS_H

#include "common/conf/conf.h"
#include "common/model/manifest.h"

/* Manifests from files, folders (*.yaml, *.yml, *.json, by name) and standard input ("-"), with their places
 * for later complaints. */

struct manifest_file {
    char *name; /* as in messages */
    struct tf_conf *conf;
};
struct manifest {
    struct tf_job_manifest job;
    size_t file, doc;
};
struct manifests {
    TF_VEC(struct manifest_file) files;
    TF_VEC(struct manifest) items; /* those without problems */
    size_t bad;                    /* files with problems */
    bool bad_named;                /* one of them was named itself, and not found in a folder */
};

enum { MANIFESTS_MAX = 10000 };

/* Reads all of them. What is wrong is appended to `problems`, one line each: FILE:LINE:COLUMN: PATH: TEXT. -1
 * if there was anything; then nothing should be sent. */
int manifests_load(struct manifests *manifests, const struct tf_strs *paths, struct tf_buf *problems);
/* A file whose first document is of another kind: object is filled from it, by the table, as tf_conf_read
 * does; the others are manifests. */
int manifests_load_after(struct manifests *manifests, const char *path, const struct tf_table *table,
                         void *object, struct tf_buf *problems);
void manifests_release(struct manifests *manifests);

/* Appends the federation's complaints about one of them, at their places. */
void manifests_complain(const struct manifests *manifests, const struct manifest *manifest,
                        const struct tf_complaints *complaints, struct tf_buf *problems);

#endif
