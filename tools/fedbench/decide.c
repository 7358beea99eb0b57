/* SPDX-License-Identifier: Apache-2.0 */
/* What a decision of the leader costs: its core alone, with many subclusters and very many waiting jobs.
 * Profiles and jobs are made up; transactions are done at once. */
#include "tools/fedbench/bench.h"

#include "common/base/cleanup.h"
#include "common/base/rng.h"
#include "common/base/text.h"
#include "tools/fedbench/cores.h"
#include "tools/fedbench/figures.h"

#include <getopt.h>
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

enum {
    NODE_GPUS = 8,
    SHAPES = 1200,
    MODELS = 4,
    CHANGE_EVERY = 1000, /* decisions; then 1 % of all rows have changed */
    MANY = 50000,        /* decisions that are timed together */
    SINGLE = 4000,       /* and one by one */
    REFRESHES = 100,     /* of what is full */
    CHECKED = 1000,
    RANKS = 3,
    LARGE = 2, /* settings, the last ones */
};

struct setting {
    const char *name; /* in the figures' names */
    int clusters;
    int64_t gpus, jobs;
    bool full;
};

struct bench_run {
    const struct setting *setting;
    struct fed *fed;
    struct tf_now now;
    struct tf_rng rng;
    struct tf_profile *profiles; /* as sent last, of each subcluster */
    uint64_t *sent_n;            /* of the last message to it */
    TF_VEC(struct tf_job_spec) shapes;
    int64_t decided;
    double step_us, cpu_us; /* of the last step; of all since it was set to 0 */
    bool commits, continues;
};

static const char *const models[MODELS] = {"H800", "H100", "A100", "L40"};
static const char *const classes[RANKS] = {"low", "mid", "high"};

/* ---- driving ---- */

static void perform(struct bench_run *b, const struct fed_action *action)
{
    b->commits |= action->kind == FED_ACT_PERSIST;
    b->continues |= action->kind == FED_ACT_CONTINUE;
    b->decided += action->kind == FED_ACT_TRACE; /* each decision is a line */
    if (action->kind == FED_ACT_SEND && action->send.n)
        b->sent_n[action->link - 1] = action->send.n;
}

static void step(struct bench_run *b, struct fed_event event)
{
    struct fed_actions actions = {0};
    double began = core_cpu_us();
    fed_step(b->fed, b->now, &event, &actions);
    b->step_us = core_cpu_us() - began;
    b->cpu_us += b->step_us;
    for (size_t i = 0; i < actions.count; i++)
        perform(b, &actions.items[i]);
    fed_actions_release(&actions);
}

/* What the leader waits for comes, at once: its transaction, or its turn. False when there is none. */
static bool go_on(struct bench_run *b)
{
    enum fed_event_kind kind = b->commits ? FED_EV_COMMITTED : FED_EV_CONTINUE;
    if (!b->commits && !b->continues)
        return false;
    if (b->commits)
        b->commits = false;
    else
        b->continues = false;
    step(b, (struct fed_event){.kind = kind});
    return true;
}

/* All that was changed becomes durable, and leaves. */
static void commit(struct bench_run *b)
{
    while (b->commits)
        go_on(b);
}

static void pass(struct bench_run *b, int64_t ms)
{
    b->now.mono.ms += ms;
    b->now.wall.ms += ms;
}

/* ---- what there is ---- */

/* So many nodes with so much free; what else they have is held by cores of the two lower ranks. */
static void add_row(struct bench_run *b, struct tf_profile *p, uint32_t class, int32_t nodes, int32_t free)
{
    struct tf_profile_row *row = tf_vec_add(&p->rows);
    int32_t mid = (int32_t)tf_rng_range(&b->rng, free, NODE_GPUS);
    *row = (struct tf_profile_row){
        .id = (uint32_t)p->rows.count - 1, .class = class, .count = nodes, .claim_rank = -1};
    const tf_level levels[] = {TF_LEVEL_FREE, tf_level_core(0), tf_level_core(1)};
    const int32_t gpus[] = {free, mid, NODE_GPUS};
    for (size_t i = 0; i < TF_ARRAY_LEN(levels); i++) {
        struct tf_level_vector at = {levels[i],
                                     {.gpus = gpus[i],
                                      .slots = 16 * gpus[i] + 1,
                                      .cpu = 12000 * gpus[i] + tf_rng_range(&b->rng, 0, 3) * 4000,
                                      .memory = 120000 * gpus[i] + 8000}};
        if (i == 0 || !tf_vector_fits(row->levels.items[row->levels.count - 1].have, at.have))
            at.have = i ? tf_vector_max(at.have, row->levels.items[row->levels.count - 1].have) : at.have;
        tf_vec_push(&row->levels, at);
    }
}

/* Half of the GPUs are free, in every possible number a node; or none is, and nobody below goes either. */
static void make_profile(struct bench_run *b, struct tf_profile *p)
{
    const struct setting *s = b->setting;
    int64_t nodes = s->gpus / s->clusters / NODE_GPUS;
    int32_t kinds = nodes < 200 ? 10 : 90, each = (int32_t)(nodes / kinds);
    each = each ? each : 1;
    for (size_t i = 0; i < MODELS; i++) {
        struct tf_node_class *class = tf_vec_add(&p->classes);
        class->model = tf_strdup(models[i]);
        class->gpu_memory = 80 * 1024;
    }
    for (int32_t k = 0; k < kinds; k++)
        add_row(b, p, (uint32_t)tf_rng_below(&b->rng, MODELS), each,
                s->full ? 0 : (int32_t)tf_rng_range(&b->rng, 0, NODE_GPUS));
    if (s->full)
        tf_vec_each (row, &p->rows) {
            row->levels.items[0].have = (struct tf_vector){0};
            row->levels.count = 1;
        }
    p->full = true;
}

static void make_shapes(struct bench_run *b)
{
    for (int i = 0; i < SHAPES; i++) {
        struct tf_job_spec *spec = tf_vec_add(&b->shapes);
        core_job_spec(spec, classes[tf_rng_below(&b->rng, RANKS)]);
        int32_t gpus = 1 << tf_rng_below(&b->rng, 4), min = 1 << tf_rng_below(&b->rng, 3);
        spec->group.shape.gpus = gpus;
        spec->group.shape.cpu = gpus * 4000 * tf_rng_range(&b->rng, 1, 3);
        spec->group.shape.memory = gpus * 16 * 1024 * tf_rng_range(&b->rng, 1, 6);
        spec->elastic = (struct tf_elastic){min, min, min};
        if (tf_rng_below(&b->rng, 2))
            tf_strs_add(&spec->group.shape.gpu_models, models[tf_rng_below(&b->rng, MODELS)]);
    }
}

static struct tf_uid uid_of(int64_t number)
{
    struct tf_uid uid = {{1}};
    for (size_t i = 0; i < sizeof number; i++)
        uid.bytes[15 - i] = (uint8_t)((uint64_t)number >> (8 * i));
    return uid;
}

static void load_job(struct bench_run *b, int64_t number)
{
    struct fed_event event = {.kind = FED_EV_RECORD, .record.kind = TF_RECORD_JOB};
    struct tf_job_record *r = &event.record.job;
    r->uid = uid_of(number);
    r->tenant = tf_strdup("bench");
    r->name = tf_asprintf("j%lld", (long long)number);
    r->phase = TF_PHASE_PENDING;
    r->submitted.ms = b->now.wall.ms - 1000000 + number;
    tf_job_spec_copy(tf_spec_own(&r->spec), &b->shapes.items[tf_rng_below(&b->rng, SHAPES)]);
    step(b, event);
}

static void set_budget(struct bench_run *b, int64_t budget)
{
    struct fed_event event = {.kind = FED_EV_SETTINGS};
    tf_settings_init(&event.settings);
    tf_classes_release(&event.settings.policy.classes);
    for (int i = 0; i < RANKS; i++)
        tf_classes_add(&event.settings.policy.classes, classes[i], 100 * (i + 1));
    event.settings.decision_budget = budget;
    step(b, event);
}

static void boot(struct bench_run *b)
{
    struct fed_event event = {.kind = FED_EV_BOOT, .boot = {.term = {1, 1}}};
    tf_settings_init(&event.boot.settings);
    tf_classes_release(&event.boot.settings.policy.classes);
    for (int i = 0; i < RANKS; i++)
        tf_classes_add(&event.boot.settings.policy.classes, classes[i], 100 * (i + 1));
    event.boot.settings.decision_budget = 0; /* nothing is decided before all is there */
    step(b, event);
}

static void send_profile(struct bench_run *b, int cluster, bool full)
{
    struct fed_event event = {.kind = FED_EV_UP, .link = (uint64_t)cluster + 1};
    struct tf_profile *p = &b->profiles[cluster];
    p->reflects_term = (struct tf_term){1, 1};
    p->reflects_n = b->sent_n[cluster];
    event.up.kind = TF_UP_PROFILE;
    tf_profile_copy(&event.up.profile, p);
    event.up.profile.full = full;
    step(b, event);
}

static void attach(struct bench_run *b, int cluster)
{
    struct tf_hello hello = {.protocol = TF_PROTOCOL_VERSION,
                             .name = tf_asprintf("c%d", cluster),
                             .region = tf_strdup(""),
                             .version = tf_strdup("bench"),
                             .engine = tf_strdup("none"),
                             .owner_revision = 1};
    step(b, (struct fed_event){.kind = FED_EV_LINK_UP, .link = (uint64_t)cluster + 1, .hello = hello});
    commit(b);
    struct tf_profile *p = &b->profiles[cluster];
    make_profile(b, p);
    p->generation = p->base = (struct tf_generation){1, 1};
    send_profile(b, cluster, true);
}

static void open_run(struct bench_run *b, const struct setting *setting)
{
    *b = (struct bench_run){.setting = setting, .now = {{1000}, {INT64_C(1700000000000)}}};
    tf_rng_init(&b->rng, 1);
    b->fed = fed_create(1);
    b->profiles = tf_calloc((size_t)setting->clusters, sizeof *b->profiles);
    b->sent_n = tf_calloc((size_t)setting->clusters, sizeof *b->sent_n);
    make_shapes(b);
    boot(b);
    for (int64_t i = 0; i < setting->jobs; i++)
        load_job(b, i);
    step(b, (struct fed_event){.kind = FED_EV_LOADED});
    for (int c = 0; c < setting->clusters; c++)
        attach(b, c);
}

static void close_run(struct bench_run *b)
{
    fed_destroy(b->fed);
    for (int c = 0; c < b->setting->clusters; c++)
        tf_profile_release(&b->profiles[c]);
    tf_vec_each (spec, &b->shapes)
        tf_job_spec_release(spec);
    tf_vec_release(&b->shapes);
    free(b->profiles);
    free(b->sent_n);
}

/* A subcluster tells that some of its rows have changed, and that all that was placed there has come and
 * gone. One row in a hundred of all subclusters together, at most all of its own. */
static void change_rows(struct bench_run *b, int cluster)
{
    struct tf_profile *p = &b->profiles[cluster];
    struct fed_event event = {.kind = FED_EV_UP, .link = (uint64_t)cluster + 1, .up.kind = TF_UP_PROFILE};
    struct tf_profile *delta = &event.up.profile;
    size_t all = p->rows.count * (size_t)b->setting->clusters, changed = all / 100 ? all / 100 : 1;
    delta->base = p->generation;
    delta->generation = (struct tf_generation){1, ++p->generation.counter};
    delta->reflects_term = (struct tf_term){1, 1};
    delta->reflects_n = b->sent_n[cluster];
    for (size_t i = 0; i < changed && i < p->rows.count; i++) {
        struct tf_vector *have = &p->rows.items[i].levels.items[0].have;
        if (!b->setting->full)
            have->slots ^= 1;
        tf_profile_row_copy(tf_vec_add(&delta->rows), &p->rows.items[i]);
    }
    step(b, event);
}

/* ---- the same by a naive loop ---- */

/* Instances of one model that fit where up to `level` is taken, one by one on each node. */
static int64_t naive_count(const struct tf_profile *p, const struct tf_job_spec *spec, tf_level level)
{
    const struct tf_shape *shape = &spec->group.shape;
    int64_t best = 0;
    for (size_t m = 0; m < (shape->gpu_models.count ? 1 : MODELS); m++) {
        const char *model = shape->gpu_models.count ? shape->gpu_models.items[0] : models[m];
        int64_t sum = 0;
        tf_vec_each (row, &p->rows) {
            if (strcmp(p->classes.items[row->class].model, model) != 0)
                continue;
            struct tf_vector have = {0};
            tf_vec_each (at, &row->levels)
                if (at->level <= level)
                    have = at->have;
            int64_t each = 0;
            while (have.gpus >= shape->gpus && have.cpu >= shape->cpu && have.memory >= shape->memory &&
                   have.slots >= 1) {
                have = tf_vector_sub(have, (struct tf_vector){shape->gpus, 1, shape->cpu, shape->memory});
                each++;
            }
            sum += each * row->count;
        }
        best = sum > best ? sum : best;
    }
    return best;
}

/* The lowest level at which the core fits; TF_LEVEL_TOP: none. */
static tf_level naive_level(const struct tf_profile *p, const struct tf_job_spec *spec, int rank)
{
    for (tf_level level = TF_LEVEL_FREE; level < tf_level_core(rank); level++)
        if (naive_count(p, spec, level) >= spec->elastic.min)
            return level;
    return TF_LEVEL_TOP;
}

static int number_of(const char *cluster)
{
    int64_t n = 0;
    struct tf_error err = TF_ERROR_INIT;
    return tf_parse_int64(cluster + 1, 0, INT32_MAX, &n, &err) ? 0 : (int)n;
}

/* The best subcluster is one with the lowest level of all, and what is said of each is so. */
static bool check_one(const struct bench_run *b, const struct tf_job_spec *spec, int rank)
{
    struct fed_plan plan;
    struct tf_job_manifest manifest = {.tenant = tf_strdup("bench"), .name = tf_strdup("probe")};
    tf_level lowest = TF_LEVEL_TOP;
    bool good = true;
    tf_job_spec_copy(&manifest.spec, spec);
    fed_plan_place(b->fed, &manifest, b->now, &plan);
    tf_vec_each (row, &plan.rows) {
        int cluster = number_of(row->why.cluster);
        tf_level level = naive_level(&b->profiles[cluster], spec, rank);
        bool fits = row->why.first.reason == TF_REASON_NONE;
        lowest = level < lowest ? level : lowest;
        good = good && fits == (level < TF_LEVEL_TOP) && (!fits || row->level == level) &&
               (!row->free || !spec->group.shape.gpu_models.count || /* else any model would do */
                row->free == naive_count(&b->profiles[cluster], spec, TF_LEVEL_FREE));
    }
    bool any = plan.rows.count && plan.rows.items[0].why.first.reason == TF_REASON_NONE;
    good = good && any == (lowest < TF_LEVEL_TOP) && (!any || plan.rows.items[0].level == lowest);
    fed_plan_release(&plan);
    tf_job_manifest_release(&manifest);
    return good;
}

/* Nothing is on its way, so that what was sent is what the leader counts with. */
static void settle(struct bench_run *b)
{
    set_budget(b, 0);
    commit(b);
    for (int c = 0; c < b->setting->clusters; c++)
        change_rows(b, c);
}

static int64_t count_wrong(struct bench_run *b)
{
    int64_t wrong = 0;
    settle(b);
    for (int i = 0; i < CHECKED; i++) {
        const struct tf_job_spec *spec = &b->shapes.items[i];
        int rank = 0;
        while (strcmp(classes[rank], spec->priority) != 0)
            rank++;
        wrong += !check_one(b, spec, rank);
    }
    return wrong;
}

/* ---- figures ---- */

static void add(struct figures *f, const struct bench_run *b, const char *what, double value,
                const char *unit, const char *target)
{
    TF_AUTO_FREE char *name = tf_asprintf("decide.%s.%s", b->setting->name, what);
    figures_add(f, name, value, unit, target, "");
}

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* With a budget of one evaluation each step decides about one demand whose answer is not known. */
static void measure_single(struct figures *f, struct bench_run *b)
{
    TF_VEC(double) took = {0};
    set_budget(b, 1);
    for (int64_t before = b->decided; took.count < SINGLE && go_on(b); before = b->decided)
        if (b->decided > before)
            tf_vec_push(&took, b->step_us / (double)(b->decided - before));
    if (took.count)
        qsort(took.items, took.count, sizeof *took.items, by_value);
    for (int percent = 50; took.count && percent <= 99; percent += 49) {
        TF_AUTO_FREE char *what = tf_asprintf("one_p%d", percent);
        double us = took.items[took.count * (size_t)percent / 100];
        add(f, b, what, us / 1000, "ms", b->setting->clusters == 100 && percent == 99 ? "< 1 ms" : "");
    }
    tf_vec_release(&took);
}

/* Decisions a second of CPU, with their records, messages and traces. Microseconds of one. */
static double measure_many(struct figures *f, struct bench_run *b)
{
    int cluster = 0;
    set_budget(b, 20 * (int64_t)b->setting->clusters);
    int64_t before = b->decided, changed = b->decided;
    b->cpu_us = 0;
    while (b->decided - before < MANY && go_on(b)) {
        if (b->decided - changed < CHANGE_EVERY)
            continue;
        changed = b->decided;
        pass(b, 500);
        change_rows(b, cluster++ % b->setting->clusters);
    }
    double each = b->cpu_us / (double)(b->decided - before);
    add(f, b, "decisions", (double)(b->decided - before), "", "");
    add(f, b, "decisions_per_second", 1e6 / each, "/s", b->setting->clusters == 100 ? ">= 50000/s" : "");
    return each;
}

/* Nothing fits: with each change every shape is looked at again. */
static void measure_full(struct figures *f, struct bench_run *b)
{
    double longest = 0;
    set_budget(b, INT32_MAX);
    while (go_on(b))
        ;
    b->cpu_us = 0;
    for (int i = 0; i < REFRESHES; i++) {
        change_rows(b, i % b->setting->clusters);
        longest = b->step_us > longest ? b->step_us : longest;
    }
    add(f, b, "demands_per_second", (double)REFRESHES * SHAPES / b->cpu_us * 1e6, "/s", ">= 50000/s");
    add(f, b, "round_longest", longest / 1000, "ms", "");
}

static double resident_mib(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%*s %ld", &pages) != 1)
        pages = 0;
    if (file)
        fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE) / (1 << 20);
}

/* *each: microseconds of a placement, 0 when nothing fits. False if a result is wrong. */
static bool run(struct figures *f, const struct setting *s, double *each)
{
    struct bench_run b;
    malloc_trim(0); /* else what the setting before has left is used again and not seen */
    double before = resident_mib();
    open_run(&b, s);
    figures_group(f, "%d subclusters, %lld GPUs, %lld waiting jobs of %d shapes, %s", s->clusters,
                  (long long)s->gpus, (long long)s->jobs, SHAPES,
                  s->full ? "full: nothing fits" : "half of the GPUs free");
    add(f, &b, "memory", resident_mib() - before, "MiB", s->jobs >= 1000000 ? "< 2048 MiB" : "");
    *each = 0;
    if (s->full)
        measure_full(f, &b);
    else {
        measure_single(f, &b);
        *each = measure_many(f, &b);
    }
    int64_t wrong = count_wrong(&b);
    add(f, &b, "wrong_of_1000", (double)wrong, "", "0");
    close_run(&b);
    return wrong == 0;
}

/* ---- the command ---- */

static int usage(FILE *to, int code)
{
    fprintf(to, "usage: fedbench decide [--clusters N --gpus N --jobs N] [--large] [--json]\n"
                "Drives the leader's core alone: 10, 100 and 1,000 subclusters with up to 1,000,000 GPUs and "
                "100,000 waiting\njobs; --large adds 1,000,000 jobs in 100 and 1,000 subclusters.\n");
    return code;
}

static bool run_all(struct figures *f, bool large)
{
    static const struct setting settings[] = {
        {"c10", 10, 100000, 100000, false},       {"c100", 100, 1000000, 100000, false},
        {"c1000", 1000, 1000000, 100000, false},  {"full", 100, 1000000, 100000, true},
        {"jobs1m", 100, 1000000, 1000000, false}, {"c1000jobs1m", 1000, 1000000, 1000000, false},
    };
    double us[TF_ARRAY_LEN(settings)] = {0};
    bool ok = true;
    for (size_t i = 0; i < TF_ARRAY_LEN(settings) - (large ? 0 : LARGE); i++)
        ok &= run(f, &settings[i], &us[i]);
    figures_group(f, "growth with the number of subclusters: 1 is linear");
    figures_add(f, "decide.slope_10_to_100", log10(us[1] / us[0]), "", "", "");
    figures_add(f, "decide.slope_100_to_1000", log10(us[2] / us[1]), "", "", "");
    return ok;
}

static bool take(const char *text, int64_t most, int64_t *out)
{
    struct tf_error err = TF_ERROR_INIT;
    return tf_parse_int64(text, 1, most, out, &err) == 0;
}

int bench_decide(int argc, char **argv)
{
    static const struct option options[] = {{"clusters", required_argument, NULL, 'c'},
                                            {"gpus", required_argument, NULL, 'g'},
                                            {"jobs", required_argument, NULL, 'n'},
                                            {"large", no_argument, NULL, 'l'},
                                            {"json", no_argument, NULL, 'j'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    int64_t clusters = 0, gpus = 100000, jobs = 10000;
    bool json = false, large = false, ok = true;
    for (int option; ok && (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (option == 'h')
            return usage(stdout, 0);
        json |= option == 'j';
        large |= option == 'l';
        ok = option != '?' && (option != 'c' || take(optarg, 10000, &clusters)) &&
             (option != 'g' || take(optarg, 100000000, &gpus)) &&
             (option != 'n' || take(optarg, 10000000, &jobs));
    }
    if (!ok || optind < argc)
        return usage(stderr, 2);
    struct figures figures;
    double us;
    figures_begin(&figures, "decide", json);
    figures_setting(&figures,
                    "the leader's core alone; subclusters, GPUs and jobs simulated; CPU of fed_step, "
                    "which also records, tells and traces what was decided");
    const struct setting one = {"one", (int)clusters, gpus, jobs, false};
    ok = clusters ? run(&figures, &one, &us) : run_all(&figures, large);
    figures_end(&figures);
    return ok ? 0 : 1;
}
