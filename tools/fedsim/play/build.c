/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the world that a scenario describes: its fleet, its jobs, and when events happen. */
#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "common/model/manifest.h"
#include "common/trace/trace.h"
#include "tools/fedsim/labour.h"
#include "tools/fedsim/play/private.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>

enum { WHOLE = 1000000, BASIS_TO_PERMILLE = 10, JOBS_MAX = 12 * 1000 * 1000 };

/* ---- settings ---- */

/* How far the wall clocks of subclusterds may be off: as they are set, and as they drift in a run. */
static int64_t clock_skew(const struct scenario *s)
{
    enum { DRIFT_MS = 10 * TF_SECOND };
    int64_t most = 0;
    tf_vec_each (cluster, &s->clusters) {
        int64_t skew = cluster->clock_skew < 0 ? -cluster->clock_skew : cluster->clock_skew;
        most = skew > most ? skew : most;
    }
    return most + DRIFT_MS;
}

static void build_settings(struct play *play)
{
    const struct scenario *s = play->scenario;
    struct sim_world *world = &play->world;
    tf_settings_copy(&world->settings, &s->settings.federation);
    const struct tf_local_settings *local = &s->settings.subcluster;
    world->profile_interval = local->profile_interval;
    world->loss_cap = local->loss_cap;
    world->health = (struct sub_health_rules){.node_lost_after = local->node_lost_after,
                                              .mass_down_window = local->mass_down_window,
                                              .mass_down_fraction = local->mass_down_fraction,
                                              .mass_down_least = local->mass_down_least,
                                              .suspect_after = local->gpu_suspect_after};
    world->resize_loss = local->resize_loss;
    world->delay_min = s->world.message_delay_min;
    world->delay_max = s->world.message_delay_max;
    world->engine_delay_max = s->world.engine_delay_max;
    world->clients.lose = (uint32_t)s->world.answers_lost / BASIS_TO_PERMILLE;
    world->agenda.in_order = !s->world.unordered;
    audit_start_timeout(world->audit, world->settings.policy.start_timeout);
    audit_silence(world->audit, &(struct audit_silence){.lost_after = local->node_lost_after,
                                                        .window = local->mass_down_window,
                                                        .fraction = local->mass_down_fraction,
                                                        .least = local->mass_down_least});
    audit_calendar(world->audit, SIM_EPOCH_MS, clock_skew(s));
    play_without_settings(play, world);
}

static void set_latency(const struct play *play, struct sim_store *store)
{
    const struct scenario_world *world = &play->scenario->world;
    int64_t most = world->store_latency_max, least = world->unordered ? 0 : most;
    tf_memory_store_faults(store->server,
                           &(struct tf_memory_faults){.latency_min_ms = least, .latency_max_ms = most});
}

/* ---- fleet ---- */

/* Daemons that will be needed later wait as a reserve. */
static void build_fedds(struct play *play)
{
    int32_t count = play->scenario->world.fedds, reserve = scenario_duplicates(play->scenario, NULL);
    for (int32_t i = 0; i < count + reserve; i++) {
        struct sim_fedd *fedd = world_add_fedd(&play->world);
        fedd->process.reserve = i >= count;
        fedd->process.skew_ms = i == 0 ? play->scenario->world.fedd_skew : 0;
        fedd->process.drift_ppm = i == 0 ? play->scenario->world.fedd_drift : 0;
    }
}

static int add_group(struct sim_site *site, const struct scenario_cluster *cluster,
                     const struct scenario_nodes *group, struct tf_error *err)
{
    for (int32_t i = 0; i < group->count; i++) {
        struct tf_node node;
        if (scenario_node_make(cluster, group, i, &node, err))
            return -1;
        world_add_node(site, &node, group->joins);
    }
    return 0;
}

static char *path_of(const struct play *play, const char *path)
{
    const char *folder = play->options->folder;
    return *path == '/' || !folder || !*folder ? tf_strdup(path) : tf_asprintf("%s/%s", folder, path);
}

/* A file has one column of domains: it is the cluster's only plane. */
static void fit_domains(struct tf_node *node, size_t planes)
{
    while (node->domains.count < planes)
        tf_strs_add(&node->domains, "");
    while (node->domains.count > planes)
        free(node->domains.items[--node->domains.count]);
}

/* A file of a few lines may ask for more than any machine holds: told before, not when memory is gone. */
static int count_nodes(struct play *play, int64_t more, struct tf_error *err)
{
    play->nodes += more;
    if (play->nodes <= SCENARIO_NODES_MAX)
        return 0;
    return tf_error_set(err, TF_ERR_INVALID, "more than %d nodes in one scenario", SCENARIO_NODES_MAX);
}

static int add_csv_nodes(struct play *play, struct sim_site *site, const char *csv, struct tf_error *err)
{
    const struct tf_trace_node_defaults defaults = TF_TRACE_NODE_DEFAULTS;
    TF_AUTO_FREE char *path = path_of(play, csv);
    struct tf_trace_nodes nodes = {0};
    if (tf_trace_nodes_read(path, &defaults, &nodes, err))
        return -1;
    int failed = count_nodes(play, (int64_t)nodes.count, err);
    for (size_t i = 0; i < nodes.count && !failed; i++) {
        fit_domains(&nodes.items[i], site->planes.count);
        world_add_node(site, &nodes.items[i], 0);
    }
    tf_trace_nodes_release(&nodes);
    return failed;
}

static int build_cluster(struct play *play, const struct scenario_cluster *cluster, struct tf_error *err)
{
    int32_t count = cluster->subclusterds, reserve = scenario_duplicates(play->scenario, cluster->name);
    struct sim_site *site =
        world_add_site(&play->world, cluster->name, cluster->region, (size_t)(count + reserve));
    tf_planes_copy(&site->planes, &cluster->levels);
    for (size_t i = 0; i < site->subds.count; i++) {
        site->subds.items[i]->process.reserve = i >= (size_t)count;
        site->subds.items[i]->process.skew_ms = cluster->clock_skew;
        site->subds.items[i]->process.drift_ppm = cluster->clock_drift;
    }
    tf_vec_each (group, &cluster->nodes)
        if (count_nodes(play, group->count, err) || add_group(site, cluster, group, err))
            return -1;
    set_latency(play, &site->store);
    return cluster->nodes_csv ? add_csv_nodes(play, site, cluster->nodes_csv, err) : 0;
}

/* ---- jobs ---- */

static uint32_t permille(int32_t basis_points)
{
    return (uint32_t)basis_points / BASIS_TO_PERMILLE;
}

static struct sim_nature nature_of(struct sim_world *world, const struct scenario_job *job)
{
    const struct scenario_chance *c = &job->chance;
    uint64_t drawn = tf_rng_next(&world->rng);
    return (struct sim_nature){
        .seed = c->seed ? (uint64_t)c->seed : drawn,
        .start_min = job->start_time,
        .start_max = job->start_time > c->start_max ? job->start_time : c->start_max,
        .stop_min = job->stop_time,
        .stop_max = job->stop_time,
        .run_min = c->run_min,
        .run_max = c->run_max,
        .checkpoint_every = job->checkpoint_every,
        .fail = permille(c->fail),
        .fail_early = permille(c->fail_early),
        .never_ready = permille(c->never_ready),
        .deaf = permille(c->deaf),
        .engine_refuses = permille(c->engine_refuses),
    };
}

static bool is_restarted(const struct scenario *scenario, const char *name)
{
    tf_vec_each (e, &scenario->events)
        if (e->restart && tf_str_eq(e->restart, name))
            return true;
    tf_vec_each (e, &scenario->faults)
        if (e->restart && tf_str_eq(e->restart, name))
            return true;
    return false;
}

int64_t play_job_find(const struct play *play, const char *name)
{
    struct play_name *found = NULL;
    HASH_FIND_STR(play->names, name, found);
    return found ? (int64_t)found->job : -1;
}

/* Without overflow for the work of years. */
static int64_t part_of(int64_t work, int64_t part)
{
    return work / WHOLE * part + work % WHOLE * part / WHOLE;
}

/* When it is submitted, and what ends it: after `run`, or with its work; 0 = that does not. */
struct course {
    int64_t at, run, work;
};

static char *origin_path(const struct play_origin *origin)
{
    return tf_asprintf(origin->tide ? "tides[%zu].job" : "jobs[%zu]", origin->number);
}

char *play_job_path(const struct play *play, const struct sim_job *job)
{
    return origin_path(&play->origins.items[job - play->world.clients.jobs.items]);
}

/* The job that is being built is why the scenario cannot be played; key: of it, may be "". */
static int wrong_job(struct play *play, const char *key)
{
    TF_AUTO_FREE char *path = origin_path(&play->building);
    return play_wrong(play, tf_asprintf("%s%s", path, key));
}

static int check_new(struct play *play, const char *name, struct tf_error *err)
{
    const struct sim_clients *clients = &play->world.clients;
    int64_t there = play_job_find(play, name);
    const struct scenario_job *job = play->building.tide
                                         ? &play->scenario->tides.items[play->building.number].job
                                         : &play->scenario->jobs.items[play->building.number];
    const char *key = job->from.csv ? ".from.csv" : ".name";
    if (clients->jobs.count >= JOBS_MAX) {
        tf_error_set(err, TF_ERR_INVALID, "more than %d jobs in one scenario", JOBS_MAX);
        return wrong_job(play, key);
    }
    if (there < 0)
        return 0;
    TF_AUTO_FREE char *other = play_job_path(play, &clients->jobs.items[there]);
    tf_error_set(err, TF_ERR_INVALID, "the job %s is there twice: %s is it, too", name, other);
    return wrong_job(play, key);
}

/* manifest is taken. part: of the work, in 1/1000000. */
static int add_whole(struct play *play, const struct scenario_job *job, struct tf_job_manifest *manifest,
                     struct course course, int64_t part, struct tf_error *err)
{
    struct sim_world *world = &play->world;
    TF_AUTO_BUF name = TF_BUF_INIT;
    tf_buf_cat(&name, manifest->tenant, "/", manifest->name);
    if (check_new(play, tf_buf_text(&name), err)) {
        tf_job_manifest_release(manifest);
        return -1;
    }
    if (tf_is_reservation(&manifest->spec))
        tf_reservation_settle(manifest);
    else if (!manifest->spec.group.command.count)
        tf_strs_add(&manifest->spec.group.command, "simulated");
    int32_t step = play_without_spec(play, &manifest->spec);
    struct sim_job made = {.uid = world_uid(world), .manifest = *manifest, .scripted = true};
    made.nature = nature_of(world, job);
    made.labour = (struct sim_labour){.run = course.run > 0 ? course.run : 0,
                                      .work = course.work > 0 ? part_of(course.work, part) : 0,
                                      .step = step,
                                      .checkpoint_every = job->checkpoint_every};
    if (is_restarted(play->scenario, tf_buf_text(&name)))
        made.again = world_uid(world);
    struct play_name *entry = tf_calloc(1, sizeof *entry + name.len + 1);
    memcpy(entry->name, name.data, name.len);
    entry->job = world->clients.jobs.count;
    HASH_ADD_STR(play->names, name, entry);
    tf_vec_push(&play->origins, play->building);
    if (job->on.count && !play->options->rival) {
        play_pin_add(play, (size_t)(job - play->scenario->jobs.items), world->clients.jobs.count);
        course.at = TF_NEVER.ms; /* in its turn */
    } else if (play_pin_holds_back(play, world->clients.jobs.count, course.at)) {
        course.at = TF_NEVER.ms;
    }
    clients_add(&world->clients, made, (struct tf_mono){course.at});
    return 0;
}

/* manifest is taken. */
static int add_job(struct play *play, const struct scenario_job *job, struct tf_job_manifest *manifest,
                   struct course course, struct tf_error *err)
{
    int32_t pieces = play_pieces(play, &manifest->spec), largest = manifest->spec.elastic.max;
    if (pieces == 1)
        return add_whole(play, job, manifest, course, WHOLE, err);
    int failed = 0;
    for (int32_t k = 0; k < pieces && !failed; k++) {
        int32_t size = play_piece_size(&manifest->spec, k);
        struct tf_job_manifest piece = {.tenant = tf_strdup(manifest->tenant),
                                        .name = tf_asprintf("%s-%d", manifest->name, k)};
        tf_job_spec_copy(&piece.spec, &manifest->spec);
        piece.spec.elastic = (struct tf_elastic){size, size, size};
        failed = add_whole(play, job, &piece, course, WHOLE * size / largest, err);
    }
    tf_job_manifest_release(manifest);
    return failed;
}

static int add_numbered(struct play *play, const struct scenario_job *job, int32_t k, struct tf_error *err)
{
    struct tf_job_manifest manifest = {0};
    manifest.tenant = scenario_expand(job->tenant, 'k', k, err);
    manifest.name = scenario_expand(job->name, 'k', k, err);
    tf_pairs_copy(&manifest.labels, &job->labels);
    tf_job_spec_copy(&manifest.spec, &job->spec);
    struct course course = {scenario_times_at(&job->at, k), job->run, job->work};
    return add_job(play, job, &manifest, course, err);
}

static struct course course_of(const struct scenario_job *job, const struct tf_trace_job *from)
{
    bool resumes = job->from.resumes;
    return (struct course){.at = job->at.from + from->submit,
                           .run = resumes ? 0 : from->duration,
                           .work = resumes ? from->duration * from->instances : job->work};
}

/* Of a row of the file at path; with a class that the scenario has: a user would be refused, one by one. */
static int read_manifest(const struct play *play, struct tf_trace_shapes *shapes, const char *path,
                         const struct tf_trace_job *from, struct tf_job_manifest *manifest,
                         struct tf_error *err)
{
    struct tf_error why = TF_ERROR_INIT;
    const struct tf_classes *classes = &play->scenario->settings.federation.policy.classes;
    if (tf_trace_shapes_manifest(shapes, from, manifest, &why))
        return tf_error_set(err, TF_ERR_INVALID, "%s:%" PRId64 ": %s", path, from->line, why.text);
    if (tf_classes_rank(classes, manifest->spec.priority) >= 0)
        return 0;
    TF_AUTO_BUF known = TF_BUF_INIT;
    tf_classes_names(classes, &known);
    tf_error_set(err, TF_ERR_INVALID,
                 "%s:%" PRId64 ": column priority_class: \"%.63s\" is none of the classes: %s (`priority` "
                 "beside `csv` gives all jobs of the file one class)",
                 path, from->line, manifest->spec.priority, tf_buf_text(&known));
    tf_job_manifest_release(manifest);
    return -1;
}

static void note_source(struct play *play, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void note_source(struct play *play, const char *fmt, ...)
{
    char text[200];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    TF_AUTO_FREE char *path = origin_path(&play->building);
    const struct play_failure note = {-1, tf_asprintf("%s.from.csv", path), tf_strdup(text)};
    tf_vec_push(&play->result->notes, note);
}

/* Jobs of a file are many and large: they would be moved again and again while more come. */
static void make_room(struct play *play, size_t more)
{
    struct sim_clients *clients = &play->world.clients;
    tf_vec_reserve(&clients->jobs, clients->jobs.count + more);
    tf_vec_reserve(&play->origins, play->origins.count + more);
}

/* What of the file is not played as it stands there. */
static void note_trace(struct play *play, const struct scenario_job *job, const struct tf_trace_jobs *jobs)
{
    size_t late = 0, endless = 0;
    tf_vec_each (from, jobs) {
        bool comes = job->at.from + from->submit <= play->until;
        late += !comes;
        endless += comes && from->duration == 0;
    }
    if (jobs->count == 0)
        note_source(play, "no job of it is taken");
    if (jobs->fractional)
        note_source(play, "%zu of %zu jobs ask for a part of a GPU and get a whole one", jobs->fractional,
                    jobs->count);
    if (late)
        note_source(play, "%zu of %zu jobs would come after the end", late, jobs->count);
    if (endless && job->work < 0)
        note_source(play, "%zu of %zu jobs have no duration and run until the end", endless, jobs->count);
}

static int add_trace(struct play *play, const struct scenario_job *job, struct tf_error *err)
{
    const struct tf_trace_options options = {.tenants = &job->from.tenants,
                                             .priority = job->from.priority,
                                             .time_scale = job->from.time_scale,
                                             .arrival_scale = job->from.arrival_scale};
    TF_AUTO_FREE char *path = path_of(play, job->from.csv);
    struct tf_trace_jobs jobs = {0};
    if (tf_trace_jobs_read(path, &options, &jobs, err))
        return wrong_job(play, ".from.csv");
    note_trace(play, job, &jobs);
    make_room(play, jobs.count);
    struct tf_trace_shapes shapes = {0};
    int failed = 0;
    for (size_t i = 0; i < jobs.count && !failed; i++) {
        struct tf_job_manifest manifest = {0};
        const struct tf_trace_job *from = &jobs.items[i];
        if (read_manifest(play, &shapes, path, from, &manifest, err))
            failed = wrong_job(play, ".from.csv");
        else
            failed = add_job(play, job, &manifest, course_of(job, from), err);
    }
    tf_trace_shapes_release(&shapes);
    tf_trace_jobs_release(&jobs);
    return failed;
}

static int build_job(struct play *play, const struct scenario_job *job, struct tf_error *err)
{
    if (job->from.csv)
        return add_trace(play, job, err);
    for (int32_t k = 0; k < scenario_times_count(&job->at); k++)
        if (add_numbered(play, job, k, err))
            return -1;
    return 0;
}

/* ---- tides ---- */

/* Whole steps, from low to high and back as a cosine. */
static int32_t level_of(const struct scenario_tide *tide, struct tf_mono now)
{
    double phase = (double)((now.ms - tide->peak_at) % tide->period) / (double)tide->period;
    double height = (1 + cos(2 * M_PI * phase)) / 2;
    int32_t step = tide->job.spec.elastic.step;
    int32_t steps = (int32_t)lround(height * (tide->high - tide->low) / step);
    return tide->low + steps * step;
}

static void scale_tide(void *arg, uint64_t number)
{
    struct play *play = arg;
    struct play_tide *at = &play->tides.items[number];
    int32_t level = level_of(at->tide, play->world.agenda.now);
    if (level != at->now)
        clients_ask(
            &play->world.clients, at->job, SIM_SCALE,
            play_without_sizes(play, (struct tf_elastic){level, level, at->tide->job.spec.elastic.step}));
    at->now = level;
    sim_agenda_in(&play->world.agenda, at->tide->every, scale_tide, play, number);
}

static int build_tide(struct play *play, const struct scenario_tide *tide, struct tf_error *err)
{
    struct tf_mono begins = {tide->job.at.from};
    int32_t level = level_of(tide, begins);
    struct scenario_job job = tide->job; /* borrowed, but for its sizes */
    job.spec.elastic.min = job.spec.elastic.max = level;
    struct play_tide at = {play, tide, play->world.clients.jobs.count, level};
    if (add_numbered(play, &job, 0, err))
        return -1;
    play->world.clients.jobs.items[at.job].tide = true;
    tf_vec_push(&play->tides, at);
    begins.ms += tide->every;
    sim_agenda_at(&play->world.agenda, begins, scale_tide, play, play->tides.count - 1);
    return 0;
}

/* ---- events ---- */

static void event_comes(void *arg, uint64_t number)
{
    struct play *play = arg;
    play_happen(play, play->events.items[number].event);
}

/* By their numbers, equal ones as in the file. */
static void add_numbered_event(struct play *play, const struct scenario_event *event)
{
    tf_vec_push(&play->numbered, event);
    const struct scenario_event **items = play->numbered.items;
    for (size_t i = play->numbered.count - 1; i > 0 && items[i - 1]->at_event > event->at_event; i--) {
        items[i] = items[i - 1];
        items[i - 1] = event;
    }
}

static void add_event(struct play *play, const struct scenario_event *event)
{
    if (event->at < 0) {
        add_numbered_event(play, event);
        return;
    }
    tf_vec_push(&play->events, (struct play_event){play, event});
    sim_agenda_at(&play->world.agenda, (struct tf_mono){event->at}, event_comes, play,
                  play->events.count - 1);
}

/* The copy that will be put back is made at its moment. */
static void is_copied(void *arg, uint64_t number)
{
    struct play *play = arg;
    const struct scenario_event *event = play->copies.items[number];
    if (event->store_of)
        operator_backs_up_site(
            play->world.sites.items[scenario_cluster_find(play->scenario, event->store_of)],
            event->store.restored);
    else
        operator_backs_up(&play->world, event->store.restored);
}

static void plan_copy(struct play *play, const struct scenario_event *event)
{
    if (event->store.restored < 0)
        return;
    tf_vec_push(&play->copies, event);
    sim_agenda_at(&play->world.agenda, (struct tf_mono){event->store.restored}, is_copied, play,
                  play->copies.count - 1);
}

static void build_events(struct play *play)
{
    tf_vec_each (e, &play->scenario->events)
        plan_copy(play, e);
    tf_vec_each (e, &play->scenario->faults)
        plan_copy(play, e);
    tf_vec_each (e, &play->scenario->events)
        add_event(play, e);
    tf_vec_each (e, &play->scenario->faults)
        add_event(play, e);
}

int play_build(struct play *play, struct tf_error *err)
{
    const struct scenario *s = play->scenario;
    build_settings(play);
    build_fedds(play);
    set_latency(play, &play->world.store);
    for (size_t i = 0; i < s->clusters.count; i++)
        if (build_cluster(play, &s->clusters.items[i], err))
            return play_wrong(play, tf_asprintf(s->clusters.items[i].nodes_csv ? "clusters[%zu].nodesFrom.csv"
                                                                               : "clusters[%zu].nodes",
                                                i));
    labour_begin(&play->world);
    for (size_t i = 0; i < s->jobs.count; i++) {
        play->building = (struct play_origin){.number = i};
        if (build_job(play, &s->jobs.items[i], err))
            return -1;
    }
    for (size_t i = 0; i < s->tides.count; i++) {
        play->building = (struct play_origin){.tide = true, .number = i};
        if (build_tide(play, &s->tides.items[i], err))
            return -1;
    }
    if (play_check_references(play, err))
        return -1;
    play_pin_begin(play);
    build_events(play);
    return 0;
}
