/* SPDX-License-Identifier: Apache-2.0 */
/* Owns watch; the live lists are in watching.c. */
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "tools/fedctl/watching.h"

#define O struct options
static const struct option options[] = {
    {'o',
     "FORMAT",
     {.key = "output",
      TF_ENUM(O, output, "table", "json", "yaml", "wide", "name"),
      .def = "table",
      .help = "table, wide (more columns), json (one object a line), or name"}},
    OPTION_TENANT,
    OPTION_ALL_TENANTS,
    OPTION_SELECTOR,
    {'p',
     "PHASES",
     {.key = "phase", TF_STRING(O, phase), .help = "only jobs in these phases: pending,running,..."}},
    {'c', "CLUSTER", {.key = "cluster", TF_NAME(O, cluster), .help = "only what is in this cluster"}},
    OPTION_DURATION("stop after so long; absent = Ctrl-C"),
    {0, NULL, {.key = "no-headers", TF_BOOL(O, no_headers), .help = "tables without their titles"}},
};
#undef O

static int run(struct fedctl *ctl)
{
    struct tf_error err = TF_ERROR_INIT;
    enum resource_kind kind = RESOURCE_JOBS;
    unsigned allowed = 1u << RESOURCE_JOBS | 1u << RESOURCE_CLUSTERS | 1u << RESOURCE_NODES |
                       1u << RESOURCE_GPUS | 1u << RESOURCE_INSTANCES | 1u << RESOURCE_RESERVATIONS |
                       1u << RESOURCE_MIGRATIONS | 1u << RESOURCE_DRAINS;
    if (ctl->words.count && target_kind(ctl, allowed, &kind, &err))
        return fedctl_usage(ctl, "%s", err.text);
    return watching(ctl, kind);
}

const struct verb verb_watch = {
    .name = "watch",
    .usage = "[jobs|clusters|nodes|gpus|instances|reservations|migrations|drains] [FILTER...]",
    .help = "Show a live list of jobs, nodes, migrations or whatever else can be listed",
    .more =
        "On a terminal the list is drawn anew as it changes, what lives first. Elsewhere it is printed once, "
        "then a line\n"
        "a changed job; of the others the list again every 2s. A federation that goes away is waited for.",
    .examples = "fedctl watch\n"
                "# What waits, of one tenant\n"
                "fedctl watch jobs --tenant llm --phase pending\n"
                "fedctl watch nodes --cluster bj-a\n"
                "# How far moves and drains are\n"
                "fedctl watch migrations\n"
                "fedctl watch drains\n"
                "# For programs: one object a line for each change\n"
                "fedctl watch jobs -A -o json\n",
    .options = OPTION_LIST(options),
    .run = run,
};
