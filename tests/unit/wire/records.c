/* SPDX-License-Identifier: Apache-2.0 */
#include "common/wire/records.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "common/model/transaction.h"
#include "common/wire/api.h"
#include "tests/support/random_model.h"
#include "tests/support/suite.h"

static void test_keys(void)
{
    static const struct {
        struct tf_record record;
        const char *key;
    } cases[] = {
        {{.kind = TF_RECORD_EPOCH}, "epoch"},
        {{.kind = TF_RECORD_JOB, .job = {.tenant = "search", .name = "rank.v2"}}, "jobs/search/rank.v2"},
        {{.kind = TF_RECORD_CLUSTER, .cluster = {.name = "bj-a"}}, "subclusters/bj-a"},
        {{.kind = TF_RECORD_SUMMARY, .summary = {.name = "bj-a"}}, "summaries/bj-a"},
        {{.kind = TF_RECORD_TERM}, "term"},
        {{.kind = TF_RECORD_FLOOR}, "floor"},
        {{.kind = TF_RECORD_ROLLBACK}, "rollback"},
        {{.kind = TF_RECORD_POLICY}, "policy"},
        {{.kind = TF_RECORD_LEADERS}, "leaders"},
        {{.kind = TF_RECORD_EVICTIONS}, "evictions"},
        {{.kind = TF_RECORD_ALLOCATION, .allocation = {.uid = {{0xab, 1}}}},
         "allocations/ab010000000000000000000000000000"},
        {{.kind = TF_RECORD_CORDON, .cordon = {.node = "n17"}}, "cordons/n17"},
        {{.kind = TF_RECORD_FREEZE, .freeze = {TF_FROZEN_GROWTH, .cluster = "bj-a"}}, "freezes/growth/bj-a"},
        {{.kind = TF_RECORD_FREEZE, .freeze = {TF_FROZEN_MOVES}}, "freezes/moves/*"},
        {{.kind = TF_RECORD_NODE_CLAIM, .node_claim = {.uid = {{0xab, 1}}}},
         "claims/ab010000000000000000000000000000"},
        {{.kind = TF_RECORD_MIGRATION, .migration = {.id = {{0xab, 1}}}},
         "migrations/ab010000000000000000000000000000"},
    };
    for (size_t i = 0; i < TF_ARRAY_LEN(cases); i++) {
        TF_AUTO_BUF key = TF_BUF_INIT;
        TF_AUTO_BUF again = TF_BUF_INIT;
        struct tf_record parsed = {0};
        CU_ASSERT_EQUAL(tf_wire_record_key(&cases[i].record, &key, NULL), 0);
        CU_ASSERT_STRING_EQUAL(key.data, cases[i].key);
        CU_ASSERT_EQUAL(tf_wire_record_parse_key(key.data, key.len, &parsed, NULL), 0);
        CU_ASSERT_EQUAL(parsed.kind, cases[i].record.kind);
        CU_ASSERT_EQUAL(tf_wire_record_key(&parsed, &again, NULL), 0);
        CU_ASSERT_STRING_EQUAL(again.data, cases[i].key);
        tf_record_release(&parsed);
    }
}

static void test_what_is_no_key(void)
{
    static const struct {
        const char *key;
        size_t len;
    } cases[] = {
        {"", 0},
        {"/", 1},
        {"jobs", 4},
        {"jobs/a", 6},
        {"jobs/a/", 7},
        {"jobs//b", 7},
        {"jobs/a/b/c", 10},
        {"jobs/a/B", 8},
        {"jobs/../b", 9},
        {"jobs/a/b\0c", 10},
        {"epoch/1", 7},
        {"epochs", 6},
        {"allocations/12", 14},
        {"allocations/zz010000000000000000000000000000", 44},
        {"jobs/a/\xff\xfe", 9},
    };
    for (size_t i = 0; i < TF_ARRAY_LEN(cases); i++) {
        struct tf_record record = {0};
        struct tf_error err = TF_ERROR_INIT;
        CU_ASSERT_EQUAL(tf_wire_record_parse_key(cases[i].key, cases[i].len, &record, &err), -1);
        CU_ASSERT_EQUAL(err.code, TF_ERR_INVALID);
        CU_ASSERT_TRUE(tf_utf8_valid(err.text, strlen(err.text)));
        CU_ASSERT_EQUAL(record.kind, TF_RECORD_NONE);
    }
    TF_AUTO_BUF key = TF_BUF_INIT;
    struct tf_record nameless = {.kind = TF_RECORD_JOB, .job = {.tenant = (char *)(uintptr_t) "a"}};
    CU_ASSERT_EQUAL(tf_wire_record_key(&nameless, &key, NULL), -1);
    CU_ASSERT_EQUAL(key.len, 0);
}

static void test_a_value_under_another_key(void)
{
    struct tf_rng rng;
    tf_rng_init(&rng, 5);
    struct tf_record job, back = {0};
    struct tf_error err = TF_ERROR_INIT;
    TF_AUTO_BUF value = TF_BUF_INIT;
    random_record(&rng, TF_RECORD_JOB, &job);
    CU_ASSERT_EQUAL(tf_wire_record_pack(&job, &value, NULL), 0);
    CU_ASSERT_EQUAL(tf_wire_record_unpack("jobs/other/name", 15, value.data, value.len, &back, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "job other/name"));
    CU_ASSERT_EQUAL(back.kind, TF_RECORD_NONE);
    tf_record_release(&job);
}

static void test_errors_name_the_field(void)
{
    struct tf_rng rng;
    tf_rng_init(&rng, 6);
    struct tf_record job;
    struct tf_error err = TF_ERROR_INIT;
    TF_AUTO_BUF value = TF_BUF_INIT;
    random_record(&rng, TF_RECORD_JOB, &job);
    free(job.job.tenant);
    free(job.job.name);
    job.job.tenant = tf_strdup("search");
    job.job.name = tf_strdup("rank");
    tf_spec_own(&job.job.spec)->group.shape.gpus = 65;
    CU_ASSERT_EQUAL(tf_wire_record_pack(&job, &value, &err), -1);
    CU_ASSERT_EQUAL(value.len, 0);
    CU_ASSERT_EQUAL(tf_wire_record_size(&job), 0);
    CU_ASSERT_STRING_EQUAL(err.text,
                           "job search/rank: spec.groups[0].instance.shape.gpus: 65 is not in 0 to 64");
    tf_spec_own(&job.job.spec)->group.shape.gpus = 8;
    tf_spec_own(&job.job.spec)->max_runtime = -1;
    CU_ASSERT_EQUAL(tf_wire_record_pack(&job, &value, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "spec.max_runtime: -1 is not in"));
    tf_record_release(&job);
}

/* What an instance printed must not keep its record from being stored. */
static void test_output_of_any_bytes_is_stored(void)
{
    struct tf_record record = {.kind = TF_RECORD_ALLOCATION}, back = {0};
    struct tf_allocation *a = &record.allocation;
    TF_AUTO_BUF key = TF_BUF_INIT;
    TF_AUTO_BUF value = TF_BUF_INIT;
    a->uid = (struct tf_uid){{1}};
    a->tenant = tf_strdup("search");
    a->name = tf_strdup("rank");
    a->ending.message = tf_strdup("\xc3(\xff ok");
    a->ending.output = tf_calloc(100001, 1);
    for (size_t i = 0; i < 100000; i += 2)
        memcpy(a->ending.output + i, "\xc3\xa9", 2);
    CU_ASSERT_EQUAL(tf_wire_record_key(&record, &key, NULL), 0);
    CU_ASSERT_EQUAL(tf_wire_record_pack(&record, &value, NULL), 0);
    CU_ASSERT_TRUE(value.len < 20000);
    CU_ASSERT_EQUAL(tf_wire_record_unpack(key.data, key.len, value.data, value.len, &back, NULL), 0);
    CU_ASSERT_STRING_EQUAL(back.allocation.ending.message, "\xef\xbf\xbd(\xef\xbf\xbd ok");
    CU_ASSERT_TRUE(strlen(back.allocation.ending.output) > 16000);
    tf_record_release(&record);
    tf_record_release(&back);
}

/* The largest job there is, with names as clouds give them, stays within what a record may have. */
static void test_the_largest_job_fits_a_record(void)
{
    struct tf_record record = {.kind = TF_RECORD_ALLOCATION};
    struct tf_allocation *a = &record.allocation;
    TF_AUTO_BUF value = TF_BUF_INIT;
    a->uid = (struct tf_uid){{1}};
    a->tenant = tf_strdup("search");
    a->name = tf_strdup("rank");
    for (uint32_t i = 0; i < TF_INSTANCES_MAX; i++) {
        struct tf_member *m = tf_vec_add(&a->members);
        m->index = i;
        m->attempt = 1;
        m->node = tf_asprintf("gpu-pool-h800-%08x-%04x", i / 8 * 2654435761u, i);
        m->gpus = 0xff;
        m->mark = (int32_t)(i / 8);
        m->state = TF_MEMBER_READY;
        m->started.ms = 1700000000000 + i * 37 % 4096;
        m->ready.ms = m->started.ms + 20000 + i * 91 % 8192;
        tf_strs_add(&m->ports, "http=31234");
    }
    CU_ASSERT_EQUAL(tf_wire_record_pack(&record, &value, NULL), 0);
    printf("\n    %.1f bytes a member ", (double)value.len / TF_INSTANCES_MAX);
    CU_ASSERT_TRUE(value.len < TF_RECORD_BYTES_MAX);
    tf_record_release(&record);
}

static char *filled(size_t len)
{
    char *text = tf_calloc(len + 1, 1);
    memset(text, 'x', len);
    return text;
}

/* A job whose manifest is as large as a submit may be, and that everything has happened to. */
static void test_the_longest_story_fits_a_record(void)
{
    struct tf_record record = {.kind = TF_RECORD_JOB};
    struct tf_job_record *job = &record.job;
    TF_AUTO_BUF value = TF_BUF_INIT;
    job->uid = (struct tf_uid){{1}};
    job->tenant = filled(TF_NAME_MAX);
    job->name = filled(TF_NAME_MAX);
    job->phase = TF_PHASE_PENDING;
    for (size_t left = TF_WIRE_MANIFEST_MAX; left > 0; left -= 32 * 1024)
        tf_vec_push(&tf_spec_own(&job->spec)->group.command, filled(32 * 1024));
    for (int i = 0; i < 64; i++)
        tf_vec_push(&job->placements,
                    (struct tf_placement){.cluster = filled(TF_NAME_MAX), .model = filled(20)});
    for (int i = 0; i < TF_REFUSALS_MAX; i++)
        tf_vec_push(&job->refusals,
                    (struct tf_refusal){.cluster = filled(TF_NAME_MAX), .text = filled(9999)});
    char *text = filled(9999);
    for (int i = 0; i < 2 * TF_JOB_EVENTS_MAX; i++)
        tf_job_record_event(job, (struct tf_wall){1}, 1, "Refused", "%s", text);
    free(text);
    job->message = filled(99999);
    job->output = filled(99999);
    CU_ASSERT_EQUAL(tf_wire_record_pack(&record, &value, NULL), 0);
    CU_ASSERT_TRUE(value.len < TF_RECORD_BYTES_MAX);
    tf_record_release(&record);
}

static void test_weights_are_upper_bounds(void)
{
    struct tf_rng rng;
    tf_rng_init(&rng, suite_seed(7));
    for (size_t round = suite_rounds(200); round > 0; round--)
        for (int kind = TF_RECORD_EPOCH; kind <= TF_RECORD_LAST; kind++) {
            struct tf_record record;
            TF_AUTO_BUF key = TF_BUF_INIT;
            random_record(&rng, (enum tf_record_kind)kind, &record);
            CU_ASSERT_EQUAL(tf_wire_record_key(&record, &key, NULL), 0);
            CU_ASSERT_TRUE(tf_wire_record_size(&record) + key.len <= tf_record_weight(&record));
            tf_record_release(&record);
        }
}

static const struct suite_test tests[] = {
    {"keys", test_keys},
    {"what is no key", test_what_is_no_key},
    {"a value under another key is refused", test_a_value_under_another_key},
    {"errors name the field", test_errors_name_the_field},
    {"output of any bytes is stored", test_output_of_any_bytes_is_stored},
    {"the largest job fits a record", test_the_largest_job_fits_a_record},
    {"the longest story fits a record", test_the_longest_story_fits_a_record},
    {"weights are upper bounds of sizes", test_weights_are_upper_bounds},
};

int main(void)
{
    return suite_run("records", tests, TF_ARRAY_LEN(tests));
}
