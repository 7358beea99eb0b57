/* SPDX-License-Identifier: Apache-2.0 */
/* The table of instances, and what their folders say. A look reads the folder and draws the conclusions; it
 * may come at any time and any number of times. */
#include "subcluster/engine/worker.h"

#include "common/base/alloc.h"
#include "common/base/text.h"
#include "subcluster/engine/state/proc.h"
#include "subcluster/engine/state/spec.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utlist.h>

enum {
    SOON = 50,          /* ms: until a look at what is about to change */
    UNWATCHED = 2000,   /* ms: between looks at a folder that could not be watched */
    SETTLE = 5000,      /* ms: for a start of an earlier owner to come to something */
    DISK_AGAIN = 1000,  /* ms */
    STUCK_AGAIN = 5000, /* ms */
    LAUNCHES = 5,       /* of a launcher that is killed before it did anything */
};

/* ---- the table ---- */

struct epoch *epoch_find(struct worker *w, struct tf_uid uid, uint64_t epoch)
{
    struct epoch_key key = {uid, epoch};
    struct epoch *found = NULL;
    HASH_FIND(hh, w->epochs, &key, sizeof key, found);
    return found;
}

struct instance *instance_find(struct worker *w, const struct tf_instance_id *id)
{
    struct instance *found = NULL;
    HASH_FIND(hh, w->instances, id, sizeof *id, found);
    return found;
}

static struct epoch *epoch_get(struct worker *w, const struct tf_instance_id *id)
{
    struct epoch *epoch = epoch_find(w, id->uid, id->epoch);
    if (!epoch) {
        epoch = tf_calloc(1, sizeof *epoch);
        epoch->key = (struct epoch_key){id->uid, id->epoch};
        HASH_ADD(hh, w->epochs, key, sizeof epoch->key, epoch);
    }
    return epoch;
}

static int watch(struct worker *w, int folder)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", folder);
    return inotify_add_watch(w->inotify, path, IN_MOVED_TO | IN_CLOSE_WRITE | IN_ONLYDIR);
}

struct instance *instance_add(struct worker *w, const struct tf_instance_id *id, bool create,
                              struct tf_error *err)
{
    int folder = tf_instance_open(w->root, id, create, err);
    if (folder < 0)
        return NULL;
    struct instance *i = tf_calloc(1, sizeof *i);
    i->id = *id;
    i->node = -1;
    i->due = i->stuck_at = INT64_MAX;
    i->watch = watch(w, folder);
    close(folder);
    if (i->watch < 0)
        worker_trouble(w, "cannot watch an instance: %s; raise fs.inotify.max_user_watches", strerror(errno));
    else
        HASH_ADD(by_watch, w->watches, watch, sizeof i->watch, i);
    i->epoch = epoch_get(w, id);
    DL_APPEND2(i->epoch->first, i, previous, next);
    HASH_ADD(hh, w->instances, id, sizeof i->id, i);
    if (i->watch < 0)
        instance_due(w, i, tf_boottime_ms() + UNWATCHED);
    return i;
}

/* Keeps the node's numbers: counted while it has not ended. */
static void recount(struct worker *w, struct instance *i, bool alive)
{
    if (i->node < 0 || alive == i->counted)
        return;
    struct node *n = &w->nodes[i->node];
    n->alive += alive ? 1 : -1;
    if (i->node_lost)
        n->dying += alive ? 1 : -1;
    i->counted = alive;
    node_judge(w, n);
}

static void untime(struct worker *w, struct instance *i)
{
    if (i->timed)
        DL_DELETE2(w->timed, i, timed_previous, timed_next);
    i->timed = false;
}

void instance_remove(struct worker *w, struct instance *i)
{
    recount(w, i, false);
    untime(w, i);
    if (i->queued)
        DL_DELETE2(w->queue, i, queue_previous, queue_next);
    if (i->watch >= 0) {
        HASH_DELETE(by_watch, w->watches, i);
        inotify_rm_watch(w->inotify, i->watch);
    }
    DL_DELETE2(i->epoch->first, i, previous, next);
    if (!i->epoch->first) {
        HASH_DELETE(hh, w->epochs, i->epoch);
        free(i->epoch);
    }
    HASH_DELETE(hh, w->instances, i);
    free(i->tenant);
    free(i->name);
    free(i->node_name);
    free(i);
}

void instance_learn(struct worker *w, struct instance *i, const struct tf_engine_spec *spec)
{
    recount(w, i, false);
    i->has_spec = true;
    tf_str_set(&i->tenant, spec->tenant);
    tf_str_set(&i->name, spec->name);
    tf_str_set(&i->node_name, spec->node);
    i->node = node_find(w, spec->node);
    i->gpus = spec->gpus;
    i->probes = spec->ready.command.count > 0;
    i->wants_signal = spec->resize_signal != NULL;
    recount(w, i, !i->exited);
}

/* ---- time ---- */

static void retime(struct worker *w, struct instance *i)
{
    bool timed = i->due != INT64_MAX || i->stuck_at != INT64_MAX;
    if (timed == i->timed)
        return;
    if (i->timed)
        DL_DELETE2(w->timed, i, timed_previous, timed_next);
    else
        DL_APPEND2(w->timed, i, timed_previous, timed_next);
    i->timed = timed;
}

void instance_due(struct worker *w, struct instance *i, int64_t due)
{
    i->due = due < i->due ? due : i->due;
    retime(w, i);
}

static void errand_later(struct worker *w, struct instance *i, enum errand errand, int64_t delay)
{
    i->again = errand > i->again ? errand : i->again;
    instance_due(w, i, tf_boottime_ms() + delay);
}

static void set_stuck_at(struct worker *w, struct instance *i, int64_t kill_at)
{
    int64_t at = kill_at > INT64_MAX - w->config.kill_bound ? INT64_MAX : kill_at + w->config.kill_bound;
    i->stuck_at = at < i->stuck_at ? at : i->stuck_at;
    retime(w, i);
}

int64_t instances_next(const struct worker *w)
{
    int64_t next = INT64_MAX;
    for (const struct instance *i = w->timed; i; i = i->timed_next) {
        next = i->due < next ? i->due : next;
        next = i->stuck_at < next ? i->stuck_at : next;
    }
    return next;
}

static void come_due(struct worker *w, struct instance *i)
{
    enum errand errand = i->again;
    i->due = INT64_MAX;
    i->again = ERRAND_NONE;
    retime(w, i);
    if (i->watch < 0 && !i->exited)
        instance_due(w, i, tf_boottime_ms() + UNWATCHED);
    if (i->forgetting)
        instance_forget(w, i); /* may free it */
    else if (errand != ERRAND_NONE && !i->exited)
        errand_add(w, i, errand);
    else
        instance_look(w, i);
}

void instances_tick(struct worker *w, int64_t now)
{
    struct instance *i, *next;
    DL_FOREACH_SAFE2(w->timed, i, next, timed_next)
    {
        if (i->stuck_at <= now) {
            i->stuck_at = INT64_MAX;
            retime(w, i);
            instance_look(w, i); /* we may have slept, and it ended meanwhile */
            if (!i->exited)
                errand_add(w, i, ERRAND_KILL);
        }
        if (i->due <= now)
            come_due(w, i);
    }
}

/* ---- telling ---- */

static struct tf_engine_event about(const struct instance *i, enum tf_instance_state state)
{
    return (struct tf_engine_event){.type = TF_ENGINE_INSTANCE,
                                    .id = i->id,
                                    .state = state,
                                    .exit_code = -1,
                                    .at = i->began_at,
                                    .ports = i->ports,
                                    .port_count = i->port_count,
                                    .tenant = i->tenant,
                                    .name = i->name,
                                    .node_name = i->node_name,
                                    .gpus = i->gpus,
                                    .text = ""};
}

static void tell(struct worker *w, struct instance *i, enum tf_instance_state state, const char *text)
{
    struct tf_engine_event event = about(i, state);
    event.text = text;
    if (event.at.ms == 0 || state != TF_INSTANCE_RUNNING)
        event.at = tf_wall_read();
    w->tell(w->context, &event);
}

void instance_refuse(struct worker *w, const struct tf_instance_id *id, enum tf_engine_refusal why,
                     const char *text)
{
    struct tf_engine_event event = {.type = TF_ENGINE_INSTANCE,
                                    .id = *id,
                                    .state = TF_INSTANCE_REFUSED,
                                    .refusal = why,
                                    .exit_code = -1,
                                    .at = tf_wall_read(),
                                    .text = text};
    w->tell(w->context, &event);
}

static void tell_exit(struct worker *w, struct instance *i, const struct tf_exit_record *end)
{
    struct tf_engine_event event = about(i, TF_INSTANCE_EXITED);
    event.cause = end->cause;
    event.exit_code = end->code;
    event.exit_signal = end->signal;
    event.at = end->at;
    event.text = end->text ? end->text : "";
    w->tell(w->context, &event);
}

/* ---- looking ---- */

static void has_ended(struct worker *w, struct instance *i, const struct tf_exit_record *end, bool again)
{
    bool news = !i->exited;
    i->exited = true;
    i->adopting = false;
    i->told = TF_INSTANCE_EXITED;
    i->stuck_at = INT64_MAX;
    i->again = ERRAND_NONE;
    retime(w, i);
    if (news || again)
        tell_exit(w, i, end);
    recount(w, i, false);
}

void instance_poke(struct instance *i)
{
    if (i->began && !i->exited)
        tf_process_signal(i->pid, i->ticks, SIGUSR1);
}

/* The shim is known from now on. What was asked before could not be announced to it. */
static void note_began(struct worker *w, struct instance *i, int folder, const struct tf_shim_record *record)
{
    struct tf_stop_request stop;
    i->began = true;
    i->pid = record->pid;
    i->ticks = record->ticks;
    i->began_at = record->at;
    i->port_count = record->port_count;
    memcpy(i->ports, record->ports, sizeof i->ports);
    if (tf_stop_request_load(folder, &stop, NULL) == 0) {
        i->stopping = true;
        set_stuck_at(w, i, stop.kill_at);
    }
    instance_poke(i);
}

static void lives(struct worker *w, struct instance *i, int folder, bool again)
{
    bool ready = tf_file_exists(folder, i->probes ? "ready" : "running");
    enum tf_instance_state state = ready ? TF_INSTANCE_READY : TF_INSTANCE_RUNNING;
    i->adopting = false;
    if (state > i->told || again)
        tell(w, i, state, "");
    i->told = state > i->told ? state : i->told;
}

/* No record and no exit: it did not begin, or is about to. */
static void look_unbegun(struct worker *w, struct instance *i, int folder, bool again)
{
    if (again && i->told == TF_INSTANCE_STARTING)
        tell(w, i, TF_INSTANCE_STARTING, "");
    if (i->busy || i->queued)
        return;
    int lock = tf_instance_lock(folder, NULL);
    if (lock >= 0)
        close(lock);
    if (i->stopping)
        errand_later(w, i, ERRAND_END, SOON);
    else if (i->told == TF_INSTANCE_STARTING)
        errand_later(w, i, ERRAND_RUN, SOON);
    else if (lock >= 0)
        i->adopting = false; /* nothing ever ran: not told, and a start may come */
    else if (i->settle_by && tf_boottime_ms() >= i->settle_by)
        errand_add(w, i, ERRAND_KILL);
    else
        instance_due(w, i, tf_boottime_ms() + SOON);
}

/* With the folder open. */
static void look_into(struct worker *w, struct instance *i, int folder, bool again)
{
    struct tf_exit_record end;
    struct tf_shim_record record;
    struct tf_error err = TF_ERROR_INIT;
    if (tf_exit_record_load(folder, &end, &err) == 0) {
        has_ended(w, i, &end, again);
        tf_exit_record_release(&end);
        return;
    }
    if (err.code == TF_ERR_NOT_FOUND && tf_shim_record_load(folder, &record, &err) == 0) {
        if (!i->began)
            note_began(w, i, folder, &record);
        if (tf_shim_lives(&record) && !i->shim_closed)
            lives(w, i, folder, again);
        else if (!i->busy)
            errand_add(w, i, ERRAND_END);
        tf_shim_record_release(&record);
        return;
    }
    if (err.code == TF_ERR_NOT_FOUND) {
        look_unbegun(w, i, folder, again);
        return;
    }
    worker_trouble(w, "an instance of %s/%s: %s", i->tenant ? i->tenant : "?", i->name ? i->name : "?",
                   err.text);
    instance_due(w, i, tf_boottime_ms() + DISK_AGAIN);
}

static void look(struct worker *w, struct instance *i, bool again)
{
    struct tf_error err = TF_ERROR_INIT;
    int folder = tf_instance_open(w->root, &i->id, false, &err);
    if (folder >= 0) {
        look_into(w, i, folder, again);
        close(folder);
    } else if (err.code == TF_ERR_NOT_FOUND) {
        i->adopting = false;
        worker_trouble(w, "the folder of an instance of %s/%s has been removed by someone else",
                       i->tenant ? i->tenant : "?", i->name ? i->name : "?");
    } else {
        worker_trouble(w, "%s", err.text);
        instance_due(w, i, tf_boottime_ms() + DISK_AGAIN);
    }
}

void instance_look(struct worker *w, struct instance *i)
{
    look(w, i, false);
}

void instance_tell(struct worker *w, struct instance *i)
{
    look(w, i, true);
}

void instance_settle(struct worker *w, struct instance *i)
{
    i->adopting = true;
    i->settle_by = tf_boottime_ms() + SETTLE;
    look(w, i, true);
}

/* ---- stopping ---- */

void instance_stop(struct worker *w, struct instance *i, const struct tf_stop_request *request)
{
    struct tf_error err = TF_ERROR_INIT;
    int folder = tf_instance_open(w->root, &i->id, true, &err);
    if (folder < 0 || tf_stop_request_add(folder, request, &err))
        worker_trouble(w, "a stop could not be written down: %s", err.text);
    if (folder >= 0)
        close(folder);
    i->stopping = true;
    if (request->why == TF_STOP_NODE_LOST && !i->node_lost) {
        i->node_lost = true;
        if (i->counted)
            w->nodes[i->node].dying++;
    }
    if (!i->began) {
        /* A launch in the queue becomes an end; one under way sees the request, or fails and is judged. */
        if (!i->busy)
            errand_add(w, i, ERRAND_END);
        return;
    }
    set_stuck_at(w, i, request->kill_at);
    instance_poke(i);
}

/* ---- what came of an errand ---- */

static bool has_file(struct worker *w, const struct instance *i, const char *name)
{
    int folder = tf_instance_open(w->root, &i->id, false, NULL);
    bool has = folder >= 0 && tf_file_exists(folder, name);
    if (folder >= 0)
        close(folder);
    return has;
}

/* The launcher could not: nothing of it runs and nothing will. */
static void start_failed(struct worker *w, struct instance *i, const char *text)
{
    if (i->stopping) {
        errand_add(w, i, ERRAND_END);
        return;
    }
    instance_refuse(w, &i->id, TF_REFUSED_RESOURCES, *text ? text : "the shim was killed while it started");
    instance_erase(w, i);
    instance_remove(w, i);
}

static void stale(struct worker *w)
{
    struct tf_engine_event event = {.type = TF_ENGINE_STALE, .text = ""};
    tf_owner_load(w->root, &event.owner, NULL);
    w->tell(w->context, &event);
}

static void run_returned(struct worker *w, struct instance *i, int status, const char *text)
{
    if (status == TF_SHIM_STALE) {
        stale(w);
    } else if (has_file(w, i, "exit") || has_file(w, i, "shim")) {
        instance_look(w, i);
    } else if (status == TF_SHIM_HELD || (status == TF_SHIM_DIED && ++i->tries < LAUNCHES)) {
        errand_later(w, i, i->stopping ? ERRAND_END : ERRAND_RUN, SOON);
    } else {
        start_failed(w, i, text);
    }
}

static void end_returned(struct worker *w, struct instance *i, enum errand errand, int status,
                         const char *text)
{
    switch (status) {
    case TF_SHIM_OK:
        instance_look(w, i);
        break;
    case TF_SHIM_STALE:
        stale(w);
        break;
    case TF_SHIM_LIVES: /* about to begin, or its end is not complete yet */
        if (i->shim_closed || !i->began)
            errand_later(w, i, ERRAND_END, SOON);
        else
            instance_look(w, i);
        break;
    case TF_SHIM_STUCK:
        i->adopting = false;
        tell(w, i, TF_INSTANCE_STUCK, text);
        errand_later(w, i, errand, STUCK_AGAIN);
        break;
    default:
        worker_trouble(w, "an instance of %s/%s cannot be ended: %s", i->tenant ? i->tenant : "?",
                       i->name ? i->name : "?", text);
        errand_later(w, i, errand, DISK_AGAIN);
    }
}

void instance_returned(struct worker *w, struct instance *i, enum errand errand, int status, const char *text)
{
    enum errand next = i->errand;
    i->errand = ERRAND_NONE;
    if (next > errand && !i->exited) /* asked for meanwhile */
        errand_add(w, i, next);
    else if (errand == ERRAND_RUN)
        run_returned(w, i, status, text);
    else
        end_returned(w, i, errand, status, text);
}

/* ---- forgetting ---- */

/* Whatever the job put there goes too; links are not followed. */
static void remove_entries(int folder, int depth)
{
    int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        if (tf_str_eq(entry->d_name, ".") || tf_str_eq(entry->d_name, ".."))
            continue;
        if (unlinkat(folder, entry->d_name, 0) == 0 || depth == 0)
            continue;
        int below = openat(folder, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        if (below >= 0) {
            remove_entries(below, depth - 1);
            close(below);
            unlinkat(folder, entry->d_name, AT_REMOVEDIR);
        }
    }
    if (dir)
        closedir(dir);
}

bool instance_erase(struct worker *w, struct instance *i)
{
    char path[TF_INSTANCE_PATH], name[TF_INSTANCE_PATH + 16];
    int folder = tf_instance_open(w->root, &i->id, false, NULL);
    if (folder < 0)
        return true;
    int lock = tf_instance_lock(folder, NULL);
    if (lock >= 0) {
        remove_entries(folder, 16);
        tf_instance_path(&i->id, path);
        snprintf(name, sizeof name, "instances/%s", path);
        unlinkat(w->root, name, AT_REMOVEDIR);
        close(lock);
    }
    close(folder);
    return lock >= 0;
}

/* A shim writes its exit record shortly before it lets go of the lock. */
void instance_forget(struct worker *w, struct instance *i)
{
    i->forgetting = true;
    if (i->busy || !instance_erase(w, i)) {
        instance_due(w, i, tf_boottime_ms() + SOON);
        return;
    }
    struct tf_engine_event gone = {
        .type = TF_ENGINE_INSTANCE, .id = i->id, .state = TF_INSTANCE_GONE, .exit_code = -1, .text = ""};
    instance_remove(w, i);
    epoch_clean(w, gone.id.uid, gone.id.epoch);
    gone.at = tf_wall_read();
    w->tell(w->context, &gone);
}

/* The folders of an epoch and of a job go with their last instance. */
void epoch_clean(struct worker *w, struct tf_uid uid, uint64_t epoch)
{
    if (epoch_find(w, uid, epoch))
        return;
    int folder = tf_epoch_open(w->root, uid, epoch, false, NULL);
    if (folder >= 0) {
        remove_entries(folder, 0); /* files only: an instance that is not in the table stays */
        close(folder);
    }
    char text[TF_UID_TEXT], path[TF_INSTANCE_PATH];
    tf_uid_format(uid, text);
    snprintf(path, sizeof path, "instances/%s/%" PRIu64, text, epoch);
    unlinkat(w->root, path, AT_REMOVEDIR);
    snprintf(path, sizeof path, "instances/%s", text);
    unlinkat(w->root, path, AT_REMOVEDIR);
}
