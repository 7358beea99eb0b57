/* SPDX-License-Identifier: Apache-2.0 */
/* Owns get: which things are listed, in which format. */
#include "common/base/cleanup.h"
#include "tools/fedctl/resource.h"
#include "tools/fedctl/watching.h"

static const struct option options[] = {
    OPTION_OUTPUT_ALL,
    OPTION_TENANT,
    OPTION_ALL_TENANTS,
    OPTION_SELECTOR,
    {'p',
     "PHASES",
     {.key = "phase",
      TF_STRING(struct options, phase),
      .help = "only jobs in these phases: pending,running,..."}},
    {'c',
     "CLUSTER",
     {.key = "cluster", TF_NAME(struct options, cluster), .help = "only what is in this cluster"}},
    {0,
     NULL,
     {.key = "archived",
      TF_BOOL(struct options, archived),
      .help = "what has ended and left the store, the latest first, of every endpoint: jobs, reservations"}},
    {0,
     "N",
     {.key = "limit",
      TF_INT64(struct options, limit),
      .min = 1,
      .max = INT64_C(1000000000),
      .flags = TF_ROW_ZERO,
      .help = "so many at most"}},
    {0,
     "N",
     {.key = "chunk",
      TF_INT32(struct options, chunk),
      .min = 1,
      .max = TF_PAGE_MAX,
      .def = "500",
      .help = "jobs asked for at a time, for a slow link or a large federation; default 500"}},
    {0,
     NULL,
     {.key = "no-headers", TF_BOOL(struct options, no_headers), .help = "tables without their titles"}},
    {'w', NULL, {.key = "watch", TF_BOOL(struct options, follow), .help = "a live list, as `fedctl watch`"}},
};

const struct fetcher fetchers[] = {
    [RESOURCE_JOBS] = {&resource_jobs, fetch_jobs},
    [RESOURCE_CLUSTERS] = {&resource_clusters, fetch_clusters},
    [RESOURCE_NODES] = {&resource_nodes, fetch_nodes},
    [RESOURCE_GPUS] = {&resource_gpus, fetch_gpus},
    [RESOURCE_INSTANCES] = {&resource_instances, fetch_instances},
    [RESOURCE_RESERVATIONS] = {&resource_reservations, fetch_reservations},
    [RESOURCE_MIGRATIONS] = {&resource_migrations, fetch_migrations},
    [RESOURCE_DRAINS] = {&resource_drains, fetch_drains},
};

static const struct fetcher archive = {&resource_archive, fetch_archive},
                            archived_reservations = {&resource_archived_reservations,
                                                     fetch_archived_reservations};

static const struct fetcher *fetcher_of(const struct fedctl *ctl, enum resource_kind kind)
{
    if (!ctl->options.archived)
        return &fetchers[kind];
    return kind == RESOURCE_RESERVATIONS ? &archived_reservations : &archive;
}

/* One word that can only name one object. A node may have the name of one in another cluster. */
static bool is_single(const struct fedctl *ctl, enum resource_kind kind)
{
    if (ctl->words.count != 1 || kind == RESOURCE_INSTANCES || kind == RESOURCE_GPUS ||
        kind == RESOURCE_MIGRATIONS || kind == RESOURCE_DRAINS || ctl->options.archived)
        return false;
    return kind != RESOURCE_NODES || strchr(ctl->words.items[0], '/');
}

static int run(struct fedctl *ctl)
{
    struct tf_error err = TF_ERROR_INIT;
    enum resource_kind kind;
    unsigned allowed = 1u << RESOURCE_JOBS | 1u << RESOURCE_CLUSTERS | 1u << RESOURCE_NODES |
                       1u << RESOURCE_GPUS | 1u << RESOURCE_INSTANCES | 1u << RESOURCE_RESERVATIONS |
                       1u << RESOURCE_MIGRATIONS | 1u << RESOURCE_DRAINS;
    if (target_kind(ctl, allowed, &kind, &err))
        return fedctl_usage(ctl, "%s", err.text);
    if (ctl->options.archived && kind != RESOURCE_JOBS && kind != RESOURCE_RESERVATIONS)
        return fedctl_usage(ctl, "only jobs and reservations are archived: say `fedctl get jobs --archived`");
    if (ctl->options.follow && ctl->options.archived)
        return fedctl_usage(ctl, "what is archived does not change: --watch has no use there");
    if (ctl->options.follow && ctl->options.limit)
        return fedctl_usage(ctl, "--limit does not go with --watch: a screen shows what lives first");
    if (ctl->options.follow)
        return watching(ctl, kind);
    const struct fetcher *fetcher = fetcher_of(ctl, kind);
    struct listing listing;
    listing_begin(&listing, fetcher->resource, &ctl->options, is_single(ctl, kind), &ctl->out);
    listing.limit = (size_t)ctl->options.limit;
    int code = fetcher->fetch(ctl, &listing);
    listing_end(&listing, code == FEDCTL_DONE);
    return code;
}

const struct verb verb_get = {
    .name = "get",
    .usage = "[jobs] [TENANT/NAME...]\nclusters [NAME...]\nnodes [CLUSTER/NODE...]\ngpus "
             "[CLUSTER/NODE...]\ninstances [TENANT/NAME...]\nreservations [TENANT/NAME...]\nmigrations "
             "[ID...]\ndrains "
             "[CLUSTER/NODE...]",
    .help = "List jobs, clusters, nodes, GPUs, instances, reservations, migrations or drains",
    .more =
        "A list is fetched in pages, and all of it is shown unless --limit ends it. Ages and spans are "
        "rounded; "
        "-o json\n"
        "and -o yaml have exact times in UTC. A single object that was named is shown as itself, anything "
        "else "
        "as a List.\n"
        "Finished jobs leave the store after their keepFinished; each member of the federation keeps those "
        "that\n"
        "left while it led, as long as settings.history says: give all members as endpoints to see all.",
    .examples = "# Every job, and why it waits\n"
                "fedctl get jobs -A\n"
                "# What waits or has failed, of one team\n"
                "fedctl get jobs --phase pending,failed -l team=ranking\n"
                "# What one team ran before, and how the last ten of a name ended\n"
                "fedctl get jobs --archived -t search\n"
                "fedctl get jobs --archived search/rank --limit 10 -o yaml\n"
                "# Which reservations are over, and why\n"
                "fedctl get reservations --archived -A\n"
                "# Where the instances of a job are, with their ports\n"
                "fedctl get instances web/hello\n"
                "# Free GPUs, node by node\n"
                "fedctl get nodes --cluster bj-a\n"
                "# Who has which GPU\n"
                "fedctl get gpus bj-a/n3\n"
                "# For scripts\n"
                "fedctl get jobs -o name --phase failed | xargs -r fedctl delete\n",
    .options = OPTION_LIST(options),
    .run = run,
};
