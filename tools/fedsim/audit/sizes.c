/* SPDX-License-Identifier: Apache-2.0 */
/* I4 of DESIGN.md §9: what a store says of a live epoch's size is a size that its job can use. */
#include "tools/fedsim/audit/facts.h"

#include <inttypes.h>

/* Members: not those that leave, nor those that have not joined. */
static int32_t members_of(const struct tf_allocation *a)
{
    int32_t count = 0;
    tf_vec_each (m, &a->members)
        count += m->state != TF_MEMBER_LEAVING && m->state != TF_MEMBER_GONE && m->role != TF_MEMBER_JOINS &&
                 m->role != TF_MEMBER_MOVES_IN && m->role != TF_MEMBER_MOVES_OUT;
    return count;
}

void audit_check_size(struct audit *audit, const struct audit_site *site, const struct tf_allocation *a)
{
    const struct tf_elastic *e = &a->spec->elastic;
    int32_t n = members_of(a);
    if (a->phase != TF_ALLOCATION_STARTING && a->phase != TF_ALLOCATION_RUNNING)
        return;
    if (n != a->size)
        audit_fail(audit, "I4: %s has job %s with %d members, and says that its size is %d", site->name,
                   audit_uid(a->uid), n, a->size);
    else if (n % e->step != 0 || n > e->max)
        audit_fail(audit, "I4: %s has job %s with %d members, of which it can use steps of %d, at most %d",
                   site->name, audit_uid(a->uid), n, e->step, e->max);
    else if (n < e->min && a->phase == TF_ALLOCATION_RUNNING && a->short_since.ms == 0)
        audit_fail(audit,
                   "I4: %s has job %s with %d members below its min %d, and does not say that it is short",
                   site->name, audit_uid(a->uid), n, e->min);
}
