/* SPDX-License-Identifier: Apache-2.0 */
/* Owns how a configuration in force becomes lines of key and value, and how a file is compared with it. */
#include "common/live/live.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "common/conf/reload.h"

/* http://USER:PASSWORD@HOST is the one place where a secret can stand in the file itself: the others are in
 * files of their own, of which only the paths are shown. */
static char *without_secrets(const char *value)
{
    TF_AUTO_BUF shown = TF_BUF_INIT;
    if (!value)
        return NULL;
    for (const char *at; (at = strstr(value, "://")) != NULL;) {
        const char *host = at + strlen("://");
        size_t user = strcspn(host, "@/, \"]");
        tf_buf_add(&shown, value, (size_t)(host - value));
        if (host[user] == '@')
            tf_buf_str(&shown, "***");
        value = host[user] == '@' ? host + user : host;
    }
    tf_buf_str(&shown, value);
    return tf_strdup(tf_buf_text(&shown));
}

/* ---- what is in force ---- */

struct origins {
    struct tf_row_items defaults, first; /* sorted; first: as it was read at the start */
};

static void list_sorted(const struct tf_live_config *live, const void *object, struct tf_row_items *out)
{
    tf_table_items(live->table, object, out);
    tf_row_items_sort(out);
}

static bool has(const struct tf_row_items *sorted, const struct tf_row_item *item)
{
    const struct tf_row_item *found = tf_row_items_find(sorted, item->key);
    return found && tf_str_eq(found->value, item->value);
}

static enum tf_config_origin origin_of(const struct origins *origins, const struct tf_row_item *item)
{
    if (!has(&origins->first, item))
        return TF_CONFIG_RELOAD;
    if (!item->value ||
        (!tf_row_items_find(&origins->defaults, item->key) && tf_str_eq(item->value, item->row->def)))
        return TF_CONFIG_DEFAULT; /* not said, also within an item of a map that is */
    bool said = item->row->flags & TF_ROW_REQUIRED || !has(&origins->defaults, item);
    return said ? TF_CONFIG_FILE : TF_CONFIG_DEFAULT;
}

static void add_value(const struct tf_live_config *live, const struct tf_row_item *item,
                      const struct origins *origins, struct tf_get_config_reply *out)
{
    struct tf_config_value *value = tf_vec_add(&out->values);
    value->key = tf_strdup(item->key);
    value->value = without_secrets(item->value);
    value->origin = origin_of(origins, item);
    value->reloadable = item->reloadable;
    value->unused = item->row->flags & TF_ROW_UNUSED;
    value->meaning = tf_strdup(item->row->help);
    if (live->option_value && strcmp(item->key, live->option_key) == 0) {
        tf_str_set(&value->value, live->option_value);
        value->origin = TF_CONFIG_OPTION;
    }
}

/* The key itself, or something below it. */
static bool is_below(const char *key, const char *wanted)
{
    size_t len = strlen(wanted);
    return strncmp(key, wanted, len) == 0 && (!key[len] || key[len] == '.' || key[len] == '[');
}

static int no_such_key(const struct tf_live_config *live, const char *wanted,
                       const struct tf_row_items *items, struct tf_error *err)
{
    struct tf_strs keys = {0};
    tf_vec_each (item, items) {
        tf_strs_add(&keys, item->key);
        for (const char *at = strpbrk(item->key, ".["); at; at = strpbrk(at + 1, ".[")) { /* its groups */
            TF_AUTO_FREE char *group = tf_strndup(item->key, (size_t)(at - item->key));
            tf_strs_add(&keys, group);
        }
    }
    const char *nearest = tf_nearest(wanted, (const char *const *)keys.items, keys.count);
    tf_error_set(err, TF_ERR_NOT_FOUND, "%s has no key \"%.200s\"%s%s%s", live->file, wanted,
                 nearest ? "; did you mean " : ": `fedctl config get` lists all", nearest ? nearest : "",
                 nearest ? "?" : "");
    tf_strs_release(&keys);
    return -1;
}

int tf_live_get(const struct tf_live_config *live, const char *key, struct tf_get_config_reply *out,
                struct tf_error *err)
{
    struct tf_row_items items = {0};
    struct origins origins = {0};
    tf_table_items(live->table, live->now, &items);
    list_sorted(live, live->first, &origins.first);
    list_sorted(live, live->defaults, &origins.defaults);
    tf_vec_each (item, &items)
        if (!key || is_below(item->key, key))
            add_value(live, item, &origins, out);
    int failed = key && !out->values.count ? no_such_key(live, key, &items, err) : 0;
    tf_row_items_release(&items);
    tf_row_items_release(&origins.first);
    tf_row_items_release(&origins.defaults);
    return failed;
}

/* ---- what a file would change ---- */

static void add_change(const struct tf_row_item *running, const struct tf_row_item *file,
                       struct tf_diff_config_reply *out)
{
    const struct tf_row_item *item = running ? running : file;
    struct tf_config_change *change = tf_vec_add(&out->changes);
    change->key = tf_strdup(item->key);
    change->running = running ? without_secrets(running->value) : NULL;
    change->file = file ? without_secrets(file->value) : NULL;
    change->restart = !item->reloadable;
    change->unused = item->row->flags & TF_ROW_UNUSED;
}

/* Of two sorted lists; what is only in one of them is not set in the other. */
static void compare(const struct tf_row_items *running, const struct tf_row_items *file,
                    struct tf_diff_config_reply *out)
{
    const struct tf_row_item *a = running->items, *b = file->items;
    const struct tf_row_item *a_end = a + running->count, *b_end = b + file->count;
    while (a < a_end || b < b_end) {
        int order = a == a_end ? 1 : b == b_end ? -1 : strcmp(a->key, b->key);
        if (order == 0 ? !tf_str_eq(a->value, b->value) : (order < 0 ? a : b)->value != NULL)
            add_change(order <= 0 ? a : NULL, order >= 0 ? b : NULL, out);
        a += order <= 0;
        b += order >= 0;
    }
}

static void diff_object(const struct tf_live_config *live, const char *name, const void *file,
                        struct tf_diff_config_reply *out)
{
    struct tf_row_items before = {0}, after = {0};
    struct tf_error conflict = TF_ERROR_INIT;
    list_sorted(live, live->now, &before);
    list_sorted(live, file, &after);
    compare(&before, &after, out);
    if (tf_conf_may_reload(name, live->table, live->now, file, &conflict))
        out->conflict = tf_strdup(conflict.text);
    tf_row_items_release(&before);
    tf_row_items_release(&after);
}

int tf_live_diff(const struct tf_live_config *live, const struct tf_diff_config_request *request,
                 struct tf_diff_config_reply *out, struct tf_error *err)
{
    struct tf_conf_problems problems = {0};
    const char *name = request->name ? request->name : live->file;
    void *file = tf_calloc(1, live->table->size);
    int failed = tf_conf_read_text(request->text ? request->text : "", request->len, NULL, live->table, file,
                                   &problems);
    if (failed)
        tf_conf_problems_error(&problems, name, err);
    else
        diff_object(live, name, file, out);
    tf_conf_problems_release(&problems);
    tf_table_release(live->table, file);
    free(file);
    return failed;
}
