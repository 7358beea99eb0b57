/* SPDX-License-Identifier: Apache-2.0 */
/* Whom the leader chooses by what it has kept of earlier counts is whom it would choose by counting every
 * subcluster anew, which is how fed_plan_place answers: among jobs of few shapes, subclusters that fill up,
 * reclaims under way, and profiles that come late. */
#include "common/base/cleanup.h"
#include "common/base/rng.h"
#include "common/base/text.h"
#include "tests/support/fed_driver/fed_driver.h"
#include "tests/support/suite.h"

#include <stdio.h>

enum { CLUSTERS = 6, SHAPES = 8, STEPS = 60 };

struct world {
    struct drive d;
    struct tf_rng rng;
    char *shapes[SHAPES];
    size_t jobs, placed, took;
};

static int random_of(struct world *w, int low, int high)
{
    return (int)tf_rng_range(&w->rng, low, high);
}

static void profile(struct world *w, int cluster)
{
    static const char *const models[] = {"A", "B"};
    static const char *const held[] = {"", "core0:", "core1:"};
    TF_AUTO_FREE char *name = tf_asprintf("c%d", cluster);
    TF_AUTO_BUF rows = TF_BUF_INIT;
    for (int i = random_of(w, 1, 5); i > 0; i--)
        tf_buf_fmt(&rows, "%s%dx%d:%s ", held[random_of(w, 0, 2)], random_of(w, 1, 6), random_of(w, 1, 8),
                   models[random_of(w, 0, 1)]);
    drive_profile(&w->d, name, tf_buf_text(&rows));
}

/* One model, or two in an order: with any model the room of the next one is not looked for (choose.c). */
static void make_shapes(struct world *w)
{
    static const char *const models[] = {"A", "B", "A|B", "B|A"};
    for (int i = 0; i < SHAPES; i++) {
        int min = random_of(w, 1, 4), step = random_of(w, 0, 2) ? min : 1;
        w->shapes[i] = tf_asprintf(
            "min=%d max=%d step=%d gpus=%d model=%s prio=%s cpu=%d", min, min * random_of(w, 1, 3), step,
            random_of(w, 1, 4), models[random_of(w, 0, 3)],
            w->d.settings.policy.classes.items[random_of(w, 0, 2)].name, 1000 * random_of(w, 1, 40));
    }
}

/* Where it would go by a fresh count of all; NULL: nowhere. */
static char *best_of(struct world *w, const char *job, const char *words)
{
    struct tf_job_manifest m;
    struct fed_plan plan;
    drive_manifest(&w->d, job, words, &m);
    fed_plan_place(w->d.fed, &m, w->d.now, &plan);
    bool fits = plan.rows.count && plan.rows.items[0].why.first.reason == TF_REASON_NONE;
    w->took += fits && plan.rows.items[0].level > TF_LEVEL_FREE;
    char *best = fits ? tf_strdup(plan.rows.items[0].why.cluster) : NULL;
    fed_plan_release(&plan);
    tf_job_manifest_release(&m);
    return best;
}

static void submit(struct world *w)
{
    const char *words = w->shapes[random_of(w, 0, SHAPES - 1)];
    TF_AUTO_FREE char *job = tf_asprintf("rec/j%zu", w->jobs++);
    TF_AUTO_FREE char *best = best_of(w, job, words);
    drive_submit(&w->d, job, words);
    const struct tf_job_record *r = drive_record(&w->d, job);
    CU_ASSERT_PTR_NOT_NULL_FATAL(r);
    const char *got = r->placements.count ? r->placements.items[0].cluster : NULL;
    if (!tf_str_eq(got, best))
        printf("\n%s (%s): chosen %s, best %s\n", job, words, got ? got : "none", best ? best : "none");
    CU_ASSERT_TRUE_FATAL(tf_str_eq(got, best));
    w->placed += got != NULL;
}

static void history(struct world *w)
{
    drive_init(&w->d);
    make_shapes(w);
    for (int i = 0; i < CLUSTERS; i++) {
        TF_AUTO_FREE char *name = tf_asprintf("c%d", i);
        drive_attach(&w->d, name, "");
        profile(w, i);
    }
    for (int i = 0; i < STEPS; i++) {
        if (random_of(w, 0, 9) == 0)
            profile(w, random_of(w, 0, CLUSTERS - 1));
        else
            submit(w);
        drive_elapse(&w->d, random_of(w, 0, 200));
    }
    for (int i = 0; i < SHAPES; i++)
        free(w->shapes[i]);
    drive_release(&w->d);
}

static void test_choice(void)
{
    struct world w = {0};
    tf_rng_init(&w.rng, suite_seed(11));
    size_t rounds = suite_rounds(150);
    for (size_t i = 0; i < rounds; i++)
        history(&w);
    CU_ASSERT_TRUE(w.placed > 10 * rounds);
    CU_ASSERT_TRUE(w.took > rounds);
}

static const struct suite_test tests[] = {
    {"the subcluster chosen is the best by a fresh count of all", test_choice},
};

int main(void)
{
    return suite_run("federation choice", tests, TF_ARRAY_LEN(tests));
}
