/* SPDX-License-Identifier: Apache-2.0 */
/* Just enough HTTP to find where a request ends and what it does. */
#include "tests/support/proxy/proxy.h"

#include <stdlib.h>
#include <strings.h>

enum { HEAD_BYTES_MAX = 64 << 10, BODY_BYTES_MAX = 16 << 20 };

static const char *find(struct tf_bytes in, const char *what)
{
    return in.len ? memmem(in.data, in.len, what, strlen(what)) : NULL;
}

/* The number after "Content-Length:" in the head, 0 if there is none, -1 if it is no good. */
static long content_length(struct tf_bytes head)
{
    static const char name[] = "\r\nContent-Length:";
    const char *p = head.data, *end = p + head.len;
    for (; p + sizeof name < end; p++)
        if (strncasecmp(p, name, sizeof name - 1) == 0) {
            long value = strtol(p + sizeof name - 1, NULL, 10); /* the head ends with a line feed */
            return value >= 0 && value <= BODY_BYTES_MAX ? value : -1;
        }
    return find(head, "\r\nTransfer-Encoding:") ? -1 : 0;
}

enum http_state http_request_length(struct tf_bytes bytes, size_t *len)
{
    const char *end = find(bytes, "\r\n\r\n");
    if (!end)
        return bytes.len > HEAD_BYTES_MAX ? HTTP_BROKEN : HTTP_MORE;
    size_t head = (size_t)(end + 4 - (const char *)bytes.data);
    long body = content_length((struct tf_bytes){bytes.data, head});
    if (body < 0)
        return HTTP_BROKEN;
    *len = head + (size_t)body;
    return bytes.len >= *len ? HTTP_COMPLETE : HTTP_MORE;
}

bool http_is_durable_write(struct tf_bytes request)
{
    if (tf_bytes_start_with(request, tf_bytes_of("POST /v3/kv/put ")) ||
        tf_bytes_start_with(request, tf_bytes_of("POST /v3/kv/deleterange ")))
        return true;
    return tf_bytes_start_with(request, tf_bytes_of("POST /v3/kv/txn ")) &&
           (find(request, "\"success\":[{\"request_put\"") ||
            find(request, "\"success\":[{\"request_delete_range\""));
}
