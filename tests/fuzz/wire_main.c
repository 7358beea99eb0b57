/* SPDX-License-Identifier: Apache-2.0 */
/* A main for the wire target without libFuzzer: random valid messages of every kind, whole and damaged. With
 * TF_WRITE_CORPUS the whole ones are also written into that folder. */
#include "tests/fuzz/wire.h"

#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/wire/attach.h"
#include "common/wire/records.h"
#include "tests/fuzz/damage.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/random_api.h"
#include "tests/support/suite.h"

enum { ROUNDS = 12, COPIES = 60 };

static void must(int result)
{
    if (result)
        abort();
}

static void make_record(struct tf_rng *rng, struct tf_buf *input)
{
    struct tf_record record;
    TF_AUTO_BUF key = TF_BUF_INIT;
    random_record(rng, (enum tf_record_kind)tf_rng_range(rng, TF_RECORD_EPOCH, TF_RECORD_LAST), &record);
    must(tf_wire_record_key(&record, &key, NULL));
    tf_buf_char(input, (char)key.len);
    tf_buf_add(input, key.data, key.len);
    must(tf_wire_record_pack(&record, input, NULL));
    tf_record_release(&record);
}

static void make_up(struct tf_rng *rng, struct tf_buf *input)
{
    struct tf_up up;
    random_up(rng, (enum tf_up_kind)tf_rng_range(rng, TF_UP_HELLO, TF_UP_STORE), &up);
    tf_buf_char(input, 0);
    must(tf_wire_up_pack(&up, input, NULL));
    tf_up_release(&up);
}

static void make_down(struct tf_rng *rng, struct tf_buf *input)
{
    struct tf_down down;
    random_down(rng, &down);
    tf_buf_char(input, 0);
    must(tf_wire_down_pack(&down, input, NULL));
    tf_down_release(&down);
}

static void make_log_chunk(struct tf_rng *rng, struct tf_buf *input)
{
    struct tf_log_chunk chunk = {random_counter(rng), tf_strdup("some output"), 11, random_optional(rng)};
    tf_buf_char(input, 0);
    must(tf_wire_log_chunk_pack(&chunk, input, NULL));
    tf_log_chunk_release(&chunk);
}

static void make_nodes(struct tf_rng *rng, struct tf_buf *input)
{
    struct tf_nodes_reply nodes;
    random_nodes_reply(rng, &nodes);
    tf_buf_char(input, 0);
    must(tf_wire_nodes_pack(&nodes, input, NULL));
    tf_nodes_reply_release(&nodes);
}

static void make_error(struct tf_rng *rng, struct tf_buf *input)
{
    struct tf_error_detail detail;
    random_error_detail(rng, &detail);
    tf_buf_char(input, 0);
    tf_wire_error_detail_pack(&detail, TF_WIRE_REPLY_MAX, input);
    tf_error_detail_release(&detail);
}

static void make_request(struct tf_rng *rng, struct tf_buf *input)
{
    struct tf_request request;
    random_request(rng, (enum tf_method)tf_rng_range(rng, 1, TF_METHOD_COUNT - 1), &request);
    tf_buf_char(input, (char)(request.method - 1));
    must(tf_wire_request_pack(&request, input, NULL));
    tf_request_release(&request);
}

static void make_reply(struct tf_rng *rng, struct tf_buf *input)
{
    struct tf_reply reply;
    random_reply(rng, (enum tf_method)tf_rng_range(rng, 1, TF_METHOD_COUNT - 1), &reply);
    tf_buf_char(input, (char)(reply.method - 1));
    must(tf_wire_reply_pack(&reply, input, NULL));
    tf_reply_release(&reply);
}

static void (*const makers[FUZZ_COUNT])(struct tf_rng *rng, struct tf_buf *input) = {
    [FUZZ_RECORD] = make_record,       [FUZZ_UP] = make_up,       [FUZZ_DOWN] = make_down,
    [FUZZ_LOG_CHUNK] = make_log_chunk, [FUZZ_NODES] = make_nodes, [FUZZ_ERROR] = make_error,
    [FUZZ_REQUEST] = make_request,     [FUZZ_REPLY] = make_reply,
};

static void write_input(const struct tf_buf *input, size_t number)
{
    const char *folder = getenv("TF_WRITE_CORPUS");
    if (!folder)
        return;
    char *path = tf_asprintf("%s/%zu", folder, number);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(input->data, 1, input->len, file) != input->len || fclose(file)) {
        perror(path);
        exit(1);
    }
    free(path);
}

/* The copies are of their exact size, so that ASan sees a read beyond the end. */
static void replay(struct tf_rng *rng, const struct tf_buf *input)
{
    LLVMFuzzerTestOneInput((const uint8_t *)input->data, input->len);
    for (size_t i = 0; i < COPIES; i++) {
        uint8_t *copy = tf_memdup(input->data, input->len);
        size_t len = 2 + damage(rng, copy + 2, input->len - 2);
        uint8_t *exact = tf_memdup(copy, len);
        LLVMFuzzerTestOneInput(exact, len);
        free(exact);
        free(copy);
    }
}

int main(void)
{
    struct tf_rng rng;
    tf_rng_init(&rng, suite_seed(1));
    size_t inputs = 0;
    for (size_t round = 0; round < suite_rounds(ROUNDS); round++)
        for (unsigned kind = 0; kind < FUZZ_COUNT; kind++, inputs++) {
            TF_AUTO_BUF input = TF_BUF_INIT;
            tf_buf_char(&input, (char)kind);
            makers[kind](&rng, &input);
            write_input(&input, inputs);
            replay(&rng, &input);
        }
    printf("\n%zu messages, each with %d damaged copies\n", inputs, COPIES);
    return 0;
}
