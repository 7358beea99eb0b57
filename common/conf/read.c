/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the way from a tree of nodes to a struct, by a table of rows, and from paths back to places. What a
 * value may be is known to the rows (common/base/row.h); this file knows what was written where. */
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "common/conf/tree.h"

#include <assert.h>
#include <stdarg.h>

/* The state of one reading. */
struct reader {
    const struct tf_table *top; /* of the document */
    struct tf_conf_problems *problems;
    struct tf_buf path; /* of the value in hand */
    bool failed;
};

static void read_rows(struct reader *r, const struct tf_table *table, size_t first, const struct node *node,
                      void *object);
static void read_value(struct reader *r, const struct tf_row *row, const struct node *node, void *object);

static size_t push_key(struct reader *r, const char *key)
{
    size_t len = r->path.len;
    tf_buf_fmt(&r->path, "%s%s", len ? "." : "", key);
    return len;
}

static size_t push_index(struct reader *r, size_t i)
{
    size_t len = r->path.len;
    tf_buf_fmt(&r->path, "[%zu]", i);
    return len;
}

static void pop(struct reader *r, size_t len)
{
    r->path.len = len;
    if (r->path.data)
        r->path.data[len] = '\0';
}

__attribute__((format(printf, 3, 4))) static void problem(struct reader *r, const struct node *node,
                                                          const char *fmt, ...)
{
    TF_AUTO_BUF text = TF_BUF_INIT;
    char line[600];
    va_list args;
    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    tf_conf_problems_add(r->problems, node->line, node->column, tf_buf_text(&r->path), "%s", line);
    r->failed = true;
}

/* ---- scalars ---- */

static bool has_value(struct reader *r, const struct tf_row *row, const struct node *node)
{
    bool text = row->type == TF_ROW_STRING || row->type == TF_ROW_STRINGS || row->type == TF_ROW_PAIRS;
    if (!node_is_null(node))
        return true;
    if (*node->text == '\0' || !text)
        problem(r, node, "has no value: write %s%s, or leave the key out", tf_row_type_text(row),
                text ? " (\"\" if it is to be empty)" : "");
    else
        problem(r, node, "%s means \"no value\" in YAML: put it in quotes if the word is meant", node->text);
    return false;
}

static bool quoted_number(const struct tf_row *row, const struct node *node)
{
    bool bare = row->type == TF_ROW_INT32 || row->type == TF_ROW_INT64 || row->type == TF_ROW_SIZES ||
                row->type == TF_ROW_BOOL;
    bool none = row->flags & TF_ROW_NONE && strcmp(node->text, "none") == 0;
    return bare && !node->plain && !none;
}

static void read_scalar(struct reader *r, const struct tf_row *row, const struct node *node, void *object)
{
    struct tf_error err = TF_ERROR_INIT;
    if (node->kind != NODE_SCALAR)
        problem(r, node, "must be %s, not %s", tf_row_type_text(row), node_kind_text(node));
    else if (!has_value(r, row, node))
        return;
    else if (quoted_number(row, node))
        problem(r, node, "must be %s, not a text in quotes", tf_row_type_text(row));
    else if (tf_row_parse(row, node->text, object, &err))
        problem(r, node, "%s", err.text);
}

/* `key: name` or `key: {name: TEXT}` */
static void read_choice(struct reader *r, const struct tf_row *row, const struct node *node, void *object)
{
    const struct node *detail = node->first;
    struct tf_error err = TF_ERROR_INIT;
    if (node->kind != NODE_MAPPING) {
        read_scalar(r, row, node, object);
        return;
    }
    const char *name = row->names[row->detail_of];
    if (node->count != 1 || detail->kind != NODE_SCALAR || node_is_null(detail))
        problem(r, node, "must be one word, or {%s: TEXT}", name);
    else if (tf_row_parse_detail(row, detail->key->text, detail->text, object, &err))
        problem(r, node, "%s", err.text);
}

/* ---- lists and maps ---- */

static void read_strings(struct reader *r, const struct tf_row *row, const struct node *node, void *object)
{
    struct tf_strs *list = (struct tf_strs *)(void *)((char *)object + row->offset);
    if (node->kind == NODE_SCALAR && row->flags & TF_ROW_SHORT && has_value(r, row, node)) {
        tf_strs_release(list);
        tf_strs_add(list, node->text);
        return;
    }
    if (node->kind == NODE_SCALAR && !node_is_null(node) && strlen(node->text) < 100) {
        problem(r, node, "must be %s: write [%s]", tf_row_type_text(row), node->text);
        return;
    }
    if (node->kind != NODE_SEQUENCE) {
        problem(r, node, "must be %s, not %s", tf_row_type_text(row), node_kind_text(node));
        return;
    }
    tf_strs_release(list); /* the default */
    size_t i = 0;
    for (const struct node *item = node->first; item; item = item->next) {
        size_t len = push_index(r, i++);
        if (item->kind != NODE_SCALAR)
            problem(r, item, "must be a single text, not %s", node_kind_text(item));
        else if (has_value(r, row, item))
            tf_strs_add(list, item->text);
        pop(r, len);
    }
}

static bool is_mapping(struct reader *r, const struct tf_row *row, const struct node *node)
{
    if (node->kind == NODE_MAPPING)
        return true;
    if (node_is_null(node))
        problem(r, node, "has no value: write %s, or leave the key out", tf_row_type_text(row));
    else
        problem(r, node, "must be %s, not %s", tf_row_type_text(row), node_kind_text(node));
    return false;
}

static bool is_twice(struct reader *r, const struct node *value)
{
    if (!value->earlier)
        return false;
    problem(r, value->key, "the key is there twice; the first is on line %d", value->earlier->key->line);
    return true;
}

static void read_pairs(struct reader *r, const struct tf_row *row, const struct node *node, void *object)
{
    struct tf_pairs *map = (struct tf_pairs *)(void *)((char *)object + row->offset);
    if (!is_mapping(r, row, node))
        return;
    tf_pairs_release(map);
    for (const struct node *value = node->first; value; value = value->next) {
        size_t len = push_key(r, value->key->text);
        if (value->kind != NODE_SCALAR)
            problem(r, value, "must be a single text, not %s", node_kind_text(value));
        else if (!is_twice(r, value) && has_value(r, row, value))
            tf_pairs_set(map, value->key->text, value->text);
        pop(r, len);
    }
}

/* Empties a list row that holds its default. */
static void drop_default(const struct tf_row *row, void *object)
{
    const struct tf_table alone = {.size = 0, .rows = row, .count = 1};
    tf_table_release(&alone, object);
}

static void read_objects(struct reader *r, const struct tf_row *row, const struct node *node, void *object)
{
    if (node->kind != NODE_SEQUENCE) {
        problem(r, node, "must be %s, not %s", tf_row_type_text(row), node_kind_text(node));
        return;
    }
    drop_default(row, object);
    size_t i = 0;
    for (const struct node *item = node->first; item; item = item->next) {
        size_t len = push_index(r, i++);
        void *element = tf_row_add(row, object);
        if (is_mapping(r, row, item))
            read_rows(r, row->table, 0, item, element);
        pop(r, len);
    }
}

static void read_map_item(struct reader *r, const struct tf_row *row, const struct node *value, void *object)
{
    struct tf_error err = TF_ERROR_INIT;
    void *element = tf_row_add(row, object);
    const struct tf_row *single = tf_row_map_value(row);
    if (tf_row_parse(&row->table->rows[0], value->key->text, element, &err))
        problem(r, value->key, "%s", err.text);
    if (single)
        read_value(r, single, value, element);
    else if (is_mapping(r, row, value))
        read_rows(r, row->table, 1, value, element);
}

static void read_map(struct reader *r, const struct tf_row *row, const struct node *node, void *object)
{
    if (!is_mapping(r, row, node))
        return;
    drop_default(row, object);
    for (const struct node *value = node->first; value; value = value->next) {
        size_t len = push_key(r, value->key->text);
        if (!is_twice(r, value))
            read_map_item(r, row, value, object);
        pop(r, len);
    }
}

static void read_value(struct reader *r, const struct tf_row *row, const struct node *node, void *object)
{
    switch (row->type) {
    case TF_ROW_CHOICE:
        read_choice(r, row, node, object);
        break;
    case TF_ROW_STRINGS:
    case TF_ROW_NAMES:
        read_strings(r, row, node, object);
        break;
    case TF_ROW_PAIRS:
        read_pairs(r, row, node, object);
        break;
    case TF_ROW_OBJECT:
        if (row->flags & TF_ROW_SHORT && node->kind == NODE_SCALAR)
            read_value(r, &row->table->rows[0], node, (char *)object + row->offset);
        else if (is_mapping(r, row, node))
            read_rows(r, row->table, 0, node, (char *)object + row->offset);
        break;
    case TF_ROW_OBJECTS:
        read_objects(r, row, node, object);
        break;
    case TF_ROW_MAP:
        read_map(r, row, node, object);
        break;
    default:
        assert(tf_row_is_scalar(row));
        read_scalar(r, row, node, object);
    }
}

/* ---- mappings ---- */

/* Finds a key anywhere in the table: most unknown keys are known ones at a wrong indentation. */
static bool find_elsewhere(const struct tf_table *table, const char *key, struct tf_buf *path)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct tf_row *row = &table->rows[i];
        size_t len = path->len;
        if (row->flags & (TF_ROW_HIDDEN | TF_ROW_SUFFIX) || row->type == TF_ROW_OBJECTS ||
            row->type == TF_ROW_MAP)
            continue;
        tf_buf_fmt(path, "%s%s", len ? "." : "", row->key);
        if (strcmp(row->key, key) == 0 ||
            (row->type == TF_ROW_OBJECT && find_elsewhere(row->table, key, path)))
            return true;
        path->len = len;
    }
    return false;
}

static void list_keys(const struct tf_table *table, size_t first, struct tf_buf *buf)
{
    for (size_t i = first; i < table->count; i++)
        if (!(table->rows[i].flags & (TF_ROW_HIDDEN | TF_ROW_SUFFIX)))
            tf_buf_fmt(buf, "%s%s", buf->len ? ", " : "", table->rows[i].key);
}

static void unknown_key(struct reader *r, const struct tf_table *table, size_t first, const struct node *key)
{
    TF_AUTO_BUF text = TF_BUF_INIT, elsewhere = TF_BUF_INIT, keys = TF_BUF_INIT;
    const char *nearest = tf_table_nearest(table, first, key->text);
    tf_buf_fmt(&text, "unknown key \"%.100s\"", key->text);
    list_keys(table, first, &keys);
    if (find_elsewhere(r->top, key->text, &elsewhere))
        tf_buf_fmt(&text, "; it belongs at %s", tf_buf_text(&elsewhere));
    else if (nearest)
        tf_buf_fmt(&text, "; did you mean \"%s\"?", nearest);
    else
        tf_buf_fmt(&text, "; known here: %s", tf_buf_text(&keys));
    problem(r, key, "%s", tf_buf_text(&text));
}

static const struct node *said(const struct node *node, const char *key)
{
    return node_child(node, key, strlen(key));
}

/* The key is there in another spelling, of which people are told: that it is missing, too, would only
 * confuse. */
static bool is_misspelt(const struct reader *r, const struct tf_table *table, size_t first,
                        const struct node *node, const char *key)
{
    for (const struct node *other = node->first; other; other = other->next) {
        TF_AUTO_BUF elsewhere = TF_BUF_INIT;
        const char *word = other->key->text;
        if (!tf_table_find(table, word) && tf_str_eq(tf_table_nearest(table, first, word), key) &&
            !find_elsewhere(r->top, word, &elsewhere))
            return true;
    }
    return false;
}

/* What rows say about keys, not values: required, and not together. */
static void check_presence(struct reader *r, const struct tf_table *table, size_t first,
                           const struct tf_row *row, const struct node *node)
{
    const struct node *value = said(node, row->key);
    size_t len = push_key(r, row->key);
    if (!value && row->flags & TF_ROW_REQUIRED && !is_misspelt(r, table, first, node, row->key))
        problem(r, node->key ? node->key : node, "is missing");
    if (value && row->excludes && said(node, row->excludes))
        problem(r, value->key, "cannot be combined with %s: say one of the two", row->excludes);
    pop(r, len);
}

/* The value of a key `key/TEXT`. False if there is no such row. */
static bool read_suffixed(struct reader *r, const struct tf_table *table, const struct node *value,
                          const struct node *mapping, void *object)
{
    const char *suffix;
    const struct tf_row *row = tf_table_find_suffixed(table, value->key->text, &suffix);
    if (!row)
        return false;
    size_t len = push_key(r, value->key->text), same = 0, letters = strlen(row->key);
    for (const struct node *other = mapping->first; other; other = other->next)
        same +=
            strncmp(other->key->text, row->key, letters) == 0 || strcmp(other->key->text, row[1].key) == 0;
    tf_row_parse(row, suffix, object, NULL); /* any text will do */
    if (*suffix == '\0')
        problem(r, value->key, "a name is missing after the slash");
    else if (same > 1)
        problem(r, value->key, "%s is there twice in one mapping", row[1].key);
    else
        read_value(r, row + 1, value, object);
    pop(r, len);
    return true;
}

static void read_rows(struct reader *r, const struct tf_table *table, size_t first, const struct node *node,
                      void *object)
{
    for (const struct node *value = node->first; value; value = value->next) {
        const struct tf_row *row = tf_table_find(table, value->key->text);
        if (!row || row < table->rows + first || row->flags & TF_ROW_SUFFIX) {
            if (!read_suffixed(r, table, value, node, object))
                unknown_key(r, table, first, value->key);
            continue;
        }
        size_t len = push_key(r, row->key);
        if (!is_twice(r, value))
            read_value(r, row, value, object);
        pop(r, len);
    }
    for (size_t i = first; i < table->count; i++)
        check_presence(r, table, first, &table->rows[i], node);
}

/* ---- places ---- */

/* The child that the beginning of the path names; *rest is what follows. */
static const struct node *step_down(const struct node *node, const char *path, const char **rest)
{
    const struct node *best = NULL;
    if (node->kind == NODE_SEQUENCE && *path == '[') {
        size_t i = strtoul(path + 1, NULL, 10);
        for (best = node->first; best && i; i--)
            best = best->next;
        *rest = path + 1 + strcspn(path + 1, "]");
        *rest += **rest == ']';
        return best;
    }
    path += *path == '.';
    for (const struct node *n = node->first; node->kind == NODE_MAPPING && n; n = n->next) {
        size_t len = strlen(n->key->text); /* keys of labels have dots: the longest that fits is meant */
        if (strncmp(path, n->key->text, len) == 0 && strchr(".[", path[len]) &&
            (!best || len > strlen(best->key->text))) {
            best = n;
            *rest = path + len;
        }
    }
    return best;
}

/* The deepest node on the path; *rest is what could not be followed. */
static const struct node *follow(const struct node *node, const char *path, const char **rest)
{
    *rest = path;
    while (**rest) {
        const char *next = NULL;
        const struct node *child = step_down(node, *rest, &next);
        if (!child)
            break;
        node = child;
        *rest = next;
    }
    return node;
}

void tf_conf_locate(const struct tf_conf_doc *doc, const char *path, int *line, int *column)
{
    const char *rest;
    const struct node *node = follow(doc->root, path, &rest);
    if (node->key && (node->kind != NODE_SCALAR || *rest))
        node = node->key;
    *line = node->line;
    *column = node->column;
}

const char *tf_conf_text(const struct tf_conf_doc *doc, const char *path)
{
    const char *rest;
    const struct node *node = follow(doc->root, path, &rest);
    return *rest || node->kind != NODE_SCALAR ? NULL : node->text;
}

/* ---- documents ---- */

/* A complaint about what could not be read, or about something in it, only repeats the problem. */
static bool is_known(const struct tf_conf_problems *problems, const char *path)
{
    tf_vec_each (p, problems) {
        size_t len = strlen(p->path);
        if (len && strncmp(path, p->path, len) == 0 && strchr(".[", path[len]))
            return true;
    }
    return false;
}

void tf_conf_complain(const struct tf_conf_doc *doc, const struct tf_complaints *complaints,
                      struct tf_conf_problems *problems)
{
    tf_vec_each (c, complaints) {
        int line, column;
        tf_conf_locate(doc, c->path, &line, &column);
        tf_conf_problems_add(problems, line, column, c->path, "%s", c->text);
    }
}

static void check_object(struct reader *r, const struct tf_conf_doc *doc, const void *object)
{
    struct tf_complaints found = {0}, fresh = {0};
    if (tf_table_check_rows(r->top, object, &found) && !r->failed)
        tf_table_check_rules(r->top, object, &found);
    tf_vec_each (c, &found)
        if (!is_known(r->problems, c->path))
            tf_complaints_add(&fresh, c->path, "%s", c->text);
    r->failed = r->failed || found.count;
    tf_conf_complain(doc, &fresh, r->problems);
    tf_complaints_release(&found);
    tf_complaints_release(&fresh);
}

int tf_conf_read(const struct tf_conf_doc *doc, const struct tf_table *table, void *object,
                 struct tf_conf_problems *problems)
{
    struct reader r = {.top = table, .problems = problems, .path = TF_BUF_INIT};
    tf_table_init(table, object);
    if (doc->root->kind == NODE_MAPPING) {
        read_rows(&r, table, 0, doc->root, object);
        tf_table_settle(table, object);
        check_object(&r, doc, object);
    } else {
        problem(&r, doc->root, "the document must be a mapping of keys, not %s", node_kind_text(doc->root));
    }
    tf_buf_release(&r.path);
    if (!r.failed)
        return 0;
    tf_table_release(table, object);
    return -1;
}

int tf_conf_read_text(const char *text, size_t len, const struct tf_conf_options *options,
                      const struct tf_table *table, void *object, struct tf_conf_problems *problems)
{
    memset(object, 0, table->size);
    struct tf_conf *conf = tf_conf_parse(text, len, options, problems);
    if (!conf)
        return -1;
    struct node root = {.kind = NODE_MAPPING, .line = 1, .column = 1};
    struct tf_conf_doc empty = {&root};
    int failed = -1;
    if (tf_conf_count(conf) > 1)
        tf_conf_problems_add(problems, tf_conf_doc(conf, 1)->root->line, 1, "",
                             "a second document: one is expected");
    else
        failed = tf_conf_read(tf_conf_count(conf) ? tf_conf_doc(conf, 0) : &empty, table, object, problems);
    tf_conf_destroy(conf);
    return failed;
}
