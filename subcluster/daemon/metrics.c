/* SPDX-License-Identifier: Apache-2.0 */
/* What subclusterd shows of itself (common/monitor): its figures for Prometheus, and whether it is ready.
 * Looks only. */
#include "subcluster/daemon/metrics.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "subcluster/daemon/private.h"

enum {
    ACTIVE,
    ATTACHED,
    LISTED,
    TERM_ERA,
    TERM_REVISION,
    NODES,
    GPUS,
    IDLE,
    ALLOCATIONS,
    INSTANCES,
    MOVES,
    MOVES_OVER,
    ENGINE_CALLS,
    INSTANCE_ENDS,
    ENGINE_REFUSALS,
    ENGINE_TROUBLE,
};

const struct tf_metric subd_metrics[] = {
    [ACTIVE] = {"tidefed_active",
                TF_METRIC_GAUGE,
                TF_UNIT_ONE,
                {NULL},
                NULL,
                "1 while this subclusterd is the active one of its name; 0: it stands by"},
    [ATTACHED] =
        {"tidefed_attached",
         TF_METRIC_GAUGE,
         TF_UNIT_ONE,
         {NULL},
         NULL,
         "1 while its stream to the federation's leader is open; 0 on an active one: work runs on, alone"},
    [LISTED] = {"tidefed_engine_listed",
                TF_METRIC_GAUGE,
                TF_UNIT_ONE,
                {NULL},
                NULL,
                "1 when the engine has told of everything it knows; nothing is judged before"},
    [TERM_ERA] = {"tidefed_owner_era",
                  TF_METRIC_GAUGE,
                  TF_UNIT_ONE,
                  {NULL},
                  NULL,
                  "era of its term as owner of the local prefix; of an active one, as the rest"},
    [TERM_REVISION] = {"tidefed_owner_revision",
                       TF_METRIC_GAUGE,
                       TF_UNIT_ONE,
                       {NULL},
                       NULL,
                       "revision of that term: changes with each take-over"},
    [NODES] = {"tidefed_nodes", TF_METRIC_GAUGE, TF_UNIT_ONE, {"state"}, NULL, "nodes by state"},
    [GPUS] = {"tidefed_gpus",
              TF_METRIC_GAUGE,
              TF_UNIT_ONE,
              {"model", "state"},
              NULL,
              "GPUs by model and state: `held` by instances of ours, `foreign`, `suspect`, `bad`, `free`, "
              "`unavailable` "
              "(on a node "
              "that is not ready), `stray` (held by an instance that no record wants)"},
    [IDLE] = {"tidefed_idle_gpus",
              TF_METRIC_GAUGE,
              TF_UNIT_ONE,
              {"cause"},
              NULL,
              "idle GPUs, each under the one cause why it is not in use; `deliverable` is what waiting work "
              "could take"},
    [ALLOCATIONS] = {"tidefed_allocations",
                     TF_METRIC_GAUGE,
                     TF_UNIT_ONE,
                     {"phase"},
                     NULL,
                     "jobs placed here, by phase; `ended` ones wait until the leader has stored their end"},
    [INSTANCES] = {"tidefed_instances",
                   TF_METRIC_GAUGE,
                   TF_UNIT_ONE,
                   {"state"},
                   NULL,
                   "instances by state, as recorded"},
    [MOVES] = {"tidefed_moves",
               TF_METRIC_GAUGE,
               TF_UNIT_ONE,
               {"cause", "state"},
               NULL,
               "moves of instances by who wants them: `waiting` for a place or for their turn, `running`"},
    [MOVES_OVER] = {"tidefed_moves_total",
                    TF_METRIC_COUNTER,
                    TF_UNIT_ONE,
                    {"cause", "outcome"},
                    NULL,
                    "moves that are over since it became active, by who wanted them: `done`, `rolled_back`"},
    [ENGINE_CALLS] =
        {"tidefed_engine_calls_total", TF_METRIC_COUNTER, TF_UNIT_ONE, {"call"}, NULL, "calls to the engine"},
    [INSTANCE_ENDS] =
        {"tidefed_instance_ends_total",
         TF_METRIC_COUNTER,
         TF_UNIT_ONE,
         {"cause"},
         NULL,
         "instances that the engine reported as ended, by cause; those found at a start are counted too"},
    [ENGINE_REFUSALS] = {"tidefed_engine_refusals_total",
                         TF_METRIC_COUNTER,
                         TF_UNIT_ONE,
                         {NULL},
                         NULL,
                         "starts that the engine refused"},
    [ENGINE_TROUBLE] = {"tidefed_engine_troubles_total",
                        TF_METRIC_COUNTER,
                        TF_UNIT_ONE,
                        {NULL},
                        NULL,
                        "troubles that the engine told of: each is an error in the log"},
};
const size_t subd_metric_count = TF_ARRAY_LEN(subd_metrics);

static const char *const call_names[] = {
    [SUB_ACT_START] = "start", [SUB_ACT_STOP] = "stop",   [SUB_ACT_FORGET] = "forget",
    [SUB_ACT_PEERS] = "peers", [SUB_ACT_FENCE] = "fence",
};

struct metrics {
    struct tf_monitor *monitor;
    uint64_t calls[SUB_ACT_FENCE + 1];
    uint64_t ends[TF_CAUSE_REBOOTED + 1];
    uint64_t refusals, troubles;
};

/* ---- what is counted as it happens ---- */

void subd_metrics_call(struct subd *subd, enum sub_action_kind kind)
{
    if (subd->metrics)
        subd->metrics->calls[kind]++;
}

void subd_metrics_engine(struct subd *subd, const struct tf_engine_event *event)
{
    struct metrics *metrics = subd->metrics;
    if (!metrics)
        return;
    if (event->type == TF_ENGINE_TROUBLE)
        metrics->troubles++;
    else if (event->type == TF_ENGINE_INSTANCE && event->state == TF_INSTANCE_REFUSED)
        metrics->refusals++;
    else if (event->type == TF_ENGINE_INSTANCE && event->state == TF_INSTANCE_EXITED)
        metrics->ends[event->cause]++;
}

/* ---- nodes and GPUs ---- */

enum gpu_state { HELD, FOREIGN, SUSPECT, BAD, FREE, UNAVAILABLE, STRAY, GPU_STATES };
static const char *const gpu_state_names[] = {"held", "foreign",     "suspect", "bad",
                                              "free", "unavailable", "stray"};

struct model_gpus {
    const char *model; /* borrowed */
    int64_t gpus[GPU_STATES];
};
struct fleet {
    int64_t nodes[TF_NODE_DRAINING + 1];
    TF_VEC(struct model_gpus) models;
};

static struct model_gpus *model_of(struct fleet *fleet, const char *model)
{
    tf_vec_each (row, &fleet->models)
        if (tf_str_eq(row->model, model))
            return row;
    struct model_gpus *row = tf_vec_add(&fleet->models);
    row->model = model;
    return row;
}

static void count_gpus(struct fleet *fleet, const struct sub_node_view *view)
{
    const struct tf_node *node = view->node;
    uint64_t left = tf_gpu_set_all(node->capacity.gpus);
    const struct {
        enum gpu_state state;
        uint64_t set;
    } parts[] = {
        {HELD, view->held_gpus},
        {FOREIGN, node->foreign.gpus},
        {SUSPECT, node->suspect_gpus},
        {BAD, node->bad_gpus},
        {node->state == TF_NODE_READY ? FREE : UNAVAILABLE, view->free_gpus},
        {STRAY, UINT64_MAX},
    };
    if (!node->model)
        return;
    struct model_gpus *row = model_of(fleet, node->model);
    for (size_t i = 0; i < TF_ARRAY_LEN(parts); i++) {
        row->gpus[parts[i].state] += tf_gpu_set_count(left & parts[i].set);
        left &= ~parts[i].set;
    }
}

static void collect_nodes(const struct subd *subd, struct tf_metrics *out)
{
    struct fleet fleet = {0};
    for (size_t i = 0; i < sub_node_count(subd->sub); i++) {
        struct sub_node_view view = sub_node_at(subd->sub, i);
        fleet.nodes[view.node->state]++;
        count_gpus(&fleet, &view);
    }
    for (int state = TF_NODE_READY; state <= TF_NODE_DRAINING; state++)
        tf_metrics_add(out, &subd_metrics[NODES], TF_LABELS(tf_node_state_name((enum tf_node_state)state)),
                       fleet.nodes[state]);
    tf_vec_each (row, &fleet.models)
        for (int state = 0; state < GPU_STATES; state++)
            tf_metrics_add(out, &subd_metrics[GPUS], TF_LABELS(row->model, gpu_state_names[state]),
                           row->gpus[state]);
    tf_vec_release(&fleet.models);
}

static void collect_idle(const struct subd *subd, struct tf_metrics *out)
{
    struct tf_idle_causes idle;
    sub_idle(subd->sub, &idle);
    const struct {
        const char *cause;
        int32_t gpus;
    } causes[] = {
        {"deliverable", idle.deliverable}, {"count", idle.count},   {"cpu_memory", idle.cpu_memory},
        {"topology", idle.topology},       {"policy", idle.policy}, {"step", idle.step},
        {"health", idle.health},
    };
    for (size_t i = 0; i < TF_ARRAY_LEN(causes); i++)
        tf_metrics_add(out, &subd_metrics[IDLE], TF_LABELS(causes[i].cause), causes[i].gpus);
}

/* ---- records ---- */

static void collect_records(const struct subd *subd, struct tf_metrics *out)
{
    static const char *const phases[] = {
        [TF_ALLOCATION_IDLE] = "ended",        [TF_ALLOCATION_STARTING] = "starting",
        [TF_ALLOCATION_RUNNING] = "running",   [TF_ALLOCATION_ENDING] = "ending",
        [TF_ALLOCATION_CLAIMING] = "claiming", [TF_ALLOCATION_RESERVED] = "reserved"};
    int64_t allocations[TF_ARRAY_LEN(phases)] = {0}, members[TF_MEMBER_MISSING + 1] = {0};
    const struct tf_allocation *a = sub_allocation_next(subd->sub, NULL);
    for (; a; a = sub_allocation_next(subd->sub, &a->uid)) {
        allocations[a->phase]++;
        tf_vec_each (m, &a->members)
            members[m->state]++;
    }
    for (size_t i = 0; i < TF_ARRAY_LEN(phases); i++)
        tf_metrics_add(out, &subd_metrics[ALLOCATIONS], TF_LABELS(phases[i]), allocations[i]);
    for (int state = TF_MEMBER_PLANNED; state <= TF_MEMBER_MISSING; state++)
        tf_metrics_add(out, &subd_metrics[INSTANCES],
                       TF_LABELS(tf_member_state_name((enum tf_member_state)state)), members[state]);
}

/* ---- pages ---- */

/* One metric at a time: its samples stand together. */
static void add_moves(struct tf_metrics *out, int metric, const char *one, const uint64_t *ones,
                      const char *other, const uint64_t *others)
{
    for (int cause = TF_MOVE_BY_OPERATOR; cause <= TF_MOVE_BY_DEFRAG; cause++) {
        const char *name = tf_move_cause_name((enum tf_move_cause)cause);
        tf_metrics_add(out, &subd_metrics[metric], TF_LABELS(name, one), (int64_t)ones[cause]);
        tf_metrics_add(out, &subd_metrics[metric], TF_LABELS(name, other), (int64_t)others[cause]);
    }
}

static void collect_moves(const struct subd *subd, struct tf_metrics *out)
{
    uint64_t waiting[TF_MOVE_BY_DEFRAG + 1] = {0}, running[TF_MOVE_BY_DEFRAG + 1] = {0};
    const struct sub_moves_over *over = sub_moves_over(subd->sub);
    const struct tf_migration *m;
    for (size_t i = 0; (m = sub_migration_at(subd->sub, i)); i++)
        tf_vec_each (move, &m->moves)
            if (!tf_move_is_over(move->state) && m->cause <= TF_MOVE_BY_DEFRAG)
                (move->state <= TF_MOVE_RESERVED ? waiting : running)[m->cause]++;
    add_moves(out, MOVES, "waiting", waiting, "running", running);
    add_moves(out, MOVES_OVER, "done", over->done, "rolled_back", over->rolled_back);
}

static void collect_counted(const struct metrics *metrics, struct tf_metrics *out)
{
    for (size_t i = 0; i < TF_ARRAY_LEN(call_names); i++)
        if (call_names[i])
            tf_metrics_add(out, &subd_metrics[ENGINE_CALLS], TF_LABELS(call_names[i]),
                           (int64_t)metrics->calls[i]);
    for (int cause = TF_CAUSE_ENDED; cause <= TF_CAUSE_REBOOTED; cause++)
        tf_metrics_add(out, &subd_metrics[INSTANCE_ENDS],
                       TF_LABELS(tf_engine_cause_name((enum tf_engine_cause)cause)),
                       (int64_t)metrics->ends[cause]);
    tf_metrics_add(out, &subd_metrics[ENGINE_REFUSALS], TF_NO_LABELS, (int64_t)metrics->refusals);
    tf_metrics_add(out, &subd_metrics[ENGINE_TROUBLE], TF_NO_LABELS, (int64_t)metrics->troubles);
}

static void collect(void *arg, struct tf_metrics *out)
{
    const struct subd *subd = arg;
    bool active = subd->sub && !subd->proving;
    struct tf_store_status status = subd_upkeep_status(subd);
    const struct tf_tally_seen seen = {.used_bytes = status.used_bytes,
                                       .quota_bytes = active ? status.quota_bytes : 0,
                                       .trouble = tf_keep_trouble(subd->keep)->code != TF_OK,
                                       .quarantined = active ? tf_keep_quarantined(subd->keep) : 0,
                                       .eventlog_stopped = tf_recorder_stopped(subd->recorder)};
    tf_metrics_add(out, &subd_metrics[ACTIVE], TF_NO_LABELS, active);
    tf_metrics_add(out, &subd_metrics[ATTACHED], TF_NO_LABELS, subd_uplink_attached(subd));
    tf_metrics_add(out, &subd_metrics[LISTED], TF_NO_LABELS, active && subd_running_listed(subd));
    tf_tally_collect(&subd->tally, &seen, out);
    collect_counted(subd->metrics, out);
    if (!active)
        return;
    tf_metrics_add(out, &subd_metrics[TERM_ERA], TF_NO_LABELS, (int64_t)subd->term.era);
    tf_metrics_add(out, &subd_metrics[TERM_REVISION], TF_NO_LABELS, (int64_t)subd->term.revision);
    collect_nodes(subd, out);
    collect_idle(subd, out);
    collect_moves(subd, out);
    collect_records(subd, out);
}

/* Away from the federation it is ready all the same: it keeps its work alive by itself. */
static bool ready(void *arg, struct tf_buf *text)
{
    const struct subd *subd = arg;
    const struct tf_error *trouble = tf_keep_trouble(subd->keep);
    if (subd->stopping)
        tf_buf_str(text, "stopping");
    else if (trouble->code != TF_OK)
        tf_buf_utf8(text, trouble->text);
    else if (!subd->sub) {
        tf_buf_str(text, "standing by");
        return true;
    } else if (subd->proving)
        tf_buf_str(text, "reading its records");
    else if (!subd_running_listed(subd))
        tf_buf_str(text, "waiting for the engine to list what runs");
    else {
        tf_buf_str(text, subd_uplink_attached(subd) ? "active, attached to the federation"
                                                    : "active, the federation is away: the work runs on");
        return true;
    }
    return false;
}

/* ---- life ---- */

int subd_metrics_start(struct subd *subd, struct tf_error *err)
{
    const struct tf_monitor_options options = {.listen = subd->config.monitor.listen,
                                               .program = "subclusterd",
                                               .tls = &subd->config.tls,
                                               .collect = collect,
                                               .ready = ready,
                                               .arg = subd};
    subd->metrics = tf_calloc(1, sizeof *subd->metrics);
    return tf_monitor_start(subd->loop, &options, &subd->metrics->monitor, err);
}

void subd_metrics_stop(struct subd *subd)
{
    if (!subd->metrics)
        return;
    tf_monitor_stop(subd->metrics->monitor);
    free(TF_STEAL(subd->metrics));
}
