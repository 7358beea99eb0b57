/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon of a subcluster as its users see it: what it is told runs, is reported, ends and is forgotten;
 * questions are answered; nothing that goes wrong above it stops work. */
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "common/loop/signals.h"
#include "tests/integration/subclusterd/world.h"
#include "tests/support/process.h"
#include "tests/support/suite.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct world w;

static void begin(const char *keep_output)
{
    world_begin(&w, keep_output);
    world_attach(&w);
}

static void test_life(void)
{
    begin("0s");
    CU_ASSERT_STRING_EQUAL(w.hello.name, "t");
    CU_ASSERT_STRING_EQUAL(w.hello.region, "north");
    CU_ASSERT_EQUAL(w.profile.health.gpus, 32);
    CU_ASSERT_EQUAL(w.profile.health.free_gpus, 32);
    uint64_t epoch = world_run(&w, 4, "sleep 1");
    WORLD_UNTIL(&w, world_is_running(&w, epoch));
    CU_ASSERT_EQUAL(world_epoch(&w, epoch)->report.members.count, 4);
    CU_ASSERT_TRUE(world_count_processes(&w) >= 8); /* four shims, four commands */
    CU_ASSERT_EQUAL(world_count_allocations(&w), 1);
    WORLD_UNTIL(&w, world_end_of(&w, epoch) == TF_END_FINISHED);
    world_end_clean(&w);
}

/* The environment and the peers file of DESIGN.md §3. */
static void test_inside(void)
{
    begin("0s");
    struct tf_entry *entry = world_job(
        &w, 2,
        "exec > \"$WORLD/inside.$TIDEFED_INDEX\"; "
        "echo $TIDEFED_JOB $TIDEFED_EPOCH $TIDEFED_INDEX $TIDEFED_ATTEMPT $TIDEFED_SIZE $TIDEFED_GPUS "
        "$CUDA_VISIBLE_DEVICES; "
        "until [ $(grep -cE '\"state\":\"(ready|done)\"' \"$TIDEFED_PEERS_FILE\") = 2 ]; do sleep 0.05; "
        "done; "
        "test -n \"$TIDEFED_PORT_HTTP\" && grep -q \"\\\"http\\\":$TIDEFED_PORT_HTTP\" "
        "\"$TIDEFED_PEERS_FILE\" && echo ok");
    tf_strs_add(&tf_spec_own(&entry->spec)->group.ports, "http");
    uint64_t epoch = world_place(&w);
    WORLD_UNTIL(&w, world_end_of(&w, epoch) == TF_END_FINISHED);
    for (int i = 0; i < 2; i++) {
        TF_AUTO_FREE char *path = tf_asprintf("%s/inside.%d", w.dir, i);
        TF_AUTO_FREE char *wanted = tf_asprintf("team/job-1 1 %d 1 2 ", i);
        char line[256] = "", last[256] = "";
        FILE *file = fopen(path, "re");
        CU_ASSERT_PTR_NOT_NULL_FATAL(file);
        CU_ASSERT_PTR_NOT_NULL(fgets(line, sizeof line, file));
        CU_ASSERT_PTR_NOT_NULL(fgets(last, sizeof last, file));
        fclose(file);
        CU_ASSERT_TRUE(tf_starts_with(line, wanted));
        CU_ASSERT_STRING_EQUAL(last, "ok\n");
    }
    world_end_clean(&w);
}

static void test_release(void)
{
    begin("1s");
    uint64_t gentle = world_run(&w, 2, "exec sleep 1000");
    uint64_t deaf = world_run(&w, 1, "trap '' TERM; while :; do sleep 0.1; done");
    tf_spec_own(&world_epoch(&w, deaf)->entry.spec)->group.grace = 300;
    WORLD_UNTIL(&w, world_is_running(&w, gentle) && world_is_running(&w, deaf));
    world_release(&w, gentle, TF_RELEASE_DELETE);
    WORLD_UNTIL(&w, world_end_of(&w, gentle) == TF_END_RELEASED);
    CU_ASSERT_TRUE(world_is_running(&w, deaf));
    world_release(&w, deaf, TF_RELEASE_HOLD);
    WORLD_UNTIL(&w, world_end_of(&w, deaf) == TF_END_RELEASED);
    world_end_clean(&w);
}

static void test_retries(void)
{
    begin("0s");
    struct tf_entry *entry = world_job(&w, 1, "echo attempt $TIDEFED_ATTEMPT; exit 3");
    tf_spec_own(&entry->spec)->retry_limit = 2;
    uint64_t fails = world_place(&w);
    entry = world_job(&w, 1, "[ $TIDEFED_ATTEMPT = 2 ]");
    uint64_t heals = world_place(&w);
    WORLD_UNTIL(&w, world_end_of(&w, fails) == TF_END_FAILED && world_end_of(&w, heals) == TF_END_FINISHED);
    const struct tf_report *report = &world_epoch(&w, fails)->report;
    CU_ASSERT_EQUAL(report->ended.exit_code, 3);
    CU_ASSERT_EQUAL(report->ended.failures, 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(report->ended.output, "attempt 3"));
    struct world_journal journal = world_read_journal(&w);
    CU_ASSERT_EQUAL(journal.starts, 5);
    world_end_clean(&w);
}

static void test_refusals(void)
{
    begin("0s");
    uint64_t too_many = world_run(&w, 33, "exec sleep 1000");
    WORLD_UNTIL(&w, world_end_of(&w, too_many) == TF_END_REFUSED);
    CU_ASSERT_EQUAL(world_epoch(&w, too_many)->report.ended.reason, TF_REASON_NOT_ENOUGH_NODES);
    struct tf_entry *entry = world_job(&w, 1, "");
    tf_strs_release(&tf_spec_own(&entry->spec)->group.command);
    tf_strs_add(&tf_spec_own(&entry->spec)->group.command, "/no/such/program");
    tf_spec_own(&entry->spec)->retry_limit = 0;
    uint64_t missing = world_place(&w);
    WORLD_UNTIL(&w, world_end_of(&w, missing) == TF_END_FAILED);
    CU_ASSERT_EQUAL(world_epoch(&w, missing)->report.ended.exit_code, 127);
    world_end_clean(&w);
}

static void test_node_lost(void)
{
    begin("0s");
    uint64_t epoch = world_run(&w, 32, "exec sleep 1000"); /* on all nodes */
    TF_AUTO_FREE char *marker = tf_asprintf("%s/down/n2", w.state_dir);
    WORLD_UNTIL(&w, world_is_running(&w, epoch));
    FILE *file = fopen(marker, "we");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fclose(file);
    WORLD_UNTIL(&w, world_end_of(&w, epoch) == TF_END_LOST);
    WORLD_UNTIL(&w, world_count_processes(&w) == 0);
    uint64_t rest = world_run(&w, 24, "exec sleep 1000");
    WORLD_UNTIL(&w, world_is_running(&w, rest));
    tf_vec_each (m, &world_epoch(&w, rest)->report.members)
        CU_ASSERT_STRING_NOT_EQUAL(m->node, "n2");
    CU_ASSERT_EQUAL(unlink(marker), 0);
    uint64_t again = 0;
    do { /* it may take a moment to return */
        again = world_run(&w, 8, "exec sleep 1000");
        WORLD_UNTIL(&w, world_is_running(&w, again) || world_end_of(&w, again) == TF_END_REFUSED);
    } while (world_end_of(&w, again) == TF_END_REFUSED);
    CU_ASSERT_STRING_EQUAL(world_epoch(&w, again)->report.members.items[0].node, "n2");
    world_release(&w, rest, TF_RELEASE_DELETE);
    world_release(&w, again, TF_RELEASE_DELETE);
    WORLD_UNTIL(&w, world_end_of(&w, rest) == TF_END_RELEASED && world_end_of(&w, again) == TF_END_RELEASED);
    world_end_clean(&w);
}

/* ---- questions ---- */

static const struct tf_node_info *ask_node(size_t i)
{
    world_ask_nodes(&w);
    WORLD_UNTIL(&w, w.answered == w.next_ask);
    CU_ASSERT_EQUAL_FATAL(w.nodes.nodes.count, 4);
    return &w.nodes.nodes.items[i];
}

/* A cordon is kept in the store, so it outlives the daemon. */
static void test_cordons(void)
{
    begin("0s");
    world_ask_cordon(&w, "n0", 0, true);
    world_ask_cordon(&w, "n1", 0x0f, true);
    world_ask_cordon(&w, "n9", 0, true);
    WORLD_UNTIL(&w, w.answered == w.next_ask);
    CU_ASSERT_EQUAL(w.answer_code, TF_ERR_NOT_FOUND);
    CU_ASSERT_EQUAL(ask_node(0)->node.state, TF_NODE_CORDONED);
    uint64_t epoch = world_run(&w, 20, "exec sleep 1000");
    WORLD_UNTIL(&w, world_is_running(&w, epoch));
    int attaches = w.attaches;
    world_kill(&w, 0);
    world_start(&w, 0);
    WORLD_UNTIL(&w, w.attaches > attaches && w.profiles && world_is_running(&w, epoch));
    CU_ASSERT_EQUAL(ask_node(0)->node.state, TF_NODE_CORDONED);
    CU_ASSERT_STRING_EQUAL(w.nodes.nodes.items[0].cordon.reason, "a test");
    CU_ASSERT_EQUAL(w.nodes.nodes.items[0].held_gpus, 0);
    CU_ASSERT_EQUAL(w.nodes.nodes.items[1].free_gpus, 0);
    CU_ASSERT_EQUAL(w.nodes.nodes.items[1].held_gpus, 0xf0);
    world_ask_cordon(&w, "n0", 0, false);
    WORLD_UNTIL(&w, w.answered == w.next_ask);
    CU_ASSERT_EQUAL(ask_node(0)->free_gpus, 0xff);
    world_release(&w, epoch, TF_RELEASE_DELETE);
    WORLD_UNTIL(&w, world_end_of(&w, epoch) == TF_END_RELEASED);
    world_end_clean(&w);
}

static void test_nodes(void)
{
    begin("0s");
    uint64_t epoch = world_run(&w, 10, "exec sleep 1000");
    WORLD_UNTIL(&w, world_is_running(&w, epoch));
    world_ask_nodes(&w);
    WORLD_UNTIL(&w, w.answered == w.next_ask);
    CU_ASSERT_EQUAL_FATAL(w.nodes.nodes.count, 4);
    size_t instances = 0;
    int held = 0;
    tf_vec_each (node, &w.nodes.nodes) {
        CU_ASSERT_STRING_EQUAL(node->cluster, "t");
        CU_ASSERT_STRING_EQUAL(node->node.model, "H800");
        CU_ASSERT_EQUAL(node->free_gpus & node->held_gpus, 0);
        CU_ASSERT_EQUAL(node->free_gpus | node->held_gpus, 0xff);
        CU_ASSERT_EQUAL(node->node.capacity.slots, 2 * 8 + 16);
        instances += node->instances.count;
        held += tf_gpu_set_count(node->held_gpus);
    }
    CU_ASSERT_EQUAL(instances, 10);
    CU_ASSERT_EQUAL(held, 10);
    CU_ASSERT_STRING_EQUAL(w.nodes.nodes.items[3].node.domains.items[0], "rdma-1");
    world_release(&w, epoch, TF_RELEASE_DELETE);
    WORLD_UNTIL(&w, world_end_of(&w, epoch) == TF_END_RELEASED);
    world_end_clean(&w);
}

static const struct world_output *ask_output(uint64_t epoch, int64_t tail)
{
    uint64_t ask = world_ask_logs(&w, epoch, 0, false, tail);
    WORLD_UNTIL(&w, world_output(&w, ask)->ended);
    return world_output(&w, ask);
}

static void test_output(void)
{
    begin("10m");
    uint64_t epoch =
        world_run(&w, 1, "i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done; echo trouble >&2");
    WORLD_UNTIL(&w, world_end_of(&w, epoch) == TF_END_FINISHED);
    const struct world_output *all = ask_output(epoch, -1); /* some 220 KiB: several chunks */
    CU_ASSERT_PTR_NULL(all->error);
    CU_ASSERT_TRUE(tf_starts_with(tf_buf_text(&all->bytes), "line 0\nline 1\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(tf_buf_text(&all->bytes), "line 19999\ntrouble\n"));
    const struct world_output *tail = ask_output(epoch, 30);
    CU_ASSERT_STRING_EQUAL(tf_buf_text(&tail->bytes), "line 19998\nline 19999\ntrouble\n");
    uint64_t other = world_ask_logs(&w, epoch, 7, false, -1);
    WORLD_UNTIL(&w, world_output(&w, other)->ended);
    CU_ASSERT_PTR_NOT_NULL_FATAL(world_output(&w, other)->error);
    CU_ASSERT_PTR_NOT_NULL(strstr(world_output(&w, other)->error, "no output of instance 7"));
    struct tf_entry *entry = world_job(&w, 1, "echo attempt $TIDEFED_ATTEMPT; exit 3");
    tf_spec_own(&entry->spec)->retry_limit = 1;
    epoch = world_place(&w);
    WORLD_UNTIL(&w, world_end_of(&w, epoch) == TF_END_FAILED);
    CU_ASSERT_STRING_EQUAL(tf_buf_text(&ask_output(epoch, -1)->bytes), "attempt 2\n");
    w.attempt = 1;
    CU_ASSERT_STRING_EQUAL(tf_buf_text(&ask_output(epoch, -1)->bytes), "attempt 1\n");
    w.attempt = 3;
    const struct world_output *none = ask_output(epoch, -1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(none->error);
    CU_ASSERT_PTR_NOT_NULL(strstr(none->error, "no output of instance 0, attempt 3"));
    world_end(&w);
}

static void test_follow(void)
{
    begin("10m");
    uint64_t epoch =
        world_run(&w, 1, "echo first; until [ -e \"$WORLD/go\" ]; do sleep 0.05; done; echo last");
    WORLD_UNTIL(&w, world_is_running(&w, epoch));
    uint64_t ask = world_ask_logs(&w, epoch, 0, true, -1);
    WORLD_UNTIL(&w, strstr(tf_buf_text(&world_output(&w, ask)->bytes), "first\n") != NULL);
    CU_ASSERT_FALSE(world_output(&w, ask)->ended);
    TF_AUTO_FREE char *go = tf_asprintf("%s/go", w.dir);
    FILE *file = fopen(go, "we");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fclose(file);
    WORLD_UNTIL(&w, world_output(&w, ask)->ended);
    CU_ASSERT_STRING_EQUAL(tf_buf_text(&world_output(&w, ask)->bytes), "first\nlast\n");
    world_end(&w);
}

/* ---- trouble above ---- */

static void test_cut(void)
{
    begin("0s");
    uint64_t epoch = world_run(&w, 2, "exec sleep 1000");
    WORLD_UNTIL(&w, world_is_running(&w, epoch));
    for (int i = 0; i < 3; i++) {
        int before = w.attaches;
        world_cut(&w);
        WORLD_UNTIL(&w, w.attaches > before && w.stream);
    }
    int before = w.attaches;
    world_send_bytes(&w, "\xff\xff nonsense", 11);
    WORLD_UNTIL(&w, w.attaches > before && w.stream);
    WORLD_UNTIL(&w, world_is_running(&w, epoch));
    struct world_journal journal = world_read_journal(&w);
    CU_ASSERT_EQUAL(journal.starts, 2);
    CU_ASSERT_EQUAL(journal.stops, 0);
    world_release(&w, epoch, TF_RELEASE_DELETE);
    WORLD_UNTIL(&w, world_end_of(&w, epoch) == TF_END_RELEASED);
    world_end_clean(&w);
}

/* An end that the leader has not stored is told again and again, and its record stays. */
static void test_ends_are_kept(void)
{
    begin("0s");
    w.keeps_ends = true;
    uint64_t epoch = world_run(&w, 1, "true");
    WORLD_UNTIL(&w, world_end_of(&w, epoch) == TF_END_FINISHED);
    world_kill(&w, 0);
    tf_report_release(&world_epoch(&w, epoch)->report);
    world_start(&w, 0);
    WORLD_UNTIL(&w, world_end_of(&w, epoch) == TF_END_FINISHED);
    CU_ASSERT_EQUAL(world_count_allocations(&w), 1);
    CU_ASSERT_EQUAL(world_read_journal(&w).starts, 1);
    w.keeps_ends = false;
    world_cut(&w);
    WORLD_UNTIL(&w, world_epoch(&w, epoch)->stored);
    world_end_clean(&w);
}

static void test_follows_the_leader(void)
{
    struct world other = {0};
    begin("0s");
    world_begin(&other, "0s"); /* only its leader is of use */
    w.refuses = true;
    w.leader = tf_strdup(other.address);
    world_cut(&w);
    int64_t deadline = test_now_ms() + WORLD_PATIENCE_MS;
    while (!other.listed && world_turn(&w, deadline)) /* both leaders answer */
        world_turn(&other, deadline);
    CU_ASSERT_TRUE_FATAL(other.listed);
    CU_ASSERT_STRING_EQUAL(other.hello.name, "t");
    world_kill(&w, 0);
    world_end(&other);
    world_end(&w);
}

/* ---- its own life ---- */

static void test_terminate(void)
{
    begin("0s");
    uint64_t epoch = world_run(&w, 2, "exec sleep 1000");
    WORLD_UNTIL(&w, world_is_running(&w, epoch));
    kill(w.daemons[0], SIGHUP);
    WORLD_UNTIL(&w, world_logged(&w, "nothing changed"));
    w.leaves = 0;
    int status = world_terminate(&w, 0);
    CU_ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    WORLD_UNTIL(&w, w.leaves == 1); /* the leader is told that it is no accident */
    CU_ASSERT_TRUE(world_count_processes(&w) >= 4);
    int64_t began = test_now_ms();
    w.listed = false;
    world_start(&w, 0);
    WORLD_UNTIL(&w, w.listed && world_is_running(&w, epoch));
    printf("\n    active again after %lld ms; the lease is %d ms\n", (long long)(test_now_ms() - began),
           WORLD_LEASE_MS);
    CU_ASSERT_EQUAL(world_read_journal(&w).starts, 2);
    world_release(&w, epoch, TF_RELEASE_DELETE);
    WORLD_UNTIL(&w, world_end_of(&w, epoch) == TF_END_RELEASED);
    world_end_clean(&w);
}

static void test_lost_memory(void)
{
    begin("0s");
    uint64_t epoch = world_run(&w, 1, "exec sleep 1000");
    WORLD_UNTIL(&w, world_is_running(&w, epoch));
    world_terminate(&w, 0);
    TF_AUTO_FREE char *aside = tf_asprintf("%s/aside", w.dir);
    CU_ASSERT_EQUAL(rename(w.state_dir, aside), 0);
    int before = w.attaches;
    world_start(&w, 0);
    WORLD_UNTIL(&w, world_logged(&w, "memory is missing"));
    CU_ASSERT_EQUAL(w.attaches, before);
    world_kill(&w, 0);
    test_remove_tree(w.state_dir);
    CU_ASSERT_EQUAL(rename(aside, w.state_dir), 0);
    world_start(&w, 0);
    WORLD_UNTIL(&w, w.attaches > before && world_is_running(&w, epoch));
    CU_ASSERT_EQUAL(world_read_journal(&w).starts, 1);
    world_release(&w, epoch, TF_RELEASE_DELETE);
    WORLD_UNTIL(&w, world_end_of(&w, epoch) == TF_END_RELEASED);
    world_end_clean(&w);
}

/* With the store away the lease has to run out by itself. */
static void test_terminate_without_store(void)
{
    begin("0s");
    uint64_t epoch = world_run(&w, 1, "exec sleep 1000");
    WORLD_UNTIL(&w, world_is_running(&w, epoch));
    test_etcd_freeze(w.etcd);
    int status = world_terminate(&w, 0);
    CU_ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    test_etcd_thaw(w.etcd);
    world_start(&w, 0);
    WORLD_UNTIL(&w, w.stream && world_is_running(&w, epoch));
    world_release(&w, epoch, TF_RELEASE_DELETE);
    WORLD_UNTIL(&w, world_end_of(&w, epoch) == TF_END_RELEASED);
    world_end_clean(&w);
}

/* A record that cannot be read is left alone, loudly; all else goes on. */
static void test_quarantine(void)
{
    begin("0s");
    uint64_t epoch = world_run(&w, 1, "exec sleep 1000");
    WORLD_UNTIL(&w, world_is_running(&w, epoch));
    world_kill(&w, 0);
    world_put(&w, "allocations/00112233445566778899aabbccddeeff", "this is no record");
    int before = w.attaches;
    world_start(&w, 0);
    WORLD_UNTIL(&w, w.attaches > before && world_is_running(&w, epoch));
    CU_ASSERT_TRUE(world_logged(&w, "00112233445566778899aabbccddeeff"));
    uint64_t other = world_run(&w, 1, "true");
    WORLD_UNTIL(&w, world_end_of(&w, other) == TF_END_FINISHED);
    world_release(&w, epoch, TF_RELEASE_DELETE);
    WORLD_UNTIL(&w, world_end_of(&w, epoch) == TF_END_RELEASED);
    WORLD_UNTIL(&w, world_count_allocations(&w) == 1); /* it alone is left */
    WORLD_UNTIL(&w, world_count_processes(&w) == 0);
    world_end(&w);
}

static void test_new_memory(void)
{
    begin("0s");
    uint64_t epoch = world_run(&w, 1, "exec sleep 1000");
    WORLD_UNTIL(&w, world_is_running(&w, epoch));
    world_kill(&w, 0);
    world_end_instances(&w); /* the machine was lost, with all that ran on it */
    test_remove_tree(w.state_dir);
    int before = w.attaches;
    w.option = "--new-engine-memory";
    world_start(&w, 0);
    WORLD_UNTIL(&w, w.attaches > before && world_read_journal(&w).starts == 1); /* in the new memory */
    world_release(&w, epoch, TF_RELEASE_DELETE);
    WORLD_UNTIL(&w, world_end_of(&w, epoch) == TF_END_RELEASED);
    world_end_clean(&w);
}

/* Without its shim the daemon cannot ever work: it says so and ends. */
static void test_no_shim(void)
{
    begin("0s");
    world_kill(&w, 0);
    FILE *file = fopen(w.config, "ae");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fputs("shim: /no/such/shim\n", file);
    fclose(file);
    int status = test_process_wait(world_start(&w, 0));
    w.daemons[0] = 0;
    CU_ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    CU_ASSERT_TRUE(world_logged(&w, "/no/such/shim"));
    world_end(&w);
}

/* A store that was restored from an old copy, here: from before anything: what runs is adopted, and ends when
 * the leader says so. */
static void test_rollback(void)
{
    begin("0s");
    world_terminate(&w, 0);
    w.listed = false;
    world_start(&w, 0); /* a second owner: a later one than the first of another store */
    WORLD_UNTIL(&w, w.listed);
    uint64_t epoch = world_run(&w, 1, "exec sleep 1000");
    WORLD_UNTIL(&w, world_is_running(&w, epoch));
    world_kill(&w, 0);
    world_new_store(&w);
    int before = w.attaches;
    world_start(&w, 0);
    WORLD_UNTIL(&w, world_logged(&w, "--accept-rollback"));
    CU_ASSERT_EQUAL(w.attaches, before);
    world_kill(&w, 0);
    w.option = "--accept-rollback";
    world_start(&w, 0);
    w.keeps_ends = true;
    WORLD_UNTIL(&w, w.attaches > before && w.listed);
    CU_ASSERT_TRUE(world_count_processes(&w) > 0);
    w.keeps_ends = false;
    world_release(&w, epoch, TF_RELEASE_ORPHAN);
    WORLD_UNTIL(&w, world_end_of(&w, epoch) != TF_END_NONE);
    world_end_clean(&w);
}

/* ---- as a command ---- */

/* The exit code; what it said is in text. */
static int run_program(const char *first, const char *second, char *text, size_t size)
{
    const char *argv[] = {world_program(), first, second, NULL};
    TF_AUTO_FREE char *log = tf_asprintf("/tmp/tidefed-subclusterd-%d.out", (int)getpid());
    int status = test_process_wait(test_process_start(argv, log, NULL, NULL));
    FILE *file = fopen(log, "re");
    size_t n = file ? fread(text, 1, size - 1, file) : 0;
    text[n] = '\0';
    if (file)
        fclose(file);
    unlink(log);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_command(void)
{
    static char text[65536];
    CU_ASSERT_EQUAL(run_program("--version", NULL, text, sizeof text), 0);
    CU_ASSERT_TRUE(tf_starts_with(text, "subclusterd "));
    CU_ASSERT_EQUAL(run_program("--print-config-reference", NULL, text, sizeof text), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "stateDir"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "leaseTtl"));
    CU_ASSERT_NOT_EQUAL(run_program(NULL, NULL, text, sizeof text), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "--config FILE"));
    CU_ASSERT_NOT_EQUAL(run_program("--nonsense", NULL, text, sizeof text), 0);
    CU_ASSERT_EQUAL(run_program("--config", "/no/such/file", text, sizeof text), 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "/no/such/file"));
    CU_ASSERT_EQUAL(run_program("--config", "deploy/quickstart.sh", text, sizeof text), 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "deploy/quickstart.sh:"));
}

int main(void)
{
    static const struct suite_test tests[] = {
        {"place, run, report, end, forget", test_life},
        {"what an instance sees", test_inside},
        {"release", test_release},
        {"failures and retries", test_retries},
        {"what cannot be started", test_refusals},
        {"a node lost and back", test_node_lost},
        {"cordons", test_cordons},
        {"the question about nodes", test_nodes},
        {"output", test_output},
        {"output, followed", test_follow},
        {"cut and garbled streams", test_cut},
        {"ends are told until they are stored", test_ends_are_kept},
        {"follows the leader that another names", test_follows_the_leader},
        {"SIGTERM leaves instances alone", test_terminate},
        {"SIGTERM while the store is away", test_terminate_without_store},
        {"a record that cannot be read", test_quarantine},
        {"an engine without its memory", test_lost_memory},
        {"an engine with a new memory", test_new_memory},
        {"no shim", test_no_shim},
        {"a store that was rolled back", test_rollback},
        {"as a command", test_command},
    };
    tf_signals_block();
    if (!test_etcd_available())
        return 0;
    int result = suite_run("subclusterd", tests, TF_ARRAY_LEN(tests));
    if (w.dir)
        world_end(&w);
    return result;
}
