/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/fedd/bench.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "common/store/etcd.h"
#include "tests/support/loopback.h"
#include "tests/support/process.h"

#include <CUnit/CUnit.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PREFIX "/tidefed/v1/"

enum { TRY_AGAIN_MS = 20, ASK_MS = 5000 };

/* ---- life ---- */

static struct bench *opened; /* at most one */

static void close_at_exit(void)
{
    if (opened)
        bench_close(opened);
}

static void prepare_fedd(struct bench *b, size_t i)
{
    struct bench_fedd *f = &b->fedds[i];
    f->address = test_new_address();
    f->folder = tf_asprintf("%s/fedd-%zu", b->folder, i);
    f->log = tf_asprintf("%s/fedd-%zu.log", b->folder, i);
    struct tf_channel_options options = {.address = f->address};
    f->channel = tf_channel_create(b->rpc, &options, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(f->channel);
}

bool bench_open(struct bench *b, const char *settings, int64_t quota_bytes)
{
    static bool registered;
    char folder[] = "/tmp/tidefed-fedd-XXXXXX";
    if (!test_etcd_available())
        return false;
    close_at_exit();
    if (!registered)
        atexit(close_at_exit);
    registered = true;
    *b = (struct bench){.settings = settings};
    opened = b;
    b->loop = tf_loop_create(NULL);
    b->rpc = tf_rpc_create(b->loop, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    b->folder = tf_strdup(folder);
    const struct test_etcd_options options = {.quota_bytes = quota_bytes};
    b->etcd = test_etcd_start(&options);
    CU_ASSERT_PTR_NOT_NULL_FATAL(b->etcd);
    for (size_t i = 0; i < BENCH_FEDDS; i++)
        prepare_fedd(b, i);
    return true;
}

void bench_close(struct bench *b)
{
    for (size_t i = 0; i < BENCH_FEDDS; i++) {
        struct bench_fedd *f = &b->fedds[i];
        bench_kill(b, i);
        tf_channel_destroy(f->channel);
        free(f->address);
        free(f->folder);
        free(f->log);
    }
    test_etcd_stop(b->etcd);
    tf_rpc_destroy(b->rpc);
    tf_loop_destroy(b->loop);
    if (b->folder)
        test_remove_tree(b->folder);
    free(b->folder);
    *b = (struct bench){0};
    opened = NULL;
}

/* ---- daemons ---- */

static char *write_config(const struct bench *b, size_t i)
{
    const struct bench_fedd *f = &b->fedds[i];
    char *path = tf_asprintf("%s/fedd-%zu.yaml", b->folder, i);
    FILE *file = fopen(path, "we");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fprintf(file, "listen: %s\ndataDir: %s\nstore:\n  endpoints: [%s]\n", f->address, f->folder,
            test_etcd_endpoint(b->etcd));
    fprintf(file, "settings:\n  leaseTtl: %s\n%s", b->lease ? b->lease : "1s",
            b->settings ? b->settings : "");
    fclose(file);
    return path;
}

void bench_start(struct bench *b, size_t i)
{
    TF_AUTO_FREE char *config = write_config(b, i);
    const char *argv[] = {TF_FEDD, "--config", config, b->option, NULL};
    CU_ASSERT_FATAL(b->fedds[i].pid == 0);
    b->fedds[i].pid = test_process_start(argv, b->fedds[i].log, NULL, NULL);
    CU_ASSERT_FATAL(b->fedds[i].pid > 0);
}

/* The test that fails should say what the daemon said. */
static void show_log(const struct bench *b, size_t i)
{
    TF_AUTO_FREE char *command = tf_asprintf("tail -n 20 %s >&2", b->fedds[i].log);
    if (system(command))
        perror("tail");
}

static void check_alive(struct bench *b, size_t i)
{
    int status = 0;
    if (b->fedds[i].pid == 0 || waitpid(b->fedds[i].pid, &status, WNOHANG) != b->fedds[i].pid)
        return;
    b->fedds[i].pid = 0;
    fprintf(stderr, "fedd %zu has ended by itself, status %d\n", i, status);
    show_log(b, i);
    CU_FAIL_FATAL("fedd has ended");
}

void bench_kill(struct bench *b, size_t i)
{
    test_process_kill(b->fedds[i].pid);
    b->fedds[i].pid = 0;
}

int bench_stop(struct bench *b, size_t i)
{
    CU_ASSERT_FATAL(b->fedds[i].pid > 0);
    kill(b->fedds[i].pid, SIGTERM);
    int status = test_process_wait(b->fedds[i].pid);
    b->fedds[i].pid = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void bench_freeze(struct bench *b, size_t i)
{
    kill(b->fedds[i].pid, SIGSTOP);
    waitpid(b->fedds[i].pid, NULL, WUNTRACED);
}

void bench_thaw(struct bench *b, size_t i)
{
    kill(b->fedds[i].pid, SIGCONT);
}

/* The loop is the main thread's, whose number is the pid. */
void bench_hold_loop(struct bench *b, size_t i)
{
    pid_t pid = b->fedds[i].pid;
    int status = 0;
    CU_ASSERT_EQUAL_FATAL(ptrace(PTRACE_SEIZE, pid, NULL, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(ptrace(PTRACE_INTERRUPT, pid, NULL, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(waitpid(pid, &status, __WALL), pid);
    CU_ASSERT_TRUE_FATAL(WIFSTOPPED(status));
}

void bench_let_loop_go(struct bench *b, size_t i)
{
    CU_ASSERT_EQUAL_FATAL(ptrace(PTRACE_DETACH, b->fedds[i].pid, NULL, NULL), 0);
}

struct wanted {
    struct bench *b;
    size_t fedd;
    const char *words;
    enum tf_phase phase;
};

static bool leads(void *arg)
{
    struct wanted *w = arg;
    struct tf_request request = {.method = TF_METHOD_STATUS};
    struct tf_reply reply = {0};
    check_alive(w->b, w->fedd);
    bool yes = bench_ask(w->b, w->fedd, &request, ASK_MS, &reply, NULL, NULL) == 0 && reply.status.leads;
    tf_reply_release(&reply);
    return yes;
}

void bench_wait_leads(struct bench *b, size_t fedd)
{
    struct wanted w = {.b = b, .fedd = fedd};
    bool yes = bench_until(b, leads, &w);
    if (!yes)
        show_log(b, fedd);
    CU_ASSERT_TRUE_FATAL(yes);
}

void bench_one_leader(struct bench *b)
{
    bench_start(b, 0);
    bench_wait_leads(b, 0);
}

bool bench_open_steady(struct bench *b, const char *settings, int64_t quota_bytes)
{
    if (!bench_open(b, settings, quota_bytes))
        return false;
    b->lease = "30s";
    bench_one_leader(b);
    return true;
}

/* ---- waiting ---- */

bool bench_until(struct bench *b, bool (*holds)(void *arg), void *arg)
{
    int64_t deadline = test_now_ms() + BENCH_PATIENCE_MS;
    while (!holds(arg)) {
        if (test_now_ms() > deadline) {
            for (size_t i = 0; i < BENCH_FEDDS; i++)
                if (b->fedds[i].log && access(b->fedds[i].log, R_OK) == 0)
                    show_log(b, i);
            return false;
        }
        tf_loop_turn(b->loop, TRY_AGAIN_MS);
    }
    return true;
}

void bench_pass(struct bench *b, int64_t ms)
{
    for (int64_t end = test_now_ms() + ms; test_now_ms() < end;)
        tf_loop_turn(b->loop, end - test_now_ms());
}

bool bench_log_has(struct bench *b, size_t fedd, const char *words)
{
    TF_AUTO_FREE char *line = NULL;
    size_t size = 0;
    bool found = false;
    FILE *file = fopen(b->fedds[fedd].log, "re");
    while (file && !found && getline(&line, &size, file) > 0)
        found = strstr(line, words) != NULL;
    if (file)
        fclose(file);
    return found;
}

static bool logged(void *arg)
{
    struct wanted *w = arg;
    return bench_log_has(w->b, w->fedd, w->words);
}

bool bench_wait_log(struct bench *b, size_t fedd, const char *words)
{
    struct wanted w = {.b = b, .fedd = fedd, .words = words};
    bool found = bench_until(b, logged, &w);
    if (!found)
        show_log(b, fedd);
    return found;
}

/* ---- requests ---- */

int bench_ask(struct bench *b, size_t fedd, const struct tf_request *request, int64_t timeout_ms,
              struct tf_reply *reply, struct tf_error_detail *detail, struct tf_error *err)
{
    TF_AUTO_BUF bytes = TF_BUF_INIT;
    TF_AUTO_BUF body = TF_BUF_INIT;
    TF_AUTO_BUF details = TF_BUF_INIT;
    struct tf_reply unused = {0};
    CU_ASSERT_EQUAL_FATAL(tf_wire_request_pack(request, &bytes, NULL), 0);
    int failed = tf_unary_wait(b->fedds[fedd].channel, tf_method_path(request->method), &bytes, timeout_ms,
                               &body, &details, err);
    if (failed && detail)
        CU_ASSERT_EQUAL_FATAL(tf_wire_error_detail_unpack(details.data, details.len, detail, NULL), 0);
    if (failed)
        return -1;
    CU_ASSERT_EQUAL_FATAL(tf_wire_reply_unpack(request->method, body.data, body.len, &unused, NULL), 0);
    if (reply)
        *reply = unused;
    else
        tf_reply_release(&unused);
    return 0;
}

void bench_manifest(struct tf_job_manifest *manifest, const char *name, int32_t gpus)
{
    struct tf_job_spec *spec = &manifest->spec;
    tf_job_manifest_init(manifest);
    tf_str_set(&manifest->tenant, "t");
    tf_str_set(&manifest->name, name);
    tf_str_set(&spec->priority, "batch");
    spec->elastic = (struct tf_elastic){1, 1, 1};
    spec->group.shape.gpus = gpus;
    spec->group.shape.cpu = 100;
    spec->group.shape.memory = 16;
    tf_strs_add(&spec->group.command, "/bin/true");
    tf_job_spec_fill(spec);
}

struct tf_uid bench_uid(uint64_t n)
{
    struct tf_uid uid = {{0x7f}};
    for (size_t i = 0; i < sizeof n; i++)
        uid.bytes[15 - i] = (uint8_t)(n >> (8 * i));
    return uid;
}

enum tf_error_code bench_submit(struct bench *b, size_t fedd, const char *name, uint64_t uid,
                                int64_t timeout_ms, struct tf_error *err)
{
    struct tf_error unused = TF_ERROR_INIT;
    struct tf_request request = {.method = TF_METHOD_SUBMIT, .submit.uid = bench_uid(uid)};
    bench_manifest(&request.submit.manifest, name, 1);
    err = err ? err : &unused;
    *err = unused;
    bench_ask(b, fedd, &request, timeout_ms, NULL, NULL, err);
    tf_request_release(&request);
    return err->code;
}

static struct tf_request about(enum tf_method method, const char *name)
{
    struct tf_request request = {.method = method};
    request.job.tenant = tf_strdup("t");
    request.job.name = tf_strdup(name);
    return request;
}

enum tf_error_code bench_change(struct bench *b, size_t fedd, enum tf_method method, const char *name)
{
    struct tf_error err = TF_ERROR_INIT;
    struct tf_request request = about(method, name);
    bench_ask(b, fedd, &request, ASK_MS, NULL, NULL, &err);
    tf_request_release(&request);
    return err.code;
}

bool bench_get(struct bench *b, size_t fedd, const char *name, struct tf_job_view *job)
{
    struct tf_reply reply = {0};
    struct tf_request request = about(TF_METHOD_GET, name);
    int failed = bench_ask(b, fedd, &request, ASK_MS, &reply, NULL, NULL);
    tf_request_release(&request);
    if (!failed)
        *job = reply.job;
    return !failed;
}

static bool has_phase(void *arg)
{
    struct wanted *w = arg;
    struct tf_job_view job = {0};
    bool there = bench_get(w->b, w->fedd, w->words, &job);
    bool yes = there ? job.phase == w->phase : w->phase == TF_PHASE_NONE;
    tf_job_view_release(&job);
    return yes;
}

bool bench_wait_phase(struct bench *b, size_t fedd, const char *name, enum tf_phase phase)
{
    struct wanted w = {.b = b, .fedd = fedd, .words = name, .phase = phase};
    return bench_until(b, has_phase, &w);
}

/* ---- the store ---- */

struct got {
    bool done;
    enum tf_error_code code;
    struct tf_buf value;
    bool found;
    int64_t used;
};

static void on_reply(void *cookie, const struct tf_store_reply *reply)
{
    struct got *got = cookie;
    got->done = true;
    got->code = reply->error.code;
    got->used = reply->status.used_bytes;
    got->found = reply->count > 0;
    if (reply->count)
        tf_buf_add(&got->value, reply->rows[0].value.data, reply->rows[0].value.len);
}

static bool is_done(void *arg)
{
    return ((struct got *)arg)->done;
}

static void store_do(struct bench *b, const struct tf_store_request *request, struct got *got)
{
    const char *endpoint = test_etcd_endpoint(b->etcd);
    const struct tf_etcd_options options = {.endpoints = &endpoint, .endpoint_count = 1};
    struct tf_store *store = tf_etcd_store_create(b->loop, &options, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(store);
    tf_store_send(store, request, on_reply, got);
    CU_ASSERT_TRUE(bench_until(b, is_done, got));
    tf_store_destroy(store);
}

void bench_store_put(struct bench *b, const char *key, const void *value, size_t len)
{
    CU_ASSERT_EQUAL_FATAL(bench_store_try_put(b, key, value, len), TF_OK);
}

enum tf_error_code bench_store_try_put(struct bench *b, const char *key, const void *value, size_t len)
{
    TF_AUTO_FREE char *full = tf_asprintf(PREFIX "%s", key);
    struct tf_store_write write = {.key = tf_bytes_of(full), .value = {value, len}, .remove = value == NULL};
    struct tf_store_request request = {
        .kind = TF_STORE_TXN, .timeout_ms = ASK_MS, .txn = {.writes = &write, .write_count = 1}};
    struct got got = {0};
    store_do(b, &request, &got);
    return got.code;
}

int64_t bench_store_used(struct bench *b)
{
    struct tf_store_request request = {.kind = TF_STORE_STATUS, .timeout_ms = ASK_MS};
    struct got got = {0};
    store_do(b, &request, &got);
    CU_ASSERT_EQUAL_FATAL(got.code, TF_OK);
    return got.used;
}

char *bench_store_get(struct bench *b, const char *key, size_t *len)
{
    TF_AUTO_FREE char *full = tf_asprintf(PREFIX "%s", key);
    struct tf_store_request request = {.kind = TF_STORE_GET, .timeout_ms = ASK_MS, .key = tf_bytes_of(full)};
    struct got got = {0};
    store_do(b, &request, &got);
    CU_ASSERT_EQUAL(got.code, TF_OK);
    *len = got.value.len;
    char *value = got.found ? tf_memdup(got.value.len ? got.value.data : "", got.value.len + 1) : NULL;
    tf_buf_release(&got.value);
    return value;
}
