/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_MODEL_PROFILE_H
#define TF_MODEL_PROFILE_H

#include "common/base/clock.h"
#include "common/model/level.h"
#include "common/model/node.h"

/* A subcluster's statement of what it could give to whom (DESIGN.md §6). */

enum {
    TF_PROFILE_ROWS_MAX = 131072, /* rows, and bound of their ids */
    TF_PROFILE_CLASSES_MAX = 65536,
    TF_RESERVED_MAX = 64, /* reservations of one row: each has a GPU of it */
    TF_NODE_SLOTS_MAX = 65536,
};
#define TF_COST_GPUS_MAX (INT64_C(1) << 24) /* of one subcluster */
#define TF_GPU_SECONDS_MAX (INT64_C(1) << 50)
#define TF_QUANTITY_MAX (INT64_C(1) << 40) /* millicores or MiB of one node */

/* What makes two nodes interchangeable for placement. */
struct tf_node_class {
    char *model; /* NULL: no GPUs */
    int64_t gpu_memory;
    struct tf_strs domains; /* one path a plane; "" = none */
    struct tf_pairs labels; /* those listed in scheduleLabels */
};
void tf_node_class_release(struct tf_node_class *class);
void tf_node_class_copy(struct tf_node_class *to,
                        const struct tf_node_class *from); /* to is zeroed or initialised */
bool tf_node_class_eq(const struct tf_node_class *a, const struct tf_node_class *b);

/* Cumulative: what is there for a demand that may take everything at `level` and below. */
struct tf_level_vector {
    tf_level level;
    struct tf_vector have;
};
struct tf_level_vectors {
    struct tf_level_vector *items; /* ascending by level; the first is TF_LEVEL_FREE */
    size_t count, cap;
};
bool tf_level_vectors_eq(const struct tf_level_vectors *a, const struct tf_level_vectors *b);

/* More that the row has for jobs which may use that reservation, at every level below the one that the
 * reservation ranks at. */
struct tf_reserved {
    struct tf_uid uid; /* of the reservation */
    tf_level level;    /* core(its priority): who may take that has it in the row's vectors */
    struct tf_vector more;
};
struct tf_reserved_list {
    struct tf_reserved *items;
    size_t count, cap;
};
bool tf_reserved_list_eq(const struct tf_reserved_list *a, const struct tf_reserved_list *b);

struct tf_profile_row {
    uint32_t id;    /* names the row in deltas */
    uint32_t class; /* index into the classes */
    int32_t count;  /* nodes of this class with exactly these vectors; 0 = the row is gone */
    struct tf_level_vectors levels;
    int claim_rank; /* -1 = none; else cores of this rank or lower are placed here only if they end before
                       claim_until */
    struct tf_wall claim_until;
    struct tf_reserved_list reserved; /* ascending by uid */
};
void tf_profile_row_release(struct tf_profile_row *row);
void tf_profile_row_copy(struct tf_profile_row *to,
                         const struct tf_profile_row *from); /* to is zeroed or initialised */
bool tf_profile_row_eq(const struct tf_profile_row *a,
                       const struct tf_profile_row *b); /* id, count and content */
bool tf_profile_row_alike(const struct tf_profile_row *a, const struct tf_profile_row *b); /* content only */

/* Order of two profiles of one subcluster: owner revision, then counter. */
struct tf_generation {
    uint64_t owner;
    uint64_t counter;
};

/* Idle GPUs, each under exactly one cause (DESIGN.md §6). */
struct tf_idle_causes {
    int32_t deliverable, count, cpu_memory, topology, policy, step, health;
};
void tf_idle_causes_add(struct tf_idle_causes *sum, const struct tf_idle_causes *more);
int32_t tf_idle_causes_sum(const struct tf_idle_causes *causes); /* all idle GPUs */

/* What is held at a level, and what taking it would cost: told by moments, so that it need not be told again
 * as time goes by. */
struct tf_level_cost {
    tf_level level;
    int64_t gpus;         /* > 0 */
    struct tf_wall since; /* since when their work is not safe: the mean */
    int64_t before;       /* GPU-seconds: what the evictions of the last day weigh, of all */
};

/* What keeps a subcluster from acting, a set. */
enum tf_brake {
    TF_BRAKE_MASS_DOWN = 1, /* too many nodes went silent at once: none is judged */
    TF_BRAKE_EVICTIONS = 2,
    TF_BRAKE_FROZEN_EVICTIONS = 4,
    TF_BRAKE_FROZEN_GROWTH = 8,
    TF_BRAKE_FROZEN_MOVES = 16,
};

/* A running job below its min. */
struct tf_short_demand {
    struct tf_uid uid;
    int rank;
    int32_t missing; /* instances */
    int32_t
        fits; /* of these, whole steps that fit what is free there: it starts them when that was considered */
};

/* Nodes of one class that consolidation could free as a whole: an upper bound, of all classes of a model
 * together, too. Nobody is evicted, and nobody waits for long, on its strength. */
struct tf_vacatable {
    uint32_t class;
    int32_t nodes;         /* > 0 */
    struct tf_vector room; /* of one of them when it is free: the least */
    int64_t cost;          /* of freeing the cheapest of them: GPU-seconds held twice meanwhile */
};
struct tf_vacatables {
    struct tf_vacatable *items;
    size_t count, cap;
};

bool tf_vacatables_eq(const struct tf_vacatables *a, const struct tf_vacatables *b);

/* Nodes of one class that a chain of moves empties: they are in no vector until that is over. Only told: what
 * keeps work from them is explained by it, and nothing is placed on its strength. */
struct tf_emptying {
    struct tf_uid chain;
    char *owner; /* TENANT/NAME of the job that they are for; NULL: of no job */
    uint32_t class;
    int32_t nodes;         /* > 0 */
    struct tf_vector room; /* of one of them when it is empty: the least */
};

struct tf_health_counts {
    int32_t nodes, ready, unreachable, lost, cordoned, draining, bad_gpus;
    int32_t gpus, free_gpus, held_gpus, foreign_gpus;
    int32_t suspect_gpus; /* of bad_gpus: those that are only suspect */
};

struct tf_profile {
    struct tf_generation base; /* of a delta; equal to generation in a full profile */
    struct tf_generation generation;
    bool full;
    struct tf_term reflects_term; /* the last directive it reflects: (term, n); n = 0: none yet */
    uint64_t reflects_n;
    struct tf_planes planes;
    TF_VEC(struct tf_node_class) classes;
    TF_VEC(struct tf_profile_row) rows;
    TF_VEC(struct tf_short_demand) shorts;
    TF_VEC(struct tf_level_cost) costs;
    struct tf_idle_causes idle;
    struct tf_health_counts health;
    struct tf_vacatables vacatable; /* by class; none while nothing may be moved for who waits */
    struct tf_strs moving_for; /* TENANT/NAME of jobs that wait, and for which instances are being moved */
    TF_VEC(struct tf_emptying) emptying; /* by chain, then class */
    int32_t brakes;                      /* set of enum tf_brake */
    int64_t loss_cap;                    /* ms: work that an instance may lose at most, in costs */
};

void tf_profile_release(struct tf_profile *profile);
void tf_profile_copy(struct tf_profile *to, const struct tf_profile *from);
/* Applies a delta in place: its classes are appended to the dictionary, its rows (sorted by id) replace those
 * of the same id or are added, a row of count 0 goes. A full profile replaces all. On failure nothing
 * changes: -1 (TF_ERR_CONFLICT) if its base is not this profile's generation: ask for the full one; -1
 * (TF_ERR_INVALID) if it fails tf_profile_check, or names a class or a gone row that is not there. */
int tf_profile_apply(struct tf_profile *profile, const struct tf_profile *delta, struct tf_error *err);
/* The difference as a delta, or a full profile when that is no larger, or when the planes differ or from's
 * classes are not the beginning of to's. Both have rows sorted by id. delta is zeroed or initialised. */
void tf_profile_diff(const struct tf_profile *from, const struct tf_profile *to, struct tf_profile *delta);
/* Bounds and references: what a peer sent is checked before use. The classes that a delta's rows name are
 * checked when it is applied. */
int tf_profile_check(const struct tf_profile *profile, struct tf_error *err);
/* What taking so many GPUs of what is held at that level would cost on average, in GPU-seconds; 0: it is not
 * told. */
int64_t tf_profile_price(const struct tf_profile *profile, tf_level level, int64_t gpus, struct tf_wall now);
/* What the row has for a demand that may take `level`: the last vector at or below it. */
static inline struct tf_vector tf_profile_row_at(const struct tf_profile_row *row, tf_level level)
{
    size_t i = row->levels.count;
    while (i > 1 && row->levels.items[i - 1].level > level)
        i--;
    return i > 0 ? row->levels.items[i - 1].have : (struct tf_vector){0};
}
int tf_generation_cmp(struct tf_generation a, struct tf_generation b);

#endif
