/* SPDX-License-Identifier: Apache-2.0 */
/* What is let in, what is refused, and with which words. */
#include "common/base/cleanup.h"
#include "tests/support/fed_driver/fed_driver.h"
#include "tests/support/suite.h"

#define PHASE(job, text) CU_ASSERT_STRING_EQUAL(drive_phase(&d, job), text)
#define SAID(words) CU_ASSERT_PTR_NOT_NULL_FATAL(strstr(d.said, words))
#define COMPLAINED(words) CU_ASSERT_PTR_NOT_NULL_FATAL(strstr(tf_buf_text(&d.complaints), words))

static void test_the_same_uid_gets_the_first_answer(void)
{
    struct drive d;
    drive_init(&d);
    drive_submit(&d, "rec/x", "uid=5 n=1");
    drive_submit(&d, "rec/x", "uid=5 n=1");
    drive_submit(&d, "rec/y", "uid=5 n=1");
    drive_expect(&d, "reply 1: created #5\nreply 2: created #5\nreply 3: CONFLICT\n");
    CU_ASSERT_EQUAL(fed_job_count(d.fed), 1);
    drive_crash(&d);
    drive_submit(&d, "rec/x", "uid=5 n=1");
    drive_expect(&d, "reply 4: created #5\n");
    drive_release(&d);
}

static void test_a_taken_name_says_what_to_do(void)
{
    struct drive d;
    drive_init(&d);
    drive_submit(&d, "rec/x", "n=1");
    drive_submit(&d, "rec/x", "n=1");
    drive_expect(&d, "reply 1: created #1\nreply 2: CONFLICT\n");
    SAID("fedctl apply");
    drive_submit(&d, "ads/x", "n=1");
    drive_expect(&d, "reply 3: created #3\n");
    drive_release(&d);
}

static void test_apply_creates_and_updates(void)
{
    struct drive d;
    drive_init(&d);
    drive_submit(&d, "rec/x", "apply n=1");
    drive_submit(&d, "rec/x", "apply n=1");
    drive_submit(&d, "rec/x", "apply n=2 gpus=4");
    drive_submit(&d, "rec/x", "apply n=2 gpus=4 label=a");
    drive_expect(&d,
                 "reply 1: created #1\nreply 2: unchanged #1\nreply 3: updated #1\nreply 4: updated #1\n");
    CU_ASSERT_EQUAL(drive_record(&d, "rec/x")->spec->group.shape.gpus, 4);
    drive_release(&d);
}

static void test_dry_run_changes_nothing(void)
{
    struct drive d;
    drive_init(&d);
    drive_submit(&d, "rec/x", "dry n=1");
    drive_submit(&d, "rec/y", "n=1");
    drive_submit(&d, "rec/y", "apply dry n=2");
    drive_expect(&d, "reply 1: created #1\nreply 2: created #2\nreply 3: updated #2\n");
    CU_ASSERT_EQUAL(fed_job_count(d.fed), 1);
    CU_ASSERT_EQUAL(drive_record(&d, "rec/y")->spec->elastic.min, 1);
    drive_release(&d);
}

/* A finished job is archived before another one takes its name, with one put. */
static void test_a_finished_job_gives_up_its_name(void)
{
    struct drive d;
    drive_init(&d);
    drive_cluster_up(&d, "bj-a", "4x8:H800");
    drive_submit(&d, "rec/x", "n=1");
    drive_end(&d, "bj-a", 1, 1, TF_END_FINISHED);
    tf_buf_clear(&d.log);
    drive_submit(&d, "rec/x", "n=1");
    drive_submit(&d, "rec/x", "apply n=1");
    drive_expect(&d, "reply 2: CONFLICT\nreply 3: unchanged #1\n");
    d.hold_archives = d.log_persists = true;
    drive_submit(&d, "rec/x", "apply n=2");
    drive_submit(&d, "rec/x", "apply n=2 uid=4");
    drive_submit(&d, "rec/x", "apply n=3 uid=6");
    drive_expect(&d, "archive rec/x Succeeded\nreply 6: UNAVAILABLE\n");
    drive_archived(&d);
    drive_expect(&d, "persist: job rec/x, epoch 2\n");
    drive_commit(&d);
    drive_expect(&d, "reply 4: created #4\nreply 5: created #4\nbj-a CHANGE 4: place rec/x e2 2\n");
    drive_release(&d);
}

static void test_restart_of_a_finished_job(void)
{
    struct drive d;
    drive_init(&d);
    drive_cluster_up(&d, "bj-a", "4x8:H800");
    drive_submit(&d, "rec/x", "n=1");
    drive_end(&d, "bj-a", 1, 1, TF_END_FAILED);
    tf_buf_clear(&d.log);
    drive_submit(&d, "rec/x", "apply restart n=1");
    drive_expect(&d, "archive rec/x Failed\nreply 2: created #2\nbj-a CHANGE 4: place rec/x e2 1\n");
    drive_release(&d);
}

static void test_a_crash_before_the_name_is_taken(void)
{
    struct drive d;
    drive_init(&d);
    drive_cluster_up(&d, "bj-a", "4x8:H800");
    drive_submit(&d, "rec/x", "n=1");
    drive_end(&d, "bj-a", 1, 1, TF_END_FINISHED);
    d.hold_archives = true;
    drive_submit(&d, "rec/x", "apply n=2");
    drive_crash(&d);
    PHASE("rec/x", "Succeeded");
    d.hold_archives = false;
    tf_buf_clear(&d.log);
    drive_submit(&d, "rec/x", "apply n=2 uid=2");
    drive_expect(&d, "reply 3: UNAVAILABLE\n"); /* the subcluster may know that it runs again */
    drive_cluster_up(&d, "bj-a", "4x8:H800");
    drive_submit(&d, "rec/x", "apply n=2 uid=2");
    drive_expect(&d, "archive rec/x Succeeded\nreply 4: created #2\nbj-a CHANGE 2: place rec/x e2 2\n");
    drive_release(&d);
}

static void test_an_unknown_class_names_the_known_ones(void)
{
    struct drive d;
    drive_init(&d);
    drive_submit(&d, "rec/x", "n=1 prio=urgent");
    drive_expect(&d, "reply 1: INVALID\n");
    COMPLAINED(
        "spec.priority: the federation has no class urgent; its classes are: offline, batch, train, online");
    drive_release(&d);
}

static void test_bad_sizes_are_complained_about(void)
{
    struct drive d;
    drive_init(&d);
    drive_submit(&d, "rec/x", "min=7 max=8 step=2");
    drive_expect(&d, "reply 1: INVALID\n");
    COMPLAINED("spec.elastic.min");
    drive_submit(&d, "../x", "n=1");
    drive_expect(&d, "reply 2: INVALID\n");
    drive_submit(&d, "rec/y", "n=1 uid=0");
    drive_expect(&d, "reply 3: INVALID\n");
    drive_release(&d);
}

static void test_fences_are_not_there_yet(void)
{
    struct drive d;
    drive_init(&d);
    drive_submit(&d, "rec/x", "n=1 lost=restart");
    drive_expect(&d, "reply 1: REFUSED\n");
    COMPLAINED("spec.placement.onClusterLost: FENCE_UNSUPPORTED");
    drive_release(&d);
}

/* Profiles do not carry it: the job would wait for ever, and be told that no node has the label. */
static void test_a_label_that_is_not_scheduled_by(void)
{
    struct drive d;
    drive_init(&d);
    drive_submit(&d, "rec/x", "n=1 node=zone");
    drive_expect(&d, "reply 1: REFUSED\n");
    COMPLAINED("spec.nodes.labels: jobs cannot ask for the node label \"zone\" here");
    drive_release(&d);
}

static void test_an_unknown_subcluster_is_a_warning(void)
{
    struct drive d;
    drive_init(&d);
    drive_cluster_up(&d, "bj-a", "4x8:H800");
    drive_submit(&d, "rec/x", "n=1 clusters=gz-z");
    drive_expect(&d, "reply 1: created #1\n");
    COMPLAINED("POLICY: no subcluster gz-z is registered");
    PHASE("rec/x", "Pending");
    CU_ASSERT_PTR_NOT_NULL(strstr(drive_record(&d, "rec/x")->message, "gz-z"));
    drive_release(&d);
}

static void limit(struct drive *d, struct tf_tenant_limits limits)
{
    struct tf_tenant_limits *own = tf_vec_add(&d->settings.tenants);
    *own = limits;
    own->tenant = tf_strdup("rec");
    own->max_priority = tf_strdup(limits.max_priority);
    struct fed_event event = {.kind = FED_EV_SETTINGS};
    tf_settings_copy(&event.settings, &d->settings);
    drive_step(d, event);
}

static void test_limits_of_a_tenant(void)
{
    struct drive d;
    drive_init(&d);
    limit(&d, (struct tf_tenant_limits){
                  .max_priority = "batch", .max_gpus = 16, .max_jobs = 3, .max_min_runtime = 60000});
    drive_submit(&d, "rec/a", "n=1 prio=train");
    COMPLAINED("spec.priority");
    drive_submit(&d, "rec/a", "n=3 gpus=8");
    COMPLAINED("maxGpus");
    drive_submit(&d, "rec/a", "n=1 minrun=60001");
    COMPLAINED("spec.minRuntime");
    drive_submit(&d, "rec/a", "n=1 gpus=8 prio=batch minrun=60000");
    drive_submit(&d, "rec/b", "n=1 gpus=8");
    drive_submit(&d, "rec/c", "n=1 gpus=1");
    COMPLAINED("maxGpus");
    drive_submit(&d, "rec/c", "n=1");
    drive_submit(&d, "rec/d", "n=1");
    COMPLAINED("maxJobs");
    drive_submit(&d, "ads/d", "n=9 gpus=8 prio=online");
    drive_expect(
        &d, "reply 1: REFUSED\nreply 2: REFUSED\nreply 3: REFUSED\nreply 4: created #4\nreply 5: created #5\n"
            "reply 6: REFUSED\nreply 7: created #7\nreply 8: REFUSED\nreply 9: created #9\n");
    drive_job(&d, FED_EV_DELETE, "rec/b");
    drive_submit(&d, "rec/c2", "n=1 gpus=8");
    drive_expect(&d, "archive rec/b Deleted\nreply 10: deleted #5\nreply 11: created #11\n");
    drive_crash(&d);
    drive_submit(&d, "rec/e", "n=1");
    drive_expect(&d, "reply 12: REFUSED\n");
    drive_release(&d);
}

/* What a job has already counts once when it is changed, and a change is bound like a submit. */
static void test_limits_bind_changes(void)
{
    struct drive d;
    drive_init(&d);
    limit(&d, (struct tf_tenant_limits){.max_priority = "batch", .max_gpus = 16, .max_jobs = 2});
    drive_submit(&d, "rec/a", "n=2 gpus=8");
    drive_submit(&d, "rec/a", "apply n=2 gpus=8 label=x");
    drive_submit(&d, "rec/a", "apply n=2 gpus=8 prio=train");
    COMPLAINED("spec.priority");
    drive_scale(&d, "rec/a", (struct tf_elastic){3, 3, 3});
    SAID("maxGpus");
    drive_expect(&d, "reply 1: created #1\nreply 2: updated #1\nreply 3: REFUSED\nreply 4: INVALID\n");
    drive_scale(&d, "rec/a", (struct tf_elastic){1, 1, 1});
    drive_submit(&d, "rec/b", "n=1 gpus=8");
    drive_scale(&d, "rec/a", (struct tf_elastic){2, 2, 2}); /* the room it gave up is another's */
    SAID("maxGpus");
    drive_expect(&d, "reply 5: done #1\nreply 6: created #6\nreply 7: INVALID\n");
    drive_job(&d, FED_EV_HOLD, "rec/b"); /* held, it is asked for still */
    drive_submit(&d, "rec/c", "n=1");
    COMPLAINED("maxJobs");
    drive_job(&d, FED_EV_DELETE, "rec/b");
    drive_scale(&d, "rec/a", (struct tf_elastic){2, 2, 2});
    drive_expect(&d, "reply 8: done #6\nreply 9: REFUSED\narchive rec/b Deleted\nreply 10: deleted #6\n"
                     "reply 11: done #1\n");
    drive_release(&d);
}

static void fill(struct drive *d, int32_t percent)
{
    drive_step(d, (struct fed_event){.kind = FED_EV_QUOTA, .quota_percent = percent});
}

static void test_a_full_store_takes_no_new_work(void)
{
    struct drive d;
    drive_init(&d);
    drive_cluster_up(&d, "bj-a", "4x8:H800");
    drive_submit(&d, "rec/x", "n=1 uid=1");
    tf_buf_clear(&d.log);
    fill(&d, 69);
    drive_expect(&d, "");
    fill(&d, 71);
    SAID("71 % full");
    tf_buf_clear(&d.log);
    fill(&d, 80);
    fill(&d, 93);
    drive_expect(&d, "");
    drive_submit(&d, "rec/y", "n=1");
    SAID("93 % full");
    drive_submit(&d, "rec/x", "n=1 uid=1");
    drive_job(&d, FED_EV_DELETE, "rec/x");
    drive_expect(
        &d,
        "reply 2: REFUSED\nreply 3: created #1\nreply 4: deleted #1\nbj-a CHANGE 3: release #1 e1 delete\n");
    fill(&d, 60);
    drive_submit(&d, "rec/z", "n=1");
    drive_expect(&d, "reply 5: created #5\nbj-a CHANGE 4: place rec/z e2 1\n");
    fill(&d, 75);
    SAID("75 % full");
    drive_release(&d);
}

static void test_nothing_is_answered_while_loading(void)
{
    struct drive d;
    drive_init(&d);
    struct fed *open = d.fed;
    d.fed = fed_create(1);
    drive_barrier(&d);
    drive_submit(&d, "rec/x", "n=1");
    drive_expect(&d, "reply 1: UNAVAILABLE\nreply 2: UNAVAILABLE\n");
    fed_destroy(open);
    drive_release(&d);
}

static const struct suite_test tests[] = {
    {"the same uid gets the first answer", test_the_same_uid_gets_the_first_answer},
    {"a taken name says what to do", test_a_taken_name_says_what_to_do},
    {"apply creates and updates", test_apply_creates_and_updates},
    {"a dry run changes nothing", test_dry_run_changes_nothing},
    {"a finished job gives up its name", test_a_finished_job_gives_up_its_name},
    {"restart of a finished job", test_restart_of_a_finished_job},
    {"a crash before the name is taken", test_a_crash_before_the_name_is_taken},
    {"an unknown class names the known ones", test_an_unknown_class_names_the_known_ones},
    {"bad sizes are complained about", test_bad_sizes_are_complained_about},
    {"fences are not there yet", test_fences_are_not_there_yet},
    {"a label that is not scheduled by", test_a_label_that_is_not_scheduled_by},
    {"an unknown subcluster is a warning", test_an_unknown_subcluster_is_a_warning},
    {"limits of a tenant", test_limits_of_a_tenant},
    {"limits bind changes", test_limits_bind_changes},
    {"a full store takes no new work", test_a_full_store_takes_no_new_work},
    {"nothing is answered while loading", test_nothing_is_answered_while_loading},
};

int main(void)
{
    return suite_run("submit", tests, TF_ARRAY_LEN(tests));
}
