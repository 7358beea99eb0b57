/* SPDX-License-Identifier: Apache-2.0 */
/* Two clients write through the echo daemon, which is killed again and again in the middle: what was
 * acknowledged is in the store, at the moment of each kill and at the end; what was not is repeated until it
 * is. */
#include "common/base/cleanup.h"
#include "common/base/rng.h"
#include "common/rpc/client.h"
#include "common/store/etcd.h"
#include "tests/support/etcd.h"
#include "tests/support/loopback.h"
#include "tests/support/process.h"
#include "tests/support/suite.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    CLIENTS = 2,
    IN_FLIGHT = 16, /* of each client */
    WRITES = 600,   /* of each client */
    KILLS = 6,
    PATIENCE_MS = 60000,
    RETRY_MS = 10,
};

#define PREFIX "/echo/"

struct write {
    struct client *client;
    int number; /* < 0: no more to do */
    struct tf_timer retry;
};

struct client {
    int id;
    struct tf_channel *channel;
    int next;
    bool acknowledged[WRITES];
    struct write writes[IN_FLIGHT];
};

static struct {
    struct tf_loop *loop;
    struct tf_rpc *rpc;
    struct tf_store *store;
    struct test_etcd *etcd;
    struct client clients[CLIENTS];
    char *address;
    pid_t daemon;
    int acknowledged, repeated, unknown;
} t;

/* ---- the daemon ---- */

static void start_daemon(void)
{
    int out = -1;
    char line[32] = "";
    const char *argv[] = {TF_ECHO_DAEMON, test_etcd_endpoint(t.etcd), t.address, NULL};
    t.daemon = test_process_start(argv, "/dev/stderr", NULL, &out);
    CU_ASSERT_TRUE_FATAL(t.daemon > 0);
    ssize_t n = read(out, line, sizeof line - 1); /* it serves, or it is dead */
    close(out);
    CU_ASSERT_TRUE_FATAL(n > 0);
}

/* ---- the clients ---- */

static void send_write(struct write *w);

static void key_of(const struct write *w, char *out, size_t size)
{
    snprintf(out, size, PREFIX "%d/%04d", w->client->id, w->number);
}

static void next_write(struct write *w)
{
    w->number = w->client->next < WRITES ? w->client->next++ : -1;
    if (w->number >= 0)
        send_write(w);
}

static void on_retry(struct tf_timer *timer)
{
    send_write(TF_CONTAINER_OF(timer, struct write, retry));
}

static void on_written(void *arg, const struct tf_error *error, struct tf_bytes body, struct tf_bytes details)
{
    (void)details;
    struct write *w = arg;
    if (error->code == TF_OK) {
        char wanted[64];
        key_of(w, wanted, sizeof wanted);
        CU_ASSERT_TRUE(body.len > strlen(wanted) && memcmp(body.data, wanted, strlen(wanted)) == 0);
        w->client->acknowledged[w->number] = true;
        t.acknowledged++;
        next_write(w);
        return;
    }
    CU_ASSERT_TRUE(error->code == TF_ERR_UNKNOWN || error->code == TF_ERR_UNAVAILABLE);
    t.repeated++;
    t.unknown += error->code == TF_ERR_UNKNOWN;
    struct tf_mono at = {tf_loop_now(t.loop).mono.ms + RETRY_MS};
    tf_timer_start(t.loop, &w->retry, at, on_retry);
}

static void send_write(struct write *w)
{
    char key[48];
    key_of(w, key, sizeof key);
    struct tf_buf request = TF_BUF_INIT;
    tf_buf_fmt(&request, "%s=value of %s", key, key);
    tf_unary_start(w->client->channel, "/echo.Echo/Write", &request, PATIENCE_MS, on_written, w);
}

/* ---- what the store holds ---- */

struct listing {
    bool done;
    bool found[CLIENTS][WRITES];
    int rows;
    bool more;
    char last[48];
};

static void on_page(void *cookie, const struct tf_store_reply *reply)
{
    struct listing *l = cookie;
    CU_ASSERT_EQUAL_FATAL(reply->error.code, TF_OK);
    for (size_t i = 0; i < reply->count; i++) {
        const struct tf_store_row *row = &reply->rows[i];
        int client = -1, number = -1;
        char value[64], wanted[64];
        snprintf(l->last, sizeof l->last, "%.*s", (int)row->key.len, (const char *)row->key.data);
        CU_ASSERT_EQUAL_FATAL(sscanf(l->last, PREFIX "%d/%d", &client, &number), 2);
        CU_ASSERT_TRUE_FATAL(client >= 0 && client < CLIENTS && number >= 0 && number < WRITES);
        snprintf(value, sizeof value, "%.*s", (int)row->value.len, (const char *)row->value.data);
        snprintf(wanted, sizeof wanted, "value of %s", l->last);
        CU_ASSERT_STRING_EQUAL(value, wanted);
        l->found[client][number] = true;
        l->rows++;
    }
    l->more = reply->more;
    l->done = true;
}

static void check_store(void)
{
    static struct listing l;
    bool acknowledged[CLIENTS][WRITES]; /* by now: more may come while the pages are read */
    for (int c = 0; c < CLIENTS; c++)
        memcpy(acknowledged[c], t.clients[c].acknowledged, sizeof acknowledged[c]);
    l = (struct listing){.more = true};
    while (l.more) {
        struct tf_store_request request = {
            .kind = TF_STORE_PAGE,
            .timeout_ms = PATIENCE_MS,
            .key = tf_bytes_of(PREFIX),
            .after = tf_bytes_of(l.last),
            .limit = 500,
        };
        l.done = false;
        tf_store_send(t.store, &request, on_page, &l);
        while (!l.done)
            tf_loop_turn(t.loop, 100);
    }
    for (int c = 0; c < CLIENTS; c++)
        for (int n = 0; n < WRITES; n++)
            if (acknowledged[c][n] && !l.found[c][n])
                CU_FAIL("an acknowledged write is not in the store");
}

/* ---- the test ---- */

static void begin(void)
{
    struct tf_error err = TF_ERROR_INIT;
    t.etcd = test_etcd_start(NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(t.etcd);
    t.address = test_new_address();
    start_daemon();
    t.loop = tf_loop_create(&err);
    t.rpc = tf_rpc_create(t.loop, &err);
    const char *endpoint = test_etcd_endpoint(t.etcd);
    t.store = tf_etcd_store_create(
        t.loop, &(struct tf_etcd_options){.endpoints = &endpoint, .endpoint_count = 1}, &err);
    CU_ASSERT_TRUE_FATAL(t.rpc && t.store);
    for (int c = 0; c < CLIENTS; c++) {
        struct client *client = &t.clients[c];
        client->id = c;
        client->channel = tf_channel_create(t.rpc, &(struct tf_channel_options){.address = t.address}, &err);
        CU_ASSERT_PTR_NOT_NULL_FATAL(client->channel);
        for (int i = 0; i < IN_FLIGHT; i++) {
            client->writes[i].client = client;
            next_write(&client->writes[i]);
        }
    }
}

static void end(void)
{
    for (int c = 0; c < CLIENTS; c++)
        tf_channel_destroy(t.clients[c].channel);
    tf_store_destroy(t.store);
    tf_rpc_destroy(t.rpc);
    tf_loop_destroy(t.loop);
    test_process_kill(t.daemon);
    test_etcd_stop(t.etcd);
    free(t.address);
}

static void turn_until_acknowledged(int wanted)
{
    int64_t give_up = test_now_ms() + PATIENCE_MS;
    while (t.acknowledged < wanted && test_now_ms() < give_up)
        tf_loop_turn(t.loop, 100);
    CU_ASSERT_TRUE_FATAL(t.acknowledged >= wanted);
}

/* The store stops first, so that the daemon has a transaction under way that is then lost for good. */
static void kill_both(void)
{
    test_etcd_freeze(t.etcd);
    for (int64_t until = test_now_ms() + 50; test_now_ms() < until;)
        tf_loop_turn(t.loop, 10);
    test_process_kill(t.daemon);
    test_etcd_kill(t.etcd);
    CU_ASSERT_TRUE_FATAL(test_etcd_restart(t.etcd));
}

static void test_acknowledged_writes_survive_kills(void)
{
    if (!test_etcd_available())
        return;
    struct tf_rng rng;
    tf_rng_init(&rng, suite_seed(17));
    begin();
    for (int round = 0; round < KILLS; round++) {
        int step = CLIENTS * WRITES / (KILLS + 1);
        turn_until_acknowledged(t.acknowledged + (int)tf_rng_range(&rng, step / 2, step));
        int repeated = t.repeated;
        if (round % 2 == 0)
            test_process_kill(t.daemon);
        else
            kill_both();
        check_store();
        /* All slots were busy, so the kill met some of them. */
        int64_t give_up = test_now_ms() + PATIENCE_MS;
        while (t.repeated == repeated && test_now_ms() < give_up)
            tf_loop_turn(t.loop, 100);
        CU_ASSERT_TRUE(t.repeated > repeated);
        start_daemon();
    }
    turn_until_acknowledged(CLIENTS * WRITES);
    CU_ASSERT_TRUE(t.unknown > 0);
    check_store();
    /* A polite stop is clean, too. */
    CU_ASSERT_EQUAL(kill(t.daemon, SIGTERM), 0);
    int status = test_process_wait(t.daemon);
    t.daemon = -1;
    CU_ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    end();
}

static const struct suite_test tests[] = {
    {"acknowledged writes survive kills", test_acknowledged_writes_survive_kills},
};

int main(void)
{
    return suite_run("echo", tests, TF_ARRAY_LEN(tests));
}
