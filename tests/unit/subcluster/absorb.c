/* SPDX-License-Identifier: Apache-2.0 */
/* Running jobs take what is free: when, in which order, and when not. */
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "subcluster/core/check.h"
#include "tests/support/sub_driver.h"
#include "tests/support/suite.h"

static struct sub_driver d;

static void begin(void)
{
    driver_init(&d);
    d.boot.policy.hub_away_after = 10 * TF_SECOND;
    d.boot.policy.absorb_cooldown = 5 * TF_MINUTE;
    d.boot.policy.surplus_dwell = 15 * TF_MINUTE;
    driver_node(&d, "n1", "H800", 8);
    driver_node(&d, "n2", "H800", 8);
    driver_ready(&d);
}

/* uid n is epoch n, with two instances of two GPUs, and wants up to `max` in steps of two. */
static struct tf_entry entry_of(uint8_t uid, const char *priority, int32_t max)
{
    struct tf_entry entry = driver_place_entry(uid, uid, 2, 2);
    tf_spec_own(&entry.spec)->elastic = (struct tf_elastic){2, max, 2};
    tf_spec_own(&entry.spec)->grow = TF_GROW_CONTINUOUS;
    tf_str_set(&tf_spec_own(&entry.spec)->priority, priority);
    return entry;
}

static void end(void)
{
    sub_check(d.sub);
    driver_release(&d);
}

static int32_t size(uint8_t uid)
{
    return driver_allocation(&d, uid)->size;
}

/* With what has yet to join. */
static int32_t members(uint8_t uid)
{
    int32_t count = 0;
    tf_vec_each (m, &driver_allocation(&d, uid)->members)
        count += m->state != TF_MEMBER_LEAVING && m->state != TF_MEMBER_GONE;
    return count;
}

static void considered(uint64_t counter)
{
    struct sub_event event = {.kind = SUB_EV_DOWN};
    event.down = (struct tf_down){.kind = TF_DOWN_CONSIDERED, .term = d.term};
    event.down.considered = (struct tf_generation){d.boot.owner_revision, counter};
    driver_step(&d, event);
}

/* Time in steps, so that what starts gets ready in between. */
static void pass(int64_t ms)
{
    for (; ms > 0; ms -= 500) {
        driver_pass(&d, 500);
        driver_all_ready(&d);
    }
}

static void test_after_offer_time(void)
{
    begin();
    driver_change(&d, entry_of(1, "low", 8));
    driver_all_ready(&d);
    driver_pass(&d, 2000);
    CU_ASSERT_EQUAL(members(1), 2);
    driver_pass(&d, 1100);
    CU_ASSERT_EQUAL(members(1), 8); /* one resize, however many steps */
    CU_ASSERT_EQUAL(size(1), 2);
    driver_all_ready(&d);
    CU_ASSERT_EQUAL(size(1), 8);
    pass(TF_MINUTE);
    CU_ASSERT_EQUAL(members(1), 8);
    end();
}

static void test_as_soon_as_it_was_considered(void)
{
    begin();
    driver_change(&d, entry_of(1, "low", 8));
    driver_all_ready(&d);
    driver_pass(&d, 600);
    considered(0); /* an earlier profile says nothing of what got free since */
    CU_ASSERT_EQUAL(members(1), 2);
    considered(d.profile.generation.counter);
    CU_ASSERT_EQUAL(members(1), 8);
    end();
}

static void test_alone_at_once(void)
{
    begin();
    driver_change(&d, entry_of(1, "low", 8));
    struct tf_entry other = driver_place_entry(2, 2, 6, 2);
    driver_change(&d, other);
    driver_all_ready(&d);
    driver_pass(&d, 100);
    driver_link(&d, false);
    driver_pass(&d, 20 * TF_SECOND);
    CU_ASSERT_EQUAL(members(1), 2);
    for (uint32_t i = 0; i < 2; i++)
        driver_exits(&d, 2, 2, i, 1, 0);
    CU_ASSERT_EQUAL(members(1), 4); /* nobody waits for it */
    end();
}

static void test_the_more_important_first(void)
{
    begin();
    driver_change(&d, entry_of(1, "low", 8));
    driver_change(&d, entry_of(2, "mid", 4));
    driver_all_ready(&d);
    driver_pass(&d, 3200);
    CU_ASSERT_EQUAL(members(2), 4);
    CU_ASSERT_EQUAL(members(1), 4);
    end();
}

/* An absent growth: one that says never, and one whose first member is done. */
static void test_who_does_not_grow(void)
{
    begin();
    struct tf_entry never = entry_of(1, "low", 8);
    tf_spec_own(&never.spec)->grow = TF_GROW_NEVER;
    driver_change(&d, never);
    driver_change(&d, entry_of(2, "low", 8));
    driver_all_ready(&d);
    driver_exits(&d, 2, 2, 0, 1, 0);
    pass(10 * TF_SECOND);
    CU_ASSERT_EQUAL(members(1), 2);
    CU_ASSERT_EQUAL(members(2), 2);
    end();
}

/* A job that gave way does not come back for absorbCooldown, also after a restart of its daemon. */
static void test_cools_down(void)
{
    begin();
    driver_change(&d, entry_of(1, "low", 8));
    driver_all_ready(&d);
    pass(4 * TF_SECOND);
    CU_ASSERT_EQUAL(size(1), 8);
    struct tf_entry urgent = driver_place_entry(2, 2, 4, 2);
    tf_str_set(&tf_spec_own(&urgent.spec)->priority, "high");
    urgent.level = tf_level_surplus(0);
    driver_change(&d, urgent);
    CU_ASSERT_EQUAL(size(1), 4);
    tf_vec_each (m, &driver_allocation(&d, 1)->members)
        if (m->state == TF_MEMBER_LEAVING)
            driver_stopped(&d, 1, 1, m->index, m->attempt);
    driver_all_ready(&d);
    driver_tell(&d, TF_ENTRY_RELEASE, 2, 2);
    for (uint32_t i = 0; i < 4; i++)
        driver_stopped(&d, 2, 2, i, 1);
    pass(TF_MINUTE);
    CU_ASSERT_EQUAL(members(1), 4);
    driver_crash(&d, true);
    driver_list(&d);
    pass(3 * TF_MINUTE);
    CU_ASSERT_EQUAL(members(1), 4);
    pass(2 * TF_MINUTE);
    CU_ASSERT_EQUAL(members(1), 8);
    end();
}

/* All that leaves has left, and what starts is ready. */
static void serve(int64_t ms)
{
    for (; ms > 0; ms -= TF_SECOND) {
        driver_pass(&d, TF_SECOND);
        for (uint8_t uid = 1; uid <= 2; uid++) {
            const struct tf_allocation *a = driver_allocation(&d, uid);
            for (size_t i = 0; a && i < a->members.count; i++)
                if (a->members.items[i].state == TF_MEMBER_LEAVING)
                    driver_stopped(&d, uid, uid, (uint32_t)i, a->members.items[i].attempt);
        }
        driver_all_ready(&d);
    }
}

/* Job 1, low, has all 16 GPUs; job 2 gets its core by taking surplus of it. */
static void begin_two(const char *priority, int32_t max)
{
    begin();
    driver_change(&d, entry_of(1, "low", 8));
    driver_all_ready(&d);
    serve(5 * TF_SECOND);
    CU_ASSERT_EQUAL(size(1), 8);
    struct tf_entry late = entry_of(2, priority, max);
    late.level = tf_level_surplus(0);
    driver_change(&d, late);
    serve(5 * TF_SECOND);
    CU_ASSERT_EQUAL(size(1), 6);
    CU_ASSERT_EQUAL(size(2), 2);
}

/* A higher priority takes surplus for its own surplus, but not at once, and no core. */
static void test_takes_lower_surplus(void)
{
    begin_two("mid", 8);
    serve(14 * TF_MINUTE);
    CU_ASSERT_EQUAL(size(1), 6);
    serve(TF_MINUTE + 10 * TF_SECOND);
    CU_ASSERT_EQUAL(size(1), 2);
    CU_ASSERT_EQUAL(size(2), 6);
    serve(TF_HOUR);
    CU_ASSERT_EQUAL(size(1), 2);
    CU_ASSERT_EQUAL(size(2), 6);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->ending.evictions, 3);
    end();
}

/* Full, and the one that has surplus is of a lower priority than the one that wants more: but evictions are
 * frozen for an hour. */
static void begin_frozen(void)
{
    driver_init(&d);
    d.boot.policy.surplus_dwell = 15 * TF_MINUTE;
    struct tf_freeze *freeze = tf_vec_add(&d.boot.policy.freezes);
    *freeze = (struct tf_freeze){.what = TF_FROZEN_EVICTIONS, .since = d.now.wall};
    freeze->until.ms = d.now.wall.ms + TF_HOUR;
    driver_node(&d, "n1", "H800", 8);
    driver_node(&d, "n2", "H800", 4);
    driver_ready(&d);
    driver_change(&d, entry_of(1, "low", 4));
    driver_all_ready(&d);
    serve(5 * TF_SECOND);
    driver_change(&d, entry_of(2, "mid", 4));
    driver_all_ready(&d);
    serve(50 * TF_MINUTE);
    CU_ASSERT_EQUAL(size(1), 4);
    CU_ASSERT_EQUAL(size(2), 2);
}

/* It looks again when the freeze is over, by its time or by somebody's word, although nothing else happens.
 */
static void test_takes_lower_surplus_after_a_freeze(void)
{
    begin_frozen();
    serve(11 * TF_MINUTE);
    CU_ASSERT_EQUAL(size(2), 4);
    CU_ASSERT_EQUAL(size(1), 2);
    end();
    begin_frozen();
    struct sub_event event = {.kind = SUB_EV_DOWN, .down = {.kind = TF_DOWN_POLICY, .term = d.term}};
    tf_policy_copy(&event.down.policy, &d.boot.policy);
    event.down.policy.freezes.items[0].until = d.now.wall;
    driver_step(&d, event);
    serve(10 * TF_SECOND);
    CU_ASSERT_EQUAL(size(2), 4);
    end();
}

/* One step at a time, and no further than where it would only turn the two around. */
static void test_equals_even_out(void)
{
    begin_two("low", 8);
    serve(4 * TF_MINUTE);
    CU_ASSERT_EQUAL(size(1), 6);
    serve(TF_MINUTE + 10 * TF_SECOND);
    CU_ASSERT_EQUAL(size(1), 4);
    CU_ASSERT_EQUAL(size(2), 4);
    uint64_t starts = d.starts;
    serve(TF_HOUR);
    CU_ASSERT_EQUAL(size(1), 4);
    CU_ASSERT_EQUAL(d.starts, starts);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->ending.evictions, 1); /* the one for the core */
    end();
}

/* The last step is the first that is ready: it counts as older than those that are still to join. */
static void test_steps_join_out_of_order(void)
{
    static const int32_t marks[] = {0, 0, 2, 2, 3, 3, 1, 1};
    begin();
    driver_change(&d, entry_of(1, "low", 8));
    driver_all_ready(&d);
    driver_pass(&d, 5 * TF_SECOND);
    CU_ASSERT_EQUAL_FATAL(members(1), 8);
    driver_told(&d, 1, 1, 6, 1, SUB_INSTANCE_READY, 0, false);
    driver_told(&d, 1, 1, 7, 1, SUB_INSTANCE_READY, 0, false);
    CU_ASSERT_EQUAL(size(1), 4);
    for (size_t i = 0; i < TF_ARRAY_LEN(marks); i++)
        CU_ASSERT_EQUAL(driver_allocation(&d, 1)->members.items[i].mark, marks[i]);
    end();
}

/* It gives all back soon, and a step of it frees less than it has. */
static void test_who_ends_gives_no_step(void)
{
    begin_two("low", 8);
    driver_exits(&d, 1, 1, 4, 1, 0);
    serve(TF_HOUR);
    CU_ASSERT_EQUAL(size(1), 6);
    end();
}

/* A larger max is a larger share: 4 of 8 and 2 of 4 are the same. */
static void test_shares_of_the_max(void)
{
    begin_two("low", 4);
    serve(TF_HOUR);
    CU_ASSERT_EQUAL(size(1), 6);
    CU_ASSERT_EQUAL(size(2), 2);
    end();
}

/* What a short job lacks are cores: surplus goes for them at once, and is not offered to others first. */
static void test_surplus_goes_for_a_short_job(void)
{
    begin_two("mid", 8);
    struct tf_entry more = entry_of(2, "mid", 8);
    tf_spec_own(&more.spec)->elastic.min = 6;
    driver_change(&d, more);
    CU_ASSERT_EQUAL(size(1), 2); /* all that it lacks, in one resize */
    CU_ASSERT_EQUAL(members(2), 2);
    CU_ASSERT_EQUAL(driver_allocation(&d, 2)->claims.count, 4);
    tf_vec_each (m, &driver_allocation(&d, 1)->members)
        if (m->state == TF_MEMBER_LEAVING)
            driver_stopped(&d, 1, 1, m->index, m->attempt);
    CU_ASSERT_EQUAL(members(2), 6);
    CU_ASSERT_EQUAL(driver_allocation(&d, 2)->claims.count, 0);
    serve(5 * TF_SECOND);
    CU_ASSERT_EQUAL(size(1), 2);
    CU_ASSERT_EQUAL(size(2), 6);
    serve(TF_HOUR);
    CU_ASSERT_EQUAL(size(1), 2); /* a core */
    CU_ASSERT_EQUAL(size(2), 6);
    end();
}

/* ---- a tide that is too fast: five minutes up, five minutes down ---- */

enum { START = 40, WAVE = 5 * 60 }; /* seconds */

static int32_t growths;
static int64_t last_growth, least_between;

static void note_growth(int32_t before, int64_t second)
{
    if (size(1) <= before)
        return;
    if (growths++ > 0 && second - last_growth < least_between)
        least_between = second - last_growth;
    last_growth = second;
}

static void move_on(uint8_t uid, uint64_t epoch, uint32_t index, const struct tf_member *m, bool ready)
{
    if (m->state == TF_MEMBER_LEAVING || m->state == TF_MEMBER_STOPPING)
        driver_stopped(&d, uid, epoch, index, m->attempt);
    else if (m->state == TF_MEMBER_PLANNED)
        driver_told(&d, uid, epoch, index, m->attempt, SUB_INSTANCE_STARTING, 0, false);
    else if (m->state == TF_MEMBER_STARTING && ready)
        driver_told(&d, uid, epoch, index, m->attempt, SUB_INSTANCE_READY, 0, false);
}

/* Those that leave are gone at once, those that start take START seconds. */
static void wave_second(int64_t *asked_at, uint64_t *asked, int64_t second)
{
    driver_pass(&d, TF_SECOND);
    for (uint8_t uid = 1; uid <= 2; uid++) {
        const struct tf_allocation *a = driver_allocation(&d, uid);
        for (uint32_t i = 0; a && i < a->members.count; i++)
            move_on(uid, a->epoch, i, &a->members.items[i], second - *asked_at >= START);
    }
    if (*asked != d.starts)
        *asked_at = second;
    *asked = d.starts;
}

static void save(int64_t second, int64_t every)
{
    if (every && second % every == 0)
        driver_checkpoint(&d, 1, 1, 0, driver_allocation(&d, 1)->members.items[0].attempt);
}

/* Job 1 lives beside a service that has 8 of the 16 GPUs every other five minutes, for two hours. It tells of
 * a checkpoint every so many seconds, 0 = never. */
static void ride(enum tf_grow grow, enum tf_on_resize on_resize, int64_t every)
{
    int64_t asked_at = 0;
    uint64_t asked = 0;
    begin();
    struct tf_entry entry = entry_of(1, "low", 8);
    tf_spec_own(&entry.spec)->grow = grow;
    tf_spec_own(&entry.spec)->on_resize = on_resize;
    driver_change(&d, entry);
    growths = 0;
    least_between = INT64_MAX;
    for (int64_t second = 0; second < 7200; second++) {
        int32_t before = size(1);
        uint64_t epoch = 2 + (uint64_t)(second / WAVE);
        bool up = second / WAVE % 2;
        if (second % WAVE == 0 && up) {
            struct tf_entry service = driver_place_entry(2, epoch, 4, 2);
            tf_str_set(&tf_spec_own(&service.spec)->priority, "high");
            service.level = tf_level_surplus(0);
            driver_change(&d, service);
        } else if (second % WAVE == 0 && second)
            driver_tell(&d, TF_ENTRY_RELEASE, 2, epoch - 1);
        wave_second(&asked_at, &asked, second);
        save(second, every);
        note_growth(before, second);
    }
    end();
}

/* A training job loses 40 s by each start: at 5 % that pays once in 760 s. */
static void test_training_does_not_swing(void)
{
    ride(TF_GROW_ON_RESTART, TF_ON_RESIZE_RESTART, 120);
    CU_ASSERT(growths >= 2);
    CU_ASSERT(least_between >= 760);
}

/* One that tells of no checkpoint would lose all that it has done. */
static void test_without_a_checkpoint_it_stays(void)
{
    ride(TF_GROW_ON_RESTART, TF_ON_RESIZE_RESTART, 0);
    CU_ASSERT_EQUAL(growths, 0);
}

/* One that loses nothing follows the wave. */
static void test_offline_follows(void)
{
    ride(TF_GROW_CONTINUOUS, TF_ON_RESIZE_NONE, 0);
    CU_ASSERT(growths >= 10);
}

int main(void)
{
    static const struct suite_test tests[] = {
        {"after offerTime, in one resize", test_after_offer_time},
        {"at once when it was considered", test_as_soon_as_it_was_considered},
        {"at once while nobody leads", test_alone_at_once},
        {"the more important first", test_the_more_important_first},
        {"who does not grow", test_who_does_not_grow},
        {"not before the cool-down is over", test_cools_down},
        {"surplus of lower priorities, after a while", test_takes_lower_surplus},
        {"takes lower surplus after a freeze", test_takes_lower_surplus_after_a_freeze},
        {"surplus for what a short job lacks, at once", test_surplus_goes_for_a_short_job},
        {"a job that restarts to grow does not swing", test_training_does_not_swing},
        {"a job without a checkpoint does not restart to grow", test_without_a_checkpoint_it_stays},
        {"a job that just grows follows the tide", test_offline_follows},
        {"equals even out, then rest", test_equals_even_out},
        {"steps that join out of order have marks of their own", test_steps_join_out_of_order},
        {"who comes to an end gives no step to equals", test_who_ends_gives_no_step},
        {"a step that would turn two equals around stays", test_shares_of_the_max},
    };
    return suite_run("unit/subcluster/absorb", tests, TF_ARRAY_LEN(tests));
}
