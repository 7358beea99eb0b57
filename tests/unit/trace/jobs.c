/* SPDX-License-Identifier: Apache-2.0 */
#include "common/trace/trace.h"

#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/rng.h"
#include "common/base/text.h"
#include "tests/support/suite.h"
#include "tests/unit/trace/file.h"

#define HEADER                                                                             \
    "job_id,submit_s,duration_s,gpus_total,instances,gpus_per_instance,cpus_per_instance," \
    "mem_gib_per_instance,gpu_model,priority_class,tenant,kind,status\n"

static int read_text(const char *text, const struct tf_trace_options *options, struct tf_trace_jobs *out,
                     struct tf_error *err)
{
    char path[FILE_PATH];
    const struct tf_trace_options none = {0};
    file_write(path, text, strlen(text));
    int failed = tf_trace_jobs_read(path, options ? options : &none, out, err);
    unlink(path);
    return failed;
}

static void test_columns(void)
{
    struct tf_trace_jobs jobs = {0};
    struct tf_error err = TF_ERROR_INIT;
    CU_ASSERT_EQUAL_FATAL(read_text(HEADER "a,10,2.5,16,2,8,96,900,H800|H100,batch,search,train,ok\n"
                                           "b,10,0,0.46,1,0.46,6.5,12,,,,,\r\n"
                                           "\n"
                                           "c,3,,0,1,0,1,,,,ads,infer,\n",
                                    NULL, &jobs, &err),
                          0);
    CU_ASSERT_EQUAL_FATAL(jobs.count, 3);
    const struct tf_trace_job *c = &jobs.items[0], *a = &jobs.items[1], *b = &jobs.items[2];
    CU_ASSERT_STRING_EQUAL(c->id, "c"); /* by submit, then as in the file */
    CU_ASSERT_STRING_EQUAL(a->id, "a");
    CU_ASSERT_STRING_EQUAL(b->id, "b");
    CU_ASSERT(a->submit == 10000 && a->duration == 2500 && a->instances == 2 && a->gpus == 8);
    CU_ASSERT(a->cpu == 96000 && a->memory == 900 * 1024 && a->workload == TF_WORKLOAD_TRAINING);
    CU_ASSERT_STRING_EQUAL(a->gpu_models, "H800|H100");
    CU_ASSERT_STRING_EQUAL(a->priority, "batch");
    CU_ASSERT_STRING_EQUAL(a->tenant, "search");
    CU_ASSERT(!a->fractional);
    CU_ASSERT(b->duration == 1 && b->gpus == 1 && b->fractional && b->cpu == 6500);
    CU_ASSERT_STRING_EQUAL(b->tenant, "trace");
    CU_ASSERT_PTR_NULL(b->priority);
    CU_ASSERT_PTR_NULL(b->gpu_models);
    CU_ASSERT(c->line == 5 && a->line == 2 && b->line == 3);
    CU_ASSERT(c->gpus == 0 && c->duration == 0 && c->memory == 0 && c->workload == TF_WORKLOAD_INFERENCE);
    CU_ASSERT_EQUAL(jobs.fractional, 1);
    tf_trace_jobs_release(&jobs);
}

static void test_order_of_columns(void)
{
    struct tf_trace_jobs jobs = {0};
    struct tf_error err = TF_ERROR_INIT;
    CU_ASSERT_EQUAL_FATAL(
        read_text("\xef\xbb\xbfgpus_per_instance,note,duration_s,submit_s,job_id\n2,x,5,1,z", NULL, &jobs,
                  &err),
        0);
    CU_ASSERT_EQUAL_FATAL(jobs.count, 1);
    CU_ASSERT_STRING_EQUAL(jobs.items[0].id, "z");
    CU_ASSERT(jobs.items[0].gpus == 2 && jobs.items[0].instances == 1 && jobs.items[0].submit == 1000);
    tf_trace_jobs_release(&jobs);
}

static void test_options(void)
{
    static const char text[] = HEADER "a,600,120,8,1,8,,,,low,one,,\n"
                                      "b,1200,60,8,1,8,,,,,two,,\n";
    struct tf_strs tenants = {0};
    tf_strs_add(&tenants, "two");
    const struct tf_trace_options some = {&tenants, NULL, 60, 0}, all = {NULL, "train", 60, 2};
    struct tf_trace_jobs jobs = {0};
    CU_ASSERT_EQUAL_FATAL(read_text(text, &some, &jobs, NULL), 0);
    CU_ASSERT(jobs.count == 1 && jobs.left_out == 1);
    CU_ASSERT(jobs.items[0].submit == 20000 && jobs.items[0].duration == 1000);
    tf_trace_jobs_release(&jobs);
    CU_ASSERT_EQUAL_FATAL(read_text(text, &all, &jobs, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(jobs.count, 2);
    CU_ASSERT(jobs.items[0].submit == 5000 && jobs.items[0].duration == 2000);
    CU_ASSERT_STRING_EQUAL(jobs.items[0].priority, "train");
    CU_ASSERT_STRING_EQUAL(jobs.items[1].priority, "train");
    tf_trace_jobs_release(&jobs);
    tf_strs_release(&tenants);
}

static void test_manifest(void)
{
    struct tf_trace_jobs jobs = {0};
    struct tf_job_manifest m = {0};
    struct tf_error err = TF_ERROR_INIT;
    CU_ASSERT_EQUAL_FATAL(read_text(HEADER "a,0,9,16,2,8,4,9,H800|H100|H800,batch,search,train,\n"
                                           "b,0,9,0,1,0,4,9,H800,batch,search,,\n"
                                           "c,0,9,8,1,8,,,,,search,,\n",
                                    NULL, &jobs, NULL),
                          0);
    CU_ASSERT_EQUAL_FATAL(tf_trace_job_manifest(&jobs.items[0], &m, &err), 0);
    CU_ASSERT_STRING_EQUAL(m.tenant, "search");
    CU_ASSERT_STRING_EQUAL(m.name, "a");
    CU_ASSERT_STRING_EQUAL(m.spec.priority, "batch");
    CU_ASSERT(m.spec.elastic.min == 2 && m.spec.elastic.max == 2 && m.spec.elastic.step == 2);
    CU_ASSERT(m.spec.group.shape.gpus == 8 && m.spec.group.shape.gpu_models.count == 2);
    CU_ASSERT_EQUAL(m.spec.below_min, TF_BELOW_MIN_STOP); /* filled */
    CU_ASSERT_EQUAL_FATAL(tf_trace_job_manifest(&jobs.items[1], &m, &err), 0);
    CU_ASSERT(m.spec.group.shape.gpus == 0 && m.spec.group.shape.gpu_models.count == 0);
    CU_ASSERT_EQUAL(tf_trace_job_manifest(&jobs.items[2], &m, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "job c of the trace: spec.priority"));
    CU_ASSERT_PTR_NULL(m.name);
    tf_trace_jobs_release(&jobs);
}

/* One by one or together: the same manifests, and the same complaints. */
static void test_shapes(void)
{
    struct tf_trace_jobs jobs = {0};
    struct tf_trace_shapes shapes = {0};
    CU_ASSERT_EQUAL_FATAL(read_text(HEADER "a,0,9,16,2,8,4,9,H800|H100,batch,search,train,\n"
                                           "b,0,9,16,2,8,4,9,H800|H100,batch,other,train,\n"
                                           "c,0,9,16,2,8,4,9,H800,batch,search,train,\n"
                                           "d,0,9,16,2,8,4,9,H800|H100,online,search,train,\n"
                                           "e,0,9,16,2,8,4,9,H800|H100,batch,search,debug,\n"
                                           "f,0,9,16,2,8,9,4,H800|H100,batch,search,train,\n"
                                           "g,0,9,8,1,8,,,,,search,,\n"
                                           "h,0,9,8,1,8,,,,,search,,\n"
                                           "i,0,9,16,2,8,4,9,H800|H100,batch,search,train,\n",
                                    NULL, &jobs, NULL),
                          0);
    tf_str_set(&jobs.items[8].id, "Not_a_name");
    tf_vec_each (job, &jobs) {
        struct tf_job_manifest alone = {0}, together = {0};
        struct tf_error why = TF_ERROR_INIT, said = TF_ERROR_INIT;
        int failed = tf_trace_job_manifest(job, &alone, &why);
        CU_ASSERT_EQUAL(tf_trace_shapes_manifest(&shapes, job, &together, &said), failed);
        CU_ASSERT_TRUE(tf_job_manifest_eq(&alone, &together));
        CU_ASSERT_STRING_EQUAL(said.text, why.text);
        tf_job_manifest_release(&alone);
        tf_job_manifest_release(&together);
    }
    tf_trace_shapes_release(&shapes);
    tf_trace_jobs_release(&jobs);
}

static void test_gzip(void)
{
    static const char text[] = HEADER "a,10,2,8,1,8,,,,low,one,train,\n";
    const struct tf_trace_options options = {0};
    struct tf_trace_jobs jobs = {0};
    struct tf_error err = TF_ERROR_INIT;
    char path[FILE_PATH];
    file_write_gz(path, text, sizeof text - 1);
    CU_ASSERT_EQUAL(tf_trace_jobs_read(path, &options, &jobs, &err), 0);
    CU_ASSERT_EQUAL(jobs.count, 1);
    tf_trace_jobs_release(&jobs);
    CU_ASSERT_EQUAL(truncate(path, 40), 0); /* a download that broke off */
    CU_ASSERT_EQUAL(tf_trace_jobs_read(path, &options, &jobs, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "after line 0: it is cut off, and its end is missing"));
    CU_ASSERT_EQUAL(jobs.count, 0);
    unlink(path);
    CU_ASSERT_EQUAL(tf_trace_jobs_read(path, &options, &jobs, &err), -1);
    CU_ASSERT_EQUAL(err.code, TF_ERR_NOT_FOUND);
}

/* ---- what is wrong ---- */

static void expect_error(const char *text, const char *part)
{
    struct tf_trace_jobs jobs = {0};
    struct tf_error err = TF_ERROR_INIT;
    CU_ASSERT_EQUAL(read_text(text, NULL, &jobs, &err), -1);
    CU_ASSERT_EQUAL(jobs.count, 0);
    if (!strstr(err.text, part))
        printf("expected \"%s\", got \"%s\"\n", part, err.text);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, part));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "/tmp/tidefed-trace-"));
}

static void test_errors(void)
{
    expect_error("", "is empty: it should begin with a header line");
    expect_error("job_id,submit_s,duration,gpus_per_instance\n",
                 ":1: the header has no column duration_s; is \"duration\" meant to be it?");
    expect_error("a,b\n", ":1: the header has no column job_id, which must be there");
    expect_error("job_id,submit_s,job_id,duration_s,gpus_per_instance\n",
                 ":1: two columns are called job_id");
    expect_error(HEADER "a,1,2\n", ":2: 3 columns, but the header has 13");
    expect_error(HEADER "\n\na,-1,2,8,1,8,,,,,,,\n", ":4: column submit_s: \"-1\" is not a number");
    expect_error(HEADER "a,1e9,2,8,1,8,,,,,,,\n", "\"1e9\" is not a number like 12 or 12.5");
    expect_error(HEADER "a,1.,2,8,1,8,,,,,,,\n", "\"1.\" is not a number");
    expect_error(HEADER "a,,2,8,1,8,,,,,,,\n", ":2: submit_s must be said");
    expect_error(HEADER "a,1,99999999999999999999,8,1,8,,,,,,,\n", "column duration_s");
    expect_error(HEADER "a,1,2000000000,8,1,8,,,,,,,\n", "is more than 1000000000");
    expect_error(HEADER "a,1,2,8,1,,,,,,,,\n", ":2: gpus_per_instance must be said");
    expect_error(HEADER "a,1,2,8,1,65,,,,,,,\n", "column gpus_per_instance: 65 is more than 64");
    expect_error(HEADER "a,1,2,8,1.5,8,,,,,,,\n", "1.5 is not a whole number from 1 to 4096");
    expect_error(HEADER "a,1,2,8,0,8,,,,,,,\n", "0 is not a whole number from 1 to 4096");
    expect_error(HEADER "A_b,1,2,8,1,8,,,,,,,\n", ":2: job_id \"A_b\": use lower-case letters");
    expect_error(HEADER "a,1,2,8,1,8,,,,,T!,,\n", ":2: tenant \"T!\"");
    expect_error(HEADER "a,1,2,8,1,8,,,,,,training,\n", "\"training\" is none of train, infer, debug");
    expect_error(HEADER "a,1,2,8,1,8,,,,,x,,\na,1,2,8,1,8,,,,,y,,\na,1,2,8,1,8,,,,,x,,\n",
                 ":4: job \"x/a\" is on line 2 already");
    expect_error(HEADER "a,1,2,8,1,8,,,\xff,,,,\n", ":2: this line is not UTF-8 text");
}

static void test_long_lines(void)
{
    TF_AUTO_BUF text = TF_BUF_INIT;
    tf_buf_str(&text, HEADER "a,");
    for (int i = 0; i < 5000; i++)
        tf_buf_char(&text, '1');
    expect_error(tf_buf_text(&text), ":2: this line is longer than 4096 bytes");
    tf_buf_clear(&text);
    for (int i = 0; i < 70; i++)
        tf_buf_str(&text, "x,");
    expect_error(tf_buf_text(&text), ":1: more than 64 columns");
}

/* Any bytes are read or refused, never more. */
static void test_any_bytes(void)
{
    static const char letters[] = "ab1290.,,,\n\n\r\xc3\xa4|";
    struct tf_rng rng;
    tf_rng_init(&rng, suite_seed(1));
    for (int run = 0; run < 2000; run++) {
        TF_AUTO_BUF text = TF_BUF_INIT;
        if (run % 2)
            tf_buf_str(&text, "job_id,submit_s,duration_s,gpus_per_instance\n");
        for (uint64_t n = tf_rng_below(&rng, 120); n > 0; n--)
            tf_buf_char(&text, letters[tf_rng_below(&rng, sizeof letters - 1)]);
        struct tf_trace_jobs jobs = {0};
        struct tf_error err = TF_ERROR_INIT;
        if (read_text(tf_buf_text(&text), NULL, &jobs, &err))
            CU_ASSERT_NOT_EQUAL(err.code, TF_OK);
        tf_trace_jobs_release(&jobs);
    }
}

static void test_public_data(void)
{
    const struct tf_trace_options options = {.priority = "train"};
    const char *itp = file_public("../shared/traces/jobs_itp2021.csv.gz");
    const char *openb = file_public("../shared/traces/jobs_openb2023.csv");
    struct tf_trace_jobs jobs = {0};
    struct tf_error err = TF_ERROR_INIT;
    if (itp) {
        CU_ASSERT_EQUAL(tf_trace_jobs_read(itp, &options, &jobs, &err), 0);
        CU_ASSERT_EQUAL(jobs.count, 69351);
        tf_trace_jobs_release(&jobs);
    }
    if (openb) {
        CU_ASSERT_EQUAL(tf_trace_jobs_read(openb, &options, &jobs, &err), 0);
        CU_ASSERT_EQUAL(jobs.count, 8152);
        CU_ASSERT(jobs.fractional > 2000);
        tf_trace_jobs_release(&jobs);
    }
}

int main(void)
{
    static const struct suite_test tests[] = {
        {"columns", test_columns},     {"order of columns", test_order_of_columns},
        {"options", test_options},     {"manifest", test_manifest},
        {"shapes", test_shapes},       {"gzip", test_gzip},
        {"errors", test_errors},       {"long lines", test_long_lines},
        {"any bytes", test_any_bytes}, {"public data", test_public_data},
    };
    return suite_run("trace/jobs", tests, TF_ARRAY_LEN(tests));
}
