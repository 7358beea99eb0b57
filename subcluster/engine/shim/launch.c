/* SPDX-License-Identifier: Apache-2.0 */
/* The beginning: lock, refusals, a process of its own session, the record. The order is what makes starts
 * idempotent: lock, then look for an earlier life, then the owner, then the record on disk, and only then the
 * command. A shim killed before the record leaves nothing behind but a free lock; after it, an attempt that
 * began, for shim_judge. */
#include "subcluster/engine/shim/shim.h"

#include "common/base/alloc.h"
#include "subcluster/engine/state/journal.h"
#include "subcluster/engine/state/proc.h"
#include "subcluster/engine/state/sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

void shim_signals(sigset_t *set)
{
    static const int taken[] = {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2};
    sigemptyset(set);
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++)
        sigaddset(set, taken[i]);
}

void shim_process_init(void)
{
    sigset_t set;
    shim_signals(&set);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    close_range(3, ~0U, 0);
    umask(0077);
    if (chdir("/") != 0)
        fprintf(stderr, "cannot change to the folder /: %s\n", strerror(errno));
}

static enum tf_shim_status trouble(const struct tf_error *err)
{
    fprintf(stderr, "%s\n", err->text);
    switch (err->code) {
    case TF_ERR_CONFLICT:
        return TF_SHIM_HELD;
    case TF_ERR_REFUSED:
        return TF_SHIM_STALE;
    default:
        return TF_SHIM_TROUBLE;
    }
}

static int open_folders(struct shim *s, const char *state_dir, const char *path, struct tf_error *err)
{
    struct tf_instance_id id;
    if (tf_instance_path_parse(path, &id, err))
        return -1;
    s->root = tf_root_open(state_dir, err);
    s->epoch_folder = s->root < 0 ? -1 : tf_epoch_open(s->root, id.uid, id.epoch, false, err);
    s->folder = s->epoch_folder < 0 ? -1 : tf_instance_open(s->root, &id, false, err);
    if (s->folder < 0 || tf_shim_spec_load(s->folder, &s->spec, err))
        return -1;
    if (!tf_instance_id_eq(&s->spec.start.id, &id))
        return tf_error_set(err, TF_ERR_INVALID, "the record spec is of another instance than %s", path);
    return 0;
}

/* A newer owner first raises the revision and then lists; we first lock and then read the revision. So either
 * the newer owner sees the held lock, or we see its revision and stand back. */
static int check_owner(struct shim *s, struct tf_error *err)
{
    uint64_t owner;
    if (tf_owner_load(s->root, &owner, err))
        return -1;
    if (owner > s->spec.owner)
        return tf_error_set(err, TF_ERR_REFUSED, "the owner that asked for this start has been replaced");
    return 0;
}

static void open_signals_and_log(struct shim *s)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int log = openat(s->folder, "shim.log", O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    dup2(log >= 0 ? log : null, STDERR_FILENO);
    close(null);
    if (log >= 0)
        close(log);
}

static int write_record(struct shim *s, struct tf_error *err)
{
    char cgroup[1024];
    snprintf(s->record.boot, sizeof s->record.boot, "%s", tf_boot_id());
    s->record.pid = getpid();
    s->record.at = tf_wall_read();
    if (!tf_process_ticks(s->record.pid, &s->record.ticks))
        return tf_error_set(err, TF_ERR_IO, "/proc is not mounted: the process engine needs it");
    /* Planned here, made afterwards: so the record names every cgroup that may exist. */
    if (s->spec.cgroup && tf_cgroup_path(&s->spec.start.id, s->folder, cgroup, sizeof cgroup))
        tf_str_set(&s->record.cgroup, cgroup);
    return tf_shim_record_save(s->folder, &s->record, err);
}

/* The shim proper, from here to its end. tell: a byte says that the record is on disk. */
static void begin(struct shim *s, int tell)
{
    struct tf_error err = TF_ERROR_INIT;
    setsid();
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_NAME, "tidefed-shim");
    int alive = openat(s->folder, "alive", O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (alive < 0) {
        fprintf(stderr, "cannot create the file alive: %s\n", strerror(errno));
        _exit(TF_SHIM_TROUBLE);
    }
    if (shim_ports_take(s, &err) || write_record(s, &err)) {
        fprintf(stderr, "%s\n", err.text);
        _exit(TF_SHIM_TROUBLE);
    }
    if (write(tell, "r", 1) != 1)
        fprintf(stderr, "nobody waits for this start any more\n");
    close(tell);
    open_signals_and_log(s);
    shim_run(s);
}

static enum tf_shim_status wait_for_record(int told, pid_t pid)
{
    char byte;
    ssize_t n;
    do
        n = read(told, &byte, 1);
    while (n < 0 && errno == EINTR);
    if (n == 1)
        return TF_SHIM_OK;
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return TF_SHIM_DIED;
    return WIFEXITED(status) ? (enum tf_shim_status)WEXITSTATUS(status) : TF_SHIM_DIED;
}

static enum tf_shim_status detach(struct shim *s)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        fprintf(stderr, "cannot make a pipe: %s\n", strerror(errno));
        return TF_SHIM_TROUBLE;
    }
    pid_t pid = fork();
    if (pid < 0) {
        fprintf(stderr, "cannot start a process: %s\n", strerror(errno));
        return TF_SHIM_TROUBLE;
    }
    if (pid == 0) {
        close(ends[0]);
        begin(s, ends[1]);
    }
    close(ends[1]);
    return wait_for_record(ends[0], pid);
}

static enum tf_shim_status launch(struct shim *s, const char *state_dir, const char *path)
{
    struct tf_error err = TF_ERROR_INIT;
    if (open_folders(s, state_dir, path, &err))
        return trouble(&err);
    s->lock = tf_instance_lock(s->folder, &err);
    if (s->lock < 0)
        return trouble(&err);
    if (tf_file_exists(s->folder, "exit"))
        return TF_SHIM_ENDED;
    if (tf_file_exists(s->folder, "shim"))
        return TF_SHIM_BEGAN;
    if (check_owner(s, &err))
        return trouble(&err);
    return detach(s);
}

enum tf_shim_status shim_launch(const char *state_dir, const char *path)
{
    struct shim s = {.lock = -1};
    enum tf_shim_status status = launch(&s, state_dir, path);
    tf_shim_spec_release(&s.spec); /* descriptors, the lock among them, go with the process */
    return status;
}
