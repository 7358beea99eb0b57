/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the lines of a run. */
#include "tools/fedsim/diary.h"

#include "common/base/alloc.h"

#include <inttypes.h>
#include <stdarg.h>

enum { LINE_BYTES = 600 };
static const uint64_t fnv_start = UINT64_C(0xcbf29ce484222325), fnv_prime = UINT64_C(0x100000001b3);

void sim_diary_init(struct sim_diary *diary, bool aloud)
{
    *diary = (struct sim_diary){.aloud = aloud, .hash = fnv_start};
}

void sim_diary_release(struct sim_diary *diary)
{
    for (size_t i = 0; i < SIM_DIARY_KEPT; i++)
        free(diary->kept[i]);
}

static void take_in(struct sim_diary *diary, const char *line)
{
    for (const char *c = line; *c; c++)
        diary->hash = (diary->hash ^ (uint8_t)*c) * fnv_prime;
}

void sim_diary_add(struct sim_diary *diary, struct tf_mono now, const char *who, const char *fmt, ...)
{
    char line[LINE_BYTES];
    int used = snprintf(line, sizeof line, "[%7" PRId64 ".%03" PRId64 "] %-7s ", now.ms / TF_SECOND,
                        now.ms % TF_SECOND, who);
    va_list args;
    va_start(args, fmt);
    vsnprintf(line + used, sizeof line - (size_t)used, fmt, args);
    va_end(args);
    take_in(diary, line);
    char **slot = &diary->kept[diary->lines++ % SIM_DIARY_KEPT];
    free(*slot);
    *slot = tf_strdup(line);
    if (diary->aloud)
        printf("%s\n", line);
}

void sim_diary_tail(const struct sim_diary *diary, uint64_t lines)
{
    uint64_t most = diary->lines < SIM_DIARY_KEPT ? diary->lines : SIM_DIARY_KEPT;
    for (uint64_t i = diary->lines - (lines < most ? lines : most); i < diary->lines; i++)
        printf("%s\n", diary->kept[i % SIM_DIARY_KEPT]);
}
