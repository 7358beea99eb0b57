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

/* Reads the file again and takes over into config, which was read from it, what differs in rows marked
 * TF_ROW_RELOADABLE; everything else of config stays. changes starts zeroed. -1 and *err, with config and
 * changes untouched, if anything in the file is wrong, or if what is taken contradicts what stays. */
int tf_conf_reload(const char *path, const struct tf_table *table, void *config,
                   struct tf_conf_changes *changes, struct tf_error *err);

#endif
