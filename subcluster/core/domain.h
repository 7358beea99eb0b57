/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_DOMAIN_H
#define TF_SUBCLUSTER_CORE_DOMAIN_H

#include "common/base/buf.h"
#include "subcluster/core/state.h"

/* Nodes that people name together: a domain's path, TF_ALL_DOMAINS, or TF_BY_LABELS (common/model/node.h). */

struct domain_nodes { /* borrowed from the ledger; tf_vec_release */
    struct ledger_node **items;
    size_t count, cap;
};

static inline bool domain_is_all(const char *domain)
{
    return strcmp(domain, TF_ALL_DOMAINS) == 0;
}

/* "domain bj-a/pod-3", "cluster bj-a", "every node of bj-a with disk=nvme". */
void domain_say(const struct sub *sub, const char *domain, struct tf_buf *text);
/* "domain bj-a/pod-3: `fedctl uncordon domain bj-a/pod-3` ends that for all of its nodes" */
void domain_say_end(const struct sub *sub, const char *domain, struct tf_buf *text);
/* Those that the engine lists. NULL, or what is wrong with what is named, or that no node is there. Owned. */
char *domain_list(const struct sub *sub, const char *domain, struct domain_nodes *out,
                  enum tf_error_code *code);
/* An order about it was carried out: done is "cordoned" or "drained", of so many nodes. Traced and answered;
 * more: what else the answer says, or "". */
void domain_answer(struct sub *sub, const struct tf_ask *ask, const char *done, size_t count,
                   const char *more);

#endif
