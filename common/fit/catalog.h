/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FIT_CATALOG_H
#define TF_FIT_CATALOG_H

#include "common/base/intern.h"
#include "common/model/profile.h"

/* The dictionary of a subcluster's node classes with numbers in place of names, so that deciding compares
 * integers. Classes are only ever appended, in the order of the profile's dictionary: a catalog index is a
 * profile's class index. A slot is one (plane, level); a domain is a prefix of the paths of one slot, "" has
 * none. */
struct tf_class_info {
    int32_t model; /* number in models, -1 = no GPUs */
    int64_t gpu_memory;
    size_t first_label, label_count; /* in label_refs */
};

struct tf_catalog {
    struct tf_planes planes;
    size_t slot_count;
    struct tf_intern models;
    TF_VEC(int32_t) models_by_name; /* all of them: both levels try them in the same order */
    struct tf_intern labels;        /* "key\nvalue" */
    struct tf_intern *domains;      /* one a slot */
    TF_VEC(struct tf_class_info) classes;
    TF_VEC(int32_t) places;     /* classes x slots: the domain's number, -1 = none */
    TF_VEC(int32_t) label_refs; /* numbers in labels */
};

void tf_catalog_init(struct tf_catalog *catalog, const struct tf_planes *planes); /* copies planes */
void tf_catalog_release(struct tf_catalog *catalog);
uint32_t tf_catalog_add(struct tf_catalog *catalog,
                        const struct tf_node_class *class); /* copies what it needs */
/* The catalog of a whole profile; catalog is zeroed or initialised. */
void tf_catalog_load(struct tf_catalog *catalog, const struct tf_profile *profile);
size_t tf_catalog_slot(const struct tf_catalog *catalog, size_t plane, size_t level);
bool tf_catalog_has_label(const struct tf_catalog *catalog, uint32_t class, int32_t label);
int32_t tf_catalog_find_label(const struct tf_catalog *catalog, const char *key,
                              const char *value); /* -1: none */

static inline int32_t tf_catalog_domain(const struct tf_catalog *catalog, uint32_t class, size_t slot)
{
    return catalog->places.items[class * catalog->slot_count + slot];
}

#endif
