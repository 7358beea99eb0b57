/* SPDX-License-Identifier: Apache-2.0 */
/* What clients ask and are answered: I1 of DESIGN.md §9. */
#include "common/base/text.h"
#include "tools/fedsim/audit/facts.h"

#include <inttypes.h>

void audit_submit_asked(struct audit *audit, struct tf_uid uid, const struct tf_job_manifest *manifest)
{
    struct audit_job *job = audit_job(audit, uid);
    if (!job->asked)
        tf_job_manifest_copy(&job->manifest, manifest);
    job->asked = true;
}

void audit_submit_acked(struct audit *audit, struct tf_uid uid)
{
    struct audit_job *job = audit_job(audit, uid);
    audit->counts.submits++;
    job->acked = true;
    if (!job->stored && !job->archived)
        audit_fail(audit, "I1: the submit of job %s is acknowledged, but it is not stored", audit_uid(uid));
}

/* Job names are unique in their tenant (DESIGN.md §3.1). */
void audit_name_taken(struct audit *audit, struct tf_uid uid)
{
    const struct audit_job *job = audit_job(audit, uid);
    for (const struct audit_job *other = audit->jobs; other; other = other->hh.next)
        if (other != job && other->version && tf_str_eq(other->manifest.tenant, job->manifest.tenant) &&
            tf_str_eq(other->manifest.name, job->manifest.name))
            return;
    audit_fail(audit,
               "I1: the submit of job %s/%s is refused for its name, which no job of that tenant ever had",
               job->manifest.tenant, job->manifest.name);
}

void audit_delete_asked(struct audit *audit, struct tf_uid uid)
{
    audit_job(audit, uid)->delete_asked = true;
}

void audit_delete_acked(struct audit *audit, struct tf_uid uid)
{
    struct audit_job *job = audit_job(audit, uid);
    audit->counts.deletes++;
    job->delete_acked = true;
    if (job->stored ? !job->record->deleted : !job->archived)
        audit_fail(audit, "I1: the delete of job %s is acknowledged, but it is not stored", audit_uid(uid));
}

void audit_hold_asked(struct audit *audit, struct tf_uid uid)
{
    audit_job(audit, uid)->hold_asked = true;
}

void audit_scale_asked(struct audit *audit, struct tf_uid uid)
{
    audit_job(audit, uid)->scale_asked = true;
}

void audit_restart_asked(struct audit *audit, struct tf_uid uid, struct tf_uid again,
                         const struct tf_job_manifest *manifest)
{
    audit_job(audit, uid)->hold_asked = true;
    audit_submit_asked(audit, again, manifest);
}

void audit_shown(struct audit *audit, struct tf_uid uid, uint64_t version)
{
    const struct audit_job *job = audit_job(audit, uid);
    if (version > job->version)
        audit_fail(audit,
                   "§2: a client is shown version %" PRIu64 " of job %s, of which %" PRIu64 " is stored",
                   version, audit_uid(uid), job->version);
}

void audit_not_found(struct audit *audit, struct tf_uid uid)
{
    const struct audit_job *job = audit_job(audit, uid);
    if (job->acked && job->stored)
        audit_fail(audit, "I1: a client is told that job %s, which is acknowledged and stored, is not there",
                   audit_uid(uid));
}
