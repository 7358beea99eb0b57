/* SPDX-License-Identifier: Apache-2.0 */
/* What the configuration in force is, and what a file would change of it. Every fedd answers for itself,
 * whether it leads or not, and without asking the store: what is wrong with a configuration is looked for
 * when nothing else works. */
#include "federation/daemon/private.h"

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

static bool asked_and_refused(struct fedd *fedd, struct tf_call *call, bool leader)
{
    return leader && !lead_or_refuse(fedd, call);
}

/* ---- what is in force ---- */

struct origins {
    struct tf_row_items defaults, first; /* sorted; first: as it was read at the start */
};

/* What no line of the file says. What settles by the folder of data does so by the one that is said. */
static void list_defaults(const struct fedd *fedd, struct tf_row_items *out)
{
    struct fedd_config config = {0};
    tf_table_init(&fedd_config_table, &config);
    config.data_dir = tf_strdup(fedd->config.data_dir);
    tf_table_settle(&fedd_config_table, &config);
    tf_table_items(&fedd_config_table, &config, out);
    fedd_config_release(&config);
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

static void add_value(const struct fedd *fedd, const struct tf_row_item *item, const struct origins *origins,
                      struct tf_get_config_reply *out)
{
    struct tf_config_value *value = tf_vec_add(&out->values);
    value->key = tf_strdup(item->key);
    value->value = without_secrets(item->value);
    value->origin = origin_of(origins, item);
    value->reloadable = item->reloadable;
    value->unused = item->row->flags & TF_ROW_UNUSED;
    value->meaning = tf_strdup(item->row->help);
    if (fedd->config.override && strcmp(item->key, "listen") == 0) {
        tf_str_set(&value->value, fedd->config.override);
        value->origin = TF_CONFIG_OPTION;
    }
}

/* The key itself, or something below it. */
static bool is_below(const char *key, const char *wanted)
{
    size_t len = strlen(wanted);
    return strncmp(key, wanted, len) == 0 && (!key[len] || key[len] == '.' || key[len] == '[');
}

static void no_such_key(struct tf_call *call, const char *wanted, const struct tf_row_items *items)
{
    TF_VEC(const char *) keys = {0};
    tf_vec_each (item, items)
        tf_vec_push(&keys, item->key);
    const char *nearest = tf_nearest(wanted, keys.items, keys.count);
    call_fail_code(call, TF_ERR_NOT_FOUND, "fedd.yaml has no key \"%.200s\"%s%s%s", wanted,
                   nearest ? "; did you mean " : ": `fedctl config get` lists all", nearest ? nearest : "",
                   nearest ? "?" : "");
    tf_vec_release(&keys);
}

static void answer_get(struct fedd *fedd, struct tf_call *call, const char *wanted)
{
    struct tf_reply reply = {.method = TF_METHOD_GET_CONFIG};
    struct tf_row_items items = {0};
    struct origins origins = {0};
    tf_table_items(&fedd_config_table, &fedd->config, &items);
    tf_table_items(&fedd_config_table, &fedd->first_config, &origins.first);
    tf_row_items_sort(&origins.first);
    list_defaults(fedd, &origins.defaults);
    tf_vec_each (item, &items)
        if (!wanted || is_below(item->key, wanted))
            add_value(fedd, item, &origins, &reply.config);
    reply.config.leads = lead_is_certain(fedd);
    if (wanted && !reply.config.values.count) {
        no_such_key(call, wanted, &items);
        tf_reply_release(&reply);
    } else
        call_reply(call, &reply);
    tf_row_items_release(&items);
    tf_row_items_release(&origins.first);
    tf_row_items_release(&origins.defaults);
}

static void on_get(void *arg, struct tf_call *call, struct tf_bytes bytes)
{
    struct fedd *fedd = arg;
    struct tf_request request = {0};
    if (!call_request(call, TF_METHOD_GET_CONFIG, bytes, &request))
        return;
    if (!asked_and_refused(fedd, call, request.get_config.leader))
        answer_get(fedd, call, request.get_config.key);
    tf_request_release(&request);
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

static void answer_diff(struct fedd *fedd, struct tf_call *call, const char *name,
                        const struct fedd_config *file)
{
    struct tf_reply reply = {.method = TF_METHOD_DIFF_CONFIG};
    struct tf_row_items before = {0}, after = {0};
    struct tf_error conflict = TF_ERROR_INIT;
    tf_table_items(&fedd_config_table, &fedd->config, &before);
    tf_table_items(&fedd_config_table, file, &after);
    tf_row_items_sort(&before);
    tf_row_items_sort(&after);
    compare(&before, &after, &reply.config_diff);
    if (tf_conf_may_reload(name, &fedd_config_table, &fedd->config, file, &conflict))
        reply.config_diff.conflict = tf_strdup(conflict.text);
    reply.config_diff.leads = lead_is_certain(fedd);
    call_reply(call, &reply);
    tf_row_items_release(&before);
    tf_row_items_release(&after);
}

static void diff_text(struct fedd *fedd, struct tf_call *call, const struct tf_diff_config_request *request)
{
    struct tf_conf_problems problems = {0};
    struct fedd_config file = {0};
    const char *name = request->name ? request->name : "fedd.yaml";
    if (tf_conf_read_text(request->text ? request->text : "", request->len, NULL, &fedd_config_table, &file,
                          &problems)) {
        struct tf_error err = TF_ERROR_INIT;
        tf_conf_problems_error(&problems, name, &err);
        call_fail_code(call, err.code, "%s", err.text);
    } else
        answer_diff(fedd, call, name, &file);
    tf_conf_problems_release(&problems);
    fedd_config_release(&file);
}

static void on_diff(void *arg, struct tf_call *call, struct tf_bytes bytes)
{
    struct fedd *fedd = arg;
    struct tf_request request = {0};
    if (!call_request(call, TF_METHOD_DIFF_CONFIG, bytes, &request))
        return;
    if (!asked_and_refused(fedd, call, request.diff_config.leader))
        diff_text(fedd, call, &request.diff_config);
    tf_request_release(&request);
}

void config_register(struct fedd *fedd)
{
    tf_server_unary(fedd->server, tf_method_path(TF_METHOD_GET_CONFIG), on_get, fedd);
    tf_server_unary(fedd->server, tf_method_path(TF_METHOD_DIFF_CONFIG), on_diff, fedd);
}
