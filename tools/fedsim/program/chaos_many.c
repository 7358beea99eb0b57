/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the processes of a chaos run. Process w of n has the seeds first + w, first + w + n ...; it says which
 * one it begins and what came of it, through a pipe. */
#include "tools/fedsim/program/chaos_many.h"

#include "common/base/alloc.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { POLL_MS = 1000 };

/* What a process says: a begin, then the result. Plain bytes, of this same program. */
struct message {
    uint64_t seed;
    bool done;
    struct chaos_result result;
};

struct worker {
    pid_t pid;
    int from;
    uint64_t next; /* seed that it begins with */
    uint64_t seed; /* that it has */
    bool busy, over;
    size_t have; /* bytes of the message that comes in */
    struct message message;
};

struct many {
    const struct many_options *options;
    many_breach_f *breach;
    many_progress_f *progress;
    void *arg;
    struct many_totals *totals;
    struct worker *workers;
    bool stop;
};

/* ---- in the process ---- */

static void say(int to, const struct message *message)
{
    const char *bytes = (const char *)message;
    for (size_t done = 0; done < sizeof *message;) {
        ssize_t n = write(to, bytes + done, sizeof *message - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            _exit(1);
        done += (size_t)n;
    }
}

static _Noreturn void work(const struct many_options *options, uint64_t seed, int to)
{
    static struct message message;
    for (; seed <= options->last && seed >= options->first; seed += (uint64_t)options->jobs) {
        message = (struct message){.seed = seed};
        say(to, &message);
        chaos_run(&(struct chaos_options){.seed = seed, .size = options->size}, &message.result);
        message.done = true;
        say(to, &message);
    }
    _exit(0);
}

static int start(struct many *many, struct worker *worker, struct tf_error *err)
{
    int ends[2];
    fflush(NULL);
    if (pipe(ends))
        return tf_error_set(err, TF_ERR_UNAVAILABLE, "no pipe could be made: %s", strerror(errno));
    worker->pid = fork();
    if (worker->pid == 0) {
        close(ends[0]);
        work(many->options, worker->next, ends[1]);
    }
    close(ends[1]);
    worker->from = ends[0];
    worker->have = 0;
    worker->busy = false;
    if (worker->pid > 0)
        return 0;
    close(ends[0]);
    return tf_error_set(err, TF_ERR_UNAVAILABLE, "no process could be made: %s", strerror(errno));
}

/* ---- what they say ---- */

static void add_counts(struct audit_counts *to, const struct audit_counts *from)
{
    to->starts += from->starts;
    to->ends += from->ends;
    to->stops += from->stops;
    to->placements += from->placements;
    to->refusals += from->refusals;
    to->submits += from->submits;
    to->deletes += from->deletes;
    to->archived += from->archived;
    to->waiting_at_rest += from->waiting_at_rest;
    to->running_at_rest += from->running_at_rest;
}

static void add(struct many_totals *totals, const struct chaos_result *result)
{
    totals->events += result->events;
    totals->stale += result->stale_messages;
    totals->restored += result->restored;
    totals->found_out += result->found_out;
    add_counts(&totals->counts, &result->counts);
    for (size_t i = 0; i < CHAOS_INGREDIENTS; i++)
        totals->drawn[i] += result->drawn[i];
    sim_situations_add(&totals->reached, &result->reached);
}

static void is_done(struct many *many, uint64_t seed, const char *breach)
{
    many->totals->runs++;
    if (breach) {
        many->totals->breaches++;
        many->stop |= !many->options->keep_going;
        many->breach(many->arg, seed, breach);
    }
    many->progress(many->arg, many->totals->runs);
}

static void hear(struct many *many, struct worker *worker)
{
    const struct message *message = &worker->message;
    worker->busy = !message->done;
    worker->seed = message->seed;
    worker->next = message->seed + (uint64_t)many->options->jobs;
    if (!message->done)
        return;
    add(many->totals, &message->result);
    is_done(many, message->seed, message->result.breached ? message->result.breach : NULL);
}

static double seconds(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

static void join(struct many *many, struct worker *worker)
{
    struct rusage usage = {0};
    int status;
    close(worker->from);
    while (wait4(worker->pid, &status, 0, &usage) < 0 && errno == EINTR)
        ;
    many->totals->cpu_seconds += seconds(usage.ru_utime) + seconds(usage.ru_stime);
    worker->pid = 0;
}

/* It has ended: done, or by an assertion; then another one goes on behind that seed. */
static int is_gone(struct many *many, struct worker *worker, struct tf_error *err)
{
    bool busy = worker->busy;
    join(many, worker);
    if (busy)
        is_done(many, worker->seed, "it ends the program: see what it says before that");
    worker->over = !busy || many->stop || worker->next > many->options->last;
    return worker->over ? 0 : start(many, worker, err);
}

static int listen_to(struct many *many, struct worker *worker, struct tf_error *err)
{
    char *at = (char *)&worker->message + worker->have;
    ssize_t n = read(worker->from, at, sizeof worker->message - worker->have);
    if (n < 0 && errno == EINTR)
        return 0;
    if (n <= 0)
        return is_gone(many, worker, err);
    worker->have += (size_t)n;
    if (worker->have < sizeof worker->message)
        return 0;
    worker->have = 0;
    hear(many, worker);
    return 0;
}

static size_t fill_polls(const struct many *many, struct pollfd *polls, size_t *who)
{
    size_t count = 0;
    for (int32_t w = 0; w < many->options->jobs; w++) {
        if (many->workers[w].over)
            continue;
        polls[count] = (struct pollfd){.fd = many->workers[w].from, .events = POLLIN};
        who[count++] = (size_t)w;
    }
    return count;
}

static int listen_to_all(struct many *many, struct tf_error *err)
{
    struct pollfd *polls = tf_calloc((size_t)many->options->jobs, sizeof *polls);
    size_t *who = tf_calloc((size_t)many->options->jobs, sizeof *who), count;
    int failed = 0;
    while (!failed && !many->stop && (count = fill_polls(many, polls, who)) > 0) {
        if (poll(polls, count, POLL_MS) < 0 && errno != EINTR)
            failed =
                tf_error_set(err, TF_ERR_UNAVAILABLE, "the processes cannot be heard: %s", strerror(errno));
        for (size_t i = 0; i < count && !failed; i++)
            if (polls[i].revents)
                failed = listen_to(many, &many->workers[who[i]], err);
    }
    free(polls);
    free(who);
    return failed;
}

static void end_all(struct many *many)
{
    for (int32_t w = 0; w < many->options->jobs; w++) {
        struct worker *worker = &many->workers[w];
        if (worker->pid <= 0)
            continue;
        kill(worker->pid, SIGTERM);
        join(many, worker);
    }
}

int chaos_many(const struct many_options *options, many_breach_f *breach, many_progress_f *progress,
               void *arg, struct many_totals *totals, struct tf_error *err)
{
    struct many many = {
        .options = options, .breach = breach, .progress = progress, .arg = arg, .totals = totals};
    *totals = (struct many_totals){0};
    many.workers = tf_calloc((size_t)options->jobs, sizeof *many.workers);
    int failed = 0;
    for (int32_t w = 0; w < options->jobs && !failed; w++) {
        struct worker *worker = &many.workers[w];
        worker->next = options->first + (uint64_t)w;
        worker->over = worker->next > options->last;
        if (!worker->over)
            failed = start(&many, worker, err);
    }
    if (!failed)
        failed = listen_to_all(&many, err);
    end_all(&many);
    free(many.workers);
    return failed;
}
