/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/text.h"

#include <errno.h>
#include <inttypes.h>

/* Length of the sequence that starts with this byte, or 0. */
static size_t sequence_length(unsigned char lead)
{
    if (lead < 0x80)
        return 1;
    if (lead >= 0xc2 && lead <= 0xdf)
        return 2;
    if ((lead & 0xf0) == 0xe0)
        return 3;
    if (lead >= 0xf0 && lead <= 0xf4)
        return 4;
    return 0;
}

/* The second byte has a smaller range after some leads: overlong forms, surrogates, beyond U+10FFFF. */
static bool second_byte_ok(unsigned char lead, unsigned char second)
{
    unsigned char low = 0x80, high = 0xbf;
    if (lead == 0xe0)
        low = 0xa0;
    else if (lead == 0xed)
        high = 0x9f;
    else if (lead == 0xf0)
        low = 0x90;
    else if (lead == 0xf4)
        high = 0x8f;
    return second >= low && second <= high;
}

/* Length of the well-formed sequence at p, of which len > 0 bytes are left, or 0. */
static size_t well_formed(const unsigned char *p, size_t len)
{
    size_t n = sequence_length(p[0]);
    if (n == 0 || p[0] == 0 || len < n || (n > 1 && !second_byte_ok(p[0], p[1])))
        return 0;
    for (size_t k = 2; k < n; k++)
        if ((p[k] & 0xc0) != 0x80)
            return 0;
    return n;
}

/* Most text is ASCII: how many bytes of 1..0x7f it begins with, eight at a time. */
static size_t ascii_prefix(const char *s, size_t len)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), highs = UINT64_C(0x8080808080808080);
    size_t i = 0;
    for (uint64_t word; i + sizeof word <= len; i += sizeof word) {
        memcpy(&word, s + i, sizeof word);
        if ((word | (word - ones)) & highs) /* one has its high bit, or is zero */
            break;
    }
    while (i < len && s[i] > 0)
        i++;
    return i;
}

size_t tf_utf8_prefix(const char *s, size_t len)
{
    size_t i = ascii_prefix(s, len);
    for (size_t n; i < len; i += n) {
        n = well_formed((const unsigned char *)s + i, len - i);
        if (n == 0)
            break;
    }
    return i;
}

bool tf_utf8_valid(const char *s, size_t len)
{
    return tf_utf8_prefix(s, len) == len;
}

void tf_utf8_trim(char *s)
{
    size_t len = strlen(s), back = 0;
    while (back < 3 && back < len && ((unsigned char)s[len - 1 - back] & 0xc0) == 0x80)
        back++;
    if (back == len)
        return;
    size_t start = len - 1 - back;
    if (sequence_length((unsigned char)s[start]) > back + 1)
        s[start] = '\0';
}

static bool is_control(const unsigned char *p)
{
    return (p[0] < 0x20 && p[0] != '\n' && p[0] != '\t') || p[0] == 0x7f ||
           (p[0] == 0xc2 && p[1] >= 0x80 && p[1] <= 0x9f);
}

void tf_utf8_clean(char *s)
{
    size_t len = strlen(s);
    for (size_t i = 0, n; i < len; i += n) {
        n = well_formed((unsigned char *)s + i, len - i);
        bool bad = n == 0 || is_control((unsigned char *)s + i);
        n = n ? n : 1;
        if (bad)
            memset(s + i, '?', n);
    }
}

bool tf_str_eq(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

bool tf_starts_with(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

int tf_parse_int64(const char *s, int64_t min, int64_t max, int64_t *out, struct tf_error *err)
{
    char *end = NULL;
    errno = 0;
    long long value = strtoll(s, &end, 10);
    bool digits = s[0] >= '0' && s[0] <= '9';
    if (!digits && s[0] == '-')
        digits = s[1] >= '0' && s[1] <= '9';
    if (!digits || *end != '\0')
        return tf_error_set(err, TF_ERR_INVALID, "\"%.60s\" is not a whole number", s);
    if (errno == ERANGE || value < min || value > max)
        return tf_error_set(err, TF_ERR_INVALID, "%.60s is not between %" PRId64 " and %" PRId64, s, min,
                            max);
    *out = value;
    return 0;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Edits (a letter more, less, or another; two neighbours swapped) between words of at most 63 letters; longer
 * ones count as far away. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t la = strlen(a), lb = strlen(b);
    if (la > 63 || lb > 63)
        return SIZE_MAX;
    size_t rows[3][64]; /* of the letters i, i - 1 and i - 2 of a */
    for (size_t j = 0; j <= lb; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= la; i++) {
        size_t *row = rows[i % 3], *above = rows[(i - 1) % 3], *two_above = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= lb; j++) {
            row[j] = least(above[j - 1] + (a[i - 1] != b[j - 1]), least(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], two_above[j - 2] + 1);
        }
    }
    return rows[la % 3][lb];
}

const char *tf_nearest(const char *word, const char *const *names, size_t count)
{
    const char *best = NULL;
    size_t best_distance = SIZE_MAX;
    for (size_t i = 0; i < count; i++) {
        size_t distance = edit_distance(word, names[i]);
        if (distance < best_distance) {
            best_distance = distance;
            best = names[i];
        }
    }
    return best && best_distance <= (strlen(best) + 2) / 3 ? best : NULL;
}

void tf_hex(const uint8_t *bytes, size_t len, char *out)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < len; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    out[2 * len] = '\0';
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return -1;
}

int tf_unhex(const char *s, uint8_t *bytes, size_t len)
{
    if (strlen(s) != 2 * len)
        return -1;
    for (size_t i = 0; i < len; i++) {
        int high = hex_digit(s[2 * i]), low = hex_digit(s[2 * i + 1]);
        if (high < 0 || low < 0)
            return -1;
        bytes[i] = (uint8_t)(high << 4 | low);
    }
    return 0;
}
