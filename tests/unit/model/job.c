/* SPDX-License-Identifier: Apache-2.0 */
#include "common/model/job.h"

#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/row.h"
#include "common/model/manifest.h"
#include "tests/support/suite.h"

static void minimal(struct tf_job_manifest *manifest)
{
    tf_job_manifest_init(manifest);
    manifest->tenant = tf_strdup("search");
    manifest->name = tf_strdup("rank");
    manifest->spec.priority = tf_strdup("batch");
    manifest->spec.elastic = (struct tf_elastic){8, 64, 8};
    manifest->spec.group.shape.gpus = 8;
}

/* Every byte of a struct belongs to a row or is padding: no field can be forgotten by release, copy, eq. */
static size_t row_size(const struct tf_row *row)
{
    switch (row->type) {
    case TF_ROW_CONST:
    case TF_ROW_SIZES:
        return 0;
    case TF_ROW_BOOL:
        return sizeof(bool);
    case TF_ROW_INT32:
    case TF_ROW_FRACTION:
    case TF_ROW_ENUM:
    case TF_ROW_CHOICE:
        return 4;
    case TF_ROW_STRINGS:
    case TF_ROW_NAMES:
    case TF_ROW_PAIRS:
    case TF_ROW_OBJECTS:
    case TF_ROW_MAP:
        return sizeof(struct tf_strs);
    default:
        return 8;
    }
}

static void cover(const struct tf_table *table, unsigned char *bytes)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct tf_row *row = &table->rows[i];
        if (row->type == TF_ROW_OBJECT) {
            cover(row->table, bytes + row->offset);
            continue;
        }
        memset(bytes + row->offset, 0, row_size(row));
        if (row->type == TF_ROW_CHOICE)
            memset(bytes + row->detail, 0, sizeof(char *));
    }
}

#define UNCOVERED(type, table)                             \
    (__extension__({                                       \
        type object_;                                      \
        size_t left_ = 0;                                  \
        memset(&object_, 0xff, sizeof object_);            \
        __builtin_clear_padding(&object_);                 \
        cover(table, (unsigned char *)&object_);           \
        for (size_t i_ = 0; i_ < sizeof object_; i_++)     \
            left_ += ((unsigned char *)&object_)[i_] != 0; \
        left_;                                             \
    }))

static void test_every_field_has_a_row(void)
{
    CU_ASSERT_EQUAL(UNCOVERED(struct tf_job_manifest, &tf_job_manifest_table), 0);
    CU_ASSERT_EQUAL(UNCOVERED(struct tf_job_spec, &tf_job_spec_table), 0);
    const struct tf_table *rule = tf_table_find(&tf_job_spec_table, "topology")->table;
    CU_ASSERT_EQUAL(UNCOVERED(struct tf_topology_rule, rule), 0);
}

static void test_copy_and_eq(void)
{
    struct tf_job_manifest a, b = {0};
    minimal(&a);
    tf_pairs_set(&a.spec.group.env, "K", "V");
    tf_strs_add(&a.spec.clusters, "bj-a");
    struct tf_topology_rule rule = {.within = tf_strdup("rdma-pod")};
    tf_vec_push(&a.spec.topology, rule);
    tf_job_manifest_copy(&b, &a);
    CU_ASSERT_TRUE(tf_job_manifest_eq(&a, &b));
    tf_str_set(&b.spec.topology.items[0].within, "switch");
    CU_ASSERT_FALSE(tf_job_spec_eq(&a.spec, &b.spec));
    tf_job_spec_copy(&b.spec, &a.spec);
    CU_ASSERT_TRUE(tf_job_spec_eq(&a.spec, &b.spec));
    b.spec.group.grace++;
    CU_ASSERT_FALSE(tf_job_spec_eq(&a.spec, &b.spec));
    tf_job_manifest_release(&a);
    tf_job_manifest_release(&b);
    tf_job_spec_release(NULL);
}

static void test_fill(void)
{
    struct tf_job_spec spec;
    tf_job_spec_init(&spec);
    spec.workload = TF_WORKLOAD_TRAINING;
    tf_job_spec_fill(&spec);
    CU_ASSERT_EQUAL(spec.below_min, TF_BELOW_MIN_STOP);
    CU_ASSERT_EQUAL(spec.grow, TF_GROW_ON_RESTART);
    CU_ASSERT_EQUAL(spec.on_resize, TF_ON_RESIZE_RESTART);
    CU_ASSERT_EQUAL(spec.migration, TF_MIGRATION_RESTART);
    CU_ASSERT_EQUAL(spec.max_runtime, 0);
    CU_ASSERT_EQUAL(spec.elastic.max, 1);
    CU_ASSERT_EQUAL(spec.group.grace, 30 * TF_SECOND);
    CU_ASSERT_EQUAL(spec.retry_limit, 3);
    CU_ASSERT_EQUAL(spec.keep_finished, 24 * TF_HOUR);
    tf_job_spec_release(&spec);
    tf_job_spec_init(&spec);
    spec.workload = TF_WORKLOAD_DEBUG;
    tf_job_spec_fill(&spec);
    CU_ASSERT_EQUAL(spec.max_runtime, 8 * TF_HOUR);
    CU_ASSERT_EQUAL(spec.migration, TF_MIGRATION_NEVER);
    tf_job_spec_release(&spec);
}

static void no_change(struct tf_job_manifest *m)
{
    (void)m;
}
static void bad_min(struct tf_job_manifest *m)
{
    m->spec.elastic.min = 7;
    m->spec.elastic.step = 2;
}
static void bad_max(struct tf_job_manifest *m)
{
    m->spec.elastic = (struct tf_elastic){4, 5, 4};
}
static void min_below_step(struct tf_job_manifest *m)
{
    m->spec.elastic = (struct tf_elastic){1, 8, 4};
}
static void min_over_max(struct tf_job_manifest *m)
{
    m->spec.elastic.min = 72;
}
static void zero_step(struct tf_job_manifest *m)
{
    m->spec.elastic.step = -1;
}
static void models_without_gpus(struct tf_job_manifest *m)
{
    m->spec.group.shape.gpus = 0;
    tf_strs_add(&m->spec.group.shape.gpu_models, "H800");
}
static void too_many_gpus(struct tf_job_manifest *m)
{
    m->spec.group.shape.gpus = 65;
}
static void ready_min(struct tf_job_manifest *m)
{
    m->spec.ready_min = 9;
}
static void long_protection(struct tf_job_manifest *m)
{
    m->spec.min_runtime = 9 * TF_HOUR;
}
static void no_priority(struct tf_job_manifest *m)
{
    tf_str_set(&m->spec.priority, NULL);
}
static void path_name(struct tf_job_manifest *m)
{
    tf_str_set(&m->name, "../../etc");
}
static void bad_utf8(struct tf_job_manifest *m)
{
    tf_strs_add(&m->spec.group.command, "a\xff");
}
static void bad_enum(struct tf_job_manifest *m)
{
    tf_job_spec_fill(&m->spec);
    m->spec.workload = (enum tf_workload)99;
}
static void env_of_ours(struct tf_job_manifest *m)
{
    tf_pairs_set(&m->spec.group.env, "TIDEFED_RANK", "0");
}
static void bad_signal(struct tf_job_manifest *m)
{
    m->spec.on_resize = TF_ON_RESIZE_SIGNAL;
    m->spec.resize_signal = tf_strdup("SIGUSER1");
}
static void signal_without_name(struct tf_job_manifest *m)
{
    m->spec.on_resize = TF_ON_RESIZE_SIGNAL;
}
static void many_ports(struct tf_job_manifest *m)
{
    m->spec.elastic = (struct tf_elastic){4096, 4096, 1};
    for (int i = 0; i < 10; i++) {
        TF_AUTO_FREE char *name = tf_asprintf("a-long-name-of-a-port-%d", i);
        tf_strs_add(&m->spec.group.ports, name);
    }
}

static void same_port(struct tf_job_manifest *m)
{
    tf_strs_add(&m->spec.group.ports, "http");
    tf_strs_add(&m->spec.group.ports, "http");
}
static void step_domains(struct tf_job_manifest *m)
{
    struct tf_topology_rule rule = {.within = tf_strdup("pod"), .of = TF_TOPOLOGY_OF_STEP};
    tf_vec_push(&m->spec.topology, rule);
    m->spec.max_nodes = 4;
}
static void huge(struct tf_job_manifest *m)
{
    char *text = tf_calloc(1, 60001);
    memset(text, 'x', 60000);
    for (int i = 0; i < 4; i++)
        tf_strs_add(&m->spec.group.command, text);
    free(text);
}
static void huge_text(struct tf_job_manifest *m)
{
    m->spec.group.image = tf_calloc(1, 70001);
    memset(m->spec.group.image, 'x', 70000);
}

static const struct {
    void (*spoil)(struct tf_job_manifest *m);
    const char *path, *text; /* of the one complaint; NULL = none */
} cases[] = {
    {no_change, NULL, NULL},
    {bad_min, "spec.elastic.min", "7 is not a multiple of step 2; the nearest legal values are 6 and 8"},
    {bad_max, "spec.elastic.max", "5 is not a multiple of step 4; the nearest legal values are 4 and 8"},
    {min_below_step, "spec.elastic.min", "1 is not a multiple of step 4; the nearest legal value is 4"},
    {min_over_max, "spec.elastic.min", "72 is more than max, which is 64"},
    {zero_step, "spec.elastic.step", "-1 is not between 1 and 4096"},
    {models_without_gpus, "spec.instance.gpuModels", "means nothing with gpus: 0; leave it out"},
    {too_many_gpus, "spec.instance.gpus", "65 is not between 0 and 64"},
    {ready_min, "spec.readyMin",
     "9 is more than the 8 instances of the core (elastic.min): nothing could ever be moved"},
    {long_protection, "spec.minRuntime", "9h is not between 0s and 8h"},
    {no_priority, "spec.priority", "is missing"},
    {path_name, "metadata.name",
     "the name \"../../etc\": use lower-case letters, digits, '-' and single '.', and begin and end with a "
     "letter or digit"},
    {bad_utf8, "spec.instance.command[0]", "is not valid UTF-8"},
    {bad_enum, "spec.workload", "99 is no value that is known here"},
    {env_of_ours, "spec.instance.env.TIDEFED_RANK",
     "this variable is set by the engine and cannot be set here"},
    {bad_signal, "spec.onResize", "\"SIGUSER1\" is no signal that can be used; use for example SIGUSR1"},
    {signal_without_name, "spec.onResize", "signal needs a text"},
    {same_port, "spec.instance.ports[1]", "\"http\" is in the list twice"},
    {many_ports, "spec.instance.ports",
     "4096 instances with these ports are too many for one record: at most 845, or fewer or shorter names"},
    {step_domains, "spec.topology[0].of",
     "a required domain of each step cannot be combined with spread.maxNodes; use mode: prefer, or leave "
     "maxNodes out"},
    {huge, "spec",
     "is too large: about 234 KiB of text, at most 200 KiB can be stored; keep big inputs in files or "
     "images"},
    {huge_text, "spec.instance.image", "has 70000 bytes, which is not between 1 and 1024"},
};

static void test_check(void)
{
    for (size_t i = 0; i < TF_ARRAY_LEN(cases); i++) {
        struct tf_job_manifest manifest;
        struct tf_complaints complaints = {0};
        minimal(&manifest);
        cases[i].spoil(&manifest);
        tf_job_spec_fill(&manifest.spec);
        CU_ASSERT_EQUAL(tf_job_manifest_check(&manifest, &complaints), cases[i].path == NULL);
        CU_ASSERT_EQUAL(complaints.count, cases[i].path ? 1 : 0);
        if (complaints.count == 1 && cases[i].path) {
            CU_ASSERT_STRING_EQUAL(complaints.items[0].path, cases[i].path);
            CU_ASSERT_STRING_EQUAL(complaints.items[0].text, cases[i].text);
        }
        tf_vec_each (c, &complaints)
            if (complaints.count != 1 || strcmp(c->text, cases[i].text) != 0)
                printf("\n    case %zu: %s: %s", i, c->path, c->text);
        tf_complaints_release(&complaints);
        tf_job_manifest_release(&manifest);
    }
}

static void test_immutable_diff(void)
{
    struct tf_job_manifest a, b = {0};
    struct tf_strs paths = {0};
    minimal(&a);
    tf_job_manifest_copy(&b, &a);
    tf_str_set(&b.spec.priority, "online");
    b.spec.elastic.max = 128;
    b.spec.max_runtime = 1;
    tf_strs_add(&b.spec.clusters, "gz-b");
    tf_job_spec_immutable_diff(&a.spec, &b.spec, &paths);
    CU_ASSERT_EQUAL(paths.count, 0);
    b.spec.group.shape.gpus = 4;
    tf_strs_add(&b.spec.group.command, "x");
    b.spec.retry_limit = 9;
    tf_job_spec_immutable_diff(&a.spec, &b.spec, &paths);
    CU_ASSERT_EQUAL_FATAL(paths.count, 3);
    CU_ASSERT_STRING_EQUAL(paths.items[0], "spec.instance.gpus");
    CU_ASSERT_STRING_EQUAL(paths.items[1], "spec.instance.command");
    CU_ASSERT_STRING_EQUAL(paths.items[2], "spec.retries.limit");
    a.spec.reserve.expires = 1; /* a reservation */
    b.spec.elastic.min++;
    tf_job_spec_immutable_diff(&a.spec, &b.spec, &paths);
    CU_ASSERT_STRING_EQUAL(paths.items[paths.count - 1], "spec.count");
    tf_strs_release(&paths);
    tf_job_manifest_release(&a);
    tf_job_manifest_release(&b);
}

static void test_sizes(void)
{
    struct tf_elastic e = {8, 64, 8};
    CU_ASSERT_EQUAL(tf_size_align(&e, 199), 64);
    CU_ASSERT_EQUAL(tf_size_align(&e, 63), 56);
    CU_ASSERT_EQUAL(tf_size_align(&e, 7), 0);
    CU_ASSERT_EQUAL(tf_size_align(&e, -1), 0);
    CU_ASSERT_TRUE(tf_size_legal(&e, 0, false));
    CU_ASSERT_TRUE(tf_size_legal(&e, 64, false));
    CU_ASSERT_FALSE(tf_size_legal(&e, 72, true));
    CU_ASSERT_FALSE(tf_size_legal(&e, 12, true));
    e.min = 16;
    CU_ASSERT_FALSE(tf_size_legal(&e, 8, false));
    CU_ASSERT_TRUE(tf_size_legal(&e, 8, true));
}

static const struct suite_test tests[] = {
    {"every field has a row", test_every_field_has_a_row},
    {"copy and eq", test_copy_and_eq},
    {"fill", test_fill},
    {"check", test_check},
    {"immutable diff", test_immutable_diff},
    {"sizes", test_sizes},
};

int main(void)
{
    return suite_run("job", tests, TF_ARRAY_LEN(tests));
}
