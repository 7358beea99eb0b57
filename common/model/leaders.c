/* SPDX-License-Identifier: Apache-2.0 */
#include "common/model/leaders.h"

#include "common/base/vec.h"

void tf_leaders_release(struct tf_leaders *leaders)
{
    tf_vec_release(leaders);
}

void tf_leaders_copy(struct tf_leaders *to, const struct tf_leaders *from)
{
    struct tf_leaders copy = {0};
    tf_vec_each (leader, from)
        tf_vec_push(&copy, *leader);
    tf_leaders_release(to);
    *to = copy;
}

bool tf_leaders_eq(const struct tf_leaders *a, const struct tf_leaders *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (tf_term_cmp(a->items[i].term, b->items[i].term) != 0 || a->items[i].epoch != b->items[i].epoch)
            return false;
    return true;
}

void tf_leaders_add(struct tf_leaders *leaders, struct tf_leader leader)
{
    if (leaders->count == TF_LEADERS_MAX)
        tf_vec_remove(leaders, 0);
    tf_vec_push(leaders, leader);
}

bool tf_leaders_led(const struct tf_leaders *leaders, struct tf_term term, uint64_t epoch)
{
    if (leaders->count == 0 || leaders->items[leaders->count - 1].term.era != term.era ||
        tf_term_cmp(term, leaders->items[0].term) < 0)
        return true;
    for (size_t i = 0; i < leaders->count; i++) {
        if (tf_term_cmp(leaders->items[i].term, term) != 0)
            continue;
        bool is_last = i + 1 == leaders->count;
        return is_last || epoch <= leaders->items[i + 1].epoch;
    }
    return false;
}

const char *tf_leaders_fault(const struct tf_leaders *leaders)
{
    for (size_t i = 1; i < leaders->count; i++)
        if (tf_term_cmp(leaders->items[i - 1].term, leaders->items[i].term) >= 0)
            return "leaders: their terms do not ascend";
    return NULL;
}
