/* SPDX-License-Identifier: Apache-2.0 */
/* What all stores have in common: the rules of a request, copies, rows. How a request is carried out is left
 * to etcd.c and memory.c. */
#include "common/store/store.h"

#include "common/store/impl.h"

#include <assert.h>

uint64_t tf_store_send(struct tf_store *store, const struct tf_store_request *request, tf_store_done_f done,
                       void *cookie)
{
    return store->class->send(store, request, done, cookie);
}

void tf_store_cancel(struct tf_store *store, uint64_t id)
{
    if (id)
        store->class->cancel(store, id);
}

void tf_store_destroy(struct tf_store *store)
{
    if (store)
        store->class->destroy(store);
}

bool tf_store_kind_writes(enum tf_store_kind kind)
{
    switch (kind) {
    case TF_STORE_TXN:
    case TF_STORE_LEASE_GRANT:
    case TF_STORE_LEASE_KEEPALIVE:
    case TF_STORE_LEASE_REVOKE:
    case TF_STORE_COMPACT:
    case TF_STORE_DEFRAGMENT:
    case TF_STORE_DISARM:
        return true;
    case TF_STORE_GET:
    case TF_STORE_PAGE:
    case TF_STORE_STATUS:
        return false;
    }
    return true;
}

static int check_key(struct tf_bytes key, struct tf_error *err)
{
    if (key.len == 0)
        return tf_error_set(err, TF_ERR_INVALID, "a key of the store may not be empty");
    if (key.len > TF_STORE_KEY_BYTES_MAX)
        return tf_error_set(err, TF_ERR_TOO_LARGE, "a key of the store has %zu bytes, at most %d are allowed",
                            key.len, TF_STORE_KEY_BYTES_MAX);
    return 0;
}

static int check_count(size_t count, const char *what, struct tf_error *err)
{
    if (count > TF_STORE_OPS_MAX)
        return tf_error_set(err, TF_ERR_TOO_LARGE,
                            "a transaction of the store has %zu %s, at most %d are allowed: split it", count,
                            what, TF_STORE_OPS_MAX);
    return 0;
}

static int write_key_order(const void *a, const void *b)
{
    const struct tf_store_write *const *x = a, *const *y = b;
    return tf_bytes_cmp((*x)->key, (*y)->key);
}

static int check_written_once(const struct tf_store_txn *txn, struct tf_error *err)
{
    const struct tf_store_write *sorted[TF_STORE_OPS_MAX];
    for (size_t i = 0; i < txn->write_count; i++)
        sorted[i] = &txn->writes[i];
    qsort(sorted, txn->write_count, sizeof sorted[0], write_key_order);
    for (size_t i = 1; i < txn->write_count; i++)
        if (tf_bytes_eq(sorted[i - 1]->key, sorted[i]->key))
            return tf_error_set(err, TF_ERR_INVALID, "a transaction of the store writes a key twice");
    return 0;
}

static int check_txn(const struct tf_store_txn *txn, struct tf_error *err)
{
    if (check_count(txn->compare_count, "compares", err) != 0 ||
        check_count(txn->write_count, "writes", err) != 0 || check_count(txn->read_count, "reads", err) != 0)
        return -1;
    size_t bytes = 0;
    for (size_t i = 0; i < txn->compare_count; i++) {
        if (check_key(txn->compares[i].key, err) != 0)
            return -1;
        bytes += txn->compares[i].key.len +
                 (txn->compares[i].kind == TF_STORE_VALUE_IS ? txn->compares[i].value.len : 0);
    }
    for (size_t i = 0; i < txn->write_count; i++) {
        if (check_key(txn->writes[i].key, err) != 0)
            return -1;
        bytes += txn->writes[i].key.len + (txn->writes[i].remove ? 0 : txn->writes[i].value.len);
    }
    for (size_t i = 0; i < txn->read_count; i++)
        if (check_key(txn->reads[i], err) != 0)
            return -1;
    if (bytes > TF_STORE_TXN_BYTES_MAX)
        return tf_error_set(err, TF_ERR_TOO_LARGE,
                            "a transaction of the store has %zu bytes, at most %d are allowed: split it",
                            bytes, TF_STORE_TXN_BYTES_MAX);
    return check_written_once(txn, err);
}

static int check_page(const struct tf_store_request *request, struct tf_error *err)
{
    if (request->limit < 1 || request->limit > TF_STORE_PAGE_MAX)
        return tf_error_set(err, TF_ERR_INVALID, "a page of the store has 1 to %d rows, not %zu",
                            TF_STORE_PAGE_MAX, request->limit);
    if (request->after.len && !tf_bytes_start_with(request->after, request->key))
        return tf_error_set(err, TF_ERR_INVALID, "a page of the store continues outside its prefix");
    return check_key(request->key, err);
}

int tf_store_request_check(const struct tf_store_request *request, struct tf_error *err)
{
    if (request->timeout_ms <= 0)
        return tf_error_set(err, TF_ERR_INVALID, "a request to the store needs a time-out");
    switch (request->kind) {
    case TF_STORE_GET:
        return check_key(request->key, err);
    case TF_STORE_PAGE:
        return check_page(request, err);
    case TF_STORE_TXN:
        return check_txn(&request->txn, err);
    case TF_STORE_LEASE_GRANT:
        if (request->ttl_ms <= 0)
            return tf_error_set(err, TF_ERR_INVALID, "a lease of the store needs a time to live");
        return 0;
    case TF_STORE_LEASE_KEEPALIVE:
    case TF_STORE_LEASE_REVOKE:
    case TF_STORE_COMPACT:
    case TF_STORE_STATUS:
    case TF_STORE_DEFRAGMENT:
    case TF_STORE_DISARM:
        return 0;
    }
    return tf_error_set(err, TF_ERR_INVALID, "unknown kind of request to the store: %d", (int)request->kind);
}

/* ---- kept requests ---- */

/* Everything of it in one piece of memory: the arrays and the bytes follow. */
struct tf_store_kept {
    struct tf_store_request request;
    size_t holders;
};

static size_t bytes_of(const struct tf_store_request *request)
{
    const struct tf_store_txn *txn = &request->txn;
    size_t bytes = request->key.len + request->after.len;
    for (size_t i = 0; i < txn->compare_count; i++)
        bytes += txn->compares[i].key.len + txn->compares[i].value.len;
    for (size_t i = 0; i < txn->write_count; i++)
        bytes += txn->writes[i].key.len + txn->writes[i].value.len;
    for (size_t i = 0; i < txn->read_count; i++)
        bytes += txn->reads[i].len;
    return bytes;
}

/* Moves bytes to *room, and *room behind them. */
static void pack(char **room, struct tf_bytes *bytes)
{
    if (bytes->len)
        memcpy(*room, bytes->data, bytes->len);
    bytes->data = *room;
    *room += bytes->len;
}

static struct tf_store_request *copy_request(const struct tf_store_request *request)
{
    const struct tf_store_txn *txn = &request->txn;
    size_t compares_at = sizeof(struct tf_store_kept);
    size_t writes_at = compares_at + txn->compare_count * sizeof *txn->compares;
    size_t reads_at = writes_at + txn->write_count * sizeof *txn->writes;
    size_t bytes_at = reads_at + txn->read_count * sizeof *txn->reads;
    char *memory = tf_malloc(bytes_at + bytes_of(request) + 1);
    char *room = memory + bytes_at;
    struct tf_store_kept *kept = (void *)memory;
    struct tf_store_compare *compares = (void *)(memory + compares_at);
    struct tf_store_write *writes = (void *)(memory + writes_at);
    struct tf_bytes *reads = (void *)(memory + reads_at);

    *kept = (struct tf_store_kept){*request, 1};
    kept->request.kept = kept;
    kept->request.txn =
        (struct tf_store_txn){compares, txn->compare_count, writes, txn->write_count, reads, txn->read_count};
    pack(&room, &kept->request.key);
    pack(&room, &kept->request.after);
    for (size_t i = 0; i < txn->compare_count; i++) {
        compares[i] = txn->compares[i];
        pack(&room, &compares[i].key);
        pack(&room, &compares[i].value);
    }
    for (size_t i = 0; i < txn->write_count; i++) {
        writes[i] = txn->writes[i];
        pack(&room, &writes[i].key);
        pack(&room, &writes[i].value);
    }
    for (size_t i = 0; i < txn->read_count; i++) {
        reads[i] = txn->reads[i];
        pack(&room, &reads[i]);
    }
    return &kept->request;
}

const struct tf_store_request *tf_store_request_keep(const struct tf_store_request *request)
{
    if (!request->kept)
        return copy_request(request);
    request->kept->holders++;
    return request;
}

void tf_store_request_drop(const struct tf_store_request *request)
{
    if (request && --request->kept->holders == 0)
        free(request->kept);
}

/* ---- prefixes and answers ---- */

void tf_store_prefix_end(struct tf_buf *out, struct tf_bytes prefix)
{
    const unsigned char *p = prefix.data;
    size_t len = prefix.len;
    while (len && p[len - 1] == 0xff)
        len--;
    if (!len)
        return;
    tf_buf_add(out, p, len);
    out->data[out->len - 1]++;
}

void tf_store_answer_add(struct tf_store_answer *answer, struct tf_store_row row)
{
    tf_buf_add(&answer->bytes, row.key.data, row.key.len);
    tf_buf_add(&answer->bytes, row.value.data, row.value.len);
    row.key.data = row.value.data = NULL;
    tf_vec_push(&answer->rows, row);
}

void tf_store_answer_finish(struct tf_store_answer *answer)
{
    const char *p = answer->bytes.data;
    tf_vec_each (row, &answer->rows) {
        row->key.data = p;
        p += row->key.len;
        row->value.data = p;
        p += row->value.len;
    }
    answer->reply.rows = answer->rows.items;
    answer->reply.count = answer->rows.count;
}

void tf_store_answer_release(struct tf_store_answer *answer)
{
    tf_vec_release(&answer->rows);
    tf_buf_release(&answer->bytes);
}
