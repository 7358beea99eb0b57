/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SHIM_SHIM_H
#define TF_SHIM_SHIM_H

#include "common/base/buf.h"
#include "subcluster/engine/state/folder.h"
#include "subcluster/engine/state/spec.h"
#include "subcluster/engine/state/status.h"

#include <signal.h>

/* The shim: a small process that watches over one instance and outlives the daemon.
 *
 *     RUNNING --stop, fence--> DELAY --stop delay--> TERM --grace--> KILL --nothing left--> exit record, lock
 * free
 *        \------------- the command ends: in any phase ---------------^
 *
 * launch.c begins, run.c is the loop, command.c starts the command and probes, output.c keeps what they
 * print, judge.c ends what has no living shim. */

/* Everything below is the shim's own: one struct, one thread, all moments in ms of CLOCK_BOOTTIME. */

enum shim_phase { SHIM_RUNNING, SHIM_DELAY, SHIM_TERM, SHIM_KILL };

struct shim_stream {
    const char *name; /* of the file */
    int pipe;         /* read end, non-blocking; -1 = closed */
    int file;         /* -1 = cannot be written at present */
    int64_t size;
};

struct shim_output {
    int folder;    /* borrowed */
    int64_t limit; /* bytes of one file */
    struct shim_stream streams[2];
    struct tf_buf tail; /* the last of both streams */
};

struct shim_probe {
    pid_t pid; /* 0 = none runs */
    int64_t began, next, give_up;
    bool wanted;
};

struct shim {
    int root, epoch_folder, folder, lock;
    struct tf_shim_spec spec;
    struct tf_shim_record record;
    struct tf_strs environment; /* of the command and of probes: "K=V" */
    int port_claims[TF_ENGINE_PORTS_MAX];

    pid_t command; /* 0 = not started */
    bool command_ended;
    int start_pipe; /* tells how the exec went; -1 = known */
    struct tf_exit_record end;

    enum shim_phase phase;
    int64_t term_at, kill_at;
    int64_t fence;
    uint64_t peers_inode;

    int signals, timer;
    struct shim_output output;
    struct shim_probe probe;
};

/* What a program needs: closes inherited descriptors, blocks the signals that the shim takes from a
 * descriptor. */
void shim_process_init(void);
void shim_signals(sigset_t *set);

/* run: begins the instance of state_dir that path names. Returns, in the process that was started, once a
 * shim of its own session watches, or with the reason why not. */
enum tf_shim_status shim_launch(const char *state_dir, const char *path);

/* end: sees to it that the instance has an exit record. Without `kill` a living shim is left alone; with it,
 * shim and all are killed. */
enum tf_shim_status shim_judge(const char *state_dir, const char *path, uint64_t owner, bool kill);

/* end-all: the same with kill for every instance of the folder; says which have not ended. OK, or the worst
 * status. */
enum tf_shim_status shim_end_all(const char *state_dir);

/* ---- run.c ---- */
/* The rest of the shim's life; everything is set up and the record is on disk. Never returns. */
void shim_run(struct shim *s) __attribute__((noreturn));
/* Ask it to end, or to end sooner. */
void shim_stop(struct shim *s, enum tf_engine_cause cause, int64_t term_at, int64_t kill_at);
/* Politely now, by force after the grace of the spec. */
void shim_stop_now(struct shim *s, enum tf_engine_cause cause);
/* Reads stop, fence and peers again. */
void shim_reload(struct shim *s);
/* Journal, exit record, end of the process. */
void shim_finish(struct shim *s) __attribute__((noreturn));

/* ---- command.c ---- */
void shim_environment(struct shim *s);
int shim_command_start(struct shim *s, struct tf_error *err);
/* After start_pipe became readable. */
void shim_command_started(struct shim *s);
void shim_probe_init(struct shim *s, int64_t now);
/* Starts, kills or gives up; *next is lowered to the moment when it wants to be called again. */
void shim_probe_tick(struct shim *s, int64_t now, int64_t *next);
void shim_probe_ended(struct shim *s, bool success, int64_t now);

/* ---- ports.c ---- */
/* Takes a free loopback port for each name of the spec; claims (descriptors) are kept until the shim ends, so
 * that no other shim of this machine takes the same. */
int shim_ports_take(struct shim *s, struct tf_error *err);

/* ---- output.c ---- */
/* Makes the pipes; the write ends are the caller's. */
int shim_output_init(struct shim_output *out, int folder, int64_t limit, int write_ends[2],
                     struct tf_error *err);
/* Moves what is there, a bounded amount; false = the pipe is at its end (and closed) or has nothing now. */
bool shim_output_move(struct shim_output *out, struct shim_stream *stream);
/* The last lines, owned by the caller. */
char *shim_output_tail(const struct shim_output *out);

#endif
