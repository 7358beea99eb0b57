/* SPDX-License-Identifier: Apache-2.0 */
/* Which subclusters refused a job, and until when it is not tried there again. The rows of the record
 * remember how often; what is in force is in memory, on the monotonic clock. */
#include "federation/core/refusals.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "federation/core/cluster.h"
#include "federation/core/queue.h"

#include <assert.h>

enum { TEXT_BYTES = 300 };

int fed_refused_cmp(const struct tf_tree_node *a, const struct tf_tree_node *b)
{
    const struct job *x = TF_CONTAINER_OF(a, struct job, refused),
                     *y = TF_CONTAINER_OF(b, struct job, refused);
    if (x->refusals_due.ms != y->refusals_due.ms)
        return x->refusals_due.ms < y->refusals_due.ms ? -1 : 1;
    return tf_uid_cmp(x->record.uid, y->record.uid);
}

static struct tf_refusal *find(struct tf_job_record *r, const char *cluster)
{
    tf_vec_each (refusal, &r->refusals)
        if (strcmp(refusal->cluster, cluster) == 0)
            return refusal;
    return NULL;
}

static void remove_row(struct tf_job_record *r, struct tf_refusal *refusal)
{
    tf_refusal_release(refusal);
    tf_vec_remove(&r->refusals, (size_t)(refusal - r->refusals.items));
}

static int64_t wait_ms(const struct fed *fed, int32_t times)
{
    int64_t wait = fed->settings.refusal_backoff, longest = fed->settings.refusal_backoff_max;
    for (int32_t i = 1; i < times && wait < longest; i++)
        wait *= 2;
    return wait < longest ? wait : longest;
}

static struct refusal_wait *find_wait(const struct job *job, const struct cluster *cluster)
{
    tf_vec_each (wait, &job->refusals)
        if (wait->cluster == cluster)
            return wait;
    return NULL;
}

/* Files the job by the earliest end of its waits. */
static void file_refused(struct fed *fed, struct job *job)
{
    if (tf_tree_linked(&job->refused))
        tf_tree_remove(&fed->refused, &job->refused);
    job->refusals_due = TF_NEVER;
    tf_vec_each (wait, &job->refusals)
        if (wait->until.ms < job->refusals_due.ms)
            job->refusals_due = wait->until;
    if (job->refusals.count)
        tf_tree_insert(&fed->refused, &job->refused);
}

/* What the engine will not start it will not start on other nodes either, and the attempt itself changes the
 * profile. */
static bool lasts(enum tf_reason reason)
{
    return reason == TF_REASON_ENGINE || reason == TF_REASON_FENCE_UNSUPPORTED;
}

static void put_in_force(struct fed *fed, struct job *job, struct cluster *cluster, int64_t ms,
                         enum tf_reason why)
{
    struct refusal_wait *wait = find_wait(job, cluster);
    if (!wait)
        wait = tf_vec_add(&job->refusals);
    *wait = (struct refusal_wait){cluster, {fed->now.mono.ms + ms}, cluster->profiles, lasts(why)};
    file_refused(fed, job);
}

void fed_refusals_add(struct fed *fed, struct job *job, struct cluster *cluster, enum tf_reason reason,
                      const char *text)
{
    struct tf_job_record *r = &job->record;
    struct tf_refusal *refusal = find(r, cluster->record.name);
    if (!refusal) {
        if (r->refusals.count == TF_REFUSALS_MAX)
            remove_row(r, &r->refusals.items[0]);
        refusal = tf_vec_add(&r->refusals);
        refusal->cluster = tf_strdup(cluster->record.name);
    }
    refusal->times++;
    tf_reached(fed, FED_REFUSED);
    tf_reached_if(refusal->times > 1, fed, FED_REFUSED_AGAIN);
    refusal->reason = reason;
    free(refusal->text);
    refusal->text = text ? tf_strndup(text, TEXT_BYTES) : NULL;
    if (refusal->text)
        tf_utf8_trim(refusal->text);
    refusal->until.ms = fed->now.wall.ms + wait_ms(fed, refusal->times);
    put_in_force(fed, job, cluster, wait_ms(fed, refusal->times), reason);
}

bool fed_refusals_accepted(struct fed *fed, struct job *job)
{
    struct tf_job_record *r = &job->record;
    bool any = r->refusals.count != 0;
    while (r->refusals.count)
        remove_row(r, &r->refusals.items[r->refusals.count - 1]);
    fed_refusals_clear(fed, job);
    return any;
}

void fed_refusals_load(struct fed *fed, struct job *job)
{
    tf_vec_each (refusal, &job->record.refusals) {
        int64_t left = refusal->until.ms - fed->now.wall.ms;
        int64_t longest = wait_ms(fed, refusal->times);
        struct cluster *cluster = fed_cluster_by_name(fed, refusal->cluster);
        if (left <= 0 || !cluster)
            continue;
        tf_reached(fed, FED_LOADED_REFUSALS);
        put_in_force(fed, job, cluster, left < longest ? left : longest, refusal->reason);
    }
}

void fed_refusals_clear(struct fed *fed, struct job *job)
{
    tf_vec_release(&job->refusals);
    file_refused(fed, job);
}

bool fed_refusals_any(const struct job *job)
{
    return job->refusals.count != 0;
}

static bool in_force(const struct fed *fed, const struct refusal_wait *wait)
{
    return fed->now.mono.ms < wait->until.ms && (wait->lasts || wait->cluster->profiles == wait->profiles);
}

bool fed_refusals_hold(const struct fed *fed, const struct job *job, const struct cluster *cluster)
{
    const struct refusal_wait *wait = find_wait(job, cluster);
    return wait && in_force(fed, wait);
}

bool fed_refusals_last(const struct job *job, const struct cluster *cluster)
{
    const struct refusal_wait *wait = find_wait(job, cluster);
    return wait && wait->lasts;
}

static void expire_job(struct fed *fed, struct job *job)
{
    size_t before = job->refusals.count;
    for (size_t i = before; i-- > 0;)
        if (!in_force(fed, &job->refusals.items[i])) {
            tf_reached_if(fed->now.mono.ms < job->refusals.items[i].until.ms, fed, FED_REFUSAL_LIFTED);
            tf_vec_remove(&job->refusals, i);
        }
    if (job->refusals.count == before)
        return;
    bool waits = job->shape != NULL;
    fed_queue_remove(fed, job);
    file_refused(fed, job);
    if (waits)
        fed_queue_add(fed, job);
}

void fed_refusals_expire(struct fed *fed)
{
    struct tf_tree_node *next;
    for (struct tf_tree_node *at = tf_tree_first(&fed->refused); at; at = next) {
        next = tf_tree_next(at);
        struct job *job = TF_CONTAINER_OF(at, struct job, refused);
        if (!fed->more_room && job->refusals_due.ms > fed->now.mono.ms)
            break;
        expire_job(fed, job);
    }
}

struct tf_mono fed_refusals_next(const struct fed *fed)
{
    struct tf_tree_node *first = tf_tree_first(&fed->refused);
    return first ? TF_CONTAINER_OF(first, struct job, refused)->refusals_due : TF_NEVER;
}
