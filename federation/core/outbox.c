/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what is held until it may be told, and turns changed records into transactions. Which records changed,
 * in which order, is the journal's. */
#include "federation/core/outbox.h"

#include "common/model/transaction.h"
#include "federation/core/action.h"
#include "federation/core/cluster.h"
#include "federation/core/freeze.h"
#include "federation/core/image.h"
#include "federation/core/jobs.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

/* ---- what is held ---- */

void fed_outbox_hold(struct fed *fed, struct fed_action action)
{
    struct outbox *box = &fed->outbox;
    if (box->count == box->cap) {
        size_t cap = box->cap ? 2 * box->cap : 16;
        struct held_action *items = tf_calloc(cap, sizeof *items);
        for (size_t i = 0; i < box->count; i++)
            items[i] = box->items[(box->first + i) % box->cap];
        free(box->items);
        *box = (struct outbox){.items = items, .count = box->count, .cap = cap};
    }
    box->items[(box->first + box->count++) % box->cap] =
        (struct held_action){tf_journal_last(fed->journal), action};
}

void fed_outbox_now(struct fed *fed, struct fed_action action)
{
    tf_vec_push(fed->out, action);
}

/* A message for a link that is no longer the subcluster's is for nobody. */
static bool is_stale(const struct fed *fed, const struct fed_action *action)
{
    return action->kind == FED_ACT_SEND && !fed_cluster_by_link(fed, action->link);
}

static void let_go(struct fed *fed)
{
    struct outbox *box = &fed->outbox;
    uint64_t durable = tf_journal_durable(fed->journal);
    while (box->count && box->items[box->first].after <= durable) {
        struct fed_action action = box->items[box->first].action;
        box->first = (box->first + 1) % box->cap;
        box->count--;
        if (is_stale(fed, &action)) {
            tf_reached(fed, FED_SEND_DROPPED);
            fed_action_release(&action);
        } else
            fed_outbox_now(fed, action);
    }
}

void fed_outbox_release(struct fed *fed)
{
    struct outbox *box = &fed->outbox;
    for (size_t i = 0; i < box->count; i++)
        fed_action_release(&box->items[(box->first + i) % box->cap].action);
    free(box->items);
    *box = (struct outbox){0};
}

/* ---- transactions ---- */

static void read_job(const struct fed *fed, const char *key, struct tf_record *out)
{
    const struct job *job = fed_job_by_key(fed, key);
    if (job) {
        tf_job_record_copy(&out->job, &job->record);
        return;
    }
    const char *slash = strchr(key, '/');
    assert(slash);
    out->gone = true;
    out->job.tenant = tf_strndup(key, (size_t)(slash - key));
    out->job.name = tf_strdup(slash + 1);
}

/* The latest content of the record that the key names. */
static void read_record(struct tf_journal_key key, struct tf_record *out, void *arg)
{
    const struct fed *fed = arg;
    char name[FED_KEY_MAX];
    assert(key.len < sizeof name);
    if (key.len)
        memcpy(name, key.bytes, key.len);
    name[key.len] = '\0';
    out->kind = key.kind;
    if (key.kind == TF_RECORD_EPOCH) {
        out->number = fed->epoch;
        return;
    }
    if (key.kind == TF_RECORD_ROLLBACK) {
        out->number = fed->adopted_up_to;
        return;
    }
    if (key.kind == TF_RECORD_LEADERS) {
        tf_leaders_copy(&out->leaders, &fed->leaders);
        return;
    }
    if (key.kind == TF_RECORD_JOB) {
        read_job(fed, name, out);
        return;
    }
    if (key.kind == TF_RECORD_FREEZE) {
        fed_freeze_record(fed, name, out);
        return;
    }
    const struct cluster *cluster = fed_cluster_by_name(fed, name);
    assert(cluster && "registrations are never removed");
    if (key.kind == TF_RECORD_CLUSTER)
        tf_cluster_record_copy(&out->cluster, &cluster->record);
    else
        tf_summary_record_copy(&out->summary, &cluster->summary);
}

static void start_transaction(struct fed *fed)
{
    struct fed_action action = {.kind = FED_ACT_PERSIST};
    action.persist.items = tf_transaction_take(fed->journal, read_record, fed, &action.persist.count);
    fed_outbox_now(fed, action);
}

void fed_outbox_flush(struct fed *fed)
{
    if (!tf_journal_in_flight(fed->journal) && tf_journal_dirty(fed->journal))
        start_transaction(fed);
    let_go(fed);
}

/* ---- answers and alarms ---- */

void fed_reply_done(struct fed *fed, uint64_t request, enum fed_outcome outcome, struct tf_uid uid,
                    uint64_t version)
{
    struct fed_reply reply = {.request = request, .outcome = outcome, .uid = uid, .version = version};
    fed_outbox_hold(fed, (struct fed_action){.kind = FED_ACT_REPLY, .reply = reply});
}

void fed_reply_error(struct fed *fed, uint64_t request, enum tf_error_code code, const char *fmt, ...)
{
    struct fed_action action = {.kind = FED_ACT_REPLY, .reply = {.request = request}};
    va_list args;
    va_start(args, fmt);
    vsnprintf(action.reply.error.text, sizeof action.reply.error.text, fmt, args);
    va_end(args);
    action.reply.error.code = code;
    fed_outbox_hold(fed, action);
}

void fed_alarm_now(struct fed *fed, const char *fmt, ...)
{
    char line[1000];
    va_list args;
    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    fed_outbox_now(fed, (struct fed_action){.kind = FED_ACT_ALARM, .text = tf_strdup(line)});
}

/* ---- changes ---- */

void fed_touch_job(struct fed *fed, struct job *job)
{
    job->record.version++;
    tf_journal_touch(fed->journal, (struct tf_journal_key){TF_RECORD_JOB, job->key, strlen(job->key)});
}

static void touch_named(struct fed *fed, enum tf_record_kind kind, const char *name)
{
    tf_journal_touch(fed->journal, (struct tf_journal_key){kind, name, strlen(name)});
}

void fed_touch_epoch(struct fed *fed)
{
    tf_journal_touch(fed->journal, (struct tf_journal_key){.kind = TF_RECORD_EPOCH});
}

void fed_touch_rollback(struct fed *fed)
{
    tf_journal_touch(fed->journal, (struct tf_journal_key){.kind = TF_RECORD_ROLLBACK});
}

void fed_touch_leaders(struct fed *fed)
{
    tf_journal_touch(fed->journal, (struct tf_journal_key){.kind = TF_RECORD_LEADERS});
}

void fed_touch_cluster(struct fed *fed, const struct cluster *cluster)
{
    touch_named(fed, TF_RECORD_CLUSTER, cluster->record.name);
}

void fed_touch_summary(struct fed *fed, const struct cluster *cluster)
{
    touch_named(fed, TF_RECORD_SUMMARY, cluster->record.name);
}

void fed_touch_freeze(struct fed *fed, const char *key)
{
    touch_named(fed, TF_RECORD_FREEZE, key);
}

void fed_touch_proof(struct fed *fed)
{
    tf_journal_touch(fed->journal, (struct tf_journal_key){.kind = TF_RECORD_NONE});
}

/* ---- images ---- */

static void image_held(struct tf_image *image, struct held_action *held)
{
    tf_image_open(image, held);
    tf_image_number(image, &held->after);
    fed_image_action(image, &held->action);
    tf_image_close(image);
}

void fed_outbox_image(struct tf_image *image, struct fed *fed)
{
    struct outbox *box = &fed->outbox;
    uint64_t count = tf_image_count(image, box->count);
    tf_image_skip(image, box, "one by one, in order");
    for (size_t i = 0; i < count && !tf_image_failed(image); i++) {
        if (tf_image_is_reading(image))
            fed_outbox_hold(fed, (struct fed_action){.kind = FED_ACT_NONE});
        image_held(image, &box->items[(box->first + i) % box->cap]);
    }
}
