/* SPDX-License-Identifier: Apache-2.0 */
/* Victims against brute force: every set of what may go, on small random subclusters. */
#include "subcluster/core/victims/victims.h"

#include "common/base/cleanup.h"
#include "common/base/rng.h"
#include "tests/support/suite.h"

#include <stdio.h>

enum { NODES = 6, JOBS = 8, UNITS = 15, HOLDS = 24, DEMAND_RANK = 3 };

enum kind { HOLDS_GPUS, IS_GOING, CLAIMS }; /* it runs; its stop has begun; it waits for what others have */
#define NOBODY UINT32_MAX

struct hold {
    uint32_t unit; /* NOBODY: who is going is no unit any more */
    enum kind kind;
    struct tf_hold hold;
};

struct field {
    struct tf_planes planes;
    size_t node_count;
    struct tf_node nodes[NODES];
    struct hold holds[NODES][HOLDS];
    size_t hold_count[NODES];
    struct victim_part parts[NODES][HOLDS];
    struct victim_node detail[NODES];
    struct victim_unit units[UNITS];
    size_t unit_count;
    struct tf_fit_rows *rows;
    struct tf_profile_row each[NODES];
    struct tf_job_spec spec;
    struct tf_demand demand;
    struct tf_fit_scratch *scratch;
};

/* ---- a random subcluster ---- */

static void make_node(struct field *f, size_t n, struct tf_rng *rng)
{
    char text[32];
    struct tf_node *node = &f->nodes[n];
    snprintf(text, sizeof text, "n%zu", n);
    node->name = tf_strdup(text);
    node->model = tf_strdup(tf_rng_below(rng, 8) ? "H800" : "H20");
    node->capacity = (struct tf_vector){.gpus = 8, .slots = 12, .cpu = 64000, .memory = 64000};
    node->state = TF_NODE_READY;
    snprintf(text, sizeof text, "sw-%u", (unsigned)tf_rng_below(rng, 2));
    tf_strs_add(&node->domains, text);
    if (tf_rng_below(rng, 8) == 0)
        node->bad_gpus = UINT64_C(1) << tf_rng_below(rng, 8);
}

/* later: when those have gone that are going. */
static struct tf_vector used_of(const struct field *f, size_t n, bool later, uint64_t *gpus)
{
    struct tf_vector used = {0};
    *gpus = 0;
    for (size_t h = 0; h < f->hold_count[n]; h++) {
        if (later && f->holds[n][h].kind == IS_GOING)
            continue;
        used = tf_vector_add(used, f->holds[n][h].hold.amount);
        *gpus |= f->holds[n][h].hold.gpus;
    }
    return used;
}

/* A claim may lie on what is free and on what others are leaving. */
static bool put(struct field *f, size_t n, uint32_t unit, enum kind kind, struct tf_vector need)
{
    uint64_t gpus;
    struct tf_vector left = tf_vector_sub(f->nodes[n].capacity, used_of(f, n, kind == CLAIMS, &gpus));
    uint64_t free = tf_gpu_set_all(8) & ~gpus & ~f->nodes[n].bad_gpus;
    left.gpus = tf_gpu_set_count(free);
    if (!tf_vector_fits(need, left) || f->hold_count[n] == HOLDS)
        return false;
    struct hold *hold = &f->holds[n][f->hold_count[n]++];
    *hold = (struct hold){unit, kind, {.gpus = tf_gpu_set_lowest(free, need.gpus), .amount = need}};
    hold->hold.level = kind == IS_GOING ? TF_LEVEL_GOING : f->units[unit].level;
    return true;
}

/* Instances of one unit, on random nodes. Returns how many found room. */
static int32_t spread(struct field *f, uint32_t unit, enum kind kind, struct tf_vector need, int32_t count,
                      struct tf_rng *rng)
{
    int32_t done = 0;
    for (int32_t i = 0; i < count; i++)
        for (int tries = 0; tries < 4; tries++)
            if (put(f, tf_rng_below(rng, f->node_count), unit, kind, need)) {
                done++;
                break;
            }
    return done;
}

static void add_unit(struct field *f, uint32_t job, bool core, int rank, struct tf_vector need, int32_t count,
                     struct tf_rng *rng)
{
    struct victim_unit *unit = &f->units[f->unit_count];
    *unit = (struct victim_unit){.job = job,
                                 .core = core,
                                 .level = core ? tf_level_core(rank) : tf_level_surplus(rank),
                                 .evictions = (int32_t)tf_rng_below(rng, 3),
                                 .age = tf_rng_range(rng, 0, 100000)};
    int32_t placed = spread(f, (uint32_t)f->unit_count, HOLDS_GPUS, need, count, rng);
    unit->gpu_seconds = placed * need.gpus * tf_rng_range(rng, 0, tf_rng_below(rng, 4) ? 3600 : 3);
    if (placed > 0)
        f->unit_count++;
}

static void add_job(struct field *f, uint32_t job, bool local, struct tf_rng *rng)
{
    static const int32_t sizes[] = {1, 1, 1, 2, 2, 4, 8, 0};
    struct tf_vector need = {.gpus = sizes[tf_rng_below(rng, 8)], .slots = 1};
    need.cpu = tf_rng_below(rng, 2) ? need.gpus * 8000 : tf_rng_range(rng, 0, 24000);
    need.memory = tf_rng_range(rng, 0, 16000);
    int rank = (int)tf_rng_below(rng, 3);
    int32_t most = local ? 2 : 4;
    size_t steps = tf_rng_below(rng, 3), before = f->unit_count;
    for (size_t i = 0; i < steps && f->unit_count < UNITS - 1; i++)
        add_unit(f, job, false, rank, need, 1 + (int32_t)tf_rng_below(rng, 2), rng);
    if (f->unit_count < UNITS)
        add_unit(f, job, true, rank, need, 1 + (int32_t)tf_rng_below(rng, (uint64_t)most), rng);
    /* Numbers of jobs leave no gap; what the job suffered is of all its units. */
    for (size_t u = before; u < f->unit_count; u++) {
        f->units[u].job = before ? f->units[before - 1].job + 1 : 0;
        f->units[u].evictions = f->units[before].evictions;
    }
}

/* Some are on their way out, and a job waits for its claims: it has nothing to lose but these, and is one
 * unit.
 */
static void add_claimant(struct field *f, struct tf_rng *rng)
{
    struct tf_vector need = {
        .gpus = 1 + (int32_t)tf_rng_below(rng, 4), .slots = 1, .cpu = 8000, .memory = 4000};
    spread(f, NOBODY, IS_GOING, need, (int32_t)tf_rng_below(rng, 4), rng);
    if (f->unit_count == UNITS)
        return;
    f->units[f->unit_count] =
        (struct victim_unit){.job = f->unit_count ? f->units[f->unit_count - 1].job + 1 : 0,
                             .core = true,
                             .level = tf_level_core((int)tf_rng_below(rng, 3))};
    f->unit_count +=
        spread(f, (uint32_t)f->unit_count, CLAIMS, need, 1 + (int32_t)tf_rng_below(rng, 3), rng) > 0;
}

static void sum_parts(struct field *f, size_t n)
{
    struct victim_node *detail = &f->detail[n];
    *detail = (struct victim_node){.parts = f->parts[n]};
    for (uint32_t unit = 0; unit < f->unit_count; unit++) {
        struct victim_part part = {.unit = unit};
        bool here = false;
        for (size_t h = 0; h < f->hold_count[n]; h++)
            if (f->holds[n][h].unit == unit) {
                part.frees = tf_vector_add(part.frees, f->holds[n][h].hold.amount);
                here = true;
            }
        if (here)
            f->parts[n][detail->part_count++] = part;
    }
    uint64_t gpus;
    detail->going = tf_vector_sub(f->nodes[n].capacity, used_of(f, n, true, &gpus));
    detail->going.gpus = tf_gpu_set_count(tf_gpu_set_all(8) & ~gpus & ~f->nodes[n].bad_gpus);
}

/* What the node has at each level without the units of the set (NULL: with all). */
static void levels_without(const struct field *f, size_t n, const bool *gone, struct tf_level_vectors *out)
{
    struct tf_hold holders[HOLDS], claims[HOLDS];
    size_t holder_count = 0, claim_count = 0;
    for (size_t h = 0; h < f->hold_count[n]; h++) {
        const struct hold *hold = &f->holds[n][h];
        if (gone && hold->unit != NOBODY && gone[hold->unit])
            continue;
        if (hold->kind == CLAIMS)
            claims[claim_count++] = hold->hold;
        else
            holders[holder_count++] = hold->hold;
    }
    tf_fit_node_levels(&f->nodes[n], holders, holder_count, claims, claim_count, out);
}

static void make_rows(struct field *f)
{
    struct tf_strs none = {0};
    f->rows = tf_fit_rows_create(&f->planes);
    for (size_t n = 0; n < f->node_count; n++) {
        struct tf_node_class class = {0};
        tf_fit_node_class(&f->nodes[n], &none, &class);
        struct tf_profile_row *row = &f->each[n];
        *row = (struct tf_profile_row){.id = (uint32_t)n, .count = 1, .claim_rank = -1};
        row->class = tf_fit_rows_class(f->rows, &class);
        tf_node_class_release(&class);
        levels_without(f, n, NULL, &row->levels);
        f->detail[n].kind = tf_fit_rows_add(f->rows, row, 1);
    }
}

static void make_demand(struct field *f, bool plain, struct tf_rng *rng)
{
    static const int32_t sizes[] = {1, 2, 4, 8, 8, 0};
    struct tf_job_spec *spec = &f->spec;
    tf_job_spec_init(spec);
    spec->group.shape.gpus = sizes[tf_rng_below(rng, 6)];
    spec->group.shape.cpu = tf_rng_below(rng, 3) ? spec->group.shape.gpus * 8000 : 12000;
    spec->elastic.step = 1 + (int32_t)tf_rng_below(rng, 2);
    spec->elastic.min = spec->elastic.step * (1 + (int32_t)tf_rng_below(rng, 3));
    spec->elastic.max = spec->elastic.min;
    if (!plain && tf_rng_below(rng, 3) == 0) {
        struct tf_topology_rule *rule = tf_vec_add(&spec->topology);
        *rule =
            (struct tf_topology_rule){.within = tf_strdup("switch"),
                                      .of = tf_rng_below(rng, 2) ? TF_TOPOLOGY_OF_JOB : TF_TOPOLOGY_OF_STEP,
                                      .mode = TF_TOPOLOGY_REQUIRE};
    } else if (!plain && tf_rng_below(rng, 4) == 0) {
        spec->max_nodes = 2;
    }
    tf_job_spec_fill(spec);
    CU_ASSERT_EQUAL_FATAL(
        tf_demand_resolve(&f->demand, spec, DEMAND_RANK, tf_fit_rows_view(f->rows).catalog, NULL), 0);
}

static void field_create(struct field *f, size_t nodes, bool local, struct tf_rng *rng)
{
    *f = (struct field){.node_count = nodes, .scratch = tf_fit_scratch_create()};
    struct tf_plane *plane = tf_vec_add(&f->planes);
    plane->name = tf_strdup("parameter");
    tf_strs_add(&plane->levels, "switch");
    for (size_t n = 0; n < nodes; n++)
        make_node(f, n, rng);
    size_t jobs = 1 + tf_rng_below(rng, JOBS);
    for (uint32_t j = 0; j < jobs && f->unit_count < UNITS; j++)
        add_job(f, j, local, rng);
    if (tf_rng_below(rng, 2))
        add_claimant(f, rng);
    for (size_t n = 0; n < nodes; n++)
        sum_parts(f, n);
    make_rows(f);
    make_demand(f, local, rng);
}

static void field_release(struct field *f)
{
    for (size_t n = 0; n < f->node_count; n++) {
        tf_node_release(&f->nodes[n]);
        tf_profile_row_release(&f->each[n]);
    }
    tf_planes_release(&f->planes);
    tf_fit_rows_destroy(f->rows);
    tf_job_spec_release(&f->spec);
    tf_demand_release(&f->demand);
    tf_fit_scratch_destroy(f->scratch);
}

static struct victims_ask ask_of(const struct field *f)
{
    struct tf_fit_view kinds = tf_fit_rows_view(f->rows),
                       nodes = {kinds.catalog, f->each, f->node_count, NULL};
    return (struct victims_ask){nodes, kinds, f->detail, &f->demand, f->units, f->unit_count, f->scratch};
}

/* ---- brute force ---- */

/* A set that takes a core takes all of its job. */
static bool is_closed(const struct field *f, const bool *set)
{
    for (size_t c = 0; c < f->unit_count; c++)
        for (size_t u = 0; u < f->unit_count; u++)
            if (set[c] && f->units[c].core && f->units[u].job == f->units[c].job && !set[u])
                return false;
    return true;
}

/* The cheapest set that suffices; false if none does. */
static bool cheapest(const struct field *f, const struct victims_ask *ask, bool best[UNITS])
{
    bool found = false;
    for (uint32_t bits = 0; bits < UINT32_C(1) << f->unit_count; bits++) {
        bool set[UNITS] = {false};
        for (size_t u = 0; u < f->unit_count; u++)
            set[u] = bits >> u & 1;
        if (!is_closed(f, set) || (found && victims_cmp(ask, set, best) >= 0) || !victims_suffice(ask, set))
            continue;
        memcpy(best, set, sizeof set);
        found = true;
    }
    return found;
}

/* It fits once the set has really gone, holders and claims, from what the nodes hold. */
static bool really_fits(const struct field *f, const bool *set)
{
    struct tf_profile_row rows[NODES];
    struct tf_fit fit;
    for (size_t n = 0; n < f->node_count; n++) {
        rows[n] = f->each[n];
        rows[n].levels = (struct tf_level_vectors){0};
        levels_without(f, n, set, &rows[n].levels);
    }
    struct tf_fit_view view = {tf_fit_rows_view(f->rows).catalog, rows, f->node_count, NULL};
    tf_fit_count(&view, &f->demand, TF_LEVEL_GOING, f->scratch, &fit);
    for (size_t n = 0; n < f->node_count; n++)
        tf_profile_row_release(&rows[n]);
    return fit.fits;
}

static bool takes_a_claim(const struct field *f, const bool *set)
{
    for (size_t n = 0; n < f->node_count; n++)
        for (size_t h = 0; h < f->hold_count[n]; h++)
            if (f->holds[n][h].kind == CLAIMS && set[f->holds[n][h].unit])
                return true;
    return false;
}

static void check_not_redundant(const struct field *f, const struct victims_ask *ask, const bool *set)
{
    for (size_t u = 0; u < f->unit_count; u++) {
        bool less[UNITS];
        memcpy(less, set, sizeof less);
        if (!set[u])
            continue;
        less[u] = false;
        if (!is_closed(f, less))
            continue;
        CU_ASSERT_FALSE_FATAL(victims_suffice(ask, less));
        CU_ASSERT_FALSE_FATAL(really_fits(f, less));
    }
}

/* GPU-seconds of the set at one level. */
static int64_t lost_at(const struct field *f, const bool *set, tf_level level)
{
    int64_t sum = 0;
    for (size_t u = 0; u < f->unit_count; u++)
        sum += set[u] && f->units[u].level == level ? f->units[u].gpu_seconds : 0;
    return sum;
}

/* What ours loses over what the cheapest does, at the highest level at which they differ. */
static double ratio(const struct field *f, const bool *ours, const bool *best)
{
    for (int level = TF_LEVEL_TOP; level > 0; level--) {
        int64_t a = lost_at(f, ours, (tf_level)level), b = lost_at(f, best, (tf_level)level);
        if (a != b)
            return ((double)a + 1) / ((double)b + 1);
    }
    return 1;
}

struct tally {
    size_t asked, found, exact, claims;
    double sum, worst;
};

static void compare(struct field *f, struct tally *tally)
{
    struct victims_ask ask = ask_of(f);
    struct victims victims = {0};
    bool best[UNITS] = {false}, ours[UNITS] = {false};
    /* Which model is R3's choice, not that of the cheapest. */
    struct tf_fit lowest;
    if (tf_fit_lowest(&ask.kinds, &f->demand, f->scratch, &lowest) && lowest.model >= 0) {
        f->demand.models.items[0] = lowest.model;
        f->demand.models.count = 1;
    }
    bool can = cheapest(f, &ask, best), did = victims_choose(&ask, &victims);
    CU_ASSERT_EQUAL_FATAL(did, can);
    tally->asked++;
    if (did) {
        tf_vec_each (u, &victims.units)
            ours[*u] = true;
        CU_ASSERT_TRUE_FATAL(is_closed(f, ours));
        CU_ASSERT_TRUE_FATAL(victims_suffice(&ask, ours));
        CU_ASSERT_TRUE_FATAL(really_fits(f, ours));
        tally->claims += takes_a_claim(f, ours);
        check_not_redundant(f, &ask, ours);
        CU_ASSERT_TRUE_FATAL(victims_cmp(&ask, ours, best) >= 0);
        double r = ratio(f, ours, best);
        tally->found += victims.units.count > 0;
        tally->exact += victims.units.count > 0 && victims_cmp(&ask, ours, best) == 0;
        tally->sum += victims.units.count > 0 ? r : 0;
        tally->worst = r > tally->worst ? r : tally->worst;
    }
    victims_release(&victims);
}

static void run(struct tally *tally, size_t nodes, bool local, uint64_t seed, size_t rounds)
{
    struct tf_rng rng;
    tf_rng_init(&rng, suite_seed(seed));
    for (size_t round = 0; round < rounds; round++) {
        struct field f;
        field_create(&f, nodes ? nodes : 2 + tf_rng_below(&rng, NODES - 1), local, &rng);
        compare(&f, tally);
        field_release(&f);
    }
    printf(
        "victims: %zu cases, %zu with victims, %zu as cheap as brute force; cost / optimum: mean %.4f, worst "
        "%.3f\n",
        tally->asked, tally->found, tally->exact, tally->sum / (double)(tally->found ? tally->found : 1),
        tally->worst);
}

static void test_one_node_is_exact(void)
{
    struct tally tally = {0};
    run(&tally, 1, true, 41, suite_rounds(1500));
    CU_ASSERT_EQUAL(tally.exact, tally.found);
    CU_ASSERT_TRUE(tally.found > tally.asked / 10);
}

static void test_gangs_are_near_the_optimum(void)
{
    struct tally tally = {0};
    run(&tally, 0, false, 42, suite_rounds(800));
    CU_ASSERT_TRUE(tally.worst <= 1.25);
    CU_ASSERT_TRUE(tally.sum / (double)tally.found <= 1.05);
    CU_ASSERT_TRUE(tally.claims > tally.found / 50); /* who waits for its claims is a victim like others */
    CU_ASSERT_TRUE(tally.found > tally.asked / 10);
}

/* ---- more than brute force can do ---- */

enum { MANY = 60 };

static int by_cost(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Full nodes of local jobs, one GPU each; whole nodes are wanted: the k cheapest are the optimum. */
static void check_whole_nodes(struct tf_rng *rng, struct tf_fit_scratch *scratch)
{
    struct victim_unit units[MANY * 8];
    struct victim_part parts[MANY * 8];
    struct victim_node detail[MANY];
    struct tf_profile_row each[MANY];
    int64_t costs[MANY] = {0};
    struct tf_planes planes = {0};
    struct tf_fit_rows *rows = tf_fit_rows_create(&planes);
    struct tf_node_class class = {.model = tf_strdup("H800")};
    uint32_t number = tf_fit_rows_class(rows, &class);
    struct tf_level_vector levels[2] = {{TF_LEVEL_FREE, {.slots = 8}}, {tf_level_core(0), {8, 16, 8, 8}}};
    for (uint32_t n = 0; n < MANY; n++) {
        for (uint32_t i = n * 8; i < n * 8 + 8; i++) {
            units[i] = (struct victim_unit){.job = i, .core = true, .level = tf_level_core(0)};
            units[i].gpu_seconds = tf_rng_range(rng, 1, 3600);
            parts[i] = (struct victim_part){i, {.gpus = 1, .slots = 1, .cpu = 1, .memory = 1}};
            costs[n] += units[i].gpu_seconds;
        }
        each[n] = (struct tf_profile_row){.id = n, .class = number, .count = 1, .claim_rank = -1};
        each[n].levels.items = levels;
        each[n].levels.count = 2;
        detail[n] = (struct victim_node){{.slots = 8}, tf_fit_rows_add(rows, &each[n], 1), &parts[n * 8], 8};
    }
    struct tf_job_spec spec;
    tf_job_spec_init(&spec);
    spec.group.shape.gpus = 8;
    spec.elastic.min = 1 + (int32_t)tf_rng_below(rng, MANY / 2);
    tf_job_spec_fill(&spec);
    struct tf_fit_view kinds = tf_fit_rows_view(rows);
    struct tf_demand demand = {0};
    CU_ASSERT_EQUAL_FATAL(tf_demand_resolve(&demand, &spec, DEMAND_RANK, kinds.catalog, NULL), 0);
    struct victims_ask ask = {
        {kinds.catalog, each, MANY, NULL}, kinds, detail, &demand, units, MANY * 8, scratch};
    struct victims victims = {0};
    CU_ASSERT_TRUE_FATAL(victims_choose(&ask, &victims));
    qsort(costs, MANY, sizeof *costs, by_cost);
    int64_t optimum = 0;
    for (int32_t i = 0; i < spec.elastic.min; i++)
        optimum += costs[i];
    CU_ASSERT_EQUAL_FATAL(victims.units.count, (size_t)spec.elastic.min * 8);
    CU_ASSERT_EQUAL_FATAL(victims.gpu_seconds, optimum);
    victims_release(&victims);
    tf_demand_release(&demand);
    tf_job_spec_release(&spec);
    tf_node_class_release(&class);
    tf_fit_rows_destroy(rows);
}

static void test_whole_nodes(void)
{
    struct tf_rng rng;
    tf_rng_init(&rng, suite_seed(43));
    struct tf_fit_scratch *scratch = tf_fit_scratch_create();
    for (size_t round = 0; round < suite_rounds(50); round++)
        check_whole_nodes(&rng, scratch);
    tf_fit_scratch_destroy(scratch);
}

int main(void)
{
    static const struct suite_test tests[] = {
        {"one node: as cheap as brute force", test_one_node_is_exact},
        {"gangs: near the optimum, none redundant", test_gangs_are_near_the_optimum},
        {"whole nodes: the cheapest ones", test_whole_nodes},
    };
    return suite_run("property/victims", tests, TF_ARRAY_LEN(tests));
}
