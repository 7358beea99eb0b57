/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the command line up to the verb. */
#include "tools/fedsim/program/fedsim.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "common/base/vec.h"

#include <argp.h>
#include <errno.h>

const struct fedsim_verb *const fedsim_verbs[] = {&fedsim_run,    &fedsim_chaos, &fedsim_packers,
                                                  &fedsim_replay, &fedsim_help,  NULL};

static const struct fedsim_verb *find(const char *name)
{
    for (size_t i = 0; fedsim_verbs[i]; i++)
        if (strcmp(fedsim_verbs[i]->name, name) == 0)
            return fedsim_verbs[i];
    return NULL;
}

static int unknown(const char *name)
{
    TF_VEC(const char *) names = {0};
    for (size_t i = 0; fedsim_verbs[i]; i++)
        tf_vec_push(&names, fedsim_verbs[i]->name);
    const char *nearest = tf_nearest(name, names.items, names.count);
    fprintf(stderr, "fedsim: there is no verb %s%s%s%s\nTry `fedsim help`.\n", name,
            nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
    tf_vec_release(&names);
    return FEDSIM_WRONG;
}

/* What it ends with, unless what it found could not be written: a report that is cut off is none. */
static int said(int code)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    fprintf(stderr, "fedsim: what it says could not be written%s%s\n", errno ? ": " : "",
            errno ? strerror(errno) : "");
    return FEDSIM_WRONG;
}

int fedsim_main(int argc, char **argv)
{
    argp_err_exit_status = FEDSIM_WRONG;
    if (argc < 2) {
        fprintf(stderr, "fedsim: which verb? For example: fedsim run scenario.yaml\nTry `fedsim help`.\n");
        return FEDSIM_WRONG;
    }
    if (strcmp(argv[1], "--version") == 0) { /* event logs are of one release */
        printf("fedsim %s\n", TF_VERSION);
        return FEDSIM_GOOD;
    }
    const char *word = strcmp(argv[1], "--help") == 0 ? "help" : argv[1];
    const struct fedsim_verb *verb = find(word);
    if (!verb)
        return unknown(word);
    TF_AUTO_FREE char *name = tf_asprintf("fedsim %s", verb->name);
    argv[1] = name;
    return said(verb->run(argc - 1, argv + 1));
}
