/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDBENCH_FIGURES_H
#define TF_FEDBENCH_FIGURES_H

#include "common/base/buf.h"

#include <stdbool.h>

/* What a benchmark found: figures, each beside its target and what bounds it, after the setting they hold
 * for. As a table for people, or as one JSON object. */
struct figures {
    const char *bench;
    bool json;
    struct tf_buf settings, figures; /* items of the two JSON lists, if json */
};

void figures_begin(struct figures *f, const char *bench, bool json);
/* Prints the JSON object, if that is wanted. */
void figures_end(struct figures *f);

/* A line about the machine, what was real, and what was not. */
void figures_setting(struct figures *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A heading for the figures that follow. */
void figures_group(struct figures *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* name: stable, e.g. "admit.256.jobs_per_second". target: what is to be reached, with its unit, "" = none;
 * beside: a bound, or the figure of something comparable, "" = none. */
void figures_add(struct figures *f, const char *name, double value, const char *unit, const char *target,
                 const char *beside);

#endif
