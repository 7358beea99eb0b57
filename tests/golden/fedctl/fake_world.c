/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/golden/fedctl/fake_world.h"

#include "common/base/alloc.h"
#include "common/base/cleanup.h"
#include "common/base/text.h"

#include <stdarg.h>

static struct tf_wall before(struct tf_wall now, int64_t seconds)
{
    return (struct tf_wall){now.ms - seconds * 1000};
}

struct row {
    const char *tenant, *name, *priority, *team;
    enum tf_workload workload;
    struct tf_elastic elastic;
    int32_t gpus;
    enum tf_phase phase;
    uint32_t conditions;
    enum tf_reason reason;
    const char *reason_text, *cluster, *model, *message, *output;
    int32_t size, ready;
    int64_t age; /* seconds since the submit, between two steps of what is shown */
    int32_t exit_code, restarts, evictions;
};

static const struct row rows[WORLD_JOBS] = {
    {"data",
     "refresh",
     "offline",
     "corpus",
     TF_WORKLOAD_OFFLINE,
     {2, 6, 2},
     2,
     TF_PHASE_RUNNING,
     TF_CONDITION_SHORT | TF_CONDITION_REPAIRING,
     TF_REASON_NONE,
     NULL,
     "gz-b",
     "A100",
     NULL,
     NULL,
     4,
     3,
     11550,
     0,
     1,
     3},
    {"llm",
     "pretrain",
     "train",
     NULL,
     TF_WORKLOAD_TRAINING,
     {4, 4, 4},
     8,
     TF_PHASE_SUCCEEDED,
     0,
     TF_REASON_NONE,
     NULL,
     "bj-a",
     "H800",
     "all instances ended with code 0",
     NULL,
     0,
     0,
     97200 + 1800,
     0,
     0,
     0},
    {"ops",
     "parked",
     "batch",
     NULL,
     TF_WORKLOAD_OFFLINE,
     {1, 1, 1},
     1,
     TF_PHASE_HELD,
     0,
     TF_REASON_HELD,
     "held until it is resumed",
     NULL,
     NULL,
     NULL,
     NULL,
     0,
     0,
     390600,
     0,
     0,
     0},
    {"rec",
     "flaky",
     "batch",
     "rec",
     TF_WORKLOAD_OFFLINE,
     {1, 1, 1},
     1,
     TF_PHASE_FAILED,
     0,
     TF_REASON_NONE,
     NULL,
     "us-c",
     "L40",
     "instance 0 ended with code 3, and 3 of 3 retries are used",
     "attempt 4\nTraceback: \x1b[31mno such file\n",
     0,
     0,
     8250,
     3,
     3,
     0},
    {"rec",
     "soon",
     "batch",
     "rec",
     TF_WORKLOAD_OFFLINE,
     {2, 2, 2},
     1,
     TF_PHASE_STARTING,
     0,
     TF_REASON_NONE,
     NULL,
     "us-c",
     "L40",
     NULL,
     NULL,
     2,
     0,
     1290,
     0,
     0,
     0},
    {"rec",
     "wants-b300",
     "batch",
     "rec",
     TF_WORKLOAD_OFFLINE,
     {2, 2, 2},
     8,
     TF_PHASE_PENDING,
     0,
     TF_REASON_NO_SUCH_MODEL,
     "no cluster has B300",
     NULL,
     NULL,
     NULL,
     NULL,
     0,
     0,
     1350,
     0,
     0,
     0},
    {"web",
     "hello",
     "online",
     "中文队",
     TF_WORKLOAD_INFERENCE,
     {2, 2, 2},
     1,
     TF_PHASE_RUNNING,
     0,
     TF_REASON_NONE,
     NULL,
     "us-c",
     "L40",
     NULL,
     NULL,
     2,
     2,
     5430,
     0,
     0,
     0},
};

int world_find(const char *tenant, const char *name)
{
    for (size_t i = 0; i < WORLD_JOBS; i++)
        if (tf_str_eq(tenant, rows[i].tenant) && tf_str_eq(name, rows[i].name))
            return (int)i;
    return -1;
}

static void manifest(const struct row *row, struct tf_job_manifest *out)
{
    tf_job_manifest_init(out);
    tf_str_set(&out->tenant, row->tenant);
    tf_str_set(&out->name, row->name);
    if (row->team)
        tf_pairs_set(&out->labels, "team", row->team);
    tf_str_set(&out->spec.priority, row->priority);
    out->spec.workload = row->workload;
    out->spec.elastic = row->elastic;
    out->spec.group.shape.gpus = row->gpus;
    out->spec.group.shape.cpu = 1500;
    out->spec.group.shape.memory = 2048;
    tf_strs_add(&out->spec.group.command, "run");
    tf_strs_add(&out->spec.group.command, "--name=x: y");
    tf_job_spec_fill(&out->spec);
}

static void member(const struct row *row, int32_t index, struct tf_wall now, struct tf_member *out)
{
    *out = (struct tf_member){
        .index = (uint32_t)index,
        .attempt = (uint32_t)row->restarts + 1,
        .node = tf_asprintf("n%d", index + 1),
        .gpus = tf_gpu_set_all(row->gpus) << (index * row->gpus % 8),
        .state = index < row->ready ? TF_MEMBER_READY : TF_MEMBER_STARTING,
        .started = before(now, row->age - 60),
    };
    if (index < row->ready)
        out->ready = before(now, row->age - 120);
    if (row->workload == TF_WORKLOAD_INFERENCE) {
        TF_AUTO_FREE char *port = tf_asprintf("http=%d", 31000 + index);
        tf_strs_add(&out->ports, port);
    }
}

static void event(struct tf_job_view *job, struct tf_wall at, uint64_t epoch, const char *type,
                  const char *fmt, ...) __attribute__((format(printf, 5, 6)));

static void event(struct tf_job_view *job, struct tf_wall at, uint64_t epoch, const char *type,
                  const char *fmt, ...)
{
    char text[200];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    tf_vec_push(&job->events, (struct tf_job_event){at, epoch, tf_strdup(type), tf_strdup(text), 0});
}

static void details(const struct row *row, struct tf_wall now, struct tf_job_view *job)
{
    for (int32_t i = 0; i < row->size; i++)
        member(row, i, now, tf_vec_add(&job->members));
    event(job, job->submitted, 0, "Submitted", "%s of class %s", job->manifest.name, row->priority);
    if (row->cluster)
        event(job, job->placed, job->epoch, "Placed", "%d instances in %s, in free capacity",
              row->elastic.min, row->cluster);
    job->events_dropped = row->restarts ? 17 : 0;
    if (!row->evictions)
        return;
    event(job, before(now, 900), 99, "Evicted",
          "in bj-a: core(offline) gave way to web/hello (online): 52800 GPU-seconds lost");
    event(
        job, before(now, 720), job->epoch, "Resized",
        "in gz-b, from 6 to 4 instances: surplus(offline) gave way to llm/pretrain (train): 4800 GPU-seconds "
        "lost");
}

void world_job(size_t i, bool full, struct tf_wall now, struct tf_job_view *job)
{
    const struct row *row = &rows[i];
    *job = (struct tf_job_view){
        .phase = row->phase,
        .conditions = row->conditions,
        .reason = row->reason,
        .reason_text = tf_strdup(row->reason_text),
        .held = row->phase == TF_PHASE_HELD,
        .version = 3,
        .cluster = tf_strdup(row->cluster),
        .epoch = row->cluster ? 100 + i : 0,
        .model = tf_strdup(row->model),
        .size = row->size,
        .ready = row->ready,
        .submitted = before(now, row->age),
        .changed = before(now, row->age - 180),
        .restarts = row->restarts,
        .evictions = row->evictions,
        .lost_gpu_seconds = 20000 * row->evictions,
        .retries_used = row->restarts,
        .exit_code = row->exit_code,
        .message = tf_strdup(row->message),
        .output = tf_strdup(row->output),
    };
    memset(job->uid.bytes, 0x10 + (int)i, sizeof job->uid.bytes);
    manifest(row, &job->manifest);
    if (row->cluster)
        job->placed = before(now, row->age - 2);
    if (row->cluster && row->phase != TF_PHASE_STARTING)
        job->started = before(now, row->age - 60);
    if (tf_phase_is_final(row->phase))
        job->finished = before(now, row->age - 180);
    if (tf_phase_is_final(row->phase))
        job->last_size = row->elastic.max;
    if (full)
        details(row, now, job);
}

void world_reserve(struct tf_job_view *job)
{
    bool used = job->phase == TF_PHASE_SUCCEEDED;
    struct tf_reserve *reserve = &job->manifest.spec.reserve;
    reserve->expires = TF_HOUR;
    reserve->owner.tenant = tf_strdup(job->manifest.tenant);
    reserve->owner.selector = tf_strdup(used ? NULL : "team=rec");
    job->phase = used ? job->phase : TF_PHASE_DELETED;
    tf_str_set(&job->message, used ? "used up, the last of it by llm/train" : "Expired: its time is over");
    tf_str_set(&job->output, NULL);
}

/* ---- explain ---- */

static void explain_row(struct tf_explain_reply *reply, const char *cluster, enum tf_reason reason,
                        int32_t has, struct tf_wall until, const char *text, const char *unblock)
{
    tf_vec_push(&reply->rows, (struct tf_explain_row){
                                  .cluster = tf_strdup(cluster),
                                  .reason = reason,
                                  .has = has,
                                  .asked = 2,
                                  .missing = 2 - has,
                                  .until = until,
                                  .text = tf_strdup(text),
                                  .unblock = tf_strdup(unblock),
                              });
}

void world_explain(size_t i, struct tf_wall now, struct tf_explain_reply *reply)
{
    world_job(i, false, now, &reply->job);
    if (rows[i].phase != TF_PHASE_PENDING) {
        reply->answer =
            tf_asprintf("%s/%s is %s", rows[i].tenant, rows[i].name, tf_phase_name(rows[i].phase));
        if (strcmp(rows[i].name, "hello") == 0) { /* it runs where nodes are drained */
            tf_str_set(&reply->job.cluster, "dr-e");
            for (int32_t k = 0; k < 3; k++)
                tf_vec_push(&reply->job.members, (struct tf_member){.index = (uint32_t)k,
                                                                    .node = tf_strdup(k < 2 ? "l0" : "l2"),
                                                                    .state = TF_MEMBER_READY});
        }
        return;
    }
    reply->answer =
        tf_strdup("waits: no cluster has 2 instances of 8 B300 (NO_SUCH_MODEL in 2 of 4 clusters)");
    explain_row(reply, "bj-a", TF_REASON_NO_SUCH_MODEL, 0, (struct tf_wall){0}, "has H800; asked: B300",
                "a node with B300");
    explain_row(reply, "gz-b", TF_REASON_REFUSED, 0, before(now, -1290),
                "the engine refused the last placement", NULL);
    *tf_vec_add(&reply->rows.items[1].more) =
        (struct tf_blocker){.reason = TF_REASON_NOT_CONSIDERED_YET, .text = tf_strdup("no profile yet")};
    explain_row(reply, "sh-d", TF_REASON_CLUSTER_LOST, 0, (struct tf_wall){0}, "no contact", NULL);
    explain_row(reply, "us-c", TF_REASON_NONE, 2, (struct tf_wall){0}, NULL, NULL);
    tf_strs_add(&reply->decisions,
                "[   120.000] job rec/wants-b300 needs 2x8 B300 core(batch): bj-a NO_SUCH_MODEL");
    reply->clock_ms = 130000;
    reply->now = now;
    tf_strs_add(&reply->decisions, "[   121.000] job rec/wants-b300 waits");
}

/* ---- plans ---- */

static struct tf_plan_row *plan_row(struct tf_plan_reply *reply, const char *cluster, enum tf_reason reason,
                                    int32_t free, int32_t has, const char *text)
{
    struct tf_plan_row *row = tf_vec_add(&reply->rows);
    *row = (struct tf_plan_row){.cluster = tf_strdup(cluster),
                                .reason = reason,
                                .free = free,
                                .has = has,
                                .asked = 2,
                                .text = tf_strdup(text),
                                .age_ms = 4200};
    return row;
}

static void fits_at(struct tf_plan_row *row, const char *level)
{
    row->level = tf_strdup(level);
    row->size = 2;
    row->model = tf_strdup("H800");
}

static void victim(struct tf_plan_reply *reply, const char *name, bool whole, int32_t instances, int64_t lost)
{
    struct tf_plan_row *row = &reply->rows.items[0];
    *tf_vec_add(&reply->plan.victims) =
        (struct tf_plan_victim){.tenant = tf_strdup("data"),
                                .name = tf_strdup(name),
                                .whole = whole,
                                .instances = instances,
                                .size = 6,
                                .level = tf_strdup(whole ? "core(offline)" : "surplus(offline)"),
                                .lost_gpu_seconds = lost};
    reply->plan.jobs = ++row->jobs;
    reply->plan.lost_gpu_seconds = row->lost_gpu_seconds += lost;
}

static void plan_with_victims(struct tf_plan_reply *reply)
{
    struct tf_plan_row *row = plan_row(reply, "gz-b", TF_REASON_NONE, 0, 3, NULL);
    fits_at(row, "core(offline)");
    row->answered = true;
    row->wait = reply->plan.wait = 30000;
    reply->plan.size = 2;
    victim(reply, "refresh", false, 2, 4800);
    victim(reply, "crawl", true, 6, 57600);
    *tf_vec_add(&reply->plan.nodes) = (struct tf_plan_node){tf_strdup("a0"), 0xff, 1};
    *tf_vec_add(&reply->plan.nodes) = (struct tf_plan_node){tf_strdup("a1"), 0xff, 1};
    fits_at(plan_row(reply, "bj-a", TF_REASON_NONE, 1, 2, NULL), "core(batch)");
    reply->answer = tf_strdup("would start in gz-b with 2 instances on H800 within 30 s: 2 jobs give way");
}

static void plan_without(struct tf_plan_reply *reply, bool answered)
{
    struct tf_plan_row *row = plan_row(reply, "gz-b", TF_REASON_NONE, 5, 5, NULL);
    fits_at(row, "free");
    row->answered = answered;
    if (answered)
        *tf_vec_add(&reply->plan.nodes) = (struct tf_plan_node){tf_strdup("a0"), 0xff, 2};
    reply->answer = tf_strdup("would start in gz-b with 2 instances on H800 in free capacity");
}

void world_plan(const char *name, struct tf_wall now, struct tf_plan_reply *reply)
{
    bool waits = strcmp(name, "waits") == 0;
    reply->now = now;
    if (waits)
        reply->answer = tf_strdup("rec/waits waits (PROTECTED): nearest is gz-b");
    else if (strcmp(name, "victims") == 0)
        plan_with_victims(reply);
    else
        plan_without(reply, strcmp(name, "unsaid") != 0);
    if (waits)
        plan_row(reply, "gz-b", TF_REASON_PROTECTED, 0, 1, "1 of 2 fit")->until = before(now, -600);
    else
        reply->cluster = tf_strdup("gz-b");
    plan_row(reply, "us-c", TF_REASON_NO_SUCH_MODEL, 0, 0, "needs 2 x 8 GPUs of H800; it has L40");
}

/* ---- what would be freed ---- */

static void defrag_move(struct tf_defrag_plan *plan, const char *name, uint32_t index, int32_t gpus,
                        const char *from, const char *to, uint32_t wave)
{
    tf_vec_push(&plan->moves, (struct tf_defrag_move){.tenant = tf_strdup("web"),
                                                      .name = tf_strdup(name),
                                                      .uid = {{1}},
                                                      .index = index,
                                                      .gpus = gpus,
                                                      .from = tf_strdup(from),
                                                      .to = tf_strdup(to),
                                                      .wave = wave});
}

void world_defrag(const struct tf_defrag_request *request, struct tf_defrag_plan *plan)
{
    if (request->order.model && strcmp(request->order.model, "A100") == 0) {
        plan->text = tf_asprintf("%s has no GPUs of model A100", request->cluster);
        return;
    }
    *plan = (struct tf_defrag_plan){
        .digest = 0xabc, .model = tf_strdup("H800"), .nodes = 3, .best = 1, .sites_locked = 2};
    tf_vec_push(&plan->locks, (struct tf_defrag_lock){tf_strdup("migration: never"), 3});
    tf_vec_push(&plan->buckets, (struct tf_defrag_bucket){2, 2, 0});
    tf_vec_push(&plan->buckets, (struct tf_defrag_bucket){4, 1, 1});
    if (request->order.nodes.count)
        return; /* nothing of that can be freed */
    plan->freed = 1;
    plan->moves_bound = 2;
    plan->gpus = plan->gpus_bound = 6;
    plan->double_booked = 4;
    plan->waves = 2;
    if (request->order.worst)
        plan->note =
            tf_strdup("moves are frozen in bj-a (`fedctl freeze --list`): make a new plan when they are not");
    defrag_move(plan, "j3", 0, 2, "n1", "n2", 0);
    defrag_move(plan, "j1", 0, 4, "n0", "n1", 1);
    tf_vec_push(&plan->sites, (struct tf_defrag_site){tf_strdup("n0"), 1, 1});
    plan->buckets.items[1].after = 0;
    tf_vec_push(&plan->buckets, (struct tf_defrag_bucket){0, 0, 2});
    tf_vec_push(&plan->buckets, (struct tf_defrag_bucket){8, 0, 1});
}

static void defrag_step(struct tf_migration *chain, const char *name, uint64_t gpus, const char *from,
                        const char *to, enum tf_move_state state)
{
    tf_vec_push(&chain->moves, (struct tf_move){.uid = {{1}},
                                                .tenant = tf_strdup("web"),
                                                .name = tf_strdup(name),
                                                .epoch = 7,
                                                .from = tf_strdup(from),
                                                .claim = {.node = tf_strdup(to), .gpus = gpus},
                                                .state = state});
}

void world_defrag_chain(struct tf_uid id, size_t looks, bool stops, bool aborted, struct tf_chain_info *info)
{
    static const enum tf_move_state first[] = {TF_MOVE_RESERVED, TF_MOVE_STARTING, TF_MOVE_DONE,
                                               TF_MOVE_DONE},
                                    second[] = {TF_MOVE_RESERVED, TF_MOVE_RESERVED, TF_MOVE_READY,
                                                TF_MOVE_DONE};
    struct tf_migration *chain = &info->chain;
    size_t at = stops || looks > 3 ? 3 : looks; /* of one that takes long each look shows the same */
    info->cluster = tf_strdup("bj-a");
    *chain = (struct tf_migration){.id = id, .cause = TF_MOVE_BY_DEFRAG, .created = {1796000000000}};
    defrag_step(chain, "j3", 3, "n1", "n2", first[at]);
    defrag_step(chain, "j1", 15, "n0", "n1",
                aborted ? TF_MOVE_ROLLED_BACK
                : stops ? TF_MOVE_RESERVED
                        : second[at]);
    if (aborted)
        chain->moves.items[1].why = tf_strdup("aborted: its time was over (--stop-after)");
    if (aborted || (at == 3 && !stops))
        chain->ended.ms = chain->created.ms + 42000;
}

static void two_moves(struct tf_wall now, struct tf_migrate_reply *reply)
{
    struct tf_chain_info *info = tf_vec_add(&reply->chains);
    struct tf_migration *chain = &info->chain;
    info->cluster = tf_strdup("us-c");
    *chain = (struct tf_migration){.id = {{0x5e, 0xed}},
                                   .cause = TF_MOVE_BY_DRAIN,
                                   .owner = tf_strdup("l0"),
                                   .reason = tf_strdup("fan"),
                                   .created = {now.ms - 200500}};
    defrag_step(chain, "hello", 1, "l0", "l1", TF_MOVE_DONE);
    defrag_step(chain, "hello", 0, "l0", NULL, TF_MOVE_ROLLED_BACK);
    chain->moves.items[1].index = 1;
    chain->moves.items[1].why = tf_strdup("there was no place for it in time");
    chain->ended.ms = now.ms - 100500;
    struct tf_move *done = &chain->moves.items[0];
    done->reserved.ms = done->started.ms = now.ms - 190500;
    done->ready.ms = done->switched.ms = done->stopping.ms = now.ms - 120500;
    done->ended.ms = chain->moves.items[1].ended.ms = chain->ended.ms;
}

void world_drain_moves(struct tf_wall now, struct tf_migrate_reply *reply)
{
    static const enum tf_move_state states[] = {TF_MOVE_ROLLED_BACK, TF_MOVE_STARTING};
    for (size_t i = 0; i < TF_ARRAY_LEN(states); i++) {
        struct tf_chain_info *info = tf_vec_add(&reply->chains);
        info->cluster = tf_strdup("dr-e");
        info->chain = (struct tf_migration){.id = {{0xd0, (uint8_t)i}},
                                            .cause = TF_MOVE_BY_DRAIN,
                                            .owner = tf_strdup("l0"),
                                            .created = before(now, 200)};
        defrag_step(&info->chain, "refresh", 7, "l0", "m4", states[i]);
        tf_str_set(&info->chain.moves.items[0].tenant, "data");
    }
}

void world_moves(struct tf_wall now, struct tf_migrate_reply *reply)
{
    const struct tf_job_move goes = {.uid = {{0xab, 1}},
                                     .tenant = tf_strdup("web"),
                                     .name = tf_strdup("hello"),
                                     .move = {.state = TF_CROSS_STARTING,
                                              .from = tf_strdup("us-c"),
                                              .to = tf_strdup("gz-b"),
                                              .old_epoch = 104,
                                              .new_epoch = 108,
                                              .since = {now.ms - 40500},
                                              .deadline = {now.ms + 320000},
                                              .reason = tf_strdup("power works"),
                                              .user = tf_strdup("ann")}};
    const struct tf_job_move back = {.uid = {{0xab, 2}},
                                     .tenant = tf_strdup("data"),
                                     .name = tf_strdup("refresh"),
                                     .move = {.state = TF_CROSS_ROLLED_BACK,
                                              .cause = TF_CROSS_BY_ABORT,
                                              .from = tf_strdup("bj-a"),
                                              .to = tf_strdup("us-c"),
                                              .old_epoch = 100,
                                              .since = {now.ms - 400500},
                                              .ended = {now.ms - 300500},
                                              .why = tf_strdup("aborted by bob")}};
    two_moves(now, reply);
    tf_vec_push(&reply->jobs, back);
    tf_vec_push(&reply->jobs, goes);
}

/* ---- clusters and nodes ---- */

static struct tf_cluster_info *cluster(struct tf_clusters_reply *reply, const char *name, const char *region,
                                       int32_t nodes, int32_t gpus, int32_t held, struct tf_wall now)
{
    struct tf_cluster_info *info = tf_vec_add(&reply->clusters);
    *info = (struct tf_cluster_info){
        .name = tf_strdup(name),
        .region = tf_strdup(region),
        .attached = true,
        .registered = before(now, 864000 + 3600),
        .contact = before(now, 1),
        .highest_epoch = 106,
        .placements = held ? 2 : 0,
        .version = tf_strdup("0.1.0"),
        .engine = tf_strdup("process"),
        .generation = {.owner = 7, .counter = 12},
        .health = {.nodes = nodes,
                   .ready = nodes,
                   .gpus = nodes * gpus,
                   .held_gpus = held,
                   .free_gpus = nodes * gpus - held},
        .idle = {.deliverable = nodes * gpus - held},
    };
    return info;
}

static void cluster_event(struct tf_cluster_info *info, struct tf_wall at, const char *type, const char *text)
{
    const struct tf_job_event event = {.at = at, .type = tf_strdup(type), .text = tf_strdup(text)};
    tf_vec_push(&info->events, event);
}

static void cluster_events(struct tf_wall now, struct tf_clusters_reply *reply)
{
    tf_vec_each (info, &reply->clusters)
        cluster_event(info, info->registered, "Registered", "engine process");
    struct tf_cluster_info *gz = &reply->clusters.items[1], *sh = &reply->clusters.items[2];
    cluster_event(gz, before(now, 7290), "Cordoned", "switch firmware");
    cluster_event(sh, before(now, 11550), "Lost",
                  "its stream has been away for 30 s; what runs there goes on");
    sh->events_dropped = 3;
}

void world_clusters(bool events, struct tf_wall now, struct tf_clusters_reply *reply)
{
    cluster(reply, "bj-a", "north", 4, 8, 0, now);
    struct tf_cluster_info *gz = cluster(reply, "gz-b", "south", 4, 6, 8, now);
    gz->health.ready = 3;
    gz->health.unreachable = 1;
    gz->cordoned = true;
    gz->cordon_reason = tf_strdup("switch firmware");
    tf_pairs_set(&gz->labels, "site", "gz");
    gz->brakes = TF_FROZEN_GROWTH;
    tf_vec_push(&reply->freezes, (struct tf_freeze){.what = TF_FROZEN_GROWTH,
                                                    .cluster = tf_strdup("gz-b"),
                                                    .since = before(now, 3600),
                                                    .until = before(now, -7230),
                                                    .reason = tf_strdup("release of search"),
                                                    .user = tf_strdup("ada")});
    struct tf_cluster_info *sh = cluster(reply, "sh-d", "east", 2, 8, 0, now);
    sh->attached = false;
    sh->lost = true;
    sh->contact = before(now, 11550);
    struct tf_cluster_info *us = cluster(reply, "us-c", "west", 4, 4, 4, now);
    us->store_trouble = tf_strdup("http://127.0.0.1:2379: Connection refused");
    us->store_trouble_since = before(now, 330);
    if (events)
        cluster_events(now, reply);
}

static void node(struct tf_nodes_reply *reply, const char *in, const char *name, const char *model,
                 int32_t gpus, uint64_t held)
{
    struct tf_node_info *info = tf_vec_add(&reply->nodes);
    *info = (struct tf_node_info){
        .cluster = tf_strdup(in),
        .engine = tf_strdup("process"),
        .node = {.name = tf_strdup(name),
                 .address = tf_strdup("10.0.0.1"),
                 .model = tf_strdup(model),
                 .gpu_memory = 80 * 1024,
                 .capacity = {.gpus = gpus, .slots = 64, .cpu = 128000, .memory = 1024 * 1024},
                 .state = TF_NODE_READY},
        .free_gpus = tf_gpu_set_all(gpus) & ~held,
        .held_gpus = held,
        .used = {.gpus = tf_gpu_set_count(held),
                 .slots = held ? 1 : 0,
                 .cpu = held ? 1500 : 0,
                 .memory = held ? 2048 : 0},
        .idle = {.deliverable = held ? 0 : gpus, .count = held ? gpus - tf_gpu_set_count(held) : 0},
    };
    tf_strs_add(&info->node.domains, "rdma-0");
    tf_pairs_set(&info->node.labels, "disk", "nvme");
    if (held)
        tf_vec_push(&info->instances, (struct tf_node_instance){.tenant = tf_strdup("data"),
                                                                .name = tf_strdup("refresh"),
                                                                .uid = {{0x10}},
                                                                .epoch = 100,
                                                                .gpus = held,
                                                                .state = TF_MEMBER_READY});
}

static void cordon(struct tf_node_info *info, uint64_t gpus, const char *reason, struct tf_wall now)
{
    tf_cordon_set(&info->cordon, gpus, reason, before(now, 11550));
    info->node.bad_gpus |= gpus;
    if (gpus == 0)
        info->node.state = TF_NODE_CORDONED;
    info->free_gpus &= gpus ? ~gpus : 0;
    info->idle = (struct tf_idle_causes){
        .health = tf_gpu_set_count(tf_gpu_set_all(info->node.capacity.gpus) & ~info->held_gpus)};
}

static void suspect(struct tf_node_info *info, struct tf_wall now)
{
    tf_cordon_suspect(&info->cordon, 4, TF_GPU_BY_STARTS,
                      "3 starts in a row failed there, of jobs that run elsewhere; the latest: data/refresh: "
                      "instance 1 on a1 exited with code 3",
                      before(now, 300));
    info->node.bad_gpus |= 4;
    info->node.suspect_gpus |= 4;
    info->free_gpus &= ~UINT64_C(4);
}

static void drained(struct tf_nodes_reply *reply, const char *name, const char *with, uint64_t held,
                    struct tf_wall since)
{
    node(reply, "dr-e", name, "H800", 8, held);
    struct tf_node_info *info = &reply->nodes.items[reply->nodes.count - 1];
    struct tf_drain terms = {.on = true, .max_at_once = with ? 2 : 0};
    if (!with)
        terms.deadline.ms = since.ms + 6 * TF_HOUR;
    tf_cordon_drain(&info->cordon, &terms, with, with ? "power works" : "fan", since);
    info->node.state = TF_NODE_DRAINING;
}

/* A cluster is drained; one node of it and one rack were drained again, by later orders. */
static void drained_nodes(struct tf_wall now, struct tf_nodes_reply *reply)
{
    size_t first = reply->nodes.count;
    drained(reply, "l0", TF_ALL_DOMAINS, 7, before(now, 11550));
    drained(reply, "l1", TF_ALL_DOMAINS, 0, before(now, 11550));
    drained(reply, "l2", NULL, 1, before(now, 5430));
    drained(reply, "l3", "rdma-1", 0, before(now, 1230));
    drained(reply, "l4", TF_BY_LABELS "disk=sata", 0, before(now, 1230));
    tf_str_set(&reply->nodes.items[first + 3].node.domains.items[0], "rdma-1");
    tf_pairs_set(&reply->nodes.items[first + 4].node.labels, "disk", "sata");
}

void world_nodes(const char *in, struct tf_wall now, struct tf_nodes_reply *reply)
{
    if (!in || strcmp(in, "bj-a") == 0) {
        node(reply, "bj-a", "n1", "H800", 8, 0);
        node(reply, "bj-a", "n2", "H800", 8, 0);
        reply->nodes.items[0].node.bad_gpus = 8;
        reply->nodes.items[0].free_gpus &= ~UINT64_C(8);
        reply->nodes.items[1].node.state = TF_NODE_UNREACHABLE;
        reply->nodes.items[0].idle = (struct tf_idle_causes){.deliverable = 4, .cpu_memory = 3, .health = 1};
        reply->nodes.items[1].idle = (struct tf_idle_causes){.health = 8};
        tf_cordon_join(&reply->nodes.items[1].cordon,
                       &(struct tf_domain_cordon){(char[]){"pod-3"}, (char[]){"optics"}, before(now, 60)});
    }
    if (!in || strcmp(in, "gz-b") == 0) {
        node(reply, "gz-b", "a1", "A100", 4, 3);
        node(reply, "gz-b", "a2", "A100", 4, 3);
        node(reply, "gz-b", "cpu-1", NULL, 0, 0);
        size_t a2 = reply->nodes.count - 2;
        cordon(&reply->nodes.items[a2], 0, "fan, INC-4711", now);
        cordon(&reply->nodes.items[a2], 6, "XID 79", now);
        cordon(&reply->nodes.items[a2], 8, NULL, now);
        suspect(&reply->nodes.items[a2 - 1], now);
    }
    if (in && strcmp(in, "us-c") == 0)
        tf_strs_add(&reply->missing, "us-c");
    if (in && strcmp(in, "dr-e") == 0)
        drained_nodes(now, reply);
}

/* ---- configuration ---- */

void world_config(const char *key, struct tf_get_config_reply *reply)
{
    static const struct tf_config_value values[] = {
        {"listen", "127.0.0.1:7700", TF_CONFIG_OPTION, false, false, "address and port"},
        {"advertise", NULL, TF_CONFIG_DEFAULT, false, false, "address that others are sent to"},
        {"settings.classes.batch", "300", TF_CONFIG_RELOAD, true, false, NULL},
        {"settings.classes.online", "900", TF_CONFIG_FILE, true, false, NULL},
        {"settings.claimAfter", "30m", TF_CONFIG_DEFAULT, true, true, "how long it waits"},
    };
    size_t len = key ? strlen(key) : 0;
    for (size_t i = 0; i < TF_ARRAY_LEN(values); i++) {
        struct tf_config_value value = values[i];
        if (key && (strncmp(value.key, key, len) != 0 || (value.key[len] && value.key[len] != '.')))
            continue;
        value.key = tf_strdup(value.key);
        value.value = tf_strdup(value.value);
        value.meaning = tf_strdup(value.meaning);
        tf_vec_push(&reply->values, value);
    }
    reply->leads = true;
}

void world_config_diff(size_t len, struct tf_diff_config_reply *reply)
{
    reply->leads = true;
    if (len == 0)
        return;
    tf_vec_push(&reply->changes, (struct tf_config_change){.key = tf_strdup("settings.classes.batch"),
                                                           .running = tf_strdup("300"),
                                                           .file = tf_strdup("400")});
    tf_vec_push(
        &reply->changes,
        (struct tf_config_change){.key = tf_strdup("advertise"), .file = tf_strdup("f:7"), .restart = true});
}
