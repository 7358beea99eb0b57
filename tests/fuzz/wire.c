/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as each kind of message: refused with a readable error, or read; and what was read becomes bytes
 * that are read as the same. */
#include "tests/fuzz/wire.h"

#include "common/base/text.h"
#include "common/wire/api.h"
#include "common/wire/attach.h"
#include "common/wire/records.h"
#include "tests/fuzz/fuzz.h"

static void must(bool holds)
{
    if (!holds)
        abort();
}

/* What every unpack gave: true if it was accepted. */
static bool accepted(int result, const struct tf_error *err)
{
    must((result == 0) == (err->code == TF_OK));
    must(tf_utf8_valid(err->text, strlen(err->text)));
    return result == 0;
}

/* The bytes of what was read from `first` must be the same bytes. */
static void same(struct tf_buf *first, struct tf_buf *second)
{
    must(first->len == second->len &&
         (first->len == 0 || memcmp(first->data, second->data, first->len) == 0));
    tf_buf_release(first);
    tf_buf_release(second);
}

/* Reads twice, the second time from the bytes of the first value; extra arguments come first. */
#define CHECK(type, value_release, unpack, pack)                    \
    do {                                                            \
        type value_ = {0}, again_ = {0};                            \
        struct tf_error err_ = TF_ERROR_INIT;                       \
        struct tf_buf first_ = TF_BUF_INIT, second_ = TF_BUF_INIT;  \
        if (!accepted(unpack(bytes, len, &value_, &err_), &err_))   \
            return;                                                 \
        must(pack(&value_, &first_, &err_) == 0);                   \
        must(unpack(first_.data, first_.len, &again_, &err_) == 0); \
        must(pack(&again_, &second_, &err_) == 0);                  \
        same(&first_, &second_);                                    \
        value_release(&value_);                                     \
        value_release(&again_);                                     \
    } while (0)

static void check_record(const char *key, size_t key_len, const uint8_t *bytes, size_t len)
{
#define UNPACK(bytes, len, value, err) tf_wire_record_unpack(key, key_len, bytes, len, value, err)
    CHECK(struct tf_record, tf_record_release, UNPACK, tf_wire_record_pack);
#undef UNPACK
}

static void check_request(enum tf_method method, const uint8_t *bytes, size_t len)
{
#define UNPACK(bytes, len, value, err) tf_wire_request_unpack(method, bytes, len, value, err)
    CHECK(struct tf_request, tf_request_release, UNPACK, tf_wire_request_pack);
#undef UNPACK
}

static void check_reply(enum tf_method method, const uint8_t *bytes, size_t len)
{
#define UNPACK(bytes, len, value, err) tf_wire_reply_unpack(method, bytes, len, value, err)
    CHECK(struct tf_reply, tf_reply_release, UNPACK, tf_wire_reply_pack);
#undef UNPACK
}

static int pack_error(const struct tf_error_detail *detail, struct tf_buf *out, struct tf_error *err)
{
    (void)err;
    tf_wire_error_detail_pack(detail, TF_WIRE_REPLY_MAX, out);
    return 0;
}

static void check(unsigned kind, const uint8_t *bytes, size_t len)
{
    if (kind == FUZZ_UP)
        CHECK(struct tf_up, tf_up_release, tf_wire_up_unpack, tf_wire_up_pack);
    else if (kind == FUZZ_DOWN)
        CHECK(struct tf_down, tf_down_release, tf_wire_down_unpack, tf_wire_down_pack);
    else if (kind == FUZZ_LOG_CHUNK)
        CHECK(struct tf_log_chunk, tf_log_chunk_release, tf_wire_log_chunk_unpack, tf_wire_log_chunk_pack);
    else if (kind == FUZZ_NODES)
        CHECK(struct tf_nodes_reply, tf_nodes_reply_release, tf_wire_nodes_unpack, tf_wire_nodes_pack);
    else if (kind == FUZZ_ERROR)
        CHECK(struct tf_error_detail, tf_error_detail_release, tf_wire_error_detail_unpack, pack_error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    unsigned kind = data[0] % FUZZ_COUNT;
    const uint8_t *bytes = data + 2;
    size_t len = size - 2;
    enum tf_method method = (enum tf_method)(1 + data[1] % (TF_METHOD_COUNT - 1));
    size_t key_len = data[1] < len ? data[1] : len;
    if (kind == FUZZ_RECORD)
        check_record((const char *)bytes, key_len, bytes + key_len, len - key_len);
    else if (kind == FUZZ_REQUEST)
        check_request(method, bytes, len);
    else if (kind == FUZZ_REPLY)
        check_reply(method, bytes, len);
    else
        check(kind, bytes, len);
    return 0;
}
