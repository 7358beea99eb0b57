/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the processes of the test, its folder and what an observer may ask of them. The leader is
 * leader.c's. */
#include "tests/integration/subclusterd/world.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "common/store/etcd.h"
#include "subcluster/engine/state/folder.h"
#include "tests/integration/subclusterd/leader.h"
#include "tests/support/process.h"
#include "tests/support/suite.h"

#include <cjson/cJSON.h>

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PREFIX "/tidefed/local/t/"

/* ---- files ---- */

static void write_config(const struct world *w)
{
    FILE *file = fopen(w->config, "we");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fprintf(file,
            "name: t\n"
            "region: north\n"
            "federation: [\"%s\"]\n"
            "store: {endpoints: [\"%s\"]}\n"
            "stateDir: %s\n"
            "engine: %s\n"
            "virtual: {startMin: 0s, startMax: 100ms, stopMax: 200ms}\n"
            "allowRoot: true\n"
            "keepOutput: %s\n"
            "settings: {leaseTtl: 1s, profileInterval: 50ms}\n"
            "topology:\n"
            "  - {plane: parameter, levels: [rdma-pod]}\n"
            "nodes:\n"
            "  - {prefix: n, count: %d, model: H800, gpus: 8, gpuMemory: 80Gi, cpu: 64, memory: 512Gi,\n"
            "     domains: {parameter: \"rdma-{i/2}\"}}\n",
            w->address, test_etcd_endpoint(w->etcd), w->state_dir, w->engine, w->keep_output, w->node_count);
    CU_ASSERT_EQUAL(fclose(file), 0);
}

static void begin(struct world *w, const char *keep_output, const char *engine, int node_count)
{
    char dir[] = "/tmp/tidefed-subclusterd-XXXXXX";
    if (w->dir)
        world_end(w);
    *w = (struct world){
        .term = {0, 1}, .keep_output = keep_output, .engine = engine, .node_count = node_count};
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(dir));
    w->etcd = test_etcd_start(NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(w->etcd);
    w->dir = tf_strdup(dir);
    w->state_dir = tf_asprintf("%s/state", dir);
    w->config = tf_asprintf("%s/subclusterd.yaml", dir);
    w->log = tf_asprintf("%s/subclusterd.log", dir);
    leader_begin(w);
    write_config(w);
}

void world_begin(struct world *w, const char *keep_output)
{
    begin(w, keep_output, "process", 4);
}

void world_begin_virtual(struct world *w, const char *keep_output, int node_count)
{
    begin(w, keep_output, "virtual", node_count);
}

void world_new_store(struct world *w)
{
    test_etcd_stop(w->etcd);
    w->etcd = test_etcd_start(NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(w->etcd);
    write_config(w);
}

static int end_instance(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    const char *relative = strstr(path, "/instances/");
    struct tf_instance_id id;
    if (kind != FTW_D || at->level != 4 || !relative ||
        tf_instance_path_parse(relative + strlen("/instances/"), &id, NULL))
        return 0;
    TF_AUTO_FREE char *state = tf_strndup(path, (size_t)(relative - path));
    const char *argv[] = {TF_SHIM, "end", state, relative + strlen("/instances/"), "4611686018427387904",
                          "kill",  NULL};
    test_process_wait(test_process_start(argv, NULL, NULL, NULL));
    return 0;
}

void world_end_instances(struct world *w)
{
    nftw(w->state_dir, end_instance, 16, FTW_PHYS);
}

bool world_logged(const struct world *w, const char *text)
{
    FILE *log = fopen(w->log, "re");
    char line[8192];
    bool found = false;
    while (log && !found && fgets(line, sizeof line, log))
        found = strstr(line, text) != NULL;
    if (log)
        fclose(log);
    return found;
}

/* A sanitizer has nowhere else to say it. */
static void check_log(const struct world *w)
{
    bool bad =
        world_logged(w, "Sanitizer") || world_logged(w, "runtime error:") || world_logged(w, "Assertion");
    if (bad)
        world_show(w, "nothing; but the daemon broke");
    CU_ASSERT_FALSE(bad);
}

void world_end(struct world *w)
{
    for (int i = 0; i < WORLD_DAEMONS_MAX; i++)
        world_kill(w, i);
    check_log(w);
    world_end_instances(w);
    leader_end(w);
    test_etcd_stop(w->etcd);
    test_remove_tree(w->dir);
    free(w->dir);
    free(w->state_dir);
    free(w->config);
    free(w->log);
    *w = (struct world){0};
}

/* ---- daemons ---- */

const char *world_program(void)
{
    return TF_SUBCLUSTERD;
}

pid_t world_start(struct world *w, int daemon)
{
    const char *argv[] = {world_program(), "--config", w->config, w->option, NULL};
    w->daemons[daemon] = test_process_start(argv, w->log, NULL, NULL);
    CU_ASSERT_TRUE_FATAL(w->daemons[daemon] > 0);
    return w->daemons[daemon];
}

void world_attach(struct world *w)
{
    world_start(w, 0);
    WORLD_UNTIL(w, w->listed && w->full_profiles > 0);
}

void world_kill(struct world *w, int daemon)
{
    test_process_kill(w->daemons[daemon]);
    w->daemons[daemon] = 0;
}

int world_terminate(struct world *w, int daemon)
{
    int status = 0;
    kill(w->daemons[daemon], SIGTERM);
    int64_t deadline = test_now_ms() + WORLD_PATIENCE_MS;
    while (waitpid(w->daemons[daemon], &status, WNOHANG) == 0)
        if (!world_turn(w, deadline))
            return -1;
    w->daemons[daemon] = 0;
    return status;
}

bool world_turn(struct world *w, int64_t deadline)
{
    tf_loop_turn(w->loop, 50);
    return tf_clock_read().mono.ms < deadline;
}

void world_wait(struct world *w, int64_t ms)
{
    int64_t end = tf_clock_read().mono.ms + ms;
    while (world_turn(w, end))
        continue;
}

void world_show(const struct world *w, const char *why)
{
    TF_AUTO_FREE char *tail = tf_asprintf("tail -n 60 %s >&2", w->log);
    fprintf(stderr, "\nwaited in vain for: %s\n", why);
    fprintf(stderr, "attached %d times, %s; listed %d; profiles %d\n", w->attaches,
            w->stream ? "now too" : "not now", w->listed, w->profiles);
    tf_vec_each (e, &w->epochs)
        fprintf(stderr, "epoch %llu: phase %s ready %d/%d end %s stored %d message %s\n",
                (unsigned long long)e->entry.epoch, tf_phase_name(e->report.phase), e->report.ready,
                e->report.size, tf_end_name(e->report.ended.end), e->stored,
                e->report.ended.message ? e->report.ended.message : "");
    fflush(stderr);
    if (system(tail))
        fprintf(stderr, "(no log)\n");
}

/* ---- what is in the store ---- */

static struct tf_store *open_store(struct world *w)
{
    const char *endpoint = test_etcd_endpoint(w->etcd);
    const struct tf_etcd_options options = {.endpoints = &endpoint, .endpoint_count = 1};
    struct tf_error err = TF_ERROR_INIT;
    struct tf_store *store = tf_etcd_store_create(w->loop, &options, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(store);
    return store;
}

static void on_put(void *cookie, const struct tf_store_reply *reply)
{
    CU_ASSERT_EQUAL(reply->error.code, TF_OK);
    *(bool *)cookie = true;
}

void world_put(struct world *w, const char *key, const char *value)
{
    bool done = false;
    TF_AUTO(tf_store) store = open_store(w);
    TF_AUTO_FREE char *whole = tf_asprintf(PREFIX "%s", key);
    const struct tf_store_write write = {.key = tf_bytes_of(whole), .value = tf_bytes_of(value)};
    const struct tf_store_request request = {
        .kind = TF_STORE_TXN, .timeout_ms = 10000, .txn = {.writes = &write, .write_count = 1}};
    tf_store_send(store, &request, on_put, &done);
    while (!done)
        tf_loop_turn(w->loop, 50);
}

struct counted {
    int records, allocations;
    bool done;
};

static void on_page(void *cookie, const struct tf_store_reply *reply)
{
    struct counted *counted = cookie;
    counted->done = true;
    counted->records = counted->allocations = reply->error.code == TF_OK ? 0 : -1;
    for (size_t i = 0; i < reply->count; i++) {
        struct tf_bytes key = reply->rows[i].key;
        counted->records +=
            !tf_bytes_eq(key, tf_bytes_of(PREFIX "owner")) && !tf_bytes_eq(key, tf_bytes_of(PREFIX "head"));
        counted->allocations += tf_bytes_start_with(key, tf_bytes_of(PREFIX "allocations/"));
    }
}

static struct counted count_records(struct world *w)
{
    struct counted counted = {0};
    TF_AUTO(tf_store) store = open_store(w);
    const struct tf_store_request request = {
        .kind = TF_STORE_PAGE, .timeout_ms = 10000, .key = tf_bytes_of(PREFIX), .limit = TF_STORE_PAGE_MAX};
    tf_store_send(store, &request, on_page, &counted);
    while (!counted.done)
        tf_loop_turn(w->loop, 50);
    return counted;
}

int world_count_records(struct world *w)
{
    return count_records(w).records;
}

int world_count_allocations(struct world *w)
{
    return count_records(w).allocations;
}

/* ---- what the engine has ---- */

static int exit_records; /* nftw has no argument for its callback */

static int count_exit(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    if (kind == FTW_F && strstr(path, "/instances/") && tf_str_eq(path + at->base, "exit"))
        exit_records++;
    return 0;
}

int world_count_exit_records(const struct world *w)
{
    exit_records = 0;
    nftw(w->state_dir, count_exit, 16, FTW_PHYS);
    return exit_records;
}

/* True if the file of /proc holds the text, between NULs or not. */
static bool proc_has(const char *pid, const char *file, const char *text)
{
    TF_AUTO_FREE char *path = tf_asprintf("/proc/%s/%s", pid, file);
    static char bytes[65536];
    FILE *f = fopen(path, "re");
    size_t n = f ? fread(bytes, 1, sizeof bytes, f) : 0;
    if (f)
        fclose(f);
    return n && memmem(bytes, n, text, strlen(text));
}

int world_count_processes(const struct world *w)
{
    int count = 0;
    DIR *proc = opendir("/proc");
    TF_AUTO_FREE char *marker = tf_asprintf("WORLD=%s", w->dir);
    for (struct dirent *entry; proc && (entry = readdir(proc));) {
        int64_t pid = 0;
        if (tf_parse_int64(entry->d_name, 1, INT32_MAX, &pid, NULL) || pid == getpid())
            continue;
        bool ours = proc_has(entry->d_name, "environ", marker) ||
                    (proc_has(entry->d_name, "cmdline", "tidefed-shim") &&
                     proc_has(entry->d_name, "cmdline", w->state_dir));
        count += ours;
    }
    if (proc)
        closedir(proc);
    return count;
}

/* ---- the journal ---- */

struct line {
    char *uid;
    int64_t epoch, index, attempt, at;
    bool start;
};

static int64_t number(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    CU_ASSERT_TRUE_FATAL(cJSON_IsNumber(item));
    return (int64_t)cJSON_GetNumberValue(item);
}

static int cmp_line(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    int uid = strcmp(x->uid, y->uid);
    if (uid)
        return uid;
    int64_t left[] = {x->epoch, x->index, x->attempt, x->at, !x->start};
    int64_t right[] = {y->epoch, y->index, y->attempt, y->at, !y->start};
    for (size_t i = 0; i < TF_ARRAY_LEN(left); i++)
        if (left[i] != right[i])
            return left[i] < right[i] ? -1 : 1;
    return 0;
}

struct lines {
    struct line *items;
    size_t count, cap;
};

static void read_lines(const char *path, struct lines *lines)
{
    FILE *file = fopen(path, "re");
    char *text = NULL;
    size_t size = 0;
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    while (getline(&text, &size, file) > 0) {
        cJSON *object = cJSON_Parse(text);
        CU_ASSERT_PTR_NOT_NULL_FATAL(object);
        const char *event = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, "event"));
        const char *uid = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, "uid"));
        CU_ASSERT_TRUE_FATAL(event && uid);
        const struct line line = {.uid = tf_strdup(uid),
                                  .epoch = number(object, "epoch"),
                                  .index = number(object, "index"),
                                  .attempt = number(object, "attempt"),
                                  .at = number(object, "boottime"),
                                  .start = tf_str_eq(event, "start")};
        tf_vec_push(lines, line);
        cJSON_Delete(object);
    }
    free(text);
    fclose(file);
}

static bool same_slot(const struct line *a, const struct line *b)
{
    return tf_str_eq(a->uid, b->uid) && a->epoch == b->epoch && a->index == b->index;
}

static struct world_journal judge(const struct lines *lines)
{
    struct world_journal journal = {0};
    const struct line *start = NULL, *stop = NULL; /* the last ones of the slot */
    for (size_t i = 0; i < lines->count; i++) {
        const struct line *line = &lines->items[i];
        if (i && !same_slot(line, line - 1))
            start = stop = NULL;
        if (!line->start) {
            bool again = stop && stop->attempt == line->attempt;
            journal.stops += !again;
            stop = again ? stop : line;
            continue;
        }
        journal.starts++;
        journal.twice += start && start->attempt == line->attempt;
        journal.overlaps += start && start->attempt != line->attempt &&
                            (!stop || stop->attempt != start->attempt || stop->at > line->at);
        start = line;
    }
    return journal;
}

struct world_journal world_read_journal(const struct world *w)
{
    TF_AUTO_FREE char *folder = tf_asprintf("%s/journal", w->state_dir);
    struct lines lines = {0};
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        TF_AUTO_FREE char *path = tf_asprintf("%s/%s", folder, entry->d_name);
        if (entry->d_name[0] != '.')
            read_lines(path, &lines);
    }
    if (dir)
        closedir(dir);
    if (lines.count)
        qsort(lines.items, lines.count, sizeof *lines.items, cmp_line);
    struct world_journal journal = judge(&lines);
    tf_vec_each (line, &lines)
        free(line->uid);
    tf_vec_release(&lines);
    return journal;
}

void world_end_clean(struct world *w)
{
    WORLD_UNTIL(w, world_count_allocations(w) == 0);
    WORLD_UNTIL(w, world_count_exit_records(w) == 0);
    WORLD_UNTIL(w, world_count_processes(w) == 0);
    struct world_journal journal = world_read_journal(w);
    CU_ASSERT_EQUAL(journal.twice, 0);
    CU_ASSERT_EQUAL(journal.overlaps, 0);
    CU_ASSERT_EQUAL(journal.starts, journal.stops);
    world_end(w);
}
