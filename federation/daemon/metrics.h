/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDERATION_DAEMON_METRICS_H
#define TF_FEDERATION_DAEMON_METRICS_H

#include "common/monitor/metric.h"

/* The rows of fedd's own figures; those of every daemon are in common/monitor. */
extern const struct tf_metric fedd_metrics[];
extern const size_t fedd_metric_count;

#endif
