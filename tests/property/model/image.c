/* SPDX-License-Identifier: Apache-2.0 */
/* Random values of the model become images and come back equal; every byte of every struct is told, and no
 * beginning of an image is taken for a whole one. */
#include "common/model/image.h"
#include "common/base/cleanup.h"
#include "tests/support/model_eq.h"
#include "tests/support/random_model.h"
#include "tests/support/suite.h"

#define MODELS(X)                                  \
    X(record, struct tf_record, tf_record_release) \
    X(up, struct tf_up, tf_up_release)             \
    X(down, struct tf_down, tf_down_release)       \
    X(node, struct tf_node, tf_node_release)       \
    X(job_manifest, struct tf_job_manifest, tf_job_manifest_release)

static int finish_writing(struct tf_image *image)
{
    struct tf_error err = TF_ERROR_INIT;
    int failed = tf_image_finish(image, &err);
    if (failed)
        printf("\n    %s\n", err.text);
    return failed;
}

#define tf_image_job_manifest tf_image_manifest

#define DEFINE(name, type, free_it)                                              \
    static bool name##_reads(const struct tf_buf *bytes, size_t len, type *back) \
    {                                                                            \
        struct tf_image image;                                                   \
        memset(back, 0, sizeof *back);                                           \
        tf_image_read(&image, bytes->data, len);                                 \
        tf_image_##name(&image, back);                                           \
        return tf_image_finish(&image, NULL) == 0;                               \
    }                                                                            \
    static void name##_goes_and_comes(type *model)                               \
    {                                                                            \
        TF_AUTO_BUF bytes = TF_BUF_INIT;                                         \
        struct tf_image image;                                                   \
        type back;                                                               \
        tf_image_write(&image, &bytes, true);                                    \
        tf_image_##name(&image, model);                                          \
        CU_ASSERT_EQUAL(finish_writing(&image), 0);                              \
        for (size_t len = 0; len < bytes.len; len += 1 + bytes.len / 20) {       \
            CU_ASSERT_FALSE(name##_reads(&bytes, len, &back));                   \
            free_it(&back);                                                      \
        }                                                                        \
        CU_ASSERT(name##_reads(&bytes, bytes.len, &back));                       \
        CU_ASSERT(eq_##name(model, &back));                                      \
        free_it(&back);                                                          \
        free_it(model);                                                          \
    }
MODELS(DEFINE)

static void test_records(void)
{
    struct tf_rng rng;
    tf_rng_init(&rng, suite_seed(21));
    for (size_t round = suite_rounds(60); round > 0; round--)
        for (int kind = TF_RECORD_EPOCH; kind <= TF_RECORD_LAST; kind++) {
            struct tf_record record;
            random_record(&rng, (enum tf_record_kind)kind, &record);
            record_goes_and_comes(&record);
        }
}

static void test_messages(void)
{
    struct tf_rng rng;
    tf_rng_init(&rng, suite_seed(22));
    for (size_t round = suite_rounds(60); round > 0; round--) {
        for (int kind = TF_UP_HELLO; kind <= TF_UP_ANSWER; kind++) {
            struct tf_up up;
            random_up(&rng, (enum tf_up_kind)kind, &up);
            up_goes_and_comes(&up);
        }
        struct tf_down down;
        random_down(&rng, &down);
        down_goes_and_comes(&down);
    }
}

static void test_nodes_and_manifests(void)
{
    struct tf_rng rng;
    tf_rng_init(&rng, suite_seed(23));
    for (size_t round = suite_rounds(100); round > 0; round--) {
        struct tf_node node;
        random_node(&rng, &node);
        node_goes_and_comes(&node);
        struct tf_job_manifest manifest;
        random_job_manifest(&rng, &manifest);
        job_manifest_goes_and_comes(&manifest);
    }
}

static void test_settings(void)
{
    TF_AUTO_BUF bytes = TF_BUF_INIT;
    struct tf_settings settings, back = {0};
    struct tf_image image;
    tf_settings_init(&settings);
    settings.policy.version = 17;
    tf_image_write(&image, &bytes, true);
    tf_image_settings(&image, &settings);
    CU_ASSERT_EQUAL(finish_writing(&image), 0);
    tf_image_read(&image, bytes.data, bytes.len);
    tf_image_settings(&image, &back);
    CU_ASSERT_EQUAL(tf_image_finish(&image, NULL), 0);
    CU_ASSERT_EQUAL(back.policy.version, 17);
    CU_ASSERT(tf_table_eq(&tf_settings_table, &settings, &back));
    tf_settings_release(&settings);
    tf_settings_release(&back);
}

static const struct suite_test tests[] = {
    {"records", test_records},
    {"messages", test_messages},
    {"nodes and manifests", test_nodes_and_manifests},
    {"settings", test_settings},
};

int main(void)
{
    return suite_run("image of the model", tests, TF_ARRAY_LEN(tests));
}
