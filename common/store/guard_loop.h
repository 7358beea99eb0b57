/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_STORE_GUARD_LOOP_H
#define TF_STORE_GUARD_LOOP_H

#include "common/loop/loop.h"
#include "common/store/guard.h"

/* The clock and the timer of a guard in a daemon. Owned by the caller, starts zeroed, outlives the guard. */
struct tf_guard_loop {
    struct tf_loop *loop;
    struct tf_timer timer;
    struct tf_guard *guard;
};

/* options->host is replaced; options->seed too, by random bytes of the kernel. *on is filled and must stay
 * where it is; on->guard is the result. */
struct tf_guard *tf_guard_on_loop(struct tf_guard_loop *on, struct tf_loop *loop,
                                  const struct tf_guard_options *options, struct tf_error *err);

#endif
