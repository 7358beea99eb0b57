/* SPDX-License-Identifier: Apache-2.0 */
/* The row machinery with a table of its own that has every type: reading, printing, reading again. */
#include "common/base/cleanup.h"
#include "common/base/rng.h"
#include "common/base/text.h"
#include "common/conf/conf.h"
#include "tests/support/suite.h"

enum colour { COLOUR_UNSET, RED, GREEN };

struct item {
    char *name;
    int32_t n;
    struct tf_strs tags;
};
struct items {
    struct item *items;
    size_t count, cap;
};
struct thing {
    char *text, *name, *detail, *owner;
    int32_t small, fraction, sizes[3];
    int64_t big, wait, memory, capacity, cpu, limit, optional, stars;
    bool flag;
    enum colour colour, choice;
    struct tf_strs strings, names;
    struct tf_pairs pairs;
    struct item inner, brief, owned;
    struct tf_strs one;
    struct items list, map, numbers;
};

static const struct tf_row item_rows[] = {
    {.key = "name", TF_NAME(struct item, name), .flags = TF_ROW_REQUIRED},
    {.key = "n", TF_INT32(struct item, n), .min = INT32_MIN, .max = INT32_MAX, .def = "7"},
    {.key = "tags", TF_STRINGS(struct item, tags), .def = "a, b"},
};
static const struct tf_table item_table = TF_TABLE(struct item, item_rows);
static const struct tf_row number_rows[] = {
    {.key = "name", TF_NAME(struct item, name), .flags = TF_ROW_REQUIRED},
    {.key = "n", TF_INT32(struct item, n), .min = INT32_MIN, .max = INT32_MAX},
};
static const struct tf_table number_table = TF_TABLE(struct item, number_rows);
/* *** is 3 */
static int parse_stars(const char *text, int64_t *value, struct tf_error *err)
{
    *value = (int64_t)strlen(text);
    return text[strspn(text, "*")] ? tf_error_set(err, TF_ERR_INVALID, "only stars, please") : 0;
}
static void format_stars(int64_t value, struct tf_buf *buf)
{
    while (value-- > 0)
        tf_buf_char(buf, '*');
}
static const struct tf_notation stars = {"stars, as in ***", parse_stars, format_stars};
static const struct tf_row brief_rows[] = {
    {.key = "name", TF_STRING(struct item, name)},
    {.key = "n", TF_INT32(struct item, n), .flags = TF_ROW_OPTIONAL},
    {.key = "tags", TF_STRINGS(struct item, tags)},
};
static const struct tf_table brief_table = TF_TABLE(struct item, brief_rows);
static const struct tf_row thing_rows[] = {
    {.key = "text", TF_STRING(struct thing, text)},
    {.key = "name", TF_NAME(struct thing, name), .def = "nobody"},
    {.key = "kind", TF_CONST("Thing")},
    {.key = "small", TF_INT32(struct thing, small), .min = -10, .max = 10, .def = "-3"},
    {.key = "big", TF_INT64(struct thing, big)},
    {.key = "sizes", TF_SIZES(struct thing, sizes[0], 3)},
    {.key = "flag", TF_BOOL(struct thing, flag), .def = "true"},
    {.key = "wait", TF_DURATION(struct thing, wait), .def = "1m30s"},
    {.key = "limit", TF_DURATION(struct thing, limit), .min = 1, .max = 1000000, .flags = TF_ROW_NONE},
    {.key = "memory", TF_MEMORY(struct thing, memory), .flags = TF_ROW_ZERO},
    {.key = "capacity", TF_CAPACITY(struct thing, capacity)},
    {.key = "cpu", TF_CPU(struct thing, cpu)},
    {.key = "fraction", TF_FRACTION(struct thing, fraction), .def = "12.5%"},
    {.key = "optional", TF_INT64(struct thing, optional), .max = 5, .flags = TF_ROW_OPTIONAL},
    {.key = "stars", TF_NOTATION(struct thing, stars, &stars), .max = 12, .flags = TF_ROW_OPTIONAL},
    {.key = "brief", TF_OBJECT(struct thing, brief, &brief_table), .flags = TF_ROW_SHORT},
    {.key = "owned/", TF_STRING(struct thing, owner), .min = 1, .flags = TF_ROW_SUFFIX},
    {.key = "owned", TF_OBJECT(struct thing, owned, &brief_table), .flags = TF_ROW_SHORT},
    {.key = "one", TF_STRINGS(struct thing, one), .flags = TF_ROW_SHORT},
    {.key = "colour", TF_ENUM(struct thing, colour, "red", "green")},
    {.key = "choice", TF_CHOICE(struct thing, choice, GREEN, detail, "red", "green")},
    {.key = "strings", TF_STRINGS(struct thing, strings), .def = "x, y z"},
    {.key = "names", TF_NAMES(struct thing, names)},
    {.key = "pairs", TF_PAIRS(struct thing, pairs)},
    {.key = "inner", TF_OBJECT(struct thing, inner, &item_table)},
    {.key = "list", TF_OBJECTS(struct thing, list, &item_table)},
    {.key = "map", TF_MAP(struct thing, map, &item_table)},
    {.key = "numbers", TF_MAP(struct thing, numbers, &number_table), .def = "one: 1, two: 2"},
};
static const struct tf_table thing_table = TF_TABLE(struct thing, thing_rows);

static int read_thing(const char *text, size_t len, struct thing *thing)
{
    struct tf_conf_problems problems = {0};
    int failed = tf_conf_read_text(text, len, NULL, &thing_table, thing, &problems);
    if (failed) {
        TF_AUTO_BUF shown = TF_BUF_INIT;
        tf_conf_problems_print(&problems, "f", &shown);
        printf("\n%s%s", shown.data, text);
    }
    tf_conf_problems_release(&problems);
    return failed;
}

static void test_defaults(void)
{
    struct thing t;
    CU_ASSERT_EQUAL_FATAL(read_thing("", 0, &t), 0);
    TF_AUTO_BUF yaml = TF_BUF_INIT, json = TF_BUF_INIT;
    tf_table_yaml(&thing_table, &t, &yaml);
    CU_ASSERT_STRING_EQUAL(yaml.data,
                           "name: nobody\nkind: Thing\nsmall: -3\nbig: 0\nflag: true\nwait: 1m30s\n"
                           "limit: none\ncapacity: 0\ncpu: 0\nfraction: 12.5%\nstrings: [x, \"y z\"]\n"
                           "numbers:\n  one: 1\n  two: 2\n");
    tf_table_json(&thing_table, &t, &json);
    CU_ASSERT_STRING_EQUAL(
        json.data,
        "{\"name\":\"nobody\",\"kind\":\"Thing\",\"small\":-3,\"big\":0,\"flag\":true,\"wait\":\"1m30s\","
        "\"limit\":\"none\",\"capacity\":\"0\",\"cpu\":\"0\",\"fraction\":\"12.5%\",\"strings\":[\"x\",\"y "
        "z\"],\"numbers\":{\"one\":1,\"two\":2}}");
    tf_table_release(&thing_table, &t);
}

static void test_nested(void)
{
    const char *text =
        "sizes: 4\nchoice: {green: deep}\ninner: {name: i, tags: []}\nstrings: []\nnumbers: {}\n"
        "list: [{name: a}, {name: b, n: 1}]\nmap: {x: {n: 2}, y: {tags: [t]}, z: {}}\n";
    struct thing t;
    CU_ASSERT_EQUAL_FATAL(read_thing(text, strlen(text), &t), 0);
    CU_ASSERT_EQUAL(t.sizes[2], 4);
    CU_ASSERT_STRING_EQUAL(t.detail, "deep");
    CU_ASSERT_EQUAL(t.map.count, 3);
    CU_ASSERT_EQUAL(t.map.items[1].n, 7);
    TF_AUTO_BUF yaml = TF_BUF_INIT;
    tf_table_yaml(&thing_table, &t, &yaml);
    CU_ASSERT_PTR_NOT_NULL(strstr(yaml.data, "choice: {green: deep}\nstrings: []\n"
                                             "inner:\n  name: i\n  n: 7\n  tags: []\n"
                                             "list:\n  - name: a\n    n: 7\n    tags: [a, b]\n"
                                             "  - name: b\n    n: 1\n    tags: [a, b]\n"
                                             "map:\n  x:\n    n: 2\n    tags: [a, b]\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(yaml.data, "numbers: {}\n"));
    tf_table_release(&thing_table, &t);
}

static void expect_problem(const char *text, const char *expected)
{
    struct tf_conf_problems problems = {0};
    struct thing t;
    CU_ASSERT_EQUAL_FATAL(tf_conf_read_text(text, strlen(text), NULL, &thing_table, &t, &problems), -1);
    TF_AUTO_BUF shown = TF_BUF_INIT;
    tf_conf_problems_print(&problems, "f", &shown);
    CU_ASSERT_STRING_EQUAL(tf_buf_text(&shown), expected);
    tf_conf_problems_release(&problems);
}

static void test_short_forms(void)
{
    const char *text = "optional: 0\nstars: \"***\"\nbrief: here\nowned/me:\n  name: mine\n  n: 3\none: x\n";
    struct thing t;
    CU_ASSERT_EQUAL_FATAL(read_thing(text, strlen(text), &t), 0);
    CU_ASSERT_EQUAL(t.stars, 3);
    CU_ASSERT_EQUAL(t.brief.n, TF_UNSET);
    CU_ASSERT_STRING_EQUAL(t.brief.name, "here");
    CU_ASSERT_STRING_EQUAL(t.owner, "me");
    CU_ASSERT_EQUAL(t.owned.n, 3);
    CU_ASSERT_EQUAL_FATAL(t.one.count, 1);
    TF_AUTO_BUF yaml = TF_BUF_INIT;
    tf_table_yaml(&thing_table, &t, &yaml);
    CU_ASSERT_PTR_NOT_NULL(strstr(yaml.data, text));
    tf_table_release(&thing_table, &t);
    expect_problem("stars: abc\n", "f:1:8: stars: only stars, please\n");
    expect_problem("stars: [a]\n", "f:1:8: stars: must be stars, as in ***, not a list\n");
    expect_problem("owned/: x\n", "f:1:1: owned/: a name is missing after the slash\n");
    expect_problem("owned/a: x\nowned: y\n", "f:1:1: owned/a: owned is there twice in one mapping\n");
    expect_problem("ownd: y\n", "f:1:1: unknown key \"ownd\"; did you mean \"owned\"?\n");
}

/* ---- random things are printed and read back ---- */

static char *random_text(struct tf_rng *rng)
{
    static const char *const pieces[] = {"a",
                                         "Z",
                                         "0",
                                         " ",
                                         ":",
                                         "#",
                                         "- ",
                                         "'",
                                         "\"",
                                         "\\",
                                         "\n",
                                         "\t",
                                         "{",
                                         "]",
                                         ",",
                                         "\x01",
                                         "\x7f",
                                         "\xc2\x85",
                                         "\xe2\x80\xa8",
                                         "\xef\xbb\xbf",
                                         "\xc3\xa9",
                                         "\xf0\x9f\x98\x80",
                                         "\xef\xbf\xbe",
                                         "true",
                                         "~",
                                         "null",
                                         "%",
                                         "@",
                                         "&",
                                         "*",
                                         "!"};
    struct tf_buf buf = TF_BUF_INIT;
    for (uint64_t n = tf_rng_below(rng, 6); n > 0; n--)
        tf_buf_str(&buf, pieces[tf_rng_below(rng, TF_ARRAY_LEN(pieces))]);
    return tf_buf_take(&buf);
}

static char *random_name(struct tf_rng *rng)
{
    static const char *const names[] = {"a",     "0",  "no", "true", "null", "1e3",
                                        "a-b.c", "on", "y",  "12",   "0x1"};
    return tf_strdup(names[tf_rng_below(rng, TF_ARRAY_LEN(names))]);
}

static void random_strings(struct tf_rng *rng, struct tf_strs *list, char *make(struct tf_rng *rng))
{
    tf_strs_release(list);
    for (uint64_t n = tf_rng_below(rng, 4); n > 0; n--) {
        TF_AUTO_FREE char *s = make(rng);
        tf_strs_add(list, s);
    }
}

static void random_item(struct tf_rng *rng, struct item *item)
{
    item->name = random_name(rng);
    item->n = (int32_t)tf_rng_range(rng, INT32_MIN, INT32_MAX);
    random_strings(rng, &item->tags, random_text);
}

static void random_items(struct tf_rng *rng, struct thing *t, const char *key, bool tags)
{
    const struct tf_row *row = tf_table_find(&thing_table, key);
    struct tf_table alone = {.rows = row, .count = 1};
    tf_table_release(&alone, t);
    for (uint64_t n = tf_rng_below(rng, 4), i = 0; i < n; i++) {
        struct item *item = tf_row_add(row, t);
        random_item(rng, item);
        if (!tags)
            tf_strs_release(&item->tags);
        char *unique = tf_asprintf("%s%llu", item->name, (unsigned long long)i);
        tf_str_set(&item->name, unique);
        free(unique);
    }
}

static int64_t random_size(struct tf_rng *rng, int64_t max)
{
    return tf_rng_range(rng, 0, 1 + tf_rng_range(rng, 0, max - 1) / (1 + tf_rng_range(rng, 0, 10000)));
}

static void random_brief(struct tf_rng *rng, struct item *item)
{
    if (tf_rng_below(rng, 3))
        item->name = random_text(rng);
    if (item->name && tf_rng_below(rng, 3) == 0)
        random_strings(rng, &item->tags, random_text);
    item->n = tf_rng_below(rng, 2) ? (int32_t)tf_rng_below(rng, 3) : TF_UNSET;
}

static void random_thing(struct tf_rng *rng, struct thing *t)
{
    tf_table_init(&thing_table, t);
    if (tf_rng_below(rng, 2))
        t->text = random_text(rng);
    free(t->name);
    t->name = random_name(rng);
    t->small = (int32_t)tf_rng_range(rng, -10, 10);
    t->big = random_size(rng, INT64_MAX);
    t->flag = tf_rng_below(rng, 2);
    t->wait = random_size(rng, INT64_C(3650) * 86400000);
    t->limit = tf_rng_range(rng, 0, 1000000);
    t->memory = random_size(rng, INT64_C(1) << 40);
    t->capacity = random_size(rng, INT64_C(1) << 40);
    t->cpu = random_size(rng, 1000000000);
    t->fraction = (int32_t)tf_rng_range(rng, 0, 10000);
    t->colour = (enum colour)tf_rng_below(rng, 3);
    t->choice = (enum colour)tf_rng_below(rng, 3);
    t->detail = t->choice == GREEN ? random_text(rng) : NULL;
    random_strings(rng, &t->strings, random_text);
    random_strings(rng, &t->names, random_name);
    for (uint64_t n = tf_rng_below(rng, 4); n > 0; n--) {
        TF_AUTO_FREE char *key = random_text(rng), *value = random_text(rng);
        if (*key)
            tf_pairs_set(&t->pairs, key, value);
    }
    t->optional = tf_rng_range(rng, TF_UNSET, 5);
    t->stars = tf_rng_range(rng, TF_UNSET, 12);
    random_brief(rng, &t->brief);
    random_brief(rng, &t->owned);
    if (t->owned.name)
        t->owner = random_name(rng);
    random_strings(rng, &t->one, random_text);
    random_item(rng, &t->inner);
    random_items(rng, t, "list", true);
    random_items(rng, t, "map", true);
    random_items(rng, t, "numbers", false);
}

static void test_round_trip(void)
{
    struct tf_rng rng;
    tf_rng_init(&rng, suite_seed(1));
    for (size_t i = 0; i < suite_rounds(2000); i++) {
        struct thing t, copy = {0}, back;
        random_thing(&rng, &t);
        tf_table_copy(&thing_table, &copy, &t);
        CU_ASSERT_TRUE(tf_table_eq(&thing_table, &copy, &t));
        for (int json = 0; json < 2; json++) {
            TF_AUTO_BUF text = TF_BUF_INIT;
            (json ? tf_table_json : tf_table_yaml)(&thing_table, &t, &text);
            bool same = read_thing(text.data, text.len, &back) == 0 && tf_table_eq(&thing_table, &t, &back);
            CU_ASSERT_TRUE_FATAL(same);
            tf_table_release(&thing_table, &back);
        }
        tf_table_release(&thing_table, &t);
        tf_table_release(&thing_table, &copy);
    }
}

static const struct suite_test tests[] = {{"defaults", test_defaults},
                                          {"nested", test_nested},
                                          {"short forms", test_short_forms},
                                          {"round trip", test_round_trip}};

int main(void)
{
    return suite_run("read", tests, TF_ARRAY_LEN(tests));
}
