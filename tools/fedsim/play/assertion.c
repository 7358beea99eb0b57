/* SPDX-License-Identifier: Apache-2.0 */
/* Owns whether what an expectation says is so, by the truth of the world. Only for why a job waits is
 * the leader asked: that is its word to give. */
#include "common/base/cleanup.h"
#include "common/base/quantity.h"
#include "tools/fedsim/play/private.h"

#include <inttypes.h>

static bool differs(struct tf_buf *why, const char *what, int64_t is, const char *than, int64_t expected)
{
    tf_buf_fmt(why, "%s%s is %" PRId64 ", expected %s%" PRId64, why->len ? ", " : "", what, is, than,
               expected);
    return false;
}

static bool is_exactly(struct tf_buf *why, const char *what, int64_t is, int64_t expected)
{
    return expected < 0 || is == expected || differs(why, what, is, "", expected);
}

static bool is_at_least(struct tf_buf *why, const char *what, int64_t is, int64_t expected)
{
    return expected < 0 || is >= expected || differs(why, what, is, "at least ", expected);
}

static bool is_at_most(struct tf_buf *why, const char *what, int64_t is, int64_t expected)
{
    return expected < 0 || is <= expected || differs(why, what, is, "at most ", expected);
}

/* ---- jobs ---- */

static bool reason_is(struct play *play, const struct scenario_assertion *a, const struct sim_job *job,
                      struct tf_buf *why)
{
    struct sim_fedd *leader = world_leader(&play->world);
    struct fed_explanation found = {0};
    enum tf_reason reason = TF_REASON_NONE;
    if (!a->reason.code)
        return true;
    if (!leader || fed_explain(leader->core, job->manifest.tenant, job->manifest.name,
                               process_now(&leader->process), &found, NULL)) {
        tf_buf_fmt(why, "%s",
                   leader ? "the leader does not know the job" : "nobody leads who could say why it waits");
        return false;
    }
    tf_vec_each (row, &found.rows)
        if (strcmp(row->cluster, a->reason.cluster) == 0)
            reason = row->first.reason;
    fed_explanation_release(&found);
    if (reason == a->reason.code)
        return true;
    tf_buf_fmt(why, "%sthe reason in %s is %s, expected %s", why->len ? ", " : "", a->reason.cluster,
               tf_reason_name(reason), tf_reason_name(a->reason.code));
    return false;
}

static bool phase_is(const struct truth_job *job, enum tf_phase expected, struct tf_buf *why)
{
    enum tf_phase phase = truth_phase(job);
    if (!expected || phase == expected)
        return true;
    tf_buf_fmt(why, "the phase is %s, expected %s", tf_phase_name(phase), tf_phase_name(expected));
    return false;
}

static bool cluster_is(const struct truth_job *job, const char *expected, struct tf_buf *why)
{
    const char *cluster = job->live > 0 ? job->site->name : "none";
    if (!expected || strcmp(cluster, expected) == 0)
        return true;
    tf_buf_fmt(why, "%sthe cluster is %s, expected %s", why->len ? ", " : "", cluster, expected);
    return false;
}

static bool waits_less(const struct truth_job *job, int64_t limit, struct tf_mono as_of, struct tf_buf *why)
{
    char is[TF_QUANTITY_TEXT], than[TF_QUANTITY_TEXT];
    int64_t waiting = truth_waiting(job, as_of);
    if (limit < 0 || waiting < limit)
        return true;
    tf_buf_fmt(why, "%sit has waited for %s, expected less than %s", why->len ? ", " : "",
               tf_duration_format(waiting, is), tf_duration_format(limit, than));
    return false;
}

static bool job_holds(struct play *play, const struct scenario_assertion *a, struct tf_mono as_of,
                      struct tf_buf *why)
{
    static const struct truth_job nothing = {.waits = {INT64_MAX}};
    int64_t number = play_job_find(play, a->job);
    if (number < 0) {
        tf_buf_fmt(why, "there is no job %s", a->job);
        return false;
    }
    const struct sim_job *at = &play->world.clients.jobs.items[number];
    const struct truth_job *job = truth_job(&play->truth, at->uid);
    job = job ? job : &nothing;
    bool good = phase_is(job, a->phase, why);
    good &= is_exactly(why, "instances", job->live, a->instances);
    good &= is_at_least(why, "instances", job->live, a->instances_min);
    good &= is_at_most(why, "instances", job->live, a->instances_max);
    good &= is_at_least(why, "the number of ready instances", job->ready, a->ready_instances_min);
    good &= is_exactly(why, "evictions", report_job_evictions(play->result->report, at->uid), a->evictions);
    good &= is_exactly(why, "restarts", job->restarts, a->restarts);
    good &= is_exactly(why, "short", truth_short(job), a->is_short);
    good &= cluster_is(job, a->cluster, why);
    good &= waits_less(job, a->waiting, as_of, why);
    return good && reason_is(play, a, at, why);
}

/* ---- clusters and nodes ---- */

static const struct sim_site *site_of(const struct play *play, const char *cluster)
{
    return play->world.sites.items[scenario_cluster_find(play->scenario, cluster)];
}

static bool node_holds(struct play *play, const struct scenario_assertion *a, struct tf_buf *why)
{
    struct scenario_place place;
    if (scenario_place_parse(a->node, false, &place, NULL))
        return false;
    const struct sim_fleet *fleet = &site_of(play, place.cluster)->fleet;
    int node = fleet_node_find(fleet, place.node);
    if (node >= 0)
        return is_exactly(why, "freeGpus", truth_node_free(fleet, (size_t)node), a->free_gpus);
    tf_buf_fmt(why, "there is no node %s", a->node);
    return false;
}

static bool cluster_holds(struct play *play, const struct scenario_assertion *a, struct tf_buf *why)
{
    const struct sim_site *site = site_of(play, a->cluster);
    bool good = a->free_gpus < 0 || is_exactly(why, "freeGpus", truth_site_free(site), a->free_gpus);
    bool whole = a->whole_free_nodes < 0 ||
                 is_exactly(why, "wholeFreeNodes", truth_whole_free_nodes(site), a->whole_free_nodes);
    return good && whole;
}

/* ---- metrics ---- */

static bool metric_holds(struct play *play, const struct scenario_assertion *a, struct tf_buf *why)
{
    int64_t value;
    if (report_figure(play->result->report, a->metric, &value)) {
        tf_buf_fmt(why, "%s is not measured", a->metric);
        return false;
    }
    if ((a->min < 0 || value >= a->min) && (a->max < 0 || value <= a->max))
        return true;
    bool low = a->min >= 0 && value < a->min;
    tf_buf_fmt(why, "%s is %.6g, expected at %s %.6g", a->metric, (double)value / SCENARIO_ONE,
               low ? "least" : "most", (double)(low ? a->min : a->max) / SCENARIO_ONE);
    return false;
}

bool play_assertion_holds(struct play *play, const struct scenario_assertion *assertion, struct tf_mono as_of,
                          struct tf_buf *why)
{
    bool good;
    size_t before = why->len;
    if (assertion->job)
        good = job_holds(play, assertion, as_of, why);
    else if (assertion->node)
        good = node_holds(play, assertion, why);
    else if (assertion->cluster)
        good = cluster_holds(play, assertion, why);
    else
        good = metric_holds(play, assertion, why);
    if (good)
        why->len = before;
    return good;
}
