/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/fedctl/defrag.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "common/conf/conf.h"
#include "common/model/manifest.h"
#include "tools/fedctl/file.h"

#include <errno.h>
#include <inttypes.h>

enum { ITEMS_MAX = 65536 };

#define M struct defrag_move_doc
static const struct tf_row move_rows[] = {
    {.key = "instance", TF_STRING(M, instance)},
    {.key = "from", TF_STRING(M, from)},
    {.key = "to", TF_STRING(M, to)},
    {.key = "gpus", TF_INT32(M, gpus), .max = INT32_MAX},
    {.key = "wave", TF_INT32(M, wave), .max = INT32_MAX},
    {.key = "chain", TF_INT32(M, chain), .max = INT32_MAX},
};
#undef M
static const struct tf_table move_table = TF_TABLE(struct defrag_move_doc, move_rows);

#define S struct defrag_site_doc
static const struct tf_row site_rows[] = {
    {.key = "node", TF_STRING(S, node)},
    {.key = "units", TF_INT32(S, units), .max = INT32_MAX},
    {.key = "wave", TF_INT32(S, wave), .max = INT32_MAX},
};
#undef S
static const struct tf_table site_table = TF_TABLE(struct defrag_site_doc, site_rows);

#define B struct defrag_bucket_doc
static const struct tf_row bucket_rows[] = {
    {.key = "freeGpus", TF_INT32(B, free), .max = INT32_MAX},
    {.key = "now", TF_INT32(B, before), .max = INT32_MAX},
    {.key = "after", TF_INT32(B, after), .max = INT32_MAX},
};
#undef B
static const struct tf_table bucket_table = TF_TABLE(struct defrag_bucket_doc, bucket_rows);

#define L struct defrag_lock_doc
static const struct tf_row lock_rows[] = {
    {.key = "why", TF_STRING(L, why)},
    {.key = "instances", TF_INT32(L, instances), .max = INT32_MAX},
};
#undef L
static const struct tf_table lock_table = TF_TABLE(struct defrag_lock_doc, lock_rows);

#define O struct tf_defrag_order
static const struct tf_row order_rows[] = {
    {.key = "model", TF_STRING(O, model)},
    {.key = "nodes", TF_STRINGS(O, nodes)},
    {.key = "worst", TF_INT32(O, worst), .max = INT32_MAX},
    {.key = "want", TF_INT32(O, want), .max = INT32_MAX},
    {.key = "total", TF_BOOL(O, total), .def = "false"},
    {.key = "gpus", TF_INT32(O, gpus), .max = 64},
    {.key = "cpu", TF_INT64(O, cpu), .max = TF_QUANTITY_MAX},
    {.key = "memory", TF_INT64(O, memory), .max = TF_QUANTITY_MAX},
    {.key = "plane", TF_STRING(O, plane)},
    {.key = "within", TF_STRING(O, within)},
    {.key = "maxMoves", TF_INT32(O, max_moves), .max = INT32_MAX},
    {.key = "mayRestart", TF_BOOL(O, may_restart), .def = "false"},
    {.key = "for", TF_STRING(O, for_job)},
};
#undef O
static const struct tf_table order_table = TF_TABLE(struct tf_defrag_order, order_rows);

#define D struct defrag_doc
#define FIGURE(k, f)                               \
    {                                              \
        .key = k, TF_INT32(D, f), .max = INT32_MAX \
    }
static const struct tf_row doc_rows[] = {
    {.key = "apiVersion", TF_CONST(TF_API_VERSION)},
    {.key = "kind", TF_CONST("DefragPlan")},
    {.key = "made", TF_STRING(D, made)},
    {.key = "cluster", TF_NAME(D, cluster)},
    {.key = "digest", TF_STRING(D, digest)},
    {.key = "asked", TF_OBJECT(D, order, &order_table)},
    {.key = "model", TF_STRING(D, model)},
    {.key = "domain", TF_STRING(D, domain)},
    FIGURE("nodesLookedAt", nodes),
    FIGURE("free", before),
    FIGURE("freed", freed),
    FIGURE("freedAtMost", best),
    FIGURE("gpusMoved", gpus),
    FIGURE("gpusMovedAtLeast", gpus_bound),
    FIGURE("movesAtLeast", moves_bound),
    FIGURE("doubleBookedGpus", double_booked),
    FIGURE("waves", waves),
    FIGURE("nodesLocked", sites_locked),
    {.key = "limited", TF_BOOL(D, cut), .def = "false"},
    {.key = "note", TF_STRING(D, note)},
    {.key = "frees", TF_OBJECTS(D, sites, &site_table), .max = ITEMS_MAX},
    {.key = "moves", TF_OBJECTS(D, moves, &move_table), .max = ITEMS_MAX},
    {.key = "nodesByFreeGpus", TF_OBJECTS(D, buckets, &bucket_table), .max = ITEMS_MAX},
    {.key = "locked", TF_OBJECTS(D, locks, &lock_table), .max = ITEMS_MAX},
};
#undef FIGURE
#undef D
const struct tf_table defrag_doc_table = TF_TABLE(struct defrag_doc, doc_rows);

/* ---- filling ---- */

#define FILL(list, n, arena)                                                   \
    do {                                                                       \
        (list)->items = tf_arena_alloc(arena, (n) + 1, sizeof *(list)->items); \
        (list)->count = (list)->cap = (n);                                     \
    } while (0)

/* From 1 on, as it is printed, so that people and programs speak of the same one. */
static int32_t wave_number(uint32_t wave)
{
    return (int32_t)wave + 1;
}

static void fill_lists(const struct tf_defrag_plan *plan, struct defrag_doc *doc, struct tf_arena *arena)
{
    FILL(&doc->sites, plan->sites.count, arena);
    for (size_t i = 0; i < plan->sites.count; i++) {
        const struct tf_defrag_site *s = &plan->sites.items[i];
        doc->sites.items[i] = (struct defrag_site_doc){s->node, s->units, wave_number(s->wave)};
    }
    FILL(&doc->moves, plan->moves.count, arena);
    for (size_t i = 0; i < plan->moves.count; i++) {
        const struct tf_defrag_move *m = &plan->moves.items[i];
        char text[2 * TF_NAME_MAX + 16];
        snprintf(text, sizeof text, "%s/%s/%u", m->tenant, m->name, m->index);
        doc->moves.items[i] = (struct defrag_move_doc){
            tf_arena_strdup(arena, text), m->from, m->to, m->gpus, wave_number(m->wave), (int32_t)m->chain};
    }
    FILL(&doc->buckets, plan->buckets.count, arena);
    for (size_t i = 0; i < plan->buckets.count; i++) {
        const struct tf_defrag_bucket *b = &plan->buckets.items[i];
        doc->buckets.items[i] = (struct defrag_bucket_doc){b->free, b->before, b->after};
    }
    FILL(&doc->locks, plan->locks.count, arena);
    for (size_t i = 0; i < plan->locks.count; i++)
        doc->locks.items[i] =
            (struct defrag_lock_doc){plan->locks.items[i].why, plan->locks.items[i].instances};
}

static void fill(const void *object, void *document, struct tf_arena *arena)
{
    const struct defrag *defrag = object;
    const struct tf_defrag_plan *plan = defrag->plan;
    struct defrag_doc *doc = document;
    char digest[20];
    snprintf(digest, sizeof digest, "%016" PRIx64, plan->digest);
    *doc = (struct defrag_doc){
        .made = view_time(defrag->made, arena),
        .cluster = (char *)(uintptr_t)defrag->cluster,
        .digest = tf_arena_strdup(arena, digest),
        .order = *defrag->order,
        .model = plan->model,
        .domain = plan->domain,
        .nodes = plan->nodes,
        .before = plan->before,
        .freed = plan->freed,
        .best = plan->best,
        .moves_bound = plan->moves_bound,
        .gpus = plan->gpus,
        .gpus_bound = plan->gpus_bound,
        .double_booked = plan->double_booked,
        .waves = plan->waves,
        .sites_locked = plan->sites_locked,
        .cut = plan->cut,
        .note = plan->note,
    };
    fill_lists(plan, doc, arena);
}

static bool is_move(const struct defrag_move_doc *a, const struct defrag_move_doc *b)
{
    return tf_str_eq(a->instance, b->instance) && tf_str_eq(a->from, b->from) && tf_str_eq(a->to, b->to) &&
           a->wave == b->wave;
}

static bool is_site(const struct defrag_site_doc *a, const struct defrag_site_doc *b)
{
    return tf_str_eq(a->node, b->node) && a->units == b->units;
}

/* From the lists of a document: "moves" and "frees". */
static char *list_difference(const struct defrag_doc *doc, const struct defrag_doc *real)
{
    if (doc->moves.count != real->moves.count)
        return tf_asprintf("it lists %zu moves of %zu", doc->moves.count, real->moves.count);
    for (size_t i = 0; i < real->moves.count; i++) {
        const struct defrag_move_doc *m = &real->moves.items[i];
        if (!is_move(&doc->moves.items[i], m))
            return tf_asprintf("its move %zu is not that of %s from %s to %s", i + 1, m->instance, m->from,
                               m->to);
    }
    if (doc->sites.count != real->sites.count)
        return tf_asprintf("it frees %zu nodes of %zu", doc->sites.count, real->sites.count);
    for (size_t i = 0; i < real->sites.count; i++)
        if (!is_site(&doc->sites.items[i], &real->sites.items[i]))
            return tf_asprintf("it does not say that node %s is freed", real->sites.items[i].node);
    return NULL;
}

char *defrag_difference(const struct defrag_doc *doc, const struct tf_defrag_plan *plan)
{
    struct tf_arena *arena = tf_arena_create();
    struct defrag_doc real = {0};
    fill_lists(plan, &real, arena);
    char *difference = list_difference(doc, &real);
    tf_arena_destroy(arena);
    return difference;
}

const struct view view_defrag = {&defrag_doc_table, sizeof(struct defrag_doc), fill};

/* ---- files ---- */

int defrag_save(const struct defrag *defrag, const char *path, struct tf_error *err)
{
    TF_AUTO_BUF text = TF_BUF_INIT;
    tf_buf_str(&text, "# What `fedctl defrag apply` will carry out, if it is still the plan.\n");
    view_yaml(&view_defrag, defrag, &text);
    return file_write(path, "the plan", &text, err);
}

int defrag_load(const char *path, struct defrag_doc *doc, uint64_t *digest, struct tf_error *err)
{
    char *end = NULL;
    if (tf_conf_load(path, &defrag_doc_table, doc, err))
        return -1;
    errno = 0;
    *digest = doc->digest ? strtoull(doc->digest, &end, 16) : 0;
    if (*digest && errno == 0 && *end == '\0' && doc->cluster)
        return 0;
    (void)tf_error_set(err, TF_ERR_INVALID, "%s is no plan of `fedctl defrag plan --out`: its %s is missing",
                       path, doc->cluster ? "digest" : "cluster");
    tf_table_release(&defrag_doc_table, doc);
    return -1;
}
