/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_TESTS_RANDOM_MODEL_H
#define TF_TESTS_RANDOM_MODEL_H

#include "common/base/rng.h"
#include "common/model/message.h"

/* Random values of the model within the bounds of the wire format, which fill every field sooner or later:
 * the initialisers in random_model.c are positional, so that a new field without a value does not compile.
 * They are not meant to make sense together (see tf_job_manifest_check, tf_profile_check). The result is
 * owned by the caller; what was in it is not released. */
void random_job_spec(struct tf_rng *rng, struct tf_job_spec *out);
void random_job_manifest(struct tf_rng *rng, struct tf_job_manifest *out);
void random_member(struct tf_rng *rng, struct tf_member *out);
void random_ended(struct tf_rng *rng, struct tf_ended *out);
void random_job_event(struct tf_rng *rng, struct tf_job_event *out);
void random_node(struct tf_rng *rng, struct tf_node *out);
void random_policy(struct tf_rng *rng, struct tf_policy *out);
void random_profile(struct tf_rng *rng, struct tf_profile *out);
void random_job_record(struct tf_rng *rng, struct tf_job_record *out);
void random_allocation(struct tf_rng *rng, struct tf_allocation *out);
void random_freeze(struct tf_rng *r, struct tf_freeze *out);
void random_cordon(struct tf_rng *rng, struct tf_cordon *out); /* without its node */
struct tf_cross random_cross(struct tf_rng *r);
void random_migration(struct tf_rng *rng, struct tf_migration *out);
void random_migrate_order(struct tf_rng *rng, struct tf_migrate_order *out);
void random_record(struct tf_rng *rng, enum tf_record_kind kind, struct tf_record *out);
void random_up(struct tf_rng *rng, enum tf_up_kind kind, struct tf_up *out);
void random_entry(struct tf_rng *rng, struct tf_entry *out);
void random_defrag_order(struct tf_rng *rng, struct tf_defrag_order *out);
void random_down(struct tf_rng *rng, struct tf_down *out);

/* ---- for generators of other structs ---- */

char *random_name(struct tf_rng *rng);
char *random_text(struct tf_rng *rng);     /* UTF-8, not empty */
char *random_optional(struct tf_rng *rng); /* that, or NULL */
void random_strs(struct tf_rng *rng, struct tf_strs *out);
void random_pairs(struct tf_rng *rng, struct tf_pairs *out);
struct tf_uid random_uid(struct tf_rng *rng); /* never none */
struct tf_wall random_wall(struct tf_rng *rng);
int64_t random_range(struct tf_rng *rng, int64_t low, int64_t high); /* ends and small numbers more often */
uint64_t random_counter(struct tf_rng *rng);
struct tf_vector random_vector(struct tf_rng *rng);
struct tf_health_counts random_health(struct tf_rng *rng);
struct tf_idle_causes random_idle(struct tf_rng *rng);
struct tf_generation random_generation(struct tf_rng *rng);

/* Appends up to three random elements. */
#define RANDOM_LIST(rng, list, fill)                       \
    for (uint64_t n_ = tf_rng_below(rng, 4); n_ > 0; n_--) \
    fill(rng, tf_vec_add(list))

#endif
