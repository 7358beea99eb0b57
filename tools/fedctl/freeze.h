/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDCTL_FREEZE_H
#define TF_FEDCTL_FREEZE_H

#include "tools/fedctl/change.h"

/* What freeze and unfreeze have in common. */

/* The set that the one word of the command line names; else says what is wrong with it and gives the exit
 * code. */
int freeze_what(struct fedctl *ctl, int32_t *what);
/* Lists what is frozen now. Gives the exit code. */
int freeze_list(struct fedctl *ctl);

#endif
