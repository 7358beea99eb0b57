/* SPDX-License-Identifier: Apache-2.0 */
/* Two fedd and two subclusterd of each name under load. The active one is killed, or frozen for longer than
 * its lease: the other takes over, nothing that was acknowledged is lost, nothing runs twice. All with a
 * budget of decisions so small that every larger one is cut in pieces. */
#include "common/base/cleanup.h"
#include "tests/support/federation/checker.h"
#include "tests/support/federation/load.h"
#include "tests/support/process.h"
#include "tests/support/suite.h"

#include <inttypes.h>

#define LEASE "2s"
enum {
    LEASE_MS = 2000,
    TIMES = 3, /* of each kind */
    SUBMIT_EVERY_MS = 150,
    RUN_MS_MAX = 3000,
    SETTLE_MS = 1000,
    STEP_MS = 10,
    STATUS_MS = 300,
    TAKEOVER_TIMEOUT_MS = 60 * 1000,
    END_TIMEOUT_MS = 120 * 1000,
    REST_TIMEOUT_MS = 60 * 1000,
    LOOK_MS = 10 * 1000,
};

static const struct test_subcluster subclusters[] = {
    {"bj-a", 2, "prefix: n, count: 8, model: H800, gpus: 8, cpu: 128, memory: 1Ti"},
    {"gz-b", 2, "prefix: n, count: 4, model: L40, gpus: 8, cpu: 128, memory: 1Ti"},
};

struct scene {
    struct test_federation *federation;
    struct test_client *client;
    struct tf_rng rng;
    struct test_rows rows; /* a few, taken in turn */
    size_t submitted;
    int64_t next;
    bool quiet; /* no more submits */
};

static void pass(struct scene *s, int64_t ms)
{
    int64_t end = test_now_ms() + ms;
    do {
        if (!s->quiet && test_now_ms() >= s->next && s->submitted < s->rows.count) {
            test_row_submit(s->client, &s->rows.items[s->submitted++]);
            s->next = test_now_ms() + SUBMIT_EVERY_MS;
        }
        test_client_turn(s->client, STEP_MS);
    } while (test_now_ms() < end);
    CU_ASSERT_TRUE(test_federation_sound(s->federation));
}

/* ---- who is active ---- */

/* The fedd that leads and answers, by its own word; -1 = none. */
static int leader(struct scene *s)
{
    for (size_t i = 0; i < test_federation_endpoints(s->federation)->count; i++) {
        struct tf_reply reply;
        if (!test_daemon_runs(s->federation, test_federation_daemons(s->federation)->items[i]))
            continue;
        bool leads = test_client_status(s->client, i, STATUS_MS, &reply) == 0 && reply.status.leads &&
                     reply.status.open;
        tf_reply_release(&reply);
        if (leads)
            return (int)i;
    }
    return -1;
}

/* The active one of a subcluster, or of the fedds; NULL = none. */
static const char *active(struct scene *s, int subcluster)
{
    if (subcluster >= 0)
        return test_subcluster_owner(s->federation, (size_t)subcluster);
    int fedd = leader(s);
    return fedd < 0 ? NULL : test_federation_daemons(s->federation)->items[fedd];
}

static const char *wait_for_active(struct scene *s, int subcluster, const char * not )
{
    int64_t deadline = test_now_ms() + TAKEOVER_TIMEOUT_MS;
    const char *name = NULL;
    while (test_now_ms() < deadline) {
        name = active(s, subcluster);
        if (name && (!not || strcmp(name, not ) != 0))
            return name;
        pass(s, STEP_MS);
    }
    CU_FAIL("nobody takes over");
    return NULL;
}

/* The subcluster has told the leader of itself as this owner does: its profile is of a later one. */
static bool wait_for_profile(struct scene *s, int subcluster, uint64_t after, uint64_t *owner)
{
    int64_t deadline = test_now_ms() + TAKEOVER_TIMEOUT_MS;
    const struct tf_request request = {.method = TF_METHOD_LIST_CLUSTERS};
    while (test_now_ms() < deadline) {
        struct tf_reply reply;
        bool found = false;
        if (test_client_ask(s->client, &request, STATUS_MS, &reply, NULL) == 0)
            tf_vec_each (c, &reply.clusters.clusters)
                if (strcmp(c->name, subclusters[subcluster].name) == 0 && c->attached &&
                    c->generation.owner > after) {
                    *owner = c->generation.owner;
                    found = true;
                }
        tf_reply_release(&reply);
        if (found)
            return true;
        pass(s, STEP_MS);
    }
    return false;
}

/* ---- the deeds ---- */

struct times {
    int64_t worst, sum;
    int count;
};

static void note(struct times *times, int64_t ms)
{
    times->worst = ms > times->worst ? ms : times->worst;
    times->sum += ms;
    times->count++;
}

/* Until a fresh submit is acknowledged, which needs the new leader. */
static void wait_for_word(struct scene *s)
{
    int64_t deadline = test_now_ms() + TAKEOVER_TIMEOUT_MS;
    struct test_job *job = test_row_submit(s->client, &s->rows.items[s->submitted++]);
    while (!job->acknowledged && !job->trouble && test_now_ms() < deadline)
        pass(s, STEP_MS);
    CU_ASSERT_TRUE(job->acknowledged);
}

static void depose(struct scene *s, int subcluster, bool freeze, struct times *times)
{
    const char *victim = wait_for_active(s, subcluster, NULL);
    uint64_t owner = 0;
    if (!victim || (subcluster >= 0 && !wait_for_profile(s, subcluster, 0, &owner))) {
        CU_FAIL("no active one to begin with");
        return;
    }
    int64_t begin = test_now_ms();
    if (freeze)
        test_daemon_freeze(s->federation, victim);
    else
        test_daemon_kill(s->federation, victim);
    const char *heir = wait_for_active(s, subcluster, victim);
    if (subcluster < 0)
        wait_for_word(s);
    else
        CU_ASSERT_TRUE(wait_for_profile(s, subcluster, owner, &owner));
    int64_t took = test_now_ms() - begin;
    note(times, took);
    printf("    %s %s: %s acts after %" PRId64 " ms\n", freeze ? "freeze" : "kill", victim,
           heir ? heir : "nobody", took);
    if (freeze && test_now_ms() < begin + 2 * LEASE_MS)
        pass(s, begin + 2 * LEASE_MS - test_now_ms()); /* longer than the lease in any case */
    if (freeze)
        test_daemon_thaw(s->federation, victim);
    else
        test_daemon_start(s->federation, victim);
    pass(s, SETTLE_MS);
    const char *now = wait_for_active(s, subcluster, NULL);
    CU_ASSERT_TRUE(now && heir && strcmp(now, heir) == 0); /* the other stands by */
}

static void depose_all(struct scene *s)
{
    static const char *const kinds[] = {"fedd killed", "fedd frozen", "subclusterd killed",
                                        "subclusterd frozen"};
    struct times times[TF_ARRAY_LEN(kinds)] = {0};
    for (int i = 0; i < TIMES * (int)TF_ARRAY_LEN(kinds); i++) {
        int kind = i % (int)TF_ARRAY_LEN(kinds);
        int subcluster = kind < 2 ? -1 : (int)tf_rng_below(&s->rng, TF_ARRAY_LEN(subclusters));
        depose(s, subcluster, kind % 2 == 1, &times[kind]);
    }
    for (size_t kind = 0; kind < TF_ARRAY_LEN(kinds); kind++)
        printf("    %-20s taken over after %" PRId64 " ms, at worst %" PRId64 " ms (target: under %d ms)\n",
               kinds[kind], times[kind].count ? times[kind].sum / times[kind].count : 0, times[kind].worst,
               2 * LEASE_MS);
}

static void wait_for_ends(struct scene *s)
{
    int64_t deadline = test_now_ms() + END_TIMEOUT_MS;
    bool ended = false;
    s->quiet = true;
    while (!ended && test_now_ms() < deadline) {
        pass(s, 100);
        ended = test_client_look(s->client, LOOK_MS, NULL) == 0 && test_client_all_ended(s->client);
    }
    CU_ASSERT_TRUE(ended);
}

static void check(struct scene *s)
{
    struct tf_error err = TF_ERROR_INIT;
    size_t breaches = test_check_rest(s->federation, s->client, REST_TIMEOUT_MS);
    CU_ASSERT_EQUAL(test_client_look(s->client, LOOK_MS, &err), 0);
    breaches += test_check_ends(s->federation, s->client);
    breaches += test_check_journals(s->federation, s->client);
    CU_ASSERT_EQUAL(breaches, 0);
    printf("    %zu jobs, %zu requests repeated, %zu breaches\n", s->submitted,
           test_client_repeats(s->client), breaches);
}

static void test_takeover(void)
{
    enum { ROWS = 2000, SPAN_MS = 1000 };
    const struct test_federation_options options = {.fedds = 2,
                                                    .subclusters = subclusters,
                                                    .subcluster_count = TF_ARRAY_LEN(subclusters),
                                                    .records = true,
                                                    .lease = LEASE,
                                                    .budget = "10"};
    struct scene s = {.federation = test_federation_create(&options)};
    CU_ASSERT_PTR_NOT_NULL_FATAL(s.federation);
    uint64_t seed = suite_seed(1);
    printf("\n");
    tf_rng_init(&s.rng, seed);
    test_rows_random(&s.rows, &s.rng, ROWS, SPAN_MS, RUN_MS_MAX);
    CU_ASSERT_TRUE(test_federation_round(s.federation));
    s.client = test_client_create(test_federation_endpoints(s.federation), seed);
    CU_ASSERT_TRUE(test_client_wait_clusters(s.client, TF_ARRAY_LEN(subclusters), TAKEOVER_TIMEOUT_MS));
    depose_all(&s);
    wait_for_ends(&s);
    check(&s);
    if (CU_get_number_of_failures())
        test_federation_keep(s.federation);
    test_client_destroy(s.client);
    CU_ASSERT_TRUE(test_federation_destroy(s.federation));
    test_rows_release(&s.rows);
}

static const struct suite_test tests[] = {
    {"the active one is killed, or frozen", test_takeover},
};

int main(void)
{
    return test_federation_available() ? suite_run("takeover", tests, TF_ARRAY_LEN(tests)) : 0;
}
