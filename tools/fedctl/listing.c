/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the formats of lists; what an object looks like is up to its resource. */
#include "tools/fedctl/listing.h"

#include "common/loop/loop.h"

enum { FLUSH_BYTES = 64 * 1024 };

void listing_begin(struct listing *listing, const struct resource *resource, const struct options *options,
                   bool single, struct out *out)
{
    *listing = (struct listing){
        .resource = resource,
        .output = options->output,
        .single = single,
        .no_headers = options->no_headers,
        .out = out,
        .now = tf_clock_read().wall,
    };
    columns_init(&listing->columns, resource->columns, resource->column_count);
}

static bool is_list(const struct listing *listing)
{
    return !listing->single && (listing->output == OUTPUT_JSON || listing->output == OUTPUT_YAML);
}

void listing_add(struct listing *listing, const void *object)
{
    const struct resource *resource = listing->resource;
    bool json = listing->output == OUTPUT_JSON;
    if (listing->limit && listing->count >= listing->limit) {
        listing->more = true;
        return;
    }
    if (is_list(listing)) {
        if (listing->count == 0)
            view_list_begin(json, &listing->text);
        view_list_item(resource->view, object, json, listing->count == 0, &listing->text);
    } else if (listing->output == OUTPUT_JSON)
        view_json(resource->view, object, &listing->text);
    else if (listing->output == OUTPUT_YAML)
        view_yaml(resource->view, object, &listing->text);
    else if (listing->output == OUTPUT_NAME) {
        resource->name(object, &listing->text);
        tf_buf_char(&listing->text, '\n');
    } else
        resource->cells(object, listing->now, &listing->columns);
    listing->count++;
    if (listing->text.len > FLUSH_BYTES)
        out_buf(listing->out, &listing->text);
}

void listing_take_table(struct listing *listing, struct tf_buf *buf)
{
    struct columns_style style = listing->out->style;
    style.wide = listing->output == OUTPUT_WIDE;
    style.no_titles = listing->no_headers;
    columns_print(&listing->columns, &style, buf);
    columns_release(&listing->columns);
    listing->count = 0;
}

void listing_end(struct listing *listing, bool complete)
{
    bool json = listing->output == OUTPUT_JSON;
    bool table = listing->output == OUTPUT_TABLE || listing->output == OUTPUT_WIDE;
    if (is_list(listing) && (complete || listing->count)) {
        if (listing->count == 0)
            view_list_begin(json, &listing->text);
        view_list_end(json, listing->count == 0, &listing->text);
    }
    if (table && listing->count)
        listing_take_table(listing, &listing->text);
    else if (table && complete)
        message("no %s", listing->resource->plural);
    out_buf(listing->out, &listing->text);
    if (listing->more)
        message("only the first %zu; there may be more %s", listing->limit, listing->resource->plural);
    tf_strs_release(&listing->missing);
    columns_release(&listing->columns);
    tf_buf_release(&listing->text);
}

bool listing_is_over(const struct listing *listing)
{
    return listing->out->closed || listing->out->failed ||
           (listing->limit && listing->count >= listing->limit);
}
