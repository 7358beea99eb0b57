/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the words of freezes, and how those in force are listed. */
#include "tools/fedctl/freeze.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "common/model/manifest.h"
#include "tools/fedctl/resource.h"
#include "tools/fedctl/view.h"
#include "tools/fedctl/when.h"

int freeze_what(struct fedctl *ctl, int32_t *what)
{
    static const char *const words[] = {"evictions", "growth", "moves", "all"};
    enum tf_frozen one;
    if (ctl->words.count != 1)
        return fedctl_usage(ctl, "%s what? Say one of evictions, growth, moves, all", ctl->verb->name);
    const char *word = ctl->words.items[0];
    if (strcmp(word, "all") == 0) {
        *what = TF_FROZEN_ALL;
    } else if (tf_frozen_parse(word, &one) == 0) {
        *what = (int32_t)one;
    } else {
        const char *nearest = tf_nearest(word, words, TF_ARRAY_LEN(words));
        return fedctl_usage(ctl, "%s \"%.100s\"? It is evictions, growth, moves or all%s%s%s",
                            ctl->verb->name, word, nearest ? "; did you mean " : "", nearest ? nearest : "",
                            nearest ? "?" : "");
    }
    return FEDCTL_DONE;
}

/* ---- a list ---- */

static const struct column columns[] = {
    {"WHAT", 0}, {"CLUSTER", 0}, {"ENDS", COLUMN_RIGHT}, {"BY", 0}, {"REASON", 0}, {"SINCE", COLUMN_WIDE},
};

static void cells(const void *object, struct tf_wall now, struct columns *out)
{
    const struct tf_freeze *freeze = object;
    char text[WHEN_TEXT];
    columns_add(out, tf_frozen_name(freeze->what));
    columns_add(out, freeze->cluster ? freeze->cluster : "(all)");
    columns_add(out, when_relative(freeze->until, now, text));
    columns_add(out, freeze->user ? freeze->user : "-");
    columns_add(out, freeze->reason ? freeze->reason : "-");
    columns_add(out, when_local(freeze->since, text));
}

static void name(const void *object, struct tf_buf *buf)
{
    const struct tf_freeze *freeze = object;
    tf_buf_str(buf, tf_frozen_name(freeze->what));
    if (freeze->cluster)
        tf_buf_fmt(buf, " --cluster %s", freeze->cluster);
}

struct freeze_doc {
    char *what, *cluster, *reason, *user, *since, *until;
};
#define F struct freeze_doc
static const struct tf_row rows[] = {
    {.key = "apiVersion", TF_CONST(TF_API_VERSION)},
    {.key = "kind", TF_CONST("Freeze")},
    {.key = "what", TF_STRING(F, what)},
    {.key = "cluster", TF_STRING(F, cluster)},
    {.key = "reason", TF_STRING(F, reason)},
    {.key = "user", TF_STRING(F, user)},
    {.key = "since", TF_STRING(F, since)},
    {.key = "until", TF_STRING(F, until)},
};
#undef F
static const struct tf_table table = TF_TABLE(struct freeze_doc, rows);

static void fill(const void *object, void *document, struct tf_arena *arena)
{
    const struct tf_freeze *freeze = object;
    *(struct freeze_doc *)document = (struct freeze_doc){
        .what = tf_arena_strdup(arena, tf_frozen_name(freeze->what)),
        .cluster = freeze->cluster,
        .reason = freeze->reason,
        .user = freeze->user,
        .since = view_time(freeze->since, arena),
        .until = view_time(freeze->until, arena),
    };
}

static const struct view view = {&table, sizeof(struct freeze_doc), fill};

int freeze_list(struct fedctl *ctl)
{
    static const struct resource resource = {
        "freezes", columns, TF_ARRAY_LEN(columns), &view, cells, name,
    };
    struct tf_request request = {.method = TF_METHOD_LIST_CLUSTERS};
    struct tf_reply reply = {0};
    struct tf_error err = TF_ERROR_INIT;
    if (fedctl_call(ctl, &request, &reply, &err))
        return fedctl_fail(ctl, &err);
    struct listing listing;
    listing_begin(&listing, &resource, &ctl->options, false, &ctl->out);
    tf_vec_each (freeze, &reply.clusters.freezes)
        if (!ctl->options.cluster || !freeze->cluster || strcmp(freeze->cluster, ctl->options.cluster) == 0)
            listing_add(&listing, freeze);
    listing_end(&listing, true);
    tf_reply_release(&reply);
    return FEDCTL_DONE;
}
