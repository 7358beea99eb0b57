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

/* What a GPU of a holder has at stake, in wall seconds. */
struct ledger_stake {
    int64_t since;     /* its work is not safe since then */
    int32_t evictions; /* of its job, of late */
};

/* All GPUs that are held at a level, added up: gpus x since, gpus x evictions. */
struct ledger_worth {
    int64_t gpus, since, evictions;
};

struct holding {
    struct tf_uid uid;
    uint32_t index;
    struct tf_hold hold;
    bool reserved;             /* of a claim: it is a reservation's */
    bool stuck;                /* it should have gone by now: nobody counts on it */
    struct ledger_stake stake; /* of a holder */
    uint64_t gone_after; /* 0 = held, or claimed; else it is over once the change of that number is durable */
};

/* What an instance without a record has. */
struct blocking {
    struct tf_instance_id id;
    uint64_t gpus;
};

/* The node is kept for a job that waits. */
struct kept {
    int rank; /* of its class; -1 = it is not */
    struct tf_uid owner;
    struct tf_wall until;
};

/* GPUs of a node, or of all known ones. */
struct ledger_sums {
    struct tf_health_counts health;
    int32_t unhealthy; /* idle ones that are bad, or on a node that is not ready */
    int32_t claimed;   /* idle, healthy ones that are claimed */
};

struct ledger_node {
    struct tf_node node; /* as the engine reported it, less what is cordoned, and with what was concluded of
                            it; only its name while known is false */
    enum tf_node_state told_state; /* what the engine said */
    uint64_t told_bad, told_suspect;
    struct tf_cordon cordon; /* what is remembered of it; its node is not set */
    struct tf_mono silent;   /* since when its engine cannot reach it; TF_NEVER: it can */
    bool known;
    bool dirty;    /* its rows are to be made again */
    bool classed;  /* its row has the class that follows from node and the labels that are carried */
    bool on_offer; /* more got free there at freed_at, and waiting cores come first (offers.h); */
    struct tf_mono freed_at; /* the profile of that counter is the first to say so */
    uint64_t freed_in;
    uint32_t number;
    uint32_t row; /* of the ledger's rows, while known */
    TF_VEC(struct holding) holdings;
    TF_VEC(struct holding) claims; /* of what holders have, or nobody; index: its place among the owner's */
    TF_VEC(struct blocking) blockings;
    int32_t emptying; /* chains of moves that are to empty it: it takes nothing, whoever asks */
    struct kept kept;
    struct ledger_sums sums; /* as of when its rows were made */
    struct tf_vector going;  /* likewise: ledger_going */
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
    TF_VEC(uint32_t) freed; /* nodes that have had more free after a refresh than before, not yet noted */
    TF_VEC(struct leaving) leaving;
    size_t first_leaving;
    struct tf_planes planes;
    struct tf_strs schedule_labels;
    struct tf_fit_rows *rows;
    uint64_t made; /* how often rows were */
    bool rebuilt;  /* rows were made anew: deltas would not fit */
    struct ledger_sums sums;
    struct ledger_worth *worth; /* by level; NULL: nothing has been held yet */
    int64_t evictions;          /* of all levels, as in their worth: asked for at each step */
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

/* The node's cordon, or what was concluded of it, was changed. */
void ledger_cordoned(struct ledger *ledger, struct ledger_node *node);

/* The member's GPUs and amount of its node; asserts that nobody else has them. */
void ledger_hold(struct ledger *ledger, struct tf_uid uid, const struct tf_member *member,
                 struct tf_vector need, tf_level level, struct ledger_stake stake);
void ledger_set_stake(struct ledger *ledger, struct tf_uid uid, const struct tf_member *member,
                      struct ledger_stake stake);
/* Of those who stay. */
const struct ledger_worth *ledger_worth(const struct ledger *ledger, tf_level level);
void ledger_set_level(struct ledger *ledger, struct tf_uid uid, const struct tf_member *member,
                      tf_level level);
/* Its stop took longer than it may: until it is gone, it is what nobody can have. */
void ledger_set_stuck(struct ledger *ledger, struct tf_uid uid, const struct tf_member *member);
/* Given up by the change of that number. */
void ledger_release(struct ledger *ledger, struct tf_uid uid, const struct tf_member *member,
                    uint64_t change);
/* What an instance of the owner will hold; asserts that nobody else claims its GPUs. */
void ledger_claim(struct ledger *ledger, struct tf_uid uid, uint32_t index, const struct tf_claim *claim,
                  tf_level level);
/* The same of a reservation: profiles tell it apart. */
void ledger_reserve(struct ledger *ledger, struct tf_uid uid, uint32_t index, const struct tf_claim *claim,
                    tf_level level);
void ledger_set_claim_level(struct ledger *ledger, struct tf_uid uid, uint32_t index,
                            const struct tf_claim *claim, tf_level level);
/* Given up by the change of that number: until then it is what a begun stop will free; 0: its owner becomes
 * the holder in the same change. */
void ledger_unclaim(struct ledger *ledger, struct tf_uid uid, uint32_t index, const struct tf_claim *claim,
                    uint64_t change);
enum claim_state {
    CLAIM_FREE,   /* nobody is in its way */
    CLAIM_WAITS,  /* all that are in its way are going */
    CLAIM_BROKEN, /* the node is not ready, a GPU is bad or foreign, or somebody stays */
};
/* Of all that the owner claims on that node, together. */
enum claim_state ledger_claim_state(const struct ledger *ledger, struct tf_uid uid, const char *node);

/* Of the claim with that place among the owner's, made on GPUs whose holders are to leave by the owner's own
 * doing: leaves says which. What those before it claim of the node's cores, memory and slots, which nobody
 * names, is not free for it. */
typedef bool ledger_leaves_f(struct tf_uid uid, uint32_t index, const char *node, const void *arg);
enum claim_state ledger_place_state(const struct ledger *ledger, struct tf_uid uid, uint32_t index,
                                    const struct tf_claim *claim, ledger_leaves_f *leaves, const void *arg);

/* What reservations that the demand may use keep there, and *gpus, which can be used now. */
struct tf_vector ledger_reserved(const struct ledger_node *node, const struct tf_demand *demand,
                                 uint64_t *gpus);
/* Cores, memory and slots that are neither held nor claimed, now and when what is going has gone; negative
 * where foreign use has taken more than was left. */
struct tf_vector ledger_room(const struct ledger_node *node);

/* The node's row is claimed from now on (R5), for whoever it was before, or for nobody. */
void ledger_keep(struct ledger *ledger, struct ledger_node *node, struct tf_uid owner, int rank,
                 struct tf_wall until);
void ledger_unkeep(struct ledger *ledger, struct ledger_node *node);

/* One chain of moves more is to empty these nodes, or (by -1) one less. One that is not known takes nothing
 * when it comes. */
void ledger_empty(struct ledger *ledger, const struct tf_strs *nodes, int32_t by);

/* All changes up to this one are durable. */
void ledger_durable(struct ledger *ledger, uint64_t change);

/* An instance without a record; node may be NULL: nothing is known of where it is. */
void ledger_block(struct ledger *ledger, const char *node, const struct tf_instance_id *id, uint64_t gpus);
/* True if instances without a record are on the node, of other jobs; *gpus: which GPUs they have. */
bool ledger_strays_of_others(const struct ledger_node *node, struct tf_uid uid, uint64_t *gpus);
void ledger_unblock(struct ledger *ledger, const char *node, const struct tf_instance_id *id);

/* Work may start there: it is listed, and nothing keeps it closed. */
static inline bool ledger_is_open(const struct ledger_node *node)
{
    return node->known && node->node.state == TF_NODE_READY;
}
uint64_t ledger_held_gpus(const struct ledger_node *node); /* by records */
uint64_t ledger_claimed_gpus_of(const struct ledger_node *node);
uint64_t ledger_free_gpus(const struct ledger_node *node);
uint64_t ledger_usable_gpus(
    const struct ledger_node *node); /* healthy, and nothing but ours may be on them */
uint64_t ledger_unclaimed_gpus(
    const struct ledger_node *node);                        /* what they were if nobody claimed anything */
uint64_t ledger_going_gpus(const struct ledger_node *node); /* free, or will be: nobody stays or claims */
struct tf_vector ledger_used(const struct ledger_node *node);
/* That ours may use, also of a node that is being emptied: without foreign use, and what is bad. */
struct tf_vector ledger_capacity(const struct ledger_node *node);

/* Makes the rows of all changed nodes again. Before packing and before a profile. */
void ledger_refresh(struct ledger *ledger);
/* One row a node, id = its number. Valid until the next change. */
struct tf_fit_view ledger_view(const struct ledger *ledger);
/* As of the last refresh, without looking at the nodes. */
const struct ledger_sums *ledger_sums(const struct ledger *ledger);
/* The same by counting all nodes. */
struct ledger_sums ledger_recount(const struct ledger *ledger);
/* What is there for those who may take what is going, less the claims of others; negative where foreign use
 * has taken more than was left. GPUs: how many. As of the last refresh (asserted). */
struct tf_vector ledger_going(const struct ledger_node *node);

/* A node of an image is added to what is counted of all. */
void ledger_count_read(struct ledger *ledger, struct ledger_node *node);

#endif
