/* SPDX-License-Identifier: Apache-2.0 */
/* Starting tidefed-shim for the errands of instances, a bounded number at a time, and hearing of their end.
 * By posix_spawn: the daemon has threads of gRPC and must not fork without exec. */
#include "subcluster/engine/worker.h"

#include "common/base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utlist.h>

extern char **environ;

void errand_add(struct worker *w, struct instance *i, enum errand errand)
{
    if (errand > i->errand)
        i->errand = errand;
    if (i->queued || i->busy)
        return;
    i->queued = true;
    DL_APPEND2(w->queue, i, queue_previous, queue_next);
}

static int spawn(char *const argv[], int text, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, text, STDERR_FILENO);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
    int rc = posix_spawn(pid, argv[0], &actions, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return rc;
}

static int start(struct worker *w, struct helper *h, struct instance *i, enum errand errand)
{
    char path[TF_INSTANCE_PATH], owner[32];
    char run[] = "run", end[] = "end", kill_word[] = "kill";
    tf_instance_path(&i->id, path);
    snprintf(owner, sizeof owner, "%" PRIu64, w->owner);
    char *argv[] = {w->config.shim,
                    errand == ERRAND_RUN ? run : end,
                    w->config.state_dir,
                    path,
                    errand == ERRAND_RUN ? NULL : owner,
                    errand == ERRAND_KILL ? kill_word : NULL,
                    NULL};
    int text[2];
    if (pipe2(text, O_CLOEXEC | O_NONBLOCK) != 0)
        return errno;
    int rc = spawn(argv, text[1], &h->pid);
    close(text[1]);
    int pidfd = rc ? -1 : (int)syscall(SYS_pidfd_open, h->pid, 0);
    if (pidfd >= 0 && worker_watch_fd(w, pidfd) == 0) {
        *h = (struct helper){h->pid, pidfd, text[0], errand, i};
        return 0;
    }
    if (!rc) { /* out of descriptors: its end cannot be heard of, so wait; the folder will tell what it did */
        rc = errno;
        waitpid(h->pid, NULL, 0);
    }
    if (pidfd >= 0)
        close(pidfd);
    close(text[0]);
    h->pid = 0;
    return rc;
}

static struct helper *free_helper(struct worker *w)
{
    for (size_t n = 0; n < HELPERS; n++)
        if (w->helpers[n].pid == 0)
            return &w->helpers[n];
    return NULL;
}

void errands_pump(struct worker *w)
{
    struct helper *h;
    while (w->queue && (h = free_helper(w))) {
        struct instance *i = w->queue;
        DL_DELETE2(w->queue, i, queue_previous, queue_next);
        i->queued = false;
        enum errand errand = i->errand;
        i->errand = ERRAND_NONE;
        int rc = start(w, h, i, errand);
        i->busy = rc == 0;
        if (rc) {
            char text[300];
            snprintf(text, sizeof text, "cannot start %.150s: %s", w->config.shim, strerror(rc));
            instance_returned(w, i, errand, TF_SHIM_TROUBLE, text);
        }
    }
}

static int exit_status(pid_t pid)
{
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return TF_SHIM_DIED;
    return WIFEXITED(status) ? WEXITSTATUS(status) : TF_SHIM_DIED;
}

bool helper_ended(struct worker *w, int pidfd)
{
    for (size_t n = 0; n < HELPERS; n++) {
        struct helper *h = &w->helpers[n];
        if (h->pid == 0 || h->pidfd != pidfd)
            continue;
        char text[1000];
        int status = exit_status(h->pid);
        ssize_t len = read(h->text, text, sizeof text - 1);
        text[len > 0 ? len : 0] = '\0';
        text[strcspn(text, "\n")] = '\0';
        close(h->pidfd);
        close(h->text);
        struct helper done = *h;
        h->pid = 0;
        done.instance->busy = false;
        instance_returned(w, done.instance, done.errand, status, text);
        return true;
    }
    return false;
}

/* They go on without us. A launcher is reaped, it is done in a moment; a judge that takes its time is left to
 * whoever adopts it. */
void helpers_close(struct worker *w)
{
    for (size_t n = 0; n < HELPERS; n++) {
        struct helper *h = &w->helpers[n];
        if (h->pid == 0)
            continue;
        waitpid(h->pid, NULL, h->errand == ERRAND_RUN ? 0 : WNOHANG);
        close(h->pidfd);
        close(h->text);
        h->pid = 0;
    }
}
