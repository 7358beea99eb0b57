/* SPDX-License-Identifier: Apache-2.0 */
/* Owns how the planner sees this subcluster, and how its plan is told. What is moved is the planner's
 * (consolidate.c), how it is moved migrate.c's. */
#include "subcluster/core/defrag.h"

#include "common/base/cleanup.h"
#include "common/model/resource.h"
#include "subcluster/core/consolidate/consolidate.h"
#include "subcluster/core/cordon.h"
#include "subcluster/core/head.h"
#include "subcluster/core/levels.h"
#include "subcluster/core/members.h"
#include "subcluster/core/migrate.h"
#include "subcluster/core/moving.h"
#include "subcluster/core/node_claims.h"
#include "subcluster/core/policy.h"

/* BUDGET: nodes and instances looked at, at most; 20,000 nodes need a tenth of it. */
enum { NOT_LOOKED_AT = -1, BUDGET = 20 * 1000 * 1000 };

/* The subcluster in the planner's numbers. */
struct scene {
    struct sub *sub;
    const struct tf_defrag_order *order;
    bool in_seconds;  /* what moves cost: GPU-seconds held twice; else GPUs */
    bool only_counts; /* nothing is planned: where instances may go is not looked at */
    struct tf_fit_view view;
    int32_t model;
    TF_VEC(struct consolidate_node) nodes;
    TF_VEC(uint32_t) numbers; /* in the ledger, of each node */
    TF_VEC(int32_t) place;    /* of each node of the ledger among those: NOT_LOOKED_AT */
    TF_VEC(struct consolidate_instance) instances;
    TF_VEC(const struct job *) jobs; /* of each instance's job */
    TF_VEC(uint32_t) indices;        /* of each instance in its job */
    TF_VEC(int32_t) at_once;         /* of each job */
    TF_VEC(uint64_t) sets;
    size_t set_words;
    size_t slot; /* of the domains, while within is asked for */
    struct consolidate_ask ask;
};

static void scene_release(struct scene *scene)
{
    tf_vec_release(&scene->nodes);
    tf_vec_release(&scene->numbers);
    tf_vec_release(&scene->place);
    tf_vec_release(&scene->instances);
    tf_vec_release(&scene->jobs);
    tf_vec_release(&scene->indices);
    tf_vec_release(&scene->at_once);
    tf_vec_release(&scene->sets);
}

static char *not_listed(const struct sub *sub)
{
    return tf_asprintf("the engine of %s has not told yet of all that runs there: try again in a moment",
                       sub->boot.name);
}

/* ---- of which model ---- */

static int32_t model_of(const struct scene *scene, const struct ledger_node *node)
{
    uint32_t class = scene->view.rows[node->number].class;
    return scene->view.catalog->classes.items[class].model;
}

static bool is_up(const struct ledger_node *node)
{
    return ledger_is_open(node) && node->node.capacity.gpus > 0;
}

/* NULL, or why none can be looked at. */
static char *choose_model(struct scene *scene)
{
    const char *asked = scene->order->model, *name = scene->sub->boot.name;
    scene->model = asked ? tf_intern_find(&scene->view.catalog->models, asked) : -1;
    if (asked && scene->model < 0)
        return tf_asprintf("%s has no GPUs of model %s", name, asked);
    tf_vec_each (at, &scene->sub->ledger.nodes) {
        if (asked || !is_up(*at) || scene->view.rows[(*at)->number].count == 0)
            continue;
        int32_t model = model_of(scene, *at);
        if (scene->model >= 0 && model != scene->model)
            return tf_asprintf("%s has GPUs of several models, %s and %s among them: say which", name,
                               tf_intern_text(&scene->view.catalog->models, scene->model),
                               tf_intern_text(&scene->view.catalog->models, model));
        scene->model = model;
    }
    return scene->model < 0 ? tf_asprintf("%s has no node with GPUs that is ready", name) : NULL;
}

/* ---- nodes ---- */

/* All of its GPUs are ours and healthy, and nobody waits for it: it can be a whole node. */
static bool can_be_site(const struct ledger_node *node)
{
    return ledger_usable_gpus(node) == tf_gpu_set_all(node->node.capacity.gpus) &&
           node->blockings.count == 0 && node->kept.rank < 0 && node->emptying == 0 &&
           node->claims.count == 0; /* who claims some of it starts there, or keeps it */
}

static bool is_named(const struct scene *scene, const struct ledger_node *node)
{
    return scene->order->nodes.count == 0 || tf_strs_has(&scene->order->nodes, node->node.name);
}

static uint32_t domain_of(const struct scene *scene, uint32_t class)
{
    int32_t domain = scene->order->within ? tf_catalog_domain(scene->view.catalog, class, scene->slot) : -1;
    return domain < 0 ? CONSOLIDATE_ANY : (uint32_t)domain;
}

static void add_node(struct scene *scene, const struct ledger_node *node)
{
    const struct tf_profile_row *row = &scene->view.rows[node->number];
    struct tf_vector capacity = ledger_capacity(node);
    tf_vec_push(&scene->place, NOT_LOOKED_AT);
    if (!is_up(node) || row->count == 0 || model_of(scene, node) != scene->model || capacity.slots <= 0)
        return;
    scene->place.items[node->number] = (int32_t)scene->nodes.count;
    tf_vec_push(&scene->numbers, node->number);
    /* A node that is kept for a job takes nothing: it could delay that. One that is being emptied has nothing
     * free. */
    tf_vec_push(&scene->nodes, (struct consolidate_node){
                                   .capacity = capacity,
                                   .free = tf_vector_floor0(tf_profile_row_at(row, TF_LEVEL_FREE)),
                                   .class = row->class,
                                   .domain = domain_of(scene, row->class),
                                   .site = can_be_site(node) && is_named(scene, node),
                                   .takes = node->kept.rank < 0 && node->emptying == 0,
                               });
}

/* ---- instances ---- */

static int32_t ready_members(const struct job *job)
{
    int32_t ready = 0;
    tf_vec_each (m, &job->record.members)
        ready += m->state == TF_MEMBER_READY;
    return ready;
}

static enum consolidate_lock lock_of(const struct scene *scene, const struct job *job,
                                     const struct tf_member *m)
{
    const struct tf_job_spec *spec = job->record.spec;
    if (spec->migration == TF_MIGRATION_NEVER)
        return CONSOLIDATE_NEVER;
    if (spec->migration == TF_MIGRATION_RESTART && (!scene->order->may_restart || spec->ready_min > 0))
        return CONSOLIDATE_RESTART;
    if (m->state != TF_MEMBER_READY || moving_bar(scene->sub, job) || moving_instance_bar(job, m->index) ||
        migrate_of(scene->sub, job->record.uid, m->index))
        return CONSOLIDATE_BUSY;
    if (spec->ready_min > 0 && ready_members(job) <= spec->ready_min)
        return CONSOLIDATE_READY_MIN;
    return spec->max_nodes > 0 ? CONSOLIDATE_SPREAD : CONSOLIDATE_MOVABLE;
}

/* The number of that set, which is at the end of the list: it, or its like before it. */
static uint32_t keep_set(struct scene *scene)
{
    size_t words = scene->set_words, last = scene->sets.count / words - 1;
    const uint64_t *sets = scene->sets.items;
    for (size_t i = 0; i < last; i++)
        if (memcmp(&sets[i * words], &sets[last * words], words * sizeof *sets) == 0) {
            scene->sets.count -= words;
            return (uint32_t)i;
        }
    return (uint32_t)last;
}

/* The classes of nodes that it may go to: its model, its labels, the domains where its job and its step are.
 */
static uint32_t set_for(struct scene *scene, const struct job *job, uint32_t class)
{
    const struct tf_catalog *catalog = scene->view.catalog;
    struct tf_demand demand = {0};
    size_t first = scene->sets.count;
    for (size_t w = 0; w < scene->set_words; w++)
        tf_vec_push(&scene->sets, 0);
    const struct tf_job_spec *spec = job->record.spec;
    if (tf_demand_resolve(&demand, spec, class_rank(scene->sub, spec), catalog, NULL) == 0) {
        if (job->record.model)
            tf_demand_fix_model(&demand, catalog, job->record.model);
        tf_demand_anchor(&demand, catalog, class, true);
        for (uint32_t c = 0; c < catalog->classes.count; c++)
            if (tf_demand_admits(&demand, catalog, c) >= 0)
                scene->sets.items[first + c / 64] |= UINT64_C(1) << c % 64;
    }
    tf_demand_release(&demand);
    return keep_set(scene);
}

/* How long the two of a move are there at once, s: as long as the one took to get ready, and leaves its
 * clients. */
static int64_t seconds_of(const struct job *job, const struct tf_member *m)
{
    enum { NOT_KNOWN = TF_MINUTE };
    int64_t start = m->ready.ms > m->started.ms ? m->ready.ms - m->started.ms : NOT_KNOWN;
    return 1 + (start + job->record.spec->group.stop_delay) / TF_SECOND;
}

static void add_job(struct scene *scene, const struct job *job)
{
    const struct tf_job_spec *spec = job->record.spec;
    uint32_t set = CONSOLIDATE_ANY;
    uint32_t set_class = UINT32_MAX;
    for (size_t i = 0; i < job->record.members.count; i++) {
        const struct tf_member *m = &job->record.members.items[i];
        int32_t at = member_holds(m->state) ? scene->place.items[job->runs.items[i].node] : NOT_LOOKED_AT;
        if (at < 0)
            continue;
        enum consolidate_lock lock = lock_of(scene, job, m);
        uint32_t class = scene->nodes.items[at].class;
        if (lock == CONSOLIDATE_MOVABLE && class != set_class && !scene->only_counts) {
            set = set_for(scene, job, class);
            set_class = class;
        }
        struct tf_vector need = tf_shape_vector(&job->record.spec->group.shape);
        int64_t gpus = need.gpus > 0 ? need.gpus : 1;
        tf_vec_push(&scene->instances, (struct consolidate_instance){
                                           .node = (uint32_t)at,
                                           .need = need,
                                           .job = (uint32_t)scene->ask.job_count,
                                           .set = set,
                                           .lock = lock,
                                           .whole_job = spec->migration == TF_MIGRATION_RESTART,
                                           .cost = scene->in_seconds ? gpus * seconds_of(job, m) : gpus});
        tf_vec_push(&scene->jobs, job);
        tf_vec_push(&scene->indices, m->index);
    }
    int32_t limit = scene->sub->policy.max_moves_per_job;
    tf_vec_push(&scene->at_once, limit > 0 ? limit : INT32_MAX);
    scene->ask.job_count++;
}

/* ---- the worst ---- */

struct worst {
    size_t node;
    int32_t idle;
};

static int worst_cmp(const void *a, const void *b)
{
    const struct worst *x = a, *y = b;
    if (x->idle != y->idle)
        return x->idle > y->idle ? -1 : 1;
    return x->node < y->node ? -1 : 1;
}

/* Those with the most idle GPUs beside work that can all be moved; all others are no sites. */
static void keep_worst(struct scene *scene)
{
    TF_AUTO_FREE struct worst *worst = tf_calloc(scene->nodes.count + 1, sizeof *worst);
    TF_AUTO_FREE bool *stays = tf_calloc(scene->nodes.count + 1, sizeof *stays);
    size_t count = 0;
    tf_vec_each (i, &scene->instances)
        stays[i->node] |= i->lock != CONSOLIDATE_MOVABLE;
    for (size_t n = 0; n < scene->nodes.count; n++) {
        const struct consolidate_node *node = &scene->nodes.items[n];
        if (node->site && !stays[n] && !tf_vector_fits(node->capacity, node->free))
            worst[count++] = (struct worst){n, node->free.gpus};
        scene->nodes.items[n].site = false;
    }
    if (count)
        qsort(worst, count, sizeof *worst, worst_cmp);
    for (size_t i = 0; i < count && i < (size_t)scene->order->worst; i++)
        scene->nodes.items[worst[i].node].site = true;
}

/* ---- the scene ---- */

static char *find_domains(struct scene *scene)
{
    const struct tf_defrag_order *order = scene->order;
    struct tf_error err = TF_ERROR_INIT;
    size_t plane, level;
    if (!order->within)
        return NULL;
    if (tf_planes_find(&scene->sub->ledger.planes, order->plane, order->within, &plane, &level, &err))
        return tf_asprintf("%s: %s", scene->sub->boot.name, err.text);
    scene->slot = tf_catalog_slot(scene->view.catalog, plane, level);
    scene->ask.domain_count = scene->view.catalog->domains[scene->slot].count;
    return scene->ask.domain_count
               ? NULL
               : tf_asprintf("%s has no node in any %s", scene->sub->boot.name, order->within);
}

static char *find_named(const struct scene *scene)
{
    tf_vec_each (name, &scene->order->nodes) {
        const struct ledger_node *node = ledger_find(&scene->sub->ledger, *name);
        if (!node || !node->known)
            return tf_asprintf("%s has no node %s; `fedctl get nodes --cluster %s` lists them",
                               scene->sub->boot.name, *name, scene->sub->boot.name);
        if (scene->place.items[node->number] < 0)
            return tf_asprintf("node %s is not ready, or has no GPUs of that model", *name);
    }
    return NULL;
}

/* What no node is large enough for no move frees: that is an order that was mistaken, and not a full plan. */
static char *too_large(const struct scene *scene)
{
    const struct tf_defrag_order *order = scene->order;
    int32_t largest = 0;
    tf_vec_each (node, &scene->nodes)
        largest = node->capacity.gpus > largest ? node->capacity.gpus : largest;
    if (order->gpus <= largest)
        return NULL;
    return tf_asprintf(
        "%s %d GPUs on one node, and the largest node of %s with %s has %d: --unit %d is the most "
        "that can be free on it",
        order->for_job ? "the job asks for" : "it is asked for", order->gpus, scene->sub->boot.name,
        tf_intern_text(&scene->view.catalog->models, scene->model), largest, largest);
}

static void fill_ask(struct scene *scene)
{
    const struct tf_defrag_order *order = scene->order;
    struct consolidate_ask *ask = &scene->ask;
    ask->nodes = scene->nodes.items;
    ask->instances = scene->instances.items;
    ask->node_count = scene->nodes.count;
    ask->instance_count = scene->instances.count;
    ask->class_count = scene->view.catalog->classes.count;
    ask->sets = scene->sets.items;
    ask->set_count = scene->sets.count / scene->set_words;
    ask->unit_set = CONSOLIDATE_ANY;
    if (order->gpus > 0)
        ask->unit =
            (struct tf_vector){.gpus = order->gpus, .slots = 1, .cpu = order->cpu, .memory = order->memory};
    ask->want = order->want > 0 ? order->want : INT32_MAX;
    ask->max_moves = order->max_moves > 0 && order->max_moves < TF_DEFRAG_MOVES_MAX ? order->max_moves
                                                                                    : TF_DEFRAG_MOVES_MAX;
    ask->at_once = scene->sub->policy.max_moves;
    ask->job_at_once = scene->at_once.items;
    ask->spares_once = true; /* a chain claims all its places at once, and nothing comes to what it empties */
    ask->budget = BUDGET;
}

/* NULL, or why there is nothing to plan. scene is zeroed but for what its costs are, and whether it counts
 * only. */
static char *scene_make(struct scene *scene, struct sub *sub, const struct tf_defrag_order *order)
{
    scene->sub = sub;
    scene->order = order;
    const char *fault = tf_defrag_order_fault(order);
    if (fault)
        return tf_strdup(fault);
    ledger_refresh(&sub->ledger);
    scene->view = ledger_view(&sub->ledger);
    scene->set_words = (scene->view.catalog->classes.count + 63) / 64;
    char *why = choose_model(scene);
    why = why ? why : find_domains(scene);
    if (why)
        return why;
    tf_vec_each (node, &sub->ledger.nodes)
        add_node(scene, *node);
    for (const struct job *job = jobs_first(sub); job; job = jobs_next(job))
        if (job_lives(job))
            add_job(scene, job);
    why = find_named(scene);
    why = why ? why : too_large(scene);
    if (!why && order->worst > 0)
        keep_worst(scene);
    fill_ask(scene);
    return why;
}

/* Units that are there already count, too. */
static void count_total(struct scene *scene)
{
    int32_t there = 0;
    tf_vec_each (node, &scene->nodes) {
        struct tf_vector unit = scene->ask.unit.gpus ? scene->ask.unit : node->capacity;
        there += node->site ? tf_vector_count(unit, node->free) : 0;
    }
    scene->ask.want = scene->ask.want > there ? scene->ask.want - there : 0;
}

/* ---- telling ---- */

static const char *node_name(const struct scene *scene, uint32_t node)
{
    return scene->sub->ledger.nodes.items[scene->numbers.items[node]]->node.name;
}

static void tell_moves(const struct scene *scene, const struct consolidate_plan *plan,
                       struct tf_defrag_plan *out)
{
    tf_vec_each (move, &plan->moves) {
        const struct tf_allocation *record = &scene->jobs.items[move->instance]->record;
        tf_vec_push(&out->moves, (struct tf_defrag_move){
                                     .tenant = tf_strdup(record->tenant),
                                     .name = tf_strdup(record->name),
                                     .uid = record->uid,
                                     .index = scene->indices.items[move->instance],
                                     .gpus = record->spec->group.shape.gpus,
                                     .from = tf_strdup(node_name(scene, move->from)),
                                     .to = tf_strdup(node_name(scene, move->to)),
                                     .chain = move->chain,
                                     .wave = move->wave,
                                 });
    }
    tf_vec_each (site, &plan->sites)
        tf_vec_push(&out->sites, (struct tf_defrag_site){tf_strdup(node_name(scene, site->node)), site->units,
                                                         site->wave});
}

/* Nodes by free GPUs, before and after: the heat map. */
static void tell_buckets(const struct scene *scene, const struct consolidate_plan *plan,
                         struct tf_defrag_plan *out)
{
    int32_t before[CONSOLIDATE_GPUS_MAX + 1] = {0}, after[CONSOLIDATE_GPUS_MAX + 1] = {0};
    TF_AUTO_FREE int32_t *change = tf_calloc(scene->nodes.count + 1, sizeof *change);
    tf_vec_each (move, &plan->moves) {
        change[move->from] += scene->instances.items[move->instance].need.gpus;
        change[move->to] -= scene->instances.items[move->instance].need.gpus;
    }
    for (size_t n = 0; n < scene->nodes.count; n++) {
        before[scene->nodes.items[n].free.gpus]++;
        after[scene->nodes.items[n].free.gpus + change[n]]++;
    }
    for (int32_t gpus = 0; gpus <= CONSOLIDATE_GPUS_MAX; gpus++)
        if (before[gpus] || after[gpus])
            tf_vec_push(&out->buckets, (struct tf_defrag_bucket){gpus, before[gpus], after[gpus]});
}

static void tell_figures(const struct scene *scene, const struct consolidate_plan *plan,
                         struct tf_defrag_plan *out)
{
    const struct consolidate_figures *f = &plan->figures;
    out->model = tf_strdup(tf_intern_text(&scene->view.catalog->models, scene->model));
    if (scene->ask.domain_count && plan->domain != CONSOLIDATE_ANY)
        out->domain =
            tf_strdup(tf_intern_text(&scene->view.catalog->domains[scene->slot], (int32_t)plan->domain));
    out->nodes = (int32_t)scene->nodes.count;
    out->before = f->before;
    out->freed = f->freed;
    out->best = f->best;
    out->moves_bound = f->moves_bound;
    out->gpus = f->gpus;
    out->gpus_bound = f->gpus_bound;
    out->double_booked = f->double_booked;
    out->waves = f->waves;
    out->sites_locked = f->sites_locked;
    out->cut = f->cut || (f->freed < scene->ask.want && f->freed < f->best);
    for (int lock = CONSOLIDATE_MOVABLE + 1; lock < CONSOLIDATE_LOCKS; lock++)
        if (f->locked[lock])
            tf_vec_push(&out->locks,
                        (struct tf_defrag_lock){tf_strdup(consolidate_lock_text((enum consolidate_lock)lock)),
                                                f->locked[lock]});
}

static void plan_make(struct scene *scene, struct sub *sub, const struct tf_defrag_order *order,
                      struct consolidate_plan *plan, struct tf_defrag_plan *out)
{
    out->text = scene_make(scene, sub, order);
    if (!out->text) {
        if (order->total)
            count_total(scene);
        consolidate_plan_make(&scene->ask, plan);
        tell_moves(scene, plan, out);
        tell_buckets(scene, plan, out);
        tell_figures(scene, plan, out);
        out->digest = tf_defrag_digest(out);
    }
}

void defrag_plan_make(struct sub *sub, const struct tf_defrag_order *order, struct tf_defrag_plan *out)
{
    struct scene scene = {0};
    struct consolidate_plan plan = {0};
    plan_make(&scene, sub, order, &plan, out);
    consolidate_plan_release(&plan);
    scene_release(&scene);
}

void defrag_plan_within(struct sub *sub, const struct tf_defrag_order *order, int64_t *cost,
                        struct tf_defrag_plan *out)
{
    struct scene scene = {.in_seconds = true, .ask.max_cost = *cost};
    struct consolidate_plan plan = {0};
    plan_make(&scene, sub, order, &plan, out);
    *cost = plan.figures.cost;
    consolidate_plan_release(&plan);
    scene_release(&scene);
}

/* ---- how many nodes could be freed ---- */

/* A node that would be whole if all on it moved. */
struct gain {
    size_t node;
    int64_t cost;
    bool stays;
};

static int gain_cmp(const void *a, const void *b)
{
    const struct gain *x = a, *y = b;
    if (x->cost != y->cost)
        return x->cost < y->cost ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

/* The cheapest first. Returns how many there are. */
static size_t list_gains(const struct scene *scene, struct gain *gains)
{
    size_t count = 0;
    for (size_t n = 0; n < scene->nodes.count; n++)
        gains[n] = (struct gain){.node = n};
    tf_vec_each (i, &scene->instances) {
        gains[i->node].cost += i->cost;
        gains[i->node].stays |= i->lock != CONSOLIDATE_MOVABLE;
    }
    for (size_t n = 0; n < scene->nodes.count; n++) {
        const struct consolidate_node *node = &scene->nodes.items[n];
        if (node->site && !gains[n].stays && !tf_vector_fits(node->capacity, node->free))
            gains[count++] = gains[n];
    }
    if (count)
        qsort(gains, count, sizeof *gains, gain_cmp);
    return count;
}

static void add_gain(const struct consolidate_node *node, int64_t cost, struct tf_vacatables *out)
{
    size_t at = 0;
    while (at < out->count && out->items[at].class < node->class)
        at++;
    if (at == out->count || out->items[at].class != node->class) {
        tf_vec_push(out, (struct tf_vacatable){0});
        for (size_t i = out->count - 1; i > at; i--)
            out->items[i] = out->items[i - 1];
        out->items[at] =
            (struct tf_vacatable){.class = node->class, .room = node->capacity, .cost = cost}; /* the first */
    }
    struct tf_vacatable *v = &out->items[at];
    v->nodes++;
    v->room = tf_vector_min(v->room, node->capacity);
}

/* Of one model: the cheapest, and no more of them than a plan could free at best. */
static void count_model(struct sub *sub, const char *model, struct tf_vacatables *out)
{
    struct tf_defrag_order order = {.model = (char *)(uintptr_t)model};
    struct scene scene = {.in_seconds = true, .only_counts = true};
    char *why = scene_make(&scene, sub, &order);
    if (!why) {
        TF_AUTO_FREE struct gain *gains = tf_calloc(scene.nodes.count + 1, sizeof *gains);
        size_t count = list_gains(&scene, gains);
        size_t most = count ? (size_t)consolidate_most(&scene.ask) : 0;
        for (size_t i = 0; i < count && i < most; i++)
            add_gain(&scene.nodes.items[gains[i].node], gains[i].cost, out);
    }
    free(why);
    scene_release(&scene);
}

void defrag_count(struct sub *sub, struct tf_vacatables *out)
{
    out->count = 0;
    ledger_refresh(&sub->ledger);
    const struct tf_intern *models = &ledger_view(&sub->ledger).catalog->models;
    for (size_t i = 0; i < models->count; i++)
        count_model(sub, tf_intern_text(models, (int32_t)i), out);
}

/* ---- doing it ---- */

/* The node is to be free as a whole, or what gets free there is for one job only. */
static bool takes_nothing(const struct sub *sub, const struct tf_defrag_order *order, const char *name)
{
    const struct ledger_node *node = ledger_find(&sub->ledger, name);
    return order->gpus == 0 || order->for_job || (node && node->node.capacity.gpus <= order->gpus);
}

char *defrag_begin(struct sub *sub, const struct tf_defrag_order *order, const struct tf_defrag_plan *plan)
{
    TF_VEC(struct migrate_want) wants = {0};
    struct tf_strs empties = {0};
    tf_vec_each (move, &plan->moves)
        tf_vec_push(&wants, (struct migrate_want){move->uid, move->index, move->to});
    tf_vec_each (site, &plan->sites)
        if (takes_nothing(sub, order, site->node))
            tf_strs_add(&empties, site->node);
    struct migrate_ask ask = {.id = order->id,
                              .cause = TF_MOVE_BY_DEFRAG,
                              .owner = order->for_job,
                              .reason = order->reason,
                              .user = order->user,
                              .wants = wants.items,
                              .count = wants.count,
                              .may_restart = order->may_restart,
                              .empties = &empties};
    char *why = migrate_begin(sub, &ask);
    tf_strs_release(&empties);
    tf_vec_release(&wants);
    return why;
}

bool defrag_is_under_way(const struct sub *sub)
{
    const struct tf_migration *m;
    for (size_t i = 0; (m = migrate_at(sub, i)) != NULL; i++)
        if (m->ended.ms == 0 && m->cause == TF_MOVE_BY_DEFRAG)
            return true;
    return false;
}

/* A plan is for now: what it counts on would be gone when its time comes. */
static char *wait_for(const struct sub *sub)
{
    if (defrag_is_under_way(sub))
        return tf_asprintf(
            "%s is being defragmented already: wait for that (`fedctl get migrations`), then make a "
            "new plan",
            sub->boot.name);
    if (sub_frozen(sub, TF_FROZEN_MOVES))
        return tf_asprintf(
            "moves are frozen in %s (`fedctl freeze --list`): make a new plan when they are not",
            sub->boot.name);
    return NULL;
}

/* NULL: nothing is to be said. */
static char *apply(struct sub *sub, const struct tf_defrag_order *order, enum tf_error_code *code)
{
    struct tf_defrag_plan plan = {0};
    *code = TF_OK;
    if (migrate_find(sub, order->id)) /* a repeat */
        return NULL;
    defrag_plan_make(sub, order, &plan);
    size_t moves = plan.moves.count;
    char *why = plan.text ? tf_strdup(plan.text) : wait_for(sub);
    *code = TF_ERR_REFUSED;
    if (!why && plan.digest != order->digest) {
        *code = TF_ERR_CONFLICT;
        tf_reached(sub, SUB_DEFRAG_STALE);
        why = tf_asprintf(
            "%s has changed since the plan was made, and now it would be another (%zu move%s): make it "
            "again with `fedctl defrag plan --out`, read it, and apply that",
            sub->boot.name, moves, moves == 1 ? "" : "s");
    }
    if (!why && moves)
        why = defrag_begin(sub, order, &plan);
    if (!why) {
        *code = TF_OK;
        tf_reached(sub, SUB_DEFRAG_BEGUN);
        why = moves ? NULL : tf_strdup("there is nothing to move");
    }
    tf_defrag_plan_release(&plan);
    return why;
}

void defrag_asked(struct sub *sub, const struct tf_ask *ask)
{
    const struct tf_defrag_order *order = ask->defrag.items;
    enum tf_error_code code = TF_ERR_INVALID;
    const char *fault = order ? tf_defrag_order_fault(order) : "the order says nothing";
    char *text = NULL;
    if (order && !order->apply)
        return; /* a question, which the daemon answers from the state */
    if (fault)
        text = tf_strdup(fault);
    else if (!sub->listed || sub->unsure) {
        code = TF_ERR_UNAVAILABLE;
        text = not_listed(sub);
    } else {
        text = apply(sub, order, &code);
    }
    ask_answer(sub, ask, code, text);
}

/* ---- questions ---- */

void sub_plan_defrag(const struct sub *sub, struct tf_now now, const struct tf_defrag_order *order,
                     struct tf_defrag_plan *out)
{
    *out = (struct tf_defrag_plan){0};
    if (!sub->listed || sub->unsure) {
        out->text = not_listed(sub);
        return;
    }
    struct sub head = head_of(sub, now);
    defrag_plan_make(&head, order, out);
    out->note = out->text ? NULL : wait_for(&head);
    head_release(&head);
}
