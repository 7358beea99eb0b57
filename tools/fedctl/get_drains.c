/* SPDX-License-Identifier: Apache-2.0 */
/* Owns how drains are listed: one line an order, whatever nodes it has, and how far it is. */
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "tools/fedctl/drains.h"
#include "tools/fedctl/resource.h"
#include "tools/fedctl/when.h"

static const struct column columns[] = {
    {"DRAIN", 0},           {"KIND", 0},
    {"STATE", 0},           {"EMPTY", COLUMN_RIGHT},
    {"LEFT", COLUMN_RIGHT}, {"SINCE", COLUMN_RIGHT},
    {"DEADLINE", 0},        {"AT-ONCE", COLUMN_RIGHT},
    {"FORCE", 0},           {"WHO", 0},
    {"REASON", 0},
};

enum { NAMED = 3 };

static bool is_cluster(const struct drain *drain)
{
    return !drain->of_node && strcmp(drain->what, TF_ALL_DOMAINS) == 0;
}

const char *drain_kind(const struct drain *drain)
{
    if (drain->of_node)
        return "node";
    return is_cluster(drain) ? "cluster" : tf_domain_labels(drain->what) ? "labels" : "domain";
}

void drain_name(const struct drain *drain, struct tf_buf *out)
{
    tf_buf_str(out, drain->cluster);
    if (!drain->of_node && tf_domain_labels(drain->what))
        tf_buf_fmt(out, " %s", drain->what);
    else if (!is_cluster(drain))
        tf_buf_fmt(out, "/%s", drain->what);
}

bool drain_is_done(const struct drain *drain)
{
    return drain->empty == drain->nodes;
}

/* ---- a line ---- */

/* Of those that are there yet. */
static void who_cell(const struct drain *drain, struct columns *out)
{
    TF_AUTO_BUF text = TF_BUF_INIT;
    for (size_t i = 0; i < drain->left.count && i < NAMED; i++)
        tf_buf_fmt(&text, "%s%s", i ? ", " : "", drain->left.items[i]);
    if (drain->left.count > NAMED)
        tf_buf_fmt(&text, ", %zu more", drain->left.count - NAMED);
    columns_add(out, text.len ? tf_buf_text(&text) : "-");
}

static void name(const void *object, struct tf_buf *buf)
{
    drain_name(object, buf);
}

static void cells(const void *object, struct tf_wall now, struct columns *out)
{
    const struct drain *drain = object;
    TF_AUTO_BUF what = TF_BUF_INIT;
    bool over = drain_is_done(drain);
    char text[WHEN_TEXT];
    drain_name(drain, &what);
    columns_add(out, tf_buf_text(&what));
    columns_add(out, drain_kind(drain));
    columns_add_styled(out, over ? CELL_GOOD : CELL_WAITING, over ? "Drained" : "Draining");
    columns_add_fmt(out, "%d/%d", drain->empty, drain->nodes);
    columns_add_fmt(out, "%zu", drain->left.count);
    columns_add(out, when_age(drain->since, now, text));
    columns_add(out, drain->terms.deadline.ms ? when_local(drain->terms.deadline, text) : "-");
    if (drain->terms.max_at_once)
        columns_add_fmt(out, "%d", drain->terms.max_at_once);
    else
        columns_add(out, "-");
    columns_add(out, drain->terms.force ? "yes" : "no");
    who_cell(drain, out);
    columns_add(out, drain->reason);
}

const struct resource resource_drains = {"drains", columns, TF_ARRAY_LEN(columns), &view_drain, cells, name};

/* ---- from nodes to drains ---- */

struct drains {
    struct drain *items;
    size_t count, cap;
};

static struct drain *drain_of(struct drains *drains, const struct tf_node_info *info)
{
    const char *with = info->cordon.drained_with;
    tf_vec_each (drain, drains)
        if (with && !drain->of_node && strcmp(drain->cluster, info->cluster) == 0 &&
            strcmp(drain->what, with) == 0)
            return drain;
    struct drain *drain = tf_vec_add(drains);
    *drain = (struct drain){.cluster = tf_strdup(info->cluster),
                            .what = tf_strdup(with ? with : info->node.name),
                            .of_node = !with,
                            .terms = info->cordon.drain};
    return drain;
}

static void add_node(void *arg, const struct tf_node_info *info)
{
    const struct tf_cordon *cordon = &info->cordon;
    if (!cordon->drain.on)
        return;
    struct drain *drain = drain_of(arg, info);
    drain->nodes++;
    drain->empty += info->instances.count == 0;
    /* one that was cordoned before has the moment and the reason of that */
    if (!cordon->stays && (drain->since.ms == 0 || cordon->at.ms < drain->since.ms)) {
        drain->since = cordon->at;
        tf_str_set(&drain->reason, cordon->reason);
    }
    tf_vec_each (i, &info->instances) {
        TF_AUTO_FREE char *id = tf_asprintf("%s/%s/%u", i->tenant, i->name, i->index);
        tf_strs_add(&drain->left, id);
    }
}

int fetch_drains(struct fedctl *ctl, struct listing *listing)
{
    struct drains drains = {0};
    int code = fetch_each_node(ctl, add_node, &drains);
    tf_vec_each (drain, &drains) {
        listing_add(listing, drain);
        tf_strs_release(&drain->left);
        free(drain->cluster);
        free(drain->what);
        free(drain->reason);
    }
    tf_vec_release(&drains);
    return code;
}
