/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/fedctl/when.h"

#include <inttypes.h>

#define DAY (24 * (int64_t)TF_HOUR)

const char *when_utc(struct tf_wall at, char text[WHEN_TEXT])
{
    text[0] = '\0';
    time_t seconds = (time_t)(at.ms / TF_SECOND);
    struct tm tm;
    if (at.ms > 0 && gmtime_r(&seconds, &tm)) {
        size_t used = strftime(text, WHEN_TEXT, "%Y-%m-%dT%H:%M:%S", &tm);
        snprintf(text + used, WHEN_TEXT - used, ".%03dZ", (int)(at.ms % TF_SECOND));
    }
    return text;
}

const char *when_local(struct tf_wall at, char text[WHEN_TEXT])
{
    time_t seconds = (time_t)(at.ms / TF_SECOND);
    struct tm tm;
    if (at.ms <= 0 || !localtime_r(&seconds, &tm))
        return "-";
    strftime(text, WHEN_TEXT, "%Y-%m-%d %H:%M:%S %z", &tm);
    return text;
}

/* Where a span changes from one way of writing to the next; the same steps as kubectl. */
struct span_step {
    int64_t below;
    int64_t unit, rest; /* rest 0 = one unit only */
    char unit_letter, rest_letter;
};
static const struct span_step steps[] = {
    {2 * (int64_t)TF_MINUTE, TF_SECOND, 0, 's', 0},
    {10 * (int64_t)TF_MINUTE, TF_MINUTE, TF_SECOND, 'm', 's'},
    {3 * (int64_t)TF_HOUR, TF_MINUTE, 0, 'm', 0},
    {8 * (int64_t)TF_HOUR, TF_HOUR, TF_MINUTE, 'h', 'm'},
    {2 * DAY, TF_HOUR, 0, 'h', 0},
    {8 * DAY, DAY, TF_HOUR, 'd', 'h'},
    {2 * 365 * DAY, DAY, 0, 'd', 0},
    {INT64_MAX, 365 * DAY, 0, 'y', 0},
};

const char *when_span(int64_t ms, char text[WHEN_TEXT])
{
    if (ms < 0)
        ms = 0;
    const struct span_step *step = steps;
    while (ms >= step->below && step->below != INT64_MAX)
        step++;
    int64_t rest = step->rest ? ms % step->unit / step->rest : 0;
    int used = snprintf(text, WHEN_TEXT, "%" PRId64 "%c", ms / step->unit, step->unit_letter);
    if (rest)
        snprintf(text + used, WHEN_TEXT - (size_t)used, "%" PRId64 "%c", rest, step->rest_letter);
    return text;
}

const char *when_age(struct tf_wall at, struct tf_wall now, char text[WHEN_TEXT])
{
    return at.ms > 0 ? when_span(now.ms - at.ms, text) : "-";
}

const char *when_relative(struct tf_wall at, struct tf_wall now, char text[WHEN_TEXT])
{
    char span[WHEN_TEXT];
    if (at.ms <= 0)
        return "-";
    if (at.ms > now.ms)
        snprintf(text, WHEN_TEXT, "in %.48s", when_span(at.ms - now.ms, span));
    else
        snprintf(text, WHEN_TEXT, "%.48s ago", when_span(now.ms - at.ms, span));
    return text;
}
