/* SPDX-License-Identifier: Apache-2.0 */
/* Owns a run from the command line to the exit code; the verbs do the work. */
#include "tools/fedctl/fedctl.h"

#include "common/base/alloc.h"
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "common/loop/loop.h"
#include "tools/fedctl/help.h"

#include <signal.h>
#include <stdarg.h>
#include <unistd.h>

static int exit_for(const struct fedctl *ctl, int code)
{
    return ctl->verb && ctl->verb->trouble ? ctl->verb->trouble : code;
}

int fedctl_usage(const struct fedctl *ctl, const char *fmt, ...)
{
    char text[2048];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    message("%s", text);
    if (ctl->verb)
        fprintf(stderr, "Try `fedctl %s --help`.\n", ctl->verb->name);
    else
        fprintf(stderr, "Try `fedctl --help`.\n");
    return exit_for(ctl, FEDCTL_USAGE);
}

int fedctl_fail(const struct fedctl *ctl, const struct tf_error *err)
{
    message("%s", err->text);
    return exit_for(ctl, (int)fedctl_exit_of(err->code));
}

int fedctl_fail_about(const struct fedctl *ctl, const char *what, const struct tf_error *err)
{
    struct tf_error about = *err;
    /* Errors of reaching the federation are no matter of the thing asked about. */
    if (fedctl_exit_of(err->code) != FEDCTL_UNREACHABLE && !strstr(err->text, what))
        tf_error_wrap(&about, "%s", what);
    return fedctl_fail(ctl, &about);
}

struct tf_wall fedctl_now(void)
{
    return tf_clock_read().wall;
}

int fedctl_call(struct fedctl *ctl, const struct tf_request *request, struct tf_reply *reply,
                struct tf_error *err)
{
    return client_call(ctl->client, request, ctl->config.timeout, reply, NULL, err);
}

/* ---- the run ---- */

/* Nothing is left half done: what was acknowledged is printed at once, and a request under way is done or not
 * done at the server, as with any lost client. */
static void interrupted(int signo)
{
    (void)signo;
    _exit(FEDCTL_INTERRUPTED);
}

static void catch_signals(void)
{
    struct sigaction quit = {.sa_handler = interrupted}, ignore = {.sa_handler = SIG_IGN};
    sigaction(SIGINT, &quit, NULL);
    sigaction(SIGPIPE, &ignore, NULL);
}

static int unknown_verb(struct fedctl *ctl, const char *name)
{
    const char *nearest = verb_nearest(name);
    if (nearest)
        return fedctl_usage(ctl, "there is no verb %s; did you mean %s?", name, nearest);
    return fedctl_usage(ctl, "there is no verb %s", name);
}

static int run_verb(struct fedctl *ctl)
{
    struct tf_error err = TF_ERROR_INIT;
    if (config_load(&ctl->config, &ctl->options, &err))
        return fedctl_fail(ctl, &err);
    if (!ctl->options.tenant && ctl->config.tenant)
        ctl->options.tenant = tf_strdup(ctl->config.tenant);
    ctl->client = client_create(&ctl->config, &err);
    if (!ctl->client)
        return fedctl_fail(ctl, &err);
    int code = ctl->verb->run(ctl);
    if (ctl->out.failed) {
        message("cannot write to standard output: %s", strerror(ctl->out.failed));
        return exit_for(ctl, FEDCTL_FAILED);
    }
    return code;
}

static int show_help(struct fedctl *ctl)
{
    TF_AUTO_BUF text = TF_BUF_INIT;
    if (ctl->verb)
        help_verb(ctl->verb, &text);
    else
        help_overview(&text);
    out_buf(&ctl->out, &text);
    return FEDCTL_DONE;
}

static int run(struct fedctl *ctl, int argc, char *const *argv)
{
    struct tf_error err = TF_ERROR_INIT;
    struct option_list none = {0}, before[2] = {none, global_options};
    int used = options_parse(argc - 1, argv + 1, before, true, &ctl->options, &ctl->words, &err);
    if (used < 0)
        return fedctl_usage(ctl, "%s (options of a verb come after it)", err.text);
    out_init(&ctl->out, ctl->options.no_color);
    argv += 1 + used;
    argc -= 1 + used;
    if (argc == 0)
        return ctl->options.help ? show_help(ctl)
                                 : fedctl_usage(ctl, "which verb? For example: fedctl get jobs");
    ctl->verb = verb_find(argv[0]);
    if (!ctl->verb)
        return unknown_verb(ctl, argv[0]);
    struct option_list after[2] = {ctl->verb->options, global_options};
    options_init(&ctl->options, ctl->verb->options);
    used =
        options_parse(argc - 1, argv + 1, after, ctl->verb->takes_command, &ctl->options, &ctl->words, &err);
    if (used < 0)
        return fedctl_usage(ctl, "%s", err.text);
    for (int i = 1 + used; i < argc; i++)
        tf_strs_add(&ctl->words, argv[i]);
    out_init(&ctl->out, ctl->options.no_color);
    return ctl->options.help ? show_help(ctl) : run_verb(ctl);
}

int fedctl_main(int argc, char *const *argv)
{
    struct fedctl ctl = {.options.index = -1, .options.tail = -1, .options.since = TF_UNSET};
    catch_signals();
    int code = run(&ctl, argc, argv);
    client_destroy(ctl.client);
    config_release(&ctl.config);
    options_release(&ctl.options);
    tf_strs_release(&ctl.words);
    return code;
}
