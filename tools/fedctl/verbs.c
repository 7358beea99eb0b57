/* SPDX-License-Identifier: Apache-2.0 */
/* The table of verbs, and the options that all of them have. */
#include "tools/fedctl/verb.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"

const struct verb *const verbs[] = {
    &verb_apply,  &verb_plan,     &verb_submit, &verb_get,    &verb_describe,   &verb_explain,
    &verb_logs,   &verb_events,   &verb_watch,  &verb_top,    &verb_audit,      &verb_wait,
    &verb_scale,  &verb_hold,     &verb_resume, &verb_delete, &verb_migrate,    &verb_abort,
    &verb_cordon, &verb_uncordon, &verb_drain,  &verb_freeze, &verb_unfreeze,   &verb_cluster,
    &verb_node,   &verb_defrag,   &verb_replay, &verb_config, &verb_completion, &verb_version,
    &verb_help,   NULL,
};

static const struct option rows[] = {
    {0,
     "LIST",
     {.key = "endpoints",
      TF_STRING(struct options, endpoints),
      .help = "of the federation: HOST:PORT[,...] or unix:PATH"}},
    {0,
     "NAME",
     {.key = "context",
      TF_NAME(struct options, context),
      .help = "one of the `contexts` of fedctl.yaml: where a federation is, and as whom to ask"}},
    {0,
     "FILE",
     {.key = "tls-ca",
      TF_STRING(struct options, tls_ca),
      .help = "PEM of the CA that signed fedd's certificate"}},
    {0,
     "FILE",
     {.key = "tls-cert", TF_STRING(struct options, tls_cert), .help = "PEM of your own certificate"}},
    {0, "FILE", {.key = "tls-key", TF_STRING(struct options, tls_key), .help = "PEM of its key"}},
    {0,
     "TIME",
     {.key = "timeout",
      TF_DURATION(struct options, timeout),
      .min = 1,
      .max = (int64_t)24 * 3600 * 1000,
      .help = "longest wait for an answer; default 10s"}},
    {0, NULL, {.key = "no-color", TF_BOOL(struct options, no_color), .help = "as with NO_COLOR set"}},
    {'h', NULL, {.key = "help", TF_BOOL(struct options, help), .help = "what the verb does, with examples"}},
};
const struct option_list global_options = OPTION_LIST(rows);

const struct verb *verb_find(const char *name)
{
    for (size_t i = 0; verbs[i]; i++)
        if (strcmp(verbs[i]->name, name) == 0)
            return verbs[i];
    return NULL;
}

/* What the same thing is called elsewhere. */
static const struct {
    const char *word, *verb;
} habits[] = {
    {"create", "apply"},
    {"diff", "plan"},
    {"preview", "plan"},
    {"run", "submit"},
    {"srun", "submit"},
    {"sbatch", "submit"},
    {"salloc", "submit"},
    {"batch", "submit"},
    {"list", "get"},
    {"ls", "get"},
    {"ps", "get"},
    {"squeue", "get"},
    {"sinfo", "get"},
    {"sacct", "get"},
    {"show", "describe"},
    {"status", "describe"},
    {"inspect", "describe"},
    {"why", "explain"},
    {"log", "logs"},
    {"tail", "logs"},
    {"rm", "delete"},
    {"stop", "delete"},
    {"cancel", "delete"},
    {"kill", "delete"},
    {"scancel", "delete"},
    {"purge", "delete"},
    {"pause", "hold"},
    {"suspend", "hold"},
    {"release", "resume"},
    {"unhold", "resume"},
    {"start", "resume"},
    {"resize", "scale"},
    {"update", "apply"},
    {"drain", "cordon"},
    {"undrain", "uncordon"},
    {"forget", "cluster"},
    {"defragment", "defrag"},
    {"consolidate", "defrag"},
    {"compact", "defrag"},
    {"thaw", "unfreeze"},
    {"lock", "freeze"},
    {"unlock", "unfreeze"},
};

const char *verb_nearest(const char *name)
{
    for (size_t i = 0; i < TF_ARRAY_LEN(habits); i++)
        if (strcmp(habits[i].word, name) == 0)
            return habits[i].verb;
    const char *names[TF_ARRAY_LEN(verbs)];
    size_t count = 0;
    for (; verbs[count]; count++)
        names[count] = verbs[count]->name;
    return tf_nearest(name, names, count);
}
