/* SPDX-License-Identifier: Apache-2.0 */
/* A handshake for its own sake: gRPC says of a link that was refused little more than "Socket closed",
 * whereas people need to know which side does not believe which certificate, and why. */
#include "common/net/address.h"
#include "common/net/tls.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"

#include <errno.h>
#include <netdb.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { TLS_ALERT_BASE = SSL_AD_REASON_OFFSET };

struct dialogue {
    const char *address;
    const struct tf_tls_files *files;
    char *host; /* of the address, without brackets */
    bool secure;
    int64_t deadline_ms;
    SSL_CTX *context;
    SSL *ssl;
    int fd;
};

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static bool wait_for(const struct dialogue *d, short events)
{
    int64_t left = d->deadline_ms - now_ms();
    struct pollfd ready = {.fd = d->fd, .events = events};
    return left > 0 && poll(&ready, 1, (int)left) == 1;
}

/* ---- the connection; whatever fails here has been said by gRPC already ---- */

static int dial_one(struct dialogue *d, const struct sockaddr *to, socklen_t len, int family)
{
    int failed = 0;
    socklen_t size = sizeof failed;
    d->fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (d->fd < 0)
        return -1;
    if (connect(d->fd, to, len) == 0)
        return 0;
    if (errno == EINPROGRESS && wait_for(d, POLLOUT) &&
        getsockopt(d->fd, SOL_SOCKET, SO_ERROR, &failed, &size) == 0 && failed == 0)
        return 0;
    close(d->fd);
    d->fd = -1;
    return -1;
}

static int dial_unix(struct dialogue *d)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    snprintf(to.sun_path, sizeof to.sun_path, "%s", strchr(d->address, ':') + 1);
    d->host = tf_strdup("localhost"); /* as for gRPC */
    return dial_one(d, (const struct sockaddr *)&to, sizeof to, AF_UNIX);
}

static int dial(struct dialogue *d)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    if (tf_address_is_unix(d->address))
        return dial_unix(d);
    const char *colon = strrchr(d->address, ':'), *from = d->address;
    size_t len = (size_t)(colon - from);
    if (*from == '[' && len >= 2) {
        from++;
        len -= 2;
    }
    d->host = tf_strndup(from, len);
    int failed = -1;
    if (getaddrinfo(d->host, colon + 1, &hints, &found) == 0)
        for (const struct addrinfo *at = found; at && failed; at = at->ai_next)
            failed = dial_one(d, at->ai_addr, at->ai_addrlen, at->ai_family);
    if (found)
        freeaddrinfo(found);
    return failed;
}

/* ---- the handshake ---- */

static int set_up(struct dialogue *d)
{
    static const unsigned char h2[] = {2, 'h', '2'};
    d->context = SSL_CTX_new(TLS_client_method());
    if (!d->context)
        return -1;
    if (d->secure && d->files->ca && SSL_CTX_load_verify_locations(d->context, d->files->ca, NULL) != 1)
        return -1;
    if (d->secure && d->files->certificate &&
        (SSL_CTX_use_certificate_chain_file(d->context, d->files->certificate) != 1 ||
         SSL_CTX_use_PrivateKey_file(d->context, d->files->key, SSL_FILETYPE_PEM) != 1))
        return -1;
    SSL_CTX_set_alpn_protos(d->context, h2, sizeof h2);
    d->ssl = SSL_new(d->context);
    if (!d->ssl || SSL_set_fd(d->ssl, d->fd) != 1)
        return -1;
    X509_VERIFY_PARAM *param = SSL_get0_param(d->ssl);
    if (X509_VERIFY_PARAM_set1_ip_asc(param, d->host) != 1) {
        X509_VERIFY_PARAM_set1_host(param, d->host, 0);
        SSL_set_tlsext_host_name(d->ssl, d->host);
    }
    SSL_set_verify(d->ssl, d->secure ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, NULL);
    return 0;
}

/* Repeats a step of OpenSSL until it is through, fails, or time is up. */
static int carry_out(struct dialogue *d, int (*step)(SSL *ssl))
{
    for (;;) {
        ERR_clear_error();
        int rc = step(d->ssl);
        if (rc > 0)
            return 0;
        int why = SSL_get_error(d->ssl, rc);
        short events = why == SSL_ERROR_WANT_READ ? POLLIN : why == SSL_ERROR_WANT_WRITE ? POLLOUT : 0;
        if (!events || !wait_for(d, events))
            return -1;
    }
}

static int read_some(SSL *ssl)
{
    char bytes[256];
    return SSL_read(ssl, bytes, sizeof bytes);
}

/* ---- what it means ---- */

static int explain_theirs(const struct dialogue *d, long verdict, struct tf_error *err)
{
    const char *why = X509_verify_cert_error_string(verdict);
    switch (verdict) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
    case X509_V_ERR_CERT_NOT_YET_VALID:
        return tf_error_set(
            err, TF_ERR_UNAVAILABLE,
            "the certificate that %s shows is not valid now (%s): renew it there, or set this clock right",
            d->address, why);
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
        return tf_error_set(
            err, TF_ERR_UNAVAILABLE,
            "the certificate that %s shows is not for the name \"%s\": use a name that is in it, or have "
            "this one added (deploy/tls.sh fedd NAME...)",
            d->address, d->host);
    case X509_V_ERR_INVALID_PURPOSE:
        return tf_error_set(err, TF_ERR_UNAVAILABLE,
                            "the certificate that %s shows is not one of a server: is that fedd?",
                            d->address);
    default:
        return tf_error_set(
            err, TF_ERR_UNAVAILABLE,
            "the certificate that %s shows is not signed by a CA in %s (%s): take the ca.pem that belongs "
            "to this federation",
            d->address, d->files->ca ? d->files->ca : "any file", why);
    }
}

static int explain_alert(const struct dialogue *d, int alert, struct tf_error *err)
{
    const char *ours = d->files->certificate;
    if (!ours)
        return tf_error_set(
            err, TF_ERR_UNAVAILABLE,
            "%s wants to see a certificate, and none was given: say which with --tls-cert and --tls-key",
            d->address);
    switch (alert) {
    case SSL_AD_UNKNOWN_CA:
    case SSL_AD_DECRYPT_ERROR: /* signed by another key of the same name */
    case SSL_AD_BAD_CERTIFICATE:
        return tf_error_set(
            err, TF_ERR_UNAVAILABLE,
            "%s does not believe the certificate in %s: no CA that it knows signed it; take one from the "
            "CA of this federation",
            d->address, ours);
    case SSL_AD_CERTIFICATE_EXPIRED:
        return tf_error_set(err, TF_ERR_UNAVAILABLE, "%s finds the certificate in %s expired: renew it",
                            d->address, ours);
    case SSL_AD_UNSUPPORTED_CERTIFICATE:
        return tf_error_set(err, TF_ERR_UNAVAILABLE,
                            "%s finds that the certificate in %s is not one of a client", d->address, ours);
    default:
        return tf_error_set(err, TF_ERR_UNAVAILABLE, "%s refuses the certificate in %s (%s)", d->address,
                            ours, SSL_alert_desc_string_long(alert));
    }
}

/* Our own certificate, looked at as a server does that believes the same CA as we. */
static long judge_ours(const struct dialogue *d)
{
    X509_STORE *store = SSL_CTX_get_cert_store(d->context);
    X509_STORE_CTX *context = X509_STORE_CTX_new();
    STACK_OF(X509) *between = NULL;
    long verdict = X509_V_OK;
    SSL_CTX_get0_chain_certs(d->context, &between);
    if (context && X509_STORE_CTX_init(context, store, SSL_CTX_get0_certificate(d->context), between) == 1) {
        X509_STORE_CTX_set_purpose(context, X509_PURPOSE_SSL_CLIENT);
        if (X509_verify_cert(context) != 1)
            verdict = X509_STORE_CTX_get_error(context);
    }
    X509_STORE_CTX_free(context);
    return verdict;
}

/* The other end closed the connection when it had seen our certificate, or that there is none. Servers of
 * gRPC do so without a word. */
static int explain_silence(const struct dialogue *d, struct tf_error *err)
{
    long verdict = d->files->certificate ? judge_ours(d) : X509_V_OK;
    if (!d->files->certificate)
        return explain_alert(d, SSL_AD_NO_CERTIFICATE, err);
    if (verdict == X509_V_ERR_INVALID_PURPOSE)
        return explain_alert(d, SSL_AD_UNSUPPORTED_CERTIFICATE, err);
    if (verdict != X509_V_OK)
        return tf_error_set(
            err, TF_ERR_UNAVAILABLE,
            "%s does not believe the certificate in %s: it is not signed by a CA in %s (%s); take one from "
            "the CA of this federation",
            d->address, d->files->certificate, d->files->ca, X509_verify_cert_error_string(verdict));
    return tf_error_set(
        err, TF_ERR_UNKNOWN,
        "%s closed the connection when it had seen the certificate in %s: its own `tls.ca` may not have the "
        "CA of that one; its log says more",
        d->address, d->files->certificate);
}

/* After a step of OpenSSL that failed. */
static int explain_failure(const struct dialogue *d, struct tf_error *err)
{
    unsigned long error = ERR_peek_error();
    int reason = ERR_GET_LIB(error) == ERR_LIB_SSL ? ERR_GET_REASON(error) : 0;
    long verdict = SSL_get_verify_result(d->ssl);
    if (d->secure && verdict != X509_V_OK)
        return explain_theirs(d, verdict, err);
    if (reason >= TLS_ALERT_BASE && reason < TLS_ALERT_BASE + 256)
        return explain_alert(d, reason - TLS_ALERT_BASE, err);
    /* A server of something else says so, or just closes. */
    bool silent = SSL_get_state(d->ssl) == TLS_ST_CW_CLNT_HELLO && now_ms() < d->deadline_ms;
    if (silent || reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_PACKET_LENGTH_TOO_LONG)
        return tf_error_set(
            err, TF_ERR_UNAVAILABLE,
            "%s does not speak TLS: is it the right address? A fedd without TLS is asked without --tls-ca",
            d->address);
    return 0;
}

static int explain_plain(const struct dialogue *d, struct tf_error *err)
{
    return tf_error_set(
        err, TF_ERR_UNAVAILABLE,
        "%s speaks TLS, and was asked without: say --tls-ca, --tls-cert and --tls-key (or `tls:` in the "
        "configuration)",
        d->address);
}

/* Without TLS: whether the other end would have spoken it. Even a refusal of ours is an answer in TLS. */
static int look_plainly(struct dialogue *d, struct tf_error *err)
{
    bool spoke = carry_out(d, SSL_connect) == 0;
    if (!spoke) {
        int reason = ERR_GET_REASON(ERR_peek_error());
        spoke = reason >= TLS_ALERT_BASE && reason < TLS_ALERT_BASE + 256;
    }
    return spoke ? explain_plain(d, err) : 0;
}

/* Since TLS 1.3 the other end's verdict about our certificate comes after the handshake; if it is content,
 * the first thing that it says of itself is a frame of HTTP/2. */
static int look_securely(struct dialogue *d, struct tf_error *err)
{
    if (carry_out(d, SSL_connect))
        return explain_failure(d, err);
    if (carry_out(d, read_some) == 0 || now_ms() >= d->deadline_ms)
        return 0;
    int found = explain_failure(d, err);
    return found ? found : explain_silence(d, err);
}

int tf_tls_diagnose(const char *address, const struct tf_tls_files *files, int64_t timeout_ms,
                    struct tf_error *err)
{
    struct dialogue d = {.address = address,
                         .files = files,
                         .secure = tf_tls_is_set(files),
                         .deadline_ms = now_ms() + timeout_ms,
                         .fd = -1};
    int found = 0;
    if (tf_tls_check(files, err))
        return -1;
    if (dial(&d) == 0 && set_up(&d) == 0)
        found = d.secure ? look_securely(&d, err) : look_plainly(&d, err);
    SSL_free(d.ssl);
    SSL_CTX_free(d.context);
    if (d.fd >= 0)
        close(d.fd);
    free(d.host);
    ERR_clear_error();
    return found;
}
