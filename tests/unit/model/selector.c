/* SPDX-License-Identifier: Apache-2.0 */
/* Selectors: what each form holds for, and what is said to a wrong one. */
#include "common/model/selector.h"

#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/rng.h"
#include "common/base/text.h"
#include "tests/support/suite.h"

static const struct {
    const char *text;
    bool holds; /* for team=a, tier=1, empty= */
} cases[] = {
    {"", true},
    {"team=a", true},
    {"team==a", true},
    {" team = a , tier=1 ", true},
    {"team=b", false},
    {"empty=", true},
    {"empty!=", false},
    {"team=", false},
    {"none=", false},
    {"team!=a", false},
    {"team!=b", true},
    {"none!=b", true},
    {"team in (a)", true},
    {"team in (b, a ,c)", true},
    {"team in(b,a)", true},
    {"team in (b,c)", false},
    {"none in (a)", false},
    {"empty in ()", true},
    {"team notin (a,b)", false},
    {"team notin (b)", true},
    {"none notin (a)", true},
    {"team", true},
    {"none", false},
    {"!team", false},
    {"! none", true},
    {"in", false},
    {"!notin", true},
    {"in in (in)", false},
    {"team,tier in (1,2),!none,empty", true},
    {"team,tier in (1,2),!none,other", false},
};

static void labels_init(struct tf_pairs *labels)
{
    *labels = (struct tf_pairs){0};
    tf_pairs_set(labels, "team", "a");
    tf_pairs_set(labels, "tier", "1");
    tf_pairs_set(labels, "empty", "");
}

static void test_matches(void)
{
    struct tf_pairs labels;
    labels_init(&labels);
    for (size_t i = 0; i < TF_ARRAY_LEN(cases); i++) {
        struct tf_selector selector = {0}, copy = {0};
        struct tf_error err = TF_ERROR_INIT;
        CU_ASSERT_EQUAL(tf_selector_parse(cases[i].text, &selector, &err), 0);
        tf_selector_copy(&copy, &selector);
        if (err.code || tf_selector_match(&copy, &labels) != cases[i].holds)
            printf("\n    %s: %s\n", cases[i].text, err.text);
        CU_ASSERT_EQUAL(tf_selector_match(&selector, &labels), cases[i].holds);
        CU_ASSERT_EQUAL(tf_selector_match(&copy, &labels), cases[i].holds);
        tf_selector_release(&selector);
        tf_selector_release(&copy);
    }
    tf_pairs_release(&labels);
}

#define KEY "a key is expected here, as in: team=a, team!=a, team in (a,b), team notin (a,b), team, !team"
#define VALUE "a value has none of ( ) = ! (labels that do cannot be selected by value)"
static const struct {
    const char *text, *wanted;
} wrong[] = {
    {"=x", "column 1: " KEY},
    {",", "column 1: " KEY},
    {"a=1,,b=2", "column 5: " KEY},
    {"a=1,", "column 5: " KEY},
    {"a,!", "column 4: " KEY},
    {"a b", "column 3: one of = != in notin, or a comma and the next term, is expected here"},
    {"\xc3\xa9t\xc3\xa9 b", "column 5: one of = != in notin, or a comma and the next term, is expected here"},
    {"a in x", "column 6: values in brackets are expected here, as in: zone in (a, b)"},
    {"a notin", "column 8: values in brackets are expected here, as in: zone in (a, b)"},
    {"a in (b", "column 8: the values end with ), as in: zone in (a, b)"},
    {"a in (b,(c))", "column 9: the values end with ), as in: zone in (a, b)"},
    {"a in (b) c", "column 10: one of = != in notin, or a comma and the next term, is expected here"},
    {"!a=b", "column 3: after !KEY only a comma and the next term may follow"},
    {"a!b", "column 2: one of = != in notin, or a comma and the next term, is expected here"},
    {"a=b=c", "column 4: " VALUE},
    {"a=(b)", "column 3: " VALUE},
    {"a>3", "column 2: one of = != in notin, or a comma and the next term, is expected here"},
};

static void test_errors(void)
{
    for (size_t i = 0; i < TF_ARRAY_LEN(wrong); i++) {
        struct tf_selector selector = {0};
        struct tf_error err = TF_ERROR_INIT;
        tf_selector_add(&selector, "kept", "v");
        int failed = tf_selector_parse(wrong[i].text, &selector, &err);
        CU_ASSERT_EQUAL(failed, -1);
        CU_ASSERT_EQUAL(err.code, TF_ERR_INVALID);
        CU_ASSERT_STRING_EQUAL(err.text, wrong[i].wanted);
        if (!failed || strcmp(err.text, wrong[i].wanted) != 0)
            printf("\n    %s: %s\n", wrong[i].text, err.text);
        CU_ASSERT_EQUAL(selector.count, 1);
        tf_selector_release(&selector);
    }
}

static void test_written_again(void)
{
    static const char *const pairs[][2] = {
        {"a = b , c==d", "a=b,c=d"},
        {"a!=b", "a!=b"},
        {" zone  in ( a ,b )", "zone in (a,b)"},
        {"zone in (a)", "zone=a"},
        {"gen notin (v1,v2)", "gen notin (v1,v2)"},
        {"canary, ! frozen", "canary,!frozen"},
        {"", ""},
    };
    for (size_t i = 0; i < TF_ARRAY_LEN(pairs); i++) {
        struct tf_selector selector = {0}, again = {0};
        TF_AUTO_BUF text = TF_BUF_INIT;
        TF_AUTO_BUF twice = TF_BUF_INIT;
        CU_ASSERT_EQUAL_FATAL(tf_selector_parse(pairs[i][0], &selector, NULL), 0);
        tf_selector_format(&selector, &text);
        CU_ASSERT_STRING_EQUAL(tf_buf_text(&text), pairs[i][1]);
        CU_ASSERT_EQUAL_FATAL(tf_selector_parse(tf_buf_text(&text), &again, NULL), 0);
        tf_selector_format(&again, &twice);
        CU_ASSERT_STRING_EQUAL(tf_buf_text(&twice), tf_buf_text(&text));
        tf_selector_release(&selector);
        tf_selector_release(&again);
    }
}

/* Terms and values at their limits, and one more. */
static void test_limits(void)
{
    for (int more = 0; more < 2; more++) {
        struct tf_selector selector = {0};
        TF_AUTO_BUF terms = TF_BUF_INIT;
        TF_AUTO_BUF values = TF_BUF_INIT;
        TF_AUTO_BUF bytes = TF_BUF_INIT;
        for (int i = 0; i < TF_SELECTOR_TERMS_MAX + more; i++)
            tf_buf_fmt(&terms, "%sk%d", i ? "," : "", i);
        for (int i = 0; i < TF_SELECTOR_VALUES_MAX + more; i++)
            tf_buf_fmt(&values, "%s%d", i ? "," : "k in (", i);
        tf_buf_char(&values, ')');
        for (int i = 0; i < TF_SELECTOR_TEXT_MAX + more; i++)
            tf_buf_char(&bytes, 'k');
        CU_ASSERT_EQUAL(tf_selector_parse(tf_buf_text(&terms), &selector, NULL), -more);
        tf_selector_release(&selector);
        CU_ASSERT_EQUAL(tf_selector_parse(tf_buf_text(&values), &selector, NULL), -more);
        tf_selector_release(&selector);
        CU_ASSERT_EQUAL(tf_selector_parse(tf_buf_text(&bytes), &selector, NULL), -more);
        tf_selector_release(&selector);
    }
}

/* Whatever is typed: an answer, and no memory lost (asan). */
static void test_any_text(void)
{
    static const char letters[] = "ab=!,() in\tnotin\xc3\xa9";
    struct tf_rng rng;
    struct tf_pairs labels;
    labels_init(&labels);
    tf_rng_init(&rng, suite_seed(7));
    for (size_t round = suite_rounds(20000); round > 0; round--) {
        char text[24];
        size_t len = (size_t)tf_rng_below(&rng, sizeof text);
        struct tf_selector selector = {0};
        for (size_t i = 0; i < len; i++)
            text[i] = letters[tf_rng_below(&rng, sizeof letters - 1)];
        text[len] = '\0';
        if (tf_selector_parse(text, &selector, NULL) == 0)
            tf_selector_match(&selector, &labels);
        else
            CU_ASSERT_EQUAL(selector.count, 0);
        tf_selector_release(&selector);
    }
    tf_pairs_release(&labels);
}

int main(void)
{
    static const struct suite_test tests[] = {
        {"what they hold for", test_matches},  {"what is wrong is told with its column", test_errors},
        {"written again", test_written_again}, {"limits", test_limits},
        {"any text", test_any_text},
    };
    return suite_run("selector", tests, TF_ARRAY_LEN(tests));
}
