/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_BASE_HASH_H
#define TF_BASE_HASH_H

/* uthash with our allocator and a hash for keys of names and uids: eight bytes a step. Iteration (HASH_ITER)
 * is in order of insertion: deterministic. Tables keyed by what a peer chose hold bounded numbers of entries.
 */
#include "common/base/alloc.h"

#include <stdint.h>
#include <string.h>

static inline uint64_t tf_hash_mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

/* The last eight bytes of a long key are read together, some of them twice. */
static inline uint32_t tf_hash_bytes(const void *key, size_t len)
{
    const char *bytes = key;
    uint64_t hash = tf_hash_mix(len, 0), word = 0;
    for (size_t at = 0; at + sizeof word < len; at += sizeof word) {
        memcpy(&word, bytes + at, sizeof word);
        hash = tf_hash_mix(hash, word);
    }
    if (len >= sizeof word)
        memcpy(&word, bytes + len - sizeof word, sizeof word);
    else
        for (size_t at = 0; at < len; at++)
            word = word << 8 | (uint8_t)bytes[at];
    hash = tf_hash_mix(hash, word);
    return (uint32_t)tf_hash_mix(hash,
                                 len); /* once more: else a key's last letters would not reach the low bits */
}

#define HASH_FUNCTION(keyptr, keylen, hashv) ((hashv) = tf_hash_bytes((keyptr), (keylen)))

#define uthash_malloc(size) tf_malloc(size)
#define uthash_free(ptr, size) free(ptr)
#define uthash_fatal(text) abort() /* never reached: our allocator does not return NULL */
#define HASH_NONFATAL_OOM 0
#include <uthash.h>

#endif
