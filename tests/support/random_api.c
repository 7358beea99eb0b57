/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/random_api.h"

#include "tests/support/random_words.h"

static char *optional_name(struct tf_rng *r)
{
    return tf_rng_below(r, 4) == 0 ? NULL : NAME;
}

static struct tf_job_ref ref(struct tf_rng *r)
{
    bool named = BOOL;
    return (struct tf_job_ref){named ? NAME : NULL, named ? NAME : NULL, random_uid(r)};
}

static struct tf_job_manifest manifest(struct tf_rng *r)
{
    struct tf_job_manifest out;
    random_job_manifest(r, &out);
    return out;
}

static void random_selector_term(struct tf_rng *r, struct tf_selector_term *out)
{
    *out = (struct tf_selector_term){TEXT, FROM_1(TF_SELECTOR_ABSENT), LATER};
    if (out->op == TF_SELECTOR_IN || out->op == TF_SELECTOR_NOT_IN)
        for (int64_t n = R(1, 3); n > 0; n--) {
            char *value = TEXT;
            tf_vec_push(&out->values, value);
        }
}

static struct tf_job_filter filter(struct tf_rng *r)
{
    struct tf_job_filter out = {
        optional_name(r), optional_name(r), optional_name(r), (uint32_t)R(0, UINT32_MAX), LATER, R(0, 1)};
    RANDOM_LIST(r, &out.selector, random_selector_term);
    return out;
}

void random_job_view(struct tf_rng *r, struct tf_job_view *out)
{
    *out = (struct tf_job_view){
        random_uid(r),
        manifest(r),
        OPTIONAL, /* user */
        UP_TO(TF_PHASE_DELETED),
        (uint32_t)R(0, UINT32_MAX),
        UP_TO(TF_REASON_NO_CLUSTERS),
        OPTIONAL,
        BOOL,
        BOOL,
        COUNTER,
        optional_name(r), /* cluster */
        COUNTER,
        OPTIONAL,
        INSTANCES,
        INSTANCES,
        WALL, /* submitted */
        WALL,
        WALL,
        WALL,
        WALL,
        WALL,            /* archived */
        R32(0, 1 << 30), /* restarts */
        R32(0, 1 << 30),
        R32(0, 1 << 30),
        R32(0, 1 << 30),
        R(0, INT64_MAX),
        R32(INT32_MIN, INT32_MAX),
        OPTIONAL,
        OPTIONAL,
        LATER,
        LATER,
        COUNTER,
        INSTANCES,
        WALL, /* checkpoint */
        TIME,
    };
    RANDOM_LIST(r, &out->members, random_member);
    RANDOM_LIST(r, &out->events, random_job_event);
}

static struct tf_job_view job(struct tf_rng *r)
{
    struct tf_job_view out;
    random_job_view(r, &out);
    return out;
}

static void random_blocker(struct tf_rng *r, struct tf_blocker *out)
{
    *out = (struct tf_blocker){UP_TO(TF_REASON_NO_CLUSTERS), WALL, OPTIONAL, OPTIONAL};
}

static void random_explain_row(struct tf_rng *r, struct tf_explain_row *out)
{
    *out = (struct tf_explain_row){optional_name(r),
                                   UP_TO(TF_REASON_NO_CLUSTERS),
                                   R32(0, 1 << 30),
                                   R32(0, 1 << 30),
                                   R32(0, 1 << 30),
                                   WALL,
                                   OPTIONAL,
                                   OPTIONAL,
                                   LATER};
    RANDOM_LIST(r, &out->more, random_blocker);
}

static void random_cluster(struct tf_rng *r, struct tf_cluster_info *out)
{
    *out = (struct tf_cluster_info){NAME,
                                    OPTIONAL,
                                    LATER,
                                    BOOL,
                                    BOOL,
                                    BOOL,
                                    OPTIONAL,
                                    BOOL,
                                    WALL,
                                    WALL,
                                    COUNTER,
                                    R32(0, 1 << 30),
                                    OPTIONAL,
                                    OPTIONAL,
                                    (uint32_t)R(0, UINT32_MAX),
                                    random_generation(r),
                                    random_health(r),
                                    random_idle(r),
                                    COUNT,
                                    BOOL,
                                    LATER, /* events */
                                    COUNTER,
                                    OPTIONAL,
                                    WALL};
    random_pairs(r, &out->labels);
    RANDOM_LIST(r, &out->events, random_job_event);
}

static void random_node_instance(struct tf_rng *r, struct tf_node_instance *out)
{
    *out = (struct tf_node_instance){
        optional_name(r), optional_name(r),        random_uid(r), COUNTER, UP_TO(TF_INSTANCES_MAX - 1),
        tf_rng_next(r),   UP_TO(TF_MEMBER_MISSING)};
}

static struct tf_node node(struct tf_rng *r)
{
    struct tf_node out;
    random_node(r, &out);
    return out;
}

static struct tf_cordon cordon(struct tf_rng *r)
{
    struct tf_cordon out;
    random_cordon(r, &out);
    return out;
}

static void random_node_info(struct tf_rng *r, struct tf_node_info *out)
{
    *out = (struct tf_node_info){optional_name(r), node(r),          tf_rng_next(r),
                                 tf_rng_next(r),   random_vector(r), LATER,
                                 cordon(r),        optional_name(r), random_idle(r)};
    RANDOM_LIST(r, &out->instances, random_node_instance);
}

void random_nodes_reply(struct tf_rng *r, struct tf_nodes_reply *out)
{
    *out = (struct tf_nodes_reply){LATER, LATER};
    RANDOM_LIST(r, &out->nodes, random_node_info);
    random_strs(r, &out->missing);
}

static struct tf_member member(struct tf_rng *r)
{
    struct tf_member out;
    random_member(r, &out);
    return out;
}

static void random_instance(struct tf_rng *r, struct tf_instance_info *out)
{
    *out = (struct tf_instance_info){optional_name(r), optional_name(r), random_uid(r),
                                     COUNTER,          optional_name(r), member(r)};
}

static struct tf_status_reply status(struct tf_rng *r)
{
    return (struct tf_status_reply){OPTIONAL,
                                    (uint32_t)R(0, UINT32_MAX),
                                    BOOL,
                                    OPTIONAL,
                                    {COUNTER, COUNTER},
                                    WALL,
                                    BOOL,
                                    OPTIONAL,
                                    R(0, INT64_MAX),
                                    R(0, INT64_MAX),
                                    R32(0, 1 << 30),
                                    R32(0, 1 << 30),
                                    R32(0, 1 << 30)};
}

static struct tf_elastic elastic(struct tf_rng *r)
{
    return (struct tf_elastic){INSTANCES, INSTANCES, INSTANCES};
}

static void random_bytes(struct tf_rng *r, char **data, size_t *len)
{
    *len = (size_t)tf_rng_below(r, 50);
    *data = *len ? tf_malloc(*len) : NULL;
    for (size_t i = 0; i < *len; i++)
        (*data)[i] = (char)tf_rng_below(r, 256);
}

void random_request(struct tf_rng *r, enum tf_method method, struct tf_request *out)
{
    *out = (struct tf_request){.method = method};
    switch (method) {
    case TF_METHOD_SUBMIT:
        out->submit =
            (struct tf_submit_request){random_uid(r), manifest(r), UP_TO(TF_SUBMIT_APPLY), BOOL, BOOL};
        break;
    case TF_METHOD_GET:
    case TF_METHOD_DELETE:
    case TF_METHOD_HOLD:
    case TF_METHOD_RESUME:
    case TF_METHOD_EXPLAIN:
        out->job = ref(r);
        break;
    case TF_METHOD_LIST:
    case TF_METHOD_LIST_ARCHIVE:
    case TF_METHOD_LIST_INSTANCES:
        out->list = (struct tf_list_request){filter(r), R32(0, TF_PAGE_MAX), OPTIONAL};
        break;
    case TF_METHOD_SCALE:
        out->scale = (struct tf_scale_request){ref(r), elastic(r)};
        break;
    case TF_METHOD_WATCH:
        out->watch = (struct tf_watch_request){filter(r), BOOL, BOOL, WALL};
        break;
    case TF_METHOD_PLAN:
        out->plan = (struct tf_plan_request){manifest(r)};
        break;
    case TF_METHOD_LIST_NODES:
        out->nodes = (struct tf_nodes_request){optional_name(r)};
        break;
    case TF_METHOD_LOGS:
        out->logs = (struct tf_logs_request){ref(r), COUNTER,          UP_TO(TF_INSTANCES_MAX - 1),
                                             BOOL,   R(-1, INT64_MAX), (uint32_t)R(0, UINT32_MAX)};
        break;
    case TF_METHOD_CORDON_CLUSTER:
    case TF_METHOD_UNCORDON_CLUSTER:
    case TF_METHOD_FORGET_CLUSTER:
        out->cluster = (struct tf_cluster_request){NAME, OPTIONAL, BOOL};
        break;
    case TF_METHOD_MIGRATE:
        out->migrate = (struct tf_migrate_request){optional_name(r), ref(r), {0}, NULL};
        random_migrate_order(r, &out->migrate.order);
        out->migrate.to_cluster = optional_name(r);
        break;
    case TF_METHOD_FREEZE:
        out->freeze =
            (struct tf_freeze_request){R32(0, TF_FROZEN_ALL), optional_name(r), BOOL, TIME, OPTIONAL};
        break;
    case TF_METHOD_CORDON_NODE:
    case TF_METHOD_CONFIRM_LOST:
        out->cordon = (struct tf_cordon_request){
            NAME, NAME, tf_rng_next(r), BOOL, OPTIONAL, {BOOL, BOOL, BOOL, COUNT, TIME}, NULL, BOOL};
        if (BOOL) { /* one of both */
            out->cordon.domain = out->cordon.node;
            out->cordon.node = NULL;
        }
        break;
    case TF_METHOD_GET_CONFIG:
        out->get_config = (struct tf_get_config_request){OPTIONAL, BOOL, optional_name(r)};
        break;
    case TF_METHOD_DIFF_CONFIG:
        out->diff_config =
            (struct tf_diff_config_request){.name = OPTIONAL, .leader = BOOL, .cluster = optional_name(r)};
        random_bytes(r, &out->diff_config.text, &out->diff_config.len);
        break;
    case TF_METHOD_PLAN_DEFRAG:
    case TF_METHOD_DEFRAG:
        out->defrag.cluster = NAME;
        random_defrag_order(r, &out->defrag.order);
        break;
    case TF_METHOD_LIST_CLUSTERS:
        out->clusters.events = BOOL;
        break;
    case TF_METHOD_STATUS:
    case TF_METHOD_NONE:
    case TF_METHOD_COUNT:
        break;
    }
}

static void random_change(struct tf_rng *r, struct tf_change_reply *out)
{
    *out = (struct tf_change_reply){UP_TO(TF_OUTCOME_DONE), random_uid(r), COUNTER, LATER};
    random_strs(r, &out->warnings);
}

static void random_list(struct tf_rng *r, struct tf_list_reply *out)
{
    *out = (struct tf_list_reply){LATER, OPTIONAL};
    RANDOM_LIST(r, &out->jobs, random_job_view);
}

static void random_explain(struct tf_rng *r, struct tf_explain_reply *out)
{
    *out = (struct tf_explain_reply){OPTIONAL, LATER, LATER, job(r), TIME, WALL};
    RANDOM_LIST(r, &out->rows, random_explain_row);
    random_strs(r, &out->decisions);
}

static void random_victim(struct tf_rng *r, struct tf_plan_victim *out)
{
    *out = (struct tf_plan_victim){optional_name(r), optional_name(r), random_uid(r), BOOL,
                                   INSTANCES,        INSTANCES,        OPTIONAL,      R(0, INT64_MAX)};
}

static void random_plan_node(struct tf_rng *r, struct tf_plan_node *out)
{
    *out = (struct tf_plan_node){NAME, tf_rng_next(r), INSTANCES};
}

void random_place_plan(struct tf_rng *r, struct tf_place_plan *out)
{
    *out = (struct tf_place_plan){UP_TO(TF_REASON_NO_CLUSTERS),
                                  OPTIONAL,
                                  OPTIONAL,
                                  INSTANCES,
                                  LATER,
                                  LATER,
                                  R32(0, 1 << 30),
                                  R(0, INT64_MAX),
                                  TIME};
    RANDOM_LIST(r, &out->nodes, random_plan_node);
    RANDOM_LIST(r, &out->victims, random_victim);
}

static void random_defrag_move(struct tf_rng *r, struct tf_defrag_move *out)
{
    *out = (struct tf_defrag_move){NAME,       NAME, random_uid(r), UP_TO(TF_INSTANCES_MAX - 1),
                                   R32(0, 64), NAME, NAME,          UP_TO(1000),
                                   UP_TO(1000)};
}

static void random_defrag_site(struct tf_rng *r, struct tf_defrag_site *out)
{
    *out = (struct tf_defrag_site){NAME, COUNT, UP_TO(1000)};
}

static void random_defrag_bucket(struct tf_rng *r, struct tf_defrag_bucket *out)
{
    *out = (struct tf_defrag_bucket){R32(0, 64), COUNT, COUNT};
}

static void random_defrag_lock(struct tf_rng *r, struct tf_defrag_lock *out)
{
    *out = (struct tf_defrag_lock){OPTIONAL, COUNT};
}

static void random_defrag_plan(struct tf_rng *r, struct tf_defrag_plan *out)
{
    *out = (struct tf_defrag_plan){.text = OPTIONAL,
                                   .note = OPTIONAL,
                                   .digest = tf_rng_next(r),
                                   .model = OPTIONAL,
                                   .domain = OPTIONAL,
                                   .nodes = COUNT,
                                   .before = COUNT,
                                   .freed = COUNT,
                                   .best = COUNT,
                                   .moves_bound = COUNT,
                                   .gpus = COUNT,
                                   .gpus_bound = COUNT,
                                   .double_booked = COUNT,
                                   .waves = COUNT,
                                   .sites_locked = COUNT,
                                   .cut = BOOL};
    RANDOM_LIST(r, &out->moves, random_defrag_move);
    RANDOM_LIST(r, &out->sites, random_defrag_site);
    RANDOM_LIST(r, &out->buckets, random_defrag_bucket);
    RANDOM_LIST(r, &out->locks, random_defrag_lock);
}

static void random_plan_row(struct tf_rng *r, struct tf_plan_row *out)
{
    *out = (struct tf_plan_row){optional_name(r),
                                UP_TO(TF_REASON_NO_CLUSTERS),
                                R32(0, 1 << 30),
                                R32(0, 1 << 30),
                                R32(0, 1 << 30),
                                OPTIONAL,
                                R32(0, 1 << 30),
                                OPTIONAL,
                                BOOL,
                                TIME,
                                R32(0, 1 << 30),
                                R(0, INT64_MAX),
                                TIME,
                                WALL,
                                OPTIONAL,
                                OPTIONAL};
}

static void random_plan(struct tf_rng *r, struct tf_plan_reply *out)
{
    *out = (struct tf_plan_reply){.answer = OPTIONAL, .cluster = optional_name(r)};
    RANDOM_LIST(r, &out->rows, random_plan_row);
    random_place_plan(r, &out->plan);
    out->now = WALL;
}

static void random_instances(struct tf_rng *r, struct tf_instances_reply *out)
{
    *out = (struct tf_instances_reply){LATER, OPTIONAL, LATER};
    random_strs(r, &out->missing);
    RANDOM_LIST(r, &out->instances, random_instance);
}

static void random_config_value(struct tf_rng *r, struct tf_config_value *out)
{
    *out = (struct tf_config_value){TEXT, OPTIONAL, UP_TO(TF_CONFIG_OPTION), BOOL, BOOL, OPTIONAL};
}

static void random_config(struct tf_rng *r, struct tf_get_config_reply *out)
{
    *out = (struct tf_get_config_reply){LATER, BOOL};
    RANDOM_LIST(r, &out->values, random_config_value);
}

static void random_config_change(struct tf_rng *r, struct tf_config_change *out)
{
    *out = (struct tf_config_change){TEXT, OPTIONAL, OPTIONAL, BOOL, BOOL};
}

static void random_config_diff(struct tf_rng *r, struct tf_diff_config_reply *out)
{
    *out = (struct tf_diff_config_reply){LATER, OPTIONAL, BOOL};
    RANDOM_LIST(r, &out->changes, random_config_change);
}

static void random_chain_info(struct tf_rng *r, struct tf_chain_info *out)
{
    *out = (struct tf_chain_info){.cluster = optional_name(r)};
    random_migration(r, &out->chain);
}

static void random_job_move(struct tf_rng *r, struct tf_job_move *out)
{
    *out = (struct tf_job_move){random_uid(r), NAME, NAME, random_cross(r)};
}

void random_reply(struct tf_rng *r, enum tf_method method, struct tf_reply *out)
{
    *out = (struct tf_reply){.method = method};
    switch (method) {
    case TF_METHOD_GET:
        out->job = job(r);
        break;
    case TF_METHOD_LIST:
    case TF_METHOD_LIST_ARCHIVE:
        random_list(r, &out->list);
        break;
    case TF_METHOD_WATCH:
        out->watch = (struct tf_watch_event){FROM_1(TF_WATCH_BOOKMARK), COUNTER, job(r)};
        break;
    case TF_METHOD_EXPLAIN:
        random_explain(r, &out->explain);
        break;
    case TF_METHOD_PLAN:
        random_plan(r, &out->plan);
        break;
    case TF_METHOD_LIST_CLUSTERS:
        RANDOM_LIST(r, &out->clusters.clusters, random_cluster);
        RANDOM_LIST(r, &out->clusters.freezes, random_freeze);
        break;
    case TF_METHOD_PLAN_DEFRAG:
        random_defrag_plan(r, &out->defrag);
        break;
    case TF_METHOD_LIST_NODES:
        random_nodes_reply(r, &out->nodes);
        break;
    case TF_METHOD_LIST_INSTANCES:
        random_instances(r, &out->instances);
        break;
    case TF_METHOD_LOGS:
        random_bytes(r, &out->logs.data, &out->logs.len);
        break;
    case TF_METHOD_STATUS:
        out->status = status(r);
        break;
    case TF_METHOD_GET_CONFIG:
        random_config(r, &out->config);
        break;
    case TF_METHOD_DIFF_CONFIG:
        random_config_diff(r, &out->config_diff);
        break;
    case TF_METHOD_MIGRATE:
        RANDOM_LIST(r, &out->migrate.chains, random_chain_info);
        RANDOM_LIST(r, &out->migrate.jobs, random_job_move);
        random_strs(r, &out->migrate.missing);
        out->migrate.text = OPTIONAL;
        break;
    case TF_METHOD_SUBMIT:
    case TF_METHOD_DELETE:
    case TF_METHOD_SCALE:
    case TF_METHOD_HOLD:
    case TF_METHOD_RESUME:
    case TF_METHOD_CORDON_CLUSTER:
    case TF_METHOD_UNCORDON_CLUSTER:
    case TF_METHOD_CORDON_NODE:
    case TF_METHOD_CONFIRM_LOST:
    case TF_METHOD_DEFRAG:
    case TF_METHOD_FREEZE:
    case TF_METHOD_FORGET_CLUSTER:
        random_change(r, &out->change);
        break;
    case TF_METHOD_NONE:
    case TF_METHOD_COUNT:
        break;
    }
}

static void random_complaint(struct tf_rng *r, struct tf_complaint *out)
{
    *out = (struct tf_complaint){TEXT, TEXT};
}

void random_error_detail(struct tf_rng *r, struct tf_error_detail *out)
{
    *out = (struct tf_error_detail){
        UP_TO(TF_ERR_BUG), UP_TO(TF_REASON_NO_CLUSTERS), OPTIONAL, LATER, OPTIONAL, TIME};
    RANDOM_LIST(r, &out->complaints, random_complaint);
}
