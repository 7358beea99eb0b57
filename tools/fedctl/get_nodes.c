/* SPDX-License-Identifier: Apache-2.0 */
/* Owns how nodes are listed. */
#include "common/base/alloc.h"
#include "common/base/cleanup.h"
#include "common/base/quantity.h"
#include "common/base/text.h"
#include "tools/fedctl/resource.h"
#include "tools/fedctl/when.h"

static const struct column columns[] = {
    {"CLUSTER", 0},
    {"NODE", 0},
    {"STATE", 0},
    {"MODEL", 0},
    {"GPUS", COLUMN_RIGHT},
    {"FREE", COLUMN_RIGHT},
    {"CPU", COLUMN_RIGHT},
    {"MEMORY", COLUMN_RIGHT},
    {"INSTANCES", COLUMN_RIGHT},
    {"DOMAINS", 0},
    {"GPUMEMORY", COLUMN_WIDE | COLUMN_RIGHT},
    {"BAD", COLUMN_WIDE},
    {"FOREIGN", COLUMN_WIDE},
    {"CORDON", COLUMN_WIDE},
    {"VERDICT", COLUMN_WIDE},
    {"ADDRESS", COLUMN_WIDE},
    {"ENGINE", COLUMN_WIDE},
    {"LABELS", COLUMN_WIDE},
};

static enum cell_style style_of(enum tf_node_state state)
{
    if (state == TF_NODE_READY)
        return CELL_GOOD;
    return state == TF_NODE_CORDONED || state == TF_NODE_DRAINING ? CELL_WAITING : CELL_BAD;
}

static void gpu_set_cell(uint64_t set, struct columns *out)
{
    char text[TF_GPU_SET_TEXT];
    columns_add(out, set ? tf_gpu_set_format(set, text) : "-");
}

static void labels_cell(const struct tf_pairs *labels, struct columns *out)
{
    TF_AUTO_BUF text = TF_BUF_INIT;
    for (size_t i = 0; i < labels->count; i++)
        tf_buf_fmt(&text, "%s%s=%s", i ? "," : "", labels->items[i].key, labels->items[i].value);
    columns_add(out, tf_buf_text(&text));
}

static void domains_cell(const struct tf_strs *domains, struct columns *out)
{
    TF_AUTO_BUF text = TF_BUF_INIT;
    for (size_t i = 0; i < domains->count; i++)
        tf_buf_fmt(&text, "%s%s", i ? "," : "", domains->items[i][0] ? domains->items[i] : "-");
    columns_add(out, tf_buf_text(&text));
}

static void used_cells(const struct tf_node_info *info, struct columns *out)
{
    char used[TF_QUANTITY_TEXT], all[TF_QUANTITY_TEXT];
    const struct tf_node *node = &info->node;
    columns_add_fmt(out, "%d", node->capacity.gpus);
    columns_add_fmt(out, "%d", tf_gpu_set_count(info->free_gpus));
    columns_add_fmt(out, "%s/%s", tf_cpu_format(info->used.cpu, used),
                    tf_cpu_format(node->capacity.cpu, all));
    columns_add_fmt(out, "%s/%s", tf_memory_format(info->used.memory, used),
                    tf_memory_format(node->capacity.memory, all));
    columns_add_fmt(out, "%zu", info->instances.count);
}

/* "fan; with pod-3: optics; 5: XID 79" */
static void cordon_cell(const struct tf_cordon *cordon, struct columns *out)
{
    TF_AUTO_BUF text = TF_BUF_INIT;
    char gpus[TF_GPU_SET_TEXT];
    if (cordon->whole)
        tf_buf_str(&text, cordon->reason ? cordon->reason : "no reason given");
    tf_vec_each (with, &cordon->domains)
        tf_buf_fmt(&text, "%swith %s: %s", text.len ? "; " : "", with->domain,
                   with->reason ? with->reason : "no reason given");
    tf_vec_each (g, &cordon->gpus)
        tf_buf_fmt(&text, "%s%s: %s", text.len ? "; " : "", tf_gpu_set_format(g->gpus, gpus),
                   g->reason ? g->reason : "no reason given");
    columns_add(out, tf_buf_text(&text));
}

/* What was concluded of a node that does not answer, and since when. */
static void verdict_cell(const struct tf_cordon *cordon, struct tf_wall now, struct columns *out)
{
    char age[WHEN_TEXT];
    if (cordon->verdict == TF_VERDICT_NONE)
        columns_add(out, "-");
    else
        columns_add_fmt(out, "%s %s", cordon->verdict == TF_VERDICT_LOST ? "Lost" : "Suspect",
                        when_age(cordon->judged, now, age));
}

static void cells(const void *object, struct tf_wall now, struct columns *out)
{
    const struct tf_node_info *info = object;
    const struct tf_node *node = &info->node;
    char memory[TF_QUANTITY_TEXT];
    columns_add(out, info->cluster);
    columns_add(out, node->name);
    columns_add_styled(out, style_of(node->state), tf_node_state_name(node->state));
    columns_add(out, node->model);
    used_cells(info, out);
    domains_cell(&node->domains, out);
    columns_add(out, node->gpu_memory ? tf_memory_format(node->gpu_memory, memory) : "-");
    gpu_set_cell(node->bad_gpus, out);
    gpu_set_cell(node->foreign.gpus, out);
    cordon_cell(&info->cordon, out);
    verdict_cell(&info->cordon, now, out);
    columns_add(out, node->address);
    columns_add(out, info->engine);
    labels_cell(&node->labels, out);
}

static void name(const void *object, struct tf_buf *buf)
{
    const struct tf_node_info *info = object;
    tf_buf_fmt(buf, "%s/%s", info->cluster, info->node.name);
}

const struct resource resource_nodes = {"nodes", columns, TF_ARRAY_LEN(columns), &view_node, cells, name};

/* ---- fetching ---- */

int tell_missing(const struct tf_strs *clusters, const char *what)
{
    for (size_t i = 0; i < clusters->count; i++)
        message("cluster %s did not answer: its %s are missing from this list", clusters->items[i], what);
    return clusters->count ? FEDCTL_FAILED : FEDCTL_DONE;
}

/* Whether word, "CLUSTER/NODE" or "NODE", may name a node of a cluster that did not answer. */
static bool may_be_missing(const struct tf_strs *missing, const char *word)
{
    const char *slash = strchr(word, '/');
    if (!slash)
        return missing->count > 0;
    TF_AUTO_FREE char *cluster = tf_strndup(word, (size_t)(slash - word));
    return tf_strs_has(missing, cluster);
}

int tell_no_node(const char *word, const struct tf_strs *missing)
{
    if (!may_be_missing(missing, word)) {
        message("there is no node %.200s; see fedctl get nodes", word);
        return FEDCTL_NOT_FOUND;
    }
    message("%.200s: nothing can be said of it while its cluster is away or does not answer: see `fedctl get "
            "clusters`, and ask again when it is back",
            word);
    return FEDCTL_FAILED;
}

/* True if word names the node: "CLUSTER/NODE", or "NODE" alone. */
static bool is_named(const struct tf_node_info *info, const char *word)
{
    const char *slash = strchr(word, '/');
    if (!slash)
        return strcmp(info->node.name, word) == 0;
    size_t len = (size_t)(slash - word);
    return strncmp(info->cluster, word, len) == 0 && !info->cluster[len] &&
           strcmp(info->node.name, slash + 1) == 0;
}

static int each_named(struct fedctl *ctl, const struct tf_nodes_reply *reply, node_each_f *each, void *arg)
{
    int code = FEDCTL_DONE;
    for (size_t i = 0; i < ctl->words.count; i++) {
        bool found = false;
        tf_vec_each (info, &reply->nodes) {
            if (!is_named(info, ctl->words.items[i]))
                continue;
            each(arg, info);
            found = true;
        }
        if (found)
            continue;
        int told = tell_no_node(ctl->words.items[i], &reply->missing);
        code = code ? code : told;
    }
    return code;
}

int fetch_each_node(struct fedctl *ctl, node_each_f *each, void *arg)
{
    struct tf_request request = {.method = TF_METHOD_LIST_NODES};
    struct tf_reply reply = {0};
    struct tf_error err = TF_ERROR_INIT;
    struct tf_selector labels = {0};
    if (ctl->options.selector && target_selector(ctl->options.selector, &labels, &err)) {
        tf_selector_release(&labels);
        return fedctl_usage(ctl, "%s", err.text);
    }
    request.nodes.cluster = tf_strdup(ctl->options.cluster);
    int code = FEDCTL_DONE;
    if (fedctl_call(ctl, &request, &reply, &err))
        code = fedctl_fail(ctl, &err);
    else if (ctl->words.count)
        code = each_named(ctl, &reply.nodes, each, arg);
    else
        tf_vec_each (info, &reply.nodes.nodes)
            if (tf_selector_match(&labels, &info->node.labels))
                each(arg, info);
    int missing = tell_missing(&reply.nodes.missing, "nodes"); /* what was not found may be there */
    code = code ? code : missing;
    tf_reply_release(&reply);
    tf_request_release(&request);
    tf_selector_release(&labels);
    return code;
}

static void add_node(void *arg, const struct tf_node_info *info)
{
    listing_add(arg, info);
}

int fetch_nodes(struct fedctl *ctl, struct listing *listing)
{
    return fetch_each_node(ctl, add_node, listing);
}
