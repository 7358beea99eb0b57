/* SPDX-License-Identifier: Apache-2.0 */
/* A running epoch some of whose instances are lost: which others leave, what is repaired, and for how long.
 */
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "subcluster/core/check.h"
#include "tests/support/sub_driver.h"
#include "tests/support/suite.h"

static struct sub_driver d;

static void node_in(const char *name, const char *path)
{
    tf_strs_add(&driver_node(&d, name, "H800", 8)->domains, path);
}

/* Four nodes, two in each domain of one plane. */
static void four_nodes(void)
{
    driver_init(&d);
    struct tf_plane *plane = tf_vec_add(&d.boot.planes);
    plane->name = tf_strdup("parameter");
    tf_strs_add(&plane->levels, "pod");
    node_in("n1", "p1");
    node_in("n2", "p1");
    node_in("n3", "p2");
    node_in("n4", "p2");
    driver_ready(&d);
}

static struct tf_entry entry_of(int32_t size, int32_t gpus, struct tf_elastic elastic)
{
    struct tf_entry entry = driver_place_entry(1, 5, size, gpus);
    tf_spec_own(&entry.spec)->elastic = elastic;
    tf_spec_own(&entry.spec)->grow = TF_GROW_NEVER; /* absorbs nothing */
    return entry;
}

static void start(struct tf_entry entry)
{
    driver_change(&d, entry);
    driver_all_ready(&d);
    driver_pass(&d, TF_SECOND);
    driver_clear(&d);
}

static void end(void)
{
    sub_check(d.sub);
    driver_release(&d);
}

static const struct tf_allocation *job(void)
{
    return driver_allocation(&d, 1);
}

static int32_t count_in(enum tf_member_state state)
{
    return driver_count_in(&d, 1, state);
}

static int32_t count_on(const char *node, enum tf_member_state state)
{
    int32_t count = 0;
    tf_vec_each (m, &job()->members)
        count += m->state == state && strcmp(m->node, node) == 0;
    return count;
}

static bool logged(const char *text)
{
    return strstr(tf_buf_text(&d.log), text) != NULL;
}

/* What the job's events will tell; "" if nothing. */
static const char *noted(void)
{
    const struct tf_notes *notes = &job()->notes;
    CU_ASSERT_EQUAL(job()->noted, notes->count);
    const struct tf_note *last = notes->count ? &notes->items[notes->count - 1] : NULL;
    CU_ASSERT_TRUE(!last || last->kind == TF_NOTE_LOST);
    return last ? last->text : "";
}

static void stopped(enum tf_member_state state)
{
    for (uint32_t i = 0; i < job()->members.count; i++)
        if (job()->members.items[i].state == state)
            driver_stopped(&d, 1, 5, i, job()->members.items[i].attempt);
}

/* Steps of two over four nodes: with the node goes one more, which leaves its node, and so its domain, free.
 */
static void test_a_step_leaves(void)
{
    four_nodes();
    start(entry_of(4, 8, (struct tf_elastic){2, 4, 2}));
    driver_node_state(&d, "n2", TF_NODE_LOST);
    CU_ASSERT_EQUAL(job()->phase, TF_ALLOCATION_RUNNING);
    CU_ASSERT_EQUAL(job()->size, 2);
    CU_ASSERT_EQUAL(count_on("n1", TF_MEMBER_LEAVING), 1);
    CU_ASSERT_EQUAL(count_in(TF_MEMBER_READY), 2);
    CU_ASSERT_EQUAL(job()->short_since.ms, 0);
    CU_ASSERT_EQUAL(job()->retries_used, 0);
    CU_ASSERT_STRING_EQUAL(noted(), "instance 1 on n2: node n2 is lost");
    tf_vec_each (m, &job()->members)
        if (m->state == TF_MEMBER_READY)
            CU_ASSERT_EQUAL(m->mark, 0); /* the surplus step is core now */
    CU_ASSERT(logged("size 2\n"));
    end();
}

/* Two instances a node in steps of two: a node takes whole steps with it, and nobody else goes. */
static void test_a_node_with_a_whole_step(void)
{
    four_nodes();
    start(entry_of(8, 4, (struct tf_elastic){2, 8, 2}));
    CU_ASSERT_STRING_EQUAL(noted(), "");
    driver_node_state(&d, "n3", TF_NODE_LOST);
    CU_ASSERT_STRING_EQUAL(noted(), "2 instances on n3: node n3 is lost");
    CU_ASSERT_EQUAL(job()->size, 6);
    CU_ASSERT_EQUAL(count_in(TF_MEMBER_LEAVING), 0);
    end();
}

/* Below min with belowMin: keep it is short, and is repaired when the node is back and nobody else wants it.
 */
static void test_short_and_repaired(void)
{
    four_nodes();
    start(entry_of(4, 8, (struct tf_elastic){4, 4, 1}));
    driver_node_state(&d, "n4", TF_NODE_LOST);
    CU_ASSERT_EQUAL(job()->size, 3);
    CU_ASSERT_NOT_EQUAL(job()->short_since.ms, 0);
    driver_pass(&d, TF_HOUR);
    CU_ASSERT_EQUAL(job()->phase, TF_ALLOCATION_RUNNING);
    CU_ASSERT(logged("send report 1/5 Running 3/3"));
    CU_ASSERT_EQUAL_FATAL(d.profile.shorts.count, 1);
    CU_ASSERT_EQUAL(d.profile.shorts.items[0].missing, 1);
    CU_ASSERT_EQUAL(d.profile.shorts.items[0].fits, 0);
    driver_node_state(&d, "n4", TF_NODE_READY);
    driver_pass(&d, TF_SECOND); /* on offer still: the leader counts it */
    CU_ASSERT_EQUAL(d.profile.shorts.items[0].fits, 1);
    driver_pass(&d, 3 * TF_SECOND);
    CU_ASSERT_EQUAL(d.profile.shorts.count, 0);
    driver_all_ready(&d);
    CU_ASSERT_EQUAL(job()->size, 4);
    CU_ASSERT_EQUAL(job()->members.count, 4);
    CU_ASSERT_EQUAL(job()->members.items[3].attempt, 2);
    CU_ASSERT_EQUAL(job()->short_since.ms, 0);
    end();
}

static struct tf_entry gang(int32_t size, enum tf_on_resize on_resize)
{
    struct tf_entry entry = entry_of(size, 8, (struct tf_elastic){size, size, size});
    tf_spec_own(&entry.spec)->below_min = TF_BELOW_MIN_STOP;
    tf_spec_own(&entry.spec)->on_resize = on_resize;
    return entry;
}

/* belowMin: stop. Nobody else leaves; what is lost is started elsewhere, and is out of the peers file until
 * then. */
static void test_a_gang_is_repaired_in_place(void)
{
    four_nodes();
    start(gang(3, TF_ON_RESIZE_NONE));
    driver_node_state(&d, "n1", TF_NODE_LOST);
    CU_ASSERT_EQUAL(job()->size, 3);
    CU_ASSERT_EQUAL(count_in(TF_MEMBER_READY), 2);
    CU_ASSERT(logged("size 2\n") && logged("start 1/5/0.2 n4"));
    driver_clear(&d);
    driver_all_ready(&d);
    CU_ASSERT(logged("size 3\n"));
    CU_ASSERT_EQUAL(count_in(TF_MEMBER_READY), 3);
    CU_ASSERT_EQUAL(job()->short_since.ms, 0);
    driver_pass(&d, TF_HOUR);
    CU_ASSERT_EQUAL(job()->phase, TF_ALLOCATION_RUNNING);
    end();
}

/* With onResize: restart all start again, once, with the replacement; what falls meanwhile costs no retry. */
static void test_a_gang_restarts_with_its_replacement(void)
{
    four_nodes();
    start(gang(4, TF_ON_RESIZE_RESTART));
    driver_node_state(&d, "n4", TF_NODE_LOST);
    driver_exits(&d, 1, 5, 0, 1, 9);
    driver_pass(&d, TF_MINUTE);
    CU_ASSERT_EQUAL(count_in(TF_MEMBER_MISSING), 1);
    CU_ASSERT_EQUAL(count_in(TF_MEMBER_BACKOFF), 1);
    CU_ASSERT_EQUAL(job()->retries_used, 0);
    driver_node_state(&d, "n4", TF_NODE_READY);
    driver_pass(&d, 4 * TF_SECOND);
    CU_ASSERT_EQUAL(count_in(TF_MEMBER_STOPPING), 2);
    stopped(TF_MEMBER_STOPPING);
    driver_all_ready(&d);
    CU_ASSERT_EQUAL(count_in(TF_MEMBER_READY), 4);
    CU_ASSERT(logged("start 1/5/0.2") && logged("start 1/5/1.2") && logged("start 1/5/2.2"));
    CU_ASSERT_EQUAL(job()->retries_used, 0);
    end();
}

/* There is no other place: after repairWait everything is given back. The wait goes on over a restart. */
static void test_a_gang_that_cannot_be_repaired(void)
{
    four_nodes();
    start(gang(4, TF_ON_RESIZE_NONE));
    driver_node_state(&d, "n4", TF_NODE_LOST);
    driver_pass(&d, TF_MINUTE);
    driver_crash(&d, true);
    driver_list(&d);
    driver_link(&d, true);
    driver_set(&d, NULL, 0);
    driver_pass(&d, 59 * TF_SECOND);
    CU_ASSERT_EQUAL(job()->phase, TF_ALLOCATION_RUNNING);
    driver_pass(&d, TF_SECOND);
    CU_ASSERT_EQUAL(job()->phase, TF_ALLOCATION_ENDING);
    CU_ASSERT_EQUAL(job()->ending.end, TF_END_LOST);
    stopped(TF_MEMBER_STOPPING);
    CU_ASSERT_EQUAL(job()->phase, TF_ALLOCATION_IDLE);
    end();
}

/* The replacement fails when the wait is over: it was the last. */
static void test_a_replacement_fails_late(void)
{
    four_nodes();
    start(gang(3, TF_ON_RESIZE_NONE));
    driver_node_state(&d, "n1", TF_NODE_LOST);
    driver_pass(&d, 3 * TF_MINUTE);
    CU_ASSERT_EQUAL(job()->phase, TF_ALLOCATION_RUNNING);
    driver_exits(&d, 1, 5, 0, 2, 1);
    driver_pass(&d, TF_SECOND);
    CU_ASSERT_EQUAL(job()->phase, TF_ALLOCATION_ENDING);
    end();
}

/* A burst: two nodes within failureSettle. It shrinks twice and restarts once. */
static void test_one_restart_for_a_burst(void)
{
    four_nodes();
    struct tf_entry entry = entry_of(4, 8, (struct tf_elastic){1, 4, 1});
    tf_spec_own(&entry.spec)->on_resize = TF_ON_RESIZE_RESTART;
    tf_spec_own(&entry.spec)->below_min = TF_BELOW_MIN_STOP;
    start(entry);
    driver_node_state(&d, "n1", TF_NODE_LOST);
    driver_pass(&d, 3 * TF_SECOND);
    driver_node_state(&d, "n2", TF_NODE_LOST);
    driver_exits(&d, 1, 5, 2, 1, 9); /* it cannot go on without them */
    CU_ASSERT_EQUAL(job()->size, 2);
    CU_ASSERT_EQUAL(job()->retries_used, 0);
    driver_pass(&d, 4 * TF_SECOND);
    CU_ASSERT(!logged("stop"));
    driver_pass(&d, TF_SECOND);
    CU_ASSERT_EQUAL(count_in(TF_MEMBER_STOPPING), 1);
    stopped(TF_MEMBER_STOPPING);
    driver_all_ready(&d);
    CU_ASSERT(logged("start 1/5/2.2") && logged("start 1/5/3.2"));
    CU_ASSERT_EQUAL(count_in(TF_MEMBER_READY), 2);
    driver_clear(&d);
    driver_pass(&d, TF_MINUTE);
    CU_ASSERT(!logged("start"));
    end();
}

/* A loss rolls growth back: what had not joined does not count for the new size. */
static void test_while_it_grows(void)
{
    four_nodes();
    start(entry_of(2, 8, (struct tf_elastic){2, 4, 1}));
    driver_change(&d, entry_of(2, 8, (struct tf_elastic){4, 4, 1}));
    CU_ASSERT_EQUAL(count_in(TF_MEMBER_PLANNED), 2);
    driver_node_state(&d, "n1", TF_NODE_LOST);
    CU_ASSERT_EQUAL(job()->size, 1);
    CU_ASSERT_EQUAL(count_in(TF_MEMBER_LEAVING), 2);
    stopped(TF_MEMBER_LEAVING);
    driver_pass(&d, 4 * TF_SECOND);
    driver_all_ready(&d);
    CU_ASSERT_EQUAL(job()->size, 3);
    end();
}

/* Once a member is done the rest cannot be done elsewhere: the epoch ends, and the job begins anew. */
static void test_when_some_are_done(void)
{
    four_nodes();
    start(entry_of(4, 8, (struct tf_elastic){1, 4, 1}));
    driver_exits(&d, 1, 5, 0, 1, 0);
    driver_node_state(&d, "n4", TF_NODE_LOST);
    CU_ASSERT_EQUAL(job()->ending.end, TF_END_LOST);
    end();
}

static const struct suite_test tests[] = {
    {"with a lost one goes what its step asks for", test_a_step_leaves},
    {"a node that had a whole step", test_a_node_with_a_whole_step},
    {"short, and repaired", test_short_and_repaired},
    {"a gang is repaired in place", test_a_gang_is_repaired_in_place},
    {"a gang restarts with its replacement", test_a_gang_restarts_with_its_replacement},
    {"a gang that cannot be repaired", test_a_gang_that_cannot_be_repaired},
    {"a replacement that fails late", test_a_replacement_fails_late},
    {"one restart for a burst", test_one_restart_for_a_burst},
    {"a loss while it grows", test_while_it_grows},
    {"a loss when some are done", test_when_some_are_done},
};

int main(void)
{
    return suite_run("subcluster loss", tests, TF_ARRAY_LEN(tests));
}
