/* SPDX-License-Identifier: Apache-2.0 */
/* Where a job would go: what is said is what is then decided, and asking changes nothing. */
#include "common/base/cleanup.h"
#include "common/base/rng.h"
#include "common/base/text.h"
#include "tests/support/fed_driver/fed_driver.h"
#include "tests/support/suite.h"

static struct tf_job_manifest manifest_of(const char *name, const char *class, struct tf_elastic elastic,
                                          int32_t gpus)
{
    struct tf_job_manifest m;
    tf_job_manifest_init(&m);
    tf_str_set(&m.tenant, "rec");
    tf_str_set(&m.name, name);
    tf_str_set(&m.spec.priority, class);
    m.spec.workload = TF_WORKLOAD_OFFLINE;
    m.spec.elastic = elastic;
    m.spec.group.shape.gpus = gpus;
    m.spec.group.shape.cpu = 1000;
    m.spec.group.shape.memory = 1024;
    tf_strs_add(&m.spec.group.command, "x");
    tf_job_spec_fill(&m.spec);
    return m;
}

static void image_of(struct drive *d, struct tf_buf *out)
{
    struct tf_image image;
    struct fed *fed = d->fed;
    tf_buf_clear(out);
    tf_image_write(&image, out, true);
    fed_image_state(&image, &fed);
    CU_ASSERT_EQUAL_FATAL(tf_image_finish(&image, NULL), 0);
}

/* The state is byte by byte what it was before. */
static struct fed_plan plan_of(struct drive *d, const struct tf_job_manifest *m)
{
    TF_AUTO_BUF before = TF_BUF_INIT;
    TF_AUTO_BUF after = TF_BUF_INIT;
    struct fed_plan plan;
    image_of(d, &before);
    fed_plan_place(d->fed, m, d->now, &plan);
    TF_AUTO_FREE char *waits = fed_plan_waits(d->fed, m, &plan);
    CU_ASSERT_PTR_NOT_NULL(waits);
    image_of(d, &after);
    CU_ASSERT_EQUAL_FATAL(before.len, after.len);
    CU_ASSERT_EQUAL(memcmp(before.data, after.data, before.len), 0);
    return plan;
}

/* "bj-a free x4 of 4; gz-b GPUS x0" */
static void rows(const struct fed_plan *plan, const char *expected)
{
    TF_AUTO_BUF text = TF_BUF_INIT;
    tf_vec_each (row, &plan->rows) {
        tf_buf_fmt(&text, "%s%s ", text.len ? "; " : "", row->why.cluster);
        if (row->why.first.reason)
            tf_buf_fmt(&text, "%s free %d", tf_reason_name(row->why.first.reason), row->free);
        else
            tf_buf_fmt(&text, "%s x%d free %d", row->level_name, row->size, row->free);
    }
    if (strcmp(tf_buf_text(&text), expected) != 0)
        printf("\ngot %s\n", tf_buf_text(&text));
    CU_ASSERT_STRING_EQUAL(tf_buf_text(&text), expected);
}

static void test_in_order_of_preference(void)
{
    struct drive d;
    drive_init(&d);
    drive_cluster_up(&d, "a", "1x8:H800");
    drive_cluster_up(&d, "b", "4x8:H800");
    drive_cluster_up(&d, "c", "9x8:H800");
    drive_cluster_up(&d, "e", "2x8:H800");
    drive_cluster(&d, FED_EV_CORDON, "c", true);
    struct tf_job_manifest m = manifest_of("x", "batch", (struct tf_elastic){2, 2, 2}, 8);
    tf_strs_add(&m.spec.clusters, "e");
    tf_strs_add(&m.spec.clusters, "b");
    tf_strs_add(&m.spec.clusters, "a");
    tf_strs_add(&m.spec.clusters, "zz");
    struct fed_plan plan = plan_of(&d, &m);
    /* the job's own order; then by name, what nobody knows last */
    rows(&plan,
         "e free x2 free 2; b free x2 free 4; a NOT_ENOUGH_NODES free 1; c POLICY free 9; zz POLICY free 0");
    CU_ASSERT_FALSE(plan.stopped);
    fed_plan_release(&plan);
    tf_job_manifest_release(&m);
    drive_release(&d);
}

static void test_a_refusal_in_force_counts(void)
{
    struct drive d;
    drive_init(&d);
    drive_cluster_up(&d, "a", "4x8");
    drive_submit(&d, "rec/x", "n=1 gpus=8");
    drive_ended(&d, "a", 1, 1,
                (struct tf_ended){.end = TF_END_REFUSED, .reason = TF_REASON_ENGINE, .message = "no image"});
    struct tf_job_manifest m = manifest_of("x", "batch", (struct tf_elastic){1, 1, 1}, 8);
    struct fed_plan plan = plan_of(&d, &m);
    rows(&plan, "a REFUSED free 4");
    fed_plan_release(&plan);
    tf_str_set(&m.name, "another");
    plan = plan_of(&d, &m);
    rows(&plan, "a free x1 free 4");
    fed_plan_release(&plan);
    tf_job_manifest_release(&m);
    drive_release(&d);
}

static void test_unknown_class_and_no_clusters(void)
{
    struct drive d;
    drive_init(&d);
    struct tf_job_manifest m = manifest_of("x", "nonsense", (struct tf_elastic){1, 1, 1}, 8);
    struct fed_plan plan = plan_of(&d, &m);
    rows(&plan, "");
    fed_plan_release(&plan);
    drive_cluster_up(&d, "a", "4x8");
    plan = plan_of(&d, &m);
    rows(&plan, "a POLICY free 4");
    fed_plan_release(&plan);
    tf_job_manifest_release(&m);
    drive_release(&d);
}

/* ---- what is said is what is decided ---- */

static const struct fed_plan_row *first_fit(const struct fed_plan *plan)
{
    return plan->rows.count && plan->rows.items[0].why.first.reason == TF_REASON_NONE ? &plan->rows.items[0]
                                                                                      : NULL;
}

static void submitted(struct drive *d, struct tf_rng *rng, int number)
{
    static const char *const classes[] = {"offline", "batch", "online"};
    int32_t step = 1 + (int32_t)tf_rng_below(rng, 2), min = step * (1 + (int32_t)tf_rng_below(rng, 3));
    struct tf_elastic elastic = {min, min + step * (int32_t)tf_rng_below(rng, 4), step};
    TF_AUTO_FREE char *name = tf_asprintf("j%d", number);
    struct tf_job_manifest m =
        manifest_of(name, classes[tf_rng_below(rng, 3)], elastic, (int32_t[]){1, 4, 8}[tf_rng_below(rng, 3)]);
    struct fed_plan plan = plan_of(d, &m);
    const struct fed_plan_row *fit = first_fit(&plan);
    struct fed_event event = {.kind = FED_EV_SUBMIT, .request = 1000 + (uint64_t)number};
    event.submit = (struct fed_submit){.uid = drive_uid(1000 + (uint64_t)number), .manifest = m};
    drive_step(d, event);
    const struct tf_job_record *record = fed_job_find(d->fed, "rec", name);
    CU_ASSERT_PTR_NOT_NULL_FATAL(record);
    CU_ASSERT_EQUAL_FATAL(record->placements.count, fit ? 1 : 0);
    if (fit) {
        const struct tf_placement *p = &record->placements.items[0];
        CU_ASSERT_STRING_EQUAL(p->cluster, fit->why.cluster);
        CU_ASSERT_EQUAL(p->size, fit->size);
        CU_ASSERT_EQUAL(p->level, fit->level);
        CU_ASSERT_TRUE(tf_str_eq(p->model, fit->model));
    }
    fed_plan_release(&plan);
}

static void test_what_is_said_is_decided(void)
{
    static const char *const fleets[] = {"2x8:H800 1x8:A100", "4x4:H800", "6x8:A100", "1x8:H800"};
    struct tf_rng rng;
    tf_rng_init(&rng, suite_seed(31));
    for (size_t round = suite_rounds(60); round > 0; round--) {
        struct drive d;
        drive_init(&d);
        for (int c = 0; c < 3; c++)
            drive_cluster_up(&d, (const char *[]){"a", "b", "c"}[c], fleets[tf_rng_below(&rng, 4)]);
        for (int job = 0; job < 12; job++)
            submitted(&d, &rng, job);
        drive_release(&d);
    }
}

int main(void)
{
    static const struct suite_test tests[] = {
        {"in order of preference", test_in_order_of_preference},
        {"a refusal in force counts", test_a_refusal_in_force_counts},
        {"an unknown class, and no clusters", test_unknown_class_and_no_clusters},
        {"what is said is decided", test_what_is_said_is_decided},
    };
    return suite_run("unit/federation/plan", tests, TF_ARRAY_LEN(tests));
}
