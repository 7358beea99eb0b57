/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_TESTS_PROXY_H
#define TF_TESTS_PROXY_H

#include "common/base/bytes.h"

#include <netinet/in.h>
#include <stdbool.h>

/* Serves until stdin ends; what main returns. See main.c for what it does. */
int proxy_run(const struct sockaddr_in *upstream);

/* ---- the HTTP that it needs to understand ---- */

enum http_state { HTTP_MORE, HTTP_COMPLETE, HTTP_BROKEN };

/* Whether bytes begin with a whole HTTP/1.1 request with a Content-Length or no body; *len is then its
 * length. */
enum http_state http_request_length(struct tf_bytes bytes, size_t *len);
/* Whether a whole request is a durable write of etcd's JSON API. */
bool http_is_durable_write(struct tf_bytes request);

#endif
