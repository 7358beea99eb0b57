/* SPDX-License-Identifier: Apache-2.0 */
/* Streams: who may attach, what an attach gets, gaps, orphans, the unknown, the lost, restored stores. */
#include "common/base/cleanup.h"
#include "tests/support/fed_driver/fed_driver.h"
#include "tests/support/suite.h"

#define PHASE(job, text) CU_ASSERT_STRING_EQUAL(drive_phase(&d, job), text)
#define LOGGED(words) (strstr(tf_buf_text(&d.log), words) != NULL)
#define SAID(words) CU_ASSERT_PTR_NOT_NULL_FATAL(strstr(d.said, words))

static struct tf_hello hello(const char *name)
{
    return (struct tf_hello){.protocol = TF_PROTOCOL_VERSION, .name = tf_strdup(name), .owner_revision = 1};
}

/* ---- hello ---- */

static void test_another_protocol_is_refused_by_name(void)
{
    struct drive d;
    drive_init(&d);
    struct tf_hello h = hello("bj-a");
    h.protocol = 2;
    drive_hello(&d, "bj-a", h);
    SAID("subcluster bj-a speaks protocol version 2");
    CU_ASSERT_EQUAL(fed_cluster_count(d.fed), 0);
    drive_release(&d);
}

static void test_a_bad_name_is_refused(void)
{
    struct drive d;
    drive_init(&d);
    drive_hello(&d, "x", hello("../../x"));
    CU_ASSERT_EQUAL(drive_find(&d, "x")->link, 0);
    struct tf_hello none = hello("x");
    free(none.name);
    none.name = NULL;
    drive_hello(&d, "x", none);
    SAID("without a name");
    CU_ASSERT_EQUAL(fed_cluster_count(d.fed), 0);
    drive_release(&d);
}

static void test_the_newer_owner_of_a_name_wins(void)
{
    struct drive d;
    drive_init(&d);
    struct tf_hello first = hello("bj-a"), older = hello("bj-a"), newer = hello("bj-a");
    first.owner_revision = 5;
    older.owner_revision = 4;
    newer.owner_revision = 6;
    drive_hello(&d, "bj-a", first);
    uint64_t kept = drive_find(&d, "bj-a")->link;
    drive_hello(&d, "other", older);
    SAID("is its newer owner (revision 5, yours is 4)");
    CU_ASSERT_EQUAL(fed_cluster_at(d.fed, 0).link, kept);
    drive_hello(&d, "other", newer);
    SAID("a newer stream of subcluster bj-a has taken over");
    CU_ASSERT_EQUAL(fed_cluster_at(d.fed, 0).link, d.links);
    CU_ASSERT_EQUAL(fed_cluster_count(d.fed), 1);
    drive_release(&d);
}

static void test_registration_is_stored_before_the_set_is_sent(void)
{
    struct drive d;
    drive_init(&d);
    d.hold_commits = d.log_persists = true;
    drive_attach(&d, "bj-a", "north");
    drive_expect(&d, "persist: cluster bj-a\n");
    drive_commit(&d);
    drive_expect(&d, "bj-a BEGIN 1, 0 entries\nbj-a END 1\n");
    drive_detach(&d, "bj-a");
    drive_attach(&d, "bj-a", "north");
    drive_expect(&d, "bj-a BEGIN 2, 0 entries\nbj-a END 2\n");
    drive_detach(&d, "bj-a");
    drive_attach(&d, "bj-a", "south");
    drive_expect(&d, "persist: cluster bj-a\n");
    drive_release(&d);
}

/* ---- the full set ---- */

static void test_the_set_holds_places_and_releases_by_epoch(void)
{
    struct drive d;
    drive_init(&d);
    drive_cluster_up(&d, "bj-a", "9x8");
    drive_submit(&d, "rec/c", "n=1 gpus=8 uid=30");
    drive_submit(&d, "rec/a", "n=1 gpus=8 uid=20");
    drive_submit(&d, "rec/b", "n=1 gpus=8 uid=10");
    drive_job(&d, FED_EV_DELETE, "rec/a");
    drive_detach(&d, "bj-a");
    tf_buf_clear(&d.log);
    drive_attach(&d, "bj-a", "north");
    drive_expect(&d, "bj-a BEGIN 6, 3 entries\nbj-a PART 6: place rec/c e1 1 H800; release #20 e2 delete; "
                     "place rec/b e3 1 H800\nbj-a END 6\n");
    drive_release(&d);
}

static void test_a_large_set_comes_in_parts(void)
{
    struct drive d;
    drive_init(&d);
    drive_cluster_up(&d, "bj-a", "99x8");
    TF_AUTO_FREE char *long_word = tf_calloc(1, 60001);
    memset(long_word, 'x', 60000);
    for (int i = 0; i < 9; i++) {
        TF_AUTO_FREE char *name = tf_asprintf("rec/j%d", i);
        TF_AUTO_FREE char *words = tf_asprintf("n=1 gpus=8 cmd=%s", long_word);
        drive_submit(&d, name, words);
    }
    drive_detach(&d, "bj-a");
    tf_buf_clear(&d.log);
    drive_attach(&d, "bj-a", "north");
    int parts = 0;
    for (const char *at = tf_buf_text(&d.log); (at = strstr(at, "PART")); at++)
        parts++;
    CU_ASSERT_EQUAL(parts, 3);
    tf_buf_clear(&d.log);
    drive_crash(&d); /* and so do many changes of one step */
    for (int i = 0; i < 9; i++) {
        TF_AUTO_FREE char *name = tf_asprintf("rec/k%d", i);
        TF_AUTO_FREE char *words = tf_asprintf("n=1 gpus=8 cmd=%s", long_word);
        drive_submit(&d, name, words);
    }
    drive_cluster_up(&d, "gz-b", "99x8");
    CU_ASSERT_EQUAL(drive_find(&d, "gz-b")->n, 1 + 3);
    drive_release(&d);
}

static void test_nothing_is_placed_before_the_set_is_reflected(void)
{
    struct drive d;
    drive_init(&d);
    drive_attach(&d, "bj-a", "north");
    drive_profile_at(&d, "bj-a", "4x8", 0);
    drive_submit(&d, "rec/x", "n=1 gpus=8");
    PHASE("rec/x", "Pending");
    drive_profile_at(&d, "bj-a", "4x8", 1);
    PHASE("rec/x", "Pending in bj-a e1 x1");
    drive_release(&d);
}

static void test_a_message_for_a_gone_stream_is_dropped(void)
{
    struct drive d;
    drive_init(&d);
    drive_cluster_up(&d, "bj-a", "4x8");
    d.hold_commits = true;
    drive_submit(&d, "rec/x", "n=1 gpus=8");
    drive_detach(&d, "bj-a");
    drive_commit(&d);
    drive_expect(&d, "reply 1: created #1\n");
    drive_attach(&d, "bj-a", "north");
    drive_expect(&d, "bj-a BEGIN 3, 1 entries\nbj-a PART 3: place rec/x e1 1 H800\nbj-a END 3\n");
    drive_release(&d);
}

static void test_a_gap_asks_for_the_whole_profile_once(void)
{
    struct drive d;
    drive_init(&d);
    drive_cluster_up(&d, "bj-a", "4x8");
    for (int i = 0; i < 2; i++) {
        struct tf_up up = {.kind = TF_UP_PROFILE,
                           .profile = {.base = {1, 77}, .generation = {1, 78}, .reflects_term = d.term}};
        drive_step(&d, (struct fed_event){.kind = FED_EV_UP, .link = drive_find(&d, "bj-a")->link, .up = up});
    }
    drive_expect(&d, "bj-a WANT_PROFILE\n");
    drive_profile(&d, "bj-a", "4x8");
    drive_submit(&d, "rec/x", "n=4 gpus=8");
    PHASE("rec/x", "Pending in bj-a e1 x4");
    drive_release(&d);
}

static void test_a_wrong_profile_ends_the_stream(void)
{
    struct drive d;
    drive_init(&d);
    drive_attach(&d, "bj-a", "north");
    struct tf_up up = {.kind = TF_UP_PROFILE,
                       .profile = {.full = true, .generation = {1, 1}, .base = {1, 1}}};
    struct tf_profile_row *row = tf_vec_add(&up.profile.rows);
    row->class = 5;
    row->count = 1;
    drive_step(&d, (struct fed_event){.kind = FED_EV_UP, .link = drive_find(&d, "bj-a")->link, .up = up});
    SAID("the profile of subcluster bj-a is wrong");
    CU_ASSERT_FALSE(fed_cluster_at(d.fed, 0).attached);
    drive_release(&d);
}

/* ---- epochs that are not ours ---- */

static void test_a_stranger_is_released_only_after_a_proof(void)
{
    struct drive d;
    drive_init(&d);
    drive_cluster_up(&d, "bj-a", "4x8");
    d.hold_commits = d.log_persists = true;
    drive_report(&d, "bj-a", 77, 5, TF_PHASE_RUNNING, 1);
    drive_expect(&d, "persist: \n");
    drive_commit(&d);
    drive_expect(&d, "bj-a CHANGE 2: release #77 e5 orphan\n");
    drive_end(&d, "bj-a", 77, 5, TF_END_RELEASED);
    drive_expect(&d, "bj-a CHANGE 3: stored #77 e5\n");
    drive_release(&d);
}

static void test_an_old_epoch_changes_nothing(void)
{
    struct drive d;
    drive_init(&d);
    drive_cluster_up(&d, "bj-a", "4x8");
    drive_submit(&d, "rec/x", "n=1 gpus=8");
    drive_end(&d, "bj-a", 1, 1, TF_END_LOST);
    tf_buf_clear(&d.log);
    drive_end(&d, "bj-a", 1, 1, TF_END_FAILED);
    PHASE("rec/x", "Pending in bj-a e2 x1");
    drive_expect(&d, "bj-a CHANGE 4: stored #1 e1\n");
    drive_report(&d, "bj-a", 1, 1, TF_PHASE_RUNNING, 1);
    PHASE("rec/x", "Pending in bj-a e2 x1");
    drive_expect(&d, "bj-a CHANGE 5: release #1 e1 orphan\n");
    drive_release(&d);
}

static void test_another_subclusters_word_does_not_count(void)
{
    struct drive d;
    drive_init(&d);
    drive_cluster_up(&d, "bj-a", "4x8");
    drive_submit(&d, "rec/x", "n=1 gpus=8");
    drive_cluster_up(&d, "gz-b", "4x8");
    drive_end(&d, "gz-b", 1, 1, TF_END_FINISHED);
    PHASE("rec/x", "Pending in bj-a e1 x1");
    drive_release(&d);
}

static void test_unknown_waits_for_the_listing(void)
{
    struct drive d;
    drive_init(&d);
    drive_cluster_up(&d, "bj-a", "4x8");
    drive_submit(&d, "rec/x", "n=1 gpus=8");
    tf_buf_clear(&d.log);
    drive_end(&d, "bj-a", 1, 1, TF_END_UNKNOWN);
    drive_end(&d, "bj-a", 1, 1, TF_END_UNKNOWN);
    PHASE("rec/x", "Pending in bj-a e1 x1");
    drive_expect(&d, "");
    drive_listed(&d, "bj-a");
    drive_expect(&d, "bj-a CHANGE 3: stored #1 e1; place rec/x e2 1 H800\n");
    CU_ASSERT_EQUAL(drive_record(&d, "rec/x")->losses, 1);
    drive_end(&d, "bj-a", 1, 2, TF_END_UNKNOWN);
    PHASE("rec/x", "Pending in bj-a e3 x1");
    drive_release(&d);
}

/* ---- away ---- */

static void test_lost_is_only_a_condition(void)
{
    struct drive d;
    drive_init(&d);
    drive_cluster_up(&d, "bj-a", "4x8");
    drive_submit(&d, "rec/x", "n=1 gpus=8");
    drive_report(&d, "bj-a", 1, 1, TF_PHASE_RUNNING, 1);
    size_t commits = d.commits;
    tf_buf_clear(&d.log);
    drive_detach(&d, "bj-a");
    drive_elapse(&d, 29999);
    CU_ASSERT_FALSE(fed_cluster_at(d.fed, 0).lost);
    drive_elapse(&d, 1);
    CU_ASSERT_TRUE(fed_cluster_at(d.fed, 0).lost);
    SAID("subcluster bj-a is lost");
    drive_elapse(&d, 100 * TF_HOUR);
    PHASE("rec/x", "Running in bj-a e1 x1");
    CU_ASSERT_EQUAL(d.commits, commits + 1); /* that it is lost is written down, once */
    drive_attach(&d, "bj-a", "north");
    CU_ASSERT_FALSE(fed_cluster_at(d.fed, 0).lost);
    drive_release(&d);
}

/* "Registered: north, engine x; Lost: ..." of bj-a. */
static void expect_events(const struct drive *d, const char *wanted)
{
    TF_AUTO_BUF text = TF_BUF_INIT;
    const struct tf_cluster_record *record = fed_cluster_at(d->fed, 0).record;
    tf_vec_each (e, &record->events)
        tf_buf_fmt(&text, "%s%s: %s", text.len ? "; " : "", e->type, e->text);
    CU_ASSERT_STRING_EQUAL(tf_buf_text(&text), wanted);
    if (strcmp(tf_buf_text(&text), wanted) != 0)
        printf("\n    got %s", tf_buf_text(&text));
}

#define LOST "Lost: its stream has been away for 30 s; what runs there goes on"

static void test_what_happened_to_a_subcluster_is_kept(void)
{
    struct drive d;
    drive_init(&d);
    drive_cluster_up(&d, "bj-a", "4x8");
    expect_events(&d, "Registered: north, engine test");
    drive_detach(&d, "bj-a");
    drive_elapse(&d, 29000);
    drive_attach(&d, "bj-a", "north");
    expect_events(&d, "Registered: north, engine test"); /* a short break is no news */
    drive_detach(&d, "bj-a");
    drive_elapse(&d, 30000);
    drive_cluster(&d, FED_EV_CORDON, "bj-a", true);
    drive_elapse(&d, 20000);
    drive_crash(&d); /* the next leader finds it as it was, and does not lose it twice */
    drive_elapse(&d, 60000);
    CU_ASSERT_TRUE(fed_cluster_at(d.fed, 0).lost);
    expect_events(&d, "Registered: north, engine test; " LOST "; Cordoned: for a test");
    drive_attach(&d, "bj-a", "north");
    drive_cluster(&d, FED_EV_CORDON, "bj-a", false);
    drive_detach(&d, "bj-a");
    drive_cluster(&d, FED_EV_FORGET, "bj-a", true);
    drive_attach(&d, "bj-a", "north");
    expect_events(&d, "Registered: north, engine test; " LOST "; Cordoned: for a test; "
                      "Returned: 80 s after it was lost; Uncordoned: ; "
                      "Forgotten: declared dead, with 0 unfinished placements; "
                      "Returned: it was forgotten, and counts again");
    drive_release(&d);
}

#define STOPPED "Stopped: its subclusterd was stopped; what runs there goes on"

/* The first row of why rec/x waits says so. */
static void expect_blocker(const struct drive *d, const char *words)
{
    struct fed_explanation e = {0};
    CU_ASSERT_EQUAL_FATAL(fed_explain(d->fed, "rec", "x", d->now, &e, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(e.rows.count, 1);
    CU_ASSERT_STRING_EQUAL(e.rows.items[0].first.text, words);
    fed_explanation_release(&e);
}

/* Nothing goes there, but it is no loss: nobody is woken, under whichever leader. */
static void test_a_planned_stop_is_no_loss(void)
{
    struct drive d;
    drive_init(&d);
    drive_cluster_up(&d, "bj-a", "4x8");
    drive_leave(&d, "bj-a");
    CU_ASSERT_TRUE(fed_cluster_at(d.fed, 0).stopped);
    drive_submit(&d, "rec/x", "n=2 gpus=8");
    expect_blocker(&d, "its subclusterd was stopped, 0 s ago");
    drive_elapse(&d, 10000);
    drive_crash(&d);
    CU_ASSERT_TRUE(fed_cluster_at(d.fed, 0).stopped);
    drive_elapse(&d, 60000);
    CU_ASSERT_TRUE(fed_cluster_at(d.fed, 0).lost);
    expect_blocker(&d, "its subclusterd was stopped, 70 s ago");
    expect_events(&d, "Registered: north, engine test; " STOPPED);
    drive_attach(&d, "bj-a", "north");
    CU_ASSERT_FALSE(fed_cluster_at(d.fed, 0).stopped);
    drive_detach(&d, "bj-a"); /* and what comes later by itself is one */
    drive_elapse(&d, 30000);
    CU_ASSERT_FALSE(fed_cluster_at(d.fed, 0).stopped);
    expect_events(&d,
                  "Registered: north, engine test; " STOPPED "; Returned: 70 s after it was stopped; " LOST);
    drive_release(&d);
}

/* The oldest go, and are counted. */
static void test_events_of_a_subcluster_are_bounded(void)
{
    struct drive d;
    drive_init(&d);
    drive_cluster_up(&d, "bj-a", "4x8");
    for (int i = 0; i < 20; i++) {
        drive_cluster(&d, FED_EV_CORDON, "bj-a", true);
        drive_cluster(&d, FED_EV_CORDON, "bj-a", false);
    }
    drive_crash(&d);
    const struct tf_cluster_record *record = fed_cluster_at(d.fed, 0).record;
    CU_ASSERT_EQUAL(record->events.count, TF_JOB_EVENTS_MAX);
    CU_ASSERT_EQUAL(record->events_dropped, 41 - TF_JOB_EVENTS_MAX);
    drive_release(&d);
}

static void test_own_outage_counts_against_nobody(void)
{
    struct drive d;
    drive_init(&d);
    drive_cluster_up(&d, "bj-a", "4x8");
    d.now.mono.ms += TF_HOUR;
    d.now.wall.ms += TF_HOUR;
    drive_crash(&d);
    drive_elapse(&d, 29999);
    CU_ASSERT_FALSE(fed_cluster_at(d.fed, 0).lost);
    drive_elapse(&d, 1);
    CU_ASSERT_TRUE(fed_cluster_at(d.fed, 0).lost);
    drive_release(&d);
}

static void test_forget_ends_what_is_bound_to_it(void)
{
    struct drive d;
    drive_init(&d);
    drive_cluster_up(&d, "bj-a", "4x8");
    drive_submit(&d, "rec/x", "n=1 gpus=8");
    drive_submit(&d, "rec/y", "n=1 gpus=8");
    drive_job(&d, FED_EV_DELETE, "rec/y");
    drive_cluster_up(&d, "gz-b", "4x8");
    drive_cluster(&d, FED_EV_FORGET, "bj-a", true);
    drive_expect(&d, "reply 4: CONFLICT\n");
    drive_detach(&d, "bj-a");
    drive_cluster(&d, FED_EV_FORGET, "bj-a", true);
    drive_expect(&d, "archive rec/y Deleted\nreply 5: done\ngz-b CHANGE 2: place rec/x e3 1 H800\n");
    PHASE("rec/y", "none");
    drive_attach(&d, "bj-a", "north");
    drive_report(&d, "bj-a", 1, 1, TF_PHASE_RUNNING, 1);
    drive_expect(&d, "bj-a BEGIN 5, 0 entries\nbj-a END 5\nbj-a CHANGE 6: release #1 e1 orphan\n");
    drive_release(&d);
}

/* ---- restored stores ---- */

static void test_a_restored_store_refuses_to_act(void)
{
    struct drive d;
    drive_init(&d);
    drive_cluster_up(&d, "gz-b", "4x8");
    struct tf_hello ahead = hello("bj-a");
    ahead.highest_epoch = 50;
    d.hold_commits = true;
    drive_hello(&d, "bj-a", ahead);
    drive_expect(&d, "");
    drive_submit(&d, "rec/x", "n=1 gpus=8");
    drive_commit(&d);
    SAID("fedd --accept-rollback");
    d.hold_commits = false;
    drive_submit(&d, "rec/x", "n=1 gpus=8");
    drive_barrier(&d);
    SAID("fedd --accept-rollback");
    CU_ASSERT_EQUAL(fed_job_count(d.fed), 0);
    CU_ASSERT_FALSE(fed_is_open(d.fed));
    CU_ASSERT_FALSE(fed_cluster_at(d.fed, 0).attached);
    drive_release(&d);
}

static void test_a_higher_term_is_a_restored_store_too(void)
{
    struct drive d;
    drive_init(&d);
    struct tf_hello ahead = hello("bj-a");
    ahead.highest_term = (struct tf_term){1, 11};
    drive_hello(&d, "bj-a", ahead);
    CU_ASSERT_FALSE(fed_is_open(d.fed));
    drive_release(&d);
}

/* The store was restored, and its epochs and terms have since passed what a subcluster has seen. */
static void test_a_restored_store_that_has_caught_up(void)
{
    struct drive d;
    drive_init(&d);
    struct tf_term first = d.term;
    drive_cluster_up(&d, "gz-b", "4x8");
    drive_submit(&d, "rec/x", "n=1 gpus=8");
    d.term.revision += 5;
    drive_crash(&d);
    drive_cluster_up(&d, "gz-b", "4x8");
    drive_submit(&d, "rec/y", "n=1 gpus=8");
    drive_submit(&d, "rec/z", "n=1 gpus=8");

    struct tf_hello old = hello("bj-a");
    old.highest_term = first;
    old.highest_epoch = 1;
    drive_hello(&d, "bj-a", old);
    CU_ASSERT_TRUE(fed_is_open(d.fed));
    struct tf_hello further = hello("bj-a");
    further.highest_term = first;
    further.highest_epoch = 2; /* the first leader of this store came to 1 */
    drive_hello(&d, "bj-a", further);
    CU_ASSERT_FALSE(fed_is_open(d.fed));

    drive_crash(&d);
    struct tf_hello other = hello("bj-a");
    other.highest_term = (struct tf_term){first.era, first.revision + 2};
    drive_hello(&d, "bj-a", other);
    CU_ASSERT_FALSE(fed_is_open(d.fed));
    drive_release(&d);
}

/* The store forgot a placement: what runs is adopted, nothing is released, and nothing is placed before
 * everyone is known again; new epochs go on above all that was seen, and above all that anyone may have seen
 * and forgotten. */
static void test_an_accepted_rollback_adopts(void)
{
    struct drive d;
    drive_init(&d);
    drive_cluster_up(&d, "bj-a", "4x8");
    drive_cluster_up(&d, "gz-b", "4x8");
    drive_detach(&d, "bj-a");
    drive_detach(&d, "gz-b");
    drive_submit(&d, "rec/x", "n=1 gpus=8");
    drive_submit(&d, "rec/y", "n=1 gpus=8");
    d.term.era = 2;
    drive_crash_with(&d, true);
    tf_buf_clear(&d.log);
    struct tf_hello ahead = hello("bj-a");
    ahead.highest_term = (struct tf_term){1, 99};
    ahead.highest_epoch = 50;
    drive_hello(&d, "bj-a", ahead);
    drive_report(&d, "bj-a", 1, 50, TF_PHASE_RUNNING, 1);
    drive_report(&d, "bj-a", 77, 49, TF_PHASE_RUNNING, 1);
    drive_listed(&d, "bj-a");
    SAID("is left alone");
    CU_ASSERT_PTR_NULL(strstr(tf_buf_text(&d.log), "orphan"));
    PHASE("rec/x", "Running in bj-a e50 x0");
    PHASE("rec/y", "Pending");
    CU_ASSERT_FALSE(fed_is_open(d.fed));
    drive_attach(&d, "gz-b", "north");
    CU_ASSERT_FALSE(fed_is_open(d.fed)); /* what runs there is not known yet */
    CU_ASSERT_FALSE(LOGGED("gz-b BEGIN"));
    drive_listed(&d, "gz-b");
    CU_ASSERT_TRUE(fed_is_open(d.fed));
    CU_ASSERT_TRUE(LOGGED("gz-b BEGIN"));
    drive_profile(&d, "bj-a", "4x8");
    PHASE("rec/y", "Pending in bj-a e1000000001 x1"); /* the first of this era */
    drive_crash(&d);
    PHASE("rec/x", "Running in bj-a e50 x0");
    drive_release(&d);
}

static struct tf_hello hello_ahead(void)
{
    struct tf_hello ahead = hello("bj-a");
    ahead.highest_term = (struct tf_term){1, 99};
    ahead.highest_epoch = 50;
    return ahead;
}

/* What was left alone is known to the next leader, too: the job, submitted again, is not placed before the
 * subcluster where it ran has told. */
static void test_what_was_left_alone_is_waited_for(void)
{
    for (int runs = 0; runs < 2; runs++) {
        struct drive d;
        drive_init(&d);
        drive_cluster_up(&d, "bj-a", "4x8");
        drive_cluster_up(&d, "gz-b", "4x8");
        d.term.era = 2;
        drive_crash_with(&d, true);
        drive_hello(&d, "bj-a", hello_ahead());
        drive_report(&d, "bj-a", 1, 50, TF_PHASE_RUNNING, 1);
        drive_listed(&d, "bj-a");
        drive_attach(&d, "gz-b", "north");
        drive_listed(&d, "gz-b");
        CU_ASSERT_TRUE(fed_is_open(d.fed));
        drive_crash(&d);
        drive_cluster_up(&d, "gz-b", "4x8");
        drive_submit(&d, "rec/x", "n=1 gpus=8");
        drive_submit(&d, "rec/y", "n=1 gpus=8");
        PHASE("rec/x", "Pending");
        PHASE("rec/y", "Pending in gz-b e1000000001 x1");
        drive_crash(&d);
        drive_cluster_up(&d, "gz-b", "4x8");
        PHASE("rec/x", "Pending");
        drive_hello(&d, "bj-a", hello_ahead());
        if (runs)
            drive_report(&d, "bj-a", 1, 50, TF_PHASE_RUNNING, 1);
        drive_listed(&d, "bj-a");
        drive_profile(&d, "bj-a", "4x8");
        PHASE("rec/x", runs ? "Running in bj-a e50 x0" : "Pending in gz-b e1000000002 x1");
        drive_release(&d);
    }
}

/* Submitted again and deleted before that subcluster has told: it goes when what runs there has been stopped.
 */
static void test_what_was_left_alone_is_stopped_when_deleted(void)
{
    for (int runs = 0; runs < 2; runs++) {
        struct drive d;
        drive_init(&d);
        drive_cluster_up(&d, "bj-a", "4x8");
        d.term.era = 2;
        drive_crash_with(&d, true);
        drive_hello(&d, "bj-a", hello_ahead());
        drive_report(&d, "bj-a", 1, 50, TF_PHASE_RUNNING, 1);
        drive_listed(&d, "bj-a");
        drive_crash(&d);
        drive_submit(&d, "rec/x", "n=1 gpus=8");
        drive_job(&d, FED_EV_DELETE, "rec/x");
        PHASE("rec/x", "Stopping");
        drive_hello(&d, "bj-a", hello_ahead());
        PHASE("rec/x", "Stopping");
        if (runs)
            drive_report(&d, "bj-a", 1, 50, TF_PHASE_RUNNING, 1);
        drive_listed(&d, "bj-a");
        PHASE("rec/x", runs ? "Stopping in bj-a e50 x0" : "none");
        if (runs)
            drive_end(&d, "bj-a", 1, 50, TF_END_RELEASED);
        PHASE("rec/x", "none");
        drive_release(&d);
    }
}

/* In the copy of the store it is over, but its subcluster has seen more, and may run it again. */
static void test_nothing_is_archived_before_all_have_dialled(void)
{
    struct drive d;
    drive_init(&d);
    drive_cluster_up(&d, "bj-a", "4x8");
    drive_cluster_up(&d, "gz-b", "4x8");
    drive_submit(&d, "rec/x", "n=1 keep=60000");
    drive_end(&d, "bj-a", 1, 1, TF_END_FINISHED);
    drive_crash(&d);
    drive_cluster_up(&d, "bj-a", "4x8");
    drive_elapse(&d, 61 * TF_SECOND); /* by now gz-b is lost, and is not waited for */
    CU_ASSERT_TRUE(LOGGED("alarm: subcluster gz-b is lost"));
    CU_ASSERT_TRUE(LOGGED("archive rec/x Succeeded"));

    drive_submit(&d, "rec/y", "n=1 keep=60000");
    drive_end(&d, "bj-a", 2, 2, TF_END_FINISHED);
    PHASE("rec/y", "Succeeded");
    drive_elapse(&d, 59 * TF_SECOND);
    drive_crash(&d);
    drive_attach(&d, "gz-b", "south");
    drive_elapse(&d, 2 * TF_SECOND);
    PHASE("rec/y", "Succeeded");
    drive_job(&d, FED_EV_DELETE, "rec/y");
    CU_ASSERT_FALSE(LOGGED("archive rec/y"));
    struct tf_hello ahead = hello("bj-a");
    ahead.highest_epoch = 50;
    drive_hello(&d, "bj-a", ahead);
    CU_ASSERT_FALSE(fed_is_open(d.fed));
    drive_elapse(&d, TF_HOUR);
    CU_ASSERT_FALSE(LOGGED("archive rec/y"));

    drive_crash(&d);
    drive_attach(&d, "gz-b", "south");
    CU_ASSERT_FALSE(LOGGED("archive rec/y"));
    drive_attach(&d, "bj-a", "north");
    CU_ASSERT_TRUE(LOGGED("archive rec/y Succeeded"));
    PHASE("rec/y", "none");
    drive_release(&d);
}

static void test_an_accepted_rollback_waits_no_longer_than_forget(void)
{
    struct drive d;
    drive_init(&d);
    drive_cluster_up(&d, "bj-a", "4x8");
    drive_cluster_up(&d, "gz-b", "4x8");
    drive_crash_with(&d, true);
    drive_attach(&d, "bj-a", "north");
    drive_listed(&d, "bj-a");
    drive_submit(&d, "rec/x", "n=1 gpus=8");
    PHASE("rec/x", "Pending");
    drive_cluster(&d, FED_EV_FORGET, "gz-b", true);
    drive_profile(&d, "bj-a", "4x8");
    PHASE("rec/x", "Pending in bj-a e1 x1");
    drive_release(&d);
}

/* bj-a ran, and then restarts as the leader after a restore; that one has told of all that runs. */
static void rolled_back(struct drive *d, uint64_t highest)
{
    struct tf_hello ahead = hello("bj-a");
    ahead.highest_term = (struct tf_term){1, 99};
    ahead.highest_epoch = highest;
    d->term.era = 2;
    drive_crash_with(d, true);
    tf_buf_clear(&d->log);
    drive_hello(d, "bj-a", ahead);
}

/* The later epoch of a job is the one that runs; the earlier one, which the copy has, had ended. */
static void test_a_later_epoch_takes_the_place_of_an_earlier_one(void)
{
    struct drive d;
    drive_init(&d);
    drive_cluster_up(&d, "bj-a", "4x8");
    drive_submit(&d, "rec/x", "n=1 gpus=8");
    PHASE("rec/x", "Pending in bj-a e1 x1");
    rolled_back(&d, 7);
    drive_report(&d, "bj-a", 1, 7, TF_PHASE_RUNNING, 1);
    PHASE("rec/x", "Running in bj-a e7 x0");
    drive_report(&d, "bj-a", 1, 1, TF_PHASE_RUNNING, 1);
    drive_listed(&d, "bj-a");
    CU_ASSERT_TRUE(LOGGED("place rec/x e7")); /* its own store may have lost the record */
    CU_ASSERT_TRUE(LOGGED("release #1 e1"));
    drive_release(&d);
}

/* What is left alone stays so when the leader changes, and is the job's when its submit is repeated. */
static void test_what_is_left_alone_outlives_the_leader(void)
{
    struct drive d;
    drive_init(&d);
    drive_cluster_up(&d, "bj-a", "4x8");
    rolled_back(&d, 7);
    drive_report(&d, "bj-a", 77, 7, TF_PHASE_RUNNING, 1);
    drive_listed(&d, "bj-a");
    SAID("is left alone");
    drive_crash(&d);
    drive_attach(&d, "bj-a", "north");
    tf_buf_clear(&d.log);
    drive_report(&d, "bj-a", 77, 7, TF_PHASE_RUNNING, 1);
    drive_listed(&d, "bj-a");
    CU_ASSERT_FALSE(LOGGED("release #"));
    drive_submit(&d, "rec/z", "uid=77 n=1 gpus=8");
    PHASE("rec/z", "Running in bj-a e7 x0");
    drive_release(&d);
}

/* A leader that dies while it waits for everyone leaves that to the next. */
static void test_the_wait_outlives_the_leader(void)
{
    struct drive d;
    drive_init(&d);
    drive_cluster_up(&d, "bj-a", "4x8");
    drive_cluster_up(&d, "gz-b", "4x8");
    rolled_back(&d, 7);
    drive_listed(&d, "bj-a");
    drive_crash(&d);
    CU_ASSERT_FALSE(fed_is_open(d.fed));
    drive_attach(&d, "bj-a", "north");
    drive_listed(&d, "bj-a");
    CU_ASSERT_FALSE(fed_is_open(d.fed));
    drive_attach(&d, "gz-b", "north");
    drive_listed(&d, "gz-b");
    CU_ASSERT_TRUE(fed_is_open(d.fed));
    drive_release(&d);
}

/* An epoch that is being ended is not told so again with each report of it. */
static void test_what_is_being_ended_is_not_released_again(void)
{
    struct drive d;
    drive_init(&d);
    drive_cluster_up(&d, "bj-a", "4x8");
    drive_report(&d, "bj-a", 77, 1, TF_PHASE_STOPPING, 0);
    CU_ASSERT_FALSE(LOGGED("release #"));
    drive_report(&d, "bj-a", 77, 1, TF_PHASE_RUNNING, 1);
    CU_ASSERT_TRUE(LOGGED("release #77 e1"));
    drive_release(&d);
}

/* The last event of the only subcluster there is. */
static const char *last_event(const struct drive *d)
{
    const struct tf_job_events *events = &fed_cluster_at(d->fed, 0).record->events;
    return events->items[events->count - 1].type;
}

static void brakes(struct drive *d, int32_t brakes)
{
    struct drive_cluster *c = drive_find(d, "bj-a");
    struct tf_up up = {.kind = TF_UP_PROFILE};
    c->sent.generation.counter = c->sent.base.counter = ++c->counter;
    tf_profile_copy(&up.profile, &c->sent);
    up.profile.brakes = brakes;
    drive_say(d, "bj-a", up);
}

static void suspects(struct drive *d, int32_t gpus)
{
    struct drive_cluster *c = drive_find(d, "bj-a");
    struct tf_up up = {.kind = TF_UP_PROFILE};
    c->sent.generation.counter = c->sent.base.counter = ++c->counter;
    tf_profile_copy(&up.profile, &c->sent);
    up.profile.health.suspect_gpus = gpus;
    drive_say(d, "bj-a", up);
}

/* Each more is an event, and that there is none any more; the next leader does not repeat it. */
static void test_suspect_gpus_are_an_event(void)
{
    struct drive d;
    drive_init(&d);
    drive_cluster_up(&d, "bj-a", "4x8");
    size_t events = fed_cluster_at(d.fed, 0).record->events.count;
    suspects(&d, 1);
    CU_ASSERT_STRING_EQUAL(last_event(&d), "GpusSuspect");
    suspects(&d, 1);
    suspects(&d, 3);
    suspects(&d, 2);
    CU_ASSERT_EQUAL(fed_cluster_at(d.fed, 0).record->events.count, events + 2);
    drive_crash(&d);
    drive_attach(&d, "bj-a", "north");
    drive_listed(&d, "bj-a");
    drive_profile(&d, "bj-a", "4x8");
    CU_ASSERT_STRING_EQUAL(last_event(&d), "GpusTrusted");
    suspects(&d, 2);
    suspects(&d, 0);
    CU_ASSERT_STRING_EQUAL(last_event(&d), "GpusTrusted");
    CU_ASSERT_EQUAL(fed_cluster_at(d.fed, 0).record->events.count, events + 5);
    drive_release(&d);
}

/* Once, also where the next leader hears of it again. */
static void test_nodes_that_go_silent_at_once_are_an_event(void)
{
    struct drive d;
    drive_init(&d);
    drive_cluster_up(&d, "bj-a", "4x8");
    brakes(&d, TF_BRAKE_MASS_DOWN);
    CU_ASSERT_STRING_EQUAL(last_event(&d), "MassDown");
    size_t events = fed_cluster_at(d.fed, 0).record->events.count;
    brakes(&d, TF_BRAKE_MASS_DOWN);
    drive_crash(&d);
    drive_cluster_up(&d, "bj-a", "4x8");
    CU_ASSERT_STRING_EQUAL(last_event(&d), "MassDownOver");
    brakes(&d, TF_BRAKE_MASS_DOWN);
    brakes(&d, 0);
    CU_ASSERT_STRING_EQUAL(last_event(&d), "MassDownOver");
    CU_ASSERT_EQUAL(fed_cluster_at(d.fed, 0).record->events.count, events + 3);
    drive_release(&d);
}

static const struct suite_test tests[] = {
    {"another protocol is refused by name", test_another_protocol_is_refused_by_name},
    {"a bad name is refused", test_a_bad_name_is_refused},
    {"the newer owner of a name wins", test_the_newer_owner_of_a_name_wins},
    {"registration is stored before the set is sent", test_registration_is_stored_before_the_set_is_sent},
    {"the set holds places and releases by epoch", test_the_set_holds_places_and_releases_by_epoch},
    {"a large set comes in parts", test_a_large_set_comes_in_parts},
    {"nothing is placed before the set is reflected", test_nothing_is_placed_before_the_set_is_reflected},
    {"a message for a gone stream is dropped", test_a_message_for_a_gone_stream_is_dropped},
    {"a gap asks for the whole profile, once", test_a_gap_asks_for_the_whole_profile_once},
    {"a wrong profile ends the stream", test_a_wrong_profile_ends_the_stream},
    {"a stranger is released only after a proof", test_a_stranger_is_released_only_after_a_proof},
    {"an old epoch changes nothing", test_an_old_epoch_changes_nothing},
    {"another subcluster's word does not count", test_another_subclusters_word_does_not_count},
    {"unknown waits for the listing", test_unknown_waits_for_the_listing},
    {"lost is only a condition", test_lost_is_only_a_condition},
    {"a planned stop is no loss", test_a_planned_stop_is_no_loss},
    {"what happened to a subcluster is kept", test_what_happened_to_a_subcluster_is_kept},
    {"events of a subcluster are bounded", test_events_of_a_subcluster_are_bounded},
    {"own outage counts against nobody", test_own_outage_counts_against_nobody},
    {"forget ends what is bound to it", test_forget_ends_what_is_bound_to_it},
    {"a restored store refuses to act", test_a_restored_store_refuses_to_act},
    {"a higher term is a restored store, too", test_a_higher_term_is_a_restored_store_too},
    {"a restored store that has caught up", test_a_restored_store_that_has_caught_up},
    {"nothing is archived before all have dialled", test_nothing_is_archived_before_all_have_dialled},
    {"an accepted rollback adopts", test_an_accepted_rollback_adopts},
    {"what was left alone is waited for", test_what_was_left_alone_is_waited_for},
    {"what was left alone is stopped when deleted", test_what_was_left_alone_is_stopped_when_deleted},
    {"an accepted rollback waits no longer than forget",
     test_an_accepted_rollback_waits_no_longer_than_forget},
    {"a later epoch takes the place of an earlier one", test_a_later_epoch_takes_the_place_of_an_earlier_one},
    {"what is left alone outlives the leader", test_what_is_left_alone_outlives_the_leader},
    {"the wait outlives the leader", test_the_wait_outlives_the_leader},
    {"suspect GPUs are an event", test_suspect_gpus_are_an_event},
    {"nodes that go silent at once are an event", test_nodes_that_go_silent_at_once_are_an_event},
    {"what is being ended is not released again", test_what_is_being_ended_is_not_released_again},
};

int main(void)
{
    return suite_run("links", tests, TF_ARRAY_LEN(tests));
}
