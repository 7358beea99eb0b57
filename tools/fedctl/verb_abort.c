/* SPDX-License-Identifier: Apache-2.0 */
/* Owns abort. */
#include "common/base/cleanup.h"
#include "tools/fedctl/change.h"
#include "tools/fedctl/migration.h"

#include <string.h>

static const struct option options[] = {
    {'c', "CLUSTER", {.key = "cluster", TF_NAME(struct options, cluster), .help = "where it is"}},
    OPTION_REASON("why, for whoever looks at it later"),
};

static int run(struct fedctl *ctl)
{
    int first = FEDCTL_DONE;
    if (ctl->words.count == 0)
        return fedctl_usage(ctl,
                            "abort what? Say the ID of a migration (`fedctl get migrations` lists them), or "
                            "the TENANT/NAME of a job that goes to another cluster");
    for (size_t i = 0; i < ctl->words.count; i++) {
        const char *word = ctl->words.items[i];
        int code = strchr(word, '/') ? migrate_job_abort(ctl, word) /* an id has none */
                                     : migration_order(ctl, word, TF_MIGRATE_ABORT, "aborted");
        first = first ? first : code;
        if (change_is_hopeless(code))
            break;
    }
    return first;
}

const struct verb verb_abort = {
    .name = "abort",
    .usage = "ID|TENANT/NAME... [--reason TEXT]",
    .help = "Give up migrations",
    .more =
        "What has not begun gives its place back, new instances are stopped and the old ones stay. Where the "
        "old one is\ntold to stop already there is no way back: that move is carried out. TENANT/NAME is a "
        "job\non its way to another "
        "cluster: it stays where it is, unless that has promised to let it go.",
    .examples = "fedctl get migrations\nfedctl abort 1a2b3c4d\n",
    .options = OPTION_LIST(options),
    .run = run,
};
