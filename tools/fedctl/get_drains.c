/* SPDX-License-Identifier: Apache-2.0 */
/* Owns how drains are listed: nodes that are drained, and how far that is. */
#include "common/base/cleanup.h"
#include "tools/fedctl/resource.h"
#include "tools/fedctl/when.h"

static const struct column columns[] = {
    {"NODE", 0},
    {"STATE", 0},
    {"LEFT", COLUMN_RIGHT},
    {"SINCE", COLUMN_RIGHT},
    {"DEADLINE", 0},
    {"AT-ONCE", COLUMN_RIGHT},
    {"FORCE", 0},
    {"WHO", 0},
    {"REASON", 0},
};

enum { NAMED = 3 };

/* Of those that are there yet. */
static void who_cell(const struct tf_node_info *info, struct columns *out)
{
    TF_AUTO_BUF text = TF_BUF_INIT;
    for (size_t i = 0; i < info->instances.count && i < NAMED; i++)
        tf_buf_fmt(&text, "%s%s/%s/%u", i ? ", " : "", info->instances.items[i].tenant,
                   info->instances.items[i].name, info->instances.items[i].index);
    if (info->instances.count > NAMED)
        tf_buf_fmt(&text, ", %zu more", info->instances.count - NAMED);
    columns_add(out, text.len ? tf_buf_text(&text) : "-");
}

static void cells(const void *object, struct tf_wall now, struct columns *out)
{
    const struct tf_node_info *info = object;
    const struct tf_drain *drain = &info->cordon.drain;
    bool over = info->instances.count == 0;
    char text[WHEN_TEXT];
    columns_add_fmt(out, "%s/%s", info->cluster, info->node.name);
    columns_add_styled(out, over ? CELL_GOOD : CELL_WAITING, over ? "Drained" : "Draining");
    columns_add_fmt(out, "%zu", info->instances.count);
    columns_add(out, when_age(info->cordon.at, now, text));
    columns_add(out, drain->deadline.ms ? when_local(drain->deadline, text) : "-");
    if (drain->max_at_once)
        columns_add_fmt(out, "%d", drain->max_at_once);
    else
        columns_add(out, "-");
    columns_add(out, drain->force ? "yes" : "no");
    who_cell(info, out);
    columns_add(out, info->cordon.reason);
}

static void name(const void *object, struct tf_buf *buf)
{
    const struct tf_node_info *info = object;
    tf_buf_fmt(buf, "%s/%s", info->cluster, info->node.name);
}

const struct resource resource_drains = {"drains", columns, TF_ARRAY_LEN(columns), &view_node, cells, name};

static void add_drained(void *arg, const struct tf_node_info *info)
{
    if (info->cordon.drain.on)
        listing_add(arg, info);
}

int fetch_drains(struct fedctl *ctl, struct listing *listing)
{
    return fetch_each_node(ctl, add_drained, listing);
}
