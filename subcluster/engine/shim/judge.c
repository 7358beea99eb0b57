/* SPDX-License-Identifier: Apache-2.0 */
/* The last word about an instance that has no living shim, or never had one: what is left of it is killed,
 * then the exit record is written, under the lock. */
#include "subcluster/engine/shim/shim.h"

#include "common/base/alloc.h"
#include "common/base/text.h"
#include "subcluster/engine/state/journal.h"
#include "subcluster/engine/state/proc.h"
#include "subcluster/engine/state/sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

enum { GIVE_UP = 30 * TF_SECOND }; /* ms until what does not die is reported as stuck */

struct judge {
    int root, folder;
    struct tf_instance_id id;
    bool kill;
};

static enum tf_shim_status failed(const struct tf_error *err)
{
    fprintf(stderr, "%s\n", err->text);
    return err->code == TF_ERR_REFUSED ? TF_SHIM_STALE : TF_SHIM_TROUBLE;
}

/* One judge at a time: a judge kills whoever holds the lock file open. */
static int open_and_queue(struct judge *j, const char *state_dir, const char *path, uint64_t owner,
                          struct tf_error *err)
{
    uint64_t seen;
    if (tf_instance_path_parse(path, &j->id, err))
        return -1;
    j->root = tf_root_open(state_dir, err);
    if (j->root < 0)
        return -1;
    j->folder = tf_instance_open(j->root, &j->id, true, err);
    if (j->folder < 0)
        return -1;
    int queue = openat(j->folder, "judge", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (queue < 0 || flock(queue, LOCK_EX) != 0)
        return tf_error_errno(err, TF_ERR_IO, errno, "cannot lock the file judge");
    if (tf_owner_load(j->root, &seen, err))
        return -1;
    if (seen > owner)
        return tf_error_set(err, TF_ERR_REFUSED, "the owner that asked for this end has been replaced");
    return 0;
}

static void find_cause(struct judge *j, const struct tf_shim_record *shim, struct tf_exit_record *end)
{
    struct tf_stop_request stop;
    end->cause = TF_CAUSE_NEVER_STARTED;
    if (!shim)
        return;
    if (!tf_str_eq(shim->boot, tf_boot_id())) {
        end->cause = TF_CAUSE_REBOOTED;
        end->text = tf_strdup("the machine was restarted");
        return;
    }
    end->signal = SIGKILL;
    if (tf_stop_request_load(j->folder, &stop, NULL) == 0) {
        end->cause = stop.why == TF_STOP_NODE_LOST ? TF_CAUSE_NODE_LOST : TF_CAUSE_STOPPED;
        return;
    }
    end->cause = TF_CAUSE_SHIM_DIED;
    end->text =
        tf_strdup("the process that watched over this instance was killed; what was left of it has been "
                  "killed too");
}

static int write_journal(struct judge *j, const struct tf_exit_record *end, struct tf_error *err)
{
    struct tf_shim_spec spec = {0};
    if (tf_shim_spec_load(j->folder, &spec, NULL))
        spec.start.id = j->id; /* the journal then knows the instance, but not its job */
    int rc = tf_journal_add(j->root, TF_JOURNAL_STOP, &spec.start, end, err);
    tf_shim_spec_release(&spec);
    return rc;
}

/* Nobody else lives in the instance; we hold the lock. */
static enum tf_shim_status write_exit(struct judge *j, const struct tf_shim_record *shim)
{
    struct tf_error err = TF_ERROR_INIT;
    struct tf_exit_record end = {.code = -1, .at = tf_wall_read()};
    find_cause(j, shim, &end);
    int rc = shim ? write_journal(j, &end, &err) : 0;
    if (!rc)
        rc = tf_exit_record_save(j->folder, &end, &err);
    tf_exit_record_release(&end);
    return rc ? failed(&err) : TF_SHIM_OK;
}

/* Kills what is left; with the lock in hand and nothing left, the last word. STUCK = look again. */
static enum tf_shim_status clear(struct judge *j, const struct tf_shim_record *shim, bool lives, bool locked)
{
    if (lives)
        tf_process_signal(shim->pid, shim->ticks, SIGKILL);
    bool of_this_boot = shim && tf_str_eq(shim->boot, tf_boot_id());
    const struct tf_sweep sweep = {j->id, j->folder, shim ? shim->cgroup : NULL};
    size_t found = of_this_boot || !locked ? tf_sweep_kill(&sweep) : 0;
    if (!locked || found)
        return TF_SHIM_STUCK;
    enum tf_shim_status status = write_exit(j, shim);
    if (shim && shim->cgroup)
        tf_cgroup_remove(shim->cgroup);
    return status;
}

/* With the lock, if it could be had, and the record, if there is one. */
static enum tf_shim_status decide(struct judge *j, const struct tf_shim_record *shim, bool lives, bool locked)
{
    if (!j->kill && !locked && (lives || !shim))
        return TF_SHIM_LIVES;
    if (locked && tf_file_exists(j->folder, "exit"))
        return TF_SHIM_OK;
    if (locked && !shim && tf_file_exists(j->folder, "shim"))
        return TF_SHIM_STUCK; /* it began and died between our two looks */
    return clear(j, shim, lives, locked);
}

/* One look: OK when the exit record is there, LIVES when there is nothing to judge, STUCK when it must be
 * looked again. */
static enum tf_shim_status look(struct judge *j)
{
    struct tf_error err = TF_ERROR_INIT;
    struct tf_shim_record shim = {0};
    if (tf_file_exists(j->folder, "exit"))
        return TF_SHIM_OK;
    bool began = tf_shim_record_load(j->folder, &shim, &err) == 0;
    if (!began && err.code != TF_ERR_NOT_FOUND)
        return failed(&err);
    bool lives = began && tf_shim_lives(&shim);
    int lock = lives ? -1 : tf_instance_lock(j->folder, &err);
    enum tf_shim_status status;
    if (!lives && lock < 0 && err.code != TF_ERR_CONFLICT)
        status = failed(&err);
    else
        status = decide(j, began ? &shim : NULL, lives, lock >= 0);
    if (lock >= 0)
        close(lock);
    tf_shim_record_release(&shim);
    return status;
}

enum tf_shim_status shim_judge(const char *state_dir, const char *path, uint64_t owner, bool kill)
{
    struct judge j = {.kill = kill};
    struct tf_error err = TF_ERROR_INIT;
    if (open_and_queue(&j, state_dir, path, owner, &err))
        return failed(&err);
    int64_t begun = tf_boottime_ms();
    int pause = 1;
    for (;;) {
        enum tf_shim_status status = look(&j);
        if (status != TF_SHIM_STUCK)
            return status;
        if (tf_boottime_ms() - begun > GIVE_UP) {
            fprintf(stderr, "what is left of the instance %s does not die\n", path);
            return TF_SHIM_STUCK;
        }
        poll(NULL, 0, pause);
        pause = pause < 64 ? 2 * pause : 100;
    }
}
