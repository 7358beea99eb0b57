/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the set of jobs and the order of their next moments. What happens to a job is allocation.c's and
 * members.c's. */
#include "subcluster/core/jobs.h"

#include "common/base/cleanup.h"
#include "subcluster/core/absorb.h"
#include "subcluster/core/image.h"
#include "subcluster/core/outbox.h"
#include "subcluster/core/strays.h"

#include <assert.h>

static const struct job *of_uid(const struct tf_tree_node *node)
{
    return TF_CONTAINER_OF(node, const struct job, by_uid);
}

static const struct job *of_due(const struct tf_tree_node *node)
{
    return TF_CONTAINER_OF(node, const struct job, by_due);
}

static int cmp_uid(const struct tf_tree_node *a, const struct tf_tree_node *b)
{
    return tf_uid_cmp(of_uid(a)->record.uid, of_uid(b)->record.uid);
}

static int cmp_due(const struct tf_tree_node *a, const struct tf_tree_node *b)
{
    const struct job *x = of_due(a), *y = of_due(b);
    if (x->due.ms != y->due.ms)
        return x->due.ms < y->due.ms ? -1 : 1;
    return tf_uid_cmp(x->record.uid, y->record.uid);
}

static int key_uid(const void *key, const struct tf_tree_node *node)
{
    const struct tf_uid *uid = key;
    return tf_uid_cmp(*uid, of_uid(node)->record.uid);
}

void jobs_init(struct sub *sub)
{
    tf_tree_init(&sub->jobs, cmp_uid);
    tf_tree_init(&sub->dues, cmp_due);
    absorb_init(sub);
}

static void job_free(struct job *job)
{
    tf_allocation_release(&job->record);
    tf_vec_release(&job->runs);
    free(job);
}

void jobs_release(struct sub *sub)
{
    for (struct job *job; (job = jobs_first(sub));) {
        tf_tree_remove(&sub->jobs, &job->by_uid);
        job_free(job);
    }
}

static struct job *job_of(struct tf_tree_node *node)
{
    return node ? TF_CONTAINER_OF(node, struct job, by_uid) : NULL;
}

struct job *job_find(const struct sub *sub, struct tf_uid uid)
{
    return job_of(tf_tree_find(&sub->jobs, &uid, key_uid));
}

struct job *jobs_add(struct sub *sub, struct tf_uid uid)
{
    struct job *job = tf_calloc(1, sizeof *job);
    job->record.uid = uid;
    job->record.spec = tf_spec_none();
    job->due = job->runtime_due = job->protected_until = TF_NEVER;
    job->restart_due = job->repair_due = job->leave_due = job->wants = job->restarting = TF_NEVER;
    tf_tree_insert(&sub->jobs, &job->by_uid);
    return job;
}

struct job *jobs_first(const struct sub *sub)
{
    return job_of(tf_tree_first(&sub->jobs));
}

struct job *jobs_next(const struct job *job)
{
    return job_of(tf_tree_next(&job->by_uid));
}

void job_tell(struct sub *sub, struct job *job)
{
    if (job->report_due)
        return;
    job->report_due = true;
    tf_vec_push(&sub->touched, job->record.uid);
}

void job_changed(struct sub *sub, struct job *job)
{
    out_touch_job(sub, job);
    job_tell(sub, job);
    absorb_note(sub, job);
    sub->profiler.count_due = true; /* what can be moved may be another */
    strays_judge(sub, job->record.uid);
}

const struct tf_ended *job_ended(const struct job *job, uint64_t epoch)
{
    tf_vec_each (e, &job->record.ended)
        if (e->epoch == epoch)
            return e;
    return NULL;
}

static void due_set(struct sub *sub, struct job *job, struct tf_mono due)
{
    if (tf_tree_linked(&job->by_due))
        tf_tree_remove(&sub->dues, &job->by_due);
    job->due = due;
    if (due.ms != TF_NEVER.ms)
        tf_tree_insert(&sub->dues, &job->by_due);
}

void job_drop_if_empty(struct sub *sub, struct job *job)
{
    if (job_lives(job) || job->record.ended.count)
        return;
    due_set(sub, job, TF_NEVER);
    absorb_forget(sub, job);
    tf_tree_remove(&sub->jobs, &job->by_uid);
    job_free(job);
}

void job_due_at(struct sub *sub, struct job *job, struct tf_mono at)
{
    if (at.ms < job->due.ms)
        due_set(sub, job, at);
}

void job_due_again(struct sub *sub, struct job *job)
{
    struct tf_mono due =
        job->runtime_due.ms < job->protected_until.ms ? job->runtime_due : job->protected_until;
    due = job->restart_due.ms < due.ms ? job->restart_due : due;
    due = job->repair_due.ms < due.ms ? job->repair_due : due;
    due = job->leave_due.ms < due.ms ? job->leave_due : due;
    tf_vec_each (run, &job->runs)
        if (run->due.ms < due.ms)
            due = run->due;
    due_set(sub, job, due);
}

struct job *job_due_first(const struct sub *sub)
{
    struct tf_tree_node *node = tf_tree_first(&sub->dues);
    return node ? TF_CONTAINER_OF(node, struct job, by_due) : NULL;
}

/* ---- for reading ---- */

const struct tf_allocation *sub_allocation_find(const struct sub *sub, struct tf_uid uid)
{
    const struct job *job = job_find(sub, uid);
    return job ? &job->record : NULL;
}

size_t sub_allocation_count(const struct sub *sub)
{
    return sub->jobs.count;
}

const struct tf_allocation *sub_allocation_next(const struct sub *sub, const struct tf_uid *after)
{
    const struct job *job = after ? job_of(tf_tree_after(&sub->jobs, after, key_uid)) : jobs_first(sub);
    return job ? &job->record : NULL;
}

/* ---- images ---- */

static void image_run(struct tf_image *image, struct member_run *run)
{
    tf_image_open(image, run);
    tf_image_number(image, &run->asked);
    tf_image_number(image, &run->node);
    tf_image_number(image, &run->seen);
    tf_image_number(image, &run->known);
    tf_image_number(image, &run->begun);
    tf_image_number(image, &run->stuck);
    tf_image_number(image, &run->due);
    tf_image_number(image, &run->retry);
    tf_image_close(image);
}

static void image_job(struct tf_image *image, struct sub *sub, struct job *job)
{
    struct tf_mono due = job->due;
    tf_image_open(image, job);
    tf_image_allocation(image, &job->record);
    tf_image_skip(image, &job->by_uid, "filed by its uid");
    tf_image_list(image, &job->runs, image_run);
    tf_image_number(image, &job->runtime_due);
    tf_image_number(image, &job->protected_until);
    tf_image_number(image, &job->restart_due);
    tf_image_number(image, &job->repair_due);
    tf_image_number(image, &job->leave_due);
    tf_image_number(image, &job->grow_at);
    tf_image_number(image, &job->unconfirmed);
    tf_image_number(image, &job->move_at);
    tf_image_number(image, &job->shrunk);
    tf_image_number(image, &job->serve);
    tf_image_number(image, &job->resized);
    tf_image_number(image, &job->noted_size);
    tf_image_number(image, &job->saved);
    tf_image_number(image, &job->restarting);
    tf_image_number(image, &job->wants);
    tf_image_skip(image, &job->by_elastic, "filed by its uid, if it was:");
    bool elastic = tf_image_flag(image, tf_tree_linked(&job->by_elastic));
    tf_image_skip(image, &job->by_due, "filed by its moment");
    tf_image_skip(image, &job->due, "as the moment it is filed by:");
    tf_image_number(image, &due);
    tf_image_number(image, &job->report_due);
    tf_image_number(image, &job->peers_due);
    tf_image_close(image);
    if (!tf_image_is_reading(image) || tf_image_failed(image))
        return;
    due_set(sub, job, due);
    if (elastic)
        tf_tree_insert(&sub->absorb.elastic, &job->by_elastic);
}

static void read_job(struct tf_image *image, struct sub *sub)
{
    struct tf_uid uid;
    tf_image_uid(image, &uid);
    if (tf_image_failed(image))
        return;
    if (job_find(sub, uid))
        tf_image_fail(image, "there are two jobs of one uid");
    else
        image_job(image, sub, jobs_add(sub, uid));
}

void jobs_image(struct tf_image *image, struct sub *sub)
{
    uint64_t count = tf_image_count(image, sub->jobs.count);
    tf_image_skip(image, &sub->jobs, "one by one, in order; the shape of a tree decides nothing");
    tf_image_skip(image, &sub->dues, "made of the jobs");
    if (tf_image_is_reading(image)) {
        while (count-- > 0 && !tf_image_failed(image))
            read_job(image, sub);
        return;
    }
    for (struct job *job = jobs_first(sub); job; job = jobs_next(job)) {
        tf_image_uid(image, &job->record.uid);
        image_job(image, sub, job);
    }
}
