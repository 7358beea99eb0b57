/* SPDX-License-Identifier: Apache-2.0 */
/* Starting the command and its readiness probes, and what they find in their environment. */
#include "subcluster/engine/shim/shim.h"

#include "common/base/alloc.h"
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "subcluster/engine/state/proc.h"
#include "subcluster/engine/state/record.h"
#include "subcluster/engine/state/sweep.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

/* ---- environment ---- */

static void set_number(struct tf_pairs *env, const char *key, uint64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, value);
    tf_pairs_set(env, key, text);
}

static void set_file(struct tf_pairs *env, const char *key, const char *state_dir, const char *path,
                     const char *file)
{
    TF_AUTO_FREE char *value = tf_asprintf("%s/instances/%s/%s", state_dir, path, file);
    tf_pairs_set(env, key, value);
}

/* The port "grpc-web.2" is told in TIDEFED_PORT_GRPC_WEB_2. */
static void set_ports(struct tf_pairs *env, const struct tf_shim_record *record)
{
    for (size_t i = 0; i < record->port_count; i++) {
        char key[TF_NAME_MAX + 32];
        snprintf(key, sizeof key, "TIDEFED_PORT_%s", record->ports[i].name);
        for (char *p = key; *p; p++)
            *p = isalnum((unsigned char)*p) ? (char)toupper((unsigned char)*p) : '_';
        set_number(env, key, record->ports[i].port);
    }
}

static void set_gpus(struct tf_pairs *env, uint64_t gpus)
{
    TF_AUTO_BUF list = TF_BUF_INIT;
    for (int gpu = 0; gpu < TF_NODE_GPUS_MAX; gpu++)
        if (gpus >> gpu & 1)
            tf_buf_fmt(&list, "%s%d", list.len ? "," : "", gpu);
    tf_pairs_set(env, "TIDEFED_GPUS", tf_buf_text(&list));
    tf_pairs_set(env, "CUDA_VISIBLE_DEVICES", tf_buf_text(&list)); /* "" hides them all */
}

static void set_identity(struct tf_pairs *env, const struct tf_engine_spec *spec)
{
    char uid[TF_UID_TEXT];
    TF_AUTO_FREE char *job =
        tf_asprintf("%s/%s", spec->tenant ? spec->tenant : "", spec->name ? spec->name : "");
    tf_uid_format(spec->id.uid, uid);
    tf_pairs_set(env, "TIDEFED_JOB", job);
    tf_pairs_set(env, "TIDEFED_UID", uid);
    set_number(env, "TIDEFED_EPOCH", spec->id.epoch);
    set_number(env, "TIDEFED_INDEX", spec->id.index);
    set_number(env, "TIDEFED_ATTEMPT", spec->id.attempt);
    set_number(env, "TIDEFED_RANK", spec->rank);
    set_number(env, "TIDEFED_SIZE", spec->size);
    tf_pairs_set(env, "TIDEFED_NODE", spec->node ? spec->node : "");
}

static void set_files(struct tf_pairs *env, const struct shim *s)
{
    char link[64], dir[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", s->root);
    ssize_t n = readlink(link, dir, sizeof dir - 1);
    dir[n > 0 ? n : 0] = '\0';
    char path[TF_INSTANCE_PATH], epoch[TF_INSTANCE_PATH];
    tf_instance_path(&s->spec.start.id, path);
    snprintf(epoch, sizeof epoch, "%.*s", (int)(strrchr(path, '/') - path), path);
    set_file(env, "TIDEFED_PEERS_FILE", dir, epoch, "peers");
    set_file(env, "TIDEFED_CHECKPOINT_FILE", dir, path, "checkpoint");
}

/* From the daemon's environment a job gets what describes the machine, never what configures the daemon. Then
 * the manifest's, then ours, which therefore cannot be overridden. */
void shim_environment(struct shim *s)
{
    static const char *const kept[] = {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TMPDIR"};
    struct tf_pairs env = {0};
    for (size_t i = 0; i < TF_ARRAY_LEN(kept); i++)
        if (getenv(kept[i]))
            tf_pairs_set(&env, kept[i], getenv(kept[i]));
    for (size_t i = 0; i < s->spec.start.env.count; i++)
        tf_pairs_set(&env, s->spec.start.env.items[i].key, s->spec.start.env.items[i].value);
    set_identity(&env, &s->spec.start);
    set_gpus(&env, s->spec.start.gpus);
    set_ports(&env, &s->record);
    set_files(&env, s);
    for (size_t i = 0; i < env.count; i++) {
        TF_AUTO_FREE char *entry = tf_asprintf("%s=%s", env.items[i].key, env.items[i].value);
        tf_strs_add(&s->environment, entry);
    }
    tf_pairs_release(&env);
}

/* ---- in the new process ---- */

/* What went wrong between fork and exec, told through start_pipe. */
struct start_failure {
    int what; /* 0 = the program, 1 = its folder */
    int why;  /* errno */
};

static void join_cgroup(const char *cgroup)
{
    char path[1200];
    snprintf(path, sizeof path, "%s/cgroup.procs", cgroup);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return; /* none could be made: the sweep finds the processes by other means */
    if (write(fd, "0", 1) != 1)
        fprintf(stderr, "cannot join the cgroup %s: %s\n", cgroup, strerror(errno));
    close(fd);
}

static void restore_process(const struct shim *s)
{
    for (int signal_number = 1; signal_number < NSIG; signal_number++)
        signal(signal_number, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    struct rlimit files;
    if (s->spec.files_limit > 0 && getrlimit(RLIMIT_NOFILE, &files) == 0 &&
        files.rlim_cur > (rlim_t)s->spec.files_limit) {
        files.rlim_cur = (rlim_t)s->spec.files_limit;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    umask(0022);
}

/* NULL-terminated copies of the pointers. */
static char **vector(const struct tf_strs *list)
{
    char **v = tf_calloc(list->count + 1, sizeof *v);
    for (size_t i = 0; i < list->count; i++)
        v[i] = list->items[i];
    return v;
}

static void become(const struct shim *s, const struct tf_strs *command, const int output[2], int tell,
                   pid_t shim)
{
    struct start_failure failure = {0};
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != shim) /* it died before the line above */
        _exit(TF_SHIM_DIED);
    if (s->record.cgroup)
        join_cgroup(s->record.cgroup);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(null, STDIN_FILENO);
    dup2(output ? output[0] : null, STDOUT_FILENO);
    dup2(output ? output[1] : null, STDERR_FILENO);
    restore_process(s);
    if (chdir(s->spec.work_dir) != 0) {
        failure = (struct start_failure){1, errno};
    } else {
        environ = vector(&s->environment); /* its PATH is the one that is searched */
        char **argv = vector(command);
        execvp(argv[0], argv);
        failure = (struct start_failure){0, errno};
    }
    if (tell >= 0 && write(tell, &failure, sizeof failure) != (ssize_t)sizeof failure)
        _exit(TF_SHIM_DIED);
    _exit(failure.why == ENOENT ? 127 : 126);
}

/* ---- the command ---- */

int shim_command_start(struct shim *s, struct tf_error *err)
{
    int output[2], told[2];
    if (shim_output_init(&s->output, s->folder, s->spec.output_limit, output, err))
        return -1;
    if (pipe2(told, O_CLOEXEC) != 0)
        return tf_error_errno(err, TF_ERR_IO, errno, "cannot make a pipe");
    fcntl(told[0], F_SETFL, O_NONBLOCK);
    pid_t shim = getpid();
    pid_t pid = fork();
    if (pid == 0)
        become(s, &s->spec.start.command, output, told[1], shim);
    int why = errno;
    close(output[0]);
    close(output[1]);
    close(told[1]);
    if (pid < 0)
        return tf_error_errno(err, TF_ERR_IO, why, "cannot start a process");
    s->command = pid;
    s->start_pipe = told[0];
    return 0;
}

static void start_failed(struct shim *s, const struct start_failure *failure)
{
    s->end.cause = TF_CAUSE_CANNOT_START;
    const char *why = strerror(failure->why);
    if (failure->what == 1)
        s->end.text = tf_asprintf("cannot change to the folder %s: %s; see the engine's workDir",
                                  s->spec.work_dir, why);
    else
        s->end.text =
            tf_asprintf("cannot run \"%.200s\": %s; is it installed on node %s, executable, and in PATH?",
                        s->spec.start.command.items[0], why, s->spec.start.node);
}

static void note_running(struct shim *s)
{
    TF_AUTO_BUF out = TF_BUF_INIT;
    struct tf_error err = TF_ERROR_INIT;
    tf_record_put_int(&out, "pid", s->command);
    tf_record_put_int(&out, "at", tf_wall_read().ms);
    if (tf_record_save(s->folder, "running", &out, false, &err))
        fprintf(stderr, "%s\n", err.text);
}

void shim_command_started(struct shim *s)
{
    struct start_failure failure;
    ssize_t n = read(s->start_pipe, &failure, sizeof failure);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    close(s->start_pipe);
    s->start_pipe = -1;
    if (n == (ssize_t)sizeof failure)
        start_failed(s, &failure);
    else
        note_running(s);
}

/* ---- readiness ---- */

void shim_probe_init(struct shim *s, int64_t now)
{
    const struct tf_ready_probe *ready = &s->spec.start.ready;
    s->probe = (struct shim_probe){.next = now, .give_up = INT64_MAX, .wanted = ready->command.count > 0};
    if (ready->timeout > 0)
        s->probe.give_up = now + ready->timeout;
}

static int64_t probe_period(const struct shim *s)
{
    return s->spec.start.ready.period > 100 ? s->spec.start.ready.period : 100;
}

static void probe_start(struct shim *s, int64_t now)
{
    pid_t shim = getpid();
    pid_t pid = fork();
    if (pid == 0)
        become(s, &s->spec.start.ready.command, NULL, -1, shim);
    if (pid < 0)
        fprintf(stderr, "cannot start the readiness probe: %s\n", strerror(errno));
    s->probe.pid = pid > 0 ? pid : 0;
    s->probe.began = now;
    s->probe.next = now + probe_period(s);
}

static void lower(int64_t *next, int64_t at)
{
    if (at < *next)
        *next = at;
}

/* A probe that has not answered when the next one is due is killed; that counts as a no. */
void shim_probe_tick(struct shim *s, int64_t now, int64_t *next)
{
    struct shim_probe *probe = &s->probe;
    if (!probe->wanted || s->phase != SHIM_RUNNING || s->start_pipe >= 0)
        return;
    if (now >= probe->give_up) {
        probe->wanted = false;
        s->end.text =
            tf_asprintf("not ready within %" PRId64 " s of its start", s->spec.start.ready.timeout / 1000);
        shim_stop_now(s, TF_CAUSE_NOT_READY);
        return;
    }
    if (probe->pid && now >= probe->next)
        kill(-probe->pid, SIGKILL); /* its own session; its end is told by SIGCHLD */
    else if (!probe->pid && now >= probe->next)
        probe_start(s, now);
    lower(next, probe->give_up);
    lower(next, now >= probe->next ? now + probe_period(s) : probe->next);
}

void shim_probe_ended(struct shim *s, bool success, int64_t now)
{
    (void)now;
    s->probe.pid = 0;
    if (!success || !s->probe.wanted)
        return;
    s->probe.wanted = false;
    TF_AUTO_BUF out = TF_BUF_INIT;
    struct tf_error err = TF_ERROR_INIT;
    tf_record_put_int(&out, "at", tf_wall_read().ms);
    if (tf_record_save(s->folder, "ready", &out, false, &err))
        fprintf(stderr, "%s\n", err.text);
}
