/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_CONF_RELOAD_H
#define TF_CONF_RELOAD_H

#include "common/conf/conf.h"

/* What a file that was read again changed. */
struct tf_conf_changes {
    struct tf_strs taken;   /* paths of keys that are in force now */
    struct tf_strs refused; /* of those that differ, but only count after a restart */
};
void tf_conf_changes_release(struct tf_conf_changes *changes);

/* 0 if what of fresh may change without a restart goes with what of config cannot; else -1, and *err says
 * what does not. Both are whole, fresh read from the file of that name. */
int tf_conf_may_reload(const char *path, const struct tf_table *table, const void *config, const void *fresh,
                       struct tf_error *err);
/* Reads the file again and takes over into config, which was read from it, what differs in rows marked
 * TF_ROW_RELOADABLE; everything else of config stays. changes starts zeroed. -1 and *err, with config and
 * changes untouched, if anything in the file is wrong, or if what is taken contradicts what stays. */
int tf_conf_reload(const char *path, const struct tf_table *table, void *config,
                   struct tf_conf_changes *changes, struct tf_error *err);

#endif
