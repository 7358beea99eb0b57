/* SPDX-License-Identifier: Apache-2.0 */
/* Owns how sums are spread over the time of a run. */
#include "tools/fedsim/report/private.h"

#include "common/base/cleanup.h"

/* Widths that people read off an axis; each divides the next, so that merged parts are the sums that finer
 * ones would have had. Beyond the last they double. */
static const int64_t widths[] = {1, 5, 10, 30, 60, 300, 600, 1800, 3600, 7200, 14400, 43200, 86400}; /* s */

static int64_t width_of(size_t rung)
{
    size_t last = TF_ARRAY_LEN(widths) - 1;
    return rung <= last ? widths[rung] * TF_SECOND : widths[last] * TF_SECOND << (rung - last);
}

int64_t report_line_width(const struct report_line *line)
{
    return width_of(line->rung);
}

static void widen(struct report_line *line)
{
    size_t of_one = (size_t)(width_of(line->rung + 1) / width_of(line->rung));
    size_t count = (line->parts.count + of_one - 1) / of_one;
    for (size_t i = 0; i < count; i++) {
        int64_t sum = 0;
        for (size_t k = i * of_one; k < (i + 1) * of_one && k < line->parts.count; k++)
            sum += line->parts.items[k];
        line->parts.items[i] = sum;
    }
    line->parts.count = count;
    line->rung++;
}

/* There are buckets until then. */
static void reach(struct report_line *line, int64_t end)
{
    while (end > REPORT_BUCKETS * width_of(line->rung))
        widen(line);
    int64_t width = width_of(line->rung);
    while ((int64_t)line->parts.count * width < end)
        tf_vec_push(&line->parts, 0);
}

void report_line_spread(struct report_line *line, int64_t from, int64_t to, int64_t level)
{
    if (level == 0 || from >= to)
        return;
    reach(line, to);
    int64_t width = width_of(line->rung);
    for (int64_t at = from; at < to;) {
        int64_t end = (at / width + 1) * width;
        int64_t until = end < to ? end : to;
        line->parts.items[at / width] += level * (until - at);
        at = until;
    }
}

/* What happens where two buckets meet belongs to the first: else the last moment of a run had one of its own.
 */
void report_line_count(struct report_line *line, int64_t now)
{
    int64_t at = now > 0 ? now - 1 : 0;
    reach(line, at + 1);
    line->parts.items[at / width_of(line->rung)]++;
}

void report_line_close(struct report_line *line, int64_t end)
{
    reach(line, end > 0 ? end : 1);
}

void report_line_release(struct report_line *line)
{
    tf_vec_release(&line->parts);
}
