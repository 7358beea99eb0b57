/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the size of a live epoch: which members go when it shrinks, and the marks of those that stay. Stopping
 * them is members.c's. */
#include "subcluster/core/size.h"

#include "subcluster/core/absorb.h"
#include "subcluster/core/allocation.h"
#include "subcluster/core/grow.h"
#include "subcluster/core/leave.h"
#include "subcluster/core/levels.h"
#include "subcluster/core/members.h"
#include "subcluster/core/repair.h"
#include "subcluster/core/retries.h"
#include "subcluster/core/trace.h"

#include <assert.h>

int32_t size_of(const struct tf_allocation *record)
{
    int32_t size = 0;
    tf_vec_each (m, &record->members)
        size += member_counts(m);
    return size;
}

/* ---- marks ---- */

/* A core member counts as older than any surplus one, lower steps as older than higher ones. */
struct senior {
    int32_t mark;
    uint32_t index;
};

static int by_seniority(const void *a, const void *b)
{
    const struct senior *x = a, *y = b;
    if (x->mark != y->mark)
        return x->mark < y->mark ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

void size_mark_again(struct sub *sub, struct job *job)
{
    struct tf_allocation *record = &job->record;
    const struct tf_elastic *e = &record->spec->elastic;
    TF_VEC(struct senior) seniors = {0};
    tf_vec_each (m, &record->members)
        if (member_counts(m))
            tf_vec_push(&seniors, (struct senior){m->mark, m->index});
    if (seniors.count > 1) /* nothing may be left of it */
        qsort(seniors.items, seniors.count, sizeof *seniors.items, by_seniority);
    for (size_t i = 0; i < seniors.count; i++)
        record->members.items[seniors.items[i].index].mark = size_mark(e, (int32_t)i);
    /* What is to join comes behind, also where a later step was faster: no two steps have the same mark. */
    int32_t next = (int32_t)seniors.count;
    tf_vec_each (m, &record->members)
        if (member_stays(m->state) && m->role == TF_MEMBER_JOINS)
            m->mark = size_mark(e, next++);
    for (size_t i = record->members.count; i-- > 0 && member_is_second(job, i);) /* as that of its index */
        record->members.items[i].mark = record->members.items[record->members.items[i].index].mark;
    tf_vec_release(&seniors);
    members_set_levels(sub, job);
}

/* ---- going ---- */

static bool is_among(int32_t mark, const int32_t *marks, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (marks[i] == mark)
            return true;
    return false;
}

/* False: only what had not joined yet had these marks. */
static bool drop_marked(struct sub *sub, struct job *job, const int32_t *marks, size_t count)
{
    struct tf_allocation *record = &job->record;
    int32_t before = record->size;
    struct places places = {0};
    for (size_t i = 0; i < record->members.count; i++)
        if (member_counts(&record->members.items[i]) && is_among(record->members.items[i].mark, marks, count))
            tf_vec_push(&places, i);
    record->size -= (int32_t)places.count;
    if (places.count) {
        record->last_shrink = sub->now.wall;
        absorb_shrunk(sub, job);
        tf_reached(sub, SUB_SHRUNK);
        trace_epoch(sub, job, "shrinks from %d to %d instances", before, record->size);
        members_dismiss(sub, job, places.items, places.count);
    }
    tf_vec_release(&places);
    return record->size < before;
}

void size_drop_steps(struct sub *sub, struct job *job, const int32_t *marks, size_t count)
{
    assert(job_lives(job) && job->record.phase != TF_ALLOCATION_ENDING && count > 0 && marks[0] > 0);
    grow_undo(sub, job);
    bool smaller = drop_marked(sub, job, marks, count);
    size_mark_again(sub, job);
    if (smaller && job->record.spec->on_resize == TF_ON_RESIZE_RESTART)
        members_restart(sub, job);
    epoch_look(sub, job); /* those that stay may all be done, or ready */
}

/* ---- scale ---- */

int32_t size_steps(const struct tf_allocation *record)
{
    int32_t highest = 0;
    tf_vec_each (m, &record->members)
        if (member_stays(m->state) && m->mark > highest)
            highest = m->mark;
    return highest;
}

/* So many steps more than the new max allows. */
static void shrink_to(struct sub *sub, struct job *job, int32_t target)
{
    const struct tf_allocation *record = &job->record;
    struct marks marks = {0};
    leave_steps(sub, job, (record->size - target) / record->spec->elastic.step, &marks);
    size_drop_steps(sub, job, marks.items, marks.count);
    tf_vec_release(&marks);
}

bool size_set_elastic(struct sub *sub, struct job *job, const struct tf_elastic *elastic)
{
    struct tf_allocation *record = &job->record;
    if (elastic->step < 1 || record->size % elastic->step != 0)
        return false;
    if (tf_elastic_eq(&record->spec->elastic, elastic))
        return true;
    tf_spec_own(&record->spec)->elastic = *elastic;
    job_changed(sub, job);
    if (record->phase == TF_ALLOCATION_ENDING)
        return true;
    grow_undo(sub, job); /* their places were counted by the old sizes */
    size_mark_again(sub, job);
    if (record->size > elastic->max)
        shrink_to(sub, job, tf_size_align(elastic, elastic->max));
    repair_note(sub, job);
    return true;
}
