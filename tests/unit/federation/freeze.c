/* SPDX-License-Identifier: Apache-2.0 */
/* Freezes: who is told, what they keep from being placed, when they end, what a new leader knows. */
#include "common/base/cleanup.h"
#include "tests/support/fed_driver/fed_driver.h"
#include "tests/support/suite.h"

#define PHASE(job, text) CU_ASSERT_STRING_EQUAL(drive_phase(&d, job), text)

static void test_told_and_stored(void)
{
    struct drive d;
    drive_init(&d);
    drive_cluster_up(&d, "bj-a", "2x8");
    drive_cluster_up(&d, "gz-b", "2x8");
    d.log_persists = true;
    drive_freeze(&d, true, TF_FROZEN_EVICTIONS, "bj-a", TF_HOUR);
    drive_expect(
        &d, "persist: freeze evictions/bj-a, cluster bj-a\nbj-a POLICY frozen:evictions\nreply 1: done\n");
    drive_freeze(&d, true, TF_FROZEN_ALL, NULL, 2 * TF_HOUR);
    CU_ASSERT_EQUAL(fed_freezes(d.fed)->count, 4);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(tf_buf_text(&d.log), "gz-b POLICY frozen:evictions frozen:growth frozen:moves\n"));
    tf_buf_clear(&d.log);
    drive_freeze(&d, false, TF_FROZEN_ALL, NULL, 0);
    CU_ASSERT_EQUAL(fed_freezes(d.fed)->count, 1);
    tf_buf_clear(&d.log);
    drive_freeze(&d, false, TF_FROZEN_MOVES, "bj-a", 0);
    drive_expect(&d, "reply 4: unchanged\n");
    drive_release(&d);
}

static void test_what_cannot_be(void)
{
    struct drive d;
    drive_init(&d);
    drive_cluster_up(&d, "bj-a", "2x8");
    drive_freeze(&d, true, TF_FROZEN_EVICTIONS, "mars", TF_HOUR);
    CU_ASSERT_EQUAL(d.reply.error.code, TF_ERR_NOT_FOUND);
    drive_freeze(&d, true, TF_FROZEN_EVICTIONS, NULL, 0);
    CU_ASSERT_EQUAL(d.reply.error.code, TF_ERR_INVALID);
    drive_freeze(&d, true, TF_FROZEN_EVICTIONS, NULL, TF_FREEZE_LONGEST + 1);
    CU_ASSERT_EQUAL(d.reply.error.code, TF_ERR_INVALID);
    drive_freeze(&d, true, (enum tf_frozen)0, NULL, TF_HOUR);
    CU_ASSERT_EQUAL(d.reply.error.code, TF_ERR_INVALID);
    drive_freeze(&d, true, (enum tf_frozen)5, NULL, TF_HOUR);
    CU_ASSERT_EQUAL(d.reply.error.code, TF_ERR_INVALID);
    CU_ASSERT_EQUAL(fed_freezes(d.fed)->count, 0);
    drive_release(&d);
}

static enum tf_reason explained(const struct drive *d, struct tf_wall *until)
{
    struct fed_explanation e = {0};
    CU_ASSERT_EQUAL_FATAL(fed_explain(d->fed, "rec", "x", d->now, &e, NULL), 0);
    enum tf_reason reason = e.rows.items[0].first.reason;
    *until = e.rows.items[0].first.until;
    fed_explanation_release(&e);
    return reason;
}

/* Frozen evictions: what is free may be had, what others hold may not, until the time is up. */
static void test_nobody_gives_way(void)
{
    struct drive d;
    struct tf_wall until;
    drive_init(&d);
    drive_cluster_up(&d, "bj-a", "core0:2x8 1x8");
    drive_freeze(&d, true, TF_FROZEN_EVICTIONS, "bj-a", TF_HOUR);
    int64_t end = d.now.wall.ms + TF_HOUR;
    drive_submit(&d, "rec/free", "n=1 gpus=8");
    PHASE("rec/free", "Pending in bj-a e1 x1");
    drive_submit(&d, "rec/x", "n=2 gpus=8 prio=online");
    PHASE("rec/x", "Pending");
    CU_ASSERT_EQUAL(explained(&d, &until), TF_REASON_FROZEN);
    CU_ASSERT_EQUAL(until.ms, end);
    drive_elapse(&d, TF_HOUR - 1);
    PHASE("rec/x", "Pending");
    drive_elapse(&d, 1);
    PHASE("rec/x", "Pending in bj-a e2 x2");
    CU_ASSERT_EQUAL(fed_freezes(d.fed)->count, 0);
    drive_release(&d);
}

static void test_a_new_leader_goes_on(void)
{
    struct drive d;
    drive_init(&d);
    drive_cluster_up(&d, "bj-a", "core0:2x8");
    drive_freeze(&d, true, TF_FROZEN_EVICTIONS, NULL, TF_HOUR);
    drive_crash(&d);
    drive_attach(&d, "bj-a", "north");
    CU_ASSERT_PTR_NOT_NULL(strstr(tf_buf_text(&d.log), "bj-a BEGIN frozen:evictions"));
    drive_profile(&d, "bj-a", "core0:2x8");
    drive_submit(&d, "rec/x", "n=2 gpus=8 prio=online");
    PHASE("rec/x", "Pending");
    drive_freeze(&d, false, TF_FROZEN_EVICTIONS, NULL, 0);
    PHASE("rec/x", "Pending in bj-a e1 x2");
    drive_crash(&d);
    CU_ASSERT_EQUAL(fed_freezes(d.fed)->count, 0);
    drive_release(&d);
}

/* For whoever asks later why nothing grew: a line for each verb, and for each end by itself. */
static void test_clusters_keep_it(void)
{
    struct drive d;
    TF_AUTO_BUF text = TF_BUF_INIT;
    drive_init(&d);
    drive_cluster_up(&d, "bj-a", "2x8");
    drive_freeze(&d, true, TF_FROZEN_ALL, NULL, TF_HOUR);
    drive_freeze(&d, false, TF_FROZEN_MOVES, NULL, 0);
    drive_freeze(&d, false, TF_FROZEN_GROWTH, "bj-a", 0); /* is frozen everywhere, and stays so */
    drive_freeze(&d, false, TF_FROZEN_GROWTH, NULL, 0);
    drive_elapse(&d, TF_HOUR);
    const struct tf_job_events *events = &fed_cluster_at(d.fed, 0).record->events;
    for (size_t i = 1; i < events->count; i++) /* the first: Registered */
        tf_buf_fmt(&text, "%s: %s\n", events->items[i].type, events->items[i].text);
    CU_ASSERT_STRING_EQUAL(tf_buf_text(&text), "Frozen: evictions, growth, moves for 3600 s: test\n"
                                               "Unfrozen: moves\nUnfrozen: growth\n"
                                               "Unfrozen: evictions: its time is up\n");
    drive_release(&d);
}

static const struct suite_test tests[] = {
    {"told and stored", test_told_and_stored},   {"what cannot be", test_what_cannot_be},
    {"nobody gives way", test_nobody_gives_way}, {"a new leader goes on", test_a_new_leader_goes_on},
    {"clusters keep it", test_clusters_keep_it},
};

int main(void)
{
    return suite_run("freeze", tests, TF_ARRAY_LEN(tests));
}
