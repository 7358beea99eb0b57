/* SPDX-License-Identifier: Apache-2.0 */
#include "common/model/record.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "tests/support/suite.h"

/* That copies are complete is shown by the round trips of the wire (tests/property/wire.c); here: that they
 * are independent of the original, and what else the memory functions promise. */

static struct tf_allocation allocation(void)
{
    struct tf_allocation a = {.uid = {{7}}, .tenant = tf_strdup("search"), .name = tf_strdup("rank")};
    a.phase = TF_ALLOCATION_RUNNING;
    a.epoch = 42;
    tf_spec_own(&a.spec)->priority = tf_strdup("batch");
    tf_pairs_set(&tf_spec_own(&a.spec)->group.env, "A", "1");
    tf_vec_push(&a.members, (struct tf_member){.index = 3, .attempt = 1, .node = tf_strdup("n1")});
    tf_vec_push(&a.claims, (struct tf_claim){.node = tf_strdup("n2"), .gpus = 0xff});
    tf_vec_push(&a.ended, (struct tf_ended){.epoch = 41, .end = TF_END_LOST, .message = tf_strdup("m")});
    a.ending = (struct tf_ended){.epoch = 42, .end = TF_END_FAILED, .output = tf_strdup("oops")};
    return a;
}

static void test_evictions_of_the_last_day(void)
{
    struct tf_evicted e = {0};
    const struct tf_wall begin = {INT64_C(1000) * TF_HOUR};
    for (int64_t hour = 0; hour < 100; hour++) {
        struct tf_wall at = {begin.ms + hour * TF_HOUR + 1800 * TF_SECOND};
        tf_evicted_add(&e, at, 2);
        tf_evicted_add(&e, at, 0);
        CU_ASSERT_EQUAL(tf_evicted_lately(&e, at), hour < 24 ? 2 * (hour + 1) : 48);
        CU_ASSERT_TRUE(e.count <= TF_EVICTED_HOURS_MAX);
    }
    struct tf_wall later = {begin.ms + 110 * TF_HOUR}, after = {begin.ms + 200 * TF_HOUR};
    CU_ASSERT_EQUAL(tf_evicted_lately(&e, later), 26);
    CU_ASSERT_EQUAL(tf_evicted_lately(&e, after), 0);
    tf_evicted_add(&e, begin, INT32_MAX); /* its clock was put back */
    CU_ASSERT_EQUAL(tf_evicted_lately(&e, later), TF_EVICTED_MAX);
    struct tf_evicted copy = {0};
    tf_evicted_copy(&copy, &e);
    CU_ASSERT_TRUE(tf_evicted_eq(&copy, &e));
    copy.items[0].count--;
    CU_ASSERT_FALSE(tf_evicted_eq(&copy, &e));
    tf_vec_release(&copy);
    tf_vec_release(&e);
}

static void test_copy_is_independent(void)
{
    struct tf_allocation original = allocation(), copy = {0};
    tf_allocation_copy(&copy, &original);
    tf_allocation_copy(&copy, &original); /* releases what was there */
    tf_allocation_release(&original);
    CU_ASSERT_EQUAL(original.members.count, 0);
    CU_ASSERT_STRING_EQUAL(copy.members.items[0].node, "n1");
    CU_ASSERT_STRING_EQUAL(copy.claims.items[0].node, "n2");
    CU_ASSERT_STRING_EQUAL(copy.ended.items[0].message, "m");
    CU_ASSERT_STRING_EQUAL(copy.ending.output, "oops");
    CU_ASSERT_STRING_EQUAL(tf_pairs_get(&copy.spec->group.env, "A"), "1");
    tf_allocation_release(&copy);
}

static void test_clearing_the_epoch_keeps_the_ends(void)
{
    struct tf_allocation a = allocation();
    tf_allocation_clear_epoch(&a);
    CU_ASSERT_EQUAL(a.phase, TF_ALLOCATION_IDLE);
    CU_ASSERT_EQUAL(a.epoch, 0);
    CU_ASSERT_EQUAL(a.members.count + a.claims.count, 0);
    CU_ASSERT_PTR_NULL(a.spec->priority);
    CU_ASSERT_PTR_NULL(a.ending.output);
    CU_ASSERT_STRING_EQUAL(a.tenant, "search");
    CU_ASSERT_TRUE(tf_uid_eq(a.uid, (struct tf_uid){{7}}));
    CU_ASSERT_EQUAL(a.ended.count, 1);
    tf_allocation_release(&a);
}

static void test_events_are_bounded(void)
{
    struct tf_job_record job = {0};
    for (int i = 0; i < TF_JOB_EVENTS_MAX + 5; i++)
        tf_job_record_event(&job, (struct tf_wall){i}, 9, "Placed", "number %d", i);
    CU_ASSERT_EQUAL(job.events.count, TF_JOB_EVENTS_MAX);
    CU_ASSERT_EQUAL(job.events_dropped, 5);
    CU_ASSERT_STRING_EQUAL(job.events.items[0].text, "number 5");
    CU_ASSERT_EQUAL(job.events.items[0].at.ms, 5);

    char text[3000];
    for (size_t i = 0; i + 2 < sizeof text; i += 2)
        memcpy(text + i, "\xc3\xa9", 3);
    tf_job_record_event(&job, (struct tf_wall){99}, 0, "Long", "%s", text);
    const char *kept = job.events.items[job.events.count - 1].text;
    CU_ASSERT_TRUE(strlen(kept) < TF_JOB_EVENT_TEXT);
    CU_ASSERT_TRUE(tf_utf8_valid(kept, strlen(kept)));
    tf_job_record_release(&job);
}

/* A job of hundreds of instances on a domain that is drained keeps the rest of its story. */
static void test_notes_push_nothing_out(void)
{
    struct tf_job_record job = {0};
    tf_job_record_event(&job, (struct tf_wall){0}, 9, "Placed", "here");
    for (int i = 1; i <= 40; i++)
        tf_job_record_note(&job, (struct tf_wall){i}, 9, i % 4 ? TF_NOTE_MOVED : TF_NOTE_STAYS, "x");
    CU_ASSERT_EQUAL(job.events.count, 1 + TF_JOB_NOTES_MAX);
    CU_ASSERT_STRING_EQUAL(job.events.items[0].text, "here");
    const struct tf_job_event *last = &job.events.items[TF_JOB_NOTES_MAX];
    CU_ASSERT_STRING_EQUAL(last->type, "InstanceStays");
    CU_ASSERT_EQUAL(last->at.ms, 40);
    CU_ASSERT_EQUAL(last->more, 8); /* the first two of its type stand by themselves */
    CU_ASSERT_STRING_EQUAL(last->text, "x; and 8 before");
    uint32_t all = 0;
    for (size_t i = 1; i < job.events.count; i++)
        all += 1 + job.events.items[i].more;
    CU_ASSERT_EQUAL(all, 40);

    /* another epoch, or something else between them, begins anew */
    tf_job_record_note(&job, (struct tf_wall){50}, 10, TF_NOTE_MOVED, "y");
    CU_ASSERT_EQUAL(job.events.items[job.events.count - 1].more, 0);
    tf_job_record_event(&job, (struct tf_wall){60}, 9, "Resized", "z");
    tf_job_record_note(&job, (struct tf_wall){70}, 9, TF_NOTE_MOVED, "x");
    CU_ASSERT_EQUAL(job.events.items[job.events.count - 1].more, 0);
    tf_job_record_release(&job);
}

static void test_records_of_every_kind(void)
{
    for (int kind = TF_RECORD_NONE; kind <= TF_RECORD_LAST; kind++) {
        struct tf_record record = {.kind = (enum tf_record_kind)kind, .gone = true}, copy = {0};
        if (kind == TF_RECORD_ALLOCATION)
            record.allocation = allocation();
        tf_record_copy(&copy, &record);
        tf_record_release(&record);
        CU_ASSERT_EQUAL(record.kind, TF_RECORD_NONE);
        CU_ASSERT_EQUAL(copy.kind, (enum tf_record_kind)kind);
        CU_ASSERT_TRUE(copy.gone);
        tf_record_release(&copy);
    }
}

static const struct suite_test tests[] = {
    {"evictions of the last day", test_evictions_of_the_last_day},
    {"a copy shares nothing with the original", test_copy_is_independent},
    {"clearing the epoch keeps the ends", test_clearing_the_epoch_keeps_the_ends},
    {"events are bounded in number and length", test_events_are_bounded},
    {"notes push nothing out", test_notes_push_nothing_out},
    {"records of every kind", test_records_of_every_kind},
};

int main(void)
{
    return suite_run("record", tests, TF_ARRAY_LEN(tests));
}
