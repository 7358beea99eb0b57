/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_TESTS_FEDD_READER_H
#define TF_TESTS_FEDD_READER_H

#include "tests/support/fedd/bench.h"

/* A client of a method that answers with a stream: keeps what came. */
struct reader {
    struct bench *bench;
    struct tf_stream *stream; /* NULL: over */
    enum tf_method method;
    TF_VEC(struct tf_reply) replies;
    size_t bytes;          /* of the messages */
    struct tf_error error; /* of the end */
    struct tf_error_detail detail;
};

void reader_open(struct reader *reader, struct bench *b, size_t fedd, const struct tf_request *request);
/* Cuts the stream off, if it is still open. A zeroed one is fine. */
void reader_release(struct reader *reader);
bool reader_wait(struct reader *reader, size_t replies); /* at least so many */
bool reader_wait_end(struct reader *reader);

#endif
