/* SPDX-License-Identifier: Apache-2.0 */
/* Owns how documents and lists of them become text. What is in a document is in view_*.c. */
#include "tools/fedctl/view.h"

#include "common/base/cleanup.h"
#include "common/model/manifest.h"
#include "tools/fedctl/when.h"

#include <inttypes.h>

/* ---- JSON, indented by two ---- */

static void new_line(struct tf_buf *buf, int depth)
{
    tf_buf_char(buf, '\n');
    for (int i = 0; i < 2 * depth; i++)
        tf_buf_char(buf, ' ');
}

/* The end of the string that begins at p. */
static const char *string_end(const char *p)
{
    for (p++; *p != '"'; p++)
        if (*p == '\\')
            p++;
    return p;
}

/* Lays out what tf_table_json wrote in one line. Lists and objects without members stay as they are. */
static void indent_json(const char *p, int depth, struct tf_buf *buf)
{
    for (; *p; p++) {
        if (*p == '"') {
            const char *end = string_end(p);
            tf_buf_add(buf, p, (size_t)(end - p) + 1);
            p = end;
        } else if ((*p == '{' && p[1] == '}') || (*p == '[' && p[1] == ']')) {
            tf_buf_add(buf, p, 2);
            p++;
        } else if (*p == '{' || *p == '[') {
            tf_buf_char(buf, *p);
            new_line(buf, ++depth);
        } else if (*p == '}' || *p == ']') {
            new_line(buf, --depth);
            tf_buf_char(buf, *p);
        } else if (*p == ',') {
            tf_buf_char(buf, ',');
            new_line(buf, depth);
        } else if (*p == ':')
            tf_buf_str(buf, ": ");
        else
            tf_buf_char(buf, *p);
    }
}

static void json_at(const struct tf_table *table, const void *document, int depth, struct tf_buf *buf)
{
    TF_AUTO_BUF line = TF_BUF_INIT;
    tf_table_json(table, document, &line);
    indent_json(tf_buf_text(&line), depth, buf);
}

void view_table_json(const struct tf_table *table, const void *document, struct tf_buf *buf)
{
    json_at(table, document, 0, buf);
    tf_buf_char(buf, '\n');
}

void view_table_yaml(const struct tf_table *table, const void *document, struct tf_buf *buf)
{
    tf_table_yaml(table, document, buf);
}

/* ---- documents ---- */

struct document {
    struct tf_arena *arena;
    void *data;
};

static struct document document_of(const struct view *view, const void *object)
{
    struct document d = {.arena = tf_arena_create()};
    d.data = tf_arena_alloc(d.arena, 1, view->size);
    view->fill(object, d.data, d.arena);
    return d;
}

void view_json(const struct view *view, const void *object, struct tf_buf *buf)
{
    struct document d = document_of(view, object);
    view_table_json(view->table, d.data, buf);
    tf_arena_destroy(d.arena);
}

void view_line(const struct view *view, const void *object, struct tf_buf *buf)
{
    struct document d = document_of(view, object);
    tf_table_json(view->table, d.data, buf);
    tf_buf_char(buf, '\n');
    tf_arena_destroy(d.arena);
}

void view_yaml(const struct view *view, const void *object, struct tf_buf *buf)
{
    struct document d = document_of(view, object);
    view_table_yaml(view->table, d.data, buf);
    tf_arena_destroy(d.arena);
}

/* ---- lists ---- */

void view_list_begin(bool json, struct tf_buf *buf)
{
    if (json)
        tf_buf_str(buf,
                   "{\n  \"apiVersion\": \"" TF_API_VERSION "\",\n  \"kind\": \"List\",\n  \"items\": [");
    else
        tf_buf_str(buf, "apiVersion: " TF_API_VERSION "\nkind: List\nitems:");
}

/* YAML as an item of a list: "  - " before its first line, four spaces before the others. */
static void yaml_item(const char *yaml, struct tf_buf *buf)
{
    const char *lead = "\n  - ";
    while (*yaml) {
        size_t len = strcspn(yaml, "\n");
        tf_buf_str(buf, lead);
        tf_buf_add(buf, yaml, len);
        yaml += len + (yaml[len] == '\n');
        lead = "\n    ";
    }
}

void view_list_item(const struct view *view, const void *object, bool json, bool first, struct tf_buf *buf)
{
    struct document d = document_of(view, object);
    if (json) {
        tf_buf_str(buf, first ? "\n    " : ",\n    ");
        json_at(view->table, d.data, 2, buf);
    } else {
        TF_AUTO_BUF yaml = TF_BUF_INIT;
        tf_table_yaml(view->table, d.data, &yaml);
        yaml_item(tf_buf_text(&yaml), buf);
    }
    tf_arena_destroy(d.arena);
}

void view_list_end(bool json, bool empty, struct tf_buf *buf)
{
    if (json)
        tf_buf_str(buf, empty ? "]\n}\n" : "\n  ]\n}\n");
    else
        tf_buf_str(buf, empty ? " []\n" : "\n");
}

/* ---- pieces ---- */

char *view_time(struct tf_wall at, struct tf_arena *arena)
{
    char text[WHEN_TEXT];
    return at.ms > 0 ? tf_arena_strdup(arena, when_utc(at, text)) : NULL;
}

char *view_uid(struct tf_uid uid, struct tf_arena *arena)
{
    char text[TF_UID_TEXT];
    if (tf_uid_is_none(uid))
        return NULL;
    tf_uid_format(uid, text);
    return tf_arena_strdup(arena, text);
}

struct tf_strs view_gpus(uint64_t set, struct tf_arena *arena)
{
    struct tf_strs list = {.items = tf_arena_alloc(arena, TF_NODE_GPUS_MAX, sizeof *list.items)};
    for (int i = 0; i < TF_NODE_GPUS_MAX; i++) {
        char number[8];
        snprintf(number, sizeof number, "%d", i);
        if (set >> i & 1)
            list.items[list.count++] = tf_arena_strdup(arena, number);
    }
    list.cap = TF_NODE_GPUS_MAX;
    return list;
}

char *view_word(const char *word)
{
    return *word ? (char *)(uintptr_t)word : NULL;
}
