/* SPDX-License-Identifier: Apache-2.0 */
/* The state, for reading. */
#include "federation/core/cluster.h"
#include "federation/core/jobs.h"

#include <assert.h>

bool fed_is_open(const struct fed *fed)
{
    return fed->stage == FED_STAGE_OPEN && !fed->closed && !fed->waits_for_all;
}

struct tf_term fed_term(const struct fed *fed)
{
    return fed->term;
}

TF_SITUATIONS_DEFINE(fed, FED_SITUATIONS_EXPECTED, FED_SITUATIONS_OTHER);

const struct fed_situations *fed_reached(const struct fed *fed)
{
    return &fed->reached;
}

size_t fed_job_count(const struct fed *fed)
{
    return fed->jobs.count;
}

static const struct tf_job_record *record_of(const struct job *job)
{
    return job ? &job->record : NULL;
}

const struct tf_job_record *fed_job_find(const struct fed *fed, const char *tenant, const char *name)
{
    return record_of(fed_job_by_name(fed, tenant, name));
}

const struct tf_job_record *fed_job_find_uid(const struct fed *fed, struct tf_uid uid)
{
    return record_of(fed_job_by_uid(fed, uid));
}

const struct tf_job_record *fed_job_next(const struct fed *fed, const char *tenant, const char *name)
{
    return record_of(tenant ? fed_job_after(fed, tenant, name) : fed_job_first(fed));
}

const struct tf_job_record *fed_job_moving(const struct fed *fed, size_t i)
{
    return i < fed->moving.count ? &fed->moving.items[i]->record : NULL;
}

const struct tf_job_record *fed_job_moved(const struct fed *fed, size_t i)
{
    return i < fed->moved.count ? &fed->moved.items[i]->record : NULL;
}

const struct fed_moves_over *fed_moves_over(const struct fed *fed)
{
    return &fed->moves_over;
}

const struct tf_report *fed_job_report(const struct fed *fed, const struct tf_job_record *record)
{
    const struct job *job = fed_job_by_uid(fed, record->uid);
    return job ? job->report : NULL;
}

const struct tf_freezes *fed_freezes(const struct fed *fed)
{
    return &fed->freezes;
}

size_t fed_cluster_count(const struct fed *fed)
{
    return fed->clusters.count;
}

struct fed_cluster_view fed_cluster_at(const struct fed *fed, size_t index)
{
    assert(index < fed->clusters.count);
    const struct cluster *c = fed->clusters.items[index];
    return (struct fed_cluster_view){.record = &c->record,
                                     .profile = c->profile,
                                     .hello = c->hello,
                                     .attached = c->link != 0,
                                     .stopped = !c->link && fed_cluster_stopped_at(c).ms,
                                     .lost = c->lost,
                                     .link = c->link,
                                     .contact = c->contact,
                                     .placements = (int32_t)c->placed.count};
}
