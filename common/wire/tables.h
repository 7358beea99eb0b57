/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_WIRE_TABLES_H
#define TF_WIRE_TABLES_H

#include "common/wire/table.h"

/* Private to common/wire: the tables, and which file has them. */

/* spec.c: what job.proto says */
extern const struct tf_wire_table tf_wire_term, tf_wire_elastic, tf_wire_shape, tf_wire_ready_probe,
    tf_wire_instance, tf_wire_group, tf_wire_topology_rule, tf_wire_spec, tf_wire_manifest, tf_wire_member,
    tf_wire_ended, tf_wire_job_event, tf_wire_note;
/* members.c */
extern const struct tf_wire_custom tf_wire_members;
/* profile.c: what capacity.proto says */
extern const struct tf_wire_table tf_wire_generation, tf_wire_vector, tf_wire_plane, tf_wire_node_class,
    tf_wire_short_demand, tf_wire_level_cost, tf_wire_idle_causes, tf_wire_health_counts, tf_wire_profile,
    tf_wire_foreign, tf_wire_node, tf_wire_gpu_cordon, tf_wire_gpu_trouble, tf_wire_cordon, tf_wire_freeze;
/* plan.c: the same */
extern const struct tf_wire_table tf_wire_place_plan;
/* defrag.c: the same */
extern const struct tf_wire_table tf_wire_defrag_order, tf_wire_defrag_plan;
/* records.c: what store.proto says */
extern const struct tf_wire_table tf_wire_counter, tf_wire_placement, tf_wire_refusal, tf_wire_job_record,
    tf_wire_cross, tf_wire_left_alone, tf_wire_cluster_record, tf_wire_summary_record, tf_wire_class,
    tf_wire_policy, tf_wire_claim, tf_wire_move, tf_wire_migration, tf_wire_migrate_order,
    tf_wire_drain_order, tf_wire_allocation, tf_wire_evicted_hour, tf_wire_leader, tf_wire_leaders;
/* attach.c */
extern const struct tf_wire_table tf_wire_hello, tf_wire_report, tf_wire_answer, tf_wire_entry, tf_wire_ask,
    tf_wire_down, tf_wire_log_chunk;
/* config.c */
extern const struct tf_wire_table tf_wire_get_config_request, tf_wire_get_config_reply,
    tf_wire_diff_config_request, tf_wire_diff_config_reply;

#endif
