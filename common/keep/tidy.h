/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_KEEP_TIDY_H
#define TF_KEEP_TIDY_H

#include "common/loop/loop.h"
#include "common/store/store.h"

/* The room in the store of whoever holds a prefix: looks how full it is, and makes room by what only its
 * writers can know to be right: compacts old revisions, which nobody reads, sooner when it fills up, and
 * defragments small stores, because etcd counts what is free inside against its quota. A store that was full
 * is opened for writes again when that has made room. Several may tidy one store: whoever comes last finds it
 * done. */
struct tf_tidy;

struct tf_tidy_events {
    /* Nothing is done while it is false: others hold the prefix, or it is being read. */
    bool (*holds)(void *arg);
    /* How it was found; used only while it holds. May destroy the tidy. */
    void (*seen)(void *arg, const struct tf_store_status *status);
};

/* All is borrowed until the destroy. */
struct tf_tidy *tf_tidy_create(struct tf_loop *loop, struct tf_store *store,
                               const struct tf_tidy_events *events, void *arg);
void tf_tidy_destroy(struct tf_tidy *tidy); /* NULL is fine */

/* Looks now, instead of within ten seconds. */
void tf_tidy_look(struct tf_tidy *tidy);
/* So many bytes were written to the store: looks again when that may have changed much. */
void tf_tidy_wrote(struct tf_tidy *tidy, size_t bytes);
/* As last seen; zero before. */
struct tf_store_status tf_tidy_status(const struct tf_tidy *tidy);

/* Of the quota; 100 when writes are refused, 0 while the quota is not known. */
int32_t tf_store_percent(const struct tf_store_status *status);

#endif
