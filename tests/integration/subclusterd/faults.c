/* SPDX-License-Identifier: Apache-2.0 */
/* subclusterd killed, frozen, doubled, and without its store, while work runs: each acknowledged epoch ends
 * once, no instance runs twice, what runs lives on. The shims' journal is the witness. */
#include "common/base/cleanup.h"
#include "common/base/rng.h"
#include "common/loop/signals.h"
#include "tests/integration/subclusterd/world.h"
#include "tests/support/process.h"
#include "tests/support/suite.h"

#include <signal.h>
#include <unistd.h>

enum { JOBS = 12, KILLS = 12 };

static struct world w;

static void begin(void)
{
    world_begin(&w, "0s");
    world_attach(&w);
}

static void release_and_end(uint64_t epoch)
{
    world_release(&w, epoch, TF_RELEASE_DELETE);
    WORLD_UNTIL(&w, world_end_of(&w, epoch) == TF_END_RELEASED);
    world_end_clean(&w);
}

/* The pids that instances of one job wrote down, one line a start. */
static int count_lines(const char *name)
{
    TF_AUTO_FREE char *path = tf_asprintf("%s/%s", w.dir, name);
    FILE *file = fopen(path, "re");
    int lines = 0;
    for (int c; file && (c = fgetc(file)) != EOF;)
        lines += c == '\n';
    if (file)
        fclose(file);
    return lines;
}

static void test_adoption(void)
{
    begin();
    uint64_t epoch = world_run(&w, 3, "echo $$ >> \"$WORLD/pids\"; exec sleep 1000");
    WORLD_UNTIL(&w, world_is_running(&w, epoch));
    int processes = world_count_processes(&w);
    uint64_t owner = w.hello.owner_revision;
    world_kill(&w, 0);
    CU_ASSERT_EQUAL(world_count_processes(&w), processes);
    int attaches = w.attaches;
    world_start(&w, 0);
    WORLD_UNTIL(&w, w.attaches > attaches && w.profiles && world_is_running(&w, epoch));
    CU_ASSERT_TRUE(w.hello.owner_revision > owner);
    CU_ASSERT_EQUAL(world_count_processes(&w), processes);
    CU_ASSERT_EQUAL(count_lines("pids"), 3);
    CU_ASSERT_EQUAL(world_read_journal(&w).starts, 3);
    release_and_end(epoch);
}

/* What ended while nobody was there is found by the next one. */
static void test_ended_meanwhile(void)
{
    begin();
    uint64_t epoch = world_run(&w, 2, "until [ -e \"$WORLD/go\" ]; do sleep 0.05; done");
    WORLD_UNTIL(&w, world_is_running(&w, epoch));
    world_kill(&w, 0);
    TF_AUTO_FREE char *go = tf_asprintf("%s/go", w.dir);
    FILE *file = fopen(go, "we");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fclose(file);
    WORLD_UNTIL(&w, world_count_processes(&w) == 0);
    world_start(&w, 0);
    WORLD_UNTIL(&w, world_end_of(&w, epoch) == TF_END_FINISHED);
    CU_ASSERT_EQUAL(world_read_journal(&w).starts, 2);
    world_end_clean(&w);
}

static bool all_ended(void)
{
    tf_vec_each (epoch, &w.epochs)
        if (!epoch->stored)
            return false;
    return true;
}

static void test_random_kills(void)
{
    struct tf_rng rng;
    tf_rng_init(&rng, suite_seed(20));
    begin();
    for (int i = 0; i < JOBS; i++) {
        TF_AUTO_FREE char *script = tf_asprintf("sleep 0.%d; [ $TIDEFED_ATTEMPT -gt %d ]", 2 + i % 7, i % 3);
        tf_spec_own(&world_job(&w, 1 + i % 3, script)->spec)->retry_limit = 6; /* what three instances need */
        world_place(&w);
    }
    for (int i = 0; i < KILLS; i++) {
        world_wait(&w, tf_rng_range(&rng, 0, 400));
        world_kill(&w, 0);
        world_start(&w, 0);
    }
    WORLD_UNTIL(&w, all_ended());
    tf_vec_each (epoch, &w.epochs)
        CU_ASSERT_EQUAL(epoch->report.ended.end, TF_END_FINISHED);
    int starts = 0;
    for (int i = 0; i < JOBS; i++)
        starts += (1 + i % 3) * (1 + i % 3); /* instances x attempts */
    printf("\n    %d kills, %d jobs, %d starts\n", KILLS, JOBS, starts);
    CU_ASSERT_EQUAL(world_read_journal(&w).starts, starts);
    world_end_clean(&w);
}

/* The active one is frozen for longer than its lease, the other takes over; thawed, it gives way. */
static void test_takeover(void)
{
    begin();
    uint64_t epoch = world_run(&w, 2, "exec sleep 1000");
    WORLD_UNTIL(&w, world_is_running(&w, epoch));
    world_start(&w, 1);
    world_wait(&w, 500);
    uint64_t owner = w.hello.owner_revision;
    uint64_t late = world_run(&w, 2, "exec sleep 1000"); /* perhaps in the middle of its start */
    int64_t began = test_now_ms();
    kill(w.daemons[0], SIGSTOP);
    WORLD_UNTIL(&w, w.hello.owner_revision > owner);
    printf("\n    takeover after %lld ms; the lease is %d ms\n", (long long)(test_now_ms() - began),
           WORLD_LEASE_MS);
    WORLD_UNTIL(&w, world_is_running(&w, epoch) && world_is_running(&w, late));
    owner = w.hello.owner_revision;
    kill(w.daemons[0], SIGCONT);
    uint64_t more = world_run(&w, 2, "exec sleep 1000");
    WORLD_UNTIL(&w, world_is_running(&w, more));
    world_wait(&w, 2 * WORLD_LEASE_MS);
    CU_ASSERT_EQUAL(w.hello.owner_revision, owner);
    CU_ASSERT_TRUE(world_is_running(&w, epoch) && world_is_running(&w, late) && world_is_running(&w, more));
    CU_ASSERT_EQUAL(world_read_journal(&w).starts, 6);
    world_kill(&w, 1); /* and back again */
    WORLD_UNTIL(&w, w.hello.owner_revision > owner && world_is_running(&w, more));
    CU_ASSERT_EQUAL(world_read_journal(&w).starts, 6);
    world_release(&w, late, TF_RELEASE_DELETE);
    world_release(&w, more, TF_RELEASE_DELETE);
    WORLD_UNTIL(&w, world_end_of(&w, late) == TF_END_RELEASED && world_end_of(&w, more) == TF_END_RELEASED);
    release_and_end(epoch);
}

static void test_frozen_store(void)
{
    begin();
    uint64_t epoch = world_run(&w, 2, "exec sleep 1000"), brief = world_run(&w, 1, "sleep 0.5");
    WORLD_UNTIL(&w, world_is_running(&w, epoch) && world_is_running(&w, brief));
    test_etcd_freeze(w.etcd);
    uint64_t late = world_run(&w, 1, "true");
    world_wait(&w, 5 * WORLD_LEASE_MS);
    CU_ASSERT_EQUAL(world_end_of(&w, late), TF_END_NONE);
    CU_ASSERT_EQUAL(world_read_journal(&w).starts, 3);
    WORLD_UNTIL(&w, w.store_trouble != NULL); /* the leader is told, for people */
    test_etcd_thaw(w.etcd);
    WORLD_UNTIL(&w, !w.store_trouble);
    WORLD_UNTIL(&w, world_end_of(&w, late) == TF_END_FINISHED && world_end_of(&w, brief) == TF_END_FINISHED);
    WORLD_UNTIL(&w, world_is_running(&w, epoch));
    CU_ASSERT_EQUAL(world_read_journal(&w).starts, 4);
    release_and_end(epoch);
}

static void test_killed_store(void)
{
    begin();
    uint64_t epoch = world_run(&w, 2, "exec sleep 1000");
    WORLD_UNTIL(&w, world_is_running(&w, epoch));
    test_etcd_kill(w.etcd);
    world_wait(&w, 2 * WORLD_LEASE_MS);
    WORLD_UNTIL(&w, w.store_trouble != NULL);
    CU_ASSERT_TRUE(test_etcd_restart(w.etcd));
    uint64_t late = world_run(&w, 1, "true");
    WORLD_UNTIL(&w, world_end_of(&w, late) == TF_END_FINISHED && world_is_running(&w, epoch));
    CU_ASSERT_EQUAL(world_read_journal(&w).starts, 3);
    release_and_end(epoch);
}

int main(void)
{
    static const struct suite_test tests[] = {
        {"killed: the next one adopts", test_adoption},
        {"what ended while nobody was there", test_ended_meanwhile},
        {"killed at random moments", test_random_kills},
        {"frozen beyond its lease, with another standing by", test_takeover},
        {"the store frozen", test_frozen_store},
        {"the store killed", test_killed_store},
    };
    tf_signals_block();
    if (!test_etcd_available())
        return 0;
    int result = suite_run("subclusterd faults", tests, TF_ARRAY_LEN(tests));
    if (w.dir)
        world_end(&w);
    return result;
}
