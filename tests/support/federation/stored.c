/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/federation/stored.h"

#include "common/base/alloc.h"
#include "common/store/etcd.h"

enum { TIMEOUT_MS = 2000 };

struct answer {
    bool done, failed;
    size_t count;
    char *key, *value; /* of the first row */
};

static char *text_of(struct tf_bytes bytes)
{
    return tf_strndup(bytes.data ? bytes.data : "", bytes.len);
}

static void on_reply(void *cookie, const struct tf_store_reply *reply)
{
    struct answer *answer = cookie;
    answer->done = true;
    answer->failed = reply->error.code != TF_OK;
    answer->count = reply->count;
    if (reply->count) {
        answer->key = text_of(reply->rows[0].key);
        answer->value = text_of(reply->rows[0].value);
    }
}

static struct answer ask(const char *endpoint, enum tf_store_kind kind, const char *key)
{
    struct answer answer = {0};
    struct tf_loop *loop = tf_loop_create(NULL);
    const struct tf_etcd_options options = {.endpoints = &endpoint, .endpoint_count = 1};
    struct tf_store *store = tf_etcd_store_create(loop, &options, NULL);
    const struct tf_store_request request = {
        .kind = kind, .timeout_ms = TIMEOUT_MS, .key = tf_bytes_of(key), .limit = TF_STORE_PAGE_MAX};
    tf_store_send(store, &request, on_reply, &answer);
    while (!answer.done)
        tf_loop_turn(loop, TIMEOUT_MS);
    tf_store_destroy(store);
    tf_loop_destroy(loop);
    return answer;
}

bool test_stored_count(const char *endpoint, const char *prefix, size_t *count, char **first)
{
    struct answer answer = ask(endpoint, TF_STORE_PAGE, prefix);
    free(answer.value);
    *count = answer.count;
    *first = answer.key;
    return !answer.failed;
}

char *test_stored_value(const char *endpoint, const char *key)
{
    struct answer answer = ask(endpoint, TF_STORE_GET, key);
    free(answer.key);
    return answer.value;
}
