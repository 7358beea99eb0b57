/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDCTL_VERB_H
#define TF_FEDCTL_VERB_H

#include "tools/fedctl/option.h"

struct fedctl;

/* One row a verb; the file verb_NAME.c has its options and its function. */
struct verb {
    const char *name;
    const char *usage;    /* what follows the name, one form a line */
    const char *help;     /* one line */
    const char *more;     /* paragraphs; may be NULL */
    const char *examples; /* "# what\nfedctl ...\n" */
    struct option_list options;
    bool
        takes_command; /* options end with the first word: from there on it is somebody else's command line */
    int trouble;       /* exit code of all that keeps it from answering, usage errors included; 0: by kind */
    int (*run)(struct fedctl *ctl); /* gives the exit code */
};

extern const struct verb verb_apply, verb_audit, verb_cluster, verb_completion, verb_config, verb_cordon,
    verb_defrag, verb_delete, verb_describe, verb_events, verb_explain, verb_freeze, verb_unfreeze, verb_get,
    verb_help, verb_hold, verb_migrate, verb_abort, verb_logs, verb_node, verb_plan, verb_replay, verb_resume,
    verb_scale, verb_submit, verb_top, verb_uncordon, verb_drain, verb_version, verb_wait, verb_watch;

/* In the order of the help; ends with NULL. */
extern const struct verb *const verbs[];
const struct verb *verb_find(const char *name); /* NULL if there is none */
const char *verb_nearest(const char *name);     /* NULL if none is near */

extern const struct option_list global_options;

#endif
