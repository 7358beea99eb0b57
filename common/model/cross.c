/* SPDX-License-Identifier: Apache-2.0 */
#include "common/model/cross.h"

#include "common/base/alloc.h"

#include <stdlib.h>

const char *tf_cross_state_name(enum tf_cross_state state)
{
    static const char *const names[] = {"NONE",         "STARTING", "RELEASING", "WITHDRAWING", "SWITCHED",
                                        "ROLLING_BACK", "STOPPING", "DONE",      "ROLLED_BACK"};
    return (size_t)state < sizeof names / sizeof *names ? names[state] : "?";
}

const char *tf_cross_cause_name(enum tf_cross_cause cause)
{
    static const char *const names[] = {"none",        "abort",      "deadline",  "target_cordoned",
                                        "target_lost", "target_end", "not_ready", "no_room",
                                        "source_end",  "change",     "restore"};
    return (size_t)cause < sizeof names / sizeof *names ? names[cause] : "?";
}

void tf_cross_release(struct tf_cross *cross)
{
    free(cross->from);
    free(cross->to);
    free(cross->why);
    free(cross->reason);
    free(cross->user);
    *cross = (struct tf_cross){0};
}

void tf_cross_copy(struct tf_cross *to, const struct tf_cross *from)
{
    struct tf_cross copy = *from;
    copy.from = tf_strdup(from->from);
    copy.to = tf_strdup(from->to);
    copy.why = tf_strdup(from->why);
    copy.reason = tf_strdup(from->reason);
    copy.user = tf_strdup(from->user);
    tf_cross_release(to);
    *to = copy;
}
