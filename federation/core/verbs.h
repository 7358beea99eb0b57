/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDERATION_CORE_VERBS_H
#define TF_FEDERATION_CORE_VERBS_H

#include "federation/core/state.h"

/* The job that a request is about; NULL after answering. */
struct job *fed_verb_job(struct fed *fed, const struct fed_event *event);

/* What people ask of a job or a subcluster that is there already. */
void fed_verb_delete(struct fed *fed, const struct fed_event *event);
void fed_verb_hold(struct fed *fed, const struct fed_event *event);
void fed_verb_resume(struct fed *fed, const struct fed_event *event);
void fed_verb_scale(struct fed *fed, const struct fed_event *event);
void fed_verb_cordon(struct fed *fed, const struct fed_event *event);
void fed_verb_forget(struct fed *fed, const struct fed_event *event);

#endif
