/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_BASE_HASH_H
#define TF_BASE_HASH_H

/* uthash with our allocator. Iteration (HASH_ITER) is in order of insertion: deterministic. Tables keyed by
 * what a peer chose hold bounded numbers of entries. */
#include "common/base/alloc.h"

#define uthash_malloc(size) tf_malloc(size)
#define uthash_free(ptr, size) free(ptr)
#define uthash_fatal(text) abort() /* never reached: our allocator does not return NULL */
#define HASH_NONFATAL_OOM 0
#include <uthash.h>

#endif
