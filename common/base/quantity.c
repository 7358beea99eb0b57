/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/quantity.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"

#include <assert.h>
#include <inttypes.h>
#include <time.h>

/* digits * 10^-scale: what a decimal number is without floating point. */
struct decimal {
    int64_t digits;
    int scale;
};

enum { DIGITS_MAX = 18 }; /* so that digits fits int64_t */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Reads "12" or "12.5" at s; gives what follows, or NULL if there is no such number or it is too long. */
static const char *decimal_read(const char *s, struct decimal *out)
{
    int count = 0;
    *out = (struct decimal){0};
    if (!is_digit(*s))
        return NULL;
    for (; is_digit(*s) && count <= DIGITS_MAX; s++, count++)
        out->digits = count < DIGITS_MAX ? out->digits * 10 + (*s - '0') : out->digits;
    if (*s == '.' && is_digit(s[1])) {
        for (s++; is_digit(*s) && count <= DIGITS_MAX; s++, count++, out->scale++)
            out->digits = count < DIGITS_MAX ? out->digits * 10 + (*s - '0') : out->digits;
    }
    return count > DIGITS_MAX ? NULL : s;
}

/* value * factor / divisor as an integer, rounded as asked; false when it does not fit int64_t. */
static bool decimal_scale(struct decimal value, int64_t factor, int64_t divisor, bool round_up, int64_t *out)
{
    __extension__ typedef unsigned __int128 wide;
    wide numerator = (wide)value.digits * (wide)factor;
    wide denominator = (wide)divisor;
    for (int i = 0; i < value.scale; i++)
        denominator *= 10;
    wide result = (numerator + (round_up ? denominator - 1 : 0)) / denominator;
    if (result > (wide)INT64_MAX)
        return false;
    *out = (int64_t)result;
    return true;
}

/* ---- durations ---- */

static const struct unit {
    const char *name;
    int64_t size;
} durations[] = {{"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}};

static size_t duration_unit(const char *s, size_t len)
{
    size_t i = 0;
    while (i < TF_ARRAY_LEN(durations) &&
           !(strlen(durations[i].name) == len && strncmp(durations[i].name, s, len) == 0))
        i++;
    return i;
}

static int duration_error(const char *s, struct tf_error *err)
{
    if (s[strspn(s, "0123456789")] == '\0' && *s)
        return tf_error_set(err, TF_ERR_INVALID,
                            "%.60s has no unit: a duration needs one, as in 30s, 5m, 2h, 1d", s);
    return tf_error_set(
        err, TF_ERR_INVALID,
        "\"%.60s\" is not a duration: write whole numbers with units, larger units first, as in "
        "500ms, 30s, 5m, 1h30m, 2d",
        s);
}

int tf_duration_parse(const char *s, int64_t *ms, struct tf_error *err)
{
    int64_t sum = 0;
    size_t next = 0; /* the largest unit still allowed */
    const char *p = s;
    do {
        int64_t n = 0;
        size_t len = strspn(p, "0123456789");
        if (len == 0 || len > DIGITS_MAX)
            return duration_error(s, err);
        for (size_t i = 0; i < len; i++)
            n = n * 10 + (p[i] - '0');
        p += len;
        len = strspn(p, "abcdefghijklmnopqrstuvwxyz");
        size_t unit = duration_unit(p, len);
        if (unit < next || unit == TF_ARRAY_LEN(durations))
            return duration_error(s, err);
        if (__builtin_mul_overflow(n, durations[unit].size, &n) || __builtin_add_overflow(sum, n, &sum))
            return tf_error_set(err, TF_ERR_INVALID, "%.60s is too long a duration", s);
        next = unit + 1;
        p += len;
    } while (*p);
    *ms = sum;
    return 0;
}

const char *tf_duration_format(int64_t ms, char text[TF_QUANTITY_TEXT])
{
    assert(ms >= 0);
    if (ms == 0)
        snprintf(text, TF_QUANTITY_TEXT, "0s");
    size_t used = 0;
    for (size_t i = 0; i < TF_ARRAY_LEN(durations); i++) {
        int64_t n = ms / durations[i].size;
        ms %= durations[i].size;
        if (n)
            used +=
                (size_t)snprintf(text + used, TF_QUANTITY_TEXT - used, "%" PRId64 "%s", n, durations[i].name);
    }
    return text;
}

/* ---- memory ---- */

static const struct unit sizes[] = {
    {"", 1},
    {"Ki", INT64_C(1) << 10},
    {"Mi", INT64_C(1) << 20},
    {"Gi", INT64_C(1) << 30},
    {"Ti", INT64_C(1) << 40},
    {"Pi", INT64_C(1) << 50},
    {"k", 1000},
    {"M", 1000000},
    {"G", 1000000000},
    {"T", 1000000000000},
    {"P", 1000000000000000},
};

int tf_memory_parse(const char *s, bool round_up, int64_t *mib, struct tf_error *err)
{
    struct decimal value;
    const char *suffix = decimal_read(s, &value);
    size_t i = 0;
    while (suffix && i < TF_ARRAY_LEN(sizes) && strcmp(sizes[i].name, suffix) != 0)
        i++;
    if (!suffix || i == TF_ARRAY_LEN(sizes))
        return tf_error_set(
            err, TF_ERR_INVALID,
            "\"%.60s\" is not a size: write a number with Ki, Mi, Gi, Ti, Pi (or k, M, G, T, P), "
            "as in 80Gi",
            s);
    bool bare = *suffix == '\0';
    int64_t bytes;
    if (bare && decimal_scale(value, 1, 1, true, &bytes) && bytes > 0 && bytes < INT64_C(1) << 20)
        return tf_error_set(
            err, TF_ERR_INVALID,
            "%.60s without a unit would be so many bytes: write %.60sMi or %.60sGi, or what is meant", s, s,
            s);
    if (!decimal_scale(value, sizes[i].size, INT64_C(1) << 20, round_up, mib))
        return tf_error_set(err, TF_ERR_INVALID, "%.60s is too large a size", s);
    return 0;
}

const char *tf_memory_format(int64_t mib, char text[TF_QUANTITY_TEXT])
{
    assert(mib >= 0);
    static const char *const units[] = {"Mi", "Gi", "Ti", "Pi"};
    size_t i = 0;
    while (mib && mib % 1024 == 0 && i + 1 < TF_ARRAY_LEN(units)) {
        mib /= 1024;
        i++;
    }
    snprintf(text, TF_QUANTITY_TEXT, "%" PRId64 "%s", mib, mib ? units[i] : "");
    return text;
}

/* ---- cpu ---- */

int tf_cpu_parse(const char *s, int64_t *millicores, struct tf_error *err)
{
    struct decimal value;
    const char *suffix = decimal_read(s, &value);
    bool milli = suffix && strcmp(suffix, "m") == 0;
    int64_t up = 0, down = 0, factor = milli ? 1 : 1000;
    if (!suffix || (*suffix && !milli))
        return tf_error_set(
            err, TF_ERR_INVALID,
            "\"%.60s\" is not an amount of CPU: write cores, as in 96 or 1.5, or millicores, as in "
            "500m",
            s);
    if (!decimal_scale(value, factor, 1, true, &up) || !decimal_scale(value, factor, 1, false, &down))
        return tf_error_set(err, TF_ERR_INVALID, "%.60s is too much CPU", s);
    if (up != down)
        return tf_error_set(err, TF_ERR_INVALID, "%.60s is finer than a millicore (1m)", s);
    *millicores = up;
    return 0;
}

const char *tf_cpu_format(int64_t millicores, char text[TF_QUANTITY_TEXT])
{
    assert(millicores >= 0);
    bool whole = millicores % 1000 == 0;
    snprintf(text, TF_QUANTITY_TEXT, "%" PRId64 "%s", whole ? millicores / 1000 : millicores,
             whole ? "" : "m");
    return text;
}

/* ---- fractions ---- */

int tf_fraction_parse(const char *s, int64_t *basis_points, struct tf_error *err)
{
    struct decimal value;
    const char *suffix = decimal_read(s, &value);
    bool percent = suffix && (strcmp(suffix, "%") == 0 || strcmp(suffix, " %") == 0);
    int64_t up = 0, down = 0, factor = percent ? 100 : 10000;
    bool plain = suffix && !*suffix && (value.scale > 0 || value.digits <= 1);
    if (!percent && !plain)
        return tf_error_set(err, TF_ERR_INVALID, "\"%.60s\" is not a fraction: write it as in 10%% or 0.1",
                            s);
    if (!decimal_scale(value, factor, 1, true, &up) || !decimal_scale(value, factor, 1, false, &down))
        return tf_error_set(err, TF_ERR_INVALID, "%.60s is too large a fraction", s);
    if (up != down)
        return tf_error_set(err, TF_ERR_INVALID, "%.60s is finer than 0.01%%", s);
    *basis_points = up;
    return 0;
}

const char *tf_fraction_format(int64_t basis_points, char text[TF_QUANTITY_TEXT])
{
    assert(basis_points >= 0);
    int64_t whole = basis_points / 100, rest = basis_points % 100;
    if (rest == 0)
        snprintf(text, TF_QUANTITY_TEXT, "%" PRId64 "%%", whole);
    else if (rest % 10 == 0)
        snprintf(text, TF_QUANTITY_TEXT, "%" PRId64 ".%" PRId64 "%%", whole, rest / 10);
    else
        snprintf(text, TF_QUANTITY_TEXT, "%" PRId64 ".%02" PRId64 "%%", whole, rest);
    return text;
}

/* ---- moments ---- */

const char *tf_moment_format(struct tf_wall at, char text[TF_QUANTITY_TEXT])
{
    time_t seconds = (time_t)(at.ms / 1000);
    struct tm tm;
    if (!gmtime_r(&seconds, &tm))
        return "?";
    snprintf(text, TF_QUANTITY_TEXT, "%04d-%02d-%02d %02d:%02d:%02d UTC", tm.tm_year + 1900, tm.tm_mon + 1,
             tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
    return text;
}
