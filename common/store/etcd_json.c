/* SPDX-License-Identifier: Apache-2.0 */
/* The bodies of etcd's v3 JSON gateway. Bytes are base64, 64-bit integers are strings, fields that are zero
 * are left out. Requests use the names of the proto file; a misspelt one would be ignored in silence, so the
 * contract test is what checks them. */
#include "common/store/etcd_json.h"

#include "common/base/base64.h"
#include "common/base/text.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <inttypes.h>

const char *tf_etcd_path(enum tf_store_kind kind)
{
    static const char *const paths[] = {
        [TF_STORE_GET] = "/v3/kv/range",
        [TF_STORE_PAGE] = "/v3/kv/range",
        [TF_STORE_TXN] = "/v3/kv/txn",
        [TF_STORE_LEASE_GRANT] = "/v3/lease/grant",
        [TF_STORE_LEASE_KEEPALIVE] = "/v3/lease/keepalive",
        [TF_STORE_LEASE_REVOKE] = "/v3/lease/revoke",
        [TF_STORE_COMPACT] = "/v3/kv/compaction",
        [TF_STORE_STATUS] = "/v3/maintenance/status",
        [TF_STORE_DEFRAGMENT] = "/v3/maintenance/defragment",
        [TF_STORE_DISARM] = "/v3/maintenance/alarm",
    };
    return paths[kind];
}

/* ---- requests ---- */

/* "name":"base64" */
static void put_bytes(struct tf_buf *body, const char *name, struct tf_bytes bytes)
{
    tf_buf_fmt(body, "\"%s\":\"", name);
    tf_base64_encode(body, bytes);
    tf_buf_char(body, '"');
}

static void put_int(struct tf_buf *body, const char *name, int64_t value)
{
    tf_buf_fmt(body, "\"%s\":\"%" PRId64 "\"", name, value);
}

static void encode_page(struct tf_buf *body, const struct tf_store_request *request)
{
    TF_AUTO_BUF start = TF_BUF_INIT, end = TF_BUF_INIT;
    struct tf_bytes from = request->after.len ? request->after : request->key;
    tf_buf_add(&start, from.data, from.len);
    if (request->after.len)
        tf_buf_char(&start, '\0'); /* the next possible key */
    tf_store_prefix_end(&end, request->key);
    if (!end.len)
        tf_buf_char(&end, '\0'); /* etcd: to the end of all keys */
    tf_buf_char(body, '{');
    put_bytes(body, "key", (struct tf_bytes){start.data, start.len});
    tf_buf_char(body, ',');
    put_bytes(body, "range_end", (struct tf_bytes){end.data, end.len});
    tf_buf_char(body, ',');
    put_int(body, "limit", (int64_t)request->limit);
    tf_buf_char(body, ',');
    put_int(body, "revision", request->revision);
    tf_buf_char(body, '}');
}

static void encode_compare(struct tf_buf *body, const struct tf_store_compare *compare)
{
    tf_buf_str(body, "{\"result\":\"EQUAL\",");
    put_bytes(body, "key", compare->key);
    switch (compare->kind) {
    case TF_STORE_ABSENT:
        tf_buf_str(body, ",\"target\":\"CREATE\",\"create_revision\":\"0\"}");
        return;
    case TF_STORE_CREATED_AT:
        tf_buf_str(body, ",\"target\":\"CREATE\",");
        put_int(body, "create_revision", compare->revision);
        break;
    case TF_STORE_VALUE_IS:
        tf_buf_str(body, ",\"target\":\"VALUE\",");
        put_bytes(body, "value", compare->value);
        break;
    }
    tf_buf_char(body, '}');
}

static void encode_write(struct tf_buf *body, const struct tf_store_write *write)
{
    if (write->remove) {
        tf_buf_str(body, "{\"request_delete_range\":{");
        put_bytes(body, "key", write->key);
    } else {
        tf_buf_str(body, "{\"request_put\":{");
        put_bytes(body, "key", write->key);
        tf_buf_char(body, ',');
        put_bytes(body, "value", write->value);
        if (write->lease) {
            tf_buf_char(body, ',');
            put_int(body, "lease", write->lease);
        }
    }
    tf_buf_str(body, "}}");
}

static void encode_txn(struct tf_buf *body, const struct tf_store_txn *txn)
{
    tf_buf_str(body, "{\"compare\":[");
    for (size_t i = 0; i < txn->compare_count; i++) {
        tf_buf_str(body, i ? "," : "");
        encode_compare(body, &txn->compares[i]);
    }
    tf_buf_str(body, "],\"success\":[");
    for (size_t i = 0; i < txn->write_count; i++) {
        tf_buf_str(body, i ? "," : "");
        encode_write(body, &txn->writes[i]);
    }
    tf_buf_str(body, "],\"failure\":[");
    for (size_t i = 0; i < txn->read_count; i++) {
        tf_buf_str(body, i ? ",{\"request_range\":{" : "{\"request_range\":{");
        put_bytes(body, "key", txn->reads[i]);
        tf_buf_str(body, "}}");
    }
    tf_buf_str(body, "]}");
}

static void encode_int(struct tf_buf *body, const char *name, int64_t value)
{
    tf_buf_char(body, '{');
    put_int(body, name, value);
    tf_buf_char(body, '}');
}

void tf_etcd_encode(struct tf_buf *body, const struct tf_store_request *request)
{
    switch (request->kind) {
    case TF_STORE_GET:
        tf_buf_char(body, '{');
        put_bytes(body, "key", request->key);
        tf_buf_char(body, '}');
        return;
    case TF_STORE_PAGE:
        encode_page(body, request);
        return;
    case TF_STORE_TXN:
        encode_txn(body, &request->txn);
        return;
    case TF_STORE_LEASE_GRANT:
        encode_int(body, "TTL", (request->ttl_ms + 999) / 1000);
        return;
    case TF_STORE_LEASE_KEEPALIVE:
    case TF_STORE_LEASE_REVOKE:
        encode_int(body, "ID", request->lease);
        return;
    case TF_STORE_COMPACT:
        encode_int(body, "revision", request->revision);
        return;
    case TF_STORE_STATUS:
    case TF_STORE_DEFRAGMENT:
        tf_buf_str(body, "{}");
        return;
    case TF_STORE_DISARM:
        tf_buf_fmt(body, "{\"action\":\"DEACTIVATE\",\"alarm\":\"NOSPACE\",\"memberID\":\"%" PRIu64 "\"}",
                   request->alarm);
        return;
    }
}

/* ---- replies ---- */

/* A missing field is zero; -1 if it is there and not a 64-bit integer in a string. */
static int take_int(const cJSON *object, const char *name, int64_t *out)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    *out = 0;
    if (!item)
        return 0;
    if (!cJSON_IsString(item))
        return -1;
    return tf_parse_int64(item->valuestring, 0, INT64_MAX, out, NULL);
}

static int take_bytes(const cJSON *object, const char *name, struct tf_buf *out)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    tf_buf_clear(out);
    if (!item)
        return 0;
    return cJSON_IsString(item) ? tf_base64_decode(out, tf_bytes_of(item->valuestring)) : -1;
}

/* A missing list is empty; -1 if it is something else. */
static int take_list(const cJSON *object, const char *name, const cJSON **first)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(object, name);
    *first = NULL;
    if (!list)
        return 0;
    if (!cJSON_IsArray(list))
        return -1;
    *first = list->child;
    return 0;
}

static int take_revision(const cJSON *object, int64_t *revision)
{
    const cJSON *header = cJSON_GetObjectItemCaseSensitive(object, "header");
    if (!cJSON_IsObject(header) || take_int(header, "revision", revision) != 0)
        return -1;
    return 0;
}

static int decode_row(struct tf_store_answer *answer, const cJSON *object)
{
    TF_AUTO_BUF key = TF_BUF_INIT, value = TF_BUF_INIT;
    struct tf_store_row row = {0};
    if (!cJSON_IsObject(object) || take_bytes(object, "key", &key) != 0 || key.len == 0 ||
        take_bytes(object, "value", &value) != 0 ||
        take_int(object, "create_revision", &row.created_at) != 0 || row.created_at == 0 ||
        take_int(object, "mod_revision", &row.modified_at) != 0 || take_int(object, "lease", &row.lease) != 0)
        return -1;
    row.key = (struct tf_bytes){key.data, key.len};
    row.value = (struct tf_bytes){value.data, value.len};
    tf_store_answer_add(answer, row);
    return 0;
}

static int decode_rows(struct tf_store_answer *answer, const cJSON *object)
{
    const cJSON *row;
    if (take_list(object, "kvs", &row) != 0)
        return -1;
    for (; row; row = row->next)
        if (decode_row(answer, row) != 0)
            return -1;
    return 0;
}

static int decode_range(struct tf_store_answer *answer, const struct tf_etcd_expect *expect,
                        const cJSON *root)
{
    if (take_revision(root, &answer->reply.revision) != 0 || decode_rows(answer, root) != 0)
        return -1;
    if (expect->page_revision)
        answer->reply.revision = expect->page_revision;
    answer->reply.more = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(root, "more"));
    return expect->kind == TF_STORE_GET && answer->rows.count > 1 ? -1 : 0;
}

/* One entry of the failure branch: the row, or an empty one if there is no such key. */
static int decode_read(struct tf_store_answer *answer, const cJSON *entry)
{
    size_t before = answer->rows.count;
    const cJSON *range = cJSON_GetObjectItemCaseSensitive(entry, "response_range");
    if (!cJSON_IsObject(range) || decode_rows(answer, range) != 0 || answer->rows.count > before + 1)
        return -1;
    if (answer->rows.count == before)
        tf_store_answer_add(answer, (struct tf_store_row){.created_at = 0});
    return 0;
}

static int decode_txn(struct tf_store_answer *answer, const struct tf_etcd_expect *expect, const cJSON *root)
{
    const cJSON *entry;
    if (take_revision(root, &answer->reply.revision) != 0 || take_list(root, "responses", &entry) != 0)
        return -1;
    if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(root, "succeeded")))
        return 0;
    for (; entry; entry = entry->next)
        if (decode_read(answer, entry) != 0)
            return -1;
    if (answer->rows.count != expect->read_count)
        return -1;
    tf_error_set(&answer->reply.error, TF_ERR_CONFLICT, "a compare of the transaction did not hold");
    return 0;
}

static int decode_lease(struct tf_store_answer *answer, const cJSON *root)
{
    int64_t ttl_s;
    if (!cJSON_IsObject(root) || take_revision(root, &answer->reply.revision) != 0 ||
        take_int(root, "ID", &answer->reply.lease) != 0 || take_int(root, "TTL", &ttl_s) != 0 ||
        ttl_s > INT32_MAX)
        return -1;
    answer->reply.ttl_ms = ttl_s * 1000;
    return 0;
}

static int decode_grant(struct tf_store_answer *answer, const cJSON *root)
{
    if (decode_lease(answer, root) != 0)
        return -1;
    return answer->reply.lease && answer->reply.ttl_ms ? 0 : -1;
}

/* A lost lease is an answer without TTL. */
static int decode_keepalive(struct tf_store_answer *answer, const cJSON *root)
{
    if (decode_lease(answer, cJSON_GetObjectItemCaseSensitive(root, "result")) != 0)
        return -1;
    if (!answer->reply.ttl_ms)
        tf_error_set(&answer->reply.error, TF_ERR_NOT_FOUND, "the lease has ended");
    return 0;
}

static int decode_status(struct tf_store_answer *answer, const cJSON *root)
{
    const cJSON *entry;
    if (take_revision(root, &answer->reply.revision) != 0 ||
        take_int(root, "dbSize", &answer->reply.status.used_bytes) != 0 ||
        take_int(root, "dbSizeInUse", &answer->reply.status.in_use_bytes) != 0 ||
        take_list(root, "errors", &entry) != 0)
        return -1;
    for (; entry; entry = entry->next)
        if (cJSON_IsString(entry) && strstr(entry->valuestring, "NOSPACE")) {
            answer->reply.status.full = true;
            sscanf(entry->valuestring, "memberID:%" SCNu64, &answer->reply.status.alarm);
        }
    return 0;
}

static int decode_ok(struct tf_store_answer *answer, const struct tf_etcd_expect *expect, const cJSON *root)
{
    switch (expect->kind) {
    case TF_STORE_GET:
    case TF_STORE_PAGE:
        return decode_range(answer, expect, root);
    case TF_STORE_TXN:
        return decode_txn(answer, expect, root);
    case TF_STORE_LEASE_GRANT:
        return decode_grant(answer, root);
    case TF_STORE_LEASE_KEEPALIVE:
        return decode_keepalive(answer, root);
    case TF_STORE_LEASE_REVOKE:
    case TF_STORE_COMPACT:
        return take_revision(root, &answer->reply.revision);
    case TF_STORE_STATUS:
        return decode_status(answer, root);
    case TF_STORE_DEFRAGMENT:
    case TF_STORE_DISARM:
        return 0; /* there is nothing in the answer that matters */
    }
    return -1;
}

/* Errors of etcd that say for certain that nothing was done: gRPC code, a part of the text that must be
 * there, what it means here. The first row that fits counts; all others leave the outcome open. */
static const struct {
    int code;
    const char *text;
    enum tf_error_code means;
    const char *advice;
} definite[] = {
    {3, "request is too large", TF_ERR_TOO_LARGE, ""},
    {3, "too many operations", TF_ERR_TOO_LARGE, ""},
    {3, "user name is empty", TF_ERR_REFUSED,
     ": it lets in only users: say `user` and `passwordFile` of the store"},
    {3, "", TF_ERR_INVALID, ""},
    {5, "", TF_ERR_NOT_FOUND, ""},
    {7, "", TF_ERR_REFUSED, "; check the user and the roles in etcd"},
    {8, "database space exceeded", TF_ERR_REFUSED,
     "; raise its --quota-backend-bytes, or make room and clear the alarm (etcdctl alarm disarm)"},
    {8, "larger than max", TF_ERR_TOO_LARGE, ""},
    {8, "too many requests", TF_ERR_UNAVAILABLE, ""},
    {11, "compacted", TF_ERR_NOT_FOUND, ": list again from the present"},
    {11, "future revision", TF_ERR_INVALID, ""},
    {16, "", TF_ERR_REFUSED, "; check the user and the password for etcd"},
};

static enum tf_error_code lost_code(enum tf_store_kind kind)
{
    return tf_store_kind_writes(kind) ? TF_ERR_UNKNOWN : TF_ERR_UNAVAILABLE;
}

static void decode_error(struct tf_error *err, enum tf_store_kind kind, int code, const char *text)
{
    for (size_t i = 0; i < TF_ARRAY_LEN(definite); i++)
        if (definite[i].code == code && strstr(text, definite[i].text)) {
            tf_error_set(err, definite[i].means, "etcd answers \"%.300s\"%s", text, definite[i].advice);
            return;
        }
    tf_error_set(err, lost_code(kind), "etcd answers \"%.300s\" (code %d)", text, code);
}

/* {"error":"text","code":N}, or in a stream {"error":{"message":"text","grpc_code":N}}. True if it is one. */
static bool take_error(struct tf_store_answer *answer, enum tf_store_kind kind, const cJSON *root)
{
    const cJSON *error = cJSON_GetObjectItemCaseSensitive(root, "error");
    const cJSON *text = error, *code = cJSON_GetObjectItemCaseSensitive(root, "code");
    if (cJSON_IsObject(error)) {
        text = cJSON_GetObjectItemCaseSensitive(error, "message");
        code = cJSON_GetObjectItemCaseSensitive(error, "grpc_code");
    }
    if (!cJSON_IsString(text) || !cJSON_IsNumber(code))
        return false;
    decode_error(&answer->reply.error, kind, code->valueint, text->valuestring);
    return true;
}

static bool only_space(const char *p, const char *end)
{
    while (p < end && isspace((unsigned char)*p))
        p++;
    return p == end;
}

/* NULL unless the bytes are one JSON object. Owned by the caller; cJSON_Delete. */
static cJSON *parse_object(struct tf_bytes body)
{
    const char *end = NULL;
    cJSON *root = body.len ? cJSON_ParseWithLengthOpts(body.data, body.len, &end, 0) : NULL;
    if (cJSON_IsObject(root) && only_space(end, (const char *)body.data + body.len))
        return root;
    cJSON_Delete(root);
    return NULL;
}

static void set_malformed(struct tf_store_answer *answer, enum tf_store_kind kind, long http_status)
{
    tf_store_answer_release(answer);
    answer->reply = (struct tf_store_reply){.error = TF_ERROR_INIT};
    tf_error_set(&answer->reply.error, lost_code(kind),
                 "the answer (HTTP %ld) is not one of etcd's v3 JSON API: check that the endpoint is an etcd "
                 "3.4 or later",
                 http_status);
}

void tf_etcd_decode(struct tf_store_answer *answer, const struct tf_etcd_expect *expect, long http_status,
                    struct tf_bytes body)
{
    cJSON *root = parse_object(body);
    if (!root)
        set_malformed(answer, expect->kind, http_status);
    else if (!take_error(answer, expect->kind, root) &&
             (http_status != 200 || decode_ok(answer, expect, root) != 0))
        set_malformed(answer, expect->kind, http_status);
    cJSON_Delete(root);
    tf_store_answer_finish(answer);
}

/* ---- users ---- */

void tf_etcd_encode_login(struct tf_buf *body, const char *user, const char *password)
{
    tf_buf_str(body, "{\"name\":");
    tf_buf_json(body, user);
    tf_buf_str(body, ",\"password\":");
    tf_buf_json(body, password);
    tf_buf_char(body, '}');
}

char *tf_etcd_decode_login(long http_status, struct tf_bytes body, struct tf_error *err)
{
    struct tf_store_answer answer = {.reply.error = TF_ERROR_INIT};
    cJSON *root = parse_object(body);
    const cJSON *token = cJSON_GetObjectItemCaseSensitive(root, "token");
    /* It becomes a line of a header. */
    bool usable = cJSON_IsString(token) && token->valuestring[strcspn(token->valuestring, "\r\n")] == '\0';
    char *copy = http_status == 200 && usable ? tf_strdup(token->valuestring) : NULL;
    if (!copy && (!root || !take_error(&answer, TF_STORE_GET, root)))
        set_malformed(&answer, TF_STORE_GET, http_status);
    if (!copy && err)
        *err = answer.reply.error;
    cJSON_Delete(root);
    return copy;
}

bool tf_etcd_wants_login(const struct tf_error *error)
{
    return strstr(error->text, "invalid auth token") || strstr(error->text, "revision of auth store is old");
}

int64_t tf_etcd_metrics_quota(struct tf_bytes text)
{
    static const char name[] = "\netcd_server_quota_backend_bytes ";
    const char *found = text.len ? memmem(text.data, text.len, name, sizeof name - 1) : NULL;
    if (!found)
        return 0;
    char number[40] = "";
    size_t left = (size_t)((const char *)text.data + text.len - found) - (sizeof name - 1);
    memcpy(number, found + sizeof name - 1, left < sizeof number - 1 ? left : sizeof number - 1);
    double quota = strtod(number, NULL); /* 2.147483648e+09 */
    return quota >= 1 && quota < 9e18 ? (int64_t)quota : 0;
}
