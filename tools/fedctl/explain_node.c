/* SPDX-License-Identifier: Apache-2.0 */
/* Owns explain node: what has each of its GPUs, and what keeps work from those that nobody has. */
#include "common/base/cleanup.h"
#include "common/base/quantity.h"
#include "common/base/text.h"
#include "common/model/manifest.h"
#include "tools/fedctl/explain.h"
#include "tools/fedctl/resource.h"

struct part_doc {
    struct tf_strs gpus;
    char *state, *job, *text;
    int64_t epoch;
    int32_t index;
};
struct node_doc {
    char *cluster, *node, *state, *model, *answer;
    int32_t gpus, free;
    struct tf_idle_causes idle;
    TF_VEC(struct part_doc) parts;
};

#define P struct part_doc
static const struct tf_row part_rows[] = {
    {.key = "gpus", TF_STRINGS(P, gpus)},
    {.key = "state", TF_STRING(P, state)},
    {.key = "job", TF_STRING(P, job)},
    {.key = "epoch", TF_INT64(P, epoch), .flags = TF_ROW_OPTIONAL},
    {.key = "index", TF_INT32(P, index), .flags = TF_ROW_OPTIONAL},
    {.key = "text", TF_STRING(P, text)},
};
#undef P
static const struct tf_table part_table = TF_TABLE(struct part_doc, part_rows);

#define D struct node_doc
static const struct tf_row node_rows[] = {
    {.key = "apiVersion", TF_CONST(TF_API_VERSION)},
    {.key = "kind", TF_CONST("NodeExplanation")},
    {.key = "cluster", TF_STRING(D, cluster)},
    {.key = "node", TF_STRING(D, node)},
    {.key = "state", TF_STRING(D, state)},
    {.key = "model", TF_STRING(D, model)},
    {.key = "answer", TF_STRING(D, answer)},
    {.key = "gpus", TF_INT32(D, gpus)},
    {.key = "free", TF_INT32(D, free)},
    {.key = "idleGpus", TF_OBJECT(D, idle, &view_idle_table)},
    {.key = "parts", TF_OBJECTS(D, parts, &part_table)},
};
#undef D
static const struct tf_table node_table = TF_TABLE(struct node_doc, node_rows);

/* ---- who has what ---- */

/* GPUs of one fate. */
struct part {
    uint64_t gpus;
    const char *state;                   /* literal */
    const struct tf_node_instance *held; /* NULL: by no instance of ours */
    char *text;
};
struct parts {
    struct part *items;
    size_t count, cap;
};

static void add(struct parts *parts, uint64_t gpus, const char *state, const struct tf_node_instance *held,
                char *text)
{
    tf_vec_push(parts, (struct part){gpus, state, held, text});
}

static struct tf_vector left_on(const struct tf_node_info *info)
{
    struct tf_vector left = tf_vector_sub(info->node.capacity, info->used);
    left.cpu -= info->node.foreign.cpu;
    left.memory -= info->node.foreign.memory;
    left.slots -= info->node.foreign.slots;
    return tf_vector_floor0(left);
}

static char *why_cordoned_with(const struct tf_node_info *info, const struct tf_domain_cordon *with)
{
    TF_AUTO_BUF text = TF_BUF_INIT;
    const char *reason = with->reason ? with->reason : "no reason given";
    const char *labels = tf_domain_labels(with->domain);
    if (labels)
        tf_buf_fmt(&text,
                   "every node with %s is cordoned: %s; to unblock: `fedctl uncordon node -c %s -l '%s'`",
                   labels, reason, info->cluster, labels);
    else
        tf_buf_fmt(&text, "domain %s/%s is cordoned: %s; to unblock: `fedctl uncordon domain %s/%s`",
                   info->cluster, with->domain, reason, info->cluster, with->domain);
    return tf_strdup(tf_buf_text(&text));
}

/* What keeps work from GPUs that nobody has, as far as the node shows it: its state, a cordon, or that
 * nothing else is left beside them. */
static char *why_idle(const struct tf_node_info *info, bool kept)
{
    struct tf_vector left = left_on(info);
    char cpu[TF_QUANTITY_TEXT], memory[TF_QUANTITY_TEXT];
    if (info->cordon.whole)
        return tf_asprintf("the node is cordoned: %s; to unblock: `fedctl uncordon node %s/%s`",
                           info->cordon.reason ? info->cordon.reason : "no reason given", info->cluster,
                           info->node.name);
    if (info->cordon.domains.count)
        return why_cordoned_with(info, &info->cordon.domains.items[0]);
    if (info->node.state != TF_NODE_READY)
        return tf_asprintf("the node is %s", tf_node_state_name(info->node.state));
    if (kept)
        return tf_strdup("kept for a job that is to start, for a move or by a reservation (`fedctl get "
                         "reservations -A`, `get migrations`)");
    if (left.slots == 0)
        return tf_strdup("no slot for another instance is left on the node");
    if (left.cpu == 0 || left.memory == 0)
        return tf_asprintf("no %s is left on the node", left.cpu == 0 ? "core" : "memory");
    return tf_asprintf("%s CPU, %s memory and %d slots are left beside them", tf_cpu_format(left.cpu, cpu),
                       tf_memory_format(left.memory, memory), left.slots);
}

static void add_held(const struct tf_node_info *info, struct parts *parts)
{
    uint64_t known = 0;
    tf_vec_each (i, &info->instances) {
        add(parts, i->gpus, "held", i, tf_strdup(tf_member_state_name(i->state)));
        known |= i->gpus;
    }
    uint64_t others = info->held_gpus & ~known & ~info->node.foreign.gpus;
    if (others)
        add(parts, others, "held", NULL, tf_strdup("by instances that are being stopped or judged"));
}

static uint64_t add_cordoned(const struct tf_node_info *info, struct parts *parts)
{
    uint64_t all = 0;
    tf_vec_each (g, &info->cordon.gpus) {
        uint64_t idle = g->gpus & ~info->held_gpus;
        const char *reason = g->reason ? g->reason : "no reason given";
        if (idle)
            add(parts, idle, g->suspect ? "suspect" : "cordoned", NULL,
                g->suspect ? tf_asprintf("by %s: %s", tf_gpu_source_name(g->source), reason)
                           : tf_strdup(reason));
        all |= idle;
    }
    return all;
}

static void list_parts(const struct tf_node_info *info, struct parts *parts)
{
    const struct tf_node *node = &info->node;
    add_held(info, parts);
    uint64_t cordoned = add_cordoned(info, parts), told = info->held_gpus | cordoned;
    uint64_t bad = node->bad_gpus & ~told;
    uint64_t foreign = node->foreign.gpus & ~told & ~bad, idle = tf_gpu_set_all(node->capacity.gpus);
    if (bad & ~node->suspect_gpus)
        add(parts, bad & ~node->suspect_gpus, "bad", NULL, tf_strdup("the engine says so"));
    if (bad & node->suspect_gpus)
        add(parts, bad & node->suspect_gpus, "suspect", NULL, tf_strdup("the engine says so"));
    if (foreign)
        add(parts, foreign, "foreign", NULL, tf_strdup("used by what is not tidefed's"));
    idle &= ~told & ~bad & ~foreign;
    if (idle & info->free_gpus)
        add(parts, idle & info->free_gpus, "free", NULL, why_idle(info, false));
    if (idle & ~info->free_gpus) /* of a ready node: claimed */
        add(parts, idle & ~info->free_gpus, "idle", NULL, why_idle(info, true));
}

static void parts_release(struct parts *parts)
{
    tf_vec_each (part, parts)
        free(part->text);
    tf_vec_release(parts);
}

static int32_t gpus_in(const struct parts *parts, const char *state)
{
    int32_t count = 0;
    tf_vec_each (part, parts)
        count += strcmp(part->state, state) == 0 ? tf_gpu_set_count(part->gpus) : 0;
    return count;
}

static char *answer(const struct tf_node_info *info, const struct parts *parts)
{
    static const char *const states[] = {"held", "free", "idle", "cordoned", "bad", "suspect", "foreign"};
    const struct tf_node *node = &info->node;
    TF_AUTO_BUF text = TF_BUF_INIT;
    tf_buf_fmt(&text, "%s/%s is %s%s", info->cluster, node->name, tf_node_state_name(node->state),
               tf_cordon_closes(&info->cordon) && node->state != TF_NODE_CORDONED ? " and cordoned" : "");
    if (node->capacity.gpus == 0)
        tf_buf_fmt(&text, " and has no GPUs; %zu instances are on it", info->instances.count);
    else
        tf_buf_fmt(&text, ": of its %d %s GPUs", node->capacity.gpus, node->model ? node->model : "unnamed");
    const char *and = " ";
    for (size_t i = 0; i < TF_ARRAY_LEN(states); i++) {
        int32_t count = gpus_in(parts, states[i]);
        if (!count)
            continue;
        tf_buf_fmt(&text, "%s%d %s %s", and, count, count == 1 ? "is" : "are", states[i]);
        and = ", ";
    }
    return tf_buf_take(&text);
}

/* What its idle GPUs are good for; NULL if it has none. Owned by the caller. */
static char *idle_line(const struct tf_idle_causes *idle)
{
    const struct {
        int32_t gpus;
        const char *text;
    } causes[] = {
        {idle->deliverable, "deliverable (what is asked for could use them)"},
        {idle->count, "count (too few on this node for any shape that is asked for)"},
        {idle->cpu_memory, "cpu_memory (too little of that is left beside them)"},
        {idle->topology, "topology (they do not make a whole job in one domain)"},
        {idle->policy, "policy (no shape that is asked for may use them, or they are kept for a job)"},
        {idle->step, "step (they make no whole core or step)"},
        {idle->health, "health (bad, cordoned, or the node is not ready)"},
    };
    TF_AUTO_BUF text = TF_BUF_INIT;
    for (size_t i = 0; i < TF_ARRAY_LEN(causes); i++)
        if (causes[i].gpus)
            tf_buf_fmt(&text, "%s%d %s", text.len ? ", " : "idle GPUs by cause: ", causes[i].gpus,
                       causes[i].text);
    return text.len ? tf_buf_take(&text) : NULL;
}

/* ---- documents and the screen ---- */

static void print_document(struct fedctl *ctl, const struct tf_node_info *info, const struct parts *parts,
                           char *line)
{
    struct tf_arena *arena = tf_arena_create();
    struct node_doc doc = {.cluster = info->cluster,
                           .node = info->node.name,
                           .state = view_word(tf_node_state_name(info->node.state)),
                           .model = info->node.model,
                           .answer = line,
                           .gpus = info->node.capacity.gpus,
                           .free = tf_gpu_set_count(info->free_gpus),
                           .idle = info->idle};
    doc.parts.items = tf_arena_alloc(arena, parts->count + 1, sizeof *doc.parts.items);
    doc.parts.count = parts->count;
    for (size_t i = 0; i < parts->count; i++) {
        const struct part *part = &parts->items[i];
        char job[2 * TF_NAME_MAX + 2] = "";
        if (part->held)
            snprintf(job, sizeof job, "%s/%s", part->held->tenant, part->held->name);
        doc.parts.items[i] = (struct part_doc){.gpus = view_gpus(part->gpus, arena),
                                               .state = view_word(part->state),
                                               .job = part->held ? tf_arena_strdup(arena, job) : NULL,
                                               .epoch = part->held ? (int64_t)part->held->epoch : TF_UNSET,
                                               .index = part->held ? (int32_t)part->held->index : TF_UNSET,
                                               .text = part->text};
    }
    explain_print(ctl, &node_table, &doc);
    tf_arena_destroy(arena);
}

static const struct column columns[] = {
    {"GPUS", 0}, {"STATE", 0}, {"INSTANCE", 0}, {"EPOCH", COLUMN_RIGHT}, {"TEXT", 0}};

static void add_cells(const struct part *part, struct columns *out)
{
    char gpus[TF_GPU_SET_TEXT];
    columns_add(out, part->gpus ? tf_gpu_set_format(part->gpus, gpus) : "");
    columns_add_styled(out, strcmp(part->state, "free") == 0 ? CELL_GOOD : CELL_PLAIN, part->state);
    if (part->held) {
        columns_add_fmt(out, "%s/%s/%u", part->held->tenant, part->held->name, part->held->index);
        columns_add_fmt(out, "%llu", (unsigned long long)part->held->epoch);
    } else {
        columns_add(out, "");
        columns_add(out, "");
    }
    columns_add(out, part->text);
}

static void print_people(struct fedctl *ctl, const struct tf_node_info *info, const struct parts *parts,
                         const char *line)
{
    TF_AUTO_BUF text = TF_BUF_INIT;
    TF_AUTO_FREE char *idle = idle_line(&info->idle);
    struct columns table;
    columns_init(&table, columns, TF_ARRAY_LEN(columns));
    columns_text(&text, line, 0);
    tf_buf_char(&text, '\n');
    if (idle)
        tf_buf_fmt(&text, "%s\n", idle);
    tf_vec_each (part, parts)
        add_cells(part, &table);
    explain_table(ctl, &table, &text);
    out_buf(&ctl->out, &text);
}

/* Of the instances on it. */
static void print_names(struct fedctl *ctl, const struct parts *parts)
{
    TF_AUTO_BUF text = TF_BUF_INIT;
    tf_vec_each (part, parts)
        if (part->held)
            tf_buf_fmt(&text, "%s/%s/%u\n", part->held->tenant, part->held->name, part->held->index);
    out_buf(&ctl->out, &text);
}

static void explain_one(void *arg, const struct tf_node_info *info)
{
    struct fedctl *ctl = arg;
    struct parts parts = {0};
    list_parts(info, &parts);
    TF_AUTO_FREE char *line = answer(info, &parts);
    if (ctl->options.output == OUTPUT_JSON || ctl->options.output == OUTPUT_YAML)
        print_document(ctl, info, &parts, line);
    else if (ctl->options.output == OUTPUT_NAME)
        print_names(ctl, &parts);
    else
        print_people(ctl, info, &parts, line);
    parts_release(&parts);
}

int explain_node(struct fedctl *ctl, const char *word)
{
    char *cluster = NULL, *node = NULL;
    struct tf_error err = TF_ERROR_INIT;
    if (target_node(ctl, word, &cluster, &node, NULL, &err))
        return fedctl_usage(ctl, "%s", err.text);
    free(node);
    free(ctl->options.cluster); /* that one alone is asked */
    ctl->options.cluster = cluster;
    return fetch_each_node(ctl, explain_one, ctl);
}
