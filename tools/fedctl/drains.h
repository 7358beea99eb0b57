/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDCTL_DRAINS_H
#define TF_FEDCTL_DRAINS_H

#include "common/wire/api.h"

/* A drain, as it was ordered: of a node, or of all nodes of a domain or cluster together. */
struct drain {
    char *cluster, *what; /* what: the node, the domain's path, TF_ALL_DOMAINS, or TF_BY_LABELS */
    bool of_node;
    int32_t nodes, empty;
    struct tf_strs left; /* instances that are there yet: TENANT/NAME/INDEX */
    struct tf_wall since;
    struct tf_drain terms;
    char *reason;
};

const char *drain_kind(const struct drain *drain); /* "domain" */
/* As drain and uncordon are told of it: "bj-a/pod-3", "bj-a -l disk=nvme". */
void drain_name(const struct drain *drain, struct tf_buf *out);
bool drain_is_done(const struct drain *drain); /* nothing is left there */

#endif
