/* SPDX-License-Identifier: Apache-2.0 */
/* Growth of fragmentation against the formula itself (BOUNDS.md §1, FGD): F of a node is its idle GPUs times
 * the popularity of the shapes that it cannot run. Every shape, every node, no short cuts. */
#include "common/base/rng.h"
#include "common/fit/pack.h"

#include "tests/support/suite.h"
#include "tests/unit/fit/fleet.h"

#include <math.h>

enum { ROUNDS = 3000, SHAPES_MAX = 8, ROWS_MAX = 6 };

struct trial {
    struct tf_rng rng;
    struct fleet fleet;
    struct tf_job_spec specs[SHAPES_MAX];
    struct tf_mix_shape shapes[SHAPES_MAX];
    size_t shape_count;
    struct tf_mix mix;
    struct tf_fit_view view;
};

static const char *const models[] = {"H800", "A100"};

static int32_t draw(struct trial *t, int32_t low, int32_t high)
{
    return (int32_t)tf_rng_range(&t->rng, low, high);
}

static struct tf_job_spec random_spec(struct trial *t)
{
    struct tf_job_spec spec = fleet_spec(1, draw(t, 1, 8), draw(t, 0, 40), draw(t, 0, 300));
    if (draw(t, 0, 2) == 0)
        tf_strs_add(&spec.group.shape.gpu_models, models[draw(t, 0, 1)]);
    return spec;
}

static void set_up(struct trial *t)
{
    fleet_plane(&t->fleet, "parameter", "pod", NULL);
    for (int rows = draw(t, 1, ROWS_MAX); rows > 0; rows--)
        fleet_row(&t->fleet, draw(t, 1, 3), models[draw(t, 0, 1)], "p",
                  fleet_vector(draw(t, 0, 8), draw(t, 0, 60), draw(t, 0, 400)));
    t->view = fleet_view(&t->fleet);
    t->shape_count = (size_t)draw(t, 1, SHAPES_MAX);
    for (size_t i = 0; i < t->shape_count; i++) {
        t->specs[i] = random_spec(t);
        t->shapes[i] = (struct tf_mix_shape){&t->specs[i], 0, draw(t, 1, 50)};
    }
    tf_mix_resolve(&t->mix, t->shapes, t->shape_count, t->view.catalog);
}

static void tear_down(struct trial *t)
{
    for (size_t i = 0; i < t->shape_count; i++)
        tf_job_spec_release(&t->specs[i]);
    tf_mix_release(&t->mix);
    fleet_release(&t->fleet);
    t->fleet = (struct fleet){0};
}

/* ---- the formula ---- */

static bool can_run(const struct tf_job_spec *spec, const char *model, struct tf_vector have)
{
    const struct tf_shape *s = &spec->group.shape;
    if (s->gpu_models.count && !tf_strs_has(&s->gpu_models, model))
        return false;
    return s->gpus <= have.gpus && s->cpu <= have.cpu && s->memory <= have.memory && have.slots >= 1;
}

static int64_t fragmentation(const struct trial *t, const char *model, struct tf_vector have)
{
    int64_t sum = 0;
    for (size_t i = 0; i < t->shape_count; i++)
        if (!can_run(&t->specs[i], model, have))
            sum += (int64_t)have.gpus * t->shapes[i].weight;
    return sum;
}

static void check_growth(const struct trial *t)
{
    tf_vec_each (row, &t->fleet.profile.rows) {
        const char *model = t->fleet.profile.classes.items[row->class].model;
        struct tf_vector have = row->levels.items[0].have;
        CU_ASSERT_EQUAL(tf_mix_fragmentation(&t->mix, row->class, have), fragmentation(t, model, have));
        for (size_t i = 0; i < t->shape_count; i++) {
            struct tf_vector need = tf_shape_vector(&t->specs[i].group.shape);
            if (!tf_vector_fits(need, have))
                continue;
            CU_ASSERT_EQUAL(tf_mix_growth(&t->mix, row->class, have, need),
                            fragmentation(t, model, tf_vector_sub(have, need)) -
                                fragmentation(t, model, have));
        }
    }
}

/* ---- packing by it ---- */

/* So many GPUs go with one of it in the mix, `asked` of which is asked for in all. */
static double worth(double gpus, double asked)
{
    return gpus > 0 && asked > 0 ? gpus / asked : 0;
}

/* 64 GPUs for each by which fragmentation grows, and what is left, in GPUs. */
static double cost(const struct trial *t, const struct tf_job_spec *spec, const char *model,
                   struct tf_vector have)
{
    struct tf_vector left = tf_vector_sub(have, tf_shape_vector(&spec->group.shape));
    double weight = 0, gpus = 0, cpu = 0, memory = 0;
    for (size_t i = 0; i < t->shape_count; i++) {
        const struct tf_shape *shape = &t->specs[i].group.shape;
        weight += t->shapes[i].weight;
        gpus += (double)t->shapes[i].weight * shape->gpus;
        cpu += (double)t->shapes[i].weight * (double)shape->cpu;
        memory += (double)t->shapes[i].weight * (double)shape->memory;
    }
    double growth = (double)(fragmentation(t, model, left) - fragmentation(t, model, have)) / weight;
    return 64 * growth + left.gpus + worth(gpus, cpu) * (double)left.cpu +
           worth(gpus, memory) * (double)left.memory;
}

/* On the nodes of the model that pack settles on; INFINITY: there is none. */
static double least_cost(const struct trial *t, const struct tf_job_spec *spec, const char *model)
{
    double least = INFINITY;
    tf_vec_each (row, &t->fleet.profile.rows) {
        struct tf_vector have = row->levels.items[0].have;
        const char *its = t->fleet.profile.classes.items[row->class].model;
        if (strcmp(its, model) == 0 && can_run(spec, its, have))
            least = fmin(least, cost(t, spec, its, have));
    }
    return least;
}

static void check_pack(const struct trial *t, const struct tf_job_spec *spec)
{
    TF_AUTO(tf_fit_scratch) scratch = tf_fit_scratch_create();
    struct tf_demand demand = {0};
    struct tf_fit_placement placement = {0};
    CU_ASSERT_EQUAL_FATAL(tf_demand_resolve(&demand, spec, 0, t->view.catalog, NULL), 0);
    if (tf_fit_pack(&t->view, &demand, TF_LEVEL_FREE, 1, &t->mix, scratch, &placement)) {
        const struct tf_profile_row *row = &t->fleet.profile.rows.items[placement.rows.items[0].row];
        const char *model = t->fleet.profile.classes.items[row->class].model;
        struct tf_vector have = row->levels.items[0].have;
        CU_ASSERT_TRUE(can_run(spec, model, have));
        CU_ASSERT(cost(t, spec, model, have) <=
                  least_cost(t, spec, model) + 0.05); /* it counts in integers */
    } else
        for (size_t i = 0; i < sizeof models / sizeof models[0]; i++)
            CU_ASSERT(isinf(least_cost(t, spec, models[i])));
    tf_demand_release(&demand);
    tf_fit_placement_release(&placement);
}

static void test_formula(void)
{
    struct trial t = {0};
    tf_rng_init(&t.rng, suite_seed(1));
    for (int i = 0; i < ROUNDS; i++) {
        set_up(&t);
        check_growth(&t);
        check_pack(&t, &t.specs[0]);
        tear_down(&t);
    }
}

int main(void)
{
    static const struct suite_test tests[] = {{"as the formula says", test_formula}};
    return suite_run("fit/growth", tests, 1);
}
