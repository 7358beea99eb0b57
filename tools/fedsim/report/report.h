/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDSIM_REPORT_H
#define TF_FEDSIM_REPORT_H

#include "tools/fedsim/world.h"

/* The figures of a run, from the world's truth: what users asked, what engines ran, what became durable;
 * never from what a daemon believes. Every event costs O(1) (instances of one job that live at a time aside),
 * and all sums are integers. Names are stable: they are those of the JSON form, and of `metric` in a
 * scenario.
 *
 * - waitSeconds: from the submit to the first moment at which the core was fully ready; of jobs that had it
 * - jctSeconds: from the submit to the last end of an instance; of jobs that succeeded
 * - reclaimSeconds: waitSeconds of those jobs for which others were evicted
 * - scaleSeconds: from a scale that asks for more than is ready to the moment at which it was; of those that
 *   were still waited for at the end, until then
 * - unmetGpuHours: GPU-time asked for at min, by whoever was submitted and neither held nor over, and not
 *   ready
 * - gpuAllocation: GPU-time held / GPU-time there: neither foreign, nor bad, nor on a lost node
 * - gpuUsable: the same of what is held in sizes that the job can use
 * - evictions: instances asked to stop so that another job may have their GPUs
 * - evictionsByCause: of these, core: with them their whole job was sent back to the queue; surplus: their
 *   job runs on with less
 * - jobsEvicted: epochs that ended so
 * - victimsRedundant: of these, such that nobody had claimed a GPU of
 * - requeued: epochs that ended with the job waiting again, whatever the cause, refusals aside
 * - restarts: instances started again under their index, in the same epoch or a later one
 * - resizes: decisions that changed the size of a running epoch
 * - migrations: instances that went on elsewhere while the old one ran until the new one was ready
 * - nodesVacated: by them, wholly free nodes won less those lost
 * - lostGpuHours: GPU-time of instances that failed, were lost or evicted, since their job's last checkpoint;
 *   of inference none
 * - idleGpuHoursByCause: what nobody held, by why (common/fit), for the mix of shapes waiting then; sampled
 */
struct report;

struct report *report_create(void);
void report_destroy(struct report *report); /* NULL is fine. After report_end */
/* Hears the world from now on: its fleet is complete, it has not started. It is borrowed until report_end. */
void report_begin(struct report *report, struct sim_world *world);
/* All sums are as of the world's present moment; nothing is heard any more. */
void report_end(struct report *report);

/* A figure by its name ("evictions", "waitSeconds.p99", "classes.online.jobsPending") as of the world's
 * present moment, or of the end, in millionths. -1: there is none of that name. */
int report_figure(struct report *report, const char *name, int64_t *millionths);

/* What a name is about, whatever there is in a run. *group: owned by the caller, NULL for REPORT_ALL. -1 and
 * *err: no report has such a figure. */
enum report_set { REPORT_ALL, REPORT_CLASSES, REPORT_TENANTS, REPORT_CLUSTERS };
int report_name_check(const char *path, enum report_set *set, char **group, struct tf_error *err);

/* Instances of one job that were evicted so far. */
int64_t report_job_evictions(const struct report *report, struct tf_uid uid);

/* What the world cannot know. */
struct report_frame {
    const char *scenario; /* its name; NULL is fine */
    const char *policy;   /* who decided; NULL: tidefed, all of it */
    uint64_t seed;
    int64_t wall_ms, peak_kib; /* of this process: time, and memory at most */
    const char *breach;        /* the first, in words; NULL: none */
};
/* After report_end. */
void report_json(struct report *report, const struct report_frame *frame, struct tf_buf *out);
/* One HTML file for people: plots over time, with the same figures beside them. It fetches nothing, runs no
 * script, and stays under 2 MB however long the run was. */
void report_page(struct report *report, const struct report_frame *frame, struct tf_buf *out);
void report_text(struct report *report, const struct report_frame *frame, struct tf_buf *out);

#endif
