/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_MODEL_IMAGE_H
#define TF_MODEL_IMAGE_H

#include "common/base/image.h"
#include "common/model/message.h"
#include "common/model/settings.h"

/* Images of the model (common/base/image.h): whole, and, unlike the wire's form, without rules or bounds. */
void tf_image_uid(struct tf_image *image, struct tf_uid *uid);
void tf_image_term(struct tf_image *image, struct tf_term *term);
void tf_image_generation(struct tf_image *image, struct tf_generation *generation);
void tf_image_now(struct tf_image *image, struct tf_now *now);
void tf_image_instance_id(struct tf_image *image, struct tf_instance_id *id);
void tf_image_vector(struct tf_image *image, struct tf_vector *vector);
void tf_image_elastic(struct tf_image *image, struct tf_elastic *elastic);
void tf_image_spec(struct tf_image *image, struct tf_job_spec *spec);
/* Each owner gets one of its own when it is read. */
void tf_image_shared_spec(struct tf_image *image, const struct tf_job_spec **shared);
void tf_image_group(struct tf_image *image, struct tf_group *group);
void tf_image_manifest(struct tf_image *image, struct tf_job_manifest *manifest);
void tf_image_planes(struct tf_image *image, struct tf_planes *planes);
void tf_image_node(struct tf_image *image, struct tf_node *node);
void tf_image_node_class(struct tf_image *image, struct tf_node_class *class);
void tf_image_vacatable(struct tf_image *image, struct tf_vacatable *v);
void tf_image_profile_row(struct tf_image *image, struct tf_profile_row *row);
void tf_image_profile(struct tf_image *image, struct tf_profile *profile);
void tf_image_shapes(struct tf_image *image, struct tf_shapes *shapes);
void tf_image_policy(struct tf_image *image, struct tf_policy *policy);
void tf_image_settings(struct tf_image *image, struct tf_settings *settings);
void tf_image_job_record(struct tf_image *image, struct tf_job_record *record);
void tf_image_cluster_record(struct tf_image *image, struct tf_cluster_record *record);
void tf_image_summary_record(struct tf_image *image, struct tf_summary_record *record);
void tf_image_allocation(struct tf_image *image, struct tf_allocation *allocation);
void tf_image_node_claim(struct tf_image *image, struct tf_node_claim *claim);
void tf_image_migration(struct tf_image *image, struct tf_migration *migration);
void tf_image_domain_cordon(struct tf_image *image, struct tf_domain_cordon *cordon);
void tf_image_cordon(struct tf_image *image, struct tf_cordon *cordon);
void tf_image_freeze(struct tf_image *image, struct tf_freeze *freeze);
void tf_image_leaders(struct tf_image *image, struct tf_leaders *leaders);
void tf_image_eviction_count(struct tf_image *image, struct tf_eviction_count *evictions);
void tf_image_record(struct tf_image *image, struct tf_record *record);
void tf_image_hello(struct tf_image *image, struct tf_hello *hello);
void tf_image_report(struct tf_image *image, struct tf_report *report);
void tf_image_entry(struct tf_image *image, struct tf_entry *entry);
void tf_image_up(struct tf_image *image, struct tf_up *up);
void tf_image_down(struct tf_image *image, struct tf_down *down);

#endif
