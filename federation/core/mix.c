/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what unfinished jobs ask for, and which of that is told. Which subcluster a job goes to is not decided
 * by the mix, only which of its nodes: it may lag. Each time that it is told costs every subcluster a stored
 * record, so it is told less often the more often it changes. */
#include "federation/core/mix.h"

#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "federation/core/candidate.h"
#include "federation/core/desired.h"
#include "federation/core/image.h"
#include "federation/core/jobs.h"
#include "federation/core/queue.h"

#include <assert.h>

enum {
    TOLD_MAX = 32,         /* shapes: what a subcluster goes through for each row that has something idle */
    SOON = 10 * TF_SECOND, /* after a change; and a job that has waited less is about to be placed */
    SELDOM = 600 * TF_SECOND, /* when the mix changes all the time */
};

struct ask {
    char *key;
    const struct tf_job_spec *spec; /* what tf_shape_asked says that is set, and where it may run */
    int64_t jobs, instances;        /* of all unfinished jobs of the kind */
    bool waits;                     /* as of the look under way */
    uint64_t told_in; /* its spec is the one at told_at of the mix that was made as the so many-th */
    size_t told_at;
    UT_hash_handle hh;
};

/* ---- kinds ---- */

/* All that decides whether something idle is of use to it. */
static char *key_of(const struct tf_job_spec *s)
{
    const struct tf_shape *shape = &s->group.shape;
    struct tf_buf key = TF_BUF_INIT;
    tf_buf_ints(&key, shape->gpus, shape->gpu_memory, shape->cpu, shape->memory, s->max_nodes);
    tf_buf_char(&key, ';');
    tf_buf_ints(&key, s->elastic.min, s->elastic.step);
    tf_buf_cat(&key, ";", s->priority ? s->priority : "", ";");
    fed_queue_key(&key, s);
    return tf_buf_take(&key);
}

static const struct tf_job_spec *kind_of(const struct tf_job_spec *from)
{
    struct tf_job_spec kind = {.elastic = from->elastic, .max_nodes = from->max_nodes};
    kind.elastic.max = 0;
    kind.group.shape = from->group.shape;
    kind.priority = from->priority;
    kind.topology = from->topology;
    kind.node_labels = from->node_labels;
    kind.clusters = from->clusters;
    kind.regions = from->regions;
    struct tf_job_spec copy = {0};
    tf_job_spec_copy(&copy, &kind); /* the rest of kind is lent */
    return tf_spec_share(&copy);
}

static struct ask *ask_of(struct fed *fed, const struct tf_job_spec *spec)
{
    TF_AUTO_FREE char *key = key_of(spec);
    struct ask *ask = NULL;
    HASH_FIND_STR(fed->asks, key, ask);
    if (ask)
        return ask;
    ask = tf_calloc(1, sizeof *ask);
    ask->spec = kind_of(spec);
    ask->key = TF_STEAL(key);
    HASH_ADD_KEYPTR(hh, fed->asks, ask->key, strlen(ask->key), ask);
    return ask;
}

static void destroy(struct fed *fed, struct ask *ask)
{
    HASH_DELETE(hh, fed->asks, ask);
    tf_spec_drop(ask->spec);
    free(ask->key);
    free(ask);
}

void fed_mix_drop(struct fed *fed, struct job *job)
{
    struct ask *ask = job->ask;
    if (!ask)
        return;
    job->ask = NULL;
    ask->jobs--;
    ask->instances -= job->asked;
    if (ask->jobs == 0)
        destroy(fed, ask);
    fed_mix_touch(fed);
}

void fed_mix_file(struct fed *fed, struct job *job)
{
    const struct tf_job_spec *spec = job->record.spec;
    struct ask *ask = NULL;
    if (!tf_phase_is_final(job->record.phase) && spec->group.shape.gpus > 0)
        ask = ask_of(fed, spec);
    if (ask == job->ask)
        return;
    if (ask) {
        ask->jobs++; /* first: the old one may be the same */
        ask->instances += spec->elastic.min;
    }
    fed_mix_drop(fed, job);
    job->ask = ask;
    job->asked = spec->elastic.min;
    fed_mix_touch(fed);
}

/* ---- what is told ---- */

/* Waiting work first, then what is asked for most: a total order. */
static bool counts_more(const struct ask *a, const struct ask *b)
{
    if (a->waits != b->waits)
        return a->waits;
    if (a->instances != b->instances)
        return a->instances > b->instances;
    return strcmp(a->key, b->key) < 0;
}

/* Those that count most, so far, in that order. */
struct top {
    struct ask *asks[TOLD_MAX];
    size_t count;
};

static void add_to_top(struct top *top, struct ask *ask)
{
    size_t at = top->count;
    if (at == TOLD_MAX && !counts_more(ask, top->asks[--at]))
        return;
    for (; at > 0 && counts_more(ask, top->asks[at - 1]); at--)
        top->asks[at] = top->asks[at - 1];
    top->asks[at] = ask;
    top->count += top->count < TOLD_MAX;
}

/* Marks the kinds of which a job has waited for a while; false if one will have, soon. */
static bool mark_waiting(struct fed *fed)
{
    bool settled = true;
    for (struct ask *ask = fed->asks; ask; ask = ask->hh.next)
        ask->waits = false;
    for (struct shape *shape = fed->shapes; shape; shape = shape->hh.next) {
        const struct job *job = fed_queue_first(shape);
        if (!job->ask || job->ask->waits)
            continue;
        job->ask->waits = fed->now.wall.ms - job->record.changed.ms >= SOON;
        settled &= job->ask->waits;
    }
    return settled;
}

static int by_key(const void *a, const void *b)
{
    return strcmp((*(struct ask *const *)a)->key, (*(struct ask *const *)b)->key);
}

static int32_t instances_of(const struct ask *ask)
{
    return ask->instances < 1 ? 1 : ask->instances > INT32_MAX ? INT32_MAX : (int32_t)ask->instances;
}

static void note_told(const struct fed *fed, struct ask *ask, size_t at)
{
    ask->told_in = fed->mix_made;
    ask->told_at = at;
}

/* Specs are compared only once a kind that was gone is there again. */
static bool is_spec_told(const struct fed *fed, struct ask *ask, size_t at)
{
    if (ask->told_in == fed->mix_made && ask->told_at == at)
        return true;
    if (!tf_spec_eq(fed->mix.items[at].spec, ask->spec))
        return false;
    note_told(fed, ask, at);
    return true;
}

/* How many ask is a rough figure: only when it has doubled, or halved, it is another. */
static bool is_told(const struct fed *fed, const struct top *top)
{
    if (top->count != fed->mix.count)
        return false;
    for (size_t i = 0; i < top->count; i++) {
        const struct tf_shape_asked *told = &fed->mix.items[i];
        int64_t now = instances_of(top->asks[i]);
        if (told->waits != top->asks[i]->waits || now >= 2 * (int64_t)told->instances ||
            2 * now <= told->instances || !is_spec_told(fed, top->asks[i], i))
            return false;
    }
    return true;
}

static void set_mix(struct fed *fed, const struct top *top)
{
    tf_shapes_release(&fed->mix);
    fed->mix_made++;
    for (size_t i = 0; i < top->count; i++) {
        struct tf_shape_asked *shape = tf_vec_add(&fed->mix);
        note_told(fed, top->asks[i], i);
        shape->spec = tf_spec_take(top->asks[i]->spec);
        shape->instances = instances_of(top->asks[i]);
        shape->waits = top->asks[i]->waits;
    }
}

/* True if it is another than it was. */
static bool look(struct fed *fed)
{
    struct top top = {.count = 0};
    fed->mix_due = TF_NEVER;
    bool settled = mark_waiting(fed);
    for (struct ask *ask = fed->asks; ask; ask = ask->hh.next)
        add_to_top(&top, ask);
    if (top.count > 1)
        qsort(top.asks, top.count, sizeof top.asks[0], by_key);
    bool changed = !is_told(fed, &top);
    if (changed)
        set_mix(fed, &top);
    fed->mix_pace = changed ? 2 * fed->mix_pace : fed->mix_pace / 2;
    fed->mix_pace = fed->mix_pace < SOON ? SOON : fed->mix_pace > SELDOM ? SELDOM : fed->mix_pace;
    fed->mix_after.ms = fed->now.mono.ms + fed->mix_pace;
    if (!settled)
        fed_mix_touch(fed);
    return changed;
}

/* ---- when ---- */

static bool is_stopped(const struct fed *fed)
{
    return fed->stage != FED_STAGE_OPEN || fed->closed;
}

void fed_mix_touch(struct fed *fed)
{
    int64_t at = fed->now.mono.ms + SOON;
    if (at < fed->mix_after.ms)
        at = fed->mix_after.ms;
    if (at < fed->mix_due.ms)
        fed->mix_due.ms = at;
}

void fed_mix_begin(struct fed *fed)
{
    (void)look(fed);
}

void fed_mix_run(struct fed *fed)
{
    if (is_stopped(fed) || fed->now.mono.ms < fed->mix_due.ms || !look(fed))
        return;
    tf_vec_each (c, &fed->clusters)
        if ((*c)->set_sent)
            fed_desired_send(fed, *c, TF_DOWN_POLICY);
}

struct tf_mono fed_mix_next(const struct fed *fed)
{
    return is_stopped(fed) ? TF_NEVER : fed->mix_due;
}

static void drop_places(const struct tf_job_spec **shared)
{
    if ((*shared)->clusters.count + (*shared)->regions.count == 0)
        return;
    struct tf_job_spec *own = tf_spec_own(shared);
    tf_strs_release(&own->clusters);
    tf_strs_release(&own->regions);
}

/* Which subclusters it may use is not for them to judge: nothing that cannot come is told at all. */
void fed_mix_of(const struct fed *fed, const struct cluster *cluster, struct tf_shapes *out)
{
    tf_vec_each (shape, &fed->mix) {
        if (!fed_candidate_lets(shape->spec, cluster))
            continue;
        struct tf_shape_asked *own = tf_vec_add(out);
        own->spec = tf_spec_take(shape->spec);
        drop_places(&own->spec);
        own->instances = shape->instances;
        own->waits = shape->waits;
    }
}

/* The same shapes in the same order as fed_mix_of tells, and of the same weights: the subcluster packs by
 * them, too. */
static void resolve(const struct fed *fed, struct cluster *cluster, const struct tf_catalog *catalog)
{
    TF_VEC(struct tf_mix_shape) shapes = {0};
    tf_vec_each (s, &fed->mix) {
        struct tf_mix_shape shape = {s->spec, 0, tf_mix_weight(s->spec, s->instances)};
        if (fed_candidate_lets(s->spec, cluster))
            tf_vec_push(&shapes, shape);
    }
    tf_mix_resolve(&cluster->mix, shapes.items, shapes.count, catalog);
    tf_vec_release(&shapes);
}

const struct tf_mix *fed_mix_resolved(const struct fed *fed, struct cluster *cluster)
{
    const struct tf_catalog *catalog = tf_fit_rows_view(cluster->room).catalog;
    if (cluster->mix_made != fed->mix_made || cluster->mix_classes != catalog->classes.count) {
        resolve(fed, cluster, catalog);
        cluster->mix_made = fed->mix_made;
        cluster->mix_classes = catalog->classes.count;
    }
    return &cluster->mix;
}

void fed_mix_release(struct fed *fed)
{
    struct ask *ask, *next;
    HASH_ITER (hh, fed->asks, ask, next)
        destroy(fed, ask);
    tf_shapes_release(&fed->mix);
}

void fed_mix_image(struct tf_image *image, struct fed *fed)
{
    tf_image_skip(image, &fed->asks, "made of the jobs");
    for (struct job *job = fed_job_first(fed); job && tf_image_is_reading(image);
         job = fed_job_following(job))
        if (job->charged)
            fed_mix_file(fed, job);
    tf_image_shapes(image, &fed->mix);
    tf_image_number(image, &fed->mix_due);
    tf_image_number(image, &fed->mix_after);
    tf_image_number(image, &fed->mix_pace);
    tf_image_skip(image, &fed->mix_made, "tells when subclusters' own must be resolved anew");
}
