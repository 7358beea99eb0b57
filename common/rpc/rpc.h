/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_RPC_RPC_H
#define TF_RPC_RPC_H

#include "common/base/buf.h"
#include "common/base/bytes.h"
#include "common/base/error.h"
#include "common/loop/loop.h"
#include "common/net/tls.h"

/* Our face of gRPC: servers (server.h), clients (client.h) and the streams of both (stream.h). Bodies are
 * bytes; what they mean is up to common/wire. All calls back come in the loop thread, from the loop, never
 * from within the function that started something; the one exception, methods with a thread of their own, is
 * in server.h.
 *
 * Bodies that are sent are handed over as a tf_buf: its memory is taken, not copied, and it is empty
 * afterwards, also when the call fails. Bodies that come in are borrowed during the call back. */

/* gRPC in this process, bound to one loop: a thread that moves events into its inbox. */
struct tf_rpc;

struct tf_rpc *tf_rpc_create(struct tf_loop *loop, struct tf_error *err);
/* Servers are destroyed before it; channels too. Waits (turning the loop) until the calls that were cancelled
 * have gone. Not from a call back. NULL is fine. */
void tf_rpc_destroy(struct tf_rpc *rpc);

enum {
    TF_RPC_MESSAGE_MAX = 4 << 20,       /* default limit of one message, both ways */
    TF_RPC_TEXT_MAX = 999,              /* of an error's text, in bytes */
    TF_RPC_DETAILS_MAX = 2048,          /* of the typed detail of an error; what is longer is not sent */
    TF_RPC_KEEPALIVE_MS = 5000,         /* a quiet connection is probed after so long, and */
    TF_RPC_KEEPALIVE_TIMEOUT_MS = 5000, /* given up without an answer after so long */
};

/* How the two ends know each other: mutual TLS with these files, borrowed during the call that takes them,
 * or, if none are set, nothing at all, for loopback and Unix sockets. A server looks at the files with each
 * connection that comes in, a channel when it is made. */
struct tf_rpc_credentials {
    const struct tf_tls_files *tls;
};

#endif
