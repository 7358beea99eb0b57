/* SPDX-License-Identifier: Apache-2.0 */
/* Reading all records of the prefix, page by page at the revision of the first page. */
#include "common/store/guard_impl.h"

enum {
    PAGE_ROWS = 500,      /* of the first page */
    PAGE_BYTES = 4 << 20, /* larger pages are not asked for */
};

int tf_guard_load(struct tf_guard *guard, tf_guard_row_f row, tf_guard_loaded_f done, void *cookie,
                  struct tf_error *err)
{
    struct tf_guard_load *load = &guard->load;
    if (guard->state != TF_GUARD_STATE_HELD)
        return tf_error_set(err, TF_ERR_CONFLICT, "%s is not held", tf_buf_text(&guard->prefix));
    if (guard->commit.request || load->active)
        return tf_error_set(err, TF_ERR_BUG, "a commit or a load is in flight");
    load->active = true;
    load->owner_seen = load->head_seen = false;
    load->revision = 0;
    load->limit = PAGE_ROWS;
    tf_buf_clear(&load->after);
    load->row = row;
    load->done = done;
    load->cookie = cookie;
    tf_guard_load_try(guard);
    tf_guard_rearm(guard);
    return 0;
}

void tf_guard_load_end(struct tf_guard *guard, const struct tf_error *error)
{
    struct tf_guard_load *load = &guard->load;
    if (!load->active)
        return;
    load->active = false;
    load->task = (struct tf_guard_task){.at = TF_NEVER};
    guard->inside++;
    load->done(load->cookie, error, load->revision);
    guard->inside--;
}

static void take_row(struct tf_guard *guard, const struct tf_store_row *row)
{
    struct tf_guard_load *load = &guard->load;
    if (tf_bytes_eq(row->key, tf_guard_buf_bytes(&guard->owner_key))) {
        load->owner_seen = row->created_at == guard->owner_revision;
    } else if (tf_bytes_eq(row->key, tf_guard_buf_bytes(&guard->head_key))) {
        load->head_seen = tf_bytes_eq(row->value, tf_guard_buf_bytes(&guard->head_value));
    } else {
        guard->inside++;
        load->row(load->cookie, row);
        guard->inside--;
    }
}

static void loaded(struct tf_guard *guard)
{
    struct tf_error none = TF_ERROR_INIT;
    const struct tf_guard_load *load = &guard->load;
    bool head_known = load->head_seen || guard->head_value.len == 0;
    if (!load->owner_seen)
        tf_guard_depose(guard, "its key is gone or another's");
    else if (!head_known)
        tf_guard_depose(guard, "head was changed by someone else");
    else
        tf_guard_load_end(guard, &none);
}

/* etcd walks all keys that are left for each page, so that few large ones are read sooner than many small
 * ones. */
static void choose_limit(struct tf_guard_load *load, const struct tf_store_reply *reply)
{
    size_t bytes = 0;
    for (size_t i = 0; i < reply->count; i++)
        bytes += reply->rows[i].value.len;
    if (bytes < PAGE_BYTES / 2)
        load->limit = 2 * load->limit < TF_STORE_PAGE_MAX ? 2 * load->limit : TF_STORE_PAGE_MAX;
    else if (bytes > 2 * PAGE_BYTES && load->limit > 1)
        load->limit /= 2;
}

static void take_page(struct tf_guard *guard, const struct tf_store_reply *reply)
{
    struct tf_guard_load *load = &guard->load;
    load->revision = reply->revision;
    for (size_t i = 0; i < reply->count; i++) {
        take_row(guard, &reply->rows[i]);
        if (!load->active) /* released or deposed by the callback */
            return;
    }
    if (!reply->more || reply->count == 0) {
        loaded(guard);
        return;
    }
    struct tf_bytes last = reply->rows[reply->count - 1].key;
    tf_buf_clear(&load->after);
    tf_buf_add(&load->after, last.data, last.len);
    choose_limit(load, reply);
    tf_guard_load_try(guard);
}

static void page_done(void *cookie, const struct tf_store_reply *reply)
{
    struct tf_guard *guard = cookie;
    struct tf_guard_load *load = &guard->load;
    tf_guard_replied(guard, &load->task, reply);
    switch (reply->error.code) {
    case TF_OK:
        take_page(guard, reply);
        break;
    case TF_ERR_UNAVAILABLE: /* perhaps only so large a page is late */
        load->limit = load->limit > PAGE_ROWS ? load->limit / 2 : load->limit;
        tf_guard_back_off(guard, &load->task);
        break;
    case TF_ERR_TOO_LARGE:
        if (load->limit > 1) {
            load->limit = (load->limit + 1) / 2;
            tf_guard_load_try(guard);
            break;
        } /* fall through */
    default:
        tf_guard_load_end(guard, &reply->error);
    }
    tf_guard_rearm(guard);
}

void tf_guard_load_try(struct tf_guard *guard)
{
    struct tf_guard_load *load = &guard->load;
    struct tf_store_request request = {.kind = TF_STORE_PAGE,
                                       .timeout_ms = guard->timeout_ms,
                                       .key = tf_guard_buf_bytes(&guard->prefix),
                                       .after = tf_guard_buf_bytes(&load->after),
                                       .limit = load->limit,
                                       .revision = load->revision};
    tf_guard_send(guard, &load->task, &request, page_done);
}
