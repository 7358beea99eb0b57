/* SPDX-License-Identifier: Apache-2.0 */
/* A subcluster, played by the test, takes placements from a real fedd, runs and ends them. */
#include "common/base/base64.h"
#include "common/base/cleanup.h"
#include "common/wire/records.h"
#include "federation/daemon/archive_files.h"
#include "tests/support/fedd/cluster.h"
#include "tests/support/process.h"
#include "tests/support/suite.h"

static struct bench b;
static struct fake fake;

enum { ASK_MS = 8000 };

/* The last line of the archive about the job: its record, owned by the caller. */
static bool read_archive(uint64_t uid, struct tf_job_record *out, size_t *lines)
{
    TF_AUTO_FREE char *path = tf_asprintf("%s/archive", b.fedds[0].folder);
    TF_AUTO_FREE char *line = NULL;
    size_t size = 0;
    ssize_t len;
    bool found = false;
    FILE *file = fopen(path, "re");
    *lines = 0;
    while (file && (len = getline(&line, &size, file)) > 0) {
        TF_AUTO_BUF bytes = TF_BUF_INIT;
        struct archive_line parts;
        struct tf_record record = {0};
        if (line[len - 1] != '\n' || !archive_line_parse((struct tf_bytes){line, (size_t)len - 1}, &parts) ||
            tf_base64_decode(&bytes, parts.base64))
            continue; /* torn */
        CU_ASSERT_TRUE(parts.archived_ms > 0);
        if (tf_wire_record_unpack("jobs/t/one", 10, bytes.data, bytes.len, &record, NULL))
            continue;
        (*lines)++;
        if (tf_uid_eq(record.job.uid, bench_uid(uid))) {
            tf_job_record_release(out);
            *out = record.job;
            found = true;
        } else {
            tf_record_release(&record);
        }
    }
    if (file)
        fclose(file);
    return found;
}

/* ---- a whole life ---- */

static void check_running(void)
{
    struct tf_job_view job = {0};
    CU_ASSERT_TRUE_FATAL(bench_get(&b, 0, "one", &job));
    CU_ASSERT_STRING_EQUAL(job.cluster, "bj-a");
    CU_ASSERT_STRING_EQUAL(job.model, "H800");
    CU_ASSERT_EQUAL(job.ready, 1);
    CU_ASSERT_EQUAL(job.members.count, 1);
    CU_ASSERT_STRING_EQUAL(job.members.items[0].node, "bj-a-0");
    CU_ASSERT_EQUAL(job.reason, TF_REASON_NONE);
    bool placed = false, running = false;
    tf_vec_each (e, &job.events) {
        placed = placed || strcmp(e->type, "Placed") == 0;
        running = running || (placed && strcmp(e->type, "Running") == 0);
    }
    CU_ASSERT_TRUE(running);
    tf_job_view_release(&job);
}

static void check_instances(void)
{
    struct tf_request request = {.method = TF_METHOD_LIST_INSTANCES};
    struct tf_reply reply = {0};
    CU_ASSERT_EQUAL_FATAL(bench_ask(&b, 0, &request, ASK_MS, &reply, NULL, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(reply.instances.instances.count, 1);
    const struct tf_instance_info *info = &reply.instances.instances.items[0];
    CU_ASSERT_STRING_EQUAL(info->cluster, "bj-a");
    CU_ASSERT_STRING_EQUAL(info->name, "one");
    CU_ASSERT_STRING_EQUAL(info->member.node, "bj-a-0");
    CU_ASSERT_EQUAL(info->member.state, TF_MEMBER_READY);
    tf_reply_release(&reply);
}

static void check_clusters(void)
{
    struct tf_request request = {.method = TF_METHOD_LIST_CLUSTERS};
    struct tf_reply reply = {0};
    CU_ASSERT_EQUAL_FATAL(bench_ask(&b, 0, &request, ASK_MS, &reply, NULL, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(reply.clusters.clusters.count, 1);
    const struct tf_cluster_info *info = &reply.clusters.clusters.items[0];
    CU_ASSERT_TRUE(info->attached && !info->lost);
    CU_ASSERT_STRING_EQUAL(info->region, "north");
    CU_ASSERT_EQUAL(info->health.gpus, 32);
    CU_ASSERT_EQUAL(info->placements, 1);
    tf_reply_release(&reply);
}

static void test_life(void)
{
    if (!bench_open_steady(&b, NULL, 0))
        return;
    fake_join(&fake, &b);
    CU_ASSERT_EQUAL_FATAL(bench_submit(&b, 0, "one", 1, ASK_MS, NULL), TF_OK);
    const struct tf_entry *found = fake_wait_entry(&fake, TF_ENTRY_PLACE, 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(found);
    const struct tf_entry place = *found; /* its strings live as long as the attach */
    CU_ASSERT_EQUAL(place.size, 1);
    CU_ASSERT_STRING_EQUAL(place.spec->group.command.items[0], "/bin/true");
    fake_report(&fake, &place, TF_PHASE_STARTING);
    CU_ASSERT_TRUE(bench_wait_phase(&b, 0, "one", TF_PHASE_STARTING));
    fake_report(&fake, &place, TF_PHASE_RUNNING);
    CU_ASSERT_TRUE(bench_wait_phase(&b, 0, "one", TF_PHASE_RUNNING));
    check_running();
    check_instances();
    check_clusters();
    fake_end(&fake, &place, TF_END_FINISHED);
    CU_ASSERT_TRUE(bench_wait_phase(&b, 0, "one", TF_PHASE_SUCCEEDED));
    CU_ASSERT_PTR_NOT_NULL(fake_wait_entry(&fake, TF_ENTRY_STORED, 1));
    /* a repeated end changes nothing and is told again that it is stored */
    size_t before = fake.entries.count;
    fake_end(&fake, &place, TF_END_FINISHED);
    fake.entries.items[before - 1].kind = TF_ENTRY_NONE;
    CU_ASSERT_PTR_NOT_NULL(fake_wait_entry(&fake, TF_ENTRY_STORED, 1));

    /* deleted: archived, then gone, and the archive can be read */
    struct tf_job_record record = {0};
    size_t lines = 0;
    CU_ASSERT_EQUAL(bench_change(&b, 0, TF_METHOD_DELETE, "one"), TF_OK);
    CU_ASSERT_TRUE(bench_wait_phase(&b, 0, "one", TF_PHASE_NONE));
    CU_ASSERT_TRUE_FATAL(read_archive(1, &record, &lines));
    CU_ASSERT_EQUAL(lines, 1);
    CU_ASSERT_EQUAL(record.phase, TF_PHASE_SUCCEEDED);
    CU_ASSERT_STRING_EQUAL(record.last_cluster, "bj-a");
    tf_job_record_release(&record);
    size_t len;
    CU_ASSERT_PTR_NULL(bench_store_get(&b, "jobs/t/one", &len));
    fake_release(&fake);
    bench_close(&b);
}

/* A delete waits for the subcluster: the name is free when it has let go. */
static void test_delete_of_running(void)
{
    if (!bench_open_steady(&b, NULL, 0))
        return;
    fake_join(&fake, &b);
    fake_run_job(&fake, "one", 1);
    CU_ASSERT_EQUAL(bench_change(&b, 0, TF_METHOD_DELETE, "one"), TF_OK);
    CU_ASSERT_PTR_NOT_NULL(fake_wait_entry(&fake, TF_ENTRY_RELEASE, 1));
    CU_ASSERT_EQUAL(bench_submit(&b, 0, "one", 2, ASK_MS, NULL), TF_ERR_CONFLICT);
    fake_end(&fake, fake_entry(&fake, TF_ENTRY_PLACE, 1), TF_END_RELEASED);
    CU_ASSERT_TRUE(bench_wait_phase(&b, 0, "one", TF_PHASE_NONE));
    CU_ASSERT_EQUAL(bench_submit(&b, 0, "one", 2, ASK_MS, NULL), TF_OK);
    fake_release(&fake);
    bench_close(&b);
}

/* A subcluster that comes back is told everything; one that the leader does not know is not released before
 * it was asked for. */
static void test_again(void)
{
    if (!bench_open(&b, NULL, 0))
        return;
    bench_one_leader(&b);
    fake_join(&fake, &b);
    bench_submit(&b, 0, "one", 1, ASK_MS, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(fake_wait_entry(&fake, TF_ENTRY_PLACE, 1));
    uint64_t epoch = fake_entry(&fake, TF_ENTRY_PLACE, 1)->epoch;
    fake_leave(&fake);
    bench_kill(&b, 0);
    bench_one_leader(&b);
    fake_attach(&fake, 0);
    const struct tf_entry *place = fake_entry(&fake, TF_ENTRY_PLACE, 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(place);
    CU_ASSERT_EQUAL(place->epoch, epoch);
    /* an orphan: of a job that was never submitted */
    struct tf_entry orphan = {.uid = bench_uid(77), .epoch = epoch, .size = 1};
    orphan.tenant = (char[]){"t"};
    orphan.name = (char[]){"orphan"};
    fake_report(&fake, &orphan, TF_PHASE_RUNNING);
    CU_ASSERT_PTR_NOT_NULL(fake_wait_entry(&fake, TF_ENTRY_RELEASE, 77));
    CU_ASSERT_PTR_NULL(fake_entry(&fake, TF_ENTRY_RELEASE, 1));
    fake_release(&fake);
    bench_close(&b);
}

/* ---- nodes ---- */

static struct {
    bool done;
    struct tf_error error;
    struct tf_reply reply;
} nodes;

static void on_nodes(void *arg, const struct tf_error *error, struct tf_bytes body, struct tf_bytes details)
{
    (void)arg;
    (void)details;
    nodes.done = true;
    nodes.error = *error;
    if (error->code == TF_OK)
        CU_ASSERT_EQUAL(tf_wire_reply_unpack(TF_METHOD_LIST_NODES, body.data, body.len, &nodes.reply, NULL),
                        0);
}

static bool nodes_done(void *arg)
{
    (void)arg;
    return nodes.done;
}

static void ask_nodes(const char *cluster)
{
    TF_AUTO_BUF bytes = TF_BUF_INIT;
    struct tf_request request = {.method = TF_METHOD_LIST_NODES, .nodes.cluster = tf_strdup(cluster)};
    tf_reply_release(&nodes.reply);
    nodes.done = false;
    CU_ASSERT_EQUAL_FATAL(tf_wire_request_pack(&request, &bytes, NULL), 0);
    tf_request_release(&request);
    tf_unary_start(b.fedds[0].channel, tf_method_path(TF_METHOD_LIST_NODES), &bytes, ASK_MS, on_nodes, NULL);
}

static void answer_nodes(struct fake *f, const struct tf_ask *ask)
{
    TF_AUTO_BUF bytes = TF_BUF_INIT;
    struct tf_nodes_reply reply = {0};
    struct tf_node_info *info = tf_vec_add(&reply.nodes);
    info->node.name = tf_asprintf("%s-0", f->name);
    info->node.capacity.gpus = 8;
    info->free_gpus = 0xff;
    CU_ASSERT_EQUAL_FATAL(tf_wire_nodes_pack(&reply, &bytes, NULL), 0);
    struct tf_up up = {.kind = TF_UP_ANSWER,
                       .answer = {.id = ask->id, .data = tf_memdup(bytes.data, bytes.len), .len = bytes.len}};
    fake_say(f, &up);
    tf_nodes_reply_release(&reply);
}

static void test_nodes(void)
{
    static struct fake other;
    if (!bench_open_steady(&b, NULL, 0))
        return;
    fake_init(&fake, &b, "bj-a", 4);
    fake_init(&other, &b, "gz-b", 4);
    fake_attach(&fake, 0);
    fake_attach(&other, 0);

    ask_nodes(NULL); /* both answer */
    answer_nodes(&fake, fake_wait_ask(&fake, 0));
    answer_nodes(&other, fake_wait_ask(&other, 0));
    CU_ASSERT_TRUE(bench_until(&b, nodes_done, NULL));
    CU_ASSERT_EQUAL(nodes.reply.nodes.nodes.count, 2);
    CU_ASSERT_EQUAL(nodes.reply.nodes.missing.count, 0);
    CU_ASSERT_STRING_EQUAL(nodes.reply.nodes.nodes.items[0].cluster, "bj-a");
    CU_ASSERT_STRING_EQUAL(nodes.reply.nodes.nodes.items[0].node.name, "bj-a-0");

    ask_nodes(NULL); /* one does not, and an answer in its name from the other does not count */
    const struct tf_ask *silent = fake_wait_ask(&other, 1);
    answer_nodes(&fake, silent);
    answer_nodes(&fake, fake_wait_ask(&fake, 1));
    CU_ASSERT_TRUE(bench_until(&b, nodes_done, NULL));
    CU_ASSERT_EQUAL(nodes.reply.nodes.nodes.count, 1);
    CU_ASSERT_EQUAL_FATAL(nodes.reply.nodes.missing.count, 1);
    CU_ASSERT_STRING_EQUAL(nodes.reply.nodes.missing.items[0], "gz-b");
    answer_nodes(&other, fake_wait_ask(&other, 1)); /* too late: ignored */

    ask_nodes(NULL); /* one leaves meanwhile */
    answer_nodes(&fake, fake_wait_ask(&fake, 2));
    fake_wait_ask(&other, 2);
    fake_leave(&other);
    CU_ASSERT_TRUE(bench_until(&b, nodes_done, NULL));
    CU_ASSERT_EQUAL(nodes.reply.nodes.nodes.count, 1);
    CU_ASSERT_EQUAL(nodes.reply.nodes.missing.count, 1);

    ask_nodes("gz-b"); /* it is away: named at once */
    CU_ASSERT_TRUE(bench_until(&b, nodes_done, NULL));
    CU_ASSERT_EQUAL(nodes.reply.nodes.missing.count, 1);
    ask_nodes("nowhere");
    CU_ASSERT_TRUE(bench_until(&b, nodes_done, NULL));
    CU_ASSERT_EQUAL(nodes.error.code, TF_ERR_NOT_FOUND);

    ask_nodes(NULL); /* the leader stops while it waits */
    fake_wait_ask(&fake, 3);
    CU_ASSERT_EQUAL(bench_stop(&b, 0), 0);
    CU_ASSERT_TRUE(bench_until(&b, nodes_done, NULL));
    tf_reply_release(&nodes.reply);
    fake_release(&fake);
    fake_release(&other);
    bench_close(&b);
}

/* ---- a planned stop ---- */

static bool is_shown(bool attached, bool stopped)
{
    struct tf_request request = {.method = TF_METHOD_LIST_CLUSTERS};
    struct tf_reply reply = {0};
    CU_ASSERT_EQUAL_FATAL(bench_ask(&b, 0, &request, ASK_MS, &reply, NULL, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(reply.clusters.clusters.count, 1);
    const struct tf_cluster_info *info = &reply.clusters.clusters.items[0];
    bool shown = info->attached == attached && info->stopped == stopped;
    tf_reply_release(&reply);
    return shown;
}

static bool is_away(void *arg)
{
    (void)arg;
    return is_shown(false, false);
}

static void test_planned_stop(void)
{
    if (!bench_open_steady(&b, NULL, 0))
        return;
    fake_join(&fake, &b);
    CU_ASSERT_TRUE(is_shown(true, false));
    fake_take_leave(&fake);
    CU_ASSERT_EQUAL(fake.ended.code, TF_OK);
    CU_ASSERT_TRUE(is_shown(false, true));
    CU_ASSERT_EQUAL(bench_stop(&b, 0), 0);
    bench_start(&b, 0);
    bench_wait_leads(&b, 0);
    CU_ASSERT_TRUE(is_shown(false, true)); /* the next leader knows it from the store */
    fake_attach(&fake, 0);
    CU_ASSERT_TRUE(is_shown(true, false));
    fake_leave(&fake); /* an accident */
    CU_ASSERT_TRUE(bench_until(&b, is_away, NULL));
    fake_release(&fake);
    bench_close(&b);
}

/* ---- a subcluster whose own store does not answer ---- */

static bool shows_trouble(void *arg)
{
    struct tf_request request = {.method = TF_METHOD_LIST_CLUSTERS, .clusters.events = true};
    struct tf_reply reply = {0};
    const char *wanted = arg;
    CU_ASSERT_EQUAL_FATAL(bench_ask(&b, 0, &request, ASK_MS, &reply, NULL, NULL), 0);
    const struct tf_cluster_info *info = &reply.clusters.clusters.items[0];
    bool shown =
        wanted ? info->store_trouble && strcmp(info->store_trouble, wanted) == 0 : !info->store_trouble;
    CU_ASSERT_TRUE(!info->store_trouble == (info->store_trouble_since.ms == 0));
    CU_ASSERT_EQUAL_FATAL(info->events.count, 1);
    CU_ASSERT_STRING_EQUAL(info->events.items[0].type, "Registered");
    tf_reply_release(&reply);
    return shown;
}

static bool explains(const char *job, const char *words)
{
    struct tf_request request = {.method = TF_METHOD_EXPLAIN};
    struct tf_reply reply = {0};
    request.job = (struct tf_job_ref){.tenant = tf_strdup("t"), .name = tf_strdup(job)};
    CU_ASSERT_EQUAL_FATAL(bench_ask(&b, 0, &request, ASK_MS, &reply, NULL, NULL), 0);
    bool said = strstr(reply.explain.answer, words) != NULL;
    tf_request_release(&request);
    tf_reply_release(&reply);
    return said;
}

static void say_trouble(const char *text)
{
    struct tf_up up = {.kind = TF_UP_STORE, .store.text = tf_strdup(text)};
    fake_say(&fake, &up);
    CU_ASSERT_TRUE(bench_until(&b, shows_trouble, (char *)(uintptr_t)text));
}

static void test_store_trouble(void)
{
    if (!bench_open_steady(&b, NULL, 0))
        return;
    fake_join(&fake, &b);
    CU_ASSERT_EQUAL(bench_submit(&b, 0, "one", 1, ASK_MS, NULL), TF_OK);
    CU_ASSERT_PTR_NOT_NULL_FATAL(fake_wait_entry(&fake, TF_ENTRY_PLACE, 1));
    CU_ASSERT_TRUE(shows_trouble(NULL));
    say_trouble("etcd-1: Connection refused");
    CU_ASSERT_TRUE(bench_wait_log(&b, 0, "a subcluster's own store does not answer it"));
    CU_ASSERT_TRUE(explains("one", "the store of bj-a has not answered it for "));
    say_trouble(NULL);
    CU_ASSERT_FALSE(explains("one", "the store of bj-a"));
    say_trouble("etcd-1: again");
    fake_leave(&fake); /* what a stream told ends with it */
    CU_ASSERT_TRUE(bench_until(&b, is_away, NULL));
    CU_ASSERT_TRUE(shows_trouble(NULL));
    fake_release(&fake);
    bench_close(&b);
}

/* ---- what a report says of an epoch that goes on ---- */

/* Who gave surplus away and runs on is told of it at once. */
static bool is_counted(void *arg)
{
    const int *evictions = arg;
    struct tf_job_view job = {0};
    CU_ASSERT_TRUE_FATAL(bench_get(&b, 0, "one", &job));
    bool counted = job.evictions == *evictions && job.lost_gpu_seconds == (int64_t)*evictions * 16;
    tf_job_view_release(&job);
    return counted;
}

static void test_surplus_given_away(void)
{
    int none = 0, two = 2;
    if (!bench_open_steady(&b, NULL, 0))
        return;
    fake_join(&fake, &b);
    fake_run_job(&fake, "one", 1);
    CU_ASSERT_TRUE(is_counted(&none));
    fake_report_gave_way(&fake, fake_entry(&fake, TF_ENTRY_PLACE, 1), 2, 32);
    CU_ASSERT_TRUE(bench_until(&b, is_counted, &two));
    CU_ASSERT_FALSE(explains("one", "attached"));
    fake_leave(&fake); /* what is not known is not said as if it were */
    CU_ASSERT_TRUE(bench_until(&b, is_away, NULL));
    CU_ASSERT_TRUE(explains("one", "bj-a is not attached: what runs there goes on unseen"));
    fake_release(&fake);
    bench_close(&b);
}

/* ---- the configuration of a subcluster: its subclusterd is asked ---- */

static enum tf_error_code config_of(const char *cluster, const char *words)
{
    struct tf_request request = {.method = TF_METHOD_GET_CONFIG, .get_config.cluster = tf_strdup(cluster)};
    struct tf_reply reply = {0};
    struct tf_error err = TF_ERROR_INIT;
    bench_ask(&b, 0, &request, ASK_MS, &reply, NULL, &err);
    tf_request_release(&request);
    tf_reply_release(&reply);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, words));
    if (!strstr(err.text, words))
        printf("\n    %s\n", err.text);
    return err.code;
}

static void test_config_of_a_subcluster(void)
{
    if (!bench_open_steady(&b, NULL, 0))
        return;
    CU_ASSERT_EQUAL(config_of("bj-a", "there is no subcluster bj-a"), TF_ERR_NOT_FOUND);
    fake_join(&fake, &b);
    CU_ASSERT_EQUAL(config_of("bj-a", "subcluster bj-a does not answer"), TF_ERR_UNAVAILABLE);
    CU_ASSERT_EQUAL(fake_wait_ask(&fake, 0)->kind, TF_ASK_GET_CONFIG);
    fake_leave(&fake);
    CU_ASSERT_TRUE(bench_until(&b, is_away, NULL));
    CU_ASSERT_EQUAL(config_of("bj-a", "subcluster bj-a is not attached"), TF_ERR_UNAVAILABLE);
    fake_release(&fake);
    bench_close(&b);
}

/* ---- the archive ---- */

/* A crash in the middle of a line does not spoil the next one. */
static void test_torn_archive(void)
{
    struct tf_job_record record = {0};
    size_t lines = 0;
    if (!bench_open(&b, NULL, 0))
        return;
    bench_one_leader(&b);
    bench_kill(&b, 0);
    TF_AUTO_FREE char *path = tf_asprintf("%s/archive", b.fedds[0].folder);
    FILE *file = fopen(path, "ae");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fputs("1234567 AAAA", file);
    fclose(file);
    bench_one_leader(&b);
    bench_submit(&b, 0, "one", 1, ASK_MS, NULL);
    bench_change(&b, 0, TF_METHOD_DELETE, "one");
    CU_ASSERT_TRUE(bench_wait_phase(&b, 0, "one", TF_PHASE_NONE));
    CU_ASSERT_TRUE(read_archive(1, &record, &lines));
    CU_ASSERT_EQUAL(lines, 1);
    tf_job_record_release(&record);
    bench_close(&b);
}

static const struct suite_test tests[] = {
    {"a whole life", test_life},
    {"surplus that was given away", test_surplus_given_away},
    {"delete of what runs", test_delete_of_running},
    {"attach again, and an orphan", test_again},
    {"nodes", test_nodes},
    {"a planned stop", test_planned_stop},
    {"a subcluster's own store", test_store_trouble},
    {"the configuration of a subcluster", test_config_of_a_subcluster},
    {"a torn line in the archive", test_torn_archive},
};

int main(void)
{
    return suite_run("fedd/attach", tests, TF_ARRAY_LEN(tests));
}
