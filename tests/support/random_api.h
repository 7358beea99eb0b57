/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_TESTS_RANDOM_API_H
#define TF_TESTS_RANDOM_API_H

#include "common/wire/api.h"
#include "tests/support/random_model.h"

/* As random_model.h, for what clients and the federation say to each other. */
void random_job_view(struct tf_rng *rng, struct tf_job_view *out);
void random_place_plan(struct tf_rng *rng, struct tf_place_plan *out);
void random_nodes_reply(struct tf_rng *rng, struct tf_nodes_reply *out);
void random_request(struct tf_rng *rng, enum tf_method method, struct tf_request *out);
void random_reply(struct tf_rng *rng, enum tf_method method, struct tf_reply *out);
void random_error_detail(struct tf_rng *rng, struct tf_error_detail *out);

#endif
