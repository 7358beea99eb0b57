/* SPDX-License-Identifier: Apache-2.0 */
/* Why a job is where it is, and the decision trace, compared verbatim. */
#include "common/base/cleanup.h"
#include "tests/support/fed_driver/fed_driver.h"
#include "tests/support/suite.h"

static struct fed_explanation ask(struct drive *d, const char *name)
{
    struct fed_explanation e = {0};
    struct tf_error err = TF_ERROR_INIT;
    CU_ASSERT_EQUAL_FATAL(fed_explain(d->fed, "rec", name, d->now, &e, &err), 0);
    return e;
}

static void answers(struct drive *d, const char *name, const char *expected)
{
    struct fed_explanation e = ask(d, name);
    if (strcmp(e.answer, expected) != 0)
        printf("\ngot %s\n", e.answer);
    CU_ASSERT_STRING_EQUAL(e.answer, expected);
    fed_explanation_release(&e);
}

/* The reasons of all rows: "bj-a GPUS 1/2; gz-b POLICY 0/2". */
static void reasons(struct drive *d, const char *name, const char *expected)
{
    struct fed_explanation e = ask(d, name);
    TF_AUTO_BUF text = TF_BUF_INIT;
    tf_vec_each (row, &e.rows) {
        CU_ASSERT_PTR_NOT_NULL(row->first.text);
        tf_buf_fmt(&text, "%s%s %s %d/%d", text.len ? "; " : "", row->cluster,
                   tf_reason_name(row->first.reason), row->has, row->asked);
    }
    if (strcmp(tf_buf_text(&text), expected) != 0)
        printf("\ngot %s\n", tf_buf_text(&text));
    CU_ASSERT_STRING_EQUAL(tf_buf_text(&text), expected);
    fed_explanation_release(&e);
}

static void test_reasons_of_waiting(void)
{
    struct drive d;
    drive_init(&d);
    drive_submit(&d, "rec/x", "n=2 gpus=8 model=H800");
    answers(&d, "x",
            "rec/x waits (NO_CLUSTERS): no subcluster is registered; one is from its first attach on");
    drive_attach(&d, "a", "north");
    reasons(&d, "x", "a NOT_CONSIDERED_YET 0/2");
    drive_profile(&d, "a", "1x8:H800");
    drive_cluster_up(&d, "b", "4x4:H800");
    drive_cluster_up(&d, "c", "4x8:A100");
    drive_cluster_up(&d, "d", "4x8:H800");
    reasons(&d, "x", "");
    drive_submit(&d, "rec/y", "n=2 gpus=8 model=H800 clusters=a|b|c|d|zz");
    drive_cluster(&d, FED_EV_CORDON, "d", true);
    drive_submit(&d, "rec/z", "n=2 gpus=8 model=H800 clusters=a|b|c|d|zz");
    reasons(&d, "z",
            "a NOT_ENOUGH_NODES 1/2; b NODE_TOO_SMALL 0/2; c NO_SUCH_MODEL 0/2; d CLUSTER_CORDONED 0/2; zz "
            "POLICY 0/2");
    drive_submit(&d, "rec/w", "n=4 gpus=8 model=H800 clusters=d");
    reasons(&d, "w", "a POLICY 0/4; b POLICY 0/4; c POLICY 0/4; d CLUSTER_CORDONED 0/4");
    drive_cluster(&d, FED_EV_CORDON, "d", false);
    reasons(&d, "w", "a POLICY 0/4; b POLICY 0/4; c POLICY 0/4; d IN_FLIGHT 0/4");
    drive_detach(&d, "d");
    reasons(&d, "w", "a POLICY 0/4; b POLICY 0/4; c POLICY 0/4; d NOT_CONSIDERED_YET 0/4");
    drive_elapse(&d, TF_MINUTE);
    reasons(&d, "w", "a POLICY 0/4; b POLICY 0/4; c POLICY 0/4; d CLUSTER_LOST 0/4");
    drive_release(&d);
}

static void waits_there(struct drive *d, enum tf_reason reason, const char *text)
{
    struct fed_explanation e = ask(d, "x");
    CU_ASSERT_EQUAL_FATAL(e.rows.count, 1);
    CU_ASSERT_EQUAL(e.rows.items[0].first.reason, reason);
    CU_ASSERT_STRING_EQUAL(e.rows.items[0].first.text, text);
    fed_explanation_release(&e);
}

/* What keeps the room is named, and not whatever else would be in the way if it were not there. */
static void test_nodes_that_are_emptied(void)
{
    struct drive d;
    drive_init(&d);
    drive_cluster_up(&d, "a", "1x8");
    drive_submit(&d, "rec/x", "n=3 gpus=8");
    drive_profile(&d, "a", "1x8 emptied2:8:llm/big");
    waits_there(
        &d, TF_REASON_CLAIMED,
        "it would fit with 2 nodes that are being emptied for llm/big (migration e0000000); until that "
        "is over they take nothing else");
    drive_profile(&d, "a", "1x8 emptied1:8:- emptied1:8:llm/big");
    waits_there(&d, TF_REASON_CLAIMED,
                "it would fit with 2 nodes that are being emptied for no job (migration e0000000), llm/big "
                "(migration e0010000); until that is over they take nothing else");
    drive_profile(&d, "a", "1x8 emptied2:8:rec/x");
    waits_there(
        &d, TF_REASON_IN_FLIGHT,
        "it would fit with 2 nodes that are being emptied for rec/x (migration e0000000); until that is "
        "over they take nothing");
    drive_profile(&d, "a", "1x8 emptied1:8:llm/big"); /* which would not do */
    reasons(&d, "x", "a NOT_ENOUGH_NODES 1/3");
    drive_profile(&d, "a", "1x8 emptied2:4:llm/big");
    reasons(&d, "x", "a NOT_ENOUGH_NODES 1/3");
    drive_release(&d);
}

static void test_what_is_scattered(void)
{
    static const struct {
        enum tf_consolidate mode;
        const char *rows;
        bool told;
    } cases[] = {
        {TF_CONSOLIDATE_OFF, "half0:2x8", true},
        {TF_CONSOLIDATE_OFF, "half0:1x8 core0:1x8", false}, /* too few are free */
        {TF_CONSOLIDATE_ON, "half0:2x8", false},            /* it is made by itself */
    };
    for (size_t i = 0; i < TF_ARRAY_LEN(cases); i++) {
        struct drive d;
        drive_init(&d);
        d.settings.policy.consolidate = cases[i].mode;
        struct fed_event event = {.kind = FED_EV_SETTINGS};
        tf_settings_copy(&event.settings, &d.settings);
        drive_step(&d, event);
        drive_cluster_up(&d, "a", cases[i].rows);
        drive_submit(&d, "rec/x", "n=1 gpus=8 prio=offline");
        struct fed_explanation e = ask(&d, "x");
        CU_ASSERT_EQUAL_FATAL(e.rows.count, 1);
        const char *unblock = e.rows.items[0].first.unblock;
        CU_ASSERT_EQUAL(strstr(unblock, "`fedctl defrag plan --cluster a --for rec/x`") != NULL,
                        cases[i].told);
        fed_explanation_release(&e);
        drive_release(&d);
    }
}

static void test_where_it_can_never_be(void)
{
    struct drive d;
    drive_init(&d);
    drive_cluster_up(&d, "a", "1x8");
    drive_cluster_up(&d, "b", "1x8");
    drive_submit(&d, "rec/x", "n=2 gpus=8 clusters=a");
    TF_AUTO_FREE char *bar = fed_placement_bar(d.fed, "rec", "x", "b");
    CU_ASSERT_STRING_EQUAL(
        bar, "rec/x can never be placed in b: the job's placement does not name it; to unblock: "
             "another spec.placement");
    CU_ASSERT_PTR_NULL(fed_placement_bar(d.fed, "rec", "x", "a"));
    CU_ASSERT_PTR_NULL(fed_placement_bar(d.fed, "rec", "none", "b"));
    CU_ASSERT_PTR_NULL(fed_placement_bar(d.fed, "rec", "x", "none"));
    drive_release(&d);
}

static void test_a_refusal_says_until_when(void)
{
    struct drive d;
    drive_init(&d);
    drive_cluster_up(&d, "a", "4x8");
    drive_submit(&d, "rec/x", "n=1 gpus=8");
    drive_ended(
        &d, "a", 1, 1,
        (struct tf_ended){.end = TF_END_REFUSED, .reason = TF_REASON_CPU_MEMORY, .message = "no room"});
    struct fed_explanation e = ask(&d, "x");
    CU_ASSERT_EQUAL_FATAL(e.rows.count, 1);
    CU_ASSERT_EQUAL(e.rows.items[0].first.reason, TF_REASON_REFUSED);
    CU_ASSERT_EQUAL(e.rows.items[0].first.until.ms, d.now.wall.ms + 1000);
    CU_ASSERT_STRING_EQUAL(e.rows.items[0].first.text,
                           "it refused the job (CPU_MEMORY: no room), 1 time in a row");
    fed_explanation_release(&e);
    drive_release(&d);
}

/* All that is in the way: "a CLUSTER_CORDONED [uncordon], GPUS [...]". */
static void blockers(struct drive *d, const char *name, const char *expected)
{
    struct fed_explanation e = ask(d, name);
    TF_AUTO_BUF text = TF_BUF_INIT;
    tf_vec_each (row, &e.rows) {
        tf_buf_fmt(&text, "%s%s %s [%s]", text.len ? "; " : "", row->cluster,
                   tf_reason_name(row->first.reason), row->first.unblock ? row->first.unblock : "");
        tf_vec_each (b, &row->more)
            tf_buf_fmt(&text, ", %s [%s]", tf_reason_name(b->reason), b->unblock ? b->unblock : "");
    }
    if (strcmp(tf_buf_text(&text), expected) != 0)
        printf("\ngot %s\n", tf_buf_text(&text));
    CU_ASSERT_STRING_EQUAL(tf_buf_text(&text), expected);
    fed_explanation_release(&e);
}

static void test_all_that_is_in_the_way(void)
{
    struct drive d;
    drive_init(&d);
    drive_cluster_up(&d, "a", "2x8:H800");
    drive_submit(&d, "rec/x", "n=2 gpus=8 model=H800 prio=online");
    drive_submit(&d, "rec/y", "n=3 gpus=8 model=H800");
    blockers(&d, "y", "a NOT_ENOUGH_NODES [spec.instances of at most 2, or more such nodes]");
    drive_cluster(&d, FED_EV_CORDON, "a", true);
    blockers(&d, "y",
             "a CLUSTER_CORDONED [`fedctl uncordon cluster a`], NOT_ENOUGH_NODES [spec.instances of at most "
             "2, or more "
             "such nodes]");
    drive_detach(&d, "a");
    drive_elapse(&d, TF_MINUTE); /* what is not known is not counted */
    blockers(&d, "y",
             "a CLUSTER_LOST [a subclusterd of it that runs and reaches this federation], CLUSTER_CORDONED "
             "[`fedctl uncordon cluster a`]");
    drive_submit(&d, "rec/z", "n=3 gpus=8 clusters=b");
    blockers(&d, "z",
             "a POLICY [another spec.placement]; b POLICY [its first attach, or another spec.placement]");
    drive_release(&d);
}

static void test_a_refusal_and_no_room(void)
{
    struct drive d;
    drive_init(&d);
    drive_cluster_up(&d, "a", "1x8");
    drive_submit(&d, "rec/x", "n=1 gpus=8");
    drive_ended(&d, "a", 1, 1,
                (struct tf_ended){.end = TF_END_REFUSED, .reason = TF_REASON_ENGINE, .message = "no image"});
    blockers(&d, "x", "a REFUSED [time: more room would not help]");
    drive_submit(&d, "rec/y", "n=1 gpus=8 prio=online");
    blockers(
        &d, "x",
        "a IN_FLIGHT [its next profile, in a moment: what is left then is considered], REFUSED [time: more "
        "room would not help]");
    drive_release(&d);
}

static void test_refused_by_the_brake(void)
{
    struct drive d;
    drive_init(&d);
    drive_cluster_up(&d, "a", "1x8");
    drive_submit(&d, "rec/x", "n=1 gpus=8");
    drive_ended(&d, "a", 1, 1,
                (struct tf_ended){.end = TF_END_REFUSED, .reason = TF_REASON_BRAKE, .message = "too many"});
    blockers(&d, "x", "a BRAKE [time, or any change of what is free there]");
    drive_release(&d);
}

/* What is in its time slice holds until that is over: the first one, of those that would give way then. */
static void test_protected_until(void)
{
    struct drive d;
    drive_init(&d);
    struct tf_settings longer = {0};
    tf_settings_copy(&longer, &d.settings);
    longer.max_min_runtime = 24 * TF_HOUR;
    drive_step(&d, (struct fed_event){.kind = FED_EV_SETTINGS, .settings = longer});
    drive_cluster_up(&d, "a", "2x8");
    drive_submit(&d, "rec/kept", "n=1 gpus=8 minrun=7200000");
    drive_report(&d, "a", 1, 1, TF_PHASE_RUNNING, 1);
    int64_t started = d.now.wall.ms;
    drive_elapse(&d, TF_MINUTE);
    drive_submit(&d, "rec/short", "n=1 gpus=8 minrun=3600000");
    drive_report(&d, "a", 2, 2, TF_PHASE_RUNNING, 1);
    drive_profile(&d, "a", "protected3:2x8");
    drive_submit(&d, "rec/x", "n=1 gpus=8 prio=train");
    struct fed_explanation e = ask(&d, "x");
    CU_ASSERT_EQUAL_FATAL(e.rows.count, 1);
    CU_ASSERT_EQUAL(e.rows.items[0].first.reason, TF_REASON_PROTECTED);
    CU_ASSERT_EQUAL(e.rows.items[0].first.until.ms, started + TF_MINUTE + TF_HOUR);
    CU_ASSERT_PTR_NOT_NULL(e.rows.items[0].first.unblock);
    fed_explanation_release(&e);
    drive_elapse(&d, TF_HOUR + TF_MINUTE); /* the other one is next */
    e = ask(&d, "x");
    CU_ASSERT_EQUAL(e.rows.items[0].first.until.ms, started + 2 * TF_HOUR);
    fed_explanation_release(&e);
    drive_release(&d);
}

static void test_answers_through_a_life(void)
{
    struct drive d;
    drive_init(&d);
    drive_submit(&d, "rec/x", "n=2 gpus=8");
    drive_job(&d, FED_EV_HOLD, "rec/x");
    answers(&d, "x", "rec/x is held: `fedctl resume rec/x` lets it wait in its old place");
    drive_job(&d, FED_EV_RESUME, "rec/x");
    drive_cluster_up(&d, "a", "4x8");
    answers(&d, "x",
            "rec/x was placed in a at 2023-11-14 22:13:20 UTC (epoch 1, size 2) and waits for it to accept");
    drive_report(&d, "a", 1, 1, TF_PHASE_STARTING, 1);
    answers(&d, "x",
            "rec/x is starting in a since 2023-11-14 22:13:20 UTC (epoch 1): 1 of 2 instances are ready");
    drive_report(&d, "a", 1, 1, TF_PHASE_RUNNING, 2);
    answers(&d, "x", "rec/x runs in a since 2023-11-14 22:13:20 UTC (epoch 1, size 2)");
    drive_job(&d, FED_EV_HOLD, "rec/x");
    answers(&d, "x", "rec/x is stopping in a (epoch 1, told so because of: hold)");
    drive_ended(&d, "a", 1, 1, (struct tf_ended){.end = TF_END_FAILED, .message = "exit code 3"});
    answers(&d, "x", "rec/x has ended: Failed at 2023-11-14 22:13:20 UTC: exit code 3");
    struct fed_explanation e = {0};
    struct tf_error err = TF_ERROR_INIT;
    CU_ASSERT_EQUAL(fed_explain(d.fed, "rec", "none", d.now, &e, &err), -1);
    CU_ASSERT_EQUAL(err.code, TF_ERR_NOT_FOUND);
    drive_release(&d);
}

/* Scaled down and up again it does not grow at once, whatever is free: the answer says so. */
static void test_why_no_larger(void)
{
    struct drive d;
    drive_init(&d);
    drive_cluster_up(&d, "a", "2x8");
    drive_submit(&d, "rec/x", "min=2 max=4 step=1 gpus=8");
    drive_report(&d, "a", 1, 1, TF_PHASE_RUNNING, 2);
    answers(&d, "x",
            "rec/x runs in a since 2023-11-14 22:13:20 UTC (epoch 1, size 2, of at most 4: it grows when a "
            "step of "
            "1 is free, but not within 5m (absorbCooldown) of having been made smaller)");
    drive_release(&d);
}

static void test_the_decision_trace(void)
{
    struct drive d;
    drive_init(&d);
    drive_cluster_up(&d, "bj-a", "2x8:H800");
    drive_cluster_up(&d, "gz-b", "6x8:H800");
    drive_cluster_up(&d, "hz-c", "9x8:H800");
    drive_cluster(&d, FED_EV_CORDON, "hz-c", true);
    d.log_traces = true;
    tf_buf_clear(&d.log);
    drive_elapse(&d, 20000);
    drive_submit(&d, "search/rank", "n=4 gpus=8 model=H800 prio=online");
    drive_submit(&d, "search/more", "n=4 gpus=8 model=H800|A100 prio=online");
    drive_submit(&d, "search/feed", "min=1 max=8 step=1 gpus=8");
    drive_end(&d, "gz-b", 2, 1, TF_END_FINISHED);
    drive_expect(&d, "trace: [   120.000] job search/rank needs 4x8 H800 core(online): bj-a free 2 < 4; gz-b "
                     "free 6 >= 4; hz-c "
                     "CLUSTER_CORDONED -> gz-b, epoch 1, size 4\n"
                     "reply 2: created #2\ngz-b CHANGE 2: place search/rank e1 4 H800\n"
                     "trace: [   120.000] job search/more needs 4x8 H800|A100 core(online): bj-a free 2 < 4; "
                     "gz-b free 2 < 4; "
                     "hz-c CLUSTER_CORDONED -> waits\n"
                     "reply 3: created #3\n"
                     "trace: [   120.000] job search/feed needs 1x8 core(offline): bj-a free 2 >= 1; gz-b "
                     "free 2 >= 1; hz-c "
                     "CLUSTER_CORDONED -> bj-a, epoch 2, size 2\n"
                     "reply 4: created #4\nbj-a CHANGE 2: place search/feed e2 2 H800\n"
                     "trace: [   120.000] job search/rank epoch 1 in gz-b is over: finished\n"
                     "trace: [   120.000] job search/more needs 4x8 H800|A100 core(online): bj-a free < 4; "
                     "gz-b free 6 >= 4; "
                     "hz-c CLUSTER_CORDONED -> gz-b, epoch 3, size 4\n"
                     "gz-b CHANGE 3: stored #2 e1; place search/more e3 4 H800\n");
    struct fed_explanation e = {0};
    CU_ASSERT_EQUAL(fed_explain(d.fed, "search", "more", d.now, &e, NULL), 0);
    CU_ASSERT_EQUAL(e.decisions.count, 2);
    fed_explanation_release(&e);
    drive_release(&d);
}

static const struct suite_test tests[] = {
    {"reasons of waiting", test_reasons_of_waiting},
    {"nodes that are emptied", test_nodes_that_are_emptied},
    {"what is scattered", test_what_is_scattered},
    {"where it can never be", test_where_it_can_never_be},
    {"a refusal says until when", test_a_refusal_says_until_when},
    {"all that is in the way", test_all_that_is_in_the_way},
    {"a refusal, and no room besides", test_a_refusal_and_no_room},
    {"refused by the brake", test_refused_by_the_brake},
    {"protected, until when", test_protected_until},
    {"answers through a life", test_answers_through_a_life},
    {"why it is no larger", test_why_no_larger},
    {"the decision trace", test_the_decision_trace},
};

int main(void)
{
    return suite_run("explain", tests, TF_ARRAY_LEN(tests));
}
