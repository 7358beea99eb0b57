/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates in files: their configuration, reading and checking. Handshakes are gRPC's and libcurl's. */
#include "common/net/tls.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_MAX = 1 << 20 };

#define F struct tf_tls_files

static const struct tf_row rows[] = {
    {.key = "ca",
     TF_PATH(F, ca),
     .help = "PEM file of the CAs that are believed; several while one is being replaced"},
    {.key = "certificate",
     TF_PATH(F, certificate),
     .help = "PEM file of the daemon's own certificate; a renewed one counts from the next connection on"},
    {.key = "key", TF_PATH(F, key), .help = "PEM file of its key, not encrypted"},
};

static void check(const void *object, struct tf_complaints *out)
{
    const struct tf_tls_files *files = object;
    static const char *const names[] = {"ca", "certificate", "key"};
    const char *const paths[] = {files->ca, files->certificate, files->key};
    for (size_t i = 0; i < TF_ARRAY_LEN(names); i++)
        if (tf_tls_is_set(files) && !paths[i])
            tf_complaints_add(
                out, names[i],
                "is missing: both ends of a link show a certificate (deploy/tls.sh makes them)");
}

const struct tf_table tf_tls_table = TF_TABLE(F, rows, .check = check);

bool tf_tls_is_set(const struct tf_tls_files *files)
{
    return files && (files->ca || files->certificate || files->key);
}

void tf_tls_files_copy(struct tf_tls_files *to, const struct tf_tls_files *from)
{
    tf_table_copy(&tf_tls_table, to, from);
}

void tf_tls_files_release(struct tf_tls_files *files)
{
    tf_table_release(&tf_tls_table, files);
}

/* ---- files ---- */

static char *read_file(const char *path, struct tf_error *err)
{
    TF_AUTO_BUF text = TF_BUF_INIT;
    char bytes[8192];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        tf_error_errno(err, TF_ERR_IO, errno, "%s cannot be read", path);
        return NULL;
    }
    ssize_t n;
    while ((n = read(fd, bytes, sizeof bytes)) > 0 && text.len <= FILE_MAX)
        tf_buf_add(&text, bytes, (size_t)n);
    int sys_errno = errno;
    close(fd);
    OPENSSL_cleanse(bytes, sizeof bytes);
    if (n < 0)
        tf_error_errno(err, TF_ERR_IO, sys_errno, "%s cannot be read", path);
    else if (text.len > FILE_MAX)
        tf_error_set(err, TF_ERR_INVALID, "%s is larger than %d bytes: it is no PEM file", path, FILE_MAX);
    else
        return tf_buf_take(&text);
    return NULL;
}

uint64_t tf_tls_stamp(const struct tf_tls_files *files)
{
    const char *const paths[] = {files->ca, files->certificate, files->key};
    uint64_t stamp = UINT64_C(0xcbf29ce484222325); /* FNV-1a, a word at a time */
    for (size_t i = 0; i < TF_ARRAY_LEN(paths); i++) {
        struct stat st = {0};
        if (paths[i] && stat(paths[i], &st) != 0)
            st.st_size = -1;
        const uint64_t words[] = {(uint64_t)st.st_ino, (uint64_t)st.st_size, (uint64_t)st.st_mtim.tv_sec,
                                  (uint64_t)st.st_mtim.tv_nsec};
        for (size_t k = 0; k < TF_ARRAY_LEN(words); k++)
            stamp = (stamp ^ words[k]) * UINT64_C(0x100000001b3);
    }
    return stamp;
}

/* ---- certificates ---- */

static struct tf_wall wall_of(const ASN1_TIME *time)
{
    struct tm tm = {0};
    if (!ASN1_TIME_to_tm(time, &tm))
        return (struct tf_wall){0};
    return (struct tf_wall){(int64_t)timegm(&tm) * 1000};
}

static void day_of(const ASN1_TIME *time, char text[32])
{
    struct tm tm = {0};
    if (!ASN1_TIME_to_tm(time, &tm) || !strftime(text, 32, "%Y-%m-%d %H:%M:%SZ", &tm))
        snprintf(text, 32, "?");
}

static int check_time(const X509 *certificate, const char *path, struct tf_error *err)
{
    char when[32];
    if (X509_cmp_current_time(X509_get0_notBefore(certificate)) > 0) {
        day_of(X509_get0_notBefore(certificate), when);
        return tf_error_set(err, TF_ERR_INVALID,
                            "%s: the certificate is not valid before %s: is the clock right?", path, when);
    }
    if (X509_cmp_current_time(X509_get0_notAfter(certificate)) < 0) {
        day_of(X509_get0_notAfter(certificate), when);
        return tf_error_set(err, TF_ERR_INVALID, "%s: the certificate expired at %s: put a new one there",
                            path, when);
    }
    return 0;
}

/* Its common name; NULL if there is none that is plain text. */
static char *name_of(const X509 *certificate)
{
    const X509_NAME *subject = X509_get_subject_name(certificate);
    int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
    unsigned char *text = NULL;
    if (at < 0)
        return NULL;
    int len = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
    char *name = len > 0 && tf_utf8_valid((const char *)text, (size_t)len)
                     ? tf_strndup((const char *)text, (size_t)len)
                     : NULL;
    OPENSSL_free(text);
    return name;
}

/* A question for a pass phrase would wait at a terminal. */
static int no_pass_phrase(char *buf, int size, int writing, void *arg)
{
    (void)buf;
    (void)size;
    (void)writing;
    (void)arg;
    return -1;
}

static X509 *parse_certificate(const char *text)
{
    BIO *bio = BIO_new_mem_buf(text, -1);
    X509 *certificate = PEM_read_bio_X509(bio, NULL, no_pass_phrase, NULL);
    BIO_free(bio);
    return certificate;
}

static EVP_PKEY *parse_key(const char *text)
{
    BIO *bio = BIO_new_mem_buf(text, -1);
    EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, no_pass_phrase, NULL);
    BIO_free(bio);
    return key;
}

static int check_ca(const struct tf_tls_pem *pem, const char *path, struct tf_error *err)
{
    X509 *ca = parse_certificate(pem->ca);
    if (!ca)
        return tf_error_set(err, TF_ERR_INVALID, "%s holds no certificate in PEM", path);
    X509_free(ca);
    return 0;
}

static int check_key(const struct tf_tls_pem *pem, const X509 *certificate, const struct tf_tls_files *files,
                     struct tf_error *err)
{
    EVP_PKEY *key = parse_key(pem->key);
    int failed = 0;
    if (!key)
        failed =
            tf_error_set(err, TF_ERR_INVALID, "%s holds no key in PEM, or one that is encrypted", files->key);
    else if (X509_check_private_key(certificate, key) != 1)
        failed = tf_error_set(err, TF_ERR_INVALID, "%s is not the key of the certificate in %s", files->key,
                              files->certificate);
    EVP_PKEY_free(key);
    return failed;
}

static int check_own(struct tf_tls_pem *pem, const struct tf_tls_files *files, struct tf_error *err)
{
    X509 *certificate = parse_certificate(pem->certificate);
    if (!certificate)
        return tf_error_set(err, TF_ERR_INVALID, "%s holds no certificate in PEM", files->certificate);
    int failed =
        check_key(pem, certificate, files, err) || check_time(certificate, files->certificate, err) ? -1 : 0;
    pem->name = name_of(certificate);
    pem->expires = wall_of(X509_get0_notAfter(certificate));
    X509_free(certificate);
    return failed;
}

static int read_all(const struct tf_tls_files *files, struct tf_tls_pem *pem, struct tf_error *err)
{
    if (!files->ca)
        return tf_error_set(err, TF_ERR_INVALID, "no file of the CA is named, so nobody could be believed");
    if (!files->certificate != !files->key)
        return tf_error_set(err, TF_ERR_INVALID,
                            "a certificate and its key are named together, or neither of them");
    pem->ca = read_file(files->ca, err);
    if (!pem->ca || check_ca(pem, files->ca, err))
        return -1;
    if (!files->certificate)
        return 0;
    pem->certificate = read_file(files->certificate, err);
    if (!pem->certificate)
        return -1;
    pem->key = read_file(files->key, err);
    return pem->key ? check_own(pem, files, err) : -1;
}

int tf_tls_read(const struct tf_tls_files *files, struct tf_tls_pem *pem, struct tf_error *err)
{
    *pem = (struct tf_tls_pem){0};
    int failed = read_all(files, pem, err);
    ERR_clear_error(); /* of this thread: what was found is said */
    if (failed)
        tf_tls_pem_release(pem);
    return failed;
}

int tf_tls_check(const struct tf_tls_files *files, struct tf_error *err)
{
    struct tf_tls_pem pem;
    if (!tf_tls_is_set(files))
        return 0;
    if (tf_tls_read(files, &pem, err))
        return tf_error_wrap(err, "tls");
    tf_tls_pem_release(&pem);
    return 0;
}

void tf_tls_pem_release(struct tf_tls_pem *pem)
{
    if (pem->key)
        OPENSSL_cleanse(pem->key, strlen(pem->key));
    free(pem->ca);
    free(pem->certificate);
    free(pem->key);
    free(pem->name);
    *pem = (struct tf_tls_pem){0};
}
