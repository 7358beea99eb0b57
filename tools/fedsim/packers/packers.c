/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the arrival of pods and the six choices. What fragmentation is, and which nodes are alike, is
 * common/fit's. */
#include "tools/fedsim/packers/packers.h"

#include "common/base/cleanup.h"
#include "common/base/hash.h"
#include "common/base/rng.h"
#include "common/fit/rows.h"

#include <inttypes.h>

enum { PARTS = 1 << 20, WHOLE = 10000 };

static const char *const names[PACKERS] = {
    [PACKER_RANDOM] = "random",     [PACKER_DOT_PRODUCT] = "dot product",
    [PACKER_BEST_FIT] = "best fit", [PACKER_FRAGMENTATION] = "least fragmentation growth",
    [PACKER_TIGHTEST] = "tightest", [PACKER_WEIGHED] = "growth and what is left",
};

const char *packer_name(enum packer packer)
{
    return names[packer];
}

/* ---- pods ---- */

/* Pods that ask for the same. */
struct shape {
    char *key;
    struct tf_job_spec spec;
    struct tf_demand demand;
    int32_t weight;
    UT_hash_handle hh;
};

struct yard {
    const struct tf_trace_nodes *nodes;
    struct shape *shapes;
    TF_VEC(struct shape *) pods; /* as they arrive */
    struct tf_vector largest;    /* node */
    int64_t gpus;
};

static struct shape *shape_of(struct yard *yard, const struct tf_trace_job *job)
{
    TF_AUTO_FREE char *key = tf_asprintf("%d|%" PRId64 "|%" PRId64 "|%s", job->gpus, job->cpu, job->memory,
                                         job->gpu_models ? job->gpu_models : "");
    struct shape *shape = NULL;
    HASH_FIND_STR(yard->shapes, key, shape);
    if (shape)
        return shape;
    struct tf_job_manifest manifest = {0};
    struct tf_trace_job named = *job;
    static char any[] = "any";
    named.priority = any;
    if (tf_trace_job_manifest(&named, &manifest, NULL))
        return NULL;
    shape = tf_calloc(1, sizeof *shape);
    shape->key = TF_STEAL(key);
    tf_job_spec_copy(&shape->spec, &manifest.spec);
    tf_job_manifest_release(&manifest);
    HASH_ADD_KEYPTR(hh, yard->shapes, shape->key, strlen(shape->key), shape);
    return shape;
}

static int64_t add_pods(struct yard *yard, const struct tf_trace_jobs *jobs)
{
    int64_t asked = 0;
    tf_vec_each (job, jobs) {
        struct shape *shape =
            job->instances == 1 && job->gpus > 0 && !job->fractional ? shape_of(yard, job) : NULL;
        if (!shape)
            continue;
        shape->weight++;
        asked += job->gpus;
        tf_vec_push(&yard->pods, shape);
    }
    return asked;
}

static void yard_release(struct yard *yard)
{
    struct shape *shape, *next;
    HASH_ITER (hh, yard->shapes, shape, next) {
        HASH_DEL(yard->shapes, shape);
        tf_job_spec_release(&shape->spec);
        tf_demand_release(&shape->demand);
        free(shape->key);
        free(shape);
    }
    tf_vec_release(&yard->pods);
}

/* ---- a fleet that fills up ---- */

struct fleet {
    struct tf_fit_rows *rows;
    struct tf_mix mix;
    struct tf_rng rng;
};

static void fill_rows(struct fleet *fleet, const struct tf_trace_nodes *nodes)
{
    const struct tf_planes planes = {0};
    const struct tf_strs labels = {0};
    fleet->rows = tf_fit_rows_create(&planes);
    tf_vec_each (node, nodes) {
        struct tf_node plain = *node;
        plain.domains = (struct tf_strs){0};
        struct tf_node_class class = {0};
        struct tf_profile_row row = {.claim_rank = -1};
        tf_fit_node_class(&plain, &labels, &class);
        row.class = tf_fit_rows_class(fleet->rows, &class);
        tf_fit_node_levels(&plain, NULL, 0, NULL, 0, &row.levels);
        tf_fit_rows_add(fleet->rows, &row, 1);
        tf_node_class_release(&class);
        tf_vec_release(&row.levels);
    }
}

static int by_weight(const void *a, const void *b)
{
    const struct tf_mix_shape *x = a, *y = b;
    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    return x->rank - y->rank; /* as they came first */
}

/* The most frequent shapes; all are resolved for choosing. */
static void make_mix(struct fleet *fleet, struct yard *yard)
{
    struct tf_fit_view view = tf_fit_rows_view(fleet->rows);
    TF_VEC(struct tf_mix_shape) shapes = {0};
    for (struct shape *shape = yard->shapes; shape; shape = shape->hh.next) {
        struct tf_mix_shape one = {&shape->spec, (int)shapes.count,
                                   tf_mix_weight(&shape->spec, shape->weight)};
        tf_vec_push(&shapes, one);
        tf_demand_resolve(&shape->demand, &shape->spec, 0, view.catalog, NULL);
    }
    qsort(shapes.items, shapes.count, sizeof *shapes.items, by_weight);
    tf_vec_each (shape, &shapes)
        shape->rank = 0;
    tf_mix_resolve(&fleet->mix, shapes.items, shapes.count, view.catalog);
    tf_vec_release(&shapes);
}

/* ---- choosing ---- */

static int64_t part(int64_t amount, int64_t of)
{
    return of > 0 ? amount * PARTS / of : 0;
}

static int64_t what_is_left(struct tf_vector left, struct tf_vector largest)
{
    return part(left.gpus, largest.gpus) + part(left.cpu, largest.cpu) + part(left.memory, largest.memory);
}

static int64_t product(struct tf_vector need, struct tf_vector have, struct tf_vector largest)
{
    enum { SHRINK = PARTS >> 10 }; /* so that the sum of squares stays small */
    return part(need.gpus, largest.gpus) / SHRINK * part(have.gpus, largest.gpus) +
           part(need.cpu, largest.cpu) / SHRINK * part(have.cpu, largest.cpu) +
           part(need.memory, largest.memory) / SHRINK * part(have.memory, largest.memory);
}

/* The smaller is chosen. */
struct score {
    int64_t first, second;
};

/* In order: GPUs, then CPU, then memory. */
static struct score tightest(struct tf_vector left)
{
    return (struct score){left.gpus * TF_QUANTITY_MAX + left.cpu, left.memory};
}

static struct score score(enum packer packer, const struct yard *yard, struct fleet *fleet,
                          const struct tf_profile_row *row, struct tf_vector need)
{
    struct tf_vector have = tf_profile_row_at(row, TF_LEVEL_FREE);
    int64_t left = what_is_left(tf_vector_sub(have, need), yard->largest);
    switch (packer) {
    case PACKER_DOT_PRODUCT:
        return (struct score){product(need, have, yard->largest), 0};
    case PACKER_FRAGMENTATION:
        return (struct score){tf_mix_growth(&fleet->mix, row->class, have, need), left};
    case PACKER_TIGHTEST:
        return tightest(tf_vector_sub(have, need));
    case PACKER_WEIGHED:
        return (struct score){tf_mix_cost(&fleet->mix, row->class, have, need), 0};
    case PACKER_BEST_FIT:
    case PACKER_RANDOM:
    case PACKERS:
        break;
    }
    return (struct score){left, 0};
}

static bool is_better(struct score a, struct score b)
{
    return a.first != b.first ? a.first < b.first : a.second < b.second;
}

/* The row of the node that takes it; -1: none can. */
static int64_t choose(enum packer packer, const struct yard *yard, struct fleet *fleet,
                      const struct shape *shape)
{
    struct tf_fit_view view = tf_fit_rows_view(fleet->rows);
    struct score best = {0};
    int64_t chosen = -1, seen = 0;
    for (size_t i = 0; i < view.count; i++) {
        const struct tf_profile_row *row = &view.rows[i];
        if (row->count == 0 || !tf_vector_fits(shape->demand.need, tf_profile_row_at(row, TF_LEVEL_FREE)) ||
            tf_demand_admits(&shape->demand, view.catalog, row->class) < 0)
            continue;
        if (packer == PACKER_RANDOM) { /* each of so many nodes with the same chance */
            seen += row->count;
            if ((int64_t)tf_rng_below(&fleet->rng, (uint64_t)seen) < row->count)
                chosen = (int64_t)i;
            continue;
        }
        struct score its = score(packer, yard, fleet, row, shape->demand.need);
        if (chosen < 0 || is_better(its, best)) {
            chosen = (int64_t)i;
            best = its;
        }
    }
    return chosen;
}

static void take(struct fleet *fleet, uint32_t from, struct tf_vector need)
{
    struct tf_fit_view view = tf_fit_rows_view(fleet->rows);
    struct tf_profile_row row = view.rows[from];
    struct tf_level_vector free = row.levels.items[0];
    free.have = tf_vector_sub(free.have, need);
    row.levels = (struct tf_level_vectors){&free, 1, 1};
    tf_fit_rows_move(fleet->rows, from, &row);
    if (tf_fit_rows_changed(fleet->rows) > view.count / 2)
        tf_fit_rows_mark(fleet->rows); /* forgets rows that have lost their nodes */
}

/* ---- one order ---- */

static void shuffle(struct yard *yard, struct tf_rng *rng)
{
    for (size_t i = yard->pods.count; i > 1; i--) {
        size_t other = (size_t)tf_rng_below(rng, i);
        struct shape *keep = yard->pods.items[i - 1];
        yard->pods.items[i - 1] = yard->pods.items[other];
        yard->pods.items[other] = keep;
    }
}

struct outcome {
    int64_t given, refused;
};

/* The same seed gives every packer the same arrivals. */
static struct outcome run_order(enum packer packer, struct yard *yard, uint64_t seed)
{
    struct fleet fleet = {0};
    struct tf_rng arrivals;
    struct outcome outcome = {0};
    TF_AUTO_FREE struct shape **order = tf_memdup(yard->pods.items, yard->pods.count * sizeof *order);
    tf_rng_init(&arrivals, seed);
    tf_rng_init(&fleet.rng, ~seed);
    fill_rows(&fleet, yard->nodes);
    make_mix(&fleet, yard);
    size_t next = yard->pods.count;
    for (int64_t asked = 0; asked < yard->gpus; next++) {
        if (next == yard->pods.count) {
            shuffle(yard, &arrivals);
            next = 0;
        }
        const struct shape *pod = yard->pods.items[next];
        int64_t row = choose(packer, yard, &fleet, pod);
        asked += pod->demand.need.gpus;
        if (row >= 0) {
            take(&fleet, (uint32_t)row, pod->demand.need);
            outcome.given += pod->demand.need.gpus;
        }
        outcome.refused += row < 0;
    }
    memcpy(yard->pods.items, order, yard->pods.count * sizeof *order);
    tf_fit_rows_destroy(fleet.rows);
    tf_mix_release(&fleet.mix);
    return outcome;
}

static void run_packer(enum packer packer, struct yard *yard, uint64_t seed, int32_t orders,
                       struct packer_result *out)
{
    struct tf_rng seeds;
    tf_rng_init(&seeds, seed);
    *out = (struct packer_result){.least = INT64_MAX};
    for (int32_t i = 0; i < orders; i++) {
        struct outcome outcome = run_order(packer, yard, tf_rng_next(&seeds));
        int64_t given = outcome.given * WHOLE / yard->gpus;
        out->mean += given;
        out->refused += outcome.refused;
        out->least = given < out->least ? given : out->least;
        out->most = given > out->most ? given : out->most;
    }
    out->mean /= orders;
    out->refused /= orders;
}

int packers_run(const struct tf_trace_nodes *nodes, const struct tf_trace_jobs *jobs, uint64_t seed,
                int32_t orders, struct packers_result *out, struct tf_error *err)
{
    struct yard yard = {.nodes = nodes};
    *out = (struct packers_result){.nodes = nodes->count};
    tf_vec_each (node, nodes) {
        yard.gpus += node->capacity.gpus;
        yard.largest = tf_vector_max(yard.largest, node->capacity);
    }
    out->gpus = yard.gpus;
    out->asked = add_pods(&yard, jobs);
    out->pods = yard.pods.count;
    out->all = jobs->count;
    bool good = yard.gpus > 0 && out->asked > 0;
    for (int packer = 0; good && packer < PACKERS; packer++)
        run_packer((enum packer)packer, &yard, seed, orders, &out->of[packer]);
    yard_release(&yard);
    if (good)
        return 0;
    return tf_error_set(err, TF_ERR_INVALID,
                        out->gpus ? "no job of the trace has one instance with whole GPUs"
                                  : "the nodes have no GPUs");
}
