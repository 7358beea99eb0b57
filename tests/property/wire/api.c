/* SPDX-License-Identifier: Apache-2.0 */
#include "common/wire/api.h"
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "common/wire/attach.h"
#include "tests/property/wire/coverage.h"
#include "tests/support/model_eq.h"
#include "tests/support/random_api.h"
#include "tests/support/suite.h"

#include "federation.pb-c.h"

/* As model.c, for requests, replies and errors. */

/* ---- equality ---- */

static bool eq_ref(const struct tf_job_ref *a, const struct tf_job_ref *b)
{
    EQ_BEGIN(struct tf_job_ref);
    EQ_STR(tenant);
    EQ_STR(name);
    return EQ_END;
}

static bool eq_selector_term(const struct tf_selector_term *a, const struct tf_selector_term *b)
{
    EQ_BEGIN(struct tf_selector_term);
    EQ_STR(key);
    EQ_WITH(values, tf_strs_eq);
    return EQ_END;
}

static bool eq_filter(const struct tf_job_filter *a, const struct tf_job_filter *b)
{
    EQ_BEGIN(struct tf_job_filter);
    EQ_STR(tenant);
    EQ_STR(name);
    EQ_STR(cluster);
    EQ_LIST(selector, eq_selector_term);
    return EQ_END;
}

static bool eq_submit(const struct tf_submit_request *a, const struct tf_submit_request *b)
{
    EQ_BEGIN(struct tf_submit_request);
    EQ_WITH(manifest, eq_job_manifest);
    return EQ_END;
}

static bool eq_list_request(const struct tf_list_request *a, const struct tf_list_request *b)
{
    EQ_BEGIN(struct tf_list_request);
    EQ_WITH(filter, eq_filter);
    EQ_STR(page_token);
    return EQ_END;
}

static bool eq_scale(const struct tf_scale_request *a, const struct tf_scale_request *b)
{
    EQ_BEGIN(struct tf_scale_request);
    EQ_WITH(job, eq_ref);
    return EQ_END;
}

static bool eq_watch_request(const struct tf_watch_request *a, const struct tf_watch_request *b)
{
    EQ_BEGIN(struct tf_watch_request);
    EQ_WITH(filter, eq_filter);
    return EQ_END;
}

static bool eq_plan_request(const struct tf_plan_request *a, const struct tf_plan_request *b)
{
    EQ_BEGIN(struct tf_plan_request);
    EQ_WITH(manifest, eq_job_manifest);
    return EQ_END;
}

static bool eq_nodes_request(const struct tf_nodes_request *a, const struct tf_nodes_request *b)
{
    EQ_BEGIN(struct tf_nodes_request);
    EQ_STR(cluster);
    return EQ_END;
}

static bool eq_logs_request(const struct tf_logs_request *a, const struct tf_logs_request *b)
{
    EQ_BEGIN(struct tf_logs_request);
    EQ_WITH(job, eq_ref);
    return EQ_END;
}

static bool eq_cluster_request(const struct tf_cluster_request *a, const struct tf_cluster_request *b)
{
    EQ_BEGIN(struct tf_cluster_request);
    EQ_STR(cluster);
    EQ_STR(reason);
    return EQ_END;
}

static bool eq_freeze(const struct tf_freeze_request *a, const struct tf_freeze_request *b)
{
    EQ_BEGIN(struct tf_freeze_request);
    EQ_STR(cluster);
    EQ_STR(reason);
    return EQ_END;
}

static bool eq_cordon_request(const struct tf_cordon_request *a, const struct tf_cordon_request *b)
{
    EQ_BEGIN(struct tf_cordon_request);
    EQ_STR(cluster);
    EQ_STR(node);
    EQ_STR(reason);
    EQ_STR(domain);
    return EQ_END;
}

static bool eq_order(const struct tf_migrate_order *a, const struct tf_migrate_order *b)
{
    EQ_BEGIN(struct tf_migrate_order);
    EQ_STR(from);
    EQ_STR(to);
    EQ_STR(reason);
    EQ_STR(user);
    return EQ_END;
}

static bool eq_migrate(const struct tf_migrate_request *a, const struct tf_migrate_request *b)
{
    EQ_BEGIN(struct tf_migrate_request);
    EQ_STR(cluster);
    EQ_WITH(job, eq_ref);
    EQ_WITH(order, eq_order);
    EQ_STR(to_cluster);
    return EQ_END;
}

static bool eq_get_config(const struct tf_get_config_request *a, const struct tf_get_config_request *b)
{
    EQ_BEGIN(struct tf_get_config_request);
    EQ_STR(key);
    EQ_STR(cluster);
    return EQ_END;
}

static bool eq_bytes(const char *a, size_t a_len, const char *b, size_t b_len)
{
    return a_len == b_len && (a_len == 0 || memcmp(a, b, a_len) == 0);
}

static bool eq_diff_config(const struct tf_diff_config_request *a, const struct tf_diff_config_request *b)
{
    EQ_BEGIN(struct tf_diff_config_request);
    EQ_STR(name);
    EQ_STR(cluster);
    same_ = same_ && eq_bytes(a->text, a->len, b->text, b->len);
    EQ_TAKE(text);
    return EQ_END;
}

static bool eq_defrag_request(const struct tf_defrag_request *a, const struct tf_defrag_request *b)
{
    EQ_BEGIN(struct tf_defrag_request);
    EQ_STR(cluster);
    EQ_WITH(order, eq_defrag_order);
    return EQ_END;
}

static bool eq_request(const struct tf_request *a, const struct tf_request *b)
{
    if (a->method != b->method)
        return false;
    switch (a->method) {
    case TF_METHOD_SUBMIT:
        return eq_submit(&a->submit, &b->submit);
    case TF_METHOD_GET:
    case TF_METHOD_DELETE:
    case TF_METHOD_HOLD:
    case TF_METHOD_RESUME:
    case TF_METHOD_EXPLAIN:
        return eq_ref(&a->job, &b->job);
    case TF_METHOD_LIST:
    case TF_METHOD_LIST_ARCHIVE:
    case TF_METHOD_LIST_INSTANCES:
        return eq_list_request(&a->list, &b->list);
    case TF_METHOD_SCALE:
        return eq_scale(&a->scale, &b->scale);
    case TF_METHOD_WATCH:
        return eq_watch_request(&a->watch, &b->watch);
    case TF_METHOD_PLAN:
        return eq_plan_request(&a->plan, &b->plan);
    case TF_METHOD_LIST_NODES:
        return eq_nodes_request(&a->nodes, &b->nodes);
    case TF_METHOD_LOGS:
        return eq_logs_request(&a->logs, &b->logs);
    case TF_METHOD_CORDON_CLUSTER:
    case TF_METHOD_UNCORDON_CLUSTER:
    case TF_METHOD_FORGET_CLUSTER:
        return eq_cluster_request(&a->cluster, &b->cluster);
    case TF_METHOD_MIGRATE:
        return eq_migrate(&a->migrate, &b->migrate);
    case TF_METHOD_FREEZE:
        return eq_freeze(&a->freeze, &b->freeze);
    case TF_METHOD_CORDON_NODE:
    case TF_METHOD_CONFIRM_LOST:
        return eq_cordon_request(&a->cordon, &b->cordon);
    case TF_METHOD_GET_CONFIG:
        return eq_get_config(&a->get_config, &b->get_config);
    case TF_METHOD_DIFF_CONFIG:
        return eq_diff_config(&a->diff_config, &b->diff_config);
    case TF_METHOD_PLAN_DEFRAG:
    case TF_METHOD_DEFRAG:
        return eq_defrag_request(&a->defrag, &b->defrag);
    case TF_METHOD_LIST_CLUSTERS:
        return a->clusters.events == b->clusters.events;
    case TF_METHOD_STATUS:
        return true;
    case TF_METHOD_NONE:
    case TF_METHOD_COUNT:
        break;
    }
    return false;
}

static bool eq_change(const struct tf_change_reply *a, const struct tf_change_reply *b)
{
    EQ_BEGIN(struct tf_change_reply);
    EQ_WITH(warnings, tf_strs_eq);
    return EQ_END;
}

static bool eq_job(const struct tf_job_view *a, const struct tf_job_view *b)
{
    EQ_BEGIN(struct tf_job_view);
    EQ_WITH(manifest, eq_job_manifest);
    EQ_STR(user);
    EQ_STR(reason_text);
    EQ_STR(cluster);
    EQ_STR(model);
    EQ_STR(message);
    EQ_STR(output);
    EQ_LIST(members, eq_member);
    EQ_LIST(events, eq_job_event);
    return EQ_END;
}

static bool eq_list(const struct tf_list_reply *a, const struct tf_list_reply *b)
{
    EQ_BEGIN(struct tf_list_reply);
    EQ_LIST(jobs, eq_job);
    EQ_STR(next_token);
    return EQ_END;
}

static bool eq_watch_event(const struct tf_watch_event *a, const struct tf_watch_event *b)
{
    EQ_BEGIN(struct tf_watch_event);
    EQ_WITH(job, eq_job);
    return EQ_END;
}

static bool eq_blocker(const struct tf_blocker *a, const struct tf_blocker *b)
{
    EQ_BEGIN(struct tf_blocker);
    EQ_STR(text);
    EQ_STR(unblock);
    return EQ_END;
}

static bool eq_explain_row(const struct tf_explain_row *a, const struct tf_explain_row *b)
{
    EQ_BEGIN(struct tf_explain_row);
    EQ_STR(cluster);
    EQ_STR(text);
    EQ_STR(unblock);
    EQ_LIST(more, eq_blocker);
    return EQ_END;
}

static bool eq_explain(const struct tf_explain_reply *a, const struct tf_explain_reply *b)
{
    EQ_BEGIN(struct tf_explain_reply);
    EQ_STR(answer);
    EQ_LIST(rows, eq_explain_row);
    EQ_WITH(decisions, tf_strs_eq);
    EQ_WITH(job, eq_job);
    return EQ_END;
}

static bool eq_cluster(const struct tf_cluster_info *a, const struct tf_cluster_info *b)
{
    EQ_BEGIN(struct tf_cluster_info);
    EQ_STR(name);
    EQ_STR(region);
    EQ_WITH(labels, tf_pairs_eq);
    EQ_STR(cordon_reason);
    EQ_STR(version);
    EQ_STR(engine);
    EQ_LIST(events, eq_job_event);
    EQ_STR(store_trouble);
    return EQ_END;
}

static bool eq_clusters(const struct tf_clusters_reply *a, const struct tf_clusters_reply *b)
{
    EQ_BEGIN(struct tf_clusters_reply);
    EQ_LIST(clusters, eq_cluster);
    EQ_WITH(freezes, tf_freezes_eq);
    return EQ_END;
}

static bool eq_node_instance(const struct tf_node_instance *a, const struct tf_node_instance *b)
{
    EQ_BEGIN(struct tf_node_instance);
    EQ_STR(tenant);
    EQ_STR(name);
    return EQ_END;
}

static bool eq_node_info(const struct tf_node_info *a, const struct tf_node_info *b)
{
    EQ_BEGIN(struct tf_node_info);
    EQ_STR(cluster);
    EQ_STR(engine);
    EQ_WITH(node, eq_node);
    EQ_LIST(instances, eq_node_instance);
    EQ_WITH(cordon, tf_cordon_eq);
    return EQ_END;
}

static bool eq_victim(const struct tf_plan_victim *a, const struct tf_plan_victim *b)
{
    EQ_BEGIN(struct tf_plan_victim);
    EQ_STR(tenant);
    EQ_STR(name);
    EQ_STR(level);
    return EQ_END;
}

static bool eq_plan_node(const struct tf_plan_node *a, const struct tf_plan_node *b)
{
    EQ_BEGIN(struct tf_plan_node);
    EQ_STR(node);
    return EQ_END;
}

static bool eq_place_plan(const struct tf_place_plan *a, const struct tf_place_plan *b)
{
    EQ_BEGIN(struct tf_place_plan);
    EQ_STR(text);
    EQ_STR(model);
    EQ_LIST(nodes, eq_plan_node);
    EQ_LIST(victims, eq_victim);
    return EQ_END;
}

static bool eq_defrag_move(const struct tf_defrag_move *a, const struct tf_defrag_move *b)
{
    EQ_BEGIN(struct tf_defrag_move);
    EQ_STR(tenant);
    EQ_STR(name);
    EQ_STR(from);
    EQ_STR(to);
    return EQ_END;
}

static bool eq_defrag_site(const struct tf_defrag_site *a, const struct tf_defrag_site *b)
{
    EQ_BEGIN(struct tf_defrag_site);
    EQ_STR(node);
    return EQ_END;
}

static bool eq_defrag_bucket(const struct tf_defrag_bucket *a, const struct tf_defrag_bucket *b)
{
    EQ_BEGIN(struct tf_defrag_bucket);
    return EQ_END;
}

static bool eq_defrag_lock(const struct tf_defrag_lock *a, const struct tf_defrag_lock *b)
{
    EQ_BEGIN(struct tf_defrag_lock);
    EQ_STR(why);
    return EQ_END;
}

static bool eq_defrag_plan(const struct tf_defrag_plan *a, const struct tf_defrag_plan *b)
{
    EQ_BEGIN(struct tf_defrag_plan);
    EQ_STR(text);
    EQ_STR(note);
    EQ_STR(model);
    EQ_STR(domain);
    EQ_LIST(moves, eq_defrag_move);
    EQ_LIST(sites, eq_defrag_site);
    EQ_LIST(buckets, eq_defrag_bucket);
    EQ_LIST(locks, eq_defrag_lock);
    return EQ_END;
}

static bool eq_plan_row(const struct tf_plan_row *a, const struct tf_plan_row *b)
{
    EQ_BEGIN(struct tf_plan_row);
    EQ_STR(cluster);
    EQ_STR(level);
    EQ_STR(model);
    EQ_STR(text);
    EQ_STR(unblock);
    return EQ_END;
}

static bool eq_plan(const struct tf_plan_reply *a, const struct tf_plan_reply *b)
{
    EQ_BEGIN(struct tf_plan_reply);
    EQ_STR(answer);
    EQ_STR(cluster);
    EQ_LIST(rows, eq_plan_row);
    EQ_WITH(plan, eq_place_plan);
    return EQ_END;
}

static bool eq_chain_info(const struct tf_chain_info *a, const struct tf_chain_info *b)
{
    EQ_BEGIN(struct tf_chain_info);
    EQ_STR(cluster);
    EQ_WITH(chain, eq_migration);
    return EQ_END;
}

static bool eq_job_move(const struct tf_job_move *a, const struct tf_job_move *b)
{
    EQ_BEGIN(struct tf_job_move);
    EQ_STR(tenant);
    EQ_STR(name);
    EQ_WITH(move, eq_cross);
    return EQ_END;
}

static bool eq_moves(const struct tf_migrate_reply *a, const struct tf_migrate_reply *b)
{
    EQ_BEGIN(struct tf_migrate_reply);
    EQ_LIST(chains, eq_chain_info);
    EQ_WITH(missing, tf_strs_eq);
    EQ_STR(text);
    EQ_LIST(jobs, eq_job_move);
    return EQ_END;
}

static bool eq_nodes(const struct tf_nodes_reply *a, const struct tf_nodes_reply *b)
{
    EQ_BEGIN(struct tf_nodes_reply);
    EQ_LIST(nodes, eq_node_info);
    EQ_WITH(missing, tf_strs_eq);
    return EQ_END;
}

static bool eq_instance(const struct tf_instance_info *a, const struct tf_instance_info *b)
{
    EQ_BEGIN(struct tf_instance_info);
    EQ_STR(tenant);
    EQ_STR(name);
    EQ_STR(cluster);
    EQ_WITH(member, eq_member);
    return EQ_END;
}

static bool eq_instances(const struct tf_instances_reply *a, const struct tf_instances_reply *b)
{
    EQ_BEGIN(struct tf_instances_reply);
    EQ_LIST(instances, eq_instance);
    EQ_STR(next_token);
    EQ_WITH(missing, tf_strs_eq);
    return EQ_END;
}

static bool eq_status(const struct tf_status_reply *a, const struct tf_status_reply *b)
{
    EQ_BEGIN(struct tf_status_reply);
    EQ_STR(version);
    EQ_STR(leader);
    EQ_STR(store);
    return EQ_END;
}

static bool eq_config_value(const struct tf_config_value *a, const struct tf_config_value *b)
{
    EQ_BEGIN(struct tf_config_value);
    EQ_STR(key);
    EQ_STR(value);
    EQ_STR(meaning);
    return EQ_END;
}

static bool eq_config(const struct tf_get_config_reply *a, const struct tf_get_config_reply *b)
{
    EQ_BEGIN(struct tf_get_config_reply);
    EQ_LIST(values, eq_config_value);
    return EQ_END;
}

static bool eq_config_change(const struct tf_config_change *a, const struct tf_config_change *b)
{
    EQ_BEGIN(struct tf_config_change);
    EQ_STR(key);
    EQ_STR(running);
    EQ_STR(file);
    return EQ_END;
}

static bool eq_config_diff(const struct tf_diff_config_reply *a, const struct tf_diff_config_reply *b)
{
    EQ_BEGIN(struct tf_diff_config_reply);
    EQ_LIST(changes, eq_config_change);
    EQ_STR(conflict);
    return EQ_END;
}

static bool eq_reply(const struct tf_reply *a, const struct tf_reply *b)
{
    if (a->method != b->method)
        return false;
    switch (a->method) {
    case TF_METHOD_GET:
        return eq_job(&a->job, &b->job);
    case TF_METHOD_LIST:
    case TF_METHOD_LIST_ARCHIVE:
        return eq_list(&a->list, &b->list);
    case TF_METHOD_WATCH:
        return eq_watch_event(&a->watch, &b->watch);
    case TF_METHOD_EXPLAIN:
        return eq_explain(&a->explain, &b->explain);
    case TF_METHOD_LIST_CLUSTERS:
        return eq_clusters(&a->clusters, &b->clusters);
    case TF_METHOD_PLAN:
        return eq_plan(&a->plan, &b->plan);
    case TF_METHOD_PLAN_DEFRAG:
        return eq_defrag_plan(&a->defrag, &b->defrag);
    case TF_METHOD_MIGRATE:
        return eq_moves(&a->migrate, &b->migrate);
    case TF_METHOD_LIST_NODES:
        return eq_nodes(&a->nodes, &b->nodes);
    case TF_METHOD_LIST_INSTANCES:
        return eq_instances(&a->instances, &b->instances);
    case TF_METHOD_LOGS:
        return eq_bytes(a->logs.data, a->logs.len, b->logs.data, b->logs.len);
    case TF_METHOD_STATUS:
        return eq_status(&a->status, &b->status);
    case TF_METHOD_GET_CONFIG:
        return eq_config(&a->config, &b->config);
    case TF_METHOD_DIFF_CONFIG:
        return eq_config_diff(&a->config_diff, &b->config_diff);
    default:
        return eq_change(&a->change, &b->change);
    }
}

static bool eq_complaint(const struct tf_complaint *a, const struct tf_complaint *b)
{
    EQ_BEGIN(struct tf_complaint);
    EQ_STR(path);
    EQ_STR(text);
    return EQ_END;
}

static bool eq_error_detail(const struct tf_error_detail *a, const struct tf_error_detail *b)
{
    EQ_BEGIN(struct tf_error_detail);
    EQ_STR(text);
    EQ_LIST(complaints, eq_complaint);
    EQ_STR(leader);
    return EQ_END;
}

/* ---- round trips ---- */

static const struct {
    const ProtobufCMessageDescriptor *request, *reply;
} messages[TF_METHOD_COUNT] = {
    [TF_METHOD_SUBMIT] = {&tidefed__v1__submit_request__descriptor, &tidefed__v1__change_reply__descriptor},
    [TF_METHOD_GET] = {&tidefed__v1__job_ref__descriptor, &tidefed__v1__job__descriptor},
    [TF_METHOD_LIST] = {&tidefed__v1__list_request__descriptor, &tidefed__v1__list_reply__descriptor},
    [TF_METHOD_LIST_ARCHIVE] = {&tidefed__v1__list_request__descriptor, &tidefed__v1__list_reply__descriptor},
    [TF_METHOD_DELETE] = {&tidefed__v1__job_ref__descriptor, &tidefed__v1__change_reply__descriptor},
    [TF_METHOD_SCALE] = {&tidefed__v1__scale_request__descriptor, &tidefed__v1__change_reply__descriptor},
    [TF_METHOD_HOLD] = {&tidefed__v1__job_ref__descriptor, &tidefed__v1__change_reply__descriptor},
    [TF_METHOD_RESUME] = {&tidefed__v1__job_ref__descriptor, &tidefed__v1__change_reply__descriptor},
    [TF_METHOD_WATCH] = {&tidefed__v1__watch_request__descriptor, &tidefed__v1__watch_event__descriptor},
    [TF_METHOD_EXPLAIN] = {&tidefed__v1__job_ref__descriptor, &tidefed__v1__explain_reply__descriptor},
    [TF_METHOD_LIST_CLUSTERS] = {&tidefed__v1__list_clusters_request__descriptor,
                                 &tidefed__v1__list_clusters_reply__descriptor},
    [TF_METHOD_PLAN] = {&tidefed__v1__plan_request__descriptor, &tidefed__v1__plan_reply__descriptor},
    [TF_METHOD_LIST_NODES] = {&tidefed__v1__list_nodes_request__descriptor,
                              &tidefed__v1__list_nodes_reply__descriptor},
    [TF_METHOD_LIST_INSTANCES] = {&tidefed__v1__list_request__descriptor,
                                  &tidefed__v1__list_instances_reply__descriptor},
    [TF_METHOD_LOGS] = {&tidefed__v1__logs_request__descriptor, &tidefed__v1__logs_reply__descriptor},
    [TF_METHOD_CORDON_CLUSTER] = {&tidefed__v1__cluster_request__descriptor,
                                  &tidefed__v1__change_reply__descriptor},
    [TF_METHOD_UNCORDON_CLUSTER] = {&tidefed__v1__cluster_request__descriptor,
                                    &tidefed__v1__change_reply__descriptor},
    [TF_METHOD_CONFIRM_LOST] = {&tidefed__v1__cordon_node_request__descriptor,
                                &tidefed__v1__change_reply__descriptor},
    [TF_METHOD_CORDON_NODE] = {&tidefed__v1__cordon_node_request__descriptor,
                               &tidefed__v1__change_reply__descriptor},
    [TF_METHOD_FORGET_CLUSTER] = {&tidefed__v1__cluster_request__descriptor,
                                  &tidefed__v1__change_reply__descriptor},
    [TF_METHOD_PLAN_DEFRAG] = {&tidefed__v1__defrag_request__descriptor,
                               &tidefed__v1__defrag_plan__descriptor},
    [TF_METHOD_DEFRAG] = {&tidefed__v1__defrag_request__descriptor, &tidefed__v1__change_reply__descriptor},
    [TF_METHOD_MIGRATE] = {&tidefed__v1__migrate_request__descriptor,
                           &tidefed__v1__migrate_reply__descriptor},
    [TF_METHOD_FREEZE] = {&tidefed__v1__freeze_request__descriptor, &tidefed__v1__change_reply__descriptor},
    [TF_METHOD_STATUS] = {&tidefed__v1__status_request__descriptor, &tidefed__v1__status_reply__descriptor},
    [TF_METHOD_GET_CONFIG] = {&tidefed__v1__get_config_request__descriptor,
                              &tidefed__v1__get_config_reply__descriptor},
    [TF_METHOD_DIFF_CONFIG] = {&tidefed__v1__diff_config_request__descriptor,
                               &tidefed__v1__diff_config_reply__descriptor},
};

static void request_round_trip(const struct tf_request *request)
{
    TF_AUTO_BUF bytes = TF_BUF_INIT;
    TF_AUTO_BUF again = TF_BUF_INIT;
    struct tf_error err = TF_ERROR_INIT;
    struct tf_request back;
    CU_ASSERT_EQUAL(tf_wire_request_pack(request, &bytes, &err), 0);
    CU_ASSERT_EQUAL(tf_wire_request_unpack(request->method, bytes.data, bytes.len, &back, &err), 0);
    if (err.code)
        printf("\n    %s\n", err.text);
    CU_ASSERT_TRUE(eq_request(request, &back));
    CU_ASSERT_EQUAL(tf_wire_request_pack(&back, &again, &err), 0);
    CU_ASSERT_TRUE(again.len == bytes.len && memcmp(again.data, bytes.data, bytes.len) == 0);
    tf_request_release(&back);
    wire_coverage_add(messages[request->method].request, bytes.data, bytes.len);
}

static void reply_round_trip(const struct tf_reply *reply)
{
    TF_AUTO_BUF bytes = TF_BUF_INIT;
    TF_AUTO_BUF again = TF_BUF_INIT;
    struct tf_error err = TF_ERROR_INIT;
    struct tf_reply back;
    CU_ASSERT_EQUAL(tf_wire_reply_pack(reply, &bytes, &err), 0);
    CU_ASSERT_EQUAL(tf_wire_reply_unpack(reply->method, bytes.data, bytes.len, &back, &err), 0);
    if (err.code)
        printf("\n    %s\n", err.text);
    CU_ASSERT_TRUE(eq_reply(reply, &back));
    CU_ASSERT_EQUAL(tf_wire_reply_pack(&back, &again, &err), 0);
    CU_ASSERT_TRUE(again.len == bytes.len && memcmp(again.data, bytes.data, bytes.len) == 0);
    tf_reply_release(&back);
    wire_coverage_add(messages[reply->method].reply, bytes.data, bytes.len);
}

static void test_methods(void)
{
    struct tf_rng rng;
    tf_rng_init(&rng, suite_seed(21));
    for (size_t round = suite_rounds(60); round > 0; round--)
        for (int method = TF_METHOD_SUBMIT; method < TF_METHOD_COUNT; method++) {
            struct tf_request request;
            struct tf_reply reply;
            random_request(&rng, (enum tf_method)method, &request);
            random_reply(&rng, (enum tf_method)method, &reply);
            request_round_trip(&request);
            reply_round_trip(&reply);
            tf_request_release(&request);
            tf_reply_release(&reply);
        }
    for (int method = TF_METHOD_SUBMIT; method < TF_METHOD_COUNT; method++) {
        CU_ASSERT_EQUAL(wire_coverage_missing(messages[method].request), 0);
        CU_ASSERT_EQUAL(wire_coverage_missing(messages[method].reply), 0);
        CU_ASSERT_TRUE(wire_coverage_depth(messages[method].request) > 0);
        CU_ASSERT_TRUE(wire_coverage_depth(messages[method].reply) > 0);
    }
}

static void test_lists_are_no_larger_than_their_parts(void)
{
    struct tf_rng rng;
    tf_rng_init(&rng, suite_seed(22));
    for (size_t round = suite_rounds(50); round > 0; round--) {
        TF_AUTO_BUF bytes = TF_BUF_INIT;
        struct tf_reply reply;
        random_reply(&rng, TF_METHOD_LIST, &reply);
        size_t parts = 0;
        tf_vec_each (job, &reply.list.jobs)
            parts += tf_wire_job_size(job);
        free(reply.list.next_token);
        reply.list.next_token = NULL;
        CU_ASSERT_EQUAL(tf_wire_reply_pack(&reply, &bytes, NULL), 0);
        CU_ASSERT_TRUE(bytes.len <= parts);
        tf_reply_release(&reply);
    }
}

static void test_nodes_as_an_answer(void)
{
    struct tf_rng rng;
    tf_rng_init(&rng, suite_seed(23));
    for (size_t round = suite_rounds(50); round > 0; round--) {
        TF_AUTO_BUF bytes = TF_BUF_INIT;
        struct tf_nodes_reply nodes, back;
        random_nodes_reply(&rng, &nodes);
        CU_ASSERT_EQUAL(tf_wire_nodes_pack(&nodes, &bytes, NULL), 0);
        CU_ASSERT_EQUAL(tf_wire_nodes_unpack(bytes.data, bytes.len, &back, NULL), 0);
        CU_ASSERT_TRUE(eq_nodes(&nodes, &back));
        tf_nodes_reply_release(&nodes);
        tf_nodes_reply_release(&back);
    }
}

static void test_plans_as_an_answer(void)
{
    struct tf_rng rng;
    tf_rng_init(&rng, suite_seed(25));
    for (size_t round = suite_rounds(50); round > 0; round--) {
        TF_AUTO_BUF bytes = TF_BUF_INIT;
        struct tf_place_plan plan, back;
        random_place_plan(&rng, &plan);
        CU_ASSERT_EQUAL(tf_wire_place_plan_pack(&plan, &bytes, NULL), 0);
        CU_ASSERT_EQUAL(tf_wire_place_plan_unpack(bytes.data, bytes.len, &back, NULL), 0);
        CU_ASSERT_TRUE(eq_place_plan(&plan, &back));
        tf_place_plan_release(&plan);
        tf_place_plan_release(&back);
    }
}

static void test_errors(void)
{
    struct tf_rng rng;
    tf_rng_init(&rng, suite_seed(24));
    for (size_t round = suite_rounds(100); round > 0; round--) {
        TF_AUTO_BUF bytes = TF_BUF_INIT;
        struct tf_error_detail detail, back;
        random_error_detail(&rng, &detail);
        tf_wire_error_detail_pack(&detail, 1 << 20, &bytes);
        CU_ASSERT_EQUAL(tf_wire_error_detail_unpack(bytes.data, bytes.len, &back, NULL), 0);
        CU_ASSERT_TRUE(eq_error_detail(&detail, &back));
        wire_coverage_add(&tidefed__v1__error_detail__descriptor, bytes.data, bytes.len);
        tf_error_detail_release(&detail);
        tf_error_detail_release(&back);
    }
    CU_ASSERT_EQUAL(wire_coverage_missing(&tidefed__v1__error_detail__descriptor), 0);
}

static void test_errors_fit_their_limit(void)
{
    struct tf_error_detail detail = {.code = TF_ERR_INVALID, .text = tf_strdup("the manifest is not valid")};
    for (int i = 0; i < 50; i++)
        tf_complaints_add(&detail.complaints, "spec.elastic.min", "is %d, which is not a multiple of 8", i);
    for (size_t limit = 40; limit < 4000; limit += 33) {
        TF_AUTO_BUF bytes = TF_BUF_INIT;
        struct tf_error_detail back;
        tf_wire_error_detail_pack(&detail, limit, &bytes);
        CU_ASSERT_TRUE(bytes.len > 0 && bytes.len <= limit);
        CU_ASSERT_EQUAL(tf_wire_error_detail_unpack(bytes.data, bytes.len, &back, NULL), 0);
        CU_ASSERT_EQUAL(back.code, TF_ERR_INVALID);
        size_t said = back.complaints.count;
        if (said > 1 && said < 50)
            CU_ASSERT_TRUE(tf_starts_with(back.complaints.items[said - 1].text, "and "));
        tf_error_detail_release(&back);
    }
    tf_error_detail_release(&detail);
}

static const struct suite_test tests[] = {
    {"requests and replies of every method, every field", test_methods},
    {"a list is no larger than its parts", test_lists_are_no_larger_than_their_parts},
    {"nodes as an answer", test_nodes_as_an_answer},
    {"plans as an answer", test_plans_as_an_answer},
    {"errors", test_errors},
    {"errors fit their limit", test_errors_fit_their_limit},
};

int main(void)
{
    return suite_run("api", tests, TF_ARRAY_LEN(tests));
}
