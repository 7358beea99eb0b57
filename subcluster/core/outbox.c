/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what is held until it may leave, and turns changed records into transactions. Which records changed,
 * in which order, is the journal's. */
#include "subcluster/core/outbox.h"

#include "common/model/transaction.h"
#include "subcluster/core/calls.h"
#include "subcluster/core/event.h"
#include "subcluster/core/image.h"
#include "subcluster/core/members.h"
#include "subcluster/core/migrate.h"
#include "subcluster/core/node_claims.h"

#include <assert.h>

void out_init(struct outbox *box)
{
    box->journal = tf_journal_create();
}

void out_release(struct outbox *box)
{
    for (size_t i = box->first; i < box->held.count; i++)
        sub_action_release(&box->held.items[i].action);
    tf_vec_release(&box->held);
    tf_journal_destroy(box->journal);
    *box = (struct outbox){0};
}

void out_hold(struct sub *sub, struct sub_action action)
{
    struct held_action held = {tf_journal_last(sub->outbox.journal), action};
    tf_vec_push(&sub->outbox.held, held);
}

void out_now(struct sub *sub, struct sub_action action)
{
    tf_vec_push(sub->actions, action);
}

void out_drop_sends(struct sub *sub)
{
    struct outbox *box = &sub->outbox;
    size_t kept = box->first;
    for (size_t i = box->first; i < box->held.count; i++) {
        if (box->held.items[i].action.kind == SUB_ACT_SEND) {
            tf_reached(sub, SUB_SENDS_DROPPED);
            sub_action_release(&box->held.items[i].action);
        } else
            box->held.items[kept++] = box->held.items[i];
    }
    box->held.count = kept;
}

bool out_busy(const struct sub *sub)
{
    return tf_journal_in_flight(sub->outbox.journal);
}

static void let_go(struct sub *sub)
{
    struct outbox *box = &sub->outbox;
    uint64_t durable = tf_journal_durable(box->journal);
    while (box->first < box->held.count && box->held.items[box->first].after <= durable) {
        struct sub_action action = box->held.items[box->first++].action;
        if (members_leave(sub, &action))
            out_now(sub, action);
        else
            sub_action_release(&action);
    }
    if (box->first == box->held.count)
        box->first = box->held.count = 0;
}

static void render_cordon(const struct sub *sub, struct tf_journal_key key, struct tf_record *out)
{
    char *name = tf_strndup(key.bytes, key.len);
    const struct ledger_node *node = ledger_find(&sub->ledger, name);
    assert(node && "a node stays in the ledger");
    tf_cordon_copy(&out->cordon, &node->cordon);
    out->gone = tf_cordon_is_empty(&node->cordon);
    free(out->cordon.node);
    out->cordon.node = name;
}

static void render_allocation(const struct sub *sub, struct tf_journal_key key, struct tf_record *out)
{
    assert(key.kind == TF_RECORD_ALLOCATION && key.len == TF_UID_BYTES);
    struct tf_uid uid;
    memcpy(uid.bytes, key.bytes, TF_UID_BYTES);
    const struct tf_allocation *allocation = sub_allocation_find(sub, uid);
    out->gone = !allocation;
    out->allocation.uid = uid;
    if (allocation)
        tf_allocation_copy(&out->allocation, allocation);
}

static void render_node_claim(const struct sub *sub, struct tf_journal_key key, struct tf_record *out)
{
    struct tf_uid uid;
    assert(key.len == TF_UID_BYTES);
    memcpy(uid.bytes, key.bytes, TF_UID_BYTES);
    const struct tf_node_claim *claim = node_claim_of(sub, uid);
    out->gone = !claim;
    if (claim)
        tf_node_claim_copy(&out->node_claim, claim);
    out->node_claim.uid = uid;
}

static void render_migration(const struct sub *sub, struct tf_journal_key key, struct tf_record *out)
{
    struct tf_uid id;
    assert(key.len == TF_UID_BYTES);
    memcpy(id.bytes, key.bytes, TF_UID_BYTES);
    const struct tf_migration *migration = migrate_find(sub, id);
    out->gone = !migration;
    if (migration)
        tf_migration_copy(&out->migration, migration);
    out->migration.id = id;
}

static void render(struct tf_journal_key key, struct tf_record *out, void *arg)
{
    const struct sub *sub = arg;
    out->kind = key.kind;
    if (key.kind == TF_RECORD_TERM)
        out->term = sub->term;
    else if (key.kind == TF_RECORD_FLOOR)
        out->number = sub->floor;
    else if (key.kind == TF_RECORD_ROLLBACK) {
        out->number = 1;
        out->gone = !sub->rollback_noted;
    } else if (key.kind == TF_RECORD_EVICTIONS)
        out->evictions = sub->evicted;
    else if (key.kind == TF_RECORD_POLICY)
        tf_policy_copy(&out->policy, &sub->policy);
    else if (key.kind == TF_RECORD_CORDON)
        render_cordon(sub, key, out);
    else if (key.kind == TF_RECORD_NODE_CLAIM)
        render_node_claim(sub, key, out);
    else if (key.kind == TF_RECORD_MIGRATION)
        render_migration(sub, key, out);
    else
        render_allocation(sub, key, out);
}

void out_flush(struct sub *sub)
{
    let_go(sub);
    struct tf_journal *journal = sub->outbox.journal;
    if (tf_journal_in_flight(journal) || !tf_journal_dirty(journal))
        return;
    struct sub_action action = {.kind = SUB_ACT_PERSIST};
    action.persist.items = tf_transaction_take(journal, render, sub, &action.persist.count);
    out_now(sub, action);
}

void out_touch(struct sub *sub, enum tf_record_kind kind)
{
    tf_journal_touch(sub->outbox.journal, (struct tf_journal_key){.kind = kind});
}

void out_touch_node(struct sub *sub, const char *node)
{
    tf_journal_touch(sub->outbox.journal, (struct tf_journal_key){TF_RECORD_CORDON, node, strlen(node)});
}

void out_touch_claim(struct sub *sub, struct tf_uid uid)
{
    tf_journal_touch(sub->outbox.journal,
                     (struct tf_journal_key){TF_RECORD_NODE_CLAIM, uid.bytes, TF_UID_BYTES});
}

static struct tf_journal_key key_of(const struct job *job)
{
    return (struct tf_journal_key){TF_RECORD_ALLOCATION, job->record.uid.bytes, TF_UID_BYTES};
}

void out_touch_job(struct sub *sub, const struct job *job)
{
    tf_journal_touch(sub->outbox.journal, key_of(job));
}

static struct tf_journal_key key_of_migration(const struct tf_uid *id)
{
    return (struct tf_journal_key){TF_RECORD_MIGRATION, id->bytes, TF_UID_BYTES};
}

void out_touch_migration(struct sub *sub, struct tf_uid id)
{
    tf_journal_touch(sub->outbox.journal, key_of_migration(&id));
}

void out_touch_job_before_migration(struct sub *sub, const struct job *job, struct tf_uid id)
{
    tf_journal_touch_before(sub->outbox.journal, key_of(job), key_of_migration(&id));
}

void out_touch_migration_before(struct sub *sub, struct tf_uid id, const struct job *later)
{
    tf_journal_touch_before(sub->outbox.journal, key_of_migration(&id), key_of(later));
}

void out_touch_job_before(struct sub *sub, const struct job *job, const struct job *later)
{
    tf_journal_touch_before(sub->outbox.journal, key_of(job), key_of(later));
}

/* ---- images ---- */

static void image_held(struct tf_image *image, struct held_action *held)
{
    tf_image_open(image, held);
    tf_image_number(image, &held->after);
    sub_image_action(image, &held->action);
    tf_image_close(image);
}

void out_image(struct tf_image *image, struct outbox *box)
{
    uint64_t count = tf_image_count(image, box->held.count - box->first);
    tf_image_open(image, box);
    tf_image_skip(image, &box->journal, "as it is:");
    tf_image_journal(image, box->journal);
    tf_image_skip(image, &box->held, "one by one");
    tf_image_skip(image, &box->first, "the first of those that are written");
    for (size_t i = box->first; count > 0 && !tf_image_failed(image); i++, count--) {
        if (tf_image_is_reading(image))
            (void)tf_vec_add(&box->held);
        image_held(image, &box->held.items[i]);
    }
    tf_image_close(image);
}
