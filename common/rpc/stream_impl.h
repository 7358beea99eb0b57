/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_RPC_STREAM_IMPL_H
#define TF_RPC_STREAM_IMPL_H

/* A stream as its two owners see it: server streams live in a slot, those of clients in client.c. */
#include "common/base/vec.h"
#include "common/rpc/grpc.h"
#include "common/rpc/stream.h"

struct tf_stream {
    struct tf_raw *raw;
    struct tf_loop *loop;
    bool client;
    size_t queue_max;
    const struct tf_stream_events *events;
    void *arg;

    /* From the owner. end_error tells how the call ended; free comes after the last tag. */
    void (*end_error)(struct tf_stream *stream, struct tf_error *error, struct tf_bytes *details);
    void (*free)(struct tf_stream *stream);

    int pending;     /* tags under way, and call backs that are running */
    bool open;       /* the caller still holds it */
    bool dead;       /* nothing can be sent any more */
    bool sending;    /* of the four kinds of sends one at a time */
    bool half_close; /* wanted */
    bool half_closed;
    bool finish; /* wanted */
    bool finished;
    bool reading;     /* a receive is under way, or its call back runs */
    bool paused;      /* no next one is wanted */
    bool input_ended; /* no more messages come */
    bool call_ended;  /* close or status is here */

    struct tf_tag headers, send, receive, end;
    TF_VEC(void *) queue; /* messages from next on */
    size_t next;
    size_t queued, sending_bytes; /* queued counts the one that is being sent */
    struct tf_timer linger;       /* and, before it is finished, of a half-close */
    int status_code;
    struct tf_error status_error;
    char *status_details;
    size_t status_details_len;
};

/* The call exists; starts headers and the wait for its end. */
void tf_stream_begin(struct tf_stream *stream);
void tf_stream_read(struct tf_stream *stream);
/* What every tag ends with. */
void tf_stream_unpend(struct tf_stream *stream);

#endif
