/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDSIM_AUDIT_FACTS_H
#define TF_FEDSIM_AUDIT_FACTS_H

/* What the auditor knows. Inside of this folder. */
#include "common/base/hash.h"
#include "tools/fedsim/audit/audit.h"

struct audit_epoch;
struct audit_instance;
struct audit_node;

/* The federation's reason why a job is not placed in a cluster. */
struct audit_why {
    char *cluster;
    enum tf_reason reason;
    bool first; /* of those of that cluster */
};

/* A job, by uid, from the first word of it on. */
struct audit_job {
    struct tf_uid uid;
    UT_hash_handle hh; /* beside what it is found by */
    struct tf_job_manifest manifest;
    bool asked, acked, delete_asked, delete_acked, hold_asked, scale_asked;
    bool stored; /* the federation's store has it now: record is that */
    const struct tf_job_record
        *record;              /* else an empty one, audit_no_record: most jobs of a long run are over */
    uint64_t version;         /* highest that was ever stored */
    struct tf_wall submitted; /* as stored */
    struct tf_mono waits;     /* first stored then without a placement; 0: it never was */
    struct tf_mono placed;    /* first stored then with one */
    bool acked_before;        /* the store was restored; it is acknowledged again if the copy has the job */
    bool archived;
    enum tf_phase archived_phase;
    TF_VEC(struct audit_epoch *) epochs;
    TF_VEC(struct audit_instance *) instances; /* all that ever started */
    size_t live;                               /* of these */
    TF_VEC(struct audit_why) whys;             /* at rest */
    char *stored_as;                           /* tenant/name, while it is stored */
    UT_hash_handle by_name;
};

extern const struct tf_job_record audit_no_record;
void audit_forget_record(struct audit_job *job);

/* An epoch, from its first placement or instance on. */
struct audit_epoch {
    struct tf_uid uid;
    struct audit_job *job;
    uint64_t epoch;
    struct audit_site *site; /* where it was placed; NULL: it never was */
    char *model;             /* chosen; NULL: any */
    int32_t size;            /* as stored last */
    bool placed;             /* is in the job's record now */
    bool dropped;            /* was, and is not any more: its end is stored */
    bool released;           /* with a reason to end it */
    tf_level level;          /* the highest that the leader meant it to take; TF_LEVEL_FREE: nobody goes */
    bool took;               /* others have begun to go for it */
    struct tf_mono full;     /* not before this moment its core was fully ready first; 0: never known */
    int64_t min_runtime;     /* the least that its records said */
    bool ended;              /* its subcluster has recorded an end */
    enum tf_end end;
    bool recorded;       /* its subcluster has, or had, it as the live epoch */
    bool rolled;         /* known before the federation's store was restored */
    bool local_rolled;   /* the same of its subcluster's store */
    bool was_ready;      /* its subcluster has stored that its core was */
    bool denied;         /* its subcluster told, without a record of it, that it never took it */
    bool burnt;          /* with its subcluster */
    uint64_t moved_from; /* the epoch that it may run beside, as some record of their move said; 0 = none */
    bool resized;        /* while it ran its subcluster recorded another size of it */
    bool shrunk;         /* and let members of it go, for a reason that is looked at there (I5 to I7) */
    bool turned_back;    /* what had started for it did not join */
    bool troubled;       /* an instance of it failed, was lost, refused, or finished: it may be stopped */
    bool ran;
    struct tf_mono started; /* its last instance */
    struct tf_mono first;   /* its first */
    int32_t spent;          /* GPUs of its site, as counted there */
    UT_hash_handle hh;      /* by number, the first that was placed */
};

struct audit_instance {
    struct audit_key {
        struct tf_instance_id id;
        uint64_t site;
    } key;
    struct tf_instance_id id;
    struct audit_job *job;
    struct audit_site *site;
    struct audit_node *node; /* NULL: there is none of that name */
    uint64_t gpus;
    struct tf_vector need;
    bool live, burnt; /* burnt: with all that its cluster knew of it */
    bool moves_in;    /* it was started to take another's place, and its store has not said yet that it did */
    bool switched_out;             /* its store has said so: another is the member, and it runs on */
    uint32_t successor;            /* attempt that was the member when the store last said that it runs on */
    bool given_up;                 /* with its node, as its cluster's store says: it may live on unseen */
    struct tf_mono started, ready; /* ready: as its daemons can know; 0 = not */
    UT_hash_handle hh;
};

struct audit_node {
    struct tf_node node;
    bool cordoned;           /* or one of its GPUs, by people */
    char *drained_with;      /* as stored: with the rest of that domain; NULL: by itself, or not */
    struct tf_drain drain;   /* as stored; */
    struct tf_mono was_due;  /* it was over then, or another, and its deadline had come; 0 = never */
    bool drained_before;     /* by the transaction under way, not first */
    struct tf_mono changed;  /* last, after it was new; 0 = never */
    bool strange;            /* at rest something runs there that no record knows */
    struct tf_mono lost;     /* last; 0 = never */
    struct tf_mono silent;   /* since then its engine cannot reach it; 0 = it can */
    struct tf_mono returned; /* last, after silence; 0 = never */
    enum tf_verdict verdict; /* as stored */
    struct tf_vector used, used_before; /* by recorded members, after and before the last transaction */
    uint8_t holders[TF_NODE_GPUS_MAX];  /* of each GPU, by these */
    uint8_t claimants[TF_NODE_GPUS_MAX];
    uint64_t freed;          /* GPUs that instances had which ended */
    struct tf_mono freed_at; /* then; 0 = never */
    uint64_t held_before;    /* before the last transaction */
    struct tf_mono taken;    /* the last transaction with a holder more; 0 = never */
    bool touched;            /* by the transaction under way */
    TF_VEC(struct audit_instance *) live;
    UT_hash_handle hh;
};

/* As stored. */
struct audit_allocation {
    struct tf_allocation a;
    struct tf_allocation before; /* the transaction under way, */
    bool changed;                /* which has changed it */
    bool gives_step;             /* by it, or may do so, to growth of another and not to who claims */
    struct tf_mono promised;     /* its epoch was, to one in another subcluster, and is not ending; 0: no */
    int32_t late;                /* transactions since it should have ended */
    UT_hash_handle hh;
};

/* A claim on whole nodes, as stored. */
struct audit_node_claim {
    struct tf_node_claim c;
    bool fresh; /* by the transaction under way: what else that holds may have been decided before, */
    bool over;  /* or, where it is over by that, after */
};

/* A chain of moves, as stored. */
struct audit_chain {
    struct tf_migration m;
    bool changed; /* by the transaction under way, or the one before it */
};

/* A profile that was sent. */
struct audit_told {
    struct tf_generation generation;
    struct tf_mono at;
};

struct audit_site {
    char *name, *region;
    uint64_t number;
    struct audit_node *nodes;
    TF_VEC(struct audit_node *) touched; /* by the transaction under way */
    bool cordoned;
    bool drains_changed;  /* by the transaction under way */
    bool changed;         /* a node has changed since the start */
    int32_t gpus, spent;  /* that there are; that the leader has promised */
    struct tf_mono grown; /* last time that a job there got more of these without a word of the leader */
    struct tf_term term;
    uint64_t floor;
    struct tf_classes classes; /* of the stored policy */
    struct audit_allocation *allocations;
    TF_VEC(struct audit_node_claim) node_claims;
    TF_VEC(struct audit_chain) chains;
    int32_t claiming;               /* of these, as many wait for what they have claimed */
    int32_t promised;               /* of the allocations */
    struct tf_freezes freezes;      /* of the stored policy, */
    struct tf_mono policy_at;       /* which was stored then */
    int64_t offer_time;             /* of it, ms */
    struct tf_mono attached;        /* its first profile to the leader it is connected with; 0: none */
    TF_VEC(struct audit_told) told; /* and those that are not declared considered, oldest first */
    struct tf_mono considered;      /* when the latest that is was sent */
    int ceiling;                    /* rank of the class that takes protected cores */
    bool copied;                    /* the records of a restored store are coming in */
    bool restored;                  /* they did, once */
    TF_VEC(struct tf_instance_id)
    under_way;                                 /* new ones of moves that the copy may not know of: the call to
                                                  start one may still come after */
    TF_VEC(struct audit_allocation *) changes; /* by the transaction under way, */
    TF_VEC(struct audit_epoch *) opened;       /* first seen in it, */
    TF_VEC(struct audit_epoch *) refused;      /* refused in it, */
    TF_VEC(struct audit_epoch *) ended;        /* and those whose end it records */
    bool placed;                               /* one was added by the transaction under way */
};

struct audit {
    struct tf_mono now;
    char *breach;
    bool calm, mute;
    bool burnt; /* some subcluster, with its knowledge of epochs: their numbers may come again after a restore
                 */
    bool copied; /* the records of a restored store are coming in */
    int64_t start_timeout, clock_error;
    int64_t calendar, skew; /* wall clock at the start; how far that of a daemon may be off it */
    struct audit_silence silence;
    struct audit_job *jobs, *names; /* by uid; by stored name */
    struct audit_epoch *numbers;
    struct audit_instance *instances;
    TF_VEC(struct audit_site *) sites;
    struct audit_site *site; /* the one that was asked for last: a step is about one. NULL at first */
    struct audit_counts counts;
};

/* Found or, but for instances, made. */
struct audit_job *audit_job(struct audit *audit, struct tf_uid uid);
struct audit_epoch *audit_epoch(struct audit *audit, struct tf_uid uid, uint64_t epoch);
struct audit_site *audit_site(struct audit *audit, const char *name);
struct audit_node *audit_find_node(const struct audit_site *site, const char *name); /* NULL */
struct audit_instance *audit_instance(struct audit *audit, const char *cluster,
                                      const struct tf_instance_id *id);                        /* NULL */
struct audit_allocation *audit_allocation(const struct audit_site *site, struct tf_uid uid);   /* NULL */
struct audit_job *audit_stored_job(struct audit *audit, const char *tenant, const char *name); /* NULL */

/* At rest: jobs that are alike have been placed in the order of the queue (order.c). */
void audit_check_order(struct audit *audit);

/* Words for messages; valid until the fourth next call. */
const char *audit_uid(struct tf_uid uid);
const char *audit_id(const struct tf_instance_id *id);

/* Whether a member of the stored record has capacity of its node. */
bool audit_member_holds(const struct tf_member *member);
void audit_check_size(struct audit *audit, const struct audit_site *site, const struct tf_allocation *a);
/* It runs, and the store knows nothing of it, or of an earlier attempt only. */
bool audit_is_stray(const struct audit_site *site, const struct tf_instance_id *id);
bool audit_has_lost_a_node(struct audit *audit, const struct audit_site *site, const struct tf_allocation *a);
/* How many instances of the spec the cluster could hold by a naive loop over what nodes have beyond `used`
 * and outside of what is kept for others than that job (at its latest, or, cautious, the larger of before and
 * after the last transaction); only nodes that are ready. In that model, or (NULL) in the best of those that
 * the spec allows. */
int32_t audit_naive_count(const struct audit_site *site, struct tf_uid uid, const struct tf_job_spec *spec,
                          const char *model, bool cautious);
/* The largest that a loop over one model after the other finds, of those that the spec allows and the site
 * has. */
typedef int32_t audit_model_f(const char *model, void *arg);
int32_t audit_best_model(const struct audit_site *site, const struct tf_job_spec *spec, audit_model_f *count,
                         void *arg);
bool audit_may_use(const struct audit_site *site, const struct tf_job_spec *spec);
/* At rest: each reason that was given for the job is true. */
void audit_check_waiting(struct audit *audit, const struct audit_job *job);

/* The capacity that a stored record takes is added to its site (times 1) or taken back (times -1). */
void audit_count_allocation(struct audit *audit, struct audit_site *site, const struct tf_allocation *a,
                            int32_t times);
void audit_count_claim(struct audit_site *site, const struct tf_claim *claim, int32_t times);
/* Counts anew what the leader has promised to the epoch. */
void audit_count_promise(const struct audit *audit, struct audit_epoch *epoch);

/* Checks of one subject, called as facts come in. */
void audit_check_start(struct audit *audit, const struct audit_instance *instance);
void audit_check_ledger(struct audit *audit, struct audit_site *site);
void audit_check_room(struct audit *audit, struct audit_site *site);
void audit_check_dropped(struct audit *audit, const struct audit_epoch *epoch);

/* Who gives way for whom: noted record by record, judged at the end of the transaction. */
void audit_note_opened(struct audit_site *site, struct audit_epoch *epoch);
void audit_keep_before(struct audit_site *site, struct audit_allocation *known); /* known->a changes now */
void audit_drop_before(struct audit_site *site, struct audit_allocation *known); /* known goes */
void audit_check_evicted(struct audit *audit, struct audit_site *site);
void audit_check_claim_end(struct audit *audit, const struct audit_epoch *epoch);
void audit_note_silence(struct audit *audit, struct audit_node *node, enum tf_node_state before);
void audit_node_judged(struct audit *audit, struct audit_site *site, const char *name,
                       enum tf_verdict verdict);
/* It went with its node, or is about to: as far as its cluster can know it does not live. */
bool audit_given_up(const struct audit *audit, const struct audit_instance *instance);
void audit_check_silence(struct audit *audit, const struct audit_instance *instance);
void audit_node_cordoned(struct audit *audit, struct audit_site *site, const char *name, bool on);

/* Moves (moves.c). */
void audit_chain_stored(struct audit *audit, struct audit_site *site, const struct tf_migration *record,
                        bool gone);
void audit_forget_chains(struct audit_site *site);
void audit_settle_chains(struct audit_site *site); /* at the end of a transaction */
/* That attempt, in the stored record; NULL: it is none of its members. */
const struct tf_member *audit_member(const struct tf_allocation *a, const struct tf_instance_id *id);
/* The stored record has the instance as one that comes or goes by a recorded move. */
bool audit_moves(const struct audit_site *site, const struct tf_instance_id *id);
/* Before the store is put back: the moves that it has just now. */
void audit_keep_moves(struct audit_site *site);
/* It was one of those. */
bool audit_moved_before(const struct audit_site *site, const struct tf_instance_id *id);
/* A move that is not over, or was until now, comes to that node or leaves it (NULL: any). */
bool audit_moves_at(const struct audit_site *site, const char *node);
bool audit_is_emptied(const struct audit_site *site, const char *node); /* by a chain that goes on */
/* Its job stops as a whole, to start in other places. */
bool audit_moves_whole(const struct audit_site *site, struct tf_uid uid);
void audit_note_moves(struct audit *audit, struct audit_site *site, const struct tf_allocation *a);
void audit_note_move_start(const struct audit_site *site, struct audit_instance *new);
void audit_check_move_stop(struct audit *audit, struct audit_site *site, const struct tf_instance_id *id);
void audit_check_chains_at_rest(struct audit *audit, const struct audit_site *site);

/* What gets free is offered first (offers.c). */
void audit_profile_told(const struct audit *audit, struct audit_site *site, struct tf_generation generation);
void audit_considered_told(struct audit_site *site, struct tf_generation generation);
void audit_note_freed(const struct audit *audit, struct audit_node *node, uint64_t gpus);
void audit_check_offers(struct audit *audit, const struct audit_site *site);
void audit_settle_offers(const struct audit *audit,
                         struct audit_site *site); /* at the end of a transaction */

/* Drains (drains.c). */
void audit_node_drained(const struct audit *audit, struct audit_site *site, const char *name,
                        const struct tf_cordon *cordon);
void audit_settle_drains(struct audit_site *site); /* at the end of a transaction */
/* A member of it has been sent away by that, or may be: its node's deadline has come. */
bool audit_is_drained(const struct audit *audit, const struct audit_site *site,
                      const struct tf_allocation *a);
/* By a drain that is over, or that a restored store has forgotten, a moment ago: the calls were on their way.
 */
bool audit_was_drained(const struct audit *audit, const struct audit_site *site, const struct audit_epoch *e);
/* By the transaction under way that member is told to leave, and no deadline says that a protected core may.
 */
bool audit_drain_spares(const struct audit *audit, const struct audit_site *site, const struct tf_member *m);
void audit_check_drained(struct audit *audit, const struct audit_site *site,
                         const struct audit_allocation *known);
void audit_check_drains_at_rest(struct audit *audit, const struct audit_site *site);
/* Its core is protected, as far as its cluster's clock can be wrong. */
bool audit_is_protected(const struct audit *audit, const struct audit_epoch *epoch);

/* Claims on whole nodes. */
void audit_nodes_claimed(struct audit_site *site, const struct tf_node_claim *record, bool gone);
void audit_forget_node_claims(struct audit_site *site);
bool audit_is_kept(const struct audit_site *site, const struct tf_node *node, struct tf_uid uid,
                   const struct tf_job_spec *spec); /* for another of its priority or above */
void audit_check_kept(struct audit *audit, struct audit_site *site);
void audit_settle_kept(struct audit_site *site); /* at the end of a transaction */

/* Sum over nodes, in whole steps, by a loop that asks `count` of each node, under the spec's topology. */
typedef int32_t audit_count_f(const struct audit_node *node, void *arg);
int32_t audit_count_nodes(const struct audit_site *site, const struct tf_job_spec *spec, audit_count_f *count,
                          void *arg);

/* How many instances more of that running job a naive loop finds room for: in what is free, or also where
 * surplus of lower priorities is. */
int32_t audit_room_to_grow(struct audit *audit, const struct audit_site *site, const struct tf_allocation *a,
                           bool take_surplus);
/* The same of what would be there without all that ranks below its core and may be evicted. */
int32_t audit_room_by_eviction(struct audit *audit, const struct audit_site *site,
                               const struct tf_allocation *a);

#endif
