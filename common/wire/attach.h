/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_WIRE_ATTACH_H
#define TF_WIRE_ATTACH_H

#include "common/base/buf.h"
#include "common/model/message.h"
#include "common/model/plan.h"

/* Messages between the federation and a subcluster, as bytes (proto/attach.proto). */

#define TF_WIRE_METHOD_ATTACH "/tidefed.v1.Attach/Attach"      /* both ways: tf_up, tf_down */
#define TF_WIRE_METHOD_PUSH_LOGS "/tidefed.v1.Attach/PushLogs" /* tf_log_chunk; answered by no bytes */

enum {
    TF_WIRE_STREAM_MAX = 4 << 20,    /* bytes of one message up or down: what gRPC takes by default */
    TF_WIRE_PART_BYTES = 512 * 1024, /* of a PART or CHANGE, by what the sender should split */
    TF_WIRE_LOG_CHUNK_MAX = 64 * 1024,
};

/* pack appends. -1: TF_ERR_INVALID when a rule of the format is broken (the text names the field),
 * TF_ERR_TOO_LARGE beyond TF_WIRE_STREAM_MAX. unpack expects nothing of its result, which is empty after a
 * failure; the bounds of profiles, policies and specs are for tf_profile_check, tf_policy_check and
 * tf_job_manifest_check. */
int tf_wire_up_pack(const struct tf_up *up, struct tf_buf *out, struct tf_error *err);
int tf_wire_up_unpack(const void *bytes, size_t len, struct tf_up *up, struct tf_error *err);
int tf_wire_down_pack(const struct tf_down *down, struct tf_buf *out, struct tf_error *err);
int tf_wire_down_unpack(const void *bytes, size_t len, struct tf_down *down, struct tf_error *err);
/* The bytes of a tf_answer to TF_ASK_PLACE; at most TF_WIRE_STREAM_MAX. */
int tf_wire_place_plan_pack(const struct tf_place_plan *plan, struct tf_buf *out, struct tf_error *err);
int tf_wire_place_plan_unpack(const void *bytes, size_t len, struct tf_place_plan *plan,
                              struct tf_error *err);
/* Likewise to TF_ASK_DEFRAG. */
int tf_wire_defrag_plan_pack(const struct tf_defrag_plan *plan, struct tf_buf *out, struct tf_error *err);
int tf_wire_defrag_plan_unpack(const void *bytes, size_t len, struct tf_defrag_plan *plan,
                               struct tf_error *err);
/* Bytes that an entry adds to a message down, at most; 0 if it cannot be packed. */
size_t tf_wire_entry_size(const struct tf_entry *entry);

/* A piece of an instance's output, on its way from a subcluster to who asked. */
struct tf_log_chunk {
    uint64_t ask; /* id of the tf_ask */
    char *data;   /* at most TF_WIRE_LOG_CHUNK_MAX bytes, any; no NUL at the end */
    size_t len;
    char *error; /* in the last chunk: why there is no more; NULL = the end */
};
void tf_log_chunk_release(struct tf_log_chunk *chunk);
int tf_wire_log_chunk_pack(const struct tf_log_chunk *chunk, struct tf_buf *out, struct tf_error *err);
int tf_wire_log_chunk_unpack(const void *bytes, size_t len, struct tf_log_chunk *chunk, struct tf_error *err);

#endif
