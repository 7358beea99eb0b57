/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the words in which an order to drain says what it takes the place of. */
#include "subcluster/core/drain_was.h"

#include "common/base/quantity.h"
#include "common/base/text.h"
#include "subcluster/core/domain.h"

enum { NAMED = 5 }; /* drains that are told of, each in a part of the sentence */

void drains_were_release(struct drains_were *all)
{
    tf_vec_each (was, all) {
        free(was->with);
        free(was->reason);
    }
    tf_vec_release(all);
}

/* Of its drain: where it was cordoned before, the reason is that of its cordon. */
static const char *reason_of(const struct tf_cordon *cordon)
{
    return cordon->stays ? NULL : cordon->reason;
}

static bool is_of(const struct drain_was *was, const struct tf_cordon *cordon)
{
    return was->terms.force == cordon->drain.force && was->terms.max_at_once == cordon->drain.max_at_once &&
           was->terms.deadline.ms == cordon->drain.deadline.ms && was->stays == cordon->stays &&
           tf_str_eq(was->with, cordon->drained_with) && tf_str_eq(was->reason, reason_of(cordon));
}

void drains_were_add(struct drains_were *all, const struct ledger_node *node)
{
    const struct tf_cordon *cordon = &node->cordon;
    if (!cordon->drain.on)
        return;
    tf_vec_each (was, all)
        if (is_of(was, cordon)) {
            was->nodes++;
            return;
        }
    tf_vec_push(all, (struct drain_was){.node = node,
                                        .nodes = 1,
                                        .terms = cordon->drain,
                                        .with = tf_strdup(cordon->drained_with),
                                        .reason = tf_strdup(reason_of(cordon)),
                                        .stays = cordon->stays});
}

/* ---- words ---- */

/* "deadline 2026-11-30 12:00:00 UTC -> none" */
static void say_change(const char *what, const char *from, const char *to, const char **sep,
                       struct tf_buf *text)
{
    if (tf_str_eq(from, to))
        return;
    tf_buf_fmt(text, "%s%s %s -> %s", *sep, what, from ? from : "none", to ? to : "none");
    *sep = ", ";
}

static const char *at_once(int32_t most, char text[TF_QUANTITY_TEXT])
{
    snprintf(text, TF_QUANTITY_TEXT, "%d", most);
    return most ? text : NULL;
}

static const char *deadline(struct tf_wall at, char text[TF_QUANTITY_TEXT])
{
    return at.ms ? tf_moment_format(at, text) : NULL;
}

/* All that is other now; false if nothing is. */
static bool say_terms(const struct drain_was *was, const struct tf_cordon *now, struct tf_buf *text)
{
    char from[TF_QUANTITY_TEXT], to[TF_QUANTITY_TEXT];
    const char *first = ": ", *sep = first;
    say_change("deadline", deadline(was->terms.deadline, from), deadline(now->drain.deadline, to), &sep,
               text);
    say_change("force", was->terms.force ? "yes" : "no", now->drain.force ? "yes" : "no", &sep, text);
    say_change("moves at once", at_once(was->terms.max_at_once, from), at_once(now->drain.max_at_once, to),
               &sep, text);
    if (!was->stays && !now->stays)
        say_change("reason", was->reason, now->reason, &sep, text);
    return sep != first;
}

static void say_one(const struct sub *sub, const struct drain_was *was, struct tf_buf *text)
{
    const struct tf_cordon *now = &was->node->cordon;
    bool other = !tf_str_eq(was->with, now->drained_with);
    if (was->nodes == 1)
        tf_buf_fmt(text, "node %s was drained", was->node->node.name);
    else
        tf_buf_fmt(text, "%zu nodes were drained", was->nodes);
    if (other && was->with) {
        tf_buf_str(text, " with ");
        domain_say(sub, was->with, text);
    } else if (other)
        tf_buf_str(text, was->nodes == 1 ? " by itself" : " by themselves");
    tf_buf_str(text, " before");
    if (!say_terms(was, now, text))
        tf_buf_str(text, other ? ", on the same terms" : ", just so: nothing changes");
}

void drains_were_say(const struct sub *sub, const struct drains_were *all, struct tf_buf *text)
{
    for (size_t i = 0; i < all->count && i < NAMED; i++) {
        tf_buf_str(text, i ? "; " : "");
        say_one(sub, &all->items[i], text);
    }
    if (all->count > NAMED)
        tf_buf_fmt(text, "; and %zu drains more, on other terms", all->count - NAMED);
}
