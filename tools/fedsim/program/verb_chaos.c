/* SPDX-License-Identifier: Apache-2.0 */
/* Owns chaos: random runs by their seeds, what they found, and what is left of one that breaks a promise. */
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "tools/fedsim/program/chaos_many.h"
#include "tools/fedsim/program/fedsim.h"
#include "tools/fedsim/situations.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    SEEDS_DEFAULT = 1000,
    JOBS_MAX = 256,
    ATTEMPTS = 1500,
    TAIL = 60,
    PROGRESS_S = 10,
    RUNS_FOR_ALL = 1000
};

struct chaos {
    struct many_options many;
    const char *out; /* folder for what is left of failing runs; NULL = here */
    bool one, trace, shrink;
    uint64_t seed;
    time_t told; /* progress */
};

static const char *size_name(const struct chaos *chaos)
{
    return chaos->many.size == CHAOS_MEDIUM ? "medium" : "small";
}

/* ---- what is left of it ---- */

static int write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    bool good = file && fputs(text, file) >= 0;
    if (file && fclose(file))
        good = false;
    if (!good)
        fprintf(stderr, "fedsim: %s cannot be written: %s\n", path, strerror(errno));
    return good ? 0 : -1;
}

static void write_scenario(const struct chaos *chaos, const struct scenario *scenario, uint64_t seed,
                           const char *breach)
{
    TF_AUTO_BUF text = TF_BUF_INIT;
    TF_AUTO_FREE char *path =
        tf_asprintf("%s%sseed-%" PRIu64 ".yaml", chaos->out ? chaos->out : "", chaos->out ? "/" : "", seed);
    tf_buf_fmt(&text,
               "# Found by `fedsim chaos --seed %" PRIu64 " --size %s`, and made smaller. It broke:\n# %s\n",
               seed, size_name(chaos), breach);
    scenario_yaml(scenario, &text);
    if (write_file(path, tf_buf_text(&text)) == 0)
        printf("    %zu jobs, %zu faults, %zu subclusters are left of it: fedsim run %s\n",
               scenario->jobs.count, scenario->faults.count, scenario->clusters.count, path);
}

static void shrink(const struct chaos *chaos, uint64_t seed)
{
    struct scenario scenario;
    chaos_draw(seed, chaos->many.size, &scenario);
    TF_AUTO_FREE char *breach = chaos_attempt(&scenario);
    TF_AUTO_FREE char *kind = breach ? chaos_kind(breach) : NULL;
    if (!kind || chaos_shrink(&scenario, kind, ATTEMPTS) == 0)
        printf("    it does not break it again: is something not drawn from the seed?\n");
    else
        write_scenario(chaos, &scenario, seed, breach);
    scenario_release(&scenario);
}

/* ---- many ---- */

static void on_breach(void *arg, uint64_t seed, const char *breach)
{
    const struct chaos *chaos = arg;
    printf("seed %" PRIu64 ": %s\n    repeat it: fedsim chaos --seed %" PRIu64 " --size %s --trace\n", seed,
           breach, seed, size_name(chaos));
    fflush(stdout);
    if (chaos->shrink)
        shrink(chaos, seed);
    fflush(stdout);
}

static void on_progress(void *arg, uint64_t done)
{
    struct chaos *chaos = arg;
    time_t now = time(NULL);
    if (!isatty(STDERR_FILENO) || now < chaos->told + PROGRESS_S)
        return;
    chaos->told = now;
    fprintf(stderr, "%" PRIu64 " of %" PRIu64 " seeds\n", done, chaos->many.last - chaos->many.first + 1);
}

static void print_totals(const struct many_totals *t)
{
    const struct audit_counts *c = &t->counts;
    printf("%" PRIu64 " runs, %" PRIu64 " with a breach, %" PRIu64
           " events, %.1f CPU seconds, %.0f runs a CPU second\n",
           t->runs, t->breaches, t->events, t->cpu_seconds,
           t->cpu_seconds > 0 ? (double)t->runs / t->cpu_seconds : 0);
    printf("submits %" PRIu64 ", deletes %" PRIu64 ", placements %" PRIu64 ", refusals %" PRIu64
           ", starts %" PRIu64 ", stops %" PRIu64 ", archived %" PRIu64 "; at rest %" PRIu64
           " running, %" PRIu64 " waiting\n",
           c->submits, c->deletes, c->placements, c->refusals, c->starts, c->stops, c->archived,
           c->running_at_rest, c->waiting_at_rest);
    printf("%" PRIu64 " messages of deposed leaders, %" PRIu64 " restored stores of the federation, %" PRIu64
           " of them found out by a leader\n",
           t->stale, t->restored, t->found_out);
}

/* What was drawn, and which rare paths that led to. False: something of it too rarely. */
static bool print_what_was_met(const struct many_totals *totals)
{
    uint64_t least = totals->runs >= RUNS_FOR_ALL ? 1 : 0;
    printf("\nWhat these runs are made of:\n");
    size_t rare = chaos_ingredients_print(stdout, totals->drawn, least);
    printf("\nRare paths that were taken:\n");
    return sim_situations_print(stdout, &totals->reached, totals->runs) && rare == 0;
}

static int run_many(struct chaos *chaos)
{
    struct many_totals totals;
    struct tf_error err = TF_ERROR_INIT;
    chaos->told = time(NULL);
    if (chaos_many(&chaos->many, on_breach, on_progress, chaos, &totals, &err)) {
        fprintf(stderr, "fedsim: %s\n", err.text);
        return FEDSIM_WRONG;
    }
    print_totals(&totals);
    bool whole = totals.runs == chaos->many.last - chaos->many.first + 1;
    bool enough = !whole || print_what_was_met(&totals);
    return totals.breaches || !enough ? FEDSIM_FAILED : FEDSIM_GOOD;
}

/* ---- one ---- */

static int run_one(const struct chaos *chaos)
{
    struct chaos_options options = {.seed = chaos->seed,
                                    .size = chaos->many.size,
                                    .aloud = chaos->trace,
                                    .tail = chaos->trace ? 0 : TAIL};
    struct chaos_result result;
    chaos_run(&options, &result);
    printf("seed %" PRIu64 ": %s, %" PRIu64 " events, at rest after %" PRId64 " s, hash %016" PRIx64 "\n",
           chaos->seed, result.breached ? result.breach : "no breach", result.events, result.rested_ms / 1000,
           result.hash);
    if (result.breached && chaos->shrink)
        shrink(chaos, chaos->seed);
    return result.breached ? FEDSIM_FAILED : FEDSIM_GOOD;
}

/* ---- the command line ---- */

enum { SEEDS = 256, SIZE, JOBS, KEEP_GOING, OUT, SEED, TRACE, NO_SHRINK };

static const struct argp_option options[] = {
    {"seeds", SEEDS, "A..B", 0, "These runs; default 1..1000", 0},
    {"size", SIZE, "NAME", 0, "small (the default): up to 3 subclusters of 5 nodes; medium: 5 of 24", 0},
    {"jobs", JOBS, "N", 0, "In so many processes; default: one a processor", 0},
    {"keep-going", KEEP_GOING, NULL, 0, "Do not end at the first breach", 0},
    {"out", OUT, "FOLDER", 0, "Write what is left of failing runs there; default: here", 0},
    {"no-shrink", NO_SHRINK, NULL, 0, "Do not make failing runs smaller", 0},
    {"seed", SEED, "N", 0, "That one run", 0},
    {"trace", TRACE, NULL, 0, "With --seed: print all that happens", 0},
    {0}};

static void parse_seeds(struct chaos *chaos, const char *word, const struct argp_state *state)
{
    int64_t first, last;
    const char *dots = strstr(word, "..");
    TF_AUTO_FREE char *from = tf_strndup(word, dots ? (size_t)(dots - word) : strlen(word));
    if (tf_parse_int64(from, 0, INT64_MAX - 1, &first, NULL) ||
        tf_parse_int64(dots ? dots + 2 : from, first, INT64_MAX - 1, &last, NULL))
        argp_error(state, "--seeds takes A..B, as in 1..5000, not \"%s\"", word);
    chaos->many.first = (uint64_t)first;
    chaos->many.last = (uint64_t)last;
}

static void parse_size(struct chaos *chaos, const char *word, const struct argp_state *state)
{
    if (strcmp(word, "small") == 0)
        chaos->many.size = CHAOS_SMALL;
    else if (strcmp(word, "medium") == 0)
        chaos->many.size = CHAOS_MEDIUM;
    else
        argp_error(state, "--size takes small or medium, not \"%s\"", word);
}

static int64_t parse_number(const char *name, const char *word, int64_t min, int64_t max,
                            const struct argp_state *state)
{
    struct tf_error err = TF_ERROR_INIT;
    int64_t number = min;
    if (tf_parse_int64(word, min, max, &number, &err))
        argp_error(state, "--%s: %s", name, err.text);
    return number;
}

/* Now, and not when hours of runs have found something. */
static void check_folder(const struct chaos *chaos, const struct argp_state *state)
{
    if (!chaos->out)
        return;
    if (mkdir(chaos->out, 0777) && errno != EEXIST)
        argp_failure(state, FEDSIM_WRONG, errno, "--out: %s cannot be made", chaos->out);
    if (access(chaos->out, W_OK | X_OK))
        argp_failure(state, FEDSIM_WRONG, errno, "--out: nothing can be written in %s", chaos->out);
}

static error_t parse(int key, char *word, struct argp_state *state)
{
    struct chaos *chaos = state->input;
    switch (key) {
    case SEEDS:
        parse_seeds(chaos, word, state);
        break;
    case SIZE:
        parse_size(chaos, word, state);
        break;
    case JOBS:
        chaos->many.jobs = (int32_t)parse_number("jobs", word, 1, JOBS_MAX, state);
        break;
    case KEEP_GOING:
        chaos->many.keep_going = true;
        break;
    case OUT:
        chaos->out = word;
        break;
    case NO_SHRINK:
        chaos->shrink = false;
        break;
    case SEED:
        chaos->seed = (uint64_t)parse_number("seed", word, 0, INT64_MAX - 1, state);
        chaos->one = true;
        break;
    case TRACE:
        chaos->trace = true;
        break;
    case ARGP_KEY_END:
        if (chaos->trace && !chaos->one)
            argp_error(state, "--trace is for one run: say --seed N");
        check_folder(chaos, state);
        break;
    case ARGP_KEY_ARG:
        argp_error(state, "what is \"%s\"? Runs are named by --seeds or --seed", word);
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static const struct argp argp = {options,
                                 parse,
                                 NULL,
                                 "Play random federations with random jobs and random faults, each drawn "
                                 "from its seed, with all promises of the "
                                 "design checked at every step; then everything is healed, and must come to "
                                 "rest. A run that breaks a promise is "
                                 "made smaller and written as a scenario, which fedsim run repeats.\v"
                                 "Exit: 0 no promise was broken, and the rare paths were taken often enough; "
                                 "1 otherwise; 2 the command line is "
                                 "wrong.",
                                 NULL,
                                 NULL,
                                 NULL};

static int run(int argc, char **argv)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    struct chaos chaos = {.many = {.first = 1,
                                   .last = SEEDS_DEFAULT,
                                   .size = CHAOS_SMALL,
                                   .jobs = processors > 0 && processors < JOBS_MAX ? (int32_t)processors : 1},
                          .shrink = true};
    if (argp_parse(&argp, argc, argv, 0, NULL, &chaos))
        return FEDSIM_WRONG;
    return chaos.one ? run_one(&chaos) : run_many(&chaos);
}

const struct fedsim_verb fedsim_chaos = {"chaos", "random runs with faults; failing ones are made small",
                                         run};
