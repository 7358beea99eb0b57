/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_NET_TLS_H
#define TF_NET_TLS_H

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/row.h"

#include <stdbool.h>

/* The PEM files with which one end of a link shows who it is and knows whom it believes. They are read again
 * whenever they are needed, so that a renewed certificate counts without a restart. */
struct tf_tls_files {
    char *ca; /* whoever one of these signed is believed; may hold several, so that a CA can be changed */
    char *certificate; /* ours, then those between it and the CA */
    char *key;         /* of ours, not encrypted */
};
/* The group `tls` of a daemon: all three, or none. */
extern const struct tf_table tf_tls_table;

bool tf_tls_is_set(const struct tf_tls_files *files);                             /* NULL is not set */
void tf_tls_files_copy(struct tf_tls_files *to, const struct tf_tls_files *from); /* to is zeroed */
void tf_tls_files_release(struct tf_tls_files *files);

/* What is in the files. */
struct tf_tls_pem {
    char *ca, *certificate, *key; /* texts; certificate and key are NULL if no files are named for them */
    char *name;                   /* common name of the certificate: "fedd", "subcluster/bj-a", "admin/ann" */
    struct tf_wall expires;       /* of the certificate */
};

/* Reads and checks them: each is PEM, the key is the certificate's, the certificate is valid now. -1 with the
 * file and what to do; TF_ERR_INVALID if its content is wrong, TF_ERR_IO if it cannot be read. */
int tf_tls_read(const struct tf_tls_files *files, struct tf_tls_pem *pem, struct tf_error *err);
/* Only whether they are right; nothing to be said if none are set. */
int tf_tls_check(const struct tf_tls_files *files, struct tf_error *err);
void tf_tls_pem_release(struct tf_tls_pem *pem); /* frees, zeroes; the key's memory is wiped */

/* Differs when one of the files was replaced or changed. */
uint64_t tf_tls_stamp(const struct tf_tls_files *files);

/* Why no connection with these files (not set: without TLS) comes about, as far as a handshake of its own
 * shows: whom either side does not believe, and why, which gRPC does not tell. -1 and *err if something was
 * found: TF_ERR_UNAVAILABLE, or TF_ERR_UNKNOWN if it is only likely, and may be over in a moment. Blocks for
 * at most timeout_ms. */
int tf_tls_diagnose(const char *address, const struct tf_tls_files *files, int64_t timeout_ms,
                    struct tf_error *err);

#endif
