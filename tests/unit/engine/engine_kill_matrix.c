/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's side is killed at every system call of the engine's thread. Whatever the moment, the next one
 * learns what there is, repeats what its store says, and comes to the end; nothing runs twice, nothing is
 * left. */
#include "common/base/cleanup.h"
#include "subcluster/engine/state/folder.h"
#include "subcluster/engine/state/proc.h"
#include "tests/support/orphans.h"
#include "tests/support/suite.h"
#include "tests/support/tracer.h"
#include "tests/unit/engine/station.h"

#include <sys/stat.h>
#include <unistd.h>

struct point {
    char dir[64], state[80], forgetting[80], ran[80], script[400], uid_text[TF_UID_TEXT];
    struct tf_uid uid;
};

static void init(struct point *p)
{
    CU_ASSERT_TRUE_FATAL(test_make_folder(p->dir));
    p->uid = station_uid();
    tf_uid_format(p->uid, p->uid_text);
    snprintf(p->state, sizeof p->state, "%s/state", p->dir);
    snprintf(p->forgetting, sizeof p->forgetting, "%s/forgetting", p->dir);
    snprintf(p->ran, sizeof p->ran, "%s/ran", p->dir);
    snprintf(p->script, sizeof p->script,
             "echo life >>%s; setsid sleep 1000 & trap 'exit 5' TERM; while :; do wait; done", p->ran);
}

static void nothing(void *context)
{
    (void)context;
}

/* The next daemon. Its store says: was promised, is to stop now, is to be forgotten. */
static const char *recover(struct point *p, struct station *s)
{
    struct tf_engine_spec spec;
    struct tf_engine *e = s->engine;
    const char *wrong = NULL;
    station_spec(&spec, p->uid, 0, p->script);
    e->initialise(e, 11);
    if (!station_wait(s, TF_ENGINE_LISTED))
        wrong = "the listing is never complete";
    if (!wrong && access(p->forgetting, F_OK) != 0) {
        e->start(e, 11, &spec);
        e->stop(e, 11, &spec.id, 0, 1000);
        if (!station_wait_state(s, &spec.id, TF_INSTANCE_EXITED))
            wrong = "a stop is never answered";
        e->start(e, 11, &spec); /* late */
    }
    e->forget(e, 11, p->uid, 7);
    station_clear(s);
    e->adopt(e, 11); /* a barrier, and a look at what is left */
    if (!wrong && !station_wait(s, TF_ENGINE_LISTED))
        wrong = "the second listing is never complete";
    tf_engine_spec_release(&spec);
    return wrong;
}

static bool is_clean(void *context)
{
    char path[100];
    struct stat st;
    snprintf(path, sizeof path, "%s/instances", ((struct point *)context)->state);
    return stat(path, &st) == 0 && st.st_nlink == 2;
}

static const char *check(struct point *p)
{
    struct stat st;
    if (stat(p->ran, &st) == 0 && st.st_size > 5)
        return "it ran twice";
    if (!test_children_end(10))
        return "processes were left behind";
    return is_clean(p) ? NULL : "folders were left behind";
}

static bool strike(unsigned at)
{
    struct point p;
    struct station s;
    init(&p);
    const char *const argv[] = {TF_TEST_HOST, p.state, p.uid_text, p.script, p.forgetting, NULL};
    struct tracer t = {.argv = argv, .from_call = -1, .role = 1, .at = at, .drive = nothing};
    const char *wrong = tracer_run(&t) ? NULL : "cannot be traced";
    if (!t.hit && t.status != 0)
        wrong = "the daemon alone does not come to its end";
    station_config(&s, STATION_PROCESS, p.state);
    CU_ASSERT_TRUE_FATAL(station_open(&s));
    if (!wrong)
        wrong = recover(&p, &s);
    /* forgetting waits for shims to let go of their locks, in the engine's own time */
    for (int i = 0; i < 5000 && !wrong && !is_clean(&p); i++)
        tf_loop_turn(s.loop, 1);
    station_release(&s);
    if (!wrong)
        wrong = check(&p);
    if (wrong) {
        printf("\n    daemon killed at call %u (number %ld): %s", at, t.call, wrong);
        CU_FAIL("a moment at which a kill does harm");
    }
    CU_ASSERT_EQUAL(test_end_children(3), 0);
    test_remove_folder(p.dir);
    return t.hit;
}

/* Every fourth call, beginning anywhere; every one when more rounds are asked for. */
static void test_daemon(void)
{
    unsigned step = suite_rounds(1) > 1 ? 1 : 4, points = 0;
    unsigned at = 1 + (unsigned)(suite_seed((uint64_t)tf_boottime_ms()) % step);
    for (; strike(at) && at < 5000; at += step)
        points++;
    printf("\n    daemon killed at one in %u calls of the engine's thread: %u points ", step, points);
    CU_ASSERT_TRUE(points > 50 && at < 5000);
}

int main(void)
{
    setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
    if (access("/dev/shm", W_OK) == 0)
        setenv("TMPDIR", "/dev/shm", 0);
    test_adopt_orphans();
    static const struct suite_test tests[] = {{"daemon", test_daemon}};
    return suite_run("engine kill matrix", tests, TF_ARRAY_LEN(tests));
}
