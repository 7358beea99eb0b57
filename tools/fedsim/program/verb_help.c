/* SPDX-License-Identifier: Apache-2.0 */
/* Owns help: what fedsim is for, its verbs, and all that a scenario may say. */
#include "common/base/cleanup.h"
#include "common/base/row.h"
#include "common/trace/trace.h"
#include "tools/fedsim/program/fedsim.h"
#include "tools/fedsim/scenario/scenario.h"

static const char before[] =
    "fedsim plays federations in virtual time: the production cores of fedd and subclusterd, among "
    "simulated\n"
    "stores, networks, engines and users, with the promises of the design checked at every step.\n"
    "\n"
    "  fedsim run FILE...          play scenarios; exit 0 all hold, 1 one does not, 2 a file is wrong\n"
    "  fedsim chaos                random runs with faults; what breaks a promise is made small\n"
    "  fedsim replay FILE...       decide again what a daemon has recorded, and compare\n"
    "  fedsim help scenario        every key of a scenario, with type, default and bounds\n"
    "  fedsim help trace           the columns of files of jobs and nodes that a scenario may take in\n"
    "  fedsim help VERB            or fedsim VERB --help\n"
    "\n"
    "Verbs:\n";

static const char after[] =
    "\n"
    "A first scenario:\n"
    "\n"
    "  name: two jobs never spend the same capacity\n"
    "  clusters:\n"
    "    - {name: a, nodes: [{count: 10, model: H800, gpus: 8}]}\n"
    "  jobs:\n"
    "    - {at: 1m, tenant: t1, name: x, spec: {priority: train, instances: 6, instance: {gpus: 8}}}\n"
    "    - {at: 1m, tenant: t2, name: y, spec: {priority: train, instances: 6, instance: {gpus: 8}}}\n"
    "  expect:\n"
    "    - {at: end, metric: jobsRunning, min: 1, max: 1}\n"
    "    - {at: end, metric: invariantViolations, max: 0}\n"
    "  until: 1h\n";

static const struct fedsim_verb *find(const char *name)
{
    for (size_t i = 0; fedsim_verbs[i]; i++)
        if (strcmp(fedsim_verbs[i]->name, name) == 0)
            return fedsim_verbs[i];
    return NULL;
}

static int show_keys(void)
{
    TF_AUTO_BUF text = TF_BUF_INIT;
    tf_table_markdown(scenario_table(), &text);
    fputs(tf_buf_text(&text), stdout);
    return FEDSIM_GOOD;
}

static int run(int argc, char **argv)
{
    static char option[] = "--help";
    if (argc > 1 && strcmp(argv[1], "scenario") == 0)
        return show_keys();
    if (argc > 1 && strcmp(argv[1], "trace") == 0) {
        fputs(tf_trace_columns, stdout);
        return FEDSIM_GOOD;
    }
    const struct fedsim_verb *verb = argc > 1 ? find(argv[1]) : NULL;
    if (verb && verb != &fedsim_help) {
        TF_AUTO_FREE char *name = tf_asprintf("fedsim %s", verb->name);
        char *words[] = {name, option, NULL};
        return verb->run(2, words);
    }
    fputs(before, stdout);
    for (size_t i = 0; fedsim_verbs[i]; i++)
        printf("  %-10s %s\n", fedsim_verbs[i]->name, fedsim_verbs[i]->help);
    fputs(after, stdout);
    return FEDSIM_GOOD;
}

const struct fedsim_verb fedsim_help = {"help",
                                        "this text; or of a verb, of all keys of a scenario, of traces", run};
