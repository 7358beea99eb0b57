/* SPDX-License-Identifier: Apache-2.0 */
/* Images of cores under chaos: each step of each simulated daemon is taken by a core read from the image of
 * the one before, and the run must be the same to the bit. A field that decides and is not in an image fails
 * here; one that is neither in the image nor skipped on purpose is named (common/base/image.h). */
#include "common/base/cleanup.h"
#include "tests/support/suite.h"
#include "tools/fedsim/chaos/chaos.h"
#include "tools/fedsim/play/play.h"

#include <inttypes.h>

enum { SEEDS = 40, TAIL = 60 };

static void test_a_run_is_the_same_on_images(void)
{
    uint64_t first = suite_seed(1);
    size_t rounds = suite_rounds(SEEDS);
    for (uint64_t seed = first; seed < first + rounds; seed++) {
        struct chaos_options options = {.seed = seed, .tail = TAIL};
        struct chaos_result plain, renewed;
        chaos_run(&options, &plain);
        options.renew_every = 1 + seed % 3;
        chaos_run(&options, &renewed);
        if (plain.hash != renewed.hash)
            printf("seed %" PRIu64 ": %s\n", seed, renewed.breached ? renewed.breach : "another run");
        CU_ASSERT_EQUAL(plain.breached, renewed.breached);
        CU_ASSERT_EQUAL(plain.hash, renewed.hash);
        CU_ASSERT_EQUAL(memcmp(&plain.reached, &renewed.reached, sizeof plain.reached), 0);
    }
}

/* ---- images that are cut off ---- */

static void read_cut(const struct tf_core_ops *ops, const struct tf_buf *bytes, size_t len)
{
    struct tf_error err = TF_ERROR_INIT;
    void *core = tf_core_read(ops, bytes->data, len, &err);
    CU_ASSERT_PTR_NULL(core);
    CU_ASSERT_EQUAL(err.code, TF_ERR_INVALID);
    ops->destroy(core);
}

/* Every beginning of it fails, and nothing else happens. */
static size_t cut_everywhere(const struct tf_core_ops *ops, void *core)
{
    TF_AUTO_BUF bytes = TF_BUF_INIT;
    struct tf_error err = TF_ERROR_INIT;
    CU_ASSERT_EQUAL(tf_core_write(ops, core, true, &bytes, &err), 0);
    size_t stride = 1 + bytes.len / 400;
    for (size_t len = 0; len < bytes.len; len += stride)
        read_cut(ops, &bytes, len);
    read_cut(ops, &bytes, bytes.len - 1);
    tf_buf_char(&bytes, 0);
    read_cut(ops, &bytes, bytes.len); /* and what is too long */
    return bytes.len;
}

static void cut_all(void *arg, struct sim_world *world)
{
    size_t *bytes = arg;
    struct sim_fedd *leader = world_leader(world);
    if (leader)
        *bytes += cut_everywhere(&fed_core, leader->core);
    tf_vec_each (site, &world->sites)
        tf_vec_each (subd, &(*site)->subds)
            if ((*subd)->core)
                *bytes += cut_everywhere(&sub_core, (*subd)->core);
}

static void test_a_cut_image_is_refused(void)
{
    size_t bytes = 0;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct scenario scenario;
        struct play_options options = {.until = 40 * TF_SECOND, .ends = cut_all, .arg = &bytes};
        struct play_result result;
        struct tf_error err = TF_ERROR_INIT;
        chaos_draw(seed, CHAOS_SMALL, &scenario);
        scenario.world.rests = false;
        CU_ASSERT_EQUAL(scenario_play(&scenario, &options, &result, &err), 0);
        play_result_release(&result);
        scenario_release(&scenario);
    }
    CU_ASSERT(bytes > 10000);
}

static const struct suite_test tests[] = {
    {"a run is the same on images", test_a_run_is_the_same_on_images},
    {"a cut image is refused", test_a_cut_image_is_refused},
};

int main(void)
{
    return suite_run("chaos/images", tests, TF_ARRAY_LEN(tests));
}
