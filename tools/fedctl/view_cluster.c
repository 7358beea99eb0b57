/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the documents of clusters and nodes. */
#include "common/base/cleanup.h"
#include "common/model/manifest.h"
#include "tools/fedctl/gpu.h"
#include "tools/fedctl/resource.h"
#include "tools/fedctl/view.h"

/* ---- clusters ---- */

struct cluster_doc {
    char *name, *region, *state, *cordon_reason, *registered, *contact, *version, *engine;
    struct tf_pairs labels;
    char *store_trouble, *store_trouble_since;
    struct tf_strs frozen;
    bool attached, stopped, lost, cordoned, forgotten;
    int64_t highest_epoch;
    int32_t placements;
    struct tf_health_counts health;
    struct tf_idle_causes idle;
};

#define C struct cluster_doc
#define H struct tf_health_counts
#define U struct tf_idle_causes
static const struct tf_row metadata_rows[] = {
    {.key = "name", TF_STRING(C, name)},
    {.key = "region", TF_STRING(C, region)},
    {.key = "labels", TF_PAIRS(C, labels)},
};
static const struct tf_table metadata_table = TF_TABLE(C, metadata_rows);

static const struct tf_row node_count_rows[] = {
    {.key = "total", TF_INT32(H, nodes)},
    {.key = "ready", TF_INT32(H, ready)},
    {.key = "unreachable", TF_INT32(H, unreachable)},
    {.key = "lost", TF_INT32(H, lost)},
    {.key = "cordoned", TF_INT32(H, cordoned)},
    {.key = "draining", TF_INT32(H, draining)},
};
static const struct tf_table node_count_table = TF_TABLE(H, node_count_rows);
static const struct tf_row gpu_count_rows[] = {
    {.key = "total", TF_INT32(H, gpus)},     {.key = "free", TF_INT32(H, free_gpus)},
    {.key = "held", TF_INT32(H, held_gpus)}, {.key = "foreign", TF_INT32(H, foreign_gpus)},
    {.key = "bad", TF_INT32(H, bad_gpus)},   {.key = "suspect", TF_INT32(H, suspect_gpus)},
};
static const struct tf_table gpu_count_table = TF_TABLE(H, gpu_count_rows);
static const struct tf_row idle_rows[] = {
    {.key = "deliverable", TF_INT32(U, deliverable)}, {.key = "count", TF_INT32(U, count)},
    {.key = "cpuMemory", TF_INT32(U, cpu_memory)},    {.key = "topology", TF_INT32(U, topology)},
    {.key = "policy", TF_INT32(U, policy)},           {.key = "step", TF_INT32(U, step)},
    {.key = "health", TF_INT32(U, health)},
};
const struct tf_table view_idle_table = TF_TABLE(U, idle_rows);

static const struct tf_row status_rows[] = {
    {.key = "state", TF_STRING(C, state)},
    {.key = "attached", TF_BOOL(C, attached)},
    {.key = "stopped", TF_BOOL(C, stopped)},
    {.key = "lost", TF_BOOL(C, lost)},
    {.key = "cordoned", TF_BOOL(C, cordoned)},
    {.key = "cordonReason", TF_STRING(C, cordon_reason)},
    {.key = "frozen", TF_STRINGS(C, frozen)},
    {.key = "forgotten", TF_BOOL(C, forgotten)},
    {.key = "registered", TF_STRING(C, registered)},
    {.key = "contact", TF_STRING(C, contact)},
    {.key = "version", TF_STRING(C, version)},
    {.key = "engine", TF_STRING(C, engine)},
    {.key = "highestEpoch", TF_INT64(C, highest_epoch)},
    {.key = "jobs", TF_INT32(C, placements)},
    {.key = "nodes", TF_OBJECT(C, health, &node_count_table)},
    {.key = "gpus", TF_OBJECT(C, health, &gpu_count_table)},
    {.key = "idleGpus", TF_OBJECT(C, idle, &view_idle_table)},
    {.key = "storeTrouble", TF_STRING(C, store_trouble)},
    {.key = "storeTroubleSince", TF_STRING(C, store_trouble_since)},
};
static const struct tf_table status_table = TF_TABLE(C, status_rows);

static const struct tf_row cluster_rows[] = {
    {.key = "apiVersion", TF_CONST(TF_API_VERSION)},
    {.key = "kind", TF_CONST("Cluster")},
    {.key = "metadata", TF_GROUP(&metadata_table)},
    {.key = "status", TF_GROUP(&status_table)},
};
static const struct tf_table cluster_table = TF_TABLE(C, cluster_rows);
#undef C
#undef H
#undef U

static struct tf_strs frozen_words(int32_t brakes, struct tf_arena *arena)
{
    static const enum tf_frozen all[] = {TF_FROZEN_EVICTIONS, TF_FROZEN_GROWTH, TF_FROZEN_MOVES};
    struct tf_strs words = {.items = tf_arena_alloc(arena, TF_ARRAY_LEN(all), sizeof *words.items)};
    for (size_t i = 0; i < TF_ARRAY_LEN(all); i++)
        if (brakes & (int32_t)all[i])
            words.items[words.count++] = tf_arena_strdup(arena, tf_frozen_name(all[i]));
    return words;
}

static void fill_cluster(const void *object, void *document, struct tf_arena *arena)
{
    const struct tf_cluster_info *info = object;
    struct cluster_doc *doc = document;
    char state[CLUSTER_STATE_TEXT];
    *doc = (struct cluster_doc){
        .name = info->name,
        .region = info->region,
        .state = tf_arena_strdup(arena, cluster_state(info, state)),
        .cordon_reason = info->cordon_reason,
        .registered = view_time(info->registered, arena),
        .contact = view_time(info->contact, arena),
        .store_trouble = info->store_trouble,
        .store_trouble_since = view_time(info->store_trouble_since, arena),
        .version = info->version,
        .engine = info->engine,
        .labels = info->labels,
        .attached = info->attached,
        .stopped = info->stopped,
        .lost = info->lost,
        .cordoned = info->cordoned,
        .frozen = frozen_words(info->brakes, arena),
        .forgotten = info->forgotten,
        .highest_epoch = (int64_t)info->highest_epoch,
        .placements = info->placements,
        .health = info->health,
        .idle = info->idle,
    };
}

const struct view view_cluster = {&cluster_table, sizeof(struct cluster_doc), fill_cluster};

/* ---- nodes ---- */

struct node_instance_doc {
    char *tenant, *name, *uid, *state;
    int64_t epoch;
    int32_t index;
    struct tf_strs gpus;
};

#define I struct node_instance_doc
static const struct tf_row instance_rows[] = {
    {.key = "tenant", TF_STRING(I, tenant)},
    {.key = "job", TF_STRING(I, name)},
    {.key = "uid", TF_STRING(I, uid)},
    {.key = "epoch", TF_INT64(I, epoch)},
    {.key = "index", TF_INT32(I, index)},
    {.key = "state", TF_STRING(I, state)},
    {.key = "gpus", TF_STRINGS(I, gpus), .def = ""},
};
#undef I
static const struct tf_table instance_table = TF_TABLE(struct node_instance_doc, instance_rows);

struct gpu_cordon_doc {
    struct tf_strs gpus;
    char *reason, *since;
    bool suspect;
    char *source;
};
static const struct tf_row gpu_cordon_rows[] = {
    {.key = "gpus", TF_STRINGS(struct gpu_cordon_doc, gpus)},
    {.key = "reason", TF_STRING(struct gpu_cordon_doc, reason)},
    {.key = "since", TF_STRING(struct gpu_cordon_doc, since)},
    {.key = "suspect", TF_BOOL(struct gpu_cordon_doc, suspect)},
    {.key = "saidBy", TF_STRING(struct gpu_cordon_doc, source)},
};
static const struct tf_table gpu_cordon_table = TF_TABLE(struct gpu_cordon_doc, gpu_cordon_rows);

struct domain_cordon_doc {
    char *domain, *reason, *since;
};

static const struct tf_row domain_cordon_rows[] = {
    {.key = "domain", TF_STRING(struct domain_cordon_doc, domain)},
    {.key = "reason", TF_STRING(struct domain_cordon_doc, reason)},
    {.key = "since", TF_STRING(struct domain_cordon_doc, since)},
};
static const struct tf_table domain_cordon_table = TF_TABLE(struct domain_cordon_doc, domain_cordon_rows);

struct node_doc {
    char *cluster, *name, *address, *state, *model, *engine;
    struct tf_pairs labels;
    struct tf_strs domains, free_gpus, held_gpus, foreign_gpus, bad_gpus, suspect_gpus;
    int64_t gpu_memory;
    struct tf_vector capacity, used;
    struct tf_idle_causes idle;
    TF_VEC(struct node_instance_doc) instances;
    bool cordoned;
    char *cordon_reason, *cordoned_since;
    TF_VEC(struct gpu_cordon_doc) gpu_cordons;
    TF_VEC(struct domain_cordon_doc) domain_cordons;
};

#define N struct node_doc
#define V struct tf_vector
static const struct tf_row vector_rows[] = {
    {.key = "gpus", TF_INT32(V, gpus)},
    {.key = "cpu", TF_CPU(V, cpu)},
    {.key = "memory", TF_CAPACITY(V, memory)},
    {.key = "slots", TF_INT32(V, slots)},
};
#undef V
static const struct tf_table vector_table = TF_TABLE(struct tf_vector, vector_rows);

static const struct tf_row node_metadata_rows[] = {
    {.key = "cluster", TF_STRING(N, cluster)},
    {.key = "name", TF_STRING(N, name)},
    {.key = "labels", TF_PAIRS(N, labels)},
};
static const struct tf_table node_metadata_table = TF_TABLE(N, node_metadata_rows);

static const struct tf_row node_status_rows[] = {
    {.key = "state", TF_STRING(N, state)},
    {.key = "address", TF_STRING(N, address)},
    {.key = "engine", TF_STRING(N, engine)},
    {.key = "gpuModel", TF_STRING(N, model)},
    {.key = "gpuMemory", TF_CAPACITY(N, gpu_memory), .flags = TF_ROW_ZERO},
    {.key = "domains", TF_STRINGS(N, domains)},
    {.key = "capacity", TF_OBJECT(N, capacity, &vector_table)},
    {.key = "used", TF_OBJECT(N, used, &vector_table)},
    {.key = "freeGpus", TF_STRINGS(N, free_gpus), .def = ""},
    {.key = "heldGpus", TF_STRINGS(N, held_gpus), .def = ""},
    {.key = "foreignGpus", TF_STRINGS(N, foreign_gpus)},
    {.key = "badGpus", TF_STRINGS(N, bad_gpus)},
    {.key = "suspectGpus", TF_STRINGS(N, suspect_gpus)},
    {.key = "idleGpus", TF_OBJECT(N, idle, &view_idle_table)},
    {.key = "cordoned", TF_BOOL(N, cordoned)},
    {.key = "cordonReason", TF_STRING(N, cordon_reason)},
    {.key = "cordonedSince", TF_STRING(N, cordoned_since)},
    {.key = "cordonedWith", TF_OBJECTS(N, domain_cordons, &domain_cordon_table)},
    {.key = "cordonedGpus", TF_OBJECTS(N, gpu_cordons, &gpu_cordon_table)},
    {.key = "instances", TF_OBJECTS(N, instances, &instance_table)},
};
static const struct tf_table node_status_table = TF_TABLE(N, node_status_rows);

static const struct tf_row node_rows[] = {
    {.key = "apiVersion", TF_CONST(TF_API_VERSION)},
    {.key = "kind", TF_CONST("Node")},
    {.key = "metadata", TF_GROUP(&node_metadata_table)},
    {.key = "status", TF_GROUP(&node_status_table)},
};
static const struct tf_table node_table = TF_TABLE(N, node_rows);
#undef N

static void fill_cordon(const struct tf_cordon *cordon, struct node_doc *doc, struct tf_arena *arena)
{
    doc->cordoned = tf_cordon_closes(cordon);
    doc->cordon_reason = cordon->reason;
    doc->cordoned_since = view_time(cordon->at, arena);
    doc->domain_cordons.count = cordon->domains.count;
    doc->domain_cordons.items =
        tf_arena_alloc(arena, cordon->domains.count + 1, sizeof *doc->domain_cordons.items);
    for (size_t i = 0; i < cordon->domains.count; i++) {
        const struct tf_domain_cordon *with = &cordon->domains.items[i];
        doc->domain_cordons.items[i] =
            (struct domain_cordon_doc){with->domain, with->reason, view_time(with->at, arena)};
    }
    doc->gpu_cordons.count = cordon->gpus.count;
    doc->gpu_cordons.items = tf_arena_alloc(arena, cordon->gpus.count + 1, sizeof *doc->gpu_cordons.items);
    for (size_t i = 0; i < cordon->gpus.count; i++) {
        const struct tf_gpu_cordon *g = &cordon->gpus.items[i];
        doc->gpu_cordons.items[i] =
            (struct gpu_cordon_doc){view_gpus(g->gpus, arena), g->reason, view_time(g->at, arena), g->suspect,
                                    view_word(tf_gpu_source_name(g->source))};
    }
}

static void fill_node(const void *object, void *document, struct tf_arena *arena)
{
    const struct tf_node_info *info = object;
    struct node_doc *doc = document;
    *doc = (struct node_doc){
        .cluster = info->cluster,
        .name = info->node.name,
        .address = info->node.address,
        .state = view_word(tf_node_state_name(info->node.state)),
        .model = info->node.model,
        .engine = info->engine,
        .idle = info->idle,
        .labels = info->node.labels,
        .domains = info->node.domains,
        .free_gpus = view_gpus(info->free_gpus, arena),
        .held_gpus = view_gpus(info->held_gpus, arena),
        .foreign_gpus = view_gpus(info->node.foreign.gpus, arena),
        .bad_gpus = view_gpus(info->node.bad_gpus, arena),
        .suspect_gpus = view_gpus(info->node.suspect_gpus, arena),
        .gpu_memory = info->node.gpu_memory,
        .capacity = info->node.capacity,
        .used = info->used,
    };
    fill_cordon(&info->cordon, doc, arena);
    doc->instances.items = tf_arena_alloc(arena, info->instances.count + 1, sizeof *doc->instances.items);
    doc->instances.count = info->instances.count;
    for (size_t i = 0; i < info->instances.count; i++) {
        const struct tf_node_instance *instance = &info->instances.items[i];
        doc->instances.items[i] = (struct node_instance_doc){
            .tenant = instance->tenant,
            .name = instance->name,
            .uid = view_uid(instance->uid, arena),
            .state = view_word(tf_member_state_name(instance->state)),
            .epoch = (int64_t)instance->epoch,
            .index = (int32_t)instance->index,
            .gpus = view_gpus(instance->gpus, arena),
        };
    }
}

const struct view view_node = {&node_table, sizeof(struct node_doc), fill_node};

/* ---- GPUs ---- */

struct gpu_doc {
    char *cluster, *node, *model, *state, *note, *source, *tenant, *job, *uid;
    int32_t gpu, instance;
    int64_t epoch;
};

#define G struct gpu_doc
static const struct tf_row holder_rows[] = {
    {.key = "tenant", TF_STRING(G, tenant)},
    {.key = "job", TF_STRING(G, job)},
    {.key = "uid", TF_STRING(G, uid)},
    {.key = "epoch", TF_INT64(G, epoch), .flags = TF_ROW_ZERO},
    {.key = "index", TF_INT32(G, instance), .flags = TF_ROW_FILLED},
};
static const struct tf_table holder_table = TF_TABLE(G, holder_rows);
static const struct tf_row gpu_rows[] = {
    {.key = "apiVersion", TF_CONST(TF_API_VERSION)},
    {.key = "kind", TF_CONST("Gpu")},
    {.key = "cluster", TF_STRING(G, cluster)},
    {.key = "node", TF_STRING(G, node)},
    {.key = "index", TF_INT32(G, gpu)},
    {.key = "model", TF_STRING(G, model)},
    {.key = "state", TF_STRING(G, state)},
    {.key = "note", TF_STRING(G, note)},
    {.key = "saidBy", TF_STRING(G, source)},
    {.key = "holder", TF_GROUP(&holder_table)},
};
static const struct tf_table gpu_table = TF_TABLE(G, gpu_rows);
#undef G

static char *lent(const char *text)
{
    return (char *)(uintptr_t)text;
}

static void fill_gpu(const void *object, void *document, struct tf_arena *arena)
{
    const struct gpu *gpu = object;
    struct gpu_doc *doc = document;
    *doc = (struct gpu_doc){.cluster = lent(gpu->cluster),
                            .node = lent(gpu->node),
                            .model = lent(gpu->model),
                            .state = lent(gpu->state),
                            .note = lent(gpu->note),
                            .source = lent(gpu->source),
                            .gpu = gpu->index,
                            .instance = TF_UNSET};
    if (!gpu->holder)
        return;
    doc->tenant = gpu->holder->tenant;
    doc->job = gpu->holder->name;
    doc->uid = view_uid(gpu->holder->uid, arena);
    doc->epoch = (int64_t)gpu->holder->epoch;
    doc->instance = (int32_t)gpu->holder->index;
}

const struct view view_gpu = {&gpu_table, sizeof(struct gpu_doc), fill_gpu};
