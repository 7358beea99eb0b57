/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_LEDGER_H
#define TF_SUBCLUSTER_CORE_LEDGER_H

#include "common/fit/rows.h"
#include "common/model/record.h"

/* Who holds what on which node. Follows the records: each member that holds something is here once, and what
 * its level leaves to others is kept in rows for packing (one a node) and for the profile (one a kind of
 * node), with O(1) work a changed node.
 *
 * What a record gives up is still taken here until that change is durable: nobody else gets it before, so
 * that after a crash no two records hold the same GPU. */

struct holding {
    struct tf_uid uid;
    uint32_t index;
    struct tf_hold hold;
    uint64_t gone_after; /* 0 = held; else it is free once the change of that number is durable */
};

/* What an instance without a record has. */
struct blocking {
    struct tf_instance_id id;
    uint64_t gpus;
};

struct ledger_node {
    struct tf_node
        node; /* as the engine reported it, less what is cordoned; only its name while known is false */
    enum tf_node_state told_state; /* what the engine said */
    uint64_t told_bad;
    struct tf_cordon cordon; /* by people; its node is not set */
    bool known;
    bool dirty; /* its rows are to be made again */
    uint32_t number;
    uint32_t row; /* of the ledger's rows, while known */
    TF_VEC(struct holding) holdings;
    TF_VEC(struct blocking) blockings;
};

/* In order of gone_after. */
struct leaving {
    uint64_t after;
    struct ledger_node *node;
};

struct ledger {
    TF_VEC(struct ledger_node *) nodes;      /* by number: order of first mention */
    TF_VEC(struct ledger_node *) by_name;    /* the same */
    TF_VEC(struct tf_profile_row) node_rows; /* by number, for packing; count 0 while unknown */
    TF_VEC(struct ledger_node *) dirty;
    TF_VEC(struct leaving) leaving;
    size_t first_leaving;
    struct tf_planes planes;
    struct tf_strs schedule_labels;
    struct tf_fit_rows *rows;
    bool rebuilt; /* rows were made anew: deltas would not fit */
};

void ledger_init(struct ledger *ledger, const struct tf_planes *planes,
                 const struct tf_strs *schedule_labels);
void ledger_free(struct ledger *ledger);
/* Starts over with new rows: other labels are carried. */
void ledger_set_labels(struct ledger *ledger, const struct tf_strs *schedule_labels);

struct ledger_node *ledger_find(const struct ledger *ledger, const char *name); /* NULL if there is none */
struct ledger_node *ledger_need(struct ledger *ledger, const char *name);       /* made if there is none */
/* New or changed. The node is taken. Returns it as the ledger has it. */
struct ledger_node *ledger_set_node(struct ledger *ledger, struct tf_node *node);

/* The node's cordon was changed. */
void ledger_cordoned(struct ledger *ledger, struct ledger_node *node);

/* The member's GPUs and amount of its node; asserts that nobody else has them. */
void ledger_hold(struct ledger *ledger, struct tf_uid uid, const struct tf_member *member,
                 struct tf_vector need, tf_level level);
void ledger_set_level(struct ledger *ledger, struct tf_uid uid, const struct tf_member *member,
                      tf_level level);
/* Given up by the change of that number. */
void ledger_release(struct ledger *ledger, struct tf_uid uid, const struct tf_member *member,
                    uint64_t change);
/* All changes up to this one are durable. */
void ledger_durable(struct ledger *ledger, uint64_t change);

/* An instance without a record; node may be NULL: nothing is known of where it is. */
void ledger_block(struct ledger *ledger, const char *node, const struct tf_instance_id *id, uint64_t gpus);
void ledger_unblock(struct ledger *ledger, const char *node, const struct tf_instance_id *id);

uint64_t ledger_held_gpus(const struct ledger_node *node);    /* by records */
uint64_t ledger_blocked_gpus(const struct ledger_node *node); /* by instances without one */
uint64_t ledger_free_gpus(const struct ledger_node *node);
struct tf_vector ledger_used(const struct ledger_node *node);

/* Makes the rows of all changed nodes again. Before packing and before a profile. */
void ledger_refresh(struct ledger *ledger);
/* One row a node, id = its number. Valid until the next change. */
struct tf_fit_view ledger_view(const struct ledger *ledger);
struct tf_health_counts ledger_health(const struct ledger *ledger);
/* Idle GPUs that are bad, or on nodes that are not ready. */
int32_t ledger_unhealthy_gpus(const struct ledger *ledger);

#endif
