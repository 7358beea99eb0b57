/* SPDX-License-Identifier: Apache-2.0 */
/* Owns at which level each member holds what it has. What a level leaves to others is the ledger's. */
#include "subcluster/core/levels.h"

#include "subcluster/core/members.h"
#include "subcluster/core/reclaim.h"
#include "subcluster/core/stakes.h"

/* A class that the policy does not know (any more) is held at the highest rank: nobody may take it. */
int class_rank(const struct sub *sub, const struct tf_job_spec *spec)
{
    int rank = tf_classes_rank(&sub->policy.classes, spec->priority ? spec->priority : "");
    return rank >= 0 ? rank : TF_CLASSES_MAX - 1;
}

tf_level job_core_level(const struct sub *sub, const struct job *job)
{
    int rank = class_rank(sub, job->record.spec), ceiling = tf_policy_ceiling_rank(&sub->policy);
    bool is_protected = job->protected_until.ms != TF_NEVER.ms && rank < ceiling;
    return is_protected ? tf_level_protected(ceiling) : tf_level_core(rank);
}

tf_level member_level(const struct sub *sub, const struct job *job, const struct tf_member *member)
{
    const struct tf_allocation *record = &job->record;
    if (record->phase == TF_ALLOCATION_ENDING || member->state == TF_MEMBER_LEAVING)
        return TF_LEVEL_GOING;
    if (member->role == TF_MEMBER_MOVES_OUT)
        return TF_LEVEL_TOP; /* until it may be stopped, which is soon, or is the member again */
    if (member->role == TF_MEMBER_MOVES_IN && member->mark == 0)
        return tf_level_core(class_rank(sub, record->spec)); /* nothing runs there that could lose a slice */
    return member->mark == 0 ? job_core_level(sub, job) : tf_level_surplus(class_rank(sub, record->spec));
}

static void tell_ledger(struct sub *sub, const struct job *job, const struct tf_member *m)
{
    ledger_set_stake(&sub->ledger, job->record.uid, m, member_stake(sub, job, m));
    ledger_set_level(&sub->ledger, job->record.uid, m, member_level(sub, job, m));
}

void members_set_levels(struct sub *sub, struct job *job)
{
    tf_vec_each (m, &job->record.members)
        if (member_holds(m->state))
            tell_ledger(sub, job, m);
    if (job->record.claims.count)
        reclaim_set_levels(sub, job);
}
