/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDCTL_HELP_H
#define TF_FEDCTL_HELP_H

#include "common/base/buf.h"
#include "tools/fedctl/verb.h"

void help_overview(struct tf_buf *buf);
void help_verb(const struct verb *verb, struct tf_buf *buf);

#endif
