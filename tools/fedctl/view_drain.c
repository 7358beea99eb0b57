/* SPDX-License-Identifier: Apache-2.0 */
/* What -o json and -o yaml show of drains. */
#include "common/model/manifest.h"
#include "tools/fedctl/drains.h"
#include "tools/fedctl/view.h"

struct drain_doc {
    char *cluster, *node, *domain, *labels, *kind, *reason, *since, *deadline, *state;
    int32_t nodes, empty, at_once;
    bool force;
    struct tf_strs left;
};

#define D struct drain_doc
static const struct tf_row metadata_rows[] = {
    {.key = "cluster", TF_STRING(D, cluster)},
    {.key = "node", TF_STRING(D, node)},
    {.key = "domain", TF_STRING(D, domain)},
    {.key = "labels", TF_STRING(D, labels)},
};
static const struct tf_table metadata_table = TF_TABLE(D, metadata_rows);
static const struct tf_row spec_rows[] = {
    {.key = "of", TF_STRING(D, kind)},
    {.key = "deadline", TF_STRING(D, deadline)},
    {.key = "maxAtOnce", TF_INT32(D, at_once), .flags = TF_ROW_ZERO},
    {.key = "force", TF_BOOL(D, force)},
    {.key = "reason", TF_STRING(D, reason)},
};
static const struct tf_table spec_table = TF_TABLE(D, spec_rows);
static const struct tf_row status_rows[] = {
    {.key = "state", TF_STRING(D, state)},         {.key = "since", TF_STRING(D, since)},
    {.key = "nodes", TF_INT32(D, nodes)},          {.key = "emptyNodes", TF_INT32(D, empty)},
    {.key = "instancesLeft", TF_STRINGS(D, left)},
};
static const struct tf_table status_table = TF_TABLE(D, status_rows);
static const struct tf_row drain_rows[] = {
    {.key = "apiVersion", TF_CONST(TF_API_VERSION)}, {.key = "kind", TF_CONST("Drain")},
    {.key = "metadata", TF_GROUP(&metadata_table)},  {.key = "spec", TF_GROUP(&spec_table)},
    {.key = "status", TF_GROUP(&status_table)},
};
static const struct tf_table drain_table = TF_TABLE(D, drain_rows);
#undef D

static void fill(const void *object, void *document, struct tf_arena *arena)
{
    const struct drain *drain = object;
    struct drain_doc *doc = document;
    bool all = !drain->of_node && strcmp(drain->what, TF_ALL_DOMAINS) == 0;
    const char *labels = drain->of_node ? NULL : tf_domain_labels(drain->what);
    *doc = (struct drain_doc){.cluster = drain->cluster,
                              .node = drain->of_node ? drain->what : NULL,
                              .domain = drain->of_node || all || labels ? NULL : drain->what,
                              .labels = labels ? view_word(labels) : NULL,
                              .kind = view_word(drain_kind(drain)),
                              .reason = drain->reason,
                              .since = view_time(drain->since, arena),
                              .deadline = view_time(drain->terms.deadline, arena),
                              .state = view_word(drain_is_done(drain) ? "Drained" : "Draining"),
                              .nodes = (int32_t)drain->covers.count,
                              .empty = drain->empty,
                              .at_once = drain->terms.max_at_once,
                              .force = drain->terms.force,
                              .left = drain->left};
}

const struct view view_drain = {&drain_table, sizeof(struct drain_doc), fill};
