/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what a run is like without one of the mechanisms: to see what it is worth. The cores know nothing of
 * it: it is all in what users ask for and in settings. */
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "tools/fedsim/play/private.h"

static const struct {
    const char *name;
    unsigned flag;
} things[] = {{"absorb", PLAY_WITHOUT_ABSORB},
              {"align", PLAY_WITHOUT_ALIGN},
              {"cost", PLAY_WITHOUT_COST},
              {"claims", PLAY_WITHOUT_CLAIMS}};

unsigned play_without_named(const char *name)
{
    for (size_t i = 0; i < TF_ARRAY_LEN(things); i++)
        if (tf_str_eq(things[i].name, name))
            return things[i].flag;
    return 0;
}

/* cost: what a victim would lose, and gave before, counts for nothing: of a level go those that are the
 * fewest jobs, of these the youngest. claims: nothing waits long enough to be given one. */
void play_without_settings(const struct play *play, struct sim_world *world)
{
    if (play->options->without & PLAY_WITHOUT_COST)
        world->loss_cap = 0;
    if (play->options->without & PLAY_WITHOUT_CLAIMS)
        world->settings.claim_after = INT64_C(10000) * 24 * TF_HOUR;
}

struct tf_elastic play_without_sizes(const struct play *play, struct tf_elastic sizes)
{
    if (play->options->without & PLAY_WITHOUT_ALIGN)
        sizes.step = 1;
    return sizes;
}

/* absorb: a job stays as large as it could start. align: any number of instances is as good as another,
 * though the work goes on in whole steps as before. */
int32_t play_without_spec(const struct play *play, struct tf_job_spec *spec)
{
    int32_t step = spec->elastic.step;
    if (play->options->without & PLAY_WITHOUT_ABSORB)
        spec->grow = TF_GROW_NEVER;
    spec->elastic = play_without_sizes(play, spec->elastic);
    return spec->elastic.step == step ? 0 : step;
}
