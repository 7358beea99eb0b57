/* SPDX-License-Identifier: Apache-2.0 */
/* The virtual engine: what it invents, and how its memory bears what happens to files (contract.c has what
 * every engine promises). */
#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "subcluster/engine/state/folder.h"
#include "subcluster/engine/state/proc.h"
#include "tests/support/suite.h"
#include "tests/unit/engine/fixture.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

static void turn(struct fixture *f, int64_t ms)
{
    int64_t end = tf_boottime_ms() + ms;
    while (tf_boottime_ms() < end)
        tf_loop_turn(f->s.loop, 2);
}

/* The next daemon, after what was done to the memory while there was none. */
static void reopen(struct fixture *f)
{
    CU_ASSERT_TRUE_FATAL(station_open(&f->s));
    f->s.engine->adopt(f->s.engine, 11);
    CU_ASSERT_PTR_NOT_NULL_FATAL(station_wait(&f->s, TF_ENGINE_LISTED));
}

static void start_for(struct fixture *f, uint32_t index, const char *node, uint64_t gpus, const char *run)
{
    struct tf_engine_spec spec;
    station_spec(&spec, f->uid, index, "exec sleep 1000");
    tf_str_set(&spec.node, node);
    tf_pairs_set(&spec.env, "VIRTUAL_RUN", run);
    spec.gpus = gpus;
    f->s.engine->start(f->s.engine, 10, &spec);
    tf_engine_spec_release(&spec);
}

/* An instance comes to its end by the clock, whether a daemon is there or not. */
static void test_ends_without_a_daemon(void)
{
    struct fixture f;
    fixture_open(&f);
    start_for(&f, 0, "a", 1, "100ms");
    start_for(&f, 1, "a", 2, "1h");
    fixture_wait(&f, 0, TF_INSTANCE_READY);
    fixture_wait(&f, 1, TF_INSTANCE_READY);
    station_close(&f.s);
    usleep(150 * 1000);
    reopen(&f);
    const struct tf_instance_id ids[] = {fixture_id(&f, 0), fixture_id(&f, 1)};
    const struct station_event *e = station_has(&f.s, &ids[0], TF_INSTANCE_EXITED);
    CU_ASSERT_PTR_NOT_NULL_FATAL(e);
    CU_ASSERT_EQUAL(e->event.cause, TF_CAUSE_ENDED);
    CU_ASSERT_EQUAL(e->event.exit_code, 0);
    CU_ASSERT_PTR_NOT_NULL(station_has(&f.s, &ids[1], TF_INSTANCE_READY));
    fixture_close(&f);
}

static void test_sleeps(void)
{
    struct fixture f;
    struct tf_engine_spec spec;
    fixture_open(&f);
    station_spec(&spec, f.uid, 0, "sleep 1000");
    tf_strs_release(&spec.command);
    tf_strs_add(&spec.command, "sleep");
    tf_strs_add(&spec.command, "0");
    tf_pairs_set(&spec.env, "VIRTUAL_EXIT", "7");
    f.s.engine->start(f.s.engine, 10, &spec);
    CU_ASSERT_EQUAL(fixture_wait(&f, 0, TF_INSTANCE_EXITED)->event.exit_code, 7);
    tf_engine_spec_release(&spec);
    fixture_close(&f);
}

/* Which attempts fail is settled by the seed. */
static void failures(uint64_t seed, struct tf_uid uid, bool failed[40])
{
    struct fixture f;
    fixture_open(&f);
    f.uid = uid;
    f.s.invented.seed = seed;
    f.s.invented.fail = 5000;
    fixture_restart(&f, 10);
    for (uint32_t i = 0; i < 40; i++)
        start_for(&f, i, "a", 0, "10ms");
    for (uint32_t i = 0; i < 40; i++)
        failed[i] = fixture_wait(&f, i, TF_INSTANCE_EXITED)->event.exit_code == 1;
    fixture_close(&f);
}

static void test_failures(void)
{
    bool first[40], again[40], other[40];
    const struct tf_uid uid = {{1, 2, 3}};
    int count = 0;
    failures(5, uid, first);
    failures(5, uid, again);
    failures(6, uid, other);
    for (int i = 0; i < 40; i++)
        count += first[i];
    CU_ASSERT_TRUE(count > 5 && count < 35);
    CU_ASSERT_EQUAL(memcmp(first, again, sizeof first), 0);
    CU_ASSERT_NOT_EQUAL(memcmp(first, other, sizeof first), 0);
}

/* A stop that takes longer than the grace ends in a kill. */
static void test_deaf(void)
{
    struct fixture f;
    fixture_open(&f);
    f.s.invented.stop_min = f.s.invented.stop_max = TF_HOUR;
    fixture_restart(&f, 10);
    start_for(&f, 0, "a", 1, "1h");
    fixture_wait(&f, 0, TF_INSTANCE_READY);
    fixture_stop(&f, 10, 0, 30);
    CU_ASSERT_EQUAL(fixture_wait(&f, 0, TF_INSTANCE_EXITED)->event.exit_signal, SIGKILL);
    start_for(&f, 1, "a", 1, "1h");
    fixture_stop(&f, 10, 1, TF_HOUR);
    fixture_stop(&f, 10, 1, 0); /* hastens */
    fixture_stop(&f, 10, 1, TF_HOUR);
    CU_ASSERT_EQUAL(fixture_wait(&f, 1, TF_INSTANCE_EXITED)->event.exit_signal, SIGKILL);
    fixture_close(&f);
}

/* Of a node that is away nothing is heard; what happened there is told when it is back, before it is ready.
 */
static void test_away(void)
{
    struct fixture f;
    fixture_open(&f);
    start_for(&f, 0, "a", 1, "100ms");
    start_for(&f, 1, "a", 2, "1h");
    fixture_wait(&f, 0, TF_INSTANCE_READY);
    fixture_wait(&f, 1, TF_INSTANCE_READY);
    station_clear(&f.s);
    fixture_sign(&f, "away", true);
    CU_ASSERT_PTR_NOT_NULL(station_wait_node(&f.s, "a", TF_NODE_UNREACHABLE));
    start_for(&f, 2, "a", 4, "1h");
    CU_ASSERT_EQUAL(fixture_wait(&f, 2, TF_INSTANCE_REFUSED)->event.refusal, TF_REFUSED_NODE);
    fixture_stop(&f, 10, 1, 0);
    turn(&f, 200);
    CU_ASSERT_EQUAL(station_count(&f.s, TF_INSTANCE_EXITED), 0);
    fixture_restart(&f, 11); /* the next daemon hears no more */
    CU_ASSERT_EQUAL(station_count(&f.s, TF_INSTANCE_EXITED), 0);
    CU_ASSERT_PTR_NOT_NULL(station_wait_node(&f.s, "a", TF_NODE_UNREACHABLE));
    station_clear(&f.s);
    fixture_sign(&f, "away", false);
    CU_ASSERT_PTR_NOT_NULL(station_wait_node(&f.s, "a", TF_NODE_READY));
    const struct tf_instance_id ids[] = {fixture_id(&f, 0), fixture_id(&f, 1)};
    const struct station_event *e = station_has(&f.s, &ids[0], TF_INSTANCE_EXITED);
    CU_ASSERT_PTR_NOT_NULL_FATAL(e);
    CU_ASSERT_EQUAL(e->event.cause, TF_CAUSE_ENDED);
    e = station_has(&f.s, &ids[1], TF_INSTANCE_EXITED);
    CU_ASSERT_PTR_NOT_NULL_FATAL(e);
    CU_ASSERT_EQUAL(e->event.cause, TF_CAUSE_STOPPED);
    fixture_close(&f);
}

/* The union of what others used, over all node events of the name; false if they ever used one of `held`. */
static bool foreign_of(struct fixture *f, const char *node, uint64_t held, uint64_t *used)
{
    bool apart = true;
    *used = 0;
    tf_vec_each (e, &f->s.events) {
        if (e->event.type != TF_ENGINE_NODE || !tf_str_eq(e->node, node))
            continue;
        *used |= e->foreign;
        apart &= (e->foreign & held) == 0;
    }
    return apart;
}

static void test_foreign(void)
{
    struct fixture f;
    uint64_t used;
    fixture_open(&f);
    start_for(&f, 0, "b", 0x3, "1h");
    fixture_wait(&f, 0, TF_INSTANCE_READY);
    f.s.invented.foreign = 8000;
    f.s.invented.foreign_stay = 20;
    fixture_restart(&f, 10);
    turn(&f, 600);
    CU_ASSERT_TRUE(foreign_of(&f, "b", 0x3, &used));
    CU_ASSERT_EQUAL(used, 0xc);
    f.s.invented.foreign = 9000;
    f.s.invented.foreign_stay = TF_HOUR;
    used = 0;
    for (int i = 0; i < 50 && !used; i++) { /* somebody is there nine times in ten */
        f.s.invented.seed++;
        fixture_restart(&f, 10);
        foreign_of(&f, "b", 0, &used);
    }
    start_for(&f, 1, "b", used & (~used + 1), "1h");
    CU_ASSERT_EQUAL(fixture_wait(&f, 1, TF_INSTANCE_REFUSED)->event.refusal, TF_REFUSED_RESOURCES);
    fixture_close(&f);
}

/* ---- resize signals ---- */

static void start_elastic(struct fixture *f, uint32_t index, const char *signal)
{
    struct tf_engine_spec spec;
    station_spec(&spec, f->uid, index, "exec sleep 1000");
    tf_str_set(&spec.resize_signal, signal);
    f->s.engine->start(f->s.engine, 10, &spec);
    tf_engine_spec_release(&spec);
    fixture_wait(f, index, TF_INSTANCE_READY);
}

static void give_peers(struct fixture *f, uint64_t owner, const char *content)
{
    f->s.engine->peers(f->s.engine, owner, f->uid, fixture_id(f, 0).epoch, content, strlen(content));
}

/* What an operator finds in the log: the last count of the instance; -1 = none. */
static long signals_of(const struct fixture *f, uint32_t index)
{
    char word[TF_INSTANCE_PATH + 32], path[TF_INSTANCE_PATH], line[400];
    const struct tf_instance_id id = fixture_id(f, index);
    long count = -1;
    tf_instance_path(&id, path);
    snprintf(word, sizeof word, "signals %s SIGUSR1 ", path);
    TF_AUTO_FREE char *name = tf_asprintf("%s/log", f->state);
    FILE *file = fopen(name, "re");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    while (fgets(line, sizeof line, file))
        if (tf_starts_with(line, word))
            count = strtol(line + strlen(word), NULL, 10);
    fclose(file);
    return count;
}

static void expect_signals(const struct fixture *f, long first, long second)
{
    CU_ASSERT_EQUAL(signals_of(f, 0), first);
    CU_ASSERT_EQUAL(signals_of(f, 1), second);
    CU_ASSERT_EQUAL(signals_of(f, 2), -1); /* it wants none */
}

/* Once for each change of the peers file, over the end of the daemon too; and none for the first file, the
 * same one again, or after the instance's end. */
static void test_resize_signals(void)
{
    struct fixture f;
    fixture_open(&f);
    give_peers(&f, 10, "0 1 2");
    start_elastic(&f, 0, "SIGUSR1");
    start_elastic(&f, 1, "SIGUSR1");
    start_elastic(&f, 2, NULL);
    give_peers(&f, 10, "0 1 2");
    expect_signals(&f, 0, 0);
    give_peers(&f, 10, "0 1 2 3");
    expect_signals(&f, 1, 1);
    fixture_restart(&f, 11);
    give_peers(&f, 11, "0 1 2 3"); /* repeated by the next daemon */
    give_peers(&f, 10, "nothing"); /* of one who was deposed */
    expect_signals(&f, 1, 1);
    fixture_stop(&f, 11, 1, 0);
    fixture_wait(&f, 1, TF_INSTANCE_EXITED);
    give_peers(&f, 11, "0 2");
    expect_signals(&f, 2, 1);
    fixture_restart(&f, 12);
    give_peers(&f, 12, "0 2 4");
    expect_signals(&f, 3, 1);
    fixture_close(&f);
}

/* ---- the memory ---- */

static char *log_path(const struct fixture *f)
{
    return tf_asprintf("%s/log", f->state);
}

static void append(const struct fixture *f, const char *text)
{
    TF_AUTO_FREE char *path = log_path(f);
    FILE *file = fopen(path, "ae");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fputs(text, file);
    CU_ASSERT_EQUAL(fclose(file), 0);
}

static void test_torn(void)
{
    struct fixture f;
    fixture_open(&f);
    start_for(&f, 0, "a", 1, "1h");
    fixture_wait(&f, 0, TF_INSTANCE_READY);
    station_close(&f.s);
    append(&f, "exit 01"); /* the daemon was killed in the middle of a line */
    reopen(&f);
    const struct tf_instance_id id = fixture_id(&f, 0);
    CU_ASSERT_PTR_NOT_NULL(station_has(&f.s, &id, TF_INSTANCE_READY));
    fixture_restart(&f, 12);
    fixture_close(&f);
}

static void test_broken(void)
{
    static const char *const lines[] = {"nonsense\n",
                                        "exit x\n",
                                        "exit 00000000000000000000000000000000/1/0.1 ended\n",
                                        "start 00000000000000000000000000000000/1/0.1 a 1\n",
                                        "stop 00000000000000000000000000000000/1/0.1 5 9\n",
                                        "owner -4\n",
                                        "signals 00000000000000000000000000000000/1/0.1 SIGUSR1 1\n",
                                        "peers 00000000000000000000000000000000/1/0.1 x\n",
                                        "\n"};
    for (size_t i = 0; i < TF_ARRAY_LEN(lines); i++) {
        struct fixture f;
        fixture_open(&f);
        station_close(&f.s);
        append(&f, lines[i]);
        CU_ASSERT_TRUE_FATAL(station_open(&f.s));
        f.s.engine->adopt(f.s.engine, 11); /* nothing may be concluded from it */
        const struct station_event *e = station_wait(&f.s, TF_ENGINE_UNKNOWN);
        CU_ASSERT_PTR_NOT_NULL_FATAL(e);
        CU_ASSERT_PTR_NOT_NULL(strstr(e->text, "line 4 of the log"));
        f.s.engine->initialise(f.s.engine, 11); /* unless somebody says that nothing was promised */
        CU_ASSERT_PTR_NOT_NULL(station_wait(&f.s, TF_ENGINE_LISTED));
        fixture_close(&f);
    }
}

/* As if the machine had been restarted: what ran is lost, what had ended is as it was. */
static void test_restarted_machine(void)
{
    struct fixture f;
    fixture_open(&f);
    start_for(&f, 0, "a", 1, "1h");
    start_for(&f, 1, "a", 1, "0s");
    fixture_wait(&f, 0, TF_INSTANCE_READY);
    fixture_wait(&f, 1, TF_INSTANCE_EXITED);
    station_close(&f.s);
    append(&f, "boot another\n");
    reopen(&f);
    CU_ASSERT_EQUAL(fixture_wait(&f, 0, TF_INSTANCE_EXITED)->event.cause, TF_CAUSE_REBOOTED);
    CU_ASSERT_EQUAL(fixture_wait(&f, 1, TF_INSTANCE_EXITED)->event.cause, TF_CAUSE_ENDED);
    fixture_close(&f);
}

/* The past does not pile up. */
static void test_log_stays_small(void)
{
    struct fixture f;
    struct stat st;
    fixture_open(&f);
    for (uint64_t epoch = 1; epoch <= 20000; epoch++) {
        const struct tf_instance_id id = {f.uid, epoch, 0, 1};
        f.s.engine->stop(f.s.engine, 10, &id, 0, 0); /* leaves an exit record */
        f.s.engine->forget(f.s.engine, 10, f.uid, epoch);
        if (epoch % 1000 == 0) {
            tf_loop_turn(f.s.loop, 0);
            station_clear(&f.s);
        }
    }
    TF_AUTO_FREE char *path = log_path(&f);
    CU_ASSERT_EQUAL(stat(path, &st), 0);
    CU_ASSERT_TRUE(st.st_size < 2 << 20);
    fixture_restart(&f, 11);
    CU_ASSERT_EQUAL(station_count(&f.s, TF_INSTANCE_EXITED), 0);
    fixture_close(&f);
}

static void test_log_removed(void)
{
    struct fixture f;
    fixture_open(&f);
    TF_AUTO_FREE char *path = log_path(&f);
    CU_ASSERT_EQUAL(unlink(path), 0);
    start_for(&f, 0, "a", 1, "1h");
    CU_ASSERT_PTR_NOT_NULL(station_wait(&f.s, TF_ENGINE_TROUBLE));
    CU_ASSERT_EQUAL(station_count(&f.s, TF_INSTANCE_STARTING), 0);
    fixture_close(&f);
}

/* A fleet as large as a daemon may have, and all of it in use. */
static void test_fleet(void)
{
    enum { NODES = 12500, EACH = 2 };
    struct fixture f;
    fixture_open(&f);
    for (int i = 0; i < NODES; i++) {
        struct tf_node *node = tf_vec_add(&f.s.invented.nodes);
        tf_node_copy(node, &f.s.invented.nodes.items[0]);
        free(node->name);
        node->name = tf_asprintf("n%d", i);
    }
    fixture_restart(&f, 10);
    for (uint32_t i = 0; i < NODES * EACH; i++) {
        char name[32];
        snprintf(name, sizeof name, "n%u", i / EACH);
        start_for(&f, i, name, UINT64_C(1) << i % EACH, "1h");
    }
    fixture_restart(&f, 11);
    CU_ASSERT_EQUAL(station_count(&f.s, TF_INSTANCE_READY) + station_count(&f.s, TF_INSTANCE_STARTING),
                    NODES * EACH);
    fixture_close(&f);
}

static void test_bad_configuration(void)
{
    struct station s;
    struct tf_error err = TF_ERROR_INIT;
    station_config(&s, STATION_VIRTUAL, "relative");
    CU_ASSERT_PTR_NULL(tf_virtual_engine_create(&s.invented, NULL, NULL, NULL, &err));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "absolute"));
    tf_str_set(&s.invented.state_dir, "/tmp/x");
    s.invented.start_max = 0;
    CU_ASSERT_PTR_NULL(tf_virtual_engine_create(&s.invented, NULL, NULL, NULL, &err));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "least above the most"));
    s.invented.start_max = 20;
    s.invented.fail = 10001;
    CU_ASSERT_PTR_NULL(tf_virtual_engine_create(&s.invented, NULL, NULL, NULL, &err));
    s.invented.fail = 0;
    tf_str_set(&s.invented.nodes.items[1].name, "a");
    s.loop = tf_loop_create(&err);
    CU_ASSERT_PTR_NULL(tf_virtual_engine_create(&s.invented, s.loop, NULL, NULL, &err));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "two nodes"));
    station_release(&s);
}

int main(void)
{
    static const struct suite_test tests[] = {
        {"ends without a daemon", test_ends_without_a_daemon},
        {"sleeps", test_sleeps},
        {"failures", test_failures},
        {"deaf", test_deaf},
        {"away", test_away},
        {"foreign", test_foreign},
        {"resize signals are counted", test_resize_signals},
        {"a torn last line", test_torn},
        {"a broken line", test_broken},
        {"a restarted machine", test_restarted_machine},
        {"the log stays small", test_log_stays_small},
        {"the log is removed", test_log_removed},
        {"fleet", test_fleet},
        {"bad configuration", test_bad_configuration},
    };
    fixture_kind = STATION_VIRTUAL;
    return suite_run("virtual engine", tests, TF_ARRAY_LEN(tests));
}
