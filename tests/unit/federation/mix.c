/* SPDX-License-Identifier: Apache-2.0 */
/* The mix of shapes that subclusters measure what they have idle against: what is in it, who is told, and how
 * often. */
#include "common/base/cleanup.h"
#include "tests/support/fed_driver/fed_driver.h"
#include "tests/support/suite.h"

static struct drive d;

/* What a cluster was told last, by one line a shape: "H800 8 GPUs min 2 step 2 x6 waits". */
static struct tf_shapes told;

static void keep_shapes(struct drive *drive, const struct fed_action *action, void *arg)
{
    const struct tf_down *down = &action->send;
    (void)drive, (void)arg;
    if (action->kind == FED_ACT_SEND && (down->kind == TF_DOWN_POLICY || down->kind == TF_DOWN_BEGIN))
        tf_shapes_copy(&told, &down->policy.shapes);
}

static void begin(void)
{
    drive_init(&d);
    d.on_action = keep_shapes;
    drive_cluster_up(&d, "bj-a", "2x8");
}

static void end(void)
{
    drive_release(&d);
    tf_shapes_release(&told);
}

static const struct tf_shape_asked *shape_of(int32_t gpus)
{
    tf_vec_each (shape, &told)
        if (shape->spec->group.shape.gpus == gpus)
            return shape;
    return NULL;
}

static void test_running_and_waiting_jobs_are_in_it(void)
{
    begin();
    drive_submit(&d, "rec/runs", "n=2 gpus=8 prio=batch");
    drive_submit(&d, "rec/waits", "n=1 gpus=4");
    drive_submit(&d, "rec/too", "n=2 gpus=4");
    drive_submit(&d, "rec/cpus", "n=2 gpus=0 cpu=1000000");
    tf_buf_clear(&d.log);
    drive_elapse(&d, 9 * TF_SECOND);
    drive_expect(&d, "");
    drive_elapse(&d, TF_SECOND);
    drive_expect(&d, "bj-a POLICY 3 shapes, 2 waiting\n");
    CU_ASSERT_EQUAL_FATAL(told.count, 3);
    CU_ASSERT_EQUAL(shape_of(8)->instances, 2);
    CU_ASSERT_FALSE(shape_of(8)->waits);
    CU_ASSERT_TRUE(shape_of(4)->waits);
    CU_ASSERT_EQUAL(shape_of(8)->spec->elastic.min, 2);
    CU_ASSERT_STRING_EQUAL(shape_of(8)->spec->priority, "batch");
    CU_ASSERT_EQUAL(shape_of(8)->spec->group.command.count, 0); /* nothing that decides nothing */
    end();
}

static void test_a_stream_that_comes_is_told_with_the_set(void)
{
    begin();
    drive_submit(&d, "rec/a", "n=1 gpus=4");
    drive_elapse(&d, TF_MINUTE);
    drive_crash(&d);
    tf_shapes_release(&told);
    drive_attach(&d, "bj-a", NULL);
    CU_ASSERT_EQUAL(told.count, 1);
    end();
}

static void test_it_is_told_of_what_may_come_there_only(void)
{
    begin();
    drive_submit(&d, "rec/elsewhere", "n=3 gpus=8 clusters=gz-b");
    drive_submit(&d, "rec/here", "n=3 gpus=4 clusters=bj-a");
    drive_elapse(&d, TF_MINUTE);
    CU_ASSERT_EQUAL_FATAL(told.count, 1);
    CU_ASSERT_EQUAL(told.items[0].spec->group.shape.gpus, 4);
    CU_ASSERT_EQUAL(told.items[0].spec->clusters.count, 0);
    end();
}

static void test_what_nobody_asks_for_any_more_leaves_it(void)
{
    begin();
    drive_submit(&d, "rec/a", "n=3 gpus=8 uid=7");
    drive_submit(&d, "rec/b", "n=3 gpus=8");
    drive_elapse(&d, TF_MINUTE);
    CU_ASSERT_EQUAL_FATAL(told.count, 1);
    tf_buf_clear(&d.log);
    drive_scale(&d, "rec/a", (struct tf_elastic){4, 4, 4}); /* another shape */
    drive_elapse(&d, TF_MINUTE);
    CU_ASSERT_EQUAL(told.count, 2);
    drive_job(&d, FED_EV_DELETE, "rec/a");
    drive_job(&d, FED_EV_DELETE, "rec/b");
    drive_elapse(&d, TF_HOUR);
    CU_ASSERT_EQUAL(told.count, 0);
    end();
}

/* Of many shapes only some are told, those that wait before those that run; and ones that change all the time
 * are told seldom. */
static void test_many(void)
{
    begin();
    size_t times = 0;
    for (int i = 1; i <= 200; i++) {
        TF_AUTO_FREE char *name = tf_asprintf("rec/j%d", i), *words = tf_asprintf("n=9 gpus=1 cpu=%d", i);
        drive_submit(&d, name, words);
        tf_buf_clear(&d.log);
        drive_elapse(&d, TF_MINUTE);
        times += strstr(tf_buf_text(&d.log), "POLICY") != NULL;
    }
    CU_ASSERT_TRUE(told.count > 16 && told.count < 64);
    CU_ASSERT_TRUE(times >= 10 && times <= 40); /* in 200 minutes */
    end();
}

/* As its subcluster will: of 5 and 6 free GPUs two go from the 6, so that two fours stay. */
static void test_the_leader_packs_by_it(void)
{
    drive_init(&d);
    drive_cluster_up(&d, "bj-a", "1x5 1x6");
    drive_submit(&d, "rec/fours", "n=4 gpus=4");
    drive_elapse(&d, 10 * TF_SECOND);
    drive_submit(&d, "rec/two", "n=1 gpus=2");
    drive_submit(&d, "rec/both", "n=2 gpus=4");
    CU_ASSERT_EQUAL(drive_record(&d, "rec/both")->placements.count, 1);
    drive_release(&d);
}

static const struct suite_test tests[] = {
    {"running and waiting jobs are in it", test_running_and_waiting_jobs_are_in_it},
    {"a stream that comes is told with the full set", test_a_stream_that_comes_is_told_with_the_set},
    {"it is told of what may come there only", test_it_is_told_of_what_may_come_there_only},
    {"what nobody asks for any more leaves it", test_what_nobody_asks_for_any_more_leaves_it},
    {"of many shapes some, and seldom", test_many},
    {"the leader packs by it", test_the_leader_packs_by_it},
};

int main(void)
{
    return suite_run("unit/federation/mix", tests, sizeof tests / sizeof tests[0]);
}
