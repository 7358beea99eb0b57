/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_LOOP_HTTP_H
#define TF_LOOP_HTTP_H

#include "common/loop/loop.h"

#include <curl/curl.h>

/* One transfer of libcurl, driven by the loop. easy and all its options are the caller's; the loop sets
 * CURLOPT_PRIVATE and CURLOPT_NOSIGNAL. Reuse the handles: connections are kept between requests by the loop.
 */
struct tf_http_request;
typedef void (*tf_http_f)(struct tf_http_request *request,
                          CURLcode result); /* idle by then; start again is fine */

struct tf_http_request {
    CURL *easy;     /* owned by the caller */
    tf_http_f done; /* set by the caller */
    bool started;   /* the loop's own */
};

/* Called for every request that was started and not cancelled, never from within tf_http_start. */
int tf_http_start(struct tf_loop *loop, struct tf_http_request *request, struct tf_error *err);
/* done is not called any more; idle is fine. Not from within libcurl's own callbacks (write, header, ...):
 * there, return an error to libcurl, or start a timer. */
void tf_http_cancel(struct tf_loop *loop, struct tf_http_request *request);

#endif
