/* SPDX-License-Identifier: Apache-2.0 */
/* What engine.h promises, of every engine that can be had here. */
#include "common/base/alloc.h"
#include "common/base/cleanup.h"
#include "subcluster/engine/state/proc.h"
#include "tests/support/orphans.h"
#include "tests/support/suite.h"
#include "tests/unit/engine/fixture.h"

#include <sys/stat.h>
#include <unistd.h>

/* At most so many instances really ran; of those that are invented that cannot be told. */
static void check_ran(const struct fixture *f, size_t most)
{
    if (fixture_kind == STATION_PROCESS)
        CU_ASSERT_TRUE(fixture_lines(f, "RAN") <= most);
}

/* Instances that were told of, in whatever state. */
static size_t count_told(struct fixture *f)
{
    size_t n = 0;
    for (int state = TF_INSTANCE_STARTING; state <= TF_INSTANCE_GONE; state++)
        n += station_count(&f->s, (enum tf_instance_state)state);
    return n;
}

static void check_no_folder(const struct fixture *f)
{
    char path[200];
    struct stat st;
    snprintf(path, sizeof path, "%s/instances", f->state);
    if (fixture_kind != STATION_PROCESS)
        return;
    CU_ASSERT_EQUAL(stat(path, &st), 0);
    CU_ASSERT_EQUAL(st.st_nlink, 2);
}

static void test_unknown_until_initialised(void)
{
    struct fixture f;
    test_adopt_orphans();
    CU_ASSERT_TRUE_FATAL(test_make_folder(f.dir));
    station_config(&f.s, fixture_kind, f.dir);
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
    fixture_close(&f);
}

static void test_stop_before_start(void)
{
    struct fixture f;
    fixture_open(&f);
    fixture_stop(&f, 10, 5, 1000);
    const struct station_event *e = fixture_wait(&f, 5, TF_INSTANCE_EXITED);
    CU_ASSERT_EQUAL(e->event.cause, TF_CAUSE_NEVER_STARTED);
    station_clear(&f.s);
    fixture_start(&f, 10, 5, "echo life >>RAN");
    fixture_wait(&f, 5, TF_INSTANCE_EXITED);
    fixture_start(&f, 10, 6, "echo life >>RAN; exec sleep 1000"); /* and one right behind the start */
    fixture_stop(&f, 10, 6, 0);
    e = fixture_wait(&f, 6, TF_INSTANCE_EXITED);
    CU_ASSERT_TRUE(e->event.cause == TF_CAUSE_NEVER_STARTED || e->event.cause == TF_CAUSE_STOPPED);
    check_ran(&f, 1);
    fixture_close(&f);
}

static void test_deposed(void)
{
    struct fixture f;
    fixture_open(&f);
    struct station other;
    station_config(&other, fixture_kind, f.state);
    CU_ASSERT_TRUE_FATAL(station_open(&other));
    other.engine->adopt(other.engine, 11);
    CU_ASSERT_PTR_NOT_NULL(station_wait(&other, TF_ENGINE_LISTED));
    fixture_start(&f, 10, 0, "echo life >>RAN");
    const struct station_event *e = station_wait(&f.s, TF_ENGINE_STALE);
    CU_ASSERT_PTR_NOT_NULL_FATAL(e);
    CU_ASSERT_EQUAL(e->event.owner, 11);
    fixture_stop(&f, 10, 1, 0);
    f.s.engine->fence(f.s.engine, 10, f.uid, 7, 5);
    fixture_restart(&f, 12);
    CU_ASSERT_EQUAL(station_count(&f.s, TF_INSTANCE_EXITED), 0);
    check_ran(&f, 0);
    station_release(&other);
    fixture_close(&f);
}

static void test_refusals(void)
{
    struct fixture f;
    struct tf_engine_spec spec;
    fixture_open(&f);
    station_spec(&spec, f.uid, 0, "exit 0");
    tf_str_set(&spec.node, "../a");
    fixture_refused(&f, &spec, TF_REFUSED_NODE, "../a");
    tf_str_set(&spec.node, "b");
    spec.gpus = 0x10;
    fixture_refused(&f, &spec, TF_REFUSED_NODE, "it has 4");
    spec.gpus = 0;
    for (int i = 0; i < 17; i++)
        tf_strs_add(&spec.ports, "p");
    fixture_refused(&f, &spec, TF_REFUSED_POLICY, "ports");
    tf_strs_release(&spec.ports);
    f.s.engine->start(f.s.engine, 10, &spec);
    const struct station_event *e = station_wait_state(&f.s, &spec.id, TF_INSTANCE_EXITED);
    CU_ASSERT_PTR_NOT_NULL_FATAL(e);
    CU_ASSERT_EQUAL(e->event.exit_code, 0);
    tf_engine_spec_release(&spec);
    fixture_close(&f);
}

static void test_node_down(void)
{
    struct fixture f;
    fixture_open(&f);
    fixture_start(&f, 10, 0, "trap '' TERM; while :; do sleep 1000; done");
    fixture_wait(&f, 0, TF_INSTANCE_READY);
    station_clear(&f.s);
    fixture_sign(&f, "down", true);
    const struct station_event *e = fixture_wait(&f, 0, TF_INSTANCE_EXITED);
    CU_ASSERT_EQUAL(e->event.cause, TF_CAUSE_NODE_LOST);
    CU_ASSERT_PTR_NOT_NULL(station_wait_node(&f.s, "a", TF_NODE_LOST));
    CU_ASSERT_EQUAL(f.s.events.items[f.s.events.count - 1].node_state, TF_NODE_LOST); /* after the end */
    fixture_start(&f, 10, 1, "exit 0");
    e = fixture_wait(&f, 1, TF_INSTANCE_REFUSED);
    CU_ASSERT_EQUAL(e->event.refusal, TF_REFUSED_NODE);
    fixture_restart(&f, 11);
    CU_ASSERT_PTR_NOT_NULL(station_wait_node(&f.s, "a", TF_NODE_LOST));
    CU_ASSERT_PTR_NOT_NULL(station_wait_node(&f.s, "b", TF_NODE_READY));
    station_clear(&f.s);
    fixture_sign(&f, "down", false);
    CU_ASSERT_PTR_NOT_NULL(station_wait_node(&f.s, "a", TF_NODE_READY));
    fixture_start(&f, 11, 1, "exit 0");
    fixture_wait(&f, 1, TF_INSTANCE_EXITED);
    fixture_close(&f);
}

static void test_memory_lost(void)
{
    struct fixture f;
    char path[200];
    fixture_open(&f);
    snprintf(path, sizeof path, "%s/marker", f.state);
    station_close(&f.s);
    CU_ASSERT_EQUAL(unlink(path), 0);
    CU_ASSERT_TRUE_FATAL(station_open(&f.s));
    f.s.engine->adopt(f.s.engine, 11);
    CU_ASSERT_PTR_NOT_NULL(station_wait(&f.s, TF_ENGINE_UNKNOWN));
    fixture_start(&f, 11, 0, "echo life >>RAN");
    CU_ASSERT_PTR_NOT_NULL(station_wait(&f.s, TF_ENGINE_TROUBLE));
    check_ran(&f, 0);
    fixture_close(&f);
}

/* Many at once; the daemon goes away in the middle of starting and of stopping them. */
static void test_many(void)
{
    enum { COUNT = 60 };
    struct fixture f;
    fixture_open(&f);
    for (uint32_t i = 0; i < COUNT; i++)
        fixture_start(&f, 10, i, "echo life >>RAN; exec sleep 1000");
    fixture_wait(&f, 7, TF_INSTANCE_READY);
    fixture_restart(&f, 11);
    for (uint32_t i = 0; i < COUNT; i++)
        fixture_start(&f, 11, i, "echo life >>RAN; exec sleep 1000");
    for (uint32_t i = 0; i < COUNT; i++)
        fixture_wait(&f, i, TF_INSTANCE_READY);
    if (fixture_kind == STATION_PROCESS)
        fixture_wait_lines(&f, "RAN", COUNT);
    for (uint32_t i = 0; i < COUNT; i++)
        fixture_stop(&f, 11, i, 1000);
    fixture_wait(&f, 3, TF_INSTANCE_EXITED);
    fixture_restart(&f, 12);
    for (uint32_t i = 0; i < COUNT; i++)
        fixture_stop(&f, 12, i, 1000);
    for (uint32_t i = 0; i < COUNT; i++)
        fixture_wait(&f, i, TF_INSTANCE_EXITED);
    check_ran(&f, COUNT);
    station_clear(&f.s);
    f.s.engine->forget(f.s.engine, 12, f.uid, 7);
    for (uint32_t i = 0; i < COUNT; i++)
        fixture_wait(&f, i, TF_INSTANCE_GONE);
    fixture_restart(&f, 13);
    CU_ASSERT_EQUAL(count_told(&f), 0);
    check_no_folder(&f);
    fixture_close(&f);
}

static void test_life(void)
{
    struct fixture f;
    struct tf_engine_spec spec;
    fixture_open(&f);
    station_spec(&spec, f.uid, 3, "echo life >>RAN; exec sleep 1000");
    tf_strs_add(&spec.ports, "http");
    f.s.engine->start(f.s.engine, 10, &spec);
    fixture_wait(&f, 3, TF_INSTANCE_STARTING);
    const struct station_event *e = fixture_wait(&f, 3, TF_INSTANCE_READY);
    CU_ASSERT_EQUAL(e->event.port_count, 1);
    CU_ASSERT_STRING_EQUAL(e->ports[0].name, "http");
    CU_ASSERT_TRUE(e->ports[0].port >= 20000);
    CU_ASSERT_STRING_EQUAL(e->node, "a");
    CU_ASSERT_STRING_EQUAL(e->job, "search/rank");
    CU_ASSERT_EQUAL(e->event.gpus, 1);
    station_clear(&f.s);
    f.s.engine->start(f.s.engine, 10, &spec); /* again: its state is told, nothing is started */
    fixture_wait(&f, 3, TF_INSTANCE_READY);
    const struct tf_instance_id id = fixture_id(&f, 3);
    CU_ASSERT_PTR_NULL(station_has(&f.s, &id, TF_INSTANCE_STARTING));
    f.s.engine->forget(f.s.engine, 10, f.uid, 7); /* not while it runs */
    e = fixture_wait(&f, 3, TF_INSTANCE_REFUSED);
    CU_ASSERT_EQUAL(e->event.refusal, TF_REFUSED_RUNNING);
    fixture_stop(&f, 10, 3, 60 * TF_SECOND);
    e = fixture_wait(&f, 3, TF_INSTANCE_EXITED);
    CU_ASSERT_EQUAL(e->event.cause, TF_CAUSE_STOPPED);
    station_clear(&f.s);
    f.s.engine->start(f.s.engine, 10, &spec); /* after its end */
    fixture_wait(&f, 3, TF_INSTANCE_EXITED);
    station_clear(&f.s);
    fixture_stop(&f, 10, 3, 0); /* likewise */
    e = fixture_wait(&f, 3, TF_INSTANCE_EXITED);
    CU_ASSERT_EQUAL(e->event.cause, TF_CAUSE_STOPPED);
    check_ran(&f, 1);
    f.s.engine->forget(f.s.engine, 10, f.uid, 7);
    fixture_wait(&f, 3, TF_INSTANCE_GONE);
    tf_engine_spec_release(&spec);
    fixture_restart(&f, 10);
    CU_ASSERT_EQUAL(count_told(&f), 0);
    fixture_close(&f);
}

/* What the engine had comes back with the next daemon, exit records too, before the listing is complete. */
static void test_adoption(void)
{
    struct fixture f;
    fixture_open(&f);
    fixture_start(&f, 10, 0, "echo life >>RAN; exec sleep 1000");
    fixture_start(&f, 10, 1, "echo life >>RAN; exit 6");
    fixture_wait(&f, 0, TF_INSTANCE_READY);
    fixture_wait(&f, 1, TF_INSTANCE_EXITED);
    for (uint64_t owner = 11; owner < 14; owner++) {
        fixture_restart(&f, owner);
        CU_ASSERT_EQUAL(f.s.events.items[f.s.events.count - 1].event.type, TF_ENGINE_LISTED);
        const struct tf_instance_id ids[] = {fixture_id(&f, 0), fixture_id(&f, 1)};
        const struct station_event *e = station_has(&f.s, &ids[0], TF_INSTANCE_READY);
        CU_ASSERT_PTR_NOT_NULL_FATAL(e);
        CU_ASSERT_STRING_EQUAL(e->node, "a");
        CU_ASSERT_EQUAL(e->event.gpus, 1);
        e = station_has(&f.s, &ids[1], TF_INSTANCE_EXITED);
        CU_ASSERT_PTR_NOT_NULL_FATAL(e);
        CU_ASSERT_EQUAL(e->event.cause, TF_CAUSE_ENDED);
        CU_ASSERT_EQUAL(e->event.exit_code, 6);
        CU_ASSERT_STRING_EQUAL(e->job, "search/rank");
        fixture_start(&f, owner, 0, "echo life >>RAN; exec sleep 1000");
        fixture_start(&f, owner, 1, "echo life >>RAN; exit 6");
    }
    fixture_stop(&f, 13, 0, 0);
    fixture_restart(&f, 14); /* right behind the stop: it is carried out all the same */
    const struct station_event *e = fixture_wait(&f, 0, TF_INSTANCE_EXITED);
    CU_ASSERT_EQUAL(e->event.cause, TF_CAUSE_STOPPED);
    check_ran(&f, 2);
    fixture_close(&f);
}

/* The deadline holds whatever becomes of the daemon. */
static void test_fence(void)
{
    struct fixture f;
    fixture_open(&f);
    f.s.engine->fence(f.s.engine, 10, f.uid, 7, tf_boottime_ms() + TF_HOUR);
    fixture_start(&f, 10, 0, "echo life >>RAN; exec sleep 1000");
    fixture_wait(&f, 0, TF_INSTANCE_READY);
    fixture_restart(&f, 11);
    f.s.engine->fence(f.s.engine, 11, f.uid, 7, tf_boottime_ms() + 50); /* sooner */
    const struct station_event *e = fixture_wait(&f, 0, TF_INSTANCE_EXITED);
    CU_ASSERT_EQUAL(e->event.cause, TF_CAUSE_FENCED);
    fixture_close(&f);
}

static const struct suite_test tests[] = {
    {"unknown until initialised", test_unknown_until_initialised},
    {"life", test_life},
    {"adoption", test_adoption},
    {"stop before start", test_stop_before_start},
    {"deposed", test_deposed},
    {"refusals", test_refusals},
    {"node down", test_node_down},
    {"fence", test_fence},
    {"memory lost", test_memory_lost},
    {"many", test_many},
};

int main(int argc, char **argv)
{
    bool invented = argc > 1 && strcmp(argv[1], "virtual") == 0;
    fixture_kind = invented ? STATION_VIRTUAL : STATION_PROCESS;
    return suite_run(invented ? "virtual engine" : "process engine", tests, TF_ARRAY_LEN(tests));
}
