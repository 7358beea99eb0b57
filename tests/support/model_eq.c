/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/model_eq.h"

#include "common/base/text.h"

static bool eq_topology_rule(const struct tf_topology_rule *a, const struct tf_topology_rule *b)
{
    EQ_BEGIN(struct tf_topology_rule);
    EQ_STR(plane);
    EQ_STR(within);
    return EQ_END;
}

bool eq_job_spec(const struct tf_job_spec *a, const struct tf_job_spec *b)
{
    EQ_BEGIN(struct tf_job_spec);
    EQ_STR(reserve.owner.tenant);
    EQ_STR(reserve.owner.job);
    EQ_STR(reserve.owner.selector);
    EQ_STR(priority);
    EQ_WITH(group.shape.gpu_models, tf_strs_eq);
    EQ_STR(group.image);
    EQ_WITH(group.command, tf_strs_eq);
    EQ_WITH(group.env, tf_pairs_eq);
    EQ_WITH(group.ports, tf_strs_eq);
    EQ_WITH(group.ready.command, tf_strs_eq);
    EQ_LIST(topology, eq_topology_rule);
    EQ_WITH(node_labels, tf_pairs_eq);
    EQ_STR(resize_signal);
    EQ_WITH(clusters, tf_strs_eq);
    EQ_WITH(regions, tf_strs_eq);
    return EQ_END;
}

static bool eq_shared_spec(const struct tf_job_spec **a, const struct tf_job_spec **b)
{
    return *a && *b ? eq_job_spec(*a, *b) : *a == *b;
}

bool eq_job_manifest(const struct tf_job_manifest *a, const struct tf_job_manifest *b)
{
    EQ_BEGIN(struct tf_job_manifest);
    EQ_STR(tenant);
    EQ_STR(name);
    EQ_WITH(labels, tf_pairs_eq);
    EQ_WITH(spec, eq_job_spec);
    return EQ_END;
}

bool eq_member(const struct tf_member *a, const struct tf_member *b)
{
    EQ_BEGIN(struct tf_member);
    EQ_STR(node);
    EQ_WITH(ports, tf_strs_eq);
    return EQ_END;
}

bool eq_ended(const struct tf_ended *a, const struct tf_ended *b)
{
    EQ_BEGIN(struct tf_ended);
    EQ_STR(message);
    EQ_STR(output);
    return EQ_END;
}

bool eq_job_event(const struct tf_job_event *a, const struct tf_job_event *b)
{
    EQ_BEGIN(struct tf_job_event);
    EQ_STR(type);
    EQ_STR(text);
    return EQ_END;
}

static bool eq_note(const struct tf_note *a, const struct tf_note *b)
{
    EQ_BEGIN(struct tf_note);
    EQ_STR(text);
    return EQ_END;
}

bool eq_node(const struct tf_node *a, const struct tf_node *b)
{
    EQ_BEGIN(struct tf_node);
    EQ_STR(name);
    EQ_STR(address);
    EQ_STR(model);
    EQ_WITH(labels, tf_pairs_eq);
    EQ_WITH(domains, tf_strs_eq);
    return EQ_END;
}

static bool eq_class(const struct tf_class *a, const struct tf_class *b)
{
    EQ_BEGIN(struct tf_class);
    EQ_STR(name);
    return EQ_END;
}

bool eq_policy(const struct tf_policy *a, const struct tf_policy *b)
{
    EQ_BEGIN(struct tf_policy);
    EQ_LIST(classes, eq_class);
    EQ_STR(ceiling);
    EQ_WITH(schedule_labels, tf_strs_eq);
    EQ_WITH(freezes, tf_freezes_eq);
    EQ_WITH(shapes, tf_shapes_eq);
    return EQ_END;
}

static bool eq_plane(const struct tf_plane *a, const struct tf_plane *b)
{
    EQ_BEGIN(struct tf_plane);
    EQ_STR(name);
    EQ_WITH(levels, tf_strs_eq);
    return EQ_END;
}

static bool eq_node_class(const struct tf_node_class *a, const struct tf_node_class *b)
{
    EQ_BEGIN(struct tf_node_class);
    EQ_STR(model);
    EQ_WITH(domains, tf_strs_eq);
    EQ_WITH(labels, tf_pairs_eq);
    return EQ_END;
}

static bool eq_level_vector(const struct tf_level_vector *a, const struct tf_level_vector *b)
{
    EQ_BEGIN(struct tf_level_vector);
    return EQ_END;
}

static bool eq_reserved(const struct tf_reserved *a, const struct tf_reserved *b)
{
    EQ_BEGIN(struct tf_reserved);
    return EQ_END;
}

static bool eq_row(const struct tf_profile_row *a, const struct tf_profile_row *b)
{
    EQ_BEGIN(struct tf_profile_row);
    EQ_LIST(levels, eq_level_vector);
    EQ_LIST(reserved, eq_reserved);
    return EQ_END;
}

static bool eq_short(const struct tf_short_demand *a, const struct tf_short_demand *b)
{
    EQ_BEGIN(struct tf_short_demand);
    return EQ_END;
}

static bool eq_cost(const struct tf_level_cost *a, const struct tf_level_cost *b)
{
    EQ_BEGIN(struct tf_level_cost);
    return EQ_END;
}

static bool eq_vacatable(const struct tf_vacatable *a, const struct tf_vacatable *b)
{
    EQ_BEGIN(struct tf_vacatable);
    return EQ_END;
}

static bool eq_emptying(const struct tf_emptying *a, const struct tf_emptying *b)
{
    EQ_BEGIN(struct tf_emptying);
    EQ_STR(owner);
    return EQ_END;
}

bool eq_profile(const struct tf_profile *a, const struct tf_profile *b)
{
    EQ_BEGIN(struct tf_profile);
    EQ_LIST(planes, eq_plane);
    EQ_LIST(classes, eq_node_class);
    EQ_LIST(rows, eq_row);
    EQ_LIST(shorts, eq_short);
    EQ_LIST(costs, eq_cost);
    EQ_LIST(vacatable, eq_vacatable);
    EQ_WITH(moving_for, tf_strs_eq);
    EQ_LIST(emptying, eq_emptying);
    return EQ_END;
}

static bool eq_placement(const struct tf_placement *a, const struct tf_placement *b)
{
    EQ_BEGIN(struct tf_placement);
    EQ_STR(cluster);
    EQ_STR(model);
    return EQ_END;
}

static bool eq_refusal(const struct tf_refusal *a, const struct tf_refusal *b)
{
    EQ_BEGIN(struct tf_refusal);
    EQ_STR(cluster);
    EQ_STR(text);
    return EQ_END;
}

bool eq_cross(const struct tf_cross *a, const struct tf_cross *b)
{
    EQ_BEGIN(struct tf_cross);
    EQ_STR(from);
    EQ_STR(to);
    EQ_STR(why);
    EQ_STR(reason);
    EQ_STR(user);
    return EQ_END;
}

static bool eq_job_record(const struct tf_job_record *a, const struct tf_job_record *b)
{
    EQ_BEGIN(struct tf_job_record);
    EQ_STR(tenant);
    EQ_STR(name);
    EQ_WITH(labels, tf_pairs_eq);
    EQ_WITH(spec, eq_shared_spec);
    EQ_STR(user);
    EQ_LIST(placements, eq_placement);
    EQ_LIST(refusals, eq_refusal);
    EQ_LIST(events, eq_job_event);
    EQ_STR(message);
    EQ_STR(output);
    EQ_STR(last_cluster);
    EQ_WITH(evicted, tf_evicted_eq);
    EQ_STR(claims_in);
    EQ_WITH(cross, eq_cross);
    return EQ_END;
}

static bool eq_left_alone(const struct tf_left_alone *a, const struct tf_left_alone *b)
{
    return tf_uid_eq(a->uid, b->uid) && a->epoch == b->epoch;
}

static bool eq_cluster_record(const struct tf_cluster_record *a, const struct tf_cluster_record *b)
{
    EQ_BEGIN(struct tf_cluster_record);
    EQ_STR(name);
    EQ_STR(region);
    EQ_WITH(labels, tf_pairs_eq);
    EQ_STR(cordon_reason);
    EQ_LIST(events, eq_job_event);
    EQ_LIST(left_alone, eq_left_alone);
    return EQ_END;
}

static bool eq_summary_record(const struct tf_summary_record *a, const struct tf_summary_record *b)
{
    EQ_BEGIN(struct tf_summary_record);
    EQ_STR(name);
    return EQ_END;
}

static bool eq_claim(const struct tf_claim *a, const struct tf_claim *b)
{
    EQ_BEGIN(struct tf_claim);
    EQ_STR(node);
    return EQ_END;
}

static bool eq_allocation(const struct tf_allocation *a, const struct tf_allocation *b)
{
    EQ_BEGIN(struct tf_allocation);
    EQ_STR(tenant);
    EQ_STR(name);
    EQ_WITH(spec, eq_shared_spec);
    EQ_STR(model);
    EQ_LIST(members, eq_member);
    EQ_LIST(claims, eq_claim);
    EQ_WITH(evicted, tf_evicted_eq);
    EQ_WITH(ending, eq_ended);
    EQ_LIST(ended, eq_ended);
    EQ_LIST(notes, eq_note);
    return EQ_END;
}

static bool eq_node_claim(const struct tf_node_claim *a, const struct tf_node_claim *b)
{
    EQ_BEGIN(struct tf_node_claim);
    EQ_STR(tenant);
    EQ_STR(name);
    EQ_WITH(spec, eq_shared_spec);
    EQ_WITH(nodes, tf_strs_eq);
    return EQ_END;
}

static bool eq_move(const struct tf_move *a, const struct tf_move *b)
{
    EQ_BEGIN(struct tf_move);
    EQ_STR(tenant);
    EQ_STR(name);
    EQ_STR(from);
    EQ_STR(wanted);
    EQ_WITH(claim, eq_claim);
    EQ_STR(why);
    return EQ_END;
}

bool eq_migration(const struct tf_migration *a, const struct tf_migration *b)
{
    EQ_BEGIN(struct tf_migration);
    EQ_WITH(empties, tf_strs_eq);
    EQ_STR(owner);
    EQ_STR(reason);
    EQ_STR(user);
    EQ_LIST(moves, eq_move);
    return EQ_END;
}

bool eq_record(const struct tf_record *a, const struct tf_record *b)
{
    if (a->kind != b->kind || a->gone != b->gone)
        return false;
    switch (a->kind) {
    case TF_RECORD_EPOCH:
    case TF_RECORD_FLOOR:
    case TF_RECORD_ROLLBACK:
        return a->number == b->number;
    case TF_RECORD_TERM:
        return tf_term_cmp(a->term, b->term) == 0;
    case TF_RECORD_JOB:
        return eq_job_record(&a->job, &b->job);
    case TF_RECORD_CLUSTER:
        return eq_cluster_record(&a->cluster, &b->cluster);
    case TF_RECORD_SUMMARY:
        return eq_summary_record(&a->summary, &b->summary);
    case TF_RECORD_POLICY:
        return eq_policy(&a->policy, &b->policy);
    case TF_RECORD_ALLOCATION:
        return eq_allocation(&a->allocation, &b->allocation);
    case TF_RECORD_CORDON:
        return tf_cordon_eq(&a->cordon, &b->cordon);
    case TF_RECORD_FREEZE:
        return tf_freezes_eq(&(struct tf_freezes){.items = (struct tf_freeze *)&a->freeze, .count = 1},
                             &(struct tf_freezes){.items = (struct tf_freeze *)&b->freeze, .count = 1});
    case TF_RECORD_NODE_CLAIM:
        return eq_node_claim(&a->node_claim, &b->node_claim);
    case TF_RECORD_LEADERS:
        return tf_leaders_eq(&a->leaders, &b->leaders);
    case TF_RECORD_MIGRATION:
        return eq_migration(&a->migration, &b->migration);
    case TF_RECORD_EVICTIONS:
        return a->evictions.last.ms == b->evictions.last.ms && a->evictions.count == b->evictions.count;
    case TF_RECORD_NONE:
        break;
    }
    return true;
}

static bool eq_hello(const struct tf_hello *a, const struct tf_hello *b)
{
    EQ_BEGIN(struct tf_hello);
    EQ_STR(name);
    EQ_STR(region);
    EQ_STR(version);
    EQ_WITH(labels, tf_pairs_eq);
    EQ_STR(engine);
    return EQ_END;
}

static bool eq_report(const struct tf_report *a, const struct tf_report *b)
{
    EQ_BEGIN(struct tf_report);
    EQ_STR(tenant);
    EQ_STR(name);
    EQ_WITH(ended, eq_ended);
    EQ_STR(model);
    EQ_LIST(members, eq_member);
    EQ_LIST(notes, eq_note);
    return EQ_END;
}

static bool eq_answer(const struct tf_answer *a, const struct tf_answer *b)
{
    return a->id == b->id && a->code == b->code && tf_str_eq(a->text, b->text) && a->len == b->len &&
           (a->len == 0 || memcmp(a->data, b->data, a->len) == 0);
}

bool eq_up(const struct tf_up *a, const struct tf_up *b)
{
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case TF_UP_HELLO:
        return eq_hello(&a->hello, &b->hello);
    case TF_UP_PROFILE:
        return eq_profile(&a->profile, &b->profile);
    case TF_UP_REPORT:
        return eq_report(&a->report, &b->report);
    case TF_UP_FENCE:
        return a->fence_boot_ms == b->fence_boot_ms;
    case TF_UP_ANSWER:
        return eq_answer(&a->answer, &b->answer);
    case TF_UP_STORE:
        return tf_str_eq(a->store.text, b->store.text);
    case TF_UP_LISTED:
    case TF_UP_NONE:
        break;
    }
    return true;
}

static bool eq_ref(const struct tf_reservation_ref *a, const struct tf_reservation_ref *b)
{
    EQ_BEGIN(struct tf_reservation_ref);
    return EQ_END;
}

bool eq_entry(const struct tf_entry *a, const struct tf_entry *b)
{
    EQ_BEGIN(struct tf_entry);
    EQ_LIST(reservations, eq_ref);
    EQ_WITH(evicted, tf_evicted_eq);
    EQ_STR(tenant);
    EQ_STR(name);
    EQ_WITH(spec, eq_shared_spec);
    EQ_STR(model);
    return EQ_END;
}

static bool eq_migrate_order(const struct tf_migrate_order *a, const struct tf_migrate_order *b)
{
    EQ_BEGIN(struct tf_migrate_order);
    EQ_STR(from);
    EQ_STR(to);
    EQ_STR(reason);
    EQ_STR(user);
    return EQ_END;
}

bool eq_defrag_order(const struct tf_defrag_order *a, const struct tf_defrag_order *b)
{
    EQ_BEGIN(struct tf_defrag_order);
    EQ_STR(model);
    EQ_WITH(nodes, tf_strs_eq);
    EQ_STR(plane);
    EQ_STR(within);
    EQ_STR(reason);
    EQ_STR(user);
    EQ_STR(for_job);
    return EQ_END;
}

static bool eq_ask(const struct tf_ask *a, const struct tf_ask *b)
{
    EQ_BEGIN(struct tf_ask);
    EQ_STR(node);
    EQ_STR(reason);
    EQ_LIST(place, eq_entry);
    EQ_LIST(migrate, eq_migrate_order);
    same_ = same_ && x.len == y.len && (x.len == 0 || memcmp(x.data, y.data, x.len) == 0);
    EQ_TAKE(data);
    EQ_LIST(defrag, eq_defrag_order);
    EQ_STR(domain);
    return EQ_END;
}

bool eq_down(const struct tf_down *a, const struct tf_down *b)
{
    EQ_BEGIN(struct tf_down);
    EQ_WITH(ask, eq_ask);
    EQ_WITH(policy, eq_policy);
    EQ_LIST(entries, eq_entry);
    return EQ_END;
}
