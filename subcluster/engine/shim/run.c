/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of a shim: stops, fence, children, output, and the end. The only thread; everything that can take
 * long is waited for in one poll. */
#include "subcluster/engine/shim/shim.h"

#include "common/base/alloc.h"
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "subcluster/engine/state/journal.h"
#include "subcluster/engine/state/proc.h"
#include "subcluster/engine/state/sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KILL_AGAIN = 200, DISK_AGAIN = 1000 }; /* ms */

/* ---- ending ---- */

static int64_t sooner(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

void shim_stop(struct shim *s, enum tf_engine_cause cause, int64_t term_at, int64_t kill_at)
{
    if (s->phase == SHIM_RUNNING) {
        s->phase = SHIM_DELAY;
        s->term_at = s->kill_at = INT64_MAX;
        if (s->end.cause == TF_CAUSE_NONE)
            s->end.cause = cause;
    }
    s->term_at = sooner(s->term_at, term_at);
    s->kill_at = sooner(s->kill_at, kill_at);
}

void shim_stop_now(struct shim *s, enum tf_engine_cause cause)
{
    int64_t now = tf_boottime_ms();
    shim_stop(s, cause, now, now + s->spec.start.grace);
}

/* Children are ours to reap, so their numbers cannot have passed to others; what a killed child leaves behind
 * becomes our child (we are its subreaper) and is killed in the next round. */
static void kill_children(void)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *f = fopen(path, "re");
    for (long pid; f && fscanf(f, "%ld", &pid) == 1;)
        if (pid > 1)
            kill((pid_t)pid, SIGKILL);
    if (f)
        fclose(f);
}

static void kill_all(struct shim *s)
{
    if (s->record.cgroup)
        tf_cgroup_kill(s->record.cgroup);
    if (s->command && !s->command_ended)
        kill(-s->command, SIGKILL);
    if (s->probe.pid)
        kill(-s->probe.pid, SIGKILL);
    kill_children();
}

static void note_status(struct shim *s, const siginfo_t *info)
{
    s->command_ended = true;
    if (s->end.cause == TF_CAUSE_NONE)
        s->end.cause = TF_CAUSE_ENDED;
    if (info->si_code == CLD_EXITED)
        s->end.code = info->si_status;
    else
        s->end.signal = info->si_status;
}

/* Takes in all that have ended. A group is killed while its leader is not reaped yet: the number is still its
 * own. False when there is no child any more. */
static bool reap(struct shim *s)
{
    for (;;) {
        siginfo_t info = {0};
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0)
            return errno != ECHILD;
        if (info.si_pid == 0)
            return true;
        if (info.si_pid == s->command) {
            if (s->start_pipe >= 0)
                shim_command_started(s);
            kill(-s->command, SIGKILL);
            note_status(s, &info);
            s->phase = SHIM_KILL;
        } else if (info.si_pid == s->probe.pid) {
            kill(-s->probe.pid, SIGKILL);
            shim_probe_ended(s, info.si_code == CLD_EXITED && info.si_status == 0, tf_boottime_ms());
        }
        waitid(P_PID, (id_t)info.si_pid, NULL, WEXITED | WNOHANG);
    }
}

/* The disk may be full: the lock is held until the last word is written. */
static void write_last_word(struct shim *s)
{
    struct tf_error err = TF_ERROR_INIT;
    bool told = false;
    while (tf_journal_add(s->root, TF_JOURNAL_STOP, &s->spec.start, &s->end, &err) ||
           tf_exit_record_save(s->folder, &s->end, &err)) {
        if (!told)
            fprintf(stderr, "the instance has ended, but its end cannot be recorded; trying on: %s\n",
                    err.text);
        told = true;
        poll(NULL, 0, DISK_AGAIN);
    }
}

void shim_finish(struct shim *s)
{
    for (size_t i = 0; i < 2 && s->command; i++)
        while (shim_output_move(&s->output, &s->output.streams[i]))
            ;
    if (!s->end.text)
        s->end.text = s->command ? shim_output_tail(&s->output) : tf_strdup("");
    s->end.at = tf_wall_read();
    write_last_word(s);
    if (s->record.cgroup)
        tf_cgroup_remove(s->record.cgroup);
    _exit(TF_SHIM_OK);
}

/* ---- what others asked ---- */

static uint64_t peers_inode(const struct shim *s)
{
    struct stat st;
    return fstatat(s->epoch_folder, "peers", &st, AT_SYMLINK_NOFOLLOW) == 0 ? st.st_ino : 0;
}

static int signal_number(const char *name)
{
    static const struct {
        const char *name;
        int number;
    } known[] = {{"HUP", SIGHUP},   {"INT", SIGINT},   {"QUIT", SIGQUIT},   {"USR1", SIGUSR1},
                 {"USR2", SIGUSR2}, {"TERM", SIGTERM}, {"WINCH", SIGWINCH}, {"CONT", SIGCONT}};
    if (tf_starts_with(name, "SIG"))
        name += 3;
    for (size_t i = 0; i < TF_ARRAY_LEN(known); i++)
        if (tf_str_eq(known[i].name, name))
            return known[i].number;
    return 0;
}

/* A command that has not yet said what it does at the signal would be ended by it: peers files change soon
 * after a start, too. It reads the file when it has said so, as whoever waits for a signal must. */
static void tell_of_peers(struct shim *s)
{
    uint64_t inode = peers_inode(s);
    int number = s->spec.start.resize_signal ? signal_number(s->spec.start.resize_signal) : 0;
    if (inode != s->peers_inode && number && s->command && !s->command_ended && s->start_pipe < 0 &&
        tf_process_minds(s->command, number))
        kill(s->command, number);
    s->peers_inode = inode;
}

void shim_reload(struct shim *s)
{
    struct tf_stop_request stop;
    struct tf_error err = TF_ERROR_INIT;
    if (tf_stop_request_load(s->folder, &stop, &err) == 0)
        shim_stop(s, stop.why == TF_STOP_NODE_LOST ? TF_CAUSE_NODE_LOST : TF_CAUSE_STOPPED, stop.term_at,
                  stop.kill_at);
    else if (err.code != TF_ERR_NOT_FOUND)
        fprintf(stderr, "%s\n", err.text);
    s->fence = tf_fence_load(s->epoch_folder);
    tell_of_peers(s);
}

static void take_signals(struct shim *s)
{
    struct signalfd_siginfo info[16];
    ssize_t n = read(s->signals, info, sizeof info);
    bool poked = false, asked = false;
    for (size_t i = 0; n > 0 && i < (size_t)n / sizeof info[0]; i++) {
        poked |= info[i].ssi_signo == SIGUSR1;
        asked |= info[i].ssi_signo == SIGTERM;
    }
    if (poked)
        shim_reload(s);
    if (asked) /* the machine shuts down */
        shim_stop_now(s, TF_CAUSE_STOPPED);
}

/* ---- time ---- */

static void check_fence(struct shim *s, int64_t now)
{
    if (now < s->fence)
        return;
    s->fence = tf_fence_load(s->epoch_folder); /* a later one is not announced, it is looked for now */
    if (now < s->fence)
        return;
    shim_stop_now(s, TF_CAUSE_FENCED);
    s->fence = INT64_MAX;
}

static void arm(struct shim *s, int64_t next)
{
    struct itimerspec at = {.it_value = {.tv_sec = 0, .tv_nsec = 0}};
    if (next != INT64_MAX) {
        next = next > 0 ? next : 1;
        at.it_value.tv_sec = (time_t)(next / 1000);
        at.it_value.tv_nsec = (long)(next % 1000) * 1000000;
    }
    timerfd_settime(s->timer, TFD_TIMER_ABSTIME, &at, NULL);
}

/* A command that has not come as far as making its own group gets the signal alone. */
static void ask_politely(const struct shim *s)
{
    if (s->command && !s->command_ended && kill(-s->command, SIGTERM) != 0)
        kill(s->command, SIGTERM);
}

/* Does what is due and sets the timer for what is due next. */
static void tick(struct shim *s)
{
    int64_t now = tf_boottime_ms();
    check_fence(s, now);
    int64_t next = s->fence;
    shim_probe_tick(s, now, &next);
    if (s->phase == SHIM_DELAY && now >= s->term_at) {
        s->phase = SHIM_TERM;
        ask_politely(s);
    }
    if ((s->phase == SHIM_TERM || s->phase == SHIM_DELAY) && now >= s->kill_at)
        s->phase = SHIM_KILL;
    if (s->phase == SHIM_KILL)
        kill_all(s);
    int64_t own = s->phase == SHIM_DELAY  ? sooner(s->term_at, s->kill_at)
                  : s->phase == SHIM_TERM ? s->kill_at
                  : s->phase == SHIM_KILL ? now + KILL_AGAIN
                                          : INT64_MAX;
    arm(s, own < next ? own : next);
}

/* ---- the loop ---- */

static void wait_and_take(struct shim *s)
{
    struct pollfd fds[] = {
        {.fd = s->signals, .events = POLLIN},
        {.fd = s->timer, .events = POLLIN},
        {.fd = s->start_pipe, .events = POLLIN},
        {.fd = s->output.streams[0].pipe, .events = POLLIN},
        {.fd = s->output.streams[1].pipe, .events = POLLIN},
    };
    if (poll(fds, TF_ARRAY_LEN(fds), -1) < 0)
        return;
    uint64_t times;
    if (fds[1].revents && read(s->timer, &times, sizeof times) < 0 && errno != EAGAIN)
        fprintf(stderr, "the timer cannot be read: %s\n", strerror(errno));
    if (fds[2].revents && s->start_pipe >= 0)
        shim_command_started(s);
    if (fds[0].revents)
        take_signals(s);
    for (size_t i = 0; i < 2; i++)
        if (fds[3 + i].revents)
            shim_output_move(&s->output, &s->output.streams[i]);
}

static void cannot(struct shim *s, const char *what)
{
    s->end.cause = TF_CAUSE_CANNOT_START;
    s->end.text = tf_strdup(what);
    fprintf(stderr, "%s\n", what);
    shim_finish(s);
}

static void begin(struct shim *s)
{
    struct tf_error err = TF_ERROR_INIT;
    s->output.streams[0].pipe = s->output.streams[1].pipe = s->start_pipe = -1;
    s->end.code = -1;
    s->fence = INT64_MAX;
    s->peers_inode = peers_inode(s);
    sigset_t set;
    shim_signals(&set);
    s->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    s->timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (s->signals < 0 || s->timer < 0)
        cannot(s, "out of file descriptors");
    /* What was asked before the record existed was not announced to us. */
    shim_reload(s);
    check_fence(s, tf_boottime_ms());
    if (s->phase != SHIM_RUNNING) {
        if (s->end.cause == TF_CAUSE_STOPPED)
            s->end.cause = TF_CAUSE_NEVER_STARTED;
        shim_finish(s);
    }
    if (s->record.cgroup)
        tf_cgroup_make(s->record.cgroup);
    shim_environment(s);
    if (tf_journal_add(s->root, TF_JOURNAL_START, &s->spec.start, NULL, &err) || shim_command_start(s, &err))
        cannot(s, err.text);
    shim_probe_init(s, tf_boottime_ms());
}

void shim_run(struct shim *s)
{
    begin(s);
    for (;;) {
        if (!reap(s) && s->phase == SHIM_KILL)
            shim_finish(s);
        tick(s);
        wait_and_take(s);
    }
}
