/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/property/fit/world.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"

static int32_t pick(struct tf_rng *rng, const int32_t *of, size_t count)
{
    return of[tf_rng_below(rng, count)];
}
#define PICK(rng, ...) \
    pick(rng, (const int32_t[]){__VA_ARGS__}, sizeof((const int32_t[]){__VA_ARGS__}) / sizeof(int32_t))

static bool chance(struct tf_rng *rng, int percent)
{
    return tf_rng_below(rng, 100) < (uint64_t)percent;
}

static void add_plane(struct world *w, const char *name, const char *a, const char *b)
{
    struct tf_plane *plane = tf_vec_add(&w->planes);
    plane->name = tf_strdup(name);
    tf_strs_add(&plane->levels, a);
    if (b)
        tf_strs_add(&plane->levels, b);
}

static void make_node(struct world_node *n, struct tf_rng *rng)
{
    struct tf_node *node = &n->node;
    const char *model = ((const char *[]){"A", "B", "A", NULL})[tf_rng_below(rng, 4)];
    node->state = chance(rng, 95) ? TF_NODE_READY : TF_NODE_CORDONED;
    node->model = tf_strdup(model);
    node->gpu_memory = model ? (*model == 'A' ? 80 : PICK(rng, 40, 80)) : 0;
    node->capacity = (struct tf_vector){model ? PICK(rng, 4, 8) : 0, PICK(rng, 4, 64), PICK(rng, 8, 16, 32),
                                        PICK(rng, 32, 64)};
    char pod[32];
    snprintf(pod, sizeof pod, "pod-%d/sw-%d", (int)tf_rng_below(rng, 2), (int)tf_rng_below(rng, 2));
    tf_strs_add(&node->domains, chance(rng, 95) ? pod : "");
    tf_strs_add(&node->domains, ((const char *[]){"az-1", "az-2", ""})[tf_rng_below(rng, 3)]);
    if (chance(rng, 50))
        tf_pairs_set(&node->labels, "disk", "nvme");
    tf_pairs_set(&node->labels, "ignored", chance(rng, 50) ? "x" : "y");
    n->claim_rank = -1;
    if (chance(rng, 12)) {
        n->claim_rank = (int)tf_rng_below(rng, WORLD_CLASSES);
        n->claim_until.ms = 100;
    }
}

static uint64_t subset(struct tf_rng *rng, uint64_t set, int32_t count)
{
    uint64_t chosen = 0;
    while (count > 0 && set) {
        uint64_t bit = UINT64_C(1) << tf_rng_below(rng, 64);
        if (!(set & bit))
            continue;
        chosen |= bit;
        set &= ~bit;
        count--;
    }
    return chosen;
}

static tf_level hold_level(struct tf_rng *rng)
{
    int rank = (int)tf_rng_below(rng, WORLD_CLASSES);
    if (chance(rng, 10))
        return TF_LEVEL_GOING;
    if (chance(rng, 50))
        return tf_level_surplus(rank);
    return rank < WORLD_CEILING && chance(rng, 30) ? tf_level_protected(WORLD_CEILING) : tf_level_core(rank);
}

/* One claim on what is free and what its victims have; they are going from then on. */
static void add_claim(struct world_node *n, struct tf_rng *rng, struct tf_vector left, uint64_t free_gpus)
{
    tf_level level = tf_level_core((int)tf_rng_below(rng, WORLD_CLASSES));
    size_t victims = 0;
    for (size_t i = 0; i < n->hold_count; i++) {
        struct tf_hold *hold = &n->holds[i];
        if (hold->level >= level || chance(rng, 50))
            continue;
        hold->level = TF_LEVEL_GOING;
        left = tf_vector_add(left, hold->amount);
        free_gpus |= hold->gpus;
        victims++;
    }
    if (victims == 0)
        return;
    int32_t gpus = (int32_t)tf_rng_range(rng, 0, tf_gpu_set_count(free_gpus));
    n->claims[n->claim_count++] =
        (struct tf_hold){level,
                         subset(rng, free_gpus, gpus),
                         {0, 1, tf_rng_range(rng, 0, left.cpu), tf_rng_range(rng, 0, left.memory)}};
}

void world_occupy(struct world_node *n, struct tf_rng *rng)
{
    struct tf_node *node = &n->node;
    uint64_t all = tf_gpu_set_all(node->capacity.gpus);
    node->bad_gpus = all & tf_rng_next(rng) & tf_rng_next(rng) & tf_rng_next(rng) & tf_rng_next(rng);
    node->foreign = (struct tf_foreign){.gpus = all & tf_rng_next(rng) & tf_rng_next(rng) & tf_rng_next(rng) &
                                                ~node->bad_gpus,
                                        .slots = PICK(rng, 0, 1),
                                        .cpu = PICK(rng, 0, 1, 2),
                                        .memory = PICK(rng, 0, 4)};
    uint64_t free_gpus = all & ~node->bad_gpus & ~node->foreign.gpus;
    struct tf_vector left = tf_vector_sub(
        node->capacity, (struct tf_vector){0, node->foreign.slots, node->foreign.cpu, node->foreign.memory});
    n->hold_count = n->claim_count = 0;
    for (int32_t tries = PICK(rng, 0, 0, 2, 4, 6); tries > 0; tries--) {
        struct tf_vector amount = {PICK(rng, 0, 1, 1, 2, 4), 1, PICK(rng, 0, 1, 3, 6), PICK(rng, 0, 4, 16)};
        left.gpus = tf_gpu_set_count(free_gpus);
        if (!tf_vector_fits(amount, left))
            continue;
        uint64_t gpus = subset(rng, free_gpus, amount.gpus);
        free_gpus &= ~gpus;
        left = tf_vector_sub(left, amount);
        n->holds[n->hold_count++] = (struct tf_hold){hold_level(rng), gpus, amount};
    }
    if (chance(rng, 40) && left.slots > 0)
        add_claim(n, rng, left, free_gpus);
}

void world_create(struct world *w, struct tf_rng *rng)
{
    *w = (struct world){.count = 2 + tf_rng_below(rng, WORLD_NODES - 2)};
    add_plane(w, "parameter", "pod", "switch");
    add_plane(w, "data", "az", NULL);
    tf_strs_add(&w->schedule_labels, "disk");
    for (size_t i = 0; i < w->count; i++) {
        struct world_node *n = &w->nodes[i];
        bool twin = i > 0 && chance(rng, 30);
        if (twin) {
            *n = w->nodes[i - 1];
            n->node = (struct tf_node){0};
            tf_node_copy(&n->node, &w->nodes[i - 1].node);
        } else {
            make_node(n, rng);
            world_occupy(n, rng);
        }
    }
    world_refresh(w);
}

static void drop_rows(struct world *w)
{
    tf_fit_rows_destroy(w->rows);
    for (size_t i = 0; w->one_each && i < w->count; i++)
        tf_profile_row_release(&w->one_each[i]);
    free(w->one_each);
}

struct tf_profile_row world_row(struct world *w, const struct world_node *n)
{
    struct tf_profile_row row = {.count = 1, .claim_rank = n->claim_rank, .claim_until = n->claim_until};
    struct tf_node_class class = {0};
    tf_fit_node_class(&n->node, &w->schedule_labels, &class);
    row.class = tf_fit_rows_class(w->rows, &class);
    tf_node_class_release(&class);
    tf_fit_node_levels(&n->node, n->holds, n->hold_count, n->claims, n->claim_count, &row.levels);
    return row;
}

void world_refresh(struct world *w)
{
    drop_rows(w);
    w->rows = tf_fit_rows_create(&w->planes);
    w->one_each = tf_calloc(w->count, sizeof *w->one_each);
    for (size_t i = 0; i < w->count; i++) {
        w->one_each[i] = world_row(w, &w->nodes[i]);
        w->one_each[i].id = (uint32_t)i;
        w->nodes[i].row = tf_fit_rows_add(w->rows, &w->one_each[i], 1);
    }
}

void world_release(struct world *w)
{
    drop_rows(w);
    for (size_t i = 0; i < w->count; i++)
        tf_node_release(&w->nodes[i].node);
    tf_planes_release(&w->planes);
    tf_strs_release(&w->schedule_labels);
}

struct tf_fit_view world_nodes_view(const struct world *w)
{
    return (struct tf_fit_view){tf_fit_rows_view(w->rows).catalog, w->one_each, w->count, NULL};
}

tf_level world_level(struct tf_rng *rng)
{
    return (tf_level)PICK(rng, 0, 0, TF_LEVEL_GOING, tf_level_surplus(0), tf_level_core(0),
                          tf_level_core(1) - 1, tf_level_core(1), tf_level_surplus(2), tf_level_core(2) - 1,
                          TF_LEVEL_TOP);
}

static void add_rule(struct tf_job_spec *spec, const char *within, enum tf_topology_of of,
                     enum tf_topology_mode mode)
{
    struct tf_topology_rule *rule = tf_vec_add(&spec->topology);
    rule->within = tf_strdup(within);
    rule->of = of;
    rule->mode = mode;
}

static void add_rules(struct tf_job_spec *spec, struct tf_rng *rng)
{
    static const char *const levels[] = {"pod", "switch", "az"};
    for (int32_t n = PICK(rng, 0, 0, 1, 1, 2); n > 0; n--)
        add_rule(spec, levels[tf_rng_below(rng, 3)],
                 chance(rng, 50) ? TF_TOPOLOGY_OF_JOB : TF_TOPOLOGY_OF_STEP, TF_TOPOLOGY_REQUIRE);
    for (int32_t n = PICK(rng, 0, 0, 1, 2); n > 0; n--)
        add_rule(spec, levels[tf_rng_below(rng, 3)],
                 chance(rng, 50) ? TF_TOPOLOGY_OF_JOB : TF_TOPOLOGY_OF_STEP, TF_TOPOLOGY_PREFER);
}

void world_spec(struct tf_job_spec *spec, struct tf_rng *rng)
{
    *spec = (struct tf_job_spec){0};
    struct tf_shape *shape = &spec->group.shape;
    shape->gpus = PICK(rng, 0, 0, 1, 2, 4, 8);
    shape->cpu = PICK(rng, 0, 1, 3);
    shape->memory = PICK(rng, 0, 4, 9);
    if (shape->gpus > 0) {
        const char *const lists[] = {"", "A", "B", "AB", "BA", "XA"};
        for (const char *c = lists[tf_rng_below(rng, 6)]; *c; c++)
            tf_strs_add(&shape->gpu_models, ((char[]){*c, '\0'}));
        shape->gpu_memory = PICK(rng, 0, 0, 60);
    }
    if (chance(rng, 30))
        tf_pairs_set(&spec->node_labels, "disk", chance(rng, 90) ? "nvme" : "tape");
    add_rules(spec, rng);
    bool steps = false;
    tf_vec_each (rule, &spec->topology)
        steps = steps || (rule->of == TF_TOPOLOGY_OF_STEP && rule->mode == TF_TOPOLOGY_REQUIRE);
    spec->max_nodes = steps ? 0 : PICK(rng, 0, 0, 1, 2, 3);
    spec->elastic.step = PICK(rng, 1, 1, 2, 3);
    spec->elastic.min = spec->elastic.step * PICK(rng, 1, 1, 2, 3);
    spec->elastic.max = spec->elastic.min;
}

/* ---- the naive loop ---- */

static bool stays(const struct tf_hold *hold, tf_level level, bool take_protected)
{
    return hold->level > level && !(take_protected && hold->level == tf_level_protected(WORLD_CEILING));
}

static bool overfull(const struct world_node *n, struct tf_vector need, int32_t k, tf_level level,
                     bool take_protected, bool later)
{
    int64_t cpu = k * need.cpu + n->node.foreign.cpu, memory = k * need.memory + n->node.foreign.memory;
    int64_t slots = k + n->node.foreign.slots;
    for (size_t i = 0; i < n->hold_count; i++) {
        const struct tf_hold *hold = &n->holds[i];
        if (!stays(hold, level, take_protected) || (later && hold->level == TF_LEVEL_GOING))
            continue;
        cpu += hold->amount.cpu;
        memory += hold->amount.memory;
        slots++;
    }
    for (size_t i = 0; later && i < n->claim_count; i++) {
        if (n->claims[i].level <= level)
            continue;
        cpu += n->claims[i].amount.cpu;
        memory += n->claims[i].amount.memory;
        slots++;
    }
    return cpu > n->node.capacity.cpu || memory > n->node.capacity.memory || slots > n->node.capacity.slots;
}

int32_t naive_gpus(const struct world_node *n, tf_level level, bool take_protected)
{
    int32_t usable = 0;
    if (n->node.state != TF_NODE_READY)
        return 0;
    for (int g = 0; g < n->node.capacity.gpus; g++) {
        uint64_t bit = UINT64_C(1) << g;
        bool blocked = (n->node.bad_gpus | n->node.foreign.gpus) & bit;
        for (size_t i = 0; i < n->hold_count; i++)
            blocked = blocked || (stays(&n->holds[i], level, take_protected) && n->holds[i].gpus & bit);
        for (size_t i = 0; i < n->claim_count; i++)
            blocked = blocked || (n->claims[i].level > level && n->claims[i].gpus & bit);
        usable += !blocked;
    }
    return usable;
}

int32_t naive_node(const struct world_node *n, struct tf_vector need, tf_level level, bool take_protected)
{
    int32_t usable = naive_gpus(n, level, take_protected);
    for (int32_t k = 1; n->node.state == TF_NODE_READY; k++)
        if (k * need.gpus > usable || overfull(n, need, k, level, take_protected, false) ||
            overfull(n, need, k, level, take_protected, true))
            return k - 1;
    return 0;
}

const char *world_domain(const struct world *w, const struct world_node *n,
                         const struct tf_topology_rule *rule, char text[64])
{
    (void)w;
    bool data = strcmp(rule->within, "az") == 0;
    snprintf(text, 64, "%s", n->node.domains.items[data]);
    if (strcmp(rule->within, "pod") == 0 && *text)
        *strchr(text, '/') = '\0';
    return text;
}

bool naive_admits(const struct world *w, const struct ask *ask, const struct world_node *n)
{
    const struct tf_job_spec *spec = ask->spec;
    const struct tf_shape *shape = &spec->group.shape;
    if (shape->gpus > 0 && (!n->node.model || n->node.gpu_memory < shape->gpu_memory ||
                            (shape->gpu_models.count > 0 && !tf_strs_has(&shape->gpu_models, n->node.model))))
        return false;
    if (!tf_pairs_match(&n->node.labels, &spec->node_labels))
        return false;
    char text[64];
    tf_vec_each (rule, &spec->topology)
        if (!ask->ignore_topology && rule->mode == TF_TOPOLOGY_REQUIRE && !*world_domain(w, n, rule, text))
            return false;
    return ask->ignore_claims || !ask->is_core || n->claim_rank < ask->rank || ask->ends <= n->claim_until.ms;
}

/* The required domains of one kind, as one word. */
static void combination(const struct world *w, const struct ask *ask, const struct world_node *n,
                        enum tf_topology_of of, char out[256])
{
    *out = '\0';
    tf_vec_each (rule, &ask->spec->topology) {
        if (ask->ignore_topology || rule->mode != TF_TOPOLOGY_REQUIRE || rule->of != of)
            continue;
        char text[64];
        size_t used = strlen(out);
        snprintf(out + used, 256 - used, "|%s", world_domain(w, n, rule, text));
    }
}

/* Instances on exactly these nodes, if they are a legal set. */
static int32_t count_set(const struct world *w, const struct ask *ask, unsigned set, const char *model)
{
    const struct tf_job_spec *spec = ask->spec;
    struct tf_vector need = {spec->group.shape.gpus, 1, spec->group.shape.cpu, spec->group.shape.memory};
    if (ask->gpus_only)
        need = (struct tf_vector){need.gpus, 1, 0, 0};
    char steps[WORLD_NODES][256], job[256] = "", other[256];
    int32_t sums[WORLD_NODES] = {0}, groups = 0, nodes = 0, total = 0;
    for (size_t i = 0; i < w->count; i++) {
        const struct world_node *n = &w->nodes[i];
        if (!(set >> i & 1))
            continue;
        if (!naive_admits(w, ask, n) || (model && !tf_str_eq(n->node.model, model)))
            return 0;
        combination(w, ask, n, TF_TOPOLOGY_OF_JOB, nodes == 0 ? job : other);
        if (nodes++ > 0 && strcmp(job, other) != 0)
            return 0;
        char step[256];
        combination(w, ask, n, TF_TOPOLOGY_OF_STEP, step);
        int32_t g = 0;
        while (g < groups && strcmp(steps[g], step) != 0)
            g++;
        if (g == groups)
            snprintf(steps[groups++], 256, "%s", step);
        sums[g] += naive_node(n, need, ask->level, ask->take_protected);
    }
    if (!ask->ignore_topology && spec->max_nodes > 0 && nodes > spec->max_nodes)
        return 0;
    bool whole = groups > 0 && steps[0][0] != '\0';
    for (int32_t g = 0; g < groups; g++)
        total += whole ? sums[g] / spec->elastic.step * spec->elastic.step : sums[g];
    return ask->singles && !whole ? total : total / spec->elastic.step * spec->elastic.step;
}

static int32_t best_set(const struct world *w, const struct ask *ask, const char *model)
{
    int32_t best = 0;
    for (unsigned set = 1; set < 1u << w->count; set++) {
        int32_t count = count_set(w, ask, set, model);
        best = count > best ? count : best;
    }
    return best;
}

struct naive naive_count(const struct world *w, const struct ask *ask)
{
    const struct tf_shape *shape = &ask->spec->group.shape;
    static const char *const any[] = {"A", "B"};
    struct naive found = {0};
    if (shape->gpus == 0) {
        found.count = best_set(w, ask, NULL);
        found.fits = found.count >= ask->core;
        return found;
    }
    size_t models = shape->gpu_models.count > 0 ? shape->gpu_models.count : 2;
    for (size_t i = 0; i < models && !found.fits; i++) {
        const char *model = shape->gpu_models.count > 0 ? shape->gpu_models.items[i] : any[i];
        int32_t count = best_set(w, ask, model);
        if (count < ask->core && count <= found.count)
            continue;
        found = (struct naive){count, model, count >= ask->core};
    }
    return found;
}
