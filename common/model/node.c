/* SPDX-License-Identifier: Apache-2.0 */
#include "common/model/node.h"

#include "common/base/text.h"
#include "common/model/selector.h"

void tf_planes_release(struct tf_planes *planes)
{
    tf_vec_each (p, planes) {
        free(p->name);
        tf_strs_release(&p->levels);
    }
    tf_vec_release(planes);
}

void tf_planes_copy(struct tf_planes *to, const struct tf_planes *from)
{
    struct tf_planes copy = {0};
    tf_vec_each (p, from) {
        struct tf_plane *plane = tf_vec_add(&copy);
        plane->name = tf_strdup(p->name);
        tf_strs_copy(&plane->levels, &p->levels);
    }
    tf_planes_release(to);
    *to = copy;
}

static int level_of(const struct tf_plane *plane, const char *within)
{
    for (size_t i = 0; i < plane->levels.count; i++)
        if (tf_str_eq(plane->levels.items[i], within))
            return (int)i;
    return -1;
}

int tf_planes_find(const struct tf_planes *planes, const char *plane, const char *within, size_t *plane_index,
                   size_t *level_index, struct tf_error *err)
{
    const struct tf_plane *found = NULL;
    tf_vec_each (p, planes) {
        if ((plane && !tf_str_eq(p->name, plane)) || level_of(p, within) < 0)
            continue;
        if (found)
            return tf_error_set(err, TF_ERR_INVALID,
                                "level \"%s\" is in the planes \"%s\" and \"%s\": say which by plane:",
                                within, found->name, p->name);
        found = p;
    }
    if (!found)
        return tf_error_set(err, TF_ERR_NOT_FOUND, "no topology plane%s%s%s has a level \"%s\"",
                            plane ? " \"" : "", plane ? plane : "", plane ? "\"" : "", within);
    *plane_index = (size_t)(found - planes->items);
    *level_index = (size_t)level_of(found, within);
    return 0;
}

void tf_node_release(struct tf_node *node)
{
    free(node->name);
    free(node->address);
    free(node->model);
    tf_pairs_release(&node->labels);
    tf_strs_release(&node->domains);
    *node = (struct tf_node){0};
}

void tf_node_copy(struct tf_node *to, const struct tf_node *from)
{
    struct tf_node copy = *from;
    copy.name = tf_strdup(from->name);
    copy.address = tf_strdup(from->address);
    copy.model = tf_strdup(from->model);
    copy.labels = (struct tf_pairs){0};
    copy.domains = (struct tf_strs){0};
    tf_pairs_copy(&copy.labels, &from->labels);
    tf_strs_copy(&copy.domains, &from->domains);
    tf_node_release(to);
    *to = copy;
}

bool tf_node_eq(const struct tf_node *a, const struct tf_node *b)
{
    return tf_str_eq(a->name, b->name) && tf_str_eq(a->address, b->address) &&
           tf_str_eq(a->model, b->model) && a->gpu_memory == b->gpu_memory &&
           tf_vector_eq(a->capacity, b->capacity) && tf_pairs_eq(&a->labels, &b->labels) &&
           tf_strs_eq(&a->domains, &b->domains) && a->foreign.gpus == b->foreign.gpus &&
           a->foreign.slots == b->foreign.slots && a->foreign.cpu == b->foreign.cpu &&
           a->foreign.memory == b->foreign.memory && a->bad_gpus == b->bad_gpus &&
           a->suspect_gpus == b->suspect_gpus && a->state == b->state;
}

const char *tf_domain_labels(const char *domain)
{
    size_t len = strlen(TF_BY_LABELS);
    return strncmp(domain, TF_BY_LABELS, len) == 0 ? domain + len : NULL;
}

/* False also if it cannot be read. */
static bool has_labels(const struct tf_node *node, const char *text)
{
    struct tf_selector selector = {0};
    bool matches = tf_selector_parse(text, &selector, NULL) == 0 && selector.count &&
                   tf_selector_match(&selector, &node->labels);
    tf_selector_release(&selector);
    return matches;
}

bool tf_node_is_in(const struct tf_node *node, const char *domain)
{
    size_t len = strlen(domain);
    if (strcmp(domain, TF_ALL_DOMAINS) == 0)
        return true;
    if (tf_domain_labels(domain))
        return has_labels(node, tf_domain_labels(domain));
    tf_vec_each (path, &node->domains)
        if (strncmp(*path, domain, len) == 0 && ((*path)[len] == '\0' || (*path)[len] == '/'))
            return true;
    return false;
}

static bool check_domains(const struct tf_node *node, const struct tf_planes *planes, const char *path,
                          struct tf_complaints *out)
{
    if (node->domains.count > planes->count) {
        tf_complaints_add(out, path, "has %zu domains, but the subcluster has %zu topology planes",
                          node->domains.count, planes->count);
        return false;
    }
    bool ok = true;
    for (size_t i = 0; i < node->domains.count; i++) {
        const char *domain = node->domains.items[i];
        size_t parts = *domain != '\0';
        for (const char *c = domain; *c; c++)
            parts += *c == '/';
        if (parts == 0 || parts == planes->items[i].levels.count)
            continue;
        tf_complaints_add(out, path, "domain \"%s\" has %zu parts; plane \"%s\" has %zu levels", domain,
                          parts, planes->items[i].name, planes->items[i].levels.count);
        ok = false;
    }
    return ok;
}

bool tf_node_check(const struct tf_node *node, const struct tf_planes *planes, const char *path,
                   struct tf_complaints *out)
{
    size_t before = out->count;
    struct tf_error err = TF_ERROR_INIT;
    if (tf_name_check(node->name ? node->name : "", "the node's name", &err))
        tf_complaints_add(out, path, "%s", err.text);
    const struct tf_vector *c = &node->capacity;
    if (c->gpus < 0 || c->gpus > TF_NODE_GPUS_MAX)
        tf_complaints_add(out, path, "%d GPUs: a node has 0 to %d", c->gpus, TF_NODE_GPUS_MAX);
    if (c->cpu < 0 || c->memory < 0 || c->slots < 0)
        tf_complaints_add(out, path, "cpu, memory and slots cannot be negative");
    if (c->gpus > 0 && !node->model)
        tf_complaints_add(out, path, "has GPUs but no model");
    check_domains(node, planes, path, out);
    return out->count == before;
}

uint64_t tf_gpu_set_lowest(uint64_t set, int32_t count)
{
    uint64_t lowest = 0;
    while (count-- > 0 && set) {
        uint64_t bit = set & -set;
        lowest |= bit;
        set ^= bit;
    }
    return lowest;
}

uint64_t tf_gpu_set_pick(uint64_t first, uint64_t then, uint64_t last, int32_t count)
{
    uint64_t picked = tf_gpu_set_lowest(first, count);
    picked |= tf_gpu_set_lowest(then & ~picked, count - tf_gpu_set_count(picked));
    return picked | tf_gpu_set_lowest(last & ~picked, count - tf_gpu_set_count(picked));
}

const char *tf_gpu_set_format(uint64_t set, char text[TF_GPU_SET_TEXT])
{
    size_t used = 0;
    text[0] = '\0';
    for (int first = 0; first < 64; first++) {
        if (!(set >> first & 1))
            continue;
        int last = first;
        while (last < 63 && set >> (last + 1) & 1)
            last++;
        const char *comma = used ? "," : "";
        int n = last > first ? snprintf(text + used, TF_GPU_SET_TEXT - used, "%s%d-%d", comma, first, last)
                             : snprintf(text + used, TF_GPU_SET_TEXT - used, "%s%d", comma, first);
        used += (size_t)n;
        first = last;
    }
    return text;
}
