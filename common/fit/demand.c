/* SPDX-License-Identifier: Apache-2.0 */
#include "common/fit/demand.h"

#include "common/base/text.h"

void tf_demand_release(struct tf_demand *demand)
{
    tf_vec_release(&demand->models);
    tf_vec_release(&demand->labels);
    tf_vec_release(&demand->rules);
    tf_vec_release(&demand->used);
    tf_vec_release(&demand->reserved);
    *demand = (struct tf_demand){0};
}

static void add_model(struct tf_demand *demand, int32_t model)
{
    tf_vec_each (m, &demand->models)
        if (*m == model)
            return;
    tf_vec_push(&demand->models, model);
}

static void resolve_models(struct tf_demand *demand, const struct tf_shape *shape,
                           const struct tf_catalog *catalog)
{
    demand->models.count = 0;
    if (shape->gpus == 0)
        return;
    tf_vec_each (name, &shape->gpu_models) {
        int32_t model = tf_intern_find(&catalog->models, *name);
        if (model >= 0)
            add_model(demand, model);
    }
    if (shape->gpu_models.count > 0)
        return;
    tf_vec_each (model, &catalog->models_by_name)
        tf_vec_push(&demand->models, *model);
}

static void resolve_labels(struct tf_demand *demand, const struct tf_pairs *labels,
                           const struct tf_catalog *catalog)
{
    demand->labels.count = 0;
    demand->unknown_label = false;
    tf_vec_each (label, labels) {
        int32_t number = tf_catalog_find_label(catalog, label->key, label->value);
        if (number < 0)
            demand->unknown_label = true;
        else
            tf_vec_push(&demand->labels, number);
    }
}

static int resolve_rules(struct tf_demand *demand, const struct tf_job_spec *spec,
                         const struct tf_catalog *catalog, struct tf_error *err)
{
    demand->rules.count = 0;
    tf_vec_each (rule, &spec->topology) {
        struct tf_demand_rule found = {.of_step = rule->of == TF_TOPOLOGY_OF_STEP,
                                       .prefer = rule->mode == TF_TOPOLOGY_PREFER,
                                       .domain = -1};
        size_t plane, level;
        if (tf_planes_find(&catalog->planes, rule->plane, rule->within, &plane, &level,
                           found.prefer ? NULL : err)) {
            if (found.prefer)
                continue;
            return -1;
        }
        if (spec->max_nodes > 0 && found.of_step && !found.prefer)
            return tf_error_set(err, TF_ERR_INVALID,
                                "spread.maxNodes does not go with a required topology rule of: step");
        found.slot = tf_catalog_slot(catalog, plane, level);
        tf_vec_push(&demand->rules, found);
    }
    return 0;
}

int tf_demand_resolve(struct tf_demand *demand, const struct tf_job_spec *spec, int rank,
                      const struct tf_catalog *catalog, struct tf_error *err)
{
    if (resolve_rules(demand, spec, catalog, err))
        return -1;
    const struct tf_shape *shape = &spec->group.shape;
    demand->need = tf_shape_vector(shape);
    demand->gpu_memory = shape->gpus > 0 ? shape->gpu_memory : 0;
    resolve_models(demand, shape, catalog);
    resolve_labels(demand, &spec->node_labels, catalog);
    demand->max_nodes = spec->max_nodes;
    demand->step = spec->elastic.step > 0 ? spec->elastic.step : 1;
    demand->core = spec->elastic.min > 0 ? spec->elastic.min : 1;
    demand->rank = rank;
    /* a reservation is a wish for later: nobody goes for it today */
    demand->level = tf_is_reservation(spec) ? TF_LEVEL_FREE : (tf_level)(tf_level_core(rank) - 1);
    demand->is_core = true;
    demand->claimant = false;
    demand->ends = TF_DEMAND_ENDLESS;
    demand->used.count = demand->reserved.count = 0;
    return 0;
}

void tf_demand_anchor(struct tf_demand *demand, const struct tf_catalog *catalog, uint32_t class,
                      bool step_too)
{
    int32_t model = catalog->classes.items[class].model;
    if (demand->need.gpus > 0 && model >= 0) {
        demand->models.count = 0;
        tf_vec_push(&demand->models, model);
    }
    tf_vec_each (rule, &demand->rules)
        if (!rule->prefer && (!rule->of_step || step_too))
            rule->domain = tf_catalog_domain(catalog, class, rule->slot);
}

void tf_demand_fix_model(struct tf_demand *demand, const struct tf_catalog *catalog, const char *model)
{
    int32_t number = model ? tf_intern_find(&catalog->models, model) : -1;
    demand->models.count = 0;
    if (demand->need.gpus > 0 && number >= 0)
        tf_vec_push(&demand->models, number);
}

static int model_place(const struct tf_demand *demand, const struct tf_class_info *info)
{
    if (demand->need.gpus == 0)
        return 0;
    if (info->gpu_memory < demand->gpu_memory)
        return -1;
    for (size_t i = 0; i < demand->models.count; i++)
        if (demand->models.items[i] == info->model)
            return (int)i;
    return -1;
}

int tf_demand_admits(const struct tf_demand *demand, const struct tf_catalog *catalog, uint32_t class)
{
    int place = model_place(demand, &catalog->classes.items[class]);
    if (place < 0 || demand->unknown_label)
        return -1;
    tf_vec_each (label, &demand->labels)
        if (!tf_catalog_has_label(catalog, class, *label))
            return -1;
    tf_vec_each (rule, &demand->rules) {
        int32_t domain = tf_catalog_domain(catalog, class, rule->slot);
        if (!rule->prefer && (domain < 0 || (rule->domain >= 0 && rule->domain != domain)))
            return -1;
    }
    return place;
}

bool tf_demand_may_use(const struct tf_demand *demand, struct tf_uid reservation)
{
    size_t low = 0, high = demand->reserved.count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (tf_uid_cmp(demand->reserved.items[mid], reservation) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low < demand->reserved.count && tf_uid_eq(demand->reserved.items[low], reservation);
}

struct tf_vector tf_demand_reserved(const struct tf_demand *demand, const struct tf_profile_row *row,
                                    tf_level level)
{
    struct tf_vector sum = {0};
    if (demand->reserved.count)
        tf_vec_each (r, &row->reserved)
            if (r->level > level && tf_demand_may_use(demand, r->uid))
                sum = tf_vector_add(sum, r->more);
    return sum;
}

bool tf_demand_barred(const struct tf_demand *demand, const struct tf_profile_row *row)
{
    if (!demand->is_core || row->claim_rank < 0 || demand->ends.ms <= row->claim_until.ms)
        return false;
    if (demand->reserved.count && tf_demand_reserved(demand, row, TF_LEVEL_FREE).gpus > 0)
        return false; /* who claimed it since cannot have that part of it */
    return demand->claimant ? row->claim_rank > demand->rank : row->claim_rank >= demand->rank;
}
