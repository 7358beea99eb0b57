/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/property/cores/side.h"

#include "subcluster/core/check.h"
#include "tests/support/suite.h"

static void drop_out(struct side *s)
{
    for (size_t i = 0; i < s->out_count; i++)
        tf_record_release(&s->out[i]);
    free(s->out);
    s->out = NULL;
    s->out_count = 0;
    s->out_waits = false;
}

/* ---- what the core does ---- */

static void persist(struct side *s, struct sub_action *a)
{
    CU_ASSERT_FALSE_FATAL(s->out_waits);
    s->out = a->persist.items;
    s->out_count = a->persist.count;
    s->out_waits = true;
    memset(&a->persist, 0, sizeof a->persist);
}

static void perform(struct side *s, struct sub_action *a)
{
    struct tf_up *up;
    switch (a->kind) {
    case SUB_ACT_PERSIST:
        persist(s, a);
        break;
    case SUB_ACT_SEND:
        CU_ASSERT_TRUE(s->linked);
        up = tf_vec_add(&s->up);
        *up = a->send;
        memset(&a->send, 0, sizeof a->send);
        break;
    case SUB_ACT_START:
    case SUB_ACT_STOP:
    case SUB_ACT_FORGET:
        engine_do(&s->engine, a);
        break;
    case SUB_ACT_WAKE:
        s->wake = a->wake;
        break;
    case SUB_ACT_CONTINUE:
        s->continues = true;
        break;
    case SUB_ACT_CLOSE:
        CU_FAIL("no message was lost, but the subcluster closes the stream");
        break;
    default:
        break;
    }
}

static void step(struct side *s, struct sub_event event)
{
    struct sub_actions actions = {0};
    sub_step(s->sub, s->d->now, &event, &actions);
    sub_check(s->sub);
    tf_vec_each (action, &actions)
        perform(s, action);
    sub_actions_release(&actions);
}

/* ---- the stream ---- */

static void drop_messages(struct side *s)
{
    tf_vec_each (down, &s->down)
        tf_down_release(down);
    tf_vec_each (up, &s->up)
        tf_up_release(up);
    s->down.count = s->up.count = 0;
}

void side_link(struct side *s)
{
    if (s->linked)
        return;
    s->linked = true;
    step(s, (struct sub_event){.kind = SUB_EV_LINK_UP});
}

/* What was on its way is lost, in both directions; both notice. */
static void lose_stream(struct side *s)
{
    drop_messages(s);
    s->linked = false;
    if (drive_find(s->d, s->name)->link)
        drive_detach(s->d, s->name);
}

void side_cut(struct side *s)
{
    bool linked = s->linked;
    lose_stream(s);
    if (linked)
        step(s, (struct sub_event){.kind = SUB_EV_LINK_DOWN});
}

void side_sent(struct side *s, const struct tf_down *down)
{
    struct tf_down *message = tf_vec_add(&s->down);
    tf_down_copy(message, down);
}

bool side_take(struct side *s)
{
    if (!s->down.count)
        return false;
    struct sub_event event = {.kind = SUB_EV_DOWN, .down = s->down.items[0]};
    tf_vec_remove(&s->down, 0);
    step(s, event);
    return true;
}

bool side_say(struct side *s)
{
    if (!s->up.count)
        return false;
    struct tf_up up = s->up.items[0];
    tf_vec_remove(&s->up, 0);
    if (up.kind == TF_UP_REPORT && up.report.ended.end == TF_END_LOST)
        tf_vec_push(&s->lost, up.report.epoch);
    if (up.kind == TF_UP_HELLO)
        drive_hello(s->d, s->name, up.hello);
    else if (drive_find(s->d, s->name)->link)
        drive_say(s->d, s->name, up);
    else
        tf_up_release(&up);
    return true;
}

static bool is_lost(const struct side *s, uint64_t epoch)
{
    tf_vec_each (lost, &s->lost)
        if (*lost == epoch)
            return true;
    return false;
}

bool side_job_lives(const struct side *s, struct tf_uid uid)
{
    tf_vec_each (i, &s->engine.instances) {
        bool live = i->state == SUB_INSTANCE_STARTING || i->state == SUB_INSTANCE_READY;
        if (live && !i->excused && tf_uid_eq(i->id.uid, uid) && !is_lost(s, i->id.epoch))
            return true;
    }
    return false;
}

/* ---- store, engine, time ---- */

bool side_commit(struct side *s)
{
    if (!s->out_waits)
        return false;
    record_store_put(&s->store, s->out, s->out_count);
    drop_out(s);
    step(s, (struct sub_event){.kind = SUB_EV_COMMITTED});
    return true;
}

bool side_engine(struct side *s)
{
    struct sub_event event;
    if (engine_next(&s->engine, &event)) {
        step(s, event);
        return true;
    }
    if (!s->listing)
        return false;
    s->listing = false;
    step(s, (struct sub_event){.kind = SUB_EV_LISTED});
    return true;
}

bool side_continue(struct side *s)
{
    if (!s->continues)
        return false;
    s->continues = false;
    step(s, (struct sub_event){.kind = SUB_EV_CONTINUE});
    return true;
}

bool side_timer(struct side *s)
{
    if (s->wake.ms > s->d->now.mono.ms)
        return false;
    s->wake = TF_NEVER;
    step(s, (struct sub_event){.kind = SUB_EV_TIMER});
    return true;
}

/* ---- the process ---- */

void side_boot(struct side *s)
{
    lose_stream(s);
    sub_destroy(s->sub);
    if (s->out_waits && tf_rng_below(s->rng, 2))
        record_store_put(&s->store, s->out, s->out_count);
    drop_out(s);
    s->sub = sub_create(1);
    s->wake = TF_NEVER;
    s->continues = false;
    s->crashes++;
    struct sub_event event = {.kind = SUB_EV_BOOT};
    event.boot = (struct sub_boot){.name = tf_strdup(s->name),
                                   .owner_revision = ++s->owner,
                                   .profile_interval = 500,
                                   .loss_cap = 2 * TF_HOUR,
                                   .resize_loss = 500,
                                   .decision_budget = s->budget,
                                   .health = {4 * TF_SECOND, TF_MINUTE, 1000, 3}};
    tf_policy_copy(&event.boot.policy, &s->d->settings.policy);
    step(s, event);
    for (size_t i = 0; i < s->store.count; i++) {
        struct sub_event record = {.kind = SUB_EV_RECORD};
        record_store_get(&s->store, i, &record.record);
        step(s, record);
    }
    step(s, (struct sub_event){.kind = SUB_EV_LOADED});
    engine_list(&s->engine);
    s->listing = true;
}

void side_init(struct side *s, size_t nodes)
{
    engine_init(&s->engine, s->rng, nodes);
    record_store_put(&s->store, &(struct tf_record){.kind = TF_RECORD_FLOOR},
                     1); /* it has had a life before */
    side_boot(s);
}

void side_release(struct side *s)
{
    drop_messages(s);
    drop_out(s);
    sub_destroy(s->sub);
    engine_release(&s->engine);
    record_store_release(&s->store);
    tf_vec_release(&s->down);
    tf_vec_release(&s->up);
    tf_vec_release(&s->lost);
}
