/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDSIM_FEDSIM_H
#define TF_FEDSIM_FEDSIM_H

/* fedsim VERB [OPTION...]: one table of verbs, one file a verb. */
struct fedsim_verb {
    const char *name;
    const char *help; /* one line */
    /* argv[0] is "fedsim NAME"; gives the exit code. */
    int (*run)(int argc, char **argv);
};

/* In the order of the help; ends with NULL. */
extern const struct fedsim_verb *const fedsim_verbs[];
extern const struct fedsim_verb fedsim_run, fedsim_chaos, fedsim_packers, fedsim_replay, fedsim_help;

enum fedsim_exit {
    FEDSIM_GOOD = 0, /* all expectations hold, no invariant broke */
    FEDSIM_FAILED = 1,
    FEDSIM_WRONG = 2, /* a file or the command line is wrong */
};

int fedsim_main(int argc, char **argv);

#endif
