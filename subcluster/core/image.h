/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_IMAGE_H
#define TF_SUBCLUSTER_CORE_IMAGE_H

#include "common/model/image.h"
#include "subcluster/core/state.h"

/* Parts of sub_image_state (sub.h) that only their owners know. */
void ledger_image(struct tf_image *image, struct ledger *ledger);
void jobs_image(struct tf_image *image, struct sub *sub);
void out_image(struct tf_image *image, struct outbox *box);

#endif
