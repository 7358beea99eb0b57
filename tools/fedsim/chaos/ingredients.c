/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/fedsim/chaos/ingredients.h"

#include <inttypes.h>

#define WORDS(name, words, condition) words,
static const char *const words[] = {CHAOS_EVENTS(WORDS) CHAOS_JOBS(WORDS) CHAOS_CLUSTERS(WORDS)
                                        CHAOS_WORLDS(WORDS)};
#undef WORDS

#define COUNT(name, words, condition) counts[CHAOS_##name] += (condition);

static void count_event(const struct scenario_event *e, uint64_t *counts)
{
    CHAOS_EVENTS(COUNT)
}

static void count_job(const struct scenario_job *j, uint64_t *counts)
{
    CHAOS_JOBS(COUNT)
}

static void count_cluster(const struct scenario_cluster *c, uint64_t *counts)
{
    CHAOS_CLUSTERS(COUNT)
}

static void count_world(const struct scenario *s, uint64_t *counts)
{
    CHAOS_WORLDS(COUNT)
}

void chaos_ingredients_count(const struct scenario *scenario, uint64_t counts[CHAOS_INGREDIENTS])
{
    tf_vec_each (e, &scenario->events)
        count_event(e, counts);
    tf_vec_each (e, &scenario->faults)
        count_event(e, counts);
    tf_vec_each (j, &scenario->jobs)
        count_job(j, counts);
    tf_vec_each (c, &scenario->clusters)
        count_cluster(c, counts);
    count_world(scenario, counts);
}

size_t chaos_ingredients_print(FILE *out, const uint64_t counts[CHAOS_INGREDIENTS], uint64_t least)
{
    size_t rare = 0;
    for (size_t i = 0; i < CHAOS_INGREDIENTS; i++) {
        bool few = counts[i] < least;
        rare += few;
        fprintf(out, "%10" PRIu64 "  %s%s\n", counts[i], words[i], few ? "   <-- too rare" : "");
    }
    return rare;
}
