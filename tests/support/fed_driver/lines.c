/* SPDX-License-Identifier: Apache-2.0 */
/* Actions as lines of text. */
#include "tests/support/fed_driver/lines.h"

#include <inttypes.h>

static const char *const outcomes[] = {
    [FED_OUTCOME_NONE] = "none",           [FED_OUTCOME_CREATED] = "created",
    [FED_OUTCOME_UNCHANGED] = "unchanged", [FED_OUTCOME_UPDATED] = "updated",
    [FED_OUTCOME_RESTARTED] = "restarted", [FED_OUTCOME_DELETED] = "deleted",
    [FED_OUTCOME_DONE] = "done",
};

uint64_t drive_number(struct tf_uid uid)
{
    uint64_t number = 0;
    for (size_t i = 8; i < sizeof uid.bytes; i++)
        number = number << 8 | uid.bytes[i];
    return number;
}

static const char *name_of(const struct drive *d, uint64_t link)
{
    tf_vec_each (c, &d->clusters)
        if (c->link == link)
            return c->name;
    return "?";
}

static void add_reply(struct tf_buf *log, const struct fed_reply *reply)
{
    tf_buf_fmt(log, "reply %" PRIu64 ": ", reply->request);
    if (reply->error.code != TF_OK)
        tf_buf_str(log, tf_error_code_name(reply->error.code));
    else
        tf_buf_str(log, outcomes[reply->outcome]);
    if (drive_number(reply->uid))
        tf_buf_fmt(log, " #%" PRIu64, drive_number(reply->uid));
    tf_buf_char(log, '\n');
}

static void add_entry(struct tf_buf *log, const struct tf_entry *e)
{
    if (e->kind == TF_ENTRY_PLACE)
        tf_buf_fmt(log, "place %s/%s e%" PRIu64 " %d%s%s", e->tenant, e->name, e->epoch, e->size,
                   e->model ? " " : "", e->model ? e->model : "");
    if (e->kind == TF_ENTRY_PLACE && e->successor)
        tf_buf_fmt(log, " %s e%" PRIu64, e->leave_after ? "for" : "not for", e->successor);
    if (e->kind == TF_ENTRY_PLACE)
        return;
    if (e->kind == TF_ENTRY_RELEASE)
        tf_buf_fmt(log, "release #%" PRIu64 " e%" PRIu64 " %s", drive_number(e->uid), e->epoch,
                   tf_release_name(e->release));
    else if (e->kind == TF_ENTRY_CLAIM || e->kind == TF_ENTRY_UNCLAIM)
        tf_buf_fmt(log, "%s #%" PRIu64, e->kind == TF_ENTRY_CLAIM ? "claim" : "unclaim",
                   drive_number(e->uid));
    else
        tf_buf_fmt(log, "stored #%" PRIu64 " e%" PRIu64, drive_number(e->uid), e->epoch);
}

static void add_shapes(struct tf_buf *log, const struct tf_shapes *shapes)
{
    int waiting = 0;
    tf_vec_each (shape, shapes)
        waiting += shape->waits;
    if (shapes->count)
        tf_buf_fmt(log, " %zu shape%s, %d waiting", shapes->count, shapes->count == 1 ? "" : "s", waiting);
}

static void add_send(const struct drive *d, struct tf_buf *log, const struct fed_action *action)
{
    static const char *const kinds[] = {
        [TF_DOWN_BEGIN] = "BEGIN",
        [TF_DOWN_PART] = "PART",
        [TF_DOWN_END] = "END",
        [TF_DOWN_CHANGE] = "CHANGE",
        [TF_DOWN_WANT_PROFILE] = "WANT_PROFILE",
        [TF_DOWN_POLICY] = "POLICY",
        [TF_DOWN_CONSIDERED] = "CONSIDERED",
    };
    const struct tf_down *down = &action->send;
    tf_buf_fmt(log, "%s %s", name_of(d, action->link), kinds[down->kind]);
    tf_vec_each (freeze, &down->policy.freezes)
        tf_buf_fmt(log, " frozen:%s", tf_frozen_name(freeze->what));
    if (down->kind == TF_DOWN_POLICY)
        add_shapes(log, &down->policy.shapes);
    if (down->n)
        tf_buf_fmt(log, " %" PRIu64, down->n);
    if (down->kind == TF_DOWN_BEGIN)
        tf_buf_fmt(log, ", %" PRIu64 " entries", down->count);
    if (down->kind == TF_DOWN_CONSIDERED)
        tf_buf_fmt(log, " %" PRIu64 ".%" PRIu64, down->considered.owner, down->considered.counter);
    tf_vec_each (entry, &down->entries) {
        tf_buf_str(log, entry == down->entries.items ? ": " : "; ");
        add_entry(log, entry);
    }
    tf_buf_char(log, '\n');
}

static void add_record(struct tf_buf *log, const struct tf_record *r)
{
    const char *gone = r->gone ? "gone " : "";
    if (r->kind == TF_RECORD_EPOCH)
        tf_buf_fmt(log, "epoch %" PRIu64, r->number);
    else if (r->kind == TF_RECORD_JOB)
        tf_buf_fmt(log, "%sjob %s/%s", gone, r->job.tenant, r->job.name);
    else if (r->kind == TF_RECORD_CLUSTER)
        tf_buf_fmt(log, "cluster %s", r->cluster.name);
    else if (r->kind == TF_RECORD_FREEZE)
        tf_buf_fmt(log, "%sfreeze %s/%s", gone, tf_frozen_name(r->freeze.what),
                   r->freeze.cluster ? r->freeze.cluster : "*");
    else if (r->kind == TF_RECORD_LEADERS)
        tf_buf_fmt(log, "leaders");
    else
        tf_buf_fmt(log, "summary %s", r->summary.name);
}

static void add_persist(struct tf_buf *log, const struct fed_action *action)
{
    tf_buf_str(log, "persist: ");
    for (size_t i = 0; i < action->persist.count; i++) {
        tf_buf_str(log, i ? ", " : "");
        add_record(log, &action->persist.items[i]);
    }
    tf_buf_char(log, '\n');
}

/* Of a reservation with why it is over, which nothing else tells then. */
static void add_archive(struct tf_buf *log, const struct tf_job_record *r)
{
    bool reserved = tf_is_reservation(r->spec);
    tf_buf_fmt(log, "archive %s/%s %s%s%s\n", r->tenant, r->name, tf_phase_name(r->phase),
               reserved ? ": " : "", reserved && r->message ? r->message : "");
}

void lines_add(struct drive *d, const struct fed_action *action)
{
    struct tf_buf *log = &d->log;
    switch (action->kind) {
    case FED_ACT_REPLY:
        add_reply(log, &action->reply);
        break;
    case FED_ACT_SEND:
        add_send(d, log, action);
        break;
    case FED_ACT_CLOSE:
        tf_buf_fmt(log, "close %s: %s\n", name_of(d, action->link), action->text);
        break;
    case FED_ACT_ARCHIVE:
        add_archive(log, &action->archive);
        break;
    case FED_ACT_ALARM:
        tf_buf_fmt(log, "alarm: %s\n", action->text);
        break;
    case FED_ACT_PERSIST:
        if (d->log_persists)
            add_persist(log, action);
        break;
    case FED_ACT_TRACE:
        if (d->log_traces)
            tf_buf_fmt(log, "trace: %s\n", action->text);
        break;
    case FED_ACT_NONE:
    case FED_ACT_WAKE:
    case FED_ACT_CONTINUE:
        break;
    }
}
