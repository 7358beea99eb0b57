/* SPDX-License-Identifier: Apache-2.0 */
/* What the calls of engine.h do, in the worker. */
#include "subcluster/engine/worker.h"

#include "common/base/alloc.h"
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "subcluster/engine/check.h"
#include "subcluster/engine/state/memory.h"
#include "subcluster/engine/state/proc.h"
#include "subcluster/engine/state/record.h"
#include "subcluster/engine/state/spec.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the memory ---- */

static void unknown(struct worker *w, const char *text)
{
    struct tf_engine_event event = {.type = TF_ENGINE_UNKNOWN, .text = text};
    w->adopted = w->listing = false;
    w->tell(w->context, &event);
}

static int open_root(struct worker *w, struct tf_error *err)
{
    if (w->root < 0)
        w->root = tf_root_open(w->config.state_dir, err);
    return w->root < 0 ? -1 : 0;
}

static int make_memory(struct worker *w, struct tf_error *err)
{
    if (tf_root_make(w->config.state_dir, err) || open_root(w, err))
        return -1;
    if (mkdirat(w->root, "instances", 0700) != 0 && errno != EEXIST)
        return tf_error_errno(err, TF_ERR_IO, errno, "cannot make the folder instances in %s",
                              w->config.state_dir);
    return tf_memory_make(w->root, &w->memory, err);
}

/* ---- adopt ---- */

static void drop_old_journals(struct worker *w)
{
    char oldest[32];
    struct tm day;
    time_t limit = (time_t)(tf_wall_read().ms / 1000) - (time_t)w->config.journal_days * 86400;
    int fd = w->config.journal_days > 0 ? openat(w->root, "journal", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir)
        return;
    gmtime_r(&limit, &day);
    strftime(oldest, sizeof oldest, "%Y-%m-%d.log", &day);
    for (struct dirent *entry; (entry = readdir(dir));)
        if (strlen(entry->d_name) == strlen(oldest) && strcmp(entry->d_name, oldest) < 0)
            unlinkat(dirfd(dir), entry->d_name, 0);
    closedir(dir);
}

static void adopt_one(struct worker *w, const struct tf_instance_id *id)
{
    struct tf_error err = TF_ERROR_INIT;
    struct tf_shim_spec spec = {0};
    struct instance *i = instance_find(w, id);
    if (!i)
        i = instance_add(w, id, false, &err);
    if (!i) {
        worker_trouble(w, "%s", err.text);
        return;
    }
    int folder = i->has_spec ? -1 : tf_instance_open(w->root, id, false, NULL);
    if (folder >= 0 && tf_shim_spec_load(folder, &spec, NULL) == 0)
        instance_learn(w, i, &spec.start);
    if (folder >= 0)
        close(folder);
    tf_shim_spec_release(&spec);
    instance_settle(w, i);
}

/* Calls itself for UID, EPOCH and INDEX.ATTEMPT; what has another name is not ours. Folders that a broken-off
 * forget left empty are removed. */
static void scan(struct worker *w, int parent, const char *path, int level)
{
    DIR *dir = parent < 0 ? NULL : fdopendir(parent);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        char below[TF_INSTANCE_PATH];
        struct tf_instance_id id;
        const char *slash = level ? "/" : "", *name = entry->d_name;
        if (name[0] == '.' ||
            (size_t)snprintf(below, sizeof below, "%s%s%s", path, slash, name) >= sizeof below)
            continue;
        if (level == 2) {
            if (tf_instance_path_parse(below, &id, NULL) == 0)
                adopt_one(w, &id);
            continue;
        }
        scan(w, openat(dirfd(dir), name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW), below, level + 1);
        unlinkat(dirfd(dir), name, AT_REMOVEDIR); /* fails where there is something */
    }
    if (dir)
        closedir(dir);
}

static void adopt(struct worker *w)
{
    struct tf_error err = TF_ERROR_INIT;
    if (tf_memory_load(w->root, &w->memory, &err)) {
        unknown(w, err.text);
        return;
    }
    w->adopted = w->listing = true;
    drop_old_journals(w);
    if (w->down_watch < 0 && (mkdirat(w->root, "down", 0700) == 0 || errno == EEXIST)) {
        TF_AUTO_FREE char *path = tf_asprintf("%s/down", w->config.state_dir);
        w->down_watch = inotify_add_watch(w->inotify, path,
                                          IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_MOVED_FROM | IN_ONLYDIR);
        if (w->down_watch < 0)
            worker_trouble(w, "cannot watch the folder %s: %s", path, strerror(errno));
    }
    scan(w, openat(w->root, "instances", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW), "", 0);
    nodes_read_down(w);
    nodes_tell(w);
}

void worker_listing_check(struct worker *w)
{
    if (!w->listing)
        return;
    for (struct instance *i = w->instances; i; i = i->hh.next)
        if (i->adopting)
            return;
    w->listing = false;
    struct tf_engine_event event = {.type = TF_ENGINE_LISTED, .memory = w->memory, .text = ""};
    w->tell(w->context, &event);
}

/* ---- start ---- */

static enum tf_engine_refusal cannot_start(const struct worker *w, const struct tf_engine_spec *spec,
                                           char *text, size_t size)
{
    int node = node_find(w, spec->node);
    if (geteuid() == 0 && !w->config.allow_root) {
        snprintf(text, size,
                 "subclusterd runs as root and would run this job as root: run it as another user, or "
                 "set allowRoot: true in the engine's configuration");
        return TF_REFUSED_POLICY;
    }
    const struct tf_node *n = node < 0 ? NULL : &w->nodes[node].node;
    enum tf_engine_refusal why = engine_check_start(n, spec, text, size);
    if (why)
        return why;
    if (w->nodes[node].down || w->nodes[node].dying) {
        snprintf(text, size, "node %s is out of service: see %s/down", n->name, w->config.state_dir);
        return TF_REFUSED_NODE;
    }
    return TF_REFUSED_NONE;
}

/* Lends the start spec to a shim's; only work_dir and its kin are added. */
static int save_spec(struct worker *w, const struct tf_engine_spec *start, struct tf_error *err)
{
    struct tf_shim_spec spec = {
        .start = *start,
        .owner = w->owner,
        .output_limit = w->config.output_limit,
        .files_limit = w->config.files_limit,
        .port_low = w->config.port_low,
        .port_high = w->config.port_high,
        .cgroup = w->config.cgroup,
        .work_dir = w->config.work_dir,
    };
    int folder = tf_instance_open(w->root, &start->id, true, err);
    if (folder < 0)
        return -1;
    int rc = tf_shim_spec_save(folder, &spec, err);
    close(folder);
    return rc;
}

static void start(struct worker *w, const struct tf_engine_spec *spec)
{
    char text[400];
    struct tf_error err = TF_ERROR_INIT;
    struct instance *i = instance_find(w, &spec->id);
    if (i && (i->exited || i->began || i->told == TF_INSTANCE_STARTING || i->stopping)) {
        instance_tell(w, i);
        return;
    }
    enum tf_engine_refusal why = cannot_start(w, spec, text, sizeof text);
    if (why) {
        instance_refuse(w, &spec->id, why, text);
        return;
    }
    if (!i)
        i = instance_add(w, &spec->id, true, &err);
    if (!i || save_spec(w, spec, &err)) {
        instance_refuse(w, &spec->id, TF_REFUSED_RESOURCES, err.text);
        if (i)
            instance_remove(w, i);
        return;
    }
    instance_learn(w, i, spec);
    i->told = TF_INSTANCE_STARTING;
    errand_add(w, i, ERRAND_RUN);
    instance_tell(w, i);
}

/* ---- stop, forget, peers, fence ---- */

static void stop(struct worker *w, const struct command *c)
{
    struct tf_error err = TF_ERROR_INIT;
    struct instance *i = instance_find(w, &c->id);
    if (!i)
        i = instance_add(w, &c->id, true, &err);
    if (!i) {
        worker_trouble(w, "a stop could not be carried out: %s", err.text);
        return;
    }
    if (i->exited) {
        instance_tell(w, i);
        return;
    }
    int64_t delay = c->stop_delay > 0 ? c->stop_delay : 0, grace = c->grace > 0 ? c->grace : 0;
    int64_t term_at = tf_boottime_ms() + delay;
    const struct tf_stop_request request = {term_at, term_at + grace, TF_STOP_ASKED};
    instance_stop(w, i, &request);
}

static void forget(struct worker *w, const struct command *c)
{
    struct epoch *epoch = epoch_find(w, c->id.uid, c->id.epoch);
    struct instance *next = NULL;
    for (struct instance *i = epoch ? epoch->first : NULL; i; i = next) {
        next = i->next;
        bool unbegun = !i->began && !i->busy && !i->queued && i->told == 0 && !i->stopping;
        if (i->exited || unbegun)
            instance_forget(w, i);
        else
            instance_refuse(w, &i->id, TF_REFUSED_RUNNING, "it has not ended");
    }
    epoch_clean(w, c->id.uid, c->id.epoch);
}

static void poke_all(struct worker *w, const struct command *c, bool only_signalled)
{
    struct epoch *epoch = epoch_find(w, c->id.uid, c->id.epoch);
    for (struct instance *i = epoch ? epoch->first : NULL; i; i = i->next)
        if (i->wants_signal || !only_signalled)
            instance_poke(i);
}

static void peers(struct worker *w, const struct command *c)
{
    struct tf_error err = TF_ERROR_INIT;
    int folder = tf_epoch_open(w->root, c->id.uid, c->id.epoch, true, &err);
    if (folder < 0 || tf_file_save(folder, "peers", c->bytes, c->len, false, &err))
        worker_trouble(w, "a peers file could not be written: %s", err.text);
    else
        poke_all(w, c, true);
    if (folder >= 0)
        close(folder);
}

/* A later deadline is found by the shims when the earlier one comes; a sooner one must be announced. */
static void fence(struct worker *w, const struct command *c)
{
    struct tf_error err = TF_ERROR_INIT;
    int folder = tf_epoch_open(w->root, c->id.uid, c->id.epoch, true, &err);
    int64_t before = folder < 0 ? 0 : tf_fence_load(folder);
    if (folder < 0 || tf_fence_save(folder, c->deadline, &err))
        worker_trouble(w, "a fence could not be written: %s", err.text);
    else if (c->deadline && c->deadline < before)
        poke_all(w, c, false);
    if (folder >= 0)
        close(folder);
}

/* ---- every call ---- */

static bool owner_holds(struct worker *w, uint64_t owner)
{
    struct tf_error err = TF_ERROR_INIT;
    uint64_t seen = owner;
    if (tf_owner_raise(w->root, &seen, &err) == 0) {
        w->owner = owner;
        return true;
    }
    if (err.code == TF_ERR_REFUSED) {
        struct tf_engine_event event = {.type = TF_ENGINE_STALE, .owner = seen, .text = err.text};
        w->tell(w->context, &event);
    } else {
        worker_trouble(w, "%s", err.text);
    }
    return false;
}

static bool open_memory(struct worker *w, const struct command *c)
{
    struct tf_error err = TF_ERROR_INIT;
    int rc = c->kind == COMMAND_INITIALISE ? make_memory(w, &err) : open_root(w, &err);
    if (rc == 0)
        return true;
    if (c->kind == COMMAND_ADOPT)
        unknown(w, err.text);
    else
        worker_trouble(w, "%s", err.text);
    return false;
}

void worker_call(struct worker *w, struct command *c)
{
    bool lists = c->kind == COMMAND_INITIALISE || c->kind == COMMAND_ADOPT;
    if (!open_memory(w, c) || !owner_holds(w, c->owner))
        return;
    if (!lists && !w->adopted) {
        worker_trouble(w, "the engine was called before it was asked what it has");
        return;
    }
    switch (c->kind) {
    case COMMAND_INITIALISE:
    case COMMAND_ADOPT:
        adopt(w);
        break;
    case COMMAND_START:
        start(w, &c->spec);
        break;
    case COMMAND_STOP:
        stop(w, c);
        break;
    case COMMAND_FORGET:
        forget(w, c);
        break;
    case COMMAND_PEERS:
        peers(w, c);
        break;
    case COMMAND_FENCE:
        fence(w, c);
        break;
    }
}
