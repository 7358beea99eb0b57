/* SPDX-License-Identifier: Apache-2.0 */
#include "common/fit/catalog.h"

#include "common/base/cleanup.h"

void tf_catalog_init(struct tf_catalog *catalog, const struct tf_planes *planes)
{
    *catalog = (struct tf_catalog){0};
    tf_planes_copy(&catalog->planes, planes);
    tf_vec_each (plane, planes)
        catalog->slot_count += plane->levels.count;
    catalog->domains = tf_calloc(catalog->slot_count + 1, sizeof *catalog->domains);
}

void tf_catalog_release(struct tf_catalog *catalog)
{
    for (size_t i = 0; i < catalog->slot_count; i++)
        tf_intern_release(&catalog->domains[i]);
    free(catalog->domains);
    tf_planes_release(&catalog->planes);
    tf_intern_release(&catalog->models);
    tf_vec_release(&catalog->models_by_name);
    tf_intern_release(&catalog->labels);
    tf_vec_release(&catalog->classes);
    tf_vec_release(&catalog->places);
    tf_vec_release(&catalog->label_refs);
    *catalog = (struct tf_catalog){0};
}

size_t tf_catalog_slot(const struct tf_catalog *catalog, size_t plane, size_t level)
{
    size_t slot = level;
    for (size_t i = 0; i < plane; i++)
        slot += catalog->planes.items[i].levels.count;
    return slot;
}

static char *label_text(const char *key, const char *value)
{
    return tf_asprintf("%s\n%s", key, value);
}

static size_t prefix_length(const char *path, size_t parts)
{
    const char *c = path;
    for (; *c; c++)
        if (*c == '/' && --parts == 0)
            break;
    return (size_t)(c - path);
}

static void add_places(struct tf_catalog *catalog, const struct tf_node_class *class)
{
    size_t slot = 0;
    for (size_t i = 0; i < catalog->planes.count; i++) {
        const char *path = i < class->domains.count ? class->domains.items[i] : "";
        size_t levels = catalog->planes.items[i].levels.count;
        for (size_t level = 0; level < levels; level++, slot++) {
            TF_AUTO_FREE char *prefix = tf_strndup(path, prefix_length(path, level + 1));
            int32_t domain = *path ? tf_intern_add(&catalog->domains[slot], prefix) : -1;
            tf_vec_push(&catalog->places, domain);
        }
    }
}

static int32_t add_model(struct tf_catalog *catalog, const char *name)
{
    int32_t model = tf_intern_add(&catalog->models, name);
    size_t at = catalog->models_by_name.count;
    if ((size_t)model < at) /* known */
        return model;
    tf_vec_push(&catalog->models_by_name, model);
    int32_t *order = catalog->models_by_name.items;
    for (; at > 0 && strcmp(name, tf_intern_text(&catalog->models, order[at - 1])) < 0; at--)
        order[at] = order[at - 1];
    order[at] = model;
    return model;
}

uint32_t tf_catalog_add(struct tf_catalog *catalog, const struct tf_node_class *class)
{
    struct tf_class_info info = {.model = class->model ? add_model(catalog, class->model) : -1,
                                 .gpu_memory = class->gpu_memory,
                                 .first_label = catalog->label_refs.count,
                                 .label_count = class->labels.count};
    tf_vec_each (label, &class->labels) {
        TF_AUTO_FREE char *text = label_text(label->key, label->value);
        tf_vec_push(&catalog->label_refs, tf_intern_add(&catalog->labels, text));
    }
    add_places(catalog, class);
    tf_vec_push(&catalog->classes, info);
    return (uint32_t)(catalog->classes.count - 1);
}

void tf_catalog_load(struct tf_catalog *catalog, const struct tf_profile *profile)
{
    tf_catalog_release(catalog);
    tf_catalog_init(catalog, &profile->planes);
    tf_vec_each (class, &profile->classes)
        tf_catalog_add(catalog, class);
}

bool tf_catalog_has_label(const struct tf_catalog *catalog, uint32_t class, int32_t label)
{
    const struct tf_class_info *info = &catalog->classes.items[class];
    for (size_t i = 0; i < info->label_count; i++)
        if (catalog->label_refs.items[info->first_label + i] == label)
            return true;
    return false;
}

int32_t tf_catalog_find_label(const struct tf_catalog *catalog, const char *key, const char *value)
{
    TF_AUTO_FREE char *text = label_text(key, value);
    return tf_intern_find(&catalog->labels, text);
}
