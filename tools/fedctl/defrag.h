/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDCTL_DEFRAG_H
#define TF_FEDCTL_DEFRAG_H

#include "tools/fedctl/fedctl.h"
#include "tools/fedctl/view.h"

/* Plans that free nodes, as documents: printed with -o, and what plan files are made of and read from. */

struct defrag_move_doc {
    char *instance; /* TENANT/NAME/INDEX */
    char *from, *to;
    int32_t gpus, wave, chain;
};
struct defrag_site_doc {
    char *node;
    int32_t units, wave;
};
struct defrag_bucket_doc {
    int32_t free, before, after;
};
struct defrag_lock_doc {
    char *why;
    int32_t instances;
};
struct defrag_doc {
    char *made, *cluster, *digest;
    struct tf_defrag_order order; /* what was asked */
    char *model, *domain;         /* what came of it */
    TF_VEC(struct defrag_site_doc) sites;
    TF_VEC(struct defrag_move_doc) moves;
    TF_VEC(struct defrag_bucket_doc) buckets;
    TF_VEC(struct defrag_lock_doc) locks;
    int32_t nodes, before, freed, best, moves_bound, gpus, gpus_bound, double_booked, waves, sites_locked;
    bool cut;
    char *note;
};

struct defrag {
    struct tf_wall made;
    const char *cluster;
    const struct tf_defrag_order *order;
    const struct tf_defrag_plan *plan;
};
extern const struct view view_defrag; /* struct defrag, as struct defrag_doc */
extern const struct tf_table defrag_doc_table;

int defrag_save(const struct defrag *defrag, const char *path, struct tf_error *err);
/* doc is released with tf_table_release; the digest is a number, and not 0. */
int defrag_load(const char *path, struct defrag_doc *doc, uint64_t *digest, struct tf_error *err);

/* NULL: what the document says is moved and freed, in its order, is that plan's; else where it differs, which
 * the caller frees. */
char *defrag_difference(const struct defrag_doc *doc, const struct tf_defrag_plan *plan);

/* Tells how far the chain is that carries the plan out, until it is over, and what came of it. With a
 * duration
 * (--stop-after) what has not begun by then is given up. Gives the exit code. */
int defrag_follow(struct fedctl *ctl, const struct defrag_doc *doc, struct tf_uid id);

/* What people read of it. */
void defrag_print(struct fedctl *ctl, const struct defrag *defrag, struct tf_buf *buf);

#endif
