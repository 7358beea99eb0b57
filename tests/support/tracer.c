/* SPDX-License-Identifier: Apache-2.0 */
/* ptrace, by SEIZE. */
#include "tests/support/tracer.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    TRACEES = 16,
    ROUNDS = 600000,
    OPTIONS = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL
};

struct tracee {
    pid_t pid; /* 0 = free place */
    int role;
    bool counting;
};

struct run {
    struct tracer *t;
    struct tracee tracees[TRACEES];
    pid_t roles[TRACER_ROLES]; /* the last process of each role, traced or free */
    pid_t ended[TRACEES];      /* the last ones: a whole life can be over before the news of its fork */
    unsigned ends;
    bool program_begun;
};

static struct tracee *find(struct run *r, pid_t pid)
{
    for (int i = 0; i < TRACEES; i++)
        if (r->tracees[i].pid == pid)
            return &r->tracees[i];
    return NULL;
}

static struct tracee *add(struct run *r, pid_t pid, int role)
{
    struct tracee *place = find(r, 0);
    if (place)
        *place = (struct tracee){pid, role, role > 0 || r->t->from_call < 0};
    if (role < TRACER_ROLES)
        r->roles[role] = pid;
    return place;
}

static bool has_ended(const struct run *r, pid_t pid)
{
    for (int i = 0; i < TRACEES; i++)
        if (r->ended[i] == pid)
            return true;
    return false;
}

static pid_t seize(struct run *r)
{
    int gate[2];
    if (pipe(gate) != 0)
        return -1;
    pid_t pid = fork();
    if (pid == 0) {
        char byte;
        close(gate[1]);
        if (read(gate[0], &byte, 1) == 1)
            execv(r->t->argv[0], (char *const *)(uintptr_t)r->t->argv);
        _exit(255);
    }
    close(gate[0]);
    long options =
        OPTIONS | PTRACE_O_TRACECLONE | (r->t->follow ? PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK : 0);
    bool good = pid > 0 && ptrace(PTRACE_SEIZE, pid, 0, options) == 0 && write(gate[1], "g", 1) == 1;
    close(gate[1]);
    return good ? pid : -1;
}

/* One that is being killed cannot be let go: its end is ours to reap, before its parent learns of it. */
static void let_go(struct tracee *one, int signal)
{
    if (ptrace(PTRACE_DETACH, one->pid, 0, signal) == 0)
        one->pid = 0;
}

/* The moment: the victim is killed, everyone else is stopped in order to be let go. */
static void strike(struct run *r)
{
    r->t->hit = true;
    pid_t victim = r->roles[r->t->victim];
    if (victim > 0)
        kill(victim, SIGKILL);
    for (int i = 0; i < TRACEES; i++)
        if (r->tracees[i].pid)
            ptrace(PTRACE_INTERRUPT, r->tracees[i].pid, 0, 0);
}

static void at_call(struct run *r, struct tracee *one)
{
    struct __ptrace_syscall_info info = {0};
    ptrace(PTRACE_GET_SYSCALL_INFO, one->pid, sizeof info, &info);
    if (info.op != PTRACE_SYSCALL_INFO_ENTRY)
        return;
    if ((long)info.entry.nr == r->t->from_call)
        one->counting = true;
    if (!one->counting || r->t->hit)
        return;
    unsigned count = ++r->t->counts[one->role];
    if (one->role == r->t->role && count == r->t->at) {
        r->t->call = (long)info.entry.nr;
        strike(r);
    }
}

/* Role 0 is only stopped at its calls where they count. */
static void go_on(const struct run *r, const struct tracee *one, int signal)
{
    bool stop_at_calls = r->t->follow || one->role == r->t->role;
    ptrace(stop_at_calls ? PTRACE_SYSCALL : PTRACE_CONT, one->pid, 0, signal);
}

static void at_stop(struct run *r, struct tracee *one, int status)
{
    int event = status >> 16, signal = WSTOPSIG(status);
    if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK || event == PTRACE_EVENT_CLONE) {
        unsigned long child = 0;
        ptrace(PTRACE_GETEVENTMSG, one->pid, 0, &child);
        if (!find(r, (pid_t)child) && !has_ended(r, (pid_t)child))
            add(r, (pid_t)child, one->role + 1);
    } else if (event == PTRACE_EVENT_EXEC) {
        if (one->role > 0 || r->program_begun) {
            let_go(one, 0);
            return;
        }
        r->program_begun = true;
    } else if (event == 0 && signal == (SIGTRAP | 0x80)) {
        at_call(r, one);
    } else if (event == 0) {
        if (r->t->hit)
            let_go(one, signal);
        else
            go_on(r, one, signal);
        return;
    }
    if (r->t->hit || one->role >= TRACER_ROLES)
        let_go(one, 0);
    else
        go_on(r, one, 0);
}

static bool any(const struct run *r)
{
    for (int i = 0; i < TRACEES; i++)
        if (r->tracees[i].pid)
            return true;
    return false;
}

/* True if something happened. */
static bool take_one(struct run *r)
{
    int status = 0;
    pid_t pid = waitpid(-1, &status, WNOHANG | __WALL);
    if (pid <= 0)
        return false;
    struct tracee *one = find(r, pid);
    if (!WIFSTOPPED(status)) {
        r->ended[r->ends++ % TRACEES] = pid;
        if (pid == r->roles[0])
            r->t->status = status;
        for (int i = 0; i < TRACER_ROLES; i++)
            if (r->roles[i] == pid)
                r->roles[i] = -1;
        if (one)
            one->pid = 0;
        return true;
    }
    if (!one) /* the stop of a new process can come before the news of the fork: only roles below 0 fork */
        one = add(r, pid, r->roles[1] ? 2 : 1);
    if (one)
        at_stop(r, one, status);
    return true;
}

bool tracer_run(struct tracer *tracer)
{
    struct run r = {.t = tracer};
    tracer->hit = false;
    for (int i = 0; i < TRACER_ROLES; i++)
        tracer->counts[i] = 0;
    pid_t pid = seize(&r);
    if (pid < 0)
        return false;
    add(&r, pid, 0);
    bool role0 = true;
    for (int idle = 0; (any(&r) || role0) && idle < ROUNDS;) {
        if (!take_one(&r)) {
            idle++;
            tracer->drive(tracer->context);
            poll(NULL, 0, idle % 10 ? 0 : 1);
        }
        role0 = r.roles[0] > 0;
    }
    return !any(&r) && !role0;
}
