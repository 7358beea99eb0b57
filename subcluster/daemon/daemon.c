/* SPDX-License-Identifier: Apache-2.0 */
/* Puts the daemon together, and takes it apart. */
#include "subcluster/daemon/private.h"

#include "common/base/cleanup.h"

#include <errno.h>
#include <sys/stat.h>

enum { LEAVE_MS = 500 }; /* for the leader to hear of a planned stop */

/* Makes the folder and those above it. */
static int make_folders(const char *path, struct tf_error *err)
{
    TF_AUTO_FREE char *copy = tf_strdup(path);
    for (char *slash = copy; slash;) {
        slash = strchr(slash + 1, '/');
        if (slash)
            *slash = '\0';
        if (mkdir(copy, 0755) && errno != EEXIST)
            return tf_error_errno(err, TF_ERR_IO, errno, "stateDir: %s cannot be made", copy);
        if (slash)
            *slash = '/';
    }
    return 0;
}

static int open_recorder(struct subd *subd, struct tf_error *err)
{
    TF_AUTO_FREE char *name = tf_asprintf("subclusterd-%s", subd->config.name);
    return tf_recorder_create(&subd->config.event_log, &sub_core, name, &subd->recorder, err);
}

static int open_store(struct subd *subd, struct tf_error *err)
{
    subd->store = tf_store_config_open(subd->loop, &subd->config.store, err);
    return subd->store ? 0 : -1;
}

static int prepare(struct subd *subd, struct tf_error *err)
{
    struct tf_complaints complaints = {0};
    bool sound = subd_config_nodes(&subd->config, &subd->nodes, &complaints);
    if (!sound)
        tf_error_set(err, TF_ERR_INVALID, "%s: %s", complaints.items[0].path, complaints.items[0].text);
    tf_complaints_release(&complaints);
    if (!sound)
        return -1;
    if (make_folders(subd->config.state_dir, err) || open_recorder(subd, err) || open_store(subd, err))
        return -1;
    return subd_owner_start(subd, err);
}

struct subd *subd_create(struct tf_loop *loop, struct tf_rpc *rpc, struct subd_options *options,
                         void (*failed)(void *arg), void *arg, struct tf_error *err)
{
    struct subd *subd = tf_calloc(1, sizeof *subd);
    subd->loop = loop;
    subd->rpc = rpc;
    subd->config = options->config;
    options->config = (struct subd_config){0};
    tf_table_copy(&subd_config_table, &subd->first_config, &subd->config);
    subd->accept_rollback = options->accept_rollback;
    subd->new_engine_memory = options->new_engine_memory;
    subd->failed = failed;
    subd->failed_arg = arg;
    if (prepare(subd, err)) {
        subd_destroy(subd);
        return NULL;
    }
    subd_upkeep_start(subd);
    if (subd_metrics_start(subd, err)) {
        subd_destroy(subd);
        return NULL;
    }
    return subd;
}

static void on_left(struct subd *subd)
{
    tf_timer_cancel(subd->loop, &subd->leaving);
    subd_owner_release(subd);
}

static void on_leaving_late(struct tf_timer *timer)
{
    subd_owner_release(TF_CONTAINER_OF(timer, struct subd, leaving));
}

void subd_stop(struct subd *subd, void (*done)(void *arg), void *arg)
{
    subd->stopping = true;
    subd->stopped = done;
    subd->stopped_arg = arg;
    struct tf_mono due = {tf_loop_now(subd->loop).mono.ms + LEAVE_MS};
    if (subd_uplink_leave(subd, on_left))
        tf_timer_start(subd->loop, &subd->leaving, due, on_leaving_late);
    else
        subd_owner_release(subd);
}

void subd_destroy(struct subd *subd)
{
    if (!subd)
        return;
    tf_timer_cancel(subd->loop, &subd->leaving);
    subd_upkeep_stop(subd);
    subd_metrics_stop(subd);
    subd_owner_drop(subd);
    subd_logs_destroy(subd);
    subd_diagnosis_destroy(subd);
    tf_keep_destroy(subd->keep);
    tf_store_destroy(subd->store);
    tf_recorder_destroy(subd->recorder);
    tf_vec_release(&subd->events);
    subd_nodes_release(&subd->nodes);
    subd_config_release(&subd->config);
    subd_config_release(&subd->first_config);
    free(subd);
}
