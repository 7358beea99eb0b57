/* SPDX-License-Identifier: Apache-2.0 */
/* Owns how selectors are read and what they hold for. */
#include "common/model/selector.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"

/* ---- in memory ---- */

static void release_term(struct tf_selector_term *term)
{
    free(term->key);
    tf_strs_release(&term->values);
}

void tf_selector_release(struct tf_selector *selector)
{
    tf_vec_each (term, selector)
        release_term(term);
    tf_vec_release(selector);
}

void tf_selector_add(struct tf_selector *selector, const char *key, const char *value)
{
    struct tf_selector_term *term = tf_vec_add(selector);
    term->key = tf_strdup(key);
    term->op = TF_SELECTOR_IN;
    tf_strs_add(&term->values, value);
}

void tf_selector_copy(struct tf_selector *to, const struct tf_selector *from)
{
    tf_selector_release(to);
    tf_vec_each (term, from) {
        struct tf_selector_term *copy = tf_vec_add(to);
        copy->key = tf_strdup(term->key);
        copy->op = term->op;
        tf_strs_copy(&copy->values, &term->values);
    }
}

static bool holds(const struct tf_selector_term *term, const struct tf_pairs *labels)
{
    const char *value = tf_pairs_get(labels, term->key);
    switch (term->op) {
    case TF_SELECTOR_IN:
        return value && tf_strs_has(&term->values, value);
    case TF_SELECTOR_NOT_IN:
        return !value || !tf_strs_has(&term->values, value);
    case TF_SELECTOR_EXISTS:
        return value != NULL;
    case TF_SELECTOR_ABSENT:
        return value == NULL;
    case TF_SELECTOR_NONE:
        break;
    }
    return false;
}

bool tf_selector_match(const struct tf_selector *selector, const struct tf_pairs *labels)
{
    tf_vec_each (term, selector)
        if (!holds(term, labels))
            return false;
    return true;
}

/* ---- reading ---- */

#define SPACES " \t"
#define KEY_ENDS SPACES "=!<>,()" /* no letter of a key */

struct reader {
    const char *text, *at;
    size_t values; /* so far */
    struct tf_error *err;
};

static int fail(const struct reader *r, const char *what)
{
    int column = 1;
    for (const char *c = r->text; c < r->at; c++)
        column += ((unsigned char)*c & 0xc0) != 0x80; /* letters, not bytes */
    return tf_error_set(r->err, TF_ERR_INVALID, "column %d: %s", column, what);
}

static void skip_spaces(struct reader *r)
{
    r->at += strspn(r->at, SPACES);
}

static char *take(struct reader *r, size_t len)
{
    char *taken = tf_strndup(r->at, len);
    r->at += len;
    return taken;
}

/* A word that stands alone: "in" of "zone in (a)", not of "zone index". */
static bool take_word(struct reader *r, const char *word)
{
    size_t len = strlen(word);
    if (strcspn(r->at, KEY_ENDS) != len || strncmp(r->at, word, len) != 0)
        return false;
    r->at += len;
    return true;
}

/* A value up to one of ends, without the spaces around it. May be empty: `team=`. */
static int read_value(struct reader *r, const char *ends, struct tf_strs *values)
{
    skip_spaces(r);
    size_t len = strcspn(r->at, ends), used = len;
    if (++r->values > TF_SELECTOR_VALUES_MAX)
        return fail(r, "too many values: at most 256 in a selector");
    while (used > 0 && strchr(SPACES, r->at[used - 1]))
        used--;
    TF_AUTO_FREE char *value = tf_strndup(r->at, used);
    const char *stray = strpbrk(value, "()=!");
    if (stray) {
        r->at += stray - value;
        return fail(r, "a value has none of ( ) = ! (labels that do cannot be selected by value)");
    }
    r->at += len;
    tf_strs_add(values, value);
    return 0;
}

/* "(a, b)" */
static int read_set(struct reader *r, struct tf_strs *values)
{
    skip_spaces(r);
    if (*r->at != '(')
        return fail(r, "values in brackets are expected here, as in: zone in (a, b)");
    do {
        r->at++; /* the bracket or comma */
        if (read_value(r, ",()", values))
            return -1;
    } while (*r->at == ',');
    if (*r->at != ')')
        return fail(r, "the values end with ), as in: zone in (a, b)");
    r->at++;
    return 0;
}

static int read_condition(struct reader *r, struct tf_selector_term *term)
{
    skip_spaces(r);
    bool not_equal = r->at[0] == '!' && r->at[1] == '=';
    if (not_equal || *r->at == '=') {
        r->at += not_equal || r->at[1] == '=' ? 2 : 1;
        term->op = not_equal ? TF_SELECTOR_NOT_IN : TF_SELECTOR_IN;
        return read_value(r, ",", &term->values);
    }
    if (take_word(r, "in"))
        term->op = TF_SELECTOR_IN;
    else if (take_word(r, "notin"))
        term->op = TF_SELECTOR_NOT_IN;
    else {
        term->op = TF_SELECTOR_EXISTS;
        return 0;
    }
    return read_set(r, &term->values);
}

static int read_term(struct reader *r, struct tf_selector_term *term)
{
    skip_spaces(r);
    bool absent = *r->at == '!';
    r->at += absent;
    skip_spaces(r);
    size_t len = strcspn(r->at, KEY_ENDS);
    if (len == 0)
        return fail(
            r,
            "a key is expected here, as in: team=a, team!=a, team in (a,b), team notin (a,b), team, !team");
    term->key = take(r, len);
    term->op = TF_SELECTOR_ABSENT;
    if (!absent && read_condition(r, term))
        return -1;
    skip_spaces(r);
    if (*r->at && *r->at != ',')
        return fail(r, absent ? "after !KEY only a comma and the next term may follow"
                              : "one of = != in notin, or a comma and the next term, is expected here");
    return 0;
}

int tf_selector_parse(const char *text, struct tf_selector *out, struct tf_error *err)
{
    struct reader r = {.text = text, .at = text, .err = err};
    size_t before = out->count;
    int failed = 0;
    tf_vec_each (term, out)
        r.values += term->values.count;
    if (strlen(text) > TF_SELECTOR_TEXT_MAX)
        return tf_error_set(err, TF_ERR_INVALID, "the selector has more than %d bytes", TF_SELECTOR_TEXT_MAX);
    while (!failed && (*r.at || r.at > text)) {
        failed = out->count == TF_SELECTOR_TERMS_MAX ? fail(&r, "too many terms: at most 32 in a selector")
                                                     : read_term(&r, tf_vec_add(out));
        if (!failed && *r.at++ != ',')
            break;
    }
    for (; failed && out->count > before; out->count--)
        release_term(&out->items[out->count - 1]);
    return failed;
}

static void format_term(const struct tf_selector_term *term, struct tf_buf *out)
{
    bool in = term->op == TF_SELECTOR_IN, sets = in || term->op == TF_SELECTOR_NOT_IN;
    tf_buf_fmt(out, "%s%s", term->op == TF_SELECTOR_ABSENT ? "!" : "", term->key);
    if (!sets)
        return;
    if (term->values.count == 1) {
        tf_buf_fmt(out, "%s%s", in ? "=" : "!=", term->values.items[0]);
        return;
    }
    for (size_t i = 0; i < term->values.count; i++)
        tf_buf_fmt(out, "%s%s", i ? "," : in ? " in (" : " notin (", term->values.items[i]);
    tf_buf_char(out, ')');
}

void tf_selector_format(const struct tf_selector *selector, struct tf_buf *out)
{
    for (size_t i = 0; i < selector->count; i++) {
        if (i)
            tf_buf_char(out, ',');
        format_term(&selector->items[i], out);
    }
}
