/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_TESTS_RANDOM_ROWS_H
#define TF_TESTS_RANDOM_ROWS_H

#include "common/base/rng.h"
#include "common/base/row.h"

/* Fills object (raw memory) with random values that satisfy each row by itself: within bounds, names that are
 * names, texts full of what is special in YAML and JSON. Rules between fields are the caller's to repair. */
void random_object(struct tf_rng *rng, const struct tf_table *table, void *object);

#endif
