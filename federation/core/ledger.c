/* SPDX-License-Identifier: Apache-2.0 */
/* The in-flight ledger (PITFALLS.md 4). From the decision to place until a profile of this term reflects the
 * message that carried it, the placement is a flight: the rows of the profile are debited by what pack
 * chooses for it. A newer profile that does not reflect it yet is debited anew, in the same order. */
#include "federation/core/ledger.h"

#include "common/base/text.h"
#include "federation/core/cluster.h"
#include "federation/core/freeze.h"
#include "federation/core/jobs.h"
#include "federation/core/mix.h"

#include <assert.h>

static void flight_release(struct flight *flight)
{
    tf_spec_drop(flight->spec);
    tf_fit_undo_release(&flight->debit);
    tf_vec_release(&flight->entitled.reserved);
    free(flight->model);
}

static struct flight *find(const struct cluster *cluster, uint64_t epoch)
{
    for (size_t i = cluster->flights.count; i-- > 0;)
        if (cluster->flights.items[i].epoch == epoch)
            return &cluster->flights.items[i];
    return NULL;
}

/* ---- demands and debits ---- */

/* The job's demand in this subcluster's numbers, in fed->demand; -1: it cannot be met there, ever. */
static int resolve(struct fed *fed, const struct cluster *cluster, const struct tf_job_spec *spec, int rank)
{
    struct tf_fit_view view = tf_fit_rows_view(cluster->room);
    if (tf_demand_resolve(&fed->demand, spec, rank, view.catalog, NULL))
        return -1;
    if (spec->max_runtime > 0)
        fed->demand.ends.ms = fed->now.wall.ms + spec->max_runtime;
    return 0;
}

void fed_ledger_entitle(struct tf_demand *demand, const struct entitled *entitled)
{
    demand->claimant = entitled->claimant;
    if (entitled->spares && demand->level >= tf_level_core(0))
        demand->level = (tf_level)(tf_level_core(0) - 1);
    demand->reserved.count = 0;
    tf_vec_each (uid, &entitled->reserved)
        tf_vec_push(&demand->reserved, *uid);
}

/* The same of one that was placed: it is bound by what it was then. */
static int resolve_flight(struct fed *fed, const struct cluster *cluster, const struct flight *flight)
{
    if (resolve(fed, cluster, flight->spec, flight->rank))
        return -1;
    fed->demand.ends = flight->ends;
    fed_ledger_entitle(&fed->demand, &flight->entitled);
    if (flight->is_short)
        fed->demand.core = fed->demand.step;
    return 0;
}

static const char *model_name(const struct cluster *cluster, int32_t model)
{
    struct tf_fit_view view = tf_fit_rows_view(cluster->room);
    return model < 0 ? NULL : tf_intern_text(&view.catalog->models, model);
}

/* An epoch has one model: the one it was placed with. */
static void keep_model(struct fed *fed, const struct cluster *cluster, const char *model)
{
    for (size_t i = fed->demand.models.count; model && i-- > 0;)
        if (!tf_str_eq(model_name(cluster, fed->demand.models.items[i]), model))
            tf_vec_remove(&fed->demand.models, i);
}

/* Single instances are counted, so that a gang's shortfall shows; whole steps where a rule binds those. */
static void count_singly(struct tf_demand *demand)
{
    tf_vec_each (rule, &demand->rules)
        if (rule->of_step && !rule->prefer)
            return;
    demand->step = 1;
}

/* Puts `size` instances of fed->demand into the rows; false if they do not fit. */
static bool debit(struct fed *fed, struct cluster *cluster, struct flight *flight, int32_t size)
{
    struct tf_fit_view view = tf_fit_rows_view(cluster->room);
    if (!tf_fit_pack(&view, &fed->demand, flight->level, size, fed_mix_resolved(fed, cluster), fed->scratch,
                     &fed->pack))
        return false;
    tf_fit_debit(cluster->room, &fed->pack, &fed->demand, tf_level_core(flight->rank), &flight->debit);
    cluster->change++;
    return true;
}

static void undo(struct cluster *cluster, struct flight *flight)
{
    tf_fit_debit_undo(cluster->room, &flight->debit);
}

/* The flights from index `first` on leave the rows; the newest first. */
static void undo_from(struct cluster *cluster, size_t first)
{
    for (size_t i = cluster->flights.count; i-- > first;)
        undo(cluster, &cluster->flights.items[i]);
}

/* A flight as a whole, or, where the profile has lost what it was to get, as much of it as there is: returns
 * that. */
static int32_t redo(struct fed *fed, struct cluster *cluster, struct flight *flight)
{
    struct tf_fit fit;
    if (resolve_flight(fed, cluster, flight))
        return 0;
    keep_model(fed, cluster, flight->model);
    if (debit(fed, cluster, flight, flight->size))
        return flight->size;
    tf_reached_if(!flight->is_short, fed, FED_FLIGHT_SHRUNK);
    struct tf_fit_view view = tf_fit_rows_view(cluster->room);
    if (!flight->is_short)
        count_singly(&fed->demand);
    fed->demand.core = fed->demand.step;
    tf_fit_count(&view, &fed->demand, flight->level, fed->scratch, &fit);
    int32_t part = fit.count < flight->size ? fit.count : flight->size;
    part -= part % fed->demand.step;
    return part > 0 && debit(fed, cluster, flight, part) ? part : 0;
}

static void redo_from(struct fed *fed, struct cluster *cluster, size_t first)
{
    for (size_t i = first; i < cluster->flights.count; i++)
        (void)redo(fed, cluster, &cluster->flights.items[i]);
}

void fed_ledger_changed(struct fed *fed, struct cluster *cluster)
{
    cluster->capacity++;
    cluster->change++;
    fed_cluster_grew(fed, cluster);
}

/* ---- short jobs ---- */

/* What they were to get was free in the profile before; true if there were any. No debit is in force. */
static bool drop_shorts(struct cluster *cluster)
{
    size_t kept = 0, count = cluster->flights.count;
    for (size_t i = 0; i < count; i++) {
        struct flight *flight = &cluster->flights.items[i];
        if (flight->is_short)
            flight_release(flight);
        else
            cluster->flights.items[kept++] = *flight;
    }
    cluster->flights.count = kept;
    cluster->shorts_from = TF_CLASSES_MAX;
    return kept < count;
}

/* As many of its steps as still fit: on which nodes is for its subcluster to choose. */
static void add_short(struct fed *fed, struct cluster *cluster, const struct tf_short_demand *demand)
{
    const struct job *job = fed_job_by_uid(fed, demand->uid);
    const struct tf_placement *p = job ? fed_job_last_placement(job) : NULL;
    if (!p || p->release != TF_RELEASE_NONE || strcmp(p->cluster, cluster->record.name) != 0)
        return;
    struct flight flight = {.epoch = p->epoch,
                            .is_short = true,
                            .spec = tf_spec_take(job->record.spec),
                            .rank = demand->rank,
                            .size = demand->fits,
                            .level = TF_LEVEL_FREE,
                            .model = tf_strdup(p->model),
                            .ends = TF_DEMAND_ENDLESS};
    flight.size = redo(fed, cluster, &flight);
    if (flight.size == 0) {
        flight_release(&flight);
        return;
    }
    tf_reached(fed, FED_SHORT_FIRST);
    tf_vec_push(&cluster->flights, flight);
}

/* Each missing step is a core demand of its own in the queue (§4), of its priority the first, since it runs.
 * From its turn on what is free and will be taken for it is not there for others. */
static void count_shorts(struct fed *fed, struct cluster *cluster, int rank)
{
    int before = cluster->shorts_from;
    cluster->shorts_from = rank;
    tf_vec_each (s, &cluster->profile->shorts)
        if (s->fits > 0 && s->rank >= rank && s->rank < before)
            add_short(fed, cluster, s);
}

void fed_ledger_count_shorts(struct fed *fed, int rank)
{
    tf_vec_each (c, &fed->clusters)
        if ((*c)->profile && (*c)->shorts_from > rank)
            count_shorts(fed, *c, rank < 0 ? 0 : rank);
}

/* ---- profiles ---- */

static bool is_reflected(const struct fed *fed, const struct tf_profile *profile, const struct flight *flight)
{
    return flight->n && tf_term_cmp(profile->reflects_term, fed->term) == 0 &&
           profile->reflects_n >= flight->n;
}

/* Those that the profile reflects have landed; true if there were any. No debit is in force. */
static bool land(struct fed *fed, struct cluster *cluster)
{
    size_t kept = 0, count = cluster->flights.count;
    for (size_t i = 0; i < count; i++) {
        struct flight *flight = &cluster->flights.items[i];
        if (is_reflected(fed, cluster->profile, flight))
            flight_release(flight);
        else
            cluster->flights.items[kept++] = *flight;
    }
    cluster->flights.count = kept;
    return kept < count;
}

static int take_full(struct cluster *cluster, struct tf_profile *profile, struct tf_error *err)
{
    if (tf_profile_check(profile, err))
        return -1;
    if (!cluster->profile)
        cluster->profile = tf_calloc(1, sizeof *cluster->profile);
    if (!cluster->room)
        cluster->room = tf_fit_rows_create(&profile->planes);
    undo_from(cluster, 0);
    tf_profile_release(cluster->profile);
    *cluster->profile = *profile;
    memset(profile, 0, sizeof *profile);
    tf_fit_rows_load(cluster->room, cluster->profile);
    cluster->mix_made = 0;
    return 0;
}

static int take_delta(struct cluster *cluster, const struct tf_profile *delta, struct tf_error *err)
{
    if (!cluster->profile)
        return tf_error_set(err, TF_ERR_CONFLICT, "a delta came before any full profile");
    if (tf_profile_apply(cluster->profile, delta, err))
        return -1;
    undo_from(cluster, 0);
    tf_fit_rows_apply(cluster->room, delta);
    return 0;
}

int fed_ledger_profile(struct fed *fed, struct cluster *cluster, struct tf_profile *profile,
                       struct tf_error *err)
{
    bool rows = profile->full || profile->rows.count, first = !cluster->profile;
    if (profile->full ? take_full(cluster, profile, err) : take_delta(cluster, profile, err))
        return -1;
    bool landed = land(fed, cluster);
    landed |= drop_shorts(cluster);
    redo_from(fed, cluster, 0);
    cluster->profiles += rows && !first;
    if (rows || landed)
        fed_ledger_changed(fed, cluster);
    return 0;
}

void fed_ledger_reset(struct cluster *cluster)
{
    tf_vec_each (flight, &cluster->flights)
        flight_release(flight);
    cluster->flights.count = 0;
    tf_fit_rows_destroy(cluster->room);
    cluster->room = NULL;
    if (cluster->profile)
        tf_profile_release(cluster->profile);
    free(cluster->profile);
    cluster->profile = NULL;
}

/* ---- what fits ---- */

static int32_t place_of_model(const struct tf_job_spec *spec, const char *model)
{
    for (size_t i = 0; model && i < spec->group.shape.gpu_models.count; i++)
        if (strcmp(spec->group.shape.gpu_models.items[i], model) == 0)
            return (int32_t)i;
    return 0;
}

static bool prefers_a_plane(const struct tf_demand *demand)
{
    tf_vec_each (rule, &demand->rules)
        if (rule->prefer)
            return true;
    return false;
}

/* The cheap look before the exact one: of a full subcluster most demands fail here. What has been taken since
 * there was more room only makes it too hopeful. place: in cluster->most. */
static bool some_node_could(struct cluster *cluster, size_t place, tf_level level, struct tf_vector need)
{
    struct tf_vector *most = &cluster->most[place];
    if (cluster->most_at[place] != cluster->capacity) {
        struct tf_fit_view view = tf_fit_rows_view(cluster->room);
        *most = (struct tf_vector){0};
        for (size_t i = 0; i < view.count; i++)
            if (view.rows[i].count > 0)
                *most = tf_vector_max(*most, tf_profile_row_at(&view.rows[i], level));
        cluster->most_at[place] = cluster->capacity;
    }
    return tf_vector_fits(need, *most);
}

/* One placement that takes from others may be in flight to a subcluster: until a profile reflects it, who is
 * left there to give way is not known (§6). */
bool fed_ledger_is_reclaiming(const struct cluster *cluster)
{
    tf_vec_each (flight, &cluster->flights)
        if (flight->level > TF_LEVEL_FREE)
            return true;
    return false;
}

bool fed_ledger_may_reclaim(const struct fed *fed, const struct cluster *cluster)
{
    return !fed_frozen(fed, cluster, TF_FROZEN_EVICTIONS) && !fed_ledger_is_reclaiming(cluster);
}

static void set_fit(const struct cluster *cluster, const struct tf_job_spec *spec, const struct tf_fit *fit,
                    struct verdict *out)
{
    out->fits = fit->fits;
    out->level = fit->level;
    out->below = fit->below;
    out->count = fit->count;
    out->model = place_of_model(spec, model_name(cluster, fit->model));
    out->number = fit->model;
}

/* At the lowest level at which the core fits; what is free is looked at first. */
static void fit_lowest(struct fed *fed, struct cluster *cluster, const struct tf_job_spec *spec,
                       struct verdict *out)
{
    struct tf_fit_view view = tf_fit_rows_view(cluster->room);
    struct tf_fit fit = {0};
    tf_level level = fed->demand.level;
    bool kept = fed->demand.reserved.count > 0; /* which the cheap looks do not see */
    if (kept || some_node_could(cluster, 0, TF_LEVEL_FREE, fed->demand.need)) {
        tf_fit_count(&view, &fed->demand, TF_LEVEL_FREE, fed->scratch, &fit);
        set_fit(cluster, spec, &fit, out);
        out->free = fit.count;
    }
    if (out->fits || level == TF_LEVEL_FREE || !fed_ledger_may_reclaim(fed, cluster))
        return;
    bool usual =
        !kept && level == tf_level_core(fed->demand.rank) - 1; /* what is kept of the look is for that */
    if (usual && !some_node_could(cluster, 1 + (size_t)fed->demand.rank, level, fed->demand.need))
        return;
    if (tf_fit_above_free(&view, &fed->demand, fed->scratch, &fit))
        set_fit(cluster, spec, &fit, out);
}

/* The last moment at which a core so long would still end before the claims that bind it now only just do. */
static struct tf_wall good_until(const struct tf_fit_view *view, const struct tf_demand *demand,
                                 int64_t max_runtime)
{
    struct tf_wall until = {INT64_MAX};
    for (size_t i = 0; i < view->count && max_runtime > 0; i++) {
        const struct tf_profile_row *row = &view->rows[i];
        if (row->claim_rank >= 0 && row->count > 0 && !tf_demand_barred(demand, row) &&
            row->claim_until.ms - max_runtime < until.ms)
            until.ms = row->claim_until.ms - max_runtime;
    }
    return until;
}

static bool keeps_something(const struct tf_fit_view *view, const struct tf_demand *demand)
{
    for (size_t i = 0; i < view->count && demand->reserved.count; i++)
        if (view->rows[i].count > 0 && tf_demand_reserved(demand, &view->rows[i], TF_LEVEL_FREE).gpus > 0)
            return true;
    return false;
}

void fed_ledger_fit(struct fed *fed, struct cluster *cluster, const struct tf_job_spec *spec, int rank,
                    const struct entitled *entitled, struct verdict *out)
{
    *out = (struct verdict){.capacity = cluster->capacity, .change = cluster->change};
    if (resolve(fed, cluster, spec, rank))
        return;
    fed_ledger_entitle(&fed->demand, entitled);
    count_singly(&fed->demand);
    fit_lowest(fed, cluster, spec, out);
    if (fed->demand.reserved.count)
        out->number = -1; /* free GPUs say less than it may have: see fed_ledger_narrow */
    struct tf_fit_view view = tf_fit_rows_view(cluster->room);
    out->kept = keeps_something(&view, &fed->demand);
    out->good_until = good_until(&view, &fed->demand, spec->max_runtime);
    if (out->fits && prefers_a_plane(&fed->demand) &&
        tf_fit_pack(&view, &fed->demand, out->level, fed->demand.core, NULL, fed->scratch, &fed->pack))
        out->domains = fed->pack.domains;
}

void fed_ledger_narrow(const struct fed *fed, const struct cluster *cluster, const struct tf_job_spec *spec,
                       struct verdict *v)
{
    if (v->level > TF_LEVEL_FREE) {
        v->fits = v->fits && fed_ledger_may_reclaim(fed, cluster);
        return;
    }
    if (spec->group.shape.gpus == 0 || v->number < 0 || v->kept) /* what is kept is not among what is free */
        return;
    int64_t most = tf_fit_rows_at_most(cluster->room, v->number, spec->group.shape.gpus);
    /* With less than its core of that model left, another model of its list might hold more. */
    if (most >= spec->elastic.min && most < v->count)
        v->count = (int32_t)most;
}

/* The mix has no say in it: it chooses among the nodes of a domain. */
static int32_t domains_of(const struct fed *fed, const struct tf_fit_view *view,
                          const struct tf_demand *demand, tf_level level)
{
    struct tf_fit_placement pack = {0};
    bool packed =
        prefers_a_plane(demand) && tf_fit_pack(view, demand, level, demand->core, NULL, fed->scratch, &pack);
    int32_t domains = packed ? pack.domains : 0;
    tf_fit_placement_release(&pack);
    return domains;
}

const char *fed_ledger_look(const struct fed *fed, const struct cluster *cluster,
                            const struct tf_job_spec *spec, int rank, const struct entitled *entitled,
                            struct tf_now now, struct verdict *out)
{
    struct tf_demand demand = {0};
    struct tf_fit fit = {.model = -1};
    struct tf_fit_view view = tf_fit_rows_view(cluster->room);
    *out = (struct verdict){0};
    if (tf_demand_resolve(&demand, spec, rank, view.catalog, NULL) == 0) {
        if (spec->max_runtime > 0)
            demand.ends.ms = now.wall.ms + spec->max_runtime;
        fed_ledger_entitle(&demand, entitled);
        count_singly(&demand);
        tf_fit_count(&view, &demand, TF_LEVEL_FREE, fed->scratch, &fit);
        out->free = fit.count;
        if (!fit.fits && fed_ledger_may_reclaim(fed, cluster))
            tf_fit_lowest(&view, &demand, fed->scratch, &fit);
        set_fit(cluster, spec, &fit, out);
        out->kept = keeps_something(&view, &demand);
        if (out->fits)
            out->domains = domains_of(fed, &view, &demand, out->level);
    }
    tf_demand_release(&demand);
    return model_name(cluster, fit.model);
}

bool fed_ledger_could_hold(struct fed *fed, struct cluster *cluster, const struct tf_job_spec *spec, int rank,
                           struct claim_room *room)
{
    struct tf_fit fit = {0};
    if (resolve(fed, cluster, spec, rank))
        return false;
    struct tf_fit_view view = tf_fit_rows_view(cluster->room);
    fed->demand.claimant = true; /* what is kept for lower ranks it may have */
    fed->demand.ends = TF_DEMAND_ENDLESS;
    count_singly(&fed->demand);
    tf_fit_count(&view, &fed->demand, TF_LEVEL_TOP, fed->scratch, &fit);
    room->ever = fit.count;
    if (!fit.fits)
        return false;
    tf_fit_count(&view, &fed->demand, fed->demand.level, fed->scratch, &fit);
    room->now = fit.count;
    return true;
}

const char *fed_ledger_add(struct fed *fed, struct cluster *cluster, const struct tf_job_spec *spec, int rank,
                           const struct entitled *entitled, uint64_t epoch, int32_t size, tf_level level)
{
    struct flight *flight = tf_vec_add(&cluster->flights);
    *flight = (struct flight){
        .epoch = epoch, .spec = tf_spec_take(spec), .rank = rank, .size = size, .level = level};
    flight->entitled.claimant = entitled->claimant;
    flight->entitled.spares = entitled->spares;
    tf_vec_each (uid, &entitled->reserved)
        tf_vec_push(&flight->entitled.reserved, *uid);
    flight->ends = TF_DEMAND_ENDLESS;
    if (spec->max_runtime > 0)
        flight->ends.ms = fed->now.wall.ms + spec->max_runtime;
    bool there = resolve_flight(fed, cluster, flight) == 0 && debit(fed, cluster, flight, size);
    assert(there && "placed where it fits");
    (void)there;
    flight->model = tf_strdup(model_name(cluster, fed->pack.model));
    return flight->model;
}

int32_t fed_ledger_size(const struct cluster *cluster, uint64_t epoch)
{
    return find(cluster, epoch)->size;
}

/* The flights from `first` on, up to `end`, whole: false if one of them does not fit any more. */
static bool debit_whole(struct fed *fed, struct cluster *cluster, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        struct flight *flight = &cluster->flights.items[i];
        if (resolve_flight(fed, cluster, flight))
            return false;
        keep_model(fed, cluster, flight->model);
        if (!debit(fed, cluster, flight, flight->size))
            return false;
    }
    return true;
}

/* Tries the flight with another size; the flights after it are packed again behind it. All or nothing. */
static bool resize(struct fed *fed, struct cluster *cluster, struct flight *flight, int32_t size)
{
    size_t at = (size_t)(flight - cluster->flights.items);
    int32_t before = flight->size;
    undo_from(cluster, at);
    flight->size = size;
    if (debit_whole(fed, cluster, at, cluster->flights.count))
        return true;
    undo_from(cluster, at);
    flight->size = before;
    redo_from(fed, cluster, at);
    return false;
}

bool fed_ledger_raise_step(struct fed *fed, struct cluster *cluster, uint64_t epoch)
{
    struct flight *flight = find(cluster, epoch);
    const struct tf_elastic *e = &flight->spec->elastic;
    int32_t size = flight->size + e->step;
    return size <= e->max && resize(fed, cluster, flight, size);
}

static void move(struct cluster *cluster, size_t from, size_t to)
{
    struct flight moved = cluster->flights.items[from];
    tf_vec_remove(&cluster->flights, from);
    for (size_t i = cluster->flights.count++; i > to; i--)
        cluster->flights.items[i] = cluster->flights.items[i - 1];
    cluster->flights.items[to] = moved;
}

/* The last flight takes all that the others leave; false if that is less than it has. */
static bool raise_last(struct fed *fed, struct cluster *cluster)
{
    struct flight *flight = &cluster->flights.items[cluster->flights.count - 1];
    struct tf_fit fit;
    if (resolve_flight(fed, cluster, flight))
        return false;
    keep_model(fed, cluster, flight->model);
    struct tf_fit_view view = tf_fit_rows_view(cluster->room);
    tf_fit_count(&view, &fed->demand, TF_LEVEL_FREE, fed->scratch, &fit);
    int32_t size = tf_size_align(&flight->spec->elastic, fit.count);
    if (size < flight->size || !debit(fed, cluster, flight, size))
        return false;
    flight->size = size;
    return true;
}

/* The flight goes behind all others, so that what it can take is what is left. Packed in another order some
 * may not fit any more: then all stays as it was. */
void fed_ledger_raise_most(struct fed *fed, struct cluster *cluster, uint64_t epoch)
{
    size_t at = (size_t)(find(cluster, epoch) - cluster->flights.items), last = cluster->flights.count - 1;
    undo_from(cluster, at);
    move(cluster, at, last);
    if (debit_whole(fed, cluster, at, last) && raise_last(fed, cluster))
        return;
    undo_from(cluster, at);
    move(cluster, last, at);
    redo_from(fed, cluster, at);
}

/* ---- the life of a flight ---- */

void fed_ledger_drop(struct fed *fed, struct cluster *cluster, uint64_t epoch)
{
    struct flight *flight = find(cluster, epoch);
    if (!flight)
        return;
    size_t at = (size_t)(flight - cluster->flights.items);
    undo_from(cluster, at);
    flight_release(flight);
    tf_vec_remove(&cluster->flights, at);
    redo_from(fed, cluster, at);
    fed_ledger_changed(fed, cluster);
}

void fed_ledger_numbered(struct cluster *cluster, uint64_t epoch, uint64_t n)
{
    struct flight *flight = find(cluster, epoch);
    if (flight && !flight->n)
        flight->n = n;
}
