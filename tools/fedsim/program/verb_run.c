/* SPDX-License-Identifier: Apache-2.0 */
/* Owns run: scenarios from files, one after another, and what came of them. */
#include "common/base/cleanup.h"
#include "common/base/quantity.h"
#include "common/base/text.h"
#include "tools/fedsim/play/play.h"
#include "tools/fedsim/program/fedsim.h"
#include "tools/fedsim/program/progress.h"
#include "tools/fedsim/program/xfail.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { TAIL = 40 };

enum report_form { REPORT_NONE, REPORT_AS_TEXT, REPORT_AS_JSON, REPORT_AS_HTML };

struct run {
    struct play_options play;
    enum report_form report;
    const char *page; /* file for the page with plots; NULL: none */
    struct xfail xfail;
    TF_VEC(const char *) files;
    size_t passed, expected, failed, wrong;
};

/* ---- one file ---- */

struct file {
    const char *path;
    FILE *out; /* for what is said of it */
    struct tf_buf text;
    struct tf_conf *conf; /* for places */
    struct scenario scenario;
};

static void file_release(struct file *file)
{
    scenario_release(&file->scenario);
    tf_conf_destroy(file->conf);
    tf_buf_release(&file->text);
}

static int file_read(struct file *file)
{
    struct tf_conf_problems problems = {0};
    struct tf_error err = TF_ERROR_INIT;
    int failed = tf_conf_read_file(file->path, TF_CONF_BYTES_MAX, &file->text, &err);
    if (failed) {
        fprintf(stderr, "%s\n", err.text);
        return -1;
    }
    failed = scenario_read(tf_buf_text(&file->text), file->text.len, &file->scenario, &problems);
    TF_AUTO_BUF shown = TF_BUF_INIT;
    tf_conf_problems_print(&problems, file->path, &shown);
    fputs(tf_buf_text(&shown), stderr);
    tf_conf_problems_release(&problems);
    if (!failed)
        file->conf = tf_conf_parse(tf_buf_text(&file->text), file->text.len, NULL, &problems);
    tf_conf_problems_release(&problems);
    return failed;
}

/* ---- what is said of it ---- */

/* FILE:LINE of a path in it. */
static void print_place(const struct file *file, const char *where)
{
    int line = 0, column = 0;
    fprintf(file->out, "    ");
    if (!where || tf_conf_count(file->conf) == 0)
        return;
    tf_conf_locate(tf_conf_doc(file->conf, 0), where, &line, &column);
    fprintf(file->out, "%s:%d: ", file->path, line);
}

/* As what is wrong in the text itself: FILE:LINE:COLUMN: PATH: TEXT. */
static void print_wrong(const struct file *file, const char *where, const char *text)
{
    struct tf_conf_problems problems = {0};
    TF_AUTO_BUF shown = TF_BUF_INIT;
    int line = 0, column = 0;
    if (where && tf_conf_count(file->conf))
        tf_conf_locate(tf_conf_doc(file->conf, 0), where, &line, &column);
    tf_conf_problems_add(&problems, line, column, where ? where : "", "%s", text);
    tf_conf_problems_print(&problems, file->path, &shown);
    fputs(tf_buf_text(&shown), stderr);
    tf_conf_problems_release(&problems);
}

static void print_subject(const struct file *file, int number)
{
    if (number < 0)
        return;
    const struct scenario_assertion *assertion = scenario_assertion_of(&file->scenario.expect.items[number]);
    if (assertion->job)
        fprintf(file->out, "job %s ", assertion->job);
    else if (assertion->node)
        fprintf(file->out, "node %s ", assertion->node);
    else if (assertion->cluster)
        fprintf(file->out, "cluster %s ", assertion->cluster);
}

static void print_failures(const struct file *file, const struct play_result *result)
{
    if (result->breached)
        fprintf(file->out, "    BREACH %s\n", result->breach);
    tf_vec_each (f, &result->failures) {
        print_place(file, f->where);
        print_subject(file, f->number);
        fprintf(file->out, "%s\n", f->text);
    }
}

static void print_skipped(const struct file *file, const struct play_result *result)
{
    tf_vec_each (f, &result->skipped) {
        print_place(file, f->where);
        fprintf(file->out, "skipped: %s%s\n", f->number >= 0 ? "the expectation " : "", f->text);
    }
}

static void print_notes(const struct file *file, const struct play_result *result)
{
    tf_vec_each (f, &result->notes) {
        print_place(file, f->where);
        fprintf(file->out, "note: %s\n", f->text);
    }
}

static double seconds_since(const struct timespec *begin)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - begin->tv_sec) + (double)(now.tv_nsec - begin->tv_nsec) / 1e9;
}

static uint64_t seed_of(const struct run *run, const struct file *file)
{
    return run->play.has_seed ? run->play.seed : (uint64_t)file->scenario.seed;
}

static void print_head(const struct run *run, const struct file *file, const char *verdict,
                       const struct play_result *result, double seconds)
{
    char ended[TF_QUANTITY_TEXT];
    fprintf(file->out, "%-5s %s: %s\n      %s simulated in %.2f s, %" PRIu64 " events, seed %" PRIu64,
            verdict, file->path, file->scenario.name, tf_duration_format(result->ended, ended), seconds,
            result->events, seed_of(run, file));
    if (result->hash)
        fprintf(file->out, ", hash %016" PRIx64, result->hash);
    fprintf(file->out, "\n");
}

/* Not all of tidefed decides. */
static bool is_compared(const struct run *run)
{
    return run->play.rival != RIVAL_NONE || run->play.without;
}

/* A breach is never expected. */
static void judge(struct run *run, const struct file *file, const struct play_result *result, double seconds)
{
    const char *reason = is_compared(run) ? NULL : xfail_reason(&run->xfail, file->path);
    bool good = play_is_good(result), expected = reason && !good && !result->breached;
    print_head(run, file,
               expected           ? "XFAIL"
               : !good || reason  ? "FAIL"
               : is_compared(run) ? "RAN"
                                  : "PASS",
               result, seconds);
    if (reason && good)
        fprintf(file->out, "    it holds, and is on the list of those that fail (%s): take it off\n", reason);
    else if (reason)
        fprintf(file->out, "    expected: %s\n", reason);
    print_failures(file, result);
    print_skipped(file, result);
    print_notes(file, result);
    run->passed += good && !reason;
    run->expected += expected;
    run->failed += !expected && !(good && !reason);
}

static int64_t peak_kib(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) ? 0 : usage.ru_maxrss;
}

/* NULL: tidefed, all of it. */
static char *policy_of(const struct run *run)
{
    static const char *const things[] = {"absorb", "align", "cost", "claims"};
    TF_AUTO_BUF text = TF_BUF_INIT;
    if (!is_compared(run))
        return NULL;
    tf_buf_str(&text, rival_name(run->play.rival));
    for (size_t i = 0; i < TF_ARRAY_LEN(things); i++)
        if (run->play.without & play_without_named(things[i]))
            tf_buf_fmt(&text, " without %s", things[i]);
    return tf_buf_take(&text);
}

static int write_page(const char *path, const struct tf_buf *text)
{
    FILE *out = fopen(path, "w");
    bool good = out && fwrite(tf_buf_text(text), 1, text->len, out) == text->len;
    good = out && fclose(out) == 0 && good;
    if (!good)
        fprintf(stderr, "%s: the page could not be written: %s\n", path, strerror(errno));
    return good ? 0 : -1;
}

/* On stdout, alone there unless it is text; the page also in its file. */
static int print_report(const struct run *run, const struct file *file, const struct play_result *result,
                        double seconds)
{
    TF_AUTO_FREE char *policy = policy_of(run);
    const struct report_frame frame = {.scenario = file->scenario.name,
                                       .policy = policy,
                                       .seed = seed_of(run, file),
                                       .wall_ms = (int64_t)(seconds * TF_SECOND),
                                       .peak_kib = peak_kib(),
                                       .breach = result->breached ? result->breach : NULL};
    TF_AUTO_BUF text = TF_BUF_INIT;
    TF_AUTO_BUF page = TF_BUF_INIT;
    if (run->report == REPORT_AS_JSON)
        report_json(result->report, &frame, &text);
    else if (run->report == REPORT_AS_TEXT)
        report_text(result->report, &frame, &text);
    else if (run->report == REPORT_AS_HTML)
        report_page(result->report, &frame, &text);
    fputs(tf_buf_text(&text), stdout);
    if (!run->page)
        return 0;
    report_page(result->report, &frame, &page);
    return write_page(run->page, &page);
}

/* A report that programs read is alone on stdout. */
static bool is_alone(const struct run *run)
{
    return run->report == REPORT_AS_JSON || run->report == REPORT_AS_HTML;
}

static struct tf_mono mono_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (struct tf_mono){now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000};
}

static void goes_on(void *arg, int64_t at, int64_t until, uint64_t events)
{
    struct progress *progress = arg;
    struct tf_mono now = mono_now();
    if (progress_is_due(progress, now))
        progress_show(progress, at, until, events, now);
}

/* What happens is printed as it does, or nobody looks. */
static int play(struct run *run, const struct file *file, struct play_result *result, struct tf_error *err)
{
    struct progress progress;
    bool on = isatty(STDERR_FILENO) && !run->play.aloud;
    const char *slash = strrchr(file->path, '/');
    progress_begin(&progress, slash ? slash + 1 : file->path, on, mono_now());
    run->play.goes_on = on ? goes_on : NULL;
    run->play.goes_on_arg = &progress;
    int failed = scenario_play(&file->scenario, &run->play, result, err);
    progress_end(&progress);
    return failed;
}

static void run_file(struct run *run, const char *path)
{
    struct file file = {.path = path, .out = is_alone(run) ? stderr : stdout, .text = TF_BUF_INIT};
    struct play_result result;
    struct tf_error err = TF_ERROR_INIT;
    struct timespec begin;
    TF_AUTO_FREE char *folder =
        tf_strndup(path, strrchr(path, '/') ? (size_t)(strrchr(path, '/') - path) : 0);
    run->play.folder = folder;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    if (file_read(&file)) {
        run->wrong++;
    } else if (play(run, &file, &result, &err)) {
        print_wrong(&file, result.where, err.text);
        run->wrong++;
        play_result_release(&result);
    } else {
        double seconds = seconds_since(&begin);
        judge(run, &file, &result, seconds);
        run->wrong += print_report(run, &file, &result, seconds) != 0;
        play_result_release(&result);
    }
    fflush(stdout);
    file_release(&file);
}

/* ---- the command line ---- */

enum { SEED = 256, UNTIL, CHECK, TRACE, POLICY, XFAIL, REPORT, HTML, WITHOUT };

static const struct argp_option options[] = {
    {"seed", SEED, "N", 0, "Instead of the scenario's", 0},
    {"until", UNTIL, "T", 0, "Stop at that moment, as in 2h59m; later expectations are skipped and named", 0},
    {"check", CHECK, "WHEN", 0,
     "What costs most of the invariants: after every step (the default), at the end, or off", 0},
    {"trace", TRACE, NULL, 0, "Print all that happens, decisions with their reasons", 0},
    {"report", REPORT, "FORM", 0,
     "Figures of the run: text, a page for people; or json, alone on stdout, with stable names; or html", 0},
    {"html", HTML, "FILE", 0,
     "Write a page with plots, to look at in a browser: one file that fetches nothing", 0},
    {"without", WITHOUT, "WHAT", 0,
     "To see what it is worth: absorb, align, cost or claims; may be said more than once. What is expected "
     "is "
     "then not judged",
     0},
    {"policy", POLICY, "NAME", 0,
     "Who decides: tidefed, or to compare it with fifo, static-quota, priority or youngest-first", 0},
    {"xfail", XFAIL, "FILE", 0,
     "Scenarios that are expected to fail, with reasons; one that holds is a failure", 0},
    {0}};

static void parse_check(struct run *run, const char *word, const struct argp_state *state)
{
    if (strcmp(word, "every") == 0)
        run->play.check = SIM_CHECK_EVERY;
    else if (strcmp(word, "end") == 0)
        run->play.check = SIM_CHECK_END;
    else if (strcmp(word, "off") == 0)
        run->play.check = SIM_CHECK_OFF;
    else
        argp_error(state, "--check takes every, end or off, not \"%s\"", word);
}

static void parse_report(struct run *run, const char *word, const struct argp_state *state)
{
    if (strcmp(word, "text") == 0)
        run->report = REPORT_AS_TEXT;
    else if (strcmp(word, "json") == 0)
        run->report = REPORT_AS_JSON;
    else if (strcmp(word, "html") == 0)
        run->report = REPORT_AS_HTML;
    else
        argp_error(state, "--report takes text, json or html, not \"%s\"", word);
}

static error_t parse(int key, char *word, struct argp_state *state)
{
    struct run *run = state->input;
    struct tf_error err = TF_ERROR_INIT;
    int64_t seed;
    switch (key) {
    case SEED:
        if (tf_parse_int64(word, 0, INT64_MAX, &seed, &err))
            argp_error(state, "--seed: %s", err.text);
        run->play.seed = (uint64_t)seed;
        run->play.has_seed = true;
        break;
    case UNTIL:
        if (tf_duration_parse(word, &run->play.until, &err))
            argp_error(state, "--until: %s", err.text);
        break;
    case CHECK:
        parse_check(run, word, state);
        break;
    case REPORT:
        parse_report(run, word, state);
        break;
    case HTML:
        run->page = word;
        break;
    case TRACE:
        run->play.aloud = true;
        break;
    case POLICY:
        if (rival_named(word, &run->play.rival))
            argp_error(
                state,
                "there is no policy \"%s\": take tidefed, fifo, static-quota, priority or youngest-first",
                word);
        break;
    case WITHOUT:
        if (!play_without_named(word))
            argp_error(state, "--without takes absorb, align, cost or claims, not \"%s\"", word);
        run->play.without |= play_without_named(word);
        break;
    case XFAIL:
        if (xfail_load(word, &run->xfail, &err))
            argp_failure(state, FEDSIM_WRONG, 0, "%s", err.text);
        break;
    case ARGP_KEY_ARG:
        tf_vec_push(&run->files, word);
        break;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "which scenario? For example: fedsim run scenario.yaml");
        break;
    case ARGP_KEY_END:
        if (run->play.rival && run->play.without)
            argp_error(state, "--without is about tidefed, not about another --policy");
        if (run->page && run->files.count > 1)
            argp_error(state, "--html takes one scenario at a time: a page is about one run");
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static const struct argp argp = {
    options,
    parse,
    "FILE...",
    "Play scenarios in virtual time through the production cores, and say whether what they expect holds. - "
    "is standard input.\v"
    "Exit: 0 all expectations hold and no invariant broke; 1 otherwise; 2 a file or the command line is "
    "wrong.\n"
    "What a scenario may say: fedsim help scenario.",
    NULL,
    NULL,
    NULL};

static int run_verb(int argc, char **argv)
{
    struct run run = {.play = {.until = -1, .tail = TAIL}};
    if (argp_parse(&argp, argc, argv, 0, NULL, &run))
        return FEDSIM_WRONG;
    tf_vec_each (path, &run.files)
        run_file(&run, *path);
    if (run.files.count > 1)
        fprintf(is_alone(&run) ? stderr : stdout,
                "%zu passed, %zu failed as expected, %zu failed, %zu could not be played\n", run.passed,
                run.expected, run.failed, run.wrong);
    tf_vec_release(&run.files);
    xfail_release(&run.xfail);
    return run.wrong ? FEDSIM_WRONG : run.failed ? FEDSIM_FAILED : FEDSIM_GOOD;
}

const struct fedsim_verb fedsim_run = {"run", "play scenarios: what must be true, and whether it is",
                                       run_verb};
