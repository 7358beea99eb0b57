/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_BASE_ROW_H
#define TF_BASE_ROW_H

#include "common/base/buf.h"
#include "common/base/complaint.h"
#include "common/base/error.h"
#include "common/base/list.h"

#include <stddef.h>
#include <stdint.h>

/* Tables of rows describe a struct: one row a key of its YAML form. Reading (common/conf), defaults, release,
 * copy, comparison, checking, printing and the reference in the documentation all come from the table, so a
 * field cannot be forgotten by one of them. A table is a constant of the program:
 *
 *     static const struct tf_row limit_rows[] = {
 *         {.key = "tenant", TF_NAME(struct limit, tenant), .flags = TF_ROW_REQUIRED, .help = "whom it
 * binds"},
 *         {.key = "maxGpus", TF_INT32(struct limit, max_gpus), .max = 100000, .def = "64",
 *          .flags = TF_ROW_RELOADABLE, .help = "GPUs at a time; keeps one team from filling the fleet"},
 *     };
 *     static const struct tf_table limit_table = TF_TABLE(struct limit, limit_rows);
 *
 * The TF_INT32(struct, field) family fills type and offset and refuses to compile for a field of another
 * type. */

enum tf_row_type {
    TF_ROW_STRING,   /* char *, NULL = not said */
    TF_ROW_NAME,     /* char *, tf_name_check */
    TF_ROW_CONST,    /* no field: the key's value must be exactly def */
    TF_ROW_INT32,    /* int32_t */
    TF_ROW_INT64,    /* int64_t */
    TF_ROW_SIZES,    /* short form of .count int32_t in sequence: sets all; read, never printed */
    TF_ROW_BOOL,     /* bool */
    TF_ROW_DURATION, /* int64_t ms */
    TF_ROW_MEMORY,   /* int64_t MiB, rounded up: a request */
    TF_ROW_CAPACITY, /* int64_t MiB, rounded down */
    TF_ROW_CPU,      /* int64_t millicores */
    TF_ROW_FRACTION, /* int32_t basis points */
    TF_ROW_NOTATION, /* int64_t, written as notation says */
    TF_ROW_ENUM,     /* an enum: names[value], 0 = not said */
    TF_ROW_CHOICE,   /* an enum of which the value detail_of carries a text, the char * at detail: written
                        `key: name` or `key: {name: TEXT}` */
    TF_ROW_STRINGS,  /* struct tf_strs */
    TF_ROW_NAMES,    /* struct tf_strs, each a name */
    TF_ROW_PAIRS,    /* struct tf_pairs */
    TF_ROW_OBJECT,   /* an embedded struct, or with TF_GROUP a group of keys of the same struct */
    TF_ROW_OBJECTS,  /* {struct x *items; size_t count, cap;} of table, written as a list */
    TF_ROW_MAP,      /* the same, written as a mapping: row 0 of table is the key; when only one other row
                        is left the value is that row alone, else a mapping of the others */
};

enum {
    TF_ROW_REQUIRED = 1,   /* must be said (where its mapping is said) */
    TF_ROW_RELOADABLE = 2, /* may change under way: settings without a restart, specs under a running job */
    TF_ROW_HIDDEN = 4,     /* not in the documentation, never suggested */
    TF_ROW_ZERO = 8,       /* the number 0, or false, means "not said": not printed, within bounds */
    TF_ROW_NONE = 16,      /* the word `none` is written for the number 0, which is within bounds */
    TF_ROW_FILLED = 32,    /* TF_UNSET until a fill function decides: not printed, within no bounds */
    TF_ROW_OPTIONAL = 64,  /* of numbers: TF_UNSET when it was not said, which is as good as any number */
    TF_ROW_SHORT = 128,    /* of objects: a single value may be written for row 0 of the table; of lists of
                              texts: for a list of one */
    TF_ROW_SUFFIX = 256,   /* of a text: no key of its own, but what follows the slash in the key of the next
                              row, which may be written `key: ...` or `key/TEXT: ...`; its own key is `key/` */
    TF_ROW_UNUSED = 512,   /* of a key that is read, and decides nothing yet: who sets it is told so */
};

#define TF_UNSET                                                                               \
    (-1) /* of the numbers of TF_ROW_FILLED and TF_ROW_OPTIONAL rows; none of them is negative \
          */

enum {
    TF_TEXT_MAX = 64 * 1024, /* bytes of one string, when its row does not say less */
    TF_ITEMS_MAX = 4096,     /* items of one list or map, when its row does not say less */
    TF_KEY_MAX = 253,        /* bytes of a key of a map of texts */
};

/* How numbers of one kind are written. parse takes the whole text; format gives what parse takes back. */
struct tf_notation {
    const char *type_text; /* "a moment, as in 1h30m or end" */
    int (*parse)(const char *text, int64_t *value, struct tf_error *err);
    void (*format)(int64_t value, struct tf_buf *buf);
};

struct tf_table;

struct tf_row {
    const char *key;
    enum tf_row_type type;
    size_t offset;
    int64_t min, max; /* of numbers in the field's unit, of strings in bytes (of each item, for lists of
                         them), of lists of objects in items; both 0 = from 0 to what the type can hold */
    const char *def;  /* as it is written; lists "a, b"; maps of single values "a: 1, b: 2" */
    const char *const *names; /* of enums: [0] = NULL, then the names, then NULL */
    const struct tf_table *table;
    const struct tf_notation *notation;
    size_t count;         /* TF_ROW_SIZES: fields; strings and pairs: most items, 0 = TF_ITEMS_MAX */
    size_t detail;        /* TF_ROW_CHOICE */
    int detail_of;        /* TF_ROW_CHOICE */
    const char *excludes; /* a key of the same mapping that may not be said together with this one */
    unsigned flags;
    const char *help; /* what it is, its unit, and the reason for the default: one line of Markdown */
};

struct tf_table {
    size_t size; /* of the struct */
    const struct tf_row *rows;
    size_t count;
    /* Both may be NULL. settle fills what depends on other fields; check adds a complaint, with a path from
     * this table on, for each broken rule that rows cannot say. */
    void (*settle)(void *object);
    void (*check)(const void *object, struct tf_complaints *out);
};

#define TF_TABLE(struct_type, rows_array, ...)                             \
    {                                                                      \
        .size = sizeof(struct_type), .rows = (rows_array),                 \
        .count = sizeof(rows_array) / sizeof((rows_array)[0]), __VA_ARGS__ \
    }

/* offsetof, and an error of the compiler unless the field has the type. */
#define TF_FIELD(s, f, t) (offsetof(s, f) + 0 * sizeof(char[_Generic(((s *)0)->f, t : 1)]))
#define TF_FIELD_ENUM(s, f) (offsetof(s, f) + 0 * sizeof(char[sizeof(((s *)0)->f) == sizeof(int) ? 1 : -1]))

#define TF_STRING(s, f) .type = TF_ROW_STRING, .offset = TF_FIELD(s, f, char *)
#define TF_NAME(s, f) .type = TF_ROW_NAME, .offset = TF_FIELD(s, f, char *)
#define TF_CONST(text) .type = TF_ROW_CONST, .def = (text)
#define TF_INT32(s, f) .type = TF_ROW_INT32, .offset = TF_FIELD(s, f, int32_t)
#define TF_INT64(s, f) .type = TF_ROW_INT64, .offset = TF_FIELD(s, f, int64_t)
#define TF_SIZES(s, f, n) .type = TF_ROW_SIZES, .offset = TF_FIELD(s, f, int32_t), .count = (n)
#define TF_BOOL(s, f) .type = TF_ROW_BOOL, .offset = TF_FIELD(s, f, bool)
#define TF_DURATION(s, f) .type = TF_ROW_DURATION, .offset = TF_FIELD(s, f, int64_t)
#define TF_MEMORY(s, f) .type = TF_ROW_MEMORY, .offset = TF_FIELD(s, f, int64_t)
#define TF_CAPACITY(s, f) .type = TF_ROW_CAPACITY, .offset = TF_FIELD(s, f, int64_t)
#define TF_CPU(s, f) .type = TF_ROW_CPU, .offset = TF_FIELD(s, f, int64_t)
#define TF_FRACTION(s, f) .type = TF_ROW_FRACTION, .offset = TF_FIELD(s, f, int32_t)
#define TF_NOTATION(s, f, n) .type = TF_ROW_NOTATION, .offset = TF_FIELD(s, f, int64_t), .notation = (n)
#define TF_NAMES_OF(...)           \
    .names = (const char *const[]) \
    {                              \
        NULL, __VA_ARGS__, NULL    \
    }
#define TF_ENUM(s, f, ...) .type = TF_ROW_ENUM, .offset = TF_FIELD_ENUM(s, f), TF_NAMES_OF(__VA_ARGS__)
#define TF_CHOICE(s, f, value, text_field, ...)                                 \
    .type = TF_ROW_CHOICE, .offset = TF_FIELD_ENUM(s, f), .detail_of = (value), \
    .detail = TF_FIELD(s, text_field, char *), TF_NAMES_OF(__VA_ARGS__)
/* Of a file or a folder: PATH_MAX, with room for what is made below it. */
#define TF_PATH(s, f) TF_STRING(s, f), .min = 1, .max = 4000
#define TF_STRINGS(s, f) .type = TF_ROW_STRINGS, .offset = TF_FIELD(s, f, struct tf_strs)
#define TF_NAMES(s, f) .type = TF_ROW_NAMES, .offset = TF_FIELD(s, f, struct tf_strs)
#define TF_PAIRS(s, f) .type = TF_ROW_PAIRS, .offset = TF_FIELD(s, f, struct tf_pairs)
#define TF_OBJECT(s, f, t) .type = TF_ROW_OBJECT, .offset = offsetof(s, f), .table = (t)
#define TF_GROUP(t) .type = TF_ROW_OBJECT, .offset = 0, .table = (t)
#define TF_OBJECTS(s, f, t) .type = TF_ROW_OBJECTS, .offset = offsetof(s, f.items), .table = (t)
#define TF_MAP(s, f, t) .type = TF_ROW_MAP, .offset = offsetof(s, f.items), .table = (t)

/* ---- whole objects: all own their strings and lists ---- */

void tf_table_init(const struct tf_table *table, void *object);    /* object is raw memory; defaults */
void tf_table_release(const struct tf_table *table, void *object); /* and zeroes it */
/* to is zeroed or initialised, and released first; it may not overlap from. */
void tf_table_copy(const struct tf_table *table, void *to, const void *from);
/* Copies the rows that have any of the flags; rows are taken one by one inside objects, as a whole for lists
 * and maps. Both are initialised. */
void tf_table_take(const struct tf_table *table, void *to, const void *from, unsigned flags);
bool tf_table_eq(const struct tf_table *table, const void *a, const void *b);
/* Adds the path of every TF_ROW_UNUSED key of object that is not its default. */
void tf_table_unused(const struct tf_table *table, const void *object, struct tf_strs *paths);
/* Adds the path of every key in which a and b differ, leaving out rows with any of the flags in skip: rows
 * are compared one by one inside objects, as a whole for lists and maps. */
void tf_table_diff(const struct tf_table *table, const void *a, const void *b, unsigned skip,
                   struct tf_strs *paths);
/* Bytes of text and items that the object holds outside its struct: a bound for its encoded size. */
size_t tf_table_weight(const struct tf_table *table, const void *object);
/* check_rows: every row's own rules (required, bounds, names, UTF-8), for objects from anywhere.
 * check_rules: the check of the table and of those in it, which expect rows in order. check: both, in turn.
 * True if there was no complaint. */
bool tf_table_check_rows(const struct tf_table *table, const void *object, struct tf_complaints *out);
bool tf_table_check_rules(const struct tf_table *table, const void *object, struct tf_complaints *out);
bool tf_table_check(const struct tf_table *table, const void *object, struct tf_complaints *out);
/* Runs the settle of the tables inside, then of the table. */
void tf_table_settle(const struct tf_table *table, void *object);

/* As YAML (block style, indented by two, which reads back equal), as one line of JSON, and as the rows of the
 * reference: `key | type | default | bounds | reloadable | meaning`. What was not said is left out. */
void tf_table_yaml(const struct tf_table *table, const void *object, struct tf_buf *buf);
void tf_table_json(const struct tf_table *table, const void *object, struct tf_buf *buf);
void tf_table_markdown(const struct tf_table *table, struct tf_buf *buf);
/* s as a YAML scalar that reads back as that string everywhere: plain if it is a harmless word, else quoted.
 */
void tf_buf_yaml(struct tf_buf *buf, const char *s);

/* ---- flat: what an object holds, a line a value ---- */

struct tf_row_item {
    char *key;                /* "settings.classes.batch", "nodes[0].prefix" */
    char *value;              /* as YAML in one line; NULL = not said */
    const struct tf_row *row; /* that says what the key means */
    bool reloadable;          /* it, or what it is in */
};
struct tf_row_items {
    struct tf_row_item *items;
    size_t count, cap;
};

/* Adds every key that is in the documentation, in its order: items of lists and maps one by one, other keys
 * also when they are not said. */
void tf_table_items(const struct tf_table *table, const void *object, struct tf_row_items *out);
void tf_row_items_sort(struct tf_row_items *items); /* by key */
/* NULL if there is none. Of sorted ones only. */
const struct tf_row_item *tf_row_items_find(const struct tf_row_items *sorted, const char *key);
void tf_row_items_release(struct tf_row_items *items);

/* ---- single rows; object is the struct that the row's table describes ---- */

const struct tf_row *tf_table_find(const struct tf_table *table, const char *key); /* NULL if there is none */
/* Of a key `key/TEXT`: the TF_ROW_SUFFIX row that takes the text, *suffix; the next row takes the value. NULL
 * if there is none. */
const struct tf_row *tf_table_find_suffixed(const struct tf_table *table, const char *key,
                                            const char **suffix);
/* The visible key nearest to word among the rows from first on, or NULL. */
const char *tf_table_nearest(const struct tf_table *table, size_t first, const char *word);
/* Parses the text of one scalar (or, of strings and names, appends one item) into the row's field. The error
 * says what is wrong and what would be right, not where. */
int tf_row_parse(const struct tf_row *row, const char *text, void *object, struct tf_error *err);
/* The text carried by a TF_ROW_CHOICE: sets the enum and the text. */
int tf_row_parse_detail(const struct tf_row *row, const char *name, const char *text, void *object,
                        struct tf_error *err);
/* Appends the field of a scalar row as it is written; false if it was not said. */
bool tf_row_format(const struct tf_row *row, const void *object, struct tf_buf *buf);
/* Appends a zeroed and then initialised item to a list or map row; valid until the next. */
void *tf_row_add(const struct tf_row *row, void *object);
/* What people call the type: "a duration", "a list of strings". */
const char *tf_row_type_text(const struct tf_row *row);
bool tf_row_is_scalar(const struct tf_row *row);
/* Of maps: the one row of its values, or NULL when they are mappings of several keys. */
const struct tf_row *tf_row_map_value(const struct tf_row *row);
/* The bounds of a number, whether the row says them or its type. */
void tf_row_bounds(const struct tf_row *row, int64_t *min, int64_t *max);
/* The name of an enum's value, "" for 0 or an unknown one. */
const char *tf_row_name(const struct tf_row *row, int value);

#endif
