/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDCTL_TARGET_H
#define TF_FEDCTL_TARGET_H

#include "common/wire/api.h"
#include "tools/fedctl/fedctl.h"

/* What the words of a command line name. */

enum resource_kind {
    RESOURCE_NONE,
    RESOURCE_JOBS,
    RESOURCE_CLUSTERS,
    RESOURCE_NODES,
    RESOURCE_GPUS,
    RESOURCE_INSTANCES,
    RESOURCE_RESERVATIONS,
    RESOURCE_MIGRATIONS,
    RESOURCE_DRAINS,
    RESOURCE_DOMAINS
};

/* Takes the first word when it names a kind that is allowed (a set of 1 << kind): "jobs", "job", ... It may
 * be left out where only jobs are allowed, and before a word with '/'. -1 with *err (TF_ERR_INVALID), which
 * names the nearest kind. */
int target_kind(struct fedctl *ctl, unsigned allowed, enum resource_kind *kind, struct tf_error *err);

/* "TENANT/NAME", or "NAME" with a tenant from the options or the configuration. ref is zeroed or
 * initialised, owned by the caller: target_release. */
int target_job(const struct fedctl *ctl, const char *word, struct tf_job_ref *ref, struct tf_error *err);
/* The same, also "TENANT/NAME/INDEX"; *index stays when there is none. */
int target_instance(const struct fedctl *ctl, const char *word, struct tf_job_ref *ref, int32_t *index,
                    struct tf_error *err);
/* "CLUSTER/NODE", or "NODE" with --cluster; where gpus is not NULL, "CLUSTER/NODE:3" or ":0-3,6", and *gpus
 * is that set. Strings are the caller's. */
int target_node(const struct fedctl *ctl, const char *word, char **cluster, char **node, uint64_t *gpus,
                struct tf_error *err);
void target_release(struct tf_job_ref *ref);
/* The error about a reservation: not found is said in words that help with one. */
void target_about_reservation(struct tf_error *err, const char *word);
/* Asks that about the job that the word names. Gives the exit code; what went wrong has been said. reply is
 * owned by the caller. */
int target_ask(struct fedctl *ctl, enum tf_method method, const char *word, struct tf_reply *reply);
/* The job itself, or a reservation, which the user called one. As target_ask. */
int target_ask_of_kind(struct fedctl *ctl, const char *word, bool reserves, struct tf_reply *reply);

/* "team=ranking,tier in (a,b)" (common/model/selector.h), added to labels. */
int target_selector(const char *text, struct tf_selector *labels, struct tf_error *err);
/* "running,pending": a set of 1 << enum tf_phase. */
int target_phases(const char *text, uint32_t *phases, struct tf_error *err);

#endif
