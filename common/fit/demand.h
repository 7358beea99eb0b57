/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FIT_DEMAND_H
#define TF_FIT_DEMAND_H

#include "common/fit/catalog.h"

/* A topology rule, resolved. */
struct tf_demand_rule {
    size_t slot;    /* (plane, level) of the catalog */
    bool of_step;   /* of: step, else of: job */
    bool prefer;    /* mode: prefer, else require */
    int32_t domain; /* -1 = any; else only this one: where the job runs already */
};

/* What a job, one of its steps, or a claim asks of one subcluster, with its names resolved against that
 * subcluster's catalog. Resolve it again when the catalog has grown. The fields that tf_demand_resolve fills
 * for the first start of a job may be changed by the caller for other asks: core, step, level, is_core, ends,
 * claimant, used, reserved. */
struct tf_demand {
    struct tf_vector need; /* of one instance */
    int64_t gpu_memory;
    TF_VEC(int32_t)
    models; /* of the catalog, in order of preference; empty with gpus: 0, or if it has none */
    TF_VEC(int32_t) labels;              /* of the catalog, all of them */
    bool unknown_label;                  /* asks for a label that no node has */
    TF_VEC(struct tf_demand_rule) rules; /* in the order of the job */
    int32_t max_nodes;     /* 0 = no limit, TF_DEMAND_NO_NEW = none; nodes in `used` are not counted */
    int32_t step;          /* counts are multiples of it; > 0 */
    int32_t core;          /* instances without which it has not been met; > 0 */
    tf_level level;        /* may take everything at it and below */
    int rank;              /* of its priority */
    bool is_core;          /* claims bind cores only (R5) */
    bool claimant;         /* the claims of its own rank are its own */
    struct tf_wall ends;   /* latest end, for R5; TF_DEMAND_ENDLESS */
    TF_VEC(uint32_t) used; /* ids of rows (one node each) in which the job runs already; sorted */
    TF_VEC(struct tf_uid) reserved; /* reservations that it may use; sorted */
};
enum { TF_DEMAND_NO_NEW = -1 };
#define TF_DEMAND_ENDLESS ((struct tf_wall){INT64_MAX})

/* Zero-initialise before the first resolve; resolving again reuses the memory. */
void tf_demand_release(struct tf_demand *demand);

/* The demand of the first start of a job of that rank: core = min, level = all below core(rank), ends =
 * endless. -1 and *err (the text of a TF_REASON_TOPOLOGY) if a required rule names a plane or a level that
 * the subcluster does not have, or if max_nodes meets a required rule of: step. A preferred rule that cannot
 * be resolved is left out. */
int tf_demand_resolve(struct tf_demand *demand, const struct tf_job_spec *spec, int rank,
                      const struct tf_catalog *catalog, struct tf_error *err);

/* Growth and repair ask with their anchor: the model and the job's domains are those of a node of this class,
 * where the job runs already. step_too: also the domains of its required step rules (the repair of a part of
 * a step). */
void tf_demand_anchor(struct tf_demand *demand, const struct tf_catalog *catalog, uint32_t class,
                      bool step_too);

/* Only this model (a Place names the one that was chosen); with gpus: 0 nothing changes. */
void tf_demand_fix_model(struct tf_demand *demand, const struct tf_catalog *catalog, const char *model);

/* Place in the demand's order of models (0 with gpus: 0), or -1 if nodes of that class are not for it: model,
 * GPU memory, labels, and a path for every required rule (R4). */
int tf_demand_admits(const struct tf_demand *demand, const struct tf_catalog *catalog, uint32_t class);
bool tf_demand_may_use(const struct tf_demand *demand, struct tf_uid reservation);
/* What its reservations keep of the row for it, which is not in the row's vector of that level. */
struct tf_vector tf_demand_reserved(const struct tf_demand *demand, const struct tf_profile_row *row,
                                    tf_level level);
/* What the row has for it at that level, that included. */
static inline struct tf_vector tf_demand_have(const struct tf_demand *demand,
                                              const struct tf_profile_row *row, tf_level level)
{
    struct tf_vector have = tf_profile_row_at(row, level);
    if (!demand->reserved.count || !row->reserved.count)
        return have;
    return tf_vector_add(have, tf_demand_reserved(demand, row, level));
}
/* R5: the row is claimed for something that this demand must not delay. */
bool tf_demand_barred(const struct tf_demand *demand, const struct tf_profile_row *row);

#endif
