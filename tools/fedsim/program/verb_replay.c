/* SPDX-License-Identifier: Apache-2.0 */
/* Owns replay: event logs of daemons, decided again. */
#include "tools/fedsim/program/fedsim.h"
#include "tools/fedsim/replay/replay.h"

#include <argp.h>

static error_t parse(int key, char *word, struct argp_state *state)
{
    switch (key) {
    case ARGP_KEY_ARG:
        replay_path(word, state->input, stdout, stderr);
        break;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "which event log? For example: fedsim replay /var/lib/tidefed/events");
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static const struct argp argp = {
    NULL,
    parse,
    "FILE|FOLDER...",
    "Make the decisions of a daemon again: each event log that fedd or subclusterd has recorded (eventLog in "
    "their configuration) is given to the production core, from the state that the file begins with, and its "
    "actions are compared with the recorded ones. The first difference is shown.\v"
    "Exit: 0 the same decisions; 1 a difference; 2 a file cannot be replayed (damaged, or of another "
    "release), "
    "or the command line is wrong. A file that ends within a record is normal after a crash.",
    NULL,
    NULL,
    NULL};

static int run(int argc, char **argv)
{
    struct replay_totals totals = {0};
    if (argp_parse(&argp, argc, argv, 0, NULL, &totals))
        return FEDSIM_WRONG;
    if (totals.files > 1)
        replay_print_totals(&totals, stdout);
    return replay_exit_code(&totals);
}

const struct fedsim_verb fedsim_replay = {"replay", "make the decisions of recorded event logs again", run};
