/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/base64.h"

#include <stdint.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void tf_base64_encode(struct tf_buf *out, struct tf_bytes bytes)
{
    const uint8_t *in = bytes.data;
    size_t letters = (bytes.len + 2) / 3 * 4;
    tf_buf_reserve(out, letters);
    char *p = out->data + out->len;
    for (size_t i = 0; i < bytes.len; i += 3) {
        size_t left = bytes.len - i;
        uint32_t triple = (uint32_t)in[i] << 16;
        triple |= left > 1 ? (uint32_t)in[i + 1] << 8 : 0;
        triple |= left > 2 ? (uint32_t)in[i + 2] : 0;
        *p++ = alphabet[triple >> 18];
        *p++ = alphabet[triple >> 12 & 63];
        *p++ = left > 1 ? alphabet[triple >> 6 & 63] : '=';
        *p++ = left > 2 ? alphabet[triple & 63] : '=';
    }
    *p = '\0';
    out->len += letters;
}

static int letter_value(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Up to four letters without padding give one byte less than there are; the unused low bits must be zero. */
static int decode_group(const char *in, size_t letters, uint8_t *out)
{
    uint32_t bits = 0;
    for (size_t i = 0; i < 4; i++) {
        int value = i < letters ? letter_value(in[i]) : 0;
        if (value < 0)
            return -1;
        bits = bits << 6 | (uint32_t)value;
    }
    for (size_t i = 0; i + 1 < letters; i++)
        out[i] = (uint8_t)(bits >> (16 - 8 * i));
    return letters < 4 && (bits & (letters == 2 ? 0xffffU : 0xffU)) ? -1 : 0;
}

int tf_base64_decode(struct tf_buf *out, struct tf_bytes text)
{
    const char *in = text.data;
    if (text.len % 4)
        return -1;
    size_t padding = text.len == 0 || in[text.len - 1] != '=' ? 0 : in[text.len - 2] != '=' ? 1 : 2;
    size_t len = text.len / 4 * 3 - padding;
    tf_buf_reserve(out, len);
    uint8_t *p = (uint8_t *)out->data + out->len;
    for (size_t i = 0; i < text.len; i += 4) {
        size_t letters = i + 4 == text.len ? 4 - padding : 4;
        if (decode_group(in + i, letters, p) != 0) {
            out->data[out->len] = '\0';
            return -1;
        }
        p += letters - 1;
    }
    out->len += len;
    out->data[out->len] = '\0';
    return 0;
}
