/* SPDX-License-Identifier: Apache-2.0 */
/* Ends every instance of a state folder, for an operator who takes the whole subcluster down: instances
 * outlive their daemon on purpose, so stopping it stops none of them. The daemon must not run meanwhile, or
 * it starts them again. */
#include "subcluster/engine/shim/shim.h"

#include "common/base/cleanup.h"
#include "common/base/vec.h"

#include <dirent.h>
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

struct names {
    char **items;
    size_t count, cap;
};

static void names_release(struct names *names)
{
    tf_vec_each (name, names)
        free(*name);
    tf_vec_release(names);
}

/* The folders in dir/path; none if there is no such folder. */
static int list(const char *dir, const char *path, struct names *out, struct tf_error *err)
{
    TF_AUTO_FREE char *full = tf_asprintf("%s/%s", dir, path);
    DIR *stream = opendir(full);
    if (!stream)
        return errno == ENOENT ? 0 : tf_error_errno(err, TF_ERR_IO, errno, "%s cannot be read", full);
    struct dirent *entry;
    while ((entry = readdir(stream)))
        if (entry->d_name[0] != '.' && entry->d_type == DT_DIR)
            tf_vec_push(out, tf_strdup(entry->d_name));
    closedir(stream);
    return 0;
}

/* Paths of all instances, as "UID/EPOCH/INDEX.ATTEMPT". */
static int collect(const char *state_dir, const char *path, int depth, struct names *out,
                   struct tf_error *err)
{
    struct names here = {0};
    TF_AUTO_FREE char *from = tf_asprintf("instances/%s", path);
    int rc = list(state_dir, from, &here, err);
    for (size_t i = 0; i < here.count && !rc; i++) {
        TF_AUTO_FREE char *deeper = tf_asprintf("%s%s%s", path, *path ? "/" : "", here.items[i]);
        if (depth > 0)
            rc = collect(state_dir, deeper, depth - 1, out, err);
        else
            tf_vec_push(out, TF_STEAL(deeper));
    }
    names_release(&here);
    return rc;
}

static int owner_of(const char *state_dir, uint64_t *owner, struct tf_error *err)
{
    int root = tf_root_open(state_dir, err);
    if (root < 0)
        return -1;
    int rc = tf_owner_load(root, owner, err);
    close(root);
    return rc;
}

/* A judge keeps what it opened until it exits, so each instance gets a process of its own. */
static enum tf_shim_status judge(const char *state_dir, const char *path, uint64_t owner)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0)
        _exit((int)shim_judge(state_dir, path, owner, true));
    while (pid > 0 && waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            pid = -1;
    return pid > 0 && WIFEXITED(status) ? (enum tf_shim_status)WEXITSTATUS(status) : TF_SHIM_TROUBLE;
}

enum tf_shim_status shim_end_all(const char *state_dir)
{
    struct tf_error err = TF_ERROR_INIT;
    struct names paths = {0};
    uint64_t owner = 0;
    enum tf_shim_status worst = TF_SHIM_OK;
    if (owner_of(state_dir, &owner, &err) || collect(state_dir, "", 2, &paths, &err)) {
        fprintf(stderr, "%s\n", err.text);
        worst = TF_SHIM_TROUBLE;
    }
    tf_vec_each (path, &paths) {
        enum tf_shim_status status = judge(state_dir, *path, owner);
        if (status != TF_SHIM_OK) {
            fprintf(stderr, "%s has not ended (status %d)\n", *path, (int)status);
            worst = status;
        }
    }
    names_release(&paths);
    return worst;
}
