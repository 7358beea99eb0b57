/* SPDX-License-Identifier: Apache-2.0 */
#include "subcluster/core/head.h"

#include "subcluster/core/candidates.h"

#include <assert.h>

struct sub head_of(const struct sub *sub, struct tf_now now)
{
    struct sub head = *sub;
    assert(sub->ledger.dirty.count == 0);
    head.now = now;
    head.candidates = NULL;
    return head;
}

void head_release(struct sub *head)
{
    candidates_destroy(head->candidates);
}
