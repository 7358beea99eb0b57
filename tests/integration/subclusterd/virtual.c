/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon with the virtual engine and thousands of nodes: all is as with real ones, and outlives it. */
#include "common/base/cleanup.h"
#include "tests/integration/subclusterd/world.h"
#include "tests/support/process.h"
#include "tests/support/suite.h"

#include <unistd.h>

enum { NODES = 2000, GANG = 1000 };

static struct world w;

static void begin(void)
{
    world_begin_virtual(&w, "0s", NODES);
    world_attach(&w);
}

/* A job of whole nodes. */
static uint64_t place_gang(int32_t n)
{
    struct tf_entry *entry = world_job(&w, n, "exec sleep 1000");
    tf_spec_own(&entry->spec)->group.shape.gpus = 8;
    return world_place(&w);
}

static void end_clean(void)
{
    WORLD_UNTIL(&w, world_count_allocations(&w) == 0);
    CU_ASSERT_EQUAL(world_count_processes(&w), 0);
    world_end(&w);
}

static void test_life(void)
{
    begin();
    CU_ASSERT_STRING_EQUAL(w.hello.engine, "virtual");
    CU_ASSERT_EQUAL(w.profile.health.gpus, NODES * 8);
    CU_ASSERT_EQUAL(w.profile.health.free_gpus, NODES * 8);
    uint64_t gang = place_gang(GANG);
    struct tf_entry *entry = world_job(&w, 1, "");
    tf_pairs_set(&tf_spec_own(&entry->spec)->group.env, "VIRTUAL_RUN", "100ms");
    uint64_t brief = world_place(&w);
    entry = world_job(&w, 1, "");
    tf_pairs_set(&tf_spec_own(&entry->spec)->group.env, "VIRTUAL_RUN", "0s");
    tf_pairs_set(&tf_spec_own(&entry->spec)->group.env, "VIRTUAL_EXIT", "3");
    tf_spec_own(&entry->spec)->retry_limit = 1;
    uint64_t fails = world_place(&w);
    WORLD_UNTIL(&w, world_is_running(&w, gang));
    WORLD_UNTIL(&w, world_end_of(&w, brief) == TF_END_FINISHED && world_end_of(&w, fails) == TF_END_FAILED);
    CU_ASSERT_EQUAL(world_epoch(&w, fails)->report.ended.exit_code, 3);
    CU_ASSERT_EQUAL(world_epoch(&w, fails)->report.ended.failures, 1);
    world_ask_nodes(&w);
    WORLD_UNTIL(&w, w.answered == w.next_ask);
    CU_ASSERT_EQUAL(w.nodes.nodes.count, NODES);
    tf_vec_each (node, &w.nodes.nodes)
        CU_ASSERT_STRING_EQUAL(node->engine, "virtual");
    uint64_t ask = world_ask_logs(&w, gang, 0, false, -1);
    WORLD_UNTIL(&w, world_output(&w, ask)->ended);
    CU_ASSERT_PTR_NOT_NULL_FATAL(world_output(&w, ask)->error);
    CU_ASSERT_PTR_NOT_NULL(strstr(world_output(&w, ask)->error, "only invents"));
    world_release(&w, gang, TF_RELEASE_DELETE);
    WORLD_UNTIL(&w, world_end_of(&w, gang) == TF_END_RELEASED);
    end_clean();
}

/* Killed at any time: the gang runs on, and what is told of it is what was. */
static void test_outlives(void)
{
    begin();
    uint64_t gang = place_gang(GANG);
    WORLD_UNTIL(&w, world_epoch(&w, gang)->report.phase == TF_PHASE_STARTING ||
                        world_is_running(&w, gang)); /* durable */
    for (int i = 0; i < 3; i++) {
        world_wait(&w, 20 * i);
        world_kill(&w, 0);
        w.listed = false;
        world_start(&w, 0);
        WORLD_UNTIL(&w, w.listed && world_is_running(&w, gang));
    }
    CU_ASSERT_EQUAL(world_end_of(&w, gang), TF_END_NONE);
    tf_vec_each (m, &world_epoch(&w, gang)->report.members)
        CU_ASSERT_EQUAL(m->attempt, 1);
    world_release(&w, gang, TF_RELEASE_DELETE);
    world_kill(&w, 0);
    world_start(&w, 0);
    WORLD_UNTIL(&w, world_end_of(&w, gang) == TF_END_RELEASED);
    end_clean();
}

static char *mark(const char *folder, const char *node)
{
    char *path = tf_asprintf("%s/virtual/%s/%s", w.state_dir, folder, node);
    FILE *file = fopen(path, "we");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fclose(file);
    return path;
}

/* A node that comes back soon costs nothing; one that is lost ends what ran there. */
static void test_nodes_flap(void)
{
    begin();
    uint64_t all = place_gang(NODES);
    WORLD_UNTIL(&w, world_is_running(&w, all));
    TF_AUTO_FREE char *away = mark("away", "n1999");
    WORLD_UNTIL(&w, w.health.unreachable == 1);
    CU_ASSERT_EQUAL(unlink(away), 0);
    WORLD_UNTIL(&w, w.health.ready == NODES);
    CU_ASSERT_TRUE(world_is_running(&w, all));
    CU_ASSERT_EQUAL(world_end_of(&w, all), TF_END_NONE);
    TF_AUTO_FREE char *down = mark("down", "n7");
    WORLD_UNTIL(&w, world_end_of(&w, all) == TF_END_LOST);
    CU_ASSERT_EQUAL(unlink(down), 0);
    WORLD_UNTIL(&w, w.health.free_gpus == NODES * 8);
    end_clean();
}

/* So many go silent at once that none is judged, for as long as it takes; but what somebody confirms is lost.
 */
static void test_somebody_confirms(void)
{
    enum { AWAY = NODES / 10 + 1 };
    begin();
    uint64_t all = place_gang(NODES);
    WORLD_UNTIL(&w, world_is_running(&w, all));
    for (int i = 0; i < AWAY; i++) {
        TF_AUTO_FREE char *node = tf_asprintf("n%d", i);
        TF_AUTO_FREE char *path = mark("away", node);
    }
    WORLD_UNTIL(&w, w.health.unreachable == AWAY);
    world_ask_confirm_lost(&w, "n1999");
    WORLD_UNTIL(&w, w.answered == w.next_ask);
    CU_ASSERT_EQUAL(w.answer_code, TF_ERR_REFUSED); /* its engine reaches it */
    world_ask_confirm_lost(&w, "n7");
    WORLD_UNTIL(&w, w.answered == w.next_ask);
    CU_ASSERT_EQUAL(w.answer_code, TF_OK);
    WORLD_UNTIL(&w, w.health.lost == 1);
    CU_ASSERT_EQUAL(w.health.unreachable, AWAY - 1);
    for (int i = 0; i < AWAY; i++) {
        TF_AUTO_FREE char *path = tf_asprintf("%s/virtual/away/n%d", w.state_dir, i);
        CU_ASSERT_EQUAL(unlink(path), 0);
    }
    WORLD_UNTIL(&w, world_end_of(&w, all) ==
                        TF_END_LOST); /* what was out of reach can be stopped, and the lost one is back */
    WORLD_UNTIL(&w, w.health.free_gpus == NODES * 8);
    end_clean();
}

int main(void)
{
    static const struct suite_test tests[] = {
        {"life", test_life},
        {"outlives", test_outlives},
        {"nodes flap", test_nodes_flap},
        {"somebody confirms that a node is lost", test_somebody_confirms},
    };
    return test_etcd_available() ? suite_run("subclusterd virtual", tests, TF_ARRAY_LEN(tests)) : 0;
}
