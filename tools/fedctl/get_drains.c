/* SPDX-License-Identifier: Apache-2.0 */
/* Owns how drains are listed: one line an order, whatever nodes it has, and how far it is. */
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "tools/fedctl/drains.h"
#include "tools/fedctl/resource.h"
#include "tools/fedctl/when.h"

static const struct column columns[] = {
    {"DRAIN", 0},           {"KIND", 0},
    {"STATE", 0},           {"EMPTY", COLUMN_RIGHT},
    {"LEFT", COLUMN_RIGHT}, {"SINCE", COLUMN_RIGHT},
    {"DEADLINE", 0},        {"AT-ONCE", COLUMN_RIGHT},
    {"FORCE", 0},           {"WHO", 0},
    {"REASON", 0},
};

enum { NAMED = 3 };

/* Of those that are there yet. */
static void who_cell(const struct drain *drain, struct columns *out)
{
    TF_AUTO_BUF text = TF_BUF_INIT;
    for (size_t i = 0; i < drain->left.count && i < NAMED; i++)
        tf_buf_fmt(&text, "%s%s", i ? ", " : "", drain->left.items[i]);
    if (drain->left.count > NAMED)
        tf_buf_fmt(&text, ", %zu more", drain->left.count - NAMED);
    columns_add(out, text.len ? tf_buf_text(&text) : "-");
}

static void name(const void *object, struct tf_buf *buf)
{
    drain_name(object, buf);
}

static void cells(const void *object, struct tf_wall now, struct columns *out)
{
    const struct drain *drain = object;
    TF_AUTO_BUF what = TF_BUF_INIT;
    bool over = drain_is_done(drain);
    char text[WHEN_TEXT];
    drain_name(drain, &what);
    columns_add(out, tf_buf_text(&what));
    columns_add(out, drain_kind(drain));
    columns_add_styled(out, over ? CELL_GOOD : CELL_WAITING, over ? "Drained" : "Draining");
    columns_add_fmt(out, "%d/%zu", drain->empty, drain->covers.count);
    columns_add_fmt(out, "%zu", drain->left.count);
    columns_add(out, when_age(drain->since, now, text));
    columns_add(out, drain->terms.deadline.ms ? when_local(drain->terms.deadline, text) : "-");
    if (drain->terms.max_at_once)
        columns_add_fmt(out, "%d", drain->terms.max_at_once);
    else
        columns_add(out, "-");
    columns_add(out, drain->terms.force ? "yes" : "no");
    who_cell(drain, out);
    columns_add(out, drain->reason);
}

const struct resource resource_drains = {"drains", columns, TF_ARRAY_LEN(columns), &view_drain, cells, name};

int fetch_drains(struct fedctl *ctl, struct listing *listing)
{
    struct drains drains;
    int code = drains_fetch(ctl, &drains);
    tf_vec_each (drain, &drains)
        listing_add(listing, drain);
    drains_release(&drains);
    return code;
}
