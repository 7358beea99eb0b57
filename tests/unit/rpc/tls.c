/* SPDX-License-Identifier: Apache-2.0 */
/* Mutual TLS of servers and channels: who is let in, as whom, what may be refused before it begins, renewal.
 * What people are told of a refused handshake is in integration/tls. */
#include "tests/support/certificates.h"
#include "tests/unit/rpc/fixture.h"

static struct test_certificates made, other;

static void whoami(void *arg, struct tf_call *call, struct tf_bytes request)
{
    (void)arg;
    (void)request;
    struct tf_buf body = text_body(tf_call_identity(call));
    tf_call_reply(call, &body);
}

static void on_stream(void *arg, struct tf_stream *stream)
{
    struct tf_error error = TF_ERROR_INIT;
    (void)arg;
    tf_error_set(&error, TF_ERR_CONFLICT, "%s", tf_stream_identity(stream));
    tf_stream_finish(stream, &error, (struct tf_bytes){0});
}

static int on_thread(void *arg, struct tf_thread_call *call, struct tf_bytes request, struct tf_error *err)
{
    (void)arg;
    (void)request;
    return tf_error_set(err, TF_ERR_CONFLICT, "%s", tf_thread_call_identity(call));
}

/* Viewers may do nothing but look. */
static int allow(void *arg, const char *identity, const char *method, struct tf_buf *details,
                 struct tf_error *err)
{
    (void)arg;
    if (strcmp(identity, "viewer") != 0 || strcmp(method, "/t.T/Look") == 0)
        return 0;
    tf_buf_str(details, "detail");
    return tf_error_set(err, TF_ERR_REFUSED, "%s may not", identity);
}

static void begin(struct fixture *f)
{
    struct tf_error err = TF_ERROR_INIT;
    struct tf_tls_files files = test_certificates_files(&made, "fedd");
    struct tf_server_options options = {.address = "127.0.0.1:0", .credentials = {&files}, .allow = allow};
    fixture_begin(f);
    f->server = tf_server_create(f->rpc, &options, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(f->server);
    tf_tls_files_release(&files);
    snprintf(f->address, sizeof f->address, "127.0.0.1:%d", tf_server_port(f->server));
    tf_server_unary(f->server, "/t.T/Look", whoami, NULL);
    tf_server_unary(f->server, "/t.T/Change", whoami, NULL);
    tf_server_stream(f->server, "/t.T/Stream", on_stream, NULL);
    tf_server_thread(f->server, "/t.T/Thread", on_thread, NULL);
    tf_server_start(f->server);
}

/* A new connection with these files, and one call. */
static void call_as(struct fixture *f, const struct test_certificates *certificates, const char *name,
                    const char *method, struct outcome *o)
{
    struct tf_error err = TF_ERROR_INIT;
    struct tf_tls_files files = test_certificates_files(certificates, name);
    struct tf_channel_options options = {.address = f->address, .credentials = {&files}};
    tf_channel_destroy(f->channel);
    f->channel = tf_channel_create(f->rpc, &options, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(f->channel);
    tf_tls_files_release(&files);
    ask(f, o, method, "", PATIENCE_MS);
}

static void test_identity(void)
{
    struct fixture f;
    struct outcome o = {0};
    begin(&f);
    call_as(&f, &made, "subcluster-a", "/t.T/Look", &o);
    CU_ASSERT_EQUAL(o.error.code, TF_OK);
    CU_ASSERT_STRING_EQUAL(tf_buf_text(&o.body), "subcluster/a");
    call_as(&f, &made, "subcluster-a", "/t.T/Stream", &o);
    CU_ASSERT_STRING_EQUAL(o.error.text, "subcluster/a");
    call_as(&f, &made, "subcluster-a", "/t.T/Thread", &o);
    CU_ASSERT_STRING_EQUAL(o.error.text, "subcluster/a");
    outcome_release(&o);
    fixture_end(&f);
}

static void test_allow(void)
{
    static const char *const closed[] = {"/t.T/Change", "/t.T/Stream", "/t.T/Thread"};
    struct fixture f;
    struct outcome o = {0};
    begin(&f);
    call_as(&f, &made, "viewer", "/t.T/Look", &o);
    CU_ASSERT_STRING_EQUAL(tf_buf_text(&o.body), "viewer");
    for (size_t i = 0; i < TF_ARRAY_LEN(closed); i++) {
        call_as(&f, &made, "viewer", closed[i], &o);
        CU_ASSERT_EQUAL(o.error.code, TF_ERR_REFUSED);
        CU_ASSERT_STRING_EQUAL(o.error.text, "viewer may not");
        CU_ASSERT_STRING_EQUAL(tf_buf_text(&o.details), "detail");
    }
    outcome_release(&o);
    fixture_end(&f);
}

static void test_not_believed(void)
{
    struct fixture f;
    struct outcome o = {0};
    begin(&f);
    call_as(&f, &made, NULL, "/t.T/Look", &o); /* no certificate */
    CU_ASSERT_NOT_EQUAL(o.error.code, TF_OK);
    call_as(&f, &other, "viewer", "/t.T/Look", &o); /* neither believes the other */
    CU_ASSERT_EQUAL(o.error.code, TF_ERR_UNAVAILABLE);
    call_as(&f, &made, "fedd", "/t.T/Look", &o); /* not a client's */
    CU_ASSERT_NOT_EQUAL(o.error.code, TF_OK);
    tf_channel_destroy(f.channel);
    fixture_connect(&f, 0); /* without TLS */
    ask(&f, &o, "/t.T/Look", "", PATIENCE_MS);
    CU_ASSERT_NOT_EQUAL(o.error.code, TF_OK);
    tf_channel_destroy(f.channel);
    f.channel = NULL;
    call_as(&f, &made, "viewer", "/t.T/Look", &o);
    CU_ASSERT_EQUAL(o.error.code, TF_OK);
    outcome_release(&o);
    fixture_end(&f);
}

/* A stream of before goes on, new connections see the new files; a broken renewal changes nothing. */
static void test_renewal(void)
{
    struct fixture f;
    struct outcome o = {0};
    struct tf_tls_files files = test_certificates_files(&made, "fedd");
    begin(&f);
    call_as(&f, &made, "viewer", "/t.T/Look", &o);
    CU_ASSERT_TRUE(test_certificates_add(&made, "fedd"));
    ask(&f, &o, "/t.T/Look", "", PATIENCE_MS); /* on the old connection */
    CU_ASSERT_EQUAL(o.error.code, TF_OK);
    call_as(&f, &made, "viewer", "/t.T/Look", &o);
    CU_ASSERT_EQUAL(o.error.code, TF_OK);
    FILE *file = fopen(files.certificate, "we");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fputs("half a", file);
    fclose(file);
    call_as(&f, &made, "viewer", "/t.T/Look", &o);
    CU_ASSERT_EQUAL(o.error.code, TF_OK);
    CU_ASSERT_TRUE(test_certificates_add(&made, "fedd"));
    call_as(&f, &made, "viewer", "/t.T/Look", &o);
    CU_ASSERT_EQUAL(o.error.code, TF_OK);
    outcome_release(&o);
    tf_tls_files_release(&files);
    fixture_end(&f);
}

static void test_wrong_files(void)
{
    struct fixture f;
    struct tf_error err = TF_ERROR_INIT;
    struct tf_tls_files files = test_certificates_files(&made, "nobody");
    struct tf_server_options server = {.address = "127.0.0.1:0", .credentials = {&files}};
    struct tf_channel_options channel = {.address = "127.0.0.1:1", .credentials = {&files}};
    fixture_begin(&f);
    CU_ASSERT_PTR_NULL(tf_server_create(f.rpc, &server, &err));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "nobody.pem cannot be read"));
    CU_ASSERT_PTR_NULL(tf_channel_create(f.rpc, &channel, &err));
    tf_tls_files_release(&files);
    fixture_end(&f);
}

static const struct suite_test tests[] = {{"identity", test_identity},
                                          {"allow", test_allow},
                                          {"not believed", test_not_believed},
                                          {"renewal", test_renewal},
                                          {"wrong files", test_wrong_files}};

int main(void)
{
    static const char *const commands[] = {"ca", "fedd", "viewer", "subcluster a", NULL};
    static const char *const strangers[] = {"ca", "viewer", NULL};
    int failed = 1;
    if (test_certificates_make(&made, commands) && test_certificates_make(&other, strangers))
        failed = suite_run("tls", tests, TF_ARRAY_LEN(tests));
    test_certificates_remove(&made);
    test_certificates_remove(&other);
    return failed;
}
