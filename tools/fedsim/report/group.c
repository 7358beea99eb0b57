/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over time, samples, and the groups that have them. */
#include "tools/fedsim/report/private.h"

#include "common/base/alloc.h"

void report_integral_add(struct report_integral *integral, int64_t now, int64_t gpus)
{
    integral->sum = report_integral_at(integral, now);
    if (integral->drawn)
        report_line_spread(&integral->line, integral->since, now, integral->now);
    integral->since = now;
    integral->now += gpus;
}

int64_t report_integral_at(const struct report_integral *integral, int64_t now)
{
    return integral->sum + integral->now * (now - integral->since);
}

void report_sample(struct report_samples *samples, int64_t ms)
{
    tf_vec_push(&samples->ms, ms);
    samples->sorted = false;
}

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

int64_t report_percentile(struct report_samples *samples, int percent)
{
    size_t count = samples->ms.count;
    if (count == 0)
        return 0;
    if (!samples->sorted)
        qsort(samples->ms.items, count, sizeof *samples->ms.items, by_size);
    samples->sorted = true;
    size_t rank = (count * (size_t)percent + 99) / 100;
    return samples->ms.items[rank > 0 ? rank - 1 : 0];
}

int64_t report_mean(const struct report_samples *samples)
{
    int64_t sum = 0;
    tf_vec_each (ms, &samples->ms)
        sum += *ms;
    return samples->ms.count ? sum / (int64_t)samples->ms.count : 0;
}

struct report_group *report_group_named(struct report_group **groups, const char *name, bool drawn)
{
    struct report_group *group = NULL;
    HASH_FIND_STR(*groups, name, group);
    if (group)
        return group;
    group = tf_calloc(1, sizeof *group);
    group->name = tf_strdup(name);
    group->held.drawn = group->there.drawn = group->waiting.drawn = drawn;
    HASH_ADD_KEYPTR(hh, *groups, group->name, strlen(group->name), group);
    return group;
}

void report_group_release(struct report_group *group)
{
    free(group->name);
    tf_vec_release(&group->waits.ms);
    tf_vec_release(&group->completions.ms);
    tf_vec_release(&group->reclaims.ms);
    tf_vec_release(&group->scales.ms);
    report_line_release(&group->held.line);
    report_line_release(&group->there.line);
    report_line_release(&group->waiting.line);
    report_line_release(&group->evicted);
    report_line_release(&group->resized);
    tf_vec_each (share, &group->shares)
        report_line_release(&share->held.line);
    tf_vec_release(&group->shares);
}
