/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/fedctl/view_plan.h"

#include "common/base/text.h"
#include "common/model/manifest.h"

enum { PLAN_ITEMS_MAX = 65536 };

#define V struct plan_victim_doc
static const struct tf_row victim_rows[] = {
    {.key = "job", TF_STRING(V, job)},
    {.key = "whole", TF_BOOL(V, whole), .def = "false"},
    {.key = "instances", TF_INT32(V, instances)},
    {.key = "of", TF_INT32(V, size)},
    {.key = "level", TF_STRING(V, level)},
    {.key = "lostGpuSeconds", TF_INT64(V, lost_gpu_seconds)},
};
#undef V
static const struct tf_table victim_table = TF_TABLE(struct plan_victim_doc, victim_rows);

#define N struct plan_node_doc
static const struct tf_row node_rows[] = {
    {.key = "node", TF_STRING(N, node)},
    {.key = "instances", TF_INT32(N, instances)},
    {.key = "gpus", TF_STRINGS(N, gpus)},
};
#undef N
static const struct tf_table node_table = TF_TABLE(struct plan_node_doc, node_rows);

#define R struct plan_row_doc
static const struct tf_row cluster_rows[] = {
    {.key = "cluster", TF_STRING(R, cluster)},
    {.key = "reason", TF_STRING(R, reason)},
    {.key = "free", TF_INT32(R, free)},
    {.key = "has", TF_INT32(R, has)},
    {.key = "asked", TF_INT32(R, asked)},
    {.key = "level", TF_STRING(R, level)},
    {.key = "answered", TF_BOOL(R, answered), .def = "false"},
    {.key = "profileAge", TF_DURATION(R, age)},
    {.key = "victims", TF_INT32(R, jobs)},
    {.key = "lostGpuSeconds", TF_INT64(R, lost_gpu_seconds)},
    {.key = "wait", TF_DURATION(R, wait)},
    {.key = "until", TF_STRING(R, until)},
    {.key = "text", TF_STRING(R, text)},
    {.key = "unblock", TF_STRING(R, unblock)},
};
#undef R
static const struct tf_table cluster_table = TF_TABLE(struct plan_row_doc, cluster_rows);

#define J struct plan_job_doc
static const struct tf_row job_rows[] = {
    {.key = "job", TF_STRING(J, job)},
    {.key = "action", TF_STRING(J, action)},
    {.key = "changes", TF_STRINGS(J, changes)},
    {.key = "answer", TF_STRING(J, answer)},
    {.key = "cluster", TF_STRING(J, cluster)},
    {.key = "model", TF_STRING(J, model)},
    {.key = "size", TF_INT32(J, size)},
    {.key = "wait", TF_DURATION(J, wait)},
    {.key = "lostGpuSeconds", TF_INT64(J, lost_gpu_seconds)},
    {.key = "nodes", TF_OBJECTS(J, nodes, &node_table), .max = PLAN_ITEMS_MAX},
    {.key = "victims", TF_OBJECTS(J, victims, &victim_table), .max = PLAN_ITEMS_MAX},
    {.key = "clusters", TF_OBJECTS(J, rows, &cluster_table), .max = PLAN_ITEMS_MAX},
};
#undef J
static const struct tf_table job_table = TF_TABLE(struct plan_job_doc, job_rows);

#define P struct plan_doc
static const struct tf_row plan_rows[] = {
    {.key = "apiVersion", TF_CONST(TF_API_VERSION)},
    {.key = "kind", TF_CONST("Plan")},
    {.key = "made", TF_STRING(P, made)},
    {.key = "restart", TF_BOOL(P, restart), .def = "false"},
    {.key = "jobs", TF_OBJECTS(P, jobs, &job_table), .max = MANIFESTS_MAX},
};
#undef P
const struct tf_table plan_doc_table = TF_TABLE(struct plan_doc, plan_rows);

/* ---- filling ---- */

/* The list gets `n` items in the arena. */
#define FILL(list, n, arena)                                                   \
    do {                                                                       \
        (list)->items = tf_arena_alloc(arena, (n) + 1, sizeof *(list)->items); \
        (list)->count = (list)->cap = (n);                                     \
    } while (0)

static char *join(const char *tenant, const char *name, struct tf_arena *arena)
{
    char text[2 * TF_NAME_MAX + 2];
    snprintf(text, sizeof text, "%s/%s", tenant ? tenant : "?", name ? name : "?");
    return tf_arena_strdup(arena, text);
}

static void fill_where(const struct tf_place_plan *plan, struct plan_job_doc *doc, struct tf_arena *arena)
{
    FILL(&doc->nodes, plan->nodes.count, arena);
    for (size_t i = 0; i < plan->nodes.count; i++) {
        const struct tf_plan_node *n = &plan->nodes.items[i];
        doc->nodes.items[i] = (struct plan_node_doc){n->node, view_gpus(n->gpus, arena), n->instances};
    }
    FILL(&doc->victims, plan->victims.count, arena);
    for (size_t i = 0; i < plan->victims.count; i++) {
        const struct tf_plan_victim *v = &plan->victims.items[i];
        doc->victims.items[i] = (struct plan_victim_doc){
            join(v->tenant, v->name, arena), v->level, v->whole, v->instances, v->size, v->lost_gpu_seconds};
    }
    doc->lost_gpu_seconds = plan->lost_gpu_seconds;
    doc->wait = plan->wait;
}

static void fill_rows(const struct tf_plan_reply *reply, struct plan_job_doc *doc, struct tf_arena *arena)
{
    FILL(&doc->rows, reply->rows.count, arena);
    for (size_t i = 0; i < reply->rows.count; i++) {
        const struct tf_plan_row *row = &reply->rows.items[i];
        doc->rows.items[i] = (struct plan_row_doc){
            .cluster = row->cluster,
            .reason = row->reason ? view_word(tf_reason_name(row->reason)) : NULL,
            .level = row->level,
            .until = view_time(row->until, arena),
            .text = row->text,
            .unblock = row->unblock,
            .answered = row->answered,
            .free = row->free,
            .has = row->has,
            .asked = row->asked,
            .jobs = row->jobs,
            .age = row->age_ms,
            .lost_gpu_seconds = row->lost_gpu_seconds,
            .wait = row->wait,
        };
        if (tf_str_eq(row->cluster, reply->cluster)) {
            doc->size = row->size;
            doc->model = row->model;
        }
    }
}

static void fill_job(const struct planned *job, struct plan_job_doc *doc, struct tf_arena *arena)
{
    *doc = (struct plan_job_doc){.job = join(job->manifest->job.tenant, job->manifest->job.name, arena),
                                 .action = view_word(plan_word(job->action)),
                                 .changes = job->changes,
                                 .answer = job->refusal};
    if (!job->placed)
        return;
    doc->answer = job->reply.answer;
    doc->cluster = job->reply.cluster;
    fill_rows(&job->reply, doc, arena);
    fill_where(&job->reply.plan, doc, arena);
}

static void fill_plan(const void *object, void *document, struct tf_arena *arena)
{
    const struct plan *plan = object;
    struct plan_doc *doc = document;
    *doc = (struct plan_doc){.made = view_time(plan->made, arena), .restart = plan->restart};
    FILL(&doc->jobs, plan->jobs.count, arena);
    for (size_t i = 0; i < plan->jobs.count; i++)
        fill_job(&plan->jobs.items[i], &doc->jobs.items[i], arena);
}

const struct view view_plan = {&plan_doc_table, sizeof(struct plan_doc), fill_plan};
