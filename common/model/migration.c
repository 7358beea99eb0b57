/* SPDX-License-Identifier: Apache-2.0 */
#include "common/model/migration.h"

#include "common/base/text.h"

const char *tf_move_state_name(enum tf_move_state state)
{
    static const char *const names[] = {
        [TF_MOVE_NONE] = "NONE",         [TF_MOVE_PLANNED] = "PLANNED", [TF_MOVE_RESERVED] = "RESERVED",
        [TF_MOVE_STARTING] = "STARTING", [TF_MOVE_READY] = "READY",     [TF_MOVE_SWITCHED] = "SWITCHED",
        [TF_MOVE_STOPPING] = "STOPPING", [TF_MOVE_DONE] = "DONE",       [TF_MOVE_ROLLED_BACK] = "ROLLED_BACK",
    };
    return (size_t)state < sizeof names / sizeof names[0] ? names[state] : "?";
}

const char *tf_move_cause_name(enum tf_move_cause cause)
{
    static const char *const names[] = {
        [TF_MOVE_BY_NOBODY] = "nobody",
        [TF_MOVE_BY_OPERATOR] = "operator",
        [TF_MOVE_BY_DRAIN] = "drain",
        [TF_MOVE_BY_DEFRAG] = "defrag",
    };
    return (size_t)cause < sizeof names / sizeof names[0] ? names[cause] : "?";
}

void tf_claim_release(struct tf_claim *claim)
{
    free(claim->node);
    *claim = (struct tf_claim){0};
}

void tf_claim_copy(struct tf_claim *to, const struct tf_claim *from)
{
    struct tf_claim copy = *from;
    copy.node = tf_strdup(from->node);
    tf_claim_release(to);
    *to = copy;
}

void tf_move_release(struct tf_move *move)
{
    free(move->tenant);
    free(move->name);
    free(move->from);
    free(move->wanted);
    free(move->why);
    tf_claim_release(&move->claim);
    *move = (struct tf_move){0};
}

void tf_move_copy(struct tf_move *to, const struct tf_move *from)
{
    struct tf_move copy = *from;
    copy.tenant = tf_strdup(from->tenant);
    copy.name = tf_strdup(from->name);
    copy.from = tf_strdup(from->from);
    copy.wanted = tf_strdup(from->wanted);
    copy.why = tf_strdup(from->why);
    copy.claim.node = tf_strdup(from->claim.node);
    tf_move_release(to);
    *to = copy;
}

void tf_migration_release(struct tf_migration *migration)
{
    tf_vec_each (move, &migration->moves)
        tf_move_release(move);
    tf_vec_release(&migration->moves);
    tf_strs_release(&migration->empties);
    free(migration->owner);
    free(migration->reason);
    free(migration->user);
    *migration = (struct tf_migration){0};
}

void tf_migration_copy(struct tf_migration *to, const struct tf_migration *from)
{
    struct tf_migration copy = *from;
    copy.empties = (struct tf_strs){0};
    tf_strs_copy(&copy.empties, &from->empties);
    copy.owner = tf_strdup(from->owner);
    copy.reason = tf_strdup(from->reason);
    copy.user = tf_strdup(from->user);
    memset(&copy.moves, 0, sizeof copy.moves);
    tf_vec_each (move, &from->moves)
        tf_move_copy(tf_vec_add(&copy.moves), move);
    tf_migration_release(to);
    *to = copy;
}

void tf_migrate_order_release(struct tf_migrate_order *order)
{
    free(order->from);
    free(order->to);
    free(order->reason);
    free(order->user);
    *order = (struct tf_migrate_order){0};
}

void tf_migrate_order_copy(struct tf_migrate_order *to, const struct tf_migrate_order *from)
{
    struct tf_migrate_order copy = *from;
    copy.from = tf_strdup(from->from);
    copy.to = tf_strdup(from->to);
    copy.reason = tf_strdup(from->reason);
    copy.user = tf_strdup(from->user);
    tf_migrate_order_release(to);
    *to = copy;
}

bool tf_migration_is_over(const struct tf_migration *migration)
{
    tf_vec_each (move, &migration->moves)
        if (!tf_move_is_over(move->state))
            return false;
    return true;
}

static const char *move_fault(const struct tf_move *move)
{
    if (tf_uid_is_none(move->uid) || !move->tenant || !move->name || !move->from || move->epoch == 0)
        return "one of its moves does not say whose, or from where";
    if (move->state <= TF_MOVE_NONE || move->state > TF_MOVE_ROLLED_BACK)
        return "one of its moves has no state";
    if (move->state != TF_MOVE_PLANNED && move->state != TF_MOVE_ROLLED_BACK && !move->claim.node)
        return "one of its moves does not say where to";
    return NULL;
}

const char *tf_migration_fault(const struct tf_migration *migration)
{
    if (tf_uid_is_none(migration->id) || migration->moves.count == 0)
        return "it has no id, or no moves";
    tf_vec_each (move, &migration->moves) {
        const char *fault = move_fault(move);
        if (fault)
            return fault;
    }
    return NULL;
}
