/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the way from text to a tree of nodes with places: the events of libyaml, and every limit on them.
 * Knows nothing of tables. */
#include "common/conf/tree.h"

#include "common/base/arena.h"
#include "common/base/cleanup.h"
#include "common/base/text.h"

#include <yaml.h>

enum { NODES_MAX = 100000, DOCUMENTS_TO_TEXT = 16 };

struct tf_conf {
    struct tf_arena *arena;
    TF_VEC(struct tf_conf_doc) docs;
};

/* The state of one parse. */
struct builder {
    yaml_parser_t parser;
    struct tf_conf *conf;
    struct tf_conf_problems *problems;
    const char *text;
    size_t len, max_bytes, doc_start, nodes;
    int max_depth, depth;
    struct node *stack[TF_CONF_DEPTH_MAX]; /* open mappings and sequences */
    struct node *key;                      /* read, its value not yet */
    struct node *root;                     /* of the document in hand */
};

const struct node *node_child(const struct node *mapping, const char *key, size_t len)
{
    for (const struct node *n = mapping->first; n; n = n->next)
        if (strncmp(n->key->text, key, len) == 0 && n->key->text[len] == '\0')
            return n;
    return NULL;
}

bool node_is_null(const struct node *node)
{
    static const char *const words[] = {"", "~", "null", "Null", "NULL"};
    if (node->kind != NODE_SCALAR || !node->plain)
        return false;
    for (size_t i = 0; i < TF_ARRAY_LEN(words); i++)
        if (strcmp(node->text, words[i]) == 0)
            return true;
    return false;
}

const char *node_kind_text(const struct node *node)
{
    static const char *const texts[] = {"a single value", "a mapping", "a list"};
    return texts[node->kind];
}

/* ---- places ---- */

/* Line and column, from 1, of a byte of the text; columns count characters. */
static void place_of(const char *text, size_t offset, int *line, int *column)
{
    *line = *column = 1;
    for (size_t i = 0; i < offset; i++) {
        if (text[i] == '\n') {
            ++*line;
            *column = 1;
        } else if (((unsigned char)text[i] & 0xc0) != 0x80) {
            ++*column;
        }
    }
}

static int refuse(struct builder *b, yaml_mark_t mark, const char *text)
{
    tf_conf_problems_add(b->problems, (int)mark.line + 1, (int)mark.column + 1, "", "%s", text);
    return -1;
}

static bool tab_at(const struct builder *b, yaml_mark_t mark)
{
    const char *p = b->text, *end = b->text + b->len;
    for (size_t line = 0; line < mark.line && p; line++) {
        p = memchr(p, '\n', (size_t)(end - p));
        p = p ? p + 1 : NULL;
    }
    return p && mark.column < (size_t)(end - p) && memchr(p, '\t', mark.column + 1) == p + mark.column;
}

static int syntax_problem(struct builder *b)
{
    const yaml_parser_t *p = &b->parser;
    int line, column;
    if (p->error == YAML_READER_ERROR) {
        place_of(b->text, p->problem_offset < b->len ? p->problem_offset : b->len, &line, &column);
        tf_conf_problems_add(b->problems, line, column, "",
                             "a character that is not allowed in YAML (U+%04X)", (unsigned)p->problem_value);
        return -1;
    }
    TF_AUTO_BUF text = TF_BUF_INIT;
    tf_buf_fmt(&text, "not valid YAML: %s", p->problem ? p->problem : "unknown error");
    if (p->context && p->context_mark.line != p->problem_mark.line)
        tf_buf_fmt(&text, " (%s that began on line %zu)", p->context, p->context_mark.line + 1);
    if (tab_at(b, p->problem_mark))
        tf_buf_str(&text, "; there is a tab: indent with spaces");
    return refuse(b, p->problem_mark, tf_buf_text(&text));
}

/* ---- nodes ---- */

static struct node *node_create(struct builder *b, enum node_kind kind, yaml_mark_t mark)
{
    struct node *node = tf_arena_alloc(b->conf->arena, 1, sizeof *node);
    node->kind = kind;
    node->line = (int)mark.line + 1;
    node->column = (int)mark.column + 1;
    return node;
}

static void append(struct node *parent, struct node *node)
{
    if (parent->last)
        parent->last->next = node;
    else
        parent->first = node;
    parent->last = node;
    parent->count++;
}

/* Puts a finished value (or a collection just opened) where it belongs. */
static int attach(struct builder *b, struct node *node, yaml_mark_t mark)
{
    if (b->depth == 0) {
        b->root = node;
        return 0;
    }
    struct node *parent = b->stack[b->depth - 1];
    if (parent->count >= TF_ITEMS_MAX)
        return refuse(b, mark, "more than 4096 items in one list or mapping");
    if (parent->kind == NODE_MAPPING) {
        node->key = TF_STEAL(b->key);
        node->earlier = node_child(parent, node->key->text, strlen(node->key->text));
    }
    append(parent, node);
    return 0;
}

static bool expects_key(const struct builder *b)
{
    return b->depth > 0 && b->stack[b->depth - 1]->kind == NODE_MAPPING && !b->key;
}

static int on_scalar(struct builder *b, const yaml_event_t *event)
{
    const char *value = (const char *)event->data.scalar.value;
    size_t len = event->data.scalar.length;
    if (len > TF_TEXT_MAX)
        return refuse(b, event->start_mark, "a text of more than 64 KiB; keep big inputs in files");
    if (memchr(value, '\0', len))
        return refuse(b, event->start_mark, "a text with a NUL character in it");
    if (!tf_utf8_valid(value, len)) /* an escape can name half a surrogate */
        return refuse(b, event->start_mark, "a text that is not valid UTF-8");
    struct node *node = node_create(b, NODE_SCALAR, event->start_mark);
    node->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    node->text = tf_arena_strdup(b->conf->arena, value);
    if (!expects_key(b))
        return attach(b, node, event->start_mark);
    b->key = node;
    return 0;
}

static int on_open(struct builder *b, enum node_kind kind, yaml_mark_t mark)
{
    if (expects_key(b))
        return refuse(b, mark, "a key must be a single text, not a list or a mapping");
    if (b->depth == b->max_depth)
        return refuse(b, mark, "nested too deeply");
    struct node *node = node_create(b, kind, mark);
    if (attach(b, node, mark))
        return -1;
    b->stack[b->depth++] = node;
    return 0;
}

static int on_document_end(struct builder *b)
{
    if (!b->root || node_is_null(b->root))
        return 0;
    if (b->conf->docs.count == TF_CONF_DOCS_MAX) {
        tf_conf_problems_add(b->problems, b->root->line, 1, "", "more than %d documents: split the file",
                             TF_CONF_DOCS_MAX);
        return -1;
    }
    struct tf_conf_doc doc = {b->root};
    tf_vec_push(&b->conf->docs, doc);
    return 0;
}

/* ---- events ---- */

/* Anchors and tags, which say more than a value. */
static const char *decoration(const yaml_event_t *event)
{
    const yaml_char_t *anchor = NULL, *tag = NULL;
    switch (event->type) {
    case YAML_ALIAS_EVENT:
        return "an alias (*name) is not allowed here; write the value out";
    case YAML_SCALAR_EVENT:
        anchor = event->data.scalar.anchor;
        tag = event->data.scalar.tag;
        break;
    case YAML_SEQUENCE_START_EVENT:
        anchor = event->data.sequence_start.anchor;
        tag = event->data.sequence_start.tag;
        break;
    case YAML_MAPPING_START_EVENT:
        anchor = event->data.mapping_start.anchor;
        tag = event->data.mapping_start.tag;
        break;
    default:
        break;
    }
    if (anchor)
        return "an anchor (&name) is not allowed here; write the value out where it is needed";
    return tag ? "a tag (!name) is not allowed here" : NULL;
}

static int over_limit(struct builder *b, const yaml_event_t *event)
{
    if (event->type == YAML_DOCUMENT_START_EVENT) {
        b->doc_start = event->start_mark.index;
        b->root = NULL;
    }
    if (event->end_mark.index - b->doc_start > b->max_bytes) {
        tf_conf_problems_add(b->problems, (int)event->start_mark.line + 1, (int)event->start_mark.column + 1,
                             "", "a document of more than %zu KiB", b->max_bytes / 1024);
        return -1;
    }
    if (++b->nodes > NODES_MAX)
        return refuse(b, event->start_mark, "too many values in one file");
    return 0;
}

static int on_event(struct builder *b, const yaml_event_t *event)
{
    const char *refused = decoration(event);
    if (refused)
        return refuse(b, event->start_mark, refused);
    if (over_limit(b, event))
        return -1;
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        return on_scalar(b, event);
    case YAML_SEQUENCE_START_EVENT:
        return on_open(b, NODE_SEQUENCE, event->start_mark);
    case YAML_MAPPING_START_EVENT:
        return on_open(b, NODE_MAPPING, event->start_mark);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        b->depth--;
        return 0;
    case YAML_DOCUMENT_END_EVENT:
        return on_document_end(b);
    default:
        return 0;
    }
}

static int build(struct builder *b)
{
    for (bool end = false; !end;) {
        yaml_event_t event;
        if (!yaml_parser_parse(&b->parser, &event))
            return syntax_problem(b);
        end = event.type == YAML_STREAM_END_EVENT;
        int failed = on_event(b, &event);
        yaml_event_delete(&event);
        if (failed)
            return -1;
    }
    return 0;
}

/* ---- the text ---- */

static int check_encoding(const char *text, size_t len, struct tf_conf_problems *problems)
{
    size_t good = tf_utf8_prefix(text, len);
    if (good == len)
        return 0;
    int line, column;
    place_of(text, good, &line, &column);
    tf_conf_problems_add(problems, line, column, "",
                         text[good] == '\0' ? "a NUL byte: this is no text file"
                                            : "bytes that are not UTF-8: save the file as UTF-8");
    return -1;
}

/* The code unit of an escape \uXXXX at p, or 0. */
static unsigned json_unit(const char *p, const char *end)
{
    unsigned unit = 0;
    if (end - p < 6 || p[0] != '\\' || p[1] != 'u')
        return 0;
    for (int i = 2; i < 6; i++) {
        const char *digits = "0123456789abcdef0123456789ABCDEF";
        const char *at = p[i] ? strchr(digits, p[i]) : NULL;
        if (!at)
            return 0;
        unit = unit * 16 + (unsigned)(at - digits) % 16;
    }
    return unit;
}

/* JSON writes what lies beyond U+FFFF as two escaped surrogates, which YAML does not know: they become one
 * \UXXXXXXXX. True if anything changed; out is then the new text. */
static bool join_surrogates(const char *text, size_t len, struct tf_buf *out)
{
    const char *end = text + len, *done = text;
    for (const char *p = text; p < end; p++) {
        if (*p != '\\')
            continue;
        unsigned high = json_unit(p, end), low = end - p > 6 ? json_unit(p + 6, end) : 0;
        if (high >= 0xd800 && high < 0xdc00 && low >= 0xdc00 && low < 0xe000) {
            tf_buf_add(out, done, (size_t)(p - done));
            tf_buf_fmt(out, "\\U%08X", 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00));
            done = p + 12;
            p += 11;
        } else {
            p++; /* whatever is escaped is no backslash of its own */
        }
    }
    if (done != text)
        tf_buf_add(out, done, (size_t)(end - done));
    return done != text;
}

static bool is_json(const char *text, size_t len)
{
    size_t i = 0;
    while (i < len && strchr(" \t\r\n", text[i]))
        i++;
    return i < len && (text[i] == '{' || text[i] == '[');
}

static int parse_into(struct builder *b)
{
    if (!yaml_parser_initialize(&b->parser))
        abort(); /* out of memory */
    yaml_parser_set_encoding(&b->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&b->parser, (const unsigned char *)b->text, b->len);
    int failed = build(b);
    yaml_parser_delete(&b->parser);
    return failed;
}

struct tf_conf *tf_conf_parse(const char *text, size_t len, const struct tf_conf_options *options,
                              struct tf_conf_problems *problems)
{
    struct builder b = {.problems = problems, .max_bytes = TF_CONF_BYTES_MAX, .max_depth = TF_CONF_DEPTH_MAX};
    if (options && options->max_bytes)
        b.max_bytes = options->max_bytes;
    if (options && options->max_depth && options->max_depth < TF_CONF_DEPTH_MAX)
        b.max_depth = options->max_depth;
    if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        text += 3;
        len -= 3;
    }
    if (len / DOCUMENTS_TO_TEXT > b.max_bytes) {
        tf_conf_problems_add(problems, 0, 0, "", "%zu KiB are too much: at most %zu KiB are read", len / 1024,
                             DOCUMENTS_TO_TEXT * b.max_bytes / 1024);
        return NULL;
    }
    if (check_encoding(text, len, problems))
        return NULL;
    TF_AUTO_BUF joined = TF_BUF_INIT;
    bool changed = is_json(text, len) && join_surrogates(text, len, &joined);
    b.text = changed ? joined.data : text;
    b.len = changed ? joined.len : len;
    b.conf = tf_calloc(1, sizeof *b.conf);
    b.conf->arena = tf_arena_create();
    if (parse_into(&b) == 0)
        return b.conf;
    tf_conf_destroy(b.conf);
    return NULL;
}

void tf_conf_destroy(struct tf_conf *conf)
{
    if (!conf)
        return;
    tf_arena_destroy(conf->arena);
    tf_vec_release(&conf->docs);
    free(conf);
}

size_t tf_conf_count(const struct tf_conf *conf)
{
    return conf ? conf->docs.count : 0;
}

const struct tf_conf_doc *tf_conf_doc(const struct tf_conf *conf, size_t i)
{
    return &conf->docs.items[i];
}
