/* SPDX-License-Identifier: Apache-2.0 */
/* Owns how the configuration of a running fedd, and what a file would change of it, are asked for and shown.
 */
#include "tools/fedctl/live_config.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "common/conf/conf.h"
#include "common/model/manifest.h"
#include "tools/fedctl/listing.h"

/* ---- one setting ---- */

static const char *origin_word(enum tf_config_origin origin)
{
    static const char *const words[] = {"unknown", "default", "file", "reload", "option"};
    return origin < TF_ARRAY_LEN(words) ? words[origin] : words[0];
}

struct value_doc {
    char *key, *value, *origin, *meaning;
    bool reloadable, unused;
};
#define V struct value_doc
static const struct tf_row value_rows[] = {
    {.key = "apiVersion", TF_CONST(TF_API_VERSION)},
    {.key = "kind", TF_CONST("Setting")},
    {.key = "key", TF_STRING(V, key)},
    {.key = "value", TF_STRING(V, value)},
    {.key = "origin", TF_STRING(V, origin)},
    {.key = "reloadable", TF_BOOL(V, reloadable)},
    {.key = "unused", TF_BOOL(V, unused)},
    {.key = "meaning", TF_STRING(V, meaning)},
};
static const struct tf_table value_table = TF_TABLE(V, value_rows);
#undef V

static void fill_value(const void *object, void *document, struct tf_arena *arena)
{
    const struct tf_config_value *value = object;
    (void)arena;
    *(struct value_doc *)document = (struct value_doc){
        .key = value->key,
        .value = value->value,
        .origin = view_word(origin_word(value->origin)),
        .meaning = value->meaning,
        .reloadable = value->reloadable,
        .unused = value->unused,
    };
}
static const struct view value_view = {&value_table, sizeof(struct value_doc), fill_value};

static const struct column value_columns[] = {
    {"KEY", 0}, {"VALUE", 0}, {"ORIGIN", 0}, {"CHANGES BY", 0}, {"MEANING", COLUMN_WIDE},
};

/* A value of a word or two stands as it is; what only looks empty is shown as what it is. */
static void value_cells(const void *object, struct tf_wall now, struct columns *out)
{
    const struct tf_config_value *value = object;
    (void)now;
    columns_add(out, value->key);
    columns_add(out, value->value);
    columns_add_styled(out, value->origin == TF_CONFIG_DEFAULT ? CELL_FAINT : CELL_PLAIN,
                       origin_word(value->origin));
    columns_add(out, value->reloadable ? "reload" : "restart");
    columns_add_fmt(out, "%s%s", value->unused ? "not used yet: " : "", value->meaning ? value->meaning : "");
}

static void value_name(const void *object, struct tf_buf *buf)
{
    tf_buf_str(buf, ((const struct tf_config_value *)object)->key);
}

static const struct resource value_resource = {
    "such keys", value_columns, TF_ARRAY_LEN(value_columns), &value_view, value_cells, value_name,
};

/* With several endpoints the federation is meant, and its leader's settings decide; with one, that fedd. */
static bool asks_leader(const struct fedctl *ctl)
{
    return client_endpoints(ctl->client) > 1;
}

static void tell_standby(const struct fedctl *ctl, bool leads)
{
    if (!leads)
        message("this is the configuration of the fedd at %s, which does not lead now: decisions go by that "
                "of the "
                "leader",
                client_address(ctl->client));
}

int live_config_get(struct fedctl *ctl, const char *key)
{
    struct tf_request request = {.method = TF_METHOD_GET_CONFIG};
    struct tf_reply reply = {0};
    struct tf_error err = TF_ERROR_INIT;
    struct listing listing;
    request.get_config.key = tf_strdup(key);
    request.get_config.cluster = tf_strdup(ctl->options.cluster);
    request.get_config.leader = asks_leader(ctl);
    int failed = fedctl_call(ctl, &request, &reply, &err);
    tf_request_release(&request);
    if (failed)
        return fedctl_fail(ctl, &err);
    bool single = key && reply.config.values.count == 1 && tf_str_eq(reply.config.values.items[0].key, key);
    listing_begin(&listing, &value_resource, &ctl->options, single, &ctl->out);
    tf_vec_each (value, &reply.config.values)
        listing_add(&listing, value);
    listing_end(&listing, true);
    tell_standby(ctl, reply.config.leads);
    tf_reply_release(&reply);
    return FEDCTL_DONE;
}

/* ---- one difference ---- */

struct change_doc {
    char *key, *running, *file, *needs;
    bool unused;
};
#define D struct change_doc
static const struct tf_row change_rows[] = {
    {.key = "apiVersion", TF_CONST(TF_API_VERSION)},
    {.key = "kind", TF_CONST("SettingChange")},
    {.key = "key", TF_STRING(D, key)},
    {.key = "running", TF_STRING(D, running)},
    {.key = "file", TF_STRING(D, file)},
    {.key = "needs", TF_STRING(D, needs)},
    {.key = "unused", TF_BOOL(D, unused)},
};
static const struct tf_table change_table = TF_TABLE(D, change_rows);
#undef D

static const char *needs_word(const struct tf_config_change *change)
{
    return change->restart ? "restart" : "reload";
}

static void fill_change(const void *object, void *document, struct tf_arena *arena)
{
    const struct tf_config_change *change = object;
    (void)arena;
    *(struct change_doc *)document = (struct change_doc){
        .key = change->key,
        .running = change->running,
        .file = change->file,
        .needs = view_word(needs_word(change)),
        .unused = change->unused,
    };
}
static const struct view change_view = {&change_table, sizeof(struct change_doc), fill_change};

static const struct column change_columns[] = {{"KEY", 0}, {"RUNNING", 0}, {"FILE", 0}, {"NEEDS", 0}};

static void change_cells(const void *object, struct tf_wall now, struct columns *out)
{
    const struct tf_config_change *change = object;
    (void)now;
    columns_add(out, change->key);
    columns_add(out, change->running);
    columns_add(out, change->file);
    columns_add_styled(out, change->restart ? CELL_WAITING : CELL_PLAIN, needs_word(change));
}

static void change_name(const void *object, struct tf_buf *buf)
{
    tf_buf_str(buf, ((const struct tf_config_change *)object)->key);
}

static const struct resource change_resource = {
    "differences", change_columns, TF_ARRAY_LEN(change_columns), &change_view, change_cells, change_name,
};

/* What to do about them, after the table. */
static void advise(const struct fedctl *ctl, const struct tf_diff_config_reply *diff)
{
    const char *program = ctl->options.cluster ? "subclusterd" : "fedd";
    size_t restart = 0, all = diff->changes.count;
    tf_vec_each (change, &diff->changes)
        restart += change->restart;
    if (diff->conflict)
        message("a reload would take over nothing of it: %s", diff->conflict);
    else if (restart < all)
        message("%zu of %zu in force after a reload (SIGHUP, or systemctl reload %s)%s", all - restart, all,
                program, restart ? ", the rest after a restart, which running work does not notice" : "");
    else
        message("in force after a restart of %s, which running work does not notice", program);
}

static int show_diff(struct fedctl *ctl, const struct tf_diff_config_reply *diff)
{
    bool table = ctl->options.output == OUTPUT_TABLE || ctl->options.output == OUTPUT_WIDE;
    struct listing listing;
    listing_begin(&listing, &change_resource, &ctl->options, false, &ctl->out);
    tf_vec_each (change, &diff->changes)
        listing_add(&listing, change);
    listing_end(&listing, true);
    if (table && diff->changes.count)
        advise(ctl, diff);
    tell_standby(ctl, diff->leads);
    return diff->changes.count ? FEDCTL_FAILED : FEDCTL_DONE;
}

/* 1 says that they differ, so what is not known has another code. */
static int unknown(int code)
{
    return code == FEDCTL_FAILED ? FEDCTL_USAGE : code;
}

int live_config_diff(struct fedctl *ctl, const char *path)
{
    struct tf_request request = {.method = TF_METHOD_DIFF_CONFIG};
    struct tf_reply reply = {0};
    struct tf_error err = TF_ERROR_INIT;
    TF_AUTO_BUF text = TF_BUF_INIT;
    enum { ROOM = 4096 }; /* for the rest of the request */
    if (tf_conf_read_file(path, TF_WIRE_CONFIG_MAX - ROOM, &text, &err))
        return unknown(fedctl_fail(ctl, &err));
    request.diff_config.name = tf_strdup(strcmp(path, "-") == 0 ? "standard input" : path);
    request.diff_config.text = tf_memdup(tf_buf_text(&text), text.len);
    request.diff_config.len = text.len;
    request.diff_config.leader = asks_leader(ctl);
    request.diff_config.cluster = tf_strdup(ctl->options.cluster);
    int failed = fedctl_call(ctl, &request, &reply, &err);
    tf_request_release(&request);
    int code = failed ? unknown(fedctl_fail(ctl, &err)) : show_diff(ctl, &reply.config_diff);
    tf_reply_release(&reply);
    return code;
}
