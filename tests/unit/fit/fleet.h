/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_TESTS_FIT_FLEET_H
#define TF_TESTS_FIT_FLEET_H

#include "common/fit/rows.h"

/* A hand-made subcluster: rows of like nodes, and a job spec, built line by line. */
struct fleet {
    struct tf_profile profile;
    struct tf_catalog catalog;
};

static inline void fleet_plane(struct fleet *f, const char *name, const char *wide, const char *narrow)
{
    struct tf_plane *plane = tf_vec_add(&f->profile.planes);
    plane->name = tf_strdup(name);
    tf_strs_add(&plane->levels, wide);
    if (narrow)
        tf_strs_add(&plane->levels, narrow);
    f->profile.full = true;
}

/* `count` nodes, 80 GiB a GPU, in the domain of the first plane ("" = none), with `have` free. */
static inline struct tf_profile_row *fleet_row(struct fleet *f, int32_t count, const char *model,
                                               const char *domain, struct tf_vector have)
{
    struct tf_node_class *class = tf_vec_add(&f->profile.classes);
    class->model = tf_strdup(model);
    class->gpu_memory = 80 * 1024;
    tf_strs_add(&class->domains, domain);
    struct tf_profile_row *row = tf_vec_add(&f->profile.rows);
    row->id = row->class = (uint32_t)(f->profile.rows.count - 1);
    row->count = count;
    row->claim_rank = -1;
    tf_vec_push(&row->levels, (struct tf_level_vector){TF_LEVEL_FREE, have});
    return row;
}

static inline void fleet_level(struct tf_profile_row *row, tf_level level, struct tf_vector have)
{
    tf_vec_push(&row->levels, (struct tf_level_vector){level, have});
}

static inline struct tf_fit_view fleet_view(struct fleet *f)
{
    tf_catalog_load(&f->catalog, &f->profile);
    return (struct tf_fit_view){&f->catalog, f->profile.rows.items, f->profile.rows.count, NULL};
}

static inline void fleet_release(struct fleet *f)
{
    tf_profile_release(&f->profile);
    tf_catalog_release(&f->catalog);
}

static inline struct tf_job_spec fleet_spec(int32_t instances, int32_t gpus, int64_t cores, int64_t gib)
{
    struct tf_job_spec spec = {.elastic = {instances, instances, instances}};
    spec.group.shape.gpus = gpus;
    spec.group.shape.cpu = cores * 1000;
    spec.group.shape.memory = gib * 1024;
    return spec;
}

static inline void fleet_rule(struct tf_job_spec *spec, const char *plane, const char *within,
                              enum tf_topology_of of, enum tf_topology_mode mode)
{
    struct tf_topology_rule rule = {tf_strdup(plane), tf_strdup(within), of, mode};
    tf_vec_push(&spec->topology, rule);
}

static inline struct tf_vector fleet_vector(int32_t gpus, int64_t cores, int64_t gib)
{
    return (struct tf_vector){gpus, 64, cores * 1000, gib * 1024};
}

#endif
