/* SPDX-License-Identifier: Apache-2.0 */
/* The leader's question what would be done with a placement (DESIGN.md §7, Questions). The answer is the
 * decision itself, taken on a copy of the state's head and told instead of carried out. */
#include "common/base/cleanup.h"
#include "subcluster/core/decide.h"
#include "subcluster/core/head.h"
#include "subcluster/core/members.h"
#include "subcluster/core/reservation.h"
#include "subcluster/core/size.h"

/* ---- where ---- */

/* The node's entry: packings and claims may mention a node more than once. */
static struct tf_plan_node *node_of(struct tf_place_plan *out, const char *name)
{
    for (size_t i = out->nodes.count; i-- > 0;) /* mostly the last one */
        if (strcmp(out->nodes.items[i].node, name) == 0)
            return &out->nodes.items[i];
    struct tf_plan_node *node = tf_vec_add(&out->nodes);
    node->node = tf_strdup(name);
    return node;
}

static void add_started(const struct sub *sub, const struct tf_entry *entry,
                        const struct tf_fit_placement *packing, struct tf_place_plan *out)
{
    int32_t gpus = entry->spec->group.shape.gpus;
    tf_vec_each (row, &packing->rows) {
        const struct ledger_node *node = sub->ledger.nodes.items[row->row];
        struct tf_plan_node *at = node_of(out, node->node.name);
        at->instances += row->each;
        uint64_t kept = reservation_gpus(sub, entry, node), free = ledger_free_gpus(node);
        at->gpus = tf_gpu_set_pick(kept, free, 0, at->instances * gpus);
    }
    out->size = packing->instances;
}

static int64_t stop_time(const struct tf_group *group)
{
    return group->stop_delay + group->grace;
}

static int64_t longer(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Who holds a claimed GPU now stops in that time, or has begun to; without GPUs it is not known whose cores
 * are waited for: all that go may be. */
static int64_t wait_on(const struct sub *sub, const struct tf_claim *claim)
{
    int64_t longest = 0;
    const struct ledger_node *node = ledger_find(&sub->ledger, claim->node);
    tf_vec_each (h, &node->holdings) {
        const struct job *job = job_find(sub, h->uid);
        bool in_the_way = claim->gpus ? (h->hold.gpus & claim->gpus) != 0 : h->hold.level == TF_LEVEL_GOING;
        if (job && in_the_way)
            longest = longer(longest, stop_time(&job->record.spec->group));
    }
    return longest;
}

static void add_claimed(const struct sub *sub, const struct tf_entry *entry, const struct reclaim_plan *plan,
                        struct tf_place_plan *out)
{
    tf_vec_each (claim, &plan->claims) {
        struct tf_plan_node *at = node_of(out, claim->node);
        at->instances++;
        at->gpus |= claim->gpus;
        out->wait = longer(out->wait, wait_on(sub, claim));
    }
    out->size = entry->spec->elastic.min;
}

/* ---- who gives way ---- */

static bool goes(const struct evicted_job *gone, int32_t mark)
{
    if (gone->whole)
        return true;
    tf_vec_each (m, &gone->marks)
        if (*m == mark)
            return true;
    return false;
}

static void add_victim(const struct sub *sub, const struct job *job, const struct evicted_job *gone,
                       struct tf_place_plan *out)
{
    char level[TF_LEVEL_TEXT];
    struct tf_plan_victim *victim = tf_vec_add(&out->victims);
    victim->tenant = tf_strdup(job->record.tenant);
    victim->name = tf_strdup(job->record.name);
    victim->uid = gone->uid;
    victim->whole = gone->whole;
    victim->size = size_of(&job->record);
    victim->level = tf_strdup(tf_level_name(gone->level, &sub->policy.classes, level));
    victim->lost_gpu_seconds = gone->lost_gpu_seconds;
    tf_vec_each (m, &job->record.members)
        victim->instances += member_stays(m->state) && goes(gone, m->mark);
    if (claims_only(job)) /* it has not begun */
        victim->size = victim->instances = (int32_t)job->record.claims.count;
}

static void add_victims(const struct sub *sub, const struct reclaim_plan *plan, struct tf_place_plan *out)
{
    tf_vec_each (gone, &plan->evicted) {
        const struct job *job = job_find(sub, gone->uid);
        if (!job || (gone->waits && !claims_only(job)))
            continue; /* a move that is rolled back, or what a running job claims: nobody loses anything */
        out->jobs++;
        out->lost_gpu_seconds += gone->lost_gpu_seconds;
        if (job->record.members.count)
            out->wait = longer(out->wait, stop_time(&job->record.spec->group));
        if (out->victims.count < TF_PLAN_VICTIMS_MAX)
            add_victim(sub, job, gone, out);
    }
}

/* ---- the answer ---- */

static void set_model(const struct sub *sub, int32_t model, struct tf_place_plan *out)
{
    if (model >= 0)
        out->model = tf_strdup(tf_intern_text(&ledger_view(&sub->ledger).catalog->models, model));
}

static void tell(const struct sub *sub, const struct tf_entry *entry, struct place_decision *decision,
                 struct tf_place_plan *out)
{
    switch (decision->verdict) {
    case PLACE_STARTS:
        add_started(sub, entry, &decision->packing, out);
        set_model(sub, decision->packing.model, out);
        break;
    case PLACE_CLAIMS:
        add_claimed(sub, entry, &decision->plan, out);
        add_victims(sub, &decision->plan, out);
        set_model(sub, decision->plan.model, out);
        break;
    case PLACE_REFUSED:
        out->reason = decision->reason;
        out->text = TF_STEAL(decision->text);
    }
}

void sub_plan_place(const struct sub *sub, struct tf_now now, const struct tf_entry *entry,
                    struct tf_place_plan *out)
{
    *out = (struct tf_place_plan){0};
    if (!sub->listed || sub->unsure) {
        out->reason = TF_REASON_NOT_CONSIDERED_YET;
        out->text = tf_strdup("its engine has not told yet of all that runs there");
        return;
    }
    struct sub head = head_of(sub, now);
    struct place_decision decision;
    place_decide(&head, entry, &decision);
    tell(sub, entry, &decision, out);
    place_decision_release(&decision);
    head_release(&head);
}
