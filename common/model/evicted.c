/* SPDX-License-Identifier: Apache-2.0 */
#include "common/model/evicted.h"

#include <string.h>

enum { DAY = 24 * TF_HOUR };

void tf_evicted_copy(struct tf_evicted *to, const struct tf_evicted *from)
{
    struct tf_evicted copy = {0};
    tf_vec_each (hour, from)
        tf_vec_push(&copy, *hour);
    tf_vec_release(to);
    *to = copy;
}

bool tf_evicted_eq(const struct tf_evicted *a, const struct tf_evicted *b)
{
    for (size_t i = 0; i < a->count && a->count == b->count; i++)
        if (a->items[i].hour.ms != b->items[i].hour.ms || a->items[i].count != b->items[i].count)
            return false;
    return a->count == b->count;
}

static struct tf_wall hour_of(struct tf_wall at)
{
    return (struct tf_wall){at.ms - at.ms % TF_HOUR};
}

static int32_t sum_of(int32_t a, int32_t b)
{
    return a > TF_EVICTED_MAX - b ? TF_EVICTED_MAX : a + b;
}

void tf_evicted_add(struct tf_evicted *evicted, struct tf_wall at, int32_t count)
{
    struct tf_wall hour = hour_of(at);
    struct tf_evicted_hour *last = evicted->count ? &evicted->items[evicted->count - 1] : NULL;
    if (count <= 0)
        return;
    if (last && last->hour.ms >= hour.ms) { /* later: a clock was put back */
        last->count = sum_of(last->count, count);
        return;
    }
    while (evicted->count &&
           (evicted->items[0].hour.ms <= hour.ms - DAY || evicted->count == TF_EVICTED_HOURS_MAX))
        tf_vec_remove(evicted, 0);
    tf_vec_push(evicted, (struct tf_evicted_hour){hour, sum_of(count, 0)});
}

int32_t tf_evicted_lately(const struct tf_evicted *evicted, struct tf_wall now)
{
    int32_t sum = 0;
    tf_vec_each (hour, evicted)
        if (hour->hour.ms > hour_of(now).ms - DAY)
            sum = sum_of(sum, hour->count);
    return sum;
}
