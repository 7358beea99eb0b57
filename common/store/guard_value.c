/* SPDX-License-Identifier: Apache-2.0 */
#include "common/store/guard_value.h"

#include "common/base/text.h"

#include <inttypes.h>

static const char head_mark[] = "tidefed-head/1 ";
static const char owner_mark[] = "tidefed-owner/1 id=";

enum { ID_DIGITS = 2 * TF_GUARD_ID_BYTES, HEAD_BYTES_MAX = 128 };

void tf_guard_head_format(struct tf_buf *out, const struct tf_guard_head *head)
{
    char id[ID_DIGITS + 1];
    tf_hex(head->id, TF_GUARD_ID_BYTES, id);
    tf_buf_str(out, head_mark);
    tf_buf_str(out, "n=");
    tf_buf_uint(out, head->n);
    tf_buf_str(out, " era=");
    tf_buf_uint(out, head->era);
    tf_buf_str(out, " id=");
    tf_buf_str(out, id);
}

/* Reads "name=<digits>" and the space after it; -1 if *p begins otherwise. */
static int take_number(const char **p, const char *name, uint64_t *out)
{
    size_t len = strlen(name);
    if (strncmp(*p, name, len) != 0)
        return -1;
    const char *digits = *p + len;
    size_t n = strspn(digits, "0123456789");
    char text[24];
    int64_t value;
    if (n == 0 || n >= sizeof text || digits[n] != ' ')
        return -1;
    memcpy(text, digits, n);
    text[n] = '\0';
    if (tf_parse_int64(text, 0, INT64_MAX, &value, NULL) != 0)
        return -1;
    *out = (uint64_t)value;
    *p = digits + n + 1;
    return 0;
}

static int parse_text(const char *text, struct tf_guard_head *head)
{
    if (!tf_starts_with(text, head_mark))
        return -1;
    const char *p = text + strlen(head_mark);
    if (take_number(&p, "n=", &head->n) != 0 || take_number(&p, "era=", &head->era) != 0)
        return -1;
    return tf_starts_with(p, "id=") && strlen(p + 3) == ID_DIGITS
               ? tf_unhex(p + 3, head->id, TF_GUARD_ID_BYTES)
               : -1;
}

int tf_guard_head_parse(struct tf_bytes value, struct tf_guard_head *head, struct tf_error *err)
{
    char text[HEAD_BYTES_MAX] = "";
    struct tf_guard_head read = {0};
    if (value.len < sizeof text && value.len)
        memcpy(text, value.data, value.len);
    if (strlen(text) != value.len || parse_text(text, &read) != 0)
        return tf_error_set(
            err, TF_ERR_INVALID,
            "its value is not one that tidefed writes: was the prefix used by something else?");
    *head = read;
    return 0;
}

void tf_guard_owner_format(struct tf_buf *out, const uint8_t id[TF_GUARD_ID_BYTES], struct tf_bytes value)
{
    char digits[ID_DIGITS + 1];
    tf_hex(id, TF_GUARD_ID_BYTES, digits);
    tf_buf_fmt(out, "%s%s\n", owner_mark, digits);
    tf_buf_add(out, value.data, value.len);
}

struct tf_bytes tf_guard_owner_value(struct tf_bytes value)
{
    size_t skip = sizeof owner_mark - 1 + ID_DIGITS + 1;
    if (value.len < skip || memcmp(value.data, owner_mark, sizeof owner_mark - 1) != 0)
        return (struct tf_bytes){NULL, 0};
    return (struct tf_bytes){(const char *)value.data + skip, value.len - skip};
}
