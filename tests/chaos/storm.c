/* SPDX-License-Identifier: Apache-2.0 */
/* Random kills and freezes of daemons and their etcd under load. */
#include "common/base/cleanup.h"
#include "tests/support/federation/checker.h"
#include "tests/support/federation/load.h"
#include "tests/support/process.h"
#include "tests/support/suite.h"

#include <inttypes.h>

enum {
    JOBS = 300,
    SPAN_MS = 60 * 1000, /* of the submits */
    RUN_MS_MAX = 8 * 1000,
    KILLS = 20,
    FREEZES = 10,
    FREEZE_MS = 3000, /* three leases */
    DOWN_MS_MAX = 1500,
    GAP_MS_MAX = 2500,
    ATTACH_TIMEOUT_MS = 30 * 1000,
    END_TIMEOUT_MS = 180 * 1000,
    REST_TIMEOUT_MS = 60 * 1000,
    LOOK_MS = 10 * 1000,
};

static const struct test_subcluster subclusters[] = {
    {"bj-a", 2, "prefix: n, count: 6, model: H800, gpus: 8, cpu: 128, memory: 1Ti"},
    {"gz-b", 1, "prefix: n, count: 4, model: H800, gpus: 8, cpu: 128, memory: 1Ti"},
    {"us-c", 1, "prefix: n, count: 4, model: L40, gpus: 8, cpu: 128, memory: 1Ti"},
};

struct storm {
    struct test_federation *federation;
    struct test_client *client;
    struct tf_rng rng;
    struct test_rows rows;
    size_t submitted;
    int64_t begin;
};

/* Turns the client for so long, submitting what is due. */
static void pass(struct storm *s, int64_t ms)
{
    int64_t end = test_now_ms() + ms;
    do {
        while (s->submitted < s->rows.count && s->begin + s->rows.items[s->submitted].at_ms <= test_now_ms())
            test_row_submit(s->client, &s->rows.items[s->submitted++]);
        test_client_turn(s->client, 10);
    } while (test_now_ms() < end);
    CU_ASSERT_TRUE(test_federation_sound(s->federation));
}

/* A daemon; past their end an etcd; past those everything at once. */
static size_t random_victim(struct storm *s)
{
    return (size_t)tf_rng_below(&s->rng, test_federation_daemons(s->federation)->count + TEST_ETCD_ROLES + 1);
}

static void kill_etcd(struct storm *s, enum test_etcd_role role, int64_t down)
{
    printf("    kill etcd %d, down %" PRId64 " ms\n", (int)role, down);
    test_federation_etcd_kill(s->federation, role);
    pass(s, down);
    CU_ASSERT_TRUE_FATAL(test_federation_etcd_restart(s->federation, role));
}

static void kill_daemon(struct storm *s, const char *name, int64_t down)
{
    printf("    kill %s, down %" PRId64 " ms\n", name, down);
    test_daemon_kill(s->federation, name);
    pass(s, down);
    test_daemon_start(s->federation, name);
}

static void kill_all(struct storm *s, int64_t down)
{
    printf("    kill everything, down %" PRId64 " ms\n", down);
    tf_vec_each (name, test_federation_daemons(s->federation))
        test_daemon_kill(s->federation, *name);
    for (int role = 0; role < TEST_ETCD_ROLES; role++)
        test_federation_etcd_kill(s->federation, (enum test_etcd_role)role);
    pass(s, down);
    tf_vec_each (name, test_federation_daemons(s->federation))
        test_daemon_start(s->federation, *name); /* before their stores */
    for (int role = 0; role < TEST_ETCD_ROLES; role++)
        CU_ASSERT_TRUE_FATAL(test_federation_etcd_restart(s->federation, (enum test_etcd_role)role));
}

static void kill_one(struct storm *s, size_t victim)
{
    const struct tf_strs *daemons = test_federation_daemons(s->federation);
    int64_t down = tf_rng_range(&s->rng, 0, DOWN_MS_MAX);
    if (victim < daemons->count)
        kill_daemon(s, daemons->items[victim], down);
    else if (victim < daemons->count + TEST_ETCD_ROLES)
        kill_etcd(s, (enum test_etcd_role)(victim - daemons->count), down);
    else
        kill_all(s, down);
}

static void freeze_etcd(struct storm *s, enum test_etcd_role role)
{
    printf("    freeze etcd %d\n", (int)role);
    test_federation_etcd_freeze(s->federation, role);
    pass(s, FREEZE_MS);
    test_federation_etcd_thaw(s->federation, role);
}

static void freeze_daemon(struct storm *s, const char *name)
{
    printf("    freeze %s\n", name);
    test_daemon_freeze(s->federation, name);
    pass(s, FREEZE_MS);
    test_daemon_thaw(s->federation, name);
}

static void freeze_all(struct storm *s)
{
    printf("    freeze every daemon\n");
    tf_vec_each (name, test_federation_daemons(s->federation))
        test_daemon_freeze(s->federation, *name);
    pass(s, FREEZE_MS);
    tf_vec_each (name, test_federation_daemons(s->federation))
        test_daemon_thaw(s->federation, *name);
}

static void freeze_one(struct storm *s, size_t victim)
{
    const struct tf_strs *daemons = test_federation_daemons(s->federation);
    if (victim < daemons->count)
        freeze_daemon(s, daemons->items[victim]);
    else if (victim < daemons->count + TEST_ETCD_ROLES)
        freeze_etcd(s, (enum test_etcd_role)(victim - daemons->count));
    else
        freeze_all(s);
}

static void rage(struct storm *s)
{
    int kills = KILLS, freezes = FREEZES;
    while (kills + freezes > 0) {
        bool kill = (int)tf_rng_below(&s->rng, (uint64_t)(kills + freezes)) < kills;
        if (kill)
            kill_one(s, random_victim(s));
        else
            freeze_one(s, random_victim(s));
        kills -= kill;
        freezes -= !kill;
        pass(s, tf_rng_range(&s->rng, 0, GAP_MS_MAX));
    }
}

static void wait_for_ends(struct storm *s)
{
    int64_t deadline = test_now_ms() + END_TIMEOUT_MS;
    bool ended = false;
    while (!ended && test_now_ms() < deadline) {
        pass(s, 100);
        ended = s->submitted == s->rows.count && test_client_look(s->client, LOOK_MS, NULL) == 0 &&
                test_client_all_ended(s->client);
    }
    CU_ASSERT_TRUE(ended);
}

static void check(struct storm *s)
{
    struct tf_error err = TF_ERROR_INIT;
    size_t breaches = test_check_rest(s->federation, s->client, REST_TIMEOUT_MS);
    CU_ASSERT_EQUAL(test_client_look(s->client, LOOK_MS, &err), 0);
    breaches += test_check_ends(s->federation, s->client);
    breaches += test_check_journals(s->federation, s->client);
    CU_ASSERT_EQUAL(breaches, 0);
    printf("    %zu jobs, %d kills, %d freezes of %d ms, %zu requests repeated, %zu breaches, %" PRId64
           " s\n",
           s->submitted, KILLS, FREEZES, FREEZE_MS, test_client_repeats(s->client), breaches,
           (test_now_ms() - s->begin) / 1000);
}

static void test_storm(void)
{
    const struct test_federation_options options = {.fedds = 2,
                                                    .subclusters = subclusters,
                                                    .subcluster_count = TF_ARRAY_LEN(subclusters),
                                                    .records = true};
    struct storm s = {.federation = test_federation_create(&options)};
    CU_ASSERT_PTR_NOT_NULL_FATAL(s.federation);
    uint64_t seed = suite_seed(1);
    printf("\n");
    tf_rng_init(&s.rng, seed);
    test_rows_random(&s.rows, &s.rng, JOBS, SPAN_MS, RUN_MS_MAX);
    CU_ASSERT_TRUE(test_federation_round(s.federation));
    s.client = test_client_create(test_federation_endpoints(s.federation), seed);
    CU_ASSERT_TRUE(test_client_wait_clusters(s.client, TF_ARRAY_LEN(subclusters), ATTACH_TIMEOUT_MS));
    s.begin = test_now_ms();
    rage(&s);
    wait_for_ends(&s);
    check(&s);
    if (CU_get_number_of_failures())
        test_federation_keep(s.federation);
    test_client_destroy(s.client);
    CU_ASSERT_TRUE(test_federation_destroy(s.federation));
    test_rows_release(&s.rows);
}

static const struct suite_test tests[] = {
    {"kills and freezes under load", test_storm},
};

int main(void)
{
    return test_federation_available() ? suite_run("storm", tests, TF_ARRAY_LEN(tests)) : 0;
}
