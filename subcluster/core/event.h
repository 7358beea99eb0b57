/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_EVENT_H
#define TF_SUBCLUSTER_CORE_EVENT_H

#include "subcluster/core/sub.h"

void sub_action_release(struct sub_action *action);
void sub_boot_release(struct sub_boot *boot);
/* Deep copy; to is zeroed. */
void group_copy(struct tf_group *to, const struct tf_group *from);

#endif
