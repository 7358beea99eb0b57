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

/* How many daemons of that kind there will be: each event `duplicate` adds one. */
static int32_t daemons_of(const struct scenario *scenario, const struct scenario_cluster *cluster)
{
    int32_t count = cluster ? cluster->subclusterds : scenario->world.fedds;
    return count + scenario_duplicates(scenario, cluster ? cluster->name : NULL);
}

static void find_daemon(const struct search *s, const char *text)
{
    struct scenario_daemon daemon;
    if (scenario_daemon_parse(text, &daemon, NULL))
        return;
    const struct scenario_cluster *cluster = daemon.is_fedd ? NULL : cluster_of(s, daemon.cluster);
    if (!daemon.is_fedd && !cluster)
        return;
    int32_t count = daemons_of(s->scenario, cluster);
    if (daemon.number > count)
        tf_complaints_add(s->out, s->path, "there is no %s: their number is %d", text, count);
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
    tf_vec_each (job, &s->scenario->jobs)
        if (gives_job(job, text))
            return;
    tf_vec_each (tide, &s->scenario->tides)
        if (gives_job(&tide->job, text))
            return;
    tf_complaints_add(s->out, s->path, "there is no job %s: write TENANT/NAME of one of them", text);
}

/* ---- who names what ---- */

typedef void find_f(const struct search *s, const char *text);

static void find_cluster(const struct search *s, const char *text)
{
    (void)cluster_of(s, text);
}

static void find_plain_node(const struct search *s, const char *text)
{
    find_node(s, text, false);
}

static void find_gpu(const struct search *s, const char *text)
{
    find_node(s, text, true);
}

/* The text at `key` of an event or expectation names something. */
struct name {
    const char *key, *text;
    find_f *find;
};

static void find_names(const struct scenario *scenario, const char *path, const struct name *names,
                       size_t count, struct tf_complaints *out)
{
    for (size_t i = 0; i < count; i++) {
        TF_AUTO_FREE char *at = tf_asprintf("%s.%s", path, names[i].key);
        const struct search s = {scenario, at, out};
        if (names[i].text)
            names[i].find(&s, names[i].text);
    }
}

static void check_event(const struct scenario *scenario, const struct scenario_event *e, const char *path,
                        struct tf_complaints *out)
{
    TF_AUTO_FREE char *store = tf_asprintf("store/%s", e->store_of ? e->store_of : "");
    const struct name names[] = {
        {"submit", e->submit, find_job},
        {"delete", e->delete_job, find_job},
        {"hold", e->hold, find_job},
        {"resume", e->resume, find_job},
        {"restart", e->restart, find_job},
        {"look", e->look, find_job},
        {"scale", e->scale, find_job},
        {"apply", e->apply, find_job},
        {"migrate", e->migrate, find_job},
        {"cluster", e->cluster, find_cluster},
        {store, e->store_of, find_cluster},
        {"repeat", e->repeat, find_cluster},
        {"cordon", e->cordon, find_cluster},
        {"freeze", e->freeze, find_cluster},
        {"burn", e->burn, find_cluster},
        {"pauseMoves", e->pause_moves, find_cluster},
        {"abortMoves", e->abort_moves, find_cluster},
        {"drain", e->drain, find_cluster},
        {"clockJump", e->clock_jump, find_daemon},
        {"late", e->late, find_cluster},
        {"defrag", e->defrag, find_cluster},
        {"roomFor", e->room_for, find_job},
        {"crash", e->crash, find_daemon},
        {"pause", e->pause, find_daemon},
        {"handOver", e->hand_over, find_daemon},
        {"reload", e->reload, find_daemon},
        {"cutOff", e->store_away, find_daemon},
        {"fedd", e->fedd, find_daemon},
        {"duplicate", e->duplicate, find_daemon},
        {"gpu", e->gpu, find_gpu},
    };
    find_names(scenario, path, names, TF_ARRAY_LEN(names), out);
    tf_vec_each (node, &e->node)
        find_names(scenario, path, &(struct name){"node", *node, find_plain_node}, 1, out);
    for (size_t i = 0; i < e->nodes.count && !e->defrag; i++)
        find_names(scenario, path, &(struct name){"nodes", e->nodes.items[i], find_plain_node}, 1, out);
}

static void check_expect(const struct scenario *scenario, const struct scenario_expect *e, const char *path,
                         struct tf_complaints *out)
{
    const struct scenario_assertion *assertion = scenario_assertion_of(e);
    TF_AUTO_FREE char *at = tf_asprintf("%s%s", path, scenario_expect_is_always(e) ? ".always" : "");
    const struct name names[] = {
        {"job", assertion->job, find_job},
        {"cluster", assertion->cluster, find_cluster},
        {"reason.cluster", assertion->reason.cluster, find_cluster},
        {"node", assertion->node, find_plain_node},
    };
    find_names(scenario, at, names, TF_ARRAY_LEN(names), out);
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
        snprintf(path, sizeof path, "jobs[%zu]", i);
        tf_vec_each (node, &scenario->jobs.items[i].on)
            find_names(scenario, path, &(struct name){"on", *node, find_plain_node}, 1, out);
    }
    for (size_t i = 0; i < scenario->expect.count; i++) {
        snprintf(path, sizeof path, "expect[%zu]", i);
        check_expect(scenario, &scenario->expect.items[i], path, out);
    }
}
