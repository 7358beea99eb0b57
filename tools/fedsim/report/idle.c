/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what is known of nodes: how many GPUs are there, and why idle ones are idle. */
#include "tools/fedsim/report/private.h"

#include "common/base/alloc.h"
#include "common/base/cleanup.h"

/* Looking at idle causes costs more than an event, so it is done once a period; the period doubles whenever
 * it was done often. */
enum { PERIOD_MS = 10 * TF_SECOND, SAMPLES_A_PERIOD = 512 };

const char *const report_cause_names[REPORT_CAUSES] = {
    [REPORT_DELIVERABLE] = "deliverable", [REPORT_COUNT] = "count",   [REPORT_CPU_MEMORY] = "cpu_memory",
    [REPORT_TOPOLOGY] = "topology",       [REPORT_POLICY] = "policy", [REPORT_STEP] = "step",
    [REPORT_HEALTH] = "health",
};

/* ---- nodes ---- */

static int32_t gpus_there(const struct tf_node *node)
{
    if (node->state == TF_NODE_LOST)
        return 0;
    return tf_gpu_set_count(tf_gpu_set_all(node->capacity.gpus) & ~node->foreign.gpus & ~node->bad_gpus);
}

static int32_t gpus_sick(const struct tf_node *node, uint64_t held)
{
    uint64_t idle = tf_gpu_set_all(node->capacity.gpus) & ~node->foreign.gpus & ~held;
    return tf_gpu_set_count(node->state == TF_NODE_READY ? idle & node->bad_gpus : idle);
}

struct report_site *report_site_of(const struct report *report, const struct sim_site *site)
{
    return report->sites.items[site->number];
}

size_t report_node_of(const struct sim_fleet *fleet, const char *name)
{
    const struct sim_node_name *found = NULL;
    HASH_FIND_STR(fleet->names, name, found);
    return found ? found->node : 0;
}

void report_node_changed(struct report *report, struct report_site *site, size_t number)
{
    struct report_node *node = &site->nodes.items[number];
    int32_t there = gpus_there(&site->site->fleet.nodes.items[number].node);
    report_integral_add(&site->group->there, report->now, there - node->there);
    report_integral_add(&report->all.there, report->now, there - node->there);
    report_integral_add(&node->there_time, report->now, there - node->there);
    node->there = there;
    if (node->dirty)
        return;
    node->dirty = true;
    tf_vec_push(&site->dirty, number);
}

void report_node_taken(struct report *report, struct report_site *site, size_t number,
                       const struct sim_instance *instance)
{
    struct report_hold hold = {instance->id, instance->gpus, instance->need};
    tf_vec_push(&site->nodes.items[number].holds, hold);
    report_integral_add(&site->nodes.items[number].held_time, report->now, tf_gpu_set_count(hold.gpus));
    report_node_changed(report, site, number);
}

void report_node_left(struct report *report, struct report_site *site, size_t number,
                      const struct tf_instance_id *id)
{
    struct report_node *node = &site->nodes.items[number];
    for (size_t i = 0; i < node->holds.count; i++) {
        if (!tf_instance_id_eq(&node->holds.items[i].id, id))
            continue;
        report_integral_add(&node->held_time, report->now, -tf_gpu_set_count(node->holds.items[i].gpus));
        node->holds.items[i] = node->holds.items[--node->holds.count];
        break;
    }
    report_node_changed(report, site, number);
}

static void add_site(struct report *report, const struct sim_site *site)
{
    struct report_site *own = tf_calloc(1, sizeof *own);
    own->site = site;
    own->group = report_group_named(&report->clusters, site->name, true);
    own->rows = tf_fit_rows_create(&site->planes);
    tf_vec_push(&report->sites, own);
    for (size_t i = 0; i < site->fleet.nodes.count; i++) {
        (void)tf_vec_add(&own->nodes);
        tf_strs_add(&own->names, site->fleet.nodes.items[i].node.name);
        report_node_changed(report, own, i);
    }
}

void report_fleet_begin(struct report *report)
{
    report->scratch = tf_fit_scratch_create();
    report->period = PERIOD_MS;
    tf_vec_each (site, &report->world->sites)
        add_site(report, *site);
}

void report_fleet_release(struct report *report)
{
    tf_vec_each (at, &report->sites) {
        struct report_site *site = *at;
        tf_vec_each (node, &site->nodes)
            tf_vec_release(&node->holds);
        tf_vec_release(&site->nodes);
        tf_strs_release(&site->names);
        tf_vec_release(&site->dirty);
        tf_vec_release(&site->claims);
        tf_fit_rows_destroy(site->rows);
        tf_mix_release(&site->mix);
        free(site);
    }
    tf_vec_release(&report->sites);
    tf_fit_scratch_destroy(report->scratch);
    struct report_shape *shape, *next;
    HASH_ITER (hh, report->shapes, shape, next) {
        HASH_DEL(report->shapes, shape);
        tf_job_spec_release(&shape->spec);
        free(shape->key);
        free(shape);
    }
}

/* ---- rows ---- */

/* What runs on it, and what that leaves. */
static void refresh(struct report_site *site, size_t number)
{
    const struct sim_node *real = &site->site->fleet.nodes.items[number];
    const struct tf_strs no_labels = {0};
    struct report_node *node = &site->nodes.items[number];
    struct tf_node_class class = {0};
    struct tf_profile_row row = {.claim_rank = -1, .count = 1};
    uint64_t held = 0;
    TF_VEC(struct tf_hold) holds = {0};
    tf_vec_each (h, &node->holds) {
        struct tf_hold hold = {tf_level_core(0), h->gpus, h->need};
        held |= h->gpus;
        tf_vec_push(&holds, hold);
    }
    tf_fit_node_levels(&real->node, holds.items, holds.count, NULL, 0, &row.levels);
    tf_fit_node_class(&real->node, &no_labels, &class);
    row.class = tf_fit_rows_class(site->rows, &class);
    node->row =
        node->has_row ? tf_fit_rows_move(site->rows, node->row, &row) : tf_fit_rows_add(site->rows, &row, 1);
    node->has_row = true;
    node->dirty = false;
    site->sick += gpus_sick(&real->node, held) - node->sick;
    node->sick = gpus_sick(&real->node, held);
    tf_node_class_release(&class);
    tf_vec_release(&row.levels);
    tf_vec_release(&holds);
}

/* ---- the mix ---- */

static void describe(const struct tf_job_spec *spec, struct tf_buf *key)
{
    const struct tf_shape *s = &spec->group.shape;
    tf_buf_ints(key, s->gpus, s->gpu_memory, s->cpu, s->memory, spec->elastic.min, spec->elastic.step,
                spec->max_nodes);
    tf_vec_each (model, &s->gpu_models)
        tf_buf_cat(key, "|", *model);
    tf_vec_each (rule, &spec->topology)
        tf_buf_fmt(key, "|%s/%s/%d/%d", rule->plane ? rule->plane : "", rule->within, (int)rule->of,
                   (int)rule->mode);
}

const struct report_shape *report_shape_of(struct report *report, const struct tf_job_spec *spec)
{
    TF_AUTO_BUF key = TF_BUF_INIT;
    struct report_shape *shape = NULL;
    describe(spec, &key);
    HASH_FIND(hh, report->shapes, key.data, key.len, shape);
    if (shape)
        return shape;
    shape = tf_calloc(1, sizeof *shape);
    tf_job_spec_copy(&shape->spec, spec);
    tf_pairs_release(&shape->spec.node_labels); /* rows carry none here */
    size_t len = key.len;
    shape->key = tf_buf_take(&key);
    HASH_ADD_KEYPTR(hh, report->shapes, shape->key, len, shape);
    return shape;
}

void report_shape_waits(struct report *report, const struct report_shape *shape, int32_t more)
{
    struct report_shape *own = NULL;
    HASH_FIND_STR(report->shapes, shape->key, own);
    bool any = own->waiting > 0;
    own->waiting += more;
    report->shapes_version += any != (own->waiting > 0); /* weights do not change causes */
}

static void make_mix(struct report *report, struct report_site *site)
{
    TF_VEC(struct tf_mix_shape) shapes = {0};
    for (const struct report_shape *s = report->shapes; s && shapes.count < TF_MIX_MAX; s = s->hh.next)
        if (s->waiting > 0) {
            struct tf_mix_shape shape = {&s->spec, 0, s->waiting};
            tf_vec_push(&shapes, shape);
        }
    struct tf_fit_view view = tf_fit_rows_view(site->rows);
    tf_mix_resolve(&site->mix, shapes.items, shapes.count, view.catalog);
    site->mix_version = report->shapes_version;
    site->mix_classes = tf_fit_rows_class_count(site->rows);
    tf_vec_release(&shapes);
}

/* ---- causes ---- */

static void find_causes(struct report *report, struct report_site *site)
{
    bool changed = site->dirty.count > 0;
    tf_vec_each (number, &site->dirty)
        refresh(site, *number);
    site->dirty.count = 0;
    if (site->mix_version != report->shapes_version + 1 ||
        site->mix_classes != tf_fit_rows_class_count(site->rows)) {
        make_mix(report, site);
        site->mix_version = report->shapes_version + 1; /* 0: never made */
        changed = true;
    }
    if (!changed)
        return;
    tf_fit_rows_mark(site->rows);
    struct tf_fit_view view = tf_fit_rows_view(site->rows);
    tf_fit_idle_causes(&view, &site->mix, (int32_t)site->sick, report->scratch, &site->idle, NULL);
}

static void count_idle(struct report *report, struct report_group *group, const struct tf_idle_causes *idle)
{
    int64_t ms = report->now - report->sampled;
    const int32_t gpus[REPORT_CAUSES] = {
        [REPORT_DELIVERABLE] = idle->deliverable, [REPORT_COUNT] = idle->count,
        [REPORT_CPU_MEMORY] = idle->cpu_memory,   [REPORT_TOPOLOGY] = idle->topology,
        [REPORT_POLICY] = idle->policy,           [REPORT_STEP] = idle->step,
        [REPORT_HEALTH] = idle->health,
    };
    for (int cause = 0; cause < REPORT_CAUSES; cause++) {
        group->idle[cause] += gpus[cause] * ms;
        report->all.idle[cause] += gpus[cause] * ms;
        report_line_spread(&report->idle[cause], report->sampled, report->now, gpus[cause]);
    }
}

void report_look_at_idle(struct report *report)
{
    tf_vec_each (at, &report->sites) {
        count_idle(report, (*at)->group, &(*at)->idle);
        find_causes(report, *at);
    }
    report->sampled = report->now;
    if (++report->samples % SAMPLES_A_PERIOD == 0)
        report->period *= 2;
}
