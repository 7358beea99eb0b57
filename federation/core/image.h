/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDERATION_CORE_IMAGE_H
#define TF_FEDERATION_CORE_IMAGE_H

#include "common/model/image.h"
#include "federation/core/state.h"

/* Parts of fed_image_state (fed.h) that only their owners know. Reading, clusters and jobs are there before
 * the queue. */
void fed_queue_image(struct tf_image *image, struct fed *fed);
void fed_tenants_image(struct tf_image *image, struct fed *fed);
void fed_mix_image(struct tf_image *image, struct fed *fed); /* after the jobs */
void fed_outbox_image(struct tf_image *image, struct fed *fed);

#endif
