/* SPDX-License-Identifier: Apache-2.0 */
/* The program subclusterd: options, signals, and the loop. */
#include "common/base/cleanup.h"
#include "common/conf/conf.h"
#include "common/daemon/tally.h"
#include "common/daemon/turn.h"
#include "common/loop/signals.h"
#include "subcluster/daemon/daemon.h"
#include "subcluster/daemon/metrics.h"

#include <argp.h>

const char *argp_program_version = "subclusterd " TF_VERSION;

enum { OPTION_CHECK = 256, OPTION_REFERENCE, OPTION_ROLLBACK, OPTION_ENGINE, OPTION_METRICS };

struct arguments {
    const char *config;
    bool check, reference, metrics, accept_rollback, new_engine_memory;
};

static const struct argp_option options[] = {
    {"config", 'c', "FILE", 0, "what to be and to do: see --print-config-reference", 0},
    {"check-config", OPTION_CHECK, NULL, 0, "say whether the configuration is right, and end", 0},
    {"print-config-reference", OPTION_REFERENCE, NULL, 0, "print all keys of the configuration and exit", 0},
    {"print-metrics-reference", OPTION_METRICS, NULL, 0, "print all figures of /metrics and exit", 0},
    {"accept-rollback", OPTION_ROLLBACK, NULL, 0,
     "the subcluster's store was restored from a copy: go on from what it says now", 0},
    {"new-engine-memory", OPTION_ENGINE, NULL, 0,
     "the engine's state folder is lost, and nothing that it ran can be running any more: make it anew and "
     "start again what the store says",
     0},
    {0},
};

static error_t parse_option(int key, char *text, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    switch (key) {
    case 'c':
        arguments->config = text;
        return 0;
    case OPTION_CHECK:
        arguments->check = true;
        return 0;
    case OPTION_REFERENCE:
        arguments->reference = true;
        return 0;
    case OPTION_METRICS:
        arguments->metrics = true;
        return 0;
    case OPTION_ROLLBACK:
        arguments->accept_rollback = true;
        return 0;
    case OPTION_ENGINE:
        arguments->new_engine_memory = true;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "\"%s\": subclusterd takes options only", text);
        return 0;
    case ARGP_KEY_END:
        if (!arguments->config && !arguments->reference && !arguments->metrics)
            argp_error(state, "which configuration? Give --config FILE");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp parser = {
    .options = options,
    .parser = parse_option,
    .doc =
        "Runs the work of a federation on one cluster's nodes."
        "\v"
        "SIGTERM ends it, and a second one at once: instances live on, and the next subclusterd of the name "
        "adopts them. SIGHUP opens the log again and takes over what of the configuration may change under "
        "way.",
};

struct program {
    const char *config; /* path */
    struct tf_loop *loop;
    struct subd *subd;
    int status;
};

static void reload(void *arg)
{
    struct program *program = arg;
    subd_reload(program->subd, program->config);
}

static void stop(void *arg, void (*stopped)(void *), void *stopped_arg)
{
    struct program *program = arg;
    subd_stop(program->subd, stopped, stopped_arg);
}

static void on_failed(void *arg)
{
    struct program *program = arg;
    program->status = 1;
    tf_loop_stop(program->loop);
}

static int complain(const struct tf_error *err)
{
    fprintf(stderr, "subclusterd: %s\n", err->text);
    return err->code == TF_ERR_INVALID ? 2 : 1;
}

/* Everything that lives as long as the loop. Takes the configuration. */
static int serve(struct program *program, struct subd_options *subd_options)
{
    const struct tf_turn turn = {
        .reload = reload, .stop = stop, .arg = program, .last_words = "instances live on"};
    struct tf_error err = TF_ERROR_INIT;
    program->loop = tf_loop_create(&err);
    if (!program->loop)
        return complain(&err);
    struct tf_rpc *rpc = tf_rpc_create(program->loop, &err);
    if (rpc)
        program->subd = subd_create(program->loop, rpc, subd_options, on_failed, program, &err);
    if (!program->subd || tf_turn(program->loop, &turn, &err))
        program->status = complain(&err);
    subd_destroy(program->subd);
    tf_rpc_destroy(rpc);
    tf_loop_destroy(program->loop);
    return program->status;
}

static int print_reference(const struct arguments *arguments)
{
    TF_AUTO_BUF text = TF_BUF_INIT;
    if (arguments->metrics)
        tf_tally_markdown(subd_metrics, subd_metric_count, &text);
    else
        tf_table_markdown(&subd_config_table, &text);
    fputs(tf_buf_text(&text), stdout);
    return 0;
}

/* Certificates count here only: without good ones the daemon starts all the same, for the sake of what runs.
 */
static int check(const struct arguments *arguments, struct subd_config *config)
{
    struct tf_error err = TF_ERROR_INIT;
    TF_AUTO_BUF text = TF_BUF_INIT;
    int failed = tf_tls_check(&config->tls, &err) || tf_tls_check(&config->store.tls, &err);
    tf_conf_right(arguments->config, &subd_config_table, config, &text);
    subd_config_release(config);
    if (!failed)
        fputs(tf_buf_text(&text), stdout);
    return failed ? complain(&err) : 0;
}

int main(int argc, char **argv)
{
    struct arguments arguments = {0};
    struct subd_options subd_options = {0};
    struct tf_error err = TF_ERROR_INIT;
    tf_signals_block();
    argp_parse(&parser, argc, argv, 0, NULL, &arguments);
    if (arguments.reference || arguments.metrics)
        return print_reference(&arguments);
    if (subd_config_load(arguments.config, &subd_options.config, &err))
        return complain(&err);
    if (arguments.check)
        return check(&arguments, &subd_options.config);
    const struct tf_log_options log = tf_log_config_options(&subd_options.config.log);
    if (tf_log_open(&log, &err)) {
        subd_config_release(&subd_options.config);
        return complain(&err);
    }
    struct program program = {.config = arguments.config};
    subd_options.accept_rollback = arguments.accept_rollback;
    subd_options.new_engine_memory = arguments.new_engine_memory;
    int status = serve(&program, &subd_options);
    subd_config_release(&subd_options.config);
    tf_log_close();
    return status;
}
