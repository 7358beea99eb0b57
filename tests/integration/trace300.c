/* SPDX-License-Identifier: Apache-2.0 */
/* The first 300 jobs of a public trace of ten clusters, 3600 times as fast, as real processes on three
 * subclusters: all of them end, and what the daemons say of them is what the journals of the shims say. */
#include "common/base/cleanup.h"
#include "tests/support/federation/checker.h"
#include "tests/support/federation/load.h"
#include "tests/support/process.h"
#include "tests/support/suite.h"

#include <cjson/cJSON.h>
#include <inttypes.h>

enum {
    JOBS = 300,
    SPEED = 3600,
    ATTACH_TIMEOUT_MS = 30 * 1000,
    END_TIMEOUT_MS = 240 * 1000,
    REST_TIMEOUT_MS = 30 * 1000,
    LOOK_MS = 10 * 1000,
    STEP_MS = 250,
    STILL_MS = 3000,
};

static const struct test_subcluster subclusters[] = {
    {"bj-a", 1, "prefix: n, count: 16, model: H800, gpus: 8, cpu: 128, memory: 1Ti"},
    {"gz-b", 1, "prefix: n, count: 12, model: A100, gpus: 8, cpu: 96, memory: 1Ti"},
    {"us-c", 1, "prefix: n, count: 16, model: L40, gpus: 4, cpu: 64, memory: 512Gi"},
};

struct replay {
    struct test_federation *federation;
    struct test_client *client;
    struct test_rows rows;
};

static void run_all(struct replay *r)
{
    int64_t begin = test_now_ms(), deadline = begin + END_TIMEOUT_MS, look = begin;
    size_t submitted = 0;
    bool ended = false;
    while (!ended && test_now_ms() < deadline) {
        while (submitted < r->rows.count && begin + r->rows.items[submitted].at_ms <= test_now_ms())
            test_row_submit(r->client, &r->rows.items[submitted++]);
        test_client_turn(r->client, 10);
        if (submitted < r->rows.count || test_now_ms() < look)
            continue;
        ended = test_client_look(r->client, LOOK_MS, NULL) == 0 && test_client_all_ended(r->client);
        look = test_now_ms() + STEP_MS;
    }
    CU_ASSERT_TRUE(test_federation_sound(r->federation));
    CU_ASSERT_TRUE(ended);
    printf("    %zu jobs submitted, all ended: %s, %" PRId64 " s\n", submitted, ended ? "yes" : "NO",
           (test_now_ms() - begin) / 1000);
}

static const char *word(const cJSON *object, const char *group, const char *key)
{
    const cJSON *inner = cJSON_GetObjectItemCaseSensitive(object, group);
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(inner, key));
    return text ? text : "";
}

/* What users see agrees, job by job, with what the client was told. */
static size_t compare(struct replay *r, const cJSON *items)
{
    size_t agree = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, items)
    {
        char uid[TF_UID_TEXT];
        for (size_t i = 0; i < test_client_jobs(r->client); i++) {
            const struct test_job *job = test_client_job(r->client, i);
            tf_uid_format(job->uid, uid);
            agree += strcmp(uid, word(item, "metadata", "uid")) == 0 &&
                     strcmp(job->manifest.name, word(item, "metadata", "name")) == 0 &&
                     strcmp(tf_phase_name(job->phase), word(item, "status", "phase")) == 0;
        }
    }
    return agree;
}

static void check_fedctl(struct replay *r)
{
    TF_AUTO_FREE char *command = tf_asprintf("'%s' --endpoints %s get jobs -A -o json", TF_FEDCTL,
                                             test_federation_endpoints(r->federation)->items[0]);
    TF_AUTO_BUF text = TF_BUF_INIT;
    char chunk[4096];
    size_t n;
    FILE *pipe = popen(command, "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(pipe);
    while ((n = fread(chunk, 1, sizeof chunk, pipe)) > 0)
        tf_buf_add(&text, chunk, n);
    CU_ASSERT_EQUAL(pclose(pipe), 0);
    cJSON *list = cJSON_Parse(tf_buf_text(&text));
    const cJSON *items = cJSON_GetObjectItemCaseSensitive(list, "items");
    CU_ASSERT_EQUAL(cJSON_GetArraySize(items), JOBS);
    size_t agree = compare(r, items);
    CU_ASSERT_EQUAL(agree, JOBS);
    printf("    fedctl get jobs -o json agrees about %zu of %d\n", agree, JOBS);
    cJSON_Delete(list);
}

/* Nobody writes any more, but the summaries of subclusters, each at most every 30 s. */
static void check_stillness(struct replay *r)
{
    int64_t writes[8];
    const struct tf_strs *daemons = test_federation_daemons(r->federation);
    CU_ASSERT_TRUE_FATAL(daemons->count <= TF_ARRAY_LEN(writes));
    for (size_t i = 0; i < daemons->count; i++)
        writes[i] = test_proxy_count(test_daemon_proxy(r->federation, daemons->items[i]));
    test_client_turn(r->client, STILL_MS);
    for (size_t i = 0; i < daemons->count; i++) {
        int64_t more = test_proxy_count(test_daemon_proxy(r->federation, daemons->items[i])) - writes[i];
        CU_ASSERT_TRUE(more <= (i == 0 ? (int64_t)TF_ARRAY_LEN(subclusters) : 0));
        printf("    %s: %" PRId64 " durable writes, %" PRId64 " at rest\n", daemons->items[i], writes[i],
               more);
    }
}

static void check(struct replay *r)
{
    struct tf_error err = TF_ERROR_INIT;
    size_t breaches = test_check_rest(r->federation, r->client, REST_TIMEOUT_MS);
    CU_ASSERT_EQUAL(test_client_look(r->client, LOOK_MS, &err), 0);
    breaches += test_check_ends(r->federation, r->client);
    breaches += test_check_journals(r->federation, r->client);
    CU_ASSERT_EQUAL(breaches, 0);
    check_stillness(r);
    check_fedctl(r);
    printf("    %zu breaches\n", breaches);
}

static void test_trace(void)
{
    const struct test_federation_options options = {.fedds = 1,
                                                    .subclusters = subclusters,
                                                    .subcluster_count = TF_ARRAY_LEN(subclusters),
                                                    .lease = "5s",
                                                    .proxies = true};
    struct replay r = {0};
    if (!test_trace_read(&r.rows, JOBS, SPEED)) {
        printf("    SKIPPED\n");
        return;
    }
    uint64_t seed = suite_seed(1);
    printf("\n");
    r.federation = test_federation_create(&options);
    CU_ASSERT_PTR_NOT_NULL_FATAL(r.federation);
    CU_ASSERT_TRUE(test_federation_round(r.federation));
    r.client = test_client_create(test_federation_endpoints(r.federation), seed);
    CU_ASSERT_TRUE(test_client_wait_clusters(r.client, TF_ARRAY_LEN(subclusters), ATTACH_TIMEOUT_MS));
    run_all(&r);
    check(&r);
    if (CU_get_number_of_failures())
        test_federation_keep(r.federation);
    test_client_destroy(r.client);
    CU_ASSERT_TRUE(test_federation_destroy(r.federation));
    test_rows_release(&r.rows);
}

static const struct suite_test tests[] = {
    {"300 jobs of a trace", test_trace},
};

int main(void)
{
    return test_federation_available() ? suite_run("trace300", tests, TF_ARRAY_LEN(tests)) : 0;
}
