/* SPDX-License-Identifier: Apache-2.0 */
/* Owns whether the nodes and jobs that a scenario names are there, once its CSV files have been read: what
 * can be seen without them the scenario's own rules have seen. A name that is nowhere is an error of the
 * file, told before anything runs; an event about nothing would pass for one that did no harm. */
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "tools/fedsim/play/private.h"

/* One text that names something: what is wrong with it, or NULL. Owned by the caller. */
typedef char *wrong_f(const struct play *play, const char *text);

static char *wrong_job(const struct play *play, const char *text)
{
    if (play_job_find(play, text) >= 0)
        return NULL;
    return tf_asprintf("there is no job %s: write TENANT/NAME of one of them", text);
}

static char *no_node(const char *cluster, const char *node)
{
    return tf_asprintf("cluster %s has no node %s", cluster, node);
}

static char *wrong_place(const struct play *play, const char *text, bool gpu)
{
    struct scenario_place place;
    if (scenario_place_parse(text, gpu, &place, NULL))
        return NULL;
    const struct sim_site *site =
        play->world.sites.items[scenario_cluster_find(play->scenario, place.cluster)];
    int at = fleet_node_find(&site->fleet, place.node);
    if (at < 0)
        return no_node(site->name, place.node);
    int32_t gpus = site->fleet.nodes.items[at].node.capacity.gpus;
    if (gpu && place.gpu >= gpus)
        return tf_asprintf("node %s/%s has %d GPUs, and the first is 0", site->name, place.node, gpus);
    return NULL;
}

static char *wrong_node(const struct play *play, const char *text)
{
    return wrong_place(play, text, false);
}

static char *wrong_gpu(const struct play *play, const char *text)
{
    return wrong_place(play, text, true);
}

/* Where a job moves to: a cluster, a node of one, or a node of that name wherever the job runs. */
static char *wrong_target(const struct play *play, const char *text)
{
    struct scenario_place place;
    tf_vec_each (site, &play->world.sites)
        if (tf_str_eq((*site)->name, text))
            return NULL;
    if (strchr(text, '/'))
        return wrong_node(play, text);
    if (scenario_place_parse(text, false, &place, NULL))
        return NULL;
    tf_vec_each (site, &play->world.sites)
        if (fleet_node_find(&(*site)->fleet, place.node) >= 0)
            return NULL;
    return tf_asprintf("there is neither a cluster nor a node %s", text);
}

/* ---- who names what ---- */

struct name {
    const char *key, *text;
    wrong_f *wrong;
};

static int check_names(struct play *play, const char *path, const struct name *names, size_t count,
                       struct tf_error *err)
{
    for (size_t i = 0; i < count; i++) {
        TF_AUTO_FREE char *why = names[i].text ? names[i].wrong(play, names[i].text) : NULL;
        if (!why)
            continue;
        tf_error_set(err, TF_ERR_INVALID, "%s", why);
        return play_wrong(play, tf_asprintf("%s.%s", path, names[i].key));
    }
    return 0;
}

static int check_nodes(struct play *play, const char *path, const char *key, const struct tf_strs *nodes,
                       struct tf_error *err)
{
    tf_vec_each (node, nodes)
        if (check_names(play, path, &(struct name){key, *node, wrong_node}, 1, err))
            return -1;
    return 0;
}

/* The most instances that the job ever may have, when nothing in the file changes that. */
static int check_instance(struct play *play, const struct scenario_event *e, const char *path,
                          struct tf_error *err)
{
    int64_t job = e->migrate && e->instance >= 0 ? play_job_find(play, e->migrate) : -1;
    tf_vec_each (other, &play->scenario->events)
        if (job >= 0 && tf_str_eq(other->scale, e->migrate))
            job = -1;
    if (job < 0 || play->origins.items[job].tide)
        return 0;
    int32_t most = play->world.clients.jobs.items[job].manifest.spec.elastic.max;
    if (e->instance < most)
        return 0;
    tf_error_set(err, TF_ERR_INVALID, "%s has at most %d instances, and the first is 0", e->migrate, most);
    return play_wrong(play, tf_asprintf("%s.instance", path));
}

/* A drain of what no node is in, or ever will be, would drain nothing. */
static int check_drain(struct play *play, const struct scenario_event *e, const char *path,
                       struct tf_error *err)
{
    if (!e->drain || (!e->domain && !e->labels))
        return 0;
    TF_AUTO_FREE char *labels = e->labels ? tf_asprintf(TF_BY_LABELS "%s", e->labels) : NULL;
    const struct sim_site *site = play->world.sites.items[scenario_cluster_find(play->scenario, e->drain)];
    tf_vec_each (at, &site->fleet.nodes)
        if (tf_node_is_in(&at->node, labels ? labels : e->domain))
            return 0;
    tf_error_set(err, TF_ERR_INVALID, "cluster %s has no node %s %s", site->name,
                 labels ? "with the labels" : "in domain", labels ? e->labels : e->domain);
    return play_wrong(play, tf_asprintf("%s.%s", path, labels ? "labels" : "domain"));
}

/* Of nodes that are known to be there. */
static int check_foreign(struct play *play, const struct scenario_event *e, const struct tf_strs *nodes,
                         const char *path, struct tf_error *err)
{
    uint64_t gpus = 0;
    struct scenario_place place;
    if (!e->foreign || scenario_gpus_parse(e->foreign, &gpus, NULL))
        return 0;
    tf_vec_each (node, nodes) {
        if (scenario_place_parse(*node, false, &place, NULL))
            continue;
        const struct sim_fleet *fleet =
            &play->world.sites.items[scenario_cluster_find(play->scenario, place.cluster)]->fleet;
        int32_t count = fleet->nodes.items[fleet_node_find(fleet, place.node)].node.capacity.gpus;
        if (!(gpus & ~tf_gpu_set_all(count)))
            continue;
        tf_error_set(err, TF_ERR_INVALID, "node %s has %d GPUs, and the first is 0", *node, count);
        return play_wrong(play, tf_asprintf("%s.foreign", path));
    }
    return 0;
}

static int check_event(struct play *play, const struct scenario_event *e, struct tf_error *err)
{
    TF_AUTO_FREE char *path = play_event_path(play, e);
    const struct name names[] = {
        {"submit", e->submit, wrong_job},    {"delete", e->delete_job, wrong_job},
        {"hold", e->hold, wrong_job},        {"resume", e->resume, wrong_job},
        {"restart", e->restart, wrong_job},  {"look", e->look, wrong_job},
        {"scale", e->scale, wrong_job},      {"apply", e->apply, wrong_job},
        {"roomFor", e->room_for, wrong_job}, {"migrate", e->migrate, wrong_job},
        {"to", e->to, wrong_target},         {"gpu", e->gpu, wrong_gpu},
    };
    if (check_names(play, path, names, TF_ARRAY_LEN(names), err) ||
        check_nodes(play, path, "node", &e->node, err) ||
        (!e->defrag && check_nodes(play, path, "nodes", &e->nodes, err)) ||
        check_foreign(play, e, &e->node, path, err) || check_foreign(play, e, &e->nodes, path, err))
        return -1;
    return check_drain(play, e, path, err) || check_instance(play, e, path, err) ? -1 : 0;
}

static bool has_tenant(const struct play *play, const char *tenant)
{
    tf_vec_each (job, &play->world.clients.jobs)
        if (tf_str_eq(job->manifest.tenant, tenant))
            return true;
    return false;
}

static char *wrong_metric(const struct play *play, const char *text)
{
    static const char *const whats[] = {
        [REPORT_CLASSES] = "class", [REPORT_TENANTS] = "tenant with jobs", [REPORT_CLUSTERS] = "cluster"};
    struct tf_error err = TF_ERROR_INIT;
    enum report_set set;
    TF_AUTO_FREE char *group = NULL;
    if (report_name_check(text, &set, &group, &err))
        return tf_strdup(err.text);
    if (set == REPORT_ALL ||
        (set == REPORT_CLASSES && tf_classes_rank(&play->world.settings.policy.classes, group) >= 0) ||
        (set == REPORT_TENANTS && has_tenant(play, group)) ||
        (set == REPORT_CLUSTERS && scenario_cluster_find(play->scenario, group) >= 0))
        return NULL;
    return tf_asprintf("there is no %s %s", whats[set], group);
}

static int check_expect(struct play *play, size_t number, struct tf_error *err)
{
    const struct scenario_expect *e = &play->scenario->expect.items[number];
    const struct scenario_assertion *assertion = scenario_assertion_of(e);
    TF_AUTO_FREE char *path =
        tf_asprintf("expect[%zu]%s", number, scenario_expect_is_always(e) ? ".always" : "");
    const struct name names[] = {{"job", assertion->job, wrong_job},
                                 {"node", assertion->node, wrong_node},
                                 {"metric", assertion->metric, wrong_metric}};
    return check_names(play, path, names, TF_ARRAY_LEN(names), err);
}

static int check_on(struct play *play, size_t number, struct tf_error *err)
{
    const struct scenario_job *job = &play->scenario->jobs.items[number];
    TF_AUTO_FREE char *path = tf_asprintf("jobs[%zu]", number);
    if (check_nodes(play, path, "on", &job->on, err))
        return -1;
    if (job->on.count == 0 || job->on.count >= (size_t)job->spec.elastic.min)
        return 0;
    tf_error_set(
        err, TF_ERR_INVALID,
        "names %zu node%s, and %d instances start together: name one for each, the same once more if "
        "it takes several",
        job->on.count, job->on.count == 1 ? "" : "s", job->spec.elastic.min);
    return play_wrong(play, tf_asprintf("%s.on", path));
}

/* In a run that was drawn, and made smaller, events may have lost what they were about; other schedulers get
 * jobs in pieces, of other names. */
int play_check_references(struct play *play, struct tf_error *err)
{
    const struct scenario *s = play->scenario;
    if (s->world.rests || play->options->rival)
        return 0;
    for (size_t i = 0; i < s->jobs.count; i++)
        if (check_on(play, i, err))
            return -1;
    tf_vec_each (event, &s->events)
        if (check_event(play, event, err))
            return -1;
    tf_vec_each (event, &s->faults)
        if (check_event(play, event, err))
            return -1;
    for (size_t i = 0; i < s->expect.count; i++)
        if (check_expect(play, i, err))
            return -1;
    return 0;
}
