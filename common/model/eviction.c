/* SPDX-License-Identifier: Apache-2.0 */
#include "common/model/eviction.h"

#include "common/base/alloc.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define GAVE_WAY " gave way to "
#define LOST " GPU-seconds lost"

void tf_eviction_release(struct tf_eviction *eviction)
{
    free(eviction->level);
    free(eviction->by);
    free(eviction->priority);
    *eviction = (struct tf_eviction){0};
}

char *tf_eviction_text(const struct tf_eviction *eviction)
{
    return tf_asprintf("%s" GAVE_WAY "%s (%s): %" PRId64 LOST, eviction->level, eviction->by,
                       eviction->priority, eviction->lost_gpu_seconds);
}

/* The word that ends before `end`, not reaching before `text`. Names and levels have no spaces. */
static char *word_before(const char *text, const char *end)
{
    const char *begin = end;
    while (begin > text && begin[-1] != ' ')
        begin--;
    return begin < end ? tf_strndup(begin, (size_t)(end - begin)) : NULL;
}

/* What is between *at and the mark, behind which *at is then; NULL if that is nothing, or the mark is not
 * there. */
static char *until(const char **at, const char *mark)
{
    const char *end = strstr(*at, mark);
    if (!end || end == *at)
        return NULL;
    char *word = tf_strndup(*at, (size_t)(end - *at));
    *at = end + strlen(mark);
    return word;
}

static bool read_lost(const char *at, int64_t *lost)
{
    char *end = NULL;
    errno = 0;
    long long value = *at >= '0' && *at <= '9' ? strtoll(at, &end, 10) : -1;
    *lost = value;
    return value >= 0 && errno == 0 && strncmp(end, LOST, strlen(LOST)) == 0;
}

bool tf_eviction_find(const char *text, struct tf_eviction *out)
{
    const char *gave = strstr(text, GAVE_WAY);
    *out = (struct tf_eviction){0};
    if (!gave)
        return false;
    const char *at = gave + strlen(GAVE_WAY);
    out->level = word_before(text, gave);
    out->by = until(&at, " (");
    out->priority = out->by ? until(&at, "): ") : NULL;
    if (out->level && out->priority && read_lost(at, &out->lost_gpu_seconds))
        return true;
    tf_eviction_release(out);
    return false;
}
