/* SPDX-License-Identifier: Apache-2.0 */
/* A configuration that changes under way. What follows from a change is the daemon's. */
#include "common/conf/reload.h"

#include "common/base/cleanup.h"

void tf_conf_changes_release(struct tf_conf_changes *changes)
{
    tf_strs_release(&changes->taken);
    tf_strs_release(&changes->refused);
}

/* The rules between several keys, for the mixture of both. */
int tf_conf_may_reload(const char *path, const struct tf_table *table, const void *config, const void *fresh,
                       struct tf_error *err)
{
    struct tf_complaints complaints = {0};
    void *mixture = tf_calloc(1, table->size);
    tf_table_copy(table, mixture, config);
    tf_table_take(table, mixture, fresh, TF_ROW_RELOADABLE);
    int failed = 0;
    if (!tf_table_check(table, mixture, &complaints))
        failed = tf_error_set(err, TF_ERR_INVALID,
                              "%s: what can change without a restart does not go with what cannot: "
                              "%s: %s; restart to take over all of it",
                              path, complaints.items[0].path, complaints.items[0].text);
    tf_complaints_release(&complaints);
    tf_table_release(table, mixture);
    free(mixture);
    return failed;
}

static void note_changes(const struct tf_table *table, const void *config, const void *fresh,
                         struct tf_conf_changes *changes)
{
    struct tf_strs all = {0};
    tf_table_diff(table, config, fresh, TF_ROW_RELOADABLE, &changes->refused);
    tf_table_diff(table, config, fresh, 0, &all);
    tf_vec_each (path, &all)
        if (!tf_strs_has(&changes->refused, *path))
            tf_strs_add(&changes->taken, *path);
    tf_strs_release(&all);
}

int tf_conf_reload(const char *path, const struct tf_table *table, void *config,
                   struct tf_conf_changes *changes, struct tf_error *err)
{
    void *fresh = tf_calloc(1, table->size);
    int failed = tf_conf_load(path, table, fresh, err);
    if (!failed)
        failed = tf_conf_may_reload(path, table, config, fresh, err);
    if (!failed) {
        note_changes(table, config, fresh, changes);
        tf_table_take(table, config, fresh, TF_ROW_RELOADABLE);
    }
    tf_table_release(table, fresh);
    free(fresh);
    return failed;
}
