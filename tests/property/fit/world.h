/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_TESTS_FIT_WORLD_H
#define TF_TESTS_FIT_WORLD_H

#include "common/base/rng.h"
#include "common/fit/rows.h"

/* A few explicit nodes with explicit instances and claims, random demands on them, and what a naive loop over
 * the nodes says. The naive part shares no code with common/fit: it compares names, and puts instances on
 * nodes one by one. */

enum { WORLD_NODES = 7, WORLD_HOLDS = 12, WORLD_CLASSES = 3, WORLD_CEILING = 2 };

struct world_node {
    struct tf_node node;
    struct tf_hold holds[WORLD_HOLDS], claims[WORLD_HOLDS];
    size_t hold_count, claim_count;
    int claim_rank; /* the flag of R5 */
    struct tf_wall claim_until;
    uint32_t row; /* in world.rows */
};

struct world {
    struct tf_planes planes;
    struct tf_strs schedule_labels;
    size_t count;
    struct world_node nodes[WORLD_NODES];
    struct tf_fit_rows *rows;        /* like nodes in one row */
    struct tf_profile_row *one_each; /* row i = node i */
};

void world_create(struct world *w, struct tf_rng *rng);
void world_release(struct world *w);
/* Makes rows and one_each anew from the nodes. */
void world_refresh(struct world *w);
/* The row of one node as it is now; the caller releases it. */
struct tf_profile_row world_row(struct world *w, const struct world_node *n);
/* Random instances, claims and foreign use on a node that has none yet. */
void world_occupy(struct world_node *n, struct tf_rng *rng);
struct tf_fit_view world_nodes_view(const struct world *w);

tf_level world_level(struct tf_rng *rng);
/* A random spec; release it. */
void world_spec(struct tf_job_spec *spec, struct tf_rng *rng);

/* What the naive loop needs besides the spec. */
struct ask {
    const struct tf_job_spec *spec;
    tf_level level;
    int32_t core;
    int rank;
    bool is_core;
    int64_t ends;
    bool ignore_topology, ignore_claims, gpus_only, take_protected;
    bool singles; /* not rounded to steps where no rule is about them */
};

struct naive {
    int32_t count;
    const char *model;
    bool fits;
};

/* GPUs that nothing above the level holds or claims. */
int32_t naive_gpus(const struct world_node *n, tf_level level, bool take_protected);
/* Instances that go on the node, one after the other, until one does not: now, and when all claims are
 * served. */
int32_t naive_node(const struct world_node *n, struct tf_vector need, tf_level level, bool take_protected);
bool naive_admits(const struct world *w, const struct ask *ask, const struct world_node *n);
/* Best over all sets of nodes, R3 over models. */
struct naive naive_count(const struct world *w, const struct ask *ask);
const char *world_domain(const struct world *w, const struct world_node *n,
                         const struct tf_topology_rule *rule, char text[64]);

#endif
