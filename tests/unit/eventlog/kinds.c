/* SPDX-License-Identifier: Apache-2.0 */
/* Every kind of event of both cores has a name and an image: one without ends the recording of its daemon. */
#include "common/base/cleanup.h"
#include "federation/core/fed.h"
#include "subcluster/core/sub.h"
#include "tests/support/suite.h"

/* ---- the images of one event ---- */

static bool write_event(const struct tf_core_ops *ops, void *event, struct tf_buf *out)
{
    struct tf_image image;
    struct tf_error err = TF_ERROR_INIT;
    tf_image_write(&image, out, true);
    ops->image_event(&image, event);
    if (tf_image_finish(&image, &err) == 0)
        return true;
    tf_buf_clear(out);
    return false;
}

static bool read_event(const struct tf_core_ops *ops, const struct tf_buf *bytes, void *event)
{
    struct tf_image image;
    struct tf_error err = TF_ERROR_INIT;
    tf_image_read(&image, bytes->data, bytes->len);
    ops->image_event(&image, event);
    return tf_image_finish(&image, &err) == 0;
}

/* What is read is of the same kind and has the same image again. event is released. */
static bool event_returns(const struct tf_core_ops *ops, void *event)
{
    TF_AUTO_BUF first = TF_BUF_INIT, second = TF_BUF_INIT;
    void *again = tf_calloc(1, ops->event_size);
    bool same = write_event(ops, event, &first) && read_event(ops, &first, again) &&
                ops->event_kind(again) == ops->event_kind(event) && write_event(ops, again, &second) &&
                first.len == second.len && memcmp(first.data, second.data, first.len) == 0;
    ops->event_release(again);
    ops->event_release(event);
    free(again);
    return same;
}

/* ---- of each kind ---- */

static bool fed_kind_returns(int kind)
{
    struct fed_event event = {.kind = (enum fed_event_kind)kind, .request = 7, .link = 8};
    if (event.kind == FED_EV_RECORD)
        event.record.kind = TF_RECORD_EPOCH;
    if (event.kind == FED_EV_UP)
        event.up.kind = TF_UP_LISTED;
    return event_returns(&fed_core, &event);
}

static bool sub_kind_returns(int kind)
{
    struct sub_event event = {.kind = (enum sub_event_kind)kind};
    if (event.kind == SUB_EV_RECORD)
        event.record.kind = TF_RECORD_FLOOR;
    return event_returns(&sub_core, &event);
}

/* A kind that is new makes the switch over it incomplete, so that it does not compile; what is left to see is
 * that names and images know the same ones, up to the last. */
static void test_kinds(const struct tf_core_ops *ops, bool (*returns)(int kind), int last)
{
    for (int kind = 1; kind <= last; kind++) {
        if (!returns(kind))
            printf("%s: event %d, %s, has no image\n", ops->name, kind, ops->event_name(kind));
        CU_ASSERT(returns(kind));
        CU_ASSERT_STRING_NOT_EQUAL(ops->event_name(kind), "?");
    }
    CU_ASSERT_STRING_EQUAL(ops->event_name(last + 1), "?");
    CU_ASSERT_FALSE(returns(last + 1));
    CU_ASSERT_FALSE(returns(0));
}

static void test_of_the_federation(void)
{
    test_kinds(&fed_core, fed_kind_returns, FED_EV_MIGRATE);
}

static void test_of_a_subcluster(void)
{
    test_kinds(&sub_core, sub_kind_returns, SUB_EV_CHECKPOINT);
}

static void test_settings_return(void)
{
    TF_AUTO_BUF bytes = TF_BUF_INIT;
    struct sub_event event = {
        .kind = SUB_EV_SETTINGS,
        .settings = {.profile_interval = 1, .decision_budget = 2, .loss_cap = 3, .resize_loss = 4}};
    struct sub_event again = {0};
    CU_ASSERT(write_event(&sub_core, &event, &bytes));
    CU_ASSERT(read_event(&sub_core, &bytes, &again));
    CU_ASSERT_EQUAL(again.settings.profile_interval, 1);
    CU_ASSERT_EQUAL(again.settings.decision_budget, 2);
    CU_ASSERT_EQUAL(again.settings.loss_cap, 3);
    CU_ASSERT_EQUAL(again.settings.resize_loss, 4);
}

static const struct suite_test tests[] = {
    {"events of the federation", test_of_the_federation},
    {"events of a subcluster", test_of_a_subcluster},
    {"a subcluster's settings return", test_settings_return},
};

int main(void)
{
    return suite_run("unit/eventlog/kinds", tests, TF_ARRAY_LEN(tests));
}
