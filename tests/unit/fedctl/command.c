/* SPDX-License-Identifier: Apache-2.0 */
/* The command line: options, names of things, selectors, exit codes, what is waited for. */
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "tests/support/suite.h"
#include "tools/fedctl/target.h"
#include "tools/fedctl/waiting.h"

/* ---- options ---- */

struct parsed {
    struct options options;
    struct tf_strs words;
    struct tf_error err;
    int used;
};

static struct parsed parse(const char *verb, bool stop, int argc, char *const *argv)
{
    struct parsed p = {.err = TF_ERROR_INIT};
    struct option_list lists[2] = {verb_find(verb)->options, global_options};
    options_init(&p.options, lists[0]);
    p.used = options_parse(argc, argv, lists, stop, &p.options, &p.words, &p.err);
    return p;
}

static void parsed_release(struct parsed *p)
{
    options_release(&p->options);
    tf_strs_release(&p->words);
}

#define PARSE(verb, ...) \
    parse(verb, false, (int)TF_ARRAY_LEN(((char *[]){__VA_ARGS__})), (char *[]){__VA_ARGS__})

static void test_options(void)
{
    struct parsed p = PARSE("get", "jobs", "-Ao", "json", "--cluster=bj-a", "web/hello", "--", "-o");
    CU_ASSERT_EQUAL(p.used, 7);
    CU_ASSERT_TRUE(p.options.all_tenants);
    CU_ASSERT_EQUAL(p.options.output, OUTPUT_JSON);
    CU_ASSERT_STRING_EQUAL(p.options.cluster, "bj-a");
    CU_ASSERT_EQUAL_FATAL(p.words.count, 3);
    CU_ASSERT_STRING_EQUAL(p.words.items[2], "-o");
    parsed_release(&p);
    p = PARSE("get", "jobs", "-oyaml");
    CU_ASSERT_EQUAL(p.options.output, OUTPUT_YAML);
    parsed_release(&p);
    p = PARSE("apply", "-f", "a", "-f=b", "--file", "-", "--timeout", "1m30s");
    CU_ASSERT_EQUAL_FATAL(p.options.files.count, 3);
    CU_ASSERT_STRING_EQUAL(p.options.files.items[1], "b");
    CU_ASSERT_STRING_EQUAL(p.options.files.items[2], "-");
    CU_ASSERT_EQUAL(p.options.timeout, 90000);
    parsed_release(&p);
}

static void test_option_defaults(void)
{
    struct parsed p = PARSE("get", "jobs");
    CU_ASSERT_EQUAL(p.options.output, OUTPUT_TABLE);
    CU_ASSERT_FALSE(p.options.all_tenants);
    CU_ASSERT_EQUAL(p.options.timeout, 0);
    parsed_release(&p);
}

static void test_stop_at_word(void)
{
    struct parsed p = parse("get", true, 3, (char *[]){"--no-color", "get", "--help"});
    CU_ASSERT_EQUAL(p.used, 1);
    CU_ASSERT_TRUE(p.options.no_color);
    CU_ASSERT_FALSE(p.options.help);
    CU_ASSERT_EQUAL(p.words.count, 0);
    parsed_release(&p);
}

static void check_refused(struct parsed p, const char *text)
{
    CU_ASSERT_EQUAL(p.used, -1);
    CU_ASSERT_EQUAL(p.err.code, TF_ERR_INVALID);
    CU_ASSERT_PTR_NOT_NULL(strstr(p.err.text, text));
    if (!strstr(p.err.text, text))
        printf("\n    %s\n", p.err.text);
    parsed_release(&p);
}

static void test_bad_options(void)
{
    check_refused(PARSE("get", "--outptu", "json"), "did you mean --output?");
    check_refused(PARSE("get", "--zebra"), "there is no option --zebra");
    check_refused(PARSE("get", "-Z"), "there is no option -Z");
    check_refused(PARSE("get", "--out", "json"), "there is no option --out"); /* no abbreviations */
    check_refused(PARSE("get", "-o"), "--output needs a value");
    check_refused(PARSE("get", "-o", "jsn"), "--output");
    check_refused(PARSE("get", "--timeout", "5"), "--timeout");
    check_refused(PARSE("get", "--timeout", "0s"), "--timeout");
    check_refused(PARSE("get", "--help=maybe"), "--help");
    check_refused(PARSE("logs", "--index", "4096"), "--index");
    check_refused(PARSE("wait", "--for", "runing"), "--for");
    check_refused(PARSE("get", "--cluster", "../etc"), "--cluster");
}

static void test_verb_rows(void)
{
    for (size_t v = 0; verbs[v]; v++) {
        CU_ASSERT_PTR_EQUAL(verb_find(verbs[v]->name), verbs[v]);
        CU_ASSERT_PTR_NOT_NULL(verbs[v]->usage);
        CU_ASSERT_PTR_NOT_NULL(verbs[v]->examples);
        for (size_t i = 0; i < verbs[v]->options.count; i++)
            for (size_t j = 0; j < i; j++) {
                const struct option *a = &verbs[v]->options.items[i], *b = &verbs[v]->options.items[j];
                CU_ASSERT_FALSE(tf_str_eq(a->row.key, b->row.key));
                CU_ASSERT_FALSE(a->letter && a->letter == b->letter);
            }
    }
    CU_ASSERT_STRING_EQUAL(verb_nearest("gte"), "get");
    CU_ASSERT_STRING_EQUAL(verb_nearest("describ"), "describe");
    CU_ASSERT_STRING_EQUAL(verb_nearest("rm"), "delete");
    CU_ASSERT_PTR_NULL(verb_nearest("frobnicate"));
}

/* ---- names ---- */

static void check_kind(const char *word, unsigned allowed, int expected, enum resource_kind kind, size_t left)
{
    struct fedctl ctl = {.verb = &verb_get};
    struct tf_error err = TF_ERROR_INIT;
    enum resource_kind got = RESOURCE_NONE;
    tf_strs_add(&ctl.words, word);
    CU_ASSERT_EQUAL(target_kind(&ctl, allowed, &got, &err), expected);
    if (expected == 0) {
        CU_ASSERT_EQUAL(got, kind);
        CU_ASSERT_EQUAL(ctl.words.count, left);
    } else
        CU_ASSERT_EQUAL(err.code, TF_ERR_INVALID);
    tf_strs_release(&ctl.words);
}

static void test_kinds(void)
{
    unsigned jobs = 1u << RESOURCE_JOBS, more = jobs | 1u << RESOURCE_NODES;
    check_kind("jobs", jobs, 0, RESOURCE_JOBS, 0);
    check_kind("job", more, 0, RESOURCE_JOBS, 0);
    check_kind("nodes", more, 0, RESOURCE_NODES, 0);
    check_kind("web/hello", more, 0, RESOURCE_JOBS, 1);
    check_kind("nodes", jobs, -1, RESOURCE_NONE, 0);
    check_kind("hello", jobs, 0, RESOURCE_JOBS, 1);
    check_kind("hello", more, -1, RESOURCE_NONE, 0);
    check_kind("nodse", more, -1, RESOURCE_NONE, 0);
    check_kind("a/b", 1u << RESOURCE_NODES, -1, RESOURCE_NONE, 0);
}

static void check_job(const char *tenant, const char *word, const char *expected)
{
    struct fedctl ctl = {.options.tenant = (char *)(uintptr_t)tenant};
    struct tf_job_ref ref = {0};
    struct tf_error err = TF_ERROR_INIT;
    char got[200] = "";
    if (target_job(&ctl, word, &ref, &err) == 0)
        snprintf(got, sizeof got, "%s/%s", ref.tenant, ref.name);
    else
        CU_ASSERT_EQUAL(err.code, TF_ERR_INVALID);
    CU_ASSERT_STRING_EQUAL(got, expected);
    target_release(&ref);
}

static void test_jobs(void)
{
    check_job(NULL, "web/hello", "web/hello");
    check_job("data", "web/hello", "web/hello");
    check_job("data", "hello", "data/hello");
    check_job(NULL, "hello", "");
    check_job(NULL, "web/", "");
    check_job(NULL, "/hello", "");
    check_job(NULL, "web/hello/3", ""); /* that is an instance */
    check_job(NULL, "../etc", "");
    check_job(NULL, "web/..", "");
    check_job(NULL, "web/he llo", "");
    check_job(NULL, "Web/hello", "");
}

static void test_instances(void)
{
    struct fedctl ctl = {0};
    struct tf_job_ref ref = {0};
    struct tf_error err = TF_ERROR_INIT;
    int32_t index = -1;
    CU_ASSERT_EQUAL_FATAL(target_instance(&ctl, "web/hello/12", &ref, &index, &err), 0);
    CU_ASSERT_EQUAL(index, 12);
    CU_ASSERT_STRING_EQUAL(ref.name, "hello");
    target_release(&ref);
    CU_ASSERT_EQUAL(target_instance(&ctl, "web/hello/x", &ref, &index, &err), -1);
    CU_ASSERT_EQUAL(target_instance(&ctl, "web/hello/4096", &ref, &index, &err), -1);
    CU_ASSERT_EQUAL(target_instance(&ctl, "web/hello/1/2", &ref, &index, &err), -1);
}

static void test_selectors(void)
{
    struct tf_selector labels = {0};
    struct tf_error err = TF_ERROR_INIT;
    CU_ASSERT_EQUAL(target_selector("team=ranking,tier==1,empty=", &labels, &err), 0);
    CU_ASSERT_EQUAL(labels.count, 3);
    CU_ASSERT_EQUAL(target_selector("tier in (1", &labels, &err), -1);
    CU_ASSERT_STRING_EQUAL(err.text, "--selector: column 11: the values end with ), as in: zone in (a, b)");
    CU_ASSERT_EQUAL(labels.count, 3);
    tf_selector_release(&labels);
}

static void test_phases(void)
{
    uint32_t set = 0;
    struct tf_error err = TF_ERROR_INIT;
    CU_ASSERT_EQUAL(target_phases("pending,Running", &set, &err), 0);
    CU_ASSERT_EQUAL(set, 1u << TF_PHASE_PENDING | 1u << TF_PHASE_RUNNING);
    CU_ASSERT_EQUAL(target_phases("runing", &set, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "did you mean running?"));
    CU_ASSERT_EQUAL(target_phases("", &set, &err), 0);
    for (int phase = TF_PHASE_PENDING; phase <= TF_PHASE_DELETED; phase++) {
        set = 0;
        CU_ASSERT_EQUAL(target_phases(tf_phase_name((enum tf_phase)phase), &set, &err), 0);
        CU_ASSERT_EQUAL(set, 1u << phase);
    }
}

/* ---- ends ---- */

static void test_exit_codes(void)
{
    static const enum fedctl_exit expected[] = {
        [TF_OK] = 0,           [TF_ERR_INVALID] = 2, [TF_ERR_NOT_FOUND] = 3,
        [TF_ERR_CONFLICT] = 6, [TF_ERR_REFUSED] = 1, [TF_ERR_UNAVAILABLE] = 5,
        [TF_ERR_UNKNOWN] = 5,  [TF_ERR_TIMEOUT] = 4, [TF_ERR_TOO_LARGE] = 1,
        [TF_ERR_IO] = 1,       [TF_ERR_BUG] = 1,
    };
    for (size_t i = 0; i < TF_ARRAY_LEN(expected); i++)
        CU_ASSERT_EQUAL(fedctl_exit_of((enum tf_error_code)i), expected[i]);
}

static void test_waiting(void)
{
    enum { MORE = WAITING_MORE, MET = WAITING_MET, NEVER = WAITING_NEVER };
    /* by goal: Pending, Held, Starting, Running, Stopping, Succeeded, Failed, Deleted */
    static const int expected[][8] = {
        [WAIT_RUNNING] = {MORE, MORE, MORE, MET, MORE, MET, NEVER, NEVER},
        [WAIT_SUCCEEDED] = {MORE, MORE, MORE, MORE, MORE, MET, NEVER, NEVER},
        [WAIT_FAILED] = {MORE, MORE, MORE, MORE, MORE, NEVER, MET, NEVER},
        [WAIT_FINISHED] = {MORE, MORE, MORE, MORE, MORE, MET, MET, MET},
        [WAIT_DELETED] = {MORE, MORE, MORE, MORE, MORE, MORE, MORE, MORE},
    };
    for (int goal = WAIT_RUNNING; goal <= WAIT_DELETED; goal++)
        for (int phase = TF_PHASE_PENDING; phase <= TF_PHASE_DELETED; phase++)
            CU_ASSERT_EQUAL((int)waiting_judge((enum wait_for)goal, (enum tf_phase)phase),
                            expected[goal][phase - TF_PHASE_PENDING]);
}

static const struct suite_test tests[] = {
    {"options", test_options},
    {"defaults", test_option_defaults},
    {"options before the verb", test_stop_at_word},
    {"bad options", test_bad_options},
    {"table of verbs", test_verb_rows},
    {"kinds", test_kinds},
    {"jobs", test_jobs},
    {"instances", test_instances},
    {"selectors", test_selectors},
    {"phases", test_phases},
    {"exit codes", test_exit_codes},
    {"waiting", test_waiting},
};

int main(void)
{
    return suite_run("fedctl command", tests, TF_ARRAY_LEN(tests));
}
