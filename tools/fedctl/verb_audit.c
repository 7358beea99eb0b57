/* SPDX-License-Identifier: Apache-2.0 */
/* Owns audit: what must always hold (DESIGN.md §9), as far as it can be seen over the API. Clusters, nodes
 * and jobs are asked for one after the other while things go on: what is odd in one look need not be wrong,
 * what is odd in the same way in each of several looks is. */
#include "common/base/alloc.h"
#include "common/base/cleanup.h"
#include "common/base/hash.h"
#include "common/model/manifest.h"
#include "tools/fedctl/explain.h"
#include "tools/fedctl/resource.h"

#include <inttypes.h>
#include <stdarg.h>
#include <time.h>

enum {
    LOOKS = 4,           /* in which a finding must be to be a breach */
    BETWEEN_MS = 1500,   /* three times a profile's interval: what was under way has been told by then */
    EXPLAINED_MAX = 200, /* waiting jobs that are explained one by one */
    FINDING_TEXT = 800,
};

static const struct option options[] = {
    {'c', "CLUSTER", {.key = "cluster", TF_NAME(struct options, cluster), .help = "only what runs there"}},
    OPTION_OUTPUT_OBJECT,
};

/* A job of the federation, by uid. */
struct known {
    struct tf_uid uid;
    const struct tf_job_view *job; /* borrowed from a page */
    UT_hash_handle hh;
};

/* A live instance, by what names it: its number within an epoch is there once. */
struct place {
    struct place_key {
        struct tf_uid uid;
        uint64_t epoch;
        uint32_t index;
        uint32_t unused;
    } key;
    const char *node; /* borrowed */
    UT_hash_handle hh;
};

/* All there was to see, once. */
struct look {
    struct fedctl *ctl;
    struct tf_reply clusters, nodes;
    TF_VEC(struct tf_reply) pages; /* of jobs */
    struct known *jobs;
    struct place *places;
    size_t instances;
    struct tf_strs found;
};

static void look_release(struct look *look)
{
    struct known *known, *next_known;
    struct place *place, *next_place;
    HASH_ITER (hh, look->jobs, known, next_known) {
        HASH_DEL(look->jobs, known);
        free(known);
    }
    HASH_ITER (hh, look->places, place, next_place) {
        HASH_DEL(look->places, place);
        free(place);
    }
    tf_reply_release(&look->clusters);
    tf_reply_release(&look->nodes);
    tf_vec_each (page, &look->pages)
        tf_reply_release(page);
    tf_vec_release(&look->pages);
    tf_strs_release(&look->found);
}

static void find(struct look *look, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void find(struct look *look, const char *fmt, ...)
{
    char text[FINDING_TEXT];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    tf_strs_add(&look->found, text);
}

/* ---- what is asked for ---- */

static int ask_jobs(struct fedctl *ctl, struct look *look, struct tf_error *err)
{
    struct tf_request request = {.method = TF_METHOD_LIST};
    int failed;
    do {
        struct tf_reply *page = tf_vec_add(&look->pages);
        failed = fedctl_call(ctl, &request, page, err);
        free(request.list.page_token);
        request.list.page_token = failed ? NULL : tf_strdup(page->list.next_token);
    } while (request.list.page_token && *request.list.page_token);
    tf_request_release(&request);
    return failed;
}

static void know_jobs(struct look *look)
{
    tf_vec_each (page, &look->pages)
        tf_vec_each (job, &page->list.jobs) {
            struct known *known = NULL;
            HASH_FIND(hh, look->jobs, &job->uid, sizeof job->uid, known);
            if (known)
                continue; /* it was moved from page to page */
            known = tf_calloc(1, sizeof *known);
            known->uid = job->uid;
            known->job = job;
            HASH_ADD(hh, look->jobs, uid, sizeof known->uid, known);
        }
}

/* Jobs last: what runs then was known to them before. */
static int ask(struct fedctl *ctl, struct look *look, struct tf_error *err)
{
    struct tf_request clusters = {.method = TF_METHOD_LIST_CLUSTERS};
    struct tf_request nodes = {.method = TF_METHOD_LIST_NODES, .nodes.cluster = ctl->options.cluster};
    if (fedctl_call(ctl, &clusters, &look->clusters, err) || fedctl_call(ctl, &nodes, &look->nodes, err) ||
        ask_jobs(ctl, look, err))
        return -1;
    know_jobs(look);
    return 0;
}

static bool is_asked(const struct fedctl *ctl, const char *cluster)
{
    return !ctl->options.cluster || strcmp(ctl->options.cluster, cluster) == 0;
}

/* ---- nodes ---- */

static const struct tf_job_view *job_of(const struct look *look, struct tf_uid uid)
{
    struct known *known = NULL;
    HASH_FIND(hh, look->jobs, &uid, sizeof uid, known);
    return known ? known->job : NULL;
}

static bool lives(enum tf_member_state state)
{
    return state == TF_MEMBER_STARTING || state == TF_MEMBER_READY;
}

/* A member of that index comes or goes by a move, or is being replaced: until the new one has taken over
 * there are two. */
static bool is_moving(const struct look *look, const struct tf_node_instance *i)
{
    struct tf_request request = {.method = TF_METHOD_GET, .job.uid = i->uid};
    struct tf_reply reply = {0};
    bool moves = false;
    if (fedctl_call(look->ctl, &request, &reply, NULL))
        return true; /* it has gone meanwhile */
    tf_vec_each (m, &reply.job.members)
        moves |= m->index == i->index && m->role != TF_MEMBER_OF_JOB;
    tf_reply_release(&reply);
    return moves;
}

/* I2: once within its epoch. */
static void check_place(struct look *look, const struct tf_node_info *node, const struct tf_node_instance *i,
                        const struct tf_job_view *job)
{
    const struct place_key key = {.uid = i->uid, .epoch = i->epoch, .index = i->index};
    struct place *place = NULL;
    if (!lives(i->state) || job->conditions & TF_CONDITION_MOVING)
        return;
    HASH_FIND(hh, look->places, &key, sizeof key, place);
    if (place && is_moving(look, i))
        return;
    if (place) {
        find(look, "I2: instance %s/%s/%u of epoch %" PRIu64 " lives on %s and on %s of %s", i->tenant,
             i->name, i->index, i->epoch, place->node, node->node.name, node->cluster);
        return;
    }
    place = tf_calloc(1, sizeof *place);
    place->key = key;
    place->node = node->node.name;
    HASH_ADD(hh, look->places, key, sizeof place->key, place);
}

static void check_instance(struct look *look, const struct tf_node_info *node,
                           const struct tf_node_instance *i)
{
    const struct tf_job_view *job = job_of(look, i->uid);
    look->instances++;
    if (!job) {
        find(look, "I14: %s/%s/%u runs on %s/%s, and the federation has no such job", i->tenant, i->name,
             i->index, node->cluster, node->node.name);
        return;
    }
    bool moves = job->conditions & TF_CONDITION_MOVING;
    if (lives(i->state) && !moves && (i->epoch != job->epoch || strcmp(node->cluster, job->cluster) != 0))
        find(look,
             "I2: %s/%s/%u of epoch %" PRIu64
             " runs on %s/%s, and the job is placed in %s with epoch %" PRIu64,
             i->tenant, i->name, i->index, i->epoch, node->cluster, node->node.name,
             job->cluster ? job->cluster : "no cluster", job->epoch);
    check_place(look, node, i, job);
}

/* I3: one holder a GPU, and what is held adds up. */
static void check_gpus(struct look *look, const struct tf_node_info *info)
{
    const struct tf_node *node = &info->node;
    uint64_t all = tf_gpu_set_all(node->capacity.gpus), held = 0, twice = 0;
    char gpus[TF_GPU_SET_TEXT];
    tf_vec_each (i, &info->instances) {
        twice |= held & i->gpus;
        held |= i->gpus;
    }
    if (twice)
        find(look, "I3: GPUs %s of %s/%s have two holders", tf_gpu_set_format(twice, gpus), info->cluster,
             node->name);
    if (held & ~info->held_gpus)
        find(look, "I3: GPUs %s of %s/%s are held by instances, and the ledger does not say so",
             tf_gpu_set_format(held & ~info->held_gpus, gpus), info->cluster, node->name);
    uint64_t odd = (info->held_gpus & ~all) | (info->free_gpus & ~all) | (info->free_gpus & info->held_gpus) |
                   (info->free_gpus & (node->bad_gpus | node->foreign.gpus));
    if (odd)
        find(look, "I3: GPUs %s of %s/%s count as free, and are held, bad, foreign or not there",
             tf_gpu_set_format(odd, gpus), info->cluster, node->name);
    if (!tf_vector_fits(info->used, node->capacity))
        find(look, "I3: more of %s/%s is given away than it has", info->cluster, node->name);
}

/* I15: what a stray holds is neither held nor idle, so the sum is bounded from both sides. */
static void check_idle(struct look *look, const struct tf_node_info *info)
{
    uint64_t idle = tf_gpu_set_all(info->node.capacity.gpus) & ~info->node.foreign.gpus & ~info->held_gpus;
    int32_t sum = tf_idle_causes_sum(&info->idle), most = tf_gpu_set_count(idle),
            least = tf_gpu_set_count(info->free_gpus & idle);
    if (sum < least || sum > most)
        find(look, "I15: the causes of idle GPUs of %s/%s sum to %d, and %d to %d are idle", info->cluster,
             info->node.name, sum, least, most);
}

static void check_nodes(struct look *look)
{
    tf_vec_each (info, &look->nodes.nodes.nodes) {
        check_gpus(look, info);
        check_idle(look, info);
        tf_vec_each (i, &info->instances)
            check_instance(look, info, i);
    }
}

/* ---- clusters ---- */

static void check_cluster(struct look *look, const struct tf_cluster_info *cluster)
{
    int32_t idle = 0, held = 0, nodes = 0;
    tf_vec_each (info, &look->nodes.nodes.nodes) {
        if (strcmp(info->cluster, cluster->name) != 0)
            continue;
        nodes++;
        idle += tf_idle_causes_sum(&info->idle);
        held += tf_gpu_set_count(info->held_gpus);
    }
    if (!nodes || !cluster->attached || !cluster->generation.counter)
        return;
    if (held != cluster->health.held_gpus)
        find(look, "I3: %s tells of %d held GPUs, its nodes of %d", cluster->name, cluster->health.held_gpus,
             held);
    if (idle != tf_idle_causes_sum(&cluster->idle))
        find(look, "I15: the causes of idle GPUs of %s sum to %d, those of its nodes to %d", cluster->name,
             tf_idle_causes_sum(&cluster->idle), idle);
}

/* ---- jobs ---- */

/* I4. */
static void check_size(struct look *look, const struct tf_job_view *job)
{
    const struct tf_elastic *e = &job->manifest.spec.elastic;
    bool is_short = job->conditions & (TF_CONDITION_SHORT | TF_CONDITION_UNREACHABLE);
    if (job->phase != TF_PHASE_RUNNING || tf_size_legal(e, job->size, is_short))
        return;
    find(look, "I4: %s/%s runs with %d instances, and its sizes are %d to %d by steps of %d",
         job->manifest.tenant, job->manifest.name, job->size, e->min, e->max, e->step);
}

/* I8 and I13: whoever waits has a reason everywhere. */
static void check_reasons(struct fedctl *ctl, struct look *look, const struct tf_job_view *job)
{
    struct tf_request request = {.method = TF_METHOD_EXPLAIN, .job.uid = job->uid};
    struct tf_reply reply = {0};
    if (fedctl_call(ctl, &request, &reply, NULL))
        return; /* it has gone meanwhile */
    tf_vec_each (row, &reply.explain.rows)
        if (is_asked(ctl, row->cluster) && row->reason == TF_REASON_NONE &&
            reply.explain.job.phase == TF_PHASE_PENDING && !reply.explain.job.held)
            find(look, "I8: %s/%s waits, and nothing keeps it from %s", job->manifest.tenant,
                 job->manifest.name, row->cluster);
    tf_reply_release(&reply);
}

static void check_jobs(struct fedctl *ctl, struct look *look)
{
    size_t explained = 0;
    for (const struct known *known = look->jobs; known; known = known->hh.next) {
        const struct tf_job_view *job = known->job;
        if (job->cluster && is_asked(ctl, job->cluster))
            check_size(look, job);
        if (job->phase == TF_PHASE_PENDING && !job->epoch && explained++ < EXPLAINED_MAX)
            check_reasons(ctl, look, job);
    }
}

/* ---- the verdict ---- */

static int look_at_all(struct fedctl *ctl, struct look *look, struct tf_error *err)
{
    if (ask(ctl, look, err))
        return -1;
    check_nodes(look);
    tf_vec_each (cluster, &look->clusters.clusters.clusters)
        if (is_asked(ctl, cluster->name))
            check_cluster(look, cluster);
    check_jobs(ctl, look);
    return 0;
}

/* What was found before and now. */
static void keep_both(struct tf_strs *before, const struct tf_strs *now)
{
    struct tf_strs both = {0};
    tf_vec_each (text, before)
        if (tf_strs_has(now, *text))
            tf_strs_add(&both, *text);
    tf_strs_release(before);
    *before = both;
}

static void wait_a_little(void)
{
    const struct timespec span = {BETWEEN_MS / 1000, BETWEEN_MS % 1000 * 1000000L};
    nanosleep(&span, NULL);
}

struct audit_doc {
    int64_t jobs, instances, nodes;
    struct tf_strs breaches, missing;
};
#define A struct audit_doc
static const struct tf_row audit_rows[] = {
    {.key = "apiVersion", TF_CONST(TF_API_VERSION)},
    {.key = "kind", TF_CONST("Audit")},
    {.key = "jobs", TF_INT64(A, jobs)},
    {.key = "instances", TF_INT64(A, instances)},
    {.key = "nodes", TF_INT64(A, nodes)},
    {.key = "breaches", TF_STRINGS(A, breaches), .def = ""},
    {.key = "missingClusters", TF_STRINGS(A, missing)},
};
static const struct tf_table audit_table = TF_TABLE(A, audit_rows);
#undef A

static int tell_data(struct fedctl *ctl, const struct look *look, const struct tf_strs *breaches)
{
    const struct tf_strs *missing = &look->nodes.nodes.missing;
    const struct audit_doc doc = {.jobs = HASH_COUNT(look->jobs),
                                  .instances = (int64_t)look->instances,
                                  .nodes = (int64_t)look->nodes.nodes.nodes.count,
                                  .breaches = *breaches, /* lent, like */
                                  .missing = *missing};
    explain_print(ctl, &audit_table, &doc);
    return breaches->count || missing->count ? FEDCTL_FAILED : FEDCTL_DONE;
}

static int tell(struct fedctl *ctl, const struct look *look, const struct tf_strs *breaches)
{
    if (ctl->options.output != OUTPUT_TABLE)
        return tell_data(ctl, look, breaches);
    tf_vec_each (text, breaches)
        out_fmt(&ctl->out, "%s\n", *text);
    out_fmt(&ctl->out, "%u jobs, %zu instances, %zu nodes: ", HASH_COUNT(look->jobs), look->instances,
            look->nodes.nodes.nodes.count);
    if (breaches->count)
        out_fmt(&ctl->out, "%zu breach%s\n", breaches->count, breaches->count == 1 ? "" : "es");
    else
        out_fmt(&ctl->out, "nothing that can be seen is wrong\n");
    int code = tell_missing(&look->nodes.nodes.missing, "nodes");
    return breaches->count ? FEDCTL_FAILED : code;
}

static int run(struct fedctl *ctl)
{
    struct tf_strs breaches = {0};
    int code = FEDCTL_DONE;
    if (ctl->words.count)
        return fedctl_usage(ctl, "audit takes no words, not \"%.100s\"; see --cluster", ctl->words.items[0]);
    for (int i = 0; i < LOOKS && (i == 0 || breaches.count); i++) {
        struct look look = {.ctl = ctl};
        struct tf_error err = TF_ERROR_INIT;
        if (i > 0)
            wait_a_little();
        if (look_at_all(ctl, &look, &err)) {
            look_release(&look);
            tf_strs_release(&breaches);
            return fedctl_fail(ctl, &err);
        }
        if (i == 0)
            tf_strs_copy(&breaches, &look.found);
        else
            keep_both(&breaches, &look.found);
        if (i == LOOKS - 1 || !breaches.count)
            code = tell(ctl, &look, &breaches);
        look_release(&look);
    }
    tf_strs_release(&breaches);
    return code;
}

const struct verb verb_audit = {
    .name = "audit",
    .usage = "[--cluster CLUSTER] [-o json|yaml]",
    .help = "Check what must always hold on the live system",
    .more =
        "I2: all live instances of a job have one epoch, and each index lives once. I3: each GPU has at most "
        "one "
        "holder,\n"
        "and what is held adds up. I4: every running job has a size that it can use. I8: nothing waits that "
        "fits "
        "(of at\n"
        "most 200 waiting jobs). I14: what runs has a job. I15: the causes of idle GPUs sum to all of them.\n"
        "What is odd is looked at again, four times in all, as things go on meanwhile; what stays odd is a "
        "breach: the\n"
        "exit code is 1. The rest of what must hold cannot be seen from outside: `fedsim` checks it.",
    .examples = "fedctl audit\n"
                "# From cron: tells only of what is wrong\n"
                "fedctl audit > /var/tmp/audit.txt || mail -s 'tidefed: a breach' ops < /var/tmp/audit.txt\n",
    .options = OPTION_LIST(options),
    .run = run,
};
