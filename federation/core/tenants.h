/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDERATION_CORE_TENANTS_H
#define TF_FEDERATION_CORE_TENANTS_H

#include "federation/core/state.h"

/* What each tenant has asked for and not got rid of: its limits are checked against it at submit. */

/* Brings the tenant's sums up to date with the job's record; again after every change of it. */
void fed_tenant_charge(struct fed *fed, struct job *job);
void fed_tenant_discharge(struct fed *fed, struct job *job);
/* The job's manifest against the limits: a complaint each. `old` is the job that it would change, or NULL. */
void fed_tenant_check(const struct fed *fed, const struct tf_job_manifest *manifest, const struct job *old,
                      struct tf_complaints *out);
void fed_tenants_release(struct fed *fed);

#endif
