/* SPDX-License-Identifier: Apache-2.0 */
/* Owns when the mixes are resolved anew: they follow from the policy and the ledger's classes alone. */
#include "subcluster/core/mix.h"

#include "common/base/alloc.h"
#include "common/fit/mix.h"

struct mixes {
    struct tf_mix all, waiting;
    bool stale;
    /* The rows that they are resolved against, by how often rows were made, and how many classes these had.
     */
    uint64_t made;
    size_t classes;
};

struct mixes *mixes_create(void)
{
    struct mixes *mixes = tf_calloc(1, sizeof *mixes);
    mixes->stale = true;
    return mixes;
}

void mixes_destroy(struct mixes *mixes)
{
    if (!mixes)
        return;
    tf_mix_release(&mixes->all);
    tf_mix_release(&mixes->waiting);
    free(mixes);
}

void mixes_changed(struct sub *sub)
{
    sub->mixes->stale = true;
    sub->profiler.due = true;
}

/* A class that is gone asks for nothing. Its jobs that still run are packed as they were, as the leader does.
 */
static void resolve(const struct sub *sub, bool only_waiting, bool only_ranked, struct tf_mix *mix)
{
    TF_VEC(struct tf_mix_shape) shapes = {0};
    tf_vec_each (s, &sub->policy.shapes) {
        int rank = tf_classes_rank(&sub->policy.classes, s->spec->priority);
        struct tf_mix_shape shape = {s->spec, rank < 0 ? 0 : rank, tf_mix_weight(s->spec, s->instances)};
        if ((s->waits || !only_waiting) && (rank >= 0 || !only_ranked))
            tf_vec_push(&shapes, shape);
    }
    tf_mix_resolve(mix, shapes.items, shapes.count, tf_fit_rows_view(sub->ledger.rows).catalog);
    tf_vec_release(&shapes);
}

static bool any_waits(const struct sub *sub)
{
    tf_vec_each (s, &sub->policy.shapes)
        if (s->waits)
            return true;
    return false;
}

/* No node here is of a kind that a shape of it may use. */
static bool admits_nothing(const struct tf_mix *mix)
{
    tf_vec_each (entries, &mix->admitted)
        if (*entries)
            return false;
    return true;
}

static const struct mixes *current(const struct sub *sub)
{
    struct mixes *mixes = sub->mixes;
    size_t classes = tf_fit_rows_class_count(sub->ledger.rows);
    if (!mixes->stale && mixes->made == sub->ledger.made && mixes->classes == classes)
        return mixes;
    resolve(sub, false, false, &mixes->all);
    /* What nobody waits for would hide what waiting work lacks: a shape of one GPU that runs somewhere could
     * use nearly everything. */
    resolve(sub, any_waits(sub), true, &mixes->waiting);
    /* A job that asks for a model that nobody has would else make all that is idle look useless. */
    if (admits_nothing(&mixes->waiting))
        resolve(sub, false, true, &mixes->waiting);
    mixes->stale = false;
    mixes->made = sub->ledger.made;
    mixes->classes = classes;
    return mixes;
}

const struct tf_mix *mix_of_all(const struct sub *sub)
{
    return &current(sub)->all;
}

const struct tf_mix *mix_of_waiting(const struct sub *sub)
{
    return &current(sub)->waiting;
}
