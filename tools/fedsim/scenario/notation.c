/* SPDX-License-Identifier: Apache-2.0 */
/* Owns how the special numbers of a scenario are written. */
#include "tools/fedsim/scenario/private.h"

#include "common/base/quantity.h"
#include "common/base/text.h"

#include <inttypes.h>

/* ---- moments ---- */

static int parse_moment(const char *text, int64_t *value, struct tf_error *err)
{
    if (strcmp(text, "end") == 0) {
        *value = SCENARIO_END;
        return 0;
    }
    if (tf_duration_parse(text, value, NULL) == 0)
        return 0;
    return tf_error_set(err, TF_ERR_INVALID, "\"%.60s\" is no moment: write a duration, as in 1h30m, or end",
                        text);
}

static void format_moment(int64_t value, struct tf_buf *buf)
{
    char text[TF_QUANTITY_TEXT];
    tf_buf_str(buf, value == SCENARIO_END ? "end" : tf_duration_format(value, text));
}

const struct tf_notation scenario_moment = {"a moment, as in 1h30m or end", parse_moment, format_moment};

/* ---- decimals ---- */

enum { PLACES = 6, WHOLE_DIGITS_MAX = 12 };

static int parse_decimal(const char *text, int64_t *value, struct tf_error *err)
{
    size_t whole = strspn(text, "0123456789"), part = 0;
    const char *point = text + whole;
    if (*point == '.')
        part = strspn(point + 1, "0123456789");
    bool good = whole > 0 && whole <= WHOLE_DIGITS_MAX && part <= PLACES &&
                (*point == '\0' || (part > 0 && point[1 + part] == '\0'));
    if (!good)
        return tf_error_set(
            err, TF_ERR_INVALID,
            "\"%.60s\" is not a number, as in 12 or 0.95, of at most %d digits after the point", text,
            PLACES);
    int64_t sum = 0;
    for (size_t i = 0; i < whole; i++)
        sum = sum * 10 + (text[i] - '0');
    for (size_t i = 0; i < PLACES; i++)
        sum = sum * 10 + (i < part ? point[1 + i] - '0' : 0);
    *value = sum;
    return 0;
}

static void format_decimal(int64_t value, struct tf_buf *buf)
{
    tf_buf_fmt(buf, "%" PRId64, value / 1000000);
    if (value % 1000000 == 0)
        return;
    tf_buf_fmt(buf, ".%06" PRId64, value % 1000000);
    while (buf->data[buf->len - 1] == '0')
        buf->data[--buf->len] = '\0';
}

const struct tf_notation scenario_decimal = {"a number, as in 12 or 0.95", parse_decimal, format_decimal};

/* ---- places in a list of actions ---- */

#define ACTION_WORD "action "

static int parse_action(const char *text, int64_t *value, struct tf_error *err)
{
    if (tf_starts_with(text, ACTION_WORD) &&
        tf_parse_int64(text + strlen(ACTION_WORD), 0, INT32_MAX, value, NULL) == 0)
        return 0;
    return tf_error_set(err, TF_ERR_INVALID,
                        "\"%.60s\" is not a place in a list of actions: write action 0, action 1 ...", text);
}

static void format_action(int64_t value, struct tf_buf *buf)
{
    tf_buf_fmt(buf, ACTION_WORD "%" PRId64, value);
}

const struct tf_notation scenario_action = {"a place in a list of actions, as in action 2", parse_action,
                                            format_action};

/* ---- bounds ---- */

static int parse_less_than(const char *text, int64_t *value, struct tf_error *err)
{
    if (*text != '<')
        return tf_error_set(err, TF_ERR_INVALID, "\"%.60s\" does not say less than what: write \"< 60s\"",
                            text);
    text += 1 + strspn(text + 1, " ");
    return tf_duration_parse(text, value, err);
}

static void format_less_than(int64_t value, struct tf_buf *buf)
{
    char text[TF_QUANTITY_TEXT];
    tf_buf_fmt(buf, "< %s", tf_duration_format(value, text));
}

const struct tf_notation scenario_less_than = {"less than a duration, as in \"< 60s\"", parse_less_than,
                                               format_less_than};
