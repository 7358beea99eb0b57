/* SPDX-License-Identifier: Apache-2.0 */
/* The loop around the core: events in, actions carried out against a store of wire bytes. */
#include "tests/support/fed_driver/fed_driver.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "common/wire/attach.h"
#include "common/wire/records.h"
#include "tests/support/fed_driver/lines.h"
#include "tests/support/suite.h"

#include <assert.h>
#include <stdio.h>

enum { START_MONO = 100 * TF_SECOND };
static const int64_t start_wall = INT64_C(1700000000000);

static void boot(struct drive *d, bool accept_rollback);

void drive_init(struct drive *d)
{
    *d = (struct drive){.seed = 1, .term = {1, 10}, .wake = TF_NEVER};
    d->now = (struct tf_now){{START_MONO}, {start_wall}};
    tf_settings_init(&d->settings);
    boot(d, false);
}

/* ---- the store ---- */

static size_t find_pair(const struct drive *d, const char *key, bool *there)
{
    size_t at = 0;
    while (at < d->store.count && strcmp(d->store.items[at].key, key) < 0)
        at++;
    *there = at < d->store.count && strcmp(d->store.items[at].key, key) == 0;
    return at;
}

static void remove_pair(struct drive *d, size_t at)
{
    free(d->store.items[at].key);
    tf_buf_release(&d->store.items[at].value);
    tf_vec_remove(&d->store, at);
}

static void put_record(struct drive *d, const struct tf_record *record)
{
    TF_AUTO_BUF key = TF_BUF_INIT;
    struct tf_error err = TF_ERROR_INIT;
    bool there;
    if (tf_wire_record_key(record, &key, &err))
        CU_FAIL_FATAL("a record without a key");
    size_t at = find_pair(d, tf_buf_text(&key), &there);
    if (there)
        remove_pair(d, at);
    if (record->gone)
        return;
    struct drive_pair pair = {.key = tf_strdup(tf_buf_text(&key))};
    if (tf_wire_record_pack(record, &pair.value, &err)) {
        printf("\n%s: %s\n", pair.key, err.text);
        CU_FAIL_FATAL("a record that cannot be stored");
    }
    tf_vec_push(&d->store, pair);
    memmove(d->store.items + at + 1, d->store.items + at, (d->store.count - 1 - at) * sizeof pair);
    d->store.items[at] = pair;
}

bool drive_stored(const struct drive *d, const char *job, struct tf_job_record *record)
{
    TF_AUTO_FREE char *key = tf_asprintf("jobs/%s", job);
    bool there;
    size_t at = find_pair(d, key, &there);
    if (!there)
        return false;
    const struct drive_pair *pair = &d->store.items[at];
    struct tf_record r = {0};
    struct tf_error err = TF_ERROR_INIT;
    CU_ASSERT_EQUAL_FATAL(
        tf_wire_record_unpack(key, strlen(key), pair->value.data, pair->value.len, &r, &err), 0);
    *record = r.job;
    return true;
}

static void drop_out(struct drive *d)
{
    for (size_t i = 0; i < d->out_count; i++)
        tf_record_release(&d->out[i]);
    free(d->out);
    d->out = NULL;
    d->out_count = 0;
    d->in_flight = false;
}

/* ---- steps ---- */

static void persist(struct drive *d, struct fed_action *action)
{
    CU_ASSERT_FALSE_FATAL(d->in_flight);
    d->out = action->persist.items;
    d->out_count = action->persist.count;
    d->in_flight = true;
    memset(&action->persist, 0, sizeof action->persist);
}

static void note_send(struct drive *d, const struct fed_action *action)
{
    tf_vec_each (c, &d->clusters)
        if (c->link == action->link && action->send.n > c->n)
            c->n = action->send.n;
    TF_AUTO_BUF bytes = TF_BUF_INIT;
    struct tf_error err = TF_ERROR_INIT;
    if (tf_wire_down_pack(&action->send, &bytes, &err)) {
        printf("\n%s\n", err.text);
        CU_FAIL("a message that cannot be sent");
    }
}

static void note_reply(struct drive *d, const struct fed_reply *reply)
{
    d->reply = *reply;
    memset(&d->reply.complaints, 0, sizeof d->reply.complaints);
    tf_buf_clear(&d->complaints);
    tf_vec_each (c, &reply->complaints)
        tf_buf_fmt(&d->complaints, "%s: %s\n", c->path, c->text);
    tf_str_set(&d->said, reply->error.text);
}

static void note_close(struct drive *d, const struct fed_action *action)
{
    tf_vec_each (c, &d->clusters)
        if (c->link == action->link)
            c->link = 0;
    tf_str_set(&d->said, action->text);
}

static void carry_out(struct drive *d, struct fed_action *action)
{
    lines_add(d, action);
    if (d->on_action)
        d->on_action(d, action, d->arg);
    switch (action->kind) {
    case FED_ACT_PERSIST:
        persist(d, action);
        break;
    case FED_ACT_SEND:
        note_send(d, action);
        break;
    case FED_ACT_REPLY:
        note_reply(d, &action->reply);
        break;
    case FED_ACT_CLOSE:
        note_close(d, action);
        break;
    case FED_ACT_ALARM:
        tf_str_set(&d->said, action->text);
        break;
    case FED_ACT_ARCHIVE:
        tf_vec_push(&d->archiving, action->archive.uid);
        break;
    case FED_ACT_WAKE:
        d->wake = action->wake;
        break;
    case FED_ACT_CONTINUE:
        CU_ASSERT_FALSE(d->wants_continue);
        d->wants_continue = true;
        break;
    case FED_ACT_TRACE:
    case FED_ACT_NONE:
        break;
    }
}

static void feed(struct drive *d, struct fed_event event)
{
    struct fed_actions actions = {0};
    fed_step(d->fed, d->now, &event, &actions);
    CU_ASSERT_EQUAL(event.kind, FED_EV_NONE);
    tf_vec_each (action, &actions)
        carry_out(d, action);
    fed_actions_release(&actions);
}

void drive_commit(struct drive *d)
{
    CU_ASSERT_TRUE_FATAL(d->in_flight);
    for (size_t i = 0; i < d->out_count; i++)
        put_record(d, &d->out[i]);
    drop_out(d);
    d->commits++;
    feed(d, (struct fed_event){.kind = FED_EV_COMMITTED});
}

void drive_archived(struct drive *d)
{
    CU_ASSERT_TRUE_FATAL(d->archiving.count > 0);
    struct tf_uid uid = d->archiving.items[0];
    tf_vec_remove(&d->archiving, 0);
    feed(d, (struct fed_event){.kind = FED_EV_ARCHIVED, .archived = uid});
}

static bool one_more(struct drive *d);

void drive_step(struct drive *d, struct fed_event event)
{
    feed(d, event);
    while (one_more(d))
        ;
}

void drive_continue(struct drive *d)
{
    CU_ASSERT_TRUE_FATAL(d->wants_continue);
    d->wants_continue = false;
    drive_step(d, (struct fed_event){.kind = FED_EV_CONTINUE});
}

static bool one_more(struct drive *d)
{
    if (d->in_flight && !d->hold_commits)
        drive_commit(d);
    else if (d->archiving.count && !d->hold_archives)
        drive_archived(d);
    else if (d->wants_continue && !d->hold_continue)
        drive_continue(d);
    else
        return false;
    return true;
}

void drive_elapse(struct drive *d, int64_t ms)
{
    int64_t end = d->now.mono.ms + ms, wall = d->now.wall.ms - d->now.mono.ms;
    while (d->wake.ms <= end) {
        if (d->wake.ms > d->now.mono.ms)
            d->now.mono = d->wake;
        d->now.wall.ms = wall + d->now.mono.ms;
        d->wake = TF_NEVER;
        drive_step(d, (struct fed_event){.kind = FED_EV_TIMER});
    }
    d->now = (struct tf_now){{end}, {wall + end}};
}

/* ---- leaders ---- */

static void load(struct drive *d)
{
    tf_vec_each (pair, &d->store) {
        struct fed_event event = {.kind = FED_EV_RECORD};
        struct tf_error err = TF_ERROR_INIT;
        if (tf_wire_record_unpack(pair->key, strlen(pair->key), pair->value.data, pair->value.len,
                                  &event.record, &err)) {
            printf("\n%s: %s\n", pair->key, err.text);
            CU_FAIL_FATAL("a stored record that cannot be read");
        }
        feed(d, event);
    }
}

static void boot(struct drive *d, bool accept_rollback)
{
    d->fed = fed_create(d->seed);
    struct fed_event event = {.kind = FED_EV_BOOT,
                              .boot = {.term = d->term, .accept_rollback = accept_rollback}};
    tf_settings_copy(&event.boot.settings, &d->settings);
    feed(d, event);
    load(d);
    drive_step(d, (struct fed_event){.kind = FED_EV_LOADED});
}

static void end_leader(struct drive *d)
{
    fed_destroy(d->fed);
    d->fed = NULL;
    drop_out(d);
    d->archiving.count = 0;
    d->wants_continue = false;
    d->wake = TF_NEVER;
    tf_vec_each (c, &d->clusters)
        c->link = c->n = 0;
}

void drive_crash_with(struct drive *d, bool accept_rollback)
{
    end_leader(d);
    d->term.revision++;
    boot(d, accept_rollback);
}

void drive_crash(struct drive *d)
{
    drive_crash_with(d, false);
}

void drive_release(struct drive *d)
{
    end_leader(d);
    while (d->store.count)
        remove_pair(d, d->store.count - 1);
    tf_vec_release(&d->store);
    tf_vec_release(&d->archiving);
    tf_vec_each (c, &d->clusters) {
        free(c->name);
        tf_profile_release(&c->sent);
    }
    tf_vec_release(&d->clusters);
    tf_settings_release(&d->settings);
    tf_buf_release(&d->log);
    tf_buf_release(&d->complaints);
    free(d->said);
    *d = (struct drive){0};
}

void drive_expect_at(struct drive *d, const char *file, int line, const char *expected)
{
    bool same = strcmp(tf_buf_text(&d->log), expected) == 0;
    if (!same)
        printf("\n%s:%d: expected\n%sgot\n%s", file, line, expected, tf_buf_text(&d->log));
    CU_assertImplementation(same, (unsigned)line, "lines as expected", file, "", CU_FALSE);
    tf_buf_clear(&d->log);
}
