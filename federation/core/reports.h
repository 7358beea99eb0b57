/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDERATION_CORE_REPORTS_H
#define TF_FEDERATION_CORE_REPORTS_H

#include "federation/core/state.h"

void fed_report_take(struct fed *fed, struct cluster *cluster, struct tf_report *report); /* taken */
/* The engine has been listed: ends `unknown` are judged lost now. */
void fed_report_listed(struct fed *fed, struct cluster *cluster);

#endif
