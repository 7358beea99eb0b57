/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_NET_ADDRESS_H
#define TF_NET_ADDRESS_H

#include "common/base/error.h"

#include <stdbool.h>

/* Addresses as people write them: "127.0.0.1:7700", "[::1]:7700", "host:7700", "unix:/run/x.sock". */
bool tf_address_is_unix(const char *address);

/* Only processes of this machine can reach it: 127.x.y.z, [::1], localhost, unix:/path. */
bool tf_address_is_local(const char *address);

/* -1 with advice if it is not one of these forms. */
int tf_address_check(const char *address, struct tf_error *err);

/* Whether a server may listen there: -1 with advice if it is in use, not of this machine, or not allowed.
 * gRPC itself would take over the Unix socket of a living server, and says nothing about its reasons. Blocks
 * for a look-up of the name, if it is one. */
int tf_address_probe(const char *address, struct tf_error *err);

/* A TCP socket that listens there, without sharing the port; -1 with advice. Blocks for a look-up of the
 * name, if it is one. */
int tf_address_listen(const char *address, struct tf_error *err);

#endif
