/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDERATION_CORE_LOAD_H
#define TF_FEDERATION_CORE_LOAD_H

#include "federation/core/state.h"

/* From election to open. */
void fed_load_boot(struct fed *fed, struct fed_event *event);
void fed_load_record(struct fed *fed, struct tf_record *record); /* taken */
void fed_load_done(struct fed *fed);
/* Settings of the boot or of a reload; taken. */
void fed_load_settings(struct fed *fed, struct tf_settings *settings);

#endif
