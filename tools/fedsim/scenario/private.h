/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDSIM_SCENARIO_PRIVATE_H
#define TF_FEDSIM_SCENARIO_PRIVATE_H

#include "tools/fedsim/scenario/scenario.h"

/* Shared inside of this folder. */

/* ---- notation.c ---- */
extern const struct tf_notation scenario_moment;    /* 1h30m, or end */
extern const struct tf_notation scenario_decimal;   /* 0.95, in millionths */
extern const struct tf_notation scenario_action;    /* action 2 */
extern const struct tf_notation scenario_less_than; /* < 60s */

/* ---- names.c ---- */
/* True if some n from 0 to count - 1 makes text of the template; a template without braces is that text. */
bool scenario_template_gives(const char *template, int32_t count, const char *text);

/* ---- rules of single tables: called by them ---- */
void scenario_check_cluster(const void *object, struct tf_complaints *out);
void scenario_check_job(const void *object, struct tf_complaints *out);
void scenario_check_tide(const void *object, struct tf_complaints *out);
void scenario_check_event(const void *object, struct tf_complaints *out);
void scenario_check_expect(const void *object, struct tf_complaints *out);
void scenario_check_all(const void *object, struct tf_complaints *out);
/* Whether what events and expectations name is there. */
void scenario_check_references(const struct scenario *scenario, struct tf_complaints *out);

#endif
