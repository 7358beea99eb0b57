/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDERATION_CORE_CLUSTER_H
#define TF_FEDERATION_CORE_CLUSTER_H

#include "federation/core/state.h"

/* The registered subclusters, by name. NULL if there is none. */
struct cluster *fed_cluster_by_name(const struct fed *fed, const char *name);
struct cluster *fed_cluster_by_link(const struct fed *fed, uint64_t link);
/* Registers the name if it is new. */
struct cluster *fed_cluster_add(struct fed *fed, const char *name);
#define FED_CLUSTER_LOST_EVENT "Lost"
#define FED_CLUSTER_STOPPED_EVENT "Stopped"
#define FED_CLUSTER_RETURNED_EVENT "Returned"
/* Writes down what people may want to know of it later. */
void fed_cluster_event(struct fed *fed, struct cluster *cluster, const char *type, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* When it was lost, or its subclusterd was stopped, if it has not returned since; also when that was written
 * by an earlier leader. Else 0. */
struct tf_wall fed_cluster_lost_at(const struct cluster *cluster);
struct tf_wall fed_cluster_stopped_at(const struct cluster *cluster);
void fed_cluster_destroy(struct cluster *cluster);

/* An epoch of the job was committed to it; has ended. */
void fed_cluster_placed(struct cluster *cluster, uint64_t epoch, struct job *job);
void fed_cluster_left(struct cluster *cluster, uint64_t epoch, const struct job *job);

/* It may be able to take more than before: waiting jobs are considered for it. */
void fed_cluster_grew(struct fed *fed, struct cluster *cluster);

/* Seconds since its stream went; 0 while attached. */
int64_t fed_cluster_away_seconds(const struct fed *fed, const struct cluster *cluster);
/* The profile reflects everything that this leader wants of it: it may be given more. */
bool fed_cluster_is_current(const struct fed *fed, const struct cluster *cluster);

#endif
