/* SPDX-License-Identifier: Apache-2.0 */
/* The order of the queue (DESIGN.md §8.2) among jobs that are alike and came in the same moment: that of
 * their ids, and not of chance. Epochs are given in the order of decisions, so that the first ones tell. */
#include "tools/fedsim/audit/facts.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/text.h"

#include <inttypes.h>

/* A decision may be older than the transaction that stores it, by so much. */
enum { LATE = TF_SECOND };

struct entry {
    const struct audit_job *job;
    uint64_t epoch; /* its first */
};

/* 0: it was never placed, or what was before a restore is unknown. */
static uint64_t first_epoch(const struct audit_job *job)
{
    uint64_t first = 0;
    tf_vec_each (e, &job->epochs) {
        if ((*e)->rolled)
            return 0;
        if ((*e)->site && (!first || (*e)->epoch < first))
            first = (*e)->epoch;
    }
    return first;
}

/* What its user changed may have come in between. */
static bool is_plain(const struct audit_job *job)
{
    return job->asked && !job->hold_asked && !job->scale_asked && !job->delete_asked;
}

static int entry_cmp(const void *a, const void *b)
{
    const struct audit_job *x = ((const struct entry *)a)->job, *y = ((const struct entry *)b)->job;
    if (x->submitted.ms != y->submitted.ms)
        return x->submitted.ms < y->submitted.ms ? -1 : 1;
    return tf_uid_cmp(x->uid, y->uid);
}

static bool are_alike(const struct tf_job_manifest *a, const struct tf_job_manifest *b)
{
    return tf_str_eq(a->tenant, b->tenant) && tf_job_spec_eq(&a->spec, &b->spec) &&
           tf_pairs_eq(&a->labels, &b->labels);
}

/* Both were in the queue, and only one of them was taken from it. */
static bool overtakes(const struct entry *e, const struct entry *first)
{
    int64_t decided = e->job->placed.ms - LATE;
    return e->epoch < first->epoch && e->job->waits.ms && first->job->waits.ms &&
           e->job->waits.ms < decided && first->job->waits.ms < decided &&
           are_alike(&first->job->manifest, &e->job->manifest);
}

static void check_after(struct audit *audit, const struct entry *first, const struct entry *end)
{
    for (const struct entry *e = first + 1; e < end && e->job->submitted.ms == first->job->submitted.ms; e++)
        if (overtakes(e, first))
            audit_fail(audit,
                       "§8.2: job %s is placed with epoch %" PRIu64 ", and job %s with epoch %" PRIu64
                       ", though it is like it and before it in the queue",
                       audit_uid(e->job->uid), e->epoch, audit_uid(first->job->uid), first->epoch);
}

void audit_check_order(struct audit *audit)
{
    struct entry *entries = tf_calloc(HASH_COUNT(audit->jobs) + 1, sizeof *entries);
    size_t count = 0;
    for (const struct audit_job *job = audit->jobs; job; job = job->hh.next) {
        uint64_t epoch = is_plain(job) ? first_epoch(job) : 0;
        if (epoch)
            entries[count++] = (struct entry){job, epoch};
    }
    qsort(entries, count, sizeof *entries, entry_cmp);
    for (size_t i = 0; i < count; i++)
        check_after(audit, &entries[i], entries + count);
    free(entries);
}
