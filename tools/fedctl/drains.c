/* SPDX-License-Identifier: Apache-2.0 */
/* Owns how drains are found: no subcluster keeps one as a whole, its nodes say together what was ordered. */
#include "tools/fedctl/drains.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "tools/fedctl/resource.h"

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
    return (size_t)drain->empty == drain->covers.count;
}

void drains_release(struct drains *drains)
{
    tf_vec_each (drain, drains) {
        tf_strs_release(&drain->left);
        tf_vec_each (node, &drain->covers) {
            tf_strs_release(&node->left);
            free(node->name);
        }
        tf_vec_release(&drain->covers);
        free(drain->cluster);
        free(drain->what);
        free(drain->reason);
    }
    tf_vec_release(drains);
}

/* ---- from nodes to drains ---- */

/* A node that is drained, as its subcluster tells of it. */
struct drained {
    char *cluster;
    struct tf_node node;
    struct tf_cordon cordon;
    struct tf_strs left;
};
struct all_drained {
    struct drained *items;
    size_t count, cap;
};

static void add_node(void *arg, const struct tf_node_info *info)
{
    if (!info->cordon.drain.on)
        return;
    struct drained *drained = tf_vec_add((struct all_drained *)arg);
    *drained = (struct drained){.cluster = tf_strdup(info->cluster)};
    tf_node_copy(&drained->node, &info->node);
    tf_cordon_copy(&drained->cordon, &info->cordon);
    tf_vec_each (i, &info->instances) {
        TF_AUTO_FREE char *id = tf_asprintf("%s/%s/%u", i->tenant, i->name, i->index);
        tf_strs_add(&drained->left, id);
    }
}

static void all_release(struct all_drained *all)
{
    tf_vec_each (drained, all) {
        free(drained->cluster);
        tf_node_release(&drained->node);
        tf_cordon_release(&drained->cordon);
        tf_strs_release(&drained->left);
    }
    tf_vec_release(all);
}

/* The drain that the node is under: the terms of that hold for it. */
static struct drain *drain_of(struct drains *drains, const struct drained *node)
{
    const char *with = node->cordon.drained_with;
    tf_vec_each (drain, drains)
        if (with && !drain->of_node && strcmp(drain->cluster, node->cluster) == 0 &&
            strcmp(drain->what, with) == 0)
            return drain;
    struct drain *drain = tf_vec_add(drains);
    *drain = (struct drain){.cluster = tf_strdup(node->cluster),
                            .what = tf_strdup(with ? with : node->node.name),
                            .of_node = !with,
                            .terms = node->cordon.drain};
    return drain;
}

/* One that was cordoned before has the moment and the reason of that. */
static void take_reason(struct drain *drain, const struct tf_cordon *cordon)
{
    if (cordon->stays || (drain->since.ms != 0 && cordon->at.ms >= drain->since.ms))
        return;
    drain->since = cordon->at;
    tf_str_set(&drain->reason, cordon->reason);
}

static bool is_under(const struct drain *drain, const struct drained *node)
{
    const char *with = node->cordon.drained_with;
    return strcmp(drain->cluster, node->cluster) == 0 &&
           (drain->of_node ? !with && strcmp(drain->what, node->node.name) == 0
                           : tf_str_eq(drain->what, with));
}

/* An order about many covers what a later order has taken from it, too: a node that is drained by itself, or
 * with a part of the domain. It is not done before they are empty. */
static bool covers(const struct drain *drain, const struct drained *node)
{
    return is_under(drain, node) || (!drain->of_node && strcmp(drain->cluster, node->cluster) == 0 &&
                                     tf_node_is_in(&node->node, drain->what));
}

static void cover(struct drain *drain, const struct drained *node)
{
    struct drain_node *covered = tf_vec_add(&drain->covers);
    *covered = (struct drain_node){
        .name = tf_strdup(node->node.name), .other_terms = !is_under(drain, node), .state = node->node.state};
    tf_strs_copy(&covered->left, &node->left);
    drain->empty += node->left.count == 0;
    tf_vec_each (id, &node->left)
        tf_strs_add(&drain->left, *id);
}

int drains_fetch(struct fedctl *ctl, struct drains *drains)
{
    struct all_drained all = {0};
    *drains = (struct drains){0};
    int code = fetch_each_node(ctl, add_node, &all);
    tf_vec_each (node, &all)
        take_reason(drain_of(drains, node), &node->cordon);
    tf_vec_each (drain, drains)
        tf_vec_each (node, &all)
            if (covers(drain, node))
                cover(drain, node);
    all_release(&all);
    return code;
}
