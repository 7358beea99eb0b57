/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the list of chains, those that are over included, and finding one or a move in it. */
#include "common/base/vec.h"
#include "subcluster/core/migrate_private.h"

struct migration *chain_find(const struct sub *sub, struct tf_uid id)
{
    tf_vec_each (at, &sub->migrations)
        if (tf_uid_eq((*at)->record.id, id))
            return *at;
    return NULL;
}

size_t chain_first_half(const struct tf_migration *chain, size_t move)
{
    const struct tf_move *second = &chain->moves.items[move];
    while (move-- > 0) {
        const struct tf_move *m = &chain->moves.items[move];
        if (m->index == second->index && tf_uid_eq(m->uid, second->uid))
            return move;
    }
    return SIZE_MAX;
}

bool chain_is_active(const struct migration *m)
{
    return m->record.ended.ms == 0;
}

struct migration *chain_add(struct sub *sub)
{
    struct migration *m = tf_calloc(1, sizeof *m);
    m->until = TF_NEVER;
    tf_vec_push(&sub->migrations, m);
    return m;
}

void chain_make_runs(struct migration *m)
{
    m->switched.count = m->due.count = 0;
    tf_vec_each (move, &m->record.moves) {
        (void)move;
        tf_vec_push(&m->switched, 0);
        tf_vec_push(&m->due, TF_NEVER);
    }
}

void chain_drop(struct sub *sub, size_t at)
{
    struct migration *m = sub->migrations.items[at];
    tf_migration_release(&m->record);
    tf_vec_release(&m->switched);
    tf_vec_release(&m->due);
    free(m);
    tf_vec_remove(&sub->migrations, at);
}

void migrate_release_all(struct sub *sub)
{
    while (sub->migrations.count)
        chain_drop(sub, sub->migrations.count - 1);
    tf_vec_release(&sub->migrations);
}

const struct tf_migration *migrate_find(const struct sub *sub, struct tf_uid id)
{
    const struct migration *m = chain_find(sub, id);
    return m ? &m->record : NULL;
}

const struct tf_migration *migrate_at(const struct sub *sub, size_t at)
{
    return at < sub->migrations.count ? &sub->migrations.items[at]->record : NULL;
}

/* One that is not over; SIZE_MAX in *place: none. */
struct migration *chain_find_move(const struct sub *sub, struct tf_uid uid, uint32_t index, size_t *place)
{
    tf_vec_each (at, &sub->migrations) {
        struct migration *m = *at;
        for (size_t i = 0; chain_is_active(m) && i < m->record.moves.count; i++) {
            const struct tf_move *move = &m->record.moves.items[i];
            if (move->index != index || tf_move_is_over(move->state) || !tf_uid_eq(move->uid, uid))
                continue;
            *place = i;
            return m;
        }
    }
    *place = SIZE_MAX;
    return NULL;
}

const struct tf_move *migrate_of(const struct sub *sub, struct tf_uid uid, uint32_t index)
{
    size_t place;
    const struct migration *m = chain_find_move(sub, uid, index, &place);
    return m ? &m->record.moves.items[place] : NULL;
}

bool migrate_has(const struct sub *sub, struct tf_uid uid)
{
    tf_vec_each (at, &sub->migrations) {
        if (!chain_is_active(*at))
            continue;
        tf_vec_each (move, &(*at)->record.moves)
            if (!tf_move_is_over(move->state) && tf_uid_eq(move->uid, uid))
                return true;
    }
    return false;
}
