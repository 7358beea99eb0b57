/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDCTL_LISTING_H
#define TF_FEDCTL_LISTING_H

#include "tools/fedctl/columns.h"
#include "tools/fedctl/option.h"
#include "tools/fedctl/out.h"
#include "tools/fedctl/view.h"

/* Objects of one kind, printed in the format that was asked for. JSON, YAML and names are written as they
 * come; a table at the end, when its widths are known. */

struct resource {
    const char *plural; /* for "no jobs" */
    const struct column *columns;
    size_t column_count;
    const struct view *view;
    /* One cell for each column. */
    void (*cells)(const void *object, struct tf_wall now, struct columns *columns);
    /* What -o name prints: usable as an argument of other verbs. */
    void (*name)(const void *object, struct tf_buf *buf);
};

struct listing {
    const struct resource *resource;
    enum output output;
    bool single; /* exactly one was asked for by name: JSON and YAML are not a list */
    bool no_headers;
    struct out *out;
    struct tf_wall now;
    struct columns columns;
    struct tf_buf text;
    size_t count, limit;    /* limit 0 = none */
    bool more;              /* than the limit lets through */
    struct tf_strs missing; /* subclusters that could not be asked */
};

void listing_begin(struct listing *listing, const struct resource *resource, const struct options *options,
                   bool single, struct out *out);
void listing_add(struct listing *listing, const void *object);
/* Prints what is left; releases. Notes on stderr say that there was no object, if complete, or more than the
 * limit. */
void listing_end(struct listing *listing, bool complete);
/* The table so far, appended to buf; the listing is empty again. Of tables only. */
void listing_take_table(struct listing *listing, struct tf_buf *buf);
/* True when nobody reads any more, or the limit is reached: no need to fetch the rest. */
bool listing_is_over(const struct listing *listing);

#endif
