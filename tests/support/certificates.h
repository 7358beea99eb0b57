/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_TESTS_CERTIFICATES_H
#define TF_TESTS_CERTIFICATES_H

#include "common/net/tls.h"

/* Certificates for a test, made by deploy/tls.sh in a folder of their own. */
struct test_certificates {
    char folder[40];
};

/* Each command is one of deploy/tls.sh, "subcluster a"; the last is NULL. False after saying why on stderr.
 */
bool test_certificates_make(struct test_certificates *certificates, const char *const *commands);
/* One more in the same folder. */
bool test_certificates_add(const struct test_certificates *certificates, const char *command);
void test_certificates_remove(struct test_certificates *certificates);
/* Files of "fedd", "admin", ...; NULL: only the CA. Released by the caller. */
struct tf_tls_files test_certificates_files(const struct test_certificates *certificates, const char *name);

#endif
