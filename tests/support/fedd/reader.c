/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/fedd/reader.h"

#include "common/base/cleanup.h"

#include <CUnit/CUnit.h>

static void on_message(void *arg, struct tf_stream *stream, struct tf_bytes body)
{
    struct reader *reader = arg;
    (void)stream;
    reader->bytes += body.len;
    struct tf_reply *reply = tf_vec_add(&reader->replies);
    CU_ASSERT_EQUAL(tf_wire_reply_unpack(reader->method, body.data, body.len, reply, NULL), 0);
}

static void on_ended(void *arg, struct tf_stream *stream, const struct tf_error *error,
                     struct tf_bytes details)
{
    struct reader *reader = arg;
    (void)stream;
    reader->stream = NULL;
    reader->error = *error;
    if (details.len)
        CU_ASSERT_EQUAL(tf_wire_error_detail_unpack(details.data, details.len, &reader->detail, NULL), 0);
}

void reader_open(struct reader *reader, struct bench *b, size_t fedd, const struct tf_request *request)
{
    static const struct tf_stream_events events = {.message = on_message, .ended = on_ended};
    TF_AUTO_BUF bytes = TF_BUF_INIT;
    *reader = (struct reader){.bench = b, .method = request->method};
    CU_ASSERT_EQUAL_FATAL(tf_wire_request_pack(request, &bytes, NULL), 0);
    reader->stream = tf_stream_open(b->fedds[fedd].channel, tf_method_path(request->method),
                                    TF_RPC_NO_TIMEOUT, &events, reader);
    tf_stream_write(reader->stream, &bytes);
    tf_stream_half_close(reader->stream);
}

void reader_release(struct reader *reader)
{
    if (reader->stream)
        tf_stream_cancel(reader->stream);
    tf_vec_each (reply, &reader->replies)
        tf_reply_release(reply);
    tf_vec_release(&reader->replies);
    tf_error_detail_release(&reader->detail);
    *reader = (struct reader){0};
}

struct wanted {
    struct reader *reader;
    size_t replies;
};

static bool has_replies(void *arg)
{
    const struct wanted *w = arg;
    return w->reader->replies.count >= w->replies || !w->reader->stream;
}

bool reader_wait(struct reader *reader, size_t replies)
{
    struct wanted w = {reader, replies};
    return bench_until(reader->bench, has_replies, &w) && reader->replies.count >= replies;
}

static bool has_ended(void *arg)
{
    return ((struct reader *)arg)->stream == NULL;
}

bool reader_wait_end(struct reader *reader)
{
    return bench_until(reader->bench, has_ended, reader);
}
