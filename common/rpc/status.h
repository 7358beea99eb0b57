/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_RPC_STATUS_H
#define TF_RPC_STATUS_H

#include "common/rpc/grpc.h"

/* Between our errors and gRPC's status; for the files of this folder. */

/* Of gRPC: the canonical status codes. */
enum {
    TF_GRPC_CANCELLED = 1,
    TF_GRPC_UNKNOWN = 2,
    TF_GRPC_INVALID_ARGUMENT = 3,
    TF_GRPC_DEADLINE_EXCEEDED = 4,
    TF_GRPC_NOT_FOUND = 5,
    TF_GRPC_PERMISSION_DENIED = 7,
    TF_GRPC_RESOURCE_EXHAUSTED = 8,
    TF_GRPC_FAILED_PRECONDITION = 9,
    TF_GRPC_ABORTED = 10,
    TF_GRPC_OUT_OF_RANGE = 11,
    TF_GRPC_UNIMPLEMENTED = 12,
    TF_GRPC_INTERNAL = 13,
    TF_GRPC_UNAVAILABLE = 14,
};

/* Texts are borrowed from *error. */
struct tf_raw_status tf_status_from_error(const struct tf_error *error, struct tf_bytes details);

/* Where a client's call went, for the texts. */
struct tf_status_context {
    const char *address, *method;
    bool connected; /* when the call ended */
};

/* Sets *error, to TF_OK too. */
void tf_status_to_error(const struct tf_raw_status *status, const struct tf_status_context *context,
                        struct tf_error *error);

#endif
