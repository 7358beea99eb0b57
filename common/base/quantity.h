/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_BASE_QUANTITY_H
#define TF_BASE_QUANTITY_H

#include "common/base/clock.h"
#include "common/base/error.h"

#include <stdbool.h>
#include <stdint.h>

/* Durations, sizes, CPU and fractions as people write them. All arithmetic is in integers. Parsers take the
 * whole string, fail with TF_ERR_INVALID saying what is accepted, and never see a sign: none of these
 * quantities is negative. Formatters give the canonical text, which parses back to the same value. */

enum { TF_QUANTITY_TEXT = 48 }; /* longest text of a formatter, with the NUL */

/* "500ms", "90s", "1h30m", "2d": whole numbers with units from d, h, m, s, ms, larger units first; a unit is
 * required, also for 0s. Result in ms; format writes "1m30s", "1d12h", "0s". */
int tf_duration_parse(const char *s, int64_t *ms, struct tf_error *err);
const char *tf_duration_format(int64_t ms, char text[TF_QUANTITY_TEXT]);

/* Kubernetes quantities of bytes: a number, also with a decimal point, and Ki Mi Gi Ti Pi (powers of 1024),
 * k M G T P (powers of 1000) or nothing (bytes). Result in MiB: requests are rounded up, capacity down.
 * format writes the largest binary unit that divides: "80Gi", "1536Mi", "0". */
int tf_memory_parse(const char *s, bool round_up, int64_t *mib, struct tf_error *err);
const char *tf_memory_format(int64_t mib, char text[TF_QUANTITY_TEXT]);

/* Kubernetes quantities of CPU: "96", "1.5", "500m". Result in millicores; finer than 1m is refused. */
int tf_cpu_parse(const char *s, int64_t *millicores, struct tf_error *err);
const char *tf_cpu_format(int64_t millicores, char text[TF_QUANTITY_TEXT]);

/* "10%", "12.5 %" or "0.125". Result in basis points (1/10,000); finer is refused. format writes "12.5%". */
int tf_fraction_parse(const char *s, int64_t *basis_points, struct tf_error *err);
const char *tf_fraction_format(int64_t basis_points, char text[TF_QUANTITY_TEXT]);

/* "2026-11-30 09:12:03 UTC": in sentences, which are read far from where they are made. */
const char *tf_moment_format(struct tf_wall at, char text[TF_QUANTITY_TEXT]);

#endif
