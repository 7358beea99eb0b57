/* SPDX-License-Identifier: Apache-2.0 */
/* Owns how clusters are listed. */
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "tools/fedctl/resource.h"
#include "tools/fedctl/when.h"

static const char *basic_state(const struct tf_cluster_info *info)
{
    if (info->forgotten)
        return "Forgotten";
    if (info->stopped)
        return "Stopped";
    if (info->lost)
        return "Lost";
    if (!info->attached)
        return "Away";
    if (info->store_trouble)
        return "StoreDown";
    if (info->brakes & TF_BRAKE_MASS_DOWN)
        return "Suspect"; /* too many nodes went silent at once: none of them is judged */
    return info->generation.owner == 0 && info->generation.counter == 0 ? "Waiting" : "Ready";
}

const char *cluster_state(const struct tf_cluster_info *info, char text[CLUSTER_STATE_TEXT])
{
    const char *basic = basic_state(info);
    if (!info->cordoned)
        snprintf(text, CLUSTER_STATE_TEXT, "%s", basic);
    else if (strcmp(basic, "Ready") == 0)
        snprintf(text, CLUSTER_STATE_TEXT, "Cordoned");
    else
        snprintf(text, CLUSTER_STATE_TEXT, "%s,Cordoned", basic);
    if (info->brakes & TF_FROZEN_ALL && !info->forgotten)
        snprintf(text + strlen(text), CLUSTER_STATE_TEXT - strlen(text), ",Frozen");
    return text;
}

enum cell_style cluster_style(const struct tf_cluster_info *info)
{
    if (info->forgotten || info->stopped)
        return CELL_FAINT;
    if (info->lost || info->store_trouble || info->brakes & TF_BRAKE_MASS_DOWN)
        return CELL_BAD;
    return info->attached && !info->cordoned && !(info->brakes & TF_FROZEN_ALL) && info->generation.counter
               ? CELL_GOOD
               : CELL_WAITING;
}

static const struct column columns[] = {
    {"NAME", 0},
    {"REGION", 0},
    {"STATE", 0},
    {"NODES", COLUMN_RIGHT},
    {"GPUS", COLUMN_RIGHT},
    {"FREE", COLUMN_RIGHT},
    {"HELD", COLUMN_RIGHT},
    {"JOBS", COLUMN_RIGHT},
    {"CONTACT", COLUMN_RIGHT},
    {"FOREIGN", COLUMN_WIDE | COLUMN_RIGHT},
    {"BAD", COLUMN_WIDE | COLUMN_RIGHT},
    {"ENGINE", COLUMN_WIDE},
    {"VERSION", COLUMN_WIDE},
    {"CORDON", COLUMN_WIDE},
};

/* "4", or "3/4" when some are not ready. */
static void node_cell(const struct tf_health_counts *health, struct columns *out)
{
    if (health->ready == health->nodes)
        columns_add_fmt(out, "%d", health->nodes);
    else
        columns_add_fmt(out, "%d/%d", health->ready, health->nodes);
}

/* What a subcluster has is not known before its first profile under this leader. */
static void capacity_cells(const struct tf_cluster_info *info, struct columns *out)
{
    if (info->generation.owner == 0) {
        for (int i = 0; i < 4; i++)
            columns_add(out, "-");
        return;
    }
    node_cell(&info->health, out);
    columns_add_fmt(out, "%d", info->health.gpus);
    columns_add_fmt(out, "%d", info->health.free_gpus);
    columns_add_fmt(out, "%d", info->health.held_gpus);
}

static void contact_cell(const struct tf_cluster_info *info, struct tf_wall now, struct columns *out)
{
    char text[WHEN_TEXT];
    columns_add(out, info->attached ? "now" : when_relative(info->contact, now, text));
}

static void cells(const void *object, struct tf_wall now, struct columns *out)
{
    const struct tf_cluster_info *info = object;
    char state[CLUSTER_STATE_TEXT];
    columns_add(out, info->name);
    columns_add(out, info->region);
    columns_add_styled(out, cluster_style(info), cluster_state(info, state));
    capacity_cells(info, out);
    columns_add_fmt(out, "%d", info->placements);
    contact_cell(info, now, out);
    columns_add_fmt(out, "%d", info->health.foreign_gpus);
    columns_add_fmt(out, "%d", info->health.bad_gpus);
    columns_add(out, info->engine);
    columns_add(out, info->version);
    columns_add(out, info->cordon_reason);
}

static void name(const void *object, struct tf_buf *buf)
{
    tf_buf_str(buf, ((const struct tf_cluster_info *)object)->name);
}

const struct resource resource_clusters = {
    "clusters", columns, TF_ARRAY_LEN(columns), &view_cluster, cells, name,
};

/* ---- fetching ---- */

static const struct tf_cluster_info *find(const struct tf_clusters_reply *reply, const char *wanted)
{
    tf_vec_each (info, &reply->clusters)
        if (strcmp(info->name, wanted) == 0)
            return info;
    return NULL;
}

static int add_named(struct fedctl *ctl, const struct tf_clusters_reply *reply, struct listing *listing)
{
    int code = FEDCTL_DONE;
    for (size_t i = 0; i < ctl->words.count; i++) {
        const struct tf_cluster_info *info = find(reply, ctl->words.items[i]);
        if (info)
            listing_add(listing, info);
        else {
            message("there is no cluster %s; see fedctl get clusters", ctl->words.items[i]);
            code = FEDCTL_NOT_FOUND;
        }
    }
    return code;
}

int fetch_clusters(struct fedctl *ctl, struct listing *listing)
{
    struct tf_request request = {.method = TF_METHOD_LIST_CLUSTERS};
    struct tf_reply reply = {0};
    struct tf_error err = TF_ERROR_INIT;
    struct tf_selector labels = {0};
    if (ctl->options.selector && target_selector(ctl->options.selector, &labels, &err)) {
        tf_selector_release(&labels);
        return fedctl_usage(ctl, "%s", err.text);
    }
    int code = FEDCTL_DONE;
    if (fedctl_call(ctl, &request, &reply, &err))
        code = fedctl_fail(ctl, &err);
    else if (ctl->words.count)
        code = add_named(ctl, &reply.clusters, listing);
    else
        tf_vec_each (info, &reply.clusters.clusters)
            if (tf_selector_match(&labels, &info->labels))
                listing_add(listing, info);
    tf_reply_release(&reply);
    tf_selector_release(&labels);
    return code;
}
