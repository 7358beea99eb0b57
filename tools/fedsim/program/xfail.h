/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDSIM_XFAIL_H
#define TF_FEDSIM_XFAIL_H

#include "common/base/error.h"
#include "common/base/list.h"

/* Scenarios that are expected to fail, each with the reason:
 *
 *     scenarios:
 *       no-ping-pong.yaml: growing is not there yet
 */
struct xfail {
    struct tf_pairs scenarios; /* file name, without folders -> reason */
};

/* xfail is raw memory, owned by the caller. */
int xfail_load(const char *path, struct xfail *xfail, struct tf_error *err);
void xfail_release(struct xfail *xfail);
const char *xfail_reason(const struct xfail *xfail, const char *path); /* NULL: it must hold. Borrowed */

#endif
