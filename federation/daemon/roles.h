/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDERATION_DAEMON_ROLES_H
#define TF_FEDERATION_DAEMON_ROLES_H

#include "common/base/buf.h"
#include "common/base/error.h"

#include <stdbool.h>

/* Who may do what, by the common name of the client's certificate:
 *
 *     admin, admin/WHO        everything that a client can do
 *     viewer, viewer/WHO      whatever changes nothing
 *     subcluster/NAME         attach as NAME
 *
 * Without TLS only this machine can connect, and everybody on it may do everything. */
enum role { ROLE_NONE = 0, ROLE_VIEWER = 1, ROLE_ADMIN = 2, ROLE_SUBCLUSTER = 4 }; /* a set */

enum role role_of(const char *identity);
/* Who a change is put down to: "ann" of "admin/ann", else the whole. NULL without TLS. Borrowed from
 * identity. */
const char *role_user(const char *identity);
/* identity NULL: without TLS. */
bool role_is_subcluster(const char *identity, const char *name);

/* The roles that may call the method; 0 if it is in no table, so that a forgotten one is closed. */
unsigned roles_of_method(const char *method);
/* As tf_allow_f (common/rpc/server.h); arg is not used. */
int roles_allow(void *arg, const char *identity, const char *method, struct tf_buf *details,
                struct tf_error *err);

#endif
