/* SPDX-License-Identifier: Apache-2.0 */
/* The shim is killed at every one of its system calls, and so are its launcher and its command. Whatever the
 * moment: an attempt never runs twice, a repeated start or a judge comes to an end (running, or an exit
 * record), and nothing is left behind. */
#include "common/base/cleanup.h"
#include "tests/support/tracer.h"
#include "tests/unit/engine/bench.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

/* One line a life; a child that ignores the polite stop, in a session of its own, without the lock; another
 * with the lock. */
static const char script[] = "echo life >>RAN; exec 8>&1; "
                             "setsid sh -c 'trap \"\" TERM; exec sleep 1000' & "
                             "bash -c 'exec 100>&-; exec sleep 1000' & "
                             "trap 'exit 5' TERM; : >UP; while :; do wait; done";

enum role { LAUNCHER, SHIM, COMMAND };

struct drive {
    struct bench *b;
    bool stopped;
};

/* As an engine would: stop it once it runs. */
static void drive(void *context)
{
    struct drive *d = context;
    if (d->stopped || !bench_exists(d->b, "UP"))
        return;
    d->stopped = true;
    bench_stop(d->b, 0, 100);
}

static bool trace(struct bench *b, struct tracer *t)
{
    struct drive d = {b, false};
    const char *const argv[] = {TF_TEST_SHIM, "run", b->dir, b->path, NULL};
    int folder = bench_folder(b);
    CU_ASSERT_EQUAL(tf_shim_spec_save(folder, &b->spec, NULL), 0);
    close(folder);
    t->argv = argv;
    t->from_call = SYS_close_range;
    t->follow = true;
    t->drive = drive;
    t->context = &d;
    return tracer_run(t);
}

static bool up_or_exit(void *context)
{
    struct bench *b = context;
    return bench_exists(b, "UP") || bench_has_exit(b);
}

/* What a daemon does that does not know how far the first one came: it repeats the start, has judged what
 * began before, and stops what runs. */
static const char *recover(struct bench *b)
{
    int status = bench_start(b);
    if (status == TF_SHIM_BEGAN || status == TF_SHIM_HELD)
        status = bench_end(b, b->spec.owner, false);
    if (status == TF_SHIM_ENDED || (status == TF_SHIM_OK && bench_has_exit(b)))
        return NULL;
    if (status != TF_SHIM_OK && status != TF_SHIM_LIVES)
        return "neither running nor judged";
    if (!test_until(up_or_exit, b, 20))
        return "said to be running, but is not";
    bench_stop(b, 0, 100);
    struct tf_exit_record end;
    if (!bench_exit(b, &end))
        return "no exit record after a stop";
    tf_exit_record_release(&end);
    return NULL;
}

/* Until the shim that wrote the exit record has let go of the lock, the lock is what refuses. */
static bool start_finds_the_end(void *context)
{
    return bench_start(context) == TF_SHIM_ENDED;
}

static const char *check(struct bench *b)
{
    TF_AUTO_FREE char *ran = bench_read(b, "RAN");
    TF_AUTO_FREE char *journal = bench_journal(b);
    size_t lives = bench_count(ran, "life"), starts = bench_count(journal, "\"event\":\"start\"");
    size_t stops = bench_count(journal, "\"event\":\"stop\"");
    if (lives > 1)
        return "it ran twice";
    if (starts > 1 || lives > starts || (starts && !stops))
        return "the journal tells another story";
    if (!test_until(start_finds_the_end, b, 20))
        return "a start after the end was not refused";
    return test_children_end(5) ? NULL : "processes were left behind";
}

/* One run with one kill; false when there is no such moment any more. */
static bool point(struct tracer *t, bool cgroup)
{
    struct bench b;
    bench_init(&b, script);
    b.spec.cgroup = cgroup;
    bool traced = trace(&b, t);
    const char *wrong = traced ? recover(&b) : "cannot be traced";
    if (!wrong)
        wrong = check(&b);
    if (wrong) {
        TF_AUTO_FREE char *log = bench_read_own(&b, "shim.log");
        TF_AUTO_FREE char *journal = bench_journal(&b);
        printf("\n    role %d killed at call %u of role %d (number %ld): %s\n%s%s", t->victim, t->at, t->role,
               t->call, wrong, log, journal);
        CU_FAIL("a moment at which a kill does harm");
    }
    bench_release(&b);
    return t->hit;
}

static void matrix(const char *name, enum role role, enum role victim, bool cgroup)
{
    unsigned points = 0, stride = (unsigned)suite_stride(4);
    for (unsigned at = 1;; at += stride, points++) {
        struct tracer t = {.role = role, .victim = victim, .at = at};
        if (!point(&t, cgroup))
            break;
        CU_ASSERT_TRUE_FATAL(at < 5000);
    }
    printf("\n    %s%s: %u points, one call in %u ", name, cgroup ? ", in a cgroup" : "", points, stride);
    CU_ASSERT_TRUE(points * stride > 10);
}

static void test_launcher(void)
{
    matrix("launcher killed at each of its calls", LAUNCHER, LAUNCHER, false);
}

static void test_shim(void)
{
    matrix("shim killed at each of its calls", SHIM, SHIM, false);
}

static void test_shim_cgroup(void)
{
    matrix("shim killed at each of its calls", SHIM, SHIM, true);
}

static void test_command_early(void)
{
    matrix("command killed at each call before it is itself", COMMAND, COMMAND, false);
}

static void test_shim_early(void)
{
    matrix("shim killed at each call of the command before it is itself", COMMAND, SHIM, true);
}

static void test_command(void)
{
    matrix("command killed at each call of the shim", SHIM, COMMAND, false);
}

int main(void)
{
    /* The leak checker of a sanitized shim does not work under ptrace. */
    setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
    /* Processes are killed here, not machines: what is on the disk does not matter. */
    if (access("/dev/shm", W_OK) == 0)
        setenv("TMPDIR", "/dev/shm", 0);
    static const struct suite_test tests[] = {
        {"launcher", test_launcher},        {"shim", test_shim},
        {"shim, cgroup", test_shim_cgroup}, {"command, early", test_command_early},
        {"shim, early", test_shim_early},   {"command", test_command},
    };
    return suite_run("kill matrix", tests, TF_ARRAY_LEN(tests));
}
