/* SPDX-License-Identifier: Apache-2.0 */
/* The process engine through its face, with real processes. */
#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "subcluster/engine/logs.h"
#include "subcluster/engine/state/folder.h"
#include "subcluster/engine/state/proc.h"
#include "tests/support/orphans.h"
#include "tests/support/suite.h"
#include "tests/unit/engine/station.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

struct fixture {
    char dir[64];
    char state[80]; /* does not exist yet */
    struct station s;
    struct tf_uid uid;
};

/* An engine that has listed its (empty) memory; owner revision 10. */
static void open_fixture(struct fixture *f)
{
    process_adopt_orphans();
    CU_ASSERT_TRUE_FATAL(process_make_folder(f->dir));
    snprintf(f->state, sizeof f->state, "%s/deep/state", f->dir);
    f->uid = station_uid();
    station_config(&f->s, f->state);
    tf_str_set(&f->s.config.work_dir, f->dir);
    CU_ASSERT_TRUE_FATAL(station_open(&f->s));
    f->s.engine->initialise(f->s.engine, 10);
    CU_ASSERT_PTR_NOT_NULL_FATAL(station_wait(&f->s, TF_ENGINE_LISTED));
}

static void close_fixture(struct fixture *f)
{
    station_release(&f->s);
    CU_ASSERT_TRUE(process_children_end(5));
    CU_ASSERT_EQUAL(process_end_children(5), 0);
    process_remove_folder(f->dir);
}

/* The daemon is replaced by another one of the next owner revision. */
static void restart(struct fixture *f, uint64_t owner)
{
    station_close(&f->s);
    CU_ASSERT_TRUE_FATAL(station_open(&f->s));
    f->s.engine->adopt(f->s.engine, owner);
    CU_ASSERT_PTR_NOT_NULL_FATAL(station_wait(&f->s, TF_ENGINE_LISTED));
}

static void start(struct fixture *f, uint64_t owner, uint32_t index, const char *script)
{
    struct tf_engine_spec spec;
    station_spec(&spec, f->uid, index, script);
    f->s.engine->start(f->s.engine, owner, &spec);
    tf_engine_spec_release(&spec);
}

static struct tf_instance_id id_of(const struct fixture *f, uint32_t index)
{
    return (struct tf_instance_id){f->uid, 7, index, 1};
}

static void stop(struct fixture *f, uint64_t owner, uint32_t index, int64_t grace)
{
    struct tf_instance_id id = id_of(f, index);
    f->s.engine->stop(f->s.engine, owner, &id, 0, grace);
}

static const struct station_event *wait_state(struct fixture *f, uint32_t index, enum tf_instance_state state)
{
    struct tf_instance_id id = id_of(f, index);
    const struct station_event *e = station_wait_state(&f->s, &id, state);
    CU_ASSERT_PTR_NOT_NULL_FATAL(e);
    return e;
}

static size_t lines_of(const struct fixture *f, const char *name)
{
    char path[200], line[200];
    size_t n = 0;
    snprintf(path, sizeof path, "%s/%s", f->dir, name);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        n++;
    if (file)
        fclose(file);
    return n;
}

/* A command is ready when it has begun; what it does first may come later. */
static void wait_lines(struct fixture *f, const char *name, size_t count)
{
    int64_t end = tf_boottime_ms() + TF_MINUTE;
    while (lines_of(f, name) < count && tf_boottime_ms() < end)
        tf_loop_turn(f->s.loop, 2);
    CU_ASSERT_EQUAL_FATAL(lines_of(f, name), count);
}

static void test_unknown_until_initialised(void)
{
    struct fixture f;
    process_adopt_orphans();
    CU_ASSERT_TRUE_FATAL(process_make_folder(f.dir));
    station_config(&f.s, f.dir);
    CU_ASSERT_TRUE_FATAL(station_open(&f.s));
    f.s.engine->adopt(f.s.engine, 10); /* the folder is there, the marker is not: not "empty" */
    CU_ASSERT_PTR_NOT_NULL(station_wait(&f.s, TF_ENGINE_UNKNOWN));
    station_clear(&f.s);
    f.s.engine->initialise(f.s.engine, 10);
    const struct station_event *e = station_wait(&f.s, TF_ENGINE_LISTED);
    CU_ASSERT_PTR_NOT_NULL_FATAL(e);
    struct tf_uid memory = e->event.memory;
    CU_ASSERT_FALSE(tf_uid_is_none(memory));
    CU_ASSERT_PTR_NOT_NULL(station_wait_node(&f.s, "a", TF_NODE_READY));
    CU_ASSERT_PTR_NOT_NULL(station_wait_node(&f.s, "b", TF_NODE_READY));
    station_clear(&f.s);
    f.s.engine->initialise(f.s.engine, 11); /* again: the same memory */
    e = station_wait(&f.s, TF_ENGINE_LISTED);
    CU_ASSERT_PTR_NOT_NULL_FATAL(e);
    CU_ASSERT_TRUE(tf_uid_eq(e->event.memory, memory));
    close_fixture(&f);
}

static void test_life(void)
{
    struct fixture f;
    open_fixture(&f);
    struct tf_engine_spec spec;
    station_spec(&spec, f.uid, 3,
                 "trap 'exit 4' TERM; echo hello; echo life >>RAN; while :; do sleep 1000 & wait; done");
    tf_strs_add(&spec.ports, "http");
    f.s.engine->start(f.s.engine, 10, &spec);
    wait_state(&f, 3, TF_INSTANCE_STARTING);
    const struct station_event *e = wait_state(&f, 3, TF_INSTANCE_READY);
    CU_ASSERT_EQUAL(e->event.port_count, 1);
    CU_ASSERT_STRING_EQUAL(e->ports[0].name, "http");
    CU_ASSERT_TRUE(e->ports[0].port >= 20000);
    CU_ASSERT_STRING_EQUAL(e->node, "a");
    CU_ASSERT_STRING_EQUAL(e->job, "search/rank");
    CU_ASSERT_EQUAL(e->event.gpus, 1);
    station_clear(&f.s);
    f.s.engine->start(f.s.engine, 10, &spec); /* again: its state is told, nothing is started */
    wait_state(&f, 3, TF_INSTANCE_READY);
    struct tf_instance_id id = id_of(&f, 3);
    CU_ASSERT_PTR_NULL(station_has(&f.s, &id, TF_INSTANCE_STARTING));
    f.s.engine->forget(f.s.engine, 10, f.uid, 7); /* not while it runs */
    e = wait_state(&f, 3, TF_INSTANCE_REFUSED);
    CU_ASSERT_EQUAL(e->event.refusal, TF_REFUSED_RUNNING);
    wait_lines(&f, "RAN", 1);
    stop(&f, 10, 3, 60 * TF_SECOND);
    e = wait_state(&f, 3, TF_INSTANCE_EXITED);
    CU_ASSERT_EQUAL(e->event.cause, TF_CAUSE_STOPPED);
    CU_ASSERT_EQUAL(e->event.exit_code, 4);
    CU_ASSERT_PTR_NOT_NULL(strstr(e->text, "hello"));
    station_clear(&f.s);
    f.s.engine->start(f.s.engine, 10, &spec); /* after its end */
    wait_state(&f, 3, TF_INSTANCE_EXITED);
    CU_ASSERT_EQUAL(lines_of(&f, "RAN"), 1);
    f.s.engine->forget(f.s.engine, 10, f.uid, 7);
    wait_state(&f, 3, TF_INSTANCE_GONE);
    tf_engine_spec_release(&spec);
    restart(&f, 10);
    CU_ASSERT_EQUAL(station_count(&f.s, TF_INSTANCE_EXITED), 0);
    close_fixture(&f);
}

static bool is_dead(void *context)
{
    return !tf_shim_lives(context);
}

static void test_adoption(void)
{
    struct fixture f;
    open_fixture(&f);
    start(&f, 10, 0, "echo life >>RAN; exec sleep 1000");
    start(&f, 10, 1, "echo life >>RAN; exit 6");
    start(&f, 10, 2, "echo life >>RAN; exec sleep 1000");
    wait_state(&f, 0, TF_INSTANCE_READY);
    wait_state(&f, 1, TF_INSTANCE_EXITED);
    const struct station_event *e = wait_state(&f, 2, TF_INSTANCE_READY);
    struct tf_shim_record shim;
    struct tf_instance_id id = e->event.id;
    wait_lines(&f, "RAN", 3);
    int root = tf_root_open(f.state, NULL), folder = tf_instance_open(root, &id, false, NULL);
    CU_ASSERT_EQUAL_FATAL(tf_shim_record_load(folder, &shim, NULL), 0);
    close(folder);
    close(root);
    station_close(&f.s);
    CU_ASSERT_EQUAL(kill(shim.pid, SIGKILL), 0); /* while no daemon is there */
    CU_ASSERT_TRUE(process_until(is_dead, &shim, 20));
    CU_ASSERT_TRUE_FATAL(station_open(&f.s));
    f.s.engine->adopt(f.s.engine, 11);
    CU_ASSERT_PTR_NOT_NULL_FATAL(station_wait(&f.s, TF_ENGINE_LISTED));
    /* all of it was told before the listing was complete */
    CU_ASSERT_EQUAL(f.s.events.items[f.s.events.count - 1].event.type, TF_ENGINE_LISTED);
    struct tf_instance_id ids[] = {id_of(&f, 0), id_of(&f, 1), id_of(&f, 2)};
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
        start(&f, 11, i, "echo life >>RAN; exec sleep 1000"); /* the new daemon repeats what its store says */
    stop(&f, 11, 0, 0);
    e = wait_state(&f, 0, TF_INSTANCE_EXITED);
    CU_ASSERT_EQUAL(e->event.cause, TF_CAUSE_STOPPED);
    CU_ASSERT_EQUAL(lines_of(&f, "RAN"), 3);
    close_fixture(&f);
}

static void test_stop_before_start(void)
{
    struct fixture f;
    open_fixture(&f);
    stop(&f, 10, 5, 1000);
    const struct station_event *e = wait_state(&f, 5, TF_INSTANCE_EXITED);
    CU_ASSERT_EQUAL(e->event.cause, TF_CAUSE_NEVER_STARTED);
    station_clear(&f.s);
    start(&f, 10, 5, "echo life >>RAN");
    wait_state(&f, 5, TF_INSTANCE_EXITED);
    start(&f, 10, 6, "echo life >>RAN; exec sleep 1000"); /* and one right behind the start */
    stop(&f, 10, 6, 0);
    e = wait_state(&f, 6, TF_INSTANCE_EXITED);
    CU_ASSERT_TRUE(e->event.cause == TF_CAUSE_NEVER_STARTED || e->event.cause == TF_CAUSE_STOPPED);
    CU_ASSERT_TRUE(lines_of(&f, "RAN") <= 1);
    close_fixture(&f);
}

static void test_deposed(void)
{
    struct fixture f;
    open_fixture(&f);
    struct station other;
    station_config(&other, f.state);
    CU_ASSERT_TRUE_FATAL(station_open(&other));
    other.engine->adopt(other.engine, 11);
    CU_ASSERT_PTR_NOT_NULL(station_wait(&other, TF_ENGINE_LISTED));
    start(&f, 10, 0, "echo life >>RAN");
    const struct station_event *e = station_wait(&f.s, TF_ENGINE_STALE);
    CU_ASSERT_PTR_NOT_NULL_FATAL(e);
    CU_ASSERT_EQUAL(e->event.owner, 11);
    stop(&f, 10, 1, 0);
    f.s.engine->fence(f.s.engine, 10, f.uid, 7, 5);
    restart(&f, 12);
    CU_ASSERT_EQUAL(station_count(&f.s, TF_INSTANCE_EXITED), 0);
    CU_ASSERT_EQUAL(lines_of(&f, "RAN"), 0);
    station_release(&other);
    close_fixture(&f);
}

static void test_root(void)
{
    struct fixture f;
    open_fixture(&f);
    f.s.config.allow_root = false;
    restart(&f, 11);
    start(&f, 11, 0, "exit 0");
    if (geteuid() == 0) {
        const struct station_event *e = wait_state(&f, 0, TF_INSTANCE_REFUSED);
        CU_ASSERT_EQUAL(e->event.refusal, TF_REFUSED_POLICY);
        CU_ASSERT_PTR_NOT_NULL(strstr(e->text, "allowRoot: true"));
    } else {
        wait_state(&f, 0, TF_INSTANCE_EXITED);
    }
    close_fixture(&f);
}

static void refuse(struct fixture *f, struct tf_engine_spec *spec, enum tf_engine_refusal why,
                   const char *word)
{
    station_clear(&f->s);
    f->s.engine->start(f->s.engine, 10, spec);
    const struct station_event *e = station_wait_state(&f->s, &spec->id, TF_INSTANCE_REFUSED);
    CU_ASSERT_PTR_NOT_NULL_FATAL(e);
    CU_ASSERT_EQUAL(e->event.refusal, why);
    CU_ASSERT_PTR_NOT_NULL(strstr(e->text, word));
}

static void test_refusals(void)
{
    struct fixture f;
    struct tf_engine_spec spec;
    open_fixture(&f);
    station_spec(&spec, f.uid, 0, "exit 0");
    tf_str_set(&spec.node, "../a");
    refuse(&f, &spec, TF_REFUSED_NODE, "../a");
    tf_str_set(&spec.node, "b");
    spec.gpus = 0x10;
    refuse(&f, &spec, TF_REFUSED_NODE, "it has 4");
    spec.gpus = 0;
    for (int i = 0; i < 17; i++)
        tf_strs_add(&spec.ports, "p");
    refuse(&f, &spec, TF_REFUSED_POLICY, "ports");
    tf_strs_release(&spec.ports);
    f.s.engine->start(f.s.engine, 10, &spec);
    const struct station_event *e = station_wait_state(&f.s, &spec.id, TF_INSTANCE_EXITED);
    CU_ASSERT_PTR_NOT_NULL_FATAL(e);
    CU_ASSERT_EQUAL(e->event.exit_code, 0);
    tf_engine_spec_release(&spec);
    close_fixture(&f);
}

static void test_no_port_left(void)
{
    struct fixture f;
    struct tf_engine_spec spec;
    open_fixture(&f);
    f.s.config.port_low = f.s.config.port_high = 19873;
    restart(&f, 10);
    station_spec(&spec, f.uid, 0, "exec sleep 1000");
    tf_strs_add(&spec.ports, "http");
    f.s.engine->start(f.s.engine, 10, &spec);
    wait_state(&f, 0, TF_INSTANCE_READY);
    spec.id.index = 1;
    refuse(&f, &spec, TF_REFUSED_RESOURCES, "port range");
    stop(&f, 10, 0, 0);
    wait_state(&f, 0, TF_INSTANCE_EXITED);
    tf_engine_spec_release(&spec);
    close_fixture(&f);
}

static void mark_down(struct fixture *f, bool down)
{
    char path[200];
    snprintf(path, sizeof path, "%s/down/a", f->state);
    int fd = down ? open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600) : -1;
    if (fd >= 0)
        close(fd);
    else
        unlink(path);
}

static void test_node_down(void)
{
    struct fixture f;
    open_fixture(&f);
    start(&f, 10, 0, "trap '' TERM; while :; do sleep 1000; done");
    wait_state(&f, 0, TF_INSTANCE_READY);
    station_clear(&f.s);
    mark_down(&f, true);
    const struct station_event *e = wait_state(&f, 0, TF_INSTANCE_EXITED);
    CU_ASSERT_EQUAL(e->event.cause, TF_CAUSE_NODE_LOST);
    CU_ASSERT_PTR_NOT_NULL(station_wait_node(&f.s, "a", TF_NODE_LOST));
    CU_ASSERT_EQUAL(f.s.events.items[f.s.events.count - 1].node_state, TF_NODE_LOST); /* after the end */
    start(&f, 10, 1, "exit 0");
    e = wait_state(&f, 1, TF_INSTANCE_REFUSED);
    CU_ASSERT_EQUAL(e->event.refusal, TF_REFUSED_NODE);
    restart(&f, 11);
    CU_ASSERT_PTR_NOT_NULL(station_wait_node(&f.s, "a", TF_NODE_LOST));
    CU_ASSERT_PTR_NOT_NULL(station_wait_node(&f.s, "b", TF_NODE_READY));
    station_clear(&f.s);
    mark_down(&f, false);
    CU_ASSERT_PTR_NOT_NULL(station_wait_node(&f.s, "a", TF_NODE_READY));
    start(&f, 11, 1, "exit 0");
    wait_state(&f, 1, TF_INSTANCE_EXITED);
    close_fixture(&f);
}

static pid_t shim_of(struct fixture *f, uint32_t index)
{
    struct tf_shim_record shim;
    struct tf_instance_id id = id_of(f, index);
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
    open_fixture(&f);
    start(&f, 10, 0, "setsid sleep 1000 & exec sleep 1000");
    wait_state(&f, 0, TF_INSTANCE_READY);
    kill(shim_of(&f, 0), SIGKILL);
    const struct station_event *e = wait_state(&f, 0, TF_INSTANCE_EXITED);
    CU_ASSERT_EQUAL(e->event.cause, TF_CAUSE_SHIM_DIED);
    close_fixture(&f);
}

/* A shim that cannot obey is overruled after the kill bound. */
static void test_shim_frozen(void)
{
    struct fixture f;
    open_fixture(&f);
    f.s.config.kill_bound = 200;
    restart(&f, 10);
    start(&f, 10, 0, "exec sleep 1000");
    wait_state(&f, 0, TF_INSTANCE_READY);
    kill(shim_of(&f, 0), SIGSTOP);
    stop(&f, 10, 0, 100);
    const struct station_event *e = wait_state(&f, 0, TF_INSTANCE_EXITED);
    CU_ASSERT_EQUAL(e->event.cause, TF_CAUSE_STOPPED);
    CU_ASSERT_EQUAL(e->event.exit_signal, SIGKILL);
    close_fixture(&f);
}

static void test_peers_fence_checkpoint(void)
{
    struct fixture f;
    struct tf_engine_spec spec;
    open_fixture(&f);
    f.s.engine->peers(f.s.engine, 10, f.uid, 7, "one\n", 4);
    f.s.engine->fence(f.s.engine, 10, f.uid, 7, tf_boottime_ms() + TF_HOUR);
    station_spec(&spec, f.uid, 0,
                 "cat $TIDEFED_PEERS_FILE >>PEERS; trap 'cat $TIDEFED_PEERS_FILE >>PEERS; "
                 "touch $TIDEFED_CHECKPOINT_FILE' USR1; echo up >UP; while :; do sleep 1000 & wait; done");
    spec.resize_signal = tf_strdup("SIGUSR1");
    f.s.engine->start(f.s.engine, 10, &spec);
    wait_state(&f, 0, TF_INSTANCE_READY);
    wait_lines(&f, "PEERS", 1);
    wait_lines(&f, "UP", 1);
    f.s.engine->peers(f.s.engine, 10, f.uid, 7, "two\n", 4);
    CU_ASSERT_PTR_NOT_NULL(station_wait(&f.s, TF_ENGINE_CHECKPOINT));
    CU_ASSERT_EQUAL(lines_of(&f, "PEERS"), 2);
    f.s.engine->fence(f.s.engine, 10, f.uid, 7, tf_boottime_ms() + 50); /* sooner */
    const struct station_event *e = wait_state(&f, 0, TF_INSTANCE_EXITED);
    CU_ASSERT_EQUAL(e->event.cause, TF_CAUSE_FENCED);
    tf_engine_spec_release(&spec);
    close_fixture(&f);
}

static void test_memory_lost(void)
{
    struct fixture f;
    char path[200];
    open_fixture(&f);
    snprintf(path, sizeof path, "%s/marker", f.state);
    station_close(&f.s);
    CU_ASSERT_EQUAL(unlink(path), 0);
    CU_ASSERT_TRUE_FATAL(station_open(&f.s));
    f.s.engine->adopt(f.s.engine, 11);
    CU_ASSERT_PTR_NOT_NULL(station_wait(&f.s, TF_ENGINE_UNKNOWN));
    start(&f, 11, 0, "echo life >>RAN");
    CU_ASSERT_PTR_NOT_NULL(station_wait(&f.s, TF_ENGINE_TROUBLE));
    CU_ASSERT_EQUAL(lines_of(&f, "RAN"), 0);
    close_fixture(&f);
}

/* Many at once; the daemon goes away in the middle of starting and of stopping them. */
static void test_many(void)
{
    enum { COUNT = 60 };
    struct fixture f;
    open_fixture(&f);
    for (uint32_t i = 0; i < COUNT; i++)
        start(&f, 10, i, "echo life >>RAN; exec sleep 1000");
    wait_state(&f, 7, TF_INSTANCE_READY);
    restart(&f, 11);
    for (uint32_t i = 0; i < COUNT; i++)
        start(&f, 11, i, "echo life >>RAN; exec sleep 1000");
    for (uint32_t i = 0; i < COUNT; i++)
        wait_state(&f, i, TF_INSTANCE_READY);
    wait_lines(&f, "RAN", COUNT);
    for (uint32_t i = 0; i < COUNT; i++)
        stop(&f, 11, i, 1000);
    wait_state(&f, 3, TF_INSTANCE_EXITED);
    restart(&f, 12);
    for (uint32_t i = 0; i < COUNT; i++)
        stop(&f, 12, i, 1000);
    for (uint32_t i = 0; i < COUNT; i++)
        wait_state(&f, i, TF_INSTANCE_EXITED);
    CU_ASSERT_EQUAL(lines_of(&f, "RAN"), COUNT);
    station_clear(&f.s);
    f.s.engine->forget(f.s.engine, 12, f.uid, 7);
    for (uint32_t i = 0; i < COUNT; i++)
        wait_state(&f, i, TF_INSTANCE_GONE);
    char path[200];
    snprintf(path, sizeof path, "%s/instances", f.state);
    struct stat st;
    CU_ASSERT_EQUAL(stat(path, &st), 0);
    CU_ASSERT_EQUAL(st.st_nlink, 2); /* no folder is left in it */
    close_fixture(&f);
}

static void test_logs(void)
{
    struct fixture f;
    open_fixture(&f);
    f.s.config.output_limit = 4096;
    restart(&f, 10);
    start(&f, 10, 0, "i=0; while [ $i -lt 2000 ]; do i=$((i+1)); echo line $i; done; echo oops >&2");
    wait_state(&f, 0, TF_INSTANCE_STARTING);
    struct tf_instance_id id = id_of(&f, 0);
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
    wait_state(&f, 0, TF_INSTANCE_EXITED);
    close_fixture(&f);
}

static void test_bad_configuration(void)
{
    struct station s;
    struct tf_error err = TF_ERROR_INIT;
    station_config(&s, "relative");
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
    tf_process_config_release(&s.config);
}

int main(void)
{
    static const struct suite_test tests[] = {
        {"unknown until initialised", test_unknown_until_initialised},
        {"life", test_life},
        {"adoption", test_adoption},
        {"stop before start", test_stop_before_start},
        {"deposed", test_deposed},
        {"root", test_root},
        {"refusals", test_refusals},
        {"no port left", test_no_port_left},
        {"node down", test_node_down},
        {"shim killed", test_shim_killed},
        {"shim frozen", test_shim_frozen},
        {"peers, fence, checkpoint", test_peers_fence_checkpoint},
        {"memory lost", test_memory_lost},
        {"many", test_many},
        {"logs", test_logs},
        {"bad configuration", test_bad_configuration},
    };
    return suite_run("process engine", tests, TF_ARRAY_LEN(tests));
}
