/* SPDX-License-Identifier: Apache-2.0 */
/* What fedd shows of itself (common/monitor): its figures for Prometheus, and whether it is ready. Looks
 * only. */
#include "federation/daemon/metrics.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "federation/daemon/private.h"

enum {
    LEADING,
    PLACING,
    TERM_ERA,
    TERM_REVISION,
    JOBS,
    WAITING_GPUS,
    OLDEST_WAIT,
    JOB_WAIT,
    EPOCHS_ENDED,
    REFUSALS,
    MOVING,
    MOVED,
    CLUSTER_ATTACHED,
    CLUSTER_STOPPED,
    CLUSTER_LOST,
    CLUSTER_CORDONED,
    CONTACT_AGE,
    PROFILE_AGE,
    PLACEMENTS,
    NODES,
    GPUS,
    IDLE,
    BRAKES,
    CALLS,
};

static const int64_t wait_bounds[] = {1000,    5000,     15000,    60000,    300000,    900000,
                                      3600000, 14400000, 43200000, 86400000, 604800000, 0};

const struct tf_metric fedd_metrics[] = {
    [LEADING] = {"tidefed_leading",
                 TF_METRIC_GAUGE,
                 TF_UNIT_ONE,
                 {NULL},
                 NULL,
                 "1 while this fedd leads the federation: alert when the sum over all is not 1"},
    [PLACING] = {"tidefed_placing",
                 TF_METRIC_GAUGE,
                 TF_UNIT_ONE,
                 {NULL},
                 NULL,
                 "1 while it leads and places work; 0 with `tidefed_leading` 1: it reads its records, or its "
                 "store was "
                 "restored and it waits for `--accept-rollback`"},
    [TERM_ERA] = {"tidefed_term_era",
                  TF_METRIC_GAUGE,
                  TF_UNIT_ONE,
                  {NULL},
                  NULL,
                  "era of its term: grows when a restored store was accepted; of a leader"},
    [TERM_REVISION] = {"tidefed_term_revision",
                       TF_METRIC_GAUGE,
                       TF_UNIT_ONE,
                       {NULL},
                       NULL,
                       "revision of its term: changes with each election; of a leader"},
    [JOBS] =
        {"tidefed_jobs",
         TF_METRIC_GAUGE,
         TF_UNIT_ONE,
         {"phase", "class"},
         NULL,
         "jobs that the store keeps, finished ones too until they are archived; of a leader, as the rest"},
    [WAITING_GPUS] = {"tidefed_waiting_gpus",
                      TF_METRIC_GAUGE,
                      TF_UNIT_ONE,
                      {"class"},
                      NULL,
                      "GPUs that pending jobs ask for at min"},
    [OLDEST_WAIT] = {"tidefed_oldest_pending_job_seconds",
                     TF_METRIC_GAUGE,
                     TF_UNIT_MS,
                     {"class"},
                     NULL,
                     "since the submit of the pending job that was submitted first"},
    [JOB_WAIT] = {"tidefed_job_wait_seconds",
                  TF_METRIC_HISTOGRAM,
                  TF_UNIT_MS,
                  {"class"},
                  wait_bounds,
                  "from a job's submit until a subcluster took it for the first time"},
    [EPOCHS_ENDED] = {"tidefed_epochs_ended_total",
                      TF_METRIC_COUNTER,
                      TF_UNIT_ONE,
                      {"end"},
                      NULL,
                      "placements that ended, by how: `finished`, `failed`, `lost`, `evicted`, `released`, "
                      "`refused`, ..."},
    [REFUSALS] = {"tidefed_refusals_total",
                  TF_METRIC_COUNTER,
                  TF_UNIT_ONE,
                  {"reason"},
                  NULL,
                  "placements that a subcluster refused, by reason"},
    [MOVING] =
        {"tidefed_job_moves",
         TF_METRIC_GAUGE,
         TF_UNIT_ONE,
         {"state"},
         NULL,
         "jobs on their way to another subcluster, by how far they are: `WITHDRAWING` and `ROLLING_BACK` "
         "are on their way back"},
    [MOVED] =
        {"tidefed_job_moves_total",
         TF_METRIC_COUNTER,
         TF_UNIT_ONE,
         {"outcome", "cause"},
         NULL,
         "such moves that are over since it became the leader, `done` or `rolled_back`, and what decided "
         "that: `none`, `abort`, `deadline`, `target_cordoned`, `target_lost`, `target_end` (refused, "
         "failed or lost there), `not_ready`, `no_room`, `source_end`, `change` of the job, `restore` of "
         "the store"},
    [CLUSTER_ATTACHED] = {"tidefed_subcluster_attached",
                          TF_METRIC_GAUGE,
                          TF_UNIT_ONE,
                          {"subcluster"},
                          NULL,
                          "1 while its stream is open"},
    [CLUSTER_STOPPED] = {"tidefed_subcluster_stopped",
                         TF_METRIC_GAUGE,
                         TF_UNIT_ONE,
                         {"subcluster"},
                         NULL,
                         "1 when its subclusterd was stopped by people and none has come since"},
    [CLUSTER_LOST] = {"tidefed_subcluster_lost",
                      TF_METRIC_GAUGE,
                      TF_UNIT_ONE,
                      {"subcluster"},
                      NULL,
                      "1 when it has been away for `clusterLostAfter` without having been stopped: nothing "
                      "new goes there"},
    [CLUSTER_CORDONED] = {"tidefed_subcluster_cordoned",
                          TF_METRIC_GAUGE,
                          TF_UNIT_ONE,
                          {"subcluster"},
                          NULL,
                          "1 while it is cordoned"},
    [CONTACT_AGE] = {"tidefed_subcluster_contact_age_seconds",
                     TF_METRIC_GAUGE,
                     TF_UNIT_MS,
                     {"subcluster"},
                     NULL,
                     "since it was last heard of"},
    [PROFILE_AGE] = {"tidefed_subcluster_profile_age_seconds",
                     TF_METRIC_GAUGE,
                     TF_UNIT_MS,
                     {"subcluster"},
                     NULL,
                     "since its last profile in this attach; profiles come only when something changes"},
    [PLACEMENTS] = {"tidefed_subcluster_placements",
                    TF_METRIC_GAUGE,
                    TF_UNIT_ONE,
                    {"subcluster"},
                    NULL,
                    "unfinished placements there"},
    [NODES] = {"tidefed_subcluster_nodes",
               TF_METRIC_GAUGE,
               TF_UNIT_ONE,
               {"subcluster", "state"},
               NULL,
               "nodes by state, by its last profile"},
    [GPUS] = {"tidefed_subcluster_gpus",
              TF_METRIC_GAUGE,
              TF_UNIT_ONE,
              {"subcluster", "state"},
              NULL,
              "GPUs by state: `held` by instances of ours, `foreign`, `free`, `bad`, `suspect`; by its last "
              "profile"},
    [BRAKES] =
        {"tidefed_brake",
         TF_METRIC_GAUGE,
         TF_UNIT_ONE,
         {"subcluster", "brake"},
         NULL,
         "1 while it keeps a subcluster from acting: `mass_down` (too many nodes silent at once: none is "
         "judged), or what people have frozen: `evictions`, `growth`, `moves`"},
    [IDLE] = {"tidefed_idle_gpus",
              TF_METRIC_GAUGE,
              TF_UNIT_ONE,
              {"subcluster", "cause"},
              NULL,
              "idle GPUs, each under the one cause why it is not in use; `deliverable` is what waiting work "
              "could take"},
    [CALLS] = {"tidefed_calls_in_progress",
               TF_METRIC_GAUGE,
               TF_UNIT_ONE,
               {NULL},
               NULL,
               "calls and streams of clients and subclusters that are open"},
};
const size_t fedd_metric_count = TF_ARRAY_LEN(fedd_metrics);

struct class_waits {
    char *class_name;
    struct tf_histogram waits;
};

struct metrics {
    struct tf_monitor *monitor;
    uint64_t ends[TF_END_UNKNOWN + 1];
    uint64_t refusals[TF_REASON_NO_CLUSTERS + 1];
    TF_VEC(struct class_waits) waits;
};

/* ---- what is counted as it happens ---- */

static struct tf_histogram *waits_of(struct metrics *metrics, const char *class_name)
{
    tf_vec_each (row, &metrics->waits)
        if (tf_str_eq(row->class_name, class_name))
            return &row->waits;
    struct class_waits *row = tf_vec_add(&metrics->waits);
    row->class_name = tf_strdup(class_name);
    return &row->waits;
}

static const struct tf_placement *find_placement(const struct tf_job_record *job, uint64_t epoch)
{
    tf_vec_each (placement, &job->placements)
        if (placement->epoch == epoch)
            return placement;
    return NULL;
}

static bool has_run_before(const struct tf_job_record *job)
{
    return job->retries_used || job->restarts || job->evictions || job->losses;
}

static void count_accepted(struct metrics *metrics, const struct tf_job_record *job,
                           const struct tf_report *report)
{
    int64_t wait = report->accepted.ms - job->submitted.ms;
    if (has_run_before(job))
        return;
    tf_histogram_add(waits_of(metrics, job->spec->priority), &fedd_metrics[JOB_WAIT], wait > 0 ? wait : 0);
}

static void count_ended(struct metrics *metrics, const struct tf_ended *ended)
{
    if (ended->end <= TF_END_UNKNOWN)
        metrics->ends[ended->end]++;
    if (ended->end == TF_END_REFUSED && ended->reason <= TF_REASON_NO_CLUSTERS)
        metrics->refusals[ended->reason]++;
}

/* Reports are repeated until they are acknowledged: the first one finds the placement as it was before. */
void metrics_report(struct fedd *fedd, const struct tf_report *report)
{
    const struct tf_job_record *job = fed_job_find_uid(fedd->fed, report->uid);
    const struct tf_placement *placement = job ? find_placement(job, report->epoch) : NULL;
    if (!placement)
        return;
    if (report->accepted.ms && !placement->accepted.ms && report->ended.end != TF_END_REFUSED)
        count_accepted(fedd->metrics, job, report);
    if (report->ended.end != TF_END_NONE && report->phase == TF_PHASE_NONE)
        count_ended(fedd->metrics, &report->ended);
}

/* ---- pages ---- */

static void collect_jobs(const struct fedd *fedd, struct tf_metrics *out)
{
    const struct census_counts *counts = census_counts(fedd);
    int64_t now = tf_loop_now(fedd->loop).wall.ms;
    tf_vec_each (row, counts)
        for (int phase = TF_PHASE_PENDING; phase <= TF_PHASE_DELETED; phase++)
            tf_metrics_add(out, &fedd_metrics[JOBS],
                           TF_LABELS(tf_phase_name((enum tf_phase)phase), row->class_name), row->jobs[phase]);
    tf_vec_each (row, counts)
        tf_metrics_add(out, &fedd_metrics[WAITING_GPUS], TF_LABELS(row->class_name), row->waiting_gpus);
    tf_vec_each (row, counts)
        if (row->oldest.ms)
            tf_metrics_add(out, &fedd_metrics[OLDEST_WAIT], TF_LABELS(row->class_name),
                           now > row->oldest.ms ? now - row->oldest.ms : 0);
}

static void collect_counted(const struct metrics *metrics, struct tf_metrics *out)
{
    tf_vec_each (row, &metrics->waits)
        tf_metrics_add_histogram(out, &fedd_metrics[JOB_WAIT], TF_LABELS(row->class_name), &row->waits);
    for (int end = TF_END_RELEASED; end <= TF_END_UNKNOWN; end++)
        tf_metrics_add(out, &fedd_metrics[EPOCHS_ENDED], TF_LABELS(tf_end_name((enum tf_end)end)),
                       (int64_t)metrics->ends[end]);
    for (int reason = TF_REASON_POLICY; reason <= TF_REASON_NO_CLUSTERS; reason++)
        if (metrics->refusals[reason])
            tf_metrics_add(out, &fedd_metrics[REFUSALS], TF_LABELS(tf_reason_name((enum tf_reason)reason)),
                           (int64_t)metrics->refusals[reason]);
}

static void collect_moves(const struct fedd *fedd, struct tf_metrics *out)
{
    int64_t by_state[TF_CROSS_DONE] = {0};
    const struct fed_moves_over *over = fed_moves_over(fedd->fed);
    const struct tf_job_record *job;
    for (size_t i = 0; (job = fed_job_moving(fedd->fed, i)); i++)
        by_state[job->cross.state]++; /* it goes on: below DONE */
    for (int state = TF_CROSS_STARTING; state < TF_CROSS_DONE; state++)
        tf_metrics_add(out, &fedd_metrics[MOVING], TF_LABELS(tf_cross_state_name((enum tf_cross_state)state)),
                       by_state[state]);
    for (int i = 0; i < TF_CROSS_CAUSES; i++) {
        const char *cause = tf_cross_cause_name((enum tf_cross_cause)i);
        bool nothing = i == TF_CROSS_BY_NOTHING, may_be_done = nothing || i == TF_CROSS_BY_SOURCE_END;
        if (may_be_done || over->done[i])
            tf_metrics_add(out, &fedd_metrics[MOVED], TF_LABELS("done", cause), (int64_t)over->done[i]);
        if (!nothing || over->rolled_back[i])
            tf_metrics_add(out, &fedd_metrics[MOVED], TF_LABELS("rolled_back", cause),
                           (int64_t)over->rolled_back[i]);
    }
}

/* One figure of every subcluster after the other, since the samples of a row stay together. */
typedef int64_t (*figure_f)(const struct fedd *fedd, const struct fed_cluster_view *cluster); /* < 0: none */

static int64_t is_attached(const struct fedd *fedd, const struct fed_cluster_view *cluster)
{
    (void)fedd;
    return cluster->attached;
}

static int64_t is_stopped(const struct fedd *fedd, const struct fed_cluster_view *cluster)
{
    (void)fedd;
    return cluster->stopped;
}

static int64_t is_lost(const struct fedd *fedd, const struct fed_cluster_view *cluster)
{
    (void)fedd;
    return cluster->lost && !cluster->stopped;
}

static int64_t is_cordoned(const struct fedd *fedd, const struct fed_cluster_view *cluster)
{
    (void)fedd;
    return cluster->record->cordoned;
}

static int64_t contact_age(const struct fedd *fedd, const struct fed_cluster_view *cluster)
{
    int64_t age = tf_loop_now(fedd->loop).wall.ms - cluster->contact.ms;
    if (cluster->contact.ms == 0)
        return -1;
    return age > 0 ? age : 0;
}

static int64_t profile_age(const struct fedd *fedd, const struct fed_cluster_view *cluster)
{
    struct tf_mono at = cluster->attached ? links_profile_at(fedd, cluster->link) : TF_NEVER;
    return at.ms == TF_NEVER.ms ? -1 : tf_loop_now(fedd->loop).mono.ms - at.ms;
}

static int64_t placements(const struct fedd *fedd, const struct fed_cluster_view *cluster)
{
    (void)fedd;
    return cluster->placements;
}

static void collect_figures(const struct fedd *fedd, struct tf_metrics *out)
{
    static const struct {
        int row;
        figure_f figure;
    } figures[] = {
        {CLUSTER_ATTACHED, is_attached}, {CLUSTER_STOPPED, is_stopped}, {CLUSTER_LOST, is_lost},
        {CLUSTER_CORDONED, is_cordoned}, {CONTACT_AGE, contact_age},    {PROFILE_AGE, profile_age},
        {PLACEMENTS, placements},
    };
    for (size_t f = 0; f < TF_ARRAY_LEN(figures); f++)
        for (size_t i = 0; i < fed_cluster_count(fedd->fed); i++) {
            struct fed_cluster_view cluster = fed_cluster_at(fedd->fed, i);
            int64_t value = figures[f].figure(fedd, &cluster);
            if (value >= 0)
                tf_metrics_add(out, &fedd_metrics[figures[f].row], TF_LABELS(cluster.record->name), value);
        }
}

static void add_part(struct tf_metrics *out, int row, const char *cluster, const char *part, int64_t value)
{
    tf_metrics_add(out, &fedd_metrics[row], TF_LABELS(cluster, part), value);
}

static void collect_nodes(struct tf_metrics *out, const char *name, const struct tf_profile *profile)
{
    const struct tf_health_counts *h = &profile->health;
    add_part(out, NODES, name, "ready", h->ready);
    add_part(out, NODES, name, "unreachable", h->unreachable);
    add_part(out, NODES, name, "lost", h->lost);
    add_part(out, NODES, name, "cordoned", h->cordoned);
    add_part(out, NODES, name, "draining", h->draining);
}

static void collect_gpus(struct tf_metrics *out, const char *name, const struct tf_profile *profile)
{
    const struct tf_health_counts *h = &profile->health;
    add_part(out, GPUS, name, "held", h->held_gpus);
    add_part(out, GPUS, name, "free", h->free_gpus);
    add_part(out, GPUS, name, "foreign", h->foreign_gpus);
    add_part(out, GPUS, name, "bad", h->bad_gpus - h->suspect_gpus);
    add_part(out, GPUS, name, "suspect", h->suspect_gpus);
}

static void collect_brakes(struct tf_metrics *out, const char *name, const struct tf_profile *profile)
{
    int32_t on = profile->brakes;
    add_part(out, BRAKES, name, "mass_down", (on & TF_BRAKE_MASS_DOWN) != 0);
    add_part(out, BRAKES, name, "evictions", (on & TF_BRAKE_FROZEN_EVICTIONS) != 0);
    add_part(out, BRAKES, name, "growth", (on & TF_BRAKE_FROZEN_GROWTH) != 0);
    add_part(out, BRAKES, name, "moves", (on & TF_BRAKE_FROZEN_MOVES) != 0);
}

static void collect_idle(struct tf_metrics *out, const char *name, const struct tf_profile *profile)
{
    const struct tf_idle_causes *idle = &profile->idle;
    add_part(out, IDLE, name, "deliverable", idle->deliverable);
    add_part(out, IDLE, name, "count", idle->count);
    add_part(out, IDLE, name, "cpu_memory", idle->cpu_memory);
    add_part(out, IDLE, name, "topology", idle->topology);
    add_part(out, IDLE, name, "policy", idle->policy);
    add_part(out, IDLE, name, "step", idle->step);
    add_part(out, IDLE, name, "health", idle->health);
}

static void collect_profiles(const struct fedd *fedd, struct tf_metrics *out)
{
    static void (*const parts[])(struct tf_metrics *, const char *, const struct tf_profile *) = {
        collect_nodes, collect_gpus, collect_brakes, collect_idle};
    for (size_t p = 0; p < TF_ARRAY_LEN(parts); p++)
        for (size_t i = 0; i < fed_cluster_count(fedd->fed); i++) {
            struct fed_cluster_view cluster = fed_cluster_at(fedd->fed, i);
            if (cluster.profile)
                parts[p](out, cluster.record->name, cluster.profile);
        }
}

static void collect(void *arg, struct tf_metrics *out)
{
    const struct fedd *fedd = arg;
    bool leads = lead_is_certain(fedd);
    struct tf_store_status status = upkeep_status(fedd);
    const struct tf_tally_seen seen = {.used_bytes = status.used_bytes,
                                       .quota_bytes = leads ? status.quota_bytes : 0,
                                       .trouble = tf_keep_trouble(fedd->keep)->code != TF_OK,
                                       .quarantined = leads ? tf_keep_quarantined(fedd->keep) : 0,
                                       .eventlog_stopped = tf_recorder_stopped(fedd->recorder)};
    tf_metrics_add(out, &fedd_metrics[LEADING], TF_NO_LABELS, leads);
    tf_metrics_add(out, &fedd_metrics[PLACING], TF_NO_LABELS, leads && fed_is_open(fedd->fed));
    tf_metrics_add(out, &fedd_metrics[CALLS], TF_NO_LABELS, (int64_t)tf_server_calls(fedd->server));
    tf_tally_collect(&fedd->tally, &seen, out);
    if (!leads)
        return;
    struct tf_term term = fed_term(fedd->fed);
    tf_metrics_add(out, &fedd_metrics[TERM_ERA], TF_NO_LABELS, (int64_t)term.era);
    tf_metrics_add(out, &fedd_metrics[TERM_REVISION], TF_NO_LABELS, (int64_t)term.revision);
    collect_jobs(fedd, out);
    collect_counted(fedd->metrics, out);
    collect_moves(fedd, out);
    collect_figures(fedd, out);
    collect_profiles(fedd, out);
}

/* A standby is ready, too: it answers clients with who leads, and takes over. */
static bool ready(void *arg, struct tf_buf *text)
{
    const struct fedd *fedd = arg;
    struct tf_error why = TF_ERROR_INIT;
    struct tf_error_detail detail = {0};
    if (fedd->stopping) {
        tf_buf_str(text, "stopping");
        return false;
    }
    if (lead_is_certain(fedd) && fed_is_open(fedd->fed)) {
        tf_buf_str(text, "leading");
        return true;
    }
    if (lead_is_certain(fedd)) {
        tf_buf_str(text,
                   "leading, but nothing is placed yet: fedctl get clusters and the log of fedd say what it "
                   "waits for");
        return false;
    }
    if (!fedd->fed && fedd->leader) {
        tf_buf_fmt(text, "standing by: %s leads", fedd->leader);
        return true;
    }
    lead_refusal(fedd, &why, &detail);
    tf_error_detail_release(&detail);
    tf_buf_utf8(text, why.text);
    return false;
}

/* ---- life ---- */

int metrics_start(struct fedd *fedd, struct tf_error *err)
{
    const struct tf_monitor_options options = {.listen = fedd->config.monitor.listen,
                                               .program = "fedd",
                                               .tls = &fedd->config.tls,
                                               .collect = collect,
                                               .ready = ready,
                                               .arg = fedd};
    fedd->metrics = tf_calloc(1, sizeof *fedd->metrics);
    if (options.listen)
        census_start(fedd);
    return tf_monitor_start(fedd->loop, &options, &fedd->metrics->monitor, err);
}

void metrics_stop(struct fedd *fedd)
{
    struct metrics *metrics = fedd->metrics;
    if (!metrics)
        return;
    tf_monitor_stop(metrics->monitor);
    census_stop(fedd);
    tf_vec_each (row, &metrics->waits)
        free(row->class_name);
    tf_vec_release(&metrics->waits);
    free(metrics);
    fedd->metrics = NULL;
}
