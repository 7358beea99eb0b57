/* SPDX-License-Identifier: Apache-2.0 */
/* Random histories: clients, subclusters, cuts, refusals, losses, crashes of the leader between any two
 * events, commits and archives that take their time. At every moment: nothing is told that is not stored,
 * nothing is placed that is not there, no job runs twice, each epoch ends once. Then all faults stop, and
 * everything reaches rest. */
#include "common/base/cleanup.h"
#include "tests/property/federation/fake.h"
#include "tests/support/suite.h"

#include <inttypes.h>
#include <stdio.h>

enum { FAKES = 3, JOBS = 40, EVENTS = 500 };
_Static_assert((int)JOBS < (int)FLEET_JOBS, "uids count from 1");

struct client_job {
    char name[16];
    char words[64];
    uint64_t uid;
    uint64_t request; /* outstanding; 0 = none */
    bool asked, created, delete_asked;
    int archived;
};

struct world {
    struct drive d;
    struct fleet fleet;
    struct fake fakes[FAKES];
    struct client_job jobs[JOBS];
    struct tf_rng rng;
    size_t crashes;
};

static struct client_job *by_uid(struct world *w, uint64_t uid)
{
    for (size_t i = 0; i < JOBS; i++)
        if (w->jobs[i].uid == uid)
            return &w->jobs[i];
    return NULL;
}

/* ---- what leaves ---- */

/* A reply tells of what is stored. */
static void check_reply(struct world *w, const struct fed_reply *reply)
{
    struct client_job *job = by_uid(w, drive_number(reply->uid));
    struct tf_job_record stored = {0};
    if (reply->error.code != TF_OK || !job)
        return;
    bool there = drive_stored(&w->d, job->name, &stored);
    if (reply->outcome == FED_OUTCOME_CREATED) {
        CU_ASSERT_TRUE(there || job->delete_asked || job->archived);
        job->created = true;
    } else if (reply->outcome == FED_OUTCOME_DELETED) {
        CU_ASSERT_TRUE(!there || stored.deleted);
    }
    tf_job_record_release(&stored);
}

/* A placement that is sent is stored. */
static void check_send(struct world *w, const struct tf_down *down)
{
    tf_vec_each (entry, &down->entries) {
        if (entry->kind != TF_ENTRY_PLACE)
            continue;
        struct tf_job_record stored = {0};
        bool found = false;
        drive_stored(&w->d, by_uid(w, drive_number(entry->uid))->name, &stored);
        tf_vec_each (p, &stored.placements)
            found |= p->epoch == entry->epoch;
        CU_ASSERT_TRUE(found);
        tf_job_record_release(&stored);
    }
}

/* What is said to have succeeded has, once. */
static void check_archive(struct world *w, const struct tf_job_record *r)
{
    uint64_t uid = drive_number(r->uid);
    CU_ASSERT_EQUAL(w->fleet.finished[uid], r->phase == TF_PHASE_SUCCEEDED);
    CU_ASSERT_EQUAL(r->placements.count, 0);
    by_uid(w, uid)->archived++;
}

static void on_action(struct drive *d, const struct fed_action *action, void *arg)
{
    struct world *w = arg;
    (void)d;
    if (action->kind == FED_ACT_REPLY) {
        check_reply(w, &action->reply);
    } else if (action->kind == FED_ACT_SEND) {
        check_send(w, &action->send);
        fake_sent(&w->fleet, action);
    } else if (action->kind == FED_ACT_ARCHIVE) {
        check_archive(w, &action->archive);
    }
}

/* ---- what happens ---- */

static struct fake *some_fake(struct world *w)
{
    return &w->fakes[tf_rng_below(&w->rng, FAKES)];
}

static struct client_job *some_job(struct world *w)
{
    return &w->jobs[tf_rng_below(&w->rng, JOBS)];
}

static void submit(struct world *w, struct client_job *job)
{
    if (job->created || job->archived)
        return;
    job->asked = true;
    drive_submit(&w->d, job->name, job->words);
}

static void verb(struct world *w, struct client_job *job)
{
    if (!job->created || job->delete_asked)
        return;
    uint64_t what = tf_rng_below(&w->rng, 6);
    if (what == 0) {
        job->delete_asked = true;
        drive_job(&w->d, FED_EV_DELETE, job->name);
    } else if (what < 3) {
        drive_job(&w->d, FED_EV_HOLD, job->name);
    } else {
        drive_job(&w->d, FED_EV_RESUME, job->name);
    }
}

static void crash(struct world *w)
{
    for (size_t i = 0; i < FAKES; i++) {
        struct fake *fake = &w->fakes[i];
        drive_find(&w->d, fake->name)->link = 0;
        fake_cut(&w->fleet, fake);
    }
    drive_crash(&w->d);
    w->crashes++;
}

static void trouble(struct world *w)
{
    struct fake *fake = some_fake(w);
    switch (tf_rng_below(&w->rng, 6)) {
    case 4:
        fake_forget(&w->fleet, fake);
        break;
    case 0:
        fake_cut(&w->fleet, fake);
        break;
    case 1:
        fake->refuses = true;
        break;
    case 2:
        if (fake->live.count)
            fake_end(&w->fleet, fake, tf_rng_below(&w->rng, fake->live.count), TF_END_LOST);
        break;
    case 3:
        if (fake->live.count)
            fake_end(&w->fleet, fake, tf_rng_below(&w->rng, fake->live.count), TF_END_FAILED);
        break;
    default:
        if (tf_rng_below(&w->rng, 3) == 0)
            crash(w);
        break;
    }
}

static void attach(struct world *w, struct fake *fake)
{
    if (!drive_find(&w->d, fake->name)->link)
        fake_attach(&w->fleet, fake);
}

static void shell(struct world *w)
{
    struct drive *d = &w->d;
    if (d->in_flight && tf_rng_below(&w->rng, 2))
        drive_commit(d);
    if (d->archiving.count && tf_rng_below(&w->rng, 2))
        drive_archived(d);
    if (d->wants_continue && tf_rng_below(&w->rng, 2))
        drive_continue(d);
}

static void messages(struct world *w)
{
    struct fake *fake = some_fake(w);
    if (fake->down.count && tf_rng_below(&w->rng, 2))
        fake_take(&w->fleet, fake);
    if (fake->up.count && tf_rng_below(&w->rng, 2))
        fake_say(&w->fleet, fake);
}

static void one_event(struct world *w)
{
    struct fake *fake = some_fake(w);
    switch (tf_rng_below(&w->rng, 12)) {
    case 0:
    case 1:
        submit(w, some_job(w));
        break;
    case 2:
        verb(w, some_job(w));
        break;
    case 3:
        attach(w, fake);
        break;
    case 4:
        trouble(w);
        break;
    case 5:
        if (fake->live.count)
            fake_progress(&w->fleet, fake, tf_rng_below(&w->rng, fake->live.count));
        break;
    case 6:
        drive_elapse(&w->d, tf_rng_range(&w->rng, 1, 3000));
        break;
    default:
        messages(w);
        break;
    }
    shell(w);
}

/* ---- rest ---- */

static bool one_thing_left(struct world *w)
{
    bool busy = false;
    for (size_t i = 0; i < FAKES; i++) {
        struct fake *fake = &w->fakes[i];
        if (fake->down.count) {
            fake_take(&w->fleet, fake);
            busy = true;
        } else if (fake->up.count) {
            fake_say(&w->fleet, fake);
            busy = true;
        } else if (fake->live.count) {
            fake_progress(&w->fleet, fake, 0);
            busy = true;
        }
    }
    return busy;
}

static void settle(struct world *w)
{
    size_t steps = 0;
    do {
        while (one_thing_left(w))
            CU_ASSERT_FATAL(++steps < 100000);
        drive_elapse(&w->d, TF_MINUTE); /* refusals wait at most so long */
    } while (one_thing_left(w));
}

static void heal(struct world *w)
{
    struct drive *d = &w->d;
    d->hold_commits = d->hold_archives = d->hold_continue = false;
    drive_barrier(d);
    for (size_t i = 0; i < FAKES; i++) {
        w->fakes[i].refuses = false;
        attach(w, &w->fakes[i]);
    }
    for (size_t i = 0; i < JOBS; i++) {
        struct client_job *job = &w->jobs[i];
        if (job->asked)
            submit(w, job);
        if (drive_record(d, job->name))
            drive_job(d, job->delete_asked ? FED_EV_DELETE : FED_EV_RESUME, job->name);
    }
    settle(w);
}

static void check_nothing_could_be_placed(struct world *w)
{
    for (size_t i = 0; i < JOBS; i++) {
        struct fed_explanation e = {0};
        if (fed_explain(w->d.fed, "t", w->jobs[i].name + 2, w->d.now, &e, NULL))
            continue;
        tf_vec_each (row, &e.rows) {
            if (row->first.reason == TF_REASON_NONE)
                printf("\n%s\n", e.answer);
            CU_ASSERT(row->first.reason != TF_REASON_NONE);
        }
        fed_explanation_release(&e);
    }
}

static void check_rest(struct world *w)
{
    for (size_t i = 0; i < FAKES; i++) {
        CU_ASSERT_EQUAL(w->fakes[i].live.count, 0);
        CU_ASSERT_EQUAL(w->fakes[i].ended.count, 0);
    }
    for (size_t i = 0; i < JOBS; i++) {
        struct client_job *job = &w->jobs[i];
        const struct tf_job_record *r = drive_record(&w->d, job->name);
        CU_ASSERT_TRUE(!job->asked || job->created || job->archived);
        CU_ASSERT_TRUE(!r || tf_phase_is_final(r->phase) || r->spec->elastic.min > w->fakes[FAKES - 1].nodes);
        CU_ASSERT_TRUE(!r || !job->delete_asked);
    }
    check_nothing_could_be_placed(w);
    drive_elapse(&w->d, 25 * TF_HOUR);
    size_t commits = w->d.commits;
    drive_elapse(&w->d, 25 * TF_HOUR);
    CU_ASSERT_EQUAL(w->d.commits, commits); /* I11 */
}

/* ---- worlds ---- */

static void make_job(struct world *w, size_t i)
{
    struct client_job *job = &w->jobs[i];
    int32_t min = (int32_t)tf_rng_range(&w->rng, 1, 4), max = min * (int32_t)tf_rng_range(&w->rng, 1, 3);
    job->uid = i + 1;
    snprintf(job->name, sizeof job->name, "t/j%zu", i);
    snprintf(job->words, sizeof job->words, "uid=%zu gpus=8 min=%d max=%d step=%d prio=%s keep=%d", i + 1,
             min, max, min, tf_rng_below(&w->rng, 2) ? "offline" : "online",
             (int)tf_rng_range(&w->rng, 1, 3600) * 1000);
}

static void run(uint64_t seed, struct fleet *total)
{
    static const int64_t budgets[] = {1, 3, 10, 1000000};
    static const char *const names[FAKES] = {"a", "b", "c"};
    struct world *w = tf_calloc(1, sizeof *w);
    tf_rng_init(&w->rng, seed);
    drive_init(&w->d);
    w->d.settings.decision_budget = budgets[tf_rng_below(&w->rng, TF_ARRAY_LEN(budgets))];
    for (size_t i = 0; i < FAKES; i++)
        w->fakes[i] = (struct fake){.name = names[i], .nodes = 2 + 2 * (int32_t)i};
    w->fleet = (struct fleet){.fakes = w->fakes, .count = FAKES, .d = &w->d};
    for (size_t i = 0; i < JOBS; i++)
        make_job(w, i);
    drive_crash(&w->d); /* takes the settings */
    w->d.deltas = tf_rng_below(&w->rng, 4) != 0;
    w->d.on_action = on_action;
    w->d.arg = w;
    w->d.hold_commits = w->d.hold_archives = w->d.hold_continue = true;
    for (size_t i = 0; i < EVENTS; i++)
        one_event(w);
    heal(w);
    check_rest(w);
    total->starts += w->fleet.starts;
    total->refusals += w->fleet.refusals;
    total->unknown += w->fleet.unknown;
    for (size_t i = 0; i < FAKES; i++)
        fake_release(&w->fakes[i]);
    drive_release(&w->d);
    free(w);
}

static void test_random_histories(void)
{
    uint64_t seed = suite_seed(1);
    size_t rounds = suite_rounds(150);
    struct fleet total = {0};
    for (size_t i = 0; i < rounds; i++) {
        unsigned before = CU_get_number_of_failures();
        run(seed + i, &total);
        if (CU_get_number_of_failures() != before) {
            printf("\nseed %" PRIu64 "\n", seed + i);
            break;
        }
    }
    printf("%zu starts, %zu refusals, %zu unknown ", total.starts, total.refusals, total.unknown);
    CU_ASSERT(total.starts > rounds && total.refusals > 0 && total.unknown > 0);
}

static const struct suite_test tests[] = {
    {"random histories reach rest", test_random_histories},
};

int main(void)
{
    return suite_run("random", tests, TF_ARRAY_LEN(tests));
}
