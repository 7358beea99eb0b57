/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_MIGRATE_PRIVATE_H
#define TF_SUBCLUSTER_CORE_MIGRATE_PRIVATE_H

#include "subcluster/core/migrate.h"

/* The list of chains (migrate_list.c). NULL: there is none. */
struct migration *chain_find(const struct sub *sub, struct tf_uid id);
/* The chain that is not over and moves this instance now; in *place which of its moves that is. */
struct migration *chain_find_move(const struct sub *sub, struct tf_uid uid, uint32_t index, size_t *place);
/* The number in the chain of the move that brings this one's instance to where it goes from, a spare place;
 * SIZE_MAX: it goes from where it was when the chain was made. */
size_t chain_first_half(const struct tf_migration *chain, size_t move);
bool chain_is_active(const struct migration *m);
/* A new one at the end, of which only when its wait is over (never) is set. */
struct migration *chain_add(struct sub *sub);
/* What is known of each of its moves without being stored begins anew. */
void chain_make_runs(struct migration *m);
void chain_drop(struct sub *sub, size_t at);

/* The number of the want, before this one, of the same instance; SIZE_MAX: there is none. */
size_t migrate_first_half(const struct migrate_ask *ask, size_t want);
/* Where each goes, with nothing that waiting work is considered for first. False: not all of them find a
 * place. plan is zeroed. */
bool migrate_place_now(struct sub *sub, const struct migrate_ask *ask, struct migrate_plan *plan);

#endif
