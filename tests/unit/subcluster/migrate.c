/* SPDX-License-Identifier: Apache-2.0 */
/* Moves of running instances, state by state: what is stored, asked of the engine and told in which order,
 * and what becomes of it when something breaks. */
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "subcluster/core/check.h"
#include "tests/support/sub_driver.h"
#include "tests/support/suite.h"

static struct sub_driver d;
static uint64_t asks;

static void order(struct tf_migrate_order what)
{
    struct sub_event event = {.kind = SUB_EV_DOWN};
    event.down.kind = TF_DOWN_ASK;
    event.down.term = d.term;
    event.down.ask = (struct tf_ask){.id = ++asks, .kind = TF_ASK_MIGRATE};
    tf_vec_push(&event.down.ask.migrate, what);
    driver_step(&d, event);
}

/* Chain 9: that instance, to that node or (NULL) any. */
static void move_one(uint8_t uid, uint32_t index, const char *to)
{
    order((struct tf_migrate_order){.verb = TF_MIGRATE_BEGIN,
                                    .id = driver_uid(9),
                                    .uid = driver_uid(uid),
                                    .index = index,
                                    .to = tf_strdup(to)});
}

static void tell(enum tf_migrate_verb verb)
{
    order((struct tf_migrate_order){.verb = verb, .id = driver_uid(9)});
}

static const struct tf_move *move_at(size_t i)
{
    const struct tf_migration *m = sub_migration_at(d.sub, 0);
    CU_ASSERT_FATAL(m && i < m->moves.count);
    return &m->moves.items[i];
}

static void spec_of(struct tf_entry *entry)
{
    tf_spec_own(&entry->spec)->migration = TF_MIGRATION_ALLOW;
    tf_spec_own(&entry->spec)->group.stop_delay = 2000;
}

/* Two instances of four GPUs, ready, on n1; n2 is empty. */
static void begin_with(struct tf_entry entry)
{
    asks = 0;
    driver_two_nodes(&d);
    driver_change(&d, entry);
    driver_all_ready(&d);
    driver_pass(&d, 5 * TF_SECOND);
    driver_clear(&d);
}

static struct tf_entry usual(void)
{
    struct tf_entry entry = driver_place_entry(1, 5, 2, 4);
    spec_of(&entry);
    tf_spec_own(&entry.spec)->elastic.step = 1;
    return entry;
}

static void begin(void)
{
    begin_with(usual());
}

static void end(void)
{
    sub_check(d.sub);
    driver_release(&d);
}

static const struct tf_member *member(size_t place)
{
    return &driver_allocation(&d, 1)->members.items[place];
}

static void ready_there(uint32_t index, uint32_t attempt)
{
    driver_told(&d, 1, 5, index, attempt, SUB_INSTANCE_READY, 0, false);
}

/* ---- the way ---- */

static void test_the_way(void)
{
    begin();
    move_one(1, 0, NULL);
    driver_pass(&d, 0);
    CU_ASSERT(driver_saw(&d, "persist allocation:1 migration:9\n"
                             "send answer 1 code 0: 1 instance to move\n"
                             "start 1/5/0.2 n2 0-3\n"
                             "send report 1/5 Running 2/2\n"
                             "send profile delta n 2\n"));
    CU_ASSERT_EQUAL(move_at(0)->state, TF_MOVE_STARTING);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->members.count, 3);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->size, 2);
    sub_check(d.sub);
    ready_there(0, 2);
    CU_ASSERT(driver_saw(&d, "persist allocation:1 migration:9\n"
                             "peers 1/5 v4 size 2\n"
                             "send report 1/5 Running 2/2\n"
                             "persist allocation:1 migration:9\n"
                             "stop 1/5/0.1 2000+30000\n"
                             "send report 1/5 Running 2/2\n"));
    CU_ASSERT_EQUAL(move_at(0)->state, TF_MOVE_STOPPING);
    CU_ASSERT_STRING_EQUAL(member(0)->node, "n2");
    sub_check(d.sub);
    driver_stopped(&d, 1, 5, 0, 1);
    driver_pass(&d, 0);
    CU_ASSERT_EQUAL(move_at(0)->state, TF_MOVE_DONE);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->members.count, 2);
    CU_ASSERT_EQUAL(sub_node_at(d.sub, 0).free_gpus, 0x0f);
    CU_ASSERT(sub_migration_at(d.sub, 0)->ended.ms > 0);
    end();
}

/* What the job's events tell of it. */
static void expect_note(enum tf_note_kind kind, const char *text)
{
    const struct tf_notes *notes = &driver_allocation(&d, 1)->notes;
    CU_ASSERT_EQUAL_FATAL(notes->count, 1);
    CU_ASSERT_EQUAL(notes->items[0].kind, kind);
    CU_ASSERT_STRING_EQUAL(notes->items[0].text, text);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->noted, 1);
}

static void test_the_job_is_told(void)
{
    begin();
    order((struct tf_migrate_order){.verb = TF_MIGRATE_BEGIN,
                                    .id = driver_uid(9),
                                    .uid = driver_uid(1),
                                    .user = tf_strdup("ann"),
                                    .reason = tf_strdup("fan")});
    ready_there(0, 2);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->noted, 0); /* it may yet go back */
    driver_stopped(&d, 1, 5, 0, 1);
    driver_pass(&d, 0);
    expect_note(TF_NOTE_MOVED, "instance 0 from n1 to n2 (asked for by ann: fan)");
    end();
    begin();
    move_one(1, 0, NULL);
    tell(TF_MIGRATE_ABORT);
    expect_note(TF_NOTE_STAYS, "instance 0 was not moved from n1: it was aborted (asked for)");
    end();
}

/* ---- back ---- */

static void expect_back(const char *why)
{
    CU_ASSERT_EQUAL(move_at(0)->state, TF_MOVE_ROLLED_BACK);
    CU_ASSERT_PTR_NOT_NULL_FATAL(move_at(0)->why);
    CU_ASSERT(strstr(move_at(0)->why, why) != NULL);
    if (!strstr(move_at(0)->why, why))
        printf("why: %s\n", move_at(0)->why);
    CU_ASSERT_STRING_EQUAL(member(0)->node, "n1");
    CU_ASSERT_EQUAL(member(0)->state, TF_MEMBER_READY);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->members.count, 2);
    CU_ASSERT_EQUAL(sub_node_at(d.sub, 0).held_gpus, 0xff);
    sub_check(d.sub);
}

/* The new instance does not get ready, in each way that there is: the old one goes on, and the next move has
 * to wait, with an attempt of its own. */
static void test_the_new_one_fails(void)
{
    static const enum sub_instance_state ends[] = {SUB_INSTANCE_EXITED, SUB_INSTANCE_REFUSED,
                                                   SUB_INSTANCE_LOST, SUB_INSTANCE_ABSENT};
    for (size_t i = 0; i < TF_ARRAY_LEN(ends); i++) {
        begin();
        move_one(1, 0, NULL);
        driver_told(&d, 1, 5, 0, 2, ends[i], 1, false);
        expect_back("instance 0");
        CU_ASSERT_EQUAL(member(0)->attempt, 1);
        driver_clear(&d);
        order((struct tf_migrate_order){
            .verb = TF_MIGRATE_BEGIN, .id = driver_uid(8), .uid = driver_uid(1), .index = 0});
        CU_ASSERT(driver_saw(&d, "send answer 2 code 4: t/j1/0: its latest move failed, and a while has to "
                                 "pass\n"));
        driver_pass(&d, 31 * TF_SECOND);
        order((struct tf_migrate_order){
            .verb = TF_MIGRATE_BEGIN, .id = driver_uid(8), .uid = driver_uid(1), .index = 0});
        CU_ASSERT_EQUAL(member(2)->attempt, 3);
        ready_there(0, 3);
        CU_ASSERT_STRING_EQUAL(member(0)->node, "n2");
        end();
    }
}

static void test_start_takes_too_long(void)
{
    begin();
    move_one(1, 0, NULL);
    driver_pass(&d, 6 * TF_MINUTE);
    CU_ASSERT_EQUAL(move_at(0)->state, TF_MOVE_ROLLED_BACK);
    CU_ASSERT_EQUAL(member(2)->state, TF_MEMBER_LEAVING);
    driver_stopped(&d, 1, 5, 0, 2);
    driver_pass(&d, 0);
    expect_back("was not ready in time");
    end();
}

/* READY is told, but the new one falls before the switch is durable: nothing of the old one was touched. */
static void test_falls_after_the_switch(void)
{
    begin();
    move_one(1, 0, NULL);
    d.hold_commits = true;
    ready_there(0, 2);
    CU_ASSERT_EQUAL(move_at(0)->state, TF_MOVE_SWITCHED);
    driver_exits(&d, 1, 5, 0, 2, 1);
    d.hold_commits = false;
    driver_commit(&d);
    driver_pass(&d, 0);
    expect_back("exited with code 1");
    CU_ASSERT_PTR_NULL(strstr(tf_buf_text(&d.log), "stop 1/5/0.1"));
    end();
}

/* The old one ends its work just when the other has taken over: its work is done. */
static void test_old_one_is_done(void)
{
    begin();
    move_one(1, 0, NULL);
    d.hold_commits = true;
    ready_there(0, 2);
    driver_exits(&d, 1, 5, 0, 1, 0);
    d.hold_commits = false;
    driver_commit(&d);
    driver_pass(&d, 0);
    CU_ASSERT_EQUAL(member(0)->state, TF_MEMBER_DONE);
    CU_ASSERT_EQUAL(member(0)->attempt, 1);
    CU_ASSERT_EQUAL(member(2)->state, TF_MEMBER_LEAVING);
    CU_ASSERT_EQUAL(move_at(0)->state, TF_MOVE_ROLLED_BACK);
    end();
}

static void node_lost(const char *name)
{
    driver_node_state(&d, name, TF_NODE_LOST);
    driver_pass(&d, 0);
}

static void test_target_dies(void)
{
    begin(); /* while it starts */
    move_one(1, 0, NULL);
    driver_told(&d, 1, 5, 0, 2, SUB_INSTANCE_STARTING, 0, false);
    node_lost("n2");
    expect_back("was lost");
    end();
    begin(); /* when it is switched, and that is not durable */
    move_one(1, 0, NULL);
    d.hold_commits = true;
    ready_there(0, 2);
    node_lost("n2");
    d.hold_commits = false;
    driver_commit(&d);
    driver_pass(&d, 0);
    expect_back("was lost");
    end();
    begin(); /* when the old one is told to stop: a loss like any other */
    move_one(1, 0, NULL);
    ready_there(0, 2);
    node_lost("n2");
    CU_ASSERT_EQUAL(move_at(0)->state, TF_MOVE_STOPPING);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->size, 1);
    driver_stopped(&d, 1, 5, 0, 1);
    driver_pass(&d, 0);
    CU_ASSERT_EQUAL(move_at(0)->state, TF_MOVE_DONE);
    end();
}

static void test_source_dies(void)
{
    begin(); /* while the new one starts: what is higher rolls it back, and the loss is repaired as any */
    move_one(1, 0, NULL);
    driver_told(&d, 1, 5, 0, 2, SUB_INSTANCE_STARTING, 0, false);
    node_lost("n1");
    CU_ASSERT_EQUAL(move_at(0)->state, TF_MOVE_ROLLED_BACK);
    sub_check(d.sub);
    end();
    begin(); /* after the switch */
    move_one(1, 0, NULL);
    d.hold_commits = true;
    ready_there(0, 2);
    node_lost("n1");
    d.hold_commits = false;
    driver_commit(&d);
    driver_pass(&d, 0);
    CU_ASSERT_EQUAL(move_at(0)->state, TF_MOVE_DONE);
    CU_ASSERT_STRING_EQUAL(member(0)->node, "n2");
    end();
}

static void test_both_die(void)
{
    begin();
    move_one(1, 0, NULL);
    driver_told(&d, 1, 5, 0, 2, SUB_INSTANCE_STARTING, 0, false);
    node_lost("n2");
    node_lost("n1");
    CU_ASSERT_EQUAL(move_at(0)->state, TF_MOVE_ROLLED_BACK);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->size, 0);
    end();
}

static void test_job_goes(void)
{
    begin();
    move_one(1, 0, NULL);
    ready_there(0, 2);
    driver_tell(&d, TF_ENTRY_RELEASE, 1, 5);
    for (uint32_t i = 0; i < 2; i++)
        driver_stopped(&d, 1, 5, i, 1);
    driver_stopped(&d, 1, 5, 0, 2);
    driver_pass(&d, 0);
    CU_ASSERT_EQUAL(move_at(0)->state, TF_MOVE_ROLLED_BACK);
    CU_ASSERT_EQUAL(sub_node_at(d.sub, 0).held_gpus, 0);
    CU_ASSERT_EQUAL(sub_node_at(d.sub, 1).held_gpus, 0);
    end();
}

/* §4: shrink ranks above migrate. */
static void test_job_shrinks(void)
{
    struct tf_entry entry = usual();
    tf_spec_own(&entry.spec)->elastic = (struct tf_elastic){1, 2, 1};
    begin_with(entry);
    move_one(1, 0, NULL);
    entry = usual();
    tf_spec_own(&entry.spec)->elastic = (struct tf_elastic){1, 1, 1};
    entry.size = 1;
    driver_change(&d, entry);
    CU_ASSERT_EQUAL(move_at(0)->state, TF_MOVE_ROLLED_BACK);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->size, 1);
    sub_check(d.sub);
    end();
}

/* ---- what is refused, and what waits ---- */

static void refused(const char *why)
{
    CU_ASSERT_PTR_NOT_NULL(strstr(tf_buf_text(&d.log), why));
    if (!strstr(tf_buf_text(&d.log), why))
        printf("%s\n", tf_buf_text(&d.log));
    CU_ASSERT_PTR_NULL(sub_migration_at(d.sub, 0));
    driver_clear(&d);
}

static void test_refusals(void)
{
    struct tf_entry entry = usual();
    tf_spec_own(&entry.spec)->migration = TF_MIGRATION_NEVER;
    begin_with(entry);
    move_one(1, 0, NULL);
    refused("t/j1/0: migration: never");
    end();
    begin();
    move_one(1, 7, NULL);
    refused("nothing of that runs");
    move_one(1, 0, "n1");
    refused("it is on node n1 already");
    move_one(1, 0, "nowhere");
    refused("there is no node nowhere");
    move_one(3, 0, NULL);
    refused("nothing of that runs in");
    driver_place(&d, 2, 6, 1, 8);
    driver_all_ready(&d);
    move_one(1, 0, NULL);
    refused("there is no free place for it on another node");
    move_one(1, 0, "n2");
    refused("it does not fit on node n2");
    end();
}

/* A repeat of the same order is the same chain. */
static void test_repeat(void)
{
    begin();
    move_one(1, 0, NULL);
    move_one(1, 0, NULL);
    CU_ASSERT_PTR_NULL(sub_migration_at(d.sub, 1));
    end();
}

/* Each instance of the node, one after the other as the limit of the job says. */
static void test_limit_of_a_job(void)
{
    begin();
    order((struct tf_migrate_order){
        .verb = TF_MIGRATE_BEGIN, .id = driver_uid(9), .from = tf_strdup("n1"), .all = true});
    CU_ASSERT_EQUAL(move_at(0)->state, TF_MOVE_STARTING);
    CU_ASSERT_EQUAL(move_at(1)->state, TF_MOVE_RESERVED);
    CU_ASSERT_EQUAL(sub_node_at(d.sub, 1).free_gpus, 0);
    sub_check(d.sub);
    ready_there(0, 2);
    CU_ASSERT_EQUAL(move_at(1)->state, TF_MOVE_RESERVED);
    driver_stopped(&d, 1, 5, 0, 1);
    driver_pass(&d, 0);
    CU_ASSERT_EQUAL(move_at(1)->state, TF_MOVE_STARTING);
    ready_there(1, 2);
    driver_stopped(&d, 1, 5, 1, 1);
    driver_pass(&d, 0);
    CU_ASSERT_EQUAL(move_at(1)->state, TF_MOVE_DONE);
    CU_ASSERT_EQUAL(sub_node_at(d.sub, 0).free_gpus, 0xff);
    end();
}

/* All that wait in vain are given up at once: that one is makes no room for the next. */
static void test_wait_in_vain(void)
{
    asks = 0;
    driver_two_frozen_nodes(&d, TF_FROZEN_MOVES);
    driver_change(&d, usual());
    driver_all_ready(&d);
    order((struct tf_migrate_order){
        .verb = TF_MIGRATE_BEGIN, .id = driver_uid(9), .from = tf_strdup("n1"), .all = true});
    driver_pass(&d, 4 * TF_MINUTE);
    CU_ASSERT_EQUAL(move_at(0)->state, TF_MOVE_PLANNED);
    CU_ASSERT_EQUAL(move_at(1)->state, TF_MOVE_PLANNED);
    driver_pass(&d, 2 * TF_MINUTE);
    CU_ASSERT_EQUAL(move_at(0)->state, TF_MOVE_ROLLED_BACK);
    CU_ASSERT_EQUAL(move_at(1)->state, TF_MOVE_ROLLED_BACK);
    CU_ASSERT_STRING_EQUAL(move_at(1)->why, "there was no place for it in time");
    end();
}

static void test_pause_and_abort(void)
{
    begin();
    order((struct tf_migrate_order){
        .verb = TF_MIGRATE_BEGIN, .id = driver_uid(9), .from = tf_strdup("n1"), .all = true});
    tell(TF_MIGRATE_PAUSE);
    ready_there(0, 2);
    driver_stopped(&d, 1, 5, 0, 1);
    driver_pass(&d, 10 * TF_MINUTE);
    CU_ASSERT_EQUAL(move_at(0)->state, TF_MOVE_DONE);
    CU_ASSERT_EQUAL(move_at(1)->state, TF_MOVE_RESERVED);
    tell(TF_MIGRATE_RESUME);
    CU_ASSERT_EQUAL(move_at(1)->state, TF_MOVE_STARTING);
    tell(TF_MIGRATE_ABORT);
    CU_ASSERT_EQUAL(move_at(1)->state, TF_MOVE_ROLLED_BACK);
    driver_clear(&d);
    tell(TF_MIGRATE_ABORT);
    CU_ASSERT(driver_saw(&d, "send answer 5 code 3: it is over; `fedctl get migrations` lists them\n"));
    driver_stopped(&d, 1, 5, 1, 2);
    driver_pass(&d, 0);
    CU_ASSERT_EQUAL(sub_node_at(d.sub, 1).free_gpus, 0xf0);
    end();
}

/* The old one is not stopped while fewer than readyMin are ready; and not kept double for ever either. */
static void test_ready_min(void)
{
    struct tf_entry entry = usual();
    tf_spec_own(&entry.spec)->ready_min = 2;
    begin_with(entry);
    move_one(1, 0, NULL);
    driver_exits(&d, 1, 5, 1, 1, 1); /* the other one fails */
    ready_there(0, 2);
    driver_pass(&d, 0);
    CU_ASSERT_EQUAL(move_at(0)->state, TF_MOVE_SWITCHED);
    driver_pass(&d, 15 * TF_SECOND);
    driver_told(&d, 1, 5, 1, 2, SUB_INSTANCE_READY, 0, false);
    driver_pass(&d, 0);
    CU_ASSERT_EQUAL(move_at(0)->state, TF_MOVE_STOPPING);
    end();
}

/* ---- a crash ---- */

static void test_crash_anywhere(void)
{
    for (int at = 0; at < 4; at++)
        for (int lands = 0; lands < 2; lands++) {
            begin();
            d.hold_commits = at == 0;
            move_one(1, 0, NULL);
            d.hold_commits = at <= 1;
            if (at >= 1)
                ready_there(0, 2);
            d.hold_commits = at <= 2;
            if (at == 2)
                driver_commit(&d);
            driver_crash(&d, lands);
            d.hold_commits = false;
            driver_list(&d);
            driver_commit(&d);
            driver_pass(&d, TF_SECOND);
            sub_check(d.sub);
            if (!sub_migration_at(d.sub, 0)) { /* it was never answered: it never was */
                CU_ASSERT(at == 0 && !lands);
                CU_ASSERT_EQUAL(driver_allocation(&d, 1)->members.count, 2);
                end();
                continue;
            }
            driver_all_ready(&d);
            driver_pass(&d, TF_SECOND);
            CU_ASSERT_STRING_EQUAL(member(0)->node, "n2");
            driver_stopped(&d, 1, 5, 0, 1);
            driver_pass(&d, TF_SECOND);
            CU_ASSERT_EQUAL(move_at(0)->state, TF_MOVE_DONE);
            end();
        }
}

/* ---- urgent work ---- */

static void urgent(uint8_t uid, uint64_t epoch, int32_t gpus)
{
    struct tf_entry entry = driver_place_entry(uid, epoch, 1, gpus);
    tf_str_set(&tf_spec_own(&entry.spec)->priority, "high");
    entry.level = TF_LEVEL_TOP - 1;
    driver_change(&d, entry);
}

static void test_urgent_takes_the_place(void)
{
    begin(); /* of one that starts */
    move_one(1, 0, NULL);
    urgent(2, 6, 8);
    CU_ASSERT_EQUAL(driver_allocation(&d, 2)->phase, TF_ALLOCATION_CLAIMING);
    CU_ASSERT_EQUAL(move_at(0)->state, TF_MOVE_ROLLED_BACK);
    driver_stopped(&d, 1, 5, 0, 2);
    driver_pass(&d, 0);
    expect_back("its place went to t/j2 (high)");
    CU_ASSERT_EQUAL(driver_allocation(&d, 2)->phase, TF_ALLOCATION_STARTING);
    end();
    begin(); /* of one that waits for its turn */
    order((struct tf_migrate_order){
        .verb = TF_MIGRATE_BEGIN, .id = driver_uid(9), .from = tf_strdup("n1"), .all = true});
    urgent(2, 6, 4);
    CU_ASSERT(move_at(0)->state == TF_MOVE_ROLLED_BACK || move_at(1)->state == TF_MOVE_ROLLED_BACK);
    CU_ASSERT(move_at(0)->state != move_at(1)->state);
    sub_check(d.sub);
    end();
}

/* ---- a job that restarts ---- */

static void test_restart(void)
{
    struct tf_entry entry = usual();
    tf_spec_own(&entry.spec)->migration = TF_MIGRATION_RESTART;
    begin_with(entry);
    move_one(1, 0, NULL);
    refused("all of its job would stop and start again");
    order((struct tf_migrate_order){.verb = TF_MIGRATE_BEGIN,
                                    .id = driver_uid(9),
                                    .uid = driver_uid(1),
                                    .all = true,
                                    .may_restart = true});
    CU_ASSERT_EQUAL(move_at(0)->state, TF_MOVE_STOPPING);
    CU_ASSERT_EQUAL(move_at(1)->state, TF_MOVE_STOPPING);
    driver_stopped(&d, 1, 5, 0, 1);
    driver_stopped(&d, 1, 5, 1, 1);
    driver_pass(&d, 0);
    CU_ASSERT_EQUAL(move_at(0)->state, TF_MOVE_STARTING);
    CU_ASSERT_EQUAL(move_at(1)->state, TF_MOVE_STARTING);
    driver_all_ready(&d);
    driver_pass(&d, 0);
    CU_ASSERT_EQUAL(move_at(0)->state, TF_MOVE_DONE);
    CU_ASSERT_EQUAL(move_at(1)->state, TF_MOVE_DONE);
    CU_ASSERT_STRING_EQUAL(member(0)->node, "n2");
    CU_ASSERT_EQUAL(member(0)->attempt, 2);
    CU_ASSERT_EQUAL(sub_node_at(d.sub, 0).free_gpus, 0xff);
    end();
}

/* The places went silent while it stopped: it does not wait for them, and the moves are over. */
static void test_restart_without_the_place(void)
{
    struct tf_entry entry = usual();
    tf_spec_own(&entry.spec)->migration = TF_MIGRATION_RESTART;
    begin_with(entry);
    order((struct tf_migrate_order){.verb = TF_MIGRATE_BEGIN,
                                    .id = driver_uid(9),
                                    .uid = driver_uid(1),
                                    .all = true,
                                    .may_restart = true});
    driver_node_state(&d, "n2", TF_NODE_UNREACHABLE);
    driver_stopped(&d, 1, 5, 0, 1);
    driver_stopped(&d, 1, 5, 1, 1);
    driver_pass(&d, 0);
    driver_all_ready(&d);
    driver_pass(&d, 0);
    CU_ASSERT_EQUAL(move_at(0)->state, TF_MOVE_ROLLED_BACK);
    CU_ASSERT_EQUAL(move_at(1)->state, TF_MOVE_ROLLED_BACK);
    CU_ASSERT_STRING_EQUAL(member(0)->node, "n1");
    CU_ASSERT_EQUAL(member(0)->attempt, 2);
    CU_ASSERT_EQUAL(member(0)->state, TF_MEMBER_READY);
    end();
}

/* ---- entry ---- */

static const struct suite_test tests[] = {
    {"the way", test_the_way},
    {"the job is told", test_the_job_is_told},
    {"the new one fails", test_the_new_one_fails},
    {"a start takes too long", test_start_takes_too_long},
    {"falls after the switch", test_falls_after_the_switch},
    {"the old one is done", test_old_one_is_done},
    {"the target dies", test_target_dies},
    {"the source dies", test_source_dies},
    {"both die", test_both_die},
    {"the job goes", test_job_goes},
    {"the job shrinks", test_job_shrinks},
    {"refusals", test_refusals},
    {"a repeat", test_repeat},
    {"the limit of a job", test_limit_of_a_job},
    {"a wait in vain", test_wait_in_vain},
    {"pause and abort", test_pause_and_abort},
    {"readyMin", test_ready_min},
    {"a crash anywhere", test_crash_anywhere},
    {"urgent work takes the place", test_urgent_takes_the_place},
    {"a job that restarts", test_restart},
    {"a job that restarts without the place", test_restart_without_the_place},
};

int main(void)
{
    return suite_run("unit/subcluster/migrate", tests, TF_ARRAY_LEN(tests));
}
