/* SPDX-License-Identifier: Apache-2.0 */
/* Owns when a start speaks for or against the GPUs it was given. What is remembered of a GPU is
 * common/model/cordon.h's, what a suspect one is kept from the ledger's. */
#include "subcluster/core/gpu_starts.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "subcluster/core/members.h"
#include "subcluster/core/outbox.h"
#include "subcluster/core/trace.h"

static bool is_ready_elsewhere(const struct tf_allocation *record, const struct tf_member *but)
{
    tf_vec_each (m, &record->members)
        if (m != but && member_counts(m) && (m->state == TF_MEMBER_READY || m->state == TF_MEMBER_DONE) &&
            (!tf_str_eq(m->node, but->node) || !(m->gpus & but->gpus)))
            return true;
    return false;
}

static void suspect(struct sub *sub, struct ledger_node *node, uint64_t gpus, const char *why)
{
    char text[TF_GPU_SET_TEXT];
    TF_AUTO_FREE char *reason =
        tf_asprintf("%d starts in a row failed there, of jobs that run elsewhere; the latest: %.300s",
                    sub->boot.health.suspect_after, why);
    if (!tf_cordon_suspect(&node->cordon, gpus, TF_GPU_BY_STARTS, reason, sub->now.wall))
        return;
    tf_reached(sub, SUB_GPU_SUSPECT);
    ledger_cordoned(&sub->ledger, node);
    trace(sub, "node %s GPU %s is suspect: %s", node->node.name, tf_gpu_set_format(gpus, text), reason);
}

void gpu_start_failed(struct sub *sub, const struct job *job, size_t place, const char *why)
{
    const struct tf_member *m = &job->record.members.items[place];
    struct ledger_node *node = m->node && m->gpus ? ledger_find(&sub->ledger, m->node) : NULL;
    int32_t most = sub->boot.health.suspect_after;
    if (!node || most == 0 || !is_ready_elsewhere(&job->record, m))
        return;
    uint64_t enough = tf_cordon_start_failed(&node->cordon, m->gpus, job->record.uid, most);
    if (enough)
        suspect(sub, node, enough, why);
    out_touch_node(sub, node->node.name);
}

void gpu_start_worked(struct sub *sub, const struct tf_member *m)
{
    struct ledger_node *node = m->node && m->gpus ? ledger_find(&sub->ledger, m->node) : NULL;
    if (node && tf_cordon_start_worked(&node->cordon, m->gpus))
        out_touch_node(sub, node->node.name);
}
