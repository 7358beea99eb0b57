/* SPDX-License-Identifier: Apache-2.0 */
/* A chain in which an instance goes by way of a spare place: two moves of it, and what becomes of it when the
 * second has nothing to go to, or when the chain's record is older than the job's. */
#include "common/base/cleanup.h"
#include "subcluster/core/check.h"
#include "tests/support/sub_driver.h"
#include "tests/support/suite.h"

static struct sub_driver d;

enum { WAITER = 1, OTHER = 3, LARGE = 5 };

static void add_job(uint8_t uid, int32_t gpus, int32_t cores, enum tf_migration_rule migration)
{
    struct tf_entry entry = driver_place_entry(uid, uid, 1, gpus);
    tf_spec_own(&entry.spec)->group.shape.cpu = 1000 * cores;
    tf_spec_own(&entry.spec)->migration = migration;
    driver_change(&d, entry);
    driver_all_ready(&d);
}

/* Only that one takes anything; NULL: all do. */
static void open_node(const char *name)
{
    static const char *const names[] = {"n0", "n1", "n2", "n3"};
    for (size_t n = 0; n < TF_ARRAY_LEN(names); n++)
        driver_node_state(&d, names[n],
                          !name || strcmp(name, names[n]) == 0 ? TF_NODE_READY : TF_NODE_CORDONED);
}

/* n2 can be freed if the waiter (n0) and the other (n1) change places and the large one goes to n1, too; n3
 * is free, and stays so. Of 64 cores: 20 + 28; 28 + 36; 16; none. */
static void begin(void)
{
    driver_init(&d);
    for (int n = 0; n < 4; n++) {
        char name[8];
        snprintf(name, sizeof name, "n%d", n);
        driver_node(&d, name, "H800", 8);
    }
    driver_ready(&d);
    open_node("n0");
    add_job(WAITER, 1, 20, TF_MIGRATION_ALLOW);
    add_job(2, 6, 28, TF_MIGRATION_NEVER);
    open_node("n1");
    add_job(OTHER, 2, 36, TF_MIGRATION_ALLOW);
    add_job(4, 2, 28, TF_MIGRATION_NEVER);
    open_node("n2");
    add_job(LARGE, 4, 16, TF_MIGRATION_ALLOW);
    open_node(NULL);
    driver_pass(&d, TF_MINUTE);
    driver_clear(&d);
}

/* The plan, as the chain 9. */
static void apply(void)
{
    struct tf_defrag_plan plan = {0};
    struct tf_defrag_order asked = {0};
    sub_plan_defrag(d.sub, d.now, &asked, &plan);
    CU_ASSERT_EQUAL_FATAL(plan.moves.count, 4);
    CU_ASSERT_EQUAL(plan.freed, 1);
    struct sub_event event = {.kind = SUB_EV_DOWN};
    event.down =
        (struct tf_down){.kind = TF_DOWN_ASK, .term = d.term, .ask = {.id = 7, .kind = TF_ASK_DEFRAG}};
    tf_vec_push(&event.down.ask.defrag,
                ((struct tf_defrag_order){.apply = true, .id = driver_uid(9), .digest = plan.digest}));
    driver_step(&d, event);
    driver_pass(&d, 10);
    tf_defrag_plan_release(&plan);
}

static const struct tf_migration *chain(void)
{
    const struct tf_migration *m = sub_migration_at(d.sub, 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    return m;
}

static enum tf_move_state state(size_t move)
{
    return chain()->moves.items[move].state;
}

static const char *place_of(uint8_t uid)
{
    return driver_allocation(&d, uid)->members.items[0].node;
}

static void goes(uint8_t uid, uint32_t attempt)
{
    driver_all_ready(&d);
    driver_pass(&d, 10);
    driver_stopped(&d, uid, uid, 0, attempt);
    driver_pass(&d, 10);
}

static void end(void)
{
    sub_check(d.sub);
    driver_release(&d);
}

static void check_is_carried_out(void)
{
    for (size_t i = 0; i < 4; i++)
        CU_ASSERT_EQUAL(state(i), TF_MOVE_DONE);
    CU_ASSERT_NOT_EQUAL(chain()->ended.ms, 0);
    CU_ASSERT_STRING_EQUAL(place_of(WAITER), "n1");
    CU_ASSERT_STRING_EQUAL(place_of(OTHER), "n0");
    CU_ASSERT_STRING_EQUAL(place_of(LARGE), "n1");
    CU_ASSERT_EQUAL(sub_node_at(d.sub, 2).free_gpus, 0xff);
    CU_ASSERT_EQUAL(sub_node_at(d.sub, 3).free_gpus, 0xff);
}

static void test_the_way(void)
{
    begin();
    apply();
    const struct tf_migration *m = chain();
    CU_ASSERT_EQUAL_FATAL(m->moves.count, 4);
    CU_ASSERT_STRING_EQUAL(m->moves.items[0].claim.node, "n3");
    CU_ASSERT_STRING_EQUAL(m->moves.items[3].from, "n3"); /* it is not there yet */
    CU_ASSERT_EQUAL(state(0), TF_MOVE_STARTING);
    for (size_t i = 1; i < 4; i++)
        CU_ASSERT_EQUAL(state(i), TF_MOVE_RESERVED);
    goes(WAITER, 1);
    CU_ASSERT_EQUAL(state(0), TF_MOVE_DONE);
    CU_ASSERT_STRING_EQUAL(place_of(WAITER), "n3");
    CU_ASSERT_EQUAL(state(3), TF_MOVE_RESERVED);
    goes(OTHER, 1);
    goes(LARGE, 1);
    goes(WAITER, 2);
    CU_ASSERT_EQUAL(driver_allocation(&d, WAITER)->members.items[0].attempt, 3);
    check_is_carried_out();
    end();
}

/* The place it is to go to is cordoned while it waits: it stays where it is, which is its own, and nothing is
 * claimed any more. */
static void test_stays(void)
{
    begin();
    apply();
    goes(WAITER, 1);
    driver_node_state(&d, "n1", TF_NODE_CORDONED);
    goes(OTHER, 1);
    driver_pass(&d, TF_MINUTE);
    CU_ASSERT_EQUAL(state(0), TF_MOVE_DONE);
    CU_ASSERT_EQUAL(state(1), TF_MOVE_DONE);
    CU_ASSERT_EQUAL(state(2), TF_MOVE_ROLLED_BACK);
    CU_ASSERT_EQUAL(state(3), TF_MOVE_ROLLED_BACK);
    CU_ASSERT_STRING_EQUAL(place_of(WAITER), "n3");
    CU_ASSERT_EQUAL(driver_allocation(&d, WAITER)->members.count, 1);
    CU_ASSERT_EQUAL(sub_node_at(d.sub, 3).held_gpus | sub_node_at(d.sub, 3).free_gpus, 0xff);
    end();
}

/* It never gets to the spare place: all that goes on from there, or needs what it was to leave, is rolled
 * back. */
static void test_never_leaves(void)
{
    begin();
    apply();
    driver_node_state(&d, "n3", TF_NODE_LOST);
    driver_pass(&d, TF_MINUTE);
    for (size_t i = 0; i < 4; i++)
        CU_ASSERT_EQUAL(state(i), TF_MOVE_ROLLED_BACK);
    CU_ASSERT_STRING_EQUAL(place_of(WAITER), "n0");
    end();
}

/* The chain's record as it is stored. */
static struct tf_record stored_chain(void)
{
    struct tf_record record = {0};
    for (size_t i = 0; i < d.store.count; i++) {
        record_store_get(&d.store, i, &record);
        if (record.kind == TF_RECORD_MIGRATION)
            return record;
        tf_record_release(&record);
    }
    CU_FAIL_FATAL("no chain is stored");
    return record;
}

/* The job's record is stored no later than the chain's, which may so be older: it says that the first move is
 * being finished, or has begun, while the second has begun. */
static void test_older_chain(void)
{
    for (int older = 0; older < 2; older++) {
        begin();
        apply();
        struct tf_record record = stored_chain();
        CU_ASSERT_EQUAL(record.migration.moves.items[0].state, TF_MOVE_STARTING);
        if (!older)
            record.migration.moves.items[0].state = TF_MOVE_STOPPING;
        goes(WAITER, 1);
        goes(OTHER, 1);
        CU_ASSERT_EQUAL(state(3), TF_MOVE_STARTING);
        record.migration.moves.items[1].state = TF_MOVE_DONE;
        record_store_put(&d.store, &record, 1);
        tf_record_release(&record);
        driver_crash(&d, false);
        driver_list(&d);
        driver_link(&d, true);
        driver_set(&d, NULL, 0);
        driver_pass(&d, 10);
        CU_ASSERT_EQUAL(state(0), TF_MOVE_DONE);
        CU_ASSERT_EQUAL(state(3), TF_MOVE_STARTING);
        sub_check(d.sub);
        goes(LARGE, 1);
        goes(WAITER, 2);
        check_is_carried_out();
        end();
    }
}

int main(void)
{
    static const struct suite_test tests[] = {
        {"by way of a spare place", test_the_way},
        {"what has nothing to go to stays in the spare place", test_stays},
        {"what does not get to the spare place goes nowhere", test_never_leaves},
        {"a chain whose record is older than its job's", test_older_chain},
    };
    return suite_run("unit/subcluster/spare", tests, TF_ARRAY_LEN(tests));
}
