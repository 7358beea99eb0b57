/* SPDX-License-Identifier: Apache-2.0 */
/* Drains of nodes: who leaves, who stays and why, what the deadline does, what an end undoes. */
#include "common/base/cleanup.h"
#include "subcluster/core/check.h"
#include "tests/support/sub_driver.h"
#include "tests/support/suite.h"

static struct sub_driver d;
static uint64_t asks;

static void ask(const char *node, bool on, struct tf_drain_order drain)
{
    struct sub_event event = {.kind = SUB_EV_DOWN};
    event.down.kind = TF_DOWN_ASK;
    event.down.term = d.term;
    event.down.ask = (struct tf_ask){
        .id = ++asks, .kind = TF_ASK_CORDON, .node = tf_strdup(node), .on = on, .drain = drain};
    driver_step(&d, event);
}

static void drain(const char *node, int64_t within, bool force)
{
    ask(node, true, (struct tf_drain_order){.on = true, .within = within, .force = force});
}

static enum tf_node_state state_of(const char *node)
{
    for (size_t i = 0; i < sub_node_count(d.sub); i++)
        if (strcmp(sub_node_at(d.sub, i).node->name, node) == 0)
            return sub_node_at(d.sub, i).node->state;
    return TF_NODE_NONE;
}

/* Members that stay, on that node. */
static int32_t on_node(uint8_t uid, const char *node)
{
    const struct tf_allocation *a = driver_allocation(&d, uid);
    int32_t count = 0;
    if (a)
        tf_vec_each (m, &a->members)
            count += m->state != TF_MEMBER_GONE && m->state != TF_MEMBER_LEAVING &&
                     m->state != TF_MEMBER_STOPPING && m->node && strcmp(m->node, node) == 0;
    return count;
}

static int32_t moves(void)
{
    const struct tf_migration *m;
    int32_t count = 0;
    for (size_t i = 0; (m = sub_migration_at(d.sub, i)); i++)
        tf_vec_each (move, &m->moves)
            count += !tf_move_is_over(move->state);
    return count;
}

/* What the job's events tell of it. */
static void expect_notes(uint8_t uid, const char *lines)
{
    TF_AUTO_BUF seen = TF_BUF_INIT;
    tf_vec_each (note, &driver_allocation(&d, uid)->notes)
        tf_buf_fmt(&seen, "%s: %s\n", tf_note_word(note->kind), note->text);
    CU_ASSERT_STRING_EQUAL(tf_buf_text(&seen), lines);
    if (strcmp(tf_buf_text(&seen), lines) != 0)
        printf("saw:\n%s", tf_buf_text(&seen));
}

/* All that starts becomes ready, all that is told to stop stops, for so long. */
static void live(int64_t ms)
{
    for (; ms > 0; ms -= TF_SECOND) {
        driver_pass(&d, TF_SECOND);
        driver_all_ready(&d);
        const struct tf_allocation *a;
        for (uint8_t uid = 1; uid < 5; uid++)
            for (size_t i = 0; (a = driver_allocation(&d, uid)) && i < a->members.count; i++) {
                const struct tf_member m = a->members.items[i];
                bool leaves = m.state == TF_MEMBER_LEAVING || m.state == TF_MEMBER_STOPPING;
                if (leaves)
                    driver_stopped(&d, uid, a->epoch, m.index, m.attempt);
            }
    }
}

/* A service of two instances, on n1; n2 is empty. */
static void place_service(enum tf_migration_rule migration, int64_t min_runtime)
{
    struct tf_entry entry = driver_place_entry(1, 5, 2, 4);
    tf_spec_own(&entry.spec)->migration = migration;
    tf_spec_own(&entry.spec)->elastic.step = 1;
    tf_spec_own(&entry.spec)->min_runtime = min_runtime;
    driver_change(&d, entry);
    driver_all_ready(&d);
    driver_pass(&d, 10 * TF_SECOND);
    driver_clear(&d);
}

static void begin(enum tf_migration_rule migration, int64_t min_runtime)
{
    asks = 0;
    driver_two_nodes(&d);
    place_service(migration, min_runtime);
}

static void end(void)
{
    sub_check(d.sub);
    driver_release(&d);
}

static void test_what_may_move_moves(void)
{
    begin(TF_MIGRATION_ALLOW, 0);
    drain("n1", 0, false);
    CU_ASSERT_EQUAL(state_of("n1"), TF_NODE_DRAINING);
    live(60 * TF_SECOND);
    CU_ASSERT_EQUAL(on_node(1, "n1"), 0);
    CU_ASSERT_EQUAL(on_node(1, "n2"), 2);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->epoch, 5);
    CU_ASSERT_EQUAL(state_of("n1"), TF_NODE_DRAINING); /* until uncordon */
    driver_clear(&d);
    live(600 * TF_SECOND);
    CU_ASSERT_PTR_NULL(strstr(tf_buf_text(&d.log), "persist")); /* I11 */
    end();
}

static void test_so_many_at_once(void)
{
    begin(TF_MIGRATION_ALLOW, 0);
    ask("n1", true, (struct tf_drain_order){.on = true, .max_at_once = 1});
    for (int i = 0; i < 60; i++) {
        live(TF_SECOND);
        CU_ASSERT_TRUE(moves() <= 1);
    }
    live(60 * TF_SECOND);
    CU_ASSERT_EQUAL(on_node(1, "n2"), 2);
    end();
}

static void test_what_may_not_move_stays(void)
{
    begin(TF_MIGRATION_NEVER, 0);
    ask("n1", true, (struct tf_drain_order){.on = true, .dry = true});
    CU_ASSERT_PTR_NOT_NULL(strstr(tf_buf_text(&d.log), "2 instances are there, of which 2 cannot move now"));
    CU_ASSERT_PTR_NOT_NULL(strstr(tf_buf_text(&d.log), "t/j1/0 stays: "));
    CU_ASSERT_EQUAL(state_of("n1"), TF_NODE_READY); /* it was only asked */
    drain("n1", 0, false);
    live(600 * TF_SECOND);
    CU_ASSERT_EQUAL(on_node(1, "n1"), 2); /* without a deadline for ever */
    end();
}

static void test_a_dry_run(void)
{
    begin(TF_MIGRATION_ALLOW, 0);
    ask("n1", true, (struct tf_drain_order){.on = true, .dry = true});
    CU_ASSERT_PTR_NOT_NULL(strstr(tf_buf_text(&d.log), "of which 0 cannot move now"));
    CU_ASSERT_PTR_NOT_NULL(strstr(tf_buf_text(&d.log), "t/j1/1 -> n2"));
    live(60 * TF_SECOND);
    CU_ASSERT_EQUAL(on_node(1, "n1"), 2);
    end();
}

static void test_the_deadline(void)
{
    begin(TF_MIGRATION_NEVER, 0);
    drain("n1", 60 * TF_SECOND, false);
    live(50 * TF_SECOND);
    CU_ASSERT_EQUAL(on_node(1, "n1"), 2);
    live(300 * TF_SECOND);
    CU_ASSERT_EQUAL(on_node(1, "n1"), 0);
    end();
}

static void test_protected_cores_are_waited_for(void)
{
    for (int force = 0; force < 2; force++) {
        begin(TF_MIGRATION_NEVER, 600 * TF_SECOND);
        drain("n1", 60 * TF_SECOND, force);
        live(120 * TF_SECOND);
        CU_ASSERT_EQUAL(on_node(1, "n1"), force ? 0 : 2);
        live(600 * TF_SECOND);
        CU_ASSERT_EQUAL(on_node(1, "n1"), 0);
        end();
    }
}

static void test_uncordon(void)
{
    begin(TF_MIGRATION_ALLOW, 0);
    drain("n1", 0, false);
    driver_pass(&d, 5 * TF_SECOND); /* what starts there is not ready yet */
    driver_clear(&d);
    ask("n1", false, (struct tf_drain_order){0});
    CU_ASSERT_PTR_NOT_NULL(
        strstr(tf_buf_text(&d.log), "node n1 is drained no longer: 2 instances are still"));
    CU_ASSERT_EQUAL(state_of("n1"), TF_NODE_READY);
    live(120 * TF_SECOND);
    CU_ASSERT_EQUAL(on_node(1, "n1"), 2);
    CU_ASSERT_EQUAL(moves(), 0);
    end();
}

/* Where the old ones are gone already there is nothing to take back, and none is told of. */
static void test_uncordon_too_late(void)
{
    begin(TF_MIGRATION_RESTART, 0);
    drain("n1", 0, false);
    driver_pass(&d, 5 * TF_SECOND);
    for (uint32_t i = 0; i < 2; i++)
        driver_stopped(&d, 1, 5, i, 1);
    driver_pass(&d, TF_SECOND);
    driver_clear(&d);
    CU_ASSERT_EQUAL(moves(), 2);
    ask("n1", false, (struct tf_drain_order){0});
    CU_ASSERT_PTR_NOT_NULL(strstr(tf_buf_text(&d.log), "; 0 moves are taken back"));
    live(60 * TF_SECOND);
    CU_ASSERT_EQUAL(on_node(1, "n2"), 2);
    end();
}

static void test_a_restart_of_the_daemon(void)
{
    begin(TF_MIGRATION_NEVER, 0);
    drain("n1", 60 * TF_SECOND, false);
    driver_crash(&d, true);
    driver_list(&d);
    CU_ASSERT_EQUAL(state_of("n1"), TF_NODE_DRAINING);
    live(300 * TF_SECOND);
    CU_ASSERT_EQUAL(on_node(1, "n1"), 0); /* the federation is away: its own deadline */
    end();
}

/* Moves are frozen: those that are planned wait. That is no reason to stay beyond the deadline. */
static void test_what_waits_for_a_move_goes_at_the_deadline(void)
{
    asks = 0;
    driver_two_frozen_nodes(&d, TF_FROZEN_MOVES);
    place_service(TF_MIGRATION_ALLOW, 0);
    drain("n1", 60 * TF_SECOND, false);
    live(50 * TF_SECOND);
    CU_ASSERT_EQUAL(moves(), 2);
    CU_ASSERT_EQUAL(on_node(1, "n1"), 2);
    live(60 * TF_SECOND);
    CU_ASSERT_EQUAL(on_node(1, "n1"), 0);
    CU_ASSERT_EQUAL(moves(), 0);
    end();
}

/* A gang that cannot go on without one that waits for its retry on the node: that one starts elsewhere. */
static void test_one_that_waits_for_its_retry(void)
{
    asks = 0;
    driver_two_nodes(&d);
    struct tf_entry gang = driver_place_entry(1, 5, 2, 4);
    tf_spec_own(&gang.spec)->below_min = TF_BELOW_MIN_STOP;
    tf_spec_own(&gang.spec)->migration = TF_MIGRATION_NEVER;
    tf_spec_own(&gang.spec)->retry_backoff = 60 * TF_SECOND;
    driver_change(&d, gang);
    driver_all_ready(&d);
    driver_exits(&d, 1, 5, 0, 1, 3);
    CU_ASSERT_EQUAL(driver_count_in(&d, 1, TF_MEMBER_BACKOFF), 1);
    drain("n1", 10 * TF_SECOND, false);
    live(50 * TF_SECOND);
    CU_ASSERT_EQUAL(on_node(1, "n1"), 0);
    CU_ASSERT_EQUAL(on_node(1, "n2"), 2);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->epoch, 5);
    end();
}

/* All of it there was being stopped, to start again with its job, when the drain looked: it is back at the
 * deadline. */
static void test_one_that_restarts_is_not_forgotten(void)
{
    asks = 0;
    driver_two_nodes(&d);
    struct tf_entry gang = driver_place_entry(1, 5, 2, 8);
    tf_spec_own(&gang.spec)->on_resize = TF_ON_RESIZE_RESTART;
    tf_spec_own(&gang.spec)->migration = TF_MIGRATION_NEVER;
    tf_spec_own(&gang.spec)->retry_limit = 3;
    tf_spec_own(&gang.spec)->retry_backoff = TF_SECOND;
    driver_change(&d, gang);
    driver_all_ready(&d);
    driver_exits(&d, 1, 5, 1, 1, 3);
    CU_ASSERT_EQUAL(driver_count_in(&d, 1, TF_MEMBER_STOPPING), 1);
    drain("n1", 60 * TF_SECOND, false);
    driver_pass(&d, TF_SECOND);
    driver_stopped(&d, 1, 5, 0, 1);
    driver_pass(&d, 5 * TF_SECOND);
    driver_all_ready(&d);
    CU_ASSERT_EQUAL(on_node(1, "n1"), 1);
    live(100 * TF_SECOND);
    CU_ASSERT_EQUAL(on_node(1, "n1"), 0);
    end();
}

/* What leaves the node makes nothing free, as the node takes nothing: whom it makes short claims room
 * elsewhere all the same. */
static void test_who_becomes_short_claims_room(void)
{
    asks = 0;
    driver_two_nodes(&d);
    struct tf_entry entry = driver_place_entry(1, 5, 3, 4), low = driver_place_entry(2, 6, 1, 4);
    tf_spec_own(&entry.spec)->elastic.step = 1;
    tf_spec_own(&entry.spec)->migration = TF_MIGRATION_NEVER;
    tf_str_set(&tf_spec_own(&low.spec)->priority, "low");
    driver_change(&d, entry);
    driver_change(&d, low);
    driver_all_ready(&d);
    bool first = on_node(1, "n1") == 2;
    const char *drained = first ? "n1" : "n2", *other = first ? "n2" : "n1";
    CU_ASSERT_EQUAL(on_node(1, drained), 2);
    CU_ASSERT_EQUAL(on_node(2, other), 1);
    drain(drained, 10 * TF_SECOND, false);
    live(60 * TF_SECOND);
    CU_ASSERT_EQUAL(on_node(2, other), 0);
    CU_ASSERT_EQUAL(on_node(1, other), 2);
    end();
}

/* ---- domains ---- */

static void ask_domain(const char *domain, bool on, struct tf_drain_order drain)
{
    struct sub_event event = {.kind = SUB_EV_DOWN};
    event.down.kind = TF_DOWN_ASK;
    event.down.term = d.term;
    event.down.ask = (struct tf_ask){.id = ++asks,
                                     .kind = TF_ASK_CORDON,
                                     .domain = tf_strdup(domain),
                                     .on = on,
                                     .reason = on ? tf_strdup("new switch") : NULL,
                                     .drain = drain};
    driver_clear(&d);
    driver_step(&d, event);
}

static bool answered(const char *text)
{
    bool said = strstr(tf_buf_text(&d.log), text) != NULL;
    if (!said)
        printf("\n%s\n", tf_buf_text(&d.log));
    return said;
}

/* n1 to n4, two a rack; the service is on n1. */
static void begin_racks(void)
{
    static const char *const paths[] = {"rack-1", "rack-1", "rack-2", "rack-2"};
    asks = 0;
    driver_init(&d);
    struct tf_plane *plane = tf_vec_add(&d.boot.planes);
    *plane = (struct tf_plane){.name = tf_strdup("net")};
    tf_strs_add(&plane->levels, "rack");
    for (int i = 0; i < 4; i++) {
        char name[] = {'n', (char)('1' + i), '\0'};
        tf_strs_add(&driver_node(&d, name, "H800", 8)->domains, paths[i]);
    }
    driver_ready(&d);
    place_service(TF_MIGRATION_ALLOW, 0);
    CU_ASSERT_EQUAL(on_node(1, "n1"), 2);
}

static void test_a_domain_is_one_drain(void)
{
    begin_racks();
    ask("n2", true, (struct tf_drain_order){0}); /* it is cordoned before, and after */
    ask_domain("rack-1", true, (struct tf_drain_order){.on = true, .dry = true});
    CU_ASSERT_TRUE(answered("2 instances are there, of which 0 cannot move now"));
    CU_ASSERT_TRUE(answered("t/j1/1 -> n3")); /* not to n2, which is drained with it */
    CU_ASSERT_EQUAL(state_of("n1"), TF_NODE_READY);
    ask_domain("rack-1", true, (struct tf_drain_order){.on = true});
    CU_ASSERT_TRUE(answered("2 nodes are drained together"));
    CU_ASSERT_EQUAL(state_of("n1"), TF_NODE_DRAINING);
    CU_ASSERT_EQUAL(state_of("n2"), TF_NODE_DRAINING);
    ask("n1", false, (struct tf_drain_order){0});
    CU_ASSERT_TRUE(answered("node n1 is drained with domain"));
    CU_ASSERT_EQUAL(state_of("n1"), TF_NODE_DRAINING);
    live(60 * TF_SECOND);
    CU_ASSERT_EQUAL(on_node(1, "n1") + on_node(1, "n2"), 0);
    ask_domain("rack-1", false, (struct tf_drain_order){0});
    CU_ASSERT_TRUE(answered("is drained no longer, 2 nodes: 0 instances are still there"));
    CU_ASSERT_TRUE(answered("still cordoned: n2"));
    CU_ASSERT_EQUAL(state_of("n1"), TF_NODE_READY);
    CU_ASSERT_EQUAL(state_of("n2"), TF_NODE_CORDONED);
    ask_domain("rack-1", false, (struct tf_drain_order){0});
    CU_ASSERT_TRUE(answered("is neither drained nor cordoned as a whole"));
    end();
}

/* The daemon begins anew, and a node comes that was not there when it was ordered. */
static void test_a_node_that_comes_later(void)
{
    begin_racks();
    ask_domain("rack-2", true, (struct tf_drain_order){.on = true, .within = TF_HOUR});
    tf_strs_add(&driver_node(&d, "n5", "H800", 8)->domains, "rack-2");
    tf_strs_add(&driver_node(&d, "n6", "H800", 8)->domains, "rack-3");
    driver_crash(&d, true);
    driver_list(&d);
    driver_pass(&d, TF_SECOND);
    CU_ASSERT_EQUAL(state_of("n3"), TF_NODE_DRAINING);
    CU_ASSERT_EQUAL(state_of("n5"), TF_NODE_DRAINING);
    CU_ASSERT_EQUAL(state_of("n6"), TF_NODE_READY);
    driver_crash(&d, true);
    driver_list(&d);
    CU_ASSERT_EQUAL(state_of("n5"), TF_NODE_DRAINING);
    driver_link(&d, true);
    driver_set(&d, NULL, 0);
    ask_domain("rack-2", false, (struct tf_drain_order){0});
    CU_ASSERT_TRUE(answered("is drained no longer, 3 nodes"));
    CU_ASSERT_EQUAL(state_of("n5"), TF_NODE_READY);
    end();
}

static void test_a_cluster_and_a_rack_of_it(void)
{
    begin_racks();
    ask_domain("rack-1", true, (struct tf_drain_order){.on = true});
    ask_domain(TF_ALL_DOMAINS, true, (struct tf_drain_order){.on = true, .dry = true});
    CU_ASSERT_TRUE(answered("stays: there is no free place for it: every node"));
    ask_domain(TF_ALL_DOMAINS, true, (struct tf_drain_order){.on = true});
    CU_ASSERT_TRUE(answered("4 nodes are drained together"));
    ask_domain("rack-1", false, (struct tf_drain_order){0});
    CU_ASSERT_TRUE(
        answered("is neither drained nor cordoned as a whole")); /* the later order has its nodes */
    CU_ASSERT_EQUAL(state_of("n1"), TF_NODE_DRAINING);
    ask_domain("rack-2", true, (struct tf_drain_order){.on = true});
    ask_domain("rack-2", false, (struct tf_drain_order){0});
    CU_ASSERT_EQUAL(state_of("n3"), TF_NODE_DRAINING); /* it is with the cluster again */
    ask_domain(TF_ALL_DOMAINS, false, (struct tf_drain_order){0});
    CU_ASSERT_TRUE(answered("is drained no longer, 4 nodes"));
    CU_ASSERT_EQUAL(state_of("n3"), TF_NODE_READY);
    ask_domain(TF_ALL_DOMAINS, false, (struct tf_drain_order){0}); /* nothing to say: it is uncordoned */
    CU_ASSERT_PTR_NULL(strstr(tf_buf_text(&d.log), "drained"));
    end();
}

/* The later order holds, and says what it took the place of. */
static void test_an_order_in_place_of_another(void)
{
    begin_racks();
    drain("n1", TF_HOUR, false);
    TF_AUTO_FREE char *first = tf_strdup(strstr(tf_buf_text(&d.log), "code 0"));
    CU_ASSERT_PTR_NULL(strstr(first, "before")); /* there was none */
    driver_clear(&d);
    drain("n1", 2 * TF_HOUR, true);
    CU_ASSERT_TRUE(answered("node n1 was drained before: deadline 2"));
    CU_ASSERT_TRUE(answered(" UTC -> 2"));
    CU_ASSERT_TRUE(answered(" UTC, force no -> yes"));
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->notes.count, 2); /* of the deadline that holds now */
    driver_clear(&d);
    drain("n1", 0, false);
    CU_ASSERT_TRUE(answered(" UTC -> none, force yes -> no"));
    driver_clear(&d);
    drain("n1", 0, false);
    CU_ASSERT_TRUE(answered("node n1 was drained before, just so: nothing changes"));
    CU_ASSERT_PTR_NULL(strstr(tf_buf_text(&d.log), "persist"));
    ask_domain("rack-1", true, (struct tf_drain_order){.on = true, .max_at_once = 2});
    CU_ASSERT_TRUE(answered("2 nodes are drained together, and what comes to them later is, too; node n1 was "
                            "drained by itself before: moves at once none -> 2, reason none -> new switch"));
    ask_domain(TF_ALL_DOMAINS, true, (struct tf_drain_order){.on = true, .max_at_once = 2});
    CU_ASSERT_TRUE(answered("; 2 nodes were drained with domain bj-a/rack-1 before, on the same terms"));
    driver_clear(&d);
    drain("n3", 0, false);
    CU_ASSERT_TRUE(answered(
        "node n3 was drained with cluster bj-a before: moves at once 2 -> none, reason new switch -> none"));
    end();
}

/* A node that was cordoned keeps the reason of that, whoever drains it with others. */
static void test_an_order_over_one_that_was_cordoned(void)
{
    begin_racks();
    ask("n2", true, (struct tf_drain_order){0});
    ask_domain("rack-1", true, (struct tf_drain_order){.on = true});
    ask_domain("rack-1", true, (struct tf_drain_order){.on = true, .max_at_once = 3});
    CU_ASSERT_TRUE(
        answered("; node n1 was drained before: moves at once none -> 3; node n2 was drained before: "
                 "moves at once none -> 3"));
    end();
}

/* Who looks at the job later finds what was done to it, and why. */
static void test_what_is_noted(void)
{
    begin(TF_MIGRATION_ALLOW, 0);
    drain("n1", 7200 * TF_SECOND, false);
    live(60 * TF_SECOND);
    expect_notes(1, "Draining: 2 instances are to leave: node n1 is drained, what is there in 2h is stopped\n"
                    "InstanceMoved: instance 0 from n1 to n2 (drain of node n1)\n"
                    "InstanceMoved: instance 1 from n1 to n2 (drain of node n1)\n");
    driver_crash(&d, false);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->noted, 3);
    ask("n1", true, (struct tf_drain_order){.on = true}); /* the same again, by other terms: none is there */
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->noted, 3);
    end();
}

static void test_the_end_is_noted(void)
{
    begin(TF_MIGRATION_NEVER, 0);
    drain("n1", 0, false);
    live(10 * TF_SECOND);
    ask("n1", false, (struct tf_drain_order){0});
    ask("n1", false, (struct tf_drain_order){0}); /* it is none by now */
    expect_notes(1, "Draining: 2 instances are to leave: node n1 is drained\n"
                    "DrainEnded: 2 instances are there yet: node n1 is drained no longer\n");
    end();
    begin(TF_MIGRATION_NEVER, 0);
    ask_domain(TF_ALL_DOMAINS, true, (struct tf_drain_order){.on = true});
    ask_domain(TF_ALL_DOMAINS, false, (struct tf_drain_order){0});
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->noted, 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(driver_allocation(&d, 1)->notes.items[1].text, "is drained no longer"));
    end();
}

/* A job stops to start elsewhere, which comes to nothing, and starts again where it was: it was not there
 * when the drain was looked at last. */
static void test_what_starts_again_meets_the_deadline(void)
{
    begin(TF_MIGRATION_RESTART, 0);
    drain("n1", 20 * TF_SECOND, false);
    for (int i = 0; i < 50 && driver_count_in(&d, 1, TF_MEMBER_STOPPING) == 0; i++)
        driver_pass(&d, 100);
    CU_ASSERT_EQUAL(driver_count_in(&d, 1, TF_MEMBER_STOPPING), 2);
    drain("n2", 20 * TF_SECOND, false);
    driver_pass(&d, 3 * TF_SECOND);
    CU_ASSERT_EQUAL(moves(), 0);
    CU_ASSERT_EQUAL(on_node(1, "n1"), 0);
    driver_stopped(&d, 1, 5, 0, 1);
    driver_stopped(&d, 1, 5, 1, 1);
    driver_pass(&d, TF_SECOND);
    driver_all_ready(&d);
    CU_ASSERT_EQUAL(on_node(1, "n1"), 2);
    live(90 * TF_SECOND);
    CU_ASSERT_EQUAL(on_node(1, "n1"), 0);
    end();
}

static void test_what_the_deadline_did_is_noted(void)
{
    begin(TF_MIGRATION_NEVER, 0);
    drain("n1", 60 * TF_SECOND, false);
    live(70 * TF_SECOND);
    expect_notes(1, "Draining: 2 instances are to leave: node n1 is drained, what is there in 1m is stopped\n"
                    "SentAway: 2 instances are stopped: node n1 is drained, and its deadline has come\n");
    end();
}

static void add_labelled(const char *name, const char *disk)
{
    tf_pairs_set(&driver_node(&d, name, "H800", 8)->labels, "disk", disk);
}

/* One order for the nodes with certain labels, too: those that come later, and its end. */
static void test_nodes_by_their_labels(void)
{
    begin_racks();
    add_labelled("n5", "nvme");
    add_labelled("n6", "sata");
    driver_list(&d);
    ask_domain("-l disk in (nvme,tape", true, (struct tf_drain_order){.on = true});
    CU_ASSERT_TRUE(answered("code 1")); /* and says where it cannot be read */
    ask_domain("-l ", true, (struct tf_drain_order){.on = true});
    CU_ASSERT_TRUE(answered("no label is named"));
    ask_domain("-l disk=tape", true, (struct tf_drain_order){.on = true});
    CU_ASSERT_TRUE(answered("has no node with disk=tape"));
    ask_domain("-l disk=nvme", true, (struct tf_drain_order){.on = true});
    CU_ASSERT_TRUE(answered("1 node is drained together"));
    CU_ASSERT_EQUAL(state_of("n5"), TF_NODE_DRAINING);
    CU_ASSERT_EQUAL(state_of("n6"), TF_NODE_READY);
    add_labelled("n7", "nvme");
    driver_crash(&d, true);
    driver_list(&d);
    driver_pass(&d, TF_SECOND);
    CU_ASSERT_EQUAL(state_of("n7"), TF_NODE_DRAINING);
    driver_link(&d, true);
    driver_set(&d, NULL, 0);
    ask("n7", false, (struct tf_drain_order){0});
    CU_ASSERT_TRUE(answered("is drained with every node of "));
    CU_ASSERT_TRUE(answered("-l 'disk=nvme'` ends that for all of its nodes"));
    ask_domain("-l disk=nvme", false, (struct tf_drain_order){0});
    CU_ASSERT_TRUE(answered("with disk=nvme is drained no longer, 2 nodes"));
    CU_ASSERT_EQUAL(state_of("n5"), TF_NODE_READY);
    end();
}

/* ---- domains that are cordoned ---- */

static void cordon_domain(const char *domain)
{
    ask_domain(domain, true, (struct tf_drain_order){0});
}

static void uncordon_domain(const char *domain)
{
    ask_domain(domain, false, (struct tf_drain_order){0});
}

/* Nothing leaves, nothing comes, and it ends as one; a node that was cordoned by itself stays it. */
static void test_a_domain_is_one_cordon(void)
{
    begin_racks();
    ask("n2", true, (struct tf_drain_order){0});
    cordon_domain("rack-1");
    CU_ASSERT_TRUE(answered("code 0: 2 nodes are cordoned together, and what comes to them later is, too"));
    CU_ASSERT_TRUE(answered("persist cordon:n1"));
    CU_ASSERT_EQUAL(state_of("n1"), TF_NODE_CORDONED);
    CU_ASSERT_EQUAL(state_of("n3"), TF_NODE_READY);
    live(60 * TF_SECOND);
    CU_ASSERT_EQUAL(on_node(1, "n1"), 2);
    ask("n1", false, (struct tf_drain_order){0});
    CU_ASSERT_TRUE(
        answered("node n1 is cordoned with domain bj-a/rack-1: `fedctl uncordon domain bj-a/rack-1` "
                 "ends that for all of its nodes"));
    CU_ASSERT_EQUAL(state_of("n1"), TF_NODE_CORDONED);
    cordon_domain("rack-1"); /* as it is: nothing is written */
    CU_ASSERT_PTR_NULL(strstr(tf_buf_text(&d.log), "persist"));
    uncordon_domain("rack-1");
    CU_ASSERT_TRUE(answered("domain bj-a/rack-1 is cordoned no longer, 2 nodes; still cordoned: n2"));
    CU_ASSERT_EQUAL(state_of("n1"), TF_NODE_READY);
    CU_ASSERT_EQUAL(state_of("n2"), TF_NODE_CORDONED);
    uncordon_domain("rack-1");
    CU_ASSERT_TRUE(answered("code 2: domain bj-a/rack-1 is neither drained nor cordoned as a whole"));
    end();
}

static void test_a_node_comes_to_a_cordoned_domain(void)
{
    begin_racks();
    cordon_domain("rack-2");
    tf_strs_add(&driver_node(&d, "n5", "H800", 8)->domains, "rack-2");
    tf_strs_add(&driver_node(&d, "n6", "H800", 8)->domains, "rack-3");
    driver_crash(&d, true);
    driver_list(&d);
    driver_pass(&d, TF_SECOND);
    CU_ASSERT_EQUAL(state_of("n3"), TF_NODE_CORDONED);
    CU_ASSERT_EQUAL(state_of("n5"), TF_NODE_CORDONED);
    CU_ASSERT_EQUAL(state_of("n6"), TF_NODE_READY);
    driver_crash(&d, true);
    driver_list(&d);
    CU_ASSERT_EQUAL(state_of("n5"), TF_NODE_CORDONED);
    driver_link(&d, true);
    driver_set(&d, NULL, 0);
    uncordon_domain("rack-2");
    CU_ASSERT_TRUE(answered("is cordoned no longer, 3 nodes"));
    driver_crash(&d, true);
    driver_list(&d);
    CU_ASSERT_EQUAL(state_of("n3"), TF_NODE_READY);
    CU_ASSERT_EQUAL(state_of("n5"), TF_NODE_READY);
    end();
}

/* One that lies in the other, over a restart: each lets go what no other keeps. */
static void test_domains_that_overlap(void)
{
    begin_racks();
    cordon_domain("rack-1");
    cordon_domain(TF_ALL_DOMAINS);
    driver_crash(&d, true);
    driver_list(&d);
    driver_link(&d, true);
    driver_set(&d, NULL, 0);
    uncordon_domain(TF_ALL_DOMAINS);
    CU_ASSERT_TRUE(answered("cluster bj-a is cordoned no longer, 4 nodes; still cordoned: n1 with domain "
                            "bj-a/rack-1, n2 with domain bj-a/rack-1"));
    CU_ASSERT_EQUAL(state_of("n1"), TF_NODE_CORDONED);
    CU_ASSERT_EQUAL(state_of("n3"), TF_NODE_READY);
    ask("n1", true, (struct tf_drain_order){0});
    ask("n1", false, (struct tf_drain_order){0}); /* its own ends, and not the other */
    CU_ASSERT_TRUE(answered("code 0: node n1 is cordoned with domain bj-a/rack-1"));
    CU_ASSERT_EQUAL(state_of("n1"), TF_NODE_CORDONED);
    uncordon_domain("rack-1");
    CU_ASSERT_EQUAL(state_of("n1"), TF_NODE_READY);
    end();
}

/* Drained and cordoned: one word ends both. A drain of a node in it stays. */
static void test_a_domain_that_is_drained_and_cordoned(void)
{
    begin_racks();
    cordon_domain("rack-1");
    ask_domain("rack-1", true, (struct tf_drain_order){.on = true});
    CU_ASSERT_EQUAL(state_of("n1"), TF_NODE_DRAINING);
    uncordon_domain("rack-1");
    CU_ASSERT_TRUE(answered("domain bj-a/rack-1 is drained no longer, 2 nodes: 2 instances are still there"));
    CU_ASSERT_TRUE(answered("; domain bj-a/rack-1 is cordoned no longer, 2 nodes"));
    CU_ASSERT_EQUAL(state_of("n1"), TF_NODE_READY);
    ask_domain(TF_ALL_DOMAINS, true, (struct tf_drain_order){.on = true});
    cordon_domain("rack-2");
    ask_domain(TF_ALL_DOMAINS, false, (struct tf_drain_order){0});
    CU_ASSERT_TRUE(answered("; still cordoned: n3 with domain bj-a/rack-2, n4 with domain bj-a/rack-2"));
    CU_ASSERT_EQUAL(state_of("n3"), TF_NODE_CORDONED);
    ask("n4", true, (struct tf_drain_order){.on = true});
    uncordon_domain("rack-2");
    CU_ASSERT_TRUE(answered("is cordoned no longer, 2 nodes; still cordoned: n4, drained"));
    CU_ASSERT_EQUAL(state_of("n3"), TF_NODE_READY);
    CU_ASSERT_EQUAL(state_of("n4"), TF_NODE_DRAINING);
    end();
}

static void test_what_is_no_domain_to_cordon(void)
{
    begin_racks();
    cordon_domain("rack-11");
    CU_ASSERT_TRUE(answered("code 2: bj-a has no node in domain rack-11; did you mean rack-1?"));
    cordon_domain("-l disk=tape");
    CU_ASSERT_TRUE(answered("has no node with disk=tape"));
    for (int i = 0; i < TF_DOMAIN_CORDONS_MAX; i++) {
        TF_AUTO_FREE char *labels = tf_asprintf("-l !gone-%d", i);
        cordon_domain(labels);
        CU_ASSERT_TRUE(answered("4 nodes are cordoned together"));
    }
    cordon_domain("rack-1");
    CU_ASSERT_TRUE(answered("bj-a has 64 cordoned domains already"));
    uncordon_domain("-l !gone-7");
    CU_ASSERT_TRUE(answered("every node of bj-a with !gone-7 is cordoned no longer, 4 nodes"));
    cordon_domain("rack-1");
    CU_ASSERT_TRUE(answered("2 nodes are cordoned together"));
    end();
}

static void test_a_domain_that_is_none(void)
{
    begin_racks();
    ask_domain("rack-9", true, (struct tf_drain_order){.on = true});
    CU_ASSERT_TRUE(answered("has no node in domain rack-9; did you mean rack-1?"));
    ask_domain("rack", true, (struct tf_drain_order){.on = true}); /* a path, not the begin of a word */
    CU_ASSERT_TRUE(answered("has no node in domain rack;"));
    end();
}

int main(void)
{
    static const struct suite_test tests[] = {
        {"what may move moves", test_what_may_move_moves},
        {"so many at once", test_so_many_at_once},
        {"what may not move stays", test_what_may_not_move_stays},
        {"a dry run", test_a_dry_run},
        {"the deadline", test_the_deadline},
        {"protected cores are waited for", test_protected_cores_are_waited_for},
        {"uncordon", test_uncordon},
        {"uncordon too late", test_uncordon_too_late},
        {"a restart of the daemon", test_a_restart_of_the_daemon},
        {"a domain is one drain", test_a_domain_is_one_drain},
        {"a node that comes later", test_a_node_that_comes_later},
        {"a cluster and a rack of it", test_a_cluster_and_a_rack_of_it},
        {"nodes by their labels", test_nodes_by_their_labels},
        {"a domain that is none", test_a_domain_that_is_none},
        {"a domain is one cordon", test_a_domain_is_one_cordon},
        {"a node comes to a cordoned domain", test_a_node_comes_to_a_cordoned_domain},
        {"domains that overlap", test_domains_that_overlap},
        {"a domain that is drained and cordoned", test_a_domain_that_is_drained_and_cordoned},
        {"what is no domain to cordon", test_what_is_no_domain_to_cordon},
        {"an order in place of another", test_an_order_in_place_of_another},
        {"an order over one that was cordoned", test_an_order_over_one_that_was_cordoned},
        {"what is noted", test_what_is_noted},
        {"what starts again meets the deadline", test_what_starts_again_meets_the_deadline},
        {"the end is noted", test_the_end_is_noted},
        {"what the deadline did is noted", test_what_the_deadline_did_is_noted},
        {"what waits for a move goes at the deadline", test_what_waits_for_a_move_goes_at_the_deadline},
        {"one that waits for its retry", test_one_that_waits_for_its_retry},
        {"one that restarts is not forgotten", test_one_that_restarts_is_not_forgotten},
        {"who becomes short claims room", test_who_becomes_short_claims_room},
    };
    return suite_run("unit/subcluster/drain", tests, TF_ARRAY_LEN(tests));
}
