/* SPDX-License-Identifier: Apache-2.0 */
/* fedd: options, signals, the loop. */
#include "federation/daemon/daemon.h"

#include "common/base/cleanup.h"
#include "common/conf/conf.h"
#include "common/daemon/tally.h"
#include "common/daemon/turn.h"
#include "common/loop/signals.h"
#include "federation/daemon/metrics.h"

#include <argp.h>

enum {
    STOP_GRACE_MS = 5 * TF_SECOND,
    OPTION_CHECK = 256,
    OPTION_ROLLBACK,
    OPTION_REFERENCE,
    OPTION_METRICS,
};

struct arguments {
    const char *config;
    const char *listen;
    bool check, accept_rollback, reference, metrics;
};

static const struct argp_option option_rows[] = {
    {"config", 'c', "FILE", 0, "the configuration (required)", 0},
    {"listen", 'l', "ADDRESS", 0, "listen here instead of where the configuration says", 0},
    {"check-config", OPTION_CHECK, NULL, 0, "say whether the configuration is right, and end", 0},
    {"accept-rollback", OPTION_ROLLBACK, NULL, 0,
     "the store was restored from a backup: go on from what the subclusters report", 0},
    {"print-config-reference", OPTION_REFERENCE, NULL, 0,
     "print every key of the configuration as Markdown, and end", 0},
    {"print-metrics-reference", OPTION_METRICS, NULL, 0,
     "print every figure of /metrics as Markdown, and end", 0},
    {0},
};

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    switch (key) {
    case 'c':
        arguments->config = value;
        return 0;
    case 'l':
        arguments->listen = value;
        return 0;
    case OPTION_CHECK:
        arguments->check = true;
        return 0;
    case OPTION_ROLLBACK:
        arguments->accept_rollback = true;
        return 0;
    case OPTION_REFERENCE:
        arguments->reference = true;
        return 0;
    case OPTION_METRICS:
        arguments->metrics = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const char *argp_program_version = "fedd " TF_VERSION;
static const struct argp argp = {
    .options = option_rows,
    .parser = parse_option,
    .doc = "The federation daemon of tidefed: keeps what people asked for, and places it on subclusters.",
};

struct program {
    struct fedd *fedd;
    const char *config; /* path */
};

static void reload(void *arg)
{
    struct program *program = arg;
    fedd_reload(program->fedd, program->config);
}

static void stop(void *arg, void (*stopped)(void *), void *stopped_arg)
{
    struct program *program = arg;
    fedd_stop(program->fedd, STOP_GRACE_MS, stopped, stopped_arg);
}

static int run(const char *config, struct fedd_options *options, struct tf_error *err)
{
    struct program program = {.config = config};
    const struct tf_turn turn = {
        .reload = reload, .stop = stop, .arg = &program, .last_words = "running work does not notice"};
    int failed = -1;
    struct tf_loop *loop = tf_loop_create(err);
    if (!loop)
        return -1;
    struct tf_rpc *rpc = tf_rpc_create(loop, err);
    if (rpc)
        program.fedd = fedd_create(loop, rpc, options, err);
    if (program.fedd) {
        tf_log_info("fedd " TF_VERSION " address=%s", fedd_address(program.fedd));
        failed = tf_turn(loop, &turn, err);
    }
    fedd_destroy(program.fedd);
    tf_rpc_destroy(rpc);
    tf_loop_destroy(loop);
    return failed;
}

/* Without good ones nobody could be let in, nor the store be asked. */
static int check_certificates(const struct fedd_config *config, struct tf_error *err)
{
    if (tf_tls_check(&config->tls, err))
        return -1;
    return tf_tls_check(&config->store.tls, err) ? tf_error_wrap(err, "store") : 0;
}

static int start(const struct arguments *arguments, struct tf_error *err)
{
    struct fedd_options options = {.accept_rollback = arguments->accept_rollback};
    if (fedd_config_load(arguments->config, &options.config, err))
        return -1;
    const struct tf_log_options log = tf_log_config_options(&options.config.log);
    int failed = arguments->listen ? fedd_config_set_listen(&options.config, arguments->listen, err) : 0;
    failed = failed || check_certificates(&options.config, err) ? -1 : 0;
    if (!failed && arguments->check) {
        TF_AUTO_BUF text = TF_BUF_INIT;
        tf_conf_right(arguments->config, &fedd_config_table, &options.config, &text);
        fputs(tf_buf_text(&text), stdout);
    } else if (!failed)
        failed = tf_log_open(&log, err) || run(arguments->config, &options, err);
    fedd_config_release(&options.config);
    return failed;
}

static int print_reference(const struct arguments *arguments)
{
    TF_AUTO_BUF text = TF_BUF_INIT;
    if (arguments->metrics)
        tf_tally_markdown(fedd_metrics, fedd_metric_count, &text);
    else
        tf_table_markdown(&fedd_config_table, &text);
    fputs(tf_buf_text(&text), stdout);
    return 0;
}

int main(int argc, char **argv)
{
    struct arguments arguments = {0};
    struct tf_error err = TF_ERROR_INIT;
    tf_signals_block();
    argp_parse(&argp, argc, argv, 0, NULL, &arguments);
    if (arguments.reference || arguments.metrics)
        return print_reference(&arguments);
    if (!arguments.config) {
        fprintf(stderr, "fedd: --config FILE is needed (see --help)\n");
        return 2;
    }
    if (start(&arguments, &err)) {
        fprintf(stderr, "fedd: %s\n", err.text);
        tf_log_close();
        return err.code == TF_ERR_INVALID ? 2 : 1;
    }
    tf_log_close();
    return 0;
}
