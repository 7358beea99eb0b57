/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the rules of the fleet, the work and the scenario as a whole. Those of events are in check_event.c,
 * those of expectations in check_expect.c. */
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "tools/fedsim/scenario/private.h"

#include <inttypes.h>

/* ---- fleet ---- */

static void check_one_node(const struct scenario_cluster *cluster, const struct scenario_nodes *group,
                           int32_t number, const char *path, struct tf_complaints *out)
{
    struct tf_node node;
    struct tf_error err = TF_ERROR_INIT;
    if (scenario_node_make(cluster, group, number, &node, &err)) {
        tf_complaints_add(out, path, "%s", err.text);
        return;
    }
    tf_node_check(&node, &cluster->levels, path, out);
    tf_node_release(&node);
}

static bool check_planes_of(const struct scenario_cluster *cluster, const struct scenario_nodes *group,
                            const char *path, struct tf_complaints *out)
{
    size_t before = out->count;
    if (group->domain && cluster->levels.count != 1)
        tf_complaints_add(
            out, path,
            "has a domain, but its cluster has %zu planes: name one in levels, or write domains: {PLANE: "
            "...}",
            cluster->levels.count);
    tf_vec_each (d, &group->domains) {
        bool found = false;
        tf_vec_each (plane, &cluster->levels)
            found = found || tf_str_eq(plane->name, d->plane);
        if (!found)
            tf_complaints_add(out, path, "domains names the plane %s, which is not in levels", d->plane);
        else if (!d->path)
            tf_complaints_add(out, path, "domains.%s has no path", d->plane);
    }
    return out->count == before;
}

static void check_group(const struct scenario_cluster *cluster, size_t i, struct tf_complaints *out)
{
    const struct scenario_nodes *group = &cluster->nodes.items[i];
    char path[40];
    size_t before = out->count;
    snprintf(path, sizeof path, "nodes[%zu]", i);
    for (size_t k = 0; k < i; k++)
        if (tf_str_eq(cluster->nodes.items[k].prefix, group->prefix))
            tf_complaints_add(out, path,
                              "has the same prefix as another group: their nodes would have the same names");
    if (!check_planes_of(cluster, group, path, out))
        return;
    check_one_node(cluster, group, 0, path, out);
    if (group->count > 1 && out->count == before)
        check_one_node(cluster, group, group->count - 1, path, out);
}

void scenario_check_cluster(const void *object, struct tf_complaints *out)
{
    const struct scenario_cluster *cluster = object;
    if (cluster->nodes.count == 0 && !cluster->nodes_csv)
        tf_complaints_add(out, "nodes", "is missing: a cluster has nodes, or nodesFrom");
    for (size_t i = 0; i < cluster->nodes.count; i++)
        check_group(cluster, i, out);
}

/* ---- work ---- */

static void check_name(const char *template, int32_t k, const char *path, const char *what,
                       struct tf_complaints *out)
{
    struct tf_error err = TF_ERROR_INIT;
    TF_AUTO_FREE char *name = scenario_expand(template, 'k', k, &err);
    if (!name || tf_name_check(name, what, &err))
        tf_complaints_add(out, path, "%s", err.text);
}

static void check_names(const struct scenario_job *job, struct tf_complaints *out)
{
    int32_t count = scenario_times_count(&job->at);
    size_t before = out->count;
    check_name(job->tenant, 0, "tenant", "the tenant", out);
    check_name(job->name, 0, "name", "the name", out);
    if (count == 1 || out->count > before)
        return;
    check_name(job->tenant, count - 1, "tenant", "the tenant", out);
    check_name(job->name, count - 1, "name", "the name", out);
    if (!strstr(job->name, "{k}") && !strstr(job->tenant, "{k}"))
        tf_complaints_add(out, "name", "is the same for all %" PRId32 " jobs: put {k} into it", count);
}

/* The rules that the job's manifest would have to keep; it is only borrowed. */
static void check_manifest(const struct scenario_job *job, const struct tf_job_spec *spec,
                           struct tf_complaints *out)
{
    struct tf_complaints found = {0};
    const struct tf_job_manifest manifest = {
        .tenant = job->tenant, .name = job->name, .labels = job->labels, .spec = *spec};
    tf_job_manifest_check_rules(&manifest, &found);
    tf_vec_each (c, &found) {
        const char *metadata = "metadata.";
        tf_complaints_add(out, tf_starts_with(c->path, metadata) ? c->path + strlen(metadata) : c->path, "%s",
                          c->text);
    }
    tf_complaints_release(&found);
}

static void check_nodes_of(const struct scenario_job *job, struct tf_complaints *out)
{
    struct tf_error err = TF_ERROR_INIT;
    struct scenario_place place;
    tf_vec_each (node, &job->on)
        if (scenario_place_parse(*node, false, &place, &err))
            tf_complaints_add(out, "on", "%s", err.text);
    if (job->on.count && scenario_times_count(&job->at) > 1)
        tf_complaints_add(out, "on", "is for a single job");
    if (job->on.count > (size_t)job->spec.elastic.max)
        tf_complaints_add(out, "on", "names %zu nodes, and the job has at most %" PRId32 " instances",
                          job->on.count, job->spec.elastic.max);
}

/* True if it says who it is and what it wants. */
static bool check_said(const struct scenario_job *job, struct tf_complaints *out)
{
    size_t before = out->count;
    if (!job->tenant)
        tf_complaints_add(out, "tenant", "is missing");
    if (!job->name)
        tf_complaints_add(out, "name", "is missing");
    if (!job->spec.priority)
        tf_complaints_add(out, "spec", "is missing");
    return out->count == before;
}

static void check_times(const struct scenario_times *at, struct tf_complaints *out)
{
    if (at->count <= 1 && at->every > 0)
        tf_complaints_add(out, "at", "says every how long, but not how many: add count");
}

void scenario_check_job(const void *object, struct tf_complaints *out)
{
    const struct scenario_job *job = object;
    check_times(&job->at, out);
    if (job->chance.run_min > job->chance.run_max)
        tf_complaints_add(out, "chance.runMin", "is longer than runMax");
    if (job->from.csv) {
        if (job->at.count > 1)
            tf_complaints_add(out, "at", "is when the trace begins: one moment");
        return;
    }
    if (!check_said(job, out))
        return;
    check_names(job, out);
    check_manifest(job, &job->spec, out);
    check_nodes_of(job, out);
}

void scenario_check_tide(const void *object, struct tf_complaints *out)
{
    const struct scenario_tide *tide = object;
    int32_t step = tide->job.spec.elastic.step;
    if (tide->job.from.csv || scenario_times_count(&tide->job.at) > 1)
        tf_complaints_add(out, "job", "is one service: no trace, and one moment");
    if (tide->job.on.count)
        tf_complaints_add(out, "job.on", "is for jobs, not for tides");
    if (tide->low > tide->high)
        tf_complaints_add(out, "low", "is above high");
    if (tide->low % step || tide->high % step)
        tf_complaints_add(out, tide->low % step ? "low" : "high",
                          "is no multiple of the step, which is %" PRId32, step);
}

/* ---- the whole ---- */

static void unknown_class(const struct scenario *scenario, const char *name, const char *path,
                          struct tf_complaints *out)
{
    const struct tf_classes *classes = &scenario->settings.federation.policy.classes;
    if (!name || tf_classes_rank(classes, name) >= 0)
        return;
    TF_AUTO_BUF known = TF_BUF_INIT;
    tf_classes_names(classes, &known);
    tf_complaints_add(out, path, "\"%.63s\" is none of the classes: %s", name, tf_buf_text(&known));
}

static void check_classes(const struct scenario *scenario, struct tf_complaints *out)
{
    char path[80];
    for (size_t i = 0; i < scenario->jobs.count; i++) {
        snprintf(path, sizeof path, "jobs[%zu].spec.priority", i);
        unknown_class(scenario, scenario->jobs.items[i].spec.priority, path, out);
        snprintf(path, sizeof path, "jobs[%zu].from.priority", i);
        unknown_class(scenario, scenario->jobs.items[i].from.priority, path, out);
    }
    for (size_t i = 0; i < scenario->tides.count; i++) {
        snprintf(path, sizeof path, "tides[%zu].job.spec.priority", i);
        unknown_class(scenario, scenario->tides.items[i].job.spec.priority, path, out);
    }
    for (size_t i = 0; i < scenario->events.count; i++) {
        snprintf(path, sizeof path, "events[%zu].priority", i);
        unknown_class(scenario, scenario->events.items[i].priority, path, out);
    }
    for (size_t i = 0; i < scenario->faults.count; i++) {
        snprintf(path, sizeof path, "faults[%zu].priority", i);
        unknown_class(scenario, scenario->faults.items[i].priority, path, out);
    }
}

static void check_clusters(const struct scenario *scenario, struct tf_complaints *out)
{
    char path[40];
    for (size_t i = 0; i < scenario->clusters.count; i++)
        for (size_t k = 0; k < i; k++) {
            snprintf(path, sizeof path, "clusters[%zu].name", i);
            if (tf_str_eq(scenario->clusters.items[i].name, scenario->clusters.items[k].name))
                tf_complaints_add(out, path, "is there twice");
        }
}

void scenario_check_all(const void *object, struct tf_complaints *out)
{
    const struct scenario *scenario = object;
    const struct scenario_world *world = &scenario->world;
    check_clusters(scenario, out);
    check_classes(scenario, out);
    if (world->message_delay_min > world->message_delay_max)
        tf_complaints_add(out, "world.messageDelayMin", "is longer than messageDelayMax");
    scenario_check_references(scenario, out);
}
