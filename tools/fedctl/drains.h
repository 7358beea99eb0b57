/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDCTL_DRAINS_H
#define TF_FEDCTL_DRAINS_H

#include "tools/fedctl/fedctl.h"

/* A node of it. */
struct drain_node {
    char *name;
    bool
        other_terms; /* a later order, about it or about some with it, has taken it: the terms of that hold */
    enum tf_node_state state;
    struct tf_strs left; /* instances that are there yet: TENANT/NAME/INDEX */
};

/* A drain, as it was ordered: of a node, or of all nodes of a domain or cluster together. Owns its strings.
 */
struct drain {
    char *cluster, *what; /* what: the node, the domain's path, TF_ALL_DOMAINS, or TF_BY_LABELS */
    bool of_node;
    TF_VEC(struct drain_node) covers;
    int32_t empty;       /* of these */
    struct tf_strs left; /* on all of them */
    struct tf_wall since;
    struct tf_drain terms;
    char *reason;
};
struct drains {
    struct drain *items;
    size_t count, cap;
};

const char *drain_kind(const struct drain *drain); /* "domain" */
/* As drain and uncordon are told of it: "bj-a/pod-3", "bj-a -l disk=nvme". */
void drain_name(const struct drain *drain, struct tf_buf *out);
bool drain_is_done(const struct drain *drain); /* nothing is left there */
/* Those of the nodes that the options and words name. Gives the exit code; drains_release either way. */
int drains_fetch(struct fedctl *ctl, struct drains *drains);
void drains_release(struct drains *drains);

#endif
