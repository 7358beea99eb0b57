/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what a freeze is made of. Who makes and ends them is the federation's, who goes by them everybody's.
 */
#include "common/model/freeze.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "common/model/id.h"

#include <string.h>

static const struct {
    enum tf_frozen what;
    const char *name;
} names[] = {
    {TF_FROZEN_EVICTIONS, "evictions"},
    {TF_FROZEN_GROWTH, "growth"},
    {TF_FROZEN_MOVES, "moves"},
};

const char *tf_frozen_name(enum tf_frozen one)
{
    for (size_t i = 0; i < TF_ARRAY_LEN(names); i++)
        if (names[i].what == one)
            return names[i].name;
    return "?";
}

int tf_frozen_parse(const char *name, enum tf_frozen *one)
{
    for (size_t i = 0; i < TF_ARRAY_LEN(names); i++)
        if (strcmp(names[i].name, name) == 0) {
            *one = names[i].what;
            return 0;
        }
    return -1;
}

void tf_freeze_release(struct tf_freeze *freeze)
{
    free(freeze->cluster);
    free(freeze->reason);
    free(freeze->user);
    *freeze = (struct tf_freeze){0};
}

void tf_freeze_copy(struct tf_freeze *to, const struct tf_freeze *from)
{
    struct tf_freeze copy = *from;
    copy.cluster = tf_strdup(from->cluster);
    copy.reason = tf_strdup(from->reason);
    copy.user = tf_strdup(from->user);
    tf_freeze_release(to);
    *to = copy;
}

void tf_freezes_release(struct tf_freezes *freezes)
{
    tf_vec_each (freeze, freezes)
        tf_freeze_release(freeze);
    tf_vec_release(freezes);
}

void tf_freezes_copy(struct tf_freezes *to, const struct tf_freezes *from)
{
    struct tf_freezes copy = {0};
    tf_vec_each (freeze, from)
        tf_freeze_copy(tf_vec_add(&copy), freeze);
    tf_freezes_release(to);
    *to = copy;
}

static bool freeze_eq(const struct tf_freeze *a, const struct tf_freeze *b)
{
    return a->what == b->what && tf_str_eq(a->cluster, b->cluster) && a->since.ms == b->since.ms &&
           a->until.ms == b->until.ms && tf_str_eq(a->reason, b->reason) && tf_str_eq(a->user, b->user);
}

bool tf_freezes_eq(const struct tf_freezes *a, const struct tf_freezes *b)
{
    for (size_t i = 0; i < a->count && a->count == b->count; i++)
        if (!freeze_eq(&a->items[i], &b->items[i]))
            return false;
    return a->count == b->count;
}

int tf_freeze_cmp(const struct tf_freeze *a, const struct tf_freeze *b)
{
    if (a->what != b->what)
        return a->what < b->what ? -1 : 1;
    return strcmp(a->cluster ? a->cluster : "", b->cluster ? b->cluster : "");
}

const struct tf_freeze *tf_freezes_find(const struct tf_freezes *freezes, enum tf_frozen what,
                                        const char *cluster, struct tf_wall now)
{
    const struct tf_freeze *longest = NULL;
    tf_vec_each (freeze, freezes) {
        bool here = !freeze->cluster || !cluster || strcmp(freeze->cluster, cluster) == 0;
        if (here && freeze->what == what && freeze->until.ms > now.ms &&
            (!longest || freeze->until.ms > longest->until.ms))
            longest = freeze;
    }
    return longest;
}

const char *tf_freeze_fault(const struct tf_freeze *freeze)
{
    struct tf_error err = TF_ERROR_INIT;
    if (tf_frozen_name(freeze->what)[0] == '?')
        return "it does not say what is frozen";
    if (freeze->cluster && tf_name_check(freeze->cluster, "the subcluster", &err))
        return "the name of its subcluster is none";
    if (freeze->until.ms - freeze->since.ms > TF_FREEZE_LONGEST || freeze->until.ms <= freeze->since.ms)
        return "it ends before it begins, or lasts for more than 30 days";
    return NULL;
}
