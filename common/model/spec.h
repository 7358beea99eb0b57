/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_MODEL_SPEC_H
#define TF_MODEL_SPEC_H

#include "common/model/job.h"

/* Shared specs. What a job is to be does not change while it is stored, sent and weighed: whoever changes a
 * job gives it another spec. So a spec that records, messages and states hold is made once, has any number of
 * owners, and goes with the last of them. A `const struct tf_job_spec *` that is said to be shared is one of
 * these: it is not to be mixed up with the address of a spec that is somebody's own. NULL is no spec.
 *
 * Owners are counted without locks: all owners of a spec are in one thread. */

/* A shared spec with the content of spec, which is taken (and zeroed). The caller is its one owner. */
const struct tf_job_spec *tf_spec_share(struct tf_job_spec *spec);
/* The caller becomes one more owner. NULL is fine. */
const struct tf_job_spec *tf_spec_take(const struct tf_job_spec *shared);
/* The caller owns it no longer. NULL is fine. */
void tf_spec_drop(const struct tf_job_spec *shared);
/* *to, of the caller (or NULL), becomes the other one. */
void tf_spec_set(const struct tf_job_spec **to, const struct tf_job_spec *shared);
/* To write: makes *shared (of the caller, or NULL: all zero then) a spec that nobody else owns, by a copy if
 * somebody does, and returns it. What is written is written before anybody takes it again. */
struct tf_job_spec *tf_spec_own(const struct tf_job_spec **shared);
/* Both say the same, or neither is there. */
bool tf_spec_eq(const struct tf_job_spec *a, const struct tf_job_spec *b);
/* tf_table_weight of it, which is counted once; 0 of NULL. */
size_t tf_spec_weight(const struct tf_job_spec *shared);
/* One that says nothing (all zero), where there must be one. */
const struct tf_job_spec *tf_spec_none(void);

#endif
