/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_BASE_ERROR_H
#define TF_BASE_ERROR_H

/* The one error type of the tree. Callers branch on the code; people read the text, which says what, where,
 * and what to do next. Functions that can fail take `struct tf_error *err` last (it may be NULL), return -1
 * or NULL after setting it, leave it untouched on success, and have no side effect when they fail. */
enum tf_error_code {
    TF_OK = 0,
    TF_ERR_INVALID, /* malformed, or breaks a stated rule */
    TF_ERR_NOT_FOUND,
    TF_ERR_CONFLICT,    /* a compare lost, or the name is taken */
    TF_ERR_REFUSED,     /* well-formed, but not allowed: limit, quota, role, unsupported */
    TF_ERR_UNAVAILABLE, /* a peer or the store did not answer, or does not lead: nothing was done, retry */
    TF_ERR_UNKNOWN,     /* sent, but the outcome is not known: repeat the same request */
    TF_ERR_TIMEOUT,
    TF_ERR_TOO_LARGE,
    TF_ERR_IO,
    TF_ERR_BUG, /* an invariant broke */
};

struct tf_error {
    enum tf_error_code code;
    int sys_errno; /* 0 when no system call was involved */
    char text[1000];
};

#define TF_ERROR_INIT \
    {                 \
        .code = TF_OK \
    }

/* Fill *err (may be NULL) and return -1, so that `return tf_error_set(err, TF_ERR_INVALID, "...");` reads
 * well. Text that is too long is cut at a UTF-8 boundary. tf_error_errno appends ": <strerror>" of sys_errno.
 */
int tf_error_set(struct tf_error *err, enum tf_error_code code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
int tf_error_errno(struct tf_error *err, enum tf_error_code code, int sys_errno, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Puts context in front of the text already there and keeps the code; used at layer borders. Returns -1. */
int tf_error_wrap(struct tf_error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

const char *tf_error_code_name(enum tf_error_code code);

#endif
