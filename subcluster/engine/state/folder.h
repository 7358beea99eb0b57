/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_ENGINE_FOLDER_H
#define TF_ENGINE_FOLDER_H

#include "subcluster/engine/engine.h"

#include <sys/types.h>

/* The state folder of a process engine. Paths are made of numbers and hexadecimal uids, never of names.
 *
 *     marker                        identity of this memory; absent = unknown, never empty
 *     owner                         highest owner revision seen; written under owner.lock
 *     down/NODE                     present = the operator has taken NODE out of service (any content)
 *     journal/YYYY-MM-DD.log        a line at every start and end (journal.h)
 *     instances/UID/EPOCH/
 *         peers, fence              of all instances of the epoch
 *         INDEX.ATTEMPT/
 *             lock                  flock: held by the shim and, being inherited, by all its descendants
 *             judge                 flock: one judge at a time
 *             spec                  what to start, by the engine
 *             shim                  the shim's record, on disk before the command can run
 *             alive                 open for writing in the shim alone: its close tells of the shim's end
 *             running, ready        pid of the command; the probe succeeded
 *             stop                  a request to end, by the engine
 *             exit                  the last word, on disk before the lock is released
 *             checkpoint            touched by the job
 *             out, out.1, err, err.1
 *
 * What a state means, for a folder whose boot id is the present one:
 *     exit                                     ended; the attempt never runs again
 *     no exit, shim, that process lives        running
 *     no exit, shim, no such process           kill what is left, then write exit: shim-died
 *     no exit, no shim, lock held              a shim is about to begin
 *     no exit, no shim, lock free              nothing ever ran: a start may come (again) */

enum { TF_INSTANCE_PATH = 128, TF_BOOT_ID = 37 };

/* "UID/EPOCH/INDEX.ATTEMPT" */
void tf_instance_path(const struct tf_instance_id *id, char path[TF_INSTANCE_PATH]);
int tf_instance_path_parse(const char *path, struct tf_instance_id *id, struct tf_error *err);

/* Folder descriptors, owned by the caller, or -1. create makes what is missing; without it a missing folder
 * is TF_ERR_NOT_FOUND. */
int tf_root_open(const char *state_dir, struct tf_error *err);
int tf_epoch_open(int root, struct tf_uid uid, uint64_t epoch, bool create, struct tf_error *err);
int tf_instance_open(int root, const struct tf_instance_id *id, bool create, struct tf_error *err);

/* The highest owner revision seen; 0 if none. */
int tf_owner_load(int root, uint64_t *owner, struct tf_error *err);
/* Raises it to `owner`, on disk. TF_ERR_REFUSED, *owner = the higher one, if it is above. */
int tf_owner_raise(int root, uint64_t *owner, struct tf_error *err);

/* Takes the lock of an instance folder: a descriptor (kept across exec on purpose), or -1; TF_ERR_CONFLICT =
 * it is held, or the folder was removed meanwhile. */
int tf_instance_lock(int folder, struct tf_error *err);

bool tf_file_exists(int folder, const char *name);

struct tf_shim_record {
    char boot[TF_BOOT_ID];
    pid_t pid;
    uint64_t ticks; /* start time of pid, as in /proc/PID/stat */
    struct tf_wall at;
    char *cgroup; /* owned; path of the folder, NULL = none */
    struct tf_engine_port ports[TF_ENGINE_PORTS_MAX];
    size_t port_count;
};
void tf_shim_record_release(struct tf_shim_record *record);
int tf_shim_record_save(int folder, const struct tf_shim_record *record, struct tf_error *err);
int tf_shim_record_load(int folder, struct tf_shim_record *record, struct tf_error *err);
/* The recorded process lives, in this boot. */
bool tf_shim_lives(const struct tf_shim_record *record);

struct tf_exit_record {
    enum tf_engine_cause cause;
    int code;   /* -1 = none */
    int signal; /* 0 = none */
    struct tf_wall at;
    char *text; /* owned; last output lines or an explanation */
};
void tf_exit_record_release(struct tf_exit_record *record);
int tf_exit_record_save(int folder, const struct tf_exit_record *record, struct tf_error *err);
int tf_exit_record_load(int folder, struct tf_exit_record *record, struct tf_error *err);

/* When the polite stop is due and when the forced one, ms of CLOCK_BOOTTIME. */
struct tf_stop_request {
    int64_t term_at, kill_at;
    enum tf_engine_stop_why why;
};
/* A request can only hasten an earlier one: the sooner moments of both are kept, and the first why. */
int tf_stop_request_add(int folder, const struct tf_stop_request *request, struct tf_error *err);
int tf_stop_request_load(int folder, struct tf_stop_request *request, struct tf_error *err);

/* The fence of an epoch folder, ms of CLOCK_BOOTTIME; saved as 0, or never: loads as INT64_MAX. One of
 * another boot, and one that cannot be read, is past: loads as 0. */
int64_t tf_fence_load(int epoch_folder);
int tf_fence_save(int epoch_folder, int64_t deadline, struct tf_error *err);

#endif
