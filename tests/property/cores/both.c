/* SPDX-License-Identifier: Apache-2.0 */
/* The leader's core and subclusters' cores in one loop, over random histories: any order, cuts, refusals,
 * failures, nodes that go and come, crashes of either side, commits that take their time. Nothing of a job
 * lives in two places at any moment; then all faults stop, and every job reaches its one end, with nothing
 * left anywhere. */
#include "common/base/cleanup.h"
#include "tests/property/cores/side.h"
#include "tests/support/suite.h"

#include <inttypes.h>
#include <stdio.h>

enum { SIDES = 3, NODES = 4, JOBS = 25, STEPS = 1500 };

struct world {
    struct drive d;
    struct tf_rng rng;
    struct side sides[SIDES];
    bool created[JOBS + 1], deleted[JOBS + 1];
    size_t crashes, ends[TF_PHASE_DELETED + 1];
};

static void on_action(struct drive *d, const struct fed_action *action, void *arg)
{
    struct world *w = arg;
    if (action->kind == FED_ACT_SEND)
        for (size_t i = 0; i < SIDES; i++)
            if (drive_find(d, w->sides[i].name)->link == action->link)
                side_sent(&w->sides[i], &action->send);
    if (action->kind == FED_ACT_ARCHIVE)
        w->ends[action->archive.phase]++;
    if (action->kind == FED_ACT_REPLY && action->reply.outcome == FED_OUTCOME_CREATED)
        w->created[drive_number(action->reply.uid)] = true;
    if (action->kind == FED_ACT_ALARM && strstr(action->text, "restored"))
        CU_FAIL("a rollback where there was none");
}

/* I2, across subclusters. */
static void check_alone(struct world *w)
{
    for (uint64_t uid = 1; uid <= JOBS; uid++) {
        int places = 0;
        for (size_t i = 0; i < SIDES; i++)
            places += side_job_lives(&w->sides[i], drive_uid(uid));
        if (places > 1) {
            puts(tf_buf_text(&w->d.log));
            printf("\nhistory %" PRIu64 ": #%" PRIu64 " lives in %d subclusters\n", engine_history, uid,
                   places);
            CU_FAIL_FATAL("a job lives in two subclusters");
        }
    }
}

/* ---- what happens ---- */

static const char *job_name(uint64_t uid, char text[16])
{
    snprintf(text, 16, "t/j%u", (unsigned)uid);
    return text;
}

static void submit(struct world *w, uint64_t uid)
{
    char name[16], words[96];
    struct tf_rng shape;
    if (w->created[uid])
        return;
    tf_rng_init(&shape, uid * 7919); /* the same at each repeat */
    int min = (int)tf_rng_range(&shape, 1, 2), max = min * (int)tf_rng_range(&shape, 1, 2);
    snprintf(words, sizeof words,
             "uid=%u gpus=%d cpu=%d mem=1024 min=%d max=%d step=%d prio=%s retries=%d keep=600000",
             (unsigned)uid, (int)tf_rng_below(&shape, 4), 1000 * (int)tf_rng_range(&shape, 1, 16), min, max,
             min, tf_rng_below(&shape, 2) ? "offline" : "online", (int)tf_rng_below(&shape, 2));
    drive_submit(&w->d, job_name(uid, name), words);
}

static void client(struct world *w)
{
    char name[16];
    uint64_t uid = 1 + tf_rng_below(&w->rng, JOBS), what = tf_rng_below(&w->rng, 12);
    if (what < 8) {
        submit(w, uid);
    } else if (w->created[uid] && !w->deleted[uid]) {
        w->deleted[uid] = what == 8;
        drive_job(&w->d,
                  what == 8   ? FED_EV_DELETE
                  : what == 9 ? FED_EV_HOLD
                              : FED_EV_RESUME,
                  job_name(uid, name));
    }
}

static void crash_leader(struct world *w)
{
    for (size_t i = 0; i < SIDES; i++)
        side_cut(&w->sides[i]);
    drive_crash(&w->d);
    w->crashes++;
}

static void trouble(struct world *w, struct side *s)
{
    uint64_t what = tf_rng_below(&w->rng, 12);
    if (what < 2)
        side_cut(s);
    else if (what == 2)
        side_boot(s);
    else if (what == 3)
        crash_leader(w);
}

static void leader_shell(struct world *w)
{
    struct drive *d = &w->d;
    uint64_t what = tf_rng_below(&w->rng, 3);
    if (what == 0 && d->in_flight)
        drive_commit(d);
    else if (what == 1 && d->archiving.count)
        drive_archived(d);
    else if (what == 2 && d->wants_continue)
        drive_continue(d);
}

static void side_shell(struct world *w, struct side *s)
{
    static bool (*const deliver[])(struct side *) = {side_commit, side_engine,   side_take,
                                                     side_say,    side_continue, side_timer};
    deliver[tf_rng_below(&w->rng, TF_ARRAY_LEN(deliver))](s);
}

static void something_happens(struct world *w)
{
    struct side *s = &w->sides[tf_rng_below(&w->rng, SIDES)];
    switch (tf_rng_below(&w->rng, 16)) {
    case 0:
        client(w);
        break;
    case 1:
        side_link(s);
        break;
    case 2:
        trouble(w, s);
        break;
    case 3:
        engine_move(&s->engine);
        break;
    case 4:
        drive_elapse(&w->d, tf_rng_range(&w->rng, 1, 700));
        break;
    case 5:
    case 6:
    case 7:
        leader_shell(w);
        break;
    default:
        side_shell(w, s);
        break;
    }
    check_alone(w);
}

/* ---- rest ---- */

static bool deliver_all(struct world *w)
{
    bool any = false;
    for (bool more = true; more; any |= more) {
        more = false;
        for (size_t i = 0; i < SIDES; i++) {
            struct side *s = &w->sides[i];
            more |= side_commit(s) || side_engine(s) || side_take(s) || side_say(s) || side_continue(s) ||
                    side_timer(s);
        }
    }
    return any;
}

static void live_on(struct world *w, int seconds)
{
    for (int i = 0; i < seconds; i++) {
        deliver_all(w);
        for (size_t k = 0; k < SIDES; k++)
            engine_move(&w->sides[k].engine);
        drive_elapse(&w->d, 1000);
        check_alone(w);
    }
}

static void heal(struct world *w)
{
    char name[16];
    struct drive *d = &w->d;
    d->hold_commits = d->hold_archives = d->hold_continue = false;
    drive_barrier(d);
    for (size_t i = 0; i < SIDES; i++) {
        engine_heal(&w->sides[i].engine);
        side_link(&w->sides[i]);
    }
    for (uint64_t uid = 1; uid <= JOBS; uid++)
        if (drive_record(d, job_name(uid, name)))
            drive_job(d, w->deleted[uid] ? FED_EV_DELETE : FED_EV_RESUME, name);
}

static void check_rest(struct world *w)
{
    char name[16];
    for (size_t i = 0; i < SIDES; i++) {
        CU_ASSERT_EQUAL(engine_live(&w->sides[i].engine), 0);
        CU_ASSERT_EQUAL(w->sides[i].engine.instances.count, 0);
        CU_ASSERT_EQUAL(sub_allocation_count(w->sides[i].sub), 0);
    }
    for (uint64_t uid = 1; uid <= JOBS; uid++) {
        const struct tf_job_record *r = drive_record(&w->d, job_name(uid, name));
        if (r && r->phase == TF_PHASE_PENDING) {
            struct fed_explanation e = {0};
            fed_explain(w->d.fed, r->tenant, r->name, w->d.now, &e, NULL);
            tf_vec_each (row, &e.rows)
                CU_ASSERT(row->first.reason != TF_REASON_NONE &&
                          row->first.reason < TF_REASON_HIGHER_PRIORITY);
            fed_explanation_release(&e);
        } else {
            CU_ASSERT_TRUE(!r || tf_phase_is_final(r->phase));
        }
    }
    live_on(w, 120);
    size_t commits = w->d.commits;
    live_on(w, 600);
    size_t archived = w->d.commits - commits;
    CU_ASSERT(archived <= JOBS); /* at rest only what has been kept long enough leaves */
}

static void run(uint64_t seed, struct world *total)
{
    static const char *const names[SIDES] = {"a", "b", "c"};
    struct world *w = tf_calloc(1, sizeof *w);
    engine_history = seed;
    tf_rng_init(&w->rng, seed);
    drive_init(&w->d);
    w->d.log_traces = w->d.log_persists = getenv("TF_TRACE") != NULL; /* for reading one history */
    w->d.settings.decision_budget = tf_rng_below(&w->rng, 3) ? 1000000 : 2;
    drive_crash(&w->d); /* takes the settings */
    w->d.on_action = on_action;
    w->d.arg = w;
    w->d.hold_commits = w->d.hold_archives = w->d.hold_continue = true;
    for (size_t i = 0; i < SIDES; i++) {
        w->sides[i] = (struct side){.name = names[i], .d = &w->d, .rng = &w->rng, .budget = i ? 100000 : 1};
        side_init(&w->sides[i], NODES);
    }
    for (int i = 0; i < STEPS; i++)
        something_happens(w);
    heal(w);
    live_on(w, 1200);
    check_rest(w);
    total->crashes += w->crashes;
    for (size_t i = 0; i <= TF_PHASE_DELETED; i++)
        total->ends[i] += w->ends[i];
    for (size_t i = 0; i < SIDES; i++) {
        total->crashes += w->sides[i].crashes;
        side_release(&w->sides[i]);
    }
    drive_release(&w->d);
    free(w);
}

static void test_histories(void)
{
    uint64_t seed = suite_seed(1);
    size_t rounds = suite_rounds(60);
    struct world *total = tf_calloc(1, sizeof *total);
    for (size_t i = 0; i < rounds; i++) {
        unsigned before = CU_get_number_of_failures();
        run(seed + i, total);
        if (CU_get_number_of_failures() != before) {
            printf("\nseed %" PRIu64 "\n", seed + i);
            break;
        }
    }
    printf("%zu crashes, %zu succeeded, %zu failed, %zu deleted ", total->crashes,
           total->ends[TF_PHASE_SUCCEEDED], total->ends[TF_PHASE_FAILED], total->ends[TF_PHASE_DELETED]);
    CU_ASSERT(total->ends[TF_PHASE_SUCCEEDED] > rounds && total->ends[TF_PHASE_FAILED] > 0 &&
              total->crashes > rounds);
    free(total);
}

static const struct suite_test tests[] = {
    {"histories of both sides reach rest", test_histories},
};

int main(void)
{
    return suite_run("cores", tests, TF_ARRAY_LEN(tests));
}
