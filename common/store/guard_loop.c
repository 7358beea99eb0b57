/* SPDX-License-Identifier: Apache-2.0 */
#include "common/store/guard_loop.h"

#include <errno.h>
#include <sys/random.h>

static struct tf_mono loop_now(void *ctx)
{
    const struct tf_guard_loop *on = ctx;
    return tf_loop_now(on->loop).mono;
}

static void timer_due(struct tf_timer *timer)
{
    tf_guard_wake(TF_CONTAINER_OF(timer, struct tf_guard_loop, timer)->guard);
}

static void loop_wake(void *ctx, struct tf_mono at)
{
    struct tf_guard_loop *on = ctx;
    tf_timer_start(on->loop, &on->timer, at, timer_due);
}

struct tf_guard *tf_guard_on_loop(struct tf_guard_loop *on, struct tf_loop *loop,
                                  const struct tf_guard_options *options, struct tf_error *err)
{
    struct tf_guard_options mine = *options;
    if (getrandom(&mine.seed, sizeof mine.seed, 0) != sizeof mine.seed) {
        tf_error_errno(err, TF_ERR_IO, errno, "cannot get random bytes from the kernel");
        return NULL;
    }
    *on = (struct tf_guard_loop){.loop = loop};
    mine.host = (struct tf_guard_host){.now = loop_now, .wake = loop_wake, .ctx = on};
    on->guard = tf_guard_create(&mine);
    return on->guard;
}
