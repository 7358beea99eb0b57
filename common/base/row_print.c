/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the printed forms of a table and its objects: YAML, JSON, and the reference of the documentation. */
#include "common/base/cleanup.h"
#include "common/base/row_value.h"
#include "common/base/text.h"

#include <inttypes.h>

static void yaml_rows(const struct tf_table *table, const void *object, size_t first, int indent,
                      struct tf_buf *buf);
static void json_rows(const struct tf_table *table, const void *object, size_t first, struct tf_buf *buf);

/* ---- scalars ---- */

static bool word_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '/' || c == '-';
}

/* A word that every YAML reader takes for this very string, in any context. */
static bool harmless(const char *s)
{
    static const char *const special[] = {"true", "false", "yes", "no", "on", "off", "y", "n", "null"};
    bool letter = (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || *s == '/' || *s == '_';
    for (size_t i = 0; i < TF_ARRAY_LEN(special); i++)
        if (strcasecmp(s, special[i]) == 0)
            return false;
    for (; letter && *s; s++)
        letter = word_letter(*s);
    return letter;
}

/* What a double-quoted YAML scalar may not hold as it is, though a JSON string may: C1 controls, the line
 * breaks of YAML 1.1, the byte order mark, non-characters. Gives the length of the sequence at s, or 0. */
static size_t yaml_escape(const char *s, unsigned *code)
{
    const unsigned char *p = (const unsigned char *)s;
    if (p[0] == 0xc2 && p[1] >= 0x80 && p[1] <= 0x9f) {
        *code = p[1];
        return 2;
    }
    if ((p[0] & 0xf0) != 0xe0 || (p[1] & 0xc0) != 0x80 || (p[2] & 0xc0) != 0x80)
        return 0;
    *code = (p[0] & 0x0fu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu);
    return *code == 0x2028 || *code == 0x2029 || *code == 0xfeff || *code >= 0xfffe ? 3 : 0;
}

/* A JSON string that YAML reads as the same string. */
static void quoted(struct tf_buf *buf, const char *s)
{
    TF_AUTO_BUF json = TF_BUF_INIT;
    tf_buf_json(&json, s);
    unsigned code;
    for (const char *p = json.data; *p;) {
        size_t len = yaml_escape(p, &code);
        if (len)
            tf_buf_fmt(buf, "\\u%04x", code);
        else
            tf_buf_char(buf, *p);
        p += len ? len : 1;
    }
}

void tf_buf_yaml(struct tf_buf *buf, const char *s)
{
    if (harmless(s))
        tf_buf_str(buf, s);
    else
        quoted(buf, s);
}

static bool bare_json(const struct tf_row *row)
{
    return row->type == TF_ROW_INT32 || row->type == TF_ROW_INT64 || row->type == TF_ROW_BOOL;
}

typedef void string_f(struct tf_buf *buf, const char *s);

/* What numbers are written as in YAML needs no quotes; in JSON all but plain numbers and booleans do. */
static bool print_scalar(const struct tf_row *row, const void *object, bool json, struct tf_buf *buf)
{
    string_f *quote = json ? quoted : tf_buf_yaml;
    TF_AUTO_BUF text = TF_BUF_INIT;
    if (!tf_row_format(row, object, &text))
        return false;
    int64_t value = 0;
    bool number =
        (tf_row_number(row, object, &value) && row->type != TF_ROW_NOTATION) || row->type == TF_ROW_BOOL;
    bool bare = json ? bare_json(row) && !(value == 0 && row->flags & TF_ROW_NONE) : number;
    const char *detail = NULL;
    if (row->type == TF_ROW_CHOICE)
        detail = *(char *const *)(const void *)((const char *)object + row->detail);
    if (bare)
        tf_buf_str(buf, tf_buf_text(&text));
    else if (detail) {
        tf_buf_char(buf, '{');
        quote(buf, tf_buf_text(&text));
        tf_buf_str(buf, json ? ":" : ": ");
        quote(buf, detail);
        tf_buf_char(buf, '}');
    } else
        quote(buf, tf_buf_text(&text));
    return true;
}

/* ---- lists and maps of strings, in flow style in both languages ---- */

static bool print_strings(const struct tf_row *row, const struct tf_strs *list, bool json, struct tf_buf *buf)
{
    string_f *quote = json ? quoted : tf_buf_yaml;
    if (list->count == 0 && !row->def)
        return false;
    if (row->flags & TF_ROW_SHORT && list->count == 1 && !json) {
        quote(buf, list->items[0]);
        return true;
    }
    tf_buf_char(buf, '[');
    for (size_t i = 0; i < list->count; i++) {
        tf_buf_str(buf, i == 0 ? "" : json ? "," : ", ");
        quote(buf, list->items[i]);
    }
    tf_buf_char(buf, ']');
    return true;
}

static bool print_pairs(const struct tf_pairs *map, bool json, struct tf_buf *buf)
{
    string_f *quote = json ? quoted : tf_buf_yaml;
    if (map->count == 0)
        return false;
    tf_buf_char(buf, '{');
    for (size_t i = 0; i < map->count; i++) {
        tf_buf_str(buf, i == 0 ? "" : json ? "," : ", ");
        quote(buf, map->items[i].key);
        tf_buf_str(buf, json ? ":" : ": ");
        quote(buf, map->items[i].value);
    }
    tf_buf_char(buf, '}');
    return true;
}

bool tf_row_print_flat(const struct tf_row *row, const void *object, bool json, struct tf_buf *buf)
{
    const void *field = (const char *)object + row->offset;
    if (tf_row_is_scalar(row))
        return print_scalar(row, object, json, buf);
    if (row->type == TF_ROW_PAIRS)
        return print_pairs(field, json, buf);
    return print_strings(row, field, json, buf);
}

bool tf_row_is_nested(const struct tf_row *row)
{
    return row->type == TF_ROW_OBJECT || row->type == TF_ROW_OBJECTS || row->type == TF_ROW_MAP;
}

const char *tf_row_item_key(const struct tf_row *row, const void *item)
{
    return *(char *const *)(const void *)((const char *)item + row->table->rows[0].offset);
}

/* ---- YAML ---- */

static void indent_by(int indent, struct tf_buf *buf)
{
    tf_buf_fmt(buf, "%*s", indent, "");
}

static void yaml_map_item(const struct tf_row *row, const void *item, int indent, struct tf_buf *buf)
{
    const struct tf_row *value = tf_row_map_value(row);
    indent_by(indent, buf);
    tf_buf_yaml(buf, tf_row_item_key(row, item));
    TF_AUTO_BUF text = TF_BUF_INIT;
    if (value && !tf_row_is_nested(value)) {
        tf_buf_str(buf, ": ");
        if (!tf_row_print_flat(value, item, false, buf))
            tf_buf_str(buf, "{}");
        tf_buf_char(buf, '\n');
        return;
    }
    yaml_rows(row->table, item, 1, indent + 2, &text);
    tf_buf_fmt(buf, text.len ? ":\n%s" : ": {}\n%s", tf_buf_text(&text));
}

static void yaml_list_item(const struct tf_row *row, const void *item, int indent, struct tf_buf *buf)
{
    TF_AUTO_BUF text = TF_BUF_INIT;
    yaml_rows(row->table, item, 0, indent + 2, &text);
    indent_by(indent, buf);
    /* the dash stands in the indentation of the item's first key */
    tf_buf_fmt(buf, "- %s", text.len ? text.data + indent + 2 : "{}\n");
}

static void yaml_list(const struct tf_row *row, const void *field, int indent, struct tf_buf *buf)
{
    struct tf_row_list list = tf_row_list_get(field);
    bool map = row->type == TF_ROW_MAP;
    if (list.count == 0 && !row->def)
        return;
    indent_by(indent, buf);
    tf_buf_fmt(buf, "%s:%s\n", row->key, list.count ? "" : map ? " {}" : " []");
    for (size_t i = 0; i < list.count; i++) {
        const void *item = (const char *)list.items + i * row->table->size;
        (map ? yaml_map_item : yaml_list_item)(row, item, indent + 2, buf);
    }
}

/* An object of which only the first row was said, as that row's value. */
static bool print_short(const struct tf_row *row, const void *object, struct tf_buf *buf)
{
    TF_AUTO_BUF others = TF_BUF_INIT;
    if (!(row->flags & TF_ROW_SHORT) || tf_row_is_nested(&row->table->rows[0]))
        return false;
    yaml_rows(row->table, object, 1, 0, &others);
    return others.len == 0 && tf_row_print_flat(&row->table->rows[0], object, false, buf);
}

static void yaml_object(const struct tf_row *row, const char *key, const void *field, int indent,
                        struct tf_buf *buf)
{
    TF_AUTO_BUF text = TF_BUF_INIT;
    if (tf_row_left_out(row, field))
        return;
    if (print_short(row, field, &text)) {
        indent_by(indent, buf);
        tf_buf_fmt(buf, "%s: %s\n", key, text.data);
        return;
    }
    yaml_rows(row->table, field, 0, indent + 2, &text);
    if (text.len == 0)
        return;
    indent_by(indent, buf);
    tf_buf_fmt(buf, "%s:\n%s", key, text.data);
}

static void yaml_row(const struct tf_row *row, const char *key, const void *object, int indent,
                     struct tf_buf *buf)
{
    TF_AUTO_BUF text = TF_BUF_INIT;
    const void *field = (const char *)object + row->offset;
    if (row->type == TF_ROW_OBJECT) {
        yaml_object(row, key, field, indent, buf);
    } else if (tf_row_is_nested(row)) {
        yaml_list(row, field, indent, buf);
    } else if (tf_row_print_flat(row, object, false, &text)) {
        indent_by(indent, buf);
        tf_buf_fmt(buf, "%s: %s\n", key, text.data);
    }
}

/* `key`, or `key/TEXT` when the row before it carries a suffix. Keys of rows need no quotes in YAML. */
static void print_key(const struct tf_table *table, size_t i, const void *object, string_f *quote,
                      struct tf_buf *buf)
{
    const struct tf_row *row = &table->rows[i], *before = i ? row - 1 : NULL;
    TF_AUTO_BUF key = TF_BUF_INIT;
    bool suffix = before && before->flags & TF_ROW_SUFFIX;
    if (suffix)
        tf_buf_str(&key, before->key);
    suffix = suffix && tf_row_format(before, object, &key);
    if (suffix)
        quote(buf, tf_buf_text(&key));
    else if (quote == quoted)
        quoted(buf, row->key);
    else
        tf_buf_str(buf, row->key);
}

static void yaml_rows(const struct tf_table *table, const void *object, size_t first, int indent,
                      struct tf_buf *buf)
{
    for (size_t i = first; i < table->count; i++) {
        if (table->rows[i].flags & TF_ROW_SUFFIX)
            continue;
        TF_AUTO_BUF key = TF_BUF_INIT;
        print_key(table, i, object, tf_buf_yaml, &key);
        yaml_row(&table->rows[i], tf_buf_text(&key), object, indent, buf);
    }
}

void tf_table_yaml(const struct tf_table *table, const void *object, struct tf_buf *buf)
{
    yaml_rows(table, object, 0, 0, buf);
}

/* ---- JSON ---- */

static void json_item(const struct tf_row *row, const void *item, struct tf_buf *buf)
{
    if (row->type == TF_ROW_OBJECTS) {
        json_rows(row->table, item, 0, buf);
        return;
    }
    const struct tf_row *value = tf_row_map_value(row);
    quoted(buf, tf_row_item_key(row, item));
    tf_buf_char(buf, ':');
    if (!value || tf_row_is_nested(value))
        json_rows(row->table, item, 1, buf);
    else if (!tf_row_print_flat(value, item, true, buf))
        tf_buf_str(buf, "{}");
}

static bool json_list(const struct tf_row *row, const void *field, struct tf_buf *buf)
{
    struct tf_row_list list = tf_row_list_get(field);
    bool map = row->type == TF_ROW_MAP;
    if (list.count == 0 && !row->def)
        return false;
    tf_buf_char(buf, map ? '{' : '[');
    for (size_t i = 0; i < list.count; i++) {
        tf_buf_str(buf, i ? "," : "");
        json_item(row, (const char *)list.items + i * row->table->size, buf);
    }
    tf_buf_char(buf, map ? '}' : ']');
    return true;
}

static bool json_value(const struct tf_row *row, const void *object, struct tf_buf *buf)
{
    const void *field = (const char *)object + row->offset;
    if (row->type == TF_ROW_OBJECT && tf_row_left_out(row, field))
        return false;
    if (row->type == TF_ROW_OBJECT) {
        size_t before = buf->len;
        json_rows(row->table, field, 0, buf);
        return buf->len > before + strlen("{}");
    }
    return tf_row_is_nested(row) ? json_list(row, field, buf) : tf_row_print_flat(row, object, true, buf);
}

static void json_rows(const struct tf_table *table, const void *object, size_t first, struct tf_buf *buf)
{
    bool any = false;
    tf_buf_char(buf, '{');
    for (size_t i = first; i < table->count; i++) {
        TF_AUTO_BUF value = TF_BUF_INIT;
        if (table->rows[i].flags & TF_ROW_SUFFIX || !json_value(&table->rows[i], object, &value))
            continue;
        tf_buf_str(buf, any ? "," : "");
        print_key(table, i, object, quoted, buf);
        tf_buf_fmt(buf, ":%s", value.data);
        any = true;
    }
    tf_buf_char(buf, '}');
}

void tf_table_json(const struct tf_table *table, const void *object, struct tf_buf *buf)
{
    json_rows(table, object, 0, buf);
}

/* ---- the reference ---- */

static void markdown_bounds(const struct tf_row *row, struct tf_buf *buf)
{
    int64_t min, max;
    bool quantity = row->type == TF_ROW_INT32 || row->type == TF_ROW_INT64 || row->type == TF_ROW_SIZES ||
                    (row->type >= TF_ROW_DURATION && row->type <= TF_ROW_FRACTION);
    if (row->names) {
        for (size_t i = 1; row->names[i]; i++)
            tf_buf_fmt(buf, "%s`%s`", i > 1 ? ", " : "", row->names[i]);
    } else if (quantity && (row->min || row->max)) {
        tf_row_bounds(row, &min, &max);
        struct tf_row plain = *row;
        plain.flags = 0;
        tf_row_format_number(&plain, min, buf);
        tf_buf_str(buf, " to ");
        tf_row_format_number(&plain, max, buf);
    } else if (row->max || row->count) {
        tf_buf_fmt(buf, "at most %" PRId64, row->count ? (int64_t)row->count : row->max);
    }
}

static void markdown_default(const struct tf_row *row, struct tf_buf *buf)
{
    if (row->type == TF_ROW_CONST)
        tf_buf_fmt(buf, "must be `%s`", row->def);
    else if (row->flags & TF_ROW_REQUIRED)
        tf_buf_str(buf, "required");
    else if (row->def)
        tf_buf_fmt(buf, "`%s`", row->def);
    else if (row->flags & TF_ROW_FILLED)
        tf_buf_str(buf, "depends");
}

static const char *type_word(const struct tf_row *row)
{
    static const char article[] = "a ";
    static const char *const words[] = {
        [TF_ROW_STRING] = "text",
        [TF_ROW_NAME] = "name",
        [TF_ROW_CONST] = "fixed",
        [TF_ROW_INT32] = "number",
        [TF_ROW_INT64] = "number",
        [TF_ROW_SIZES] = "number",
        [TF_ROW_BOOL] = "true or false",
        [TF_ROW_DURATION] = "duration",
        [TF_ROW_MEMORY] = "size",
        [TF_ROW_CAPACITY] = "size",
        [TF_ROW_CPU] = "cpu",
        [TF_ROW_FRACTION] = "fraction",
        [TF_ROW_ENUM] = "word",
        [TF_ROW_CHOICE] = "word or text",
        [TF_ROW_STRINGS] = "list of texts",
        [TF_ROW_NAMES] = "list of names",
        [TF_ROW_PAIRS] = "map of texts",
        [TF_ROW_OBJECT] = "group",
        [TF_ROW_OBJECTS] = "list",
        [TF_ROW_MAP] = "map",
    };
    if (row->type != TF_ROW_NOTATION)
        return words[row->type];
    const char *text = row->notation->type_text;
    return tf_starts_with(text, article) ? text + strlen(article) : text;
}

static void markdown_rows(const struct tf_table *table, size_t first, const char *prefix, struct tf_buf *buf);

static void markdown_row(const struct tf_row *row, const char *prefix, struct tf_buf *buf)
{
    TF_AUTO_FREE char *path = tf_asprintf("%s%s", prefix, row->key);
    if (row->type != TF_ROW_OBJECT || row->help) {
        tf_buf_fmt(buf, "| `%s` | %s | ", path, type_word(row));
        markdown_default(row, buf);
        tf_buf_str(buf, " | ");
        markdown_bounds(row, buf);
        tf_buf_fmt(buf, " | %s | %s%s |\n", row->flags & TF_ROW_RELOADABLE ? "yes" : "no",
                   row->flags & TF_ROW_UNUSED ? "*not used yet:* " : "", row->help ? row->help : "");
    }
    if (!tf_row_is_nested(row))
        return;
    static const char *const suffixes[] = {
        [TF_ROW_OBJECT] = ".", [TF_ROW_OBJECTS] = "[].", [TF_ROW_MAP] = ".<name>."};
    TF_AUTO_FREE char *inner = tf_asprintf("%s%s", path, suffixes[row->type]);
    bool map = row->type == TF_ROW_MAP;
    if (!map || !tf_row_map_value(row) || tf_row_is_nested(tf_row_map_value(row)))
        markdown_rows(row->table, map ? 1 : 0, inner, buf);
}

static void markdown_rows(const struct tf_table *table, size_t first, const char *prefix, struct tf_buf *buf)
{
    for (size_t i = first; i < table->count; i++)
        if (!(table->rows[i].flags & (TF_ROW_HIDDEN | TF_ROW_SUFFIX)))
            markdown_row(&table->rows[i], prefix, buf);
}

void tf_table_markdown(const struct tf_table *table, struct tf_buf *buf)
{
    tf_buf_str(
        buf,
        "| key | type | default | bounds | reloadable | meaning |\n| --- | --- | --- | --- | --- | --- |\n");
    markdown_rows(table, 0, "", buf);
}
