/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/engine/bench.h"

#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "subcluster/engine/state/proc.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

/* Tests run at the same time, and a judge finds processes by their uid wherever they are. */
static struct tf_uid new_uid(void)
{
    static uint64_t count;
    struct tf_uid uid;
    uint64_t parts[2] = {(uint64_t)tf_boottime_ms() << 24 | (uint64_t)getpid(), ++count};
    memcpy(uid.bytes, parts, sizeof uid.bytes);
    return uid;
}

void bench_init(struct bench *b, const char *script)
{
    *b = (struct bench){.root = -1};
    test_adopt_orphans();
    CU_ASSERT_TRUE_FATAL(test_make_folder(b->dir));
    struct tf_engine_spec *start = &b->spec.start;
    start->id.uid = new_uid();
    tf_uid_format(start->id.uid, b->uid);
    start->id.epoch = 7;
    start->id.index = 3;
    start->id.attempt = 1;
    start->tenant = tf_strdup("search");
    start->name = tf_strdup("rank");
    start->node = tf_strdup("node-1");
    start->gpus = 0x5;
    start->rank = 3;
    start->size = 8;
    start->grace = 30 * TF_SECOND;
    tf_strs_add(&start->command, "sh");
    tf_strs_add(&start->command, "-c");
    tf_strs_add(&start->command, script);
    b->spec.owner = 10;
    b->spec.output_limit = 65536;
    b->spec.port_low = 20000;
    b->spec.port_high = 29999;
    b->spec.cgroup = true;
    b->spec.work_dir = tf_strdup(b->dir);
    b->root = tf_root_open(b->dir, NULL);
    b->epoch_folder = tf_epoch_open(b->root, start->id.uid, start->id.epoch, true, NULL);
    tf_instance_path(&start->id, b->path);
}

void bench_release(struct bench *b)
{
    CU_ASSERT_TRUE(test_children_end(5)); /* a shim writes its exit record shortly before it ends */
    CU_ASSERT_EQUAL(test_end_children(5), 0);
    close(b->root);
    close(b->epoch_folder);
    tf_shim_spec_release(&b->spec);
    test_remove_folder(b->dir);
}

int bench_folder(struct bench *b)
{
    return tf_instance_open(b->root, &b->spec.start.id, true, NULL);
}

int bench_start(struct bench *b)
{
    struct tf_error err = TF_ERROR_INIT;
    int folder = bench_folder(b);
    if (tf_shim_spec_save(folder, &b->spec, &err))
        printf("%s\n", err.text);
    close(folder);
    const char *const argv[] = {TF_TEST_SHIM, "run", b->dir, b->path, NULL};
    return test_program_run(argv);
}

int bench_end(struct bench *b, uint64_t owner, bool kill)
{
    char revision[32];
    snprintf(revision, sizeof revision, "%d", (int)owner);
    const char *const argv[] = {TF_TEST_SHIM, "end", b->dir, b->path, revision, kill ? "kill" : NULL, NULL};
    return test_program_run(argv);
}

void bench_poke(struct bench *b)
{
    struct tf_shim_record record;
    int folder = bench_folder(b);
    if (tf_shim_record_load(folder, &record, NULL) == 0) {
        tf_process_signal(record.pid, record.ticks, SIGUSR1);
        tf_shim_record_release(&record);
    }
    close(folder);
}

void bench_stop(struct bench *b, int64_t stop_delay, int64_t grace)
{
    int64_t term_at = tf_boottime_ms() + stop_delay;
    struct tf_stop_request request = {term_at, term_at + grace, TF_STOP_ASKED};
    int folder = bench_folder(b);
    CU_ASSERT_EQUAL(tf_stop_request_add(folder, &request, NULL), 0);
    close(folder);
    bench_poke(b);
}

struct wait {
    struct bench *b;
    const char *name;
};

static bool own_file_is_there(void *context)
{
    struct wait *w = context;
    int folder = bench_folder(w->b);
    bool there = tf_file_exists(folder, w->name);
    close(folder);
    return there;
}

static bool file_is_there(void *context)
{
    struct wait *w = context;
    return bench_exists(w->b, w->name);
}

bool bench_has_exit(struct bench *b)
{
    return own_file_is_there(&(struct wait){b, "exit"});
}

bool bench_exit(struct bench *b, struct tf_exit_record *end)
{
    *end = (struct tf_exit_record){0};
    if (!test_until(own_file_is_there, &(struct wait){b, "exit"}, 60))
        return false;
    int folder = bench_folder(b);
    int rc = tf_exit_record_load(folder, end, NULL);
    close(folder);
    return rc == 0;
}

bool bench_exists(struct bench *b, const char *name)
{
    return tf_file_exists(b->root, name);
}

bool bench_file(struct bench *b, const char *name)
{
    return test_until(file_is_there, &(struct wait){b, name}, 60);
}

static char *read_in(int folder, const char *name)
{
    TF_AUTO_BUF out = TF_BUF_INIT;
    char chunk[4096];
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
    for (ssize_t n; fd >= 0 && (n = read(fd, chunk, sizeof chunk)) > 0;)
        tf_buf_add(&out, chunk, (size_t)n);
    if (fd >= 0)
        close(fd);
    return tf_buf_take(&out);
}

char *bench_read(struct bench *b, const char *name)
{
    return read_in(b->root, name);
}

char *bench_read_own(struct bench *b, const char *name)
{
    int folder = bench_folder(b);
    char *text = read_in(folder, name);
    close(folder);
    return text;
}

size_t bench_count(const char *text, const char *word)
{
    size_t n = 0;
    for (const char *p = text; (p = strstr(p, word)); p++)
        n++;
    return n;
}

char *bench_journal(struct bench *b)
{
    TF_AUTO_BUF all = TF_BUF_INIT;
    int fd = openat(b->root, "journal", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        TF_AUTO_FREE char *text =
            entry->d_name[0] == '.' ? tf_strdup("") : read_in(dirfd(dir), entry->d_name);
        tf_buf_str(&all, text);
    }
    if (dir)
        closedir(dir);
    return tf_buf_take(&all);
}
