/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the texts of help, made from the table of verbs and their options. */
#include "tools/fedctl/help.h"

#include "tools/fedctl/columns.h"

enum { NAME_WIDTH = 12, OPTION_WIDTH = 29 };

static void padded(struct tf_buf *buf, const char *text, size_t width)
{
    size_t used = columns_width(text);
    tf_buf_str(buf, text);
    do
        tf_buf_char(buf, ' ');
    while (++used < width);
}

/* Every line of text, indented. */
static void indented(struct tf_buf *buf, const char *text, const char *indent)
{
    while (*text) {
        size_t len = strcspn(text, "\n");
        tf_buf_str(buf, len ? indent : "");
        tf_buf_add(buf, text, len);
        tf_buf_char(buf, '\n');
        text += len + (text[len] == '\n');
    }
}

static void option_line(struct tf_buf *buf, const struct option *option)
{
    TF_AUTO_BUF left = TF_BUF_INIT;
    if (option->letter)
        tf_buf_fmt(&left, "  -%c, --%s", option->letter, option->row.key);
    else
        tf_buf_fmt(&left, "      --%s", option->row.key);
    if (option->value)
        tf_buf_fmt(&left, " %s", option->value);
    padded(buf, tf_buf_text(&left), OPTION_WIDTH);
    tf_buf_fmt(buf, "%s\n", option->row.help);
}

static bool verb_has(const struct verb *verb, const char *key)
{
    for (size_t i = 0; i < verb->options.count; i++)
        if (strcmp(verb->options.items[i].row.key, key) == 0)
            return true;
    return false;
}

static void option_lines(struct tf_buf *buf, const struct verb *verb)
{
    if (verb->options.count)
        tf_buf_str(buf, "\nOptions:\n");
    for (size_t i = 0; i < verb->options.count; i++)
        option_line(buf, &verb->options.items[i]);
    tf_buf_str(buf, "\nOptions of every verb:\n");
    for (size_t i = 0; i < global_options.count; i++)
        if (!verb_has(verb, global_options.items[i].row.key))
            option_line(buf, &global_options.items[i]);
}

void help_verb(const struct verb *verb, struct tf_buf *buf)
{
    tf_buf_fmt(buf, "%s.\n\nUsage:\n", verb->help);
    TF_AUTO_BUF usage = TF_BUF_INIT;
    tf_buf_fmt(&usage, "  fedctl %s ", verb->name);
    indented(buf, verb->usage, tf_buf_text(&usage));
    if (verb->more) {
        tf_buf_char(buf, '\n');
        indented(buf, verb->more, "");
    }
    option_lines(buf, verb);
    if (verb->examples) {
        tf_buf_str(buf, "\nExamples:\n");
        indented(buf, verb->examples, "  ");
    }
}

void help_overview(struct tf_buf *buf)
{
    tf_buf_str(buf, "fedctl drives a tidefed federation: jobs, and the clusters that run them.\n\n"
                    "Usage:\n  fedctl VERB [ARGUMENT...] [OPTION...]\n\nVerbs:\n");
    for (size_t i = 0; verbs[i]; i++) {
        tf_buf_str(buf, "  ");
        padded(buf, verbs[i]->name, NAME_WIDTH);
        tf_buf_fmt(buf, "%s\n", verbs[i]->help);
    }
    tf_buf_str(buf, "\nOptions of every verb:\n");
    for (size_t i = 0; i < global_options.count; i++)
        option_line(buf, &global_options.items[i]);
    tf_buf_str(
        buf,
        "\nWhere the federation is comes from --endpoints, else the environment's TIDEFED_ENDPOINTS, else\n"
        "`endpoints: [HOST:PORT]` in ~/.config/tidefed/fedctl.yaml, else 127.0.0.1:7700. Any member will\n"
        "do: fedctl follows it to the leader. That file may also say `tenant` and `timeout`, `tls:\n"
        "{ca, certificate, key}`, and the same for several federations under `contexts`, of which `context: "
        "NAME`,\n"
        "TIDEFED_CONTEXT or --context chooses one. TIDEFED_TLS_CA, _CERT and _KEY stand for --tls-*.\n"
        "\n"
        "A job is named TENANT/NAME. Data goes to stdout, messages to stderr. Exit codes: 0 done, 1 refused "
        "or\n"
        "failed, 2 usage or bad manifest, 3 not found, 4 timed out, 5 cannot reach a leader, 6 conflict.\n"
        "\n"
        "Examples:\n"
        "  fedctl get clusters              # what there is\n"
        "  fedctl apply -f job.yaml         # ask for work\n"
        "  fedctl get jobs -A               # how it is doing\n"
        "  fedctl explain job web/hello     # why it waits, or where it runs\n"
        "  fedctl VERB --help               # everything about a verb, with examples\n");
}
