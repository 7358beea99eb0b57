/* SPDX-License-Identifier: Apache-2.0 */
/* Crash points of moves, generated: a first run counts the transactions from the order to the rest; then each
 * of them is met by each kind of fault. Whatever happens, as many instances are ready at every moment as
 * before (make before break), the chain is carried out or rolled back, and nothing stays reserved. */
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "subcluster/core/check.h"
#include "tests/support/sub_driver.h"
#include "tests/support/suite.h"

enum fault {
    NONE,
    CRASH_BEFORE, /* subclusterd dies, and the transaction was never made */
    CRASH_AFTER,  /* it was, and nothing that follows from it was done */
    REPLY_LATE,   /* the store, or the way to it, is away for a while */
    HUB_AWAY,     /* the federation goes */
    TARGET_LOST,
    SOURCE_LOST,
    FAULTS
};
static const char *const names[FAULTS] = {"none",     "crash before", "crash after", "reply late",
                                          "hub away", "target lost",  "source lost"};
enum { ROUNDS = 600, QUIET = 40, INSTANCES = 2 };

static struct sub_driver d;

struct run {
    enum fault fault;
    int at;    /* transaction, from 1 */
    int count; /* of them so far */
    bool restarts;
    size_t heard; /* of the log */
    int quiet;
};

static void order(void)
{
    struct sub_event event = {.kind = SUB_EV_DOWN};
    event.down.kind = TF_DOWN_ASK;
    event.down.term = d.term;
    event.down.ask = (struct tf_ask){.id = 1, .kind = TF_ASK_MIGRATE};
    tf_vec_push(&event.down.ask.migrate, ((struct tf_migrate_order){.verb = TF_MIGRATE_BEGIN,
                                                                    .id = driver_uid(9),
                                                                    .from = tf_strdup("n1"),
                                                                    .all = true,
                                                                    .may_restart = true}));
    driver_step(&d, event);
}

static void begin(const struct run *run)
{
    driver_two_nodes(&d);
    struct tf_entry entry = driver_place_entry(1, 5, INSTANCES, 4);
    tf_spec_own(&entry.spec)->elastic.step = 1;
    tf_spec_own(&entry.spec)->migration = run->restarts ? TF_MIGRATION_RESTART : TF_MIGRATION_ALLOW;
    tf_spec_own(&entry.spec)->group.stop_delay = 2 * TF_SECOND;
    driver_change(&d, entry);
    driver_all_ready(&d);
    driver_pass(&d, 5 * TF_SECOND);
    driver_clear(&d);
    d.hold_commits = true;
}

/* ---- the engine ---- */

static struct fake_instance *instance(uint32_t index, uint32_t attempt)
{
    tf_vec_each (i, &d.instances)
        if (i->id.index == index && i->id.attempt == attempt)
            return i;
    return NULL;
}

static bool lives(const struct fake_instance *i)
{
    return i && (i->state == SUB_INSTANCE_STARTING || i->state == SUB_INSTANCE_READY);
}

/* What was asked to stop since the last look has stopped. */
static bool stop_asked(struct run *run)
{
    bool any = false;
    TF_AUTO_FREE char *text = tf_strdup(tf_buf_text(&d.log) + run->heard);
    run->heard = d.log.len;
    for (char *line = text; line && *line;) {
        unsigned index, attempt;
        char *next = strchr(line, '\n');
        if (sscanf(line, "stop 1/5/%u.%u", &index, &attempt) == 2) {
            bool there = lives(instance(index, attempt));
            driver_told(&d, 1, 5, index, attempt, there ? SUB_INSTANCE_EXITED : SUB_INSTANCE_ABSENT,
                        there ? 143 : 0, there);
            any = true;
        }
        line = next ? next + 1 : NULL;
    }
    return any;
}

static int ready(void)
{
    int count = 0;
    tf_vec_each (i, &d.instances)
        count += i->state == SUB_INSTANCE_READY;
    return count;
}

/* ---- faults ---- */

static void crash(bool lands)
{
    driver_crash(&d, lands);
    driver_list(&d);
}

static void strike(struct run *run)
{
    switch (run->fault) {
    case CRASH_BEFORE:
    case CRASH_AFTER:
        crash(run->fault == CRASH_AFTER);
        return;
    case REPLY_LATE:
        driver_pass(&d, 20 * TF_SECOND);
        break;
    case HUB_AWAY:
        driver_link(&d, false);
        break;
    case TARGET_LOST:
        driver_node_state(&d, "n2", TF_NODE_LOST);
        break;
    case SOURCE_LOST:
        driver_node_state(&d, "n1", TF_NODE_LOST);
        break;
    case NONE:
    case FAULTS:
        break;
    }
    driver_commit(&d);
}

static void check_ready(const struct run *run)
{
    bool node_dies = run->fault == TARGET_LOST || run->fault == SOURCE_LOST;
    if (!run->restarts && !node_dies && ready() < INSTANCES)
        printf("\n    %s at transaction %d: %d of %d are ready\n", names[run->fault], run->at, ready(),
               INSTANCES);
    if (!run->restarts && !node_dies)
        CU_ASSERT(ready() >= INSTANCES);
}

/* One thing at a time, until nothing more happens. */
static void play(struct run *run)
{
    order();
    for (int round = 0; round < ROUNDS && run->quiet < QUIET; round++) {
        run->quiet++;
        if (d.out_waits) {
            run->quiet = 0;
            if (++run->count == run->at)
                strike(run);
            else
                driver_commit(&d);
        } else if (stop_asked(run)) {
            run->quiet = 0;
        } else {
            driver_all_ready(&d);
            driver_pass(&d, TF_SECOND);
        }
        sub_check(d.sub);
        check_ready(run);
    }
}

static void check_rest(const struct run *run)
{
    const struct tf_migration *m = sub_migration_at(d.sub, 0);
    const struct tf_allocation *a = driver_allocation(&d, 1);
    CU_ASSERT(!m || m->ended.ms > 0);
    if (m && m->ended.ms == 0)
        printf("\n    %s at transaction %d: a move is %s\n", names[run->fault], run->at,
               tf_move_state_name(m->moves.items[0].state));
    CU_ASSERT(m || (run->fault == CRASH_BEFORE && run->at == 1)); /* else it had been promised */
    CU_ASSERT_PTR_NOT_NULL_FATAL(a);
    tf_vec_each (member, &a->members)
        CU_ASSERT(member->state != TF_MEMBER_LEAVING && member->role == TF_MEMBER_OF_JOB);
    if (run->fault == TARGET_LOST || run->fault == SOURCE_LOST)
        return;
    CU_ASSERT_EQUAL(a->size, INSTANCES);
    CU_ASSERT_EQUAL(ready(), INSTANCES);
    for (size_t i = 0; i < sub_node_count(d.sub); i++) {
        struct sub_node_view node = sub_node_at(d.sub, i);
        CU_ASSERT_EQUAL(node.free_gpus | node.held_gpus, 0xff); /* nothing is reserved */
    }
}

static int take(struct run run)
{
    begin(&run);
    play(&run);
    check_rest(&run);
    driver_release(&d);
    return run.count;
}

static void all_points(bool restarts)
{
    int writes = take((struct run){.fault = NONE, .restarts = restarts}), points = 0, met = 0;
    for (int at = 1; at <= writes; at++)
        for (enum fault fault = CRASH_BEFORE; fault < FAULTS; fault++) {
            points++;
            met += take((struct run){.fault = fault, .at = at, .restarts = restarts}) >= at;
        }
    printf("\n    %d writes x %d kinds of faults: %d points ", writes, FAULTS - 1, points);
    CU_ASSERT(writes >= 3);
    CU_ASSERT_EQUAL(points, writes * (FAULTS - 1));
    CU_ASSERT_EQUAL(met, points);
}

static void test_make_before_break(void)
{
    all_points(false);
}

static void test_restart(void)
{
    all_points(true);
}

static const struct suite_test tests[] = {
    {"make before break", test_make_before_break},
    {"by a restart", test_restart},
};

int main(void)
{
    return suite_run("unit/subcluster/migrate_writes", tests, TF_ARRAY_LEN(tests));
}
