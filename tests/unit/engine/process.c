/* SPDX-License-Identifier: Apache-2.0 */
/* The process engine through its face, with real processes: what other engines need not do alike (contract.c
 * has the rest). */
#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "subcluster/engine/logs.h"
#include "subcluster/engine/state/folder.h"
#include "subcluster/engine/state/proc.h"
#include "tests/support/orphans.h"
#include "tests/support/suite.h"
#include "tests/unit/engine/fixture.h"

#include <signal.h>
#include <unistd.h>

/* Its end is its own word, and the last of its output is kept. */
static void test_life(void)
{
    struct fixture f;
    fixture_open(&f);
    fixture_start(&f, 10, 3,
                  "trap 'exit 4' TERM; echo hello; echo life >>RAN; while :; do sleep 1000 & wait; done");
    fixture_wait(&f, 3, TF_INSTANCE_READY);
    fixture_wait_lines(&f, "RAN", 1);
    fixture_stop(&f, 10, 3, 60 * TF_SECOND);
    const struct station_event *e = fixture_wait(&f, 3, TF_INSTANCE_EXITED);
    CU_ASSERT_EQUAL(e->event.cause, TF_CAUSE_STOPPED);
    CU_ASSERT_EQUAL(e->event.exit_code, 4);
    CU_ASSERT_PTR_NOT_NULL(strstr(e->text, "hello"));
    CU_ASSERT_EQUAL(fixture_lines(&f, "RAN"), 1);
    fixture_close(&f);
}

static bool is_dead(void *context)
{
    return !tf_shim_lives(context);
}

static void test_adoption(void)
{
    struct fixture f;
    fixture_open(&f);
    fixture_start(&f, 10, 0, "echo life >>RAN; exec sleep 1000");
    fixture_start(&f, 10, 1, "echo life >>RAN; exit 6");
    fixture_start(&f, 10, 2, "echo life >>RAN; exec sleep 1000");
    fixture_wait(&f, 0, TF_INSTANCE_READY);
    fixture_wait(&f, 1, TF_INSTANCE_EXITED);
    const struct station_event *e = fixture_wait(&f, 2, TF_INSTANCE_READY);
    struct tf_shim_record shim;
    struct tf_instance_id id = e->event.id;
    fixture_wait_lines(&f, "RAN", 3);
    int root = tf_root_open(f.state, NULL), folder = tf_instance_open(root, &id, false, NULL);
    CU_ASSERT_EQUAL_FATAL(tf_shim_record_load(folder, &shim, NULL), 0);
    close(folder);
    close(root);
    station_close(&f.s);
    CU_ASSERT_EQUAL(kill(shim.pid, SIGKILL), 0); /* while no daemon is there */
    CU_ASSERT_TRUE(test_until(is_dead, &shim, 20));
    CU_ASSERT_TRUE_FATAL(station_open(&f.s));
    f.s.engine->adopt(f.s.engine, 11);
    CU_ASSERT_PTR_NOT_NULL_FATAL(station_wait(&f.s, TF_ENGINE_LISTED));
    /* all of it was told before the listing was complete */
    CU_ASSERT_EQUAL(f.s.events.items[f.s.events.count - 1].event.type, TF_ENGINE_LISTED);
    struct tf_instance_id ids[] = {fixture_id(&f, 0), fixture_id(&f, 1), fixture_id(&f, 2)};
    CU_ASSERT_PTR_NOT_NULL(station_has(&f.s, &ids[0], TF_INSTANCE_READY));
    e = station_has(&f.s, &ids[1], TF_INSTANCE_EXITED);
    CU_ASSERT_PTR_NOT_NULL_FATAL(e);
    CU_ASSERT_EQUAL(e->event.exit_code, 6);
    CU_ASSERT_STRING_EQUAL(e->job, "search/rank");
    e = station_has(&f.s, &ids[2], TF_INSTANCE_EXITED);
    CU_ASSERT_PTR_NOT_NULL_FATAL(e);
    CU_ASSERT_EQUAL(e->event.cause, TF_CAUSE_SHIM_DIED);
    tf_shim_record_release(&shim);
    for (uint32_t i = 0; i < 3; i++)
        fixture_start(&f, 11, i,
                      "echo life >>RAN; exec sleep 1000"); /* the new daemon repeats what its store says */
    fixture_stop(&f, 11, 0, 0);
    e = fixture_wait(&f, 0, TF_INSTANCE_EXITED);
    CU_ASSERT_EQUAL(e->event.cause, TF_CAUSE_STOPPED);
    CU_ASSERT_EQUAL(fixture_lines(&f, "RAN"), 3);
    fixture_close(&f);
}

static void test_root(void)
{
    struct fixture f;
    fixture_open(&f);
    f.s.config.allow_root = false;
    fixture_restart(&f, 11);
    fixture_start(&f, 11, 0, "exit 0");
    if (geteuid() == 0) {
        const struct station_event *e = fixture_wait(&f, 0, TF_INSTANCE_REFUSED);
        CU_ASSERT_EQUAL(e->event.refusal, TF_REFUSED_POLICY);
        CU_ASSERT_PTR_NOT_NULL(strstr(e->text, "allowRoot: true"));
    } else {
        fixture_wait(&f, 0, TF_INSTANCE_EXITED);
    }
    fixture_close(&f);
}

static void test_no_port_left(void)
{
    struct fixture f;
    struct tf_engine_spec spec;
    fixture_open(&f);
    f.s.config.port_low = f.s.config.port_high = 19873;
    fixture_restart(&f, 10);
    station_spec(&spec, f.uid, 0, "exec sleep 1000");
    tf_strs_add(&spec.ports, "http");
    f.s.engine->start(f.s.engine, 10, &spec);
    fixture_wait(&f, 0, TF_INSTANCE_READY);
    spec.id.index = 1;
    fixture_refused(&f, &spec, TF_REFUSED_RESOURCES, "port range");
    fixture_stop(&f, 10, 0, 0);
    fixture_wait(&f, 0, TF_INSTANCE_EXITED);
    tf_engine_spec_release(&spec);
    fixture_close(&f);
}

static pid_t shim_of(struct fixture *f, uint32_t index)
{
    struct tf_shim_record shim;
    struct tf_instance_id id = fixture_id(f, index);
    int root = tf_root_open(f->state, NULL), folder = tf_instance_open(root, &id, false, NULL);
    CU_ASSERT_EQUAL_FATAL(tf_shim_record_load(folder, &shim, NULL), 0);
    pid_t pid = shim.pid;
    tf_shim_record_release(&shim);
    close(folder);
    close(root);
    return pid;
}

static void test_shim_killed(void)
{
    struct fixture f;
    fixture_open(&f);
    fixture_start(&f, 10, 0, "setsid sleep 1000 & exec sleep 1000");
    fixture_wait(&f, 0, TF_INSTANCE_READY);
    kill(shim_of(&f, 0), SIGKILL);
    const struct station_event *e = fixture_wait(&f, 0, TF_INSTANCE_EXITED);
    CU_ASSERT_EQUAL(e->event.cause, TF_CAUSE_SHIM_DIED);
    fixture_close(&f);
}

/* A shim that cannot obey is overruled after the kill bound. */
static void test_shim_frozen(void)
{
    struct fixture f;
    fixture_open(&f);
    f.s.config.kill_bound = 200;
    fixture_restart(&f, 10);
    fixture_start(&f, 10, 0, "exec sleep 1000");
    fixture_wait(&f, 0, TF_INSTANCE_READY);
    kill(shim_of(&f, 0), SIGSTOP);
    fixture_stop(&f, 10, 0, 100);
    const struct station_event *e = fixture_wait(&f, 0, TF_INSTANCE_EXITED);
    CU_ASSERT_EQUAL(e->event.cause, TF_CAUSE_STOPPED);
    CU_ASSERT_EQUAL(e->event.exit_signal, SIGKILL);
    fixture_close(&f);
}

static void test_peers_fence_checkpoint(void)
{
    struct fixture f;
    struct tf_engine_spec spec;
    fixture_open(&f);
    f.s.engine->peers(f.s.engine, 10, f.uid, 7, "one\n", 4);
    f.s.engine->fence(f.s.engine, 10, f.uid, 7, tf_boottime_ms() + TF_HOUR);
    station_spec(&spec, f.uid, 0,
                 "cat $TIDEFED_PEERS_FILE >>PEERS; trap 'cat $TIDEFED_PEERS_FILE >>PEERS; "
                 "touch $TIDEFED_CHECKPOINT_FILE' USR1; echo up >UP; while :; do sleep 1000 & wait; done");
    spec.resize_signal = tf_strdup("SIGUSR1");
    f.s.engine->start(f.s.engine, 10, &spec);
    fixture_wait(&f, 0, TF_INSTANCE_READY);
    fixture_wait_lines(&f, "PEERS", 1);
    fixture_wait_lines(&f, "UP", 1);
    f.s.engine->peers(f.s.engine, 10, f.uid, 7, "two\n", 4);
    CU_ASSERT_PTR_NOT_NULL(station_wait(&f.s, TF_ENGINE_CHECKPOINT));
    CU_ASSERT_EQUAL(fixture_lines(&f, "PEERS"), 2);
    f.s.engine->fence(f.s.engine, 10, f.uid, 7, tf_boottime_ms() + 50); /* sooner */
    const struct station_event *e = fixture_wait(&f, 0, TF_INSTANCE_EXITED);
    CU_ASSERT_EQUAL(e->event.cause, TF_CAUSE_FENCED);
    tf_engine_spec_release(&spec);
    fixture_close(&f);
}

static void test_logs(void)
{
    struct fixture f;
    fixture_open(&f);
    f.s.config.output_limit = 4096;
    fixture_restart(&f, 10);
    fixture_start(&f, 10, 0, "i=0; while [ $i -lt 2000 ]; do i=$((i+1)); echo line $i; done; echo oops >&2");
    fixture_wait(&f, 0, TF_INSTANCE_STARTING);
    struct tf_instance_id id = fixture_id(&f, 0);
    struct tf_error err = TF_ERROR_INIT;
    struct tf_instance_log *log = tf_instance_log_open(f.state, &id, TF_STREAM_OUT, -1, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(log);
    TF_AUTO_BUF all = TF_BUF_INIT;
    for (bool gap, ended = false;;) { /* follows until the end */
        char bytes[1000];
        ended = tf_instance_log_ended(log);
        ssize_t n = tf_instance_log_read(log, bytes, sizeof bytes, &gap, &err);
        CU_ASSERT_TRUE_FATAL(n >= 0);
        if (gap)
            tf_buf_clear(&all);
        tf_buf_add(&all, bytes, (size_t)n);
        if (n == 0 && ended)
            break;
        if (n == 0)
            tf_loop_turn(f.s.loop, 1);
    }
    tf_instance_log_close(log);
    CU_ASSERT_PTR_NOT_NULL(strstr(tf_buf_text(&all), "line 1999\nline 2000\n"));
    log = tf_instance_log_open(f.state, &id, TF_STREAM_OUT, 25, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(log);
    char tail[100];
    bool gap;
    ssize_t n = tf_instance_log_read(log, tail, sizeof tail - 1, &gap, &err);
    CU_ASSERT_EQUAL(n, 20);
    tail[n > 0 ? n : 0] = '\0';
    CU_ASSERT_STRING_EQUAL(tail, "line 1999\nline 2000\n");
    CU_ASSERT_FALSE(gap);
    tf_instance_log_close(log);
    id.index = 9;
    CU_ASSERT_PTR_NULL(tf_instance_log_open(f.state, &id, TF_STREAM_ERR, -1, &err));
    CU_ASSERT_EQUAL(err.code, TF_ERR_NOT_FOUND);
    fixture_wait(&f, 0, TF_INSTANCE_EXITED);
    fixture_close(&f);
}

static void test_bad_configuration(void)
{
    struct station s;
    struct tf_error err = TF_ERROR_INIT;
    station_config(&s, STATION_PROCESS, "relative");
    CU_ASSERT_PTR_NULL(tf_process_engine_create(&s.config, NULL, NULL, NULL, &err));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "absolute"));
    tf_str_set(&s.config.state_dir, "/tmp/x");
    tf_str_set(&s.config.shim, "/nowhere/tidefed-shim");
    CU_ASSERT_PTR_NULL(tf_process_engine_create(&s.config, NULL, NULL, NULL, &err));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "/nowhere/tidefed-shim"));
    tf_str_set(&s.config.shim, TF_TEST_SHIM);
    tf_str_set(&s.config.nodes.items[1].name, "a");
    CU_ASSERT_PTR_NULL(tf_process_engine_create(&s.config, NULL, NULL, NULL, &err));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "two nodes"));
    station_release(&s);
}

int main(void)
{
    static const struct suite_test tests[] = {
        {"life", test_life},
        {"adoption", test_adoption},
        {"root", test_root},
        {"no port left", test_no_port_left},
        {"shim killed", test_shim_killed},
        {"shim frozen", test_shim_frozen},
        {"peers, fence, checkpoint", test_peers_fence_checkpoint},
        {"logs", test_logs},
        {"bad configuration", test_bad_configuration},
    };
    return suite_run("process engine", tests, TF_ARRAY_LEN(tests));
}
