/* SPDX-License-Identifier: Apache-2.0 */
/* Paths, lock and records of a state folder. Who writes which file when is told in folder.h; this file does
 * not decide. */
#include "subcluster/engine/state/folder.h"

#include "common/base/alloc.h"
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "subcluster/engine/state/proc.h"
#include "subcluster/engine/state/record.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    LOCK_DESCRIPTOR = 100, /* above the numbers that scripts use for themselves */
    TEXT_MAX = 16384,
};

void tf_instance_path(const struct tf_instance_id *id, char path[TF_INSTANCE_PATH])
{
    char uid[TF_UID_TEXT];
    tf_uid_format(id->uid, uid);
    snprintf(path, TF_INSTANCE_PATH, "%s/%" PRIu64 "/%" PRIu32 ".%" PRIu32, uid, id->epoch, id->index,
             id->attempt);
}

int tf_instance_path_parse(const char *path, struct tf_instance_id *id, struct tf_error *err)
{
    char text[TF_INSTANCE_PATH];
    char again[TF_INSTANCE_PATH];
    struct tf_instance_id got = {0};
    snprintf(text, sizeof text, "%s", path);
    char *epoch = strchr(text, '/');
    char *index = epoch ? strchr(epoch + 1, '/') : NULL;
    char *attempt = index ? strchr(index + 1, '.') : NULL;
    if (attempt) {
        *epoch = *index = *attempt = '\0';
        int64_t n[3];
        if (tf_uid_parse(text, &got.uid, NULL) == 0 &&
            tf_parse_int64(epoch + 1, 0, INT64_MAX, &n[0], NULL) == 0 &&
            tf_parse_int64(index + 1, 0, UINT32_MAX, &n[1], NULL) == 0 &&
            tf_parse_int64(attempt + 1, 0, UINT32_MAX, &n[2], NULL) == 0) {
            got.epoch = (uint64_t)n[0];
            got.index = (uint32_t)n[1];
            got.attempt = (uint32_t)n[2];
            tf_instance_path(&got, again);
            if (tf_str_eq(again, path)) { /* no leading zeros, no other way to write it */
                *id = got;
                return 0;
            }
        }
    }
    return tf_error_set(err, TF_ERR_INVALID, "\"%.100s\" is not UID/EPOCH/INDEX.ATTEMPT", path);
}

int tf_root_open(const char *state_dir, struct tf_error *err)
{
    int fd = open(state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return tf_error_errno(err, errno == ENOENT ? TF_ERR_NOT_FOUND : TF_ERR_IO, errno,
                              "cannot open the state folder %s", state_dir);
    return fd;
}

/* Opens root/part/part/...; with create, what is missing is made, and on disk. */
static int open_parts(int root, const char *path, bool create, struct tf_error *err)
{
    char text[TF_INSTANCE_PATH + 16];
    snprintf(text, sizeof text, "%s", path);
    int at = dup(root);
    char *state = NULL;
    for (char *part = strtok_r(text, "/", &state); part && at >= 0; part = strtok_r(NULL, "/", &state)) {
        int made = create ? mkdirat(at, part, 0700) : -1;
        if (create && made == 0)
            fsync(at);
        int next = openat(at, part, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        int why = errno;
        close(at);
        errno = why;
        at = next;
    }
    if (at >= 0)
        return at;
    if (errno == ENOENT)
        return tf_error_set(err, TF_ERR_NOT_FOUND, "the state folder has no %s", path);
    return tf_error_errno(err, TF_ERR_IO, errno, "cannot open %s in the state folder", path);
}

int tf_epoch_open(int root, struct tf_uid uid, uint64_t epoch, bool create, struct tf_error *err)
{
    char text[TF_UID_TEXT], path[TF_INSTANCE_PATH];
    tf_uid_format(uid, text);
    snprintf(path, sizeof path, "instances/%s/%" PRIu64, text, epoch);
    return open_parts(root, path, create, err);
}

int tf_instance_open(int root, const struct tf_instance_id *id, bool create, struct tf_error *err)
{
    char name[TF_INSTANCE_PATH], path[TF_INSTANCE_PATH + 16];
    tf_instance_path(id, name);
    snprintf(path, sizeof path, "instances/%s", name);
    return open_parts(root, path, create, err);
}

int tf_owner_load(int root, uint64_t *owner, struct tf_error *err)
{
    struct tf_record_reader record = {0};
    struct tf_error why = TF_ERROR_INIT;
    *owner = 0;
    if (tf_record_load(root, "owner", &record, &why)) {
        if (why.code == TF_ERR_NOT_FOUND)
            return 0;
        if (err)
            *err = why;
        return -1;
    }
    const char *key, *value;
    int64_t n = -1;
    while (tf_record_next(&record, &key, &value))
        if (tf_str_eq(key, "owner") && !tf_record_int(value, 0, INT64_MAX, &n))
            n = -1;
    tf_record_reader_release(&record);
    if (n < 0)
        return tf_error_set(err, TF_ERR_INVALID, "the record owner names no revision");
    *owner = (uint64_t)n;
    return 0;
}

static int raise_locked(int root, uint64_t *owner, struct tf_error *err)
{
    uint64_t seen;
    if (tf_owner_load(root, &seen, err))
        return -1;
    if (seen > *owner) {
        uint64_t asked = *owner;
        *owner = seen;
        return tf_error_set(err, TF_ERR_REFUSED,
                            "owner revision %" PRIu64 " has been replaced by %" PRIu64
                            ": this daemon is deposed",
                            asked, seen);
    }
    if (seen == *owner)
        return 0;
    TF_AUTO_BUF out = TF_BUF_INIT;
    tf_record_put_int(&out, "owner", (int64_t)*owner);
    return tf_record_save(root, "owner", &out, true, err);
}

int tf_owner_raise(int root, uint64_t *owner, struct tf_error *err)
{
    int lock = openat(root, "owner.lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (lock < 0 || flock(lock, LOCK_EX) != 0) {
        tf_error_errno(err, TF_ERR_IO, errno, "cannot lock owner.lock in the state folder");
        if (lock >= 0)
            close(lock);
        return -1;
    }
    int rc = raise_locked(root, owner, err);
    close(lock);
    return rc;
}

static void lock_refused(struct tf_error *err)
{
    if (errno == EWOULDBLOCK)
        tf_error_set(err, TF_ERR_CONFLICT, "another process holds the lock of this instance");
    else
        tf_error_errno(err, TF_ERR_IO, errno, "cannot lock the instance");
}

int tf_instance_lock(int folder, struct tf_error *err)
{
    int low = openat(folder, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (low < 0)
        return tf_error_errno(err, TF_ERR_IO, errno, "cannot open the lock file");
    int fd = fcntl(low, F_DUPFD, LOCK_DESCRIPTOR);
    int why = errno;
    close(low);
    if (fd < 0)
        return tf_error_errno(err, TF_ERR_IO, why, "cannot open the lock file");
    struct stat held, named;
    if (flock(fd, LOCK_EX | LOCK_NB) != 0)
        lock_refused(err);
    else if (fstat(fd, &held) != 0 || fstatat(folder, "lock", &named, AT_SYMLINK_NOFOLLOW) != 0 ||
             held.st_ino != named.st_ino || held.st_dev != named.st_dev)
        tf_error_set(err, TF_ERR_CONFLICT, "the instance's folder has been removed");
    else
        return fd;
    close(fd);
    return -1;
}

bool tf_file_exists(int folder, const char *name)
{
    return faccessat(folder, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* ---- shim record ---- */

void tf_shim_record_release(struct tf_shim_record *record)
{
    free(record->cgroup);
    *record = (struct tf_shim_record){0};
}

int tf_shim_record_save(int folder, const struct tf_shim_record *record, struct tf_error *err)
{
    TF_AUTO_BUF out = TF_BUF_INIT;
    tf_record_put(&out, "boot", record->boot);
    tf_record_put_int(&out, "pid", record->pid);
    tf_record_put_int(&out, "ticks", (int64_t)record->ticks);
    tf_record_put_int(&out, "at", record->at.ms);
    if (record->cgroup)
        tf_record_put(&out, "cgroup", record->cgroup);
    for (size_t i = 0; i < record->port_count; i++) {
        tf_record_put(&out, "port-name", record->ports[i].name);
        tf_record_put_int(&out, "port", record->ports[i].port);
    }
    return tf_record_save(folder, "shim", &out, true, err);
}

static bool set_port(struct tf_shim_record *record, const char *key, const char *value)
{
    int64_t n = 0;
    if (tf_str_eq(key, "port-name")) {
        if (record->port_count >= TF_ENGINE_PORTS_MAX)
            return false;
        struct tf_engine_port *port = &record->ports[record->port_count++];
        snprintf(port->name, sizeof port->name, "%s", value);
        return true;
    }
    if (record->port_count == 0 || !tf_record_int(value, 1, 65535, &n))
        return false;
    record->ports[record->port_count - 1].port = (uint16_t)n;
    return true;
}

static bool set_shim(struct tf_shim_record *record, const char *key, const char *value)
{
    int64_t n = 0;
    if (tf_str_eq(key, "boot")) {
        snprintf(record->boot, sizeof record->boot, "%s", value);
    } else if (tf_str_eq(key, "cgroup")) {
        tf_str_set(&record->cgroup, value);
    } else if (tf_starts_with(key, "port")) {
        return set_port(record, key, value);
    } else if (tf_str_eq(key, "pid") || tf_str_eq(key, "ticks") || tf_str_eq(key, "at")) {
        if (!tf_record_int(value, 0, INT64_MAX, &n))
            return false;
        if (key[0] == 'p')
            record->pid = n > INT32_MAX ? 0 : (pid_t)n;
        else if (key[0] == 't')
            record->ticks = (uint64_t)n;
        else
            record->at.ms = n;
    }
    return true;
}

int tf_shim_record_load(int folder, struct tf_shim_record *record, struct tf_error *err)
{
    struct tf_record_reader file = {0};
    if (tf_record_load(folder, "shim", &file, err))
        return -1;
    *record = (struct tf_shim_record){0};
    const char *key, *value;
    bool good = true;
    while (good && tf_record_next(&file, &key, &value))
        good = set_shim(record, key, value);
    tf_record_reader_release(&file);
    if (good && record->pid > 0 && record->boot[0])
        return 0;
    tf_shim_record_release(record);
    return tf_error_set(err, TF_ERR_INVALID, "the record shim is not as a shim writes it");
}

bool tf_shim_lives(const struct tf_shim_record *record)
{
    uint64_t ticks;
    return tf_str_eq(record->boot, tf_boot_id()) && tf_process_ticks(record->pid, &ticks) &&
           ticks == record->ticks;
}

/* ---- exit record ---- */

void tf_exit_record_release(struct tf_exit_record *record)
{
    free(record->text);
    *record = (struct tf_exit_record){0};
}

int tf_exit_record_save(int folder, const struct tf_exit_record *record, struct tf_error *err)
{
    TF_AUTO_BUF out = TF_BUF_INIT;
    tf_record_put(&out, "cause", tf_engine_cause_name(record->cause));
    tf_record_put_int(&out, "code", record->code);
    tf_record_put_int(&out, "signal", record->signal);
    tf_record_put_int(&out, "at", record->at.ms);
    tf_record_put(&out, "text", record->text ? record->text : "");
    return tf_record_save(folder, "exit", &out, true, err);
}

static bool set_exit(struct tf_exit_record *record, const char *key, const char *value)
{
    int64_t n = 0;
    if (tf_str_eq(key, "cause")) {
        int cause = tf_engine_cause_parse(value);
        record->cause = cause < 0 ? TF_CAUSE_ENDED : (enum tf_engine_cause)cause;
    } else if (tf_str_eq(key, "text")) {
        free(record->text);
        record->text = tf_strndup(value, TEXT_MAX);
    } else if (tf_str_eq(key, "code") || tf_str_eq(key, "signal")) {
        if (!tf_record_int(value, -1, 1024, &n))
            return false;
        *(key[0] == 'c' ? &record->code : &record->signal) = (int)n;
    } else if (tf_str_eq(key, "at")) {
        return tf_record_int(value, 0, INT64_MAX, &record->at.ms);
    }
    return true;
}

int tf_exit_record_load(int folder, struct tf_exit_record *record, struct tf_error *err)
{
    struct tf_record_reader file = {0};
    if (tf_record_load(folder, "exit", &file, err))
        return -1;
    *record = (struct tf_exit_record){.code = -1};
    const char *key, *value;
    bool good = true;
    while (good && tf_record_next(&file, &key, &value))
        good = set_exit(record, key, value);
    tf_record_reader_release(&file);
    if (good && record->cause != TF_CAUSE_NONE)
        return 0;
    tf_exit_record_release(record);
    return tf_error_set(err, TF_ERR_INVALID, "the record exit is not as a shim writes it");
}

/* ---- stop request and fence ---- */

static int64_t sooner(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int tf_stop_request_add(int folder, const struct tf_stop_request *request, struct tf_error *err)
{
    struct tf_stop_request all = *request, before;
    if (tf_stop_request_load(folder, &before, NULL) == 0) {
        all.term_at = sooner(all.term_at, before.term_at);
        all.kill_at = sooner(all.kill_at, before.kill_at);
        all.why = before.why;
    }
    TF_AUTO_BUF out = TF_BUF_INIT;
    tf_record_put_int(&out, "term-at", all.term_at);
    tf_record_put_int(&out, "kill-at", all.kill_at);
    tf_record_put_int(&out, "why", all.why);
    return tf_record_save(folder, "stop", &out, false, err); /* after a crash of the machine nothing lives */
}

int tf_stop_request_load(int folder, struct tf_stop_request *request, struct tf_error *err)
{
    struct tf_record_reader file = {0};
    if (tf_record_load(folder, "stop", &file, err))
        return -1;
    *request = (struct tf_stop_request){0};
    const char *key, *value;
    int64_t n = 0;
    while (tf_record_next(&file, &key, &value)) {
        if (!tf_record_int(value, 0, INT64_MAX, &n))
            continue; /* a request to stop is obeyed, whatever else is wrong with it */
        if (tf_str_eq(key, "term-at"))
            request->term_at = n;
        else if (tf_str_eq(key, "kill-at"))
            request->kill_at = n;
        else if (tf_str_eq(key, "why"))
            request->why = n == TF_STOP_NODE_LOST ? TF_STOP_NODE_LOST : TF_STOP_ASKED;
    }
    tf_record_reader_release(&file);
    return 0;
}

/* Not durable: after a crash of the machine the boot id is another, and nothing lives. */
int tf_fence_save(int epoch_folder, int64_t deadline, struct tf_error *err)
{
    TF_AUTO_BUF out = TF_BUF_INIT;
    tf_record_put(&out, "boot", tf_boot_id());
    tf_record_put_int(&out, "deadline", deadline);
    return tf_record_save(epoch_folder, "fence", &out, false, err);
}

int64_t tf_fence_load(int epoch_folder)
{
    struct tf_record_reader file = {0};
    struct tf_error err = TF_ERROR_INIT;
    if (tf_record_load(epoch_folder, "fence", &file, &err))
        return err.code == TF_ERR_NOT_FOUND ? INT64_MAX : 0;
    const char *key, *value;
    int64_t deadline = -1;
    bool same_boot = false;
    while (tf_record_next(&file, &key, &value)) {
        if (tf_str_eq(key, "boot"))
            same_boot = tf_str_eq(value, tf_boot_id());
        else if (tf_str_eq(key, "deadline") && !tf_record_int(value, 0, INT64_MAX, &deadline))
            deadline = -1;
    }
    tf_record_reader_release(&file);
    if (!same_boot || deadline < 0)
        return 0;
    return deadline ? deadline : INT64_MAX;
}
