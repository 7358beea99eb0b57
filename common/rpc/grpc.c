/* SPDX-License-Identifier: Apache-2.0 */
/* The only file that includes gRPC's headers: start and end of the library, the event thread, messages, the
 * batches of operations of a call, credentials, servers' ports and clients' channels. What calls mean, limits
 * and life times are in server.c, client.c, stream.c and thread_call.c.
 *
 * The event thread only runs tags; a tag with a loop goes through its inbox. gRPC is not instrumented for the
 * thread sanitizer, so the hand-over of a tag is told to it by hand. */
#include "common/rpc/grpc.h"

#include "common/base/alloc.h"
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "common/log/log.h"
#include "common/net/address.h"

#include <assert.h>
#include <grpc/byte_buffer.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpc/grpc_security_constants.h>
#include <grpc/slice.h>
#include <grpc/support/alloc.h>
#include <grpc/support/log.h>
#include <grpc/support/time.h>
#include <pthread.h>

#ifdef __SANITIZE_THREAD__
void __tsan_acquire(void *);
void __tsan_release(void *);
#define HAND_OVER(tag) __tsan_release(tag)
#define TAKE_OVER(tag) __tsan_acquire(tag)
#else
#define HAND_OVER(tag) (void)(tag)
#define TAKE_OVER(tag) (void)(tag)
#endif

/* Trailers of an error from one of our servers. */
#define KEY_ERROR "tf-error"
#define KEY_DETAILS "tf-error-bin"

enum { DONE_AT_ONCE = 256 }; /* tags in one go */

/* What a call needs in gRPC's own types. */
struct tf_raw_extra {
    grpc_metadata_array metadata; /* server: of the request; client: trailers */
    grpc_metadata_array headers;  /* client: initial */
    grpc_call_details details;    /* server, unknown methods */
    gpr_timespec deadline;        /* server */
    grpc_status_code status;      /* client */
    grpc_slice status_text;       /* client */
    char *text;                   /* its copy with a NUL, or the method's name */
    char error[16];
};

/* ---- tags and the event thread ---- */

static void run_in_loop(struct tf_inbox_item *item)
{
    struct tf_tag *tag = TF_CONTAINER_OF(item, struct tf_tag, item);
    tag->run(tag, tag->ok);
}

void tf_tag_init(struct tf_tag *tag, struct tf_loop *loop, tf_tag_f run)
{
    *tag = (struct tf_tag){.run = run, .loop = loop, .item.run = run_in_loop};
}

static void finish_tag(struct tf_tag *tag, bool ok)
{
    TAKE_OVER(tag);
    tag->ok = ok;
    if (tag->loop)
        tf_loop_post(tag->loop, &tag->item);
    else
        tag->run(tag, tag->ok);
}

static void *event_thread(void *arg)
{
    pthread_setname_np(pthread_self(), "rpc");
    for (;;) {
        grpc_event event = grpc_completion_queue_next(arg, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
        if (event.type == GRPC_QUEUE_SHUTDOWN)
            return NULL;
        finish_tag(event.tag, event.success != 0);
    }
}

/* The tags that came to their end at once, and those that come to it meanwhile: a queue of messages is sent
 * without a turn of the loop for each. */
static void run_done(struct tf_inbox_item *item)
{
    struct tf_rpc *rpc = TF_CONTAINER_OF(item, struct tf_rpc, run_done);
    rpc->run_posted = false;
    for (int i = 0; i < DONE_AT_ONCE && rpc->done; i++) {
        struct tf_inbox_item *first = rpc->done;
        rpc->done = first->next;
        if (!rpc->done)
            rpc->done_last = &rpc->done;
        first->run(first);
    }
    if (rpc->done && !rpc->run_posted) {
        rpc->run_posted = true;
        tf_loop_post(rpc->loop, &rpc->run_done);
    }
}

/* Not run from here: whoever started the operation is still at it. */
static void finish_later(struct tf_rpc *rpc, struct tf_tag *tag, bool ok)
{
    TAKE_OVER(tag);
    tag->ok = ok;
    tag->item.next = NULL;
    *rpc->done_last = &tag->item;
    rpc->done_last = &tag->item.next;
    if (rpc->run_posted)
        return;
    rpc->run_posted = true;
    tf_loop_post(rpc->loop, &rpc->run_done);
}

/* gRPC reports as errors what our own errors say better, as a refused bind. But of a handshake that a server
 * broke off nobody else tells. */
static atomic_bool serving;

static void on_log(gpr_log_func_args *args)
{
    if (args->severity == GPR_LOG_SEVERITY_ERROR && atomic_load(&serving) &&
        tf_starts_with(args->message, "Handshake failed"))
        tf_log_warn("a peer was refused: its certificate, or ours to it, is not believed error=%s",
                    args->message);
    else if (args->severity == GPR_LOG_SEVERITY_ERROR)
        tf_log_debug("grpc message=%s", args->message);
}

/* ---- credentials ---- */

/* The files of a server, as it has them: read again when they change, at the next connection. */
struct tf_certificates {
    struct tf_certificates *next;
    struct tf_tls_files files;
    pthread_mutex_t lock; /* guards the rest */
    bool loaded;
    uint64_t stamp, told; /* of what is in use; of what was wrong when that was last said */
};

static void certificates_free(struct tf_certificates *certificates)
{
    while (certificates) {
        struct tf_certificates *next = certificates->next;
        tf_tls_files_release(&certificates->files);
        pthread_mutex_destroy(&certificates->lock);
        free(certificates);
        certificates = next;
    }
}

/* With the lock. Wrong files, for example half of a renewal, leave in use what was. */
static grpc_ssl_certificate_config_reload_status load(struct tf_certificates *c, uint64_t stamp,
                                                      grpc_ssl_server_certificate_config **config)
{
    struct tf_tls_pem pem;
    struct tf_error err = TF_ERROR_INIT;
    if (tf_tls_read(&c->files, &pem, &err)) {
        if (c->told != stamp)
            tf_log_error("the certificate files cannot be used, those from before stay in use error=%s",
                         err.text);
        c->told = stamp;
        return c->loaded ? GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED
                         : GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_FAIL;
    }
    const grpc_ssl_pem_key_cert_pair pair = {.private_key = pem.key, .cert_chain = pem.certificate};
    *config = grpc_ssl_server_certificate_config_create(pem.ca, &pair, 1);
    tf_tls_pem_release(&pem);
    if (c->loaded)
        tf_log_info("the certificate files have changed and are in use from now on certificate=%s",
                    c->files.certificate);
    c->loaded = true;
    c->stamp = stamp;
    return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
}

/* Called by gRPC before each handshake. */
static grpc_ssl_certificate_config_reload_status fetch_certificates(
    void *arg, grpc_ssl_server_certificate_config **config)
{
    struct tf_certificates *c = arg;
    pthread_mutex_lock(&c->lock);
    uint64_t stamp = tf_tls_stamp(&c->files);
    grpc_ssl_certificate_config_reload_status status = GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
    if (!c->loaded || stamp != c->stamp)
        status = load(c, stamp, config);
    pthread_mutex_unlock(&c->lock);
    return status;
}

static grpc_server_credentials *server_credentials(struct tf_rpc *rpc, const struct tf_tls_files *tls,
                                                   struct tf_error *err)
{
    if (!tf_tls_is_set(tls))
        return grpc_insecure_server_credentials_create();
    if (tf_tls_check(tls, err))
        return NULL;
    struct tf_certificates *c = tf_calloc(1, sizeof *c);
    tf_tls_files_copy(&c->files, tls);
    pthread_mutex_init(&c->lock, NULL);
    c->next = rpc->certificates;
    rpc->certificates = c;
    return grpc_ssl_server_credentials_create_with_options(
        grpc_ssl_server_credentials_create_options_using_config_fetcher(
            GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY, fetch_certificates, c));
}

static grpc_channel_credentials *channel_credentials(const struct tf_tls_files *tls, struct tf_error *err)
{
    struct tf_tls_pem pem;
    if (!tf_tls_is_set(tls))
        return grpc_insecure_credentials_create();
    if (tf_tls_read(tls, &pem, err)) {
        tf_error_wrap(err, "tls");
        return NULL;
    }
    grpc_ssl_pem_key_cert_pair pair = {.private_key = pem.key, .cert_chain = pem.certificate};
    grpc_channel_credentials *credentials =
        grpc_ssl_credentials_create_ex(pem.ca, pem.key ? &pair : NULL, NULL, NULL);
    tf_tls_pem_release(&pem);
    return credentials;
}

struct tf_rpc *tf_rpc_create(struct tf_loop *loop, struct tf_error *err)
{
    gpr_set_log_function(on_log);
    grpc_init();
    struct tf_rpc *rpc = tf_calloc(1, sizeof *rpc);
    rpc->loop = loop;
    rpc->done_last = &rpc->done;
    rpc->run_done.run = run_done;
    rpc->queue = grpc_completion_queue_create_for_next(NULL);
    int sys_errno = pthread_create(&rpc->thread, NULL, event_thread, rpc->queue);
    if (sys_errno) {
        tf_error_errno(err, TF_ERR_IO, sys_errno, "cannot start the thread for gRPC events");
        grpc_completion_queue_shutdown(rpc->queue);
        grpc_completion_queue_destroy(rpc->queue);
        grpc_shutdown_blocking();
        free(rpc);
        return NULL;
    }
    return rpc;
}

void tf_rpc_destroy(struct tf_rpc *rpc)
{
    if (!rpc)
        return;
    while (atomic_load(&rpc->calls) > 0 || rpc->run_posted)
        tf_loop_turn(rpc->loop, TF_SECOND);
    grpc_completion_queue_shutdown(rpc->queue);
    pthread_join(rpc->thread, NULL);
    grpc_completion_queue_destroy(rpc->queue);
    grpc_shutdown_blocking();
    certificates_free(rpc->certificates);
    free(rpc);
}

/* ---- messages ---- */

void *tf_message_from(struct tf_buf *body)
{
    size_t len = body->len;
    char *bytes = tf_buf_take(body);
    grpc_slice slice = grpc_slice_new_with_user_data(bytes, len, free, bytes);
    grpc_byte_buffer *message = grpc_raw_byte_buffer_create(&slice, 1);
    grpc_slice_unref(slice);
    return message;
}

struct tf_bytes tf_message_bytes(void **message)
{
    grpc_byte_buffer *buffer = *message;
    if (!buffer)
        return (struct tf_bytes){"", 0};
    if (buffer->data.raw.slice_buffer.count > 1 || buffer->data.raw.compression != GRPC_COMPRESS_NONE) {
        grpc_byte_buffer_reader reader;
        grpc_slice whole = grpc_empty_slice();
        if (grpc_byte_buffer_reader_init(&reader, buffer)) {
            whole = grpc_byte_buffer_reader_readall(&reader);
            grpc_byte_buffer_reader_destroy(&reader);
        }
        grpc_byte_buffer_destroy(buffer);
        *message = buffer = grpc_raw_byte_buffer_create(&whole, 1);
        grpc_slice_unref(whole);
    }
    if (buffer->data.raw.slice_buffer.count == 0)
        return (struct tf_bytes){"", 0};
    /* Short slices hold their bytes themselves: this points into the buffer, which stays. */
    const grpc_slice *slice = &buffer->data.raw.slice_buffer.slices[0];
    return (struct tf_bytes){GRPC_SLICE_START_PTR(*slice), GRPC_SLICE_LENGTH(*slice)};
}

size_t tf_message_size(void *message)
{
    return message ? grpc_byte_buffer_length(message) : 0;
}

void tf_message_free(void *message)
{
    if (message)
        grpc_byte_buffer_destroy(message);
}

/* ---- calls ---- */

void tf_raw_init(struct tf_raw *raw, struct tf_rpc *rpc)
{
    *raw = (struct tf_raw){.rpc = rpc, .deadline = TF_NEVER, .extra = tf_calloc(1, sizeof *raw->extra)};
    grpc_metadata_array_init(&raw->extra->metadata);
    grpc_metadata_array_init(&raw->extra->headers);
    grpc_call_details_init(&raw->extra->details);
    raw->extra->status_text = grpc_empty_slice();
}

void tf_raw_release(struct tf_raw *raw)
{
    tf_message_free(raw->incoming);
    tf_message_free(raw->outgoing);
    grpc_metadata_array_destroy(&raw->extra->metadata);
    grpc_metadata_array_destroy(&raw->extra->headers);
    grpc_call_details_destroy(&raw->extra->details);
    grpc_slice_unref(raw->extra->status_text);
    if (raw->call)
        grpc_call_unref(raw->call);
    free(raw->extra->text);
    free(raw->extra);
    free(raw->peer);
    free(raw->identity);
    *raw = (struct tf_raw){.deadline = TF_NEVER};
}

void tf_raw_hang_up(struct tf_raw *raw)
{
    tf_raw_peer(raw);
    grpc_call_unref(raw->call);
    raw->call = NULL;
}

void tf_raw_cancel(struct tf_raw *raw)
{
    grpc_call_cancel(raw->call, NULL);
}

const char *tf_raw_peer(struct tf_raw *raw)
{
    if (!raw->peer && raw->call) {
        char *peer = grpc_call_get_peer(raw->call);
        raw->peer = tf_strdup(peer);
        gpr_free(peer);
    }
    return raw->peer ? raw->peer : "";
}

/* A name with a NUL in it would be read as another one by everybody else. */
static char *common_name(const grpc_auth_context *context)
{
    grpc_auth_property_iterator it =
        grpc_auth_context_find_properties_by_name(context, GRPC_X509_CN_PROPERTY_NAME);
    const grpc_auth_property *name = grpc_auth_property_iterator_next(&it);
    bool plain = name && tf_utf8_valid(name->value, name->value_length);
    return plain ? tf_strndup(name->value, name->value_length) : tf_strdup("");
}

static void find_identity(struct tf_raw *raw)
{
    grpc_auth_context *context = grpc_call_auth_context(raw->call);
    if (!context)
        return;
    grpc_auth_property_iterator it =
        grpc_auth_context_find_properties_by_name(context, GRPC_TRANSPORT_SECURITY_TYPE_PROPERTY_NAME);
    const grpc_auth_property *type = grpc_auth_property_iterator_next(&it);
    if (type && strcmp(type->value, GRPC_SSL_TRANSPORT_SECURITY_TYPE) == 0)
        raw->identity = common_name(context);
    grpc_auth_context_release(context);
}

const char *tf_raw_identity(const struct tf_raw *raw)
{
    return raw->identity;
}

/* What ends within the call, this operation or another, is kept from the event thread: two threads that wake
 * each other for every message cost more than the messages. */
static void start_batch(struct tf_raw *raw, const grpc_op *ops, size_t count, struct tf_tag *tag)
{
    grpc_call *call = raw->call; /* the event thread may free raw from here on */
    struct tf_rpc *rpc = raw->rpc;
    void *ended = NULL;
    int ok = 0;
    HAND_OVER(tag);
    grpc_completion_queue_thread_local_cache_init(rpc->queue);
    grpc_call_error error = grpc_call_start_batch(call, ops, count, tag, NULL);
    if (error != GRPC_CALL_OK) { /* operations out of order: our own mistake */
        tf_log_error("gRPC refused a batch error=%s", grpc_call_error_to_string(error));
        abort();
    }
    if (!grpc_completion_queue_thread_local_cache_flush(rpc->queue, &ended, &ok))
        return;
    struct tf_tag *first = ended;
    if (first->loop && tf_loop_is_here(first->loop))
        finish_later(rpc, first, ok != 0);
    else
        finish_tag(first, ok != 0);
}

static void send_op(struct tf_raw *raw, grpc_op *op)
{
    op->op = GRPC_OP_SEND_MESSAGE;
    op->data.send_message.send_message = raw->outgoing;
}

/* Fills trailers[0..2] and returns how many. Values of KEY_ERROR are plain ASCII words. */
static size_t trailers_of(const struct tf_raw_status *status, grpc_metadata *trailers)
{
    size_t count = 0;
    memset(trailers, 0, 2 * sizeof *trailers);
    if (status->code != GRPC_STATUS_OK && status->error && *status->error) {
        trailers[count].key = grpc_slice_from_static_string(KEY_ERROR);
        trailers[count++].value = grpc_slice_from_copied_string(status->error);
    }
    if (status->code != GRPC_STATUS_OK && status->details.len > 0 &&
        status->details.len <= TF_RPC_DETAILS_MAX) {
        trailers[count].key = grpc_slice_from_static_string(KEY_DETAILS);
        trailers[count++].value = grpc_slice_from_copied_buffer(status->details.data, status->details.len);
    }
    return count;
}

static void start_with_status(struct tf_raw *raw, grpc_op *ops, size_t count,
                              const struct tf_raw_status *status, struct tf_tag *tag)
{
    grpc_metadata trailers[2];
    size_t trailer_count = trailers_of(status, trailers);
    /* A larger block of trailers is refused by the client, which then sees that instead of our status. */
    size_t len = strnlen(status->text ? status->text : "", TF_RPC_TEXT_MAX);
    grpc_slice text = grpc_slice_from_copied_buffer(status->text ? status->text : "", len);
    ops[count].op = GRPC_OP_SEND_STATUS_FROM_SERVER;
    ops[count].data.send_status_from_server.status = (grpc_status_code)status->code;
    ops[count].data.send_status_from_server.status_details = &text;
    ops[count].data.send_status_from_server.trailing_metadata_count = trailer_count;
    ops[count].data.send_status_from_server.trailing_metadata = trailers;
    start_batch(raw, ops, count + 1, tag);
    for (size_t i = 0; i < trailer_count; i++)
        grpc_slice_unref(trailers[i].value);
    grpc_slice_unref(text);
}

void tf_raw_send_headers(struct tf_raw *raw, struct tf_tag *tag)
{
    grpc_op op = {.op = GRPC_OP_SEND_INITIAL_METADATA};
    start_batch(raw, &op, 1, tag);
}

void tf_raw_send_status(struct tf_raw *raw, const struct tf_raw_status *status, struct tf_tag *tag)
{
    grpc_op ops[1] = {{.op = GRPC_OP_SEND_STATUS_FROM_SERVER}};
    start_with_status(raw, ops, 0, status, tag);
}

void tf_raw_await_close(struct tf_raw *raw, struct tf_tag *tag)
{
    grpc_op op = {.op = GRPC_OP_RECV_CLOSE_ON_SERVER};
    op.data.recv_close_on_server.cancelled = &raw->cancelled;
    start_batch(raw, &op, 1, tag);
}

void tf_raw_answer(struct tf_raw *raw, const struct tf_raw_status *status, bool await_close,
                   struct tf_tag *tag)
{
    grpc_op ops[4];
    size_t count = 0;
    memset(ops, 0, sizeof ops);
    ops[count++].op = GRPC_OP_SEND_INITIAL_METADATA;
    if (raw->outgoing)
        send_op(raw, &ops[count++]);
    if (await_close) {
        ops[count].op = GRPC_OP_RECV_CLOSE_ON_SERVER;
        ops[count++].data.recv_close_on_server.cancelled = &raw->cancelled;
    }
    start_with_status(raw, ops, count, status, tag);
}

void tf_raw_send(struct tf_raw *raw, bool more, struct tf_tag *tag)
{
    grpc_op op = {.op = GRPC_OP_SEND_MESSAGE};
    send_op(raw, &op);
    op.flags = more ? GRPC_WRITE_BUFFER_HINT : 0;
    start_batch(raw, &op, 1, tag);
}

void tf_raw_receive(struct tf_raw *raw, struct tf_tag *tag)
{
    grpc_op op = {.op = GRPC_OP_RECV_MESSAGE};
    tf_message_free(raw->incoming);
    raw->incoming = NULL;
    op.data.recv_message.recv_message = (grpc_byte_buffer **)&raw->incoming;
    start_batch(raw, &op, 1, tag);
}

/* ---- calls of clients ---- */

void tf_raw_open(struct tf_raw *raw, struct tf_rpc *rpc, void *channel, const char *method,
                 int64_t timeout_ms)
{
    gpr_timespec deadline = gpr_inf_future(GPR_CLOCK_MONOTONIC);
    if (timeout_ms >= 0)
        deadline = gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_millis(timeout_ms, GPR_TIMESPAN));
    grpc_slice name = grpc_slice_from_copied_string(method);
    tf_raw_init(raw, rpc);
    raw->call = grpc_channel_create_call(channel, NULL, GRPC_PROPAGATE_DEFAULTS, rpc->queue, name, NULL,
                                         deadline, NULL);
    grpc_slice_unref(name);
}

static void status_op(struct tf_raw *raw, grpc_op *op)
{
    op->op = GRPC_OP_RECV_STATUS_ON_CLIENT;
    op->data.recv_status_on_client.trailing_metadata = &raw->extra->metadata;
    op->data.recv_status_on_client.status = &raw->extra->status;
    op->data.recv_status_on_client.status_details = &raw->extra->status_text;
}

void tf_raw_ask(struct tf_raw *raw, struct tf_tag *tag)
{
    grpc_op ops[6];
    memset(ops, 0, sizeof ops);
    ops[0].op = GRPC_OP_SEND_INITIAL_METADATA;
    send_op(raw, &ops[1]);
    ops[2].op = GRPC_OP_SEND_CLOSE_FROM_CLIENT;
    ops[3].op = GRPC_OP_RECV_INITIAL_METADATA;
    ops[3].data.recv_initial_metadata.recv_initial_metadata = &raw->extra->headers;
    ops[4].op = GRPC_OP_RECV_MESSAGE;
    ops[4].data.recv_message.recv_message = (grpc_byte_buffer **)&raw->incoming;
    status_op(raw, &ops[5]);
    start_batch(raw, ops, TF_ARRAY_LEN(ops), tag);
}

void tf_raw_await_headers(struct tf_raw *raw, struct tf_tag *tag)
{
    grpc_op op = {.op = GRPC_OP_RECV_INITIAL_METADATA};
    op.data.recv_initial_metadata.recv_initial_metadata = &raw->extra->headers;
    start_batch(raw, &op, 1, tag);
}

void tf_raw_await_status(struct tf_raw *raw, struct tf_tag *tag)
{
    grpc_op op = {.op = GRPC_OP_RECV_STATUS_ON_CLIENT};
    status_op(raw, &op);
    start_batch(raw, &op, 1, tag);
}

void tf_raw_half_close(struct tf_raw *raw, struct tf_tag *tag)
{
    grpc_op op = {.op = GRPC_OP_SEND_CLOSE_FROM_CLIENT};
    start_batch(raw, &op, 1, tag);
}

static char *slice_text(grpc_slice slice)
{
    return tf_strndup((const char *)GRPC_SLICE_START_PTR(slice), GRPC_SLICE_LENGTH(slice));
}

struct tf_raw_status tf_raw_status_of(struct tf_raw *raw)
{
    struct tf_raw_extra *extra = raw->extra;
    if (!extra->text)
        extra->text = slice_text(extra->status_text);
    struct tf_raw_status status = {.code = (int)extra->status, .text = extra->text, .error = extra->error};
    for (size_t i = 0; i < extra->metadata.count; i++) {
        const grpc_metadata *m = &extra->metadata.metadata[i];
        const void *value = GRPC_SLICE_START_PTR(m->value);
        size_t len = GRPC_SLICE_LENGTH(m->value);
        if (grpc_slice_str_cmp(m->key, KEY_DETAILS) == 0)
            status.details = (struct tf_bytes){value, len};
        else if (grpc_slice_str_cmp(m->key, KEY_ERROR) == 0)
            snprintf(extra->error, sizeof extra->error, "%.*s", (int)len, (const char *)value);
    }
    return status;
}

/* ---- ports ---- */

static grpc_arg int_arg(const char *key, size_t value)
{
    return (grpc_arg){.type = GRPC_ARG_INTEGER, .key = (char *)(uintptr_t)key, .value.integer = (int)value};
}

void *tf_port_create(struct tf_rpc *rpc, const struct tf_port_options *options, int *port,
                     struct tf_error *err)
{
    if (tf_address_probe(options->address, err))
        return NULL;
    grpc_server_credentials *credentials = server_credentials(rpc, options->credentials.tls, err);
    if (!credentials)
        return NULL;
    grpc_arg args[] = {
        int_arg(GRPC_ARG_ALLOW_REUSEPORT, 0),
        int_arg(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, options->message_max),
        int_arg(GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, options->message_max),
        int_arg(GRPC_ARG_MAX_CONCURRENT_STREAMS, options->streams_max),
        int_arg(GRPC_ARG_KEEPALIVE_TIME_MS, TF_RPC_KEEPALIVE_MS),
        int_arg(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, TF_RPC_KEEPALIVE_TIMEOUT_MS),
        int_arg(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1),
        /* Clients probe every TF_RPC_KEEPALIVE_MS: not "too many pings". */
        int_arg(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, TF_RPC_KEEPALIVE_MS / 5),
        int_arg(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0),
    };
    grpc_channel_args all = {.num_args = TF_ARRAY_LEN(args), .args = args};
    grpc_server *server = grpc_server_create(&all, NULL);
    grpc_server_register_completion_queue(server, rpc->queue, NULL);
    int bound = grpc_server_add_http2_port(server, options->address, credentials);
    grpc_server_credentials_release(credentials);
    if (!bound) {
        tf_error_set(err, TF_ERR_IO,
                     "cannot listen on %s: it was taken a moment ago, or is no address of this machine",
                     options->address);
        grpc_server_destroy(server);
        return NULL;
    }
    atomic_store(&serving, true);
    *port = tf_address_is_unix(options->address) ? 0 : bound;
    return server;
}

void *tf_port_method(void *server, const char *name, bool with_request)
{
    return grpc_server_register_method(
        server, name, NULL, with_request ? GRPC_SRM_PAYLOAD_READ_INITIAL_BYTE_BUFFER : GRPC_SRM_PAYLOAD_NONE,
        0);
}

void tf_port_start(void *server)
{
    grpc_server_start(server);
}

void tf_raw_accept(struct tf_raw *raw, struct tf_rpc *rpc, void *server, void *method, bool with_request,
                   struct tf_tag *tag)
{
    struct tf_raw_extra *extra = raw->extra;
    HAND_OVER(tag);
    grpc_call_error error =
        method ? grpc_server_request_registered_call(
                     server, method, (grpc_call **)&raw->call, &extra->deadline, &extra->metadata,
                     with_request ? (grpc_byte_buffer **)&raw->incoming : NULL, rpc->queue, rpc->queue, tag)
               : grpc_server_request_call(server, (grpc_call **)&raw->call, &extra->details, &extra->metadata,
                                          rpc->queue, rpc->queue, tag);
    if (error != GRPC_CALL_OK) {
        tf_log_error("gRPC refused to wait for calls error=%s", grpc_call_error_to_string(error));
        abort();
    }
}

void tf_raw_accepted(struct tf_raw *raw)
{
    find_identity(raw);
    gpr_timespec deadline = gpr_convert_clock_type(raw->extra->deadline, GPR_CLOCK_MONOTONIC);
    if (gpr_time_cmp(deadline, gpr_inf_future(GPR_CLOCK_MONOTONIC)) == 0)
        return;
    gpr_timespec left = gpr_time_sub(deadline, gpr_now(GPR_CLOCK_MONOTONIC));
    raw->deadline.ms = tf_clock_read().mono.ms + (int64_t)gpr_timespec_to_micros(left) / 1000;
}

const char *tf_raw_method(struct tf_raw *raw)
{
    if (!raw->extra->text)
        raw->extra->text = slice_text(raw->extra->details.method);
    return raw->extra->text;
}

void tf_port_shutdown(struct tf_rpc *rpc, void *server, struct tf_tag *tag)
{
    HAND_OVER(tag);
    grpc_server_shutdown_and_notify(server, rpc->queue, tag);
}

void tf_port_cancel_all(void *server)
{
    grpc_server_cancel_all_calls(server);
}

void tf_port_destroy(void *server)
{
    grpc_server_destroy(server);
}

/* ---- channels ---- */

void *tf_link_create(const char *address, struct tf_rpc_credentials credentials, size_t message_max,
                     struct tf_error *err)
{
    if (tf_address_check(address, err))
        return NULL;
    grpc_channel_credentials *security = channel_credentials(credentials.tls, err);
    if (!security)
        return NULL;
    grpc_arg args[] = {
        int_arg(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, message_max),
        int_arg(GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, message_max),
        int_arg(GRPC_ARG_KEEPALIVE_TIME_MS, TF_RPC_KEEPALIVE_MS),
        int_arg(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, TF_RPC_KEEPALIVE_TIMEOUT_MS),
        int_arg(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0),
        int_arg(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100),
        int_arg(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000),
        /* This one is how long an attempt may take at least: a far region needs several round trips. */
        int_arg(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 5000),
        /* One connection a channel: its health is the channel's own. */
        int_arg(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1),
        int_arg(GRPC_ARG_ENABLE_HTTP_PROXY, 0),
        int_arg(GRPC_ARG_ENABLE_RETRIES, 0),
        int_arg(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1),
    };
    grpc_channel_args all = {.num_args = TF_ARRAY_LEN(args), .args = args};
    grpc_channel *channel = grpc_channel_create(address, security, &all);
    grpc_channel_credentials_release(security);
    return channel;
}

bool tf_link_is_up(void *channel)
{
    return grpc_channel_check_connectivity_state(channel, 0) == GRPC_CHANNEL_READY;
}

void tf_link_destroy(void *channel)
{
    grpc_channel_destroy(channel);
}
