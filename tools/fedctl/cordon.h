/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDCTL_CORDON_H
#define TF_FEDCTL_CORDON_H

#include "tools/fedctl/fedctl.h"

/* What cordon and uncordon have in common: for each thing that the words name, nothing new is placed there
 * (on), or again. Gives the first exit code that is not FEDCTL_DONE. */
int cordon_words(struct fedctl *ctl, bool on);
/* The same of drain: what runs there leaves, too. */
int drain_words(struct fedctl *ctl);

#endif
