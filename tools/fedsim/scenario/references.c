/* SPDX-License-Identifier: Apache-2.0 */
/* Owns whether the clusters, nodes, daemons and jobs that events and expectations name are there. What comes
 * out of CSV files is not known here, so that nothing is missed in a cluster or scenario that has one. */
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "tools/fedsim/scenario/private.h"

/* Who complains, and where. */
struct search {
    const struct scenario *scenario;
    const char *path;
    struct tf_complaints *out;
};

/* ---- clusters ---- */

static const struct scenario_cluster *cluster_of(const struct search *s, const char *name)
{
    int at = scenario_cluster_find(s->scenario, name);
    if (at >= 0)
        return &s->scenario->clusters.items[at];
    TF_VEC(const char *) names = {0};
    tf_vec_each (cluster, &s->scenario->clusters)
        tf_vec_push(&names, cluster->name);
    const char *nearest = tf_nearest(name, names.items, names.count);
    tf_complaints_add(s->out, s->path, "there is no cluster %s%s%s%s", name, nearest ? "; did you mean " : "",
                      nearest ? nearest : "", nearest ? "?" : "");
    tf_vec_release(&names);
    return NULL;
}

static bool has_node(const struct scenario_cluster *cluster, const struct scenario_place *place, bool gpu)
{
    int64_t number;
    tf_vec_each (group, &cluster->nodes) {
        size_t len = strlen(group->prefix);
        if (strncmp(place->node, group->prefix, len) == 0 &&
            tf_parse_int64(place->node + len, 0, group->count - 1, &number, NULL) == 0)
            return !gpu || place->gpu < group->gpus;
    }
    return cluster->nodes_csv;
}

static void find_node(const struct search *s, const char *text, bool gpu)
{
    struct scenario_place place;
    if (scenario_place_parse(text, gpu, &place, NULL))
        return; /* told by the event's own rules */
    const struct scenario_cluster *cluster = cluster_of(s, place.cluster);
    if (cluster && !has_node(cluster, &place, gpu))
        tf_complaints_add(s->out, s->path, "cluster %s has no %s", cluster->name, text);
}

static void find_daemon(const struct search *s, const char *text)
{
    struct scenario_daemon daemon;
    if (!text || scenario_daemon_parse(text, &daemon, NULL))
        return;
    if (daemon.is_fedd) {
        if (daemon.number > s->scenario->world.fedds && !strstr(s->path, "duplicate"))
            tf_complaints_add(s->out, s->path, "there are only %d fedds", s->scenario->world.fedds);
        return;
    }
    const struct scenario_cluster *cluster = cluster_of(s, daemon.cluster);
    if (cluster && daemon.number > cluster->subclusterds)
        tf_complaints_add(s->out, s->path, "cluster %s has only %d subclusterds", cluster->name,
                          cluster->subclusterds);
}

/* ---- jobs ---- */

static bool gives_job(const struct scenario_job *job, const char *text)
{
    if (job->from.csv)
        return true;
    TF_AUTO_FREE char *template = tf_asprintf("%s/%s", job->tenant, job->name);
    return scenario_template_gives(template, scenario_times_count(&job->at), text);
}

static void find_job(const struct search *s, const char *text)
{
    if (!text)
        return;
    tf_vec_each (job, &s->scenario->jobs)
        if (gives_job(job, text))
            return;
    tf_vec_each (tide, &s->scenario->tides)
        if (gives_job(&tide->job, text))
            return;
    tf_complaints_add(s->out, s->path, "there is no job %s: write TENANT/NAME of one of them", text);
}

/* ---- who names what ---- */

static void check_event(const struct scenario *scenario, const struct scenario_event *e, const char *path,
                        struct tf_complaints *out)
{
    const struct search s = {scenario, path, out};
    const char *const jobs[] = {e->submit,  e->delete_job, e->hold,   e->resume,
                                e->restart, e->scale,      e->migrate};
    const char *const clusters[] = {e->cluster, e->store_of, e->repeat, e->late, e->defrag};
    const char *const daemons[] = {e->crash, e->pause, e->hand_over, e->reload, e->store_away, e->fedd};
    for (size_t i = 0; i < TF_ARRAY_LEN(jobs); i++)
        find_job(&s, jobs[i]);
    for (size_t i = 0; i < TF_ARRAY_LEN(clusters); i++)
        if (clusters[i])
            cluster_of(&s, clusters[i]);
    for (size_t i = 0; i < TF_ARRAY_LEN(daemons); i++)
        find_daemon(&s, daemons[i]);
    tf_vec_each (node, &e->node)
        find_node(&s, *node, false);
    for (size_t i = 0; i < e->nodes.count && !e->defrag; i++)
        find_node(&s, e->nodes.items[i], false);
    if (e->gpu)
        find_node(&s, e->gpu, true);
}

static void check_expect(const struct scenario *scenario, const struct scenario_expect *e, const char *path,
                         struct tf_complaints *out)
{
    const struct search s = {scenario, path, out};
    const struct scenario_claim *claim = scenario_claim_of(e);
    find_job(&s, claim->job);
    if (claim->cluster)
        cluster_of(&s, claim->cluster);
    if (claim->reason.cluster)
        cluster_of(&s, claim->reason.cluster);
    if (claim->node)
        find_node(&s, claim->node, false);
}

void scenario_check_references(const struct scenario *scenario, struct tf_complaints *out)
{
    char path[40];
    for (size_t i = 0; i < scenario->events.count; i++) {
        snprintf(path, sizeof path, "events[%zu]", i);
        check_event(scenario, &scenario->events.items[i], path, out);
    }
    for (size_t i = 0; i < scenario->faults.count; i++) {
        snprintf(path, sizeof path, "faults[%zu]", i);
        check_event(scenario, &scenario->faults.items[i], path, out);
    }
    for (size_t i = 0; i < scenario->jobs.count; i++) {
        snprintf(path, sizeof path, "jobs[%zu].on", i);
        const struct search s = {scenario, path, out};
        tf_vec_each (node, &scenario->jobs.items[i].on)
            find_node(&s, *node, false);
    }
    for (size_t i = 0; i < scenario->expect.count; i++) {
        snprintf(path, sizeof path, "expect[%zu]", i);
        check_expect(scenario, &scenario->expect.items[i], path, out);
    }
}
