/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the names that a scenario makes and refers to: templates, nodes, daemons, GPUs. */
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "tools/fedsim/scenario/private.h"

#include <inttypes.h>

enum { EXPANDED_MAX = 1000 };

/* ---- templates ---- */

/* {LETTER} or {LETTER/d} at p, which is at the brace: appends its number. Gives what follows, or NULL. */
static const char *expand_one(const char *p, char letter, int64_t n, struct tf_buf *out)
{
    int64_t divisor = 1;
    const char *end = strchr(p, '}');
    if (!end || p[1] != letter)
        return NULL;
    if (p[2] == '/') {
        TF_AUTO_FREE char *digits = tf_strndup(p + 3, (size_t)(end - p - 3));
        if (tf_parse_int64(digits, 1, INT32_MAX, &divisor, NULL))
            return NULL;
    } else if (p + 2 != end) {
        return NULL;
    }
    tf_buf_fmt(out, "%" PRId64, n / divisor);
    return end + 1;
}

char *scenario_expand(const char *text, char letter, int64_t n, struct tf_error *err)
{
    struct tf_buf out = TF_BUF_INIT;
    const char *p = text;
    while (p && *p && out.len < EXPANDED_MAX) {
        size_t plain = strcspn(p, "{}");
        tf_buf_add(&out, p, plain);
        p += plain;
        if (*p == '{')
            p = expand_one(p, letter, n, &out);
        else if (*p == '}')
            p = NULL;
    }
    if (p && !*p)
        return tf_buf_take(&out);
    tf_buf_release(&out);
    tf_error_set(err, TF_ERR_INVALID, "\"%.60s\" has something in braces that is not {%c} or {%c/NUMBER}",
                 text, letter, letter);
    return NULL;
}

static bool gives(const char *template, int64_t n, const char *text)
{
    TF_AUTO_FREE char *made = scenario_expand(template, 'k', n, NULL);
    return tf_str_eq(made, text);
}

/* The digits that {k} may have become stand where it does; how many they are is tried. */
bool scenario_template_gives(const char *template, int32_t count, const char *text)
{
    const char *at = strstr(template, "{k}");
    if (!at)
        return gives(template, 0, text);
    size_t before = (size_t)(at - template);
    if (strncmp(template, text, before < strlen(text) ? before : strlen(text)) != 0 &&
        !memchr(template, '{', before))
        return false;
    for (size_t start = 0; text[start]; start++) {
        int64_t n = 0;
        for (size_t i = start; text[i] >= '0' && text[i] <= '9' && n < count; i++) {
            n = n * 10 + (text[i] - '0');
            if (n < count && gives(template, n, text))
                return true;
        }
    }
    return false;
}

/* ---- nodes ---- */

int scenario_gpus_parse(const char *text, uint64_t *gpus, struct tf_error *err)
{
    uint64_t set = 0;
    const char *p = text;
    while (strcmp(text, "none") != 0) {
        char *end;
        unsigned long first = strtoul(p, &end, 10), last = first;
        bool good = end != p && *p >= '0' && *p <= '9';
        if (good && *end == '-' && end[1] >= '0' && end[1] <= '9')
            last = strtoul(end + 1, &end, 10);
        if (!good || first > last || last >= TF_NODE_GPUS_MAX || (*end && *end != ','))
            return tf_error_set(err, TF_ERR_INVALID, "\"%.60s\" is no set of GPUs: write \"0-3,6\" or none",
                                text);
        for (unsigned long i = first; i <= last; i++)
            set |= UINT64_C(1) << i;
        if (!*end)
            break;
        p = end + 1;
    }
    *gpus = set;
    return 0;
}

static const char *template_of(const struct scenario_nodes *group, const struct tf_planes *planes,
                               size_t plane)
{
    if (group->domain)
        return group->domain; /* there is one plane only */
    tf_vec_each (d, &group->domains)
        if (tf_str_eq(d->plane, planes->items[plane].name))
            return d->path;
    return NULL;
}

static int make_domains(const struct scenario_cluster *cluster, const struct scenario_nodes *group,
                        int32_t number, struct tf_node *node, struct tf_error *err)
{
    for (size_t i = 0; i < cluster->levels.count; i++) {
        const char *template = template_of(group, &cluster->levels, i);
        TF_AUTO_FREE char *path = scenario_expand(template ? template : "", 'i', number, err);
        if (!path)
            return -1;
        tf_strs_add(&node->domains, path);
    }
    return 0;
}

int scenario_node_make(const struct scenario_cluster *cluster, const struct scenario_nodes *group,
                       int32_t number, struct tf_node *node, struct tf_error *err)
{
    *node = (struct tf_node){.state = TF_NODE_READY};
    node->name = tf_asprintf("%s%" PRId32, group->prefix, number);
    if (group->gpus)
        node->model = tf_strdup(group->model);
    node->gpu_memory = group->gpus ? group->gpu_memory : 0;
    node->capacity = (struct tf_vector){group->gpus, group->slots, group->cpu, group->memory};
    tf_pairs_copy(&node->labels, &group->labels);
    int failed = make_domains(cluster, group, number, node, err);
    if (!failed && group->foreign)
        failed = scenario_gpus_parse(group->foreign, &node->foreign.gpus, err);
    if (!failed && node->foreign.gpus & ~tf_gpu_set_all(group->gpus))
        failed = tf_error_set(err, TF_ERR_INVALID, "foreign names GPUs that the node does not have");
    if (failed)
        tf_node_release(node);
    return failed;
}

/* ---- references ---- */

static int copy_name(const char *text, size_t len, char name[TF_NAME_MAX + 1], const char *what,
                     struct tf_error *err)
{
    TF_AUTO_FREE char *copy = tf_strndup(text, len);
    if (tf_name_check(copy, what, err))
        return -1;
    memcpy(name, copy, len + 1);
    return 0;
}

static int bad_daemon(const char *text, struct tf_error *err)
{
    return tf_error_set(
        err, TF_ERR_INVALID,
        "\"%.60s\" is no daemon: write fedd, fedd/2, subclusterd/CLUSTER or subclusterd/CLUSTER/2", text);
}

int scenario_daemon_parse(const char *text, struct scenario_daemon *daemon, struct tf_error *err)
{
    static const char subclusterd[] = "subclusterd/";
    int64_t number = 0;
    *daemon = (struct scenario_daemon){.is_fedd = tf_starts_with(text, "fedd")};
    const char *rest = text + strlen("fedd");
    if (!daemon->is_fedd && !tf_starts_with(text, subclusterd))
        return bad_daemon(text, err);
    if (!daemon->is_fedd) {
        rest = text + strlen(subclusterd);
        size_t len = strcspn(rest, "/");
        if (copy_name(rest, len, daemon->cluster, "the cluster", err))
            return -1;
        rest += len;
    }
    if (*rest && (*rest != '/' || tf_parse_int64(rest + 1, 1, INT32_MAX, &number, NULL)))
        return bad_daemon(text, err);
    daemon->number = (int32_t)number;
    return 0;
}

int scenario_place_parse(const char *text, bool gpu, struct scenario_place *place, struct tf_error *err)
{
    *place = (struct scenario_place){0};
    const char *slash = strchr(text, '/'), *node = slash ? slash + 1 : text;
    const char *end = gpu ? strchr(node, ':') : node + strlen(node);
    int64_t index = 0;
    if (!end || (gpu && tf_parse_int64(end + 1, 0, TF_NODE_GPUS_MAX - 1, &index, NULL)))
        return tf_error_set(err, TF_ERR_INVALID, "\"%.60s\" is no GPU: write CLUSTER/NODE:INDEX", text);
    place->gpu = (int32_t)index;
    if (slash && copy_name(text, (size_t)(slash - text), place->cluster, "the cluster", err))
        return -1;
    return copy_name(node, (size_t)(end - node), place->node, "the node", err);
}

int scenario_cluster_find(const struct scenario *scenario, const char *name)
{
    for (size_t i = 0; i < scenario->clusters.count; i++)
        if (*name == '\0' || tf_str_eq(scenario->clusters.items[i].name, name))
            return (int)i;
    return -1;
}

static bool duplicates(const struct scenario_event *event, const char *cluster)
{
    struct scenario_daemon daemon;
    if (!event->duplicate || scenario_daemon_parse(event->duplicate, &daemon, NULL))
        return false;
    return cluster ? !daemon.is_fedd && tf_str_eq(daemon.cluster, cluster) : daemon.is_fedd;
}

int32_t scenario_duplicates(const struct scenario *scenario, const char *cluster)
{
    int32_t count = 0;
    tf_vec_each (e, &scenario->events)
        count += duplicates(e, cluster);
    tf_vec_each (e, &scenario->faults)
        count += duplicates(e, cluster);
    return count;
}

/* ---- moments ---- */

int32_t scenario_times_count(const struct scenario_times *times)
{
    return times->count ? times->count : 1;
}

int64_t scenario_times_at(const struct scenario_times *times, int32_t k)
{
    return times->from + times->every * k;
}
