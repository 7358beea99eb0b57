/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a fedd: what is opened in which order, and closed in the other. */
#include "federation/daemon/private.h"
#include "federation/daemon/roles.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"

#include <errno.h>
#include <sys/stat.h>

static int make_folder(const char *path, struct tf_error *err)
{
    if (mkdir(path, 0700) == 0 || errno == EEXIST)
        return 0;
    return tf_error_errno(err, TF_ERR_IO, errno, "dataDir %s cannot be made%s", path,
                          errno == ENOENT ? " (make the folder that it is in)" : "");
}

static int open_decisions(struct fedd *fedd, struct tf_error *err)
{
    fedd->decisions = tf_decisions_open(fedd->config.log.decisions);
    return tf_decisions_check(fedd->decisions, err);
}

static int open_recorder(struct fedd *fedd, struct tf_error *err)
{
    return tf_recorder_create(&fedd->config.event_log, &fed_core, "fedd", &fedd->recorder, err);
}

static int open_store(struct fedd *fedd, struct tf_error *err)
{
    fedd->store = tf_store_config_open(fedd->loop, &fedd->config.store, err);
    return fedd->store ? 0 : -1;
}

/* What others are told: the address that was configured, with the port that was bound. */
static char *advertised(const struct fedd *fedd)
{
    const struct fedd_config *config = &fedd->config;
    if (config->advertise)
        return tf_strdup(config->advertise);
    const char *listen = fedd_config_listen(config), *colon = strrchr(listen, ':');
    if (tf_starts_with(listen, "unix:") || !colon)
        return tf_strdup(listen);
    return tf_asprintf("%.*s:%d", (int)(colon - listen), listen, tf_server_port(fedd->server));
}

static int open_server(struct fedd *fedd, struct tf_error *err)
{
    const struct tf_server_options options = {.address = fedd_config_listen(&fedd->config),
                                              .credentials = {&fedd->config.tls},
                                              .allow = roles_allow};
    fedd->server = tf_server_create(fedd->rpc, &options, err);
    if (!fedd->server)
        return -1;
    fedd->address = advertised(fedd);
    links_register(fedd);
    changes_register(fedd);
    reads_register(fedd);
    watch_register(fedd);
    asks_register(fedd);
    plans_register(fedd);
    defrag_register(fedd);
    moves_register(fedd);
    logs_register(fedd);
    archive_register(fedd);
    config_register(fedd);
    return 0;
}

struct fedd *fedd_create(struct tf_loop *loop, struct tf_rpc *rpc, struct fedd_options *options,
                         struct tf_error *err)
{
    struct fedd *fedd = tf_calloc(1, sizeof *fedd);
    fedd->loop = loop;
    fedd->rpc = rpc;
    fedd->config = options->config;
    fedd->accept_rollback = options->accept_rollback;
    options->config = (struct fedd_config){0};
    tf_table_copy(&fedd_config_table, &fedd->first_config, &fedd->config);
    if (make_folder(fedd->config.data_dir, err) || archive_open(fedd, err) || open_decisions(fedd, err) ||
        open_recorder(fedd, err) || open_store(fedd, err) || open_server(fedd, err) ||
        lead_start(fedd, err)) {
        fedd_destroy(fedd);
        return NULL;
    }
    upkeep_start(fedd);
    if (metrics_start(fedd, err)) {
        fedd_destroy(fedd);
        return NULL;
    }
    tf_server_start(fedd->server);
    return fedd;
}

static void on_server_stopped(void *arg)
{
    struct fedd *fedd = arg;
    lead_release(fedd);
}

void fedd_stop(struct fedd *fedd, int64_t grace_ms, void (*done)(void *arg), void *arg)
{
    fedd->stopping = true;
    fedd->stopped = done;
    fedd->stopped_arg = arg;
    watch_close_all(fedd, "this fedd stops: watch again at the next leader");
    links_close_all(fedd, "this fedd stops: attach to the next leader");
    logs_end_all(fedd, "this fedd stops: ask the next leader");
    tf_server_stop(fedd->server, grace_ms, on_server_stopped, fedd);
}

void fedd_destroy(struct fedd *fedd)
{
    if (!fedd)
        return;
    fedd->stopping = true;
    lead_drop(fedd);
    watch_stop(fedd);
    tf_server_destroy(fedd->server);
    logs_release(fedd);
    upkeep_stop(fedd);
    metrics_stop(fedd);
    tf_keep_destroy(fedd->keep);
    tf_store_destroy(fedd->store);
    archive_close(fedd);
    host_release(fedd);
    tf_decisions_close(fedd->decisions);
    tf_recorder_destroy(fedd->recorder);
    fedd_config_release(&fedd->config);
    fedd_config_release(&fedd->first_config);
    free(fedd->address);
    free(fedd->leader);
    free(fedd);
}

const char *fedd_address(const struct fedd *fedd)
{
    return fedd->address;
}
