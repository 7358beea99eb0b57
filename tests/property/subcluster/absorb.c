/* SPDX-License-Identifier: Apache-2.0 */
/* What a round of absorbing gives out, against brute force: every way to give out steps. */
#include "subcluster/core/absorb_plan.h"

#include "common/base/cleanup.h"
#include "common/base/rng.h"
#include "tests/support/suite.h"

#include <stdio.h>

enum { JOBS = 5, GPUS = 8 };

struct field {
    struct tf_catalog catalog;
    struct absorb_plan plan;
    struct tf_fit_scratch *scratch;
};

/* Two pods with two switches each; node i is in one of them. */
static void field_init(struct field *f)
{
    struct tf_planes planes = {0};
    struct tf_plane *plane = tf_vec_add(&planes);
    plane->name = tf_strdup("parameter");
    tf_strs_add(&plane->levels, "pod");
    *f = (struct field){.scratch = tf_fit_scratch_create()};
    tf_catalog_init(&f->catalog, &planes);
    for (int i = 0; i < 3; i++) {
        char pod[16];
        struct tf_node_class class = {.model = tf_strdup(i < 2 ? "H800" : "H20")};
        snprintf(pod, sizeof pod, "pod-%d", i);
        tf_strs_add(&class.domains, pod);
        (void)tf_catalog_add(&f->catalog, &class);
        tf_node_class_release(&class);
    }
    f->plan.room.catalog = &f->catalog;
    tf_planes_release(&planes);
}

static void field_release(struct field *f)
{
    absorb_plan_release(&f->plan);
    tf_catalog_release(&f->catalog);
    tf_fit_scratch_destroy(f->scratch);
}

static void add_node(struct field *f, uint32_t class, int32_t gpus)
{
    struct tf_profile_row like = {
        .id = 3 * (uint32_t)f->plan.room.rows.count, .class = class, .claim_rank = -1};
    absorb_room_add(&f->plan.room, &like,
                    (struct tf_vector){.gpus = gpus, .slots = 64, .cpu = 64000, .memory = 64000});
}

static struct absorb_job *add_job(struct field *f, int rank, int32_t size, int32_t max, int32_t step,
                                  int32_t gpus)
{
    struct absorb_job *job = tf_vec_add(&f->plan.jobs);
    job->uid.bytes[0] = (uint8_t)f->plan.jobs.count;
    job->rank = rank;
    job->size = size;
    job->max = max;
    job->demand.need = (struct tf_vector){.gpus = gpus, .slots = 1, .cpu = 1000, .memory = 1000};
    job->demand.step = job->demand.core = step;
    job->demand.rank = rank;
    job->demand.ends = TF_DEMAND_ENDLESS;
    tf_vec_push(&job->demand.models, 0);
    return job;
}

static int32_t below(struct tf_rng *rng, int32_t n)
{
    return (int32_t)tf_rng_below(rng, (uint64_t)n);
}

/* ---- equal steps: the lexicographic max-min ---- */

struct ratio {
    int64_t size, max;
};

static int by_ratio(const void *a, const void *b)
{
    const struct ratio *x = a, *y = b;
    int64_t d = x->size * y->max - y->size * x->max;
    return d < 0 ? -1 : d > 0;
}

/* Of all jobs, the lowest first, when they have so many steps more. */
static void ratios(const struct field *f, const int32_t *steps, struct ratio out[JOBS])
{
    for (size_t i = 0; i < f->plan.jobs.count; i++) {
        const struct absorb_job *job = &f->plan.jobs.items[i];
        out[i] = (struct ratio){job->size + steps[i] * job->demand.step, job->max};
    }
    qsort(out, f->plan.jobs.count, sizeof *out, by_ratio);
}

static int cmp_ratios(const struct ratio *a, const struct ratio *b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (by_ratio(&a[i], &b[i]))
            return by_ratio(&a[i], &b[i]);
    return 0;
}

/* Tries all ways to give `left` steps to the jobs from `at` on. */
static void best_ratios(const struct field *f, int32_t *steps, size_t at, int32_t left,
                        struct ratio best[JOBS])
{
    if (at == f->plan.jobs.count) {
        struct ratio now[JOBS];
        ratios(f, steps, now);
        if (best[0].max == 0 || cmp_ratios(now, best, at) > 0)
            memcpy(best, now, sizeof now);
        return;
    }
    const struct absorb_job *job = &f->plan.jobs.items[at];
    for (int32_t s = 0; s <= left && job->size + s * job->demand.step <= job->max; s++) {
        steps[at] = s;
        best_ratios(f, steps, at + 1, left - s, best);
    }
}

static void test_max_min(void)
{
    struct tf_rng rng;
    tf_rng_init(&rng, suite_seed(411));
    for (size_t round = suite_rounds(3000); round > 0; round--) {
        struct field f;
        struct ratio best[JOBS] = {{0, 0}}, have[JOBS];
        int32_t steps[JOBS] = {0}, step = 1 + below(&rng, 3), nodes = below(&rng, 12);
        field_init(&f);
        for (int32_t i = 0; i < nodes; i++)
            add_node(&f, (uint32_t)below(&rng, 2), GPUS);
        for (int32_t i = 1 + below(&rng, JOBS); i > 0; i--) {
            int32_t max = 1 + below(&rng, 7);
            (void)add_job(&f, 0, step * (1 + below(&rng, max)), step * max, step, GPUS);
        }
        best_ratios(&f, steps, 0, nodes / step, best);
        CU_ASSERT(absorb_plan_make(&f.plan, 1 << 20, f.scratch));
        for (size_t i = 0; i < f.plan.jobs.count; i++)
            steps[i] = f.plan.jobs.items[i].steps;
        ratios(&f, steps, have);
        CU_ASSERT_FATAL(cmp_ratios(have, best, f.plan.jobs.count) == 0);
        field_release(&f);
    }
}

/* ---- unequal steps: the most GPUs that whole steps can use ---- */

/* Of `nodes` nodes, by a set of all sums. */
static int32_t most_used(const struct field *f, int32_t nodes)
{
    bool sums[512] = {true};
    tf_vec_each (job, &f->plan.jobs)
        for (int32_t s = (job->max - job->size) / job->demand.step; s > 0; s--)
            for (int32_t n = nodes; n >= job->demand.step; n--)
                sums[n] |= sums[n - job->demand.step];
    while (!sums[nodes])
        nodes--;
    return nodes;
}

static void test_most_used(void)
{
    static const int32_t mixed[] = {3, 5, 7, 8, 12}, powers[] = {8, 16, 32, 64};
    struct tf_rng rng;
    size_t repaired = 0;
    tf_rng_init(&rng, suite_seed(412));
    for (size_t round = suite_rounds(1500); round > 0; round--) {
        struct field f;
        int32_t nodes = below(&rng, 200), used = 0, smallest = INT32_MAX;
        bool odd = below(&rng, 2);
        field_init(&f);
        for (int32_t i = 0; i < nodes; i++)
            add_node(&f, 0, GPUS);
        for (int32_t i = 1 + below(&rng, JOBS); i > 0; i--) {
            int32_t step = odd ? mixed[below(&rng, 5)] : powers[below(&rng, 4)], max = 1 + below(&rng, 9);
            (void)add_job(&f, 0, step * (1 + below(&rng, max)), step * max, step, GPUS);
            smallest = step < smallest ? step : smallest;
        }
        int32_t most = most_used(&f, nodes);
        CU_ASSERT(absorb_plan_make(&f.plan, 1 << 20, f.scratch));
        tf_vec_each (job, &f.plan.jobs)
            used += job->steps * job->demand.step;
        CU_ASSERT_FATAL(used <= nodes && most - used < smallest);
        repaired += used == most;
        field_release(&f);
    }
    CU_ASSERT(repaired == suite_rounds(1500)); /* small enough for the exchange to be exact */
}

/* ---- anything ---- */

static int32_t room_for(const struct field *f, const struct absorb_job *job)
{
    int32_t count = 0;
    for (size_t i = 0; i < f->plan.room.rows.count; i++) {
        const struct tf_profile_row *row = &f->plan.room.rows.items[i];
        if (row->class < 2 && (!job->demand.rules.count || job->demand.rules.items[0].domain ==
                                                               tf_catalog_domain(&f->catalog, row->class, 0)))
            count += tf_vector_count(job->demand.need, f->plan.room.have.items[i].have);
    }
    return count;
}

static int32_t distinct(const struct absorb_job *job)
{
    int32_t count = 0;
    for (size_t i = 0; i < job->nodes.count; i++) {
        bool seen = false;
        for (size_t j = 0; j < i; j++)
            seen |= job->nodes.items[i] == job->nodes.items[j];
        count += !seen;
    }
    return count;
}

static void check_job(const struct field *f, const struct absorb_job *job)
{
    CU_ASSERT(job->nodes.count == (size_t)(job->steps * job->demand.step));
    CU_ASSERT(job->size + job->steps * job->demand.step <= job->max);
    tf_vec_each (id, &job->nodes) {
        const struct tf_profile_row *row = &f->plan.room.rows.items[*id / 3];
        CU_ASSERT(row->id == *id && row->class < 2);
        if (job->demand.rules.count)
            CU_ASSERT(tf_catalog_domain(&f->catalog, row->class, 0) == job->demand.rules.items[0].domain);
    }
}

/* What is left is what there was less what was given; no job could take one more step; a lower rank has a
 * step only where the higher one could not use it. */
static void check_plan(struct field *f, const struct tf_vector *before, const int32_t *limits)
{
    for (size_t i = 0; i < f->plan.room.rows.count; i++) {
        struct tf_vector sum = f->plan.room.have.items[i].have;
        tf_vec_each (job, &f->plan.jobs)
            tf_vec_each (id, &job->nodes)
                if (*id == f->plan.room.rows.items[i].id)
                    sum = tf_vector_add(sum, job->demand.need);
        CU_ASSERT(tf_vector_eq(sum, before[i]) &&
                  tf_vector_fits((struct tf_vector){0}, f->plan.room.have.items[i].have));
    }
    for (size_t i = 0; i < f->plan.jobs.count; i++) {
        const struct absorb_job *job = &f->plan.jobs.items[i];
        check_job(f, job);
        if (limits[i] >= 0)
            CU_ASSERT(distinct(job) <= limits[i]);
        bool full = job->size + (job->steps + 1) * job->demand.step > job->max;
        CU_ASSERT(full || limits[i] >= 0 || room_for(f, job) < job->demand.step);
    }
}

static void test_any(void)
{
    struct tf_rng rng;
    tf_rng_init(&rng, suite_seed(413));
    for (size_t round = suite_rounds(3000); round > 0; round--) {
        struct field f;
        struct tf_vector before[16];
        int32_t limits[JOBS], nodes = below(&rng, 16);
        field_init(&f);
        for (int32_t i = 0; i < nodes; i++) {
            add_node(&f, (uint32_t)below(&rng, 3), below(&rng, GPUS + 1));
            before[i] = f.plan.room.have.items[i].have;
        }
        for (int32_t i = 0, count = 1 + below(&rng, JOBS); i < count; i++) {
            int32_t step = 1 + below(&rng, 3), max = 1 + below(&rng, 6);
            struct absorb_job *job = add_job(&f, below(&rng, 2), step * (1 + below(&rng, max)), step * max,
                                             step, 1 + below(&rng, 5));
            limits[i] = below(&rng, 3) ? -1 : below(&rng, 4);
            if (limits[i] >= 0)
                job->demand.max_nodes = limits[i] ? limits[i] : TF_DEMAND_NO_NEW;
            if (below(&rng, 3) == 0)
                tf_vec_push(&job->demand.rules, (struct tf_demand_rule){.domain = below(&rng, 2)});
        }
        CU_ASSERT(absorb_plan_make(&f.plan, 1 << 20, f.scratch));
        check_plan(&f, before, limits);
        field_release(&f);
    }
}

/* What the more important can use it gets, whatever it leaves to the others. */
static void test_rank_first(void)
{
    struct field f;
    field_init(&f);
    for (int i = 0; i < 10; i++)
        add_node(&f, 0, GPUS);
    (void)add_job(&f, 0, 1, 100, 1, GPUS);
    (void)add_job(&f, 1, 90, 96, 6, GPUS);
    CU_ASSERT(absorb_plan_make(&f.plan, 1 << 20, f.scratch));
    CU_ASSERT(f.plan.jobs.items[1].steps == 1 && f.plan.jobs.items[0].steps == 4);
    field_release(&f);
}

/* A budget that is used up leaves a plan that is sound, and says so. */
static void test_budget(void)
{
    struct field f;
    field_init(&f);
    for (int i = 0; i < 10; i++)
        add_node(&f, 0, GPUS);
    (void)add_job(&f, 0, 1, 100, 1, GPUS);
    (void)add_job(&f, 0, 1, 100, 1, GPUS);
    CU_ASSERT(!absorb_plan_make(&f.plan, 25, f.scratch));
    int32_t given = f.plan.jobs.items[0].steps + f.plan.jobs.items[1].steps;
    CU_ASSERT(given > 0 && given < 10);
    CU_ASSERT(f.plan.jobs.items[0].nodes.count + f.plan.jobs.items[1].nodes.count == (size_t)given);
    field_release(&f);
}

int main(void)
{
    static const struct suite_test tests[] = {
        {"equal steps are given out as the lexicographic max-min", test_max_min},
        {"as many GPUs are used as whole steps can use", test_most_used},
        {"whatever is given fits, and nothing more does", test_any},
        {"the more important job comes first", test_rank_first},
        {"a used-up budget leaves a sound plan", test_budget},
    };
    return suite_run("property/absorb", tests, TF_ARRAY_LEN(tests));
}
