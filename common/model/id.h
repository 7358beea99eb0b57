/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_MODEL_ID_H
#define TF_MODEL_ID_H

#include "common/base/name.h"

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
    TF_UID_BYTES = 16,
    TF_UID_TEXT = 2 * TF_UID_BYTES + 1, /* hexadecimal, with the NUL */
    TF_INSTANCES_MAX = 4096,            /* instances of one job */
    TF_NODE_GPUS_MAX = 64,              /* GPUs of one node: a set of them is one uint64_t */
};

/* The identity of one submit: made by the client, never reused. All zero = none. */
struct tf_uid {
    uint8_t bytes[TF_UID_BYTES];
};

/* Total order, as memcmp. Here, since every search for a job is made of these. */
static inline int tf_uid_cmp(struct tf_uid a, struct tf_uid b)
{
    uint64_t x[2], y[2];
    memcpy(x, a.bytes, sizeof x);
    memcpy(y, b.bytes, sizeof y);
    if (x[0] != y[0])
        return be64toh(x[0]) < be64toh(y[0]) ? -1 : 1;
    return x[1] == y[1] ? 0 : be64toh(x[1]) < be64toh(y[1]) ? -1 : 1;
}

static inline bool tf_uid_eq(struct tf_uid a, struct tf_uid b)
{
    return tf_uid_cmp(a, b) == 0;
}

bool tf_uid_is_none(struct tf_uid uid);
void tf_uid_format(struct tf_uid uid, char text[TF_UID_TEXT]);
int tf_uid_parse(const char *text, struct tf_uid *uid, struct tf_error *err);

/* One start of one instance: at most one process (or pod) in the world ever runs under it. */
struct tf_instance_id {
    struct tf_uid uid;
    uint64_t epoch;
    uint32_t index;
    uint32_t attempt; /* from 1 */
};

bool tf_instance_id_eq(const struct tf_instance_id *a, const struct tf_instance_id *b);

/* The order of leaders: era first (raised only by --accept-rollback), then the creation revision of the
 * leader's key. */
struct tf_term {
    uint64_t era;
    uint64_t revision;
};

int tf_term_cmp(struct tf_term a, struct tf_term b);

#endif
