/* SPDX-License-Identifier: Apache-2.0 */
/* The shim program alone: what it promises to an engine that may be dead. */
#include "common/base/alloc.h"
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "subcluster/engine/state/proc.h"
#include "subcluster/engine/state/record.h"
#include "subcluster/engine/state/sweep.h"
#include "tests/unit/engine/bench.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static void expect_end(struct bench *b, enum tf_engine_cause cause, int code, int signal)
{
    struct tf_exit_record end;
    CU_ASSERT_TRUE_FATAL(bench_exit(b, &end));
    CU_ASSERT_EQUAL(end.cause, cause);
    CU_ASSERT_EQUAL(end.code, code);
    CU_ASSERT_EQUAL(end.signal, signal);
    CU_ASSERT_TRUE(end.at.ms > 0);
    tf_exit_record_release(&end);
}

static void test_ends_by_itself(void)
{
    struct bench b;
    bench_init(&b, "echo to out; echo to err >&2; exit 3");
    CU_ASSERT_EQUAL(bench_start(&b), TF_SHIM_OK);
    struct tf_exit_record end;
    CU_ASSERT_TRUE_FATAL(bench_exit(&b, &end));
    CU_ASSERT_EQUAL(end.cause, TF_CAUSE_ENDED);
    CU_ASSERT_EQUAL(end.code, 3);
    CU_ASSERT_EQUAL(end.signal, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(end.text, "to out"));
    CU_ASSERT_PTR_NOT_NULL(strstr(end.text, "to err"));
    tf_exit_record_release(&end);
    TF_AUTO_FREE char *out = bench_read_own(&b, "out");
    TF_AUTO_FREE char *err = bench_read_own(&b, "err");
    CU_ASSERT_STRING_EQUAL(out, "to out\n");
    CU_ASSERT_STRING_EQUAL(err, "to err\n");
    TF_AUTO_FREE char *journal = bench_journal(&b);
    CU_ASSERT_EQUAL(bench_count(journal, "\"event\":\"start\""), 1);
    CU_ASSERT_EQUAL(bench_count(journal, "\"event\":\"stop\""), 1);
    char who[128];
    snprintf(who, sizeof who, "\"uid\":\"%s\",\"epoch\":7,\"index\":3,\"attempt\":1,\"wall\":", b.uid);
    CU_ASSERT_EQUAL(bench_count(journal, who), 2);
    CU_ASSERT_EQUAL(bench_count(journal, "\"node\":\"node-1\",\"gpus\":[0,2]"), 2);
    bench_release(&b);
}

static void test_ends_by_signal(void)
{
    struct bench b;
    bench_init(&b, "kill -SEGV $$");
    CU_ASSERT_EQUAL(bench_start(&b), TF_SHIM_OK);
    expect_end(&b, TF_CAUSE_ENDED, -1, SIGSEGV);
    bench_release(&b);
}

static void test_duplicate(void)
{
    struct bench b;
    bench_init(&b, "echo life >>RAN; : >UP; sleep 1000");
    CU_ASSERT_EQUAL(bench_start(&b), TF_SHIM_OK);
    CU_ASSERT_TRUE(bench_file(&b, "UP"));
    CU_ASSERT_EQUAL(bench_start(&b), TF_SHIM_HELD);
    bench_stop(&b, 0, 1000);
    expect_end(&b, TF_CAUSE_STOPPED, -1, SIGTERM);
    CU_ASSERT_TRUE(test_children_end(5));
    CU_ASSERT_EQUAL(bench_start(&b), TF_SHIM_ENDED);
    TF_AUTO_FREE char *ran = bench_read(&b, "RAN");
    CU_ASSERT_EQUAL(bench_count(ran, "life"), 1);
    bench_release(&b);
}

static void test_stop_before_start(void)
{
    struct bench b;
    bench_init(&b, ": >RAN");
    CU_ASSERT_EQUAL(bench_end(&b, 10, false), TF_SHIM_OK);
    expect_end(&b, TF_CAUSE_NEVER_STARTED, -1, 0);
    CU_ASSERT_EQUAL(bench_start(&b), TF_SHIM_ENDED);
    CU_ASSERT_FALSE(bench_exists(&b, "RAN"));
    CU_ASSERT_EQUAL(bench_end(&b, 10, false), TF_SHIM_OK); /* again */
    TF_AUTO_FREE char *journal = bench_journal(&b);
    CU_ASSERT_STRING_EQUAL(journal, "");
    bench_release(&b);
}

static void test_stop_request_before_start(void)
{
    struct bench b;
    bench_init(&b, ": >RAN");
    bench_stop(&b, 0, 0);
    CU_ASSERT_EQUAL(bench_start(&b), TF_SHIM_OK);
    expect_end(&b, TF_CAUSE_NEVER_STARTED, -1, 0);
    CU_ASSERT_FALSE(bench_exists(&b, "RAN"));
    bench_release(&b);
}

static void test_stale_owner(void)
{
    struct bench b;
    struct tf_error err = TF_ERROR_INIT;
    uint64_t owner = 11;
    bench_init(&b, ": >RAN");
    CU_ASSERT_EQUAL(tf_owner_raise(b.root, &owner, NULL), 0);
    CU_ASSERT_EQUAL(bench_start(&b), TF_SHIM_STALE);
    CU_ASSERT_EQUAL(bench_end(&b, 10, false), TF_SHIM_STALE);
    CU_ASSERT_FALSE(bench_exists(&b, "RAN"));
    CU_ASSERT_FALSE(bench_has_exit(&b));
    owner = 10;
    CU_ASSERT_EQUAL(tf_owner_raise(b.root, &owner, &err), -1);
    CU_ASSERT_EQUAL(err.code, TF_ERR_REFUSED);
    CU_ASSERT_EQUAL(owner, 11);
    b.spec.owner = 11;
    CU_ASSERT_EQUAL(bench_start(&b), TF_SHIM_OK);
    expect_end(&b, TF_CAUSE_ENDED, 0, 0);
    bench_release(&b);
}

static void test_polite_stop(void)
{
    struct bench b;
    bench_init(&b, "trap 'echo bye; exit 4' TERM; : >UP; while :; do sleep 1000 & wait; done");
    CU_ASSERT_EQUAL(bench_start(&b), TF_SHIM_OK);
    CU_ASSERT_TRUE(bench_file(&b, "UP"));
    int64_t begun = tf_boottime_ms();
    bench_stop(&b, 300, 60 * TF_SECOND);
    expect_end(&b, TF_CAUSE_STOPPED, 4, 0);
    CU_ASSERT_TRUE(tf_boottime_ms() - begun >= 300); /* not before the stop delay */
    TF_AUTO_FREE char *out = bench_read_own(&b, "out");
    CU_ASSERT_STRING_EQUAL(out, "bye\n");
    bench_release(&b);
}

/* Ignores the polite stop, as its children do, in sessions of their own. */
static const char stubborn[] =
    "trap '' TERM; setsid sleep 1000 & setsid sh -c 'sleep 1000 & sleep 1000' & : >UP; "
    "while :; do sleep 1000; done";

static void forced_stop(bool cgroup)
{
    struct bench b;
    bench_init(&b, stubborn);
    b.spec.cgroup = cgroup;
    CU_ASSERT_EQUAL(bench_start(&b), TF_SHIM_OK);
    CU_ASSERT_TRUE(bench_file(&b, "UP"));
    int64_t begun = tf_boottime_ms();
    bench_stop(&b, 0, 60 * TF_SECOND);
    bench_stop(&b, 0, 250);            /* hastens the first */
    bench_stop(&b, 0, 60 * TF_SECOND); /* cannot slow it down */
    expect_end(&b, TF_CAUSE_STOPPED, -1, SIGKILL);
    CU_ASSERT_TRUE(tf_boottime_ms() - begun >= 250);
    bench_release(&b); /* and nothing is left */
}

static void test_forced_stop(void)
{
    forced_stop(false);
    forced_stop(true);
}

static void test_children_of_one_that_ends(void)
{
    struct bench b;
    bench_init(&b, "setsid sleep 1000 & (setsid sleep 1000 &) ; exit 0");
    CU_ASSERT_EQUAL(bench_start(&b), TF_SHIM_OK);
    expect_end(&b, TF_CAUSE_ENDED, 0, 0);
    bench_release(&b);
}

static void test_output_is_bounded(void)
{
    struct bench b;
    bench_init(&b, "seq 1 200000; echo last >&2");
    CU_ASSERT_EQUAL(bench_start(&b), TF_SHIM_OK);
    expect_end(&b, TF_CAUSE_ENDED, 0, 0);
    TF_AUTO_FREE char *newer = bench_read_own(&b, "out");
    TF_AUTO_FREE char *older = bench_read_own(&b, "out.1");
    CU_ASSERT_TRUE(strlen(newer) > 0 && strlen(newer) <= 65536);
    CU_ASSERT_EQUAL(strlen(older), 65536);
    CU_ASSERT_PTR_NOT_NULL(strstr(newer, "199999\n200000\n"));
    CU_ASSERT_FALSE(tf_starts_with(older, "1\n2\n"));
    bench_release(&b);
}

static void test_fence(void)
{
    struct bench b;
    bench_init(&b, ": >UP; sleep 1000");
    CU_ASSERT_EQUAL(tf_fence_save(b.epoch_folder, tf_boottime_ms() + 400, NULL), 0);
    CU_ASSERT_EQUAL(bench_start(&b), TF_SHIM_OK);
    CU_ASSERT_TRUE(bench_file(&b, "UP"));
    int64_t renewed = tf_boottime_ms() + 900;
    CU_ASSERT_EQUAL(tf_fence_save(b.epoch_folder, renewed, NULL), 0); /* a later one needs no announcement */
    expect_end(&b, TF_CAUSE_FENCED, -1, SIGTERM);
    CU_ASSERT_TRUE(tf_boottime_ms() >= renewed);
    bench_release(&b);
}

static void test_fence_comes_later(void)
{
    struct bench b;
    bench_init(&b, stubborn);
    b.spec.start.grace = 200;
    CU_ASSERT_EQUAL(bench_start(&b), TF_SHIM_OK);
    CU_ASSERT_TRUE(bench_file(&b, "UP"));
    CU_ASSERT_EQUAL(tf_fence_save(b.epoch_folder, tf_boottime_ms() + 100, NULL), 0);
    bench_poke(&b);
    expect_end(&b, TF_CAUSE_FENCED, -1, SIGKILL);
    bench_release(&b);
}

static void test_fence_of_the_past(void)
{
    struct bench b;
    bench_init(&b, ": >RAN");
    TF_AUTO_BUF other_boot = TF_BUF_INIT;
    tf_record_put(&other_boot, "boot", "11111111-2222-3333-4444-555555555555");
    tf_record_put_int(&other_boot, "deadline", tf_boottime_ms() + TF_HOUR);
    CU_ASSERT_EQUAL(tf_record_save(b.epoch_folder, "fence", &other_boot, false, NULL), 0);
    CU_ASSERT_EQUAL(bench_start(&b), TF_SHIM_OK);
    expect_end(&b, TF_CAUSE_FENCED, -1, 0);
    CU_ASSERT_FALSE(bench_exists(&b, "RAN"));
    bench_release(&b);
}

static bool is_ready(void *context)
{
    struct bench *b = context;
    int folder = bench_folder(b);
    bool there = tf_file_exists(folder, "ready");
    close(folder);
    return there;
}

static bool tried_twice(void *context)
{
    TF_AUTO_FREE char *tries = bench_read(context, "TRIES");
    return bench_count(tries, "try 3\n") >= 2;
}

static void test_readiness(void)
{
    struct bench b;
    bench_init(&b, "sleep 1000");
    tf_strs_add(&b.spec.start.ready.command, "sh");
    tf_strs_add(&b.spec.start.ready.command, "-c");
    tf_strs_add(&b.spec.start.ready.command, "echo try $TIDEFED_RANK >>TRIES; test -e GO");
    b.spec.start.ready.period = 100;
    b.spec.start.ready.timeout = 60 * TF_SECOND;
    CU_ASSERT_EQUAL(bench_start(&b), TF_SHIM_OK);
    CU_ASSERT_TRUE(test_until(tried_twice, &b, 30));
    CU_ASSERT_FALSE(is_ready(&b));
    int go = openat(b.root, "GO", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    close(go);
    CU_ASSERT_TRUE(test_until(is_ready, &b, 30));
    bench_stop(&b, 0, 1000);
    expect_end(&b, TF_CAUSE_STOPPED, -1, SIGTERM);
    bench_release(&b);
}

static void test_never_ready(void)
{
    struct bench b;
    bench_init(&b, "sleep 1000");
    tf_strs_add(&b.spec.start.ready.command, "sleep"); /* a probe that hangs is killed when the next is due */
    tf_strs_add(&b.spec.start.ready.command, "1000");
    b.spec.start.ready.period = 100;
    b.spec.start.ready.timeout = 600;
    CU_ASSERT_EQUAL(bench_start(&b), TF_SHIM_OK);
    expect_end(&b, TF_CAUSE_NOT_READY, -1, SIGTERM);
    CU_ASSERT_FALSE(is_ready(&b));
    bench_release(&b);
}

static void cannot_start(const char *command, int code, const char *word)
{
    struct bench b;
    bench_init(&b, "");
    tf_strs_release(&b.spec.start.command);
    tf_strs_add(&b.spec.start.command, command);
    CU_ASSERT_EQUAL(bench_start(&b), TF_SHIM_OK);
    struct tf_exit_record end;
    CU_ASSERT_TRUE_FATAL(bench_exit(&b, &end));
    CU_ASSERT_EQUAL(end.cause, TF_CAUSE_CANNOT_START);
    CU_ASSERT_EQUAL(end.code, code);
    CU_ASSERT_PTR_NOT_NULL(strstr(end.text, word));
    CU_ASSERT_PTR_NOT_NULL(strstr(end.text, command));
    tf_exit_record_release(&end);
    bench_release(&b);
}

static void test_cannot_start(void)
{
    TF_AUTO_FREE char *path = tf_strdup(getenv("PATH"));
    setenv("PATH", "/usr/bin:/bin",
           1); /* a folder that may not be entered would make it "permission denied" */
    cannot_start("no-such-command-anywhere", 127, "No such file");
    cannot_start("/etc/passwd", 126, "Permission denied");
    cannot_start("/tmp", 126, "Permission denied");
    setenv("PATH", path ? path : "", 1);
}

static void test_environment(void)
{
    struct bench b;
    bench_init(&b, "env -0 >ENV; : >UP");
    setenv("TIDEFED_SECRET", "of the daemon", 1);
    tf_pairs_set(&b.spec.start.env, "ODD", "a\nb%41 \x01\xff=");
    tf_pairs_set(&b.spec.start.env, "TIDEFED_RANK", "77"); /* ours wins */
    tf_strs_add(&b.spec.start.ports, "http");
    tf_strs_add(&b.spec.start.ports, "grpc-web.2");
    CU_ASSERT_EQUAL(bench_start(&b), TF_SHIM_OK);
    expect_end(&b, TF_CAUSE_ENDED, 0, 0);
    int fd = openat(b.root, "ENV", O_RDONLY | O_CLOEXEC);
    char text[65536];
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    CU_ASSERT_TRUE_FATAL(n > 0);
    struct tf_pairs env = {0};
    text[n] = '\0';
    for (char *at = text; at < text + n; at += strlen(at) + 1) {
        char *gap = strchr(at, '=');
        TF_AUTO_FREE char *key = tf_strndup(at, (size_t)(gap - at));
        tf_pairs_set(&env, key, gap + 1);
    }
    char files[2][200];
    snprintf(files[0], sizeof files[0], "%s/instances/%s/7/peers", b.dir, b.uid);
    snprintf(files[1], sizeof files[1], "%s/instances/%s/checkpoint", b.dir, b.path);
    const struct tf_pair expected[] = {
        {"ODD", "a\nb%41 \x01\xff="},
        {"TIDEFED_JOB", "search/rank"},
        {"TIDEFED_UID", b.uid},
        {"TIDEFED_EPOCH", "7"},
        {"TIDEFED_INDEX", "3"},
        {"TIDEFED_ATTEMPT", "1"},
        {"TIDEFED_RANK", "3"},
        {"TIDEFED_SIZE", "8"},
        {"TIDEFED_GPUS", "0,2"},
        {"CUDA_VISIBLE_DEVICES", "0,2"},
        {"TIDEFED_PEERS_FILE", files[0]},
        {"TIDEFED_CHECKPOINT_FILE", files[1]},
        {"TIDEFED_SECRET", NULL},
    };
    for (size_t i = 0; i < TF_ARRAY_LEN(expected); i++)
        CU_ASSERT_TRUE(tf_str_eq(tf_pairs_get(&env, expected[i].key), expected[i].value));
    int64_t http = 0, grpc = 0;
    CU_ASSERT_PTR_NOT_NULL_FATAL(tf_pairs_get(&env, "TIDEFED_PORT_HTTP"));
    CU_ASSERT_PTR_NOT_NULL_FATAL(tf_pairs_get(&env, "TIDEFED_PORT_GRPC_WEB_2"));
    CU_ASSERT_EQUAL(tf_parse_int64(tf_pairs_get(&env, "TIDEFED_PORT_HTTP"), 20000, 29999, &http, NULL), 0);
    CU_ASSERT_EQUAL(tf_parse_int64(tf_pairs_get(&env, "TIDEFED_PORT_GRPC_WEB_2"), 20000, 29999, &grpc, NULL),
                    0);
    CU_ASSERT_NOT_EQUAL(http, grpc);
    tf_pairs_release(&env);
    unsetenv("TIDEFED_SECRET");
    bench_release(&b);
}

/* Two instances that may choose from two ports get different ones; a third gets none and says what to do. */
static void test_ports_are_unique(void)
{
    struct bench b[3];
    struct tf_shim_record records[2];
    for (int i = 0; i < 3; i++) {
        bench_init(&b[i], "sleep 1000");
        b[i].spec.start.id.index = (uint32_t)i;
        tf_instance_path(&b[i].spec.start.id, b[i].path);
        tf_strs_add(&b[i].spec.start.ports, "http");
        b[i].spec.port_low = 19871;
        b[i].spec.port_high = 19872;
        CU_ASSERT_EQUAL(bench_start(&b[i]), i < 2 ? TF_SHIM_OK : TF_SHIM_TROUBLE);
    }
    for (int i = 0; i < 2; i++) {
        int folder = bench_folder(&b[i]);
        CU_ASSERT_EQUAL_FATAL(tf_shim_record_load(folder, &records[i], NULL), 0);
        close(folder);
        CU_ASSERT_EQUAL(records[i].port_count, 1);
    }
    CU_ASSERT_NOT_EQUAL(records[0].ports[0].port, records[1].ports[0].port);
    for (int i = 0; i < 2; i++) {
        tf_shim_record_release(&records[i]);
        bench_stop(&b[i], 0, 1000);
        expect_end(&b[i], TF_CAUSE_STOPPED, -1, SIGTERM);
    }
    for (int i = 0; i < 3; i++)
        bench_release(&b[i]);
}

/* The job does not start with what the daemon had open, blocked or ignored; the lock is the one descriptor.
 */
static void test_clean_process(void)
{
    struct bench b;
    bench_init(&b, "ls -l /proc/self/fd >FDS; grep -E 'SigBlk|SigIgn' /proc/self/status >SIGNALS;");
    int leak = openat(b.root, "leak", O_CREAT | O_RDWR, 0600); /* inheritable */
    CU_ASSERT_EQUAL(bench_start(&b), TF_SHIM_OK);
    close(leak);
    expect_end(&b, TF_CAUSE_ENDED, 0, 0);
    TF_AUTO_FREE char *fds = bench_read(&b, "FDS");
    TF_AUTO_FREE char *signals = bench_read(&b, "SIGNALS");
    CU_ASSERT_EQUAL(bench_count(fds, "/leak"), 0);
    CU_ASSERT_EQUAL(bench_count(fds, "/lock"), 1);
    /* 32 and 33 are the C library's own; its posix_spawn leaves them ignored. */
    CU_ASSERT_EQUAL(bench_count(signals, "0000000000000000") + bench_count(signals, "0000000180000000"), 2);
    bench_release(&b);
}

static pid_t shim_pid(struct bench *b)
{
    struct tf_shim_record record;
    int folder = bench_folder(b);
    CU_ASSERT_EQUAL_FATAL(tf_shim_record_load(folder, &record, NULL), 0);
    close(folder);
    pid_t pid = record.pid;
    CU_ASSERT_TRUE(tf_shim_lives(&record));
    tf_shim_record_release(&record);
    return pid;
}

static bool is_judged(void *context)
{
    return bench_end(context, 10, false) == TF_SHIM_OK;
}

/* The shim killed while children that hide from each of its means but one live on: all are found. */
static void shim_dies(bool cgroup, const char *hide)
{
    struct bench b;
    TF_AUTO_FREE char *script = tf_asprintf("bash -c '%s' & : >UP; sleep 1000", hide);
    bench_init(&b, script);
    b.spec.cgroup = cgroup;
    CU_ASSERT_EQUAL(bench_start(&b), TF_SHIM_OK);
    CU_ASSERT_TRUE(bench_file(&b, "UP"));
    CU_ASSERT_TRUE(bench_file(&b, "HIDDEN"));
    CU_ASSERT_EQUAL(bench_end(&b, 10, false), TF_SHIM_LIVES);
    kill(shim_pid(&b), SIGKILL);
    CU_ASSERT_TRUE(test_until(is_judged, &b, 20)); /* a killed process takes a moment to be dead */
    expect_end(&b, TF_CAUSE_SHIM_DIED, -1, SIGKILL);
    bench_release(&b);
}

static bool cgroups_work(void)
{
    struct bench b;
    char path[1024];
    bench_init(&b, "");
    int folder = bench_folder(&b);
    bool work = tf_cgroup_path(&b.spec.start.id, folder, path, sizeof path) && tf_cgroup_make(path);
    if (work)
        tf_cgroup_remove(path);
    close(folder);
    bench_release(&b);
    return work;
}

static void test_shim_dies(void)
{
    shim_dies(false, ": >HIDDEN; exec setsid env -i sleep 1000");       /* holds the lock */
    shim_dies(false, "exec 100>&-; : >HIDDEN; exec setsid sleep 1000"); /* has the environment */
    if (cgroups_work())
        shim_dies(true, "exec 100>&-; : >HIDDEN; exec setsid env -i sleep 1000"); /* is in the cgroup */
    else
        printf("(no cgroup may be made here) ");
}

static void test_kill(void)
{
    struct bench b;
    bench_init(&b, stubborn);
    CU_ASSERT_EQUAL(bench_start(&b), TF_SHIM_OK);
    CU_ASSERT_TRUE(bench_file(&b, "UP"));
    kill(shim_pid(&b), SIGSTOP); /* cannot obey */
    bench_stop(&b, 0, 0);
    CU_ASSERT_EQUAL(bench_end(&b, 10, false), TF_SHIM_LIVES);
    CU_ASSERT_EQUAL(bench_end(&b, 10, true), TF_SHIM_OK);
    expect_end(&b, TF_CAUSE_STOPPED, -1, SIGKILL);
    bench_release(&b);
}

static void test_reboot(void)
{
    struct bench b;
    bench_init(&b, ": >RAN");
    struct tf_shim_record record = {.pid = getpid(), .boot = "11111111-2222-3333-4444-555555555555"};
    CU_ASSERT_TRUE(tf_process_ticks(getpid(), &record.ticks));
    int folder = bench_folder(&b);
    CU_ASSERT_EQUAL(tf_shim_record_save(folder, &record, NULL), 0); /* our own pid: must not be killed */
    close(folder);
    CU_ASSERT_EQUAL(bench_start(&b), TF_SHIM_BEGAN);
    CU_ASSERT_EQUAL(bench_end(&b, 10, false), TF_SHIM_OK);
    expect_end(&b, TF_CAUSE_REBOOTED, -1, 0);
    CU_ASSERT_EQUAL(bench_start(&b), TF_SHIM_ENDED);
    CU_ASSERT_FALSE(bench_exists(&b, "RAN"));
    bench_release(&b);
}

static void test_resize_signal(void)
{
    struct bench b;
    bench_init(&b, "trap ': >RESIZED' USR1; : >UP; while :; do sleep 1000 & wait; done");
    b.spec.start.resize_signal = tf_strdup("SIGUSR1");
    CU_ASSERT_EQUAL(tf_file_save(b.epoch_folder, "peers", "one\n", 4, false, NULL), 0);
    CU_ASSERT_EQUAL(bench_start(&b), TF_SHIM_OK);
    CU_ASSERT_TRUE(bench_file(&b, "UP"));
    CU_ASSERT_EQUAL(tf_file_save(b.epoch_folder, "peers", "two\n", 4, false, NULL), 0);
    bench_poke(&b);
    CU_ASSERT_TRUE(bench_file(&b, "RESIZED"));
    bench_stop(&b, 0, 0);
    struct tf_exit_record end;
    CU_ASSERT_TRUE(bench_exit(&b, &end));
    tf_exit_record_release(&end);
    bench_release(&b);
}

/* It would be ended by the signal; later it listens, and is told. */
static void test_resize_signal_unheard(void)
{
    struct bench b;
    bench_init(&b,
               ": >UP; sleep 0.4; trap ': >RESIZED' USR1; : >LISTENS; while :; do sleep 1000 & wait; done");
    b.spec.start.resize_signal = tf_strdup("SIGUSR1");
    CU_ASSERT_EQUAL(tf_file_save(b.epoch_folder, "peers", "one\n", 4, false, NULL), 0);
    CU_ASSERT_EQUAL(bench_start(&b), TF_SHIM_OK);
    CU_ASSERT_TRUE(bench_file(&b, "UP"));
    CU_ASSERT_EQUAL(tf_file_save(b.epoch_folder, "peers", "two\n", 4, false, NULL), 0);
    bench_poke(&b);
    CU_ASSERT_TRUE(bench_file(&b, "LISTENS"));
    CU_ASSERT_EQUAL(tf_file_save(b.epoch_folder, "peers", "three\n", 6, false, NULL), 0);
    bench_poke(&b);
    CU_ASSERT_TRUE(bench_file(&b, "RESIZED"));
    bench_stop(&b, 0, 0);
    struct tf_exit_record end;
    CU_ASSERT_TRUE(bench_exit(&b, &end));
    tf_exit_record_release(&end);
    bench_release(&b);
}

static void test_bad_calls(void)
{
    struct bench b;
    bench_init(&b, ": >RAN");
    static const char *const paths[] = {"",
                                        "..",
                                        "../../etc/7/3.1",
                                        "00112233445566778899aabbccddeeff/7/3",
                                        "00112233445566778899aabbccddeeff/07/3.1",
                                        "00112233445566778899aabbccddeeff/7/3.1/"};
    for (size_t i = 0; i < TF_ARRAY_LEN(paths); i++) {
        const char *const run[] = {TF_TEST_SHIM, "run", b.dir, paths[i], NULL};
        CU_ASSERT_EQUAL(test_program_run(run), TF_SHIM_TROUBLE);
        const char *const end[] = {TF_TEST_SHIM, "end", b.dir, paths[i], "1", NULL};
        CU_ASSERT_EQUAL(test_program_run(end), TF_SHIM_TROUBLE);
    }
    const char *const nothing[] = {TF_TEST_SHIM, NULL};
    CU_ASSERT_EQUAL(test_program_run(nothing), TF_SHIM_USAGE);
    int folder = bench_folder(&b);
    CU_ASSERT_EQUAL(tf_file_save(folder, "spec", "tidefed 1\ncommand x\n", 20, false, NULL), 0); /* torn */
    const char *const torn[] = {TF_TEST_SHIM, "run", b.dir, b.path, NULL};
    CU_ASSERT_EQUAL(test_program_run(torn), TF_SHIM_TROUBLE);
    close(folder);
    CU_ASSERT_EQUAL(bench_start(&b), TF_SHIM_OK); /* and nothing was lost by it */
    expect_end(&b, TF_CAUSE_ENDED, 0, 0);
    bench_release(&b);
}

int main(void)
{
    static const struct suite_test tests[] = {
        {"ends by itself", test_ends_by_itself},
        {"ends by a signal", test_ends_by_signal},
        {"duplicate start", test_duplicate},
        {"stop before start", test_stop_before_start},
        {"stop request before start", test_stop_request_before_start},
        {"stale owner", test_stale_owner},
        {"polite stop", test_polite_stop},
        {"forced stop", test_forced_stop},
        {"children of one that ends", test_children_of_one_that_ends},
        {"output is bounded", test_output_is_bounded},
        {"fence", test_fence},
        {"fence comes later", test_fence_comes_later},
        {"fence of the past", test_fence_of_the_past},
        {"readiness", test_readiness},
        {"never ready", test_never_ready},
        {"cannot start", test_cannot_start},
        {"environment", test_environment},
        {"ports are unique", test_ports_are_unique},
        {"clean process", test_clean_process},
        {"shim dies", test_shim_dies},
        {"kill", test_kill},
        {"reboot", test_reboot},
        {"resize signal", test_resize_signal},
        {"resize signal to one that does not listen", test_resize_signal_unheard},
        {"bad calls", test_bad_calls},
    };
    return suite_run("shim", tests, TF_ARRAY_LEN(tests));
}
