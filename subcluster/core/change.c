/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what may change under a live epoch. What follows for its members is size.c's. */
#include "subcluster/core/change.h"

#include "common/base/text.h"
#include "subcluster/core/allocation.h"
#include "subcluster/core/levels.h"
#include "subcluster/core/size.h"
#include "subcluster/core/trace.h"

static bool is_sound(const struct tf_elastic *e)
{
    return e->step >= 1 && e->min >= 1 && e->max >= e->min && e->max <= TF_INSTANCES_MAX &&
           e->min % e->step == 0 && e->max % e->step == 0;
}

/* Nothing of it has started: what does not fit its claims any more is for the leader to place anew. */
static void take_sizes_of_claims(struct sub *sub, struct job *job, const struct tf_elastic *e)
{
    struct tf_allocation *record = &job->record;
    if (tf_size_legal(e, record->size, false)) {
        tf_spec_own(&record->spec)->elastic = *e;
        job_changed(sub, job);
        return;
    }
    char *message = tf_asprintf("its sizes were changed to %d to %d before it had started", e->min, e->max);
    epoch_end(sub, job,
              (struct ending){.end = TF_END_REFUSED, .reason = TF_REASON_REFUSED, .message = message});
}

static void take_sizes(struct sub *sub, struct job *job, const struct tf_elastic *e)
{
    struct tf_allocation *record = &job->record;
    if (tf_elastic_eq(&record->spec->elastic, e))
        return;
    if (record->phase == TF_ALLOCATION_RESERVED)
        return; /* it keeps what it was placed with */
    if (is_sound(e) && record->phase == TF_ALLOCATION_CLAIMING)
        take_sizes_of_claims(sub, job, e);
    else if (!is_sound(e) || !size_set_elastic(sub, job, e))
        trace_epoch(sub, job, "keeps its sizes: %d instances cannot go by min %d, max %d, step %d",
                    record->size, e->min, e->max, e->step);
}

static void take_words(struct sub *sub, struct job *job, const struct tf_job_spec *spec)
{
    const struct tf_job_spec *before = job->record.spec;
    bool other_class = !tf_str_eq(before->priority, spec->priority);
    bool other_runtime = before->max_runtime != spec->max_runtime;
    bool changed = other_class || other_runtime || spec->min_runtime < before->min_runtime ||
                   before->below_min != spec->below_min || before->grow != spec->grow;
    if (!changed)
        return;
    struct tf_job_spec *own = tf_spec_own(&job->record.spec);
    tf_str_set(&own->priority, spec->priority);
    if (spec->min_runtime < own->min_runtime) /* a running protection is never lengthened */
        own->min_runtime = spec->min_runtime;
    own->below_min = spec->below_min;
    own->grow = spec->grow;
    own->max_runtime = spec->max_runtime;
    if (other_runtime) {
        job->runtime_due = TF_NEVER;
        epoch_set_runtime(sub, job);
        job_due_again(sub, job);
    }
    if (other_class)
        members_set_levels(sub, job);
    job_changed(sub, job);
}

void change_take(struct sub *sub, struct job *job, const struct tf_job_spec *spec)
{
    if (job->record.phase == TF_ALLOCATION_ENDING)
        return;
    take_words(sub, job, spec);
    take_sizes(sub, job, &spec->elastic);
}
