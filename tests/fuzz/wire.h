/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_TESTS_FUZZ_WIRE_H
#define TF_TESTS_FUZZ_WIRE_H

/* How an input of the wire target begins: one of these (modulo FUZZ_COUNT), then a byte that says which
 * method (requests, replies) or how long the key is that follows (records), then the bytes of the message. */
enum {
    FUZZ_RECORD,
    FUZZ_UP,
    FUZZ_DOWN,
    FUZZ_LOG_CHUNK,
    FUZZ_NODES,
    FUZZ_ERROR,
    FUZZ_REQUEST,
    FUZZ_REPLY,
    FUZZ_COUNT,
};

#endif
