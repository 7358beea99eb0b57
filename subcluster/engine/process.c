/* SPDX-License-Identifier: Apache-2.0 */
/* The face of the process engine: calls go to the worker's thread through a queue, events come back through
 * an outlet. */
#include "subcluster/engine/process.h"

#include "common/base/alloc.h"
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "subcluster/engine/check.h"
#include "subcluster/engine/outlet.h"
#include "subcluster/engine/worker.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

struct process {
    struct tf_engine engine; /* first */
    struct worker worker;
    pthread_t thread;
    struct outlet *outlet;
    pthread_mutex_t mutex;
    struct command *first, **last; /* under mutex, as is: */
    bool quit;
};

/* ---- events ---- */

/* In the worker's thread. */
static void tell(void *context, const struct tf_engine_event *event)
{
    outlet_tell(((struct process *)context)->outlet, event);
}

/* ---- calls ---- */

static struct command *take(void *context, bool *quit)
{
    struct process *p = context;
    pthread_mutex_lock(&p->mutex);
    struct command *command = p->first;
    if (command) {
        p->first = command->next;
        if (!p->first)
            p->last = &p->first;
    }
    *quit = p->quit;
    pthread_mutex_unlock(&p->mutex);
    return command;
}

static void wake(struct process *p)
{
    uint64_t one = 1;
    ssize_t n;
    do
        n = write(p->worker.wake, &one, sizeof one);
    while (n < 0 && errno == EINTR);
}

static void send(struct tf_engine *engine, struct command *command)
{
    struct process *p = TF_CONTAINER_OF(engine, struct process, engine);
    pthread_mutex_lock(&p->mutex);
    *p->last = command;
    p->last = &command->next;
    pthread_mutex_unlock(&p->mutex);
    wake(p);
}

static struct command *command_new(enum command_kind kind, uint64_t owner)
{
    struct command *c = tf_calloc(1, sizeof *c);
    c->kind = kind;
    c->owner = owner;
    return c;
}

static void process_initialise(struct tf_engine *engine, uint64_t owner)
{
    send(engine, command_new(COMMAND_INITIALISE, owner));
}

static void process_adopt(struct tf_engine *engine, uint64_t owner)
{
    send(engine, command_new(COMMAND_ADOPT, owner));
}

static void process_start(struct tf_engine *engine, uint64_t owner, const struct tf_engine_spec *spec)
{
    struct command *c = command_new(COMMAND_START, owner);
    tf_engine_spec_copy(&c->spec, spec);
    send(engine, c);
}

static void process_stop(struct tf_engine *engine, uint64_t owner, const struct tf_instance_id *id,
                         int64_t stop_delay, int64_t grace)
{
    struct command *c = command_new(COMMAND_STOP, owner);
    c->id = *id;
    c->stop_delay = stop_delay;
    c->grace = grace;
    send(engine, c);
}

static struct command *epoch_command(enum command_kind kind, uint64_t owner, struct tf_uid uid,
                                     uint64_t epoch)
{
    struct command *c = command_new(kind, owner);
    c->id.uid = uid;
    c->id.epoch = epoch;
    return c;
}

static void process_forget(struct tf_engine *engine, uint64_t owner, struct tf_uid uid, uint64_t epoch)
{
    send(engine, epoch_command(COMMAND_FORGET, owner, uid, epoch));
}

static void process_peers(struct tf_engine *engine, uint64_t owner, struct tf_uid uid, uint64_t epoch,
                          const void *bytes, size_t len)
{
    struct command *c = epoch_command(COMMAND_PEERS, owner, uid, epoch);
    c->bytes = tf_memdup(bytes, len);
    c->len = len;
    send(engine, c);
}

static void process_fence(struct tf_engine *engine, uint64_t owner, struct tf_uid uid, uint64_t epoch,
                          int64_t deadline)
{
    struct command *c = epoch_command(COMMAND_FENCE, owner, uid, epoch);
    c->deadline = deadline;
    send(engine, c);
}

/* ---- life ---- */

static void *run(void *context)
{
    struct process *p = context;
    worker_run(&p->worker, take);
    return NULL;
}

static void process_free(struct process *p)
{
    while (p->first) {
        struct command *c = p->first;
        p->first = c->next;
        command_free(c);
    }
    worker_close(&p->worker);
    tf_process_config_release(&p->worker.config);
    pthread_mutex_destroy(&p->mutex);
    free(p);
}

static void process_destroy(struct tf_engine *engine)
{
    if (!engine)
        return;
    struct process *p = TF_CONTAINER_OF(engine, struct process, engine);
    pthread_mutex_lock(&p->mutex);
    p->quit = true;
    pthread_mutex_unlock(&p->mutex);
    wake(p);
    pthread_join(p->thread, NULL);
    struct outlet *outlet = p->outlet;
    process_free(p);
    outlet_close(outlet);
}

void tf_process_config_init(struct tf_process_config *config)
{
    *config = (struct tf_process_config){
        .work_dir = tf_strdup("/"),
        .cgroup = true,
        .output_limit = 1024 * 1024,
        .port_low = 20000,
        .port_high = 29999,
        .kill_bound = 10 * TF_SECOND,
        .journal_days = 30,
    };
}

void tf_process_config_release(struct tf_process_config *config)
{
    free(config->state_dir);
    free(config->shim);
    free(config->work_dir);
    tf_vec_each (node, &config->nodes)
        tf_node_release(node);
    tf_vec_release(&config->nodes);
    *config = (struct tf_process_config){0};
}

static void config_copy(struct tf_process_config *to, const struct tf_process_config *from)
{
    *to = *from;
    to->state_dir = tf_strdup(from->state_dir);
    to->shim = tf_strdup(from->shim);
    to->work_dir = tf_strdup(from->work_dir ? from->work_dir : "/");
    to->nodes.items = NULL;
    to->nodes.count = to->nodes.cap = 0;
    for (size_t i = 0; i < from->nodes.count; i++)
        tf_node_copy(tf_vec_add(&to->nodes), &from->nodes.items[i]);
}

static char *beside_this_program(const char *name)
{
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    path[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(path, '/');
    return tf_asprintf("%.*s/%s", slash ? (int)(slash - path) : 0, path, name);
}

static int check_nodes(const struct tf_process_config *c, struct tf_error *err)
{
    for (size_t i = 0; i < c->nodes.count; i++) {
        const struct tf_node *node = &c->nodes.items[i];
        if (engine_check_node(node, err))
            return -1;
        for (size_t k = 0; k < i; k++)
            if (tf_str_eq(c->nodes.items[k].name, node->name))
                return tf_error_set(err, TF_ERR_INVALID, "two nodes are named %s", node->name);
    }
    return 0;
}

static int check_config(struct tf_process_config *c, struct tf_error *err)
{
    if (!c->state_dir || c->state_dir[0] != '/' || c->work_dir[0] != '/')
        return tf_error_set(err, TF_ERR_INVALID, "the engine's stateDir and workDir must be absolute paths");
    if (c->output_limit < 1024 || c->port_low < 1 || c->port_high > 65535 || c->port_low > c->port_high ||
        c->kill_bound < 0)
        return tf_error_set(
            err, TF_ERR_INVALID,
            "the engine needs an output limit of at least 1 KiB, ports low <= high in 1-65535, and a "
            "kill bound");
    if (!c->shim)
        c->shim = beside_this_program("tidefed-shim");
    if (access(c->shim, X_OK) != 0)
        return tf_error_errno(err, TF_ERR_NOT_FOUND, errno,
                              "the process engine cannot run its shim %s; install it there or name it in the "
                              "engine's configuration (shim)",
                              c->shim);
    return check_nodes(c, err);
}

static const struct tf_engine calls = {
    .name = "process",
    .caps = {.names_gpus = true, .fences = true},
    .destroy = process_destroy,
    .initialise = process_initialise,
    .adopt = process_adopt,
    .start = process_start,
    .stop = process_stop,
    .forget = process_forget,
    .peers = process_peers,
    .fence = process_fence,
};

/* Signals are for the threads of the daemon that want them. */
static int start_thread(struct process *p, struct tf_error *err)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&p->thread, NULL, run, p);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc ? tf_error_errno(err, TF_ERR_IO, rc, "cannot start the engine's thread") : 0;
}

struct tf_engine *tf_process_engine_create(const struct tf_process_config *config, struct tf_loop *loop,
                                           tf_engine_event_f event, void *context, struct tf_error *err)
{
    struct process *p = tf_calloc(1, sizeof *p);
    p->engine = calls;
    p->last = &p->first;
    pthread_mutex_init(&p->mutex, NULL);
    config_copy(&p->worker.config, config);
    p->worker.tell = tell;
    p->worker.context = p;
    if (check_config(&p->worker.config, err)) {
        tf_process_config_release(&p->worker.config);
        pthread_mutex_destroy(&p->mutex);
        free(p);
        return NULL;
    }
    p->outlet = outlet_create(loop, event, context);
    if (worker_open(&p->worker, err) || start_thread(p, err)) {
        struct outlet *outlet = p->outlet;
        process_free(p);
        outlet_close(outlet);
        return NULL;
    }
    return &p->engine;
}
