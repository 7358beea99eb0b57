/* SPDX-License-Identifier: Apache-2.0 */
/* What certificate files hold, and what is said of those that are wrong. (Handshakes: unit/rpc/tls,
 * integration/tls.) */
#include "common/net/tls.h"

#include "common/base/cleanup.h"
#include "tests/support/certificates.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct test_certificates made;

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fputs(text, file);
    fclose(file);
}

static void test_right(void)
{
    struct tf_tls_pem pem;
    struct tf_error err = TF_ERROR_INIT;
    struct tf_tls_files files = test_certificates_files(&made, "admin-ann");
    CU_ASSERT_EQUAL_FATAL(tf_tls_read(&files, &pem, &err), 0);
    CU_ASSERT_STRING_EQUAL(pem.name, "admin/ann");
    CU_ASSERT_TRUE(pem.expires.ms > INT64_C(1700000000) * 1000);
    CU_ASSERT_TRUE(strstr(pem.ca, "BEGIN CERTIFICATE") && strstr(pem.key, "PRIVATE KEY"));
    tf_tls_pem_release(&pem);
    CU_ASSERT_TRUE(tf_tls_is_set(&files));
    tf_tls_files_release(&files);
    CU_ASSERT_FALSE(tf_tls_is_set(&files) || tf_tls_is_set(NULL));
    files = test_certificates_files(&made, NULL);
    CU_ASSERT_EQUAL(tf_tls_check(&files, &err), 0); /* a client that shows nothing */
    tf_tls_files_release(&files);
}

static void expect(const char *ca, const char *certificate, const char *key, const char *says)
{
    struct tf_tls_files files = {0};
    struct tf_tls_pem pem;
    struct tf_error err = TF_ERROR_INIT;
    const char *const names[] = {ca, certificate, key};
    char **const paths[] = {&files.ca, &files.certificate, &files.key};
    for (size_t i = 0; i < TF_ARRAY_LEN(names); i++)
        *paths[i] = names[i] ? tf_asprintf("%s/%s", made.folder, names[i]) : NULL;
    CU_ASSERT_EQUAL(tf_tls_read(&files, &pem, &err), -1);
    if (!strstr(err.text, says))
        printf("\n    got: %s\n", err.text);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, says));
    CU_ASSERT_TRUE(!pem.ca && !pem.certificate && !pem.key && !pem.name);
    tf_tls_files_release(&files);
}

static void test_wrong(void)
{
    TF_AUTO_FREE char *empty = tf_asprintf("%s/empty", made.folder),
                      *junk = tf_asprintf("%s/junk", made.folder);
    write_text(empty, "");
    write_text(junk, "-----BEGIN CERTIFICATE-----\nQUJD\n-----END CERTIFICATE-----\n");
    expect(NULL, "fedd.pem", "fedd.key", "no file of the CA");
    expect("nowhere", "fedd.pem", "fedd.key", "nowhere cannot be read: No such file");
    expect("empty", "fedd.pem", "fedd.key", "empty holds no certificate");
    expect("junk", "fedd.pem", "fedd.key", "junk holds no certificate");
    expect("ca.pem", "fedd.pem", NULL, "are named together");
    expect("ca.pem", NULL, "fedd.key", "are named together");
    expect("ca.pem", "fedd.pem", "nowhere", "nowhere cannot be read");
    expect("ca.pem", "junk", "fedd.key", "junk holds no certificate");
    expect("ca.pem", "fedd.pem", "fedd.pem", "fedd.pem holds no key");
    expect("ca.pem", "fedd.pem", "admin-ann.key", "admin-ann.key is not the key of the certificate in");
    expect("ca.pem", "", "fedd.key", "cannot be read: Is a directory");
}

static void test_stamp(void)
{
    struct tf_tls_files files = test_certificates_files(&made, "fedd");
    uint64_t before = tf_tls_stamp(&files);
    CU_ASSERT_EQUAL(tf_tls_stamp(&files), before);
    CU_ASSERT_TRUE(test_certificates_add(&made, "fedd"));
    uint64_t renewed = tf_tls_stamp(&files);
    CU_ASSERT_NOT_EQUAL(renewed, before);
    unlink(files.key);
    CU_ASSERT_NOT_EQUAL(tf_tls_stamp(&files), renewed);
    tf_tls_files_release(&files);
}

static const struct suite_test tests[] = {
    {"right", test_right}, {"wrong", test_wrong}, {"stamp", test_stamp}};

int main(void)
{
    static const char *const commands[] = {"ca", "fedd", "admin ann", NULL};
    int failed = 1;
    if (test_certificates_make(&made, commands))
        failed = suite_run("tls", tests, TF_ARRAY_LEN(tests));
    test_certificates_remove(&made);
    return failed;
}
